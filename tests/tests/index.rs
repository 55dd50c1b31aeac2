//! The life of an index: logs that grow, come, go and change, updates that are killed, disks that are full, two at once.
//! The right answer is always the index that is made anew.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use dshlog_tests::cmd::Place;
use insta::assert_snapshot;
use serde_json::Value;

use crate::place;

/// What an update tells.
fn index(place: &Place, args: &[&str]) -> Value {
    let output = place.run(&[&["index", "--format", "json"], args].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn counts(told: &Value) -> [u64; 4] {
    ["read", "continued", "removed", "unchanged"].map(|name| told[name].as_u64().unwrap())
}

/// All documents of an index as it is, each with everything that is told of it but its rank.
fn documents(place: &Place, args: &[&str]) -> BTreeSet<String> {
    found(place, &[args, &["--no-update"]].concat())
}

/// All documents that a search finds.
fn found(place: &Place, args: &[&str]) -> BTreeSet<String> {
    let query = "in:title,prompt,context,answer,reasoning,call,result,error,summary,system,todo";
    let all = ["search", query, "--flat", "--limit", "10000", "--format", "json"];
    let output = place.run(&[&all, args].concat());
    assert!(output.status.code().is_some_and(|code| code < 2), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let hits = found["hits"].as_array().unwrap();
    assert_eq!(found["documents"], hits.len(), "all of them");
    let mut all = BTreeSet::new();
    for hit in hits {
        let mut hit = hit.clone();
        for ranked in ["score", "number", "snippet", "count"] {
            hit.as_object_mut().unwrap().remove(ranked);
        }
        assert!(all.insert(hit.to_string()), "once: {hit}");
    }
    all
}

/// An index that was kept holds what one that is made anew holds.
fn is_as_made_anew(place: &Place, what: &str) {
    let fresh = place.path().join("fresh");
    let _ = fs::remove_dir_all(&fresh);
    let fresh = fresh.to_str().unwrap();
    index(place, &["--index", fresh]);
    let (kept, made) = (documents(place, &[]), documents(place, &["--index", fresh]));
    assert!(!made.is_empty());
    let difference: Vec<_> = kept.symmetric_difference(&made).take(3).collect();
    assert!(difference.is_empty(), "{what}: {} against {}: {difference:#?}", kept.len(), made.len());
}

fn logs(place: &Place) -> Vec<PathBuf> {
    let walk = dshlog_codec::home::Walk::new(&place.home().join("sessions")).unwrap();
    walk.sessions.iter().map(|session| session.newest().unwrap().path.clone()).collect()
}

/// Where the frames of a log end.
fn frames(bytes: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        at += zstd::zstd_safe::find_frame_compressed_size(&bytes[at..]).unwrap();
        ends.push(at);
    }
    ends
}

#[test]
fn a_log_that_grows_is_read_on() {
    let place = place(&["v4-compact"]);
    let log = logs(&place).remove(0);
    let all = fs::read(&log).unwrap();
    let frames = frames(&all);
    fs::write(&log, &all[..frames[0]]).unwrap();
    assert_eq!(counts(&index(&place, &[])), [1, 0, 0, 0]);
    for end in &frames[1..] {
        fs::write(&log, &all[..*end]).unwrap();
        assert_eq!(counts(&index(&place, &[])), [0, 1, 0, 0], "{end}");
        assert_eq!(counts(&index(&place, &[])), [0, 0, 0, 1], "{end}");
    }
    // A compaction came in between: what it replaced says so.
    assert!(documents(&place, &[]).iter().any(|hit| !hit.contains("\"replacedBy\":null")));
    is_as_made_anew(&place, "grown");
}

#[test]
fn a_torn_tail_that_is_mended_is_read_anew() {
    let place = place(&["v4-tools-parallel"]);
    let log = logs(&place).remove(0);
    let all = fs::read(&log).unwrap();
    let end = *frames(&all).iter().rev().nth(1).unwrap();
    fs::write(&log, &all[..end + 20]).unwrap();
    let told = index(&place, &[]);
    assert_eq!(told["unsound"][0]["partial"], true, "{told}");
    fs::write(&log, &all).unwrap();
    let told = index(&place, &[]);
    assert_eq!((counts(&told), told["unsound"].as_array().unwrap().len()), ([1, 0, 0, 0], 0));
    is_as_made_anew(&place, "mended");
}

#[test]
fn logs_come_go_and_change() {
    let place = place(&["v4-multi-turn", "v4-tools-parallel", "v4-todo"]);
    assert_eq!(counts(&index(&place, &[])), [3, 0, 0, 0]);
    let logs = logs(&place);
    // One gone, one with the content of another session under its name, one moved to another inode.
    fs::remove_dir_all(logs[0].parent().unwrap()).unwrap();
    let other = fs::read(&logs[2]).unwrap();
    fs::write(&logs[1], &other).unwrap();
    fs::remove_file(&logs[2]).unwrap();
    fs::write(&logs[2], &other).unwrap();
    assert_eq!(counts(&index(&place, &[])), [1, 1, 1, 0]);
    is_as_made_anew(&place, "changed");
}

#[test]
fn a_migrated_session_stands_for_itself_once() {
    let place = place(&["v3-sdk-minimal"]);
    index(&place, &[]);
    let before = documents(&place, &[]).len();
    assert!(place.run(&["migrate", "--all"]).status.success());
    assert_eq!(counts(&index(&place, &[])), [1, 0, 1, 0]);
    assert_eq!(documents(&place, &[]).len(), before);
    is_as_made_anew(&place, "migrated");
}

#[test]
fn copies_of_a_parent_are_found_once() {
    let place = place(&["v4-fork"]);
    index(&place, &[]);
    let whole = documents(&place, &[]);
    let with_copies = whole.iter().filter(|hit| !hit.contains("\"copies\":[]")).count();
    assert!(with_copies > 0, "{whole:#?}");
    assert!(!whole.iter().any(|hit| hit.contains("\"isInherited\":true")));

    // Without the parent they are the child's; with it again they are not.
    let header = |log: &Path| dshlog_codec::LogFile::open(log).unwrap().header().unwrap();
    let parent = logs(&place).into_iter().find(|log| !header(log).is_seeded).unwrap();
    let aside = place.path().join("aside");
    fs::rename(parent.parent().unwrap(), &aside).unwrap();
    assert_eq!(counts(&index(&place, &[])), [1, 0, 1, 0]);
    assert!(documents(&place, &[]).iter().any(|hit| hit.contains("\"isInherited\":true")));
    is_as_made_anew(&place, "without the parent");
    fs::rename(&aside, parent.parent().unwrap()).unwrap();
    assert_eq!(counts(&index(&place, &[])), [2, 0, 0, 0]);
    assert_eq!(documents(&place, &[]), whole);
}

/// The same without an update of everything: a search sees what happened to the parent.
#[test]
fn a_search_sees_that_a_parent_came_or_went() {
    let place = place(&["v4-fork"]);
    index(&place, &[]);
    let header = |log: &Path| dshlog_codec::LogFile::open(log).unwrap().header().unwrap();
    let parent = logs(&place).into_iter().find(|log| !header(log).is_seeded).unwrap();
    let aside = place.path().join("aside");
    fs::rename(parent.parent().unwrap(), &aside).unwrap();
    assert_eq!(found(&place, &[]), found(&place, &["--scan"]));
    fs::rename(&aside, parent.parent().unwrap()).unwrap();
    assert_eq!(found(&place, &[]), found(&place, &["--scan"]));
    is_as_made_anew(&place, "seen by a search");
}

/// A session that cannot be told, with logs in both encodings, is not gone: its texts stay as they were, its fork is left
/// alone, and a search and an update agree.
#[test]
fn what_cannot_be_looked_at_is_not_gone() {
    let place = place(&["v4-fork"]);
    index(&place, &[]);
    let whole = documents(&place, &[]);
    let header = |log: &Path| dshlog_codec::LogFile::open(log).unwrap().header().unwrap();
    let parent = logs(&place).into_iter().find(|log| !header(log).is_seeded).unwrap();
    let other = parent.with_extension("");
    assert_ne!(other, parent);
    fs::write(&other, "").unwrap();
    assert_eq!(documents(&place, &[]), whole, "by a search");
    let told = index(&place, &[]);
    assert_eq!(counts(&told), [0, 0, 0, 1]);
    assert!(told["unsound"].as_array().unwrap().iter().any(|log| log["path"].as_str().is_some()), "{told}");
    assert_eq!(documents(&place, &[]), whole, "by an update");
}

/// What no reader can open is made anew by the search that meets it, and by an update.
#[test]
fn a_search_makes_anew_what_cannot_be_opened() {
    let place = place(&["v4-multi-turn"]);
    let folder = place.path().join("index");
    let kept = ["--no-update", "--index", "index"];
    index(&place, &["--index", "index"]);
    let expected = found(&place, &["--scan"]);
    for kind in [".fast", ".fieldnorm", ".idx", ".pos", ".store", ".term"] {
        for damage in ["shorter", "gone"] {
            for by_search in [true, false] {
                // A rebuilt index has other names.
                let mut files = fs::read_dir(folder.join("text")).unwrap().map(|entry| entry.unwrap().path());
                let file = files.find(|path| path.to_str().unwrap().ends_with(kind)).unwrap();
                let bytes = fs::read(&file).unwrap();
                fs::remove_file(&file).unwrap();
                if damage == "shorter" {
                    fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
                }
                let search = [&["search", "the"], &kept[..]].concat();
                let update = ["index", "--index", "index"];
                let output = place.run(if by_search { &search } else { &update });
                let stderr = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{kind} {damage}: {stderr}");
                assert!(stderr.contains("made anew"), "{kind} {damage}: {stderr}");
                assert_eq!(found(&place, &kept), expected, "{kind} {damage}");
            }
        }
    }
}

/// Whatever bit is another at the end of a file, where it says what it is, nobody falls over it.
#[test]
fn an_end_that_says_something_else_is_damage() {
    let place = place(&["v4-multi-turn"]);
    let folder = place.path().join("index");
    index(&place, &["--index", "index"]);
    let expected = found(&place, &["--scan"]);
    let mut round = 0;
    for kind in [".fast", ".fieldnorm", ".idx", ".store", ".term"] {
        for behind in [1, 3, 5, 20, 60, 100, 110, 116, 120] {
            round += 1;
            let mut files = fs::read_dir(folder.join("text")).unwrap().map(|entry| entry.unwrap().path());
            let file = files.find(|path| path.to_str().unwrap().ends_with(kind)).unwrap();
            let mut bytes = fs::read(&file).unwrap();
            let Some(at) = bytes.len().checked_sub(behind) else { continue };
            bytes[at] ^= 1 << (round % 8);
            fs::write(&file, bytes).unwrap();
            let search = place.run(&["search", "the", "--no-update", "--index", "index"]);
            let code = search.status.code();
            // What is no end any more is content: a search reads it as it is, and only an update knows its checksum.
            assert!(matches!(code, Some(0 | 1 | 4)), "{kind} {behind}: {search:?}");
            index(&place, &["--index", "index"]);
            assert_eq!(documents(&place, &["--index", "index"]), expected, "{kind} {behind}");
        }
    }
}

/// An index in a folder of its own is that of one home.
#[test]
fn an_index_is_of_one_home() {
    let place = place(&["v4-fork"]);
    let index = |args: &[&str]| place.run(&[&["index", "--index", "index"], args].concat());
    assert_eq!(index(&[]).status.code(), Some(0));
    let other = place.path().join("other");
    fs::create_dir_all(other.join("sessions")).unwrap();
    let home = ["--home", "other"];
    for refused in [index(&home), place.run(&["search", "the", "--index", "index", "--home", "other"])] {
        assert_eq!(refused.status.code(), Some(3), "{refused:?}");
        let told = String::from_utf8(refused.stderr).unwrap();
        assert!(told.contains("not of those in") && told.contains("--rebuild"), "{told}");
    }
    assert_eq!(index(&["--home", "other", "--rebuild"]).status.code(), Some(0));
    assert_eq!(index(&[]).status.code(), Some(3));
}

/// What a first update leaves that was killed behind its first commit is not taken for all there is.
#[test]
fn a_first_update_that_was_killed_is_gone_on_with() {
    let place = place(&["v4-multi-turn"]);
    index(&place, &["--index", "index"]);
    let database = rusqlite::Connection::open(place.path().join("index/catalog.sqlite")).unwrap();
    database.execute_batch("UPDATE state SET updated = 0; DELETE FROM folders").unwrap();
    drop(database);
    place.add("v4-tools-parallel");
    assert_eq!(found(&place, &["--index", "index"]), found(&place, &["--scan"]));
}

/// Wait for what another process does; 30 seconds are never needed.
fn wait_until(what: &str, is_so: &dyn Fn() -> bool) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{what}");
}

/// The system names changes below the name that was asked for, and the index knows logs by their real names.
#[cfg(unix)]
#[test]
fn a_follower_of_a_linked_home_knows_each_session_once() {
    let place = place(&["v4-multi-turn"]);
    let log = logs(&place).remove(0);
    let all = fs::read(&log).unwrap();
    let ends = frames(&all);
    fs::write(&log, &all[..ends[ends.len() - 2]]).unwrap();
    let link = place.path().join("link");
    std::os::unix::fs::symlink(place.home(), &link).unwrap();
    let mut follower = place.command(&["index", "--watch", "--home", "link", "--index", "index", "-q"]);
    let mut follower = follower.stdout(std::process::Stdio::null()).spawn().unwrap();
    let generation = || {
        let output = place.run(&["index", "--status", "--index", "index", "--format", "json"]);
        let told: Option<Value> = serde_json::from_slice(&output.stdout).ok();
        told.and_then(|told| told["generation"].as_u64()).unwrap_or(0)
    };
    wait_until("the follower begins", &|| generation() == 1);
    fs::write(&log, &all).unwrap();
    wait_until("the follower goes on", &|| generation() > 1);
    follower.kill().unwrap();
    follower.wait().unwrap();
    assert_eq!(documents(&place, &["--index", "index"]), found(&place, &["--scan"]));
}

/// A follower whose index is deleted makes it anew, all of it.
#[test]
fn a_follower_survives_the_loss_of_its_index() {
    let place = place(&["v4-multi-turn", "v4-tools-parallel"]);
    let log = logs(&place).remove(0);
    let all = fs::read(&log).unwrap();
    let ends = frames(&all);
    fs::write(&log, &all[..ends[1]]).unwrap();
    let mut follower = place.command(&["index", "--watch", "--index", "index", "-q"]);
    let mut follower = follower.stdout(std::process::Stdio::null()).spawn().unwrap();
    let kept = ["--no-update", "--index", "index"];
    let knows = |count: u64| {
        let query =
            ["search", "in:prompt,answer,title,call,result,context,system", "--flat", "--limit", "10000"];
        let output = place.run(&[&query[..], &["--format", "json"], &kept].concat());
        let found: Option<Value> = serde_json::from_slice(&output.stdout).ok();
        found.is_some_and(|found| found["documents"].as_u64().unwrap_or(0) >= count)
    };
    wait_until("the follower begins", &|| knows(1));
    fs::write(&log, &all[..ends[ends.len() / 2]]).unwrap();
    // The follower may be writing into it.
    wait_until("the index goes", &|| fs::remove_dir_all(place.path().join("index")).is_ok());
    fs::write(&log, &all).unwrap();
    let expected = found(&place, &["--scan"]);
    wait_until("the follower ends", &|| {
        place.path().join("index/text/meta.json").exists()
            && knows(1)
            && documents(&place, &["--index", "index"]) == expected
    });
    follower.kill().unwrap();
    follower.wait().unwrap();
}

/// A home behind a link has each session once, and a root that is deleted and made anew is followed again.
#[test]
#[cfg(unix)]
fn a_follower_knows_its_root() {
    let place = place(&["v4-multi-turn", "v4-tools-parallel"]);
    let link = place.path().join("link");
    std::os::unix::fs::symlink(place.home(), &link).unwrap();
    let log = logs(&place).remove(0);
    let all = fs::read(&log).unwrap();
    let ends = frames(&all);
    fs::write(&log, &all[..ends[ends.len() / 2]]).unwrap();
    let watch = ["index", "--watch", "--index", "index", "-q", "--home", link.to_str().unwrap()];
    let mut follower = place.command(&watch).stdout(std::process::Stdio::null()).spawn().unwrap();
    let is_known = || {
        let expected = found(&place, &["--scan"]);
        let begun = place.path().join("index/text/meta.json").exists();
        (0..200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(50));
            (begun || place.path().join("index/text/meta.json").exists())
                && place.run(&["index", "--status", "--index", "index"]).status.success()
                && documents(&place, &["--index", "index"]) == expected
        })
    };
    assert!(is_known(), "it begins");
    fs::write(&log, &all).unwrap();
    assert!(is_known(), "a log that grows is one");

    let (root, away) = (place.home().join("sessions"), place.path().join("away"));
    fs::rename(&root, &away).unwrap();
    fs::create_dir(&root).unwrap();
    std::thread::sleep(std::time::Duration::from_secs(2));
    for project in fs::read_dir(&away).unwrap().map(|entry| entry.unwrap()) {
        // A folder with a dot in its name that comes at once.
        fs::rename(project.path(), root.join("--tmp-my.project--")).unwrap();
    }
    assert!(is_known(), "what comes into another root");
    let project = root.join("--tmp-my.project--");
    fs::rename(&project, place.path().join("gone.away")).unwrap();
    assert!(is_known(), "what leaves it");
    follower.kill().unwrap();
    follower.wait().unwrap();
}

