//! `dshlog completions`.

use clap::CommandFactory as _;

use crate::args::{Args, Completions};
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome};

/// Print a completion script.
pub(crate) fn run(ctx: &mut Ctx, args: &Completions) -> Result<Outcome, Failure> {
    // The generator panics on a closed pipe, so it writes into memory.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "dshlog", &mut script);
    ctx.out().write_all(&script)?;
    Ok(Outcome::Clean)
}
