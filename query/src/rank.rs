//! How good a hit is: how rare its terms are and how often they stand in how much text (BM25), what kind of text it is,
//! and how old. Index and scan use the same numbers.

use std::cmp::Ordering;
use std::path::Path;

use tantivy::fieldnorm::FieldNormReader;

use crate::document::Part;
use crate::hit::Sort;

/// Why a hit stands where it stands. `value` is the product of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// The product.
    pub value: f32,
    /// BM25 over the needles of the query that are found, each made even; 1 for a query without needles.
    pub text: f32,
    /// [`part_weight`].
    pub part: f32,
    /// [`age_weight`].
    pub age: f32,
}

/// How much a kind of text counts: titles and what people wrote above what tools printed.
pub fn part_weight(part: Part) -> f32 {
    match part {
        Part::Title => 3.0,
        Part::Prompt => 2.5,
        Part::Summary => 1.4,
        Part::Answer => 1.5,
        Part::Todo | Part::Error => 1.1,
        Part::Reasoning | Part::Call => 1.0,
        Part::Context | Part::System => 0.7,
        Part::Result => 0.6,
    }
}

/// How much age takes away: 1 for now, half of the difference to 0.5 after 30 days, never under 0.5.
pub fn age_weight(time: i64, now: i64) -> f32 {
    const HALF_LIFE: f32 = 30.0 * 24.0 * 60.0 * 60.0 * 1000.0;
    #[expect(clippy::cast_precision_loss, reason = "an age to the millisecond is more than a rank needs")]
    let age = now.saturating_sub(time).max(0) as f32;
    0.5 + 0.5 * (-(age / HALF_LIFE) * std::f32::consts::LN_2).exp()
}

/// How soon more of the same counts less (BM25).
const K1: f32 = 1.2;

/// How much the length of a text takes away (BM25).
const B: f32 = 0.75;

/// Terms of a text whose length neither lifts nor lowers it (BM25).
///
/// A constant, where others take the mean of all texts: a hit keeps its score when something is added elsewhere, what was
/// removed leaves no trace, and a look at the logs need not take apart the texts that do not match. A power of two, so
/// that it comes out of the index, which divides for it, as it went in.
pub const USUAL: u32 = 128;

/// How much a term that makes a match better counts, of what it would count as a needle.
pub const BETTER: f32 = 0.5;

/// Scores of needles are multiples of one part of this. Sums of a few such numbers have no rounding error, so they are the
/// same in whatever order they are made.
const PARTS: f32 = 4096.0;

/// How rare something is that stands in `with` of `documents` texts.
pub fn rarity(with: u64, documents: u64) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "a rank needs no more")]
    let (with, without) = (with as f32, documents.saturating_sub(with) as f32);
    (1.0 + (without + 0.5) / (with + 0.5)).ln()
}

/// BM25: what is so rare stands `times` times in a text of `length` terms, as [`kept_length`] gives it.
///
/// Bit for bit what the index says, so the order of the operations counts.
pub fn relevance(rarity: f32, times: u32, length: u32) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "a rank needs no more")]
    let (times, length, usual) = (times as f32, length as f32, USUAL as f32);
    let norm = K1 * (1.0 - B + B * length / usual);
    (rarity * (1.0 + K1)) * (times / (times + norm))
}

/// The length of a text as the index keeps it, which is roughly.
pub fn kept_length(length: u32) -> u32 {
    FieldNormReader::id_to_fieldnorm(FieldNormReader::fieldnorm_to_id(length))
}

/// The score of a needle, made even: see [`Score::text`].
pub fn even(score: f32) -> f32 {
    (score * PARTS).round() / PARTS
}

impl Score {
    /// Out of its factors.
    pub fn new(text: f32, part: Part, time: i64, now: i64) -> Score {
        let (part, age) = (part_weight(part), age_weight(time, now));
        Score { value: text * part * age, text, part, age }
    }
}

/// What decides the place of a hit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place<'a> {
    /// [`Score::value`].
    pub value: f32,
    /// When the event was recorded, epoch milliseconds.
    pub time: i64,
    /// The session's id.
    pub session: &'a str,
    /// The log, and the session's row in it when it is a store: a copied folder has the same id. Nothing where only the
    /// hits of one log are compared.
    pub log: Option<(&'a Path, Option<&'a str>)>,
    /// The event.
    pub seq: u64,
    /// Which text of it.
    pub nth: u64,
}

