//! `dshlog stats`.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dshlog_codec::home::{Home, SessionFolder, Walk, absolute};
use dshlog_codec::json::Js;
use dshlog_codec::{Error, ErrorKind};
use dshlog_migrate::Kin;
use dshlog_query::store::is_database;
use dshlog_replay::stats::Fold;

use super::moment::moment;
use super::passed_over;
use crate::args::{By, Format, Stats};
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome, shown, without_place};
use crate::pool;
use crate::render::progress::Progress;
use crate::render::stats::{Look, csv, json, table};
use crate::render::units;
use crate::select::{self, Chosen};
use crate::source::{Form, Log};
use crate::stats::calendar::Calendar;
use crate::stats::price::Prices;
use crate::stats::{Collector, Counted, LeftOut};
use crate::stores;

/// Count.
pub(crate) fn run(ctx: &mut Ctx, args: &Stats) -> Result<Outcome, Failure> {
    let format = ctx.format(&[Format::Table, Format::Json, Format::Csv])?;
    let by = by(args)?;
    let since = args.since.as_deref().map(|text| moment(ctx, text)).transpose()?;
    let until = args.until.as_deref().map(|text| moment(ctx, text)).transpose()?;
    let prices = args.price.as_deref().map(prices).transpose()?;
    let calendar = Calendar::new(ctx.zone().clone(), since, until);
    let mut selection = select(ctx, args)?;
    let mut collector = Collector::new(by, prices);
    for left_out in selection.left_out.drain(..) {
        tell_left_out(ctx, &left_out);
        collector.leave_out(left_out);
    }

    let threads = pool::size(args.jobs, selection.logs.len());
    let is_long = ctx.shows_progress() && selection.logs.len() > 1;
    let progress = Progress::new(is_long, selection.logs.len() as u64, "logs");
    let kin = Arc::<Kin>::default();
    let wanted = args.project.as_deref();
    pool::each(
        &selection.logs,
        threads,
        |chosen| count(chosen, &calendar, wanted, &kin),
        |found| {
            progress.step();
            match found {
                Ok(Some(counted)) => collector.add(counted),
                Ok(None) => {}
                Err(left_out) => {
                    progress.suspend(|| tell_left_out(ctx, &left_out));
                    collector.leave_out(left_out);
                }
            }
            Ok::<(), Failure>(())
        },
    )?;
    progress.end();

    let report = collector.finish();
    let zone = ctx.zone().clone();
    let look = Look {
        zone: &zone,
        since,
        until,
        width: ctx.terminal.width,
        color: ctx.color,
        ascii: ctx.environment.ascii,
        now: ctx.now(),
    };
    match format {
        Format::Json => json(&report, &look, ctx.out())?,
        Format::Csv => csv(&report, ctx.out())?,
        _ => table(&report, &look, ctx.out())?,
    }
    if report.torn > 0 {
        ctx.note(format!("{} counted up to a torn tail", units::count(report.torn, "log")));
    }
    if report.total.sessions == 0 && report.left_out.is_empty() {
        ctx.note(match report.sessions.len() {
            0 => "there is no session to count".to_owned(),
            many => format!("nothing to count in {}", units::count(many as u64, "session")),
        });
    }
    Ok(match (selection.unread, report.left_out.is_empty()) {
        (0, true) => Outcome::Clean,
        (0, false) => Outcome::Found,
        _ => Outcome::Unread,
    })
}

/// What rows are kept apart by, each once.
fn by(args: &Stats) -> Result<Vec<By>, Failure> {
    if args.by.contains(&By::None) && args.by.len() > 1 {
        return Err(Failure::usage("`none` does not go with other keys of `--by`"));
    }
    let mut by = Vec::new();
    for key in &args.by {
        if !by.contains(key) {
            by.push(*key);
        }
    }
    Ok(if by.is_empty() { vec![By::Model] } else { by })
}

fn prices(path: &Path) -> Result<Prices, Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| Failure::io("read", path, e))?;
    Prices::parse(&text).map_err(|fault| {
        Failure::usage(format!("{}:{}: {}", shown(path), fault.line, fault.what))
            .hint("docs/stats.md in the repository shows a file of prices")
    })
}

/// Logs to count.
#[derive(Default)]
struct Selection {
    logs: Vec<Chosen>,
    left_out: Vec<LeftOut>,
    seen: HashSet<PathBuf>,
    /// Things that could not be looked at, and were named.
    unread: u64,
}

