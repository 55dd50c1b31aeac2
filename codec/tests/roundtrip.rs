//! Encode, then decode, is the identity: arbitrary valid event sequences, written as dsh writes them, in both encodings and any
//! framing.
#![expect(clippy::unwrap_used, reason = "a test may stop")]

use dshlog_codec::check::Checker;
use dshlog_codec::json::Doc;
use dshlog_codec::{Encoding, Event, Generation, Limits, LogFile, Place};
use proptest::prelude::*;

/// JSON text as JavaScript prints it.
fn json() -> impl Strategy<Value = String> {
    let text = prop_oneof![
        "[a-z ]{0,12}",
        Just("日志 😀".to_owned()),
        Just("\\ud83d".to_owned()),
        Just("\\\"\\\\\\n\\u0001".to_owned()),
    ]
    .prop_map(|text| format!("\"{text}\""));
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|b| b.to_string()),
        (-9_007_199_254_740_991i64..=9_007_199_254_740_991).prop_map(|n| n.to_string()),
        prop::sample::select(vec!["1.5", "1e+21", "5e-324", "1e-7", "0.000001", "12345678901234567000"])
            .prop_map(str::to_owned),
        text,
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec(inner, 0..5).prop_map(|items| {
                let members: Vec<_> =
                    items.iter().enumerate().map(|(i, v)| format!("\"k{i}\":{v}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

/// What an event is, before it has a seq.
#[derive(Clone, Debug)]
enum Kind {
    /// A known type whose payload nobody interprets.
    Opaque(&'static str, String),
    /// An unknown type that a reader may pass over.
    Unknown(String),
    /// A user message on the surface.
    User(String),
    /// A user message in place of the surface nodes from the one back to the other.
    Replace(usize, usize),
    Marker,
}

fn kind() -> impl Strategy<Value = Kind> {
    let opaque =
        prop::sample::select(vec!["todo/write", "plan/mode", "goal/change", "job/settled", "sandbox/mode"]);
    prop_oneof![
        4 => (opaque, json()).prop_map(|(kind, data)| Kind::Opaque(kind, data)),
        2 => json().prop_map(Kind::Unknown),
        4 => json().prop_map(Kind::User),
        2 => (0usize..6, 0usize..6).prop_map(|(a, b)| Kind::Replace(a, b)),
        1 => Just(Kind::Marker),
    ]
}

/// The events as logical lines, with plain lists of sources.
fn events(kinds: &[(Kind, i64)]) -> Vec<String> {
    let mut surface: Vec<usize> = Vec::new();
    let mut lines = Vec::new();
    for (seq, (kind, time)) in kinds.iter().enumerate() {
        let head = |kind: &str| format!("{{\"type\":\"{kind}\",\"seq\":{seq},\"time\":{time},\"data\":");
        let user = |content: &str| {
            format!(
                "{{\"id\":\"m{seq}\",\"role\":\"user\",\"content\":[{content}],\"source\":{{\"kind\":\"user\"}}}}"
            )
        };
        let line = match kind {
            Kind::Opaque(kind, data) => format!("{}{data}}}", head(kind)),
            Kind::Unknown(data) => format!("{}{data},\"ignorable\":true}}", head("plugin:x/y")),
            Kind::Marker => format!("{}{{}}}}", head("session/end-seed")),
            Kind::Replace(a, b) if !surface.is_empty() => {
                let last = surface.len() - 1;
                let (a, b) = (a.min(&last), b.min(&last));
                let (from, to) = (last - a.max(b), last - a.min(b));
                let mut sources: Vec<usize> = surface[from..=to].to_vec();
                let (start, end) = (surface[from], surface[to]);
                sources.sort_unstable();
                let cited: Vec<String> = sources.iter().map(usize::to_string).collect();
                surface.splice(from..=to, [seq]);
                format!(
                    "{}{},\"sourceEventSeqs\":[{}],\"surfaceOp\":{{\"op\":\"replace\",\"startSeq\":{start},\"endSeq\":{end}}}}}",
                    head("user/message"),
                    user("1"),
                    cited.join(",")
                )
            }
            Kind::Replace(..) | Kind::User(_) => {
                surface.push(seq);
                let content = if let Kind::User(content) = kind { content } else { "" };
                format!("{}{},\"surfaceOp\":\"append\"}}", head("user/message"), user(content))
            }
        };
        lines.push(line);
    }
    lines
}

const HEADER: &str = r#"{"type":"session","version":4,"id":"s","createdAt":1,"cwd":"/w","isSeeded":false,"delegationDepth":0}"#;

/// The rows that the encoder writes, and the log that holds them. `batches` are numbers of rows in a frame.
fn encode(lines: &[String], encoding: Encoding, batches: &[usize]) -> Vec<u8> {
    let mut rows = Vec::new();
    for line in lines {
        let doc = Doc::parse(line.as_str()).unwrap();
        let mut row = Vec::new();
        Event::from_row(doc.root(), Place::default()).print_row(&mut row);
        row.push(b'\n');
        rows.push(row);
    }
    let header = format!("{HEADER}\n").into_bytes();
    if encoding == Encoding::Raw {
        return [header, rows.concat()].concat();
    }
    let frame = |text: &[u8]| zstd::stream::encode_all(text, 3).unwrap();
    let mut log = frame(&header);
    let mut rest = &rows[..];
    let mut batches = batches.iter().cycle();
    while !rest.is_empty() {
        let (batch, later) = rest.split_at((*batches.next().unwrap()).clamp(1, rest.len()));
        log.extend(frame(&batch.concat()));
        rest = later;
    }
    log
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn decoding_what_was_encoded_gives_the_events(
        kinds in prop::collection::vec((kind(), -5i64..2_000_000_000_000), 0..40),
        zstd in any::<bool>(),
        batches in prop::collection::vec(1usize..12, 1..4),
    ) {
        let lines = events(&kinds);
        let encoding = if zstd { Encoding::Zstd } else { Encoding::Raw };
        let log = LogFile::from_bytes(encode(&lines, encoding, &batches), Generation::CURRENT, encoding);
        let mut reader = log.read(&Limits::default()).unwrap();
        let mut checker = Checker::new(reader.header());
        let mut decoded = Vec::new();
        while let Some(event) = reader.next_event().unwrap() {
            checker.see(&event);
            let mut line = Vec::new();
            event.print_logical(&mut line);
            decoded.push(String::from_utf8(line).unwrap());
        }
        prop_assert_eq!(decoded, lines);
        let end = reader.end().unwrap();
        prop_assert!(end.torn.is_none() && end.issue.is_none() && end.cut == 0);
        let verdict = checker.finish(end.cut);
        prop_assert!(verdict.storage.is_none() && verdict.session.is_none(), "{verdict:?}");
    }
}
