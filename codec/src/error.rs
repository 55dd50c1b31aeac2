//! What can be wrong with a log, as types.

use std::fmt;
use std::io;
use std::path::Path;

use crate::at::{At, Place};
use crate::check::Rule;
use crate::json::JsonError;
use crate::types::{Generation, Seq};

/// Short for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A fault and its position. One word wide, since it travels through the hot path.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    at: At,
}

/// What a refusal means for the file (`docs/spec/storage.md`, section 14).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Damaged or contradictory.
    Corrupt,
    /// Intact, but written by something newer or never meant for this reader.
    Unsupported,
    /// The content does not belong at its path.
    Misplaced,
    /// Held by a writer.
    Locked,
    /// There is no such log.
    NotFound,
    /// The operating system did not let us.
    Io,
    /// Beyond what this reader is willing to hold.
    Limit,
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
pub enum ErrorKind {
    /// An operating system error.
    #[error("cannot {action}")]
    Io {
        /// What was tried, as a verb phrase: `open`, `read`.
        action: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// There is no complete first line or frame.
    #[error("empty, or no complete header")]
    NoHeader,
    /// A writer did not come to an end. Readers pass over it, so only who must say what was left out makes one.
    #[error("a torn tail of {bytes} bytes")]
    TornTail {
        /// Bytes behind the last complete event.
        bytes: u64,
    },
    /// Four bytes that start no Zstandard frame where one must start. Skippable frames count.
    #[error("no Zstandard frame starts here (found 0x{found:08X})")]
    FrameMagic {
        /// The little-endian word that was found.
        found: u32,
    },
    /// A bit or block type that the frame format reserves.
    #[error("reserved {what} in the frame")]
    FrameReserved {
        /// `header bit` or `block type`.
        what: &'static str,
    },
    /// A complete frame that does not decompress.
    #[error("damaged frame: {reason}")]
    FrameDamaged {
        /// The decompressor's reason.
        reason: &'static str,
    },
    /// The first frame is not exactly one line.
    #[error("the first frame is not exactly the header line")]
    HeaderFrame,
    /// The last complete frame does not end with a line end.
    #[error("a complete frame ends inside a row")]
    FrameEndsInRow,
    /// The header is not JSON or breaks a rule of its generation.
    #[error("malformed header: {what}")]
    HeaderMalformed {
        /// Which rule.
        what: String,
    },
    /// `sandboxMode` or `approvalPolicy`: members of unreleased builds.
    #[error("header with the retired member `{member}` of a pre-release")]
    HeaderRetired {
        /// The member.
        member: &'static str,
    },
    /// A format that is newer than this reader.
    #[error("format V{version} is newer than V4")]
    Newer {
        /// The stored version.
        version: u64,
    },
    /// The header says another version than the file name.
    #[error("the file name says {name}, the header says version {header}")]
    VersionMismatch {
        /// From the file name.
        name: Generation,
        /// From the header, as it stands there.
        header: String,
    },
    /// A line that is not JSON.
    #[error("not JSON: {0}")]
    RowSyntax(JsonError),
    /// A row whose members or types break the rules of its generation.
    #[error("malformed row: {what}")]
    RowShape {
        /// Which rule.
        what: &'static str,
    },
    /// A row that does not have the next seq.
    #[error("row has seq {found}, expected {expected}")]
    RowGap {
        /// The next seq.
        expected: Seq,
        /// What stands there, shortened.
        found: String,
    },
    /// A rule on rows, events or relations between events.
    #[error("{}{}", .rule.text(), Detail(.detail))]
    Rule {
        /// The rule.
        rule: Rule,
        /// The values that break it, shortened; may be empty.
        detail: String,
    },
    /// There is no way to the current format: a step refuses the log, or that format cannot hold what comes of it. Said
    /// by the layer that migrates, with a code of its own.
    #[error("{what}")]
    Migration {
        /// Code of the rule.
        code: &'static str,
        /// Which step, and what is wrong.
        what: String,
    },
    /// A database of many sessions cannot be read. Said by the layer that reads it, with a code of its own.
    #[error("{what}")]
    Store {
        /// Code of the fault.
        code: &'static str,
        /// What it means for the database.
        class: Class,
        /// What is wrong.
        what: String,
    },
    /// A limit of this reader.
    #[error("{what} is beyond the limit of {limit} bytes")]
    Limit {
        /// What is too large.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// The file became shorter than it was when it was opened.
    #[error("the file shrank while it was read, from {before} to {now} bytes")]
    Shrank {
        /// Size when opened.
        before: u64,
        /// Size now.
        now: u64,
    },
    /// The second walk over a log did not see what the first one saw.
    #[error("the file changed while it was read")]
    Changed,
    /// The header's id or working directory leads to another path.
    #[error("the header leads to {expected}, not to this path")]
    Identity {
        /// Where the log should lie below its root.
        expected: String,
    },
    /// Both encodings in one place.
    #[error("logs in both encodings: {other} beside this one")]
    MixedEncodings {
        /// A file in the other encoding.
        other: String,
    },
    /// No canonical generation.
    #[error("no session log here")]
    NotFound,
    /// The write lock is held.
    #[error("locked by a writer")]
    Locked,
}

struct Detail<'a>(&'a str);

impl fmt::Display for Detail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, " ({})", self.0) }
    }
}

