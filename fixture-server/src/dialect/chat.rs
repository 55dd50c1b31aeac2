//! Answers in Chat Completions (`docs/spec/messages-wire.md`, 15.2 to 15.4).

use serde_json::{Map, Value, json};

use super::{Address, Dialect, Stream};
use crate::script::{Message, Omit, Part, Stop, Usage};

/// The stream of a message.
pub(super) fn stream(message: &Message, parts: &[Part], address: Address<'_>) -> Stream {
    let mut chat = Chat { out: Stream::default(), address, blocks: Vec::new() };
    let omits = |what| message.omit.contains(&what);
    for part in parts {
        chat.part(part);
    }
    if let Some(error) = &message.error {
        // There is no such event here: services send the error object as data, and the stream breaks off.
        chat.out.event(None, &json!({ "error": super::error::error_object(Dialect::Chat, error) }));
    } else {
        if !message.usage.untold {
            chat.chunk(json!([]), Some(usage(message.usage)));
        }
        if !omits(Omit::StopReason) {
            let stop = word(&message.stop_or_default(parts)).to_owned();
            chat.chunk(json!([{ "index": 0, "delta": {}, "finish_reason": stop }]), None);
        }
        if !omits(Omit::Stop) {
            chat.out.text_event(None, "[DONE]");
        }
    }
    if omits(Omit::LastBlankLine) {
        chat.out.cut_last_blank_line();
    }
    chat.out
}

struct Chat<'a> {
    out: Stream,
    address: Address<'a>,
    /// The blocks so far, by their number in the script.
    blocks: Vec<(u32, Open)>,
}

#[derive(Clone, Copy)]
enum Open {
    Text,
    Thinking,
    /// A call, by its number among calls.
    Call(usize),
}

impl Chat<'_> {
    fn part(&mut self, part: &Part) {
        match part {
            Part::Text { index } => self.open(*index, Open::Text),
            Part::Thinking { index } => self.open(*index, Open::Thinking),
            Part::ToolUse { index, id, name, input } => {
                let number = self.blocks.iter().filter(|(_, open)| matches!(open, Open::Call(_))).count();
                self.open(*index, Open::Call(number));
                let arguments = input.as_ref().map(crate::json::print).unwrap_or_default();
                let function = json!({ "name": name, "arguments": arguments });
                self.delta(&json!({
                    "tool_calls": [{ "index": number, "id": id, "type": "function", "function": function }],
                }));
            }
            Part::Delta { index, text } => {
                let open = self.blocks.iter().rev().find(|(known, _)| known == index);
                match open.map_or(Open::Text, |(_, open)| *open) {
                    Open::Text => self.delta(&json!({ "content": text })),
                    Open::Thinking => self.delta(&json!({ "reasoning_content": text })),
                    Open::Call(number) => self.delta(&json!({
                        "tool_calls": [{ "index": number, "function": { "arguments": text } }],
                    })),
                }
            }
            // This dialect knows neither signatures nor ends of blocks.
            Part::Signature { .. } | Part::End { .. } => {}
            Part::Ping {} => self.out.comment("ping"),
            Part::Comment(text) => self.out.comment(text),
            Part::Event { event, data } => self.out.text_event(event.as_deref(), data),
            Part::Raw(text) => self.out.raw(text.clone().into_bytes()),
            Part::Pause(millis) => self.out.pause(*millis),
        }
    }

    fn open(&mut self, index: u32, open: Open) {
        self.blocks.push((index, open));
    }

    fn delta(&mut self, delta: &Value) {
        self.chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }]), None);
    }

    fn chunk(&mut self, choices: Value, usage: Option<Value>) {
        let mut chunk = Map::new();
        chunk.insert("id".to_owned(), Value::from(self.address.id));
        chunk.insert("object".to_owned(), Value::from("chat.completion.chunk"));
        chunk.insert("created".to_owned(), Value::from(0));
        chunk.insert("model".to_owned(), Value::from(self.address.model));
        chunk.insert("choices".to_owned(), choices);
        if let Some(usage) = usage {
            chunk.insert("usage".to_owned(), usage);
        }
        self.out.event(None, &Value::Object(chunk));
    }
}

fn usage(usage: Usage) -> Value {
    let cached = usage.cache_read.unwrap_or(0);
    // Tokens written to the cache are tokens of the prompt that nothing else counts here.
    let prompt = usage.input.saturating_add(cached).saturating_add(usage.cache_write.unwrap_or(0));
    let mut out = json!({
        "prompt_tokens": prompt,
        "completion_tokens": usage.output,
        "total_tokens": prompt.saturating_add(usage.output),
    });
    if let Some(members) = out.as_object_mut() {
        if let Some(cached) = usage.cache_read {
            members.insert("prompt_cache_hit_tokens".to_owned(), Value::from(cached));
        }
        if let Some(reasoning) = usage.reasoning {
            members.insert("completion_tokens_details".to_owned(), json!({ "reasoning_tokens": reasoning }));
        }
    }
    out
}

fn word(stop: &Stop) -> &str {
    match stop {
        // To dsh `stop_sequence` is an error in this dialect, and a plain stop in the other.
        Stop::EndTurn | Stop::StopSequence => "stop",
        Stop::ToolUse => "tool_calls",
        Stop::MaxTokens => "length",
        Stop::Other(word) => word,
    }
}
