//! The forwarder between a client that sees bytes and a service that does what it is told.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../server/common.rs"]
#[expect(dead_code, reason = "the tests of the server use the rest")]
mod common;
mod kept;
mod passing;

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use common::{Client, End, post};
use dshlog_fixture_server::forward::{Forwarder, Upstream};
use dshlog_fixture_server::{FixtureServer, Script, ServerThread};
use serde_json::Value;

/// An answer as its client saw it.
#[derive(Debug, PartialEq)]
struct Told {
    status: Option<u16>,
    headers: Vec<String>,
    body: Vec<u8>,
    end: End,
}

/// Asks on a connection of its own. Silence is waited for as long as `patience`.
fn told(address: SocketAddr, request: &[u8], patience: Duration) -> Told {
    let mut client = Client::connect(address);
    client.patience(patience);
    client.send(request);
    match client.try_answer() {
        Err(end) => Told { status: None, headers: Vec::new(), body: client.read_to_end().0, end },
        Ok(got) => {
            let mut headers: Vec<String> = got.head.lines().skip(1).map(str::to_lowercase).collect();
            headers.retain(|line| !line.is_empty());
            headers.sort();
            Told { status: Some(got.status), headers, body: got.body(), end: got.end }
        }
    }
}

/// A forwarder in front of a service.
fn before(service: &ServerThread) -> Forwarder {
    Forwarder::spawn(Upstream::new(&service.url()).unwrap()).unwrap()
}

fn service(script: &str) -> ServerThread {
    FixtureServer::spawn(Script::from_toml(script).unwrap()).unwrap()
}

fn messages(text: &str) -> Vec<u8> {
    post("/v1/messages", &common::messages(text), "")
}

fn body(text: &str) -> Value {
    common::messages(text)
}

/// All files of a folder, as one text.
fn all_text(folder: &Path) -> String {
    let files = std::fs::read_dir(folder).unwrap();
    files
        .map(|file| String::from_utf8_lossy(&std::fs::read(file.unwrap().path()).unwrap()).into_owned())
        .collect()
}
