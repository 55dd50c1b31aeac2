//! `dshlog export`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::builder::NonEmptyStringValueParser;

/// Turn a session into a page or a document, or all of them into a data set
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Forms: html, md, json, jsonl. The ending of --out decides, unless --format does; else it is \
                        html. Of --all: parquet, quickwit.\n\nExamples:\n  dshlog export latest --out session.html\n  dshlog export 8d178ff3 \
                        --turn 3 --format md\n  dshlog export --all --format parquet --out sessions.dataset",
    after_long_help = "Forms: html, md, json, jsonl. The ending of --out decides, unless --format does; else it is html. Of \
                       --all: parquet [default], quickwit; it writes a new folder, for DuckDB, Spark or Quickwit (docs/dataset.md and \
                       docs/scale.md in the repository), and ends with 1 when not all of a log could be taken.\n\n\
                       Examples:\n  dshlog export latest --out session.html\n  dshlog export 8d178ff3 --turn 3 \
                       --format md\n  dshlog export --all --format parquet --out sessions.dataset"
)]
#[expect(clippy::struct_excessive_bools, reason = "these are the switches on the command line")]
pub(crate) struct Export {
    /// A path, an id or its prefix, `latest`, `latest~2`
    #[arg(value_parser = NonEmptyStringValueParser::new(), required_unless_present = "all")]
    pub(crate) session: Option<String>,
    /// All sessions of the home, into a new folder
    #[arg(
        long,
        requires = "out",
        conflicts_with_all = ["session", "force", "at", "turn", "with_children", "no_images"]
    )]
    pub(crate) all: bool,
    /// Write to this file instead of stdout, whole or not at all; `-` is stdout. Of --all, the folder
    #[arg(long, short, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the file if it exists
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Only what stood after event SEQ
    #[arg(long, value_name = "SEQ", help_heading = "Filters")]
    pub(crate) at: Option<u64>,
    /// Only this turn
    #[arg(long, value_name = "N", help_heading = "Filters")]
    pub(crate) turn: Option<u64>,
    /// Add the subagents that it started, and theirs
    #[arg(long, conflicts_with_all = ["at", "turn"])]
    pub(crate) with_children: bool,
    /// Leave images out of the page
    #[arg(long)]
    pub(crate) no_images: bool,
}
