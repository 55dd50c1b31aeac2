//! A turn (`docs/spec/agent-loop.md`, 3.2).

use dshlog_codec::check::EventType;
use dshlog_codec::json::{Doc, Fields, Tree};

use super::Agent;
use super::log::Placement;
use super::step::StepEnd;
use super::world::{Admission, Moment, Stop, World};
use crate::closer::Cause;
use crate::inbox::{Target, Waiting};

/// How a turn comes to its end.
struct End {
    reason: Fields<'static>,
    /// What waits may begin another turn at once.
    goes_on: bool,
}

impl End {
    fn of(kind: &str) -> Self {
        End { reason: Fields::new().with("kind", Tree::string(kind)), goes_on: false }
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.reason.set(name, Tree::Text(value.into()));
        self
    }
}

impl<W: World> Agent<'_, W> {
    /// Run a turn. True when another one follows at once.
    pub(super) fn turn(&mut self) -> Result<bool, Stop> {
        let turn = self.log.turn() + 1;
        let number = || Fields::new().with("turn", Tree::integer(turn));
        self.write(EventType::TurnStart, Placement::Off, |_| number())?;
        let end = match self.steps(turn) {
            Ok(end) => end,
            Err(Stop::Abort(Some(cause))) => End::of("aborted").with("reason", &cause),
            Err(Stop::Abort(None)) => return Ok(false),
            Err(Stop::Failed(error)) => End::of("error").with("error", &error),
            Err(stop) => return Err(stop),
        };
        let End { reason, goes_on } = end;
        self.write(EventType::TurnEnd, Placement::Off, |_| number().with("reason", reason))?;
        Ok(goes_on && !self.log.inbox().is_empty())
    }

    fn steps(&mut self, turn: u64) -> Result<End, Stop> {
        let mut ends: Option<StepEnd> = None;
        let mut step = 0;
        loop {
            self.boundary()?;
            let claimed = self.claim(step == 0)?;
            self.process.knew_context =
                self.log.snapshot().is_some_and(|told| self.log.is_on_surface(told.seq));
            self.world.others(&mut self.log)?;
            self.world.check(Moment::Boundary, &self.log)?;
            let admitted = match self.world.admit(claimed, step + 1, &mut self.log)? {
                Admission::Enter(admitted) => admitted,
                Admission::Rejected => return Ok(End::of("blocked")),
            };
            if admitted.messages.is_empty() && (ends.is_some() || step == 0) {
                return Ok(End { goes_on: ends.is_some(), ..ended(ends) });
            }
            step += 1;
            let end = self.whole_step(turn, step, admitted)?;
            if ends != Some(StepEnd::MaxTokens) {
                ends = end;
            }
            self.boundary()?;
            if ends.is_some() && self.log.inbox().list(Target::NextStep).is_empty() {
                return Ok(End { goes_on: true, ..ended(ends) });
            }
        }
    }

    fn boundary(&mut self) -> Result<(), Stop> {
        self.world.arrivals(&mut self.log)?;
        self.world.check(Moment::Boundary, &self.log)
    }

    /// A step between its brackets.
    fn whole_step(
        &mut self,
        turn: u64,
        step: u64,
        admitted: super::world::Admitted,
    ) -> Result<Option<StepEnd>, Stop> {
        self.write(EventType::StepStart, Placement::Off, |_| super::at(turn, step))?;
        let end = self.step(turn, step, admitted);
        match &end {
            Err(Stop::Ended | Stop::Fault(_)) => return end,
            Err(_) => self.recover_calls()?,
            Ok(_) => {}
        }
        self.write(EventType::StepEnd, Placement::Off, |_| super::at(turn, step))?;
        end
    }

    /// Results for the calls that a failing step leaves without one (9.1).
    fn recover_calls(&mut self) -> Result<(), Stop> {
        if !self.world.era().recovers_calls() {
            return Ok(());
        }
        while self.log.tail().open().is_some_and(|open| open.not_started + open.unknown > 0) {
            let stamp = self.ready(EventType::ToolResult)?;
            let results = self.log.tail().closers(Cause::Interrupted, self.log.next_seq(), stamp.time);
            let Some(first) = results.into_iter().next() else { return Ok(()) };
            self.push(first)?;
        }
        Ok(())
    }

    /// Take what waits for this step (2.3).
    fn claim(&mut self, first: bool) -> Result<Vec<Waiting>, Stop> {
        let mut claimed = self.log.inbox().list(Target::NextStep).to_vec();
        let prompt = self.log.inbox().list(Target::NextTurn).first().filter(|_| first).cloned();
        if !claimed.is_empty() {
            self.remove(Target::NextStep, claimed.len())?;
        }
        if prompt.is_some() {
            self.remove(Target::NextTurn, 1)?;
            claimed.extend(prompt);
        }
        Ok(claimed)
    }

    fn remove(&mut self, target: Target, count: usize) -> Result<(), Stop> {
        self.write(EventType::InboxSpliced, Placement::Off, |_| {
            Fields::new()
                .with("target", Tree::string(target.name()))
                .with("start", Tree::integer(0))
                .with("removedCount", Tree::integer(count as u64))
                .with("inserted", Tree::Array(Vec::new()))
        })?;
        Ok(())
    }
}

fn ended(ends: Option<StepEnd>) -> End {
    match ends {
        Some(StepEnd::MaxTokens) => End::of("max-tokens"),
        _ => End::of("completed"),
    }
}

/// The error of a turn that fails for another reason than its model, as JSON.
pub fn unknown_error(message: &str) -> Box<str> {
    let error = Fields::new().with("message", Tree::string(message)).with("code", Tree::string("UNKNOWN"));
    let mut out = Vec::new();
    Tree::from(error).print(&mut out);
    Doc::parse(String::from_utf8_lossy(&out).into_owned())
        .map_or_else(|_| "{}".into(), |doc| doc.text().into())
}
