//! The tables of `docs/spec/messages-wire.md`, section 3, row by row.

use dshlog_codec::json::Doc;

use super::*;
use crate::request::call::CallMessage;
use crate::request::image::NoAttachments;
use crate::request::route::ToolUpdateMode;

fn call(messages: &[&str]) -> Call<'static> {
    Call {
        model: "deepseek-flash".into(),
        provider: "p".into(),
        max_tokens: "9".into(),
        effort: "high".into(),
        temperature: None,
        stop: None,
        system: None,
        tools: None,
        tool_history: None,
        in_history: None,
        messages: messages.iter().map(|message| CallMessage::loose((*message).to_owned())).collect(),
    }
}

fn body(call: &Call<'_>) -> Result<String, String> {
    let printed = MessagesPrinter::default().body(call, &NoAttachments);
    printed.map(|body| String::from_utf8(body.json).unwrap()).map_err(|refusal| refusal.to_string())
}

/// `messages` of the body.
fn sent(call: &Call<'_>) -> Result<String, String> {
    body(call).map(|body| Doc::parse(body).unwrap().root().get("messages").unwrap().raw().to_owned())
}

#[track_caller]
fn check(messages: &[&str], expected: &str) {
    match sent(&call(messages)) {
        Ok(sent) => assert_eq!(sent, expected),
        Err(refusal) => assert_eq!(refusal, expected),
    }
}

