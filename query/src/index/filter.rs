//! Facts of documents and sessions as conditions on columns, and patterns as conditions on stored texts.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex};

use tantivy::columnar::{ColumnValues, StrColumn};
use tantivy::query::doc_predicate_query::{
    ConstOrVariableSegmentPredicate, DocPredicate, DocPredicateQuery, SegmentDocPredicate,
};
use tantivy::query::{AllScorer, ConstScoreQuery, Query, TermSetQuery};
use tantivy::store::StoreReader;
use tantivy::{DocId, SegmentReader, TantivyDocument, TantivyError, Term};

use super::schema::{Fields, Row, column, flag, text_of};
use crate::document::Part;
use crate::language::DocumentFilter;

/// So many logs are looked up by their terms; more are asked for document by document.
const FEW_LOGS: usize = 256;

/// A column of numbers.
pub(crate) type Numbers = Arc<dyn ColumnValues<u64>>;

/// The column of that name; absent values are 0.
pub(crate) fn numbers(reader: &SegmentReader, name: &str) -> tantivy::Result<Numbers> {
    reader.fast_fields().column_first_or_default(name)
}

/// Times of documents.
pub(crate) fn times(reader: &SegmentReader) -> tantivy::Result<Arc<dyn ColumnValues<i64>>> {
    reader.fast_fields().column_first_or_default(column::TIME)
}

/// Documents with a fact.
pub(crate) fn document(filter: &DocumentFilter) -> Box<dyn Query> {
    match filter {
        DocumentFilter::Parts(_) | DocumentFilter::Role(_) => {
            let parts = parts(filter);
            by_number(column::PART, move |part| part < 64 && parts & (1 << part) != 0)
        }
        DocumentFilter::Time(range) => {
            let range = range.clone();
            condition(move |reader| {
                let (times, range) = (times(reader)?, range.clone());
                Ok(Box::new(move |doc| range.contains(&times.get_val(doc))))
            })
        }
        DocumentFilter::Error => by_flag(flag::ERROR),
        DocumentFilter::Image => by_flag(flag::IMAGE),
        DocumentFilter::File => by_flag(flag::FILE),
        DocumentFilter::Inherited => by_flag(flag::INHERITED),
        DocumentFilter::Turn(turn) => {
            let turn = *turn;
            by_number(column::TURN, move |number| number == turn && number != 0)
        }
        DocumentFilter::Tool(_) => by_name(column::TOOL, filter),
        DocumentFilter::Model(_) => by_name(column::MODEL, filter),
    }
}

/// Documents of these logs.
pub(crate) fn logs(fields: &Fields, logs: HashSet<u64>) -> Box<dyn Query> {
    if logs.len() <= FEW_LOGS {
        let terms = logs.into_iter().map(|log| Term::from_field_u64(fields.log, log));
        return Box::new(ConstScoreQuery::new(Box::new(TermSetQuery::new(terms)), 0.0));
    }
    by_number(column::LOG, move |log| logs.contains(&log))
}

/// Documents of events that left the surface, given by log and seq.
pub(crate) fn replaced(left: HashSet<(u64, u64)>) -> Box<dyn Query> {
    let left = Arc::new(left);
    condition(move |reader| {
        let (logs, seqs, left) =
            (numbers(reader, column::LOG)?, numbers(reader, column::SEQ)?, Arc::clone(&left));
        Ok(Box::new(move |doc| left.contains(&(logs.get_val(doc), seqs.get_val(doc)))))
    })
}

/// What a look at a stored text met: a condition has no way to fail.
pub(crate) type Fault = Arc<Mutex<Option<TantivyError>>>;

/// Documents whose text holds the pattern. Each text is read, so this is asked last; `fault` must be looked at when the
/// search is done.
pub(crate) fn pattern(fields: Fields, pattern: regex::Regex, fault: Fault) -> Box<dyn Query> {
    let query = DocPredicateQuery::from(Texts { fields, pattern, fault });
    Box::new(ConstScoreQuery::new(Box::new(query), 0.0))
}

/// The parts that a filter admits, one bit for each.
fn parts(filter: &DocumentFilter) -> u64 {
    let admitted = Part::ALL.into_iter().filter(|part| {
        let mut document = blank();
        document.part = *part;
        filter.admits(&document)
    });
    admitted.fold(0, |parts, part| parts | 1 << part.number())
}

/// A document to ask a filter with, which looks at one member only.
fn blank() -> crate::Document {
    Row { log: 0, seq: 0, nth: 0, part: 0, time: 0, turn: 0, step: 0, flags: 0 }.document(
        String::new(),
        None,
        None,
    )
}

