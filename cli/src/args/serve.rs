//! `dshlog serve`.

use std::net::IpAddr;
use std::path::PathBuf;

use clap::Args as ClapArgs;

/// Play a scripted model service for tests of agents, on this machine
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Forms: text, json.\n\nExamples:\n  dshlog serve script.toml\n  \
                  dshlog serve script.json --once --capture asked --format json",
    after_long_help = "Give its address to dsh in DEEPSEEK_BASE_URL. docs/script.md in the repository explains scripts.\n\n\
                       It ends on an interrupt, or by itself with --once, and tells how many requests came and whether \
                       they were what the script expects: exit 0 when all went as the script has it, else 1.\n\n\
                       Forms: text, json.\n\nExamples:\n  dshlog serve script.toml\n  \
                       dshlog serve script.json --once --capture asked --format json"
)]
pub(crate) struct Serve {
    /// The script: TOML, or JSON when its name ends in `.json`
    #[arg(value_name = "SCRIPT")]
    pub(crate) script: PathBuf,
    /// Port to listen on [default: any that is free]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Address to listen on; others than this machine may reach it when it is not of the loopback interface
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) listen: IpAddr,
    /// Keep what is asked in this folder, which must be new or empty
    #[arg(long, value_name = "DIR")]
    pub(crate) capture: Option<PathBuf>,
    /// End when every exchange has been served
    #[arg(long)]
    pub(crate) once: bool,
    /// Read the script, tell what is wrong with it, and end
    #[arg(long, conflicts_with_all = ["port", "listen", "capture", "once"])]
    pub(crate) check: bool,
}
