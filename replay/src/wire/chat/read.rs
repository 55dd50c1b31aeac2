//! An event stream of Chat Completions becomes chunks (`docs/spec/messages-wire.md`, 15.2 and 15.3).

use dshlog_codec::json::{Doc, Js, JsStr, JsString, SAFE_INTEGER};

use super::super::chunk::{Block, BlockKind, Chunk, Count, Finish, Reason, Usage, string};
use super::super::failure::Failure;
use super::super::sse::Frame;
use super::failure::broken;

/// So much of a text that is no JSON is told, in UTF-16 code units.
pub(super) const SHOWN: usize = 120;

/// What the frames of a stream amount to.
#[derive(Debug)]
pub(in crate::wire) struct Frames {
    base: String,
    /// In the order in which they came.
    blocks: Vec<Open>,
    usage: Option<Usage>,
    reason: Option<JsString>,
}

/// A block on its way. It is complete at the end of the stream only.
#[derive(Debug)]
struct Open {
    /// Of a tool call: its `index` on the wire, as JSON.
    call: Option<String>,
    block: Block,
}

impl Frames {
    /// Before the first frame of an answer from this base address.
    pub(in crate::wire) fn new(base: &str) -> Self {
        Frames { base: base.to_owned(), blocks: Vec::new(), usage: None, reason: None }
    }

    /// Take the next frame. True when nothing behind it is read.
    pub(in crate::wire) fn take(&mut self, frame: &Frame, out: &mut Vec<Chunk>) -> Result<bool, Failure> {
        if frame.data == "[DONE]" {
            self.stop(out)?;
            return Ok(true);
        }
        let doc = Doc::parse(frame.data.as_str()).map_err(|_| malformed(&frame.data))?;
        let event = doc.root();
        let failed = || broken(&self.base);
        if event.is_null() {
            return Err(failed());
        }
        for choice in list(event.get("choices")).ok_or_else(failed)? {
            self.grow(choice, out).ok_or_else(|| broken(&self.base))?;
        }
        if let Some(usage) = event.get("usage").filter(|usage| usage.is_object()) {
            self.usage = Some(usage_of(usage));
        }
        Ok(false)
    }

    /// What an answer lacks whose body ends here.
    pub(in crate::wire) fn cut() -> Failure {
        Failure::new("SSE stream ended without [DONE]", "STREAM_CLOSED")
    }

    /// Take what a choice brings. Nothing at what the client cannot walk over.
    fn grow(&mut self, choice: Js<'_>, out: &mut Vec<Chunk>) -> Option<()> {
        if choice.is_null() {
            return None;
        }
        let delta = |name| choice.get("delta")?.get(name);
        let text = |name| delta(name).and_then(Js::as_str).filter(|text| !text.is_empty());
        for (name, kind) in [("reasoning_content", BlockKind::Reasoning), ("content", BlockKind::Text)] {
            let Some(text) = text(name) else { continue };
            let (index, open) = self.open(kind, None, out);
            if let Block::Text(whole) | Block::Reasoning(whole) = &mut open.block {
                whole.push(text);
            }
            let text = text.to_owned();
            out.push(match kind {
                BlockKind::Reasoning => Chunk::ReasoningDelta { index, text },
                _ => Chunk::TextDelta { index, text },
            });
        }
        let calls = delta("tool_calls");
        for call in list(calls)? {
            if call.is_null() {
                return None;
            }
            self.grow_call(Some(call), out);
        }
        // JavaScript walks over a string too, and finds a call without any member in each character.
        for _ in calls.and_then(Js::as_str).unwrap_or(JsStr::plain("")).to_lossy().chars() {
            self.grow_call(None, out);
        }
        if let Some(reason) = string(choice, "finish_reason") {
            self.reason = Some(reason);
        }
        Some(())
    }

    fn grow_call(&mut self, call: Option<Js<'_>>, out: &mut Vec<Chunk>) {
        let member = |name| call.and_then(|call| call.get(name));
        let place = member("index").map_or_else(|| "undefined".to_owned(), crate::request::header::printed);
        let (index, open) = self.open(BlockKind::ToolCall, Some(place), out);
        let Block::ToolCall { id, name, arguments } = &mut open.block else { return };
        let text = |of: Option<Js<'_>>, name| of.and_then(|of| string(of, name));
        let function = |name| text(member("function"), name);
        if let Some(known) = text(call, "id").filter(|id| !id.is_empty()) {
            *id = known;
        }
        if let Some(known) = function("name").filter(|name| !name.is_empty()) {
            *name = known;
        }
        let more = function("arguments").unwrap_or_default();
        arguments.push_string(&more);
        out.push(Chunk::ToolCallDelta {
            index,
            id: id.clone(),
            name: Some(name.clone()).filter(|name| !name.is_empty()),
            arguments: more,
        });
    }

