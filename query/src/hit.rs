//! What a search gives.

use std::ops::Range;

use dshlog_codec::Seq;

use crate::document::Document;
use crate::session::Session;

/// How to search.
#[derive(Clone, Debug)]
pub struct Options {
    /// Every hit on its own; else the best one of each session.
    pub flat: bool,
    /// How many to give.
    pub limit: usize,
    /// Which to begin with.
    pub offset: usize,
    /// In which order.
    pub sort: Sort,
    /// The moment that age is counted from, epoch milliseconds.
    pub now: i64,
}

/// Order of hits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// The best first ([`crate::rank`]).
    #[default]
    Relevance,
    /// The latest first.
    Time,
}

/// One hit.
#[derive(Clone, Debug)]
pub struct Hit {
    /// What was found.
    pub document: Document,
    /// Where.
    pub session: Session,
    /// What took its place on the surface.
    pub replaced_by: Option<Seq>,
    /// Sessions that begin with a copy of it: their ids.
    pub copies: Vec<String>,
    /// How many documents of the session match; 1 for a flat search.
    pub count: u64,
    /// Where in the text, in bytes: in order, without overlaps.
    pub ranges: Vec<Range<usize>>,
    /// How good it is, and why.
    pub score: crate::rank::Score,
}

/// The answer to a search.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The hits from the offset on.
    pub hits: Vec<Hit>,
    /// Documents that match.
    pub documents: u64,
    /// Sessions with a document that matches.
    pub sessions: u64,
}
