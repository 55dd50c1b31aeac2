//! Opening the full-text index to read it, without a lock and without writing a byte, so that a reader never waits and
//! an index on a read-only disk is searched.
//!
//! Tantivy takes a lock while it opens files, so that no one deletes them between the list and the opening. Here the list
//! is read anew instead when one of its files is gone.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::{DeleteError, LockError, OpenDirectoryError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    Directory, DirectoryLock, FileHandle, FileSlice, Lock, MmapDirectory, WatchCallback, WatchHandle,
    WritePtr,
};
use tantivy::{IndexReader, ReloadPolicy, Searcher, TantivyError};

use super::schema::{Fields, register};
use crate::error::{Error, Result};

/// How often the list of files is read anew. Each time another process has finished an update in between.
const TRIES: u32 = 20;

/// Blocks of the store that stay decompressed: hits of a page seldom share one.
const BLOCKS: usize = 16;

/// A state of the full-text index.
pub(crate) struct Text {
    pub(crate) searcher: Searcher,
    pub(crate) fields: Fields,
    /// What the writer said with the commit.
    pub(crate) payload: Option<String>,
}

impl Text {
    /// Open what was committed last. [`Error::NoIndex`] when there is no such folder; [`Error::Damaged`] when it holds
    /// something else, or with other fields.
    pub(crate) fn open(folder: &Path) -> Result<Text> {
        let directory = match MmapDirectory::open(folder) {
            Ok(directory) => Shared(directory),
            Err(OpenDirectoryError::DoesNotExist(_)) => return Err(Error::NoIndex(folder.to_owned())),
            Err(error) => return Err(fault(folder, error.into())),
        };
        let mut tries = 1;
        loop {
            match guarded(folder, || Ok(Text::try_open(&directory)))? {
                Ok(Some(text)) => return Ok(text),
                Ok(None) if tries < TRIES => {}
                Err(TantivyError::OpenReadError(OpenReadError::FileDoesNotExist(_))) if tries < TRIES => {}
                Ok(None) => return Err(Error::Locked(folder.to_owned())),
                Err(error) => return Err(fault(folder, error)),
            }
            tries += 1;
        }
    }

    /// Nothing when a commit came between.
    fn try_open(directory: &Shared) -> tantivy::Result<Option<Text>> {
        let index = tantivy::Index::open(directory.clone())?;
        let (schema, fields) = Fields::new();
        if index.schema() != schema {
            return Err(TantivyError::SchemaError("other fields".to_owned()));
        }
        register(&index);
        let before = index.load_metas()?;
        let reader: IndexReader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .doc_store_cache_num_blocks(BLOCKS)
            .try_into()?;
        let after = index.load_metas()?;
        let is_same = before.opstamp == after.opstamp && before.segments.len() == after.segments.len();
        Ok(is_same.then(|| Text { searcher: reader.searcher(), fields, payload: after.payload }))
    }
}

/// Tantivy trusts what it reads, and falls over where a file is not what it wrote. That is [`Error::Damaged`].
pub(super) fn guarded<T>(folder: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
    // Nothing that is half done stays: files are only read, threads are joined on the way out, and a lock of Tantivy's that
    // is left poisoned lets the next search end here, too.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason");
        let why = format!("reading a file of it went wrong: {said}");
        Err(Error::Damaged { path: folder.to_owned(), why })
    })
}

/// What is no fault of the disk is one of the index.
fn fault(folder: &Path, error: TantivyError) -> Error {
    match error {
        TantivyError::IoError(_)
        | TantivyError::OpenReadError(OpenReadError::IoError { .. })
        | TantivyError::OpenDirectoryError(OpenDirectoryError::IoError { .. }) => error.into(),
        error => Error::Damaged { path: folder.to_owned(), why: error.to_string() },
    }
}

/// A folder that is only read, by whoever wants to.
#[derive(Clone, Debug)]
struct Shared(MmapDirectory);

impl Directory for Shared {
    fn get_file_handle(&self, path: &Path) -> std::result::Result<Arc<dyn FileHandle>, OpenReadError> {
        self.0.get_file_handle(path)
    }

