//! What can go wrong when a log is written.

use std::io;
use std::path::PathBuf;

use dshlog_codec::{Class, ErrorKind, Seq};

/// A step of a publication, in their order (`docs/spec/storage.md`, 13.2). Each can fail alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Look at the source, and open it.
    OpenSource,
    /// See whether the place of a new session is free.
    LookAround,
    /// Make the folder of a new session, and make its name durable.
    MakeFolder,
    /// Make the temporary file.
    Create,
    /// Write header and rows into it.
    Write,
    /// Make its content durable.
    Sync,
    /// Open it again and compare.
    ReadBack,
    /// See whether the source is still what was read.
    CheckSource,
    /// Give it the final name, which must be free.
    Link,
    /// See whether who has the final name is equal.
    CheckWinner,
    /// Make the final name durable.
    SyncFolder,
}

impl Step {
    /// As a verb phrase.
    pub fn name(self) -> &'static str {
        match self {
            Step::OpenSource => "open the old log",
            Step::LookAround => "look at the place of the new session",
            Step::MakeFolder => "make the folder of the new session",
            Step::Create => "make a temporary file",
            Step::Write => "write the new log",
            Step::Sync => "make the new log durable",
            Step::ReadBack => "read the new log back",
            Step::CheckSource => "look at the old log again",
            Step::Link => "give the new log its name",
            Step::CheckWinner => "look at the log that another process published",
            Step::SyncFolder => "make the new name durable",
        }
    }
}

/// Why a log was not written.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The log itself stands against it: it cannot be read, a step refuses it, or the target cannot hold it.
    #[error(transparent)]
    Log(#[from] dshlog_codec::Error),
    /// An operating system error.
    #[error("cannot {}", .step.name())]
    Io {
        /// What was tried.
        step: Step,
        /// Where.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// The temporary file does not hold what was written. It was removed.
    #[error("what was read back is not what was written: {what}")]
    ReadBack {
        /// What differs.
        what: String,
        /// The file.
        path: PathBuf,
    },
    /// The source, or a log that the migration looked at, is not what was read.
    #[error("another process changed a log that was read")]
    Changed {
        /// The log.
        path: PathBuf,
    },
    /// Another process published something else under the name.
    #[error("the name is taken by other content")]
    Conflict {
        /// Who has the name.
        target: PathBuf,
        /// The log that was to be carried over.
        source_log: PathBuf,
        /// In what they differ.
        what: &'static str,
    },
    /// A session of that id is there, or something that dsh would take for it.
    #[error("there is a session of that id")]
    Exists {
        /// What is there.
        path: PathBuf,
    },
    /// Something that is no session is where dsh looks for one of that id.
    #[error("something else is where dsh looks for a session of that id")]
    InTheWay {
        /// What is there.
        path: PathBuf,
    },
    /// No folder of a session can have such a name.
    #[error("no session can lie there: {what}")]
    NoName {
        /// What is wrong with the name.
        what: &'static str,
    },
    /// An event holds a number that dsh refuses to copy.
    #[error("event {seq} holds a number that JSON cannot keep")]
    NotLossless {
        /// The event.
        seq: Seq,
    },
    /// The file system can give a file its name only in a way that could overwrite another one.
    #[error("this file system has neither hard links nor a rename that never overwrites")]
    NotExclusive {
        /// The folder.
        path: PathBuf,
        /// The system's answer to the last try.
        source: io::Error,
    },
}

impl Problem {
    /// Stable kebab-case name, listed in `docs/codes.md`.
    pub fn code(&self) -> &'static str {
        match self {
            Problem::Log(error) => match error.kind() {
                ErrorKind::Io { source, .. } => system_code(source),
                kind => kind.code(),
            },
            Problem::Io { source, .. } => system_code(source),
            Problem::ReadBack { .. } => "read-back",
            Problem::Changed { .. } => "changed",
            Problem::Conflict { .. } => "target-conflict",
            Problem::Exists { .. } => "session-exists",
            Problem::InTheWay { .. } => "in-the-way",
            Problem::NoName { .. } => "no-name",
            Problem::NotLossless { .. } => "not-lossless",
            Problem::NotExclusive { .. } => "not-exclusive",
        }
    }

    /// The file or folder that it is about, as far as known.
    pub fn path(&self) -> Option<&std::path::Path> {
        match self {
            Problem::Log(error) => error.position().path.as_deref(),
            Problem::Io { path, .. }
            | Problem::ReadBack { path, .. }
            | Problem::Changed { path }
            | Problem::Conflict { target: path, .. }
            | Problem::Exists { path }
            | Problem::InTheWay { path }
            | Problem::NotExclusive { path, .. } => Some(path),
            Problem::NoName { .. } | Problem::NotLossless { .. } => None,
        }
    }

    /// True when trying once more may do.
    pub fn is_passing(&self) -> bool {
        match self {
            Problem::Changed { .. } => true,
            Problem::Log(error) => matches!(error.kind(), ErrorKind::Changed | ErrorKind::Shrank { .. }),
            _ => false,
        }
    }

    /// True when the log stands against it, and not this machine or a limit of this program.
    pub fn is_refusal(&self) -> bool {
        match self {
            Problem::Log(error) => {
                !matches!(error.class(), Class::Io | Class::NotFound | Class::Locked | Class::Limit)
            }
            Problem::Conflict { .. }
            | Problem::Exists { .. }
            | Problem::InTheWay { .. }
            | Problem::NoName { .. }
            | Problem::NotLossless { .. } => true,
            _ => false,
        }
    }
}

/// The code of an operating system error: those that a person can do something about have their own.
fn system_code(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "disk-full",
        io::ErrorKind::ReadOnlyFilesystem => "read-only",
        io::ErrorKind::PermissionDenied => "no-permission",
        _ => "io",
    }
}
