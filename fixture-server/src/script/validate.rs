//! What a script says and cannot be: found before the server starts, not by a test that hangs.

mod answer;
mod demand;

use std::fmt;

use super::{Exchange, Matcher, Script, Side};
use crate::dialect::Kind;
use crate::matching::{Rule, Rung};

/// Something that a script says and that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, as `exchanges[2].respond`.
    pub place: String,
    /// What.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.place, self.what)
    }
}

/// Problems, and the place that is looked at.
struct Finder {
    found: Vec<Problem>,
}

impl Finder {
    fn add(&mut self, place: impl fmt::Display, what: impl Into<String>) {
        self.found.push(Problem { place: place.to_string(), what: what.into() });
    }

    /// Adds a problem when there is one.
    fn when(&mut self, wrong: bool, place: impl fmt::Display, what: &str) {
        if wrong {
            self.add(place, what);
        }
    }
}

/// Everything that is wrong with a script.
pub(super) fn problems(script: &Script) -> Vec<Problem> {
    let mut finder = Finder { found: Vec::new() };
    finder.when(
        script.exchanges.is_empty() && script.side.is_empty(),
        "exchanges",
        "no exchange and no side rule: every request would be refused",
    );
    demand::conversation(&mut finder, &script.conversation);
    for (n, exchange) in script.exchanges.iter().enumerate() {
        let place = Rung::Exchange(n);
        finder.when(exchange.times.0 == 0, format!("{place}.times"), "served 0 times: take it out");
        finder.when(
            exchange.repeat && exchange.times.0 > 1,
            format!("{place}.times"),
            "`repeat` leaves open how often; one of the two",
        );
    }
    for (n, side) in script.side.iter().enumerate() {
        let place = Rung::Side(n);
        finder.when(side.times == Some(0), format!("{place}.times"), "answers 0 times: take it out");
        finder.when(
            side.matcher == Matcher::default(),
            format!("{place}.match"),
            "a side rule without conditions takes every request; say at least its kind",
        );
    }
    for (rung, rule) in script.rungs() {
        demand::demands(&mut finder, rung, rule);
        answer::answer(&mut finder, &format!("{rung}.respond"), rule.respond);
        waits(&mut finder, script, rung, rule);
    }
    never_reached(&mut finder, script);
    finder.found
}

/// What an answer waits for is something else, and exists.
fn waits(finder: &mut Finder, script: &Script, rung: Rung, rule: Rule<'_>) {
    let Some(wait) = &rule.respond.wait_for else { return };
    let place = format!("{rung}.respond.wait_for.name");
    match script.rungs().find(|(_, other)| other.name == wait.name && !wait.name.is_empty()) {
        None => {
            let why = format!("no exchange or side rule is called {:?}", wait.name);
            finder.add(place, why);
        }
        Some((other, _)) => finder.when(other == rung, place, "an answer that waits for itself"),
    }
}

/// Exchanges and rules that stand behind one that takes all their requests.
fn never_reached(finder: &mut Finder, script: &Script) {
    let endless = |side: &&(usize, &Side)| side.1.times.is_none();
    let sides: Vec<(usize, &Side)> = script.side.iter().enumerate().collect();
    for (n, exchange) in script.exchanges.iter().enumerate() {
        let rung = Rung::Exchange(n);
        if let Some((before, repeated)) = predecessor(script, n).filter(|(_, before)| before.repeat)
            && covers(repeated.into(), exchange.into())
        {
            finder.add(
                rung,
                format!("never reached: {} repeats and takes all its requests", Rung::Exchange(before)),
            );
        }
        let taker = sides.iter().filter(endless).find(|(_, side)| covers((*side).into(), exchange.into()));
        if let Some((side, _)) = taker {
            finder.add(rung, format!("never reached: {} takes all its requests", Rung::Side(*side)));
        }
    }
    for (n, side) in &sides {
        let earlier = sides.iter().take(*n).filter(endless);
        if let Some((taker, _)) =
            earlier.into_iter().find(|(_, earlier)| covers((*earlier).into(), (*side).into()))
        {
            finder
                .add(Rung::Side(*n), format!("never reached: {} takes all its requests", Rung::Side(*taker)));
        }
    }
}

/// The exchange before this one in its lane.
fn predecessor(script: &Script, n: usize) -> Option<(usize, &Exchange)> {
    let lane = &script.exchanges.get(n)?.lane;
    let before = script.exchanges.iter().enumerate().take(n);
    before.rev().find(|(_, exchange)| exchange.lane == *lane)
}

/// True when every request that fits `b` fits `a`: each condition of `a` is one of `b` too.
fn covers(a: Rule<'_>, b: Rule<'_>) -> bool {
    fn same<T: PartialEq>(a: Option<&T>, b: Option<&T>) -> bool {
        a.is_none() || a == b
    }
    fn among<T: PartialEq>(a: &[T], b: &[T]) -> bool {
        a.iter().all(|condition| b.contains(condition))
    }
    let (m, n) = (a.matcher, b.matcher);
    same::<Kind>(a.kind.as_ref(), b.kind.as_ref())
        && same(m.dialect.as_ref(), n.dialect.as_ref())
        && same(m.path.as_ref(), n.path.as_ref())
        && same(m.model.as_ref(), n.model.as_ref())
        && same(m.system.as_ref(), n.system.as_ref())
        && same(m.first_user.as_ref(), n.first_user.as_ref())
        && same(m.last_user.as_ref(), n.last_user.as_ref())
        && same(m.messages.as_ref(), n.messages.as_ref())
        && same(m.tools.as_ref(), n.tools.as_ref())
        && among(&m.results, &n.results)
        && among(&m.json, &n.json)
        && among(&m.headers, &n.headers)
}
