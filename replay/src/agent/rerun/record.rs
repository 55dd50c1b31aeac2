//! A recorded log, sorted into what came from outside and what the loop made of it (`docs/spec/agent-loop.md`, 1.1).

use dshlog_codec::check::EventType;
use dshlog_codec::json::Js;
use dshlog_codec::{Event, Generation, Header, Seq};

use crate::agent::era::Era;
use crate::agent::error::AgentError;
use crate::agent::log::is_snapshot;
use crate::compare::Source;
use crate::new_event::NewEvent;
use crate::wire::Dialect;

/// A log in memory.
#[derive(Debug)]
pub struct Record {
    header: Header,
    cut: usize,
    stored: Generation,
    rows: Vec<Row>,
    ends: Vec<ProcessEnd>,
    eras: Vec<(usize, Era)>,
    follow: Follow,
}

#[derive(Debug)]
struct Row {
    row: NewEvent,
    /// The type of an event that the loop makes; nothing for what comes from outside.
    made: Option<EventType>,
}

/// Where a process came to its end without a word.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProcessEnd {
    /// The first event that a later process wrote.
    pub(super) at: usize,
}

/// What was seen of the open step.
#[derive(Clone, Copy, Debug, Default)]
struct Follow {
    in_step: bool,
    answered: bool,
}

impl Record {
    /// The record of a session with this header, of which the first `cut` events were inherited. Its events are still to
    /// come.
    pub fn new(header: Header, cut: u64) -> Self {
        let cut = usize::try_from(cut).unwrap_or(usize::MAX);
        Record {
            header,
            cut,
            stored: Generation::CURRENT,
            rows: Vec::new(),
            ends: Vec::new(),
            eras: Vec::new(),
            follow: Follow::default(),
        }
    }

    /// The same, of a log that is stored as an older generation and was carried to V4 on the way. Without this a process that
    /// left no sign of its age counts as one of today.
    #[must_use]
    pub fn stored_as(self, generation: Generation) -> Self {
        Record { stored: generation, ..self }
    }

    /// So many of its events were inherited: for those who learn it at the end of a walk, in front of
    /// [`Record::finish`].
    pub fn inherit(&mut self, cut: u64) {
        self.cut = usize::try_from(cut).unwrap_or(usize::MAX);
    }

    /// The texts of the prompts that people gave, in order.
    pub fn prompts(&self) -> Vec<String> {
        let own = (self.inherited()..self.len()).filter_map(|at| self.event(at));
        own.filter(|event| EventType::of(event.kind) == Some(EventType::InboxSpliced))
            .filter(|event| event.member("target").is_some_and(|target| target.is("next-turn")))
            .flat_map(|event| {
                let messages = event.member("inserted").into_iter().flat_map(Js::elements);
                messages.filter(|message| is_of_user(*message)).map(text_of).collect::<Vec<_>>()
            })
            .collect()
    }

    /// The record of a log.
    ///
    /// # Errors
    /// A walk that does not come to its end.
    pub fn of<S: Source>(source: &S, cut: u64) -> Result<Self, S::Error> {
        let mut record = Record::new(source.header(), cut);
        // What a log holds reads back.
        source.each(&mut |event| drop(record.see(event)))?;
        record.finish();
        Ok(record)
    }

    /// Take the next event.
    ///
    /// # Errors
    /// A row that does not read back.
    pub fn see(&mut self, event: &Event<'_>) -> Result<(), AgentError> {
        let made = self.follow.class(event);
        self.rows.push(Row { row: NewEvent::copied(event)?, made });
        Ok(())
    }

    /// All events are there.
    pub fn finish(&mut self) {
        self.find_ends();
        let starts: Vec<usize> = std::iter::once(0).chain(self.ends.iter().map(|end| end.at)).collect();
        let stops = starts.iter().skip(1).copied().chain([self.rows.len()]);
        let mut before = None;
        for (&start, stop) in starts.iter().zip(stops) {
            // A process that left no sign of its loop followed the one before it.
            let era = self.era_of(start, stop);
            let era = match (era, before) {
                (Some(Era::V4 | Era::V0 | Era::V0Late), _) | (Some(_), None) => era,
                (_, Some(before)) => Some(before),
                (None, None) => None,
            };
            before = era.filter(|era| *era != Era::V4).or(before);
            self.eras.push((start, era.unwrap_or_else(|| Era::of(self.stored))));
        }
    }

