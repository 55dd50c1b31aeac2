//! JSON as bodies and scripts have it: a tree, and text that may hold half a surrogate pair.
//!
//! JavaScript writes `"\ud83d"` whenever it cuts an emoji in two, and no Rust string can hold that. Here such a half is
//! carried as a private character, `U+FD800` to `U+FDFFF`, one for each half, and printed as the escape that it came
//! from. So bodies with halves are read, compared and answered without loss; a text that really uses those private
//! characters comes out as halves.

pub mod diff;
mod walk;

use std::borrow::Cow;

pub use serde_json::Value;

pub(crate) use walk::each_text;

/// A text that is not JSON.
#[derive(Debug, thiserror::Error)]
pub enum JsonError {
    /// Not UTF-8.
    #[error("not UTF-8 at byte {at}")]
    Utf8 {
        /// The first byte that does not fit.
        at: usize,
    },
    /// Not JSON, or nested deeper than 128 levels.
    #[error("not JSON, at line {} column {}", source.line(), source.column())]
    Syntax {
        /// What the parser says.
        #[source]
        source: serde_json::Error,
    },
}

/// The first private character: it stands for `\ud800`.
const CARRIED: u32 = 0xF_D800;

/// Reads a document.
pub fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    let text = str::from_utf8(bytes).map_err(|fault| JsonError::Utf8 { at: fault.valid_up_to() })?;
    serde_json::from_str(&carry(text)).map_err(|source| JsonError::Syntax { source })
}

/// The document as compact JSON.
pub fn print(value: &Value) -> String {
    restore(value.to_string())
}

/// A text as a JSON string, quotes included.
pub fn quote(text: &str) -> String {
    print(&Value::from(text))
}

/// JSON text in which escapes of lone halves are private characters.
pub(crate) fn carry(text: &str) -> Cow<'_, str> {
    if !text.contains("\\ud") && !text.contains("\\uD") {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let length = match unit(escape) {
            Some(high @ 0xD800..=0xDBFF) => match escape.get(6..).and_then(unit) {
                Some(0xDC00..=0xDFFF) => 12,
                _ => half(high, &mut out),
            },
            Some(low @ 0xDC00..=0xDFFF) => half(low, &mut out),
            Some(_) => 6,
            None => 1 + escape.chars().nth(1).map_or(0, char::len_utf8),
        };
        // A half was pushed as a character; everything else stays the text that it was.
        let (escape, after) = escape.split_at(length.min(escape.len()));
        if !matches!(unit(escape), Some(0xD800..=0xDFFF)) || escape.len() == 12 {
            out.push_str(escape);
        }
        rest = after;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Writes the private character of a half; gives the length of its escape.
fn half(code: u32, out: &mut String) -> usize {
    out.extend(char::from_u32(CARRIED + (code - 0xD800)));
    6
}

/// The code unit of an escape `\uXXXX` at the beginning of a text.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        u32::from_str_radix(digits, 16).ok()
    } else {
        None
    }
}

/// Printed JSON in which private characters are escapes of lone halves again.
fn restore(text: String) -> String {
    let carried = |c: char| (CARRIED..CARRIED + 0x800).contains(&u32::from(c));
    if !text.contains(carried) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if carried(c) {
            let escape = format!("\\u{:04x}", u32::from(c) - CARRIED + 0xD800);
            out.push_str(&escape);
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn same(text: &str) {
        assert_eq!(print(&parse(text.as_bytes()).expect("JSON")), text);
    }

    #[test]
    fn halves_survive() {
        same(r#""\ud83d""#);
        same(r#""a\udc00b""#);
        same(r#"["\ud83d","\ude00"]"#);
        same(r#""\ud83dx\ude00""#);
        same(r#""\ud83d\ud83d""#);
        same(r#"{"\udfff":1}"#);
    }

    #[test]
    fn whole_pairs_and_other_escapes_stay_what_they_mean() {
        assert_eq!(parse(br#""\ud83d\ude00""#).unwrap(), Value::from("😀"));
        assert_eq!(parse(br#""\\ud83d\n\u0041""#).unwrap(), Value::from("\\ud83d\nA"));
        assert_eq!(parse(br#""\ud83d\ud83d\ude00""#).unwrap().as_str().map(|s| s.chars().count()), Some(2));
    }

    #[test]
    fn what_is_no_json_says_where() {
        assert!(matches!(parse(b"{\"a\":\xff}"), Err(JsonError::Utf8 { at: 5 })));
        assert!(matches!(parse(b"{"), Err(JsonError::Syntax { .. })));
        assert!(matches!(parse(br#""\u"#), Err(JsonError::Syntax { .. })));
        assert!(matches!(parse(br#""\ud"#), Err(JsonError::Syntax { .. })));
        assert!(matches!(parse("\"\\ud83d\\".as_bytes()), Err(JsonError::Syntax { .. })));
        assert!(parse("[".repeat(1000).as_bytes()).is_err());
    }
}
