//! `sourceEventSeqs`: a list of seqs in memory, numbers and inclusive `[start, end]` pairs in a row
//! (`docs/spec/rows.md`, section 5).

use std::ops::RangeInclusive;

use super::{Fault, print_integer};
use crate::json::Js;
use crate::types::Generation;

/// A checked list of seqs, still in the form of its row. It holds no list: a pair may stand for many millions.
#[derive(Clone, Copy, Debug)]
pub struct Ranges<'a> {
    value: Js<'a>,
    len: u64,
    increasing: bool,
}

impl<'a> Ranges<'a> {
    /// Decode the member `value` of a row whose `seq` is the count `seq`.
    ///
    /// V0 and V1 do not ask whether the entries are distinct and earlier than the row; later generations do.
    pub fn decode(value: Js<'a>, seq: u64, generation: Generation) -> Result<Self, Fault> {
        let closed = generation.0 >= 2;
        let elements = value.as_array().ok_or("`sourceEventSeqs` is no array")?;
        let mut ranges = Ranges { value, len: 0, increasing: true };
        let mut paired = false;
        let mut last = None;
        for element in elements {
            let (start, end) = if element.is_array() {
                paired = true;
                let (start, end) = pair(element).ok_or("a range is not a pair of counts")?;
                if start > end {
                    return Err("a range ends before it starts");
                }
                if seq.checked_sub(ranges.len).is_none_or(|room| end - start >= room) {
                    return Err("`sourceEventSeqs` has more entries than there are earlier events");
                }
                (start, end)
            } else {
                let entry = element.as_count().ok_or("an entry is neither a count nor a range")?;
                if !closed && ranges.len >= seq {
                    return Err("`sourceEventSeqs` has more entries than there are earlier events");
                }
                (entry, entry)
            };
            if closed && end >= seq {
                return Err("an entry is not an earlier event");
            }
            ranges.increasing &= last.is_none_or(|last| last < start);
            last = Some(end);
            ranges.len += end - start + 1;
        }
        if paired && !ranges.increasing {
            return Err("a list with ranges is not strictly increasing");
        }
        if closed && !ranges.increasing && ranges.has_duplicates() {
            return Err("an entry stands twice");
        }
        Ok(ranges)
    }

    /// Of a list without pairs.
    fn has_duplicates(&self) -> bool {
        let mut seqs: Vec<u64> = self.iter().collect();
        seqs.sort_unstable();
        seqs.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// Number of entries, pairs expanded.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// True when there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The seqs in their order, pairs expanded.
    pub fn iter(&self) -> impl Iterator<Item = u64> + Clone + use<'a> {
        self.spans().flatten()
    }

    /// The seqs in their order, as the row has them: a number as a range of one.
    pub fn spans(&self) -> impl Iterator<Item = RangeInclusive<u64>> + Clone + use<'a> {
        spans(self.value)
    }

    /// Append the list as an event has it: an array of numbers.
    pub fn print_plain(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        for (i, seq) in self.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            print_integer(out, seq);
        }
        out.push(b']');
    }

    /// Append the list as a writer puts it in a row, which need not be how it was read.
    pub fn print_ranges(&self, out: &mut Vec<u8>) {
        print_spans(out, self.spans(), self.increasing);
    }
}

/// The seqs of a list that some reader has let through, as ranges. What is neither a count nor a pair is passed over.
pub(crate) fn spans(list: Js<'_>) -> impl Iterator<Item = RangeInclusive<u64>> + Clone {
    list.elements().filter_map(|element| {
        if element.is_array() {
            pair(element).map(|(start, end)| start..=end)
        } else {
            element.as_count().map(|entry| entry..=entry)
        }
    })
}

/// Append a list of seqs as a writer puts it in a row: runs of three and more as pairs, when it is strictly increasing.
pub fn print_ranges(out: &mut Vec<u8>, seqs: &[u64]) {
    let increasing = seqs.is_sorted_by(|a, b| a < b);
    print_spans(out, seqs.iter().map(|&seq| seq..=seq), increasing);
}