    /// Number of events.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// No events.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Its header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Number of events that it inherited, with the mark behind them.
    pub(crate) fn inherited(&self) -> usize {
        let marked = self.event(self.cut).is_some_and(|event| event.is("session/end-seed"));
        if self.header.is_seeded { self.cut + usize::from(marked) } else { 0 }
    }

    /// An event.
    pub(crate) fn event(&self, at: usize) -> Option<Event<'_>> {
        self.rows.get(at).map(|row| row.row.event())
    }

    /// Its text.
    pub(super) fn text(&self, at: usize) -> Option<&str> {
        self.rows.get(at).map(|row| row.row.text())
    }

    /// Its type, if the loop makes it.
    pub(super) fn made(&self, at: usize) -> Option<EventType> {
        self.rows.get(at)?.made
    }

    /// The language that the process spoke to its model which wrote this event.
    pub fn dialect(&self, seq: Seq) -> Dialect {
        match self.era(usize::try_from(seq.0).unwrap_or(usize::MAX)) {
            Era::V4 => Dialect::Messages,
            Era::V0 | Era::V0Late | Era::V3 => Dialect::Chat,
        }
    }

    /// Where processes ended.
    pub(super) fn ends(&self) -> &[ProcessEnd] {
        &self.ends
    }

    /// The rules that hold at an event.
    pub(super) fn era(&self, at: usize) -> Era {
        let known = self.eras.iter().rev().find(|(start, _)| *start <= at);
        known.map_or(Era::V4, |(_, era)| *era)
    }

    /// A process ended in front of each mark that another one left, and of what that one closed before.
    fn find_ends(&mut self) {
        let inherited = self.inherited();
        for mark in inherited..self.rows.len() {
            if self.made(mark) != Some(EventType::EndSeed) {
                continue;
            }
            let at = self.first_closer(mark, inherited);
            self.ends.push(ProcessEnd { at });
        }
        // Whoever closed a turn without opening the session is no loop: a migration does so for a turn that was never ended.
        for at in inherited..self.rows.len() {
            let closes = |event: Event<'_>| is_interrupted(&event);
            let is_marked = self.made(at + 1) == Some(EventType::EndSeed);
            if self.event(at).is_some_and(closes)
                && !is_marked
                && let Some(row) = self.rows.get_mut(at)
            {
                row.made = None;
            }
        }
    }

    fn first_closer(&self, mark: usize, least: usize) -> usize {
        let before = |at: usize| at.checked_sub(1).filter(|at| *at >= least);
        let closes = |at: &usize| self.event(*at).is_some_and(|event| is_interrupted(&event));
        let Some(mut at) = before(mark).filter(closes) else {
            return mark;
        };
        if let Some(step) = before(at).filter(|at| self.made(*at) == Some(EventType::StepEnd)) {
            at = step;
        }
        while let Some(result) =
            before(at).filter(|at| self.event(*at).is_some_and(|event| is_recovery(&event)))
        {
            at = result;
        }
        at
    }

    /// The era of the process that wrote these events, by what only one of the loops writes; nothing when there is no sign.
    fn era_of(&self, start: usize, stop: usize) -> Option<Era> {
        let mut old = None;
        let reason = |event: &Event<'_>| event.member("reason").is_some_and(|reason| reason.is("series"));
        let first = |late| if late { Era::V0Late } else { Era::V0 };
        for event in (start..stop).filter_map(|at| self.event(at)) {
            match EventType::of(event.kind) {
                Some(EventType::SystemMessage) if is_migrated_prompt(&event) => {
                    let mut headers = self.rows.iter().map(|row| row.row.event());
                    return Some(first(headers.any(|event| event.is("request/header") && reason(&event))));
                }
                Some(EventType::DeveloperMessage | EventType::WorkingDirectoryChange) => {
                    return Some(Era::V4);
                }
                Some(EventType::Delivery) => {
                    let version = event.member("sessionFormatVersion").and_then(Js::as_count);
                    old = Some(Era::V3);
                    if version.is_some_and(|version| version >= 4) {
                        return Some(Era::V4);
                    }
                }
                Some(EventType::UserMessage) if is_new_snapshot(&event) => return Some(Era::V4),
                Some(EventType::AssistantMessage) => {
                    let source = event.member("message").and_then(|message| message.get("source"));
                    if source.is_some_and(|source| source.get("replayState").is_some()) {
                        return Some(Era::V4);
                    }
                    let is_whole = event.member("interrupted").is_none();
                    old = old.or_else(|| is_whole.then_some(Era::V3));
                }
                _ => {}
            }
        }
        old
    }
}

