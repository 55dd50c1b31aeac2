//! What to serve so that the real client records a stream again (`docs/spec/messages-wire.md`, 10, 11, 15.4 and 15.5).
//!
//! Each response is read back before it is handed out: one that does not give the recorded stream is an
//! [`Unrepresentable`], never a guess.

use dshlog_codec::json::{JsString, print_string};
use dshlog_codec::{Millis, Seq};

use super::answer::{BodyEnd, Dialect, Route};
use super::chunk::{BlockKind, Chunk, Count, Finish, Reason, Usage};
use super::failure::Failure;
use super::lenient::lenient;
use super::served::{End, Framing, Served, Write};
use super::{chat, messages};
use crate::stream::is_unsent;

/// The stream of a settled attempt.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a> {
    /// The event that holds it.
    pub seq: Seq,
    /// Its chunks, each with the time at which it came.
    pub chunks: &'a [(Millis, Chunk)],
    /// The log says that a head with a good status came, whether or not chunks did.
    pub is_accepted: bool,
}

/// What is asked of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fidelity {
    /// The client records the same chunks.
    Exact,
    /// A client of the other dialect records the same in the form of 15.5: texts, arguments and the end, but other
    /// boundaries, names and counts.
    Lenient,
}

/// A stream that no response gives.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("no response gives the stream at seq {seq}: {why}")]
pub struct Unrepresentable {
    /// The event that holds it.
    pub seq: Seq,
    /// What there is no form for.
    pub why: Why,
}

/// What there is no form for.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Why {
    /// A chunk that has no form at its place, or none at all.
    #[error("chunk {number} has no form: {what}")]
    Chunk {
        /// Which, from 0.
        number: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A count that the dialect has no words for, or cannot give this value.
    #[error("the dialect cannot tell `{}` {value}", .count.name())]
    Count {
        /// Which.
        count: Count,
        /// Its value; not a number where a count is missing that the client always makes.
        value: f64,
    },
    /// A failure that no answer of an endpoint brings about.
    #[error("no answer brings about {code}: {message}")]
    Failure {
        /// Its code.
        code: JsString,
        /// Its message.
        message: JsString,
    },
    /// A delay that no text of `retry-after` gives.
    #[error("no `retry-after` gives {0} ms")]
    RetryAfter(f64),
    /// A text that a header cannot hold.
    #[error("a header cannot hold {0:?}")]
    Header(JsString),
    /// What was made reads back in another way.
    #[error("the response that comes nearest gives another chunk {number}")]
    Differs {
        /// The first chunk that differs, from 0.
        number: usize,
    },
}

/// The response that gives a recorded stream; nothing when no request was made, so that a server must not wait for one.
///
/// # Errors
/// A stream that no response gives.
pub fn respond(
    recorded: Recorded<'_>,
    dialect: Dialect,
    fidelity: Fidelity,
) -> Result<Option<Served>, Unrepresentable> {
    let failed = |why| Unrepresentable { seq: recorded.seq, why };
    if recorded.failure().is_some_and(is_unsent_failure) {
        return Ok(None);
    }
    let served = match dialect {
        Dialect::Messages => messages::write::respond(recorded, fidelity),
        Dialect::Chat => chat::write::respond(recorded),
    };
    let served = served.map_err(failed)?;
    check(recorded, dialect, fidelity, &served).map_err(failed)?;
    Ok(Some(served))
}

fn is_unsent_failure(failure: &Failure) -> bool {
    failure.status.is_none() && is_unsent(&failure.code.to_lossy(), &failure.message.to_lossy())
}