impl ErrorKind {
    /// Stable kebab-case name, listed in `docs/codes.md`.
    pub fn code(&self) -> &'static str {
        match self {
            ErrorKind::Io { .. } => "io",
            ErrorKind::NoHeader => "no-header",
            ErrorKind::TornTail { .. } => "torn-tail",
            ErrorKind::FrameMagic { .. } => "frame-magic",
            ErrorKind::FrameReserved { .. } => "frame-reserved",
            ErrorKind::FrameDamaged { .. } => "frame-damaged",
            ErrorKind::HeaderFrame => "header-frame",
            ErrorKind::FrameEndsInRow => "frame-ends-in-row",
            ErrorKind::HeaderMalformed { .. } => "header-malformed",
            ErrorKind::HeaderRetired { .. } => "header-retired",
            ErrorKind::Newer { .. } => "newer-format",
            ErrorKind::VersionMismatch { .. } => "version-mismatch",
            ErrorKind::RowSyntax(_) => "row-syntax",
            ErrorKind::RowShape { .. } => "row-shape",
            ErrorKind::RowGap { .. } => "row-gap",
            ErrorKind::Rule { rule, .. } => rule.code(),
            ErrorKind::Migration { code, .. } | ErrorKind::Store { code, .. } => code,
            ErrorKind::Limit { .. } => "limit",
            ErrorKind::Shrank { .. } => "shrank",
            ErrorKind::Changed => "changed",
            ErrorKind::Identity { .. } => "identity",
            ErrorKind::MixedEncodings { .. } => "mixed-encodings",
            ErrorKind::NotFound => "not-found",
            ErrorKind::Locked => "locked",
        }
    }

    /// What it means for the file.
    pub fn class(&self) -> Class {
        match self {
            ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => Class::NotFound,
            ErrorKind::Io { .. } | ErrorKind::Shrank { .. } | ErrorKind::Changed => Class::Io,
            ErrorKind::Newer { .. } | ErrorKind::Migration { .. } => Class::Unsupported,
            // A file that is named as the current format: its reader refuses any other version as unsupported.
            ErrorKind::VersionMismatch { name: Generation::CURRENT, .. } => Class::Unsupported,
            ErrorKind::Rule { rule, .. } => rule.class(),
            ErrorKind::Store { class, .. } => *class,
            ErrorKind::Limit { .. } => Class::Limit,
            ErrorKind::Identity { .. }
            | ErrorKind::MixedEncodings { .. }
            | ErrorKind::VersionMismatch { .. } => Class::Misplaced,
            ErrorKind::NotFound => Class::NotFound,
            ErrorKind::Locked => Class::Locked,
            _ => Class::Corrupt,
        }
    }

    /// With a position.
    pub fn at(self, at: At) -> Error {
        Error(Box::new(Inner { kind: self, at }))
    }

    /// With the position of a line.
    pub fn at_place(self, place: Place) -> Error {
        self.at(At::place(place))
    }
}

impl Error {
    /// An operating system error at a path.
    pub fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        ErrorKind::Io { action, source }.at(At { path: Some(path.to_owned()), ..At::default() })
    }

    /// What is wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// What is wrong, without the position.
    pub fn into_kind(self) -> ErrorKind {
        self.0.kind
    }

    /// Where it is.
    pub fn position(&self) -> &At {
        &self.0.at
    }

    /// What it means for the file.
    pub fn class(&self) -> Class {
        self.0.kind.class()
    }

    /// Stable kebab-case name.
    pub fn code(&self) -> &'static str {
        self.0.kind.code()
    }

    /// Fill in the file, where the layer below did not know it.
    #[must_use]
    pub fn in_file(mut self, path: &Path, generation: Option<Generation>) -> Self {
        let at = &mut self.0.at;
        at.path.get_or_insert_with(|| path.to_owned());
        at.generation = at.generation.or(generation);
        self
    }

    /// Fill in the event, where the layer below did not know it.
    #[must_use]
    pub fn at_seq(mut self, seq: Seq) -> Self {
        self.0.at.seq.get_or_insert(seq);
        self
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        kind.at(At::default())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.kind)?;
        let at = self.0.at.to_string();
        if at.is_empty() { Ok(()) } else { write!(f, " [{at}]") }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error").field("kind", &self.0.kind).field("at", &self.0.at).finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.0.kind)
    }
}
