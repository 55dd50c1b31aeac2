//! Scans of logs that are made here.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;

use dshlog_codec::header::CwdRule;
use dshlog_codec::json::Doc;
use dshlog_codec::read::Mark;
use dshlog_codec::{ErrorKind, Event, Place};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::*;
use crate::corpus::{Listing, Look, Reading, Replaced, Stamp};
use crate::index::{Index, Progress, Update, Wait};

const NOW: i64 = 1_700_000_000_000;

/// Logs in memory, and which of them were walked over.
#[derive(Default)]
struct Made {
    logs: Vec<Written>,
    walked: Mutex<Vec<PathBuf>>,
}

/// One of them.
struct Written {
    path: PathBuf,
    header: String,
    rows: Vec<String>,
    fault: Option<ErrorKind>,
}

impl Made {
    /// A log of session `id`, with these prompts.
    fn with(mut self, id: &str, prompts: &[&str]) -> Made {
        let header = format!(
            r#"{{"type":"session","version":4,"id":"{id}","createdAt":{NOW},"cwd":"/work","isSeeded":false,"delegationDepth":0}}"#
        );
        let row = |(seq, text): (usize, &&str)| {
            format!(
                r#"{{"type":"user/message","seq":{seq},"time":{NOW},"data":{{"source":{{"kind":"user"}},"content":[{{"type":"text","text":"{text}"}}]}}}}"#
            )
        };
        let rows = prompts.iter().enumerate().map(row).collect();
        let path = PathBuf::from(format!("/root/work/{id}/session.v4.jsonl"));
        self.logs.push(Written { path, header, rows, fault: None });
        self
    }

