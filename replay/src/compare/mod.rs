//! What is different in two sessions, when what always differs is set aside.
//!
//! Two logs are walked three times at most. A [`Survey`] learns which names were drawn. Then of each event a digest of its
//! normal form (`normal`) and its links are kept, and from these everything is decided: turns are aligned, then the
//! steps in them, then events (`align`); and what an event links to must be what its partner links to (`renaming`).
//! Payloads are only looked at again for the events that are different and that somebody wants to see. So memory grows
//! with the number of events, and not with what is in them.
//!
//! Useful for: `diff`, and for judging a replay by its record. Not for: logs that are not valid; nothing here checks.

mod align;
mod detail;
mod forms;
mod matching;
mod news;
mod normal;
mod outline;
mod renaming;
mod request;
mod rules;
mod text;

use std::collections::{BTreeSet, HashMap};

use dshlog_codec::json::Doc;
use dshlog_codec::{Event, Header, Place, Seq};

pub use detail::{Change, Spot};
pub use forms::{Form, FormMatch, Forms};
pub use news::News;
pub use normal::Survey;
pub use renaming::Side;
pub use request::{ListChange, RequestChanges, RequestParts, request_changes};
pub use rules::{Rule, Rules};
pub use text::{Piece, TextRow, text_rows};

use detail::Value;
use outline::Outline;
use renaming::{Renaming, Snapshot};
use rules::HEADER;

/// A log that can be walked as often as is needed, each time with the same events: dense from seq 0, in the form of V4.
pub trait Source {
    /// Why a walk did not come to the end.
    type Error;

    /// The header, in the form of V4.
    fn header(&self) -> Header;

    /// Show every event to `see`.
    fn each(&self, see: &mut dyn FnMut(&Event<'_>)) -> Result<(), Self::Error>;
}

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Both logs have it.
    Equal,
    /// It does not count: it may come at any place, or not at all.
    SetAside,
    /// Both logs have it, and not alike.
    Changed,
    /// Both logs have it, at different places of a turn.
    Moved,
    /// Only one log has it.
    Missing,
    /// Only one log has the step that it stands in.
    MissingStep,
    /// Only one log has the turn that it stands in.
    MissingTurn,
}

impl Verdict {
    /// True for what makes two sessions different.
    pub fn is_difference(self) -> bool {
        !matches!(self, Verdict::Equal | Verdict::SetAside)
    }
}

/// An event of one log or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its seq in the first log.
    pub a: Option<Seq>,
    /// Its seq in the second.
    pub b: Option<Seq>,
    /// What became of it.
    pub verdict: Verdict,
    /// The missing turn or step that it is part of.
    stretch: Option<u32>,
}

/// Where an event stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its seq.
    pub seq: Seq,
    /// Its type.
    pub kind: String,
    /// The turn that is open there.
    pub turn: Option<u64>,
    /// The step that is open there.
    pub step: Option<u64>,
}

/// How many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events of the first log.
    pub a: u64,
    /// Events of the second.
    pub b: u64,
    /// Events of both that are alike.
    pub equal: u64,
    /// Events that were set aside, of either log.
    pub set_aside: u64,
    /// Events of both that are not alike.
    pub changed: u64,
    /// Events of both at different places.
    pub moved: u64,
    /// Events that only the first one has.
    pub only_a: u64,
    /// Events that only the second one has.
    pub only_b: u64,
}

impl Counts {
    /// Events that make a difference.
    pub fn differences(&self) -> u64 {
        self.changed + self.moved + self.only_a + self.only_b
    }
}

/// Two logs, aligned.
#[derive(Debug)]
pub struct Comparison {
    surveys: (Survey, Survey),
    outlines: (Outline, Outline),
    renaming: Renaming,
    header: Vec<Change>,
    entries: Vec<Entry>,
    snapshots: HashMap<usize, Snapshot>,
    /// Missing turns and steps so far.
    stretches: u32,
}

/// One thing that is different: an event, or all that only one log has of a step or a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its first entry.
    pub first: usize,
    /// Its last one. Others may stand between, when they may stand anywhere.
    pub last: usize,
    /// How many events it is made of.
    pub events: u64,
    /// What it is.
    pub verdict: Verdict,
}

/// Where two logs part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstDifference {
    /// What it is; of the headers always [`Verdict::Changed`].
    pub verdict: Verdict,
    /// The event in the first log; nothing when it has none, and for the headers.
    pub a: Option<Standing>,
    /// The event in the second log, likewise.
    pub b: Option<Standing>,
    /// The first place at which the two differ; nothing when only one log has the event.
    pub change: Option<Change>,
}

