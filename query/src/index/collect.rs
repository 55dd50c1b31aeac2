//! One pass over everything that matches: how much there is, and the best of it.
//!
//! A common word matches hundreds of thousands of documents, so the loop reads columns and nothing else, and weighs a hit
//! by kind and age only when it may still become the best. Segments of a large index are gone through side by side.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering as AtomicOrdering};

use tantivy::columnar::ColumnValues;
use tantivy::query::{EnableScoring, Weight};
use tantivy::{DocId, Searcher, SegmentReader};

use super::filter::{Numbers, numbers, times};
use super::living::Living;
use super::plan::Plan;
use super::schema::column;
use crate::document::Part;
use crate::error::Result;
use crate::hit::{Options, Sort};
use crate::rank::{Place, Score, part_weight};
use crate::session::Session;

/// No part weighs more.
const HEAVIEST: f32 = 3.0;

/// Below so many documents one thread is done before another has begun.
const MANY: u64 = 20_000;

/// A text that matches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Match {
    pub(crate) segment: u32,
    pub(crate) doc: DocId,
    pub(crate) log: u64,
    pub(crate) seq: u64,
    nth: u64,
    time: i64,
    pub(crate) score: Score,
    /// How many of its session match.
    pub(crate) count: u64,
}

impl Match {
    /// Its place, in this session when that is known.
    pub(crate) fn place<'a>(&self, session: Option<&'a Session>) -> Place<'a> {
        Place {
            value: self.score.value,
            time: self.time,
            session: session.map_or("", |session| &session.id),
            log: session.map(Session::place),
            seq: self.seq,
            nth: self.nth,
        }
    }

    /// Of two of one session keep the better, and count both.
    fn join(&mut self, other: Match, sort: Sort) {
        let count = self.count + other.count;
        let is_better = other.place(None).order(&self.place(None), sort) == Ordering::Less;
        *self = Match { count, ..if is_better { other } else { *self } };
    }

    /// Order as far as it is known without the session: `Equal` for what only the session can tell apart.
    fn order(&self, other: &Match, sort: Sort) -> Ordering {
        let level = |of: &Match| Place { seq: 0, nth: 0, ..of.place(None) };
        level(self).order(&level(other), sort)
    }
}

/// What a pass gave.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    /// The best, in order, sessions not yet considered: no fewer than were asked for where there are, and more when more
    /// are equal to the last.
    pub(crate) best: Vec<Match>,
    pub(crate) documents: u64,
    pub(crate) sessions: u64,
}

/// Everything that matches `plan`.
pub(crate) fn collect(searcher: &Searcher, plan: &Plan, options: &Options) -> Result<Collected> {
    let living = Living(searcher);
    let scoring = if plan.is_scored {
        EnableScoring::enabled_from_statistics_provider(&living, searcher)
    } else {
        EnableScoring::disabled_from_searcher(searcher)
    };
    let weight = plan.query.weight(scoring)?;
    let best = pass_all(searcher, weight.as_ref(), plan.is_scored, options)?;
    if let Some(error) = plan.fault.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take() {
        return Err(error.into());
    }
    Ok(best.finish())
}

/// Every segment, on as many threads as are of use.
fn pass_all<'a>(
    searcher: &Searcher,
    weight: &dyn Weight,
    is_scored: bool,
    options: &'a Options,
) -> Result<Best<'a>> {
    let segments = searcher.segment_readers();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = if searcher.num_docs() < MANY { 1 } else { cores.min(segments.len()) };
    // Whoever is free takes the next segment.
    let next = AtomicUsize::new(0);
    let work = || -> Result<Best<'a>> {
        let mut best = Best::new(options);
        loop {
            let at = next.fetch_add(1, AtomicOrdering::Relaxed);
            let Some(reader) = segments.get(at) else { return Ok(best) };
            best.pass(u32::try_from(at).unwrap_or(u32::MAX), reader, weight, is_scored)?;
        }
    };
    std::thread::scope(|scope| {
        // The system may have no more; those that there are do the work.
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads).map_while(start).collect();
        let mut best = work()?;
        for other in others {
            best.add(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(best)
    })
}

struct Columns {
    logs: Numbers,
    seqs: Numbers,
    nths: Numbers,
    parts: Numbers,
    times: Arc<dyn ColumnValues<i64>>,
}

struct Best<'a> {
    options: &'a Options,
    wanted: usize,
    documents: u64,
    /// Where in `grouped` a log is; of a flat search only that it is there.
    sessions: HashMap<u64, usize>,
    flat: Vec<Match>,
    grouped: Vec<Match>,
}

impl<'a> Best<'a> {
    fn new(options: &'a Options) -> Self {
        Best {
            options,
            wanted: options.offset.saturating_add(options.limit),
            documents: 0,
            sessions: HashMap::new(),
            flat: Vec::new(),
            grouped: Vec::new(),
        }
    }

