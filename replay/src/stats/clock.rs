//! How long steps and tools took, as dsh measures it (`docs/spec/surface.md`, section 10.6).
//!
//! The sum that dsh itself shows is the projection `sessionStats`.

use dshlog_codec::json::{Js, JsString};
use dshlog_codec::{Event, Millis};

use crate::stream::first_token;

/// The times of a step that was answered. All spans are milliseconds, never below 0 whatever the clock of the writer did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    /// From the step's start to the answer: attempts that failed and the waits between them are in it.
    pub(super) model_ms: u64,
    /// From the step's start to the first token, be it one of a failed attempt; nothing when no token came.
    pub(super) first_token_ms: Option<u64>,
    /// From the first token to the answer, and the output tokens of the answer, when both are known.
    pub(super) decode: Option<(u64, u64)>,
}

/// Measures steps. Holds the open one, nothing else.
#[derive(Clone, Debug, Default)]
pub(super) struct StepClock {
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
    pub(super) fn see(&mut self, event: &Event<'_>) -> Option<Answer> {
        match &*event.kind.to_lossy() {
            "step/start" => {
                let (turn, step) = (count(event, "turn"), count(event, "step"));
                self.step = Some(OpenStep { turn, step, start: event.time, first_token: None });
            }
            "assistant/attempt" => {
                let open = self.step.as_mut().filter(|open| open.is_of(event))?;
                open.first_token = open.first_token.or_else(|| first_token(event));
            }
            "assistant/message" => {
                let open = self.step.take_if(|open| open.is_of(event))?;
                let first = open.first_token.or_else(|| first_token(event));
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

    /// Sums over all answers: model, first token and how many have one, decoding and the tokens of it.
    fn sums(log: &Log) -> [u64; 5] {
        let mut clock = StepClock::default();
        let mut sums = [0; 5];
        log.each(|event| {
            let Some(answer) = clock.see(event) else { return };
            let (decode_ms, tokens) = answer.decode.unwrap_or_default();
            let first = answer.first_token_ms;
            let more = [answer.model_ms, first.unwrap_or(0), u64::from(first.is_some()), decode_ms, tokens];
            sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        });
        sums
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
        log.at(182).tell("step/end", r#"{"turn":1,"step":1}"#);
        log.at(190).tell("step/start", r#"{"turn":1,"step":2}"#);
        log.at(200).tell(
            "assistant/message",
            r#"{"turn":1,"step":2,"stream":[{"type":"reasoning-chunks","time0":196,"index":0,"dt":[],"texts":[" "]}]}"#,
        );
        log.at(201).tell("step/end", r#"{"turn":1,"step":2}"#);
        assert_eq!(sums(&log), [50, 13, 2, 33, 7]);
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
        assert_eq!(sums(&log), [0, 0, 1, 0, 0]);
    }
}
