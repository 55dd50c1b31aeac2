//! What stands in the way of a migration, and what it leaves behind.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use dshlog_tests::cmd::Place;
use dshlog_tests::model::sha256_hex;
use insta::assert_snapshot;

use super::{Files, about, documents, files, is_lock, is_temp, log_of};
use crate::{bound, place};

const JSON: [&str; 4] = ["migrate", "--all", "--format", "json"];

/// Only lock files came, and no byte and no time of the others changed.
#[track_caller]
fn check_untouched(place: &Place, before: &Files) {
    let mut after = files(&place.home());
    after.retain(|path, _| !is_lock(path));
    assert!(after == *before, "nothing is other than before, but for lock files");
}

/// Writing fails in the middle, as on a full disk.
#[test]
fn no_room() {
    let place = place(&["v3-fork", "v3-thinking"]);
    let before = files(&place.home());
    // Whoever ignores the signal is told by an error, as of a full disk.
    let told = place.shell("trap '' XFSZ; ulimit -f 4; dshlog migrate --all; echo \"[$?]\"");
    assert_snapshot!("no-room", place.redacted(&told));
    check_untouched(&place, &before);
    assert_eq!(place.run(&["migrate", "--all"]).status.code(), Some(0), "with room it succeeds");
}

#[test]
fn a_folder_that_may_not_be_written_to() {
    let place = place(&["v3-fork"]);
    let Some(command) = bound(&place) else { return };
    let folder = log_of(&place, "a1df227a").parent().unwrap().to_owned();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
    let output = command(&JSON).output().unwrap();
    let told = documents(&output);
    assert_eq!(output.status.code(), Some(4));
    let document = about(&told, "a1df227a");
    assert_eq!(
        (&document["status"], &document["reason"]["code"]),
        (&"failed".into(), &"no-permission".into())
    );
    let hint = format!("hint: start it as a user who may write in {}\n", folder.display());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), hint);
    assert_eq!(about(&told, "8652561f")["status"], "migrated");
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o555, "its mode stays");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is in it but the old log");
}

/// Who cannot look everywhere says where, and does not end well.
#[test]
fn folders_that_may_not_be_looked_at() {
    let place = place(&["v3-fork", "v4-thinking"]);
    let Some(command) = bound(&place) else { return };
    let folder = log_of(&place, "a1df227a").parent().unwrap().to_owned();
    let project = folder.with_file_name("../--other--");
    fs::create_dir(&project).unwrap();
    let (folder, project) = (folder, project.canonicalize().unwrap());
    for closed in [&folder, &project] {
        fs::set_permissions(closed, fs::Permissions::from_mode(0o000)).unwrap();
    }
    let below = folder.parent().unwrap().to_str().unwrap();
    for (args, both) in [
        (&["migrate", "--all", "--dry-run"][..], true),
        (&["migrate", "--all", "-q"], true),
        (&["ls"], true),
        (&["verify"], true),
        (&["verify", "home", "-q"], true),
        (&["verify", below], false),
    ] {
        let output = command(args).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        let is_named =
            |path: &Path| told.contains(&format!("error: {}: cannot be looked at: ", path.display()));
        assert!(is_named(&folder) && is_named(&project) == both, "{args:?}: {told}");
        assert!(!told.contains("no session"), "{args:?}: {told}");
        assert_eq!(output.status.code(), Some(4), "{args:?}: {told}");
    }
    let listed = command(&["ls", "--all"]).output().unwrap();
    assert_eq!(listed.status.code(), Some(4));
    assert_eq!(String::from_utf8(listed.stdout).unwrap().matches("cannot be looked at").count(), 2);
    // A subagent of any session may lie there, and a catalog without it would be so for ever.
    let newest = log_of(&place, "8652561f").with_file_name("session.v4.jsonl.zstd");
    assert!(!newest.exists(), "published without looking everywhere");
    for closed in [&folder, &project] {
        fs::set_permissions(closed, fs::Permissions::from_mode(0o755)).unwrap();
    }
    assert_eq!(command(&["migrate", "--all"]).status().unwrap().code(), Some(0));
    assert!(newest.is_file());
}

/// Somebody has the session open.
#[test]
fn a_writer_at_work() {
    let place = place(&["v3-fork"]);
    let folder = log_of(&place, "a1df227a").parent().unwrap().to_owned();
    let lock = File::create(folder.join("session.lock")).unwrap();
    lock.lock().unwrap();
    let told = place.told(&["migrate", "--all"]) + &place.told(&["migrate", "a1df227a", "--dry-run"]);
    let documents = documents(&place.run(&JSON));
    assert_eq!(about(&documents, "a1df227a")["reason"]["code"], "locked");
    drop(lock);
    assert_snapshot!("locked", told + &place.told(&["migrate", "--all"]));
}

