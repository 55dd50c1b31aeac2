//! One request against one matcher.

use std::fmt;

use super::Rule;
use crate::dialect::{Dialect, Seen, View};
use crate::json::{Value, diff};
use crate::script::{Conversation, JsonIs, Matcher, ResultIs, TextIs};

/// A condition that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Where: a JSON pointer into the body, or `path`, `kind`, `header x`.
    pub place: String,
    /// What was expected there.
    pub expected: String,
    /// What is there.
    pub actual: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, is {}", self.place, self.expected, self.actual)
    }
}

/// Every condition of a rule that a request does not meet.
pub(crate) fn mismatches(rule: Rule<'_>, view: &View) -> Vec<Mismatch> {
    let mut judge = Judge { view, found: Vec::new() };
    if let Some(kind) = rule.kind.filter(|kind| *kind != view.kind) {
        judge.add("kind", format!("`{}`", kind.name()), format!("`{}`", view.kind.name()));
    }
    judge.matcher(rule.matcher);
    judge.found
}

/// What tells a conversation from others.
pub(crate) fn conversation(key: &Conversation, view: &View) -> String {
    let first_user = || view.first_user().first().map(|seen| seen.text.clone());
    let found = match key {
        Conversation::Auto => {
            view.header("x-deepseek-harness-session-id").map(str::to_owned).or_else(first_user)
        }
        Conversation::FirstUser => first_user(),
        Conversation::Header(name) => view.header(&name.to_ascii_lowercase()).map(str::to_owned),
        Conversation::Pointer(pointer) => view.body.pointer(pointer).map(|value| match value.as_str() {
            Some(text) => text.to_owned(),
            None => value.to_string(),
        }),
    };
    found.unwrap_or_default()
}

struct Judge<'v> {
    view: &'v View,
    found: Vec<Mismatch>,
}