    fn open_read(&self, path: &Path) -> std::result::Result<FileSlice, OpenReadError> {
        self.0.open_read(path)
    }

    fn delete(&self, path: &Path) -> std::result::Result<(), DeleteError> {
        Err(DeleteError::IoError { io_error: Arc::new(refusal()), filepath: path.to_owned() })
    }

    fn exists(&self, path: &Path) -> std::result::Result<bool, OpenReadError> {
        self.0.exists(path)
    }

    fn open_write(&self, path: &Path) -> std::result::Result<WritePtr, OpenWriteError> {
        Err(OpenWriteError::wrap_io_error(refusal(), PathBuf::from(path)))
    }

    fn atomic_read(&self, path: &Path) -> std::result::Result<Vec<u8>, OpenReadError> {
        self.0.atomic_read(path)
    }

    fn atomic_write(&self, _: &Path, _: &[u8]) -> std::io::Result<()> {
        Err(refusal())
    }

    fn sync_directory(&self) -> std::io::Result<()> {
        Ok(())
    }

    fn acquire_lock(&self, _: &Lock) -> std::result::Result<DirectoryLock, LockError> {
        Ok(DirectoryLock::from(Box::new(())))
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.0.watch(callback)
    }
}

fn refusal() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::PermissionDenied, "this side of the index is only read")
}

#[cfg(test)]
mod tests {
    use tantivy::IndexWriter;

    use super::*;
    use crate::index::schema::builder;

    fn made(folder: &Path) -> IndexWriter {
        let index = builder().create_in_dir(folder).unwrap();
        register(&index);
        index.writer_with_num_threads(1, 15_000_000).unwrap()
    }

    fn commit(writer: &mut IndexWriter, payload: &str) {
        let (_, fields) = Fields::new();
        let mut document = tantivy::TantivyDocument::default();
        document.add_u64(fields.log, 1);
        writer.add_document(document).unwrap();
        let mut commit = writer.prepare_commit().unwrap();
        commit.set_payload(payload);
        commit.commit().unwrap();
    }

    #[test]
    fn a_reader_sees_the_commit_it_opened() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = made(folder.path());
        commit(&mut writer, "1");
        let first = Text::open(folder.path()).unwrap();
        commit(&mut writer, "2");
        let second = Text::open(folder.path()).unwrap();
        let seen = |text: &Text| (text.payload.clone(), text.searcher.num_docs());
        assert_eq!(seen(&first), (Some("1".to_owned()), 1));
        assert_eq!(seen(&second), (Some("2".to_owned()), 2));
    }

    #[test]
    fn a_reader_leaves_no_trace_and_needs_no_right_to_write() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = made(folder.path());
        commit(&mut writer, "1");
        drop(writer);
        for entry in std::fs::read_dir(folder.path()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "lock") {
                std::fs::remove_file(path).unwrap();
            }
        }
        let names = || {
            let entries = std::fs::read_dir(folder.path()).unwrap();
            entries.map(|entry| entry.unwrap().file_name()).collect::<std::collections::BTreeSet<_>>()
        };
        let before = names();
        Text::open(folder.path()).unwrap();
        assert_eq!(names(), before);
    }

    #[test]
    fn what_is_no_index_of_ours_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        assert!(matches!(Text::open(&missing), Err(Error::NoIndex(path)) if path == missing));
        assert!(matches!(Text::open(folder.path()), Err(Error::Damaged { .. })), "nothing in it");
        let other = tempfile::tempdir().unwrap();
        let mut schema = tantivy::schema::Schema::builder();
        schema.add_text_field("body", tantivy::schema::TEXT);
        tantivy::Index::create_in_dir(other.path(), schema.build()).unwrap();
        assert!(matches!(Text::open(other.path()), Err(Error::Damaged { .. })), "other fields");
        let broken = tempfile::tempdir().unwrap();
        let mut writer = made(broken.path());
        commit(&mut writer, "1");
        drop(writer);
        std::fs::write(broken.path().join("meta.json"), "{").unwrap();
        assert!(matches!(Text::open(broken.path()), Err(Error::Damaged { .. })), "no JSON");
    }
}
