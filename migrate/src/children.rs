//! What a session's migration needs to know of its subagents (`docs/spec/events-v4.md`, section 10.11;
//! `docs/spec/storage.md`, section 13.3).

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dshlog_codec::check::{Checker, CheckerV3, Verdict};
use dshlog_codec::home::{SessionFolder, Walk, Why};
use dshlog_codec::json::{Js, JsStr, JsString};
use dshlog_codec::{Error, ErrorKind, Event, Generation, Header, Limits, LogFile};

use crate::run::{Run, RunError};
use crate::vfs::{Identity, Kind, OsFs, Vfs};

/// A direct child of a session: one with `origin` subagent and this session as `parentSession`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its id.
    pub id: JsString,
    /// When it was created, epoch milliseconds.
    pub created_at: u64,
    /// What its own descriptor says; nothing when it has none, several, or one of a version that nobody knows.
    pub fact: Option<Fact>,
    /// The log that it was read from.
    pub path: Option<PathBuf>,
}

/// The part of a subagent's descriptor that its parent's catalog keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// How it was started.
    pub mode: Mode,
    /// Its label, which every continuable one has.
    pub label: Option<JsString>,
}

/// How a subagent was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It can be sent further messages.
    Continuable,
    /// It ends with its first answer.
    OneShot,
}

impl Mode {
    /// The word of the format.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Continuable => "continuable",
            Mode::OneShot => "one-shot",
        }
    }
}

/// What is known of a session's children.
#[derive(Debug, Default)]
pub struct Evidence {
    /// All of them, by the paths of their logs.
    pub children: Vec<Child>,
    /// Children of which nothing but the header is known, and why. They do not stop the parent.
    pub warnings: Vec<Warning>,
    /// The logs that were read, as they were before that.
    pub(crate) files: Vec<(PathBuf, Identity)>,
    /// Why a part of the root could not be looked at.
    pub(crate) hidden: Option<Arc<Error>>,
}

impl Evidence {
    /// Refuse evidence that may lack a child, since a part of the root could not be looked at. Who only reads may go on;
    /// who publishes would leave the child out for ever, and the official reader fails here too.
    pub(crate) fn check_whole(&self) -> Result<(), Error> {
        let Some(hidden) = &self.hidden else { return Ok(()) };
        let kind = match hidden.kind() {
            ErrorKind::MixedEncodings { other } => ErrorKind::MixedEncodings { other: other.clone() },
            ErrorKind::Io { source, .. } => {
                let source = io::Error::new(source.kind(), source.to_string());
                ErrorKind::Io { action: "look for subagents in", source }
            }
            _ => ErrorKind::NotFound,
        };
        Err(kind.at(hidden.position().clone()))
    }
}

/// A child whose descriptor could not be learned.
#[derive(Debug)]
pub struct Warning {
    /// The child.
    pub id: JsString,
    /// Its log.
    pub path: PathBuf,
    /// What is wrong.
    pub fault: ChildFault,
}

/// Why a child's descriptor could not be learned.
#[derive(Debug, thiserror::Error)]
pub enum ChildFault {
    /// Its log cannot be read, or not be carried to V3.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Its events contradict each other.
    #[error(transparent)]
    Check(#[from] Error),
    /// Its descriptor is malformed.
    #[error("the member `{member}` of the subagent's descriptor is malformed")]
    Descriptor {
        /// The member that is wrong.
        member: &'static str,
    },
}

impl ChildFault {
    /// Stable kebab-case name, listed in `docs/codes.md`.
    pub fn code(&self) -> &'static str {
        match self {
            ChildFault::Run(RunError::Read(error)) | ChildFault::Check(error) => error.code(),
            ChildFault::Run(RunError::Refused(refusal)) => refusal.code,
            ChildFault::Run(RunError::Chain(_)) => "no-steps",
            ChildFault::Run(RunError::Receiver(never)) => match *never {},
            ChildFault::Descriptor { .. } => "subagent-descriptor",
        }
    }
}

/// Find the children of the session `parent` below a sessions root and read what their logs say of them. For more than
/// one session of a root use [`Families`].
///
/// Fails only when the root cannot be read, or changes meanwhile.
pub fn collect(root: &Path, parent: &JsString, limits: &Limits) -> dshlog_codec::Result<Evidence> {
    Families::below(root)?.evidence(parent, limits)
}

/// All subagents below a sessions root, by the session that they belong to.
///
/// Sessions that the official reader does not list, and those without a readable header, are nobody's children.
#[derive(Debug, Default)]
pub struct Families {
    by_parent: HashMap<JsString, Vec<(Header, PathBuf)>>,
    /// The root and its project folders as they were: a new session changes one of them. Session folders without a log,
    /// too: a first one changes them.
    folders: Vec<(PathBuf, Option<Identity>)>,
    /// Logs without a readable header: one may just be written.
    unread: Vec<(PathBuf, Option<Identity>)>,
    /// Why something could not be looked at. Children may be there.
    hidden: Option<Arc<Error>>,
    /// The same for children that belong to one session.
    hidden_of: HashMap<JsString, Arc<Error>>,
}

