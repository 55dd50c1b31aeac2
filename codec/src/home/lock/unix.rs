//! An exclusive `flock` on `session.lock` in the session folder.
//!
//! The file is empty, stays behind for ever, and its being there means nothing; the kernel lets go of the lock when its
//! holder dies.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::error::{Error, Result};
use crate::source::open_regular;

/// How often a lock file may be exchanged under us before we take it for somebody's.
const ATTEMPTS: u32 = 3;

/// The open lock file; closing it lets go of the lock.
#[derive(Debug)]
pub(super) struct Held {
    _file: File,
}

/// Lock the file at `path`; `None` when somebody else has.
pub(super) fn acquire(path: &Path) -> Result<Option<Held>> {
    for _ in 0..ATTEMPTS {
        // Never truncated, though dsh does: there is nothing in it, and a link of this name may lead to somebody's file.
        // The link is followed, since dsh locks what it leads to.
        let file = open_regular(OpenOptions::new().write(true).create(true).truncate(false), path);
        let file = file.map_err(|e| Error::io("open", path, e))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(e)) => return Err(Error::io("lock", path, e)),
        }
        // Between opening and locking somebody may have deleted the file and made a new one: then two could hold
        // a lock each.
        if is_still_at(&file, path).map_err(|e| Error::io("look at", path, e))? {
            return Ok(Some(Held { _file: file }));
        }
    }
    Ok(None)
}

/// Ask with a shared lock, which two who ask at once can both have.
pub(super) fn is_held(path: &Path) -> Result<bool> {
    let file = match open_regular(OpenOptions::new().read(true), path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(e) => return Err(Error::io("open", path, e)),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(e)) => Err(Error::io("lock", path, e)),
    }
}

/// True when `file` is still what its path names. A lock on a file that was deleted meanwhile proves nothing.
fn is_still_at(file: &File, path: &Path) -> io::Result<bool> {
    let held = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((held.dev(), held.ino()) == (there.dev(), there.ino())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}
