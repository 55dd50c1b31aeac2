//! A search by the index and one by reading all logs give the same, to the bit: for random queries, made out of what
//! really stands in the logs of the corpora.
//!
//! `PROPTEST_CASES` asks for more queries than usual.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::sync::{Mutex, OnceLock};

use dshlog_query::extract::Extractor;
use dshlog_query::index::{Index, Progress, Update, Wait};
use dshlog_query::{Document, Found, Hit, Options, Part, Query, Role, Sort, scan};
use dshlog_tests::model::Corpora;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use proptest::prelude::*;
use proptest::sample::Index as At;

use super::*;

/// When all of it happens: after the last log was written, epoch milliseconds.
const NOW: i64 = 1_796_110_000_000;

/// Sessions of a shelf. A scan reads them all, so that few make for many queries.
const SESSIONS: usize = 40;

/// Queries of a usual run.
const QUERIES: u32 = 200;

struct Silent;

impl Progress for Silent {
    fn begin(&self, _: u64, _: u64) {}
    fn advance(&self, _: u64) {}
    fn tell(&self, _: &str) {}
}

/// Some logs of the corpora in one home, and their index.
struct Shelf {
    corpus: HomeCorpus,
    index: Mutex<Index>,
    documents: Vec<Document>,
    /// Filters that say something of them.
    filters: Vec<String>,
    _folder: tempfile::TempDir,
}

/// All of them. Each session stands on one, beside those of its case; those that have the same folder on several.
fn shelves() -> &'static [Shelf] {
    static SHELVES: OnceLock<Vec<Shelf>> = OnceLock::new();
    SHELVES.get_or_init(|| {
        let mut roots: Vec<PathBuf> = Vec::new();
        for corpora in Corpora::all() {
            for root in corpora.entries.iter().filter_map(|entry| entry.log.ancestors().nth(3)) {
                if roots.last().is_none_or(|last| last != root) {
                    roots.push(root.to_owned());
                }
            }
        }
        let mut groups: Vec<(Vec<PathBuf>, BTreeSet<PathBuf>)> = Vec::new();
        for root in roots {
            let names = sessions(&root);
            let fits = |(_, taken): &&mut (_, BTreeSet<PathBuf>)| {
                taken.len() < SESSIONS && names.iter().all(|name| !taken.contains(name))
            };
            match groups.iter_mut().find(fits) {
                Some((roots, taken)) => {
                    roots.push(root);
                    taken.extend(names);
                }
                None => groups.push((vec![root], names)),
            }
        }
        groups.into_iter().map(|(roots, _)| Shelf::new(&roots)).collect()
    })
}

/// `<project>/<session>` of all sessions below a root.
fn sessions(root: &Path) -> BTreeSet<PathBuf> {
    let below = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
    };
    let sessions = below(root).into_iter().flat_map(|project| below(&project));
    sessions.filter_map(|session| session.strip_prefix(root).ok().map(Path::to_owned)).collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}

impl Shelf {
    /// The index comes to be by several updates, and some logs leave it for a time, so that it has several segments and
    /// documents that were removed.
    fn new(roots: &[PathBuf]) -> Shelf {
        let folder = tempfile::tempdir().unwrap();
        let (root, index) = (folder.path().join("sessions"), folder.path().join("index"));
        let corpus = HomeCorpus::new(root.clone());
        let update = || Update::open(&index, Wait::No, &Silent).unwrap().run(&corpus, 1, &Silent).unwrap();
        let half = roots.len() / 2;
        for (at, from) in roots.iter().enumerate() {
            copy(from, &root);
            if at == half {
                update();
                let gone: Vec<PathBuf> =
                    sessions(&root).iter().step_by(3).map(|name| root.join(name)).collect();
                let away = folder.path().join("away");
                for (number, path) in gone.iter().enumerate() {
                    copy(path, &away.join(number.to_string()));
                    fs::remove_dir_all(path).unwrap();
                }
                update();
                for (number, path) in gone.iter().enumerate() {
                    copy(&away.join(number.to_string()), path);
                }
            }
        }
        update();
        let index = Index::open(&index).unwrap();
        let documents = documents(&corpus);
        let filters = filters(&documents, &index);
        Shelf { corpus, index: Mutex::new(index), documents, filters, _folder: folder }
    }

    fn document(&self, at: At) -> &str {
        self.documents.get(at.index(self.documents.len().max(1))).map_or("nothing", |found| &found.text)
    }
}

fn documents(corpus: &HomeCorpus) -> Vec<Document> {
    let mut documents = Vec::new();
    for candidate in corpus.list().candidates {
        let Ok(header) = corpus.header(&candidate) else { continue };
        let mut extractor = Extractor::new(&header);
        corpus.read(&candidate, None, &mut |event| {
            extractor.see(event, &mut |document| documents.push(document));
            ControlFlow::Continue(())
        });
    }
    // System prompts say the same in every session; they are there, and no reason to be asked for most of the time.
    let mut seen = HashSet::new();
    documents.retain(|document| seen.insert(document.text.clone()));
    documents
}

