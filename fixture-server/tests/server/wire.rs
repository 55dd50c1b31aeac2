//! Conversations of real runtimes: their requests are understood, and what they were served can be served again.

use std::collections::BTreeMap;
use std::path::Path;

use dshlog_fixture_server::script::{
    After, Body, Exchange, Fault, Framing, How, Matcher, Message, Part, Response, Stop, Usage, Write,
};
use dshlog_fixture_server::{Dialect, FixtureServer, Head, Kind, Role, Rules, Script, View, json};
use serde_json::Value;

use crate::common::{Client, End, events, post, wire};
use crate::reader::{self, Heard};

/// One request and what was served.
struct Case {
    kind: String,
    path: String,
    session: Option<String>,
    compact: bool,
    body: Option<Value>,
    response: Value,
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| json::parse(line.as_bytes()).unwrap()).collect()
}

/// The conversation of a folder, with members put back that the corpus tells by reference.
fn case(folder: &Path) -> Vec<Case> {
    let requests = lines(&folder.join("requests.jsonl"));
    let mut whole: BTreeMap<(u64, &str), Value> = BTreeMap::new();
    let mut cases = Vec::new();
    for (request, response) in requests.iter().zip(lines(&folder.join("responses.jsonl"))) {
        assert_eq!(request["n"], response["n"]);
        let n = request["n"].as_u64().unwrap();
        let mut body = request.get("body").cloned();
        for name in ["system", "tools"] {
            let Some(member) = body.as_mut().and_then(|body| body.get_mut(name)) else { continue };
            if let Some(same) = member.get("sameAs") {
                *member = whole[&(same.as_u64().unwrap(), name)].clone();
            }
            whole.insert((n, name), member.clone());
        }
        let text = |name: &str| request[name].as_str().map(str::to_owned);
        cases.push(Case {
            kind: text("kind").unwrap(),
            path: text("path").unwrap(),
            session: text("session"),
            compact: request["headers"].get("x-deepseek-harness-compact").is_some(),
            body,
            response,
        });
    }
    cases
}

fn folders() -> Vec<std::path::PathBuf> {
    let Some(wire) = wire() else { return Vec::new() };
    let mut folders: Vec<_> = std::fs::read_dir(wire).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    folders
}

fn view(case: &Case) -> Option<View> {
    let mut headers = Vec::new();
    if let Some(session) = &case.session {
        headers.push(("x-deepseek-harness-session-id".to_owned(), session.clone()));
    }
    if case.compact {
        headers.push(("x-deepseek-harness-compact".to_owned(), "1".to_owned()));
    }
    let head = Head { method: "POST".to_owned(), target: case.path.clone(), minor: 1, headers };
    Some(View::new(&head, case.body.clone()?))
}

#[test]
fn every_request_is_understood() {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for folder in folders() {
        for (n, case) in case(&folder).iter().enumerate() {
            let Some(view) = view(case) else { continue };
            let place = format!("{} {n}", folder.display());
            let expected = match case.kind.as_str() {
                "other" if case.path.ends_with("/messages") => "search",
                kind => kind,
            };
            assert_eq!(view.kind.name(), expected, "{place}");
            *kinds.entry(view.kind.name()).or_default() += 1;
            if view.kind == Kind::Other {
                continue;
            }
            let body = case.body.as_ref().unwrap();
            let is_chat = case.path.ends_with("/chat/completions");
            assert_eq!(view.dialect, Some(if is_chat { Dialect::Chat } else { Dialect::Messages }));
            assert_eq!(view.model.as_deref(), body["model"].as_str(), "{place}");
            let tools = body.get("tools").and_then(Value::as_array).map_or(0, Vec::len);
            assert_eq!(view.tools.len(), if view.kind == Kind::Search { 1 } else { tools }, "{place}");
            // Every result of a tool is found under its call, and every call has its name.
            let text = body["messages"].to_string();
            let marks = if is_chat { "\"role\":\"tool\"" } else { "\"type\":\"tool_result\"" };
            let results: usize = view.messages.iter().map(|said| said.results.len()).sum();
            assert_eq!(results, text.matches(marks).count(), "{place}");
            let calls: Vec<_> = view.messages.iter().flat_map(|said| &said.calls).collect();
            assert!(calls.iter().all(|call| !call.id.is_empty() && !call.name.is_empty()), "{place}");
            for result in view.messages.iter().flat_map(|said| &said.results) {
                assert!(calls.iter().any(|call| call.id == result.id), "{place}: {}", result.id);
                assert_eq!(result.is_error.is_some(), !is_chat, "{place}");
            }
            // Roles alternate, as Messages has it, but for what the system says in between.
            for pair in view.messages.windows(2) {
                assert!(pair[0].role != pair[1].role || pair[0].role == Role::System, "{place}");
            }
            assert!(!view.last_user().is_empty() || view.kind == Kind::Search, "{place}");
        }
    }
    if !kinds.is_empty() {
        assert_eq!((kinds["agent"], kinds["title"], kinds["compaction"]), (280, 48, 15), "{kinds:?}");
    }
}

