//! The cases of `docs/spec/vectors/json.json`: text or damaged bytes, and how a migration prints them.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use dshlog_codec::json::{Doc, Js, JsStr, Tape, is_canonical, print};

/// The bytes of standard base64 text with padding.
fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bits = 0u32;
    let mut held = 0;
    let mut out = Vec::new();
    for digit in text.trim_end_matches('=').bytes() {
        let value = DIGITS.iter().position(|&d| d == digit).unwrap();
        bits = bits << 6 | u32::try_from(value).unwrap();
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push(u8::try_from(bits >> held & 0xff).unwrap());
        }
    }
    out
}

/// The text of a case as a reader gets it: a lone surrogate could only be there as damaged bytes.
fn input(case: Js<'_>) -> String {
    if let Some(text) = case.get("text").and_then(Js::as_str).map(JsStr::to_owned) {
        return text.as_str().unwrap().to_owned();
    }
    let bytes = base64(&case.get("bytes").unwrap().as_str().unwrap().to_lossy());
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn every_text_prints_as_javascript_prints_it() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/spec/vectors/json.json");
    let doc = Doc::parse(std::fs::read_to_string(path).unwrap()).unwrap();
    let mut wrong = Vec::new();
    let mut tape = Tape::new();
    for case in doc.root().elements() {
        let text = input(case);
        let want =
            case.get("printed").unwrap().as_str().map(|want| want.to_owned().as_str().unwrap().to_owned());
        let parsed = tape.parse(&text).is_ok();
        let value = Js::root(&text, &tape).filter(|_| parsed);
        let got = value.map(|value| {
            let mut out = Vec::new();
            print(&mut out, value);
            String::from_utf8(out).unwrap()
        });
        let canonical = value.is_some_and(is_canonical);
        if got != want || canonical != (want.as_ref() == Some(&text)) {
            wrong.push(format!("{text:?}: {got:?} canonical {canonical}, expected {want:?}"));
        }
    }
    assert_eq!(doc.root().elements().count(), 511);
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
