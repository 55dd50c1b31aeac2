//! Every row of sections 10 and 11 of `docs/spec/messages-wire.md`. [`respond`] reads each response back.

use dshlog_codec::json::Doc;
use dshlog_codec::{Millis, Seq};

use crate::wire::{Chunk, Dialect, End, Fidelity, Framing, Recorded, Served, Why, respond};

/// A stream with these chunks.
fn stream(chunks: &[&str]) -> Vec<(Millis, Chunk)> {
    let read = |text: &&str| Chunk::read(Doc::parse(*text).unwrap().root()).unwrap();
    (0..).map(Millis).zip(chunks.iter().map(read)).collect()
}

fn made(chunks: &[&str], is_accepted: bool) -> Result<Option<Served>, Why> {
    let chunks = stream(chunks);
    let recorded = Recorded { seq: Seq(4), chunks: &chunks, is_accepted };
    respond(recorded, Dialect::Messages, Fidelity::Exact).map_err(|error| error.why)
}

fn failed(failure: &str) -> String {
    format!(r#"{{"type":"finish","reason":{{"kind":"error","failure":{failure}}}}}"#)
}

const TEXT_START: &str = r#"{"type":"block-start","index":0,"blockType":"text"}"#;
const CALL_START: [&str; 2] = [
    r#"{"type":"block-start","index":1,"blockType":"tool-call"}"#,
    r#"{"type":"tool-call-delta","index":1,"id":"c","name":"f","argumentsDelta":""}"#,
];

/// Section 11.2, each row behind nothing and behind a prefix, where it may have one. [`respond`] reads each response back.
#[test]
fn failures_that_are_brought_about() {
    let words = |code: &str, words: &str| {
        failed(&format!(r#"{{"message":"DeepSeek Messages {words}","code":"{code}"}}"#))
    };
    let malformed = |text: &str| words("MALFORMED_RESPONSE", text);
    for failure in [
        words("STREAM_CLOSED", "stream ended before message_stop"),
        words("TRANSPORT", "transport failed"),
        words("TIMEOUT", "stream idle timeout"),
        words("UNSUPPORTED_CONTENT", "does not support response block redacted_thinking"),
        words("UNSUPPORTED_CONTENT", "does not support response block undefined"),
        words("UNSUPPORTED_CONTENT", "does not support response block "),
        words("SERVER", "request failed (stream error)"),
        failed(r#"{"message":"Overloaded","code":"SERVER"}"#),
        failed(r#"{"message":"x","code":"AUTH"}"#),
        failed(r#"{"message":"x","code":"RATE_LIMIT"}"#),
        failed(r#"{"message":"x","code":"QUOTA"}"#),
        failed(r#"{"message":"out of credits","code":"QUOTA"}"#),
        failed(r#"{"message":"x","code":"CONTEXT_WINDOW_EXCEEDED"}"#),
        failed(r#"{"message":"x","code":"INVALID_REQUEST"}"#),
        malformed("SSE contains invalid JSON"),
        malformed("SSE event type mismatch"),
        malformed("expected a string field"),
        malformed("expected a JSON object"),
        malformed("stream: duplicate message_start"),
        malformed("stream: message_stop without settled blocks and stop reason"),
        malformed("stream: unsupported stop reason pause_turn"),
        malformed("stream: unsupported stop reason \\ud800"),
        malformed("stream: unsupported stop reason "),
        malformed("stream: block starts after settlement or repeats an index"),
        malformed("stream: delta/stop without an open block"),
        malformed("stream: invalid block index"),
        malformed("stream: invalid input_tokens"),
        malformed("stream: invalid output_tokens"),
        malformed("stream: invalid cache_read_input_tokens"),
        malformed("stream: invalid cache_creation_input_tokens"),
        malformed("stream: empty tool identity"),
    ] {
        for prefix in [&[][..], &[TEXT_START], &[TEXT_START, CALL_START[0], CALL_START[1]]] {
            let chunks = [prefix, &[&*failure]].concat();
            assert!(matches!(made(&chunks, false), Ok(Some(_))), "{chunks:?} {:?}", made(&chunks, false));
        }
    }
    for (chunks, failure) in [
        (vec![], words("EMPTY_RESPONSE", "returned no content")),
        (vec![], words("EMPTY_RESPONSE", "returned no response body")),
        (vec![], malformed("stream: event precedes message_start")),
        (vec![TEXT_START], malformed("stream: unsupported delta citations_delta for text")),
        (
            CALL_START
                .map(|chunk| chunk.replace("\"index\":1", "\"index\":0"))
                .each_ref()
                .map(String::as_str)
                .to_vec(),
            malformed("stream: unsupported delta undefined for tool-call"),
        ),
        (
            vec![
                r#"{"type":"block-start","index":0,"blockType":"tool-call"}"#,
                r#"{"type":"tool-call-delta","index":0,"id":"c","name":"f","argumentsDelta":""}"#,
                r#"{"type":"tool-call-delta","index":0,"id":"c","argumentsDelta":"{"}"#,
                r#"{"type":"block-end","index":0,"block":{"type":"tool-call","id":"c","name":"f","arguments":"{"}}"#,
            ],
            malformed("stream: tool input is invalid JSON"),
        ),
    ] {
        let chunks = [&chunks[..], &[&failure]].concat();
        assert!(matches!(made(&chunks, false), Ok(Some(_))), "{chunks:?} {:?}", made(&chunks, false));
    }
}

/// How the responses end, where more than one way gives the same record.
#[test]
fn whether_a_head_came_is_told_by_the_log() {
    let transport = failed(r#"{"message":"DeepSeek Messages transport failed","code":"TRANSPORT"}"#);
    let timeout = failed(r#"{"message":"DeepSeek Messages stream idle timeout","code":"TIMEOUT"}"#);
    for (chunks, is_accepted, status, end) in [
        (vec![&*transport], false, None, End::ResetBeforeStatus),
        (vec![&*transport], true, Some(200), End::ClosedWithoutTerminator),
        (vec![TEXT_START, &transport], false, Some(200), End::ClosedWithoutTerminator),
        (vec![&*timeout], false, None, End::Stall),
        (vec![&*timeout], true, Some(200), End::Stall),
        (vec![TEXT_START, &timeout], false, Some(200), End::Stall),
        (vec![], false, None, End::Stall),
        (vec![], true, Some(200), End::Stall),
        (vec![TEXT_START], false, Some(200), End::Stall),
        (vec![TEXT_START, CALL_START[0]], false, Some(200), End::Stall),
    ] {
        let served = made(&chunks, is_accepted).unwrap().unwrap();
        assert_eq!((served.status, served.end), (status, end), "{chunks:?} {is_accepted}");
    }
}

/// Section 11.1, and the last row of 11.2.
#[test]
fn refusals_and_calls_that_were_never_made() {
    for failure in [
        r#"{"message":"x","code":"AUTH","status":401}"#,
        r#"{"message":"x","code":"AUTH","status":500}"#,
        r#"{"message":"x","code":"QUOTA","status":402}"#,
        r#"{"message":"x","code":"QUOTA","status":429,"providerRetryAfterMs":250,"requestId":"r"}"#,
        r#"{"message":"x","code":"RATE_LIMIT","status":429,"providerRetryAfterMs":1000.9999999999999}"#,
        r#"{"message":"x","code":"RATE_LIMIT","status":429,"providerRetryAfterMs":0.3}"#,
        r#"{"message":"x","code":"CONTEXT_WINDOW_EXCEEDED","status":400}"#,
        r#"{"message":"x","code":"INVALID_REQUEST","status":400}"#,
        r#"{"message":"x","code":"SERVER","status":529}"#,
        r#"{"message":"\ud83d \u0000","code":"HTTP_404","status":404}"#,
    ] {
        let served = made(&[&failed(failure)], false).unwrap().unwrap();
        assert_eq!((served.framing, served.end), (Some(Framing::Length), End::Complete), "{failure}");
    }
    for (failure, expected) in [
        (r#"{"message":"x","code":"AUTH","status":404}"#, "none"),
        (r#"{"message":"x","code":"SERVER","status":404}"#, "none"),
        (r#"{"message":"x","code":"HTTP_404","status":400}"#, "no answer"),
        (r#"{"message":"x","code":"SERVER","status":500,"requestId":"é"}"#, "header"),
        (r#"{"message":"x","code":"UNKNOWN"}"#, "no answer"),
        (r#"{"message":"x","code":"MALFORMED_RESPONSE"}"#, "no answer"),
    ] {
        let why = made(&[&failed(failure)], false);
        match expected {
            "none" => assert!(why.is_ok(), "{failure}"),
            "header" => assert!(matches!(why, Err(Why::Header(_))), "{failure}"),
            _ => assert!(matches!(why, Err(Why::Failure { .. })), "{failure} {why:?}"),
        }
    }
    for failure in [
        r#"{"message":"no key","code":"MISSING_CREDENTIAL"}"#,
        r#"{"message":"x","code":"IMAGE_OFFLOAD_REQUIRED","offloadImages":1}"#,
        r#"{"message":"DeepSeek Messages tool calls need immediate results","code":"INVALID_REQUEST"}"#,
        r#"{"message":"DeepSeek Messages cannot represent x","code":"UNSUPPORTED_CONTENT"}"#,
    ] {
        assert_eq!(made(&[&failed(failure)], false), Ok(None), "{failure}");
    }
}

/// Section 10.1, and what the dialect has no words for.
#[test]
fn counts_that_can_be_told_and_others() {
    let with = |usage: &str| {
        let usage = format!(r#"{{"type":"usage","usage":{{{usage}}}}}"#);
        let finish = r#"{"type":"finish","reason":{"kind":"tool-calls"},"replayState":{"response":{"kind":"deepseek-messages","version":1,"model":"m"},"blocks":[]}}"#;
        made(&[&usage, finish], false)
    };
    for usage in [
        r#""inputTokens":1,"outputTokens":2,"totalTokens":3"#,
        r#""inputTokens":1,"outputTokens":2,"cacheReadTokens":3,"cacheWriteTokens":4,"totalTokens":10"#,
        r#""inputTokens":1,"outputTokens":2,"cacheWriteTokens":4,"cacheReadTokens":3,"totalTokens":10"#,
        r#""inputTokens":1,"outputTokens":2,"cacheWriteTokens":4,"totalTokens":7"#,
    ] {
        assert!(matches!(with(usage), Ok(Some(_))), "{usage} {:?}", with(usage));
    }
    for usage in [
        r#""inputTokens":1,"outputTokens":2"#,
        r#""inputTokens":1,"outputTokens":2,"totalTokens":4"#,
        r#""inputTokens":1,"outputTokens":2,"reasoningTokens":1,"totalTokens":3"#,
        r#""inputTokens":1.5,"outputTokens":2,"totalTokens":3.5"#,
        r#""inputTokens":-1,"outputTokens":2,"totalTokens":1"#,
    ] {
        assert!(matches!(with(usage), Err(Why::Count { .. })), "{usage} {:?}", with(usage));
    }
    // In another order than the client's.
    let odd = with(r#""outputTokens":2,"inputTokens":1,"totalTokens":3"#);
    assert_eq!(odd, Err(Why::Differs { number: 0 }));
}

/// The pauses of a record are those of the response.
#[test]
fn pauses_are_kept() {
    let mut chunks = stream(&[TEXT_START, r#"{"type":"text-delta","index":0,"text":"a"}"#]);
    chunks[0].0 = Millis(100);
    chunks[1].0 = Millis(130);
    let recorded = Recorded { seq: Seq(0), chunks: &chunks, is_accepted: false };
    let served = respond(recorded, Dialect::Messages, Fidelity::Exact).unwrap().unwrap();
    assert_eq!(served.writes.iter().map(|write| write.delay_ms).collect::<Vec<_>>(), [0, 0, 30]);
}
