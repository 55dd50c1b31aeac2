//! What the stream of one attempt amounts to: content blocks, usage, the end and the replay state
//! (`docs/spec/events-v4.md`, 6.4).
//!
//! An [`Assembler`] takes the chunks in order and follows the official one in every case, also where chunks hold what no
//! provider sends, since a log is migrated for writing only if each answer is what its stream amounts to:
//! [`check_stream`]. Whether a record is well formed is decided in [`crate::pack::stream`].

mod block;
mod check;
#[cfg(test)]
mod tests;
mod text;

use std::borrow::Cow;
use std::collections::HashMap;

use crate::json::{Js, JsStr, JsString, deep_equal};
use crate::pack::{Chunk, DeltaKind, Fault, Record};

pub use block::{Block, Part};
pub use check::check_stream;
pub use text::{append as append_text, is_blank};

use block::kind_of;
use text::{Piece, append, join};

/// Puts together what the chunks of one attempt give. Copies no text before a block is asked for.
#[derive(Clone, Debug, Default)]
pub struct Assembler<'a> {
    /// In the order in which their indices came up.
    drafts: Vec<Draft<'a>>,
    places: HashMap<Key<'a>, usize>,
    usage: Option<Js<'a>>,
    reason: Option<Js<'a>>,
    replay_state: Option<Js<'a>>,
}

/// How a stream ended.
#[derive(Clone, Copy, Debug)]
pub struct Finish<'a> {
    /// The `reason` of the last `finish` that is not `null`; without one the stream counts as stopped.
    pub reason: Option<Js<'a>>,
}

impl<'a> Finish<'a> {
    /// `stop`, `tool-calls`, `max-tokens`, `aborted`, `error`, or whatever stands there; nothing when that is no string.
    pub fn kind(&self) -> Option<JsStr<'a>> {
        self.reason.map_or(Some(JsStr::plain("stop")), |reason| reason.get("kind")?.as_str())
    }

    /// What went wrong, as stored; only `aborted` and `error` have it.
    pub fn failure(&self) -> Option<Js<'a>> {
        self.reason?.get("failure")
    }
}

/// What a provider wants back with the answer.
#[derive(Clone, Debug)]
pub enum ReplayState<'a> {
    /// As the `finish` gave it: any value.
    Whole(Js<'a>),
    /// Without the entries of the tool calls that were dropped, and without members that are not named here.
    Stripped {
        /// Member `response`.
        response: Option<Js<'a>>,
        /// One entry a block that was kept.
        blocks: Vec<Js<'a>>,
    },
}

/// A block on its way.
#[derive(Clone, Debug)]
struct Draft<'a> {
    index: Index<'a>,
    /// Set by what came first; nothing for types that have no deltas.
    kind: Option<DeltaKind>,
    pieces: Vec<Piece<'a>>,
    id: Option<Part<'a>>,
    name: Option<Part<'a>>,
    fixed: Option<Js<'a>>,
}

/// The `index` of a chunk.
#[derive(Clone, Copy, Debug)]
enum Index<'a> {
    Count(u64),
    Whole(Option<Js<'a>>),
}

/// An index by value. JavaScript tells objects and arrays apart even when they are equal, so these have no key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key<'a> {
    Missing,
    Null,
    Bool(bool),
    /// Bits of a double.
    Number(u64),
    /// WTF-8.
    Text(Cow<'a, [u8]>),
}

impl<'a> Assembler<'a> {
    /// Nothing has come yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Take the next chunk.
    pub fn push(&mut self, chunk: Chunk<'a>) -> Result<(), Fault> {
        match chunk {
            Chunk::Whole(chunk) => self.push_whole(chunk),
            Chunk::Delta(run, delta) => {
                let draft = self.draft(Index::Count(run.index), Some(run.kind));
                draft.grow(
                    run.kind,
                    run.id.map(Part::Str),
                    run.name.map(Part::Str),
                    Piece::Delta(delta.text),
                );
                Ok(())
            }
        }
    }

    /// Take all chunks of a record. The same as to push them one by one, in less time.
    pub fn push_record(&mut self, record: Record<'a>) -> Result<(), Fault> {
        match record {
            Record::Chunk { chunk, .. } => self.push_whole(chunk),
            Record::Deltas(run) => {
                let draft = self.draft(Index::Count(run.index), Some(run.kind));
                draft.grow(run.kind, run.id.map(Part::Str), run.name.map(Part::Str), Piece::Run(run));
                Ok(())
            }
        }
    }

