//! What one message of the history is on the wire (3.1, 3.3, 3.4), whatever stands around it.

use std::borrow::Cow;

use dshlog_codec::Seq;
use dshlog_codec::json::{Doc, Js, JsStr, JsString, print_str, print_string};

use super::Role;
use crate::request::call::CallMessage;
use crate::request::header::{printed, string};
use crate::request::image;
use crate::request::part::{Part, Terms, Text, joined_text, parts};
use crate::request::refusal::Refusal;
use crate::request::template::Template;

/// One message, ready to be put between others.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) seq: Option<Seq>,
    pub(super) shape: Shape,
    /// It holds an image that would travel, and is neither of the user nor of a tool.
    pub(super) misplaces_image: bool,
}

#[derive(Debug)]
pub(super) enum Shape {
    /// What has no form on the wire, in the adapter's words.
    Refused(String),
    System {
        text: JsString,
    },
    Developer {
        id: JsString,
        changes: Vec<Change>,
    },
    Turn {
        role: Role,
        blocks: Vec<Block>,
    },
    Assistant {
        blocks: Vec<Block>,
        signatures: Signatures,
        provider: JsString,
    },
}

/// One block of a developer message.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Text { json: Box<str>, empty: bool },
    Addition(JsString),
    Removal(JsString),
    Other(String),
}

/// One block on the wire.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) kind: BlockKind,
    pub(super) json: Template,
}

#[derive(Clone, Debug)]
pub(super) enum BlockKind {
    Plain,
    /// A call, with its id.
    Call(JsString),
    /// A result, with the id of its call.
    Result(JsString),
    /// An addition or removal of a tool.
    ToolChange,
}

/// The replay state of an assistant message.
#[derive(Debug, Default)]
pub(super) struct Signatures {
    /// The model that may see them again; nothing when there are none.
    model: Option<JsString>,
    malformed: bool,
    /// The message's blocks, signed.
    pub(super) blocks: Vec<Block>,
}

impl Signatures {
    pub(super) fn is_malformed(&self) -> bool {
        self.malformed
    }

    pub(super) fn is_of(&self, model: &JsString) -> bool {
        self.model.as_ref() == Some(model)
    }
}

impl Piece {
    pub(super) fn of(message: &CallMessage<'_>, terms: Terms<'_>) -> Result<Piece, Refusal> {
        let doc = Doc::parse(&*message.json)?;
        let parts = parts(doc.root().get("content"), terms);
        let misplaces_image = matches!(&*role(doc.root()), "system" | "developer" | "assistant")
            && parts.iter().any(|part| matches!(part, Part::Image(_)));
        Ok(Piece { seq: message.seq, shape: shape(doc.root(), &parts, message.seq, terms)?, misplaces_image })
    }
}

fn role(message: Js<'_>) -> Cow<'_, str> {
    message.get("role").and_then(Js::as_str).unwrap_or(JsStr::plain("user")).to_lossy()
}

fn shape(message: Js<'_>, parts: &[Part<'_>], seq: Option<Seq>, terms: Terms<'_>) -> Result<Shape, Refusal> {
    let role = role(message);
    if role == "developer" {
        let id = string(message.get("id")).unwrap_or_default();
        return Ok(Shape::Developer { id, changes: parts.iter().map(change).collect() });
    }
    if parts.iter().any(|part| matches!(part, Part::Addition(_) | Part::Removal(_))) {
        return Ok(Shape::Refused("tool-change blocks outside developer messages".to_owned()));
    }
    Ok(match &*role {
        "system" if parts.iter().any(|part| !matches!(part, Part::Text(_))) => {
            Shape::Refused("non-text system message".to_owned())
        }
        "system" => Shape::System { text: system_text(message.get("content"), parts) },
        "assistant" => match assistant(message, parts) {
            Ok(shape) => shape,
            Err(what) => Shape::Refused(what),
        },
        "tool" => match input(parts, seq, terms)? {
            Ok(blocks) => Shape::Turn { role: Role::User, blocks: vec![result(message, blocks)] },
            Err(what) => Shape::Refused(what),
        },
        _ => match input(parts, seq, terms)? {
            Ok(blocks) => Shape::Turn { role: Role::User, blocks },
            Err(what) => Shape::Refused(what),
        },
    })
}

/// The texts of a system message. Those that stand for files are made, so they are joined block by block.
fn system_text(content: Option<Js<'_>>, parts: &[Part<'_>]) -> JsString {
    if parts.iter().all(|part| matches!(part, Part::Text(Text::Read(_)))) {
        return joined_text(content);
    }
    let mut joined = JsString::default();
    for part in parts {
        if let Part::Text(text) = part {
            joined.push(text.as_js());
        }
    }
    joined
}

