//! The tables of `docs/spec/events-v4.md` (sections 11 to 13) and `docs/spec/surface.md` (section 11), and questions put
//! to the official reader where both were silent.

use super::*;
use crate::at::Place;
use crate::header::CwdRule;
use crate::json::Doc;

/// The base log of section 11.
const BASE: &str = r#"
{"type":"session","version":4,"id":"s-1","createdAt":1000,"isSeeded":false,"delegationDepth":0}
{"type":"turn/start","seq":0,"time":2000,"data":{"turn":1}}
{"type":"step/start","seq":1,"time":2001,"data":{"turn":1,"step":1}}
{"type":"system/message","seq":2,"time":2002,"data":{"turn":1,"step":1,"message":{"id":"sys-1","role":"system","content":[{"type":"text","text":"be brief"}],"source":{"kind":"system-prompt"}}},"surfaceOp":"append"}
{"type":"user/message","seq":3,"time":2003,"data":{"id":"u-1","role":"user","content":[{"type":"text","text":"hi"}],"source":{"kind":"user"}},"surfaceOp":"append"}
{"type":"request/header","seq":4,"time":2004,"data":{"header":{"config":{"provider":"p","model":"m"},"tools":[{"name":"read","description":"d read","parameters":{"type":"object","properties":{}}}]},"reason":"initial"}}
{"type":"assistant/message","seq":5,"time":2005,"data":{"turn":1,"step":1,"message":{"id":"a-1","role":"assistant","content":[{"type":"text","text":"ok"},{"type":"tool-call","id":"c1","name":"read","arguments":"{}"}],"source":{"kind":"model","provider":"p","model":"m"}},"stream":[]},"surfaceOp":"append"}
{"type":"tool/call","seq":6,"time":2006,"data":{"turn":1,"step":1,"callId":"c1","name":"read","arguments":"{}"}}
{"type":"tool/result","seq":7,"time":2007,"data":{"turn":1,"step":1,"message":{"id":"t-1","role":"tool","source":{"kind":"tool","callId":"c1"},"toolCallId":"c1","content":[{"type":"text","text":"body"}],"isError":false}},"sourceEventSeqs":[6],"surfaceOp":"append"}
{"type":"step/end","seq":8,"time":2008,"data":{"turn":1,"step":1}}
{"type":"turn/end","seq":9,"time":2009,"data":{"turn":1,"reason":{"kind":"completed"}}}
"#;

/// A log that is put together for one row of a table.
#[derive(Clone)]
struct Log(Vec<String>);

fn base() -> Log {
    Log(BASE.trim().lines().map(str::to_owned).collect())
}

/// The base log's first `events` events.
fn first(events: usize) -> Log {
    let mut log = base();
    log.0.truncate(events + 1);
    log
}

