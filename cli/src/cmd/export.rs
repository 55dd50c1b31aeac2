//! `dshlog export`: a session as a page or a document, or all of them as a data set.

mod all;
mod target;

use std::ffi::OsStr;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dshlog_codec::home::{Walk, select as find};
use dshlog_migrate::Kin;
use dshlog_query::store::Place;

use super::read::{Filter, head, tell_end};
use crate::args::{Export, Format};
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome, shown};
use crate::export::{Images, Outline};
use crate::render::export::{Html, Json, Markdown, Session, Sheet};
use crate::select::{self, Chosen};
use crate::source::{Form, Log};
use crate::transcript::Fold;

/// The first one is the default.
const FORMS: [Format; 4] = [Format::Html, Format::Md, Format::Json, Format::Jsonl];

/// A session that is exported: its log, and what a first walk over it found.
struct Part {
    log: Log,
    root: Option<PathBuf>,
    session: Session,
}

/// Export a session.
pub(crate) fn run(ctx: &mut Ctx, args: &Export) -> Result<Outcome, Failure> {
    let Some(session) = args.session.as_deref() else { return all::run(ctx, args) };
    if let Some(format @ (Format::Parquet | Format::Quickwit)) = ctx.asked_format() {
        return Err(Failure::usage(format!("`--format {}` is not of one session", format.name()))
            .hint("`--all` in place of a session writes all of them"));
    }
    let format = match (ctx.asked_format(), args.out.as_deref().and_then(Path::extension)) {
        (None, Some(ending)) => format_of(ending)?,
        _ => ctx.format(&FORMS)?,
    };
    let out = args.out.as_deref().filter(|out| *out != "-");
    if let Some(out) = out {
        target::check(out, args.force)?;
    }
    let chosen = select::session(ctx, session, None)?;
    if let Some(out) = out {
        let place = Place::of(&chosen.path);
        target::check_apart(out, place.as_ref().map_or(&chosen.path, |place| &place.store))?;
    }
    let images = images(ctx, args, &chosen);
    let first = part(ctx, args, &chosen, 0).map_err(|failure| match failure {
        Failure::Log(..) => failure.hint("`--lenient` and its like are switches of `dshlog read`"),
        _ => failure,
    })?;
    let mut parts = vec![first];
    if args.with_children {
        add_children(ctx, args, &mut parts);
    }
    let zone = ctx.zone().clone();
    let page = |out: &mut dyn Write| {
        let mut sheet: Box<dyn Sheet + '_> = match format {
            Format::Md => Box::new(Markdown::new(out, zone.clone())),
            Format::Json => Box::new(Json::document(out)),
            Format::Jsonl => Box::new(Json::lines(out)),
            _ => Box::new(Html::new(out, zone.clone(), images.clone())),
        };
        write(args, &parts, &mut *sheet)
    };
    match out {
        None => page(ctx.out())?,
        Some(out) => {
            target::publish(out, args.force, page)?;
            ctx.note(format!("written to {}", shown(out)));
        }
    }
    Ok(Outcome::Clean)
}

/// The form that the ending of a file stands for.
fn format_of(ending: &OsStr) -> Result<Format, Failure> {
    match ending.to_str() {
        Some("html" | "htm") => Ok(Format::Html),
        Some("md" | "markdown") => Ok(Format::Md),
        Some("json") => Ok(Format::Json),
        Some("jsonl") => Ok(Format::Jsonl),
        _ => Err(Failure::usage(format!("the ending `.{}` stands for no form", ending.to_string_lossy()))
            .hint("`--format html`, `md`, `json` or `jsonl` says which one it is to be")),
    }
}

/// Images lie in the home of the root that the log is in, else in the one that is looked at.
fn images(ctx: &Ctx, args: &Export, chosen: &Chosen) -> Images {
    if args.no_images {
        return Images::default();
    }
    let own = chosen.member.as_ref().and_then(|member| member.root.parent()).map(Path::to_owned);
    let asked = ctx.home().ok().and_then(|home| home.root.parent().map(Path::to_owned));
    Images::of(own.into_iter().chain(asked).collect())
}

