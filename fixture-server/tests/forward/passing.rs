//! What passes, and when.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use dshlog_fixture_server::forward::{Forwarder, PassedEnd, Upstream};

use crate::common::{Client, End, PATIENCE, chat, post};
use crate::{before, messages, service, told};

/// A service on a bad day, which is what a client must see through us as it is.
const BAD_DAY: &str = include_str!("../../../docs/scripts/faults.toml");

const SHORT: Duration = Duration::from_millis(700);

#[test]
fn a_bad_day_passes_byte_for_byte() {
    let (direct, behind) = (service(BAD_DAY), service(BAD_DAY));
    let forwarder = before(&behind);
    let mut ends = Vec::new();
    for n in 0..8 {
        let request = messages(&format!("try {n}"));
        let expected = told(direct.address(), &request, SHORT);
        let mut passed = told(forwarder.address(), &request, SHORT);
        // The end of a connection is told where it is ours to tell.
        let of_ours = |line: &String| !line.starts_with("connection:");
        passed.headers.retain(of_ours);
        let headers: Vec<String> = expected.headers.iter().filter(|line| of_ours(line)).cloned().collect();
        assert_eq!(passed.status, expected.status, "{n}");
        assert_eq!(passed.headers, headers, "{n}");
        assert_eq!(String::from_utf8_lossy(&passed.body), String::from_utf8_lossy(&expected.body), "{n}");
        assert_eq!(passed.end, expected.end, "{n}");
        ends.push(passed.end);
    }
    assert!(
        ends.contains(&End::Closed) && ends.contains(&End::Reset) && ends.contains(&End::Silence),
        "{ends:?}"
    );
    let passed = forwarder.stop();
    let names: Vec<&str> = passed.iter().map(|passed| passed.end.as_ref().unwrap().name()).collect();
    assert_eq!(names, ["whole", "whole", "cut", "reset", "whole", "whole", "whole", "client-left"]);
}

#[test]
fn both_dialects_and_other_paths_pass() {
    let script = r#"
        [[exchanges]]
        match.dialect = "chat"
        respond.message.blocks = [{ type = "text", text = "Hi." }]
        [[side]]
        match.kind = "other"
        match.path.equals = "/base/v1/files"
        respond = { status = 201, headers = { x-made = "yes" }, body.json = { id = "file_1" } }
    "#;
    let service = service(script);
    let upstream = Upstream::new(&format!("{}/base/", service.url())).unwrap();
    let forwarder = Forwarder::spawn(upstream).unwrap();
    let mut client = Client::connect(forwarder.address());
    client.send(&post("/chat/completions", &chat("Hello"), ""));
    assert!(client.answer().text().ends_with("data: [DONE]\n\n"));
    // The same connection goes on.
    client.send(&post("/v1/files?x=1", &serde_json::json!({}), ""));
    let got = client.answer();
    assert_eq!(
        (got.status, got.header("x-made"), got.text().as_str()),
        (201, Some("yes"), r#"{"id":"file_1"}"#)
    );
    client.send(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
    assert_eq!(client.answer().status, 404);
    let captures = service.captures();
    let targets: Vec<&str> = captures.iter().map(|capture| capture.target.as_str()).collect();
    assert_eq!(targets, ["/base/chat/completions", "/base/v1/files?x=1", "/base/healthz"]);
    let names =
        |headers: &[(String, String)]| headers.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert!(!names(&captures[0].headers).iter().any(|name| name == "user-agent" || name == "accept"));
}

/// Reads a request without looking at it.
fn take_request(stream: &mut TcpStream) {
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|window| window == b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        bytes.push(byte[0]);
    }
    let head = String::from_utf8(bytes).unwrap().to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap_or("0");
    stream.read_exact(&mut vec![0; length.parse().unwrap()]).unwrap();
}

const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// The service says no more until its client has what was said: whoever holds anything back waits for ever.
#[test]
fn nothing_is_held_back() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (seen, is_seen) = mpsc::channel::<()>();
    let service = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        take_request(&mut stream);
        stream.write_all(HEAD).unwrap();
        for n in 0..5 {
            is_seen.recv_timeout(PATIENCE).unwrap();
            stream.write_all(format!("3\r\na{n}\n\r\n").as_bytes()).unwrap();
        }
        is_seen.recv_timeout(PATIENCE).unwrap();
        stream.write_all(b"0\r\n\r\n").unwrap();
    });
    let forwarder = Forwarder::spawn(Upstream::new(&url).unwrap()).unwrap();
    let mut stream = TcpStream::connect(forwarder.address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(&messages("slowly")).unwrap();
    let mut all = Vec::new();
    let mut until = |mark: &str| {
        while !all.ends_with(mark.as_bytes()) {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap_or_else(|fault| panic!("{mark:?}: {fault}"));
            all.push(byte[0]);
        }
    };
    until("\r\n\r\n");
    for n in 0..5 {
        seen.send(()).unwrap();
        until(&format!("3\r\na{n}\n\r\n"));
    }
    seen.send(()).unwrap();
    until("0\r\n\r\n");
    service.join().unwrap();
    let passed = forwarder.stop();
    let said = passed[0].answer.as_ref().unwrap();
    assert_eq!(said.pieces.iter().map(|piece| piece.bytes.as_slice()).collect::<Vec<_>>().len(), 5);
    assert!(said.pieces.windows(2).all(|pair| pair[0].at <= pair[1].at) && said.at >= passed[0].at);
}

