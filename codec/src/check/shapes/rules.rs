//! What members must be to one another: the rules W and X of `docs/spec/events-v0-v3.md`, section 6.

use std::collections::HashSet;

use crate::json::{Js, JsStr, print};
use crate::types::Generation;

use super::super::scalar::{count, is};
use super::common::{LEGACY_GOAL_MESSAGE, PLAIN_USER_MESSAGE, SECTIONS};
use super::payloads::DESCRIPTOR_3;
use super::shape::{Further, Shape};

type Said = Result<(), &'static str>;

fn ensure(good: bool, rule: &'static str) -> Said {
    if good { Ok(()) } else { Err(rule) }
}

fn text<'a>(object: Js<'a>, name: &str) -> Option<JsStr<'a>> {
    object.get(name)?.as_str()
}

/// True unless `good` says otherwise of the number in an optional member.
fn number(object: Js<'_>, name: &str, good: impl Fn(f64) -> bool) -> bool {
    object.get(name).and_then(Js::as_f64).is_none_or(good)
}

/// W1.
pub(super) fn failure(failure: Js<'_>, _: &mut Further<'_>) -> Said {
    ensure(number(failure, "status", |n| (100.0..=599.0).contains(&n)), "`status` is no HTTP status")?;
    ensure(number(failure, "providerRetryAfterMs", |n| n > 0.0), "`providerRetryAfterMs` is not above 0")
}

/// What a plugin's message may be.
const FORMS: [&str; 6] = ["instructions", "catalog", "snapshot", "notice", "relay", "recall"];

/// W2.
pub(super) fn plugin<'a>(source: Js<'a>, further: &mut Further<'a>) -> Said {
    let has = |name| source.get(name).is_some();
    if is(source.get("plugin"), "compact") {
        further.member(source, "compactionId", &Shape::Str1)?;
        if has("sourceCommandId") {
            further.member(source, "sourceCommandId", &Shape::Str1)?;
        }
    } else {
        ensure(!has("compactionId") && !has("sourceCommandId"), "a compaction's members on another plugin")?;
    }
    let Some(form) = source.get("form") else { return Ok(()) };
    ensure(FORMS.iter().any(|name| form.is(name)), "unknown `form`")?;
    for (of, name, shape) in [("snapshot", "sections", &SECTIONS), ("notice", "summary", &Shape::Str)] {
        if form.is(of) {
            further.member(source, name, shape)?;
        } else {
            ensure(!has(name), "a member of another `form`")?;
        }
    }
    Ok(())
}

/// W3.
pub(super) fn reference(reference: Js<'_>, further: &mut Further<'_>) -> Said {
    if let Some(version) = reference.get("capturedFormatVersion") {
        // V0 does not have the member, and there is no count from 1 to 0.
        let known = version.as_count().is_some_and(|v| v >= 1 && v <= further.generation.0);
        ensure(known, "`capturedFormatVersion` is beyond this generation")?;
    }
    let number = |name| count(reference.get(name)).unwrap_or(0);
    let (original, retained) = (number("originalMessages"), number("retainedMessages"));
    let omitted = number("omittedMessages");
    ensure(retained <= original && omitted == original - retained, "the numbers of messages do not add up")?;
    let truncated = omitted > 0 || number("omittedBytes") > 0;
    let said = reference.get("truncated").and_then(Js::as_bool);
    ensure(said == Some(truncated), "`truncated` does not say what the numbers say")
}

/// W4.
pub(super) fn references(source: Js<'_>, _: &mut Further<'_>) -> Said {
    let mut sessions = HashSet::new();
    let references = source.get("references").and_then(Js::as_array);
    for (i, reference) in references.into_iter().flatten().enumerate() {
        let index = count(reference.get("inputIndex"));
        ensure(index == u64::try_from(i).ok(), "`inputIndex` is not the reference's place")?;
        let session = text(reference, "sessionId").map(JsStr::to_wtf8);
        ensure(sessions.insert(session), "a session is referred to twice")?;
    }
    Ok(())
}

