//! What closes a turn that nobody ended (`docs/spec/surface.md`, section 8).
//!
//! A log whose last turn has no end is *open*. The events that balance it are a function of the log and of the cause
//! alone, so that dsh, which appends them, and a reader, who only wants to see what they would be, get the same ones.

use std::collections::{BTreeMap, HashMap};

use dshlog_codec::check::EventType;
use dshlog_codec::json::{Fields, Js, JsString, Tree};
use dshlog_codec::{Event, Millis, Seq};

use crate::new_event::NewEvent;

/// Why a turn is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Its process ended; another one goes on with the session.
    Interrupted,
    /// A session was forked in the middle of it.
    Forked,
}

impl Cause {
    /// The word in `turn/end` and in the ids of results.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Interrupted => "interrupted",
            Cause::Forked => "forked",
        }
    }

    /// What the model is told of a call that has no result. These texts are part of the format: a reader knows results of
    /// forks by them.
    fn text(self, started: bool) -> &'static str {
        match (self, started) {
            (Cause::Interrupted, false) => {
                "The tool call was interrupted before the Harness recorded it as started. Retry it if it is still needed."
            }
            (Cause::Interrupted, true) => {
                "The tool call was interrupted after it was recorded, but no result was durably recorded. Its outcome is unknown. Decide whether to retry from the tool semantics: retry only if the operation is read-only or idempotent; if it may have side effects, first verify external state or ask the user. Do not retry blindly."
            }
            (Cause::Forked, false) => {
                "The history inherited by this branch has no record of this tool call starting. The parent session may have executed it after the fork point. Decide whether to retry from the tool semantics: retry only if the operation is read-only or idempotent; if it may have side effects, first verify external state or ask the user. Do not retry blindly."
            }
            (Cause::Forked, true) => {
                "The history inherited by this branch records this tool call starting but does not include its result. The parent session may have completed it after the fork point. Decide whether to retry from the tool semantics: retry only if the operation is read-only or idempotent; if it may have side effects, first verify external state or ask the user. Do not retry blindly."
            }
        }
    }
}

/// What is open at the end of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Open {
    /// The turn that has no end.
    pub turn: u64,
    /// Its step that has no end.
    pub step: Option<u64>,
    /// Calls of that step that the model made and no tool is known to have begun.
    pub not_started: u64,
    /// Calls of that step that a tool began, with no result: what they did is unknown.
    pub unknown: u64,
}

impl Open {
    /// Number of events that close it.
    pub fn closers(self) -> u64 {
        self.not_started + self.unknown + u64::from(self.step.is_some()) + 1
    }
}

/// Follows the turns, steps and calls of a log that passed the checks, or of a prefix of one.
///
/// Holds the calls of the open step that have no result, and nothing else.
#[derive(Clone, Debug, Default)]
pub struct OpenTail {
    turn: Option<u64>,
    step: Option<u64>,
    calls: Calls,
}

impl OpenTail {
    /// Nothing is open.
    pub fn new() -> Self {
        Self::default()
    }

    /// Fold the next event.
    pub fn see(&mut self, event: &Event<'_>) {
        let number = |name| event.member(name).and_then(Js::as_count);
        match EventType::of(event.kind) {
            Some(EventType::TurnStart) => *self = OpenTail { turn: number("turn"), ..OpenTail::new() },
            Some(EventType::TurnEnd) => *self = OpenTail::new(),
            Some(EventType::StepStart) => self.step = number("step"),
            Some(EventType::StepEnd) => {
                self.step = None;
                self.calls = Calls::default();
            }
            Some(EventType::AssistantMessage) => self.calls.advertise(event),
            Some(EventType::ToolCall) => self.calls.start(event),
            // A replacement is no answer to a call.
            Some(EventType::ToolResult) if event.surface_op().is_some_and(|op| op.is("append")) => {
                self.calls.settle(event);
            }
            _ => {}
        }
    }

    /// What is open now.
    pub fn open(&self) -> Option<Open> {
        let calls = self.calls.pending.values();
        let (mut not_started, mut unknown) = (0, 0);
        for call in calls {
            *if call.seq.is_some() { &mut unknown } else { &mut not_started } += 1;
        }
        Some(Open { turn: self.turn?, step: self.step, not_started, unknown })
    }

