//! Whether a document matches, and where.
//!
//! One pass of the analyzer over a text answers for all needles of a query. Facts that need no text are asked first.

use std::collections::HashMap;
use std::ops::Range;

use crate::analysis::{Analyzer, Kind, Needle, Slot};
use crate::document::Document;
use crate::language::{Node, Query};
use crate::session::Session;

/// Places of a pattern in one text to show. A pattern that matches everywhere says nothing.
const MOST_PLACES: usize = 1000;

/// Looks at documents one by one. Keeps its buffers; one for each thread.
pub struct Matcher {
    root: Node,
    sought: Sought,
    analyzer: Analyzer,
}

/// What the needles of a query look for, and where it was seen.
#[derive(Default)]
struct Sought {
    needles: Vec<Compiled>,
    /// Slots by the term that they ask for.
    terms: HashMap<String, Vec<usize>>,
    /// Slots by the beginning that they ask for.
    prefixes: Vec<(String, usize)>,
    /// For each slot where it was seen, in the order of positions.
    seen: Vec<Vec<Place>>,
    /// Terms of the text.
    length: u32,
}

/// A needle as the numbers of its slots.
struct Compiled {
    needle: Needle,
    slots: Range<usize>,
    /// It stands under no `-`.
    is_wanted: bool,
}

#[derive(Clone, Debug)]
struct Place {
    position: u32,
    bytes: Range<usize>,
}

/// How often the needles of a query stand in a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// For each wanted needle, in the order of the query.
    pub needles: Vec<u32>,
    /// For each of the terms that make these needles match better, in the order of the query.
    pub better: Vec<u32>,
    /// Terms of the text, those beside others included.
    pub length: u32,
}

impl Matcher {
    /// For one query.
    pub fn new(query: &Query) -> Self {
        let mut sought = Sought::default();
        sought.gather(&query.root, true);
        Matcher { root: query.root.clone(), sought, analyzer: Analyzer::new() }
    }

    /// True when the document matches. `is_replaced`: its event left the surface.
    pub fn matches(&mut self, document: &Document, session: &Session, is_replaced: bool) -> bool {
        let facts = Facts { document, session, is_replaced };
        if let Some(known) = facts.decide(&self.root) {
            return known;
        }
        self.sought.read(&mut self.analyzer, &document.text);
        facts.judge(&self.root, &mut self.sought.found().into_iter())
    }

    /// How often the needles stand in `text`.
    pub fn counts(&mut self, text: &str) -> Counts {
        self.sought.read(&mut self.analyzer, text);
        let sought = &self.sought;
        let wanted = || sought.needles.iter().filter(|needle| needle.is_wanted);
        let count = |places: usize| u32::try_from(places).unwrap_or(u32::MAX);
        Counts {
            needles: wanted().map(|needle| count(sought.places(needle).count())).collect(),
            better: wanted()
                .flat_map(|needle| &needle.needle.better)
                .map(|term| sought.terms.get(term).and_then(|slots| sought.seen.get(*slots.first()?)))
                .map(|seen| count(seen.map_or(0, Vec::len)))
                .collect(),
            length: sought.length,
        }
    }

    /// What in `text` the query asks for, in bytes: in order, without overlaps. Parts under a `-` count for nothing.
    pub fn ranges(&mut self, text: &str) -> Vec<Range<usize>> {
        self.sought.read(&mut self.analyzer, text);
        let sought = &self.sought;
        let wanted = sought.needles.iter().filter(|needle| needle.is_wanted);
        let mut ranges: Vec<_> = wanted.flat_map(|needle| sought.places(needle)).collect();
        patterns(&self.root, true, &mut |pattern| {
            let places = pattern.find_iter(text).map(|found| found.range());
            ranges.extend(places.filter(|range| !range.is_empty()).take(MOST_PLACES));
        });
        merged(ranges)
    }
}

