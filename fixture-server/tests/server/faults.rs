//! Every way in which an answer can go wrong, as it arrives byte for byte.

use std::time::Duration;

use dshlog_fixture_server::script::{After, Block, Body, Exchange, Fault, Framing, How, Response};
use dshlog_fixture_server::{AnswerEnd, FixtureServer, Script, ServerThread};
use serde_json::json;

use crate::common::{Client, End, Got, ask, chat, events, messages, post, serve};

/// The chunked form of what a script answers.
const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n";

/// A server whose only exchange answers so.
fn server(respond: Response) -> ServerThread {
    let script = Script { exchanges: vec![Exchange { respond, ..Exchange::default() }], ..Script::default() };
    FixtureServer::spawn(script).unwrap()
}

/// Three writes of three bytes, in chunks, with a fault.
fn cut(how: How, after: After) -> Response {
    let write = |text: &str| dshlog_fixture_server::script::Write {
        text: Some(text.to_owned()),
        ..Default::default()
    };
    Response {
        body: Some(Body::Writes(vec![write("abc"), write("def"), write("ghi")])),
        fault: Some(Fault::new(how, after)),
        ..Response::default()
    }
}

/// Everything that comes, and how it ends; a stall shows as silence.
#[track_caller]
fn check(how: How, after: After, expected: &str, end: End) {
    let server = server(cut(how, after));
    let mut client = Client::connect(server.address());
    client.patience(Duration::from_millis(300));
    client.send(&post("/messages", &messages("x"), "connection: close\r\n"));
    let (bytes, ended) = client.read_to_end();
    let expected = if expected.is_empty() {
        String::new()
    } else {
        format!("{HEAD}connection: close\r\n\r\n{expected}")
    };
    let expected = expected.replace("(head)", "");
    assert_eq!(String::from_utf8(bytes).unwrap(), expected, "{how:?} {after:?}");
    assert_eq!(ended, end, "{how:?} {after:?}");
    drop(client);
    server.stop();
}

#[test]
fn closes_come_where_the_script_has_them() {
    check(How::Close, After::Nothing, "", End::Closed);
    check(How::Close, After::Head, "(head)", End::Closed);
    check(How::Close, After::Chunks(1), "3\r\nabc\r\n", End::Closed);
    check(How::Close, After::Bytes(6), "3\r\nabc\r\n3\r\ndef\r\n", End::Closed);
    check(How::Close, After::Bytes(4), "3\r\nabc\r\n3\r\nd", End::Closed);
    check(How::Close, After::Body, "3\r\nabc\r\n3\r\ndef\r\n3\r\nghi\r\n", End::Closed);
    check(How::Close, After::Bytes(99), "3\r\nabc\r\n3\r\ndef\r\n3\r\nghi\r\n", End::Closed);
}

#[test]
fn resets_come_where_the_script_has_them() {
    check(How::Reset, After::Nothing, "", End::Reset);
    check(How::Reset, After::Head, "(head)", End::Reset);
    check(How::Reset, After::Bytes(7), "3\r\nabc\r\n3\r\ndef\r\n3\r\ng", End::Reset);
    check(How::Reset, After::Body, "3\r\nabc\r\n3\r\ndef\r\n3\r\nghi\r\n", End::Reset);
}

#[test]
fn an_early_end_is_proper_for_its_framing() {
    check(How::End, After::Head, "0\r\n\r\n", End::Closed);
    check(How::End, After::Bytes(4), "3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n", End::Closed);
    check(How::End, After::Chunks(2), "3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n", End::Closed);
    check(How::End, After::Nothing, "", End::Closed);
}

