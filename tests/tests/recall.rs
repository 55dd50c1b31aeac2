//! Whether what stands in sessions is found: a table of queries in many languages, each with the sessions that must be among
//! the first five, and the pieces of text that must be marked.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use dshlog_tests::cmd::Place;
use dshlog_tests::library;
use dshlog_tests::model::repository;
use serde_json::Value;

use crate::{PROGRAM, place};

/// So many hits a person looks at.
const SEEN: usize = 5;

/// A line of the table.
struct Row {
    query: String,
    expected: Vec<String>,
    /// What is marked in the hit of the first expected session.
    marked: Vec<String>,
}

/// The lines under one heading of the table.
fn rows(group: &str) -> Vec<Row> {
    let table = fs::read_to_string(repository().join("tests/library/queries.tsv")).unwrap();
    let lines = table.lines().skip_while(|line| line.strip_prefix("# ") != Some(group)).skip(1);
    let list = |text: &str, by: &str| -> Vec<String> {
        text.split(by).filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    lines
        .take_while(|line| !line.starts_with("# "))
        .filter(|line| !line.is_empty())
        .map(|line| match line.split('\t').collect::<Vec<_>>()[..] {
            [query, expected, marked] => {
                Row { query: query.to_owned(), expected: list(expected, ", "), marked: list(marked, " | ") }
            }
            _ => panic!("no query, sessions and marks: {line}"),
        })
        .collect()
}

/// What a search gives.
struct Answer {
    documents: u64,
    /// Ids, the best first.
    sessions: Vec<String>,
    hits: Vec<Value>,
}

impl Answer {
    /// What the program says instead of an answer is the error.
    fn of(place: &Place, query: &str, more: &[&str]) -> Result<Answer, String> {
        let args = [&["search", "--format", "json", "--limit", "1000"], more, &["--", query]].concat();
        let output = place.run(&args);
        if !matches!(output.status.code(), Some(0 | 1)) {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let hits = told["hits"].as_array().unwrap().clone();
        let id = |hit: &Value| hit["session"]["id"].as_str().unwrap().to_owned();
        Ok(Answer {
            documents: told["documents"].as_u64().unwrap(),
            sessions: hits.iter().map(id).collect(),
            hits,
        })
    }

    /// Where the session stands, from 0.
    fn rank(&self, session: &str) -> Option<usize> {
        self.sessions.iter().position(|found| found == session)
    }

    /// The pieces that are marked in the hit of a session, each once.
    fn marked(&self, session: &str) -> Vec<String> {
        let Some(hit) = self.rank(session).map(|rank| &self.hits[rank]) else { return Vec::new() };
        let text = hit["text"].as_str().unwrap();
        let mut pieces: Vec<String> = Vec::new();
        for range in hit["ranges"].as_array().unwrap() {
            let at = |end: usize| usize::try_from(range[end].as_u64().unwrap()).unwrap();
            let piece = &text[at(0)..at(1)];
            if !pieces.iter().any(|known| known == piece) {
                pieces.push(piece.to_owned());
            }
        }
        pieces
    }
}

/// How well the queries of a group do.
#[derive(Default)]
struct Figures {
    queries: usize,
    marked: usize,
    first: usize,
    ranks: usize,
}

/// Ask every query of a group, of an index and of the logs themselves. `ids` has the sessions by the names that the table
/// has for them.
fn recall(group: &str, place: &Place, ids: &BTreeMap<String, Vec<String>>) {
    let rows = rows(group);
    let mut wrong = String::new();
    let mut figures = Figures { queries: rows.len(), ..Figures::default() };
    for row in &rows {
        let mut say = |what: String| writeln!(wrong, "`{}`: {what}", row.query).unwrap();
        let asked = |way| Answer::of(place, &row.query, way);
        let (index, scan) = match (asked(&["--index", "index"]), asked(&["--scan"])) {
            (Ok(index), Ok(scan)) => (index, scan),
            (Err(why), _) | (_, Err(why)) => {
                say(why);
                continue;
            }
        };

        let expected: Vec<&String> = row.expected.iter().flat_map(|name| &ids[name]).collect();
        let mut last = 0;
        for id in &expected {
            for (way, answer) in [("index", &index), ("scan", &scan)] {
                let rank = answer.rank(id);
                if rank.is_none_or(|rank| rank >= SEEN) {
                    say(format!("{way}: {id} is at {rank:?} of {:?}", &answer.sessions));
                }
                last = last.max(rank.unwrap_or(SEEN));
            }
        }
        figures.first += usize::from(last < expected.len());
        figures.ranks += last + 2 - expected.len();

        if !row.marked.is_empty() {
            figures.marked += 1;
            for (way, answer) in [("index", &index), ("scan", &scan)] {
                let marked = answer.marked(expected[0]);
                if marked != row.marked {
                    say(format!("{way}: marks {marked:?} and not {:?}", row.marked));
                }
            }
        }
        let set = |answer: &Answer| answer.sessions.iter().cloned().collect::<BTreeSet<_>>();
        if set(&index) != set(&scan) || index.documents != scan.documents {
            say(format!("index {:?}, scan {:?}", index.sessions, scan.sessions));
        }
    }
    tell(group, &figures);
    assert!(wrong.is_empty(), "{group}\n{wrong}");
    assert!(figures.queries >= 8, "{group} has {} queries", figures.queries);
}

#[expect(clippy::print_stderr, reason = "figures are for those who ask for them")]
#[expect(clippy::cast_precision_loss, reason = "a mean of small numbers")]
fn tell(group: &str, figures: &Figures) {
    let Figures { queries, marked, first, ranks } = figures;
    let mean = *ranks as f64 / *queries as f64;
    eprintln!(
        "{group}: {queries} queries, {marked} with marks, {first} with all expected first, mean rank {mean:.2}"
    );
}

/// A group of the library.
fn of_library(group: &str) {
    let place = Place::empty(PROGRAM);
    library::stock(&place.home()).unwrap();
    let ids = library::sessions().unwrap().into_iter().map(|s| (s.name.clone(), vec![s.name])).collect();
    recall(group, &place, &ids);
}

#[test]
fn english() {
    of_library("english");
}

/// German, French, Spanish, Russian.
#[test]
fn europe() {
    of_library("europe");
}

#[test]
fn chinese() {
    of_library("chinese");
}

#[test]
fn japanese() {
    of_library("japanese");
}

#[test]
fn korean() {
    of_library("korean");
}

#[test]
fn code() {
    of_library("code");
}

#[test]
fn paths() {
    of_library("paths");
}

#[test]
fn emoji() {
    of_library("emoji");
}

/// Words that many sessions hold: those that are about them stand first.
#[test]
fn ranking() {
    of_library("ranking");
}

#[test]
fn filters() {
    of_library("filters");
}

/// The cases of the corpora that are searched together. No two hold a session of the same id.
const CASES: [&str; 28] = [
    "v0-0.1.0rc6-bash-echo",
    "v0-0.1.0rc6-unicode",
    "v0-0.1.0rc6-todo-write",
    "v0-0.1.0rc6-odd-cwd",
    "v3-compact",
    "v3-thinking",
    "v3-unicode",
    "v4-approval",
    "v4-cancel-stream",
    "v4-compact",
    "v4-goal",
    "v4-image",
    "v4-kill-tool-resumed",
    "v4-long-text",
    "v4-multi-turn",
    "v4-plan-mode",
    "v4-present",
    "v4-ptc",
    "v4-raw-jsonl",
    "v4-retry-500",
    "v4-sse-error",
    "v4-steer",
    "v4-subagent",
    "v4-thinking",
    "v4-todo",
    "v4-tool-error",
    "v4-tools-parallel",
    "v4-unicode",
];

#[test]
fn corpora() {
    let place = place(&CASES);
    let ids: BTreeMap<String, Vec<String>> =
        CASES.iter().map(|case| ((*case).to_owned(), ids(case))).collect();
    recall("corpora", &place, &ids);
}

/// The ids of the sessions of a case that are no subagents: the name of a folder is the id, as none of these needs another.
fn ids(case: &str) -> Vec<String> {
    let list = |folder: &Path| -> Vec<_> {
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let projects = list(&repository().join("corpora").join(case).join("home/sessions"));
    let sessions = projects.iter().flat_map(|project| list(project));
    let names = sessions.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned());
    names.filter(|name| !case.starts_with("v4") || name.starts_with("session-")).collect()
}
