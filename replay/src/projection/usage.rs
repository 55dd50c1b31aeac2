//! Times, tokens and retries (`docs/spec/surface.md`, 10.6 and 10.7). Sums are doubles, as JavaScript adds them.

use dshlog_codec::Event;
use dshlog_codec::check::EventType;
use dshlog_codec::json::{Js, Tree};

use super::value::{Kept, count, count_or_null, null, number, object, record};
use super::{Fold, Start};
use crate::stream::{exact_first_token, usage};

#[derive(Debug, Default)]
struct SessionStats {
    turns: u64,
    steps: u64,
    llm_ms: f64,
    tool_ms: f64,
    ttft_ms: f64,
    ttft_steps: u64,
    decode_ms: f64,
    decode_tokens: f64,
    last_turn: Option<u64>,
    open_step: Option<OpenStep>,
    /// Calls without a result: id, and time of the call.
    pending: Vec<(Kept, f64)>,
}

#[derive(Clone, Copy, Debug)]
struct OpenStep {
    turn: u64,
    step: u64,
    start: f64,
    first_token: Option<f64>,
}

pub(super) fn session_stats(_: &Start<'_>) -> Box<dyn Fold> {
    Box::<SessionStats>::default()
}

impl Fold for SessionStats {
    fn see(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), String> {
        let time = time(event);
        let step = || count(event.data, "turn").zip(count(event.data, "step"));
        match kind {
            Some(EventType::StepStart) => {
                if let Some((turn, step)) = step() {
                    self.open_step = Some(OpenStep { turn, step, start: time, first_token: None });
                }
            }
            Some(EventType::AssistantAttempt) => {
                if let Some(open) =
                    self.open_step.as_mut().filter(|open| Some((open.turn, open.step)) == step())
                {
                    open.first_token = open.first_token.or_else(|| exact_first_token(event));
                }
            }
            Some(EventType::AssistantMessage) => {
                let open = self.open_step.take_if(|open| Some((open.turn, open.step)) == step());
                if let Some(open) = open {
                    self.answered(event, open, time);
                }
            }
            Some(EventType::ToolCall) => {
                if let Some(id) = event.member("callId").map(Kept::of) {
                    match self.pending.iter_mut().find(|(pending, _)| *pending == id) {
                        Some((_, since)) => *since = time,
                        None => self.pending.push((id, time)),
                    }
                }
            }
            Some(EventType::ToolResult) => {
                let id =
                    event.data.and_then(|data| data.path(&["message", "source", "callId"])).map(Kept::of);
                if let Some(at) = self.pending.iter().position(|(pending, _)| Some(pending) == id.as_ref()) {
                    let (_, since) = self.pending.remove(at);
                    self.tool_ms += (time - since).max(0.0);
                }
            }
            Some(EventType::StepEnd) => {
                let turn = count(event.data, "turn");
                self.turns += u64::from(self.last_turn != turn);
                self.steps += 1;
                self.last_turn = turn;
                self.open_step = None;
            }
            Some(EventType::TurnEnd) => self.pending.clear(),
            _ => {}
        }
        Ok(())
    }

    fn state(&self) -> Tree<'static> {
        let open = self.open_step.map_or_else(null, |open| {
            object([
                ("turn", Tree::integer(open.turn)),
                ("step", Tree::integer(open.step)),
                ("startTime", number(open.start)),
                ("firstTokenTime", open.first_token.map_or_else(null, number)),
            ])
        });
        let pending = record(self.pending.iter().map(|(id, since)| (id, number(*since))));
        let mut state = self.totals();
        if let Some(fields) = state.open() {
            fields.set("lastTurn", count_or_null(self.last_turn));
            fields.set("openStep", open);
            fields.set("pendingCalls", pending);
        }
        state
    }

    fn view(&self) -> Option<Tree<'static>> {
        Some(self.totals())
    }
}

impl SessionStats {
    fn answered(&mut self, event: &Event<'_>, open: OpenStep, time: f64) {
        self.llm_ms += (time - open.start).max(0.0);
        let Some(first) = open.first_token.or_else(|| exact_first_token(event)) else { return };
        self.ttft_ms += (first - open.start).max(0.0);
        self.ttft_steps += 1;
        let tokens = event.member("usage").and_then(|usage| usage.get("outputTokens")).and_then(Js::as_f64);
        if let Some(tokens) = tokens.filter(|tokens| tokens.is_finite() && *tokens >= 0.0) {
            self.decode_ms += (time - first).max(0.0);
            self.decode_tokens += tokens;
        }
    }

