//! Sessions and the sessions that they come from.

use std::collections::{HashMap, HashSet};

use dshlog_codec::home::decode_id;
use dshlog_codec::json::JsString;

use super::Seen;
use super::finding::{Blocks, By, Finding, Mend, Severity, Subject};
use super::look::Session;
use crate::render::units;

/// What is wrong between sessions. dsh looks at none of it but the children of a session that it carries over.
pub(super) fn findings(seen: &Seen<'_>) -> Vec<Finding> {
    [own_ancestors(seen), orphans(seen), obscure_children(seen)].into_iter().flatten().collect()
}

/// The id by the header, else by the folder.
fn id(session: &Session) -> Option<JsString> {
    let by_folder = || session.folder.file_name()?.to_str().and_then(decode_id);
    session.header.as_ref().map(|header| header.id.clone()).or_else(by_folder)
}

fn parent(session: &Session) -> Option<&JsString> {
    session.header.as_ref()?.parent_session.as_ref()
}

fn orphans(seen: &Seen<'_>) -> Option<Finding> {
    let known: HashSet<JsString> = seen.sessions.iter().filter_map(id).collect();
    let subjects = seen.sessions.iter().filter_map(|session| {
        let parent = parent(session).filter(|parent| !known.contains(*parent))?;
        let is_subagent = session.header.as_ref().is_some_and(|header| header.is_subagent);
        let what = if is_subagent { "subagent" } else { "fork" };
        Some(Subject::session(session).detail(format!("{what} of {}", parent.to_lossy())))
    });
    let mend = Mend::new(By::Nobody, "nothing is to be mended: it opens as it is");
    Finding::of(Severity::Note, "orphan", Blocks::Nothing, mend, subjects.collect())
}

/// Sessions on a ring of parents. Each is followed upwards until it meets one whose way is known.
fn own_ancestors(seen: &Seen<'_>) -> Option<Finding> {
    let parents: HashMap<JsString, &JsString> =
        seen.sessions.iter().filter_map(|session| Some((id(session)?, parent(session)?))).collect();
    let mut done: HashSet<&JsString> = HashSet::new();
    let mut rings: HashSet<&JsString> = HashSet::new();
    for start in parents.keys() {
        let mut way = Vec::new();
        let mut on_way = HashSet::new();
        let mut at = start;
        while !done.contains(at) && on_way.insert(at) {
            way.push(at);
            match parents.get(at) {
                Some(next) => at = next,
                None => break,
            }
        }
        if let Some(first) = way.iter().position(|step| *step == at).filter(|_| parents.contains_key(at)) {
            rings.extend(way.iter().skip(first));
        }
        done.extend(way);
    }
    let subjects = seen.sessions.iter().filter_map(|session| {
        let parent = parent(session)?;
        let is_on_ring = id(session).is_some_and(|id| rings.contains(&id));
        is_on_ring.then(|| Subject::session(session).detail(format!("its parent is {}", parent.to_lossy())))
    });
    let mend = Mend::new(By::Nothing, "nothing can yet; each opens alone");
    Finding::of(Severity::Warning, "own-ancestor", Blocks::Nothing, mend, subjects.collect())
}

fn obscure_children(seen: &Seen<'_>) -> Option<Finding> {
    let parents = seen.sessions.iter().filter(|session| session.obscure_children > 0);
    let subjects = parents.map(|session| {
        Subject::session(session).detail(units::count(session.obscure_children as u64, "subagent"))
    });
    let mend = Mend::new(By::Nothing, "nothing can yet; the session and its own events are whole");
    Finding::of(Severity::Note, "obscure-child", Blocks::Nothing, mend, subjects.collect())
}
