//! The surface: the events that make model history, in the order the model sees them (`docs/spec/surface.md`,
//! section 2; `docs/spec/events-v4.md`, section 8).

use crate::event::Event;
use crate::json::Js;
use crate::pack::ranges::spans;
use crate::types::Seq;

use super::fault::{Check, ensure, refuse, shown};
use super::order::{NoStretch, NodeOrder};
use super::rule::Rule;
use super::scalar::count;
use super::vocabulary::EventType;

/// What an event says about its place on the surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Append,
    Replace { start: u64, end: u64 },
}

impl Op {
    /// `"append"`, or an object of exactly `op`, `startSeq` and `endSeq`, both earlier.
    fn parse(op: Option<Js<'_>>, own: u64) -> Check<Op> {
        let parsed = op.and_then(|op| {
            if op.is("append") {
                return Some(Op::Append);
            }
            let earlier = |name: &str| op.get(name)?.as_count().filter(|seq| *seq < own);
            let exact = op.has_only(&["op", "startSeq", "endSeq"]) && op.get("op")?.is("replace");
            exact.then_some(Op::Replace { start: earlier("startSeq")?, end: earlier("endSeq")? })
        });
        match parsed {
            Some(op) => Ok(op),
            None => refuse(Rule::SurfaceMetadata, "/surfaceOp", shown(op)),
        }
    }
}

/// What an event did to the surface.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Change {
    None,
    Append,
    /// The nodes that it took the place of, in order.
    Replace(Vec<u64>),
}

/// The nodes. Their order is that of the model's history, not that of seqs.
#[derive(Debug, Default)]
pub(super) struct Surface {
    nodes: NodeOrder,
    /// The system message at position 0, which only another one may replace.
    head: Option<u64>,
}

impl Surface {
    /// Put a surface event in its place. A refused event changes nothing.
    pub(super) fn fold(&mut self, event: &Event<'_>, kind: EventType) -> Check<Change> {
        let seq = event.seq.0;
        let op = Op::parse(event.surface_op(), seq)?;
        let system = kind == EventType::SystemMessage;
        if system && !self.nodes.is_empty() && self.head.is_none() {
            return refuse(Rule::SurfaceLifecycle, "", "a system message must be the first surface event");
        }
        let Op::Replace { start, end } = op else {
            if system && self.nodes.is_empty() {
                self.head = Some(seq);
            }
            self.nodes.push(seq);
            return Ok(Change::Append);
        };
        let removed = self.stretch(start, end, Rule::SurfaceLifecycle, "/surfaceOp")?;
        let cited = Cited::new(event.source_seqs());
        if let Some(missing) = removed.iter().find(|&&node| !cited.contains(node)) {
            return refuse(
                Rule::SurfaceLifecycle,
                "/sourceEventSeqs",
                format!("the replaced event {missing} is not cited"),
            );
        }
        if let Some(head) = self.head.filter(|head| removed.contains(head)) {
            if !system || removed.len() != 1 {
                return refuse(
                    Rule::SurfaceLifecycle,
                    "/surfaceOp",
                    format!("only a system message may replace the head {head}, and nothing with it"),
                );
            }
            self.head = Some(seq);
        }
        match self.nodes.replace(start, end, seq) {
            Ok(_) => Ok(Change::Replace(removed)),
            Err(why) => no_stretch(why, start, end, Rule::SurfaceLifecycle, "/surfaceOp"),
        }
    }

    fn stretch(&self, start: u64, end: u64, rule: Rule, pointer: &str) -> Check<Vec<u64>> {
        match self.nodes.stretch(start, end) {
            Ok(nodes) => Ok(nodes),
            Err(why) => no_stretch(why, start, end, rule, pointer),
        }
    }

    /// The span rule of compaction and prune: `shadowedSeqs` is exactly the part of the surface from
    /// `shadowedRange.start` to `.end`, and the head is not in it.
    pub(super) fn check_span(&self, event: &Event<'_>, data: Js<'_>) -> Check {
        const RULE: Rule = Rule::Compaction;
        let range = data.get("shadowedRange");
        let earlier = |name: &str| count(range.and_then(|r| r.get(name))).filter(|seq| *seq < event.seq.0);
        let (Some(start), Some(end)) = (earlier("start"), earlier("end")) else {
            return refuse(RULE, "/data/shadowedRange", shown(range));
        };
        let span = self.stretch(start, end, RULE, "/data/shadowedRange")?;
        let listed = data.get("shadowedSeqs");
        let exact = listed.is_some_and(|l| {
            l.is_array() && l.elements().map(Js::as_count).eq(span.iter().map(|&node| Some(node)))
        });
        ensure(exact, RULE, "/data/shadowedSeqs", listed)?;
        match self.head.filter(|head| span.contains(head)) {
            Some(head) => refuse(RULE, "/data/shadowedRange", format!("the head {head} is in the span")),
            None => Ok(()),
        }
    }

    /// The nodes, in order.
    pub(super) fn to_nodes(&self) -> Vec<Seq> {
        self.nodes.iter().map(Seq).collect()
    }
}

fn no_stretch<T>(why: NoStretch, start: u64, end: u64, rule: Rule, pointer: &str) -> Check<T> {
    let detail = match why {
        NoStretch::Missing(seq) => format!("{seq} is not on the surface"),
        NoStretch::Reversed => format!("{start} stands behind {end} on the surface"),
    };
    refuse(rule, pointer, detail)
}

/// Cited seqs, to be found. Building it takes time by the pairs that are written, not by the seqs that they stand for.
struct Cited(Vec<(u64, u64)>);

impl Cited {
    fn new(sources: Option<Js<'_>>) -> Self {
        let mut ranges: Vec<_> =
            sources.into_iter().flat_map(spans).map(std::ops::RangeInclusive::into_inner).collect();
        ranges.sort_unstable();
        Self(ranges)
    }

    fn contains(&self, seq: u64) -> bool {
        let behind = self.0.partition_point(|&(start, _)| start <= seq);
        behind.checked_sub(1).and_then(|i| self.0.get(i)).is_some_and(|&(_, end)| seq <= end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Doc;

    #[test]
    fn cited_seqs_are_found_without_being_listed() {
        let doc = Doc::parse("[2,[5,9007199254740000],1]").unwrap();
        let cited = Cited::new(Some(doc.root()));
        for (seq, found) in [(0, false), (1, true), (2, true), (4, false), (5, true), (1 << 52, true)] {
            assert_eq!(cited.contains(seq), found, "{seq}");
        }
        assert!(!Cited::new(None).contains(0));
    }
}
