//! `dshlog search`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

/// Find what was said, thought, run and printed in all sessions
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Forms: text; json, one document; jsonl, one hit a line.\n\nExamples:\n  dshlog search login timeout role:user\n  \
                  dshlog search '\"no such file\" tool:bash after:last-week'\n  dshlog search is:error project:shop --sort time --flat",
    after_long_help = "All words must stand in one text. `OR`, `-word`, `( )`, `\"a phrase\"`, `begin*` and `/pattern/` work; fields are \
                       project, role, tool, model, session, parent, preset, generation, turn, is, has, in, after, before and on. \
                       Several arguments are joined by blanks, so a phrase needs quotes of its own inside those of the shell. A query that \
                       begins with `-` stands behind `--`.\n\nThe first search makes an index, which later ones keep up to date. The whole language: docs/search.md in the repository.\n\n\
                       Exit codes: 0 found; 1 nothing found; 2 the query cannot be understood; 4 the index cannot be used.\n\n\
                       Forms: text; json, one document; jsonl, one hit a line.\n\nExamples:\n  dshlog search login timeout role:user\n  \
                       dshlog search '\"no such file\" tool:bash after:last-week'\n  dshlog search is:error project:shop --sort time --flat"
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
    /// Take the index as it is
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
