//! `dshlog migrate`.

use clap::Args as ClapArgs;
use clap::builder::NonEmptyStringValueParser;

/// Carry sessions of older formats to V4
///
/// The new log is published beside the old one, which is never touched: with the text that dsh itself would publish,
/// and only after it was read back whole. What was interrupted is started again.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Forms: table; json and jsonl, one document a session.\n\nExit codes: 0 all are in V4 now; 1 some \
                  logs were refused; 3 the only session named was refused, a writer holds one, or a V4 log of other \
                  content is there; 4 something could not be read or written. The highest one counts.\n\n\
                  Examples:\n  dshlog migrate --all --dry-run\n  dshlog migrate 8d178ff3 latest"
)]
pub(crate) struct Migrate {
    /// Sessions: paths, ids or their prefixes, `latest`, `latest~2`
    #[arg(value_name = "SESSION", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) sessions: Vec<String>,
    /// Every session of the home
    #[arg(long, short, conflicts_with = "sessions")]
    pub(crate) all: bool,
    /// Do everything but write
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,
    /// Work on this many sessions at once [default: all cores]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
}
