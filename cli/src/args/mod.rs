//! What can be typed. Nothing is resolved here: see [`crate::ctx`] and [`crate::select`].

mod completions;
mod diff;
mod doctor;
mod export;
mod fork;
mod index;
mod ls;
mod man;
mod migrate;
mod new_scenario;
mod read;
mod record;
mod replay;
mod request;
mod search;
mod serve;
mod stats;
mod verify;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

pub(crate) use completions::Completions;
pub(crate) use diff::{Diff, What};
pub(crate) use doctor::Doctor;
pub(crate) use export::Export;
pub(crate) use fork::{Fork, ForkAt};
pub(crate) use index::Index;
pub(crate) use ls::{Column, Ls};
pub(crate) use man::Man;
pub(crate) use migrate::Migrate;
pub(crate) use new_scenario::NewScenario;
pub(crate) use read::Read;
pub(crate) use record::{Mode, Record};
pub(crate) use replay::Replay;
pub(crate) use request::{Request, ToolUpdate, YesNo};
pub(crate) use search::{Search, Sort};
pub(crate) use serve::Serve;
pub(crate) use stats::{By, Stats};
pub(crate) use verify::Verify;

/// Look into dsh session logs, check, compare and count them, and carry them to today's format, all offline
#[derive(Debug, Parser)]
#[command(
    name = "dshlog",
    version,
    propagate_version = false,
    max_term_width = 100,
    disable_help_subcommand = true,
    after_help = "A session is named by a path to a log or its folder, an id, a unique prefix of an id, `latest`, or \
                  `latest~2`.\n\nExit codes: 0 done; 1 done, and something was found; 2 wrong usage; 3 refused; \
                  4 could not read or write.",
    after_long_help = "A session is named by a path to a log or its folder, by an id, by any unique prefix of an id \
                       (with or without `session-`), by `latest`, or by `latest~2` (the third last).\n\n\
                       Exit codes:\n  0  done, nothing wrong\n  1  done, and found something: an invalid log, a \
                       torn tail under `verify`, a difference\n     under `diff`; of `search`, nothing found\n  2  wrong usage\n  3  refused: newer format, unknown required \
                       event, content that does not belong at its path,\n     a log of V0 to V3 that \
                       cannot be carried to V4, a session or index that a writer holds,\n     a file, folder or session that exists, \
                       a folder that is no index\n  4  could not read or write: missing file, permission, full disk, damage\n\n\
                       Environment:\n  DSH_HOME, DSH_SESSION_ROOT  the home and the root, when not given by switches\n  \
                       XDG_CACHE_HOME              where the index of `search` lies [default: ~/.cache]\n  \
                       DSHLOG_PAGER, PAGER         the pager [default: less]; `cat` for none\n  \
                       NO_COLOR, COLUMNS, TZ       no colours, the width, the time zone\n  \
                       DSHLOG_NOW                  a moment to take for now, in seconds since 1970, for tests\n\n\
                       What programs read, and the codes of faults: docs/output.md and docs/codes.md in the \
                       repository."
)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Clone, Debug, ClapArgs)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Home of dsh [default: `$DSH_HOME`, else ~/.dsh]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Root of sessions [default: `$DSH_SESSION_ROOT`, else `sessions` in the home]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,
    /// Form of the output; the end of each command's help says which it offers
    #[arg(long, global = true, value_enum)]
    pub(crate) format: Option<Format>,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t = When::Auto)]
    pub(crate) color: When,
    /// Columns to fill [default: those of the terminal, at most 120; else 100]
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(40..))]
    pub(crate) width: Option<u16>,
    /// Say nothing but results and errors
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Say more on stderr; twice for everything
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Write long output to the terminal without a pager
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
}

/// Forms of output. No command offers them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Columns for people
    Table,
    /// Lines for people
    Text,
    /// One JSON document, or one a line
    Json,
    /// One JSON value a line
    Jsonl,
    /// Values separated by commas, under a line of names
    Csv,
    /// Markdown
    Md,
    /// One HTML page
    Html,
    /// The body of a Messages request
    Messages,
    /// The body of a Chat Completions request
    Chat,
    /// Tables for other engines
    Parquet,
    /// Documents and an index configuration for Quickwit
    Quickwit,
}

impl Format {
    /// The word on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Format::Table => "table",
            Format::Text => "text",
            Format::Json => "json",
            Format::Jsonl => "jsonl",
            Format::Csv => "csv",
            Format::Md => "md",
            Format::Html => "html",
            Format::Messages => "messages",
            Format::Chat => "chat",
            Format::Parquet => "parquet",
            Format::Quickwit => "quickwit",
        }
    }
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal, unless `NO_COLOR` is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Ls(Ls),
    Search(Search),
    Index(Index),
    Read(Read),
    Request(Request),
    Diff(Diff),
    Stats(Stats),
    Export(Export),
    Verify(Verify),
    Migrate(Migrate),
    Fork(Fork),
    Doctor(Doctor),
    Serve(Serve),
    Replay(Replay),
    NewScenario(NewScenario),
    Record(Record),
    Completions(Completions),
    Man(Man),
}
