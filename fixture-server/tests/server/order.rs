//! Order: of one conversation, of several at once, and of what stands outside of it.

use dshlog_fixture_server::{Kind, Outcome, ServerThread};
use serde_json::{Value, json};

use crate::common::{ask, ask_with, chat, messages, serve};

/// The text of an answer whose body is a text, or the status.
#[track_caller]
fn say(server: &ServerThread, session: &str, text: &str) -> String {
    let headers = format!("x-deepseek-harness-session-id: {session}\r\n");
    let got = ask_with(server, "/v1/messages", &messages(text), &headers);
    if got.status == 200 { got.text() } else { got.status.to_string() }
}

/// A script of exchanges that match `last_user` and answer with a text: `lane user answer more`.
fn script(lines: &[(&str, &str, &str, &str)]) -> ServerThread {
    let exchange = |(lane, user, answer, more): &(&str, &str, &str, &str)| {
        let lane = if lane.is_empty() { String::new() } else { format!("lane = {lane:?}\n") };
        let user =
            if user.is_empty() { String::new() } else { format!("match.last_user.contains = {user:?}\n") };
        format!("[[exchanges]]\n{lane}{user}respond.body.text = {answer:?}\n{more}\n")
    };
    serve(&lines.iter().map(exchange).collect::<String>())
}

#[test]
fn without_lanes_there_is_one_queue_for_all() {
    let server = script(&[("", "", "1", ""), ("", "", "2", ""), ("", "", "3", "")]);
    assert_eq!([say(&server, "a", "x"), say(&server, "b", "y"), say(&server, "a", "z")], ["1", "2", "3"]);
    assert_eq!(say(&server, "a", "x"), "400");
}

#[test]
fn lanes_belong_to_conversations_and_are_strict_in_themselves() {
    let server = script(&[
        ("parent", "build it", "p1", ""),
        ("left", "left part", "l1", ""),
        ("right", "right part", "r1", ""),
        ("parent", "", "p2", ""),
        ("left", "", "l2", ""),
        ("right", "", "r2", ""),
    ]);
    assert_eq!(say(&server, "s-1", "build it"), "p1");
    // The children come in the other order than the script has them, and overtake each other.
    assert_eq!(say(&server, "s-3", "the right part"), "r1");
    assert_eq!(say(&server, "s-2", "the left part"), "l1");
    assert_eq!(say(&server, "s-2", "go on"), "l2");
    assert_eq!(say(&server, "s-1", "go on"), "p2");
    assert_eq!(say(&server, "s-2", "more"), "400");
    assert_eq!(say(&server, "s-4", "another left part"), "400", "the lane is taken");
    assert_eq!(say(&server, "s-3", "go on"), "r2");
    let verdict = server.stop();
    assert_eq!((verdict.unchecked, verdict.unmatched, verdict.left.len()), (6, 2, 0));
}

#[test]
fn equal_children_take_equal_lanes_one_after_the_other() {
    let server =
        script(&[("a", "same", "a1", ""), ("b", "same", "b1", ""), ("a", "", "a2", ""), ("b", "", "b2", "")]);
    assert_eq!(say(&server, "s-1", "same"), "a1");
    assert_eq!(say(&server, "s-2", "same"), "b1");
    assert_eq!(say(&server, "s-1", "next"), "a2");
    assert_eq!(say(&server, "s-2", "next"), "b2");
}

#[test]
fn of_several_lanes_the_one_whose_expected_request_it_is() {
    let body = |text: &str| messages(text).to_string();
    let script = dshlog_fixture_server::Script::from_json(&format!(
        r#"{{"exchanges": [
            {{"lane": "a", "expect": {{"body": {}}}, "respond": {{"body": {{"text": "a"}}}}}},
            {{"lane": "b", "expect": {{"body": {}}}, "respond": {{"body": {{"text": "b"}}}}}}
        ]}}"#,
        body("first"),
        body("second"),
    ));
    let server = dshlog_fixture_server::FixtureServer::spawn(script.unwrap()).unwrap();
    assert_eq!(say(&server, "s-1", "second"), "b");
    assert_eq!(say(&server, "s-2", "first"), "a");
    assert_eq!(server.stop().exact, 2);
}

