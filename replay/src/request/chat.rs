//! The body of a Chat Completions request, as dsh 0.1.5-rc.1 sent it but for its extension member
//! (`docs/spec/messages-wire.md`, 15.1). No later dsh speaks that dialect.

use dshlog_codec::json::{Doc, Js, JsStr, JsString, print_str, print_string};

use super::call::{Call, CallMessage};
use super::header::{printed, string};
use super::image::{self, Attachments, Carrier};
use super::part::{Part, Pieces, Terms, parts};
use super::refusal::Refusal;
use super::route::{Route, RouteChange};
use super::template::Template;

/// Prints bodies. One printer for many requests of one log makes the piece of each message once; another log needs another
/// printer.
#[derive(Debug, Default)]
pub struct ChatPrinter {
    change: RouteChange,
    pieces: Pieces<Piece>,
    made_for: Option<(bool, Option<String>)>,
}

/// What one message of the history is on the wire.
#[derive(Debug)]
enum Piece {
    /// Nothing: the dialect has no such message.
    Nothing,
    /// One message.
    Whole(Template),
    /// A tool's result, and the images of it, which travel behind the run of results.
    Result { message: Template, images: Vec<Template> },
}

impl ChatPrinter {
    /// A printer for the model catalogue with these changes.
    pub fn new(change: RouteChange) -> Self {
        ChatPrinter { change, ..Self::default() }
    }

    /// The body of a call. A system prompt of the call's own stands first. Changes of tools have no form in the dialect.
    ///
    /// # Errors
    /// An effort that the adapter does not know, an image where the dialect takes none, one that is scaled first, or one
    /// whose bytes are neither here nor with the service.
    pub fn body(&mut self, call: &Call<'_>, attachments: &dyn Attachments) -> Result<Vec<u8>, Refusal> {
        let route = Route::of_model(&call.model).changed(self.change);
        let terms = Terms { images: route.images, home: attachments.home() };
        let made_for = Some((terms.images, terms.home.map(str::to_owned)));
        if self.made_for != made_for {
            (self.made_for, self.pieces) = (made_for, Pieces::default());
        }
        let pieces = self.pieces.of(&call.messages, |message| Piece::of(message, terms))?;
        let thinking = thinking(call)?;
        let templates = pieces.iter().flat_map(|piece| piece.templates());
        let mut carrier = Carrier::new(attachments, templates);
        let mut out = Vec::new();
        out.extend_from_slice(b"{\"model\":");
        print_string(&mut out, &call.model);
        out.extend_from_slice(b",\"messages\":[");
        let mut list = List { out: &mut out, any: false };
        if let Some(system) = &call.system {
            list.push(&message("system", |out| print_string(out, system)), &mut carrier);
        }
        let mut images: Vec<&Template> = Vec::new();
        for piece in &pieces {
            if !matches!(**piece, Piece::Result { .. } | Piece::Nothing) {
                list.push_images(&mut images, &mut carrier);
            }
            match &**piece {
                Piece::Nothing => {}
                Piece::Whole(message) => list.push(message, &mut carrier),
                Piece::Result { message, images: more } => {
                    list.push(message, &mut carrier);
                    images.extend(more);
                }
            }
        }
        list.push_images(&mut images, &mut carrier);
        out.extend_from_slice(b"],\"stream\":true,\"stream_options\":{\"include_usage\":true}");
        out.extend_from_slice(thinking.as_bytes());
        if let Some(tools) = call.tools.as_ref().filter(|tools| !tools.is_empty()) {
            out.extend_from_slice(b",\"tools\":[");
            for (i, tool) in tools.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(tool.chat().as_bytes());
                out.extend_from_slice(b"}}");
            }
            out.push(b']');
        }
        let max_tokens = Some(&call.max_tokens);
        for (name, json) in [
            ("temperature", call.temperature.as_ref()),
            ("max_tokens", max_tokens),
            ("stop", call.stop.as_ref()),
        ] {
            if let Some(json) = json {
                out.extend_from_slice(format!(",\"{name}\":{json}").as_bytes());
            }
        }
        out.push(b'}');
        carrier.finish()?;
        Ok(out)
    }
}

