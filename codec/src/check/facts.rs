//! Stage D, first pass: facts that events state about themselves (`docs/spec/events-v4.md`, sections 6.2 and 7.9).

use std::collections::HashSet;

use crate::error::Error;
use crate::event::Event;
use crate::header::Header;
use crate::json::{Js, JsString};
use crate::types::Seq;

use super::fault::{Check, RuleFault, ensure, refuse, shown};
use super::message::check_source;
use super::rule::Rule;
use super::scalar::{Id, count, is, nonempty, object};
use super::vocabulary::EventType;

/// The first pass. It stops at its first fault.
#[derive(Debug)]
pub(super) struct Facts {
    id: JsString,
    is_forked: bool,
    children: HashSet<Id>,
    fault: Option<Error>,
    /// The first fault that only counts at or above the cut. The cut is the last inherited marker, so another
    /// marker clears it.
    own: Option<(Seq, Error)>,
}

/// Where a fault counts.
enum Scope {
    Log,
    /// Not in what was inherited.
    Own,
}

impl Facts {
    pub(super) fn new(header: &Header) -> Self {
        Self {
            id: header.id.clone(),
            is_forked: header.parent_session.is_some(),
            children: HashSet::new(),
            fault: None,
            own: None,
        }
    }

    pub(super) fn see(&mut self, event: &Event<'_>, kind: EventType) {
        if kind == EventType::EndSeed {
            if event.member("inherited").is_some_and(Js::is_true) {
                self.children.clear();
                self.own = None;
            }
            return;
        }
        if let Err((scope, fault)) = self.check(event, kind) {
            let error = fault.at(event.at());
            match scope {
                Scope::Log if self.fault.is_none() => self.fault = Some(error),
                Scope::Own if self.own.is_none() => self.own = Some((event.seq, error)),
                _ => {}
            }
        }
    }

    fn check(&mut self, event: &Event<'_>, kind: EventType) -> Result<(), (Scope, RuleFault)> {
        let log = |fault| (Scope::Log, fault);
        match kind {
            EventType::UserMessage => source(event.data, "/data").map_err(log),
            EventType::AssistantMessage
            | EventType::SystemMessage
            | EventType::DeveloperMessage
            | EventType::ToolResult => source(event.member("message"), "/data/message").map_err(log),
            EventType::InboxSpliced => inbox(event.data).map_err(log),
            EventType::TitleRequest => {
                for (i, message) in event.member("messages").into_iter().flat_map(Js::elements).enumerate() {
                    source(Some(message), &format!("/data/messages/{i}")).map_err(log)?;
                }
                Ok(())
            }
            EventType::Delivery => self.delivery(event),
            EventType::SubagentCatalog => self.catalog(event.data).map_err(|fault| (Scope::Own, fault)),
            _ => Ok(()),
        }
    }

    fn delivery(&self, event: &Event<'_>) -> Result<(), (Scope, RuleFault)> {
        const RULE: Rule = Rule::Delivery;
        let log = |fault| (Scope::Log, fault);
        let Some(data) = object(event.data) else {
            return refuse(RULE, "/data", shown(event.data)).map_err(log);
        };
        let version = data.get("sessionFormatVersion");
        let stated = if version.is_some() { count(version) } else { Some(0) };
        ensure(stated.is_some(), RULE, "/data/sessionFormatVersion", version).map_err(log)?;
        if stated != Some(4) {
            return Ok(());
        }
        let through = data.get("throughSeq");
        let earlier = count(through).is_some_and(|seq| seq < event.seq.0);
        ensure(earlier, RULE, "/data/throughSeq", through).map_err(log)?;
        let id = data.get("sessionId");
        let Some(name) = nonempty(id) else {
            return refuse(RULE, "/data/sessionId", shown(id)).map_err(log);
        };
        let scope = if self.is_forked { Scope::Own } else { Scope::Log };
        let own = *name.to_wtf8() == *self.id.as_wtf8();
        ensure(own, RULE, "/data/sessionId", id).map_err(|fault| (scope, fault))
    }

    fn catalog(&mut self, data: Option<Js<'_>>) -> Check {
        check_catalog_fact(data)?;
        let child = data.and_then(|d| d.get("childId"));
        let new = child.and_then(Js::as_str).is_some_and(|id| self.children.insert(id.to_wtf8().into()));
        ensure(new, Rule::Catalog, "/data/childId", child)
    }

    /// The first fault of a log whose inherited part ends at `cut`.
    pub(super) fn finish(self, cut: u64) -> Option<Error> {
        let own = self.own.filter(|(seq, _)| seq.0 >= cut);
        match (self.fault, own) {
            (Some(log), Some((seq, own))) => {
                let log_first = log.position().seq.is_some_and(|log| log < seq);
                Some(if log_first { log } else { own })
            }
            (log, own) => log.or(own.map(|(_, own)| own)),
        }
    }
}

/// The payload of one `subagent/catalog` (`docs/spec/events-v4.md`, section 7.9). That children are distinct is for the
/// caller to ask.
pub fn check_catalog_fact(data: Option<Js<'_>>) -> Result<(), RuleFault> {
    const RULE: Rule = Rule::Catalog;
    let Some(data) = object(data) else { return refuse(RULE, "/data", shown(data)) };
    let member = |name: &str| data.get(name);
    let version = count(member("version")).filter(|version| *version <= 2);
    ensure(version.is_some(), RULE, "/data/version", member("version"))?;
    let created = member("childCreatedAt");
    ensure(count(created).is_some(), RULE, "/data/childCreatedAt", created)?;
    let (mode, label) = (member("mode"), member("label"));
    let fits = match mode.and_then(Js::as_str) {
        Some(mode) if mode == "external" => version == Some(2),
        Some(mode) if mode == "unknown" => version == Some(1),
        Some(mode) => (mode == "continuable" || mode == "one-shot") && version != Some(2),
        None => false,
    };
    ensure(fits, RULE, "/data/mode", mode)?;
    let labelled = match label {
        Some(label) => label.as_str().is_some(),
        None => !is(mode, "continuable"),
    };
    ensure(labelled, RULE, "/data/label", label)?;
    let child = member("childId");
    ensure(child.and_then(Js::as_str).is_some(), RULE, "/data/childId", child)
}

/// The source of a message slot. A slot that is no object is left to the machine and the session.
fn source(message: Option<Js<'_>>, pointer: &str) -> Check {
    match object(message) {
        Some(message) => check_source(message).map_err(|f| f.under(pointer)),
        None => Ok(()),
    }
}

/// `agent/inbox/spliced`. Data that is no object passes unread.
fn inbox(data: Option<Js<'_>>) -> Check {
    const POINTER: &str = "/data/inserted";
    let Some(data) = object(data) else { return Ok(()) };
    let inserted = data.get("inserted");
    let Some(messages) = inserted.and_then(Js::as_array) else {
        return refuse(Rule::Source, POINTER, shown(inserted));
    };
    for (i, message) in messages.enumerate() {
        let pointer = format!("{POINTER}/{i}");
        if !message.is_object() {
            return refuse(Rule::Source, pointer, shown(Some(message)));
        }
        check_source(message).map_err(|f| f.under(&pointer))?;
    }
    Ok(())
}
