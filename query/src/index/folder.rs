//! The folder of an index: what lies in it, whose it is, and who may write.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Wait;
use super::schema::SCHEMA_VERSION;
use crate::error::{Error, Result};

/// Says that the folder is ours, and that it can be deleted.
const MARK: &str = "CACHEDIR.TAG";

/// What a mark of any program begins with: alone it is somebody's.
const SIGNATURE: &str = "Signature: 8a477f597d28d172789f06886806bc55";

/// What backup programs look for, and what tells us.
const TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n# An index of dshlog over session logs. It can be deleted: it \
                   comes to be anew.\n# dshlog-index\n";

const LOCK: &str = "lock";
const CATALOG: &str = "catalog.sqlite";
const TEXT: &str = "text";

/// Everything that ever lies in it.
const OURS: [&str; 7] =
    [MARK, LOCK, CATALOG, "catalog.sqlite-wal", "catalog.sqlite-shm", "catalog.sqlite-journal", TEXT];

/// Make a folder that is its owner's alone: what was said in all sessions lies in it.
fn make_private(path: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// The rules that an index depends on: another number of any of them makes it anew.
pub(crate) fn rules() -> String {
    format!(
        "schema {SCHEMA_VERSION}, analysis {}, documents {}",
        crate::analysis::VERSION,
        crate::extract::VERSION
    )
}

/// A folder that holds an index, or is to.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The folder of an index that is there.
    pub(crate) fn open(path: &Path) -> Result<Folder> {
        let folder = Folder { path: path.to_owned() };
        match folder.marked()? {
            Some(true) => Ok(folder),
            Some(false) => Err(folder.foreign()),
            None => Err(Error::NoIndex(path.to_owned())),
        }
    }

    /// The folder of an index, made when there is none. A folder with anything else in it is refused.
    pub(crate) fn make(path: &Path) -> Result<Folder> {
        let folder = Folder { path: path.to_owned() };
        match folder.marked()? {
            Some(true) => return Ok(folder),
            Some(false) => return Err(folder.foreign()),
            None => {}
        }
        make_private(path).map_err(|e| Error::io("make the folder", path, e))?;
        let mark = path.join(MARK);
        let write = || -> std::io::Result<()> {
            let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&mark)?;
            file.write_all(TAG.as_bytes())?;
            file.sync_all()
        };
        write().map_err(|e| Error::io("write", &mark, e))?;
        Ok(folder)
    }

    /// Whether it is ours; nothing when it is not there, or empty.
    fn marked(&self) -> Result<Option<bool>> {
        let mut names = match fs::read_dir(&self.path) {
            Ok(names) => names,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(Error::io("read the folder", &self.path, e)),
        };
        let mark = self.path.join(MARK);
        let mut text = String::new();
        match File::open(&mark).and_then(|file| file.take(4096).read_to_string(&mut text)) {
            // A mark that was being written when the machine stopped, or the disk was full, ends early.
            Ok(_) if text != TAG && TAG.starts_with(&text) && text.trim_end() != SIGNATURE => {}
            Ok(_) => return Ok(Some(text.contains("\n# dshlog-index\n"))),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) if e.kind() == std::io::ErrorKind::InvalidData => return Ok(Some(false)),
            Err(e) => return Err(Error::io("read", &mark, e)),
        }
        let is_empty = names.all(|entry| entry.is_ok_and(|entry| entry.file_name() == MARK));
        Ok(if is_empty { None } else { Some(false) })
    }

    /// When the index was made. Tells one from another that came in its place.
    pub(crate) fn marked_at(path: &Path) -> Option<SystemTime> {
        fs::metadata(path.join(MARK)).and_then(|mark| mark.modified()).ok()
    }

    fn foreign(&self) -> Error {
        Error::Foreign { path: self.path.clone(), why: "the folder holds other things".to_owned() }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The catalog.
    pub(crate) fn catalog(&self) -> PathBuf {
        self.path.join(CATALOG)
    }

    /// The full-text index.
    pub(crate) fn text(&self) -> PathBuf {
        self.path.join(TEXT)
    }

    /// Be the one writer for as long as the lock is held.
    pub(crate) fn lock(&self, wait: Wait) -> Result<Lock> {
        let path = self.path.join(LOCK);
        let fail = |e| Error::io("lock", &path, e);
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path).map_err(fail)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) if wait == Wait::No => {
                return Err(Error::Locked(self.path.clone()));
            }
            Err(TryLockError::WouldBlock) => file.lock().map_err(fail)?,
            Err(TryLockError::Error(e)) => return Err(fail(e)),
        }
        Ok(Lock { _file: file })
    }

    /// Delete the index, and nothing else. The lock must be held.
    pub(crate) fn clear(&self) -> Result<()> {
        for name in OURS.into_iter().filter(|name| *name != MARK && *name != LOCK) {
            let path = self.path.join(name);
            let gone = if name == TEXT { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            match gone {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(Error::io("delete", &path, e));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Bytes of all its files.
    pub(crate) fn size(&self) -> u64 {
        let files = |path: &Path| -> u64 {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            entries
                .filter_map(|entry| entry.metadata().ok())
                .filter(fs::Metadata::is_file)
                .map(|m| m.len())
                .sum()
        };
        files(&self.path) + files(&self.text())
    }
}

/// Held by the one writer; given back when it is dropped or its process ends.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_folder_it_is() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        assert!(matches!(Folder::open(&at("none")), Err(Error::NoIndex(_))));
        let folder = Folder::make(&at("deep/new")).unwrap();
        assert!(Folder::open(folder.path()).is_ok() && Folder::make(folder.path()).is_ok());

        // Somebody's folder, with and without a tag of theirs.
        fs::create_dir(at("photos")).unwrap();
        assert!(matches!(Folder::open(&at("photos")), Err(Error::NoIndex(_))));
        fs::write(at("photos/cat.png"), "x").unwrap();
        assert!(matches!(Folder::make(&at("photos")), Err(Error::Foreign { .. })));
        assert!(matches!(Folder::open(&at("photos")), Err(Error::Foreign { .. })));
        fs::create_dir(at("cache")).unwrap();
        fs::write(at("cache/CACHEDIR.TAG"), "Signature: 8a477f597d28d172789f06886806bc55").unwrap();
        assert!(matches!(Folder::make(&at("cache")), Err(Error::Foreign { .. })));
        assert_eq!(fs::read_dir(at("photos")).unwrap().count(), 1);

        // What a power cut can leave is taken over.
        fs::create_dir(at("cut")).unwrap();
        for written in [0, 1, SIGNATURE.len() - 1, SIGNATURE.len() + 9, TAG.len() - 1] {
            fs::write(at("cut/CACHEDIR.TAG"), &TAG[..written]).unwrap();
            assert!(Folder::make(&at("cut")).is_ok(), "{written}");
            assert!(Folder::open(&at("cut")).is_ok(), "{written}");
        }
        fs::write(at("cut/CACHEDIR.TAG"), &TAG[..9]).unwrap();
        fs::write(at("cut/cat.png"), "x").unwrap();
        assert!(matches!(Folder::make(&at("cut")), Err(Error::Foreign { .. })));
    }

    #[test]
    fn one_writer_at_a_time() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::make(place.path()).unwrap();
        let lock = folder.lock(Wait::No).unwrap();
        assert!(matches!(folder.lock(Wait::No), Err(Error::Locked(_))));
        drop(lock);
        assert!(folder.lock(Wait::UntilFree).is_ok());
    }

    #[test]
    fn only_the_index_is_deleted() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::make(place.path()).unwrap();
        fs::create_dir(folder.text()).unwrap();
        fs::write(folder.text().join("x"), "x").unwrap();
        fs::write(folder.catalog(), "x").unwrap();
        fs::write(place.path().join("mine"), "x").unwrap();
        folder.clear().unwrap();
        let mut left: Vec<_> = fs::read_dir(place.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [MARK, "mine"]);
    }
}
