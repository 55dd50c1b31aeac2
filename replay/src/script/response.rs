//! An answer of the wire as an answer of a script.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dshlog_fixture_server::script::{After, Body, Fault, Framing, How, Response, Write};

use crate::wire::{self, End, Served};

/// The answer, with its pauses or without.
pub(crate) fn response(served: Served, pauses: bool) -> Response {
    let mut response = Response {
        status: served.status,
        headers: served.headers.into_iter().collect(),
        framing: served.framing.map(framing),
        fault: fault(served.status, served.framing, served.end),
        ..Response::default()
    };
    if pauses {
        response.pace.before_status_ms = served.start_delay_ms;
    }
    if served.status.is_some() && served.framing != Some(wire::served::Framing::None) {
        let write = |write| written(write, pauses);
        response.body = Some(Body::Writes(served.writes.into_iter().map(write).collect()));
    }
    response
}

fn framing(framing: wire::served::Framing) -> Framing {
    match framing {
        wire::served::Framing::Chunked => Framing::Chunked,
        wire::served::Framing::Close => Framing::Close,
        wire::served::Framing::Length | wire::served::Framing::None => Framing::Length,
    }
}

fn fault(status: Option<u16>, framing: Option<wire::served::Framing>, end: End) -> Option<Fault> {
    let after = if status.is_some() { After::Body } else { After::Nothing };
    let how = match end {
        End::Complete if status.is_some() => return None,
        End::Closed if framing == Some(wire::served::Framing::Close) => return None,
        End::Complete | End::Closed | End::ClosedWithoutTerminator => How::Close,
        End::Reset | End::ResetBeforeStatus => How::Reset,
        End::Stall => How::Stall,
    };
    Some(Fault::new(how, after))
}

fn written(write: wire::Write, pauses: bool) -> Write {
    let (text, base64) = match String::from_utf8(write.bytes) {
        Ok(text) => (Some(text), None),
        Err(bytes) => (None, Some(STANDARD.encode(bytes.as_bytes()))),
    };
    Write { pause_ms: if pauses { write.delay_ms } else { 0 }, text, base64 }
}
