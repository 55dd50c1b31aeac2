//! A cursor on a parsed text.

use super::number::{as_count, as_safe_integer, parse_number};
use super::print::unique_members;
use super::string::JsStr;
use super::tape::{JsonError, Kind, Node, Tape};

/// One value of a parsed text. Copying it is free; reading looks at the tape and the text.
#[derive(Clone, Copy)]
pub struct Js<'a> {
    pub(super) text: &'a str,
    pub(super) tape: &'a Tape,
    pub(super) at: u32,
}

impl<'a> Js<'a> {
    /// The value that `tape` was parsed into from `text`; nothing when the last parse failed.
    pub fn root(text: &'a str, tape: &'a Tape) -> Option<Self> {
        let node = tape.nodes.first()?;
        (node.end as usize <= text.len()).then_some(Self { text, tape, at: 0 })
    }

    #[inline]
    pub(super) fn node(self) -> Node {
        // Cursors are made from nodes of this tape only.
        self.tape.nodes[self.at as usize]
    }

    /// True when it was read with [`Tape::parse_printed`].
    pub fn is_printed(self) -> bool {
        self.tape.printed
    }

    /// What the value is.
    #[inline]
    pub fn kind(self) -> Kind {
        self.node().kind
    }

    /// The text of the value as it stands in the source.
    #[inline]
    pub fn raw(self) -> &'a str {
        let node = self.node();
        &self.text[node.start as usize..node.end as usize]
    }

    /// Byte offset of the value in the parsed text.
    pub fn offset(self) -> usize {
        self.node().start as usize
    }

    /// True for an object; arrays and `null` are none.
    #[inline]
    pub fn is_object(self) -> bool {
        self.kind() == Kind::Object
    }

    /// True for an array.
    #[inline]
    pub fn is_array(self) -> bool {
        self.kind() == Kind::Array
    }

    /// True for `null`.
    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    /// True for the literal `true`.
    #[inline]
    pub fn is_true(self) -> bool {
        self.kind() == Kind::True
    }

    /// The truth value, for `true` and `false`.
    pub fn as_bool(self) -> Option<bool> {
        match self.kind() {
            Kind::True => Some(true),
            Kind::False => Some(false),
            _ => None,
        }
    }

    /// The string, for strings.
    #[inline]
    pub fn as_str(self) -> Option<JsStr<'a>> {
        let node = self.node();
        (node.kind == Kind::String)
            .then(|| JsStr::new(&self.text[node.start as usize + 1..node.end as usize - 1], node.odd))
    }

    /// True for the string `text`.
    #[inline]
    pub fn is(self, text: &str) -> bool {
        self.as_str().is_some_and(|s| s == *text)
    }

    /// The double, for numbers.
    pub fn as_f64(self) -> Option<f64> {
        (self.kind() == Kind::Number).then(|| parse_number(self.raw()))
    }

    /// The number as a count: an integer 0 ..= 2^53-1, not negative zero.
    #[inline]
    pub fn as_count(self) -> Option<u64> {
        let node = self.node();
        if node.kind == Kind::Number { as_count(self.raw(), node.odd) } else { None }
    }

    /// The number as a safe integer: -(2^53-1) ..= 2^53-1, not negative zero.
    #[inline]
    pub fn as_safe_integer(self) -> Option<i64> {
        let node = self.node();
        if node.kind == Kind::Number { as_safe_integer(self.raw(), node.odd) } else { None }
    }

    /// The member `name` of an object; of duplicates the last, as in JavaScript.
    #[inline]
    pub fn get(self, name: &str) -> Option<Js<'a>> {
        let mut found = None;
        for (key, value) in self.members() {
            if key == *name {
                found = Some(value);
            }
        }
        found
    }

    /// The value under a path of member names.
    pub fn path(self, names: &[&str]) -> Option<Js<'a>> {
        names.iter().try_fold(self, |value, name| value.get(name))
    }

    /// Members of an object as they stand in the text, duplicates included; none for other values.
    #[inline]
    pub fn members(self) -> Members<'a> {
        let node = self.node();
        let end = if node.kind == Kind::Object { node.next } else { self.at + 1 };
        Members { of: self, at: self.at + 1, end }
    }

    /// Elements of an array; none for other values.
    #[inline]
    pub fn elements(self) -> Elements<'a> {
        let node = self.node();
        let end = if node.kind == Kind::Array { node.next } else { self.at + 1 };
        Elements { of: self, at: self.at + 1, end }
    }

    /// The elements when this is an array.
    pub fn as_array(self) -> Option<Elements<'a>> {
        self.is_array().then(|| self.elements())
    }

    /// Number of elements of an array that holds no containers, without a walk. Of other arrays it is an upper bound.
    pub fn scalar_count(self) -> usize {
        let node = self.node();
        if node.kind == Kind::Array { (node.next - self.at - 1) as usize } else { 0 }
    }

    /// Element `k` of an array that holds no containers, without a walk. Of other arrays it is some value below them.
    pub fn scalar(self, k: usize) -> Option<Js<'a>> {
        let k = u32::try_from(k).ok()?;
        ((k as usize) < self.scalar_count()).then(|| Js { at: self.at + 1 + k, ..self })
    }

    /// True when every member of this object is named in `names`.
    pub fn has_only(self, names: &[&str]) -> bool {
        self.members().all(|(key, _)| names.iter().any(|name| key == **name))
    }

    /// Number of distinct members of this object.
    pub fn member_count(self) -> usize {
        unique_members(self).len()
    }

    /// True when a number in it, at any depth, is negative zero or not finite. A number under a name that the same
    /// object repeats later is not in it.
    pub fn has_lossy_number(self) -> bool {
        let below = self.node().next;
        // Such numbers are rare, so the exact walk runs only when the text has one at all.
        if !(self.at..below).any(|at| Js { at, ..self }.is_lossy_number()) {
            return false;
        }
        let mut pending = vec![self];
        while let Some(value) = pending.pop() {
            if value.is_lossy_number() {
                return true;
            }
            pending.extend(value.elements());
            if value.is_object() {
                pending.extend(unique_members(value).into_iter().map(|(_, member)| member));
            }
        }
        false
    }

    fn is_lossy_number(self) -> bool {
        let node = self.node();
        node.kind == Kind::Number && node.odd && {
            let number = parse_number(self.raw());
            !number.is_finite() || (number == 0.0 && number.is_sign_negative())
        }
    }
}

