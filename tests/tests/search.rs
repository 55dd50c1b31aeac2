//! Searching, as a person does it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::process::Output;

use dshlog_tests::cmd::Place;
use dshlog_tests::library;
use dshlog_tests::model::Corpora;
use insta::assert_snapshot;
use serde_json::Value;

use crate::{PROGRAM, place};

/// The document that a search prints.
fn json(place: &Place, args: &[&str]) -> Value {
    let output = place.run(&[&["search", "--format", "json"], args].concat());
    assert!(matches!(output.status.code(), Some(0 | 1)), "{args:?}: {}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn hits(told: &Value) -> &[Value] {
    told["hits"].as_array().unwrap()
}

/// What tells one text from another.
fn identity(hit: &Value) -> (String, u64, u64) {
    let session = hit["session"]["id"].as_str().unwrap().to_owned();
    (session, hit["seq"].as_u64().unwrap(), hit["nth"].as_u64().unwrap())
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What is wrong with a query is shown at its place.
#[test]
fn queries_that_cannot_be_understood() {
    let place = place(&["v4-multi-turn"]);
    let told: String = [
        &["search", "--scan", "build after:yesterdy"][..],
        &["search", "--scan", "build", "rol:user"],
        &["search", "--scan", "登录 \"错误"],
        &["search", "--scan", "***"],
        &["search", "--scan", "--", "-build"],
        &["search", "--scan", "/(a{1000}){1000}/"],
        &["search", "x", "--cursor", "e30"],
        &["search", "x", "--cursor", "e30", "--scan"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("search-wrong", told);
}

/// Nothing found is exit 1, as `grep` has it, and the document says so too.
#[test]
fn nothing_is_found() {
    let place = place(&["v4-multi-turn"]);
    let output = place.run(&["search", "--scan", "zyzzyva", "--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["schema"], "dshlog.search/1");
    assert_eq!((&found["documents"], &found["index"]), (&Value::from(0), &Value::Null));
}

/// Hits as people see them: the best of each session, every one, with lines around, with reasons; and a hit that is opened.
#[test]
fn hits_are_shown() {
    let place = place(&["v0-0.1.0rc6-bash-echo", "v3-thinking", "v4-thinking", "v4-subagent", "v4-ptc"]);
    // Its name is another one in each run, and a first search tells it.
    assert!(place.run(&["index"]).status.success());
    let told: String = [
        &["search", "greets", "--index", "index"][..],
        &["search", "greets", "--flat", "--sort", "time"],
        &["search", "count the files", "--limit", "1"],
        &["search", "tool:run_code in:call echo OR throw", "--context", "1"],
        &["search", "hello OR \"short reply\"", "--explain", "--limit", "2"],
        &["search", "\"short reply\"", "--open", "1"],
        &["search", "greets", "--open", "9"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("search-hits", told);
}

/// With colours a match is what the document says it is, and nothing else is changed.
#[test]
fn matches_are_marked_with_colour() {
    let place = Place::empty(PROGRAM);
    library::stock(&place.home()).unwrap();
    for query in [
        "login timeout",
        "登录 页面",
        "nginx反向代理",
        "useEffect selectedItems",
        "🔥 incident",
        "\"고이 보내\"",
    ] {
        let plain = place.run(&["search", query, "--limit", "1"]);
        let colored = place.run(&["search", query, "--limit", "1", "--color", "always"]);
        let colored = String::from_utf8(colored.stdout).unwrap();
        let mut marked = Vec::new();
        let mut text = String::new();
        let mut is_match = false;
        for (at, piece) in colored.split('\u{1b}').enumerate() {
            let piece = if at == 0 {
                piece
            } else {
                let (style, piece) = piece.strip_prefix('[').unwrap().split_once('m').unwrap();
                // Bold and yellow may be two sequences; only matches are yellow.
                is_match = style.split(';').any(|code| code == "33") || is_match && style == "1";
                piece
            };
            if is_match && !piece.is_empty() {
                marked.push(piece.to_owned());
            }
            text.push_str(piece);
        }
        assert_eq!(text, String::from_utf8(plain.stdout).unwrap(), "{query}");
        let told = json(&place, &[query, "--limit", "1"]);
        let snippet = &hits(&told)[0]["snippet"];
        let whole = snippet["text"].as_str().unwrap();
        let mut expected: Vec<String> = Vec::new();
        let mut last = 0;
        for range in snippet["ranges"].as_array().unwrap() {
            let at = |end: usize| usize::try_from(range[end].as_u64().unwrap()).unwrap();
            let piece = &whole[at(0)..at(1)];
            // Matches side by side have one colour.
            match expected.last_mut() {
                Some(before) if at(0) == last => before.push_str(piece),
                _ => expected.push(piece.to_owned()),
            }
            last = at(1);
        }
        // A terminal shows a shorter piece than the document has.
        assert!(!marked.is_empty() && expected.starts_with(&marked), "{query}: {marked:?} of {expected:?}");
    }
}

/// Pages follow one another without gap or overlap, as long as the index stays as it is.
#[test]
fn pages() {
    let place = Place::empty(PROGRAM);
    library::stock(&place.home()).unwrap();
    let query = "login OR cache OR timeout";
    for more in [&[][..], &["--flat"], &["--sort", "time"]] {
        let whole = json(&place, &[&[query, "--limit", "1000"], more].concat());
        let expected: Vec<_> = hits(&whole).iter().map(identity).collect();
        assert!(expected.len() > 10 && whole["cursor"].is_null());
        let mut paged = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let on = cursor.iter().flat_map(|cursor| ["--cursor", cursor]).collect::<Vec<_>>();
            let page = json(&place, &[&[query, "--limit", "4"], more, &on].concat());
            assert_eq!(page["documents"], whole["documents"]);
            paged.extend(hits(&page).iter().map(identity));
            cursor = page["cursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(paged, expected, "{more:?}");
    }
}

/// A cursor of another query, or of an index that moved on, is refused, and says why.
#[test]
fn a_cursor_that_no_longer_fits() {
    let place = Place::empty(PROGRAM);
    library::stock(&place.home()).unwrap();
    let first = json(&place, &["cache", "--limit", "2"]);
    let cursor = first["cursor"].as_str().unwrap();
    let shown = |args: &[&str]| place.told(args).replace(cursor, "[cursor]");
    let mut told = shown(&["search", "login", "--cursor", cursor]);
    told += &shown(&["search", "cache", "--flat", "--cursor", cursor]);
    place.add("v4-compact");
    // Nothing is looked at, so nothing moved.
    assert!(place.run(&["search", "cache", "--no-update", "--cursor", cursor]).status.success());
    told += &shown(&["search", "cache", "--cursor", cursor]);
    assert_snapshot!("search-cursor", told);
}

/// One hit a line is what the document holds.
#[test]
fn lines_are_the_hits_of_the_document() {
    let place = place(&["v4-fork", "v4-compact", "v4-image", "v0-0.1.0rc6-unicode"]);
    for args in [&["search", "one OR 漢字 OR red", "--flat"][..], &["search", "lorem", "--scan"]] {
        let whole: Value =
            serde_json::from_slice(&place.run(&[args, &["--format", "json"]].concat()).stdout).unwrap();
        let lines = String::from_utf8(place.run(&[args, &["--format", "jsonl"]].concat()).stdout).unwrap();
        let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(!lines.is_empty() && lines.len() == hits(&whole).len(), "{args:?}");
        for (line, hit) in lines.iter().zip(hits(&whole)) {
            let mut line = line.clone();
            assert_eq!(line.as_object_mut().unwrap().remove("schema").unwrap(), "dshlog.hit/1");
            assert_eq!(&line, hit);
        }
    }
}

/// Nothing found: no output in any form but the document, a note for people, exit 1.
#[test]
fn nothing_is_found_in_any_form() {
    let place = place(&["v4-multi-turn"]);
    for (form, note) in [("text", "note: nothing was found\n"), ("jsonl", "")] {
        place.run(&["index"]);
        let output = place.run(&["search", "zyzzyva", "--format", form]);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0), "{form}");
        assert_eq!(stderr(&output), note, "{form}");
    }
}

/// What a fork copied from its parent is found once, under the parent, with the fork named; what it wrote is its own.
#[test]
fn copies_of_a_fork() {
    const PARENT: &str = "session-24291876-7b91-5fa8-b0ea-255249abedbc";
    const FORK: &str = "session-f9285639-7d57-5e63-874a-d42e4bf2753f";
    let place = place(&["v4-fork"]);
    for way in [&["--index", "index"][..], &["--scan"]] {
        // As read in the two logs: the answer to the first prompt was copied, the second prompt of each is its own.
        for (query, session, copies) in [
            ("\"root one\"", PARENT, &[FORK][..]),
            ("\"root two\"", PARENT, &[]),
            ("\"another two\"", FORK, &[]),
            ("\"fork answer\"", FORK, &[]),
        ] {
            let told = json(&place, &[&[query, "--flat"], way].concat());
            let found: Vec<_> =
                hits(&told).iter().map(|hit| (&hit["session"]["id"], &hit["copies"])).collect();
            assert_eq!(found, [(&Value::from(session), &Value::from(copies.to_vec()))], "{query} {way:?}");
        }
    }
    assert_snapshot!("search-fork", place.told(&["search", "root OR another", "--flat", "--index", "index"]));
}

/// What a compaction took off the surface is still found, and says what took its place.
#[test]
fn what_was_replaced() {
    let place = place(&["v4-compact"]);
    let corpora = Corpora::own();
    let plain = zstd::decode_all(fs::File::open(&corpora.log("v4-compact").log).unwrap()).unwrap();
    let rows: Vec<Value> =
        String::from_utf8(plain).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary = rows.iter().find(|row| row["type"] == "compaction/summary").unwrap();
    let left: BTreeSet<u64> =
        summary["data"]["shadowedSeqs"].as_array().unwrap().iter().map(|seq| seq.as_u64().unwrap()).collect();
    let by = rows.iter().find(|row| row["surfaceOp"]["op"] == "replace").unwrap()["seq"].as_u64().unwrap();
    for way in [&["--index", "index"][..], &["--scan"]] {
        let told = json(&place, &[&["is:replaced", "--flat", "--limit", "100"], way].concat());
        assert!(hits(&told).iter().all(|hit| hit["replacedBy"] == by), "{way:?}");
        let seqs: BTreeSet<u64> = hits(&told).iter().map(|hit| hit["seq"].as_u64().unwrap()).collect();
        assert_eq!(seqs, left, "{way:?}");
        // The last answer before the compaction stayed.
        let others = json(&place, &[&["in:prompt,answer,result -is:replaced", "--flat"], way].concat());
        assert!(hits(&others).iter().all(|hit| hit["replacedBy"].is_null()), "{way:?}");
        let texts: BTreeSet<_> = hits(&others).iter().map(|hit| hit["text"].as_str().unwrap()).collect();
        assert_eq!(texts, BTreeSet::from(["Four.", "Five", "After compaction."]), "{way:?}");
    }
    let args = ["search", "three", "in:prompt", "--index", "index"];
    assert_snapshot!("search-replaced", place.told(&args));
}

/// Each filter finds the sessions that have what it asks for, and no others. Read from the logs.
#[test]
fn filters() {
    let place = place(&[
        "v0-0.1.0rc6-bash-echo",
        "v0-0.1.0rc6-odd-cwd",
        "v3-thinking",
        "v4-compact",
        "v4-fork",
        "v4-image",
        "v4-present",
        "v4-retry-500",
        "v4-subagent",
        "v4-todo",
        "v4-tool-error",
        "v4-torn-checksum-torn",
    ]);
    for (query, expected) in [
        ("has:image", &["session-2552f1fb"][..]),
        ("has:image turn:2", &["session-2552f1fb"]),
        ("has:image turn:3", &[]),
        ("is:fork", &["session-f9285639"]),
        ("is:subagent", &["12a98844"]),
        ("is:inherited", &[]),
        ("is:replaced", &["session-ed78cd14"]),
        ("is:partial", &["session-f7202bc2"]),
        ("is:error tool:read", &["session-f9ad83af"]),
        ("parent:24291876", &["session-f9285639"]),
        ("parent:session-0ef5b823", &["12a98844"]),
        ("session:12a9", &["12a98844"]),
        ("generation:3", &["session-b24fc94e"]),
        ("generation:v0 -project:demo", &["odd-cwd-010rc6-none"]),
        ("project:/tmp/w0", &["bash-echo-010rc6", "odd-cwd-010rc6-0", "odd-cwd-010rc6-1"]),
        ("project:代码", &["odd-cwd-010rc6-1"]),
        ("project:\"my project*\"", &["odd-cwd-010rc6-0"]),
        ("project:w", &[]),
        ("model:deepseek-v4-* -project:/tmp/w0", &["odd-cwd-010rc6-none"]),
        ("model:DEEPSEEK-FLASH in:reasoning", &["session-b24fc94e"]),
        ("in:reasoning", &["bash-echo-010rc6", "session-b24fc94e"]),
        ("in:summary", &["session-ed78cd14"]),
        ("in:todo", &["session-eb3d4600"]),
        ("in:error", &["session-b47a6bcb"]),
        ("in:title \"echo workspace\"", &["bash-echo-010rc6"]),
        ("role:user \"count the files here\"", &["12a98844"]),
        ("role:assistant \"count the files here\"", &["session-0ef5b823"]),
        ("role:tool \"updated todo list\"", &["session-eb3d4600"]),
        ("tool:present,todo_write in:call", &["session-9d0103f4", "session-eb3d4600"]),
        ("before:2026-11-30", &[]),
    ] {
        for way in [&["--index", "index"][..], &["--scan"]] {
            let told = json(&place, &[&[query, "--limit", "100"], way].concat());
            let found: BTreeSet<&str> =
                hits(&told).iter().map(|hit| hit["session"]["id"].as_str().unwrap()).collect();
            let is_found = |id: &&str| found.iter().any(|found| found.starts_with(id));
            assert!(
                found.len() == expected.len() && expected.iter().all(is_found),
                "{query} {way:?}: {found:?}"
            );
        }
    }
}
