//! `dshlog man`.

use clap::Args as ClapArgs;

/// Print the manual page, of the program or of one command
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  dshlog man > ~/.local/share/man/man1/dshlog.1\n  dshlog man read | man -l -"
)]
pub(crate) struct Man {
    /// A command
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<String>,
}
