//! What each rule hides and what it must not hide; what is aligned with what.

use std::convert::Infallible;

use dshlog_codec::header::CwdRule;
use dshlog_codec::json::Doc;

use super::*;

/// A log of rows.
struct Log {
    header: Header,
    rows: Vec<String>,
}

impl Source for Log {
    type Error = Infallible;

    fn header(&self) -> Header {
        self.header.clone()
    }

    fn each(&self, see: &mut dyn FnMut(&Event<'_>)) -> Result<(), Infallible> {
        for row in &self.rows {
            let doc = Doc::parse(row.as_str()).unwrap();
            see(&Event::from_row(doc.root(), Place::default()));
        }
        Ok(())
    }
}

/// A type, a payload, and more members of the row.
type Row<'r> = (&'r str, &'r str, &'r str);

/// A log with these events, in the folder `/tmp/<folder>`; times begin at `time`.
fn log_in(folder: &str, time: u64, rows: &[Row<'_>]) -> Log {
    let header = format!(
        r#"{{"type":"session","version":4,"id":"session-{time}","createdAt":{time},"cwd":"/tmp/{folder}","isSeeded":false,"delegationDepth":0}}"#
    );
    let rows = rows
        .iter()
        .enumerate()
        .map(|(seq, (kind, data, more))| {
            format!(r#"{{"type":"{kind}","seq":{seq},"time":{},"data":{data}{more}}}"#, time + seq as u64)
        })
        .collect();
    Log { header: Header::parse(&header, CwdRule::Any).unwrap(), rows }
}

fn compared(a: &Log, b: &Log, rules: Rules) -> Comparison {
    let Ok(comparison) = compare(a, b, rules);
    comparison
}

/// One place at which two logs differ, as `pointer a|b`, or what else is different.
fn told(comparison: &Comparison, a: &Log, b: &Log) -> Vec<String> {
    let mut told: Vec<String> =
        comparison.header().iter().map(|change| format!("header{}", change.pointer())).collect();
    for difference in comparison.differences() {
        let entry = comparison.entries()[difference.first];
        let row = |log: &Log, seq: Option<Seq>| log.rows[usize::try_from(seq.unwrap().0).unwrap()].clone();
        let seq = |seq: Option<Seq>| seq.map_or("-".to_owned(), |seq| seq.to_string());
        if difference.verdict == Verdict::Changed {
            for change in comparison.changes(difference.first, &row(a, entry.a), &row(b, entry.b)) {
                told.push(format!("{}|{} {}", seq(entry.a), seq(entry.b), change.pointer()));
            }
        } else {
            let extent = match difference.verdict {
                Verdict::MissingTurn => "turn",
                Verdict::MissingStep => "step",
                Verdict::Moved => "moved",
                _ => "event",
            };
            told.push(format!("{}|{} {extent} of {}", seq(entry.a), seq(entry.b), difference.events));
        }
    }
    assert_eq!(told.is_empty(), comparison.is_equal());
    told
}

const ONE: &str = "0ebebd21-9413-496b-bf39-11b5abf33390";
const TWO: &str = "6c618375-bcf3-4a58-b132-0d488880c576";
const THREE: &str = "3167708e-3f7d-426f-ad33-6c75040bc5bc";

/// Events of two logs: the rule hides their difference, and nothing else does.
#[track_caller]
fn hides(rule: Rule, a: &[Row<'_>], b: &[Row<'_>]) {
    let (a, b) = (log_in("a", 1000, a), log_in("b", 5000, b));
    let with = told(&compared(&a, &b, Rules::default().with(rule)), &a, &b);
    assert!(with.is_empty(), "{rule:?} does not hide {with:?}");
    let without = told(&compared(&a, &b, Rules::default().without(rule)), &a, &b);
    // The header has ids, times and folders of its own.
    assert!(without.iter().any(|place| !place.starts_with("header")), "{rule:?} is not what hides it");
}

/// Events of two logs whose difference is seen, whatever holds: at `place`.
#[track_caller]
fn shows(a: &[Row<'_>], b: &[Row<'_>], place: &str) {
    let (a, b) = (log_in("a", 1000, a), log_in("b", 5000, b));
    let rules = Rules::default().with(Rule::Chunks);
    assert_eq!(told(&compared(&a, &b, rules), &a, &b), [place]);
}

#[test]
fn ids() {
    let user = |id: &str| format!(r#"{{"id":"{id}","role":"user","content":[],"source":{{"kind":"user"}}}}"#);
    let append = r#","surfaceOp":"append""#;
    hides(Rule::Ids, &[("user/message", &user(ONE), append)], &[("user/message", &user(TWO), append)]);
    // Links count.
    let retry = |id: &str| format!(r#"{{"retryId":"{id}","retry":1}}"#);
    let (one, two, three) = (retry(ONE), retry(TWO), retry(THREE));
    hides(
        Rule::Ids,
        &[("llm/retry", &one, ""), ("llm/retry-started", &one, "")],
        &[("llm/retry", &two, ""), ("llm/retry-started", &two, "")],
    );
    shows(
        &[("llm/retry", &one, ""), ("llm/retry-started", &one, "")],
        &[("llm/retry", &two, ""), ("llm/retry-started", &three, "")],
        "1|1 /data/retryId",
    );
    // One name may not stand for two.
    shows(
        &[("llm/retry", &one, ""), ("llm/retry", &two, "")],
        &[("llm/retry", &one, ""), ("llm/retry", &one, "")],
        "1|1 /data/retryId",
    );
}

/// A drawn name is one wherever it stands, before and behind the event that it belongs to.
#[test]
fn ids_in_texts() {
    let child = |id: &str| format!(r#"{{"childId":"{id}","childCreatedAt":1,"mode":"unknown"}}"#);
    let says = |id: &str| format!(r#"{{"text":"started {id}."}}"#);
    let (one, two, three) = (child(ONE), child(TWO), child(THREE));
    hides(
        Rule::Ids,
        &[("feedback/record", &says(ONE), ""), ("subagent/catalog", &one, "")],
        &[("feedback/record", &says(TWO), ""), ("subagent/catalog", &two, "")],
    );
    shows(
        &[
            ("subagent/catalog", &one, ""),
            ("subagent/catalog", &two, ""),
            ("feedback/record", &says(ONE), ""),
        ],
        &[
            ("subagent/catalog", &two, ""),
            ("subagent/catalog", &three, ""),
            ("feedback/record", &says(THREE), ""),
        ],
        "2|2 /data/text",
    );
    // What only looks like a drawn name is text.
    shows(&[("feedback/record", &says(ONE), "")], &[("feedback/record", &says(TWO), "")], "0|0 /data/text");
}

/// A model may use a name again for a later call; within one, all that belongs to the call has its name.
#[test]
fn names_of_calls() {
    let answer = |id: &str| {
        format!(
            r#"{{"turn":1,"step":1,"message":{{"id":"{ONE}","content":[{{"type":"tool-call","id":"{id}","name":"x"}}]}},"stream":[{{"type":"tool-call-chunks","id":"{id}","args":["{{}}"]}}]}}"#
        )
    };
    let call = |id: &str| format!(r#"{{"turn":1,"step":1,"callId":"{id}","name":"x"}}"#);
    let rows = |first: &str, second: &str, called: &str| -> Vec<(&'static str, String)> {
        vec![
            ("assistant/message", answer(first)),
            ("tool/call", call(first)),
            ("assistant/message", answer(second)),
            ("tool/call", call(called)),
        ]
    };
    let row = |(kind, data): &(&'static str, String)| -> (&'static str, String) { (*kind, data.clone()) };
    let check = |a: Vec<(&'static str, String)>, b: Vec<(&'static str, String)>, expected: &[&str]| {
        let (a, b): (Vec<_>, Vec<_>) = (a.iter().map(row).collect(), b.iter().map(row).collect());
        let borrowed = |rows: &[(&'static str, String)]| -> Log {
            let rows: Vec<Row<'_>> = rows.iter().map(|(kind, data)| (*kind, data.as_str(), "")).collect();
            log_in("a", 1000, &rows)
        };
        let (a, b) = (borrowed(&a), borrowed(&b));
        assert_eq!(told(&compared(&a, &b, Rules::default()), &a, &b), expected);
    };
    check(rows("c1", "c1", "c1"), rows("c1", "c2", "c2"), &[]);
    check(rows("c1", "c1", "c1"), rows("c1", "c2", "c1"), &["3|3 /data/callId"]);
}

/// The id of a result that closes an open call has its call and its seq in it.
#[test]
fn ids_of_closers() {
    let result = |call: &str, id: &str| {
        format!(
            r#"{{"turn":1,"step":1,"message":{{"id":"{id}","role":"tool","toolCallId":"{call}","source":{{"kind":"tool","callId":"{call}"}},"content":[]}}}}"#
        )
    };
    let todo = ("todo/write", "null", "");
    hides(
        Rule::Ids,
        &[("tool/result", &result("c1", "interrupted-tool-result-c1-0"), "")],
        &[("tool/result", &result("c2", "interrupted-tool-result-c2-0"), "")],
    );
    let (a, b) = (
        log_in("a", 1000, &[todo, ("tool/result", &result("c1", "interrupted-tool-result-c1-1"), "")]),
        log_in("a", 1000, &[todo, todo, ("tool/result", &result("c1", "interrupted-tool-result-c1-2"), "")]),
    );
    assert_eq!(told(&compared(&a, &b, Rules::default()), &a, &b), ["-|1 event of 1"]);
    shows(
        &[("tool/result", &result("c1", "interrupted-tool-result-c1-0"), "")],
        &[("tool/result", &result("c1", "forked-tool-result-c1-0"), "")],
        "0|0 /data/message/id",
    );
}

#[test]
fn times() {
    hides(
        Rule::Times,
        &[("llm/retry", r#"{"delayMs":477.97,"maxRetries":5}"#, "")],
        &[("llm/retry", r#"{"delayMs":908.9,"maxRetries":5}"#, "")],
    );
    shows(
        &[("llm/retry", r#"{"delayMs":477.97,"maxRetries":5}"#, "")],
        &[("llm/retry", r#"{"delayMs":908.9,"maxRetries":6}"#, "")],
        "0|0 /data/maxRetries",
    );
    // That there is a time counts.
    shows(
        &[("job/settled", r#"{"startedAt":1,"finishedAt":2}"#, "")],
        &[("job/settled", r#"{"startedAt":1}"#, "")],
        "0|0 /data/finishedAt",
    );
}

#[test]
fn folders() {
    let says = |text: &str| format!(r#"{{"text":"{text}"}}"#);
    let row = |text: &str| says(text);
    hides(
        Rule::Folders,
        &[("feedback/record", &row(r"read\n/tmp/a/x.txt and /tmp/a."), "")],
        &[("feedback/record", &row(r"read\n/tmp/b/x.txt and /tmp/b."), "")],
    );
    for (a, b) in [
        ("/tmp/a/x.txt", "/tmp/b/y.txt"),
        ("/tmp/a2/x", "/tmp/b2/x"),
        ("/tmp/a.d/x", "/tmp/b.d/x"),
        ("/var/tmp/a/x", "/var/tmp/b/x"),
        ("/tmp/a", "/tmp/c"),
    ] {
        let (a, b) = (row(a), row(b));
        shows(&[("feedback/record", &a, "")], &[("feedback/record", &b, "")], "0|0 /data/text");
    }
}

#[test]
fn ports() {
    let ends = |text: &str| format!(r#"{{"reason":{{"kind":"error","error":{{"message":"{text}"}}}}}}"#);
    let (a, b) = (ends("connect http://127.0.0.1:4000/v1"), ends("connect http://127.0.0.1:51234/v1"));
    hides(Rule::Ports, &[("turn/end", &a, "")], &[("turn/end", &b, "")]);
    for (a, b) in [
        ("http://127.0.0.1:4000/v1", "http://127.0.0.1:4000/v2"),
        ("http://10.0.0.1:4000/v1", "http://10.0.0.1:4001/v1"),
        ("http://127.0.0.1:4000/v1", "http://localhost:4000/v1"),
    ] {
        let (a, b) = (ends(a), ends(b));
        shows(&[("turn/end", &a, "")], &[("turn/end", &b, "")], "0|0 /data/reason/error/message");
    }
    // Only where something failed.
    let result = |port: u64, error: bool| {
        format!(
            r#"{{"message":{{"isError":{error},"content":[{{"type":"text","text":"at localhost:{port}"}}]}}}}"#
        )
    };
    hides(Rule::Ports, &[("tool/result", &result(1, true), "")], &[("tool/result", &result(2, true), "")]);
    shows(
        &[("tool/result", &result(1, false), "")],
        &[("tool/result", &result(2, false), "")],
        "0|0 /data/message/content/0/text",
    );
}

#[test]
fn versions() {
    hides(
        Rule::Versions,
        &[("subagent/descriptor", r#"{"version":3,"mode":"one-shot"}"#, "")],
        &[("subagent/descriptor", r#"{"version":2,"mode":"one-shot"}"#, "")],
    );
    shows(
        &[("subagent/descriptor", r#"{"version":3,"mode":"one-shot"}"#, "")],
        &[("subagent/descriptor", r#"{"version":2,"mode":"continuable"}"#, "")],
        "0|0 /data/mode",
    );
}

const ACCEPTED: Row<'_> = ("session-log-deepseek/delivery-accepted", r#"{"throughSeq":0}"#, "");
const TITLE: Row<'_> = ("session/title", r#"{"title":"T","messageSeqs":[],"source":{"kind":"user"}}"#, "");
const TODO: Row<'_> = ("todo/write", r#"{"todos":[]}"#, "");
const PLAN: Row<'_> = ("plan/mode", r#"{"active":true}"#, "");

#[test]
fn floating() {
    hides(Rule::Floating, &[TITLE, TODO, PLAN], &[TODO, PLAN, TITLE]);
    hides(Rule::Floating, &[TODO, ACCEPTED, PLAN, ACCEPTED], &[TODO, PLAN]);
    // What it says counts, and that it comes.
    let other = ("session/title", r#"{"title":"U","messageSeqs":[],"source":{"kind":"user"}}"#, "");
    shows(&[TITLE, TODO], &[TODO, other], "0|1 /data/title");
    shows(&[TITLE, TODO], &[TODO], "0|- event of 1");
    // Others stand where they stand.
    let preset = ("permission/preset", r#"{"preset":"p"}"#, "");
    shows(&[PLAN, preset], &[preset, PLAN], "1|0 moved of 1");
}

/// Results of calls that run side by side come as they are ready.
#[test]
fn floating_results() {
    let result = |call: &str, text: &str| {
        format!(
            r#"{{"message":{{"id":"{call}","toolCallId":"{call}","content":[{{"type":"text","text":"{text}"}}]}}}}"#
        )
    };
    let (one, two) = (result("c1", "one"), result("c2", "two"));
    hides(
        Rule::Floating,
        &[("tool/result", &one, ""), ("tool/result", &two, "")],
        &[("tool/result", &two, ""), ("tool/result", &one, "")],
    );
}

#[test]
fn seqs() {
    let title =
        |seqs: &str| format!(r#"{{"title":"T","messageSeqs":{seqs},"source":{{"kind":"fallback"}}}}"#);
    let user = |text: &str| format!(r#"{{"id":"u","content":[{{"type":"text","text":"{text}"}}]}}"#);
    let (one, two) = (user("one"), user("two"));
    let a: &[Row<'_>] =
        &[("user/message", &one, ""), ("user/message", &two, ""), ("session/title", &title("[0]"), "")];
    let b: &[Row<'_>] =
        &[PLAN, ("user/message", &one, ""), ("user/message", &two, ""), ("session/title", &title("[1]"), "")];
    let wrong: &[Row<'_>] =
        &[PLAN, ("user/message", &one, ""), ("user/message", &two, ""), ("session/title", &title("[2]"), "")];
    shows(a, b, "-|0 event of 1");
    let (a, wrong) = (log_in("a", 1, a), log_in("a", 1, wrong));
    assert_eq!(
        told(&compared(&a, &wrong, Rules::default()), &a, &wrong),
        ["-|0 event of 1", "2|3 /data/messageSeqs"]
    );
    // The prompt of a request for a title quotes them.
    let asks = |seq: u64| {
        format!(r#"{{"messages":[{{"content":[{{"text":"of\n[{{\"seq\":{seq},\"text\":\"hi\"}}]"}}]}}]}}"#)
    };
    let logs = [asks(0), asks(1)];
    let title = "session/title-llm-request";
    shows(
        &[("user/message", &one, ""), (title, &logs[0], "")],
        &[PLAN, ("user/message", &one, ""), (title, &logs[1], "")],
        "-|0 event of 1",
    );
    shows(
        &[("user/message", &one, ""), ("user/message", &two, ""), (title, &logs[0], "")],
        &[("user/message", &one, ""), ("user/message", &two, ""), (title, &logs[1], "")],
        "2|2 /data/messages/0/content/0/text",
    );
}

#[test]
fn usage_and_chunks_only_when_asked() {
    let answer = |tokens: u64, texts: &str| {
        format!(
            r#"{{"turn":1,"step":1,"usage":{{"inputTokens":{tokens}}},"stream":[{{"type":"text-chunks","time0":1,"index":0,"dt":[],"texts":{texts}}}]}}"#
        )
    };
    let check = |a: &str, b: &str, rule: Rule, places: &[&str]| {
        let (a, b) = (
            log_in("a", 1, &[("assistant/message", a, "")]),
            log_in("a", 1, &[("assistant/message", b, "")]),
        );
        assert!(compared(&a, &b, Rules::default().with(rule)).is_equal(), "{rule:?}");
        assert_eq!(told(&compared(&a, &b, Rules::default()), &a, &b), places);
    };
    check(&answer(1, r#"["ab"]"#), &answer(2, r#"["ab"]"#), Rule::Usage, &["0|0 /data/usage/inputTokens"]);
    check(
        &answer(1, r#"["a","b"]"#),
        &answer(1, r#"["ab",""]"#),
        Rule::Chunks,
        &["0|0 /data/stream/0/texts/0", "0|0 /data/stream/0/texts/1"],
    );
    let (a, b) = (answer(1, r#"["a","b"]"#), answer(1, r#"["a","c"]"#));
    shows(&[("assistant/message", &a, "")], &[("assistant/message", &b, "")], "0|0 /data/stream/0/texts");
}

/// A name or a folder may be cut in two by the pieces of a stream.
#[test]
fn names_across_pieces() {
    let answer =
        |texts: &str| format!(r#"{{"turn":1,"step":1,"stream":[{{"type":"text-chunks","texts":{texts}}}]}}"#);
    let job = |id: &str| format!(r#"{{"jobId":"{id}"}}"#);
    hides(
        Rule::Ids,
        &[
            ("job/registered", &job("bash-8ec97d7d0dbb4357"), ""),
            ("assistant/message", &answer(r#"["see bash-8ec9","7d7d0dbb4357!"]"#), ""),
        ],
        &[
            ("job/registered", &job("bash-9a9ac9d55a7147eb"), ""),
            ("assistant/message", &answer(r#"["see bash-9a9a","c9d55a7147eb!"]"#), ""),
        ],
    );
    hides(
        Rule::Folders,
        &[("assistant/message", &answer(r#"["in /tm","p/a/x"]"#), "")],
        &[("assistant/message", &answer(r#"["in /tm","p/b/x"]"#), "")],
    );
}

/// A turn of one step, whose user says something; `step` more steps.
fn turn(number: u64, says: &str, steps: &[&str]) -> Vec<(&'static str, String)> {
    let mut rows = vec![
        (
            "agent/inbox/spliced",
            format!(r#"{{"target":"next-turn","start":0,"inserted":[{{"id":"{says}-1","content":[]}}]}}"#),
        ),
        ("turn/start", format!(r#"{{"turn":{number}}}"#)),
    ];
    for (at, answer) in steps.iter().enumerate() {
        let step = at + 1;
        rows.push(("step/start", format!(r#"{{"turn":{number},"step":{step}}}"#)));
        if step == 1 {
            rows.push((
                "user/message",
                format!(r#"{{"id":"{says}-1","content":[{{"type":"text","text":"{says}"}}]}}"#),
            ));
        }
        rows.push(("assistant/message", format!(r#"{{"turn":{number},"step":{step},"message":{{"id":"m","content":[{{"type":"text","text":"{answer}"}}]}}}}"#)));
        rows.push(("step/end", format!(r#"{{"turn":{number},"step":{step}}}"#)));
    }
    rows.push(("turn/end", format!(r#"{{"turn":{number},"reason":{{"kind":"completed"}}}}"#)));
    rows
}

fn turns(turns: &[Vec<(&'static str, String)>]) -> Log {
    let rows: Vec<Row<'_>> = turns.iter().flatten().map(|(kind, data)| (*kind, data.as_str(), "")).collect();
    log_in("a", 1000, &rows)
}

#[track_caller]
fn check_turns(a: &[Vec<(&'static str, String)>], b: &[Vec<(&'static str, String)>], expected: &[&str]) {
    let (a, b) = (turns(a), turns(b));
    assert_eq!(told(&compared(&a, &b, Rules::default()), &a, &b), expected);
}

#[test]
fn one_more_turn_makes_no_other_difference() {
    let a = [turn(1, "one", &["ok"]), turn(2, "two", &["well", "done"]), turn(3, "three", &["bye"])];
    let b = [
        turn(1, "one", &["ok"]),
        turn(2, "new", &["hm"]),
        turn(3, "two", &["well", "done"]),
        turn(4, "three", &["bye"]),
    ];
    check_turns(&a, &b, &["-|7 turn of 7"]);
    check_turns(&b, &a, &["7|- turn of 7"]);
    // A changed one is found beside it.
    let c = [turn(1, "one", &["ok"]), turn(2, "two", &["well", "gone"]), turn(3, "three", &["bye"])];
    check_turns(&c, &b, &["-|7 turn of 7", "14|21 /data/message/content/0/text"]);
}

#[test]
fn one_more_step_makes_no_other_difference() {
    let a = [turn(1, "one", &["a", "b", "c"])];
    let b = [turn(1, "one", &["a", "c"])];
    check_turns(&a, &b, &["6|- step of 3"]);
    check_turns(&b, &a, &["-|6 step of 3"]);
}

#[test]
fn turns_that_are_numbered_wrongly_are_seen() {
    let a = [turn(1, "one", &["a"]), turn(2, "two", &["b"])];
    let mut b = a.clone();
    let last = b[1].last_mut().unwrap();
    last.1 = last.1.replace("\"turn\":2", "\"turn\":1");
    check_turns(&a, &b, &["13|13 /data/turn"]);
}

/// A turn that was never closed ends where the next begins; what stands idle between them is counted to it.
#[test]
fn open_turns() {
    let mut open = turn(1, "one", &["a"]);
    open.pop();
    let a = [open.clone(), turn(2, "two", &["b"])];
    check_turns(&a, &a, &[]);
    check_turns(&a, &[open], &["6|- event of 1", "7|- turn of 6"]);
}

#[test]
fn counts_and_standings() {
    let (a, b) = (
        turns(&[turn(1, "one", &["ok"]), turn(2, "two", &["x"])]),
        turns(&[turn(1, "one", &["ok"]), turn(2, "two", &["y"]), turn(3, "three", &["z"])]),
    );
    let comparison = compared(&a, &b, Rules::default());
    let counts = comparison.counts(|_| true);
    assert_eq!((counts.a, counts.b, counts.equal), (14, 21, 13));
    assert_eq!((counts.changed, counts.only_a, counts.only_b, counts.differences()), (1, 0, 7, 8));
    let of_turn = comparison.counts(|entry| comparison.turn_of(entry) == Some(2));
    assert_eq!((of_turn.a, of_turn.changed, of_turn.only_b), (6, 1, 0));
    let standing = comparison.standing(Side::B, Seq(18)).unwrap();
    assert_eq!(
        (standing.kind.as_str(), standing.turn, standing.step),
        ("assistant/message", Some(3), Some(1))
    );
    assert_eq!(comparison.standing(Side::A, Seq(14)), None);
    assert_eq!((comparison.turns(Side::A), comparison.turns(Side::B)), (2, 3));
}

#[test]
fn the_first_difference() {
    let first = |a: &Log, b: &Log| {
        let Ok(first) = compared(a, b, Rules::default()).first_difference(a, b);
        first
    };
    let a = turns(&[turn(1, "one", &["ok", "so"])]);
    let b = turns(&[turn(1, "one", &["ok", "no"]), turn(2, "two", &["x"])]);
    assert_eq!(first(&a, &a), None);
    let found = first(&a, &b).unwrap();
    let (one, other) = (found.a.unwrap(), found.b.unwrap());
    assert_eq!((found.verdict, one.seq, other.step), (Verdict::Changed, Seq(7), Some(2)));
    let change = found.change.unwrap();
    assert_eq!(change.pointer(), "/data/message/content/0/text");
    assert_eq!(
        (change.a.unwrap().value, change.b.unwrap().value),
        (r#""so""#.to_owned(), r#""no""#.to_owned())
    );
    let found = first(&b, &turns(&[turn(1, "one", &["ok", "no"])])).unwrap();
    assert_eq!((found.verdict, found.b, found.change), (Verdict::MissingTurn, None, None));
}

#[test]
fn headers() {
    let a = log_in("a", 1000, &[]);
    let mut b = log_in("b", 2000, &[]);
    assert!(compared(&a, &b, Rules::default()).is_equal());
    let kept = Rules::default().without(Rule::Times).without(Rule::Folders).without(Rule::Ids);
    assert_eq!(told(&compared(&a, &b, kept), &a, &b), ["header/id", "header/createdAt", "header/cwd"]);
    b.header.is_subagent = true;
    assert_eq!(told(&compared(&a, &b, Rules::default()), &a, &b), ["header/origin"]);
}

#[test]
fn messages() {
    let survey = Survey::new(&log_in("a", 1000, &[]).header, Rules::default());
    let list = |texts: &[(&str, &str, &str)]| -> (Vec<String>, Vec<Form>) {
        let texts: Vec<String> = texts
            .iter()
            .map(|(role, id, text)| {
                format!(r#"{{"id":"{id}","role":"{role}","content":[{{"type":"text","text":"{text}"}}]}}"#)
            })
            .collect();
        let forms = texts.iter().map(|text| Form::message(text, &survey).unwrap()).collect();
        (texts, forms)
    };
    let (texts_a, forms_a) = list(&[("user", "1", "hi"), ("assistant", "2", "yes"), ("user", "3", "bye")]);
    let (texts_b, forms_b) =
        list(&[("user", "7", "hi"), ("assistant", "8", "no"), ("tool", "9", "t"), ("user", "3", "bye")]);
    let forms = Forms::align(&forms_a, &forms_b);
    let told: Vec<String> = forms
        .matches()
        .iter()
        .map(|found| match (found.a, found.b) {
            (Some(a), Some(b)) => {
                let changes = forms.changes(found, (&texts_a[a], &survey), (&texts_b[b], &survey));
                assert_eq!(changes.is_empty(), found.is_equal());
                format!("{a}-{b} {}", changes.first().map_or("", Change::pointer))
            }
            (a, b) => format!("{a:?}-{b:?}"),
        })
        .collect();
    assert_eq!(told, ["0-0 ", "1-1 /content/0/text", "None-Some(2)", "2-3 "]);
}
