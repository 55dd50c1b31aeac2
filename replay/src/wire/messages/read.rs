//! An event stream of Messages becomes chunks (`docs/spec/messages-wire.md`, 7 and 8).

use std::collections::HashMap;

use dshlog_codec::json::{Doc, Js, JsStr, JsString, Tape};
use dshlog_codec::stream::append_text;

use super::super::chunk::{
    Block, BlockKind, Chunk, Count, Finish, Reason, ReplayBlock, ReplayState, Usage, string,
};
use super::super::failure::Failure;
use super::super::sse::Frame;
use super::failure::{malformed, of_error, transport};

/// Counts of the wire in the order in which the client looks for them.
pub(super) const COUNTS: [(&str, Count); 4] = [
    ("input_tokens", Count::Input),
    ("output_tokens", Count::Output),
    ("cache_read_input_tokens", Count::CacheRead),
    ("cache_creation_input_tokens", Count::CacheWrite),
];

/// What the events of a stream amount to.
#[derive(Debug)]
pub(in crate::wire) struct Events {
    model: JsString,
    has_begun: bool,
    /// In the order in which they came.
    blocks: Vec<Open>,
    /// Their places by the index that the endpoint gave them.
    places: HashMap<u64, usize>,
    usage: Usage,
    reason: Option<Reason>,
    /// Room for the next event.
    tape: Tape,
}

/// A block on its way.
#[derive(Debug)]
struct Open {
    block: Block,
    signature: Option<JsString>,
    /// Arguments that came in pieces.
    pieces: JsString,
    is_closed: bool,
}

impl Events {
    /// Before the first event of an answer of this model.
    pub(in crate::wire) fn new(model: JsString) -> Self {
        let mut usage = Usage::new();
        usage.set(Count::Input, 0.0);
        usage.set(Count::Output, 0.0);
        Events {
            model,
            has_begun: false,
            blocks: Vec::new(),
            places: HashMap::new(),
            usage,
            reason: None,
            tape: Tape::new(),
        }
    }

    /// Take the next frame. True when nothing behind it is read.
    pub(in crate::wire) fn take(&mut self, frame: &Frame, out: &mut Vec<Chunk>) -> Result<bool, Failure> {
        let mut tape = std::mem::take(&mut self.tape);
        let taken = match tape.parse(&frame.data) {
            Ok(()) => self.take_event(frame, Js::root(&frame.data, &tape), out),
            Err(_) => Err(malformed("DeepSeek Messages SSE contains invalid JSON")),
        };
        self.tape = tape;
        taken
    }

