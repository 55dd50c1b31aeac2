//! The full-text index, and the catalog beside it, as one thing: a folder.
//!
//! [`Index`] reads, and never waits; [`Update`] writes, and is alone.

mod collect;
mod ending;
mod filter;
mod plan;
mod reader;
mod schema;
mod steady;
mod text;
mod update;

use std::path::Path;

pub use schema::{Fields, SCHEMA_VERSION, builder, register};
pub use update::{Progress, Report, Skipped, Update, Wait};

use crate::error::{Error, Result};
use crate::hit::{Found, Options};
use crate::language::Query;
use crate::session::Session;

/// An index that is read: the state of one moment.
pub struct Index {}

impl Index {
    /// Open the index in `folder`. [`Error::NoIndex`] when there is none, [`Error::Foreign`], [`Error::Newer`],
    /// [`Error::Damaged`]; an index of an older format is [`Error::Damaged`], too: it must be made anew.
    pub fn open(folder: &Path) -> Result<Index> {
        Err(Error::NoIndex(folder.to_owned()))
    }

    /// Number of the state: one more for each update that changed something.
    pub fn generation(&self) -> u64 {
        0
    }

    /// When it was last brought up to date, epoch milliseconds.
    pub fn updated(&self) -> i64 {
        0
    }

    /// What matches.
    pub fn search(&self, query: &Query, options: &Options) -> Result<Found> {
        let _ = (query, options);
        Ok(Found::default())
    }

    /// All sessions, with how far they are in the index.
    pub fn sessions(&self) -> Result<Vec<Session>> {
        Ok(Vec::new())
    }

    /// How many sessions are not whole in the index: partial, and unreadable.
    pub fn unsound(&self) -> Result<(u64, u64)> {
        Ok((0, 0))
    }
}

#[cfg(test)]
mod tests;
