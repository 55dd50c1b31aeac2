//! Where two events differ, and what each has there.

use std::borrow::Cow;

use dshlog_codec::json::{Digest, Js, JsStr, deep_digest, deep_equal, ordered_members, print};

use super::align::{Part, align};

/// Places listed of one pair of events.
const MOST: usize = 1_000;
/// Below it, values are compared whole.
const DEPTH: usize = 100;

/// A place at which two events differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What the first one has there; nothing when it lacks the member or element.
    pub a: Option<Spot>,
    /// What the second one has there.
    pub b: Option<Spot>,
}

/// A place in an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// JSON pointer (RFC 6901) in the row of the event; empty for the row itself.
    pub pointer: String,
    /// The value as it stands there, in JavaScript's spelling.
    pub value: String,
}

impl Change {
    /// The pointer, that of the first one where both have one.
    pub fn pointer(&self) -> &str {
        self.a.as_ref().or(self.b.as_ref()).map_or("", |spot| &spot.pointer)
    }
}

/// A value in normal form, and the one that was read.
#[derive(Clone, Copy)]
pub(super) struct Value<'a> {
    pub(super) normal: Js<'a>,
    pub(super) read: Option<Js<'a>>,
}

/// Where two values differ in their normal form, in the order of the first.
pub(super) fn changes(a: Value<'_>, b: Value<'_>) -> Vec<Change> {
    let mut differ = Differ { changes: Vec::new(), path: (String::new(), String::new()) };
    differ.compare(a, b, 0);
    differ.changes
}

struct Differ {
    changes: Vec<Change>,
    /// The way to the values at hand.
    path: (String, String),
}

impl Differ {
    fn compare(&mut self, a: Value<'_>, b: Value<'_>, depth: usize) {
        if a.normal.raw() == b.normal.raw() || self.changes.len() >= MOST {
            return;
        }
        if depth > DEPTH {
            if !deep_equal(a.normal, b.normal) {
                self.note(Some(a), Some(b));
            }
        } else if a.normal.is_object() && b.normal.is_object() {
            self.members(a, b, depth);
        } else if a.normal.is_array() && b.normal.is_array() {
            self.elements(a, b, depth);
        } else {
            self.note(Some(a), Some(b));
        }
    }

    fn members(&mut self, a: Value<'_>, b: Value<'_>, depth: usize) {
        let names = |value: Value<'_>| -> Vec<String> {
            ordered_members(value.normal).into_iter().map(|(name, _)| name.to_lossy().into_owned()).collect()
        };
        let (names_a, names_b) = (names(a), names(b));
        for name in &names_a {
            self.at(name, name, |differ| differ.either(a.member(name), b.member(name), depth));
        }
        for name in names_b.iter().filter(|name| a.normal.get(name).is_none()) {
            self.at(name, name, |differ| differ.either(None, b.member(name), depth));
        }
    }

    fn elements(&mut self, a: Value<'_>, b: Value<'_>, depth: usize) {
        let (ones, others) = (a.elements(), b.elements());
        for (i, j) in align(&ones, &others) {
            let (one, other) = (i.and_then(|i| ones.get(i)), j.and_then(|j| others.get(j)));
            let place = |at: Option<usize>| at.map(|at| at.to_string()).unwrap_or_default();
            self.at(&place(i), &place(j), |differ| {
                differ.either(one.map(|one| one.value), other.map(|other| other.value), depth);
            });
        }
    }

    fn either(&mut self, a: Option<Value<'_>>, b: Option<Value<'_>>, depth: usize) {
        match (a, b) {
            (Some(a), Some(b)) => self.compare(a, b, depth + 1),
            (a, b) => self.note(a, b),
        }
    }

    fn at(&mut self, a: &str, b: &str, go: impl FnOnce(&mut Self)) {
        let lengths = (self.path.0.len(), self.path.1.len());
        for (path, name) in [(&mut self.path.0, a), (&mut self.path.1, b)] {
            path.push('/');
            path.push_str(&name.replace('~', "~0").replace('/', "~1"));
        }
        go(self);
        self.path.0.truncate(lengths.0);
        self.path.1.truncate(lengths.1);
    }

    fn note(&mut self, a: Option<Value<'_>>, b: Option<Value<'_>>) {
        let spot = |value: Value<'_>, path: &str| Spot { pointer: path.to_owned(), value: value.shown() };
        let a = a.map(|value| spot(value, &self.path.0));
        let b = b.map(|value| spot(value, &self.path.1));
        if self.changes.len() < MOST {
            self.changes.push(Change { a, b });
        }
    }
}