#[test]
fn stalls_last_until_the_client_leaves_or_the_server_stops() {
    check(How::Stall, After::Nothing, "", End::Silence);
    check(How::Stall, After::Head, "(head)", End::Silence);
    check(How::Stall, After::Bytes(2), "3\r\nab", End::Silence);
    check(How::Stall, After::Body, "3\r\nabc\r\n3\r\ndef\r\n3\r\nghi\r\n", End::Silence);

    let server = server(cut(How::Stall, After::Chunks(1)));
    let mut client = Client::connect(server.address());
    client.send(&post("/messages", &messages("x"), ""));
    client.patience(Duration::from_millis(100));
    assert_eq!(client.read_to_end().1, End::Silence);
    drop(client);
    assert!(server.wait_finished(Duration::from_secs(5)), "a stall whose client left is over");
    assert_eq!(server.captures()[0].answer.as_ref().unwrap().end, AnswerEnd::ClientLeft);
}

#[test]
fn a_length_can_be_a_lie() {
    let cut = |framing| Response {
        body: Some(Body::Text("abcdef".to_owned())),
        framing: Some(framing),
        fault: Some(Fault::new(How::Close, After::Bytes(4))),
        ..Response::default()
    };
    let got = ask(&server(cut(Framing::Length)), "/messages", &messages("x"));
    assert_eq!(
        (got.header("content-length"), got.text().as_str(), got.end),
        (Some("6"), "abcd", End::Closed)
    );
    let got = ask(&server(cut(Framing::Close)), "/messages", &messages("x"));
    assert_eq!((got.header("content-length"), got.text().as_str(), got.end), (None, "abcd", End::Closed));

    let lie = serve(
        r#"exchanges = [{ respond = { headers = { content-length = "3" }, body = { text = "abcdef" } } }]"#,
    );
    let got = ask(&lie, "/messages", &messages("x"));
    assert_eq!((got.header("content-length"), got.text().as_str()), (Some("3"), "abc"));
}

#[test]
fn events_can_be_counted() {
    let server = serve(
        r#"
        [[exchanges]]
        [exchanges.respond]
        message.blocks = [{ type = "text", text = "abc", split = [1] }]
        chunks = { size = 50 }
        fault = { how = "end", after = { events = 3 } }
    "#,
    );
    let got = ask(&server, "/messages", &messages("x"));
    let names: Vec<Option<String>> = events(&got.body()).into_iter().map(|event| event.name).collect();
    let name = |name: &str| Some(name.to_owned());
    assert_eq!(names, [name("message_start"), name("content_block_start"), name("content_block_delta")]);
    let sizes: Vec<usize> = got.chunks.iter().map(Vec::len).collect();
    let (last, whole) = sizes.split_last().unwrap();
    assert!(whole.iter().all(|size| *size == 50) && *last <= 50, "{sizes:?}");
    assert_eq!(got.end, End::Proper);
}

#[test]
fn http_errors_have_their_headers_and_the_words_of_the_dialect() {
    let script = r#"
        [[exchanges]]
        respond = { status = 429, headers = { retry-after = "0.25", request-id = "req_1" }, error = { type = "rate_limit_error", message = "Slow down" } }
        [[exchanges]]
        respond = { status = 529, error = { type = "overloaded_error", message = "Overloaded", code = "busy" } }
        [[exchanges]]
        respond = { error = { message = "Oops" } }
        [[exchanges]]
        respond = { status = 502, headers = { Content-Type = "text/html" }, body = { text = "<html>" } }
        [[exchanges]]
        respond.status = 204
    "#;
    let told = |got: &Got| (got.status, got.header("content-type").map(str::to_owned), got.text());
    let kind = || Some("application/json".to_owned());
    let one = serve(script);
    let got = ask(&one, "/messages", &messages("x"));
    assert_eq!((got.header("retry-after"), got.header("request-id")), (Some("0.25"), Some("req_1")));
    let body = r#"{"error":{"message":"Slow down","type":"rate_limit_error"},"type":"error"}"#;
    assert_eq!(told(&got), (429, kind(), body.to_owned()));
    let body = r#"{"error":{"code":"busy","message":"Overloaded","type":"overloaded_error"},"type":"error"}"#;
    assert_eq!(told(&ask(&one, "/messages", &messages("x"))), (529, kind(), body.to_owned()));
    let got = ask(&one, "/messages", &messages("x"));
    assert_eq!((got.status, got.json()), (500, json!({"type": "error", "error": {"message": "Oops"}})));
    let got = ask(&one, "/messages", &messages("x"));
    assert_eq!(told(&got), (502, Some("text/html".to_owned()), "<html>".to_owned()));
    let got = ask(&one, "/messages", &messages("x"));
    assert_eq!(got.head, "HTTP/1.1 204 No Content\r\n\r\n");

    let two = serve(script);
    let body = r#"{"error":{"code":null,"message":"Slow down","type":"rate_limit_error"}}"#;
    assert_eq!(told(&ask(&two, "/chat/completions", &chat("x"))), (429, kind(), body.to_owned()));
}

