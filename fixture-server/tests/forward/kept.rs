//! What is kept, and that it answers the same.

use std::time::Duration;

use dshlog_fixture_server::forward::{Scenario, ScenarioError, Secrets};
use dshlog_fixture_server::{FixtureServer, Script, Verdict};
use serde_json::{Value, json};

use crate::common::{Client, PATIENCE, chat, post};
use crate::{all_text, before, body, messages, service, told};

const SHORT: Duration = Duration::from_millis(700);

fn load(folder: &std::path::Path) -> Script {
    Script::load(&Scenario::script_in(folder)).unwrap()
}

#[test]
fn a_bad_day_can_be_played_again() {
    let script = include_str!("../../../docs/scripts/faults.toml");
    let service = service(script);
    let forwarder = before(&service);
    let requests: Vec<Vec<u8>> = (0..8).map(|n| messages(&format!("try {n}"))).collect();
    let first: Vec<_> = requests.iter().map(|it| told(forwarder.address(), it, SHORT)).collect();
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("bad-day");
    Scenario::prepare(&folder).unwrap();
    let passed = forwarder.stop();
    let scenario = Scenario::of(&passed, Secrets::of(&passed), false);
    scenario.write(&folder).unwrap();
    assert_eq!((scenario.requests(), scenario.counts(), scenario.left_out().len()), (8, (8, 0), 0));

    let again = FixtureServer::spawn(load(&folder)).unwrap();
    for (n, (request, first)) in requests.iter().zip(first).enumerate() {
        let second = told(again.address(), request, SHORT);
        assert_eq!(String::from_utf8_lossy(&second.body), String::from_utf8_lossy(&first.body), "{n}");
        assert_eq!((second.status, second.end), (first.status, first.end), "{n}");
        let kind = |headers: &[String]| headers.iter().find(|line| line.starts_with("content-type")).cloned();
        assert_eq!(kind(&second.headers), kind(&first.headers), "{n}");
    }
    let verdict = again.stop();
    assert!(verdict.is_good() && verdict.exact == 8, "{verdict}");

    // What was written is not written over.
    assert!(matches!(Scenario::prepare(&folder), Err(ScenarioError::NotEmpty { .. })));
    assert!(matches!(scenario.write(&folder), Err(ScenarioError::Write { .. })));
}

