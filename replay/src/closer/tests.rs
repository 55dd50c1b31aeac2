//! Right answers: `docs/spec/surface.md`, sections 8, 11.3 and 12. Whole logs are compared in `tests/open_tails.rs`.

use super::*;
use crate::testing::{OPEN_STEP, see_all};

fn tail(rows: &[&str]) -> OpenTail {
    let mut tail = OpenTail::new();
    see_all(rows, |event| tail.see(event));
    tail
}

/// The closers of a log that is interrupted behind these rows, each as its type and, of a result, its call.
#[track_caller]
fn check(rows: &[&str], expected: &[&str]) {
    let closers = tail(rows).closers(Cause::Interrupted, Seq(50), Millis(7));
    let told: Vec<String> = closers
        .iter()
        .map(|closer| {
            let event = closer.event();
            let call = event.data.and_then(|data| data.path(&["message", "toolCallId"])).and_then(Js::as_str);
            call.map_or_else(|| event.kind.to_string(), |call| call.to_string())
        })
        .collect();
    assert_eq!(told, expected, "{rows:?}");
    for (closer, seq) in closers.iter().zip(50..) {
        assert_eq!((closer.event().seq.0, closer.event().time.0), (seq, 7));
    }
    assert_eq!(tail(rows).open().map_or(0, Open::closers), expected.len() as u64);
}

/// The whole text of a result, in the order of members and the words of section 8.
#[test]
fn results_are_those_of_the_official_writer() {
    let closers = tail(&OPEN_STEP).closers(Cause::Interrupted, Seq(9), Millis(2008));
    let texts: Vec<&str> = closers.iter().map(NewEvent::text).collect();
    assert_eq!(
        texts,
        [
            r#"{"type":"tool/result","seq":9,"time":2008,"data":{"turn":1,"step":1,"message":{"id":"interrupted-tool-result-c2-9","role":"tool","toolCallId":"c2","isError":true,"source":{"kind":"tool","callId":"c2"},"content":[{"type":"text","text":"The tool call was interrupted before the Harness recorded it as started. Retry it if it is still needed."}]},"error":{"name":"ToolNotStartedError","code":"TOOL_NOT_STARTED"}},"surfaceOp":"append"}"#,
            r#"{"type":"tool/result","seq":10,"time":2008,"data":{"turn":1,"step":1,"message":{"id":"interrupted-tool-result-c3-10","role":"tool","toolCallId":"c3","isError":true,"source":{"kind":"tool","callId":"c3"},"content":[{"type":"text","text":"The tool call was interrupted after it was recorded, but no result was durably recorded. Its outcome is unknown. Decide whether to retry from the tool semantics: retry only if the operation is read-only or idempotent; if it may have side effects, first verify external state or ask the user. Do not retry blindly."}]},"error":{"name":"ToolOutcomeUnknownError","code":"TOOL_OUTCOME_UNKNOWN"}},"surfaceOp":"append","sourceEventSeqs":[8]}"#,
            r#"{"type":"step/end","seq":11,"time":2008,"data":{"turn":1,"step":1}}"#,
            r#"{"type":"turn/end","seq":12,"time":2008,"data":{"turn":1,"reason":{"kind":"interrupted"}}}"#,
        ]
    );
    let open = Open { turn: 1, step: Some(1), not_started: 1, unknown: 1 };
    assert_eq!(tail(&OPEN_STEP).open(), Some(open));
}

#[test]
fn what_is_open_behind_each_event() {
    for (until, expected) in [
        (0, &[][..]),
        (1, &["turn/end"]),
        (2, &["step/end", "turn/end"]),
        (5, &["step/end", "turn/end"]),
        (6, &["c1", "c2", "c3", "step/end", "turn/end"]),
        (7, &["c1", "c2", "c3", "step/end", "turn/end"]),
        (8, &["c2", "c3", "step/end", "turn/end"]),
    ] {
        check(&OPEN_STEP[..until], expected);
    }
}

/// P-15: a step that has ended keeps its unanswered calls.
#[test]
fn only_calls_of_the_open_step_are_closed() {
    let step_end = r#"{"type":"step/end","seq":9,"time":1,"data":{"turn":1,"step":1}}"#;
    let next_step = r#"{"type":"step/start","seq":10,"time":1,"data":{"turn":1,"step":2}}"#;
    let turn_end = r#"{"type":"turn/end","seq":10,"time":1,"data":{"turn":1,"reason":{"kind":"completed"}}}"#;
    let fact = r#"{"type":"session/title","seq":11,"time":1,"data":{}}"#;
    check(&[&OPEN_STEP[..], &[step_end]].concat(), &["turn/end"]);
    check(&[&OPEN_STEP[..], &[step_end, next_step]].concat(), &["step/end", "turn/end"]);
    check(&[&OPEN_STEP[..], &[step_end, turn_end]].concat(), &[]);
    check(&[&OPEN_STEP[..], &[step_end, turn_end, fact]].concat(), &[]);
}

/// P-17: in the order of the calls, begun or not; a second message adds its calls behind the earlier ones.
#[test]
fn results_are_in_the_order_of_the_calls() {
    let call = |id: &str| {
        format!(r#"{{"type":"tool/call","seq":9,"time":1,"data":{{"turn":1,"step":1,"callId":"{id}"}}}}"#)
    };
    let message = |ids: &[&str]| {
        let blocks: Vec<_> = ids.iter().map(|id| format!(r#"{{"type":"tool-call","id":"{id}"}}"#)).collect();
        let blocks = blocks.join(",");
        format!(
            r#"{{"type":"assistant/message","seq":9,"time":1,"data":{{"turn":1,"step":1,"message":{{"content":[{blocks}]}}}},"surfaceOp":"append"}}"#
        )
    };
    let rows = [message(&["b", "a"]), call("a"), message(&["0", "c"]), call("b")];
    let rows: Vec<&str> = OPEN_STEP[..2].iter().copied().chain(rows.iter().map(String::as_str)).collect();
    check(&rows, &["b", "a", "0", "c", "step/end", "turn/end"]);
}

/// Only an appended result of the same turn and step answers a call.
#[test]
fn what_answers_a_call() {
    let result = |step: u64, op: &str| {
        format!(
            r#"{{"type":"tool/result","seq":9,"time":1,"data":{{"turn":1,"step":{step},"message":{{"source":{{"kind":"tool","callId":"c2"}}}}}},"surfaceOp":{op}}}"#
        )
    };
    let replace = r#"{"op":"replace","startSeq":7,"endSeq":7}"#;
    for (result, is_answered) in
        [(result(1, r#""append""#), true), (result(2, r#""append""#), false), (result(1, replace), false)]
    {
        let rows = [&OPEN_STEP[..], &[&result]].concat();
        let expected = ["c2", "c3", "step/end", "turn/end"];
        check(&rows, &expected[usize::from(is_answered)..]);
    }
}

/// An id is a string of JavaScript: the half of a character stays one.
#[test]
fn ids_that_are_no_text() {
    let message = r#"{"type":"assistant/message","seq":2,"time":1,"data":{"turn":1,"step":1,"message":{"content":[{"type":"tool-call","id":"a\ud83d\"\u00e9"}]}},"surfaceOp":"append"}"#;
    let rows = [OPEN_STEP[0], OPEN_STEP[1], message];
    let closers = tail(&rows).closers(Cause::Forked, Seq(3), Millis(-1));
    let text = closers[0].text();
    for part in
        [r#""id":"forked-tool-result-a\ud83d\"é-3","#, r#""callId":"a\ud83d\"é"}"#, r#""seq":3,"time":-1,"#]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
}
