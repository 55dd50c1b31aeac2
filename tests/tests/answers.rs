//! What programs read, against the right answers of the corpora.

use std::process::Command;

use dshlog_codec::Generation;
use dshlog_tests::model::{Corpora, Status};

use crate::PROGRAM;

fn run(args: &[&str]) -> std::process::Output {
    Command::new(PROGRAM)
        .args(args)
        .env_clear()
        .env("HOME", "/nonexistent")
        .output()
        .expect("the program starts")
}

/// Reasons to refuse a log for its place.
const PLACEMENT: [&str; 3] = ["identity-mismatch", "version-file-mismatch", "version-name-mismatch"];

/// Current events and messages of every log of any generation, byte for byte, and the exit code of every refusal.
#[test]
fn events_and_messages() {
    let mut compared = 0;
    for entry in Corpora::all().iter().flat_map(|corpora| &corpora.entries) {
        let log = entry.log.to_str().unwrap();
        let told = format!("{} {log}", entry.case);
        let events = run(&["read", log, "--events", "--format", "jsonl"]);
        match &entry.status {
            Status::Restored(restored) => {
                assert_eq!(
                    events.status.code(),
                    Some(0),
                    "{told}: {}",
                    String::from_utf8_lossy(&events.stderr)
                );
                if let Some(answer) = &restored.current {
                    answer.check(&events.stdout).unwrap_or_else(|e| panic!("{told}: {e}"));
                    compared += 1;
                }
                if let Some(answer) = &restored.messages {
                    let messages = run(&["read", log, "--messages", "--format", "json"]);
                    answer.check(&messages.stdout).unwrap_or_else(|e| panic!("{told}: messages: {e}"));
                }
                let verify = run(&["verify", log]).status.code();
                let expected = i32::from(restored.torn.is_some());
                // Bytes that no writer would cut off are damage all the same.
                assert!(verify == Some(expected) || verify == Some(1), "{told}: verify gave {verify:?}");
            }
            Status::Refused { class, reason } => {
                // Of old logs the official reader calls also those corrupt that do not belong where they lie.
                let is_misplaced =
                    entry.generation != Generation::CURRENT && PLACEMENT.contains(&reason.as_str());
                let code = if class == "corrupt" && !is_misplaced { 4 } else { 3 };
                assert_eq!(events.status.code(), Some(code), "{told}: {class}");
                assert!(events.stdout.is_empty(), "{told}: nothing of a refused log is shown");
                assert_eq!(run(&["verify", log]).status.code(), Some(1), "{told}: verify");
            }
        }
    }
    assert!(compared > 30, "only {compared} logs were compared");
}

/// Logs of older generations are shown as they are stored, too.
#[test]
fn older_generations() {
    for entry in &Corpora::own().entries {
        if entry.generation == Generation::CURRENT || entry.restored().is_none() {
            continue;
        }
        let log = entry.log.to_str().unwrap();
        let stored = run(&["read", log, "--events", "--as-stored"]);
        assert_eq!(
            stored.status.code(),
            Some(0),
            "{}: {}",
            entry.case,
            String::from_utf8_lossy(&stored.stderr)
        );
        let lines = stored.stdout.split(|byte| *byte == b'\n').skip(1).count() as u64;
        if let Some(events) = entry.stored.as_ref().and_then(|stored| stored.events) {
            assert_eq!(lines, events + 1, "{}", entry.case);
        }
        let transcript = run(&["read", log, "--as-stored"]);
        assert_eq!(transcript.status.code(), Some(0), "{}", entry.case);
    }
}

/// The stored lines are what is in the file.
#[test]
fn rows_are_the_bytes_of_the_file() {
    for entry in &Corpora::own().entries {
        if entry.encoding != dshlog_codec::Encoding::Raw || entry.restored().is_none_or(|r| r.torn.is_some())
        {
            continue;
        }
        let bytes = entry.bytes().unwrap();
        let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let rows = run(&["read", entry.log.to_str().unwrap(), "--rows"]);
        assert_eq!(rows.status.code(), Some(0), "{}", entry.case);
        assert!(rows.stdout == bytes[..end], "{}: the lines differ from the file", entry.case);
    }
}

/// No transcript of any log, folded or not, lets a control character through.
#[test]
fn nothing_foreign_acts_on_the_terminal() {
    for entry in &Corpora::own().entries {
        // Damage changes nothing about text; a transcript shows what stands in front of it.
        if entry.restored().is_none() {
            continue;
        }
        let log = entry.log.to_str().unwrap();
        for more in [&["--full"][..], &["--width", "40", "--seqs"]] {
            let output = run(&[&["read", log, "--as-stored", "--lenient"], more].concat());
            let text = String::from_utf8(output.stdout).unwrap();
            let found = text
                .chars()
                .find(|c| (c.is_control() && *c != '\n') || ('\u{202a}'..='\u{202e}').contains(c));
            assert_eq!(found, None, "{} {more:?}", entry.case);
        }
    }
}
