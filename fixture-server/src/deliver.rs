//! From the answer of a script to the bytes, pauses and end of one answer on the wire.

use std::collections::HashSet;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::dialect::{self, Address, Dialect, Piece};
use crate::http::{Ending, HeadPlan, Plan, Step, header, reason};
use crate::json;
use crate::script::{After, Body, Chunks, Framing, Headers, How, Response, Write};

/// The request that is answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct For<'a> {
    /// Its dialect.
    pub(crate) dialect: Dialect,
    /// Id and model for the message, when the script does not say.
    pub(crate) address: Address<'a>,
    /// It came as HTTP/1.1, so the client knows chunks.
    pub(crate) chunks: bool,
    /// The connection may go on.
    pub(crate) keep: bool,
}

/// What an answer consists of, before it is cut into chunks.
struct Content {
    pieces: Vec<Piece>,
    kind: Option<&'static str>,
    framing: Framing,
    /// Each piece stays a chunk of its own, whatever the script says of chunks.
    fixed: bool,
}

/// The plan of an answer.
pub(crate) fn plan(response: &Response, request: For<'_>) -> Plan {
    if let Some(Body::Verbatim(writes)) = &response.body {
        return verbatim(response, writes);
    }
    let content = content(response, request);
    let framing = match response.framing.unwrap_or(content.framing) {
        Framing::Chunked if !request.chunks => Framing::Close,
        framing => framing,
    };
    let chunked = framing == Framing::Chunked;
    let whole = length(&content.pieces);
    let events = content.pieces.iter().filter_map(|piece| match piece {
        Piece::Event(bytes) => Some(bytes.len()),
        Piece::Pause(_) => None,
    });
    let events: Vec<usize> = events.collect();
    let mut steps = if content.fixed { fixed(content.pieces) } else { cut(content.pieces, &response.chunks) };
    let fault = response.fault.as_ref();
    let mut told = whole;
    if let Some(fault) = fault {
        let torn = chunked && fault.how != How::End;
        match fault.after {
            After::Nothing | After::Head => steps.clear(),
            After::Bytes(count) => cut_off(&mut steps, count, torn),
            After::Events(count) => cut_off(&mut steps, events.iter().take(count).sum(), torn),
            After::Chunks(count) => keep_chunks(&mut steps, count),
            After::Body => {}
        }
        if fault.how == How::End {
            told = written(&steps);
        }
    }
    pace(&mut steps, response);
    let ending = match (fault.map(|fault| fault.how), framing) {
        (None | Some(How::End), Framing::Close) => Ending::Eof,
        (None | Some(How::End), _) => Ending::Proper,
        (Some(How::Close), _) => Ending::Close,
        (Some(How::Reset), _) => Ending::Reset,
        (Some(How::Stall), _) => Ending::Stall,
    };
    let silent = fault.is_some_and(|fault| fault.after == After::Nothing);
    let head = Head {
        status: response.status.unwrap_or(if response.error.is_some() { 500 } else { 200 }),
        kind: content.kind,
        framing,
        length: told,
        last: ending != Ending::Proper || !request.keep,
    };
    Plan {
        head: (!silent).then(|| head.plan(response)),
        before: Duration::from_millis(response.pace.before_status_ms),
        steps,
        chunked,
        ending: if silent && ending == Ending::Proper { Ending::Eof } else { ending },
        settle: Duration::from_millis(fault.map_or(0, |fault| fault.settle_ms)),
    }
}

fn verbatim(response: &Response, writes: &[Write]) -> Plan {
    let fault = response.fault.as_ref();
    Plan {
        head: None,
        before: Duration::from_millis(response.pace.before_status_ms),
        steps: fixed(pieces_of(writes)),
        chunked: false,
        ending: match fault.map(|fault| fault.how) {
            None | Some(How::End) => Ending::Eof,
            Some(How::Close) => Ending::Close,
            Some(How::Reset) => Ending::Reset,
            Some(How::Stall) => Ending::Stall,
        },
        settle: Duration::from_millis(fault.map_or(0, |fault| fault.settle_ms)),
    }
}

