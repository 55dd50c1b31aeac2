//! Equality by value: of two values at hand, and as digests, so that no payload need be kept to compare it later.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};

use super::print::unique_members;
use super::string::JsStr;
use super::tape::Kind;
use super::value::Js;

/// True when two values are deeply equal (`docs/spec/events-v4.md`, section 1). The order of members does not count, and
/// `-0` differs from `0`.
pub fn deep_equal(a: Js<'_>, b: Js<'_>) -> bool {
    // A stack of its own, so that deep nesting cannot exhaust the thread's.
    let mut pending = vec![(a, b)];
    while let Some((a, b)) = pending.pop() {
        // One text has one value. Whoever wrote both has mostly spelled them alike.
        if a.raw() == b.raw() {
            continue;
        }
        let equal = match (a.kind(), b.kind()) {
            (Kind::Number, Kind::Number) => a.as_f64().map(f64::to_bits) == b.as_f64().map(f64::to_bits),
            (Kind::String, Kind::String) => a.as_str() == b.as_str(),
            (Kind::Array, Kind::Array) => {
                let mut others = b.elements();
                a.elements().all(|one| others.next().map(|other| pending.push((one, other))).is_some())
                    && others.next().is_none()
            }
            (Kind::Object, Kind::Object) => {
                let (ones, others) = (sorted_members(a), sorted_members(b));
                ones.len() == others.len()
                    && ones.into_iter().zip(others).all(|((one_key, one), (other_key, other))| {
                        pending.push((one, other));
                        one_key == other_key
                    })
            }
            // Of the kinds that are left each has one text.
            _ => false,
        };
        if !equal {
            return false;
        }
    }
    true
}

fn sorted_members(object: Js<'_>) -> Vec<(Cow<'_, [u8]>, Js<'_>)> {
    let mut members: Vec<_> =
        unique_members(object).into_iter().map(|(key, value)| (key.to_wtf8(), value)).collect();
    members.sort_by(|a, b| a.0.cmp(&b.0));
    members
}

/// SHA-256 over a canonical form: equal digests mean deeply equal values (`docs/spec/events-v4.md`, section 1).
pub type Digest = [u8; 32];

/// Digest of `value`, in which the order of members does not count. `signed_zero` says whether `-0` differs from `0`.
pub fn deep_digest(value: Js<'_>, signed_zero: bool) -> Digest {
    deep_digest_blanking(value, signed_zero, &[])
}

/// Like [`deep_digest`], with the member at `blank`, a path of names, taken as if it were an empty list.
pub fn deep_digest_blanking(value: Js<'_>, signed_zero: bool, blank: &[&str]) -> Digest {
    let mut form = Vec::with_capacity(512);
    write_form(&mut form, value, signed_zero, blank);
    Sha256::digest(&form).into()
}

/// How deep a value lies on the blanked path: `At(0)` is the root, `Off` any other place, `Hit` the blanked value itself.
#[derive(Clone, Copy)]
enum Blank {
    Off,
    At(usize),
    Hit,
}

/// Append a form that equal values share and no others: a tag for each value, lengths before what varies in length.
fn write_form(form: &mut Vec<u8>, root: Js<'_>, signed_zero: bool, blank: &[&str]) {
    enum Job<'a> {
        Value(Js<'a>, Blank),
        Key(Cow<'a, [u8]>),
    }
    let text = |form: &mut Vec<u8>, tag: u8, bytes: &[u8]| {
        form.push(tag);
        form.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
        form.extend_from_slice(bytes);
    };
    // A stack of its own, so that deep nesting cannot exhaust the thread's.
    let mut jobs = vec![Job::Value(root, if blank.is_empty() { Blank::Off } else { Blank::At(0) })];
    while let Some(job) = jobs.pop() {
        let (value, place) = match job {
            Job::Key(key) => {
                text(form, b'k', &key);
                continue;
            }
            Job::Value(_, Blank::Hit) => {
                form.extend_from_slice(b"[]");
                continue;
            }
            Job::Value(value, place) => (value, place),
        };
        match value.kind() {
            Kind::Null => form.push(b'n'),
            Kind::True => form.push(b't'),
            Kind::False => form.push(b'f'),
            Kind::Number => {
                let number = value.as_f64().unwrap_or(f64::NAN);
                let number = if number == 0.0 && !signed_zero { 0.0 } else { number };
                form.push(b'd');
                form.extend_from_slice(&number.to_bits().to_be_bytes());
            }
            Kind::String => text(form, b's', &value.as_str().map(JsStr::to_wtf8).unwrap_or_default()),
            Kind::Array => {
                form.push(b'[');
                let first = jobs.len();
                jobs.extend(value.elements().map(|element| Job::Value(element, Blank::Off)));
                let count = jobs.len() - first;
                jobs[first..].reverse();
                // No tag is `]`, so that it ends an empty list and a count begins any other.
                if count == 0 {
                    form.push(b']');
                } else {
                    form.extend_from_slice(&(count as u64).to_be_bytes());
                }
            }
            Kind::Object => {
                let mut members: Vec<_> =
                    value.members().map(|(key, value)| (key.to_wtf8(), value)).collect();
                // The last of duplicates wins: a stable sort from the back keeps it first.
                members.reverse();
                members.sort_by(|a, b| a.0.cmp(&b.0));
                members.dedup_by(|later, kept| later.0 == kept.0);
                form.push(b'{');
                form.extend_from_slice(&(members.len() as u64).to_be_bytes());
                for (key, value) in members.into_iter().rev() {
                    let inner =
                        match place {
                            Blank::At(depth)
                                if blank.get(depth).is_some_and(|name| name.as_bytes() == &*key) =>
                            {
                                if depth + 1 == blank.len() { Blank::Hit } else { Blank::At(depth + 1) }
                            }
                            _ => Blank::Off,
                        };
                    jobs.push(Job::Value(value, inner));
                    jobs.push(Job::Key(key));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::value::Doc;
    use super::*;

    #[track_caller]
    fn check(a: &str, b: &str, equal: bool) {
        let (x, y) = (Doc::parse(a).unwrap(), Doc::parse(b).unwrap());
        assert_eq!(deep_digest(x.root(), false) == deep_digest(y.root(), false), equal, "{a} {b}");
        let zeros = [a, b].contains(&"-0");
        assert_eq!(deep_equal(x.root(), y.root()), equal && !zeros, "{a} {b}");
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
        check(r#"{"a":1,"a":2}"#, r#"{"a":3,"a":2}"#, true);
        check(r#"[{"a":1,"b":2}]"#, r#"[{"a":1,"c":2}]"#, false);
        check("[1]", "[1,1]", false);
        check("[1,1]", "[1]", false);
        check("true", "false", false);
        check("null", "false", false);
        check(r#"{"a":[]}"#, r#"{"a":{}}"#, false);
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
