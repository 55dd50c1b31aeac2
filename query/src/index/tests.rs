//! Reading an index, against a look at every document.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use dshlog_codec::{Generation, Millis, Seq};
use proptest::prelude::*;
use tantivy::{IndexWriter, Term};

use super::reader::{Facts, copies, search};
use super::schema::{Fields, builder, register};
use crate::analysis::{Analyzer, Needle, Slot};
use crate::document::{Document, Part};
use crate::error::Result;
use crate::hit::{Found, Options, Sort};
use crate::language::{Node, Query, SessionFilter};
use crate::session::{Session, Soundness};

const NOW: i64 = 1_700_000_000_000;
const DAY: i64 = 24 * 60 * 60 * 1000;

/// An index in memory. Logs are numbered from 1; the session of log 3 is `s03`.
struct Shelf {
    index: tantivy::Index,
    writer: IndexWriter,
    fields: Fields,
    logs: BTreeMap<u64, Vec<Document>>,
    facts: Known,
}

#[derive(Default)]
struct Known {
    sessions: BTreeMap<u64, Session>,
    left: Vec<(u64, Seq, Seq)>,
    children: Vec<(String, String, u64)>,
}

impl Facts for Known {
    fn sessions(&self) -> Result<Vec<(u64, Session)>> {
        Ok(self.sessions.iter().map(|(log, session)| (*log, session.clone())).collect())
    }

    fn session(&self, log: u64) -> Result<Option<Session>> {
        Ok(self.sessions.get(&log).cloned())
    }

    fn replaced(&self) -> Result<Vec<(u64, Seq)>> {
        Ok(self.left.iter().map(|(log, seq, _)| (*log, *seq)).collect())
    }

    fn replaced_by(&self, log: u64, seq: Seq) -> Result<Option<Seq>> {
        Ok(self.left.iter().find(|(of, left, _)| (*of, *left) == (log, seq)).map(|(_, _, by)| *by))
    }

    fn copies(&self, id: &str, seq: Seq) -> Result<Vec<String>> {
        copies(id, seq, |id| {
            let children = self.children.iter().filter(|(parent, ..)| parent == id);
            Ok(children.map(|(_, child, inherited)| (child.clone(), *inherited)).collect())
        })
    }
}

impl Shelf {
    fn new() -> Shelf {
        let index = builder().create_in_ram().unwrap();
        register(&index);
        let writer = index.writer_with_num_threads(1, 15_000_000).unwrap();
        writer.set_merge_policy(Box::new(tantivy::merge_policy::NoMergePolicy));
        Shelf { index, writer, fields: Fields::new().1, logs: BTreeMap::new(), facts: Known::default() }
    }

    /// A shelf of one log for each text.
    fn of(texts: &[&str]) -> Shelf {
        let mut shelf = Shelf::new();
        for (log, text) in (1..).zip(texts) {
            shelf.add(log, document(1, Part::Prompt, NOW, text));
        }
        shelf.commit();
        shelf
    }

    fn add(&mut self, log: u64, document: Document) {
        self.writer.add_document(self.fields.to_tantivy(&document, log)).unwrap();
        self.facts.sessions.entry(log).or_insert_with(|| session(&format!("s{log:02}")));
        self.logs.entry(log).or_default().push(document);
    }

    fn remove(&mut self, log: u64) {
        self.writer.delete_term(Term::from_field_u64(self.fields.log, log));
        self.logs.remove(&log);
        self.facts.sessions.remove(&log);
    }

    fn commit(&mut self) {
        self.writer.commit().unwrap();
    }

    fn ask(&self, root: Node, options: &Options) -> Found {
        let searcher = self.index.reader().unwrap().searcher();
        let query = Query { root, text: String::new() };
        search(&searcher, self.fields, &self.facts, &query, options).unwrap()
    }

    /// What a flat search finds: session, seq and nth.
    fn all(&self, root: Node) -> BTreeSet<(String, u64, u32)> {
        let found = self.ask(root, &Options { flat: true, limit: 10_000, ..options() });
        assert_eq!(found.documents, found.hits.len() as u64);
        let places =
            found.hits.iter().map(|hit| (hit.session.id.clone(), hit.document.seq.0, hit.document.nth));
        let places: BTreeSet<_> = places.collect();
        assert_eq!(places.len(), found.hits.len(), "a hit came twice");
        let sessions: BTreeSet<_> = places.iter().map(|(id, ..)| id).collect();
        assert_eq!(found.sessions, sessions.len() as u64);
        places
    }

