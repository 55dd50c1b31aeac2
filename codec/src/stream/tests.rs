//! The answers in the tables are those of dsh 0.2.1-rc.2, which opened a log of V3 with each of these events for writing.

use std::fmt::Write as _;

use super::*;
use crate::at::Place;
use crate::check::Rule;
use crate::error::{Error, ErrorKind};
use crate::event::Event;
use crate::json::{Doc, print};
use crate::pack::{expand, records};

/// Each row: what disagrees, or `stream` when that cannot be replayed, or `ok`; the stored content, or `attempt`; other
/// members of the event; the records. Of the short forms [`record`] and [`blocks`] tell.
#[track_caller]
fn table(rows: &str) {
    for row in rows.lines().filter(|row| !row.is_empty()) {
        let [want, content, members, stream] = row.split(" | ").collect::<Vec<_>>().try_into().unwrap();
        let pointer = match want.trim() {
            "ok" => None,
            "content" => Some("/data/message/content"),
            "usage" => Some("/data/usage"),
            "replay" => Some("/data/message/source/replayState"),
            "stream" => Some("/data/stream"),
            other => panic!("{other}"),
        };
        let found = judged(&event(content, members, stream));
        let found = found.as_ref().err().map(|error| error.position().pointer.as_deref().unwrap());
        match (found, pointer) {
            (None, None) => {}
            (Some(found), Some(pointer)) if found.starts_with(pointer) => {}
            _ => panic!("{found:?}: {row}"),
        }
    }
}

fn judged(row: &str) -> Result<(), Error> {
    let doc = Doc::parse(row).unwrap();
    check_stream(&Event::from_row(doc.root(), Place::default()))
}