impl Judge<'_> {
    fn matcher(&mut self, matcher: &Matcher) {
        let view = self.view;
        if let Some(dialect) = matcher.dialect.filter(|dialect| Some(*dialect) != view.dialect) {
            let actual = view.dialect.map_or("none", Dialect::name);
            self.add("dialect", format!("`{}`", dialect.name()), format!("`{actual}`"));
        }
        self.text(matcher.path.as_ref(), "path", Some(&view.path));
        self.text(matcher.model.as_ref(), "/model", view.model.as_deref());
        self.text(matcher.system.as_ref(), self.system_place(), Some(&view.system));
        self.texts(matcher.first_user.as_ref(), view.first_user(), "first");
        self.texts(matcher.last_user.as_ref(), view.last_user(), "last");
        if let Some(count) = matcher.messages.filter(|count| *count != view.messages.len()) {
            self.add("/messages", format!("{count} messages"), view.messages.len().to_string());
        }
        if let Some(tools) = &matcher.tools {
            self.tools(tools);
        }
        for result in &matcher.results {
            self.result(result);
        }
        for header in &matcher.headers {
            let name = header.name.to_ascii_lowercase();
            self.text(Some(&header.value), &format!("header {name}"), view.header(&name));
        }
        for json in &matcher.json {
            self.json(json);
        }
    }

    fn system_place(&self) -> &'static str {
        if self.view.dialect == Some(Dialect::Chat) { "/messages/0/content" } else { "/system" }
    }

    fn text(&mut self, wanted: Option<&TextIs>, place: &str, actual: Option<&str>) {
        let Some(wanted) = wanted else { return };
        if !actual.is_some_and(|text| wanted.holds(text)) {
            let actual = actual.map_or("nothing".to_owned(), |text| diff::short(&Value::from(text)));
            self.add(place, wanted.words(), actual);
        }
    }

    fn texts(&mut self, wanted: Option<&TextIs>, texts: &[Seen], which: &str) {
        let Some(wanted) = wanted else { return };
        let joined = texts.iter().map(|seen| seen.text.as_str()).collect::<Vec<_>>().join("\n");
        // A text that must not occur must occur in none of them, so the whole decides.
        let holds = if wanted.lacks.is_some() {
            wanted.holds(&joined)
        } else {
            texts.iter().any(|seen| wanted.holds(&seen.text)) || (!texts.is_empty() && wanted.holds(&joined))
        };
        if !holds {
            let place = texts.first().map_or("/messages".to_owned(), |seen| seen.pointer.clone());
            let actual = if texts.is_empty() {
                format!("nothing: there is no {which} text of the user")
            } else {
                diff::short(&Value::from(joined))
            };
            self.add(&place, wanted.words(), actual);
        }
    }

    fn tools(&mut self, wanted: &[String]) {
        let missing = wanted.iter().filter(|name| !self.view.tools.contains(name));
        let missing: Vec<&str> = missing.map(String::as_str).collect();
        let added = self.view.tools.iter().filter(|name| !wanted.contains(name));
        let added: Vec<&str> = added.map(String::as_str).collect();
        if !missing.is_empty() || !added.is_empty() {
            let list = |names: &[&str]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let actual = format!(
                "{} tools; missing: {}; not expected: {}",
                self.view.tools.len(),
                list(&missing),
                list(&added)
            );
            self.add("/tools", format!("exactly {} tools", wanted.len()), actual);
        }
    }

    fn result(&mut self, wanted: &ResultIs) {
        let id = &wanted.tool_use_id;
        let mut results = self.view.results(id).peekable();
        let Some(first) = results.peek() else {
            self.add("/messages", format!("a result of the call {id:?}"), "without it".to_owned());
            return;
        };
        let (place, text, is_error) = (first.pointer.clone(), first.text.clone(), first.is_error);
        let marked = |actual: Option<bool>| match (wanted.is_error, actual) {
            (Some(wanted), Some(actual)) => wanted == actual,
            (None, _) | (_, None) => true,
        };
        if results.any(|result| wanted.text.holds(&result.text) && marked(result.is_error)) {
            return;
        }
        if !wanted.text.holds(&text) {
            self.add(&format!("{place}/content"), wanted.text.words(), diff::short(&Value::from(text)));
        }
        if !marked(is_error) {
            let word = |flag: Option<bool>| flag.map_or("unsaid".to_owned(), |flag| flag.to_string());
            self.add(&format!("{place}/is_error"), word(wanted.is_error), word(is_error));
        }
    }

    fn json(&mut self, wanted: &JsonIs) {
        let actual = self.view.body.pointer(&wanted.pointer);
        let exists = wanted.exists.unwrap_or(true);
        if exists != actual.is_some() {
            let word = |there: bool| if there { "a value" } else { "nothing" }.to_owned();
            let is = actual.map_or(word(false), diff::short);
            self.add(&wanted.pointer, word(exists), is);
            return;
        }
        let Some(actual) = actual else { return };
        if let Some(value) = wanted.equals.as_ref().filter(|value| !diff::equal(value, actual)) {
            self.add(&wanted.pointer, diff::short(value), diff::short(actual));
        }
        if wanted.text.as_ref().is_some_and(|text| !actual.as_str().is_some_and(|is| text.holds(is))) {
            let words = wanted.text.as_ref().map(TextIs::words).unwrap_or_default();
            self.add(&wanted.pointer, words, diff::short(actual));
        }
        let length = match actual {
            Value::Array(items) => Some(items.len()),
            Value::Object(members) => Some(members.len()),
            Value::String(text) => Some(text.chars().count()),
            _ => None,
        };
        if let Some(wanted_length) = wanted.length.filter(|wanted| Some(*wanted) != length) {
            let is = length.map_or("without length".to_owned(), |length| format!("of length {length}"));
            self.add(&wanted.pointer, format!("length {wanted_length}"), is);
        }
    }

    fn add(&mut self, place: &str, expected: String, actual: String) {
        self.found.push(Mismatch { place: place.to_owned(), expected, actual });
    }
}
