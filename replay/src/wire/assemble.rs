//! What the chunks of an attempt amount to: content, usage and replay state of its message (`docs/spec/messages-wire.md`,
//! 9, and `docs/spec/events-v4.md`, 6.4).
//!
//! It is the same in all generations. For chunks that come, as they come; a stored stream, which may hold anything, is
//! checked by `dshlog_codec::stream`.

use dshlog_codec::json::JsString;
use dshlog_codec::stream::is_blank;

use super::chunk::{Block, BlockKind, Chunk, Finish, Reason, ReplayState, Usage};

/// Puts together what comes.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    /// In the order in which they came up.
    drafts: Vec<Draft>,
    usage: Option<Usage>,
    finish: Option<Finish>,
}

/// A block on its way.
#[derive(Clone, Debug)]
struct Draft {
    index: u64,
    block: Block,
    /// An end has come; nothing changes it any more.
    is_fixed: bool,
}

impl Assembler {
    /// Nothing has come yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Take the next chunk.
    pub fn push(&mut self, chunk: &Chunk) {
        match chunk {
            Chunk::BlockStart { index, kind } => {
                self.draft(*index, *kind);
            }
            Chunk::TextDelta { index, text } => self.draft(*index, BlockKind::Text).grow(text),
            Chunk::ReasoningDelta { index, text } => self.draft(*index, BlockKind::Reasoning).grow(text),
            Chunk::ToolCallDelta { index, id, name, arguments } => {
                self.draft(*index, BlockKind::ToolCall).call(id, name.as_ref(), arguments);
            }
            Chunk::BlockEnd { index, block } => {
                let draft = self.draft(*index, block.kind());
                if !std::mem::replace(&mut draft.is_fixed, true) {
                    draft.block = block.clone();
                }
            }
            Chunk::Usage(usage) => self.usage = Some(usage.clone()),
            Chunk::Finish(finish) => self.finish = Some(finish.clone()),
        }
    }

    /// The block of this index; a new one is of this kind.
    fn draft(&mut self, index: u64, kind: BlockKind) -> &mut Draft {
        let found = self.drafts.iter().position(|draft| draft.index == index);
        let place = found.unwrap_or(self.drafts.len());
        if found.is_none() {
            self.drafts.push(Draft { index, block: empty(index, kind), is_fixed: false });
        }
        &mut self.drafts[place]
    }

    /// The content of the message. An answer that came to the limit of tokens has lost its tool calls.
    pub fn blocks(&self) -> Vec<Block> {
        self.kept().map(|draft| draft.block.clone()).collect()
    }

    /// The content of the message of a cancelled turn: texts and reasoning in which there is something to see. When there
    /// is none, there is no message but an attempt.
    pub fn interrupted_blocks(&self) -> Vec<Block> {
        let blocks = self.drafts.iter().map(|draft| &draft.block);
        let shown = blocks.filter(|block| match block {
            Block::Text(text) | Block::Reasoning(text) => !is_blank(text),
            Block::ToolCall { .. } => false,
        });
        shown.cloned().collect()
    }

    /// What it cost, as it was last told.
    pub fn usage(&self) -> Option<&Usage> {
        self.usage.as_ref()
    }

    /// How it ended; nothing when it broke off, which counts as a stop.
    pub fn reason(&self) -> Option<&Reason> {
        self.finish.as_ref().map(|finish| &finish.reason)
    }

    /// The replay state of the message: one entry for each of its blocks, or none at all.
    pub fn replay_state(&self) -> Option<ReplayState> {
        let mut state = self.finish.as_ref()?.replay_state.clone()?;
        if state.blocks.len() != self.drafts.len() {
            return None;
        }
        if self.drops_calls() {
            let mut drafts = self.drafts.iter();
            state.blocks.retain(|_| drafts.next().is_some_and(|draft| !draft.is_call()));
        }
        Some(state)
    }

    fn kept(&self) -> impl Iterator<Item = &Draft> {
        let drops = self.drops_calls();
        self.drafts.iter().filter(move |draft| !(drops && draft.is_call()))
    }

    fn drops_calls(&self) -> bool {
        self.reason() == Some(&Reason::MaxTokens)
    }
}

impl Draft {
    fn is_call(&self) -> bool {
        self.block.kind() == BlockKind::ToolCall
    }

    /// Texts and reasoning are one sort: what opened the block stays.
    fn grow(&mut self, more: &JsString) {
        if self.is_fixed {
            return;
        }
        if let Block::Text(text) | Block::Reasoning(text) = &mut self.block {
            text.push_string(more);
        }
    }

    fn call(&mut self, known: &JsString, called: Option<&JsString>, more: &JsString) {
        if self.is_fixed {
            return;
        }
        if let Block::ToolCall { id, name, arguments } = &mut self.block {
            id.clone_from(known);
            if let Some(called) = called.filter(|called| !called.is_empty()) {
                name.clone_from(called);
            }
            arguments.push_string(more);
        }
    }
}

/// A block of which nothing has come but its start.
fn empty(index: u64, kind: BlockKind) -> Block {
    let none = JsString::default;
    match kind {
        BlockKind::Text => Block::Text(none()),
        BlockKind::Reasoning => Block::Reasoning(none()),
        BlockKind::ToolCall => {
            Block::ToolCall { id: JsString::from(&*format!("call-{index}")), name: none(), arguments: none() }
        }
    }
}