/// Show each pattern that stands under no `-` to `see`.
fn patterns(node: &Node, is_wanted: bool, see: &mut dyn FnMut(&regex::Regex)) {
    match node {
        Node::All(nodes) | Node::Any(nodes) => {
            for node in nodes {
                patterns(node, is_wanted, see);
            }
        }
        Node::Not(node) => patterns(node, !is_wanted, see),
        Node::Pattern(pattern) if is_wanted => see(pattern),
        _ => {}
    }
}

fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

impl Sought {
    fn gather(&mut self, node: &Node, is_wanted: bool) {
        match node {
            Node::All(nodes) | Node::Any(nodes) => {
                for node in nodes {
                    self.gather(node, is_wanted);
                }
            }
            Node::Not(node) => self.gather(node, !is_wanted),
            Node::Text(needle) => self.add(needle, is_wanted),
            Node::Pattern(_) | Node::Document(_) | Node::Session(_) | Node::Replaced => {}
        }
    }

    fn add(&mut self, needle: &Needle, is_wanted: bool) {
        let first = self.seen.len();
        for slot in &needle.slots {
            let number = self.seen.len();
            self.seen.push(Vec::new());
            match slot {
                Slot::Any(terms) => {
                    for term in terms {
                        self.terms.entry(term.clone()).or_default().push(number);
                    }
                }
                Slot::Prefix(prefix) => self.prefixes.push((prefix.clone(), number)),
            }
        }
        let slots = first..self.seen.len();
        for term in &needle.better {
            // First, so that it is found by the first number of its term.
            self.terms.entry(term.clone()).or_default().insert(0, self.seen.len());
            self.seen.push(Vec::new());
        }
        self.needles.push(Compiled { needle: needle.clone(), slots, is_wanted });
    }

