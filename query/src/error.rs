//! What can go wrong around an index. Faults of logs are none: they are told with the log.

use std::path::PathBuf;

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
    Tantivy(#[from] tantivy::TantivyError),
    /// The catalog.
    #[error("the catalog: {0}")]
    Sqlite(#[from] rusqlite::Error),
}

/// True for what is told as a fault of the disk, but is one of what was read: it cannot be understood, or ends early.
fn is_content(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{InvalidData, UnexpectedEof};
    matches!(error.kind(), InvalidData | UnexpectedEof)
}

impl Error {
    /// True when making the index anew helps: it is damaged, or made with older rules.
    pub fn is_curable(&self) -> bool {
        use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType};
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        use tantivy::TantivyError::{
            DataCorruption, DeserializeError, FieldNotFound, IncompatibleIndex, IndexBuilderMissingArgument,
            IoError, OpenReadError, SchemaError,
        };
        use tantivy::directory::error::OpenReadError as Opening;
        match self {
            Error::Damaged { .. } | Error::Outdated { .. } => true,
            // A value of another type than the one that was written.
            Error::Sqlite(
                FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..),
            ) => true,
            Error::Sqlite(error) => matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase)),
            Error::Tantivy(IoError(error) | OpenReadError(Opening::IoError { io_error: error, .. })) => {
                is_content(error)
            }
            Error::Tantivy(error) => matches!(
                error,
                DataCorruption(_)
                    | DeserializeError(_)
                    | FieldNotFound(_)
                    | IncompatibleIndex(_)
                    | IndexBuilderMissingArgument(_)
                    | OpenReadError(_)
                    | SchemaError(_)
            ),
            _ => false,
        }
    }

    /// A failure of the file system.
    pub(crate) fn io(action: &'static str, path: &std::path::Path, source: std::io::Error) -> Error {
        Error::Io { action, path: path.to_owned(), source }
    }
}
