//! `dshlog verify`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dshlog_codec::home::{Home, SessionFolder, Walk, absolute};
use dshlog_codec::{Class, Error, ErrorKind, Limits, LogFile};
use dshlog_migrate::{Kin, Overlap};
use dshlog_query::store::{Place, is_database};
use dshlog_replay::Resume;

use super::passed_over;
use crate::args::{Format, Verify};
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome, shown};
use crate::pool;
use crate::render::progress::Progress;
use crate::render::units;
use crate::render::verify::{Finding, Report, Severity, json, text};
use crate::select::{self, Chosen};
use crate::source::{Form, Log};
use crate::stores;

/// Check logs.
pub(crate) fn run(ctx: &mut Ctx, args: &Verify) -> Result<Outcome, Failure> {
    let format = ctx.format(&[Format::Text, Format::Json, Format::Jsonl])?;
    let mut work = Vec::new();
    let mut unread = 0_u64;
    if args.paths.is_empty() {
        let home = ctx.home()?;
        let walk = stores::walk(&home.root)?;
        below(&walk, &Typed::nothing(), &mut work);
        unread += tell_passed_over(ctx, &walk, work.is_empty());
        if work.is_empty() && unread == 0 {
            return Err(Failure::not_found(format!("no session logs in {}", shown(&home.root)))
                .hint("name a log, a folder, or another home"));
        }
    }
    for path in &args.paths {
        unread += collect(ctx, path, &mut work).unwrap_or_else(|failure| {
            ctx.error(failure);
            1
        });
    }
    let threads = pool::size(args.jobs, work.len());
    let progress = Progress::new(ctx.shows_progress() && work.len() > 1, work.len() as u64, "logs");
    let (mut sound, mut noted, mut faulty) = (0_u64, 0_u64, 0_u64);
    let (color, width) = (ctx.color, ctx.terminal.width);
    let kin = Arc::<Kin>::default();
    pool::each(
        &work,
        threads,
        |work| judge(work, &kin),
        |report: Report| {
            if report.is_unread {
                unread += 1;
            } else if report.is_ok() {
                sound += 1;
                noted += u64::from(!report.findings.is_empty());
            } else {
                faulty += 1;
            }
            progress.step();
            progress.suspend(|| match format {
                Format::Text => text(&report, ctx.out(), width, color),
                _ => json(&report, ctx.out()),
            })
        },
    )?;
    progress.end();
    if work.len() > 1 || unread > 0 {
        let aside = if noted > 0 { format!(" ({noted} with notes)") } else { String::new() };
        let logs = units::count(work.len() as u64, "log");
        let mut words = format!("{logs}: {sound} sound{aside}, {faulty} with findings");
        if unread > 0 {
            words = format!("{words}, {unread} not readable");
        }
        ctx.note(words);
    }
    Ok(match (unread, faulty) {
        (0, 0) => Outcome::Clean,
        (0, _) => Outcome::Found,
        _ => Outcome::Unread,
    })
}

/// One log to judge.
struct Work {
    chosen: Chosen,
    /// Its path as it is shown to people.
    shown: PathBuf,
    /// Why the official reader refuses its folder.
    refused: Option<Error>,
    /// The next newer generation of its session, which must tell the same story.
    newer: Option<PathBuf>,
}

/// A place on the command line.
struct Typed<'a> {
    typed: &'a Path,
    absolute: PathBuf,
}

impl Typed<'_> {
    /// Nothing was typed: paths below the default home are shown whole.
    fn nothing() -> Self {
        Typed { typed: Path::new(""), absolute: PathBuf::new() }
    }

    /// A path below the place, beginning as the place was typed.
    fn shown(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.absolute) {
            Ok(rest) if rest.as_os_str().is_empty() => self.typed.to_owned(),
            Ok(rest) => self.typed.join(rest),
            Err(_) => path.to_owned(),
        }
    }
}

/// The logs that a path leads to. Gives the number of things below it that could not be looked at.
fn collect(ctx: &mut Ctx, path: &Path, work: &mut Vec<Work>) -> Result<u64, Failure> {
    let cwd = ctx.cwd().to_owned();
    if let Some(count) = in_store(&absolute(&cwd, path), work)? {
        return Ok(count);
    }
    let metadata = std::fs::metadata(path).map_err(|e| Failure::io("look at", path, e))?;
    if !metadata.is_dir() {
        let home = ctx.home().ok();
        let chosen = select::placed(path, home.as_ref().map(|home| home.root.as_path()), &cwd);
        let refused = chosen.check_neighbours().err();
        work.push(Work { chosen, shown: path.to_owned(), refused, newer: None });
        return Ok(0);
    }
    let folder = absolute(&cwd, path);
    let typed = Typed { typed: path, absolute: folder.clone() };
    match SessionFolder::read(&folder) {
        Ok(session) => {
            push(&session, None, &typed, work);
            return Ok(0);
        }
        Err(error) if matches!(error.kind(), ErrorKind::NotFound) => {}
        Err(error) => return Err(error.into()),
    }
    let walk = stores::walk(&Home::at(&folder).root)?;
    let before = work.len();
    below(&walk, &typed, work);
    let is_no_root = work.len() == before;
    if is_no_root {
        // A project folder: sessions lie right in it. Those that cannot be looked at are told below, since the walk
        // took it for a root, and them for its projects.
        let mut children: Vec<PathBuf> = std::fs::read_dir(&folder)
            .map_err(|e| Failure::io("read", &folder, e))?
            .flatten()
            .map(|e| e.path())
            .collect();
        children.sort();
        for session in children.iter().filter_map(|child| SessionFolder::read(child).ok()) {
            push(&session, folder.parent(), &typed, work);
        }
    }
    let unread = tell_passed_over(ctx, &walk, is_no_root);
    if work.len() == before && unread == 0 {
        return Err(Failure::not_found(format!("no session logs in {}", shown(path))));
    }
    Ok(unread)
}

