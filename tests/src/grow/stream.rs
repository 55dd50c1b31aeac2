//! The model stream of an assistant message (`docs/spec/events-v4.md`, 6.4).

use std::fmt::Write as _;

use crate::text::{Rng, escape, quote};

/// One block of an assistant message.
pub(super) enum Block {
    Reasoning(String),
    Text(String),
    Call { id: String, name: &'static str, arguments: String },
}

/// What a message says, and the stream that brought it. All of it JSON text; lists without their brackets.
pub(super) struct Stream {
    pub(super) content: String,
    pub(super) replay: String,
    pub(super) usage: String,
    pub(super) records: String,
    /// Time of the last record.
    pub(super) time: u64,
}

impl Stream {
    /// The stream of these blocks, beginning at `time`.
    pub(super) fn of(blocks: &[Block], calls: bool, time: u64, rng: &mut Rng) -> Self {
        let content = blocks.iter().map(Block::json).collect::<Vec<_>>();
        let kinds = blocks.iter().map(|b| format!(r#"{{"type":"{}"}}"#, b.kind())).collect::<Vec<_>>();
        let response = r#"{"kind":"deepseek-messages","version":1,"model":"deepseek-flash"}"#;
        let replay = format!(r#"{{"response":{response},"blocks":[{}]}}"#, kinds.join(","));
        let input = rng.between(500, 90_000);
        let output = content.iter().map(String::len).sum::<usize>() as u64 / 4 + 1;
        let usage =
            format!(r#"{{"inputTokens":{input},"outputTokens":{output},"totalTokens":{}}}"#, input + output);

        let mut records = Records { text: String::new(), time };
        for (index, (block, whole)) in blocks.iter().zip(&content).enumerate() {
            let kind = block.kind();
            records.chunk(&format!(r#"{{"type":"block-start","index":{index},"blockType":"{kind}"}}"#));
            records.deltas(index, block, rng);
            records.chunk(&format!(r#"{{"type":"block-end","index":{index},"block":{whole}}}"#));
        }
        records.chunk(&format!(r#"{{"type":"usage","usage":{usage}}}"#));
        let reason = if calls { "tool-calls" } else { "stop" };
        records
            .chunk(&format!(r#"{{"type":"finish","reason":{{"kind":"{reason}"}},"replayState":{replay}}}"#));
        Stream { content: content.join(","), replay, usage, records: records.text, time: records.time }
    }
}

struct Records {
    text: String,
    time: u64,
}

impl Records {
    fn chunk(&mut self, chunk: &str) {
        let time = self.time;
        self.record(&format!(r#"{{"type":"chunk","time":{time},"chunk":{chunk}}}"#));
    }

    fn record(&mut self, record: &str) {
        if !self.text.is_empty() {
            self.text.push(',');
        }
        self.text.push_str(record);
    }

    /// The deltas of a block. Of tool calls the first one is empty and has the name.
    fn deltas(&mut self, index: usize, block: &Block, rng: &mut Rng) {
        let time = self.time;
        let at = format!(r#""time0":{time},"index":{index}"#);
        let (text, list) = match block {
            Block::Reasoning(text) | Block::Text(text) => (text, r#""texts""#.to_owned()),
            Block::Call { id, name, arguments } => {
                let ids = format!(r#""id":"{id}","name":"{name}""#);
                self.record(&format!(r#"{{"type":"tool-call-chunks",{at},"dt":[],{ids},"args":[""]}}"#));
                (arguments, format!(r#""id":"{id}","args""#))
            }
        };
        let (pieces, count) = pieces(rng, text);
        let mut gaps = String::new();
        for i in 1..count {
            let gap = if rng.once_in(3) { rng.below(60) } else { rng.below(2) };
            self.time += gap;
            let comma = if i > 1 { "," } else { "" };
            // Writing to a string cannot fail.
            let _ = write!(gaps, "{comma}{gap}");
        }
        let kind = block.kind();
        self.record(&format!(r#"{{"type":"{kind}-chunks",{at},"dt":[{gaps}],{list}:[{pieces}]}}"#));
    }
}

impl Block {
    fn kind(&self) -> &'static str {
        match self {
            Block::Reasoning(_) => "reasoning",
            Block::Text(_) => "text",
            Block::Call { .. } => "tool-call",
        }
    }

    fn json(&self) -> String {
        let kind = self.kind();
        match self {
            Block::Reasoning(text) | Block::Text(text) => {
                format!(r#"{{"type":"{kind}","text":{}}}"#, quote(text))
            }
            Block::Call { id, name, arguments } => {
                let arguments = quote(arguments);
                format!(r#"{{"type":"{kind}","id":"{id}","name":"{name}","arguments":{arguments}}}"#)
            }
        }
    }
}

/// `text` as a model streams it: JSON strings with commas between, and how many there are.
///
/// dsh cuts between code units, so that its deltas can hold halves of characters. Here cuts are between characters: `jq`, which the benches compare
/// with, stops at a lone half.
fn pieces(rng: &mut Rng, text: &str) -> (String, u64) {
    let mut out = String::from("\"");
    let mut count = 1;
    let mut left = rng.between(2, 9);
    for c in text.chars() {
        if left == 0 {
            out.push_str("\",\"");
            count += 1;
            left = rng.between(2, 9);
        }
        left -= 1;
        escape(&mut out, c);
    }
    out.push('"');
    (out, count)
}
