//! The lab (`examples/lab/README.md`) with the real dsh: a plugin has the two tools, the scripts are those of the embedded core.

use std::fs;
use std::path::PathBuf;
use std::process::Output;

use dshlog_fixture_server::{Capture, FixtureServer, Kind, Script, Verdict};
use dshlog_tests::cmd::Place;
use dshlog_tests::model::repository;
use dshlog_tests::runtime::Runtime;
use serde_json::{Value, json};

use super::PROGRAM;

const QUESTION: &str = "Does a failed model attempt enter the next history?";
const ANSWER: &str = "No: it stays in the log, not in the history [session].";
const FOUND: &str = r#"{"matches":[{"id":"session","preview":"A failed model attempt: "}]}"#;
const HIDDEN: &str = "stays in the log, not in the history";

fn lab() -> PathBuf {
    repository().join("examples/lab")
}

fn notes() -> Value {
    serde_json::from_str(&fs::read_to_string(lab().join("notes.json")).unwrap()).unwrap()
}

/// What came of a run.
struct Run {
    output: Output,
    /// Bodies of the requests of the conversation.
    asked: Vec<Value>,
    verdict: Verdict,
    /// The transcript, which the program gives of sound logs only.
    transcript: String,
    /// The events of the log, read when the process had ended.
    events: Vec<Value>,
}

/// A run of the real dsh in a home and a folder of its own. Its log must be sound.
fn run(runtime: &Runtime, script: &str, setup: &Value) -> Run {
    let server = FixtureServer::spawn(Script::load(&lab().join(script)).unwrap()).unwrap();
    let place = Place::empty(PROGRAM);
    let overlay = place.path().join("lab.yml");
    let plugin = json!([{ "insert": [{ "id": "dshlog-lab", "name": lab().join("plugin.mjs") }] }]);
    fs::write(&overlay, plugin.to_string()).unwrap();
    let output = runtime
        .command(&place.home())
        .current_dir(place.path())
        .env("DEEPSEEK_BASE_URL", server.url())
        .env("DSHLOG_LAB", setup.to_string())
        .args(["headless", "--patch"])
        .arg(&overlay)
        .arg(QUESTION)
        .output()
        .unwrap();
    let captures = server.captures();
    let of_conversation = captures.iter().filter(|capture| capture.kind == Kind::Agent);
    let asked = of_conversation.map(|Capture { body, .. }| serde_json::from_slice(body).unwrap()).collect();
    let verified = place.told(&["verify", "home"]);
    assert!(verified.ends_with("[0]\n"), "{script}: {verified}");
    let rows = place.run(&["read", "-q", "latest", "--rows"]).stdout;
    let rows = String::from_utf8(rows).unwrap();
    let events = rows.lines().skip(1).map(|row| serde_json::from_str(row).unwrap()).collect();
    Run { output, asked, verdict: server.stop(), transcript: place.told(&["read", "latest"]), events }
}

impl Run {
    fn answer(&self) -> String {
        String::from_utf8_lossy(&self.output.stdout).trim().to_owned()
    }

    /// The results in the last request: id, text, whether it is an error.
    fn results(&self) -> Vec<(String, String, bool)> {
        let messages = self.asked.last().unwrap()["messages"].as_array().unwrap();
        let blocks = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
        let results = blocks.filter(|block| block["type"] == "tool_result").map(|block| {
            let text = block["content"].as_str().or_else(|| block["content"][0]["text"].as_str());
            let id = block["tool_use_id"].as_str().unwrap().to_owned();
            (id, text.unwrap_or_default().to_owned(), block["is_error"] == true)
        });
        results.collect()
    }

    /// The events that the process had seen when it asked last: it sends them beside the history.
    fn seen_live(&self) -> Vec<Value> {
        let sent = self.asked.iter().flat_map(|body| body["dsh_session_log"]["events"].as_array().unwrap());
        sent.cloned().collect()
    }

    fn requests_that_know(&self) -> Vec<usize> {
        let asked = self.asked.iter().enumerate();
        asked.filter(|(_, body)| body.to_string().contains(HIDDEN)).map(|(n, _)| n).collect()
    }

    /// Both tools are offered, in every request.
    fn offers_both(&self) -> bool {
        self.asked.iter().all(|body| {
            let tools = body["tools"].as_array().unwrap();
            ["search_notes", "read_note"].iter().all(|name| tools.iter().any(|tool| tool["name"] == **name))
        })
    }
}

fn plain() -> Value {
    json!({ "notes": notes() })
}

/// A run in which everything went as the script has it.
fn good(runtime: &Runtime, script: &str, setup: &Value) -> Run {
    let run = run(runtime, script, setup);
    assert!(run.verdict.is_good(), "{script}: {}", run.verdict);
    run
}

#[test]
fn checkpoint_0_a_question_and_an_answer() {
    let Some(runtime) = Runtime::find() else { return };
    let run = good(&runtime, "question.toml", &plain());
    assert_eq!((run.asked.len(), run.answer().as_str()), (1, "I would have to look."));
    assert!(run.transcript.contains("✓ completed"), "{}", run.transcript);
}

