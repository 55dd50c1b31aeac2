//! The command that is run.

use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};

use crate::args::Record;
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome};

/// How often it is looked whether the command has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Runs the command with a base URL, and waits for its end. A home or root that a switch names is told it, too.
pub(super) fn run(ctx: &mut Ctx, args: &Record, url: &str) -> Result<Outcome, Failure> {
    let (program, arguments) =
        args.command.split_first().ok_or_else(|| Failure::usage("there is no command to run"))?;
    let mut command = Command::new(program);
    command.args(arguments).env("DEEPSEEK_BASE_URL", url);
    if ctx.names_place() {
        let home = ctx.home()?;
        command.env("DSH_SESSION_ROOT", &home.root);
        if let Some(path) = &home.path {
            command.env("DSH_HOME", path);
        }
    }
    // An interrupt of a terminal reaches the command as well; who only ends us means both.
    let (interrupt, end) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    for (signal, flag) in [(SIGINT, &interrupt), (SIGTERM, &end)] {
        signal_hook::flag::register(signal, Arc::clone(flag))
            .map_err(|fault| Failure::failed(format!("cannot wait for an interrupt: {fault}")))?;
    }
    ctx.out().flush()?;
    let name = program.to_string_lossy().into_owned();
    let cannot = |fault| Failure::failed(format!("cannot run {name}: {fault}"));
    let mut child = command.spawn().map_err(cannot)?;
    let status = wait(&mut child, &end).map_err(cannot)?;
    if status.success() {
        return Ok(Outcome::Clean);
    }
    ctx.warn(format!("{name} ended with {status}"));
    Ok(Outcome::Found)
}

fn wait(child: &mut Child, end: &AtomicBool) -> std::io::Result<ExitStatus> {
    loop {
        if end.load(Ordering::Relaxed) {
            child.kill()?;
            return child.wait();
        }
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        std::thread::sleep(LOOK);
    }
}

/// An error with its causes.
pub(super) fn chain(fault: &dyn std::error::Error) -> String {
    let mut text = fault.to_string();
    let mut cause = fault.source();
    while let Some(fault) = cause {
        text.push_str(": ");
        text.push_str(fault.to_string().trim_end());
        cause = fault.source();
    }
    text
}