#[test]
fn secrets_go_to_the_service_and_nowhere_else() {
    const KEY: &str = "sk-0123456789abcdef0123456789abcdef";
    let script = r#"
        [[exchanges]]
        match.headers = [{ name = "x-api-key", value.equals = "hush-hush-1" }, { name = "authorization", value.equals = "Bearer tell-nobody" }]
        match.json = [{ pointer = "/metadata/key", equals = "sk-0123456789abcdef0123456789abcdef" }]
        [exchanges.respond]
        headers = { set-cookie = "session=very-private" }
        chunks = { size = 5 }
        message.blocks = [{ type = "text", text = "Your key is sk-0123456789abcdef0123456789abcdef, mind hush-hush-1." }]
    "#;
    let service = service(script);
    let forwarder = before(&service);
    let mut asked = body(&format!("The key is {KEY}"));
    asked["metadata"] = json!({ "key": KEY, "note": "tell-nobody" });
    let headers = "x-api-key: hush-hush-1\r\nauthorization: Bearer tell-nobody\r\ncookie: a=private-too\r\n";
    let target = "/v1/messages?api_key=in-the-open&beta=true";
    let request = post(target, &asked, headers);
    let first = told(forwarder.address(), &request, PATIENCE);
    assert!(
        first.headers.iter().any(|line| line == "set-cookie: session=very-private"),
        "{:?}",
        first.headers
    );
    assert!(String::from_utf8_lossy(&first.body).contains(KEY), "the client gets all");
    assert!(service.stop().is_good());

    let folder = tempfile::tempdir().unwrap();
    let passed = forwarder.stop();
    let scenario = Scenario::of(&passed, Secrets::of(&passed), false);
    scenario.write(folder.path()).unwrap();
    let kept = all_text(folder.path());
    for secret in
        [&KEY[3..], "hush-hush-1", "tell-nobody", "private-too", "very-private", "ef0123", "in-the-open"]
    {
        assert!(!kept.contains(secret), "{secret} in {kept}");
    }
    assert!(
        kept.contains("sk-********************************")
            && kept.contains(r#"["authorization","Bearer ***"]"#)
    );

    // A run with another key is the same scenario, and so is the rest of the request.
    let again = FixtureServer::spawn(load(folder.path())).unwrap();
    let second = told(again.address(), &request, PATIENCE);
    assert_eq!(second.status, Some(200));
    assert_eq!(second.body.len(), first.body.len(), "masking keeps lengths");
    assert!(again.stop().is_good());
    let again = FixtureServer::spawn(load(folder.path())).unwrap();
    asked["max_tokens"] = json!(7);
    assert_eq!(told(again.address(), &post(target, &asked, headers), PATIENCE).status, Some(400));
    assert_eq!(again.stop().diverged, 1);
}

/// Asks under the name of a session.
fn ask(client: &mut Client, session: &str, text: &str) -> String {
    let header = format!("x-deepseek-harness-session-id: {session}\r\n");
    client.send(&post("/v1/messages", &body(text), &header));
    client.answer().text()
}

#[test]
fn conversations_get_lanes_and_titles_stand_aside() {
    let script = r#"
        [[exchanges]]
        times = 4
        respond.message.blocks = [{ type = "text", text = "Yes." }]
        [[side]]
        match.kind = "title"
        respond.message.blocks = [{ type = "text", text = "A title" }]
    "#;
    let title = "Generate the session title from this JSON array of human messages: [\"hi\"]";
    let service = service(script);
    let forwarder = before(&service);
    let mut client = Client::connect(forwarder.address());
    for (session, text) in [("a", "one"), ("b", "two"), ("a", "three"), ("b", "four")] {
        assert!(ask(&mut client, session, text).contains("Yes."));
    }
    let mut asks_title = body(title);
    asks_title.as_object_mut().unwrap().remove("tools");
    client.send(&post("/v1/messages", &asks_title, ""));
    assert!(client.answer().text().contains("A title"));
    client.send(b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n");
    assert_eq!(client.answer().status, 404);

    let folder = tempfile::tempdir().unwrap();
    let passed = forwarder.stop();
    let scenario = Scenario::of(&passed, Secrets::of(&passed), false);
    scenario.write(folder.path()).unwrap();
    assert_eq!(scenario.counts(), (4, 1));
    assert_eq!(scenario.left_out(), [(5, "GET /v1/models: a script answers POST only".to_owned())]);

    // In another order of the conversations, and with the title first.
    let again = FixtureServer::spawn(load(folder.path())).unwrap();
    let mut client = Client::connect(again.address());
    client.send(&post("/v1/messages", &asks_title, ""));
    assert!(client.answer().text().contains("A title"));
    for (session, text) in [("b", "two"), ("b", "four"), ("a", "one"), ("a", "three")] {
        assert!(ask(&mut client, session, text).contains("Yes."), "{text}");
    }
    let Verdict { exact, unmatched, ref left, .. } = again.verdict();
    assert_eq!((exact, unmatched, left.len()), (4, 0, 0));
    // One more is a miss.
    assert!(ask(&mut client, "a", "five").contains("no exchange fits"));
    assert!(!again.stop().is_good());
}

#[test]
fn pauses_and_times_are_kept() {
    let script = r#"
        [[exchanges]]
        [exchanges.respond]
        body.writes = [{ text = "one" }, { text = "two", pause_ms = 120 }, { base64 = "/wD+" }]
        pace = { before_status_ms = 60, between_chunks_ms = 40 }
    "#;
    let service = service(script);
    let forwarder = before(&service);
    let request = post("/chat/completions", &chat("wait"), "");
    assert_eq!(told(forwarder.address(), &request, PATIENCE).body, b"onetwo\xff\x00\xfe");
    let passed = forwarder.stop();
    let folder = tempfile::tempdir().unwrap();
    Scenario::of(&passed, Secrets::of(&passed), true).write(folder.path()).unwrap();
    let script = std::fs::read_to_string(Scenario::script_in(folder.path())).unwrap();
    let script: Value = serde_json::from_str(&script).unwrap();
    let respond = &script["exchanges"][0]["respond"];
    assert!(respond["pace"]["before_status_ms"].as_u64().unwrap() >= 50, "{respond}");
    let writes = respond["body"]["writes"].as_array().unwrap();
    assert_eq!((&writes[0]["text"], &writes[2]["base64"]), (&json!("one"), &json!("/wD+")));
    assert!(writes[1]["pause_ms"].as_u64().unwrap() >= 120, "{respond}");
    let list = std::fs::read_to_string(folder.path().join("requests.jsonl")).unwrap();
    let line: Value = serde_json::from_str(list.trim_end()).unwrap();
    let pieces = line["answer"]["pieces"].as_array().unwrap();
    assert_eq!(pieces.iter().map(|piece| piece[1].as_u64().unwrap()).collect::<Vec<_>>(), [3, 3, 3]);
    assert!(pieces[1][0].as_f64().unwrap() - pieces[0][0].as_f64().unwrap() >= 120.0, "{line}");
    assert_eq!(std::fs::read(folder.path().join("0000.body")).unwrap(), *passed[0].body);

    let again = FixtureServer::spawn(load(folder.path())).unwrap();
    assert_eq!(told(again.address(), &request, PATIENCE).body, b"onetwo\xff\x00\xfe");
    assert!(again.stop().is_good());
}