impl<'a> Value<'a> {
    fn member(self, name: &str) -> Option<Value<'a>> {
        Some(Value { normal: self.normal.get(name)?, read: self.read.and_then(|read| read.get(name)) })
    }

    fn elements(self) -> Vec<Element<'a>> {
        let mut read = self.read.into_iter().flat_map(Js::elements);
        self.normal.elements().map(|normal| Element::of(Value { normal, read: read.next() })).collect()
    }

    /// As it was read.
    fn shown(self) -> String {
        let mut text = Vec::new();
        print(&mut text, self.read.unwrap_or(self.normal));
        String::from_utf8_lossy(&text).into_owned()
    }
}

/// An element of a list.
struct Element<'a> {
    value: Value<'a>,
    digest: Digest,
}

impl<'a> Element<'a> {
    fn of(value: Value<'a>) -> Self {
        Element { digest: deep_digest(value.normal, false), value }
    }
}

impl Part for Element<'_> {
    type Whole = Digest;
    type Key = String;

    fn whole(&self) -> Digest {
        self.digest
    }

    /// What lists of the format are told apart by: the name of a tool, the type of a block.
    fn key(&self) -> String {
        let name = ["name", "type"].into_iter().find_map(|name| self.value.normal.get(name)?.as_str());
        name.map_or(Cow::Borrowed(""), JsStr::to_lossy).into_owned()
    }

    fn likeness(&self, other: &Self) -> Option<u64> {
        let is_alike = self.value.normal.kind() == other.value.normal.kind() && self.key() == other.key();
        is_alike.then_some(1 + u64::from(self.digest == other.digest))
    }
}

#[cfg(test)]
mod tests {
    use dshlog_codec::json::Doc;

    use super::*;

    fn value(doc: &Doc) -> Value<'_> {
        Value { normal: doc.root(), read: Some(doc.root()) }
    }

    /// Each change as `pointer value|pointer value`.
    #[track_caller]
    fn check(a: &str, b: &str, expected: &[&str]) {
        let (a, b) = (Doc::parse(a).unwrap(), Doc::parse(b).unwrap());
        let shown = |spot: &Option<Spot>| {
            spot.as_ref().map_or("-".to_owned(), |spot| format!("{} {}", spot.pointer, spot.value))
        };
        let found: Vec<String> = changes(value(&a), value(&b))
            .iter()
            .map(|change| format!("{} | {}", shown(&change.a), shown(&change.b)))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn places() {
        check(r#"{"a":1,"b":{"c":[1,2]}}"#, r#"{"b":{"c":[1,2]},"a":1}"#, &[]);
        check(r#"{"a":1,"b":2}"#, r#"{"b":3,"z":0}"#, &["/a 1 | -", "/b 2 | /b 3", "- | /z 0"]);
        check(r#"{"a/~":[{"x":1}]}"#, r#"{"a/~":[{"x":2}]}"#, &["/a~1~0/0/x 1 | /a~1~0/0/x 2"]);
        check("[1]", "{}", &[" [1] |  {}"]);
        // What stands at another place in a list is still the same.
        check("[1,2,3]", "[0,1,3]", &["- | /0 0", "/1 2 | -"]);
        check(
            r#"[{"name":"a","d":1},{"name":"b","d":1}]"#,
            r#"[{"name":"c","d":0},{"name":"b","d":2}]"#,
            &[r#"/0 {"name":"a","d":1} | -"#, r#"- | /0 {"name":"c","d":0}"#, "/1/d 1 | /1/d 2"],
        );
    }

    #[test]
    fn deep_values_do_not_exhaust_the_stack() {
        let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(50_000), "]".repeat(50_000));
        let (a, b) = (Doc::parse(deep("1")).unwrap(), Doc::parse(deep("2")).unwrap());
        let found = changes(value(&a), value(&b));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].pointer(), "/0".repeat(DEPTH + 1));
    }
}
