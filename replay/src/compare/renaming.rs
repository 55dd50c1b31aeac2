//! Which name in one log stands for which name in the other.
//!
//! Turns, steps and events are paired by the alignment; drawn names pair up where they first stand in the same place.
//! From then on each stands for the other, and for nothing else.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::io::Write as _;

use super::normal::{Link, Names};

/// Lists of more seqs are compared by the ends of their ranges.
const LONG: u64 = 1 << 16;

/// Names of two logs, one to one.
#[derive(Debug)]
struct Pairs<K> {
    there: HashMap<K, K>,
    back: HashMap<K, K>,
}

impl<K> Default for Pairs<K> {
    fn default() -> Self {
        Pairs { there: HashMap::new(), back: HashMap::new() }
    }
}

impl<K: Copy + Eq + Hash> Pairs<K> {
    /// From now on these two belong together, whatever they stood for.
    fn set(&mut self, a: K, b: K) {
        if let Some(old) = self.there.insert(a, b) {
            self.back.remove(&old);
        }
        if let Some(old) = self.back.insert(b, a)
            && old != a
        {
            self.there.remove(&old);
        }
    }

    /// True when both stand for each other, or for nothing yet; then they do from now on.
    fn meet(&mut self, a: K, b: K) -> bool {
        match (self.there.get(&a), self.back.get(&b)) {
            (None, None) => {
                self.set(a, b);
                true
            }
            (there, _) => there == Some(&b),
        }
    }
}

/// What there is in each log.
type All<K> = (HashSet<K>, HashSet<K>);

/// The names of two logs.
#[derive(Debug, Default)]
pub(super) struct Renaming {
    ids: Pairs<u64>,
    calls: Pairs<u64>,
    turns: Pairs<u64>,
    steps: Pairs<(u64, u64)>,
    all_turns: All<u64>,
    all_steps: All<(u64, u64)>,
    /// Per event of the first log its partner in the second, and the other way round.
    seqs: (Vec<Option<u64>>, Vec<Option<u64>>),
}

/// A side of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The first log.
    A,
    /// The second.
    B,
}

impl Renaming {
    pub(super) fn new(events_a: usize, events_b: usize) -> Self {
        Renaming { seqs: (vec![None; events_a], vec![None; events_b]), ..Renaming::default() }
    }

    /// These events belong together.
    pub(super) fn pair_events(&mut self, a: usize, b: usize) {
        if let (Some(there), Some(back)) = (self.seqs.0.get_mut(a), self.seqs.1.get_mut(b)) {
            (*there, *back) = (Some(b as u64), Some(a as u64));
        }
    }

    /// There is this turn; with two of them, they belong together.
    pub(super) fn turn(&mut self, a: Option<u64>, b: Option<u64>) {
        self.all_turns.0.extend(a);
        self.all_turns.1.extend(b);
        if let (Some(a), Some(b)) = (a, b) {
            self.turns.set(a, b);
        }
    }

    /// There is this step of a turn; with two of them, they belong together.
    pub(super) fn step(&mut self, a: Option<(u64, u64)>, b: Option<(u64, u64)>) {
        self.all_steps.0.extend(a);
        self.all_steps.1.extend(b);
        if let (Some(a), Some(b)) = (a, b) {
            self.steps.set(a, b);
        }
    }

    /// The turn of the first log that this one of the second belongs to.
    pub(super) fn turn_back(&self, b: u64) -> Option<u64> {
        self.turns.back.get(&b).copied()
    }

    /// Learn the drawn names of two equal events, where they are still new.
    pub(super) fn learn(&mut self, a: &[Link], b: &[Link]) {
        for pair in a.iter().zip(b) {
            if let (Link::Id(a), Link::Id(b)) = pair {
                self.ids.meet(*a, *b);
            }
        }
    }

    /// True when the links of two events lead to the same.
    pub(super) fn agree(&mut self, a: &[Link], b: &[Link]) -> bool {
        // All are looked at, since names pair up on the way.
        a.len() == b.len() && a.iter().zip(b).fold(true, |all, (a, b)| self.is_same(a, b) && all)
    }

    fn is_same(&mut self, a: &Link, b: &Link) -> bool {
        match (a, b) {
            (Link::Id(a), Link::Id(b)) => self.ids.meet(*a, *b),
            (Link::CallStart(a), Link::CallStart(b)) => {
                self.calls.set(*a, *b);
                true
            }
            (Link::Call(a), Link::Call(b)) => self.calls.meet(*a, *b),
            (Link::Turn(a), Link::Turn(b)) => fixed(&self.turns, a, b)
                .unwrap_or_else(|| a == b || self.all_turns.0.contains(a) && self.all_turns.1.contains(b)),
            (Link::Step(turn_a, a), Link::Step(turn_b, b)) => {
                let (a, b) = ((*turn_a, *a), (*turn_b, *b));
                fixed(&self.steps, &a, &b).unwrap_or_else(|| {
                    a == b || self.all_steps.0.contains(&a) && self.all_steps.1.contains(&b)
                })
            }
            (Link::Seq(a), Link::Seq(b)) => self.is_same_event(*a, *b),
            (Link::OldSeq(a), Link::OldSeq(b)) => a == b || self.is_same_event(*a, *b),
            (Link::Seqs(a), Link::Seqs(b)) => self.are_same_events(a, b),
            _ => false,
        }
    }

