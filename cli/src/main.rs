//! `dshlog`: look into and check the session logs of dsh without starting an agent.

mod args;
mod attachments;
mod cmd;
mod corpus;
mod ctx;
mod doctor;
mod exit;
mod export;
mod hint;
mod index;
mod pager;
mod pool;
mod render;
mod select;
mod source;
mod stats;
mod stores;
mod transcript;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => return exit::usage(&error),
    };
    let mut ctx = ctx::Ctx::from_process(&args.global);
    let result = cmd::run(&mut ctx, args.command);
    dshlog_query::store::forget_copy();
    exit::finish(ctx, result)
}
