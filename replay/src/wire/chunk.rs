//! What a model's answer is made of, in no provider's dialect (`docs/spec/messages-wire.md`, 9).
//!
//! The types hold what dsh's producers write, and nothing else: a stored chunk with anything more in it is an
//! [`OddChunk`], never half of one. So what is read prints again as it stood. Texts may be one half of a surrogate pair.

use dshlog_codec::json::{Js, JsString, print_number, print_string};

use super::failure::Failure;

/// One piece of an answer, as it came.
#[derive(Clone, Debug, PartialEq)]
pub enum Chunk {
    /// A block begins.
    BlockStart {
        /// Number of the block, by arrival.
        index: u64,
        /// What it will hold.
        kind: BlockKind,
    },
    /// More of a text; may be empty.
    TextDelta {
        /// Number of the block.
        index: u64,
        /// What came.
        text: JsString,
    },
    /// More of the reasoning; may be empty.
    ReasoningDelta {
        /// Number of the block.
        index: u64,
        /// What came.
        text: JsString,
    },
    /// More of a tool call; its arguments may be empty.
    ToolCallDelta {
        /// Number of the block.
        index: u64,
        /// Id of the call; empty while none came (Chat Completions).
        id: JsString,
        /// Name of the tool, where the dialect repeats it.
        name: Option<JsString>,
        /// What came of the arguments.
        arguments: JsString,
    },
    /// A block is complete.
    BlockEnd {
        /// Number of the block.
        index: u64,
        /// All of it.
        block: Block,
    },
    /// What the answer cost.
    Usage(Usage),
    /// The end.
    Finish(Finish),
}

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BlockKind {
    /// Text.
    Text,
    /// Reasoning.
    Reasoning,
    /// A call of a tool.
    ToolCall,
}

/// A complete block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// Text.
    Text(JsString),
    /// Reasoning.
    Reasoning(JsString),
    /// A call of a tool.
    ToolCall {
        /// Its id.
        id: JsString,
        /// Name of the tool.
        name: JsString,
        /// The arguments as the model wrote them, JSON or not.
        arguments: JsString,
    },
}

/// Tokens of an answer, in the order in which they came to be known. That order is in the log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    counts: Vec<(Count, f64)>,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Count {
    /// Tokens of the prompt that were not cached.
    Input,
    /// Tokens of the answer.
    Output,
    /// Tokens of the prompt that were cached.
    CacheRead,
    /// Tokens that were put into the cache.
    CacheWrite,
    /// Tokens of the answer that were reasoning.
    Reasoning,
    /// All of them.
    Total,
}

/// The end of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Finish {
    /// Why.
    pub reason: Reason,
    /// What the provider wants back with the answer.
    pub replay_state: Option<ReplayState>,
}

/// Why an answer ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// The model was done.
    Stop,
    /// It waits for tools.
    ToolCalls,
    /// It came to the limit of tokens.
    MaxTokens,
    /// Something went wrong.
    Error(Failure),
    /// The client gave up.
    Aborted(Failure),
}

/// What Messages wants back with an answer (`docs/spec/messages-wire.md`, 3.4). Its response is of kind
/// `deepseek-messages` and version 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayState {
    /// The model that was asked.
    pub model: JsString,
    /// One entry a block, in their order.
    pub blocks: Vec<ReplayBlock>,
}

/// The entry of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayBlock {
    /// What the block holds.
    pub kind: BlockKind,
    /// Signature of reasoning; may be empty.
    pub signature: Option<JsString>,
}

/// A chunk that no producer writes: which rule it breaks, in a few words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OddChunk(pub &'static str);

