//! The only door through which a log is published: what a publication needs of a file system, and no more.
//!
//! Useful for: failing, shortening or stopping any step of a publication in a test, and asking what a crash would leave
//! behind (`fault.rs`, `mem.rs`). Not for: reading a home, which `dshlog_codec::home` does.

#[cfg(test)]
mod fault;
#[cfg(test)]
mod mem;
mod os;
mod platform;

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;

use dshlog_codec::source::ReadAt;

#[cfg(test)]
pub(crate) use fault::{Call, Fault, FaultFs};
#[cfg(test)]
pub(crate) use mem::MemFs;
pub use os::OsFs;

/// What a publication asks of a file system.
pub trait Vfs: Send + Sync {
    /// Make a new file that its owner alone may read and write. Fails with [`io::ErrorKind::AlreadyExists`] when the
    /// name is taken.
    fn create_new(&self, path: &Path) -> io::Result<Box<dyn NewFile>>;

    /// Open a file for reading.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>>;

    /// What a name leads to, links followed.
    fn identity(&self, path: &Path) -> io::Result<Identity>;

    /// What stands at a name; a link is a link.
    fn entry(&self, path: &Path) -> io::Result<Identity>;

    /// The names in a folder, in no order.
    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>>;

    /// Give a file a second name. Fails with [`io::ErrorKind::AlreadyExists`] when that is taken.
    fn link(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Move a file to another name of its folder. Fails with [`io::ErrorKind::AlreadyExists`] when that is taken.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Make a folder that its owner alone may enter, in one that is there. Fails with [`io::ErrorKind::AlreadyExists`] when
    /// the name is taken.
    fn make_folder(&self, path: &Path) -> io::Result<()>;

    /// Make the names of a folder outlive a loss of power.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// Remove a name.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// A file that is being written. Dropping it closes it.
pub trait NewFile: Send {
    /// Append some of `bytes`, at least one; says how many.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;

    /// Make what was written outlive a loss of power.
    fn sync(&mut self) -> io::Result<()>;
}

/// What stands at a name, and whether it is still the same and unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// File, folder, link.
    pub kind: Kind,
    /// Number of the device.
    pub device: u64,
    /// Number of the file on its device.
    pub inode: u64,
    /// Length in bytes.
    pub len: u64,
    /// When the content last changed, nanoseconds since 1970.
    pub modified: i128,
    /// When the entry last changed, nanoseconds since 1970. No program can set it back.
    pub changed: i128,
}

/// What stands at a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A pipe, a device.
    Other,
}
