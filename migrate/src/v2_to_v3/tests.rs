//! Before and after, from the specification; refusals by rule.

use super::super::testing::{Outcome, lines, step};

const UNSEEDED: &str = r#""id":"s1","createdAt":1000,"isSeeded":false,"delegationDepth":0"#;
const FORKED: &str = r#""id":"s1","createdAt":1000,"parentSession":"p","isSeeded":true,"delegationDepth":0"#;

fn carry(header: &str, rows: &str) -> Outcome {
    step(2, header, &lines(rows), None)
}

/// Rows in front of which a turn and a step are opened; seqs go on from 2, in V3 from 3.
fn in_step(rows: &str) -> Outcome {
    let all = format!(
        r#"{{"type":"turn/start","seq":0,"time":1,"data":{{"turn":1}}}}
        {{"type":"step/start","seq":1,"time":2,"data":{{"turn":1,"step":1}}}}
        {rows}"#
    );
    carry(UNSEEDED, &all).map(|(events, cut)| (events.into_iter().skip(3).collect(), cut))
}

#[track_caller]
fn becomes(before: &str, after: &str) {
    assert_eq!(in_step(before), Ok((vec![after.to_owned()], 0)), "{before}");
}

#[track_caller]
fn refused(row: &str, code: &str) {
    assert_eq!(in_step(row), Err(format!("v2-to-v3 {code} 2")), "{row}");
}

/// `docs/spec/events-v0-v3.md`, 10.5.
#[test]
fn the_prompt_becomes_a_message() {
    let before = r#"
        {"type":"turn/start","seq":0,"time":2000,"data":{"turn":1}}
        {"type":"step/start","seq":1,"time":2001,"data":{"turn":1,"step":1}}
        {"type":"user/message","seq":2,"time":2002,"data":{"id":"u","role":"user","content":[{"type":"text","text":"x"}],"source":{"kind":"user"}},"surfaceOp":"append"}
        {"type":"request/header","seq":3,"time":2003,"data":{"header":{"config":{"provider":"p","model":"m"},"system":"SYS"},"reason":"initial"}}
    "#;
    let after = r#"
        {"type":"turn/start","seq":0,"time":2000,"data":{"turn":1}}
        {"type":"step/start","seq":1,"time":2001,"data":{"turn":1,"step":1}}
        {"type":"system/message","seq":2,"time":2001,"data":{"turn":1,"step":1,"message":{"id":"v2-to-v3-system-36701ab3bbdb7fb02e9bffbb652f9ba6b175dbfc31464e99d49c6241a50600f2","role":"system","source":{"kind":"plugin","plugin":"@deepseek-ai/dsh-system-prompt"},"content":[]}},"surfaceOp":"append"}
        {"type":"user/message","seq":3,"time":2002,"data":{"id":"u","role":"user","content":[{"type":"text","text":"x"}],"source":{"kind":"user"}},"surfaceOp":"append"}
        {"type":"system/message","seq":4,"time":2003,"data":{"turn":1,"step":1,"message":{"id":"v2-to-v3-system-3d5f41ea83ec64d4274004a588bfd7da473b8c01ac3da9d9f92a17fd766da935","role":"system","source":{"kind":"plugin","plugin":"@deepseek-ai/dsh-system-prompt"},"content":[{"type":"text","text":"SYS"}]}},"surfaceOp":{"op":"replace","startSeq":2,"endSeq":2},"sourceEventSeqs":[2]}
        {"type":"request/header","seq":5,"time":2003,"data":{"header":{"config":{"provider":"p","model":"m"}},"reason":"initial"}}
    "#;
    let after: Vec<_> = lines(after).into_iter().map(str::to_owned).collect();
    assert_eq!(carry(UNSEEDED, before), Ok((after, 0)));
}

