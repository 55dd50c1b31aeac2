//! What is different in two sessions, when what always differs is set aside.
//!
//! Two logs are walked three times at most. A [`Survey`] learns which names were drawn. Then of each event a digest of its
//! normal form ([`normal`]) and its links are kept, and from these everything is decided: turns are aligned, then the
//! steps in them, then events ([`align`]); and what an event links to must be what its partner links to ([`renaming`]).
//! Payloads are only looked at again for the events that are different and that somebody wants to see. So memory grows
//! with the number of events, and not with what is in them.
//!
//! Useful for: `diff`, and for judging a replay by its record. Not for: logs that are not valid; nothing here checks.

mod align;
mod detail;
mod forms;
mod normal;
mod outline;
mod renaming;
mod request;
mod rules;
mod text;

use std::collections::{HashMap, HashSet};

use dshlog_codec::json::Doc;
use dshlog_codec::{Event, Header, Place, Seq};

pub use detail::{Change, Spot};
pub use forms::{Form, FormMatch, Forms};
pub use normal::Survey;
pub use renaming::Side;
pub use request::{ListChange, RequestChanges, RequestParts, request_changes};
pub use rules::{Rule, Rules};
pub use text::{Piece, TextRow, text_rows};

use align::{Match, Part, align};
use detail::Value;
use outline::{Digest, Outline, Segment, digest};
use renaming::{Renaming, Snapshot};
use rules::{Float, HEADER};

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

    /// Fill the entries, all but the last judgement.
    fn align(&mut self) {
        let (a, b) = (self.outlines.0.turns(), self.outlines.1.turns());
        let parts_a: Vec<Stretch> = a.iter().map(|turn| Stretch::of(&self.outlines.0, turn)).collect();
        let parts_b: Vec<Stretch> = b.iter().map(|turn| Stretch::of(&self.outlines.1, turn)).collect();
        for (i, j) in align(&parts_a, &parts_b) {
            let (turn_a, turn_b) = (i.and_then(|i| a.get(i)), j.and_then(|j| b.get(j)));
            let number = |turn: Option<&Segment>| turn.and_then(|turn| turn.number);
            self.renaming.turn(number(turn_a), number(turn_b));
            match (turn_a, turn_b) {
                (Some(a), Some(b)) => self.align_steps(a, b),
                (a, b) => self.missing(a, b, Verdict::MissingTurn),
            }
        }
        self.settle_floating();
    }

    fn align_steps(&mut self, turn_a: &Segment, turn_b: &Segment) {
        let (a, b) = (self.outlines.0.steps(turn_a), self.outlines.1.steps(turn_b));
        let parts_a: Vec<Stretch> = a.iter().map(|step| Stretch::of(&self.outlines.0, step)).collect();
        let parts_b: Vec<Stretch> = b.iter().map(|step| Stretch::of(&self.outlines.1, step)).collect();
        let first = self.entries.len();
        for (i, j) in align(&parts_a, &parts_b) {
            let (step_a, step_b) = (i.and_then(|i| a.get(i)), j.and_then(|j| b.get(j)));
            let number = |turn: &Segment, step: Option<&Segment>| Some((turn.number?, step?.number?));
            self.renaming.step(number(turn_a, step_a), number(turn_b, step_b));
            match (step_a, step_b) {
                (Some(a), Some(b)) => self.align_events(a, b),
                (a, b) => self.missing(a, b, Verdict::MissingStep),
            }
        }
        self.settle_moved(first);
    }

    fn align_events(&mut self, a: &Segment, b: &Segment) {
        let first = self.entries.len();
        let (dots_a, dots_b) = (Dot::all(&self.outlines.0, a), Dot::all(&self.outlines.1, b));
        let matches: Vec<Match> = align(&dots_a, &dots_b);
        for (i, j) in matches {
            let (a, b) = (i.and_then(|i| dots_a.get(i)), j.and_then(|j| dots_b.get(j)));
            self.push(a.map(|dot| dot.seq), b.map(|dot| dot.seq), Verdict::Missing, None);
        }
        // Results of calls that ran side by side come as they are ready.
        self.settle(first, |outline, seq| outline.float(seq) == Some(Float::Step), Verdict::SetAside);
    }

    /// Of what has no partner yet in the entries from `first`, pair what is alike and may stand elsewhere.
    fn settle(&mut self, first: usize, may: impl Fn(&Outline, usize) -> bool, verdict: Verdict) {
        let mut waiting: HashMap<(u32, Digest), Vec<usize>> = HashMap::new();
        for (at, entry) in self.entries.iter().enumerate().skip(first) {
            if let (None, Some(seq), Verdict::Missing) = (entry.a, index(entry.b), entry.verdict)
                && may(&self.outlines.1, seq)
            {
                let event = self.outlines.1.event(seq);
                let kind = self.outlines.0.number_of(self.outlines.1.kind_of(seq));
                waiting.entry((kind, event.digest)).or_default().push(at);
            }
        }
        if waiting.is_empty() {
            return;
        }
        waiting.values_mut().for_each(|list| list.reverse());
        let mut gone = HashSet::new();
        for at in first..self.entries.len() {
            let entry = self.entries[at];
            let (Some(seq), None, Verdict::Missing) = (index(entry.a), entry.b, entry.verdict) else {
                continue;
            };
            let event = self.outlines.0.event(seq);
            if !may(&self.outlines.0, seq) {
                continue;
            }
            let Some(other) = waiting.get_mut(&(event.kind, event.digest)).and_then(Vec::pop) else {
                continue;
            };
            let partner = self.entries[other].b;
            self.entries[at] = Entry { b: partner, verdict, ..entry };
            if let Some(partner) = index(partner) {
                self.renaming.pair_events(seq, partner);
            }
            gone.insert(other);
        }
        if !gone.is_empty() {
            let mut at = 0;
            self.entries.retain(|_| {
                at += 1;
                !gone.contains(&(at - 1))
            });
        }
    }

    /// Events of a turn that stand at another place there.
    fn settle_moved(&mut self, first: usize) {
        self.settle(first, |_, _| true, Verdict::Moved);
    }

    /// Pair events that may stand anywhere, by type.
    fn settle_floating(&mut self) {
        let mut kinds: Vec<(String, Vec<Dot>, Vec<Dot>)> = Vec::new();
        let (a, b) = (Dot::floating(&self.outlines.0), Dot::floating(&self.outlines.1));
        for (dots, is_a) in [(a, true), (b, false)] {
            for dot in dots {
                let at = kinds.iter().position(|(kind, ..)| *kind == dot.kind).unwrap_or_else(|| {
                    kinds.push((dot.kind.clone(), Vec::new(), Vec::new()));
                    kinds.len() - 1
                });
                if is_a { kinds[at].1.push(dot) } else { kinds[at].2.push(dot) }
            }
        }
        let mut found: Vec<Entry> = Vec::new();
        for (_, a, b) in &kinds {
            for (i, j) in align(a, b) {
                let (a, b) = (i.map(|i| a[i].seq), j.map(|j| b[j].seq));
                if let (Some(a), Some(b)) = (a, b) {
                    self.renaming.pair_events(a, b);
                }
                let verdict = if a.is_some() && b.is_some() { Verdict::Equal } else { Verdict::Missing };
                found.push(Entry { a: seq(a), b: seq(b), verdict, stretch: None });
            }
        }
        for (outline, side) in [(&self.outlines.0, Side::A), (&self.outlines.1, Side::B)] {
            for at in (0..outline.len()).filter(|at| outline.float(*at) == Some(Float::Out)) {
                let (a, b) = if side == Side::A { (Some(at), None) } else { (None, Some(at)) };
                found.push(Entry { a: seq(a), b: seq(b), verdict: Verdict::SetAside, stretch: None });
            }
        }
        self.merge(found);
    }

    /// Put entries where they belong: behind their neighbour in the first log, else in the second.
    fn merge(&mut self, mut found: Vec<Entry>) {
        let mut after_b = vec![0; self.outlines.1.len() + 1];
        let mut last_a = 0;
        for entry in &self.entries {
            last_a = entry.a.map_or(last_a, |a| a.0 + 1);
            if let Some(place) = index(entry.b).and_then(|b| after_b.get_mut(b)) {
                *place = last_a;
            }
        }
        let mut last = 0;
        for place in &mut after_b {
            if *place == 0 { *place = last } else { last = *place }
        }
        let key = |entry: &Entry| match (entry.a, index(entry.b)) {
            (Some(a), _) => a.0,
            (None, Some(b)) => after_b.get(b).copied().unwrap_or(0),
            (None, None) => 0,
        };
        found.sort_by_key(|entry| (key(entry), entry.b));
        let old = std::mem::take(&mut self.entries);
        let mut found = found.into_iter().peekable();
        for entry in old {
            while let Some(next) = found.next_if(|next| {
                entry.a.is_some_and(|a| key(next) < a.0 || key(next) == a.0 && next.a.is_none())
            }) {
                self.entries.push(next);
            }
            self.entries.push(entry);
        }
        self.entries.extend(found);
    }

    fn missing(&mut self, a: Option<&Segment>, b: Option<&Segment>, verdict: Verdict) {
        for (segment, side) in [(a, Side::A), (b, Side::B)] {
            let Some(segment) = segment else { continue };
            // What stands behind the last turn or step is none.
            let verdict = if segment.number.is_some() { verdict } else { Verdict::Missing };
            let stretch = segment.number.map(|_| self.stretches);
            self.stretches += 1;
            let outline = self.outline(side);
            let seqs: Vec<usize> = segment.events.clone().filter(|at| stays(outline, *at)).collect();
            for at in seqs {
                let (a, b) = if side == Side::A { (Some(at), None) } else { (None, Some(at)) };
                self.push(a, b, verdict, stretch);
            }
        }
    }

    fn push(&mut self, a: Option<usize>, b: Option<usize>, missing: Verdict, stretch: Option<u32>) {
        let verdict = if a.is_some() && b.is_some() { Verdict::Equal } else { missing };
        if let (Some(a), Some(b)) = (a, b) {
            self.renaming.pair_events(a, b);
        }
        self.entries.push(Entry { a: seq(a), b: seq(b), verdict, stretch });
    }

    /// Compare the events of each pair.
    fn judge(&mut self) {
        let (a, b) = (&self.outlines.0, &self.outlines.1);
        let pairs = |entries: &[Entry], at: usize| {
            let entry = entries.get(at)?;
            Some((index(entry.a)?, index(entry.b)?))
        };
        // First from what is surely the same, so that one odd pair does not spoil the names of those behind it.
        for at in 0..self.entries.len() {
            if let Some((one, other)) = pairs(&self.entries, at)
                && a.event(one).digest == b.event(other).digest
            {
                self.renaming.learn(a.links(one), b.links(other));
            }
        }
        for at in 0..self.entries.len() {
            let Some((one, other)) = pairs(&self.entries, at) else { continue };
            let (links_a, links_b) = (a.links(one), b.links(other));
            let is_like = a.event(one).digest == b.event(other).digest;
            if self.renaming.agree(links_a, links_b) && is_like {
                continue;
            }
            self.snapshots.insert(at, self.renaming.snapshot(links_a, links_b));
            self.entries[at].verdict = Verdict::Changed;
        }
    }
}