#[test]
fn conversations_are_known_without_the_header_too() {
    let ask_as = |server: &ServerThread, first: &str, last: &str| {
        let mut body = messages(first);
        body["messages"].as_array_mut().unwrap().extend([
            json!({"role": "assistant", "content": "ok"}),
            json!({"role": "user", "content": last}),
        ]);
        ask(server, "/messages", &body).text()
    };
    let server =
        script(&[("a", "A", "a1", ""), ("b", "B", "b1", ""), ("a", "", "a2", ""), ("b", "", "b2", "")]);
    assert_eq!(say_without(&server, "A"), "a1");
    assert_eq!(say_without(&server, "B"), "b1");
    assert_eq!(ask_as(&server, "B", "go on"), "b2");
    assert_eq!(ask_as(&server, "A", "go on"), "a2");
    assert_eq!(server.captures()[2].conversation, "B");

    let server = serve(
        r#"
        conversation = { pointer = "/metadata/id" }
        exchanges = [
            { lane = "a", respond.body.text = "a1" },
            { lane = "a", respond.body.text = "a2" },
            { lane = "b", respond.body.text = "b1" },
        ]
    "#,
    );
    let with_id = |id: Value| {
        let mut body = messages("x");
        body["metadata"] = json!({ "id": id });
        ask(&server, "/messages", &body).text()
    };
    assert_eq!([with_id(json!(7)), with_id(json!("u")), with_id(json!(7))], ["a1", "b1", "a2"]);
}

fn say_without(server: &ServerThread, text: &str) -> String {
    ask(server, "/messages", &messages(text)).text()
}

#[test]
fn an_exchange_may_come_often_or_not_at_all() {
    let server = script(&[
        ("", "poll", "p", "times = 2"),
        ("", "retry", "r", "repeat = true"),
        ("", "maybe", "m", "optional = true"),
        ("", "end", "e", ""),
    ]);
    assert_eq!([say(&server, "s", "poll"), say(&server, "s", "poll")], ["p", "p"]);
    assert_eq!(say(&server, "s", "poll"), "400");
    assert_eq!(say(&server, "s", "end"), "400", "`repeat` is at least once");
    assert_eq!([say(&server, "s", "retry"), say(&server, "s", "retry")], ["r", "r"]);
    assert_eq!(server.verdict().left, ["exchanges[3]"]);
    assert_eq!(say(&server, "s", "end"), "e");
    assert!(server.verdict().left.is_empty());
    let ids: Vec<String> =
        server.captures().iter().map(|capture| capture.outcome.name().to_owned()).collect();
    assert_eq!(ids.iter().filter(|name| *name == "unmatched").count(), 2);
}

#[test]
fn side_requests_have_their_own_rules() {
    let server = serve(
        r#"
        [[exchanges]]
        match.last_user.contains = "Print hello"
        respond.body.text = "agent"

        [[exchanges]]
        match.kind = "compaction"
        respond.body.text = "summary"

        [[side]]
        name = "titles"
        match.kind = "title"
        respond.message.blocks = [{ type = "text", text = "A title" }]

        [[side]]
        match.path = { equals = "/v1/files" }
        times = 1
        respond.body.json = { id = "file_1" }
    "#,
    );
    // A title request holds the prompt, comes first, and takes nothing from the agent's queue.
    let mut title = messages(
        "Generate the session title from this JSON array of human messages:\n[{\"seq\":8,\"text\":\"Print hello\"}]",
    );
    title.as_object_mut().unwrap().remove("tools");
    title["thinking"] = json!({"type": "disabled"});
    assert!(ask(&server, "/v1/messages", &title).text().contains("A title"));
    assert_eq!(ask(&server, "/v1/messages", &messages("Print hello")).text(), "agent");
    assert!(ask(&server, "/v1/messages", &title).text().contains("A title"));
    assert_eq!(ask(&server, "/v1/files", &json!({})).json(), json!({"id": "file_1"}));
    assert_eq!(ask(&server, "/v1/files", &json!({})).status, 404);
    // A summary has tools like an agent; the header tells.
    assert_eq!(ask(&server, "/v1/messages", &messages("Print hello")).status, 400);
    let got = ask_with(&server, "/v1/messages", &messages("Summarise"), "x-deepseek-harness-compact: 1\r\n");
    assert_eq!(got.text(), "summary");

    let captures = server.captures();
    let kinds: Vec<Kind> = captures.iter().map(|capture| capture.kind).collect();
    assert_eq!(
        kinds,
        [Kind::Title, Kind::Agent, Kind::Title, Kind::Other, Kind::Other, Kind::Agent, Kind::Compaction]
    );
    assert!(matches!(&captures[0].outcome, Outcome::Served { label, .. } if label == "side[0] `titles`"));
    let ids: Vec<String> =
        [0, 2].iter().map(|n| format!("{:?}", captures[*n].answer.as_ref().unwrap().status)).collect();
    assert_eq!(ids, ["Some(200)", "Some(200)"]);
}