/// The members `thinking` and `reasoning_effort`, each with its comma.
fn thinking(call: &Call<'_>) -> Result<String, Refusal> {
    match call.effort.as_str() {
        Some("off") => Ok(",\"thinking\":{\"type\":\"disabled\"}".to_owned()),
        Some(effort @ ("low" | "high" | "max")) => {
            Ok(format!(",\"thinking\":{{\"type\":\"enabled\"}},\"reasoning_effort\":\"{effort}\""))
        }
        _ => Err(Refusal::UnsupportedEffort { effort: call.effort.to_lossy().into_owned() }),
    }
}

/// The list of messages under the pen.
struct List<'o> {
    out: &'o mut Vec<u8>,
    any: bool,
}

impl List<'_> {
    fn push(&mut self, message: &Template, carrier: &mut Carrier<'_>) {
        if self.any {
            self.out.push(b',');
        }
        self.any = true;
        print(self.out, message, carrier);
    }

    /// The images of a run of results, in a message of their own.
    fn push_images(&mut self, images: &mut Vec<&Template>, carrier: &mut Carrier<'_>) {
        if images.is_empty() {
            return;
        }
        let mut message = Template::from(
            "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Attached image(s) from tool result:\"}".to_owned(),
        );
        for image in images.drain(..) {
            message.push(",");
            message.push_template(image.clone());
        }
        message.push("]}");
        self.push(&message, carrier);
    }
}

fn print(out: &mut Vec<u8>, message: &Template, carrier: &mut Carrier<'_>) {
    message.print(out, |out, image| {
        if let Some(id) = carrier.file_id(image) {
            out.extend_from_slice(b"{\"type\":\"file\",\"file_id\":");
            print_string(out, &id.into());
            out.push(b'}');
        } else {
            out.extend_from_slice(b"{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:");
            out.extend_from_slice(image.media_type.as_bytes());
            out.extend_from_slice(b";base64,");
            carrier.print_bytes(out, image);
            out.extend_from_slice(b"\"}}");
        }
    });
}

impl Piece {
    fn of(message: &CallMessage<'_>, terms: Terms<'_>) -> Result<Piece, Refusal> {
        let doc = Doc::parse(&*message.json)?;
        let root = doc.root();
        let parts = parts(root.get("content"), terms);
        let role = root.get("role").and_then(Js::as_str).unwrap_or(JsStr::plain("user")).to_lossy();
        if let Some(role) = ["system", "assistant"].into_iter().find(|name| *name == role)
            && parts.iter().any(|part| matches!(part, Part::Image(_)))
        {
            return Err(Refusal::ImageOfRole { role, seq: message.seq });
        }
        Ok(match &*role {
            "developer" => Piece::Nothing,
            "assistant" => Piece::Whole(assistant(&parts)),
            "tool" => result(root, &parts, message, terms)?,
            "system" => Piece::Whole(self::message("system", |out| print_string(out, &joined(&parts)))),
            _ => Piece::Whole(user(&parts, message, terms)?),
        })
    }

    fn templates(&self) -> Vec<&Template> {
        match self {
            Piece::Nothing => Vec::new(),
            Piece::Whole(message) => vec![message],
            Piece::Result { images, .. } => images.iter().collect(),
        }
    }
}

fn message(role: &str, content: impl FnOnce(&mut Vec<u8>)) -> Template {
    text(|out| {
        out.extend_from_slice(format!("{{\"role\":\"{role}\",\"content\":").as_bytes());
        content(out);
        out.push(b'}');
    })
    .into()
}

fn assistant(parts: &[Part<'_>]) -> Template {
    let mut reasoning = JsString::default();
    let mut calls: Vec<Js<'_>> = Vec::new();
    for part in parts {
        match part {
            Part::Reasoning(text) => {
                if let Some(text) = text.and_then(Js::as_str) {
                    reasoning.push(text);
                }
            }
            Part::Call(call) => calls.push(*call),
            _ => {}
        }
    }
    text(|out| {
        out.extend_from_slice(b"{\"role\":\"assistant\",\"content\":");
        print_string(out, &joined(parts));
        if !reasoning.is_empty() {
            out.extend_from_slice(b",\"reasoning_content\":");
            print_string(out, &reasoning);
        }
        if !calls.is_empty() {
            out.extend_from_slice(b",\"tool_calls\":[");
            for (i, call) in calls.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                let member = |name| call.get(name).map_or_else(|| "\"\"".to_owned(), printed);
                let (id, name, arguments) = (member("id"), member("name"), member("arguments"));
                out.extend_from_slice(
                    format!(
                        "{{\"id\":{id},\"type\":\"function\",\"function\":{{\"name\":{name},\"arguments\":{arguments}}}}}"
                    )
                    .as_bytes(),
                );
            }
            out.push(b']');
        }
        out.push(b'}');
    })
    .into()
}

