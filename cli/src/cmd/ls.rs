//! `dshlog ls`.

use std::collections::HashSet;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use dshlog_codec::home::{SessionFolder, Walk};
use dshlog_codec::json::JsString;
use dshlog_codec::{Error, Generation, Header};
use dshlog_migrate::Kin;
use dshlog_replay::lineage::{Kinship, Loose, Origin, Place, forest};

use super::moment::moment;
use super::passed_over;
use crate::args::{Column, Format, Ls};
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome, shown};
use crate::pool;
use crate::render::ls::{Alone, Broken, Look, Row, Standing, broken_table, json, table};
use crate::render::units;
use crate::select;
use crate::source::{Form, Log};
use crate::stores;
use crate::transcript::Summary;

/// List sessions.
pub(crate) fn run(ctx: &mut Ctx, args: &Ls) -> Result<Outcome, Failure> {
    let format = ctx.format(&[Format::Table, Format::Json, Format::Jsonl])?;
    let columns = columns(args);
    let home = select::home_at(ctx, args.place.as_deref())?;
    let walk = stores::walk(&home.root)?;
    if !walk.exists {
        return Err(Failure::not_found(format!("there is no folder {}", shown(&home.root)))
            .hint("`--home` or `--root` names another place"));
    }
    let since = args.since.as_deref().map(|text| moment(ctx, text)).transpose()?;
    let until = args.until.as_deref().map(|text| moment(ctx, text)).transpose()?;
    let reads = args.long || columns.iter().any(|column| reads_log(*column));

    // Cheap tests first: what they leave out is never opened.
    let mut folders: Vec<(Option<i64>, &SessionFolder)> = walk
        .sessions
        .iter()
        .filter(|session| session.is_listed())
        .map(|session| (session.modified().map(millis), session))
        .filter(|(modified, _)| since.is_none_or(|since| *modified >= Some(since)))
        .filter(|(modified, _)| until.is_none_or(|until| modified.is_none_or(|modified| modified < until)))
        .collect();
    // A stable sort: sessions of one instant stay in the order of names.
    folders.sort_by_key(|(modified, _)| std::cmp::Reverse(*modified));

    // A header takes less time than waking a thread for it.
    let batches: Vec<_> = folders.chunks(if reads { 1 } else { 32 }).collect();
    let threads = pool::size(args.jobs, batches.len());
    let mut rows = Vec::new();
    let mut broken = Vec::new();
    let kin = Arc::<Kin>::default();
    let look = |batch: &&[(Option<i64>, &SessionFolder)]| -> Vec<_> {
        batch.iter().map(|(modified, folder)| look(folder, *modified, reads, &kin)).collect()
    };
    pool::each(&batches, threads, look, |found| {
        for found in found {
            match found {
                Ok(row) if fits(&row, args) => rows.push(row),
                Ok(_) => {}
                Err(found) => broken.push(found),
            }
        }
        Ok::<(), Failure>(())
    })?;
    if args.tree {
        rows = as_trees(rows, &walk);
    }
    let mut outcome = if broken.is_empty() { Outcome::Clean } else { Outcome::Found };
    let unread = passed_over::unread(&walk).count();
    if unread > 0 {
        outcome = Outcome::Unread;
    }
    if args.all {
        broken.extend(walk.passed_over.iter().map(|passed| {
            let (code, reason) = (passed_over::code(&passed.why), passed_over::reason(&passed.why));
            Broken { path: passed.path.clone(), code, reason }
        }));
    }
    match format {
        Format::Table => {
            let zone = ctx.zone().clone();
            let look = Look {
                width: ctx.terminal.width,
                color: ctx.color,
                ascii: ctx.environment.ascii,
                zone: &zone,
                now: ctx.now(),
            };
            table(&rows, &columns, ctx.out(), &look)?;
        }
        _ => {
            for row in &rows {
                json(row, ctx.out())?;
            }
        }
    }
    if !args.all {
        passed_over::tell_unread(ctx, &walk);
    }
    if rows.is_empty() && broken.is_empty() {
        ctx.note(match walk.sessions.iter().filter(|session| session.is_listed()).count() {
            0 => format!("no sessions in {}", shown(&home.root)),
            1 => "the one session there is does not fit the filters".to_owned(),
            all => format!("none of {all} sessions fits the filters"),
        });
    }
    tell_broken(ctx, args, format, &broken, walk.passed_over.len() - unread, rows.len())?;
    Ok(outcome)
}

fn columns(args: &Ls) -> Vec<Column> {
    use Column::{
        Created, Encoding, Events, Generation, Id, Last, Modified, Parent, Project, Relation, Size, State,
        Title, Tokens, Turns,
    };
    if !args.columns.is_empty() {
        let mut columns = args.columns.clone();
        // The tree is drawn in front of the ids.
        if args.tree && !columns.contains(&Id) {
            columns.insert(0, Id);
        }
        return columns;
    }
    match (args.tree, args.long) {
        (false, false) => vec![Id, Project, Created, Modified, Size, Generation, Encoding, Parent, State],
        (false, true) => vec![Id, Title, Project, Last, Turns, Events, Tokens, Size, Generation, State],
        (true, false) => vec![Id, Relation, Project, Modified, Size, State],
        (true, true) => vec![Id, Relation, Title, Last, Tokens, State],
    }
}

fn reads_log(column: Column) -> bool {
    matches!(column, Column::Title | Column::Last | Column::Turns | Column::Events | Column::Tokens)
}

