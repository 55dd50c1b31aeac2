//! The write lock of a session (`docs/spec/storage.md`, section 11).
//!
//! Writers agree on an object of the system, and not on the same one everywhere: a file below Unix (`unix.rs`), a
//! named semaphore on Windows (`windows.rs`). Both are never waited for, and both are free again when their holder
//! dies. Writers before dsh 0.1.5 took no lock and cannot be noticed.

use std::path::Path;

use super::platform;
use crate::at::At;
use crate::error::{Error, ErrorKind, Result};

#[cfg(any(windows, test))]
mod semaphore_name;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

/// Name of the lock file in a session folder. On Windows no such file is made; its path names the semaphore.
pub const LOCK_NAME: &str = "session.lock";

/// The write lock of one session, held until dropped.
#[derive(Debug)]
#[must_use = "the lock is let go when this is dropped"]
pub struct WriteLock {
    _held: system::Held,
}

impl WriteLock {
    /// Take the lock of the session in `folder`, which is made when it is not there.
    ///
    /// Refuses with [`ErrorKind::Locked`] when somebody holds it, this process included.
    ///
    /// On Windows the lock is of the *spelling* of the path, case aside: of a folder that is reached through a
    /// junction, a substituted drive or a short name, dsh holds another lock than we take.
    pub fn acquire(folder: &Path) -> Result<WriteLock> {
        platform::make_private_folder(folder).map_err(|e| Error::io("make the folder", folder, e))?;
        let path = folder.join(LOCK_NAME);
        match system::acquire(&path)? {
            Some(held) => Ok(WriteLock { _held: held }),
            None => Err(ErrorKind::Locked.at(At { path: Some(path), ..At::default() })),
        }
    }

    /// True when a writer holds the lock of the session in `folder`. Makes nothing, neither file nor semaphore.
    ///
    /// Probing takes the lock for an instant when it is free, since the systems have no question without a try. A
    /// writer that tries in just this instant is refused; so this is for reports, not for loops.
    pub fn is_held(folder: &Path) -> Result<bool> {
        system::is_held(&folder.join(LOCK_NAME))
    }
}
