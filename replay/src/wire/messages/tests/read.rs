//! Every row of sections 6 to 8 of `docs/spec/messages-wire.md`: the rows are the answers.

use dshlog_codec::Millis;
use dshlog_codec::json::JsString;

use crate::wire::{AnswerReader, BodyEnd, Chunk, Dialect, Head, Route};

const START: &str = r#"{"type":"message_start","message":{"usage":{}}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

fn route() -> Route {
    Route { dialect: Dialect::Messages, model: JsString::from("m"), base: String::new(), idle_timeout_ms: 1 }
}

/// Frames without `event`, one for each text.
fn body(events: &[&str]) -> String {
    events.iter().flat_map(|event| ["data: ", *event, "\n\n"]).collect()
}

/// A stream of chunks in short: their texts, without `type` where it is plain from the rest.
fn shown(chunks: &[Chunk]) -> Vec<String> {
    let print = |chunk: &Chunk| {
        let mut out = Vec::new();
        chunk.print(&mut out);
        String::from_utf8(out).unwrap()
    };
    chunks.iter().map(print).collect()
}

fn read(status: u16, headers: &[(&str, &str)], body: &str, end: Option<BodyEnd>) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut reader = AnswerReader::new(route());
    let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    reader.begin(Head { status, headers, at: Millis(784_111_777_000 - 1_500) }, &mut chunks);
    reader.push(body.as_bytes(), &mut chunks);
    if let Some(end) = end {
        reader.end(end, &mut chunks);
    }
    chunks
}

/// The end of a stream as `code: message`, and the number of chunks before it.
fn failure(chunks: &[Chunk]) -> (usize, String) {
    let Some(Chunk::Finish(finish)) = chunks.last() else { panic!("no end: {chunks:?}") };
    let failure = finish.reason.failure().unwrap_or_else(|| panic!("no failure: {finish:?}"));
    (chunks.len() - 1, format!("{}: {}", failure.code, failure.message))
}

/// What the events behind a start come to.
#[track_caller]
fn check(events: &[&str], expected: &[&str]) {
    let whole = [&[START], events].concat();
    assert_eq!(shown(&read(200, &[], &body(&whole), None)), expected, "{events:?}");
}

/// The failure that a whole body comes to, of code `MALFORMED_RESPONSE` unless it says otherwise, and what came before.
#[track_caller]
fn check_body(body: &str, before: usize, expected: &str) {
    let expected = match expected.strip_prefix("stream: ") {
        Some(words) => format!("MALFORMED_RESPONSE: DeepSeek Messages stream: {words}"),
        None => expected.to_owned(),
    };
    let chunks = read(200, &[], body, Some(BodyEnd::Complete));
    assert_eq!(failure(&chunks), (before, expected), "{body}");
}

#[track_caller]
fn check_fatal(events: &[&str], before: usize, expected: &str) {
    check_body(&body(&[&[START], events].concat()), before, expected);
}

/// Section 7, from the frame on.
#[test]
fn what_is_wrong_with_a_frame() {
    let malformed = |words: &str| format!("MALFORMED_RESPONSE: DeepSeek Messages {words}");
    for (frame, words) in [
        ("event: x\ndata: {\"type\":\"y\"}", "SSE event type mismatch"),
        ("data: {}", "SSE event type mismatch"),
        ("data: {\"type\":5}", "SSE event type mismatch"),
        ("event: ping\ndata: {\"type\":\"error\"}", "SSE event type mismatch"),
        ("data: [DONE]", "SSE contains invalid JSON"),
        ("data:", "SSE contains invalid JSON"),
        ("data: {", "SSE contains invalid JSON"),
        ("data: []", "expected a JSON object"),
        ("data: null", "expected a JSON object"),
        ("data: 5", "expected a JSON object"),
        ("data: \"x\"", "expected a JSON object"),
    ] {
        check_body(&format!("{frame}\n\n"), 0, &malformed(words));
    }
    let closed = "STREAM_CLOSED: DeepSeek Messages stream ended before message_stop";
    check_body("", 0, closed);
    check_body("event: message_start\n\n", 0, closed);
    check_body("data: {", 0, closed);
    check_body(&format!("{}data: {STOP}\n", body(&[START])), 0, closed);
    check_body(&format!("{}data: {STOP}\r\r", body(&[START])), 0, closed);
    // Joined by line feeds; an empty name of the event is none.
    check_body(
        "event:\ndata: {\"type\":\ndata: \"message_stop\"}\n\n",
        0,
        "stream: event precedes message_start",
    );
    check_body(
        "data: {\"type\":\"error\"}\n\n",
        0,
        "SERVER: DeepSeek Messages request failed (stream error)",
    );
}

