//! `dshlog migrate`.

use std::collections::{BTreeSet, HashSet};
use std::convert::Infallible;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use dshlog_codec::home::{SessionFolder, Walk, absolute};
use dshlog_codec::{ErrorKind, Limits};
use dshlog_migrate::vfs::OsFs;
use dshlog_migrate::{Kin, Migrator, Problem, Report};

use super::passed_over;
use crate::args::{Format, Migrate};
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome, shown};
use crate::hint;
use crate::pool;
use crate::render::migrate::{Rows, Status, Summary, is_plain, json};
use crate::render::progress::SizedProgress;
use crate::select;
use crate::stores;

/// Carry sessions to the current format.
pub(crate) fn run(ctx: &mut Ctx, args: &Migrate) -> Result<Outcome, Failure> {
    let format = ctx.format(&[Format::Table, Format::Json, Format::Jsonl])?;
    let (work, mut outcome) = if args.all { every(ctx)? } else { named(ctx, &args.sessions)? };
    let is_only = args.sessions.len() == 1;

    let due = || work.iter().filter(|work| Report::of_current(&work.folder).is_none());
    let bytes = due().filter_map(|work| work.folder.newest()).map(|file| file.len).sum();
    let count = due().count() as u64;
    let progress = SizedProgress::new(ctx.shows_progress() && count > 0, count, bytes);
    let kin = Kin::default();
    let migrator = Migrator { vfs: &OsFs, kin: &kin, limits: Limits::default(), dry_run: args.dry_run };
    let migrate = |work: &Work| {
        Report::of_current(&work.folder).unwrap_or_else(|| {
            let size = work.folder.newest().map_or(0, |file| file.len);
            let mut piece = progress.begin(&work.name(), size);
            migrator.migrate(&work.root, &work.folder.path, &mut |byte| piece.at(byte))
        })
    };

    let (width, color, is_terminal) = (ctx.terminal.width, ctx.color, ctx.terminal.stdout);
    let names = work.iter().map(|work| work.name().into());
    let mut rows = Rows::new(names, width, color);
    let mut summary = Summary::default();
    let mut hints = Hints::default();
    // What is to be written does not depend on who listens, so output that fails stops no work.
    let mut told = Ok(());
    let Ok(()) = pool::each(&work, pool::size(args.jobs, work.len()), migrate, |report: Report| {
        let status = Status::of(&report);
        outcome = outcome.max(ended(&report, is_only));
        summary.see(&report);
        hints.see(&report);
        let is_shown = match format {
            // A home of thousands has little to tell of those that need nothing.
            Format::Table if status == Status::Current && args.all => false,
            Format::Table if ctx.is_quiet() => status.is_trouble() || !is_plain(&report),
            _ => true,
        };
        if is_shown && told.is_ok() {
            told = progress.suspend(|| tell(&report, format, &mut rows, is_terminal, ctx.out()));
        }
        Ok::<_, Infallible>(())
    });
    progress.end();
    let told = told.and_then(|()| {
        // Of one named session its row says it all; of a home that needs nothing there are no rows.
        if format == Format::Table && !ctx.is_quiet() && (work.len() > 1 || args.all) {
            if rows.has_head() {
                ctx.out().write_all(b"\n")?;
            }
            summary.write(ctx.out(), width, color)?;
        }
        ctx.out().flush()
    });
    if let Err(error) = told {
        // What is left in its buffer would fail once more.
        drop(ctx.take_out());
        let failure = Failure::from(error);
        if !failure.is_broken_pipe() {
            failure.tell(ctx);
            outcome = outcome.max(failure.outcome());
        }
    }
    for hint in hints.said {
        ctx.hint(hint);
    }
    Ok(outcome)
}

/// What came of one session. Who watches sees each as it comes, and who reads documents can act on it.
fn tell(
    report: &Report,
    format: Format,
    rows: &mut Rows,
    is_terminal: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    match format {
        Format::Table => rows.row(report, out)?,
        _ => json(report, out)?,
    }
    if is_terminal || format != Format::Table { out.flush() } else { Ok(()) }
}

/// A session to migrate.
struct Work {
    root: PathBuf,
    folder: SessionFolder,
}

impl Work {
    fn name(&self) -> String {
        match &self.folder.id {
            Some(id) => id.to_lossy().into_owned(),
            None => self.folder.folder.to_string_lossy().into_owned(),
        }
    }
}

