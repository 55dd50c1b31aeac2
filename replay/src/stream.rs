//! What the recorded stream of an answer or an attempt tells (`docs/spec/events-v4.md`, 6.4).
//!
//! A valid log may hold anything in a stream. What is not as its producer writes it tells nothing.

use dshlog_codec::json::Js;
use dshlog_codec::{Event, Millis};

/// Failures that come before a request is sent, whatever they say (`docs/spec/messages-wire.md`, 11.2).
const UNSENT: [&str; 6] = [
    "IMAGE_OFFLOAD_REQUIRED",
    "INVALID_CREDENTIAL",
    "MISSING_CREDENTIAL",
    "NO_ADAPTER",
    "REQUEST_EXTENSION",
    "UNSUPPORTED_REASONING_EFFORT",
];

/// Starts of messages of those whose code is also that of failures of other requests (sections 3.1, 3.2, 3.6 and 15.1 there).
const UNSENT_MESSAGES: [(&str, &str); 7] = [
    ("UNSUPPORTED_CONTENT", "DeepSeek Messages cannot represent "),
    ("UNSUPPORTED_CONTENT", "DeepSeek Messages supports images only in user messages"),
    ("UNSUPPORTED_CONTENT", "The DeepSeek chat-completions adapter cannot represent image content"),
    ("INVALID_REQUEST", "DeepSeek Messages duplicate tool call id"),
    ("INVALID_REQUEST", "DeepSeek Messages tool result has no matching call"),
    ("INVALID_REQUEST", "DeepSeek Messages tool calls need immediate results"),
    ("INVALID_REQUEST", "DeepSeek Messages history ends with unresolved tools"),
];

/// The usage of the request that ended in an `assistant/message`, `assistant/attempt` or `compaction/summary`: that of the
/// message or the summary, else the last one in the stream.
pub fn usage<'a>(event: &Event<'a>) -> Option<Js<'a>> {
    let tells = event.is("assistant/message") || event.is("compaction/summary");
    let told = event.member("usage").filter(|_| tells);
    told.or_else(|| last_chunk(event, "usage")?.get("usage"))
}

/// Why a stream ended: the `reason` of its last `finish`.
pub(crate) fn end<'a>(event: &Event<'a>) -> Option<Js<'a>> {
    last_chunk(event, "finish")?.get("reason")
}

/// The code of the failure of an attempt that came to nothing before a request was sent.
pub fn unsent(event: &Event<'_>) -> Option<String> {
    let failure = end(event)?.get("failure")?;
    let text = |name| Some(failure.get(name)?.as_str()?.to_lossy().into_owned());
    let code = text("code")?;
    is_unsent(&code, &text("message").unwrap_or_default()).then_some(code)
}

/// True for a failure of an attempt that came to nothing before a request was sent.
pub(crate) fn is_unsent(code: &str, message: &str) -> bool {
    let is_told = |(of, start): &(&str, &str)| *of == code && message.starts_with(start);
    UNSENT.contains(&code) || UNSENT_MESSAGES.iter().any(is_told)
}

/// When the first token came: the first piece of text, reasoning or arguments that is not empty, or the first piece of a
/// tool call that has the tool's name (`docs/spec/surface.md`, 10.6).
#[expect(clippy::cast_possible_truncation, reason = "a time is whole; what else stands there is clamped")]
pub fn first_token(event: &Event<'_>) -> Option<Millis> {
    exact_first_token(event).map(|time| Millis(time as i64))
}

/// The same, as JavaScript adds up whatever numbers stand there.
pub(crate) fn exact_first_token(event: &Event<'_>) -> Option<f64> {
    event.member("stream")?.elements().find_map(|record| {
        if record.get("type").is_some_and(|kind| kind.is("chunk")) {
            let is_token = record.get("chunk").is_some_and(is_token);
            return record.get("time").filter(|_| is_token)?.as_f64();
        }
        let start = record.get("time0")?.as_f64()?;
        let is_call = record.get("type").is_some_and(|kind| kind.is("tool-call-chunks"));
        if is_call && record.get("name").is_some() {
            return Some(start);
        }
        let parts = record.get(if is_call { "args" } else { "texts" })?;
        let gaps = record.get("dt").into_iter().flat_map(Js::elements).filter_map(Js::as_f64);
        let times = std::iter::once(0.0).chain(gaps).scan(start, |time, gap| {
            *time += gap;
            Some(*time)
        });
        let mut parts = parts.elements().zip(times);
        parts.find_map(|(part, time)| part.as_str().is_some_and(|part| !part.is_empty()).then_some(time))
    })
}

/// True for a chunk, stored as it is, that brings a token.
fn is_token(chunk: Js<'_>) -> bool {
    let is_empty = |name| chunk.get(name).is_some_and(|text| text.is(""));
    match chunk.get("type").and_then(Js::as_str) {
        Some(kind) if kind == "text-delta" || kind == "reasoning-delta" => !is_empty("text"),
        Some(kind) if kind == "tool-call-delta" => !is_empty("argumentsDelta") || chunk.get("name").is_some(),
        _ => false,
    }
}