/// The base log in an open second turn.
fn turn() -> Log {
    base().push("turn/start", r#"{"turn":2}"#)
}

/// The base log in an open step of its second turn: events 10 and 11.
fn step() -> Log {
    turn().push("step/start", r#"{"turn":2,"step":1}"#)
}

impl Log {
    /// Change the text of event `seq`.
    #[track_caller]
    fn edit(mut self, seq: usize, from: &str, to: &str) -> Log {
        let line = &mut self.0[seq + 1];
        assert!(line.contains(from), "{from} is not in {line}");
        *line = line.replacen(from, to, 1);
        self
    }

    fn header(mut self, from: &str, to: &str) -> Log {
        self.0[0] = self.0[0].replacen(from, to, 1);
        self
    }

    fn seeded(self) -> Log {
        self.header("\"isSeeded\":false", "\"isSeeded\":true,\"parentSession\":\"par\"")
    }

    fn push(self, kind: &str, data: &str) -> Log {
        self.push_with(kind, data, "")
    }

    /// With more members, which start with a comma.
    fn push_with(mut self, kind: &str, data: &str, more: &str) -> Log {
        let seq = self.0.len() - 1;
        self.0.push(format!(r#"{{"type":"{kind}","seq":{seq},"time":0,"data":{data}{more}}}"#));
        self
    }

    fn append(self, kind: &str, data: &str) -> Log {
        self.push_with(kind, data, r#","surfaceOp":"append""#)
    }

    /// In place of the nodes from `start` to `end`.
    fn replace(self, kind: &str, data: &str, (start, end): (u64, u64), sources: &str) -> Log {
        let more = format!(
            r#","sourceEventSeqs":{sources},"surfaceOp":{{"op":"replace","startSeq":{start},"endSeq":{end}}}"#
        );
        self.push_with(kind, data, &more)
    }

    /// The data of event `seq` with one change.
    fn data(&self, seq: usize, from: &str, to: &str) -> String {
        let doc = Doc::parse(self.0[seq + 1].clone()).unwrap();
        let data = doc.root().get("data").unwrap().raw();
        assert!(from.is_empty() || data.contains(from), "{from} is not in {data}");
        data.replacen(from, to, 1)
    }

    /// `valid`, or who refuses and the number of the rule in section 13.
    fn judge(&self) -> (String, Vec<u64>) {
        let header = Header::parse(&self.0[0], CwdRule::Posix).unwrap();
        let mut checker = Checker::new(&header);
        let mut cut = 0;
        for line in &self.0[1..] {
            let doc = Doc::parse(line.clone()).unwrap();
            if let Err(fault) = admit_v4(doc.root()) {
                return (format!("row {}", fault.rule.spec()), Vec::new());
            }
            let event = Event::from_row(doc.root(), Place::default());
            if event.is("session/end-seed") && event.member("inherited").is_some_and(Js::is_true) {
                cut = event.seq.0;
            }
            checker.see(&event);
        }
        let verdict = checker.finish(if header.is_seeded { cut } else { 0 });
        let spec = |error: &Error| match error.kind() {
            ErrorKind::Rule { rule, .. } => rule.spec(),
            _ => "?",
        };
        let judged = match (&verdict.storage, &verdict.session) {
            (Some(error), _) => format!("storage {}", spec(error)),
            (None, Some(error)) => format!("session {}", spec(error)),
            (None, None) => "valid".to_owned(),
        };
        (judged, verdict.surface.iter().map(|seq| seq.0).collect())
    }
}

#[track_caller]
fn check(log: &Log, expected: &str) {
    assert_eq!(log.judge().0, expected, "\n{}", log.0.join("\n"));
}

fn user(id: &str) -> String {
    format!(r#"{{"id":"{id}","role":"user","content":[],"source":{{"kind":"user"}}}}"#)
}

fn system(turn: u64) -> String {
    format!(
        r#"{{"turn":{turn},"step":1,"message":{{"id":"sys","role":"system","content":[],"source":{{"kind":"system-prompt"}}}}}}"#
    )
}

const NOT_STARTED: &str = r#""error":{"name":"ToolNotStartedError","code":"TOOL_NOT_STARTED"}"#;
const INTERRUPTED: &str = "The tool call was interrupted before the Harness recorded it as started. Retry it if it is still needed.";

/// A result for the call `c1` that never started, with this id and text.
fn not_started(id: &str, text: &str) -> String {
    format!(
        r#"{{"turn":1,"step":1,{NOT_STARTED},"message":{{"id":"{id}","role":"tool","source":{{"kind":"tool","callId":"c1"}},"toolCallId":"c1","content":[{{"type":"text","text":"{text}"}}],"isError":true}}}}"#
    )
}

#[test]
fn any_prefix_is_valid() {
    for events in 0..=10 {
        check(&first(events), "valid");
    }
    assert_eq!(base().judge().1, [2, 3, 5, 7]);
}

#[test]
fn section_11_envelope_and_metadata() {
    let todo = |more: &str| base().push_with("todo/write", "null", more);
    check(&todo(""), "valid");
    check(&base().edit(0, "\"time\":2000", "\"time\":-5"), "valid");
    check(&base().edit(0, "}}", "},\"ignorable\":true}"), "valid");
    check(&base().push("zz/new", "null"), "storage A-2");
    check(&base().push_with("zz/new", "null", ",\"ignorable\":true,\"surfaceOp\":7"), "valid");
    check(&todo(",\"surfaceOp\":\"append\""), "storage E-4");
    check(&todo(",\"ignorable\":true,\"sourceEventSeqs\":[1]"), "storage E-4");
    check(&base().edit(3, ",\"surfaceOp\":\"append\"", ""), "storage E-4");
    check(&base().edit(3, "\"append\"", "\"prepend\""), "storage E-4");
    check(&base().edit(3, "\"append\"", r#"{"op":"replace","startSeq":2,"endSeq":2,"x":1}"#), "storage E-4");
    check(&base().edit(3, "\"append\"", r#"{"op":"replace","start":2,"end":2}"#), "storage E-4");
    check(&base().edit(3, "\"append\"", r#"{"op":"replace","startSeq":3,"endSeq":3}"#), "storage E-4");
    check(&base().edit(3, "}},", "}},\"sourceEventSeqs\":[],"), "storage E-4");
    check(&base().edit(3, "}},", "}},\"sourceEventSeqs\":[2,0],"), "valid");
    check(&base().edit(5, "[]},", "[]},\"sourceEventSeqs\":[2],"), "storage E-4");
    check(&base().edit(7, ",\"sourceEventSeqs\":[6]", ""), "valid");
    check(&base().edit(7, "[6]", "[1,0]"), "valid");
    // The storage reader hands out an event with a `seq` of -0; only a session refuses it.
    check(&first(1).edit(0, "\"seq\":0", "\"seq\":-0"), "session E-1");
}

#[test]
fn section_11_messages_and_tools() {
    check(&base().edit(3, r#"[{"type":"text","text":"hi"}]"#, r#"["x",{"type":"image"}]"#), "valid");
    let assistant = base().data(5, "c1", "c2");
    let second = |data: &str| {
        let mut log = first(6).append("assistant/message", data);
        log = log.push("tool/call", &base().data(6, "", ""));
        log.append("tool/result", &base().data(7, "", ""))
    };
    check(&second(&assistant), "valid");
    check(&second(&base().data(5, "", "")), "storage L-3");
    check(&base().append("user/message", &user("u-1")), "valid");
    check(&base().replace("user/message", &user("u-1"), (5, 5), "[5]"), "valid");
    let headless = Log(vec![base().0[0].clone()]);
    let started = headless.push("turn/start", r#"{"turn":1}"#).push("step/start", r#"{"turn":1,"step":1}"#);
    let second_system = started.append("user/message", &user("u")).append("system/message", &system(1));
    check(&second_system, "storage L-4");
    let replaced = |log: Log, from: &str, to: &str| {
        let data = base().data(7, from, to);
        log.replace("tool/result", &data, (7, 7), "[7]")
    };
    check(&replaced(turn(), "body", "short"), "valid");
    check(&replaced(base(), "body", "short"), "storage L-1");
    check(&replaced(turn(), "\"turn\":1", "\"turn\":2"), "session E-5");
    check(&replaced(turn(), "t-1", "t-2"), "session E-5");
    check(&replaced(turn(), "false", "true"), "session E-5");
    check(&replaced(turn(), "\"turn\"", "\"meta\":{},\"turn\""), "session E-5");
    check(&turn().replace("tool/result", &base().data(7, "", ""), (5, 7), "[5,7]"), "session E-5");
    check(&turn().replace("tool/result", &base().data(7, "", ""), (3, 3), "[3]"), "session E-5");
    check(&base().edit(9, r#","reason":{"kind":"completed"}"#, ""), "valid");
    let header = base().data(4, "", "");
    check(&base().push("request/header", &header), "storage L-1");
    check(&turn().push("request/header", &header), "valid");
}

#[test]
fn section_11_not_started_results() {
    let forked = |id: &str| first(6).append("tool/result", &not_started(id, "any"));
    check(&forked("forked-tool-result-c1-6"), "valid");
    check(&forked("forked-tool-result-c1-07"), "row T-R3");
    check(&forked("forked-tool-result-c1-5"), "row T-R3");
    check(&forked("forked-tool-result-c2-6"), "row T-R3");
    let cited = |sources: &str| {
        let data = not_started("forked-tool-result-c1-6", "any");
        first(6).push_with("tool/result", &data, &format!(",\"surfaceOp\":\"append\"{sources}"))
    };
    check(&cited(",\"sourceEventSeqs\":[5]"), "row T-R3");
    let again = |sources: &str| {
        let data = not_started("forked-tool-result-c1-6", "short");
        forked("forked-tool-result-c1-6").replace("tool/result", &data, (6, 6), sources)
    };
    check(&again("[6]"), "valid");
    check(&again("[[6,6]]"), "row T-R3");
    check(&again("[5,6]"), "row T-R3");
    let interrupted = |id: &str, text: &str| first(6).append("tool/result", &not_started(id, text));
    check(&interrupted("interrupted-tool-result-c1-9007199254740991", INTERRUPTED), "valid");
    check(&interrupted("interrupted-tool-result-c1-9007199254740992", INTERRUPTED), "storage L-3");
    check(&interrupted("interrupted-tool-result-c1-01", INTERRUPTED), "storage L-3");
    check(&interrupted("interrupted-tool-result-c1-3", "another text"), "storage L-3");
    check(&interrupted("plain", INTERRUPTED), "storage L-3");
}

/// The compactions of this file: id `k`, over the nodes 3, 5 and 7 of the base log.
fn compaction(turn: &str) -> String {
    format!(r#"{{"compactionId":"k","turn":{turn}}}"#)
}

const SUMMARY: &str =
    r#"{"compactionId":"k","summary":1,"shadowedRange":{"start":3,"end":7},"shadowedSeqs":[3,5,7]}"#;
const CHECKPOINT: &str =
    r#"{"id":"ck","role":"user","content":[],"source":{"kind":"compact-checkpoint","compactionId":"k"}}"#;

#[test]
fn section_11_compactions() {
    let idle = base().push("compaction/start", &compaction("null"));
    let crossed = idle.clone().push("turn/start", r#"{"turn":2}"#);
    check(&idle, "valid");
    check(&crossed, "storage L-5");
    check(&crossed.clone().push("session/end-seed", "{}"), "valid");
    check(&crossed.clone().push("turn/end", r#"{"turn":2}"#).push("session/end-seed", "{}"), "valid");
    // A later fault does not hide the crossing, nor does the crossing count when it was none.
    check(&crossed.clone().push("step/end", "{}"), "storage L-5");
    check(&crossed.clone().push("step/end", "{}").push("session/end-seed", "{}"), "storage L-1");
    check(&crossed.clone().push("compaction/end", "{}").push("session/end-seed", "{}"), "storage L-5");
    let open = turn().push("compaction/start", &compaction("2"));
    check(&open.clone().push("turn/end", r#"{"turn":2}"#), "storage L-5");
    check(&open.clone().push("turn/end", r#"{"turn":2}"#).push("session/end-seed", "{}"), "valid");
    let replaced = |log: Log, sources: &str| log.replace("user/message", CHECKPOINT, (3, 7), sources);
    let summarized = open.clone().push("compaction/summary", SUMMARY);
    let done = replaced(summarized.clone(), "[3,5,7]").push("compaction/end", &compaction("2"));
    check(&done, "valid");
    assert_eq!(done.judge().1, [2, 13]);
    check(&replaced(summarized.clone(), "[[0,8],11]"), "valid");
    check(&replaced(summarized.clone(), "[3,7]"), "storage L-4");
    check(&replaced(open.clone(), "[3,5,7]").push("compaction/summary", SUMMARY), "storage L-5");
    check(&replaced(base(), "[3,5,7]"), "storage L-5");
    check(&base().append("user/message", CHECKPOINT), "valid");
    check(&summarized.clone().push("compaction/summary", SUMMARY), "storage L-5");
    check(&open.clone().push("compaction/end", &compaction("2")), "storage L-5");
    check(&open.clone().push("compaction/end", r#"{"compactionId":"k","turn":2,"error":null}"#), "valid");
    check(&summarized.clone().push("compaction/end", &compaction("3")), "storage L-5");
    check(&open.clone().push("compaction/start", &compaction("2")), "storage L-5");
    check(&turn().push("compaction/start", &compaction("null")), "storage L-5");
    check(&base().push("compaction/start", r#"{"compactionId":"","turn":null}"#), "storage L-5");
    check(&base().push("compaction/start", r#"{"compactionId":"k"}"#), "storage L-5");
    let command = base().push("compaction/start", r#"{"compactionId":"k","turn":null,"sourceCommandId":{}}"#);
    // An object is never the same as anything.
    let end = r#"{"compactionId":"k","turn":null,"error":1,"sourceCommandId":{}}"#;
    check(&command.push("compaction/end", end), "storage L-5");
    // An orphaned compaction outlives its turn: its checkpoint may, its summary may not.
    let outlived = open.push("turn/end", r#"{"turn":2}"#);
    check(&replaced(outlived.clone(), "[3,5,7]").push("session/end-seed", "{}"), "valid");
    check(&outlived.push("compaction/summary", SUMMARY).push("session/end-seed", "{}"), "storage L-5");
    let prune = |range: &str, seqs: &str| {
        base().push("compaction/prune", &format!(r#"{{"shadowedRange":{range},"shadowedSeqs":{seqs}}}"#))
    };
    check(&prune(r#"{"start":3,"end":5}"#, "[3,5]"), "valid");
    check(&prune(r#"{"start":3,"end":5}"#, "[3]"), "storage L-5");
    check(&prune(r#"{"start":5,"end":3}"#, "[]"), "storage L-5");
    check(&prune(r#"{"start":2,"end":3}"#, "[2,3]"), "storage L-5");
    check(&prune(r#"{"start":4,"end":4}"#, "[4]"), "storage L-5");
}

#[test]
fn section_9_markers() {
    let inherited = r#"{"inherited":true}"#;
    for plain in ["{}", r#"{"inherited":false}"#, r#"{"inherited":"x"}"#] {
        check(&base().push("session/end-seed", plain), "valid");
        check(&base().seeded().push("session/end-seed", plain), "storage A-4");
    }
    check(&base().push("session/end-seed", inherited), "storage A-4");
    check(&base().seeded().push("session/end-seed", inherited), "valid");
    let header = Header::parse(&base().0[0], CwdRule::Posix).unwrap();
    let verdict = Checker::new(&header).finish(1);
    assert_eq!(verdict.storage.unwrap().code(), Rule::CutBeyondLog.code());
}

/// An event of the example: type, data, nodes that it replaces, sources, and the surface behind it.
type Step<'a> = (&'a str, String, Option<(u64, u64)>, &'a str, &'a [u64]);

#[test]
fn surface_11_1() {
    let mut log = Log(vec![base().0[0].clone()])
        .push("turn/start", r#"{"turn":1}"#)
        .push("step/start", r#"{"turn":1,"step":1}"#);
    // The example leaves lifecycle events out; here 2 stands before it, so its seqs are all higher by 2.
    let steps: [Step<'_>; 11] = [
        ("system/message", system(1), None, "", &[2]),
        ("user/message", user("u1"), None, "", &[2, 3]),
        ("assistant/message", base().data(5, "", ""), None, "", &[2, 3, 4]),
        ("tool/call", base().data(6, "", ""), None, "", &[2, 3, 4]),
        ("tool/result", base().data(7, "", ""), None, "", &[2, 3, 4, 6]),
        (
            "assistant/message",
            base().data(5, r#",{"type":"tool-call","id":"c1","name":"read","arguments":"{}"}"#, ""),
            None,
            "",
            &[2, 3, 4, 6, 7],
        ),
        ("user/message", user("u2"), None, "", &[2, 3, 4, 6, 7, 8]),
        ("tool/result", base().data(7, "body", "sh"), Some((6, 6)), "[6]", &[2, 3, 4, 9, 7, 8]),
        ("user/message", user("ck"), Some((3, 9)), "[3,4,9]", &[2, 10, 7, 8]),
        ("system/message", system(1), Some((2, 2)), "[2]", &[11, 10, 7, 8]),
        ("user/message", user("zz"), Some((10, 8)), "[10,7,8]", &[11, 12]),
    ];
    for (kind, data, range, sources, nodes) in steps {
        if nodes == [11, 12] {
            let refused = |range, sources| log.clone().replace("user/message", &user("x"), range, sources);
            check(&refused((11, 11), "[11]"), "storage L-4");
            check(&refused((3, 3), "[3]"), "storage L-4");
            check(&refused((10, 11), "[10,11]"), "storage L-4");
        }
        log = match (range, kind) {
            (Some(range), _) => log.replace(kind, &data, range, sources),
            (None, "tool/call") => log.push(kind, &data),
            (None, _) => log.append(kind, &data),
        };
        assert_eq!(log.judge(), ("valid".to_owned(), nodes.to_vec()), "{kind}");
    }
}

#[test]
fn surface_11_2() {
    let image = r#"{"type":"image"}"#;
    let content = format!(r#"[{{"type":"text","text":""}},{image},{image}]"#);
    let message = user("u").replace("[]", &content);
    let log = Log(vec![base().0[0].clone()]).append("user/message", &message);
    let offload = |log: &Log, data: &str| log.clone().push("image/offload", data);
    let target =
        |seq: u64, indexes: &str| format!(r#"{{"targets":[{{"seq":{seq},"imageIndexes":{indexes}}}]}}"#);
    let both = offload(&offload(&log, &target(0, "[1]")), &target(0, "[0]"));
    check(&both, "valid");
    check(&offload(&log, &target(0, "[0,1]")), "valid");
    check(&offload(&both, &target(0, "[1]")), "session E-6");
    for data in [
        &*target(0, "[2]"),
        &*target(0, "[1,0]"),
        &*target(0, "[]"),
        &*target(0, "[-0]"),
        &*target(1, "[0]"),
        r#"{"targets":[]}"#,
        r#"{"targets":[{"seq":0,"imageIndexes":[0]}],"x":1}"#,
        r#"{"targets":[{"seq":0,"imageIndexes":[0],"x":1}]}"#,
        r#"{"targets":[{"seq":0,"imageIndexes":[0]},{"seq":0,"imageIndexes":[1]}]}"#,
        "null",
    ] {
        check(&offload(&log, data), "session E-6");
    }
    let replaced = both.replace("user/message", &message, (0, 0), "[0]");
    check(&offload(&replaced, &target(0, "[0]")), "session E-6");
    check(&offload(&replaced, &target(3, "[0]")), "valid");
    check(&offload(&log.clone().edit(0, "[{", "[1,{"), &target(0, "[0]")), "valid");
    check(&offload(&log.clone().edit(0, "[{", "[null,{"), &target(0, "[0]")), "session E-6");
    check(&log.clone().edit(0, "[{", "[null,{"), "valid");
    let marked = log.edit(0, image, r#"{"type":"image","offloaded":true}"#);
    check(&offload(&marked, &target(0, "[0]")), "session E-6");
    check(&offload(&marked, &target(0, "[1]")), "valid");
}

#[test]
fn retired_syntax_and_sources() {
    let code = |more: &str| base().push_with("tool/code-dispatch", "1", more);
    check(&code(""), "row R-1");
    check(&code(",\"ignorable\":true"), "valid");
    check(&base().edit(4, "\"header\":{", "\"header\":{\"system\":null,"), "row R-2");
    check(&base().push("request/header", "{}"), "row R-2");
    let retired = r#"[{"type":"tool-result"}]"#;
    let shown = r#"[{"type":"text","text":"hi"}]"#;
    check(&base().edit(3, shown, retired), "row R-3");
    check(&base().push("compaction/summary", &format!("{{\"rawOutput\":{retired}}}")), "row R-3");
    check(&base().push("tool/ptc-dispatch", &format!("{{\"content\":{retired}}}")), "row R-3");
    check(
        &base().push("team/message/queued", &format!(r#"{{"message":{{"content":{retired}}}}}"#)),
        "row R-3",
    );
    let chunk = r#"[1,{"type":"chunk","chunk":{"type":"block-start","blockType":"tool-result"}}]"#;
    check(&base().edit(5, "\"stream\":[]", &format!("\"stream\":{chunk}")), "row R-3");
    check(&base().edit(5, "\"stream\":[]", "\"stream\":[1]"), "valid");
    check(&base().edit(3, "\"kind\":\"user\"", "\"kind\":\"plugin\""), "row R-4");
    check(&base().edit(3, "\"kind\":\"user\"", "\"kind\":\"\""), "storage R-4");
    check(&base().edit(3, "\"kind\":\"user\"", "\"kind\":\"plugin:x\""), "valid");
    let inbox = |data: &str| base().push("agent/inbox/spliced", data);
    check(&inbox("null"), "valid");
    check(&inbox(r#"{"inserted":[{"source":{"kind":"user"}}]}"#), "valid");
    check(&inbox("{}"), "storage R-4");
    check(&inbox(r#"{"inserted":[1]}"#), "storage R-4");
    check(&inbox(r#"{"inserted":[{"source":{"kind":"plugin"}}]}"#), "row R-4");
    check(&inbox(r#"{"inserted":[{"role":"developer"}]}"#), "row D-1");
}

#[test]
fn message_shapes() {
    check(&base().edit(2, "\"step\":1", "\"step\":0"), "row S-1");
    check(&base().edit(2, "sys-1", ""), "row S-1");
    check(&base().edit(2, "\"type\":\"text\"", "\"type\":\"\""), "row S-1");
    check(&base().edit(2, "\"text\":\"be brief\"", "\"text\":1"), "row S-1");
    check(&base().edit(2, "\"system-prompt\"", "\"user\""), "storage E-3");
    check(&base().edit(3, "u-1", ""), "storage E-3");
    check(&base().edit(3, "\"role\":\"user\"", "\"role\":\"tool\""), "storage E-3");
    check(&base().edit(3, "\"role\":\"user\"", "\"role\":\"developer\""), "row D-1");
    check(&base().edit(3, "\"type\":\"text\"", "\"type\":\"tool-addition\""), "row D-2");
    check(&base().edit(5, "\"provider\":\"p\"", "\"provider\":\"\""), "storage E-3");
    check(&base().edit(5, ",\"stream\":[]", ""), "session E-3");
    check(&base().edit(7, "t-1", ""), "row T-R1");
    check(&base().edit(7, "\"toolCallId\":\"c1\"", "\"toolCallId\":\"c2\""), "row T-R1");
    check(&base().edit(7, "\"isError\":false", "\"isError\":null"), "row T-R1");
    check(&base().edit(7, ",\"isError\":false", ""), "valid");
    check(&base().edit(7, "\"turn\"", "\"error\":null,\"turn\""), "row T-R2");
    let series = |from: &str, to: &str| base().edit(4, from, to);
    check(&series("\"initial\"", "\"first\""), "session E-2");
    check(&series("\"reason\"", "\"startsSeries\":false,\"reason\""), "session E-2");
    check(&series("\"model\":\"m\"", "\"model\":\"\""), "session E-2");
    check(&series("\"model\":\"m\"", "\"model\":\"m\",\"reasoningEffort\":null"), "session E-2");
    check(&series("\"tools\"", "\"adapterDefaults\":{},\"tools\""), "storage E-2");
    check(&series("\"tools\"", "\"adapterDefaults\":{\"maxTokens\":true},\"tools\""), "session E-2");
    check(&series("\"config\":{\"provider\":\"p\",\"model\":\"m\"}", "\"config\":1"), "storage E-2");
    check(&series("\"description\"", "\"deferLoading\":false,\"description\""), "row D-5");
    let tools = base().data(4, "", "");
    let tools = &tools[tools.find("[{").unwrap()..=tools.rfind(']').unwrap()];
    check(&series(tools, "[]"), "storage E-2");
    check(&series(tools, "7"), "valid");
}

#[test]
fn developer_messages() {
    let developer = |content: &str, more: &str| {
        let data = format!(
            r#"{{"turn":2,"step":1,"message":{{"id":"d","role":"developer","content":{content},"source":{{"kind":"tool-registry"}}}}{more}}}"#
        );
        step().append("developer/message", &data)
    };
    let add = r#"[{"type":"tool-addition","toolName":"read"}]"#;
    check(&developer(add, ",\"headerSeq\":4"), "valid");
    check(&developer("[]", ""), "valid");
    check(&developer(r#"[{"type":"tool-removal","toolName":"any"}]"#, ""), "valid");
    check(&developer(add, ""), "row D-3");
    check(&developer("[]", ",\"headerSeq\":4"), "row D-3");
    check(&developer(add, ",\"headerSeq\":3"), "storage D-4");
    check(&developer(&add.replace("read", "other"), ",\"headerSeq\":4"), "storage D-4");
    check(&developer(&add.replace("\"read\"", "\"read\",\"tool\":1"), ",\"headerSeq\":4"), "row D-2");
    check(&developer(r#"[{"type":"tool-removal","toolName":""}]"#, ""), "row D-2");
    check(&developer("1", ""), "row D-1");
    let with = |from: &str, to: &str| developer(add, ",\"headerSeq\":4").edit(4, from, to);
    check(&with("\"description\":\"d read\",", ""), "storage D-4");
    check(&with("\"parameters\":{", "\"parameters\":[],\"x\":{"), "storage D-4");
    check(&with("\"tools\":[", "\"tools\":[{\"name\":\"read\"},"), "storage D-4");
    check(&with("\"tools\":[", "\"tools\":[1,{\"name\":\"x\"},"), "valid");
    check(&with("\"name\":\"read\"", "\"name\":\"read\",\"deferLoading\":true"), "valid");
    // Where the real session stumbles over `null`, the storage reader does not.
    check(&developer("[null]", ""), "valid");
    check(&developer(&add.replace('[', "[null,"), ",\"headerSeq\":4"), "session D-4");
    check(&developer(&add.replace('[', "[1,"), ",\"headerSeq\":4"), "valid");
    check(&with("\"tools\":[", "\"tools\":[null,"), "session D-4");
    let ignorable = base().push_with("developer/message", "{}", ",\"ignorable\":true");
    check(&ignorable, "row D-1");
}

#[test]
fn turns_and_calls() {
    check(&base().edit(0, "\"turn\":1", "\"turn\":2"), "storage L-1");
    check(&base().edit(0, "\"turn\":1", "\"turn\":1.0"), "valid");
    check(&base().edit(0, "{\"turn\":1}", "null"), "storage L-1");
    check(&base().edit(1, "\"step\":1", "\"step\":2"), "storage L-1");
    check(&step().push("step/start", r#"{"turn":2,"step":2}"#), "storage L-1");
    check(&step().push("turn/end", r#"{"turn":2}"#), "storage L-1");
    check(&base().push("request/context", "{}"), "storage L-1");
    check(&first(6).push("step/end", r#"{"turn":1,"step":1}"#), "storage L-2");
    check(&base().edit(6, "\"callId\":\"c1\"", "\"callId\":\"c2\""), "storage L-3");
    check(&base().edit(6, "\"name\":\"read\",", ""), "storage L-3");
    check(&base().edit(6, "\"{}\"", "\"{ }\""), "storage L-3");
    check(&first(7).push("tool/call", &base().data(6, "", "")), "storage L-3");
    check(&base().edit(7, "\"step\":1", "\"step\":2"), "storage L-1");
    check(&base().edit(5, "\"id\":\"c1\"", "\"id\":\"\""), "storage L-3");
    check(&base().edit(5, "[{\"type\":\"text\"", "[1,{\"type\":\"text\""), "storage E-3");
    let absent = base().edit(5, ",\"name\":\"read\",\"arguments\":\"{}\"", "");
    check(&absent.edit(6, ",\"name\":\"read\",\"arguments\":\"{}\"", ""), "valid");
}

#[test]
fn dispatches() {
    let ids = |parent: &str, own: &str| {
        format!(r#"{{"rootCallId":"c1","parentCallId":"{parent}","subCallId":"{own}""#)
    };
    let start =
        |log: Log, ids: &str, rest: &str| log.push("tool/ptc-dispatch-start", &format!("{ids}{rest}}}"));
    let end = |log: Log, ids: &str, rest: &str| log.push("tool/ptc-dispatch", &format!("{ids}{rest}}}"));
    let (outer, inner) = (ids("c1", "s1"), ids("s1", "s2"));
    let one = start(turn(), &outer, r#","arguments":{"a":0,"b":[]}"#);
    check(&one, "valid");
    check(&start(one.clone(), &inner, ""), "valid");
    check(&start(one.clone(), &outer, ""), "storage L-6");
    check(&start(turn(), &inner, ""), "storage L-6");
    check(&start(turn(), &ids("c1", "c1"), ""), "valid");
    check(&start(base(), &outer, ""), "storage L-1");
    check(&end(turn(), &outer, ""), "storage L-6");
    check(&end(one.clone(), &outer, r#","arguments":{"b":[],"a":0}"#), "valid");
    check(&end(one.clone(), &outer, r#","arguments":{"b":[],"a":-0}"#), "storage L-6");
    check(&end(one.clone(), &outer, ""), "storage L-6");
    check(&end(one.clone(), &ids("s1", "s1"), r#","arguments":{"a":0,"b":[]}"#), "storage L-6");
    let later = one.push("turn/end", r#"{"turn":2}"#).push("turn/start", r#"{"turn":3}"#);
    check(&end(later, &outer, r#","arguments":{"a":0,"b":[]}"#), "valid");
}

#[test]
fn retries() {
    let retry = |log: Log, id: &str, policy: &str, number: u64, step: u64| {
        let data = format!(
            r#"{{"retryId":"{id}","turn":2,"step":{step},"provider":"p","policyKey":{policy},"retry":{number}}}"#
        );
        log.push("llm/retry", &data)
    };
    let one = retry(step(), "r", "\"a\"", 1, 1);
    check(&one, "valid");
    check(&retry(one.clone(), "r", "\"a\"", 2, 1), "valid");
    check(&retry(one.clone(), "r2", "\"a\"", 2, 1), "storage L-7");
    check(&retry(one.clone(), "r", "\"a\"", 3, 1), "storage L-7");
    check(&retry(one.clone(), "r", "\"b\"", 1, 1), "storage L-7");
    check(&retry(retry(one.clone(), "r2", "\"b\"", 1, 1), "r", "\"a\"", 2, 1), "valid");
    // A key that is an object chains nothing.
    check(&retry(retry(step(), "x", "{}", 1, 1), "y", "{}", 1, 1), "valid");
    check(&retry(step(), "r", "1", 2, 1), "storage L-7");
    check(&retry(step(), "", "1", 1, 1), "storage L-7");
    check(&retry(step(), "r", "1", 1, 0), "storage L-7");
    check(&retry(turn(), "r", "1", 1, 0), "valid");
    check(&retry(turn(), "r", "1", 1, 0).edit(11, "\"step\":0", "\"step\":-0"), "valid");
    let closed = step().push("step/end", r#"{"turn":2,"step":1}"#);
    check(&retry(closed, "r", "1", 1, 1), "valid");
    check(&retry(step(), "r", "1", 1, 1).edit(12, "\"provider\":\"p\",", ""), "storage L-7");
    let begin = |log: Log, number: u64, step: u64| {
        log.push(
            "llm/retry-started",
            &format!(r#"{{"retryId":"r","turn":2,"step":{step},"retry":{number}}}"#),
        )
    };
    let under_way = begin(one.clone(), 1, 1);
    check(&under_way, "valid");
    check(&begin(under_way, 1, 1), "storage L-7");
    check(&begin(one.clone(), 2, 1), "storage L-7");
    check(&begin(one, 1, 2), "storage L-7");
}

#[test]
fn titles_and_commands() {
    let title = |seqs: &str, kind: &str| {
        base().push("session/title", &format!(r#"{{"messageSeqs":{seqs},"source":{{"kind":"{kind}"}}}}"#))
    };
    check(&title("[3]", "fallback"), "valid");
    check(&title("[]", "user"), "valid");
    check(&title("[]", "fallback"), "storage L-8");
    check(&title("[3]", "user"), "storage L-8");
    check(&title("[3,3]", "fallback"), "storage L-8");
    check(&title("[5]", "fallback"), "storage L-8");
    let request = |seqs: &str, content: &str| {
        let message =
            format!(r#"{{"role":"user","source":{{"kind":"dsh-session-title-llm"}},"content":{content}}}"#);
        let data = format!(r#"{{"messageSeqs":{seqs},"messages":[{message}]}}"#);
        base().push("session/title-llm-request", &data)
    };
    check(&request("[3]", r#"[{"type":"text"}]"#), "valid");
    check(&request("[]", r#"[{"type":"text"}]"#), "storage L-8");
    check(&request("[3]", "[]"), "storage L-8");
    let run = base().push("command/run", r#"{"commandId":"m"}"#);
    let done =
        |log: &Log, rest: &str| log.clone().push("command/done", &format!(r#"{{"commandId":"m"{rest}}}"#));
    check(&done(&run, ""), "valid");
    check(&done(&done(&run, ""), ""), "valid");
    check(&done(&run, r#","kind":"success","sourceEventSeq":3"#), "valid");
    check(&done(&run, r#","kind":"error","sourceEventSeq":3"#), "storage L-9");
    check(&done(&run, r#","kind":"success","sourceEventSeq":10"#), "storage L-9");
    check(&done(&run, r#","kind":"success","sourceEventSeq":11"#), "storage L-9");
    check(&run.clone().push("command/run", r#"{"commandId":"m"}"#), "storage L-9");
    check(&done(&base(), ""), "storage L-9");
}

#[test]
fn deliveries_and_catalog() {
    let delivery = |log: Log, data: &str| log.push("session-log-deepseek/delivery-accepted", data);
    let of = |id: &str| format!(r#"{{"sessionId":"{id}","sessionFormatVersion":4,"throughSeq":0}}"#);
    check(&delivery(base(), &of("s-1")), "valid");
    check(&delivery(base(), &of("par")), "storage N-1");
    check(&delivery(base(), "{}"), "valid");
    check(&delivery(base(), r#"{"sessionFormatVersion":null}"#), "storage N-1");
    check(&delivery(base(), "null"), "storage N-1");
    check(&delivery(base(), &of("s-1").replace(":0", ":10")), "storage N-1");
    let marked = |log: Log| log.push("session/end-seed", r#"{"inherited":true}"#);
    check(&marked(delivery(base().seeded(), &of("par"))), "valid");
    check(&delivery(marked(base().seeded()), &of("par")), "storage N-1");
    let child = |log: Log, version: u64, mode: &str| {
        let data = format!(
            r#"{{"version":{version},"childId":"c","childCreatedAt":1,"mode":"{mode}","label":"L"}}"#
        );
        log.push("subagent/catalog", &data)
    };
    for (version, mode, good) in [
        (0, "continuable", true),
        (1, "one-shot", true),
        (1, "unknown", true),
        (2, "external", true),
        (0, "unknown", false),
        (1, "external", false),
        (2, "one-shot", false),
        (3, "one-shot", false),
        (0, "other", false),
    ] {
        check(&child(base(), version, mode), if good { "valid" } else { "storage N-2" });
    }
    check(&child(child(base(), 0, "one-shot"), 0, "one-shot"), "storage N-2");
    let inherited = child(child(base().seeded(), 0, "one-shot"), 9, "x");
    check(&child(marked(inherited.clone()), 0, "one-shot"), "valid");
    // Only the last inherited marker is the cut.
    check(&marked(child(marked(inherited), 9, "x")), "valid");
    check(&child(base(), 0, "continuable").edit(10, ",\"label\":\"L\"", ""), "storage N-2");
}

#[test]
fn the_first_stage_wins_but_unknown_types_come_behind_relations() {
    let unknown = base().push("zz/new", "{}");
    let storage = |log: &Log| log.judge().0;
    assert_eq!(storage(&unknown.clone().push("step/start", "{}")), "storage L-1");
    assert_eq!(storage(&unknown.clone().push("session-log-deepseek/delivery-accepted", "1")), "storage N-1");
    assert_eq!(storage(&unknown.push_with("todo/write", "1", ",\"surfaceOp\":1")), "storage A-2");
    let late = base().push("step/start", "{}").push("session-log-deepseek/delivery-accepted", "1");
    assert_eq!(storage(&late), "storage N-1");
}

#[test]
fn a_fault_says_where_and_what() {
    let doc = Doc::parse(base().0[4].replace("\"kind\":\"user\"", "\"kind\":\"plugin\"")).unwrap();
    let fault = admit_v4(doc.root()).unwrap_err();
    let place = Place { frame: 0, line: 5, byte: 500 };
    let error = fault.at(Event::from_row(doc.root(), place).at());
    assert_eq!(
        error.to_string(),
        "message without an admissible source (\"plugin\") [line 5, byte 500, seq 3, at /data/source/kind]"
    );
    let long = Doc::parse(format!("\"{}\"", "é".repeat(100))).unwrap();
    assert_eq!(shown(Some(long.root())).chars().count(), 61);
}

#[test]
fn admission_takes_any_value() {
    for text in
        ["null", "[]", "1", "{}", r#"{"type":1}"#, r#"{"type":"turn/start"}"#, r#"{"type":"user/message"}"#]
    {
        assert_eq!(admit_v4(Doc::parse(text).unwrap().root()), Ok(()), "{text}");
        assert_eq!(admit_v3(Doc::parse(text).unwrap().root()), Ok(()), "{text}");
    }
    assert!(admit_v4(Doc::parse(r#"{"type":"tool\/result"}"#).unwrap().root()).is_err());
}
