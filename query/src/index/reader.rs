//! From matches to hits: the text out of the store, everything else from the catalog, for those that are shown.

use std::collections::{HashMap, HashSet};

use dshlog_codec::Seq;
use tantivy::{DocAddress, Searcher, SegmentReader, TantivyDocument};

use super::collect::{Collected, Match, collect};
use super::filter::{numbers, times};
use super::plan::Plan;
use super::schema::{Fields, Row, column, text_of};
use crate::document::Document;
use crate::error::{Error, Result};
use crate::hit::{Found, Hit, Options};
use crate::language::Query;
use crate::matching::Matcher;
use crate::session::Session;

/// What the catalog knows. Logs are named by their rows in it.
pub(crate) trait Facts {
    /// All sessions.
    fn sessions(&self) -> Result<Vec<(u64, Session)>>;
    /// The session of a log.
    fn session(&self, log: u64) -> Result<Option<Session>>;
    /// Everything that left the surface, of all logs.
    fn replaced(&self) -> Result<Vec<(u64, Seq)>>;
    /// What took the place of an event on the surface, when it left it.
    fn replaced_by(&self, log: u64, seq: Seq) -> Result<Option<Seq>>;
    /// The ids of sessions that begin with a copy of that event of session `id`, and are not indexed up to there.
    fn copies(&self, id: &str, seq: Seq) -> Result<Vec<String>>;
}

/// What matches `query`, with the facts of this moment.
pub(crate) fn search(
    searcher: &Searcher,
    fields: Fields,
    facts: &dyn Facts,
    query: &Query,
    options: &Options,
) -> Result<Found> {
    let plan = Plan::new(&query.root, fields, facts)?;
    let Collected { best, documents, sessions } = collect(searcher, &plan, options)?;
    let mut shower =
        Shower { searcher, fields, facts, matcher: Matcher::new(query), sessions: HashMap::new() };
    let best = shower.settle(best, options)?;
    let mut hits = Vec::new();
    for found in best.into_iter().skip(options.offset).take(options.limit) {
        hits.extend(shower.show(found)?);
    }
    Ok(Found { hits, documents, sessions })
}

struct Shower<'a> {
    searcher: &'a Searcher,
    fields: Fields,
    facts: &'a dyn Facts,
    matcher: Matcher,
    sessions: HashMap<u64, Option<Session>>,
}

impl Shower<'_> {
    /// Put what is equal so far in the order of its sessions.
    fn settle(&mut self, mut best: Vec<Match>, options: &Options) -> Result<Vec<Match>> {
        let level = |found: &Match| (found.score.value.to_bits(), found.place(None).time);
        let is_equal = |left: &Match, right: &Match| match options.sort {
            crate::Sort::Relevance => level(left) == level(right),
            crate::Sort::Time => level(left).1 == level(right).1,
        };
        for run in best.chunk_by_mut(is_equal).filter(|run| run.len() > 1) {
            for found in run.iter() {
                self.session(found.log)?;
            }
            let of = |found: &Match| found.place(self.sessions.get(&found.log).and_then(Option::as_ref));
            run.sort_by(|left, right| of(left).order(&of(right), options.sort));
        }
        Ok(best)
    }

    fn session(&mut self, log: u64) -> Result<Option<&Session>> {
        if !self.sessions.contains_key(&log) {
            let session = self.facts.session(log)?;
            self.sessions.insert(log, session);
        }
        Ok(self.sessions.get(&log).and_then(Option::as_ref))
    }

    /// Nothing when the log left the catalog since the index was opened.
    fn show(&mut self, found: Match) -> Result<Option<Hit>> {
        let Some(session) = self.session(found.log)?.cloned() else { return Ok(None) };
        let document = self.document(found)?;
        let seq = Seq(found.seq);
        Ok(Some(Hit {
            replaced_by: self.facts.replaced_by(found.log, seq)?,
            copies: self.facts.copies(&session.id, seq)?,
            count: found.count,
            ranges: self.matcher.ranges(&document.text),
            score: found.score,
            document,
            session,
        }))
    }

    fn document(&self, found: Match) -> Result<Document> {
        let reader = self.searcher.segment_reader(found.segment);
        let stored: TantivyDocument = self.searcher.doc(DocAddress::new(found.segment, found.doc))?;
        let row = row(reader, found.doc)?;
        let (tool, model) = (name(reader, column::TOOL, found.doc)?, name(reader, column::MODEL, found.doc)?);
        Ok(row.document(text_of(&self.fields, &stored), tool, model))
    }
}

/// The columns of a document.
pub(crate) fn row(reader: &SegmentReader, doc: u32) -> Result<Row> {
    let number = |name: &str| -> Result<u64> { Ok(numbers(reader, name)?.get_val(doc)) };
    Ok(Row {
        log: number(column::LOG)?,
        seq: number(column::SEQ)?,
        nth: number(column::NTH)?,
        part: number(column::PART)?,
        time: times(reader)?.get_val(doc),
        turn: number(column::TURN)?,
        step: number(column::STEP)?,
        flags: number(column::FLAGS)?,
    })
}

fn name(reader: &SegmentReader, column: &str, doc: u32) -> Result<Option<String>> {
    let Some(names) = reader.fast_fields().str(column)? else { return Ok(None) };
    let Some(ord) = names.ords().first(doc) else { return Ok(None) };
    let mut name = String::new();
    let is_there = names.ord_to_str(ord, &mut name).map_err(|error| Error::Tantivy(error.into()))?;
    Ok(is_there.then_some(name))
}

/// Descendants that hold a copy of the event `seq` of session `id`: `children` gives of a session those that begin with
/// events of it, with how many.
pub(crate) fn copies(
    id: &str,
    seq: Seq,
    mut children: impl FnMut(&str) -> Result<Vec<(String, u64)>>,
) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut met = HashSet::from([id.to_owned()]);
    let mut open = vec![id.to_owned()];
    while let Some(parent) = open.pop() {
        for (child, inherited) in children(&parent)? {
            if seq.0 < inherited && met.insert(child.clone()) {
                open.push(child.clone());
                found.push(child);
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}
