//! The file system of the operating system.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use dshlog_codec::source::ReadAt;

use super::{Identity, NewFile, Vfs, platform};

/// The file system of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct OsFs;

impl Vfs for OsFs {
    fn create_new(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        let mut options = OpenOptions::new();
        Ok(Box::new(platform::for_owner_alone(options.write(true).create_new(true)).open(path)?))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(File::open(path)?))
    }

    fn identity(&self, path: &Path) -> io::Result<Identity> {
        platform::identity(path, true)
    }

    fn entry(&self, path: &Path) -> io::Result<Identity> {
        platform::identity(path, false)
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect()
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        platform::link(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        platform::rename_new(from, to)
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        platform::make_folder(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        platform::sync_folder(folder)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

impl NewFile for File {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Write::write(self, bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}