/// What is told, without what is another one in each run: the size of the index, which depends on how long the names of
/// folders are, and the time of its update.
fn steady_told(place: &Place, args: &[&str]) -> String {
    let steady = |line: &str| {
        if line.starts_with("up to date at ") {
            return "up to date at [time]\n".to_owned();
        }
        match line.strip_prefix("index: ").and_then(|line| line.rsplit_once(" in ")) {
            Some((before, folder)) => {
                let (counts, _) = before.rsplit_once(", ").unwrap();
                format!("index: {counts}, [size] in {folder}\n")
            }
            None => format!("{line}\n"),
        }
    };
    place.told(args).lines().map(steady).collect()
}

#[test]
fn broken_logs_are_found_as_far_as_they_are_sound() {
    let place = place(&[
        "v4-multi-turn",
        "v4-torn-checksum-torn",
        "broken-r-cut-in-header-line",
        "v0-0.1.0-rc.8-headless-plain",
    ]);
    let told = index(&place, &[]);
    let unsound: Vec<_> = told["unsound"]
        .as_array()
        .unwrap()
        .iter()
        .map(|log| (log["partial"].as_bool().unwrap(), !log["session"].is_null()))
        .collect();
    assert!(unsound.contains(&(true, true)) && unsound.contains(&(false, false)), "{told}");
    // What is not sound is not read again and again, and is told again.
    let again = index(&place, &[]);
    assert_eq!(counts(&again)[0], 0);
    assert_eq!(again["unsound"], told["unsound"]);
    assert_snapshot!("index-unsound", steady_told(&place, &["index"]));
    assert_snapshot!("index-status", steady_told(&place, &["index", "--status"]));
}

