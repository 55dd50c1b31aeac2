//! `dshlog read`.

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgGroup, Args as ClapArgs};
use dshlog_codec::Generation;

/// Show what happened in a session
#[derive(Debug, ClapArgs)]
#[command(
    group = ArgGroup::new("view").args(["events", "rows", "messages", "surface", "state", "header"]),
    after_help = "Forms: text; with --events jsonl, text; with --rows jsonl; with --messages json; with --surface \
                  table, json; with --state text, json, jsonl; with --header text, json. The first one is the default.\n\nWhat a state looks like: docs/state.md in the repository. What the model was \
                  sent at one time: `dshlog request`.\n\nExamples:\n  dshlog read latest --turn 3\n  dshlog read 8d178ff3 \
                  --events --type 'tool/*' --format jsonl"
)]
#[expect(clippy::struct_excessive_bools, reason = "these are the switches on the command line")]
pub(crate) struct Read {
    /// A path, an id or its prefix, `latest`, `latest~2`
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) session: String,
    /// Show events, one a line
    #[arg(long, help_heading = "Views")]
    pub(crate) events: bool,
    /// Show the stored lines, byte for byte
    #[arg(long, help_heading = "Views")]
    pub(crate) rows: bool,
    /// Show the messages that the model would be sent next
    #[arg(long, help_heading = "Views")]
    pub(crate) messages: bool,
    /// Show what makes up the history, why it is there, and what compaction and pruning took out of it
    #[arg(long, help_heading = "Views")]
    pub(crate) surface: bool,
    /// Show states, such as `todos,goal,approvals`; `list` names them all
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = "Views")]
    pub(crate) state: Vec<String>,
    /// Show the facts the session was created with
    #[arg(long, help_heading = "Views")]
    pub(crate) header: bool,
    /// Only this turn
    #[arg(long, value_name = "N", help_heading = "Filters")]
    pub(crate) turn: Option<u64>,
    /// Only events A to B, both included (`7`, `7..12`, `7..`, `..12`)
    #[arg(long, value_name = "A..B", help_heading = "Filters")]
    pub(crate) seq: Option<String>,
    /// Only events of this type, `*` and `?` allowed; may be repeated
    #[arg(long = "type", value_name = "GLOB", help_heading = "Filters")]
    pub(crate) types: Vec<String>,
    /// Only what stood after event SEQ, as a transcript, messages, surface or state; with `--state` several, such as `7,12`
    #[arg(long, value_name = "SEQ", value_delimiter = ',', help_heading = "Filters")]
    pub(crate) at: Vec<u64>,
    /// Read this stored generation of the session, 0 to 4, instead of the newest
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=Generation::CURRENT.0), conflicts_with = "follow")]
    pub(crate) generation: Option<u64>,
    /// Show an old log in the form it is stored in, not in that of V4
    #[arg(long)]
    pub(crate) as_stored: bool,
    /// Read past unknown required events, stop at damage, and say so
    #[arg(long)]
    pub(crate) lenient: bool,
    /// Add what dsh would append if it resumed the session now: what ends an open turn, and the mark of a new process
    #[arg(long, conflicts_with_all = ["rows", "header", "at", "follow", "as_stored", "lenient"])]
    pub(crate) recovered: bool,
    /// Go on as the log grows, until interrupted
    #[arg(long, short, conflicts_with_all = ["rows", "messages", "surface", "state", "header", "at"])]
    pub(crate) follow: bool,
    /// Unfold everything
    #[arg(long)]
    pub(crate) full: bool,
    /// Show the seq of each entry in the margin, as `--at`, `--seq` and `fork --at` take it
    #[arg(long)]
    pub(crate) seqs: bool,
    /// With `--header`: count the events too, which reads the whole log
    #[arg(long, requires = "header")]
    pub(crate) long: bool,
}
