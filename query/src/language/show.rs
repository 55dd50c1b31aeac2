//! How a query was understood, in the words of the language.

use std::fmt;

use jiff::Timestamp;

use super::{DocumentFilter, Node, SessionFilter};
use crate::analysis::{Needle, Slot};

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Node::All(nodes) => group(f, nodes, " AND "),
            Node::Any(nodes) => group(f, nodes, " OR "),
            Node::Not(node) => write!(f, "-{node}"),
            Node::Text(needle) => needle_text(f, needle),
            Node::Pattern(pattern) => write!(f, "/{pattern}/"),
            Node::Document(filter) => filter.fmt(f),
            Node::Session(filter) => filter.fmt(f),
            Node::Replaced => f.write_str("is:replaced"),
        }
    }
}

fn group(f: &mut fmt::Formatter<'_>, nodes: &[Node], between: &str) -> fmt::Result {
    f.write_str("(")?;
    for (number, node) in nodes.iter().enumerate() {
        if number > 0 {
            f.write_str(between)?;
        }
        write!(f, "{node}")?;
    }
    f.write_str(")")
}

/// Terms of one position are joined by `|`; those that were not typed, such as stems, stand behind `~`.
fn needle_text(f: &mut fmt::Formatter<'_>, needle: &Needle) -> fmt::Result {
    let slots: Vec<String> = needle
        .slots
        .iter()
        .map(|slot| match slot {
            Slot::Any(terms) => terms.iter().map(|term| plain(term)).collect::<Vec<_>>().join("|"),
            Slot::Prefix(begin) => format!("{begin}*"),
        })
        .collect();
    if let [slot] = slots.as_slice() { f.write_str(slot) } else { write!(f, "\"{}\"", slots.join(" ")) }
}

fn plain(term: &str) -> String {
    match term.strip_prefix(|c: char| c.is_control()) {
        Some(term) => format!("~{term}"),
        None => term.to_owned(),
    }
}

impl fmt::Display for DocumentFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DocumentFilter::Parts(parts) => {
                let names: Vec<&str> = parts.iter().map(|part| part.name()).collect();
                write!(f, "in:{}", names.join(","))
            }
            DocumentFilter::Role(role) => write!(f, "role:{}", role.name()),
            DocumentFilter::Tool(name) => write!(f, "tool:{name}"),
            DocumentFilter::Model(name) => write!(f, "model:{name}"),
            DocumentFilter::Time(range) => {
                let moment = |time: i64| {
                    Timestamp::from_millisecond(time).map_or_else(|_| time.to_string(), |time| time.to_string())
                };
                match (range.start, range.end) {
                    (start, i64::MAX) => write!(f, "after:{}", moment(start)),
                    (i64::MIN, end) => write!(f, "before:{}", moment(end)),
                    (start, end) => write!(f, "(after:{} AND before:{})", moment(start), moment(end)),
                }
            }
            DocumentFilter::Error => f.write_str("is:error"),
            DocumentFilter::Image => f.write_str("has:image"),
            DocumentFilter::File => f.write_str("has:file"),
            DocumentFilter::Inherited => f.write_str("is:inherited"),
            DocumentFilter::Turn(turn) => write!(f, "turn:{turn}"),
        }
    }
}

impl fmt::Display for SessionFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SessionFilter::Id(id) => write!(f, "session:{id}"),
            SessionFilter::Project(project) => write!(f, "project:{project}"),
            SessionFilter::Parent(id) => write!(f, "parent:{id}"),
            SessionFilter::Fork => f.write_str("is:fork"),
            SessionFilter::Subagent => f.write_str("is:subagent"),
            SessionFilter::Partial => f.write_str("is:partial"),
            SessionFilter::Generation(generation) => write!(f, "generation:{}", generation.0),
            SessionFilter::Preset(name) => write!(f, "preset:{name}"),
        }
    }
}
