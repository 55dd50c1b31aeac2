//! What the server costs: its own time for a request against a bare handler of hyper that sends the same bytes, and how
//! many chunks a second it sends to one client and to fifty.
//!
//! `cargo bench -p dshlog-fixture-server --bench serve -- [SECONDS]`. Both servers run on one thread of this process, the
//! clients on others; they only write and read bytes. The budget is a median under 0.3 ms.
#![expect(clippy::print_stdout, reason = "a bench prints")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

mod bare;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use dshlog_fixture_server::script::{Block, Exchange, Expect, Message, Response, TextIs};
use dshlog_fixture_server::{FixtureServer, Script};
use serde_json::{Value, json};

/// Chunks of an answer in the throughput part.
const MANY: usize = 2000;

fn main() {
    // Cargo passes `--bench`; a number is how long each part runs.
    let seconds = std::env::args().find_map(|word| word.parse().ok()).unwrap_or(3.0);
    let length = Duration::from_secs_f64(seconds);
    latency(length);
    throughput(length);
}

/// A request as agents send them: a prompt, 25 tools with descriptions, a few turns; some 30 kB.
fn request() -> Value {
    let tools: Vec<Value> = (0..25)
        .map(|n| json!({ "name": format!("tool_{n}"), "description": "words ".repeat(150), "input_schema": { "type": "object" } }))
        .collect();
    json!({
        "model": "m",
        "stream": true,
        "system": "words ".repeat(1000),
        "messages": [{ "role": "user", "content": [{ "type": "text", "text": "Your working directory is /tmp/x. Hello" }] }],
        "tools": tools,
    })
}

/// An answer of so many pieces of text.
fn answer(pieces: usize) -> Response {
    let pieces: Vec<String> = (0..pieces).map(|n| format!("piece {n} ")).collect();
    let blocks = vec![Block::Text { text: String::new(), split: Vec::new(), pieces }];
    // One id for all, so that all answers have one length.
    let message = Message { id: Some("m".to_owned()), blocks, ..Message::default() };
    Response { message: Some(message), ..Response::default() }
}

fn repeated(exchange: Exchange) -> Script {
    Script { exchanges: vec![Exchange { repeat: true, ..exchange }], ..Script::default() }
}

fn latency(length: Duration) {
    let body = request();
    let moved: Value = serde_json::from_str(&body.to_string().replace("/tmp/x", "/tmp/y")).unwrap();
    let matcher = dshlog_fixture_server::script::Matcher {
        last_user: Some(TextIs::containing("Hello")),
        ..Default::default()
    };
    let plain = Exchange { matcher, respond: answer(20), ..Exchange::default() };
    let expecting = Exchange { expect: Some(Expect::body(body.clone())), ..plain.clone() };
    println!("one request of {} kB, 26 chunks back, one connection", body.to_string().len() / 1000);
    println!("{:<34} {:>10} {:>10} {:>10}", "", "p50", "p99", "requests");

    let server = FixtureServer::spawn(repeated(plain)).unwrap();
    let (chunks, bytes) = chunks_of(server.address(), &body);
    row("a matcher", &measure(server.address(), &body, bytes, length));
    drop(server);
    let server = FixtureServer::spawn(repeated(expecting)).unwrap();
    row("a whole expected body, exact", &measure(server.address(), &body, bytes, length));
    row("the same, by the rules", &measure(server.address(), &moved, bytes, length));
    assert_eq!(server.stop().diverged, 0);
    let bare = bare::Bare::start(chunks);
    let (_, bytes) = chunks_of(bare.address, &body);
    row("bare hyper handler, same chunks", &measure(bare.address, &body, bytes, length));
}

