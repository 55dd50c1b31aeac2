//! How good a hit is: how rare its terms are and how often they stand in how much text (BM25), what kind of text it is,
//! and how old. Index and scan use the same numbers.

use std::cmp::Ordering;

use crate::document::Part;
use crate::hit::Sort;

/// Why a hit stands where it stands. `value` is the product of the others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// The product.
    pub value: f32,
    /// BM25 over the terms of the query; 1 for a query without terms.
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

/// How much a term that makes a match better counts, of what it would count as a needle.
pub const BETTER: f32 = 0.5;

/// How rare something is that stands in `with` of `documents` texts.
pub fn rarity(with: u64, documents: u64) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "a rank needs no more")]
    let (with, without) = (with as f32, documents.saturating_sub(with) as f32);
    (1.0 + (without + 0.5) / (with + 0.5)).ln()
}

/// BM25: what is so rare stands `times` times in a text of `length` terms, where texts have `average`.
pub fn relevance(rarity: f32, times: u32, length: u32, average: f32) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "a rank needs no more")]
    let (times, length) = (times as f32, length as f32);
    let norm = K1 * (1.0 - B + B * length / average.max(1.0));
    rarity * (1.0 + K1) * times / (times + norm)
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
            .then_with(|| (self.seq, self.nth).cmp(&(other.seq, other.nth)))
    }
}

#[cfg(test)]
mod tests {
    use tantivy::fieldnorm::FieldNormReader;
    use tantivy::query::Bm25Weight;

    use super::*;

    #[test]
    fn relevance_is_that_of_the_index() {
        for (with, documents, times, length, average) in
            [(1, 10, 1, 8, 20.0), (5, 10, 3, 40, 20.0), (10, 10, 1, 1, 1.0), (2, 1_000_000, 7, 200, 90.5)]
        {
            let norm = FieldNormReader::fieldnorm_to_id(length);
            let index = Bm25Weight::for_one_term_without_explain(with, documents, average).score(norm, times);
            // The index keeps lengths roughly.
            let kept = FieldNormReader::id_to_fieldnorm(norm);
            let ours = relevance(rarity(with, documents), times, kept, average);
            assert!((index - ours).abs() < 1e-4 * index.abs().max(1.0), "{index} {ours}");
        }
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
        let place = Place { value: 2.0, time: 5, session: "b", seq: 7, nth: 1 };
        let rows = [
            (Place { value: 1.0, time: 9, session: "a", seq: 1, nth: 0 }, Ordering::Less, Ordering::Greater),
            (Place { time: 4, session: "a", ..place }, Ordering::Less, Ordering::Less),
            (Place { session: "c", seq: 0, ..place }, Ordering::Less, Ordering::Less),
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
