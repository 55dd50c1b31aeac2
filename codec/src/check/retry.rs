//! Retries of model requests: `llm/retry`, `llm/retry-started`.

use std::collections::{HashMap, HashSet};

use crate::json::Js;

use super::fault::{Check, ensure, refuse, shown};
use super::rule::Rule;
use super::scalar::{Id, Scalar, count, equals, nonempty};

const RULE: Rule = Rule::Retry;

/// What retries of one chain have in common.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ChainKey {
    turn: u64,
    step: u64,
    provider: Scalar,
    policy: Scalar,
}

#[derive(Debug)]
struct Chain {
    retry: u64,
    id: Id,
}

#[derive(Debug)]
struct Scheduled {
    turn: u64,
    step: u64,
    started: bool,
}

/// The retries of a log.
#[derive(Debug, Default)]
pub(super) struct Retries {
    chains: HashMap<ChainKey, Chain>,
    ids: HashSet<Id>,
    scheduled: HashMap<(Id, u64), Scheduled>,
}

impl Retries {
    /// `llm/retry` in the open `turn`; `step` is the one that it must name.
    pub(super) fn schedule(&mut self, data: Js<'_>, turn: u64, step: u64, provider: &Scalar) -> Check {
        let id = data.get("retryId");
        let Some(name) = nonempty(id) else { return refuse(RULE, "/data/retryId", shown(id)) };
        let name = Id::from(name.to_wtf8());
        for (member, expected) in [("turn", turn), ("step", step)] {
            let value = data.get(member);
            ensure(equals(value, expected), RULE, &format!("/data/{member}"), value)?;
        }
        let stated = data.get("provider");
        ensure(provider.is_same_as(stated), RULE, "/data/provider", stated)?;
        let policy = Scalar::of(data.get("policyKey"));
        let retry = data.get("retry");
        let number = count(retry);
        let key = ChainKey { turn, step, provider: provider.clone(), policy };
        let last = self.chains.get(&key);
        let next = last.map_or(1, |last| last.retry.saturating_add(1));
        ensure(number == Some(next), RULE, "/data/retry", retry)?;
        let fits = last.map_or_else(|| !self.ids.contains(&name), |last| last.id == name);
        ensure(fits, RULE, "/data/retryId", id)?;
        self.ids.insert(name.clone());
        self.scheduled.insert((name.clone(), next), Scheduled { turn, step, started: false });
        // A policy that is never the same as another one chains nothing.
        if key.policy != Scalar::Never {
            self.chains.insert(key, Chain { retry: next, id: name });
        }
        Ok(())
    }

    /// `llm/retry-started`.
    pub(super) fn start(&mut self, data: Js<'_>) -> Check {
        let id = data.get("retryId");
        let key = nonempty(id).map(|id| Id::from(id.to_wtf8())).zip(count(data.get("retry")));
        let found = key.and_then(|key| self.scheduled.get_mut(&key));
        let Some(scheduled) = found.filter(|scheduled| !scheduled.started) else {
            return refuse(RULE, "/data/retryId", shown(id));
        };
        for (member, expected) in [("turn", scheduled.turn), ("step", scheduled.step)] {
            let value = data.get(member);
            ensure(equals(value, expected), RULE, &format!("/data/{member}"), value)?;
        }
        scheduled.started = true;
        Ok(())
    }
}
