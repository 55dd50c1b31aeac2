//! A recorded stream becomes an event stream of Messages (`docs/spec/messages-wire.md`, 10 and 11).

use std::borrow::Cow;
use std::collections::HashSet;

use dshlog_codec::json::{Doc, JsString, SAFE_INTEGER, print_number, print_string};

use super::super::chunk::{Block, BlockKind, Chunk, Count, Reason, Usage};
use super::super::failure::Failure;
use super::super::script::{
    Fidelity, Frames, Recorded, WORDINGS, Why, bodiless, error_body, headless, is_aborted, no_answer, refusal,
};
use super::super::served::{End, Served};
use super::failure::class;
use super::read::COUNTS;

/// The response that comes nearest.
pub(in crate::wire) fn respond(recorded: Recorded<'_>, fidelity: Fidelity) -> Result<Served, Why> {
    let own = recorded.failure().map(|failure| match fidelity {
        Fidelity::Exact => Cow::Borrowed(failure),
        Fidelity::Lenient => in_own_words(failure),
    });
    let failure = own.as_deref();
    if let Some(failure) = failure {
        if recorded.finish().is_some_and(is_aborted) {
            return Err(no_answer(failure));
        }
        if let Some(status) = failure.status {
            let message = failure.message.to_lossy();
            return refusal(failure, status, "request-id", decimal_seconds, |wording| {
                worded(Some(status), wording, &message)
            });
        }
        if let Some(served) = without_events(failure, recorded.has_begun()) {
            return Ok(served);
        }
    } else if recorded.finish().is_none() && !recorded.has_begun() {
        return Ok(headless(End::Stall));
    }
    let mut writer = Writer { recorded, frames: Frames::default(), consumed: HashSet::new() };
    let none = Usage::new();
    let usage = recorded.usage().unwrap_or(&none);
    if fidelity == Fidelity::Exact && recorded.usage().is_some() {
        check_counts(usage)?;
    }
    if !failure.is_some_and(|failure| is(failure, "stream: event precedes message_start")) {
        writer.begin(usage)?;
    }
    writer.chunks()?;
    let end = match recorded.finish().map(|finish| &finish.reason) {
        None => End::Stall,
        Some(reason) => {
            if let Some(failure) = failure {
                let end = writer.terminate(failure)?;
                return Ok(writer.frames.served(end));
            }
            writer.settle(reason, usage)?;
            End::Complete
        }
    };
    Ok(writer.frames.served(end))
}

/// A failure of the other adapter in the words of this one.
fn in_own_words(failure: &Failure) -> Cow<'_, Failure> {
    let message = failure.message.to_lossy();
    let words = match &*failure.code.to_lossy() {
        _ if failure.status.is_some() || own_words(failure).is_some() => return Cow::Borrowed(failure),
        "STREAM_CLOSED" => "stream ended before message_stop",
        "TRANSPORT" => "transport failed",
        "TIMEOUT" => "stream idle timeout",
        "EMPTY_RESPONSE" if message.ends_with("no response body") => "returned no response body",
        "EMPTY_RESPONSE" => "returned no content",
        "MALFORMED_RESPONSE" => "SSE contains invalid JSON",
        _ => return Cow::Borrowed(failure),
    };
    let message = JsString::from(&*format!("DeepSeek Messages {words}"));
    Cow::Owned(Failure { message, ..failure.clone() })
}

/// Answers that bring about a failure without an event stream.
fn without_events(failure: &Failure, has_begun: bool) -> Option<Served> {
    if is(failure, "returned no response body") {
        return Some(bodiless(204));
    }
    if has_begun {
        return None;
    }
    if is(failure, "transport failed") {
        return Some(headless(End::ResetBeforeStatus));
    }
    is(failure, "stream idle timeout").then(|| headless(End::Stall))
}

/// The adapter's own words behind its name.
fn own_words(failure: &Failure) -> Option<&str> {
    failure.message.as_str()?.strip_prefix("DeepSeek Messages ")
}

fn is(failure: &Failure, words: &str) -> bool {
    own_words(failure) == Some(words)
}

/// What the client would take an error for.
fn worded(status: Option<u16>, wording: Option<(&str, &str)>, message: &str) -> String {
    let value = |wanted| wording.filter(|(name, _)| *name == wanted).map_or("", |(_, value)| value);
    class(status, value("type"), value("code"), message)
}

/// A text of seconds, without exponent, that the client reads as this number of milliseconds.
#[expect(clippy::float_cmp, reason = "it is asked whether nothing is lost")]
fn decimal_seconds(delay: f64) -> Option<String> {
    let near = delay / 1e3;
    let candidates = [near, near.next_up(), near.next_down()];
    let text = candidates.into_iter().find(|seconds| *seconds * 1e3 == delay)?.to_string();
    text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.').then_some(text)
}

