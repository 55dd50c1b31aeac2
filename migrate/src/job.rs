//! One session: from the folder that it lies in to a published log, or the reason why not.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dshlog_codec::check::Checker;
use dshlog_codec::home::{EntryKind, GenerationFile, Member, SessionFolder, WriteLock, check_identity};
use dshlog_codec::json::JsString;
use dshlog_codec::source::ReadAt;
use dshlog_codec::{ErrorKind, Generation, Header, Limits, LogFile};

use crate::children::{Evidence, Warning};
use crate::deviation::Deviation;
use crate::judge::Judge;
use crate::kin::Kin;
use crate::problem::{Problem, Step};
use crate::publish::{Draft, Expected, Published, Target};
use crate::run::{Done, Run, RunError, unfit};
use crate::vfs::{Identity, Kind, Vfs};

/// What migrating one session came to.
#[derive(Debug)]
pub struct Report {
    /// Its id, by the header or else by the name of the folder.
    pub session: Option<JsString>,
    /// The session folder.
    pub folder: PathBuf,
    /// The generation that stood for the session before.
    pub from: Option<Generation>,
    /// Length of that file in bytes.
    pub source_len: u64,
    /// What came of it.
    pub outcome: Outcome,
    /// Subagents of which nothing but the header is known.
    pub warnings: Vec<Warning>,
    /// Where the new log does not say what the old one says.
    pub deviations: Vec<Deviation>,
}

impl Report {
    /// The report of a session that is in the current format, by what a walk saw of its folder; nothing for any other
    /// one, and where only a closer look tells.
    pub fn of_current(folder: &SessionFolder) -> Option<Report> {
        let file = folder.chosen().ok()?;
        let is_current = file.generation == Generation::CURRENT && file.kind == EntryKind::File;
        is_current.then(|| Report {
            session: folder.id.clone(),
            from: Some(file.generation),
            source_len: file.len,
            ..Report::new(&folder.path)
        })
    }

    fn new(folder: &Path) -> Report {
        Report {
            session: None,
            folder: folder.to_owned(),
            from: None,
            source_len: 0,
            outcome: Outcome::Current,
            warnings: Vec::new(),
            deviations: Vec::new(),
        }
    }
}

/// What came of one session.
#[derive(Debug)]
pub enum Outcome {
    /// It is in the current format.
    Current,
    /// It could be published; it was not asked for.
    Would {
        /// Number of events in the target.
        events: u64,
    },
    /// Its new log is there.
    Migrated {
        /// The new log.
        path: PathBuf,
        /// Number of events in it.
        events: u64,
        /// Who wrote it, and how long it is.
        published: Published,
    },
    /// The log stands against it. The reason says what and where.
    Refused(Problem),
    /// A writer is at work on it.
    Locked,
    /// Something else than the log stands against it.
    Failed(Problem),
}

/// What every session of a run shares.
pub struct Migrator<'a> {
    /// The file system to publish in.
    pub vfs: &'a dyn Vfs,
    /// Subagents.
    pub kin: &'a Kin,
    /// What may be held.
    pub limits: Limits,
    /// Do everything but write.
    pub dry_run: bool,
}

/// Is told how many bytes of the source were worked on.
pub type Watch<'w> = &'w mut dyn FnMut(u64);

impl Migrator<'_> {
    /// Migrate the session in `folder`, a folder two below `root`.
    ///
    /// What another process changes meanwhile makes one more try, as in the official reader.
    pub fn migrate(&self, root: &Path, folder: &Path, watch: Watch<'_>) -> Report {
        let mut job = Job::new(self, root, folder);
        let mut outcome = job.run(watch);
        if matches!(&outcome, Err(problem) if problem.is_passing()) {
            outcome = job.run(watch);
        }
        let outcome = outcome.unwrap_or_else(|problem| match problem {
            Problem::Log(error) if matches!(error.kind(), ErrorKind::Locked) => Outcome::Locked,
            problem if problem.is_refusal() => Outcome::Refused(problem),
            problem => Outcome::Failed(problem),
        });
        job.report.outcome = outcome;
        job.report
    }
}

struct Job<'a> {
    migrator: &'a Migrator<'a>,
    root: &'a Path,
    folder: &'a Path,
    report: Report,
}