    fn push_whole(&mut self, chunk: Js<'a>) -> Result<(), Fault> {
        let chunk_type = chunk.get("type").and_then(Js::as_str).ok_or("a chunk without a type")?;
        let index = Index::Whole(chunk.get("index"));
        if let Some(kind) = DeltaKind::of_chunk(chunk_type) {
            return self.draft(index, Some(kind)).grow_whole(kind, chunk);
        }
        if chunk_type == "block-start" {
            self.draft(index, kind_of(chunk.get("blockType")));
        } else if chunk_type == "block-end" {
            let block =
                chunk.get("block").filter(|block| !block.is_null()).ok_or("a `block-end` without a block")?;
            let draft = self.draft(index, kind_of(block.get("type")));
            if draft.fixed.is_none() && is_truthy(block) {
                draft.fixed = Some(block);
            }
        } else if chunk_type == "usage" {
            self.usage = chunk.get("usage");
        } else if chunk_type == "finish" {
            self.reason = chunk.get("reason").filter(|reason| !reason.is_null());
            self.replay_state = chunk.get("replayState");
        } else {
            return Err("a chunk of unknown type");
        }
        Ok(())
    }

    /// The block of this index; a new one is of this kind.
    fn draft(&mut self, index: Index<'a>, kind: Option<DeltaKind>) -> &mut Draft<'a> {
        let next = self.drafts.len();
        let place = index.key().map_or(next, |key| *self.places.entry(key).or_insert(next));
        if place == next {
            let draft = Draft { index, kind, pieces: Vec::new(), id: None, name: None, fixed: None };
            self.drafts.push(draft);
        }
        &mut self.drafts[place]
    }

    /// The content of the answer: a block for each index, in the order in which they came up. A stream that broke off at
    /// the limit of tokens has lost its tool calls.
    pub fn blocks(&self) -> Result<Vec<Block<'a>>, Fault> {
        let drops = self.drops_tool_calls();
        let kept = self.drafts.iter().filter(|draft| !(drops && draft.is_tool_call()));
        let blocks = kept.map(Draft::block).collect();
        self.check().and(blocks)
    }

    /// The content of an answer that was interrupted: text and reasoning in which there is something to see.
    pub fn interrupted_blocks(&self) -> Result<Vec<Block<'a>>, Fault> {
        let shown = self.drafts.iter().filter_map(|draft| draft.shown_block().transpose());
        shown.collect()
    }

    /// The last usage that came.
    pub fn usage(&self) -> Option<Js<'a>> {
        self.usage
    }

    /// How the stream ended.
    pub fn finish(&self) -> Finish<'a> {
        Finish { reason: self.reason }
    }

    /// The replay state of the last `finish`. When it has entries for blocks, there must be one for each, else it is
    /// worth nothing; those of dropped tool calls go with them.
    pub fn replay_state(&self) -> Result<Option<ReplayState<'a>>, Fault> {
        self.check()?;
        let Some(whole) = self.replay_state else { return Ok(None) };
        let Some(entries) = whole.get("blocks") else { return Ok(Some(ReplayState::Whole(whole))) };
        if length(entries)? != Some(self.drafts.len()) {
            return Ok(None);
        }
        if !self.drops_tool_calls() || !self.drafts.iter().any(Draft::is_tool_call) {
            return Ok(Some(ReplayState::Whole(whole)));
        }
        let entries = entries.as_array().ok_or("`blocks` of the replay state is no array")?;
        let kept = entries.zip(&self.drafts).filter(|(_, draft)| !draft.is_tool_call());
        Ok(Some(ReplayState::Stripped {
            response: whole.get("response"),
            blocks: kept.map(|(entry, _)| entry).collect(),
        }))
    }

    /// Whether every block can be made, also those that are dropped.
    fn check(&self) -> Result<(), Fault> {
        self.drafts.iter().try_for_each(Draft::check)
    }

    fn drops_tool_calls(&self) -> bool {
        self.finish().kind().is_some_and(|kind| kind == "max-tokens")
    }
}

impl<'a> Draft<'a> {
    fn grow_whole(&mut self, kind: DeltaKind, chunk: Js<'a>) -> Result<(), Fault> {
        // What comes behind the end is not looked at.
        if self.fixed.is_some() {
            return Ok(());
        }
        let piece = Piece::whole(chunk.get(kind.text_name()))?;
        let id = chunk.get("id").filter(|id| !id.is_null());
        let name = chunk.get("name").filter(|name| is_truthy(*name));
        self.grow(kind, id.map(Part::Whole), name.map(Part::Whole), piece);
        Ok(())
    }

    fn grow(&mut self, kind: DeltaKind, id: Option<Part<'a>>, name: Option<Part<'a>>, piece: Piece<'a>) {
        let call = kind == DeltaKind::ToolCall;
        // The text of the one and the arguments of the other are apart, and only those of its own kind are ever shown.
        if self.fixed.is_some() || call != (self.kind == Some(DeltaKind::ToolCall)) {
            return;
        }
        self.pieces.push(piece);
        if call {
            self.id = id;
            self.name = name.or(self.name.take());
        }
    }

