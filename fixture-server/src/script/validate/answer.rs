//! Answers that cannot be sent.

use super::Finder;
use crate::deliver::decode;
use crate::script::{After, Block, Body, Chunks, Message, Part, Response, Write};

/// Everything about an answer.
pub(super) fn answer(finder: &mut Finder, place: &str, response: &Response) {
    let bodies = [response.message.is_some(), response.error.is_some(), response.body.is_some()];
    let count = bodies.into_iter().filter(|given| *given).count();
    finder.when(count > 1, place, "more than one of `message`, `error` and `body`");
    let status = response.status.unwrap_or(200);
    finder.when(
        !(101..=599).contains(&status),
        format!("{place}.status"),
        "no status of an answer: 101 to 599",
    );
    for (name, value) in &response.headers {
        let place = format!("{place}.headers");
        finder.when(!is_token(name), &place, &format!("{name:?} is no name of a header"));
        let breaks = value.chars().any(|c| matches!(c, '\r' | '\n' | '\0'));
        finder.when(breaks, &place, &format!("the value of {name:?} has a line end in it"));
    }
    if let Some(message) = &response.message {
        said(finder, &format!("{place}.message"), message);
    }
    match &response.body {
        Some(Body::Writes(writes)) => written(finder, &format!("{place}.body.writes"), writes),
        Some(Body::Verbatim(writes)) => {
            written(finder, &format!("{place}.body.verbatim"), writes);
            verbatim(finder, place, response);
        }
        Some(Body::Json(_) | Body::Text(_)) | None => {}
    }
    chunks(finder, &format!("{place}.chunks"), &response.chunks);
    let head_bytes = response.pace.head_bytes;
    finder.when(head_bytes == Some(0), format!("{place}.pace.head_bytes"), "0 bytes at a time never end");
    if let Some(fault) = &response.fault {
        let events = matches!(fault.after, After::Events(_)) && response.message.is_none();
        finder.when(events, format!("{place}.fault.after"), "only a `message` has events to count");
    }
}

/// A verbatim answer is all there is: nothing else can be added to it.
fn verbatim(finder: &mut Finder, place: &str, response: &Response) {
    let more = response.status.is_some() || !response.headers.is_empty() || response.framing.is_some();
    finder.when(more, place, "a verbatim body has its own status line and headers");
    let cut = response.fault.as_ref().is_some_and(|fault| fault.after != After::Body);
    finder.when(
        cut,
        format!("{place}.fault.after"),
        "a verbatim body is not cut: leave out what is not to be sent",
    );
}

fn said(finder: &mut Finder, place: &str, message: &Message) {
    let both = !message.blocks.is_empty() && !message.parts.is_empty();
    finder.when(both, place, "both `blocks` and `parts`");
    for (n, block) in message.blocks.iter().enumerate() {
        block_of(finder, &format!("{place}.blocks[{n}]"), block);
    }
    for (n, part) in message.parts.iter().enumerate() {
        let place = format!("{place}.parts[{n}]");
        match part {
            Part::Event { event: Some(name), .. } => {
                finder.when(name.contains(['\r', '\n']), &place, "the name of an event has a line end in it");
            }
            Part::Comment(text) => {
                finder.when(text.contains('\r'), &place, "a comment has a carriage return in it");
            }
            _ => {}
        }
    }
}

fn block_of(finder: &mut Finder, place: &str, block: &Block) {
    let (text, split, pieces) = match block {
        Block::Text { text, split, pieces } | Block::Thinking { text, split, pieces, .. } => {
            finder.when(!text.is_empty() && !pieces.is_empty(), place, "both `text` and `pieces`");
            (text.clone(), split, pieces)
        }
        Block::ToolUse { input, arguments, split, pieces, at_start, .. } => {
            let given = [input.is_some(), arguments.is_some(), !pieces.is_empty()];
            let count = given.into_iter().filter(|given| *given).count();
            finder.when(count > 1, place, "more than one of `input`, `arguments` and `pieces`");
            finder.when(*at_start && input.is_none(), place, "`at_start` needs `input`");
            finder.when(
                *at_start && !split.is_empty(),
                place,
                "what stands in the start of a block is not split",
            );
            let printed = input.as_ref().map(crate::json::print);
            (arguments.clone().or(printed).unwrap_or_default(), split, pieces)
        }
    };
    if split.is_empty() {
        return;
    }
    let place = format!("{place}.split");
    finder.when(!pieces.is_empty(), &place, "both `split` and `pieces`");
    let length = text.chars().count();
    let outside = split.iter().any(|at| *at == 0 || *at >= length);
    finder.when(
        outside,
        &place,
        &format!("places between 1 and {} split this text", length.saturating_sub(1)),
    );
    finder.when(!split.is_sorted_by(|a, b| a < b), &place, "places must ascend");
}

fn written(finder: &mut Finder, place: &str, writes: &[Write]) {
    for (n, write) in writes.iter().enumerate() {
        let place = format!("{place}[{n}]");
        finder.when(write.text.is_some() && write.base64.is_some(), &place, "both `text` and `base64`");
        finder.when(write.base64.is_some() && decode(write).is_none(), &place, "no Base64");
    }
}

fn chunks(finder: &mut Finder, place: &str, chunks: &Chunks) {
    match chunks {
        Chunks::Size(0) => finder.add(place, "chunks of 0 bytes never end"),
        Chunks::At(places) => {
            finder.when(!places.is_sorted_by(|a, b| a < b), place, "places must ascend");
        }
        Chunks::Events | Chunks::Whole | Chunks::Size(_) => {}
    }
}

fn is_token(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(allowed)
}
