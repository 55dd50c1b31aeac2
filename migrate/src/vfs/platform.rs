//! What publishing needs from the operating system, and each system has in its own way (`docs/spec/storage.md`,
//! sections 9, 10.1 and 13.2). One step each; in which order they make a safe publication is not known here.

use std::fs::File;
use std::io;
use std::path::Path;

/// What tells whether a file is still the one that was looked at: the five values that dsh compares.
///
/// Equal identities mean that the file was neither exchanged nor written nor renamed in between. All values are the
/// system's own and mean nothing on another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileIdentity {
    /// The device; on Windows the serial number of the volume.
    pub(crate) dev: u64,
    /// The inode; on Windows the file index. It is the lower half of what `ReFS` numbers files by.
    pub(crate) ino: u64,
    /// Length in bytes.
    pub(crate) len: u64,
    /// When the content was changed last, in nanoseconds since 1970. Windows counts in steps of 100.
    pub(crate) mtime_ns: i128,
    /// When content, name, mode or number of links were changed last, counted in the same way; nobody can set it back.
    /// The year 1601 on a Windows file system that does not keep it.
    pub(crate) ctime_ns: i128,
}

/// The identity of an open file.
pub(crate) fn file_identity(file: &File) -> io::Result<FileIdentity> {
    system::file_identity(file)
}

/// The identity of what `path` names now, links followed. Asks for no right to read the file.
pub(crate) fn file_identity_at(path: &Path) -> io::Result<FileIdentity> {
    system::file_identity_at(path)
}

/// Give the finished file `from` the name `to` in the same folder; [`io::ErrorKind::AlreadyExists`] when there is
/// something of that name, which is left as it is, whatever it is.
///
/// Below Unix this is a hard link: `from` is there as well afterwards and is the caller's to remove, and the new name
/// is durable only after [`sync_folder`]. On Windows it is a move that has reached the disk when it comes back, and
/// `from` is gone. So a caller removes `from` and takes it for no failure when there is nothing to remove.
///
/// File systems without hard links refuse, as they refuse dsh.
pub(crate) fn publish_link(from: &Path, to: &Path) -> io::Result<()> {
    system::publish_link(from, to)
}

/// Make the names in a folder durable. Nothing to do on Windows, where [`publish_link`] sees to it.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    system::sync_folder(path)
}

#[cfg(unix)]
mod system {
    use std::fs::{self, File, Metadata};
    use std::io;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    use super::FileIdentity;

    pub(super) fn file_identity(file: &File) -> io::Result<FileIdentity> {
        Ok(identity(&file.metadata()?))
    }

    pub(super) fn file_identity_at(path: &Path) -> io::Result<FileIdentity> {
        Ok(identity(&fs::metadata(path)?))
    }

