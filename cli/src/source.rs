//! Opened logs, and the walk that judges one before anything of it is shown.

use dshlog_codec::check::{Checker, Verdict};
use dshlog_codec::home::{Member, check_identity};
use dshlog_codec::{End, Error, Event, Generation, Header, Limits, LogFile, LogReader};

use crate::exit::Failure;
use crate::select::Chosen;

/// A log whose header is known.
pub(crate) struct Log {
    member: Option<Member>,
    /// The file.
    pub(crate) file: LogFile,
    /// Its header, as stored.
    pub(crate) header: Header,
}

/// What a whole walk found.
pub(crate) struct Checked {
    walk: LogReader,
    /// Whether its events may stand where they stand; only the current format is judged.
    pub(crate) verdict: Option<Verdict>,
}

impl Log {
    /// Open a log and read its header.
    pub(crate) fn open(chosen: &Chosen) -> Result<Log, Error> {
        let file = LogFile::open(&chosen.path)?;
        let header = file.header()?;
        Ok(Log { member: chosen.member.clone(), file, header })
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

    /// Begin a walk.
    pub(crate) fn walk(&self) -> Result<LogReader, Error> {
        self.file.read(&Limits::default())
    }

    /// Begin the walk that shows events: past a fault in the structure of later frames only when asked to be lenient.
    pub(crate) fn walk_as(&self, lenient: bool) -> Result<LogReader, Error> {
        if lenient { self.file.read_to_damage(&Limits::default()) } else { self.walk() }
    }

    /// Walk to the end, judging and showing every event to `see`.
    pub(crate) fn check(&self, mut see: impl FnMut(&Event<'_>)) -> Result<Checked, Error> {
        let mut walk = self.walk()?;
        let mut checker = self.is_current().then(|| Checker::new(&self.header));
        while let Some(event) = walk.next_event()? {
            if let Some(checker) = &mut checker {
                checker.see(&event);
            }
            see(&event);
        }
        let cut = walk.end().map_or(0, |end| end.cut);
        let verdict = checker.map(|checker| checker.finish(cut));
        let path = self.file.path().map(std::path::Path::to_owned);
        let mut verdict = verdict.map(|verdict| located(verdict, path.as_deref(), self.generation()));
        // The official reader looks at the content first.
        if verdict.as_ref().is_none_or(|verdict| verdict.storage.is_none())
            && let Err(error) = self.check_identity()
        {
            match &mut verdict {
                Some(verdict) => verdict.storage = Some(error),
                None => return Err(error),
            }
        }
        Ok(Checked { walk, verdict })
    }
}

impl Checked {
    /// The end of the log.
    pub(crate) fn end(&self) -> &End {
        const NOTHING: &End = &End { events: 0, cut: 0, torn: None, dropped_bytes: 0, issue: None };
        self.walk.end().unwrap_or(NOTHING)
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

fn located(mut verdict: Verdict, path: Option<&std::path::Path>, generation: Generation) -> Verdict {
    if let Some(path) = path {
        let locate = |error: Error| error.in_file(path, Some(generation));
        verdict.storage = verdict.storage.map(locate);
        verdict.session = verdict.session.map(locate);
    }
    verdict
}
