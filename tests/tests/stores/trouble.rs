//! Writers at work, writers that stopped, folders that nobody may write to, and files that are no such stores.

use std::fs;
use std::path::Path;

use dshlog_tests::cmd::Place;
use insta::assert_snapshot;
use rusqlite::Connection;

use super::{CASE, IDS, documents, entry, printed, state, store};
use crate::place;

/// Events that are stored in the session, as `read --rows` prints them. Nothing in the folder is another than before, not
/// even by its time of change.
#[track_caller]
fn seen(place: &Place, store: &Path) -> usize {
    let folder = store.parent().unwrap();
    let before = state(folder);
    let name = format!("{}#{}", store.display(), IDS[0]);
    let rows = documents(&printed(place, &["read", &name, "--rows"])).len() - 1;
    for args in [&["ls", "--long"][..], &["verify"], &["search", "echo", "--scan"]] {
        place.run(&[args, &["--root", folder.to_str().unwrap()]].concat());
    }
    let after = state(folder);
    let names = |state: &[(std::path::PathBuf, Vec<u8>, std::time::SystemTime)]| -> Vec<_> {
        state.iter().map(|(path, bytes, time)| (path.clone(), bytes.len(), *time)).collect()
    };
    assert_eq!(names(&before), names(&after));
    assert!(before == after, "content differs");
    rows
}

fn journal(place: &Place, mode: &str) -> Connection {
    let database = Connection::open(store(place)).unwrap();
    let set: String =
        database.query_row(&format!("PRAGMA journal_mode = {mode}"), [], |row| row.get(0)).unwrap();
    assert_eq!(set, mode);
    // What is written stays where it is written first; pages that do not fit the cache are written early.
    database
        .execute_batch("PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = 1; PRAGMA cache_spill = 1")
        .unwrap();
    database
}

/// Events with the next seqs.
fn append(database: &Connection, count: usize) {
    let next = format!(
        "INSERT INTO events SELECT '{0}', max(seq) + 1, 'turn/start', max(time), '{{\"turn\":9,\"pad\":\"' || hex(zeroblob(400)) || '\"}}',
        NULL, NULL, NULL FROM events WHERE session_id = '{0}'",
        IDS[0]
    );
    for _ in 0..count {
        database.execute(&next, []).unwrap();
    }
    database.execute("UPDATE sessions SET revision = revision + 1 WHERE id = ?1", [IDS[0]]).unwrap();
}

fn rows(database: &Connection) -> usize {
    let count = "SELECT count(*) FROM events WHERE session_id = ?1";
    database.query_row(count, [IDS[0]], |row| row.get(0)).unwrap()
}

#[test]
fn beside_a_writer() {
    for mode in ["wal", "delete", "persist", "truncate"] {
        let place = place(&[CASE]);
        let database = journal(&place, mode);
        let mut expected = rows(&database);
        assert_eq!(seen(&place, &store(&place)), expected, "{mode}: nothing was written yet");
        for round in 0..3 {
            append(&database, 1);
            expected = rows(&database);
            assert_eq!(seen(&place, &store(&place)), expected, "{mode} {round}: committed");
            database.execute_batch("BEGIN IMMEDIATE").unwrap();
            append(&database, 1);
            assert_eq!(seen(&place, &store(&place)), expected, "{mode} {round}: not committed");
            database.execute_batch("ROLLBACK").unwrap();
        }
        if mode == "wal" {
            let frames = "PRAGMA wal_checkpoint(TRUNCATE)";
            database.query_row(frames, [], |_| Ok(())).unwrap();
            assert_eq!(seen(&place, &store(&place)), expected, "{mode}: all of it in the store");
            append(&database, 1);
            assert_eq!(seen(&place, &store(&place)), expected + 1, "{mode}: the first frame of a new file");
        }
    }
}

/// What a writer leaves that is killed: its files as they are at that moment, where nobody is at work.
#[test]
fn behind_a_writer_that_stopped() {
    for (mode, is_committed) in [("wal", true), ("wal", false), ("delete", false), ("persist", false)] {
        for leaves_shm in [true, false] {
            let place = place(&[CASE]);
            let database = journal(&place, mode);
            append(&database, 1);
            let mut expected = rows(&database);
            database.execute_batch("BEGIN IMMEDIATE").unwrap();
            append(&database, 100);
            if is_committed {
                database.execute_batch("COMMIT").unwrap();
                expected += 100;
            }
            let left = place.path().join("left");
            fs::create_dir(&left).unwrap();
            for file in fs::read_dir(place.home().join("sessions")).unwrap().map(|entry| entry.unwrap()) {
                if leaves_shm || !file.path().to_str().unwrap().ends_with("-shm") {
                    fs::copy(file.path(), left.join(file.file_name())).unwrap();
                }
            }
            assert!(fs::read_dir(&left).unwrap().count() > 1, "{mode}");
            assert_eq!(
                seen(&place, &left.join("store.sqlite")),
                expected,
                "{mode} {is_committed} {leaves_shm}"
            );
            // What was copied to be mended is gone.
            let temp = place.path().join("temp");
            fs::create_dir(&temp).unwrap();
            for args in [&["ls", "left/store.sqlite", "--long"][..], &["verify", "left/store.sqlite"]] {
                let output = place.command(args).env("TMPDIR", &temp).output().unwrap();
                assert!(output.status.code().is_some_and(|code| code < 2), "{mode}: {output:?}");
            }
            assert_eq!(fs::read_dir(&temp).unwrap().count(), 0, "{mode}");
        }
    }
}

