//! Before and after, from the specification; refusals by rule.

use super::super::children::{Child, Fact, Mode};
use super::super::testing::{Outcome, lines, step};

const UNSEEDED: &str = r#""id":"s-1","createdAt":1000,"isSeeded":false,"delegationDepth":0"#;
const FORKED: &str = r#""id":"s-1","createdAt":1000,"parentSession":"p","isSeeded":true,"delegationDepth":0"#;

fn child(id: &str, created_at: u64, fact: Option<(Mode, Option<&str>)>) -> Child {
    let fact = fact.map(|(mode, label)| Fact { mode, label: label.map(Into::into) });
    Child { id: id.into(), created_at, fact, path: None }
}

fn carry(header: &str, rows: &str, children: &[Child]) -> Outcome {
    step(3, header, &lines(rows), Some(children.to_vec()))
}

/// One event becomes one event.
#[track_caller]
fn becomes(before: &str, after: &str) {
    assert_eq!(carry(UNSEEDED, before, &[]), Ok((vec![after.to_owned()], 0)));
}

#[track_caller]
fn refused(rows: &str, by: &str) {
    assert_eq!(carry(UNSEEDED, rows, &[]), Err(by.to_owned()), "{rows}");
}

/// `docs/spec/events-v4.md`, 10.13.
#[test]
fn the_worked_example() {
    let before = r#"
        {"type":"turn/start","seq":0,"time":1001,"data":{"turn":1}}
        {"type":"step/start","seq":1,"time":1002,"data":{"turn":1,"step":1}}
        {"type":"system/message","seq":2,"time":1003,"data":{"turn":1,"step":1,"message":{"id":"s","role":"system","source":{"kind":"plugin","plugin":"@deepseek-ai/dsh-system-prompt"},"content":[{"type":"text","text":"P"}]}},"surfaceOp":"append"}
        {"type":"user/message","seq":3,"time":1004,"data":{"id":"u1","role":"user","source":{"kind":"user"},"content":[{"type":"text","text":"hi"}]},"surfaceOp":"append"}
        {"type":"user/message","seq":4,"time":1005,"data":{"id":"u2","role":"user","source":{"kind":"plugin","plugin":"@deepseek-ai/dsh-system-prompt","form":"snapshot"},"content":[{"type":"text","text":"ctx"},{"type":"badge","n":1}]},"surfaceOp":"append"}
        {"type":"assistant/message","seq":5,"time":1006,"data":{"turn":1,"step":1,"message":{"id":"a","role":"assistant","source":{"kind":"model","provider":"p","model":"m"},"content":[{"type":"tool-call","id":"c1","name":"ls","arguments":"{}"}]},"stream":[]},"surfaceOp":"append"}
        {"type":"tool/call","seq":6,"time":1007,"data":{"turn":1,"step":1,"callId":"c1","name":"ls","arguments":"{}"}}
        {"type":"tool/result","seq":7,"time":1008,"data":{"turn":1,"step":1,"message":{"id":"t","role":"user","source":{"kind":"tool","callId":"c1"},"content":[{"type":"tool-result","toolCallId":"c1","content":[{"type":"text","text":"a.txt"}],"isError":false,"span":7}],"note":"n"}},"sourceEventSeqs":[6],"surfaceOp":"append"}
        {"type":"step/end","seq":8,"time":1009,"data":{"turn":1,"step":1}}
        {"type":"agent/inbox/spliced","seq":9,"time":1010,"data":{"target":"next-turn","start":0,"inserted":[{"id":"w","role":"user","source":{"kind":"plugin","plugin":"tools-ptc"},"content":[]}]}}
        {"type":"turn/start","seq":10,"time":1011,"data":{"turn":2}}
        {"type":"acme/mark","seq":11,"time":1012,"data":{"at":9},"ignorable":true}
        {"type":"session/title","seq":12,"time":1013,"data":{"title":"T","messageSeqs":[3],"source":{"kind":"fallback"}}}
        {"type":"user/message","seq":13,"time":1014,"data":{"id":"u3","role":"user","source":{"kind":"plugin","plugin":"acme"},"content":[{"type":"text","text":"short ctx"}]},"sourceEventSeqs":[4],"surfaceOp":{"op":"replace","startSeq":4,"endSeq":4}}
        {"type":"command/run","seq":14,"time":1015,"data":{"commandId":"k","name":"n","args":"","source":{"kind":"user"}}}
        {"type":"command/done","seq":15,"time":1016,"data":{"commandId":"k","kind":"success","sourceEventSeq":12}}
    "#;
    // Events 0, 1, 3, 5, 6 and 8 are unchanged.
    let after = r#"
        {"type":"system/message","seq":2,"time":1003,"data":{"turn":1,"step":1,"message":{"id":"s","role":"system","source":{"kind":"system-prompt"},"content":[{"type":"text","text":"P"}]}},"surfaceOp":"append"}
        {"type":"user/message","seq":4,"time":1005,"data":{"id":"u2","role":"user","source":{"kind":"runtime-context","form":"snapshot"},"content":[{"type":"text","text":"ctx"},{"type":"plugin:badge","n":1}]},"surfaceOp":"append"}
        {"type":"tool/result","seq":7,"time":1008,"data":{"turn":1,"step":1,"message":{"role":"tool","source":{"kind":"tool","callId":"c1"},"toolCallId":"c1","content":[{"type":"text","text":"a.txt"}],"isError":false,"id":"t","plugin:message:note":"n","plugin:result:span":7}},"sourceEventSeqs":[6],"surfaceOp":"append"}
        {"type":"agent/inbox/spliced","seq":9,"time":1010,"data":{"target":"next-turn","start":0,"inserted":[{"id":"w","role":"user","source":{"kind":"ptc-mode"},"content":[]}]}}
        {"type":"turn/end","seq":10,"time":1011,"data":{"turn":1,"reason":{"kind":"interrupted"}}}
        {"type":"turn/start","seq":11,"time":1011,"data":{"turn":2}}
        {"type":"plugin:acme/mark","seq":12,"time":1012,"data":{"at":9},"ignorable":true}
        {"type":"session/title","seq":13,"time":1013,"data":{"title":"T","messageSeqs":[3],"source":{"kind":"fallback"}}}
        {"type":"user/message","seq":14,"time":1014,"data":{"id":"u3","role":"user","source":{"kind":"plugin:acme"},"content":[{"type":"text","text":"short ctx"}]},"sourceEventSeqs":[4],"surfaceOp":{"op":"replace","startSeq":4,"endSeq":4}}
        {"type":"command/run","seq":15,"time":1015,"data":{"commandId":"k","name":"n","args":"","source":{"kind":"user"}}}
        {"type":"command/done","seq":16,"time":1016,"data":{"commandId":"k","kind":"success","sourceEventSeq":13}}
        {"type":"subagent/catalog","seq":17,"time":1016,"data":{"version":1,"childId":"kid-a","childCreatedAt":1011,"mode":"unknown"}}
        {"type":"subagent/catalog","seq":18,"time":1016,"data":{"version":0,"childId":"kid-b","childCreatedAt":1012,"mode":"one-shot","label":"L"}}
    "#;
    let rows = lines(before);
    let mut expected: Vec<&str> = lines(after);
    for (at, seq) in [(0, 0), (1, 1), (3, 3), (5, 5), (6, 6), (8, 8)] {
        expected.insert(at, rows[seq]);
    }
    let children = [child("kid-b", 1012, Some((Mode::OneShot, Some("L")))), child("kid-a", 1011, None)];
    let (events, cut) = carry(UNSEEDED, before, &children).unwrap();
    assert_eq!(events, expected);
    assert_eq!(cut, 0);
}

