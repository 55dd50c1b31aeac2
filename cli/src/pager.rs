//! The reader's pager.

use std::io;
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::ctx::Environment;

/// A running pager. Dropping it without [`Pager::wait`] would leave it behind.
pub(crate) struct Pager(Child);

impl Pager {
    /// Start `DSHLOG_PAGER`, else `PAGER`, else `less`. Nothing when there is none, or when it is `cat`.
    pub(crate) fn start(environment: &Environment) -> Option<(Pager, ChildStdin)> {
        let asked = environment.pager.as_deref().map_or("less", str::trim);
        if asked.is_empty() || asked == "cat" {
            return None;
        }
        let mut command = if asked.contains(char::is_whitespace) && cfg!(unix) {
            let mut shell = Command::new("sh");
            shell.arg("-c").arg(asked);
            shell
        } else {
            Command::new(asked)
        };
        if !environment.less {
            // Quit when all fits on one screen, keep colours, leave the screen as it is.
            command.env("LESS", "FRX");
        }
        let mut child = command.stdin(Stdio::piped()).spawn().ok()?;
        let input = child.stdin.take()?;
        Some((Pager(child), input))
    }

    /// Wait until the reader has seen enough.
    pub(crate) fn wait(mut self) {
        let _: io::Result<_> = self.0.wait();
    }
}
