//! One response as it is served. The words are those of the files that record responses, so a script can be kept as JSON.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dshlog_codec::Millis;
use serde::{Deserialize, Serialize};

use super::answer::{AnswerReader, BodyEnd, Route};
use super::chunk::Chunk;
use super::head::Head;

/// One response, with all that a client can tell apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Served {
    /// The status; nothing when the connection breaks, or stalls, before a status line.
    pub status: Option<u16>,
    /// By their names, in lower case. What the framing needs may be missing.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// How the client is told where the body ends; nothing without a status.
    pub framing: Option<Framing>,
    /// Pause before the status line, in milliseconds.
    #[serde(default)]
    pub start_delay_ms: u64,
    /// The body as it is written.
    pub writes: Vec<Write>,
    /// How it ends.
    pub end: End,
}

/// How a body is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Framing {
    /// Each write is one HTTP chunk.
    Chunked,
    /// The body ends with the connection.
    Close,
    /// By its length, which the head tells.
    Length,
    /// No body.
    None,
}

/// How a response ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// As its framing has it. The event stream inside may still be cut.
    Complete,
    /// By an orderly close of the connection.
    Closed,
    /// Chunked, and the connection is closed in front of the empty last chunk.
    ClosedWithoutTerminator,
    /// By a reset, some time behind the last write.
    Reset,
    /// By a reset instead of an answer.
    ResetBeforeStatus,
    /// Not at all: the connection stays open, and nothing comes.
    Stall,
}

/// Some bytes of a body, written at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "WriteForm", into = "WriteForm")]
pub struct Write {
    /// Pause before it, in milliseconds.
    pub delay_ms: u64,
    /// What is written.
    pub bytes: Vec<u8>,
}

impl Served {
    /// Read the response as the client does. The chunks that come of it are appended to `out`; behind a stall the reader
    /// still waits, and is not over.
    pub fn read(&self, route: Route, out: &mut Vec<Chunk>) -> AnswerReader {
        let mut reader = AnswerReader::new(route);
        if let Some(status) = self.status {
            let headers = self.headers.clone().into_iter().collect();
            reader.begin(Head { status, headers, at: Millis(0) }, out);
            for write in &self.writes {
                reader.push(&write.bytes, out);
            }
        }
        if let Some(how) = self.body_end() {
            reader.end(how, out);
        }
        reader
    }

    /// The same body, at once: for a client to which it is all one when its pieces come.
    #[must_use]
    pub fn at_once(self) -> Self {
        let bytes = self.writes.iter().map(|write| write.bytes.as_slice()).collect::<Vec<_>>().concat();
        let writes = if bytes.is_empty() { Vec::new() } else { vec![Write { delay_ms: 0, bytes }] };
        let is_whole = self.framing == Some(Framing::Chunked) && self.end == End::Complete;
        let framing = if is_whole { Some(Framing::Length) } else { self.framing };
        Served { framing, writes, ..self }
    }

    /// How the client sees the body end; nothing while it waits.
    pub fn body_end(&self) -> Option<BodyEnd> {
        match (self.end, self.framing) {
            (End::Stall, _) => None,
            (End::Complete, _) if self.status.is_some() => Some(BodyEnd::Complete),
            (End::Closed, Some(Framing::Close)) => Some(BodyEnd::Complete),
            _ => Some(BodyEnd::Broken),
        }
    }
}

/// A write as JSON: its text, or its bytes where they are none by themselves.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct WriteForm {
    delay_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

/// A write that is none.
#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error("a write needs `text` or `base64`, and not both")]
    Form,
    #[error("the `base64` of a write does not decode")]
    Base64,
}

impl TryFrom<WriteForm> for Write {
    type Error = WriteError;

    fn try_from(form: WriteForm) -> Result<Self, WriteError> {
        let bytes = match (form.text, form.base64) {
            (Some(text), None) => text.into_bytes(),
            (None, Some(base64)) => STANDARD.decode(base64).map_err(|_| WriteError::Base64)?,
            _ => return Err(WriteError::Form),
        };
        Ok(Write { delay_ms: form.delay_ms, bytes })
    }
}

impl From<Write> for WriteForm {
    fn from(write: Write) -> Self {
        let (text, base64) = match String::from_utf8(write.bytes) {
            Ok(text) => (Some(text), None),
            Err(error) => (None, Some(STANDARD.encode(error.as_bytes()))),
        };
        WriteForm { delay_ms: write.delay_ms, text, base64 }
    }
}
