//! A model service that has one answer (Messages protocol, `docs/spec/messages-wire.md`).

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use serde_json::{Value, json};

/// Listens on a free port of the loopback address until it is dropped.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What the server was asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// Method and path.
    pub line: String,
    /// The session that asks, where the client says so.
    pub session: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

#[derive(Debug, Default)]
struct Shared {
    requests: Mutex<Vec<Request>>,
    is_done: AtomicBool,
}

impl ModelServer {
    /// A server that answers every call of the model with this text, and every other request with 404.
    ///
    /// # Panics
    /// When there is no port.
    pub fn start(answer: &str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let shared = Arc::new(Shared::default());
        let stream = event_stream(answer);
        let thread = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                for connection in listener.incoming() {
                    if shared.is_done.load(Ordering::Relaxed) {
                        break;
                    }
                    // A client that goes away is not our failure: the test looks at what was asked.
                    _ = connection.and_then(|connection| shared.serve(connection, &stream));
                }
            }
        });
        ModelServer { address, shared, thread: Some(thread) }
    }

    /// Its base address.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was asked so far, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.shared.is_done.store(true, Ordering::Relaxed);
        // Wakes the thread, which waits for somebody to come.
        if TcpStream::connect(self.address).is_ok()
            && let Some(thread) = self.thread.take()
        {
            _ = thread.join();
        }
    }
}

impl Shared {
    /// One request, one answer. The client keeps no connection that is said to be closed.
    fn serve(&self, mut connection: TcpStream, stream: &str) -> io::Result<()> {
        let Some(request) = Request::read(&mut BufReader::new(&connection))? else { return Ok(()) };
        let is_call = request.line == "POST /v1/messages";
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
        let (status, body) = if is_call { ("200 OK", stream) } else { ("404 Not Found", "") };
        write!(
            connection,
            "HTTP/1.1 {status}\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        )
    }
}

impl Request {
    /// Nothing when the other side has nothing to say.
    fn read(from: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut line = String::new();
        from.read_line(&mut line)?;
        let Some((line, _)) = line.rsplit_once(' ') else { return Ok(None) };
        let mut request = Request { line: line.to_owned(), session: None, body: Vec::new() };
        let mut length = 0;
        loop {
            let mut header = String::new();
            from.read_line(&mut header)?;
            let Some((name, value)) = header.trim_end().split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.trim().parse().map_err(io::Error::other)?,
                "x-deepseek-harness-session-id" => request.session = Some(value.trim().to_owned()),
                _ => {}
            }
        }
        from.take(length).read_to_end(&mut request.body)?;
        Ok(Some(request))
    }
}

/// A whole answer, as server-sent events.
fn event_stream(text: &str) -> String {
    use std::fmt::Write as _;

    let message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "deepseek-flash", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 100, "output_tokens": 1}
    });
    let events: [(&str, Value); 6] = [
        ("message_start", json!({"message": message})),
        ("content_block_start", json!({"index": 0, "content_block": {"type": "text", "text": ""}})),
        ("content_block_delta", json!({"index": 0, "delta": {"type": "text_delta", "text": text}})),
        ("content_block_stop", json!({"index": 0})),
        (
            "message_delta",
            json!({"delta": {"stop_reason": "end_turn", "stop_sequence": null}, "usage": {"output_tokens": 7}}),
        ),
        ("message_stop", json!({})),
    ];
    let mut stream = String::new();
    for (kind, mut data) in events {
        data["type"] = json!(kind);
        _ = write!(stream, "event: {kind}\ndata: {data}\n\n");
    }
    stream
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(server: &ModelServer, request: &str) -> String {
        let mut connection = TcpStream::connect(server.address).unwrap();
        connection.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn a_call_is_answered_and_kept() {
        let server = ModelServer::start("so it is");
        let answer = exchange(
            &server,
            "POST /v1/messages HTTP/1.1\r\nX-DeepSeek-Harness-Session-Id: s1\r\nContent-Length: 2\r\n\r\n{}",
        );
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let kinds: Vec<_> = body.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
        assert_eq!(kinds.first(), Some(&"message_start"));
        assert_eq!(kinds.last(), Some(&"message_stop"));
        assert!(body.contains("so it is"));
        let requests = server.requests();
        assert_eq!(requests.len(), 1);
        assert_eq!(requests[0].session.as_deref(), Some("s1"));
        assert_eq!(requests[0].body, b"{}");
    }

    #[test]
    fn other_places_are_not_there() {
        let server = ModelServer::start("");
        let answer = exchange(&server, "POST /v1/files HTTP/1.1\r\ncontent-length: 0\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
        assert_eq!(server.requests()[0].line, "POST /v1/files");
    }
}
