//! Fresh sessions. The orders of events are those of `docs/spec/agent-loop.md`, section 14.

use dshlog_codec::check::Checker;
use dshlog_codec::header::CwdRule;
use dshlog_codec::json::Js;
use dshlog_codec::{Encoding, Generation, Header, Limits, LogFile};
use dshlog_replay::Request;
use dshlog_replay::agent::live::{Arrival, Cancel, Input, Setup, converse};
use dshlog_replay::agent::model::{
    Model, ModelError, Scripted, calls_answer, cut_answer, failed_answer, text_answer,
};
use dshlog_replay::agent::rerun::{Options, Record, rerun};
use dshlog_replay::agent::tools::{
    Call, Declaration, NoTools, Notes, Outcome, Program, Programs, RecordedTools, Tools,
};
use dshlog_replay::agent::{Log, Reading, Recorder};
use dshlog_replay::wire::Chunk;
use dshlog_tests::runtime::{Runtime, Store};

const HEADER: &str = r#"{"type":"session","version":4,"id":"session-1","createdAt":0,"cwd":"/tmp/lab","isSeeded":false,"delegationDepth":0}"#;

fn header() -> Header {
    Header::parse(HEADER, CwdRule::Any).unwrap()
}

fn notes() -> Notes {
    let note = |id: &str, text: &str| (id.to_owned(), text.to_owned());
    Notes::new([note("list", "Milk and bread."), note("plan", "Write the tests first.")])
}

/// A log that passes all checks, and that the loop makes again.
fn run(setup: Setup, prompts: &[&str], model: &mut dyn Model, tools: &dyn Tools) -> Log {
    let (log, outcome) = converse(header(), setup, prompts, model, tools);
    outcome.unwrap();
    let mut bytes = Vec::new();
    log.write_lines(&mut bytes).unwrap();
    let file = LogFile::from_bytes(bytes, Generation::CURRENT, Encoding::Raw);
    let mut reader = file.read(&Limits::default()).unwrap();
    let mut checker = Checker::new(&header());
    while let Some(event) = reader.next_event().unwrap() {
        checker.see(&event);
    }
    let verdict = checker.finish(0);
    assert!(verdict.storage.is_none() && verdict.session.is_none(), "{verdict:?}");
    let record = Record::of(&log, 0).unwrap_or_else(|never| match never {});
    let again = rerun(&record, Options::default()).unwrap();
    assert!(again.is_exact(&record), "{:?} {:?}\n{}", again.first_inexact, again.parted, told(&log));
    log
}

/// The types of the events behind the first request's run, with what matters of some.
fn told(log: &Log) -> String {
    let told = log.rows().iter().map(|row| {
        let event = row.event();
        let text = |path: &[&str]| {
            event.data.and_then(|data| data.path(path)).and_then(Js::as_str).map(|text| format!(" {text}"))
        };
        let kind = event.kind.to_string();
        let more = match kind.as_str() {
            "turn/end" => text(&["reason", "kind"]),
            "tool/call" => text(&["callId"]),
            "tool/result" => text(&["message", "toolCallId"]),
            "request/header" => text(&["reason"]),
            "agent/inbox/spliced" => event.member("removedCount").map(|_| " claim".to_owned()),
            _ => None,
        };
        format!("{kind}{}", more.unwrap_or_default())
    });
    told.collect::<Vec<_>>().join(", ")
}

#[track_caller]
fn check(log: &Log, behind: &str, expected: &str) {
    let told = told(log);
    let (_, rest) = told.split_once(behind).unwrap_or_else(|| panic!("{told}"));
    assert_eq!(rest.trim_start_matches(", "), expected, "{told}");
}

#[test]
fn turns_of_text() {
    let mut model = Scripted::new([text_answer("Hello."), text_answer("Again.")]);
    let setup = Setup { system: "Be brief.".into(), ..Setup::default() };
    let log = run(setup, &["Hi", "And again"], &mut model, &NoTools);
    assert_eq!(model.asked(), 2);
    assert_eq!(
        told(&log),
        "agent/inbox/spliced, turn/start, agent/inbox/spliced claim, step/start, system/message, user/message, \
         request/header initial, request/context, assistant/message, step/end, turn/end completed, \
         agent/inbox/spliced, turn/start, agent/inbox/spliced claim, step/start, user/message, assistant/message, \
         step/end, turn/end completed"
    );
}

