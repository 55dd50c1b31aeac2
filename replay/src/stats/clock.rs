//! How long steps and tools took, as dsh measures it (`docs/spec/surface.md`, section 10.6).
//!
//! [`StepClock`] measures one step after the other; [`SessionStats`] is the sum that dsh itself shows, the projection
//! `sessionStats`.

use std::collections::HashMap;

use dshlog_codec::json::{Js, JsString};
use dshlog_codec::pack::DeltaKind;
use dshlog_codec::{Event, Millis};

/// The times of a step that was answered. All spans are milliseconds, never below 0 whatever the clock of the writer did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// From the step's start to the answer: attempts that failed and the waits between them are in it.
    pub model_ms: u64,
    /// From the step's start to the first token, be it one of a failed attempt; nothing when no token came.
    pub first_token_ms: Option<u64>,
    /// From the first token to the answer, and the output tokens of the answer, when both are known.
    pub decode: Option<(u64, u64)>,
}

/// Measures steps. Holds the open one, nothing else.
#[derive(Clone, Debug, Default)]
pub struct StepClock {
    step: Option<OpenStep>,
}

#[derive(Clone, Copy, Debug)]
struct OpenStep {
    turn: Option<u64>,
    step: Option<u64>,
    start: Millis,
    first_token: Option<Millis>,
}

impl OpenStep {
    fn is_of(&self, event: &Event<'_>) -> bool {
        (self.turn, self.step) == (count(event, "turn"), count(event, "step"))
    }
}

impl StepClock {
    /// Take in one event; an answer comes out complete.
    pub fn see(&mut self, event: &Event<'_>) -> Option<Answer> {
        match &*event.kind.to_lossy() {
            "step/start" => {
                let (turn, step) = (count(event, "turn"), count(event, "step"));
                self.step = Some(OpenStep { turn, step, start: event.time, first_token: None });
            }
            "assistant/attempt" => {
                let open = self.step.as_mut().filter(|open| open.is_of(event))?;
                open.first_token = open.first_token.or_else(|| first_token(event.member("stream")));
            }
            "assistant/message" => {
                let open = self.step.take_if(|open| open.is_of(event))?;
                let first = open.first_token.or_else(|| first_token(event.member("stream")));
                let tokens = || event.member("usage")?.get("outputTokens")?.as_count();
                return Some(Answer {
                    model_ms: span(open.start, event.time),
                    first_token_ms: first.map(|first| span(open.start, first)),
                    decode: first.and_then(|first| Some((span(first, event.time), tokens()?))),
                });
            }
            "step/end" => self.step = None,
            _ => {}
        }
        None
    }
}

/// The totals that dsh shows of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SessionTotals {
    /// Turns in which a step ended.
    pub turns: u64,
    /// Steps that ended.
    pub steps: u64,
    /// Milliseconds from the start of steps to their answers.
    pub llm_ms: u64,
    /// Milliseconds from tool calls to their results.
    pub tool_ms: u64,
    /// Milliseconds from the start of steps to their first tokens.
    pub ttft_ms: u64,
    /// Steps with a first token.
    pub ttft_steps: u64,
    /// Milliseconds from first tokens to answers, of steps that tell their output tokens.
    pub decode_ms: u64,
    /// Output tokens of these steps.
    pub decode_tokens: u64,
}

/// The projection `sessionStats`. Inherited events count here as any other. Holds the open step and the calls without a
/// result.
#[derive(Clone, Debug, Default)]
pub struct SessionStats {
    totals: SessionTotals,
    clock: StepClock,
    calls: HashMap<JsString, Millis>,
    last_turn: Option<u64>,
}

impl SessionStats {
    /// The totals so far.
    pub fn totals(&self) -> SessionTotals {
        self.totals
    }

    /// Take in one event.
    pub fn see(&mut self, event: &Event<'_>) {
        let totals = &mut self.totals;
        if let Some(answer) = self.clock.see(event) {
            totals.llm_ms += answer.model_ms;
            if let Some(ms) = answer.first_token_ms {
                totals.ttft_ms += ms;
                totals.ttft_steps += 1;
            }
            if let Some((ms, tokens)) = answer.decode {
                totals.decode_ms += ms;
                totals.decode_tokens += tokens;
            }
        }
        match &*event.kind.to_lossy() {
            "tool/call" => {
                let id = event.member("callId").and_then(Js::as_str);
                self.calls.extend(id.map(|id| (id.to_owned(), event.time)));
            }
            "tool/result" => {
                let start = call_id(event).and_then(|id| self.calls.remove(&id));
                totals.tool_ms += start.map_or(0, |start| span(start, event.time));
            }
            "step/end" => {
                let turn = count(event, "turn");
                totals.turns += u64::from(self.last_turn.is_none() || self.last_turn != turn);
                totals.steps += 1;
                self.last_turn = turn;
            }
            "turn/end" => self.calls.clear(),
            _ => {}
        }
    }
}