/// Compare two logs by `rules`: three walks over each.
pub fn compare<A, B, E>(a: &A, b: &B, rules: Rules) -> Result<Comparison, E>
where
    A: Source<Error = E> + ?Sized,
    B: Source<Error = E> + ?Sized,
{
    let (mut survey_a, mut survey_b) = (Survey::new(&a.header(), rules), Survey::new(&b.header(), rules));
    a.each(&mut |event| survey_a.see(event))?;
    b.each(&mut |event| survey_b.see(event))?;
    compare_surveyed((a, survey_a), (b, survey_b))
}

/// Compare two logs that have been surveyed, by the same rules: one more walk over each.
pub fn compare_surveyed<A, B, E>(a: (&A, Survey), b: (&B, Survey)) -> Result<Comparison, E>
where
    A: Source<Error = E> + ?Sized,
    B: Source<Error = E> + ?Sized,
{
    let ((a, survey_a), (b, survey_b)) = (a, b);
    let (mut outline_a, mut outline_b) = (Outline::new(&survey_a), Outline::new(&survey_b));
    a.each(&mut |event| outline_a.see(event, &survey_a))?;
    b.each(&mut |event| outline_b.see(event, &survey_b))?;
    let mut comparison = Comparison {
        renaming: Renaming::new(outline_a.len(), outline_b.len()),
        surveys: (survey_a, survey_b),
        outlines: (outline_a, outline_b),
        header: Vec::new(),
        entries: Vec::new(),
        snapshots: HashMap::new(),
        stretches: 0,
    };
    comparison.align();
    comparison.compare_headers(&a.header(), &b.header());
    comparison.judge();
    Ok(comparison)
}

impl Comparison {
    /// True when nothing but what was set aside is different.
    pub fn is_equal(&self) -> bool {
        self.header.is_empty() && !self.entries.iter().any(|entry| entry.verdict.is_difference())
    }

    /// Where the headers differ.
    pub fn header(&self) -> &[Change] {
        &self.header
    }

    /// Every event of both logs once, in the order of the first, what only the second one has where it belongs.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The differences, in order; those of headers are not among them.
    pub fn differences(&self) -> Vec<Difference> {
        let mut found: Vec<Difference> = Vec::new();
        let mut stretches: HashMap<u32, usize> = HashMap::new();
        for (at, entry) in self.entries.iter().enumerate().filter(|(_, entry)| entry.verdict.is_difference())
        {
            // What floats may stand between the events of a stretch.
            let known =
                entry.stretch.and_then(|stretch| stretches.get(&stretch)).and_then(|at| found.get_mut(*at));
            if let Some(difference) = known {
                difference.last = at;
                difference.events += 1;
                continue;
            }
            stretches.extend(entry.stretch.map(|stretch| (stretch, found.len())));
            found.push(Difference { first: at, last: at, events: 1, verdict: entry.verdict });
        }
        found
    }

    /// The first difference, with what both logs have there; nothing for equal logs. Walks over both once more.
    pub fn first_difference<A, B, E>(&self, a: &A, b: &B) -> Result<Option<FirstDifference>, E>
    where
        A: Source<Error = E> + ?Sized,
        B: Source<Error = E> + ?Sized,
    {
        if let Some(change) = self.header.first() {
            let change = Some(change.clone());
            return Ok(Some(FirstDifference { verdict: Verdict::Changed, a: None, b: None, change }));
        }
        let Some((at, entry)) =
            self.entries.iter().enumerate().find(|(_, entry)| entry.verdict.is_difference())
        else {
            return Ok(None);
        };
        let mut change = None;
        if let (Verdict::Changed, Some(seq_a), Some(seq_b)) = (entry.verdict, entry.a, entry.b) {
            let (mut row_a, mut row_b) =
                (rows(a, &BTreeSet::from([seq_a]))?, rows(b, &BTreeSet::from([seq_b]))?);
            let (row_a, row_b) = (row_a.remove(&seq_a), row_b.remove(&seq_b));
            let changes = self.changes(at, &row_a.unwrap_or_default(), &row_b.unwrap_or_default());
            change = changes.into_iter().next();
        }
        let standing = |side, seq: Option<Seq>| self.standing(side, seq?);
        let (a, b) = (standing(Side::A, entry.a), standing(Side::B, entry.b));
        Ok(Some(FirstDifference { verdict: entry.verdict, a, b, change }))
    }

    /// Number of turns of one of the logs.
    pub fn turns(&self, side: Side) -> u64 {
        self.outline(side).turns().iter().filter(|turn| turn.number.is_some()).count() as u64
    }

