//! `--open N`: the turn that a hit stands in.

use std::ffi::OsString;

use clap::Parser as _;
use dshlog_query::Found;

use crate::args::{Args, Command};
use crate::corpus::location;
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome};
use crate::render::shell::quoted;

/// Events to show on each side of a hit outside of all turns.
const AROUND: u64 = 8;

/// Read it as `dshlog read` would. Numbers count texts when the hits are `flat`, else sessions.
pub(super) fn run(ctx: &mut Ctx, found: &Found, flat: bool) -> Result<Outcome, Failure> {
    let Some(hit) = found.hits.first() else {
        let hits = if flat { found.documents } else { found.sessions };
        ctx.note(format!("there is no such hit; {hits} in all"));
        return Ok(Outcome::Found);
    };
    let log = location(&hit.session.path, hit.session.entry.as_deref());
    let seq = hit.document.seq.0;
    let (switch, value) = match hit.document.turn {
        Some(turn) => ("--turn", turn.to_string()),
        None => ("--seq", format!("{}..{}", seq.saturating_sub(AROUND), seq.saturating_add(AROUND))),
    };
    let read = |ctx: &mut Ctx, more: &[&str]| {
        let mut line: Vec<OsString> = vec!["dshlog".into(), "read".into(), "--seqs".into()];
        line.extend(more.iter().map(OsString::from));
        line.extend([switch.into(), value.clone().into(), "--".into(), log.clone().into()]);
        match Args::try_parse_from(line).map(|args| args.command) {
            Ok(Command::Read(args)) => super::super::read::run(ctx, &args),
            _ => Err(Failure::usage("this hit cannot be opened")),
        }
    };
    ctx.note(format!("the hit stands at seq {seq} ({})", hit.document.part.name()));
    match read(ctx, &[]) {
        // What was found in a log that is refused as a whole is there all the same.
        Err(Failure::Log(..)) => read(ctx, &["--lenient"]).map_err(|failure| match failure {
            // What the hint of the log names are switches of `read`, which cannot be given here.
            Failure::Log(..) => failure.hint(format!("such switches are for `dshlog read {}`", quoted(&log))),
            other => other,
        }),
        read => read,
    }
}