#[test]
fn a_writer_that_does_not_let_go() {
    let place = place(&[CASE]);
    let database = journal(&place, "persist");
    append(&database, 1);
    database.execute_batch("BEGIN EXCLUSIVE").unwrap();
    append(&database, 1);
    assert_snapshot!("busy", place.told(&["read", &entry(&place, IDS[0])]));
}

/// A root that holds logs as well is no worse for it.
#[test]
fn logs_beside_a_store_that_cannot_be_read() {
    let place = place(&[CASE, "v4-thinking"]);
    Connection::open(store(&place)).unwrap().pragma_update(None, "user_version", 17).unwrap();
    let told: String = [
        &["ls"][..],
        &["ls", "--all"],
        &["verify"],
        &["stats", "--format", "json"],
        &["doctor"],
        &["index", "--index", "index"],
        &["export", "--all", "--format", "parquet", "--out", "set"],
        &["read", "latest", "--header"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("beside-unreadable", told);
}

#[cfg(unix)]
#[test]
fn a_folder_that_nobody_may_write_to() {
    use std::os::unix::fs::PermissionsExt as _;

    let place = place(&[CASE]);
    drop(journal(&place, "wal"));
    // One in which a writer stopped, too.
    let database = journal(&place, "wal");
    append(&database, 1);
    let expected = rows(&database);
    let left = place.path().join("left");
    fs::create_dir(&left).unwrap();
    for suffix in ["", "-wal"] {
        let from = format!("{}{suffix}", store(&place).display());
        fs::copy(from, left.join(format!("store.sqlite{suffix}"))).unwrap();
    }
    drop(database);
    let Some(bound) = crate::bound(&place) else { return };
    for folder in [left, place.home().join("sessions")] {
        for file in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            fs::set_permissions(file, fs::Permissions::from_mode(0o444)).unwrap();
        }
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
        let before = state(&folder);
        let name = format!("{}#{}", folder.join("store.sqlite").display(), IDS[0]);
        let output = bound(&["read", &name, "--rows"]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        assert_eq!(documents(&output.stdout).len() - 1, expected, "{}", folder.display());
        assert!(state(&folder) == before);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
    // One that may not be read is no fault of its content.
    fs::set_permissions(store(&place), fs::Permissions::from_mode(0o000)).unwrap();
    let output = bound(&["read", &entry(&place, IDS[0])]).output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{output:?}");
}

/// What is no store, no store of this version, or no longer one: each says so, and none is taken for a fault of the program.
#[test]
fn no_such_store() {
    let place = place(&[CASE]);
    let whole = fs::read(store(&place)).unwrap();
    let folder = place.path().join("cases");
    fs::create_dir(&folder).unwrap();
    let case = |name: &str, change: &dyn Fn(&Connection)| {
        let path = folder.join(name);
        fs::write(&path, &whole).unwrap();
        change(&Connection::open(path).unwrap());
    };
    let set = |name: &'static str, number: i64| {
        move |database: &Connection| database.pragma_update(None, name, number).unwrap()
    };
    case("older", &set("user_version", 14));
    case("newer", &set("user_version", 17));
    case("foreign", &set("application_id", 7));
    case("without-events", &|database| database.execute_batch("DROP TABLE events").unwrap());
    case("other-columns", &|database| {
        database.execute_batch("ALTER TABLE events RENAME COLUMN data TO payload").unwrap();
    });
    let mut bytes = whole.clone();
    bytes.truncate(whole.len() / 2);
    fs::write(folder.join("cut"), &bytes).unwrap();
    fs::write(folder.join("cut-in-head"), &whole[..60]).unwrap();
    fs::write(folder.join("empty"), "").unwrap();
    fs::write(folder.join("text"), "SQLite format 3, they say\n").unwrap();
    // The page that the table of events begins with: neither kind nor cells of a page.
    let page: usize = {
        let select = "SELECT rootpage FROM sqlite_schema WHERE name = 'events'";
        Connection::open(store(&place)).unwrap().query_row(select, [], |row| row.get(0)).unwrap()
    };
    let mut bytes = whole.clone();
    bytes[(page - 1) * 4096..][..4096].fill(0xa5);
    fs::write(folder.join("corrupted"), &bytes).unwrap();
    let told: String = [
        "older",
        "newer",
        "foreign",
        "without-events",
        "other-columns",
        "cut",
        "cut-in-head",
        "empty",
        "text",
        "corrupted",
    ]
    .into_iter()
    .flat_map(|name| {
        let path = format!("cases/{name}");
        let session = format!("{path}#{}", IDS[0]);
        [
            place.told(&["ls", &path]),
            place.told(&["verify", &session]),
            place.told(&["read", &session, "--header"]),
        ]
    })
    .collect();
    assert_snapshot!("no-such-store", told);
}

/// Wherever it is cut or a byte of it is another, there is an answer, or a refusal that names the file.
#[test]
fn damage_anywhere() {
    let place = place(&[CASE]);
    let whole = fs::read(store(&place)).unwrap();
    let mut refused = 0;
    for at in (0..whole.len()).step_by(whole.len() / 40 + 1) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0xff;
        for bytes in [&flipped, &whole[..at]] {
            fs::write(store(&place), bytes).unwrap();
            for args in [&["verify", store(&place).to_str().unwrap()][..], &["read", IDS[0], "--rows"]] {
                let output = place.run(args);
                let code = output.status.code().unwrap();
                assert!([0, 1, 3, 4].contains(&code), "{at}: {output:?}");
                let said = String::from_utf8_lossy(&output.stderr).into_owned()
                    + &String::from_utf8_lossy(&output.stdout);
                assert!(
                    code == 0 || said.contains("store.sqlite") || said.contains("no session"),
                    "{at}: {said}"
                );
                refused += u32::from(code != 0);
            }
        }
    }
    assert!(refused > 40, "{refused}");
}
