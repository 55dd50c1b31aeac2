//! What is counted of all documents to weigh one, and the weight: the same sum as the index makes, term by term.

use crate::matching::Counted;
use crate::rank::{BETTER, even, rarity, relevance};

/// How many documents there are, and how many hold what.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) documents: u64,
    /// For each figure ([`crate::matching::Matcher::figures`]) the documents where it is not 0.
    with: Vec<u64>,
}

impl Tally {
    /// Count a document.
    pub(super) fn add(&mut self, figures: &[u32]) {
        self.documents += 1;
        self.with.resize(figures.len().max(self.with.len()), 0);
        for (with, figure) in self.with.iter_mut().zip(figures) {
            *with += u64::from(*figure > 0);
        }
    }

    /// Count what another counted.
    pub(super) fn join(&mut self, other: &Tally) {
        self.documents += other.documents;
        self.with.resize(other.with.len().max(self.with.len()), 0);
        for (with, more) in self.with.iter_mut().zip(&other.with) {
            *with += more;
        }
    }
}

/// Weighs texts.
pub(super) struct Weigher {
    counted: Vec<Counted>,
    /// How rare it is that a figure is not 0.
    rarities: Vec<f32>,
}

impl Weigher {
    /// With the figures of all documents.
    pub(super) fn new(counted: Vec<Counted>, all: &Tally) -> Weigher {
        let figures = counted.iter().map(|counted| match counted {
            Counted::Best(terms) => *terms,
            Counted::Row(terms) => terms + 1,
            Counted::Once | Counted::Better => 1,
        });
        let with = all.with.iter().copied().chain(std::iter::repeat(0)).take(figures.sum());
        Weigher { counted, rarities: with.map(|with| rarity(with, all.documents)).collect() }
    }

    /// How well a text fits that has these figures and is so long: BM25 over all needles; 1 when there are none.
    pub(super) fn text(&self, figures: &[u32], length: u32) -> f32 {
        if self.counted.is_empty() {
            return 1.0;
        }
        let mut rest = self.rarities.iter().copied().zip(figures.iter().copied());
        let score = |(rarity, times)| if times > 0 { relevance(rarity, times, length) } else { 0.0 };
        let of = |counted: &Counted| match counted {
            // Of terms that may stand at one place the best counts.
            Counted::Best(terms) => rest.by_ref().take(*terms).map(score).fold(0.0, f32::max),
            // A row is as rare as its terms together.
            Counted::Row(terms) => {
                let rare = rest.by_ref().take(*terms).fold(0.0, |sum, (rarity, _)| sum + rarity);
                rest.next().map_or(0.0, |(_, times)| score((rare, times)))
            }
            Counted::Once => rest.next().map_or(0.0, score),
            Counted::Better => BETTER * rest.next().map_or(0.0, score),
        };
        self.counted.iter().map(of).map(even).sum()
    }
}