/// Whatever is done to a file of the index, the next update makes it whole again, and says so when it made it anew.
#[test]
fn a_damaged_index_is_made_anew() {
    let place = place(&["v4-multi-turn", "v4-tools-parallel"]);
    let folder = place.path().join("index");
    let at = folder.to_str().unwrap();
    index(&place, &["--index", at]);
    let expected = documents(&place, &["--index", at]);
    let mut told = 0;
    for kind in ["catalog.sqlite", "meta.json", ".fast", ".fieldnorm", ".idx", ".pos", ".store", ".term"] {
        for damage in ["cut", "empty", "flipped", "gone"] {
            // A rebuilt index has other names.
            let files = [folder.clone(), folder.join("text")]
                .into_iter()
                .flat_map(|folder| fs::read_dir(folder).unwrap());
            let mut files = files.map(|entry| entry.unwrap().path());
            let file = files.find(|path| path.to_str().unwrap().ends_with(kind)).unwrap();
            let mut bytes = fs::read(&file).unwrap();
            match damage {
                "cut" => bytes.truncate(bytes.len() / 2),
                "empty" => bytes.clear(),
                "flipped" => {
                    let middle = bytes.len() / 2;
                    bytes[middle] ^= 0x55;
                }
                _ => {}
            }
            if damage == "gone" {
                fs::remove_file(&file).unwrap();
            } else {
                fs::write(&file, bytes).unwrap();
            }
            // A search says what is wrong, or is right; it never falls over.
            let search = place.run(&["search", "the", "--no-update", "--index", at]);
            assert!(search.status.code().is_some_and(|code| code != 101), "{kind} {damage}: {search:?}");
            let output = place.run(&["index", "--index", at]);
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{kind} {damage}: {stderr}");
            let said = String::from_utf8_lossy(&search.stderr).into_owned() + &stderr;
            told += usize::from(["made anew", "no index", "damaged"].iter().any(|sign| said.contains(sign)));
            assert_eq!(documents(&place, &["--index", at]), expected, "{kind} {damage}");
        }
    }
    assert!(told >= 28, "{told}");
}