/// A process that died left its file; it is nobody's, and stays.
#[test]
fn leftovers() {
    let place = place(&["v3-fork"]);
    let folder = log_of(&place, "a1df227a").parent().unwrap().to_owned();
    let temp = folder.join("session.migration.0123456789abcdef.jsonl.zstd.tmp");
    fs::write(&temp, "half a log").unwrap();
    assert_eq!(place.run(&["migrate", "--all"]).status.code(), Some(0));
    assert_eq!(fs::read(&temp).unwrap(), b"half a log");
    let temps = files(&place.home()).into_keys().filter(|path| is_temp(path)).count();
    assert_eq!(temps, 1);
}

/// The name of the new log is taken by what is no log.
#[test]
fn a_taken_name() {
    type Take = fn(&Path);
    let takes: [(&str, Take); 2] = [
        ("folder", |name| fs::create_dir(name).unwrap()),
        ("link to nothing", |name| symlink("nowhere", name).unwrap()),
    ];
    for (what, take) in takes {
        let place = place(&["v3-fork"]);
        let old = log_of(&place, "a1df227a");
        let name = old.with_file_name("session.v4.jsonl.zstd");
        take(&name);
        let before = name.symlink_metadata().unwrap();
        let output = place.run(&JSON);
        assert_eq!(output.status.code(), Some(3), "{what}");
        let told = documents(&output);
        let document = about(&told, "a1df227a");
        assert_eq!(document["status"], "refused", "{what}");
        assert_eq!(document["from"], 3, "{what}");
        assert_eq!(document["reason"]["code"], "target-conflict", "{what}");
        assert_eq!(document["reason"]["at"]["path"].as_str(), name.to_str(), "{what}");
        assert_eq!(about(&told, "8652561f")["status"], "migrated");
        assert_eq!(name.symlink_metadata().unwrap().modified().unwrap(), before.modified().unwrap());
        assert_eq!(place.run(&["migrate", "a1df227a", "--dry-run"]).status.code(), Some(3), "{what}");
    }
}

/// Neighbours that leave no doubt that there is nothing to migrate to.
#[test]
fn neighbours() {
    for (name, code, from) in
        [("session.v5.jsonl.zstd", "newer-format", 5), ("session.v3.jsonl", "mixed-encodings", 3)]
    {
        let place = place(&["v3-fork"]);
        let old = log_of(&place, "a1df227a");
        fs::copy(&old, old.with_file_name(name)).unwrap();
        let before = files(&place.home());
        let output = place.run(&["migrate", "a1df227a", "--format", "json"]);
        let told = documents(&output);
        assert_eq!(output.status.code(), Some(3), "{name}");
        assert_eq!(about(&told, "a1df227a")["reason"]["code"], code);
        assert_eq!(about(&told, "a1df227a")["from"], from, "{name}");
        check_untouched(&place, &before);
        assert_eq!(place.run(&JSON).status.code(), Some(1), "{name}");
    }
}

