//! Repairs of single events that need no memory (`docs/spec/events-v0-v3.md`, 8.3 to 8.8). Each says whether it has
//! changed the data.

use dshlog_codec::Seq;
use dshlog_codec::json::{Fields, Js, JsStr, Tree};

use crate::fault::{Check, malformed, shown, unsupported};

use super::identity::Identities;

fn has_exactly(object: Js<'_>, names: &[&str]) -> bool {
    object.has_only(names) && names.iter().all(|name| object.get(name).is_some())
}

fn is_positive(value: Option<Js<'_>>) -> bool {
    value.and_then(Js::as_count).is_some_and(|n| n > 0)
}

fn is_text(value: Option<Js<'_>>) -> bool {
    value.and_then(Js::as_str).is_some()
}

/// 8.5: turns of the time before the react loop.
pub(super) fn turn_start<'a>(read: Js<'a>, data: &mut Tree<'a>) -> Check<bool> {
    let Some(trigger) = read.get("trigger") else { return Ok(false) };
    let kind = trigger.get("kind").and_then(Js::as_str).filter(|kind| !kind.is_empty());
    if !has_exactly(read, &["turn", "trigger"]) || !is_positive(read.get("turn")) || kind.is_none() {
        return malformed("turn-trigger", "/data", shown(Some(read)));
    }
    if let Some(members) = data.open() {
        members.remove("trigger");
    }
    Ok(true)
}

/// 8.6: the reasons for which a turn ends.
pub(super) fn turn_end<'a>(read: Js<'a>, data: &mut Tree<'a>) -> Check<bool> {
    let wrong = |at: Option<Js<'_>>| malformed("turn-reason", "/data", shown(at));
    if !has_exactly(read, &["turn", "reason"]) || !is_positive(read.get("turn")) {
        return wrong(Some(read));
    }
    let reason = read.get("reason");
    let Some(kind) = reason.and_then(|r| r.get("kind")).and_then(Js::as_str) else { return wrong(reason) };
    let Some(reason) = reason else { return wrong(None) };
    let bare = has_exactly(reason, &["kind"]);
    let aborted = |why: &str| {
        Fields::new()
            .with("kind", Tree::string("aborted"))
            .with("reason", Fields::new().with("kind", Tree::string(why)))
    };
    let member = |name| reason.get(name);
    let repaired = if kind == "aborted" && member("reason").is_none() && bare {
        aborted("legacy")
    } else if kind == "disposed" && bare {
        aborted("disposed")
    } else if kind == "error" && member("error").is_none() {
        let error = if let Some(failure) = member("failure") {
            const FAILURE: [&str; 5] = ["message", "code", "status", "providerRetryAfterMs", "requestId"];
            let sound = has_exactly(reason, &["kind", "step", "failure"])
                && failure.has_only(&FAILURE)
                && is_text(failure.get("message"))
                && is_text(failure.get("code"));
            sound.then(|| Tree::from(failure))
        } else {
            let (message, code) = (member("message"), member("code"));
            let sound =
                reason.has_only(&["kind", "step", "message", "code"]) && (code.is_none() || is_text(code));
            let code = code.map_or_else(|| Tree::string("UNKNOWN"), Tree::from);
            message
                .filter(|_| sound && is_text(message))
                .map(|message| Fields::new().with("message", message).with("code", code).into())
        };
        let Some(error) = error.filter(|_| member("step").and_then(Js::as_count).is_some()) else {
            return wrong(Some(reason));
        };
        Fields::new().with("kind", Tree::string("error")).with("error", error)
    } else {
        return if kind == "disposed" { wrong(Some(reason)) } else { Ok(false) };
    };
    if let Some(members) = data.open() {
        members.set("reason", repaired);
    }
    Ok(true)
}

/// 8.3 and 8.7.
pub(super) fn request_header<'a>(read: Js<'a>, data: &mut Tree<'a>) -> Check<bool> {
    if read.get("reason").is_some_and(|reason| reason.is("fallback")) {
        return unsupported("retired-header", "/data/reason", "fallback");
    }
    let Some(prefix) = read.path(&["header", "messagePrefix"]) else { return Ok(false) };
    if !prefix.is_array() {
        return malformed("message-prefix", "/data/header/messagePrefix", shown(Some(prefix)));
    }
    if let Some(header) = data.open_path(&["header"]).and_then(Tree::open) {
        header.remove("messagePrefix");
    }
    Ok(true)
}

/// 8.8: what steered a turn is a user message.
pub(super) fn steering<'a>(read: Js<'a>, data: &mut Tree<'a>, ids: &Identities, seq: Seq) -> Check<bool> {
    let turn = read.get("turn").and_then(Js::as_count);
    if turn.is_some() && has_exactly(read, &["turn", "message"]) {
        *data = read.get("message").map_or_else(|| Fields::new().into(), Tree::from);
    } else if turn.is_some() && has_exactly(read, &["turn", "content", "source"]) {
        if let Some(members) = data.open() {
            members.remove("turn");
            members.set("id", ids.message_id(seq));
            members.set("role", Tree::string("user"));
        }
    } else {
        return malformed("steering-message", "/data", shown(Some(read)));
    }
    Ok(true)
}

/// The text of a member as read.
pub(super) fn text<'a>(data: &Tree<'a>, name: &str) -> Option<JsStr<'a>> {
    member(data, name)?.as_str()
}

/// A member that has not been changed.
pub(super) fn member<'a>(data: &Tree<'a>, name: &str) -> Option<Js<'a>> {
    match data {
        Tree::Read(value) => value.get(name),
        Tree::Object(fields) => fields.get(name)?.read(),
        _ => None,
    }
}

/// True when there is a member, changed or not.
pub(super) fn has(data: &Tree<'_>, name: &str) -> bool {
    match data {
        Tree::Read(value) => value.get(name).is_some(),
        Tree::Object(fields) => fields.get(name).is_some(),
        _ => false,
    }
}
