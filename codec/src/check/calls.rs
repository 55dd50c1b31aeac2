//! Tool calls of a step, and the dispatches of programs that call tools.

use std::collections::HashMap;

use crate::event::Event;
use crate::json::{Digest, Js, deep_digest};

use super::admission::{FORKED, repair_number};
use super::fault::{Check, ensure, refuse, shortened, shown};
use super::rule::Rule;
use super::scalar::{Id, Scalar, is, nonempty, object};

/// A call that the model made and that has no result yet.
#[derive(Debug)]
struct Pending {
    name: Scalar,
    arguments: Scalar,
    started: bool,
    place: usize,
}

/// Calls of the open step without a result.
#[derive(Debug, Default)]
pub(super) struct Calls {
    pending: HashMap<Id, Pending>,
}

/// Start of the message id of a result that was written for a crashed or failed step.
pub(super) const INTERRUPTED: &str = "interrupted-tool-result-";

/// What such a result says of a call that never started.
pub(super) const NOT_STARTED: &str = "The tool call was interrupted before the Harness recorded it as started. Retry it if it is still needed.";

impl Calls {
    /// The calls that an assistant message makes.
    pub(super) fn advertise(&mut self, content: Option<Js<'_>>) -> Check {
        const POINTER: &str = "/data/message/content";
        let Some(blocks) = content.and_then(Js::as_array) else {
            return refuse(Rule::MessageShape, POINTER, shown(content));
        };
        for (i, block) in blocks.enumerate() {
            if !block.is_object() {
                return refuse(Rule::MessageShape, format!("{POINTER}/{i}"), shown(Some(block)));
            }
            if !is(block.get("type"), "tool-call") {
                continue;
            }
            let id = block.get("id");
            let pointer = || format!("{POINTER}/{i}/id");
            let Some(name) = nonempty(id) else {
                return refuse(Rule::ToolLifecycle, pointer(), shown(id));
            };
            let call = Pending {
                name: Scalar::of(block.get("name")),
                arguments: Scalar::of(block.get("arguments")),
                started: false,
                place: self.pending.len(),
            };
            if self.pending.insert(name.to_wtf8().into(), call).is_some() {
                return refuse(Rule::ToolLifecycle, pointer(), shown(id));
            }
        }
        Ok(())
    }

    /// `tool/call`.
    pub(super) fn start(&mut self, data: Js<'_>) -> Check {
        const RULE: Rule = Rule::ToolLifecycle;
        let id = data.get("callId");
        let call = id.and_then(Js::as_str).and_then(|id| self.pending.get_mut(&*id.to_wtf8()));
        let Some(call) = call.filter(|call| !call.started) else {
            return refuse(RULE, "/data/callId", shown(id));
        };
        let (name, arguments) = (data.get("name"), data.get("arguments"));
        ensure(call.name.is_same_as(name), RULE, "/data/name", name)?;
        ensure(call.arguments.is_same_as(arguments), RULE, "/data/arguments", arguments)?;
        call.started = true;
        Ok(())
    }

    /// A `tool/result` that is no replacement.
    pub(super) fn settle(&mut self, event: &Event<'_>, data: Js<'_>) -> Check {
        const RULE: Rule = Rule::ToolLifecycle;
        let Some(message) = object(data.get("message")) else {
            return refuse(RULE, "/data/message", shown(data.get("message")));
        };
        let id = message.get("toolCallId");
        let call = id.and_then(Js::as_str).and_then(|id| self.pending.remove(&*id.to_wtf8()));
        match call {
            Some(call) if call.started || is_not_started(event, data, message) => Ok(()),
            Some(_) => refuse(RULE, "/data/message/toolCallId", format!("never started: {}", shown(id))),
            None => refuse(RULE, "/data/message/toolCallId", format!("not pending: {}", shown(id))),
        }
    }

    /// The turn or step closes.
    pub(super) fn check_none(&self) -> Check {
        match self.pending.iter().min_by_key(|(_, call)| call.place) {
            Some((id, _)) => refuse(Rule::ClosedWithCalls, "", shortened(&String::from_utf8_lossy(id))),
            None => Ok(()),
        }
    }

