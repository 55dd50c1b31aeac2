//! `dshlog export --all`.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMillisecondType};
use arrow_array::{Array, RecordBatch};
use dshlog_codec::json::{Doc, Js, print};
use dshlog_codec::{Event, Place as At};
use dshlog_tests::cmd::Place;
use dshlog_tests::model::{repository, skip};
use insta::assert_snapshot;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

use crate::place;

/// Logs of all generations, forks with their parents, compactions, failures, texts of many alphabets.
const CASES: [&str; 14] = [
    "v4-compact",
    "v4-fork",
    "v3-fork",
    "v4-tools-parallel",
    "v4-tool-error",
    "v4-unicode",
    "v4-image",
    "v4-todo",
    "v4-retry-500",
    "v3-unicode",
    "v2-0.1.2a3-store-fork",
    "v0-0.1.0rc7-lone-surrogate",
    "v0-0.1.0rc6-bash-echo",
    "v4-wire-subagent-fork",
];

/// A home with these cases, and its data set.
fn exported(cases: &[&str], format: &str) -> (Place, PathBuf, Value) {
    let place = place(cases);
    let told = place.told(&["export", "--all", "--format", format, "--out", "set"]);
    let folder = place.path().join("set");
    let manifest = fs::read(folder.join("_dshlog.json")).unwrap_or_else(|_| panic!("{told}"));
    (place, folder, serde_json::from_slice(&manifest).unwrap())
}

/// All rows of a table; those of a file stay together.
fn rows(folder: &Path, table: &str) -> Vec<RecordBatch> {
    let mut batches = Vec::new();
    let mut folders = vec![folder.join(table)];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
                batches.extend(reader.build().unwrap().map(Result::unwrap));
            }
        }
    }
    batches
}

fn text(batch: &RecordBatch, name: &str, row: usize) -> Option<String> {
    let column = batch.column_by_name(name).unwrap().as_string::<i32>();
    column.is_valid(row).then(|| column.value(row).to_owned())
}

fn number(batch: &RecordBatch, name: &str, row: usize) -> Option<i64> {
    let column = batch.column_by_name(name).unwrap().as_primitive::<Int64Type>();
    column.is_valid(row).then(|| column.value(row))
}

fn flag(batch: &RecordBatch, name: &str, row: usize) -> bool {
    batch.column_by_name(name).unwrap().as_boolean().value(row)
}

/// What a row of `events` says, as far as `read --events` says it too.
type Told = (String, i64, Option<String>, Option<String>, Vec<i64>, bool);

fn told_by_table(batch: &RecordBatch, row: usize) -> Told {
    let time = batch.column_by_name("time").unwrap().as_primitive::<TimestampMillisecondType>().value(row);
    let op = text(batch, "surface_op", row).map(|op| match op.as_str() {
        "replace" => {
            let bound = |name| number(batch, name, row).unwrap();
            format!(
                r#"{{"op":"replace","startSeq":{},"endSeq":{}}}"#,
                bound("replace_start"),
                bound("replace_end")
            )
        }
        other => format!("\"{other}\""),
    });
    let sources = batch.column_by_name("source_seqs").unwrap().as_list::<i32>();
    let mut seqs = Vec::new();
    if sources.is_valid(row) {
        let ranges = sources.value(row);
        let bound = |at: usize| ranges.as_struct().column(at).as_primitive::<Int64Type>().clone();
        let (first, last) = (bound(0), bound(1));
        for range in 0..ranges.len() {
            seqs.extend(first.value(range)..=last.value(range));
        }
    }
    let kind = text(batch, "type", row).unwrap();
    (kind, time, text(batch, "payload", row), op, seqs, flag(batch, "is_ignorable", row))
}

fn told_by_read(line: &str) -> (i64, Told) {
    let doc = Doc::parse(line).unwrap();
    let event = Event::from_row(doc.root(), At::default());
    let printed = |value| {
        let mut text = Vec::new();
        print(&mut text, value);
        String::from_utf8(text).unwrap()
    };
    let seqs = event.source_seqs().into_iter().flat_map(Js::elements);
    let told = (
        event.kind.to_lossy().into_owned(),
        event.time.0,
        event.data.map(printed),
        event.surface_op().map(printed),
        seqs.map(|seq| seq.as_safe_integer().unwrap()).collect(),
        event.ignorable,
    );
    (i64::try_from(event.seq.0).unwrap(), told)
}

