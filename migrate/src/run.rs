//! One log through its whole chain: rows in, events of the target out, memory of one line and the state of the folds.
//!
//! Nothing is written anywhere. What a migrated log is worth is said at its end; a caller that must not show events of a
//! log that is refused makes two runs over it, one for the verdict and one for the events.

mod pipeline;

use std::convert::Infallible;

use dshlog_codec::check::{Checker, Verdict};
use dshlog_codec::{
    At, End, Error, ErrorKind, Event, Generation, Header, Limits, LogFile, LogReader, Place, Row,
};

use crate::chain::{Chain, ChainError, Sink};
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

/// Files below this size are carried over on the caller's own thread.
const PIPELINE_FROM: u64 = 1 << 20;

/// A log on its way to another generation.
pub struct Run {
    source: Source,
    chain: Chain,
    header: Header,
    /// Handed out so far.
    events: u64,
    is_large: bool,
}

/// What is read, and seen at its own generation.
struct Source {
    reader: LogReader,
    tally: Option<Tally>,
}

/// What was seen of a log when all of its rows are read.
struct SourceEnd {
    /// Number of inherited events, behind the steps that were taken.
    cut: u64,
    end: End,
    deviations: Vec<Deviation>,
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
        let source = Source { reader, tally: None };
        Ok(Run { source, chain, header, events: 0, is_large: log.len() >= PIPELINE_FROM })
    }

    /// The header of the target.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Look for deviations on the way. Costs a little for each event.
    pub fn count_deviations(&mut self) {
        self.source.tally = Some(Tally::default());
    }

    /// All events of the target, in order. A large log is read, and takes its first steps, on a thread of its own.
    pub fn each<E>(mut self, mut see: impl FnMut(&Event<'_>) -> Result<(), E>) -> Result<Done, RunError<E>> {
        if self.is_large && self.chain.len() > 0 {
            return self.each_on_two_threads(see);
        }
        loop {
            if let Some(done) = self.advance(&mut see)? {
                return Ok(done);
            }
        }
    }

    fn each_on_two_threads<E>(
        self,
        mut see: impl FnMut(&Event<'_>) -> Result<(), E>,
    ) -> Result<Done, RunError<E>> {
        let Run { source, chain: mut front, .. } = self;
        // The thread reads too, but the receiver has work of its own to do.
        let mut back = front.split_off(front.len().div_ceil(2));
        let mut count = self.events;
        let end = counted(&mut count, &mut see, |sink| pipeline::run(source, front, &mut back, sink))?;
        Ok(end.done(count))
    }

    /// Take one more row of the source and hand out the events that come of it: none, one or several. Behind the last row
    /// come those of the end, with what the run has seen; then the run is over.
    pub fn advance<E>(
        &mut self,
        mut see: impl FnMut(&Event<'_>) -> Result<(), E>,
    ) -> Result<Option<Done>, RunError<E>> {
        let Run { source, chain, events, .. } = self;
        let end = counted(events, &mut see, |sink| source.advance(chain, sink))?;
        Ok(end.map(|end| end.done(*events)))
    }
}

/// Give `walk` a sink that counts what `see` gets, and carry the error of `see` past the steps.
fn counted<T, E>(
    events: &mut u64,
    see: &mut impl FnMut(&Event<'_>) -> Result<(), E>,
    walk: impl FnOnce(&mut dyn Sink) -> Result<T, RunError>,
) -> Result<T, RunError<E>> {
    let mut stopped = None;
    let mut sink = |event: &Event<'_>| {
        *events += 1;
        see(event).map_err(|error| {
            stopped = Some(error);
            receiver_stopped(event.place)
        })
    };
    let walked = walk(&mut sink);
    match stopped {
        Some(error) => Err(RunError::Receiver(error)),
        None => walked.map_err(RunError::widen),
    }
}

/// Ends a walk whose receiver went away; never shown.
fn receiver_stopped(place: Place) -> Refusal {
    Refusal {
        edge: "run",
        code: "receiver-stopped",
        what: String::new(),
        class: RefusalClass::Unsupported,
        at: Box::new(At::place(place)),
    }
}

impl Source {
    /// One row through these steps; behind the last one their own end, and what was seen.
    fn advance(&mut self, chain: &mut Chain, sink: &mut dyn Sink) -> Result<Option<SourceEnd>, RunError> {
        if let Some(row) = self.reader.next_row()? {
            // The members of a packed run are safe integers and text.
            if let (Some(tally), Row::Event(event)) = (self.tally.as_mut(), &row) {
                tally.see(event);
            }
            chain.row(&row, sink)?;
            return Ok(None);
        }
        let end = self.reader.take_end();
        let cut = chain.finish(end.cut, sink)?;
        let deviations = self.tally.take().map(Tally::finish).unwrap_or_default();
        Ok(Some(SourceEnd { cut, end, deviations }))
    }
}

impl SourceEnd {
    fn done(self, events: u64) -> Done {
        Done { events, cut: self.cut, source: self.end, deviations: self.deviations }
    }
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
