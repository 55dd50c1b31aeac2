//! From the answers of a record to a script of the fixture server.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dshlog_fixture_server::script::{After, Body, Exchange, Fault, How, Matcher, Response, Side, Write};
use dshlog_fixture_server::{Kind, Script, script};

use super::Answers;
use crate::wire::{End, Framing, Served};

/// A script that gives the answers of a record, one a request, in order; whoever asks for a title gets that of the record.
pub(super) fn script(answers: &Answers) -> Script {
    let exchange = |served| Exchange { respond: response(served), ..Exchange::default() };
    let title =
        answers.title.as_ref().map_or_else(|| "Untitled".to_owned(), |title| title.to_lossy().into_owned());
    let side = Side {
        name: "a title".to_owned(),
        matcher: Matcher { kind: Some(Kind::Title), ..Matcher::default() },
        respond: Response::text(title),
        ..Side::default()
    };
    Script {
        name: "the record".to_owned(),
        exchanges: answers.served.iter().map(exchange).collect(),
        side: vec![side],
        ..Script::default()
    }
}

/// The answer, byte for byte.
fn response(served: &Served) -> Response {
    let framed = |name: &str| ["length", "transfer", "connection"].iter().any(|part| name.contains(part));
    let headers = served.headers.iter().filter(|(name, _)| !framed(name));
    let writes: Vec<Write> = served.writes.iter().map(|write| self::write(&write.bytes)).collect();
    Response {
        status: served.status,
        headers: headers.map(|(name, value)| (name.clone(), value.clone())).collect(),
        body: (!writes.is_empty()).then_some(Body::Writes(writes)),
        framing: match served.framing {
            Some(Framing::Chunked) => Some(script::Framing::Chunked),
            Some(Framing::Close) => Some(script::Framing::Close),
            Some(Framing::Length | Framing::None) | None => None,
        },
        fault: fault(served),
        ..Response::default()
    }
}

/// Instant, whatever the pauses were.
fn write(bytes: &[u8]) -> Write {
    match std::str::from_utf8(bytes) {
        Ok(text) => Write { text: Some(text.to_owned()), ..Write::default() },
        Err(_) => Write { base64: Some(STANDARD.encode(bytes)), ..Write::default() },
    }
}

fn fault(served: &Served) -> Option<Fault> {
    let before = served.status.is_none();
    let at = if before { After::Nothing } else { After::Body };
    match served.end {
        End::Complete if before => Some(Fault::new(How::Close, at)),
        End::Complete => None,
        // A body that ends with its connection ends so.
        End::Closed if served.framing == Some(Framing::Close) => None,
        End::Closed | End::ClosedWithoutTerminator => Some(Fault::new(How::Close, at)),
        End::Reset => Some(Fault::new(How::Reset, at)),
        End::ResetBeforeStatus => Some(Fault::new(How::Reset, After::Nothing)),
        End::Stall => Some(Fault::new(How::Stall, at)),
    }
}
