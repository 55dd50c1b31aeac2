//! Clients as bad as they come: whatever they do, the server answers others, and does not hang.

use std::time::{Duration, Instant};

use dshlog_fixture_server::{AnswerEnd, FixtureServer, Limits, Options, Outcome, Script, ServerThread};
use proptest::prelude::*;

use crate::common::{Client, End, ask, messages, post, serve};

const ALWAYS: &str = r#"exchanges = [{ repeat = true, respond.body.text = "ok" }]"#;

/// A server with little patience.
fn strict(limits: Limits) -> ServerThread {
    let script = Script::from_toml(ALWAYS).unwrap();
    FixtureServer::spawn_with(script, Options { limits, ..Options::default() }).unwrap()
}

fn short() -> Limits {
    Limits { patience: Duration::from_millis(200), idle: Duration::from_millis(400), ..Limits::default() }
}

#[track_caller]
fn still_serves(server: &ServerThread) {
    assert_eq!(ask(server, "/messages", &messages("x")).text(), "ok");
}

#[test]
fn half_a_request_is_waited_for_and_refused() {
    let server = strict(short());
    let halves = [
        "POST /messages HT",
        "POST /messages HTTP/1.1\r\nhost: x\r\n",
        "POST /messages HTTP/1.1\r\ncontent-length: 9\r\n\r\n{",
    ];
    for half in halves {
        let began = Instant::now();
        let mut client = Client::connect(server.address());
        client.send(half.as_bytes());
        let got = client.answer();
        assert_eq!((got.status, got.header("connection")), (408, Some("close")), "{half}");
        assert!(client.is_closed());
        assert!(began.elapsed() < Duration::from_secs(2));
    }
    still_serves(&server);
    let refused =
        server.captures().iter().filter(|capture| matches!(capture.outcome, Outcome::Refused { .. })).count();
    assert_eq!(refused, 3);
    assert_eq!(server.stop().refused, 3);
}

#[test]
fn a_head_that_comes_byte_by_byte_has_a_limit_in_time() {
    let server = strict(short());
    let mut client = Client::connect(server.address());
    let began = Instant::now();
    let mut sent = 0;
    for byte in b"POST /messages HTTP/1.1\r\nhost: x\r\n".iter().cycle() {
        if client.try_send(&[*byte]).is_err() || began.elapsed() > Duration::from_secs(5) {
            break;
        }
        sent += 1;
        std::thread::sleep(Duration::from_millis(30));
    }
    assert!(began.elapsed() < Duration::from_secs(5) && sent > 2, "{sent}");
}

#[test]
fn a_client_that_hangs_up_is_noted_and_harms_nobody() {
    let server = serve(ALWAYS);
    let mut client = Client::connect(server.address());
    client.send(b"POST /messages HTTP/1.1\r\ncontent-length: 9\r\n\r\n{");
    drop(client);
    drop(Client::connect(server.address()));
    let mut client = Client::connect(server.address());
    client.send(&post("/messages", &messages("x"), ""));
    drop(client);
    still_serves(&server);
    let deadline = Instant::now() + Duration::from_secs(5);
    let left = |server: &ServerThread| {
        server.captures().iter().any(|capture| matches!(&capture.outcome, Outcome::Left(why) if why == "the client left in the middle of a body"))
    };
    while !left(&server) {
        assert!(Instant::now() < deadline, "{:?}", server.captures());
        std::thread::sleep(Duration::from_millis(5));
    }
    let verdict = server.stop();
    assert_eq!((verdict.refused, verdict.unmatched), (0, 0));
}

#[test]
fn a_client_that_only_says_it_is_done_gets_its_answer() {
    let server = serve(r#"exchanges = [{ respond = { body.text = "ok", pace.before_status_ms = 100 } }]"#);
    let mut client = Client::connect(server.address());
    client.send(&post("/messages", &messages("x"), ""));
    client.finish();
    assert_eq!(client.answer().text(), "ok");
}

#[test]
fn a_hundred_connections_at_once() {
    let server = serve(
        r#"
        [[exchanges]]
        repeat = true
        respond = { message.blocks = [{ type = "text", text = "hello" }], pace.between_chunks_ms = 5 }
    "#,
    );
    let address = server.address();
    let threads: Vec<_> = (0..100)
        .map(|n| {
            std::thread::spawn(move || {
                let mut client = Client::connect(address);
                client.send(&post("/messages", &messages(&format!("client {n}")), ""));
                let got = client.answer();
                (got.status, got.end, got.chunks.len())
            })
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), (200, End::Proper, 6));
    }
    assert_eq!(server.captures().len(), 100);
    assert_eq!(server.stop().unchecked, 100);
}

