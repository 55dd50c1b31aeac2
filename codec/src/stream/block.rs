//! The blocks that a stream amounts to.

use crate::json::{Js, JsStr, JsString, deep_equal, print, print_str, print_string};
use crate::pack::DeltaKind;

/// One content block of an answer.
#[derive(Clone, Debug)]
pub enum Block<'a> {
    /// What a `block-end` fixed: any value.
    Fixed(Js<'a>),
    /// Text out of deltas.
    Text(JsString),
    /// Reasoning out of deltas.
    Reasoning(JsString),
    /// A tool call out of deltas.
    ToolCall {
        /// Id of the call; `call-<index>` when no delta had one.
        id: Part<'a>,
        /// Name of the tool; empty when no delta had one.
        name: Part<'a>,
        /// The arguments as the model wrote them.
        arguments: JsString,
    },
}

/// A value that a delta set. Only runs promise that it is a string.
#[derive(Clone, Debug)]
pub enum Part<'a> {
    /// A string of a run.
    Str(JsStr<'a>),
    /// A member of a chunk that was stored whole.
    Whole(Js<'a>),
    /// What stands in for a value that never came.
    Made(JsString),
}

impl Part<'_> {
    /// True when `stored` is the same value.
    pub fn equals(&self, stored: Js<'_>) -> bool {
        match self {
            Part::Str(text) => stored.as_str().is_some_and(|stored| stored == *text),
            Part::Whole(value) => deep_equal(*value, stored),
            Part::Made(text) => is_text(text, stored),
        }
    }

    fn print(&self, out: &mut Vec<u8>) {
        match self {
            Part::Str(text) => print_str(out, *text),
            Part::Whole(value) => print(out, *value),
            Part::Made(text) => print_string(out, text),
        }
    }
}

impl Block<'_> {
    /// True for tool calls, whichever way they came.
    pub fn is_tool_call(&self) -> bool {
        match self {
            Block::Fixed(block) => {
                block.get("type").is_some_and(|kind| kind.is(block_type(DeltaKind::ToolCall)))
            }
            Block::ToolCall { .. } => true,
            Block::Text(_) | Block::Reasoning(_) => false,
        }
    }

    /// True when `stored` is deeply equal to this block.
    pub fn equals(&self, stored: Js<'_>) -> bool {
        let made = |kind, names: &[&str]| {
            stored.is_object()
                && stored.has_only(names)
                && stored.get("type").is_some_and(|value| value.is(block_type(kind)))
        };
        let member = |name, equals: &dyn Fn(Js<'_>) -> bool| stored.get(name).is_some_and(equals);
        match self {
            Block::Fixed(block) => deep_equal(*block, stored),
            Block::Text(text) => {
                made(DeltaKind::Text, &["type", "text"]) && member("text", &|value| is_text(text, value))
            }
            Block::Reasoning(text) => {
                made(DeltaKind::Reasoning, &["type", "text"]) && member("text", &|value| is_text(text, value))
            }
            Block::ToolCall { id, name, arguments } => {
                made(DeltaKind::ToolCall, &["type", "id", "name", "arguments"])
                    && member("id", &|value| id.equals(value))
                    && member("name", &|value| name.equals(value))
                    && member("arguments", &|value| is_text(arguments, value))
            }
        }
    }

    /// Append the block as the official code prints it.
    pub fn print(&self, out: &mut Vec<u8>) {
        let begin = |out: &mut Vec<u8>, kind| {
            out.extend_from_slice(b"{\"type\":\"");
            out.extend_from_slice(block_type(kind).as_bytes());
            out.push(b'"');
        };
        match self {
            Block::Fixed(block) => return print(out, *block),
            Block::Text(text) | Block::Reasoning(text) => {
                let text_block = matches!(self, Block::Text(_));
                begin(out, if text_block { DeltaKind::Text } else { DeltaKind::Reasoning });
                out.extend_from_slice(b",\"text\":");
                print_string(out, text);
            }
            Block::ToolCall { id, name, arguments } => {
                begin(out, DeltaKind::ToolCall);
                out.extend_from_slice(b",\"id\":");
                id.print(out);
                out.extend_from_slice(b",\"name\":");
                name.print(out);
                out.extend_from_slice(b",\"arguments\":");
                print_string(out, arguments);
            }
        }
        out.push(b'}');
    }
}

/// `type` of the block that deltas of this kind make.
pub(super) fn block_type(kind: DeltaKind) -> &'static str {
    match kind {
        DeltaKind::Text => "text",
        DeltaKind::Reasoning => "reasoning",
        DeltaKind::ToolCall => "tool-call",
    }
}

/// The kind of a block by its `type`; nothing for types that have no deltas.
pub(super) fn kind_of(block_type: Option<Js<'_>>) -> Option<DeltaKind> {
    let name = block_type?;
    [DeltaKind::Text, DeltaKind::Reasoning, DeltaKind::ToolCall]
        .into_iter()
        .find(|kind| name.is(self::block_type(*kind)))
}

fn is_text(text: &JsString, stored: Js<'_>) -> bool {
    stored.as_str().is_some_and(|stored| *stored.to_wtf8() == *text.as_wtf8())
}
