//! The query language: words, `"phrases"`, `prefix*`, `/regular expressions/`, `field:value`, `-not`, `OR`, `( )`.

mod date;
mod field;
mod filter;
mod lex;
mod parse;
mod show;
#[cfg(test)]
mod tests;

use std::ops::Range;

use dshlog_codec::Generation;

use crate::analysis::Needle;
use crate::document::{Part, Role};

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

impl QueryError {
    fn new(message: impl Into<String>, at: Range<usize>) -> Self {
        QueryError { message: message.into(), at, hint: None }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl Query {
    /// Understand a query. Days and hours are those of `zone`.
    pub fn parse(text: &str, now: jiff::Timestamp, zone: &jiff::tz::TimeZone) -> Result<Query, QueryError> {
        parse::parse(text, now, zone)
    }

    /// Put what `resolve` gives in the place of folders that mean nothing without their surroundings, such as `~/work`.
    pub fn resolve_projects(&mut self, resolve: &dyn Fn(&str) -> Option<String>) {
        fn walk(node: &mut Node, resolve: &dyn Fn(&str) -> Option<String>) {
            match node {
                Node::All(nodes) | Node::Any(nodes) => nodes.iter_mut().for_each(|node| walk(node, resolve)),
                Node::Not(node) => walk(node, resolve),
                Node::Session(SessionFilter::Project(project)) => {
                    if let Some(resolved) = resolve(project) {
                        *project = resolved;
                    }
                }
                _ => {}
            }
        }
        walk(&mut self.root, resolve);
    }
}

/// The known word that somebody may have meant: one letter away, or two where both are long. Words shorter than `least`
/// are never taken for others.
fn nearest<'a>(typed: &str, known: impl Iterator<Item = &'a str>, least: usize) -> Option<&'a str> {
    let far = |known: &str| {
        let shorter = typed.chars().count().min(known.chars().count());
        if shorter > 5 { 2 } else { 1 }
    };
    known
        .filter(|known| typed.chars().count().max(known.len()) >= least && typed.chars().count() + 1 >= least)
        .map(|known| (strsim::osa_distance(typed, known), known))
        .filter(|(distance, known)| *distance <= far(known))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}
