//! Printing as `JSON.stringify` does (`docs/spec/rows.md`, 1.2).

use super::number::print_number;
use super::string::{JsStr, JsString, escape_unit};
use super::tape::Kind;
use super::value::Js;

/// Append `value` as JavaScript prints it: no spaces, shortest numbers, index-like members first in ascending order,
/// of duplicate members the last value at the place of the first.
pub fn print(out: &mut Vec<u8>, value: Js<'_>) {
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
        let mut places: std::collections::HashMap<Vec<u8>, usize> = std::collections::HashMap::new();
        let mut unique: Vec<(JsStr<'_>, Js<'_>)> = Vec::with_capacity(members.len());
        for (key, value) in members {
            match places.entry(key.to_wtf8().into_owned()) {
                std::collections::hash_map::Entry::Occupied(place) => unique[*place.get()].1 = value,
                std::collections::hash_map::Entry::Vacant(place) => {
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

fn has_duplicates(object: Js<'_>) -> bool {
    let keys: Vec<_> = object.members().map(|(key, _)| key).collect();
    if keys.len() <= 12 {
        return keys.iter().enumerate().any(|(i, key)| keys.iter().take(i).any(|earlier| earlier == key));
    }
    let mut seen = std::collections::HashSet::with_capacity(keys.len());
    keys.iter().any(|key| !seen.insert(key.to_wtf8()))
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

fn print_wtf8(out: &mut Vec<u8>, mut rest: &[u8]) {
    loop {
        match std::str::from_utf8(rest) {
            Ok(valid) => return print_units(out, valid),
            Err(error) => {
                let (valid, surrogate) = rest.split_at(error.valid_up_to());
                print_units(out, std::str::from_utf8(valid).unwrap_or_default());
                let [_, mid, low, tail @ ..] = surrogate else { return };
                let unit = 0xd000 | u32::from(mid & 0x3f) << 6 | u32::from(low & 0x3f);
                out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                rest = tail;
            }
        }
    }
}

/// Append valid text with JavaScript's escapes.
fn print_units(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|&b| b < 0x20 || b == b'"' || b == b'\\') {
        let (plain, tail) = rest.split_at(at);
        out.extend_from_slice(plain);
        let byte = tail[0];
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            8 => out.extend_from_slice(b"\\b"),
            9 => out.extend_from_slice(b"\\t"),
            10 => out.extend_from_slice(b"\\n"),
            12 => out.extend_from_slice(b"\\f"),
            13 => out.extend_from_slice(b"\\r"),
            _ => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
        rest = &tail[1..];
    }
    out.extend_from_slice(rest);
}

/// True when [`print()`] would give exactly the text that was read, so that nothing needs printing.
pub fn is_canonical(value: Js<'_>) -> bool {
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
    let mut rest = raw;
    while let Some(slash) = rest.find('\\') {
        let escape = &rest[slash..];
        let (unit, len) = escape_unit(escape);
        let text = &escape[..len.min(escape.len())];
        let good = match unit {
            0x22 | 0x5c | 8 | 9 | 10 | 12 | 13 => len == 2,
            0..=0x1f => text == format!("\\u{unit:04x}"),
            // A high surrogate stays an escape only when no low one follows, in either spelling.
            0xd800..=0xdbff => {
                let after = &escape[len.min(escape.len())..];
                let joins = after.starts_with("\\u") && (0xdc00..0xe000).contains(&escape_unit(after).0);
                !joins && text == format!("\\u{unit:04x}")
            }
            0xdc00..=0xdfff => text == format!("\\u{unit:04x}"),
            _ => false,
        };
        if !good {
            return false;
        }
        rest = &escape[len.min(escape.len())..];
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
    fn prints_deep_nesting() {
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        check(&deep, &deep);
    }
}