#[test]
fn what_a_stream_may_lack_or_have_too_much() {
    let names = |respond: &str| {
        let server = serve(&format!("[[exchanges]]\n[exchanges.respond.message]\n{respond}"));
        let got = ask(&server, "/messages", &messages("x"));
        let events = events(&got.body());
        let names: Vec<String> =
            events.iter().map(|event| event.name.clone().unwrap_or_else(|| event.data.clone())).collect();
        names.join(" ")
    };
    let blocks = "blocks = [{ type = \"text\", text = \"a\" }]\n";
    let lacking = |omit: &str| names(&format!("{blocks}omit = [{omit}]"));
    let (start, open, delta, close) =
        ("message_start", "content_block_start", "content_block_delta", "content_block_stop");
    assert_eq!(lacking("\"start\""), format!("{open} {delta} {close} message_delta message_stop"));
    assert_eq!(lacking("\"block_ends\""), format!("{start} {open} {delta} message_delta message_stop"));
    assert_eq!(lacking("\"stop_reason\""), format!("{start} {open} {delta} {close} message_stop"));
    assert_eq!(lacking("\"stop\""), format!("{start} {open} {delta} {close} message_delta"));
    // The last event is there, but without its blank line it does not count.
    assert_eq!(lacking("\"last_blank_line\""), format!("{start} {open} {delta} {close} message_delta"));
    assert_eq!(
        names(
            "parts = [{ text = { index = 0 } }, { ping = {} }, { event = { data = \"{\" } }, { event = { event = \"x\", data = \"1\\n2\" } }, { comment = \"hi\" }, { raw = \"data: raw\\n\\n\" }]"
        ),
        format!("{start} {open} ping {{ x raw message_delta message_stop"),
    );
    assert_eq!(
        names(&format!("{blocks}error = {{ type = \"overloaded_error\", message = \"Overloaded\" }}")),
        format!("{start} {open} {delta} {close} error"),
    );
}

#[test]
fn an_error_event_in_both_dialects() {
    let script = r#"
        [[exchanges]]
        respond.message = { error = { type = "api_error", message = "Broken" } }
    "#;
    let stream = ask(&serve(script), "/messages", &messages("x")).text();
    let error = r#"data: {"error":{"message":"Broken","type":"api_error"},"type":"error"}"#;
    assert!(stream.ends_with(&format!("event: error\n{error}\n\n")), "{stream}");
    let stream = ask(&serve(script), "/chat/completions", &chat("x")).text();
    assert_eq!(stream, "data: {\"error\":{\"code\":null,\"message\":\"Broken\",\"type\":\"api_error\"}}\n\n");
}

#[test]
fn chunks_are_cut_where_the_script_wants() {
    let sizes = |chunks: &str| -> Vec<usize> {
        let server = serve(&format!(
            "[[exchanges]]\n[exchanges.respond]\nmessage.parts = [{{ raw = \"abcdef\" }}, {{ pause = 1 }}, {{ raw = \"ghij\" }}]\n\
             message.omit = [\"start\", \"stop_reason\", \"stop\"]\nchunks = {chunks}",
        ));
        ask(&server, "/messages", &messages("x")).chunks.iter().map(Vec::len).collect()
    };
    assert_eq!(sizes("\"events\""), [6, 4]);
    // A pause ends a chunk in any case.
    assert_eq!(sizes("\"whole\""), [6, 4]);
    assert_eq!(sizes("{ size = 4 }"), [4, 2, 4]);
    assert_eq!(sizes("{ at = [1, 3, 8] }"), [1, 2, 3, 2, 2]);
}

