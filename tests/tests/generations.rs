//! A session that lies there in several generations: `read --generation`, and what `verify` makes of them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use dshlog_codec::Generation;
use dshlog_tests::cmd::Place;
use dshlog_tests::model::{Corpora, Status};
use insta::assert_snapshot;
use serde_json::Value;

use crate::{PROGRAM, place};

/// A session of V3 that dsh carried to V4 and went on with: 41 events, then 66.
const CONTINUED: &str = "v3-continued-by-v4";
const SESSION: &str = "session-06ee35e1-ab23-4224-b015-8fed25f9568b";

fn folder(place: &Place) -> PathBuf {
    place.home().join("sessions/--tmp-ws-project--").join(SESSION)
}

/// Both logs as raw ones, whose lines a test can change.
struct Lines {
    place: Place,
}

impl Lines {
    fn new() -> Self {
        let place = place(&[CONTINUED]);
        let stored = ["v3", "v4"].map(|v| folder(&place).join(format!("session.{v}.jsonl.zstd")));
        let rows = stored.each_ref().map(|log| place.run(&["read", log.to_str().unwrap(), "--rows"]).stdout);
        for (stored, rows) in stored.iter().zip(rows) {
            fs::write(stored.with_extension(""), rows).unwrap();
            fs::remove_file(stored).unwrap();
        }
        Lines { place }
    }

    fn edit(&self, generation: &str, edit: impl FnOnce(&mut Vec<String>)) {
        let path = folder(&self.place).join(format!("session.{generation}.jsonl"));
        let text = fs::read_to_string(&path).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        edit(&mut lines);
        assert_ne!(format!("{}\n", lines.join("\n")), text, "the test changes something");
        fs::write(&path, format!("{}\n", lines.join("\n"))).unwrap();
    }

    fn told(&self) -> String {
        self.place.told(&["verify", "home"])
    }
}

/// Make one replacement, and no other.
fn replace(line: &mut String, from: &str, to: &str) {
    assert_eq!(line.matches(from).count(), 1, "{from} in {line}");
    *line = line.replace(from, to);
}

