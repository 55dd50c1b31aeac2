//! What of one log belongs to what of the other, and whether the two are alike.

use std::collections::{HashMap, HashSet};

use dshlog_codec::Seq;

use super::align::{Match, Part, align};
use super::outline::{Digest, Outline, Segment, digest};
use super::renaming::Side;
use super::rules::Float;
use super::{Comparison, Entry, Verdict};

impl Comparison {
    /// Fill the entries, all but the last judgement.
    pub(super) fn align(&mut self) {
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
        for list in waiting.values_mut() {
            list.reverse();
        }
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
            let behind = self.entries.split_off(first);
            let rest = behind.into_iter().zip(first..).filter(|(_, at)| !gone.contains(at));
            self.entries.extend(rest.map(|(entry, _)| entry));
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
    pub(super) fn judge(&mut self) {
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