/// What came of single sessions makes one exit code: that of the worst.
#[test]
fn the_worst_counts() {
    let place = place(&["v3-fork", "broken-v3-seq-gap-middle"]);
    let ended = || place.run(&["migrate", "--all", "--dry-run"]).status.code();
    assert_eq!(ended(), Some(1), "refused");
    let folder = log_of(&place, "a1df227a").parent().unwrap().to_owned();
    let lock = File::create(folder.join("session.lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(ended(), Some(3), "locked");
    // Beyond a limit of this program, which says nothing of the log.
    let long = folder.with_file_name("session-long");
    fs::create_dir(&long).unwrap();
    let header = r#"{"type":"session","version":3,"id":"session-long","createdAt":1,"cwd":"/tmp/ws/project","isSeeded":false,"delegationDepth":0}"#;
    fs::write(long.join("session.v3.jsonl"), format!("{header}\n")).unwrap();
    File::options().write(true).open(long.join("session.v3.jsonl")).unwrap().set_len(257 << 20).unwrap();
    assert_eq!(ended(), Some(4), "beyond a limit");
    let output = place.run(&["migrate", "long", "--dry-run", "--format", "json"]);
    let told = documents(&output);
    assert_eq!(output.status.code(), Some(4));
    assert_eq!((&told[0]["status"], &told[0]["reason"]["code"]), (&"failed".into(), &"limit".into()));
    fs::remove_dir_all(long).unwrap();
    fs::create_dir_all(folder.with_file_name("session-c").join("session.v4.jsonl.zstd")).unwrap();
    assert_eq!(ended(), Some(4), "failed");
    let told = documents(&place.run(&JSON));
    assert_eq!(about(&told, "c")["status"], "failed");
    assert_eq!(about(&told, "8652561f")["status"], "migrated", "whatever stands in the way of others");
}

/// Links are not listed, as by dsh; named, a linked session is migrated where it is.
#[test]
fn a_linked_folder() {
    let place = place(&["v3-fork"]);
    let folder = log_of(&place, "a1df227a").parent().unwrap().to_owned();
    let elsewhere = place.path().join("elsewhere");
    fs::rename(&folder, &elsewhere).unwrap();
    symlink(&elsewhere, &folder).unwrap();
    let told = place.told(&["migrate", "--all"]) + &place.told(&["migrate", "a1df227a"]);
    assert!(elsewhere.join("session.v4.jsonl.zstd").is_file());
    assert_snapshot!("link", told);
}

/// Parents that are their own children, at one and at two removes. The hashes are those of what the official writer
/// published.
#[test]
fn own_ancestors() {
    let place = place(&["v3-sdk-minimal"]);
    let old = log_of(&place, "baaf81cb");
    let text = fs::read_to_string(&old).unwrap();
    let (_, rows) = text.split_once('\n').unwrap();
    let project = old.ancestors().nth(2).unwrap().to_owned();
    fs::remove_dir_all(old.parent().unwrap()).unwrap();
    let new = |id: &str, parent: &str| -> PathBuf {
        let folder = project.join(id);
        fs::create_dir(&folder).unwrap();
        let header = format!(
            r#"{{"type":"session","version":3,"id":"{id}","createdAt":1796046323347,"cwd":"/tmp/ws/project","parentSession":"{parent}","isSeeded":false,"origin":"subagent","delegationDepth":1}}"#
        );
        fs::write(folder.join("session.v3.jsonl"), format!("{header}\n{rows}")).unwrap();
        folder.join("session.v4.jsonl")
    };
    let own = "session-baaf81cb-aa2e-5126-9c1f-343716e699ea";
    let logs = [
        (new(own, own), "22abf999f7d6cd2769562cdaf7dd8ed7d971914814720f016d54cbe81b265974"),
        (new("session-a", "session-b"), "e7af2f31097c0906a6b2346ded6a7222eb4bee6d3f06380f3eb89479305c969b"),
        (new("session-b", "session-a"), "01d2c70d1c46c40553716d9b89376040afa02697932d21f6ccc80e81451601a9"),
    ];
    assert_eq!(place.run(&["migrate", "--all"]).status.code(), Some(0));
    for (log, sha256) in logs {
        assert_eq!(sha256_hex(&fs::read(&log).unwrap()), sha256, "{}", log.display());
    }
}

/// Two at once get into each other's way and do no harm: each session is published by one of them.
#[test]
fn two_at_once() {
    let place =
        place(&["v3-fork", "v3-subagent", "v3-compact", "v0-0.1.0rc6-odd-ids", "v0-0.1.2a3-subagent-depth2"]);
    let before = files(&place.home());
    let running: Vec<_> = (0..2)
        .map(|_| place.command(&JSON).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap())
        .collect();
    let ended: Vec<_> = running.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let told: Vec<_> = ended.iter().map(documents).collect();
    for (output, told) in ended.iter().zip(&told) {
        let is_locked = told.iter().any(|document| document["status"] == "locked");
        assert_eq!(output.status.code(), Some(if is_locked { 3 } else { 0 }));
        assert_eq!(told.len(), before.len(), "one old log a session, one document");
    }
    for (one, other) in told[0].iter().zip(&told[1]) {
        let both = [&one["status"], &other["status"]];
        assert_eq!(both.iter().filter(|status| **status == "migrated").count(), 1, "{one}\n{other}");
        assert!(both.iter().all(|status| *status != "failed" && *status != "refused"), "{one}\n{other}");
    }
    let after = files(&place.home());
    assert!(after.keys().all(|path| !is_temp(path)));
    assert_eq!(after.keys().filter(|path| !is_lock(path)).count(), 2 * before.len());
}