/// The sessions of a store, or the one that is named in it; nothing when the path leads to no store.
fn in_store(path: &Path, work: &mut Vec<Work>) -> Result<Option<u64>, Failure> {
    let place = Place::of(path);
    if place.is_none() && !is_database(path) {
        return Ok(None);
    }
    let mut push = |session: &SessionFolder| push(session, None, &Typed::nothing(), work);
    match place {
        Some(_) => match stores::select(path) {
            Some(Ok(session)) => push(&session),
            Some(Err(error)) => return Err(select::unselected(error, path, None)),
            None => return Ok(None),
        },
        None => stores::walk(path)?.sessions.iter().for_each(push),
    }
    Ok(Some(0))
}

fn below(walk: &Walk, typed: &Typed<'_>, work: &mut Vec<Work>) {
    for session in walk.sessions.iter().filter(|session| session.is_listed()) {
        push(session, Some(&walk.root), typed, work);
    }
}

/// What was passed over; of what is no root, since no session was found where they lie in one, only what could not be
/// looked at.
fn tell_passed_over(ctx: &mut Ctx, walk: &Walk, is_no_root: bool) -> u64 {
    if is_no_root { passed_over::tell_unread(ctx, walk) } else { passed_over::tell(ctx, walk, "checked") }
}

/// Every generation in a session's folder.
fn push(session: &SessionFolder, root: Option<&Path>, typed: &Typed<'_>, work: &mut Vec<Work>) {
    work.extend(session.generations.iter().map(|file| Work {
        chosen: select::placed(&file.path, root, Path::new("/")),
        shown: typed.shown(&file.path),
        refused: session.check_encodings(file).err(),
        newer: session.newer_than(file).map(|newer| newer.path.clone()),
    }));
}

/// Every check there is on one log.
fn judge(work: &Work, kin: &Arc<Kin>) -> Report {
    let mut report = Report::new(&work.chosen.path, &work.shown);
    if let Some(refused) = &work.refused {
        report.findings.push(Finding::of(Severity::Error, refused));
    }
    let log = match Log::open(&work.chosen, Form::Current, kin) {
        Ok(log) => log,
        Err(error) => {
            report.is_unread = is_unread(&error);
            report.stored_version = error.position().generation.map(|generation| generation.0);
            report.findings.push(Finding::of(Severity::Error, &error));
            return report;
        }
    };
    report.stored_version = Some(log.generation().0);
    if log.header.has_windows_cwd() {
        report.findings.push(Finding::windows_cwd());
    }
    let mut overlap = work.newer.as_ref().and_then(|newer| overlap(&log, newer));
    let mut resume = Resume::new();
    let checked = log.check(|event| {
        report.events += 1;
        resume.see(event);
        if let Some(overlap) = &mut overlap {
            overlap.see(event);
        }
    });
    match checked {
        Ok(mut checked) => {
            if let Some(verdict) = checked.verdict.take() {
                let faults = [verdict.storage, verdict.behind_unknown, verdict.session];
                report
                    .findings
                    .extend(faults.iter().flatten().map(|error| Finding::of(Severity::Error, error)));
            }
            let end = checked.end();
            if end.torn.is_some() || end.dropped_bytes > 0 || end.issue.is_some() {
                report.findings.push(Finding::torn(end));
                report.recovery = Some((end.torn, end.dropped_bytes));
            }
        }
        Err(error) => {
            report.is_unread = is_unread(&error);
            report.findings.push(Finding::of(Severity::Error, &error));
        }
    }
    // Most of what V3 does not allow, V4 does not allow either.
    if let Some(fault) = log.check_as_stored().filter(|fault| !report.has(fault)) {
        report.findings.push(Finding::as_stored(&fault, log.generation()));
    }
    // Neither a log that is refused is gone on with, nor one of which a newer generation was made.
    let can_go_on = work.newer.is_none() && !report.has_error();
    if let Some(open) = resume.open().filter(|_| can_go_on) {
        report.findings.push(Finding::open(open));
        report.open = Some(open);
    }
    if let (Some(overlap), Some(newer)) = (overlap, &work.newer) {
        let found = overlap.finish();
        report
            .findings
            .extend(found.into_iter().map(|found| Finding::overlap(found, &work.chosen.path, newer)));
    }
    report
}

/// The comparison with a newer log; nothing when that one cannot be read, which its own report says.
fn overlap(log: &Log, newer: &Path) -> Option<Overlap> {
    let newer = LogFile::open(newer).ok()?;
    Overlap::open(&log.header, &newer, &Limits::default()).ok()
}

fn is_unread(error: &Error) -> bool {
    matches!(error.class(), Class::Io | Class::NotFound)
}