    fn is_tool_call(&self) -> bool {
        match self.fixed {
            Some(fixed) => Block::Fixed(fixed).is_tool_call(),
            None => self.kind == Some(DeltaKind::ToolCall),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        match (self.fixed, self.kind) {
            (None, None) => Err("a block of unknown type that has no end"),
            (None, Some(DeltaKind::ToolCall)) => self.call_id().map(|_| ()),
            _ => Ok(()),
        }
    }

    fn block(&self) -> Result<Block<'a>, Fault> {
        if let Some(fixed) = self.fixed {
            return Ok(Block::Fixed(fixed));
        }
        Ok(match self.kind.ok_or("a block of unknown type that has no end")? {
            DeltaKind::Text => Block::Text(join(&self.pieces)),
            DeltaKind::Reasoning => Block::Reasoning(join(&self.pieces)),
            DeltaKind::ToolCall => Block::ToolCall {
                id: self.call_id()?,
                name: self.name.clone().unwrap_or(Part::Made(JsString::default())),
                arguments: join(&self.pieces),
            },
        })
    }

    fn call_id(&self) -> Result<Part<'a>, Fault> {
        if let Some(id) = &self.id {
            return Ok(id.clone());
        }
        let mut id = JsString::from("call-");
        match self.index {
            Index::Count(count) => id.push(JsStr::plain(&count.to_string())),
            Index::Whole(value) => append(&mut id, value)?,
        }
        Ok(Part::Made(id))
    }

    /// The block when an interrupted answer keeps it.
    fn shown_block(&self) -> Result<Option<Block<'a>>, Fault> {
        let is_shown = |kind| matches!(kind, Some(DeltaKind::Text | DeltaKind::Reasoning));
        let Some(fixed) = self.fixed else {
            if !is_shown(self.kind) {
                return Ok(None);
            }
            let block = self.block()?;
            let blank = matches!(&block, Block::Text(text) | Block::Reasoning(text) if is_blank(text));
            return Ok((!blank).then_some(block));
        };
        if !is_shown(kind_of(fixed.get("type"))) {
            return Ok(None);
        }
        let text = fixed.get("text").and_then(Js::as_str).ok_or("a block whose `text` is no string")?;
        Ok((!is_blank(&text.to_owned())).then_some(Block::Fixed(fixed)))
    }
}

impl<'a> Index<'a> {
    fn key(self) -> Option<Key<'a>> {
        let value = match self {
            #[expect(clippy::cast_precision_loss, reason = "a count is at most 2^53 - 1")]
            Index::Count(count) => return Some(Key::Number((count as f64).to_bits())),
            Index::Whole(None) => return Some(Key::Missing),
            Index::Whole(Some(value)) => value,
        };
        if let Some(number) = value.as_f64() {
            // Both zeros are one index.
            return Some(Key::Number((number + 0.0).to_bits()));
        }
        if let Some(text) = value.as_str() {
            return Some(Key::Text(text.to_wtf8()));
        }
        if value.is_null() {
            return Some(Key::Null);
        }
        value.as_bool().map(Key::Bool)
    }
}

/// What JavaScript takes for true.
fn is_truthy(value: Js<'_>) -> bool {
    if let Some(text) = value.as_str() {
        return !text.is_empty();
    }
    if let Some(number) = value.as_f64() {
        return number != 0.0;
    }
    !value.is_null() && value.as_bool() != Some(false)
}

/// The member `length` that a value has in JavaScript; nothing when it is no count.
fn length(value: Js<'_>) -> Result<Option<usize>, Fault> {
    if value.is_null() {
        return Err("`blocks` of the replay state is `null`");
    }
    Ok(if let Some(text) = value.as_str() {
        Some(text.to_owned().units().count())
    } else if let Some(elements) = value.as_array() {
        Some(elements.count())
    } else {
        value.get("length").and_then(Js::as_count).and_then(|length| usize::try_from(length).ok())
    })
}

impl ReplayState<'_> {
    /// True when `stored` is deeply equal to it. A member that is not there is not `null`.
    pub fn equals(&self, stored: Js<'_>) -> bool {
        match self {
            ReplayState::Whole(whole) => deep_equal(*whole, stored),
            // The official code makes a member `response` in any case, and what is stored cannot hold `undefined`.
            ReplayState::Stripped { response: None, .. } => false,
            ReplayState::Stripped { response: Some(response), blocks } => {
                let mut kept = blocks.iter();
                stored.has_only(&["response", "blocks"])
                    && stored.get("response").is_some_and(|stored| deep_equal(*response, stored))
                    && stored.get("blocks").and_then(Js::as_array).is_some_and(|mut stored| {
                        stored.all(|entry| kept.next().is_some_and(|kept| deep_equal(*kept, entry)))
                            && kept.next().is_none()
                    })
            }
        }
    }
}
