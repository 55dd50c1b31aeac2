//! The answers that a log records, event by event.

use dshlog_codec::json::{Js, JsString};
use dshlog_codec::{Event, Millis, Seq};

use super::answer::Dialect;
use super::chunk::{Block, Chunk, Count, Finish, Reason, ReplayBlock, ReplayState, Usage};
use super::pack::{OddStream, expand};
use super::script::Recorded;

/// A fold over a log of V4, or of an older one that was carried there: it gives the stream of each settled attempt.
///
/// The log tells that the head of an answer came by an acceptance before the settlement. That of a title may fall in between;
/// then a response that has nothing but a head stands for one that has none, which gives the same record.
#[derive(Clone, Debug, Default)]
pub struct Recordings {
    is_accepted: bool,
}

/// The stream of a settled attempt.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// The event that holds it.
    pub seq: Seq,
    /// Its chunks, each with the time at which it came.
    pub chunks: Vec<(Millis, Chunk)>,
    /// The log says that a head with a good status came.
    pub is_accepted: bool,
}

impl Recordings {
    /// Before the first event.
    pub fn new() -> Self {
        Self::default()
    }

    /// Take the next event. Gives the stream when an attempt is settled there.
    ///
    /// # Errors
    /// A stream that no producer writes. The next event can be taken all the same.
    pub fn see(&mut self, event: &Event<'_>) -> Result<Option<Recording>, OddStream> {
        if event.is("session-log-deepseek/delivery-accepted") {
            self.is_accepted = true;
        }
        let begins = ["step/start", "request/header", "request/context", "llm/retry-started"];
        if begins.iter().any(|kind| event.is(kind)) {
            self.is_accepted = false;
        }
        if !event.is("assistant/message") && !event.is("assistant/attempt") {
            return Ok(None);
        }
        let is_accepted = std::mem::take(&mut self.is_accepted);
        let stream = event.member("stream");
        let chunks = stream.map(expand).transpose()?.unwrap_or_default();
        Ok(Some(Recording { seq: event.seq, chunks, is_accepted }))
    }
}

impl Recording {
    /// It, for [`super::respond`].
    pub fn recorded(&self) -> Recorded<'_> {
        Recorded { seq: self.seq, chunks: &self.chunks, is_accepted: self.is_accepted }
    }
}

/// The chunks of an answer that gives a compaction its summary (`docs/spec/messages-wire.md`, 11.4); nothing when the model
/// was not asked, or what it said is not recorded. Boundaries of fragments are not recorded: each block comes in one.
pub fn summary_answer(event: &Event<'_>, dialect: Dialect) -> Option<Vec<(Millis, Chunk)>> {
    if !event.is("compaction/summary") || !event.member("llmStreamCall").is_some_and(Js::is_true) {
        return None;
    }
    let blocks = event.member("rawOutput")?.as_array()?.map(Block::read).collect::<Option<Vec<_>>>()?;
    let usage = match event.member("usage") {
        Some(usage) => Some(Usage::read(usage)?),
        None => None,
    };
    let model = event.member("model")?.as_str()?.to_owned();
    Some(answer(blocks, usage, model, dialect))
}

/// The chunks of an answer that gives a session this title.
pub fn title_answer(title: JsString, model: JsString, dialect: Dialect) -> Vec<(Millis, Chunk)> {
    answer(vec![Block::Text(title)], None, model, dialect)
}

/// A plain answer with these blocks, each in one piece.
fn answer(
    blocks: Vec<Block>,
    usage: Option<Usage>,
    model: JsString,
    dialect: Dialect,
) -> Vec<(Millis, Chunk)> {
    let is_messages = dialect == Dialect::Messages;
    let state = is_messages.then(|| ReplayState {
        model,
        blocks: blocks.iter().map(|block| ReplayBlock { kind: block.kind(), signature: None }).collect(),
    });
    let (mut chunks, mut ends) = (Vec::new(), Vec::new());
    for (index, block) in (0..).zip(blocks) {
        chunks.push(Chunk::BlockStart { index, kind: block.kind() });
        match &block {
            Block::Text(text) => chunks.push(Chunk::TextDelta { index, text: text.clone() }),
            Block::Reasoning(text) => chunks.push(Chunk::ReasoningDelta { index, text: text.clone() }),
            // A call cannot be a part of a summary or a title.
            Block::ToolCall { .. } => {}
        }
        // One dialect ends a block where it is, the other all of them at the end.
        let end = if is_messages { &mut chunks } else { &mut ends };
        end.push(Chunk::BlockEnd { index, block });
    }
    chunks.append(&mut ends);
    let usage = usage.or_else(|| is_messages.then(zero));
    chunks.extend(usage.map(Chunk::Usage));
    chunks.push(Chunk::Finish(Finish { reason: Reason::Stop, replay_state: state }));
    chunks.into_iter().map(|chunk| (Millis(0), chunk)).collect()
}

/// What the client of Messages makes of no counts.
fn zero() -> Usage {
    let mut usage = Usage::new();
    for count in [Count::Input, Count::Output, Count::Total] {
        usage.set(count, 0.0);
    }
    usage
}