/// One session by its header; `reads` the log too.
fn look(folder: &SessionFolder, modified: Option<i64>, reads: bool, kin: &Arc<Kin>) -> Result<Row, Broken> {
    let fail = |error: &Error| Broken {
        path: error.position().path.clone().unwrap_or_else(|| folder.path.clone()),
        code: error.code(),
        reason: crate::exit::without_place(error),
    };
    let file = folder.chosen().map_err(|e| fail(&e))?;
    let root = folder.path.parent().and_then(Path::parent);
    let chosen = select::placed(&file.path, root, Path::new("/"));
    let is_entry = stores::is_entry(&file.path);
    // A log in a store is put together whole, so it is not opened for its header alone.
    let log = if is_entry && !reads {
        None
    } else {
        Some(Log::open(&chosen, Form::Current, kin).map_err(|e| fail(&e))?)
    };
    let header = match &log {
        Some(log) => {
            log.check_identity().map_err(|e| fail(&e))?;
            log.header.clone()
        }
        None => stores::header(&file.path).map_err(|e| fail(&e))?,
    };
    let mut row = Row {
        path: file.path.clone(),
        encoding: if is_entry { "sqlite" } else { file.encoding.name() },
        generations: folder.generations.iter().map(|file| file.generation.0).collect(),
        size: file.len,
        modified,
        state: state(folder, &header, file.generation),
        header,
        summary: None,
        origin: None,
        standing: None,
    };
    if let Some(log) = log.filter(|_| reads) {
        let mut summary = Summary::default();
        let mut origin = Origin::default();
        let Ok(walked) = log.each(|event| {
            summary.see(event);
            origin.see(event);
            Ok::<_, Infallible>(ControlFlow::Continue(()))
        });
        if let Some(error) = walked.damage {
            return Err(fail(&error));
        }
        if walked.end.is_some_and(|end| end.torn.is_some() || end.dropped_bytes > 0) {
            row.state.push("torn");
        }
        if summary.open {
            row.state.push("open");
        }
        row.summary = Some(summary);
        row.origin = Some(origin);
    }
    Ok(row)
}

/// The rows in the order of their trees. What was filtered out is there, and not in a tree: that is no fault of its child.
fn as_trees(rows: Vec<Row>, walk: &Walk) -> Vec<Row> {
    let there: HashSet<&JsString> = walk.sessions.iter().filter_map(|session| session.id.as_ref()).collect();
    let kin: Vec<Kinship<'_>> = rows
        .iter()
        .map(|row| Kinship {
            id: &row.header.id,
            parent: row.header.parent_session.as_ref(),
            created_at: row.header.created_at,
        })
        .collect();
    let places = forest(&kin);
    let mut rows: Vec<Option<Row>> = rows.into_iter().map(Some).collect();
    let row = |place: Place| {
        let mut row = rows.get_mut(place.session)?.take()?;
        let is_there = row.header.parent_session.as_ref().is_some_and(|parent| there.contains(parent));
        let alone = place.loose.map(|loose| match loose {
            Loose::Ring => Alone::Ring,
            Loose::NoParent if is_there => Alone::NotListed,
            Loose::NoParent => Alone::Missing,
        });
        row.standing = Some(Standing { branches: place.branches, alone });
        Some(row)
    };
    places.into_iter().filter_map(row).collect()
}

/// What header and folder tell.
fn state(folder: &SessionFolder, header: &Header, generation: Generation) -> Vec<&'static str> {
    let mut words = Vec::new();
    if header.is_subagent {
        words.push("subagent");
    } else if header.is_seeded {
        words.push("fork");
    }
    if generation != Generation::CURRENT {
        words.push("old");
    }
    if !folder.temps.is_empty() {
        words.push("leftovers");
    }
    words
}

fn fits(row: &Row, args: &Ls) -> bool {
    let Some(wanted) = &args.project else { return true };
    let cwd = row.header.cwd.as_ref().is_some_and(|cwd| cwd.to_lossy().contains(wanted.as_str()));
    let project = row.path.ancestors().nth(2).and_then(|path| path.file_name());
    let project = project.filter(|_| !stores::is_entry(&row.path));
    cwd || project.is_some_and(|name| name.to_string_lossy().contains(wanted.as_str()))
}

/// What was left out is always said.
fn tell_broken(
    ctx: &mut Ctx,
    args: &Ls,
    format: Format,
    broken: &[Broken],
    passed_over: usize,
    listed: usize,
) -> Result<(), Failure> {
    if args.all {
        if format == Format::Table {
            let (width, color) = (ctx.terminal.width, ctx.color);
            if !broken.is_empty() {
                if listed > 0 {
                    ctx.out().write_all(b"\n")?;
                }
                broken_table(broken, ctx.out(), width, color)?;
            }
        } else {
            for found in broken {
                found.json(ctx.out())?;
            }
        }
        return Ok(());
    }
    let mut words = Vec::new();
    if !broken.is_empty() {
        words.push(format!("{} that cannot be read", units::count(broken.len() as u64, "session")));
    }
    if passed_over > 0 {
        let belong = if passed_over == 1 { "belongs" } else { "belong" };
        words.push(format!("{} that {belong} to no session", units::count(passed_over as u64, "thing")));
    }
    if !words.is_empty() {
        ctx.note(format!("left out: {}; `--all` says which and why", words.join(", ")));
    }
    Ok(())
}

fn millis(time: SystemTime) -> i64 {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => -i64::try_from(before.duration().as_millis()).unwrap_or(i64::MAX),
    }
}
