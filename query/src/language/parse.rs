//! From tokens to a tree, by recursive descent: `OR` binds less than standing side by side, `-` most.

use std::iter::Peekable;
use std::ops::Range;
use std::vec::IntoIter;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use regex::RegexBuilder;

use super::lex::{Token, lex};
use super::{Node, Query, QueryError, field};
use crate::analysis::Needle;

/// Bytes of a query.
const LONGEST: usize = 16 << 10;
/// Words, phrases, patterns and values.
const MOST: usize = 64;
/// Parentheses and negations in each other.
const DEEPEST: usize = 32;
/// Bytes that a pattern may take when it is compiled.
const PATTERN: usize = 1 << 20;

/// Understand a query.
pub(super) fn parse(text: &str, now: Timestamp, zone: &TimeZone) -> Result<Query, QueryError> {
    if text.len() > LONGEST {
        return Err(QueryError::new(
            format!("the query has {} bytes, and {LONGEST} are the most", text.len()),
            0..0,
        ));
    }
    let whole = 0..text.len();
    if text.trim().is_empty() {
        return Err(QueryError::new("the query is empty", whole)
            .hint("say what to look for: words, `\"a phrase\"`, or a field such as `after:yesterday`"));
    }
    let mut parser = Parser { tokens: lex(text)?.into_iter().peekable(), end: text.len(), leaves: 0, now, zone };
    let Part { node, at } = parser.any(0)?;
    if let Some((_, at)) = parser.tokens.next() {
        return Err(QueryError::new("there is no `(` for this `)`", at)
            .hint("to find parentheses themselves, quote them"));
    }
    let Some(root) = node else { return Err(nothing(at)) };
    if !asks(&root) {
        return Err(QueryError::new("the query only says what to leave out", whole)
            .hint("say what to look for, too: a word, or a field such as `project:shop`"));
    }
    Ok(Query { root, text: text.to_owned() })
}

fn nothing(at: Range<usize>) -> QueryError {
    QueryError::new("there is nothing to look for in this: no letter, digit or emoji", at)
        .hint("a pattern finds signs: `/\\*\\*\\*/`")
}

/// True when a part narrows down what is found by more than leaving something out.
fn asks(node: &Node) -> bool {
    match node {
        Node::All(nodes) => nodes.iter().any(asks),
        Node::Any(nodes) => nodes.iter().all(asks),
        Node::Not(node) => !asks(node),
        _ => true,
    }
}

/// A part of the query, and its place. Nothing when it only has signs that no text is searched for.
struct Part {
    node: Option<Node>,
    at: Range<usize>,
}

struct Parser<'a> {
    tokens: Peekable<IntoIter<(Token, Range<usize>)>>,
    end: usize,
    leaves: usize,
    now: Timestamp,
    zone: &'a TimeZone,
}