#[test]
fn one_connection_too_many_is_turned_away() {
    let server = strict(Limits { connections: 2, ..Limits::default() });
    let mut held: Vec<Client> = (0..2).map(|_| Client::connect(server.address())).collect();
    for client in &mut held {
        client.send(&post("/messages", &messages("x"), ""));
        assert_eq!(client.answer().status, 200);
    }
    let mut third = Client::connect(server.address());
    let got = third.answer();
    assert_eq!((got.status, got.json()["error"]["message"].clone()), (503, "more than 2 connections".into()));
    drop((held, third));
    let deadline = Instant::now() + Duration::from_secs(5);
    while ask(&server, "/messages", &messages("x")).status != 200 {
        assert!(Instant::now() < deadline);
    }
}

#[test]
fn a_body_of_100_mb() {
    // What is within the limit is read; the rest of the test is about what is not.
    let server = serve(ALWAYS);
    assert_eq!(ask(&server, "/messages", &messages(&"x".repeat(4 << 20))).text(), "ok");

    // Over the limit it is refused, and the client reads that although it was still sending.
    let mut client = Client::connect(server.address());
    client.send(format!("POST /messages HTTP/1.1\r\ncontent-length: {}\r\n\r\n", 100 << 20).as_bytes());
    let piece = vec![b'x'; 1 << 20];
    let sent = (0..100).take_while(|_| client.try_send(&piece).is_ok()).count();
    let got = client.answer();
    assert_eq!(
        (got.status, got.json()["error"]["message"].clone()),
        (413, "a body of more than 67108864 bytes".into())
    );
    assert_eq!(sent, 100, "the server reads it all, so that the answer is not lost by a reset");
    still_serves(&server);

    // In chunks nobody knows the length before.
    let server = strict(Limits { body: 1 << 20, ..Limits::default() });
    let mut client = Client::connect(server.address());
    client.send(b"POST /messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n");
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    for _ in 0..20 {
        client.try_send(chunk.as_bytes()).ok();
    }
    assert_eq!(client.answer().status, 413);
}

