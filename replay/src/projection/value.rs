//! Values that a state keeps.

use dshlog_codec::json::{Fields, Js, JsString, Tree, print, print_number, print_string};

/// A JSON value as JavaScript prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Kept(Box<str>);

impl Kept {
    pub(super) fn of(value: Js<'_>) -> Self {
        let mut text = Vec::with_capacity(value.raw().len());
        print(&mut text, value);
        Kept::printed(text)
    }

    /// Text that the printer made, which is always UTF-8.
    fn printed(text: Vec<u8>) -> Self {
        Kept(String::from_utf8(text).unwrap_or_default().into())
    }

    pub(super) fn string(text: &JsString) -> Self {
        let mut out = Vec::new();
        print_string(&mut out, text);
        Kept::printed(out)
    }

    pub(super) fn tree(&self) -> Tree<'static> {
        Tree::Text(self.0.clone())
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }
}

/// A value, or null.
pub(super) fn or_null(value: Option<&Kept>) -> Tree<'static> {
    value.map_or_else(null, Kept::tree)
}

pub(super) fn null() -> Tree<'static> {
    Tree::Text("null".into())
}

/// A number, as JavaScript prints it.
pub(super) fn number(number: f64) -> Tree<'static> {
    let mut text = Vec::new();
    print_number(&mut text, number);
    Tree::printed(text)
}

/// A count, or null.
pub(super) fn count_or_null(count: Option<u64>) -> Tree<'static> {
    count.map_or_else(null, Tree::integer)
}

/// An object out of its members.
pub(super) fn object<const N: usize>(members: [(&str, Tree<'static>); N]) -> Tree<'static> {
    let mut fields = Fields::new();
    for (name, value) in members {
        fields.set(name, value);
    }
    fields.into()
}

/// An object whose names come out of the log: JavaScript puts those that are numbers in front.
pub(super) fn record<'k>(members: impl Iterator<Item = (&'k Kept, Tree<'static>)>) -> Tree<'static> {
    let mut text = b"{".to_vec();
    for (name, value) in members {
        if text.len() > 1 {
            text.push(b',');
        }
        text.extend_from_slice(name.text().as_bytes());
        text.push(b':');
        value.print(&mut text);
    }
    text.push(b'}');
    let text = String::from_utf8(text).unwrap_or_default();
    match dshlog_codec::json::Doc::parse(text) {
        Ok(doc) => Kept::of(doc.root()).tree(),
        Err(_) => object([]),
    }
}

/// The member of an object that is a count; numbers of turns and steps are.
pub(super) fn count(value: Option<Js<'_>>, name: &str) -> Option<u64> {
    value?.get(name)?.as_count()
}

/// The value with the members that are named, in this order; as it is when it is no object.
pub(super) fn only(value: Js<'_>, names: &[&str]) -> Tree<'static> {
    if !value.is_object() {
        return Kept::of(value).tree();
    }
    let mut fields = Fields::new();
    for name in names {
        if let Some(member) = value.get(name) {
            fields.set(name, Kept::of(member).tree());
        }
    }
    fields.into()
}
