//! A recorded stream becomes an event stream of Chat Completions (`docs/spec/messages-wire.md`, 15.4).

use std::collections::HashMap;

use dshlog_codec::json::{Doc, JsString, print_number, print_string};

use super::super::chunk::{Chunk, Count, Reason, Usage};
use super::super::failure::Failure;
use super::super::script::{Frames, Recorded, Why, bodiless, headless, is_aborted, no_answer, refusal};
use super::super::served::{End, Served};
use super::failure::class;
use super::read::SHOWN;

/// The response that comes nearest.
pub(in crate::wire) fn respond(recorded: Recorded<'_>) -> Result<Served, Why> {
    if let Some(failure) = recorded.failure() {
        if recorded.finish().is_some_and(is_aborted) {
            return Err(no_answer(failure));
        }
        let message = failure.message.to_lossy();
        if let Some(status) = failure.status {
            return refusal(failure, status, "x-request-id", whole_seconds, |wording| {
                let told = wording.map_or(String::new(), |(_, value)| format!("{value} "));
                class(status, &format!("{told}{message}"))
            });
        }
        if message == "DeepSeek API returned no response body" {
            return Ok(bodiless(204));
        }
        if !recorded.has_begun() && unanswered(&message).is_some() {
            return Ok(headless(End::ResetBeforeStatus));
        }
    } else if recorded.finish().is_none() && !recorded.has_begun() {
        return Ok(headless(End::Stall));
    }
    let mut writer = Writer { recorded, frames: Frames::default(), calls: HashMap::new() };
    writer.chunks();
    let end = match recorded.finish().map(|finish| &finish.reason) {
        None if recorded.chunks.iter().any(|(_, chunk)| is_of_end(chunk)) => {
            // What all comes with the mark of the end, came in part.
            writer.settle(&JsString::from("stop"))?;
            End::Stall
        }
        None => End::Stall,
        Some(Reason::Error(failure) | Reason::Aborted(failure)) => writer.terminate(failure)?,
        Some(reason) => {
            let reason = match reason {
                Reason::ToolCalls => "tool_calls",
                Reason::MaxTokens => "length",
                _ => "stop",
            };
            writer.settle(&JsString::from(reason))?;
            End::Complete
        }
    };
    Ok(writer.frames.served(end))
}

/// The client makes it at the mark of the end only.
fn is_of_end(chunk: &Chunk) -> bool {
    matches!(chunk, Chunk::BlockEnd { .. } | Chunk::Usage(_) | Chunk::Finish(_))
}

/// The base address in a message about a transfer.
pub(in crate::wire) fn base(message: &str) -> Option<&str> {
    unanswered(message).or_else(|| broken(message))
}

/// The client's patience in a message about it, in milliseconds.
pub(in crate::wire) fn idle_timeout(message: &str) -> Option<u64> {
    message.strip_prefix("DeepSeek stream idle timeout after ")?.strip_suffix("ms")?.parse().ok()
}

fn unanswered(message: &str) -> Option<&str> {
    message.strip_prefix("DeepSeek API request to ")?.strip_suffix(" failed")
}

fn broken(message: &str) -> Option<&str> {
    message.strip_prefix("DeepSeek API stream from ")?.strip_suffix(" failed")
}

/// This number of milliseconds in whole seconds, which is all that the client reads.
#[expect(clippy::float_cmp, reason = "it is asked whether nothing is lost")]
fn whole_seconds(delay: f64) -> Option<String> {
    let seconds = delay / 1e3;
    (seconds.fract() == 0.0 && seconds * 1e3 == delay).then(|| seconds.to_string())
}

struct Writer<'a> {
    recorded: Recorded<'a>,
    frames: Frames,
    /// By the number of their block: the number among the calls, and what was sent of id and name.
    calls: HashMap<u64, Call>,
}

#[derive(Default)]
struct Call {
    place: usize,
    id: JsString,
    name: JsString,
}

