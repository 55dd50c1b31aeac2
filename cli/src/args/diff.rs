//! `dshlog diff`.

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser};
use clap::{Args as ClapArgs, ValueEnum};
use dshlog_replay::compare::Rule;

/// Show what is different in two sessions
///
/// Turns, steps and events are aligned, so that one more turn does not make everything behind it different. What differs in
/// any two runs is set aside, by rules: ids, turns and seqs are renumbered, so that links still count; times, folders,
/// versions and ports are not compared; titles and the like may stand elsewhere.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Forms: text; json.\n\nRules: ids, turns, seqs, times, folders, versions, ports, floating; with \
                  --ignore also usage, chunks.\n\nExit codes: 0 equal; 1 different.\n\nExamples:\n  dshlog diff \
                  latest~1 latest\n  dshlog diff 8d178ff3 77ab --what messages --keep folders"
)]
pub(crate) struct Diff {
    /// The first session: a path, an id or its prefix, `latest`, `latest~2`
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) a: String,
    /// The second one
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) b: String,
    /// What is compared
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = What::Events)]
    pub(crate) what: What,
    /// Only this turn of the first session, and what it is aligned with
    #[arg(long, value_name = "N")]
    pub(crate) turn: Option<u64>,
    /// Compare what this rule sets aside, too; `all` for everything; may be repeated
    #[arg(long, value_name = "RULE", value_parser = PossibleValuesParser::new(Rule::ALL.map(Rule::name).into_iter().chain(["all"])), hide_possible_values = true)]
    pub(crate) keep: Vec<String>,
    /// Set aside what this rule speaks of, too; may be repeated
    #[arg(long, value_name = "RULE", value_parser = PossibleValuesParser::new(Rule::ALL.map(Rule::name)), hide_possible_values = true)]
    pub(crate) ignore: Vec<String>,
    /// Equal events, and equal lines of a text, to show around what differs
    #[arg(long, short = 'C', value_name = "N", default_value_t = 3)]
    pub(crate) context: usize,
    /// Show all differences, and each whole
    #[arg(long)]
    pub(crate) full: bool,
}

/// What of two sessions is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum What {
    /// Events, the facts of the header included
    Events,
    /// The messages that the model would be sent next
    Messages,
    /// The requests that the model got
    Requests,
}

impl What {
    /// The word on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            What::Events => "events",
            What::Messages => "messages",
            What::Requests => "requests",
        }
    }
}
