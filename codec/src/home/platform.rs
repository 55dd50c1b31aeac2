//! What differs between operating systems (`docs/platforms.md`). The lock has files of its own, in `lock/`.

use std::fs;
use std::io;
use std::path::Path;

/// The variable that holds the person's own folder.
#[cfg(not(windows))]
pub(super) const HOME_VARIABLE: &str = "HOME";
#[cfg(windows)]
pub(super) const HOME_VARIABLE: &str = "USERPROFILE";

/// Make a folder and its parents for the owner alone, as dsh does. Windows has no mode: there the folder inherits who
/// may enter.
#[cfg(unix)]
pub(super) fn make_private_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}
#[cfg(not(unix))]
pub(super) fn make_private_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).create(path)
}
