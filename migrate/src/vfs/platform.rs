//! What publishing needs from the operating system, and each system has in its own way (`docs/spec/storage.md`,
//! sections 9, 10.1 and 13.2). One step each; in which order they make a safe publication is not known here.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;

use super::{Identity, Kind};

/// Nobody but the owner may read or write a file that is made with these options. On Windows the folder decides.
pub(super) fn for_owner_alone(options: &mut OpenOptions) -> &mut OpenOptions {
    system::for_owner_alone(options)
}

/// What `path` names now; `follow` looks through a link. Asks for no right to read the file.
pub(super) fn identity(path: &Path, follow: bool) -> io::Result<Identity> {
    system::identity(path, follow)
}

/// Give the finished file `from` the name `to` in the same folder; [`io::ErrorKind::AlreadyExists`] when there is
/// something of that name, which is left as it is, whatever it is.
///
/// Below Unix this is a hard link: `from` is there as well afterwards and is the caller's to remove, and the new name
/// is durable only after [`sync_folder`]. On Windows it is a move that has reached the disk when it comes back, and
/// `from` is gone. So a caller removes `from` and takes it for no failure when there is nothing to remove.
pub(super) fn link(from: &Path, to: &Path) -> io::Result<()> {
    system::link(from, to)
}

/// The same without a second name in between, for file systems that know no hard links.
pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    system::rename_new(from, to)
}

/// Make a folder in one that is there, for nobody but the owner. On Windows that folder decides.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    system::make_folder(path)
}

/// Make the names in a folder durable. Nothing to do on Windows, where [`link`] sees to it.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    system::sync_folder(path)
}

fn kind(file: std::fs::FileType) -> Kind {
    match () {
        () if file.is_file() => Kind::File,
        () if file.is_dir() => Kind::Folder,
        () if file.is_symlink() => Kind::Link,
        () => Kind::Other,
    }
}

