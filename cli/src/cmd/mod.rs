//! One module per command: it wires library calls to renderers, and holds no rule of the format.

mod completions;
mod diff;
mod doctor;
mod export;
mod fork;
mod index;
mod ls;
mod man;
mod migrate;
mod moment;
mod new_scenario;
mod passed_over;
mod read;
mod record;
mod replay;
mod request;
mod search;
mod serve;
mod stats;
mod verify;

use crate::args::Command;
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome};

/// Run a command.
pub(crate) fn run(ctx: &mut Ctx, command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Ls(args) => ls::run(ctx, &args),
        Command::Search(args) => search::run(ctx, &args),
        Command::Index(args) => index::run(ctx, &args),
        Command::Read(args) => read::run(ctx, &args),
        Command::Request(args) => request::run(ctx, &args),
        Command::Diff(args) => diff::run(ctx, &args),
        Command::Stats(args) => stats::run(ctx, &args),
        Command::Export(args) => export::run(ctx, &args),
        Command::Verify(args) => verify::run(ctx, &args),
        Command::Migrate(args) => migrate::run(ctx, &args),
        Command::Fork(args) => fork::run(ctx, &args),
        Command::Doctor(args) => doctor::run(ctx, &args),
        Command::Serve(args) => serve::run(ctx, &args),
        Command::Replay(args) => replay::run(ctx, &args),
        Command::NewScenario(args) => new_scenario::run(ctx, &args),
        Command::Record(args) => record::run(ctx, &args),
        Command::Completions(args) => completions::run(ctx, &args),
        Command::Man(args) => man::run(ctx, &args),
    }
}
