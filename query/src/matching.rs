//! Whether a document matches, and where.

use std::ops::Range;

use crate::document::Document;
use crate::language::Query;
use crate::session::Session;

/// Looks at documents one by one. Keeps its buffers; one for each thread.
pub struct Matcher {}

impl Matcher {
    /// For one query.
    pub fn new(query: &Query) -> Self {
        let _ = query;
        Matcher {}
    }

    /// True when the document matches. `is_replaced`: its event left the surface.
    pub fn matches(&mut self, document: &Document, session: &Session, is_replaced: bool) -> bool {
        let _ = (document, session, is_replaced);
        false
    }

    /// What in `text` the query asks for, in bytes: in order, without overlaps. Parts under a `-` count for nothing.
    pub fn ranges(&mut self, text: &str) -> Vec<Range<usize>> {
        let _ = text;
        Vec::new()
    }
}
