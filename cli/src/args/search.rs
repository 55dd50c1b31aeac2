//! `dshlog search`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

/// Find what was said, thought, run and printed in all sessions
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "A text must hold all words; `OR`, `-word`, `\"a phrase\"`, `begin*`, `/pattern/` and fields work: see --help.\n\n\
                  Forms: text; json, one document; jsonl, one hit a line.\n\nExamples:\n  dshlog search login timeout role:user\n  \
                  dshlog search '\"no such file\" tool:bash after:last-week'\n  dshlog search is:error project:shop --sort time --flat\n  \
                  dshlog search --open 1 login timeout role:user",
    after_long_help = "What can be in a query:\n  login timeout        both words in one text, in any form\n  \
                       login OR logout      one of them\n  'login -test'        the first without the second\n  \
                       '(a OR b) c'         groups\n  '\"no such file\"'     these words, one behind the other\n  \
                       'read*'              a word that begins so\n  '/time-?out/'        a regular expression\n  \
                       in:prompt,answer     title, prompt, context, answer, reasoning, call, result, error,\n                       \
                       summary, system, todo\n  role:user            user, assistant, tool, system\n  \
                       tool:bash            also model:, preset:\n  is:error             error, replaced, inherited, fork, subagent, partial\n  \
                       has:image            image, file\n  project:shop         a folder, or a path\n  \
                       session:8d178ff3     also parent:, generation:, turn:\n  after:last-week      also before:, on:; \
                       2026-11-30, 3d, yesterday, monday\n\nSeveral arguments are one query. The shell takes its own quotes away, \
                       so a phrase needs quotes inside of them. What begins with `-` stands in quotes with what is in front of it, or behind `--`.\n\n\
                       The first search makes an index, which later ones keep up to date as far as that is quick; `--update` \
                       looks at everything. The whole language, and how hits are ranked: docs/search.md in the repository.\n\n\
                       Exit codes: 0 found; 1 nothing found; 2 the query or the cursor is not understood; 3 the folder of the index \
                       is somebody else's or a newer dshlog's; 4 there is no root, or the index cannot be read or written.\n\n\
                       Forms: text; json, one document; jsonl, one hit a line.\n\nExamples:\n  dshlog search login timeout role:user\n  \
                       dshlog search '\"no such file\" tool:bash after:last-week'\n  dshlog search is:error project:shop --sort time --flat\n  \
                       dshlog search --open 1 login timeout role:user"
)]
#[expect(clippy::struct_excessive_bools, reason = "these are the switches on the command line")]
pub(crate) struct Search {
    /// What to look for; several arguments are one query
    #[arg(required = true, value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    /// Show every hit, not only the best of each session
    #[arg(long)]
    pub(crate) flat: bool,
    /// Show so many hits
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) limit: u32,
    /// Go on where an earlier answer ended, by what it gave
    #[arg(long, value_name = "CURSOR", conflicts_with = "scan")]
    pub(crate) cursor: Option<String>,
    /// The best first, or the latest
    #[arg(long, value_enum, default_value_t = Sort::Relevance)]
    pub(crate) sort: Sort,
    /// Read all logs now, and neither use an index nor write one
    #[arg(long, conflicts_with_all = ["index", "update", "no_update"])]
    pub(crate) scan: bool,
    /// The folder of the index [default: in `$XDG_CACHE_HOME/dshlog`, one for each home]
    #[arg(long, value_name = "DIR")]
    pub(crate) index: Option<PathBuf>,
    /// Bring the index up to date first, however long it takes
    #[arg(long, conflicts_with = "no_update")]
    pub(crate) update: bool,
    /// Take the index as it is; one that is not there is made
    #[arg(long)]
    pub(crate) no_update: bool,
    /// Work on this many logs at once [default: all cores]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// Show N lines around each match instead of a piece of the text
    #[arg(long, value_name = "N")]
    pub(crate) context: Option<usize>,
    /// Read the turn of hit N
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) open: Option<u32>,
    /// Say how the query was understood, and why each hit stands where it stands
    #[arg(long)]
    pub(crate) explain: bool,
}

/// Order of hits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sort {
    /// By terms, kind of text and age
    Relevance,
    /// By time alone
    Time,
}
