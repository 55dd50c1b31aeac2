//! Whether a document or a session has the fact that is asked for.

use super::{DocumentFilter, SessionFilter};
use crate::document::Document;
use crate::session::{Session, Soundness};

impl DocumentFilter {
    /// True for a document with this fact.
    pub fn admits(&self, document: &Document) -> bool {
        let named = |pattern: &str, name: Option<&str>| name.is_some_and(|name| fits(pattern, name));
        match self {
            DocumentFilter::Parts(parts) => parts.contains(&document.part),
            DocumentFilter::Role(role) => document.part.role() == *role,
            DocumentFilter::Tool(pattern) => named(pattern, document.tool.as_deref()),
            DocumentFilter::Model(pattern) => named(pattern, document.model.as_deref()),
            DocumentFilter::Time(range) => range.contains(&document.time.0),
            DocumentFilter::Error => document.is_error,
            DocumentFilter::Image => document.has_image,
            DocumentFilter::File => document.has_file,
            DocumentFilter::Inherited => document.is_inherited,
            DocumentFilter::Turn(turn) => document.turn == Some(*turn),
        }
    }
}

impl SessionFilter {
    /// True for a session with this fact.
    pub fn admits(&self, session: &Session) -> bool {
        match self {
            SessionFilter::Id(id) => begins(&session.id, id),
            SessionFilter::Parent(id) => session.parent.as_deref().is_some_and(|parent| begins(parent, id)),
            SessionFilter::Project(wanted) => {
                session.project.as_deref().is_some_and(|project| lies_in(project, wanted))
            }
            SessionFilter::Fork => session.is_seeded && !session.is_subagent,
            SessionFilter::Subagent => session.is_subagent,
            SessionFilter::Partial => session.soundness != Soundness::Whole,
            SessionFilter::Generation(generation) => session.generation == *generation,
            SessionFilter::Preset(pattern) => {
                session.preset.as_deref().is_some_and(|preset| fits(pattern, preset))
            }
        }
    }
}

/// True when an id begins as it was typed, with or without what all ids begin with.
fn begins(id: &str, typed: &str) -> bool {
    id.starts_with(typed) || id.strip_prefix("session-").is_some_and(|id| id.starts_with(typed))
}

/// True when the folder is the wanted one or lies below it.
fn lies_in(project: &str, wanted: &str) -> bool {
    let folders = |path| str::split(path, ['/', '\\']).filter(|folder| !folder.is_empty());
    let project: Vec<&str> = folders(project).collect();
    let folders: Vec<&str> = folders(wanted).collect();
    let at = |rest: &[&str]| {
        rest.len() >= folders.len() && folders.iter().zip(rest).all(|(wanted, folder)| fits(wanted, folder))
    };
    let is_whole = wanted.starts_with(['/', '\\']) || wanted.get(1..2) == Some(":");
    if is_whole { at(&project) } else { (0..project.len()).any(|from| at(project.get(from..).unwrap_or_default())) }
}

/// True when a name fits a pattern, in which `*` stands for anything; case is ignored.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_lowercase(), name.to_lowercase());
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let last = pieces.pop().unwrap_or_default();
    for piece in pieces {
        let Some(at) = name.find(piece) else { return false };
        name = name.get(at + piece.len()..).unwrap_or_default();
    }
    name.ends_with(last)
}
