//! What is changed in a record is found where it was changed.

use std::fs;
use std::path::PathBuf;

use dshlog_codec::json::{Doc, Js};
use serde_json::{Value, json};

use super::{documents, logs, suite};
use dshlog_tests::cmd::Place;

/// A scenario whose record is stored as plain lines, with the lines.
struct Plain {
    place: Place,
    log: PathBuf,
    lines: Vec<String>,
}

impl Plain {
    fn of(case: &str) -> Self {
        let place = suite(&[case]);
        let stored = logs(&place.path().join("suite").join(case).join("sessions"))[0].clone();
        let rows = place.run(&["read", "-q", stored.to_str().unwrap(), "--rows"]);
        assert!(rows.status.success());
        let text = String::from_utf8(rows.stdout).unwrap();
        fs::remove_file(&stored).unwrap();
        let plain = Plain {
            place,
            log: stored.with_file_name("session.v4.jsonl"),
            lines: text.lines().map(str::to_owned).collect(),
        };
        plain.write(&plain.lines);
        plain
    }

    fn write(&self, lines: &[String]) {
        fs::write(&self.log, lines.join("\n") + "\n").unwrap();
    }

    /// What comes out when the first row of a type that holds the first of these texts behind `behind` has others there.
    #[track_caller]
    fn changed(&self, kind: &str, behind: &str, changes: &[(&str, &str)]) -> (Value, u64) {
        let mut lines = self.lines.clone();
        let start = format!(r#"{{"type":"{kind}","#);
        let from = changes[0].0;
        let fits = |line: &String| {
            line.starts_with(&start) && line.find(behind).is_some_and(|at| line[at..].contains(from))
        };
        let row = lines.iter().position(fits).unwrap_or_else(|| panic!("no {kind} has {from}"));
        let line = &mut lines[row];
        let at = line.find(behind).unwrap();
        let replaced =
            changes.iter().fold(line[at..].to_owned(), |text, (from, to)| text.replacen(from, to, 1));
        line.truncate(at);
        line.push_str(&replaced);
        let seq = Doc::parse(line.as_str()).unwrap().root().get("seq").and_then(Js::as_count).unwrap();
        self.write(&lines);
        let (told, code) = documents(&self.place, &["suite"]);
        assert_eq!(code, i32::from(told[0]["status"] != "ok"), "{}", told[0]);
        (told[0].clone(), seq)
    }
}

/// Another answer of the model: the message that is recorded for it is not what comes of it.
const ANSWER: [(&str, &str); 2] = [(r#"["Pla""#, r#"["Fla""#), ("Planned.", "Flanned.")];

#[test]
fn a_chunk() {
    let plain = Plain::of("v4-todo");
    let (one, seq) = plain.changed("assistant/message", r#""stream""#, &ANSWER);
    let first = &one["events"]["first"];
    assert_eq!(one["status"], "differs", "{one}");
    assert_eq!(
        (first["a"]["seq"].as_u64(), first["a"]["type"].as_str()),
        (Some(seq), Some("assistant/message"))
    );
    assert_eq!(
        (first["pointer"].as_str(), first["b"]["value"].as_str()),
        (Some("/data/message/content/0/text"), Some("Flanned."))
    );
    // It was the last answer, so that nobody was asked otherwise.
    assert_eq!((one["transport"].as_str(), &one["asked"]["first"]), (Some("http"), &Value::Null));
}

/// A piece alone: the stream contradicts itself, and no model can have sent it.
#[test]
fn a_piece_of_a_chunk() {
    let plain = Plain::of("v4-todo");
    let (one, seq) = plain.changed("assistant/message", r#""stream""#, &ANSWER[..1]);
    assert_eq!(one["status"], "differs", "{one}");
    let reason =
        format!("the stream at seq {seq} contradicts itself: the pieces of block 0 do not make the block");
    assert_eq!(one["reason"], reason);
}

/// What somebody said: the message that is made of it is another one.
#[test]
fn a_prompt() {
    let plain = Plain::of("v4-todo");
    let (one, seq) =
        plain.changed("agent/inbox/spliced", r#""text":""#, &[(r#""text":""#, r#""text":"Changed: "#)]);
    let first = &one["events"]["first"];
    assert_eq!(one["status"], "differs", "{one}");
    assert_eq!(first["a"]["type"], "user/message");
    assert!(first["a"]["seq"].as_u64().unwrap() > seq);
    assert_eq!(first["pointer"], "/data/content/0/text", "{first}");
    assert_eq!(one["asked"]["first"]["number"], 1);
}

/// What comes out of a changed record is what is expected, or is not, wherever it was changed: with the old one as what is
/// expected, a changed result of a tool is found in the event that holds it, and in the request behind it.
#[test]
fn a_result() {
    let plain = Plain::of("v4-todo");
    let scenario = plain.place.path().join("suite/v4-todo");
    fs::write(scenario.join("expected.v4.jsonl"), plain.lines.join("\n") + "\n").unwrap();
    let file = scenario.join("scenario.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}expected = \"expected.v4.jsonl\"\n")).unwrap();
    let (told, code) = documents(&plain.place, &["suite"]);
    assert_eq!((told[0]["status"].as_str(), code), (Some("ok"), 0), "{}", told[0]);

    let (one, seq) = plain.changed("tool/result", r#""text":""#, &[(r#""text":""#, r#""text":"Changed: "#)]);
    let first = &one["events"]["first"];
    assert_eq!(one["status"], "differs", "{one}");
    assert_eq!((first["a"]["seq"].as_u64(), first["a"]["type"].as_str()), (Some(seq), Some("tool/result")));
    assert!(first["pointer"].as_str().unwrap().ends_with("/text"), "{first}");
    assert_eq!(one["requests"]["equal"], false);
    insta::assert_snapshot!(
        "replay-changed-result",
        plain.place.told(&["replay", "suite", "--ignore", "usage"])
    );
}

/// What came out is expected from now on, and the record stays what it was.
#[test]
fn what_comes_out_is_accepted() {
    let plain = Plain::of("v4-todo");
    let (one, _) = plain.changed("assistant/message", r#""stream""#, &ANSWER);
    assert_eq!(one["status"], "differs");
    let record = fs::read(&plain.log).unwrap();
    let (told, code) = documents(&plain.place, &["suite", "--update"]);
    assert_eq!((told[0]["status"].as_str(), told[0]["updated"].as_bool(), code), (Some("ok"), Some(true), 0));
    let (told, code) = documents(&plain.place, &["suite"]);
    assert_eq!(
        (told[0]["status"].as_str(), told[0]["updated"].as_bool(), code),
        (Some("ok"), Some(false), 0)
    );
    assert_eq!(fs::read(&plain.log).unwrap(), record);
    let file = plain.place.path().join("suite/v4-todo/scenario.toml");
    assert!(fs::read_to_string(&file).unwrap().contains("expected = \"expected.v4.jsonl\""));

    // The record as it was comes out as itself again.
    plain.write(&plain.lines);
    let (told, code) = documents(&plain.place, &["suite", "--update"]);
    assert_eq!((told[0]["updated"].clone(), code), (json!(true), 0));
    assert!(!fs::read_to_string(&file).unwrap().contains("expected"));
    assert_eq!(documents(&plain.place, &["suite"]).1, 0);
}