    /// The same, by looking at every document.
    fn look(&self, root: &Node) -> BTreeSet<(String, u64, u32)> {
        let mut places = BTreeSet::new();
        for (log, documents) in &self.logs {
            let id = &self.facts.sessions[log].id;
            for document in documents.iter().filter(|document| self.admits(root, *log, document)) {
                places.insert((id.clone(), document.seq.0, document.nth));
            }
        }
        places
    }

    fn admits(&self, node: &Node, log: u64, document: &Document) -> bool {
        match node {
            Node::All(nodes) => nodes.iter().all(|node| self.admits(node, log, document)),
            Node::Any(nodes) => nodes.iter().any(|node| self.admits(node, log, document)),
            Node::Not(node) => !self.admits(node, log, document),
            Node::Text(needle) => stands_in(needle, &document.text),
            Node::Pattern(pattern) => pattern.is_match(&document.text),
            Node::Document(filter) => filter.admits(document),
            Node::Session(filter) => filter.admits(&self.facts.sessions[&log]),
            Node::Replaced => self.facts.replaced_by(log, document.seq).unwrap().is_some(),
        }
    }
}

/// The plainest meaning of a needle.
fn stands_in(needle: &Needle, text: &str) -> bool {
    let mut terms = Vec::new();
    Analyzer::new().each(text, &mut |token| terms.push((token.position, token.term.to_owned())));
    terms.iter().any(|(first, _)| {
        (*first..).zip(&needle.slots).all(|(at, slot)| {
            terms.iter().filter(|(position, _)| *position == at).any(|(_, term)| match slot {
                Slot::Any(any) => any.contains(term),
                Slot::Prefix(prefix) => term.starts_with(prefix.as_str()),
            })
        })
    })
}

fn options() -> Options {
    Options { flat: false, limit: 10, offset: 0, sort: Sort::Relevance, now: NOW }
}

