//! What can go wrong around an index. Faults of logs are none: they are told with the log.

use std::path::PathBuf;

use tantivy::TantivyError;
use tantivy::directory::error::OpenReadError;

/// Result of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure of the index or its catalog.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no index.
    #[error("no index in {0}")]
    NoIndex(PathBuf),
    /// The folder or database belongs to somebody else.
    #[error("{path} is no index of dshlog: {why}")]
    Foreign {
        /// Which.
        path: PathBuf,
        /// How that is known.
        why: String,
    },
    /// A newer dshlog made it.
    #[error("{path} was made by a newer dshlog (index format {found}, this one writes {known})")]
    Newer {
        /// Which.
        path: PathBuf,
        /// Its number.
        found: u32,
        /// Ours.
        known: u32,
    },
    /// It cannot be read any more.
    #[error("the index in {path} is damaged: {why}")]
    Damaged {
        /// Which.
        path: PathBuf,
        /// What was met.
        why: String,
    },
    /// It was made with older rules.
    #[error("the index in {path} must be made anew: {why}")]
    Outdated {
        /// Which.
        path: PathBuf,
        /// Which rules changed.
        why: String,
    },
    /// It holds the sessions of another root.
    #[error("{path} is of the sessions in {held}, not of those in {asked}")]
    OtherRoot {
        /// Which.
        path: PathBuf,
        /// Whose sessions it holds.
        held: PathBuf,
        /// Whose were asked for.
        asked: PathBuf,
    },
    /// Another process is writing to it.
    #[error("another process is writing to the index in {0}")]
    Locked(PathBuf),
    /// A page was asked for that another query, or another state of the index, gave.
    #[error("the cursor does not fit: {0}")]
    Cursor(String),
    /// Something is where a data set was to be made.
    #[error("{0} is there already, and is no empty folder")]
    Occupied(PathBuf),
    /// A file of a data set.
    #[cfg(feature = "parquet")]
    #[error("cannot write {path}: {source}")]
    Parquet {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: parquet::errors::ParquetError,
    },
    /// The file system.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The full-text index.
    #[error("the full-text index: {0}")]
    Tantivy(#[from] TantivyError),
    /// The catalog.
    #[error("the catalog: {0}")]
    Sqlite(#[from] rusqlite::Error),
}

impl Error {
    /// True when making the index anew helps: it is damaged, or made with older rules.
    pub fn is_curable(&self) -> bool {
        use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType};
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        match self {
            Error::Damaged { .. } | Error::Outdated { .. } => true,
            // A value of another type than the one that was written.
            Error::Sqlite(
                FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..),
            ) => true,
            Error::Sqlite(error) => matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase)),
            Error::Tantivy(error) => is_of_content(error),
            _ => false,
        }
    }

    /// A failure of the file system.
    pub(crate) fn io(action: &'static str, path: &std::path::Path, source: std::io::Error) -> Error {
        Error::Io { action, path: path.to_owned(), source }
    }
}

/// True when what stands in the files of the full-text index is at fault. A disk that fails and a system without free
/// file handles are not, and an index that they hide must not be deleted.
fn is_of_content(error: &TantivyError) -> bool {
    use std::io::ErrorKind::{InvalidData, Other, UnexpectedEof};
    // What cannot be understood, or ends early: Tantivy tells of it as of a fault of the disk, but no system spoke.
    let is_content = |error: &std::io::Error| {
        matches!(error.kind(), InvalidData | UnexpectedEof)
            || error.kind() == Other && error.raw_os_error().is_none()
    };
    match error {
        TantivyError::IoError(error) => is_content(error),
        TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. }) => is_content(io_error),
        error => matches!(
            error,
            TantivyError::DataCorruption(_)
                | TantivyError::DeserializeError(_)
                | TantivyError::FieldNotFound(_)
                | TantivyError::IncompatibleIndex(_)
                | TantivyError::IndexBuilderMissingArgument(_)
                | TantivyError::OpenReadError(_)
                | TantivyError::SchemaError(_)
        ),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, ErrorKind};

    use super::*;

    #[test]
    fn what_the_disk_says_is_not_cured_by_deleting() {
        let open = |error: io::Error| -> Error {
            TantivyError::OpenReadError(OpenReadError::wrap_io_error(error, PathBuf::from("x.idx"))).into()
        };
        let (no_more_files, disk_fails) = (24, 5);
        for (error, is_curable) in [
            (io::Error::from(ErrorKind::InvalidData), true),
            (io::Error::from(ErrorKind::UnexpectedEof), true),
            (io::Error::other("Unsupported sstable version"), true),
            (io::Error::from(ErrorKind::PermissionDenied), false),
            (io::Error::from_raw_os_error(no_more_files), false),
            (io::Error::from_raw_os_error(disk_fails), false),
        ] {
            let told = error.to_string();
            assert_eq!(open(error).is_curable(), is_curable, "{told}");
        }
        let gone = OpenReadError::FileDoesNotExist(PathBuf::from("x.idx"));
        assert!(Error::from(TantivyError::OpenReadError(gone)).is_curable());
        assert!(!Error::Locked(PathBuf::new()).is_curable());
    }
}