impl Writer<'_> {
    fn chunks(&mut self) {
        for (time, chunk) in self.recorded.chunks {
            self.frames.at(*time);
            match chunk {
                Chunk::TextDelta { text, .. } => self.delta("content", text),
                Chunk::ReasoningDelta { text, .. } => self.delta("reasoning_content", text),
                Chunk::ToolCallDelta { index, id, name, arguments } => {
                    self.call(*index, id, name.as_ref(), arguments);
                }
                // The client makes these by itself.
                Chunk::BlockStart { .. } | Chunk::BlockEnd { .. } | Chunk::Usage(_) | Chunk::Finish(_) => {}
            }
        }
    }

    fn choice(&mut self, inner: &[u8]) {
        let mut data = b"{\"choices\":[{\"index\":0,".to_vec();
        data.extend_from_slice(inner);
        data.extend_from_slice(b"}]}");
        self.frames.write(None, &data);
    }

    fn delta(&mut self, name: &str, text: &JsString) {
        let mut inner = format!("\"delta\":{{\"{name}\":").into_bytes();
        print_string(&mut inner, text);
        inner.push(b'}');
        self.choice(&inner);
    }

    fn call(&mut self, index: u64, id: &JsString, name: Option<&JsString>, arguments: &JsString) {
        let next = self.calls.len();
        let call = self.calls.entry(index).or_insert_with(|| Call { place: next, ..Call::default() });
        let mut inner = format!("\"delta\":{{\"tool_calls\":[{{\"index\":{}", call.place).into_bytes();
        if call.id != *id {
            call.id.clone_from(id);
            inner.extend_from_slice(b",\"id\":");
            print_string(&mut inner, id);
        }
        inner.extend_from_slice(b",\"function\":{");
        if let Some(name) = name.filter(|name| call.name != **name) {
            call.name.clone_from(name);
            inner.extend_from_slice(b"\"name\":");
            print_string(&mut inner, name);
            inner.push(b',');
        }
        inner.extend_from_slice(b"\"arguments\":");
        print_string(&mut inner, arguments);
        inner.extend_from_slice(b"}}]}");
        self.choice(&inner);
    }

    /// Usage, if any, reason and mark of the end.
    fn settle(&mut self, reason: &JsString) -> Result<(), Why> {
        if let Some(usage) = self.recorded.usage() {
            let data = usage_of(usage)?;
            self.frames.write(None, &data);
        }
        let mut inner = b"\"delta\":{},\"finish_reason\":".to_vec();
        print_string(&mut inner, reason);
        self.choice(&inner);
        self.frames.write(None, b"[DONE]");
        Ok(())
    }

    /// Bring about a failure behind what came, and say how the response ends then.
    fn terminate(&mut self, failure: &Failure) -> Result<End, Why> {
        let message = failure.message.to_lossy();
        if message == "SSE stream ended without [DONE]" {
            return Ok(End::Complete);
        }
        if broken(&message).is_some() {
            return Ok(End::ClosedWithoutTerminator);
        }
        if idle_timeout(&message).is_some() {
            return Ok(End::Stall);
        }
        if message == "model returned a completed response with no content" {
            self.settle(&JsString::from("stop"))?;
        } else if let Some(reason) = failure.behind("model stopped: ") {
            self.settle(&reason)?;
        } else if let Some(shown) = failure.behind("malformed SSE payload: ") {
            self.frames.write(None, payload(shown).to_lossy().as_bytes());
        } else {
            return Err(no_answer(failure));
        }
        Ok(End::Complete)
    }
}

/// A text that is no JSON and begins like this. What was shown may have been cut, also between the halves of a character.
fn payload(shown: JsString) -> JsString {
    let units: Vec<u16> = shown.units().collect();
    if units.len() < SHOWN {
        return shown;
    }
    let is_half = units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit));
    let units = units.into_iter().chain(is_half.then_some(0xdc00));
    let mut whole = JsString::from_units(units);
    if Doc::parse(whole.to_lossy()).is_ok() {
        whole.push_string(&JsString::from("{"));
    }
    whole
}

fn usage_of(usage: &Usage) -> Result<Vec<u8>, Why> {
    let number = |count| usage.get(count);
    if let Some(value) = number(Count::CacheWrite) {
        return Err(Why::Count { count: Count::CacheWrite, value });
    }
    let missing = |count| Why::Count { count, value: f64::NAN };
    let input = number(Count::Input).ok_or_else(|| missing(Count::Input))?;
    let output = number(Count::Output).ok_or_else(|| missing(Count::Output))?;
    let prompt = input + number(Count::CacheRead).unwrap_or(0.0);
    // A total that does not fit keeps the client from telling one.
    let total = number(Count::Total).unwrap_or(prompt + output + 1.0);
    let mut data = b"{\"choices\":[],\"usage\":{\"prompt_tokens\":".to_vec();
    print_number(&mut data, prompt);
    data.extend_from_slice(b",\"completion_tokens\":");
    print_number(&mut data, output);
    data.extend_from_slice(b",\"total_tokens\":");
    print_number(&mut data, total);
    if let Some(cached) = number(Count::CacheRead) {
        data.extend_from_slice(b",\"prompt_cache_hit_tokens\":");
        print_number(&mut data, cached);
    }
    if let Some(reasoning) = number(Count::Reasoning) {
        data.extend_from_slice(b",\"completion_tokens_details\":{\"reasoning_tokens\":");
        print_number(&mut data, reasoning);
        data.push(b'}');
    }
    data.extend_from_slice(b"}}");
    Ok(data)
}
