//! Which part of one list belongs to which part of another.
//!
//! Equal parts are found first, by the patience form of a diff. What lies between them is paired by likeness, and where
//! there is too much of that for every pair to be looked at, by keys and then one after the other. So no list makes the
//! work quadratic.

use std::hash::Hash;
use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

/// Pairs that are looked at between two equal parts.
const PAIRS: usize = 10_000;
/// How long one diff may look for the shortest way; then it takes a longer one.
const PATIENCE: Duration = Duration::from_secs(2);

/// Members of two lists that belong together, or one that has nobody; in the order of both lists.
pub(super) type Match = (Option<usize>, Option<usize>);

/// Something that is to be aligned.
pub(super) trait Part {
    /// Equal for equal parts.
    type Whole: Eq + Hash + Ord + Clone;
    /// Equal for parts that may belong together even though they are not alike.
    type Key: Eq + Hash + Ord + Clone;

    /// What all of it is.
    fn whole(&self) -> Self::Whole;
    /// What it is told by.
    fn key(&self) -> Self::Key;
    /// How like the other it is, 1 or more; none when they cannot belong together.
    fn likeness(&self, other: &Self) -> Option<u64>;
}

/// Align two lists.
pub(super) fn align<P: Part>(a: &[P], b: &[P]) -> Vec<Match> {
    let mut matches = Vec::with_capacity(a.len().max(b.len()));
    by(a, b, 0, 0, P::whole, &mut matches, &mut |a, b, matches| {
        if a.1.len().saturating_mul(b.1.len()) <= PAIRS {
            return by_likeness(a, b, matches);
        }
        by(a.1, b.1, a.0, b.0, P::key, matches, &mut |a, b, matches| {
            if a.1.len().saturating_mul(b.1.len()) <= PAIRS {
                by_likeness(a, b, matches);
            } else {
                in_order(a, b, matches);
            }
        });
    });
    matches
}

/// A stretch of a list: where it begins, and its parts.
type Stretch<'p, P> = (usize, &'p [P]);
/// What to do with two stretches that have nothing in common.
type Rest<'r, P> = &'r mut dyn FnMut(Stretch<'_, P>, Stretch<'_, P>, &mut Vec<Match>);

/// Pair what has an equal `key`; `rest` gets the stretches between.
fn by<P, K: Eq + Hash + Ord>(
    a: &[P],
    b: &[P],
    first_a: usize,
    first_b: usize,
    key: impl Fn(&P) -> K,
    matches: &mut Vec<Match>,
    rest: Rest<'_, P>,
) {
    let keys_a: Vec<K> = a.iter().map(&key).collect();
    let keys_b: Vec<K> = b.iter().map(&key).collect();
    let deadline = Instant::now() + PATIENCE;
    // A stretch of changes may come in several pieces.
    let (mut from_a, mut from_b) = (0, 0);
    let mut flush = |to_a: usize, to_b: usize, from_a: usize, from_b: usize, matches: &mut Vec<Match>| {
        let (a, b) = (a.get(from_a..to_a).unwrap_or_default(), b.get(from_b..to_b).unwrap_or_default());
        if a.is_empty() || b.is_empty() {
            matches.extend((0..a.len()).map(|i| (Some(first_a + from_a + i), None)));
            matches.extend((0..b.len()).map(|i| (None, Some(first_b + from_b + i))));
        } else {
            rest((first_a + from_a, a), (first_b + from_b, b), matches);
        }
    };
    for op in capture_diff_slices_deadline(Algorithm::Patience, &keys_a, &keys_b, Some(deadline)) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            flush(old_index, new_index, from_a, from_b, matches);
            matches.extend((0..len).map(|i| (Some(first_a + old_index + i), Some(first_b + new_index + i))));
            (from_a, from_b) = (old_index + len, new_index + len);
        }
    }
    flush(a.len(), b.len(), from_a, from_b, matches);
}