impl<'a> Job<'a> {
    fn new(migrator: &'a Migrator<'a>, root: &'a Path, folder: &'a Path) -> Self {
        let report = Report::new(folder);
        Job { migrator, root, folder, report }
    }

    fn run(&mut self, watch: Watch<'_>) -> Result<Outcome, Problem> {
        let member = self.look()?;
        if member.generation == Generation::CURRENT {
            return Ok(Outcome::Current);
        }
        if self.migrator.dry_run {
            let held = WriteLock::is_held(self.folder)?;
            return if held { Ok(Outcome::Locked) } else { self.judge(&member, watch) };
        }
        let _lock = WriteLock::acquire(self.folder)?;
        // Only behind the lock is it sure which generation stands for the session.
        let member = self.look()?;
        if member.generation == Generation::CURRENT {
            return Ok(Outcome::Current);
        }
        self.publish(&member, watch)
    }

    /// The log that stands for the session now.
    fn look(&mut self) -> Result<Member, Problem> {
        let folder = SessionFolder::read(self.folder)?;
        self.report.session.clone_from(&folder.id);
        self.report.from = folder.newest().map(|file| file.generation);
        let file = folder.chosen()?;
        self.report.source_len = file.len;
        if file.generation > Generation::CURRENT {
            return Err(dshlog_codec::Error::from(ErrorKind::Newer { version: file.generation.0 })
                .in_file(&file.path, Some(file.generation))
                .into());
        }
        if let Some(old) = check_name(&folder, file)? {
            self.report.from = Some(old.generation);
            self.report.source_len = old.len;
            let (target, source_log) = (file.path.clone(), old.path.clone());
            return Err(Problem::Conflict { target, source_log, what: "no regular file" });
        }
        Ok(Member {
            root: self.root.to_owned(),
            project: folder.project.clone(),
            folder: folder.folder.clone(),
            generation: file.generation,
            encoding: file.encoding,
        })
    }

    /// Everything but writing: whether the official writer would publish it.
    fn judge(&mut self, member: &Member, watch: Watch<'_>) -> Result<Outcome, Problem> {
        let source = Source::open(self.migrator.vfs, member)?;
        let evidence = self.begin(member, &source)?;
        let done = judge(&source.log, &evidence, &self.migrator.limits, watch)
            .map_err(|error| error.in_file(&source.path, Some(member.generation)))?;
        self.report.warnings = evidence.warnings;
        self.report.deviations = done.deviations;
        Ok(Outcome::Would { events: done.events })
    }

    fn publish(&mut self, member: &Member, watch: Watch<'_>) -> Result<Outcome, Problem> {
        let Migrator { vfs, kin, limits, .. } = self.migrator;
        let source = Source::open(*vfs, member)?;
        let evidence = self.begin(member, &source)?;
        let target = Target {
            folder: self.folder.to_owned(),
            generation: Generation::CURRENT,
            encoding: member.encoding,
        };
        let id = source.header.id.clone();
        let carried = carry(*vfs, &source, &target, &evidence, limits, watch, || {
            kin.recheck(self.root, &id, &evidence, limits)
        });
        let (done, published) = carried.map_err(|problem| match problem {
            Problem::Log(error) => error.in_file(&source.path, Some(member.generation)).into(),
            other => other,
        })?;
        self.report.warnings = evidence.warnings;
        self.report.deviations = done.deviations;
        Ok(Outcome::Migrated { path: target.path(), events: done.events, published })
    }

    /// What must be known before the first event.
    fn begin(&mut self, member: &Member, source: &Source) -> Result<Evidence, Problem> {
        self.report.session = Some(source.header.id.clone());
        check_identity(member, &source.header)?;
        let evidence = self.migrator.kin.evidence(self.root, &source.header.id, &self.migrator.limits)?;
        evidence.check_whole()?;
        Ok(evidence)
    }
}

/// The log that the name of the current format is in the way of, when no log has that name but a folder or a link to
/// nothing.
fn check_name<'f>(
    folder: &'f SessionFolder,
    newest: &GenerationFile,
) -> Result<Option<&'f GenerationFile>, Problem> {
    if newest.generation != Generation::CURRENT || newest.kind == EntryKind::File {
        return Ok(None);
    }
    let old = folder.generations.iter().rfind(|file| file.generation != newest.generation);
    let nothing = || Problem::Io { step: Step::OpenSource, path: newest.path.clone(), source: not_a_file() };
    old.map(Some).ok_or_else(nothing)
}

