//! `dshlog index`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// Bring the index that `search` uses up to date, once or for as long as it runs
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Forms: text; json, one document; with --watch, one a line, as jsonl.\n\nExamples:\n  dshlog index\n  dshlog index --watch\n  dshlog index --status --format json",
    after_long_help = "Nobody needs this: the first search makes the index. But `dshlog index` looks at all logs where a search looks at some, checks \
                       the index itself for damage, and names the logs that could not be read to their end. The index can be \
                       deleted; the logs are never written to.\n\nWhat is in it, what happens when something goes wrong, and a service that follows a home: \
                       docs/index.md in the repository.\n\nExit codes: 0 up to date, also when some logs are not whole in it; 2 \
                       wrong usage; 3 the folder is somebody else's or a newer dshlog's, or another process is writing (--no-wait); \
                       4 no index (--status), no root, or the index cannot be read or written.\n\nForms: text; json, one document; with --watch, \
                       one a line, as jsonl.\n\nExamples:\n  dshlog index\n  dshlog index --watch\n  dshlog index --status --format json"
)]
#[expect(clippy::struct_excessive_bools, reason = "these are the switches on the command line")]
pub(crate) struct Index {
    /// Folder of the index [default: one for each home in `$XDG_CACHE_HOME/dshlog`]
    #[arg(long = "index", value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Forget the index and make it anew
    #[arg(long)]
    pub(crate) rebuild: bool,
    /// Follow the home: what is written is found within two seconds
    #[arg(long, conflicts_with = "rebuild")]
    pub(crate) watch: bool,
    /// Leave when another process is writing to the index [default: wait]
    #[arg(long)]
    pub(crate) no_wait: bool,
    /// Say what the index holds, and change nothing
    #[arg(long, conflicts_with_all = ["rebuild", "watch", "no_wait", "jobs"])]
    pub(crate) status: bool,
    /// Work on this many logs at once [default: all cores]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
}
