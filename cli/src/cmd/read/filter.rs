//! Which events of a log are shown.

use dshlog_codec::Event;
use globset::{Glob, GlobSet, GlobSetBuilder};

use crate::args::Read;
use crate::exit::Failure;

/// Turn, seqs and types. Follows the turns, so it must see every event.
#[derive(Clone, Debug)]
pub(in crate::cmd) struct Filter {
    turn: Option<u64>,
    from: u64,
    to: u64,
    at: Option<u64>,
    types: Option<GlobSet>,
    open: Option<u64>,
    seen_turn: bool,
}

impl Filter {
    /// Only this turn, and only up to this event.
    pub(in crate::cmd) fn excerpt(turn: Option<u64>, at: Option<u64>) -> Self {
        Filter { turn, from: 0, to: u64::MAX, at, types: None, open: None, seen_turn: false }
    }

    pub(super) fn new(args: &Read) -> Result<Self, Failure> {
        let (from, to) = match &args.seq {
            None => (0, u64::MAX),
            Some(text) => range(text).ok_or_else(|| {
                Failure::usage(format!("`{text}` is no range of seqs"))
                    .hint("`7`, `7..12`, `7..` and `..12` are")
            })?,
        };
        let types = if args.types.is_empty() { None } else { Some(globs(&args.types)?) };
        if args.at.len() > 1 && args.state.is_empty() {
            return Err(Failure::usage("`--at` takes several seqs only with `--state`"));
        }
        let at = args.at.iter().copied().max();
        Ok(Filter { turn: args.turn, from, to, at, types, open: None, seen_turn: false })
    }

    /// True when everything is shown.
    pub(super) fn is_empty(&self) -> bool {
        self.turn.is_none()
            && self.from == 0
            && self.to == u64::MAX
            && self.at.is_none()
            && self.types.is_none()
    }

    /// True when only `--at` is given or nothing.
    pub(in crate::cmd) fn is_only_at(&self) -> bool {
        Filter { at: None, ..self.clone() }.is_empty()
    }

    /// The last event of interest.
    pub(in crate::cmd) fn last(&self) -> u64 {
        self.to.min(self.at.unwrap_or(u64::MAX))
    }

    /// The event of `--at`; of several the last.
    pub(super) fn at(&self) -> Option<u64> {
        self.at
    }

    /// Take in the next event; true when it is shown.
    pub(in crate::cmd) fn see(&mut self, event: &Event<'_>) -> bool {
        let turn = || event.member("turn").and_then(dshlog_codec::json::Js::as_count);
        if event.is("turn/start") {
            self.open = turn();
        }
        let in_turn = self.turn.is_none_or(|turn| self.open == Some(turn));
        self.seen_turn |= self.turn.is_some() && in_turn;
        if event.is("turn/end") {
            self.open = None;
        }
        let seq = event.seq.0;
        in_turn
            && self.from <= seq
            && seq <= self.last()
            && self.types.as_ref().is_none_or(|types| types.is_match(&*event.kind.to_lossy()))
    }

    /// Refuse what was asked for and is not in the log, which has `events` events and was shown to [`Filter::see`].
    pub(in crate::cmd) fn check(&self, events: u64) -> Result<(), Failure> {
        self.missed(events).map_or(Ok(()), |missed| Err(Failure::usage(missed)))
    }

    fn missed(&self, events: u64) -> Option<String> {
        if let Some(turn) = self.turn
            && !self.seen_turn
        {
            return Some(format!("there is no turn {turn}"));
        }
        let seq = self
            .at
            .filter(|at| *at >= events)
            .or((self.from > 0 && self.from >= events).then_some(self.from))?;
        Some(match events {
            0 => format!("there is no seq {seq}; the log has no events"),
            events => format!("there is no seq {seq}; the last one is {}", events - 1),
        })
    }
}

/// `7`, `7..12`, `7..`, `..12`; both ends belong to it.
fn range(text: &str) -> Option<(u64, u64)> {
    let bound = |text: &str, open: u64| if text.is_empty() { Some(open) } else { text.parse().ok() };
    let (from, to) = match text.split_once("..") {
        None => {
            let seq = text.parse().ok()?;
            (seq, seq)
        }
        Some(("", "")) => return None,
        Some((from, to)) => (bound(from, 0)?, bound(to, u64::MAX)?),
    };
    (from <= to).then_some((from, to))
}

fn globs(patterns: &[String]) -> Result<GlobSet, Failure> {
    let mut set = GlobSetBuilder::new();
    let fail = |e: globset::Error| Failure::usage(format!("`--type`: {e}"));
    for pattern in patterns {
        set.add(Glob::new(pattern).map_err(fail)?);
    }
    set.build().map_err(fail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_both_ends() {
        for (text, expected) in [
            ("7", Some((7, 7))),
            ("7..12", Some((7, 12))),
            ("7..", Some((7, u64::MAX))),
            ("..12", Some((0, 12))),
            ("7..7", Some((7, 7))),
            ("..", None),
            ("12..7", None),
            ("a..b", None),
            ("-1", None),
            ("", None),
        ] {
            assert_eq!(range(text), expected, "{text}");
        }
    }

    #[test]
    fn globs_cross_slashes_as_people_expect() {
        let set = globs(&["tool/*".to_owned(), "turn/?nd".to_owned()]).unwrap();
        for (kind, expected) in
            [("tool/call", true), ("turn/end", true), ("turn/start", false), ("plugin:tool/call", false)]
        {
            assert_eq!(set.is_match(kind), expected, "{kind}");
        }
    }
}
