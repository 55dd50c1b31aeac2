//! The command that is run.

use std::io::IsTerminal as _;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};

use crate::args::Record;
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome};

/// How often it is looked whether the command has ended.
const LOOK: Duration = Duration::from_millis(20);

/// How long a command has to end when it is told to.
const GRACE: Duration = Duration::from_secs(5);

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
    // An interrupt of a terminal reaches the command as well. Without a terminal nobody but us can hand it on, and to all
    // that the command has started.
    let grouped = !std::io::stdin().is_terminal();
    if grouped {
        system::own_group(&mut command);
    }
    let told = Told::default();
    for (signal, flag) in [(SIGINT, &told.interrupt), (SIGTERM, &told.end)] {
        signal_hook::flag::register(signal, Arc::clone(flag))
            .map_err(|fault| Failure::failed(format!("cannot wait for an interrupt: {fault}")))?;
    }
    ctx.out().flush()?;
    let name = program.to_string_lossy().into_owned();
    let cannot = |fault| Failure::failed(format!("cannot run {name}: {fault}"));
    let mut child = command.spawn().map_err(cannot)?;
    let status = wait(&mut child, &told, grouped).map_err(cannot)?;
    if status.success() {
        return Ok(Outcome::Clean);
    }
    ctx.warn(format!("{name} ended with {status}"));
    Ok(Outcome::Found)
}

/// What we were told meanwhile.
#[derive(Debug, Default)]
struct Told {
    interrupt: Arc<AtomicBool>,
    end: Arc<AtomicBool>,
}

/// Waits for the end of the command. Who ends us means both: it gets some time to end well.
fn wait(child: &mut Child, told: &Told, grouped: bool) -> std::io::Result<ExitStatus> {
    let (mut interrupted, mut last) = (false, None);
    loop {
        // It is looked at and not yet buried: as long as it is there nobody else gets its number.
        if system::has_ended(child)? {
            if grouped && (interrupted || told.end.load(Ordering::Relaxed)) {
                system::kill(child, grouped);
            }
            return child.wait();
        }
        if grouped && told.interrupt.swap(false, Ordering::Relaxed) {
            interrupted = true;
            system::interrupt(child, grouped);
        }
        if told.end.load(Ordering::Relaxed) {
            let last = *last.get_or_insert_with(|| {
                system::end(child, grouped);
                Instant::now() + GRACE
            });
            if Instant::now() >= last {
                system::kill(child, grouped);
                child.kill().ok();
            }
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(unix)]
mod system {
    use std::io;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};

    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};

    pub(super) fn own_group(command: &mut Command) {
        command.process_group(0);
    }

    pub(super) fn has_ended(child: &mut Child) -> io::Result<bool> {
        let Some(pid) = pid(child) else { return Ok(child.try_wait()?.is_some()) };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(pid), options)?.is_some())
    }

    fn pid(child: &Child) -> Option<Pid> {
        i32::try_from(child.id()).ok().and_then(Pid::from_raw)
    }

    pub(super) fn interrupt(child: &Child, grouped: bool) {
        send(child, grouped, Signal::INT);
    }

    pub(super) fn end(child: &Child, grouped: bool) {
        send(child, grouped, Signal::TERM);
    }

    pub(super) fn kill(child: &Child, grouped: bool) {
        send(child, grouped, Signal::KILL);
    }

    /// To the command, which has not been waited for, so that its number is nobody else's; or to its group.
    fn send(child: &Child, grouped: bool, signal: Signal) {
        let Some(pid) = pid(child) else { return };
        let sent = if grouped { kill_process_group(pid, signal) } else { kill_process(pid, signal) };
        // It may be gone already.
        sent.ok();
    }
}

#[cfg(not(unix))]
mod system {
    use std::process::{Child, Command};

    pub(super) fn own_group(_: &mut Command) {}

    pub(super) fn has_ended(child: &mut Child) -> std::io::Result<bool> {
        Ok(child.try_wait()?.is_some())
    }

    pub(super) fn interrupt(_: &Child, _: bool) {}

    /// There is no gentler way.
    pub(super) fn end(_: &Child, _: bool) {}

    pub(super) fn kill(_: &Child, _: bool) {}
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
