//! Opening a store so that nothing of it changes, and nothing comes to be beside it.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use dshlog_codec::source::open_regular;
use dshlog_codec::{Class, Error, Result};
use rusqlite::{Connection, ErrorCode};
use tempfile::TempDir;

use super::{APPLICATION, VERSION, fault, refusal};
use crate::uri::open_read_only;

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
    /// A writer left something that is to be mended first. SQLite does so when it opens a store for writing, and gets a copy
    /// for it.
    Copied(Witness, #[expect(dead_code, reason = "holds the copy until it is dropped")] Arc<TempDir>),
}

/// A copy of a store.
struct Mended {
    of: PathBuf,
    witness: Witness,
    folder: Arc<TempDir>,
}

/// The last copy that was made. Sessions are read one after the other, and each opens the store anew.
static LAST: Mutex<Option<Mended>> = Mutex::new(None);

/// Remove the copy of a store that may be kept for whoever opens it next. Nothing else does so at the end of a program.
pub fn forget_copy() {
    *last() = None;
}

fn last() -> MutexGuard<'static, Option<Mended>> {
    LAST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is beside a store while it is written: its own pages are not all there is.
const WRITTEN: [&str; 2] = ["-wal", "-journal"];

/// What every commit changes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Witness {
    store: Trace,
    written: [Option<Trace>; 2],
}

/// What a write to a file changes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Trace {
    head: Vec<u8>,
    len: u64,
    modified: Option<SystemTime>,
}

impl Witness {
    fn of(path: &Path) -> io::Result<Witness> {
        // Empty ones mean nothing, and one that goes away while it is looked at was as good as empty.
        let written = |suffix| Trace::of(&beside(path, suffix)).ok().filter(|trace| trace.len > 0);
        Ok(Witness { store: Trace::of(path)?, written: WRITTEN.map(written) })
    }

    fn is_written(&self) -> bool {
        self.written.iter().any(Option::is_some)
    }
}

impl Trace {
    fn of(path: &Path) -> io::Result<Trace> {
        let metadata = fs::metadata(path)?;
        Ok(Trace { head: head(path)?, len: metadata.len(), modified: metadata.modified().ok() })
    }
}

impl Opened {
    /// Open a store; nothing when a writer came in between.
    pub(super) fn new(path: &Path) -> Result<Option<Opened>> {
        let witness = Witness::of(path).map_err(|source| Error::io("open", path, source))?;
        if !has_magic(&witness.store.head) {
            let what = "no store of sessions: not a SQLite database";
            return Err(refusal(path, "store-foreign", Class::Corrupt, what));
        }
        if witness.store.head.len() < HEAD {
            let what = "the store is damaged: it ends within its head";
            return Err(refusal(path, "store-damaged", Class::Corrupt, what));
        }
        let opened = if witness.is_written() {
            match connect(path, "readonly_shm").and_then(|database| probe(&database).map(|_| database)) {
                Ok(database) => Some(Opened { database, way: Way::Shared }),
                Err(error) if is_unfinished(&error) => Opened::copied(path, witness)?,
                Err(error) => return Err(fault(path, error)),
            }
        } else {
            let database = connect(path, "immutable").map_err(|error| fault(path, error))?;
            Some(Opened { database, way: Way::Still(witness) })
        };
        if let Some(opened) = &opened {
            opened.check(path)?;
        }
        Ok(opened)
    }

    fn copied(path: &Path, witness: Witness) -> Result<Option<Opened>> {
        let Some(folder) = copy(path, &witness)? else { return Ok(None) };
        let database = Connection::open(folder.path().join(COPY)).map_err(|error| fault(path, error))?;
        Ok(Some(Opened { database, way: Way::Copied(witness, folder) }))
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

    /// False when an answer is of no worth, since somebody wrote meanwhile.
    pub(super) fn is_steady<T>(&self, path: &Path, answer: &rusqlite::Result<T>) -> bool {
        match &self.way {
            Way::Still(before) | Way::Copied(before, _) => Witness::of(path).is_ok_and(|now| now == *before),
            Way::Shared => !answer.as_ref().is_err_and(is_unfinished),
        }
    }
}

/// The first bytes of a file, fewer when it is shorter.
pub(super) fn head(path: &Path) -> io::Result<Vec<u8>> {
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
    WRITTEN.iter().any(|suffix| fs::metadata(beside(path, suffix)).is_ok_and(|it| it.len() > 0))
}

/// The file that SQLite keeps beside a database.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Name of a copy in its folder.
const COPY: &str = "store";

/// Copy a store and what is beside it; nothing when a writer came in between.
fn copy(path: &Path, witness: &Witness) -> Result<Option<Arc<TempDir>>> {
    let mut last = last();
    match &*last {
        Some(last) if last.of == path && last.witness == *witness => {
            return Ok(Some(Arc::clone(&last.folder)));
        }
        _ => *last = None,
    }
    let failed = |source| Error::io("make a copy of", path, source);
    let folder = Arc::new(tempfile::tempdir().map_err(failed)?);
    let copy = folder.path().join(COPY);
    copy_content(path, &copy).map_err(failed)?;
    for suffix in WRITTEN {
        match copy_content(&beside(path, suffix), &beside(&copy, suffix)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            copied => copied.map_err(failed)?,
        }
    }
    if Witness::of(path).ok().as_ref() != Some(witness) {
        return Ok(None);
    }
    *last = Some(Mended { of: path.to_owned(), witness: witness.clone(), folder: Arc::clone(&folder) });
    Ok(Some(folder))
}

/// Copy what is in a file, not who may write to it.
fn copy_content(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = open_regular(fs::OpenOptions::new().read(true), from)?;
    io::copy(&mut from, &mut fs::File::create_new(to)?).map(drop)
}

/// Open for reading. With `immutable` nothing but the file is looked at. With `readonly_shm` the file through which a writer
/// and its readers talk is looked at, too, but never made or written: where that does not do, SQLite says so.
fn connect(path: &Path, switch: &str) -> rusqlite::Result<Connection> {
    let database = open_read_only(path, switch)?;
    database.busy_timeout(PATIENCE)?;
    Ok(database)
}

fn probe(database: &Connection) -> rusqlite::Result<i64> {
    database.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
}

/// True where a reader would have to write before it can read.
fn is_unfinished(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}
