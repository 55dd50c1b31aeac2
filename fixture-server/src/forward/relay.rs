//! One connection of a client: its requests go to the service, and the answers come back as they come.

use std::sync::Arc;
use std::thread;
use std::time::Instant;

use serde_json::json;
use tokio::sync::mpsc;

use super::upstream::{Came, Upstream};
use super::{Passed, PassedEnd, Piece, Record, Said};
use crate::dialect::{Dialect, Kind, View};
use crate::http::{Connection, Head, Plan, Received, header, reason};
use crate::json::{self, Value};
use crate::matching::conversation;
use crate::script::{Conversation, Framing};

/// Pieces that may wait for the client to read.
const WAITING: usize = 64;

/// Serves a connection, request by request.
pub(super) async fn serve(mut connection: Connection, upstream: Arc<Upstream>, record: Arc<Record>) {
    loop {
        let (head, body) = match connection.receive().await {
            Received::Nothing | Received::Left(_) => return,
            Received::Refused(refusal) => {
                let body = json!({ "error": { "type": "invalid_request_error", "message": refusal.why } });
                connection.send(&Plan::json(refusal.status, &body, false)).await;
                return connection.close().await;
            }
            Received::Request(head, body) => (head, Arc::<[u8]>::from(body)),
        };
        let keep = head.keeps_alive();
        let n = record.keeps.then(|| note(&record, &head, &body));
        let mut relay =
            Relay { connection: &mut connection, record: &record, n, keep, head, framing: None, left: None };
        let end = relay.run(&upstream, body).await;
        let goes_on = end == PassedEnd::Whole && keep && relay.framing != Some(Framing::Close);
        record.change(n, |passed| passed.end = Some(end.clone()));
        match end {
            PassedEnd::Whole | PassedEnd::Unreachable(_) if goes_on => {}
            PassedEnd::Whole | PassedEnd::Cut | PassedEnd::Unreachable(_) => return connection.close().await,
            PassedEnd::Reset => return connection.reset(),
            PassedEnd::ClientLeft => return,
        }
    }
}

/// Notes a request; gives its number.
fn note(record: &Record, head: &Head, body: &Arc<[u8]>) -> usize {
    let at = record.since_start(Instant::now());
    let view = View::new(head, json::parse(body).unwrap_or(Value::Null));
    let conversation = match view.kind {
        Kind::Other => String::new(),
        _ => conversation(&Conversation::Auto, &view),
    };
    let mut passed = record.lock();
    let n = passed.len();
    passed.push(Passed {
        n,
        at,
        method: head.method.clone(),
        target: head.target.clone(),
        headers: head.headers.clone(),
        body: Arc::clone(body),
        dialect: Dialect::of_path(head.path()),
        kind: view.kind,
        conversation,
        answer: None,
        end: None,
    });
    n
}

/// A request on its way.
struct Relay<'r> {
    connection: &'r mut Connection,
    record: &'r Record,
    /// Its number, when it is kept.
    n: Option<usize>,
    keep: bool,
    head: Head,
    /// Of the answer, as the client is told.
    framing: Option<Framing>,
    /// Bytes of the body that have not come, where that is known.
    left: Option<u64>,
}

impl Relay<'_> {
    async fn run(&mut self, upstream: &Arc<Upstream>, body: Arc<[u8]>) -> PassedEnd {
        let (to, mut from) = mpsc::channel(WAITING);
        let ask = {
            let (upstream, head) = (Arc::clone(upstream), self.head.clone());
            move || upstream.pass(&head, &body, &to)
        };
        // Its end is the last thing that it sends; it is not waited for, since the service may say nothing for long.
        if let Err(fault) = thread::Builder::new().name("upstream".to_owned()).spawn(ask) {
            return self.unreachable(fault.to_string()).await;
        }
        loop {
            let came = tokio::select! {
                biased;
                came = from.recv() => came,
                () = self.connection.client_left() => return PassedEnd::ClientLeft,
            };
            let is_there = match came {
                Some(Came::Head { at, status, headers, framing }) => {
                    let at = self.record.since_start(at);
                    self.begin(Said { at, status, headers, framing, pieces: Vec::new() }).await
                }
                Some(Came::Piece { at, bytes }) => self.piece(at, bytes).await,
                Some(Came::End(PassedEnd::Unreachable(why))) => return self.unreachable(why).await,
                Some(Came::End(PassedEnd::Whole)) => {
                    let chunked = self.framing == Some(Framing::Chunked);
                    let is_there = !chunked || self.connection.put(b"0\r\n\r\n").await;
                    return if is_there { PassedEnd::Whole } else { PassedEnd::ClientLeft };
                }
                Some(Came::End(end)) => return end,
                None => return self.unreachable("the thread that asked ended".to_owned()).await,
            };
            if !is_there {
                return PassedEnd::ClientLeft;
            }
            if self.left == Some(0) {
                // The client has all, and may leave before the end is told.
                return PassedEnd::Whole;
            }
        }
    }

    /// The head of the answer.
    async fn begin(&mut self, said: Said) -> bool {
        self.framing = match said.framing {
            // A client of HTTP/1.0 knows no chunks.
            Some(Framing::Chunked) if self.head.minor == 0 => Some(Framing::Close),
            framing => framing,
        };
        self.left = match said.framing {
            None => Some(0),
            Some(Framing::Length) => {
                let length = said.headers.iter().find(|(name, _)| name == "content-length");
                length.and_then(|(_, length)| length.trim().parse().ok())
            }
            Some(Framing::Chunked | Framing::Close) => None,
        };
        let mut lines = format!("HTTP/1.1 {} {}\r\n", said.status, reason(said.status));
        for (name, value) in &said.headers {
            header(&mut lines, name, value);
        }
        if self.framing == Some(Framing::Chunked) {
            header(&mut lines, "transfer-encoding", "chunked");
        }
        if !self.keep || self.framing == Some(Framing::Close) {
            header(&mut lines, "connection", "close");
        }
        lines.push_str("\r\n");
        self.record.change(self.n, |passed| passed.answer = Some(said));
        self.connection.put(lines.as_bytes()).await
    }

    /// A piece of its body, in one write.
    async fn piece(&mut self, at: Instant, bytes: Vec<u8>) -> bool {
        let is_there = if self.framing == Some(Framing::Chunked) {
            let size = format!("{:x}\r\n", bytes.len());
            self.connection.put(&[size.as_bytes(), &bytes, b"\r\n"].concat()).await
        } else {
            self.connection.put(&bytes).await
        };
        let count = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.left = self.left.map(|left| left.saturating_sub(count));
        let at = self.record.since_start(at);
        self.record.change(self.n, |passed| {
            if let Some(said) = &mut passed.answer {
                said.pieces.push(Piece { at, bytes });
            }
        });
        is_there
    }

    async fn unreachable(&mut self, why: String) -> PassedEnd {
        let message = format!("the service cannot be asked: {why}");
        let body = json!({ "type": "error", "error": { "type": "api_error", "message": message } });
        self.connection.send(&Plan::json(502, &body, false)).await;
        PassedEnd::Unreachable(why)
    }
}
