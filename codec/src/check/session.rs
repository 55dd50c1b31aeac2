//! Stage E: what a session checks when it is built from a log (`docs/spec/events-v4.md`, section 5;
//! `docs/spec/surface.md`, sections 2 and 4). The storage reader makes the first part of it by itself.

use std::collections::{HashMap, HashSet};

use crate::error::Error;
use crate::event::Event;
use crate::json::{Digest, Js, deep_digest_blanking};

use super::fault::{Check, RuleFault, ensure, refuse, shown};
use super::message::check_source;
use super::rule::Rule;
use super::scalar::{count, is, is_absent_or_true, nonempty, object};
use super::surface::Change;
use super::vocabulary::EventType;

/// Both parts; each stops at its first fault.
#[derive(Debug, Default)]
pub(super) struct Session {
    /// Results on the surface: their data without the content, which alone a replacement may change.
    results: HashMap<u64, Digest>,
    /// User messages and results on the surface that have images: which of them are offloaded. Those with a `null`
    /// block are missing, since a session cannot count their images.
    images: HashMap<u64, Vec<bool>>,
    /// Headers with `null` among their tools, in which a session cannot look up a tool.
    unreadable: Vec<u64>,
    in_storage: Option<Error>,
    beyond: Option<Error>,
}

impl Session {
    /// One known event that the machine has accepted; `change` is what it did to the surface.
    pub(super) fn see(&mut self, event: &Event<'_>, kind: EventType, change: &Change) {
        if self.in_storage.is_some() {
            return;
        }
        if let Err(fault) = check_stored(event, kind) {
            self.in_storage = Some(fault.at(event.at()));
        } else if self.beyond.is_none()
            && let Err(fault) = check_settlement(event, kind).and_then(|()| self.fold(event, kind, change))
        {
            self.beyond = Some(fault.at(event.at()));
        }
    }

    fn fold(&mut self, event: &Event<'_>, kind: EventType, change: &Change) -> Check {
        if kind == EventType::ImageOffload {
            return self.offload(event);
        }
        let seq = event.seq.0;
        if kind == EventType::RequestHeader {
            let tools = event.member("header").and_then(|h| h.get("tools"));
            if tools.is_some_and(has_null) {
                self.unreadable.push(seq);
            }
        }
        let Some(data) = event.data.filter(|_| kind.is_surface()) else { return Ok(()) };
        if kind == EventType::DeveloperMessage {
            self.check_additions(data)?;
        }
        if kind == EventType::ToolResult {
            let digest = deep_digest_blanking(data, false, &["message", "content"]);
            if let Change::Replace(removed) = change {
                check_result(removed, &self.results, &digest)?;
            }
            self.results.insert(seq, digest);
        }
        if let Change::Replace(removed) = change {
            for node in removed {
                self.results.remove(node);
                self.images.remove(node);
            }
        }
        let content = match kind {
            EventType::UserMessage => data.get("content"),
            EventType::ToolResult => data.get("message").and_then(|m| m.get("content")),
            _ => None,
        };
        let images: Vec<bool> = content
            .filter(|list| !has_null(*list))
            .into_iter()
            .flat_map(Js::elements)
            .filter(|block| is(block.get("type"), "image"))
            .map(|image| image.get("offloaded").is_some_and(Js::is_true))
            .collect();
        if !images.is_empty() {
            self.images.insert(seq, images);
        }
        Ok(())
    }

    /// The machine has resolved the tools that a developer message adds. A session resolves them again, and stumbles
    /// over `null` where the machine takes it for one more block or tool without a name.
    fn check_additions(&self, data: Js<'_>) -> Check {
        let Some(header) = data.get("headerSeq") else { return Ok(()) };
        let readable = count(Some(header)).is_none_or(|seq| self.unreadable.binary_search(&seq).is_err());
        ensure(readable, Rule::DeveloperReference, "/data/headerSeq", Some(header))?;
        let content = data.get("message").and_then(|m| m.get("content"));
        let resolved = content.is_none_or(|list| !has_null(list));
        ensure(resolved, Rule::DeveloperReference, "/data/message/content", content)
    }

