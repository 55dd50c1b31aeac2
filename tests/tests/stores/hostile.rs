//! Rows that no runtime stored: every command says what is wrong and where, and goes on with the rest.

use std::path::PathBuf;

use dshlog_tests::cmd::Place;
use rusqlite::Connection;

use crate::PROGRAM;

/// The tables without any of the promises of real ones.
const TABLES: &str = "
  CREATE TABLE sessions (id, version, created_at, cwd, parent_session, seed_length, origin, delegation_depth,
    agent_preset, incarnation, revision);
  CREATE TABLE events (session_id, seq, type, time, data, source_event_seqs, surface_op, ignorable);
  PRAGMA application_id = 1146308688;
  PRAGMA user_version = 15;
  INSERT INTO sessions VALUES ('good', 0, 5, '/w', NULL, NULL, NULL, NULL, NULL, 'x', 1);
  INSERT INTO events VALUES ('good', 0, 'turn/start', 5, '{\"turn\":1}', NULL, NULL, NULL);
  INSERT INTO events VALUES ('good', 1, 'turn/end', 5, '{\"turn\":1,\"reason\":{\"kind\":\"completed\"}}', NULL, NULL, NULL);
";

/// A home with a store of one good session.
fn home() -> (Place, PathBuf, Connection) {
    let place = Place::empty(PROGRAM);
    std::fs::create_dir(place.home().join("sessions")).unwrap();
    let path = place.home().join("sessions/store.sqlite");
    let database = Connection::open(&path).unwrap();
    database.execute_batch(TABLES).unwrap();
    (place, path, database)
}

/// Run a command that may refuse, but must not fall over.
#[track_caller]
fn may_refuse(place: &Place, args: &[&str]) {
    let output = place.run(args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code <= 4), "{args:?}: {stderr}");
}

/// Commands that look at all sessions. What is sound is listed, whatever lies beside it.
fn all(place: &Place) {
    for args in [
        &["ls", "--long"][..],
        &["verify"],
        &["stats", "--format", "json"],
        &["doctor"],
        &["search", "x", "--scan"],
        &["index", "--index", "index"],
        &["export", "--all", "--format", "parquet", "--out", "set"],
    ] {
        may_refuse(place, args);
    }
    let listed = String::from_utf8(place.run(&["ls", "--format", "json"]).stdout).unwrap();
    assert!(listed.contains("#good\""), "{listed}");
}

/// Commands that are given a session.
fn one(place: &Place, name: &str) {
    for args in [
        &["read", name][..],
        &["read", name, "--lenient"],
        &["read", name, "--rows"],
        &["verify", name],
        &["request", name],
        &["export", name, "--format", "md"],
        &["migrate", name],
    ] {
        may_refuse(place, args);
    }
}

/// A fault in a row is told by the session and its line: the header is line 1, the event of seq 0 line 2.
#[test]
fn rows() {
    let rows = [
        ("2, 'turn/start', 5, '{\"turn\":1}', NULL, NULL, NULL", "row-gap", 3),
        ("0, 'turn/start', 5, '{\"turn\":1}', NULL, NULL, NULL", "row-gap", 3),
        ("-1, 'turn/start', 5, '{\"turn\":1}', NULL, NULL, NULL", "row-gap", 2),
        ("NULL, 'turn/start', 5, '{\"turn\":1}', NULL, NULL, NULL", "row-gap", 2),
        ("9223372036854775807, 'turn/start', 5, '{\"turn\":1}', NULL, NULL, NULL", "row-gap", 3),
        ("1, NULL, 5, '{\"turn\":1}', NULL, NULL, NULL", "unknown-event", 3),
        ("1, 7, 5, '{\"turn\":1}', NULL, NULL, NULL", "unknown-event", 3),
        ("1, 'step/start', NULL, '{\"turn\":1,\"step\":1}', NULL, NULL, NULL", "envelope", 3),
        ("1, 'step/start', 1.5, '{\"turn\":1,\"step\":1}', NULL, NULL, NULL", "envelope", 3),
        ("1, 'step/start', 9e999, '{\"turn\":1,\"step\":1}', NULL, NULL, NULL", "envelope", 3),
        ("1, 'turn/start', 5, '{\"turn\":', NULL, NULL, NULL", "row-syntax", 3),
        ("1, 'turn/start', 5, '', NULL, NULL, NULL", "row-syntax", 3),
        ("1, 'turn/start', 5, x'00ff', NULL, NULL, NULL", "payload", 3),
        ("1, 'turn/start', 5, NULL, NULL, NULL, NULL", "payload", 3),
        ("1, 'turn/start', 5, '{},\"type\":\"turn/end\"', NULL, NULL, NULL", "row-syntax", 3),
        ("1, 'turn/start', 5, '{}', '[0', NULL, NULL", "row-syntax", 3),
        ("1, 'step/start', 5, '{\"turn\":1,\"step\":1}', '[1]', NULL, NULL", "envelope", 3),
        ("1, 'turn/start', 5, '{}', NULL, 'append', NULL", "row-syntax", 3),
        ("1, 'step/start', 5, '{\"turn\":1,\"step\":1}', NULL, NULL, 'yes'", "envelope", 3),
    ];
    let (place, path, database) = home();
    for (nth, (row, _, _)) in rows.iter().enumerate() {
        database
            .execute_batch(&format!(
                "INSERT INTO sessions SELECT 'bad{nth}', version, created_at, cwd, NULL, NULL, NULL, NULL, NULL, 'y', 1
                   FROM sessions WHERE id = 'good';
                 INSERT INTO events VALUES ('bad{nth}', 0, 'turn/start', 5, '{{\"turn\":1}}', NULL, NULL, NULL);
                 INSERT INTO events VALUES ('bad{nth}', {row});
                 INSERT INTO events SELECT 'bad{nth}', seq + 1, type, time, data, NULL, NULL, NULL FROM events
                   WHERE session_id = 'good' AND seq = 1"
            ))
            .unwrap();
    }
    drop(database);
    for (nth, (row, code, line)) in rows.into_iter().enumerate() {
        let at = format!("{}#bad{nth}", path.display());
        let output = place.run(&["verify", &at, "--format", "json"]);
        let told = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{row}: {told}");
        let report: serde_json::Value = serde_json::from_str(&told).unwrap();
        assert_eq!((&report["path"], &report["ok"]), (&at.as_str().into(), &false.into()), "{row}");
        let fault = &report["findings"][0];
        // Rows stand in the order of their seqs: what comes before all others is the second line.
        assert_eq!((&fault["code"], &fault["at"]["line"]), (&code.into(), &line.into()), "{row}: {told}");
        let error = place.told(&["read", &format!("bad{nth}")]);
        let place_of = format!("store.sqlite#bad{nth}, V0, line {line}");
        assert!(error.contains(&place_of), "{row}: {error}");
        one(&place, &at);
    }
    // The others are what they were.
    assert!(place.run(&["verify", &format!("{}#good", path.display())]).status.success());
    all(&place);
}

