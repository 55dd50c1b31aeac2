//! Who is asked.

use std::collections::VecDeque;

use dshlog_codec::Millis;
use dshlog_codec::json::{Doc, JsString};

use super::attempt::Recorder;
use super::world::Reading;
use crate::request::Request;
use crate::wire::{Block, BlockKind, Chunk, Count, Failure, Finish, Reason, Usage};

/// Something that answers requests, one at a time.
pub trait Model {
    /// Send a request.
    ///
    /// # Errors
    /// What is no answer at all: then nothing of it is kept, and the turn fails.
    fn open(&mut self, request: Request<'_>) -> Result<(), ModelError>;

    /// Take what came next.
    ///
    /// # Errors
    /// The same; what came before is kept.
    fn read(&mut self, recorder: &mut Recorder) -> Result<Reading, ModelError>;

    /// Nobody waits for the rest.
    fn leave(&mut self) {}
}

/// Why there is no answer, not even one that refuses.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ModelError {
    /// For people.
    pub message: String,
}

impl ModelError {
    /// With this message.
    pub fn new(message: impl Into<String>) -> Self {
        ModelError { message: message.into() }
    }
}

impl Recorder {
    /// Take chunks that came at this time.
    ///
    /// # Errors
    /// What is no chunk.
    pub fn take(&mut self, time: Millis, chunks: impl IntoIterator<Item = Chunk>) -> Result<(), ModelError> {
        let mut text = Vec::new();
        for chunk in chunks {
            text.clear();
            chunk.print(&mut text);
            let doc = Doc::parse(String::from_utf8_lossy(&text).into_owned());
            let doc = doc.map_err(|error| ModelError::new(error.to_string()))?;
            self.chunk(time, doc.root()).map_err(ModelError::new)?;
        }
        Ok(())
    }
}

/// Answers out of a list, in order.
#[derive(Debug, Default)]
pub struct Scripted {
    answers: VecDeque<Vec<Chunk>>,
    open: Vec<Chunk>,
    asked: u64,
    time: Millis,
}

impl Scripted {
    /// A model with these answers.
    pub fn new(answers: impl IntoIterator<Item = Vec<Chunk>>) -> Self {
        Scripted { answers: answers.into_iter().collect(), ..Scripted::default() }
    }

    /// How often it was asked.
    pub fn asked(&self) -> u64 {
        self.asked
    }
}

impl Model for Scripted {
    fn open(&mut self, _request: Request<'_>) -> Result<(), ModelError> {
        self.asked += 1;
        self.time = Millis(self.time.0 + 1);
        let answer = self.answers.pop_front();
        self.open = answer.ok_or_else(|| ModelError::new("the script has no more answers"))?;
        Ok(())
    }

    fn read(&mut self, recorder: &mut Recorder) -> Result<Reading, ModelError> {
        recorder.take(self.time, std::mem::take(&mut self.open))?;
        Ok(Reading::Done)
    }
}

/// An answer that is a text.
pub fn text_answer(text: &str) -> Vec<Chunk> {
    let (index, text) = (0, JsString::from(text));
    let mut chunks = vec![
        Chunk::BlockStart { index, kind: BlockKind::Text },
        Chunk::TextDelta { index, text: text.clone() },
        Chunk::BlockEnd { index, block: Block::Text(text) },
    ];
    chunks.extend(ending(Reason::Stop));
    chunks
}

/// An answer that calls tools: pairs of name and arguments. The ids count on from `first`.
pub fn calls_answer(first: u64, calls: &[(&str, &str)]) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    for (index, (name, arguments)) in (0..).zip(calls) {
        let id = JsString::from(&*format!("call_{}", first + index));
        let (name, arguments) = (JsString::from(*name), JsString::from(*arguments));
        chunks.push(Chunk::BlockStart { index, kind: BlockKind::ToolCall });
        let delta = |name, arguments| Chunk::ToolCallDelta { index, id: id.clone(), name, arguments };
        chunks.push(delta(Some(name.clone()), JsString::default()));
        chunks.push(delta(None, arguments.clone()));
        chunks.push(Chunk::BlockEnd { index, block: Block::ToolCall { id: id.clone(), name, arguments } });
    }
    chunks.extend(ending(Reason::ToolCalls));
    chunks
}

/// An answer that broke off at the limit of tokens.
pub fn cut_answer(text: &str) -> Vec<Chunk> {
    let mut chunks = text_answer(text);
    chunks.truncate(3);
    chunks.extend(ending(Reason::MaxTokens));
    chunks
}

/// An answer that failed.
pub fn failed_answer(message: &str, code: &str) -> Vec<Chunk> {
    vec![Chunk::failed(Failure::new(message, code))]
}

fn ending(reason: Reason) -> [Chunk; 2] {
    let mut usage = Usage::new();
    for (count, number) in [(Count::Input, 1.0), (Count::Output, 1.0), (Count::Total, 2.0)] {
        usage.set(count, number);
    }
    [Chunk::Usage(usage), Chunk::Finish(Finish { reason, replay_state: None })]
}
