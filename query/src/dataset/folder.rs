//! The folder of a data set: a new one, in which each file is whole or not there.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Component, Path, PathBuf};

use crate::error::{Error, Result};

/// A folder that was made, or was empty, when this came to be.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    is_new: bool,
    /// Names right in it that were made here.
    made: RefCell<BTreeSet<OsString>>,
}

/// Refuse a place for a data set where something is. A link to an empty folder is one.
pub fn check(path: &Path) -> Result<()> {
    match fs::read_dir(path) {
        Ok(mut entries) => match entries.next() {
            None => Ok(()),
            Some(_) => Err(Error::Occupied(path.to_owned())),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => Ok(()),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Err(Error::Occupied(path.to_owned()))
        }
        Err(source) => Err(Error::Io { action: "read", path: path.to_owned(), source }),
    }
}

impl Folder {
    /// Make it. Its parent must be there.
    pub(super) fn create(path: &Path) -> Result<Folder> {
        check(path)?;
        let is_new = match fs::create_dir(path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(source) => return Err(Error::Io { action: "make", path: path.to_owned(), source }),
        };
        Ok(Folder { path: path.to_owned(), is_new, made: RefCell::default() })
    }

    /// Write a file: under a temporary name, to disk, then under its own. Gives its size in bytes.
    pub(super) fn file(
        &self,
        name: &Path,
        fill: impl FnOnce(&mut BufWriter<File>) -> Result<()>,
    ) -> Result<u64> {
        let mut pending = self.begin(name)?;
        fill(&mut pending.file)?;
        pending.publish()
    }

    /// Begin a file whose bytes come one after the other.
    pub(super) fn begin(&self, name: &Path) -> Result<Pending> {
        if let Some(Component::Normal(first)) = name.components().next() {
            self.made.borrow_mut().insert(first.to_owned());
        }
        let path = self.path.join(name);
        // Two names of ours are one where upper and lower case are the same.
        if path.symlink_metadata().is_ok() {
            return Err(Error::Occupied(path));
        }
        let folder = path.parent().unwrap_or(&self.path);
        fs::create_dir_all(folder).map_err(failed("make", folder))?;
        let mut temp = OsString::from(".");
        temp.push(path.file_name().unwrap_or_default());
        temp.push(".tmp");
        let temp = path.with_file_name(temp);
        let file = File::create_new(&temp).map_err(failed("make", &temp))?;
        Ok(Pending { file: BufWriter::with_capacity(1 << 16, file), temp, path })
    }

    /// Bring the names in it to disk. A system that cannot has done so with the files.
    pub(super) fn sync(&self) {
        let _ = File::open(&self.path).and_then(|folder| folder.sync_all());
    }

    /// Remove what was written here. What cannot be removed stays; there is no manifest that speaks of it.
    pub(super) fn abandon(self) {
        for name in self.made.into_inner() {
            let path = self.path.join(&name);
            let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            let _ = fs::remove_file(self.path.join(format!(".{}.tmp", name.to_string_lossy())));
        }
        if self.is_new {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// A file that does not have its name yet.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) file: BufWriter<File>,
    pub(super) path: PathBuf,
    temp: PathBuf,
}

impl Pending {
    /// Append.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.write_all(bytes).map_err(failed("write", &self.path))
    }

    /// Bring it to disk and give it its name. Gives its size in bytes.
    pub(super) fn publish(mut self) -> Result<u64> {
        self.file.flush().map_err(failed("write", &self.path))?;
        let file = self.file.get_ref();
        file.sync_all().map_err(failed("write", &self.path))?;
        let size = file.metadata().map_err(failed("write", &self.path))?.len();
        fs::rename(&self.temp, &self.path).map_err(failed("rename", &self.temp))?;
        if let Some(folder) = self.path.parent() {
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
        }
        Ok(size)
    }
}

pub(super) fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error + use<> {
    let path = path.to_owned();
    move |source| Error::Io { action, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_new_or_empty_folder_is_taken() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir(at("empty")).unwrap();
        fs::create_dir(at("full")).unwrap();
        fs::write(at("full/a"), "").unwrap();
        fs::write(at("file"), "").unwrap();
        for (name, is_taken) in [("new", true), ("empty", true), ("full", false), ("file", false)] {
            let checked = check(&at(name));
            assert_eq!(checked.is_ok(), is_taken, "{name}");
            assert!(is_taken || matches!(checked, Err(Error::Occupied(_))), "{name}");
            assert_eq!(Folder::create(&at(name)).is_ok(), is_taken, "{name}");
        }
        assert!(matches!(Folder::create(&at("no/where")), Err(Error::Io { .. })));
    }

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let place = tempfile::tempdir().unwrap();
        let out = place.path().join("out");
        let folder = Folder::create(&out).unwrap();
        let size = folder
            .file(Path::new("a/b/c"), |file| file.write_all(b"text").map_err(failed("write", &out)))
            .unwrap();
        assert_eq!((size, fs::read(out.join("a/b/c")).unwrap().as_slice()), (4, &b"text"[..]));
        let full = |_: &mut BufWriter<File>| Err(Error::Occupied(PathBuf::new()));
        assert!(folder.file(Path::new("a/b/d"), full).is_err());
        assert!(!out.join("a/b/d").exists());
        assert!(matches!(folder.begin(Path::new("a/b/c")), Err(Error::Occupied(_))), "no file is replaced");
        folder.abandon();
        assert!(!out.exists(), "nothing is left behind");
    }

    #[test]
    fn what_was_there_before_stays() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::create(place.path()).unwrap();
        fs::write(place.path().join("foreign"), "").unwrap();
        folder.file(Path::new("own"), |_| Ok(())).unwrap();
        folder.abandon();
        let left: Vec<_> =
            fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["foreign"]);
    }
}
