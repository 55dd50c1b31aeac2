//! What a person meets first: a script is played, and what does not fit is told.

use crate::common::{Client, ask, ask_with, chain, chat, events, get, messages, post, serve};
use dshlog_fixture_server::{Fit, FixtureServer, Kind, Outcome, Rung, Script, ServerThread};
use serde_json::{Value, json};

const TWO_STEPS: &str = r#"
    name = "two steps"

    [[exchanges]]
    name = "wants a tool"
    match.last_user.contains = "list the files"
    [[exchanges.respond.message.blocks]]
    type = "text"
    text = "I look."
    [[exchanges.respond.message.blocks]]
    type = "tool_use"
    id = "call_1"
    name = "bash"
    input = { command = "ls" }
    split = [5]

    [[exchanges]]
    name = "has the result"
    match.results = [{ tool_use_id = "call_1", text.contains = "a.txt", is_error = false }]
    [exchanges.respond.message]
    blocks = [{ type = "text", text = "One file." }]
    usage = { input = 20, output = 3, cache_read = 7 }
"#;

#[test]
fn a_conversation_in_messages() {
    let server = serve(TWO_STEPS);
    let mut client = Client::connect(server.address());
    client.send(&post("/v1/messages", &messages("Please list the files"), ""));
    let first = client.answer();
    assert_eq!((first.status, first.header("content-type")), (200, Some("text/event-stream")));
    assert_eq!(
        first.text(),
        "\
event: message_start\ndata: {\"message\":{\"content\":[],\"id\":\"msg_0\",\"model\":\"deepseek-flash\",\"role\":\"assistant\",\"stop_reason\":null,\"stop_sequence\":null,\"type\":\"message\",\"usage\":{\"input_tokens\":0,\"output_tokens\":0}},\"type\":\"message_start\"}\n\n\
event: content_block_start\ndata: {\"content_block\":{\"text\":\"\",\"type\":\"text\"},\"index\":0,\"type\":\"content_block_start\"}\n\n\
event: content_block_delta\ndata: {\"delta\":{\"text\":\"I look.\",\"type\":\"text_delta\"},\"index\":0,\"type\":\"content_block_delta\"}\n\n\
event: content_block_stop\ndata: {\"index\":0,\"type\":\"content_block_stop\"}\n\n\
event: content_block_start\ndata: {\"content_block\":{\"id\":\"call_1\",\"input\":{},\"name\":\"bash\",\"type\":\"tool_use\"},\"index\":1,\"type\":\"content_block_start\"}\n\n\
event: content_block_delta\ndata: {\"delta\":{\"partial_json\":\"{\\\"com\",\"type\":\"input_json_delta\"},\"index\":1,\"type\":\"content_block_delta\"}\n\n\
event: content_block_delta\ndata: {\"delta\":{\"partial_json\":\"mand\\\":\\\"ls\\\"}\",\"type\":\"input_json_delta\"},\"index\":1,\"type\":\"content_block_delta\"}\n\n\
event: content_block_stop\ndata: {\"index\":1,\"type\":\"content_block_stop\"}\n\n\
event: message_delta\ndata: {\"delta\":{\"stop_reason\":\"tool_use\",\"stop_sequence\":null},\"type\":\"message_delta\",\"usage\":{\"input_tokens\":0,\"output_tokens\":0}}\n\n\
event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
    );
    assert_eq!(first.chunks.len(), events(&first.body()).len(), "an event is a chunk");

    let mut second = messages("Please list the files");
    second["messages"].as_array_mut().unwrap().extend([
        json!({"role": "assistant", "content": [{"type": "tool_use", "id": "call_1", "name": "bash", "input": {}}]}),
        json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "call_1", "content": [{"type": "text", "text": "a.txt"}], "is_error": false},
        ]}),
    ]);
    client.send(&post("/v1/messages", &second, ""));
    let second = client.answer();
    let last = events(&second.body()).into_iter().rev().nth(1).unwrap();
    let usage: Value = serde_json::from_str(&last.data).unwrap();
    assert_eq!(usage["usage"], json!({"input_tokens": 20, "output_tokens": 3, "cache_read_input_tokens": 7}));
    assert_eq!(usage["delta"]["stop_reason"], "end_turn");
    assert_eq!(
        server.stop().to_string(),
        "2 requests: 2 served (0 exact, 0 normalized, 2 not compared), 0 diverged, 0 unmatched; \
         every exchange was asked for",
    );
}

