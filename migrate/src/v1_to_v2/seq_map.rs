//! Where the events of V1 went, and what that does to references (`docs/spec/events-v0-v3.md`, 9.6).

use dshlog_codec::json::{Fields, Js, Tree};
use dshlog_codec::pack::Ranges;

use crate::fault::{Check, shown, unsupported};

use super::V1;

/// Target seqs of source seqs. It grows with every attempt, not with every event.
#[derive(Debug, Default)]
pub(super) struct SeqMap {
    /// By source seq. They do not overlap.
    runs: Vec<Run>,
}

/// Events that are neighbours in both logs.
#[derive(Clone, Copy, Debug)]
struct Run {
    source: u64,
    target: u64,
    len: u64,
}

impl SeqMap {
    /// Source event `source`, which has not been seen, is target event `target`.
    pub(super) fn insert(&mut self, source: u64, target: u64) {
        let at = self.runs.partition_point(|run| run.source <= source);
        if let Some(before) = at.checked_sub(1).and_then(|before| self.runs.get_mut(before))
            && before.source + before.len == source
            && before.target + before.len == target
        {
            before.len += 1;
        } else {
            self.runs.insert(at, Run { source, target, len: 1 });
        }
    }

    /// Where a source event went; nothing for one that did not go out, or not yet.
    fn get(&self, source: u64) -> Option<u64> {
        let at = self.runs.partition_point(|run| run.source <= source);
        let run = self.runs.get(at.checked_sub(1)?)?;
        let offset = source - run.source;
        (offset < run.len).then(|| run.target + offset)
    }

    fn reference(&self, value: Option<Js<'_>>, pointer: &str) -> Check<Tree<'static>> {
        // A map of JavaScript takes both zeros for one key.
        let zero = value.and_then(Js::as_f64).filter(|number| *number == 0.0).map(|_| 0);
        match value.and_then(Js::as_count).or(zero).and_then(|seq| self.get(seq)) {
            Some(seq) => Ok(Tree::integer(seq)),
            None => lost(pointer, &shown(value)),
        }
    }

    fn references(&self, list: Option<Js<'_>>, pointer: &str) -> Check<Tree<'static>> {
        let entries = list.into_iter().flat_map(Js::elements);
        let moved: Check<Vec<_>> = entries.map(|entry| self.reference(Some(entry), pointer)).collect();
        moved.map(Tree::Array)
    }

    /// Move the references in the payload of an event of type `kind`.
    pub(super) fn move_payload(&self, kind: &str, data: &mut Tree<'_>) -> Check {
        let Some(read) = data.read() else { return Ok(()) };
        let mut set = |name: &str, moved: Tree<'static>| {
            if let Some(members) = data.open() {
                members.set(name, moved);
            }
        };
        match kind {
            "command/done" => {
                let Some(seq) = read.get("sourceEventSeq") else { return Ok(()) };
                set("sourceEventSeq", self.reference(Some(seq), "/data/sourceEventSeq")?);
            }
            "compaction/prune" | "compaction/summary" => {
                let bound = |name| self.reference(read.path(&["shadowedRange", name]), "/data/shadowedRange");
                set(
                    "shadowedRange",
                    Fields::new().with("start", bound("start")?).with("end", bound("end")?).into(),
                );
                set("shadowedSeqs", self.references(read.get("shadowedSeqs"), "/data/shadowedSeqs")?);
            }
            "session/title" | "session/title-llm-request" => {
                set("messageSeqs", self.references(read.get("messageSeqs"), "/data/messageSeqs")?);
            }
            _ => {}
        }
        Ok(())
    }

    /// `sourceEventSeqs` of event `seq`, as a plain list.
    pub(super) fn move_sources(&self, sources: Js<'_>, seq: u64) -> Check<Tree<'static>> {
        const POINTER: &str = "/sourceEventSeqs";
        let Ok(ranges) = Ranges::decode(sources, seq, V1) else {
            return lost(POINTER, &shown(Some(sources)));
        };
        let moved: Check<Vec<_>> = ranges
            .iter()
            .map(|seq| match self.get(seq) {
                Some(seq) => Ok(Tree::integer(seq)),
                None => lost(POINTER, &seq.to_string()),
            })
            .collect();
        moved.map(Tree::Array)
    }

    /// `surfaceOp`: what is not "append" is a replacement, whatever it says that it does.
    pub(super) fn move_surface_op<'a>(&self, op: Js<'a>) -> Check<Tree<'a>> {
        if op.is("append") {
            return Ok(op.into());
        }
        let bound = |name| self.reference(op.get(name), "/surfaceOp");
        Ok(Fields::new()
            .with("op", Tree::string("replace"))
            .with("start", bound("start")?)
            .with("end", bound("end")?)
            .into())
    }
}

/// A reference to an event that is not there.
fn lost<T>(pointer: &str, value: &str) -> Check<T> {
    unsupported("lost-reference", pointer, format!("{value} is no event of the target"))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn a_map_of_runs_is_a_map() {
        // Sources in the order in which events can go out: forward, with gaps, and some overtaken.
        let sources = [0u64, 1, 2, 7, 5, 6, 8, 9, 12, 10, 11, 20];
        let mut map = SeqMap::default();
        let mut plain = HashMap::new();
        for (target, source) in (3..).zip(sources) {
            map.insert(source, target);
            plain.insert(source, target);
            for seq in 0..25 {
                assert_eq!(map.get(seq), plain.get(&seq).copied(), "{seq} after {source}");
            }
        }
        assert!(map.runs.len() < 8, "{map:?}");
    }
}
