//! One attempt at an answer, while it is open.

use dshlog_codec::json::{Fields, Js, Kind, Tree, print};
use dshlog_codec::pack::{Compactor, PackedRow, Ranges};
use dshlog_codec::{Event, Millis, Place};

use crate::fault::{Check, shown, unsupported};

/// The turn or the step that a chunk names. Nobody checks it, so it may be anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Coordinate {
    Absent,
    /// As JSON text.
    Scalar(Kind, Box<str>),
    /// An object or array, as JSON text: never the same as another one.
    Other(Box<str>),
}

impl Coordinate {
    pub(super) fn of(value: Option<Js<'_>>) -> Self {
        let Some(value) = value else { return Coordinate::Absent };
        let mut text = Vec::new();
        print(&mut text, value);
        let text = String::from_utf8_lossy(&text).into();
        match value.kind() {
            Kind::Object | Kind::Array => Coordinate::Other(text),
            kind => Coordinate::Scalar(kind, text),
        }
    }

    pub(super) fn count(count: u64) -> Self {
        Coordinate::Scalar(Kind::Number, count.to_string().into())
    }

    fn is_same(&self, other: &Self) -> bool {
        !matches!(self, Coordinate::Other(_)) && self == other
    }
}

/// The stream of an attempt, and what came behind its last chunk.
#[derive(Debug)]
pub(super) struct Attempt {
    turn: Coordinate,
    step: Coordinate,
    /// First and last seq of each run of consecutive chunks.
    seqs: Vec<(u64, u64)>,
    stream: Compactor,
    time: Millis,
    place: Place,
    /// A `finish` came: the next chunk begins another attempt.
    finished: bool,
    tail: Vec<(Box<str>, Place)>,
}

impl Attempt {
    /// An attempt before its first chunk.
    pub(super) fn new(turn: Coordinate, step: Coordinate) -> Self {
        Attempt {
            turn,
            step,
            seqs: Vec::new(),
            stream: Compactor::new(),
            time: Millis(0),
            place: Place::default(),
            finished: false,
            tail: Vec::new(),
        }
    }

    pub(super) fn is_of(&self, turn: &Coordinate, step: &Coordinate) -> bool {
        self.turn.is_same(turn) && self.step.is_same(step)
    }

    /// True when a further chunk of this turn and step is one of this attempt.
    pub(super) fn takes(&self, turn: &Coordinate, step: &Coordinate) -> bool {
        !self.finished && self.is_of(turn, step)
    }

    /// Seq of the first chunk.
    pub(super) fn first(&self) -> u64 {
        self.seqs.first().map_or(0, |(first, _)| *first)
    }

    /// Seq of the last chunk.
    pub(super) fn last(&self) -> u64 {
        self.seqs.last().map_or(0, |(_, last)| *last)
    }

    /// Time of the last chunk.
    pub(super) fn time(&self) -> Millis {
        self.time
    }

    /// Place of the last chunk.
    pub(super) fn place(&self) -> Place {
        self.place
    }

    /// True when these are the chunks of this attempt, all and in order.
    pub(super) fn has_seqs(&self, seqs: &Ranges<'_>) -> bool {
        let len: u64 = self.seqs.iter().map(|(first, last)| last - first + 1).sum();
        len == seqs.len() && self.seqs.iter().flat_map(|(first, last)| *first..=*last).eq(seqs.iter())
    }

    fn add_seqs(&mut self, first: u64, last: u64) {
        match self.seqs.last_mut() {
            Some((_, end)) if *end + 1 == first => *end = last,
            _ => self.seqs.push((first, last)),
        }
    }

    /// Append a single chunk (9.3).
    pub(super) fn push_chunk(&mut self, event: &Event<'_>) -> Check {
        let time = event.row.get("time");
        // JavaScript takes negative zero for a safe integer, and prints it as 0.
        let is_zero = time.and_then(Js::as_f64) == Some(0.0);
        if !is_zero && time.and_then(Js::as_safe_integer).is_none() {
            return unsupported(CHUNK, "/time", format!("{} is no safe integer", shown(time)));
        }
        let Some(chunk) = event.member("chunk") else {
            return unsupported(CHUNK, "/data/chunk", "missing member");
        };
        if let Err(what) = self.stream.push(event.time, chunk) {
            return unsupported(CHUNK, "/data/chunk", what);
        }
        self.add_seqs(event.seq.0, event.seq.0);
        self.time = event.time;
        self.place = event.place;
        self.finished |= chunk.get("type").is_some_and(|kind| kind.is("finish"));
        Ok(())
    }

    /// Append a packed run.
    pub(super) fn push_run(&mut self, run: &PackedRow<'_>, place: Place) {
        self.time = self.stream.push_run(&run.deltas);
        self.add_seqs(run.seq0.0, run.seq0.0 + (run.len() as u64).saturating_sub(1));
        self.place = place;
    }

    /// Keep an event that came behind the last chunk.
    pub(super) fn hold(&mut self, event: &Event<'_>) {
        self.tail.push((event.row.raw().into(), event.place));
    }

    /// The rows behind the last chunk, which are no longer kept.
    pub(super) fn take_tail(&mut self) -> Vec<(Box<str>, Place)> {
        std::mem::take(&mut self.tail)
    }

    /// The stream, which is then empty.
    pub(super) fn stream(&mut self) -> Tree<'static> {
        let mut stream = Vec::new();
        self.stream.print(&mut stream);
        Tree::printed(stream)
    }

    /// The payload of an `assistant/attempt`. The stream is then empty.
    pub(super) fn payload(&mut self) -> Tree<'static> {
        let mut payload = Fields::new();
        for (name, value) in [("turn", &self.turn), ("step", &self.step)] {
            match value {
                Coordinate::Absent => {}
                Coordinate::Scalar(_, text) | Coordinate::Other(text) => {
                    payload.set(name, Tree::Text(text.clone()));
                }
            }
        }
        let stream = self.stream();
        payload.with("stream", stream).into()
    }
}

const CHUNK: &str = "chunk";

/// The envelope of a chunk, which the target does not keep.
pub(super) fn check_envelope(row: Js<'_>) -> Check {
    const KNOWN: [&str; 7] = ["type", "seq", "time", "data", "ignorable", "sourceEventSeqs", "surfaceOp"];
    if !row.has_only(&KNOWN) || row.get("data").is_none() {
        return unsupported(CHUNK, "", "the envelope of a chunk is not closed");
    }
    let mark = row.get("ignorable");
    if mark.is_some_and(|mark| !mark.is_true()) {
        return unsupported(CHUNK, "/ignorable", shown(mark));
    }
    Ok(())
}
