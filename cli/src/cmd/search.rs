//! `dshlog search`: from a query to hits, by the index or by reading all logs.

mod cursor;
mod open;

use std::path::Path;

use dshlog_query::index::{Freshness, Index, Update, Wait, freshen};
use dshlog_query::{Corpus, Error, Found, Options, Query, QueryError, scan};
use jiff::Timestamp;

use self::cursor::Cursor;
use crate::args::{Format, Search, Sort};
use crate::corpus::HomeCorpus;
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome, shown};
use crate::index::{Bar, failure, folder};
use crate::pool;
use crate::render::search::{self, Answer, Look, Source};
use crate::render::text::width;
use crate::render::units;

/// Search.
pub(crate) fn run(ctx: &mut Ctx, args: &Search) -> Result<Outcome, Failure> {
    let format = ctx.format(&[Format::Text, Format::Json, Format::Jsonl])?;
    let query = understand(ctx, &args.query.join(" "))?;
    let cursor = args.cursor.as_deref().map(Cursor::parse).transpose()?;
    let print = cursor::fingerprint(&query.text, args);
    let mut options = Options {
        flat: args.flat,
        limit: args.limit as usize,
        offset: 0,
        sort: match args.sort {
            Sort::Relevance => dshlog_query::Sort::Relevance,
            Sort::Time => dshlog_query::Sort::Time,
        },
        now: ctx.now(),
    };
    if let Some(cursor) = &cursor {
        cursor.check_query(&print)?;
        options.offset = cursor.offset;
    }
    if let Some(number) = args.open {
        (options.offset, options.limit) = (number as usize - 1, 1);
    }
    let root = ctx.home()?.root;
    if !root.is_dir() {
        return Err(Failure::not_found(format!("there is no folder {}", shown(&root)))
            .hint("`--home` or `--root` names another place"));
    }
    let corpus = HomeCorpus::new(root);
    let (found, source) = if args.scan {
        by_reading(ctx, args, &corpus, &query, &options)?
    } else {
        by_index(ctx, args, &corpus, &query, &options, cursor.as_ref())?
    };
    if args.open.is_some() {
        return open::run(ctx, &found, args.flat);
    }
    let next = match &source {
        Source::Index { generation, .. } => cursor::next(&found, &options, *generation, print),
        Source::Scan => None,
    };
    let zone = ctx.zone().clone();
    let look = Look {
        width: ctx.terminal.width,
        color: ctx.color,
        zone: &zone,
        now: ctx.now(),
        context: args.context,
        explain: args.explain,
        first: options.offset.saturating_add(1),
    };
    let answer = Answer { query: &query, found: &found, source: &source, cursor: next.as_deref() };
    match format {
        Format::Json => search::json(&answer, ctx.out())?,
        Format::Jsonl => search::jsonl(&answer, ctx.out())?,
        _ => {
            ctx.page();
            search::text(&answer, &look, ctx.out())?;
        }
    }
    if format == Format::Text {
        tell(ctx, &answer, args.explain);
    }
    Ok(if found.documents == 0 { Outcome::Found } else { Outcome::Clean })
}

/// What stands below the hits, for people.
fn tell(ctx: &mut Ctx, answer: &Answer<'_>, is_explained: bool) {
    let found = answer.found;
    if found.documents == 0 {
        let more = if is_explained { "" } else { "; `--explain` says what was looked for" };
        ctx.note(format!("nothing was found{more}"));
    } else {
        let (texts, sessions) =
            (units::count(found.documents, "text"), units::count(found.sessions, "session"));
        ctx.note(format!("{texts} in {sessions}"));
    }
    if let Source::Index { partial, unreadable, .. } = answer.source
        && partial + unreadable > 0
    {
        let logs = units::count(partial + unreadable, "session");
        ctx.note(format!("{logs} could not be read to the end; `dshlog index` names them"));
    }
    if let Some(cursor) = answer.cursor {
        ctx.note(format!("more with `--cursor {cursor}`"));
    }
}

fn understand(ctx: &Ctx, text: &str) -> Result<Query, Failure> {
    let now = Timestamp::from_millisecond(ctx.now()).unwrap_or_default();
    let mut query = Query::parse(text, now, ctx.zone()).map_err(|error| bad_query(text, &error))?;
    let (cwd, user) = (ctx.cwd().to_owned(), ctx.user_home());
    query.resolve_projects(&|project| {
        let path = match project.strip_prefix('~') {
            Some("") => user.clone()?,
            Some(rest) => user.clone()?.join(rest.strip_prefix('/')?),
            None if project == "." => cwd.clone(),
            None => cwd.join(project.strip_prefix("./")?),
        };
        Some(path.to_string_lossy().into_owned())
    });
    Ok(query)
}

