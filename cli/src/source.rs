//! Opened logs, and the walk that judges one before anything of it is shown.
//!
//! [`Log::each`] gives the events of every log in one form, that of V4 or the stored one. Logs of V0 to V3 are carried to V4
//! on the way, in memory, so commands do not ask for the generation.

use std::cell::OnceCell;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use dshlog_codec::check::{Checker, CheckerV3, Verdict};
use dshlog_codec::home::{Member, check_identity};
use dshlog_codec::{End, Error, Event, Generation, Header, Limits, LogFile};
use dshlog_migrate::children::{Evidence, Warning};
use dshlog_migrate::{Kin, Run, RunError, unfit};

use crate::exit::Failure;
use crate::select::Chosen;
use crate::stores;

/// The generation that events are shown in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// V4, whatever the log is stored as.
    Current,
    /// As stored.
    Stored,
}

impl Form {
    /// What `--as-stored` asks for.
    pub(crate) fn of(as_stored: bool) -> Form {
        if as_stored { Form::Stored } else { Form::Current }
    }
}

/// A log whose header is known.
pub(crate) struct Log {
    member: Option<Member>,
    form: Form,
    kin: Arc<Kin>,
    evidence: OnceCell<Evidence>,
    /// The file.
    pub(crate) file: LogFile,
    /// Its header, as stored.
    pub(crate) header: Header,
}

/// How a walk ended.
pub(crate) struct Walked {
    /// What stands at the end of the log; nothing when the walk did not come there.
    pub(crate) end: Option<End>,
    /// What it could not pass.
    pub(crate) damage: Option<Error>,
}

/// What a whole walk found.
pub(crate) struct Checked {
    end: End,
    /// Whether its events may stand where they stand; only the current form is judged.
    pub(crate) verdict: Option<Verdict>,
}

impl Log {
    /// Open a log and read its header.
    pub(crate) fn open(chosen: &Chosen, form: Form, kin: &Arc<Kin>) -> Result<Log, Error> {
        let file = stores::open(&chosen.path)?;
        let header = file.header()?;
        let (member, kin) = (chosen.member.clone(), Arc::clone(kin));
        Ok(Log { member, form, kin, evidence: OnceCell::new(), file, header })
    }

    /// Refuse a log that does not belong where it lies.
    pub(crate) fn check_identity(&self) -> Result<(), Error> {
        self.member.as_ref().map_or(Ok(()), |member| check_identity(member, &self.header))
    }

    /// The stored generation.
    pub(crate) fn generation(&self) -> Generation {
        self.file.generation()
    }

    /// True when it needs no migration.
    pub(crate) fn is_current(&self) -> bool {
        self.generation() == Generation::CURRENT
    }

    fn is_migrated(&self) -> bool {
        self.form == Form::Current && !self.is_current()
    }

    /// What judges the events of [`Log::each`]; nothing when they are shown in an older form.
    pub(crate) fn checker(&self) -> Option<Checker> {
        if self.is_migrated() {
            return Some(Checker::with_admission(&self.header.to_current()));
        }
        self.is_current().then(|| Checker::new(&self.header))
    }

