use super::*;
use crate::testing::{header, migrate};

fn v2(header: &Header, kind: SourceKind, rows: &str) -> Result<(String, u64), Refusal> {
    migrate(header, vec![Box::new(V1ToV2::new(kind))], rows)
}

/// The rows of `text`, whose lines may be indented. A row without seq gets that of its place, and a time after it.
fn rows(text: &str) -> String {
    let row = |(seq, line): (u64, &str)| {
        let line = line.trim();
        if line.contains("\"seq") { format!("{line}\n") } else { at(line, seq, 2000 + seq) + "\n" }
    };
    (0..).zip(text.lines()).map(row).collect()
}

/// A row with this seq and time.
fn at(row: &str, seq: u64, time: u64) -> String {
    row.replacen(r#","data""#, &format!(r#","seq":{seq},"time":{time},"data""#), 1)
}

#[track_caller]
fn check(before: &str, after: &str) {
    seeded("", before, after, 0);
}

/// With members of the header, and the cut in the target.
#[track_caller]
fn seeded(members: &str, before: &str, after: &str, cut: u64) {
    match v2(&header(1, members), SourceKind::Decoded, &rows(before)) {
        Ok(got) => assert_eq!(got, (rows(after), cut)),
        Err(refusal) => panic!("{refusal} at {}", refusal.at),
    }
}

#[track_caller]
fn refused(members: &str, before: &str, code: &str, seq: u64) {
    let refusal = v2(&header(1, members), SourceKind::Decoded, &rows(before)).unwrap_err();
    assert_eq!((refusal.edge, refusal.code), ("v1-to-v2", code), "{refusal}");
    assert_eq!(refusal.at.seq, Some(dshlog_codec::Seq(seq)), "{refusal}");
}

const CHUNK: &str = r#"{"type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":"a"}}}"#;
const FINISH: &str = r#"{"type":"assistant/chunk","data":{"turn":1,"step":1,"chunk":{"type":"finish","reason":{"kind":"stop"}}}}"#;
const TODO: &str = r#"{"type":"todo/write","data":{"todos":[]}}"#;
const STEP_END: &str = r#"{"type":"step/end","data":{"turn":1,"step":1}}"#;
const END_SEED: &str = r#"{"type":"session/end-seed","data":{}}"#;

fn message(step: u64, sources: &str, stream: &str) -> String {
    format!(
        r#"{{"type":"assistant/message","data":{{"turn":1,"step":{step},"message":{{"id":"a","role":"assistant","content":[],"source":{{"kind":"model","provider":"p","model":"m"}}}}{stream}}}{sources}}}"#
    )
}

/// Rows as parts of a text.
fn lines(rows: &[&str]) -> String {
    rows.join("\n")
}

#[test]
fn the_example_of_the_specification() {
    // 9.9
    check(
        r#"{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}
        {"type":"step/start","seq":1,"time":2,"data":{"turn":1,"step":1}}
        {"type":"user/message","seq":2,"time":3,"data":{"id":"u1","role":"user","content":[{"type":"text","text":"hi"}],"source":{"kind":"user"}},"surfaceOp":"append"}
        {"type":"text-chunks","seq0":3,"time0":10,"data":{"turn":1,"step":1,"index":0,"dt":[1,1],"texts":["a","b","c"]}}
        {"type":"assistant/message","seq":6,"time":20,"data":{"turn":1,"step":1,"message":{"id":"a","role":"assistant","content":[{"type":"text","text":"abc"}],"source":{"kind":"model","provider":"p","model":"m"}}},"surfaceOp":"append","sourceEventSeqs":[3,4,5]}
        {"type":"step/end","seq":7,"time":21,"data":{"turn":1,"step":1}}
        {"type":"turn/end","seq":8,"time":22,"data":{"turn":1,"reason":{"kind":"completed"}}}
        {"type":"compaction/start","seq":9,"time":23,"data":{"compactionId":"K","turn":null}}
        {"type":"compaction/summary","seq":10,"time":24,"data":{"compactionId":"K","summary":[{"type":"text","text":"S"}],"shadowedRange":{"start":2,"end":6},"shadowedSeqs":[2,6],"shadowedTokenCount":7,"provider":"p","model":"m"}}
        {"type":"user/message","seq":11,"time":25,"data":{"id":"k","role":"user","content":[{"type":"text","text":"S"}],"source":{"kind":"plugin","plugin":"compact","compactionId":"K"}},"surfaceOp":{"op":"replace","start":2,"end":6},"sourceEventSeqs":[2,6]}
        {"type":"compaction/end","seq":12,"time":26,"data":{"compactionId":"K","turn":null}}"#,
        r#"{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}
        {"type":"step/start","seq":1,"time":2,"data":{"turn":1,"step":1}}
        {"type":"user/message","seq":2,"time":3,"data":{"id":"u1","role":"user","content":[{"type":"text","text":"hi"}],"source":{"kind":"user"}},"surfaceOp":"append"}
        {"type":"assistant/message","seq":3,"time":20,"data":{"turn":1,"step":1,"message":{"id":"a","role":"assistant","content":[{"type":"text","text":"abc"}],"source":{"kind":"model","provider":"p","model":"m"}},"stream":[{"type":"text-chunks","time0":10,"index":0,"dt":[1,1],"texts":["a","b","c"]}]},"surfaceOp":"append"}
        {"type":"step/end","seq":4,"time":21,"data":{"turn":1,"step":1}}
        {"type":"turn/end","seq":5,"time":22,"data":{"turn":1,"reason":{"kind":"completed"}}}
        {"type":"compaction/start","seq":6,"time":23,"data":{"compactionId":"K","turn":null}}
        {"type":"compaction/summary","seq":7,"time":24,"data":{"compactionId":"K","summary":[{"type":"text","text":"S"}],"shadowedRange":{"start":2,"end":3},"shadowedSeqs":[2,3],"shadowedTokenCount":7,"provider":"p","model":"m"}}
        {"type":"user/message","seq":8,"time":25,"data":{"id":"k","role":"user","content":[{"type":"text","text":"S"}],"source":{"kind":"plugin","plugin":"compact","compactionId":"K"}},"sourceEventSeqs":[2,3],"surfaceOp":{"op":"replace","start":2,"end":3}}
        {"type":"compaction/end","seq":9,"time":26,"data":{"compactionId":"K","turn":null}}"#,
    );
}

#[test]
fn deltas_merge_whether_packed_or_not() {
    // 9.4
    check(
        r#"{"type":"text-chunks","seq0":0,"time0":100,"data":{"turn":1,"step":1,"index":0,"dt":[3],"texts":["a","b"]}}
        {"type":"assistant/chunk","seq":2,"time":110,"data":{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":"c"}}}
        {"type":"text-chunks","seq0":3,"time0":120,"data":{"turn":1,"step":1,"index":0,"dt":[],"texts":["d"]}}"#,
        r#"{"type":"assistant/attempt","seq":0,"time":120,"data":{"turn":1,"step":1,"stream":[{"type":"text-chunks","time0":100,"index":0,"dt":[3,7,10],"texts":["a","b","c","d"]}]}}"#,
    );
}

#[test]
fn a_message_claims_its_attempt() {
    // 9.5, the cases in their order
    let text = r#"{"type":"text-chunks","time0":2000,"index":0,"dt":[],"texts":["a"]}"#;
    let attempt = |seq: u64, time: u64| {
        format!(
            r#"{{"type":"assistant/attempt","seq":{seq},"time":{time},"data":{{"turn":1,"step":1,"stream":[{text}]}}}}"#
        )
    };
    let empty = |step| at(&message(step, "", r#","stream":[]"#), 1, 2001);
    let other = message(2, r#","sourceEventSeqs":[7]"#, "");
    check(&lines(&[CHUNK, &other]), &lines(&[&attempt(0, 2000), &empty(2)]));
    refused("", &lines(&[CHUNK, &message(1, "", "")]), "message-sources", 1);
    check(&message(1, "", ""), &message(1, "", r#","stream":[]"#));
    let nothing = message(1, r#","sourceEventSeqs":[]"#, "");
    check(&lines(&[CHUNK, &nothing]), &lines(&[&attempt(0, 2000), &empty(1)]));
    refused("", &lines(&[TODO, &message(1, r#","sourceEventSeqs":[0]"#, "")]), "message-sources", 1);
    let two = |sources: &str| lines(&[CHUNK, FINISH, TODO, &message(1, sources, "")]);
    for sources in ["[0]", "[1]", "[1,0]", "[0,1,2]", "[0,0]"] {
        refused("", &two(&format!(r#","sourceEventSeqs":{sources}"#)), "message-sources", 3);
    }
    // The tail goes out before the message.
    let stream = format!(
        r#","stream":[{text},{{"type":"chunk","time":2001,"chunk":{{"type":"finish","reason":{{"kind":"stop"}}}}}}]"#
    );
    let after = lines(&[&at(TODO, 0, 2002), &at(&message(1, "", &stream), 1, 2003)]);
    check(&two(r#","sourceEventSeqs":[[0,1]]"#), &after);
    check(&two(r#","sourceEventSeqs":[0,1]"#), &after);
    let across = lines(&[CHUNK, &message(1, r#","sourceEventSeqs":[0]"#, "")]);
    refused(r#","seedLength":1"#, &across, "attempt-across-cut", 1);
}

#[test]
fn where_held_events_go() {
    // 9.2, traps 11 and 15
    let attempt = |seq: u64, time: u64, stream: &str| {
        format!(
            r#"{{"type":"assistant/attempt","seq":{seq},"time":{time},"data":{{"turn":1,"step":1,"stream":[{stream}]}}}}"#
        )
    };
    // Between two chunks: before the attempt. Behind the last one: behind it.
    check(
        &lines(&[CHUNK, TODO, CHUNK, TODO, STEP_END]),
        &lines(&[
            &at(TODO, 0, 2001),
            &attempt(1, 2002, r#"{"type":"text-chunks","time0":2000,"index":0,"dt":[2],"texts":["a","a"]}"#),
            &at(TODO, 2, 2003),
            &at(STEP_END, 3, 2004),
        ]),
    );
    // Only a new chunk closes a finished attempt.
    let finish = |time: u64| {
        format!(r#"{{"type":"chunk","time":{time},"chunk":{{"type":"finish","reason":{{"kind":"stop"}}}}}}"#)
    };
    check(
        &lines(&[FINISH, TODO, FINISH]),
        &lines(&[&attempt(0, 2000, &finish(2000)), &at(TODO, 1, 2001), &attempt(2, 2002, &finish(2002))]),
    );
}

#[test]
fn chunks_are_checked() {
    // 9.2, 9.3
    let chunk =
        |chunk: &str| format!(r#"{{"type":"assistant/chunk","data":{{"turn":1,"step":1,"chunk":{chunk}}}}}"#);
    for bad in [
        "5",
        "{}",
        r#"{"type":"zz"}"#,
        r#"{"type":"text-delta","index":-1,"text":""}"#,
        r#"{"type":"text-delta","index":0}"#,
        r#"{"type":"usage","usage":{"x":-0}}"#,
        r#"{"type":"tool-call-delta","index":0,"id":"c","name":null,"argumentsDelta":""}"#,
    ] {
        refused("", &chunk(bad), "chunk", 0);
    }
    let with = |rest: &str| {
        CHUNK.replace(r#"{"type":"assistant/chunk""#, &format!(r#"{{"type":"assistant/chunk"{rest}"#))
    };
    refused("", &with(r#","stray":1"#), "chunk", 0);
    refused("", &with(r#","ignorable":false"#), "chunk", 0);
    refused("", &with(r#","seq":0,"time":1.5"#), "chunk", 0);
    refused("", r#"{"type":"turn/start","seq":0,"time":-0,"data":{"turn":1}}"#, "envelope", 0);
    check(
        r#"{"type":"assistant/chunk","seq":0,"time":-0,"data":{"turn":1,"step":1,"chunk":{"type":"usage","usage":{}}}}"#,
        r#"{"type":"assistant/attempt","seq":0,"time":0,"data":{"turn":1,"step":1,"stream":[{"type":"chunk","time":0,"chunk":{"type":"usage","usage":{}}}]}}"#,
    );
    check(
        &lines(&[
            r#"{"type":"assistant/chunk","ignorable":true,"surfaceOp":"x","seq":0,"time":-5,"data":{"step":1,"chunk":{"type":"usage","2":1,"1":2},"zz":1}}"#,
            &chunk(r#"{"type":"tool-call-delta","index":0,"id":"","argumentsDelta":"x","zz":1}"#),
        ]),
        &lines(&[
            r#"{"type":"assistant/attempt","seq":0,"time":-5,"data":{"step":1,"stream":[{"type":"chunk","time":-5,"chunk":{"1":2,"2":1,"type":"usage"}}]}}"#,
            r#"{"type":"assistant/attempt","seq":1,"time":2001,"data":{"turn":1,"step":1,"stream":[{"type":"chunk","time":2001,"chunk":{"type":"tool-call-delta","index":0,"id":"","argumentsDelta":"x","zz":1}}]}}"#,
        ]),
    );
}

#[test]
fn an_interrupted_turn_gets_its_end() {
    // 9.5
    let spliced = r#"{"type":"agent/inbox/spliced","data":{"target":"next-turn","start":0,"inserted":[{"id":"u","role":"user","content":[],"source":{"kind":"user"}}]}}"#;
    let turn = |turn: u64| format!(r#"{{"type":"turn/start","data":{{"turn":{turn}}}}}"#);
    check(
        &lines(&[&turn(1), spliced, &turn(2)]),
        &lines(&[
            &turn(1),
            spliced,
            r#"{"type":"turn/end","seq":2,"time":2002,"data":{"turn":1,"reason":{"kind":"interrupted"}}}"#,
            r#"{"type":"turn/start","seq":3,"time":2002,"data":{"turn":2}}"#,
        ]),
    );
    refused("", &lines(&[&turn(1), spliced, &turn(3)]), "turn-in-turn", 2);
    refused("", &lines(&[&turn(1), &turn(2)]), "turn-in-turn", 1);
    refused("", &lines(&[&turn(1), spliced, TODO, &turn(2)]), "turn-in-turn", 3);
    refused("", &lines(&[&turn(1), spliced, CHUNK, &turn(2)]), "turn-in-turn", 3);
    let next_step = spliced.replace("next-turn", "next-step");
    refused("", &lines(&[&turn(1), &next_step, &turn(2)]), "turn-in-turn", 2);
    let step = r#"{"type":"step/start","data":{"turn":1,"step":1}}"#;
    refused("", &lines(&[&turn(1), step, spliced, &turn(2)]), "turn-in-turn", 3);
}

#[test]
fn references_move() {
    // 9.6, traps 13, 17 and 18
    let user = |rest: &str| {
        format!(
            r#"{{"type":"user/message","data":{{"id":"u","role":"user","content":[],"source":{{"kind":"user"}}}}{rest}}}"#
        )
    };
    // Two chunks in front that one event took the place of: everything moves down by one.
    let front = [
        r#"{"type":"text-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[1],"texts":["a","b"]}}"#,
        r#"{"type":"step/end","seq":2,"time":9,"data":{"turn":1,"step":1}}"#,
    ];
    let moved = [
        r#"{"type":"assistant/attempt","seq":0,"time":2,"data":{"turn":1,"step":1,"stream":[{"type":"text-chunks","time0":1,"index":0,"dt":[1],"texts":["a","b"]}]}}"#,
        r#"{"type":"step/end","seq":1,"time":9,"data":{"turn":1,"step":1}}"#,
    ];
    let check_last = |before: &str, after: &str| {
        check(
            &lines(&[front[0], front[1], &at(before, 3, 9)]),
            &lines(&[moved[0], moved[1], &at(after, 2, 9)]),
        );
    };
    let dangling =
        |before: &str| refused("", &lines(&[front[0], front[1], &at(before, 3, 9)]), "lost-reference", 3);
    check_last(
        &user(r#","surfaceOp":{"x":1,"start":2,"end":3,"op":"zz"},"sourceEventSeqs":[2,3]"#),
        &user(r#","sourceEventSeqs":[1,2],"surfaceOp":{"op":"replace","start":1,"end":2}"#),
    );
    dangling(&user(r#","sourceEventSeqs":[1]"#));
    dangling(&user(r#","sourceEventSeqs":[4]"#));
    dangling(&user(r#","surfaceOp":"replace""#));
    dangling(&user(r#","surfaceOp":null"#));
    dangling(&user(r#","surfaceOp":{"start":2,"end":0}"#));
    let done = |seq: u64| {
        format!(
            r#"{{"type":"command/done","data":{{"commandId":"c","kind":"success","sourceEventSeq":{seq}}}}}"#
        )
    };
    check_last(&done(2), &done(1));
    dangling(&done(0));
    let title = |seqs: &str| {
        format!(
            r#"{{"type":"session/title","data":{{"title":"t","messageSeqs":{seqs},"source":{{"kind":"user"}}}}}}"#
        )
    };
    check_last(&title("[2]"), &title("[1]"));
    dangling(&title("[2,0]"));
    let prune = |seq: u64| {
        format!(
            r#"{{"type":"compaction/prune","data":{{"shadowedRange":{{"start":{seq},"end":{seq}}},"shadowedSeqs":[{seq}],"shadowedTokenCount":0}}}}"#
        )
    };
    check_last(&prune(2), &prune(1));
    dangling(&prune(1));
    let delivered = r#"{"type":"session-log-deepseek/delivery-accepted","data":{"sessionId":"s1","throughSeq":2,"sessionFormatVersion":1}}"#;
    check_last(delivered, delivered);
}

#[test]
fn a_legacy_goal_message_becomes_two_events() {
    // 9.7
    let change = r#"{"kind":"goal/change","version":1,"operation":"clear","cleared":{"id":"G","revision":2},"clearedAt":9}"#;
    let message = |source: &str| {
        format!(
            r#"{{"type":"user/message","data":{{"id":"g","role":"user","content":[{{"type":"text","text":"<goal_state>{{\"cleared\":{{\"id\":\"G\",\"revision\":2}},\"clearedAt\":9}}</goal_state>"}}],"source":{source}}}"#
        )
    };
    let legacy =
        message(&format!(r#"{{"kind":"goal","goalId":"G","revision":2,"round":0,"change":{change}}}"#));
    let plain = message(r#"{"kind":"plugin","plugin":"goal"}"#);
    let goal = format!(r#"{{"type":"goal/change","data":{change}}}"#);
    check(
        &lines(&[TODO, &format!(r#"{legacy},"surfaceOp":"append","sourceEventSeqs":[0]}}"#)]),
        &lines(&[
            TODO,
            &goal,
            &at(&format!(r#"{plain},"sourceEventSeqs":[0],"surfaceOp":"append"}}"#), 2, 2001),
        ]),
    );
    // It overtakes an attempt and what is held behind it.
    check(
        &lines(&[CHUNK, TODO, &format!("{legacy}}}"), STEP_END]),
        &lines(&[
            &at(&goal, 0, 2002),
            &at(&format!("{plain}}}"), 1, 2002),
            r#"{"type":"assistant/attempt","seq":2,"time":2000,"data":{"turn":1,"step":1,"stream":[{"type":"text-chunks","time0":2000,"index":0,"dt":[],"texts":["a"]}]}}"#,
            &at(TODO, 3, 2001),
            &at(STEP_END, 4, 2003),
        ]),
    );
}

#[test]
fn the_cut() {
    // 9.8
    let marker = |seq, time| at(r#"{"type":"session/end-seed","data":{"inherited":true}}"#, seq, time);
    let one = r#","seedLength":1"#;
    seeded(one, &lines(&[TODO, END_SEED, TODO]), &lines(&[TODO, &marker(1, 2001), TODO]), 1);
    seeded(one, &lines(&[TODO, TODO]), &lines(&[TODO, &marker(1, 2001), &at(TODO, 2, 2001)]), 1);
    seeded(one, TODO, &lines(&[TODO, &marker(1, 2000)]), 1);
    seeded(r#","seedLength":0"#, "", &marker(0, 1000), 0);
    seeded(
        one,
        &lines(&[TODO, TODO, END_SEED]),
        &lines(&[TODO, &marker(1, 2001), &at(TODO, 2, 2001), &at(END_SEED, 3, 2002)]),
        1,
    );
    let attempt = r#"{"type":"assistant/attempt","seq":2,"time":2001,"data":{"turn":1,"step":1,"stream":[{"type":"text-chunks","time0":2001,"index":0,"dt":[],"texts":["a"]}]}}"#;
    seeded(one, &lines(&[TODO, CHUNK]), &lines(&[TODO, &marker(1, 2001), attempt]), 1);
    check(END_SEED, END_SEED);
    refused(one, &lines(&[CHUNK, CHUNK]), "attempt-across-cut", 1);
    let run = |seq: u64, texts: &str, dt: &str| {
        format!(
            r#"{{"type":"text-chunks","seq0":{seq},"time0":5,"data":{{"turn":1,"step":1,"index":0,"dt":{dt},"texts":{texts}}}}}"#
        )
    };
    refused(one, &run(0, r#"["a","b"]"#, "[1]"), "attempt-across-cut", 0);
    // Two runs on both sides of the cut are one attempt, which is not inherited.
    seeded(
        one,
        &lines(&[&run(0, r#"["a"]"#, "[]"), &run(1, r#"["b"]"#, "[]")]),
        &lines(&[
            &marker(0, 5),
            r#"{"type":"assistant/attempt","seq":1,"time":5,"data":{"turn":1,"step":1,"stream":[{"type":"text-chunks","time0":5,"index":0,"dt":[0],"texts":["a","b"]}]}}"#,
        ]),
        0,
    );
}

#[test]
fn payloads_are_checked_when_they_come_from_a_file() {
    // 9.2
    let bad = r#"{"type":"todo/write","seq":0,"time":0,"data":{"todos":[5]}}"#;
    let from = |kind, row: &str| v2(&header(1, ""), kind, row).map_err(|refusal| refusal.code).map(|_| ());
    assert_eq!(from(SourceKind::Decoded, bad), Err("payload"));
    assert_eq!(from(SourceKind::Transformed, bad), Ok(()));
    for kind in [SourceKind::Decoded, SourceKind::Transformed] {
        let unknown = r#"{"type":"zz","seq":0,"time":0,"data":{},"ignorable":true}"#;
        assert_eq!(from(kind, unknown), Err("unknown-event"));
    }
    let foreign = r#"{"type":"session-log-deepseek/delivery-accepted","seq":1,"time":0,"data":{"sessionId":"p","throughSeq":0,"sessionFormatVersion":1}}"#;
    assert_eq!(from(SourceKind::Transformed, foreign), Err("delivery-owner"));
    let unowned = foreign.replace(r#","sessionFormatVersion":1"#, "");
    assert_eq!(from(SourceKind::Transformed, &unowned), Ok(()));
}

#[test]
fn one_log_through_both_steps() {
    // Section 12, whose V0 rows are read from there. The official reader has these rows at V2.
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/spec/events-v0-v3.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("\n## 12. ").unwrap();
    let before = section.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let after = r#"{"type":"turn/start","seq":0,"time":100,"data":{"turn":1}}
{"type":"step/start","seq":1,"time":101,"data":{"turn":1,"step":1}}
{"type":"user/message","seq":2,"time":102,"data":{"content":[{"type":"text","text":"hi"}],"source":{"kind":"user"},"id":"legacy-message:s1:2","role":"user"},"surfaceOp":"append"}
{"type":"request/header","seq":3,"time":103,"data":{"header":{"config":{"provider":"p","model":"m"},"system":"SYS","tools":[]},"reason":"initial"}}
{"type":"assistant/message","seq":4,"time":114,"data":{"turn":1,"step":1,"message":{"id":"legacy-message:s1:7","role":"assistant","content":[{"type":"text","text":"ok"}],"source":{"provider":"p","model":"m","kind":"model"}},"stream":[{"type":"text-chunks","time0":110,"index":0,"dt":[2],"texts":["o","k"]},{"type":"chunk","time":113,"chunk":{"type":"finish","reason":{"kind":"stop"}}}]},"surfaceOp":"append"}
{"type":"step/end","seq":5,"time":115,"data":{"turn":1,"step":1}}
{"type":"turn/end","seq":6,"time":116,"data":{"turn":1,"reason":{"kind":"completed"}}}
{"type":"compaction/start","seq":7,"time":117,"data":{"turn":null,"compactionId":"legacy-compaction:s1:10"}}
{"type":"compaction/summary","seq":8,"time":118,"data":{"summary":[{"type":"text","text":"S"}],"shadowedRange":{"start":2,"end":4},"shadowedSeqs":[2,4],"shadowedTokenCount":3,"provider":"p","model":"m","compactionId":"legacy-compaction:s1:10"}}
{"type":"user/message","seq":9,"time":119,"data":{"content":[{"type":"text","text":"S"}],"source":{"kind":"plugin","plugin":"compact","compactionId":"legacy-compaction:s1:10"},"id":"legacy-message:s1:12","role":"user"},"sourceEventSeqs":[2,4],"surfaceOp":{"op":"replace","start":2,"end":4}}
{"type":"compaction/end","seq":10,"time":120,"data":{"turn":null,"compactionId":"legacy-compaction:s1:10"}}
{"type":"session/title","seq":11,"time":121,"data":{"title":"hi","messageSeqs":[2],"source":{"kind":"fallback"}}}
"#;
    let edges: Vec<Box<dyn Edge>> =
        vec![Box::new(crate::V0ToV1::new()), Box::new(V1ToV2::new(SourceKind::Transformed))];
    assert_eq!(migrate(&header(0, ""), edges, before).unwrap(), (after.to_owned(), 0));
}