#[test]
fn heads_have_limits() {
    let server = serve(ALWAYS);
    let mut client = Client::connect(server.address());
    client.try_send(format!("POST /messages HTTP/1.1\r\nx: {}\r\n", "y".repeat(80 << 10)).as_bytes()).ok();
    assert_eq!(client.answer().status, 431);
    let mut client = Client::connect(server.address());
    client.send(b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1");
    assert_eq!(client.answer().status, 400);
    let mut client = Client::connect(server.address());
    client.send(b"POST /messages HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n{}");
    assert_eq!(client.answer().status, 400);
    still_serves(&server);
}

#[test]
fn http_1_0() {
    let server = serve(
        r#"
        [[exchanges]]
        respond.message.parts = [{ raw = "abc" }]
        [[exchanges]]
        respond.body.text = "ok"
    "#,
    );
    let body = messages("x").to_string();
    let request =
        |more: &str| format!("POST /messages HTTP/1.0\r\ncontent-length: {}\r\n{more}\r\n{body}", body.len());
    let mut client = Client::connect(server.address());
    client.send(request("").as_bytes());
    let got = client.answer();
    assert_eq!(
        (got.header("transfer-encoding"), got.header("connection"), got.end),
        (None, Some("close"), End::Closed)
    );
    assert!(got.text().contains("abc"));
    let mut client = Client::connect(server.address());
    client.send(request("connection: keep-alive\r\n").as_bytes());
    let got = client.answer();
    assert_eq!((got.header("content-length"), got.end), (Some("2"), End::Proper));
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let server = serve(
        r#"
        [[exchanges]]
        respond = { body.text = "one", pace.before_status_ms = 50 }
        [[exchanges]]
        respond.message.parts = [{ raw = "two" }]
        [[exchanges]]
        respond.body.text = "three"
    "#,
    );
    let mut client = Client::connect(server.address());
    let all: Vec<u8> = (0..3).flat_map(|n| post("/messages", &messages(&n.to_string()), "")).collect();
    client.send(&all);
    assert_eq!(client.answer().text(), "one");
    assert!(client.answer().text().contains("two"));
    assert_eq!(client.answer().text(), "three");
    let asked: Vec<bool> = server
        .captures()
        .iter()
        .enumerate()
        .map(|(n, capture)| String::from_utf8_lossy(&capture.body).contains(&format!("\"text\":\"{n}\"")))
        .collect();
    assert_eq!(asked, [true; 3]);
    assert!(server.stop().is_good());
}

#[test]
fn a_client_may_wait_for_a_word_before_it_sends_the_body() {
    let server = serve(ALWAYS);
    let mut client = Client::connect(server.address());
    let body = messages("x").to_string();
    let head = |length: usize| {
        format!("POST /messages HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: {length}\r\n\r\n")
    };
    client.send(head(body.len()).as_bytes());
    assert_eq!(client.answer().status, 100);
    client.send(body.as_bytes());
    assert_eq!(client.answer().text(), "ok");
    // A body that is too large is refused without that word.
    client.send(head(1 << 30).as_bytes());
    assert_eq!(client.answer().status, 413);
}

#[test]
fn a_chunked_request() {
    let server = serve(ALWAYS);
    let mut client = Client::connect(server.address());
    let body = messages("x").to_string();
    let (a, b) = body.split_at(17);
    let chunk = |text: &str| format!("{:x};ext\r\n{text}\r\n", text.len());
    client.send(
        format!(
            "POST /messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n{}{}0\r\nx: y\r\n\r\n",
            chunk(a),
            chunk(b)
        )
        .as_bytes(),
    );
    assert_eq!(client.answer().text(), "ok");
    assert_eq!(*server.captures()[0].body, *body.as_bytes());
}

#[test]
fn an_idle_connection_is_closed_and_stopping_does_not_wait_for_one() {
    let server = strict(short());
    let mut client = Client::connect(server.address());
    assert!(client.is_closed());

    let server = serve(ALWAYS);
    let mut client = Client::connect(server.address());
    client.send(&post("/messages", &messages("x"), ""));
    assert_eq!(client.answer().text(), "ok");
    let began = Instant::now();
    server.stop();
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert!(client.is_closed());
}

#[test]
fn stopping_lets_answers_end_but_not_for_long() {
    let slow = |pause: u64| {
        format!(r#"exchanges = [{{ respond = {{ body.text = "ok", pace.before_body_ms = {pause} }} }}]"#)
    };
    let server = serve(&slow(200));
    let mut client = Client::connect(server.address());
    client.send(&post("/messages", &messages("x"), ""));
    while server.captures().is_empty() {
        std::thread::sleep(Duration::from_millis(2));
    }
    let stopped = std::thread::spawn(move || server.stop());
    assert_eq!(client.answer().text(), "ok");
    assert!(stopped.join().unwrap().is_good());

    let script = Script::from_toml(&slow(60_000)).unwrap();
    let limits = Limits { grace: Duration::from_millis(100), ..Limits::default() };
    let server = FixtureServer::spawn_with(script, Options { limits, ..Options::default() }).unwrap();
    let mut client = Client::connect(server.address());
    client.send(&post("/messages", &messages("x"), ""));
    while server.captures().is_empty() {
        std::thread::sleep(Duration::from_millis(2));
    }
    let began = Instant::now();
    server.stop();
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_ne!(client.answer().end, End::Proper);
}

#[test]
fn a_client_that_does_not_read_is_given_up() {
    let text = "x".repeat(1 << 20);
    let script = Script::from_toml(&format!(
        "[[exchanges]]\nrespond.body.writes = [{}]\n[[exchanges]]\nrespond.body.text = \"ok\"",
        vec![format!("{{ text = \"{text}\" }}"); 16].join(","),
    ));
    let limits = Limits { stall: Duration::from_millis(200), ..Limits::default() };
    let server =
        FixtureServer::spawn_with(script.unwrap(), Options { limits, ..Options::default() }).unwrap();
    let mut client = Client::connect(server.address());
    client.send(&post("/messages", &messages("x"), ""));
    let deadline = Instant::now() + Duration::from_secs(10);
    while server.answered_from(0).is_empty() {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(server.captures()[0].answer.as_ref().unwrap().end, AnswerEnd::ClientLeft);
    still_serves(&server);
    drop(client);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever comes, the server answers or closes in time, and goes on.
    #[test]
    fn any_bytes(
        start in prop_oneof![Just(""), Just("POST /messages HTTP/1.1\r\n"), Just("POST /messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n")],
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b'\r'), Just(b':'), Just(b'0')], 0..300),
        ends in any::<bool>(),
    ) {
        let limits = Limits { patience: Duration::from_millis(60), idle: Duration::from_millis(60), ..Limits::default() };
        let server = strict(limits);
        let mut client = Client::connect(server.address());
        client.try_send(start.as_bytes()).ok();
        client.try_send(&bytes).ok();
        if ends {
            client.finish();
        }
        client.patience(Duration::from_secs(8));
        let (_, end) = client.read_to_end();
        prop_assert_ne!(end, End::Silence);
        still_serves(&server);
    }
}
