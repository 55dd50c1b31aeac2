//! What `dshlog fork` makes and `dshlog read --recovered` foretells, beside what the real dsh does.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use dshlog_codec::home::{SessionFolder, Walk};
use dshlog_codec::json::{Doc, Js};
use dshlog_codec::{Event, Millis};
use dshlog_replay::Resume;
use dshlog_tests::cmd::Place;
use dshlog_tests::model::{first_difference, sha256_hex};
use dshlog_tests::runtime::{ModelServer, Moved, Runtime, Session, Store, files_of, plain_text};
use serde_json::Value;

use super::{ANSWER, PROGRAM, PROMPT, is_call_with, texts};

/// Logs of every sort: open steps, parallel calls, replaced histories, forks of forks, subagents, images, both encodings,
/// and those of old generations.
const FORKED: [&str; 16] = [
    "v0-0.1.0rc7-lone-surrogate",
    "v0-0.1.2rc1-kill9-mid-tool",
    "v1-0.1.0rc7-plan-mode",
    "v2-0.1.2a3-store-fork",
    "v3-compact",
    "v3-fork",
    "v3-kill-tool-resumed",
    "v3-subagent",
    "v4-compact",
    "v4-fork",
    "v4-image",
    "v4-kill-tool-open",
    "v4-raw-jsonl",
    "v4-steer",
    "v4-tools-parallel",
    "v4-wire-subagent-fork",
];

/// A log that was made, without what must differ.
#[derive(Debug, PartialEq)]
struct Fork {
    header: Value,
    cut: u64,
    own: Vec<String>,
    sha256: String,
}

impl Fork {
    fn new(header: &str, cut: u64, own: Vec<String>, sha256: String) -> Fork {
        let mut header: Value = serde_json::from_str(header).unwrap();
        assert!(header["createdAt"].take().is_u64());
        // The store's operation leaves it to its caller; a person's fork has it.
        header.as_object_mut().unwrap().remove("agentPreset");
        Fork { header, cut, own, sha256 }
    }
}

/// Forked behind any of its events, a session becomes what the runtime's own fork makes of it.
#[test]
fn a_fork_is_the_one_that_the_real_runtime_makes() {
    let Some(runtime) = Runtime::find() else { return };
    let mut store = Store::start(&runtime);
    let mut compared = 0;
    let mut differences = Vec::new();
    for case in FORKED {
        let place = Place::with(PROGRAM, &[case]);
        for session in Walk::new(&place.home().join("sessions")).unwrap().sessions {
            let id = session.id.as_ref().and_then(|id| id.as_str()).unwrap();
            let theirs = store.forks(&place.home(), id).unwrap_or_else(|e| panic!("{case}: {id}: {e}"));
            for (at, theirs) in theirs.root().get("forks").unwrap().elements().enumerate() {
                let ours = fork(&place, &session, at);
                let theirs = official(theirs);
                if ours != theirs {
                    differences.push(format!("{case}: {id} at {at}\n ours {ours:?}\n theirs {theirs:?}"));
                }
                compared += 1;
            }
        }
    }
    assert!(differences.is_empty(), "{} of {compared}, {}", differences.len(), differences[0]);
    assert!(compared > 500, "only {compared}");
}

fn official(fork: Js<'_>) -> Fork {
    let text = |value: Js<'_>| value.as_str().unwrap().to_lossy().into_owned();
    let header = fork.get("header").unwrap().raw();
    let own = fork.get("own").unwrap().elements().map(text).collect();
    Fork::new(header, fork.get("cut").unwrap().as_count().unwrap(), own, text(fork.get("sha256").unwrap()))
}

fn fork(place: &Place, session: &SessionFolder, at: usize) -> Fork {
    let out = place.path().join("forks");
    let folder = session.path.to_str().unwrap();
    let id = format!("fork-{at}");
    let args = ["fork", folder, "--at", &at.to_string(), "--id", &id, "--format", "json", "--out"];
    let output = place.command(&args).arg(&out).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let path = Path::new(report["path"].as_str().unwrap());
    let text = plain_text(path.file_name().unwrap(), &fs::read(path).unwrap()).unwrap();
    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    let end = text.iter().position(|byte| *byte == b'\n').unwrap();
    let (header, rows) = text.split_at(end + 1);
    let cut = report["cut"].as_u64().unwrap();
    let rows_of = String::from_utf8(rows.to_vec()).unwrap();
    let own = rows_of.split_inclusive('\n').skip(usize::try_from(cut).unwrap()).map(str::to_owned).collect();
    Fork::new(std::str::from_utf8(header).unwrap(), cut, own, sha256_hex(rows))
}