#[test]
fn prompts_add_a_message_only_when_they_change() {
    let header = |seq: u64, system: &str| {
        format!(
            r#"{{"type":"request/header","seq":{seq},"time":3,"data":{{"header":{{"config":{{"provider":"p","model":"m"}}{system}}},"reason":"initial"}}}}"#
        )
    };
    for (first, second, messages) in [
        ("", "", 0),
        (r#","system":"""#, "", 0),
        (r#","system":"a""#, r#","system":"\u0061""#, 1),
        (r#","system":"a""#, r#","system":"b""#, 2),
        (r#","system":"a""#, "", 2),
    ] {
        let (events, _) = in_step(&format!("{}\n{}", header(2, first), header(3, second))).unwrap();
        assert_eq!(events.len(), 2 + messages, "{first} {second}");
    }
    // Before the first step there is no place for a prompt.
    let early = |system| carry(UNSEEDED, &header(0, system));
    assert!(early(r#","system":"""#).is_ok());
    assert_eq!(early(r#","system":"a""#), Err("v2-to-v3 prompt-outside-step 0".to_owned()));
}

#[test]
fn names_and_envelopes_of_v3() {
    for (before, after) in [
        (
            r#"{"type":"tool/code-dispatch-start","seq":2,"time":9,"data":{"rootCallId":"r","parentCallId":"r","subCallId":"s","name":"n","arguments":{"a":1}}}"#,
            r#"{"type":"tool/ptc-dispatch-start","seq":3,"time":9,"data":{"rootCallId":"r","parentCallId":"r","subCallId":"s","name":"n","arguments":{"a":1}}}"#,
        ),
        (
            r#"{"type":"agent-preset/selected","seq":2,"time":9,"data":{"agentPreset":"code"}}"#,
            r#"{"type":"agent-preset/selected","seq":3,"time":9,"data":{"agentPreset":"ptc"}}"#,
        ),
        (
            r#"{"type":"request/header","seq":2,"time":9,"data":{"header":{"tools":[],"config":{"provider":"p","model":"m"},"adapterDefaults":{}},"reason":"change"}}"#,
            r#"{"type":"request/header","seq":3,"time":9,"data":{"header":{"config":{"provider":"p","model":"m"}},"reason":"change"}}"#,
        ),
        (
            r#"{"type":"agent/inbox/spliced","seq":2,"time":9,"data":{"target":"next-turn","start":0,"inserted":[{"id":"a","role":"user","content":[],"source":{"kind":"user"}},{"id":"b","role":"user","content":[],"source":{"plugin":"tools-code-mode","kind":"plugin"}}]}}"#,
            r#"{"type":"agent/inbox/spliced","seq":3,"time":9,"data":{"target":"next-turn","start":0,"inserted":[{"id":"a","role":"user","content":[],"source":{"kind":"user"}},{"id":"b","role":"user","content":[],"source":{"plugin":"tools-ptc","kind":"plugin"}}]}}"#,
        ),
        (
            r#"{"type":"user/message","seq":2,"time":9,"surfaceOp":{"op":"replace","start":0,"end":1},"sourceEventSeqs":[[0,1]],"data":{"id":"a","role":"user","content":[{"type":"file","attachment":{"attachmentId":"f","name":"","bytes":0}}],"source":{"kind":"agent-message","form":"relay","senderSessionId":"x"}}}"#,
            r#"{"type":"user/message","seq":3,"time":9,"surfaceOp":{"op":"replace","startSeq":0,"endSeq":1},"sourceEventSeqs":[0,1],"data":{"id":"a","role":"user","content":[{"type":"file","attachment":{"attachmentId":"f","name":"","bytes":0}}],"source":{"kind":"agent-message","form":"relay","senderSessionId":"x"}}}"#,
        ),
    ] {
        becomes(before, after);
    }
}

#[test]
fn references_move_behind_the_messages() {
    let prompt = r#"{"type":"request/header","seq":2,"time":3,"data":{"header":{"config":{"provider":"p","model":"m"},"system":"S"},"reason":"initial"}}"#;
    for (before, after) in [
        (
            r#"{"type":"compaction/prune","seq":3,"time":4,"data":{"shadowedRange":{"end":2,"start":1},"shadowedSeqs":[1,2],"shadowedTokenCount":0}}"#,
            r#"{"type":"compaction/prune","seq":5,"time":4,"data":{"shadowedRange":{"end":4,"start":1},"shadowedSeqs":[1,4],"shadowedTokenCount":0}}"#,
        ),
        (
            r#"{"type":"command/done","seq":3,"time":4,"data":{"commandId":"c","kind":"success","sourceEventSeq":2}}"#,
            r#"{"type":"command/done","seq":5,"time":4,"data":{"commandId":"c","kind":"success","sourceEventSeq":4}}"#,
        ),
        (
            r#"{"type":"session/title","seq":3,"time":4,"data":{"title":"t","messageSeqs":[2,0],"source":{"kind":"fallback"}}}"#,
            r#"{"type":"session/title","seq":5,"time":4,"data":{"title":"t","messageSeqs":[4,0],"source":{"kind":"fallback"}}}"#,
        ),
    ] {
        let (events, _) = in_step(&format!("{prompt}\n{before}")).unwrap();
        assert_eq!(events[2], after);
    }
}

#[test]
fn admission() {
    let user = |content: &str, source: &str, rest: &str| {
        format!(
            r#"{{"type":"user/message","seq":2,"time":9,"data":{{"id":"a","role":"user","content":[{content}],"source":{source}}}{rest}}}"#
        )
    };
    let (me, append) = (r#"{"kind":"user"}"#, r#","surfaceOp":"append""#);
    let attempt = |stream: &str| {
        format!(
            r#"{{"type":"assistant/attempt","seq":2,"time":9,"data":{{"turn":1,"step":1,"stream":[{stream}]}}}}"#
        )
    };
    let result = |id: &str, is_error: &str, error: &str| {
        format!(
            r#"{{"type":"tool/result","seq":2,"time":9,"data":{{"turn":1,"step":1,"message":{{"id":"{id}","role":"user","content":[{{"type":"tool-result","toolCallId":"c","content":[]{is_error}}}],"source":{{"kind":"tool","callId":"c"}}}},"error":{{"name":"E","code":"{error}"}}}},"surfaceOp":"append"}}"#
        )
    };
    let marked = r#","isError":true"#;
    for (row, code) in [
        (user("", me, ""), "envelope"),
        (user("", me, r#","surfaceOp":{"op":"replace","start":0,"end":2}"#), "envelope"),
        (user("", me, r#","surfaceOp":{"op":"replace","startSeq":0,"endSeq":1}"#), "envelope"),
        (user("", me, r#","surfaceOp":"append","sourceEventSeqs":[]"#), "envelope"),
        (user(r#"{"type":"cite"}"#, me, append), "block-kind"),
        (user(r#"{"type":"file","attachment":{"attachmentId":"f","bytes":0}}"#, me, append), "payload"),
        (
            user(r#"{"type":"tool-result","toolCallId":"c","content":[{"type":"x"}]}"#, me, append),
            "block-kind",
        ),
        (user("", r#"{"kind":"zork"}"#, append), "source-kind"),
        (user("", r#"{"kind":"agent-message","form":"relay"}"#, append), "payload"),
        (r#"{"type":"x/y","seq":2,"time":9,"data":{},"ignorable":true}"#.to_owned(), "unknown-event"),
        (r#"{"type":"todo/write","seq":2,"time":9,"data":{}}"#.to_owned(), "payload"),
        (r#"{"type":"todo/write","seq":2,"time":9,"data":{"todos":[]},"surfaceOp":"append"}"#.to_owned(), "envelope"),
        (r#"{"type":"session/end-seed","seq":2,"time":9,"data":{"inherited":false}}"#.to_owned(), "payload"),
        (attempt(r#"{"type":"chunk"}"#), "stream"),
        (attempt(r#"{"type":"chunk","chunk":{"type":"block-start","blockType":"cite"}}"#), "block-kind"),
        (attempt(r#"{"type":"chunk","chunk":{"type":"block-end","block":{"type":"text"}}}"#), "payload"),
        (r#"{"type":"assistant/attempt","seq":2,"time":9,"data":{"turn":0,"step":1,"stream":[]}}"#.to_owned(), "payload"),
        (result("t", "", "E"), "payload"),
        (result("t", marked, "TOOL_NOT_STARTED"), "payload"),
        (result("interrupted-tool-result-c-01", marked, "TOOL_NOT_STARTED"), "payload"),
        (
            r#"{"type":"session-log-deepseek/delivery-accepted","seq":2,"time":9,"data":{"sessionId":"s1","throughSeq":1,"sessionFormatVersion":3}}"#.to_owned(),
            "delivery",
        ),
    ] {
        refused(&row, code);
    }
    for row in [
        attempt(r#"{"type":"zz"},{"type":"chunk","chunk":{"type":"usage"}}"#),
        result("t", marked, "E"),
        result("interrupted-tool-result-c-7", marked, "TOOL_NOT_STARTED"),
        r#"{"type":"feedback/message-delete","seq":2,"time":9,"data":{"sessionId":"","messageId":""}}"#
            .to_owned(),
    ] {
        assert!(in_step(&row).is_ok(), "{row}: {:?}", in_step(&row));
    }
}

#[test]
fn what_history_refuses() {
    let message = r#"{"type":"user/message","seq":0,"time":9,"data":{"id":"a","role":"user","content":[],"source":{"kind":"user"}},"surfaceOp":"append"}"#;
    assert_eq!(carry(UNSEEDED, message), Err("v2-to-v3 surface-before-step 0".to_owned()));
    let step = r#"{"type":"step/start","seq":0,"time":9,"data":{"turn":1,"step":0}}"#;
    assert_eq!(carry(UNSEEDED, step), Err("v2-to-v3 prompt-outside-step 0".to_owned()));
    // The id that the first step's message would get.
    let taken = r#"
        {"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}
        {"type":"step/start","seq":1,"time":2,"data":{"turn":1,"step":1}}
        {"type":"user/message","seq":2,"time":9,"data":{"id":"v2-to-v3-system-36701ab3bbdb7fb02e9bffbb652f9ba6b175dbfc31464e99d49c6241a50600f2","role":"user","content":[],"source":{"kind":"user"}},"surfaceOp":"append"}"#;
    assert_eq!(carry(UNSEEDED, taken), Err("v2-to-v3 message-id 2".to_owned()));
}

#[test]
fn the_last_marker_is_the_cut_and_foreign_deliveries_stay_below_it() {
    let marker = |seq: u64| {
        format!(r#"{{"type":"session/end-seed","seq":{seq},"time":5,"data":{{"inherited":true}}}}"#)
    };
    let delivery = |seq: u64| {
        format!(
            r#"{{"type":"session-log-deepseek/delivery-accepted","seq":{seq},"time":4,"data":{{"throughSeq":1,"sessionId":"other","sessionFormatVersion":2}}}}"#
        )
    };
    let rows = |rest: &[String]| {
        format!(
            r#"{{"type":"turn/start","seq":0,"time":1,"data":{{"turn":1}}}}
            {{"type":"step/start","seq":1,"time":2,"data":{{"turn":1,"step":1}}}}
            {}"#,
            rest.join("\n")
        )
    };
    assert_eq!(carry(FORKED, &rows(&[marker(2), delivery(3), marker(4)])).unwrap().1, 5);
    let above = rows(&[marker(2), delivery(3)]);
    assert_eq!(carry(FORKED, &above), Err("v2-to-v3 delivery 3".to_owned()));
    let alone = rows(&[delivery(2)]);
    assert_eq!(carry(UNSEEDED, &alone), Err("v2-to-v3 delivery 2".to_owned()));
}