/// The error, and its place under the query where that fits on a line.
fn bad_query(text: &str, error: &QueryError) -> Failure {
    let mut refused = Failure::usage(&error.message);
    let before = text.get(..error.at.start).unwrap_or_default();
    let at = text.get(error.at.clone()).unwrap_or_default();
    if !text.trim().is_empty() && text.len() <= 100 && !text.contains(['\n', '\t']) {
        let carets = "^".repeat(width(at).max(1));
        refused = refused.hint(text).hint(format!("{}{carets}", " ".repeat(width(before))));
    } else if !at.is_empty() && at.len() <= 100 {
        refused = refused.hint(format!("at `{at}`, byte {} of the query", error.at.start));
    }
    match &error.hint {
        Some(hint) => refused.hint(hint),
        None => refused,
    }
}

fn by_reading(
    ctx: &mut Ctx,
    args: &Search,
    corpus: &dyn Corpus,
    query: &Query,
    options: &Options,
) -> Result<(Found, Source), Failure> {
    let jobs = pool::size(args.jobs, usize::MAX);
    let mut partial = Vec::new();
    let found = scan::scan(corpus, query, options, jobs, &mut |path, reason| {
        partial.push(format!("{}: {reason}", shown(path)));
    })
    .map_err(failure)?;
    for told in partial {
        ctx.warn(format!("not read to its end: {told}"));
    }
    Ok((found, Source::Scan))
}

fn by_index(
    ctx: &mut Ctx,
    args: &Search,
    corpus: &dyn Corpus,
    query: &Query,
    options: &Options,
    cursor: Option<&Cursor>,
) -> Result<(Found, Source), Failure> {
    let folder = folder(ctx, args.index.as_deref())?;
    let (mut index, mut behind) = current(ctx, args, corpus, &folder)?;
    if let Some(cursor) = cursor {
        cursor.check_index(index.generation())?;
    }
    let mut found = index.search(query, options);
    if found.as_ref().is_err_and(Error::is_curable) {
        // Some files are opened only when they are needed.
        drop(index);
        index = make_anew(ctx, args, corpus, &folder)?;
        behind = Some(0);
        found = index.search(query, options);
    }
    let found = found.map_err(failure)?;
    let (partial, unreadable) = index.unsound().map_err(failure)?;
    let source = Source::Index {
        path: folder,
        generation: index.generation(),
        updated: index.updated(),
        behind,
        partial,
        unreadable,
    };
    Ok((found, source))
}

/// The index, with all that there is in the logs.
fn bring_up(
    args: &Search,
    corpus: &dyn Corpus,
    folder: &Path,
    bar: &Bar,
    is_damaged: bool,
) -> Result<(), Failure> {
    let mut update = Update::open(folder, Wait::UntilFree, bar).map_err(failure)?;
    if is_damaged {
        // An update opens no file that it does not change, and would leave the damage where it is.
        update.check(bar).map_err(failure)?;
    }
    update.run(corpus, pool::size(args.jobs, usize::MAX), bar).map_err(failure)?;
    Ok(())
}

/// The index instead of one that is damaged.
fn make_anew(ctx: &mut Ctx, args: &Search, corpus: &dyn Corpus, folder: &Path) -> Result<Index, Failure> {
    let bar = Bar::new(ctx);
    let done = bring_up(args, corpus, folder, &bar, true);
    for text in bar.end() {
        ctx.note(text);
    }
    done?;
    Index::open(folder).map_err(failure)
}

/// The index, as fresh as was asked for, and how many logs it is behind as far as is known.
fn current(
    ctx: &mut Ctx,
    args: &Search,
    corpus: &dyn Corpus,
    folder: &Path,
) -> Result<(Index, Option<u64>), Failure> {
    let bar = Bar::new(ctx);
    let mut behind = Some(0);
    let opened = Index::open(folder);
    if let Ok(index) = &opened {
        index.must_be_of(corpus.root()).map_err(failure)?;
    }
    let is_damaged = opened.as_ref().is_err_and(Error::is_curable);
    let index = if is_damaged || matches!(opened, Err(Error::NoIndex(_))) {
        if !ctx.shows_progress() {
            ctx.note(format!("making an index of all sessions in {}", shown(folder)));
        }
        bring_up(args, corpus, folder, &bar, is_damaged)?;
        Index::open(folder)
    } else if args.update {
        bring_up(args, corpus, folder, &bar, false)?;
        Index::open(folder)
    } else if args.no_update || opened.is_err() {
        behind = None;
        opened
    } else {
        match freshen(folder, corpus, &bar) {
            Ok(Freshness::Fresh) => opened,
            Ok(Freshness::Freshened(_)) => Index::open(folder),
            Ok(Freshness::Behind(logs)) => {
                ctx.note(format!(
                    "the index is behind by {}; `--update` reads them first",
                    units::count(logs, "log")
                ));
                behind = Some(logs);
                opened
            }
            Ok(Freshness::Busy(logs)) => {
                ctx.note(format!("{} changed, and another process is reading", units::count(logs, "log")));
                behind = Some(logs);
                opened
            }
            Err(error) => {
                ctx.warn(format!("the index could not be brought up to date: {error}"));
                behind = None;
                opened
            }
        }
    };
    for text in bar.end() {
        ctx.note(text);
    }
    Ok((index.map_err(failure)?, behind))
}
