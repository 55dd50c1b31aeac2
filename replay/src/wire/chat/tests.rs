//! Every row of 15.2 to 15.4 of `docs/spec/messages-wire.md`: the rows are the answers.

use dshlog_codec::json::{Doc, JsString};
use dshlog_codec::{Millis, Seq};

use super::super::answer::{AnswerReader, BodyEnd, Dialect, Route};
use super::super::chunk::Chunk;
use super::super::head::Head;
use super::super::script::{Fidelity, Recorded, Why, respond};
use super::super::served::{End, Served};

const DONE: &str = "[DONE]";

fn read(status: u16, headers: &[(&str, &str)], body: &str, end: Option<BodyEnd>) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let base = "http://h:1".to_owned();
    let mut reader = AnswerReader::new(Route {
        dialect: Dialect::Chat,
        model: JsString::default(),
        base,
        idle_timeout_ms: 800,
    });
    if status != 0 {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        reader.begin(Head { status, headers, at: Millis(0) }, &mut chunks);
    }
    reader.push(body.as_bytes(), &mut chunks);
    if let Some(end) = end {
        reader.end(end, &mut chunks);
    }
    chunks
}

fn body(frames: &[&str]) -> String {
    frames.iter().flat_map(|frame| ["event: any\ndata: ", *frame, "\n\n"]).collect()
}

fn shown(chunks: &[Chunk]) -> Vec<String> {
    let print = |chunk: &Chunk| {
        let mut out = Vec::new();
        chunk.print(&mut out);
        String::from_utf8(out).unwrap()
    };
    chunks.iter().map(print).collect()
}

#[track_caller]
fn check(frames: &[&str], expected: &[&str]) {
    assert_eq!(shown(&read(200, &[], &body(frames), None)), expected, "{frames:?}");
}

fn failure(chunks: &[Chunk]) -> (usize, String) {
    let Some(Chunk::Finish(finish)) = chunks.last() else { panic!("no end: {chunks:?}") };
    let failure = finish.reason.failure().unwrap_or_else(|| panic!("no failure: {finish:?}"));
    (chunks.len() - 1, format!("{}: {}", failure.code, failure.message))
}

fn choice(inner: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,{inner}}}]}}"#)
}