impl Chunk {
    /// A chunk as it is stored whole.
    pub fn read(chunk: Js<'_>) -> Result<Chunk, OddChunk> {
        let index = || chunk.get("index").and_then(Js::as_count).ok_or(OddChunk("`index` is no count"));
        let text = |name| string(chunk, name).ok_or(OddChunk("a delta is no string"));
        let only = |names: &[&str]| {
            chunk.has_only(names).then_some(()).ok_or(OddChunk("a chunk with an unknown member"))
        };
        let kind = chunk.get("type").and_then(Js::as_str).ok_or(OddChunk("a chunk without a type"))?;
        match &*kind.to_lossy() {
            "block-start" => {
                only(&["type", "index", "blockType"])?;
                let kind = chunk.get("blockType").and_then(BlockKind::read);
                Ok(Chunk::BlockStart {
                    index: index()?,
                    kind: kind.ok_or(OddChunk("an unknown type of block"))?,
                })
            }
            "text-delta" => {
                only(&["type", "index", "text"])?;
                Ok(Chunk::TextDelta { index: index()?, text: text("text")? })
            }
            "reasoning-delta" => {
                only(&["type", "index", "text"])?;
                Ok(Chunk::ReasoningDelta { index: index()?, text: text("text")? })
            }
            "tool-call-delta" => {
                only(&["type", "index", "id", "name", "argumentsDelta"])?;
                let name = chunk.get("name").map(|_| text("name")).transpose()?;
                let (id, arguments) = (text("id")?, text("argumentsDelta")?);
                Ok(Chunk::ToolCallDelta { index: index()?, id, name, arguments })
            }
            "block-end" => {
                only(&["type", "index", "block"])?;
                let block = chunk.get("block").and_then(Block::read);
                Ok(Chunk::BlockEnd {
                    index: index()?,
                    block: block.ok_or(OddChunk("an unknown form of block"))?,
                })
            }
            "usage" => {
                only(&["type", "usage"])?;
                let usage = chunk.get("usage").and_then(Usage::read);
                Ok(Chunk::Usage(usage.ok_or(OddChunk("an unknown form of usage"))?))
            }
            "finish" => {
                only(&["type", "reason", "replayState"])?;
                let reason = chunk.get("reason").and_then(Reason::read);
                let reason = reason.ok_or(OddChunk("an unknown reason to finish"))?;
                let state = chunk.get("replayState").map(ReplayState::read);
                let replay_state = match state {
                    Some(None) => return Err(OddChunk("an unknown form of replay state")),
                    state => state.flatten(),
                };
                Ok(Chunk::Finish(Finish { reason, replay_state }))
            }
            _ => Err(OddChunk("a chunk of unknown type")),
        }
    }

    /// The failed end of an answer.
    pub fn failed(failure: Failure) -> Chunk {
        Chunk::Finish(Finish { reason: Reason::Error(failure), replay_state: None })
    }

    /// The block that it belongs to.
    pub fn index(&self) -> Option<u64> {
        match self {
            Chunk::BlockStart { index, .. }
            | Chunk::TextDelta { index, .. }
            | Chunk::ReasoningDelta { index, .. }
            | Chunk::ToolCallDelta { index, .. }
            | Chunk::BlockEnd { index, .. } => Some(*index),
            Chunk::Usage(_) | Chunk::Finish(_) => None,
        }
    }

    /// Append the chunk as the runtime prints it.
    pub fn print(&self, out: &mut Vec<u8>) {
        match self {
            Chunk::BlockStart { index, kind } => {
                begin(out, "block-start", *index);
                out.extend_from_slice(b",\"blockType\":\"");
                out.extend_from_slice(kind.name().as_bytes());
                out.extend_from_slice(b"\"}");
            }
            Chunk::TextDelta { index, text } | Chunk::ReasoningDelta { index, text } => {
                let is_text = matches!(self, Chunk::TextDelta { .. });
                begin(out, if is_text { "text-delta" } else { "reasoning-delta" }, *index);
                member(out, "text", text);
                out.push(b'}');
            }
            Chunk::ToolCallDelta { index, id, name, arguments } => {
                begin(out, "tool-call-delta", *index);
                member(out, "id", id);
                if let Some(name) = name {
                    member(out, "name", name);
                }
                member(out, "argumentsDelta", arguments);
                out.push(b'}');
            }
            Chunk::BlockEnd { index, block } => {
                begin(out, "block-end", *index);
                out.extend_from_slice(b",\"block\":");
                block.print(out);
                out.push(b'}');
            }
            Chunk::Usage(usage) => {
                out.extend_from_slice(b"{\"type\":\"usage\",\"usage\":");
                usage.print(out);
                out.push(b'}');
            }
            Chunk::Finish(finish) => {
                out.extend_from_slice(b"{\"type\":\"finish\",\"reason\":");
                finish.reason.print(out);
                if let Some(state) = &finish.replay_state {
                    out.extend_from_slice(b",\"replayState\":");
                    state.print(out);
                }
                out.push(b'}');
            }
        }
    }
}

