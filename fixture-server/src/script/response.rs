//! Answers: what is said, in which pieces and when, and how it goes wrong.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// Headers by name. One that the server sets by itself is replaced.
pub type Headers = BTreeMap<String, String>;

/// An answer. Of `message`, `error` and `body` there is at most one; without any the body is empty.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Response {
    /// The HTTP status; 200, or 500 for an `error`, when not said.
    pub status: Option<u16>,
    /// Headers beside, or instead of, the usual ones.
    pub headers: Headers,
    /// A stream of the model, in the dialect of the request.
    pub message: Option<Message>,
    /// An error of the service, in the dialect of the request.
    pub error: Option<ApiError>,
    /// Any other body.
    pub body: Option<Body>,
    /// How the length of the body is told; `chunked` for a stream, else `length`.
    pub framing: Option<Framing>,
    /// How a stream is cut into chunks.
    pub chunks: Chunks,
    /// Nothing is sent before something else was answered.
    pub wait_for: Option<WaitFor>,
    /// When things are sent.
    pub pace: Pace,
    /// How the answer ends before its end.
    pub fault: Option<Fault>,
}

impl Response {
    /// A stream of these blocks.
    pub fn blocks(blocks: impl IntoIterator<Item = Block>) -> Self {
        let message = Message { blocks: blocks.into_iter().collect(), ..Message::default() };
        Response { message: Some(message), ..Response::default() }
    }

    /// A stream of one text.
    pub fn text(text: impl Into<String>) -> Self {
        Response::blocks([Block::text(text)])
    }

    /// An error of the service.
    pub fn error(status: u16, kind: impl Into<String>, message: impl Into<String>) -> Self {
        let error = ApiError { kind: kind.into(), message: message.into(), code: None };
        Response { status: Some(status), error: Some(error), ..Response::default() }
    }
}

/// What the model says: whole blocks, or the parts of a stream one by one.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Message {
    /// Its id; made from the number of the exchange when not said.
    pub id: Option<String>,
    /// Its model; that of the request when not said.
    pub model: Option<String>,
    /// Blocks, each sent whole before the next.
    pub blocks: Vec<Block>,
    /// The stream part by part, instead of blocks.
    pub parts: Vec<Part>,
    /// Why the model stopped: `tool_use` when there is a tool call, else `end_turn`.
    pub stop: Option<Stop>,
    /// The tokens that it cost.
    pub usage: Usage,
    /// An error that ends the stream, instead of the stop.
    pub error: Option<ApiError>,
    /// What is left out of the stream.
    pub omit: Vec<Omit>,
}

impl Message {
    /// Why the model stopped, as the script says or as its parts suggest.
    pub(crate) fn stop_or_default(&self, parts: &[Part]) -> Stop {
        let calls = parts.iter().any(|part| matches!(part, Part::ToolUse { .. }));
        let usual = if calls { Stop::ToolUse } else { Stop::EndTurn };
        self.stop.clone().unwrap_or(usual)
    }
}

/// A block of an answer.
///
/// `split` are places, in characters from the beginning, at which the text goes into another delta; `pieces` are the
/// deltas themselves, which may be empty.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Block {
    /// Text.
    Text {
        /// The text.
        #[serde(default)]
        text: String,
        /// Where it is split.
        #[serde(default)]
        split: Vec<usize>,
        /// Its deltas, instead of `text`.
        #[serde(default)]
        pieces: Vec<String>,
    },
    /// Reasoning.
    Thinking {
        /// The text.
        #[serde(default)]
        text: String,
        /// Where it is split.
        #[serde(default)]
        split: Vec<usize>,
        /// Its deltas, instead of `text`.
        #[serde(default)]
        pieces: Vec<String>,
        /// The signature. Chat Completions has none.
        #[serde(default)]
        signature: Option<String>,
    },
    /// A call of a tool.
    ToolUse {
        /// Its id.
        id: String,
        /// The name of the tool.
        name: String,
        /// The arguments as a value; printed compactly, members in the order of their names.
        #[serde(default)]
        input: Option<Value>,
        /// The arguments as a text, which need not be JSON.
        #[serde(default)]
        arguments: Option<String>,
        /// Where the arguments are split.
        #[serde(default)]
        split: Vec<usize>,
        /// The deltas of the arguments, instead of `input` and `arguments`.
        #[serde(default)]
        pieces: Vec<String>,
        /// `input` stands in the start of the block, and no delta follows.
        #[serde(default)]
        at_start: bool,
    },
}

