//! Blocks of a message as a route takes them: files are texts, and images are where the route takes none or they were
//! left out (`docs/spec/messages-wire.md`, section 3).

use std::borrow::Cow;

use dshlog_codec::Seq;
use dshlog_codec::json::{Js, JsStr, JsString};

use super::call::CallMessage;
use super::image;

/// What pieces of requests depend on besides their message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms<'a> {
    pub(super) images: bool,
    pub(super) home: Option<&'a str>,
}

/// One block.
#[derive(Clone, Debug)]
pub(super) enum Part<'a> {
    Text(Text<'a>),
    Reasoning(Option<Js<'a>>),
    /// A tool call.
    Call(Js<'a>),
    /// The attachment of an image that travels.
    Image(Option<Js<'a>>),
    Addition(Option<Js<'a>>),
    Removal(Option<Js<'a>>),
    Other(JsStr<'a>),
}

/// A text out of the log, or one that stands for something.
#[derive(Clone, Debug)]
pub(super) enum Text<'a> {
    Read(JsStr<'a>),
    Made(String),
}

impl Text<'_> {
    pub(super) fn as_js(&self) -> JsStr<'_> {
        match self {
            Text::Read(text) => *text,
            Text::Made(text) => JsStr::plain(text),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.as_js().is_empty()
    }
}

/// The blocks of `content`.
pub(super) fn parts<'a>(content: Option<Js<'a>>, terms: Terms<'_>) -> Vec<Part<'a>> {
    content.into_iter().flat_map(Js::elements).map(|block| part(block, terms)).collect()
}

fn part<'a>(block: Js<'a>, terms: Terms<'_>) -> Part<'a> {
    let member = |name| block.get(name);
    let kind = member("type").and_then(Js::as_str).unwrap_or(JsStr::plain("undefined"));
    let attachment = member("attachment");
    match &*plain(kind) {
        "text" => Part::Text(Text::Read(member("text").and_then(Js::as_str).unwrap_or(JsStr::plain("")))),
        "reasoning" => Part::Reasoning(member("text")),
        "tool-call" => Part::Call(block),
        "file" => Part::Text(Text::Made(image::file(attachment, terms.home))),
        "image" if !terms.images => Part::Text(Text::Made(image::text_only(attachment))),
        "image" if member("offloaded").is_some_and(Js::is_true) => {
            Part::Text(Text::Made(image::offloaded(attachment, terms.home)))
        }
        "image" => Part::Image(attachment),
        "tool-addition" => Part::Addition(member("toolName")),
        "tool-removal" => Part::Removal(member("toolName")),
        _ => Part::Other(kind),
    }
}

impl Part<'_> {
    /// The type that it has in the log, or had before something took its place.
    pub(super) fn kind(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Part::Text(_) => "text",
            Part::Reasoning(_) => "reasoning",
            Part::Call(_) => "tool-call",
            Part::Image(_) => "image",
            Part::Addition(_) => "tool-addition",
            Part::Removal(_) => "tool-removal",
            Part::Other(kind) => return kind.to_lossy(),
        })
    }
}

/// The texts of the text blocks, as one. Halves of a character that meet become one.
pub(super) fn joined_text(content: Option<Js<'_>>) -> JsString {
    let mut joined = JsString::default();
    for block in content.into_iter().flat_map(Js::elements) {
        if block.get("type").is_some_and(|kind| kind.is("text"))
            && let Some(text) = block.get("text").and_then(Js::as_str)
        {
            joined.push(text);
        }
    }
    joined
}

fn plain(text: JsStr<'_>) -> Cow<'_, str> {
    text.as_plain().map_or_else(|| text.to_lossy(), Cow::Borrowed)
}

/// Where a piece of a request can be found again: a node, and how many offloads changed its message.
pub(super) type Key = (Seq, usize);

/// Pieces of messages, kept from one request to the next.
#[derive(Debug)]
pub(super) struct Pieces<P> {
    kept: std::collections::HashMap<Key, std::sync::Arc<P>>,
}

impl<P> Default for Pieces<P> {
    fn default() -> Self {
        Pieces { kept: std::collections::HashMap::new() }
    }
}

impl<P> Pieces<P> {
    /// The pieces of all messages, made where they are not kept; those of other messages are let go.
    pub(super) fn of<E>(
        &mut self,
        messages: &[CallMessage<'_>],
        mut make: impl FnMut(&CallMessage<'_>) -> Result<P, E>,
    ) -> Result<Vec<std::sync::Arc<P>>, E> {
        let mut kept = std::collections::HashMap::with_capacity(messages.len());
        let mut pieces = Vec::with_capacity(messages.len());
        for message in messages {
            let found = message.key.and_then(|key| self.kept.remove(&key));
            let piece = match found {
                Some(piece) => piece,
                None => std::sync::Arc::new(make(message)?),
            };
            if let Some(key) = message.key {
                kept.insert(key, std::sync::Arc::clone(&piece));
            }
            pieces.push(piece);
        }
        self.kept = kept;
        Ok(pieces)
    }
}
