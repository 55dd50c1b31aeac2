//! Forks on a machine that does not do as it should.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use dshlog_tests::text::Rng;
use insta::assert_snapshot;

use super::{files, fork, sessions};
use crate::{bound, place};

/// Who has the parent open is no matter; who is making a session of the same id is.
#[test]
fn writers_at_work() {
    let place = place(&["v4-thinking"]);
    let project = place.home().join("sessions/--tmp-ws-project--");
    let parent = fs::read_dir(&project).unwrap().next().unwrap().unwrap().path();
    let held = File::create(parent.join("session.lock")).unwrap();
    held.lock().unwrap();
    assert_eq!(fork(&place, &["48976fcf", "--id", "x"])["status"], "forked");

    let folder = project.join("y");
    fs::create_dir(&folder).unwrap();
    let begun = File::create(folder.join("session.lock")).unwrap();
    begun.lock().unwrap();
    let told = place.told(&["fork", "48976fcf", "--id", "y"]);
    drop(begun);
    // What it left is in nobody's way.
    let told = told + &place.told(&["fork", "48976fcf", "--id", "y"]);
    assert_snapshot!("writers", told);
}

#[test]
fn folders_that_may_not_be_written_to() {
    let place = place(&["v4-thinking"]);
    let Some(command) = bound(&place) else { return };
    let root = place.home().join("sessions");
    let project = root.join("--tmp-ws-project--");
    fs::set_permissions(&project, fs::Permissions::from_mode(0o555)).unwrap();
    let before = files(&place.home());
    let output = command(&["fork", "48976fcf", "--id", "x"]).output().unwrap();
    assert_eq!(output.status.code(), Some(4));
    assert_snapshot!("no-permission", place.redacted(&String::from_utf8(output.stderr).unwrap()));
    assert_eq!(files(&place.home()), before);
    let elsewhere = command(&["fork", "48976fcf", "--id", "x", "--out", "other"]).status().unwrap();
    assert!(elsewhere.success());
    fs::set_permissions(&project, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Writing fails in the middle, as on a full disk. What is left is in nobody's way.
#[test]
fn no_room() {
    let place = place(&["v4-thinking"]);
    let before = files(&place.home());
    // Whoever ignores the signal is told by an error, as of a full disk.
    let told =
        place.shell("trap '' XFSZ; ulimit -f 4; dshlog fork latest --id x; echo \"[$?]\"; dshlog doctor -v");
    insta::with_settings!({filters => [(r"migration\.[0-9a-f]{16}", "migration.[token]")]}, {
        assert_snapshot!("no-room", place.redacted(&told));
    });
    let mut after = files(&place.home());
    after.retain(|path, _| !path.ends_with("x/session.lock"));
    assert_eq!(after, before);
    assert_eq!(fork(&place, &["48976fcf", "--id", "x"])["status"], "forked");
}

/// Killed at any moment, a fork is there whole or is none; what is left is no session, and the next try is free to go.
#[test]
fn killed_at_any_moment() {
    const KILLS: u32 = 60;
    const SEED: u64 = 20_261_201;
    let place = place(&["v4-long-text"]);
    let parent = sessions(&place);
    let begun = Instant::now();
    fork(&place, &["latest", "--id", "undisturbed"]);
    let span = u64::try_from(begun.elapsed().as_nanos()).unwrap().max(1);
    let whole = files(&place.home())
        .into_iter()
        .find(|(path, _)| path.to_str().unwrap().contains("undisturbed/session.v4"));
    let (_, whole) = whole.unwrap();
    let mut rng = Rng::new(SEED);
    let (mut made, mut left) = (0, 0);
    for number in 0..KILLS {
        let id = format!("fork-{number}");
        let args = ["fork", parent[0].as_str(), "--id", &id];
        let mut child = place.command(&args).stdout(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_nanos(rng.below(span)));
        child.kill().unwrap();
        child.wait().unwrap();
        let folder = place.home().join("sessions/--tmp-ws-project--").join(&id);
        if sessions(&place).contains(&id) {
            made += 1;
            // All but the id in the header, and the length of its frame.
            let log = fs::read(folder.join("session.v4.jsonl.zstd")).unwrap();
            assert!(log.ends_with(&whole[whole.len() / 2..]), "{id} is not whole");
        } else if folder.exists() {
            left += 1;
            let told = place.told(&["doctor", "-v"]);
            assert!(told.contains(&id), "{id} is not named: {told}");
        }
    }
    assert!(made + left > 0, "{made} made, {left} left");
    assert!(place.run(&["verify"]).status.success());
    for number in 0..KILLS {
        let id = format!("fork-{number}");
        if !sessions(&place).contains(&id) {
            fork(&place, &[parent[0].as_str(), "--id", &id]);
        }
    }
    assert_eq!(sessions(&place).len(), parent.len() + 1 + usize::try_from(KILLS).unwrap());
}