    fn identity(metadata: &Metadata) -> FileIdentity {
        let nanoseconds = |s: i64, ns: i64| i128::from(s) * 1_000_000_000 + i128::from(ns);
        FileIdentity {
            dev: metadata.dev(),
            ino: metadata.ino(),
            len: metadata.len(),
            mtime_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            ctime_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    pub(super) fn publish_link(from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
}

#[cfg(windows)]
mod system {
    #![expect(unsafe_code, reason = "the standard library has no file index and only a replacing move")]

    use std::ffi::c_void;
    use std::fs::{File, OpenOptions};
    use std::io;
    use std::os::windows::ffi::OsStrExt;
    use std::os::windows::fs::OpenOptionsExt;
    use std::os::windows::io::AsRawHandle;
    use std::path::{self, Component, Path, Prefix};

    use windows_sys::Win32::Storage::FileSystem::{
        BY_HANDLE_FILE_INFORMATION, FILE_BASIC_INFO, FILE_FLAG_BACKUP_SEMANTICS, FileBasicInfo,
        GetFileInformationByHandle, GetFileInformationByHandleEx, MOVEFILE_WRITE_THROUGH, MoveFileExW,
    };

    use super::FileIdentity;

    /// From 1601, where Windows begins to count, to 1970, in steps of 100 nanoseconds.
    const TICKS_TO_1970: i64 = 116_444_736_000_000_000;

    pub(super) fn file_identity(file: &File) -> io::Result<FileIdentity> {
        let mut info = BY_HANDLE_FILE_INFORMATION::default();
        // SAFETY: the handle is open and `info` outlives the call, which writes nothing else.
        checked(unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut info) })?;
        let mut basic = FILE_BASIC_INFO::default();
        #[expect(clippy::cast_possible_truncation, reason = "a structure of five members")]
        let size = size_of::<FILE_BASIC_INFO>() as u32;
        let at = (&raw mut basic).cast::<c_void>();
        // SAFETY: as above; `size` is that of what `at` points to, which is the structure of `FileBasicInfo`.
        checked(unsafe { GetFileInformationByHandleEx(file.as_raw_handle(), FileBasicInfo, at, size) })?;
        let joined = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
        let nanoseconds = |ticks: i64| (i128::from(ticks) - i128::from(TICKS_TO_1970)) * 100;
        Ok(FileIdentity {
            dev: u64::from(info.dwVolumeSerialNumber),
            ino: joined(info.nFileIndexHigh, info.nFileIndexLow),
            len: joined(info.nFileSizeHigh, info.nFileSizeLow),
            mtime_ns: nanoseconds(basic.LastWriteTime),
            ctime_ns: nanoseconds(basic.ChangeTime),
        })
    }

    pub(super) fn file_identity_at(path: &Path) -> io::Result<FileIdentity> {
        // No access at all, which is enough to ask, and the flag that lets folders be opened too.
        file_identity(&OpenOptions::new().access_mode(0).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(path)?)
    }

    pub(super) fn publish_link(from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (wide(from)?, wide(to)?);
        // Neither replacing nor copying to another volume is asked for, so both are refused.
        // SAFETY: both names are closed by a zero and outlive the call.
        checked(unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), MOVEFILE_WRITE_THROUGH) })
    }

    #[expect(clippy::unnecessary_wraps, reason = "fails on other systems")]
    pub(super) fn sync_folder(_: &Path) -> io::Result<()> {
        Ok(())
    }

    /// The answer of a call that gives 0 for a failure.
    fn checked(answer: i32) -> io::Result<()> {
        if answer == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// An absolute name in UTF-16, closed by a zero, in the form that may be longer than 260 units.
    fn wide(path: &Path) -> io::Result<Vec<u16>> {
        let path = path::absolute(path)?;
        let mut name: Vec<u16> = path.as_os_str().encode_wide().collect();
        if name.contains(&0) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "a zero in a path"));
        }
        let prefix = match path.components().next() {
            Some(Component::Prefix(prefix)) => Some(prefix.kind()),
            _ => None,
        };
        // How many units of the name the longer beginning stands for.
        let (beginning, replaced) = match prefix {
            Some(Prefix::Disk(_)) => (r"\\?\", 0),
            Some(Prefix::UNC(..)) => (r"\\?\UNC\", r"\\".len()),
            _ => ("", 0),
        };
        name.splice(..replaced, beginning.encode_utf16());
        name.push(0);
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn a_new_name_is_published() {
        let temp = tempfile::tempdir().unwrap();
        // Longer than what Windows takes without the longer form, as session folders easily are.
        let folder = temp.path().join("x".repeat(200)).join("y".repeat(100));
        fs::create_dir_all(&folder).unwrap();
        let (from, to) = (folder.join("log.tmp"), folder.join("log"));
        fs::write(&from, "text").unwrap();
        let before = file_identity_at(&from).unwrap();
        publish_link(&from, &to).unwrap();
        sync_folder(&folder).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"text");
        assert_eq!(from.exists(), cfg!(unix));
        let after = file_identity_at(&to).unwrap();
        assert_eq!((after.dev, after.ino, after.len), (before.dev, before.ino, before.len));
    }

    #[test]
    fn nothing_is_replaced() {
        let temp = tempfile::tempdir().unwrap();
        let from = temp.path().join("log.tmp");
        fs::write(&from, "new").unwrap();
        let (file, folder) = (temp.path().join("file"), temp.path().join("folder"));
        fs::write(&file, "old").unwrap();
        fs::create_dir(&folder).unwrap();
        for to in [&file, &folder] {
            let error = publish_link(&from, to).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists, "{error}");
        }
        assert_eq!(fs::read(&file).unwrap(), b"old");
        assert_eq!(fs::read(&from).unwrap(), b"new");
    }

    #[test]
    fn failures_are_the_systems_own() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        assert_eq!(publish_link(&at("none"), &at("to")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(file_identity_at(&at("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::write(at("from"), "").unwrap();
        assert_eq!(publish_link(&at("from"), &at("a\0b")).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        #[cfg(unix)]
        assert_eq!(sync_folder(&at("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn an_identity_tells_files_and_their_states() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a");
        fs::write(&path, "text").unwrap();
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        let first = file_identity(&file).unwrap();
        assert_eq!(file_identity_at(&path).unwrap(), first);
        assert_eq!(first.len, 4);

        fs::write(temp.path().join("b"), "text").unwrap();
        let other = file_identity_at(&temp.path().join("b")).unwrap();
        assert_eq!(other.dev, first.dev);
        assert_ne!(other.ino, first.ino);

        file.write_all(b"!").unwrap();
        let longer = file_identity_at(&path).unwrap();
        assert_eq!((longer.ino, longer.len), (first.ino, 5));

        // A folder has an identity too.
        assert_ne!(file_identity_at(temp.path()).unwrap().ino, first.ino);
    }

    #[test]
    fn times_count_from_1970() {
        let temp = tempfile::tempdir().unwrap();
        let file = File::create(temp.path().join("a")).unwrap();
        let made = file_identity(&file).unwrap();
        for (seconds, nanoseconds) in [(1_700_000_000, 123_456_700), (0, 0), (1, 0)] {
            let time = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds);
            file.set_modified(time).unwrap();
            let identity = file_identity(&file).unwrap();
            assert_eq!(identity.mtime_ns, i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds));
            // Setting the one back changes the other, and not to the same.
            assert!(identity.ctime_ns >= made.ctime_ns);
        }
    }
}