/// Both runtimes ran the same scenarios: what a script can ask of a request must be the same.
#[test]
fn one_script_serves_both_dialects() {
    let mut compared = 0;
    for folder in folders() {
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let Some(scenario) = name.strip_prefix("v3-") else { continue };
        let other = folder.with_file_name(format!("v4-{scenario}"));
        if !other.is_dir() {
            continue;
        }
        let views = |folder: &Path| -> Vec<View> {
            let cases = case(folder);
            cases.iter().filter_map(view).filter(|view| view.kind == Kind::Agent).collect()
        };
        for (old, new) in views(&folder).iter().zip(views(&other)) {
            // The older runtime joins the blocks of a message; what it says of itself differs.
            let first = |view: &View| -> String {
                let text: String = view.first_user().iter().map(|seen| seen.text.as_str()).collect();
                let text = Value::from(text.split("Current runtime context.").next().unwrap());
                Rules::default().apply(text).to_string()
            };
            let roles = |view: &View| view.messages.iter().map(|said| said.role).collect::<Vec<_>>();
            let results =
                |view: &View| view.messages.iter().map(|said| said.results.len()).collect::<Vec<_>>();
            if roles(old) != roles(&new) {
                // The scenarios part where the runtimes do: what the older one retries ends a turn in the newer.
                break;
            }
            assert_eq!(first(old), first(&new), "{name}");
            assert_eq!(results(old), results(&new), "{name}");
            compared += 1;
        }
    }
    assert!(compared == 0 || compared > 60, "{compared}");
}

#[test]
fn every_answer_can_be_served_again() {
    let (mut answers, mut chunks) = (0, 0);
    for folder in folders() {
        let cases = case(&folder);
        let exchanges = cases.iter().map(|case| {
            let kind = view(case).map_or(Kind::Other, |view| view.kind);
            let matcher = Matcher { kind: Some(kind), ..Matcher::default() };
            Exchange { matcher, respond: as_served(&case.response), ..Exchange::default() }
        });
        let server =
            FixtureServer::spawn(Script { exchanges: exchanges.collect(), ..Script::default() }).unwrap();
        for (n, case) in cases.iter().enumerate() {
            let place = format!("{} {n}", folder.display());
            let mut client = Client::connect(server.address());
            let compact = if case.compact { "x-deepseek-harness-compact: 1\r\n" } else { "" };
            let body = case.body.clone().unwrap_or_default();
            client.send(&post(&case.path, &body, compact));
            let captured = &case.response;
            let Ok(got) = client.try_answer() else {
                assert_eq!(captured["end"], "reset-before-status", "{place}");
                continue;
            };
            assert_eq!(Some(u64::from(got.status)), captured["status"].as_u64(), "{place}");
            let writes: Vec<Vec<u8>> = captured["writes"]
                .as_array()
                .unwrap()
                .iter()
                .map(bytes)
                .filter(|bytes| !bytes.is_empty())
                .collect();
            if captured["framing"] == "chunked" && captured["end"] != "reset" {
                assert!(got.chunks == writes, "{place}");
                chunks += writes.len();
            }
            assert_eq!(got.body(), writes.concat(), "{place}");
            let end = match (captured["end"].as_str().unwrap(), captured["framing"].as_str().unwrap()) {
                ("closed" | "closed-without-terminator", _) | (_, "close") => End::Closed,
                ("reset", _) => End::Reset,
                _ => End::Proper,
            };
            assert_eq!(got.end, end, "{place}");
            answers += 1;
        }
        let verdict = server.stop();
        assert!(verdict.is_good(), "{}: {verdict}", folder.display());
    }
    assert!(answers == 0 || (answers > 300 && chunks > 3000), "{answers} {chunks}");
}

fn bytes(write: &Value) -> Vec<u8> {
    use base64::Engine;
    match (write["text"].as_str(), write["base64"].as_str()) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (None, Some(text)) => base64::engine::general_purpose::STANDARD.decode(text).unwrap(),
        (None, None) => panic!("a write without bytes"),
    }
}

/// A captured response as a script has it, without its pauses.
fn as_served(response: &Value) -> Response {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let writes = response["writes"].as_array().into_iter().flatten().map(|write| Write {
        text: text(&write["text"]),
        base64: text(&write["base64"]),
        pause_ms: 0,
    });
    let headers = response["headers"].as_object().into_iter().flatten();
    let headers = headers
        .filter(|(name, _)| !["transfer-encoding", "content-length", "connection"].contains(&name.as_str()));
    Response {
        status: response["status"].as_u64().map(|status| u16::try_from(status).unwrap()),
        headers: headers.map(|(name, value)| (name.clone(), text(value).unwrap())).collect(),
        body: Some(Body::Writes(writes.collect())),
        framing: Some(match response["framing"].as_str() {
            Some("chunked") => Framing::Chunked,
            Some("close") => Framing::Close,
            _ => Framing::Length,
        }),
        fault: match response["end"].as_str() {
            Some("closed-without-terminator") => Some(Fault::new(How::Close, After::Body)),
            Some("reset") => Some(Fault::new(How::Reset, After::Body)),
            Some("reset-before-status") => Some(Fault::new(How::Reset, After::Nothing)),
            _ => None,
        },
        ..Response::default()
    }
}