#[test]
fn sessions() {
    let rows = [
        "NULL, 0, 5, '/w', NULL, NULL, NULL, NULL, NULL, 'x', 1",
        "'', 0, 5, '/w', NULL, NULL, NULL, NULL, NULL, 'x', 1",
        "'twice', 0, 5, '/w', NULL, NULL, NULL, NULL, NULL, 'x', 1",
        "'twice', 0, 5, '/w', NULL, NULL, NULL, NULL, NULL, 'y', 2",
        "'..', 0, 5, '/w', NULL, NULL, NULL, NULL, NULL, 'x', 1",
        "'a/b#c', 0, 5, '/w', NULL, NULL, NULL, NULL, NULL, 'x', 1",
        "'latest', 0, 5, '/w', NULL, NULL, NULL, NULL, NULL, 'x', 1",
        "char(27, 10, 0, 55357), 0, 5, '/w', NULL, NULL, NULL, NULL, NULL, 'x', 1",
        "x'ff00', 0, 5, '/w', NULL, NULL, NULL, NULL, NULL, 'x', 1",
        "7, 0, 5, '/w', NULL, NULL, NULL, NULL, NULL, 'x', 1",
        "hex(zeroblob(100000)), 0, 5, '/w', NULL, NULL, NULL, NULL, NULL, 'x', 1",
        "'bad', NULL, 5, '/w', NULL, NULL, NULL, NULL, NULL, 'x', 1",
        "'bad', 4, 5, '/w', NULL, NULL, NULL, NULL, NULL, 'x', 1",
        "'bad', 0, NULL, '/w', NULL, NULL, NULL, NULL, NULL, 'x', 1",
        "'bad', 0, 9223372036854775807, '/w', NULL, NULL, NULL, NULL, NULL, 'x', 1",
        "'bad', 0, -9223372036854775808, '/w', NULL, NULL, NULL, NULL, NULL, 'x', -1",
        "'bad', 0, 5, 7, NULL, NULL, NULL, NULL, NULL, 'x', 1",
        "'bad', 0, 5, 'C:\\w', NULL, NULL, NULL, NULL, NULL, 'x', 1",
        "'bad', 0, 5, '/w', 'bad', 1000000, 'subagent', -1, 7, NULL, NULL",
        "'bad', 0, 5, '/w', 'good', 1, 'subagent', 1, 'p', x'00', 'z'",
        "'bad', 0, 5, '/w', 'ghost', 1, NULL, NULL, NULL, 'x', 1e300",
    ];
    let (place, path, database) = home();
    for (nth, row) in rows.iter().enumerate() {
        let row = row.replace("'bad'", &format!("'bad{nth}'"));
        database.execute_batch(&format!("INSERT INTO sessions VALUES ({row})")).unwrap();
    }
    drop(database);
    all(&place);
    let names = ["", "..", "a/b#c", "latest", "latest~1", "twice", "7", "\u{1b}", "0000"].map(str::to_owned);
    for name in names.into_iter().chain((0..rows.len()).map(|nth| format!("bad{nth}"))) {
        one(&place, &format!("{}#{name}", path.display()));
    }
    assert!(place.run(&["verify", &format!("{}#good", path.display())]).status.success());
}

/// More text than is held in memory goes through a file, and is the same.
#[test]
fn a_huge_row() {
    let (place, path, database) = home();
    let size = 70 << 20;
    database
        .execute(
            "INSERT INTO events VALUES ('good', 2, 'turn/start', 5, '{\"turn\":2,\"pad\":\"' || hex(zeroblob(?1)) || '\"}', NULL, NULL, NULL)",
            [size / 2],
        )
        .unwrap();
    database
        .execute_batch("INSERT INTO events SELECT session_id, 3, type, time, '{\"turn\":2,\"reason\":{\"kind\":\"completed\"}}', NULL, NULL, NULL FROM events WHERE seq = 1")
        .unwrap();
    drop(database);
    let output = place.run(&["read", &format!("{}#good", path.display()), "--rows"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines: Vec<usize> = output.stdout.split(|byte| *byte == b'\n').map(<[u8]>::len).collect();
    assert_eq!(lines.len(), 6);
    assert!(lines[3] > size, "{lines:?}");
}
