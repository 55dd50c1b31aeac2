//! The cases of `docs/spec/vectors/headers.json`: header lines, what they are to the current reader, and what they
//! become in the current format.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use dshlog_codec::Header;
use dshlog_codec::header::{CwdRule, HeaderFault};
use dshlog_codec::json::{Doc, Js, deep_digest, print};

/// Status and stored version in the words of the vectors. There, retired members are no more than unknown ones.
fn status(parsed: &Result<Header, HeaderFault>) -> (&'static str, Option<u64>) {
    match parsed {
        Ok(header) if header.version.0 == 4 => ("current", Some(4)),
        Ok(header) => ("migration-required", Some(header.version.0)),
        Err(HeaderFault::Newer(stored)) => ("unsupported", Some(*stored)),
        Err(HeaderFault::Malformed { stored, .. }) => ("malformed", *stored),
        Err(HeaderFault::Retired(_)) => ("malformed", None),
    }
}

/// The header line in the current format without `type`, which the vectors leave out.
fn current(header: &Header) -> Doc {
    let mut line = Vec::new();
    header.to_current().print(&mut line);
    let line = String::from_utf8(line).unwrap();
    Doc::parse(line.replacen(r#""type":"session","#, "", 1)).unwrap()
}

fn text(value: Js<'_>) -> String {
    let mut out = Vec::new();
    print(&mut out, value);
    String::from_utf8(out).unwrap()
}

#[test]
fn every_header_has_its_status_and_its_current_form() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/spec/vectors/headers.json");
    let doc = Doc::parse(std::fs::read_to_string(path).unwrap()).unwrap();
    let mut wrong = Vec::new();
    for case in doc.root().elements() {
        let line = case.get("line").unwrap().as_str().unwrap().to_owned();
        let line = line.as_str().unwrap();
        let parsed = Header::parse(line, CwdRule::Posix);
        let (got, stored) = status(&parsed);
        let want = case.get("status").unwrap().as_str().unwrap();
        let retired = matches!(parsed, Err(HeaderFault::Retired(_)));
        if want != got || (!retired && stored != case.get("stored").and_then(Js::as_count)) {
            wrong.push(format!("{line}: {parsed:?}, expected {want}"));
        }
        let v4 = parsed.as_ref().ok().map(current);
        let same = match (&v4, case.get("v4")) {
            (Some(got), Some(want)) => deep_digest(got.root(), true) == deep_digest(want, true),
            (None, None) => true,
            _ => false,
        };
        if !same {
            let (got, want) = (v4.as_ref().map(|d| text(d.root())), case.get("v4").map(text));
            wrong.push(format!("{line}: becomes {got:?}, expected {want:?}"));
        }
    }
    assert_eq!(doc.root().elements().count(), 234);
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
