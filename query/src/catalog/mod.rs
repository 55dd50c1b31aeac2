//! What of which log is in the index: a SQLite database beside it.
//!
//! The full-text index and the catalog change together. Before the index is committed the catalog notes what it will then
//! hold (`Catalog::intend`); the index is committed under the number of that note; then the note comes into force
//! (`Catalog::settle`). Whoever opens the catalog next sees by the index's number whether a note that was left must still
//! come into force, or never will.

mod facts;
mod row;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, params};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::uri::open_read_only;

pub(crate) use row::LogRow;

/// Marks the database as ours: `dslq`.
const APPLICATION: i32 = 0x6473_6c71;

/// Number of the tables. An older one is made anew, a newer one refused.
pub const FORMAT: u32 = 1;

/// A reader or writer of another process is waited for so long. Only writers of the database itself ever wait.
const PATIENCE: Duration = Duration::from_secs(5);

const TABLES: &str = "
CREATE TABLE state (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  generation INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  next_log INTEGER NOT NULL,
  rules TEXT NOT NULL,
  root BLOB
) STRICT;
CREATE TABLE logs (
  log INTEGER PRIMARY KEY,
  path BLOB NOT NULL,
  entry TEXT,
  len INTEGER NOT NULL,
  modified INTEGER NOT NULL,
  inode INTEGER NOT NULL,
  session TEXT NOT NULL,
  project TEXT,
  generation INTEGER NOT NULL,
  created INTEGER NOT NULL,
  last INTEGER NOT NULL,
  parent TEXT,
  is_seeded INTEGER NOT NULL,
  is_subagent INTEGER NOT NULL,
  preset TEXT,
  title TEXT,
  soundness TEXT NOT NULL,
  mark BLOB,
  extractor TEXT,
  inherited INTEGER NOT NULL,
  skips_inherited INTEGER NOT NULL,
  documents INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX logs_by_place ON logs (path, ifnull(entry, ''));
CREATE INDEX logs_by_session ON logs (session);
CREATE INDEX logs_by_parent ON logs (parent) WHERE parent IS NOT NULL;
CREATE INDEX logs_by_use ON logs (last DESC);
CREATE INDEX logs_unsound ON logs (soundness) WHERE soundness <> 'whole';
CREATE TABLE replaced (
  log INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  by INTEGER NOT NULL,
  PRIMARY KEY (log, seq)
) STRICT, WITHOUT ROWID;
CREATE TABLE folders (
  path BLOB PRIMARY KEY,
  modified INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE pending (
  generation INTEGER PRIMARY KEY,
  changes TEXT NOT NULL
) STRICT;
";

/// The database.
#[derive(Debug)]
pub(crate) struct Catalog {
    database: Connection,
    path: PathBuf,
}

/// What is true of the index as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// Number of the state of the index.
    pub(crate) generation: u64,
    /// When all logs were last looked at, epoch milliseconds.
    pub(crate) updated: i64,
    /// The row of the next new log.
    pub(crate) next_log: u64,
    /// The rules that made it: schema, analysis, documents.
    pub(crate) rules: String,
    /// Whose sessions it holds; nothing before the first update.
    pub(crate) root: Option<PathBuf>,
}

/// What one commit changes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Changes {
    /// Logs as they are in the index from then on.
    pub(crate) put: Vec<LogRow>,
    /// What left the surface of a log, all of it: pairs of seq and what took its place.
    pub(crate) replaced: Vec<(u64, Vec<(u64, u64)>)>,
    /// Logs that are gone.
    pub(crate) removed: Vec<u64>,
    /// The row of the next new log.
    pub(crate) next_log: u64,
}

impl Changes {
    /// True when nothing changes.
    pub(crate) fn is_empty(&self) -> bool {
        self.put.is_empty() && self.removed.is_empty()
    }
}

/// What a file that is to be a catalog is.
enum Found {
    Ours,
    Empty,
}

impl Catalog {
    /// Open it for reading; never waits for a writer. [`Error::NoIndex`] when there is none.
    pub(crate) fn read(path: &Path) -> Result<Catalog> {
        if !path.exists() {
            return Err(Error::NoIndex(path.parent().unwrap_or(path).to_owned()));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let catalog = Catalog { database: Connection::open_with_flags(path, flags)?, path: path.to_owned() };
        catalog.database.busy_timeout(PATIENCE)?;
        match catalog.probe() {
            Ok(Found::Ours) => Ok(catalog),
            Ok(Found::Empty) => Err(Error::NoIndex(path.parent().unwrap_or(path).to_owned())),
            // A folder that cannot be written to has no room for the files of a reader; nobody writes there either.
            Err(Error::Sqlite(error)) if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) => {
                let catalog = Catalog { database: open_read_only(path, "immutable")?, path: path.to_owned() };
                catalog.probe().map(|_| catalog)
            }
            Err(error) => Err(error),
        }
    }

