//! `dshlog fork`, and what `read --recovered` and `verify` say of open turns.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[cfg(unix)]
mod trouble;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use dshlog_codec::home::Walk;
use dshlog_tests::cmd::Place;
use dshlog_tests::model::{repository, sha256_hex};
use dshlog_tests::runtime::plain_text;
use insta::assert_snapshot;
use serde_json::Value;

use crate::place;

#[test]
fn forks() {
    let place = place(&["v4-tools-parallel"]);
    let told: String = [
        &["fork", "0b63ba1f", "--at", "21", "--id", "in-a-step"][..],
        &["fork", "0b63ba1f", "--at", "end", "--id", "at-the-end", "--dry-run"],
        &["fork", "0b63ba1f", "--id", "behind-the-turn", "--format", "json"],
        &["fork", "in-a-step", "--at", "4", "--dry-run"],
        &["read", "in-a-step"],
        &["read", "behind-the-turn", "--events", "--seq", "31.."],
        &["verify"],
        &["doctor"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("forks", told);
}

#[test]
fn what_is_not_there() {
    let place = place(&["v4-kill-tool-open", "v4-empty", "broken-z-seq-gap-middle", "v4-tools-parallel"]);
    let stray = place.path().join("stray.jsonl");
    let log = place.run(&["read", "latest", "--rows"]).stdout;
    fs::write(&stray, log).unwrap();
    let told: String = [
        &["fork", "0b63ba1f", "--at", "1000"][..],
        &["fork", "0b63ba1f", "--at", "-1"],
        &["fork", "0b63ba1f", "--at", "last"],
        &["fork", "0b63ba1f", "--id", ""],
        &["fork", "0b63ba1f", "--id", "session-b5251213-e32a-4b27-b8c1-e4e6393a3c0b"],
        // Nothing of it was ended; nothing is in it; it is damaged.
        &["fork", "b5251213"],
        &["fork", "249cf472"],
        &["fork", "249cf472", "--at", "0", "--id", "x"],
        &["fork", "b9f4b8bb"],
        &["fork", "nobody"],
        &["fork", "stray.jsonl"],
        &["fork", "stray.jsonl", "--out", "elsewhere", "--id", "a/b é", "--at", "3"],
        &["fork", "0b63ba1f", "--format", "table"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("not-there", told);
    let found: Vec<_> = files(&place.path().join("elsewhere")).into_keys().collect();
    let folder = Path::new("--tmp-ws-project--/a~002Fb~0020~00E9");
    assert_eq!(found, [folder.join("session.lock"), folder.join("session.v4.jsonl")], "raw as its parent");
}

/// A fork of a session without events begins with its mark, which has the time of the fork.
#[test]
fn of_nothing() {
    let place = place(&["broken-z-header-frame-only"]);
    let report = fork(&place, &["latest", "--at", "end", "--id", "x"]);
    let [at, cut, events] = ["at", "cut", "events"].map(|member| report[member].as_u64());
    assert_eq!((at, cut, events), (None, Some(0), Some(1)));
    let told = place.told(&["read", "x", "--events"]);
    assert!(told.contains("{\"type\":\"session/end-seed\",\"seq\":0,\"time\":1796110000000,\"data\":{\"inherited\":true}}\n[0]"), "{told}");
}

/// Forks that dsh 0.2.1-rc.2 made, and ours: the same headers, the same rows.
#[test]
fn as_recorded() {
    let recorded = fs::read_to_string(repository().join("corpora/forks.jsonl")).unwrap();
    let recorded: Vec<Value> = recorded.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(recorded.len() > 80, "{}", recorded.len());
    let mut places = BTreeMap::new();
    for theirs in &recorded {
        let case = theirs["case"].as_str().unwrap();
        let place = places.entry(case).or_insert_with(|| place(&[case]));
        let (session, at) = (theirs["session"].as_str().unwrap(), theirs["at"].to_string());
        let out = format!("forks of {session}");
        let report = fork(place, &[session, "--at", &at, "--id", &format!("fork-{at}"), "--out", &out]);
        let path = Path::new(report["path"].as_str().unwrap());
        let text = plain_text(path.file_name().unwrap(), &fs::read(path).unwrap()).unwrap();
        let end = text.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let mut header: Value = serde_json::from_slice(&text[..end]).unwrap();
        assert_eq!(header.as_object_mut().unwrap().remove("createdAt"), Some(1_796_110_000_000_u64.into()));
        let what = format!("{case}: {session} at {at}");
        assert_eq!(header, theirs["header"], "{what}");
        assert_eq!(report["cut"], theirs["cut"], "{what}");
        let rows = String::from_utf8(text[end..].to_vec()).unwrap();
        let cut = usize::try_from(theirs["cut"].as_u64().unwrap()).unwrap();
        assert_eq!(rows.split_inclusive('\n').skip(cut).collect::<Value>(), theirs["own"], "{what}");
        assert_eq!(sha256_hex(rows.as_bytes()), theirs["sha256"], "{what}");
        let closers = report["open"].get("closers").map_or(0, |closers| closers.as_u64().unwrap());
        assert_eq!(closers + 1, theirs["own"].as_array().unwrap().len() as u64, "{what}");
    }
    for (case, place) in places {
        let verified = place.run(&["verify", "--root", "home/sessions"]);
        assert!(verified.status.success(), "{case}");
        for root in fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().path()) {
            if root != place.home() {
                assert!(
                    place.run(&["verify", root.to_str().unwrap()]).status.success(),
                    "{}",
                    root.display()
                );
            }
        }
    }
}

/// The parent and all beside it are as they were; the fork is for its owner alone.
#[test]
fn nothing_else_changes() {
    for case in
        ["v0-0.1.2a3-store-fork", "v3-kill-tool-resumed", "v4-raw-jsonl", "v4-torn-large-torn", "v4-subagent"]
    {
        let place = place(&[case]);
        let before = files(&place.home());
        let dry = fork(&place, &["latest", "--at", "end", "--id", "x", "--dry-run"]);
        assert_eq!(files(&place.home()), before, "{case}");
        let wet = fork(&place, &["latest", "--at", "end", "--id", "x"]);
        for (member, value) in wet.as_object().unwrap() {
            let expected = if member == "status" { &Value::from("would-fork") } else { value };
            assert_eq!(&dry[member], expected, "{case}: {member}");
        }
        let mut after = files(&place.home());
        after.retain(|path, _| !before.contains_key(path));
        let new: Vec<_> = after.keys().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        let is_raw = wet["encoding"] == "raw";
        let log = if is_raw { "session.v4.jsonl" } else { "session.v4.jsonl.zstd" };
        assert_eq!(new, ["session.lock", log], "{case}");
        let mut all = files(&place.home());
        all.retain(|path, _| before.contains_key(path));
        assert_eq!(all, before, "{case}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            let log = Path::new(wet["path"].as_str().unwrap());
            assert_eq!((mode(log), mode(log.parent().unwrap())), (0o600, 0o700), "{case}");
        }
        // Of the ids that it gives itself none is like another, and all are as those of dsh.
        let names =
            [0, 1].map(|_| fork(&place, &["latest", "--at", "end"])["session"].as_str().unwrap().to_owned());
        assert_ne!(names[0], names[1]);
        assert!(names[0].len() == "session-".len() + 36 && names[0].starts_with("session-"), "{names:?}");
    }
}

/// In another root a fork is stored as the sessions there are.
#[test]
fn the_encoding_of_a_root() {
    let raw = place(&["v4-raw-jsonl"]);
    let place = place(&["v4-thinking", "v4-compact"]);
    let out = raw.home();
    for (out, encoding) in [(out.to_str().unwrap(), "raw"), ("nowhere yet", "zstd"), ("home", "zstd")] {
        let report = fork(&place, &["latest", "--id", "x", "--out", out]);
        assert_eq!(report["encoding"], encoding, "{out}");
    }
    let back =
        raw.run(&["fork", "x", "--id", "y", "--out", place.home().to_str().unwrap(), "--format", "json"]);
    let report: Value = serde_json::from_slice(&back.stdout).unwrap();
    assert_eq!(report["encoding"], "zstd");
    assert_eq!(report["open"], Value::Null);
    for place in [&raw, &place] {
        let told = place.told(&["doctor"]);
        assert!(!told.contains("mixed"), "{told}");
    }
}

#[test]
fn recovered() {
    let place = place(&["v4-kill-tool-open", "v4-kill-stream-open", "v4-multi-turn"]);
    let told: String = [
        &["read", "b5251213", "--recovered"][..],
        &["read", "b5251213", "--recovered", "--surface"],
        &["read", "b5251213", "--recovered", "--surface", "--format", "json"],
        &["read", "b5251213", "--recovered", "--events", "--seq", "24.."],
        &["read", "b5251213", "--recovered", "--events", "--seq", "23..", "--format", "text"],
        &["read", "b5251213", "--recovered", "--turn", "1", "--seq", "24.."],
        &["read", "52466c34", "--recovered", "--turn", "2"],
        &["read", "latest", "--recovered", "--turn", "2"],
        &["read", "latest", "--recovered", "--events", "--type", "session/end-seed"],
        &["read", "latest", "--recovered", "--follow"],
        &["read", "latest", "--recovered", "--at", "3"],
        &["verify"],
        &["verify", "--format", "json"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("recovered", told);
}

/// The history that the next process has: that of the log which a process has gone on with, as far as it goes.
#[test]
fn recovered_messages_are_those_of_the_resumed_session() {
    let open = place(&["v4-kill-tool-open"]);
    let messages = |place: &Place, args: &[&str]| -> Vec<Value> {
        let output = place.run(&[&["read", "latest", "--messages"], args].concat());
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let recovered = messages(&open, &["--recovered"]);
    let stored = messages(&open, &[]);
    assert_eq!(recovered.len(), stored.len() + 1);
    assert_eq!(recovered[..stored.len()], stored);
    let resumed = messages(&place(&["v4-kill-tool-resumed"]), &["--at", "27"]);
    assert_eq!(recovered, resumed);
}

/// Run `fork`, which must do it. Gives its document.
#[track_caller]
fn fork(place: &Place, args: &[&str]) -> Value {
    let output = place.run(&[&["fork"], args, &["--format", "json"]].concat());
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["schema"], "dshlog.fork/1");
    document
}

/// Every file below a folder, by its path from there.
fn files(below: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn walk(folder: &Path, below: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                walk(&path, below, found);
            } else {
                found.insert(path.strip_prefix(below).unwrap().to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(below, below, &mut found);
    found
}

/// The sessions of a home that can be read, by the names of their folders.
#[cfg(unix)]
fn sessions(place: &Place) -> Vec<String> {
    let walk = Walk::new(&place.home().join("sessions")).unwrap();
    walk.sessions.iter().map(|session| session.folder.to_str().unwrap().to_owned()).collect()
}
