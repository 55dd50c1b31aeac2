//! Stage D, second pass: the machine that every known event runs through (`docs/spec/events-v4.md`, section 8).
//!
//! An incomplete log is a valid one: nothing is asked for at the end.

use crate::error::Error;
use crate::event::Event;
use crate::json::Js;
use crate::types::Seq;

use super::calls::{Calls, Dispatches};
use super::compaction::{Compactions, Crossings};
use super::fault::{Check, ensure, refuse, shown};
use super::references::{Commands, Headers, Titles};
use super::retry::Retries;
use super::rule::Rule;
use super::scalar::{Scalar, count, is, object};
use super::surface::{Change, Surface};
use super::vocabulary::EventType;

/// The open turn and step.
#[derive(Debug)]
pub(super) struct Turns {
    pub(super) turn: Option<u64>,
    step: Option<u64>,
    next_turn: u64,
    next_step: u64,
}

impl Default for Turns {
    fn default() -> Self {
        Turns { turn: None, step: None, next_turn: 1, next_step: 1 }
    }
}

const ORDER: Rule = Rule::TurnOrder;

impl Turns {
    /// The open turn.
    pub(super) fn open(&self) -> Check<u64> {
        match self.turn {
            Some(turn) => Ok(turn),
            None => refuse(ORDER, "", "no turn is open"),
        }
    }

    /// In the open turn and step.
    pub(super) fn check_step(&self, data: Js<'_>) -> Check {
        self.check_turn(data)?;
        let step = data.get("step");
        ensure(self.step.is_some() && count(step) == self.step, ORDER, "/data/step", step)
    }

    fn check_turn(&self, data: Js<'_>) -> Check {
        let turn = data.get("turn");
        ensure(self.turn.is_some() && count(turn) == self.turn, ORDER, "/data/turn", turn)
    }

    pub(super) fn start_turn(&mut self, data: Js<'_>) -> Check {
        let turn = data.get("turn");
        ensure(self.turn.is_none() && count(turn) == Some(self.next_turn), ORDER, "/data/turn", turn)?;
        self.turn = Some(self.next_turn);
        self.next_step = 1;
        Ok(())
    }

    pub(super) fn end_turn(&mut self, data: Js<'_>) -> Check {
        self.check_turn(data)?;
        if let Some(step) = self.step {
            return refuse(ORDER, "", format!("step {step} is open"));
        }
        self.turn = None;
        self.next_turn += 1;
        Ok(())
    }

    pub(super) fn start_step(&mut self, data: Js<'_>) -> Check {
        self.check_turn(data)?;
        let step = data.get("step");
        ensure(self.step.is_none() && count(step) == Some(self.next_step), ORDER, "/data/step", step)?;
        self.step = Some(self.next_step);
        Ok(())
    }

    pub(super) fn end_step(&mut self, data: Js<'_>) -> Check {
        self.check_step(data)?;
        self.step = None;
        self.next_step += 1;
        Ok(())
    }

    /// The step that a retry belongs to: the open one, or the last one of the turn.
    pub(super) fn retried(&self) -> u64 {
        self.step.unwrap_or(self.next_step - 1)
    }
}

/// The machine. It stops at its first fault.
#[derive(Debug)]
pub(super) struct Lifecycle {
    turns: Turns,
    provider: Scalar,
    surface: Surface,
    calls: Calls,
    dispatches: Dispatches,
    retries: Retries,
    titles: Titles,
    commands: Commands,
    headers: Headers,
    compactions: Compactions,
    crossings: Crossings,
    fault: Option<Error>,
}

impl Lifecycle {
    pub(super) fn new() -> Self {
        Self {
            turns: Turns::default(),
            provider: Scalar::Absent,
            surface: Surface::default(),
            calls: Calls::default(),
            dispatches: Dispatches::default(),
            retries: Retries::default(),
            titles: Titles::default(),
            commands: Commands::default(),
            headers: Headers::default(),
            compactions: Compactions::default(),
            crossings: Crossings::default(),
            fault: None,
        }
    }

