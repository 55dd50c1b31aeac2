//! Printing as `JSON.stringify` does (`docs/spec/rows.md`, 1.2).

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use memchr::memchr;

use super::number::print_number;
use super::string::{JsStr, JsString, escape_unit, pieces};
use super::tape::{Kind, plain_run};
use super::value::Js;

/// Append `value` as JavaScript prints it: no spaces, shortest numbers, index-like members first in ascending order,
/// of duplicate members the last value at the place of the first.
pub fn print(out: &mut Vec<u8>, value: Js<'_>) {
    if is_canonical(value) {
        out.extend_from_slice(value.raw().as_bytes());
    } else {
        print_anew(out, value);
    }
}

fn print_anew(out: &mut Vec<u8>, value: Js<'_>) {
    enum Job<'a> {
        Value(Js<'a>),
        Member(JsStr<'a>, Js<'a>, bool),
        Text(u8),
    }
    // A stack of its own, so that deep nesting cannot exhaust the thread's.
    let mut jobs = vec![Job::Value(value)];
    while let Some(job) = jobs.pop() {
        let value = match job {
            Job::Text(byte) => {
                out.push(byte);
                continue;
            }
            Job::Member(key, value, comma) => {
                if comma {
                    out.push(b',');
                }
                print_str(out, key);
                out.push(b':');
                value
            }
            Job::Value(value) => value,
        };
        match value.kind() {
            Kind::Null | Kind::True | Kind::False => out.extend_from_slice(value.raw().as_bytes()),
            Kind::Number if value.node().odd => print_number(out, value.as_f64().unwrap_or(f64::NAN)),
            Kind::Number => out.extend_from_slice(value.raw().as_bytes()),
            Kind::String => {
                if let Some(text) = value.as_str() {
                    print_str(out, text);
                }
            }
            Kind::Array => {
                out.push(b'[');
                jobs.push(Job::Text(b']'));
                let first = jobs.len();
                for (i, element) in value.elements().enumerate() {
                    if i > 0 {
                        jobs.push(Job::Text(b','));
                    }
                    jobs.push(Job::Value(element));
                }
                jobs[first..].reverse();
            }
            Kind::Object => {
                out.push(b'{');
                jobs.push(Job::Text(b'}'));
                let members = ordered_members(value);
                let last = members.len();
                for (i, (key, value)) in members.into_iter().rev().enumerate() {
                    jobs.push(Job::Member(key, value, i + 1 < last));
                }
            }
        }
    }
}

/// Members in JavaScript's order, each name once.
pub fn ordered_members(object: Js<'_>) -> Vec<(JsStr<'_>, Js<'_>)> {
    let mut members = unique_members(object);
    if members.iter().any(|(key, _)| array_index(*key).is_some()) {
        // Stable: names that are no index keep their order behind those that are.
        members.sort_by_key(|(key, _)| array_index(*key).map_or((1, 0), |index| (0, index)));
    }
    members
}

/// Members each once: the last value of a name, at the place of its first.
pub(super) fn unique_members(object: Js<'_>) -> Vec<(JsStr<'_>, Js<'_>)> {
    let mut members: Vec<_> = object.members().collect();
    if has_duplicates(object) {
        let mut places: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut unique: Vec<(JsStr<'_>, Js<'_>)> = Vec::with_capacity(members.len());
        for (key, value) in members {
            match places.entry(key.to_wtf8().into_owned()) {
                Entry::Occupied(place) => unique[*place.get()].1 = value,
                Entry::Vacant(place) => {
                    place.insert(unique.len());
                    unique.push((key, value));
                }
            }
        }
        members = unique;
    }
    members
}

