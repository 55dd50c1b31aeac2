//! What a log cost and how it went: tokens, requests, failures, tools, turns, times.
//!
//! [`Fold`] takes the V4 events of one log in a single walk and gives [`LogStats`]: counters for each day and model. It
//! counts what the session itself did. What it inherited from a parent belongs to the parent, and is never counted here,
//! whether or not the parent is at hand.
//!
//! A request is counted where it was settled, a turn where it began, a tool call where it was made. Every request that
//! was settled counts, also each failed attempt of a step. The projection `tokenUsage` of dsh counts less: there an
//! attempt takes the place of an earlier one of the same step unless a retry was started between them
//! (`docs/spec/surface.md`, section 10.7 and P-29).
//!
//! Not for: judging a log (`dshlog_codec::check`), prices, calendars.

mod clock;
mod counters;
mod spread;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::{BTreeMap, HashMap};

use dshlog_codec::json::{Js, JsString};
use dshlog_codec::{Event, Millis};

use crate::stream;

pub use counters::{Counters, Named, Requests, Tokens, ToolCounters};
pub use spread::Spread;

use clock::{Answer, StepClock, call_id, span};

/// A day of the reader's calendar: days since 1970-01-01 there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(pub i32);

/// A model as a request names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Model {
    /// Who serves it.
    pub provider: String,
    /// Its name there.
    pub name: String,
}

impl Model {
    /// Out of an object with `provider` and `model`.
    fn of(object: Option<Js<'_>>) -> Option<Model> {
        let text = |name| Some(object?.get(name)?.as_str()?.to_lossy().into_owned());
        Some(Model { provider: text("provider")?, name: text("model")? })
    }
}

/// What counters are kept apart by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The day.
    pub day: Day,
    /// The model; nothing as long as the log names none.
    pub model: Option<Model>,
}

/// What one log amounts to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogStats {
    /// Counters by day and model.
    pub cells: BTreeMap<Key, Counters>,
    /// Events that came from a parent, and were not counted.
    pub inherited: u64,
}

/// Counts the events of one log. `D` gives the day of a moment; nothing for one that is not asked for, of which nothing is
/// counted.
///
/// Holds the counters, and the turn and the calls that are open.
#[derive(Debug)]
pub struct Fold<D> {
    day: D,
    stats: LogStats,
    /// The model that the last request header names. A child goes on with that of its parent.
    model: Option<Model>,
    clock: StepClock,
    turn: Option<Turn>,
    calls: HashMap<JsString, Call>,
    /// Calls that programs made. One may end in a later turn.
    nested: HashMap<JsString, Call>,
}

#[derive(Debug)]
struct Turn {
    day: Option<Day>,
    start: Millis,
}

#[derive(Debug)]
struct Call {
    /// Where it is counted.
    key: Option<Key>,
    name: String,
    start: Millis,
    is_nested: bool,
}

/// How a call ended.
enum CallEnd {
    /// With a result, or with an error.
    Result { at: Millis, is_error: bool },
    /// Nobody knows how.
    CutOff,
    /// It never ran.
    NotStarted,
}

impl<D: FnMut(Millis) -> Option<Day>> Fold<D> {
    /// A fold from the start of a log.
    pub fn new(day: D) -> Self {
        Fold {
            day,
            stats: LogStats::default(),
            model: None,
            clock: StepClock::default(),
            turn: None,
            calls: HashMap::new(),
            nested: HashMap::new(),
        }
    }

