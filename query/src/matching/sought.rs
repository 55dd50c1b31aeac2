//! What the needles of a query look for, and where and how often it was seen in a text.

use std::collections::HashMap;
use std::ops::Range;

use crate::analysis::{Analyzer, Kind, Needle, Slot};
use crate::language::Node;

/// The needles, and what was seen of them in the last text.
#[derive(Default)]
pub(super) struct Sought {
    needles: Vec<Compiled>,
    terms: HashMap<String, Asked>,
    /// Slots by the beginning that they ask for.
    prefixes: Vec<(String, usize)>,
    /// For each slot where it was seen, in the order of positions.
    seen: Vec<Vec<Place>>,
    /// For each term how often it was seen.
    times: Vec<u32>,
    /// Terms of the text.
    length: u32,
}

/// A needle as the numbers of its slots.
struct Compiled {
    needle: Needle,
    slots: Range<usize>,
    /// It stands under an even number of `-`.
    is_wanted: bool,
    /// It stands under none, and counts for the score.
    is_counted: bool,
}

/// A term that is asked for.
struct Asked {
    number: usize,
    slots: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Place {
    position: u32,
    bytes: Range<usize>,
}

/// What makes the score of a needle, and how many figures that takes. See [`crate::scan`] for the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// The best of so many terms: how often each stands there.
    Best(usize),
    /// A row of so many terms: how often each stands there, and then how often the row does.
    Row(usize),
    /// A beginning, alone or behind a row: 1 when it stands there, since the index looks no closer.
    Once,
    /// A term that makes the needle before it match better: how often it stands there.
    Better,
}

impl Sought {
    /// All needles of a query.
    pub(super) fn new(root: &Node) -> Sought {
        let mut sought = Sought::default();
        sought.gather(root, 0);
        sought
    }

    /// How many needles there are.
    pub(super) fn len(&self) -> usize {
        self.needles.len()
    }

    /// All terms and beginnings that are asked for.
    pub(super) fn terms(&self) -> impl Iterator<Item = &str> {
        let prefixes = self.prefixes.iter().map(|(prefix, _)| &**prefix);
        self.terms.keys().map(String::as_str).chain(prefixes)
    }

    fn gather(&mut self, node: &Node, nots: usize) {
        match node {
            Node::All(nodes) | Node::Any(nodes) => {
                for node in nodes {
                    self.gather(node, nots);
                }
            }
            Node::Not(node) => self.gather(node, nots + 1),
            Node::Text(needle) => self.add(needle, nots),
            Node::Pattern(_) | Node::Document(_) | Node::Session(_) | Node::Replaced => {}
        }
    }

    fn add(&mut self, needle: &Needle, nots: usize) {
        let first = self.seen.len();
        for slot in &needle.slots {
            let number = self.seen.len();
            self.seen.push(Vec::new());
            match slot {
                Slot::Any(terms) => {
                    for term in terms {
                        self.ask(term).slots.push(number);
                    }
                }
                Slot::Prefix(prefix) => self.prefixes.push((prefix.clone(), number)),
            }
        }
        for term in &needle.better {
            self.ask(term);
        }
        self.needles.push(Compiled {
            needle: needle.clone(),
            slots: first..self.seen.len(),
            is_wanted: nots.is_multiple_of(2),
            is_counted: nots == 0,
        });
    }

    fn ask(&mut self, term: &str) -> &mut Asked {
        let number = self.terms.len();
        let asked = self.terms.entry(term.to_owned()).or_insert(Asked { number, slots: Vec::new() });
        if asked.number == number {
            self.times.push(0);
        }
        asked
    }

    /// A text without anything that is sought.
    pub(super) fn pass_over(&mut self) {
        self.length = 0;
        self.times.fill(0);
        self.seen.iter_mut().for_each(Vec::clear);
    }

