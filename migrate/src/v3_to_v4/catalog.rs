//! The catalog of a session's children, and what is added to it at the end (`docs/spec/events-v4.md`, section 10.11).

use std::collections::HashMap;

use dshlog_codec::check::check_catalog_fact;
use dshlog_codec::json::{Fields, Js, JsStr, JsString, Tree};
use dshlog_codec::{At, Event};

use crate::children::Child;
use crate::edge::Refusal;
use crate::fault::{Check, malformed, unsupported};

use super::NAME;

/// What an event of the catalog says of a child.
#[derive(Debug)]
struct Entry {
    created_at: u64,
    mode: JsString,
    label: Option<JsString>,
}

/// The session's own entries so far.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    entries: HashMap<JsString, Entry>,
    /// The first entry that is malformed or repeats a child. It counts unless an inherited marker follows.
    fault: Option<Refusal>,
}

const CODE: &str = "subagent-catalog";

impl Catalog {
    /// An inherited marker: what came before belongs to the parent.
    pub(super) fn clear(&mut self) {
        *self = Catalog::default();
    }

    pub(super) fn see(&mut self, event: &Event<'_>) {
        if self.fault.is_none()
            && let Err(fault) = self.add(event)
        {
            self.fault = Some(fault.at(NAME, event.at()));
        }
    }

    fn add(&mut self, event: &Event<'_>) -> Check {
        check_catalog_fact(event.data).or_else(|fault| malformed(CODE, fault.pointer, fault.detail))?;
        let text = |name| event.member(name).and_then(Js::as_str).map(JsStr::to_owned);
        let entry = Entry {
            created_at: event.member("childCreatedAt").and_then(Js::as_count).unwrap_or_default(),
            mode: text("mode").unwrap_or_default(),
            label: text("label"),
        };
        if self.entries.insert(text("childId").unwrap_or_default(), entry).is_some() {
            return malformed(CODE, "/data/childId", "repeated");
        }
        Ok(())
    }

    /// The payloads that are still missing, in order. Refuses children that contradict an entry.
    pub(super) fn complete(&mut self, mut children: Vec<Child>) -> Result<Vec<Tree<'static>>, Refusal> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        children.sort_by_cached_key(|child| (child.created_at, child.id.units().collect::<Vec<_>>()));
        let mut added = Vec::new();
        for child in children {
            if let Some(entry) = self.entries.get(&child.id) {
                check_child(entry, &child)?;
                continue;
            }
            let (entry, payload) = new_entry(&child);
            self.entries.insert(child.id, entry);
            added.push(payload);
        }
        Ok(added)
    }
}

fn check_child(entry: &Entry, child: &Child) -> Result<(), Refusal> {
    let good = entry.created_at == child.created_at
        && child
            .fact
            .as_ref()
            .is_none_or(|fact| entry.mode.as_str() == Some(fact.mode.name()) && entry.label == fact.label);
    if good {
        return Ok(());
    }
    let what = format!("the child {} is not what the catalog says", child.id);
    unsupported(CODE, "", what)
        .map_err(|fault| fault.at(NAME, At { path: child.path.clone(), ..At::default() }))
}

fn new_entry(child: &Child) -> (Entry, Tree<'static>) {
    let (version, mode) = match &child.fact {
        Some(fact) => (0, fact.mode.name()),
        None => (1, "unknown"),
    };
    let label = child.fact.as_ref().and_then(|fact| fact.label.clone());
    let mut payload = Fields::new()
        .with("version", Tree::integer(version))
        .with("childId", Tree::js_string(&child.id))
        .with("childCreatedAt", Tree::integer(child.created_at))
        .with("mode", Tree::string(mode));
    if let Some(label) = &label {
        payload.set("label", Tree::js_string(label));
    }
    (Entry { created_at: child.created_at, mode: mode.into(), label }, payload.into())
}