impl BlockKind {
    /// The word in the log.
    pub fn name(self) -> &'static str {
        match self {
            BlockKind::Text => "text",
            BlockKind::Reasoning => "reasoning",
            BlockKind::ToolCall => "tool-call",
        }
    }

    fn read(name: Js<'_>) -> Option<BlockKind> {
        [BlockKind::Text, BlockKind::Reasoning, BlockKind::ToolCall]
            .into_iter()
            .find(|kind| name.is(kind.name()))
    }
}

impl Block {
    /// What it holds.
    pub fn kind(&self) -> BlockKind {
        match self {
            Block::Text(_) => BlockKind::Text,
            Block::Reasoning(_) => BlockKind::Reasoning,
            Block::ToolCall { .. } => BlockKind::ToolCall,
        }
    }

    /// A block as it stands in a log; nothing for other forms.
    pub fn read(block: Js<'_>) -> Option<Block> {
        let kind = BlockKind::read(block.get("type")?)?;
        let names: &[&str] = match kind {
            BlockKind::Text | BlockKind::Reasoning => &["type", "text"],
            BlockKind::ToolCall => &["type", "id", "name", "arguments"],
        };
        if !block.has_only(names) {
            return None;
        }
        let text = |name| string(block, name);
        Some(match kind {
            BlockKind::Text => Block::Text(text("text")?),
            BlockKind::Reasoning => Block::Reasoning(text("text")?),
            BlockKind::ToolCall => {
                Block::ToolCall { id: text("id")?, name: text("name")?, arguments: text("arguments")? }
            }
        })
    }

    /// Append the block as the runtime prints it.
    pub fn print(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(self.kind().name().as_bytes());
        out.push(b'"');
        match self {
            Block::Text(text) | Block::Reasoning(text) => member(out, "text", text),
            Block::ToolCall { id, name, arguments } => {
                member(out, "id", id);
                member(out, "name", name);
                member(out, "arguments", arguments);
            }
        }
        out.push(b'}');
    }
}

impl Usage {
    /// Nothing is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// The usage in a chunk, a message or a summary.
    pub fn read(usage: Js<'_>) -> Option<Usage> {
        let mut read = Usage::new();
        for (name, value) in usage.is_object().then(|| usage.members())? {
            let count = Count::ALL.into_iter().find(|count| name == *count.name())?;
            read.set(count, value.as_f64().filter(|number| number.is_finite())?);
        }
        Some(read)
    }

    /// How many.
    pub fn get(&self, count: Count) -> Option<f64> {
        self.counts.iter().find(|(known, _)| *known == count).map(|(_, number)| *number)
    }

    /// Set a count: in its place when it is known, else at the end.
    pub fn set(&mut self, count: Count, number: f64) {
        match self.counts.iter_mut().find(|(known, _)| *known == count) {
            Some((_, known)) => *known = number,
            None => self.counts.push((count, number)),
        }
    }

    /// The counts in their order.
    pub fn iter(&self) -> impl Iterator<Item = (Count, f64)> {
        self.counts.iter().copied()
    }

    /// Append the usage as the runtime prints it.
    pub fn print(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        for (place, (count, number)) in self.iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            out.push(b'"');
            out.extend_from_slice(count.name().as_bytes());
            out.extend_from_slice(b"\":");
            print_number(out, number);
        }
        out.push(b'}');
    }
}

impl Count {
    const ALL: [Count; 6] =
        [Count::Input, Count::Output, Count::CacheRead, Count::CacheWrite, Count::Reasoning, Count::Total];

