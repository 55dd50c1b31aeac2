//! In which order logs are taken, and what a fork shares with its parent.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

use dshlog_codec::Header;
use dshlog_codec::home::project_key;
use dshlog_codec::json::JsString;

use crate::corpus::{Candidate, Corpus, Listing};

/// A log, and what its header says.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) candidate: Candidate,
    pub(super) header: Header,
    /// Name of its project folder.
    pub(super) project: String,
}

/// All logs whose header can be read: one project after the other, in each those created first. So few days are open at a
/// time, and their files can be closed.
#[derive(Debug)]
pub(super) struct Order {
    entries: Vec<Entry>,
    by_id: HashMap<JsString, usize>,
    whole: HashMap<usize, bool>,
}

impl Order {
    pub(super) fn new(
        corpus: &dyn Corpus,
        listing: &Listing,
        unreadable: &mut dyn FnMut(&Candidate, &dshlog_codec::Error),
    ) -> Self {
        let mut entries = Vec::with_capacity(listing.candidates.len());
        for candidate in &listing.candidates {
            match corpus.header(candidate) {
                Ok(header) => {
                    let project = project(candidate, &header);
                    entries.push(Entry { candidate: candidate.clone(), header, project });
                }
                Err(error) => unreadable(candidate, &error),
            }
        }
        // Stable, so that logs of one moment stay in the order of the listing.
        entries.sort_by(|a, b| (&a.project, a.header.created_at).cmp(&(&b.project, b.header.created_at)));
        let mut by_id = HashMap::new();
        for (at, entry) in entries.iter().enumerate() {
            by_id.entry(entry.header.id.clone()).or_insert(at);
        }
        Order { entries, by_id, whole: HashMap::new() }
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// How many leading events of a seeded log are those of its parent, when that one is here and whole.
    pub(super) fn shared(&mut self, corpus: &dyn Corpus, at: usize) -> Option<u64> {
        let parent = self.parent(at)?;
        // Logs that name each other as parent would leave it to each other.
        let mut ancestor = Some(parent);
        for _ in 0..self.entries.len() {
            let Some(next) = ancestor.and_then(|ancestor| self.parent(ancestor)) else { break };
            if next == at {
                return None;
            }
            ancestor = Some(next);
        }
        let candidate = &self.entries.get(parent)?.candidate;
        let is_whole = *self.whole.entry(parent).or_insert_with(|| {
            let reading = corpus.read(candidate, None, &mut |_| ControlFlow::Continue(()));
            reading.header.is_some() && reading.fault.is_none()
        });
        is_whole.then(|| inherited(corpus, &self.entries[at].candidate))
    }

    /// A log has been read anyway.
    pub(super) fn settle(&mut self, at: usize, is_whole: bool) {
        self.whole.insert(at, is_whole);
    }

    /// The log that a seeded one begins with a copy of.
    fn parent(&self, at: usize) -> Option<usize> {
        let header = &self.entries.get(at)?.header;
        let parent = header.parent_session.as_ref().filter(|_| header.is_seeded)?;
        self.by_id.get(parent).copied().filter(|parent| *parent != at)
    }
}

/// Number of leading events that are copies, which only the end of a log tells.
pub(super) fn inherited(corpus: &dyn Corpus, candidate: &Candidate) -> u64 {
    corpus.read(candidate, None, &mut |_| ControlFlow::Continue(())).inherited
}

/// The project folder that a log lies in; of an entry of a store, the one that its working directory has.
fn project(candidate: &Candidate, header: &Header) -> String {
    let by_cwd = || project_key(header.cwd.as_ref()).unwrap_or_default();
    if candidate.entry.is_some() {
        return by_cwd();
    }
    let folder = candidate.path.ancestors().nth(2).and_then(Path::file_name);
    folder.map_or_else(by_cwd, |name| name.to_string_lossy().into_owned())
}
