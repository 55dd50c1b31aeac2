//! From a query of ours to one of Tantivy.
//!
//! Only needles count for the score; facts are asked with a score of 0. Of the terms that may stand at one position the
//! best counts, so that a word and its stem are not two hits.

use std::collections::HashSet;
use std::sync::Arc;

use tantivy::Term;
use tantivy::query::{
    AllQuery, BooleanQuery, BoostQuery, ConstScoreQuery, DisjunctionMaxQuery, EmptyQuery, Occur, PhraseQuery,
    Query, TermQuery,
};
use tantivy::schema::IndexRecordOption;

use super::ending::Ending;
use super::even::Even;
use super::filter::{self, Fault};
use super::reader::Facts;
use super::schema::Fields;
use super::steady::Steady;
use crate::analysis::{Needle, Slot};
use crate::error::Result;
use crate::language::Node;
use crate::rank::BETTER;
use crate::session::Session;

/// A query of Tantivy, and what must be known beside it.
pub(crate) struct Plan {
    pub(crate) query: Box<dyn Query>,
    /// It has needles that count.
    pub(crate) is_scored: bool,
    /// Where a look at stored texts says that it failed.
    pub(crate) fault: Fault,
}

impl Plan {
    /// Plan `root`; sessions are asked of `facts`, and only when a filter is about them.
    pub(crate) fn new(root: &Node, fields: Fields, facts: &dyn Facts) -> Result<Plan> {
        let mut planner = Planner { fields, facts, sessions: None, fault: Arc::default() };
        let query = planner.node(root)?;
        Ok(Plan { query, is_scored: is_scored(root), fault: planner.fault })
    }
}

/// True when a needle of the query counts for the score: none under a `-` does.
fn is_scored(node: &Node) -> bool {
    match node {
        Node::All(nodes) | Node::Any(nodes) => nodes.iter().any(is_scored),
        Node::Text(_) => true,
        _ => false,
    }
}

struct Planner<'a> {
    fields: Fields,
    facts: &'a dyn Facts,
    sessions: Option<Vec<(u64, Session)>>,
    fault: Fault,
}

impl Planner<'_> {
    fn node(&mut self, node: &Node) -> Result<Box<dyn Query>> {
        Ok(match node {
            Node::All(nodes) => self.all(nodes)?,
            Node::Any(nodes) => any(nodes.iter().map(|node| self.node(node)).collect::<Result<_>>()?),
            Node::Not(_) => self.all(std::slice::from_ref(node))?,
            Node::Text(needle) => self.needle(needle),
            Node::Pattern(pattern) => filter::pattern(self.fields, pattern.clone(), Arc::clone(&self.fault)),
            Node::Document(filter) => filter::document(filter),
            Node::Session(filter) => {
                let sessions = match &mut self.sessions {
                    Some(sessions) => sessions,
                    empty => empty.insert(self.facts.sessions()?),
                };
                let admitted =
                    sessions.iter().filter(|(_, session)| filter.admits(session)).map(|(log, _)| *log);
                filter::logs(&self.fields, admitted.collect())
            }
            Node::Replaced => {
                let left = self.facts.replaced()?.into_iter().map(|(log, seq)| (log, seq.0));
                filter::replaced(left.collect::<HashSet<_>>())
            }
        })
    }

    fn all(&mut self, nodes: &[Node]) -> Result<Box<dyn Query>> {
        let mut clauses = Vec::new();
        let mut last = Vec::new();
        for node in nodes {
            match node {
                Node::Not(not) => {
                    let query = self.node(not)?;
                    // A pattern looks at one text only when it is asked about it, and would look at all to stand still.
                    let is_lazy = matches!(**not, Node::Pattern(_));
                    clauses.push((Occur::MustNot, if is_lazy { query } else { Box::new(Steady(query)) }));
                }
                // What reads texts begins where the others agree.
                Node::Pattern(_) => last.push((Occur::Must, self.node(node)?)),
                node => clauses.push((Occur::Must, self.node(node)?)),
            }
        }
        clauses.append(&mut last);
        if clauses.iter().all(|(occur, _)| *occur == Occur::MustNot) {
            clauses.push((Occur::Must, everything()));
        }
        Ok(match clauses.pop() {
            Some((Occur::Must, only)) if clauses.is_empty() => only,
            Some(clause) => {
                clauses.push(clause);
                Box::new(BooleanQuery::new(clauses))
            }
            None => everything(),
        })
    }

    fn needle(&self, needle: &Needle) -> Box<dyn Query> {
        let found: Box<dyn Query> = Box::new(Even(self.slots(&needle.slots)));
        if needle.better.is_empty() {
            return found;
        }
        let mut clauses = vec![(Occur::Must, found)];
        for word in &needle.better {
            let word = BoostQuery::new(self.term(word), BETTER);
            clauses.push((Occur::Should, Box::new(Even(Box::new(word)))));
        }
        Box::new(BooleanQuery::new(clauses))
    }

    fn slots(&self, slots: &[Slot]) -> Box<dyn Query> {
        match slots {
            [] => Box::new(EmptyQuery),
            [Slot::Any(terms)] => match terms.as_slice() {
                [term] => self.term(term),
                terms => {
                    Box::new(DisjunctionMaxQuery::new(terms.iter().map(|term| self.term(term)).collect()))
                }
            },
            [head @ .., Slot::Prefix(prefix)] => {
                Box::new(Ending { field: self.fields.text, head: firsts(head), prefix: prefix.clone() })
            }
            slots => {
                let terms =
                    firsts(slots).iter().map(|term| Term::from_field_text(self.fields.text, term)).collect();
                Box::new(PhraseQuery::new(terms))
            }
        }
    }

    fn term(&self, term: &str) -> Box<dyn Query> {
        let term = Term::from_field_text(self.fields.text, term);
        Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs))
    }
}

/// The terms of a phrase: its slots hold one each.
fn firsts(slots: &[Slot]) -> Vec<String> {
    slots
        .iter()
        .filter_map(|slot| match slot {
            Slot::Any(terms) => terms.first().cloned(),
            Slot::Prefix(prefix) => Some(prefix.clone()),
        })
        .collect()
}

fn any(mut queries: Vec<Box<dyn Query>>) -> Box<dyn Query> {
    match queries.pop() {
        None => Box::new(EmptyQuery),
        Some(only) if queries.is_empty() => only,
        Some(last) => {
            queries.push(last);
            Box::new(BooleanQuery::union(queries))
        }
    }
}

fn everything() -> Box<dyn Query> {
    Box::new(ConstScoreQuery::new(Box::new(AllQuery), 0.0))
}
