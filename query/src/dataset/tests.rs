//! Data sets of logs that are made here, read back.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs::{self, File};

use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::file::metadata::KeyValue;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMillisecondType};
use arrow_array::{Array, RecordBatch};
use dshlog_codec::header::CwdRule;
use dshlog_codec::json::{Doc, Js};
use dshlog_codec::read::Mark;
use dshlog_codec::{Error as LogError, ErrorKind, Place};

use super::*;
use crate::corpus::{Look, Stamp};

const DAY: i64 = 86_400_000;

/// Logs in memory: path, header, rows, number of inherited events, and whether a fault stands behind them.
struct Made(Vec<Log>);

struct Log {
    path: PathBuf,
    header: String,
    rows: Vec<String>,
    inherited: u64,
    is_faulty: bool,
}

impl Log {
    /// A log with one event at each of these times.
    fn new(project: &str, id: &str, times: &[i64]) -> Log {
        let path = PathBuf::from(format!("/root/{project}/{id}/session.v4.jsonl"));
        let created = times.first().copied().unwrap_or_default();
        let header = format!(
            r#"{{"type":"session","version":4,"id":"{id}","createdAt":{created},"cwd":"/{project}","isSeeded":false,"delegationDepth":0}}"#
        );
        let row = |(seq, time)| {
            format!(r#"{{"type":"x/{id}","seq":{seq},"time":{time},"data":{{"text":"\ud83d of {id}"}}}}"#)
        };
        let rows = times.iter().enumerate().map(row).collect();
        Log { path, header, rows, inherited: 0, is_faulty: false }
    }

    fn child_of(mut self, parent: &str, inherited: u64) -> Log {
        let seeded = format!(r#""parentSession":"{parent}","isSeeded":true"#);
        self.header = self.header.replace(r#""isSeeded":false"#, &seeded);
        self.inherited = inherited;
        self
    }

    fn faulty(mut self) -> Log {
        self.is_faulty = true;
        self
    }
}

impl Made {
    fn log(&self, candidate: &Candidate) -> &Log {
        self.0.iter().find(|log| log.path == candidate.path).unwrap()
    }
}

fn fault() -> LogError {
    ErrorKind::NotFound.into()
}

impl Corpus for Made {
    fn root(&self) -> &Path {
        Path::new("/root")
    }

    fn list(&self) -> Listing {
        let candidate =
            |log: &Log| Candidate { path: log.path.clone(), entry: None, stamp: Stamp::default() };
        Listing { candidates: self.0.iter().map(candidate).collect(), ..Listing::default() }
    }

    fn header(&self, candidate: &Candidate) -> dshlog_codec::Result<Header> {
        Header::parse(&self.log(candidate).header, CwdRule::Posix).map_err(|_| fault())
    }

    fn read(
        &self,
        candidate: &Candidate,
        _: Option<&Mark>,
        see: &mut dyn FnMut(&Event<'_>) -> ControlFlow<()>,
    ) -> Reading {
        let log = self.log(candidate);
        let mut replaces = false;
        for (line, row) in (2..).zip(&log.rows) {
            let doc = Doc::parse(row.as_str()).unwrap();
            let event = Event::from_row(doc.root(), Place { frame: 0, line, byte: 9 });
            replaces |= event.surface_op().is_some_and(Js::is_object);
            if see(&event).is_break() {
                break;
            }
        }
        Reading {
            header: self.header(candidate).ok(),
            replaces,
            inherited: log.inherited,
            fault: log.is_faulty.then(fault),
            ..Reading::default()
        }
    }

    fn look(&self, path: &Path, _: Option<&str>) -> Look {
        let found = self.list().candidates.into_iter().find(|candidate| candidate.path == path);
        found.map_or(Look::Gone, Look::There)
    }

    fn list_in(&self, _: &Path, _: &[PathBuf]) -> Listing {
        self.list()
    }

    fn replaced(&self, _: &Candidate) -> Vec<Replaced> {
        vec![Replaced { seq: dshlog_codec::Seq(0), by: dshlog_codec::Seq(1) }]
    }
}

/// The data set of these logs, in a folder of its own.
fn written(logs: Vec<Log>, budget: usize) -> (tempfile::TempDir, Manifest) {
    let (place, made) = (tempfile::tempdir().unwrap(), Made(logs));
    let options = Options { form: Form::Parquet, budget, now: 5 };
    let manifest = write(&made, &made.list(), place.path(), &options, &mut |_| {}).unwrap();
    (place, manifest)
}

/// Files below a folder, by their names from there.
fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(folder).unwrap().display().to_string());
            }
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
    reader.build().unwrap().map(Result::unwrap).collect()
}

/// `session seq` of all events, by file.
fn events(place: &Path) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    for file in files(place).into_iter().filter(|file| file.starts_with("events/")) {
        let mut rows = Vec::new();
        for batch in read(&place.join(&file)) {
            let sessions = batch.column_by_name("session").unwrap().as_string::<i32>().clone();
            let seqs = batch.column_by_name("seq").unwrap().as_primitive::<Int64Type>().clone();
            for row in 0..batch.num_rows() {
                rows.push(format!("{} {}", sessions.value(row), seqs.value(row)));
            }
        }
        found.insert(file.trim_start_matches("events/").to_owned(), rows);
    }
    found
}

