//! A file system in memory that knows what a loss of power would leave.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use dshlog_codec::source::ReadAt;

use super::{Identity, Kind, NewFile, Vfs};

/// Two images of one folder tree: what running programs see, and what would be there after a loss of power.
#[derive(Clone, Default)]
pub(crate) struct MemFs(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    files: Vec<Content>,
    seen: BTreeMap<PathBuf, usize>,
    durable: BTreeMap<PathBuf, usize>,
    /// Folders that were made here, and those of them whose names are durable. Those of files that were put there are not
    /// among them, and durable.
    folders: BTreeSet<PathBuf>,
    durable_folders: BTreeSet<PathBuf>,
    clock: i128,
}

#[derive(Default)]
struct Content {
    seen: Arc<Vec<u8>>,
    durable: Arc<Vec<u8>>,
    changed: i128,
}

impl MemFs {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Put a file there, durable, in place of what has that name.
    pub(crate) fn put(&self, path: &Path, bytes: &[u8]) {
        let mut state = self.state();
        state.clock += 1;
        let bytes = Arc::new(bytes.to_vec());
        let changed = state.clock;
        state.files.push(Content { seen: Arc::clone(&bytes), durable: bytes, changed });
        let file = state.files.len() - 1;
        state.seen.insert(path.to_owned(), file);
        state.durable.insert(path.to_owned(), file);
    }

    /// What running programs see.
    pub(crate) fn seen(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let state = self.state();
        state.seen.iter().map(|(path, file)| (path.clone(), state.files[*file].seen.to_vec())).collect()
    }

    /// What is there after a loss of power in which nothing survives that was not synced.
    pub(crate) fn after_crash(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let state = self.state();
        let is_lost = |path: &Path| {
            path.ancestors().any(|f| state.folders.contains(f) && !state.durable_folders.contains(f))
        };
        let kept = state.durable.iter().filter(|(path, _)| !is_lost(path));
        kept.map(|(path, file)| (path.clone(), state.files[*file].durable.to_vec())).collect()
    }
}

fn missing() -> io::Error {
    io::Error::from(ErrorKind::NotFound)
}

impl State {
    fn has_folder(&self, path: &Path) -> bool {
        self.folders.contains(path) || self.seen.keys().any(|file| file.starts_with(path) && file != path)
    }
}

impl Vfs for MemFs {
    fn create_new(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        let mut state = self.state();
        if state.seen.contains_key(path) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        state.files.push(Content::default());
        let file = state.files.len() - 1;
        state.seen.insert(path.to_owned(), file);
        Ok(Box::new(Handle { fs: self.clone(), file }))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        let state = self.state();
        let file = state.seen.get(path).ok_or_else(missing)?;
        Ok(Arc::new(state.files[*file].seen.to_vec()))
    }

    fn identity(&self, path: &Path) -> io::Result<Identity> {
        self.entry(path)
    }

    fn entry(&self, path: &Path) -> io::Result<Identity> {
        let state = self.state();
        let Some(&file) = state.seen.get(path) else {
            let folder =
                Identity { kind: Kind::Folder, device: 1, inode: 0, len: 0, modified: 0, changed: 0 };
            return if state.has_folder(path) { Ok(folder) } else { Err(missing()) };
        };
        let content = &state.files[file];
        Ok(Identity {
            kind: Kind::File,
            device: 1,
            inode: file as u64,
            len: content.seen.len() as u64,
            modified: content.changed,
            changed: content.changed,
        })
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        let state = self.state();
        let inside = state.seen.keys().filter(|path| path.parent() == Some(folder));
        Ok(inside.filter_map(|path| Some(path.file_name()?.to_owned())).collect())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        let file = *state.seen.get(from).ok_or_else(missing)?;
        if state.seen.contains_key(to) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        state.seen.insert(to.to_owned(), file);
        Ok(())
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.link(from, to)?;
        self.remove(from)
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        if state.seen.contains_key(path) || state.has_folder(path) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        if path.parent().is_none_or(|parent| !state.has_folder(parent)) {
            return Err(missing());
        }
        state.folders.insert(path.to_owned());
        Ok(())
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.state();
        if !state.has_folder(folder) {
            return Err(missing());
        }
        let below: Vec<_> =
            state.folders.iter().filter(|path| path.parent() == Some(folder)).cloned().collect();
        state.durable_folders.extend(below);
        let inside = |path: &PathBuf| path.parent() == Some(folder);
        state.durable.retain(|path, _| !inside(path));
        let seen: Vec<_> =
            state.seen.iter().filter(|(path, _)| inside(path)).map(|(p, f)| (p.clone(), *f)).collect();
        state.durable.extend(seen);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.state().seen.remove(path).map(|_| ()).ok_or_else(missing)
    }
}

struct Handle {
    fs: MemFs,
    file: usize,
}

impl NewFile for Handle {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.fs.state();
        state.clock += 1;
        let changed = state.clock;
        let content = &mut state.files[self.file];
        Arc::make_mut(&mut content.seen).extend_from_slice(bytes);
        content.changed = changed;
        Ok(bytes.len())
    }

    fn sync(&mut self) -> io::Result<()> {
        let content = &mut self.fs.state().files[self.file];
        content.durable = Arc::clone(&content.seen);
        Ok(())
    }
}
