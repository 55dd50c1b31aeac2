//! What an update has to do: the logs of now against those of the catalog.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use crate::catalog::LogRow;
use crate::corpus::Candidate;
use crate::session::Soundness;

/// The place of a log: its file, and the session in it when it is a store of many.
pub(super) type Place = (PathBuf, Option<String>);

/// The place of a candidate.
pub(super) fn place(candidate: &Candidate) -> Place {
    (candidate.path.clone(), candidate.entry.clone())
}

/// A log as far as its name and header tell.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) candidate: Candidate,
    /// What the catalog says of it.
    pub(super) row: Option<LogRow>,
    /// The id; nothing when the header cannot be read.
    pub(super) session: Option<String>,
    /// The parent, of a log that begins with events of it.
    pub(super) seed: Option<String>,
}

impl Known {
    /// True when the file is another than the one that was read.
    pub(super) fn is_changed(&self) -> bool {
        self.row.as_ref().is_none_or(|row| row.stamp() != self.candidate.stamp)
    }

    /// How much of it is new, as far as its size tells: what stands behind the mark of the last walk, or all.
    pub(super) fn bytes(&self) -> u64 {
        if !self.is_changed() {
            return 0;
        }
        let before = self.row.as_ref().filter(|row| row.mark.is_some()).map_or(0, |row| row.stamp.0);
        self.candidate.stamp.len.saturating_sub(before)
    }
}

/// How deep each log stands below logs that it begins with a copy of: those of depth 0 are read first. Rings and logs
/// whose parent is not there have depth 0.
pub(super) fn depths(logs: &[Known]) -> Vec<usize> {
    let mut by_id: HashMap<&str, usize> = HashMap::new();
    for (at, log) in logs.iter().enumerate() {
        if let Some(id) = &log.session {
            by_id.entry(id).or_insert(at);
        }
    }
    let parent = |at: usize| -> Option<usize> {
        let seed = logs.get(at)?.seed.as_deref()?;
        by_id.get(seed).copied().filter(|parent| *parent != at)
    };
    let mut depths: Vec<Option<usize>> = vec![None; logs.len()];
    for start in 0..logs.len() {
        let (mut way, mut met) = (Vec::new(), HashSet::new());
        let mut at = Some(start);
        while let Some(log) = at.filter(|log| depths.get(*log).is_some_and(Option::is_none)) {
            if !met.insert(log) {
                // A ring: all of it stands on its own.
                for log in way.drain(..) {
                    if let Some(depth) = depths.get_mut(log) {
                        *depth = Some(0);
                    }
                }
                break;
            }
            way.push(log);
            at = parent(log);
        }
        let mut below = at.and_then(|log| depths.get(log).copied().flatten()).map(|depth| depth + 1);
        for log in way.into_iter().rev() {
            let depth = below.unwrap_or(0);
            if let Some(slot) = depths.get_mut(log) {
                *slot = Some(depth);
            }
            below = Some(depth + 1);
        }
    }
    depths.into_iter().map(Option::unwrap_or_default).collect()
}

/// What decides whose copies are left out, by session.
#[derive(Debug, Default)]
pub(super) struct Parents {
    /// How far a log is in the index.
    pub(super) soundness: HashMap<String, Soundness>,
    /// Which session a log begins with events of.
    pub(super) seeds: HashMap<String, String>,
}

impl Parents {
    /// Note what a log begins with.
    pub(super) fn note(&mut self, log: &Known) {
        if let (Some(session), Some(seed)) = (&log.session, &log.seed) {
            self.seeds.entry(session.clone()).or_insert_with(|| seed.clone());
        }
    }

    /// Whether the copies at the beginning of a log are left out: when the parent's log is whole in the index. Logs that
    /// name each other as parent would leave them to each other.
    pub(super) fn skips(&self, log: &Known) -> bool {
        let Some(seed) = &log.seed else { return false };
        let mut met: HashSet<&str> = log.session.as_deref().into_iter().collect();
        let mut way = Some(seed);
        while let Some(session) = way {
            if !met.insert(session) {
                return false;
            }
            way = self.seeds.get(session);
        }
        self.soundness.get(seed) == Some(&Soundness::Whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Stamp;

    fn log(id: &str, seed: Option<&str>) -> Known {
        let candidate = Candidate { path: id.into(), entry: None, stamp: Stamp::default() };
        let (session, seed) = (Some(id.to_owned()), seed.map(str::to_owned));
        Known { candidate, row: None, session, seed }
    }

    #[test]
    fn parents_come_first() {
        let logs = [
            log("grandchild", Some("child")),
            log("child", Some("root")),
            log("root", None),
            log("orphan", Some("gone")),
            log("child of orphan", Some("orphan")),
            log("self", Some("self")),
        ];
        assert_eq!(depths(&logs), [2, 1, 0, 0, 1, 0]);
    }

    #[test]
    fn rings_end() {
        let logs = [log("a", Some("b")), log("b", Some("c")), log("c", Some("b")), log("d", Some("a"))];
        let depths = depths(&logs);
        assert_eq!(depths.len(), 4);
        assert!(depths[3] > depths[0]);
    }

    #[test]
    fn copies_are_left_out_under_a_whole_parent() {
        let sound = |soundness| Parents {
            soundness: HashMap::from([("root".to_owned(), soundness)]),
            seeds: HashMap::new(),
        };
        let child = log("child", Some("root"));
        assert!(sound(Soundness::Whole).skips(&child));
        assert!(!sound(Soundness::Partial("torn".to_owned())).skips(&child));
        assert!(!Parents::default().skips(&child));
        assert!(!sound(Soundness::Whole).skips(&log("root", None)));
    }

    #[test]
    fn nobody_leaves_copies_to_who_leaves_them_to_him() {
        let logs = [log("a", Some("b")), log("b", Some("a")), log("c", Some("a")), log("self", Some("self"))];
        let mut parents = Parents::default();
        for log in &logs {
            parents.note(log);
            parents.soundness.insert(log.session.clone().unwrap(), Soundness::Whole);
        }
        assert_eq!(logs.each_ref().map(|log| parents.skips(log)), [false; 4]);
    }
}
