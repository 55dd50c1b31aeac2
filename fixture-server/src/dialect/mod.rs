//! The two ways in which dsh talks to a model service, and what is common to them.
//!
//! Messages (dsh from 0.2 on) and Chat Completions (before). Requests of both are read into one [`View`]; answers are
//! [`Part`]s that either dialect turns into bytes.

mod chat;
mod error;
mod messages;
mod parts;
mod sse;
mod view;

pub use view::{Call, Kind, Role, Said, Seen, ToolResult, View};

pub(crate) use error::error_body;
pub(crate) use parts::parts;
pub(crate) use sse::{Piece, Stream};

use serde::Deserialize;

use crate::script::{Message, Part};

/// A dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// `POST .../messages`.
    Messages,
    /// `POST .../chat/completions`.
    Chat,
}

impl Dialect {
    /// Its name, as in scripts.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Messages => "messages",
            Dialect::Chat => "chat",
        }
    }

    /// The dialect that is spoken at a path.
    pub(crate) fn of_path(path: &str) -> Option<Dialect> {
        if path.ends_with("/messages") {
            Some(Dialect::Messages)
        } else if path.ends_with("/chat/completions") {
            Some(Dialect::Chat)
        } else {
            None
        }
    }
}

/// What an answer needs to know of its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address<'a> {
    /// The id of the message.
    pub(crate) id: &'a str,
    /// Its model.
    pub(crate) model: &'a str,
}

/// A message as the stream of a dialect.
pub(crate) fn stream(dialect: Dialect, message: &Message, address: Address<'_>) -> Stream {
    let parts: Vec<Part> = parts(message);
    match dialect {
        Dialect::Messages => messages::stream(message, &parts, address),
        Dialect::Chat => chat::stream(message, &parts, address),
    }
}
