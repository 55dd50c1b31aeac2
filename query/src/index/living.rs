//! How many documents hold a term, of those that are there.
//!
//! Tantivy counts what was removed until its segment is merged, and the order of hits would depend on when that was.

use tantivy::query::Bm25StatisticsProvider;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Searcher, Term};

use crate::rank::USUAL;

/// Figures of documents that were not removed.
pub(crate) struct Living<'a>(pub(crate) &'a Searcher);

impl Bm25StatisticsProvider for Living<'_> {
    /// Every text counts as one of the usual length.
    fn total_num_tokens(&self, _: Field) -> tantivy::Result<u64> {
        Ok(self.total_num_docs()?.saturating_mul(u64::from(USUAL)))
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        // Of nothing there is no mean.
        Ok(self.0.num_docs().max(1))
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        let mut documents = 0;
        for reader in self.0.segment_readers() {
            let inverted = reader.inverted_index(term.field())?;
            documents += u64::from(match reader.alive_bitset() {
                None => inverted.doc_freq(term)?,
                Some(alive) => inverted
                    .read_postings(term, IndexRecordOption::Basic)?
                    .map_or(0, |postings| postings.doc_freq_given_deletes(alive)),
            });
        }
        Ok(documents)
    }
}