impl Follow {
    /// The type of an event that the loop makes; nothing for what comes from outside.
    fn class(&mut self, event: &Event<'_>) -> Option<EventType> {
        let kind = EventType::of(event.kind)?;
        let is_replacement = event.surface_op().is_some_and(Js::is_object);
        let is_made = match kind {
            EventType::TurnStart
            | EventType::TurnEnd
            | EventType::AssistantAttempt
            | EventType::Retry
            | EventType::RetryStarted
            | EventType::ToolCall
            | EventType::RequestHeader
            | EventType::RequestContext
            | EventType::DeveloperMessage
            | EventType::EndSeed => true,
            EventType::StepStart => {
                *self = Follow { in_step: true, answered: false };
                true
            }
            EventType::StepEnd => {
                self.in_step = false;
                true
            }
            EventType::AssistantMessage => {
                self.answered = true;
                true
            }
            EventType::SystemMessage => self.in_step,
            EventType::UserMessage => !is_replacement && self.in_step && !self.answered,
            EventType::ToolResult => !is_replacement,
            EventType::InboxSpliced => is_claim(event),
            _ => false,
        };
        is_made.then_some(kind)
    }
}

/// A removal by the loop: one that inserts nothing and was not cancelled.
fn is_claim(event: &Event<'_>) -> bool {
    let removes = event.member("removedCount").and_then(Js::as_count).is_some_and(|count| count > 0);
    let inserts = event.member("inserted").is_some_and(|list| list.elements().next().is_some());
    removes && !inserts && event.member("outcome").is_none()
}

fn is_of_user(message: Js<'_>) -> bool {
    let kind = message.get("source").and_then(|source| source.get("kind"));
    kind.is_some_and(|kind| kind.is("user"))
}

/// The texts of a message, one behind the other.
fn text_of(message: Js<'_>) -> String {
    let blocks = message.get("content").into_iter().flat_map(Js::elements);
    let texts = blocks.filter_map(|block| block.get("text").and_then(Js::as_str));
    texts.map(|text| text.to_lossy().into_owned()).collect()
}

/// The end of a turn whose process never ended it.
fn is_interrupted(event: &Event<'_>) -> bool {
    let kind = event.member("reason").and_then(|reason| reason.get("kind"));
    event.is("turn/end") && kind.is_some_and(|kind| kind.is("interrupted"))
}

/// A result that says that there is none.
pub(super) fn is_recovery(event: &Event<'_>) -> bool {
    let id = event.member("message").and_then(|message| message.get("id")).and_then(Js::as_str);
    event.is("tool/result") && id.is_some_and(|id| id.to_lossy().starts_with("interrupted-tool-result-"))
}

/// The ids of prompts that a migration took out of headers.
fn is_migrated_prompt(event: &Event<'_>) -> bool {
    let id = event.member("message").and_then(|message| message.get("id")).and_then(Js::as_str);
    id.is_some_and(|id| id.to_lossy().starts_with("v2-to-v3-system-"))
}

/// A section that only the loop of V4 has.
fn is_new_snapshot(event: &Event<'_>) -> bool {
    let source = event.member("source").filter(|source| is_snapshot(*source));
    let sections = source.and_then(|source| source.get("sections"));
    sections
        .into_iter()
        .flat_map(Js::elements)
        .any(|section| section.get("name").is_some_and(|name| name.is("working-directory:current")))
}

impl Source for Record {
    type Error = std::convert::Infallible;

    fn header(&self) -> Header {
        self.header.clone()
    }

    fn each(&self, see: &mut dyn FnMut(&Event<'_>)) -> Result<(), Self::Error> {
        self.rows.iter().for_each(|row| see(&row.row.event()));
        Ok(())
    }
}
