//! One session folder, looked at from all sides: what the next upgrade makes of its log, and what else lies there.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use dshlog_codec::check::EventType;
use dshlog_codec::check::shapes;
use dshlog_codec::home::{GenerationFile, SessionFolder, WriteLock};
use dshlog_codec::json::SAFE_INTEGER;
use dshlog_codec::{At, Class, Error, ErrorKind, Event, Generation, Header};
use dshlog_migrate::{Kin, Migrator, Outcome, Problem};

use super::finding::{Blocks, Writer};
use super::witness;
use crate::exit::without_place;
use crate::select;
use crate::source::{Form, Log};

/// What is known of one session.
#[derive(Debug)]
pub(crate) struct Session {
    /// Its folder.
    pub(crate) folder: PathBuf,
    /// Its id by the header, else the name of its folder.
    pub(crate) name: String,
    /// The generation that stands for it; of a folder with both encodings, the newest.
    pub(crate) file: Option<GenerationFile>,
    /// The others.
    pub(crate) older: Vec<GenerationFile>,
    /// The header, when it can be read.
    pub(crate) header: Option<Header>,
    /// What the next upgrade does to it.
    pub(crate) fate: Fate,
    /// Why it is refused: where it lies, and what is in it.
    pub(crate) faults: Vec<Fault>,
    /// What stands behind the last complete event.
    pub(crate) tail: Option<Tail>,
    /// Types of events that any reader may pass over because they say so, and how many there are of each.
    pub(crate) ignorable: BTreeMap<String, u64>,
    /// Subagents of which its catalog would say no more than that they are there.
    pub(crate) obscure_children: usize,
    /// Its write lock.
    pub(crate) lock: Lock,
    /// What writers left behind.
    pub(crate) leftovers: Vec<Leftover>,
}

/// What the next upgrade does to a session.
#[derive(Debug)]
pub(crate) enum Fate {
    /// It is in the current format and stays as it is.
    Current,
    /// It is carried over.
    Migrates,
    /// It is refused.
    Refused,
    /// Not judged: a writer is or may be at work on a log that would have to be carried over, or the log is beyond a limit
    /// of this program.
    NotJudged,
}

/// Why a session is refused.
#[derive(Debug)]
pub(crate) struct Fault {
    /// A code of `docs/codes.md`.
    pub(crate) code: &'static str,
    /// What is wrong, for people.
    pub(crate) message: String,
    /// Where.
    pub(crate) at: At,
    /// What kind of fault it is, which decides what mends it.
    pub(crate) wrong: Wrong,
    /// What else it takes away.
    pub(crate) blocks: Blocks,
    /// Who wrote what is wrong.
    pub(crate) writer: Writer,
}

/// Kinds of faults that are mended in ways of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    /// The header leads to another place.
    Identity {
        /// The log there, below the root.
        belongs: String,
    },
    /// The file's name says another version than the header.
    Version {
        /// What the header says, where it is a number.
        says: Option<u64>,
    },
    /// Both encodings are in one folder.
    Encodings,
    /// A header of unreleased builds.
    Retired,
    /// A format of a newer dsh.
    Newer,
    /// No header was ever written.
    NoHeader,
    /// The system does not let it be read.
    Unread,
    /// A limit of this program, which says nothing of dsh.
    Limit,
    /// Anything in the text.
    Content,
}

impl Wrong {
    fn of(error: &Error) -> Wrong {
        match error.kind() {
            ErrorKind::Identity { expected } => Wrong::Identity { belongs: expected.clone() },
            ErrorKind::VersionMismatch { header, .. } => Wrong::Version { says: header.parse().ok() },
            ErrorKind::MixedEncodings { .. } => Wrong::Encodings,
            ErrorKind::HeaderRetired { .. } => Wrong::Retired,
            ErrorKind::Newer { .. } => Wrong::Newer,
            ErrorKind::NoHeader => Wrong::NoHeader,
            _ => match error.class() {
                Class::Io | Class::NotFound => Wrong::Unread,
                Class::Limit => Wrong::Limit,
                _ => Wrong::Content,
            },
        }
    }
}

