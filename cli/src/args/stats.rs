//! `dshlog stats`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args as ClapArgs, ValueEnum};

/// Count tokens, requests, tools, turns and times
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Forms: table; json, one document; csv.\n\nExamples:\n  dshlog stats --since 1w --price prices.toml\n  \
                  dshlog stats --by tool\n  dshlog stats --by project,model --price prices.toml --format csv",
    after_long_help = "Forms: table; json, one document; csv.\n\nSHARE is that of all tokens, or with `tool` of all calls; FIRST is the \
                       median wait for the first token, 95 % the time within which 95 of 100 calls end. Events that a fork inherited count in its parent only. \
                       A log that dsh refuses is named and left out. What every figure means, and what a file of \
                       prices looks like: docs/stats.md in the repository.\n\nExamples:\n  dshlog stats --since 1w \
                       --price prices.toml\n  dshlog stats --by tool\n  dshlog stats --by project,model --price prices.toml --format csv"
)]
pub(crate) struct Stats {
    /// Sessions, or homes, instead of the default home
    #[arg(value_name = "SESSION|HOME")]
    pub(crate) places: Vec<String>,
    /// One row for each of these, separated by commas [default: model]
    #[arg(long, value_delimiter = ',', value_enum, value_name = "KEYS")]
    pub(crate) by: Vec<By>,
    /// Only sessions whose working directory or project folder contains this text
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) project: Option<String>,
    /// Only what happened at or after this time (`2026-11-30`, `2026-11-30T12:00`, `90m`, `3d`, `1w`)
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only what happened before this time, in the same forms
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Say what it cost by the prices in this TOML file
    #[arg(long, value_name = "FILE")]
    pub(crate) price: Option<PathBuf>,
    /// Work on this many logs at once [default: all cores]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
}

/// What rows are kept apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub(crate) enum By {
    Session,
    Model,
    Project,
    Day,
    Tool,
    None,
}