#[test]
fn a_title_without_a_rule_does_not_take_an_exchange() {
    let server = serve(r#"exchanges = [{ respond.body.text = "agent" }]"#);
    let mut title = chat("Generate the session title from this JSON array of human messages: []");
    title.as_object_mut().unwrap().remove("tools");
    let got = ask(&server, "/chat/completions", &title);
    assert_eq!(got.status, 400);
    assert_eq!(got.json()["report"]["nearest"]["firstPlace"], "kind");
    assert_eq!(ask(&server, "/chat/completions", &chat("x")).text(), "agent");
}

#[test]
fn each_condition_can_fail() {
    let fails = |condition: &str, place: &str, words: &str| {
        let server = serve(&format!("[[exchanges]]\n{condition}\nrespond.body.text = \"ok\""));
        let mut body = messages("hello");
        body["messages"].as_array_mut().unwrap().extend([
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "bash", "input": {}}]}),
            json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "gone"}], "is_error": true},
                {"type": "text", "text": "and now"},
            ]}),
        ]);
        let got = ask_with(&server, "/v1/messages", &body, "x-test: yes\r\n");
        if words.is_empty() {
            assert_eq!(got.text(), "ok", "{condition}");
            return;
        }
        let report = got.json()["report"]["nearest"].clone();
        let first = &report["mismatches"][0];
        assert_eq!(
            (report["firstPlace"].as_str(), first["expected"].as_str()),
            (Some(place), Some(words)),
            "{condition}"
        );
        assert_eq!(report["mismatches"].as_array().unwrap().len(), 1, "{condition}");
    };
    fails("match.kind = \"title\"", "kind", "`title`");
    fails("match.dialect = \"chat\"", "dialect", "`chat`");
    fails("match.path.equals = \"/messages\"", "path", "text equal to \"/messages\"");
    fails("match.model.equals = \"other\"", "/model", "text equal to \"other\"");
    fails(
        "match.model = { starts_with = \"deepseek\", lacks = \"flash\" }",
        "/model",
        "text starting with \"deepseek\" and without \"flash\"",
    );
    fails("match.system.contains = \"pirate\"", "/system", "text containing \"pirate\"");
    fails("match.first_user.equals = \"hell\"", "/messages/0/content/0/text", "text equal to \"hell\"");
    fails("match.last_user.contains = \"hello\"", "/messages/2/content/1/text", "text containing \"hello\"");
    fails("match.last_user.lacks = \"now\"", "/messages/2/content/1/text", "text without \"now\"");
    fails("match.messages = 2", "/messages", "2 messages");
    fails("match.tools = [\"bash\", \"read\"]", "/tools", "exactly 2 tools");
    fails("match.results = [{ tool_use_id = \"c2\" }]", "/messages", "a result of the call \"c2\"");
    fails(
        "match.results = [{ tool_use_id = \"c1\", is_error = false }]",
        "/messages/2/content/0/is_error",
        "false",
    );
    fails(
        "match.results = [{ tool_use_id = \"c1\", text.contains = \"ok\" }]",
        "/messages/2/content/0/content",
        "text containing \"ok\"",
    );
    fails("match.json = [{ pointer = \"/max_tokens\", equals = 7 }]", "/max_tokens", "7");
    fails("match.json = [{ pointer = \"/nope\" }]", "/nope", "a value");
    fails("match.json = [{ pointer = \"/system\", exists = false }]", "/system", "nothing");
    fails("match.json = [{ pointer = \"/tools\", length = 25 }]", "/tools", "length 25");
    fails(
        "match.json = [{ pointer = \"/tools/0/name\", text.contains = \"edit\" }]",
        "/tools/0/name",
        "text containing \"edit\"",
    );
    fails(
        "match.headers = [{ name = \"X-Test\", value.equals = \"no\" }]",
        "header x-test",
        "text equal to \"no\"",
    );
    fails("match.headers = [{ name = \"x-none\" }]", "header x-none", "any text");
    // And all of them can hold.
    fails(
        "match = { kind = \"agent\", dialect = \"messages\", path.equals = \"/v1/messages\", model.equals = \"deepseek-flash\", \
         system.contains = \"test\", first_user.equals = \"hello\", last_user.equals = \"and now\", messages = 3, tools = [\"bash\"], \
         results = [{ tool_use_id = \"c1\", text.equals = \"gone\", is_error = true }], \
         json = [{ pointer = \"/max_tokens\", equals = 100.0 }, { pointer = \"/tools\", length = 1 }, { pointer = \"/nope\", exists = false }], \
         headers = [{ name = \"X-Test\", value.equals = \"yes\" }] }",
        "",
        "",
    );
}