#[test]
fn each_chunk_is_a_read_of_its_own_when_there_are_pauses() {
    let server = serve(
        r#"
        [[exchanges]]
        [exchanges.respond]
        body.writes = [{ text = "one" }, { text = "two" }, { base64 = "/w==" }]
        pace.between_chunks_ms = 60
    "#,
    );
    let mut client = Client::connect(server.address());
    client.send(&post("/messages", &messages("x"), ""));
    let got = client.answer();
    assert_eq!(got.chunks, [b"one".to_vec(), b"two".to_vec(), vec![0xFF]]);
    for pair in got.times.windows(2) {
        let gap = pair[1].saturating_sub(pair[0]);
        assert!(gap >= Duration::from_millis(50), "{gap:?}");
    }
    assert!(client.reads.len() >= 3);
}

#[test]
fn a_head_can_be_late_and_slow() {
    let server = serve(
        r#"
        [[exchanges]]
        [exchanges.respond]
        body.text = "x"
        pace = { before_status_ms = 80, head_bytes = 20, head_pause_ms = 30, before_body_ms = 80 }
    "#,
    );
    let mut client = Client::connect(server.address());
    client.send(&post("/messages", &messages("x"), ""));
    let got = client.answer();
    assert_eq!(got.text(), "x");
    let (first, bytes) = &client.reads[0];
    assert!(*first >= Duration::from_millis(70), "{first:?}");
    assert_eq!(bytes.len(), 20);
    let head: Vec<&Vec<u8>> = client.reads.iter().map(|(_, bytes)| bytes).collect();
    assert!(head.len() > 3, "{}", head.len());
    let (last, before) = (client.reads[head.len() - 1].0, client.reads[head.len() - 2].0);
    assert!(last.saturating_sub(before) >= Duration::from_millis(70), "{before:?} {last:?}");
}

#[test]
fn a_verbatim_answer_is_all_there_is() {
    let server = serve(
        r#"
        [[exchanges]]
        respond.body.verbatim = [{ text = "HTTP/1.1 2OO Fine\r\n" }, { text = "\r\nrest", pause_ms = 5 }]
    "#,
    );
    let mut client = Client::connect(server.address());
    client.send(&post("/messages", &messages("x"), ""));
    let (bytes, end) = client.read_to_end();
    assert_eq!(
        (String::from_utf8(bytes).unwrap().as_str(), end),
        ("HTTP/1.1 2OO Fine\r\n\r\nrest", End::Closed)
    );
}

#[test]
fn halves_of_pairs_go_out_as_escapes() {
    let script = Script::from_json(
        r#"{"exchanges": [{"respond": {"message": {"blocks": [{"type": "text", "pieces": ["\ud83d", "\ude00", "\u0001é"]}]}}}]}"#,
    );
    let server = FixtureServer::spawn(script.unwrap()).unwrap();
    let stream = ask(&server, "/messages", &messages("x")).text();
    let deltas: Vec<&str> = stream
        .lines()
        .filter_map(|line| line.split_once(r#"{"delta":{"text":""#))
        .map(|(_, rest)| rest.split('"').next().unwrap())
        .collect();
    assert_eq!(deltas, [r"\ud83d", r"\ude00", r"\u0001é"]);
}

#[test]
fn a_cut_message_keeps_its_blocks() {
    let respond = Response {
        fault: Some(Fault::new(How::Close, After::Events(2))),
        ..Response::blocks([Block::thinking("deep", Some("sig".to_owned())), Block::text("x")])
    };
    let got = ask(&server(respond), "/messages", &messages("x"));
    assert_eq!(got.end, End::Closed);
    assert_eq!(events(&got.body()).len(), 2);
}