fn all_events(place: &Path) -> Vec<String> {
    let mut all: Vec<String> = events(place).into_values().flatten().collect();
    all.sort();
    all
}

#[test]
fn partitions_are_projects_and_days() {
    let logs = vec![
        Log::new("b", "two", &[DAY, DAY + 1, 3 * DAY - 1]),
        Log::new("a", "one", &[0, DAY]),
        Log::new("b", "three", &[2 * DAY, 2 * DAY]),
    ];
    let (place, manifest) = written(logs, 1 << 20);
    let expected = [
        ("project=a/day=1970-01-01/part-0.parquet", vec!["one 0"]),
        ("project=a/day=1970-01-02/part-0.parquet", vec!["one 1"]),
        ("project=b/day=1970-01-02/part-0.parquet", vec!["two 0", "two 1"]),
        ("project=b/day=1970-01-03/part-0.parquet", vec!["two 2", "three 0", "three 1"]),
    ];
    let found = events(place.path());
    let found: Vec<(&str, Vec<&str>)> =
        found.iter().map(|(file, rows)| (file.as_str(), rows.iter().map(String::as_str).collect())).collect();
    assert_eq!(found, expected);
    assert_eq!(manifest.logs, Logs { whole: 3, ..Logs::default() });
    let counts: Vec<_> = manifest.tables.iter().map(|table| (table.name, table.rows, table.files)).collect();
    assert_eq!(counts, [("events", 7, 4), ("documents", 0, 1), ("sessions", 3, 1), ("replaced", 0, 1)]);
    let manifest: serde_json::Value =
        serde_json::from_slice(&fs::read(place.path().join(MANIFEST)).unwrap()).unwrap();
    assert_eq!(manifest["schema"], "dshlog.dataset/1");
    assert_eq!(manifest["tables"][0]["bytes"].as_u64(), {
        let size = |file: &String| fs::metadata(place.path().join("events").join(file)).unwrap().len();
        Some(events(place.path()).keys().map(size).sum())
    });
}

/// However little may be held, and however clocks went, the rows are the same.
#[test]
fn times_without_a_day_share_one_partition() {
    let times = [0, -100_000_000_000_000, 300_000_000_000_000, 1, -90_000_000_000_000];
    let (place, _) = written(vec![Log::new("p", "a", &times)], 1 << 20);
    let events = events(place.path());
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!(events["project=p/day=__HIVE_DEFAULT_PARTITION__/part-0.parquet"].len(), 3, "{events:?}");
}

