//! `dshlog doctor`.

use std::path::Path;
use std::sync::Arc;

use dshlog_codec::Limits;
use dshlog_codec::home::{Home, SessionFolder, Walk};
use dshlog_migrate::vfs::OsFs;
use dshlog_migrate::{Kin, Migrator};

use crate::args::{Doctor, Format};
use crate::ctx::Ctx;
use crate::doctor::look::{Looker, Session};
use crate::doctor::{Report, Seen};
use crate::exit::{Failure, Outcome, shown};
use crate::pool;
use crate::render::doctor::{json, text};
use crate::render::progress::Progress;
use crate::render::shell::quoted;
use crate::select;

/// Say what the next upgrade of a root will do.
pub(crate) fn run(ctx: &mut Ctx, args: &Doctor) -> Result<Outcome, Failure> {
    let format = ctx.format(&[Format::Text, Format::Json])?;
    let home = select::home_at(ctx, args.place.as_deref())?;
    let walk = Walk::new(&home.root)?;
    if !walk.exists {
        return Err(Failure::not_found(format!("there is no folder {}", shown(&home.root)))
            .hint("`--home` or `--root` names another place"));
    }
    let sessions = look(ctx, args, &home.root, &walk)?;
    let arguments = arguments(ctx, args, &home);
    let report =
        Report::of(&Seen { home: &home, walk: &walk, sessions: &sessions, arguments, now: ctx.now() });
    if format == Format::Json {
        json(&report, ctx.out())?;
    } else {
        let (width, color, all, zone) = (ctx.terminal.width, ctx.color, ctx.is_verbose(), ctx.zone().clone());
        ctx.page();
        text(&report, ctx.out(), width, color, all, &zone)?;
    }
    Ok(match (report.is_unread, report.is_ok()) {
        (true, _) => Outcome::Unread,
        (false, true) => Outcome::Clean,
        (false, false) => Outcome::Found,
    })
}

/// Look at every session that dsh would list, in the order of names.
fn look(ctx: &Ctx, args: &Doctor, root: &Path, walk: &Walk) -> Result<Vec<Session>, Failure> {
    let folders: Vec<&SessionFolder> = walk.sessions.iter().filter(|session| session.is_listed()).collect();
    let kin = Arc::<Kin>::default();
    let migrator = Migrator { vfs: &OsFs, kin: &kin, limits: Limits::default(), dry_run: true };
    let looker = Looker { root, migrator, kin: Arc::clone(&kin) };
    let threads = pool::size(args.jobs, folders.len());
    let progress = Progress::new(ctx.shows_progress() && folders.len() > 1, folders.len() as u64, "sessions");
    let mut sessions = Vec::with_capacity(folders.len());
    pool::each(
        &folders,
        threads,
        |folder| looker.look(folder),
        |session| {
            sessions.push(session);
            progress.step();
            Ok::<_, Failure>(())
        },
    )?;
    progress.end();
    Ok(sessions)
}

/// What names the same root to another command; nothing when that would look there anyway.
fn arguments(ctx: &Ctx, args: &Doctor, home: &Home) -> String {
    if args.place.is_none() && !ctx.names_place() {
        return String::new();
    }
    format!(" --root {}", quoted(&home.root))
}
