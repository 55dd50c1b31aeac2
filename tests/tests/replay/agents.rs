//! Agents that are commands: what a bad one does is told, and leaves nothing behind.

use std::fs;
use std::time::{Duration, Instant};

use super::{documents, logs, suite};
use dshlog_tests::cmd::Place;
use serde_json::Value;

/// What came of the scenario when this line ran it.
fn told(place: &Place, line: &str, more: &[&str]) -> (Value, i32) {
    let (told, code) = documents(place, &[&["suite", "--agent", line], more].concat());
    (told.into_iter().next().unwrap(), code)
}

/// A line that puts the record into its home, as an agent does that writes just that.
fn copies(place: &Place) -> String {
    let sessions = place.path().join("suite/v4-thinking/sessions");
    format!("cp -r '{}' \"$DSH_HOME/sessions\"", sessions.display())
}

/// A line that asks the model, without looking at the answer. There is no program for that on every machine; the shell of
/// one can.
pub(super) const ASKS: &str = r#"host=${DEEPSEEK_BASE_URL#http://}; exec 3<>"/dev/tcp/${host%:*}/${host#*:}"; body='{"model":"m","stream":true,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"t","input_schema":{}}]}'; printf 'POST /v1/messages HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: %d\r\n\r\n%s' "${#body}" "$body" >&3; cat <&3 >/dev/null; exec 3>&-"#;

pub(super) fn asks(times: &str) -> String {
    format!("/usr/bin/env bash -c '{times}' dshlog", times = times.replace('\'', r"'\''"))
}

/// The log is the recorded one, and the request is none of the recorded ones.
#[test]
fn an_agent_that_writes_the_record() {
    let place = suite(&["v4-thinking"]);
    let line = format!("{} && {}", asks(ASKS), copies(&place));
    let (one, code) = told(&place, &line, &[]);
    assert_eq!((one["status"].as_str(), code), (Some("differs"), 1), "{one}");
    let asked = &one["asked"];
    assert_eq!((asked["expected"].as_u64(), asked["came"].as_u64()), (Some(1), Some(1)));
    assert_eq!((asked["alike"].as_u64(), asked["first"]["number"].as_u64()), (Some(0), Some(1)), "{asked}");
    assert_eq!(one["events"]["equal"], true);

    // Where requests do not count, that is all.
    let file = place.path().join("suite/v4-thinking/scenario.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}compare.what = [\"events\"]\n")).unwrap();
    let (one, code) = told(&place, &line, &[]);
    assert_eq!((one["status"].as_str(), code), (Some("ok"), 0), "{one}");
}

#[test]
fn agents_that_do_not() {
    let place = suite(&["v4-thinking"]);
    let copy = copies(&place);
    let empty = "for log in \"$DSH_HOME\"/sessions/*/*/session*; do : > \"$log\"; done";
    let second = "cd \"$DSH_HOME/sessions\"/*/ && cp -r session-* session-other";
    for (line, status, reason) in [
        ("exit 3".to_owned(), "failed", "the agent neither asked the model nor wrote a log (exit code 3)"),
        (
            "kill -9 $$".to_owned(),
            "failed",
            "the agent neither asked the model nor wrote a log (it was killed by a signal)",
        ),
        (asks(ASKS), "failed", "the agent wrote no log"),
        (copy.clone(), "failed", "the agent never asked the model"),
        (
            format!("{} && {copy} && {second}", asks(ASKS)),
            "failed",
            "the agent wrote 2 logs, and one was expected: ",
        ),
        (
            format!("{} && {copy} && {empty}", asks(ASKS)),
            "failed",
            "dsh would refuse the log that the agent wrote: ",
        ),
    ] {
        let (one, code) = told(&place, &line, &[]);
        assert_eq!((one["status"].as_str(), code), (Some(status), 1), "{line}: {one}");
        assert!(one["reason"].as_str().unwrap().starts_with(reason), "{line}: {}", one["reason"]);
    }
}

/// Prompts, working directory, environment and output are what they are said to be.
#[test]
fn what_an_agent_is_given() {
    let place = suite(&["v4-multi-turn"]);
    fs::write(place.path().join("suite/v4-multi-turn/workspace/plan.txt"), "a plan\n").unwrap();
    let line = r#"echo "$#: $1, $2"; cat plan.txt; echo "$DEEPSEEK_API_KEY $DSHLOG_PROMPT" >&2; test -d "$DSH_HOME""#;
    let (one, code) = told(&place, line, &[]);
    assert_eq!(one["stdout"], "3: Turn one, Turn two\na plan", "{one}");
    assert_eq!(one["stderr"], "dshlog-replay Turn one");
    assert_eq!((one["exitCode"].as_i64(), code), (Some(0), 1));
}

/// Neither an agent that does nothing nor one that asks forever keeps anybody waiting, and nothing of it is left.
#[test]
fn agents_without_end() {
    let place = suite(&["v4-thinking"]);
    let file = place.path().join("pids");
    let forever = format!("while :; do {ASKS}; done");
    for (line, least) in [("sleep 1000".to_owned(), 0), (asks(&forever), 2)] {
        let line = format!("echo $$ >> {f}; sleep 1000 & echo $! >> {f}; {line}", f = file.display());
        let begun = Instant::now();
        let (one, code) = told(&place, &line, &["--timeout", "2"]);
        assert!(begun.elapsed() < Duration::from_mins(1));
        assert_eq!((one["status"].as_str(), code), (Some("timed-out"), 1), "{one}");
        assert_eq!(one["reason"], "it took more than 2 s");
        assert!(one["asked"]["came"].as_u64().unwrap() >= least, "{one}");
    }
    for pid in fs::read_to_string(&file).unwrap().lines() {
        let is_gone = || {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with('Z'))
        };
        let gone = (0..300).any(|_| {
            let gone = is_gone();
            if !gone {
                std::thread::sleep(Duration::from_millis(10));
            }
            gone
        });
        assert!(gone, "{pid} is there");
    }
}

/// The folder of what failed is kept when somebody asks for that, and only then.
#[test]
fn folders_are_kept() {
    let place = suite(&["v4-thinking"]);
    let (one, _) = told(&place, "exit 1", &[]);
    assert_eq!(one["kept"], Value::Null);
    let (one, _) = told(&place, "touch \"$DSH_HOME/mark\"; echo said; exit 1", &["--keep"]);
    let kept = std::path::Path::new(one["kept"].as_str().unwrap());
    assert!(kept.join("home/mark").is_file() && logs(&kept.join("home")).is_empty());
    assert_eq!(fs::read_to_string(kept.join("stdout")).unwrap(), "said\n");
    fs::remove_dir_all(kept).unwrap();
}
