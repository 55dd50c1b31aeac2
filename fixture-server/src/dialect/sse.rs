//! Server-sent events as bytes.

use serde_json::Value;

use crate::json;

/// A stream that is ready to be sent, piece by piece.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    pub(crate) pieces: Vec<Piece>,
}

/// What a stream consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// One event, or what a script put in its place.
    Event(Vec<u8>),
    /// Nothing for so many milliseconds.
    Pause(u64),
}

impl Stream {
    /// An event with a name, or without one.
    pub(crate) fn event(&mut self, name: Option<&str>, data: &Value) {
        self.text_event(name, &json::print(data));
    }

    /// An event whose data is any text.
    pub(crate) fn text_event(&mut self, name: Option<&str>, data: &str) {
        let mut event = String::with_capacity(data.len() + 32);
        if let Some(name) = name {
            event.push_str("event: ");
            event.push_str(name);
            event.push('\n');
        }
        for line in data.split('\n') {
            event.push_str("data: ");
            event.push_str(line);
            event.push('\n');
        }
        event.push('\n');
        self.pieces.push(Piece::Event(event.into_bytes()));
    }

    /// A comment.
    pub(crate) fn comment(&mut self, text: &str) {
        let mut lines = String::with_capacity(text.len() + 4);
        for line in text.split('\n') {
            lines.extend([": ", line, "\n"]);
        }
        lines.push('\n');
        self.raw(lines.into_bytes());
    }

    /// Any bytes.
    pub(crate) fn raw(&mut self, bytes: Vec<u8>) {
        self.pieces.push(Piece::Event(bytes));
    }

    /// A pause.
    pub(crate) fn pause(&mut self, millis: u64) {
        self.pieces.push(Piece::Pause(millis));
    }

    /// Takes the blank line away that ends the last event.
    pub(crate) fn cut_last_blank_line(&mut self) {
        let last = self.pieces.iter_mut().rev().find_map(|piece| match piece {
            Piece::Event(bytes) => Some(bytes),
            Piece::Pause(_) => None,
        });
        if let Some(bytes) = last.filter(|bytes| bytes.ends_with(b"\n\n")) {
            bytes.pop();
        }
    }
}
