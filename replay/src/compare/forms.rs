//! Lists of messages or of requests, aligned.

use dshlog_codec::json::{Doc, Js, JsStr};

use super::align::{Part, align};
use super::detail::{self, Change, Value};
use super::normal::{self, Link, Names, Survey};
use super::outline::{Digest, digest};
use super::renaming::{Renaming, Side, Snapshot};
use super::rules::{ALONE, REQUEST};

/// What a list is compared by: a digest and links for each of its members, not their text.
#[derive(Clone, Debug)]
pub struct Form {
    kind: &'static str,
    key: String,
    digest: Digest,
    links: Vec<Link>,
}

impl Form {
    /// Of a message as JSON; nothing when it is none. Messages of one role may belong together.
    pub fn message(text: &str, survey: &Survey) -> Option<Self> {
        let doc = Doc::parse(text).ok()?;
        let role = doc.root().get("role").and_then(Js::as_str).map(JsStr::to_lossy).unwrap_or_default();
        Some(Self::of(ALONE, role.into_owned(), &doc, survey))
    }

    /// Of what is new in a request, as [`News::take`](super::News::take) gives it; nothing when it is no JSON.
    pub fn request(text: &str, survey: &Survey) -> Option<Self> {
        Some(Self::of(REQUEST, String::new(), &Doc::parse(text).ok()?, survey))
    }

    fn of(kind: &'static str, key: String, doc: &Doc, survey: &Survey) -> Self {
        let (mut links, mut text) = (Vec::new(), Vec::new());
        survey.write_as(kind, doc.root(), &mut links, true, &mut text);
        Form { kind, key, digest: digest(&text), links }
    }
}

impl Part for Form {
    type Whole = Digest;
    type Key = String;

    fn whole(&self) -> Digest {
        self.digest
    }

    fn key(&self) -> String {
        self.key.clone()
    }

    fn likeness(&self, other: &Self) -> Option<u64> {
        (self.key == other.key).then_some(1 + u64::from(self.digest == other.digest))
    }
}

/// Two lists, aligned.
#[derive(Debug)]
pub struct Forms {
    matches: Vec<FormMatch>,
    kind: &'static str,
    renaming: Renaming,
}

/// A member of one list or both, by its place there.
#[derive(Debug)]
pub struct FormMatch {
    /// Its place in the first list.
    pub a: Option<usize>,
    /// Its place in the second.
    pub b: Option<usize>,
    /// What the names in two unequal ones stood for.
    snapshot: Option<Snapshot>,
}

impl FormMatch {
    /// True when both lists have it alike.
    pub fn is_equal(&self) -> bool {
        self.a.is_some() && self.b.is_some() && self.snapshot.is_none()
    }
}

impl Forms {
    /// Align two lists of one kind. Drawn names must stand for each other throughout.
    pub fn align(a: &[Form], b: &[Form]) -> Self {
        let mut renaming = Renaming::new(0, 0);
        let matches = align(a, b)
            .into_iter()
            .map(|(i, j)| {
                let (one, other) = (i.and_then(|i| a.get(i)), j.and_then(|j| b.get(j)));
                let snapshot = one.zip(other).and_then(|(one, other)| {
                    let is_same = renaming.agree(&one.links, &other.links) && one.digest == other.digest;
                    (!is_same).then(|| renaming.snapshot(&one.links, &other.links))
                });
                FormMatch { a: i, b: j, snapshot }
            })
            .collect();
        Forms { matches, kind: a.first().or(b.first()).map_or(ALONE, |form| form.kind), renaming }
    }

    /// The members of both lists, in order.
    pub fn matches(&self) -> &[FormMatch] {
        &self.matches
    }

    /// Where the two members of a match differ, given their texts.
    pub fn changes(&self, of: &FormMatch, a: (&str, &Survey), b: (&str, &Survey)) -> Vec<Change> {
        let Some(snapshot) = &of.snapshot else { return Vec::new() };
        let normal = |side, doc: &Doc, survey: &Survey| {
            let mut text = Vec::new();
            let mut names = self.renaming.names(side, snapshot);
            survey.write_as(self.kind, doc.root(), &mut names as &mut dyn Names, false, &mut text);
            normal::parse(&text)
        };
        let (Ok(one), Ok(other)) = (Doc::parse(a.0), Doc::parse(b.0)) else { return Vec::new() };
        let (Some(normal_a), Some(normal_b)) = (normal(Side::A, &one, a.1), normal(Side::B, &other, b.1))
        else {
            return Vec::new();
        };
        let value = |normal, read| Value { normal: Doc::root(normal), read: Some(Doc::root(read)) };
        detail::changes(value(&normal_a, &one), value(&normal_b, &other))
    }
}
