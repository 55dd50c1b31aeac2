//! Changes of the tools on their way to a route (3.5): which developer messages are sent, and which tools are declared.

use std::collections::HashSet;
use std::sync::Arc;

use dshlog_codec::json::JsString;

use super::piece::{Change, Piece, Shape};
use crate::request::call::Call;
use crate::request::route::ToolUpdateMode;
use crate::request::tools::{Tool, ToolHistory, ToolList};

/// What is left of the messages, and the tools that are declared.
#[derive(Debug)]
pub(super) struct Projected<'p> {
    pub(super) messages: Vec<Sent<'p>>,
    pub(super) tools: Option<Vec<Declared>>,
}

/// A message that is sent.
#[derive(Debug)]
pub(super) struct Sent<'p> {
    pub(super) piece: &'p Arc<Piece>,
    /// The blocks that are left of a developer message.
    pub(super) changes: Vec<Change>,
}

/// A tool in the request's list.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) tool: Arc<Tool>,
    /// It is loaded when an update adds it.
    pub(super) deferred: bool,
}

/// Fit the messages and tools of a call to what the route takes.
pub(super) fn project<'p>(
    pieces: &'p [Arc<Piece>],
    call: &Call<'_>,
    mode: Option<ToolUpdateMode>,
) -> Projected<'p> {
    let current = call.tools.as_ref();
    let Some(mode) = mode else {
        return Projected {
            messages: without_changes(pieces),
            tools: current.map(|tools| plain(tools, false)),
        };
    };
    let history = call.tool_history.as_ref().filter(|history| all_present(history, pieces));
    let Some(history) = history else {
        return Projected {
            messages: without_changes(pieces),
            tools: current.map(|tools| plain(tools, true)),
        };
    };
    let mut declared = declared(history);
    if mode == ToolUpdateMode::AdditionOnly {
        let names: HashSet<&JsString> =
            current.iter().flat_map(|tools| tools.iter()).map(|tool| tool.name()).collect();
        declared.retain(|declared| names.contains(declared.tool.name()));
    }
    let messages = offer(pieces, history, &declared, mode);
    Projected { messages, tools: Some(declared) }
}

/// The tools of a list; without what the header says of loading, unless `keep`.
fn plain(tools: &ToolList, keep: bool) -> Vec<Declared> {
    tools
        .iter()
        .map(|tool| Declared { tool: Arc::clone(tool), deferred: keep && tool.is_deferred() })
        .collect()
}

fn without_changes(pieces: &[Arc<Piece>]) -> Vec<Sent<'_>> {
    let is_developer = |piece: &Arc<Piece>| matches!(piece.shape, Shape::Developer { .. });
    pieces
        .iter()
        .filter(|piece| !is_developer(piece))
        .map(|piece| Sent { piece, changes: Vec::new() })
        .collect()
}

/// Each update's message is among those that are sent.
fn all_present(history: &ToolHistory, pieces: &[Arc<Piece>]) -> bool {
    let ids: HashSet<&JsString> = pieces
        .iter()
        .filter_map(|piece| match &piece.shape {
            Shape::Developer { id, .. } => Some(id),
            _ => None,
        })
        .collect();
    history.updates.iter().all(|update| ids.contains(&update.message_id))
}

/// The tools that the series began with, then those that were added; the first definition of a name stays at its place.
fn declared(history: &ToolHistory) -> Vec<Declared> {
    let mut list: Vec<Declared> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for tool in history.tools.iter() {
        let entry = Declared { tool: Arc::clone(tool), deferred: tool.is_deferred() };
        // A name that the list has twice keeps its first place, and the last definition.
        if let Some(&at) = places.get(tool.name()) {
            list[at] = entry;
        } else {
            places.insert(tool.name().clone(), list.len());
            list.push(entry);
        }
    }
    for tool in history.updates.iter().flat_map(|update| &update.additions) {
        if !places.contains_key(tool.name()) {
            places.insert(tool.name().clone(), list.len());
            list.push(Declared { tool: Arc::clone(tool), deferred: true });
        }
    }
    list
}

/// Keep of each developer message what changes something for this route.
fn offer<'p>(
    pieces: &'p [Arc<Piece>],
    history: &ToolHistory,
    declared: &[Declared],
    mode: ToolUpdateMode,
) -> Vec<Sent<'p>> {
    let declared: HashSet<&JsString> = declared.iter().map(|declared| declared.tool.name()).collect();
    let updates: HashSet<&JsString> = history.updates.iter().map(|update| &update.message_id).collect();
    let mut offered: HashSet<&JsString> =
        history.tools.iter().filter(|tool| !tool.is_deferred()).map(|tool| tool.name()).collect();
    let mut sent = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let Shape::Developer { id, changes } = &piece.shape else {
            sent.push(Sent { piece, changes: Vec::new() });
            continue;
        };
        if !updates.contains(id) {
            continue;
        }
        let mut kept = Vec::new();
        for change in changes {
            let is_kept = match change {
                Change::Addition(name) => declared.contains(name) && offered.insert(name),
                Change::Removal(name) => mode == ToolUpdateMode::InHistory && offered.remove(name),
                Change::Text { .. } | Change::Other(_) => true,
            };
            if is_kept {
                kept.push(change.clone());
            }
        }
        if !kept.is_empty() {
            sent.push(Sent { piece, changes: kept });
        }
    }
    sent
}
