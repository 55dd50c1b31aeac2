//! `dshlog fork`.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use dshlog_codec::home::{Home, Walk, absolute};
use dshlog_codec::json::JsString;
use dshlog_codec::{Encoding, Limits, Millis};
use dshlog_migrate::rewrite::{Fork, Place, Push};
use dshlog_migrate::vfs::OsFs;
use dshlog_migrate::{Kin, Problem};
use dshlog_replay::fork::{At, NoForkPoint};
use dshlog_replay::{ForkPoint, Seed};

use super::read::tell_end;
use crate::args::{self, ForkAt, Format};
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome};
use crate::hint;
use crate::render::fork::{Forked, json, text};
use crate::render::shell::quoted;
use crate::select::{self, Chosen};
use crate::source::{Form, Log};

/// Fork a session.
pub(crate) fn run(ctx: &mut Ctx, args: &args::Fork) -> Result<Outcome, Failure> {
    let format = ctx.format(&[Format::Text, Format::Json])?;
    let chosen = select::session(ctx, &args.session, None)?;
    let root = root(ctx, args, &chosen)?;
    let unsound = |failure| unsound(failure, &chosen);
    let log =
        Log::open(&chosen, Form::Current, &Arc::<Kin>::default()).map_err(Failure::from).map_err(unsound)?;
    if log.header.has_windows_cwd() {
        ctx.note("`cwd` is a Windows path; dsh on another system refuses this log, and its fork");
    }
    let seed = seed(ctx, args, &log).map_err(unsound)?;
    let created_at = u64::try_from(ctx.now()).unwrap_or(0);
    let id = args.id.as_deref().map_or_else(fresh_id, |id| Ok(id.to_owned()))?;
    let header = seed.header(&log.header, JsString::from(id.as_str()), created_at);
    let encoding = encoding(&root, &chosen, log.file.encoding())?;
    let limits = Limits::default();
    let fork = Fork {
        parent: &chosen.path,
        header: &header,
        cut: seed.cut(),
        events: seed.events(),
        limits: &limits,
    };
    let place = Place::new(&root, &header, encoding).map_err(failed)?;
    let give = |push: Push<'_>| give(&log, &seed, push);
    if args.dry_run {
        fork.judge(&place, &OsFs, give).map_err(failed)?;
    } else {
        fork.publish(&place, &OsFs, give).map_err(failed)?;
    }
    let forked = Forked {
        parent: &log.header.id,
        parent_log: &chosen.path,
        stored: log.generation(),
        seed: &seed,
        encoding,
        // A random id is another one each time.
        session: (args.id.is_some() || !args.dry_run).then(|| (&header.id, place.log())),
        is_written: !args.dry_run,
    };
    let (width, color) = (ctx.terminal.width, ctx.color);
    match format {
        Format::Json => json(&forked, ctx.out())?,
        _ => text(&forked, ctx.out(), width, color)?,
    }
    Ok(Outcome::Clean)
}

/// The root to write in.
fn root(ctx: &Ctx, args: &args::Fork, chosen: &Chosen) -> Result<PathBuf, Failure> {
    match (&args.out, &chosen.member) {
        (Some(out), _) => Ok(Home::at(&absolute(ctx.cwd(), out)).root),
        (None, Some(member)) => Ok(member.root.clone()),
        (None, None) => Err(Failure::usage("nobody knows which root the fork of such a log belongs to")
            .hint("`--out DIR` names one")),
    }
}

/// Check the whole log, and find what its fork begins with.
fn seed(ctx: &mut Ctx, args: &args::Fork, log: &Log) -> Result<Seed, Failure> {
    let at = match args.at {
        None => At::LastTurn,
        Some(ForkAt::End) => At::End,
        Some(ForkAt::Seq(seq)) => At::Seq(dshlog_codec::Seq(seq)),
    };
    let mut point = ForkPoint::new(at, &log.header);
    let mut checked = log.check(|event| point.see(event))?;
    checked.session()?;
    tell_end(ctx, log, &checked);
    point.finish(Millis(ctx.now())).map_err(|error| match error {
        NoForkPoint::Beyond { at, events: 0 } => {
            Failure::usage(format!("there is no seq {at}; the log has no events"))
        }
        NoForkPoint::Beyond { at, events } => {
            Failure::usage(format!("there is no seq {at}; the last one is {}", events - 1))
        }
        NoForkPoint::NoTurn => Failure::refused(error)
            .hint("`--at end` forks behind the last event, `--at SEQ` behind any other"),
    })
}

/// The events of the fork: those of the log up to the cut, then its own.
fn give(log: &Log, seed: &Seed, push: Push<'_>) -> Result<(), Problem> {
    let walked = log.each(|event| {
        if event.seq.0 >= seed.cut() {
            return Ok(ControlFlow::Break(()));
        }
        push(event).map(ControlFlow::Continue)
    })?;
    if let Some(damage) = walked.damage {
        return Err(damage.into());
    }
    seed.own.iter().try_for_each(|own| push(&own.event()))
}

/// An id as dsh gives it to a session: a random UUID (RFC 9562, version 4) behind a word.
fn fresh_id() -> Result<String, Failure> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::failed(format!("the system gives no random numbers: {error}")))?;
    Ok(session_id(u128::from_be_bytes(bytes)))
}

fn session_id(random: u128) -> String {
    let version = random & !(0xf << 76) | 0x4 << 76;
    let uuid = version & !(0x3 << 62) | 0x2 << 62;
    let hex = format!("{uuid:032x}");
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &hex[part]);
    format!("session-{}", parts.join("-"))
}

/// The encoding of the root: that of the parent where it lies there, else that of most sessions there.
fn encoding(root: &std::path::Path, chosen: &Chosen, parent: Encoding) -> Result<Encoding, Failure> {
    if chosen.member.as_ref().is_some_and(|member| member.root == root) {
        return Ok(parent);
    }
    let walk = Walk::new(root)?;
    let encodings = walk.sessions.iter().filter_map(|session| session.newest()).map(|file| file.encoding);
    let (raw, zstd): (Vec<_>, Vec<_>) = encodings.partition(|encoding| *encoding == Encoding::Raw);
    Ok(match (raw.len(), zstd.len()) {
        (0, 0) => parent,
        (raw, zstd) if raw > zstd => Encoding::Raw,
        _ => Encoding::Zstd,
    })
}

/// What stands against the log of the parent.
fn unsound(failure: Failure, chosen: &Chosen) -> Failure {
    match failure {
        Failure::Log(..) => {
            let verify = format!("`dshlog verify {}` checks it by every rule", quoted(&chosen.path));
            failure.told_apart().hint(verify)
        }
        other => other,
    }
}

/// What stands against writing the fork.
fn failed(problem: Problem) -> Failure {
    let hint = hint::for_new_session(&problem);
    let failure = Failure::from(problem).told_apart();
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Version and variant stand where RFC 9562 has them.
    #[test]
    fn ids_are_version_4() {
        for (random, id) in [
            (0, "session-00000000-0000-4000-8000-000000000000"),
            (u128::MAX, "session-ffffffff-ffff-4fff-bfff-ffffffffffff"),
            (0x0123_4567_89ab_cdef_0123_4567_89ab_cdef, "session-01234567-89ab-4def-8123-456789abcdef"),
        ] {
            assert_eq!(session_id(random), id);
        }
        assert_ne!(fresh_id().unwrap(), fresh_id().unwrap());
    }
}
