//! What the server costs: its own time for a request against a bare handler of hyper that sends the same bytes, and how
//! many chunks a second it sends to one client and to fifty.
//!
//! `cargo bench -p dshlog-fixture-server --bench serve -- [SECONDS]` prints Markdown for `docs/performance.md`. Each server
//! runs on one thread of this process, the clients on others; they only write and read bytes. All are measured in turns
//! of a fraction of a second, so that whatever the machine does otherwise is the same for all. The budget is a median under 0.3 ms.
#![expect(clippy::print_stdout, reason = "a bench prints")]
#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]

mod bare;
mod client;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use dshlog_fixture_server::script::{Block, Exchange, Expect, Matcher, Message, Response, TextIs};
use dshlog_fixture_server::{FixtureServer, Script, ServerThread};
use serde_json::{Value, json};

use bare::{Bare, Writes};
use client::{Client, chunks_of, post};

/// Chunks of an answer in the throughput part.
const MANY: usize = 2000;
/// In so many turns each server is measured.
const ROUNDS: u32 = 10;
/// Requests that warm up a connection.
const WARM: usize = 20;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // Without this mark a test runner has started it, to see whether it builds.
    if !args.iter().any(|arg| arg == "--bench") {
        return;
    }
    let seconds = args.iter().find_map(|word| word.parse().ok()).unwrap_or(3.0);
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

fn serve(exchange: Exchange) -> ServerThread {
    let exchanges = vec![Exchange { repeat: true, ..exchange }];
    FixtureServer::spawn(Script { exchanges, ..Script::default() }).unwrap()
}

/// Everything that came was answered as it was meant.
fn all_served(server: ServerThread) {
    let verdict = server.stop();
    assert_eq!((verdict.diverged, verdict.unmatched), (0, 0), "{verdict}");
}

/// A server that is measured.
struct Peer {
    name: &'static str,
    address: SocketAddr,
    body: Value,
    /// Bytes of an answer.
    bytes: usize,
}

impl Peer {
    fn new(name: &'static str, address: SocketAddr, body: &Value) -> Peer {
        let (_, bytes) = chunks_of(address, body);
        Peer { name, address, body: body.clone(), bytes }
    }
}

fn latency(length: Duration) {
    let body = request();
    let moved: Value = serde_json::from_str(&body.to_string().replace("/tmp/x", "/tmp/y")).unwrap();
    let matcher = Matcher { last_user: Some(TextIs::containing("Hello")), ..Matcher::default() };
    let plain = Exchange { matcher, respond: answer(20), ..Exchange::default() };
    let expecting = Exchange { expect: Some(Expect::body(body.clone())), ..plain.clone() };

    let (plain, expecting) = (serve(plain), serve(expecting));
    let (chunks, _) = chunks_of(plain.address(), &body);
    let count = chunks.len();
    let [flushed, joined] = [Writes::One, Writes::Joined].map(|writes| Bare::start(chunks.clone(), writes));
    let peers = [
        Peer::new("a matcher", plain.address(), &body),
        Peer::new("a whole expected body, equal", expecting.address(), &body),
        Peer::new("the same, equal by the rules", expecting.address(), &moved),
        Peer::new("bare hyper handler, a write for each chunk", flushed.address, &body),
        Peer::new("bare hyper handler, chunks joined", joined.address, &body),
    ];
    let mut times: Vec<Vec<Duration>> = peers.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (peer, times) in peers.iter().zip(&mut times) {
            measure(peer, length / ROUNDS, times);
        }
    }
    println!("\nA request of {} kB, {count} chunks back, one connection:\n", body.to_string().len() / 1000);
    println!("| | p50 | p99 | requests |\n|---|---|---|---|");
    for (peer, times) in peers.iter().zip(&mut times) {
        times.sort_unstable();
        let [p50, p99] = [50, 99].map(|share| percentile(times, share).as_secs_f64() * 1e3);
        println!("| {} | {p50:.3} ms | {p99:.3} ms | {} |", peer.name, times.len());
    }
    all_served(plain);
    all_served(expecting);
}

/// Of times in order.
fn percentile(times: &[Duration], share: usize) -> Duration {
    let place = (times.len() * share / 100).min(times.len().saturating_sub(1));
    times.get(place).copied().unwrap_or_default()
}

/// Asks for as long, and adds the times.
fn measure(peer: &Peer, length: Duration, times: &mut Vec<Duration>) {
    let mut client = Client::connect(peer.address);
    let request = post(&peer.body);
    for _ in 0..WARM {
        client.ask(&request, peer.bytes);
    }
    let began = Instant::now();
    while began.elapsed() < length {
        let asked = Instant::now();
        client.ask(&request, peer.bytes);
        times.push(asked.elapsed());
    }
}

fn throughput(length: Duration) {
    let body = request();
    let server = serve(Exchange { respond: answer(MANY), ..Exchange::default() });
    let (chunks, _) = chunks_of(server.address(), &body);
    let count = chunks.len();
    let [flushed, joined] = [Writes::One, Writes::Joined].map(|writes| Bare::start(chunks.clone(), writes));
    let peers = [
        Peer::new("fixture server", server.address(), &body),
        Peer::new("bare hyper handler, a write for each chunk", flushed.address, &body),
        Peer::new("bare hyper handler, chunks joined", joined.address, &body),
    ];
    println!("\nChunks a second, in answers of {MANY} pieces, one behind the other:\n");
    println!("| | 1 client | 50 clients |\n|---|---|---|");
    let mut rates: Vec<[f64; 2]> = peers.iter().map(|_| [0.0; 2]).collect();
    for round in 0..=ROUNDS {
        for (peer, rates) in peers.iter().zip(&mut rates) {
            for (clients, sum) in [1, 50].into_iter().zip(rates) {
                let rate = rate(peer, count, clients, length / ROUNDS);
                // The first one warms up.
                *sum += if round == 0 { 0.0 } else { rate / f64::from(ROUNDS) };
            }
        }
    }
    for (peer, [one, fifty]) in peers.iter().zip(rates) {
        println!("| {} | {one:.0} | {fifty:.0} |", peer.name);
    }
    all_served(server);
}

/// Chunks a second, over all clients.
fn rate(peer: &Peer, chunks: usize, clients: usize, length: Duration) -> f64 {
    let began = Instant::now();
    let threads: Vec<_> = (0..clients)
        .map(|_| {
            let (request, address, bytes) = (post(&peer.body), peer.address, peer.bytes);
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