    /// `image/offload`. A refused event ends this stage, so it need not be atomic.
    fn offload(&mut self, event: &Event<'_>) -> Check {
        const RULE: Rule = Rule::ImageOffload;
        let data = object(event.data).filter(|d| d.has_only(&["targets"]));
        let targets = data.and_then(|d| d.get("targets"));
        let Some(list) = targets.filter(|t| t.is_array() && t.elements().next().is_some()) else {
            return refuse(RULE, "/data", shown(event.data));
        };
        let mut seen = HashSet::new();
        for (i, target) in list.elements().enumerate() {
            let pointer = |member: &str| format!("/data/targets/{i}{member}");
            if !target.is_object() || !target.has_only(&["seq", "imageIndexes"]) {
                return refuse(RULE, pointer(""), shown(Some(target)));
            }
            let seq = target.get("seq");
            let images = count(seq).filter(|seq| seen.insert(*seq)).and_then(|s| self.images.get_mut(&s));
            let Some(images) = images else { return refuse(RULE, pointer("/seq"), shown(seq)) };
            let indexes = target.get("imageIndexes");
            if !indexes.is_some_and(|list| mark(images, list)) {
                return refuse(RULE, pointer("/imageIndexes"), shown(indexes));
            }
        }
        Ok(())
    }

    /// The first faults: of the part that the storage reader checks, and of the rest.
    pub(super) fn finish(self) -> (Option<Error>, Option<Error>) {
        (self.in_storage, self.beyond)
    }
}

fn has_null(list: Js<'_>) -> bool {
    list.elements().any(Js::is_null)
}

/// Mark images as offloaded: a nonempty, strictly increasing list of images that are not marked yet.
fn mark(images: &mut [bool], indexes: Js<'_>) -> bool {
    let mut next = 0;
    for index in indexes.elements() {
        let Some(at) = index.as_count().and_then(|at| usize::try_from(at).ok()) else { return false };
        match images.get_mut(at) {
            Some(offloaded) if at >= next && !*offloaded => *offloaded = true,
            _ => return false,
        }
        next = at + 1;
    }
    next > 0
}

/// A result may replace exactly one result, and only with other content.
fn check_result(removed: &[u64], results: &HashMap<u64, Digest>, digest: &Digest) -> Check {
    const RULE: Rule = Rule::SurfaceReplacement;
    let [node] = removed else {
        return refuse(RULE, "/surfaceOp", "a result may replace one result only");
    };
    match results.get(node) {
        Some(original) if original == digest => Ok(()),
        Some(_) => refuse(RULE, "/data", format!("more than the content of {node} is changed")),
        None => refuse(RULE, "/surfaceOp", format!("{node} is no tool result")),
    }
}

/// The part of the stage that the storage reader makes. Developer messages and results were complete in stage A.
fn check_stored(event: &Event<'_>, kind: EventType) -> Check {
    check_metadata(event, kind)?;
    match kind {
        EventType::RequestHeader => {
            let header = event.member("header");
            let member = |name: &str| header.and_then(|h| h.get(name));
            let (tools, defaults) = (member("tools"), member("adapterDefaults"));
            let empty = tools.is_some_and(|t| t.is_array() && t.elements().next().is_none());
            ensure(!empty, Rule::RequestHeader, "/data/header/tools", tools)?;
            let empty = defaults.is_some_and(|d| d.is_object() && d.members().next().is_none());
            ensure(!empty, Rule::RequestHeader, "/data/header/adapterDefaults", defaults)
        }
        EventType::UserMessage => check_message(event.data, "user").map(|_| ()).map_err(|f| f.under("/data")),
        EventType::SystemMessage => check_producer(event.member("message"), "system", "system-prompt", &[]),
        EventType::AssistantMessage => {
            check_producer(event.member("message"), "assistant", "model", &["provider", "model"])
        }
        _ => Ok(()),
    }
}

