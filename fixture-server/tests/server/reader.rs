//! A small reader of model streams, by the words of `docs/spec/messages-wire.md`, 8 and 15.2.

use serde_json::Value;

use crate::common::Event;

/// What a stream says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Heard {
    pub(crate) blocks: Vec<Block>,
    pub(crate) stop: Option<String>,
    pub(crate) usage: Value,
    pub(crate) done: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Block {
    pub(crate) kind: String,
    pub(crate) id: String,
    pub(crate) name: String,
    /// What the start of a call holds.
    pub(crate) input: Value,
    pub(crate) pieces: Vec<String>,
    pub(crate) signature: Option<String>,
    pub(crate) ended: bool,
}

/// Reads a stream; nothing when an event is not as it should be.
pub(crate) fn messages(events: &[Event]) -> Option<Heard> {
    let mut heard = Heard { usage: Value::Object(serde_json::Map::new()), ..Heard::default() };
    let mut open: Vec<(u64, usize)> = Vec::new();
    let merge = |usage: &Value, into: &mut Value| {
        for (name, value) in usage.as_object().into_iter().flatten() {
            into[name] = value.clone();
        }
    };
    for event in events {
        let data = dshlog_fixture_server::json::parse(event.data.as_bytes()).ok()?;
        let kind = data.get("type")?.as_str()?;
        if event.name.as_deref() != Some(kind) {
            return None;
        }
        let block = |heard: &mut Heard| -> Option<usize> {
            let index = data.get("index")?.as_u64()?;
            let (_, local) = open.iter().rev().find(|(wire, _)| *wire == index)?;
            heard.blocks.get(*local).filter(|block| !block.ended)?;
            Some(*local)
        };
        match kind {
            "message_start" => merge(data.pointer("/message/usage")?, &mut heard.usage),
            "content_block_start" => {
                let start = data.get("content_block")?;
                let text =
                    |name: &str| start.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
                let kind = text("type");
                if !["text", "thinking", "tool_use"].contains(&kind.as_str()) {
                    return None;
                }
                open.push((data.get("index")?.as_u64()?, heard.blocks.len()));
                let first = Some(text(&kind)).filter(|text| !text.is_empty());
                let input = start.get("input").cloned().unwrap_or_default();
                let (id, name) = (text("id"), text("name"));
                heard.blocks.push(Block {
                    kind,
                    id,
                    name,
                    input,
                    pieces: first.into_iter().collect(),
                    ..Block::default()
                });
            }
            "content_block_delta" => {
                let delta = data.get("delta")?;
                let local = block(&mut heard)?;
                let block = heard.blocks.get_mut(local)?;
                let (kind, member) = match delta.get("type")?.as_str()? {
                    "text_delta" => ("text", "text"),
                    "thinking_delta" => ("thinking", "thinking"),
                    "input_json_delta" => ("tool_use", "partial_json"),
                    "signature_delta" => {
                        block.signature.get_or_insert_default().push_str(delta.get("signature")?.as_str()?);
                        continue;
                    }
                    _ => return None,
                };
                if block.kind != kind {
                    return None;
                }
                block.pieces.push(delta.get(member)?.as_str()?.to_owned());
            }
            "content_block_stop" => {
                let local = block(&mut heard)?;
                heard.blocks.get_mut(local)?.ended = true;
            }
            "message_delta" => {
                if let Some(stop) = data.pointer("/delta/stop_reason").and_then(Value::as_str) {
                    heard.stop = Some(stop.to_owned());
                }
                if let Some(usage) = data.get("usage") {
                    merge(usage, &mut heard.usage);
                }
            }
            "message_stop" => {
                heard.done = true;
                break;
            }
            "ping" => {}
            // An error event ends a stream; other types are for later versions.
            _ => return None,
        }
    }
    Some(heard)
}

/// Reads a stream of Chat Completions. There blocks have no ends, and calls their place among calls.
pub(crate) fn chat(events: &[Event]) -> Option<Heard> {
    let mut heard = Heard::default();
    for event in events {
        if event.data == "[DONE]" {
            heard.done = true;
            break;
        }
        let data = dshlog_fixture_server::json::parse(event.data.as_bytes()).ok()?;
        for choice in data.get("choices").and_then(Value::as_array).into_iter().flatten() {
            let delta = choice.get("delta").unwrap_or(&Value::Null);
            for (member, kind) in [("reasoning_content", "thinking"), ("content", "text")] {
                let text = delta.get(member).and_then(Value::as_str).filter(|text| !text.is_empty());
                if let Some(text) = text {
                    place(&mut heard, kind, "").pieces.push(text.to_owned());
                }
            }
            for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
                let index = call.get("index")?.to_string();
                let block = place(&mut heard, "tool_use", &index);
                let text = |pointer: &str| call.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
                for (known, told) in [(&mut block.id, text("/id")), (&mut block.name, text("/function/name"))]
                {
                    if !told.is_empty() {
                        told.clone_into(known);
                    }
                }
                block.pieces.push(text("/function/arguments").to_owned());
            }
            if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str) {
                heard.stop = Some(reason.to_owned());
            }
        }
        if let Some(usage) = data.get("usage").filter(|usage| usage.is_object()) {
            heard.usage = usage.clone();
        }
    }
    Some(heard)
}

/// The block of a kind, of calls the one with this number; a new one when there is none. The number stays in `input`.
fn place<'h>(heard: &'h mut Heard, kind: &str, index: &str) -> &'h mut Block {
    let known = heard.blocks.iter().position(|block| block.kind == kind && block.input == *index);
    let at = known.unwrap_or_else(|| {
        heard.blocks.push(Block { kind: kind.to_owned(), input: index.into(), ..Block::default() });
        heard.blocks.len() - 1
    });
    &mut heard.blocks[at]
}
