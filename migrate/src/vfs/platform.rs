//! What differs between operating systems when a log is published (`docs/spec/storage.md`, 13.2).

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::path::Path;

use super::{Identity, Kind};

fn kind(metadata: &Metadata) -> Kind {
    let found = metadata.file_type();
    match () {
        () if found.is_file() => Kind::File,
        () if found.is_dir() => Kind::Folder,
        () if found.is_symlink() => Kind::Link,
        () => Kind::Other,
    }
}

/// Nobody but the owner may read or write the file that is made.
#[cfg(unix)]
pub(super) fn for_owner_alone(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600);
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "on Windows the file has to be opened")]
pub(super) fn identity(_: &Path, metadata: &Metadata) -> io::Result<Identity> {
    use std::os::unix::fs::MetadataExt;
    let nanos = |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    Ok(Identity {
        kind: kind(metadata),
        device: metadata.dev(),
        inode: metadata.ino(),
        len: metadata.len(),
        modified: nanos(metadata.mtime(), metadata.mtime_nsec()),
        changed: nanos(metadata.ctime(), metadata.ctime_nsec()),
    })
}

/// A second name for the file, unless that is taken.
#[cfg(unix)]
pub(super) fn link(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::hard_link(from, to)
}

/// The new name instead of the old one, unless it is taken.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

#[cfg(unix)]
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