    fn is_same_event(&self, a: u64, b: u64) -> bool {
        match (partner(&self.seqs.0, a), partner(&self.seqs.1, b)) {
            (Partner::Event(there), _) => there == b,
            (Partner::Nobody, Partner::Nobody) => true,
            (Partner::NoEvent, Partner::NoEvent) => a == b,
            _ => false,
        }
    }

    fn are_same_events(&self, a: &[(u64, u64)], b: &[(u64, u64)]) -> bool {
        if count(a).max(count(b)) > LONG {
            let is_same = |(a, b): (&(u64, u64), &(u64, u64))| {
                self.is_same_event(a.0, b.0) && self.is_same_event(a.1, b.1)
            };
            return a.len() == b.len() && a.iter().zip(b).all(is_same);
        }
        // What has no partner is told where it stands.
        self.in_common(Side::A, a).eq(self.in_common(Side::B, b))
    }

    /// The listed events that both logs have, as seqs of the second.
    fn in_common<'l>(&'l self, side: Side, spans: &'l [(u64, u64)]) -> impl Iterator<Item = u64> + 'l {
        let seqs = spans.iter().flat_map(|(start, end)| *start..=*end);
        seqs.filter_map(move |seq| match (side, partner(self.seqs_of(side), seq)) {
            (_, Partner::Nobody) => None,
            (Side::A, Partner::Event(there)) => Some(there),
            (Side::B, Partner::Event(_)) | (_, Partner::NoEvent) => Some(seq),
        })
    }

    fn seqs_of(&self, side: Side) -> &[Option<u64>] {
        match side {
            Side::A => &self.seqs.0,
            Side::B => &self.seqs.1,
        }
    }

    /// The names that these links stand for now.
    pub(super) fn snapshot(&self, a: &[Link], b: &[Link]) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for link in a {
            match link {
                Link::Id(id) => snapshot.ids.extend(self.ids.there.get(id).map(|there| (*id, *there))),
                Link::Call(id) => snapshot.calls.extend(self.calls.there.get(id).map(|there| (*id, *there))),
                _ => {}
            }
        }
        for link in b {
            match link {
                Link::Id(id) => snapshot.known.extend(self.ids.back.contains_key(id).then_some(*id)),
                Link::Call(id) => snapshot.known.extend(self.calls.back.contains_key(id).then_some(*id)),
                _ => {}
            }
        }
        snapshot
    }

    /// Names as one of the sides writes them.
    pub(super) fn names<'r>(&'r self, side: Side, snapshot: &'r Snapshot) -> Shared<'r> {
        Shared { side, renaming: self, snapshot }
    }
}

/// Whether two belong together, when either belongs to anything.
fn fixed<K: Eq + Hash>(pairs: &Pairs<K>, a: &K, b: &K) -> Option<bool> {
    match (pairs.there.get(a), pairs.back.get(b)) {
        (None, None) => None,
        (there, _) => Some(there == Some(b)),
    }
}

/// Who belongs to an event of one log.
enum Partner {
    /// This one in the other log.
    Event(u64),
    /// None in the other log.
    Nobody,
    /// There is no such event.
    NoEvent,
}

fn partner(seqs: &[Option<u64>], seq: u64) -> Partner {
    match usize::try_from(seq).ok().and_then(|seq| seqs.get(seq)) {
        Some(Some(there)) => Partner::Event(*there),
        Some(None) => Partner::Nobody,
        None => Partner::NoEvent,
    }
}

fn count(spans: &[(u64, u64)]) -> u64 {
    spans.iter().map(|(start, end)| end - start + 1).sum()
}

/// What the names in two events stood for when these were compared; a model may use the name of a call again later.
#[derive(Clone, Debug, Default)]
pub(super) struct Snapshot {
    ids: HashMap<u64, u64>,
    calls: HashMap<u64, u64>,
    known: HashSet<u64>,
}

/// Writes links by the names of the second log, and those that have none without a name.
pub(super) struct Shared<'r> {
    side: Side,
    renaming: &'r Renaming,
    snapshot: &'r Snapshot,
}

impl Shared<'_> {
    /// The name in the second log.
    fn drawn(&self, id: u64, there: &HashMap<u64, u64>) -> Option<u64> {
        match self.side {
            Side::A => there.get(&id).copied(),
            Side::B => self.snapshot.known.contains(&id).then_some(id),
        }
    }

    fn number<K: Copy + Eq + Hash>(&self, at: K, pairs: &Pairs<K>, all: &All<K>) -> Option<K> {
        let (found, all) = match self.side {
            Side::A => (pairs.there.get(&at).copied(), &all.0),
            Side::B => (pairs.back.get(&at).map(|_| at), &all.1),
        };
        // A number that is nobody's is what it is.
        found.or_else(|| (!all.contains(&at)).then_some(at))
    }

    fn event(&self, seq: u64) -> Option<u64> {
        self.renaming.in_common(self.side, &[(seq, seq)]).next()
    }
}

