//! What differs between operating systems. The Windows half is written from the specification and was never run.

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

/// The variable that holds the person's own folder.
#[cfg(not(windows))]
pub(super) const HOME_VARIABLE: &str = "HOME";
#[cfg(windows)]
pub(super) const HOME_VARIABLE: &str = "USERPROFILE";

/// Make a folder and its parents for the owner alone, as dsh does.
#[cfg(unix)]
pub(super) fn make_private_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}
#[cfg(not(unix))]
pub(super) fn make_private_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).create(path)
}

/// True when both are one file.
#[cfg(unix)]
fn is_same_file(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}
#[cfg(not(unix))]
fn is_same_file(_: &Metadata, _: &Metadata) -> bool {
    // Stable Rust does not show the file index there. Nobody asks: the lock below is not taken.
    false
}

/// True when `file` is still what its path names. A lock on a file that was deleted meanwhile proves nothing.
pub(super) fn is_still_at(file: &File, path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(there) => Ok(is_same_file(&file.metadata()?, &there)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

/// Whether a lock file is what the writers of this system agree on.
///
/// Not on Windows: there they share a named semaphore, which cannot be had without unsafe code. So there the lock is
/// refused rather than believed.
pub(super) const LOCKS_BY_FILE: bool = cfg!(unix);
