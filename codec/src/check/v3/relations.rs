//! The second pass: turns, steps, the surface and compactions (`docs/spec/events-v0-v3.md`, section 7).
//!
//! Payloads of V3 events are not validated before, and ids may be any value; so they are compared as [`Scalar`]s.

use crate::error::Error;
use crate::event::Event;
use crate::header::Header;
use crate::json::{Js, JsString};
use crate::types::Seq;

use super::super::compaction::Crossings;
use super::super::fault::{Check, ensure, refuse, shown};
use super::super::lifecycle::Turns;
use super::super::rule::Rule;
use super::super::scalar::{Scalar, count, is, object};
use super::super::surface::{Change, Surface};
use super::super::vocabulary::EventType;
use super::calls::{Calls, Dispatches};
use super::references::{Commands, Titles};
use super::retries::Retries;

#[derive(Debug)]
struct Compaction {
    id: Scalar,
    command: Scalar,
    turn: Option<u64>,
    seq: u64,
    summarized: bool,
}

/// The pass. It stops at its first fault.
#[derive(Debug)]
pub(super) struct Relations {
    id: JsString,
    is_forked: bool,
    turns: Turns,
    /// That of the latest request header.
    provider: Option<Scalar>,
    surface: Surface,
    compaction: Option<Compaction>,
    crossings: Crossings,
    calls: Calls,
    dispatches: Dispatches,
    retries: Retries,
    titles: Titles,
    commands: Commands,
    fault: Option<Error>,
    /// The first delivery to another session behind the last inherited marker.
    foreign: Option<Error>,
}

impl Relations {
    pub(super) fn new(header: &Header) -> Self {
        Self {
            id: header.id.clone(),
            is_forked: header.parent_session.is_some(),
            turns: Turns::default(),
            provider: None,
            surface: Surface::default(),
            compaction: None,
            crossings: Crossings::default(),
            calls: Calls::default(),
            dispatches: Dispatches::default(),
            retries: Retries::default(),
            titles: Titles::default(),
            commands: Commands::default(),
            fault: None,
            foreign: None,
        }
    }

    pub(super) fn see(&mut self, event: &Event<'_>, kind: EventType) {
        self.crossings.see(kind, event.seq.0);
        if self.fault.is_none()
            && let Err(fault) = self.accept(event, kind)
        {
            self.fault = Some(fault.at(event.at()));
        }
    }

    fn accept(&mut self, event: &Event<'_>, kind: EventType) -> Check {
        self.titles.pass(event.seq.0, kind, event.data)?;
        self.commands.pass(event.seq.0, kind)?;
        if is_new_in_v3(kind) {
            return Ok(());
        }
        let Some(data) = object(event.data) else {
            return refuse(Rule::MessageShape, "/data", shown(event.data));
        };
        let change = if kind.is_surface() {
            // The head has been looked at in the first pass, so every node is like any other here.
            self.surface.fold(event, EventType::UserMessage)?
        } else {
            Change::None
        };
        if let EventType::TurnStart | EventType::TurnEnd = kind
            && let Some(open) = &self.compaction
        {
            self.crossings.cross(event, (open.seq, b"one"));
        }
        match kind {
            EventType::TurnStart => {
                self.turns.start_turn(data)?;
                self.calls.clear();
                Ok(())
            }
            EventType::TurnEnd => {
                self.calls.check_none()?;
                self.turns.end_turn(data)
            }
            EventType::StepStart => self.turns.start_step(data),
            EventType::StepEnd => {
                self.calls.check_none()?;
                self.turns.end_step(data)
            }
            EventType::AssistantAttempt => self.turns.check_step(data),
            EventType::AssistantMessage => {
                self.turns.check_step(data)?;
                self.calls.advertise(data)
            }
            EventType::ToolCall => {
                self.turns.check_step(data)?;
                self.calls.start(data)
            }
            EventType::ToolResult if change != Change::Append => self.turns.open().map(|_| ()),
            EventType::ToolResult => {
                self.turns.check_step(data)?;
                self.calls.settle(event, data)
            }
            EventType::RequestHeader => self.request_header(data),
            EventType::RequestContext => self.turns.open().map(|_| ()),
            EventType::PtcDispatchStart => {
                self.turns.open()?;
                self.dispatches.start(data)
            }
            EventType::PtcDispatch => {
                self.turns.open()?;
                self.dispatches.settle(data)
            }
            EventType::Retry => {
                let turn = self.turns.open()?;
                self.retries.schedule(data, turn, self.turns.retried(), self.provider.as_ref())
            }
            EventType::RetryStarted => self.retries.start(data),
            EventType::Title => self.titles.title(event, data),
            EventType::TitleRequest => self.titles.request(event, data),
            EventType::CommandRun => self.commands.run(data),
            EventType::CommandDone => self.commands.done(event, data),
            EventType::Delivery => self.delivery(event, data),
            EventType::UserMessage => self.user_message(data, &change),
            _ => self.compaction(event, kind, data),
        }
    }

