//! Tools that answer what a record says they answered.

use std::collections::HashMap;
use std::sync::Mutex;

use dshlog_codec::Event;
use dshlog_codec::check::EventType;
use dshlog_codec::json::Js;

use super::{Call, Declaration, Outcome, Tools};
use crate::request::header::printed;

/// The results of a record, by the id of the call.
#[derive(Debug, Default)]
pub struct RecordedTools {
    declared: Vec<Declaration>,
    calls: HashMap<Box<str>, Recorded>,
    mismatches: Mutex<Vec<Mismatch>>,
}

#[derive(Debug)]
struct Recorded {
    call: Call,
    outcome: Option<Outcome>,
}

/// A call that is not the recorded one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// What was called.
    pub made: Call,
    /// What the record has under this id; nothing when it has none.
    pub recorded: Option<Call>,
}

impl RecordedTools {
    /// No results yet; they come out of the events of a record, in order.
    pub fn new() -> Self {
        Self::default()
    }

    /// Take the next event of the record.
    pub fn see(&mut self, event: &Event<'_>) {
        match EventType::of(event.kind) {
            Some(EventType::RequestHeader) => {
                let tools = event.member("header").and_then(|header| header.get("tools"));
                self.declared = tools.into_iter().flat_map(Js::elements).map(Declaration::of).collect();
            }
            Some(EventType::ToolCall) => {
                let member =
                    |name| event.member(name).map_or_else(|| "\"\"".into(), |value| printed(value).into());
                let call =
                    Call { id: member("callId"), name: member("name"), arguments: member("arguments") };
                self.calls.insert(call.id.clone(), Recorded { call, outcome: None });
            }
            // A replacement is no answer to a call.
            Some(EventType::ToolResult) if event.surface_op().is_some_and(|op| op.is("append")) => {
                let id = event.member("message").and_then(|message| message.get("toolCallId")).map(printed);
                if let Some(recorded) = id.and_then(|id| self.calls.get_mut(&*id)) {
                    recorded.outcome = Some(Outcome::of_result(event));
                }
            }
            _ => {}
        }
    }

    /// The calls that were not the recorded ones, in the order in which they were made.
    pub fn mismatches(&self) -> Vec<Mismatch> {
        self.mismatches.lock().map_or_else(|lock| lock.into_inner().clone(), |list| list.clone())
    }

    fn note(&self, made: &Call, recorded: Option<&Call>) {
        let mismatch = Mismatch { made: made.clone(), recorded: recorded.cloned() };
        match self.mismatches.lock() {
            Ok(mut list) => list.push(mismatch),
            Err(lock) => lock.into_inner().push(mismatch),
        }
    }
}

impl Tools for RecordedTools {
    fn declared(&self) -> Vec<Declaration> {
        self.declared.clone()
    }

    fn call(&self, call: &Call) -> Outcome {
        let Some(recorded) = self.calls.get(&call.id) else {
            self.note(call, None);
            return Outcome::failed("no result of this call was recorded");
        };
        if recorded.call != *call {
            self.note(call, Some(&recorded.call));
        }
        let outcome = recorded.outcome.clone();
        outcome.unwrap_or_else(|| Outcome::failed("no result of this call was recorded"))
    }
}