impl<'a> Recorded<'a> {
    /// The end; nothing when the stream broke off.
    pub fn finish(self) -> Option<&'a Finish> {
        self.chunks.iter().rev().find_map(|(_, chunk)| match chunk {
            Chunk::Finish(finish) => Some(finish),
            _ => None,
        })
    }

    /// What went wrong.
    pub fn failure(self) -> Option<&'a Failure> {
        self.finish()?.reason.failure()
    }

    pub(super) fn usage(self) -> Option<&'a Usage> {
        self.chunks.iter().rev().find_map(|(_, chunk)| match chunk {
            Chunk::Usage(usage) => Some(usage),
            _ => None,
        })
    }

    /// Something came before the end.
    pub(super) fn has_begun(self) -> bool {
        self.is_accepted || self.chunks.iter().any(|(_, chunk)| !matches!(chunk, Chunk::Finish(_)))
    }

    /// What a client must know to record it again.
    fn route(self, dialect: Dialect) -> Route {
        let state = self.finish().and_then(|finish| finish.replay_state.as_ref());
        let message =
            self.failure().map(|failure| failure.message.to_lossy().into_owned()).unwrap_or_default();
        let idle = chat::write::idle_timeout(&message).unwrap_or(0);
        let base = chat::write::base(&message).unwrap_or_default().to_owned();
        Route {
            dialect,
            model: state.map(|state| state.model.clone()).unwrap_or_default(),
            base,
            idle_timeout_ms: idle,
        }
    }
}

/// Read the response back.
fn check(recorded: Recorded<'_>, dialect: Dialect, fidelity: Fidelity, served: &Served) -> Result<(), Why> {
    let route = recorded.route(dialect);
    let mut read = Vec::new();
    let mut reader = served.read(route.clone(), &mut read);
    if served.end == End::Stall && recorded.finish().is_some() {
        reader.end(BodyEnd::Idle, &mut read);
    }
    let mut chunks: Vec<&Chunk> = recorded.chunks.iter().map(|(_, chunk)| chunk).collect();
    if recorded.finish().is_none() {
        // A client that was cancelled behind the start of a block had seen a frame whose rest nobody knows.
        if let Some(Chunk::BlockStart { kind, .. }) = chunks.last()
            && (dialect == Dialect::Chat || *kind == BlockKind::ToolCall)
        {
            chunks.pop();
        }
        if is_cut_in_last(served, route, &chunks, &read) {
            return Ok(());
        }
    }
    if fidelity == Fidelity::Lenient {
        let (wanted, found) = (lenient(chunks.iter().copied()), lenient(read.iter()));
        return first_difference(&wanted.iter().collect::<Vec<_>>(), &found.iter().collect::<Vec<_>>());
    }
    first_difference(&chunks, &read.iter().collect::<Vec<_>>())
}

/// True when a client that is cancelled while it goes through the chunks of the last frame records these.
fn is_cut_in_last(served: &Served, route: Route, chunks: &[&Chunk], read: &[Chunk]) -> bool {
    let mut shorter = Served { end: End::Stall, ..served.clone() };
    shorter.writes.pop();
    let mut before = Vec::new();
    shorter.read(route, &mut before);
    before.len() <= chunks.len()
        && chunks.len() <= read.len()
        && chunks.iter().zip(read).all(|(a, b)| *a == b)
}

fn first_difference(wanted: &[&Chunk], found: &[&Chunk]) -> Result<(), Why> {
    let number = wanted.iter().zip(found).take_while(|(wanted, found)| wanted == found).count();
    if number < wanted.len().max(found.len()) { Err(Why::Differs { number }) } else { Ok(()) }
}

/// Writes the frames of an event stream, one write a frame, with the pauses of the record.
#[derive(Debug, Default)]
pub(super) struct Frames {
    writes: Vec<Write>,
    last: Option<Millis>,
    delay_ms: u64,
}

impl Frames {
    /// The next chunk came at this time.
    pub(super) fn at(&mut self, time: Millis) {
        let gap = self.last.map_or(0, |last| time.0.saturating_sub(last.0));
        self.delay_ms = self.delay_ms.saturating_add(u64::try_from(gap).unwrap_or(0));
        self.last = Some(time);
    }

