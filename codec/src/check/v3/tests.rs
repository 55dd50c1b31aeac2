//! Rules of `docs/spec/events-v0-v3.md`, sections 7 and 11.3, one case each.

use std::fmt::Write as _;

use crate::read::{Limits, LogFile};
use crate::types::{Encoding, Generation, Seq};

use super::CheckerV3;

const UNSEEDED: &str = r#""id":"s1","createdAt":1,"isSeeded":false,"delegationDepth":0"#;
const FORKED: &str = r#""id":"s1","createdAt":1,"parentSession":"p","isSeeded":true,"delegationDepth":0"#;

/// The code of the fault and the seq where it is; nothing for a sound log. A row is `type|data|rest of the envelope`.
fn verdict(header: &str, rows: &[&str]) -> Option<(&'static str, Option<Seq>)> {
    let mut text = format!("{{\"type\":\"session\",\"version\":3,{header}}}\n");
    for (seq, row) in rows.iter().enumerate() {
        let mut parts = row.splitn(3, '|');
        let (kind, data) = (parts.next().unwrap(), parts.next().unwrap());
        let rest = parts.next().unwrap_or("");
        writeln!(text, "{{\"type\":\"{kind}\",\"seq\":{seq},\"time\":1,\"data\":{data}{rest}}}").unwrap();
    }
    let log = LogFile::from_bytes(text.into_bytes(), Generation(3), Encoding::Raw);
    let mut reader = log.read(&Limits::default()).unwrap();
    let mut checker = CheckerV3::new(reader.header());
    while let Some(event) = reader.next_event().unwrap() {
        checker.see(&event);
    }
    let end = reader.take_end();
    assert_eq!(end.events, rows.len() as u64, "{:?}", end.issue);
    let fault = checker.finish(end.cut).storage?;
    Some((fault.code(), fault.position().seq))
}