    /// The last log begins with its first event as a copy of one of `parent`.
    fn fork_of(mut self, parent: &str) -> Made {
        let last = self.logs.last_mut().unwrap();
        let seeded = format!(r#""parentSession":"{parent}","isSeeded":true"#);
        last.header = last.header.replace(r#""isSeeded":false"#, &seeded);
        let end = r#"{"type":"session/end-seed","seq":1,"time":0,"data":{"inherited":true}}"#.to_owned();
        last.rows.splice(1..2, [end]);
        self
    }

    /// The last log ends in a fault.
    fn broken(mut self, fault: ErrorKind) -> Made {
        self.logs.last_mut().unwrap().fault = Some(fault);
        self
    }

    /// The last log cannot be opened.
    fn refused(mut self) -> Made {
        let last = self.logs.last_mut().unwrap();
        (last.header, last.rows) = (String::new(), Vec::new());
        self.broken(ErrorKind::NotFound)
    }

    fn log(&self, candidate: &Candidate) -> &Written {
        self.logs.iter().find(|log| log.path == candidate.path).unwrap()
    }

    fn scan(&self, query: &str, options: &Options, jobs: usize) -> (Found, Vec<String>) {
        let mut told = Vec::new();
        let found = scan(self, &parsed(query), options, jobs, &mut |path, reason| {
            let id = path.parent().and_then(Path::file_name).unwrap().to_string_lossy();
            told.push(format!("{id}: {reason}"));
        });
        (found.unwrap(), told)
    }
}

impl Corpus for Made {
    fn root(&self) -> &Path {
        Path::new("/root")
    }

    fn list(&self) -> Listing {
        let candidate =
            |log: &Written| Candidate { path: log.path.clone(), entry: None, stamp: Stamp::default() };
        Listing { candidates: self.logs.iter().map(candidate).collect(), ..Listing::default() }
    }

    fn header(&self, candidate: &Candidate) -> dshlog_codec::Result<Header> {
        Header::parse(&self.log(candidate).header, CwdRule::Posix).map_err(|_| ErrorKind::NotFound.into())
    }

    fn read(
        &self,
        candidate: &Candidate,
        _: Option<&Mark>,
        see: &mut dyn FnMut(&Event<'_>) -> ControlFlow<()>,
    ) -> Reading {
        self.walked.lock().unwrap().push(candidate.path.clone());
        let log = self.log(candidate);
        for (line, row) in (2..).zip(&log.rows) {
            let doc = Doc::parse(row.as_str()).unwrap();
            if see(&Event::from_row(doc.root(), Place { frame: 0, line, byte: 9 })).is_break() {
                break;
            }
        }
        let fault = match &log.fault {
            Some(ErrorKind::TornTail { bytes }) => Some(ErrorKind::TornTail { bytes: *bytes }),
            Some(_) => Some(ErrorKind::NotFound),
            None => None,
        };
        Reading {
            header: self.header(candidate).ok(),
            fits: true,
            fault: fault.map(Into::into),
            ..Reading::default()
        }
    }

    fn replaced(&self, _: &Candidate) -> Vec<Replaced> {
        Vec::new()
    }

    fn look(&self, path: &Path, _: Option<&str>) -> Look {
        let found = self.list().candidates.into_iter().find(|candidate| candidate.path == path);
        found.map_or(Look::Gone, Look::There)
    }

    fn list_in(&self, _: &Path, _: &[PathBuf]) -> Listing {
        self.list()
    }
}

struct Silent;

impl Progress for Silent {
    fn begin(&self, _: u64, _: u64) {}
    fn advance(&self, _: u64) {}
    fn tell(&self, _: &str) {}
}

fn parsed(query: &str) -> Query {
    let now = Timestamp::from_millisecond(NOW).unwrap();
    Query::parse(query, now, &TimeZone::UTC).unwrap()
}

fn options() -> Options {
    Options { flat: true, limit: 100, offset: 0, sort: Sort::Relevance, now: NOW }
}

/// Session, seq, and the bits of the score: what two searches must agree on.
fn told(found: &Found) -> Vec<(String, u64, u32)> {
    let told = |hit: &Hit| (hit.session.id.clone(), hit.document.seq.0, hit.score.value.to_bits());
    found.hits.iter().map(told).collect()
}

fn places(found: &Found) -> Vec<String> {
    let mut places: Vec<_> =
        found.hits.iter().map(|hit| format!("{}#{}", hit.session.id, hit.document.seq)).collect();
    places.sort();
    places
}

#[test]
fn a_broken_log_is_searched_up_to_its_fault() {
    let made = Made::default()
        .with("a", &["login fails"])
        .with("b", &["login works"])
        .broken(ErrorKind::TornTail { bytes: 7 })
        .with("c", &["login"])
        .refused()
        .with("d", &["nothing", "login"]);
    let (found, partial) = made.scan("login", &options(), 1);
    assert_eq!(places(&found), ["a#0", "b#0", "d#1"]);
    assert_eq!((found.documents, found.sessions), (3, 3));
    let reasons: Vec<_> = partial.iter().map(|told| told.split(':').next().unwrap()).collect();
    assert_eq!(reasons, ["b", "c"], "{partial:?}");
    assert_eq!(places(&made.scan("login is:partial", &options(), 1).0), ["b#0"]);
    assert_eq!(places(&made.scan("login -is:partial", &options(), 1).0), ["a#0", "d#1"]);
}

/// How rare a word is is known when all logs were read, so a filter by session saves none of them.
#[test]
fn a_filter_by_session_does_not_change_how_rare_a_word_is() {
    let made = Made::default().with("a", &["login", "login"]).with("b", &["login and logout"]);
    let alone = |query: &str| {
        let found = made.scan(query, &options(), 1).0;
        found.hits.iter().find(|hit| hit.session.id == "b").unwrap().score
    };
    assert_eq!(alone("login session:b"), alone("login"));
}

#[test]
fn each_log_is_read_once_and_those_with_hits_once_more() {
    let made = Made::default().with("a", &["login"]).with("b", &["logout"]);
    made.scan("login", &options(), 2);
    let mut times: BTreeMap<PathBuf, u32> = BTreeMap::new();
    for path in made.walked.lock().unwrap().iter() {
        *times.entry(path.clone()).or_default() += 1;
    }
    assert_eq!(times.into_values().collect::<Vec<_>>(), [2, 1]);
}

fn many() -> Made {
    let words = ["login", "logout", "登录 login", "login login and much more of it", "café login", "x"];
    (0..30).fold(Made::default(), |made, at: usize| {
        let word = |step: usize| words.get((at * step) % words.len()).copied().unwrap();
        made.with(&format!("s{at:02}"), &[word(1), word(5), word(7)])
    })
}

/// Nobody writes such logs, but an update over what has not changed must not change what is found.
#[test]
fn logs_that_name_each_other_as_parent_keep_their_texts() {
    let made = Made::default()
        .with("a", &["login", "", "login again"])
        .fork_of("b")
        .with("b", &["login", "", "login again"])
        .fork_of("a");
    let folder = tempfile::tempdir().unwrap();
    let scanned = made.scan("login", &options(), 1).0;
    assert_eq!(places(&scanned), ["a#0", "a#2", "b#0", "b#2"]);
    for _ in 0..2 {
        Update::open(folder.path(), Wait::No, &Silent).unwrap().run(&made, 1, &Silent).unwrap();
        let index = Index::open(folder.path()).unwrap();
        assert_eq!(told(&index.search(&parsed("login"), &options()).unwrap()), told(&scanned));
    }
}

#[test]
fn threads_change_nothing() {
    let made = many();
    for query in ["login", "login OR 登录", "logout -login", "/log.n/", "log* is:partial"] {
        let one = made.scan(query, &options(), 1);
        let four = made.scan(query, &options(), 4);
        assert_eq!((told(&one.0), &one.1), (told(&four.0), &four.1), "{query}");
    }
}

#[test]
fn pages_are_those_of_the_index() {
    let made = many();
    let folder = tempfile::tempdir().unwrap();
    Update::open(folder.path(), Wait::No, &Silent).unwrap().run(&made, 1, &Silent).unwrap();
    let index = Index::open(folder.path()).unwrap();
    for flat in [true, false] {
        for sort in [Sort::Relevance, Sort::Time] {
            let mut offset = 0;
            loop {
                let options = Options { flat, sort, limit: 7, offset, ..options() };
                let found = index.search(&parsed("login OR 登录"), &options).unwrap();
                let (scanned, _) = made.scan("login OR 登录", &options, 2);
                assert_eq!(told(&scanned), told(&found), "{options:?}");
                assert_eq!((scanned.documents, scanned.sessions), (found.documents, found.sessions));
                if found.hits.is_empty() {
                    break;
                }
                offset += 7;
            }
            assert!(offset > 14, "there were pages");
        }
    }
}

#[test]
fn copied_folders_stand_in_one_order() {
    // The same session three times, in an order that is not that of their paths.
    let mut made = Made::default();
    for folder in ["c", "a", "b"] {
        made = made.with("same", &["word", "word"]);
        made.logs.last_mut().unwrap().path = PathBuf::from(format!("/root/{folder}/same/session.v4.jsonl"));
    }
    for sort in [Sort::Relevance, Sort::Time] {
        for flat in [true, false] {
            let options = Options { flat, sort, ..options() };
            let paths = |found: &Found| -> Vec<PathBuf> {
                found.hits.iter().map(|hit| hit.session.path.clone()).collect()
            };
            let scanned = paths(&made.scan("word", &options, 1).0);
            let folder = tempfile::tempdir().unwrap();
            Update::open(folder.path(), Wait::No, &Silent).unwrap().run(&made, 1, &Silent).unwrap();
            let indexed = Index::open(folder.path()).unwrap().search(&parsed("word"), &options).unwrap();
            assert!(scanned.is_sorted() && scanned.len() == if flat { 6 } else { 3 }, "{scanned:?}");
            assert_eq!(paths(&indexed), scanned);
        }
    }
}

#[test]
fn a_turn_of_nought_is_none() {
    let mut made = Made::default().with("s", &["word"]);
    let begin = format!(r#"{{"type":"step/start","seq":1,"time":{NOW},"data":{{"turn":0,"step":0}}}}"#);
    made.logs[0].rows.insert(0, begin);
    let found = made.scan("word", &options(), 1).0;
    assert_eq!((found.hits[0].document.turn, found.hits[0].document.step), (None, None));
}