    /// Walk over the events, in the form that was asked for, until `see` breaks off.
    pub(crate) fn each<E>(
        &self,
        see: impl FnMut(&Event<'_>) -> Result<ControlFlow<()>, E>,
    ) -> Result<Walked, E> {
        self.each_as(false, see)
    }

    /// The same; a lenient walk gives the events in front of a fault in the structure of later frames.
    pub(crate) fn each_as<E>(
        &self,
        lenient: bool,
        mut see: impl FnMut(&Event<'_>) -> Result<ControlFlow<()>, E>,
    ) -> Result<Walked, E> {
        let damaged = |error: Error| Ok(Walked { end: None, damage: Some(self.locate(error)) });
        if self.is_migrated() {
            let run = self.evidence().and_then(|evidence| {
                let children = Some(evidence.children.clone());
                Run::open(&self.file, Generation::CURRENT, children, &Limits::default()).map_err(Error::from)
            });
            let run = match run {
                Ok(run) => run,
                Err(error) => return damaged(error),
            };
            // A receiver without an error only had enough.
            let walked = run.each(|event| match see(event) {
                Ok(ControlFlow::Continue(())) => Ok(()),
                Ok(ControlFlow::Break(())) => Err(None),
                Err(error) => Err(Some(error)),
            });
            return match walked {
                Ok(done) => {
                    let end = End { events: done.events, cut: done.cut, torn: None, ..done.source };
                    Ok(Walked { end: Some(end), damage: None })
                }
                Err(RunError::Receiver(None)) => Ok(Walked { end: None, damage: None }),
                Err(RunError::Receiver(Some(error))) => Err(error),
                Err(RunError::Read(error)) => damaged(error),
                Err(RunError::Refused(refusal)) => damaged(refusal.into()),
                Err(RunError::Chain(error)) => damaged(RunError::Chain(error).into()),
            };
        }
        let limits = Limits::default();
        let walk = if lenient { self.file.read_to_damage(&limits) } else { self.file.read(&limits) };
        let mut walk = match walk {
            Ok(walk) => walk,
            Err(error) => return damaged(error),
        };
        loop {
            match walk.next_event() {
                Ok(Some(event)) => {
                    if see(&event)?.is_break() {
                        return Ok(Walked { end: None, damage: None });
                    }
                }
                Ok(None) => return Ok(Walked { end: Some(walk.take_end()), damage: None }),
                Err(error) => return damaged(error),
            }
        }
    }

    /// Walk to the end, judging and showing every event to `see`.
    pub(crate) fn check(&self, mut see: impl FnMut(&Event<'_>)) -> Result<Checked, Error> {
        // The official reader asks this of V4 behind the content, of the others in front of it.
        if !self.is_current() {
            self.check_identity()?;
        }
        let mut checker = self.checker();
        let Ok(walked) = self.each(|event| {
            if let Some(checker) = &mut checker {
                checker.see(event);
            }
            see(event);
            Ok::<_, Infallible>(ControlFlow::Continue(()))
        });
        if let Some(damage) = walked.damage {
            return Err(damage);
        }
        let end = walked.end.unwrap_or_default();
        let mut verdict = checker.map(|checker| {
            let verdict = self.judge(checker, end.cut);
            Verdict {
                storage: verdict.storage.map(|error| self.locate(error)),
                behind_unknown: verdict.behind_unknown.map(|error| self.locate(error)),
                session: verdict.session.map(|error| self.locate(error)),
                surface: verdict.surface,
            }
        });
        if let Some(verdict) = verdict.as_mut().filter(|verdict| verdict.storage.is_none())
            && self.is_current()
        {
            verdict.storage = self.check_identity().err();
        }
        Ok(Checked { end, verdict })
    }

    /// What the rules of V3 say of a log of V3, once it can be read to its end. The steps to V4 ask less: they, and what
    /// comes out of them, are what the official reader refuses a log for.
    pub(crate) fn check_as_stored(&self) -> Option<Error> {
        if self.generation() != Generation(3) {
            return None;
        }
        let mut walk = self.file.read(&Limits::default()).ok()?;
        let mut checker = CheckerV3::new(&self.header);
        while let Some(event) = walk.next_event().ok()? {
            checker.see(&event);
        }
        let verdict = checker.finish(walk.take_end().cut);
        verdict.storage.map(|error| self.locate(error))
    }

    /// What the checker says at the end. A fault of what came out of a migration is none of the source: the official
    /// reader calls the log unsupported.
    pub(crate) fn judge(&self, checker: Checker, cut: u64) -> Verdict {
        let verdict = checker.finish(cut);
        if !self.is_migrated() {
            return verdict;
        }
        let (storage, behind_unknown) = (verdict.storage.map(unfit), verdict.behind_unknown.map(unfit));
        Verdict { storage, behind_unknown, ..verdict }
    }

    /// Subagents of this session of which nothing but the header is known, once a walk has looked for them.
    pub(crate) fn obscure_children(&self) -> &[Warning] {
        self.evidence.get().map_or(&[], |evidence| &evidence.warnings)
    }

    /// What the session's subagents say of themselves. A stray that is in no store has none that
    /// anybody knows.
    fn evidence(&self) -> Result<&Evidence, Error> {
        if let Some(evidence) = self.evidence.get() {
            return Ok(evidence);
        }
        let evidence = match &self.member {
            Some(member) => self.kin.evidence(&member.root, &self.header.id, &Limits::default())?,
            None => match self.file.path() {
                Some(path) => stores::evidence(path)?.unwrap_or_default(),
                None => Evidence::default(),
            },
        };
        Ok(self.evidence.get_or_init(|| evidence))
    }

    /// Walk over the events as they are stored, to find what was named by its place there.
    pub(crate) fn each_stored(
        &self,
        mut see: impl FnMut(&Event<'_>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let mut walk = self.file.read(&Limits::default())?;
        while let Some(event) = walk.next_event().map_err(|error| self.locate(error))? {
            if see(&event).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn locate(&self, error: Error) -> Error {
        match self.file.path() {
            Some(path) => error.in_file(path, Some(self.generation())),
            None => error,
        }
    }
}

impl Checked {
    /// The end of the log.
    pub(crate) fn end(&self) -> &End {
        &self.end
    }

    /// Refuse what the official storage reader refuses.
    pub(crate) fn storage(&mut self) -> Result<(), Failure> {
        match self.verdict.as_mut().and_then(|verdict| verdict.storage.take()) {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }

    /// Refuse what no session opens, too.
    pub(crate) fn session(&mut self) -> Result<(), Failure> {
        self.storage()?;
        match self.verdict.as_mut().and_then(|verdict| verdict.session.take()) {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }
}
