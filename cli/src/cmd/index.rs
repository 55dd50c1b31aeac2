//! `dshlog index`.

use std::path::Path;

use dshlog_query::Error;
use dshlog_query::index::{Index as Opened, Report, Size, Skipped, Update, Wait, watch};

use crate::args::{Format, Index};
use crate::corpus::HomeCorpus;
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome, shown};
use crate::index::{Bar, failure, folder};
use crate::pool;
use crate::render::index::{Told, json, text};

/// Bring an index up to date, or say what it holds.
pub(crate) fn run(ctx: &mut Ctx, args: &Index) -> Result<Outcome, Failure> {
    let format = ctx.format(&[Format::Text, Format::Json, Format::Jsonl])?;
    let folder = folder(ctx, args.folder.as_deref())?;
    if args.status {
        return status(ctx, &folder, format);
    }
    let root = ctx.home()?.root;
    if !root.is_dir() {
        return Err(Failure::not_found(format!("there is no folder {}", shown(&root)))
            .hint("`--home` or `--root` names another place"));
    }
    let corpus = HomeCorpus::new(root);
    let jobs = pool::size(args.jobs, usize::MAX);
    let wait = if args.no_wait { Wait::No } else { Wait::UntilFree };
    let bar = Bar::new(ctx);
    if args.watch {
        return follow(ctx, &folder, &corpus, jobs, format);
    }
    let update = || -> dshlog_query::Result<Report> {
        let mut update = Update::open(&folder, wait, &bar)?;
        if args.rebuild {
            update.clear()?;
        } else {
            update.check(&bar)?;
        }
        update.run(&corpus, jobs, &bar)
    };
    let report = update();
    for told in bar.end() {
        ctx.note(told);
    }
    let report = report.map_err(failure)?;
    let measured = measure(&folder).map_err(failure)?;
    show(ctx, &folder, &measured, Some(&report), &report.skipped, format)?;
    Ok(Outcome::Clean)
}

/// What an index holds.
fn status(ctx: &mut Ctx, folder: &Path, format: Format) -> Result<Outcome, Failure> {
    let measured = measure(folder).map_err(failure)?;
    let skipped = measured.0.skipped().map_err(failure)?;
    show(ctx, folder, &measured, None, &skipped, format)?;
    Ok(Outcome::Clean)
}

/// An index, and its size.
type Measured = (Opened, Size);

fn measure(folder: &Path) -> Result<Measured, Error> {
    let index = Opened::open(folder)?;
    let size = index.size()?;
    Ok((index, size))
}

fn show(
    ctx: &mut Ctx,
    folder: &Path,
    (index, size): &Measured,
    report: Option<&Report>,
    skipped: &[Skipped],
    format: Format,
) -> Result<(), Failure> {
    let told = Told {
        folder,
        report,
        generation: index.generation(),
        updated: index.updated(),
        size: *size,
        skipped,
        is_verbose: ctx.is_verbose(),
    };
    match format {
        Format::Text => {
            let zone = ctx.zone().clone();
            text(&told, &zone, ctx.out())?;
        }
        _ => json(&told, ctx.out())?,
    }
    Ok(())
}

/// Follow the home until the process is ended.
fn follow(
    ctx: &mut Ctx,
    folder: &Path,
    corpus: &HomeCorpus,
    jobs: usize,
    format: Format,
) -> Result<Outcome, Failure> {
    let bar = Bar::new(ctx);
    let mut trouble = None;
    let ended = watch(folder, corpus, jobs, &bar, &mut |report| {
        for told in bar.end() {
            ctx.note(told);
        }
        // Somebody is deleting it, it may be: the next update makes it anew, or fails of the same.
        let Ok(measured) = measure(folder) else { return true };
        let shown = show(ctx, folder, &measured, Some(report), &report.skipped, format)
            .and_then(|()| ctx.out().flush().map_err(Failure::from));
        trouble = shown.err();
        trouble.is_none()
    });
    for told in bar.end() {
        ctx.note(told);
    }
    match trouble {
        Some(failure) => Err(failure),
        None => ended.map(|()| Outcome::Clean).map_err(failure),
    }
}
