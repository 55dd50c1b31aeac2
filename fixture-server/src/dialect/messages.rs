//! Answers in Messages (`docs/spec/messages-wire.md`, 7 to 10).

use serde_json::{Value, json};

use super::{Address, Stream};
use crate::script::{Message, Omit, Part, Stop, Usage};

/// What kind a block is decides the name of its deltas.
#[derive(Clone, Copy)]
enum Open {
    Text,
    Thinking,
    ToolUse,
}

/// The stream of a message.
pub(super) fn stream(message: &Message, parts: &[Part], address: Address<'_>) -> Stream {
    let mut out = Stream::default();
    let omits = |what| message.omit.contains(&what);
    if !omits(Omit::Start) {
        event(&mut out, "message_start", json!({ "message": start(message, address) }));
    }
    let mut open: Vec<(u32, Open)> = Vec::new();
    for part in parts {
        if !matches!(part, Part::End { .. }) || !omits(Omit::BlockEnds) {
            write(&mut out, part, &mut open);
        }
    }
    if let Some(error) = &message.error {
        event(
            &mut out,
            "error",
            json!({ "error": super::error::error_object(super::Dialect::Messages, error) }),
        );
    } else {
        if !omits(Omit::StopReason) {
            let stop = message.stop_or_default(parts);
            let delta = json!({ "stop_reason": word(&stop), "stop_sequence": null });
            event(&mut out, "message_delta", json!({ "delta": delta, "usage": usage(message.usage) }));
        }
        if !omits(Omit::Stop) {
            event(&mut out, "message_stop", json!({}));
        }
    }
    if omits(Omit::LastBlankLine) {
        out.cut_last_blank_line();
    }
    out
}

fn write(out: &mut Stream, part: &Part, open: &mut Vec<(u32, Open)>) {
    let mut begin = |index: u32, kind: Open, block: Value| {
        open.retain(|(known, _)| *known != index);
        open.push((index, kind));
        event(out, "content_block_start", json!({ "index": index, "content_block": block }));
    };
    match part {
        Part::Text { index } => begin(*index, Open::Text, json!({ "type": "text", "text": "" })),
        Part::Thinking { index } => {
            begin(*index, Open::Thinking, json!({ "type": "thinking", "thinking": "" }));
        }
        Part::ToolUse { index, id, name, input } => {
            let input = input.clone().unwrap_or_else(|| json!({}));
            begin(
                *index,
                Open::ToolUse,
                json!({ "type": "tool_use", "id": id, "name": name, "input": input }),
            );
        }
        Part::Delta { index, text } => {
            let kind = open.iter().find(|(known, _)| known == index).map_or(Open::Text, |(_, kind)| *kind);
            let delta = match kind {
                Open::Text => json!({ "type": "text_delta", "text": text }),
                Open::Thinking => json!({ "type": "thinking_delta", "thinking": text }),
                Open::ToolUse => json!({ "type": "input_json_delta", "partial_json": text }),
            };
            event(out, "content_block_delta", json!({ "index": index, "delta": delta }));
        }
        Part::Signature { index, text } => {
            let delta = json!({ "type": "signature_delta", "signature": text });
            event(out, "content_block_delta", json!({ "index": index, "delta": delta }));
        }
        Part::End { index } => event(out, "content_block_stop", json!({ "index": index })),
        Part::Ping {} => event(out, "ping", json!({})),
        Part::Comment(text) => out.comment(text),
        Part::Event { event, data } => out.text_event(event.as_deref(), data),
        Part::Raw(text) => out.raw(text.clone().into_bytes()),
        Part::Pause(millis) => out.pause(*millis),
    }
}

/// An event; its name is its type too.
fn event(out: &mut Stream, name: &str, mut data: Value) {
    if let Some(members) = data.as_object_mut() {
        members.insert("type".to_owned(), Value::from(name));
    }
    out.event(Some(name), &data);
}

fn start(message: &Message, address: Address<'_>) -> Value {
    json!({
        "id": address.id,
        "type": "message",
        "role": "assistant",
        "model": address.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": first_usage(message.usage),
    })
}

/// What is known of the cost before the answer. The client merges both, and wants an object here in any case.
fn first_usage(of: Usage) -> Value {
    let mut first = usage(of);
    if let Some(members) = first.as_object_mut().filter(|members| !members.is_empty()) {
        members.insert("output_tokens".to_owned(), Value::from(0));
    }
    first
}

fn usage(usage: Usage) -> Value {
    if usage.untold {
        return json!({});
    }
    let mut out = json!({ "input_tokens": usage.input, "output_tokens": usage.output });
    for (name, count) in
        [("cache_read_input_tokens", usage.cache_read), ("cache_creation_input_tokens", usage.cache_write)]
    {
        if let (Some(members), Some(count)) = (out.as_object_mut(), count) {
            members.insert(name.to_owned(), Value::from(count));
        }
    }
    out
}

fn word(stop: &Stop) -> &str {
    match stop {
        Stop::EndTurn => "end_turn",
        Stop::ToolUse => "tool_use",
        Stop::MaxTokens => "max_tokens",
        Stop::StopSequence => "stop_sequence",
        Stop::Other(word) => word,
    }
}
