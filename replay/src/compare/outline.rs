//! A log as its comparison keeps it: per event a digest of its normal form and what it links to, never its payload.

use std::collections::HashMap;
use std::ops::Range;

use dshlog_codec::Event;
use dshlog_codec::json::Js;
use sha2::{Digest as _, Sha256};

use super::normal::{Link, Survey};
use super::rules::{Float, Rule, floats};

/// Half of a SHA-256: equal for equal normal forms, and for no others that anybody will meet.
pub(super) type Digest = [u8; 16];

/// The digest of some bytes.
pub(super) fn digest(bytes: &[u8]) -> Digest {
    let whole: [u8; 32] = Sha256::digest(bytes).into();
    let mut half = Digest::default();
    half.copy_from_slice(&whole[..16]);
    half
}

/// One event.
#[derive(Clone, Debug)]
pub(super) struct Sketch {
    /// Of its normal form, links left out.
    pub(super) digest: Digest,
    /// Its type, by number.
    pub(super) kind: u32,
    /// The turn that is open where it stands, the events that open and close it included.
    pub(super) turn: Option<u64>,
    /// The step, likewise.
    pub(super) step: Option<u64>,
    /// Where its links begin.
    links: usize,
}

/// A stretch of events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) events: Range<usize>,
    /// The turn or step that it holds; none for what stands behind the last one.
    pub(super) number: Option<u64>,
}

/// A log. Events are known by their seq, which is their place in it.
#[derive(Debug, Default)]
pub(super) struct Outline {
    events: Vec<Sketch>,
    links: Vec<Link>,
    kinds: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
    floating: bool,
    turn: Option<u64>,
    step: Option<u64>,
    text: Vec<u8>,
}

impl Outline {
    pub(super) fn new(survey: &Survey) -> Self {
        Outline { floating: survey.rules().has(Rule::Floating), ..Outline::default() }
    }

    /// The next event.
    pub(super) fn see(&mut self, event: &Event<'_>, survey: &Survey) {
        let number = |name| event.member(name).and_then(Js::as_count);
        match &*event.kind.to_lossy() {
            "turn/start" => (self.turn, self.step) = (number("turn"), None),
            "step/start" => self.step = number("step"),
            _ => {}
        }
        let links = self.links.len();
        self.text.clear();
        survey.write(event, &mut self.links, true, &mut self.text);
        let kind = self.kind(&event.kind.to_lossy());
        let digest = digest(&self.text);
        self.events.push(Sketch { digest, kind, turn: self.turn, step: self.step, links });
        match &*event.kind.to_lossy() {
            "turn/end" => (self.turn, self.step) = (None, None),
            "step/end" => self.step = None,
            _ => {}
        }
    }

    fn kind(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.kinds.len()).unwrap_or(u32::MAX);
        self.kinds.push(name.into());
        self.numbers.insert(name.into(), number);
        number
    }

    /// Number of events.
    pub(super) fn len(&self) -> usize {
        self.events.len()
    }

    /// An event.
    pub(super) fn event(&self, seq: usize) -> &Sketch {
        &self.events[seq]
    }

    /// What an event links to, in the order of its normal form.
    pub(super) fn links(&self, seq: usize) -> &[Link] {
        let end = self.events.get(seq + 1).map_or(self.links.len(), |next| next.links);
        self.links.get(self.events[seq].links..end).unwrap_or_default()
    }

    /// The type of an event.
    pub(super) fn kind_of(&self, seq: usize) -> &str {
        self.kinds.get(self.events[seq].kind as usize).map_or("", |name| name)
    }

    /// The number by which events have this type here; one that none has when there is no such event.
    pub(super) fn number_of(&self, kind: &str) -> u32 {
        self.numbers.get(kind).copied().unwrap_or(u32::MAX)
    }

    /// How far an event may be from its place.
    pub(super) fn float(&self, seq: usize) -> Option<Float> {
        if self.floating { floats(self.kind_of(seq)) } else { None }
    }

    /// The turns, each with the idle events in front of it, and what stands behind the last.
    pub(super) fn turns(&self) -> Vec<Segment> {
        self.cut(0..self.len(), "turn/start", "turn/end", |event| event.turn)
    }

    /// The steps of a turn, likewise.
    pub(super) fn steps(&self, turn: &Segment) -> Vec<Segment> {
        self.cut(turn.events.clone(), "step/start", "step/end", |event| event.step)
    }

    fn cut(
        &self,
        events: Range<usize>,
        start: &str,
        end: &str,
        number: impl Fn(&Sketch) -> Option<u64>,
    ) -> Vec<Segment> {
        let mut segments = Vec::new();
        let (mut from, mut open) = (events.start, None);
        for seq in events.clone() {
            let kind = self.kind_of(seq);
            if kind == start {
                // One that was never closed ends where the next begins.
                if open.is_some() {
                    segments.push(Segment { events: from..seq, number: open });
                    from = seq;
                }
                open = number(self.event(seq));
            } else if kind == end && open.is_some() {
                segments.push(Segment { events: from..seq + 1, number: open });
                (from, open) = (seq + 1, None);
            }
        }
        if from < events.end {
            segments.push(Segment { events: from..events.end, number: open });
        }
        segments
    }
}