#[test]
fn calls_are_answered_in_the_order_of_the_model() {
    let calls =
        [("search_notes", r#"{"query":"milk"}"#), ("read_note", r#"{"id":"plan"}"#), ("write_note", "{}")];
    let mut model = Scripted::new([calls_answer(1, &calls), text_answer("Done.")]);
    let log = run(Setup::default(), &["Look"], &mut model, &notes());
    // Two run side by side, the one that nobody knows by itself.
    check(
        &log,
        "request/context",
        "assistant/message, tool/call call_1, tool/call call_2, tool/result call_1, tool/result call_2, \
         tool/call call_3, tool/result call_3, step/end, step/start, assistant/message, step/end, turn/end completed",
    );
    let texts: Vec<String> = log
        .requests()
        .history()
        .messages()
        .filter(|message| message.contains(r#""role":"tool""#))
        .map(str::to_owned)
        .collect();
    assert!(
        texts[0].contains(r#"{\"matches\":[{\"id\":\"list\",\"preview\":\"Milk and bread.\"}]}"#),
        "{texts:?}"
    );
    assert!(texts[1].contains("[plan] Write the tests first."), "{texts:?}");
    assert!(texts[2].contains(r#"Error: unknown tool \"write_note\""#), "{texts:?}");
}

#[test]
fn failures_are_retried_by_the_policy() {
    let failed = || failed_answer("busy", "SERVER");
    let mut model = Scripted::new([failed(), failed(), text_answer("At last.")]);
    let log = run(Setup::default(), &["Try"], &mut model, &NoTools);
    check(
        &log,
        "request/context",
        "assistant/attempt, llm/retry, llm/retry-started, assistant/attempt, llm/retry, llm/retry-started, \
         assistant/message, step/end, turn/end completed",
    );
    let mut model = Scripted::new((0..6).map(|_| failed()));
    let log = run(Setup::default(), &["Try"], &mut model, &NoTools);
    assert_eq!(model.asked(), 6);
    assert!(told(&log).ends_with("llm/retry-started, assistant/attempt, step/end, turn/end error"));
    let ids = log.rows().iter().map(|row| row.event()).filter(|event| event.is("llm/retry"));
    let ids: std::collections::HashSet<_> =
        ids.map(|event| event.member("retryId").unwrap().raw().to_owned()).collect();
    assert_eq!(ids.len(), 1);
    // Codes that nobody retries.
    let mut model = Scripted::new([failed_answer("no key", "AUTH")]);
    let log = run(Setup::default(), &["Try", "never said"], &mut model, &NoTools);
    check(
        &log,
        "request/context",
        "assistant/attempt, step/end, turn/end error, agent/inbox/spliced, turn/start, agent/inbox/spliced claim, \
         step/start, user/message, step/end, turn/end error",
    );
}

#[test]
fn limits_end_a_turn() {
    let mut model = Scripted::new([cut_answer("So far")]);
    let log = run(Setup::default(), &["Write"], &mut model, &NoTools);
    check(&log, "request/context", "assistant/message, step/end, turn/end max-tokens");
    let call = || calls_answer(1, &[("read_note", r#"{"id":"plan"}"#)]);
    let mut model = Scripted::new([call(), call(), call()]);
    let setup = Setup { most_steps: Some(2), ..Setup::default() };
    let log = run(setup, &["Loop"], &mut model, &notes());
    assert!(told(&log).ends_with("tool/result call_1, step/end, turn/end blocked"), "{}", told(&log));
}

/// The table in section 3.2.
#[test]
fn what_is_said_while_a_turn_goes_on() {
    let input = |step, arrival, text: &str| Input { behind: (1, step), arrival, text: text.to_owned() };
    let with = |inputs| Setup { inputs, ..Setup::default() };
    let texts = |texts: &[&str]| Scripted::new(texts.iter().map(|text| text_answer(text)));
    // The turn goes on with another step.
    let setup = with(vec![input(1, Arrival::Steer, "But shorter")]);
    let log = run(setup, &["Write"], &mut texts(&["Long.", "Short."]), &NoTools);
    check(
        &log,
        "request/context",
        "assistant/message, step/end, agent/inbox/spliced, agent/inbox/spliced claim, step/start, user/message, \
         assistant/message, step/end, turn/end completed",
    );
    // Behind an answer that broke off: the end says so all the same.
    let setup = with(vec![input(1, Arrival::Steer, "Go on")]);
    let mut model = Scripted::new([cut_answer("So f"), text_answer("ar.")]);
    let log = run(setup, &["Write"], &mut model, &NoTools);
    assert!(
        told(&log).ends_with("step/start, user/message, assistant/message, step/end, turn/end max-tokens")
    );
    // A prompt waits for the end of the turn, and no longer.
    let setup = with(vec![input(1, Arrival::FollowUp, "And then")]);
    let log = run(setup, &["Write"], &mut texts(&["One.", "Two."]), &NoTools);
    check(
        &log,
        "request/context",
        "assistant/message, step/end, agent/inbox/spliced, turn/end completed, turn/start, agent/inbox/spliced claim, \
         step/start, user/message, assistant/message, step/end, turn/end completed",
    );
}

/// Nobody goes on with what waits behind a failure, until the next prompt comes. Then the oldest prompt is the first, and
/// what is for the step stands in front of it.
#[test]
fn what_waits_behind_a_failure() {
    let input = |step, arrival, text: &str| Input { behind: (1, step), arrival, text: text.to_owned() };
    let inputs = vec![input(1, Arrival::FollowUp, "prompt"), input(2, Arrival::Inject, "context")];
    let mut model = Scripted::new([
        calls_answer(1, &[("read_note", r#"{"id":"plan"}"#)]),
        failed_answer("no", "AUTH"),
        text_answer("Yes."),
        text_answer("Yes."),
    ]);
    let setup = Setup { inputs, ..Setup::default() };
    let log = run(setup, &["Write", "again"], &mut model, &notes());
    check(
        &log,
        "turn/end error",
        "agent/inbox/spliced, turn/start, agent/inbox/spliced claim, agent/inbox/spliced claim, step/start, \
         user/message, user/message, assistant/message, step/end, turn/end completed, turn/start, \
         agent/inbox/spliced claim, step/start, user/message, assistant/message, step/end, turn/end completed",
    );
    let said = log.rows().iter().map(|row| row.event()).filter(|event| event.is("user/message"));
    let text = |event: dshlog_codec::Event<'_>| {
        let block = event.member("content").unwrap().elements().next().unwrap();
        block.get("text").unwrap().as_str().unwrap().to_string()
    };
    assert_eq!(said.map(text).collect::<Vec<_>>(), ["Write", "context", "prompt", "again"]);
}

/// What would take the square of the turns would take minutes.
#[test]
fn a_session_of_a_thousand_turns() {
    let prompts = vec!["Hi"; 1000];
    let mut model = Scripted::new(prompts.iter().map(|_| text_answer("Hello.")));
    let (log, outcome) = converse(header(), Setup::default(), &prompts, &mut model, &NoTools);
    outcome.unwrap();
    assert_eq!(log.turn(), 1000);
    let record = Record::of(&log, 0).unwrap_or_else(|never| match never {});
    assert!(rerun(&record, Options::default()).unwrap().is_exact(&record));
}

/// A model whose user stops it when it has said something.
struct Stopped {
    cancel: Cancel,
    said: Vec<Chunk>,
}

impl Model for Stopped {
    fn open(&mut self, _request: Request<'_>) -> Result<(), ModelError> {
        Ok(())
    }

    fn read(&mut self, recorder: &mut Recorder) -> Result<Reading, ModelError> {
        recorder.take(dshlog_codec::Millis(1), std::mem::take(&mut self.said))?;
        self.cancel.cancel();
        Ok(Reading::More)
    }
}

#[test]
fn a_turn_is_cancelled_where_it_stands() {
    for (said, kept) in [(text_answer("Half a sen"), "assistant/message"), (Vec::new(), "assistant/attempt")]
    {
        let cancel = Cancel::default();
        let said = said.into_iter().take(2).collect();
        let mut model = Stopped { cancel: cancel.clone(), said };
        let log = run(Setup { cancel, ..Setup::default() }, &["Write"], &mut model, &NoTools);
        check(&log, "request/context", &format!("{kept}, step/end, turn/end aborted"));
    }
}

/// A tool during which its user stops the turn.
struct StoppingTool(Cancel);

impl Tools for StoppingTool {
    fn declared(&self) -> Vec<Declaration> {
        vec![Declaration::new("wait", "Wait.", r#"{"type":"object"}"#.into())]
    }

    fn call(&self, _call: &Call) -> Outcome {
        self.0.cancel();
        Outcome::text("waited")
    }
}

#[test]
fn cancelled_calls_all_get_a_result() {
    let cancel = Cancel::default();
    let mut model = Scripted::new([calls_answer(1, &[("wait", "{}"), ("wait", "{}")])]);
    let log = run(
        Setup { cancel: cancel.clone(), ..Setup::default() },
        &["Wait"],
        &mut model,
        &StoppingTool(cancel),
    );
    check(
        &log,
        "request/context",
        "assistant/message, tool/call call_1, tool/result call_1, tool/call call_2, tool/result call_2, step/end, \
         turn/end aborted",
    );
    let codes: Vec<String> = log
        .rows()
        .iter()
        .filter_map(|row| Some(row.event().member("error")?.get("code")?.as_str()?.to_string()))
        .collect();
    assert_eq!(codes, ["ABORTED", "ABORTED_BEFORE_DISPATCH"]);
}

/// The results of a record serve another run; a call with other arguments is told.
#[test]
fn recorded_results_answer_again() {
    let call = |arguments| calls_answer(1, &[("read_note", arguments)]);
    let session = |arguments, tools: &dyn Tools| {
        run(Setup::default(), &["Read"], &mut Scripted::new([call(arguments), text_answer("Done.")]), tools)
    };
    let first = session(r#"{"id":"plan"}"#, &notes());
    let recorded = || {
        let mut tools = RecordedTools::new();
        first.rows().iter().for_each(|row| tools.see(&row.event()));
        tools
    };
    let tools = recorded();
    let again = session(r#"{"id":"plan"}"#, &tools);
    assert_eq!(tools.mismatches(), []);
    let texts = |log: &Log| log.rows().iter().map(|row| row.text().to_owned()).collect::<Vec<_>>();
    assert_eq!(texts(&first), texts(&again));
    let tools = recorded();
    session(r#"{"id":"list"}"#, &tools);
    assert_eq!(tools.mismatches().len(), 1);
    assert!(tools.mismatches()[0].recorded.is_some());
}

#[cfg(unix)]
#[test]
fn programs_answer_when_their_user_trusts_them() {
    let program = |name: &str, script: &str| Program {
        tool: Declaration::new(name, "A program.", r#"{"type":"object"}"#.into()),
        command: ["sh", "-c", script].map(str::to_owned).to_vec(),
        limit: std::time::Duration::from_secs(5),
    };
    let mut slow = program("slow", "exec sleep 60");
    slow.limit = std::time::Duration::from_millis(50);
    let tools = Programs::trusted(vec![program("cat", "cat"), program("fail", "echo no >&2; exit 3"), slow]);
    let calls = [("cat", r#"{"a":1}"#), ("fail", "{}"), ("slow", "{}"), ("none", "{}")];
    let mut model = Scripted::new([calls_answer(1, &calls), text_answer("Done.")]);
    let log = run(Setup::default(), &["Go"], &mut model, &tools);
    let results: Vec<String> = log
        .rows()
        .iter()
        .filter(|row| row.event().is("tool/result"))
        .map(|row| row.event().data.unwrap().path(&["message", "content"]).unwrap().raw().to_owned())
        .collect();
    assert!(results[0].contains(r#"{\"a\":1}"#), "{results:?}");
    assert!(results[1].contains("Error: exit status: 3") && results[1].contains("no"), "{results:?}");
    assert!(results[2].contains("timed out after 50 ms"), "{results:?}");
    assert!(results[3].contains("unknown tool"), "{results:?}");
}

/// What the real dsh makes of sessions that the core wrote: the same history.
#[test]
fn the_real_runtime_reads_what_is_written() {
    let Some(runtime) = Runtime::find() else { return };
    let calls = [("search_notes", r#"{"query":"milk"}"#), ("read_note", "[]"), ("none", "{}")];
    let busy = || failed_answer("busy", "SERVER");
    let sessions: [(&[&str], Vec<Vec<Chunk>>); 4] = [
        (&["Hi", "Again"], vec![text_answer("Hello. \u{1f600}"), text_answer("Yes?")]),
        (&["Look"], vec![calls_answer(1, &calls), calls_answer(9, &calls[..1]), text_answer("Done.")]),
        (&["Try"], vec![busy(), busy(), cut_answer("So f")]),
        (&["Fail"], vec![failed_answer("no key", "AUTH")]),
    ];
    let home = tempfile::tempdir().unwrap();
    let mut written = Vec::new();
    for (number, (prompts, answers)) in sessions.into_iter().enumerate() {
        let id = format!("session-{number}");
        let header = Header { id: id.as_str().into(), ..header() };
        let setup = Setup { system: "Be brief.".into(), seed: number as u64, ..Setup::default() };
        let (log, outcome) = converse(header, setup, prompts, &mut Scripted::new(answers), &notes());
        outcome.unwrap();
        let folder = home.path().join("sessions/--tmp-lab--").join(&id);
        std::fs::create_dir_all(&folder).unwrap();
        let mut file = std::fs::File::create(folder.join("session.v4.jsonl")).unwrap();
        log.write_lines(&mut file).unwrap();
        written.push((id, log));
    }
    let mut store = Store::start(&runtime);
    for (id, log) in written {
        let answer = store.messages(home.path(), &id).unwrap();
        let mut messages = Vec::new();
        log.requests().history().print_messages(&mut messages);
        assert_eq!(
            answer.root().get("messages").unwrap().raw(),
            String::from_utf8(messages).unwrap(),
            "{id}"
        );
    }
}