#[test]
fn a_client_that_leaves_is_not_answered_any_more() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let service = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        take_request(&mut stream);
        stream.write_all(HEAD).unwrap();
        stream.write_all(b"2\r\nhi\r\n").unwrap();
        // It goes on for as long as somebody takes it.
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        while stream.write_all(b"1\r\n.\r\n").is_ok() {
            thread::sleep(Duration::from_millis(5));
        }
    });
    let forwarder = Forwarder::spawn(Upstream::new(&url).unwrap()).unwrap();
    let mut stream = TcpStream::connect(forwarder.address()).unwrap();
    stream.write_all(&messages("enough")).unwrap();
    stream.read_exact(&mut [0; 20]).unwrap();
    drop(stream);
    service.join().unwrap();
    let passed = forwarder.stop();
    assert_eq!(passed[0].end, Some(PassedEnd::ClientLeft));
}

#[test]
fn the_connection_to_the_service_is_kept() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let service = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        for n in 0..3 {
            take_request(&mut stream);
            stream.write_all(format!("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n{n}").as_bytes()).unwrap();
        }
    });
    let forwarder = Forwarder::spawn(Upstream::new(&url).unwrap()).unwrap();
    for n in 0..3 {
        // Each request comes over a connection of its own.
        assert_eq!(told(forwarder.address(), &messages("x"), PATIENCE).body, n.to_string().into_bytes());
    }
    service.join().unwrap();
}

#[test]
fn a_service_that_is_not_there_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let forwarder = Forwarder::spawn(Upstream::new(&url).unwrap()).unwrap();
    let got = told(forwarder.address(), &messages("anybody?"), PATIENCE);
    assert_eq!((got.status, got.end), (Some(502), End::Proper));
    assert!(String::from_utf8_lossy(&got.body).contains("the service cannot be asked"));
    assert!(matches!(&forwarder.stop()[0].end, Some(PassedEnd::Unreachable(_))));
}

#[test]
fn what_is_no_service() {
    let why = |url: &str| Upstream::new(url).unwrap_err().to_string();
    assert_eq!(
        why("host"),
        "\"host\" is no address of a service: it begins with neither http:// nor https://"
    );
    assert!(why("ftp://host").ends_with("neither http:// nor https://"));
    assert!(why("http://host/?a=b").ends_with("it has a query"));
    assert!(why("http://a b").ends_with("it is no URL"));
    assert!(Upstream::new("https://host:8443/anthropic").is_ok());
}
