//! A call, in the pieces that are shown to people.

use dshlog_codec::json::{Doc, Js, print};
use dshlog_replay::request::call::Call;

use crate::render::request::{Block, Message, Mood};
use crate::render::units;

/// The messages of a call.
pub(super) fn messages(call: &Call<'_>) -> Vec<Message> {
    call.messages
        .iter()
        .map(|message| {
            let doc = Doc::parse(&*message.json);
            let root = doc.as_ref().ok().map(Doc::root);
            let content = root.and_then(|root| root.get("content"));
            Message {
                role: member(root, "role").unwrap_or_default(),
                about: about(root),
                tokens: None,
                blocks: content.into_iter().flat_map(Js::elements).map(block).collect(),
            }
        })
        .collect()
}

/// What else is to be known of a message: where a context comes from, which call a result answers.
fn about(message: Option<Js<'_>>) -> String {
    let source = member(message.and_then(|m| m.get("source")), "kind").unwrap_or_default();
    let failed = message.and_then(|m| m.get("isError")).is_some_and(Js::is_true);
    match source.as_str() {
        "user" | "model" | "system-prompt" => String::new(),
        "tool" => {
            let call = member(message, "toolCallId").unwrap_or_default();
            format!("{call}{}", if failed { ", failed" } else { "" })
        }
        other => other.to_owned(),
    }
}

fn block(block: Js<'_>) -> Block {
    let text = |name| member(Some(block), name).unwrap_or_default();
    let kind = text("type");
    match kind.as_str() {
        "text" => Block { mood: Mood::Said, label: String::new(), text: text("text") },
        "reasoning" => Block { mood: Mood::Thought, label: "thinking".to_owned(), text: text("text") },
        "tool-call" => Block {
            mood: Mood::Call,
            label: format!("{} ({})", text("name"), text("id")),
            text: text("arguments"),
        },
        "image" | "file" => {
            let mut words = attachment(block.get("attachment"));
            if block.get("offloaded").is_some_and(Js::is_true) {
                words.push_str(", left out");
            }
            Block { mood: Mood::Aside, label: kind, text: words }
        }
        "tool-addition" => {
            Block { mood: Mood::Aside, label: "tool added".to_owned(), text: text("toolName") }
        }
        "tool-removal" => {
            Block { mood: Mood::Aside, label: "tool removed".to_owned(), text: text("toolName") }
        }
        _ => Block { mood: Mood::Aside, label: kind, text: printed(block) },
    }
}

/// Such as `red.png, image/png, 64x48, 156 B, sha256:7f34c9a3…`.
fn attachment(attachment: Option<Js<'_>>) -> String {
    let count = |name| attachment.and_then(|a| a.get(name)).and_then(Js::as_count);
    let size = count("width").zip(count("height")).map(|(width, height)| format!("{width}x{height}"));
    let id = member(attachment, "attachmentId").map(|id| {
        let short: String = id.chars().take("sha256:".len() + 8).collect();
        if short.len() < id.len() { format!("{short}…") } else { short }
    });
    let facts = [
        member(attachment, "name"),
        member(attachment, "mediaType"),
        size,
        count("bytes").map(units::bytes),
        id,
    ];
    facts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn member(value: Option<Js<'_>>, name: &str) -> Option<String> {
    Some(value?.get(name)?.as_str()?.to_lossy().into_owned())
}

fn printed(value: Js<'_>) -> String {
    let mut out = Vec::new();
    print(&mut out, value);
    String::from_utf8(out).unwrap_or_default()
}