    fn totals(&self) -> Tree<'static> {
        object([
            ("turns", Tree::integer(self.turns)),
            ("steps", Tree::integer(self.steps)),
            ("llmMs", number(self.llm_ms)),
            ("toolMs", number(self.tool_ms)),
            ("ttftMs", number(self.ttft_ms)),
            ("ttftSteps", Tree::integer(self.ttft_steps)),
            ("decodeMs", number(self.decode_ms)),
            ("decodeTokens", number(self.decode_tokens)),
        ])
    }
}

#[expect(clippy::cast_precision_loss, reason = "times are safe integers")]
fn time(event: &Event<'_>) -> f64 {
    event.time.0 as f64
}

/// Uncached input, output, cache read, cache write.
type Buckets = [f64; 4];

#[derive(Debug, Default)]
struct TokenUsage {
    totals: Buckets,
    /// What the last settled attempt added: a later one of the same turn and step takes its place.
    last: Option<(u64, u64, Buckets)>,
}

pub(super) fn token_usage(_: &Start<'_>) -> Box<dyn Fold> {
    Box::<TokenUsage>::default()
}

impl Fold for TokenUsage {
    fn see(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), String> {
        let Some((turn, step)) = count(event.data, "turn").zip(count(event.data, "step")) else {
            return Ok(());
        };
        match kind {
            Some(EventType::RetryStarted) => {
                self.last.take_if(|last| (last.0, last.1) == (turn, step));
            }
            Some(EventType::AssistantMessage | EventType::AssistantAttempt) => {
                let Some(buckets) = usage(event).and_then(buckets) else { return Ok(()) };
                let replaced = self.last.filter(|last| (last.0, last.1) == (turn, step));
                let replaced = replaced.map_or([0.0; 4], |last| last.2);
                for ((total, before), now) in self.totals.iter_mut().zip(replaced).zip(buckets) {
                    *total = *total - before + now;
                }
                self.last = Some((turn, step, buckets));
            }
            _ => {}
        }
        Ok(())
    }

    fn state(&self) -> Tree<'static> {
        let last = self.last.map_or_else(null, |(turn, step, buckets)| {
            object([
                ("turn", Tree::integer(turn)),
                ("step", Tree::integer(step)),
                ("buckets", buckets_tree(buckets)),
            ])
        });
        object([("totals", buckets_tree(self.totals)), ("last", last)])
    }

    fn view(&self) -> Option<Tree<'static>> {
        Some(buckets_tree(self.totals))
    }
}

fn buckets(usage: Js<'_>) -> Option<Buckets> {
    let number = |name| usage.get(name)?.as_f64();
    // Absent or null.
    let optional = |name| match usage.get(name) {
        Some(value) if !value.is_null() => value.as_f64(),
        _ => Some(0.0),
    };
    Some([
        number("inputTokens")?,
        number("outputTokens")?,
        optional("cacheReadTokens")?,
        optional("cacheWriteTokens")?,
    ])
}

fn buckets_tree([input, output, read, write]: Buckets) -> Tree<'static> {
    object([
        ("uncachedInputTokens", number(input)),
        ("outputTokens", number(output)),
        ("cacheReadTokens", number(read)),
        ("cacheWriteTokens", number(write)),
    ])
}

/// The retries of a step: by provider and policy, number and id of the last one.
#[derive(Debug, Default)]
struct LlmRetry(Vec<(Kept, Kept, Kept)>);

pub(super) fn llm_retry(_: &Start<'_>) -> Box<dyn Fold> {
    Box::<LlmRetry>::default()
}

impl Fold for LlmRetry {
    fn see(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), String> {
        match kind {
            Some(EventType::StepStart | EventType::TurnEnd) => self.0.clear(),
            Some(EventType::Retry) => {
                let member = |name| event.member(name).map(Kept::of);
                let (Some(retry), Some(id)) = (member("retry"), member("retryId")) else { return Ok(()) };
                let text =
                    |name| member(name).map_or_else(|| "null".to_owned(), |kept| kept.text().to_owned());
                let key = format!("[{},{}]", text("provider"), text("policyKey"));
                let key = Kept::string(&dshlog_codec::json::JsString::from_units(key.encode_utf16()));
                match self.0.iter_mut().find(|entry| entry.0 == key) {
                    Some(entry) => (entry.1, entry.2) = (retry, id),
                    None => self.0.push((key, retry, id)),
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn state(&self) -> Tree<'static> {
        let entry =
            |(_, retry, id): &(Kept, Kept, Kept)| object([("retry", retry.tree()), ("retryId", id.tree())]);
        record(self.0.iter().map(|retry| (&retry.0, entry(retry))))
    }

    fn view(&self) -> Option<Tree<'static>> {
        None
    }
}
