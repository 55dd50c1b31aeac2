//! How sessions descend from each other: forks and subagents below the sessions that they come from.
//!
//! [`forest`] orders sessions by what their headers tell; [`Origin`] reads from a log where exactly its session began.
//! Nobody promises that parents are there, or that following them ever ends (`docs/spec/surface.md`, section 9).

use std::collections::HashMap;

use dshlog_codec::json::{Js, JsString};
use dshlog_codec::{Event, Header};

/// What a session is to the one that its header names as parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// It names none.
    Root,
    /// It goes on from a point of the parent's log.
    Fork,
    /// The parent delegated to it. It may go on from a point of the parent's log, too.
    Subagent,
    /// It names a parent, and does not say why.
    Child,
}

impl Relation {
    /// Out of a header.
    pub fn of(header: &Header) -> Relation {
        match (&header.parent_session, header.is_subagent, header.is_seeded) {
            (_, true, _) => Relation::Subagent,
            (None, ..) => Relation::Root,
            (_, _, true) => Relation::Fork,
            _ => Relation::Child,
        }
    }

    /// `root`, `fork`, `subagent`, `child`.
    pub fn name(self) -> &'static str {
        match self {
            Relation::Root => "root",
            Relation::Fork => "fork",
            Relation::Subagent => "subagent",
            Relation::Child => "child",
        }
    }
}

/// One session as [`forest`] needs it.
#[derive(Clone, Debug)]
pub struct Kinship<'a> {
    /// Its id. Of several with one id the first has the children.
    pub id: &'a JsString,
    /// The id of its parent.
    pub parent: Option<&'a JsString>,
    /// When it was created, epoch milliseconds.
    pub created_at: u64,
}

/// Why a session that names a parent stands at the top of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loose {
    /// The parent is not among the sessions.
    NoParent,
    /// It is an ancestor of itself.
    Ring,
}

/// Where a session stands in the forest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which one, by its place in what was given.
    pub session: usize,
    /// For each level above, then for its own: whether more siblings follow there. Empty at the top.
    pub branches: Vec<bool>,
    /// Why it is at the top though it names a parent.
    pub loose: Option<Loose>,
}

impl Place {
    /// Levels above it.
    pub fn depth(&self) -> usize {
        self.branches.len()
    }
}

/// All sessions, each one once, parents in front of their children.
///
/// A tree stands where the first of its sessions stands in what was given; children stand in the order of their creation,
/// then by id. A ring hangs on the first of its sessions.
pub fn forest(sessions: &[Kinship<'_>]) -> Vec<Place> {
    let mut by_id: HashMap<&JsString, usize> = HashMap::new();
    for (at, session) in sessions.iter().enumerate() {
        by_id.entry(session.id).or_insert(at);
    }
    let parents: Vec<Option<usize>> =
        sessions.iter().map(|session| by_id.get(session.parent?).copied()).collect();
    let roots = roots(&parents);

    let mut children: Vec<Vec<usize>> = vec![Vec::new(); sessions.len()];
    let mut trees: Vec<usize> = Vec::new();
    let mut has_tree = vec![false; sessions.len()];
    for (at, root) in roots.iter().enumerate() {
        match parents[at] {
            Some(parent) if *root != at => children[parent].push(at),
            _ => {}
        }
        if !std::mem::replace(&mut has_tree[*root], true) {
            trees.push(*root);
        }
    }
    for siblings in &mut children {
        siblings.sort_by_key(|at| (sessions[*at].created_at, sessions[*at].id));
    }

    let mut places = Vec::with_capacity(sessions.len());
    let mut waiting = Vec::new();
    for root in trees {
        let loose = match (sessions[root].parent, parents[root]) {
            (None, _) => None,
            (Some(_), None) => Some(Loose::NoParent),
            (Some(_), Some(_)) => Some(Loose::Ring),
        };
        waiting.push(Place { session: root, branches: Vec::new(), loose });
        while let Some(place) = waiting.pop() {
            for (behind, child) in children[place.session].iter().rev().enumerate() {
                let branches = [&place.branches[..], &[behind > 0]].concat();
                waiting.push(Place { session: *child, branches, loose: None });
            }
            places.push(place);
        }
    }
    places
}

/// For each session the one at the top of its tree; on a ring, and below one, the first of the ring.
fn roots(parents: &[Option<usize>]) -> Vec<usize> {
    let mut roots: Vec<Option<usize>> = vec![None; parents.len()];
    // The walk on which a session was met, to know a ring from a way that another walk went.
    let mut met = vec![usize::MAX; parents.len()];
    for start in 0..parents.len() {
        let mut way = Vec::new();
        let mut at = start;
        let root = loop {
            if let Some(root) = roots[at] {
                break root;
            }
            if met[at] == start {
                let ring = way.iter().skip_while(|step| **step != at);
                break ring.copied().min().unwrap_or(at);
            }
            met[at] = start;
            way.push(at);
            match parents[at] {
                Some(parent) => at = parent,
                None => break at,
            }
        };
        for step in way {
            roots[step] = Some(root);
        }
    }
    roots.into_iter().enumerate().map(|(at, root)| root.unwrap_or(at)).collect()
}

/// Where a session began, by its log. A fold over its V4 events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Events that came from the parent: the session goes on behind event `cut` - 1 of it. 0 without inherited events.
    pub cut: u64,
    /// How it was delegated to: `continuable`, `one-shot`, or what stands there. The first descriptor of its own tells.
    pub mode: Option<String>,
    /// The name that its parent gave it.
    pub label: Option<String>,
    described: bool,
}

