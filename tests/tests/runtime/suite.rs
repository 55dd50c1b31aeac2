//! `dshlog replay SUITE` with the real dsh: scenarios that `new-scenario` makes of captured conversations come out equal, one
//! run behind the other, four at a time.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use dshlog_tests::cmd::Place;
use dshlog_tests::runs::{Run, fill};
use dshlog_tests::runtime::Runtime;
use serde_json::{Value, json};

use super::PROGRAM;

/// What dsh 0.2.1-rc.2 is only asked, prompt by prompt.
const CURRENT: [&str; 24] = [
    "v4-cut-before-first",
    "v4-empty-answer",
    "v4-error-event",
    "v4-error-event-kinds",
    "v4-http-400",
    "v4-http-401",
    "v4-http-500",
    "v4-http-529",
    "v4-long-text",
    "v4-max-tokens-tool",
    "v4-pings",
    "v4-plain",
    "v4-repeat-tool",
    "v4-reset-mid",
    "v4-retry-exhausted",
    "v4-subagent",
    "v4-subagent-fork",
    "v4-thinking",
    "v4-three-turns",
    "v4-title-late",
    "v4-tool",
    "v4-tool-error",
    "v4-tools-parallel",
    "v4-unicode",
];

/// What needs somebody who does more than ask: the agent is a command, which mounts a plugin that cancels, compacts, waits.
const DRIVEN: [&str; 9] = [
    "v4-bad-args",
    "v4-cancel-early",
    "v4-cancel-stream",
    "v4-cancel-tool",
    "v4-compact-fails",
    "v4-compact-manual",
    "v4-eof-mid",
    "v4-malformed",
    "v4-odd-chunks",
];

/// The same for dsh 0.1.5-rc.1.
const OLDER: [&str; 12] = [
    "v3-cut-before-first",
    "v3-empty-answer",
    "v3-http-400",
    "v3-http-401",
    "v3-http-500",
    "v3-http-529",
    "v3-plain",
    "v3-reset-mid",
    "v3-thinking",
    "v3-tool",
    "v3-tool-error",
    "v3-tools-parallel",
];

const OLDER_DRIVEN: [&str; 5] =
    ["v3-cancel-stream", "v3-cancel-tool", "v3-compact-manual", "v3-stop-reasons", "v3-subagent"];

/// A suite of these conversations.
fn suite(runtime: &Runtime, cases: &[&str]) -> Place {
    let place = Place::empty(PROGRAM);
    for case in cases {
        let run = Run::of(case);
        let log = run.logs().remove(0);
        let folder = format!("suite/{case}");
        let told =
            place.told(&["new-scenario", "-q", &folder, "--agent", "dsh", "--from", log.to_str().unwrap()]);
        assert!(told.ends_with("[0]\n"), "{told}");
        describe(&place.path().join(&folder), &run, runtime);
    }
    place
}

/// Put into a scenario what no log says: patches, variables, files, and the steps of a driver.
fn describe(folder: &Path, run: &Run, runtime: &Runtime) {
    fill(&folder.join("workspace")).unwrap();
    let mut patches = Vec::new();
    for (n, text) in run.texts("patches").enumerate() {
        let name = format!("patch-{n}.yml");
        fs::write(folder.join(&name), text).unwrap();
        patches.push(name);
    }
    let file = folder.join("scenario.toml");
    let mut text = fs::read_to_string(&file).unwrap();
    let env: Vec<String> = run.env().map(|(name, value)| format!("{name} = {}", json!(value))).collect();
    let env = format!("env = {{ {} }}\n", env.join(", "));
    if run.list("actions").is_empty() {
        writeln!(text, "patches = {}", json!(patches)).unwrap();
    } else {
        let line: Vec<String> =
            run.commands().map(|(words, _)| shell(&words, run, folder, runtime)).collect();
        text = text.replace("agent = \"dsh\"", &format!("agent = {}", json!(line.join(" && "))));
    }
    fs::write(file, text + &env).unwrap();
}

/// The line for a shell that drives dsh.
fn shell(words: &[&str], run: &Run, folder: &Path, runtime: &Runtime) -> String {
    let quoted = |word: &str| format!("'{}'", word.replace('\'', r"'\''"));
    let mut line = String::new();
    for word in words.iter().skip(1) {
        if let Some(n) = word.strip_prefix("driver with actions ") {
            let actions = &run.list("actions")[n.parse::<usize>().unwrap()];
            line = format!("DSHLOG_ACTIONS={} {line}", quoted(&actions.to_string()));
            let driver = runtime.actions().unwrap();
            line += &quoted(driver.to_str().unwrap());
        } else if let Some(n) = word.strip_prefix("patch ") {
            line += &quoted(folder.join(format!("patch-{n}.yml")).to_str().unwrap());
        } else {
            line += &quoted(word);
        }
        line.push(' ');
    }
    line.replacen("'--profile'", "\"$DSHLOG_DSH\" '--profile'", 1)
}

/// What is wrong with a scenario.
fn first_words(one: &Value) -> String {
    let firsts = [&one["reason"], &one["asked"]["first"], &one["events"]["first"], &one["subagents"]];
    let firsts = firsts.map(Value::to_string).join(" ");
    format!("{} {}: {firsts} {}", one["scenario"], one["status"], one["stderr"])
}

/// Run dsh once, so that its native parts are unpacked: those that come at the same time would find half of them.
fn warm_up(runtime: &Runtime) {
    let place = Place::empty(PROGRAM);
    runtime.command(&place.home()).args(["--profile", "headless", "hello"]).output().unwrap();
}

/// Everything comes out equal, twice, four at a time.
#[track_caller]
fn check(runtime: &Runtime, place: &Place) {
    warm_up(runtime);
    for _ in 0..2 {
        let mut command = place.command(&["replay", "-q", "suite", "--jobs", "4", "--format", "json"]);
        let output = runtime.lend(&mut command).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let told: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let scenarios = fs::read_dir(place.path().join("suite")).unwrap().count();
        let wrong = told.iter().filter(|one| one["status"] != "ok");
        let wrong: Vec<String> = wrong.map(first_words).collect();
        assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), told.len(), wrong.join("\n"));
        assert_eq!((told.len(), output.status.code()), (scenarios, Some(0)));
        assert!(told.iter().all(|one| one["asked"]["alike"] == one["asked"]["expected"]));
        assert!(told.iter().any(|one| one["subagents"].as_array().is_some_and(|found| !found.is_empty())));
    }
}

#[test]
fn scenarios_of_today() {
    let Some(runtime) = Runtime::find() else { return };
    let runtime = runtime.alone().unwrap();
    check(&runtime, &suite(&runtime, &[&CURRENT[..], &DRIVEN].concat()));
}

#[test]
fn scenarios_of_the_older_dsh() {
    let Some(runtime) = Runtime::find_older() else { return };
    check(&runtime, &suite(&runtime, &[&OLDER[..], &OLDER_DRIVEN].concat()));
}
