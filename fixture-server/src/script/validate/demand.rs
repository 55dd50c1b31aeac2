//! Conditions that no request can meet.

use super::Finder;
use crate::dialect::{Dialect, Kind, View};
use crate::http::Head;
use crate::json::Value;
use crate::matching::{Rule, Rung, mismatches};
use crate::script::{Conversation, Expect, JsonIs, Level, Matcher, TextIs};

pub(super) fn conversation(finder: &mut Finder, conversation: &Conversation) {
    if let Conversation::Pointer(pointer) = conversation {
        finder.when(!is_pointer(pointer), "conversation.pointer", "no JSON pointer: it must begin with `/`");
    }
}

/// Everything that a rule demands.
pub(super) fn demands(finder: &mut Finder, rung: Rung, rule: Rule<'_>) {
    let place = format!("{rung}.match");
    texts(finder, &place, rule.matcher);
    jsons(finder, &place, &rule.matcher.json);
    results(finder, &place, rule.matcher);
    route(finder, &place, rule);
    if let Some(expect) = rule.expect {
        expectation(finder, rung, rule, expect);
    }
}

fn texts(finder: &mut Finder, place: &str, matcher: &Matcher) {
    let mut check = |name: String, text: &TextIs| {
        if let Some(why) = text.contradiction() {
            finder.add(format!("{place}.{name}"), format!("can never match: {why}"));
        }
    };
    let named = [
        ("path", &matcher.path),
        ("model", &matcher.model),
        ("system", &matcher.system),
        ("first_user", &matcher.first_user),
        ("last_user", &matcher.last_user),
    ];
    for (name, text) in named {
        if let Some(text) = text {
            check(name.to_owned(), text);
        }
    }
    for (n, result) in matcher.results.iter().enumerate() {
        check(format!("results[{n}].text"), &result.text);
    }
    for (n, header) in matcher.headers.iter().enumerate() {
        check(format!("headers[{n}].value"), &header.value);
    }
    for (n, json) in matcher.json.iter().enumerate() {
        if let Some(text) = &json.text {
            check(format!("json[{n}].text"), text);
        }
    }
}

fn jsons(finder: &mut Finder, place: &str, conditions: &[JsonIs]) {
    for (n, json) in conditions.iter().enumerate() {
        let place = format!("{place}.json[{n}]");
        finder.when(!is_pointer(&json.pointer), &place, "no JSON pointer: it must begin with `/`");
        let says = json.equals.is_some() || json.text.is_some() || json.length.is_some();
        finder.when(
            says && json.exists == Some(false),
            &place,
            "can never match: a value that must not exist",
        );
        let is_text = json.equals.as_ref().is_none_or(Value::is_string);
        finder.when(json.text.is_some() && !is_text, &place, "can never match: a text, and not a text");
        let other = |earlier: &JsonIs| {
            let both = earlier.equals.is_some() && json.equals.is_some() && earlier.equals != json.equals;
            let there = earlier.exists.unwrap_or(true) != json.exists.unwrap_or(true);
            earlier.pointer == json.pointer && (both || there)
        };
        let contradicts = conditions.iter().take(n).any(other);
        finder.when(
            contradicts,
            &place,
            "can never match: an earlier condition on the same pointer says otherwise",
        );
    }
}

fn results(finder: &mut Finder, place: &str, matcher: &Matcher) {
    for (n, result) in matcher.results.iter().enumerate() {
        finder.when(
            result.tool_use_id.is_empty(),
            format!("{place}.results[{n}]"),
            "which call? `tool_use_id` is empty",
        );
    }
    let no_tools =
        matcher.tools.as_ref().is_some_and(|tools| !tools.is_empty()) && matcher.kind == Some(Kind::Title);
    finder.when(no_tools, format!("{place}.tools"), "can never match: a title request has no tools");
}

/// Path, dialect and kind must go together.
fn route(finder: &mut Finder, place: &str, rule: Rule<'_>) {
    let matcher = rule.matcher;
    let Some(path) = matcher.path.as_ref().and_then(|path| path.equals.as_deref()) else {
        finder.when(
            rule.kind == Some(Kind::Other) && matcher.dialect.is_some(),
            format!("{place}.dialect"),
            "can never match: requests of the kind `other` have no dialect",
        );
        return;
    };
    let place = format!("{place}.path");
    let spoken = Dialect::of_path(path);
    finder.when(!path.starts_with('/'), &place, "can never match: a path begins with `/`");
    finder.when(
        matcher.dialect.is_some_and(|dialect| spoken != Some(dialect)),
        &place,
        "can never match: another dialect is spoken at this path",
    );
    let needs_model = rule.kind.is_some_and(|kind| kind != Kind::Other);
    finder.when(
        needs_model && spoken.is_none(),
        &place,
        "can never match: requests of this kind come to `.../messages` or `.../chat/completions`; \
         a side rule answers any other path",
    );
    finder.when(
        rule.kind == Some(Kind::Other) && spoken.is_some(),
        &place,
        "can never match: a request at this path is not of the kind `other`",
    );
}

fn expectation(finder: &mut Finder, rung: Rung, rule: Rule<'_>, expect: &Expect) {
    let place = format!("{rung}.expect");
    match (&expect.body, &expect.body_file) {
        (None, None) => finder.add(&place, "nothing is expected: give `body` or `body_file`"),
        (Some(_), Some(_)) => finder.add(&place, "both `body` and `body_file`"),
        (None, Some(_)) => finder.add(&place, "`body_file` is read by `Script::load` only"),
        (Some(body), None) => meets_itself(finder, &place, rule, expect, body),
    }
    for (n, pointer) in expect.ignore.iter().enumerate() {
        let wrong = pointer.is_empty() || !is_pointer(pointer);
        finder.when(wrong, format!("{place}.ignore[{n}]"), "no JSON pointer to a member");
    }
}

/// The expected request must meet the conditions beside it.
fn meets_itself(finder: &mut Finder, place: &str, rule: Rule<'_>, expect: &Expect, body: &Value) {
    let dialect = rule.matcher.dialect.unwrap_or_else(|| guess(body));
    let target = match dialect {
        Dialect::Messages => "/messages",
        Dialect::Chat => "/chat/completions",
    };
    let head = Head { method: "POST".to_owned(), target: target.to_owned(), minor: 1, headers: Vec::new() };
    let view = View::new(&head, body.clone());
    for mismatch in mismatches(rule, &view) {
        // Rules may bring texts of another run near enough; what no rule changes must fit.
        let fixed = ["/model", "/tools", "/messages"].contains(&mismatch.place.as_str());
        let of_body = mismatch.place.starts_with('/');
        if fixed || (of_body && expect.level == Level::Exact) {
            finder.add(
                place,
                format!("can never match: the expected request is not what `match` demands, {mismatch}"),
            );
        }
    }
}

/// The dialect of a body, by what only Chat Completions has.
fn guess(body: &Value) -> Dialect {
    let has = |pointer: &str| body.pointer(pointer).is_some();
    let roles = body.get("messages").and_then(Value::as_array).into_iter().flatten();
    let mut roles = roles.filter_map(|message| message.get("role")?.as_str());
    if has("/stream_options") || has("/tools/0/function") || roles.any(|role| role == "tool") {
        Dialect::Chat
    } else {
        Dialect::Messages
    }
}

fn is_pointer(text: &str) -> bool {
    text.is_empty() || text.starts_with('/')
}