    /// Open it for writing, or make it.
    pub(crate) fn write(path: &Path, rules: &str) -> Result<Catalog> {
        let mut catalog = Catalog { database: Connection::open(path)?, path: path.to_owned() };
        catalog.database.busy_timeout(PATIENCE)?;
        // Nothing is written before it is known whose it is.
        let found = catalog.probe()?;
        catalog.database.pragma_update(None, "journal_mode", "wal")?;
        // A note must be on disk before the index is committed.
        catalog.database.pragma_update(None, "synchronous", "full")?;
        if matches!(found, Found::Empty) {
            let change = catalog.database.transaction()?;
            change.execute_batch(TABLES)?;
            change.execute("INSERT INTO state VALUES (1, 0, 0, 1, ?1, NULL)", [rules])?;
            change.pragma_update(None, "application_id", APPLICATION)?;
            change.pragma_update(None, "user_version", FORMAT)?;
            change.commit()?;
        }
        Ok(catalog)
    }

    /// Whose database it is.
    fn probe(&self) -> Result<Found> {
        let number = |name: &str| self.database.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let (application, version) = match (number("application_id"), number("user_version")) {
            (Ok(application), Ok(version)) => (application, version),
            (Err(error), _) | (_, Err(error)) => return Err(self.damage(error)),
        };
        let tables: i64 = self
            .database
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
            .map_err(|error| self.damage(error))?;
        let foreign = |why: &str| Err(Error::Foreign { path: self.path.clone(), why: why.to_owned() });
        match (application, version) {
            (0, _) if tables == 0 => Ok(Found::Empty),
            (0, _) => foreign("it is a database without a mark"),
            (id, _) if id != i64::from(APPLICATION) => foreign("it is a database of another application"),
            (_, version) if version > i64::from(FORMAT) => Err(Error::Newer {
                path: self.path.clone(),
                found: u32::try_from(version).unwrap_or(u32::MAX),
                known: FORMAT,
            }),
            (_, version) if version < i64::from(FORMAT) => Err(Error::Outdated {
                path: self.path.clone(),
                why: format!("its tables are those of version {version}"),
            }),
            _ => Ok(Found::Ours),
        }
    }

