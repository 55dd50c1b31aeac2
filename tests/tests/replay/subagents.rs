//! Subagents' own logs: compared with those of the record, told when they are missing, and taken by `--update`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::agents::{ASKS, asks};
use super::{documents, logs};
use crate::PROGRAM;
use dshlog_codec::LogFile;
use dshlog_tests::cmd::Place;
use dshlog_tests::runs::Run;

/// A scenario whose agent writes what lies in `made`: the record, at first.
struct Copied {
    place: Place,
}

impl Copied {
    fn new() -> Self {
        let place = Place::empty(PROGRAM);
        let record = Run::of("v4-subagent").logs().remove(0);
        let line = format!("{} && cp -r \"$DSHLOG_SCENARIO/made\" \"$DSH_HOME/sessions\"", asks(ASKS));
        let args =
            ["new-scenario", "-q", "suite/copied", "--from", record.to_str().unwrap(), "--agent", &line];
        assert!(place.told(&args).ends_with("[0]\n"));
        let copied = Copied { place };
        let file = copied.scenario().join("scenario.toml");
        // Whoever copies asks nothing that was asked in the record.
        let text = fs::read_to_string(&file).unwrap();
        fs::write(file, text + "compare.what = [\"events\"]\n").unwrap();
        for log in logs(&copied.scenario().join("sessions")) {
            let folder = log.parent().unwrap();
            let [session, project] =
                [folder, folder.parent().unwrap()].map(|folder| folder.file_name().unwrap());
            let to = copied.scenario().join("made").join(project).join(session);
            fs::create_dir_all(&to).unwrap();
            fs::copy(&log, to.join(log.file_name().unwrap())).unwrap();
        }
        copied
    }

    fn scenario(&self) -> PathBuf {
        self.place.path().join("suite/copied")
    }

    /// The log that the agent writes for its subagent.
    fn child(&self) -> PathBuf {
        let is_child = |log: &PathBuf| LogFile::open(log).unwrap().header().unwrap().parent_session.is_some();
        logs(&self.scenario().join("made")).into_iter().find(is_child).unwrap()
    }

    /// Write a text of the subagent otherwise.
    fn change(&self, from: &str, to: &str) {
        let log = self.child();
        let rows = self.place.run(&["read", "-q", log.to_str().unwrap(), "--rows"]);
        let text = String::from_utf8(rows.stdout).unwrap();
        assert!(text.contains(from));
        fs::remove_file(&log).unwrap();
        fs::write(log.with_file_name("session.v4.jsonl"), text.replace(from, to)).unwrap();
    }

    fn told(&self, more: &[&str]) -> (Value, i32) {
        let (told, code) = documents(&self.place, &[&["suite"], more].concat());
        (told.into_iter().next().unwrap(), code)
    }
}

/// The session of a log, by its header.
fn id(log: &Path) -> String {
    LogFile::open(log).unwrap().header().unwrap().id.to_lossy().into_owned()
}

#[test]
fn an_equal_subagent() {
    let copied = Copied::new();
    let (one, code) = copied.told(&[]);
    assert_eq!((one["status"].as_str(), code), (Some("ok"), 0), "{one}");
    let child = json!(id(&copied.child()));
    let subagents = one["subagents"].as_array().unwrap();
    assert_eq!(subagents.len(), 1);
    assert_eq!((&subagents[0]["recorded"], &subagents[0]["written"]), (&child, &child));
    assert_eq!(subagents[0]["events"]["equal"], true);
}

#[test]
fn a_subagent_that_says_something_else() {
    let copied = Copied::new();
    copied.change("Count the files", "Count the trees");
    let (one, code) = copied.told(&[]);
    assert_eq!((one["status"].as_str(), code), (Some("differs"), 1), "{one}");
    assert_eq!(one["events"]["equal"], true);
    let first = &one["subagents"][0]["events"]["first"];
    assert!(first["a"]["value"].as_str().unwrap().contains("files"), "{first}");
    insta::assert_snapshot!(
        "replay-subagent",
        copied.place.told(&["replay", "suite", "--junit", "report.xml"])
    );
    let report = fs::read_to_string(copied.place.path().join("report.xml")).unwrap();
    assert!(report.contains(r#"failures="1""#) && report.contains("Count the trees"), "{report}");

    // It is expected from now on, and then the record again.
    let (one, code) = copied.told(&["--update"]);
    assert_eq!((one["updated"].as_bool(), code), (Some(true), 0), "{one}");
    let file = copied.scenario().join("scenario.toml");
    let text = fs::read_to_string(&file).unwrap();
    let line = format!("[expected_subagents]\n{0} = \"expected.{0}.v4.jsonl\"\n", id(&copied.child()));
    assert!(text.ends_with(&line), "{text}");
    assert_eq!(copied.told(&[]).1, 0);
    copied.change("Count the trees", "Count the files");
    assert_eq!(copied.told(&[]).1, 1);
    let (one, code) = copied.told(&["--update"]);
    assert_eq!((one["updated"].as_bool(), code), (Some(true), 0), "{one}");
    assert!(!fs::read_to_string(&file).unwrap().contains("expected"));
    assert_eq!(copied.told(&[]).1, 0);
}

#[test]
fn missing_ones_and_more() {
    let copied = Copied::new();
    let child = copied.child();
    let another = child.parent().unwrap().with_file_name("another");
    fs::create_dir(&another).unwrap();
    let rows = copied.place.run(&["read", "-q", child.to_str().unwrap(), "--rows"]);
    let text = String::from_utf8(rows.stdout).unwrap().replace(&id(&child), "another");
    fs::write(another.join("session.v4.jsonl"), text).unwrap();
    let (one, code) = copied.told(&[]);
    assert_eq!((one["status"].as_str(), code), (Some("differs"), 1), "{one}");
    let found = one["subagents"].as_array().unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!((&found[1]["recorded"], &found[1]["written"]), (&Value::Null, &json!("another")), "{one}");
    assert!(copied.place.told(&["replay", "suite"]).contains("one more subagent: another"));

    fs::remove_dir_all(another).unwrap();
    let name = id(&child);
    fs::remove_dir_all(child.parent().unwrap()).unwrap();
    let (one, code) = copied.told(&["--update"]);
    assert_eq!((one["status"].as_str(), one["updated"].as_bool(), code), (Some("differs"), Some(false), 1));
    let found = one["subagents"].as_array().unwrap();
    assert_eq!((&found[0]["recorded"], &found[0]["written"]), (&json!(name), &Value::Null));
    assert!(copied.place.told(&["replay", "suite"]).contains(&format!("subagent {name} did not come to be")));
}

/// A log that dsh would refuse is told, whoever wrote it.
#[test]
fn a_subagent_whose_log_is_damaged() {
    let copied = Copied::new();
    let child = copied.child();
    let rows = copied.place.run(&["read", "-q", child.to_str().unwrap(), "--rows"]);
    let text = String::from_utf8(rows.stdout).unwrap();
    let without_one: Vec<&str> = text.lines().take(5).chain(text.lines().skip(6)).collect();
    fs::remove_file(&child).unwrap();
    fs::write(child.with_file_name("session.v4.jsonl"), without_one.join("\n") + "\n").unwrap();
    let (one, code) = copied.told(&[]);
    assert_eq!((one["status"].as_str(), code), (Some("failed"), 1), "{one}");
    let reason = one["reason"].as_str().unwrap();
    assert!(reason.starts_with("dsh would refuse the log of the subagent "), "{reason}");
}
