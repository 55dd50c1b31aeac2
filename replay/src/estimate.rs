//! The runtime's own estimate of tokens (`docs/spec/surface.md`, 10.8).
//!
//! A rule of thumb that needs no tokenizer: four UTF-16 units are a token, and every block and message costs a little
//! more. The runtime measures with it what a compaction takes off the surface, so logs hold figures of it. It is no
//! count of the model's: what a request really cost is in its usage.

use dshlog_codec::json::{Doc, Js, JsStr, print};

use crate::request::call::Call;

/// UTF-16 units of text that count as one token.
const UNITS_PER_TOKEN: usize = 4;

/// What a block costs besides its text.
const BLOCK: u64 = 4;

/// What a message costs besides its blocks.
const ROLE: u64 = 4;

/// The estimates of a call, part by part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// A system prompt that is none of the messages; only calls for titles have one.
    pub system: u64,
    /// The declared tools.
    pub tools: u64,
    /// The messages, in their order.
    pub messages: Vec<u64>,
}

impl Estimate {
    /// Those of a call.
    pub fn of(call: &Call<'_>) -> Self {
        let system = call.system.as_ref().filter(|system| !system.is_empty());
        let tools: Vec<&str> =
            call.tools.iter().flat_map(|tools| tools.iter()).map(|tool| tool.definition()).collect();
        // What a log holds reads back.
        let message = |json: &str| Doc::parse(json).map_or(0, |doc| message_tokens(doc.root()));
        Estimate {
            system: system.map_or(0, |system| tokens(units(system.as_wtf8())) + ROLE),
            tools: list_tokens(&tools),
            messages: call.messages.iter().map(|of| message(&of.json)).collect(),
        }
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.system + self.tools + self.messages.iter().sum::<u64>()
    }
}

/// Tokens of one message of the history. An image counts as its reference, not as what is in it.
pub fn message_tokens(message: Js<'_>) -> u64 {
    let blocks = message.get("content").into_iter().flat_map(Js::elements);
    if message.get("role").is_some_and(|role| role.is("system")) {
        let mut is_empty = true;
        let units: usize = blocks
            .map(|block| {
                is_empty = false;
                text_units(block, "text").unwrap_or_else(|| printed_units(block, None))
            })
            .sum();
        return if is_empty { 0 } else { tokens(units) + ROLE };
    }
    blocks.map(block_tokens).sum::<u64>() + ROLE
}

/// Tokens of the tools of a request header, each as JavaScript prints it; none for an empty list.
fn list_tokens(tools: &[&str]) -> u64 {
    if tools.is_empty() {
        return 0;
    }
    // Brackets, and a comma in front of each but the first.
    let around = tools.len() + 1;
    tokens(around + tools.iter().map(|tool| units(tool.as_bytes())).sum::<usize>()) + BLOCK
}

fn block_tokens(block: Js<'_>) -> u64 {
    let is = |kind| block.get("type").is_some_and(|value| value.is(kind));
    let known = if is("text") {
        text_units(block, "text").map(tokens)
    } else if is("reasoning") {
        text_units(block, "reasoning").map(tokens)
    } else if is("tool-call") {
        units_of(block, "name")
            .zip(units_of(block, "arguments"))
            .map(|(name, arguments)| tokens(name) + tokens(arguments))
    } else {
        None
    };
    // The mark of an offload is not part of the reference.
    let blank = is("image").then_some("offloaded");
    known.unwrap_or_else(|| tokens(printed_units(block, blank))) + BLOCK
}

fn tokens(units: usize) -> u64 {
    units.div_ceil(UNITS_PER_TOKEN) as u64
}

/// Units of the text of a block of this type.
fn text_units(block: Js<'_>, kind: &str) -> Option<usize> {
    block.get("type").filter(|value| value.is(kind))?;
    units_of(block, "text")
}

fn units_of(block: Js<'_>, name: &str) -> Option<usize> {
    Some(units(&block.get(name)?.as_str().map(JsStr::to_wtf8)?))
}

/// Units of the value as JavaScript prints it, without the member `blank` of an object.
fn printed_units(value: Js<'_>, blank: Option<&str>) -> usize {
    let mut text = Vec::new();
    print(&mut text, value);
    let Some(gone) = blank.and_then(|name| Some((name, value.get(name)?))) else { return units(&text) };
    let (name, member) = gone;
    let mut printed = Vec::new();
    print(&mut printed, member);
    // Its quotes, its colon and the comma that goes with it.
    units(&text).saturating_sub(name.len() + 4 + units(&printed))
}

/// UTF-16 units of UTF-8, in which a lone surrogate may be three bytes.
fn units(wtf8: &[u8]) -> usize {
    wtf8.iter().map(|byte| usize::from(byte & 0xc0 != 0x80) + usize::from(*byte >= 0xf0)).sum()
}

#[cfg(test)]
mod tests {
    use dshlog_codec::json::Doc;

    use super::*;

    #[track_caller]
    fn check(message: &str, expected: u64) {
        assert_eq!(message_tokens(Doc::parse(message).unwrap().root()), expected, "{message}");
    }

    /// The rules of `docs/spec/surface.md`, 10.8, one row each.
    #[test]
    fn a_message_costs_its_text_its_blocks_and_its_role() {
        let of = |role: &str, content: &str| format!(r#"{{"role":"{role}","content":[{content}]}}"#);
        check(&of("user", ""), 4);
        check(&of("user", r#"{"type":"text","text":"abcde"}"#), 2 + 4 + 4);
        check(&of("assistant", r#"{"type":"reasoning","text":"abcd"}"#), 1 + 4 + 4);
        check(
            &of("assistant", r#"{"type":"tool-call","id":"x","name":"read","arguments":"{\"a\":1}"}"#),
            1 + 2 + 4 + 4,
        );
        // An emoji is two units, a lone surrogate one, a Chinese character one.
        check(&of("user", r#"{"type":"text","text":"😀😀"}"#), 1 + 4 + 4);
        check(&of("user", r#"{"type":"text","text":"日志迁移x"}"#), 2 + 4 + 4);
        check(&of("user", r#"{"type":"text","text":"\ud83dabc"}"#), 1 + 4 + 4);
        check(&of("user", r#"{"type":"text","text":"\ud83d\ude00ab"}"#), 1 + 4 + 4);
        // Other blocks count as they are printed: 27 and 22 units.
        check(&of("user", r#"{"type":"other","value":1.0}"#), 7 + 4 + 4);
        check(&of("user", r#"{"type":"image","x":[]}"#), 6 + 4 + 4);
        check(&of("user", r#"{"type":"image","offloaded":true,"x":[]}"#), 6 + 4 + 4);
        // A system prompt is a string on its way: it has no blocks.
        check(&of("system", ""), 0);
        check(&of("system", r#"{"type":"text","text":"abc"},{"type":"text","text":"de"}"#), 2 + 4);
    }

    #[test]
    fn tools_count_as_they_are_printed() {
        // As a list they are 14 and 27 units.
        for (tools, expected) in
            [(&[][..], 0), (&[r#"{"name":"a"}"#], 4 + 4), (&[r#"{"name":"a"}"#, r#"{"name":"b"}"#], 7 + 4)]
        {
            assert_eq!(list_tokens(tools), expected, "{tools:?}");
        }
    }
}
