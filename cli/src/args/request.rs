//! `dshlog request`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgGroup, Args as ClapArgs, ValueEnum};
use dshlog_codec::Generation;

/// Show what the model was sent: system prompt, messages, tools and controls of one request
#[derive(Debug, ClapArgs)]
#[command(
    group = ArgGroup::new("which").args(["turn", "ended_by", "at", "title", "compaction"]),
    after_help = "Without a choice: the request that would come next, were nothing appended before it. Forms: text; json; \
                  messages, the HTTP body as dsh 0.2 sends it; chat, as dsh up to 0.1.5 sent it; both without the \
                  members that extensions add.\n\nSEQ counts in the stored log, as `read --as-stored --seqs` shows \
                  it; logs of V0 to V3 have other seqs once they are carried to V4.\n\nExamples:\n  dshlog request latest --turn 3 --step 2\n  \
                  dshlog request latest --turn 3 --diff\n  dshlog request 8d178ff3 --for 41 --format messages"
)]
#[expect(clippy::struct_excessive_bools, reason = "these are the switches on the command line")]
pub(crate) struct Request {
    /// A path, an id or its prefix, `latest`, `latest~2`
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) session: String,
    /// The last request of this turn
    #[arg(long, value_name = "N", help_heading = "Which request")]
    pub(crate) turn: Option<u64>,
    /// With `--turn`: the last request of this step
    #[arg(long, value_name = "N", requires = "turn", help_heading = "Which request")]
    pub(crate) step: Option<u64>,
    /// With `--step`: this attempt at it
    #[arg(long, value_name = "N", requires = "step", help_heading = "Which request")]
    pub(crate) attempt: Option<u64>,
    /// The request that ended in this event, or was begun by it: an `assistant/message`, `assistant/attempt`,
    /// `session/title-llm-request`, `compaction/start`, `compaction/summary` or `compaction/end`
    #[arg(id = "ended_by", long = "for", value_name = "SEQ", help_heading = "Which request")]
    pub(crate) ended_by: Option<u64>,
    /// The request that would have come next behind this event
    #[arg(long, value_name = "SEQ", help_heading = "Which request")]
    pub(crate) at: Option<u64>,
    /// The last request for a title
    #[arg(long, help_heading = "Which request")]
    pub(crate) title: bool,
    /// The last request for a compaction
    #[arg(long, help_heading = "Which request")]
    pub(crate) compaction: bool,
    /// The instruction of a compaction, which no log holds
    #[arg(long, value_name = "FILE", help_heading = "What the log lacks")]
    pub(crate) instruction: Option<PathBuf>,
    /// The last event whose message a compaction without a summary was shown [default: the last one]
    #[arg(long, value_name = "SEQ", help_heading = "What the log lacks")]
    pub(crate) through: Option<u64>,
    /// Folder of the stored images [default: `attachments` in the session's home]
    #[arg(long, value_name = "DIR", help_heading = "What the log lacks")]
    pub(crate) attachments: Option<PathBuf>,
    /// Ids of uploaded images, as JSON: `{"sha256:…": "file_…"}`
    #[arg(long, value_name = "FILE", help_heading = "What the log lacks")]
    pub(crate) file_ids: Option<PathBuf>,
    /// Home of the run that made the request, which stands in texts about images and files [default: the session's]
    #[arg(long, value_name = "DIR", value_parser = NonEmptyStringValueParser::new(), help_heading = "What the log lacks")]
    pub(crate) home_path: Option<String>,
    /// How the model takes changes of its tools [default: as in dsh's own catalogue]
    #[arg(long, value_name = "HOW", value_enum, help_heading = "What the log lacks")]
    pub(crate) tool_update: Option<ToolUpdate>,
    /// Whether the model takes images [default: as in dsh's own catalogue]
    #[arg(long, value_name = "WHETHER", value_enum, help_heading = "What the log lacks")]
    pub(crate) images: Option<YesNo>,
    /// Read this stored generation of the session, 0 to 4, instead of the newest
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=Generation::CURRENT.0))]
    pub(crate) generation: Option<u64>,
    /// Show what changed since the agent's request before it, as text or json
    #[arg(long, conflicts_with_all = ["title", "compaction"])]
    pub(crate) diff: bool,
    /// Estimate the tokens of each part by dsh's own rule of thumb, as text or json
    #[arg(long, conflicts_with = "diff")]
    pub(crate) tokens: bool,
    /// Unfold everything
    #[arg(long)]
    pub(crate) full: bool,
}

/// How a model takes changes of its tools inside the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolUpdate {
    /// Not at all
    None,
    /// Tools can be added
    AdditionOnly,
    /// Tools can be added and removed
    InHistory,
}

/// Whether.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum YesNo {
    /// It does
    Yes,
    /// It does not
    No,
}