/// Of every beginning of a log, and of the whole: what the runtime appends when it opens it.
#[test]
fn a_resume_appends_what_the_real_runtime_appends() {
    let Some(runtime) = Runtime::find() else { return };
    let mut store = Store::start(&runtime);
    let (mut compared, mut refused) = (0, 0);
    for case in FORKED {
        let place = Place::with(PROGRAM, &[case]);
        for session in Walk::new(&place.home().join("sessions")).unwrap().sessions {
            let id = session.id.as_ref().and_then(|id| id.as_str()).unwrap();
            let theirs = store.resumes(&place.home(), id).unwrap();
            let events = place.run(&["read", session.path.to_str().unwrap(), "--events"]).stdout;
            let events = String::from_utf8(events).unwrap();
            let mut events = events.lines().skip(1);
            let mut resume = Resume::new();
            for theirs in theirs.root().get("resumes").unwrap().elements() {
                // Rows are printed, and have no surrogates but as escapes.
                let text = |row: Js<'_>| row.as_str().unwrap().to_lossy().into_owned();
                let rows: Vec<String> = theirs.elements().map(text).collect();
                let now = rows.last().map_or(Millis(0), |row| with_event(row, |event| event.time));
                let resumed = resume.finish(now);
                let ours: Vec<String> = resumed.events().map(|event| event.text().to_owned()).collect();
                if theirs.is_null() {
                    refused += 1;
                } else {
                    assert_eq!(ours, rows, "{case}: {id}");
                    compared += 1;
                }
                if let Some(row) = events.next() {
                    with_event(row, |event| resume.see(event));
                }
            }
        }
    }
    // A seeded session whose mark is not there, for one.
    assert!(compared > 500 && refused < compared / 4, "{compared} compared, {refused} refused");
}

fn with_event<T>(row: &str, see: impl FnOnce(&Event<'_>) -> T) -> T {
    let doc = Doc::parse(row).unwrap();
    see(&Event::from_row(doc.root(), dshlog_codec::Place::default()))
}

/// A case, where it is forked (nothing for the default), and whether there is something to remember by then.
const CONTINUED: [(&str, Option<&str>); 12] = [
    ("v0-0.1.2rc1-kill9-mid-tool", Some("end")),
    ("v2-0.1.2a3-store-fork", None),
    ("v3-compact", None),
    ("v3-fork", Some("12")),
    ("v3-sdk-minimal", None),
    ("v4-compact", Some("end")),
    ("v4-fork", None),
    ("v4-kill-tool-open", Some("22")),
    ("v4-kill-tool-open", Some("end")),
    ("v4-raw-jsonl", None),
    ("v4-tools-parallel", Some("21")),
    ("v4-tools-parallel", None),
];

/// Forks of ours, in the hands of the runtime: it tells the model what was said up to there, and goes on.
#[test]
fn the_real_runtime_goes_on_with_our_forks() {
    let Some(runtime) = Runtime::find() else { return };
    let mut store = Store::start(&runtime);
    for (number, (case, at)) in CONTINUED.into_iter().enumerate() {
        let moved = Moved::case(case);
        let home = moved.home();
        let parent = &moved.sessions[0];
        let id = format!("fork-{number}");
        let mut command = Command::new(PROGRAM);
        command.env_clear().args(["fork", &parent.id, "--id", &id, "--home"]).arg(&home);
        command.args(at.iter().flat_map(|at| ["--at", at]));
        let before = files_of(&parent.folder).unwrap();
        let output = command.output().unwrap();
        assert!(output.status.success(), "{case}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(files_of(&parent.folder).unwrap(), before, "{case}: the parent is only read");

        let folder = parent.folder.with_file_name(&id);
        let fork = Session { id, folder, ..parent.clone() };
        let said = texts(&mut store, &home, &fork);
        let ours = files_of(&fork.folder).unwrap();
        let model = ModelServer::start(ANSWER);
        let output = runtime.drive(&home, &fork, &model, PROMPT).unwrap().output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{case} at {at:?}: {told}");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), ANSWER, "{case} at {at:?}: {told}");
        let requests = model.requests();
        assert!(requests.iter().any(|call| is_call_with(&call.body, &said)), "{case} at {at:?}: {said:?}");
        check_appended(&ours, &files_of(&fork.folder).unwrap(), &format!("{case} at {at:?}"));
    }
}

/// The log is what we made, and more behind it; nothing else is new.
fn check_appended(
    before: &BTreeMap<std::ffi::OsString, Vec<u8>>,
    after: &BTreeMap<std::ffi::OsString, Vec<u8>>,
    what: &str,
) {
    assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>(), "{what}");
    for (name, bytes) in before.iter().filter(|(_, bytes)| !bytes.is_empty()) {
        assert!(after[name].starts_with(bytes) && after[name].len() > bytes.len(), "{what}");
        let texts = [bytes, &after[name]].map(|bytes| plain_text(name, bytes).unwrap());
        assert!(texts[1].starts_with(&texts[0]), "{what}: {}", first_difference(&texts[0], &texts[1]));
        // A log that ends with a mark gets none: the next thing is the prompt.
        let behind = String::from_utf8(texts[1][texts[0].len()..].to_vec()).unwrap();
        let ends_with_mark =
            String::from_utf8_lossy(&texts[0]).lines().last().unwrap().contains("session/end-seed");
        assert_eq!(behind.starts_with(r#"{"type":"session/end-seed""#), !ends_with_mark, "{what}: {behind}");
    }
}