/// Sections 6 and 6.2, of an event.
#[test]
fn the_class_of_an_error_event() {
    for (error, expected) in [
        (r#"{"type":"overloaded_error","message":"Overloaded"}"#, "SERVER: Overloaded"),
        (r#"{"type":"api_error","message":"x"}"#, "SERVER: x"),
        (r#"{"type":"unheard_of","message":"x"}"#, "SERVER: x"),
        (r#"{"type":"authentication_error","message":"x"}"#, "AUTH: x"),
        (r#"{"type":"permission_error","message":"quota exceeded"}"#, "AUTH: quota exceeded"),
        (r#"{"type":"rate_limit_error","message":"x"}"#, "RATE_LIMIT: x"),
        (r#"{"type":"rate_limit_error","message":"quota exceeded"}"#, "QUOTA: quota exceeded"),
        (r#"{"type":"invalid_request_error","message":"x"}"#, "INVALID_REQUEST: x"),
        (r#"{"code":"insufficient_quota","message":"x"}"#, "QUOTA: x"),
        (
            r#"{"type":"invalid_request_error","code":"context_length_exceeded","message":"x"}"#,
            "CONTEXT_WINDOW_EXCEEDED: x",
        ),
        (r#"{"message":5}"#, "SERVER: DeepSeek Messages request failed (stream error)"),
        (r#"{"message":""}"#, "TRANSPORT: DeepSeek Messages transport failed"),
        (r#""x""#, "SERVER: DeepSeek Messages request failed (stream error)"),
    ] {
        check_body(&body(&[&format!(r#"{{"type":"error","error":{error}}}"#)]), 0, expected);
    }
}

/// Section 6: each line of the table, and its order.
#[test]
fn the_class_of_a_status() {
    for (status, error, expected) in [
        (401, "{}", "AUTH"),
        (403, r#"{"message":"quota exceeded"}"#, "AUTH"),
        (500, r#"{"type":"authentication_error"}"#, "AUTH"),
        (500, r#"{"message":"Insufficient Balance"}"#, "QUOTA"),
        (402, "{}", "QUOTA"),
        (429, r#"{"message":"maximum context length"}"#, "RATE_LIMIT"),
        (429, r#"{"message":"out of credits"}"#, "QUOTA"),
        (400, r#"{"type":"rate_limit_error"}"#, "RATE_LIMIT"),
        (500, r#"{"message":"maximum context length"}"#, "CONTEXT_WINDOW_EXCEEDED"),
        (400, r#"{"code":"context_length_exceeded"}"#, "CONTEXT_WINDOW_EXCEEDED"),
        (400, "{}", "INVALID_REQUEST"),
        (413, "{}", "INVALID_REQUEST"),
        (404, r#"{"type":"invalid_request_error"}"#, "INVALID_REQUEST"),
        (500, r#"{"type":"invalid_request_error"}"#, "INVALID_REQUEST"),
        (500, "{}", "SERVER"),
        (529, "{}", "SERVER"),
        (404, r#"{"type":"api_error"}"#, "SERVER"),
        (404, "{}", "HTTP_404"),
        (408, "{}", "HTTP_408"),
        (304, "{}", "HTTP_304"),
        (422, "5", "HTTP_422"),
    ] {
        let chunks = read(status, &[], &format!(r#"{{"error":{error}}}"#), Some(BodyEnd::Complete));
        let (before, told) = failure(&chunks);
        let code = told.split(": ").next().unwrap();
        assert_eq!((before, code), (0, expected), "{status} {error}");
    }
}

/// Section 6, under the table; 8.4.
#[test]
fn what_a_failed_answer_tells() {
    let finish =
        |failure: &str| format!(r#"{{"type":"finish","reason":{{"kind":"error","failure":{{{failure}}}}}}}"#);
    let check = |status, headers: &[(&str, &str)], body: &str, end, expected: &str| {
        let chunks = read(status, headers, body, Some(end));
        assert_eq!(shown(&chunks), [finish(expected)], "{status} {headers:?} {body}");
    };
    let server = r#""message":"x","code":"SERVER","status":500"#;
    let x = r#"{"error":{"message":"x"}}"#;
    check(500, &[], x, BodyEnd::Complete, server);
    check(500, &[], &format!("\u{feff}{x}"), BodyEnd::Complete, server);
    let unknown = r#""message":"DeepSeek Messages request failed (500)","code":"SERVER","status":500"#;
    for body in ["", "<html>", "[]", r#"{"error":5}"#, r#"{"error":{"message":5}}"#] {
        check(500, &[], body, BodyEnd::Complete, unknown);
    }
    let transport = r#""message":"DeepSeek Messages transport failed","code":"TRANSPORT""#;
    check(500, &[], r#"{"error":{"message":""}}"#, BodyEnd::Complete, transport);
    check(500, &[], x, BodyEnd::Broken, transport);
    check(
        500,
        &[],
        x,
        BodyEnd::Idle,
        r#""message":"DeepSeek Messages stream idle timeout","code":"TIMEOUT""#,
    );
    check(302, &[], "", BodyEnd::Complete, transport);
    check(101, &[], "", BodyEnd::Complete, transport);
    let bodiless = r#""message":"DeepSeek Messages returned no response body","code":"EMPTY_RESPONSE""#;
    check(204, &[], "", BodyEnd::Complete, bodiless);

    let told = |headers: &[(&str, &str)], expected: &str| {
        check(500, headers, x, BodyEnd::Complete, &format!("{server}{expected}"));
    };
    told(&[("Request-Id", "a"), ("x-request-id", "b")], r#","requestId":"a""#);
    told(&[("x-deepseek-request-id", "c"), ("x-request-id", "b")], r#","requestId":"b""#);
    told(&[("x-deepseek-request-id", "c")], r#","requestId":"c""#);
    told(&[("request-id", ""), ("x-request-id", "b")], "");
    for (after, expected) in [
        ("7", r#","providerRetryAfterMs":7000"#),
        ("0.25", r#","providerRetryAfterMs":250"#),
        ("1.001", r#","providerRetryAfterMs":1000.9999999999999"#),
        ("0", ""),
        ("-3", ""),
        ("soon", ""),
        ("1.", ""),
        ("Sun, 06 Nov 1994 08:49:37 GMT", r#","providerRetryAfterMs":1500"#),
        ("Sun, 06 Nov 1994 08:49:30 GMT", ""),
    ] {
        told(&[("retry-after", after)], expected);
    }
    told(&[("retry-after", "1"), ("request-id", "a")], r#","providerRetryAfterMs":1000,"requestId":"a""#);
}

#[test]
fn an_answer_that_never_began() {
    for (end, expected) in [
        (BodyEnd::Broken, "TRANSPORT: DeepSeek Messages transport failed"),
        (BodyEnd::Idle, "TIMEOUT: DeepSeek Messages stream idle timeout"),
    ] {
        let mut chunks = Vec::new();
        let mut reader = AnswerReader::new(route());
        reader.end(end, &mut chunks);
        assert!(reader.is_over());
        assert_eq!(failure(&chunks), (0, expected.to_owned()));
    }
    let chunks = read(200, &[], &body(&[START]), Some(BodyEnd::Broken));
    assert_eq!(failure(&chunks), (0, "TRANSPORT: DeepSeek Messages transport failed".to_owned()));
    let chunks = read(200, &[], &body(&[START]), Some(BodyEnd::Idle));
    assert_eq!(failure(&chunks), (0, "TIMEOUT: DeepSeek Messages stream idle timeout".to_owned()));
}

fn block(index: &str, block: &str) -> String {
    format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#)
}

fn delta(index: &str, delta: &str) -> String {
    format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#)
}

fn end(index: &str) -> String {
    format!(r#"{{"type":"content_block_stop","index":{index}}}"#)
}

fn settle(reason: &str) -> String {
    format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}}}}"#)
}

const TEXT: &str = r#"{"type":"text","text":""}"#;
const TOOL: &str = r#"{"type":"tool_use","id":"c","name":"f","input":{}}"#;

/// The tables of section 8, row by row: what ends a stream.
#[test]
fn what_is_wrong_with_an_event() {
    let first = r#"{"type":"message_start","#;
    for (event, words) in [
        (r#""message":5}"#, "expected a JSON object"),
        (r#""x":1}"#, "expected a JSON object"),
        (r#""message":{}}"#, "expected a JSON object"),
        (r#""message":{"usage":null}}"#, "expected a JSON object"),
    ] {
        let expected = format!("MALFORMED_RESPONSE: DeepSeek Messages {words}");
        check_body(&body(&[&format!("{first}{event}")]), 0, &expected);
    }
    for (value, name) in [
        ("null", "input_tokens"),
        ("-1", "output_tokens"),
        ("1.5", "cache_read_input_tokens"),
        ("1e16", "cache_creation_input_tokens"),
    ] {
        let event = format!(r#"{first}"message":{{"usage":{{"{name}":{value}}}}}}}"#);
        check_body(&body(&[&event]), 0, &format!("stream: invalid {name}"));
    }
    check_fatal(&[START], 0, "stream: duplicate message_start");
    for event in [&block("0", TEXT), &delta("0", "{}"), &end("0"), &settle("end_turn"), STOP] {
        check_body(&body(&[event]), 0, "stream: event precedes message_start");
        check_body(&body(&[r#"{"type":"ping"}"#, event]), 0, "stream: event precedes message_start");
    }
    let object = "MALFORMED_RESPONSE: DeepSeek Messages expected a JSON object";
    let string = "MALFORMED_RESPONSE: DeepSeek Messages expected a string field";
    for index in ["-1", "1.5", "\"0\"", "null", "9007199254740992"] {
        check_fatal(&[&block(index, TEXT)], 0, "stream: invalid block index");
        check_fatal(&[&delta(index, "{}")], 0, "stream: invalid block index");
        check_fatal(&[&end(index)], 0, "stream: invalid block index");
    }
    let repeats = "stream: block starts after settlement or repeats an index";
    check_fatal(&[&block("0", TEXT), &block("0", TEXT)], 1, repeats);
    check_fatal(&[&block("0", TEXT), &end("0"), &block("0", TEXT)], 2, repeats);
    check_fatal(&[&settle("end_turn"), &block("0", TEXT)], 0, repeats);
    let open = "stream: delta/stop without an open block";
    check_fatal(&[&delta("0", "5")], 0, open);
    check_fatal(&[&end("0")], 0, open);
    check_fatal(&[&block("0", TEXT), &end("0"), &end("0")], 2, open);
    check_fatal(&[&block("0", TEXT), &end("0"), &delta("0", "{}")], 2, open);
    check_fatal(&[&block("0", TEXT), &delta("0", "5")], 1, object);
    check_fatal(&[&block("0", "[]")], 0, object);
    for (start, expected) in [
        (r#"{"type":"text"}"#, string),
        (r#"{"type":"thinking","thinking":5}"#, string),
        (r#"{"type":"thinking","thinking":"","signature":null}"#, string),
        (r#"{"type":"tool_use","name":"","input":5}"#, string),
        (r#"{"type":"tool_use","id":"","input":5}"#, string),
        (r#"{"type":"tool_use","id":"","name":"","input":5}"#, object),
        (r#"{"type":"tool_use","id":"","name":"","input":[]}"#, object),
        (r#"{"type":"tool_use","id":"","name":"f","input":{}}"#, "stream: empty tool identity"),
        (r#"{"type":"tool_use","id":"c","name":"","input":{}}"#, "stream: empty tool identity"),
    ] {
        check_fatal(&[&block("0", start)], 0, expected);
    }
    for (kind, told) in [
        (r#"{"type":"redacted_thinking"}"#, "redacted_thinking"),
        (r#"{"type":"server_tool_use"}"#, "server_tool_use"),
        ("{}", "undefined"),
        (r#"{"type":null}"#, "null"),
    ] {
        let words = format!("UNSUPPORTED_CONTENT: DeepSeek Messages does not support response block {told}");
        check_fatal(&[&block("0", kind)], 0, &words);
    }
    let thinking = r#"{"type":"thinking","thinking":""}"#;
    for (start, before, bad, told) in [
        (TEXT, 1, r#"{"type":"thinking_delta","thinking":"x"}"#, "thinking_delta for text"),
        (TEXT, 1, r#"{"type":"signature_delta","signature":"x"}"#, "signature_delta for text"),
        (TEXT, 1, "{}", "undefined for text"),
        (thinking, 1, r#"{"type":"text_delta","text":"x"}"#, "text_delta for reasoning"),
        (thinking, 1, r#"{"type":"input_json_delta","partial_json":"x"}"#, "input_json_delta for reasoning"),
        (TOOL, 2, r#"{"type":"text_delta","text":"x"}"#, "text_delta for tool-call"),
        (TOOL, 2, r#"{"type":"citations_delta"}"#, "citations_delta for tool-call"),
    ] {
        let events = [&*block("0", start), &*delta("0", bad)];
        check_fatal(&events, before, &format!("stream: unsupported delta {told}"));
    }
    for (start, before, bad) in [
        (TEXT, 1, r#"{"type":"text_delta"}"#),
        (thinking, 1, r#"{"type":"thinking_delta","thinking":5}"#),
        (thinking, 1, r#"{"type":"signature_delta"}"#),
        (TOOL, 2, r#"{"type":"input_json_delta","partial_json":{}}"#),
    ] {
        check_fatal(&[&block("0", start), &delta("0", bad)], before, string);
    }
    check_fatal(&[r#"{"type":"message_delta"}"#], 0, object);
    check_fatal(&[r#"{"type":"message_delta","delta":{},"usage":null}"#], 0, object);
    check_fatal(
        &[r#"{"type":"message_delta","delta":{},"usage":{"output_tokens":-1}}"#],
        0,
        "stream: invalid output_tokens",
    );
    for reason in ["pause_turn", "refusal"] {
        check_fatal(&[&settle(reason)], 0, &format!("stream: unsupported stop reason {reason}"));
    }
    // The reason comes first, then the usage.
    let both = r#"{"type":"message_delta","delta":{"stop_reason":5},"usage":null}"#;
    check_fatal(&[both], 0, "stream: unsupported stop reason 5");
}

/// Section 8.3.
#[test]
fn what_is_wrong_at_the_stop() {
    let unsettled = "stream: message_stop without settled blocks and stop reason";
    check_fatal(&[STOP], 0, unsettled);
    check_fatal(&[&block("0", TEXT), &end("0"), STOP], 2, unsettled);
    check_fatal(&[&block("0", TEXT), &settle("end_turn"), STOP], 1, unsettled);
    check_fatal(&[r#"{"type":"message_delta","delta":{"stop_reason":null}}"#, STOP], 0, unsettled);
    check_fatal(&[&settle("end_turn"), STOP], 0, "EMPTY_RESPONSE: DeepSeek Messages returned no content");
    check_fatal(
        &[&settle("stop_sequence"), STOP],
        0,
        "EMPTY_RESPONSE: DeepSeek Messages returned no content",
    );
    let call = |piece: &str, reason: &str| {
        let piece = delta("0", &format!(r#"{{"type":"input_json_delta","partial_json":{piece}}}"#));
        [block("0", TOOL), piece, end("0"), settle(reason), STOP.to_owned()]
    };
    for reason in ["end_turn", "tool_use"] {
        for (piece, expected) in [
            (r#""{""#, "stream: tool input is invalid JSON"),
            (r#""[1]""#, "MALFORMED_RESPONSE: DeepSeek Messages expected a JSON object"),
            (r#""null""#, "MALFORMED_RESPONSE: DeepSeek Messages expected a JSON object"),
        ] {
            let events = call(piece, reason);
            check_fatal(&events.each_ref().map(String::as_str), 4, expected);
        }
    }
    // Behind `max_tokens` arguments are not looked at.
    let events = call(r#""{""#, "max_tokens");
    let whole = [&[START], &events.each_ref().map(String::as_str)[..]].concat();
    assert_eq!(read(200, &[], &body(&whole), None).len(), 6);
}

/// The tables of section 8, row by row: what comes out.
#[test]
fn what_events_give() {
    let usage = r#"{"type":"usage","usage":{"inputTokens":0,"outputTokens":0,"totalTokens":0}}"#;
    let finish = |kind: &str, blocks: &str| {
        format!(
            r#"{{"type":"finish","reason":{{"kind":"{kind}"}},"replayState":{{"response":{{"kind":"deepseek-messages","version":1,"model":"m"}},"blocks":[{blocks}]}}}}"#
        )
    };
    for (reason, kind) in [("tool_use", "tool-calls"), ("max_tokens", "max-tokens")] {
        check(&[&settle(reason), STOP], &[usage, &finish(kind, "")]);
    }
    for reason in ["end_turn", "stop_sequence"] {
        check(
            &[&block("7", TEXT), &end("7"), &settle(reason), STOP],
            &[
                r#"{"type":"block-start","index":0,"blockType":"text"}"#,
                r#"{"type":"block-end","index":0,"block":{"type":"text","text":""}}"#,
                usage,
                &finish("stop", r#"{"type":"text"}"#),
            ],
        );
    }
    // The last reason wins, and `null` changes nothing; events of other types are passed over.
    check(
        &[
            &settle("end_turn"),
            &settle("tool_use"),
            r#"{"type":"message_delta","delta":{"stop_reason":null}}"#,
            r#"{"type":"unheard_of","index":-1}"#,
            STOP,
            "{",
        ],
        &[usage, &finish("tool-calls", "")],
    );
    // Blocks interleave, have their numbers by arrival, and grow behind the reason too.
    check(
        &[
            &block("7", r#"{"type":"thinking","thinking":"a","signature":"s"}"#),
            &block("3", r#"{"type":"text","text":"b"}"#),
            &delta("7", r#"{"type":"thinking_delta","thinking":""}"#),
            &delta("7", r#"{"type":"signature_delta","signature":"t"}"#),
            &end("3"),
            &settle("end_turn"),
            &delta("7", r#"{"type":"thinking_delta","thinking":"c"}"#),
            &end("7"),
            STOP,
        ],
        &[
            r#"{"type":"block-start","index":0,"blockType":"reasoning"}"#,
            r#"{"type":"reasoning-delta","index":0,"text":"a"}"#,
            r#"{"type":"block-start","index":1,"blockType":"text"}"#,
            r#"{"type":"text-delta","index":1,"text":"b"}"#,
            r#"{"type":"reasoning-delta","index":0,"text":""}"#,
            r#"{"type":"block-end","index":1,"block":{"type":"text","text":"b"}}"#,
            r#"{"type":"reasoning-delta","index":0,"text":"c"}"#,
            r#"{"type":"block-end","index":0,"block":{"type":"reasoning","text":"ac"}}"#,
            usage,
            &finish("stop", r#"{"type":"reasoning","signature":"st"},{"type":"text"}"#),
        ],
    );
    // Half characters of two deltas are one in the block. Pieces of arguments take the place of the input.
    check(
        &[
            &block("0", r#"{"type":"tool_use","id":"c","name":"f","input":{"b":1.0,"2":-0}}"#),
            &end("0"),
            &block("1", TOOL),
            &delta("1", r#"{"type":"input_json_delta","partial_json":""}"#),
            &delta("1", r#"{"type":"input_json_delta","partial_json":"{\"\ud83d"}"#),
            &delta("1", r#"{"type":"input_json_delta","partial_json":"\ude00\":1}"}"#),
            &end("1"),
            &settle("tool_use"),
            STOP,
        ],
        &[
            r#"{"type":"block-start","index":0,"blockType":"tool-call"}"#,
            r#"{"type":"tool-call-delta","index":0,"id":"c","name":"f","argumentsDelta":""}"#,
            r#"{"type":"block-end","index":0,"block":{"type":"tool-call","id":"c","name":"f","arguments":"{\"2\":0,\"b\":1}"}}"#,
            r#"{"type":"block-start","index":1,"blockType":"tool-call"}"#,
            r#"{"type":"tool-call-delta","index":1,"id":"c","name":"f","argumentsDelta":""}"#,
            r#"{"type":"tool-call-delta","index":1,"id":"c","argumentsDelta":""}"#,
            r#"{"type":"tool-call-delta","index":1,"id":"c","argumentsDelta":"{\"\ud83d"}"#,
            r#"{"type":"tool-call-delta","index":1,"id":"c","argumentsDelta":"\ude00\":1}"}"#,
            "{\"type\":\"block-end\",\"index\":1,\"block\":{\"type\":\"tool-call\",\"id\":\"c\",\"name\":\"f\",\"arguments\":\"{\\\"\u{1f600}\\\":1}\"}}",
            usage,
            &finish("tool-calls", r#"{"type":"tool-call"},{"type":"tool-call"}"#),
        ],
    );
}

/// Section 8, usage.
#[test]
fn counts_replace_and_keep_the_order_in_which_they_came() {
    let counted = |start: &str, end: &str| {
        let start = format!(r#"{{"type":"message_start","message":{{"usage":{{{start}}}}}}}"#);
        let end =
            format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"tool_use"}},"usage":{{{end}}}}}"#);
        let chunks = read(200, &[], &body(&[&start, &end, STOP]), None);
        shown(&chunks).remove(0)
    };
    let usage = |counts: &str| format!(r#"{{"type":"usage","usage":{{{counts}}}}}"#);
    assert_eq!(
        counted(r#""input_tokens":5,"output_tokens":1,"other":null"#, r#""output_tokens":9"#),
        usage(r#""inputTokens":5,"outputTokens":9,"totalTokens":14"#)
    );
    assert_eq!(
        counted(r#""cache_creation_input_tokens":1,"cache_read_input_tokens":2"#, r#""input_tokens":3"#),
        usage(r#""inputTokens":3,"outputTokens":0,"cacheReadTokens":2,"cacheWriteTokens":1,"totalTokens":6"#)
    );
    assert_eq!(
        counted(r#""cache_creation_input_tokens":1"#, r#""cache_read_input_tokens":2"#),
        usage(r#""inputTokens":0,"outputTokens":0,"cacheWriteTokens":1,"cacheReadTokens":2,"totalTokens":3"#)
    );
}