impl Names for Shared<'_> {
    fn write(&mut self, link: Link, out: &mut Vec<u8>) {
        let renaming = self.renaming;
        // Writing to memory cannot fail.
        let _ = match link {
            Link::Id(id) => match self.drawn(id, &self.snapshot.ids) {
                Some(id) => write!(out, "id {id:x}"),
                None => write!(out, "id"),
            },
            Link::Call(id) => match self.drawn(id, &self.snapshot.calls) {
                Some(id) => write!(out, "call {id:x}"),
                None => write!(out, "call"),
            },
            Link::CallStart(_) => write!(out, "call"),
            Link::Turn(turn) => match self.number(turn, &renaming.turns, &renaming.all_turns) {
                Some(turn) => write!(out, "turn {turn}"),
                None => write!(out, "turn"),
            },
            Link::Step(turn, step) => match self.number((turn, step), &renaming.steps, &renaming.all_steps) {
                Some((turn, step)) => write!(out, "step {turn} {step}"),
                None => write!(out, "step"),
            },
            Link::Seq(seq) | Link::OldSeq(seq) => match self.event(seq) {
                Some(seq) => write!(out, "event {seq}"),
                None => write!(out, "event"),
            },
            Link::Seqs(spans) if count(&spans) > LONG => {
                let ends = |end: u64| self.event(end).unwrap_or(u64::MAX);
                let spans: Vec<_> = spans.iter().map(|(start, end)| (ends(*start), ends(*end))).collect();
                write!(out, "events {spans:?}")
            }
            Link::Seqs(spans) => {
                let seqs: Vec<u64> = renaming.in_common(self.side, &spans).collect();
                write!(out, "events {seqs:?}")
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs of links of two logs, and whether each agrees; events 0..9 belong to 0..9, but 3 has nobody in either.
    #[track_caller]
    fn check(rows: &[(Link, Link, bool)]) {
        let mut renaming = Renaming::new(10, 10);
        (0..10).filter(|seq| *seq != 3).for_each(|seq| renaming.pair_events(seq, seq));
        renaming.turn(Some(1), Some(2));
        renaming.turn(Some(2), None);
        renaming.turn(None, Some(1));
        renaming.step(Some((1, 1)), Some((2, 1)));
        for (a, b, expected) in rows {
            let same = renaming.agree(std::slice::from_ref(a), std::slice::from_ref(b));
            assert_eq!(same, *expected, "{a:?} {b:?}");
        }
    }

    #[test]
    fn drawn_names_pair_up_once() {
        check(&[
            (Link::Id(1), Link::Id(7), true),
            (Link::Id(1), Link::Id(7), true),
            (Link::Id(1), Link::Id(8), false),
            (Link::Id(2), Link::Id(7), false),
            (Link::Id(2), Link::Id(8), true),
            // Names of calls are a world of their own.
            (Link::Call(1), Link::Call(8), true),
            (Link::Call(2), Link::Call(8), false),
            (Link::Id(3), Link::Call(3), false),
        ]);
    }

    #[test]
    fn a_model_may_use_the_name_of_a_call_again() {
        check(&[
            (Link::CallStart(1), Link::CallStart(7), true),
            (Link::Call(1), Link::Call(7), true),
            (Link::CallStart(1), Link::CallStart(8), true),
            (Link::Call(1), Link::Call(8), true),
            (Link::Call(1), Link::Call(7), false),
        ]);
    }

    #[test]
    fn numbers_follow_the_alignment() {
        check(&[
            (Link::Turn(1), Link::Turn(2), true),
            (Link::Turn(1), Link::Turn(1), false),
            // Both are told where they stand.
            (Link::Turn(2), Link::Turn(1), true),
            (Link::Turn(9), Link::Turn(9), true),
            (Link::Turn(9), Link::Turn(8), false),
            (Link::Step(1, 1), Link::Step(2, 1), true),
            (Link::Step(1, 1), Link::Step(2, 2), false),
            (Link::Seq(4), Link::Seq(4), true),
            (Link::Seq(4), Link::Seq(5), false),
            (Link::Seq(3), Link::Seq(3), true),
            (Link::Seq(3), Link::Seq(4), false),
            (Link::Seq(40), Link::Seq(40), true),
            (Link::Seq(40), Link::Seq(41), false),
            (Link::OldSeq(40), Link::OldSeq(40), true),
        ]);
    }

    #[test]
    fn lists_are_compared_by_what_both_logs_have() {
        let list = |spans: &[(u64, u64)]| Link::Seqs(spans.into());
        check(&[
            (list(&[(1, 4)]), list(&[(1, 2), (4, 4)]), true),
            (list(&[(1, 4)]), list(&[(1, 3)]), false),
            (list(&[(1, 1), (2, 2)]), list(&[(2, 2), (1, 1)]), false),
            (list(&[]), list(&[(3, 3)]), true),
            (list(&[(20, 1 << 40)]), list(&[(20, 1 << 40)]), true),
            (list(&[(20, 1 << 40)]), list(&[(20, 1 << 39)]), false),
        ]);
    }
}
