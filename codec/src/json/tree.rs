//! A value under change: what is not touched stays a cursor on the text that was read.
//!
//! Members keep the place that JavaScript gives them: a changed member stays where it was, a new one goes to the end.

use super::print::{ordered_members, print, print_str, print_string};
use super::string::{JsStr, JsString};
use super::value::Js;

/// A JSON value that is being changed.
#[derive(Clone, Debug)]
pub enum Tree<'a> {
    /// A value as it was read.
    Read(Js<'a>),
    /// JSON text that is printed as it is.
    Text(Box<str>),
    /// An opened or new object.
    Object(Fields<'a>),
    /// An opened or new array.
    Array(Vec<Tree<'a>>),
}

/// The members of an object under change, in order.
#[derive(Clone, Debug, Default)]
pub struct Fields<'a>(Vec<(Name<'a>, Tree<'a>)>);

/// The name of a member.
#[derive(Clone, Debug)]
enum Name<'a> {
    Read(JsStr<'a>),
    New(Box<str>),
    /// With quotes and escapes, as it is printed.
    Printed(Box<str>),
}

impl Name<'_> {
    fn is(&self, name: &str) -> bool {
        match self {
            Name::Read(read) => *read == *name,
            Name::New(new) => **new == *name,
            Name::Printed(text) => Name::unquoted(text) == *name,
        }
    }
}

impl Name<'_> {
    /// The name in its printed form.
    fn unquoted(printed: &str) -> JsStr<'_> {
        JsStr::new(printed.get(1..printed.len() - 1).unwrap_or(""), true)
    }
}

impl<'a> From<Js<'a>> for Tree<'a> {
    fn from(value: Js<'a>) -> Self {
        Tree::Read(value)
    }
}

impl<'a> From<Fields<'a>> for Tree<'a> {
    fn from(fields: Fields<'a>) -> Self {
        Tree::Object(fields)
    }
}

impl<'a> Tree<'a> {
    /// A string.
    pub fn string(text: &str) -> Self {
        let mut out = Vec::with_capacity(text.len() + 2);
        print_str(&mut out, JsStr::plain(text));
        Tree::printed(out)
    }

    /// A string that may have lone surrogates.
    pub fn js_string(text: &JsString) -> Self {
        let mut out = Vec::new();
        print_string(&mut out, text);
        Tree::printed(out)
    }

    /// The string `prefix`, which has no escapes and no surrogates, and behind it `text`.
    pub fn prefixed(prefix: &str, text: JsStr<'_>) -> Self {
        let mut out = format!("\"{prefix}").into_bytes();
        let behind = out.len();
        print_str(&mut out, text);
        out.remove(behind);
        Tree::printed(out)
    }

    /// An integer.
    pub fn integer(number: impl Into<i128>) -> Self {
        Tree::Text(itoa::Buffer::new().format(number.into()).into())
    }

    /// `true` or `false`.
    pub fn bool(value: bool) -> Self {
        Tree::Text(if value { "true" } else { "false" }.into())
    }

    /// JSON text that was printed by this crate.
    pub fn printed(text: Vec<u8>) -> Self {
        // The printer writes lone surrogates as escapes, so this is always UTF-8.
        Tree::Text(String::from_utf8(text).unwrap_or_default().into())
    }

    /// The value, while nothing in it has been opened.
    pub fn read(&self) -> Option<Js<'a>> {
        match self {
            Tree::Read(value) => Some(*value),
            _ => None,
        }
    }

    /// The members, opened for change; nothing when this is no object.
    pub fn open(&mut self) -> Option<&mut Fields<'a>> {
        if let Tree::Read(value) = self {
            if !value.is_object() {
                return None;
            }
            *self = Tree::Object(Fields::of(*value));
        }
        match self {
            Tree::Object(fields) => Some(fields),
            _ => None,
        }
    }

    /// The elements, opened for change; nothing when this is no array.
    pub fn open_array(&mut self) -> Option<&mut Vec<Tree<'a>>> {
        if let Tree::Read(value) = self {
            *self = Tree::Array(value.as_array()?.map(Tree::Read).collect());
        }
        match self {
            Tree::Array(elements) => Some(elements),
            _ => None,
        }
    }

    /// The member at a path of names, all on the way opened for change.
    pub fn open_path(&mut self, names: &[&str]) -> Option<&mut Tree<'a>> {
        names.iter().try_fold(self, |tree, name| tree.open()?.get_mut(name))
    }

    /// Append the value as JavaScript prints it.
    pub fn print(&self, out: &mut Vec<u8>) {
        match self {
            Tree::Read(value) => print(out, *value),
            Tree::Text(text) => out.extend_from_slice(text.as_bytes()),
            Tree::Object(fields) => {
                out.push(b'{');
                for (i, (name, value)) in fields.0.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    match name {
                        Name::Read(name) => print_str(out, *name),
                        Name::New(name) => print_str(out, JsStr::plain(name)),
                        Name::Printed(name) => out.extend_from_slice(name.as_bytes()),
                    }
                    out.push(b':');
                    value.print(out);
                }
                out.push(b'}');
            }
            Tree::Array(elements) => {
                out.push(b'[');
                for (i, element) in elements.iter().enumerate() {
                    if i > 0 {
                        out.push(b',');
                    }
                    element.print(out);
                }
                out.push(b']');
            }
        }
    }
}

