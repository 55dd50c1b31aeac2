//! `dshlog new-scenario`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::builder::NonEmptyStringValueParser;

/// Make a scenario for `replay` out of a session
///
/// The folder gets a copy of the session's log, and of those of its subagents, a `scenario.toml`, and an empty folder for files
/// that the agent finds in its working directory. The session is only read.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Exit codes: 3 the session is refused, or the folder exists; 4 something could not be read or written.\n\n\
                  Examples:\n  dshlog new-scenario tests/sessions/greets --from latest\n  dshlog new-scenario \
                  tests/sessions/plans --from 8d178ff3 --agent dsh"
)]
pub(crate) struct NewScenario {
    /// The folder to make; its name is that of the scenario
    #[arg(value_name = "NAME")]
    pub(crate) folder: PathBuf,
    /// The session: a path, an id or its prefix, `latest`, `latest~2`
    #[arg(long, value_name = "SESSION", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) from: String,
    /// Who runs it: `core`, `dsh`, or a line for a shell
    #[arg(long, value_name = "AGENT", default_value = "core", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) agent: String,
}