    /// The events that close it, the first with seq `next`, all with this time. None when nothing is open.
    ///
    /// Calls of steps that have ended stay without a result, and open compactions, retries and approvals stay open.
    pub fn closers(&self, cause: Cause, next: Seq, time: Millis) -> Vec<NewEvent> {
        let Some(turn) = self.turn else { return Vec::new() };
        let calls = self.calls.pending.values();
        let mut closers: Vec<NewEvent> =
            (next.0..).zip(calls).map(|(seq, call)| call.result(cause, Seq(seq), time)).collect();
        let turn = || Fields::new().with("turn", Tree::integer(turn));
        let mut close = |kind, data| {
            let seq = Seq(next.0 + closers.len() as u64);
            closers.push(NewEvent::new(kind, seq, time, data));
        };
        if let Some(step) = self.step {
            close("step/end", turn().with("step", Tree::integer(step)));
        }
        close("turn/end", turn().with("reason", Fields::new().with("kind", Tree::string(cause.name()))));
        closers
    }
}

/// The calls of the open step without a result, in the order in which the model made them.
#[derive(Clone, Debug, Default)]
struct Calls {
    pending: BTreeMap<u64, Call>,
    /// Where a call stands in that order.
    places: HashMap<JsString, u64>,
    made: u64,
}

#[derive(Clone, Debug)]
struct Call {
    id: JsString,
    turn: Option<u64>,
    step: Option<u64>,
    /// The event that says that a tool began it.
    seq: Option<Seq>,
}

impl Calls {
    /// The calls that a message of the model makes.
    fn advertise(&mut self, event: &Event<'_>) {
        let number = |name| event.member(name).and_then(Js::as_count);
        let content = event.member("message").and_then(|message| message.get("content"));
        for block in content.into_iter().flat_map(Js::elements) {
            let Some(id) = block.get("id").and_then(Js::as_str) else { continue };
            if !block.get("type").is_some_and(|kind| kind.is("tool-call")) {
                continue;
            }
            let id = id.to_owned();
            // An id that is made again keeps its place, as in a JavaScript map.
            let place = *self.places.entry(id.clone()).or_insert(self.made);
            self.made += 1;
            self.pending.insert(place, Call { id, turn: number("turn"), step: number("step"), seq: None });
        }
    }

    fn start(&mut self, event: &Event<'_>) {
        if let Some(call) = self.of(event.member("callId")) {
            call.seq = Some(event.seq);
        }
    }

    fn settle(&mut self, event: &Event<'_>) {
        let number = |name| event.member(name).and_then(Js::as_count);
        let source = event.member("message").and_then(|message| message.get("source"));
        let is_here = |call: &mut Call| (call.turn, call.step) == (number("turn"), number("step"));
        if let Some(call) = self.of(source.and_then(|source| source.get("callId")))
            && is_here(call)
        {
            let id = call.id.clone();
            if let Some(place) = self.places.remove(&id) {
                self.pending.remove(&place);
            }
        }
    }

    fn of(&mut self, id: Option<Js<'_>>) -> Option<&mut Call> {
        let place = self.places.get(&id?.as_str()?.to_owned())?;
        self.pending.get_mut(place)
    }
}

impl Call {
    /// The result that says that there is none.
    fn result(&self, cause: Cause, seq: Seq, time: Millis) -> NewEvent {
        let number = |number: Option<u64>| number.map_or_else(|| Tree::Text("null".into()), Tree::integer);
        let (name, code) = match self.seq {
            None => ("ToolNotStartedError", "TOOL_NOT_STARTED"),
            Some(_) => ("ToolOutcomeUnknownError", "TOOL_OUTCOME_UNKNOWN"),
        };
        let text = cause.text(self.seq.is_some());
        let block = Fields::new().with("type", Tree::string("text")).with("text", Tree::string(text));
        let source =
            Fields::new().with("kind", Tree::string("tool")).with("callId", Tree::js_string(&self.id));
        let message = Fields::new()
            .with("id", Tree::js_string(&self.message_id(cause, seq)))
            .with("role", Tree::string("tool"))
            .with("toolCallId", Tree::js_string(&self.id))
            .with("isError", Tree::bool(true))
            .with("source", source)
            .with("content", Tree::Array(vec![block.into()]));
        let error = Fields::new().with("name", Tree::string(name)).with("code", Tree::string(code));
        let data = Fields::new()
            .with("turn", number(self.turn))
            .with("step", number(self.step))
            .with("message", message)
            .with("error", error);
        NewEvent::appended("tool/result", seq, time, data, self.seq)
    }

    fn message_id(&self, cause: Cause, seq: Seq) -> JsString {
        let (front, back) = (format!("{}-tool-result-", cause.name()), format!("-{seq}"));
        JsString::from_units(front.encode_utf16().chain(self.id.units()).chain(back.encode_utf16()))
    }
}

#[cfg(test)]
mod tests;