    fn pass(
        &mut self,
        segment: u32,
        reader: &SegmentReader,
        weight: &dyn Weight,
        is_scored: bool,
    ) -> Result<()> {
        let columns = Columns {
            logs: numbers(reader, column::LOG)?,
            seqs: numbers(reader, column::SEQ)?,
            nths: numbers(reader, column::NTH)?,
            parts: numbers(reader, column::PART)?,
            times: times(reader)?,
        };
        let alive = reader.alive_bitset();
        // Documents of a log stand together.
        let mut last = None;
        let mut see = |doc: DocId, text: f32| {
            if alive.is_some_and(|alive| alive.is_deleted(doc)) {
                return;
            }
            let log = columns.logs.get_val(doc);
            let at = match last {
                Some((last, at)) if last == log => at,
                _ => {
                    let next = self.sessions.len();
                    let at = *self.sessions.entry(log).or_insert(next);
                    last = Some((log, at));
                    at
                }
            };
            self.documents += 1;
            self.see(&columns, Found { segment, doc, log, text }, at);
        };
        if is_scored {
            weight.for_each(reader, &mut see)?;
        } else {
            weight.for_each_no_score(reader, &mut |docs| docs.iter().for_each(|doc| see(*doc, 1.0)))?;
        }
        Ok(())
    }

    /// Take in what another pass saw.
    fn add(&mut self, other: Best<'_>) {
        self.documents += other.documents;
        if self.options.flat {
            self.sessions.extend(other.sessions);
            self.flat.extend(other.flat);
            self.cut();
            return;
        }
        for found in other.grouped {
            let next = self.sessions.len();
            let at = *self.sessions.entry(found.log).or_insert(next);
            match self.grouped.get_mut(at) {
                None => self.grouped.push(found),
                Some(best) => best.join(found, self.options.sort),
            }
        }
    }

    fn see(&mut self, columns: &Columns, found: Found, at: usize) {
        if self.options.flat {
            let found = found.weighed(columns, self.options.now);
            self.flat.push(found);
            if self.flat.len() >= self.wanted.saturating_mul(2).saturating_add(1024) {
                self.cut();
            }
            return;
        }
        let Some(best) = self.grouped.get_mut(at) else {
            self.grouped.push(found.weighed(columns, self.options.now));
            return;
        };
        let may_win = match self.options.sort {
            Sort::Relevance => {
                let part = Part::of_number(columns.parts.get_val(found.doc)).map_or(HEAVIEST, part_weight);
                found.text * part >= best.score.value
            }
            Sort::Time => columns.times.get_val(found.doc) >= best.time,
        };
        if may_win {
            best.join(found.weighed(columns, self.options.now), self.options.sort);
        } else {
            best.count += 1;
        }
    }

    /// Keep what may still be among the best of a flat search.
    fn cut(&mut self) {
        cut(&mut self.flat, self.wanted, self.options.sort);
    }

    fn finish(mut self) -> Collected {
        let mut best = if self.options.flat {
            std::mem::take(&mut self.flat)
        } else {
            std::mem::take(&mut self.grouped)
        };
        cut(&mut best, self.wanted, self.options.sort);
        best.sort_unstable_by(|left, right| left.order(right, self.options.sort));
        Collected { best, documents: self.documents, sessions: self.sessions.len() as u64 }
    }
}

/// Keep the best `wanted`, and what is equal to the last of them.
fn cut(matches: &mut Vec<Match>, wanted: usize, sort: Sort) {
    let Some(last) = wanted.checked_sub(1) else {
        matches.clear();
        return;
    };
    if matches.len() <= wanted {
        return;
    }
    let (_, pivot, _) = matches.select_nth_unstable_by(last, |left, right| left.order(right, sort));
    let pivot = *pivot;
    matches.retain(|found| found.order(&pivot, sort) != Ordering::Greater);
}

/// A document and how well its text fits.
#[derive(Clone, Copy)]
struct Found {
    segment: u32,
    doc: DocId,
    log: u64,
    text: f32,
}

impl Found {
    fn weighed(self, columns: &Columns, now: i64) -> Match {
        let Found { segment, doc, log, text } = self;
        let time = columns.times.get_val(doc);
        let part = Part::of_number(columns.parts.get_val(doc)).unwrap_or(Part::Context);
        Match {
            segment,
            doc,
            log,
            seq: columns.seqs.get_val(doc),
            nth: columns.nths.get_val(doc),
            time,
            score: Score::new(text, part, time, now),
            count: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_weighs_more_than_the_heaviest() {
        for part in Part::ALL {
            assert!(part_weight(part) <= HEAVIEST, "{part:?}");
        }
    }

    #[test]
    fn a_cut_keeps_what_is_equal_to_the_last() {
        let at = |value: f32, time: i64| Match {
            segment: 0,
            doc: 0,
            log: 0,
            seq: 0,
            nth: 0,
            time,
            score: Score { value, ..Score::default() },
            count: 1,
        };
        for (wanted, left) in [(0, 0), (1, 1), (2, 4), (3, 4), (4, 4), (5, 5), (9, 5)] {
            let mut matches = vec![at(1.0, 5), at(2.0, 5), at(1.0, 5), at(1.0, 4), at(1.0, 5)];
            cut(&mut matches, wanted, Sort::Relevance);
            assert_eq!(matches.len(), left, "{wanted} wanted");
        }
    }
}
