//! `dshlog completions`.

use clap::Args as ClapArgs;
use clap_complete::Shell;

/// Print a completion script for a shell
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  dshlog completions bash > ~/.local/share/bash-completion/completions/dshlog\n  \
                  dshlog completions zsh > \"${fpath[1]}/_dshlog\""
)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}