    /// What SQLite says of a file that is none of its own, or no longer.
    fn damage(&self, error: rusqlite::Error) -> Error {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                Error::Damaged { path: self.path.clone(), why: error.to_string() }
            }
            _ => error.into(),
        }
    }

    /// Look through the whole database for damage.
    pub(crate) fn check(&self) -> Result<()> {
        let verdict: String = self
            .database
            .pragma_query_value(None, "quick_check", |row| row.get(0))
            .map_err(|error| self.damage(error))?;
        if verdict == "ok" {
            return Ok(());
        }
        Err(Error::Damaged { path: self.path.clone(), why: verdict })
    }

    pub(crate) fn state(&self) -> Result<State> {
        let state = self.database.query_row(
            "SELECT generation, updated, next_log, rules, root FROM state",
            [],
            |row| {
                Ok(State {
                    generation: row.get(0)?,
                    updated: row.get(1)?,
                    next_log: row.get(2)?,
                    rules: row.get(3)?,
                    root: row.get::<_, Option<Vec<u8>>>(4)?.map(row::path_of),
                })
            },
        );
        state.map_err(|error| self.damage(error))
    }

    /// Note what the index will hold once it is committed under `generation`.
    pub(crate) fn intend(&mut self, generation: u64, changes: &Changes) -> Result<()> {
        let changes = serde_json::to_string(changes)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        let note = "INSERT OR REPLACE INTO pending VALUES (?1, ?2)";
        self.database.execute(note, params![generation, changes])?;
        Ok(())
    }

    /// Let the note of `committed`, the number that the index was committed under, come into force if it has not yet, and
    /// drop all others. True when one came into force.
    pub(crate) fn settle(&mut self, committed: u64) -> Result<bool> {
        let change = self.database.transaction()?;
        let note: Option<String> = change
            .query_row("SELECT changes FROM pending WHERE generation = ?1", [committed], |row| row.get(0))
            .optional()?;
        if let Some(note) = &note {
            let changes: Changes = serde_json::from_str(note)
                .map_err(|error| Error::Damaged { path: self.path.clone(), why: error.to_string() })?;
            for log in &changes.removed {
                change.execute("DELETE FROM logs WHERE log = ?1", [log])?;
                change.execute("DELETE FROM replaced WHERE log = ?1", [log])?;
            }
            for row in &changes.put {
                row.put(&change)?;
            }
            let mut replace = change.prepare("INSERT OR REPLACE INTO replaced VALUES (?1, ?2, ?3)")?;
            for (log, pairs) in &changes.replaced {
                change.execute("DELETE FROM replaced WHERE log = ?1", [log])?;
                for (seq, by) in pairs {
                    replace.execute([log, seq, by])?;
                }
            }
            drop(replace);
            change.execute(
                "UPDATE state SET generation = ?1, next_log = max(next_log, ?2)",
                params![committed, changes.next_log],
            )?;
        }
        change.execute("DELETE FROM pending", [])?;
        change.commit()?;
        Ok(note.is_some())
    }

    /// Be the catalog of `root`, unless it is that of another one already.
    pub(crate) fn claim(&mut self, root: &Path) -> Result<()> {
        if self.state()?.root.is_none() {
            self.database.execute("UPDATE state SET root = ?1", [row::bytes_of(root)])?;
        }
        self.must_be_of(root)
    }

    /// [`Error::OtherRoot`] when it holds the sessions of another root.
    pub(crate) fn must_be_of(&self, root: &Path) -> Result<()> {
        match self.state()?.root {
            Some(held) if held != root => {
                Err(Error::OtherRoot { path: self.path.clone(), held, asked: root.to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// Note that all logs were looked at, and the folders that a later look compares.
    pub(crate) fn looked(&mut self, now: i64, folders: &[(PathBuf, i64)]) -> Result<()> {
        let change = self.database.transaction()?;
        change.execute("UPDATE state SET updated = ?1", [now])?;
        change.execute("DELETE FROM folders", [])?;
        for (path, modified) in folders {
            let put = "INSERT OR REPLACE INTO folders VALUES (?1, ?2)";
            change.execute(put, params![row::bytes_of(path), modified])?;
        }
        change.commit()?;
        Ok(())
    }

    /// Note when some folders were last changed, of those that were looked at.
    pub(crate) fn put_folders(&mut self, folders: &[(PathBuf, i64)]) -> Result<()> {
        let change = self.database.transaction()?;
        for (path, modified) in folders {
            let put = "INSERT OR REPLACE INTO folders VALUES (?1, ?2)";
            change.execute(put, params![row::bytes_of(path), modified])?;
        }
        change.commit()?;
        Ok(())
    }

    /// The logs that begin with a copy of events of this session.
    pub(crate) fn children(&self, session: &str) -> Result<Vec<LogRow>> {
        let mut select = self.database.prepare_cached(&LogRow::select("WHERE parent = ?1 AND is_seeded"))?;
        let rows = select.query_map([session], LogRow::of)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The folders of the last look, with the time of their last change then.
    pub(crate) fn folders(&self) -> Result<Vec<(PathBuf, i64)>> {
        let mut select = self.database.prepare_cached("SELECT path, modified FROM folders")?;
        let rows = select.query_map([], |row| Ok((row::path_of(row.get(0)?), row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// All logs, by path and entry.
    pub(crate) fn rows(&self) -> Result<HashMap<(PathBuf, Option<String>), LogRow>> {
        let mut select = self.database.prepare(&LogRow::select(""))?;
        let rows = select.query_map([], LogRow::of)?;
        let mut found = HashMap::new();
        for row in rows {
            let row = row?;
            found.insert((row.path.clone(), row.entry.clone()), row);
        }
        Ok(found)
    }

    /// The logs that were last used, at most `most`.
    pub(crate) fn latest(&self, most: u64) -> Result<Vec<LogRow>> {
        let mut select = self.database.prepare_cached(&LogRow::select("ORDER BY last DESC LIMIT ?1"))?;
        let rows = select.query_map([most], LogRow::of)?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// The log at a place.
    pub(crate) fn row_at(&self, path: &Path, entry: Option<&str>) -> Result<Option<LogRow>> {
        let mut select = self
            .database
            .prepare_cached(&LogRow::select("WHERE path = ?1 AND ifnull(entry, '') = ifnull(?2, '')"))?;
        Ok(select.query_row(params![row::bytes_of(path), entry], LogRow::of).optional()?)
    }

    /// The places of all logs below a folder.
    pub(crate) fn places_in(&self, folder: &Path) -> Result<Vec<(PathBuf, Option<String>)>> {
        let mut first = row::bytes_of(folder);
        first.push(std::path::MAIN_SEPARATOR as u8);
        let mut last = first.clone();
        last.extend([0xff; 4]);
        let mut select =
            self.database.prepare_cached("SELECT path, entry FROM logs WHERE path BETWEEN ?1 AND ?2")?;
        let rows = select.query_map([first, last], |row| Ok((row::path_of(row.get(0)?), row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }

    /// How far the log of a session is in the index.
    pub(crate) fn soundness(&self, session: &str) -> Result<Option<crate::session::Soundness>> {
        let mut select = self.database.prepare_cached(&LogRow::select("WHERE session = ?1 LIMIT 1"))?;
        Ok(select.query_row([session], LogRow::of).optional()?.map(|row| row.soundness))
    }

    /// How many logs are partly in the index, and how many not at all.
    pub(crate) fn unsound(&self) -> Result<(u64, u64)> {
        let count = |like: &str| -> Result<u64> {
            let select = "SELECT count(*) FROM logs WHERE soundness <> 'whole' AND soundness LIKE ?1";
            Ok(self.database.prepare_cached(select)?.query_row([like], |row| row.get(0))?)
        };
        Ok((count("partial: %")?, count("unreadable: %")?))
    }

    /// How many logs and documents there are.
    pub(crate) fn count(&self) -> Result<(u64, u64)> {
        let all = "SELECT count(*), ifnull(sum(documents), 0) FROM logs";
        Ok(self.database.query_row(all, [], |row| Ok((row.get(0)?, row.get(1)?)))?)
    }
}

#[cfg(test)]
mod tests;