/// A file that cannot even be opened keeps a search from the index; an update alone would not look at it.
#[test]
fn a_search_makes_an_index_anew_that_cannot_be_opened() {
    let place = place(&["v4-multi-turn"]);
    index(&place, &["--index", "index"]);
    let expected = found(&place, &["--scan"]);
    for kind in ["fast", "fieldnorm", "idx", "pos", "store", "term"] {
        let files = fs::read_dir(place.path().join("index/text")).unwrap().map(|entry| entry.unwrap().path());
        let file = files.into_iter().find(|path| path.extension().is_some_and(|it| it == kind)).unwrap();
        let mut bytes = fs::read(&file).unwrap();
        let end = bytes.len() - 8;
        bytes[end..].fill(0x55);
        fs::write(&file, bytes).unwrap();
        let output = place.run(&["search", "the", "--index", "index"]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && told.contains("made anew"), "{kind}: {told}");
        assert_eq!(found(&place, &["--index", "index"]), expected, "{kind}");
    }
}

#[test]
fn folders_of_others_are_left_alone() {
    let place = place(&["v4-multi-turn"]);
    let folder = place.path().join("photos");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("cat.png"), "meow").unwrap();
    assert_snapshot!("index-foreign", place.told(&["index", "--index", "photos"]));
    assert_snapshot!("index-none", place.told(&["index", "--status", "--index", "nowhere"]));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

