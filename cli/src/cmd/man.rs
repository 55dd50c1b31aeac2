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
    let command = match &args.command {
        None => program,
        Some(name) => match program.find_subcommand(name) {
            Some(command) => command.clone(),
            None => {
                let names: Vec<&str> = program.get_subcommands().map(clap::Command::get_name).collect();
                return Err(Failure::usage(format!("there is no command `{name}`"))
                    .hint(format!("there are: {}", names.join(", "))));
            }
        },
    };
    let mut roff = Vec::new();
    Page::new(command).render(&mut roff)?;
    ctx.out().write_all(&roff)?;
    Ok(Outcome::Clean)
}
