use std::fmt::Write as _;

use dshlog_codec::{Generation, Limits, LogFile};
use dshlog_tests::model::{Corpora, repository};

use super::*;

fn open(case: &str) -> LogFile {
    let home = repository().join("corpora").join(case).join("home");
    let walk = dshlog_codec::home::Walk::new(&home.join("sessions")).unwrap();
    let sessions = walk.sessions.iter();
    let largest = sessions.max_by_key(|session| session.newest().unwrap().len).unwrap();
    LogFile::open(&largest.newest().unwrap().path).unwrap()
}

/// All documents, and the state behind every event.
fn read(file: &LogFile) -> (Vec<Document>, Vec<Extractor>) {
    let mut walk = file.read(&Limits::default()).unwrap();
    let mut extractor = Extractor::new(&walk.header().clone());
    let (mut documents, mut states) = (Vec::new(), Vec::new());
    while let Some(event) = walk.next_event().unwrap() {
        extractor.see(&event, &mut |document| documents.push(document));
        states.push(extractor.clone());
    }
    (documents, states)
}

fn shown(documents: &[Document]) -> Vec<String> {
    let short = |text: &str| text.replace('\n', "⏎").chars().take(48).collect::<String>();
    let shown = |document: &Document| {
        let place = format!("{}.{}", document.turn.unwrap_or(0), document.step.unwrap_or(0));
        let tool = document.tool.as_deref().map(|tool| format!(" {tool}")).unwrap_or_default();
        let error = if document.is_error { "!" } else { "" };
        format!(
            "{}#{} {place} {}{tool}{error}: {}",
            document.seq,
            document.nth,
            document.part.name(),
            short(&document.text)
        )
    };
    documents.iter().map(shown).collect()
}

fn parts(case: &str, wanted: &[Part]) -> Vec<String> {
    let (documents, _) = read(&open(case));
    let documents: Vec<_> =
        documents.into_iter().filter(|document| wanted.contains(&document.part)).collect();
    shown(&documents)
}

/// A state that was written down goes on as the one that was not, wherever the log is cut.
#[test]
fn a_written_state_goes_on() {
    for case in ["v4-tools-parallel", "v4-compact", "v4-fork", "v4-subagent", "v4-retry-500", "v4-tool-error"]
    {
        let file = open(case);
        let (documents, states) = read(&file);
        for (at, state) in states.iter().enumerate() {
            let mut extractor: Extractor =
                serde_json::from_str(&serde_json::to_string(state).unwrap()).unwrap();
            let mut walk = file.read(&Limits::default()).unwrap();
            let mut rest = Vec::new();
            while let Some(event) = walk.next_event().unwrap() {
                if event.seq.0 > at as u64 {
                    extractor.see(&event, &mut |document| rest.push(document));
                }
            }
            let expected: Vec<_> =
                documents.iter().filter(|document| document.seq.0 > at as u64).cloned().collect();
            assert_eq!(rest, expected, "{case} behind {at}");
        }
    }
}

/// Every text of a log that a person would look for is in some document, once.
#[test]
fn every_text_is_found_once() {
    for entry in &Corpora::own().entries {
        let Ok(bytes) = entry.bytes() else { continue };
        let file = LogFile::from_bytes(bytes, entry.generation, entry.encoding);
        if entry.generation != Generation::CURRENT {
            continue;
        }
        let Ok(mut walk) = file.read_to_damage(&Limits::default()) else { continue };
        let mut extractor = Extractor::new(&walk.header().clone());
        while let Ok(Some(event)) = walk.next_event() {
            let mut documents = Vec::new();
            extractor.see(&event, &mut |document| documents.push(document));
            for (nth, document) in documents.iter().enumerate() {
                assert_eq!(document.nth as usize, nth);
                assert!(!document.text.trim().is_empty());
                assert!(!document.text.contains('\0'));
            }
            let blocks = match &*event.kind.to_lossy() {
                "user/message" => event.member("content"),
                "assistant/message" | "tool/result" | "system/message" => {
                    event.data.and_then(|data| data.path(&["message", "content"]))
                }
                _ => None,
            };
            for block in blocks.into_iter().flat_map(Js::elements) {
                let Some(text) = string(block.get("text")).filter(|text| !text.trim().is_empty()) else {
                    continue;
                };
                let text = text.replace('\0', "\u{fffd}");
                let found = documents.iter().filter(|document| document.text.contains(text.trim())).count();
                assert!(found >= 1, "{} {}: {text}", entry.case, event.seq);
            }
        }
    }
}