    /// Name in the log.
    pub fn name(self) -> &'static str {
        match self {
            Count::Input => "inputTokens",
            Count::Output => "outputTokens",
            Count::CacheRead => "cacheReadTokens",
            Count::CacheWrite => "cacheWriteTokens",
            Count::Reasoning => "reasoningTokens",
            Count::Total => "totalTokens",
        }
    }
}

impl Reason {
    /// The word in the log.
    pub fn kind(&self) -> &'static str {
        match self {
            Reason::Stop => "stop",
            Reason::ToolCalls => "tool-calls",
            Reason::MaxTokens => "max-tokens",
            Reason::Error(_) => "error",
            Reason::Aborted(_) => "aborted",
        }
    }

    /// What went wrong.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Reason::Error(failure) | Reason::Aborted(failure) => Some(failure),
            Reason::Stop | Reason::ToolCalls | Reason::MaxTokens => None,
        }
    }

    fn read(reason: Js<'_>) -> Option<Reason> {
        let kind = reason.get("kind")?.as_str()?;
        let failed = reason.get("failure");
        let has_failure = kind == "error" || kind == "aborted";
        if !reason.has_only(&["kind", "failure"]) || failed.is_some() != has_failure {
            return None;
        }
        Some(match &*kind.to_lossy() {
            "stop" => Reason::Stop,
            "tool-calls" => Reason::ToolCalls,
            "max-tokens" => Reason::MaxTokens,
            "error" => Reason::Error(Failure::read(failed?)?),
            "aborted" => Reason::Aborted(Failure::read(failed?)?),
            _ => return None,
        })
    }

    /// Append the reason as the runtime prints it.
    pub fn print(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"kind\":\"");
        out.extend_from_slice(self.kind().as_bytes());
        out.push(b'"');
        if let Some(failure) = self.failure() {
            out.extend_from_slice(b",\"failure\":");
            failure.print(out);
        }
        out.push(b'}');
    }
}

impl ReplayState {
    fn read(state: Js<'_>) -> Option<ReplayState> {
        let response = state.get("response")?;
        let is_known = state.has_only(&["response", "blocks"])
            && response.has_only(&["kind", "version", "model"])
            && response.get("kind")?.is("deepseek-messages")
            && response.get("version")?.as_count() == Some(1);
        let blocks = state.get("blocks")?.as_array()?.map(|block| {
            let signature = block.get("signature").map(|_| string(block, "signature"));
            let kind = BlockKind::read(block.get("type")?)?;
            let known = block.has_only(&["type", "signature"]) && signature != Some(None);
            known.then_some(ReplayBlock { kind, signature: signature.flatten() })
        });
        let blocks = blocks.collect::<Option<_>>()?;
        Some(ReplayState { model: string(response, "model")?, blocks }).filter(|_| is_known)
    }

    /// Append the state as the runtime prints it.
    pub fn print(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"response\":{\"kind\":\"deepseek-messages\",\"version\":1");
        member(out, "model", &self.model);
        out.extend_from_slice(b"},\"blocks\":[");
        for (place, block) in self.blocks.iter().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            out.extend_from_slice(b"{\"type\":\"");
            out.extend_from_slice(block.kind.name().as_bytes());
            out.push(b'"');
            if let Some(signature) = &block.signature {
                member(out, "signature", signature);
            }
            out.push(b'}');
        }
        out.extend_from_slice(b"]}");
    }
}

/// A string member, in full.
pub(super) fn string(of: Js<'_>, name: &str) -> Option<JsString> {
    Some(of.get(name)?.as_str()?.to_owned())
}

/// Append a comma and a string member. Names of the format need no escapes.
pub(super) fn member(out: &mut Vec<u8>, name: &str, value: &JsString) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
    print_string(out, value);
}

fn begin(out: &mut Vec<u8>, kind: &str, index: u64) {
    out.extend_from_slice(format!("{{\"type\":\"{kind}\",\"index\":{index}").as_bytes());
}