impl Families {
    /// Read the headers below a root, and no more.
    pub fn below(root: &Path) -> dshlog_codec::Result<Families> {
        // Looked at first, so that what is made meanwhile is noticed later.
        let mut families = Families { folders: folders(root), ..Families::default() };
        let walk = Walk::new(root)?;
        for passed in walk.passed_over {
            match passed.why {
                Why::NoLog => families.folders.push(looked_at(passed.path)),
                Why::Unreadable(reason) => families.hide(Error::io("look into", &passed.path, reason)),
                _ => {}
            }
        }
        for folder in walk.sessions.iter().filter(|folder| folder.is_listed()) {
            families.see(folder);
        }
        Ok(families)
    }

    /// What is known of the children of one session. Their logs are read now, the newest generation of each.
    ///
    /// Fails when a log does not have the header any more that it had.
    pub fn evidence(&self, parent: &JsString, limits: &Limits) -> dshlog_codec::Result<Evidence> {
        let hidden = self.hidden.as_ref().or_else(|| self.hidden_of.get(parent)).cloned();
        let mut evidence = Evidence { hidden, ..Evidence::default() };
        for (header, path) in self.by_parent.get(parent).into_iter().flatten() {
            let path = newest(path)?;
            let identity = OsFs.identity(&path).map_err(|e| Error::io("look at", &path, e))?;
            let log = LogFile::open(&path)?;
            // A step may rename a preset.
            if log.header()?.to_current() != header.to_current() {
                return Err(Error::from(ErrorKind::Changed).in_file(&path, Some(log.generation())));
            }
            evidence.see(&log, header, &path, limits);
            evidence.files.push((path, identity));
        }
        Ok(evidence)
    }

    /// The logs that [`Families::evidence`] would read.
    pub(crate) fn logs(&self, parent: &JsString) -> dshlog_codec::Result<Vec<PathBuf>> {
        self.by_parent.get(parent).into_iter().flatten().map(|(_, path)| newest(path)).collect()
    }

    /// True when a session may have been made since the headers were read. Asks the system once for each project folder.
    pub(crate) fn is_stale(&self) -> bool {
        let mut looked_at = self.folders.iter().chain(&self.unread);
        looked_at.any(|(path, before)| OsFs.identity(path).ok() != *before)
    }

    fn see(&mut self, folder: &SessionFolder) {
        let newest = folder.newest().map(|file| looked_at(file.path.clone()));
        let header = folder.chosen().and_then(|file| LogFile::open(&file.path)?.header());
        match header {
            Ok(header) => {
                if let Some(parent) = parent(&header) {
                    let path = folder.newest().map(|file| file.path.clone()).unwrap_or_default();
                    self.by_parent.entry(parent).or_default().push((header, path));
                }
            }
            Err(error) => {
                self.unread.extend(newest);
                self.see_unread(folder, error);
            }
        }
    }

    /// A session whose header cannot be had. One that was had and not understood makes nobody's child, as in the official
    /// reader; else the session may be somebody's.
    fn see_unread(&mut self, folder: &SessionFolder, error: Error) {
        if !matches!(error.kind(), ErrorKind::Io { .. } | ErrorKind::MixedEncodings { .. }) {
            return;
        }
        let mut logs = folder.generations.iter().rev();
        match logs.find_map(|file| LogFile::open(&file.path).and_then(|log| log.header()).ok()) {
            // Another log of the session says whose.
            Some(header) => {
                if let Some(parent) = parent(&header) {
                    self.hidden_of.insert(parent, Arc::new(error));
                }
            }
            None if is_system(&error) => self.hide(error),
            // A pipe, a folder, a link to nothing: no log.
            None => {}
        }
    }

    fn hide(&mut self, reason: Error) {
        self.hidden.get_or_insert_with(|| Arc::new(reason));
    }

    /// True when the next look at the root will most likely show no more. Too many open files is a thing of a moment, a
    /// lack of rights is not.
    pub(crate) fn is_lasting(&self) -> bool {
        let Some(ErrorKind::Io { source, .. }) = self.hidden.as_ref().map(|error| error.kind()) else {
            return true;
        };
        source.kind() == io::ErrorKind::PermissionDenied
    }
}

