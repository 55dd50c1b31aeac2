//! What a request tells before it is sent, in one run: prompt, messages, header, context (`docs/spec/agent-loop.md`, 3.3
//! to 3.5).

use std::collections::HashSet;

use dshlog_codec::Seq;
use dshlog_codec::check::EventType;
use dshlog_codec::json::{Doc, Fields, Js, JsStr, JsString, Tree, deep_equal};

use super::Agent;
use super::error::AgentError;
use super::log::Placement;
use super::world::{Admitted, Prepared, Stop, World};
use crate::inbox::Waiting;
use crate::request::header::printed;

/// In front of the sections of a snapshot.
const SNAPSHOT: &str = "Current runtime context. This snapshot supersedes earlier runtime-context snapshots.";
/// When there are no sections any more.
const NO_CONTEXT: &str = "Current runtime context: none. Earlier runtime-context snapshots no longer apply.";

/// Which request of a step this is.
#[derive(Clone, Copy, Debug)]
pub(super) struct At {
    pub(super) turn: u64,
    pub(super) step: u64,
    /// The first attempt of the step.
    pub(super) first: bool,
}

impl<W: World> Agent<'_, W> {
    /// Write the run of an attempt; `admitted` is what the step claimed, until it has been told.
    pub(super) fn commit(
        &mut self,
        at: At,
        prepared: &Prepared,
        admitted: Option<Admitted>,
    ) -> Result<(), Stop> {
        let asked = at.first && prepared.starts_series;
        let rewrites = self.log.rewrites();
        self.commit_prompt(at, prepared, asked)?;
        let rewritten = self.log.rewrites() != rewrites;
        self.commit_messages(at, prepared, admitted)?;
        let starts = asked || self.process.generation != self.generation();
        self.commit_header(at, prepared, starts, rewritten)?;
        self.process.generation = self.generation();
        if prepared.context.is_none() && self.log.context().is_none() {
            // A process may have ended before it was written.
            self.ready(EventType::RequestContext)?;
            return Err(AgentError::NoContext { seq: self.log.next_seq() }.into());
        }
        if let Some(context) = &prepared.context
            && self.log.context().is_none_or(|known| !same_context(known, context.root()))
        {
            let context = Fields::of(context.root());
            self.write(EventType::RequestContext, Placement::Off, |_| context)?;
        }
        Ok(())
    }

    /// The generation of the surface that headers go by.
    pub(super) fn generation(&self) -> u64 {
        let era = self.world.era();
        if era.counts_projections() {
            self.log.generation()
        } else if era.is_first() {
            self.log.replacements() - self.log.rewrites()
        } else {
            self.log.replacements()
        }
    }

    /// 3.4
    fn commit_prompt(&mut self, at: At, prepared: &Prepared, asked: bool) -> Result<(), Stop> {
        let prompt = &prepared.prompt;
        let nodes = self.log.systems().to_vec();
        let Some((head, later)) = nodes.split_first() else {
            return self.write_prompt(at, prompt, Placement::Append(None));
        };
        let breaks = asked || self.process.generation != self.generation() || self.breaks_on_tools(prepared);
        if !self.is_in_history(prepared) || breaks || &**prompt == "[]" {
            for node in later.iter().filter(|node| !node.is_empty()) {
                self.write_prompt(at, "[]", Placement::Replace(node.seq))?;
            }
            if head.content != *prompt {
                self.write_prompt(at, prompt, Placement::Replace(head.seq))?;
            }
            return Ok(());
        }
        let latest = nodes.iter().rev().find(|node| !node.is_empty()).unwrap_or(head);
        if latest.content == *prompt {
            return Ok(());
        }
        self.write_prompt(at, prompt, Placement::Append(None))
    }

    fn breaks_on_tools(&self, prepared: &Prepared) -> bool {
        let (Some(declared), Some(new)) = (self.log.declared(), &prepared.header) else { return false };
        let takes = prepared.tool_update && !self.world.era().always_breaks_on_tools();
        !takes && tools_text(declared.header.root()) != tools_text(new.root())
    }

    fn is_in_history(&self, prepared: &Prepared) -> bool {
        let context = prepared.context.as_ref().map(Doc::root).or_else(|| self.log.context());
        context
            .and_then(|context| context.get("systemPromptUpdate"))
            .is_some_and(|update| update.is("in-history"))
    }

    pub(super) fn write_prompt(&mut self, at: At, content: &str, placement: Placement) -> Result<(), Stop> {
        let migrated = self.world.era().is_first();
        let placement = match placement {
            Placement::Replace(node) if migrated => Placement::MigratedReplace(node),
            placement => placement,
        };
        self.write(EventType::SystemMessage, placement, |id| {
            let source = Fields::new().with("kind", Tree::string("system-prompt"));
            let members = [
                ("role", Tree::string("system")),
                ("content", Tree::Text(content.into())),
                ("source", source.into()),
                ("id", id),
            ];
            let message = ordered(&members, if migrated { [3, 0, 2, 1] } else { [0, 1, 2, 3] });
            super::at(at.turn, at.step).with("message", message)
        })?;
        Ok(())
    }

    /// 3.5
    fn commit_messages(
        &mut self,
        at: At,
        prepared: &Prepared,
        admitted: Option<Admitted>,
    ) -> Result<(), Stop> {
        if self.world.era().tells_at_once() {
            return Ok(());
        }
        let mut told = false;
        for message in admitted.into_iter().flat_map(|admitted| admitted.messages) {
            if message.source_kind().is_some_and(|kind| kind.as_str() == Some("runtime-context")) {
                // A place where the context is to be told, if there is anything to tell.
                if !std::mem::replace(&mut told, true) {
                    self.commit_snapshot(prepared)?;
                }
            } else {
                self.write_message(&message)?;
            }
        }
        let is_late = self.world.era().decides_context_early() && !at.first;
        if told || is_late { Ok(()) } else { self.commit_snapshot(prepared) }
    }

    pub(super) fn write_message(&mut self, message: &Waiting) -> Result<(), Stop> {
        let doc = Doc::parse(message.json())?;
        self.write(EventType::UserMessage, Placement::Append(None), |_| Fields::of(doc.root()))?;
        Ok(())
    }

    fn commit_snapshot(&mut self, prepared: &Prepared) -> Result<(), Stop> {
        let is_early = self.world.era().decides_context_early();
        let told = self.log.snapshot().filter(|told| {
            if is_early { self.process.knew_context } else { self.log.is_on_surface(told.seq) }
        });
        if told.is_some_and(|told| told.sections == prepared.sections) {
            return Ok(());
        }
        let sections = prepared.sections.as_deref().map(Doc::parse).transpose()?;
        let sections = sections.as_ref().map(Doc::root);
        let text = sections.map(snapshot_text);
        let is_told = match (told, &text) {
            (Some(told), text) => {
                let known = told.sections.as_deref().map(Doc::parse).transpose()?;
                known.as_ref().map(|known| snapshot_text(known.root())) == *text
            }
            (None, Some(_)) => false,
            // Nothing was ever told, and there is nothing to tell.
            (None, None) => true,
        };
        if is_told {
            return Ok(());
        }
        let mut source = Fields::new().with("kind", Tree::string("runtime-context"));
        if let Some(sections) = sections {
            source = source.with("form", Tree::string("snapshot")).with("sections", sections);
        }
        let text = text.unwrap_or_else(|| NO_CONTEXT.into());
        let block = Fields::new().with("type", Tree::string("text")).with("text", Tree::js_string(&text));
        self.write(EventType::UserMessage, Placement::Append(None), |id| {
            Fields::new()
                .with("content", Tree::Array(vec![block.into()]))
                .with("source", source)
                .with("role", Tree::string("user"))
                .with("id", id)
        })?;
        Ok(())
    }

    /// 3.3
    fn commit_header(
        &mut self,
        at: At,
        prepared: &Prepared,
        starts: bool,
        rewritten: bool,
    ) -> Result<(), Stop> {
        let era = self.world.era();
        let old = self.log.declared();
        let changed = match (&prepared.header, old) {
            (Some(new), Some(old)) => !same_header(old.header.root(), new.root()),
            _ => false,
        };
        // A prompt was part of the header once.
        let changed = changed || (era.is_first() && rewritten);
        let (reason, may_start) = if !self.process.declared {
            if old.is_some() { ("resume", era.resumes_series()) } else { ("initial", era.resumes_series()) }
        } else if changed {
            ("change", era.changes_series())
        } else if starts && era.has_series() {
            ("series", false)
        } else {
            return Ok(());
        };
        let header = match (&prepared.header, old) {
            (Some(header), _) => printed(header.root()),
            (None, Some(old)) => printed(old.header.root()),
            (None, None) => {
                // A process may have ended before it was written.
                self.ready(EventType::RequestHeader)?;
                return Err(AgentError::NoHeader { seq: self.log.next_seq() }.into());
            }
        };
        let before = old.map(|old| tool_names(old.header.root()));
        let header = Doc::parse(header)?;
        let seq = self.write(EventType::RequestHeader, Placement::Off, |_| {
            let mut data = Fields::new().with("header", header.root()).with("reason", Tree::string(reason));
            if starts && may_start {
                data.set("startsSeries", Tree::bool(true));
            }
            data
        })?;
        self.process.declared = true;
        match before {
            Some(before) if reason != "series" && era.tells_tools() => {
                self.tell_tools(at, seq, &before, &tool_names(header.root()))
            }
            _ => Ok(()),
        }
    }

    /// Tools that came and went.
    fn tell_tools(&mut self, at: At, header: Seq, old: &[JsString], new: &[JsString]) -> Result<(), Stop> {
        let (known, now): (HashSet<_>, HashSet<_>) = (old.iter().collect(), new.iter().collect());
        let block = |kind, name| {
            let block = Fields::new().with("type", Tree::string(kind));
            Tree::from(block.with("toolName", Tree::js_string(name)))
        };
        let added = new.iter().filter(|name| !known.contains(name));
        let mut content: Vec<Tree<'_>> = added.map(|name| block("tool-addition", name)).collect();
        let has_additions = !content.is_empty();
        let removed = old.iter().filter(|name| !now.contains(name));
        content.extend(removed.map(|name| block("tool-removal", name)));
        if content.is_empty() {
            return Ok(());
        }
        self.write(EventType::DeveloperMessage, Placement::Append(None), |id| {
            let message = Fields::new()
                .with("source", Fields::new().with("kind", Tree::string("tool-registry")))
                .with("content", Tree::Array(content))
                .with("role", Tree::string("developer"))
                .with("id", id);
            let mut data = super::at(at.turn, at.step).with("message", message);
            if has_additions {
                data.set("headerSeq", Tree::integer(header.0));
            }
            data
        })?;
        Ok(())
    }
}

