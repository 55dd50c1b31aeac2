//! `dshlog export --all`: the sessions of a home as a data set for other engines.

use std::path::Path;

use dshlog_codec::home::absolute;
use dshlog_query::dataset::{self, Form, Manifest, Options, Told};
use dshlog_query::{Corpus as _, Error};

use crate::args::{Export, Format};
use crate::cmd::passed_over;
use crate::corpus::HomeCorpus;
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome, shown};
use crate::render::progress::Progress;
use crate::render::units;
use crate::stores;

/// Write all sessions into a new folder.
pub(super) fn run(ctx: &mut Ctx, args: &Export) -> Result<Outcome, Failure> {
    let form = match ctx.format(&[Format::Parquet, Format::Quickwit])? {
        Format::Quickwit => Form::Quickwit,
        _ => Form::Parquet,
    };
    let out = args.out.as_deref().unwrap_or(Path::new("-"));
    if out == "-" {
        return Err(Failure::usage("a data set is a folder, and cannot go to stdout"));
    }
    let out = absolute(ctx.cwd(), out);
    dataset::check_folder(&out).map_err(|error| failure(&error))?;
    let home = ctx.home()?;
    let walk = stores::walk(&home.root)?;
    if !walk.exists {
        return Err(Failure::not_found(format!("there is no folder {}", shown(&home.root)))
            .hint("`--home` or `--root` names another place"));
    }
    // A folder below the root would be taken for a project.
    if is_below(&out, &home.root) {
        return Err(Failure::refused(format!("{} lies among the sessions", shown(&out)))
            .hint("`--out` names a folder elsewhere"));
    }
    let unread = passed_over::tell_unread(ctx, &walk);
    drop(walk);

    let logs = HomeCorpus::new(home.root);
    let listing = logs.list();
    let count = listing.candidates.len() as u64;
    let progress = Progress::new(ctx.shows_progress() && count > 1, count, "logs");
    let options = Options::new(form, ctx.now());
    let written = dataset::write(&logs, &listing, &out, &options, &mut |told| match told {
        Told::Done => progress.step(),
        Told::Fault(fault) => progress.suspend(|| {
            let taken = if fault.status == "partial" { "taken in part" } else { "left out" };
            ctx.warn(format!("{taken}: {}: {}", shown(Path::new(&fault.path)), fault.reason));
        }),
    });
    progress.end();
    let manifest = written.map_err(|error| failure(&error))?;
    ctx.note(format!("{} written to {}", told(&manifest), shown(&out)));
    Ok(match (unread, manifest.is_whole()) {
        (0, true) => Outcome::Clean,
        (0, false) => Outcome::Found,
        _ => Outcome::Unread,
    })
}

/// True for a path that is, or will be, below `root`.
fn is_below(path: &Path, root: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let parent = path.parent().map(real).unwrap_or_default();
    real(path).starts_with(real(root)) || parent.starts_with(real(root))
}

/// What came to be, in a few words.
fn told(manifest: &Manifest) -> String {
    let tables = manifest.tables.iter();
    let rows: Vec<String> = tables.map(|table| format!("{} {}", table.rows, table.name)).collect();
    let bytes = manifest.tables.iter().map(|table| table.bytes).sum();
    format!("{} in {}", rows.join(", "), units::bytes(bytes))
}

fn failure(error: &Error) -> Failure {
    match error {
        Error::Occupied(_) => Failure::refused(error).hint("`--out` names a folder that is new or empty"),
        _ => Failure::failed(error),
    }
}
