//! Opening a store so that nothing of it changes, and nothing comes to be beside it.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use dshlog_codec::source::open_regular;
use dshlog_codec::{Class, Error, Result};
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use super::{APPLICATION, VERSION, fault, refusal};

/// How long a writer is waited for. Tests have one that never lets go.
const PATIENCE: Duration = if cfg!(test) { Duration::from_millis(20) } else { Duration::from_secs(5) };

/// Bytes of the head of a SQLite database.
pub(super) const HEAD: usize = 100;

/// What a SQLite database begins with.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// A connection, and what keeps its answers whole.
#[derive(Debug)]
pub(super) struct Opened {
    database: Connection,
    way: Way,
}

/// How a store is read.
#[derive(Debug)]
enum Way {
    /// Nobody writes: as a file that does not change, without locks. Afterwards it must still be the file it was.
    Still(Witness),
    /// Beside a writer, with its locks.
    Shared,
    /// A writer stopped in the middle. SQLite mends that when it opens a store for writing, so it gets a copy to do so.
    Copied(#[expect(dead_code, reason = "holds the copy until it is dropped")] TempDir),
}

/// What every commit changes.
#[derive(Debug, PartialEq, Eq)]
struct Witness {
    head: Vec<u8>,
    len: u64,
    modified: Option<SystemTime>,
    is_written: bool,
}

impl Witness {
    fn of(path: &Path) -> std::io::Result<Witness> {
        let metadata = fs::metadata(path)?;
        Ok(Witness {
            head: head(path)?,
            len: metadata.len(),
            modified: metadata.modified().ok(),
            is_written: is_written(path),
        })
    }
}

impl Opened {
    pub(super) fn new(path: &Path) -> Result<Opened> {
        let witness = Witness::of(path).map_err(|source| Error::io("open", path, source))?;
        if !witness.head.starts_with(MAGIC) {
            let what = "no store of sessions: not a SQLite database";
            return Err(refusal(path, "store-foreign", Class::Corrupt, what));
        }
        let is_wal = witness.head.get(18) == Some(&2);
        let opened = if !witness.is_written {
            let database = connect(path, true).map_err(|error| fault(path, error))?;
            Opened { database, way: Way::Still(witness) }
        } else if is_wal && !beside(path, "-shm").exists() {
            // A writer at work would have that file, and a reader would make it.
            Opened::copied(path)?
        } else {
            let database = connect(path, false).map_err(|error| fault(path, error))?;
            match probe(&database) {
                // Only a journal that must be rolled back keeps a reader out in this way.
                Err(error) if is_unfinished(&error) => Opened::copied(path)?,
                _ => Opened { database, way: Way::Shared },
            }
        };
        opened.check(path)?;
        Ok(opened)
    }

    fn copied(path: &Path) -> Result<Opened> {
        let folder = tempfile::tempdir().map_err(|source| Error::io("make a copy of", path, source))?;
        let copy = folder.path().join("store");
        for suffix in ["", "-journal", "-wal"] {
            let from = beside(path, suffix);
            if from.exists() {
                fs::copy(&from, beside(&copy, suffix))
                    .map_err(|source| Error::io("make a copy of", &from, source))?;
            }
        }
        let database = Connection::open(&copy).map_err(|error| fault(path, error))?;
        Ok(Opened { database, way: Way::Copied(folder) })
    }

    /// Refuse what is no store, or one of another version.
    fn check(&self, path: &Path) -> Result<()> {
        let number = |name: &str| self.database.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
        let application = number("application_id").map_err(|error| fault(path, error))?;
        if application != i64::from(APPLICATION) {
            let what = "no store of sessions: a database of another application";
            return Err(refusal(path, "store-foreign", Class::Corrupt, what));
        }
        match number("user_version").map_err(|error| fault(path, error))? {
            VERSION => Ok(()),
            other => {
                let what = format!("a store of version {other}; only version {VERSION} is known");
                Err(refusal(path, "store-version", Class::Unsupported, what))
            }
        }
    }

    /// Ask in one transaction: all of it is of one moment.
    pub(super) fn ask<T>(
        &self,
        question: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        let moment = self.database.unchecked_transaction()?;
        question(&moment)
    }

    /// False when somebody wrote to what was read as a file that does not change.
    pub(super) fn is_steady(&self, path: &Path) -> bool {
        match &self.way {
            Way::Still(before) => Witness::of(path).is_ok_and(|now| now == *before),
            Way::Shared | Way::Copied(_) => true,
        }
    }
}

/// The first bytes of a file, fewer when it is shorter.
pub(super) fn head(path: &Path) -> std::io::Result<Vec<u8>> {
    let file = open_regular(fs::OpenOptions::new().read(true), path)?;
    let mut head = Vec::with_capacity(HEAD);
    file.take(HEAD as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// True for the head of a SQLite database.
pub(super) fn has_magic(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// True when a writer is at work on a database, or stopped in the middle.
pub(super) fn is_written(path: &Path) -> bool {
    ["-wal", "-journal"].iter().any(|suffix| fs::metadata(beside(path, suffix)).is_ok_and(|it| it.len() > 0))
}

/// The file that SQLite keeps beside a database.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn connect(path: &Path, is_still: bool) -> rusqlite::Result<Connection> {
    let mut flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let database = if is_still {
        flags |= OpenFlags::SQLITE_OPEN_URI;
        Connection::open_with_flags(immutable(path), flags)?
    } else {
        Connection::open_with_flags(path, flags)?
    };
    database.busy_timeout(PATIENCE)?;
    Ok(database)
}

/// The name by which SQLite takes a file for one that does not change.
pub(crate) fn immutable(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => {
                uri.push(char::from(*byte));
            }
            _ => _ = write!(uri, "%{byte:02X}"),
        }
    }
    uri + "?immutable=1"
}

fn probe(database: &Connection) -> rusqlite::Result<i64> {
    database.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
}

fn is_unfinished(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{CannotOpen, ReadOnly};
    matches!(error.sqlite_error_code(), Some(CannotOpen | ReadOnly))
}