fn print_spans(out: &mut Vec<u8>, spans: impl Iterator<Item = RangeInclusive<u64>>, increasing: bool) {
    out.push(b'[');
    let first = out.len();
    let mut run: Option<RangeInclusive<u64>> = None;
    for span in spans {
        run = match run {
            Some(run) if increasing && run.end().checked_add(1) == Some(*span.start()) => {
                Some(*run.start()..=*span.end())
            }
            Some(run) => {
                print_run(out, first, run);
                Some(span)
            }
            None => Some(span),
        };
    }
    if let Some(run) = run {
        print_run(out, first, run);
    }
    out.push(b']');
}

/// Append one run of consecutive seqs to the list that begins at `first`.
fn print_run(out: &mut Vec<u8>, first: usize, run: RangeInclusive<u64>) {
    let (start, end) = run.into_inner();
    if end - start >= 2 {
        comma(out, first);
        out.push(b'[');
        print_integer(out, start);
        out.push(b',');
        print_integer(out, end);
        out.push(b']');
    } else {
        for seq in start..=end {
            comma(out, first);
            print_integer(out, seq);
        }
    }
}

fn comma(out: &mut Vec<u8>, first: usize) {
    if out.len() > first {
        out.push(b',');
    }
}

fn pair(value: Js<'_>) -> Option<(u64, u64)> {
    let mut bounds = value.elements();
    let pair = (bounds.next()?.as_count()?, bounds.next()?.as_count()?);
    bounds.next().is_none().then_some(pair)
}

#[cfg(test)]
mod tests {

    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::super::vectors::{load, printed, text_member};
    use super::*;
    use crate::json::{Doc, SAFE_INTEGER};

    const V0: Generation = Generation(0);
    const V4: Generation = Generation(4);

    fn text(print: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        print(&mut out);
        String::from_utf8(out).unwrap()
    }

    fn list(value: Js<'_>) -> Vec<u64> {
        value.elements().map(|seq| seq.as_count().unwrap()).collect()
    }

    #[test]
    fn vectors() {
        let doc = load("ranges.json");
        let (mut decoded, mut encoded) = (0, 0);
        for case in doc.root().elements() {
            if let Some(row) = text_member(case, "row_text") {
                let seq = case.get("seq").unwrap().as_count().unwrap();
                for (rules, generations) in [("v0_v1", 0..2), ("v2_v4", 2..5)] {
                    let want = case.get(rules).unwrap();
                    for generation in generations {
                        let got = Ranges::decode(row.root(), seq, Generation(generation));
                        let got = got.map(|ranges| text(|out| ranges.print_plain(out)));
                        assert_eq!(got.ok(), (!want.is_null()).then(|| printed(want)), "{rules} {case:?}");
                    }
                }
                decoded += 1;
            } else {
                let want = printed(case.get("row").unwrap());
                assert_eq!(text(|out| print_ranges(out, &list(case.get("list").unwrap()))), want);
                encoded += 1;
            }
        }
        assert_eq!((decoded + encoded, encoded > 0, decoded > 0), (140, true, true));
    }

    #[test]
    fn a_claim_is_judged_without_building_it() {
        let huge = format!("[[0,{}]]", SAFE_INTEGER - 1);
        let check = |row: &str, seq, generation, want: Option<u64>| {
            let doc = Doc::parse(row).unwrap();
            let got = Ranges::decode(doc.root(), seq, generation);
            assert_eq!(got.map(|ranges| ranges.len()).ok(), want, "{row} at {seq} in {generation}");
        };
        check(&huge, SAFE_INTEGER, V4, Some(SAFE_INTEGER));
        check(&huge, SAFE_INTEGER, V0, Some(SAFE_INTEGER));
        check(&huge, SAFE_INTEGER - 1, V4, None);
        check("[[0,9007199254740991]]", SAFE_INTEGER, V0, None);
        check(
            "[[0,4503599627370496],[4503599627370497,9007199254740990]]",
            SAFE_INTEGER,
            V4,
            Some(SAFE_INTEGER),
        );
        check("[[0,4503599627370496],[4503599627370496,9007199254740990]]", SAFE_INTEGER, V0, None);
        check("[[9007199254740991,9007199254740991]]", 1, V0, Some(1));
        check("[[0,0]]", 0, V0, None);
    }

