//! Whether a document matches, where, and how often what is in it.
//!
//! One pass of the analyzer over a text answers for all needles of a query, and a text that cannot hold any term of them
//! is not analysed at all.

mod sieve;
mod sought;

use std::ops::Range;

use crate::analysis::Analyzer;
use crate::document::Document;
use crate::language::{Node, Query};
use crate::session::Session;
use sieve::Sieve;
pub(crate) use sought::Counted;
use sought::Sought;

/// Places of a pattern in one text to show. A pattern that matches everywhere says nothing.
const MOST_PLACES: usize = 1000;

/// Looks at documents one by one. Keeps its buffers; one for each thread.
pub struct Matcher {
    root: Node,
    sought: Sought,
    sieve: Sieve,
    analyzer: Analyzer,
    /// For each needle whether it stands in the last text, in the order of the query.
    found: Vec<bool>,
    /// For each needle whether the last document matched by it.
    by: Vec<bool>,
}

impl Matcher {
    /// For one query.
    pub fn new(query: &Query) -> Self {
        let sought = Sought::new(&query.root);
        Matcher {
            root: query.root.clone(),
            sieve: Sieve::new(sought.terms()),
            found: Vec::new(),
            by: vec![false; sought.len()],
            sought,
            analyzer: Analyzer::new(),
        }
    }

    /// True when the document matches. `is_replaced`: its event left the surface.
    pub fn matches(&mut self, document: &Document, session: &Session, is_replaced: bool) -> bool {
        let facts = Facts { document, session, is_replaced };
        if let Some(known) = facts.decide(&self.root) {
            return known;
        }
        self.read(&document.text);
        self.judge(document, session, is_replaced)
    }

    /// What of the query counts for a score; in [`Matcher::figures`] they stand in this order.
    pub(crate) fn counted(&self) -> impl Iterator<Item = Counted> + '_ {
        self.sought.counted()
    }

    /// Note what stands in a text.
    pub(crate) fn read(&mut self, text: &str) {
        if self.sieve.lets_through(text) {
            self.sought.read(&mut self.analyzer, text);
        } else {
            self.sought.pass_over();
        }
        self.sought.found(&mut self.found);
    }

    /// True when the document whose text was read last matches.
    pub(crate) fn judge(&mut self, document: &Document, session: &Session, is_replaced: bool) -> bool {
        let facts = Facts { document, session, is_replaced };
        Judge { facts, found: &self.found, by: &mut self.by, next: 0 }.judge(&self.root)
    }

    /// How often what counts stands in the text that was read last, whether the document matches or not.
    pub(crate) fn figures(&self, out: &mut Vec<u32>) {
        self.sought.figures(&|_| true, out);
    }

    /// The same, of needles that the document matched by: those of the other side of an `OR` say nothing of it.
    pub(crate) fn figures_of_match(&self, out: &mut Vec<u32>) {
        self.sought.figures(&|needle| self.by.get(needle) == Some(&true), out);
    }

    /// Terms of the text that was read last, those beside others included; 0 when it holds nothing that counts.
    pub(crate) fn length(&self) -> u32 {
        self.sought.length()
    }

    /// What in `text` the query asks for, in bytes: in order, without overlaps. Parts under a `-` count for nothing.
    pub fn ranges(&mut self, text: &str) -> Vec<Range<usize>> {
        self.read(text);
        let mut ranges: Vec<_> = self.sought.ranges().collect();
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

/// What is known of a document beside its text.
#[derive(Clone, Copy)]
struct Facts<'a> {
    document: &'a Document,
    session: &'a Session,
    is_replaced: bool,
}

impl Facts<'_> {
    /// The answer, when the text need not be read for it.
    fn decide(&self, node: &Node) -> Option<bool> {
        match node {
            Node::All(nodes) => self.all_are(true, nodes),
            Node::Any(nodes) => self.all_are(false, nodes).map(|answer| !answer),
            Node::Not(node) => self.decide(node).map(|answer| !answer),
            Node::Text(_) | Node::Pattern(_) => None,
            Node::Document(filter) => Some(filter.admits(self.document)),
            Node::Session(filter) => Some(filter.admits(self.session)),
            Node::Replaced => Some(self.is_replaced),
        }
    }

    /// Each is asked once, or parts in parts would take forever.
    fn all_are(&self, wanted: bool, nodes: &[Node]) -> Option<bool> {
        let mut all = Some(true);
        for node in nodes {
            match self.decide(node) {
                Some(answer) if answer != wanted => return Some(false),
                Some(_) => {}
                None => all = None,
            }
        }
        all
    }
}

/// Judges a document, and notes by which needles it matched.
struct Judge<'a> {
    facts: Facts<'a>,
    /// For each needle, in the order of the query.
    found: &'a [bool],
    by: &'a mut [bool],
    next: usize,
}