/// Every session that the official reader lists.
fn every(ctx: &mut Ctx) -> Result<(Vec<Work>, Outcome), Failure> {
    let mut walk = Walk::new(&ctx.home()?.root)?;
    for store in stores::around(&walk.root) {
        ctx.note(format!(
            "passed over {}, a store of sessions; `dshlog migrate ID` says how one becomes a log",
            shown(&store)
        ));
        walk.passed_over.retain(|passed| passed.path != store);
    }
    if !walk.exists {
        return Err(Failure::not_found(format!("there is no folder {}", shown(&walk.root)))
            .hint("`--home` or `--root` names another place"));
    }
    let outcome = match passed_over::tell(ctx, &walk, "migrated") {
        0 => Outcome::Clean,
        _ => Outcome::Unread,
    };
    let listed: Vec<_> = walk.sessions.into_iter().filter(SessionFolder::is_listed).collect();
    if listed.is_empty() {
        ctx.note(format!("no sessions in {}", shown(&walk.root)));
    }
    let work = listed.into_iter().map(|folder| Work { root: walk.root.clone(), folder }).collect();
    Ok((work, outcome))
}

/// The sessions that were named, each once. Where several are, one that is not there does not stop the others.
fn named(ctx: &mut Ctx, names: &[String]) -> Result<(Vec<Work>, Outcome), Failure> {
    if names.is_empty() {
        return Err(Failure::usage("no session is named")
            .hint("name sessions, or ask with `--all` for every session of the home"));
    }
    let mut work = Vec::new();
    let mut outcome = Outcome::Clean;
    let mut seen = HashSet::new();
    for name in names {
        match select::folder(ctx, name).map_err(|failure| not_one(ctx, name, failure)) {
            Ok((root, folder)) => {
                // Two spellings of a path are one session.
                let path = folder.path.canonicalize().unwrap_or_else(|_| folder.path.clone());
                if seen.insert(path) {
                    work.push(Work { root, folder });
                }
            }
            // Nothing is written yet, so nothing was done when the command line is wrong.
            Err(failure) if names.len() == 1 || matches!(failure, Failure::Usage(_)) => return Err(failure),
            Err(failure) => {
                failure.tell(ctx);
                outcome = outcome.max(failure.outcome());
            }
        }
    }
    Ok((work, outcome))
}

/// A folder of many sessions is no session; more is said of it than that no log is there.
fn not_one(ctx: &Ctx, name: &str, failure: Failure) -> Failure {
    let path = absolute(ctx.cwd(), Path::new(name));
    match &failure {
        Failure::Log(error, _) if matches!(error.kind(), ErrorKind::NotFound) && path.is_dir() => {
            Failure::not_found(format!("no session lies right in {}", shown(&path)))
                .hint("`--home DIR --all` or `--root DIR --all` migrates every session of a home or a root")
        }
        _ => failure,
    }
}

fn ended(report: &Report, is_only: bool) -> Outcome {
    use dshlog_migrate::Outcome::{Current, Failed, Locked, Migrated, Refused, Would};
    match &report.outcome {
        Current | Would { .. } | Migrated { .. } => Outcome::Clean,
        Refused(Problem::Conflict { .. }) | Locked => Outcome::Refused,
        Refused(_) if is_only => Outcome::Refused,
        Refused(_) => Outcome::Found,
        Failed(_) => Outcome::Unread,
    }
}

/// What to do next, once for each kind of trouble.
#[derive(Default)]
struct Hints {
    kinds: BTreeSet<&'static str>,
    said: Vec<String>,
}

impl Hints {
    fn see(&mut self, report: &Report) {
        use dshlog_migrate::Outcome::{Failed, Locked, Refused};
        let (kind, hints) = match &report.outcome {
            Refused(problem) | Failed(problem) => hint::for_problem(problem, &report.folder),
            Locked => ("locked", vec![hint::for_locked().to_owned()]),
            _ => return,
        };
        if self.kinds.insert(kind) {
            self.said.extend(hints);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing of a document stays behind in a buffer while later sessions are worked on.
    #[test]
    fn documents_come_at_once() {
        let report = Report {
            session: None,
            folder: PathBuf::from("/h/s"),
            from: None,
            source_len: 0,
            outcome: dshlog_migrate::Outcome::Current,
            warnings: Vec::new(),
            deviations: Vec::new(),
        };
        for (format, is_terminal, comes) in [
            (Format::Json, false, true),
            (Format::Jsonl, false, true),
            (Format::Table, true, true),
            (Format::Table, false, false),
        ] {
            let mut rows = Rows::new(std::iter::empty(), 100, false);
            let mut out = io::BufWriter::new(Vec::new());
            tell(&report, format, &mut rows, is_terminal, &mut out).unwrap();
            assert_eq!(out.get_ref().ends_with(b"\n"), comes, "{format:?} {is_terminal}");
        }
    }
}