    /// Note where the terms stand in a text.
    fn read(&mut self, analyzer: &mut Analyzer, text: &str) {
        self.length = 0;
        self.seen.iter_mut().for_each(Vec::clear);
        if self.needles.is_empty() {
            return;
        }
        let Sought { terms, prefixes, seen, length, .. } = self;
        analyzer.each(text, &mut |token| {
            *length = length.saturating_add(1);
            let mut note = |slot: usize, bytes: Range<usize>| {
                let Some(places) = seen.get_mut(slot) else { return };
                // A word and its stem are one place.
                if places.last().is_none_or(|last| last.position != token.position) {
                    places.push(Place { position: token.position, bytes });
                }
            };
            for slot in terms.get(token.term).into_iter().flatten() {
                note(*slot, token.bytes.clone());
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
    fn found(&self) -> Vec<bool> {
        self.needles.iter().map(|needle| self.places(needle).next().is_some()).collect()
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

/// What is known of a document beside its text.
struct Facts<'a> {
    document: &'a Document,
    session: &'a Session,
    is_replaced: bool,
}

impl Facts<'_> {
    /// The answer, when the text need not be read for it.
    fn decide(&self, node: &Node) -> Option<bool> {
        match node {
            Node::All(nodes) => {
                let answers = || nodes.iter().map(|node| self.decide(node));
                if answers().any(|answer| answer == Some(false)) {
                    return Some(false);
                }
                answers().all(|answer| answer == Some(true)).then_some(true)
            }
            Node::Any(nodes) => {
                let answers = || nodes.iter().map(|node| self.decide(node));
                if answers().any(|answer| answer == Some(true)) {
                    return Some(true);
                }
                answers().all(|answer| answer == Some(false)).then_some(false)
            }
            Node::Not(node) => self.decide(node).map(|answer| !answer),
            Node::Text(_) | Node::Pattern(_) => None,
            Node::Document(filter) => Some(filter.admits(self.document)),
            Node::Session(filter) => Some(filter.admits(self.session)),
            Node::Replaced => Some(self.is_replaced),
        }
    }

    /// The answer. `found` tells of each needle, in the order of the query, so every one must be asked for.
    fn judge(&self, node: &Node, found: &mut impl Iterator<Item = bool>) -> bool {
        match node {
            Node::All(nodes) => nodes.iter().filter(|node| !self.judge(node, found)).count() == 0,
            Node::Any(nodes) => nodes.iter().filter(|node| self.judge(node, found)).count() > 0,
            Node::Not(node) => !self.judge(node, found),
            Node::Text(_) => found.next().unwrap_or(false),
            Node::Pattern(pattern) => pattern.is_match(&self.document.text),
            Node::Document(filter) => filter.admits(self.document),
            Node::Session(filter) => filter.admits(self.session),
            Node::Replaced => self.is_replaced,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matcher(root: Node) -> Matcher {
        Matcher::new(&Query { root, text: String::new() })
    }

    fn marked(needle: Option<Needle>, text: &str) -> String {
        let ranges = matcher(Node::Text(needle.unwrap())).ranges(text);
        let mut out = text.to_owned();
        for range in ranges.iter().rev() {
            out.insert(range.end, ']');
            out.insert(range.start, '[');
        }
        out
    }

    #[test]
    fn places() {
        for (typed, text, expected) in [
            ("run", "He runs, running; a runner ran. Run!", "He [runs], [running]; a runner ran. [Run]!"),
            ("登录", "请修复登录错误，再登录。", "请修复[登录]错误，再[登录]。"),
            ("录", "登录错误 登录", "登[录]错误 登[录]"),
            ("login", "修复login错误", "修复[login]错误"),
            ("修复login错", "修复login错误", "[修复login错]误"),
            ("修复login", "再修复 login", "再[修复 login]"),
            ("复login", "修复中login", "修复中login"),
            (
                "camelCase",
                "a camelCaseName, camel_case; camelcase",
                "a [camelCase]Name, [camel_case]; camelcase",
            ),
            ("camelcasename", "a camelCaseName", "a [camelCaseName]"),
            ("src/main.rs", "in src/main.rs:12", "in [src/main.rs]:12"),
            ("x x", "x x x y x", "[x x x] y x"),
            ("한국", "한국어를", "[한국]어를"),
            // Decomposed, as one system keeps names of files.
            (
                "한국",
                "\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}\u{110b}\u{1165} x",
                "[\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}]\u{110b}\u{1165} x",
            ),
            ("\u{1112}\u{1161}\u{11ab}\u{1100}\u{116e}\u{11a8}", "한국어", "[한국]어"),
            ("cafe", "Un CAFÉ!", "Un [CAFÉ]!"),
            ("👍", "ok 👍🏽👍", "ok [👍🏽][👍]"),
        ] {
            assert_eq!(marked(Needle::word(typed), text), expected, "{typed}");
        }
        assert_eq!(marked(Needle::phrase("run"), "runs run"), "runs [run]");
        assert_eq!(marked(Needle::prefix("rea"), "read_file rea area"), "[read]_file [rea] area");
        assert_eq!(marked(Needle::prefix("read_f"), "read_file, read"), "[read_file], read");
    }

    #[test]
    fn what_is_not_wanted_is_not_marked() {
        let not = |node| Node::Not(Box::new(node));
        let word = |text| Node::Text(Needle::word(text).unwrap());
        let pattern = |text| Node::Pattern(regex::Regex::new(text).unwrap());
        let mut matcher =
            matcher(Node::All(vec![word("a"), not(word("b")), pattern("c+"), not(pattern("d"))]));
        assert_eq!(matcher.ranges("a b ccc d"), [0..1, 4..7]);
        assert_eq!(matcher.counts("a b a").needles, [2]);
    }

    #[test]
    fn frequencies() {
        let mut matcher = matcher(Node::Text(Needle::word("大学").unwrap()));
        // Three pairs, the last character, and the words 大学 and 很大.
        assert_eq!(matcher.counts("大学很大"), Counts { needles: vec![1], better: vec![1], length: 6 });
        assert_eq!(matcher.counts("no"), Counts { needles: vec![0], better: vec![0], length: 1 });
    }
}