fn filters(documents: &[Document], index: &Index) -> Vec<String> {
    let mut filters: BTreeSet<String> = BTreeSet::new();
    for document in documents {
        let tool = document.tool.iter().map(|tool| format!("tool:\"{tool}\""));
        let model = document.model.iter().map(|model| format!("model:\"{model}\""));
        filters.extend(tool.chain(model).filter(|filter| filter.matches('"').count() == 2));
        filters.extend(document.turn.map(|turn| format!("turn:{turn}")));
        if let Ok(time) = Timestamp::from_millisecond(document.time.0) {
            let day = TimeZone::UTC.to_datetime(time).date();
            filters.extend(["after", "before", "on"].map(|field| format!("{field}:{day}")));
        }
    }
    for session in index.sessions().unwrap() {
        filters.insert(format!("generation:{}", session.generation.0));
        let ids = [Some(("session", session.id)), session.parent.map(|id| ("parent", id))];
        for (field, id) in ids.into_iter().flatten().filter(|(_, id)| id.is_ascii() && !id.is_empty()) {
            let short: String = id.chars().take(14).collect();
            filters.extend([format!("{field}:\"{id}\""), format!("{field}:\"{short}\"")]);
        }
        filters.extend(session.project.map(|project| format!("project:\"{project}\"")));
        filters.extend(session.preset.map(|preset| format!("preset:\"{preset}\"")));
    }
    filters.extend(Part::ALL.map(|part| format!("in:{}", part.name())));
    filters.extend(Role::ALL.map(|role| format!("role:{}", role.name())));
    let facts = ["error", "fork", "subagent", "replaced", "inherited", "partial"];
    filters.extend(facts.map(|fact| format!("is:{fact}")));
    filters.extend(["has:image", "has:file", "tool:*a*", "in:text", "project:ws"].map(str::to_owned));
    filters.into_iter().collect()
}

/// What a query is made of, before it is known which shelf it is for.
#[derive(Clone, Debug)]
enum Ask {
    Word(At, At),
    Phrase(At, At, usize),
    Prefix(At, At, usize),
    Han(At, At, usize),
    Name(At, At),
    Pattern(At, At, usize, u8),
    Filter(At),
    Common(At),
    Absent,
    All(Vec<Ask>),
    Any(Vec<Ask>),
    Not(Box<Ask>),
}

fn ask() -> impl Strategy<Value = Ask> {
    let at = any::<At>;
    let leaf = prop_oneof![
        5 => (at(), at()).prop_map(|(text, word)| Ask::Word(text, word)),
        3 => (at(), at(), 2..5_usize).prop_map(|(text, word, words)| Ask::Phrase(text, word, words)),
        2 => (at(), at(), 1..6_usize).prop_map(|(text, word, letters)| Ask::Prefix(text, word, letters)),
        2 => (at(), at(), 1..5_usize).prop_map(|(text, place, letters)| Ask::Han(text, place, letters)),
        2 => (at(), at()).prop_map(|(text, word)| Ask::Name(text, word)),
        1 => (at(), at(), 2..9_usize, 0..4_u8)
            .prop_map(|(text, place, letters, form)| Ask::Pattern(text, place, letters, form)),
        3 => at().prop_map(Ask::Filter),
        2 => at().prop_map(Ask::Common),
        1 => Just(Ask::Absent),
    ];
    leaf.prop_recursive(4, 14, 4, |ask| {
        prop_oneof![
            3 => prop::collection::vec(ask.clone(), 2..4).prop_map(Ask::All),
            3 => prop::collection::vec(ask.clone(), 2..4).prop_map(Ask::Any),
            1 => ask.prop_map(|ask| Ask::Not(Box::new(ask))),
        ]
    })
}