/// An update that is killed at any moment leaves something that the next one ends well.
#[test]
#[cfg(unix)]
fn a_killed_update_is_healed() {
    let place =
        place(&["v4-multi-turn", "v4-tools-parallel", "v4-compact", "v3-sdk-minimal", "v4-long-text"]);
    let logs = logs(&place);
    for round in 0..40_u64 {
        // Something to do in each round.
        let log = &logs[usize::try_from(round).unwrap() % logs.len()];
        let bytes = fs::read(log).unwrap();
        fs::remove_file(log).unwrap();
        fs::write(log, bytes).unwrap();
        if round % 8 == 0 {
            index(&place, &["--rebuild"]);
        }
        let mut child = place.command(&["index", "--rebuild"]).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(3 * round));
        child.kill().unwrap();
        child.wait().unwrap();
        index(&place, &[]);
    }
    is_as_made_anew(&place, "killed");
}

/// A limit on the size of files is what a full disk is, without the need to fill one.
#[test]
#[cfg(unix)]
fn a_full_disk_is_told_and_healed() {
    let place = place(&["v4-multi-turn", "v4-tools-parallel", "v4-compact", "v4-long-text"]);
    let program = env!("CARGO_BIN_EXE_dshlog");
    let mut failed = 0;
    for blocks in [0, 1, 4, 16, 40, 64, 100, 160] {
        let line = format!("trap '' XFSZ; ulimit -f {blocks}; exec {program} index");
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &line]).env_clear().env("HOME", place.path()).env("DSH_HOME", place.home());
        let output = shell.current_dir(place.path()).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 4)), "{blocks}: {output:?}");
        if !output.status.success() {
            failed += 1;
            assert!(stderr.contains("error: "), "{blocks}: {stderr}");
        }
    }
    assert!(failed > 2);
    index(&place, &[]);
    is_as_made_anew(&place, "full");
}