fn check_that_it_looked_and_answered(run: &Run) {
    assert_eq!((run.asked.len(), run.answer().as_str()), (3, ANSWER));
    let result = |id: &str, text: &str| (id.to_owned(), text.to_owned(), false);
    let whole = "[session] A failed model attempt: stays in the log, not in the history.";
    assert_eq!(run.results(), [result("call_search", FOUND), result("call_read", whole)]);
    assert_eq!(run.requests_that_know(), [2]);
    assert!(run.transcript.contains("✓ completed"), "{}", run.transcript);
}

#[test]
fn checkpoint_1_notes_in_memory() {
    let Some(runtime) = Runtime::find() else { return };
    check_that_it_looked_and_answered(&good(&runtime, "notes.toml", &plain()));
}

#[test]
fn checkpoint_2_notes_out_of_a_file() {
    let Some(runtime) = Runtime::find() else { return };
    let setup = json!({ "file": lab().join("notes.json") });
    check_that_it_looked_and_answered(&good(&runtime, "notes.toml", &setup));
}

#[test]
fn checkpoint_3_reading_is_denied() {
    let Some(runtime) = Runtime::find() else { return };
    let denied = good(&runtime, "denied.toml", &json!({ "notes": notes(), "deny": "session" }));
    assert!(denied.results()[1].2 && denied.requests_that_know().is_empty() && denied.offers_both());
    assert!(denied.transcript.contains("✓ completed"), "{}", denied.transcript);
}

#[test]
fn checkpoint_4_two_steps_at_most() {
    let Some(runtime) = Runtime::find() else { return };
    let stopped = good(&runtime, "two-steps.toml", &json!({ "notes": notes(), "mostSteps": 2 }));
    assert_eq!((stopped.asked.len(), stopped.answer().as_str()), (2, ""));
    assert!(stopped.transcript.contains("✗ blocked"), "{}", stopped.transcript);
}

/// What is read cold at the end is what the process had seen: it tells the model service its events as it goes.
#[test]
fn checkpoint_5_a_home_that_is_kept() {
    let Some(runtime) = Runtime::find() else { return };
    let run = good(&runtime, "notes.toml", &plain());
    let live = run.seen_live();
    assert!(live.len() > 20 && live.len() < run.events.len());
    assert_eq!(live, run.events[..live.len()]);
}

#[test]
fn a_result_under_a_wrong_id_fails() {
    let Some(runtime) = Runtime::find() else { return };
    let wrong = run(&runtime, "wrong-id.toml", &plain());
    assert_eq!((wrong.verdict.unmatched, wrong.output.status.success()), (1, false));
    assert!(wrong.transcript.contains("✗ error 400"), "{}", wrong.transcript);
}

#[test]
fn a_failed_attempt_is_in_the_log_and_not_in_the_next_request() {
    let Some(runtime) = Runtime::find() else { return };
    let failed = good(&runtime, "attempt.toml", &plain());
    assert_eq!((failed.asked.len(), failed.answer().as_str()), (2, "It does not."));
    assert!(failed.transcript.contains("Half an answer"), "{}", failed.transcript);
    // dsh sends its log beside the history, and there the attempt is.
    assert!(!failed.asked[1]["messages"].to_string().contains("Half an answer"));
    assert!(failed.asked[1]["dsh_session_log"].to_string().contains("Half an answer"));
}

/// `dshlog record` around the real dsh, and the scenario in another home and folder, without the service.
#[test]
fn a_run_is_recorded_and_played_again() {
    let Some(runtime) = Runtime::find() else { return };
    let service = FixtureServer::spawn(Script::load(&lab().join("notes.toml")).unwrap()).unwrap();
    let (first, second) = (Place::empty(PROGRAM), Place::empty(PROGRAM));
    let scenario = first.path().join("run");
    let record = |place: &Place, mode: &str, upstream: &str| {
        let overlay = place.path().join("lab.yml");
        let plugin = json!([{ "insert": [{ "id": "dshlog-lab", "name": lab().join("plugin.mjs") }] }]);
        fs::write(&overlay, plugin.to_string()).unwrap();
        // The environment of the runtime, in which our program runs it.
        let alone = runtime.command(&place.home());
        let mut command = std::process::Command::new(PROGRAM);
        command
            .env_clear()
            .envs(alone.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .env("DEEPSEEK_API_KEY", "sk-0123456789abcdef0123")
            .env("DSHLOG_LAB", json!({ "notes": notes() }).to_string())
            .current_dir(place.path())
            .args(["record", "--mode", mode, "--upstream", upstream, "--scenario"])
            .arg(&scenario)
            .arg("--")
            .arg(alone.get_program())
            .args(["headless", "--patch"])
            .arg(&overlay)
            .arg(QUESTION);
        command.output().unwrap()
    };
    let recorded = record(&first, "record", &service.url());
    assert!(recorded.status.success() && service.stop().is_good(), "{recorded:?}");
    assert_eq!(String::from_utf8_lossy(&recorded.stdout).trim(), ANSWER);
    let verified = first.told(&["verify", "run/home"]);
    assert!(verified.contains("ok ") && verified.ends_with("[0]\n"), "{verified}");

    let played = record(&second, "replay", "http://127.0.0.1:9");
    let told = String::from_utf8_lossy(&played.stderr);
    assert!(played.status.success() && told.contains("(0 exact, 3 normalized, 1 not compared)"), "{told}");
    assert_eq!(String::from_utf8_lossy(&played.stdout).trim(), ANSWER);
}