impl Judge<'_> {
    /// Every needle must be met, so that the next one is known by its number; patterns are not asked for nothing.
    fn judge(&mut self, node: &Node) -> bool {
        let Facts { document, session, is_replaced } = self.facts;
        let first = self.next;
        match node {
            Node::All(nodes) => {
                let (cheap, dear) = (|node: &&Node| !is_pattern(node), |node: &&Node| is_pattern(node));
                let matches = nodes.iter().filter(cheap).filter(|node| !self.judge(node)).count() == 0
                    && nodes.iter().filter(dear).all(|node| self.judge(node));
                if !matches {
                    self.forget_from(first);
                }
                matches
            }
            Node::Any(nodes) => {
                let (cheap, dear) = (|node: &&Node| !is_pattern(node), |node: &&Node| is_pattern(node));
                nodes.iter().filter(cheap).filter(|node| self.judge(node)).count() > 0
                    || nodes.iter().filter(dear).any(|node| self.judge(node))
            }
            Node::Not(node) => {
                let matches = self.judge(node);
                self.forget_from(first);
                !matches
            }
            Node::Text(_) => {
                let is_found = self.found.get(first) == Some(&true);
                if let Some(by) = self.by.get_mut(first) {
                    *by = is_found;
                }
                self.next += 1;
                is_found
            }
            Node::Pattern(pattern) => pattern.is_match(&document.text),
            Node::Document(filter) => filter.admits(document),
            Node::Session(filter) => filter.admits(session),
            Node::Replaced => is_replaced,
        }
    }

    fn forget_from(&mut self, first: usize) {
        if let Some(by) = self.by.get_mut(first..self.next) {
            by.fill(false);
        }
    }
}

/// True for what has to look through the whole text, and holds no needle.
fn is_pattern(node: &Node) -> bool {
    match node {
        Node::Pattern(_) => true,
        Node::Not(node) => is_pattern(node),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Needle;

    fn matcher(root: Node) -> Matcher {
        Matcher::new(&Query { root, text: String::new() })
    }

    fn document(text: &str) -> Document {
        Document {
            seq: dshlog_codec::Seq(0),
            nth: 0,
            part: crate::Part::Answer,
            time: dshlog_codec::Millis(0),
            turn: None,
            step: None,
            tool: None,
            model: None,
            is_error: false,
            has_image: false,
            has_file: false,
            is_inherited: false,
            text: text.to_owned(),
        }
    }

    fn session() -> Session {
        Session {
            id: String::new(),
            path: std::path::PathBuf::new(),
            entry: None,
            generation: dshlog_codec::Generation::CURRENT,
            project: None,
            created: dshlog_codec::Millis(0),
            last: dshlog_codec::Millis(0),
            parent: None,
            is_seeded: false,
            is_subagent: false,
            preset: None,
            title: None,
            soundness: crate::Soundness::Whole,
        }
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
        assert_eq!(figures(&mut matcher, "a b a"), [2, 0], "the word, and what has it as its stem");
    }

    fn figures(matcher: &mut Matcher, text: &str) -> Vec<u32> {
        let mut figures = Vec::new();
        matcher.read(text);
        matcher.figures(&mut figures);
        figures
    }

    #[test]
    fn frequencies() {
        let text = |needle: Option<Needle>| matcher(Node::Text(needle.unwrap()));
        for (needle, counted, rows) in [
            // Three pairs, the last character, and the words 大学 and 很大.
            (
                Needle::word("大学"),
                vec![Counted::Best(1), Counted::Better],
                vec![("大学很大", vec![1, 1], 6)],
            ),
            // The word, the stem of words, and the stem as a word.
            (Needle::word("running"), vec![Counted::Best(3)], vec![("running runs run", vec![1, 2, 1], 5)]),
            (Needle::phrase("a b"), vec![Counted::Row(2)], vec![("a b a b b", vec![2, 3, 2], 5)]),
            (
                Needle::prefix("a b"),
                vec![Counted::Once],
                vec![("a bc a bd", vec![1], 4), ("b a", vec![0], 2)],
            ),
        ] {
            let mut matcher = text(needle);
            assert_eq!(matcher.counted().collect::<Vec<_>>(), counted);
            for (text, expected, length) in rows {
                assert_eq!((figures(&mut matcher, text), matcher.length()), (expected, length), "{text}");
            }
            assert!(figures(&mut matcher, "nothing").iter().all(|figure| *figure == 0));
        }
    }

    #[test]
    fn only_what_a_document_matched_by_counts() {
        let word = |text| Node::Text(Needle::phrase(text).unwrap());
        let not = |node| Node::Not(Box::new(node));
        let mut matcher = matcher(Node::Any(vec![
            Node::All(vec![word("a"), word("b"), not(word("x"))]),
            Node::All(vec![word("c"), not(not(word("d")))]),
            word("e"),
        ]));
        for (text, expected) in [
            ("a b e", Some([1, 1, 0, 1])),
            ("a c d d", Some([0, 0, 1, 0])),
            ("a b x e", Some([0, 0, 0, 1])),
            ("a b c c d", Some([1, 1, 2, 0])),
            ("a c", None),
        ] {
            let document = document(text);
            matcher.read(text);
            let mut figures = Vec::new();
            let is_met = matcher.judge(&document, &session(), false);
            matcher.figures_of_match(&mut figures);
            assert_eq!(is_met.then_some(figures), expected.map(Vec::from), "{text}");
            assert_eq!(is_met, matcher.matches(&document, &session(), false), "{text}");
        }
    }
}