fn event(content: &str, members: &str, records: &str) -> String {
    let (kind, content) = if content == "attempt" { ("attempt", "0") } else { ("message", content) };
    let (mut data, mut source) = (String::new(), String::new());
    for member in members.split(" ; ").filter(|member| *member != "-") {
        match member.split_once(' ').unwrap() {
            ("replay", value) => write!(source, r#""replayState":{value}"#).unwrap(),
            (name, value) => write!(data, r#""{name}":{value},"#).unwrap(),
        }
    }
    let (content, stream) = (blocks(content), stream(records));
    let message = format!(r#"{{"content":{content},"source":{{{source}}}}}"#);
    format!(
        r#"{{"type":"assistant/{kind}","seq":7,"time":1,"data":{{"message":{message},{data}"stream":{stream}}}}}"#
    )
}

fn stream(records: &str) -> String {
    let records: Vec<_> = records.split(" ; ").filter(|text| *text != "-").map(record).collect();
    format!("[{}]", records.join(","))
}

/// A record as it is, or a chunk that is stored whole.
fn record(short: &str) -> String {
    let (word, rest) = short.split_once(' ').unwrap_or((short, ""));
    let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
    let chunk = match word {
        "chunk" => rest.to_owned(),
        "text" | "reasoning" => format!(r#"{{"type":"{word}-delta","index":{first},"text":{second}}}"#),
        "call" => format!(r#"{{"type":"tool-call-delta","index":{first},{second}}}"#),
        "start" => format!(r#"{{"type":"block-start","index":{first},"blockType":"{second}"}}"#),
        "end" => format!(r#"{{"type":"block-end","index":{first},"block":{}}}"#, blocks(second)),
        "usage" => format!(r#"{{"type":"usage","usage":{rest}}}"#),
        "finish" if second.is_empty() => format!(r#"{{"type":"finish","reason":{{"kind":"{first}"}}}}"#),
        "finish" => format!(r#"{{"type":"finish","reason":{{"kind":"{first}"}},"replayState":{second}}}"#),
        _ => return short.to_owned(),
    };
    format!(r#"{{"type":"chunk","time":1,"chunk":{chunk}}}"#)
}

/// Two blocks have names.
fn blocks(text: &str) -> String {
    text.replace("HE", r#"{"type":"text","text":"He"}"#)
        .replace("CALL", r#"{"type":"tool-call","id":"c","name":"f","arguments":"{}"}"#)
}

#[test]
fn an_answer_is_what_its_deltas_add_up_to() {
    table(
        r#"
ok      | [] | - | -
ok      | [HE] | replay {"x":1} ; usage {"a":1} | -
ok      | [HE] | - | text 0 "H" ; text 0 "e"
content | [{"type":"text","text":"Hf"}] | - | text 0 "H" ; text 0 "e"
ok      | [{"text":"He","type":"text"}] | - | text 0 "He"
content | [{"type":"text","text":"He","z":1}] | - | text 0 "He"
ok      | [{"type":"text","text":"\u0048e"}] | - | text 0 "He"
content | [] | - | text 0 "He"
content | [HE,HE] | - | text 0 "He"
"#,
    );
}

#[test]
fn halves_of_a_character_join() {
    table(
        r#"
ok      | [{"type":"text","text":"😀"}] | - | {"type":"text-chunks","time0":1,"index":0,"dt":[0],"texts":["\ud83d","\ude00"]}
ok      | [{"type":"text","text":"\ud83d"}] | - | text 0 "\ud83d"
"#,
    );
}

#[test]
fn blocks_stand_in_the_order_of_their_first_chunk() {
    table(
        r#"
ok      | [{"type":"reasoning","text":"r"},{"type":"text","text":"t"}] | - | reasoning 5 "r" ; text 0 "t"
content | [{"type":"text","text":"t"},{"type":"reasoning","text":"r"}] | - | reasoning 5 "r" ; text 0 "t"
ok      | [{"type":"reasoning","text":"ab"}] | - | start 0 reasoning ; text 0 "a" ; text 0 "b"
ok      | [{"type":"text","text":""}] | - | start 0 text
ok      | [{"type":"text","text":"a"}] | - | start 0 text ; text 0 "a" ; start 0 reasoning
"#,
    );
}

#[test]
fn an_index_is_told_apart_as_in_a_map_of_javascript() {
    table(
        r#"
ok      | [{"type":"text","text":"a"},{"type":"text","text":"b"}] | - | text 0 "a" ; chunk {"type":"text-delta","index":"0","text":"b"}
ok      | [{"type":"text","text":"ab"}] | - | chunk {"type":"text-delta","text":"a"} ; chunk {"type":"text-delta","text":"b"}
content | [{"type":"text","text":"ab"}] | - | chunk {"type":"text-delta","index":null,"text":"a"} ; chunk {"type":"text-delta","text":"b"}
ok      | [{"type":"text","text":"a"},{"type":"text","text":"b"}] | - | chunk {"type":"text-delta","index":[],"text":"a"} ; chunk {"type":"text-delta","index":[],"text":"b"}
ok      | [{"type":"text","text":"ab"}] | - | text 0 "a" ; chunk {"type":"text-delta","index":0.0,"text":"b"}
"#,
    );
}

#[test]
fn a_block_end_fixes_its_block() {
    table(
        r#"
ok      | [HE] | - | text 0 "xx" ; end 0 HE
ok      | [HE] | - | end 0 HE ; text 0 "more" ; end 0 {"type":"text","text":"other"}
content | [HE] | - | text 0 "He" ; end 0 {"type":"image","b":[1,{"x":null}]}
ok      | [{"b":[1,{"x":null}],"type":"image"}] | - | text 0 "He" ; end 0 {"type":"image","b":[1.0,{"x":null}]}
content | [{"type":"image","b":[{"x":null},1]}] | - | end 0 {"type":"image","b":[1,{"x":null}]}
ok      | [{"type":"image","b":2}] | - | end 0 {"type":"image","b":1,"b":2}
stream  | [] | - | start 0 image
stream  | [] | interrupted true | start 0 image
"#,
    );
}

#[test]
fn tool_calls_take_the_last_id_and_the_last_name() {
    table(
        r#"
ok      | [{"type":"tool-call","id":"c","name":"","arguments":"{}"}] | - | call 3 "id":"c","name":0,"argumentsDelta":"{}"
ok      | [{"type":"tool-call","id":"call-0","name":"","arguments":""}] | - | start 0 tool-call ; text 0 "x"
content | [{"type":"tool-call","id":"call-0","name":"","arguments":"x"}] | - | start 0 tool-call ; text 0 "x"
ok      | [{"type":"tool-call","id":"call-1e+21","name":"","arguments":""}] | - | start 1e21 tool-call
stream  | [] | interrupted true | start {"toString":1} tool-call
ok      | attempt | - | start {"toString":1} tool-call
ok      | [CALL] | - | call 3 "id":"c","name":"f","argumentsDelta":"{}"
ok      | [{"type":"tool-call","id":"c","name":"","arguments":"{}{}"}] | - | {"type":"tool-call-chunks","time0":1,"index":3,"dt":[0],"id":"c","args":["{}","{}"]}
ok      | [{"type":"tool-call","id":"call-3","name":"","arguments":"{}"}] | - | call 3 "argumentsDelta":"{}"
ok      | [{"type":"tool-call","id":"call-3","name":"","arguments":"{}"}] | - | call 3 "id":null,"name":null,"argumentsDelta":"{}"
ok      | [{"type":"tool-call","id":"call-3","name":"","arguments":""}] | - | start 3 tool-call
ok      | [{"type":"tool-call","id":"call-undefined","name":"","arguments":""}] | - | chunk {"type":"block-start","blockType":"tool-call"}
ok      | [{"type":"tool-call","id":"call-[object Object]","name":"","arguments":""}] | - | chunk {"type":"block-start","index":{},"blockType":"tool-call"}
content | [{"type":"tool-call","id":"call-3","name":"","arguments":"{}"}] | - | call 3 "id":"","argumentsDelta":"{}"
ok      | [CALL] | - | call 3 "id":"a","name":"f","argumentsDelta":"{}" ; call 3 "id":"c","name":"","argumentsDelta":""
ok      | [{"type":"tool-call","id":"call-3","name":"f","arguments":"{}{}"}] | - | call 3 "id":"c","name":"f","argumentsDelta":"{}" ; call 3 "id":null,"argumentsDelta":"{}"
ok      | [{"type":"tool-call","id":"c","name":{"n":1},"arguments":"{}"}] | - | call 3 "id":"c","name":{"n":1},"argumentsDelta":"{}"
ok      | [{"type":"tool-call","id":"c","name":"","arguments":"undefined"}] | - | call 0 "id":"c"
ok      | [{"type":"tool-call","id":"c","name":"f","arguments":"12"}] | - | call 0 "id":"c","name":"f","argumentsDelta":12
"#,
    );
}

#[test]
fn what_is_no_string_is_made_one() {
    table(
        r#"
ok      | [{"type":"text","text":"null"}] | - | text 0 null
ok      | [{"type":"text","text":"1e+21"}] | - | text 0 1e21
ok      | [{"type":"text","text":"1.5"}] | - | text 0 1.50
ok      | [{"type":"text","text":"true"}] | - | text 0 true
ok      | [{"type":"text","text":"1,2,,x,[object Object]"}] | - | text 0 [1,[2,null,"x"],{}]
ok      | [{"type":"text","text":"[object Object]"}] | - | text 0 {"valueOf":1}
ok      | [{"type":"text","text":""}] | - | text 0 []
ok      | [{"type":"text","text":"undefined"}] | - | chunk {"type":"text-delta","index":0}
stream  | [{"type":"text","text":"[object Object]"}] | - | text 0 {"toString":1}
stream  | attempt | - | text 0 [[{"toString":1}]]
ok      | attempt | - | end 0 HE ; text 0 {"toString":1}
"#,
    );
}

#[test]
fn the_limit_of_tokens_drops_tool_calls() {
    table(
        r#"
ok      | [HE] | - | text 0 "He" ; end 1 CALL ; finish max-tokens
content | [HE,CALL] | - | text 0 "He" ; end 1 CALL ; finish max-tokens
ok      | [HE,CALL] | - | text 0 "He" ; end 1 CALL ; finish tool-calls
ok      | [HE] | - | text 0 "He" ; finish max-tokens ; end 1 CALL
content | [HE] | - | text 0 "He" ; end 1 CALL ; finish max-tokens ; chunk {"type":"finish","reason":null}
ok      | [HE,CALL] | - | text 0 "He" ; end 1 CALL ; finish max-tokens ; chunk {"type":"finish","reason":null}
ok      | [HE] | - | text 0 "He" ; call 1 "id":5,"argumentsDelta":"" ; finish max-tokens
ok      | [HE,CALL] | - | text 0 "He" ; end 1 CALL ; finish max-tokens ; chunk {"type":"finish"}
ok      | [HE] | - | text 0 "He" ; finish aborted
ok      | [HE] | - | text 0 "He" ; finish error
ok      | [HE] | - | text 0 "He" ; finish zz
ok      | [HE] | - | text 0 "He" ; chunk {"type":"finish","reason":"max-tokens"}
"#,
    );
}

#[test]
fn the_last_usage_counts() {
    table(
        r#"
ok      | [] | usage {"b":[2.0]} | usage {"a":1} ; usage {"b":[2]}
usage   | [] | usage {"a":1} | usage {"a":1} ; usage {"b":2}
usage   | [HE] | usage {"a":1} | text 0 "He"
usage   | [] | - | usage {"a":1}
content | [] | usage {"a":1} | text 0 ""
ok      | [] | - | chunk {"type":"usage"}
usage   | [] | - | usage null
ok      | [] | usage null | usage null
ok      | [] | usage {"b":2,"a":1} | usage {"a":1,"b":2}
usage   | [] | usage {"a":[]} | usage {"a":{}}
usage   | [] | usage {"a":1,"b":null} | usage {"a":1}
ok      | [] | usage {"a":0} | usage {"a":-0}
ok      | [] | usage {"a":-0} | usage {"a":0}
ok      | [] | usage {"a":null} | usage {"a":1e400}
ok      | [] | usage {"a":1e400} | usage {"a":null}
ok      | [] | usage {"__proto__":{"a":1}} | usage {"__proto__":{"a":1}}
usage   | [] | usage {} | usage {"__proto__":{"a":1}}
"#,
    );
}

#[test]
fn the_replay_state_goes_with_the_blocks() {
    table(
        r#"
ok      | [HE] | - | text 0 "He" ; finish stop {"blocks":true}
stream  | [HE] | replay 1 | text 0 "He" ; end 1 CALL ; finish max-tokens {"response":1,"blocks":{"length":2}}
ok      | [HE] | replay {"response":{"b":[],"a":1},"blocks":[{"x":1.0}]} | text 0 "He" ; end 1 CALL ; finish max-tokens {"response":{"a":1,"b":[]},"blocks":[{"x":1},2]}
replay  | [HE] | replay {"response":1,"blocks":[2]} | text 0 "He" ; end 1 CALL ; finish max-tokens {"response":1,"blocks":[1,2]}
replay  | [HE] | replay {"response":1,"blocks":[1,2]} | text 0 "He" ; end 1 CALL ; finish max-tokens {"response":1,"blocks":[1,2]}
ok      | [HE,CALL] | replay {"blocks":[1,2],"response":1} | text 0 "He" ; end 1 CALL ; finish stop {"response":1,"blocks":[1,2]}
replay  | [HE,CALL] | - | text 0 "He" ; end 1 CALL ; finish stop {"response":1,"blocks":[1,2]}
ok      | [HE,CALL] | - | text 0 "He" ; end 1 CALL ; finish stop {"response":1,"blocks":[1]}
replay  | [HE,CALL] | replay {"response":1,"blocks":[1]} | text 0 "He" ; end 1 CALL ; finish stop {"response":1,"blocks":[1]}
ok      | [HE] | replay {"response":1,"blocks":[1]} | text 0 "He" ; end 1 CALL ; finish max-tokens {"response":1,"x":2,"blocks":[1,2]}
replay  | [HE] | replay {"response":1,"x":2,"blocks":[1]} | text 0 "He" ; end 1 CALL ; finish max-tokens {"response":1,"x":2,"blocks":[1,2]}
replay  | [HE] | replay {"blocks":[1]} | text 0 "He" ; end 1 CALL ; finish max-tokens {"blocks":[1,2]}
ok      | [HE] | replay {"response":null,"blocks":[1]} | text 0 "He" ; end 1 CALL ; finish max-tokens {"response":null,"blocks":[1,2]}
ok      | [HE] | - | text 0 "He" ; end 1 CALL ; finish max-tokens {"response":1,"blocks":[1]}
ok      | [HE] | replay {"x":2,"blocks":[1]} | text 0 "He" ; finish max-tokens {"x":2,"blocks":[1]}
ok      | [HE] | replay {"x":2} | text 0 "He" ; end 1 CALL ; finish max-tokens {"x":2}
ok      | [HE] | replay 5 | text 0 "He" ; finish stop 5
ok      | [HE] | replay "ab" | text 0 "He" ; finish stop "ab"
ok      | [HE] | replay [1] | text 0 "He" ; finish stop [1]
ok      | [HE] | replay null | text 0 "He" ; finish stop null
replay  | [HE] | - | text 0 "He" ; finish stop null
stream  | [HE] | replay {"blocks":null} | text 0 "He" ; finish stop {"blocks":null}
stream  | [HE] | - | text 0 "He" ; finish stop {"blocks":null}
ok      | attempt | - | text 0 "He" ; finish stop {"blocks":null}
ok      | [HE] | replay {"blocks":"a"} | text 0 "He" ; finish stop {"blocks":"a"}
ok      | [HE,CALL] | replay {"blocks":"😀"} | text 0 "He" ; end 1 CALL ; finish stop {"blocks":"😀"}
stream  | [HE] | replay {"blocks":"a"} | text 0 "He" ; end 1 CALL ; finish max-tokens {"blocks":"ab"}
ok      | [HE] | - | text 0 "He" ; end 1 CALL ; finish max-tokens {"blocks":"abc"}
ok      | [HE] | replay {"blocks":{"length":1}} | text 0 "He" ; finish stop {"blocks":{"length":1}}
replay  | [HE] | replay {"blocks":{"length":"1"}} | text 0 "He" ; finish stop {"blocks":{"length":"1"}}
ok      | [HE] | - | text 0 "He" ; finish stop {"blocks":{"length":"1"}}
ok      | [HE] | - | text 0 "He" ; finish stop {"blocks":7}
replay  | [HE] | replay {"a":1} | text 0 "He" ; finish stop {"a":1} ; finish stop
ok      | [HE] | - | text 0 "He" ; finish stop {"a":1} ; finish stop
"#,
    );
}

#[test]
fn an_interrupted_answer_keeps_what_can_be_seen() {
    table(
        r#"
ok      | [HE] | interrupted true | text 0 "He" ; end 1 CALL
content | [HE,CALL] | interrupted true | text 0 "He" ; end 1 CALL
ok      | [] | interrupted true | text 0 " \n\ufeff\u00a0\u3000"
ok      | [{"type":"text","text":"\u0085"}] | interrupted true | text 0 "\u0085"
ok      | [{"type":"text","text":"\ud800"}] | interrupted true | text 0 "\ud800"
ok      | [{"type":"reasoning","text":"r"}] | interrupted true | reasoning 0 "r" ; end 1 {"type":"image"}
stream  | [] | interrupted true | end 0 {"type":"text"}
ok      | [{"type":"text"}] | - | end 0 {"type":"text"}
stream  | [] | interrupted true | end 0 {"type":"text","text":5}
ok      | [HE] | interrupted false | text 0 "He"
ok      | [HE,CALL] | interrupted 1 | text 0 "He" ; end 1 CALL
ok      | [HE] | replay {"response":1,"blocks":[1,2]} ; interrupted true | text 0 "He" ; end 1 CALL ; finish stop {"response":1,"blocks":[1,2]}
ok      | [HE] | replay {"response":1,"blocks":[1]} ; interrupted true | text 0 "He" ; end 1 CALL ; finish max-tokens {"response":1,"blocks":[1,2]}
"#,
    );
}

#[test]
fn records_and_chunks_must_be_known() {
    table(
        r#"
stream  | attempt | - | 5
stream  | attempt | - | {}
stream  | attempt | - | {"type":"zz"}
stream  | attempt | - | chunk {"type":"usage"},"x":1
stream  | attempt | - | {"type":"chunk","time":1.5,"chunk":{"type":"usage"}}
ok      | attempt | - | {"type":"chunk","time":-0,"chunk":{"type":"usage"}}
stream  | attempt | - | chunk []
stream  | attempt | - | chunk {}
stream  | attempt | - | chunk {"type":"zz"}
stream  | attempt | - | {"type":"text-chunks","time0":1,"index":-1,"dt":[],"texts":["a"]}
ok      | attempt | - | {"type":"text-chunks","time0":1,"index":-0,"dt":[],"texts":["a"]}
stream  | attempt | - | {"type":"text-chunks","time0":1,"index":0,"dt":[1],"texts":["a"]}
stream  | attempt | - | {"type":"text-chunks","time0":1,"index":0,"dt":[],"texts":[]}
stream  | attempt | - | {"type":"tool-call-chunks","time0":1,"index":0,"dt":[],"id":"","args":["a"]}
stream  | attempt | - | {"type":"tool-call-chunks","time0":1,"index":0,"dt":[],"id":"c","name":"","args":["a"]}
ok      | attempt | - | chunk {"type":"finish"}
ok      | attempt | - | -
ok      | attempt | - | usage {"a":-0}
ok      | attempt | - | usage {"a":1e400}
ok      | attempt | - | start 0 image
"#,
    );
}

#[test]
fn an_error_tells_the_rule_the_event_and_the_member() {
    for (content, members, records, rule, pointer) in [
        ("[HE]", "-", "text 0 \"He\" ; 5", Rule::StreamReplay, "/data/stream/1"),
        ("[]", "-", "start 0 image", Rule::StreamReplay, "/data/stream"),
        ("[HE,HE]", "-", "end 0 HE ; end 1 CALL", Rule::StreamDisagrees, "/data/message/content/1"),
        ("[HE,HE]", "-", "end 0 HE", Rule::StreamDisagrees, "/data/message/content/1"),
        ("[HE]", "-", "end 0 HE ; end 1 HE", Rule::StreamDisagrees, "/data/message/content/1"),
        ("5", "-", "end 0 HE", Rule::StreamDisagrees, "/data/message/content"),
        ("[]", "usage 1", "usage 2", Rule::StreamDisagrees, "/data/usage"),
    ] {
        let error = judged(&event(content, members, records)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Rule { rule: found, .. } if *found == rule), "{error}");
        assert_eq!(error.position().pointer.as_deref(), Some(pointer), "{records}");
        assert_eq!(error.position().seq.map(|seq| seq.0), Some(7));
    }
}

#[test]
fn other_events_pass_and_a_stream_must_be_there() {
    assert!(judged(r#"{"type":"user/message","seq":0,"time":1,"data":{"stream":[5]}}"#).is_ok());
    for data in ["{}", r#"{"stream":{}}"#, "1"] {
        let row = format!(r#"{{"type":"assistant/attempt","seq":0,"time":1,"data":{data}}}"#);
        assert_eq!(judged(&row).unwrap_err().code(), "stream-replay", "{data}");
    }
}

/// Steps to V4 let no such block through; in a log of V4 it can stand.
#[test]
fn a_block_without_a_type_fixes_its_index_when_it_is_something() {
    table(
        r#"
stream  | [HE] | - | end 0 HE ; end 0 null
stream  | [HE] | - | end 0 HE ; chunk {"type":"block-end","index":0}
ok      | [HE] | - | text 0 "He" ; end 0 0
ok      | [HE] | - | text 0 "H" ; end 0 "" ; text 0 "e"
ok      | [{"text":"x"}] | - | text 0 "He" ; end 0 {"text":"x"}
ok      | [] | interrupted true | text 0 "He" ; end 0 {"text":"x"}
stream  | [] | - | end 0 false
"#,
    );
}

/// Everything that an assembler gives, as text.
fn given(assembler: &Assembler<'_>) -> String {
    let mut out = Vec::new();
    for blocks in [assembler.blocks(), assembler.interrupted_blocks()] {
        out.push(b'[');
        for block in blocks.unwrap() {
            block.print(&mut out);
            out.push(b';');
        }
        out.push(b']');
    }
    if let Some(usage) = assembler.usage() {
        print(&mut out, usage);
    }
    let finish = (assembler.finish().kind(), assembler.finish().failure());
    format!("{} {finish:?} {:?}", String::from_utf8(out).unwrap(), assembler.replay_state())
}

#[test]
fn chunks_give_what_their_records_give() {
    let text = stream(concat!(
        r#"{"type":"reasoning-chunks","time0":1,"index":4,"dt":[1],"texts":["\ud83d","\ude00"]} ; "#,
        r#"{"type":"tool-call-chunks","time0":1,"index":5,"dt":[1],"id":"c","name":"f","args":["{","}"]} ; "#,
        r#"{"type":"text-chunks","time0":1,"index":4,"dt":[],"texts":["x"]} ; end 0 {"type":"image"} ; usage 3 ; "#,
        r#"chunk {"type":"finish","reason":{"kind":"error","failure":[1]},"replayState":7}"#,
    ));
    let doc = Doc::parse(text).unwrap();
    let (mut by_chunk, mut by_record) = (Assembler::new(), Assembler::new());
    for chunk in expand(doc.root()).unwrap() {
        by_chunk.push(chunk.unwrap().1).unwrap();
    }
    for record in records(doc.root()).unwrap() {
        by_record.push_record(record.unwrap()).unwrap();
    }
    let want = concat!(
        "[{\"type\":\"reasoning\",\"text\":\"\u{1f600}x\"};",
        r#"{"type":"tool-call","id":"c","name":"f","arguments":"{}"};{"type":"image"};]"#,
        "[{\"type\":\"reasoning\",\"text\":\"\u{1f600}x\"};]",
        r#"3 (Some("error"), Some([1])) Ok(Some(Whole(7)))"#,
    );
    assert_eq!((given(&by_chunk).as_str(), given(&by_record).as_str()), (want, want));
}

#[test]
fn a_stream_without_an_end_counts_as_stopped() {
    for (records, kind) in [
        ("-", Some("stop")),
        (r#"finish error ; chunk {"type":"finish","reason":null}"#, Some("stop")),
        (r#"chunk {"type":"finish","reason":7}"#, None),
    ] {
        let doc = Doc::parse(stream(records)).unwrap();
        let mut assembler = Assembler::new();
        for chunk in expand(doc.root()).unwrap() {
            assembler.push(chunk.unwrap().1).unwrap();
        }
        assert_eq!(assembler.finish().kind(), kind.map(JsStr::plain), "{records}");
    }
}

#[test]
fn deep_indices_and_texts_do_not_exhaust_the_stack() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let row = event(r#"[{"type":"text","text":""}]"#, "-", &format!("text {deep} {deep}"));
    assert!(judged(&row).is_ok());
}
