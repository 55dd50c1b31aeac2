//! Bringing an index up to date.

use std::path::{Path, PathBuf};

use crate::corpus::Corpus;
use crate::error::Result;

/// What to do when another process is writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Wait until it is done.
    UntilFree,
    /// Leave, with [`crate::Error::Locked`].
    No,
}

/// Is told how an update goes on.
pub trait Progress: Sync {
    /// So many logs are to be read, of so many bytes.
    fn begin(&self, logs: u64, bytes: u64);
    /// One of them was, of so many bytes.
    fn advance(&self, bytes: u64);
    /// Something that the user should know: the index is made anew, and why.
    fn tell(&self, what: &str);
}

/// What an update did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Number of the state now.
    pub generation: u64,
    /// Logs that were read from their beginning.
    pub read: u64,
    /// Logs of which only the end was read.
    pub continued: u64,
    /// Logs that are gone.
    pub removed: u64,
    /// Logs that had not changed.
    pub unchanged: u64,
    /// Documents that were added.
    pub documents: u64,
    /// Bytes of files that were read.
    pub bytes: u64,
    /// Logs that are not whole in the index now.
    pub skipped: Vec<Skipped>,
}

/// A log that is not whole in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Which.
    pub path: PathBuf,
    /// The session, when its header could be read.
    pub session: Option<String>,
    /// Some of it is in the index.
    pub is_partial: bool,
    /// Why not all.
    pub reason: String,
}

/// The one writer of an index.
pub struct Update {}

impl Update {
    /// Take the lock of the index in `folder`, make the index when there is none, heal what a killed update left.
    pub fn open(folder: &Path, wait: Wait, progress: &dyn Progress) -> Result<Update> {
        let _ = (folder, wait, progress);
        Ok(Update {})
    }

    /// Forget everything.
    pub fn clear(&mut self) -> Result<()> {
        Ok(())
    }

    /// Look at all logs of `corpus`, with `jobs` threads, and read what changed.
    pub fn run(&mut self, corpus: &dyn Corpus, jobs: usize, progress: &dyn Progress) -> Result<Report> {
        let _ = (corpus, jobs, progress);
        Ok(Report::default())
    }
}
