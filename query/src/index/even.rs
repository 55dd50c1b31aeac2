//! Scores of needles made even ([`crate::rank::even`]): Tantivy adds them in an order of its own, another one in each
//! segment, and a look at the logs adds them in a third.

use tantivy::query::{EnableScoring, Explanation, Query, Scorer, Weight};
use tantivy::{DocId, DocSet, Score, SeekDangerResult, SegmentReader, Term};

use crate::rank::even;

/// The same documents, with even scores.
#[derive(Debug)]
pub(crate) struct Even(pub(crate) Box<dyn Query>);

impl Clone for Even {
    fn clone(&self) -> Self {
        Even(self.0.box_clone())
    }
}

impl Query for Even {
    fn weight(&self, scoring: EnableScoring<'_>) -> tantivy::Result<Box<dyn Weight>> {
        let weight = self.0.weight(scoring)?;
        Ok(if scoring.is_scoring_enabled() { Box::new(EvenWeight(weight)) } else { weight })
    }

    fn query_terms<'a>(&'a self, visitor: &mut dyn FnMut(&'a Term, bool)) {
        self.0.query_terms(visitor);
    }
}

struct EvenWeight(Box<dyn Weight>);

impl Weight for EvenWeight {
    fn scorer(&self, reader: &SegmentReader, boost: Score) -> tantivy::Result<Box<dyn Scorer>> {
        Ok(Box::new(EvenScorer(self.0.scorer(reader, boost)?)))
    }

    fn scorer_danger(
        &self,
        reader: &SegmentReader,
        target: DocId,
        boost: Score,
    ) -> tantivy::Result<(SeekDangerResult, Box<dyn Scorer>)> {
        let (result, scorer) = self.0.scorer_danger(reader, target, boost)?;
        Ok((result, Box::new(EvenScorer(scorer))))
    }

    fn explain(&self, reader: &SegmentReader, doc: DocId) -> tantivy::Result<Explanation> {
        self.0.explain(reader, doc)
    }

    fn for_each(
        &self,
        reader: &SegmentReader,
        callback: &mut dyn FnMut(DocId, Score),
    ) -> tantivy::Result<()> {
        self.0.for_each(reader, &mut |doc, score| callback(doc, even(score)))
    }
}

struct EvenScorer(Box<dyn Scorer>);

impl DocSet for EvenScorer {
    fn advance(&mut self) -> DocId {
        self.0.advance()
    }

    fn seek(&mut self, target: DocId) -> DocId {
        self.0.seek(target)
    }

    fn seek_danger(&mut self, target: DocId) -> SeekDangerResult {
        self.0.seek_danger(target)
    }

    fn doc(&self) -> DocId {
        self.0.doc()
    }

    fn size_hint(&self) -> u32 {
        self.0.size_hint()
    }

    fn cost(&self) -> u64 {
        self.0.cost()
    }
}

impl Scorer for EvenScorer {
    fn score(&mut self) -> Score {
        even(self.0.score())
    }
}
