//! Tables from `docs/spec/surface.md`, section 10 and 11.5, and from the code of dsh where it says more.

use dshlog_codec::Place;
use dshlog_codec::header::CwdRule;
use dshlog_codec::json::Doc;

use super::*;

/// Type, time and payload of an event; seqs are given in order.
type Row<'a> = (&'a str, i64, &'a str);

fn header(more: &str) -> Header {
    let line = format!(
        r#"{{"type":"session","version":4,"id":"s","createdAt":1,"isSeeded":true,"delegationDepth":0{more}}}"#
    );
    Header::parse(&line, CwdRule::Any).unwrap()
}

fn fold_from(key: &str, start: &Start<'_>, rows: &[Row<'_>]) -> Projection {
    let mut projection = Projection::new(named(key).unwrap(), start);
    for (seq, (kind, time, data)) in rows.iter().enumerate() {
        let op = if kind.ends_with("/message") || *kind == "tool/result" {
            r#","surfaceOp":"append""#
        } else {
            ""
        };
        let row = format!(r#"{{"type":"{kind}","seq":{seq},"time":{time},"data":{data}{op}}}"#);
        let doc = Doc::parse(row).unwrap();
        projection.see(&Event::from_row(doc.root(), Place::default()));
    }
    projection
}

fn fold(key: &str, rows: &[Row<'_>]) -> Projection {
    fold_from(key, &Start { header: &header(""), cut: 0 }, rows)
}

fn printed(tree: &Tree<'_>) -> String {
    let mut out = Vec::new();
    tree.print(&mut out);
    String::from_utf8(out).unwrap()
}

fn state(projection: &Projection) -> String {
    projection.state().map_or_else(|fault| format!("! {fault}"), |state| printed(&state))
}

fn view(projection: &Projection) -> String {
    projection.view().unwrap().map_or_else(|| "none".to_owned(), |view| printed(&view))
}

#[track_caller]
fn check(key: &str, rows: &[Row<'_>], expected: &str) {
    assert_eq!(state(&fold(key, rows)), expected, "{key} over {rows:?}");
}

#[test]
fn names_are_sorted_and_told_once() {
    assert!(DEFINITIONS.is_sorted_by(|a, b| a.key < b.key));
    // One line of a page of 100 columns.
    assert!(DEFINITIONS.iter().all(|definition| definition.about.len() <= 53));
    assert!(named("todos").is_some() && named("Todos").is_none());
}

/// What no fold knows, and payloads that are of no use to it, change nothing.
#[test]
fn unknown_events_and_malformed_payloads_change_nothing() {
    let mut rows: Vec<Row<'_>> = vec![("acme/event", 5, "{}"), ("plugin:todo/write", 5, r#"{"todos":[1]}"#)];
    for kind in EventType::ALL {
        // What these make of it is in the tables below.
        let has_rule = matches!(
            kind,
            EventType::InboxSpliced
                | EventType::GoalChange
                | EventType::SubagentCatalog
                | EventType::SubagentDescriptor
                | EventType::SubagentModelPolicy
                | EventType::StepEnd
                | EventType::StepStart
                | EventType::TurnStart
                | EventType::TurnEnd
                | EventType::EndSeed
        );
        if !has_rule {
            rows.extend(
                ["null", "7", "[]", "{}", r#"{"message":7,"header":null,"stream":{}}"#]
                    .map(|data| (kind.name(), 5, data)),
            );
        }
    }
    for definition in &DEFINITIONS {
        let mut before = state(&fold(definition.key, &[]));
        if definition.key == "plan" {
            before = before.replace(r#""activeAtLastHeader":null"#, r#""activeAtLastHeader":false"#);
        }
        assert_eq!(state(&fold(definition.key, &rows)), before, "{}", definition.key);
    }
}

#[test]
fn states_begin_with_the_header() {
    let header = header(r#","cwd":"/w","agentPreset":"p""#);
    let start = Start { header: &header, cut: 3 };
    for (key, expected) in [
        ("workingDirectory", r#""/w""#),
        ("agentPreset", r#""p""#),
        ("subagentCatalog", r#"{"inheritedEventCount":3}"#),
    ] {
        assert_eq!(state(&fold_from(key, &start, &[])), expected);
    }
    check("workingDirectory", &[], "null");
    check("workingDirectory", &[("working-directory/change", 0, r#"{"cwd":"/x"}"#)], r#""/x""#);
}

const SPLICE: &str = "agent/inbox/spliced";

/// 10.1.
#[test]
fn the_inbox_is_strict() {
    let insert = r#"{"target":"next-turn","start":0,"inserted":[{"id":"a"},{"id":"b"}]}"#;
    let with = |data| fold("inbox", &[(SPLICE, 0, insert), (SPLICE, 0, data)]);
    for (data, expected) in [
        (
            r#"{"target":"next-turn","start":0,"removedCount":1,"inserted":[]}"#,
            r#"{"next-turn":[{"id":"b"}],"next-step":[]}"#,
        ),
        (
            r#"{"target":"next-turn","start":1,"removedCount":null,"inserted":[{"id":"c"}]}"#,
            r#"{"next-turn":[{"id":"a"},{"id":"c"},{"id":"b"}],"next-step":[]}"#,
        ),
        (
            r#"{"target":"next-turn","start":0,"removedCount":2,"inserted":[{"id":"a"}],"outcome":"canceled"}"#,
            r#"{"next-turn":[{"id":"a"}],"next-step":[]}"#,
        ),
        (
            r#"{"target":"next-step","start":-0,"inserted":[{"id":{}},{"id":{}}]}"#,
            r#"{"next-turn":[{"id":"a"},{"id":"b"}],"next-step":[{"id":{}},{"id":{}}]}"#,
        ),
        (
            r#"{"target":"next-step","start":0,"inserted":[{"id":"b"}]}"#,
            "! event 1: message \"b\" waits twice",
        ),
        (
            r#"{"target":"next-step","start":0,"inserted":[{"id":"\u0062"}]}"#,
            "! event 1: message \"b\" waits twice",
        ),
        (
            r#"{"target":"next-step","start":1,"inserted":[]}"#,
            "! event 1: the splice takes 0 behind the first 1 of 0 messages",
        ),
        (
            r#"{"target":"next-turn","start":1,"removedCount":2,"inserted":[]}"#,
            "! event 1: the splice takes 2 behind the first 1 of 2 messages",
        ),
        (r#"{"target":"soon","start":0,"inserted":[]}"#, "! event 1: the splice has no target that is known"),
        (r#"{"target":"next-turn","start":0.5,"inserted":[]}"#, "! event 1: the splice has no start"),
        (
            r#"{"target":"next-turn","start":0,"removedCount":"1","inserted":[]}"#,
            "! event 1: the splice has no count",
        ),
        (
            r#"{"target":"next-turn","start":0,"inserted":[null]}"#,
            "! event 1: the splice inserts what is no message",
        ),
        ("null", "! event 1: the splice has no target that is known"),
    ] {
        assert_eq!(state(&with(data)), expected, "{data}");
    }
    // Neither a turn nor a message empties it, and nothing mends it.
    let rows = [
        (SPLICE, 0, insert),
        ("turn/start", 0, r#"{"turn":1}"#),
        ("user/message", 0, r#"{"id":"a","content":[]}"#),
    ];
    check("inbox", &rows, r#"{"next-turn":[{"id":"a"},{"id":"b"}],"next-step":[]}"#);
    check(
        "inbox",
        &[(SPLICE, 0, "{}"), (SPLICE, 0, insert)],
        "! event 0: the splice has no target that is known",
    );
}

/// 10.2 and 10.3.
#[test]
fn turns_and_todos() {
    let write = ("todo/write", 0, r#"{"todos":[{"status":"pending","content":"a","more":1}]}"#);
    let list = r#"[{"status":"pending","content":"a","more":1}]"#;
    let (start, end) = (("turn/start", 0, r#"{"turn":4}"#), ("turn/end", 0, r#"{"turn":4}"#));
    check("todos", &[start, write, end], list);
    check("todos", &[start, write, end, start], "null");
    assert_eq!(view(&fold("todos", &[write])), r#"[{"content":"a","status":"pending"}]"#);
    let step = ("step/start", 0, r#"{"turn":4,"step":1}"#);
    check(
        "turnBoundary",
        &[start, step],
        r#"{"openTurnStartSeq":0,"lastStepStartSeq":1,"lastStepBoundary":{"kind":"start","seq":1},"lastTurn":4}"#,
    );
    check(
        "turnBoundary",
        &[start, step, ("step/end", 0, r#"{"turn":4,"step":1}"#), end],
        r#"{"openTurnStartSeq":null,"lastStepStartSeq":1,"lastStepBoundary":{"kind":"end","seq":2},"lastTurn":4}"#,
    );
    let said = (
        "user/message",
        7,
        r#"{"id":"u","source":{"kind":"user"},"content":[{"type":"text","text":"a b"}]}"#,
    );
    let answer = ("assistant/message", 8, r#"{"message":{"content":[{"type":"text","text":"c"}]}}"#);
    let outline = |prompt, response, draft| {
        format!(
            r#"{{"turns":[{{"turn":4,"seq":0,"prompt":"{prompt}","response":"{response}"}}],"draft":"{draft}"}}"#
        )
    };
    check("turnOutline", &[start, said, answer], &outline("a b", "", "c"));
    check("turnOutline", &[start, said, answer, end], &outline("a b", "c", ""));
    // Only a higher turn is a new one.
    check("turnOutline", &[start, said, start, end], &outline("a b", "", ""));
    check("turnOutline", &[said, answer, end], r#"{"turns":[],"draft":""}"#);
    check("sessionListMetadata", &[said], r#"{"blank":true,"lastPromptAt":7}"#);
    check("sessionListMetadata", &[start, answer], r#"{"blank":false,"lastPromptAt":null}"#);
}

fn goal_change(operation: &str, revision: u64, phase: &str, more: [(&str, &str); 3]) -> String {
    let member = |name: &str, default: &'static str| {
        more.iter()
            .find(|(key, _)| *key == name)
            .map_or_else(|| default.to_owned(), |(_, value)| (*value).to_owned())
    };
    let blocked = if phase == "blocked" { r#","blockedReason":{"code":"no-way","message":"m"}"# } else { "" };
    format!(
        r#"{{"kind":"goal/change","version":1,"operation":"{operation}","goal":{{"id":"{}","revision":{revision},"objective":"{}","phase":"{phase}","maxGoalRounds":{}{blocked}}},"roundsStarted":{},"createdAt":{},"updatedAt":{}}}"#,
        member("id", "g"),
        member("objective", "Do it"),
        member("max", "2"),
        member("rounds", "0"),
        member("created", "10"),
        member("updated", "20"),
    )
}

const NO: (&str, &str) = ("", "");

fn round(revision: u64, round: u64) -> String {
    format!(
        r#"{{"id":"u","source":{{"kind":"goal","goalId":"g","revision":{revision},"round":{round}}},"content":[]}}"#
    )
}

/// 10.4: every operation, what it asks for, and that the first failure is the last word.
#[test]
fn goals_are_strict_and_freeze() {
    let create = goal_change("create", 1, "active", [NO; 3]);
    let clear = |revision: u64, at: u64| {
        format!(
            r#"{{"kind":"goal/change","version":1,"operation":"clear","cleared":{{"id":"g","revision":{revision}}},"clearedAt":{at}}}"#
        )
    };
    let invalid = |operation: &str| format!("goal {operation} has an invalid phase transition");
    let pause = goal_change("pause", 2, "paused", [NO; 3]);
    let block = goal_change("block", 2, "blocked", [NO; 3]);
    let complete = goal_change("complete", 2, "complete", [NO; 3]);
    let one_round = [("rounds", "1"), NO, NO];
    let next = "goal replay failed at session event";
    let table: Vec<(Vec<String>, &str, String)> = vec![
        (vec![create.clone()], "active 0", String::new()),
        (vec![create.clone(), pause.clone()], "paused 0", String::new()),
        (vec![create.clone(), goal_change("resume", 2, "active", [NO; 3])], "active 0", String::new()),
        (vec![create.clone(), pause.clone(), goal_change("resume", 3, "active", [NO; 3])], "active 0", String::new()),
        (vec![create.clone(), block.clone()], "blocked 0", String::new()),
        (vec![create.clone(), block.clone(), goal_change("edit", 3, "blocked", [("objective", "More"), ("max", "9"), NO])], "blocked 0", String::new()),
        (vec![create.clone(), complete.clone()], "complete 0", String::new()),
        (vec![create.clone(), complete.clone(), goal_change("create", 1, "active", [("id", "h"), NO, NO])], "active 0", String::new()),
        (vec![create.clone(), clear(2, 20)], "null", String::new()),
        (vec![create.clone(), round(1, 1)], "active 1", String::new()),
        (vec![create.clone(), round(1, 1), goal_change("pause", 2, "paused", one_round)], "paused 1", String::new()),
        // Refused.
        (vec![pause.clone()], "null", "goal pause requires a current goal".into()),
        (vec![clear(2, 20)], "null", "goal clear requires a current goal".into()),
        (vec![create.clone(), clear(3, 20)], "active 0", "goal clear must advance the current goal by one revision".into()),
        (vec![create.clone(), clear(2, 19)], "active 0", "goal clear timestamp cannot precede the current goal update".into()),
        (vec![create.clone(), create.clone()], "active 0", "goal create requires a fresh active revision-one goal with zero rounds".into()),
        (vec![create.clone(), clear(2, 20), create.clone()], "null", "goal create requires a fresh active revision-one goal with zero rounds".into()),
        (vec![create.clone(), goal_change("pause", 3, "paused", [NO; 3])], "active 0", "goal pause must advance the current goal by one revision".into()),
        (vec![create.clone(), goal_change("pause", 2, "paused", one_round)], "active 0", "goal pause does not preserve the current counters and timestamps".into()),
        (vec![create.clone(), goal_change("pause", 2, "paused", [("updated", "19"), NO, NO])], "active 0", "goal pause does not preserve the current counters and timestamps".into()),
        (vec![create.clone(), goal_change("pause", 2, "paused", [("max", "3"), NO, NO])], "active 0", "goal pause cannot change objective or maxGoalRounds".into()),
        (vec![create.clone(), goal_change("pause", 2, "active", [NO; 3])], "active 0", invalid("pause")),
        (vec![create.clone(), goal_change("edit", 2, "paused", [NO; 3])], "active 0", "goal edit cannot change phase or blocked reason".into()),
        (vec![create.clone(), complete.clone(), goal_change("complete", 3, "complete", [NO; 3])], "complete 0", invalid("complete")),
        (vec![create.clone(), pause.clone(), goal_change("block", 3, "blocked", [NO; 3])], "paused 0", invalid("block")),
        (vec![create.clone(), round(1, 1), round(1, 2), goal_change("resume", 2, "active", [("rounds", "2"), NO, NO])], "active 2", format!("{} or exhausted round budget", invalid("resume"))),
        (vec![create.clone(), round(1, 2)], "active 0", "goal round at session event 1 is not the next admitted round of the active goal".into()),
        (vec![create.clone(), round(2, 1)], "active 0", "goal round at session event 1 is not the next admitted round of the active goal".into()),
        (vec![create.clone(), round(0, 1)], "active 0", "goal message source is invalid".into()),
        (vec![create.replace(r#""version":1"#, r#""version":"2""#)], "null", "unsupported goal change version 2".into()),
        (vec![create.replace(r#""version":1,"#, "")], "null", "unsupported goal change version undefined".into()),
        (vec![create.replace("create\"", "make\"")], "null", "goal change operation is invalid".into()),
        (vec![create.replace("goal/change", "goal")], "null", "goal change at session event 0 has an invalid kind".into()),
        (vec![create.replace("Do it", " Do it")], "null", "goal change goal.objective must be non-empty and normalized".into()),
        (vec![create.replace("\"active\"", "\"asleep\"")], "null", "goal change goal.phase is invalid".into()),
        (vec![create.replace(r#""updatedAt":20"#, r#""updatedAt":9"#)], "null", "goal change updatedAt cannot precede createdAt".into()),
        (vec![create.replace(r#""updatedAt":20"#, r#""updatedAt":2.5"#)], "null", "goal change updatedAt must be a non-negative safe integer".into()),
        (vec![create.replace(r#""roundsStarted":0,"#, "")], "null", "goal snapshot change must have exactly createdAt,goal,kind,operation,roundsStarted,updatedAt,version fields".into()),
        (vec![create.replace(r#""revision":1"#, r#""revision":0"#)], "null", "goal change goal.revision must be a positive safe integer".into()),
        (vec![create.clone(), block.replace("no-way", "No")], "active 0", "goal change goal.blockedReason.code must be lower-kebab-case".into()),
        (vec![create.clone(), block.replace(r#","message":"m""#, "")], "active 0", "goal change goal.blockedReason must have exactly code and message fields".into()),
        (vec![create.clone(), clear(0, 20)], "active 0", "goal change cleared.revision must be a positive safe integer".into()),
    ];
    for (changes, current, failure) in table {
        let kind = |data: &str| if data.contains("\"source\"") { "user/message" } else { "goal/change" };
        let mut rows: Vec<Row<'_>> = changes.iter().map(|data| (kind(data), 0, data.as_str())).collect();
        // A failure is the last word, and a good state is not one.
        let fails = !failure.is_empty();
        if fails {
            rows.extend([
                ("goal/change", 0, &*complete),
                ("user/message", 0, r#"{"source":{"kind":"goal"}}"#),
            ]);
        }
        let found = Doc::parse(state(&fold("goal", &rows))).unwrap();
        let told = found.root().get("failure").unwrap();
        let expected = format!("{next} {}: {failure}", changes.len() - 1);
        let told = told.as_str().map(|told| told.to_string());
        assert_eq!(told, fails.then_some(expected), "{changes:?}");
        let goal = found.root().get("current").unwrap();
        let words = goal.is_object().then(|| {
            let phase = goal.path(&["goal", "phase"]).unwrap().as_str().unwrap();
            format!("{phase} {}", goal.get("roundsStarted").unwrap().raw())
        });
        assert_eq!(words.as_deref().unwrap_or("null"), current, "{changes:?}");
    }
}

/// 10.5.
#[test]
fn titles() {
    let said =
        |kind: &str, texts: &str| format!(r#"{{"id":"u","source":{{"kind":"{kind}"}},"content":[{texts}]}}"#);
    let two =
        said("user", r#"{"type":"text","text":" a "},{"type":"image"},{"type":"text","text":"\ud83d"}"#);
    let blank = said("user", r#"{"type":"text","text":"\u001b[31m \u200b"}"#);
    let other = said("schedule", r#"{"type":"text","text":"x"}"#);
    let rows = [&blank, &two, &other, &two].map(|data| ("user/message", 0, data.as_str()));
    check("titleInput", &rows, r#"{"first":{"seq":1,"text":" a \n\ud83d"},"count":2,"lastSeq":3}"#);
    check(
        "title",
        &[("session/title", 0, r#"{"title":"A"}"#), ("session/title", 0, r#"{"title":"B"}"#)],
        r#""B""#,
    );
}

/// 11.5.
#[test]
fn stats_vector() {
    let call = |id: &str| format!(r#"{{"turn":1,"step":1,"callId":"{id}"}}"#);
    let result = |id: &str| format!(r#"{{"turn":1,"step":1,"message":{{"source":{{"callId":"{id}"}}}}}}"#);
    let (call_1, result_1) = (call("c"), result("c"));
    let step = r#"{"turn":1,"step":1}"#;
    let step_2 = r#"{"turn":1,"step":2}"#;
    let (turn_2, turn_3, step_3) = (r#"{"turn":2}"#, r#"{"turn":3}"#, r#"{"turn":3,"step":1}"#);
    let rows: Vec<Row<'_>> = vec![
        ("turn/start", 100, r#"{"turn":1}"#),
        ("step/start", 110, step),
        (
            "assistant/attempt",
            120,
            r#"{"turn":1,"step":1,"stream":[{"type":"text-chunks","time0":115,"index":0,"dt":[2],"texts":["","a"]}]}"#,
        ),
        ("assistant/message", 150, r#"{"turn":1,"step":1,"usage":{"outputTokens":7},"stream":[]}"#),
        ("tool/call", 151, &call_1),
        ("tool/result", 181, &result_1),
        ("step/end", 182, step),
        ("step/start", 190, step_2),
        (
            "assistant/message",
            200,
            r#"{"turn":1,"step":2,"stream":[{"type":"reasoning-chunks","time0":196,"index":0,"dt":[],"texts":[" "]}]}"#,
        ),
        ("step/end", 201, step_2),
        ("turn/end", 202, r#"{"turn":1}"#),
        ("turn/start", 203, turn_2),
        ("turn/end", 204, turn_2),
        ("turn/start", 205, turn_3),
        ("step/start", 206, step_3),
        ("tool/call", 207, &call_1),
        ("step/end", 208, step_3),
        ("turn/end", 209, turn_3),
        ("tool/result", 300, &result_1),
    ];
    let totals = r#"{"turns":2,"steps":3,"llmMs":50,"toolMs":30,"ttftMs":13,"ttftSteps":2,"decodeMs":33,"decodeTokens":7}"#;
    assert_eq!(view(&fold("sessionStats", &rows)), totals);
    // Ids that are numbers come first, as JavaScript has it; clocks that go back add nothing.
    let (nine, ten) = (call("9"), call("x"));
    let state = state(&fold(
        "sessionStats",
        &[("tool/call", 5, &ten), ("tool/call", 6, &nine), ("tool/call", 7, &ten)],
    ));
    assert!(state.ends_with(r#""lastTurn":null,"openStep":null,"pendingCalls":{"9":6,"x":7}}"#), "{state}");
    let back = fold("sessionStats", &[("tool/call", 500, &call_1), ("tool/result", 400, &result_1)]);
    assert!(view(&back).contains(r#""toolMs":0"#));
}

/// 10.6: what counts as a first token.
#[test]
fn first_tokens() {
    for (record, first) in [
        (r#"{"type":"chunk","time":5,"chunk":{"type":"block-start"}}"#, "null"),
        (r#"{"type":"chunk","time":5,"chunk":{"type":"usage","usage":{}}}"#, "null"),
        (r#"{"type":"chunk","time":5,"chunk":{"type":"text-delta","text":""}}"#, "null"),
        (r#"{"type":"chunk","time":5,"chunk":{"type":"text-delta","text":" "}}"#, "5"),
        (r#"{"type":"chunk","time":5,"chunk":{"type":"tool-call-delta","argumentsDelta":""}}"#, "null"),
        (
            r#"{"type":"chunk","time":5,"chunk":{"type":"tool-call-delta","argumentsDelta":"","name":"n"}}"#,
            "5",
        ),
        (r#"{"type":"tool-call-chunks","time0":5,"dt":[4],"args":["","a"]}"#, "9"),
        (r#"{"type":"tool-call-chunks","time0":5,"dt":[4],"args":["","a"],"name":"n"}"#, "5"),
        (r#"{"type":"text-chunks","time0":5,"dt":[-2,1],"texts":["","","a"]}"#, "4"),
        (r#"{"type":"text-chunks","time0":5,"dt":[1],"texts":["",""]}"#, "null"),
    ] {
        let attempt = format!(r#"{{"turn":1,"step":1,"stream":[{record}]}}"#);
        let rows = [("step/start", 1, r#"{"turn":1,"step":1}"#), ("assistant/attempt", 9, &*attempt)];
        let state = state(&fold("sessionStats", &rows));
        assert!(state.contains(&format!(r#""firstTokenTime":{first}}}"#)), "{record}: {state}");
    }
}

/// P-29.
#[test]
fn attempts_of_a_step_replace_each_other_unless_a_retry_started() {
    let message = |step: u64, input: u64| {
        format!(
            r#"{{"turn":1,"step":{step},"usage":{{"inputTokens":{input},"outputTokens":1,"cacheReadTokens":null}},"stream":[]}}"#
        )
    };
    let attempt = r#"{"turn":1,"step":1,"stream":[{"type":"chunk","chunk":{"type":"usage","usage":{"inputTokens":9,"outputTokens":9}}},{"type":"chunk","chunk":{"type":"usage","usage":{"inputTokens":5,"outputTokens":2,"cacheWriteTokens":3}}},{"type":"chunk","chunk":{"type":"finish"}}]}"#;
    let (first, second) = (message(1, 10), message(2, 100));
    let (retry, other) = (r#"{"turn":1,"step":1}"#, r#"{"turn":1,"step":2}"#);
    let totals = |rows: &[Row<'_>]| view(&fold("tokenUsage", rows));
    let expected = |input: u64, output: u64, write: u64| {
        format!(
            r#"{{"uncachedInputTokens":{input},"outputTokens":{output},"cacheReadTokens":0,"cacheWriteTokens":{write}}}"#
        )
    };
    let attempt = ("assistant/attempt", 0, attempt);
    let (first, second) = (("assistant/message", 0, &*first), ("assistant/message", 0, &*second));
    for (rows, sums) in [
        (vec![attempt], expected(5, 2, 3)),
        (vec![attempt, first], expected(10, 1, 0)),
        (vec![attempt, ("llm/retry-started", 0, retry), first], expected(15, 3, 3)),
        (vec![attempt, ("llm/retry-started", 0, other), first], expected(10, 1, 0)),
        (vec![attempt, first, second], expected(110, 2, 0)),
        // Without usage nothing is replaced.
        (vec![attempt, ("assistant/message", 0, r#"{"turn":1,"step":1,"stream":[]}"#)], expected(5, 2, 3)),
    ] {
        assert_eq!(totals(&rows), sums, "{rows:?}");
    }
}

/// 10.7.
#[test]
fn retries_settings_and_plans() {
    let retry = ("llm/retry", 0, r#"{"provider":"p","policyKey":"[\"normal\"]","retry":2,"retryId":"r"}"#);
    check("llmRetry", &[retry], r#"{"[\"p\",\"[\\\"normal\\\"]\"]":{"retry":2,"retryId":"r"}}"#);
    check("llmRetry", &[retry, ("step/start", 0, r#"{"turn":1,"step":1}"#)], "{}");
    check(
        "permissions",
        &[
            ("permission/preset", 0, r#"{"preset":"auto"}"#),
            ("sandbox/mode", 0, r#"{"mode":"read-only"}"#),
            ("approval/policy", 0, r#"{"policy":"ask"}"#),
            ("session/end-seed", 0, "{}"),
        ],
        r#"{"preset":"auto","sandbox":"read-only","approval":"ask","seeded":true}"#,
    );
    let run = |args: &str| format!(r#"{{"commandId":"k","name":"plan","args":"{args}"}}"#);
    let (on, off) = (run(""), run(" off\u{3000}"));
    let done = |id: &str, kind: &str| format!(r#"{{"commandId":"{id}","kind":"{kind}"}}"#);
    let (success, failure, foreign) = (done("k", "success"), done("k", "error"), done("l", "success"));
    let run = |args| ("command/run", 0, args);
    let done = |data| ("command/done", 0, data);
    for (rows, wanted, shown) in [
        (vec![run(&*on)], "null", (false, true)),
        (vec![run(&on), done(&*success)], "true", (false, true)),
        (vec![run(&on), done(&failure)], "null", (false, false)),
        (vec![run(&on), done(&foreign)], "null", (false, true)),
        (vec![run(&off), done(&success)], "null", (false, false)),
        (vec![run(&on), done(&success), ("plan/mode", 0, r#"{"active":true}"#)], "null", (true, false)),
    ] {
        let plan = fold("plan", &rows);
        assert!(state(&plan).contains(&format!(r#""wanted":{wanted},"#)), "{rows:?}: {}", state(&plan));
        assert_eq!(view(&plan), format!(r#"{{"active":{},"pending":{}}}"#, shown.0, shown.1), "{rows:?}");
    }
    let header = (
        "request/header",
        0,
        r#"{"header":{"config":{"provider":"p","model":"m","reasoningEffort":"high"}}}"#,
    );
    let same = r#"{"provider":"p","model":"m","reasoningEffort":"high","more":1}"#;
    let next = r#"{"provider":"p","model":"n","more":1}"#;
    let used = r#"{"provider":"p","model":"m","reasoningEffort":"high"}"#;
    check(
        "modelSelection",
        &[header, ("model/selection", 0, next)],
        &format!(r#"{{"lastUsed":{used},"pending":{next}}}"#),
    );
    check(
        "modelSelection",
        &[("model/selection", 0, same), header],
        &format!(r#"{{"lastUsed":{used},"pending":null}}"#),
    );
    let shown = view(&fold("modelSelection", &[header, ("model/selection", 0, next)]));
    assert_eq!(shown, format!(r#"{{"lastUsed":{used},"next":{{"provider":"p","model":"n"}}}}"#));
}

/// P-31 and B-3.
#[test]
fn catalogs_begin_at_the_cut() {
    fn row(data: &str) -> Row<'_> {
        ("subagent/catalog", 0, data)
    }

    let entry = |id: &str, more: &str| {
        format!(r#"{{"version":0,"childId":"{id}","childCreatedAt":3,"mode":"one-shot"{more}}}"#)
    };
    let (a, b) = (entry("a", ""), entry("b", r#","label":"L""#));
    let header = header("");
    let start = Start { header: &header, cut: 1 };
    let catalog = fold_from("subagentCatalog", &start, &[row("null"), row(&b)]);
    assert_eq!(state(&catalog), format!(r#"{{"inheritedEventCount":1,"head":{{"values":[{b}]}}}}"#));
    assert_eq!(view(&catalog), r#"[{"mode":"one-shot","label":"L","id":"b","createdAt":3}]"#);
    for bad in [
        entry("a", r#","extra":1"#),
        a.replace("one-shot", "continuable"),
        a.replace("one-shot", "unknown"),
        a.replace(r#""version":0"#, r#""version":2"#),
        a.replace(":3", ":-1"),
        entry("a", r#","label":null"#),
    ] {
        check("subagentCatalog", &[row(&bad)], "! event 0: the entry has none of the known shapes");
    }
    let many: Vec<Row<'_>> = (0..130).map(|_| row(&a)).collect();
    let found = Doc::parse(state(&fold("subagentCatalog", &many))).unwrap();
    let length = |path: &[&str]| found.root().path(path).map(|values| values.elements().count());
    assert_eq!(length(&["head", "values"]), Some(2));
    assert_eq!(length(&["head", "previous", "values"]), Some(64));
    assert_eq!(length(&["head", "previous", "previous", "values"]), Some(64));
    assert_eq!(length(&["head", "previous", "previous", "previous"]), None);
}

/// P-30.
#[test]
fn descriptors_follow_the_last() {
    fn row(data: &str) -> Row<'_> {
        ("subagent/descriptor", 0, data)
    }

    let good =
        r#"{"version":3,"mode":"continuable","provider":"fork","label":"L","toolFilter":{"deny":["x"]}}"#;
    check("subagent", &[row(good)], r#"{"identity":{"mode":"continuable","label":"L","seq":0}}"#);
    for bad in [
        good.replace(":3", ":2"),
        good.replace(r#","label":"L""#, ""),
        good.replace(r#"{"deny":["x"]}"#, "{}"),
        good.replace(r#"["x"]"#, "[1]"),
        good.replace("deny", "drop"),
        good.replace("continuable", "one-shot"),
        "null".to_owned(),
    ] {
        check("subagent", &[row(good), row(&bad)], "{}");
    }
    check(
        "subagentModelSelectionPolicy",
        &[("subagent/model-selection-policy", 0, r#"{"allowedModels":[]}"#)],
        "! event 0: the policy allows no model",
    );
}

#[test]
fn the_time_of_a_subagent_begins_with_its_descriptor() {
    let descriptor = |time| ("subagent/descriptor", time, "{}");
    let start = |time| ("turn/start", time, r#"{"turn":1}"#);
    let end = |time, kind: &'static str| ("turn/end", time, kind);
    let completed = r#"{"turn":1,"reason":{"kind":"completed"}}"#;
    for (rows, expected) in [
        (vec![start(1), end(5, completed)], r#"{"descriptorSeen":false,"settledMs":0}"#),
        (vec![start(1)], r#"{"descriptorSeen":false,"settledMs":0,"pendingTurnStart":1}"#),
        (
            vec![start(1), descriptor(3)],
            r#"{"descriptorSeen":true,"settledMs":0,"active":{"since":1,"through":3}}"#,
        ),
        (
            vec![descriptor(3), start(4), ("acme/event", 6, "{}")],
            r#"{"descriptorSeen":true,"settledMs":0,"active":{"since":4,"through":6}}"#,
        ),
        (
            vec![descriptor(3), start(4), end(9, completed)],
            r#"{"descriptorSeen":true,"settledMs":5,"lastTurnCompleted":true}"#,
        ),
        (
            vec![descriptor(3), start(9), end(4, r#"{"turn":1}"#)],
            r#"{"descriptorSeen":true,"settledMs":0,"lastTurnCompleted":false}"#,
        ),
        (
            vec![descriptor(3), start(4), end(9, completed), descriptor(20)],
            r#"{"descriptorSeen":true,"settledMs":0}"#,
        ),
    ] {
        check("subagentTiming", &rows, expected);
    }
}

#[test]
fn calls_approvals_and_jobs() {
    let asked = r#"{"turn":1,"step":1,"message":{"content":[{"type":"tool-call","id":"a","name":"bash"},{"type":"tool-call","id":"b","name":"read"}]}}"#;
    let rows = [
        ("assistant/message", 10, asked),
        ("tool/call", 20, r#"{"turn":1,"step":1,"callId":"a","name":"bash"}"#),
        (
            "tool/result",
            25,
            r#"{"turn":1,"step":1,"message":{"isError":true,"source":{"callId":"a"}},"error":{"name":"E","code":"ABORTED"}}"#,
        ),
        ("tool/result", 26, r#"{"turn":1,"step":1,"message":{"source":{"callId":"b"}}}"#),
    ];
    let call = |end: &str, ms: &str, outcome: &str, error: &str| {
        format!(
            r#"{{"callId":"a","name":"bash","turn":1,"step":1,"asked":{{"seq":0,"time":10}},"started":{{"seq":1,"time":20}},"ended":{end},"ms":{ms},"outcome":"{outcome}","error":{error}}}"#
        )
    };
    let other = |end: &str, outcome: &str| {
        format!(
            r#"{{"callId":"b","name":"read","turn":1,"step":1,"asked":{{"seq":0,"time":10}},"started":null,"ended":{end},"ms":null,"outcome":"{outcome}","error":null}}"#
        )
    };
    check(
        "toolCalls",
        &rows[..2],
        &format!("[{},{}]", call("null", "null", "running", "null"), other("null", "asked")),
    );
    let ended = call(r#"{"seq":2,"time":25}"#, "5", "failed", r#""ABORTED""#);
    check("toolCalls", &rows, &format!("[{ended},{}]", other(r#"{"seq":3,"time":26}"#, "done")));

    let ask = ("approval/asked", 5, r#"{"id":"x","toolName":"bash","callId":"a","reason":"why"}"#);
    let approval = |decided: &str, ms: &str, outcome: &str| {
        format!(
            r#"[{{"id":"x","toolName":"bash","callId":"a","reason":"why","asked":{{"seq":0,"time":5}},"decided":{decided},"ms":{ms},"outcome":{outcome}}}]"#
        )
    };
    check("approvals", &[ask], &approval("null", "null", "null"));
    let decide = ("approval/decided", 9, r#"{"id":"x","outcome":"rejected"}"#);
    check("approvals", &[ask, decide, decide], &approval(r#"{"seq":1,"time":9}"#, "4", r#""rejected""#));
    check("approvals", &[decide], "[]");

    let register = ("job/registered", 1, r#"{"jobId":"j","kind":"bash","label":"L","startedAt":1}"#);
    let settle = (
        "job/settled",
        8,
        r#"{"jobId":"j","kind":"bash","label":"L","startedAt":1,"finishedAt":8,"status":"completed","cause":"exit"}"#,
    );
    let job = |told: &str, settled: &str| {
        format!(
            r#"[{{"jobId":"j","kind":"bash","label":"L","owner":null,"startedAt":1,{told},"detail":null,"registered":{{"seq":0,"time":1}},"settled":{settled}}}]"#
        )
    };
    check("jobs", &[register], &job(r#""finishedAt":null,"status":null,"cause":null"#, "null"));
    check(
        "jobs",
        &[register, settle, settle],
        &job(r#""finishedAt":8,"status":"completed","cause":"exit""#, r#"{"seq":1,"time":8}"#),
    );
}
