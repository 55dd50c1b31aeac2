//! Terms that begin so, alone or behind a phrase, without a limit on how many there are: one Chinese character begins
//! thousands of pairs, and a search that left some out would find less than a look at the texts does.

use std::collections::HashMap;
use std::sync::Arc;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::SegmentId;
use tantivy::postings::{Postings, SegmentPostings};
use tantivy::query::{BitSetDocSet, Bm25Weight, EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{BitSet, DocId, DocSet, Score, SegmentReader, TERMINATED, TantivyError, Term};

/// Marks of stems and words stand below every character of a term that was written.
const UNMARKED: &[u8] = &[3];

/// Documents with a term that begins with `prefix`, right behind the terms of `head`.
#[derive(Clone, Debug)]
pub(crate) struct Ending {
    pub(crate) field: Field,
    pub(crate) head: Vec<String>,
    pub(crate) prefix: String,
}

impl Query for Ending {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        let searcher = scoring
            .searcher()
            .ok_or_else(|| TantivyError::InvalidArgument("no searcher to look terms up".to_owned()))?;
        let mut found = HashMap::new();
        let mut documents = 0;
        for reader in searcher.segment_readers() {
            let set = if self.head.is_empty() { self.alone(reader)? } else { self.behind(reader)? };
            documents += living(&set, reader);
            found.insert(reader.segment_id(), set);
        }
        let EnableScoring::Enabled { statistics_provider: all, .. } = scoring else {
            return Ok(Box::new(Ready { field: self.field, found: Arc::new(found), bm25: None }));
        };
        let total = all.total_num_docs()?;
        #[expect(clippy::cast_precision_loss, reason = "as Tantivy does it for a term")]
        let average = all.total_num_tokens(self.field)? as Score / total as Score;
        let bm25 = Bm25Weight::for_one_term_without_explain(documents.min(total), total, average);
        Ok(Box::new(Ready { field: self.field, found: Arc::new(found), bm25: Some(bm25) }))
    }
}

impl Ending {
    /// Documents with such a term anywhere.
    fn alone(&self, reader: &SegmentReader) -> tantivy::Result<BitSet> {
        let mut set = BitSet::with_max_value(reader.max_doc());
        self.each(reader, IndexRecordOption::Basic, &mut |mut postings| {
            let mut doc = postings.doc();
            while doc != TERMINATED {
                set.insert(doc);
                doc = postings.advance();
            }
        })?;
        Ok(set)
    }

    /// Documents with such a term where a head ends.
    fn behind(&self, reader: &SegmentReader) -> tantivy::Result<BitSet> {
        let heads = heads(reader, self.field, &self.head)?;
        let mut set = BitSet::with_max_value(reader.max_doc());
        if heads.is_empty() {
            return Ok(set);
        }
        let mut positions = Vec::new();
        self.each(reader, IndexRecordOption::WithFreqsAndPositions, &mut |mut postings| {
            for (doc, ends) in &heads {
                if postings.doc() < *doc {
                    postings.seek(*doc);
                }
                if postings.doc() == TERMINATED {
                    break;
                }
                if postings.doc() == *doc && !set.contains(*doc) {
                    postings.positions(&mut positions);
                    if share(ends, &positions) {
                        set.insert(*doc);
                    }
                }
            }
        })?;
        Ok(set)
    }

    /// Show the postings of every term that begins so.
    fn each(
        &self,
        reader: &SegmentReader,
        option: IndexRecordOption,
        see: &mut dyn FnMut(SegmentPostings),
    ) -> tantivy::Result<()> {
        let inverted = reader.inverted_index(self.field)?;
        let from = self.prefix.as_bytes();
        let mut terms =
            inverted.terms().range().ge(if from.is_empty() { UNMARKED } else { from }).into_stream()?;
        while terms.advance() {
            if !terms.key().starts_with(from) {
                break;
            }
            see(inverted.read_postings_from_terminfo(terms.value(), option)?);
        }
        Ok(())
    }
}

