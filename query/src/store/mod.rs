//! Sessions of the V0 era in a SQLite store (`docs/spec/storage.md`, section 17).
//!
//! A session read from a store is a log of V0: [`Store::log`] writes the text that the runtime of that era would have
//! written into a file, and from there on it is a [`LogFile`] as any other. A store is only ever read, and nothing comes to
//! be beside it.

mod open;
mod place;
mod text;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dshlog_codec::{Class, Encoding, Error, ErrorKind, Generation, Header, LogFile, Millis, Result};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, Row};
use sha2::{Digest as _, Sha256};

use self::open::Opened;
use self::text::Spool;
use crate::corpus::Stamp;

pub use self::open::forget_copy;
pub use self::place::{Place, is_database, is_store};

/// Marks a database as a store.
const APPLICATION: u32 = 1_146_308_688;

/// The version of its tables that is known: that of 0.1.0-rc.6 and 0.1.0-rc.7.
const VERSION: i64 = 15;

/// How often a question is asked anew when a writer came in between.
const TRIES: usize = 3;

/// An opened store.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    opened: Opened,
}

/// A session in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its id.
    pub id: String,
    /// What tells whether it changed: its revision as length, and which session of this id it is.
    pub stamp: Stamp,
    /// Time of its last event, or of its creation.
    pub last: Millis,
}

impl Store {
    /// Open a store for reading. A database of anybody else, or of another version, is refused as [`ErrorKind::Store`].
    pub fn open(path: &Path) -> Result<Store> {
        Ok(Store { path: path.to_owned(), opened: reopened(path)? })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// All sessions, in the order of their ids.
    pub fn entries(&mut self) -> Result<Vec<Entry>> {
        self.ask(|database| {
            let mut select = database.prepare_cached(&format!("{ENTRY} ORDER BY id"))?;
            select.query_map([], entry)?.collect()
        })
    }

    /// One session; nothing when it is not there.
    pub fn entry(&mut self, id: &str) -> Result<Option<Entry>> {
        self.ask(|database| {
            let mut select = database.prepare_cached(&format!("{ENTRY} WHERE id = ?1"))?;
            select.query_map([id], entry)?.next().transpose()
        })
    }

    /// The ids of the subagents that a session delegated to, in their order.
    pub fn children(&mut self, id: &str) -> Result<Vec<String>> {
        let select = "SELECT id FROM sessions WHERE parent_session = ?1 AND origin = 'subagent' ORDER BY id";
        self.ask(|database| {
            let mut select = database.prepare_cached(select)?;
            select.query_map([id], |row| Ok(text::lossy(row.get_ref(0)?).into_owned()))?.collect()
        })
    }

    /// Bytes of the payloads of a session.
    pub fn bytes(&mut self, id: &str) -> Result<u64> {
        // Asked of the rows' heads: no payload is read for it.
        let sum = "SELECT ifnull(sum(octet_length(data)), 0) FROM events WHERE session_id = ?1";
        self.ask(|database| database.prepare_cached(sum)?.query_row([id], |row| row.get(0)))
    }

    /// The header of a session, and no more than that needs.
    pub fn header(&mut self, id: &str) -> Result<Header> {
        let line = self.ask(|database| text::header(database, id))?.ok_or_else(|| self.missing(id))?;
        self.file(id, LogFile::from_bytes(line, Generation(0), Encoding::Raw)).header()
    }

    /// A session as a raw log of V0, whose errors name it as [`Place::path`] does. Each row is a line.
    ///
    /// Up to 64 MiB of text are held in memory, more in a file without a name.
    pub fn log(&mut self, id: &str) -> Result<LogFile> {
        let written = self.ask(|database| {
            let mut spool = Spool::default();
            Ok(text::log(database, id, &mut spool)?.then_some(spool))
        })?;
        let spool = written.ok_or_else(|| self.missing(id))?;
        let whole = spool.finish().map_err(|source| Error::io("make a copy of", &self.path, source))?;
        let log = match whole {
            text::Whole::Held(bytes) => LogFile::from_bytes(bytes, Generation(0), Encoding::Raw),
            text::Whole::Written(file) => LogFile::from_source(Arc::new(file), Generation(0), Encoding::Raw)?,
        };
        Ok(self.file(id, log))
    }

    fn file(&self, id: &str, log: LogFile) -> LogFile {
        log.named(&Place { store: self.path.clone(), id: id.to_owned() }.path())
    }

    fn missing(&self, id: &str) -> Error {
        let place = Place { store: self.path.clone(), id: id.to_owned() };
        Error::from(ErrorKind::NotFound).in_file(&place.path(), None)
    }

    /// Ask the database, anew when a writer came in between.
    fn ask<T>(&mut self, question: impl Fn(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        for _ in 0..TRIES {
            let answer = self.opened.ask(&question);
            if self.opened.is_steady(&self.path, &answer) {
                return answer.map_err(|error| fault(&self.path, error));
            }
            self.opened = reopened(&self.path)?;
        }
        Err(changed(&self.path))
    }
}

/// Open, anew when a writer came in between.
fn reopened(path: &Path) -> Result<Opened> {
    for _ in 0..TRIES {
        if let Some(opened) = Opened::new(path)? {
            return Ok(opened);
        }
    }
    Err(changed(path))
}

fn changed(path: &Path) -> Error {
    Error::from(ErrorKind::Changed).in_file(path, None)
}

const ENTRY: &str = "SELECT id, revision, incarnation, ifnull(
    (SELECT time FROM events WHERE session_id = sessions.id ORDER BY seq DESC LIMIT 1), created_at)
  FROM sessions";

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let number = |at| {
        Ok::<_, rusqlite::Error>(match row.get_ref(at)? {
            ValueRef::Integer(number) => number,
            _ => 0,
        })
    };
    let mut incarnation = [0; 8];
    let digest = Sha256::digest(text::lossy(row.get_ref(2)?).as_bytes());
    incarnation.copy_from_slice(&digest[..8]);
    let stamp = Stamp {
        len: u64::try_from(number(1)?).unwrap_or(0),
        modified: 0,
        // The catalog keeps signed numbers.
        inode: u64::from_le_bytes(incarnation) >> 1,
    };
    Ok(Entry { id: text::lossy(row.get_ref(0)?).into_owned(), stamp, last: Millis(number(3)?) })
}

/// A refusal, with a code of `docs/codes.md`.
fn refusal(path: &Path, code: &'static str, class: Class, what: impl Into<String>) -> Error {
    Error::from(ErrorKind::Store { code, class, what: what.into() }).in_file(path, None)
}

/// What SQLite's answer means.
fn fault(path: &Path, error: rusqlite::Error) -> Error {
    // Nothing that is asked has values to be converted: it is the spool that failed.
    if let rusqlite::Error::ToSqlConversionFailure(source) = error {
        return Error::io("make a copy of", path, io::Error::other(source));
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            refusal(path, "store-foreign", Class::Corrupt, "no store of sessions: not a SQLite database")
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            refusal(path, "store-busy", Class::Locked, "a writer holds the store, and did not let go in time")
        }
        Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure | ErrorCode::PermissionDenied) => {
            Error::io("read", path, io::Error::other(error))
        }
        _ => {
            let why = match &error {
                // Without the question that it was an answer to.
                rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
                error => error.to_string(),
            };
            refusal(path, "store-damaged", Class::Corrupt, format!("the store is damaged: {why}"))
        }
    }
}

#[cfg(test)]
mod tests;