    /// One known event. Nothing comes back once the machine has stopped.
    pub(super) fn see(&mut self, event: &Event<'_>, kind: EventType) -> Option<Change> {
        self.crossings.see(kind, event.seq.0);
        if self.fault.is_some() {
            return None;
        }
        match self.accept(event, kind) {
            Ok(change) => Some(change),
            Err(fault) => {
                self.fault = Some(fault.at(event.at()));
                None
            }
        }
    }

    fn accept(&mut self, event: &Event<'_>, kind: EventType) -> Check<Change> {
        let Some(rule) = kind.lifecycle() else { return Ok(Change::None) };
        let Some(data) = object(event.data) else { return refuse(rule, "/data", shown(event.data)) };
        match kind {
            EventType::SystemMessage | EventType::DeveloperMessage | EventType::AssistantAttempt => {
                self.turns.check_step(data)?;
            }
            EventType::TurnStart | EventType::TurnEnd => {
                if let Some(open) = self.compactions.open() {
                    self.crossings.cross(event, open);
                }
            }
            _ => {}
        }
        let change = if kind.is_surface() { self.surface.fold(event, kind)? } else { Change::None };
        self.apply(event, kind, data, &change)?;
        Ok(change)
    }

    fn apply(&mut self, event: &Event<'_>, kind: EventType, data: Js<'_>, change: &Change) -> Check {
        match kind {
            EventType::TurnStart => {
                self.turns.start_turn(data)?;
                self.calls.clear();
                Ok(())
            }
            EventType::TurnEnd => {
                self.turns.end_turn(data)?;
                self.calls.check_none()
            }
            EventType::StepStart => self.turns.start_step(data),
            EventType::StepEnd => {
                self.turns.end_step(data)?;
                self.calls.check_none()
            }
            EventType::AssistantMessage => {
                self.turns.check_step(data)?;
                self.calls.advertise(data.get("message").and_then(|m| m.get("content")))
            }
            EventType::ToolCall => {
                self.turns.check_step(data)?;
                self.calls.start(data)
            }
            // A replacement keeps the coordinates of the original, so it only needs some open turn.
            EventType::ToolResult if *change != Change::Append => self.turns.open().map(|_| ()),
            EventType::ToolResult => {
                self.turns.check_step(data)?;
                self.calls.settle(event, data)
            }
            EventType::UserMessage => self.user_message(event, data, change),
            EventType::DeveloperMessage => self.headers.check(data),
            EventType::RequestHeader => self.request_header(event, data),
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
                self.retries.schedule(data, turn, self.turns.retried(), &self.provider)
            }
            EventType::RetryStarted => self.retries.start(data),
            EventType::Title => self.titles.title(event, data),
            EventType::TitleRequest => self.titles.request(event, data),
            EventType::CommandRun => self.commands.run(event, data),
            EventType::CommandDone => self.commands.done(event, data),
            EventType::CompactionStart => self.compactions.start(event, data, self.turns.turn),
            EventType::CompactionSummary => {
                self.compactions.summary(event, data, self.turns.turn, &self.surface)
            }
            EventType::CompactionEnd => self.compactions.end(data),
            EventType::CompactionPrune => self.surface.check_span(event, data),
            EventType::EndSeed => {
                self.compactions.forget();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn user_message(&mut self, event: &Event<'_>, message: Js<'_>, change: &Change) -> Check {
        let source = message.get("source");
        let Some(source) = object(source) else {
            return refuse(Rule::Source, "/data/source", shown(source));
        };
        if *change != Change::Append && is(source.get("kind"), "compact-checkpoint") {
            self.compactions.checkpoint(source)?;
        }
        self.titles.message(event, source);
        Ok(())
    }

    fn request_header(&mut self, event: &Event<'_>, data: Js<'_>) -> Check {
        self.turns.open()?;
        let header = data.get("header");
        let config = header.and_then(|h| h.get("config"));
        let Some(provider) = object(config).map(|c| c.get("provider")) else {
            return refuse(Rule::RequestHeader, "/data/header/config", shown(config));
        };
        self.provider = Scalar::of(provider);
        self.headers.header(event, header);
        Ok(())
    }

    /// The first fault, and the surface as far as the machine came.
    pub(super) fn finish(self) -> (Option<Error>, Vec<Seq>) {
        // A crossing was seen before the machine stopped, so it comes first.
        (self.crossings.finish().or(self.fault), self.surface.to_nodes())
    }
}
