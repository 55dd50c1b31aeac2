use super::*;
use crate::edge::RefusalClass;
use crate::testing::{header, migrate};

fn v1(header: &Header, rows: &str) -> Result<String, Refusal> {
    migrate(header, vec![Box::new(V0ToV1::new())], rows).map(|(rows, _)| rows)
}

/// `before` becomes `after`.
#[track_caller]
fn check(before: &str, after: &str) {
    let rows = |text: &str| text.lines().map(|line| line.trim().to_owned() + "\n").collect::<String>();
    match v1(&header(0, ""), &rows(before)) {
        Ok(got) => assert_eq!(got, rows(after)),
        Err(refusal) => panic!("{refusal}"),
    }
}

/// A single event with this type and data becomes one with those.
#[track_caller]
fn event(before: (&str, &str), after: (&str, &str)) {
    let row = |(kind, data): (&str, &str)| format!(r#"{{"type":"{kind}","seq":0,"time":9,"data":{data}}}"#);
    check(&row(before), &row(after));
}

/// A single event with this type and data is refused.
#[track_caller]
fn refused(kind: &str, data: &str, code: &str, class: RefusalClass) {
    let row = format!(r#"{{"type":"{kind}","seq":0,"time":9,"data":{data}}}"#);
    let refusal = v1(&header(0, ""), &row).unwrap_err();
    assert_eq!((refusal.edge, refusal.code, refusal.class), ("v0-to-v1", code, class), "{refusal} {data}");
    assert_eq!((refusal.at.line, refusal.at.seq), (Some(2), Some(dshlog_codec::Seq(0))));
}

use RefusalClass::{Malformed, Unsupported};

#[test]
fn retired_events_are_refused() {
    // 8.3, 8.4
    refused("request/header-delta", "5", "retired-event", Unsupported);
    refused("mode/set", "{}", "retired-event", Unsupported);
    refused("request/header", r#"{"reason":"fallback"}"#, "retired-header", Unsupported);
    refused("x-lab/note", "{}", "unknown-event", Unsupported);
    refused("feedback/message-delete", r#"{"sessionId":"","messageId":""}"#, "unknown-event", Unsupported);
    refused("x-lab/note", "5", "payload", Malformed);
    refused("subagent/descriptor", r#"{"version":2}"#, "descriptor-version", Unsupported);
    refused("subagent/descriptor", r#"{"version":"2"}"#, "payload", Malformed);
    let marked = r#"{"type":"x-lab/note","seq":0,"time":0,"data":{},"ignorable":true}"#;
    assert_eq!(v1(&header(0, ""), marked).unwrap_err().code, "unknown-event");
}

#[test]
fn turns() {
    // 8.5
    event(
        ("turn/start", r#"{"turn":1,"trigger":{"kind":"message","source":{"kind":"user"}}}"#),
        ("turn/start", r#"{"turn":1}"#),
    );
    event(("turn/start", r#"{"turn":0}"#), ("turn/start", r#"{"turn":0}"#));
    for data in [
        r#"{"turn":0,"trigger":{"kind":"message"}}"#,
        r#"{"turn":1,"trigger":{"kind":""}}"#,
        r#"{"turn":1,"trigger":null}"#,
        r#"{"turn":1,"trigger":{"kind":"message"},"x":1}"#,
    ] {
        refused("turn/start", data, "turn-trigger", Malformed);
    }
    // 8.6
    let end = |reason: &str| format!(r#"{{"turn":1,"reason":{reason}}}"#);
    for (before, after) in [
        (r#"{"kind":"completed"}"#, r#"{"kind":"completed"}"#),
        (r#"{"kind":"aborted"}"#, r#"{"kind":"aborted","reason":{"kind":"legacy"}}"#),
        (r#"{"kind":"aborted","reason":{"kind":"user"}}"#, r#"{"kind":"aborted","reason":{"kind":"user"}}"#),
        (r#"{"kind":"disposed"}"#, r#"{"kind":"aborted","reason":{"kind":"disposed"}}"#),
        (
            r#"{"kind":"error","step":2,"message":"boom"}"#,
            r#"{"kind":"error","error":{"message":"boom","code":"UNKNOWN"}}"#,
        ),
        (
            r#"{"code":"C","message":"boom","step":2,"kind":"error"}"#,
            r#"{"kind":"error","error":{"message":"boom","code":"C"}}"#,
        ),
        (
            r#"{"kind":"error","step":0,"failure":{"code":"c","message":"m","status":429}}"#,
            r#"{"kind":"error","error":{"code":"c","message":"m","status":429}}"#,
        ),
        (
            r#"{"kind":"error","error":{"message":"m","code":"c"}}"#,
            r#"{"kind":"error","error":{"message":"m","code":"c"}}"#,
        ),
        (r#"{"kind":"later","a":[1]}"#, r#"{"kind":"later","a":[1]}"#),
    ] {
        event(("turn/end", &end(before)), ("turn/end", &end(after)));
    }
    for (reason, code) in [
        (r#"{"kind":"error","message":"m"}"#, "turn-reason"),
        (r#"{"kind":"error","step":1,"message":"m","x":1}"#, "turn-reason"),
        (r#"{"kind":"error","step":1,"message":"m","code":5}"#, "turn-reason"),
        (r#"{"kind":"error","step":1,"failure":{"message":"m"}}"#, "turn-reason"),
        (r#"{"kind":"error","step":1,"failure":{"message":"m","code":"c","x":1}}"#, "turn-reason"),
        (r#"{"kind":"error","step":1,"message":""}"#, "payload"),
        (r#"{"kind":"completed","x":1}"#, "payload"),
        (r#"{"kind":""}"#, "payload"),
        ("5", "turn-reason"),
    ] {
        refused("turn/end", &end(reason), code, Malformed);
    }
    refused("turn/end", r#"{"turn":0,"reason":{"kind":"completed"}}"#, "turn-reason", Malformed);
}

#[test]
fn a_message_prefix_is_dropped() {
    // 8.7
    let data = |rest: &str| {
        format!(r#"{{"header":{{{rest}"config":{{"provider":"p","model":"m"}}}},"reason":"initial"}}"#)
    };
    event(("request/header", &data(r#""messagePrefix":[{"any":1}],"#)), ("request/header", &data("")));
    refused("request/header", &data(r#""messagePrefix":null,"#), "message-prefix", Malformed);
}

#[test]
fn steering_becomes_a_user_message() {
    // 8.8
    check(
        r#"{"type":"steering/message","seq":6,"time":9,"data":{"turn":1,"content":[{"type":"text","text":"s"}],"source":{"kind":"user"}},"surfaceOp":"append"}
        {"type":"steering/message","seq":7,"time":9,"data":{"turn":1,"message":{"content":[],"source":{"kind":"user"}}}}"#,
        r#"{"type":"user/message","seq":6,"time":9,"data":{"content":[{"type":"text","text":"s"}],"source":{"kind":"user"},"id":"legacy-message:s1:6","role":"user"},"surfaceOp":"append"}
        {"type":"user/message","seq":7,"time":9,"data":{"content":[],"source":{"kind":"user"},"id":"legacy-message:s1:7","role":"user"}}"#,
    );
    refused("steering/message", r#"{"turn":1,"message":{},"x":1}"#, "steering-message", Malformed);
    refused("steering/message", r#"{"turn":-1,"message":{}}"#, "steering-message", Malformed);
    refused("steering/message", r#"{"turn":1,"message":{}}"#, "payload", Malformed);
}

#[test]
fn retries_of_a_chain_share_an_id() {
    // 8.9
    let retry = |seq: u64, key: &str, id: &str| {
        format!(
            r#"{{"type":"llm/retry","seq":{seq},"time":9,"data":{{"turn":1,"step":1,"provider":"p","mode":"always","policyKey":"{key}","retry":1,"delayMs":5,"failure":{{"message":"m","code":"c"}}{id}}}}}"#
        )
    };
    let rows = |rows: &[String]| rows.join("\n");
    check(
        &rows(&[
            retry(5, "k", ""),
            retry(6, "k", ""),
            retry(7, "l", r#","retryId":"given""#),
            retry(8, "l", ""),
            retry(9, "m", ""),
        ]),
        &rows(&[
            retry(5, "k", r#","retryId":"legacy-retry:s1:5""#),
            retry(6, "k", r#","retryId":"legacy-retry:s1:5""#),
            retry(7, "l", r#","retryId":"given""#),
            retry(8, "l", r#","retryId":"given""#),
            retry(9, "m", r#","retryId":"legacy-retry:s1:9""#),
        ]),
    );
    refused("llm/retry-started", r#"{"turn":1,"step":1,"retry":1}"#, "payload", Malformed);
}

#[test]
fn a_compaction_lends_its_id() {
    // 8.2, 8.10
    check(
        r#"{"type":"compact/start","seq":1,"time":2001,"data":{"turn":null}}
        {"type":"compact/summary","seq":2,"time":1,"data":{"summary":[],"shadowedRange":{"start":0,"end":0},"shadowedSeqs":[0],"shadowedTokenCount":0,"provider":"p","model":"m"}}
        {"type":"user/message","seq":3,"time":1,"data":{"id":"u","role":"user","content":[],"source":{"kind":"plugin","plugin":"compact"}}}
        {"type":"compaction/end","seq":4,"time":1,"data":{"turn":null}}
        {"type":"compact/prune","seq":5,"time":1,"data":{"shadowedRange":{"start":0,"end":0},"shadowedSeqs":[0],"shadowedTokenCount":0}}
        {"type":"compaction/start","seq":6,"time":1,"data":{"turn":null,"compactionId":"K"}}
        {"type":"compaction/end","seq":7,"time":1,"data":{"turn":null,"compactionId":"other"}}"#,
        r#"{"type":"compaction/start","seq":1,"time":2001,"data":{"turn":null,"compactionId":"legacy-compaction:s1:1"}}
        {"type":"compaction/summary","seq":2,"time":1,"data":{"summary":[],"shadowedRange":{"start":0,"end":0},"shadowedSeqs":[0],"shadowedTokenCount":0,"provider":"p","model":"m","compactionId":"legacy-compaction:s1:1"}}
        {"type":"user/message","seq":3,"time":1,"data":{"id":"u","role":"user","content":[],"source":{"kind":"plugin","plugin":"compact","compactionId":"legacy-compaction:s1:1"}}}
        {"type":"compaction/end","seq":4,"time":1,"data":{"turn":null,"compactionId":"legacy-compaction:s1:1"}}
        {"type":"compaction/prune","seq":5,"time":1,"data":{"shadowedRange":{"start":0,"end":0},"shadowedSeqs":[0],"shadowedTokenCount":0}}
        {"type":"compaction/start","seq":6,"time":1,"data":{"turn":null,"compactionId":"K"}}
        {"type":"compaction/end","seq":7,"time":1,"data":{"turn":null,"compactionId":"other"}}"#,
    );
    refused("compaction/end", r#"{"turn":null}"#, "payload", Malformed);
    let forgotten = r#"{"type":"compaction/start","seq":0,"time":0,"data":{"turn":null}}
{"type":"session/end-seed","seq":1,"time":0,"data":{}}
{"type":"compaction/end","seq":2,"time":0,"data":{"turn":null}}"#;
    assert_eq!(v1(&header(0, ""), forgotten).unwrap_err().at.seq, Some(dshlog_codec::Seq(2)));
}

#[test]
fn messages_get_ids() {
    // 8.11
    check(
        r#"{"type":"assistant/message","seq":7,"time":9,"data":{"turn":1,"step":1,"content":[{"type":"text","text":"yo"}],"provenance":{"provider":"p","model":"m"},"usage":{"inputTokens":1,"outputTokens":2}},"surfaceOp":"append"}
        {"type":"assistant/message","seq":8,"time":9,"data":{"turn":1,"step":1,"content":[],"provenance":{"kind":"x","provider":"p","model":"m"}}}
        {"type":"tool/result","seq":9,"time":9,"data":{"turn":1,"step":1,"callId":"c1","content":[{"type":"text","text":"out"}],"isError":true,"error":{"name":"E","code":"C"}},"surfaceOp":"append"}
        {"type":"tool/result","seq":10,"time":9,"data":{"turn":1,"step":1,"callId":"c1","content":[],"isError":false},"surfaceOp":{"op":"replace","start":9,"end":9}}
        {"type":"tool/result","seq":11,"time":9,"data":{"turn":1,"step":1,"callId":"c1","content":[],"isError":false},"surfaceOp":{"op":"replace"}}"#,
        r#"{"type":"assistant/message","seq":7,"time":9,"data":{"turn":1,"step":1,"usage":{"inputTokens":1,"outputTokens":2},"message":{"id":"legacy-message:s1:7","role":"assistant","content":[{"type":"text","text":"yo"}],"source":{"provider":"p","model":"m","kind":"model"}}},"surfaceOp":"append"}
        {"type":"assistant/message","seq":8,"time":9,"data":{"turn":1,"step":1,"message":{"id":"legacy-message:s1:8","role":"assistant","content":[],"source":{"kind":"model","provider":"p","model":"m"}}}}
        {"type":"tool/result","seq":9,"time":9,"data":{"turn":1,"step":1,"error":{"name":"E","code":"C"},"message":{"id":"legacy-message:s1:9","role":"user","content":[{"type":"tool-result","toolCallId":"c1","content":[{"type":"text","text":"out"}],"isError":true}],"source":{"kind":"tool","callId":"c1"}}},"surfaceOp":"append"}
        {"type":"tool/result","seq":10,"time":9,"data":{"turn":1,"step":1,"message":{"id":"legacy-message:s1:9","role":"user","content":[{"type":"tool-result","toolCallId":"c1","content":[],"isError":false}],"source":{"kind":"tool","callId":"c1"}}},"surfaceOp":{"op":"replace","start":9,"end":9}}
        {"type":"tool/result","seq":11,"time":9,"data":{"turn":1,"step":1,"message":{"id":"legacy-message:s1:11","role":"user","content":[{"type":"tool-result","toolCallId":"c1","content":[],"isError":false}],"source":{"kind":"tool","callId":"c1"}}},"surfaceOp":{"op":"replace"}}"#,
    );
    let provenance = r#"{"turn":1,"step":1,"content":[],"provenance":"p"}"#;
    refused("assistant/message", provenance, "provenance", Malformed);
    refused("user/message", r#"{"id":"u","content":[],"source":{"kind":"user"}}"#, "payload", Malformed);
    let lost = r#"{"type":"tool/result","seq":5,"time":9,"data":{"turn":1,"step":1,"callId":"c","content":[],"isError":false},"surfaceOp":{"op":"replace","start":4,"end":4}}"#;
    assert_eq!(v1(&header(0, ""), lost).unwrap_err().code, "replaced-result");
}

#[test]
fn delivery_markers_name_the_session() {
    // 7.9 with X8
    let row = |session: &str, rest: &str| {
        format!(
            r#"{{"type":"session-log-deepseek/delivery-accepted","seq":1,"time":0,"data":{{"sessionId":"{session}","throughSeq":0{rest}}}}}"#
        )
    };
    let forked = header(0, r#","seedLength":2,"parentSession":"p""#);
    let seeded = header(0, r#","seedLength":2"#);
    assert!(v1(&seeded, &row("s1", "")).is_ok());
    assert_eq!(v1(&seeded, &row("p", "")).unwrap_err().code, "delivery-owner");
    assert!(v1(&forked, &row("p", "")).is_ok());
    assert_eq!(v1(&forked, &row("p", r#","sessionFormatVersion":1"#)).unwrap_err().code, "payload");
}

#[test]
fn what_is_sound_stays_as_it_is() {
    // 8.1, 1.5: envelopes are not looked at, chunks hardly, and runs not at all
    let rows = r#"{"type":"assistant/chunk","seq":0,"time":1.5,"data":{"chunk":5},"stray":1}
{"type":"todo/write","seq":1,"time":null,"data":{"todos":[]},"ignorable":false}
"#;
    assert_eq!(v1(&header(0, ""), rows).unwrap(), rows);
    refused("assistant/chunk", "5", "payload", Malformed);
    let run = r#"{"type":"text-chunks","seq0":0,"time0":4,"data":{"turn":0,"step":0,"index":0,"dt":[],"texts":["a"]}}"#;
    assert_eq!(
        v1(&header(0, ""), run).unwrap(),
        "{\"type\":\"assistant/chunk\",\"seq\":0,\"time\":4,\"data\":{\"turn\":0,\"step\":0,\"chunk\":{\"type\":\"text-delta\",\"index\":0,\"text\":\"a\"}}}\n"
    );
}
