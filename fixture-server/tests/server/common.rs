//! A client that sees bytes and times, since that is what a script promises.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use dshlog_fixture_server::{FixtureServer, Script, ServerThread};
use serde_json::{Value, json};

/// Longer than anything here takes, shorter than anybody waits.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A server that plays a script in TOML.
#[track_caller]
pub(crate) fn serve(script: &str) -> ServerThread {
    let script = Script::from_toml(script).unwrap_or_else(|fault| panic!("{}", chain(&fault)));
    FixtureServer::spawn(script).unwrap_or_else(|fault| panic!("{}", chain(&fault)))
}

/// An error with its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.extend([": ", &error.to_string()]);
        cause = error.source();
    }
    text
}

/// A request in Messages.
pub(crate) fn messages(text: &str) -> Value {
    json!({
        "model": "deepseek-flash",
        "stream": true,
        "messages": [{ "role": "user", "content": [{ "type": "text", "text": text }] }],
        "max_tokens": 100,
        "system": "You are a test.",
        "tools": [{ "name": "bash", "description": "Runs", "input_schema": { "type": "object" } }],
    })
}

/// The same in Chat Completions.
pub(crate) fn chat(text: &str) -> Value {
    json!({
        "model": "deepseek-flash",
        "messages": [
            { "role": "system", "content": "You are a test." },
            { "role": "user", "content": text },
        ],
        "stream": true,
        "stream_options": { "include_usage": true },
        "tools": [{ "type": "function", "function": { "name": "bash", "description": "Runs", "parameters": {} } }],
        "max_tokens": 100,
    })
}

/// A whole POST request.
pub(crate) fn post(path: &str, body: &Value, headers: &str) -> Vec<u8> {
    let body = body.to_string();
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n{body}")
        .into_bytes()
}

/// A connection.
pub(crate) struct Client {
    stream: TcpStream,
    /// Read and not used yet.
    buffer: Vec<u8>,
    /// Each read: when, from the connection on, and what.
    pub(crate) reads: Vec<(Duration, Vec<u8>)>,
    began: Instant,
}

/// How reading ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With the end that its framing has.
    Proper,
    /// The other side closed.
    Closed,
    /// The connection was reset.
    Reset,
    /// Nothing more came in time.
    Silence,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) chunks: Vec<Vec<u8>>,
    /// When each chunk was there.
    pub(crate) times: Vec<Duration>,
    pub(crate) end: End,
}

impl Got {
    /// A header of the answer.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }

