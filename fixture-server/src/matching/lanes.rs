//! Order: which exchange each conversation waits for.

use std::collections::HashMap;

use super::{Grade, Prepared, Rule, Rung, mismatches};
use crate::dialect::View;
use crate::script::{Exchange, Script};

/// The name of the lane of exchanges that name none.
const MAIN: &str = "main";

/// The state of all lanes and side rules.
#[derive(Debug)]
pub(crate) struct Lanes {
    pub(super) queues: Vec<Lane>,
    /// How often each side rule has answered.
    side: Vec<u32>,
    /// Expectations, made ready, of exchanges and of side rules.
    exchanges_expect: Vec<Option<Prepared>>,
    side_expect: Vec<Option<Prepared>>,
    /// How often each has been served.
    served: HashMap<Rung, u32>,
    /// One queue for all conversations.
    shared: bool,
}

/// A queue of exchanges.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) name: String,
    pub(super) exchanges: Vec<usize>,
    /// How many of them are done with.
    pub(super) at: usize,
    /// How often the one that is waited for has been served.
    pub(super) served: u32,
    /// The conversation that it belongs to.
    pub(super) conversation: Option<String>,
}

/// The exchange or side rule that a request belongs to.
#[derive(Debug)]
pub(crate) struct Pick {
    pub(crate) rung: Rung,
    /// The lane, of an exchange.
    pub(crate) lane: Option<String>,
    pub(crate) grade: Grade,
    /// How often it had been served before.
    pub(crate) nth: u32,
}

impl Lanes {
    pub(crate) fn new(script: &Script) -> Lanes {
        let mut lanes: Vec<Lane> = Vec::new();
        for (n, exchange) in script.exchanges.iter().enumerate() {
            let name = exchange.lane.as_deref().unwrap_or(MAIN);
            match lanes.iter_mut().find(|lane| lane.name == name) {
                Some(lane) => lane.exchanges.push(n),
                None => lanes.push(Lane {
                    name: name.to_owned(),
                    exchanges: vec![n],
                    at: 0,
                    served: 0,
                    conversation: None,
                }),
            }
        }
        let prepared = |rule: Rule<'_>| rule.expect.and_then(Prepared::new);
        Lanes {
            queues: lanes,
            side: vec![0; script.side.len()],
            exchanges_expect: script.exchanges.iter().map(|exchange| prepared(exchange.into())).collect(),
            side_expect: script.side.iter().map(|side| prepared(side.into())).collect(),
            served: HashMap::new(),
            shared: !script.has_lanes(),
        }
    }

    /// The exchange that a request belongs to; it counts as served.
    pub(crate) fn take(&mut self, script: &Script, view: &View, conversation: &str) -> Option<Pick> {
        self.take_side(script, view).or_else(|| self.take_exchange(script, view, conversation))
    }

    fn take_side(&mut self, script: &Script, view: &View) -> Option<Pick> {
        let mut rules = script.side.iter().zip(&mut self.side).enumerate();
        let (n, used) = rules.find_map(|(n, (side, used))| {
            let left = side.times.is_none_or(|times| *used < times);
            (left && mismatches(side.into(), view).is_empty()).then_some((n, used))
        })?;
        *used += 1;
        let grade = grade(self.side_expect.get(n), view);
        Some(self.pick(Rung::Side(n), None, grade))
    }

    fn take_exchange(&mut self, script: &Script, view: &View, conversation: &str) -> Option<Pick> {
        let bound = self
            .queues
            .iter()
            .position(|lane| self.shared || lane.conversation.as_deref() == Some(conversation));
        let candidates = match bound {
            Some(lane) => lane..lane + 1,
            None => 0..self.queues.len(),
        };
        let fitting = candidates.filter_map(|n| {
            let lane = self.queues.get(n).filter(|lane| bound.is_some() || lane.conversation.is_none())?;
            let step = lane.step(script, view)?;
            let exchange = *lane.exchanges.get(step)?;
            Some((n, step, exchange, grade(self.exchanges_expect.get(exchange), view)))
        });
        // Of several lanes that a new conversation could begin, the one that it fits best; else the first.
        let (n, step, exchange, grade) = fitting.min_by_key(|(.., grade)| grade.rank())?;
        let lane = self.queues.get_mut(n)?;
        lane.serve(script, step);
        if !self.shared {
            lane.conversation = Some(conversation.to_owned());
        }
        let lane = Some(lane.name.clone());
        Some(self.pick(Rung::Exchange(exchange), lane, grade))
    }

    fn pick(&mut self, rung: Rung, lane: Option<String>, grade: Grade) -> Pick {
        let served = self.served.entry(rung).or_default();
        *served += 1;
        Pick { rung, lane, grade, nth: *served - 1 }
    }

    /// Exchanges that have not been served as often as they must be.
    pub(crate) fn left(&self, script: &Script) -> Vec<Rung> {
        let mut left: Vec<Rung> = Vec::new();
        for lane in &self.queues {
            for (step, exchange) in lane.exchanges.iter().enumerate().skip(lane.at) {
                let served = if step == lane.at { lane.served } else { 0 };
                let wanted = script.exchanges.get(*exchange);
                if wanted.is_some_and(|exchange| !exchange.may_be_left(served)) {
                    left.push(Rung::Exchange(*exchange));
                }
            }
        }
        left.sort_unstable();
        left
    }

    /// How an expectation sees a request, without serving it.
    pub(super) fn grade(&self, rung: Rung, view: &View) -> Grade {
        match rung {
            Rung::Exchange(n) => grade(self.exchanges_expect.get(n), view),
            Rung::Side(n) => grade(self.side_expect.get(n), view),
        }
    }
}

fn grade(prepared: Option<&Option<Prepared>>, view: &View) -> Grade {
    match prepared {
        Some(Some(prepared)) => prepared.grade(&view.body),
        _ => Grade::Unchecked,
    }
}

impl Lane {
    /// The step that a request fits: the one waited for, or one behind it when all between may be passed over.
    fn step(&self, script: &Script, view: &View) -> Option<usize> {
        for (step, exchange) in self.exchanges.iter().enumerate().skip(self.at) {
            let exchange = script.exchanges.get(*exchange)?;
            if mismatches(exchange.into(), view).is_empty() {
                return Some(step);
            }
            let served = if step == self.at { self.served } else { 0 };
            if !exchange.may_be_left(served) {
                return None;
            }
        }
        None
    }

    fn serve(&mut self, script: &Script, step: usize) {
        if step != self.at {
            self.at = step;
            self.served = 0;
        }
        self.served += 1;
        let exchange = self.exchanges.get(step).and_then(|exchange| script.exchanges.get(*exchange));
        if exchange.is_some_and(|exchange| !exchange.repeat && self.served >= exchange.times.0) {
            self.at += 1;
            self.served = 0;
        }
    }
}

impl Exchange {
    /// True when the next one may be served after this one was served so often.
    fn may_be_left(&self, served: u32) -> bool {
        self.optional || if self.repeat { served > 0 } else { served >= self.times.0 }
    }
}
