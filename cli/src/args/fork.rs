//! `dshlog fork`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::builder::NonEmptyStringValueParser;

/// Make a new session out of the events of another one, up to one of them
///
/// The new session has the events up to SEQ, a mark behind them, and what closes the turn that was open there: what a fork
/// in dsh has. To leave a turn out, name the end of the turn before it: what was said to begin a turn stands in front of its
/// start, and would wait in the new session. Seqs are those that `read --seqs` shows: of a log of V0 to V3, those of its
/// events in V4. The other session is only read, and may be at work meanwhile.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Forms: text, json.\n\nExit codes: 2 there is no such seq; 3 the session is refused, no turn of it has an \
                  end, or the id is taken; 4 something could not be read or written.\n\nExamples:\n  dshlog fork latest \
                  --at 41\n  dshlog fork 8d178ff3 --at end --out ~/other/sessions --dry-run"
)]
pub(crate) struct Fork {
    /// A path, an id or its prefix, `latest`, `latest~2`
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub(crate) session: String,
    /// The last event to copy, by its seq, or `end` for the last one [default: the end of the last turn that has one, with what
    /// follows it]
    #[arg(long, value_name = "SEQ", value_parser = at)]
    pub(crate) at: Option<ForkAt>,
    /// Home or root of sessions to put it in, made when it is not there [default: the root of SESSION]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Id of the new session [default: a random one]
    #[arg(long, value_name = "ID", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) id: Option<String>,
    /// Do everything but write
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,
}

/// A place that was named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForkAt {
    /// Behind this event.
    Seq(u64),
    /// Behind the last one.
    End,
}

fn at(text: &str) -> Result<ForkAt, &'static str> {
    if text == "end" {
        return Ok(ForkAt::End);
    }
    text.parse().map(ForkAt::Seq).map_err(|_| "a seq or `end` is asked for")
}
