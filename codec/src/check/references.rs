//! Events that name earlier events: titles, commands, and developer messages that add tools of a header.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::event::Event;
use crate::json::{Digest, Js};

use super::fault::{Check, ensure, refuse, shown};
use super::rule::Rule;
use super::scalar::{Id, is, is_absent_or_true, nonempty, object};

/// User messages that a human wrote, and the titles that name them.
#[derive(Debug, Default)]
pub(super) struct Titles {
    human: Vec<u64>,
}

impl Titles {
    /// `user/message`.
    pub(super) fn message(&mut self, event: &Event<'_>, source: Js<'_>) {
        if is(source.get("kind"), "user") {
            self.human.push(event.seq.0);
        }
    }

    /// The list of messages; the result is whether it is empty.
    fn check_seqs(&self, event: &Event<'_>, data: Js<'_>) -> Check<bool> {
        const POINTER: &str = "/data/messageSeqs";
        let value = data.get("messageSeqs");
        let Some(list) = value.and_then(Js::as_array) else {
            return refuse(Rule::Title, POINTER, shown(value));
        };
        let mut seen = HashSet::new();
        for (i, item) in list.enumerate() {
            let seq = item.as_count().filter(|seq| *seq < event.seq.0);
            if !seq.is_some_and(|seq| self.human.binary_search(&seq).is_ok() && seen.insert(seq)) {
                return refuse(Rule::Title, format!("{POINTER}/{i}"), shown(Some(item)));
            }
        }
        Ok(seen.is_empty())
    }

    /// `session/title`.
    pub(super) fn title(&self, event: &Event<'_>, data: Js<'_>) -> Check {
        let source = data.get("source");
        let Some(kind) = object(source).map(|s| s.get("kind")) else {
            return refuse(Rule::Title, "/data/source", shown(source));
        };
        let empty = self.check_seqs(event, data)?;
        ensure(empty == is(kind, "user"), Rule::Title, "/data/messageSeqs", data.get("messageSeqs"))
    }

    /// `session/title-llm-request`.
    pub(super) fn request(&self, event: &Event<'_>, data: Js<'_>) -> Check {
        let empty = self.check_seqs(event, data)?;
        ensure(!empty, Rule::Title, "/data/messageSeqs", data.get("messageSeqs"))?;
        let only = |value: Option<Js<'_>>, good: fn(Js<'_>) -> bool| {
            let Some(mut list) = value.and_then(Js::as_array) else { return false };
            list.next().is_some_and(good) && list.next().is_none()
        };
        let messages = data.get("messages");
        let represents = only(messages, |message| {
            is(message.get("role"), "user")
                && is(message.get("source").and_then(|s| s.get("kind")), "dsh-session-title-llm")
        }) && messages.is_some_and(|list| {
            list.elements().all(|message| only(message.get("content"), |block| is(block.get("type"), "text")))
        });
        ensure(represents, Rule::Title, "/data/messages", messages)
    }
}

/// Commands of a log.
#[derive(Debug, Default)]
pub(super) struct Commands {
    ids: HashSet<Id>,
    /// Events of commands, which no command may name as its outcome.
    seqs: Vec<u64>,
}

impl Commands {
    /// `command/run`.
    pub(super) fn run(&mut self, event: &Event<'_>, data: Js<'_>) -> Check {
        let id = data.get("commandId");
        let new = nonempty(id).is_some_and(|id| self.ids.insert(id.to_wtf8().into()));
        ensure(new, Rule::Command, "/data/commandId", id)?;
        self.seqs.push(event.seq.0);
        Ok(())
    }

    /// `command/done`.
    pub(super) fn done(&mut self, event: &Event<'_>, data: Js<'_>) -> Check {
        let id = data.get("commandId");
        let known = id.and_then(Js::as_str).is_some_and(|id| self.ids.contains(&*id.to_wtf8()));
        ensure(known, Rule::Command, "/data/commandId", id)?;
        if let Some(source) = data.get("sourceEventSeq") {
            let target = source.as_count().filter(|seq| *seq < event.seq.0);
            let good = target.is_some_and(|seq| self.seqs.binary_search(&seq).is_err());
            ensure(good, Rule::Command, "/data/sourceEventSeq", Some(source))?;
            let kind = data.get("kind");
            ensure(is(kind, "success"), Rule::Command, "/data/kind", kind)?;
        }
        self.seqs.push(event.seq.0);
        Ok(())
    }
}

/// What a header says of the tools with one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    /// One entry that a developer message can add.
    Complete,
    Incomplete,
    Repeated,
}

type Tools = HashMap<Id, Tool>;

/// The tools of every header, for `headerSeq`. Headers mostly repeat the tools of the one before, so equal text
/// shares one table.
#[derive(Debug, Default)]
pub(super) struct Headers {
    seen: Vec<(u64, Arc<Tools>)>,
    last: Option<Digest>,
}

impl Headers {
    /// `request/header`.
    pub(super) fn header(&mut self, event: &Event<'_>, header: Option<Js<'_>>) {
        let tools = header.and_then(|h| h.get("tools"));
        let digest: Digest = Sha256::digest(tools.map_or("", Js::raw)).into();
        let table = match self.seen.last() {
            Some((_, table)) if self.last == Some(digest) => Arc::clone(table),
            _ => Arc::new(table(tools)),
        };
        self.last = Some(digest);
        self.seen.push((event.seq.0, table));
    }

    /// `developer/message`: each tool that it adds is one complete entry of the header that it names.
    pub(super) fn check(&self, data: Js<'_>) -> Check {
        let Some(header) = data.get("headerSeq") else { return Ok(()) };
        let found = header.as_count().and_then(|seq| {
            let at = self.seen.binary_search_by_key(&seq, |(seq, _)| *seq).ok()?;
            self.seen.get(at)
        });
        let Some((_, table)) = found else {
            return refuse(Rule::DeveloperReference, "/data/headerSeq", shown(Some(header)));
        };
        let content = data.get("message").and_then(|m| m.get("content"));
        for (i, block) in content.into_iter().flat_map(Js::elements).enumerate() {
            if !is(block.get("type"), "tool-addition") {
                continue;
            }
            let name = block.get("toolName");
            let tool = nonempty(name).and_then(|name| table.get(&*name.to_wtf8()));
            if tool != Some(&Tool::Complete) {
                let pointer = format!("/data/message/content/{i}/toolName");
                return refuse(Rule::DeveloperReference, pointer, shown(name));
            }
        }
        Ok(())
    }
}

fn table(tools: Option<Js<'_>>) -> Tools {
    let mut table = Tools::new();
    for tool in tools.into_iter().flat_map(Js::elements) {
        let Some(name) = nonempty(tool.get("name")) else { continue };
        let complete = tool.get("description").and_then(Js::as_str).is_some()
            && object(tool.get("parameters")).is_some()
            && is_absent_or_true(tool.get("deferLoading"));
        let state = if complete { Tool::Complete } else { Tool::Incomplete };
        table.entry(name.to_wtf8().into()).and_modify(|state| *state = Tool::Repeated).or_insert(state);
    }
    table
}