/// The root and the folders right in it. Other things there change without a session being made.
fn folders(root: &Path) -> Vec<(PathBuf, Option<Identity>)> {
    let names = OsFs.names(root).unwrap_or_default();
    let projects = names.iter().map(|name| looked_at(root.join(name)));
    let is_folder =
        |(_, identity): &(_, Option<Identity>)| identity.is_some_and(|it| it.kind == Kind::Folder);
    std::iter::once(looked_at(root.to_owned())).chain(projects.filter(is_folder)).collect()
}

/// The session that this one is a subagent of.
fn parent(header: &Header) -> Option<JsString> {
    header.parent_session.clone().filter(|_| header.is_subagent)
}

/// True when it is the system that keeps a log from being read, and not that there is none.
fn is_system(error: &Error) -> bool {
    let ErrorKind::Io { source, .. } = error.kind() else { return false };
    // A loop of links has no stable kind; it is none of those that the system has for a lack of rights or means.
    !matches!(
        source.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::NotADirectory
    )
}

fn looked_at(path: PathBuf) -> (PathBuf, Option<Identity>) {
    let identity = OsFs.identity(&path).ok();
    (path, identity)
}

/// The generation that stands for the session now that `log` belongs to.
fn newest(log: &Path) -> dshlog_codec::Result<PathBuf> {
    let folder = SessionFolder::read(log.parent().unwrap_or(Path::new("")))?;
    Ok(folder.chosen()?.path.clone())
}

impl Evidence {
    fn see(&mut self, log: &LogFile, header: &Header, path: &Path, limits: &Limits) {
        let fact = describe(log, limits).unwrap_or_else(|fault| {
            self.warnings.push(Warning { id: header.id.clone(), path: path.to_owned(), fault });
            None
        });
        self.children.push(Child {
            id: header.id.clone(),
            created_at: header.created_at,
            fact,
            path: Some(path.to_owned()),
        });
    }
}

/// What the log of a subagent says of it. The whole log is read and checked, at V4 by the rules of V4, those of a
/// session included, else at V3.
pub fn describe(log: &LogFile, limits: &Limits) -> Result<Option<Fact>, ChildFault> {
    let mut descriptors = Descriptors::default();
    let verdict = if log.generation() == Generation::CURRENT {
        check_current(log, limits, &mut descriptors).map_err(RunError::Read)?
    } else {
        let run = Run::open(log, Generation(3), None, limits)?;
        let mut checker = CheckerV3::new(run.header());
        let done = run.each(|event| {
            checker.see(event);
            descriptors.see(event);
            Ok(())
        })?;
        checker.finish(done.cut)
    };
    // A child in V4 must be one on which a session could open.
    match verdict.storage.or(verdict.session) {
        Some(fault) => Err(fault.into()),
        None => descriptors.finish(),
    }
}

fn check_current(
    log: &LogFile,
    limits: &Limits,
    descriptors: &mut Descriptors,
) -> dshlog_codec::Result<Verdict> {
    let mut reader = log.read(limits)?;
    let mut checker = Checker::new(reader.header());
    while let Some(event) = reader.next_event()? {
        checker.see(&event);
        descriptors.see(&event);
    }
    Ok(checker.finish(reader.take_end().cut))
}

/// The child's own descriptors: those behind the last inherited marker.
#[derive(Debug, Default)]
struct Descriptors {
    count: u64,
    first: Option<Result<Option<Fact>, &'static str>>,
}

impl Descriptors {
    fn see(&mut self, event: &Event<'_>) {
        if event.is("session/end-seed") && event.member("inherited").is_some_and(Js::is_true) {
            *self = Descriptors::default();
        } else if event.is("subagent/descriptor") {
            self.count += 1;
            self.first.get_or_insert_with(|| Fact::parse(event));
        }
    }

    fn finish(self) -> Result<Option<Fact>, ChildFault> {
        match self.first {
            Some(first) if self.count == 1 => first.map_err(|member| ChildFault::Descriptor { member }),
            _ => Ok(None),
        }
    }
}

impl Fact {
    /// Out of a descriptor; nothing when its version is not 1, 2 or 3. The error is the member that is malformed.
    fn parse(event: &Event<'_>) -> Result<Option<Fact>, &'static str> {
        let text = |name| event.member(name).and_then(Js::as_str);
        let version = event.member("version").and_then(Js::as_count);
        if !matches!(version, Some(1..=3)) {
            return Ok(None);
        }
        text("provider").ok_or("provider")?;
        let mode = match text("mode") {
            _ if version == Some(1) => Mode::Continuable,
            Some(mode) if mode == "continuable" => Mode::Continuable,
            Some(mode) if mode == "one-shot" => Mode::OneShot,
            _ => return Err("mode"),
        };
        let label = text("label").map(JsStr::to_owned);
        let is_missing = label.is_none() && (mode == Mode::Continuable || event.member("label").is_some());
        if is_missing { Err("label") } else { Ok(Some(Fact { mode, label })) }
    }
}
