//! Texts out of payloads.

use std::fmt;

use dshlog_codec::Event;
use dshlog_codec::json::Js;

use crate::render::units;

/// A string member, shown lossily.
pub(super) fn text(value: Option<Js<'_>>, name: &str) -> Option<String> {
    Some(value?.get(name)?.as_str()?.to_lossy().into_owned())
}

/// A string member, or nothing.
pub(super) fn text_or_empty(value: Option<Js<'_>>, name: &str) -> String {
    text(value, name).unwrap_or_default()
}

/// A count member.
pub(super) fn count(value: Option<Js<'_>>, name: &str) -> Option<u64> {
    value?.get(name)?.as_count()
}

/// The text blocks of a message content, and its other blocks in a few words each.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// All text.
    pub(super) text: String,
    /// Everything else but reasoning and tool calls.
    pub(super) attached: Vec<Attached>,
}

/// Something in a message that is no text; shown as its description.
#[derive(Clone, Debug)]
pub(crate) struct Attached {
    /// A few words on it.
    pub(crate) words: String,
    /// The image, when it is one.
    pub(crate) image: Option<Image>,
}

/// An image that a message cites; its bytes lie in the home (`docs/spec/storage.md`, section 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Image {
    /// `sha256:` and 64 digits.
    pub(crate) id: String,
    /// Such as `image/png`.
    pub(crate) media_type: String,
    /// Width and height in pixels.
    pub(crate) pixels: Option<(u64, u64)>,
    /// Size of the stored bytes.
    pub(crate) bytes: Option<u64>,
}

impl fmt::Display for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl From<String> for Attached {
    fn from(words: String) -> Self {
        Attached { words, image: None }
    }
}

/// Read a content array; wrapped results of older generations are unwrapped.
pub(super) fn content(blocks: Option<Js<'_>>) -> Content {
    let mut content = Content::default();
    let Some(blocks) = blocks else { return content };
    if let Some(text) = blocks.as_str() {
        content.text = text.to_lossy().into_owned();
        return content;
    }
    for block in blocks.elements() {
        let kind = text_or_empty(Some(block), "type");
        match kind.as_str() {
            "text" => append(&mut content.text, &text_or_empty(Some(block), "text")),
            "reasoning" | "tool-call" => {}
            "tool-result" => {
                let inner = self::content(block.get("content"));
                append(&mut content.text, &inner.text);
                content.attached.extend(inner.attached);
            }
            "image" => content.attached.push(image(block)),
            "file" => {
                let file = block.get("attachment");
                let size =
                    count(file, "bytes").map_or(String::new(), |bytes| format!(", {}", units::bytes(bytes)));
                content.attached.push(format!("file {}{size}", text_or_empty(file, "name")).into());
            }
            "tool-addition" => {
                content.attached.push(format!("+{}", text_or_empty(Some(block), "toolName")).into());
            }
            "tool-removal" => {
                content.attached.push(format!("-{}", text_or_empty(Some(block), "toolName")).into());
            }
            "" => {}
            other => content.attached.push(other.to_owned().into()),
        }
    }
    content
}

fn append(text: &mut String, part: &str) {
    if !text.is_empty() && !text.ends_with('\n') && !part.is_empty() {
        text.push('\n');
    }
    text.push_str(part);
}

fn image(block: Js<'_>) -> Attached {
    let image = block.get("attachment");
    let pixels = count(image, "width").zip(count(image, "height"));
    let mut words = String::from("image");
    if let Some(name) = text(image, "name") {
        words = format!("{words} {name}");
    }
    if let Some((width, height)) = pixels {
        words = format!("{words} {width}×{height}");
    }
    if let Some(kind) = text(image, "mediaType") {
        words = format!("{words} {}", kind.strip_prefix("image/").unwrap_or(&kind));
    }
    if let Some(bytes) = count(image, "bytes") {
        words = format!("{words}, {}", units::bytes(bytes));
    }
    let image = text(image, "attachmentId").map(|id| Image {
        id,
        media_type: text_or_empty(image, "mediaType"),
        pixels,
        bytes: count(image, "bytes"),
    });
    Attached { words, image }
}

/// A provider's failure in one line: `500 SERVER: message`.
pub(super) fn failure(value: Option<Js<'_>>) -> String {
    let code = text(value, "code");
    let status = count(value, "status").map(|status| status.to_string());
    let head: Vec<String> = [status, code].into_iter().flatten().collect();
    let message = text_or_empty(value, "message");
    match (head.is_empty(), message.is_empty()) {
        (true, true) => "unknown failure".to_owned(),
        (true, false) => message,
        (false, true) => head.join(" "),
        (false, false) => format!("{}: {message}", head.join(" ")),
    }
}

/// What an attempt without message left in its stream.
#[derive(Debug, Default)]
pub(super) struct Attempt {
    /// Text that had arrived.
    pub(super) text: String,
    /// Why it ended, when it failed.
    pub(super) failure: Option<String>,
    /// It was cancelled.
    pub(super) aborted: bool,
}

/// Read the stream of an attempt (`docs/spec/events-v4.md`, 6.4).
pub(super) fn attempt(stream: Option<Js<'_>>) -> Attempt {
    let mut attempt = Attempt::default();
    for record in stream.into_iter().flat_map(Js::elements) {
        match text_or_empty(Some(record), "type").as_str() {
            "text-chunks" => {
                for part in record.get("texts").into_iter().flat_map(Js::elements) {
                    if let Some(part) = part.as_str() {
                        attempt.text.push_str(&part.to_lossy());
                    }
                }
            }
            "chunk" => {
                let Some(reason) = record.path(&["chunk", "reason"]) else { continue };
                match text_or_empty(Some(reason), "kind").as_str() {
                    "error" => attempt.failure = Some(failure(reason.get("failure"))),
                    "aborted" => attempt.aborted = true,
                    _ => {}
                }
            }
            _ => {}
        }
    }
    attempt
}

/// The kind of a message source; before V4 plugins stood behind one kind (`docs/spec/events-v4.md`, 10.6).
pub(super) fn source_kind(source: Option<Js<'_>>) -> String {
    let kind = text_or_empty(source, "kind");
    if kind != "plugin" {
        return kind;
    }
    match text_or_empty(source, "plugin").as_str() {
        "@deepseek-ai/dsh-system-prompt" => "runtime-context".to_owned(),
        "compact" => "compact-checkpoint".to_owned(),
        plugin => plugin.to_owned(),
    }
}

/// True for events that take the place of earlier ones.
pub(super) fn is_replacement(event: &Event<'_>) -> bool {
    event.surface_op().is_some_and(Js::is_object)
}
