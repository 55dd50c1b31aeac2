//! Stage A for V4: what refuses a row whatever else is wrong with it, even behind damage (`docs/spec/rows.md`,
//! section 8.2; `docs/spec/events-v4.md`, sections 5 to 7).

use crate::json::{Js, JsStr, SAFE_INTEGER};

use super::fault::{Check, RuleFault, ensure, refuse, shown};
use super::message::{Blocks, check_blocks, check_ordinary, check_source, check_step, check_stream};
use super::rule::Rule;
use super::scalar::{count, equals, is, is_absent_or_true, is_positive, nonempty, object};

/// Check one V4 row as it is stored: `sourceEventSeqs` still in range form, `seq` whatever it is.
///
/// Takes any parsed value; rows that are no objects or of a type without rules pass. As in the official storage
/// reader, a `developer/message` is checked even when it is marked ignorable.
pub fn admit_v4(row: Js<'_>) -> Result<(), RuleFault> {
    let Some(kind) = row.get("type").and_then(Js::as_str) else { return Ok(()) };
    // Names of types have no escapes, unless somebody wants to hide one.
    let spelled;
    let kind = if let Some(plain) = kind.as_plain() {
        plain
    } else {
        spelled = kind.to_lossy();
        &*spelled
    };
    let data = || row.get("data");
    let member = |name: &str| data().and_then(|d| d.get(name));
    match kind {
        "user/message" => check_ordinary(data()).map_err(|f| f.under("/data")),
        "assistant/message" => {
            check_ordinary(member("message")).map_err(|f| f.under("/data/message"))?;
            check_stream(member("stream")).map_err(|f| f.under("/data/stream"))
        }
        "assistant/attempt" => check_stream(member("stream")).map_err(|f| f.under("/data/stream")),
        "system/message" => system_message(data()).map_err(|f| f.under("/data")),
        "developer/message" => developer_message(data()).map_err(|f| f.under("/data")),
        "tool/result" => tool_result(row, data()),
        "request/header" => request_header(data()).map_err(|f| f.under("/data")),
        "agent/inbox/spliced" => list(member("inserted")).map_err(|f| f.under("/data/inserted")),
        "session/title-llm-request" => list(member("messages")).map_err(|f| f.under("/data/messages")),
        "compaction/summary" => {
            check_blocks(member("summary"), Blocks::Plain).map_err(|f| f.under("/data/summary"))?;
            check_blocks(member("rawOutput"), Blocks::Plain).map_err(|f| f.under("/data/rawOutput"))
        }
        "tool/ptc-dispatch" => {
            check_blocks(member("content"), Blocks::Current).map_err(|f| f.under("/data/content"))
        }
        "team/message/queued" => {
            let content = member("message").and_then(|m| m.get("content"));
            check_blocks(content, Blocks::Current).map_err(|f| f.under("/data/message/content"))
        }
        "tool/code-dispatch-start" | "tool/code-dispatch" => {
            let marked = row.get("ignorable").is_some_and(Js::is_true);
            if marked { Ok(()) } else { refuse(Rule::RetiredType, "/type", kind) }
        }
        _ => Ok(()),
    }
}

fn list(messages: Option<Js<'_>>) -> Check {
    let Some(messages) = messages else { return Ok(()) };
    for (i, message) in messages.elements().enumerate() {
        check_ordinary(Some(message)).map_err(|f| f.under(&format!("/{i}")))?;
    }
    Ok(())
}

fn request_header(data: Option<Js<'_>>) -> Check {
    let header = object(data).and_then(|d| d.get("header"));
    let Some(header) = object(header) else {
        return refuse(Rule::RetiredPrompt, "/header", shown(header));
    };
    if header.get("system").is_some() {
        return refuse(Rule::RetiredPrompt, "/header/system", "");
    }
    let Some(tools) = header.get("tools") else { return Ok(()) };
    for (i, tool) in tools.elements().enumerate() {
        let defer = tool.get("deferLoading");
        if !is_absent_or_true(defer) {
            return refuse(Rule::DeferLoading, format!("/header/tools/{i}/deferLoading"), shown(defer));
        }
    }
    Ok(())
}