/// Refuse counts that the client would not make.
#[expect(clippy::float_cmp, reason = "the client adds in the same order")]
fn check_counts(usage: &Usage) -> Result<(), Why> {
    let number = |count| usage.get(count).unwrap_or(0.0);
    if let Some(value) = usage.get(Count::Reasoning) {
        return Err(Why::Count { count: Count::Reasoning, value });
    }
    let sum = COUNTS.iter().fold(0.0, |sum, (_, count)| sum + number(*count));
    let total = usage.get(Count::Total).unwrap_or(f64::NAN);
    if total == sum { Ok(()) } else { Err(Why::Count { count: Count::Total, value: total }) }
}

struct Writer<'a> {
    recorded: Recorded<'a>,
    frames: Frames,
    /// Numbers of the chunks that the client makes of a start.
    consumed: HashSet<usize>,
}

impl<'a> Writer<'a> {
    fn begin(&mut self, usage: &Usage) -> Result<(), Why> {
        // The client puts counts in the order in which they come, and of one event in its own.
        let place = |count| usage.iter().position(|(known, _)| known == count);
        let write_first =
            place(Count::CacheWrite) < place(Count::CacheRead) && place(Count::CacheWrite).is_some();
        let mut data = b"{\"type\":\"message_start\",\"message\":{\"usage\":".to_vec();
        print_counts(&mut data, usage, |count| match count {
            Count::Input | Count::CacheWrite => true,
            Count::CacheRead => !write_first,
            _ => false,
        })?;
        data.extend_from_slice(b"}}");
        self.frames.write(Some("message_start"), &data);
        Ok(())
    }

    fn chunks(&mut self) -> Result<(), Why> {
        for (number, (time, chunk)) in self.recorded.chunks.iter().enumerate() {
            self.frames.at(*time);
            if self.consumed.contains(&number) {
                continue;
            }
            match chunk {
                Chunk::BlockStart { index, kind } => {
                    // A stream that was cancelled here ends in front of the start, with which more would come.
                    if number + 1 == self.recorded.chunks.len() && *kind == BlockKind::ToolCall {
                        return Ok(());
                    }
                    self.start(number, *index, *kind)?;
                }
                Chunk::TextDelta { index, text } => self.delta(*index, "text_delta", "text", text),
                Chunk::ReasoningDelta { index, text } => {
                    self.delta(*index, "thinking_delta", "thinking", text);
                }
                Chunk::ToolCallDelta { index, arguments, .. } => {
                    self.delta(*index, "input_json_delta", "partial_json", arguments);
                }
                Chunk::BlockEnd { index, .. } => {
                    if let Some(signature) = self.signature(*index) {
                        self.delta(*index, "signature_delta", "signature", signature);
                    }
                    self.stop(*index);
                }
                Chunk::Usage(_) | Chunk::Finish(_) => {}
            }
        }
        Ok(())
    }