/// W5.
pub(super) fn choose_user_message(message: Js<'_>, generation: Generation) -> &'static Shape {
    let source = message.get("source");
    let is_goal = is(source.and_then(|s| s.get("kind")), "goal");
    let has_change = source.is_some_and(|s| s.get("change").is_some());
    if generation.0 < 2 && is_goal && has_change { &LEGACY_GOAL_MESSAGE } else { &PLAIN_USER_MESSAGE }
}

/// Section 6.5.
pub(super) fn legacy_goal_message(message: Js<'_>, _: &mut Further<'_>) -> Said {
    let found = || {
        let source = message.get("source")?;
        let change = source.get("change")?;
        let clear = is(change.get("operation"), "clear");
        let names: &[&str] = if clear {
            &["cleared", "clearedAt"]
        } else {
            &["goal", "roundsStarted", "createdAt", "updatedAt"]
        };
        let goal = change.get(names.first()?)?;
        if text(source, "goalId")? != text(goal, "id")? {
            return Some("`goalId` is not the goal that changed");
        }
        if count(source.get("revision"))? != count(goal.get("revision"))? {
            return Some("`revision` is not the one that changed");
        }
        let mut block = message.get("content")?.elements();
        let block = block.next()?;
        let mut state = b"<goal_state>{".to_vec();
        for (i, name) in names.iter().enumerate() {
            state.extend_from_slice(if i > 0 { b",\"" } else { b"\"" });
            state.extend_from_slice(name.as_bytes());
            state.extend_from_slice(b"\":");
            print(&mut state, change.get(name)?);
        }
        state.extend_from_slice(b"}</goal_state>");
        let equal = is(block.get("type"), "text") && *text(block, "text")?.to_wtf8() == *state;
        (!equal).then_some("the text is not the state of the changed goal")
    };
    found().map_or(Ok(()), Err)
}

/// W6.
pub(super) fn tool_message(message: Js<'_>, _: &mut Further<'_>) -> Said {
    let mut blocks = message.get("content").into_iter().flat_map(Js::elements);
    let block = blocks.next();
    ensure(blocks.next().is_none(), "more than one block")?;
    ensure(is(block.and_then(|b| b.get("type")), "tool-result"), "the block is no tool result")?;
    let call = block.and_then(|b| text(b, "toolCallId"));
    let source = message.get("source").and_then(|source| text(source, "callId"));
    ensure(call == source, "the block is of another call than the source")
}

/// W7.
pub(super) fn goal(goal: Js<'_>, _: &mut Further<'_>) -> Said {
    let blocked = is(goal.get("phase"), "blocked");
    ensure(goal.get("blockedReason").is_some() == blocked, "`blockedReason` goes with phase `blocked`")
}

/// W8.
pub(super) fn schedule(schedule: Js<'_>, _: &mut Further<'_>) -> Said {
    ensure(is_trimmed(schedule.get("id")), "`id` has white space around it")?;
    ensure(is_instant(schedule.get("scheduledAt")), "`scheduledAt` is no canonical instant")
}

/// W9.
pub(super) fn repeating_schedule<'a>(value: Js<'a>, further: &mut Further<'a>) -> Said {
    schedule(value, further)?;
    ensure(number(value, "everySeconds", |n| n >= 300.0), "`everySeconds` is below 300")
}

/// X7.
pub(super) fn schedule_operation(change: Js<'_>, _: &mut Further<'_>) -> Said {
    ensure(is_trimmed(change.get("id")), "`id` has white space around it")?;
    let accepted = change.get("acceptedAt");
    ensure(accepted.is_none() || is_instant(accepted), "`acceptedAt` is no canonical instant")
}

fn is_trimmed(value: Option<Js<'_>>) -> bool {
    // JavaScript trims the byte order mark and not NEL; Rust has it the other way round.
    let is_space = |c: char| c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}');
    value.and_then(Js::as_str).is_some_and(|text| {
        let text = text.to_lossy();
        !text.starts_with(is_space) && !text.ends_with(is_space)
    })
}

/// True for `YYYY-MM-DDTHH:MM:SS.mmmZ` of a date that exists.
fn is_instant(value: Option<Js<'_>>) -> bool {
    let Some(text) = value.and_then(Js::as_str) else { return false };
    let text = text.to_wtf8();
    let form = b"0000-00-00T00:00:00.000Z";
    let fits = |(&byte, &form): (&u8, &u8)| if form == b'0' { byte.is_ascii_digit() } else { byte == form };
    if text.len() != form.len() || !text.iter().zip(form).all(fits) {
        return false;
    }
    let part = |from: usize, to: usize| {
        text.get(from..to).into_iter().flatten().fold(0u32, |n, digit| n * 10 + u32::from(digit - b'0'))
    };
    let (year, month, day) = (part(0, 4), part(5, 7), part(8, 10));
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 => 28 + u32::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    year > 0 && (1..=days).contains(&day) && part(11, 13) < 24 && part(14, 16) < 60 && part(17, 19) < 60
}

