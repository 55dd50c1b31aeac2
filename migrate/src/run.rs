//! One log through its whole chain: rows in, events of the target out, memory of one line and the state of the folds.
//!
//! Nothing is written anywhere. What a migrated log is worth is said at its end; a caller that must not show events of a
//! log that is refused makes two runs over it, one for the verdict and one for the events.

use std::convert::Infallible;

use dshlog_codec::check::{Checker, Verdict};
use dshlog_codec::{At, End, Error, ErrorKind, Event, Generation, Header, Limits, LogFile, LogReader, Row};

use crate::chain::{Chain, ChainError};
use crate::children::Child;
use crate::deviation::{Deviation, Tally};
use crate::edge::{Edge, Refusal, RefusalClass};
use crate::v0_to_v1::V0ToV1;
use crate::v1_to_v2::{SourceKind, V1ToV2};
use crate::v2_to_v3::V2ToV3;
use crate::v3_to_v4::V3ToV4;

/// Why a run did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum RunError<E = Infallible> {
    /// The log cannot be read at its own generation.
    #[error(transparent)]
    Read(#[from] Error),
    /// A step refuses it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// There are no steps from this generation to the target.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// The caller did not take an event.
    #[error("the receiver of the events stopped")]
    Receiver(E),
}

/// A log on its way to another generation.
pub struct Run {
    reader: LogReader,
    chain: Chain,
    header: Header,
    tally: Option<Tally>,
}

/// What a run that came to its end has seen.
#[derive(Debug)]
pub struct Done {
    /// Number of events in the target.
    pub events: u64,
    /// Number of leading events that were copied from the parent, in the target.
    pub cut: u64,
    /// What the reader found at the end of the source.
    pub source: End,
    /// Where the target does not say what the source says; only looked for after [`Run::count_deviations`].
    pub deviations: Vec<Deviation>,
}

impl Run {
    /// Begin: the header is read and carried over. `children` is what [`crate::children::collect`] found, and only
    /// needed up to V4; nothing stands for "not looked for".
    pub fn open(
        log: &LogFile,
        target: Generation,
        children: Option<Vec<Child>>,
        limits: &Limits,
    ) -> Result<Run, RunError> {
        let reader = log.read(limits)?;
        let source = log.generation();
        let mut chain = Chain::new(source, target, edges(source, target, children))?;
        let header = chain.header(reader.header())?;
        Ok(Run { reader, chain, header, tally: None })
    }

    /// The header of the target.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Look for deviations on the way. Costs a little for each event.
    pub fn count_deviations(&mut self) {
        self.tally = Some(Tally::default());
    }

    /// All events of the target, in order.
    pub fn each<E>(mut self, mut see: impl FnMut(&Event<'_>) -> Result<(), E>) -> Result<Done, RunError<E>> {
        let mut events = 0;
        let mut stopped = None;
        let mut sink = |event: &Event<'_>| {
            events += 1;
            see(event).map_err(|error| {
                stopped = Some(error);
                receiver_stopped(event)
            })
        };
        let walked = walk(&mut self, &mut sink);
        match (walked, stopped) {
            (_, Some(error)) => Err(RunError::Receiver(error)),
            (Err(error), None) => Err(error.widen()),
            (Ok((cut, source)), None) => {
                let deviations = self.tally.map(Tally::finish).unwrap_or_default();
                Ok(Done { events, cut, source, deviations })
            }
        }
    }
}

/// Carries the receiver's error past the steps; never shown.
fn receiver_stopped(event: &Event<'_>) -> Refusal {
    Refusal {
        edge: "run",
        code: "receiver-stopped",
        what: String::new(),
        class: RefusalClass::Unsupported,
        at: Box::new(event.at()),
    }
}

fn walk(
    run: &mut Run,
    sink: &mut dyn FnMut(&Event<'_>) -> Result<(), Refusal>,
) -> Result<(u64, End), RunError> {
    let Run { reader, chain, tally, .. } = run;
    let mut sink = sink;
    while let Some(row) = reader.next_row()? {
        // The members of a packed run are safe integers and text.
        if let (Some(tally), Row::Event(event)) = (tally.as_mut(), &row) {
            tally.see(event);
        }
        chain.row(&row, &mut sink)?;
    }
    let end = reader.take_end();
    let cut = chain.finish(end.cut, &mut sink)?;
    Ok((cut, end))
}

/// The steps from `source` to `target`, as far as there are such steps.
fn edges(source: Generation, target: Generation, children: Option<Vec<Child>>) -> Vec<Box<dyn Edge>> {
    let kind = if source.0 == 1 { SourceKind::Decoded } else { SourceKind::Transformed };
    let mut children = children;
    let steps = (source.0..target.0).filter_map(|from| -> Option<Box<dyn Edge>> {
        Some(match from {
            0 => Box::new(V0ToV1::new()),
            1 => Box::new(V1ToV2::new(kind)),
            2 => Box::new(V2ToV3::new()),
            3 => Box::new(V3ToV4::new(children.take())),
            _ => return None,
        })
    });
    steps.collect()
}

/// A log that was carried to V4.
#[derive(Debug)]
pub struct Migrated {
    /// The header of V4.
    pub header: Header,
    /// What the run has seen.
    pub done: Done,
    /// What V4 makes of the events (`docs/spec/events-v4.md`, 10.12). Any fault means that V4 cannot hold the log, not that the
    /// source is damaged: of [`Verdict::storage`] the official reader says "unsupported migration", and with
    /// [`Verdict::session`] it hands out events on which no session opens.
    pub verdict: Verdict,
}

/// Carry a log to V4 and judge the result. `see` gets each event as it comes, before the verdict is known.
pub fn migrate_in_memory<E>(
    log: &LogFile,
    children: Option<Vec<Child>>,
    limits: &Limits,
    mut see: impl FnMut(&Event<'_>) -> Result<(), E>,
) -> Result<Migrated, RunError<E>> {
    let run = Run::open(log, Generation::CURRENT, children, limits).map_err(RunError::widen)?;
    let header = run.header().clone();
    let mut checker = Checker::with_admission(&header);
    let done = run.each(|event| {
        checker.see(event);
        see(event)
    })?;
    let verdict = checker.finish(done.cut);
    Ok(Migrated { header, done, verdict })
}

/// What the current format says against the result of the steps is no fault of the source: the official reader calls
/// the log unsupported.
pub fn unfit(error: Error) -> Error {
    let (code, at) = (error.code(), error.position().clone());
    ErrorKind::Migration { code, what: format!("V4 cannot hold it: {}", error.into_kind()) }.at(at)
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Error {
        match error {
            RunError::Read(error) => error,
            RunError::Refused(refusal) => refusal.into(),
            RunError::Chain(error) => {
                ErrorKind::Migration { code: "no-steps", what: error.to_string() }.at(At::default())
            }
            RunError::Receiver(never) => match never {},
        }
    }
}

impl RunError {
    /// The same error where a receiver can fail too.
    pub fn widen<E>(self) -> RunError<E> {
        match self {
            RunError::Read(error) => RunError::Read(error),
            RunError::Refused(refusal) => RunError::Refused(refusal),
            RunError::Chain(error) => RunError::Chain(error),
        }
    }
}
