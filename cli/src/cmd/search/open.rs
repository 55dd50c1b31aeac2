//! `--open N`: the turn that a hit stands in.

use std::ffi::OsString;

use clap::Parser as _;
use dshlog_query::Found;
use dshlog_query::store::Place;

use crate::args::{Args, Command};
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome};

/// Events to show on each side of a hit outside of all turns.
const AROUND: u64 = 8;

/// Read it as `dshlog read` would.
pub(super) fn run(ctx: &mut Ctx, found: &Found) -> Result<Outcome, Failure> {
    let Some(hit) = found.hits.first() else {
        ctx.note(format!("there is no such hit; {} in all", found.documents));
        return Ok(Outcome::Found);
    };
    let log = match &hit.session.entry {
        Some(id) => Place { store: hit.session.path.clone(), id: id.clone() }.path(),
        None => hit.session.path.clone(),
    };
    let seq = hit.document.seq.0;
    let (switch, value) = match hit.document.turn {
        Some(turn) => ("--turn", turn.to_string()),
        None => ("--seq", format!("{}..{}", seq.saturating_sub(AROUND), seq.saturating_add(AROUND))),
    };
    let line: [OsString; 7] = [
        "dshlog".into(),
        "read".into(),
        "--seqs".into(),
        switch.into(),
        value.into(),
        "--".into(),
        log.into(),
    ];
    ctx.note(format!("the hit stands at seq {seq}, in the {}", hit.document.part.name()));
    match Args::try_parse_from(line).map(|args| args.command) {
        Ok(Command::Read(args)) => super::super::read::run(ctx, &args),
        _ => Err(Failure::usage("this hit cannot be opened")),
    }
}
