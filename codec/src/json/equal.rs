//! Equality by value, as digests, so that no payload need be kept to compare it later.

use sha2::{Digest as _, Sha256};

use super::string::JsStr;
use super::tape::Kind;
use super::value::Js;

/// SHA-256 over a canonical form: equal digests mean deeply equal values (`docs/spec/events-v4.md`, section 1).
pub type Digest = [u8; 32];

/// Digest of `value`, in which the order of members does not count. `signed_zero` says whether `-0` differs from `0`.
pub fn deep_digest(value: Js<'_>, signed_zero: bool) -> Digest {
    deep_digest_blanking(value, signed_zero, &[])
}

/// Like [`deep_digest`], with the member at `blank`, a path of names, taken as if it were an empty list.
pub fn deep_digest_blanking(value: Js<'_>, signed_zero: bool, blank: &[&str]) -> Digest {
    // Children are hashed first and stand in their parent by digest, so depth needs an explicit stack only.
    let mut hasher = Hasher { signed_zero, frames: Vec::new() };
    hasher.run(value, blank)
}

struct Open<'a> {
    keys: Vec<Vec<u8>>,
    digests: Vec<Digest>,
    pending: Vec<(Js<'a>, Blank)>,
    kind: Kind,
}

/// How deep we are on the blanked path: `At(0)` is the root, `Off` any other place, `Hit` the blanked value itself.
#[derive(Clone, Copy)]
enum Blank {
    Off,
    At(usize),
    Hit,
}

struct Hasher<'a> {
    signed_zero: bool,
    frames: Vec<Open<'a>>,
}

impl<'a> Hasher<'a> {
    fn run(&mut self, root: Js<'a>, blank: &[&str]) -> Digest {
        let mut current = Some((root, if blank.is_empty() { Blank::Off } else { Blank::At(0) }));
        let mut done: Digest = [0; 32];
        loop {
            if let Some((value, place)) = current.take() {
                if let Some(digest) = self.enter(value, place, blank) {
                    done = digest;
                } else {
                    // A container was opened, and an opened one has a child.
                    current = self.frames.last_mut().and_then(|open| open.pending.pop());
                    continue;
                }
            }
            // A value is done: hand it to its holder, or it was the root.
            loop {
                let Some(open) = self.frames.last_mut() else { return done };
                open.digests.push(done);
                if let Some(next) = open.pending.pop() {
                    current = Some(next);
                    break;
                }
                done = self.close();
            }
        }
    }

    /// The digest of a scalar; for a container nothing, and a frame is opened.
    fn enter(&mut self, value: Js<'a>, place: Blank, blank: &[&str]) -> Option<Digest> {
        if let Blank::Hit = place {
            return Some(digest_of(b'[', b""));
        }
        match value.kind() {
            Kind::Null => Some(digest_of(b'n', b"")),
            Kind::True => Some(digest_of(b't', b"")),
            Kind::False => Some(digest_of(b'f', b"")),
            Kind::Number => {
                let mut number = value.as_f64().unwrap_or(f64::NAN);
                if number == 0.0 && !self.signed_zero {
                    number = 0.0;
                }
                Some(digest_of(b'd', &number.to_bits().to_be_bytes()))
            }
            Kind::String => Some(digest_of(b's', &value.as_str().map(JsStr::to_wtf8).unwrap_or_default())),
            Kind::Array => {
                let mut pending: Vec<_> = value.elements().map(|e| (e, Blank::Off)).collect();
                pending.reverse();
                if pending.is_empty() {
                    return Some(digest_of(b'[', b""));
                }
                self.frames.push(Open { keys: Vec::new(), digests: Vec::new(), pending, kind: Kind::Array });
                None
            }
            Kind::Object => {
                let mut members: Vec<(Vec<u8>, Js<'a>)> =
                    value.members().map(|(key, value)| (key.to_wtf8().into_owned(), value)).collect();
                // The last of duplicates wins: a stable sort from the back keeps it first.
                members.reverse();
                members.sort_by(|a, b| a.0.cmp(&b.0));
                members.dedup_by(|later, kept| later.0 == kept.0);
                if members.is_empty() {
                    return Some(digest_of(b'{', b""));
                }
                let pending = members
                    .iter()
                    .rev()
                    .map(|(key, value)| {
                        let inner = match place {
                            Blank::At(depth)
                                if blank.get(depth).is_some_and(|name| name.as_bytes() == key) =>
                            {
                                if depth + 1 == blank.len() { Blank::Hit } else { Blank::At(depth + 1) }
                            }
                            _ => Blank::Off,
                        };
                        (*value, inner)
                    })
                    .collect();
                let keys = members.into_iter().map(|(key, _)| key).collect();
                self.frames.push(Open { keys, digests: Vec::new(), pending, kind: Kind::Object });
                None
            }
        }
    }

    fn close(&mut self) -> Digest {
        let Some(open) = self.frames.pop() else { return [0; 32] };
        let mut hash = Sha256::new();
        hash.update([if open.kind == Kind::Array { b'A' } else { b'O' }]);
        for (i, digest) in open.digests.iter().enumerate() {
            if let Some(key) = open.keys.get(i) {
                hash.update((key.len() as u64).to_be_bytes());
                hash.update(key);
            }
            hash.update(digest);
        }
        hash.finalize().into()
    }
}

fn digest_of(tag: u8, bytes: &[u8]) -> Digest {
    let mut hash = Sha256::new();
    hash.update([tag]);
    hash.update(bytes);
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::super::value::Doc;
    use super::*;

    #[track_caller]
    fn check(a: &str, b: &str, equal: bool) {
        let (x, y) = (Doc::parse(a).unwrap(), Doc::parse(b).unwrap());
        assert_eq!(deep_digest(x.root(), false) == deep_digest(y.root(), false), equal, "{a} {b}");
    }

    #[test]
    fn equal_by_value() {
        check(r#"{"a":1,"b":[2,{}]}"#, r#"{"b":[2.0,{}],"a":1e0}"#, true);
        check("[1,2]", "[2,1]", false);
        check("[[1],2]", "[[1,2]]", false);
        check("0", "-0", true);
        check(r#"{"a":1,"a":2}"#, r#"{"a":2}"#, true);
        check(r#"{"a":null}"#, "{}", false);
        check(r#""\u0061""#, r#""a""#, true);
        check("[]", "{}", false);
        check("[\"1\"]", "[1]", false);
        let (zero, minus) = (Doc::parse("0").unwrap(), Doc::parse("-0").unwrap());
        assert_ne!(deep_digest(zero.root(), true), deep_digest(minus.root(), true));
    }

    #[test]
    fn a_blanked_member_does_not_count_but_its_presence_does() {
        let blank = |text: &str| {
            deep_digest_blanking(Doc::parse(text).unwrap().root(), false, &["message", "content"])
        };
        assert_eq!(
            blank(r#"{"message":{"content":[1],"id":2}}"#),
            blank(r#"{"message":{"id":2,"content":[]}}"#)
        );
        assert_ne!(blank(r#"{"message":{"id":2}}"#), blank(r#"{"message":{"id":2,"content":[]}}"#));
        assert_ne!(blank(r#"{"content":[1]}"#), blank(r#"{"content":[2]}"#));
    }

    #[test]
    fn deep_values_do_not_exhaust_the_stack() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        check(&deep, &deep, true);
    }
}
