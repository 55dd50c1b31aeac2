//! Stage A for V3 (`docs/spec/rows.md`, section 8.1). Closed shapes: a member too many refuses.

use crate::json::Js;

use super::admission::MEDIA_TYPES;
use super::fault::{Check, RuleFault, ensure, refuse, shown};
use super::message::check_step;
use super::rule::Rule;
use super::scalar::{count, is, is_positive, nonempty, object};

/// Check one V3 row as it is stored, whatever else is wrong with it and also when it is marked ignorable.
pub fn admit_v3(row: Js<'_>) -> Result<(), RuleFault> {
    let Some(kind) = row.get("type").and_then(Js::as_str) else { return Ok(()) };
    let data = row.get("data");
    if kind == "request/header" {
        request_header(data).map_err(|f| f.under("/data"))
    } else if kind == "system/message" {
        system_message(data).map_err(|f| f.under("/data"))
    } else if super::vocabulary::is_retired(kind) && !row.get("ignorable").is_some_and(Js::is_true) {
        refuse(Rule::RetiredType, "/type", shown(row.get("type")))
    } else {
        Ok(())
    }
}

fn request_header(data: Option<Js<'_>>) -> Check {
    let header = object(data).and_then(|d| d.get("header"));
    let Some(header) = object(header) else {
        return refuse(Rule::RetiredPrompt, "/header", shown(header));
    };
    match header.get("system") {
        Some(_) => refuse(Rule::RetiredPromptV3, "/header/system", ""),
        None => Ok(()),
    }
}

fn system_message(data: Option<Js<'_>>) -> Check {
    const RULE: Rule = Rule::SystemMessage;
    let Some(data) = object(data) else { return refuse(RULE, "", shown(data)) };
    ensure(data.has_only(&["turn", "step", "message"]), RULE, "", Some(data))?;
    check_step(data, RULE)?;
    let message = data.get("message");
    let Some(message) = object(message) else { return refuse(RULE, "/message", shown(message)) };
    ensure(message.has_only(&["id", "role", "source", "content"]), RULE, "/message", Some(message))?;
    let id = message.get("id");
    ensure(nonempty(id).is_some(), RULE, "/message/id", id)?;
    let role = message.get("role");
    ensure(is(role, "system"), RULE, "/message/role", role)?;
    let source = message.get("source");
    ensure(source.is_some_and(is_plugin_source), Rule::Source, "/message/source", source)?;
    let content = message.get("content");
    ensure(content.is_some_and(is_block_list), RULE, "/message/content", content)
}

/// The members that producers of V3 gave a source.
fn is_plugin_source(source: Js<'_>) -> bool {
    const MEMBERS: [&str; 7] =
        ["kind", "plugin", "form", "sections", "summary", "compactionId", "sourceCommandId"];
    if !source.is_object() || !source.has_only(&MEMBERS) || !is(source.get("kind"), "plugin") {
        return false;
    }
    let Some(plugin) = nonempty(source.get("plugin")) else { return false };
    let (compaction, command) = (source.get("compactionId"), source.get("sourceCommandId"));
    let ids = if plugin == "compact" {
        nonempty(compaction).is_some() && (command.is_none() || nonempty(command).is_some())
    } else {
        compaction.is_none() && command.is_none()
    };
    ids && is_form(source)
}

fn is_form(source: Js<'_>) -> bool {
    const FORMS: [&str; 6] = ["instructions", "catalog", "snapshot", "notice", "relay", "recall"];
    let Some(form) = source.get("form") else { return true };
    if !FORMS.iter().any(|name| form.is(name)) {
        return false;
    }
    let sections = match source.get("sections") {
        Some(sections) => form.is("snapshot") && sections.is_array() && sections.elements().all(is_section),
        None => !form.is("snapshot"),
    };
    let summary = match source.get("summary") {
        Some(summary) => form.is("notice") && summary.as_str().is_some(),
        None => !form.is("notice"),
    };
    sections && summary
}

fn is_section(section: Js<'_>) -> bool {
    section.is_object()
        && section.has_only(&["name", "text"])
        && nonempty(section.get("name")).is_some()
        && section.get("text").and_then(Js::as_str).is_some()
}

/// A list of blocks. Lists inside `tool-result` blocks are put aside, not descended into: depth is the log's choice.
fn is_block_list(content: Js<'_>) -> bool {
    let mut lists = vec![content];
    while let Some(list) = lists.pop() {
        if !list.is_array() || !list.elements().all(|block| is_block(block, &mut lists)) {
            return false;
        }
    }
    true
}

fn is_block<'a>(block: Js<'a>, lists: &mut Vec<Js<'a>>) -> bool {
    if !block.is_object() {
        return false;
    }
    let Some(kind) = nonempty(block.get("type")) else { return false };
    let text = |name: &str| block.get(name).and_then(Js::as_str).is_some();
    if kind == "text" || kind == "reasoning" {
        block.has_only(&["type", "text"]) && text("text")
    } else if kind == "image" {
        block.has_only(&["type", "attachment"]) && block.get("attachment").is_some_and(is_attachment)
    } else if kind == "tool-call" {
        block.has_only(&["type", "id", "name", "arguments"])
            && nonempty(block.get("id")).is_some()
            && nonempty(block.get("name")).is_some()
            && text("arguments")
    } else if kind == "tool-result" {
        lists.extend(block.get("content"));
        block.has_only(&["type", "toolCallId", "content", "isError"])
            && nonempty(block.get("toolCallId")).is_some()
            && block.get("content").is_some()
            && block.get("isError").is_none_or(|v| v.as_bool().is_some())
    } else {
        true
    }
}