    /// Take in one event. Of one that is not as its producer writes it, what can be read is counted.
    pub fn see(&mut self, event: &Event<'_>) {
        let answer = self.clock.see(event);
        match &*event.kind.to_lossy() {
            "session/end-seed" if event.member("inherited").is_some_and(Js::is_true) => self.cut(event),
            "turn/start" => self.turn_start(event),
            "turn/end" => self.turn_end(event),
            "step/end" => self.here(event, |counters| counters.steps += 1),
            "request/header" => {
                let config = event.member("header").and_then(|header| header.get("config"));
                self.model = Model::of(config).or(self.model.take());
            }
            "assistant/message" => self.answer(event, answer),
            "assistant/attempt" => self.attempt(event),
            "llm/retry-started" => self.here(event, |counters| counters.retries += 1),
            "tool/call" => self.call(event, "callId"),
            "tool/ptc-dispatch-start" => self.call(event, "subCallId"),
            "tool/result" => self.result(event),
            "tool/ptc-dispatch" => self.nested_result(event),
            "session/title-llm-request" => {
                self.request(event, event.member("route"), None, |requests| requests.titles += 1);
            }
            "web/deepseek-search-llm-request" => {
                // The body names the model, and nobody the provider.
                let model = event.data.and_then(|data| data.path(&["body", "model"])?.as_str());
                let provider = self.model.as_ref().map_or(String::new(), |model| model.provider.clone());
                let model = model.map(|model| Model { provider, name: model.to_lossy().into_owned() });
                let model = model.or_else(|| self.model.clone());
                self.request_of(event, model, None, |requests| requests.searches += 1);
            }
            "compaction/summary" => {
                let usage = stream::usage(event);
                // A summary can be made without a model.
                if usage.is_some() || event.member("llmStreamCall").is_some_and(Js::is_true) {
                    self.request(event, event.data, usage, |requests| requests.compactions += 1);
                }
            }
            "compaction/end" if event.member("error").is_some() => {
                self.here(event, |counters| counters.failed_compactions += 1);
            }
            _ => {}
        }
    }

    /// The log ends here.
    pub fn finish(mut self) -> LogStats {
        self.give_up_calls();
        for call in std::mem::take(&mut self.nested).into_values() {
            self.settle(call, &CallEnd::CutOff);
        }
        if let Some(Turn { day: Some(day), .. }) = self.turn {
            let key = Key { day, model: self.model.take() };
            let counters = self.stats.cells.entry(key).or_default();
            counters.turns += 1;
            counters.open_turns += 1;
        }
        self.stats
    }

    /// Everything so far was inherited. Of several such marks the last one counts.
    fn cut(&mut self, event: &Event<'_>) {
        self.stats = LogStats { inherited: event.seq.0, ..LogStats::default() };
        self.clock = StepClock::default();
        self.turn = None;
        self.calls.clear();
        self.nested.clear();
    }

    /// Count at the time of this event, for the model in use.
    fn here(&mut self, event: &Event<'_>, count: impl FnOnce(&mut Counters)) {
        let model = self.model.clone();
        self.at(event, model, count);
    }

    fn at(&mut self, event: &Event<'_>, model: Option<Model>, count: impl FnOnce(&mut Counters)) {
        let Some(day) = (self.day)(event.time) else { return };
        let counters = self.stats.cells.entry(Key { day, model }).or_default();
        counters.see(event.time.0);
        count(counters);
    }

    fn turn_start(&mut self, event: &Event<'_>) {
        self.turn = Some(Turn { day: (self.day)(event.time), start: event.time });
    }

    fn turn_end(&mut self, event: &Event<'_>) {
        self.give_up_calls();
        let reason = event.member("reason");
        let kind = text(reason, "kind").unwrap_or_else(|| "unknown".to_owned());
        let Some(turn) = self.turn.take() else {
            // Only a fork ends what it did not begin.
            self.here(event, |counters| *counters.outcomes.entry(kind).or_default() += 1);
            return;
        };
        let Some(day) = turn.day else { return };
        let key = Key { day, model: self.model.clone() };
        let counters = self.stats.cells.entry(key).or_default();
        counters.turns += 1;
        counters.turn_time.add(span(turn.start, event.time));
        counters.see(turn.start.0);
        if kind == "error" {
            let code = text(reason.and_then(|reason| reason.get("error")), "code");
            *counters.turn_errors.entry(code.unwrap_or_else(|| "UNKNOWN".to_owned())).or_default() += 1;
        }
        *counters.outcomes.entry(kind).or_default() += 1;
    }

    fn answer(&mut self, event: &Event<'_>, times: Option<Answer>) {
        let source = event.data.and_then(|data| data.path(&["message", "source"]));
        let model = Model::of(source).or_else(|| self.model.clone());
        self.request_of(event, model.clone(), stream::usage(event), |requests| requests.answers += 1);
        let interrupted = event.member("interrupted").is_some_and(Js::is_true);
        self.at(event, model, |counters| {
            counters.interrupted += u64::from(interrupted);
            let Some(times) = times else { return };
            counters.model_time.add(times.model_ms);
            if let Some(ms) = times.first_token_ms {
                counters.first_token.add(ms);
            }
            if let Some((ms, tokens)) = times.decode {
                counters.decode_ms = counters.decode_ms.saturating_add(ms);
                counters.decode_tokens = counters.decode_tokens.saturating_add(tokens);
            }
        });
    }