    fn take_event(
        &mut self,
        frame: &Frame,
        event: Option<Js<'_>>,
        out: &mut Vec<Chunk>,
    ) -> Result<bool, Failure> {
        let event = object(event)?;
        let kind = event.get("type").and_then(Js::as_str).map(JsStr::to_lossy);
        let kind = kind.filter(|kind| frame.event.as_ref().is_none_or(|event| event == kind));
        let kind = kind.ok_or_else(|| malformed("DeepSeek Messages SSE event type mismatch"))?;
        let kind = &*kind;
        match kind {
            "error" => return Err(of_error(Some(event), None)),
            "message_start" => return self.begin(event).map(|()| false),
            "content_block_start"
            | "content_block_delta"
            | "content_block_stop"
            | "message_delta"
            | "message_stop" => {}
            _ => return Ok(false),
        }
        if !self.has_begun {
            return Err(of_stream("event precedes message_start"));
        }
        match kind {
            "content_block_start" => self.start(event, out)?,
            "content_block_delta" => out.extend(self.grow(event)?),
            "content_block_stop" => out.push(self.close(event)?),
            "message_delta" => self.settle(event)?,
            _ => {
                self.stop(out)?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What an answer lacks whose body ends here.
    pub(in crate::wire) fn cut() -> Failure {
        Failure::new("DeepSeek Messages stream ended before message_stop", "STREAM_CLOSED")
    }

    fn begin(&mut self, event: Js<'_>) -> Result<(), Failure> {
        if self.has_begun {
            return Err(of_stream("duplicate message_start"));
        }
        self.count(object(event.get("message"))?.get("usage"))?;
        self.has_begun = true;
        Ok(())
    }

    fn start(&mut self, event: Js<'_>, out: &mut Vec<Chunk>) -> Result<(), Failure> {
        let place = index(event)?;
        if self.places.contains_key(&place) || self.reason.is_some() {
            return Err(of_stream("block starts after settlement or repeats an index"));
        }
        let open = Open::of(event)?;
        let index = self.blocks.len() as u64;
        let kind = open.block.kind();
        out.push(Chunk::BlockStart { index, kind });
        match &open.block {
            Block::Text(text) | Block::Reasoning(text) => {
                if !text.is_empty() {
                    out.push(delta(kind, index, text.clone()));
                }
            }
            Block::ToolCall { id, name, .. } => out.push(Chunk::ToolCallDelta {
                index,
                id: id.clone(),
                name: Some(name.clone()),
                arguments: JsString::default(),
            }),
        }
        self.places.insert(place, self.blocks.len());
        self.blocks.push(open);
        Ok(())
    }

    /// The open block that an event is about, with its number.
    fn open(&mut self, event: Js<'_>) -> Result<(u64, &mut Open), Failure> {
        let place = self.places.get(&index(event)?).copied();
        let open = place.and_then(|place| Some((place as u64, self.blocks.get_mut(place)?)));
        let open = open.filter(|(_, open)| !open.is_closed);
        open.ok_or_else(|| of_stream("delta/stop without an open block"))
    }

    fn grow(&mut self, event: Js<'_>) -> Result<Option<Chunk>, Failure> {
        let (index, open) = self.open(event)?;
        let delta_of = object(event.get("delta"))?;
        let is = |name| delta_of.get("type").is_some_and(|kind| kind.is(name));
        let text = |name| field(delta_of, name);
        let kind = open.block.kind();
        Ok(match &mut open.block {
            Block::Text(whole) if is("text_delta") => {
                let text = text("text")?;
                whole.push_string(&text);
                Some(delta(kind, index, text))
            }
            Block::Reasoning(whole) if is("thinking_delta") => {
                let text = text("thinking")?;
                whole.push_string(&text);
                Some(delta(kind, index, text))
            }
            Block::Reasoning(_) if is("signature_delta") => {
                let text = text("signature")?;
                open.signature.get_or_insert_default().push_string(&text);
                None
            }
            Block::ToolCall { id, .. } if is("input_json_delta") => {
                let arguments = text("partial_json")?;
                open.pieces.push_string(&arguments);
                Some(Chunk::ToolCallDelta { index, id: id.clone(), name: None, arguments })
            }
            _ => {
                let mut what = JsString::from("unsupported delta ");
                spell(&mut what, delta_of.get("type"))?;
                what.push(JsStr::plain(" for "));
                what.push(JsStr::plain(kind.name()));
                return Err(of_stream(what));
            }
        })
    }

    fn close(&mut self, event: Js<'_>) -> Result<Chunk, Failure> {
        let (index, open) = self.open(event)?;
        open.is_closed = true;
        if let Block::ToolCall { arguments, .. } = &mut open.block
            && !open.pieces.is_empty()
        {
            *arguments = std::mem::take(&mut open.pieces);
        }
        Ok(Chunk::BlockEnd { index, block: open.block.clone() })
    }

    fn settle(&mut self, event: Js<'_>) -> Result<(), Failure> {
        let reason = object(event.get("delta"))?.get("stop_reason");
        if let Some(reason) = reason.filter(|reason| !reason.is_null()) {
            let known = reason.as_str().and_then(|reason| stop_reason(&reason.to_lossy()));
            if known.is_none() {
                let mut what = JsString::from("unsupported stop reason ");
                spell(&mut what, Some(reason))?;
                return Err(of_stream(what));
            }
            self.reason = known;
        }
        match event.get("usage") {
            Some(usage) => self.count(Some(usage)),
            None => Ok(()),
        }
    }

    fn stop(&mut self, out: &mut Vec<Chunk>) -> Result<(), Failure> {
        let is_settled = self.blocks.iter().all(|open| open.is_closed);
        let reason = self.reason.take().filter(|_| is_settled);
        let reason =
            reason.ok_or_else(|| of_stream("message_stop without settled blocks and stop reason"))?;
        if self.blocks.is_empty() && reason == Reason::Stop {
            return Err(Failure::new("DeepSeek Messages returned no content", "EMPTY_RESPONSE"));
        }
        if reason != Reason::MaxTokens {
            self.check_arguments()?;
        }
        let mut usage = std::mem::take(&mut self.usage);
        let parts = [Count::Input, Count::Output, Count::CacheRead, Count::CacheWrite];
        // In the order in which the client adds, since doubles do not add up in every order alike.
        usage.set(Count::Total, parts.iter().filter_map(|part| usage.get(*part)).fold(0.0, |a, b| a + b));
        out.push(Chunk::Usage(usage));
        let blocks = std::mem::take(&mut self.blocks).into_iter();
        let blocks = blocks.map(|open| ReplayBlock { kind: open.block.kind(), signature: open.signature });
        let replay_state = ReplayState { model: self.model.clone(), blocks: blocks.collect() };
        out.push(Chunk::Finish(Finish { reason, replay_state: Some(replay_state) }));
        Ok(())
    }

    fn check_arguments(&self) -> Result<(), Failure> {
        for open in &self.blocks {
            let Block::ToolCall { arguments, .. } = &open.block else { continue };
            // A lone surrogate is as good inside a string as its replacement, and as bad outside.
            let parsed = Doc::parse(arguments.to_lossy());
            let parsed = parsed.map_err(|_| of_stream("tool input is invalid JSON"))?;
            object(Some(parsed.root()))?;
        }
        Ok(())
    }

    fn count(&mut self, usage: Option<Js<'_>>) -> Result<(), Failure> {
        let usage = object(usage)?;
        for (name, count) in COUNTS {
            let Some(value) = usage.get(name) else { continue };
            let number = whole(value).ok_or_else(|| of_stream(&*format!("invalid {name}")))?;
            #[expect(clippy::cast_precision_loss, reason = "a count is at most 2^53 - 1")]
            self.usage.set(count, number as f64);
        }
        Ok(())
    }
}

impl Open {
    fn of(event: Js<'_>) -> Result<Open, Failure> {
        let native = object(event.get("content_block"))?;
        let is = |name| native.get("type").is_some_and(|kind| kind.is(name));
        let mut signature = None;
        let block = if is("text") {
            Block::Text(field(native, "text")?)
        } else if is("thinking") {
            let text = field(native, "thinking")?;
            signature = native.get("signature").map(|_| field(native, "signature")).transpose()?;
            Block::Reasoning(text)
        } else if is("tool_use") {
            let (id, name) = (field(native, "id")?, field(native, "name")?);
            let input = crate::request::header::printed(object(native.get("input"))?);
            if id.is_empty() || name.is_empty() {
                return Err(of_stream("empty tool identity"));
            }
            Block::ToolCall { id, name, arguments: JsString::from(&*input) }
        } else {
            let mut message = JsString::from("DeepSeek Messages does not support response block ");
            spell(&mut message, native.get("type"))?;
            return Err(Failure::new(message, "UNSUPPORTED_CONTENT"));
        };
        Ok(Open { block, signature, pieces: JsString::default(), is_closed: false })
    }
}

/// What a word of the wire stands for.
pub(super) fn stop_reason(name: &str) -> Option<Reason> {
    Some(match name {
        "end_turn" | "stop_sequence" => Reason::Stop,
        "tool_use" => Reason::ToolCalls,
        "max_tokens" => Reason::MaxTokens,
        _ => return None,
    })
}

fn delta(kind: BlockKind, index: u64, text: JsString) -> Chunk {
    match kind {
        BlockKind::Reasoning => Chunk::ReasoningDelta { index, text },
        _ => Chunk::TextDelta { index, text },
    }
}

fn of_stream(detail: impl Into<JsString>) -> Failure {
    let mut message = JsString::from("DeepSeek Messages stream: ");
    message.push_string(&detail.into());
    malformed(message)
}

fn object(value: Option<Js<'_>>) -> Result<Js<'_>, Failure> {
    let object = value.filter(|value| value.is_object());
    object.ok_or_else(|| malformed("DeepSeek Messages expected a JSON object"))
}

fn field(of: Js<'_>, name: &str) -> Result<JsString, Failure> {
    string(of, name).ok_or_else(|| malformed("DeepSeek Messages expected a string field"))
}

fn index(event: Js<'_>) -> Result<u64, Failure> {
    event.get("index").and_then(whole).ok_or_else(|| of_stream("invalid block index"))
}

/// A count, or negative zero.
fn whole(value: Js<'_>) -> Option<u64> {
    value.as_count().or_else(|| (value.as_f64() == Some(0.0)).then_some(0))
}

/// Append a value of the wire as JavaScript spells it in a message.
fn spell(message: &mut JsString, value: Option<Js<'_>>) -> Result<(), Failure> {
    append_text(message, value).map_err(|_| transport())
}
