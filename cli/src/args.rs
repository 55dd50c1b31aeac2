//! What can be typed. Nothing is resolved here: see [`crate::ctx`] and [`crate::select`].

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{ArgGroup, Args as ClapArgs, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use dshlog_codec::Generation;

/// Look into dsh session logs, check them, and find things in them, all offline
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
                       torn tail under `verify`\n  2  wrong usage\n  3  refused: newer format, unknown required \
                       event, content that does not belong at its path,\n     a log of V0 to V3 that \
                       cannot be carried to V4, a session that a writer holds\n  4  could not read or write: missing file, permission, full disk, damage\n\n\
                       Environment:\n  DSH_HOME, DSH_SESSION_ROOT  the home and the root, when not given by switches\n  \
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
}

impl Format {
    /// The word on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Format::Table => "table",
            Format::Text => "text",
            Format::Json => "json",
            Format::Jsonl => "jsonl",
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
    Read(Read),
    Verify(Verify),
    Migrate(Migrate),
    Doctor(Doctor),
    Completions(Completions),
    Man(Man),
}

/// List sessions, the last used first
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Forms: table; json and jsonl, one document a session.\n\nExamples:\n  dshlog ls --since 1w\n  \
                  dshlog ls --long --format json ~/.dsh"
)]
pub(crate) struct Ls {
    /// A home or a root of sessions, instead of the default one
    #[arg(value_name = "HOME|ROOT")]
    pub(crate) place: Option<PathBuf>,
    /// Show these columns, separated by commas
    #[arg(long, value_delimiter = ',', value_enum, value_name = "NAMES")]
    pub(crate) columns: Vec<Column>,
    /// Read the logs too: title, last event, turns, events, tokens
    #[arg(long, short)]
    pub(crate) long: bool,
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
    State,
    Last,
    Turns,
    Events,
    Tokens,
    Path,
}

/// Show what happened in a session
#[derive(Debug, ClapArgs)]
#[command(
    group = ArgGroup::new("view").args(["events", "rows", "messages", "surface", "header"]),
    after_help = "Forms: text; with --events jsonl, text; with --rows jsonl; with --messages json; with --surface \
                  table, json; with --header text, json. The first one is the default.\n\nExamples:\n  dshlog \
                  read latest --turn 3\n  dshlog read 8d178ff3 --events --type 'tool/*' --format jsonl"
)]
#[expect(clippy::struct_excessive_bools, reason = "these are the switches on the command line")]
pub(crate) struct Read {
    /// A path, an id or its prefix, `latest`, `latest~2`
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) session: String,
    /// Show events, one a line
    #[arg(long, help_heading = "Views")]
    pub(crate) events: bool,
    /// Show the stored lines, byte for byte
    #[arg(long, help_heading = "Views")]
    pub(crate) rows: bool,
    /// Show the messages that the model would be sent next
    #[arg(long, help_heading = "Views")]
    pub(crate) messages: bool,
    /// Show the nodes that make up the history, and what they replaced
    #[arg(long, help_heading = "Views")]
    pub(crate) surface: bool,
    /// Show the facts the session was created with
    #[arg(long, help_heading = "Views")]
    pub(crate) header: bool,
    /// Only this turn
    #[arg(long, value_name = "N", help_heading = "Filters")]
    pub(crate) turn: Option<u64>,
    /// Only events A to B, both included (`7`, `7..12`, `7..`, `..12`)
    #[arg(long, value_name = "A..B", help_heading = "Filters")]
    pub(crate) seq: Option<String>,
    /// Only events of this type, `*` and `?` allowed; may be repeated
    #[arg(long = "type", value_name = "GLOB", help_heading = "Filters")]
    pub(crate) types: Vec<String>,
    /// Only what stood after event SEQ, as a transcript, messages or surface
    #[arg(long, value_name = "SEQ", help_heading = "Filters")]
    pub(crate) at: Option<u64>,
    /// Read this stored generation of the session, 0 to 4, instead of the newest
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=Generation::CURRENT.0), conflicts_with = "follow")]
    pub(crate) generation: Option<u64>,
    /// Show an old log in the form it is stored in, not in that of V4
    #[arg(long)]
    pub(crate) as_stored: bool,
    /// Read past unknown required events, stop at damage, and say so
    #[arg(long)]
    pub(crate) lenient: bool,
    /// Go on as the log grows, until interrupted
    #[arg(long, short, conflicts_with_all = ["rows", "messages", "surface", "header", "at"])]
    pub(crate) follow: bool,
    /// Unfold everything
    #[arg(long)]
    pub(crate) full: bool,
    /// Show the seq of each entry in the margin
    #[arg(long)]
    pub(crate) seqs: bool,
    /// With `--header`: count the events too, which reads the whole log
    #[arg(long, requires = "header")]
    pub(crate) long: bool,
}

/// Check logs by every rule there is
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Forms: text; json and jsonl, one document a log.\n\nExamples:\n  dshlog verify ~/.dsh\n  dshlog verify session.v4.jsonl.zstd --format json"
)]
pub(crate) struct Verify {
    /// Logs, or folders of sessions, roots and homes, for all generations in them [default: the home]
    pub(crate) paths: Vec<PathBuf>,
    /// Work on this many logs at once [default: all cores]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
}

/// Carry sessions of older formats to V4
///
/// The new log is published beside the old one, which is never touched: with the text that dsh itself would publish,
/// and only after it was read back whole. What was interrupted is started again.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Forms: table; json and jsonl, one document a session.\n\nExit codes: 0 all are in V4 now; 1 some \
                  logs were refused; 3 the only session named was refused, a writer holds one, or a V4 log of other \
                  content is there; 4 something could not be read or written. The highest one counts.\n\n\
                  Examples:\n  dshlog migrate --all --dry-run\n  dshlog migrate 8d178ff3 latest"
)]
pub(crate) struct Migrate {
    /// Sessions: paths, ids or their prefixes, `latest`, `latest~2`
    #[arg(value_name = "SESSION", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) sessions: Vec<String>,
    /// Every session of the home
    #[arg(long, short, conflicts_with = "sessions")]
    pub(crate) all: bool,
    /// Do everything but write
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,
    /// Work on this many sessions at once [default: all cores]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
}

/// Say what the next upgrade of dsh will do to a home, and what mends what is wrong with it
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Forms: text; json, one document. `-v` shows all that a finding is about, not only the first few.\n\n\
                  Examples:\n  dshlog doctor\n  dshlog doctor ~/.dsh --format json"
)]
pub(crate) struct Doctor {
    /// A home or a root of sessions, instead of the default one
    #[arg(value_name = "HOME|ROOT")]
    pub(crate) place: Option<PathBuf>,
    /// Work on this many logs at once [default: all cores]
    #[arg(long, value_name = "N")]
    pub(crate) jobs: Option<usize>,
}

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