/// X2.
pub(super) fn shadowed(data: Js<'_>, _: &mut Further<'_>) -> Said {
    let seqs: Vec<Option<u64>> =
        data.get("shadowedSeqs").into_iter().flat_map(Js::elements).map(Js::as_count).collect();
    let range = data.get("shadowedRange");
    let bound = |name| count(range.and_then(|range| range.get(name)));
    let fits = seqs.first() == Some(&bound("start")) && seqs.last() == Some(&bound("end"));
    ensure(fits, "`shadowedRange` is not the ends of `shadowedSeqs`")?;
    ensure(are_distinct(seqs), "a shadowed seq stands twice")
}

fn are_distinct(mut seqs: Vec<Option<u64>>) -> bool {
    seqs.sort_unstable();
    seqs.is_sorted_by(|a, b| a < b)
}

/// X3.
pub(super) fn summary<'a>(data: Js<'a>, further: &mut Further<'a>) -> Said {
    shadowed(data, further)?;
    let kept = data.get("llmStreamCall").is_none() || data.get("rawOutput").is_some();
    ensure(kept, "`llmStreamCall` without `rawOutput`")
}

/// X4.
pub(super) fn hook_result(data: Js<'_>, _: &mut Further<'_>) -> Said {
    ensure(number(data, "durationMs", |n| n >= 0.0), "`durationMs` is below 0")
}

/// X5.
pub(super) fn retry(data: Js<'_>, _: &mut Further<'_>) -> Said {
    let most = count(data.get("maxRetries"));
    if is(data.get("mode"), "normal") {
        ensure(most >= count(data.get("retry")), "`retry` is beyond `maxRetries`")?;
    } else {
        ensure(most.is_none(), "`maxRetries` of a retry without end")?;
    }
    ensure(number(data, "delayMs", |n| (0.0..=2_147_483_647.0).contains(&n)), "`delayMs` is out of range")
}

/// X6.
pub(super) fn request_header(header: Js<'_>, _: &mut Further<'_>) -> Said {
    let config = header.get("config");
    let set = |name: JsStr<'_>| config.is_some_and(|config| config.members().any(|(key, _)| key == name));
    let defaults = header.get("adapterDefaults");
    let all = defaults.into_iter().flat_map(Js::members).all(|(name, _)| set(name));
    ensure(all, "an adapter's default that is not in `config`")
}

/// X8.
pub(super) fn delivery<'a>(data: Js<'a>, further: &mut Further<'a>) -> Said {
    let version = data.get("sessionFormatVersion");
    if further.generation.0 == 0 {
        ensure(version.is_none(), "unexpected member `sessionFormatVersion`")?;
    }
    if count(version).unwrap_or(0) == further.generation.0 {
        further.member(data, "sessionId", &Shape::Str1)?;
        further.member(data, "throughSeq", &Shape::Prior)?;
    }
    Ok(())
}

/// X9.
pub(super) fn message_seqs(data: Js<'_>, _: &mut Further<'_>) -> Said {
    let seqs = data.get("messageSeqs").into_iter().flat_map(Js::elements).map(Js::as_count).collect();
    ensure(are_distinct(seqs), "a message's seq stands twice")
}

/// X10.
pub(super) fn descriptor(data: Js<'_>, _: &mut Further<'_>) -> Said {
    let both = data.get("agentProvider").is_some() == data.get("agentModel").is_some();
    ensure(both, "`agentProvider` goes with `agentModel`")
}

/// X10.
pub(super) fn tool_filter(filter: Js<'_>, _: &mut Further<'_>) -> Said {
    ensure(filter.get("allow").is_some() || filter.get("deny").is_some(), "a filter that filters nothing")
}

/// X11, for V0 and V1.
pub(super) fn choose_descriptor(data: Js<'_>, generation: Generation) -> &'static Shape {
    static OTHER: Shape = Shape::Unsupported("a subagent descriptor of another version than 3");
    match (count(data.get("version")), generation.0) {
        (Some(3) | None, _) => &DESCRIPTOR_3,
        (Some(_), 0) => &OTHER,
        (Some(_), _) => &Shape::Any,
    }
}

/// X12.
pub(super) fn model_policy(data: Js<'_>, _: &mut Further<'_>) -> Said {
    let mut routes = HashSet::new();
    for route in data.get("allowedModels").into_iter().flat_map(Js::elements) {
        let part = |name| text(route, name).map(JsStr::to_wtf8);
        ensure(routes.insert((part("provider"), part("model"))), "a model stands twice")?;
    }
    Ok(())
}