fn select(ctx: &mut Ctx, args: &Stats) -> Result<Selection, Failure> {
    let mut selection = Selection::default();
    if args.places.is_empty() {
        let home = ctx.home()?;
        let walk = stores::walk(&home.root)?;
        if !walk.exists {
            return Err(Failure::not_found(format!("there is no folder {}", shown(&home.root)))
                .hint("`--home` or `--root` names another place"));
        }
        selection.below(ctx, &walk);
        return Ok(selection);
    }
    for typed in &args.places {
        let folder = absolute(ctx.cwd(), Path::new(typed));
        if folder.is_dir() && is_no_session(&folder)? || is_database(&folder) {
            selection.place(ctx, &folder)?;
        } else {
            let chosen = select::session(ctx, typed, None)?;
            selection.push(chosen);
        }
    }
    Ok(selection)
}

fn is_no_session(folder: &Path) -> Result<bool, Failure> {
    match SessionFolder::read(folder) {
        Ok(_) => Ok(false),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

impl Selection {
    /// A home, a root, or a folder with sessions right in it.
    fn place(&mut self, ctx: &mut Ctx, folder: &Path) -> Result<(), Failure> {
        let walk = stores::walk(&Home::at(folder).root)?;
        if walk.sessions.iter().any(SessionFolder::is_listed) {
            self.below(ctx, &walk);
            return Ok(());
        }
        let entries = std::fs::read_dir(folder).map_err(|e| Failure::io("read", folder, e))?;
        let mut names: Vec<OsString> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        let sessions: Vec<_> =
            names.iter().filter_map(|name| SessionFolder::read(&folder.join(name)).ok()).collect();
        if sessions.is_empty() {
            return Err(Failure::not_found(format!("no sessions in {}", shown(folder))));
        }
        for session in &sessions {
            self.session(session, folder.parent());
        }
        Ok(())
    }

    fn below(&mut self, ctx: &mut Ctx, walk: &Walk) {
        for session in walk.sessions.iter().filter(|session| session.is_listed()) {
            self.session(session, Some(&walk.root));
        }
        self.unread += passed_over::tell_unread(ctx, walk);
    }

    /// The newest generation of a session.
    fn session(&mut self, session: &SessionFolder, root: Option<&Path>) {
        match session.chosen() {
            Ok(file) => self.push(select::placed(&file.path, root, Path::new("/"))),
            Err(error) => self.left_out.push(left_out(&error, &session.path)),
        }
    }

    /// A log, unless it is there already.
    fn push(&mut self, chosen: Chosen) {
        if self.seen.insert(chosen.path.clone()) {
            self.logs.push(chosen);
        }
    }
}

/// One log, judged and counted in one walk; nothing when it is of another project.
fn count(
    chosen: &Chosen,
    calendar: &Calendar,
    wanted: Option<&str>,
    kin: &Arc<Kin>,
) -> Result<Option<Counted>, LeftOut> {
    let fail = |error: Error| left_out(&error, &chosen.path);
    let log = Log::open(chosen, Form::Current, kin).map_err(fail)?;
    let cwd = log.header.cwd.as_ref().map(|cwd| cwd.to_lossy().into_owned());
    let folder = chosen.path.ancestors().nth(2).filter(|_| !stores::is_entry(&chosen.path));
    let folder = folder.and_then(Path::file_name);
    let folder = folder.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let is_wanted = |wanted| cwd.as_ref().is_some_and(|cwd| cwd.contains(wanted)) || folder.contains(wanted);
    if !wanted.is_none_or(is_wanted) {
        return Ok(None);
    }
    let mut calendar = calendar.clone();
    let mut fold = Fold::new(|time| calendar.day(time));
    let mut title = None;
    let mut checked = log
        .check(|event| {
            if event.is("session/title") {
                let text = event.member("title").and_then(Js::as_str);
                title = text.map(|text| text.to_lossy().into_owned()).or(title.take());
            }
            fold.see(event);
        })
        .map_err(fail)?;
    if let Some(error) = checked.verdict.as_mut().and_then(|verdict| verdict.storage.take()) {
        return Err(fail(error));
    }
    let end = checked.end();
    Ok(Some(Counted {
        id: log.header.id.clone(),
        title,
        project: cwd.unwrap_or(folder),
        heir_of: log.header.parent_session.clone().filter(|_| log.header.is_seeded),
        is_torn: end.torn.is_some() || end.dropped_bytes > 0,
        stats: fold.finish(),
    }))
}

fn left_out(error: &Error, path: &Path) -> LeftOut {
    let path = error.position().path.clone().unwrap_or_else(|| path.to_owned());
    LeftOut { path, code: error.code(), reason: without_place(error) }
}

fn tell_left_out(ctx: &mut Ctx, left_out: &LeftOut) {
    ctx.warn(format!("left out {}: {}", shown(&left_out.path), left_out.reason));
}