/// The table of events is what `read --events` prints of each log, and what a fork shares stands under its parent.
#[test]
fn events_are_those_that_read_prints() {
    let (place, folder, manifest) = exported(&CASES, "parquet");
    let mut table: BTreeMap<(String, i64), Told> = BTreeMap::new();
    for batch in rows(&folder, "events") {
        for row in 0..batch.num_rows() {
            let key = (text(&batch, "session", row).unwrap(), number(&batch, "seq", row).unwrap());
            assert!(!flag(&batch, "is_inherited", row), "{key:?}: all parents are here");
            assert!(
                table.insert(key.clone(), told_by_table(&batch, row)).is_none(),
                "{key:?} is there twice"
            );
        }
    }
    let (mut compared, mut copied) = (0, 0);
    for batch in rows(&folder, "sessions") {
        for row in 0..batch.num_rows() {
            let id = text(&batch, "session", row).unwrap();
            let (inherited, parent) =
                (number(&batch, "inherited", row).unwrap(), text(&batch, "parent", row));
            let output = place.run(&["read", &text(&batch, "path", row).unwrap(), "--events"]);
            let lines = String::from_utf8(output.stdout).unwrap();
            for (seq, told) in lines.lines().filter(|line| line.contains("\"seq\":")).map(told_by_read) {
                let own = table.remove(&(id.clone(), seq));
                if seq < inherited {
                    // Seqs of a copy are those of the parent.
                    assert!(own.is_none() && parent.is_some(), "{id} {seq}");
                    copied += 1;
                } else {
                    assert_eq!(own.as_ref(), Some(&told), "{id} {seq}");
                    compared += 1;
                }
            }
        }
    }
    assert!(table.is_empty(), "of no session: {:?}", table.keys().next());
    assert!(compared > 300 && copied > 20, "{compared} {copied}");
    assert_eq!(manifest["tables"][0]["rows"], compared);
    assert_eq!(manifest["logs"]["copiedEvents"], copied);
    assert_eq!(manifest["faults"], json!([]));
}