fn change(part: &Part<'_>) -> Change {
    match part {
        Part::Text(text) => Change::Text { json: quoted(text.as_js()).into(), empty: text.is_empty() },
        Part::Addition(name) => Change::Addition(string(*name).unwrap_or_default()),
        Part::Removal(name) => Change::Removal(string(*name).unwrap_or_default()),
        other => Change::Other(other.kind().into_owned()),
    }
}

impl Change {
    /// The block on the wire.
    pub(super) fn block(&self) -> Cow<'_, Block> {
        let tool = |kind: &str, name: &JsString| {
            let mut json = format!("{{\"type\":\"{kind}\",\"tool\":{{\"type\":\"tool_reference\",\"name\":");
            json.push_str(&quoted_owned(name));
            json.push_str("}}");
            Block { kind: BlockKind::ToolChange, json: json.into() }
        };
        Cow::Owned(match self {
            Change::Text { json, .. } => Block { kind: BlockKind::Plain, json: text_json(json).into() },
            Change::Addition(name) => tool("tool_addition", name),
            Change::Removal(name) => tool("tool_removal", name),
            Change::Other(_) => Block { kind: BlockKind::Plain, json: Template::default() },
        })
    }
}

/// `{"type":"text","text":...}`.
pub(super) fn text_block(text: &JsString) -> Block {
    Block { kind: BlockKind::Plain, json: text_json(&quoted_owned(text)).into() }
}

fn text_json(quoted: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{quoted}}}")
}

/// Blocks of a user turn or of a result; the inner error is content without a form.
fn input(
    parts: &[Part<'_>],
    seq: Option<Seq>,
    terms: Terms<'_>,
) -> Result<Result<Vec<Block>, String>, Refusal> {
    let mut blocks = Vec::new();
    for part in parts {
        match part {
            Part::Text(text) if text.is_empty() => {}
            Part::Text(text) => {
                blocks.push(Block { kind: BlockKind::Plain, json: text_json(&quoted(text.as_js())).into() });
            }
            Part::Reasoning(_) | Part::Call(_) => {}
            Part::Image(attachment) => {
                let mut json = Template::default();
                json.push(&text_json(&quoted(JsStr::plain(&image::handle(*attachment, terms.home)))));
                json.push(",");
                json.push_image(image::reference(*attachment, seq)?);
                blocks.push(Block { kind: BlockKind::Plain, json });
            }
            Part::Addition(_) | Part::Removal(_) | Part::Other(_) => {
                return Ok(Err(format!("user/tool-result content {}", part.kind())));
            }
        }
    }
    Ok(Ok(blocks))
}

/// A `tool_result` with what a tool gave.
fn result(message: Js<'_>, blocks: Vec<Block>) -> Block {
    let id = message.get("toolCallId");
    let mut json = Template::from("{\"type\":\"tool_result\"".to_owned());
    if let Some(id) = id {
        json.push(&format!(",\"tool_use_id\":{}", printed(id)));
    }
    json.push(",\"content\":[");
    for (i, block) in blocks.into_iter().enumerate() {
        if i > 0 {
            json.push(",");
        }
        json.push_template(block.json);
    }
    json.push("]");
    if let Some(is_error) = message.get("isError") {
        json.push(&format!(",\"is_error\":{}", printed(is_error)));
    }
    json.push("}");
    Block { kind: BlockKind::Result(string(id).unwrap_or_default()), json }
}

fn assistant(message: Js<'_>, parts: &[Part<'_>]) -> Result<Shape, String> {
    let source = message.get("source");
    let replay = Replay::of(source, parts);
    let mut blocks = Vec::new();
    let mut signed = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let signature = match &replay {
            Replay::Valid { signatures, .. } => signatures.get(at).copied().flatten(),
            Replay::Absent | Replay::Malformed => None,
        };
        let block = match part {
            Part::Text(text) if text.is_empty() => continue,
            Part::Text(text) => {
                Block { kind: BlockKind::Plain, json: text_json(&quoted(text.as_js())).into() }
            }
            Part::Reasoning(text) => {
                let thinking = thinking(*text, None);
                blocks.push(Block { kind: BlockKind::Plain, json: thinking.into() });
                signed.push(Block { kind: BlockKind::Plain, json: self::thinking(*text, signature).into() });
                continue;
            }
            Part::Call(call) => tool_use(*call),
            Part::Image(_) | Part::Addition(_) | Part::Removal(_) | Part::Other(_) => {
                return Err(format!("assistant content {}", part.kind()));
            }
        };
        signed.push(block.clone());
        blocks.push(block);
    }
    let signatures = match replay {
        Replay::Absent => Signatures::default(),
        Replay::Malformed => Signatures { malformed: true, ..Signatures::default() },
        Replay::Valid { model, .. } => Signatures { model: Some(model), malformed: false, blocks: signed },
    };
    let provider = string(source.and_then(|source| source.get("provider"))).unwrap_or_default();
    Ok(Shape::Assistant { blocks, signatures, provider })
}