#[track_caller]
fn check(rows: &[&str], fault: Option<(&'static str, u64)>) {
    let found = verdict(UNSEEDED, rows);
    assert_eq!(found, fault.map(|(code, seq)| (code, Some(Seq(seq)))), "{rows:?}");
}

#[track_caller]
fn good(rows: &[&str]) {
    check(rows, None);
}

const APPEND: &str = r#","surfaceOp":"append""#;
const TURN: &str = r#"turn/start|{"turn":1}"#;
const STEP: &str = r#"step/start|{"turn":1,"step":1}"#;
const HEADER: &str = r#"request/header|{"header":{"config":{"provider":"p"}}}"#;
const USER: &str = r#"user/message|{"content":[],"source":{"kind":"user"}}|,"surfaceOp":"append""#;
const CALL: &str = r#"assistant/message|{"turn":1,"step":1,"message":{"content":[{"type":"tool-call","id":"c","name":"n","arguments":"{}"}]}}|,"surfaceOp":"append""#;

fn system(op: &str) -> String {
    format!(
        r#"system/message|{{"turn":1,"step":1,"message":{{"id":"s","role":"system","source":{{"kind":"plugin","plugin":"x"}},"content":[]}}}}|,"surfaceOp":{op}"#
    )
}

fn replace(start: u64, end: u64, sources: &str) -> String {
    format!(
        r#"user/message|{{"content":[],"source":{{"kind":"x"}}}}|,"surfaceOp":{{"op":"replace","startSeq":{start},"endSeq":{end}}},"sourceEventSeqs":{sources}"#
    )
}

#[test]
fn turns_and_steps() {
    good(&[
        TURN,
        STEP,
        r#"step/end|{"turn":1,"step":1}"#,
        r#"turn/end|{"turn":1}"#,
        r#"turn/start|{"turn":2}"#,
    ]);
    check(&[r#"turn/start|{"turn":2}"#], Some(("turn-order", 0)));
    check(&[TURN, TURN], Some(("turn-order", 1)));
    check(&[TURN, STEP, r#"turn/end|{"turn":1}"#], Some(("turn-order", 2)));
    check(&[TURN, r#"step/start|{"turn":1,"step":2}"#], Some(("turn-order", 1)));
    check(&[TURN, r#"assistant/attempt|{"turn":1,"step":1}"#], Some(("turn-order", 1)));
    check(&[HEADER], Some(("turn-order", 0)));
    check(&[TURN, r#"request/header|{"header":{}}"#], Some(("request-header", 1)));
    // Payloads of known types must be objects, where V0 knew the type.
    check(&["todo/write|null"], Some(("message-shape", 0)));
    good(&["feedback/message-put|null", r#"todo/write|{"zzz":1}"#]);
}

#[test]
fn the_system_head() {
    let (append, head) =
        (system("\"append\""), system(r#"{"op":"replace","startSeq":2,"endSeq":2},"sourceEventSeqs":[2]"#));
    good(&[TURN, STEP, &append, &head, USER]);
    good(&[TURN, STEP, &append, &append]);
    good(&[TURN, STEP, &append, &append, &replace(3, 3, "[3]")]);
    check(&[TURN, STEP, USER, &append], Some(("surface-lifecycle", 3)));
    check(&[TURN, STEP, &append, &replace(2, 2, "[2]")], Some(("surface-lifecycle", 3)));
    let both = system(r#"{"op":"replace","startSeq":2,"endSeq":3},"sourceEventSeqs":[2,3]"#);
    check(&[TURN, STEP, &append, USER, &both], Some(("surface-lifecycle", 4)));
    check(&[TURN, &append], Some(("turn-order", 1)));
    let prune = r#"compaction/prune|{"shadowedRange":{"start":2,"end":2},"shadowedSeqs":[2]}"#;
    check(&[TURN, STEP, &append, prune], Some(("compaction", 3)));
    // The first pass comes first, however late its fault is.
    check(&["x/y|{}", TURN, STEP, USER, &append], Some(("surface-lifecycle", 4)));
    check(&["x/y|{}", TURN, TURN], Some(("unknown-event", 0)));
    check(&["subagent/catalog|{}|,\"surfaceOp\":1"], Some(("surface-metadata", 0)));
}

#[test]
fn the_surface() {
    good(&[USER, USER, &replace(0, 1, "[1,0]")]);
    good(&[USER, USER, &replace(0, 0, "[0,1]")]);
    check(&[USER, USER, &replace(0, 1, "[0]")], Some(("surface-lifecycle", 2)));
    check(&[USER, USER, &replace(1, 0, "[0,1]")], Some(("surface-lifecycle", 2)));
    check(&[USER, &replace(0, 0, "[0]"), &replace(0, 0, "[0]")], Some(("surface-lifecycle", 2)));
    check(&[&format!("user/message|{{\"content\":[]}}|{APPEND}")], Some(("message-source", 0)));
}

#[test]
fn tool_calls() {
    let call = r#"tool/call|{"turn":1,"step":1,"callId":"c","name":"n","arguments":"{}"}"#;
    let result = |error: &str, id: &str, text: &str| {
        format!(
            r#"tool/result|{{"turn":1,"step":1,"message":{{"id":"{id}","source":{{"callId":"c"}},"content":[{{"type":"tool-result","isError":true,"content":[{{"type":"text","text":"{text}"}}]}}]}}{error}}}{APPEND}"#
        )
        .replacen(APPEND, &format!("|{APPEND}"), 1)
    };
    let plain = result("", "t", "");
    good(&[TURN, STEP, CALL, call, &plain, r#"step/end|{"turn":1,"step":1}"#]);
    check(&[TURN, STEP, CALL, &plain], Some(("tool-lifecycle", 3)));
    check(&[TURN, STEP, CALL, call, call], Some(("tool-lifecycle", 4)));
    check(&[TURN, STEP, CALL, CALL], Some(("tool-lifecycle", 3)));
    check(&[TURN, STEP, CALL, call, r#"step/end|{"turn":1,"step":1}"#], Some(("closed-with-calls", 4)));
    let other = call.replace("{}", "{ }");
    check(&[TURN, STEP, CALL, &other], Some(("tool-lifecycle", 3)));
    let not_started = r#","error":{"name":"ToolNotStartedError","code":"TOOL_NOT_STARTED"}"#;
    let sentence = "The tool call was interrupted before the Harness recorded it as started. Retry it if it is still needed.";
    for (id, text, fault) in [
        ("interrupted-tool-result-c-3", sentence, None),
        // Seqs have moved since the id was made.
        ("interrupted-tool-result-c-77", sentence, None),
        ("interrupted-tool-result-c-07", sentence, Some(("tool-lifecycle", 3))),
        ("interrupted-tool-result-d-3", sentence, Some(("tool-lifecycle", 3))),
        ("interrupted-tool-result-c-3", "Retry it.", Some(("tool-lifecycle", 3))),
    ] {
        check(&[TURN, STEP, CALL, &result(not_started, id, text)], fault);
    }
}

#[test]
fn dispatches_and_retries() {
    let dispatch = |kind: &str, sub: &str, parent: &str, arguments: &str| {
        format!(
            r#"tool/ptc-dispatch{kind}|{{"rootCallId":"r","parentCallId":"{parent}","subCallId":"{sub}","name":"n","arguments":{arguments}}}"#
        )
    };
    let start = dispatch("-start", "a", "r", r#"{"x":1,"y":0}"#);
    good(&[TURN, &start, &dispatch("", "a", "r", r#"{"y":-0,"x":1.0}"#), &dispatch("-start", "b", "a", "1")]);
    check(&[&start], Some(("turn-order", 0)));
    check(&[TURN, &start, &start], Some(("ptc-dispatch", 2)));
    check(&[TURN, &dispatch("-start", "b", "a", "1")], Some(("ptc-dispatch", 1)));
    check(&[TURN, &start, &dispatch("", "a", "r", "{}")], Some(("ptc-dispatch", 2)));

    let retry = |id: &str, number: u64, policy: &str| {
        format!(
            r#"llm/retry|{{"retryId":"{id}","turn":1,"step":1,"provider":"p","policyKey":"{policy}","retry":{number}}}"#
        )
    };
    let started = r#"llm/retry-started|{"retryId":"i","turn":1,"step":1,"retry":1}"#;
    good(&[TURN, STEP, HEADER, &retry("i", 1, "k"), started, &retry("i", 2, "k"), &retry("j", 1, "l")]);
    check(&[TURN, STEP, &retry("i", 1, "k")], Some(("retry", 2)));
    check(&[TURN, STEP, HEADER, &retry("i", 2, "k")], Some(("retry", 3)));
    check(&[TURN, STEP, HEADER, &retry("i", 1, "k"), &retry("i", 1, "l")], Some(("retry", 4)));
    check(&[TURN, STEP, HEADER, &retry("i", 1, "k"), &retry("j", 2, "k")], Some(("retry", 4)));
    check(&[TURN, STEP, HEADER, &retry("i", 1, "k"), started, started], Some(("retry", 5)));
}

#[test]
fn compactions() {
    const START: &str = r#"compaction/start|{"compactionId":"k","turn":null}"#;
    const SUMMARY: &str =
        r#"compaction/summary|{"compactionId":"k","shadowedRange":{"start":0,"end":0},"shadowedSeqs":[0]}"#;
    const END: &str = r#"compaction/end|{"compactionId":"k","turn":null}"#;
    const CHECKPOINT: &str = r#"user/message|{"content":[],"source":{"kind":"plugin","plugin":"compact","compactionId":"k"}}|,"surfaceOp":{"op":"replace","startSeq":0,"endSeq":0},"sourceEventSeqs":[0]"#;
    good(&[USER, START, SUMMARY, CHECKPOINT, END]);
    good(&[USER, START, r#"compaction/end|{"compactionId":"k","turn":null,"error":"x"}"#]);
    check(&[USER, START, END], Some(("compaction", 2)));
    check(&[USER, START, START], Some(("compaction", 2)));
    check(&[USER, START, SUMMARY, SUMMARY], Some(("compaction", 3)));
    check(&[USER, CHECKPOINT], Some(("compaction", 1)));
    check(&[USER, SUMMARY], Some(("compaction", 1)));
    check(&[r#"compaction/start|{"compactionId":"k","turn":1}"#], Some(("compaction", 0)));
    check(&[USER, START, TURN], Some(("compaction", 2)));
    // Whoever held it is gone.
    good(&[USER, START, TURN, "session/end-seed|{}", STEP]);
}

#[test]
fn titles() {
    let title = |seqs: &str, source: &str| {
        format!(r#"session/title|{{"messageSeqs":{seqs},"source":{{"kind":"{source}"}}}}"#)
    };
    good(&[USER, &title("[0,0]", "fallback"), &title("[]", "user")]);
    good(&[&title("[1]", "fallback"), USER]);
    check(&[&title("[1]", "fallback"), "todo/write|{}"], Some(("title", 1)));
    check(&[&title("[1]", "fallback")], Some(("title", 0)));
    check(&[USER, &title("[]", "fallback")], Some(("title", 1)));
    check(&[USER, &title("[0]", "user")], Some(("title", 1)));
    let request = |source: &str| {
        format!(
            r#"session/title-llm-request|{{"messageSeqs":[0],"messages":[{{"role":"user","source":{source},"content":[{{"type":"text","text":"any"}}]}}]}}"#
        )
    };
    good(&[USER, &request(r#"{"kind":"plugin","plugin":"dsh-session-title-llm"}"#)]);
    check(&[USER, &request(r#"{"kind":"dsh-session-title-llm"}"#)], Some(("title", 1)));
}

#[test]
fn commands() {
    const RUN: &str = r#"command/run|{"commandId":"c"}"#;
    let done = |seq: u64, kind: &str| {
        format!(r#"command/done|{{"commandId":"c","kind":"{kind}","sourceEventSeq":{seq}}}"#)
    };
    good(&["todo/write|{}", RUN, &done(0, "success"), &done(9, "success")]);
    check(&[RUN, RUN], Some(("command", 1)));
    check(&[&done(0, "success")], Some(("command", 0)));
    check(&[RUN, &done(0, "success")], Some(("command", 1)));
    check(&["todo/write|{}", RUN, &done(0, "error")], Some(("command", 2)));
}

#[test]
fn cut_and_deliveries() {
    const MARKER: &str = r#"session/end-seed|{"inherited":true}"#;
    const FOREIGN: &str = r#"session-log-deepseek/delivery-accepted|{"sessionId":"other","throughSeq":0,"sessionFormatVersion":3}"#;
    assert_eq!(verdict(FORKED, &[FOREIGN, MARKER, "todo/write|{}"]), None);
    assert_eq!(verdict(FORKED, &[MARKER, FOREIGN, MARKER]), None);
    assert_eq!(verdict(FORKED, &[MARKER, FOREIGN]), Some(("delivery", Some(Seq(1)))));
    check(&[FOREIGN], Some(("delivery", 0)));
    // Those of other generations are not looked at.
    good(&[&FOREIGN.replace(":3", ":2")]);
}