fn user(content: &str) -> String {
    format!(r#"{{"role":"user","content":[{content}]}}"#)
}

fn assistant(content: &str) -> String {
    format!(
        r#"{{"role":"assistant","content":[{content}],"source":{{"provider":"p","model":"deepseek-flash"}}}}"#
    )
}

fn text(text: &str) -> String {
    format!(r#"{{"type":"text","text":"{text}"}}"#)
}

fn tool_call(id: &str, arguments: &str) -> String {
    format!(r#"{{"type":"tool-call","id":"{id}","name":"n","arguments":"{arguments}"}}"#)
}

fn result(id: &str) -> String {
    format!(r#"{{"role":"tool","toolCallId":"{id}","content":[],"isError":false}}"#)
}

fn answer(id: &str) -> String {
    format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":[],"is_error":false}}"#)
}

fn system(content: &str) -> String {
    format!(r#"{{"role":"system","content":[{content}]}}"#)
}

/// 3.1: one message of each kind.
#[test]
fn messages_by_role() {
    let dropped =
        format!(r#"{},{},{{"type":"reasoning","text":"r"}},{}"#, text("a"), text(""), tool_call("x", "{}"));
    check(&[&user(&dropped)], &format!(r#"[{{"role":"user","content":[{}]}}]"#, text("a")));
    check(&[&user(&text("")), &assistant(&text("")), &user("")], "[]");
    check(
        &[&assistant(&format!(r#"{{"type":"reasoning","text":""}},{}"#, text("a")))],
        r#"[{"role":"assistant","content":[{"type":"thinking","thinking":""},{"type":"text","text":"a"}]}]"#,
    );
    let with_result = [assistant(&tool_call("c", "{}")), result("c")];
    check(
        &with_result.each_ref().map(String::as_str),
        &format!(
            r#"[{{"role":"assistant","content":[{{"type":"tool_use","id":"c","name":"n","input":{{}}}}]}},{{"role":"user","content":[{}]}}]"#,
            answer("c")
        ),
    );
    let plain = r#"{"role":"tool","toolCallId":"c","content":[{"type":"text","text":""}]}"#;
    check(
        &[&with_result[0], plain],
        r#"[{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"n","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":[]}]}]"#,
    );
    for (message, what) in [
        (assistant(r#"{"type":"odd"}"#), "assistant content odd"),
        (user(r#"{"type":"odd"}"#), "user/tool-result content odd"),
        (user(r#"{"type":"tool-addition","toolName":"t"}"#), "tool-change blocks outside developer messages"),
        (system(r#"{"type":"reasoning","text":"r"}"#), "non-text system message"),
    ] {
        check(&[&message], &format!("DeepSeek Messages cannot represent {what}"));
    }
}

/// 3.6: where images may be, which is asked before anything else. Left out, they are text.
#[test]
fn images_are_of_users_and_tools() {
    let image = format!(
        r#"{{"type":"image","attachment":{{"attachmentId":"sha256:{}","mediaType":"image/png","width":8,"height":8,"bytes":9}}}}"#,
        "0".repeat(64)
    );
    let offloaded = image.replace(r#""type":"image","#, r#""type":"image","offloaded":true,"#);
    let developer = format!(r#"{{"role":"developer","id":"d","content":[{image}]}}"#);
    let refusal = "DeepSeek Messages supports images only in user messages and tool results";
    let odd = user(r#"{"type":"odd"}"#);
    check(&[&odd, &assistant(&image)], refusal);
    check(&[&odd, &system(&image)], refusal);
    // A route that has no history of its tools sends no developer message.
    check(&[&user(&text("a")), &developer], &format!(r#"[{{"role":"user","content":[{}]}}]"#, text("a")));
    check(&[&assistant(&offloaded), &odd], "DeepSeek Messages cannot represent user/tool-result content odd");
    let mut without_images = call(&[]);
    without_images.model = "m".into();
    without_images.messages = vec![CallMessage::loose(assistant(&image))];
    assert_eq!(
        sent(&without_images).unwrap(),
        format!(
            r#"[{{"role":"assistant","content":[{}]}}]"#,
            text("[image omitted because this model accepts text only; attachment sha256:00000000]")
        )
    );
}

/// 3.1: arguments are parsed and printed anew.
#[test]
fn arguments_become_an_object() {
    for (arguments, input) in [
        (r#"{\"b\":1.0,\"2\":-0,\"1\":[1e2],\"b\":2}"#, r#"{"1":[100],"2":0,"b":2}"#),
        (r#" {\"a\" : null} "#, r#"{"a":null}"#),
        ("[1]", "{}"),
        ("null", "{}"),
        ("", "{}"),
        ("{", "{}"),
        (r#"\"text\""#, "{}"),
        // Half of a pair stands for itself in a string, and nowhere else.
        (r#"{\"a\":\"\ud83d\"}"#, r#"{"a":"\ud83d"}"#),
        (r#"{\"a\":\"\\\ud83d\"}"#, "{}"),
        (r#"{\"a\":\"\\\\\ud83d\"}"#, r#"{"a":"\\\ud83d"}"#),
        (r#"{\"a\":\ud83d}"#, "{}"),
    ] {
        let messages = [assistant(&tool_call("c", arguments)), result("c")];
        let sent = sent(&call(&messages.each_ref().map(String::as_str))).unwrap();
        let doc = Doc::parse(sent).unwrap();
        let content = doc.root().elements().next().unwrap().get("content").unwrap();
        assert_eq!(content.elements().next().unwrap().get("input").unwrap().raw(), input, "{arguments}");
    }
}

/// 3.2: merging and the order in a turn.
#[test]
fn turns_merge_and_results_come_first() {
    let calls = assistant(&format!("{},{}", tool_call("c", "{}"), tool_call("d", "{}")));
    let sent_calls = r#"{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"n","input":{}},{"type":"tool_use","id":"d","name":"n","input":{}}]}"#;
    check(
        &[
            &user(&text("a")),
            &user(&text("b")),
            &calls,
            &user(&text("x")),
            &result("d"),
            &result("c"),
            &user(&text("y")),
        ],
        &format!(
            r#"[{{"role":"user","content":[{},{}]}},{sent_calls},{{"role":"user","content":[{},{},{},{}]}}]"#,
            text("a"),
            text("b"),
            answer("d"),
            answer("c"),
            text("x"),
            text("y")
        ),
    );
    check(
        &[&assistant(&text("a")), &user(""), &assistant(&text("b"))],
        &format!(r#"[{{"role":"assistant","content":[{},{}]}}]"#, text("a"), text("b")),
    );
}

/// 3.2: the checks, each with its words.
#[test]
fn calls_and_results_pair() {
    let one = assistant(&tool_call("c", "{}"));
    let twice = assistant(&format!("{},{}", tool_call("c", "{}"), tool_call("c", "{}")));
    let said = user(&text("x"));
    let next = assistant(&text("y"));
    let (right, wrong) = (result("c"), result("d"));
    for (messages, words) in [
        (&[&twice, &right][..], "DeepSeek Messages duplicate tool call id"),
        // Two messages are one on the wire.
        (&[&one, &one, &right], "DeepSeek Messages duplicate tool call id"),
        (&[&right], "DeepSeek Messages tool result has no matching call"),
        (&[&one, &wrong], "DeepSeek Messages tool result has no matching call"),
        (&[&one, &right, &right], "DeepSeek Messages tool result has no matching call"),
        (&[&one, &right, &next, &right], "DeepSeek Messages tool result has no matching call"),
        (&[&one, &said], "DeepSeek Messages tool calls need immediate results"),
        (&[&one], "DeepSeek Messages history ends with unresolved tools"),
        (&[&said, &one], "DeepSeek Messages history ends with unresolved tools"),
    ] {
        let messages: Vec<&str> = messages.iter().map(|message| message.as_str()).collect();
        check(&messages, words);
    }
}

/// A refusal says where.
#[test]
fn refusals_name_the_event() {
    let mut call = call(&[&user(&text("a")), &assistant(&tool_call("c", "{}")), &user(&text("b"))]);
    for (message, seq) in call.messages.iter_mut().zip([3, 5, 8]) {
        message.seq = Some(Seq(seq));
    }
    let refusal = MessagesPrinter::default().body(&call, &NoAttachments).unwrap_err();
    assert_eq!((refusal.code(), refusal.seq()), (Some("INVALID_REQUEST"), Some(Seq(5))));
}

/// 3.3: system prompts, by themselves and inside the history.
#[test]
fn system_prompts() {
    let (said, answered) = (user(&text("u")), assistant(&text("a")));
    let prompts = [system(&format!("{},{}", text("s"), text("t"))), system(&text("n"))];
    let update = r#"{"role":"system","content":[{"type":"text","text":"n"}]}"#;
    let wire = |middle: &str| {
        format!(
            r#"[{{"role":"user","content":[{}]}},{middle}{{"role":"assistant","content":[{}]}}]"#,
            text("u"),
            text("a")
        )
    };
    // Behind a user turn it is sent before the next answer, wherever it was recorded.
    for messages in [
        [prompts[0].as_str(), &said, &prompts[1], &answered],
        [prompts[0].as_str(), &user(""), &said, &answered],
    ] {
        let is_changed = messages[2] == prompts[1];
        let middle = if is_changed { format!("{update},") } else { String::new() };
        assert_eq!(sent(&call(&messages)).unwrap(), wire(&middle));
    }
    let again = format!(r#"{{"role":"user","content":[{}]}},{update}]"#, text("u"));
    let wired = wire("");
    let before = wired.strip_suffix(']').unwrap();
    check(&[&said, &answered, &prompts[1], &said], &format!("{before},{again}"));
    check(
        &[&said, &answered, &prompts[1]],
        "DeepSeek Messages cannot represent system update without a preceding user or tool-result turn",
    );
    check(&[&said, &system(&text(""))], "DeepSeek Messages cannot represent empty in-history system update");
    // On another route the last one is in force, and an empty one clears it.
    for (last, expected) in [(text("n"), r#","system":"n""#), (text(""), "")] {
        let messages = [prompts[0].clone(), said.clone(), system(&last)];
        let plain = Call { in_history: Some(false), ..call(&messages.each_ref().map(String::as_str)) };
        assert_eq!(
            body(&plain).unwrap(),
            format!(
                r#"{{"model":"deepseek-flash","stream":true,"messages":[{{"role":"user","content":[{}]}}],"max_tokens":9,"thinking":{{"type":"enabled"}},"output_config":{{"effort":"high"}}{expected}}}"#,
                text("u")
            )
        );
    }
    // The call's own prompt stands in front.
    let both = Call { system: Some("o".into()), ..call(&[&prompts[0]]) };
    assert!(body(&both).unwrap().ends_with(r#","system":"o\n\nst"}"#));
}

/// 3.4: which signatures are sent back.
#[test]
fn replay_states() {
    let message = |model: &str, state: &str| {
        format!(
            r#"{{"role":"assistant","content":[{},{{"type":"reasoning","text":"r"}}],"source":{{"provider":"p","model":"{model}","replayState":{state}}}}}"#,
            text("")
        )
    };
    let state = |model: &str, blocks: &str| {
        format!(
            r#"{{"response":{{"kind":"deepseek-messages","version":1,"model":"{model}"}},"blocks":[{blocks}]}}"#
        )
    };
    let good = r#"{"type":"text"},{"type":"reasoning","signature":"s"}"#;
    let flash = "deepseek-flash";
    for (model, state, signed, ignored) in [
        (flash, state(flash, good), true, 0),
        ("other", state("other", good), false, 0),
        (flash, state("other", good), false, 1),
        (flash, state(flash, r#"{"type":"reasoning","signature":"s"}"#), false, 1),
        (flash, state(flash, r#"{"type":"text","signature":"s"},{"type":"reasoning"}"#), false, 1),
        (flash, state(flash, r#"{"type":"text"},{"type":"reasoning","signature":1}"#), false, 1),
        (flash, state(flash, r#"{"type":"reasoning"},{"type":"reasoning"}"#), false, 1),
        (flash, state(flash, good).replace("\"version\":1", "\"version\":2"), false, 1),
        (flash, state(flash, good).replace("deepseek-messages", "other"), false, 1),
        (flash, r#"{"response":{}}"#.to_owned(), false, 1),
    ] {
        let mut call = call(&[&message(model, &state)]);
        call.messages[0].seq = Some(Seq(4));
        let body = MessagesPrinter::default().body(&call, &NoAttachments).unwrap();
        let json = String::from_utf8(body.json).unwrap();
        assert_eq!(json.contains(r#"{"type":"thinking","thinking":"r","signature":"s"}"#), signed, "{state}");
        assert_eq!(body.ignored_replay.len(), ignored, "{state}");
        // Of another provider nothing is looked at.
        let foreign = Call { provider: "q".into(), ..call };
        let body = MessagesPrinter::default().body(&foreign, &NoAttachments).unwrap();
        assert!(
            !String::from_utf8(body.json).unwrap().contains("signature") && body.ignored_replay.is_empty()
        );
    }
}

/// Section 2: members, their order, and what leaves them out.
#[test]
fn members_of_the_body() {
    let full = Call {
        temperature: Some("0.5".into()),
        stop: Some(r#"["x"]"#.into()),
        tools: Some([].into()),
        effort: "off".into(),
        ..call(&[&system(&text("s"))])
    };
    assert_eq!(
        body(&full).unwrap(),
        r#"{"model":"deepseek-flash","stream":true,"messages":[],"max_tokens":9,"thinking":{"type":"disabled"},"system":"s","temperature":0.5,"stop_sequences":["x"],"tools":[]}"#
    );
    let wrong = Call { effort: "medium".into(), ..call(&[]) };
    assert_eq!(body(&wrong).unwrap_err(), "DeepSeek Messages does not support reasoning effort medium");
}

/// The example of 3.5: which tools each route declares, and which changes it is told.
#[test]
fn changes_of_tools_by_route() {
    let names = |turn: usize, mode: Option<ToolUpdateMode>| {
        let (requests, _) = crate::request::tests::tools_changed(turn);
        let call = requests.next().call().unwrap();
        let change = RouteChange { tool_update: Some(mode), ..RouteChange::default() };
        let body = MessagesPrinter::new(change).body(&call, &NoAttachments).unwrap();
        let doc = Doc::parse(String::from_utf8(body.json).unwrap()).unwrap();
        let tools: Vec<String> = doc
            .root()
            .get("tools")
            .unwrap()
            .elements()
            .map(|tool| {
                let defer = if tool.get("defer_loading").is_some() { "(defer)" } else { "" };
                format!("{}{defer}", tool.get("name").unwrap().as_str().unwrap())
            })
            .collect();
        let mut updates = Vec::new();
        for message in doc.root().get("messages").unwrap().elements() {
            for block in message.get("content").unwrap().elements() {
                if let Some(name) = block.path(&["tool", "name"]) {
                    let sign = if block.get("type").unwrap().is("tool_addition") { '+' } else { '-' };
                    updates.push(format!("{sign}{}", name.as_str().unwrap()));
                }
            }
        }
        assert_eq!(body.betas.is_empty(), updates.is_empty());
        format!("{} | {}", tools.join(" "), updates.join(" "))
    };
    let (addition, history) = (Some(ToolUpdateMode::AdditionOnly), Some(ToolUpdateMode::InHistory));
    for (turn, none, addition_only, in_history) in [
        (1, "a b | ", "a b | ", "a b | "),
        (2, "a b c | ", "a b c(defer) | +c", "a b c(defer) | +c"),
        (3, "a b | ", "a b | ", "a b c(defer) | +c -c"),
        (4, "b | ", "b | ", "a b c(defer) | +c -c -a"),
    ] {
        assert_eq!(names(turn, None), none, "turn {turn}");
        assert_eq!(names(turn, addition), addition_only, "turn {turn}");
        assert_eq!(names(turn, history), in_history, "turn {turn}");
    }
}