    /// A turn starts.
    pub(super) fn clear(&mut self) {
        self.pending.clear();
    }
}

/// The form of a result for a call that never started (`docs/spec/events-v4.md`, section 7.6). Results of forks have
/// been looked at in stage A.
fn is_not_started(event: &Event<'_>, data: Js<'_>, message: Js<'_>) -> bool {
    let Some(error) = data.get("error") else { return false };
    let Some(id) = message.get("id").and_then(Js::as_str) else { return false };
    let Some(call) = message.get("toolCallId").and_then(Js::as_str) else { return false };
    let (id, call) = (id.to_wtf8(), call.to_wtf8());
    let forked = id
        .strip_prefix(FORKED.as_bytes())
        .and_then(|rest| rest.strip_prefix(&*call))
        .is_some_and(|rest| rest.starts_with(b"-"));
    let interrupted = || {
        let mut blocks = message.get("content").into_iter().flat_map(Js::elements);
        repair_number(message, INTERRUPTED).is_some()
            && matches!((blocks.next(), blocks.next()), (Some(block), None)
                if is(block.get("type"), "text") && is(block.get("text"), NOT_STARTED))
    };
    is(error.get("name"), "ToolNotStartedError")
        && is(error.get("code"), "TOOL_NOT_STARTED")
        && message.get("isError").is_some_and(Js::is_true)
        && event.source_seqs().is_none()
        && (forked || interrupted())
}

#[derive(Debug)]
struct Dispatch {
    root: Id,
    parent: Id,
    name: Option<Digest>,
    arguments: Option<Digest>,
    settled: bool,
}

/// Calls that a program run by a tool makes: `tool/ptc-dispatch-start`, `tool/ptc-dispatch`.
#[derive(Debug, Default)]
pub(super) struct Dispatches {
    by_id: HashMap<Id, Dispatch>,
}

const DISPATCH: Rule = Rule::PtcDispatch;

fn digest(value: Option<Js<'_>>) -> Option<Digest> {
    value.map(|value| deep_digest(value, true))
}

impl Dispatches {
    /// `tool/ptc-dispatch-start`.
    pub(super) fn start(&mut self, data: Js<'_>) -> Check {
        let id = |name: &str| match nonempty(data.get(name)) {
            Some(id) => Ok(Id::from(id.to_wtf8())),
            None => refuse(DISPATCH, format!("/data/{name}"), shown(data.get(name))),
        };
        let (root, parent, own) = (id("rootCallId")?, id("parentCallId")?, id("subCallId")?);
        if self.by_id.contains_key(&own) {
            return refuse(DISPATCH, "/data/subCallId", shown(data.get("subCallId")));
        }
        if parent != root && self.by_id.get(&parent).is_none_or(|parent| parent.root != root) {
            return refuse(DISPATCH, "/data/parentCallId", shown(data.get("parentCallId")));
        }
        let (name, arguments) = (digest(data.get("name")), digest(data.get("arguments")));
        self.by_id.insert(own, Dispatch { root, parent, name, arguments, settled: false });
        Ok(())
    }

    /// `tool/ptc-dispatch`.
    pub(super) fn settle(&mut self, data: Js<'_>) -> Check {
        let id = data.get("subCallId");
        let found = id.and_then(Js::as_str).and_then(|id| self.by_id.get_mut(&*id.to_wtf8()));
        let Some(dispatch) = found.filter(|dispatch| !dispatch.settled) else {
            return refuse(DISPATCH, "/data/subCallId", shown(id));
        };
        let equals = |name: &str, id: &Id| {
            let value = data.get(name).and_then(Js::as_str);
            value.is_some_and(|value| *value.to_wtf8() == **id)
        };
        for (name, good) in [
            ("rootCallId", equals("rootCallId", &dispatch.root)),
            ("parentCallId", equals("parentCallId", &dispatch.parent)),
            ("name", digest(data.get("name")) == dispatch.name),
            ("arguments", digest(data.get("arguments")) == dispatch.arguments),
        ] {
            ensure(good, DISPATCH, &format!("/data/{name}"), data.get(name))?;
        }
        dispatch.settled = true;
        Ok(())
    }
}