/// Where in which documents all of `terms` stand one behind the other: the positions behind them.
fn heads(reader: &SegmentReader, field: Field, terms: &[String]) -> tantivy::Result<Vec<(DocId, Vec<u32>)>> {
    let inverted = reader.inverted_index(field)?;
    let mut all = Vec::new();
    for term in terms {
        let term = Term::from_field_text(field, term);
        match inverted.read_postings(&term, IndexRecordOption::WithFreqsAndPositions)? {
            Some(postings) => all.push(postings),
            None => return Ok(Vec::new()),
        }
    }
    let length = u32::try_from(terms.len()).unwrap_or(u32::MAX);
    let mut found = Vec::new();
    let mut positions = Vec::new();
    let mut doc = 0;
    'documents: loop {
        for postings in &mut all {
            if postings.doc() < doc {
                postings.seek(doc);
            }
            if postings.doc() == TERMINATED {
                return Ok(found);
            }
            if postings.doc() > doc {
                doc = postings.doc();
                continue 'documents;
            }
        }
        let mut ends: Option<Vec<u32>> = None;
        for (behind, postings) in (1..=length).rev().zip(&mut all) {
            postings.positions_with_offset(behind, &mut positions);
            ends = Some(match ends {
                None => positions.clone(),
                Some(ends) => ends.into_iter().filter(|end| positions.binary_search(end).is_ok()).collect(),
            });
        }
        found.extend(ends.filter(|ends| !ends.is_empty()).map(|ends| (doc, ends)));
        doc += 1;
    }
}

/// How many of a set were not removed.
fn living(set: &BitSet, reader: &SegmentReader) -> u64 {
    let Some(alive) = reader.alive_bitset() else { return set.len() as u64 };
    let mut docs = BitSetDocSet::from(set.clone());
    let mut living = 0;
    while docs.doc() != TERMINATED {
        living += u64::from(alive.is_alive(docs.doc()));
        docs.advance();
    }
    living
}

/// True when two ascending lists have a number in common.
fn share(left: &[u32], right: &[u32]) -> bool {
    let (few, many) = if left.len() < right.len() { (left, right) } else { (right, left) };
    few.iter().any(|number| many.binary_search(number).is_ok())
}

/// What was found, by segment.
struct Ready {
    field: Field,
    found: Arc<HashMap<SegmentId, BitSet>>,
    bm25: Option<Bm25Weight>,
}

impl Weight for Ready {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        let set = self.found.get(&reader.segment_id()).cloned();
        let docs = BitSetDocSet::from(set.unwrap_or_else(|| BitSet::with_max_value(reader.max_doc())));
        let norms = match &self.bm25 {
            Some(_) => reader.get_fieldnorms_reader(self.field)?,
            None => FieldNormReader::constant(reader.max_doc(), 1),
        };
        Ok(Box::new(Once { docs, norms, bm25: self.bm25.as_ref().map(|bm25| bm25.boost_by(boost)) }))
    }

    fn explain(&self, _: &SegmentReader, _: DocId) -> tantivy::Result<Explanation> {
        Ok(Explanation::new("terms that begin so", 1.0))
    }
}

/// Scores each document as if the terms together were one that stands in it once.
struct Once {
    docs: BitSetDocSet,
    norms: FieldNormReader,
    bm25: Option<Bm25Weight>,
}

impl DocSet for Once {
    fn advance(&mut self) -> DocId {
        self.docs.advance()
    }

    fn seek(&mut self, target: DocId) -> DocId {
        self.docs.seek(target)
    }

    fn doc(&self) -> DocId {
        self.docs.doc()
    }

    fn size_hint(&self) -> u32 {
        self.docs.size_hint()
    }
}

impl Scorer for Once {
    fn score(&mut self) -> Score {
        self.bm25.as_ref().map_or(1.0, |bm25| bm25.score(self.norms.fieldnorm_id(self.docs.doc()), 1))
    }
}