#[test]
fn memory_is_bounded_and_rows_are_not_lost() {
    let logs = || {
        let times = |from: i64| (0..15).map(|at| from + (at * 7 % 5) * DAY).collect::<Vec<_>>();
        ["x", "y", "z"].iter().map(|id| Log::new("p", id, &times(DAY))).collect::<Vec<_>>()
    };
    let (ample, _) = written(logs(), 1 << 30);
    let (again, _) = written(logs(), 1 << 30);
    for file in files(ample.path()) {
        let bytes = |place: &Path| fs::read(place.join(&file)).unwrap();
        assert!(bytes(ample.path()) == bytes(again.path()), "{file} is the same each time");
    }
    let expected = all_events(ample.path());
    assert_eq!(expected.len(), 45);
    let mut counts = Vec::new();
    for budget in [0, 1 << 10, 1 << 12] {
        let (place, manifest) = written(logs(), budget);
        assert_eq!(all_events(place.path()), expected, "{budget}");
        assert_eq!(manifest.tables[0].rows, 45);
        counts.push(manifest.tables[0].files);
    }
    assert_eq!(counts[0], 45, "nothing is held");
    assert!(counts.is_sorted_by(|a, b| a > b), "{counts:?}");
    assert_eq!(files(&ample.path().join("events")).len(), 5, "a file a day");
}

#[test]
fn what_a_fork_took_over_is_written_once() {
    let parent = || Log::new("p", "parent", &[1, 2, 3]);
    let child = || Log::new("p", "child", &[1, 2, 4]).child_of("parent", 2);
    let whole = ["child 2", "parent 0", "parent 1", "parent 2"];
    let twice = ["child 0", "child 1", "child 2"];
    let with_parent = ["child 0", "child 1", "child 2", "parent 0", "parent 1", "parent 2"];
    for (logs, expected, copied) in [
        (vec![parent(), child()], &whole[..], 2),
        // Wherever it stands.
        (vec![child(), parent()], &whole[..], 2),
        (vec![child()], &twice[..], 0),
        (vec![child(), parent().faulty()], &with_parent[..], 0),
        (vec![child(), parent().child_of("child", 1)], &with_parent[..], 0),
        (vec![parent().child_of("parent", 3)], &["parent 0", "parent 1", "parent 2"][..], 0),
    ] {
        let (place, manifest) = written(logs, 1 << 20);
        assert_eq!(all_events(place.path()), expected);
        assert_eq!(manifest.logs.copied_events, copied);
    }
}

#[test]
fn a_fault_is_named_and_what_stands_before_it_is_taken() {
    let mut unreadable = Log::new("p", "gone", &[1]);
    unreadable.header = "{}".to_owned();
    let (place, manifest) = written(vec![Log::new("p", "torn", &[1, 2]).faulty(), unreadable], 1 << 20);
    assert_eq!(all_events(place.path()), ["torn 0", "torn 1"]);
    let told: Vec<_> =
        manifest.faults.iter().map(|fault| (fault.path.as_str(), fault.status, fault.code)).collect();
    assert_eq!(
        told,
        [
            ("/root/p/gone/session.v4.jsonl", "unreadable", "not-found"),
            ("/root/p/torn/session.v4.jsonl", "partial", "not-found"),
        ]
    );
    assert_eq!(manifest.logs, Logs { partial: 1, unreadable: 1, ..Logs::default() });
    assert!(!manifest.is_whole());
}