impl Parser<'_> {
    fn take(&mut self, token: &Token) -> Option<Range<usize>> {
        self.tokens.next_if(|(next, _)| next == token).map(|(_, at)| at)
    }

    fn any(&mut self, depth: usize) -> Result<Part, QueryError> {
        let first = self.all(depth)?;
        let mut at = first.at.clone();
        let mut parts = vec![first];
        while self.take(&Token::Or).is_some() {
            let part = self.all(depth)?;
            at.end = part.at.end;
            parts.push(part);
        }
        if parts.len() == 1 {
            return Ok(Part { node: parts.pop().and_then(|part| part.node), at });
        }
        let mut nodes = Vec::with_capacity(parts.len());
        for part in parts {
            let Some(node) = part.node else { return Err(nothing(part.at)) };
            if !asks(&node) {
                return Err(QueryError::new("this side of `OR` only says what to leave out", part.at)
                    .hint("say what to look for there, too"));
            }
            nodes.push(node);
        }
        Ok(Part { node: Some(Node::Any(nodes)), at })
    }

    fn all(&mut self, depth: usize) -> Result<Part, QueryError> {
        let first = self.one(depth)?;
        let mut at = first.at.clone();
        let mut nodes: Vec<Node> = first.node.into_iter().collect();
        loop {
            match self.tokens.peek() {
                None | Some((Token::Or | Token::Close, _)) => break,
                Some((Token::And, _)) => {
                    self.tokens.next();
                }
                Some(_) => {}
            }
            let part = self.one(depth)?;
            at.end = part.at.end;
            nodes.extend(part.node);
        }
        let node = if nodes.len() > 1 { Some(Node::All(nodes)) } else { nodes.pop() };
        Ok(Part { node, at })
    }

    fn one(&mut self, depth: usize) -> Result<Part, QueryError> {
        let Some((token, at)) = self.tokens.next() else {
            let at = self.end..self.end;
            return Err(QueryError::new("something is missing at the end", at)
                .hint("`OR`, `AND` and `NOT` want something behind them; in small letters they are words"));
        };
        if depth > DEEPEST {
            return Err(QueryError::new(format!("more than {DEEPEST} parts in each other"), at));
        }
        let node = match token {
            Token::Open => {
                if let Some(end) = self.take(&Token::Close) {
                    return Err(QueryError::new("there is nothing in these parentheses", at.start..end.end)
                        .hint("to find parentheses themselves, quote them"));
                }
                let part = self.any(depth + 1)?;
                let Some(end) = self.take(&Token::Close) else {
                    return Err(QueryError::new("this `(` is never closed", at)
                        .hint("to find parentheses themselves, quote them"));
                };
                return Ok(Part { node: part.node, at: at.start..end.end });
            }
            Token::Not => {
                let part = self.one(depth + 1)?;
                let at = at.start..part.at.end;
                let Some(node) = part.node else { return Err(nothing(at)) };
                return Ok(Part { node: Some(Node::Not(Box::new(node))), at });
            }
            Token::Close => {
                return Err(QueryError::new("something is missing in front of this `)`", at)
                    .hint("to find parentheses themselves, quote them"));
            }
            Token::And | Token::Or => {
                return Err(QueryError::new("something is missing in front of this", at)
                    .hint("in small letters, or in quotes, it is a word like others"));
            }
            Token::Word(text) => self.leaf(&at, Needle::word(&text).map(Node::Text))?,
            Token::Prefix(text) => self.leaf(&at, Needle::prefix(&text).map(Node::Text))?,
            Token::Phrase(text) => self.leaf(&at, Needle::phrase(&text).map(Node::Text))?,
            Token::Pattern(text) => {
                let pattern = pattern(&text, &at)?;
                self.leaf(&at, Some(Node::Pattern(pattern)))?
            }
            Token::Field(field, values) => {
                let mut nodes = Vec::with_capacity(values.len());
                for value in &values {
                    let node = field::node(field, value, self.now, self.zone)?;
                    nodes.extend(self.leaf(&value.at, Some(node))?);
                }
                if nodes.len() > 1 { Some(Node::Any(nodes)) } else { nodes.pop() }
            }
        };
        Ok(Part { node, at })
    }

    fn leaf(&mut self, at: &Range<usize>, node: Option<Node>) -> Result<Option<Node>, QueryError> {
        self.leaves += 1;
        if self.leaves > MOST {
            return Err(QueryError::new(format!("more than {MOST} words and values"), at.clone())
                .hint("a phrase in quotes counts as one"));
        }
        // A word of any length is one place, but each of its terms is looked up.
        if let Some(Node::Text(needle)) = &node
            && needle.slots.len() > 4 * MOST
        {
            return Err(QueryError::new(format!("more than {} terms in a row", 4 * MOST), at.clone())
                .hint("a shorter piece of the text finds it, too"));
        }
        Ok(node)
    }
}

/// Case counts when somebody typed a capital.
fn pattern(text: &str, at: &Range<usize>) -> Result<regex::Regex, QueryError> {
    let fail = |message: String| QueryError::new(message, at.clone());
    let mut is_escaped = false;
    let has_capital = text.chars().any(|c| {
        let is_capital = c.is_uppercase() && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_capital
    });
    let built = RegexBuilder::new(text)
        .case_insensitive(!has_capital)
        .multi_line(true)
        .size_limit(PATTERN)
        .dfa_size_limit(2 * PATTERN)
        .nest_limit(50)
        .build();
    match built {
        Ok(pattern) if pattern.is_match("") => {
            Err(fail("this pattern matches a text without anything in it, so it would find everything".to_owned()))
        }
        Ok(pattern) => Ok(pattern),
        Err(regex::Error::CompiledTooBig(_)) => {
            Err(fail("this pattern is too big".to_owned()).hint("smaller counts in `{ }` make it smaller"))
        }
        Err(error) => {
            let told = error.to_string();
            let reason = told.lines().last().unwrap_or_default().trim_start_matches("error: ");
            Err(fail(format!("this is no regular expression: {reason}"))
                .hint("to find the text itself, quote it"))
        }
    }
}