/// Bytes behind the last complete event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tail {
    /// How many.
    pub(crate) bytes: u64,
    /// Complete events among them, which dsh would write again. It never appends to an old format.
    pub(crate) recovered: Option<u64>,
}

/// The write lock of a session.
#[derive(Debug)]
pub(crate) enum Lock {
    /// There is no lock file.
    None,
    /// The file is there, and nobody holds it.
    Free,
    /// A writer holds it.
    Held,
    /// It cannot be asked, so that a writer may or may not be at work.
    Unknown(Error),
}

impl Lock {
    /// The lock of the session in `folder`.
    pub(crate) fn of(folder: &Path, has_file: bool) -> Lock {
        match WriteLock::is_held(folder) {
            Ok(true) => Lock::Held,
            Ok(false) if has_file => Lock::Free,
            Ok(false) => Lock::None,
            Err(error) => Lock::Unknown(error),
        }
    }

    /// True when no writer can be at work, which everything needs that changes the folder.
    pub(crate) fn is_free(&self) -> bool {
        matches!(self, Lock::None | Lock::Free)
    }

    /// True when a writer is at work.
    pub(crate) fn is_held(&self) -> bool {
        matches!(self, Lock::Held)
    }
}

/// A temporary file or folder that a writer left behind.
#[derive(Clone, Debug)]
pub(crate) struct Leftover {
    /// Where.
    pub(crate) path: PathBuf,
    /// It is a folder.
    pub(crate) is_folder: bool,
    /// Size of a file in bytes.
    pub(crate) len: u64,
    /// When it was last written.
    pub(crate) modified: Option<SystemTime>,
    /// Whose file it may be.
    pub(crate) beside: Beside,
}

/// Who may be at work beside a temporary file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    /// Nobody.
    Nobody,
    /// A writer.
    Writer,
    /// The lock does not tell.
    Unknown,
}

impl Beside {
    /// By the lock of the folder.
    pub(crate) fn of(lock: &Lock) -> Beside {
        match lock {
            Lock::None | Lock::Free => Beside::Nobody,
            Lock::Held => Beside::Writer,
            Lock::Unknown(_) => Beside::Unknown,
        }
    }
}

/// What looking at many sessions shares.
pub(crate) struct Looker<'a> {
    /// The sessions root.
    pub(crate) root: &'a Path,
    /// Says what a migration would do; a dry one.
    pub(crate) migrator: Migrator<'a>,
    /// For reading.
    pub(crate) kin: Arc<Kin>,
}

/// Names of event types that are kept for one log.
const TYPES: usize = 32;

