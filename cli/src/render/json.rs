//! JSON documents of ours: compact, `schema` first, members in the order they are added.

use std::io::{self, Write};
use std::path::Path;

use dshlog_codec::At;

/// A document or an object in one.
#[derive(Debug)]
pub(crate) struct Object(Vec<u8>);

impl Object {
    /// A document of a schema, such as `dshlog.session/1`.
    pub(crate) fn new(schema: &str) -> Self {
        let mut object = Object(b"{".to_vec());
        object.text("schema", schema);
        object
    }

    /// An object that is no document, such as a line of one; with its first member.
    pub(crate) fn part(name: &str, value: &str) -> Self {
        let mut object = Object(b"{".to_vec());
        object.text(name, value);
        object
    }

    fn name(&mut self, name: &str) {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        string(&mut self.0, name);
        self.0.push(b':');
    }

    /// A string.
    pub(crate) fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        string(&mut self.0, value);
    }

    /// A string, or null.
    pub(crate) fn text_or_null(&mut self, name: &str, value: Option<&str>) {
        match value {
            Some(value) => self.text(name, value),
            None => self.raw(name, b"null"),
        }
    }

    /// A path; what is no Unicode is replaced.
    pub(crate) fn path(&mut self, name: &str, value: Option<&Path>) {
        self.text_or_null(name, value.map(Path::to_string_lossy).as_deref());
    }

    /// A count.
    pub(crate) fn count(&mut self, name: &str, value: u64) {
        self.raw(name, value.to_string().as_bytes());
    }

    /// A count, or null.
    pub(crate) fn count_or_null(&mut self, name: &str, value: Option<u64>) {
        match value {
            Some(value) => self.count(name, value),
            None => self.raw(name, b"null"),
        }
    }

    /// Epoch milliseconds, or null.
    pub(crate) fn millis_or_null(&mut self, name: &str, value: Option<i64>) {
        match value {
            Some(value) => self.raw(name, value.to_string().as_bytes()),
            None => self.raw(name, b"null"),
        }
    }

    /// A truth value.
    pub(crate) fn flag(&mut self, name: &str, value: bool) {
        self.raw(name, if value { b"true" } else { b"false" });
    }

    /// Counts in an array.
    pub(crate) fn counts(&mut self, name: &str, values: impl Iterator<Item = u64>) {
        let values: Vec<String> = values.map(|value| value.to_string()).collect();
        self.raw(name, format!("[{}]", values.join(",")).as_bytes());
    }

    /// Strings in an array.
    pub(crate) fn texts<'a>(&mut self, name: &str, values: impl Iterator<Item = &'a str>) {
        let mut json = b"[".to_vec();
        for (i, value) in values.enumerate() {
            if i > 0 {
                json.push(b',');
            }
            string(&mut json, value);
        }
        json.push(b']');
        self.raw(name, &json);
    }

    /// JSON as it is.
    pub(crate) fn raw(&mut self, name: &str, json: &[u8]) {
        self.name(name);
        self.0.extend_from_slice(json);
    }

    /// An object.
    pub(crate) fn object(&mut self, name: &str, fill: impl FnOnce(&mut Object)) {
        let mut object = Object(b"{".to_vec());
        fill(&mut object);
        self.raw(name, &object.closed());
    }

    /// Objects in an array.
    pub(crate) fn array<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        fill: impl Fn(T, &mut Object),
    ) {
        let mut json = b"[".to_vec();
        for (i, item) in items.into_iter().enumerate() {
            if i > 0 {
                json.push(b',');
            }
            let mut object = Object(b"{".to_vec());
            fill(item, &mut object);
            json.extend_from_slice(&object.closed());
        }
        json.push(b']');
        self.raw(name, &json);
    }

    fn closed(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }

    /// Write the document as one line.
    pub(crate) fn write_line(self, out: &mut dyn Write) -> io::Result<()> {
        let mut line = self.closed();
        line.push(b'\n');
        out.write_all(&line)
    }
}

/// Members of the position of a fault.
pub(crate) fn position(at: &At, object: &mut Object) {
    object.count_or_null("frame", at.frame);
    object.count_or_null("line", at.line);
    object.count_or_null("byte", at.byte);
    object.count_or_null("seq", at.seq.map(|seq| seq.0));
    object.text_or_null("pointer", at.pointer.as_deref());
}

fn string(out: &mut Vec<u8>, text: &str) {
    // Strings always serialise.
    if let Ok(json) = serde_json::to_string(text) {
        out.extend_from_slice(json.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order() {
        let mut object = Object::new("dshlog.x/1");
        object.text("quote", "a\"b\n");
        object.text_or_null("none", None);
        object.counts("seqs", [1, 2].into_iter());
        object.texts("names", ["a", "\""].into_iter());
        object.object("at", |at| at.count("line", 3));
        object.array("list", [true, false], |flag, item| item.flag("ok", flag));
        let mut out = Vec::new();
        object.write_line(&mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "{\"schema\":\"dshlog.x/1\",\"quote\":\"a\\\"b\\n\",\"none\":null,\"seqs\":[1,2],\"names\":[\"a\",\"\\\"\"],\"at\":{\"line\":3},\
             \"list\":[{\"ok\":true},{\"ok\":false}]}\n"
        );
    }
}
