//! `dshlog man`.

use clap::CommandFactory as _;
use clap_mangen::Man as Page;

use crate::args::{Args, Man};
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome};

/// Print a manual page.
pub(crate) fn run(ctx: &mut Ctx, args: &Man) -> Result<Outcome, Failure> {
    let mut program = Args::command();
    program.build();
    let found = args.command.as_ref().map_or(Some(&program), |name| program.find_subcommand(name));
    let Some(command) = found.cloned() else {
        let names: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
        return Err(Failure::usage(format!(
            "there is no command `{}`",
            args.command.as_deref().unwrap_or_default()
        ))
        .hint(format!("there are: {}", names.join(", "))));
    };
    let mut roff = Vec::new();
    Page::new(command).source(concat!("dshlog ", env!("CARGO_PKG_VERSION"))).render(&mut roff)?;
    ctx.out().write_all(&roff)?;
    Ok(Outcome::Clean)
}