/// When the first token of a stream came: of text, reasoning or arguments the first piece that is not empty, or the
/// first piece of a tool call that has the tool's name.
fn first_token(stream: Option<Js<'_>>) -> Option<Millis> {
    stream?.elements().find_map(|record| {
        let tag = record.get("type")?.as_str()?;
        let Some(kind) = DeltaKind::of_tag(tag) else {
            let chunk = record.get("chunk")?;
            let time = Millis(record.get("time")?.as_safe_integer()?);
            return is_token(chunk).then_some(time);
        };
        let mut time = record.get("time0")?.as_safe_integer()?;
        let is_call = kind == DeltaKind::ToolCall;
        if is_call && record.get("name").is_some() {
            return Some(Millis(time));
        }
        let texts = record.get(if is_call { "args" } else { "texts" })?;
        let mut gaps = record.get("dt").into_iter().flat_map(Js::elements);
        for text in texts.elements() {
            if !text.is("") {
                return Some(Millis(time));
            }
            time = time.saturating_add(gaps.next().and_then(Js::as_safe_integer).unwrap_or(0));
        }
        None
    })
}

/// True for a chunk, stored as it is, that brings a token.
fn is_token(chunk: Js<'_>) -> bool {
    let Some(kind) = chunk.get("type").and_then(Js::as_str).and_then(DeltaKind::of_chunk) else {
        return false;
    };
    let text = match kind {
        DeltaKind::Text | DeltaKind::Reasoning => chunk.get("text"),
        DeltaKind::ToolCall if chunk.get("name").is_some() => return true,
        DeltaKind::ToolCall => chunk.get("argumentsDelta"),
    };
    text.is_some_and(|text| !text.is(""))
}

/// The call that a result answers.
pub(super) fn call_id(event: &Event<'_>) -> Option<JsString> {
    Some(event.data?.path(&["message", "source", "callId"])?.as_str()?.to_owned())
}

/// A member of the payload that is a count.
pub(super) fn count(event: &Event<'_>, name: &str) -> Option<u64> {
    event.member(name).and_then(Js::as_count)
}

/// Milliseconds from one time to another; 0 when the clock went back.
pub(super) fn span(from: Millis, to: Millis) -> u64 {
    u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::Log;
    use super::*;

    fn totals(log: &Log) -> [u64; 8] {
        let mut stats = SessionStats::default();
        log.each(|event| stats.see(event));
        let SessionTotals { turns, steps, llm_ms, tool_ms, .. } = stats.totals();
        let SessionTotals { ttft_ms, ttft_steps, decode_ms, decode_tokens, .. } = stats.totals();
        [turns, steps, llm_ms, tool_ms, ttft_ms, ttft_steps, decode_ms, decode_tokens]
    }

    /// The vector of `docs/spec/surface.md`, 11.5.
    #[test]
    fn the_worked_example() {
        let mut log = Log::default();
        log.at(100).tell("turn/start", r#"{"turn":1}"#);
        log.at(110).tell("step/start", r#"{"turn":1,"step":1}"#);
        log.at(120).tell(
            "assistant/attempt",
            r#"{"turn":1,"step":1,"stream":[{"type":"text-chunks","time0":115,"index":0,"dt":[2],"texts":["","a"]}]}"#,
        );
        log.at(150)
            .tell("assistant/message", r#"{"turn":1,"step":1,"usage":{"outputTokens":7},"stream":[]}"#);
        log.at(151).tell("tool/call", r#"{"callId":"c","name":"t"}"#);
        log.at(181).tell("tool/result", r#"{"message":{"source":{"callId":"c"}}}"#);
        log.at(182).tell("step/end", r#"{"turn":1,"step":1}"#);
        log.at(190).tell("step/start", r#"{"turn":1,"step":2}"#);
        log.at(200).tell(
            "assistant/message",
            r#"{"turn":1,"step":2,"stream":[{"type":"reasoning-chunks","time0":196,"index":0,"dt":[],"texts":[" "]}]}"#,
        );
        log.at(201).tell("step/end", r#"{"turn":1,"step":2}"#);
        log.at(202).tell("turn/end", r#"{"turn":1}"#);
        log.tell("turn/start", r#"{"turn":2}"#).tell("turn/end", r#"{"turn":2}"#);
        log.tell("turn/start", r#"{"turn":3}"#).tell("step/start", r#"{"turn":3,"step":1}"#);
        log.tell("tool/call", r#"{"callId":"d","name":"t"}"#);
        log.tell("step/end", r#"{"turn":3,"step":1}"#).tell("turn/end", r#"{"turn":3}"#);
        log.at(300).tell("tool/result", r#"{"message":{"source":{"callId":"d"}}}"#);
        assert_eq!(totals(&log), [2, 3, 50, 30, 13, 2, 33, 7]);
    }

    #[track_caller]
    fn check(stream: &str, expected: Option<i64>) {
        let doc = dshlog_codec::json::Doc::parse(stream).unwrap();
        assert_eq!(first_token(Some(doc.root())).map(|time| time.0), expected, "{stream}");
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

    /// Clocks go back; nothing is counted below 0, and nothing that lies outside its step.
    #[test]
    fn odd_times_and_strangers() {
        let mut log = Log::default();
        log.at(100).tell("step/start", r#"{"turn":1,"step":1}"#);
        log.at(90).tell("assistant/message", r#"{"turn":1,"step":2}"#);
        log.at(90).tell(
            "assistant/message",
            r#"{"turn":1,"step":1,"stream":[{"type":"text-chunks","time0":80,"index":0,"dt":[],"texts":["a"]}]}"#,
        );
        log.at(500).tell("assistant/message", r#"{"turn":1,"step":1}"#);
        log.tell("tool/result", r#"{"message":{"source":{"callId":"never"}}}"#);
        log.tell("tool/result", "{}");
        assert_eq!(totals(&log), [0, 0, 0, 0, 0, 1, 0, 0]);
    }
}