fn content(response: &Response, request: For<'_>) -> Content {
    let whole = |bytes: Vec<u8>, kind| Content {
        pieces: vec![Piece::Event(bytes)],
        kind: Some(kind),
        framing: Framing::Length,
        fixed: false,
    };
    if let Some(message) = &response.message {
        let address = Address {
            id: message.id.as_deref().unwrap_or(request.address.id),
            model: message.model.as_deref().unwrap_or(request.address.model),
        };
        return Content {
            pieces: dialect::stream(request.dialect, message, address).pieces,
            kind: Some("text/event-stream"),
            framing: Framing::Chunked,
            fixed: false,
        };
    }
    if let Some(error) = &response.error {
        let body = json::print(&dialect::error_body(request.dialect, error));
        return whole(body.into_bytes(), "application/json");
    }
    match &response.body {
        Some(Body::Json(value)) => whole(json::print(value).into_bytes(), "application/json"),
        Some(Body::Text(text)) => whole(text.clone().into_bytes(), "text/plain; charset=utf-8"),
        Some(Body::Writes(writes)) => Content {
            pieces: pieces_of(writes),
            kind: Some("text/event-stream"),
            framing: Framing::Chunked,
            fixed: true,
        },
        // Verbatim answers have been dealt with.
        Some(Body::Verbatim(_)) | None => {
            Content { pieces: Vec::new(), kind: None, framing: Framing::Length, fixed: false }
        }
    }
}

fn pieces_of(writes: &[Write]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for write in writes {
        if write.pause_ms > 0 {
            pieces.push(Piece::Pause(write.pause_ms));
        }
        let text = write.text.as_ref().map(|text| text.clone().into_bytes());
        pieces.push(Piece::Event(text.or_else(|| decode(write)).unwrap_or_default()));
    }
    pieces
}

/// The bytes of a write in Base64; nothing when it is none, which the check of scripts has told by then.
pub(crate) fn decode(write: &Write) -> Option<Vec<u8>> {
    STANDARD.decode(write.base64.as_ref()?.as_bytes()).ok()
}

fn length(pieces: &[Piece]) -> usize {
    pieces.iter().map(|piece| if let Piece::Event(bytes) = piece { bytes.len() } else { 0 }).sum()
}

/// One write for each piece. An empty chunk would end a chunked body, so there is none.
fn fixed(pieces: Vec<Piece>) -> Vec<Step> {
    let steps = pieces.into_iter().filter_map(|piece| match piece {
        Piece::Event(bytes) => (!bytes.is_empty()).then_some(Step::Write(bytes)),
        Piece::Pause(millis) => Some(Step::Pause(Duration::from_millis(millis))),
    });
    steps.collect()
}

/// Writes as the script wants its chunks. A pause ends a chunk in any case: what was said before it is sent before it.
fn cut(pieces: Vec<Piece>, chunks: &Chunks) -> Vec<Step> {
    if *chunks == Chunks::Events {
        return fixed(pieces);
    }
    let places: HashSet<usize> =
        if let Chunks::At(places) = chunks { places.iter().copied().collect() } else { HashSet::new() };
    let mut steps = Vec::new();
    let mut open: Vec<u8> = Vec::new();
    let mut at = 0;
    let flush = |open: &mut Vec<u8>, steps: &mut Vec<Step>| {
        if !open.is_empty() {
            steps.push(Step::Write(std::mem::take(open)));
        }
    };
    for piece in pieces {
        match piece {
            Piece::Pause(millis) => {
                flush(&mut open, &mut steps);
                steps.push(Step::Pause(Duration::from_millis(millis)));
            }
            Piece::Event(bytes) => {
                for byte in bytes {
                    let ends = match chunks {
                        Chunks::Events | Chunks::Whole => false,
                        Chunks::Size(size) => open.len() >= (*size).max(1),
                        Chunks::At(_) => places.contains(&at),
                    };
                    if ends {
                        flush(&mut open, &mut steps);
                    }
                    open.push(byte);
                    at += 1;
                }
            }
        }
    }
    flush(&mut open, &mut steps);
    steps
}

