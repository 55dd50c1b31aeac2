//! Blocks of a script, taken apart.

use crate::json;
use crate::script::{Block, Message, Part};

/// The parts of a message: those that it gives, or those of its blocks.
pub(crate) fn parts(message: &Message) -> Vec<Part> {
    if message.blocks.is_empty() {
        return message.parts.clone();
    }
    let mut parts = Vec::new();
    for (index, block) in (0..).zip(&message.blocks) {
        let pieces = match block {
            Block::Text { text, split, pieces } => {
                parts.push(Part::Text { index });
                pieces_of(pieces, text, split)
            }
            Block::Thinking { text, split, pieces, .. } => {
                parts.push(Part::Thinking { index });
                pieces_of(pieces, text, split)
            }
            Block::ToolUse { id, name, input, arguments, split, pieces, at_start } => {
                let at_start = input.clone().filter(|_| *at_start);
                let text = match (arguments, input) {
                    _ if at_start.is_some() => String::new(),
                    (Some(arguments), _) => arguments.clone(),
                    (None, Some(input)) => json::print(input),
                    (None, None) => String::new(),
                };
                parts.push(Part::ToolUse { index, id: id.clone(), name: name.clone(), input: at_start });
                pieces_of(pieces, &text, split)
            }
        };
        parts.extend(pieces.into_iter().map(|text| Part::Delta { index, text }));
        if let Block::Thinking { signature: Some(signature), .. } = block {
            parts.push(Part::Signature { index, text: signature.clone() });
        }
        parts.push(Part::End { index });
    }
    parts
}

/// The deltas of a text: those given, else the text split at places that count characters. An empty text has none.
fn pieces_of(given: &[String], text: &str, split: &[usize]) -> Vec<String> {
    if !given.is_empty() {
        return given.to_vec();
    }
    if text.is_empty() {
        return Vec::new();
    }
    let mut pieces = vec![String::new()];
    for (at, c) in text.chars().enumerate() {
        if at > 0 && split.contains(&at) {
            pieces.push(String::new());
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push(c);
        }
    }
    pieces
}