/// The last chunk of this type. Only those are looked for that are never packed.
fn last_chunk<'a>(event: &Event<'a>, kind: &str) -> Option<Js<'a>> {
    let is = |value: Js<'_>, kind| value.get("type").is_some_and(|stored| stored.is(kind));
    // It stands near the end, and streams are long.
    let records: Vec<Js<'a>> = event.member("stream")?.elements().collect();
    let chunks = records.into_iter().rev().filter(|record| is(*record, "chunk"));
    chunks.filter_map(|record| record.get("chunk")).find(|chunk| is(*chunk, kind))
}

#[cfg(test)]
mod tests {
    use dshlog_codec::Place;
    use dshlog_codec::json::Doc;

    use super::*;

    /// Hand an attempt with this stream to `see`.
    fn attempt<T>(stream: &str, see: impl FnOnce(&Event<'_>) -> T) -> T {
        let row = format!(r#"{{"type":"assistant/attempt","seq":0,"time":0,"data":{{"stream":{stream}}}}}"#);
        let doc = Doc::parse(row).unwrap();
        see(&Event::from_row(doc.root(), Place::default()))
    }

    #[track_caller]
    fn check(stream: &str, expected: Option<i64>) {
        assert_eq!(attempt(stream, first_token).map(|time| time.0), expected, "{stream}");
    }

    /// One row a sentence of 10.6.
    #[test]
    fn the_first_token_of_a_stream() {
        let chunk = |chunk: &str| format!(r#"[{{"type":"chunk","time":5,"chunk":{chunk}}}]"#);
        check("[]", None);
        check(r#"[{"type":"text-chunks","time0":1,"index":0,"dt":[2,3],"texts":["","","a"]}]"#, Some(6));
        check(
            r#"[{"type":"text-chunks","time0":1,"index":0,"dt":[],"texts":[""]},
                {"type":"reasoning-chunks","time0":9,"index":1,"dt":[-4],"texts":["","b"]}]"#,
            Some(5),
        );
        check(
            r#"[{"type":"tool-call-chunks","time0":1,"index":0,"dt":[],"id":"c","name":"n","args":[""]}]"#,
            Some(1),
        );
        check(
            r#"[{"type":"tool-call-chunks","time0":1,"index":0,"dt":[1],"id":"c","args":["","{"]}]"#,
            Some(2),
        );
        check(&chunk(r#"{"type":"text-delta","index":0,"text":""}"#), None);
        check(&chunk(r#"{"type":"text-delta","index":0,"text":"a"}"#), Some(5));
        check(
            &chunk(r#"{"type":"tool-call-delta","index":0,"id":"","name":"","argumentsDelta":""}"#),
            Some(5),
        );
        check(&chunk(r#"{"type":"tool-call-delta","index":0,"id":"","argumentsDelta":""}"#), None);
        check(&chunk(r#"{"type":"block-start","index":0,"blockType":"text"}"#), None);
        check(&chunk(r#"{"type":"block-end","index":0,"block":{"type":"text","text":"ab"}}"#), None);
        check(&chunk(r#"{"type":"usage","usage":{"outputTokens":7}}"#), None);
        check(&chunk(r#"{"type":"finish","reason":{"kind":"stop"}}"#), None);
        for odd in ["[1,null]", r#"[{"type":"text-chunks"}]"#, r#"{"a":1}"#, "7"] {
            check(odd, None);
        }
    }

    /// The last row of 11.2, and rows in front of it that share a code with it.
    #[test]
    fn attempts_of_which_nothing_was_sent() {
        for (code, message, is_unsent) in [
            ("NO_ADAPTER", "", true),
            ("MISSING_CREDENTIAL", "no key", true),
            ("UNSUPPORTED_CONTENT", "DeepSeek Messages cannot represent developer content image", true),
            (
                "UNSUPPORTED_CONTENT",
                "DeepSeek Messages supports images only in user messages and tool results",
                true,
            ),
            ("UNSUPPORTED_CONTENT", "DeepSeek Messages does not support response block x", false),
            ("INVALID_REQUEST", "DeepSeek Messages history ends with unresolved tools", true),
            ("INVALID_REQUEST", "bad request", false),
            ("SERVER", "", false),
        ] {
            let failure = format!(r#"{{"message":"{message}","code":"{code}"}}"#);
            let finish = format!(r#"{{"type":"finish","reason":{{"kind":"error","failure":{failure}}}}}"#);
            let stream = format!(r#"[{{"type":"chunk","time":5,"chunk":{finish}}}]"#);
            assert_eq!(attempt(&stream, unsent).is_some(), is_unsent, "{code} {message}");
        }
    }
}