    #[test]
    fn ranges_are_printed_as_writers_do_however_they_were_read() {
        let check = |row: &str, want: &str| {
            let doc = Doc::parse(row).unwrap();
            let ranges = Ranges::decode(doc.root(), 100, V4).unwrap();
            assert_eq!(text(|out| ranges.print_ranges(out)), want, "{row}");
        };
        check("[[1,2]]", "[1,2]");
        check("[1,2,3.0]", "[[1,3]]");
        check("[[1,3],[4,4],[5,6],8,[9,10]]", "[[1,6],[8,10]]");
        check("[3,2,1]", "[3,2,1]");
        check("[]", "[]");
    }

    /// The rules as the table of section 5.2 has them, on a list that is built.
    fn naive(entries: &[(u64, Option<u64>)], seq: u64, closed: bool) -> Option<Vec<u64>> {
        let mut list = Vec::new();
        for &(start, end) in entries {
            match end {
                None if !closed && list.len() as u64 >= seq => return None,
                None => list.push(start),
                Some(end) if end < start || list.len() as u64 + (end - start + 1) > seq => return None,
                Some(end) => list.extend(start..=end),
            }
        }
        let paired = entries.iter().any(|(_, end)| end.is_some());
        let distinct = list.iter().collect::<HashSet<_>>().len() == list.len();
        let good = (!paired || list.windows(2).all(|w| w[0] < w[1]))
            && (!closed || (distinct && list.iter().all(|&entry| entry < seq)));
        good.then_some(list)
    }

    proptest! {
        #[test]
        fn decoding_equals_a_naive_expander(
            entries in prop::collection::vec((0u64..12, prop::option::weighted(0.4, 0u64..4)), 0..6),
            falling in prop::bool::weighted(0.1),
            ordered in any::<bool>(),
            seq in 0u64..16,
        ) {
            let mut entries: Vec<_> =
                entries.into_iter().map(|(start, more)| (start, more.map(|more| start + more))).collect();
            if ordered {
                entries.sort_unstable();
            }
            if falling && let Some((start, Some(end))) = entries.first_mut() {
                std::mem::swap(start, end);
            }
            let parts: Vec<_> = entries.iter().map(|(start, end)| match end {
                Some(end) => format!("[{start},{end}]"),
                None => start.to_string(),
            }).collect();
            let doc = Doc::parse(format!("[{}]", parts.join(","))).unwrap();
            for generation in [V0, V4] {
                let got = Ranges::decode(doc.root(), seq, generation).map(|ranges| {
                    assert_eq!(ranges.iter().count() as u64, ranges.len());
                    ranges.iter().collect::<Vec<_>>()
                });
                prop_assert_eq!(got.ok(), naive(&entries, seq, generation == V4), "{} at {}", doc.text(), seq);
            }
        }

        #[test]
        fn what_is_encoded_decodes_to_itself(
            seqs in prop_oneof![
                prop::collection::btree_set(0u64..40, 0..30).prop_map(|set| set.into_iter().collect::<Vec<_>>()),
                prop::collection::vec(0u64..40, 0..6),
            ],
        ) {
            let row = text(|out| print_ranges(out, &seqs));
            let doc = Doc::parse(row.as_str()).unwrap();
            let ranges = Ranges::decode(doc.root(), 40, V0).unwrap();
            prop_assert_eq!(ranges.iter().collect::<Vec<_>>(), seqs);
            prop_assert_eq!(text(|out| ranges.print_ranges(out)), row);
        }
    }
}