impl std::fmt::Debug for Js<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.raw())
    }
}

/// Iterator over the members of an object.
#[derive(Clone)]
pub struct Members<'a> {
    of: Js<'a>,
    at: u32,
    end: u32,
}

impl<'a> Iterator for Members<'a> {
    type Item = (JsStr<'a>, Js<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.end {
            return None;
        }
        let key = Js { at: self.at, ..self.of };
        let value = Js { at: self.at + 1, ..self.of };
        self.at = value.node().next;
        key.as_str().map(|key| (key, value))
    }
}

/// Iterator over the elements of an array.
#[derive(Clone)]
pub struct Elements<'a> {
    of: Js<'a>,
    at: u32,
    end: u32,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Js<'a>;

    #[inline]
    fn next(&mut self) -> Option<Js<'a>> {
        if self.at >= self.end {
            return None;
        }
        let value = Js { at: self.at, ..self.of };
        self.at = value.node().next;
        Some(value)
    }
}

/// A parsed text that owns its bytes.
#[derive(Debug)]
pub struct Doc {
    text: String,
    tape: Tape,
}

impl Doc {
    /// Parse one JSON value.
    pub fn parse(text: impl Into<String>) -> Result<Self, JsonError> {
        let text = text.into();
        let mut tape = Tape::new();
        tape.parse(&text)?;
        Ok(Self { text, tape })
    }

    /// The value.
    pub fn root(&self) -> Js<'_> {
        Js { text: &self.text, tape: &self.tape, at: 0 }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_duplicate_members_wins() {
        let doc = Doc::parse(r#"{"a":1,"b":[{"x":null},2],"\u0061":3}"#).unwrap();
        assert_eq!(doc.root().get("a").unwrap().as_count(), Some(3));
        assert_eq!(doc.root().get("b").unwrap().elements().count(), 2);
        assert_eq!(doc.root().member_count(), 2);
        assert!(doc.root().has_only(&["a", "b"]));
    }

    #[test]
    fn scalars_by_number() {
        let doc = Doc::parse(r#"[["a",1,null],[]]"#).unwrap();
        let mut lists = doc.root().elements();
        let list = lists.next().unwrap();
        assert_eq!(list.scalar_count(), 3);
        assert!(list.scalar(0).unwrap().is("a"));
        assert!(list.scalar(2).unwrap().is_null());
        assert!(list.scalar(3).is_none());
        assert_eq!(lists.next().unwrap().scalar_count(), 0);
    }

    #[test]
    fn lossy_numbers_are_found_at_any_depth() {
        for (text, lossy) in [
            ("[[{\"a\":-0}]]", true),
            ("[1e400]", true),
            ("[-0.0]", true),
            ("[0,1e3,-1]", false),
            (r#"{"a":-0,"a":1}"#, false),
            (r#"{"a":-0,"b":-0,"a":1}"#, true),
            (r#"{"a":{"b":1e999},"\u0061":[]}"#, false),
        ] {
            assert_eq!(Doc::parse(text).unwrap().root().has_lossy_number(), lossy, "{text}");
        }
    }
}