/// A captured stream, told in parts and made anew, says the same.
#[test]
fn every_whole_stream_can_be_told_in_parts() {
    let mut told = 0;
    for folder in folders() {
        for (n, case) in case(&folder).iter().enumerate() {
            let captured = &case.response;
            if captured["status"] != 200 || case.kind == "other" {
                continue;
            }
            let bytes: Vec<u8> = captured["writes"].as_array().unwrap().iter().flat_map(bytes).collect();
            let Ok(text) = String::from_utf8(bytes) else { continue };
            // Other line ends, marks and broken streams are served raw; this is about what blocks can say.
            let is_chat = case.path.ends_with("/chat/completions");
            let read = if is_chat { reader::chat } else { reader::messages };
            let Some(heard) =
                read(&events(text.as_bytes())).filter(|heard| heard.done && heard.stop.is_some())
            else {
                continue;
            };
            let message = if is_chat { chat_message(&heard) } else { message(&heard) };
            let respond = Response { message: Some(message), ..Response::default() };
            let kind = Some(view(case).unwrap().kind);
            let exchange =
                Exchange { matcher: Matcher { kind, ..Matcher::default() }, respond, ..Exchange::default() };
            let server =
                FixtureServer::spawn(Script { exchanges: vec![exchange], ..Script::default() }).unwrap();
            let mut client = Client::connect(server.address());
            let compact = if case.compact { "x-deepseek-harness-compact: 1\r\n" } else { "" };
            client.send(&post(&case.path, case.body.as_ref().unwrap(), compact));
            let mut again = read(&events(&client.answer().body())).unwrap();
            if is_chat {
                // The chunk that names a call has an empty piece of arguments here, and may have had the first one there.
                again.blocks.iter_mut().filter(|block| block.kind == "tool_use").for_each(|call| {
                    call.pieces.remove(0);
                });
            }
            assert_eq!(again.blocks, heard.blocks, "{} {n}", folder.display());
            assert_eq!(again.stop, heard.stop, "{} {n}", folder.display());
            for name in [
                "input_tokens",
                "output_tokens",
                "cache_read_input_tokens",
                "prompt_tokens",
                "completion_tokens",
            ] {
                if !heard.usage[name].is_null() {
                    assert_eq!(again.usage[name], heard.usage[name], "{} {n} {name}", folder.display());
                }
            }
            told += 1;
        }
    }
    assert!(told == 0 || told > 200, "{told}");
}

/// What was heard in Messages, as parts: each block whole, in the order in which they began.
fn message(heard: &Heard) -> Message {
    let mut parts = Vec::new();
    for (index, block) in (0..).zip(&heard.blocks) {
        parts.push(match block.kind.as_str() {
            "text" => Part::Text { index },
            "thinking" => Part::Thinking { index },
            _ => Part::ToolUse {
                index,
                id: block.id.clone(),
                name: block.name.clone(),
                input: Some(block.input.clone()),
            },
        });
        parts.extend(block.pieces.iter().map(|text| Part::Delta { index, text: text.clone() }));
        parts.extend(block.signature.iter().map(|text| Part::Signature { index, text: text.clone() }));
        parts.extend(block.ended.then_some(Part::End { index }));
    }
    let count = |name: &str| heard.usage[name].as_u64();
    Message {
        parts,
        stop: heard.stop.clone().map(Stop::from),
        usage: Usage {
            input: count("input_tokens").unwrap_or(0),
            output: count("output_tokens").unwrap_or(0),
            cache_read: count("cache_read_input_tokens"),
            cache_write: count("cache_creation_input_tokens"),
            ..Usage::default()
        },
        ..Message::default()
    }
}

/// Likewise in Chat Completions.
fn chat_message(heard: &Heard) -> Message {
    let mut parts = Vec::new();
    for (index, block) in (0..).zip(&heard.blocks) {
        parts.push(match block.kind.as_str() {
            "text" => Part::Text { index },
            "thinking" => Part::Thinking { index },
            _ => Part::ToolUse { index, id: block.id.clone(), name: block.name.clone(), input: None },
        });
        parts.extend(block.pieces.iter().map(|text| Part::Delta { index, text: text.clone() }));
    }
    let count = |name: &str| heard.usage[name].as_u64();
    let cached = count("prompt_cache_hit_tokens");
    Message {
        parts,
        stop: heard.stop.as_ref().map(|stop| match stop.as_str() {
            "stop" => Stop::EndTurn,
            "tool_calls" => Stop::ToolUse,
            "length" => Stop::MaxTokens,
            other => Stop::Other(other.to_owned()),
        }),
        usage: Usage {
            input: count("prompt_tokens").unwrap_or(0) - cached.unwrap_or(0),
            output: count("completion_tokens").unwrap_or(0),
            cache_read: cached,
            untold: heard.usage.is_null(),
            ..Usage::default()
        },
        ..Message::default()
    }
}
