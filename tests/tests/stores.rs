//! Sessions in the SQLite stores of the V0 era. The right answers are those of the same sessions as logs.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod hostile;
mod trouble;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use dshlog_tests::cmd::Place;
use dshlog_tests::model::{first_difference, repository, sha256_hex, skip};
use insta::assert_snapshot;
use rusqlite::Connection;
use serde_json::Value;

use crate::{PROGRAM, place};

/// A store as the runtime left it.
const CASE: &str = "store/v0-0.1.0rc7";

/// What is in it.
const IDS: [&str; 2] = ["sqlite-010rc7", "sqlite-010rc7-other"];

/// The store of that case in the home of a place.
fn store(place: &Place) -> PathBuf {
    place.home().join("sessions/store.sqlite")
}

/// How a session in it is named.
fn entry(place: &Place, id: &str) -> String {
    format!("{}#{id}", store(place).display())
}

fn answer(id: &str, name: &str) -> Vec<u8> {
    fs::read(repository().join("corpora").join(CASE).join("expected").join(id).join(name)).unwrap()
}

/// Stdout of a command that must succeed.
#[track_caller]
fn printed(place: &Place, args: &[&str]) -> Vec<u8> {
    let output = place.run(args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// Equal but for an end of the last line.
#[track_caller]
fn is_same(expected: &[u8], found: &[u8], what: &str) {
    let bare = |bytes: &[u8]| bytes.strip_suffix(b"\n").unwrap_or(bytes).to_vec();
    assert!(bare(expected) == bare(found), "{what}: {}", first_difference(expected, found));
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

fn documents(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(json).collect()
}

fn told(place: &Place, commands: &[&[&str]]) -> String {
    commands.iter().map(|args| place.told(args)).collect()
}

#[test]
fn a_store_beside_logs() {
    let place = place(&[CASE, "v4-thinking"]);
    let told = told(
        &place,
        &[
            &["ls"],
            &["ls", "--long"],
            &["ls", "--project", "w0", "--format", "json"],
            &["ls", "--long", "--all"],
            &["verify"],
            &["stats", "--by", "day"],
            &["doctor"],
            &["migrate", "--all", "--dry-run"],
            &["index", "--index", "index"],
            &["search", "echo", "--index", "index"],
            &["search", "echo", "--index", "index", "--open", "1"],
        ],
    );
    assert_snapshot!("beside-logs", told);
}

#[test]
fn a_home_with_nothing_else() {
    let place = place(&[CASE]);
    let at = "home/sessions/store.sqlite";
    let told = told(
        &place,
        &[
            &["ls", at],
            &["ls", "--project", "store"],
            &["verify", at, "--format", "json"],
            &["read", "latest"],
            &["read", "sqlite-010rc7", "--header"],
            &["read", at],
            &["read", "sqlite"],
            &["read", "ghost"],
            &["read", &format!("{at}#ghost")],
            &["verify", &format!("{at}#ghost")],
            &["read", "latest", "--follow"],
            &["doctor"],
            &["migrate", "--all"],
            &["migrate", IDS[0]],
            &["fork", IDS[0]],
            &["export", IDS[0], "--format", "html", "--out", at, "--force"],
        ],
    );
    assert_snapshot!("nothing-else", told);

    // It may lie in the home itself, where there is no folder of sessions at all.
    fs::rename(store(&place), place.home().join("old.db")).unwrap();
    fs::remove_dir(place.home().join("sessions")).unwrap();
    let listed = documents(&printed(&place, &["ls", "--format", "json"]));
    let ids: BTreeSet<&str> = listed.iter().filter_map(|row| row["id"].as_str()).collect();
    assert_eq!(ids, IDS.into());
    assert_eq!(listed[0]["path"], format!("{}#{}", place.home().join("old.db").display(), IDS[1]));
    printed(&place, &["verify"]);
    is_same(&answer(IDS[0], "current.jsonl"), &printed(&place, &["read", IDS[0], "--events"]), "in the home");
}

/// By each name that a session has.
#[test]
fn what_is_read() {
    let place = place(&[CASE]);
    let other = format!("{}#latest", store(&place).display());
    for id in IDS {
        let (whole, relative) = (entry(&place, id), format!("home/sessions/store.sqlite#{id}"));
        let mut names = vec![id, &whole, &relative];
        names.extend((id == IDS[1]).then_some(["latest", &other, "sqlite-010rc7-o"]).into_iter().flatten());
        for name in names {
            for (args, expected) in [
                (&["--events"][..], "current.jsonl"),
                (&["--events", "--format", "jsonl"], "current.jsonl"),
                (&["--rows"], "session.jsonl"),
            ] {
                let found = printed(&place, &[&["read", name], args].concat());
                is_same(&answer(id, expected), &found, &format!("{name} {args:?}"));
            }
            let messages = printed(&place, &["read", name, "--messages", "--format", "json"]);
            assert_eq!(json(&messages), json(&answer(id, "messages.json")), "{name}");
            printed(&place, &["verify", &entry(&place, id)]);
        }
    }
}

/// All stores that are at hand, against what the runtime that wrote them read back, and what the official reader made of it.
#[test]
fn every_store() {
    let shared = std::env::var_os("DSHLOG_SHARED_CORPORA")
        .map_or_else(|| repository().join("../shared/corpora"), PathBuf::from)
        .join("real-old/sqlite");
    if !shared.is_dir() {
        return skip(&format!("no stores in {}", shared.display()));
    }
    let place = Place::empty(PROGRAM);
    let (mut sessions, mut events) = (0, 0);
    for folder in fs::read_dir(&shared).unwrap().map(|entry| entry.unwrap().path()) {
        let store = folder.join("sessions/store.sqlite");
        let Ok(answers) = fs::read_dir(folder.join("answers")) else { continue };
        let listed = documents(&printed(&place, &["ls", store.to_str().unwrap(), "--format", "json"]));
        let mut ids: BTreeSet<String> =
            listed.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect();
        for read_back in answers.map(|entry| entry.unwrap().path()) {
            let id = read_back.file_stem().unwrap().to_str().unwrap();
            assert!(ids.remove(id), "{id}");
            let name = format!("{}#{id}", store.display());
            let as_log = PathBuf::from(format!("{}-as-jsonl", folder.display()));
            let expected = |file: &str| fs::read(as_log.join("expected").join(id).join(file)).unwrap();
            let found = |args: &[&str]| printed(&place, &[&["read", &name], args].concat());
            let info = json(&expected("info.json"));
            let current = found(&["--events"]);
            assert_eq!(info["current"]["physicalPlaintextSha256"], sha256_hex(&current), "{name}");
            let messages = found(&["--messages", "--format", "json"]);
            assert_eq!(json(&messages), json(&expected("messages.json")), "{name}");
            // The runtime gave the header as it has it in memory, where 0 is left out as the store does.
            let header = |lines: &[u8]| {
                let mut header: Value = documents(lines).remove(0);
                header.as_object_mut().unwrap().retain(|name, _| name != "type" && name != "delegationDepth");
                header
            };
            let behind = |lines: &[u8]| lines.splitn(2, |byte| *byte == b'\n').nth(1).unwrap().to_vec();
            let (read_back, rows) = (fs::read(&read_back).unwrap(), found(&["--rows"]));
            is_same(&behind(&read_back), &behind(&rows), &name);
            assert_eq!(header(&read_back), header(&rows), "{name}");
            sessions += 1;
            events += documents(&rows).len() - 1;
        }
        assert!(ids.is_empty(), "without an answer: {ids:?}");
    }
    assert!(sessions >= 4 && events >= 174, "{sessions} sessions, {events} events");
}

/// The same session as a log, made as `migrate` says it is made: every command says the same of it, and it can be migrated.
#[cfg(unix)]
#[test]
fn as_a_log_it_says_the_same() {
    let place = place(&[CASE]);
    let asked = |name: &str| {
        let of = |args: &[&str]| {
            let text = String::from_utf8(printed(&place, args)).unwrap();
            text.replace(name, "[name]")
        };
        let exported = ["md", "json"].map(|format| of(&["export", name, "--format", format]));
        [
            of(&["read", name, "--full"]),
            of(&["read", name, "--as-stored"]),
            of(&["read", name, "--header", "--format", "json"]),
            of(&["read", name, "--surface"]),
            of(&["request", name, "--format", "json"]),
            of(&["stats", name, "--format", "json"]),
            exported.concat(),
        ]
    };
    for id in IDS {
        let refused = place.run(&["migrate", id]);
        assert_eq!(refused.status.code(), Some(3));
        let hint = String::from_utf8(refused.stderr).unwrap();
        let commands: Vec<&str> = hint.split('`').skip(1).step_by(2).collect();
        assert_eq!(commands.len(), 2, "{hint}");
        let in_store = asked(&entry(&place, id));
        for command in &commands {
            assert_eq!(place.shell(command), "");
        }
        let log = place.home().join("sessions/--tmp-w0-demo--").join(id).join("session.jsonl");
        is_same(&answer(id, "session.jsonl"), &fs::read(&log).unwrap(), id);
        assert_eq!(in_store, asked(log.to_str().unwrap()), "{id}");
        printed(&place, &["migrate", id]);
    }
    // Now they are taken from their folders.
    let listed = documents(&printed(&place, &["ls", "--format", "json"]));
    assert_eq!(listed.len(), 2);
    for row in &listed {
        assert_eq!(row["generations"], serde_json::json!([0, 4]), "{row}");
        let id = row["id"].as_str().unwrap();
        for name in [id, &entry(&place, id)] {
            is_same(&answer(id, "current.jsonl"), &printed(&place, &["read", name, "--events"]), name);
        }
    }
}

/// A data set names the store, and the session in it.
#[test]
fn a_data_set() {
    let place = place(&[CASE, "v4-thinking"]);
    printed(&place, &["export", "--all", "--format", "quickwit", "--out", "texts"]);
    let mut entries = BTreeSet::new();
    for line in documents(&fs::read(place.path().join("texts/documents-0.ndjson")).unwrap()) {
        // A name of a session that is one for logs, too.
        let is_stored = line["path"] == store(&place).to_str().unwrap();
        entries.extend(line["session"].as_str().filter(|_| is_stored).map(str::to_owned));
    }
    assert_eq!(entries, IDS.map(str::to_owned).into());

    let told = printed(&place, &["export", "--all", "--format", "parquet", "--out", "set"]);
    assert_eq!(told, b"", "a folder was asked for");
    let manifest = json(&fs::read(place.path().join("set/_dshlog.json")).unwrap());
    let rows = |name: &str| -> u64 {
        let table = manifest["tables"].as_array().unwrap().iter().find(|table| table["name"] == name);
        table.unwrap()["rows"].as_u64().unwrap()
    };
    let thinking = repository().join("corpora/v4-thinking/home");
    let logs = documents(&printed(&place, &["ls", thinking.to_str().unwrap(), "--long", "--format", "json"]));
    let others = logs.iter().map(|row| row["events"].as_u64().unwrap()).sum::<u64>();
    let lines =
        |id| answer(id, "current.jsonl").split(|byte| *byte == b'\n').filter(|l| !l.is_empty()).count();
    let stored: usize = IDS.into_iter().map(|id| lines(id) - 1).sum();
    assert_eq!(rows("events"), others + stored as u64);
    assert_eq!(rows("sessions"), logs.len() as u64 + 2);
}

/// What an update did: read anew, removed, unchanged.
fn update(place: &Place) -> [u64; 3] {
    let told = documents(&printed(place, &["index", "--format", "json"])).remove(0);
    assert_eq!(told["unsound"].as_array().map(Vec::len), Some(0), "{told}");
    ["read", "removed", "unchanged"].map(|name| told[name].as_u64().unwrap())
}

/// All that a search finds: session, seq, part, text.
fn found(place: &Place, args: &[&str]) -> BTreeSet<String> {
    let query = "in:title,prompt,context,answer,reasoning,call,result,error,summary,system,todo";
    let all = ["search", query, "--flat", "--limit", "10000", "--format", "json"];
    let output = place.run(&[&all, args].concat());
    assert!(output.status.code().is_some_and(|code| code < 2), "{}", String::from_utf8_lossy(&output.stderr));
    let found = documents(&output.stdout).remove(0);
    let hits = found["hits"].as_array().unwrap().iter();
    hits.map(|hit| {
        let session = &hit["session"];
        assert_eq!(session["id"], session["entry"], "{hit}");
        format!("{} {} {} {}", session["path"], hit["seq"], hit["part"], hit["text"])
    })
    .collect()
}

#[test]
fn an_index_follows_a_store() {
    let place = place(&[CASE]);
    let whole = found(&place, &["--scan"]);
    assert_eq!(update(&place), [2, 0, 0]);
    assert_eq!(found(&place, &["--no-update"]), whole);

    // As if the second turn had not been yet: a search sees that by itself, and so does an update.
    let database = Connection::open(store(&place)).unwrap();
    database
        .execute_batch("CREATE TABLE aside AS SELECT * FROM events WHERE session_id = 'sqlite-010rc7'")
        .unwrap();
    let cut = "DELETE FROM events WHERE session_id = 'sqlite-010rc7' AND seq >=
        (SELECT seq FROM events WHERE session_id = 'sqlite-010rc7' AND type = 'turn/start' ORDER BY seq DESC LIMIT 1);
      UPDATE sessions SET revision = revision + 1 WHERE id = 'sqlite-010rc7'";
    database.execute_batch(cut).unwrap();
    let first = found(&place, &[]);
    assert!(first.is_subset(&whole) && first.len() < whole.len());
    assert_eq!(first, found(&place, &["--scan"]));
    assert_eq!(update(&place), [0, 0, 2]);

    // The turn comes: rows grow.
    let grow = "INSERT OR IGNORE INTO events SELECT * FROM aside;
      UPDATE sessions SET revision = revision + 1 WHERE id = 'sqlite-010rc7'";
    database.execute_batch(grow).unwrap();
    assert_eq!(update(&place), [1, 0, 1]);
    assert_eq!(found(&place, &["--no-update"]), whole);

    // A session goes, by a search and by an update; another comes.
    let remove = "DELETE FROM events WHERE session_id = 'sqlite-010rc7-other';
      DELETE FROM sessions WHERE id = 'sqlite-010rc7-other'";
    database.execute_batch(remove).unwrap();
    let left = found(&place, &[]);
    assert!(!left.is_empty() && left.is_subset(&whole) && left == found(&place, &["--scan"]));
    let come = "INSERT INTO sessions SELECT 'another', version, created_at, cwd, NULL, NULL, NULL, NULL, NULL, 'x', 1 FROM sessions;
      INSERT INTO events SELECT 'another', seq, type, time, data, source_event_seqs, surface_op, ignorable FROM aside";
    database.execute_batch(come).unwrap();
    assert_eq!(update(&place), [1, 0, 1]);
    assert_eq!(found(&place, &["--no-update"]), found(&place, &["--scan"]));
    database.execute_batch("DELETE FROM events; DELETE FROM sessions").unwrap();
    drop(database);
    assert_eq!(update(&place), [0, 2, 0]);
    assert!(found(&place, &["--no-update"]).is_empty());

    // A store that goes takes its sessions with it.
    fs::copy(repository().join("corpora").join(CASE).join("home/sessions/store.sqlite"), store(&place))
        .unwrap();
    update(&place);
    assert_eq!(found(&place, &["--no-update"]), whole);
    fs::remove_file(store(&place)).unwrap();
    assert!(found(&place, &[]).is_empty());
}

/// The content and the time of change of everything in a folder.
fn state(folder: &Path) -> Vec<(PathBuf, Vec<u8>, std::time::SystemTime)> {
    let mut state: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let modified = entry.metadata().unwrap().modified().unwrap();
            (entry.path(), fs::read(entry.path()).unwrap_or_default(), modified)
        })
        .collect();
    state.sort();
    state
}
