//! The fold over made-up logs: positions, headers in force, the history of tools.

use dshlog_codec::Place;
use dshlog_codec::json::Doc;

use super::call::COMPACTION_TOKENS;
use super::*;

fn fold(rows: &[String]) -> Requests {
    let mut requests = Requests::new();
    for row in rows {
        see(&mut requests, row);
    }
    requests
}

fn see(requests: &mut Requests, row: &str) {
    let doc = Doc::parse(row).unwrap();
    requests.see(&Event::from_row(doc.root(), Place::default())).unwrap();
}

/// Rows that are numbered from 0.
fn rows(events: &[(&str, String)]) -> Vec<String> {
    events
        .iter()
        .enumerate()
        .map(|(seq, (kind, data))| {
            let surface = matches!(
                *kind,
                "system/message" | "developer/message" | "user/message" | "assistant/message" | "tool/result"
            );
            let op = if surface { r#","surfaceOp":"append""# } else { "" };
            format!(r#"{{"type":"{kind}","seq":{seq},"time":0,"data":{data}{op}}}"#)
        })
        .collect()
}

fn tool(name: &str, description: &str) -> String {
    format!(r#"{{"name":"{name}","description":"{description}","parameters":{{}}}}"#)
}

fn header(reason: &str, tools: &[String]) -> (&'static str, String) {
    let data = format!(
        r#"{{"header":{{"config":{{"provider":"p","model":"deepseek-flash"}},"tools":[{}]}},"reason":"{reason}"}}"#,
        tools.join(",")
    );
    ("request/header", data)
}

fn user(id: &str) -> (&'static str, String) {
    ("user/message", format!(r#"{{"role":"user","id":"{id}","content":[{{"type":"text","text":"{id}"}}]}}"#))
}

fn assistant(turn: u64, step: u64) -> (&'static str, String) {
    let message = format!(
        r#"{{"role":"assistant","id":"a{turn}","content":[{{"type":"text","text":"ok"}}],"source":{{"provider":"p"}}}}"#
    );
    ("assistant/message", format!(r#"{{"turn":{turn},"step":{step},"message":{message}}}"#))
}

/// A developer message; `changes` are `+name` and `-name`.
fn developer(id: &str, header: Option<u64>, changes: &[&str]) -> (&'static str, String) {
    let blocks: Vec<String> = changes
        .iter()
        .map(|change| {
            let (sign, name) = change.split_at(1);
            let kind = if sign == "+" { "tool-addition" } else { "tool-removal" };
            format!(r#"{{"type":"{kind}","toolName":"{name}"}}"#)
        })
        .collect();
    let header = header.map_or_else(String::new, |seq| format!(r#","headerSeq":{seq}"#));
    let message = format!(r#"{{"role":"developer","id":"{id}","content":[{}]}}"#, blocks.join(","));
    ("developer/message", format!(r#"{{"turn":1,"step":1,"message":{message}{header}}}"#))
}

/// 2.1: a log that ends between a header and its context still has the context of another model.
#[test]
fn a_context_is_of_its_model() {
    let context = |provider: &str, model: &str| {
        let data =
            format!(r#"{{"provider":"{provider}","model":"{model}","systemPromptUpdate":"in-history"}}"#);
        ("request/context", data)
    };
    for (context, in_history) in [
        (context("p", "deepseek-flash"), Some(true)),
        (context("p", "m"), None),
        (context("q", "deepseek-flash"), None),
    ] {
        let requests = fold(&rows(&[context, header("change", &[])]));
        assert_eq!(requests.next().call().unwrap().in_history, in_history);
    }
}

/// The log of the example in `docs/spec/messages-wire.md`, 3.5, up to the request of a turn: tools `a` and `b`; turn 2 adds
/// `c`, turn 3 removes it, turn 4 removes `a`.
pub(super) fn tools_changed(turn: usize) -> (Requests, usize) {
    let tools = |names: &[&str]| names.iter().map(|name| tool(name, "")).collect::<Vec<_>>();
    let events = [
        user("u1"),
        header("initial", &tools(&["a", "b"])),
        assistant(1, 1),
        user("u2"),
        header("change", &tools(&["a", "b", "c"])),
        developer("d2", Some(4), &["+c"]),
        assistant(2, 1),
        user("u3"),
        header("change", &tools(&["a", "b"])),
        developer("d3", None, &["-c"]),
        assistant(3, 1),
        user("u4"),
        header("change", &tools(&["b"])),
        developer("d4", None, &["-a"]),
    ];
    let end = [2, 6, 10, 14][turn - 1];
    (fold(&rows(&events[..end])), end)
}

/// The verified sequence of `docs/spec/surface.md`, section 6.
#[test]
fn history_of_tools() {
    let told = |requests: &Requests| {
        let history = requests.next().tool_history();
        let name = |tool: &std::sync::Arc<tools::Tool>| tool.name().to_string();
        let updates: Vec<String> = history
            .updates
            .iter()
            .map(|update| {
                let added: Vec<String> = update.additions.iter().map(name).collect();
                format!("{}[{}]", update.message_id, added.join(" "))
            })
            .collect();
        let tools: Vec<String> = history.tools.iter().map(name).collect();
        format!("{} / {}", tools.join(" "), updates.join(" "))
    };
    let (a, b) = (tool("a", ""), tool("b", ""));
    let events = [
        header("initial", std::slice::from_ref(&a)),
        header("change", &[a, b.clone()]),
        developer("d", Some(1), &["+b"]),
        header("change", std::slice::from_ref(&b)),
        developer("d2", None, &["-a"]),
        header("change", &[b, tool("a", "another")]),
    ];
    let mut requests = Requests::new();
    let mut states = Vec::new();
    for row in rows(&events) {
        see(&mut requests, &row);
        states.push(told(&requests));
    }
    assert_eq!(states, ["a / ", "a b / ", "a / d[b]", "b / ", "a / d[b] d2[]", "b a / "]);
}

/// `docs/spec/agent-loop.md`, 3: turns, steps and attempts, and where the next request would stand.
#[test]
fn positions() {
    let mark =
        |kind: &'static str, turn: u64, step: u64| (kind, format!(r#"{{"turn":{turn},"step":{step}}}"#));
    let events = [
        (mark("turn/start", 1, 0), (1, 1, 1)),
        (mark("step/start", 1, 1), (1, 1, 1)),
        (mark("assistant/attempt", 1, 1), (1, 1, 2)),
        (mark("llm/retry", 1, 1), (1, 1, 2)),
        (mark("assistant/attempt", 1, 1), (1, 1, 3)),
        (assistant(1, 1), (1, 2, 1)),
        (mark("step/end", 1, 1), (1, 2, 1)),
        (mark("step/start", 1, 2), (1, 2, 1)),
        (assistant(1, 2), (1, 3, 1)),
        (mark("step/end", 1, 2), (1, 3, 1)),
        (mark("turn/end", 1, 0), (2, 1, 1)),
        (mark("turn/start", 2, 0), (2, 1, 1)),
        (mark("step/start", 2, 1), (2, 1, 1)),
    ];
    let plain: Vec<_> = events.iter().map(|(event, _)| event.clone()).collect();
    let mut requests = Requests::new();
    let mut settled = Vec::new();
    for (row, (_, next)) in rows(&plain).iter().zip(&events) {
        let doc = Doc::parse(row.as_str()).unwrap();
        let event = Event::from_row(doc.root(), Place::default());
        settled.extend(requests.settled(&event).map(|request| request.position));
        requests.see(&event).unwrap();
        let (turn, step, attempt) = *next;
        assert_eq!(requests.next().position, Position { turn, step, attempt }, "behind {row}");
    }
    let settled: Vec<_> = settled.iter().map(|p| (p.turn, p.step, p.attempt)).collect();
    assert_eq!(settled, [(1, 1, 1), (1, 1, 2), (1, 1, 3), (1, 2, 1)]);
}

/// Before the first header nothing can be asked.
#[test]
fn no_header() {
    let requests = fold(&rows(&[user("u")]));
    assert!(matches!(requests.next().call(), Err(refusal::Refusal::NoHeader)));
    assert!(requests.next().config().is_none());
}

/// What a compaction shows: the head, the shadowed nodes, the instruction (`docs/spec/messages-wire.md`, 5.1).
#[test]
fn compactions() {
    let system = (
        "system/message",
        r#"{"message":{"role":"system","id":"s","content":[{"type":"text","text":"s"}]}}"#.to_owned(),
    );
    let start = ("compaction/start", r#"{"compactionId":"c","turn":null}"#.to_owned());
    let rows = rows(&[system, user("u1"), header("initial", &[]), user("u2"), user("u3"), start]);
    let requests = fold(&rows);
    let at = |kind: &str, data: &str| {
        let row = format!(r#"{{"type":"{kind}","seq":6,"time":0,"data":{data}}}"#);
        let doc = Doc::parse(row).unwrap();
        requests.compaction(&Event::from_row(doc.root(), Place::default()))
    };
    let ids = |compaction: &call::Compaction, instruction: Option<&str>, through: Option<u64>| {
        let call = requests.compaction_call(compaction, instruction, through.map(Seq)).unwrap();
        let text = |json: &str| {
            let doc = Doc::parse(json).unwrap();
            let block = doc.root().get("content").unwrap().elements().next().unwrap();
            block.get("text").unwrap().as_str().unwrap().to_string()
        };
        let texts: Vec<String> = call.messages.iter().map(|message| text(&message.json)).collect();
        format!("{} {}", texts.join(" "), call.max_tokens)
    };
    let summary = at("compaction/summary", r#"{"shadowedSeqs":[1,3],"maxTokens":7}"#).unwrap();
    assert_eq!(ids(&summary, Some("now"), None), "s u1 u2 now 7");
    assert_eq!(ids(&summary, None, None), "s u1 u2 7");
    let failed = at("compaction/end", r#"{"error":"e"}"#).unwrap();
    assert!(failed.shown.is_none() && failed.start == Seq(5));
    assert_eq!(ids(&failed, None, None), format!("s u1 u2 u3 {COMPACTION_TOKENS}"));
    assert_eq!(ids(&failed, None, Some(1)), format!("s u1 {COMPACTION_TOKENS}"));
    assert!(at("turn/end", "{}").is_none());
}