fn raw(is_seeded: bool, events: &[(&str, &str)]) -> LogFile {
    let mut text = format!(
        r#"{{"type":"session","version":4,"id":"s","createdAt":1,"isSeeded":{is_seeded},"delegationDepth":0}}"#
    );
    for (seq, (kind, data)) in events.iter().enumerate() {
        let op = if kind.ends_with("/message") || *kind == "tool/result" {
            r#","surfaceOp":"append""#
        } else {
            ""
        };
        write!(text, "\n{{\"type\":\"{kind}\",\"seq\":{seq},\"time\":{seq}{op},\"data\":{data}}}").unwrap();
    }
    text.push('\n');
    LogFile::from_bytes(text.into_bytes(), Generation::CURRENT, dshlog_codec::Encoding::Raw)
}

/// Read with another program than this: `zstd -dc`, and the rows looked at one by one.
#[test]
fn documents_of_real_logs() {
    let turns = [
        Part::Title,
        Part::Prompt,
        Part::Answer,
        Part::Reasoning,
        Part::Call,
        Part::Result,
        Part::Error,
        Part::Summary,
        Part::Todo,
    ];
    assert_eq!(
        parts("v4-tool-error", &turns),
        [
            "8#0 1.1 prompt: Fail twice",
            "12#0 1.1 title: Fail twice",
            "15#0 1.1 call bash: bash⏎description: Fail⏎command: echo bad >&2; ex",
            "15#1 1.1 call read: read⏎file_path: missing.txt",
            "18#0 1.1 title: Demo session",
            "21#0 1.1 result bash!: Error: sandbox mode \"workspace-write\" is request",
            "23#0 1.1 result read!: Error: cannot read \"/tmp/ws/project/missing.txt\"",
            "27#0 1.2 answer: Both failed.",
        ]
    );
    assert_eq!(
        parts("v4-retry-500", &turns),
        [
            "8#0 1.1 prompt: Try",
            "12#0 1.1 title: Try",
            "15#0 1.1 title: Demo session",
            "16#0 1.1 error!: SERVER⏎scripted failure⏎500",
            "20#0 1.1 answer: Recovered.",
        ]
    );
    assert_eq!(
        parts("v4-compact", &[Part::Summary, Part::Prompt]),
        [
            "8#0 1.1 prompt: One",
            "24#0 2.1 prompt: Two",
            "41#0 3.1 prompt: Three",
            "50#0 4.1 prompt: Four",
            "58#0 0.0 summary: ## Summary⏎The user asked for text; three long a",
            "66#0 5.1 prompt: Five",
        ]
    );
}