fn written(steps: &[Step]) -> usize {
    steps.iter().map(|step| if let Step::Write(bytes) = step { bytes.len() } else { 0 }).sum()
}

/// Ends the body behind so many bytes. `torn`: a chunk that is cut tells the length that it had.
fn cut_off(steps: &mut Vec<Step>, count: usize, torn: bool) {
    let mut left = count;
    for (n, step) in steps.iter_mut().enumerate() {
        let Step::Write(bytes) = step else { continue };
        if bytes.len() <= left {
            left -= bytes.len();
            continue;
        }
        let told = bytes.len();
        bytes.truncate(left);
        if torn && left > 0 {
            *step = Step::Torn { told, bytes: std::mem::take(bytes) };
        }
        steps.truncate(if left > 0 { n + 1 } else { n });
        return;
    }
}

/// Ends the body behind so many chunks, and behind the pauses that follow the last one.
fn keep_chunks(steps: &mut Vec<Step>, count: usize) {
    let mut chunks = 0;
    let end = steps.iter().position(|step| {
        let is_chunk = matches!(step, Step::Write(_));
        chunks += usize::from(is_chunk);
        is_chunk && chunks > count
    });
    steps.truncate(end.unwrap_or(steps.len()));
}

/// Puts in the pauses that the script wants everywhere.
fn pace(steps: &mut Vec<Step>, response: &Response) {
    let pace = response.pace;
    if pace.between_chunks_ms > 0 {
        let mut slow = Vec::with_capacity(steps.len() * 2);
        for step in steps.drain(..) {
            let follows = !slow.is_empty() && !matches!(step, Step::Pause(_));
            if follows {
                slow.push(Step::Pause(Duration::from_millis(pace.between_chunks_ms)));
            }
            slow.push(step);
        }
        *steps = slow;
    }
    if pace.before_body_ms > 0 {
        steps.insert(0, Step::Pause(Duration::from_millis(pace.before_body_ms)));
    }
}

struct Head {
    status: u16,
    kind: Option<&'static str>,
    framing: Framing,
    length: usize,
    last: bool,
}

impl Head {
    fn plan(&self, response: &Response) -> HeadPlan {
        let mut lines = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        for (name, value) in self.usual().into_iter().filter(|(name, _)| !has(&response.headers, name)) {
            header(&mut lines, name, &value);
        }
        for (name, value) in &response.headers {
            header(&mut lines, name, value);
        }
        lines.push_str("\r\n");
        let pause = Duration::from_millis(response.pace.head_pause_ms);
        HeadPlan { bytes: lines.into_bytes(), slow: response.pace.head_bytes.map(|size| (size, pause)) }
    }

    /// What is sent unless the script says otherwise.
    fn usual(&self) -> Vec<(&'static str, String)> {
        let mut headers = Vec::new();
        if let Some(kind) = self.kind {
            headers.push(("content-type", kind.to_owned()));
            if kind == "text/event-stream" {
                headers.push(("cache-control", "no-cache".to_owned()));
            }
        }
        match self.framing {
            Framing::Chunked => headers.push(("transfer-encoding", "chunked".to_owned())),
            // A 204 has no body, and may not tell a length.
            Framing::Length if self.status != 204 => {
                headers.push(("content-length", self.length.to_string()));
            }
            Framing::Length | Framing::Close => {}
        }
        if self.last {
            headers.push(("connection", "close".to_owned()));
        }
        headers
    }
}

fn has(headers: &Headers, name: &str) -> bool {
    headers.keys().any(|known| known.eq_ignore_ascii_case(name))
}