/// Judge a log, and gather what stands before its entries.
fn part(ctx: &mut Ctx, args: &Export, chosen: &Chosen, depth: usize) -> Result<Part, Failure> {
    let log = Log::open(chosen, Form::Current, &Arc::<Kin>::default())?;
    let mut outline = Outline::default();
    let mut filter = Filter::excerpt(args.turn, args.at);
    let mut checked = log.check(|event| {
        filter.see(event);
        if event.seq.0 <= filter.last() {
            outline.see(event);
        }
    })?;
    checked.storage()?;
    filter.check(checked.end().events)?;
    tell_end(ctx, &log, &checked);
    outline.finish();
    let mut head = head(&log);
    head.inherited = checked.end().cut;
    head.summary = Some(outline.summary.clone());
    let excerpt = match (args.turn, args.at) {
        (None, None) => None,
        (Some(turn), None) => Some(format!("only turn {turn}")),
        (None, Some(at)) => Some(format!("only up to event {at}")),
        (Some(turn), Some(at)) => Some(format!("only turn {turn}, up to event {at}")),
    };
    outline.turns.retain(|turn| args.turn.is_none_or(|only| turn.number == only));
    let root = chosen.member.as_ref().map(|member| member.root.clone());
    let session = Session {
        head,
        stored_version: log.generation().0,
        encoding: log.file.encoding().name(),
        outline,
        depth,
        excerpt,
    };
    Ok(Part { log, root, session })
}

/// Behind each session come those that it started, and behind each of them theirs.
fn add_children(ctx: &mut Ctx, args: &Export, parts: &mut Vec<Part>) {
    let mut at = 0;
    while let Some(parent) = parts.get(at) {
        at += 1;
        let (root, depth, id) =
            (parent.root.clone(), parent.session.depth + 1, parent.session.head.id.clone());
        let children: Vec<String> =
            parent.session.outline.children.iter().map(|child| child.id.clone()).collect();
        let mut behind = at;
        for child in children {
            if parts.iter().any(|part| part.session.head.id == child) {
                continue;
            }
            match self::child(ctx, args, root.as_deref(), &child, depth) {
                Ok(part) if part.session.head.parent.as_deref() == Some(&id) => {
                    parts.insert(behind, part);
                    behind += 1;
                }
                Ok(_) => ctx.warn(format!("{child} says that it is no child of {id}; it is left out")),
                Err(failure) => ctx.warn(format!("subagent {child} is left out: {failure}")),
            }
        }
    }
}

fn child(ctx: &mut Ctx, args: &Export, root: Option<&Path>, id: &str, depth: usize) -> Result<Part, Failure> {
    let lost = || Failure::not_found(format!("there is no session {id}"));
    let root = root.ok_or_else(lost)?;
    // An id is foreign text; as a path, or as `latest`, it would be something else.
    if id.contains(['/', '\\']) || id.starts_with('.') || id.starts_with("latest") {
        return Err(lost());
    }
    let found = find(OsStr::new(id), root, || Walk::new(root)).map_err(|_| lost())?;
    let part = part(ctx, args, &select::placed(found.log()?, Some(root), root), depth)?;
    if part.session.head.id == id { Ok(part) } else { Err(lost()) }
}

/// The second walk over each log.
fn write(args: &Export, parts: &[Part], sheet: &mut dyn Sheet) -> Result<(), Failure> {
    let sessions: Vec<&Session> = parts.iter().map(|part| &part.session).collect();
    sheet.open(&sessions)?;
    for Part { log, session, .. } in parts {
        sheet.begin(session)?;
        let mut filter = Filter::excerpt(args.turn, args.at);
        let mut fold = Fold::record();
        let walked = log.each(|event| {
            if event.seq.0 > filter.last() {
                return Ok(ControlFlow::Break(()));
            }
            fold.hide(!filter.see(event));
            fold.see(event);
            for entry in fold.ready() {
                sheet.entry(session, &entry)?;
            }
            Ok::<_, Failure>(ControlFlow::Continue(()))
        })?;
        if let Some(error) = walked.damage {
            return Err(error.into());
        }
        // What is open at the end of an excerpt is not open.
        if filter.is_only_at() {
            fold.finish();
        }
        for entry in fold.ready() {
            sheet.entry(session, &entry)?;
        }
        sheet.end(session)?;
    }
    Ok(sheet.close()?)
}
