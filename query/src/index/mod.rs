//! The full-text index, and the catalog beside it, as one thing: a folder.
//!
//! [`Index`] reads, and never waits; [`Update`] writes, and is alone. [`freshen`] is the update that a search can afford,
//! [`watch`] the one that does not end.

mod collect;
mod ending;
mod even;
mod filter;
mod folder;
mod fresh;
mod living;
mod plan;
mod reader;
mod reconcile;
mod schema;
mod steady;
mod text;
mod update;
mod watch;
mod writer;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use folder::rules;
pub use fresh::{Freshness, freshen};
pub(crate) use reader::{Facts, copies};
pub use update::{Progress, Report, Skipped, Update, Wait};
pub use watch::watch;

use crate::catalog::Catalog;
use crate::error::{Error, Result};
use crate::hit::{Found, Options};
use crate::language::Query;
use crate::session::Session;
use folder::Folder;
use text::Text;

/// How often both sides are opened until they agree, and how long is waited in between.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(2);

/// An index that is read: the state of one moment.
pub struct Index {
    folder: PathBuf,
    catalog: Catalog,
    text: Text,
    generation: u64,
    updated: i64,
}

/// How large an index is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Sessions in it, whole or not.
    pub sessions: u64,
    /// Documents in it.
    pub documents: u64,
    /// Bytes of its files.
    pub bytes: u64,
}

impl Index {
    /// Open the index in `folder`. [`Error::NoIndex`] when there is none, [`Error::Foreign`], [`Error::Newer`],
    /// [`Error::Damaged`], and [`Error::Outdated`] for one that was made with older rules. Of the last two an update
    /// makes it anew.
    pub fn open(folder: &Path) -> Result<Index> {
        let mut tries = 1;
        loop {
            let (index, committed) = Index::try_open(folder)?;
            // An update commits the text first and the catalog a moment later. One that was killed between the two leaves
            // them apart until the next one; then what the catalog does not know yet is passed over.
            if committed == index.generation || tries == TRIES {
                return Ok(index);
            }
            tries += 1;
            std::thread::sleep(PAUSE);
        }
    }

    /// The index, and the number that its text was committed under.
    fn try_open(folder: &Path) -> Result<(Index, u64)> {
        let place = Folder::open(folder)?;
        let catalog = Catalog::read(&place.catalog())?;
        let state = catalog.state()?;
        if state.rules != rules() {
            let why = format!("it was made with {}; these are {}", state.rules, rules());
            return Err(Error::Outdated { path: folder.to_owned(), why });
        }
        if state.updated == 0 {
            // A first update was killed, or goes on: what there is, is not all there is.
            return Err(Error::NoIndex(folder.to_owned()));
        }
        let text = Text::open(&place.text()).map_err(|error| match error {
            // A first update was killed before its first commit.
            Error::NoIndex(_) => Error::NoIndex(folder.to_owned()),
            error => error,
        })?;
        let committed = text.payload.as_deref().and_then(|number| number.parse().ok()).unwrap_or(0);
        if committed < state.generation {
            let why = "text and catalog do not belong together".to_owned();
            return Err(Error::Damaged { path: folder.to_owned(), why });
        }
        let index = Index {
            folder: folder.to_owned(),
            catalog,
            text,
            generation: state.generation,
            updated: state.updated,
        };
        Ok((index, committed))
    }

    /// [`Error::OtherRoot`] when it holds the sessions of another root than this one.
    pub fn must_be_of(&self, root: &Path) -> Result<()> {
        self.catalog.must_be_of(root)
    }

    /// Number of the state: one more for each update that changed something.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// When it was last brought up to date, epoch milliseconds.
    pub fn updated(&self) -> i64 {
        self.updated
    }

    /// What matches.
    ///
    /// [`Error::Damaged`] where a file is not what was written: an update looks through all of them.
    pub fn search(&self, query: &Query, options: &Options) -> Result<Found> {
        let search = || reader::search(&self.text.searcher, self.text.fields, &self.catalog, query, options);
        text::guarded(&self.folder, search).map_err(|error| match error {
            Error::Tantivy(_) | Error::Sqlite(_) if error.is_curable() => {
                Error::Damaged { path: self.folder.clone(), why: error.to_string() }
            }
            error => error,
        })
    }

    /// All sessions, with how far they are in the index.
    pub fn sessions(&self) -> Result<Vec<Session>> {
        Ok(self.catalog.sessions()?.into_iter().map(|(_, session)| session).collect())
    }

    /// The logs that are not whole in the index.
    pub fn skipped(&self) -> Result<Vec<Skipped>> {
        Ok(self.catalog.unsound_rows()?.iter().filter_map(Skipped::of).collect())
    }

    /// How many sessions are not whole in the index: partial, and unreadable.
    pub fn unsound(&self) -> Result<(u64, u64)> {
        self.catalog.unsound()
    }

    /// How large it is.
    pub fn size(&self) -> Result<Size> {
        let (sessions, documents) = self.catalog.count()?;
        Ok(Size { sessions, documents, bytes: Folder::open(&self.folder)?.size() })
    }
}

#[cfg(test)]
mod tests;