impl Block {
    /// A text in one piece.
    pub fn text(text: impl Into<String>) -> Self {
        Block::Text { text: text.into(), split: Vec::new(), pieces: Vec::new() }
    }

    /// Reasoning in one piece.
    pub fn thinking(text: impl Into<String>, signature: Option<String>) -> Self {
        Block::Thinking { text: text.into(), split: Vec::new(), pieces: Vec::new(), signature }
    }

    /// A call in one piece.
    pub fn tool_use(id: impl Into<String>, name: impl Into<String>, input: Value) -> Self {
        Block::ToolUse {
            id: id.into(),
            name: name.into(),
            input: Some(input),
            arguments: None,
            split: Vec::new(),
            pieces: Vec::new(),
            at_start: false,
        }
    }
}

/// A part of a stream. Blocks are named by a number of the script's choice, and may be open side by side.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Part {
    /// A block of text begins.
    Text {
        /// Its number.
        index: u32,
    },
    /// A block of reasoning begins.
    Thinking {
        /// Its number.
        index: u32,
    },
    /// A tool call begins.
    ToolUse {
        /// Its number.
        index: u32,
        /// Its id.
        id: String,
        /// The name of the tool.
        name: String,
        /// Arguments that stand in the start of the block; an empty object when not said.
        #[serde(default)]
        input: Option<Value>,
    },
    /// More of a block.
    Delta {
        /// Its number.
        index: u32,
        /// The text, reasoning or piece of arguments.
        text: String,
    },
    /// The signature of a block of reasoning, or a piece of it.
    Signature {
        /// Its number.
        index: u32,
        /// The signature.
        text: String,
    },
    /// A block ends.
    End {
        /// Its number.
        index: u32,
    },
    /// A `ping` event; in Chat Completions a comment.
    Ping {},
    /// A comment line.
    Comment(String),
    /// An event with data as it stands here, which need not be JSON.
    Event {
        /// The value of its `event:` line, if it has one.
        #[serde(default)]
        event: Option<String>,
        /// Its data; of several lines each gets its `data:`.
        data: String,
    },
    /// Bytes of the stream as they stand here.
    Raw(String),
    /// Nothing for so many milliseconds. What was said before is sent before.
    Pause(u64),
}

/// Why the model stopped.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub enum Stop {
    /// It had said all.
    EndTurn,
    /// It wants tools to be called.
    ToolUse,
    /// It reached the limit of tokens.
    MaxTokens,
    /// It met a stop sequence. In Chat Completions a plain stop.
    StopSequence,
    /// Any other word, which both dialects send as it is.
    Other(String),
}

impl From<String> for Stop {
    fn from(word: String) -> Self {
        match word.as_str() {
            "end_turn" => Stop::EndTurn,
            "tool_use" => Stop::ToolUse,
            "max_tokens" => Stop::MaxTokens,
            "stop_sequence" => Stop::StopSequence,
            _ => Stop::Other(word),
        }
    }
}

/// Tokens of a request. What is not said is not sent, but `input` and `output`, which are 0 then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Usage {
    /// Tokens of the request that were not cached.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: Option<u64>,
    /// Tokens written to the cache.
    pub cache_write: Option<u64>,
    /// Tokens of reasoning among those of the answer; only Chat Completions can say.
    pub reasoning: Option<u64>,
    /// No usage is told: an empty object in Messages, no usage chunk in Chat Completions.
    pub untold: bool,
}