/// The rows of some events as the official code prints them, by seq.
pub fn rows<S: Source + ?Sized>(source: &S, seqs: &HashSet<Seq>) -> Result<HashMap<Seq, String>, S::Error> {
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

fn index(seq: Option<Seq>) -> Option<usize> {
    usize::try_from(seq?.0).ok()
}

fn seq(at: Option<usize>) -> Option<Seq> {
    at.map(|at| Seq(at as u64))
}

/// False for events that are aligned apart from the others.
fn stays(outline: &Outline, seq: usize) -> bool {
    !matches!(outline.float(seq), Some(Float::Out | Float::Session))
}

/// An event that is to be aligned.
struct Dot {
    seq: usize,
    kind: String,
    digest: Digest,
}

impl Dot {
    fn of(outline: &Outline, seq: usize) -> Self {
        Dot { seq, kind: outline.kind_of(seq).to_owned(), digest: outline.event(seq).digest }
    }

    /// Those of a segment that are aligned in their place.
    fn all(outline: &Outline, segment: &Segment) -> Vec<Dot> {
        segment.events.clone().filter(|at| stays(outline, *at)).map(|at| Dot::of(outline, at)).collect()
    }

    /// Those of a log that may stand anywhere.
    fn floating(outline: &Outline) -> Vec<Dot> {
        let floats = |at: &usize| outline.float(*at) == Some(Float::Session);
        (0..outline.len()).filter(floats).map(|at| Dot::of(outline, at)).collect()
    }
}

impl Part for Dot {
    type Whole = (String, Digest);
    type Key = String;

    fn whole(&self) -> (String, Digest) {
        (self.kind.clone(), self.digest)
    }

    fn key(&self) -> String {
        self.kind.clone()
    }

    fn likeness(&self, other: &Self) -> Option<u64> {
        (self.kind == other.kind).then_some(1 + u64::from(self.digest == other.digest))
    }
}

/// A turn or a step that is to be aligned.
struct Stretch {
    whole: Digest,
    key: Digest,
    /// What stands in it, sorted: the more of it another one has, the more alike they are.
    bag: Vec<Digest>,
}

/// Events that a turn or step is known by; more of them say no more.
const BAG: usize = 256;

impl Stretch {
    fn of(outline: &Outline, segment: &Segment) -> Self {
        let mut all = Vec::new();
        let mut bag = Vec::new();
        let mut key = None;
        for at in segment.events.clone().filter(|at| stays(outline, *at)) {
            let (event, kind) = (outline.event(at), outline.kind_of(at));
            all.extend_from_slice(&event.digest);
            if bag.len() < BAG && (kind.ends_with("/message") || matches!(kind, "tool/call" | "tool/result"))
            {
                bag.push(event.digest);
            }
            if matches!(kind, "user/message" | "assistant/message") {
                key.get_or_insert(event.digest);
            }
        }
        bag.sort_unstable();
        Stretch { whole: digest(&all), key: key.unwrap_or_default(), bag }
    }
}

impl Part for Stretch {
    type Whole = Digest;
    type Key = Digest;

    fn whole(&self) -> Digest {
        self.whole
    }

    fn key(&self) -> Digest {
        self.key
    }

    /// 1 for nothing in common, up to 1001.
    fn likeness(&self, other: &Self) -> Option<u64> {
        let (mut common, mut i, mut j) = (0, 0, 0);
        while let (Some(one), Some(two)) = (self.bag.get(i), other.bag.get(j)) {
            common += u64::from(one == two);
            i += usize::from(one <= two);
            j += usize::from(two <= one);
        }
        let all = (self.bag.len() + other.bag.len()) as u64;
        Some(1 + (2_000 * common).checked_div(all).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests;
