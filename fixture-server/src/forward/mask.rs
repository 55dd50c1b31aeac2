//! What must not be kept.
//!
//! Values of headers that carry secrets are replaced as a whole. In bodies two things are: whatever such a header carried,
//! wherever it stands again, and what looks like a key, `sk-...`. There each byte becomes an asterisk, so that every length and
//! every place stays as it was.

use std::ops::Range;

use super::Passed;
use crate::capture::is_secret;

/// What a key begins with.
const KEY: &[u8] = b"sk-";
/// Shorter than any key behind that beginning.
const SHORTEST: usize = 16;
/// A shorter value of a header may stand in a text by chance.
const SHORTEST_KNOWN: usize = 8;

/// Secrets that are known by what headers carried, and those that look like keys.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    known: Vec<Vec<u8>>,
}

impl Secrets {
    /// What the headers of these requests and answers carried.
    pub fn of(passed: &[Passed]) -> Secrets {
        let answers = passed.iter().filter_map(|passed| passed.answer.as_ref());
        let headers = passed.iter().flat_map(|passed| &passed.headers);
        let headers = headers.chain(answers.flat_map(|said| &said.headers));
        let mut known: Vec<Vec<u8>> = headers
            // Limits of tokens are numbers and dates that anybody may know.
            .filter(|(name, _)| is_secret(name) && !name.contains("ratelimit"))
            .map(|(_, value)| value.rsplit_once(' ').map_or(value.as_str(), |(_, secret)| secret))
            .filter(|secret| is_told_apart(secret))
            .map(|secret| secret.as_bytes().to_vec())
            .collect();
        known.sort();
        known.dedup();
        Secrets { known }
    }

    /// The same bytes with asterisks in the place of secrets; nothing when there are none.
    pub fn masked(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut places = keys(bytes);
        for secret in &self.known {
            let found = bytes.windows(secret.len()).enumerate().filter(|(_, window)| window == secret);
            places.extend(found.map(|(at, _)| at..at + secret.len()));
        }
        if places.is_empty() {
            return None;
        }
        let mut masked = bytes.to_vec();
        for place in places {
            masked.get_mut(place).into_iter().flatten().for_each(|byte| *byte = b'*');
        }
        Some(masked)
    }

    /// The same text with asterisks.
    pub fn masked_text(&self, text: &str) -> String {
        // Secrets of headers may end inside a character of the text, which no key does.
        self.masked(text.as_bytes())
            .map_or_else(|| text.to_owned(), |masked| String::from_utf8_lossy(&masked).into_owned())
    }
}

/// It is no number and has nothing of JSON in it, so what it is masked in stays JSON.
fn is_told_apart(secret: &str) -> bool {
    let is_plain =
        |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\\' | b'{' | b'}' | b'[' | b']');
    secret.len() >= SHORTEST_KNOWN
        && secret.bytes().all(is_plain)
        && secret.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Where keys stand, behind their beginning.
fn keys(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| rest.windows(KEY.len()).position(|w| w == KEY)) {
        let begin = at + found;
        let behind = begin + KEY.len();
        let rest = bytes.get(behind..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| is_key(**byte)).count();
        let stands_alone = begin == 0 || !bytes.get(begin - 1).is_some_and(u8::is_ascii_alphanumeric);
        // Words such as `sk-something-or-other` have no digit.
        let has_digit = rest.iter().take(length).any(u8::is_ascii_digit);
        if stands_alone && length >= SHORTEST && has_digit {
            places.push(behind..behind + length);
        }
        at = behind + length;
    }
    places
}

fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let secrets = Secrets { known: vec![b"pass-word".to_vec()] };
        assert_eq!(secrets.masked_text(text), expected);
        assert_eq!(secrets.masked(text.as_bytes()).is_none(), text == expected);
    }

    #[test]
    fn what_headers_tell() {
        let apart = |secret: &str| is_told_apart(secret);
        assert!(apart("hush-hush") && apart("a=private-too") && apart("QWxhZGRpbjpvcGVu"));
        assert!(!apart("40000000") && !apart("short") && !apart("a\":\"bcdefgh") && !apart("with space"));
    }

    #[test]
    fn what_is_masked() {
        check("", "");
        check("the key is \"sk-0123456789abcdef\".", "the key is \"sk-****************\".");
        check("sk-ant-api03-AbC_dEf and sk-x", "sk-***************** and sk-x");
        check("sk-0123456789abcde", "sk-0123456789abcde");
        check("task-0123456789abcdef0", "task-0123456789abcdef0");
        check("sk-learn-compatible-estimators", "sk-learn-compatible-estimators");
        check("\\u00e9sk-0123456789abcdef", "\\u00e9sk-0123456789abcdef");
        check("sk-sk-0123456789abcdef", "sk-*******************");
        check("a pass-word, pass-words", "a *********, *********s");
        check("pass-wor d", "pass-wor d");
    }
}