    fn attempt(&mut self, event: &Event<'_>) {
        let code = match stream::end(event) {
            None => "cut-off".to_owned(),
            Some(reason) => text(reason.get("failure"), "code")
                .or_else(|| text(Some(reason), "kind"))
                .unwrap_or_else(|| "UNKNOWN".to_owned()),
        };
        if stream::unsent(event).is_some() {
            self.here(event, |counters| counters.unsent += 1);
        } else {
            self.request_of(event, self.model.clone(), stream::usage(event), |requests| {
                requests.attempts += 1;
            });
        }
        self.here(event, |counters| *counters.failures.entry(code).or_default() += 1);
    }

    /// A request for the model that `place` names, else for the one in use.
    fn request(
        &mut self,
        event: &Event<'_>,
        place: Option<Js<'_>>,
        usage: Option<Js<'_>>,
        kind: impl FnOnce(&mut Requests),
    ) {
        let model = Model::of(place).or_else(|| self.model.clone());
        self.request_of(event, model, usage, kind);
    }

    fn request_of(
        &mut self,
        event: &Event<'_>,
        model: Option<Model>,
        usage: Option<Js<'_>>,
        kind: impl FnOnce(&mut Requests),
    ) {
        self.at(event, model, |counters| {
            kind(&mut counters.requests);
            match usage.filter(|usage| usage.is_object()) {
                Some(usage) => counters.tokens.merge(&Tokens::of(usage)),
                None => counters.requests.unmetered += 1,
            }
        });
    }

    fn call(&mut self, event: &Event<'_>, id: &str) {
        let Some(id) = event.member(id).and_then(Js::as_str) else { return };
        let is_nested = !event.is("tool/call");
        let call = Call {
            key: (self.day)(event.time).map(|day| Key { day, model: self.model.clone() }),
            name: text(event.data, "name").unwrap_or_default(),
            start: event.time,
            is_nested,
        };
        let open = if is_nested { &mut self.nested } else { &mut self.calls };
        open.insert(id.to_owned(), call);
    }

    /// A result ends its call; one that replaces another finds none.
    fn result(&mut self, event: &Event<'_>) {
        let Some(id) = call_id(event) else { return };
        let code = text(event.member("error"), "code");
        let Some(call) = self.calls.remove(&id) else {
            if code.as_deref() == Some("TOOL_NOT_STARTED")
                && event.surface_op().is_none_or(|op| op.is("append"))
                && self.turn.is_some()
            {
                self.here(event, |counters| counters.not_started += 1);
            }
            return;
        };
        let is_error =
            event.data.and_then(|data| data.path(&["message", "isError"])).is_some_and(Js::is_true);
        let end = match code.as_deref() {
            Some("TOOL_OUTCOME_UNKNOWN") => CallEnd::CutOff,
            Some("TOOL_NOT_STARTED" | "ABORTED_BEFORE_DISPATCH") => CallEnd::NotStarted,
            _ => CallEnd::Result { at: event.time, is_error },
        };
        self.settle(call, &end);
    }

    fn nested_result(&mut self, event: &Event<'_>) {
        let id = event.member("subCallId").and_then(Js::as_str);
        let Some(call) = id.and_then(|id| self.nested.remove(&id.to_owned())) else { return };
        let is_error = event.member("isError").is_some_and(Js::is_true);
        self.settle(call, &CallEnd::Result { at: event.time, is_error });
    }

    /// Calls that no result will come for.
    fn give_up_calls(&mut self) {
        for call in std::mem::take(&mut self.calls).into_values() {
            self.settle(call, &CallEnd::CutOff);
        }
    }

    fn settle(&mut self, call: Call, end: &CallEnd) {
        let Some(key) = call.key else { return };
        let counters = self.stats.cells.entry(key).or_default();
        counters.see(call.start.0);
        if matches!(end, CallEnd::NotStarted) {
            counters.not_started += 1;
            return;
        }
        let tool = counters.tools.entry(call.name).or_default();
        tool.calls += 1;
        tool.nested += u64::from(call.is_nested);
        match end {
            CallEnd::Result { at, is_error } => {
                tool.errors += u64::from(*is_error);
                tool.latency.add(span(call.start, *at));
            }
            CallEnd::CutOff | CallEnd::NotStarted => tool.unknown += 1,
        }
    }
}

fn text(object: Option<Js<'_>>, name: &str) -> Option<String> {
    Some(object?.get(name)?.as_str()?.to_lossy().into_owned())
}