impl<'a> Fields<'a> {
    /// No members.
    pub fn new() -> Self {
        Self::default()
    }

    /// The members of an object in JavaScript's order, each once.
    pub fn of(object: Js<'a>) -> Self {
        let members = ordered_members(object);
        Fields(members.into_iter().map(|(name, value)| (Name::Read(name), Tree::Read(value))).collect())
    }

    /// The member `name`.
    pub fn get(&self, name: &str) -> Option<&Tree<'a>> {
        self.0.iter().find(|(key, _)| key.is(name)).map(|(_, value)| value)
    }

    /// The member `name`, for change.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Tree<'a>> {
        self.0.iter_mut().find(|(key, _)| key.is(name)).map(|(_, value)| value)
    }

    /// Set a member: in its place when it is there, else at the end.
    pub fn set(&mut self, name: &str, value: impl Into<Tree<'a>>) {
        let value = value.into();
        match self.get_mut(name) {
            Some(place) => *place = value,
            None => self.0.push((Name::New(name.into()), value)),
        }
    }

    /// Add a member whose name is `prefix` and behind it `name`. Nothing else may have it.
    pub fn push_prefixed(&mut self, prefix: &str, name: JsStr<'_>, value: impl Into<Tree<'a>>) {
        let Tree::Text(name) = Tree::prefixed(prefix, name) else { return };
        self.0.push((Name::Printed(name), value.into()));
    }

    /// The same as [`Fields::set`], to build an object member by member.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Tree<'a>>) -> Self {
        self.set(name, value);
        self
    }

    /// Take a member out.
    pub fn remove(&mut self, name: &str) -> Option<Tree<'a>> {
        let at = self.0.iter().position(|(key, _)| key.is(name))?;
        Some(self.0.remove(at).1)
    }

    /// Names, as text, and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (std::borrow::Cow<'_, str>, &Tree<'a>)> {
        self.0.iter().map(|(name, value)| match name {
            Name::Read(name) => (name.to_lossy(), value),
            Name::New(name) => (std::borrow::Cow::Borrowed(&**name), value),
            Name::Printed(name) => (Name::unquoted(name).to_lossy().into_owned().into(), value),
        })
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True when there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::value::Doc;
    use super::*;

    #[test]
    fn changed_members_stay_and_new_ones_go_to_the_end() {
        let doc = Doc::parse(r#"{"b":{"x":[1, 2],"y":1.50},"10":1,"2":2,"a":"\u0041","c":3}"#).unwrap();
        let mut tree = Tree::from(doc.root());
        tree.open_path(&["b", "x"]).unwrap().open_array().unwrap()[0] = Tree::integer(7);
        let fields = tree.open().unwrap();
        fields.set("a", Tree::string("q\"\u{1}"));
        fields.set("new", Fields::new().with("t", Tree::bool(true)));
        assert!(fields.remove("c").is_some() && fields.remove("c").is_none());
        let mut out = Vec::new();
        tree.print(&mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#"{"2":2,"10":1,"b":{"x":[7,2],"y":1.5},"a":"q\"\u0001","new":{"t":true}}"#
        );
        assert!(Tree::from(doc.root()).open_path(&["b", "z"]).is_none());
    }

    #[test]
    fn prefixed_names_keep_what_no_rust_string_can_hold() {
        let doc = Doc::parse(r#"{"\ud83d\"":"\udc00","a":1}"#).unwrap();
        let mut fields = Fields::new();
        for (name, value) in doc.root().members() {
            let value = value.as_str().map_or(Tree::Read(value), |text| Tree::prefixed("q:", text));
            fields.push_prefixed("p:", name, value);
        }
        assert!(fields.get("p:a").is_some() && fields.get("a").is_none());
        let mut out = Vec::new();
        Tree::from(fields).print(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), r#"{"p:\ud83d\"":"q:\udc00","p:a":1}"#);
    }
}