fn is_attachment(value: Js<'_>) -> bool {
    const MEMBERS: [&str; 7] =
        ["attachmentId", "mediaType", "bytes", "width", "height", "name", "originalDimensions"];
    let size = |v: Js<'_>| is_positive(v.get("width")) && is_positive(v.get("height"));
    value.is_object()
        && value.has_only(&MEMBERS)
        && nonempty(value.get("attachmentId")).is_some()
        && MEDIA_TYPES.iter().any(|name| is(value.get("mediaType"), name))
        && count(value.get("bytes")).is_some()
        && size(value)
        && value.get("name").is_none_or(|name| name.as_str().is_some())
        && value
            .get("originalDimensions")
            .is_none_or(|v| v.is_object() && v.has_only(&["width", "height"]) && size(v))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Doc;

    const SYSTEM: &str = r#"{"type":"system/message","data":{"turn":1,"step":1,"message":{"id":"i","role":"system","source":{"kind":"plugin","plugin":"p"},"content":[{"type":"text","text":""}]}}}"#;

    #[track_caller]
    fn check(row: &str, expected: Option<Rule>) {
        let doc = Doc::parse(row).unwrap();
        assert_eq!(admit_v3(doc.root()).err().map(|fault| fault.rule), expected, "{row}");
    }

    #[track_caller]
    fn changed(from: &str, to: &str, expected: Option<Rule>) {
        assert!(SYSTEM.contains(from), "{from}");
        check(&SYSTEM.replacen(from, to, 1), expected);
    }

    #[test]
    fn section_8_1_rows() {
        check(r#"{"type":"request/header","data":{}}"#, Some(Rule::RetiredPrompt));
        let system = r#"{"type":"request/header","ignorable":true,"data":{"header":{"system":1}}}"#;
        check(system, Some(Rule::RetiredPromptV3));
        check(r#"{"type":"request/header","data":{"header":{}}}"#, None);
        check(r#"{"type":"tool/code-dispatch"}"#, Some(Rule::RetiredType));
        check(r#"{"type":"tool/code-dispatch","ignorable":true}"#, None);
        check(r#"{"type":"developer/message"}"#, None);
        check(SYSTEM, None);
    }

    #[test]
    fn section_8_1_system_messages() {
        let shape = Some(Rule::SystemMessage);
        changed("\"turn\":1", "\"turn\":0", shape);
        changed("\"turn\":1", "\"turn\":1,\"x\":1", shape);
        changed("\"id\":\"i\"", "\"id\":\"i\",\"x\":1", shape);
        changed("\"id\":\"i\"", "\"id\":\"\"", shape);
        changed("\"role\":\"system\"", "\"role\":\"user\"", shape);
        let source = Some(Rule::Source);
        let of = |rest: &str, expected| changed("\"plugin\":\"p\"", rest, expected);
        of(r#""plugin":"p","x":1"#, source);
        of(r#""plugin":"p","sections":1"#, None);
        of(r#""plugin":"p","compactionId":"k""#, source);
        of(r#""plugin":"compact""#, source);
        of(r#""plugin":"compact","compactionId":"k","sourceCommandId":"c""#, None);
        of(r#""plugin":"p","form":"notice","summary":"s""#, None);
        of(r#""plugin":"p","form":"notice""#, source);
        of(r#""plugin":"p","form":"snapshot","sections":[{"name":"n","text":""}]"#, None);
        of(r#""plugin":"p","form":"snapshot","sections":[{"name":"","text":""}]"#, source);
        of(r#""plugin":"p","form":"catalog","sections":[]"#, source);
        of(r#""plugin":"p","form":"other""#, source);
    }

    #[test]
    fn section_8_1_blocks() {
        let block = |to: &str, good: bool| {
            let expected = if good { None } else { Some(Rule::SystemMessage) };
            changed(r#"{"type":"text","text":""}"#, to, expected);
        };
        block("1", false);
        block(r#"{"type":""}"#, false);
        block(r#"{"type":"text","text":"","x":1}"#, false);
        block(r#"{"type":"any","x":1}"#, true);
        block(r#"{"type":"tool-call","id":"i","name":"n","arguments":""}"#, true);
        block(r#"{"type":"tool-call","id":"i","name":"","arguments":""}"#, false);
        block(r#"{"type":"tool-result","toolCallId":"c","content":[{"type":"text","text":""}]}"#, true);
        block(r#"{"type":"tool-result","toolCallId":"c","content":[{"type":"text"}]}"#, false);
        block(r#"{"type":"tool-result","toolCallId":"c"}"#, false);
        block(r#"{"type":"tool-result","toolCallId":"c","content":[],"isError":1}"#, false);
        let image = r#"{"type":"image","attachment":{"attachmentId":"a","mediaType":"image/png","bytes":0,"width":1,"height":1}}"#;
        block(image, true);
        block(&image.replace("png", "tiff"), false);
        block(&image.replace("\"width\":1", "\"width\":0"), false);
    }
}
