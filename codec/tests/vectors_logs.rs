//! The cases of `docs/spec/vectors/logs.json` and `torn-*.json`: whole logs and what the physical layer makes of them.
//! Relations between events, payloads and migrations are not asked there, nor here.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use dshlog_codec::json::{Doc, Js};
use dshlog_codec::read::{Limits, LogFile, Torn};
use dshlog_codec::{Class, Encoding, Error, ErrorKind, Generation};

/// What a case says or the reader finds.
#[derive(Debug, PartialEq)]
enum Answer {
    Ok {
        /// The V4 header line without `type`, where the case has it.
        header: Option<String>,
        cut: u64,
        torn: Option<Torn>,
        events: Vec<String>,
    },
    Refused(String),
}

fn vectors(name: &str) -> Doc {
    let path = format!("{}/../docs/spec/vectors/{name}", env!("CARGO_MANIFEST_DIR"));
    Doc::parse(std::fs::read_to_string(path).unwrap()).unwrap()
}

fn text(value: Option<Js<'_>>) -> Option<String> {
    Some(String::from_utf8(value?.as_str()?.to_wtf8().into_owned()).unwrap())
}

fn count(of: Js<'_>, name: &str) -> u64 {
    of.get(name).and_then(Js::as_count).unwrap()
}

fn torn(of: Js<'_>) -> Option<Torn> {
    let torn = of.get("torn").filter(|torn| torn.is_object())?;
    Some(Torn { truncate_to: count(torn, "truncateTo"), recovered: count(torn, "recoveredTailEvents") })
}

fn encoding(case: Js<'_>) -> Encoding {
    if case.get("encoding").unwrap().is("zstd") { Encoding::Zstd } else { Encoding::Raw }
}

fn bytes(case: Js<'_>) -> Vec<u8> {
    match case.get("text") {
        Some(text) => text.as_str().unwrap().to_wtf8().into_owned(),
        None => base64(&text(case.get("log")).unwrap()),
    }
}

fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = Vec::new();
    let (mut held, mut bits) = (0_u32, 0);
    for digit in text.bytes().filter(|&b| b != b'=') {
        held = held << 6 | u32::try_from(DIGITS.iter().position(|&d| d == digit).unwrap()).unwrap();
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((held >> bits & 0xff).try_into().unwrap());
        }
    }
    out
}

fn read(bytes: Vec<u8>, generation: Generation, encoding: Encoding) -> Answer {
    let read = || -> Result<Answer, Error> {
        let mut reader = LogFile::from_bytes(bytes, generation, encoding).read(&Limits::default())?;
        let mut header = Vec::new();
        reader.header().to_current().print(&mut header);
        let header = String::from_utf8(header).unwrap().replacen("\"type\":\"session\",", "", 1);
        let mut events = Vec::new();
        while let Some(event) = reader.next_event()? {
            let mut line = Vec::new();
            event.print_logical(&mut line);
            events.push(String::from_utf8(line).unwrap());
        }
        let end = reader.end().unwrap();
        Ok(Answer::Ok { header: Some(header), cut: end.cut, torn: end.torn, events })
    };
    read().unwrap_or_else(|error| Answer::Refused(status(&error, generation)))
}

/// A refusal in the words of the vectors.
fn status(error: &Error, generation: Generation) -> String {
    match (error.kind(), error.class()) {
        (ErrorKind::VersionMismatch { .. }, _) if generation < Generation(4) => "version",
        (ErrorKind::VersionMismatch { .. }, _) | (_, Class::Unsupported) => "unsupported",
        // In these vectors a retired member is one unknown member more.
        (ErrorKind::HeaderRetired { .. }, _) | (_, Class::Corrupt) => "corrupt",
        _ => return error.to_string(),
    }
    .to_owned()
}

#[test]
fn every_log_has_its_answer() {
    let doc = vectors("logs.json");
    let mut wrong = Vec::new();
    for (number, case) in doc.root().elements().enumerate() {
        let generation = Generation(count(case, "version"));
        let status = text(case.get("status")).unwrap();
        let expected = match &*status {
            "ok" => Answer::Ok {
                header: text(case.get("header")),
                cut: count(case, "cut"),
                torn: torn(case),
                events: case.get("events").unwrap().elements().map(|e| text(Some(e)).unwrap()).collect(),
            },
            _ => Answer::Refused(status),
        };
        let found = read(bytes(case), generation, encoding(case));
        if found != expected {
            wrong
                .push(format!("case {number}, {generation}:\n  found    {found:?}\n  expected {expected:?}"));
        }
    }
    assert_eq!(doc.root().elements().count(), 700);
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

/// A log cut at every byte.
#[test]
fn every_cut_has_its_torn_report() {
    for name in ["torn-v0-raw.json", "torn-v0-zstd.json", "torn-v4-raw.json", "torn-v4-zstd.json"] {
        let doc = vectors(name);
        let case = doc.root();
        let log = bytes(case);
        let mut lengths = 0;
        let mut wrong = Vec::new();
        for stretch in case.get("lengths").unwrap().elements() {
            for length in count(stretch, "from")..=count(stretch, "to") {
                let cut = log[..usize::try_from(length).unwrap()].to_vec();
                let found = match read(cut, Generation(count(case, "version")), encoding(case)) {
                    Answer::Ok { torn, events, .. } => Ok((events.len() as u64, torn)),
                    Answer::Refused(status) => Err(status),
                };
                let status = text(stretch.get("status")).unwrap();
                let expected =
                    if status == "ok" { Ok((count(stretch, "events"), torn(stretch))) } else { Err(status) };
                if found != expected {
                    wrong.push(format!("{length}: {found:?}, expected {expected:?}"));
                }
                lengths += 1;
            }
        }
        assert_eq!(lengths, log.len() + 1, "{name}");
        assert!(wrong.is_empty(), "{name}: {} wrong\n{}", wrong.len(), wrong.join("\n"));
    }
}