    /// Note where the terms stand in a text.
    pub(super) fn read(&mut self, analyzer: &mut Analyzer, text: &str) {
        self.pass_over();
        if self.needles.is_empty() {
            return;
        }
        let Sought { terms, prefixes, seen, times, length, .. } = self;
        analyzer.each(text, &mut |token| {
            *length = length.saturating_add(1);
            let mut note = |slot: usize, bytes: Range<usize>| {
                let Some(places) = seen.get_mut(slot) else { return };
                // A word and its stem are one place.
                if places.last().is_none_or(|last| last.position != token.position) {
                    places.push(Place { position: token.position, bytes });
                }
            };
            if let Some(asked) = terms.get(token.term) {
                if let Some(times) = times.get_mut(asked.number) {
                    *times = times.saturating_add(1);
                }
                for slot in &asked.slots {
                    note(*slot, token.bytes.clone());
                }
            }
            for (prefix, slot) in prefixes.iter() {
                if token.term.starts_with(&**prefix) {
                    // Of two characters one was asked for.
                    let first = text.get(token.bytes.clone()).and_then(|pair| pair.chars().next());
                    let bytes = match first {
                        Some(first) if token.kind == Kind::Pair => {
                            token.bytes.start..token.bytes.start + first.len_utf8()
                        }
                        _ => token.bytes.clone(),
                    };
                    note(*slot, bytes);
                }
            }
        });
    }

    /// For each needle whether it stands in the text, in the order of the query.
    pub(super) fn found(&self, out: &mut Vec<bool>) {
        out.clear();
        out.extend(self.needles.iter().map(|needle| self.places(needle).next().is_some()));
    }

    /// Where the needles stand that are not to be left out.
    pub(super) fn ranges(&self) -> impl Iterator<Item = Range<usize>> {
        let wanted = self.needles.iter().filter(|needle| needle.is_wanted);
        wanted.flat_map(|needle| self.places(needle))
    }

    /// Terms of the text.
    pub(super) fn length(&self) -> u32 {
        self.length
    }

    /// What counts, in the order of the figures.
    pub(super) fn counted(&self) -> impl Iterator<Item = Counted> {
        self.needles.iter().filter(|needle| needle.is_counted).flat_map(|needle| {
            let better = needle.needle.better.iter().map(|_| Counted::Better);
            std::iter::once(needle.counted()).chain(better)
        })
    }

    /// How often what counts stands in the text; 0 for needles that are not of `these`, given by number.
    pub(super) fn figures(&self, these: &dyn Fn(usize) -> bool, out: &mut Vec<u32>) {
        out.clear();
        for (number, needle) in self.needles.iter().enumerate().filter(|(_, needle)| needle.is_counted) {
            let first = out.len();
            let counted = needle.counted();
            if counted != Counted::Once {
                out.extend(needle.terms().map(|term| self.times(term)));
            }
            if counted != Counted::Best(out.len() - first) {
                let most = if counted == Counted::Once { 1 } else { usize::MAX };
                let places = self.places(needle).take(most).count();
                out.push(u32::try_from(places).unwrap_or(u32::MAX));
            }
            out.extend(needle.needle.better.iter().map(|term| self.times(term)));
            if !these(number)
                && let Some(figures) = out.get_mut(first..)
            {
                figures.fill(0);
            }
        }
    }

    fn times(&self, term: &str) -> u32 {
        self.terms.get(term).and_then(|asked| self.times.get(asked.number)).copied().unwrap_or(0)
    }

    /// Where all slots of a needle stand one behind the other.
    fn places<'a>(&'a self, needle: &'a Compiled) -> impl Iterator<Item = Range<usize>> + 'a {
        let (first, others) = match self.seen.get(needle.slots.clone()) {
            Some([first, others @ ..]) => (&**first, others),
            _ => (&[][..], &[][..]),
        };
        first.iter().filter_map(move |place| {
            let mut range = place.bytes.clone();
            let mut position = place.position;
            for other in others {
                position = position.checked_add(1)?;
                let at = other.binary_search_by_key(&position, |place| place.position).ok()?;
                range.end = range.end.max(other.get(at)?.bytes.end);
            }
            Some(range)
        })
    }
}

impl Compiled {
    fn counted(&self) -> Counted {
        match self.needle.slots.as_slice() {
            [Slot::Any(terms)] => Counted::Best(terms.len()),
            [.., Slot::Prefix(_)] => Counted::Once,
            slots => Counted::Row(slots.len()),
        }
    }

    /// The terms of the slots.
    fn terms(&self) -> impl Iterator<Item = &str> {
        self.needle.slots.iter().flat_map(|slot| match slot {
            Slot::Any(terms) => terms.iter().map(String::as_str),
            Slot::Prefix(_) => [].iter().map(String::as_str),
        })
    }
}