    /// The block of this kind, and for calls of this place on the wire, with its number.
    fn open(&mut self, kind: BlockKind, call: Option<String>, out: &mut Vec<Chunk>) -> (u64, &mut Open) {
        let found = self.blocks.iter().position(|open| open.block.kind() == kind && open.call == call);
        let place = found.unwrap_or(self.blocks.len());
        let index = place as u64;
        if found.is_none() {
            out.push(Chunk::BlockStart { index, kind });
            let none = JsString::default;
            let block = match kind {
                BlockKind::Text => Block::Text(none()),
                BlockKind::Reasoning => Block::Reasoning(none()),
                BlockKind::ToolCall => Block::ToolCall { id: none(), name: none(), arguments: none() },
            };
            self.blocks.push(Open { call, block });
        }
        (index, &mut self.blocks[place])
    }

    fn stop(&mut self, out: &mut Vec<Chunk>) -> Result<(), Failure> {
        let is_empty = self.blocks.is_empty();
        let blocks = std::mem::take(&mut self.blocks).into_iter().map(|open| open.block);
        out.extend((0..).zip(blocks).map(|(index, block)| Chunk::BlockEnd { index, block }));
        out.extend(self.usage.take().map(Chunk::Usage));
        let reason = match self.reason.take() {
            None if is_empty => return Err(empty()),
            None => Reason::Stop,
            Some(reason) => match &*reason.to_lossy() {
                "stop" if is_empty => return Err(empty()),
                "stop" => Reason::Stop,
                "tool_calls" => Reason::ToolCalls,
                "length" => Reason::MaxTokens,
                _ => return Err(stopped(&reason)),
            },
        };
        out.push(Chunk::Finish(Finish { reason, replay_state: None }));
        Ok(())
    }
}

fn stopped(reason: &JsString) -> Failure {
    let mut message = JsString::from("model stopped: ");
    message.push_string(reason);
    Failure::new(message, &reason.to_lossy().to_uppercase())
}

/// The elements of a list that may be missing. What is no list the client walks over in vain, and takes for a broken transfer;
/// a string has no elements, but can be walked over.
fn list(value: Option<Js<'_>>) -> Option<impl Iterator<Item = Js<'_>>> {
    let elements = match value.filter(|value| !value.is_null()) {
        None => None,
        Some(value) if value.as_str().is_some() => None,
        Some(value) => Some(value.as_array()?),
    };
    Some(elements.into_iter().flatten())
}

fn empty() -> Failure {
    Failure::new("model returned a completed response with no content", "EMPTY_RESPONSE")
}

fn malformed(data: &str) -> Failure {
    let mut message = JsString::from("malformed SSE payload: ");
    message.push_string(&JsString::from_units(data.encode_utf16().take(SHOWN)));
    Failure::new(message, "MALFORMED_RESPONSE")
}

fn usage_of(wire: Js<'_>) -> Usage {
    let number = |names: &[&str]| wire.path(names).and_then(Js::as_f64);
    let prompt = number(&["prompt_tokens"]);
    let completion = number(&["completion_tokens"]);
    let cached =
        number(&["prompt_tokens_details", "cached_tokens"]).or_else(|| number(&["prompt_cache_hit_tokens"]));
    let mut usage = Usage::new();
    // The client subtracts from what is not there, too, and tells the result as `null`.
    usage.set(Count::Input, prompt.unwrap_or(f64::NAN) - cached.unwrap_or(0.0));
    if let Some(completion) = completion {
        usage.set(Count::Output, completion);
    }
    if let (Some(prompt), Some(completion)) = (prompt, completion) {
        #[expect(clippy::cast_precision_loss, reason = "it is the largest integer that loses nothing")]
        let is_safe = |count: f64| count >= 0.0 && count.fract() == 0.0 && count <= SAFE_INTEGER as f64;
        let total = prompt + completion;
        let is_told = wire.get("total_tokens").is_none_or(|told| told.as_f64() == Some(total));
        if is_safe(prompt) && is_safe(completion) && is_safe(total) && is_told {
            usage.set(Count::Total, total);
        }
    }
    if let Some(cached) = cached {
        usage.set(Count::CacheRead, cached);
    }
    if let Some(reasoning) = number(&["completion_tokens_details", "reasoning_tokens"]) {
        usage.set(Count::Reasoning, reasoning);
    }
    usage
}