fn document(seq: u64, part: Part, time: i64, text: &str) -> Document {
    Document {
        seq: Seq(seq),
        nth: 0,
        part,
        time: Millis(time),
        turn: Some(1),
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

fn session(id: &str) -> Session {
    Session {
        id: id.to_owned(),
        path: PathBuf::from(id),
        entry: None,
        generation: Generation::CURRENT,
        project: None,
        created: Millis(NOW),
        last: Millis(NOW),
        parent: None,
        is_seeded: false,
        is_subagent: false,
        preset: None,
        title: None,
        soundness: Soundness::Whole,
    }
}

fn word(text: &str) -> Node {
    Node::Text(Needle::word(text).unwrap())
}

fn pattern(text: &str) -> Node {
    Node::Pattern(regex::Regex::new(text).unwrap())
}

fn ids(found: &Found) -> Vec<&str> {
    found.hits.iter().map(|hit| hit.session.id.as_str()).collect()
}

#[test]
fn everything_of_a_document_comes_back() {
    let mut shelf = Shelf::new();
    let full = Document {
        nth: 3,
        turn: Some(7),
        step: Some(2),
        tool: Some("bash".to_owned()),
        model: Some("a/b".to_owned()),
        is_error: true,
        has_image: true,
        has_file: true,
        is_inherited: true,
        ..document(u64::MAX, Part::Todo, -5, "needle and 针线")
    };
    let bare = Document { turn: None, ..document(0, Part::Title, NOW, "needle") };
    shelf.add(1, full.clone());
    shelf.add(2, bare.clone());
    shelf.commit();
    let found = shelf.ask(word("needle"), &options());
    let mut documents: Vec<_> = found.hits.into_iter().map(|hit| hit.document).collect();
    documents.sort_by_key(|document| document.seq);
    assert_eq!(documents, [bare, full]);
}

#[test]
fn better_stands_before_worse() {
    let at = |part, days: i64, text: &str| (part, NOW - days * DAY, text.to_owned());
    let rows = [
        ("a title before a prompt", word("login"), at(Part::Title, 0, "login"), at(Part::Prompt, 0, "login")),
        (
            "a prompt before a result",
            word("login"),
            at(Part::Prompt, 0, "login"),
            at(Part::Result, 0, "login"),
        ),
        ("new before old", word("login"), at(Part::Answer, 1, "login"), at(Part::Answer, 200, "login")),
        (
            "a human word of last year before the noise of today",
            word("login"),
            at(Part::Prompt, 365, "login"),
            at(Part::Result, 0, "login"),
        ),
        (
            "short before long",
            word("login"),
            at(Part::Answer, 0, "login broke"),
            at(Part::Answer, 0, &format!("login {}", "and much else that was said ".repeat(9))),
        ),
        (
            "rare before common",
            Node::Any(vec![word("rare"), word("common")]),
            at(Part::Answer, 0, "rare thing"),
            at(Part::Answer, 0, "common thing"),
        ),
        (
            "a word before two that meet",
            word("大学"),
            at(Part::Answer, 0, "北京大学"),
            at(Part::Answer, 0, "长大学会"),
        ),
    ];
    for (why, root, better, worse) in rows {
        for swapped in [false, true] {
            let mut shelf = Shelf::new();
            let pair = if swapped { [(1, &worse), (2, &better)] } else { [(1, &better), (2, &worse)] };
            for (log, (part, time, text)) in pair {
                shelf.add(log, document(1, *part, *time, text));
            }
            for log in 3..8 {
                shelf.add(log, document(1, Part::Result, NOW - 400 * DAY, "common and 中文 noise"));
            }
            shelf.commit();
            let found = shelf.ask(root.clone(), &options());
            assert_eq!(found.hits[0].document.text, better.2, "{why}, swapped: {swapped}");
            assert!(found.hits[0].score.value > found.hits[1].score.value, "{why}");
        }
    }
}

#[test]
fn the_best_of_a_session_stands_for_it() {
    let mut shelf = Shelf::new();
    for (seq, part) in [(1, Part::Result), (2, Part::Prompt), (3, Part::Call), (4, Part::Prompt)] {
        shelf.add(1, document(seq, part, NOW, "login"));
    }
    shelf.commit();
    // The rest of the session, in another segment.
    shelf.add(1, document(5, Part::Title, NOW - 1, "login"));
    shelf.add(2, document(9, Part::Call, NOW + 5, "login"));
    shelf.commit();
    let found = shelf.ask(word("login"), &options());
    assert_eq!((found.documents, found.sessions), (6, 2));
    let rows: Vec<_> =
        found.hits.iter().map(|hit| (hit.session.id.as_str(), hit.document.seq.0, hit.count)).collect();
    assert_eq!(rows, [("s01", 5, 5), ("s02", 9, 1)]);

    let by_time = shelf.ask(word("login"), &Options { sort: Sort::Time, ..options() });
    let rows: Vec<_> = by_time.hits.iter().map(|hit| (hit.session.id.as_str(), hit.document.seq.0)).collect();
    assert_eq!(rows, [("s02", 9), ("s01", 1)]);
}

#[test]
fn equal_hits_stand_by_session_and_seq() {
    let mut shelf = Shelf::new();
    for log in [5, 2, 9, 1] {
        for seq in [3, 1, 2] {
            shelf.add(log, document(seq, Part::Answer, NOW, "login"));
        }
        shelf.commit();
    }
    let pages = |flat, limit: usize| {
        let page = |offset| shelf.ask(word("login"), &Options { flat, limit, offset, ..options() });
        let offsets = (0..).step_by(limit).map(page).take_while(|found| !found.hits.is_empty());
        let hits = offsets.flat_map(|found| found.hits);
        hits.map(|hit| (hit.session.id, hit.document.seq.0)).collect::<Vec<_>>()
    };
    let whole: Vec<_> = ["s01", "s02", "s05", "s09"]
        .iter()
        .flat_map(|id| (1..=3).map(|seq| ((*id).to_owned(), seq)))
        .collect();
    for limit in 1..=13 {
        assert_eq!(pages(true, limit), whole, "pages of {limit}");
        let firsts: Vec<_> = whole.iter().filter(|(_, seq)| *seq == 1).cloned().collect();
        assert_eq!(pages(false, limit), firsts, "sessions, pages of {limit}");
    }
}

#[test]
fn what_was_removed_is_not_found() {
    let mut shelf = Shelf::of(&["login one", "login two", "login three"]);
    shelf.remove(2);
    shelf.commit();
    let found = shelf.ask(word("login"), &options());
    assert_eq!((found.documents, found.sessions), (2, 2));
    assert_eq!(BTreeSet::from_iter(ids(&found)), BTreeSet::from(["s01", "s03"]));
    // The row of a log that went may be taken by another.
    shelf.add(2, document(1, Part::Prompt, NOW, "logout"));
    shelf.commit();
    assert_eq!(shelf.all(word("login")).len(), 2);
    assert_eq!(shelf.all(word("logout")).len(), 1);
}

#[test]
fn sessions_are_asked_of_the_catalog() {
    let shelf = Shelf::of(&["login", "login", "logout"]);
    let of = |filter| Node::All(vec![word("login"), Node::Session(filter)]);
    for filter in [SessionFilter::Id("s02".to_owned()), SessionFilter::Fork, SessionFilter::Partial] {
        let root = of(filter);
        assert_eq!(shelf.all(root.clone()), shelf.look(&root), "{root:?}");
    }
}

#[test]
fn copies_and_what_left_the_surface_are_told() {
    let mut shelf = Shelf::new();
    shelf.add(1, document(4, Part::Prompt, NOW, "login"));
    shelf.add(1, document(6, Part::Prompt, NOW - 1, "login"));
    shelf.commit();
    let child = |parent: &str, child: &str, inherited| (parent.to_owned(), child.to_owned(), inherited);
    shelf.facts.children = vec![
        child("s01", "b", 5),
        child("s01", "a", 7),
        child("b", "c", 9),
        child("c", "b", 9),
        child("a", "d", 2),
    ];
    shelf.facts.left = vec![(1, Seq(6), Seq(8))];
    let found = shelf.ask(word("login"), &Options { flat: true, ..options() });
    let told: Vec<_> =
        found.hits.iter().map(|hit| (hit.document.seq.0, hit.copies.join(" "), hit.replaced_by)).collect();
    assert_eq!(told, [(4, "a b c".to_owned(), None), (6, "a".to_owned(), Some(Seq(8)))]);
    let root = Node::All(vec![word("login"), Node::Not(Box::new(Node::Replaced))]);
    assert_eq!(shelf.all(root.clone()), shelf.look(&root));
    assert_eq!(shelf.all(Node::Replaced), shelf.look(&Node::Replaced));
}

#[test]
fn a_query_without_needles_finds_the_latest() {
    let mut shelf = Shelf::new();
    for (log, days) in [(1, 9), (2, 1), (3, 4)] {
        shelf.add(log, document(1, Part::Answer, NOW - days * DAY, "x"));
    }
    shelf.commit();
    let found = shelf.ask(Node::All(Vec::new()), &options());
    assert_eq!(ids(&found), ["s02", "s03", "s01"]);
    assert!((found.hits[0].score.text - 1.0).abs() < f32::EPSILON);
    assert_eq!(shelf.all(pattern("x")).len(), 3);
    assert_eq!(shelf.all(Node::Any(Vec::new())).len(), 0);
    assert_eq!(shelf.all(Node::Not(Box::new(Node::All(Vec::new())))).len(), 0);
}

/// Texts of few words, so that they meet.
fn text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "login",
        "Log",
        "logs",
        "logging",
        "run",
        "Running",
        "runs",
        "a",
        "b",
        "readFile",
        "read_file",
        "read",
        "file",
        "/src/read.rs",
        "登录",
        "登",
        "录错误",
        "错误",
        "误",
        "修复login",
        "大学",
        "北京大学",
        "エラー",
        "ログイン",
        "오류",
        "🙂",
        "0x7fff",
        "E0308",
        "-",
        "\n",
        "",
        "naïve",
        "Straße",
        "readfile",
    ]);
    prop::collection::vec((piece, any::<bool>()), 1..12).prop_map(|pieces| {
        pieces.into_iter().map(|(piece, gap)| piece.to_owned() + if gap { " " } else { "" }).collect()
    })
}