/// `surfaceOp` and `sourceEventSeqs`. The machine has read `surfaceOp` of surface events, and the decoder knows that
/// cited seqs are distinct and earlier.
fn check_metadata(event: &Event<'_>, kind: EventType) -> Check {
    const RULE: Rule = Rule::SurfaceMetadata;
    let sources = event.source_seqs();
    if !kind.is_surface() {
        let op = event.surface_op();
        ensure(op.is_none(), RULE, "/surfaceOp", op)?;
    }
    let good = match sources {
        None => true,
        Some(_) if !kind.is_surface() || kind == EventType::AssistantMessage => false,
        Some(sources) => sources.elements().next().is_some(),
    };
    ensure(good, RULE, "/sourceEventSeqs", sources)
}

/// What every message has; the result is its source.
fn check_message<'a>(message: Option<Js<'a>>, role: &str) -> Check<Option<Js<'a>>> {
    const RULE: Rule = Rule::MessageShape;
    let Some(message) = object(message) else { return refuse(RULE, "", shown(message)) };
    let id = message.get("id");
    ensure(nonempty(id).is_some(), RULE, "/id", id)?;
    let stated = message.get("role");
    ensure(is(stated, role), RULE, "/role", stated)?;
    check_source(message)?;
    let content = message.get("content");
    ensure(content.is_some_and(Js::is_array), RULE, "/content", content)?;
    Ok(message.get("source"))
}

/// A message whose source is of one kind, with `members` that are not empty.
fn check_producer(message: Option<Js<'_>>, role: &str, kind: &str, members: &[&str]) -> Check {
    let check = || {
        let source = check_message(message, role)?;
        let member = |name: &str| source.and_then(|s| s.get(name));
        ensure(is(member("kind"), kind), Rule::MessageShape, "/source/kind", member("kind"))?;
        for name in members {
            let value = member(name);
            ensure(nonempty(value).is_some(), Rule::MessageShape, &format!("/source/{name}"), value)?;
        }
        Ok(())
    };
    check().map_err(|f: RuleFault| f.under("/data/message"))
}

/// Payloads that only a session looks at.
fn check_settlement(event: &Event<'_>, kind: EventType) -> Check {
    // Of the envelope the decoder has left one thing: at position 0, -0 counts as the next seq.
    if event.seq.0 == 0 {
        let seq = event.row.get("seq");
        ensure(count(seq).is_some(), Rule::Envelope, "/seq", seq)?;
    }
    match kind {
        EventType::RequestHeader => request_header(event),
        EventType::AssistantMessage | EventType::AssistantAttempt => {
            for member in ["turn", "step"] {
                let value = event.member(member);
                ensure(count(value).is_some(), Rule::MessageShape, &format!("/data/{member}"), value)?;
            }
            let stream = event.member("stream");
            ensure(stream.is_some_and(Js::is_array), Rule::MessageShape, "/data/stream", stream)
        }
        _ => Ok(()),
    }
}

fn request_header(event: &Event<'_>) -> Check {
    const RULE: Rule = Rule::RequestHeader;
    let header = event.member("header");
    let config = header.and_then(|h| h.get("config"));
    let setting = |name: &str| config.and_then(|c| c.get(name));
    for name in ["provider", "model"] {
        let value = setting(name);
        ensure(nonempty(value).is_some(), RULE, &format!("/data/header/config/{name}"), value)?;
    }
    let effort = setting("reasoningEffort");
    let named = effort.is_none() || nonempty(effort).is_some();
    ensure(named, RULE, "/data/header/config/reasoningEffort", effort)?;
    if let Some(defaults) = header.and_then(|h| h.get("adapterDefaults")) {
        let known = defaults.is_object() && defaults.has_only(&["reasoningEffort", "maxTokens"]);
        let marks = ["reasoningEffort", "maxTokens"]
            .iter()
            .all(|name| defaults.get(name).is_none_or(|mark| mark.is_true() && setting(name).is_some()));
        ensure(known && marks, RULE, "/data/header/adapterDefaults", Some(defaults))?;
    }
    let reason = event.member("reason");
    let listed = ["initial", "resume", "change", "series"].iter().any(|name| is(reason, name));
    ensure(listed, RULE, "/data/reason", reason)?;
    let series = event.member("startsSeries");
    ensure(is_absent_or_true(series), RULE, "/data/startsSeries", series)
}