    fn request_header(&mut self, data: Js<'_>) -> Check {
        self.turns.open()?;
        let config = data.path(&["header", "config"]);
        match config.filter(|config| !config.is_null()) {
            Some(config) => self.provider = Some(Scalar::of(config.get("provider"))),
            None => return refuse(Rule::RequestHeader, "/data/header/config", shown(config)),
        }
        Ok(())
    }

    /// Deliveries to another session are those of a parent, and stand before the cut. The cut is the last inherited
    /// marker, so another marker clears what was found.
    fn delivery(&mut self, event: &Event<'_>, data: Js<'_>) -> Check {
        let id = data.get("sessionId");
        let own = id.and_then(Js::as_str).is_some_and(|id| *id.to_wtf8() == *self.id.as_wtf8());
        if count(data.get("sessionFormatVersion")) != Some(3) || own {
            return Ok(());
        }
        let foreign = refuse(Rule::Delivery, "/data/sessionId", shown(id));
        if !self.is_forked {
            return foreign;
        }
        if let (Err(fault), None) = (foreign, &self.foreign) {
            self.foreign = Some(fault.at(event.at()));
        }
        Ok(())
    }

    fn user_message(&mut self, message: Js<'_>, change: &Change) -> Check {
        let source = message.get("source");
        let Some(source) = object(source) else {
            return refuse(Rule::Source, "/data/source", shown(source));
        };
        let compacts = is(source.get("kind"), "plugin") && is(source.get("plugin"), "compact");
        if compacts && *change != Change::Append {
            self.named(source, "/data/source/compactionId")?;
        }
        Ok(())
    }

    fn compaction(&mut self, event: &Event<'_>, kind: EventType, data: Js<'_>) -> Check {
        const RULE: Rule = Rule::Compaction;
        let turn = self.turns.turn;
        match kind {
            EventType::CompactionStart => {
                if let Some(open) = &self.compaction {
                    return refuse(RULE, "", format!("the one that starts at {} is open", open.seq));
                }
                check_owner(data, turn)?;
                self.compaction = Some(Compaction {
                    id: Scalar::of(data.get("compactionId")),
                    command: Scalar::of(data.get("sourceCommandId")),
                    turn,
                    seq: event.seq.0,
                    summarized: false,
                });
                Ok(())
            }
            EventType::CompactionSummary => {
                self.surface.check_span(event, data)?;
                let open = self.named(data, "/data/compactionId")?;
                if open.turn != turn || open.summarized {
                    return refuse(RULE, "", "its turn is over, or it has a summary already");
                }
                open.summarized = true;
                Ok(())
            }
            EventType::CompactionEnd => {
                let open = self.named(data, "/data/compactionId")?;
                check_owner(data, open.turn)?;
                if open.turn != turn {
                    return refuse(RULE, "", "its turn is over");
                }
                if !open.summarized && data.get("error").is_none() {
                    return refuse(RULE, "", "it ends well, but has no summary");
                }
                self.compaction = None;
                Ok(())
            }
            EventType::CompactionPrune => self.surface.check_span(event, data),
            EventType::EndSeed => {
                self.compaction = None;
                if data.get("inherited").is_some_and(Js::is_true) {
                    self.foreign = None;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The open compaction, when `ids` has its `compactionId` and `sourceCommandId`.
    fn named<'o>(&'o mut self, ids: Js<'_>, pointer: &str) -> Check<&'o mut Compaction> {
        let id = ids.get("compactionId");
        let found = self
            .compaction
            .as_mut()
            .filter(|open| open.id.is_same_as(id) && open.command.is_same_as(ids.get("sourceCommandId")));
        match found {
            Some(open) => Ok(open),
            None => refuse(Rule::Compaction, pointer, format!("no such one is open: {}", shown(id))),
        }
    }

    /// The first fault of a log whose inherited part ends at `cut`, and the surface as far as the pass came.
    pub(super) fn finish(self, cut: u64) -> (Option<Error>, Vec<Seq>) {
        let seq = |error: &Error| error.position().seq.unwrap_or(Seq(u64::MAX));
        // A crossing was seen before the pass stopped, so it comes first.
        let machine = self.crossings.finish().or(self.fault).or(self.titles.finish());
        let foreign = self.foreign.filter(|fault| seq(fault).0 >= cut);
        let first = match (machine, foreign) {
            (Some(machine), Some(foreign)) if seq(&foreign) < seq(&machine) => Some(foreign),
            (machine, foreign) => machine.or(foreign),
        };
        (first, self.surface.to_nodes())
    }
}

/// The turn that a compaction states is the one that it belongs to: `null` for none.
fn check_owner(data: Js<'_>, turn: Option<u64>) -> Check {
    let stated = data.get("turn");
    let fits = match turn {
        Some(turn) => count(stated) == Some(turn),
        None => stated.is_some_and(Js::is_null),
    };
    ensure(fits, Rule::Compaction, "/data/turn", stated)
}

/// Types that the pass does not know: it was written for the vocabulary of V0.
fn is_new_in_v3(kind: EventType) -> bool {
    matches!(
        kind,
        EventType::FeedbackMessagePut
            | EventType::FeedbackMessageDelete
            | EventType::SubagentCatalog
            | EventType::ImageOffload
            | EventType::DeliverablesPresented
            | EventType::WorkspaceChanges
    )
}