    fn signature(&self, index: u64) -> Option<&'a JsString> {
        let state = self.recorded.finish()?.replay_state.as_ref()?;
        state.blocks.get(usize::try_from(index).ok()?)?.signature.as_ref()
    }

    fn start(&mut self, number: usize, index: u64, kind: BlockKind) -> Result<(), Why> {
        let block = match kind {
            BlockKind::Text => b"{\"type\":\"text\",\"text\":\"\"}".to_vec(),
            BlockKind::Reasoning => b"{\"type\":\"thinking\",\"thinking\":\"\"}".to_vec(),
            BlockKind::ToolCall => self.call(number, index)?,
        };
        self.start_with(index, &block);
        Ok(())
    }

    fn start_with(&mut self, index: u64, block: &[u8]) {
        let mut data =
            format!("{{\"type\":\"content_block_start\",\"index\":{index},\"content_block\":").into_bytes();
        data.extend_from_slice(block);
        data.push(b'}');
        self.frames.write(Some("content_block_start"), &data);
    }

    /// The block with which a call starts. The client makes the first delta of it, if that has no arguments.
    fn call(&mut self, number: usize, index: u64) -> Result<Vec<u8>, Why> {
        let own = |what| Why::Chunk { number, what };
        let chunks = self.recorded.chunks;
        let (mut first, mut called, mut is_bare, mut whole) = (None, None, true, None);
        for (at, (_, chunk)) in chunks.iter().enumerate().skip(number) {
            match chunk {
                Chunk::ToolCallDelta { index: of, id, name, arguments } if *of == index => {
                    first = first.or(Some((at, id, arguments.is_empty())));
                    called = called.or(name.as_ref());
                    is_bare &= arguments.is_empty();
                }
                Chunk::BlockEnd { index: of, block: Block::ToolCall { id, name, arguments } }
                    if *of == index =>
                {
                    first = first.or(Some((at, id, false)));
                    called = called.or(Some(name));
                    whole = Some(arguments);
                }
                _ => {}
            }
        }
        let (at, id, is_consumed) = first.ok_or_else(|| own("a call without an id"))?;
        let name = called.ok_or_else(|| own("a call without a name"))?;
        if is_consumed {
            self.consumed.insert(at);
        }
        let mut block = b"{\"type\":\"tool_use\",\"id\":".to_vec();
        print_string(&mut block, id);
        block.extend_from_slice(b",\"name\":");
        print_string(&mut block, name);
        block.extend_from_slice(b",\"input\":");
        // Arguments that came in no pieces came with the start. What is no object cannot have come at all.
        let input = whole.filter(|_| is_bare).and_then(|whole| whole.as_str());
        let input = input.filter(|input| Doc::parse(*input).is_ok_and(|doc| doc.root().is_object()));
        block.extend_from_slice(input.unwrap_or("{}").as_bytes());
        block.push(b'}');
        Ok(block)
    }

    fn delta(&mut self, index: u64, kind: &str, name: &str, text: &JsString) {
        let mut data = format!(
            "{{\"type\":\"content_block_delta\",\"index\":{index},\"delta\":{{\"type\":\"{kind}\",\"{name}\":"
        )
        .into_bytes();
        print_string(&mut data, text);
        data.extend_from_slice(b"}}");
        self.frames.write(Some("content_block_delta"), &data);
    }

    fn stop(&mut self, index: u64) {
        let data = format!("{{\"type\":\"content_block_stop\",\"index\":{index}}}");
        self.frames.write(Some("content_block_stop"), data.as_bytes());
    }

    fn settle(&mut self, reason: &Reason, usage: &Usage) -> Result<(), Why> {
        let reason = match reason {
            Reason::ToolCalls => "tool_use",
            Reason::MaxTokens => "max_tokens",
            _ => "end_turn",
        };
        let mut counts = Vec::new();
        print_counts(&mut counts, usage, |_| true)?;
        self.message_delta(&JsString::from(reason), &counts);
        self.message_stop();
        Ok(())
    }

    fn message_delta(&mut self, reason: &JsString, usage: &[u8]) {
        let mut data = b"{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":".to_vec();
        print_string(&mut data, reason);
        data.extend_from_slice(b"},\"usage\":");
        data.extend_from_slice(usage);
        data.push(b'}');
        self.frames.write(Some("message_delta"), &data);
    }

    fn message_stop(&mut self) {
        self.frames.write(Some("message_stop"), b"{\"type\":\"message_stop\"}");
    }

    /// Number of blocks that have begun, and so an index that none has.
    fn unused(&self) -> u64 {
        let indexes = self.recorded.chunks.iter().filter_map(|(_, chunk)| chunk.index());
        indexes.max().map_or(0, |index| index.saturating_add(1))
    }

    /// Bring about a failure behind what came, and say how the response ends then.
    fn terminate(&mut self, failure: &Failure) -> Result<End, Why> {
        let unknown = || no_answer(failure);
        let code = failure.code.to_lossy();
        let words = own_words(failure).unwrap_or_default();
        let none = JsString::from("end_turn");
        match (&*code, words) {
            ("STREAM_CLOSED", "stream ended before message_stop") => {}
            ("TRANSPORT", "transport failed") => return Ok(End::ClosedWithoutTerminator),
            ("TIMEOUT", "stream idle timeout") => return Ok(End::Stall),
            ("EMPTY_RESPONSE", "returned no content") => {
                self.message_delta(&none, b"{}");
                self.message_stop();
            }
            ("UNSUPPORTED_CONTENT", _) => {
                let kind = failure.behind("DeepSeek Messages does not support response block ");
                let mut block = b"{\"type\":".to_vec();
                print_string(&mut block, &kind.ok_or_else(unknown)?);
                block.push(b'}');
                self.start_with(self.unused(), &block);
            }
            ("MALFORMED_RESPONSE", _) => self.malformed(failure, words)?,
            _ => {
                let message = failure.message.to_lossy();
                let wording = WORDINGS.into_iter().find(|wording| worded(None, *wording, &message) == code);
                let wording = wording.ok_or_else(unknown)?;
                self.frames.write(Some("error"), &error_body(wording, &failure.message));
            }
        }
        Ok(End::Complete)
    }

    fn malformed(&mut self, failure: &Failure, words: &str) -> Result<(), Why> {
        let none = JsString::from("end_turn");
        match words {
            "SSE contains invalid JSON" => self.frames.write(None, b"{"),
            "SSE event type mismatch" => self.frames.write(Some("x"), b"{\"type\":\"y\"}"),
            "expected a string field" => self.start_with(self.unused(), b"{\"type\":\"text\"}"),
            "expected a JSON object" => self.frames.write(None, b"[]"),
            "stream: event precedes message_start" => self.message_stop(),
            "stream: duplicate message_start" => self.begin(&Usage::new())?,
            "stream: tool input is invalid JSON" => {
                self.message_delta(&JsString::from("tool_use"), b"{}");
                self.message_stop();
            }
            "stream: message_stop without settled blocks and stop reason" => self.message_stop(),
            "stream: block starts after settlement or repeats an index" => {
                self.message_delta(&none, b"{}");
                self.start_with(self.unused(), b"{\"type\":\"text\",\"text\":\"\"}");
            }
            "stream: delta/stop without an open block" => self.stop(self.unused()),
            "stream: invalid block index" => {
                let data = b"{\"type\":\"content_block_start\",\"index\":-1,\"content_block\":{}}";
                self.frames.write(Some("content_block_start"), data);
            }
            "stream: empty tool identity" => {
                let block = b"{\"type\":\"tool_use\",\"id\":\"\",\"name\":\"\",\"input\":{}}";
                self.start_with(self.unused(), block);
            }
            _ => return self.malformed_value(failure, words),
        }
        Ok(())
    }

    /// Failures that name the value that they are about.
    fn malformed_value(&mut self, failure: &Failure, words: &str) -> Result<(), Why> {
        if let Some(reason) = failure.behind("DeepSeek Messages stream: unsupported stop reason ") {
            self.message_delta(&reason, b"{}");
            return Ok(());
        }
        let count = words.strip_prefix("stream: invalid ");
        if let Some((name, _)) = COUNTS.iter().find(|(name, _)| count == Some(*name)) {
            self.message_delta(&JsString::from("end_turn"), format!("{{\"{name}\":-1}}").as_bytes());
            return Ok(());
        }
        let delta = failure.behind("DeepSeek Messages stream: unsupported delta ");
        let told = delta.and_then(|delta| self.delta_and_block(&delta));
        let (kind, index) = told.ok_or_else(|| no_answer(failure))?;
        let mut data = format!("{{\"type\":\"content_block_delta\",\"index\":{index},\"delta\":{{\"type\":")
            .into_bytes();
        print_string(&mut data, &kind);
        data.extend_from_slice(b"}}");
        self.frames.write(Some("content_block_delta"), &data);
        Ok(())
    }

    /// `<type of delta> for <kind of block>`: the type, and the last open block of the kind.
    fn delta_and_block(&self, told: &JsString) -> Option<(JsString, u64)> {
        let kinds = [BlockKind::Text, BlockKind::Reasoning, BlockKind::ToolCall];
        let (kind, delta) = kinds.into_iter().find_map(|kind| {
            let delta = told.as_wtf8().strip_suffix(format!(" for {}", kind.name()).as_bytes())?;
            Some((kind, std::str::from_utf8(delta).ok()?))
        })?;
        let chunks = || self.recorded.chunks.iter().map(|(_, chunk)| chunk);
        let ended =
            |index| chunks().any(|chunk| matches!(chunk, Chunk::BlockEnd { index: of, .. } if *of == index));
        let mut open = chunks().filter_map(|chunk| match chunk {
            Chunk::BlockStart { index, kind: of } if *of == kind && !ended(*index) => Some(*index),
            _ => None,
        });
        Some((JsString::from(delta), open.next_back()?))
    }
}

/// Append counts as the object of the wire, in the client's order.
fn print_counts(out: &mut Vec<u8>, usage: &Usage, wanted: impl Fn(Count) -> bool) -> Result<(), Why> {
    #[expect(clippy::cast_precision_loss, reason = "it is the largest integer that loses nothing")]
    let is_count = |value: f64| value >= 0.0 && value.fract() == 0.0 && value <= SAFE_INTEGER as f64;
    out.push(b'{');
    let mut first = true;
    for (name, count) in COUNTS {
        let Some(value) = usage.get(count).filter(|_| wanted(count)) else { continue };
        if !is_count(value) {
            return Err(Why::Count { count, value });
        }
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        out.extend_from_slice(format!("\"{name}\":").as_bytes());
        print_number(out, value);
    }
    out.push(b'}');
    Ok(())
}
