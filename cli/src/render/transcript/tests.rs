//! What no log of the corpora shows, with literal events.

use dshlog_codec::json::Doc;
use dshlog_codec::{Event, Place};

use super::*;
use crate::transcript::Fold as Events;

/// The transcript of events given as `type {data}`, one a line; seqs count from 0, each event comes a second after the
/// one before.
fn draw(full: bool, seqs: bool, events: &str) -> String {
    let mut out = Vec::new();
    let layout = Layout { width: 72, color: false, seqs, full, zone: TimeZone::UTC };
    let mut transcript = Transcript::new(&mut out, layout);
    let mut fold = Events::new(full);
    for (seq, line) in events.trim().lines().enumerate() {
        let (kind, data) = line.trim().split_once(' ').unwrap();
        let (data, more) = data.split_once(" // ").unwrap_or((data, ""));
        let time = 1_796_045_000_000 + seq as u64 * 1000;
        let row = format!(r#"{{"type":"{kind}","seq":{seq},"time":{time},"data":{data}{more}}}"#);
        let doc = Doc::parse(row).unwrap();
        fold.see(&Event::from_row(doc.root(), Place::default()));
        fold.ready().for_each(|entry| transcript.entry(&entry).unwrap());
    }
    fold.finish();
    fold.ready().for_each(|entry| transcript.entry(&entry).unwrap());
    String::from_utf8(out).unwrap()
}

#[track_caller]
fn check(events: &str, expected: &str) {
    let drawn = draw(false, false, events);
    assert_eq!(drawn.trim_end(), expected.trim_end().trim_start_matches('\n'), "drawn:\n{drawn}");
}

const TURN: &str = r#"turn/start {"turn":1}
user/message {"content":[{"type":"text","text":"Go"}],"source":{"kind":"user"}}
step/start {"turn":1,"step":1}
"#;

#[test]
fn calls_without_result_are_told_when_their_step_ends() {
    check(
        &format!(
            "{TURN}{}",
            r#"
tool/call {"callId":"a","name":"bash","arguments":"{\"command\":\"sleep 9\"}"}
tool/call {"callId":"b","name":"read","arguments":"{\"file_path\":\"x\"}"}
tool/result {"message":{"role":"tool","toolCallId":"b","content":[{"type":"text","text":"1: y"}],"isError":false}}
step/end {"turn":1,"step":1}
turn/end {"turn":1,"reason":{"kind":"max-tokens"}}"#
                .trim_start()
        ),
        "
── turn 1 ─────────────────────────────────────────── 30 Nov 13:23:20 ──
you       Go
dsh       ✓ read  x                                                1.0 s
            │ 1: y
          ! bash  sleep 9                                      no result
✗ out of tokens                                           1 tool · 7.0 s",
    );
}

#[test]
fn of_many_calls_inside_a_call_the_first_are_shown_and_the_others_counted() {
    let mut events = format!("{TURN}tool/call {}\n", r#"{"callId":"a","name":"workflow","arguments":"{}"}"#);
    for number in 0..203 {
        let id = format!(r#""rootCallId":"a","subCallId":"{number}""#);
        for row in [
            format!("tool/ptc-dispatch-start {{{id},\"name\":\"read\",\"arguments\":{{}}}}\n"),
            format!("tool/ptc-dispatch {{{id},\"content\":[]}}\n"),
        ] {
            events.push_str(&row);
        }
    }
    events += r#"tool/result {"message":{"role":"tool","toolCallId":"a","content":[],"isError":false}}"#;
    let drawn = draw(false, false, &events);
    assert!(drawn.contains("\n            │ … 3 items more\n"), "{drawn}");
}

#[test]
fn the_end_of_a_log_tells_what_is_open_and_what_waits() {
    check(
        &format!(
            "{TURN}{}",
            r#"
agent/inbox/spliced {"target":"next-step","start":0,"inserted":[{"content":[{"type":"text","text":"one"}]},{"content":[{"type":"text","text":"two\nlines"}]}]}
agent/inbox/spliced {"target":"next-step","start":0,"removedCount":1,"inserted":[]}
tool/call {"callId":"a","name":"bash","arguments":"{\"command\":\"sleep 9\"}"}"#
                .trim_start()
        ),
        "
── turn 1 ─────────────────────────────────────────── 30 Nov 13:23:20 ──
you       Go
dsh       ! bash  sleep 9                                      no result
queued    “two lines”
open      turn 1 has not ended: step 1, waiting for bash",
    );
}

#[test]
fn facts_beside_the_conversation() {
    check(
        r#"
turn/start {"turn":3}
hook/result {"turn":3,"point":"pre-tool","handlerId":"lint","decision":"block","exitCode":2,"durationMs":12}
compaction/prune {"shadowedRange":{"start":4,"end":4},"shadowedSeqs":[4],"shadowedTokenCount":9000}
tool/result {"message":{"role":"tool","toolCallId":"z","content":[]}} // ,"surfaceOp":{"op":"replace","startSeq":4,"endSeq":4}
compaction/start {"compactionId":"c","turn":3}
compaction/end {"compactionId":"c","turn":3,"error":{"message":"no room","code":"LIMIT"}}
image/offload {"targets":[{"seq":1,"imageIndexes":[0,2]}]}
plugin:acme/note {"x":1} // ,"ignorable":true
future/thing {}
todo/write {"todos":[{"content":"a","status":"completed"},{"content":"b","status":"pending"}]}
model/selection {"provider":"p","model":"deep","reasoningEffort":"low"}
session/title {"title":"Mine","messageSeqs":[],"source":{"kind":"user"}}
turn/end {"turn":3,"reason":{"kind":"aborted","reason":{"kind":"hook","reason":"no"}}}"#,
        "
── turn 3 ─────────────────────────────────────────── 30 Nov 13:23:20 ──
hook      pre-tool lint: block, exit 2
prune     the middle of 1 result cut out, about 9.0k tokens before
compact   compaction failed: LIMIT: no room
offload   2 images no longer sent
event     plugin:acme/note, 7 B
event     future/thing, 2 B, unknown but required
todo      [x] a
          [ ] b
model     deep, effort low selected
title     Mine
! stopped by hook: no                                             12.0 s",
    );
}

#[test]
fn results_show_where_failures_are() {
    let lines: Vec<String> = (1..=30).map(|n| format!("line {n}")).collect();
    let text = lines.join("\\n");
    check(
        &format!(
            r#"{TURN}tool/call {{"callId":"a","name":"bash","arguments":"{{\"command\":\"make\"}}"}}
tool/result {{"message":{{"toolCallId":"a","content":[{{"type":"text","text":"{text}\n[exit code: 2]"}}],"isError":false}}}}
tool/call {{"callId":"b","name":"bash","arguments":"{{\"command\":\"make test\"}}"}}
tool/result {{"message":{{"toolCallId":"b","content":[{{"type":"text","text":"{text}\n[exit code: 0]"}}],"isError":false}}}}
step/end {{"turn":1,"step":1}}
turn/end {{"turn":1,"reason":{{"kind":"completed"}}}}"#
        ),
        "
── turn 1 ─────────────────────────────────────────── 30 Nov 13:23:20 ──
you       Go
dsh       ✗ bash  make                                    exit 2 · 1.0 s
            │ line 1
            │ line 2
            │ line 3
            │ line 4
            │ … 22 lines more
            │ line 27
            │ line 28
            │ line 29
            │ line 30
          ✓ bash  make test                               exit 0 · 1.0 s
            │ line 1
            │ line 2
            │ line 3
            │ line 4
            │ … 26 lines more
✓ completed                                    2 tools, 1 failed · 8.0 s",
    );
}

#[test]
fn foreign_text_cannot_act_anywhere() {
    let drawn = draw(
        true,
        true,
        r#"turn/start {"turn":1}
session/title {"title":"\u001b[31mred","messageSeqs":[],"source":{"kind":"user"}}
user/message {"content":[{"type":"text","text":"\u001b]0;x\u0007\u202e"}],"source":{"kind":"\u001b[2J"}}
tool/call {"callId":"a","name":"\u001b[1m","arguments":"\u001b[5m"}
tool/result {"message":{"toolCallId":"a","content":[{"type":"text","text":"\u009b2J\r\u0000"},{"type":"\u001bX"}],"isError":true},"error":{"code":"\u001b[7m"}}
llm/retry {"retry":1,"delayMs":1e999,"failure":{"message":"\u001b[8m"}}
\u001b[9m/x {}
turn/end {"turn":1,"reason":{"kind":"\u001b[4m"}}"#,
    );
    let found = drawn.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
    assert_eq!(found, None, "{drawn}");
    assert!(drawn.contains("\\x1b[31mred") && drawn.contains("\\u{202e}"), "{drawn}");
}