#[test]
fn the_same_script_in_chat_completions() {
    let server = serve(TWO_STEPS);
    let first = ask(&server, "/chat/completions", &chat("Please list the files"));
    let chunks = events(&first.body());
    assert!(chunks.iter().all(|event| event.name.is_none()));
    let (last, chunks) = chunks.split_last().unwrap();
    assert_eq!(last.data, "[DONE]");
    let parts: Vec<Value> = chunks
        .iter()
        .map(|event| {
            let chunk: Value = serde_json::from_str(&event.data).unwrap();
            assert_eq!(chunk["object"], "chat.completion.chunk");
            let choice = &chunk["choices"][0];
            match (chunk.get("usage"), &choice["finish_reason"]) {
                (Some(usage), _) => usage.clone(),
                (None, Value::Null) => choice["delta"].clone(),
                (None, reason) => reason.clone(),
            }
        })
        .collect();
    assert_eq!(
        parts,
        [
            json!({"content": "I look."}),
            json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "bash", "arguments": ""}}]}),
            json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"com"}}]}),
            json!({"tool_calls": [{"index": 0, "function": {"arguments": "mand\":\"ls\"}"}}]}),
            json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}),
            json!("tool_calls"),
        ]
    );
    let mut second = chat("Please list the files");
    second["messages"].as_array_mut().unwrap().extend([
        json!({"role": "assistant", "content": "", "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}]}),
        json!({"role": "tool", "tool_call_id": "call_1", "content": "a.txt\n"}),
    ]);
    let second = ask(&server, "/chat/completions", &second).text();
    assert!(second.contains(r#""usage":{"completion_tokens":3,"prompt_cache_hit_tokens":7,"prompt_tokens":27,"total_tokens":30}"#), "{second}");
    assert!(second.contains(r#""finish_reason":"stop""#), "{second}");
    assert!(server.stop().is_good());
}

#[test]
fn what_fits_nowhere_is_told_what_came_nearest() {
    let server = serve(TWO_STEPS);
    let got = ask(&server, "/v1/messages", &messages("Delete the files"));
    assert_eq!(got.status, 400);
    let body = got.json();
    assert_eq!((&body["type"], &body["error"]["type"]), (&json!("error"), &json!("invalid_request_error")));
    assert_eq!(
        body["error"]["message"],
        "\
fixture server: no exchange fits POST /v1/messages (kind agent, model deepseek-flash, 1 messages, 1 tools, \
last user text \"Delete the files\")
lane `main` waits for exchanges[0] `wants a tool`
nearest is exchanges[0] `wants a tool`
  /messages/0/content/0/text: expected text containing \"list the files\", is \"Delete the files\""
    );
    assert_eq!(body["report"]["nearest"]["firstPlace"], "/messages/0/content/0/text");

    let got = ask(&server, "/chat/completions", &chat("Delete the files"));
    assert_eq!(got.json()["error"]["code"], Value::Null);
    assert_eq!(got.json()["report"]["nearest"]["firstPlace"], "/messages/1/content");

    let verdict = server.stop();
    assert_eq!((verdict.unmatched, verdict.is_good()), (2, false));
    assert_eq!(verdict.left, ["exchanges[0] `wants a tool`", "exchanges[1] `has the result`"]);
}

#[test]
fn what_comes_too_early_is_told_so() {
    let server = serve(
        r#"
        exchanges = [
            { match.last_user.contains = "one", respond.message.blocks = [{ type = "text", text = "1" }] },
            { match.last_user.contains = "two", respond.message.blocks = [{ type = "text", text = "2" }] },
        ]
    "#,
    );
    let body = ask(&server, "/messages", &messages("two")).json();
    let message = body["error"]["message"].as_str().unwrap();
    assert_eq!(body["report"]["firstPlace"], "/messages/0/content/0/text");
    assert!(message.ends_with("nearest is exchanges[1]: it fits, but it is not its turn"), "{message}");
    assert!(message.contains("lane `main` waits for exchanges[0]\n  /messages/0/content/0/text: expected text containing \"one\""), "{message}");
    assert_eq!(ask(&server, "/messages", &messages("one")).status, 200);
    assert_eq!(ask(&server, "/messages", &messages("two")).status, 200);
    let message = ask(&server, "/messages", &messages("two")).json()["error"]["message"].clone();
    assert!(message.as_str().unwrap().contains("lane `main` has served all of its 2 exchanges"), "{message}");
}

#[test]
fn everything_asked_is_kept_and_shown() {
    let server = serve(r#"exchanges = [{ respond.message.blocks = [{ type = "text", text = "x" }] }]"#);
    let secret = "Authorization: Bearer s3cret\r\nX-API-Key: s3cret\r\nCookie: s3cret\r\nx-my-token: s3cret\r\nx-other: open\r\n";
    let body = messages("hello");
    ask_with(&server, "/deep/base/v1/messages?beta=true", &body, secret);
    assert_eq!(get(&server, "/healthz").json(), json!({"status": "ok"}));
    assert_eq!(ask(&server, "/v1/files", &json!({})).status, 404);
    assert_eq!(get(&server, "/v1/messages").status, 405);
    assert_eq!(get(&server, "/nowhere").status, 404);

    let captures = server.captures();
    let first = &captures[0];
    assert_eq!((first.method.as_str(), first.target.as_str()), ("POST", "/deep/base/v1/messages?beta=true"));
    assert_eq!(*first.body, *body.to_string().as_bytes());
    let shown: Vec<(&str, &str)> =
        first.headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).skip(3).collect();
    assert_eq!(
        shown,
        [
            ("authorization", "Bearer ***"),
            ("x-api-key", "***"),
            ("cookie", "***"),
            ("x-my-token", "***"),
            ("x-other", "open"),
        ]
    );
    assert!(matches!(first.outcome, Outcome::Served { rung: Rung::Exchange(0), fit: Fit::Unchecked, .. }));
    assert_eq!(first.kind, Kind::Agent);
    let answer = first.answer.as_ref().unwrap();
    assert_eq!(answer.status, Some(200));
    let outcomes: Vec<&str> = captures.iter().map(|capture| capture.outcome.name()).collect();
    assert_eq!(outcomes, ["unchecked", "elsewhere", "elsewhere", "elsewhere"]);

    let admin = get(&server, "/admin").json();
    assert_eq!(admin["verdict"]["good"], true);
    assert_eq!(admin["requests"][0]["exchange"], "exchanges[0]");
    assert_eq!(get(&server, "/admin/requests/0").json()["body"], body);
    assert_eq!(get(&server, "/admin/requests/9").status, 404);
    assert!(!get(&server, "/admin/requests/0").text().contains("s3cret"));
}

#[test]
fn a_body_that_is_no_json_is_refused_in_words() {
    let server = serve("exchanges = [{}]");
    let mut client = Client::connect(server.address());
    client.send(b"POST /v1/messages HTTP/1.1\r\ncontent-length: 5\r\n\r\n{\"a\":");
    let got = client.answer();
    assert_eq!(got.status, 400);
    let message = got.json()["error"]["message"].clone();
    assert_eq!(
        message,
        "fixture server: no exchange fits POST /v1/messages: the body is not JSON, at line 1 column 5",
    );
    assert_eq!(server.stop().unmatched, 1);
}

#[test]
fn it_serves_from_async_code_too_and_stops_when_dropped() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let address = runtime.block_on(async {
        let script = Script::from_toml("exchanges = [{ respond.body.text = \"ok\" }]").unwrap();
        let server = FixtureServer::start(script).await.unwrap();
        let address = server.address();
        let asked = tokio::task::spawn_blocking(move || {
            let mut client = Client::connect(address);
            client.send(&post("/messages", &messages("x"), ""));
            client.answer().text()
        });
        assert_eq!(asked.await.unwrap(), "ok");
        server.finished().await;
        assert!(server.verdict().is_good());
        drop(server);
        tokio::task::yield_now().await;
        address
    });
    drop(runtime);
    assert!(std::net::TcpStream::connect(address).is_err(), "nobody listens any more");
}

#[test]
fn only_this_machine_unless_told() {
    let options = |public| dshlog_fixture_server::Options {
        listen: "0.0.0.0:0".parse().unwrap(),
        public,
        ..dshlog_fixture_server::Options::default()
    };
    let script = || Script::from_toml("exchanges = [{}]").unwrap();
    let fault = FixtureServer::spawn_with(script(), options(false)).unwrap_err();
    assert_eq!(chain(&fault), "0.0.0.0:0 can be reached from other machines, and nobody said that it may");
    assert!(FixtureServer::spawn_with(script(), options(true)).is_ok());
    let taken = serve("exchanges = [{}]");
    let options = dshlog_fixture_server::Options { listen: taken.address(), ..options(false) };
    let fault = FixtureServer::spawn_with(script(), options).unwrap_err();
    assert!(chain(&fault).starts_with(&format!("cannot listen on {}: ", taken.address())), "{fault}");
}

#[test]
fn odd_bodies_are_only_odd() {
    let server = serve(
        "exchanges = [{ repeat = true, respond.body.text = \"ok\" }]\nside = [{ match.kind = \"title\", respond.body.text = \"title\" }]",
    );
    let odd = [
        json!(null),
        json!([]),
        json!("text"),
        json!({"messages": {}}),
        json!({"messages": [1, null, "x", {}, {"role": 7, "content": 8}, {"content": [[], {"type": 9}, {"type": "text"}]}]}),
        json!({"messages": [{"role": "tool"}, {"role": "assistant", "tool_calls": [{}, 1]}, {"role": "assistant", "tool_calls": 5}]}),
        json!({"messages": [{"role": "user", "content": [{"type": "tool_result"}, {"type": "tool_use", "id": 3}]}]}),
        json!({"model": 5, "system": [1, {"type": "text", "text": "a"}], "tools": [{}, {"name": 1}, {"function": {}}]}),
    ];
    for body in odd {
        for path in ["/v1/messages", "/chat/completions"] {
            assert_eq!(ask(&server, path, &body).text(), "ok", "{body}");
        }
    }
    // Deeper than a parser should follow.
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let mut client = Client::connect(server.address());
    client
        .send(format!("POST /messages HTTP/1.1\r\ncontent-length: {}\r\n\r\n{deep}", deep.len()).as_bytes());
    assert_eq!(client.answer().status, 400);
}

/// A page in a browser may have got here by a name that it made lead here. What was asked is not for it.
#[test]
fn what_was_asked_is_not_shown_to_pages_of_the_web() {
    let status = |server: &ServerThread, path: &str, headers: &str| {
        let mut client = Client::connect(server.address());
        client.send(format!("GET {path} HTTP/1.1\r\n{headers}\r\n").as_bytes());
        client.answer().status
    };
    let server = serve("exchanges = [{}]");
    for (headers, expected) in [
        ("host: 127.0.0.1:80\r\n", 200),
        ("host: [::1]:80\r\n", 200),
        ("host: localhost\r\n", 200),
        ("host: runner:8080\r\n", 200),
        ("", 200),
        ("host: evil.example:80\r\n", 403),
        ("host: localhost\r\norigin: http://evil.example\r\n", 403),
    ] {
        assert_eq!(status(&server, "/admin", headers), expected, "{headers}");
        assert_eq!(status(&server, "/admin/requests/0", headers) == 403, expected == 403, "{headers}");
        assert_eq!(status(&server, "/healthz", headers), 200);
    }
    // Where other machines are let in they have names.
    let options =
        dshlog_fixture_server::Options { public: true, ..dshlog_fixture_server::Options::default() };
    let script = Script::from_toml("exchanges = [{}]").unwrap();
    let server = FixtureServer::spawn_with(script, options).unwrap();
    assert_eq!(status(&server, "/admin", "host: ci.example\r\n"), 200);
}
