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
