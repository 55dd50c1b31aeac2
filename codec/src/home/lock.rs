//! The write lock of a session (`docs/spec/storage.md`, section 11).
//!
//! An exclusive `flock` on `session.lock` in the session folder, never waited for. The file is empty, stays behind
//! for ever, and its being there means nothing; the kernel lets go of the lock when its holder dies. Writers before
//! dsh 0.1.5 took no lock and cannot be noticed.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

use super::platform;
use crate::at::At;
use crate::error::{Error, ErrorKind, Result};

/// Name of the lock file in a session folder.
pub const LOCK_NAME: &str = "session.lock";

/// How often a lock file may be exchanged under us before we take it for somebody's.
const ATTEMPTS: u32 = 3;

/// The write lock of one session, held until dropped.
#[derive(Debug)]
#[must_use = "the lock is let go when this is dropped"]
pub struct WriteLock {
    /// Closing it lets go of the lock.
    _file: File,
}

impl WriteLock {
    /// Take the lock of the session in `folder`, which is made when it is not there.
    ///
    /// Refuses with [`ErrorKind::Locked`] when somebody holds it, this process included. On Windows always fails:
    /// see the system's answer in the error.
    pub fn acquire(folder: &Path) -> Result<WriteLock> {
        let path = folder.join(LOCK_NAME);
        if !platform::LOCKS_BY_FILE {
            let reason = "the lock of dsh on this system is a named semaphore, which dshlog cannot take";
            return Err(Error::io("lock", &path, io::Error::new(io::ErrorKind::Unsupported, reason)));
        }
        platform::make_private_folder(folder).map_err(|e| Error::io("make the folder", folder, e))?;
        for _ in 0..ATTEMPTS {
            // Truncating, as dsh does: it is how the file comes to be, and there is nothing in it.
            let file = OpenOptions::new().write(true).create(true).truncate(true).open(&path);
            let file = file.map_err(|e| Error::io("open", &path, e))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(locked(&path)),
                Err(TryLockError::Error(e)) => return Err(Error::io("lock", &path, e)),
            }
            // Between opening and locking somebody may have deleted the file and made a new one: then two could hold
            // a lock each.
            if platform::is_still_at(&file, &path).map_err(|e| Error::io("look at", &path, e))? {
                return Ok(WriteLock { _file: file });
            }
        }
        Err(locked(&path))
    }

    /// True when a writer holds the lock of the session in `folder`. Makes no file.
    ///
    /// Probing takes a shared lock for an instant, since the system has no question without a try. A writer that
    /// tries in just this instant is refused; so this is for reports, not for loops. On Windows, where no file is the
    /// lock, the answer is always no.
    pub fn is_held(folder: &Path) -> Result<bool> {
        let path = folder.join(LOCK_NAME);
        let file = match File::open(&path) {
            Ok(file) if platform::LOCKS_BY_FILE => file,
            Ok(_) => return Ok(false),
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(e) => return Err(Error::io("open", &path, e)),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(e)) => Err(Error::io("lock", &path, e)),
        }
    }
}

fn locked(path: &Path) -> Error {
    ErrorKind::Locked.at(At { path: Some(path.to_owned()), ..At::default() })
}
