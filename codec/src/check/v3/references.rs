//! Titles and commands of V3 (`docs/spec/events-v0-v3.md`, section 7.9).
//!
//! What they name need not be earlier: the real check looks into the whole log. A reference ahead waits for its event.

use std::collections::{BTreeMap, HashSet};

use crate::at::At;
use crate::error::Error;
use crate::event::Event;
use crate::json::Js;

use super::super::fault::{Check, RuleFault, ensure, refuse, shown};
use super::super::rule::Rule;
use super::super::scalar::{Scalar, count, is, object};
use super::super::vocabulary::EventType;

/// User messages that a human wrote, and the titles that name them.
#[derive(Debug, Default)]
pub(super) struct Titles {
    human: Vec<u64>,
    /// Named before they came, with the title that named them.
    ahead: BTreeMap<u64, At>,
}

fn no_human_message(pointer: &str, seq: u64) -> RuleFault {
    RuleFault { rule: Rule::Title, pointer: pointer.to_owned(), detail: format!("{seq} is no human message") }
}

/// Written by a human, in blocks that can be looked at: the real check collects the text of what a title names.
fn is_human(message: Js<'_>) -> bool {
    let content = message.get("content").and_then(Js::as_array);
    is(message.get("source").and_then(|source| source.get("kind")), "user")
        && content.is_some_and(|mut blocks| !blocks.any(Js::is_null))
}

impl Titles {
    /// Must see every event.
    pub(super) fn pass(&mut self, seq: u64, kind: EventType, data: Option<Js<'_>>) -> Check {
        if kind == EventType::UserMessage && object(data).is_some_and(is_human) {
            self.human.push(seq);
            self.ahead.remove(&seq);
        }
        // Events that this pass never sees are opaque, and no message either.
        match self.ahead.first_key_value() {
            Some((&named, _)) if named <= seq => Err(no_human_message("", named)),
            _ => Ok(()),
        }
    }

    /// The list of messages; the result is whether it is empty.
    fn check_seqs(&mut self, event: &Event<'_>, data: Js<'_>) -> Check<bool> {
        const POINTER: &str = "/data/messageSeqs";
        let value = data.get("messageSeqs");
        let Some(list) = value.and_then(Js::as_array) else {
            return refuse(Rule::Title, POINTER, shown(value));
        };
        let mut empty = true;
        for item in list {
            empty = false;
            let Some(seq) = item.as_count() else { return refuse(Rule::Title, POINTER, shown(Some(item))) };
            if seq > event.seq.0 {
                self.ahead.entry(seq).or_insert_with(|| event.at());
            } else if self.human.binary_search(&seq).is_err() {
                return Err(no_human_message(POINTER, seq));
            }
        }
        Ok(empty)
    }

    /// `session/title`.
    pub(super) fn title(&mut self, event: &Event<'_>, data: Js<'_>) -> Check {
        let source = data.get("source");
        let Some(kind) = object(source).map(|s| s.get("kind")) else {
            return refuse(Rule::Title, "/data/source", shown(source));
        };
        let empty = self.check_seqs(event, data)?;
        ensure(empty == is(kind, "user"), Rule::Title, "/data/messageSeqs", data.get("messageSeqs"))
    }

    /// `session/title-llm-request`.
    pub(super) fn request(&mut self, event: &Event<'_>, data: Js<'_>) -> Check {
        self.check_seqs(event, data)?;
        let only = |list: Option<Js<'_>>, good: &dyn Fn(Js<'_>) -> bool| {
            let Some(mut list) = list.and_then(Js::as_array) else { return false };
            list.next().is_some_and(good) && list.next().is_none()
        };
        let messages = data.get("messages");
        let represents = only(messages, &|message| {
            let source = |name: &str| message.get("source").and_then(|source| source.get(name));
            is(message.get("role"), "user")
                && is(source("kind"), "plugin")
                && is(source("plugin"), "dsh-session-title-llm")
                && only(message.get("content"), &|block| is(block.get("type"), "text"))
        });
        ensure(represents, Rule::Title, "/data/messages", messages)
    }

    /// The first title that names something behind the end of the log.
    pub(super) fn finish(self) -> Option<Error> {
        let (seq, at) = self.ahead.into_iter().min_by_key(|(_, at)| at.seq)?;
        Some(no_human_message("/data/messageSeqs", seq).at(at))
    }
}

/// Commands of a log.
#[derive(Debug, Default)]
pub(super) struct Commands {
    ids: HashSet<Scalar>,
    /// Events of commands, which no command may name as its outcome.
    seqs: Vec<u64>,
    /// Named before they came.
    ahead: HashSet<u64>,
}

impl Commands {
    /// Must see every event.
    pub(super) fn pass(&mut self, seq: u64, kind: EventType) -> Check {
        if !matches!(kind, EventType::CommandRun | EventType::CommandDone) {
            return Ok(());
        }
        self.seqs.push(seq);
        if self.ahead.contains(&seq) {
            return refuse(Rule::Command, "", format!("{seq} is named as the outcome of a command"));
        }
        Ok(())
    }

    /// `command/run`.
    pub(super) fn run(&mut self, data: Js<'_>) -> Check {
        let id = data.get("commandId");
        let kept = Scalar::of(id);
        let new = kept == Scalar::Never || self.ids.insert(kept);
        ensure(new, Rule::Command, "/data/commandId", id)
    }

    /// `command/done`.
    pub(super) fn done(&mut self, event: &Event<'_>, data: Js<'_>) -> Check {
        let id = data.get("commandId");
        ensure(self.ids.contains(&Scalar::of(id)), Rule::Command, "/data/commandId", id)?;
        let Some(source) = data.get("sourceEventSeq") else { return Ok(()) };
        let kind = data.get("kind");
        ensure(is(kind, "success"), Rule::Command, "/data/kind", kind)?;
        let Some(seq) = count(Some(source)) else { return Ok(()) };
        if seq > event.seq.0 {
            self.ahead.insert(seq);
        }
        let names_command = self.seqs.binary_search(&seq).is_ok();
        ensure(!names_command, Rule::Command, "/data/sourceEventSeq", Some(source))
    }
}