/// Codes of the findings on each log, in the order of the logs.
fn codes(place: &Place, args: &[&str]) -> Vec<Vec<String>> {
    let output = place.run(&[&["verify", "--format", "json"], args].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    let document = |line: &str| {
        let document: Value = serde_json::from_str(line).unwrap();
        let findings = document["findings"].as_array().unwrap();
        let codes = findings.iter().map(|finding| finding["code"].as_str().unwrap().to_owned());
        // That a session can be gone on with is no matter of its generations.
        codes.filter(|code| code != "open-turn").collect()
    };
    text.lines().map(document).collect()
}

#[test]
fn a_generation_of_a_session() {
    let place = place(&[CONTINUED]);
    let older = format!("home/sessions/--tmp-ws-project--/{SESSION}/session.v3.jsonl.zstd");
    let told: String = [
        &["read", "latest", "--header", "--format", "json", "--long"][..],
        &["read", "latest", "--header", "--format", "json", "--long", "--generation", "3"],
        &["read", "06ee", "--header", "--format", "json", "--generation", "3", "--as-stored"],
        &["read", "latest", "--turn", "3", "--generation", "3"],
        &["read", "latest", "--generation", "0"],
        &["read", "latest", "--generation", "5"],
        &["read", "latest", "--generation", "3", "--follow"],
        &["read", &older, "--header", "--generation", "3", "--format", "json"],
        &["read", &older, "--generation", "4"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("generation", told);
}

/// By every name, the same log as by its path, with the answers of the official reader.
#[test]
fn every_name_leads_to_the_generation() {
    let place = place(&[CONTINUED]);
    let path = folder(&place);
    let corpora = Corpora::own();
    for generation in [3, 4] {
        let is_this =
            |e: &&dshlog_tests::model::Entry| e.case == CONTINUED && e.generation == Generation(generation);
        let entry = corpora.entries.iter().find(is_this).unwrap();
        let Status::Restored(restored) = &entry.status else { panic!("it is read") };
        for name in [SESSION, "06ee35e1", "latest", path.to_str().unwrap()] {
            let number = generation.to_string();
            let events = place.run(&["read", name, "--events", "--generation", &number]);
            restored
                .current
                .as_ref()
                .unwrap()
                .check(&events.stdout)
                .unwrap_or_else(|e| panic!("{name}: {e}"));
            let messages = place.run(&["read", name, "--messages", "--generation", &number]);
            restored
                .messages
                .as_ref()
                .unwrap()
                .check(&messages.stdout)
                .unwrap_or_else(|e| panic!("{name}: {e}"));
        }
    }
    // A copy elsewhere has no name that says its generation.
    fs::copy(path.join("session.v3.jsonl.zstd"), place.path().join("copy")).unwrap();
    assert_eq!(place.run(&["read", "./copy", "--header", "--generation", "3"]).status.code(), Some(0));
    assert_eq!(place.run(&["read", "./copy", "--header", "--generation", "4"]).status.code(), Some(2));
}

/// The newest is never replaced in silence.
#[test]
fn a_lost_newest_generation() {
    let place = place(&[CONTINUED]);
    let newest = folder(&place).join("session.v4.jsonl.zstd");
    let mut told = String::new();
    let mut tell = |args: &[&str]| {
        let output = place.run(args);
        assert!(output.stdout.is_empty(), "{args:?}");
        told += &place.told(args);
    };
    let whole = fs::read(&newest).unwrap();
    let mut damaged = whole.clone();
    damaged[1000] ^= 1;
    fs::write(&newest, &damaged).unwrap();
    tell(&["read", "latest"]);
    tell(&["read", "latest", "--messages", "--generation", "4"]);
    fs::write(&newest, "").unwrap();
    tell(&["read", "latest", "--header"]);
    fs::write(&newest, &whole).unwrap();
    // A log of V4 under the name of a newer one, then a newer one.
    let newer = folder(&place).join("session.v5.jsonl.zstd");
    fs::write(&newer, &whole).unwrap();
    tell(&["read", "latest", "--events"]);
    fs::copy(Corpora::own().log("broken-z-version-5-file").log.clone(), &newer).unwrap();
    tell(&["read", "latest", "--messages"]);
    // Nothing can be chosen where dsh chooses nothing.
    fs::rename(&newer, folder(&place).join("session.jsonl")).unwrap();
    tell(&["read", "latest"]);
    tell(&["read", "latest", "--generation", "3"]);
    assert_snapshot!("generation-lost", told);
}

#[test]
fn every_generation_is_verified() {
    let place = place(&[CONTINUED, "v4-thinking"]);
    let below = format!("home/sessions/--tmp-ws-project--/{SESSION}");
    let newer = format!("{below}/session.v4.jsonl.zstd");
    let older = format!("./{below}/session.v3.jsonl.zstd");
    let told: String = [
        &["verify"][..],
        &["verify", "home"],
        &["verify", &below, "--format", "json"],
        &["verify", &older],
        &["verify", &newer, &older],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    fs::write(folder(&place).join("session.v5.jsonl.zstd"), "").unwrap();
    let told = told + &place.told(&["verify", &below]);
    assert_snapshot!("verify-generations", told);
}

#[test]
fn generations_that_tell_two_stories() {
    let lines = Lines::new();
    assert_eq!(codes(&lines.place, &["home"]), [[""; 0]; 2], "as the runtimes left them");
    // The text of the first user's message, a header member, and what comes behind a difference.
    lines.edit("v4", |lines| {
        replace(&mut lines[0], r#""delegationDepth":0"#, r#""delegationDepth":1"#);
        let line = lines.iter().position(|line| line.contains(r#""type":"turn/end""#)).unwrap();
        replace(&mut lines[line], r#""kind":"completed""#, r#""kind":"cancelled""#);
    });
    let json = lines.place.told(&["verify", "home", "--format", "json"]);
    assert_snapshot!("verify-differ", lines.told() + &json);

    // The finding belongs to two files: none of them alone has it.
    let below = format!("home/sessions/--tmp-ws-project--/{SESSION}");
    for name in ["session.v3.jsonl", "session.v4.jsonl"] {
        let found = codes(&lines.place, &[&format!("{below}/{name}")]).concat();
        assert!(!found.iter().any(|code| code.contains("generation")), "{found:?}");
    }
}

#[test]
fn an_older_generation_that_goes_on() {
    let lines = Lines::new();
    lines.edit("v4", |lines| lines.truncate(1 + 30));
    let told = lines.told() + &lines.place.told(&["verify", "home", "--format", "json"]);
    assert_snapshot!("verify-longer", told);
    // As long as the newer one, it is a beginning of it.
    lines.edit("v3", |lines| lines.truncate(1 + 30));
    assert_eq!(codes(&lines.place, &["home"]), [[""; 0]; 2]);
}

/// A subagent that came after the migration makes the steps to V4 add an event to the old log, which V4 does not have there.
#[test]
fn children_may_come_after_a_migration() {
    let place = place(&[CONTINUED]);
    let child = folder(&place).with_file_name("session-child");
    let old = folder(&place).join("session.v3.jsonl.zstd");
    let events = |place: &Place| place.run(&["read", old.to_str().unwrap(), "--events"]).stdout.len();
    let before = events(&place);
    fs::create_dir(&child).unwrap();
    let header = format!(
        r#"{{"type":"session","version":4,"id":"session-child","createdAt":9,"cwd":"/tmp/ws/project","parentSession":"{SESSION}","isSeeded":false,"origin":"subagent","delegationDepth":1}}"#
    );
    fs::write(child.join("session.v4.jsonl"), format!("{header}\n")).unwrap();
    assert!(events(&place) > before, "the child is in the catalog of the old log");
    assert_eq!(codes(&place, &["home"]), [[""; 0]; 3]);
}

/// V1 and V2 of these were made from V0 by the migrations of dsh.
#[test]
fn generations_that_are_all_old() {
    for name in
        ["0.1.0rc6-code-mode", "0.1.0rc6-kill9-mid-stream", "0.1.0rc7-plan-mode", "0.1.1rc1-compaction-auto"]
    {
        let cases = ["v0", "v1", "v2"].map(|generation| format!("{generation}-{name}"));
        let cases: Vec<&str> = cases.iter().map(String::as_str).filter(|case| has(case)).collect();
        let place = place(&cases);
        let found = codes(&place, &["home"]);
        assert!(cases.len() > 1 && found.len() == cases.len(), "{name}: {cases:?}, {found:?}");
        assert_eq!(found.concat(), [""; 0], "{name}");
    }
}

/// An old log under the name of another one's newer generation.
#[test]
fn old_generations_of_two_sessions() {
    let place = place(&["v1-0.1.0rc6-code-mode", "v2-0.1.0rc6-code-mode", "v2-0.1.0rc7-plan-mode"]);
    let project = place.home().join("sessions/--tmp-w0-demo--");
    let name = "session.v2.jsonl.zstd";
    fs::rename(project.join("plan-mode-010rc7").join(name), project.join("code-mode-010rc6").join(name))
        .unwrap();
    fs::remove_dir(project.join("plan-mode-010rc7")).unwrap();
    assert_snapshot!("verify-two-sessions", place.told(&["verify", "home"]));
}

fn has(case: &str) -> bool {
    Corpora::own().entries.iter().any(|entry| entry.case == case)
}

/// A turn that a restart left open breaks a rule of V3, and the step to V4 closes it: the official reader reads this log, with
/// 42 events. A fault that both see is told once.
#[test]
fn rules_of_the_stored_generation() {
    let lines = Lines::new();
    lines.edit("v3", |lines| {
        let line = lines.iter_mut().find(|line| line.contains(r#""type":"turn/end""#)).unwrap();
        replace(line, r#""type":"turn/end""#, r#""type":"sandbox/mode""#);
        replace(
            line,
            r#""data":{"turn":1,"reason":{"kind":"completed"}}"#,
            r#""data":{"mode":"workspace-write"}"#,
        );
    });
    let below = format!("home/sessions/--tmp-ws-project--/{SESSION}");
    let told = lines.place.told(&["verify", &format!("{below}/session.v3.jsonl")]);
    // Closed once more.
    lines.edit("v3", |lines| {
        let line = lines.iter_mut().find(|line| line.contains(r#""type":"sandbox/mode","seq":15"#)).unwrap();
        replace(line, r#""type":"sandbox/mode""#, r#""type":"turn/end""#);
        replace(
            line,
            r#""data":{"mode":"workspace-write"}"#,
            r#""data":{"turn":7,"reason":{"kind":"completed"}}"#,
        );
    });
    let told = told + &lines.place.told(&["verify", &format!("{below}/session.v3.jsonl")]);
    assert_snapshot!("verify-stored-rules", told);
}

/// Every home of V3 logs that the real runtime opened for writing: both generations of each session, and no disagreement.
#[test]
fn migrations_of_the_real_runtime_agree() {
    let Some(shared) = Corpora::shared() else { return };
    let place = Place::empty(PROGRAM);
    let mut compared = 0;
    for case in fs::read_dir(shared.dir.join("real")).unwrap().flatten() {
        let home = case.path().join("migrated");
        if !home.is_dir() {
            continue;
        }
        let found = codes(&place, &[home.to_str().unwrap()]);
        let told = |path: &Path| path.display().to_string();
        let disagree = found.iter().flatten().any(|code| code.contains("generation"));
        assert!(!disagree, "{}: {found:?}", told(&home));
        compared += found.len() / 2;
    }
    assert!(compared > 50, "only {compared} sessions were compared");
}
