//! The payload of a change, and the source of a message that begins a round.

use dshlog_codec::json::{Fields, Js, JsString, SAFE_INTEGER, Tree, ordered_members};

use super::super::preview::is_blank;
use super::super::value::{Kept, object};
use super::text;

/// A change, read.
#[derive(Debug)]
pub(super) enum Change {
    /// The goal is given up.
    Clear { id: JsString, revision: u64, at: u64 },
    /// The goal is another one now, or has changed.
    Snapshot(Changed),
}

/// What the goal is from now on.
#[derive(Debug)]
pub(super) struct Changed {
    pub(super) operation: &'static str,
    pub(super) goal: Goal,
    pub(super) rounds: u64,
    pub(super) created: u64,
    pub(super) updated: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Goal {
    pub(super) id: JsString,
    pub(super) revision: u64,
    pub(super) objective: JsString,
    pub(super) phase: Phase,
    pub(super) max_rounds: u64,
    /// Code and message.
    pub(super) blocked: Option<(JsString, JsString)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Active,
    Paused,
    Blocked,
    Complete,
}

impl Phase {
    const ALL: [(Phase, &str); 4] = [
        (Phase::Active, "active"),
        (Phase::Paused, "paused"),
        (Phase::Blocked, "blocked"),
        (Phase::Complete, "complete"),
    ];

    fn name(self) -> &'static str {
        Phase::ALL.into_iter().find(|(phase, _)| *phase == self).map_or("", |(_, name)| name)
    }
}

const OPERATIONS: [&str; 6] = ["create", "edit", "pause", "resume", "complete", "block"];

impl Change {
    /// Read a payload; nothing when it does not say that it is a change.
    pub(super) fn decode(data: Js<'_>) -> Option<Result<Self, String>> {
        data.get("kind").is_some_and(|kind| kind.is("goal/change")).then(|| Change::of(data))
    }

    fn of(data: Js<'_>) -> Result<Self, String> {
        let version = data.get("version");
        if version.and_then(Js::as_f64) != Some(1.0) {
            return Err(format!("unsupported goal change version {}", spelled(version)));
        }
        let operation = data.get("operation");
        let is = |name: &str| operation.is_some_and(|operation| operation.is(name));
        if is("clear") {
            check_members(data, "cleared,clearedAt,kind,operation,version", "goal clear change")?;
            let (id, revision) = tombstone(data.get("cleared"))?;
            return Ok(Change::Clear { id, revision, at: count(data, "clearedAt", "clearedAt")? });
        }
        let operation =
            OPERATIONS.into_iter().find(|name| is(name)).ok_or("goal change operation is invalid")?;
        let members = "createdAt,goal,kind,operation,roundsStarted,updatedAt,version";
        check_members(data, members, "goal snapshot change")?;
        let created = count(data, "createdAt", "createdAt")?;
        let updated = count(data, "updatedAt", "updatedAt")?;
        if updated < created {
            return Err("goal change updatedAt cannot precede createdAt".to_owned());
        }
        let goal = Goal::of(data.get("goal"))?;
        let rounds = count(data, "roundsStarted", "roundsStarted")?;
        Ok(Change::Snapshot(Changed { operation, goal, rounds, created, updated }))
    }
}

impl Goal {
    fn of(goal: Option<Js<'_>>) -> Result<Self, String> {
        let goal = goal.filter(|goal| goal.is_object()).ok_or("goal change goal must be a record")?;
        let id = text(goal.get("id")).filter(|id| !id.is_empty());
        let id = id.ok_or("goal change goal.id must be a non-empty string")?;
        let objective = text(goal.get("objective")).filter(is_trimmed);
        let objective = objective.ok_or("goal change goal.objective must be non-empty and normalized")?;
        let phase = goal.get("phase");
        let phase = Phase::ALL.into_iter().find(|(_, name)| phase.is_some_and(|phase| phase.is(name)));
        let (phase, name) = phase.ok_or("goal change goal.phase is invalid")?;
        let members = match phase {
            Phase::Blocked => "blockedReason,id,maxGoalRounds,objective,phase,revision",
            _ => "id,maxGoalRounds,objective,phase,revision",
        };
        check_members(goal, members, &format!("goal change goal for phase {name}"))?;
        let revision = positive(goal, "revision", "goal.revision")?;
        let max_rounds = positive(goal, "maxGoalRounds", "goal.maxGoalRounds")?;
        let blocked = match phase {
            Phase::Blocked => Some(blocked_reason(goal.get("blockedReason"))?),
            _ => None,
        };
        Ok(Goal { id, revision, objective, phase, max_rounds, blocked })
    }

