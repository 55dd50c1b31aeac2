//! Retries of V3 (`docs/spec/events-v0-v3.md`, section 7.7).

use std::collections::{HashMap, HashSet};

use crate::json::Js;

use super::super::fault::{Check, ensure, refuse, shown};
use super::super::rule::Rule;
use super::super::scalar::{Scalar, count};

const RULE: Rule = Rule::Retry;

#[derive(Debug, PartialEq, Eq, Hash)]
struct ChainKey {
    turn: u64,
    step: u64,
    provider: Scalar,
    policy: Scalar,
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
    /// Number and id of the latest retry of each chain.
    chains: HashMap<ChainKey, (u64, Scalar)>,
    ids: HashSet<Scalar>,
    scheduled: HashMap<(Scalar, u64), Scheduled>,
}

impl Retries {
    /// `llm/retry` in the open `turn`; `step` is the one that it must name, `provider` that of the latest header.
    pub(super) fn schedule(
        &mut self,
        data: Js<'_>,
        turn: u64,
        step: u64,
        provider: Option<&Scalar>,
    ) -> Check {
        for (member, expected) in [("turn", turn), ("step", step)] {
            let value = data.get(member);
            ensure(count(value) == Some(expected), RULE, &format!("/data/{member}"), value)?;
        }
        let stated = data.get("provider");
        let Some(provider) = provider.filter(|provider| provider.is_same_as(stated)) else {
            return refuse(RULE, "/data/provider", shown(stated));
        };
        let id = Scalar::of(data.get("retryId"));
        let policy = Scalar::of(data.get("policyKey"));
        let key = ChainKey { turn, step, provider: provider.clone(), policy };
        let last = self.chains.get(&key);
        let expected = last.map_or(1, |(retry, _)| retry + 1);
        let retry = data.get("retry");
        ensure(count(retry) == Some(expected), RULE, "/data/retry", retry)?;
        let fits = last.map_or_else(|| !self.ids.contains(&id), |(_, last)| last.is_same(&id));
        ensure(fits, RULE, "/data/retryId", data.get("retryId"))?;
        // What is the same as nothing can be found by nothing.
        if id != Scalar::Never {
            self.ids.insert(id.clone());
            self.scheduled.insert((id.clone(), expected), Scheduled { turn, step, started: false });
        }
        if key.policy != Scalar::Never {
            self.chains.insert(key, (expected, id));
        }
        Ok(())
    }

    /// `llm/retry-started`.
    pub(super) fn start(&mut self, data: Js<'_>) -> Check {
        let id = data.get("retryId");
        let key = count(data.get("retry")).map(|retry| (Scalar::of(id), retry));
        let found = key.and_then(|key| self.scheduled.get_mut(&key));
        let Some(scheduled) = found.filter(|scheduled| !scheduled.started) else {
            return refuse(RULE, "/data/retryId", shown(id));
        };
        for (member, expected) in [("turn", scheduled.turn), ("step", scheduled.step)] {
            let value = data.get(member);
            ensure(count(value) == Some(expected), RULE, &format!("/data/{member}"), value)?;
        }
        scheduled.started = true;
        Ok(())
    }
}
