//! Turns, steps and attempts, counted as the agent loop counts (`docs/spec/agent-loop.md`, sections 1 and 3).

use dshlog_codec::Event;
use dshlog_codec::check::EventType;
use dshlog_codec::json::Js;

/// Which request of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The turn, from 1.
    pub turn: u64,
    /// The step in it, from 1.
    pub step: u64,
    /// The attempt at that step, from 1. Attempts that failed before anything was sent count too.
    pub attempt: u64,
}

/// Where a log stands in its turns, followed event by event.
#[derive(Debug, Default)]
pub struct Positions {
    /// The last turn that began.
    turn: u64,
    /// The last step of it that began, 0 before the first.
    step: u64,
    in_turn: bool,
    in_step: bool,
    /// The step that settled last, and how often it did.
    settled: (u64, u64, u64),
    /// The open step has its answer.
    answered: bool,
}

impl Positions {
    /// Take the next event.
    pub fn see(&mut self, event: &Event<'_>) {
        let count = |name| event.member(name).and_then(Js::as_count);
        match EventType::of(event.kind) {
            Some(EventType::TurnStart) => {
                self.turn = count("turn").unwrap_or(self.turn + 1);
                (self.step, self.in_turn, self.in_step) = (0, true, false);
            }
            Some(EventType::TurnEnd) => (self.in_turn, self.in_step) = (false, false),
            Some(EventType::StepStart) => {
                self.step = count("step").unwrap_or(self.step + 1);
                (self.in_step, self.answered) = (true, false);
            }
            Some(EventType::StepEnd) => self.in_step = false,
            Some(kind @ (EventType::AssistantMessage | EventType::AssistantAttempt)) => {
                if let Some(Position { turn, step, attempt }) = self.settled(event) {
                    self.settled = (turn, step, attempt);
                }
                self.answered |= kind == EventType::AssistantMessage;
            }
            _ => {}
        }
    }

    /// Where the request stands that ends in this event, which [`Positions::see`] has not taken yet; nothing when none
    /// does. Requests of agents end in `assistant/message` and `assistant/attempt`.
    pub fn settled(&self, event: &Event<'_>) -> Option<Position> {
        let kind = EventType::of(event.kind)?;
        if !matches!(kind, EventType::AssistantMessage | EventType::AssistantAttempt) {
            return None;
        }
        let count = |name, or| event.member(name).and_then(Js::as_count).unwrap_or(or);
        let (turn, step) = (count("turn", self.turn), count("step", self.step));
        Some(Position { turn, step, attempt: self.attempts(turn, step) + 1 })
    }

    /// Where the request would stand that comes next.
    pub fn next(&self) -> Position {
        let (turn, step) = match (self.in_turn, self.in_step && !self.answered) {
            (true, true) => (self.turn, self.step),
            (true, false) => (self.turn, self.step + 1),
            (false, _) => (self.turn + 1, 1),
        };
        Position { turn, step, attempt: self.attempts(turn, step) + 1 }
    }

    fn attempts(&self, turn: u64, step: u64) -> u64 {
        let (of_turn, of_step, attempts) = self.settled;
        if (of_turn, of_step) == (turn, step) { attempts } else { 0 }
    }
}
