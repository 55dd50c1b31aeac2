//! Messages and content blocks, wherever they stand (`docs/spec/events-v4.md`, section 6).

use crate::json::Js;

use super::fault::{Check, ensure, refuse, shown};
use super::rule::Rule;
use super::scalar::{is, is_positive, nonempty, object};

/// Which blocks a list may hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Blocks {
    /// No retired `tool-result`.
    Current,
    /// Neither that nor tool changes, which belong to developer messages.
    Plain,
}

/// Refuse a block type that `blocks` does not admit.
pub(super) fn check_block_type(kind: Option<Js<'_>>, blocks: Blocks) -> Check {
    let Some(name) = kind.and_then(Js::as_str) else { return Ok(()) };
    if name == "tool-result" {
        return refuse(Rule::RetiredResultBlock, "", "");
    }
    if blocks == Blocks::Plain && (name == "tool-addition" || name == "tool-removal") {
        return refuse(Rule::ToolChange, "", shown(kind));
    }
    Ok(())
}

/// Direct blocks of a content list. What is no list, and elements that are no objects, are left to others.
pub(super) fn check_blocks(content: Option<Js<'_>>, blocks: Blocks) -> Check {
    let Some(content) = content else { return Ok(()) };
    for (i, block) in content.elements().enumerate() {
        check_block_type(block.get("type"), blocks).map_err(|f| f.under(&format!("/{i}")))?;
    }
    Ok(())
}

/// What no message but a developer message may have, as far as it is there at all.
pub(super) fn check_ordinary(message: Option<Js<'_>>) -> Check {
    let Some(message) = object(message) else { return Ok(()) };
    if let Some(source) = message.get("source") {
        let kind = source.get("kind");
        ensure(!is(kind, "plugin"), Rule::Source, "/source/kind", kind)?;
    }
    let role = message.get("role");
    ensure(!is(role, "developer"), Rule::DeveloperMessage, "/role", role)?;
    check_blocks(message.get("content"), Blocks::Plain).map_err(|f| f.under("/content"))
}

/// A system or developer message names its turn and step, both counted from 1.
pub(super) fn check_step(data: Js<'_>, rule: Rule) -> Check {
    for (member, pointer) in [("turn", "/turn"), ("step", "/step")] {
        let value = data.get(member);
        ensure(is_positive(value), rule, pointer, value)?;
    }
    Ok(())
}

/// A source names its producer.
pub(super) fn check_source(message: Js<'_>) -> Check {
    let source = message.get("source");
    ensure(object(source).is_some(), Rule::Source, "/source", source)?;
    let kind = source.and_then(|s| s.get("kind"));
    ensure(nonempty(kind).is_some_and(|k| k != "plugin"), Rule::Source, "/source/kind", kind)
}

/// Records of an assistant stream. Only `chunk` records that carry a whole block are looked at.
pub(super) fn check_stream(stream: Option<Js<'_>>) -> Check {
    let Some(stream) = stream else { return Ok(()) };
    for (i, record) in stream.elements().enumerate() {
        if !is(record.get("type"), "chunk") {
            continue;
        }
        let Some(chunk) = record.get("chunk") else { continue };
        let kind = chunk.get("type");
        let (block, pointer) = if is(kind, "block-end") {
            (chunk.get("block").and_then(|b| b.get("type")), "block")
        } else if is(kind, "block-start") {
            (chunk.get("blockType"), "blockType")
        } else {
            continue;
        };
        check_block_type(block, Blocks::Plain).map_err(|f| f.under(&format!("/{i}/chunk/{pointer}")))?;
    }
    Ok(())
}