fn user(parts: &[Part<'_>], of: &CallMessage<'_>, terms: Terms<'_>) -> Result<Template, Refusal> {
    if !parts.iter().any(|part| matches!(part, Part::Image(_))) {
        return Ok(message("user", |out| print_string(out, &joined(parts))));
    }
    let mut list = Template::from("{\"role\":\"user\",\"content\":[".to_owned());
    let mut any = false;
    for part in parts {
        let comma = if std::mem::replace(&mut any, true) { "," } else { "" };
        match part {
            Part::Text(text) if !text.is_empty() => {
                list.push(&format!("{comma}{}", text_part(text.as_js())));
            }
            Part::Image(attachment) => {
                let line_feed = if comma.is_empty() { "" } else { "\n" };
                let handle = format!("{line_feed}{}", image::handle(*attachment, terms.home));
                list.push(&format!("{comma}{},", text_part(JsStr::plain(&handle))));
                list.push_image(image::reference(*attachment, of.seq)?);
            }
            _ => any = !comma.is_empty(),
        }
    }
    list.push("]}");
    Ok(list)
}

fn text_part(text: JsStr<'_>) -> String {
    self::text(|out| {
        out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
        print_str(out, text);
        out.push(b'}');
    })
}

fn result(
    message: Js<'_>,
    parts: &[Part<'_>],
    of: &CallMessage<'_>,
    terms: Terms<'_>,
) -> Result<Piece, Refusal> {
    let mut content = JsString::default();
    let mut images = Vec::new();
    for part in parts {
        match part {
            Part::Text(text) => content.push(text.as_js()),
            Part::Image(attachment) => {
                let line_feed = if content.is_empty() { "" } else { "\n" };
                content.push(JsStr::plain(&format!("{line_feed}{}", image::handle(*attachment, terms.home))));
                let mut image = Template::default();
                image.push_image(image::reference(*attachment, of.seq)?);
                images.push(image);
            }
            _ => {}
        }
    }
    if content.is_empty() {
        content = "(no output)".into();
    }
    let id = string(message.get("toolCallId")).unwrap_or_default();
    let message = text(|out| {
        out.extend_from_slice(b"{\"role\":\"tool\",\"tool_call_id\":");
        print_string(out, &id);
        out.extend_from_slice(b",\"content\":");
        print_string(out, &content);
        out.push(b'}');
    });
    Ok(Piece::Result { message: message.into(), images })
}

/// The texts, as one.
fn joined(parts: &[Part<'_>]) -> JsString {
    let mut joined = JsString::default();
    for part in parts {
        if let Part::Text(text) = part {
            joined.push(text.as_js());
        }
    }
    joined
}

/// JSON that a printer of this crate wrote, so that it is UTF-8.
fn text(print: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    print(&mut out);
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::image::NoAttachments;
    use super::*;

    fn call(messages: &[&str]) -> Call<'static> {
        Call {
            model: "deepseek-flash".into(),
            provider: "p".into(),
            max_tokens: "9".into(),
            effort: "low".into(),
            temperature: None,
            stop: None,
            system: None,
            tools: None,
            tool_history: None,
            in_history: None,
            messages: messages.iter().map(|message| CallMessage::loose((*message).to_owned())).collect(),
        }
    }

    /// Has every image, as two bytes.
    struct Images;

    impl Attachments for Images {
        fn file_id(&self, _: &str) -> Option<&str> {
            None
        }

        fn bytes(&self, _: &str) -> Option<Vec<u8>> {
            Some(b"fo".to_vec())
        }

        fn home(&self) -> Option<&str> {
            None
        }
    }

    #[track_caller]
    fn check(messages: &[&str], expected: &str) {
        let body = ChatPrinter::default().body(&call(messages), &Images).unwrap();
        let doc = Doc::parse(String::from_utf8(body).unwrap()).unwrap();
        assert_eq!(doc.root().get("messages").unwrap().raw(), expected);
    }

    /// The table of 15.1.
    #[test]
    fn messages_by_role() {
        check(
            &[
                r#"{"role":"system","content":[{"type":"text","text":"a\ud83d"},{"type":"text","text":"\ude00b"}]}"#,
                r#"{"role":"user","content":[]}"#,
                r#"{"role":"user","content":[{"type":"text","text":"x"}]}"#,
                r#"{"role":"developer","content":[{"type":"tool-removal","toolName":"t"}]}"#,
                r#"{"role":"assistant","content":[]}"#,
                r#"{"role":"assistant","content":[{"type":"reasoning","text":"r"},{"type":"text","text":"t"},{"type":"tool-call","id":"c","name":"n","arguments":"{bad"}]}"#,
                r#"{"role":"tool","toolCallId":"c","content":[],"isError":true}"#,
                r#"{"role":"tool","toolCallId":"d","content":[{"type":"text","text":"o"},{"type":"text","text":"k"}]}"#,
            ],
            "[{\"role\":\"system\",\"content\":\"a\u{1f600}b\"},\
             {\"role\":\"user\",\"content\":\"\"},{\"role\":\"user\",\"content\":\"x\"},\
             {\"role\":\"assistant\",\"content\":\"\"},\
             {\"role\":\"assistant\",\"content\":\"t\",\"reasoning_content\":\"r\",\"tool_calls\":[\
             {\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"n\",\"arguments\":\"{bad\"}}]},\
             {\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"(no output)\"},\
             {\"role\":\"tool\",\"tool_call_id\":\"d\",\"content\":\"ok\"}]",
        );
    }

    /// Images of a run of results travel behind the run.
    #[test]
    fn images() {
        let image = r#"{"type":"image","attachment":{"attachmentId":"sha256:0","mediaType":"image/png","width":1,"height":1,"bytes":2}}"#;
        let result = |id: &str| format!(r#"{{"role":"tool","toolCallId":"{id}","content":[{image}]}}"#);
        let handle = "Image sha256:0; request preview 1x1px. It may be resized or re-encoded; source dimensions, format, and byte size may differ.";
        let part = r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,Zm8="}}"#;
        let text = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
        check(
            &[
                &format!(r#"{{"role":"user","content":[{},{image},{image}]}}"#, text("")),
                &result("c"),
                &result("d"),
                r#"{"role":"user","content":[]}"#,
            ],
            &format!(
                r#"[{{"role":"user","content":[{},{part},{},{part}]}},{{"role":"tool","tool_call_id":"c","content":"{handle}"}},{{"role":"tool","tool_call_id":"d","content":"{handle}"}},{{"role":"user","content":[{},{part},{part}]}},{{"role":"user","content":""}}]"#,
                text(handle),
                text(&format!("\\n{handle}")),
                text("Attached image(s) from tool result:"),
            ),
        );
        let refusal = ChatPrinter::default().body(&call(&[&result("c")]), &NoAttachments).unwrap_err();
        assert!(
            matches!(refusal, Refusal::MissingAttachments { attachments, .. } if attachments == ["sha256:0"])
        );
    }

    /// 15.1: only users and tools show images; one that was left out is text.
    #[test]
    fn images_of_other_roles_are_refused() {
        for role in ["system", "assistant"] {
            let message = |more: &str| format!(r#"{{"role":"{role}","content":[{{"type":"image"{more}}}]}}"#);
            let refusal = ChatPrinter::default().body(&call(&[&message("")]), &NoAttachments).unwrap_err();
            assert_eq!(
                (refusal.code(), refusal.to_string()),
                (
                    Some("UNSUPPORTED_CONTENT"),
                    format!(
                        "The DeepSeek chat-completions adapter cannot represent image content in a {role} message."
                    )
                )
            );
            assert!(
                ChatPrinter::default()
                    .body(&call(&[&message(r#","offloaded":true"#)]), &NoAttachments)
                    .is_ok()
            );
        }
    }

    #[test]
    fn members_of_the_body() {
        let full = Call {
            temperature: Some("1".into()),
            stop: Some(r#"["x"]"#.into()),
            tools: Some([].into()),
            effort: "off".into(),
            ..call(&[])
        };
        for (call, expected) in [
            (call(&[]), r#","thinking":{"type":"enabled"},"reasoning_effort":"low","max_tokens":9}"#),
            (full, r#","thinking":{"type":"disabled"},"temperature":1,"max_tokens":9,"stop":["x"]}"#),
        ] {
            let body = ChatPrinter::default().body(&call, &NoAttachments).unwrap();
            let start = r#"{"model":"deepseek-flash","messages":[],"stream":true,"stream_options":{"include_usage":true}"#;
            assert_eq!(String::from_utf8(body).unwrap(), format!("{start}{expected}"));
        }
    }
}
