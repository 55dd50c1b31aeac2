//! Where two values differ.

use std::borrow::Cow;
use std::collections::HashMap;

use super::print::unique_members;
use super::string::JsStr;
use super::tape::Kind;
use super::value::Js;

/// The first place at which two values are not equal.
#[derive(Clone, Debug)]
pub struct Difference<'a> {
    /// JSON pointer (RFC 6901) of the place; empty for the values themselves.
    pub pointer: String,
    /// What the first one has there; nothing when it has no such member or element.
    pub left: Option<Js<'a>>,
    /// What the second one has there.
    pub right: Option<Js<'a>>,
}

/// The first difference by value, in the order of the first one's text; members that only the second one has come last
/// in their object. The order of members does not count, `-0` is `0`, and of duplicates the last counts.
pub fn first_difference<'a>(left: Js<'a>, right: Js<'a>) -> Option<Difference<'a>> {
    // A stack of its own, so that deep nesting cannot exhaust the thread's. `steps` holds the way to each job, backwards.
    let mut steps: Vec<Step<'a>> = Vec::new();
    let mut jobs = vec![Job { left: Some(left), right: Some(right), last: None }];
    while let Some(Job { left, right, last }) = jobs.pop() {
        let first = jobs.len();
        let mut go = |name: Name<'a>, left, right| {
            steps.push(Step { name, before: last });
            jobs.push(Job { left, right, last: Some(steps.len() - 1) });
        };
        let equal = match (left, right) {
            (Some(left), Some(right)) => match (left.kind(), right.kind()) {
                (Kind::Object, Kind::Object) => {
                    let mut others: HashMap<Cow<'_, [u8]>, Js<'a>> = unique_members(right)
                        .into_iter()
                        .map(|(key, value)| (key.to_wtf8(), value))
                        .collect();
                    for (key, value) in unique_members(left) {
                        go(Name::Member(key), Some(value), others.remove(&key.to_wtf8()));
                    }
                    let only_right = unique_members(right);
                    for (key, value) in only_right.into_iter().filter(|m| others.contains_key(&m.0.to_wtf8()))
                    {
                        go(Name::Member(key), None, Some(value));
                    }
                    true
                }
                (Kind::Array, Kind::Array) => {
                    let (mut lefts, mut rights) = (left.elements(), right.elements());
                    for at in 0.. {
                        match (lefts.next(), rights.next()) {
                            (None, None) => break,
                            (left, right) => go(Name::Element(at), left, right),
                        }
                    }
                    true
                }
                _ => is_same_scalar(left, right),
            },
            _ => false,
        };
        if !equal {
            return Some(Difference { pointer: pointer(&steps, last), left, right });
        }
        if let Some(new) = jobs.get_mut(first..) {
            new.reverse();
        }
    }
    None
}

struct Job<'a> {
    left: Option<Js<'a>>,
    right: Option<Js<'a>>,
    /// The last step of the way here; none at the root.
    last: Option<usize>,
}

struct Step<'a> {
    name: Name<'a>,
    before: Option<usize>,
}

enum Name<'a> {
    Member(JsStr<'a>),
    Element(u64),
}

/// True for equal values that hold no others.
fn is_same_scalar(left: Js<'_>, right: Js<'_>) -> bool {
    match (left.as_f64(), right.as_f64()) {
        // Infinities are equal to themselves, and there is no other number that is not.
        (Some(left), Some(right)) => left.partial_cmp(&right).is_some_and(std::cmp::Ordering::is_eq),
        _ => left.kind() == right.kind() && left.as_str() == right.as_str(),
    }
}

fn pointer(steps: &[Step<'_>], last: Option<usize>) -> String {
    let way = std::iter::successors(last.and_then(|at| steps.get(at)), |step| steps.get(step.before?));
    let mut names: Vec<String> = way
        .map(|step| match &step.name {
            Name::Member(name) => name.to_lossy().replace('~', "~0").replace('/', "~1"),
            Name::Element(at) => at.to_string(),
        })
        .collect();
    names.push(String::new());
    names.reverse();
    names.join("/")
}

#[cfg(test)]
mod tests {
    use super::super::value::Doc;
    use super::*;

    #[track_caller]
    fn check(left: &str, right: &str, expected: Option<(&str, &str, &str)>) {
        let (left, right) = (Doc::parse(left).unwrap(), Doc::parse(right).unwrap());
        let raw = |value: Option<Js<'_>>| value.map_or("-".to_owned(), |value| value.raw().to_owned());
        let found = first_difference(left.root(), right.root());
        let found = found.map(|d| (d.pointer, raw(d.left), raw(d.right)));
        assert_eq!(found, expected.map(|(p, l, r)| (p.to_owned(), l.to_owned(), r.to_owned())));
    }

    #[test]
    fn equal_by_value() {
        for (left, right) in [
            (r#"{"a":1,"b":[2,{}]}"#, r#"{"b":[2.0,{}],"a":1e0}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#),
            (r#"{"a":{"b":[]},"a":2}"#, r#"{"a":3,"a":2}"#),
            ("[0,1e999]", "[-0,1e1000]"),
            (r#""\u0061\ud83d""#, r#""a\uD83D""#),
            (r#"[null,true,"x"]"#, r#"[null,true,"x"]"#),
        ] {
            check(left, right, None);
        }
    }

    #[test]
    fn the_first_difference() {
        for (left, right, expected) in [
            ("1", "2", ("", "1", "2")),
            ("1", "\"1\"", ("", "1", "\"1\"")),
            ("true", "false", ("", "true", "false")),
            ("[]", "{}", ("", "[]", "{}")),
            ("null", "[]", ("", "null", "[]")),
            (r#"{"a":1,"b":[1,{"c":2}]}"#, r#"{"b":[1,{"c":3}],"a":1}"#, ("/b/1/c", "2", "3")),
            // In the order of the first text, and its own members before those it lacks.
            (r#"{"b":1,"a":2}"#, r#"{"z":0,"a":3,"b":4}"#, ("/b", "1", "4")),
            (r#"{"b":1,"a":{"x":1}}"#, r#"{"z":0,"a":{"x":2},"b":1}"#, ("/a/x", "1", "2")),
            (r#"{"a":1}"#, r#"{"z":0,"a":1}"#, ("/z", "-", "0")),
            (r#"{"a":null}"#, "{}", ("/a", "null", "-")),
            ("[1,2]", "[1]", ("/1", "2", "-")),
            ("[1]", "[1,2]", ("/1", "-", "2")),
            (r#"{"a/b~":{"":1}}"#, r#"{"a/b~":{"":2}}"#, ("/a~1b~0/", "1", "2")),
            (r#"["\ud83d"]"#, r#"["\ud83e"]"#, ("/0", r#""\ud83d""#, r#""\ud83e""#)),
        ] {
            check(left, right, Some(expected));
        }
    }

    #[test]
    fn deep_values_do_not_exhaust_the_stack() {
        let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(50_000), "]".repeat(50_000));
        check(&deep("1"), &deep("1"), None);
        check(&deep("1"), &deep("2"), Some((&"/0".repeat(50_000), "1", "2")));
    }
}