#[cfg(unix)]
mod system {
    use std::fs::{self, File, OpenOptions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
    use std::path::Path;

    use super::{Identity, kind};

    pub(super) fn for_owner_alone(options: &mut OpenOptions) -> &mut OpenOptions {
        options.mode(0o600)
    }

    pub(super) fn identity(path: &Path, follow: bool) -> io::Result<Identity> {
        let metadata = if follow { fs::metadata(path)? } else { fs::symlink_metadata(path)? };
        let nanoseconds = |s: i64, ns: i64| i128::from(s) * 1_000_000_000 + i128::from(ns);
        Ok(Identity {
            kind: kind(metadata.file_type()),
            device: metadata.dev(),
            inode: metadata.ino(),
            len: metadata.len(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    pub(super) fn link(from: &Path, to: &Path) -> io::Result<()> {
        fs::hard_link(from, to)
    }

    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
    }

    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    pub(super) fn rename_new(_: &Path, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn make_folder(path: &Path) -> io::Result<()> {
        fs::DirBuilder::new().mode(0o700).create(path)
    }

    pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
}

#[cfg(windows)]
mod system {
    #![expect(unsafe_code, reason = "the standard library has no file index and only a replacing move")]

    use std::ffi::c_void;
    use std::fs::{self, File, OpenOptions};
    use std::io;
    use std::os::windows::ffi::OsStrExt;
    use std::os::windows::fs::OpenOptionsExt;
    use std::os::windows::io::AsRawHandle;
    use std::path::{self, Component, Path, Prefix};

    use windows_sys::Win32::Storage::FileSystem::{
        BY_HANDLE_FILE_INFORMATION, FILE_BASIC_INFO, FILE_FLAG_BACKUP_SEMANTICS,
        FILE_FLAG_OPEN_REPARSE_POINT, FileBasicInfo, GetFileInformationByHandle,
        GetFileInformationByHandleEx, MOVEFILE_WRITE_THROUGH, MoveFileExW,
    };

    use super::{Identity, kind};

    /// From 1601, where Windows begins to count, to 1970, in steps of 100 nanoseconds.
    const TICKS_TO_1970: i64 = 116_444_736_000_000_000;

    pub(super) fn for_owner_alone(options: &mut OpenOptions) -> &mut OpenOptions {
        options
    }

    pub(super) fn identity(path: &Path, follow: bool) -> io::Result<Identity> {
        // No access at all, which is enough to ask; the first flag lets folders be opened too, the second links.
        let link = if follow { 0 } else { FILE_FLAG_OPEN_REPARSE_POINT };
        let file =
            OpenOptions::new().access_mode(0).custom_flags(FILE_FLAG_BACKUP_SEMANTICS | link).open(path)?;
        of_file(&file)
    }

    fn of_file(file: &File) -> io::Result<Identity> {
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
        Ok(Identity {
            kind: kind(file.metadata()?.file_type()),
            device: u64::from(info.dwVolumeSerialNumber),
            // The lower half of what `ReFS` numbers files by.
            inode: joined(info.nFileIndexHigh, info.nFileIndexLow),
            len: joined(info.nFileSizeHigh, info.nFileSizeLow),
            modified: nanoseconds(basic.LastWriteTime),
            changed: nanoseconds(basic.ChangeTime),
        })
    }

    pub(super) fn link(from: &Path, to: &Path) -> io::Result<()> {
        let (from, to) = (wide(from)?, wide(to)?);
        // Neither replacing nor copying to another volume is asked for, so both are refused.
        // SAFETY: both names are closed by a zero and outlive the call.
        checked(unsafe { MoveFileExW(from.as_ptr(), to.as_ptr(), MOVEFILE_WRITE_THROUGH) })
    }

    pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
        link(from, to)
    }

    pub(super) fn make_folder(path: &Path) -> io::Result<()> {
        fs::create_dir(path)
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
    use std::fs::{self, File};
    use std::io::Write as _;
    use std::time::{Duration, SystemTime};

    use super::*;

    fn look(path: &Path) -> io::Result<Identity> {
        identity(path, true)
    }

    #[test]
    fn a_new_name_is_published() {
        let temp = tempfile::tempdir().unwrap();
        // Longer than what Windows takes without the longer form, as session folders easily are.
        let folder = temp.path().join("x".repeat(200)).join("y".repeat(100));
        fs::create_dir_all(&folder).unwrap();
        let (from, to) = (folder.join("log.tmp"), folder.join("log"));
        fs::write(&from, "text").unwrap();
        let before = look(&from).unwrap();
        link(&from, &to).unwrap();
        sync_folder(&folder).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"text");
        assert_eq!(from.exists(), cfg!(unix));
        let after = look(&to).unwrap();
        assert_eq!((after.device, after.inode, after.len), (before.device, before.inode, before.len));
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
            let error = link(&from, to).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists, "{error}");
        }
        assert_eq!(fs::read(&file).unwrap(), b"old");
        assert_eq!(fs::read(&from).unwrap(), b"new");
    }

    #[test]
    fn failures_are_the_systems_own() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        assert_eq!(link(&at("none"), &at("to")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(look(&at("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::write(at("from"), "").unwrap();
        assert_eq!(link(&at("from"), &at("a\0b")).unwrap_err().kind(), io::ErrorKind::InvalidInput);
        #[cfg(unix)]
        assert_eq!(sync_folder(&at("none")).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn an_identity_tells_files_and_their_states() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a");
        fs::write(&path, "text").unwrap();
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        let first = look(&path).unwrap();
        assert_eq!(look(&path).unwrap(), first);
        assert_eq!(first.len, 4);

        fs::write(temp.path().join("b"), "text").unwrap();
        let other = look(&temp.path().join("b")).unwrap();
        assert_eq!(other.device, first.device);
        assert_ne!(other.inode, first.inode);

        file.write_all(b"!").unwrap();
        let longer = look(&path).unwrap();
        assert_eq!((longer.inode, longer.len), (first.inode, 5));

        // A folder has an identity too.
        assert_ne!(look(temp.path()).unwrap().inode, first.inode);
    }

    #[test]
    fn times_count_from_1970() {
        let temp = tempfile::tempdir().unwrap();
        let path = temp.path().join("a");
        let file = File::create(&path).unwrap();
        let made = look(&path).unwrap();
        for (seconds, nanoseconds) in [(1_700_000_000, 123_456_700), (0, 0), (1, 0)] {
            let time = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds);
            file.set_modified(time).unwrap();
            let identity = look(&path).unwrap();
            assert_eq!(identity.modified, i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds));
            // Setting the one back changes the other, and not to the same.
            assert!(identity.changed >= made.changed);
        }
    }
}
