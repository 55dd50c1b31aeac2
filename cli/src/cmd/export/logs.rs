//! The logs of one root, for the data set.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dshlog_codec::home::Walk;
use dshlog_codec::read::Mark;
use dshlog_codec::{Event, Header};
use dshlog_migrate::Kin;
use dshlog_query::{Candidate, Corpus, Listing, Reading, Replaced, Stamp};

use crate::select::placed;
use crate::source::{Form, Log};

/// A root.
pub(super) struct Logs {
    root: PathBuf,
    kin: Arc<Kin>,
}

impl Logs {
    pub(super) fn new(root: PathBuf) -> Self {
        Logs { root, kin: Arc::default() }
    }

    fn open(&self, candidate: &Candidate) -> dshlog_codec::Result<Log> {
        let chosen = placed(&candidate.path, Some(&self.root), Path::new("/"));
        Log::open(&chosen, Form::Current, &self.kin)
    }
}

impl Corpus for Logs {
    fn list(&self) -> Listing {
        let mut listing = Listing::default();
        let Ok(walk) = Walk::new(&self.root) else { return listing };
        for session in walk.sessions.iter().filter(|session| session.is_listed()) {
            match session.chosen() {
                Ok(file) => listing.candidates.push(Candidate {
                    path: file.path.clone(),
                    entry: None,
                    stamp: Stamp::default(),
                }),
                Err(error) => listing.passed_over.push((session.path.clone(), error.to_string())),
            }
        }
        listing
    }

    fn header(&self, candidate: &Candidate) -> dshlog_codec::Result<Header> {
        Ok(self.open(candidate)?.header)
    }

    fn read(
        &self,
        candidate: &Candidate,
        _: Option<&Mark>,
        see: &mut dyn FnMut(&Event<'_>) -> ControlFlow<()>,
    ) -> Reading {
        let log = match self.open(candidate) {
            Ok(log) => log,
            Err(error) => return Reading { fault: Some(error), ..Reading::default() },
        };
        let Ok(walked) = log.each_as(true, |event| Ok::<_, Infallible>(see(event)));
        let end = walked.end.unwrap_or_default();
        Reading {
            header: Some(log.header),
            inherited: end.cut,
            fault: walked.damage.or(end.issue),
            ..Reading::default()
        }
    }

    fn look(&self, path: &Path, _: Option<&str>) -> Option<Candidate> {
        self.list().candidates.into_iter().find(|candidate| candidate.path == path)
    }

    fn list_in(&self, _: &Path, _: &[PathBuf]) -> Option<Listing> {
        Some(self.list())
    }

    fn replaced(&self, _: &Candidate) -> Vec<Replaced> {
        Vec::new()
    }
}