/// The pairing, in order, whose likeness adds up to most.
fn by_likeness<P: Part>(a: Stretch<'_, P>, b: Stretch<'_, P>, matches: &mut Vec<Match>) {
    let ((first_a, a), (first_b, b)) = (a, b);
    let width = b.len() + 1;
    let like: Vec<Option<u64>> = a.iter().flat_map(|one| b.iter().map(|other| one.likeness(other))).collect();
    // best[i * width + j]: of what is behind a[i] and b[j], both included.
    let mut best = vec![0u64; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            let skip = best[(i + 1) * width + j].max(best[i * width + j + 1]);
            let pair = like[i * b.len() + j].map_or(0, |like| like + best[(i + 1) * width + j + 1]);
            best[i * width + j] = skip.max(pair);
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let here = best[i * width + j];
        if like[i * b.len() + j].is_some_and(|like| like + best[(i + 1) * width + j + 1] == here) {
            matches.push((Some(first_a + i), Some(first_b + j)));
            (i, j) = (i + 1, j + 1);
        } else if best[(i + 1) * width + j] == here {
            matches.push((Some(first_a + i), None));
            i += 1;
        } else {
            matches.push((None, Some(first_b + j)));
            j += 1;
        }
    }
    matches.extend((i..a.len()).map(|i| (Some(first_a + i), None)));
    matches.extend((j..b.len()).map(|j| (None, Some(first_b + j))));
}

/// One after the other, as long as they can belong together.
fn in_order<P: Part>(a: Stretch<'_, P>, b: Stretch<'_, P>, matches: &mut Vec<Match>) {
    let ((first_a, a), (first_b, b)) = (a, b);
    for i in 0..a.len().max(b.len()) {
        match (a.get(i), b.get(i)) {
            (Some(one), Some(other)) if one.likeness(other).is_some() => {
                matches.push((Some(first_a + i), Some(first_b + i)));
            }
            (one, other) => {
                matches.extend(one.map(|_| (Some(first_a + i), None)));
                matches.extend(other.map(|_| (None, Some(first_b + i))));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A word; words of one first letter can belong together, and are the more alike the more letters they share.
    impl Part for &str {
        type Whole = String;
        type Key = Option<char>;

        fn whole(&self) -> String {
            (*self).to_owned()
        }
        fn key(&self) -> Option<char> {
            self.chars().next()
        }
        fn likeness(&self, other: &Self) -> Option<u64> {
            let shared = self.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
            (shared > 0).then_some(shared as u64)
        }
    }

    /// Matches as `a-b` pairs, `_` for nobody.
    #[track_caller]
    fn check(a: &str, b: &str, expected: &str) {
        let (a, b): (Vec<&str>, Vec<&str>) = (a.split_whitespace().collect(), b.split_whitespace().collect());
        let word = |list: &[&str], at: Option<usize>| at.map_or("_".to_owned(), |at| list[at].to_owned());
        let found: Vec<String> =
            align(&a, &b).into_iter().map(|(i, j)| format!("{}-{}", word(&a, i), word(&b, j))).collect();
        assert_eq!(found.join(" "), expected);
    }

    #[test]
    fn parts_find_each_other() {
        check("", "", "");
        check("a b", "a b", "a-a b-b");
        check("a b c", "a c", "a-a b-_ c-c");
        check("a c", "a b c", "a-a _-b c-c");
        // Changed in place.
        check("a bx c", "a by c", "a-a bx-by c-c");
        // The likest of several.
        check("a bxy c", "a b1 bxz c", "a-a _-b1 bxy-bxz c-c");
        // What cannot belong together stays alone.
        check("x", "y", "x-_ _-y");
        // Order is kept.
        check("a b", "b a", "_-b a-a b-_");
    }

    #[test]
    fn every_part_comes_once_and_in_order_however_many_there_are() {
        let words = |count: usize, letter: char| -> Vec<String> {
            (0..count).map(|i| format!("{letter}{i}")).collect()
        };
        let (a, b) = (words(3_000, 'x'), [words(1, 'q'), words(2_000, 'x')].concat());
        let b: Vec<String> = b.into_iter().map(|word| word + "'").collect();
        let (a, b): (Vec<&str>, Vec<&str>) =
            (a.iter().map(String::as_str).collect(), b.iter().map(String::as_str).collect());
        let matches = align(&a, &b);
        assert_eq!(matches.iter().filter_map(|m| m.0).collect::<Vec<_>>(), (0..3_000).collect::<Vec<_>>());
        assert_eq!(matches.iter().filter_map(|m| m.1).collect::<Vec<_>>(), (0..2_001).collect::<Vec<_>>());
        assert!(matches.iter().filter(|m| m.0.is_some() && m.1.is_some()).count() >= 2_000);
    }
}