/// One event of each type that has a text, or none; shapes as `docs/spec/events-v4.md`, 6 and 7 write them.
#[test]
fn documents_of_each_type() {
    let model = r#""source":{"kind":"model","provider":"p","model":"m"}"#;
    let answer = format!(
        r#"{{"turn":1,"step":1,"stream":[],"message":{{"id":"a","role":"assistant",{model},"content":[{{"type":"reasoning","text":"think"}},{{"type":"text","text":"say"}},{{"type":"tool-call","id":"c","name":"write","arguments":"{{\"t\":\"\\u767b\\n\\\"q\\\"\"}}"}},{{"type":"tool-call","id":"d","name":"raw","arguments":"{{no json"}}]}}}}"#
    );
    let cases: &[(&str, &str, &[&str])] = &[
        ("session/title", r#"{"title":"T","messageSeqs":[],"source":{"kind":"user"}}"#, &["title: T"]),
        ("session/title", r#"{"title":" ","messageSeqs":[],"source":{"kind":"user"}}"#, &[]),
        (
            "user/message",
            r#"{"id":"u","role":"user","source":{"kind":"user"},"content":[{"type":"text","text":"a\u0000b\ud800"}]}"#,
            &["prompt: a\u{fffd}b\u{fffd}"],
        ),
        (
            "user/message",
            r#"{"id":"u","role":"user","source":{"kind":"user"},"content":[{"type":"image","attachment":{"attachmentId":"x"}}]}"#,
            &["prompt: [image]"],
        ),
        (
            "user/message",
            r#"{"id":"u","role":"user","source":{"kind":"user"},"content":[{"type":"text","text":"see"},{"type":"file","attachment":{"attachmentId":"x","name":"a.pdf"}}]}"#,
            &["prompt: see⏎a.pdf"],
        ),
        (
            "user/message",
            r#"{"id":"u","role":"user","source":{"kind":"webhook"},"content":[{"type":"text","text":"note"}]}"#,
            &["context: note"],
        ),
        ("user/message", r#"{"id":"u","role":"user","source":{"kind":"user"},"content":["x",1]}"#, &[]),
        (
            "assistant/message",
            &answer,
            &["reasoning: think", "answer: say", "call write: write⏎t: 登⏎\"q\"", "call raw: raw⏎{no json"],
        ),
        ("tool/call", r#"{"turn":1,"step":1,"callId":"c","name":"write","arguments":"{}"}"#, &[]),
        (
            "assistant/attempt",
            r#"{"turn":1,"step":1,"stream":[{"type":"text-chunks","time0":1,"index":0,"dt":[1],"texts":["half ","done"]},{"type":"chunk","time":3,"chunk":{"type":"finish","reason":{"kind":"error","failure":{"message":"gone","code":"NETWORK"}}}}]}"#,
            &["answer!: half done", "error!: NETWORK⏎gone"],
        ),
        (
            "tool/result",
            r#"{"turn":1,"step":1,"message":{"id":"r","role":"tool","toolCallId":"x","source":{"kind":"tool","callId":"x"},"isError":true,"content":[{"type":"text","text":"bad"}]},"error":{"name":"FsError","code":"FS_NOT_FOUND"}}"#,
            &["result!: bad⏎FsError⏎FS_NOT_FOUND"],
        ),
        ("turn/end", r#"{"turn":1,"reason":{"kind":"completed"}}"#, &[]),
        (
            "turn/end",
            r#"{"turn":1,"reason":{"kind":"error","error":{"message":"no key","code":"AUTH"}}}"#,
            &["error!: error⏎no key⏎AUTH"],
        ),
        (
            "turn/end",
            r#"{"turn":1,"reason":{"kind":"aborted","reason":{"kind":"hook","reason":"not on main"}}}"#,
            &["error: aborted⏎hook⏎not on main"],
        ),
        ("compaction/summary", r#"{"summary":[{"type":"text","text":"so far"}]}"#, &["summary: so far"]),
        ("todo/write", r#"{"todos":[{"content":"sweep","status":"pending"}]}"#, &["todo: sweep⏎pending"]),
        (
            "command/run",
            r#"{"commandId":"c1","name":"compact","args":"keep it"}"#,
            &["context: compact⏎keep it"],
        ),
        ("approval/asked", r#"{"id":"i","toolName":"bash","reason":"writes"}"#, &["system: bash⏎writes"]),
        (
            "hook/result",
            r#"{"turn":1,"point":"p","handlerId":"h","decision":"deny","stderrSummary":"E1"}"#,
            &["system: E1"],
        ),
        ("feedback/record", r#"{"text":"nice"}"#, &["context: nice"]),
        ("working-directory/change", r#"{"cwd":"/srv/x"}"#, &["system: /srv/x"]),
        ("plan/mode", r#"{"active":true}"#, &[]),
    ];
    for (kind, data, expected) in cases {
        let (documents, _) = read(&raw(false, &[(kind, data)]));
        let found: Vec<_> = shown(&documents)
            .into_iter()
            .map(|line| line.splitn(3, ' ').nth(2).unwrap_or_default().to_owned())
            .collect();
        assert_eq!(found, *expected, "{kind} {data}");
    }
}

#[test]
fn attachments_are_told_beside_the_text() {
    let data = r#"{"id":"u","role":"user","source":{"kind":"user"},"content":[{"type":"file","attachment":{"attachmentId":"x","name":"a.pdf"}},{"type":"image","attachment":{"attachmentId":"y"}}]}"#;
    let (documents, _) = read(&raw(false, &[("user/message", data)]));
    let told: Vec<_> = documents.iter().map(|document| (document.has_file, document.has_image)).collect();
    assert_eq!(told, [(true, true)]);
}

/// Of several marks the last one counts (`docs/spec/events-v4.md`, 9).
#[test]
fn a_fork_of_a_fork_inherits_up_to_its_last_mark() {
    let prompt =
        r#"{"id":"u","role":"user","source":{"kind":"user"},"content":[{"type":"text","text":"x"}]}"#;
    let (prompt, mark) = (("user/message", prompt), ("session/end-seed", r#"{"inherited":true}"#));
    let file = raw(true, &[prompt, mark, prompt, mark, prompt]);
    let mut walk = file.read(&Limits::default()).unwrap();
    let header = walk.header().clone();
    while walk.next_event().unwrap().is_some() {}
    let cut = walk.take_end().cut;
    assert_eq!(cut, 3);
    let inherited = |mut extractor: Extractor| {
        let mut walk = file.read(&Limits::default()).unwrap();
        let mut seen = Vec::new();
        while let Some(event) = walk.next_event().unwrap() {
            extractor.see(&event, &mut |document| seen.push((document.seq.0, document.is_inherited)));
        }
        (seen, extractor.has_missed_copies(cut))
    };
    let (_, has_missed) = inherited(Extractor::new(&header));
    assert!(has_missed);
    let known = inherited(Extractor::with_inherited(&header, cut));
    assert_eq!(known, (vec![(0, true), (2, true), (4, false)], false));
}