impl Ask {
    /// As somebody would type it.
    fn write(&self, from: &Shelf, out: &mut String) {
        match self {
            Ask::Word(text, at) => out.push_str(&word(pick(&words(from.document(*text)), *at))),
            Ask::Phrase(text, at, count) => {
                let words = words(from.document(*text));
                let start = at.index(words.len().max(1));
                let some = words.get(start..).unwrap_or_default().iter().take(*count);
                let phrase: Vec<&str> = some.copied().collect();
                let _ = write!(out, "\"{}\"", phrase.join(" ").replace(['"', '“', '”', '„', '\\'], " "));
            }
            Ask::Prefix(text, at, letters) => {
                let begin: String = pick(&words(from.document(*text)), *at).chars().take(*letters).collect();
                let _ = write!(out, "{}*", word(&begin));
            }
            Ask::Han(text, at, letters) => {
                let text = from.document(*text);
                let han: Vec<char> = text.chars().filter(|c| *c >= '\u{3041}').collect();
                let start = at.index(han.len().max(1));
                let some: String = han.iter().skip(start).take(*letters).collect();
                out.push_str(&word(if some.is_empty() { "登录" } else { &some }));
            }
            Ask::Name(text, at) => {
                let mut names = words(from.document(*text));
                names.retain(|name| {
                    name.contains(['_', '/', '.', '-']) || name.chars().skip(1).any(char::is_uppercase)
                });
                out.push_str(&word(pick(&names, *at)));
            }
            Ask::Pattern(text, at, letters, form) => {
                let text: Vec<char> = from.document(*text).chars().collect();
                let start = at.index(text.len().max(1));
                let piece: String =
                    text.iter().skip(start).take(*letters).filter(|c| !c.is_control()).collect();
                let piece = regex_of(&piece);
                let _ = match form {
                    0 => write!(out, "/{piece}/"),
                    1 => write!(out, "/{piece}.*[a-f]/"),
                    2 => write!(out, "/^{piece}/"),
                    _ => write!(out, r"/\b{piece}\w+/"),
                };
            }
            Ask::Filter(at) => {
                out.push_str(from.filters.get(at.index(from.filters.len())).map_or("in:text", |f| f));
            }
            Ask::Common(at) => out.push_str(pick(&["the", "and", "is", "a", "you", "to"], *at)),
            Ask::Absent => out.push_str("zyzzyva"),
            Ask::All(asks) => join(asks, " ", from, out),
            Ask::Any(asks) => join(asks, " OR ", from, out),
            Ask::Not(ask) => {
                out.push_str("NOT (");
                ask.write(from, out);
                out.push(')');
            }
        }
    }
}

fn join(asks: &[Ask], by: &str, shelf: &Shelf, out: &mut String) {
    for (number, ask) in asks.iter().enumerate() {
        out.push_str(if number == 0 { "(" } else { by });
        ask.write(shelf, out);
    }
    out.push(')');
}

fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '(' | ')'))
        .filter(|word| !word.is_empty())
        .collect()
}

fn pick<'a>(words: &[&'a str], at: At) -> &'a str {
    words.get(at.index(words.len().max(1))).copied().unwrap_or("work")
}

/// Bare where it can stand so, else quoted.
fn word(text: &str) -> String {
    let short: String = text.chars().take(60).collect();
    if short.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.')) {
        return short;
    }
    format!("\"{}\"", short.replace(['"', '“', '”', '„', '\\'], " "))
}

/// A pattern for the very text; what would end it early is left open.
fn regex_of(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            c if c.is_alphanumeric() => out.push(c),
            _ => out.push('.'),
        }
    }
    out
}

/// All that somebody sees of a hit.
fn told(hit: &Hit) -> String {
    format!(
        "{} {:?} #{}.{} {:?} score {:?}={:08x}, {} of its session, at {:?}, by {:?}, in {:?}, {:?}",
        hit.session.id,
        hit.session.path.file_name(),
        hit.document.seq,
        hit.document.nth,
        hit.document.part,
        hit.score,
        hit.score.value.to_bits(),
        hit.count,
        hit.ranges,
        hit.replaced_by,
        hit.copies,
        hit.session.soundness,
    )
}

fn agree(indexed: &Found, scanned: &Found) -> Result<(), String> {
    if (indexed.documents, indexed.sessions) != (scanned.documents, scanned.sessions) {
        return Err(format!(
            "the index finds {} texts in {} sessions, a scan {} in {}",
            indexed.documents, indexed.sessions, scanned.documents, scanned.sessions
        ));
    }
    let pairs = indexed.hits.iter().zip(&scanned.hits).enumerate();
    for (number, (left, right)) in pairs {
        if told(left) != told(right) || left.document != right.document || left.session != right.session {
            return Err(format!("hit {number}:\n  index {}\n  scan  {}", told(left), told(right)));
        }
    }
    if indexed.hits.len() != scanned.hits.len() {
        return Err(format!("{} hits and {}", indexed.hits.len(), scanned.hits.len()));
    }
    Ok(())
}

fn parsed(text: &str) -> Option<Query> {
    Query::parse(text, Timestamp::from_millisecond(NOW).unwrap(), &TimeZone::UTC).ok()
}

/// Search in both ways.
fn both(shelf: &Shelf, query: &Query, options: &Options) -> (Found, Found) {
    let indexed = shelf.index.lock().unwrap().search(query, options).unwrap();
    let scanned = scan::scan(&shelf.corpus, query, options, 2, &mut |_, _| {}).unwrap();
    (indexed, scanned)
}