/// An error as the service words it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ApiError {
    /// Its type, such as `overloaded_error`; left out when empty.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its message.
    pub message: String,
    /// Its code.
    pub code: Option<String>,
}

/// What can be left out of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Omit {
    /// `message_start`. Chat Completions has none.
    Start,
    /// The ends of blocks. Chat Completions has none.
    BlockEnds,
    /// The stop reason: `message_delta`, or the chunk with `finish_reason`.
    StopReason,
    /// The end: `message_stop`, or `[DONE]`.
    Stop,
    /// The blank line behind the last event.
    LastBlankLine,
}

/// A body that is no stream of the model. One of these.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Body {
    /// A document.
    Json(Value),
    /// A text.
    Text(String),
    /// Writes one by one, each a chunk of its own.
    Writes(Vec<Write>),
    /// The whole answer from the status line on, as writes; nothing is added, and the connection ends with it.
    Verbatim(Vec<Write>),
}

/// Some bytes, and when. Of `text` and `base64` there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Write {
    /// A pause before it, in milliseconds.
    pub pause_ms: u64,
    /// The bytes as a text.
    pub text: Option<String>,
    /// The bytes in Base64.
    pub base64: Option<String>,
}

/// How the length of a body is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Framing {
    /// `transfer-encoding: chunked`.
    Chunked,
    /// `content-length`.
    Length,
    /// Not at all: it ends with the connection.
    Close,
}

/// How a stream is cut into chunks: each is one HTTP chunk and one write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Chunks {
    /// One for each event.
    #[default]
    Events,
    /// One for all.
    Whole,
    /// So many bytes each.
    Size(usize),
    /// At these byte offsets of the body.
    At(Vec<usize>),
}

/// What is answered before, of requests that come side by side.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WaitFor {
    /// The name of another exchange or side rule: its first answer has to be out.
    pub name: String,
    /// So long at most, in milliseconds: nobody may ask for it.
    #[serde(default = "WaitFor::most")]
    pub at_most_ms: u64,
}

impl WaitFor {
    /// An exchange or side rule of this name, for the usual time.
    pub fn named(name: impl Into<String>) -> Self {
        WaitFor { name: name.into(), at_most_ms: WaitFor::most() }
    }

    fn most() -> u64 {
        2000
    }
}

/// When things are sent. Milliseconds; nothing is waited for when not said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pace {
    /// Before the status line.
    pub before_status_ms: u64,
    /// Between the pieces of the head, when `head_bytes` cuts it.
    pub head_pause_ms: u64,
    /// Sends the head so many bytes at a time.
    pub head_bytes: Option<usize>,
    /// Between head and body.
    pub before_body_ms: u64,
    /// Between two chunks.
    pub between_chunks_ms: u64,
}

/// How an answer goes wrong on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// What happens.
    pub how: How,
    /// When it happens.
    #[serde(default)]
    pub after: After,
    /// What was sent gets so long to arrive before a close or reset, in milliseconds.
    #[serde(default = "Fault::settle")]
    pub settle_ms: u64,
}

impl Fault {
    /// This, at that place.
    pub fn new(how: How, after: After) -> Self {
        Fault { how, after, settle_ms: Fault::settle() }
    }

    fn settle() -> u64 {
        20
    }
}

/// What happens to an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// The body ends early, but properly for its framing.
    End,
    /// The connection is closed in order; a chunked body lacks its last chunk.
    Close,
    /// The connection is reset.
    Reset,
    /// Nothing more comes, and the connection stays open until the client leaves or the server's patience ends.
    Stall,
}

/// When it happens to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum After {
    /// Before the status line.
    Nothing,
    /// Behind the head.
    Head,
    /// Behind so many bytes of the body. Inside a chunk, that chunk has told its whole length.
    Bytes(usize),
    /// Behind so many events of the stream.
    Events(usize),
    /// Behind so many chunks.
    Chunks(usize),
    /// Behind the body, instead of its proper end.
    #[default]
    Body,
}