    pub(crate) fn body(&self) -> Vec<u8> {
        self.chunks.concat()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body()).expect("text")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body()).expect("JSON")
    }
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_nodelay(true).expect("a socket");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream.set_write_timeout(Some(PATIENCE)).expect("a socket");
        Client { stream, buffer: Vec::new(), reads: Vec::new(), began: Instant::now() }
    }

    /// How long a read waits before it is [`End::Silence`].
    pub(crate) fn patience(&mut self, patience: Duration) {
        self.stream.set_read_timeout(Some(patience)).expect("a socket");
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server reads");
    }

    /// Sends what the server may not want any more.
    pub(crate) fn try_send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Says that nothing more comes.
    pub(crate) fn finish(&mut self) {
        self.stream.shutdown(Shutdown::Write).expect("a socket");
    }

    /// One read.
    fn read(&mut self) -> Result<(), End> {
        let mut bytes = vec![0; 65536];
        match self.stream.read(&mut bytes) {
            Ok(0) => Err(End::Closed),
            Ok(count) => {
                let bytes = &bytes[..count];
                self.reads.push((self.began.elapsed(), bytes.to_vec()));
                self.buffer.extend_from_slice(bytes);
                Ok(())
            }
            Err(fault) if matches!(fault.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Err(End::Silence)
            }
            Err(_) => Err(End::Reset),
        }
    }

    fn take_until(&mut self, mark: &[u8]) -> Result<Vec<u8>, End> {
        loop {
            if let Some(at) = self.buffer.windows(mark.len()).position(|window| window == mark) {
                return Ok(self.buffer.drain(..at + mark.len()).collect());
            }
            self.read()?;
        }
    }

    fn take(&mut self, count: usize) -> Result<Vec<u8>, End> {
        while self.buffer.len() < count {
            self.read()?;
        }
        Ok(self.buffer.drain(..count).collect())
    }

    /// Everything up to the end, byte for byte.
    pub(crate) fn read_to_end(&mut self) -> (Vec<u8>, End) {
        let end = loop {
            if let Err(end) = self.read() {
                break end;
            }
        };
        (std::mem::take(&mut self.buffer), end)
    }

    /// The next answer, or how there was none.
    pub(crate) fn try_answer(&mut self) -> Result<Got, End> {
        let head = String::from_utf8(self.take_until(b"\r\n\r\n")?).expect("a head is ASCII");
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
        let mut got = Got { status, head, chunks: Vec::new(), times: Vec::new(), end: End::Proper };
        if (100..200).contains(&status) || status == 204 {
            return Ok(got);
        }
        let end = if got.header("transfer-encoding") == Some("chunked") {
            self.chunked(&mut got)
        } else if let Some(length) = got.header("content-length").and_then(|length| length.parse().ok()) {
            self.take(length).map(|body| got.chunks.push(body))
        } else {
            let (body, end) = self.read_to_end();
            got.chunks.push(body);
            Err(end)
        };
        if let Err(end) = end {
            got.end = end;
            got.chunks.extend((!self.buffer.is_empty()).then(|| std::mem::take(&mut self.buffer)));
        }
        Ok(got)
    }

    fn chunked(&mut self, got: &mut Got) -> Result<(), End> {
        loop {
            let line = String::from_utf8(self.take_until(b"\r\n")?).expect("a size");
            let size = usize::from_str_radix(line.trim(), 16).expect("a size");
            let mut chunk = self.take(size + 2)?;
            assert_eq!(chunk.split_off(size), b"\r\n");
            if size == 0 {
                return Ok(());
            }
            got.chunks.push(chunk);
            got.times.push(self.began.elapsed());
        }
    }

    #[track_caller]
    pub(crate) fn answer(&mut self) -> Got {
        self.try_answer().unwrap_or_else(|end| panic!("no answer: {end:?}"))
    }

    /// True when the other side has closed.
    pub(crate) fn is_closed(&mut self) -> bool {
        matches!(self.read(), Err(End::Closed | End::Reset))
    }
}

/// Sends a request on a connection of its own, and reads the answer.
#[track_caller]
pub(crate) fn ask(server: &ServerThread, path: &str, body: &Value) -> Got {
    ask_with(server, path, body, "")
}

/// Likewise, with more headers.
#[track_caller]
pub(crate) fn ask_with(server: &ServerThread, path: &str, body: &Value, headers: &str) -> Got {
    let mut client = Client::connect(server.address());
    client.send(&post(path, body, headers));
    client.answer()
}

/// A page of the server's own.
#[track_caller]
pub(crate) fn get(server: &ServerThread, path: &str) -> Got {
    let mut client = Client::connect(server.address());
    client.send(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes());
    client.answer()
}

/// An event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Event {
    pub(crate) name: Option<String>,
    pub(crate) data: String,
}

/// The events of a stream, read by the rules of `docs/spec/messages-wire.md`, 7; what is not ended does not count.
pub(crate) fn events(stream: &[u8]) -> Vec<Event> {
    let text = String::from_utf8(stream.to_vec()).expect("UTF-8");
    let mut events = Vec::new();
    let (mut name, mut data): (Option<String>, Vec<String>) = (None, Vec::new());
    let whole = text.rfind('\n').map_or("", |at| &text[..=at]);
    for line in whole.split_terminator('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.is_empty() {
            if !data.is_empty() {
                events.push(Event { name: name.take(), data: data.join("\n") });
            }
            (name, data) = (None, Vec::new());
        } else if let Some(value) = line.strip_prefix("data:") {
            data.push(value.strip_prefix(' ').unwrap_or(value).to_owned());
        } else if let Some(value) = line.strip_prefix("event:") {
            name = Some(value.trim_start().to_owned());
        }
    }
    events
}

/// Says that something is not tested here, and why.
#[expect(clippy::print_stderr, reason = "a test that skips in silence looks like one that passed")]
fn skip(why: &str) {
    eprintln!("skipped: {why}");
}

/// The corpus of captured conversations, where there is one.
pub(crate) fn wire() -> Option<PathBuf> {
    let repository = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let shared = std::env::var_os("DSHLOG_SHARED_CORPORA")
        .map_or_else(|| repository.join("../shared/corpora"), PathBuf::from);
    let wire = shared.join("wire");
    if !wire.is_dir() {
        skip(&format!("no shared corpora in {}", shared.display()));
        return None;
    }
    Some(wire)
}