fn by_flag(flag: u64) -> Box<dyn Query> {
    by_number(column::FLAGS, move |flags| flags & flag != 0)
}

fn by_number(name: &'static str, admits: impl Fn(u64) -> bool + Send + Sync + 'static) -> Box<dyn Query> {
    let admits = Arc::new(admits);
    condition(move |reader| {
        let (numbers, admits) = (numbers(reader, name)?, Arc::clone(&admits));
        Ok(Box::new(move |doc| admits(numbers.get_val(doc))))
    })
}

/// The few names of a segment are asked about once each, in the words of the filter itself.
fn by_name(name: &'static str, filter: &DocumentFilter) -> Box<dyn Query> {
    let filter = filter.clone();
    condition(move |reader| {
        let Some(names) = reader.fast_fields().str(name)? else { return Ok(Box::new(|_| false)) };
        let admitted = admitted(&names, &filter)?;
        let ords = names.ords().clone();
        Ok(Box::new(move |doc| ords.first(doc).is_some_and(|ord| admitted.contains(&ord))))
    })
}

fn admitted(names: &StrColumn, filter: &DocumentFilter) -> tantivy::Result<HashSet<u64>> {
    let mut admitted = HashSet::new();
    let mut name = String::new();
    for ord in 0..names.num_terms() as u64 {
        if !names.ord_to_str(ord, &mut name)? {
            continue;
        }
        let mut document = blank();
        match filter {
            DocumentFilter::Model(_) => document.model = Some(name.clone()),
            _ => document.tool = Some(name.clone()),
        }
        if filter.admits(&document) {
            admitted.insert(ord);
        }
    }
    Ok(admitted)
}

/// Asked for each document of a segment.
type Asked = Box<dyn Fn(DocId) -> bool + Send + Sync>;

/// Asked for each segment.
type Opened = Box<dyn Fn(&SegmentReader) -> tantivy::Result<Asked> + Send + Sync>;

fn condition(
    make: impl Fn(&SegmentReader) -> tantivy::Result<Asked> + Send + Sync + 'static,
) -> Box<dyn Query> {
    Box::new(ConstScoreQuery::new(Box::new(DocPredicateQuery::from(Condition(Box::new(make)))), 0.0))
}

/// A condition on columns.
struct Condition(Opened);

impl fmt::Debug for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Condition")
    }
}

impl DocPredicate for Condition {
    type SegmentDocPredicate = Columns;

    fn doc_predicate(
        &self,
        reader: &SegmentReader,
    ) -> tantivy::Result<ConstOrVariableSegmentPredicate<Columns>> {
        Ok(of_each(reader, Columns((self.0)(reader)?)))
    }
}

struct Columns(Asked);

impl SegmentDocPredicate for Columns {
    fn eval(&mut self, doc: DocId) -> bool {
        (self.0)(doc)
    }

    fn cost(&self) -> u64 {
        4
    }
}

/// A condition on stored texts.
#[derive(Debug)]
struct Texts {
    fields: Fields,
    pattern: regex::Regex,
    fault: Fault,
}

impl DocPredicate for Texts {
    type SegmentDocPredicate = Read;

    fn doc_predicate(
        &self,
        reader: &SegmentReader,
    ) -> tantivy::Result<ConstOrVariableSegmentPredicate<Read>> {
        let store = reader.get_store_reader(2)?;
        let read = Read {
            fields: self.fields,
            store,
            pattern: self.pattern.clone(),
            fault: Arc::clone(&self.fault),
        };
        Ok(of_each(reader, read))
    }
}

struct Read {
    fields: Fields,
    store: StoreReader,
    pattern: regex::Regex,
    fault: Fault,
}

impl SegmentDocPredicate for Read {
    fn eval(&mut self, doc: DocId) -> bool {
        match self.store.get::<TantivyDocument>(doc) {
            Ok(stored) => self.pattern.is_match(&text_of(&self.fields, &stored)),
            Err(error) => {
                self.fault.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(error);
                false
            }
        }
    }

    fn cost(&self) -> u64 {
        10_000
    }
}

fn of_each<P: SegmentDocPredicate>(
    reader: &SegmentReader,
    predicate: P,
) -> ConstOrVariableSegmentPredicate<P> {
    let necessary_condition = Box::new(AllScorer::new(reader.max_doc()));
    ConstOrVariableSegmentPredicate::Variable { predicate, necessary_condition }
}
