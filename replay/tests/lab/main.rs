//! The lab (`examples/lab/README.md`): the embedded core asks a scripted server over HTTP, and answers out of notes.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bench;

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;

use dshlog_codec::{Limits, LogFile};
use dshlog_fixture_server::{Outcome as Answered, Rung};
use dshlog_replay::agent::live::Setup;
use dshlog_replay::agent::tools::{NoTools, Notes};
use dshlog_replay::compare::{Rules, compare};
use dshlog_tests::runtime::{Runtime, Store};
use serde_json::{Value, json};

use bench::{Bench, Denied, HIDDEN, NOTE, Run, lab_file};

const ANSWER: &str = "No: it stays in the log, not in the history [session].";
const FOUND: &str = r#"{"matches":[{"id":"session","preview":"A failed model attempt: "}]}"#;

fn notes() -> Notes {
    Notes::new([("session".to_owned(), NOTE.to_owned())])
}

/// The results in the history of the last request: id, text, whether it is an error.
fn results(run: &Run) -> Vec<(String, String, bool)> {
    let last = run.requests.last().unwrap();
    let blocks =
        last["messages"].as_array().unwrap().iter().filter_map(|message| message["content"].as_array());
    let results = blocks.flatten().filter(|block| block["type"] == "tool_result");
    let text = |content: &Value| match content {
        Value::String(text) => text.clone(),
        content => content[0]["text"].as_str().unwrap().to_owned(),
    };
    let results = results.map(|block| {
        let id = block["tool_use_id"].as_str().unwrap().to_owned();
        (id, text(&block["content"]), block["is_error"] == true)
    });
    results.collect()
}

fn result(id: &str, text: &str, is_error: bool) -> (String, String, bool) {
    (id.to_owned(), text.to_owned(), is_error)
}

/// Which requests hold the part of the note that only `read_note` tells.
fn requests_that_know(run: &Run) -> Vec<usize> {
    let asked = run.requests.iter().enumerate();
    asked.filter(|(_, body)| body.to_string().contains(HIDDEN)).map(|(n, _)| n).collect()
}

fn offered(request: &Value) -> Vec<&str> {
    request["tools"]
        .as_array()
        .map_or_else(Vec::new, |tools| tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect())
}

#[test]
fn a_search_alone_cannot_answer() {
    let units: Vec<u16> = NOTE.encode_utf16().collect();
    let preview = String::from_utf16(&units[..24]).unwrap();
    assert!(FOUND.contains(&preview) && (55..=65).contains(&units.len()), "{}", units.len());
    assert!(!preview.contains(HIDDEN) && NOTE.ends_with(&format!("{HIDDEN}.")));
    assert!(lab_file("notes.json").contains(NOTE));
}

#[test]
fn checkpoint_0_a_question_and_an_answer() {
    let run = Bench::new("question.toml").run(Setup::default(), &NoTools);
    assert!(run.verdict.is_good(), "{}", run.verdict);
    assert_eq!((run.requests.len(), run.end()), (1, "completed".to_owned()));
    assert_eq!(run.last_text().as_deref(), Some("I would have to look."));
}

/// What checkpoints 1, 2 and 5 have in common.
#[track_caller]
fn check_that_it_looked_and_answered(run: &Run) {
    assert!(run.verdict.is_good(), "{}", run.verdict);
    assert_eq!((run.requests.len(), run.end()), (3, "completed".to_owned()));
    let read = format!("[session] {NOTE}");
    assert_eq!(results(run), [result("call_search", FOUND, false), result("call_read", &read, false)]);
    assert_eq!(requests_that_know(run), [2]);
    assert_eq!(run.last_text().as_deref(), Some(ANSWER));
    assert!(ANSWER.contains("[session]"));
}

#[test]
fn checkpoint_1_notes_in_memory() {
    let run = Bench::new("notes.toml").run(Setup::default(), &notes());
    check_that_it_looked_and_answered(&run);
    for request in &run.requests {
        assert_eq!(offered(request), ["search_notes", "read_note"]);
    }
}

#[test]
fn checkpoint_2_notes_out_of_a_file() {
    let from_file = Notes::from_json(&lab_file("notes.json")).unwrap();
    let run = Bench::new("notes.toml").run(Setup::default(), &from_file);
    check_that_it_looked_and_answered(&run);
    let in_memory = Bench::new("notes.toml").run(Setup::default(), &notes());
    assert_eq!(run.bodies, in_memory.bodies, "byte for byte");
    // The logs differ in nothing but when the answers came.
    let Ok(comparison) = compare(&run.log, &in_memory.log, Rules::default());
    assert!(comparison.is_equal());
}

#[test]
fn checkpoint_3_reading_is_denied() {
    let run = Bench::new("denied.toml").run(Setup::default(), &Denied(notes()));
    assert!(run.verdict.is_good(), "{}", run.verdict);
    assert_eq!((run.requests.len(), run.end()), (3, "completed".to_owned()));
    assert!(run.requests.iter().all(|request| offered(request) == ["search_notes", "read_note"]));
    let denied = r#"Error: the policy denied reading "session""#;
    assert_eq!(results(&run)[1], result("call_read", denied, true));
    assert_eq!(requests_that_know(&run), [0; 0]);
    assert!(!run.lines().contains(HIDDEN), "it is not in the log either");
    // Without the policy the same script does not go on.
    let read = Bench::new("denied.toml").run(Setup::default(), &notes());
    assert_eq!((read.verdict.unmatched, read.end()), (1, "error".to_owned()));
}

