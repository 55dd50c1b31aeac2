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
    /// Not judged: a writer is at work on a log that would have to be carried over, or the log is beyond a limit of this
    /// program.
    NotJudged,
}

/// Why a session is refused.
#[derive(Debug)]
pub(crate) struct Fault {
    /// A code of `docs/codes.md`.
    pub(crate) code: &'static str,
    /// What it means for the file.
    pub(crate) class: Class,
    /// What is wrong, for people.
    pub(crate) message: String,
    /// Where.
    pub(crate) at: At,
    /// What else it takes away.
    pub(crate) blocks: Blocks,
    /// Where the header leads to, below the root, when it does not lead here.
    pub(crate) belongs: Option<String>,
    /// The version that the header says, when the file's name says another one.
    pub(crate) says: Option<u64>,
    /// Who wrote what is wrong.
    pub(crate) writer: Writer,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lock {
    /// There is no lock file.
    None,
    /// The file is there, and nobody holds it.
    Free,
    /// A writer holds it.
    Held,
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
    /// A writer is at work beside it, whose file it may be.
    pub(crate) in_use: bool,
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
        let file = match folder.chosen() {
            Ok(file) => file,
            Err(error) => {
                session.refuse(&error, Generation::CURRENT, Writer::default());
                return session;
            }
        };
        let chosen = select::placed(&file.path, Some(self.root), Path::new("/"));
        let log = match Log::open(&chosen, Form::Stored, &self.kin) {
            Ok(log) => log,
            Err(error) => {
                let writer = witness::of_header(error.kind(), file.generation);
                session.refuse(&error, file.generation, writer);
                return session;
            }
        };
        session.name = log.header.id.to_lossy().into_owned();
        session.header = Some(log.header.clone());
        if !log.is_current() && session.lock == Lock::Held {
            session.fate = Fate::NotJudged;
            return session;
        }
        let mut seen = Seen::new(file.generation);
        let checked = log.check(|event| seen.see(event));
        // What is behind the last complete event while a writer is at work may be an event on its way.
        if let Ok(checked) = &checked
            && session.lock != Lock::Held
        {
            let end = checked.end();
            let is_torn = end.torn.is_some() || end.dropped_bytes > 0 || end.issue.is_some();
            let recovered = end.torn.map(|torn| torn.recovered);
            session.tail = is_torn.then_some(Tail { bytes: end.dropped_bytes, recovered });
        }
        let refused = if log.is_current() {
            checked.map_or_else(Some, |mut checked| {
                checked.verdict.take().and_then(|verdict| verdict.storage.or(verdict.session))
            })
        } else {
            self.migrate(folder, &mut session)
        };
        session.ignorable = seen.ignorable;
        // Of a current log dsh asks for its place only behind its content; its list asks for that alone.
        let misplaced = log.check_identity().err();
        let within = refused.filter(|error| misplaced.is_none() || error.code() != "identity");
        for error in misplaced.iter().chain(&within) {
            let writer = witness::writer(&log.file, error.position(), &seen.required, error.code());
            session.refuse(error, file.generation, writer);
        }
        if is_too_large(file) || is_foreign(&log.header) {
            session.fate = Fate::Refused;
        }
        session
    }

    /// What migrating it would come to; gives the reason where that is refused.
    fn migrate(&self, folder: &SessionFolder, session: &mut Session) -> Option<Error> {
        let report = self.migrator.migrate(self.root, &folder.path, &mut |_| {});
        session.obscure_children = report.warnings.len();
        match report.outcome {
            Outcome::Current => session.fate = Fate::Current,
            Outcome::Would { .. } | Outcome::Migrated { .. } => session.fate = Fate::Migrates,
            Outcome::Locked => session.fate = Fate::NotJudged,
            Outcome::Refused(problem) | Outcome::Failed(problem) => return Some(reason(problem)),
        }
        None
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
        let lock = lock(&folder.path, folder.has_lock_file);
        let leftovers = folder.temps.iter().map(|(name, _)| {
            let path = folder.path.join(name);
            Leftover::at(path, lock == Lock::Held)
        });
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
            lock,
            leftovers: leftovers.collect(),
            folder: folder.path.clone(),
        }
    }

    /// The log, or the folder when there is none to name.
    pub(crate) fn path(&self) -> &Path {
        self.file.as_ref().map_or(&self.folder, |file| &file.path)
    }

    /// True when one of its faults has this code.
    pub(crate) fn has_fault(&self, code: &str) -> bool {
        self.faults.iter().any(|fault| fault.code == code)
    }
}

/// The lock of the session in `folder`. One that cannot be asked counts as held, since on its word files are removed.
pub(crate) fn lock(folder: &Path, has_file: bool) -> Lock {
    match WriteLock::is_held(folder) {
        Ok(true) | Err(_) => Lock::Held,
        Ok(false) if has_file => Lock::Free,
        Ok(false) => Lock::None,
    }
}

impl Leftover {
    /// What lies at `path`; links are not followed.
    pub(crate) fn at(path: PathBuf, in_use: bool) -> Leftover {
        let metadata = path.symlink_metadata().ok();
        Leftover {
            is_folder: metadata.as_ref().is_some_and(std::fs::Metadata::is_dir),
            len: metadata.as_ref().filter(|m| m.is_file()).map_or(0, std::fs::Metadata::len),
            modified: metadata.and_then(|m| m.modified().ok()),
            path,
            in_use,
        }
    }
}

impl Session {
    fn refuse(&mut self, error: &Error, named: Generation, writer: Writer) {
        let mut at = error.position().clone();
        (at.path, at.generation) = (None, None);
        let (belongs, says) = match error.kind() {
            ErrorKind::Identity { expected } => (Some(expected.clone()), None),
            ErrorKind::VersionMismatch { header, .. } => (None, header.parse().ok()),
            _ => (None, None),
        };
        let is_ours = error.class() == Class::Limit;
        self.fate = if is_ours { Fate::NotJudged } else { Fate::Refused };
        self.faults.push(Fault {
            code: error.code(),
            class: error.class(),
            message: without_place(error),
            at,
            blocks: blocks(error.kind(), named),
            belongs,
            says,
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
