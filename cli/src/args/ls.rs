//! `dshlog ls`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args as ClapArgs, ValueEnum};

/// List sessions, the last used first
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Forms: table; json and jsonl, one document a session.\n\nExamples:\n  dshlog ls --since 1w\n  \
                  dshlog ls --tree --long\n  dshlog ls --long --format json ~/.dsh"
)]
pub(crate) struct Ls {
    /// A home or a root of sessions, instead of the default one
    #[arg(value_name = "HOME|ROOT")]
    pub(crate) place: Option<PathBuf>,
    /// Show these columns, separated by commas
    #[arg(long, value_delimiter = ',', value_enum, value_name = "NAMES")]
    pub(crate) columns: Vec<Column>,
    /// Read the logs too, and show titles, last events, turns, events and tokens
    #[arg(long, short)]
    pub(crate) long: bool,
    /// Show forks and subagents below the sessions that they come from; with `--long` also where they began
    #[arg(long)]
    pub(crate) tree: bool,
    /// Only sessions whose working directory or project folder contains this text
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) project: Option<String>,
    /// Only sessions used at or after this time (`2026-11-30`, `2026-11-30T12:00`, `90m`, `3d`, `1w`)
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// Only sessions used before this time, in the same forms
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<String>,
    /// Show also what is no readable session, with the reason
    #[arg(long, short)]
    pub(crate) all: bool,
    /// Work on this many logs at once [default: all cores]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
}

/// Columns of `ls`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub(crate) enum Column {
    Id,
    Title,
    Project,
    Created,
    Modified,
    Size,
    Generation,
    Encoding,
    Parent,
    Relation,
    State,
    Last,
    Turns,
    Events,
    Tokens,
    Path,
}