#[test]
fn two_at_once() {
    let place = place(&["v4-multi-turn", "v4-tools-parallel", "v4-compact"]);
    let folder = place.path().join("index");
    index(&place, &["--index", "index"]);
    let lock = fs::File::options().write(true).open(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    assert_snapshot!("index-locked", place.told(&["index", "--no-wait", "--index", "index"]));
    // A reader does not wait.
    assert!(place.run(&["search", "the", "--index", "index"]).status.success());
    drop(lock);

    let mut running: Vec<_> = (0..4)
        .map(|_| place.command(&["index", "--rebuild", "--index", "index", "-q"]).spawn().unwrap())
        .collect();
    for _ in 0..10 {
        let output = place.run(&["search", "the", "--no-update", "--index", "index"]);
        assert!(output.status.code().is_some_and(|code| code != 101), "{output:?}");
    }
    for child in &mut running {
        assert!(child.wait().unwrap().success());
    }
    index(&place, &["--index", "index"]);
    assert!(!documents(&place, &["--index", "index"]).is_empty());
}

/// What was written is found without any command in between.
#[test]
fn a_search_sees_what_was_written_last() {
    let place = place(&["v4-multi-turn", "v4-tools-parallel"]);
    index(&place, &[]);
    let found = |word: &str| place.run(&["search", word, "--format", "json"]).status.code();
    assert_eq!(found("compaction"), Some(1));
    place.add("v4-compact");
    assert_eq!(found("summary"), Some(0));
    let log = logs(&place).remove(0);
    fs::remove_dir_all(log.parent().unwrap()).unwrap();
    let told = place.run(&["search", "the", "--format", "json", "--flat"]);
    let folder = log.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    assert!(!String::from_utf8_lossy(&told.stdout).contains(&folder));
}