    /// As it is stored, or as clients are shown it, with the reason at another place.
    pub(super) fn tree(&self, shown: bool) -> Tree<'static> {
        let mut goal = Fields::new()
            .with("id", Kept::string(&self.id).tree())
            .with("revision", Tree::integer(self.revision))
            .with("objective", Kept::string(&self.objective).tree())
            .with("phase", Tree::string(self.phase.name()));
        let rounds = Tree::integer(self.max_rounds);
        if !shown {
            goal.set("maxGoalRounds", rounds.clone());
        }
        if let Some((code, message)) = &self.blocked {
            let reason = [("code", Kept::string(code).tree()), ("message", Kept::string(message).tree())];
            goal.set("blockedReason", object(reason));
        }
        goal.set("maxGoalRounds", rounds);
        goal.into()
    }
}

/// The source of a message that begins a round.
#[derive(Debug)]
pub(super) struct Round {
    pub(super) goal: JsString,
    pub(super) revision: u64,
    pub(super) number: u64,
}

impl Round {
    pub(super) fn decode(source: Js<'_>) -> Result<Self, String> {
        let positive = |name| source.get(name).and_then(Js::as_count).filter(|count| *count > 0);
        let goal = text(source.get("goalId")).filter(|id| !id.is_empty());
        match (goal, positive("revision"), positive("round")) {
            (Some(goal), Some(revision), Some(number)) => Ok(Round { goal, revision, number }),
            _ => Err("goal message source is invalid".to_owned()),
        }
    }
}

fn blocked_reason(reason: Option<Js<'_>>) -> Result<(JsString, JsString), String> {
    let reason = reason.filter(|reason| members(*reason).is_some_and(|members| members == "code,message"));
    let reason = reason.ok_or("goal change goal.blockedReason must have exactly code and message fields")?;
    let code = text(reason.get("code")).filter(|code| code.as_str().is_some_and(is_kebab_case));
    let code = code.ok_or("goal change goal.blockedReason.code must be lower-kebab-case")?;
    let message = text(reason.get("message")).filter(is_trimmed);
    let message = message.ok_or("goal change goal.blockedReason.message must be non-empty and normalized")?;
    Ok((code, message))
}

fn tombstone(cleared: Option<Js<'_>>) -> Result<(JsString, u64), String> {
    let cleared = cleared.filter(|cleared| members(*cleared).is_some_and(|members| members == "id,revision"));
    let cleared = cleared.ok_or("goal clear tombstone must have exactly id and revision fields")?;
    let id = text(cleared.get("id")).filter(|id| !id.is_empty());
    let id = id.ok_or("goal clear tombstone id must be a non-empty string")?;
    Ok((id, positive(cleared, "revision", "cleared.revision")?))
}

/// The names of an object's members, sorted.
fn members(object: Js<'_>) -> Option<String> {
    if !object.is_object() {
        return None;
    }
    let mut names: Vec<_> =
        ordered_members(object).into_iter().map(|(name, _)| name.to_lossy().into_owned()).collect();
    names.sort();
    Some(names.join(","))
}

fn check_members(object: Js<'_>, expected: &str, what: &str) -> Result<(), String> {
    if members(object).is_some_and(|members| members == expected) {
        return Ok(());
    }
    Err(format!("{what} must have exactly {expected} fields"))
}

fn positive(object: Js<'_>, name: &str, what: &str) -> Result<u64, String> {
    let count = object.get(name).and_then(Js::as_count).filter(|count| *count > 0);
    count.ok_or_else(|| format!("goal change {what} must be a positive safe integer"))
}

/// A count; JavaScript takes negative zero for one.
fn count(object: Js<'_>, name: &str, what: &str) -> Result<u64, String> {
    let number = object.get(name);
    let count = number.and_then(Js::as_count).or_else(|| (number?.as_f64()? == 0.0).then_some(0));
    count
        .filter(|count| *count <= SAFE_INTEGER)
        .ok_or_else(|| format!("goal change {what} must be a non-negative safe integer"))
}

fn is_trimmed(text: &JsString) -> bool {
    let units: Vec<u16> = text.units().collect();
    matches!(units.as_slice(), [first, .., last] if !is_blank(*first) && !is_blank(*last))
        || matches!(units.as_slice(), [only] if !is_blank(*only))
}

fn is_kebab_case(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.split('-').all(|word| {
            !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        })
}

/// What `String()` of JavaScript makes of a value.
fn spelled(value: Option<Js<'_>>) -> String {
    match value {
        None => "undefined".to_owned(),
        Some(value) if value.is_object() => "[object Object]".to_owned(),
        Some(value) => match value.as_str() {
            Some(text) => text.to_lossy().into_owned(),
            None => Kept::of(value).text().to_owned(),
        },
    }
}
