//! A command with all that it starts: one process group, which is ended as a whole.

use std::io;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often it is looked whether a command has ended.
const LOOK: Duration = Duration::from_millis(10);

/// When a command is ended that does not end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit<'s> {
    /// At this time.
    pub(super) until: Instant,
    /// When somebody has enough.
    pub(super) stop: &'s AtomicBool,
}

impl Limit<'_> {
    /// It is to be ended now.
    pub(super) fn is_reached(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || Instant::now() >= self.until
    }
}

/// Run a command until it ends or its limit is reached. What it started in its group does not outlive it. Gives how it
/// ended; nothing when it was ended.
pub(super) fn run(mut command: Command, limit: Limit<'_>) -> io::Result<Option<ExitStatus>> {
    own_group(&mut command);
    let mut child = command.spawn()?;
    loop {
        // The command is looked at and not yet buried: as long as it is there nobody else gets its number.
        match has_ended(&mut child) {
            Ok(true) => {
                end_group(&child);
                return Ok(Some(child.wait()?));
            }
            Ok(false) if !limit.is_reached() => std::thread::sleep(LOOK),
            Ok(false) => {
                end_group(&child);
                child.kill().ok();
                child.wait()?;
                return Ok(None);
            }
            Err(fault) => {
                end_group(&child);
                child.kill().ok();
                child.wait().ok();
                return Err(fault);
            }
        }
    }
}

#[cfg(unix)]
mod system {
    use std::io;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, Command};

    use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

    pub(super) fn own_group(command: &mut Command) {
        command.process_group(0);
    }

    fn pid(child: &Child) -> Option<Pid> {
        Pid::from_raw(i32::try_from(child.id()).ok()?)
    }

    pub(super) fn has_ended(child: &mut Child) -> io::Result<bool> {
        let Some(pid) = pid(child) else { return Ok(child.try_wait()?.is_some()) };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(pid), options)?.is_some())
    }

    /// End what is left of the group.
    pub(super) fn end_group(child: &Child) {
        if let Some(pid) = pid(child) {
            // It may be gone already.
            kill_process_group(pid, Signal::KILL).ok();
        }
    }
}

#[cfg(not(unix))]
mod system {
    use std::io;
    use std::process::{Child, Command};

    pub(super) fn own_group(_: &mut Command) {}

    pub(super) fn has_ended(child: &mut Child) -> io::Result<bool> {
        Ok(child.try_wait()?.is_some())
    }

    /// There are no groups to end.
    pub(super) fn end_group(_: &Child) {}
}

use system::{end_group, has_ended, own_group};

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::process::Stdio;

    fn shell(line: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    fn soon(time: Duration) -> Limit<'static> {
        static STOP: AtomicBool = AtomicBool::new(false);
        Limit { until: Instant::now() + time, stop: &STOP }
    }

    fn is_alive(pid: &str) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
    }

    #[test]
    fn a_command_ends_by_itself() {
        let end = run(shell("exit 3"), soon(Duration::from_secs(20))).unwrap();
        assert_eq!(end.unwrap().code(), Some(3));
    }

    /// Neither a command that does not end nor what it started is there behind its time.
    #[test]
    fn nothing_outlives_its_time() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let line = format!("trap '' TERM; sleep 1000 & echo $! > {}; wait", file.display());
        let begun = Instant::now();
        let end = run(shell(&line), soon(Duration::from_millis(300))).unwrap();
        assert!(end.is_none() && begun.elapsed() < Duration::from_secs(10));
        let child = std::fs::read_to_string(file).unwrap();
        // The kill has been sent; the system may take a moment.
        let gone = (0..200).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            !is_alive(child.trim())
        });
        assert!(gone, "{child} is alive");
    }

    #[test]
    fn somebody_has_enough() {
        let stop = AtomicBool::new(true);
        let limit = Limit { stop: &stop, ..soon(Duration::from_mins(1)) };
        assert!(run(shell("sleep 1000"), limit).unwrap().is_none());
    }

    /// What a command leaves behind is ended, too.
    #[test]
    fn nothing_outlives_its_command() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let end =
            run(shell(&format!("sleep 1000 & echo $! > {}", file.display())), soon(Duration::from_secs(20)));
        assert!(end.unwrap().unwrap().success());
        let child = std::fs::read_to_string(file).unwrap();
        let gone = (0..200).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            !is_alive(child.trim())
        });
        assert!(gone, "{child} is alive");
    }
}
