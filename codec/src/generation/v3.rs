//! What V3 checks in a row beyond its shape (`docs/spec/rows.md`, 3.5). Soft.

use crate::event::Event;
use crate::json::Js;

/// Types that V3 knows to be log-only: neither surface metadata nor sources may be on them. The list is that of V2 with
/// the names that V3 gave to dispatches and feedback; types that are new in V3 are missing, as in the real list.
const LOG_ONLY: &[&str] = &[
    "agent-preset/selected",
    "agent/inbox/spliced",
    "approval/asked",
    "approval/decided",
    "approval/policy",
    "assistant/attempt",
    "command/run",
    "command/done",
    "compaction/start",
    "compaction/summary",
    "compaction/end",
    "compaction/prune",
    "feedback/record",
    "feedback/message-put",
    "feedback/message-delete",
    "goal/change",
    "hook/invoked",
    "hook/result",
    "llm/retry",
    "llm/retry-started",
    "model/selection",
    "permission/preset",
    "plan/mode",
    "request/context",
    "request/header",
    "sandbox/mode",
    "schedule/change",
    "session-log-deepseek/delivery-accepted",
    "session/end-seed",
    "session/title",
    "session/title-llm-request",
    "step/start",
    "step/end",
    "turn/start",
    "turn/end",
    "subagent/descriptor",
    "subagent/model-selection-policy",
    "team/member",
    "team/task",
    "team/message/queued",
    "team/message/delivered",
    "todo/write",
    "tool-workflow/run-start",
    "tool-workflow/run-end",
    "tool-workflow/agent-start",
    "tool-workflow/agent-end",
    "tool/call",
    "tool/ptc-dispatch-start",
    "tool/ptc-dispatch",
    "web/deepseek-search-llm-request",
    // The real list is a JavaScript object, which has these names without anybody having put them there.
    "constructor",
    "toString",
    "toLocaleString",
    "valueOf",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "__proto__",
    "__defineGetter__",
    "__defineSetter__",
    "__lookupGetter__",
    "__lookupSetter__",
];

const SURFACE: &[&str] = &["system/message", "user/message", "assistant/message", "tool/result"];

pub(super) fn check_event(event: &Event<'_>) -> Result<(), &'static str> {
    let kind = event.kind.to_lossy();
    let sources = event.source_seqs();
    if event.row.get("seq").and_then(Js::as_count).is_none() {
        return Err("`seq` is no count");
    }
    if SURFACE.contains(&&*kind) {
        let op = event.surface_op().ok_or("surface event without `surfaceOp`")?;
        if !op.is("append") && !is_replacement(op, event.seq.0) {
            return Err("`surfaceOp` is neither \"append\" nor a replacement of earlier events");
        }
        match sources {
            Some(_) if kind == "assistant/message" => {
                return Err("`sourceEventSeqs` on an assistant message");
            }
            Some(sources) if sources.elements().next().is_none() => return Err("empty `sourceEventSeqs`"),
            _ => {}
        }
    } else if (event.surface_op().is_some() || sources.is_some()) && LOG_ONLY.contains(&&*kind) {
        return Err("surface metadata on an event that is not on the surface");
    }
    match &*kind {
        "request/header" => check_request_header(event),
        "tool/result" => check_tool_result(event),
        _ => Ok(()),
    }
}

fn is_replacement(op: Js<'_>, seq: u64) -> bool {
    let earlier = |name| op.get(name).and_then(Js::as_count).is_some_and(|n| n < seq);
    op.has_only(&["op", "startSeq", "endSeq"])
        && op.get("op").is_some_and(|o| o.is("replace"))
        && earlier("startSeq")
        && earlier("endSeq")
}

fn check_request_header(event: &Event<'_>) -> Result<(), &'static str> {
    let Some(header) = event.member("header") else { return Ok(()) };
    if header.get("tools").is_some_and(|t| t.is_array() && t.elements().next().is_none()) {
        return Err("empty `tools`");
    }
    if header.get("adapterDefaults").is_some_and(|d| d.is_object() && d.members().next().is_none()) {
        return Err("empty `adapterDefaults`");
    }
    Ok(())
}

fn check_tool_result(event: &Event<'_>) -> Result<(), &'static str> {
    let data = event.data.filter(|data| data.is_object()).ok_or("`data` is no object")?;
    if data.get("error").is_none() {
        return Ok(());
    }
    let content = data.get("message").filter(|m| m.is_object()).and_then(|m| m.get("content"));
    let mut blocks = content.and_then(Js::as_array).ok_or("an error without a message")?;
    match (blocks.next(), blocks.next()) {
        (Some(block), None)
            if block.get("type").is_some_and(|t| t.is("tool-result"))
                && block.get("isError").is_some_and(Js::is_true) =>
        {
            Ok(())
        }
        _ => Err("an error whose message does not say `isError`"),
    }
}