fn delta(inner: &str) -> String {
    choice(&format!(r#""delta":{{{inner}}}"#))
}

fn reason(reason: &str) -> String {
    choice(&format!(r#""delta":{{}},"finish_reason":{reason}"#))
}

const STOP: &str = r#"{"type":"finish","reason":{"kind":"stop"}}"#;

/// 15.2, the first table.
#[test]
fn what_frames_give() {
    let start =
        |index: u64, kind: &str| format!(r#"{{"type":"block-start","index":{index},"blockType":"{kind}"}}"#);
    // One block a kind, however often they alternate; of one delta reasoning comes first; ends come at the end.
    check(
        &[
            &delta(r#""content":"a""#),
            &delta(r#""content":"b","reasoning_content":"r""#),
            &delta(r#""content":"","reasoning_content":null"#),
            &delta(r#""role":"assistant""#),
            &delta(r#""reasoning_content":"s""#),
            r#"{"choices":[]}"#,
            r#"{"choices":null}"#,
            "5",
            &reason("\"stop\""),
            DONE,
            "{",
        ],
        &[
            &start(0, "text"),
            r#"{"type":"text-delta","index":0,"text":"a"}"#,
            &start(1, "reasoning"),
            r#"{"type":"reasoning-delta","index":1,"text":"r"}"#,
            r#"{"type":"text-delta","index":0,"text":"b"}"#,
            r#"{"type":"reasoning-delta","index":1,"text":"s"}"#,
            r#"{"type":"block-end","index":0,"block":{"type":"text","text":"ab"}}"#,
            r#"{"type":"block-end","index":1,"block":{"type":"reasoning","text":"rs"}}"#,
            STOP,
        ],
    );
    // Calls by the value of their index; what is known of a call is told on every delta, also of one without a fragment.
    let call = |inner: &str| delta(&format!(r#""tool_calls":[{inner}]"#));
    check(
        &[
            &call(r#"{"index":4,"function":{"arguments":"{"}},{"index":1,"id":"d"}"#),
            &call(r#"{"index":4,"id":"c","function":{"name":"f"}}"#),
            &call(r#"{"index":4,"id":"","function":{"name":null,"arguments":"}"}}"#),
            &call(r#"{"index":4,"id":"e","function":{"name":"g","arguments":null}}"#),
            &reason("\"tool_calls\""),
            DONE,
        ],
        &[
            &start(0, "tool-call"),
            r#"{"type":"tool-call-delta","index":0,"id":"","argumentsDelta":"{"}"#,
            &start(1, "tool-call"),
            r#"{"type":"tool-call-delta","index":1,"id":"d","argumentsDelta":""}"#,
            r#"{"type":"tool-call-delta","index":0,"id":"c","name":"f","argumentsDelta":""}"#,
            r#"{"type":"tool-call-delta","index":0,"id":"c","name":"f","argumentsDelta":"}"}"#,
            r#"{"type":"tool-call-delta","index":0,"id":"e","name":"g","argumentsDelta":""}"#,
            r#"{"type":"block-end","index":0,"block":{"type":"tool-call","id":"e","name":"g","arguments":"{}"}}"#,
            r#"{"type":"block-end","index":1,"block":{"type":"tool-call","id":"d","name":"","arguments":""}}"#,
            r#"{"type":"finish","reason":{"kind":"tool-calls"}}"#,
        ],
    );
}

/// 15.2, the second table.
#[test]
fn the_last_reason_tells_the_end() {
    let text = delta(r#""content":"a""#);
    for (reasons, kind) in [
        (&[][..], "stop"),
        (&["\"stop\""], "stop"),
        (&["\"tool_calls\""], "tool-calls"),
        (&["\"length\""], "max-tokens"),
        (&["\"stop\"", "null"], "stop"),
        (&["\"stop\"", "5"], "stop"),
        (&["\"content_filter\"", "\"length\""], "max-tokens"),
    ] {
        let reasons: Vec<String> = reasons.iter().map(|told| reason(told)).collect();
        let mut frames = vec![&*text];
        frames.extend(reasons.iter().map(String::as_str));
        frames.push(DONE);
        let chunks = read(200, &[], &body(&frames), None);
        let expected = format!(r#"{{"type":"finish","reason":{{"kind":"{kind}"}}}}"#);
        assert_eq!(shown(&chunks).pop(), Some(expected), "{reasons:?}");
    }
    for (told, expected) in [
        ("stop_sequence", "STOP_SEQUENCE: model stopped: stop_sequence"),
        ("content_filter", "CONTENT_FILTER: model stopped: content_filter"),
        ("pause_turn", "PAUSE_TURN: model stopped: pause_turn"),
        ("", ": model stopped: "),
    ] {
        let frames = [&*text, &reason(&format!("\"{told}\"")), DONE];
        assert_eq!(failure(&read(200, &[], &body(&frames), None)), (3, expected.to_owned()));
        let frames = [&*reason(&format!("\"{told}\"")), DONE];
        assert_eq!(failure(&read(200, &[], &body(&frames), None)), (0, expected.to_owned()));
    }
    let empty = "EMPTY_RESPONSE: model returned a completed response with no content";
    let usage = r#"{"usage":{"prompt_tokens":1,"completion_tokens":0}}"#;
    for (frames, before) in
        [(vec![DONE], 0), (vec![usage, DONE], 1), (vec![&*reason("\"stop\""), usage, DONE], 1)]
    {
        assert_eq!(failure(&read(200, &[], &body(&frames), None)), (before, empty.to_owned()), "{frames:?}");
    }
    check(&[&reason("\"length\""), DONE], &[r#"{"type":"finish","reason":{"kind":"max-tokens"}}"#]);
}

/// 15.2, usage.
#[test]
fn counts() {
    let text = delta(r#""content":"a""#);
    for (told, expected) in [
        (
            r#""prompt_tokens":10,"completion_tokens":2,"total_tokens":12"#,
            r#""inputTokens":10,"outputTokens":2,"totalTokens":12"#,
        ),
        (
            r#""prompt_tokens":10,"completion_tokens":2"#,
            r#""inputTokens":10,"outputTokens":2,"totalTokens":12"#,
        ),
        (
            r#""prompt_tokens":10,"completion_tokens":2,"total_tokens":13"#,
            r#""inputTokens":10,"outputTokens":2"#,
        ),
        (
            r#""prompt_tokens":10,"completion_tokens":2,"prompt_cache_hit_tokens":4"#,
            r#""inputTokens":6,"outputTokens":2,"totalTokens":12,"cacheReadTokens":4"#,
        ),
        (
            r#""prompt_tokens":10,"completion_tokens":2,"prompt_cache_hit_tokens":4,"prompt_tokens_details":{"cached_tokens":3},"completion_tokens_details":{"reasoning_tokens":1}"#,
            r#""inputTokens":7,"outputTokens":2,"totalTokens":12,"cacheReadTokens":3,"reasoningTokens":1"#,
        ),
        (r#""prompt_tokens":1.5,"completion_tokens":2"#, r#""inputTokens":1.5,"outputTokens":2"#),
        (r#""completion_tokens":2"#, r#""inputTokens":null,"outputTokens":2"#),
        (r#""prompt_tokens":1"#, r#""inputTokens":1"#),
    ] {
        let frame = format!(r#"{{"choices":[],"usage":{{{told}}}}}"#);
        let frames = [&*frame, r#"{"usage":null}"#, &text, DONE];
        let expected = format!(r#"{{"type":"usage","usage":{{{expected}}}}}"#);
        assert_eq!(shown(&read(200, &[], &body(&frames), None))[3], expected);
    }
}

/// 15.3, the first table.
#[test]
fn what_is_wrong_with_a_stream() {
    let text = body(&[&delta(r#""content":"a""#)]);
    let long = format!("{{{}", "x".repeat(200));
    let halves = format!("{}\u{1f600}{}", "x".repeat(119), "y".repeat(9));
    let broken = "TRANSPORT: DeepSeek API stream from http://h:1 failed".to_owned();
    let check = |status, text: &str, end, expected: (usize, String)| {
        assert_eq!(failure(&read(status, &[], text, Some(end))), expected, "{status} {text}");
    };
    for data in ["{oops", "[DONE] ", "x", &long] {
        let shown: String = data.chars().take(120).collect();
        let expected = format!("MALFORMED_RESPONSE: malformed SSE payload: {shown}");
        check(200, &format!("{text}data: {data}\n\n"), BodyEnd::Complete, (2, expected));
    }
    let cut = read(200, &[], &format!("data: {halves}\n\n"), None);
    let Some(Chunk::Finish(finish)) = cut.last() else { panic!("{cut:?}") };
    let units: Vec<u16> = finish.reason.failure().unwrap().message.units().collect();
    assert_eq!((units.len(), units.last()), (23 + 120, Some(&0xd83d)));

    check(200, &text, BodyEnd::Complete, (2, "STREAM_CLOSED: SSE stream ended without [DONE]".to_owned()));
    check(
        200,
        "data: [DONE]\n",
        BodyEnd::Complete,
        (0, "STREAM_CLOSED: SSE stream ended without [DONE]".to_owned()),
    );
    for data in ["null", r#"{"choices":{}}"#, r#"{"choices":5}"#, r#"{"choices":[null]}"#] {
        check(200, &format!("{text}data: {data}\n\n"), BodyEnd::Complete, (2, broken.clone()));
    }
    for calls in ["{}", "5", "[null]"] {
        let data = delta(&format!(r#""content":"b","tool_calls":{calls}"#));
        check(200, &format!("{text}data: {data}\n\n"), BodyEnd::Complete, (3, broken.clone()));
    }
    check(200, &text, BodyEnd::Broken, (2, broken.clone()));
    check(500, "{}", BodyEnd::Broken, (0, broken));
    check(0, "", BodyEnd::Broken, (0, "TRANSPORT: DeepSeek API request to http://h:1 failed".to_owned()));
    check(
        204,
        "",
        BodyEnd::Complete,
        (0, "EMPTY_RESPONSE: DeepSeek API returned no response body".to_owned()),
    );
    let idle = "TIMEOUT: DeepSeek stream idle timeout after 800ms".to_owned();
    check(200, &text, BodyEnd::Idle, (2, idle.clone()));
    check(0, "", BodyEnd::Idle, (0, idle));
}

/// 15.3, below the table.
#[test]
fn the_class_of_a_status() {
    for (status, error, expected) in [
        (401, "{}", "AUTH: DeepSeek API error (HTTP 401)"),
        (403, r#"{"message":"quota exceeded"}"#, "AUTH: quota exceeded"),
        (413, r#"{"message":"quota exceeded"}"#, "INVALID_REQUEST: quota exceeded"),
        (429, r#"{"message":"x","code":"insufficient_quota"}"#, "QUOTA: x"),
        (429, r#"{"message":"x","type":"insufficient","code":""}"#, "RATE_LIMIT: x"),
        (429, r#"{"message":"quota x","type":"insufficient"}"#, "QUOTA: quota x"),
        (400, r#"{"message":"maximum context length"}"#, "CONTEXT_WINDOW_EXCEEDED: maximum context length"),
        (400, r#"{"message":""}"#, "INVALID_REQUEST: DeepSeek API error (HTTP 400)"),
        (500, r#"{"message":"maximum context length"}"#, "SERVER: maximum context length"),
        (529, "5", "SERVER: DeepSeek API error (HTTP 529)"),
        (402, r#"{"message":"x"}"#, "HTTP_402: x"),
        (404, r#"{"message":"x","type":"authentication_error"}"#, "HTTP_404: x"),
    ] {
        let body = format!(r#"{{"error":{error}}}"#);
        let chunks = read(status, &[], &body, Some(BodyEnd::Complete));
        assert_eq!(failure(&chunks), (0, expected.to_owned()), "{status} {error}");
    }
    for (headers, expected) in [
        (&[("x-request-id", "a"), ("x-deepseek-request-id", "b")][..], r#","requestId":"a""#),
        (&[("x-deepseek-request-id", "b"), ("request-id", "c")], r#","requestId":"b""#),
        (&[("request-id", "c")], ""),
        (&[("x-request-id", ""), ("x-deepseek-request-id", "b")], ""),
        (&[("retry-after", "7")], r#","providerRetryAfterMs":7000"#),
        (&[("retry-after", "0.25")], ""),
        (&[("retry-after", "0")], ""),
    ] {
        let chunks = read(500, headers, "", Some(BodyEnd::Complete));
        let start = r#"{"type":"finish","reason":{"kind":"error","failure":{"message":"DeepSeek API error (HTTP 500)","code":"SERVER","status":500"#;
        assert_eq!(shown(&chunks), [format!("{start}{expected}}}}}}}")], "{headers:?}");
    }
}

fn made(chunks: &[&str]) -> Result<Option<Served>, Why> {
    let read = |text: &&str| Chunk::read(Doc::parse(*text).unwrap().root()).unwrap();
    let chunks: Vec<_> = (0..).map(Millis).zip(chunks.iter().map(read)).collect();
    let recorded = Recorded { seq: Seq(4), chunks: &chunks, is_accepted: false };
    respond(recorded, Dialect::Chat, Fidelity::Exact).map_err(|error| error.why)
}

fn failed(message: &str, code: &str) -> String {
    format!(
        r#"{{"type":"finish","reason":{{"kind":"error","failure":{{"message":"{message}","code":"{code}"}}}}}}"#
    )
}

/// 15.4, the table, each row behind nothing and behind a prefix, where it may have one.
#[test]
fn failures_that_are_brought_about() {
    let prefix = [
        r#"{"type":"block-start","index":0,"blockType":"text"}"#,
        r#"{"type":"text-delta","index":0,"text":"a"}"#,
        r#"{"type":"block-start","index":1,"blockType":"tool-call"}"#,
        r#"{"type":"tool-call-delta","index":1,"id":"","argumentsDelta":"{"}"#,
        r#"{"type":"tool-call-delta","index":1,"id":"c","name":"f","argumentsDelta":""}"#,
    ];
    let ends = [
        r#"{"type":"block-end","index":0,"block":{"type":"text","text":"a"}}"#,
        r#"{"type":"block-end","index":1,"block":{"type":"tool-call","id":"c","name":"f","arguments":"{"}}"#,
    ];
    let usage = r#"{"type":"usage","usage":{"inputTokens":1,"outputTokens":2}}"#;
    let long = "x".repeat(120);
    let number = "7".repeat(120);
    let half = format!("{}\\ud83d", "x".repeat(119));
    let payload = |shown: &str| failed(&format!("malformed SSE payload: {shown}"), "MALFORMED_RESPONSE");
    for (message, code, end) in [
        ("SSE stream ended without [DONE]", "STREAM_CLOSED", End::Complete),
        ("DeepSeek API stream from http://h:1 failed", "TRANSPORT", End::ClosedWithoutTerminator),
        ("DeepSeek stream idle timeout after 800ms", "TIMEOUT", End::Stall),
    ] {
        for before in [&[][..], &prefix[..2], &prefix] {
            let failure = failed(message, code);
            let chunks = [before, &[&*failure]].concat();
            assert_eq!(made(&chunks).unwrap().unwrap().end, end, "{chunks:?}");
        }
    }
    for shown in ["{oops", "a\\nb", &long, &number, &half, "\\u0000"] {
        for before in [&[][..], &prefix] {
            let failure = payload(shown);
            let chunks = [before, &[&*failure]].concat();
            assert!(matches!(made(&chunks), Ok(Some(_))), "{chunks:?} {:?}", made(&chunks));
        }
    }
    // A whole text that is JSON, or that a body cannot hold, is malformed for no reason.
    for shown in ["{}", "a\\rb", "\\ud83d"] {
        assert!(made(&[&payload(shown)]).is_err(), "{shown}");
    }
    let stopped = failed("model stopped: pause_turn", "PAUSE_TURN");
    let whole = [&prefix[..], &ends, &[usage, &stopped]].concat();
    let without = [&prefix[..], &ends, &[&stopped]].concat();
    let empty = failed("model returned a completed response with no content", "EMPTY_RESPONSE");
    for chunks in [&whole[..], &without, &[usage, &*empty], &[&*empty], &[&*stopped]] {
        assert!(matches!(made(chunks), Ok(Some(_))), "{chunks:?} {:?}", made(chunks));
    }
    assert_eq!(
        made(&[&failed("DeepSeek API returned no response body", "EMPTY_RESPONSE")]).unwrap().unwrap().status,
        Some(204)
    );
    let request =
        made(&[&failed("DeepSeek API request to http://h:1 failed", "TRANSPORT")]).unwrap().unwrap();
    assert_eq!((request.status, request.end), (None, End::ResetBeforeStatus));
    assert!(made(&[&failed("Overloaded", "SERVER")]).is_err());
    assert!(made(&[&failed("model stopped: pause_turn", "SERVER")]).is_err());
}

/// 15.4, the first line of the table.
#[test]
fn refusals() {
    let failed = |failure: &str| {
        made(&[&format!(r#"{{"type":"finish","reason":{{"kind":"error","failure":{{{failure}}}}}}}"#)])
    };
    for failure in [
        r#""message":"x","code":"AUTH","status":401"#,
        r#""message":"x","code":"QUOTA","status":429,"providerRetryAfterMs":7000,"requestId":"r""#,
        r#""message":"x","code":"CONTEXT_WINDOW_EXCEEDED","status":400"#,
        r#""message":"x","code":"HTTP_402","status":402"#,
        r#""message":"DeepSeek API error (HTTP 503)","code":"SERVER","status":503"#,
    ] {
        assert!(matches!(failed(failure), Ok(Some(_))), "{failure} {:?}", failed(failure));
    }
    assert_eq!(
        failed(r#""message":"x","code":"RATE_LIMIT","status":429,"providerRetryAfterMs":250"#),
        Err(Why::RetryAfter(250.0))
    );
    assert!(matches!(failed(r#""message":"x","code":"AUTH","status":500"#), Err(Why::Failure { .. })));
}
