//! `dshlog record`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};

/// Run an agent against a real model service, and keep what was said as a scenario that needs no service
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Forms: text.\n\nExamples:\n  dshlog record --upstream https://HOST/anthropic --scenario hello -- dsh headless 'Say hello'\n  \
                  dshlog record --mode replay --scenario hello -- dsh headless 'Say hello'",
    after_long_help = "The command gets the address of a server on this machine in DEEPSEEK_BASE_URL. The server passes \
                       everything on to the service, byte for byte and without delay, and keeps it: the scenario is a new \
                       folder with `script.json` (for `dshlog serve`, too), `requests.jsonl`, the bodies, and the session logs \
                       that were written meanwhile. Secrets are masked. docs/record.md in the repository has the details.\n\n\
                       Exit 0 when the command ended well and, of a replay, asked for exactly what the scenario has; else 1.\n\n\
                       Forms: text.\n\nExamples:\n  dshlog record --upstream https://HOST/anthropic --scenario hello -- dsh headless 'Say hello'\n  \
                       dshlog record --mode replay --scenario hello -- dsh headless 'Say hello'"
)]
pub(crate) struct Record {
    /// What to do with requests
    #[arg(long, value_enum, default_value_t = Mode::Record, env = "DSHLOG_MODE", hide_env_values = true)]
    pub(crate) mode: Mode,
    /// The service: what the base URL would be without this
    #[arg(long, value_name = "URL", env = "DEEPSEEK_BASE_URL", hide_env_values = true)]
    pub(crate) upstream: Option<String>,
    /// The folder of the scenario: new or empty to record, written before to replay
    #[arg(long, value_name = "DIR")]
    pub(crate) scenario: Option<PathBuf>,
    /// Let the script wait as the service did
    #[arg(long)]
    pub(crate) pauses: bool,
    /// The command, and its arguments
    #[arg(value_name = "CMD", required = true, last = true)]
    pub(crate) command: Vec<OsString>,
}

/// What to do with requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Pass them on, and keep what is said
    Record,
    /// Answer them out of the scenario; one that is not in it fails
    Replay,
    /// Pass them on, and keep nothing
    Passthrough,
}