#[test]
fn without_a_list_of_children_only_the_header_is_carried() {
    let rows = [r#"{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}"#];
    assert_eq!(step(3, UNSEEDED, &rows, None), Err("v3-to-v4 children-unknown end".to_owned()));
    assert_eq!(step(3, UNSEEDED, &[], None), Err("v3-to-v4 children-unknown end".to_owned()));
}

#[test]
fn sources_name_their_producer() {
    for (old, new) in [
        (
            r#"{"kind":"plugin","plugin":"compact","compactionId":"k"}"#,
            r#"{"kind":"compact-checkpoint","compactionId":"k"}"#,
        ),
        (r#"{"plugin":"foo","kind":"plugin"}"#, r#"{"kind":"plugin:foo"}"#),
        (r#"{"kind":"plugin","plugin":"plugin:x"}"#, r#"{"kind":"plugin:plugin:x"}"#),
        (r#"{"kind":"plugin","plugin":"\ud83d"}"#, r#"{"kind":"plugin:\ud83d"}"#),
        (r#"{"kind":"plugin","a":1,"plugin":""}"#, r#"{"kind":"plugin:","a":1}"#),
        (r#"{"kind":"plugin","plugin":"dsh-compaction-basic"}"#, r#"{"kind":"compact-basic"}"#),
        (r#"{"kind":"plugin","plugin":"tool-jobs"}"#, r#"{"kind":"tool-jobs"}"#),
        (r#"{"kind":"plugin","plugin":"@deepseek-ai/dsh-system-prompt"}"#, r#"{"kind":"runtime-context"}"#),
        (r#"{"kind":"zork","a":1}"#, r#"{"kind":"zork","a":1}"#),
        (r#"{"kind":"user","plugin":"compact"}"#, r#"{"kind":"user","plugin":"compact"}"#),
        ("5", "5"),
    ] {
        let row = |source: &str| {
            format!(
                r#"{{"type":"user/message","seq":0,"time":1,"data":{{"source":{source},"content":[]}},"surfaceOp":"append"}}"#
            )
        };
        becomes(&row(old), &row(new));
    }
}

#[test]
fn blocks_that_v3_did_not_know_are_tagged() {
    for (data, new) in [
        (
            r#""user/message","seq":0,"time":1,"data":{"content":[{"toolName":"x","type":"tool-addition"},{"type":"text"}]},"surfaceOp":"append""#,
            r#""user/message","seq":0,"time":1,"data":{"content":[{"toolName":"x","type":"plugin:tool-addition"},{"type":"text"}]},"surfaceOp":"append""#,
        ),
        (
            r#""assistant/attempt","seq":0,"time":1,"data":{"stream":[{"type":"chunk","time":1,"chunk":{"type":"block-start","index":2,"blockType":"cite"}},5,{"type":"chunk"}]}"#,
            r#""assistant/attempt","seq":0,"time":1,"data":{"stream":[{"type":"chunk","time":1,"chunk":{"type":"block-start","index":2,"blockType":"plugin:cite"}},5,{"type":"chunk"}]}"#,
        ),
        (
            r#""assistant/attempt","seq":0,"time":1,"data":{"stream":[{"type":"chunk","chunk":{"type":"block-end","block":{"type":"cite"}}}]}"#,
            r#""assistant/attempt","seq":0,"time":1,"data":{"stream":[{"type":"chunk","chunk":{"type":"block-end","block":{"type":"plugin:cite"}}}]}"#,
        ),
        (
            r#""team/message/queued","seq":0,"time":1,"data":{"message":{"content":[{"type":"plugin:x"}]}}"#,
            r#""team/message/queued","seq":0,"time":1,"data":{"message":{"content":[{"type":"plugin:plugin:x"}]}}"#,
        ),
        (
            r#""compaction/summary","seq":0,"time":1,"data":{"summary":[{"type":"a"}],"rawOutput":[{"type":"b"}]}"#,
            r#""compaction/summary","seq":0,"time":1,"data":{"summary":[{"type":"plugin:a"}],"rawOutput":[{"type":"plugin:b"}]}"#,
        ),
        // What 10.6 says of data that is no object.
        (
            r#""compaction/summary","seq":0,"time":1,"data":null"#,
            r#""compaction/summary","seq":0,"time":1,"data":null"#,
        ),
        (
            r#""team/message/queued","seq":0,"time":1,"data":{}"#,
            r#""team/message/queued","seq":0,"time":1,"data":{}"#,
        ),
    ] {
        becomes(&format!("{{\"type\":{data}}}"), &format!("{{\"type\":{new}}}"));
    }
}

#[test]
fn unknown_types_get_a_name_of_plugins() {
    for (old, new) in [
        ("x/y", "plugin:x/y"),
        ("plugin:x", "plugin:plugin:x"),
        ("tool/code-dispatch", "plugin:tool/code-dispatch"),
        ("developer/message", "plugin:developer/message"),
    ] {
        let row = |kind: &str| {
            format!(r#"{{"type":"{kind}","seq":0,"time":1,"data":null,"ignorable":true,"surfaceOp":[]}}"#)
        };
        becomes(&row(old), &row(new));
    }
    refused(r#"{"type":"job/settled","seq":0,"time":1,"data":{}}"#, "v3-to-v4 unknown-event 0");
}

#[test]
fn turns_that_a_restart_left_open_are_closed() {
    const SPLICE: &str = r#""data":{"target":"next-turn","start":0,"inserted":[{"content":[]}]}}"#;
    let rows = |splice: &str| {
        format!(
            r#"{{"type":"turn/start","seq":0,"time":1,"data":{{"turn":2}}}}
            {{"type":"agent/inbox/spliced","seq":1,"time":2,{splice}
            {{"type":"turn/start","seq":2,"time":3,"data":{{"turn":3}}}}
            {{"type":"agent/inbox/spliced","seq":3,"time":4,{splice}
            {{"type":"turn/start","seq":4,"time":5,"data":{{"turn":4}}}}
            {{"type":"x/y","seq":5,"time":6,"data":0,"ignorable":true,"sourceEventSeqs":[3]}}"#
        )
    };
    let (events, _) = carry(UNSEEDED, &rows(SPLICE), &[]).unwrap();
    assert_eq!(events.len(), 8);
    for (seq, row) in [
        (2, r#"{"type":"turn/end","seq":2,"time":3,"data":{"turn":2,"reason":{"kind":"interrupted"}}}"#),
        (5, r#"{"type":"turn/end","seq":5,"time":5,"data":{"turn":3,"reason":{"kind":"interrupted"}}}"#),
        (7, r#"{"type":"plugin:x/y","seq":7,"time":6,"data":0,"ignorable":true,"sourceEventSeqs":[3]}"#),
    ] {
        assert_eq!(events[seq], row);
    }
    for splice in [
        r#""data":{"target":"next-turn","start":0,"inserted":[]}}"#,
        r#""data":{"target":"next-step","start":0,"inserted":[{"content":[]}]}}"#,
    ] {
        assert_eq!(carry(UNSEEDED, &rows(splice), &[]).unwrap().0.len(), 6, "{splice}");
    }
}

#[test]
fn references_move_behind_an_insertion() {
    let rows = |after: &str| {
        format!(
            r#"{{"type":"turn/start","seq":0,"time":1,"data":{{"turn":1}}}}
            {{"type":"agent/inbox/spliced","seq":1,"time":2,"data":{{"target":"next-turn","inserted":[{{"content":[]}}]}}}}
            {{"type":"turn/start","seq":2,"time":3,"data":{{"turn":2}}}}
            {after}"#
        )
    };
    for (before, after) in [
        (
            r#"{"type":"compaction/prune","seq":3,"time":4,"data":{"shadowedSeqs":[0,2],"shadowedRange":{"end":2,"x":1,"start":0}}}"#,
            r#"{"type":"compaction/prune","seq":4,"time":4,"data":{"shadowedSeqs":[0,3],"shadowedRange":{"end":3,"x":1,"start":0}}}"#,
        ),
        (
            r#"{"type":"image/offload","seq":3,"time":4,"data":{"targets":[{"a":1,"seq":2,"imageIndexes":[2]}]}}"#,
            r#"{"type":"image/offload","seq":4,"time":4,"data":{"targets":[{"a":1,"seq":3,"imageIndexes":[2]}]}}"#,
        ),
        (
            r#"{"type":"user/message","seq":3,"time":4,"data":{"content":[]},"sourceEventSeqs":[[0,2]],"surfaceOp":{"endSeq":2,"op":"replace","startSeq":0}}"#,
            r#"{"type":"user/message","seq":4,"time":4,"data":{"content":[]},"sourceEventSeqs":[0,1,3],"surfaceOp":{"endSeq":3,"op":"replace","startSeq":0}}"#,
        ),
        (
            r#"{"type":"session-log-deepseek/delivery-accepted","seq":3,"time":4,"data":{"throughSeq":2,"sessionId":"s-1","sessionFormatVersion":3}}"#,
            r#"{"type":"session-log-deepseek/delivery-accepted","seq":4,"time":4,"data":{"throughSeq":2,"sessionId":"s-1","sessionFormatVersion":3}}"#,
        ),
    ] {
        let (events, _) = carry(UNSEEDED, &rows(before), &[]).unwrap();
        assert_eq!(events[4], after);
    }
    for row in [
        r#"{"type":"command/done","seq":3,"time":4,"data":{"sourceEventSeq":3}}"#,
        r#"{"type":"compaction/summary","seq":3,"time":4,"data":{"summary":[]}}"#,
        r#"{"type":"session/title","seq":3,"time":4,"data":null}"#,
    ] {
        assert_eq!(carry(UNSEEDED, &rows(row), &[]), Err("v3-to-v4 reference 3".to_owned()), "{row}");
    }
    // Nothing looks at a reference while seqs stay.
    let early = r#"{"type":"command/done","seq":0,"time":4,"data":{"sourceEventSeq":3}}"#;
    becomes(early, early);
}

#[test]
fn what_has_no_place_in_v4_is_refused() {
    let result = |message: &str| {
        format!(
            r#"{{"type":"tool/result","seq":0,"time":1,"data":{{"message":{message}}},"surfaceOp":"append"}}"#
        )
    };
    let wrapped = |wrapper: &str| {
        result(&format!(
            r#"{{"id":"t","role":"user","source":{{"kind":"tool","callId":"c"}},"content":[{wrapper}]}}"#
        ))
    };
    for (row, by) in [
        (result("5"), "message"),
        (wrapped(""), "tool-message"),
        (wrapped(r#"{"type":"tool-result","toolCallId":"d","content":[]}"#), "tool-message"),
        (wrapped(r#"{"type":"tool-result","toolCallId":"c","content":[{"type":"tool-result"}]}"#), "tool-message"),
        (wrapped(r#"{"type":"tool-result","toolCallId":"c","content":[],"isError":1}"#), "tool-message"),
        (wrapped(r#"{"type":"tool-result","toolCallId":"c"}"#), "message"),
        (
            r#"{"type":"request/header","seq":0,"time":1,"data":{"header":{"tools":[{"deferLoading":false}]}}}"#.to_owned(),
            "defer-loading",
        ),
        (r#"{"type":"tool/ptc-dispatch","seq":0,"time":1,"data":{}}"#.to_owned(), "message"),
        (r#"{"type":"assistant/attempt","seq":0,"time":1,"data":{"stream":[{"type":"chunk","chunk":{"type":"block-end"}}]}}"#.to_owned(), "content-block"),
        (
            r#"{"type":"session-log-deepseek/delivery-accepted","seq":0,"time":1,"data":{"sessionFormatVersion":4}}"#.to_owned(),
            "delivery",
        ),
    ] {
        refused(&row, &format!("v3-to-v4 {by} 0"));
    }
}

#[test]
fn the_cut_moves_with_its_marker_and_foreign_deliveries_stay_below_it() {
    let rows = |delivery_at_end: bool| {
        let delivery = |seq: u64| {
            format!(
                r#"{{"type":"session-log-deepseek/delivery-accepted","seq":{seq},"time":4,"data":{{"throughSeq":1,"sessionId":"other","sessionFormatVersion":3}}}}"#
            )
        };
        let marker = |seq: u64| {
            format!(r#"{{"type":"session/end-seed","seq":{seq},"time":5,"data":{{"inherited":true}}}}"#)
        };
        let (a, b) = if delivery_at_end { (marker(3), delivery(4)) } else { (delivery(3), marker(4)) };
        format!(
            r#"{{"type":"turn/start","seq":0,"time":1,"data":{{"turn":1}}}}
            {{"type":"agent/inbox/spliced","seq":1,"time":2,"data":{{"target":"next-turn","inserted":[{{"content":[]}}]}}}}
            {{"type":"turn/start","seq":2,"time":3,"data":{{"turn":2}}}}
            {a}
            {b}"#
        )
    };
    assert_eq!(carry(FORKED, &rows(false), &[]).unwrap().1, 5);
    assert_eq!(carry(FORKED, &rows(true), &[]), Err("v3-to-v4 delivery 4".to_owned()));
}

#[test]
fn the_catalog_is_completed_or_the_children_contradict_it() {
    let entry = |id: &str| {
        format!(
            r#"{{"type":"subagent/catalog","seq":0,"time":7,"data":{{"version":0,"childId":"{id}","childCreatedAt":5,"mode":"one-shot","label":"L"}}}}"#
        )
    };
    let one_shot = |label| Some((Mode::OneShot, label));
    for (children, good) in [
        (vec![child("a", 5, one_shot(Some("L")))], true),
        (vec![child("a", 5, None)], true),
        (vec![child("a", 6, None)], false),
        (vec![child("a", 5, one_shot(None))], false),
        (vec![child("a", 5, Some((Mode::Continuable, Some("L"))))], false),
    ] {
        let outcome = carry(UNSEEDED, &entry("a"), &children);
        assert_eq!(outcome.is_ok(), good, "{children:?}");
        if let Ok((events, _)) = outcome {
            assert_eq!(events.len(), 1);
        }
    }
    // Code units put the high half of a pair before U+FFFF, which code points would not.
    let (events, _) =
        carry(UNSEEDED, "", &[child("\u{ffff}", 5, None), child("\u{10000}", 5, None)]).unwrap();
    assert_eq!(
        events[0],
        "{\"type\":\"subagent/catalog\",\"seq\":0,\"time\":1000,\"data\":{\"version\":1,\"childId\":\"\u{10000}\",\"childCreatedAt\":5,\"mode\":\"unknown\"}}"
    );
    // What was inherited is the parent's catalog.
    let rows = format!(
        "{}\n{}",
        entry("a"),
        r#"{"type":"session/end-seed","seq":1,"time":5,"data":{"inherited":true}}"#
    );
    assert_eq!(carry(FORKED, &rows, &[child("a", 6, None)]).unwrap().0.len(), 3);
}