fn system_message(data: Option<Js<'_>>) -> Check {
    const RULE: Rule = Rule::SystemMessage;
    let Some(data) = object(data) else { return refuse(RULE, "", shown(data)) };
    check_step(data, RULE)?;
    let message = data.get("message");
    let Some(message) = object(message) else { return refuse(RULE, "/message", shown(message)) };
    let ordinary = check_ordinary(Some(message)).and_then(|()| {
        let id = message.get("id");
        ensure(nonempty(id).is_some(), RULE, "/id", id)?;
        let role = message.get("role");
        ensure(is(role, "system"), RULE, "/role", role)?;
        let content = message.get("content");
        let Some(blocks) = content.and_then(Js::as_array) else {
            return refuse(RULE, "/content", shown(content));
        };
        for (i, block) in blocks.enumerate() {
            if let Err(member) = system_block(block) {
                let value = if member.is_empty() { Some(block) } else { block.get(member) };
                return refuse(RULE, format!("/content/{i}/{member}").trim_end_matches('/'), shown(value));
            }
        }
        Ok(())
    });
    ordinary.map_err(|f| f.under("/message"))
}

/// A block of a system message, open: other members pass. The error is the member that is wrong.
fn system_block(block: Js<'_>) -> Result<(), &'static str> {
    if !block.is_object() {
        return Err("");
    }
    let need = |good: bool, member: &'static str| if good { Ok(()) } else { Err(member) };
    let kind = nonempty(block.get("type")).ok_or("type")?;
    if kind == "text" || kind == "reasoning" {
        need(is_string(block.get("text")), "text")
    } else if kind == "tool-call" {
        need(nonempty(block.get("id")).is_some(), "id")?;
        need(nonempty(block.get("name")).is_some(), "name")?;
        need(is_string(block.get("arguments")), "arguments")
    } else if kind == "image" {
        need(block.get("attachment").is_some_and(is_attachment), "attachment")
    } else {
        Ok(())
    }
}

fn is_string(value: Option<Js<'_>>) -> bool {
    value.and_then(Js::as_str).is_some()
}

/// Media types of images.
pub(super) const MEDIA_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/// An image's attachment, open.
pub(super) fn is_attachment(value: Js<'_>) -> bool {
    let size = |v: Js<'_>| is_positive(v.get("width")) && is_positive(v.get("height"));
    value.is_object()
        && nonempty(value.get("attachmentId")).is_some()
        && MEDIA_TYPES.iter().any(|name| is(value.get("mediaType"), name))
        && count(value.get("bytes")).is_some()
        && size(value)
        && value.get("name").is_none_or(|name| is_string(Some(name)))
        && value.get("originalDimensions").is_none_or(|v| v.is_object() && size(v))
}

fn developer_message(data: Option<Js<'_>>) -> Check {
    const RULE: Rule = Rule::DeveloperMessage;
    let Some(data) = object(data) else { return refuse(RULE, "", shown(data)) };
    check_step(data, RULE)?;
    let message = data.get("message");
    let Some(message) = object(message) else { return refuse(RULE, "/message", shown(message)) };
    let role = message.get("role");
    ensure(is(role, "developer"), RULE, "/message/role", role)?;
    let id = message.get("id");
    ensure(nonempty(id).is_some(), RULE, "/message/id", id)?;
    check_source(message).map_err(|f| f.under("/message"))?;
    let content = message.get("content");
    let Some(blocks) = content.and_then(Js::as_array) else {
        return refuse(RULE, "/message/content", shown(content));
    };
    check_blocks(content, Blocks::Current).map_err(|f| f.under("/message/content"))?;
    let mut additions = false;
    for (i, block) in blocks.enumerate() {
        let kind = block.get("type");
        let addition = is(kind, "tool-addition");
        if !addition && !is(kind, "tool-removal") {
            continue;
        }
        additions |= addition;
        let name = block.get("toolName");
        if nonempty(name).is_none() {
            return refuse(Rule::ToolChange, format!("/message/content/{i}/toolName"), shown(name));
        }
        if addition && block.get("tool").is_some() {
            return refuse(Rule::ToolChange, format!("/message/content/{i}/tool"), "");
        }
    }
    let header = data.get("headerSeq");
    let fits = if additions { count(header).is_some() } else { header.is_none() };
    ensure(fits, Rule::HeaderSeq, "/headerSeq", header)
}

fn tool_result(row: Js<'_>, data: Option<Js<'_>>) -> Check {
    const RULE: Rule = Rule::ToolMessage;
    let Some(data) = object(data) else { return refuse(RULE, "/data", shown(data)) };
    let message = data.get("message");
    let Some(message) = object(message) else { return refuse(RULE, "/data/message", shown(message)) };
    tool_message(message).map_err(|f| f.under("/data/message"))?;
    let error = data.get("error");
    if error.is_some() && !message.get("isError").is_some_and(Js::is_true) {
        return refuse(Rule::ResultError, "/data/message/isError", shown(message.get("isError")));
    }
    let Some(error) = error else { return Ok(()) };
    let id = message.get("id").and_then(Js::as_str).map(JsStr::to_wtf8);
    if is(error.get("code"), "TOOL_NOT_STARTED")
        && id.is_some_and(|id| id.starts_with(FORKED.as_bytes()))
        && !is_fork_result(row, message, error)
    {
        return refuse(Rule::ForkResult, "/data/message", shown(message.get("id")));
    }
    Ok(())
}

fn tool_message(message: Js<'_>) -> Check {
    const RULE: Rule = Rule::ToolMessage;
    check_ordinary(Some(message))?;
    let id = message.get("id");
    ensure(nonempty(id).is_some(), RULE, "/id", id)?;
    let role = message.get("role");
    ensure(is(role, "tool"), RULE, "/role", role)?;
    let call = message.get("toolCallId");
    ensure(nonempty(call).is_some(), RULE, "/toolCallId", call)?;
    let source = message.get("source");
    let kind = source.and_then(|s| s.get("kind"));
    ensure(is(kind, "tool"), RULE, "/source/kind", kind)?;
    let source_call = source.and_then(|s| s.get("callId"));
    let equal = source_call.and_then(Js::as_str) == call.and_then(Js::as_str);
    ensure(equal, RULE, "/source/callId", source_call)?;
    let content = message.get("content");
    ensure(content.is_some_and(Js::is_array), RULE, "/content", content)?;
    let error = message.get("isError");
    ensure(error.is_none_or(|v| v.as_bool().is_some()), RULE, "/isError", error)
}

/// Start of the message id of a result that a fork wrote in place of the real one.
pub(super) const FORKED: &str = "forked-tool-result-";

/// The rules of `docs/spec/events-v4.md`, section 7.6, for a result that claims to be such a one.
fn is_fork_result(row: Js<'_>, message: Js<'_>, error: Js<'_>) -> bool {
    let Some(n) = repair_number(message, FORKED) else { return false };
    let content = message.get("content");
    let one_text = content.is_some_and(|c| {
        let mut blocks = c.elements();
        matches!((blocks.next(), blocks.next()), (Some(block), None)
            if is(block.get("type"), "text") && is_string(block.get("text")))
    });
    if !is(error.get("name"), "ToolNotStartedError") || !one_text {
        return false;
    }
    let own = row.get("seq");
    let op = row.get("surfaceOp");
    let sources = row.get("sourceEventSeqs");
    if is(op, "append") {
        return sources.is_none() && equals(own, n);
    }
    // A count is at most 2^53-1, so the conversion is exact.
    #[expect(clippy::cast_precision_loss)]
    let later = own.and_then(Js::as_f64).is_some_and(|own| (n as f64) < own);
    let Some(mut cited) = sources.and_then(Js::as_array) else { return false };
    is(object(op).and_then(|op| op.get("op")), "replace")
        && later
        && equals(cited.next(), n)
        && cited.next().is_none()
}

/// The number at the end of a repair result's message id, which is `prefix`, the call id, `-` and a canonical count.
pub(super) fn repair_number(message: Js<'_>, prefix: &str) -> Option<u64> {
    let id = message.get("id")?.as_str()?.to_wtf8();
    let call = message.get("source")?.get("callId")?.as_str()?.to_wtf8();
    let digits = id.strip_prefix(prefix.as_bytes())?.strip_prefix(&*call)?.strip_prefix(b"-")?;
    let canonical = digits == b"0" || digits.first().is_some_and(|d| (b'1'..=b'9').contains(d));
    if !canonical || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok().filter(|n| *n <= SAFE_INTEGER)
}