#[test]
fn values_are_those_of_the_event() {
    let mut log = Log::new("p", "s", &[1]);
    log.rows = vec![
        r#"{"type":"turn/start","seq":0,"time":-1,"data":{"turn":1}}"#.to_owned(),
        r#"{"type":"user/message","seq":1,"time":-2,"data":{"b":"\ud83d","2":1.0,"1":"é"},"surfaceOp":{"op":"replace","startSeq":4,"endSeq":6},"ignorable":true}"#.to_owned(),
        r#"{"type":"turn/end","seq":2,"time":-3,"data":{"turn":1}}"#.to_owned(),
        r#"{"type":"x","seq":3,"time":-4,"data":null,"sourceEventSeqs":[[0,1],2],"surfaceOp":"append"}"#.to_owned(),
    ];
    let (place, _) = written(vec![log], 1 << 20);
    let batches = read(&place.path().join("events/project=p/day=1969-12-31/part-0.parquet"));
    let [batch] = &batches[..] else { panic!("one batch") };
    let text = |name: &str, row: usize| {
        let column = batch.column_by_name(name).unwrap().as_string::<i32>();
        column.is_valid(row).then(|| column.value(row).to_owned())
    };
    let number = |name: &str, row: usize| {
        let column = batch.column_by_name(name).unwrap().as_primitive::<Int64Type>();
        column.is_valid(row).then(|| column.value(row))
    };
    // As JavaScript prints it: integers first, in their order; half of a pair as an escape.
    assert_eq!(text("payload", 1).unwrap(), r#"{"1":"é","2":1,"b":"\ud83d"}"#);
    assert_eq!(text("payload", 3).unwrap(), "null");
    let ops = [0, 1, 2, 3].map(|row| text("surface_op", row));
    assert_eq!(ops, [None, Some("replace".to_owned()), None, Some("append".to_owned())]);
    assert_eq!((number("replace_start", 1), number("replace_end", 1)), (Some(4), Some(6)));
    assert_eq!([0, 1, 2, 3].map(|row| number("turn", row)), [Some(1), Some(1), Some(1), None]);
    assert_eq!((number("frame", 1), number("line", 1), number("byte", 1)), (None, Some(3), Some(9)));
    let time = batch.column_by_name("time").unwrap().as_primitive::<TimestampMillisecondType>();
    assert_eq!((time.value(1), time.timezone()), (-2, Some("UTC")));
    let flags = batch.column_by_name("is_ignorable").unwrap().as_boolean();
    assert_eq!([0, 1].map(|row| flags.value(row)), [false, true]);
    let sources = batch.column_by_name("source_seqs").unwrap().as_list::<i32>();
    assert!(sources.is_null(1));
    let sources = sources.value(3);
    let bound = |at: usize| {
        sources
            .as_struct()
            .column(at)
            .as_primitive::<Int64Type>()
            .values()
            .iter()
            .copied()
            .collect::<Vec<_>>()
    };
    assert_eq!((bound(0), bound(1)), (vec![0, 2], vec![1, 2]));
    let replaced = read(&place.path().join("replaced/part-0.parquet"));
    assert_eq!(replaced.iter().map(RecordBatch::num_rows).sum::<usize>(), 1);
}

#[test]
fn files_say_what_they_are() {
    let (place, _) = written(vec![Log::new("p", "s", &[1])], 1 << 20);
    for table in ["events/project=p/day=1970-01-01", "sessions"] {
        let file = File::open(place.path().join(table).join("part-0.parquet")).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let metadata = reader.metadata().file_metadata().key_value_metadata().unwrap().clone();
        let name = table.split('/').next().unwrap();
        let expected = [("dshlog.dataset", SCHEMA), ("dshlog.table", name)]
            .map(|(key, value)| KeyValue::new(key.to_owned(), value.to_owned()));
        assert_eq!(metadata, expected);
    }
}

/// Without a manifest there is no data set, and nothing that has to be cleaned up.
#[test]
fn a_failure_leaves_nothing_behind() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().join("out");
    let made = Made(vec![Log::new("p", "s", &[1])]);
    // A name that no file system takes.
    let long = Made(vec![Log::new(&"x".repeat(300), "s", &[1])]);
    let options = Options { form: Form::Parquet, budget: 0, now: 0 };
    assert!(write(&long, &long.list(), &out, &options, &mut |_| {}).is_err());
    assert!(!out.exists());
    write(&made, &made.list(), &out, &options, &mut |_| {}).unwrap();
    assert!(matches!(
        write(&made, &made.list(), &out, &options, &mut |_| {}),
        Err(crate::Error::Occupied(_))
    ));
    assert!(out.join(MANIFEST).exists());
}

