use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;

use dshlog_codec::Limits;
use dshlog_tests::model::repository;
use rusqlite::params;
use tempfile::TempDir;

use super::*;

const TABLES: &str = "
CREATE TABLE sessions (id, version, created_at, cwd, parent_session, seed_length, origin, delegation_depth,
  agent_preset, incarnation, revision);
CREATE TABLE events (session_id, seq, type, time, data, source_event_seqs, surface_op, ignorable,
  PRIMARY KEY (session_id, seq));
PRAGMA application_id = 1146308688;
PRAGMA user_version = 15;
INSERT INTO sessions VALUES ('a', 0, 1, '/w', NULL, NULL, NULL, NULL, NULL, 'x', 1);
";

/// A folder with a store of one session, `a`, and a connection that writes to it.
fn written(journal: &str) -> (TempDir, PathBuf, Connection) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old store#1.sqlite");
    let database = Connection::open(&path).unwrap();
    database.pragma_update(None, "journal_mode", journal).unwrap();
    database.execute_batch(TABLES).unwrap();
    add(&database, 0);
    (folder, path, database)
}

fn add(database: &Connection, seq: i64) {
    let turn = format!(r#"{{"turn":{}}}"#, seq + 1);
    let insert = "INSERT INTO events VALUES ('a', ?1, 'turn/start', 5, ?2, NULL, NULL, NULL)";
    database.execute(insert, params![seq, turn]).unwrap();
    database.execute("UPDATE sessions SET revision = revision + 1", []).unwrap();
}

/// What lies in a folder, with the content of all but the file that readers of SQLite talk through.
fn content(folder: &Path) -> BTreeMap<OsString, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            let name = entry.file_name();
            let is_shared = name.to_string_lossy().ends_with("-shm");
            (name, if is_shared { Vec::new() } else { fs::read(entry.path()).unwrap() })
        })
        .collect()
}

/// The events that are seen, and nothing in the folder is another than before.
#[track_caller]
fn seen(path: &Path) -> usize {
    let before = content(path.parent().unwrap());
    let mut store = Store::open(path).unwrap();
    assert_eq!(store.entries().unwrap().len(), 1);
    let mut lines = store.log("a").unwrap().lines(&Limits::default()).unwrap();
    let mut count = 0;
    while lines.next_line().unwrap().is_some() {
        count += 1;
    }
    drop(store);
    assert_eq!(content(path.parent().unwrap()), before);
    count - 1
}

/// Byte for byte what the runtime read back.
#[test]
fn the_text_of_v0() {
    let case = repository().join("corpora/store/v0-0.1.0rc7");
    let mut store = Store::open(&case.join("home/sessions/store.sqlite")).unwrap();
    let entries = store.entries().unwrap();
    let ids: Vec<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
    assert_eq!(ids, ["sqlite-010rc7", "sqlite-010rc7-other"]);
    for entry in &entries {
        let expected =
            fs::read_to_string(case.join("expected").join(&entry.id).join("session.jsonl")).unwrap();
        let log = store.log(&entry.id).unwrap();
        let mut lines = log.lines(&Limits::default()).unwrap();
        let mut text = String::new();
        while let Some((line, _)) = lines.next_line().unwrap() {
            text += &(String::from_utf8_lossy(line).into_owned() + "\n");
        }
        assert_eq!(text, expected);
        assert_eq!(store.header(&entry.id).unwrap(), log.header().unwrap());
        assert_eq!(store.entry(&entry.id).unwrap().as_ref(), Some(entry));
    }
    assert_eq!(entries[0].stamp.len, 8);
    assert!(store.entry("none").unwrap().is_none());
    assert_eq!(store.log("none").err().unwrap().code(), "not-found");
}

#[test]
fn without_a_writer() {
    for journal in ["delete", "wal", "persist"] {
        let (_folder, path, database) = written(journal);
        add(&database, 1);
        drop(database);
        assert_eq!(seen(&path), 2, "{journal}");
    }
}

#[test]
fn beside_a_writer() {
    for journal in ["delete", "wal", "persist"] {
        let (_folder, path, database) = written(journal);
        assert_eq!(seen(&path), 1, "{journal}");
        // What is not committed is not seen.
        database.execute_batch("BEGIN IMMEDIATE").unwrap();
        add(&database, 1);
        assert_eq!(seen(&path), 1, "{journal}");
        database.execute_batch("COMMIT").unwrap();
        assert_eq!(seen(&path), 2, "{journal}");
    }
}

/// A copy of what a writer would leave that is killed: the pages that it wrote, and the journal to take them back.
#[test]
fn behind_a_writer_that_stopped() {
    for journal in ["delete", "wal"] {
        let (_folder, path, database) = written(journal);
        // So small a cache that pages are written before the end.
        database.execute_batch("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE").unwrap();
        for seq in 1..2_000 {
            add(&database, seq);
        }
        let left = tempfile::tempdir().unwrap();
        let copy = left.path().join("store");
        for suffix in ["", "-journal", "-wal"] {
            let from = format!("{}{suffix}", path.display());
            if Path::new(&from).exists() {
                fs::copy(from, format!("{}{suffix}", copy.display())).unwrap();
            }
        }
        assert_ne!(content(left.path()).len(), 1, "{journal}");
        assert_eq!(seen(&copy), 1, "{journal}");
    }
}

#[test]
fn a_writer_that_comes_between() {
    let (_folder, path, database) = written("delete");
    let mut store = Store::open(&path).unwrap();
    assert_eq!(store.entries().unwrap()[0].stamp.len, 2);
    add(&database, 1);
    assert_eq!(store.entries().unwrap()[0].stamp.len, 3);
}