#[test]
fn checkpoint_4_two_steps_at_most() {
    let setup = Setup { most_steps: Some(2), ..Setup::default() };
    let run = Bench::new("two-steps.toml").run(setup, &notes());
    assert!(run.verdict.is_good(), "{}", run.verdict);
    assert_eq!((run.requests.len(), run.end()), (2, "blocked".to_owned()));
    assert_eq!(run.last_text(), None);
    assert_eq!(requests_that_know(&run), [0; 0]);
    // The result of the second step is in the log, and no request told it.
    assert!(run.lines().contains(HIDDEN));
}

#[test]
fn checkpoint_5_a_home_that_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("sessions/--tmp-lab--/session-1");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("session.v4.jsonl");
    let mut file = File::create_new(&path).unwrap();
    let mut seen = Vec::new();
    let mut bench = Bench::new("notes.toml");
    file.write_all(&bench.header_line()).unwrap();
    let run = bench.run_seen(Setup::default(), &notes(), &mut |row| {
        writeln!(file, "{}", row.text()).unwrap();
        seen.push(row.text().to_owned());
    });
    drop(file);
    check_that_it_looked_and_answered(&run);

    let log = LogFile::open(&path).unwrap();
    let mut reader = log.read(&Limits::default()).unwrap();
    let mut cold = Vec::new();
    while let Some(event) = reader.next_event().unwrap() {
        let mut line = Vec::new();
        event.print_row(&mut line);
        cold.push(String::from_utf8(line).unwrap());
    }
    assert_eq!(cold, seen);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), run.lines());
}

#[test]
fn a_result_under_a_wrong_id_fails() {
    let run = Bench::new("wrong-id.toml").run(Setup::default(), &notes());
    assert_eq!((run.verdict.unmatched, run.verdict.left.as_slice()), (1, &["exchanges[1]".to_owned()][..]));
    assert_eq!((run.requests.len(), run.end()), (2, "error".to_owned()));
    let refused = run.captures.last().unwrap();
    assert_eq!(refused.answer.as_ref().unwrap().status, Some(400));
    let Answered::Unmatched(report) = &refused.outcome else { panic!("{:?}", refused.outcome) };
    assert!(report.to_string().contains("call_of_nobody"), "{report}");
    assert_eq!(run.last_text(), None);
    assert!(run.lines().contains(r#""status":400"#), "{}", run.lines());
}

/// What the note says is so.
#[test]
fn a_failed_attempt_is_in_the_log_and_not_in_the_next_request() {
    let run = Bench::new("attempt.toml").run(Setup::default(), &NoTools);
    assert!(run.verdict.is_good(), "{}", run.verdict);
    assert_eq!((run.requests.len(), run.end()), (2, "completed".to_owned()));
    assert_eq!(run.bodies[0], run.bodies[1], "the same request again, byte for byte");
    assert!(run.lines().contains(r#""type":"assistant/attempt""#) && run.lines().contains("Half an answer"));
    let second = run.captures.last().unwrap();
    assert!(matches!(&second.outcome, Answered::Served { rung: Rung::Exchange(1), .. }));
}

#[test]
fn the_real_reader_takes_the_logs_of_all() {
    let Some(runtime) = Runtime::find() else { return };
    let home = tempfile::tempdir().unwrap();
    let two = || Setup { most_steps: Some(2), ..Setup::default() };
    let runs = [
        ("question.toml", Bench::new("question.toml").named("s-0").run(Setup::default(), &NoTools)),
        ("notes.toml", Bench::new("notes.toml").named("s-1").run(Setup::default(), &notes())),
        ("denied.toml", Bench::new("denied.toml").named("s-2").run(Setup::default(), &Denied(notes()))),
        ("two-steps.toml", Bench::new("two-steps.toml").named("s-3").run(two(), &notes())),
        ("wrong-id.toml", Bench::new("wrong-id.toml").named("s-4").run(Setup::default(), &notes())),
        ("attempt.toml", Bench::new("attempt.toml").named("s-5").run(Setup::default(), &NoTools)),
    ];
    for (number, (_, run)) in runs.iter().enumerate() {
        let folder = home.path().join(format!("sessions/--tmp-lab--/s-{number}"));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("session.v4.jsonl"), run.lines()).unwrap();
    }
    let mut store = Store::start(&runtime);
    for (number, (script, run)) in runs.iter().enumerate() {
        let answer = store.messages(home.path(), &format!("s-{number}"));
        let answer = answer.unwrap_or_else(|refusal| panic!("{script}: {refusal}"));
        let mut messages = Vec::new();
        run.log.requests().history().print_messages(&mut messages);
        let messages = String::from_utf8(messages).unwrap();
        assert_eq!(answer.root().get("messages").unwrap().raw(), messages, "{script}");
    }
}

/// The script of a checkpoint asks for more than that something came: another text under the right id is refused.
#[test]
fn another_note_does_not_answer() {
    let other = NOTE.replace("not in the history", "and in the history");
    let notes = Notes::new([("session".to_owned(), other)]);
    let run = Bench::new("notes.toml").run(Setup::default(), &notes);
    let mut told = String::new();
    write!(told, "{}", run.verdict).unwrap();
    assert_eq!((run.verdict.unmatched, run.end()), (1, "error".to_owned()), "{told}");
    assert_eq!(json!(run.verdict.left), json!(["exchanges[2]"]));
}
