//! `dshlog verify`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// Check logs by every rule there is
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Forms: text; json and jsonl, one document a log.\n\nExamples:\n  dshlog verify ~/.dsh\n  dshlog verify session.v4.jsonl.zstd --format json"
)]
pub(crate) struct Verify {
    /// Logs, or folders of sessions, roots and homes, for all generations in them [default: the home]
    pub(crate) paths: Vec<PathBuf>,
    /// Work on this many logs at once [default: all cores]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
}