/// Where a data set may lie, and what it says of what it lacks.
#[test]
fn places_and_faults() {
    let place = place(&[
        "v4-multi-turn",
        "v4-torn-raw-torn",
        "broken-v0-raw-future-version-a",
        "broken-z-bad-magic-middle",
    ]);
    fs::create_dir(place.path().join("full")).unwrap();
    fs::write(place.path().join("full/file"), "").unwrap();
    let told: String = [
        &["export", "--all", "--format", "parquet", "--out", "full"][..],
        &["export", "--all", "--format", "parquet", "--out", "no/where"],
        &["export", "--all", "--format", "parquet", "--out", "home/sessions/set"],
        &["export", "--all", "--format", "parquet", "--out", "-"],
        &["export", "--all", "--format", "parquet"],
        &["export", "--all", "--format", "html", "--out", "set"],
        &["export", "--all", "latest", "--out", "set"],
        &["export", "latest", "--format", "parquet"],
        &["export"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("places", told);
    assert!(!place.path().join("set").exists() && !place.home().join("sessions/set").exists());
    let told = place.told(&["export", "--all", "--format", "parquet", "--out", "set"]);
    let manifest: Value =
        serde_json::from_slice(&fs::read(place.path().join("set/_dshlog.json")).unwrap()).unwrap();
    let names = |list: &Value| -> BTreeSet<String> {
        let status = |fault: &Value| fault["status"].as_str().unwrap().to_owned();
        list.as_array().unwrap().iter().map(status).collect()
    };
    assert_eq!(names(&manifest["faults"]), ["partial", "unreadable"].map(str::to_owned).into(), "{told}");
    assert!(told.ends_with("[1]\n"), "{told}");
    for fault in manifest["faults"].as_array().unwrap() {
        let path = place.redacted(fault["path"].as_str().unwrap());
        assert!(told.contains(&path) && told.contains(fault["reason"].as_str().unwrap()), "{told}");
    }
}

/// Texts are made of events by what search makes them of; nothing, visibly, as long as that makes none.
fn has_documents(manifest: &Value, table: usize) -> bool {
    let has = manifest["tables"][table]["rows"] != 0;
    if !has {
        skip("no document is made of these logs");
    }
    has
}

/// The mapping of the index: type, and the rest, of each field.
fn mapping(config: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let fields = config.split("field_mappings:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let mut mapping: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    let mut name = String::new();
    for line in fields.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let (key, value) = line.trim_start_matches("- ").split_once(": ").unwrap();
        if key == "name" {
            value.clone_into(&mut name);
            assert!(mapping.insert(name.clone(), BTreeMap::new()).is_none(), "{name} is there twice");
        } else {
            mapping.get_mut(&name).unwrap().insert(key.to_owned(), value.to_owned());
        }
    }
    mapping
}

/// Why Quickwit would refuse a document, in its mode `strict`.
fn fault_of(document: &Value, mapping: &BTreeMap<String, BTreeMap<String, String>>) -> Option<String> {
    for (name, value) in document.as_object()? {
        let Some(field) = mapping.get(name) else { return Some(format!("{name} is not mapped")) };
        let is_valid = match field.get("type").map(String::as_str) {
            Some("text") => value.is_string(),
            Some("u64") => value.is_u64(),
            Some("bool") => value.is_boolean(),
            Some("datetime") => {
                assert_eq!(field["input_formats"], "[rfc3339]");
                value
                    .as_str()
                    .is_some_and(|text| text.ends_with('Z') && text.parse::<jiff::Timestamp>().is_ok())
            }
            // Made of others, never given.
            _ => false,
        };
        if !is_valid {
            return Some(format!("{name} is {value}"));
        }
    }
    document.get("time").is_none().then(|| "no time".to_owned())
}

/// What a row of `documents` and a line for Quickwit have in common.
type Text = (String, i64, i64, String, String, Option<i64>, Option<String>, String);

#[test]
fn quickwit_takes_every_document() {
    let (_place, folder, manifest) = exported(&CASES, "quickwit");
    if !has_documents(&manifest, 0) {
        return;
    }
    let config = fs::read_to_string(folder.join("index-config.yaml")).unwrap();
    let mapping = mapping(&config);
    // As Quickwit asks of field names, and of fields that are named elsewhere.
    for (name, field) in &mapping {
        assert!(
            name.chars().all(|c| c.is_ascii_lowercase() || c == '_') && field.contains_key("type"),
            "{name}"
        );
    }
    for named in ["time", "project", "part", "text", "code"] {
        assert!(mapping.contains_key(named), "{named}");
    }
    assert_eq!(mapping["time"]["fast"], "true");
    for tag in ["project", "part"] {
        assert_eq!((mapping[tag]["type"].as_str(), mapping[tag]["tokenizer"].as_str()), ("text", "raw"));
    }
    let mut lines: Vec<Text> = Vec::new();
    let mut seen = BTreeSet::new();
    for file in 0..manifest["tables"][0]["files"].as_u64().unwrap() {
        let ndjson = fs::read_to_string(folder.join(format!("documents-{file}.ndjson"))).unwrap();
        for line in ndjson.lines() {
            let document: Value = serde_json::from_str(line).unwrap();
            assert_eq!(fault_of(&document, &mapping), None, "{line}");
            seen.extend(document.as_object().unwrap().keys().cloned());
            let text = |name: &str| document[name].as_str().map(str::to_owned);
            let number = |name: &str| document[name].as_i64();
            lines.push((
                text("session").unwrap(),
                number("seq").unwrap(),
                number("nth").unwrap(),
                text("part").unwrap(),
                text("role").unwrap(),
                number("turn"),
                text("tool"),
                text("text").unwrap(),
            ));
        }
    }
    assert_eq!(manifest["tables"][0]["rows"], lines.len());
    // What the mapping refuses.
    for (document, fault) in [
        (json!({"time": "2026-12-01T00:00:00Z", "other": 1}), "other is not mapped"),
        (json!({"time": 5}), "time is 5"),
        (json!({"time": "2026-12-01T00:00:00Z", "seq": -1}), "seq is -1"),
        (json!({"time": "2026-12-01T00:00:00Z", "code": "x"}), "code is \"x\""),
        (json!({"seq": 1}), "no time"),
    ] {
        assert_eq!(fault_of(&document, &mapping).as_deref(), Some(fault));
    }

    let (_place, folder, _) = exported(&CASES, "parquet");
    let mut table: Vec<Text> = Vec::new();
    for batch in rows(&folder, "documents") {
        for row in 0..batch.num_rows() {
            table.push((
                text(&batch, "session", row).unwrap(),
                number(&batch, "seq", row).unwrap(),
                number(&batch, "nth", row).unwrap(),
                text(&batch, "part", row).unwrap(),
                text(&batch, "role", row).unwrap(),
                number(&batch, "turn", row),
                text(&batch, "tool", row),
                text(&batch, "text", row).unwrap(),
            ));
        }
    }
    lines.sort();
    table.sort();
    assert_eq!(lines, table);
    assert!(lines.len() > 100, "{}", lines.len());
    let never: Vec<&String> =
        mapping.keys().filter(|name| !seen.contains(*name) && *name != "code").collect();
    assert_eq!(never, [] as [&String; 0], "mapped, and in no document");
}

/// The Python that `tests/setup/python.sh` made; nothing, visibly, where there is none.
fn python() -> Option<OsString> {
    let python = std::env::var_os("DSHLOG_PYTHON").filter(|python| !python.is_empty());
    if python.is_none() {
        skip("DSHLOG_PYTHON names no Python with DuckDB; tests/setup/python.sh makes one");
    }
    python
}

/// What an engine answers to these queries.
fn answers(python: &OsString, engine: &str, folder: &Path, queries: &[String]) -> Vec<Value> {
    let mut child = Command::new(python)
        .arg(repository().join("tests/setup/engine.py"))
        .args([engine.as_ref(), folder.as_os_str()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&serde_json::to_vec(queries).unwrap()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{engine}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A document, as far as the queries below ask.
struct Row {
    session: String,
    seq: i64,
    nth: i64,
    part: String,
    role: String,
    tool: Option<String>,
    is_error: bool,
    has_image: bool,
    generation: i64,
    text: String,
}

fn documents(folder: &Path) -> Vec<Row> {
    let mut documents = Vec::new();
    for batch in rows(folder, "documents") {
        for row in 0..batch.num_rows() {
            documents.push(Row {
                session: text(&batch, "session", row).unwrap(),
                seq: number(&batch, "seq", row).unwrap(),
                nth: number(&batch, "nth", row).unwrap(),
                part: text(&batch, "part", row).unwrap(),
                role: text(&batch, "role", row).unwrap(),
                tool: text(&batch, "tool", row),
                is_error: flag(&batch, "is_error", row),
                has_image: flag(&batch, "has_image", row),
                generation: number(&batch, "generation", row).unwrap(),
                text: text(&batch, "text", row).unwrap(),
            });
        }
    }
    documents
}

/// The same question to an engine, to Rust, and to `dshlog search`: a condition on `documents`, what it means, and the query
/// for it where there is one.
type Question = (&'static str, fn(&Row) -> bool, Option<&'static str>);

const QUESTIONS: [Question; 13] = [
    ("role = 'user'", |row| row.role == "user", Some("role:user")),
    ("tool = 'bash'", |row| row.tool.as_deref() == Some("bash"), Some("tool:bash")),
    ("is_error", |row| row.is_error, Some("is:error")),
    ("has_image", |row| row.has_image, Some("has:image")),
    (
        "part = 'reasoning' AND generation = 4",
        |row| row.part == "reasoning" && row.generation == 4,
        Some("in:reasoning generation:4"),
    ),
    (
        "part IN ('call', 'result') AND contains(text, 'echo')",
        |row| ["call", "result"].contains(&&*row.part) && row.text.contains("echo"),
        Some("in:call,result /echo/"),
    ),
    ("contains(lower(text), 'subagent')", |row| row.text.to_lowercase().contains("subagent"), None),
    (
        "contains(text, 'started subagent')",
        |row| row.text.contains("started subagent"),
        Some("\"started subagent\""),
    ),
    ("contains(text, '你好')", |row| row.text.contains("你好"), Some("你好")),
    ("contains(text, '🚀')", |row| row.text.contains('🚀'), Some("🚀")),
    ("contains(text, 'שלום')", |row| row.text.contains("שלום"), Some("שלום")),
    (
        "regexp_like(text, '[0-9a-f]{8}-[0-9a-f]{4}-')",
        |row| {
            let bytes = row.text.as_bytes();
            let is_hex = |bytes: &[u8]| bytes.iter().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(b));
            bytes
                .windows(14)
                .any(|at| is_hex(&at[..8]) && at[8] == b'-' && is_hex(&at[9..13]) && at[13] == b'-')
        },
        // In a query, letters of one case stand for both.
        None,
    ),
    ("length(text) > 400", |row| row.text.chars().count() > 400, None),
];

/// Session and seq of all that `dshlog search` finds; nothing, visibly, where it is no command.
fn searched(place: &Place, query: &str) -> Option<BTreeSet<(String, i64)>> {
    let output =
        place.run(&["search", query, "--scan", "--flat", "--limit", "10000", "--format", "json", "--quiet"]);
    if String::from_utf8_lossy(&output.stderr).contains("unrecognized subcommand") {
        skip("`search` is no command");
        return None;
    }
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let hit = |hit: &Value| (hit["session"]["id"].as_str().unwrap().to_owned(), hit["seq"].as_i64().unwrap());
    Some(document["hits"].as_array().unwrap().iter().map(hit).collect())
}

/// An engine finds in the files what was written into them.
fn ask(engine: &str) {
    let Some(python) = python() else { return };
    let (place, folder, manifest) = exported(&CASES, "parquet");
    if !has_documents(&manifest, 1) {
        return;
    }
    let table_counts = manifest["tables"].as_array().unwrap();
    let mut queries: Vec<String> = table_counts
        .iter()
        .map(|table| format!("SELECT count(*) FROM {}", table["name"].as_str().unwrap()))
        .collect();
    let select = |condition| format!("SELECT session, seq, nth FROM documents WHERE {condition}");
    queries.extend(QUESTIONS.iter().map(|(condition, _, _)| select(condition)));
    // Partitions are columns, and those of an event are those of its time.
    queries.push("SELECT count(*) FROM events WHERE CAST(day AS DATE) <> CAST(time AS DATE)".to_owned());
    queries.push("SELECT DISTINCT project FROM documents ORDER BY project".to_owned());
    queries.push("SELECT DISTINCT project FROM sessions WHERE documents > 0 ORDER BY project".to_owned());
    // Tables go together.
    queries.push(
        "SELECT count(*) FROM events LEFT JOIN sessions ON events.session = sessions.session WHERE sessions.session IS NULL"
            .to_owned(),
    );
    queries.push("SELECT sum(events), sum(documents) FROM sessions".to_owned());
    let mut answers = answers(&python, engine, &folder, &queries).into_iter();
    for table in table_counts {
        assert_eq!(answers.next().unwrap(), json!([[table["rows"]]]), "{table}");
    }
    let documents = documents(&folder);
    for (condition, is_meant, query) in QUESTIONS {
        let expected: BTreeSet<(String, i64, i64)> = documents
            .iter()
            .filter(|row| is_meant(row))
            .map(|row| (row.session.clone(), row.seq, row.nth))
            .collect();
        let found: BTreeSet<(String, i64, i64)> = serde_json::from_value(answers.next().unwrap()).unwrap();
        assert_eq!(found, expected, "{condition}");
        assert!(!expected.is_empty(), "nothing is asked for: {condition}");
        if let Some(hits) = query.and_then(|query| searched(&place, query)) {
            let found: BTreeSet<(String, i64)> =
                expected.into_iter().map(|(session, seq, _)| (session, seq)).collect();
            assert_eq!(hits, found, "{query:?} for {condition}");
        }
    }
    assert_eq!(answers.next().unwrap(), json!([[0]]));
    let projects = answers.next().unwrap();
    assert_eq!(projects, answers.next().unwrap());
    assert!(projects.as_array().unwrap().len() > 1);
    assert_eq!(answers.next().unwrap(), json!([[0]]));
    let sums = [&table_counts[0]["rows"], &table_counts[1]["rows"]];
    assert_eq!(answers.next().unwrap(), json!([sums]));
}

#[test]
fn duckdb_reads_it() {
    ask("duckdb");
}

/// What a page shows runs, over the data sets of two machines.
#[test]
fn the_sql_of_the_page_runs() {
    let Some(python) = python() else { return };
    let (_one, first, _) = exported(&CASES, "parquet");
    let (_other, second, _) = exported(&["v4-multi-turn", "v4-tool-error"], "parquet");
    let store = tempfile::tempdir().unwrap();
    fs::create_dir(store.path().join("store")).unwrap();
    for (host, folder) in [("one", first), ("other", second)] {
        fs::rename(folder, store.path().join(format!("store/host={host}"))).unwrap();
    }
    let page = fs::read_to_string(repository().join("docs/scale.md")).unwrap();
    let blocks = page.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    // Views come first, whatever is done with them stands above them on the page.
    let mut statements: Vec<String> =
        blocks.flat_map(|block| block.split(";\n")).map(str::to_owned).collect();
    statements.retain(|statement| !statement.trim().is_empty());
    statements.sort_by_key(|statement| !statement.contains("CREATE VIEW"));
    statements.push("SELECT DISTINCT host FROM events ORDER BY host".to_owned());
    let answers = answers(&python, "page", store.path(), &statements);
    assert!(statements.len() >= 8, "{}", statements.len());
    assert_eq!(answers.last(), Some(&json!([["one"], ["other"]])));
}

/// Half a minute, and some hundred megabytes of Spark: `tests/setup/python.sh DIR spark`.
#[test]
#[ignore = "needs Spark and half a minute"]
fn spark_reads_it() {
    ask("spark");
}