    /// Write a frame. The data has no line end but LF.
    pub(super) fn write(&mut self, event: Option<&str>, data: &[u8]) {
        let mut bytes = Vec::with_capacity(data.len() + 32);
        if let Some(event) = event {
            bytes.extend_from_slice(format!("event: {event}\n").as_bytes());
        }
        for line in data.split(|byte| *byte == b'\n') {
            bytes.extend_from_slice(b"data: ");
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
        }
        bytes.push(b'\n');
        self.writes.push(Write { delay_ms: std::mem::take(&mut self.delay_ms), bytes });
    }

    /// A stream that ends in this way.
    pub(super) fn served(self, end: End) -> Served {
        let content_type = ("content-type".to_owned(), "text/event-stream".to_owned());
        Served {
            status: Some(200),
            headers: [content_type].into(),
            framing: Some(Framing::Chunked),
            start_delay_ms: 0,
            writes: self.writes,
            end,
        }
    }
}

/// No head comes.
pub(super) fn headless(end: End) -> Served {
    Served { status: None, headers: [].into(), framing: None, start_delay_ms: 0, writes: Vec::new(), end }
}

/// A head without a body.
pub(super) fn bodiless(status: u16) -> Served {
    let framing = Some(Framing::None);
    Served { status: Some(status), framing, ..headless(End::Complete) }
}

/// How an endpoint words an error so that the client puts it into a class: member of the error, and its value.
pub(super) type Wording = Option<(&'static str, &'static str)>;

/// Wordings of errors, in the order in which they are tried (11.1).
pub(super) const WORDINGS: [Wording; 7] = [
    None,
    Some(("type", "api_error")),
    Some(("type", "authentication_error")),
    Some(("type", "rate_limit_error")),
    Some(("type", "invalid_request_error")),
    Some(("code", "insufficient_quota")),
    Some(("code", "context_length_exceeded")),
];

/// The body of an error.
pub(super) fn error_body(wording: Wording, message: &JsString) -> Vec<u8> {
    let mut body = b"{\"type\":\"error\",\"error\":{".to_vec();
    if let Some((name, value)) = wording {
        body.extend_from_slice(format!("\"{name}\":\"{value}\",").as_bytes());
    }
    body.extend_from_slice(b"\"message\":");
    print_string(&mut body, message);
    body.extend_from_slice(b"}}");
    body
}

/// An answer that refuses.
pub(super) fn refusal(
    failure: &Failure,
    status: u16,
    id_header: &str,
    retry_after: impl Fn(f64) -> Option<String>,
    class: impl Fn(Wording) -> String,
) -> Result<Served, Why> {
    let code = failure.code.to_lossy();
    let wording = WORDINGS.into_iter().find(|wording| class(*wording) == code);
    let wording = wording.ok_or_else(|| no_answer(failure))?;
    let mut served = bodiless(status);
    served.framing = Some(Framing::Length);
    served.headers.insert("content-type".to_owned(), "application/json".to_owned());
    if let Some(id) = &failure.request_id {
        let plain = id.as_str().filter(|id| id.bytes().all(|byte| (b' '..=b'~').contains(&byte)));
        let plain = plain.ok_or_else(|| Why::Header(id.clone()))?;
        served.headers.insert(id_header.to_owned(), plain.to_owned());
    }
    if let Some(delay) = failure.provider_retry_after_ms {
        let text = retry_after(delay).ok_or(Why::RetryAfter(delay))?;
        served.headers.insert("retry-after".to_owned(), text);
    }
    served.writes.push(Write { delay_ms: 0, bytes: error_body(wording, &failure.message) });
    Ok(served)
}

/// There is no answer that brings about this failure.
pub(super) fn no_answer(failure: &Failure) -> Why {
    Why::Failure { code: failure.code.clone(), message: failure.message.clone() }
}

/// True when the client was told to stop, which no server can do.
pub(super) fn is_aborted(finish: &Finish) -> bool {
    matches!(finish.reason, Reason::Aborted(_))
}