impl Place<'_> {
    /// Which of two hits stands first: `Less` when this one does. Never equal for two texts.
    ///
    /// It also says which hit of a session is its best.
    pub fn order(&self, other: &Place<'_>, sort: Sort) -> Ordering {
        let by_value = match sort {
            Sort::Relevance => other.value.total_cmp(&self.value),
            Sort::Time => Ordering::Equal,
        };
        by_value
            .then_with(|| other.time.cmp(&self.time))
            .then_with(|| self.session.cmp(other.session))
            .then_with(|| self.log.cmp(&other.log))
            .then_with(|| (self.seq, self.nth).cmp(&(other.seq, other.nth)))
    }
}

#[cfg(test)]
mod tests {
    use tantivy::query::Bm25Weight;

    use super::*;

    #[test]
    #[expect(clippy::cast_precision_loss, reason = "these are small")]
    fn relevance_is_that_of_the_index_to_the_bit() {
        for with in [0, 1, 5, 77, 4_096] {
            for documents in [with.max(1), 5_000, 16_777_259, 40_000_001] {
                // As the index gets it: a total, divided by the documents.
                let usual = (documents * u64::from(USUAL)) as f32 / documents as f32;
                assert_eq!(usual.to_bits(), (USUAL as f32).to_bits(), "{documents} documents");
                let index = Bm25Weight::for_one_term_without_explain(with, documents, usual);
                for (times, length) in [(1, 1), (1, 8), (3, 41), (7, 200), (90, 70_000), (1, u32::MAX)] {
                    let ours = relevance(rarity(with, documents), times, kept_length(length));
                    let theirs = index.score(FieldNormReader::fieldnorm_to_id(length), times);
                    assert_eq!(ours.to_bits(), theirs.to_bits(), "{with} {documents} {times} {length}");
                }
            }
        }
    }

    #[test]
    fn sums_of_even_scores_have_no_order() {
        let scores: Vec<f32> = (1..40).map(|n| even(rarity(n, 1 << 30) * 7.0 / 3.0)).collect();
        let forwards: f32 = scores.iter().sum();
        let backwards: f32 = scores.iter().rev().sum();
        assert_eq!(forwards.to_bits(), backwards.to_bits());
    }

    #[test]
    fn age_takes_half_at_most() {
        let day = 24 * 60 * 60 * 1000;
        for (days, weight) in [(-1, 1.0), (0, 1.0), (30, 0.75), (60, 0.625), (100_000, 0.5)] {
            assert!((age_weight(-days * day, 0) - weight).abs() < 1e-4, "{days} days");
        }
    }

    #[test]
    fn places_are_told_apart() {
        let place = Place {
            value: 2.0,
            time: 5,
            session: "b",
            log: Some((Path::new("/b"), Some("x"))),
            seq: 7,
            nth: 1,
        };
        let rows = [
            (Place { value: 1.0, time: 9, session: "a", ..place }, Ordering::Less, Ordering::Greater),
            (Place { time: 4, session: "a", ..place }, Ordering::Less, Ordering::Less),
            (Place { session: "c", seq: 0, ..place }, Ordering::Less, Ordering::Less),
            (Place { log: Some((Path::new("/c"), None)), seq: 0, ..place }, Ordering::Less, Ordering::Less),
            (
                Place { log: Some((Path::new("/b"), Some("y"))), seq: 0, ..place },
                Ordering::Less,
                Ordering::Less,
            ),
            (Place { seq: 8, nth: 0, ..place }, Ordering::Less, Ordering::Less),
            (Place { nth: 0, ..place }, Ordering::Greater, Ordering::Greater),
            (place, Ordering::Equal, Ordering::Equal),
        ];
        for (other, by_relevance, by_time) in rows {
            assert_eq!(place.order(&other, Sort::Relevance), by_relevance, "{other:?}");
            assert_eq!(place.order(&other, Sort::Time), by_time, "{other:?}");
            assert_eq!(other.order(&place, Sort::Relevance), by_relevance.reverse(), "{other:?}");
        }
    }
}
