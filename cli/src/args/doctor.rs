//! `dshlog doctor`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// Say what the next upgrade of dsh will do to a home, and what mends what is wrong with it
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Forms: text; json, one document. `-v` shows all that a finding is about, not only the first few.\n\n\
                  Examples:\n  dshlog doctor\n  dshlog doctor ~/.dsh --format json"
)]
pub(crate) struct Doctor {
    /// A home or a root of sessions, instead of the default one
    #[arg(value_name = "HOME|ROOT")]
    pub(crate) place: Option<PathBuf>,
    /// Work on this many logs at once [default: all cores]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
}
