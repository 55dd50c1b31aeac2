//! The goal of a session (`docs/spec/surface.md`, 10.4).
//!
//! The fold is strict: the first change that does not follow from the state freezes it, and `failure` says why, in the
//! words of dsh, since they are part of the state.

use dshlog_codec::Event;
use dshlog_codec::check::EventType;
use dshlog_codec::json::{Js, JsString, Tree};

use super::value::{Kept, null, object, or_null};
use super::{Fold, Start};

mod change;

use change::{Change, Changed, Goal, Phase, Round};

#[derive(Debug, Default)]
struct Goals {
    current: Option<Current>,
    seen: Vec<JsString>,
    failure: Option<Kept>,
}

/// The goal that is worked on, or was.
#[derive(Clone, Debug)]
struct Current {
    goal: Goal,
    rounds: u64,
    created: u64,
    updated: u64,
}

pub(super) fn goal(_: &Start<'_>) -> Box<dyn Fold> {
    Box::<Goals>::default()
}

impl Fold for Goals {
    fn see(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), String> {
        if self.failure.is_some() {
            return Ok(());
        }
        let seq = event.seq;
        let done = match kind {
            Some(EventType::GoalChange) => match event.data.map(Change::decode) {
                Some(Some(change)) => change.and_then(|change| self.apply(change)),
                _ => Err(format!("goal change at session event {seq} has an invalid kind")),
            },
            Some(EventType::UserMessage) => {
                let source =
                    event.member("source").filter(|s| s.get("kind").is_some_and(|kind| kind.is("goal")));
                let Some(source) = source else { return Ok(()) };
                Round::decode(source).and_then(|round| {
                    self.admit(&round).ok_or_else(|| {
                        format!("goal round at session event {seq} is not the next admitted round of the active goal")
                    })
                })
            }
            _ => return Ok(()),
        };
        if let Err(reason) = done {
            let text = format!("goal replay failed at session event {seq}: {reason}");
            self.failure = Some(Kept::string(&JsString::from_units(text.encode_utf16())));
        }
        Ok(())
    }

    fn state(&self) -> Tree<'static> {
        let seen = self.seen.iter().map(|id| Kept::string(id).tree()).collect();
        object([
            ("current", self.current_tree(false)),
            ("seenGoalIds", Tree::Array(seen)),
            ("failure", or_null(self.failure.as_ref())),
        ])
    }

    fn view(&self) -> Option<Tree<'static>> {
        Some(self.current_tree(true))
    }
}

impl Goals {
    fn current_tree(&self, shown: bool) -> Tree<'static> {
        self.current.as_ref().map_or_else(null, |current| current.tree(shown))
    }

    fn apply(&mut self, change: Change) -> Result<(), String> {
        match change {
            Change::Clear { id, revision, at } => {
                let current = self.current.as_ref().ok_or("goal clear requires a current goal")?;
                current.check_next(&id, revision, "clear")?;
                if at < current.updated {
                    return Err("goal clear timestamp cannot precede the current goal update".to_owned());
                }
                self.current = None;
            }
            Change::Snapshot(changed) if changed.operation == "create" => {
                let is_free =
                    self.current.as_ref().is_none_or(|current| current.goal.phase == Phase::Complete);
                let is_fresh = changed.goal.revision == 1
                    && changed.goal.phase == Phase::Active
                    && changed.rounds == 0
                    && !self.seen.contains(&changed.goal.id);
                if !is_free || !is_fresh {
                    return Err(
                        "goal create requires a fresh active revision-one goal with zero rounds".to_owned()
                    );
                }
                self.seen.push(changed.goal.id.clone());
                self.current = Some(Current::of(changed));
            }
            Change::Snapshot(changed) => {
                let operation = changed.operation;
                let current = self.current.as_ref();
                let current = current.ok_or_else(|| format!("goal {operation} requires a current goal"))?;
                current.check(&changed)?;
                self.current = Some(Current::of(changed));
            }
        }
        Ok(())
    }

    /// The message that begins a round; nothing when it is not the next one.
    fn admit(&mut self, round: &Round) -> Option<()> {
        let current = self.current.as_mut()?;
        let goal = &current.goal;
        let is_next = goal.phase == Phase::Active
            && goal.id == round.goal
            && goal.revision == round.revision
            && round.number == current.rounds + 1
            && round.number <= goal.max_rounds;
        is_next.then(|| current.rounds = round.number)
    }
}

impl Current {
    fn of(changed: Changed) -> Self {
        Current {
            goal: changed.goal,
            rounds: changed.rounds,
            created: changed.created,
            updated: changed.updated,
        }
    }

    fn check_next(&self, id: &JsString, revision: u64, operation: &str) -> Result<(), String> {
        if *id == self.goal.id && revision == self.goal.revision + 1 {
            return Ok(());
        }
        Err(format!("goal {operation} must advance the current goal by one revision"))
    }

    /// What an operation asks of the goal before it.
    fn check(&self, changed: &Changed) -> Result<(), String> {
        let (before, after, operation) = (&self.goal, &changed.goal, changed.operation);
        self.check_next(&after.id, after.revision, operation)?;
        if changed.created != self.created || changed.updated < self.updated || changed.rounds != self.rounds
        {
            return Err(format!("goal {operation} does not preserve the current counters and timestamps"));
        }
        if operation == "edit" {
            if after.phase == before.phase && after.blocked == before.blocked {
                return Ok(());
            }
            return Err("goal edit cannot change phase or blocked reason".to_owned());
        }
        if after.objective != before.objective || after.max_rounds != before.max_rounds {
            return Err(format!("goal {operation} cannot change objective or maxGoalRounds"));
        }
        let (fits, more) = match operation {
            "pause" => (before.phase == Phase::Active && after.phase == Phase::Paused, ""),
            "resume" => {
                let fits = before.phase != Phase::Complete
                    && after.phase == Phase::Active
                    && self.rounds < after.max_rounds;
                (fits, " or exhausted round budget")
            }
            "complete" => (before.phase != Phase::Complete && after.phase == Phase::Complete, ""),
            _ => (before.phase == Phase::Active && after.phase == Phase::Blocked, ""),
        };
        if fits { Ok(()) } else { Err(format!("goal {operation} has an invalid phase transition{more}")) }
    }

    fn tree(&self, shown: bool) -> Tree<'static> {
        object([
            ("goal", self.goal.tree(shown)),
            ("roundsStarted", Tree::integer(self.rounds)),
            ("createdAt", Tree::integer(self.created)),
            ("updatedAt", Tree::integer(self.updated)),
        ])
    }
}

/// A string of the payload.
fn text(value: Option<Js<'_>>) -> Option<JsString> {
    Some(value?.as_str()?.to_owned())
}