fn document(seq: u64, text: &str) -> Document {
    Document {
        seq: dshlog_codec::Seq(seq),
        nth: 1,
        part: crate::Part::Result,
        time: dshlog_codec::Millis(DAY + 1),
        turn: Some(2),
        step: None,
        tool: Some("bash".to_owned()),
        model: None,
        is_error: true,
        has_image: false,
        has_file: true,
        is_inherited: false,
        text: text.to_owned(),
    }
}

fn facts() -> Facts {
    let log = Log::new("p", "s", &[7]);
    let header = Header::parse(&log.header, CwdRule::Posix).unwrap();
    let candidate = Candidate { path: log.path, entry: None, stamp: Stamp::default() };
    Facts::new(&candidate, &header, "p")
}

#[test]
fn a_document_as_a_row() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::create(place.path()).unwrap();
    let mut tables = parquet::Tables::new(&folder, 1 << 20);
    tables.begin(&facts()).unwrap();
    tables.document(&facts(), &document(3, "échec\n🎉")).unwrap();
    tables.finish().unwrap();
    let batches = read(&place.path().join("documents/project=p/day=1970-01-02/part-0.parquet"));
    let [batch] = &batches[..] else { panic!("one batch") };
    let text = |name: &str| {
        let column = batch.column_by_name(name).unwrap().as_string::<i32>();
        column.is_valid(0).then(|| column.value(0).to_owned())
    };
    let texts = ["session", "part", "role", "tool", "model", "text", "cwd"].map(text);
    let expected =
        [Some("s"), Some("result"), Some("tool"), Some("bash"), None, Some("échec\n🎉"), Some("/p")];
    assert_eq!(texts, expected.map(|text| text.map(str::to_owned)));
    let number = |name: &str| {
        let column = batch.column_by_name(name).unwrap().as_primitive::<Int64Type>();
        column.is_valid(0).then(|| column.value(0))
    };
    let numbers = ["seq", "nth", "turn", "step", "generation"].map(number);
    assert_eq!(numbers, [Some(3), Some(1), Some(2), None, Some(4)]);
    let flag = |name: &str| batch.column_by_name(name).unwrap().as_boolean().value(0);
    let flags = ["is_error", "has_image", "has_file", "is_inherited", "is_seeded"].map(flag);
    assert_eq!(flags, [true, false, true, false, false]);
    let time =
        |name: &str| batch.column_by_name(name).unwrap().as_primitive::<TimestampMillisecondType>().value(0);
    assert_eq!((time("time"), time("created")), (DAY + 1, 7));
}

#[test]
fn lines_end_up_in_bounded_files() {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::create(place.path()).unwrap();
    let mut lines = quickwit::Lines::new(&folder, 1000).unwrap();
    for seq in 0..20 {
        lines.document(&facts(), &document(seq, "a \"quoted\"\ntext")).unwrap();
    }
    let count = lines.finish().unwrap();
    let mut seqs = Vec::new();
    let mut bytes = 0;
    for file in 0..count[0].files {
        let text = fs::read_to_string(place.path().join(format!("documents-{file}.ndjson"))).unwrap();
        bytes += text.len() as u64;
        let longest = text.lines().map(str::len).max().unwrap() + 1;
        assert!(text.len() <= 1000 + longest, "{}", text.len());
        for line in text.lines() {
            let document: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(document["text"], "a \"quoted\"\ntext");
            assert_eq!(document["time"], "1970-01-02T00:00:00.001Z");
            assert_eq!((document.get("model"), &document["tool"]), (None, &"bash".into()));
            seqs.push(document["seq"].as_u64().unwrap());
        }
    }
    assert_eq!(seqs, (0..20).collect::<Vec<_>>());
    assert_eq!((count[0].rows, count[0].bytes), (20, bytes));
    assert!(count[0].files > 2);
    assert!(fs::read_to_string(place.path().join(QUICKWIT_CONFIG)).unwrap().contains(QUICKWIT_INDEX));
}