fn row(name: &str, times: &[Duration]) {
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a share of a count"
        )]
        let place = (times.len() as f64 * share) as usize;
        times.get(place.min(times.len() - 1)).copied().unwrap_or_default()
    };
    println!("{name:<34} {:>7.3} ms {:>7.3} ms {:>10}", millis(at(0.5)), millis(at(0.99)), times.len());
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Asks for as long, and gives the times in order.
fn measure(address: SocketAddr, body: &Value, bytes: usize, length: Duration) -> Vec<Duration> {
    let mut client = Client::connect(address);
    let request = post(body);
    let began = Instant::now();
    let mut times = Vec::new();
    while began.elapsed() < length {
        let asked = Instant::now();
        client.ask(&request, bytes);
        times.push(asked.elapsed());
    }
    // The first ones warm both sides up.
    times.drain(..times.len().min(20));
    times.sort_unstable();
    times
}

fn throughput(length: Duration) {
    println!("\nan answer of {MANY} chunks, over and over");
    println!("{:<34} {:>14} {:>14}", "", "1 client", "50 clients");
    let body = request();
    let server =
        FixtureServer::spawn(repeated(Exchange { respond: answer(MANY), ..Exchange::default() })).unwrap();
    let (chunks, bytes) = chunks_of(server.address(), &body);
    let count = chunks.len();
    let ours = [1, 50].map(|clients| rate(server.address(), &body, bytes, count, clients, length));
    drop(server);
    let bare = bare::Bare::start(chunks);
    let (_, bytes) = chunks_of(bare.address, &body);
    let theirs = [1, 50].map(|clients| rate(bare.address, &body, bytes, count, clients, length));
    println!("{:<34} {:>12.0}/s {:>12.0}/s", "fixture server", ours[0], ours[1]);
    println!("{:<34} {:>12.0}/s {:>12.0}/s", "bare hyper handler, same chunks", theirs[0], theirs[1]);
}

/// Chunks a second, over all clients.
fn rate(
    address: SocketAddr,
    body: &Value,
    bytes: usize,
    chunks: usize,
    clients: usize,
    length: Duration,
) -> f64 {
    let began = Instant::now();
    let threads: Vec<_> = (0..clients)
        .map(|_| {
            let request = post(body);
            std::thread::spawn(move || {
                let mut client = Client::connect(address);
                let mut answers = 0_u32;
                while began.elapsed() < length {
                    client.ask(&request, bytes);
                    answers += 1;
                }
                answers
            })
        })
        .collect();
    let answers: u32 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    f64::from(answers) * f64::from(u32::try_from(chunks).unwrap()) / began.elapsed().as_secs_f64()
}

fn post(body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!("POST /v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .into_bytes()
}

/// The chunks of an answer, and its length in bytes with head and framing.
fn chunks_of(address: SocketAddr, body: &Value) -> (Vec<Vec<u8>>, usize) {
    let mut client = Client::connect(address);
    client.stream.write_all(&post(body)).unwrap();
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
    while !bytes.ends_with(b"\r\n0\r\n\r\n") {
        let count = client.stream.read(&mut buffer).unwrap();
        assert!(count > 0);
        bytes.extend_from_slice(&buffer[..count]);
    }
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
    let (mut rest, mut chunks) = (&bytes[head..], Vec::new());
    loop {
        let line = rest.iter().position(|byte| *byte == b'\r').unwrap();
        let size = usize::from_str_radix(str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        if size == 0 {
            return (chunks, bytes.len());
        }
        chunks.push(rest[line + 2..line + 2 + size].to_vec());
        rest = &rest[line + 2 + size + 2..];
    }
}

/// A client that knows how many bytes come.
struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    fn connect(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        Client { stream, buffer: vec![0; 1 << 16] }
    }

    fn ask(&mut self, request: &[u8], bytes: usize) {
        self.stream.write_all(request).unwrap();
        let mut left = bytes;
        while left > 0 {
            let count = self.stream.read(&mut self.buffer).unwrap();
            assert!(count > 0 && count <= left, "{count} of {left}");
            left -= count;
        }
    }
}