fn not_a_file() -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidInput, "not a regular file")
}

/// The log that is carried over, as it was when it was opened.
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) log: LogFile,
    pub(crate) header: Header,
    identity: Identity,
}

impl Source {
    fn open(vfs: &dyn Vfs, member: &Member) -> Result<Source, Problem> {
        Source::at(vfs, &member.path(), member)
    }

    fn at(vfs: &dyn Vfs, path: &Path, member: &Member) -> Result<Source, Problem> {
        let failed = |source| Problem::Io { step: Step::OpenSource, path: path.to_owned(), source };
        let identity = vfs.identity(path).map_err(failed)?;
        // Opening a pipe would wait for a writer.
        if identity.kind != Kind::File {
            return Err(failed(not_a_file()));
        }
        let bytes: Arc<dyn ReadAt> = vfs.open(path).map_err(failed)?;
        let in_file = |error: dshlog_codec::Error| error.in_file(path, Some(member.generation));
        let log = LogFile::from_source(bytes, member.generation, member.encoding).map_err(in_file)?;
        let header = log.header().map_err(in_file)?;
        Ok(Source { path: path.to_owned(), log, header, identity })
    }

    /// Refuse a source that is not what was opened.
    fn recheck(&self, vfs: &dyn Vfs) -> Result<(), Problem> {
        match vfs.identity(&self.path) {
            Ok(now) if now == self.identity => Ok(()),
            Ok(_) => Err(Problem::Changed { path: self.path.clone() }),
            Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
                Err(Problem::Changed { path: self.path.clone() })
            }
            Err(source) => Err(Problem::Io { step: Step::CheckSource, path: self.path.clone(), source }),
        }
    }
}

/// Write the log that comes of `source`, read it back, and give it its name. `recheck` is asked last: whether all that
/// was read besides the source still stands.
///
/// The caller holds the write lock.
pub(crate) fn carry(
    vfs: &dyn Vfs,
    source: &Source,
    target: &Target,
    evidence: &Evidence,
    limits: &Limits,
    watch: Watch<'_>,
    recheck: impl FnOnce() -> Result<(), Problem>,
) -> Result<(Done, Published), Problem> {
    let mut run = Run::open(&source.log, target.generation, Some(evidence.children.clone()), limits)
        .map_err(dshlog_codec::Error::from)?;
    run.count_deviations();
    let header = run.header().clone();
    let mut draft = Draft::create(vfs, target, &header)?;
    let done = run
        .each(|event| {
            watch(event.place.byte);
            draft.row(|out| event.print_row(out))
        })
        .map_err(problem)?;
    let staged = draft.finish()?;
    let expected = Expected { header, events: done.events, cut: done.cut, streams: true };
    if let Err(found) = staged.read_back(&expected, limits) {
        // The same is said of the source, with a place that the user can look at.
        if let Problem::Log(error) = &found
            && !matches!(error.class(), dshlog_codec::Class::Io)
        {
            judge(&source.log, evidence, limits, &mut |_| {})?;
            let what = format!("the file is refused ({error}), the events are not");
            return Err(staged.differs(&what));
        }
        return Err(found);
    }
    recheck()?;
    source.recheck(vfs)?;
    Ok((done, staged.publish(&source.path, limits)?))
}

/// Whether the official writer would publish what comes of a log.
fn judge(
    log: &LogFile,
    evidence: &Evidence,
    limits: &Limits,
    watch: Watch<'_>,
) -> dshlog_codec::Result<Done> {
    let mut run = Run::open(log, Generation::CURRENT, Some(evidence.children.clone()), limits)?;
    run.count_deviations();
    let mut judge = Judge::new(Checker::with_admission(run.header()));
    let done = run
        .each(|event| {
            watch(event.place.byte);
            judge.see(event);
            Ok(())
        })
        .map_err(|error: RunError| dshlog_codec::Error::from(error))?;
    judge.finish(done.cut).map_err(unfit)?;
    Ok(done)
}

fn problem(error: RunError<Problem>) -> Problem {
    match error {
        RunError::Receiver(problem) => problem,
        RunError::Read(error) => Problem::Log(error),
        RunError::Refused(refusal) => Problem::Log(refusal.into()),
        RunError::Chain(error) => Problem::Log(RunError::Chain(error).into()),
    }
}

#[cfg(test)]
mod tests;