impl Looker<'_> {
    /// Look at one session. Its log is read to the end, an old one a second time as a migration reads it.
    pub(crate) fn look(&self, folder: &SessionFolder) -> Session {
        let mut session = Session::of(folder);
        let unless_refused = self.read(folder, &mut session);
        session.fate = session.fate(unless_refused);
        session
    }

    /// Find the faults of its log. Gives what the next upgrade does to it where there are none.
    fn read(&self, folder: &SessionFolder, session: &mut Session) -> Fate {
        let file = match folder.chosen() {
            Ok(file) => file,
            Err(error) => {
                session.refuse(&error, Generation::CURRENT, Writer::default());
                return Fate::NotJudged;
            }
        };
        let chosen = select::placed(&file.path, Some(self.root), Path::new("/"));
        let log = match Log::open(&chosen, Form::Stored, &self.kin) {
            Ok(log) => log,
            Err(error) => {
                let writer = witness::of_header(error.kind(), file.generation);
                session.refuse(&error, file.generation, writer);
                return Fate::NotJudged;
            }
        };
        session.name = log.header.id.to_lossy().into_owned();
        session.header = Some(log.header.clone());
        if !log.is_current() && !session.lock.is_free() {
            return Fate::NotJudged;
        }
        let mut seen = Seen::new(file.generation);
        let checked = log.check(|event| seen.see(event));
        // What is behind the last complete event while a writer is at work may be an event on its way.
        if let Ok(checked) = &checked
            && session.lock.is_free()
        {
            let end = checked.end();
            let is_torn = end.torn.is_some() || end.dropped_bytes > 0 || end.issue.is_some();
            let recovered = end.torn.map(|torn| torn.recovered);
            session.tail = is_torn.then_some(Tail { bytes: end.dropped_bytes, recovered });
        }
        let next = if log.is_current() {
            let refused = checked.map_or_else(Some, |mut checked| {
                checked.verdict.take().and_then(|verdict| verdict.storage.or(verdict.session))
            });
            refused.map_or(Ok(Fate::Current), Err)
        } else {
            self.migrate(folder, session)
        };
        session.ignorable = seen.ignorable;
        let (fate, refused) = match next {
            Ok(fate) => (fate, None),
            Err(error) => (Fate::NotJudged, Some(error)),
        };
        // Of a current log dsh asks for its place only behind its content; its list asks for that alone.
        let misplaced = log.check_identity().err();
        let is_told =
            |error: &Error| misplaced.is_some() && matches!(error.kind(), ErrorKind::Identity { .. });
        let within = refused.filter(|error| !is_told(error));
        for error in misplaced.iter().chain(&within) {
            let writer = witness::writer(&log.file, error.position(), &seen.required, error.code());
            session.refuse(error, file.generation, writer);
        }
        fate
    }

    /// What migrating it would come to; the reason where that is refused.
    fn migrate(&self, folder: &SessionFolder, session: &mut Session) -> Result<Fate, Error> {
        let report = self.migrator.migrate(self.root, &folder.path, &mut |_| {});
        session.obscure_children = report.warnings.len();
        match report.outcome {
            Outcome::Current => Ok(Fate::Current),
            Outcome::Would { .. } | Outcome::Migrated { .. } => Ok(Fate::Migrates),
            Outcome::Locked => Ok(Fate::NotJudged),
            Outcome::Refused(problem) | Outcome::Failed(problem) => Err(reason(problem)),
        }
    }
}

/// True for a file that dsh cannot open (`docs/spec/storage.md`, section 14, R22).
pub(super) fn is_too_large(file: &GenerationFile) -> bool {
    file.len >= 1 << 31
}

/// True for a working directory of Windows where paths are those of POSIX: dsh does not take it for absolute
/// (`docs/spec/storage.md`, section 2.2).
pub(super) fn is_foreign(header: &Header) -> bool {
    header.has_windows_cwd() && !cfg!(windows)
}

/// The fault of the log that a problem stands for.
fn reason(problem: Problem) -> Error {
    match problem {
        Problem::Log(error) => error,
        Problem::Io { path, source, .. } => Error::io("read", &path, source),
        Problem::Changed { path } => Error::from(ErrorKind::Changed).in_file(&path, None),
        other => ErrorKind::Migration { code: other.code(), what: other.to_string() }
            .at(At { path: other.path().map(Path::to_owned), ..At::default() }),
    }
}

/// Events that only some readers know.
struct Seen {
    generation: Generation,
    required: Vec<String>,
    ignorable: BTreeMap<String, u64>,
}

impl Seen {
    fn new(generation: Generation) -> Seen {
        Seen { generation, required: Vec::new(), ignorable: BTreeMap::new() }
    }

    fn see(&mut self, event: &Event<'_>) {
        let known = EventType::of(event.kind);
        if known.is_some_and(|kind| kind.is_known_to(self.generation)) {
            return;
        }
        let name = event.kind.to_lossy();
        if self.generation < Generation(3) && shapes::is_known(&name, self.generation) {
            return;
        }
        // The older steps pass over nothing, whatever it says of itself.
        if event.ignorable && self.generation >= Generation(3) {
            if self.ignorable.len() < TYPES || self.ignorable.contains_key(&*name) {
                *self.ignorable.entry(name.into_owned()).or_default() += 1;
            }
        } else if self.required.len() < TYPES && !self.required.iter().any(|known| *known == name) {
            self.required.push(name.into_owned());
        }
    }
}