/// An object with its members in this order.
fn ordered<'a, const N: usize>(members: &[(&str, Tree<'a>); N], order: [usize; N]) -> Fields<'a> {
    let pick = |at: usize| members.get(at);
    order
        .into_iter()
        .filter_map(pick)
        .fold(Fields::new(), |fields, (name, value)| fields.with(name, value.clone()))
}

fn snapshot_text(sections: Js<'_>) -> JsString {
    let mut text = JsString::from(SNAPSHOT);
    for section in sections.elements().filter_map(|section| section.get("text")?.as_str()) {
        text.push(JsStr::plain("\n\n"));
        text.push(section);
    }
    text
}

fn tools_text(header: Js<'_>) -> String {
    header.get("tools").map(printed).unwrap_or_default()
}

fn tool_names(header: Js<'_>) -> Vec<JsString> {
    let tools = header.get("tools").into_iter().flat_map(Js::elements);
    tools.filter_map(|tool| Some(tool.get("name")?.as_str()?.to_owned())).collect()
}

/// Two headers declare the same (`docs/spec/surface.md`, section 5). An absent value equals only an absent one.
fn same_header(a: Js<'_>, b: Js<'_>) -> bool {
    const CONTROLS: [&str; 6] = ["provider", "model", "reasoningEffort", "temperature", "maxTokens", "stop"];
    const DEFAULTS: [&str; 2] = ["reasoningEffort", "maxTokens"];
    let is_default = |header: Js<'_>, name| header.path(&["adapterDefaults", name]).is_some_and(Js::is_true);
    CONTROLS.iter().all(|name| same(a.path(&["config", name]), b.path(&["config", name])))
        && DEFAULTS.iter().all(|name| is_default(a, name) == is_default(b, name))
        && tools_text(a) == tools_text(b)
}

fn same_context(a: Js<'_>, b: Js<'_>) -> bool {
    const MEMBERS: [&str; 4] = ["provider", "model", "contextWindow", "systemPromptUpdate"];
    MEMBERS.iter().all(|name| same(a.get(name), b.get(name)))
}

fn same(a: Option<Js<'_>>, b: Option<Js<'_>>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => deep_equal(a, b),
        (a, b) => a.is_none() && b.is_none(),
    }
}
