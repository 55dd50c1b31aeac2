//! Where a step inserted events, and what that does to seqs.

use std::io::Write as _;

use dshlog_codec::Generation;
use dshlog_codec::json::{Js, Tree};
use dshlog_codec::pack::Ranges;

use crate::fault::{Check, malformed, shown};

/// The map from source seqs to target seqs of a step that only inserts. Its size is the number of insertions.
#[derive(Debug, Default)]
pub(crate) struct Shift {
    /// For each inserted event the first source seq behind it; ascending.
    at: Vec<u64>,
}

const REFERENCE: &str = "reference";

impl Shift {
    /// An event was inserted before source event `seq`, behind all earlier ones.
    pub(crate) fn insert_before(&mut self, seq: u64) {
        self.at.push(seq);
    }

    /// The target seq of source event `seq`.
    pub(crate) fn target(&self, seq: u64) -> u64 {
        seq + self.at.partition_point(|at| *at <= seq) as u64
    }

    /// A reference of source event `own` to an earlier one.
    pub(crate) fn reference<'a>(&self, value: Option<Js<'_>>, own: u64, pointer: &str) -> Check<Tree<'a>> {
        match value.and_then(Js::as_count).filter(|seq| *seq < own) {
            Some(seq) => Ok(Tree::integer(self.target(seq))),
            None => malformed(REFERENCE, pointer, format!("no earlier event: {}", shown(value))),
        }
    }

    /// A list of references.
    pub(crate) fn references<'a>(&self, value: Option<Js<'_>>, own: u64, pointer: &str) -> Check<Tree<'a>> {
        let Some(list) = value.and_then(Js::as_array) else {
            return malformed(REFERENCE, pointer, format!("no list: {}", shown(value)));
        };
        let list: Check<Vec<_>> = list.map(|entry| self.reference(Some(entry), own, pointer)).collect();
        list.map(Tree::Array)
    }

    /// `sourceEventSeqs`, which stays in the form of rows: a pair may stand for many millions.
    pub(crate) fn sources<'a>(&self, value: Js<'_>, own: u64) -> Check<Tree<'a>> {
        const POINTER: &str = "/sourceEventSeqs";
        let ranges = match Ranges::decode(value, own, Generation::CURRENT) {
            Ok(ranges) => ranges,
            Err(what) => return malformed(REFERENCE, POINTER, what),
        };
        let mut out = b"[".to_vec();
        for span in ranges.spans() {
            let (mut start, end) = span.into_inner();
            while start <= end {
                let behind = self.at.partition_point(|at| *at <= start);
                let last = self.at.get(behind).map_or(end, |at| end.min(at - 1));
                let comma = if out.len() > 1 { "," } else { "" };
                // Writing to memory cannot fail.
                let _ = if start == last {
                    write!(out, "{comma}{}", self.target(start))
                } else {
                    write!(out, "{comma}[{},{}]", self.target(start), self.target(last))
                };
                start = last + 1;
            }
        }
        out.push(b']');
        Ok(Tree::printed(out))
    }
}

#[cfg(test)]
mod tests {
    use dshlog_codec::json::Doc;

    use super::*;

    fn printed(tree: &Tree<'_>) -> String {
        let mut out = Vec::new();
        tree.print(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn seqs_and_lists_move_behind_insertions() {
        let mut shift = Shift::default();
        for at in [2, 5, 5] {
            shift.insert_before(at);
        }
        assert_eq!([0, 1, 2, 4, 5, 9].map(|seq| shift.target(seq)), [0, 1, 3, 5, 8, 12]);
        for (sources, target) in [
            ("[0,1]", "[0,1]"),
            ("[[0,9]]", "[[0,1],[3,5],[8,12]]"),
            ("[[1,2],4,[5,5]]", "[1,3,5,8]"),
            ("[9,1,4]", "[12,1,5]"),
        ] {
            let doc = Doc::parse(sources).unwrap();
            assert_eq!(printed(&shift.sources(doc.root(), 20).unwrap()), target, "{sources}");
        }
        let doc = Doc::parse("[4,9,-0,1.5]").unwrap();
        let entry = |k| doc.root().scalar(k);
        assert_eq!(printed(&shift.reference(entry(0), 9, "").unwrap()), "5");
        for k in [1, 2, 3, 7] {
            assert!(shift.reference(entry(k), 9, "").is_err(), "{k}");
        }
    }
}
