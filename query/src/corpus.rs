//! Where logs come from. The program implements [`Corpus`], since only it knows how a log of any generation is carried to
//! V4; search asks for nothing else.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use dshlog_codec::read::Mark;
use dshlog_codec::{At, Event, Header, Seq};

use crate::session::Soundness;

/// The logs of a home.
pub trait Corpus: Sync {
    /// Where they lie.
    fn root(&self) -> &Path;

    /// All logs there are now, by names alone: nothing is opened.
    fn list(&self) -> Listing;

    /// The header, and no more than that needs.
    fn header(&self, candidate: &Candidate) -> dshlog_codec::Result<Header>;

    /// Walk over the events as V4 has them, as far as the log is sound, from `from` on or from the beginning.
    ///
    /// A mark is only honoured where the log still is what it was up to there; else nothing is shown, and
    /// [`Reading::fits`] is false.
    fn read(
        &self,
        candidate: &Candidate,
        from: Option<&Mark>,
        see: &mut dyn FnMut(&Event<'_>) -> ControlFlow<()>,
    ) -> Reading;

    /// What has left the surface, in the order of `seq`.
    fn replaced(&self, candidate: &Candidate) -> Vec<Replaced>;

    /// What [`Corpus::list`] would say of this log now, after a look at its folder alone.
    fn look(&self, path: &Path, entry: Option<&str>) -> Look;

    /// What [`Corpus::list`] would say of the logs in one of [`Listing::folders`]. For the root, it is what stands below
    /// folders that are not in `known`, with these folders.
    fn list_in(&self, folder: &Path, known: &[PathBuf]) -> Listing;
}

/// What a look at all names gave.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// One for each session: the log that stands for it.
    pub candidates: Vec<Candidate>,
    /// What could not be looked at, and why: path and reason.
    pub passed_over: Vec<(PathBuf, String)>,
    /// Folders whose time of change moves when a session comes or goes, and that time, nanoseconds since the epoch: the root
    /// first, then those of projects.
    pub folders: Vec<(PathBuf, i64)>,
}

impl Listing {
    /// True for what stands in something that could not be looked at: it may be there still.
    pub(crate) fn hides(&self, path: &Path) -> bool {
        self.passed_over.iter().any(|(hidden, _)| path.starts_with(hidden))
    }
}

/// What a look at one log gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// It is there. The log of the session may be another file by now.
    There(Candidate),
    /// It could not be looked at, and may be there still.
    Hidden,
    /// It is gone.
    Gone,
}

/// A log that may hold something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The file.
    pub path: PathBuf,
    /// The id of the session, when the file is a store of many.
    pub entry: Option<String>,
    /// What tells whether it changed.
    pub stamp: Stamp,
}

/// What a look at a file tells without opening it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Size in bytes; of an entry of a store, its revision.
    pub len: u64,
    /// Last change, nanoseconds since the epoch; 0 where unknown.
    pub modified: i64,
    /// Number of the file on its device; 0 where unknown.
    pub inode: u64,
}

/// How a walk over a log ended.
#[derive(Debug, Default)]
pub struct Reading {
    /// The header, where it could be read.
    pub header: Option<Header>,
    /// The mark was honoured, or none was asked for.
    pub fits: bool,
    /// Some event replaced others on the surface.
    pub replaces: bool,
    /// Number of leading events that are copies of the parent's, once known.
    pub inherited: u64,
    /// Where a later walk can go on; only of logs that are appended to and end whole.
    pub mark: Option<Mark>,
    /// What the walk could not pass, or the torn tail.
    pub fault: Option<dshlog_codec::Error>,
}

impl Reading {
    /// How far the log could be read, in words.
    pub fn soundness(&self) -> Soundness {
        match (&self.fault, &self.header) {
            (None, _) => Soundness::Whole,
            (Some(fault), Some(_)) => Soundness::Partial(reason(fault)),
            (Some(fault), None) => Soundness::Unreadable(reason(fault)),
        }
    }
}

/// What a fault says, with its place in the log and its causes. The log itself is named beside it.
fn reason(fault: &dshlog_codec::Error) -> String {
    let place = At { path: None, generation: None, ..fault.position().clone() };
    let mut text = fault.kind().to_string();
    let mut cause = std::error::Error::source(fault.kind());
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    if place == At::default() { text } else { format!("{text} [{place}]") }
}

/// A node that left the surface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// It.
    pub seq: Seq,
    /// What took its place.
    pub by: Seq,
}