#[test]
fn many_conversations_at_once_keep_their_lanes() {
    const LANES: usize = 20;
    const STEPS: usize = 5;
    let lines: Vec<(String, String, String)> = (0..STEPS)
        .flat_map(|step| {
            (0..LANES).map(move |lane| {
                (format!("l{lane}"), format!("lane {lane} step {step}."), format!("{lane}-{step}"))
            })
        })
        .collect();
    let lines: Vec<(&str, &str, &str, &str)> = lines
        .iter()
        .map(|(lane, user, answer)| (lane.as_str(), user.as_str(), answer.as_str(), ""))
        .collect();
    let server = script(&lines);
    std::thread::scope(|scope| {
        for lane in 0..LANES {
            let server = &server;
            scope.spawn(move || {
                for step in 0..STEPS {
                    let answer = say(server, &format!("s-{lane}"), &format!("lane {lane} step {step}."));
                    assert_eq!(answer, format!("{lane}-{step}"));
                }
            });
        }
    });
    let captures = server.captures();
    assert!(captures.windows(2).all(|pair| pair[0].n + 1 == pair[1].n && pair[0].at <= pair[1].at));
    let verdict = server.stop();
    assert_eq!((verdict.unchecked, verdict.is_good()), (LANES * STEPS, true));
}

/// A script whose one exchange waits for a note, and the note.
fn waiting(at_most_ms: u64) -> ServerThread {
    serve(&format!(
        r#"
        [[exchanges]]
        respond.body.text = "answer"
        respond.wait_for = {{ name = "note", at_most_ms = {at_most_ms} }}

        [[side]]
        name = "note"
        match.last_user.contains = "take a note"
        respond.body.text = "noted"
        "#
    ))
}

#[test]
fn an_answer_waits_for_another_one() {
    let server = waiting(60_000);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| say(&server, "a", "hello"));
        while server.captures().is_empty() {
            std::thread::yield_now();
        }
        assert!(server.captures().iter().all(|capture| capture.answer.is_none()));
        assert_eq!(say(&server, "b", "take a note"), "noted");
        assert_eq!(first.join().unwrap(), "answer");
    });
    // The note is out by now: nothing is waited for.
    assert_eq!(say(&server, "c", "take a note"), "noted");
    assert!(server.stop().is_good());
}

#[test]
fn nobody_waits_for_ever() {
    let server = waiting(50);
    assert_eq!(say(&server, "a", "hello"), "answer");
    assert!(server.stop().is_good());
}
