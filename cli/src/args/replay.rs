//! `dshlog replay`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args as ClapArgs;
use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};
use dshlog_replay::compare::Rule;

/// Run recorded sessions again, and tell what comes out otherwise
///
/// The model answers as it did in the record, the agent does the rest anew, and its log and its requests are compared with the
/// recorded ones. `core` is the agent loop that is built in; it takes the results of tools from the record, so nothing is
/// called. `dsh` and commands run in a home and a working directory of their own.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Forms: text; json.\n\nExit codes: 0 all came out equal; 1 one differs, failed, or took too long.\n\n\
                  Environment: DSHLOG_DSH the dsh of `--agent dsh` [default: that of PATH].\n\nExamples:\n  dshlog replay \
                  latest\n  dshlog replay tests/sessions --jobs 4 --junit report.xml\n  dshlog replay tests/sessions --agent \
                  'my-agent \"$1\"' --timeout 30 --keep"
)]
pub(crate) struct Replay {
    /// A scenario, a suite of scenarios, or a session: a path, an id or its prefix, `latest`, `latest~2`
    #[arg(value_name = "SESSION|SUITE", required = true, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) targets: Vec<String>,
    /// Who runs it: `core`, `dsh`, or a line for a shell, which gets the prompts as `$1`, `$2` [default: what the scenario says,
    /// else core]
    #[arg(long, value_name = "AGENT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) agent: Option<String>,
    /// Compare what this rule sets aside, too; `all` for everything; may be repeated
    #[arg(long, value_name = "RULE", value_parser = PossibleValuesParser::new(Rule::ALL.map(Rule::name).into_iter().chain(["all"])), hide_possible_values = true)]
    pub(crate) strict: Vec<String>,
    /// Set aside what this rule speaks of, too; may be repeated
    #[arg(long, value_name = "RULE", value_parser = PossibleValuesParser::new(Rule::ALL.map(Rule::name)), hide_possible_values = true)]
    pub(crate) ignore: Vec<String>,
    /// Take what came out for what scenarios expect from now on
    #[arg(long)]
    pub(crate) update: bool,
    /// Scenarios to run at once [default: one for each core]
    #[arg(long, short = 'j', value_name = "N")]
    pub(crate) jobs: Option<usize>,
    /// How long one may take [default: what the scenario says, else 60]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    /// Write a report in the form of `JUnit` to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// Keep the folders of those that do not come out equal: home, working directory, log, output
    #[arg(long)]
    pub(crate) keep: bool,
    /// Equal events, and equal lines of a text, to show around what differs
    #[arg(long, short = 'C', value_name = "N", default_value_t = 3)]
    pub(crate) context: usize,
}

fn seconds(text: &str) -> Result<Duration, &'static str> {
    let time = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    time.filter(|time| !time.is_zero()).ok_or("a number of seconds above 0 is asked for")
}