#[test]
fn a_writer_that_does_not_let_go() {
    let (_folder, path, database) = written("persist");
    database.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let error = Store::open(&path).unwrap_err();
    assert_eq!((error.code(), error.class()), ("store-busy", Class::Locked));
}

#[test]
fn what_is_no_store() {
    let version =
        |number: i64| move |database: &Connection| database.pragma_update(None, "user_version", number);
    let application = |database: &Connection| database.pragma_update(None, "application_id", 7);
    let tables = |database: &Connection| database.execute_batch("DROP TABLE events");
    #[expect(clippy::type_complexity, reason = "a table of changes")]
    let cases: [(&dyn Fn(&Connection) -> rusqlite::Result<()>, &str, &str); 5] = [
        (&version(17), "store-version", "a store of version 17; only version 15 is known"),
        (&version(14), "store-version", "a store of version 14; only version 15 is known"),
        (&version(16), "store-version", "a store of version 16; only version 15 is known"),
        (&application, "store-foreign", "no store of sessions: a database of another application"),
        (&tables, "store-damaged", "the store is damaged: no such table: events"),
    ];
    for (change, code, what) in cases {
        let (_folder, path, database) = written("delete");
        change(&database).unwrap();
        drop(database);
        let error = Store::open(&path).and_then(|mut store| store.log("a").map(drop)).unwrap_err();
        assert_eq!(error.code(), code);
        assert!(error.kind().to_string().starts_with(what), "{error}");
        assert_eq!(error.position().path, Some(path));
    }
    for (bytes, code) in [
        (&b""[..], "store-foreign"),
        (b"SQLite format 3", "store-foreign"),
        (b"{}\n", "store-foreign"),
        (b"SQLite format 3\0", "store-damaged"),
    ] {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), bytes).unwrap();
        assert_eq!(Store::open(file.path()).unwrap_err().code(), code);
    }
}

/// Any bytes give an error or an answer.
#[test]
fn damaged_stores() {
    let (_folder, path, database) = written("delete");
    for seq in 1..200 {
        add(&database, seq);
    }
    drop(database);
    let whole = fs::read(&path).unwrap();
    let mut refused = 0;
    for at in (0..whole.len()).step_by(257) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        fs::write(&path, &bytes).unwrap();
        refused += usize::from(Store::open(&path).and_then(|mut store| store.log("a").map(drop)).is_err());
        fs::write(&path, &whole[..at]).unwrap();
        assert!(Store::open(&path).and_then(|mut store| store.log("a").map(drop)).is_err(), "{at}");
    }
    assert!(refused > 0);
}

/// The reader of V0 says what is wrong, and the line is the row. What a row must have beside its seq is asked of all logs
/// alike, later.
#[test]
fn rows_that_no_runtime_stored() {
    let good = r"2, 'turn/start', 5, '{}', NULL, NULL, NULL";
    for (row, code) in [
        (good, "row-gap"),
        ("NULL, 'turn/start', 5, '{}', NULL, NULL, NULL", "row-gap"),
        ("1, 'turn/start', 5, '{', NULL, NULL, NULL", "row-syntax"),
        ("1, 'turn/start', 5, '', NULL, NULL, NULL", "row-syntax"),
        // Half a value may not become a part of the row.
        (r#"1, 'turn/start', 5, '{},"seq":1', NULL, NULL, NULL"#, "row-syntax"),
        ("1, 'turn/start', 5, '{', '}', NULL, NULL", "row-syntax"),
        ("1, 'turn/start', 5, '{\"a\":\"\n\"}', NULL, NULL, NULL", "row-syntax"),
    ] {
        let (_folder, path, database) = written("delete");
        let insert = "INSERT INTO events (session_id, seq, type, time, data, source_event_seqs, surface_op, ignorable)";
        database.execute_batch(&format!("{insert} VALUES ('a', {row})")).unwrap();
        // Damage in front of the end of a turn is none of a tail.
        let end = r#"'turn/end', 6, '{"turn":1,"reason":{"kind":"completed"}}', NULL, NULL, NULL"#;
        database.execute_batch(&format!("{insert} VALUES ('a', 3, {end})")).unwrap();
        drop(database);
        let log = Store::open(&path).unwrap().log("a").unwrap();
        let mut walk = log.read(&Limits::default()).unwrap();
        let error = loop {
            match walk.next_event() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("{row} is no fault"),
                Err(error) => break error,
            }
        };
        assert_eq!(error.code(), code, "{row}: {error}");
        let place = error.position();
        assert_eq!(place.path, Some(Place { store: path, id: "a".into() }.path()), "{row}");
        assert!(place.line.is_some_and(|line| line <= 3), "{row}: {error}");
    }
}

#[test]
fn names_of_sessions() {
    let (_folder, store, _) = written("delete");
    let at = |text: &str| PathBuf::from(format!("{}{text}", store.display()));
    for (typed, id) in [("#a", "a"), ("#a/b", "a/b"), ("#x#y", "x#y"), ("#", ""), ("#a~002Fb", "a~002Fb")] {
        assert_eq!(Place::of(&at(typed)), Some(Place { store: store.clone(), id: id.into() }), "{typed}");
    }
    assert_eq!(Place::of(&at("")), None);
    assert_eq!(Place::of(&at("x#a")), None);
    fs::write(at("#a"), "a file of that name").unwrap();
    assert_eq!(Place::of(&at("#a")), None);
    assert_eq!(Place { store: store.clone(), id: "a/b".into() }.path(), at("#a~002Fb"));
    assert!(is_store(&store) && is_database(&store) && !is_store(&at("#a")));
}
