//! Tool calls and nested dispatches of V3 (`docs/spec/events-v0-v3.md`, sections 7.5 and 7.6).

use std::collections::HashMap;

use crate::event::Event;
use crate::json::{Digest, Js, deep_digest};

use super::super::admission::repair_number;
use super::super::calls::{INTERRUPTED, NOT_STARTED};
use super::super::fault::{Check, ensure, refuse, shown};
use super::super::rule::Rule;
use super::super::scalar::{Scalar, is, object};

#[derive(Debug)]
struct Pending {
    name: Scalar,
    arguments: Scalar,
    started: bool,
}

/// Calls of the open step without a result. Ids that are the same as nothing are kept nowhere, but count.
#[derive(Debug, Default)]
pub(super) struct Calls {
    pending: HashMap<Scalar, Pending>,
    nameless: bool,
}

const RULE: Rule = Rule::ToolLifecycle;

impl Calls {
    /// The calls that an assistant message makes.
    pub(super) fn advertise(&mut self, data: Js<'_>) -> Check {
        const POINTER: &str = "/data/message/content";
        let content = object(data.get("message")).and_then(|message| message.get("content"));
        let Some(blocks) = content.and_then(Js::as_array) else {
            return refuse(Rule::MessageShape, POINTER, shown(content));
        };
        for (i, block) in blocks.enumerate() {
            if block.is_null() {
                return refuse(Rule::MessageShape, format!("{POINTER}/{i}"), "null");
            }
            if !is(block.get("type"), "tool-call") {
                continue;
            }
            let id = Scalar::of(block.get("id"));
            if id == Scalar::Never {
                self.nameless = true;
                continue;
            }
            let call = Pending {
                name: Scalar::of(block.get("name")),
                arguments: Scalar::of(block.get("arguments")),
                started: false,
            };
            if self.pending.insert(id, call).is_some() {
                return refuse(RULE, format!("{POINTER}/{i}/id"), shown(block.get("id")));
            }
        }
        Ok(())
    }

    /// `tool/call`.
    pub(super) fn start(&mut self, data: Js<'_>) -> Check {
        let id = data.get("callId");
        let call = self.pending.get_mut(&Scalar::of(id)).filter(|call| !call.started);
        let Some(call) = call else { return refuse(RULE, "/data/callId", shown(id)) };
        for (member, kept) in [("name", &call.name), ("arguments", &call.arguments)] {
            let value = data.get(member);
            ensure(kept.is_same_as(value), RULE, &format!("/data/{member}"), value)?;
        }
        call.started = true;
        Ok(())
    }

    /// A `tool/result` that is no replacement.
    pub(super) fn settle(&mut self, event: &Event<'_>, data: Js<'_>) -> Check {
        let message = data.get("message");
        let source = object(message).and_then(|message| message.get("source"));
        let (Some(message), Some(source)) = (object(message), object(source)) else {
            return refuse(RULE, "/data/message", shown(message));
        };
        let error = data.get("error");
        if error.is_some_and(|error| !error.is_object()) {
            return refuse(RULE, "/data/error", shown(error));
        }
        let id = source.get("callId");
        match self.pending.remove(&Scalar::of(id)) {
            Some(call) if call.started || is_not_started(event, error, message) => Ok(()),
            Some(_) => refuse(RULE, "/data/message/source/callId", format!("never started: {}", shown(id))),
            None => refuse(RULE, "/data/message/source/callId", format!("not pending: {}", shown(id))),
        }
    }

    /// The turn or step closes.
    pub(super) fn check_none(&self) -> Check {
        if self.pending.is_empty() && !self.nameless {
            return Ok(());
        }
        refuse(Rule::ClosedWithCalls, "", format!("{} of them", self.pending.len().max(1)))
    }

    /// A turn starts.
    pub(super) fn clear(&mut self) {
        *self = Calls::default();
    }
}

/// The result that was written for a call that never started. The seq in its id is that of an earlier generation.
fn is_not_started(event: &Event<'_>, error: Option<Js<'_>>, message: Js<'_>) -> bool {
    let member = |name: &str| error.and_then(|error| error.get(name));
    let block = message.get("content").and_then(|content| content.elements().next());
    let inner = block.and_then(|block| block.get("content"));
    let mut texts = inner.into_iter().flat_map(Js::elements);
    is(member("name"), "ToolNotStartedError")
        && is(member("code"), "TOOL_NOT_STARTED")
        && event.source_seqs().is_none()
        && repair_number(message, INTERRUPTED).is_some()
        && block.and_then(|block| block.get("isError")).is_some_and(Js::is_true)
        && matches!((texts.next(), texts.next()), (Some(text), None)
            if is(text.get("type"), "text") && is(text.get("text"), NOT_STARTED))
}

#[derive(Debug)]
struct Dispatch {
    root: Scalar,
    parent: Scalar,
    name: Scalar,
    arguments: Option<Digest>,
    settled: bool,
}

/// `tool/ptc-dispatch-start`, `tool/ptc-dispatch`.
#[derive(Debug, Default)]
pub(super) struct Dispatches {
    by_id: HashMap<Scalar, Dispatch>,
}

const DISPATCH: Rule = Rule::PtcDispatch;

fn arguments(data: Js<'_>) -> Option<Digest> {
    data.get("arguments").map(|value| deep_digest(value, false))
}

impl Dispatches {
    /// `tool/ptc-dispatch-start`.
    pub(super) fn start(&mut self, data: Js<'_>) -> Check {
        let id = |name| Scalar::of(data.get(name));
        let (root, parent, own) = (id("rootCallId"), id("parentCallId"), id("subCallId"));
        if !parent.is_same(&root) && self.by_id.get(&parent).is_none_or(|parent| !parent.root.is_same(&root))
        {
            return refuse(DISPATCH, "/data/parentCallId", shown(data.get("parentCallId")));
        }
        if self.by_id.contains_key(&own) {
            return refuse(DISPATCH, "/data/subCallId", shown(data.get("subCallId")));
        }
        if own != Scalar::Never {
            let dispatch =
                Dispatch { root, parent, name: id("name"), arguments: arguments(data), settled: false };
            self.by_id.insert(own, dispatch);
        }
        Ok(())
    }

    /// `tool/ptc-dispatch`.
    pub(super) fn settle(&mut self, data: Js<'_>) -> Check {
        let id = data.get("subCallId");
        let dispatch = self.by_id.get_mut(&Scalar::of(id)).filter(|dispatch| !dispatch.settled);
        let Some(dispatch) = dispatch else { return refuse(DISPATCH, "/data/subCallId", shown(id)) };
        for (name, good) in [
            ("rootCallId", dispatch.root.is_same_as(data.get("rootCallId"))),
            ("parentCallId", dispatch.parent.is_same_as(data.get("parentCallId"))),
            ("name", dispatch.name.is_same_as(data.get("name"))),
            ("arguments", dispatch.arguments == arguments(data)),
        ] {
            ensure(good, DISPATCH, &format!("/data/{name}"), data.get(name))?;
        }
        dispatch.settled = true;
        Ok(())
    }
}