fn query() -> impl Strategy<Value = Node> {
    let needle = (text(), 0..3).prop_filter_map("has no terms", |(text, kind)| {
        let short: String = text.chars().take(9).collect();
        let needle = match kind {
            0 => Needle::word(&short),
            1 => Needle::phrase(&short),
            _ => Needle::prefix(&short),
        };
        needle.map(Node::Text)
    });
    let leaf = prop_oneof![
        8 => needle,
        1 => prop::sample::select(vec!["log", "(?i)r.*n", "^a", "错.*误", "x"]).prop_map(pattern),
        1 => Just(Node::Replaced),
    ];
    leaf.prop_recursive(3, 12, 3, |node| {
        prop_oneof![
            prop::collection::vec(node.clone(), 0..3).prop_map(Node::All),
            prop::collection::vec(node.clone(), 0..3).prop_map(Node::Any),
            node.prop_map(|node| Node::Not(Box::new(node))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn an_index_finds_what_a_look_at_every_document_finds(
        texts in prop::collection::vec((1_u64..6, text()), 1..40),
        roots in prop::collection::vec(query(), 40),
        gone in prop::option::of(1_u64..6),
        breaks in 1_u64..9,
    ) {
        let mut shelf = Shelf::new();
        for (seq, (log, text)) in (0..).zip(&texts) {
            shelf.add(*log, document(seq, Part::Answer, NOW, text));
            if seq % breaks == 0 {
                shelf.commit();
            }
            if seq % 4 == 0 {
                shelf.facts.left.push((*log, Seq(seq), Seq(seq + 1)));
            }
        }
        if let Some(gone) = gone {
            shelf.remove(gone);
        }
        shelf.commit();
        for root in roots {
            prop_assert_eq!(shelf.all(root.clone()), shelf.look(&root), "{:?}", root);
        }
    }
}
