//! What an event of V2 must be to be carried over (`docs/spec/events-v0-v3.md`, section 10.3). This is stricter than
//! any reader of V2, and stricter than V1 -> V2: only kinds of blocks and sources that V3 can tell apart pass.

use dshlog_codec::check::shapes::{BLOCK, Members, Shape, check_payload, check_shape};
use dshlog_codec::json::{Js, JsStr, SAFE_INTEGER};
use dshlog_codec::pack::Ranges;
use dshlog_codec::{Event, Generation};

use crate::fault::{Check, malformed, shape_fault, shown, unsupported};

use super::messages;

const V2: Generation = Generation(2);

/// True for the types that make model history at V2.
pub(super) fn is_surface(event: &Event<'_>) -> bool {
    ["user/message", "assistant/message", "tool/result"].iter().any(|kind| event.is(kind))
}

/// All of it.
pub(super) fn check(event: &Event<'_>) -> Check {
    check_envelope(event)?;
    check_payload(event, V2).or_else(shape_fault)?;
    check_content(event)?;
    if event.is("assistant/message") || event.is("assistant/attempt") {
        for name in ["turn", "step"] {
            let value = event.member(name);
            if value.and_then(Js::as_count).is_none_or(|n| n == 0) {
                return malformed("payload", format!("/data/{name}"), shown(value));
            }
        }
    }
    messages(event).try_for_each(check_source)?;
    if event.is("tool/result") { check_result(event) } else { Ok(()) }
}

fn check_envelope(event: &Event<'_>) -> Check {
    const CODE: &str = "envelope";
    let row = event.row;
    let member = |name: &str| row.get(name);
    for name in ["type", "seq", "time", "data"] {
        if member(name).is_none() {
            return malformed(CODE, format!("/{name}"), "missing");
        }
    }
    let surface = is_surface(event);
    let known: &[&str] = if surface {
        &["type", "seq", "time", "data", "ignorable", "sourceEventSeqs", "surfaceOp"]
    } else {
        &["type", "seq", "time", "data", "ignorable"]
    };
    if let Some((name, _)) = row.members().find(|(name, _)| !known.iter().any(|known| *name == **known)) {
        return malformed(CODE, "", format!("unexpected member {name:?}"));
    }
    for (name, good) in [
        ("seq", member("seq").and_then(Js::as_count).is_some()),
        ("time", member("time").and_then(Js::as_safe_integer).is_some()),
        ("ignorable", member("ignorable").is_none_or(Js::is_true)),
        ("sourceEventSeqs", event.source_seqs().is_none_or(|sources| is_citation(event, sources))),
        ("surfaceOp", !surface || event.surface_op().is_some_and(|op| is_surface_op(op, event.seq.0))),
    ] {
        if !good {
            return malformed(CODE, format!("/{name}"), shown(member(name)));
        }
    }
    Ok(())
}

fn is_citation(event: &Event<'_>, sources: Js<'_>) -> bool {
    let decoded = Ranges::decode(sources, event.seq.0, V2);
    !event.is("assistant/message") && decoded.is_ok_and(|sources| !sources.is_empty())
}

fn is_surface_op(op: Js<'_>, own: u64) -> bool {
    let earlier = |name| op.get(name).and_then(Js::as_count).is_some_and(|seq| seq < own);
    let replaces = || op.get("op").is_some_and(|name| name.is("replace"));
    op.is("append")
        || (op.has_only(&["op", "start", "end"]) && replaces() && earlier("start") && earlier("end"))
}

/// The kinds of blocks that V3 knows.
const BLOCKS: [&str; 6] = ["text", "reasoning", "image", "file", "tool-call", "tool-result"];

static FILE: Shape = closed(&[("type", &Shape::Any), ("attachment", &FILE_ATTACHMENT)]);

static FILE_ATTACHMENT: Shape =
    closed(&[("attachmentId", &Shape::Str1), ("name", &Shape::Str), ("bytes", &Shape::Count)]);

const fn closed(required: &'static [(&'static str, &'static Shape)]) -> Shape {
    Shape::Members(Members { required, optional: &[], open: false, rule: None })
}

/// Blocks wherever they stand, in payloads of good shape.
fn check_content(event: &Event<'_>) -> Check {
    for message in messages(event) {
        check_blocks(event, message.get("content"))?;
    }
    if event.is("team/message/queued") {
        check_blocks(event, event.member("message").and_then(|message| message.get("content")))
    } else if event.is("compaction/summary") {
        check_blocks(event, event.member("summary"))?;
        check_blocks(event, event.member("rawOutput"))
    } else if event.is("tool/code-dispatch") {
        check_blocks(event, event.member("content"))
    } else if event.is("assistant/message") || event.is("assistant/attempt") {
        check_stream(event)
    } else {
        Ok(())
    }
}

/// Lists inside results are put aside, not descended into: depth is the log's choice.
fn check_blocks(event: &Event<'_>, content: Option<Js<'_>>) -> Check {
    let mut lists: Vec<Js<'_>> = content.into_iter().collect();
    while let Some(list) = lists.pop() {
        for block in list.elements() {
            check_kind(block.get("type"))?;
            check_file(event, block)?;
            lists.extend(block.get("content").filter(|_| is_kind(block, "tool-result")));
        }
    }
    Ok(())
}