fn thinking(text: Option<Js<'_>>, signature: Option<Js<'_>>) -> String {
    let text = text.map_or_else(|| "\"\"".to_owned(), printed);
    let signature = signature.map_or_else(String::new, |s| format!(",\"signature\":{}", printed(s)));
    format!("{{\"type\":\"thinking\",\"thinking\":{text}{signature}}}")
}

fn tool_use(call: Js<'_>) -> Block {
    let mut json = "{\"type\":\"tool_use\"".to_owned();
    for name in ["id", "name"] {
        if let Some(value) = call.get(name) {
            json.extend([",\"", name, "\":"]);
            json.push_str(&printed(value));
        }
    }
    json.push_str(",\"input\":");
    json.push_str(&arguments(call.get("arguments")));
    json.push('}');
    Block { kind: BlockKind::Call(string(call.get("id")).unwrap_or_default()), json: json.into() }
}

/// Arguments as an object: parsed, and printed anew. What is no JSON object is `{}`.
fn arguments(text: Option<Js<'_>>) -> String {
    let empty = || "{}".to_owned();
    let Some(text) = text.and_then(Js::as_str).map(JsStr::to_owned).and_then(|text| json_text(&text)) else {
        return empty();
    };
    match Doc::parse(text) {
        Ok(doc) if doc.root().is_object() => printed(doc.root()),
        _ => empty(),
    }
}

/// JSON text out of a JavaScript string. A lone surrogate can only stand in a string there, where its escape means the
/// same, unless a backslash makes it a wrong escape.
fn json_text(text: &JsString) -> Option<String> {
    if let Some(text) = text.as_str() {
        return Some(text.to_owned());
    }
    let mut out = String::new();
    let mut slashes = 0;
    for unit in char::decode_utf16(text.units()) {
        match unit {
            Ok(c) => {
                slashes = if c == '\\' { slashes + 1 } else { 0 };
                out.push(c);
            }
            Err(_) if slashes % 2 == 1 => return None,
            Err(lone) => out.extend(["\\u", &format!("{:04x}", lone.unpaired_surrogate())]),
        }
    }
    Some(out)
}

/// What `source.replayState` is worth (3.4).
enum Replay<'a> {
    Absent,
    Malformed,
    Valid { model: JsString, signatures: Vec<Option<Js<'a>>> },
}

impl<'a> Replay<'a> {
    fn of(source: Option<Js<'a>>, parts: &[Part<'_>]) -> Self {
        let member = |name| source.and_then(|source: Js<'a>| source.get(name));
        let Some(state) = member("replayState") else { return Replay::Absent };
        Self::read(state, member("model"), parts).unwrap_or(Replay::Malformed)
    }

    fn read(state: Js<'a>, model: Option<Js<'a>>, parts: &[Part<'_>]) -> Option<Self> {
        let response = state.get("response")?;
        let is_known =
            response.get("kind")?.is("deepseek-messages") && response.get("version")?.as_count()? == 1;
        let response_model = string(response.get("model"))?;
        let blocks: Vec<Js<'a>> = state.get("blocks")?.as_array()?.collect();
        if !is_known || string(model).as_ref() != Some(&response_model) || blocks.len() != parts.len() {
            return None;
        }
        let mut signatures = Vec::with_capacity(blocks.len());
        for (block, part) in blocks.into_iter().zip(parts) {
            let kind = block.get("type")?.as_str()?;
            let is_fit = matches!(part, Part::Text(_) | Part::Reasoning(_) | Part::Call(_));
            let signature = block.get("signature");
            let is_signed_well =
                signature.is_none_or(|s| matches!(part, Part::Reasoning(_)) && s.as_str().is_some());
            if !is_fit || kind != *part.kind() || !is_signed_well {
                return None;
            }
            signatures.push(signature);
        }
        Some(Replay::Valid { model: response_model, signatures })
    }
}

fn quoted(text: JsStr<'_>) -> String {
    let mut out = Vec::new();
    print_str(&mut out, text);
    String::from_utf8(out).unwrap_or_default()
}

fn quoted_owned(text: &JsString) -> String {
    let mut out = Vec::new();
    print_string(&mut out, text);
    String::from_utf8(out).unwrap_or_default()
}