impl Origin {
    /// Take in one event.
    pub fn see(&mut self, event: &Event<'_>) {
        if event.is("session/end-seed") && event.member("inherited").is_some_and(Js::is_true) {
            *self = Origin { cut: event.seq.0, ..Origin::default() };
        } else if event.is("subagent/descriptor") && !self.described {
            let text = |name| Some(event.member(name)?.as_str()?.to_lossy().into_owned());
            // The first version knew one mode only, and did not name it.
            let first = event.member("version").and_then(Js::as_count) == Some(1);
            let mode = text("mode").or_else(|| first.then(|| "continuable".to_owned()));
            *self = Origin { cut: self.cut, mode, label: text("label"), described: true };
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stats::tests::Log;

    /// Sessions as `id<parent`, each created later than the one before; gives `id` under as many dots as levels.
    fn tree(sessions: &str) -> String {
        let ids: Vec<(JsString, Option<JsString>)> = sessions
            .split_whitespace()
            .map(|session| match session.split_once('<') {
                Some((id, parent)) => (id.into(), Some(parent.into())),
                None => (session.into(), None),
            })
            .collect();
        let kin: Vec<Kinship<'_>> = ids
            .iter()
            .zip(0..)
            .map(|((id, parent), created_at)| Kinship { id, parent: parent.as_ref(), created_at })
            .collect();
        let shown = |place: &Place| {
            let more = place.branches.iter().map(|more| if *more { '|' } else { '.' });
            let loose = match place.loose {
                None => "",
                Some(Loose::NoParent) => "?",
                Some(Loose::Ring) => "@",
            };
            more.collect::<String>() + &ids[place.session].0.to_lossy() + loose
        };
        forest(&kin).iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn forests() {
        for (sessions, expected) in [
            ("", ""),
            ("a b", "a b"),
            ("a b<a c<a d<b", "a |b |.d .c"),
            // A tree stands where its first session stands.
            ("d<c a b<a c", "c .d a .b"),
            ("b<gone c<b", "b? .c"),
            ("a<a", "a@"),
            ("a<b b<a", "a@ .b"),
            // The ring is a, b, c; x and d hang on it.
            ("x<b a<b b<c c<a d<c", "a@ .c .|b .|.x ..d"),
            ("a a b<a", "a .b a"),
            ("a<z a<a b<a", "a? |a .b"),
        ] {
            assert_eq!(tree(sessions), expected, "{sessions}");
        }
    }

    /// The deepest family does not exhaust the stack.
    #[test]
    fn a_long_line() {
        let ids: Vec<JsString> = (0..3_000).map(|at| at.to_string().as_str().into()).collect();
        let kin: Vec<Kinship<'_>> = ids
            .iter()
            .enumerate()
            .map(|(at, id)| Kinship { id, parent: at.checked_sub(1).map(|at| &ids[at]), created_at: 0 })
            .collect();
        assert_eq!(forest(&kin).last().unwrap().depth(), 2_999);
    }

    proptest! {
        /// Whatever the headers say, every session comes once, behind its parent unless it is loose.
        #[test]
        fn everybody_comes_once(parents in prop::collection::vec(prop::option::of(0..12_usize), 0..12)) {
            let ids: Vec<JsString> = (0..12).map(|at: usize| at.to_string().as_str().into()).collect();
            let kin: Vec<Kinship<'_>> = parents
                .iter()
                .zip(&ids)
                .map(|(parent, id)| Kinship { id, parent: parent.map(|at| &ids[at]), created_at: 0 })
                .collect();
            let places = forest(&kin);
            let mut seen: Vec<usize> = places.iter().map(|place| place.session).collect();
            for (at, place) in places.iter().enumerate() {
                let parent = parents[place.session];
                if place.depth() == 0 {
                    prop_assert_eq!(place.loose.is_some(), parent.is_some());
                } else {
                    prop_assert!(seen[..at].contains(&parent.unwrap()));
                }
            }
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..parents.len()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn where_a_session_began() {
        let mut log = Log::default();
        log.tell(
            "subagent/descriptor",
            r#"{"version":3,"mode":"one-shot","provider":"p","label":"of the parent"}"#,
        );
        log.tell("session/end-seed", r#"{"inherited":true}"#);
        log.tell("turn/start", r#"{"turn":1}"#);
        log.tell("session/end-seed", r#"{"inherited":true}"#);
        log.tell("subagent/descriptor", r#"{"version":1,"provider":"p","label":"first"}"#);
        log.tell("subagent/descriptor", r#"{"version":3,"mode":"one-shot","provider":"p","label":"second"}"#);
        log.tell("session/end-seed", r#"{"inherited":false}"#);
        let mut origin = Origin::default();
        log.each(|event| origin.see(event));
        let Origin { cut, mode, label, .. } = origin;
        assert_eq!((cut, mode.as_deref(), label.as_deref()), (3, Some("continuable"), Some("first")));
    }
}