/// The number of a canonical array index (`0` ..= `4294967294`, no leading zero).
fn array_index(key: JsStr<'_>) -> Option<u32> {
    let wtf8;
    let bytes = if let Some(plain) = key.as_plain() {
        plain.as_bytes()
    } else {
        wtf8 = key.to_wtf8();
        &wtf8
    };
    let canonical = match bytes {
        [b'0'] => true,
        [b'1'..=b'9', rest @ ..] => rest.len() < 10 && rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if !canonical {
        return None;
    }
    std::str::from_utf8(bytes).ok()?.parse().ok().filter(|&index| index != u32::MAX)
}

/// Objects of so many members are looked through by comparing each name with each, which needs no memory.
const FEW: usize = 12;

pub(super) fn has_duplicates(object: Js<'_>) -> bool {
    if object.tape.printed {
        return false;
    }
    // A bit for each name so far, so that most names need no comparison.
    let mut bits = 0_u64;
    for (count, (name, _)) in object.members().enumerate() {
        if count == FEW {
            let mut seen = HashSet::new();
            return object.members().any(|(name, _)| !seen.insert(name.to_wtf8()));
        }
        let bit = 1 << name.bucket();
        if bits & bit != 0 && object.members().take(count).any(|(before, _)| before == name) {
            return true;
        }
        bits |= bit;
    }
    false
}

/// Append a string with quotes, escaped as JavaScript escapes it.
pub fn print_str(out: &mut Vec<u8>, text: JsStr<'_>) {
    out.push(b'"');
    if let Some(plain) = text.as_plain() {
        print_units(out, plain);
    } else {
        // Decode first: an escape may stand for a character that is printed raw, and two may form a pair.
        print_wtf8(out, &text.to_wtf8());
    }
    out.push(b'"');
}

/// Append an owned string with quotes, escaped as JavaScript escapes it.
pub fn print_string(out: &mut Vec<u8>, text: &JsString) {
    out.push(b'"');
    print_wtf8(out, text.as_wtf8());
    out.push(b'"');
}

fn print_wtf8(out: &mut Vec<u8>, wtf8: &[u8]) {
    for (text, surrogate) in pieces(wtf8) {
        print_units(out, text);
        if let Some(unit) = surrogate {
            out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
        }
    }
}

/// Append valid text with JavaScript's escapes.
fn print_units(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    while let (plain, [byte, tail @ ..]) = rest.split_at(plain_run(rest, 0)) {
        out.extend_from_slice(plain);
        let byte = *byte;
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            8 => out.extend_from_slice(b"\\b"),
            9 => out.extend_from_slice(b"\\t"),
            10 => out.extend_from_slice(b"\\n"),
            12 => out.extend_from_slice(b"\\f"),
            13 => out.extend_from_slice(b"\\r"),
            _ => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
        rest = tail;
    }
    out.extend_from_slice(rest);
}

/// True when [`print()`] would give exactly the text that was read, so that nothing needs printing.
pub fn is_canonical(value: Js<'_>) -> bool {
    if value.tape.printed {
        return true;
    }
    if value.tape.spaced {
        return false;
    }
    let end = value.node().next;
    let mut at = value.at;
    while at < end {
        let here = Js { at, ..value };
        let node = here.node();
        let good = match node.kind {
            Kind::Number if node.odd => {
                let mut printed = Vec::with_capacity(24);
                print_number(&mut printed, here.as_f64().unwrap_or(f64::NAN));
                printed == here.raw().as_bytes()
            }
            Kind::String if node.odd => canonical_escapes(here.raw()),
            Kind::Object => {
                !has_duplicates(here) && {
                    let mut last = None;
                    let mut named = false;
                    here.members().all(|(key, _)| {
                        let index = array_index(key);
                        named |= index.is_none();
                        index
                            .is_none_or(|index| !named && last.replace(index).is_none_or(|last| last < index))
                    })
                }
            }
            _ => true,
        };
        if !good {
            return false;
        }
        at += 1;
    }
    true
}

fn canonical_escapes(raw: &str) -> bool {
    let mut at = 0;
    while let Some(plain) = raw.as_bytes().get(at..).and_then(|rest| memchr(b'\\', rest)) {
        at += plain;
        // Nearly all escapes are of two bytes, and all but `\/` of these are what the printer writes.
        match raw.as_bytes().get(at + 1) {
            Some(b'u') => {}
            Some(b'/') | None => return false,
            Some(_) => {
                at += 2;
                continue;
            }
        }
        let Some(escape) = raw.get(at..) else { return false };
        let (unit, len) = escape_unit(escape);
        let good = match unit {
            8 | 9 | 10 | 12 | 13 => false,
            0..=0x1f | 0xdc00..=0xdfff => true,
            // A high surrogate stays an escape only when no low one follows, in either spelling.
            0xd800..=0xdbff => {
                let after = escape.get(len..).unwrap_or("");
                !(after.starts_with("\\u") && (0xdc00..0xe000).contains(&escape_unit(after).0))
            }
            _ => false,
        };
        // The printer writes digits above 9 in lower case.
        if !good || escape.bytes().take(len).any(|byte| byte.is_ascii_uppercase()) {
            return false;
        }
        at += len;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::super::value::Doc;
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &str) {
        let doc = Doc::parse(text).unwrap();
        let mut out = Vec::new();
        print(&mut out, doc.root());
        assert_eq!(String::from_utf8(out).unwrap(), want);
        assert_eq!(is_canonical(doc.root()), text == want, "{text}");
        if let Some(string) = doc.root().as_str() {
            let mut out = Vec::new();
            print_string(&mut out, &string.to_owned());
            assert_eq!(String::from_utf8(out).unwrap(), want);
        }
    }

    #[test]
    fn prints_as_javascript_does() {
        check(
            r#"{"b":1,"10":2,"2":3,"01":4,"4294967295":5}"#,
            r#"{"2":3,"10":2,"b":1,"01":4,"4294967295":5}"#,
        );
        check(r#"{"a":1e400,"b":-0,"10":1,"2":2}"#, r#"{"2":2,"10":1,"a":null,"b":0}"#);
        check(r#"{"a":1,"b":2,"a":{"c":[ ]}}"#, r#"{"a":{"c":[]},"b":2}"#);
        check(
            r#""\u002f\ud800\udBFF\ud83d\ude00\u001f\u007f\u2028""#,
            "\"/\\ud800\\udbff😀\\u001f\u{7f}\u{2028}\"",
        );
        check(
            "[1e21,1e20,0.000001,1e-7,12345678901234567890,1.50]",
            "[1e+21,100000000000000000000,0.000001,1e-7,12345678901234567000,1.5]",
        );
        check(
            r#"["\ud800","\n\"\\\u0000",{"x":[1,[2,{}]],"y":null}]"#,
            r#"["\ud800","\n\"\\\u0000",{"x":[1,[2,{}]],"y":null}]"#,
        );
    }

    #[test]
    fn escapes_are_spelled_in_one_way() {
        check(r#""\b\t\n\f\r\"\\""#, r#""\b\t\n\f\r\"\\""#);
        check(r#""\u0008\u0009\u000a\u000C\u000d\u0022\u005c\/""#, r#""\b\t\n\f\r\"\\/""#);
        check(r#""\u001f\u001F\u0000""#, r#""\u001f\u001f\u0000""#);
        check(r#""\udead""#, r#""\udead""#);
        check(r#""\udEad""#, r#""\udead""#);
        check(r#""\ud800\n\ud800x""#, r#""\ud800\n\ud800x""#);
        check(r#""\u00e9""#, "\"\u{e9}\"");
    }

    #[test]
    fn a_name_that_stands_twice_is_found_in_objects_of_any_size() {
        for count in [2, 11, 12, 13, 30] {
            for twice in 0..count - 1 {
                let member = |i: usize| format!("\"m{}\":{i}", if i == count - 1 { twice } else { i });
                let read: Vec<_> = (0..count).map(member).collect();
                let mut want = read[..count - 1].to_vec();
                want[twice] = format!("\"m{twice}\":{}", count - 1);
                check(&format!("{{{}}}", read.join(",")), &format!("{{{}}}", want.join(",")));
            }
        }
    }

    #[test]
    fn prints_deep_nesting() {
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        check(&deep, &deep);
    }
}
