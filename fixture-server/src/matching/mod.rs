//! Which exchange a request belongs to.

mod compare;
mod judge;
mod lanes;
mod report;

pub use judge::Mismatch;
pub use report::{Nearest, Report, Waiting};

pub(crate) use compare::{Grade, Prepared};
pub(crate) use judge::{conversation, mismatches};
pub(crate) use lanes::{Lanes, Pick};

use std::fmt;

use crate::dialect::Kind;
use crate::script::{Exchange, Expect, Matcher, Response, Script, Side};

/// An exchange or side rule of a script, by its number from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rung {
    /// An exchange.
    Exchange(usize),
    /// A side rule.
    Side(usize),
}

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rung::Exchange(n) => write!(f, "exchanges[{n}]"),
            Rung::Side(n) => write!(f, "side[{n}]"),
        }
    }
}

impl Script {
    /// All exchanges, then all side rules, in order.
    pub(crate) fn rungs(&self) -> impl Iterator<Item = (Rung, Rule<'_>)> {
        let exchanges = self.exchanges.iter().enumerate();
        let side = self.side.iter().enumerate();
        let exchanges = exchanges.map(|(n, exchange)| (Rung::Exchange(n), Rule::from(exchange)));
        exchanges.chain(side.map(|(n, side)| (Rung::Side(n), Rule::from(side))))
    }

    /// One of them.
    pub(crate) fn rung(&self, rung: Rung) -> Option<Rule<'_>> {
        match rung {
            Rung::Exchange(n) => self.exchanges.get(n).map(Rule::from),
            Rung::Side(n) => self.side.get(n).map(Rule::from),
        }
    }

    /// How reports call one of them.
    pub(crate) fn label(&self, rung: Rung) -> String {
        match self.rung(rung).map(|rule| rule.name).filter(|name| !name.is_empty()) {
            Some(name) => format!("{rung} `{name}`"),
            None => rung.to_string(),
        }
    }
}

/// What exchanges and side rules have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rule<'s> {
    pub(crate) name: &'s str,
    pub(crate) matcher: &'s Matcher,
    /// The kind that it takes; any when there is none.
    pub(crate) kind: Option<Kind>,
    pub(crate) expect: Option<&'s Expect>,
    pub(crate) respond: &'s Response,
}

impl Rule<'_> {
    /// True when it takes every request of its kind.
    pub(crate) fn has_no_conditions(&self) -> bool {
        let only_kind = Matcher { kind: self.matcher.kind, ..Matcher::default() };
        self.expect.is_none() && *self.matcher == only_kind
    }
}

impl<'s> From<&'s Exchange> for Rule<'s> {
    fn from(exchange: &'s Exchange) -> Self {
        Rule {
            name: &exchange.name,
            matcher: &exchange.matcher,
            // A title request holds the prompt that it is for, so it would fit the exchange of that prompt too.
            kind: exchange.matcher.kind.or(Some(Kind::Agent)),
            expect: exchange.expect.as_ref(),
            respond: &exchange.respond,
        }
    }
}

impl<'s> From<&'s Side> for Rule<'s> {
    fn from(side: &'s Side) -> Self {
        Rule {
            name: &side.name,
            matcher: &side.matcher,
            kind: side.matcher.kind,
            expect: side.expect.as_ref(),
            respond: &side.respond,
        }
    }
}
