//! What a person would read in a payload.

use dshlog_codec::json::{Doc, Js, Kind};

/// The string, with U+FFFD for what is no Unicode.
pub(super) fn string(value: Option<Js<'_>>) -> Option<String> {
    Some(value?.as_str()?.to_lossy().into_owned())
}

/// Blocks as a text, and what stands beside it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    pub(super) text: String,
    pub(super) has_image: bool,
    pub(super) has_file: bool,
}

/// Texts, names of attachments and of tools that come and go (`docs/spec/events-v4.md`, 6.3). Reasoning and calls are
/// other documents.
pub(super) fn content(blocks: Option<Js<'_>>) -> Content {
    let mut found = Content::default();
    for block in blocks.into_iter().flat_map(Js::elements) {
        let kind = string(block.get("type")).unwrap_or_default();
        let attachment = || string(block.path(&["attachment", "name"]));
        match &*kind {
            "text" => line(&mut found.text, string(block.get("text")).as_deref()),
            "image" => {
                found.has_image = true;
                line(&mut found.text, Some(&attachment().unwrap_or_else(|| "[image]".to_owned())));
            }
            "file" => {
                found.has_file = true;
                line(&mut found.text, Some(&attachment().unwrap_or_else(|| "[file]".to_owned())));
            }
            "tool-addition" | "tool-removal" => {
                line(&mut found.text, string(block.get("toolName")).as_deref());
            }
            _ => {}
        }
    }
    found
}

/// The texts of blocks of one type.
pub(super) fn of_type(blocks: Option<Js<'_>>, kind: &str) -> String {
    let mut text = String::new();
    for block in blocks.into_iter().flat_map(Js::elements) {
        if block.get("type").is_some_and(|found| found.is(kind)) {
            line(&mut text, string(block.get("text")).as_deref());
        }
    }
    text
}

fn line(out: &mut String, text: Option<&str>) {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return };
    if !out.is_empty() {
        out.push('\n');
    }
    out.push_str(text);
}

/// So deep values are looked into. Deeper ones are nothing that a person wrote.
const DEEPEST: usize = 32;

/// Append the strings in a value, one a line, but for ids, which only machines look for.
pub(super) fn strings(value: Option<Js<'_>>, out: &mut String) {
    gather(value, 0, &mut |text| line(out, Some(text)));
}

fn gather(value: Option<Js<'_>>, depth: usize, see: &mut dyn FnMut(&str)) {
    let Some(value) = value.filter(|_| depth < DEEPEST) else { return };
    match value.kind() {
        Kind::String => see(&string(Some(value)).unwrap_or_default()),
        Kind::Array => value.elements().for_each(|element| gather(Some(element), depth + 1, see)),
        Kind::Object => {
            for (name, member) in value.members() {
                let name = name.to_lossy();
                if !(name == "id" || name.ends_with("Id")) {
                    gather(Some(member), depth + 1, see);
                }
            }
        }
        _ => {}
    }
}

/// Arguments of a call: its JSON as names and values on lines of their own, so that what is escaped there is found; as it
/// is when it is no JSON.
pub(super) fn arguments(given: Option<Js<'_>>) -> String {
    let Some(text) = string(given) else {
        return given.map(|given| given.raw().to_owned()).unwrap_or_default();
    };
    match Doc::parse(&*text) {
        Ok(doc) if doc.root().is_object() || doc.root().is_array() => {
            let mut out = String::new();
            named(doc.root(), 0, &mut out);
            out
        }
        _ => text,
    }
}

fn named(value: Js<'_>, depth: usize, out: &mut String) {
    if depth >= DEEPEST {
        return line(out, Some(value.raw()));
    }
    let mut each = |name: Option<&str>, member: Js<'_>| {
        if let Some(name) = name {
            line(out, Some(name));
            out.push(':');
        }
        let text = match member.kind() {
            Kind::Object | Kind::Array => return named(member, depth + 1, out),
            Kind::String => string(Some(member)).unwrap_or_default(),
            _ => member.raw().to_owned(),
        };
        if name.is_some() {
            out.push(' ');
            out.push_str(&text);
        } else {
            line(out, Some(&text));
        }
    };
    if value.is_array() {
        value.elements().for_each(|element| each(None, element));
    } else {
        value.members().for_each(|(name, member)| each(Some(&name.to_lossy()), member));
    }
}

/// What the stream of a failed request holds (`docs/spec/events-v4.md`, 6.4).
#[derive(Debug, Default)]
pub(super) struct Attempt {
    pub(super) reasoning: String,
    pub(super) answer: String,
    pub(super) failure: String,
}

impl Attempt {
    pub(super) fn read(stream: Option<Js<'_>>) -> Attempt {
        let mut attempt = Attempt::default();
        for record in stream.into_iter().flat_map(Js::elements) {
            let kind = string(record.get("type")).unwrap_or_default();
            let texts =
                || record.get("texts").into_iter().flat_map(Js::elements).filter_map(|t| string(Some(t)));
            match &*kind {
                "text-chunks" => attempt.answer.extend(texts()),
                "reasoning-chunks" => attempt.reasoning.extend(texts()),
                "chunk" => attempt.end(record.path(&["chunk", "reason"])),
                _ => {}
            }
        }
        attempt
    }

    /// Why it ended, when it says so.
    fn end(&mut self, reason: Option<Js<'_>>) {
        let Some(failure) = reason.and_then(|reason| reason.get("failure")) else { return };
        for name in ["code", "message"] {
            line(&mut self.failure, string(failure.get(name)).as_deref());
        }
        if let Some(status) = failure.get("status") {
            line(&mut self.failure, Some(status.raw()));
        }
    }
}
