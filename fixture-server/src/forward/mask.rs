//! What must not be kept.
//!
//! Values of headers that carry secrets are replaced as a whole. Everywhere else three things are: whatever such a header, or such
//! a parameter of a target, carried, wherever it stands again; what else somebody names ([`Secrets::with`]); and what looks like a
//! key, such as `sk-...`. There each byte becomes an asterisk, so that every length and every place stays as it was.

use std::ops::Range;

use memchr::memmem;

use super::Passed;
use crate::capture::is_secret;

/// What keys of well-known services begin with.
const KEYS: [&[u8]; 12] = [
    b"sk-",
    b"ghp_",
    b"gho_",
    b"ghs_",
    b"github_pat_",
    b"glpat-",
    b"xoxb-",
    b"xoxp-",
    b"npm_",
    b"hf_",
    b"AKIA",
    b"AIza",
];
/// Parameters of a target that are secrets, beside those whose names are those of headers.
const PARAMETERS: [&str; 4] = ["key", "sig", "signature", "code"];
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
    /// What the headers of these requests and answers, and the parameters of their targets, carried.
    pub fn of(passed: &[Passed]) -> Secrets {
        let answers = passed.iter().filter_map(|passed| passed.answer.as_ref());
        let headers = passed.iter().flat_map(|passed| &passed.headers);
        let headers = headers.chain(answers.flat_map(|said| &said.headers));
        let headers = headers
            // Limits of tokens are numbers and dates that anybody may know.
            .filter(|(name, _)| is_secret(name) && !name.contains("ratelimit"))
            .map(|(_, value)| value.rsplit_once(' ').map_or(value.as_str(), |(_, secret)| secret));
        let targets = passed.iter().filter_map(|passed| passed.target.split_once('?'));
        let parameters =
            targets.flat_map(|(_, query)| query.split('&')).filter_map(|pair| pair.split_once('='));
        let parameters = parameters.filter(|(name, _)| {
            let name = name.to_ascii_lowercase();
            is_secret_name(&name) || PARAMETERS.contains(&name.as_str())
        });
        Secrets::default().with(headers.chain(parameters.map(|(_, value)| value)))
    }

    /// These, too: values of variables, say, that a command has been given.
    #[must_use]
    pub fn with<'s>(mut self, more: impl IntoIterator<Item = &'s str>) -> Self {
        let told_apart = more.into_iter().filter(|secret| is_told_apart(secret));
        self.known.extend(told_apart.map(|secret| secret.as_bytes().to_vec()));
        self.known.sort();
        self.known.dedup();
        self
    }

    /// The same bytes with asterisks in the place of secrets; nothing when there are none.
    pub fn masked(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut places = keys(bytes);
        for secret in &self.known {
            places.extend(memmem::find_iter(bytes, secret).map(|at| at..at + secret.len()));
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

/// True for the name of a header, variable or parameter whose value is to be kept by nobody.
pub fn is_secret_name(name: &str) -> bool {
    is_secret(&name.to_ascii_lowercase().replace('_', "-"))
}

/// Where keys stand, behind their beginning.
fn keys(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    for key in KEYS {
        let mut at = 0;
        while let Some(found) = memmem::find(bytes.get(at..).unwrap_or_default(), key) {
            let begin = at + found;
            let behind = begin + key.len();
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
        check("ghp_0123456789abcdefghij", "ghp_********************");
        check("AKIA0123456789ABCDEF", "AKIA****************");
        check("ahf_0123456789abcdefghij", "ahf_0123456789abcdefghij");
    }

    #[test]
    fn names_of_secrets() {
        for name in ["DEEPSEEK_API_KEY", "x-api-key", "GITHUB_TOKEN", "Authorization", "DB_PASSWORD"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["HOME", "PATH", "DSH_HOME", "KEYBOARD"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
