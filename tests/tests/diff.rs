//! `dshlog diff` and `request --diff`.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use insta::assert_snapshot;

use crate::{PROGRAM, place};
use dshlog_tests::cmd::Place;

/// The log of a session, below the working directory.
fn log(place: &Place, case: &str) -> String {
    place.add_corpora(&[case]);
    let folder = place.path().join("corpora").join(case).join("home");
    let logs = logs(&folder);
    logs[0].strip_prefix(place.path()).unwrap().display().to_string()
}

/// All logs below a folder, in the order of names.
fn logs(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if name.starts_with("session.") && name.contains("jsonl") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_session_and_itself() {
    let place = place(&["v4-compact"]);
    let told: String = [
        &["diff", "latest", "latest"][..],
        &["diff", "latest", "latest", "--keep", "all"],
        &["diff", "latest", "latest", "--what", "messages"],
        &["diff", "latest", "latest", "--what", "requests", "--turn", "1"],
        &["diff", "latest", "latest", "--format", "json"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("diff-itself", told);
}

/// One scenario, run by two versions of dsh.
#[test]
fn one_scenario_twice() {
    let place = Place::empty(PROGRAM);
    let (a, b) = (log(&place, "v3-thinking"), log(&place, "v4-thinking"));
    assert_snapshot!("diff-twice", place.told(&["diff", "-q", &a, &b]));
    let told = place.told(&["diff", "-q", &a, &b, "--what", "messages", "-C", "0"])
        + &place.told(&["diff", "-q", &a, &b, "--what", "requests", "-C", "0"]);
    assert_snapshot!("diff-twice-messages", told);
}

/// Two sessions with little in common, and what switches make of that.
#[test]
fn two_sessions() {
    let place = Place::empty(PROGRAM);
    let (a, b) = (log(&place, "v4-todo"), log(&place, "v4-tools-parallel"));
    let told: String = [
        &["diff", "-q", &a, &b, "-C", "0"][..],
        &["diff", "-q", &a, &b, "--turn", "1", "-C", "1", "--keep", "usage"],
        &["diff", "-q", &a, &b, "--ignore", "usage", "--format", "json"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("diff-two", told);
}

#[test]
fn wrong_usage() {
    let place = place(&["v4-todo"]);
    let told: String = [
        &["diff", "latest"][..],
        &["diff", "latest", "latest", "--keep", "nothing"],
        &["diff", "latest", "latest", "--what", "rows"],
        &["diff", "latest", "nobody"],
        &["diff", "latest", "latest", "--format", "table"],
        &["request", "latest", "--title", "--diff"],
        &["request", "latest", "--turn", "1", "--step", "1", "--diff"],
        &["request", "latest", "--diff", "--format", "chat"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("diff-wrong-usage", told);
}

/// A log that dsh refuses is not compared.
#[test]
fn refused_logs() {
    let place = place(&["v4-prune-outside-turn", "v4-todo"]);
    let told = place.told(&["diff", "latest~1", "latest"]);
    assert!(told.contains("error:") && told.ends_with("[4]\n"), "{told}");
}

#[test]
fn requests_against_those_before() {
    let told: String = [
        ("v4-tools-in-history", &["request", "latest", "--diff"][..]),
        ("v4-tools-in-history", &["request", "latest", "--turn", "2", "--diff"]),
        ("v4-plan-mode", &["request", "latest", "--turn", "2", "--step", "1", "--diff"]),
        ("v4-compact", &["request", "latest", "--turn", "5", "--diff"]),
        ("v4-todo", &["request", "latest", "--turn", "1", "--step", "2", "--diff"]),
        ("v4-todo", &["request", "latest", "--turn", "1", "--step", "2", "--diff", "--format", "json"]),
    ]
    .into_iter()
    .map(|(case, args)| place(&[case]).told(args))
    .collect();
    assert_snapshot!("request-diff", told);
}

/// A session and what it is after the migration that publishes it are equal, whatever it was and with nothing set aside.
#[test]
fn migrated_sessions_are_equal() {
    let cases = [
        "v0-0.1.0rc6-code-mode",
        "v0-0.1.0rc6-compaction-manual",
        "v0-0.1.0rc7-lone-surrogate",
        "v0-0.1.0rc7-store-fork",
        "v0-0.1.0rc7-subagent-fork",
        "v0-0.1.2rc1-image",
        "v0-0.1.2rc1-kill9-mid-tool-resumed",
        "v1-0.1.0rc6-raw-packed",
        "v1-0.1.1rc1-compaction-auto",
        "v2-0.1.0rc7-plan-mode",
        "v2-0.1.2a3-subagent-spawn",
        "v3-compact",
        "v3-fork",
        "v3-subagent",
        "v3-unicode",
    ];
    for case in cases {
        let place = place(&[case]);
        let migrated = place.told(&["migrate", "--all"]);
        let mut compared = 0;
        for new in logs(&place.home()).iter().filter(|log| log.display().to_string().contains("session.v4."))
        {
            let is_old = |log: &&PathBuf| log.parent() == new.parent() && *log != new;
            let Some(old) = logs(&place.home()).into_iter().rfind(|log| is_old(&log)) else { continue };
            let (old, new) = (old.display().to_string(), new.display().to_string());
            for what in ["events", "messages", "requests"] {
                let args = ["diff", &old, &new, "--what", what, "--keep", "all", "--format", "json"];
                let told = place.told(&args);
                assert!(told.contains(r#""equal":true"#) && told.ends_with("[0]\n"), "{case}: {told}");
            }
            compared += 1;
        }
        assert!(compared > 0, "{case}: {migrated}");
    }
}

/// The same scenarios, run by a dsh that writes V3 and by one that writes V4: what differs is what these two do otherwise.
/// Prompts, tools and the dialect of the model changed between them, V4 has events for jobs, and the V3 runs had their
/// titles switched off.
#[test]
fn scenarios_differ_where_the_versions_of_dsh_do() {
    let changed: &[(&str, &[&str])] = &[
        ("system/message", &["/data/message/content/"]),
        ("user/message", &["/data/content/", "/data/source/sections/"]),
        ("request/header", &["/data/header/"]),
        ("assistant/message", &["/data/message/source/replayState", "/data/usage/", "/data/stream/"]),
        ("tool/result", &["/data/error", "/data/message/content/", "/data/message/isError", "/data/meta"]),
        ("compaction/summary", &["/data/usage/", "/data/shadowedTokenCount", "/data/maxTokens"]),
        ("command/done", &["/data/text"]),
    ];
    let new = ["session/title", "session/title-llm-request", "job/registered", "job/settled", "user/message"];
    for (scenario, equal) in [
        ("compact", 47),
        ("empty", 3),
        ("kill-tool-resumed", 23),
        ("retry-500", 15),
        ("sdk-minimal", 25),
        ("steer", 30),
        ("thinking", 12),
    ] {
        let place = Place::empty(PROGRAM);
        let (a, b) = (log(&place, &format!("v3-{scenario}")), log(&place, &format!("v4-{scenario}")));
        let output = place.run(&["diff", "-q", &a, &b, "--format", "json", "--full"]);
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["counts"]["equal"], equal, "{scenario}");
        for difference in document["differences"].as_array().unwrap() {
            let side = if difference["a"].is_null() { &difference["b"] } else { &difference["a"] };
            let kind = side["type"].as_str().unwrap();
            if difference["kind"] == "only-b" {
                assert!(new.contains(&kind), "{scenario}: {kind}");
                continue;
            }
            assert_eq!((&difference["kind"], &difference["extent"]), (&"changed".into(), &"event".into()));
            let places = changed.iter().find(|(name, _)| *name == kind).map_or(&[][..], |(_, places)| places);
            for change in difference["changes"].as_array().unwrap() {
                let spot = if change["a"].is_null() { &change["b"] } else { &change["a"] };
                let pointer = spot["pointer"].as_str().unwrap();
                assert!(
                    places.iter().any(|place| pointer.starts_with(place)),
                    "{scenario}: {kind} {pointer}"
                );
            }
        }
    }
}

/// Sessions are not equal in a turn that there is not, and no rule is both kept and ignored.
#[test]
fn what_there_is_not() {
    let place = place(&["v4-multi-turn"]);
    let code = |args: &[&str]| place.run(&[&["diff", "latest", "latest"][..], args].concat()).status.code();
    for (args, expected) in [
        (&["--turn", "1"][..], 0),
        (&["--turn", "0"], 2),
        (&["--turn", "99"], 2),
        (&["--turn", "99", "--what", "messages"], 2),
        (&["--turn", "99", "--what", "requests"], 2),
        (&["--keep", "ids", "--ignore", "ids"], 2),
        (&["--keep", "all", "--ignore", "usage"], 0),
    ] {
        assert_eq!(code(args), Some(expected), "{args:?}");
    }
}
