//! What a fork of a session begins with (`docs/spec/surface.md`, section 9.1).
//!
//! A fork has the events of its parent up to one of them, unchanged, then events of its own: a mark where they end, and
//! what closes the turn that was open there. The events that are copied are not held here: a [`ForkPoint`] says which they
//! are, and what comes behind them.

use dshlog_codec::check::EventType;
use dshlog_codec::json::{Js, JsString};
use dshlog_codec::{Event, Generation, Header, Millis, Seq};

use crate::closer::{Cause, Open, OpenTail};
use crate::new_event::NewEvent;

/// Where a session is forked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Behind this event.
    Seq(Seq),
    /// Behind the last event.
    End,
    /// Behind the last turn that has an end, and behind what follows it up to the first sign of the next turn. dsh forks
    /// there when a person names no event.
    LastTurn,
}

/// Finds the place in a log, and what a fork adds there.
#[derive(Clone, Debug)]
pub struct ForkPoint {
    at: At,
    tail: OpenTail,
    /// The last event of the prefix, as far as known.
    last: Option<(Seq, Millis)>,
    /// Behind the end of a turn, and in front of anything of the next one.
    is_between: bool,
    events: u64,
    agent_preset: Option<JsString>,
}

/// There is no such place in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoForkPoint {
    /// The log ends in front of the event.
    #[error("there is no seq {at}; the log has {events} events")]
    Beyond {
        /// What was asked for.
        at: Seq,
        /// Number of events of the log.
        events: u64,
    },
    /// No turn has an end.
    #[error("no turn of the log has an end")]
    NoTurn,
}

/// What a fork consists of, besides the events that it copies.
#[derive(Debug)]
pub struct Seed {
    /// The last event that is copied; nothing for a fork of a log without events.
    pub at: Option<Seq>,
    /// What was open there.
    pub open: Option<Open>,
    /// The mark behind the copied events, and what closes the open turn.
    pub own: Vec<NewEvent>,
    agent_preset: Option<JsString>,
}

impl ForkPoint {
    /// In front of the first event of a log with this header.
    pub fn new(at: At, header: &Header) -> Self {
        let agent_preset = header.to_current().agent_preset;
        ForkPoint { at, tail: OpenTail::new(), last: None, is_between: false, events: 0, agent_preset }
    }

    /// Fold the next event. All are to be seen: the preset of a session is the last that was selected.
    pub fn see(&mut self, event: &Event<'_>) {
        self.events = event.seq.0 + 1;
        let kind = EventType::of(event.kind);
        if kind == Some(EventType::AgentPresetSelected)
            && let Some(preset) = event.member("agentPreset").and_then(Js::as_str)
        {
            self.agent_preset = Some(preset.to_owned());
        }
        let is_copied = match self.at {
            At::Seq(at) => event.seq <= at,
            At::End => true,
            At::LastTurn => {
                self.is_between = match kind {
                    Some(EventType::TurnEnd) => true,
                    _ => self.is_between && !begins_turn(event, kind),
                };
                self.is_between
            }
        };
        if is_copied {
            self.last = Some((event.seq, event.time));
            // Behind the end of a turn nothing is open.
            if self.at != At::LastTurn {
                self.tail.see(event);
            }
        }
    }

    /// The seed. `now` is the time of the mark where no event is copied.
    pub fn finish(self, now: Millis) -> Result<Seed, NoForkPoint> {
        match (self.at, self.last) {
            (At::Seq(at), _) if at.0 >= self.events => {
                return Err(NoForkPoint::Beyond { at, events: self.events });
            }
            (At::LastTurn, None) => return Err(NoForkPoint::NoTurn),
            _ => {}
        }
        let cut = self.last.map_or(0, |(seq, _)| seq.0 + 1);
        let time = self.last.map_or(now, |(_, time)| time);
        let mut own = vec![NewEvent::end_seed(Seq(cut), time, true)];
        own.extend(self.tail.closers(Cause::Forked, Seq(cut + 1), time));
        let at = self.last.map(|(seq, _)| seq);
        Ok(Seed { at, open: self.tail.open(), own, agent_preset: self.agent_preset })
    }
}

/// True for what belongs to the next turn even in front of its start.
fn begins_turn(event: &Event<'_>, kind: Option<EventType>) -> bool {
    match kind {
        Some(EventType::TurnStart | EventType::InboxSpliced) => true,
        Some(EventType::UserMessage) => event.surface_op().is_some_and(|op| op.is("append")),
        _ => false,
    }
}

impl Seed {
    /// Number of events that are copied: those with a lower seq.
    pub fn cut(&self) -> u64 {
        self.at.map_or(0, |at| at.0 + 1)
    }

    /// Number of events of the fork.
    pub fn events(&self) -> u64 {
        self.cut() + self.own.len() as u64
    }

    /// The header of the fork of a session with the header `parent`. A fork of a subagent is none: nobody delegated to it.
    pub fn header(&self, parent: &Header, id: JsString, created_at: u64) -> Header {
        Header {
            version: Generation::CURRENT,
            id,
            created_at,
            cwd: parent.cwd.clone(),
            parent_session: Some(parent.id.clone()),
            seed_length: None,
            is_seeded: true,
            is_subagent: false,
            delegation_depth: 0,
            agent_preset: self.agent_preset.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