fn cases() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|asked| asked.parse().ok());
    ProptestConfig { cases: asked.unwrap_or(QUERIES), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_scan_finds_what_the_index_finds(
        ask in ask(),
        at in any::<At>(),
        flat in any::<bool>(),
        by_time in any::<bool>(),
        limit in prop_oneof![1_usize..20, Just(100_000)],
        offset in prop_oneof![3 => Just(0_usize), 1 => 0_usize..9],
    ) {
        let shelf = &shelves()[at.index(shelves().len())];
        let mut text = String::new();
        ask.write(shelf, &mut text);
        // Some queries mean nothing: they only say what to leave out, or hold no letter.
        let parsed = parsed(&text);
        prop_assume!(parsed.is_some());
        let sort = if by_time { Sort::Time } else { Sort::Relevance };
        let options = Options { flat, limit, offset, sort, now: NOW };
        if let Some(query) = parsed {
            let (indexed, scanned) = both(shelf, &query, &options);
            let agreed = agree(&indexed, &scanned);
            prop_assert!(agreed.is_ok(), "{}\n{:?}\n{}", text, options, agreed.unwrap_err());
        }
    }
}

/// The queries above ask for what is there: were they all to find nothing, they would agree, too.
#[test]
fn common_queries_find_something_on_every_shelf() {
    let options = Options { flat: true, limit: 100_000, offset: 0, sort: Sort::Relevance, now: NOW };
    let mut found = 0;
    for shelf in shelves() {
        for text in ["the", "the and", "\"of the\"", "a* -the", "in:prompt", "/\\w/ role:user"] {
            let (indexed, scanned) = both(shelf, &parsed(text).unwrap(), &options);
            agree(&indexed, &scanned).unwrap_or_else(|why| panic!("{text}: {why}"));
            found += scanned.documents;
        }
    }
    assert!(found > 1000, "{found}");
}

/// Nobody gets an answer by waiting: each is a search in both ways, or an error that names its place.
#[test]
fn hostile_queries_end() {
    let nested = |depth: usize, first: &str| format!("{}{first}{}", "(".repeat(depth), " b)".repeat(depth));
    let rows: Vec<(String, bool)> = vec![
        ("word ".repeat(200_000), false),
        ("w".repeat(1 << 20), false),
        ((0..100_000).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" "), false),
        (nested(10_000, "a"), false),
        ("(".repeat(10_000), false),
        (")".repeat(10_000), false),
        ("NOT ".repeat(4_000) + "a", false),
        (format!("{}a{}", "-(".repeat(5_000), ")".repeat(5_000)), false),
        ("NOT a NOT b -c".to_owned(), false),
        ("\"a b \"c d\"".to_owned(), false),
        ("/((((x{100}){100}){100})/".to_owned(), false),
        ("/(((x{100}){100}){100})/".to_owned(), false),
        (format!("/{}/", "(".repeat(5_000)), false),
        (format!("/{}a{}/", "(".repeat(1_000), ")".repeat(1_000)), false),
        ("/(a+)+$/".to_owned(), true),
        ("/(a|aa)+(a|aa)+(a|aa)+(a|aa)+b/".to_owned(), true),
        (r"/(\w+\s*)+:(\w+\s*)+:(\w+\s*)+\d/".to_owned(), true),
        (r"/(?i)(.{0,50}a){3}/".to_owned(), true),
        ("the and of is to a in".to_owned(), true),
        ("the OR and OR of OR is OR to OR a* OR e*".to_owned(), true),
        (nested(31, "the"), true),
        (nested(31, "role:user -the"), true),
        (nested(30, "/the/ role:user"), true),
        ((0..60).map(|n| format!("w{n}")).collect::<Vec<_>>().join(" OR ") + " OR the", true),
        ("a* ".repeat(64), true),
        (format!("\"{}\"", "the ".repeat(250)), true),
        (format!("\"{}\"", "录".repeat(250)), true),
        (format!("{} OR the", "x".repeat(10_000)), true),
        ("\u{1}the \u{2}the the".to_owned(), true),
    ];
    let now = Timestamp::from_millisecond(NOW).unwrap();
    let shelf = shelves().first().unwrap();
    let options = Options { flat: true, limit: 100, offset: 0, sort: Sort::Relevance, now: NOW };
    for (text, is_answered) in rows {
        let short: String = text.chars().take(40).collect();
        match Query::parse(&text, now, &TimeZone::UTC) {
            Ok(query) => {
                assert!(is_answered, "{short}");
                let (indexed, scanned) = both(shelf, &query, &options);
                agree(&indexed, &scanned).unwrap_or_else(|why| panic!("{short}: {why}"));
            }
            Err(error) => {
                assert!(!is_answered, "{short}: {error}");
                assert!(
                    text.get(error.at.clone()).is_some() && !error.message.is_empty(),
                    "{short}: {error:?}"
                );
            }
        }
    }
}
