//! `dshlog replay` and `dshlog new-scenario`.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod agents;
mod changed;
mod subagents;

use std::fs;
use std::path::{Path, PathBuf};

use dshlog_codec::LogFile;
use dshlog_tests::cmd::Place;
use dshlog_tests::model::{Corpora, repository};
use serde_json::Value;

use crate::PROGRAM;

/// A place with a suite `suite`, whose scenarios are made of these cases of the corpora.
fn suite(cases: &[&str]) -> Place {
    let place = Place::empty(PROGRAM);
    place.add_corpora(cases);
    for case in cases {
        let session = session(&place, case);
        let told = place.told(&["new-scenario", "-q", &format!("suite/{case}"), "--from", &session]);
        assert!(told.ends_with("[0]\n"), "{told}");
    }
    place
}

/// The log of the first session of a case that is nobody's child.
fn session(place: &Place, case: &str) -> String {
    let home = place.path().join("corpora").join(case).join("home/sessions");
    let header = |log: &PathBuf| LogFile::open(log).unwrap().header().unwrap();
    let log = logs(&home).into_iter().find(|log| header(log).parent_session.is_none());
    log.unwrap().display().to_string()
}

/// The logs below a folder, in the order of their names.
fn logs(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if dshlog_codec::home::parse_name(path.file_name().unwrap()).is_some() {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The documents of `replay --format json`, and the exit code.
fn documents(place: &Place, args: &[&str]) -> (Vec<Value>, i32) {
    let output = place.run(&[&["replay", "-q", "--format", "json"], args].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    let read = |line: &str| serde_json::from_str(&line.replace("\\ud", "\\u0")).unwrap();
    (text.lines().map(read).collect(), output.status.code().unwrap())
}

/// Every log of the corpora with a model in it comes out equal, in events and in requests.
#[test]
fn every_log_of_the_corpora_comes_out_equal() {
    let place = Place::empty(PROGRAM);
    let corpora = Corpora::own();
    let sound = corpora.entries.iter().filter(|entry| entry.restored().is_some());
    let mut paths: Vec<String> = sound.map(|entry| entry.log.display().to_string()).collect();
    paths.extend(logs(&corpora.dir.join("wire")).iter().map(|log| log.display().to_string()));
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let (told, code) = documents(&place, &paths);
    assert_eq!(told.len(), paths.len());
    let wrong: Vec<String> = told
        .iter()
        .zip(&paths)
        .filter(|(one, _)| {
            one["status"] != "ok" || one["events"]["equal"] != true || one["requests"]["equal"] != true
        })
        .map(|(one, path)| format!("{path}: {} {} {}", one["status"], one["reason"], one["asked"]))
        .collect();
    assert!(wrong.is_empty(), "{} of {} wrong\n{}", wrong.len(), told.len(), wrong.join("\n"));
    assert_eq!(code, 0);
    let over_http = told.iter().filter(|one| one["transport"] == "http").count();
    let asked: u64 = told.iter().filter_map(|one| one["asked"]["alike"].as_u64()).sum();
    assert!(
        over_http + 8 >= told.len() && asked > 150,
        "{over_http} of {} over HTTP, {asked} requests",
        told.len()
    );
}

/// The examples of the repository are what they are said to be.
#[test]
fn the_examples_pass() {
    let place = Place::empty(PROGRAM);
    let suite = repository().join("examples/suite");
    let (told, code) = documents(&place, &[suite.to_str().unwrap(), "--jobs", "2"]);
    let status: Vec<&str> = told.iter().map(|one| one["status"].as_str().unwrap()).collect();
    assert!(told.len() >= 4 && status.iter().all(|status| *status == "ok") && code == 0, "{status:?}");
}

#[test]
fn a_suite_is_told() {
    let place = suite(&["v4-thinking", "v4-todo", "v4-retry-500", "v3-subagent", "v0-0.1.0rc6-bash-echo"]);
    let told = place.told(&["replay", "suite", "--jobs", "3", "--junit", "report.xml"]);
    assert_eq!(
        told,
        place
            .told(&["replay", "suite", "--jobs", "1", "--junit", "report.xml"])
            .replace("--jobs 1", "--jobs 3")
    );
    insta::assert_snapshot!("replay-suite", told);
    let report = fs::read_to_string(place.path().join("report.xml")).unwrap();
    assert!(report.contains(r#"tests="5" failures="0" errors="0""#), "{report}");
    assert_eq!(report.matches("<testcase ").count(), 5);
}

/// What cannot be used is told, and does not keep the others from being run.
#[test]
fn scenarios_that_cannot_be() {
    let place = suite(&["v4-thinking"]);
    for (name, text) in
        [("a-unknown", "sessions = \"x\""), ("b-none", "session = \"sessions/none\""), ("c-toml", "session")]
    {
        fs::create_dir(place.path().join("suite").join(name)).unwrap();
        fs::write(place.path().join("suite").join(name).join("scenario.toml"), text).unwrap();
    }
    let told = place.told(&["replay", "suite"])
        + &place.told(&["replay", "nowhere"])
        + &place.told(&["replay", "corpora"])
        + &place.told(&["replay", "-q", &session(&place, "v4-thinking"), "--update"]);
    insta::assert_snapshot!("replay-unusable", told);
}

/// A scenario is made whole, or not at all, and never over another one.
#[test]
fn scenarios_are_made() {
    let place = suite(&["v3-subagent"]);
    let made = logs(&place.path().join("suite/v3-subagent/sessions"));
    assert_eq!(made.len(), logs(&place.path().join("corpora/v3-subagent/home/sessions")).len());
    let session = session(&place, "v3-subagent");
    let told = place.told(&["new-scenario", "-q", "suite/v3-subagent", "--from", &session]);
    assert!(told.contains("! error: ") && told.contains("exists") && told.ends_with("[3]\n"), "{told}");
    let told = place.told(&["new-scenario", "suite/none", "--from", "nothing"]);
    assert!(told.ends_with("[4]\n"), "{told}");
    assert_eq!(fs::read_dir(place.path().join("suite")).unwrap().count(), 1);
}