    /// How many there are of what, among the entries that `is_meant`.
    pub fn counts(&self, is_meant: impl Fn(&Entry) -> bool) -> Counts {
        let mut counts = Counts::default();
        for entry in self.entries.iter().filter(|entry| is_meant(entry)) {
            counts.a += u64::from(entry.a.is_some());
            counts.b += u64::from(entry.b.is_some());
            match entry.verdict {
                Verdict::Equal => counts.equal += 1,
                Verdict::SetAside => counts.set_aside += 1,
                Verdict::Changed => counts.changed += 1,
                Verdict::Moved => counts.moved += 1,
                Verdict::Missing | Verdict::MissingStep | Verdict::MissingTurn => {
                    counts.only_a += u64::from(entry.a.is_some());
                    counts.only_b += u64::from(entry.b.is_some());
                }
            }
        }
        counts
    }

    /// Where an event of one of the logs stands.
    pub fn standing(&self, side: Side, seq: Seq) -> Option<Standing> {
        let outline = self.outline(side);
        let at = usize::try_from(seq.0).ok().filter(|at| *at < outline.len())?;
        let (event, kind) = (outline.event(at), outline.kind_of(at).to_owned());
        Some(Standing { seq, kind, turn: event.turn, step: event.step })
    }

    /// The turn that an entry belongs to, by the numbers of the first log; of what only the second one has, the turn that
    /// its turn was aligned with, else its own number.
    pub fn turn_of(&self, entry: &Entry) -> Option<u64> {
        if let Some(a) = entry.a {
            return self.standing(Side::A, a)?.turn;
        }
        let turn = self.standing(Side::B, entry.b?)?.turn?;
        Some(self.renaming.turn_back(turn).unwrap_or(turn))
    }

    /// Where the two events of an entry differ. `a` and `b` are their rows, as [`rows`] gives them.
    pub fn changes(&self, at: usize, a: &str, b: &str) -> Vec<Change> {
        let nothing = Snapshot::default();
        let snapshot = self.snapshots.get(&at).unwrap_or(&nothing);
        let normal = |side, row: &Doc| {
            let mut text = Vec::new();
            let mut names = self.renaming.names(side, snapshot);
            self.survey(side).write(
                &Event::from_row(row.root(), Place::default()),
                &mut names,
                false,
                &mut text,
            );
            normal::parse(&text)
        };
        let (Ok(a), Ok(b)) = (Doc::parse(a), Doc::parse(b)) else { return Vec::new() };
        let (Some(normal_a), Some(normal_b)) = (normal(Side::A, &a), normal(Side::B, &b)) else {
            return Vec::new();
        };
        let value = |normal, read| Value { normal: Doc::root(normal), read: Some(Doc::root(read)) };
        detail::changes(value(&normal_a, &a), value(&normal_b, &b))
    }

    /// What was learned of one of the logs.
    pub fn survey(&self, side: Side) -> &Survey {
        match side {
            Side::A => &self.surveys.0,
            Side::B => &self.surveys.1,
        }
    }

    fn outline(&self, side: Side) -> &Outline {
        match side {
            Side::A => &self.outlines.0,
            Side::B => &self.outlines.1,
        }
    }

    fn compare_headers(&mut self, a: &Header, b: &Header) {
        let docs = [(Side::A, a), (Side::B, b)].map(|(side, header)| {
            let mut line = Vec::new();
            header.to_current().print(&mut line);
            let doc = normal::parse(&line);
            let mut links = Vec::new();
            if let Some(doc) = &doc {
                self.survey(side).write_as(HEADER, doc.root(), &mut links, true, &mut Vec::new());
            }
            (side, doc, links)
        });
        let [(_, Some(a), links_a), (_, Some(b), links_b)] = &docs else { return };
        self.renaming.agree(links_a, links_b);
        let known = self.renaming.snapshot(links_a, links_b);
        let normal = |side, doc: &Doc| {
            let mut text = Vec::new();
            let mut names = self.renaming.names(side, &known);
            self.survey(side).write_as(HEADER, doc.root(), &mut names, false, &mut text);
            normal::parse(&text)
        };
        let (Some(normal_a), Some(normal_b)) = (normal(Side::A, a), normal(Side::B, b)) else { return };
        let value = |normal, read| Value { normal: Doc::root(normal), read: Some(Doc::root(read)) };
        self.header = detail::changes(value(&normal_a, a), value(&normal_b, b));
    }
}

/// The rows of some events as the official code prints them, by seq.
pub fn rows<S: Source + ?Sized>(source: &S, seqs: &BTreeSet<Seq>) -> Result<HashMap<Seq, String>, S::Error> {
    let mut rows = HashMap::with_capacity(seqs.len());
    if !seqs.is_empty() {
        source.each(&mut |event| {
            if seqs.contains(&event.seq) {
                let mut row = Vec::new();
                event.print_logical(&mut row);
                rows.insert(event.seq, String::from_utf8_lossy(&row).into_owned());
            }
        })?;
    }
    Ok(rows)
}

#[cfg(test)]
mod tests;