impl Session {
    /// What the folder alone tells.
    fn of(folder: &SessionFolder) -> Session {
        let id = folder.id.as_ref().map(|id| id.to_lossy().into_owned());
        let newest = folder.newest().cloned();
        let older = folder.generations.iter().filter(|file| Some(*file) != newest.as_ref()).cloned();
        let lock = Lock::of(&folder.path, folder.has_lock_file);
        let beside = Beside::of(&lock);
        let leftovers = folder.temps.iter().map(|(name, _)| Leftover::at(folder.path.join(name), beside));
        Session {
            name: id.unwrap_or_else(|| folder.folder.to_string_lossy().into_owned()),
            older: older.collect(),
            file: newest,
            header: None,
            fate: Fate::Current,
            faults: Vec::new(),
            tail: None,
            ignorable: BTreeMap::new(),
            obscure_children: 0,
            leftovers: leftovers.collect(),
            lock,
            folder: folder.path.clone(),
        }
    }

    /// The log, or the folder when there is none to name.
    pub(crate) fn path(&self) -> &Path {
        self.file.as_ref().map_or(&self.folder, |file| &file.path)
    }

    /// True when its header leads elsewhere.
    pub(crate) fn is_misplaced(&self) -> bool {
        self.faults.iter().any(|fault| matches!(fault.wrong, Wrong::Identity { .. }))
    }

    /// True when both encodings are in its folder.
    pub(crate) fn is_mixed(&self) -> bool {
        self.faults.iter().any(|fault| fault.wrong == Wrong::Encodings)
    }

    /// True when its log could not be read.
    pub(crate) fn is_unread(&self) -> bool {
        self.faults.iter().any(|fault| fault.wrong == Wrong::Unread)
    }

    /// By everything that is known: a fault of the log outweighs a limit of this program.
    fn fate(&self, unless_refused: Fate) -> Fate {
        let is_refused = self.faults.iter().any(|fault| fault.wrong != Wrong::Limit)
            || self.file.as_ref().is_some_and(is_too_large)
            || self.header.as_ref().is_some_and(is_foreign);
        match (is_refused, self.faults.is_empty()) {
            (true, _) => Fate::Refused,
            (false, false) => Fate::NotJudged,
            (false, true) => unless_refused,
        }
    }
}

impl Leftover {
    /// What lies at `path`; links are not followed.
    pub(crate) fn at(path: PathBuf, beside: Beside) -> Leftover {
        let metadata = path.symlink_metadata().ok();
        Leftover {
            is_folder: metadata.as_ref().is_some_and(std::fs::Metadata::is_dir),
            len: metadata.as_ref().filter(|m| m.is_file()).map_or(0, std::fs::Metadata::len),
            modified: metadata.and_then(|m| m.modified().ok()),
            path,
            beside,
        }
    }
}

impl Session {
    fn refuse(&mut self, error: &Error, named: Generation, writer: Writer) {
        let mut at = error.position().clone();
        (at.path, at.generation) = (None, None);
        self.faults.push(Fault {
            code: error.code(),
            message: without_place(error),
            at,
            wrong: Wrong::of(error),
            blocks: blocks(error.kind(), named),
            writer,
        });
    }
}

/// What a fault of one log takes away (`docs/spec/storage.md`, sections 3.2 and 4.3). `named` is the generation that the
/// file's name claims.
fn blocks(kind: &ErrorKind, named: Generation) -> Blocks {
    match kind {
        ErrorKind::MixedEncodings { .. } => Blocks::Root,
        ErrorKind::HeaderRetired { .. } | ErrorKind::Identity { .. } => Blocks::List,
        // A link that leads nowhere is passed over.
        ErrorKind::Io { source, .. } if source.kind() != io::ErrorKind::NotFound => Blocks::List,
        // Only a version that is a count fails the list; a log with any other one is passed over.
        ErrorKind::VersionMismatch { header, .. } if is_count(header) => Blocks::List,
        // A newer header in a file that is named as one of ours; a file with a newer name is passed over.
        ErrorKind::Newer { .. } if named == Generation::CURRENT => Blocks::List,
        ErrorKind::Limit { .. } => Blocks::Nothing,
        _ => Blocks::Session,
    }
}

fn is_count(text: &str) -> bool {
    text.parse().is_ok_and(|number: u64| number <= SAFE_INTEGER)
}