fn is_kind(block: Js<'_>, kind: &str) -> bool {
    block.get("type").is_some_and(|found| found.is(kind))
}

fn check_kind(kind: Option<Js<'_>>) -> Check {
    match kind.and_then(Js::as_str) {
        Some(name) if BLOCKS.iter().any(|known| name == *known) => Ok(()),
        Some(_) => unsupported("block-kind", "/data", shown(kind)),
        None => malformed("payload", "/data", format!("a block without a kind: {}", shown(kind))),
    }
}

fn check_file(event: &Event<'_>, block: Js<'_>) -> Check {
    if is_kind(block, "file") {
        check_shape(&FILE, block, event.seq, V2).or_else(shape_fault)?;
    }
    Ok(())
}

/// Only chunks that carry a whole block are looked at; nothing else in a stream is.
fn check_stream(event: &Event<'_>) -> Check {
    const CODE: &str = "stream";
    for (i, record) in event.member("stream").into_iter().flat_map(Js::elements).enumerate() {
        let pointer = || format!("/data/stream/{i}");
        if !record.is_object() {
            return malformed(CODE, pointer(), shown(Some(record)));
        }
        if !is_kind(record, "chunk") {
            continue;
        }
        let Some(chunk) = record.get("chunk").filter(|chunk| chunk.is_object()) else {
            return malformed(CODE, pointer(), shown(record.get("chunk")));
        };
        if is_kind(chunk, "block-start") {
            check_kind(chunk.get("blockType"))?;
        } else if is_kind(chunk, "block-end") {
            let Some(block) = chunk.get("block").filter(|block| block.is_object()) else {
                return malformed(CODE, pointer(), shown(chunk.get("block")));
            };
            check_kind(block.get("type"))?;
            check_shape(&BLOCK, block, event.seq, V2).or_else(shape_fault)?;
            check_file(event, block)?;
            check_blocks(event, block.get("content").filter(|_| is_kind(block, "tool-result")))?;
        }
    }
    Ok(())
}

/// The kinds of sources that V3 can tell apart.
const SOURCES: [&str; 15] = [
    "user",
    "plugin",
    "model",
    "tool",
    "agent-instructions",
    "session-reference",
    "team-message",
    "goal",
    "skill-invocation",
    "skill-catalog",
    "coordinator",
    "subagent-report",
    "subagent-settled",
    "webhook",
    "agent-message",
];

fn check_source(message: Js<'_>) -> Check {
    const POINTER: &str = "/data/source";
    let Some(source) = message.get("source") else { return Ok(()) };
    let kind = source.get("kind");
    if !SOURCES.iter().any(|name| kind.is_some_and(|kind| kind.is(name))) {
        return unsupported("source-kind", POINTER, shown(kind));
    }
    let good = !is_kind_of(source, "agent-message")
        || (source.has_only(&["kind", "form", "senderSessionId"])
            && source.get("form").is_some_and(|form| form.is("relay"))
            && source.get("senderSessionId").and_then(Js::as_str).is_some_and(|id| !id.is_empty()));
    if good { Ok(()) } else { malformed("payload", POINTER, shown(Some(source))) }
}

fn is_kind_of(source: Js<'_>, kind: &str) -> bool {
    source.get("kind").is_some_and(|found| found.is(kind))
}

/// A result of a call that never started has an id of a fixed form; and V3 wants every error to say so in its block.
fn check_result(event: &Event<'_>) -> Check {
    let (Some(error), Some(message)) = (event.member("error"), event.member("message")) else {
        return Ok(());
    };
    let block = message.get("content").and_then(|content| content.elements().next());
    if error.get("code").is_some_and(|code| code.is("TOOL_NOT_STARTED")) && !has_repair_id(message) {
        return malformed("payload", "/data/message/id", shown(message.get("id")));
    }
    if block.and_then(|block| block.get("isError")).is_some_and(Js::is_true) {
        return Ok(());
    }
    malformed("payload", "/data/message/content/0/isError", "an error that does not say so")
}

/// `interrupted-tool-result-<call>-<n>` with a canonical count.
fn has_repair_id(message: Js<'_>) -> bool {
    let text = |value: Option<Js<'_>>| value.and_then(Js::as_str).map(JsStr::to_owned);
    let (Some(id), Some(call)) = (text(message.get("id")), text(message.path(&["source", "callId"]))) else {
        return false;
    };
    let digits = id
        .as_wtf8()
        .strip_prefix(b"interrupted-tool-result-")
        .and_then(|rest| rest.strip_prefix(call.as_wtf8()))
        .and_then(|rest| rest.strip_prefix(b"-"))
        .and_then(|digits| std::str::from_utf8(digits).ok());
    digits.is_some_and(|digits| {
        let number = digits.parse::<u64>().ok().filter(|n| *n <= SAFE_INTEGER);
        number.is_some_and(|n| n.to_string() == digits)
    })
}
