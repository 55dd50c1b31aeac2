//! Exit codes: the only place that knows the numbers.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use dshlog_codec::{Class, Error, ErrorKind};
use dshlog_migrate::Problem;
use dshlog_replay::HistoryError;

use crate::ctx::Ctx;
use crate::hint;
use crate::render::text::visible;

/// What was tried when output was written.
const OUTPUT: &str = "cannot write the output";

/// How a command ended that could do its work, the worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    /// Nothing is wrong.
    Clean,
    /// It found what it looked for: faults, differences.
    Found,
    /// It did what it could; something was left alone, and was named.
    Refused,
    /// It did what it could; something could not be read or written, and was named.
    Unread,
}

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line asks for what does not exist.
    Usage(Message),
    /// There is something that we do not touch.
    Refused(Message),
    /// There is no such session.
    NotFound(Message),
    /// Something of this machine is in the way of what was to be written.
    Failed(Message),
    /// The log, and what to do next besides what its error says.
    Log(Error, Vec<String>),
    /// A stream of this process, or a file that is no log.
    Io {
        /// What was tried, with its object.
        what: String,
        /// The system's answer.
        source: io::Error,
    },
}

/// What to say, and what to do next.
#[derive(Debug)]
pub(crate) struct Message {
    text: String,
    hints: Vec<String>,
}

impl Failure {
    /// Wrong usage.
    pub(crate) fn usage(text: impl fmt::Display) -> Self {
        Failure::Usage(Message { text: text.to_string(), hints: Vec::new() })
    }

    /// Refused.
    pub(crate) fn refused(text: impl fmt::Display) -> Self {
        Failure::Refused(Message { text: text.to_string(), hints: Vec::new() })
    }

    /// No such session.
    pub(crate) fn not_found(text: impl fmt::Display) -> Self {
        Failure::NotFound(Message { text: text.to_string(), hints: Vec::new() })
    }

    /// Could not write.
    pub(crate) fn failed(text: impl fmt::Display) -> Self {
        Failure::Failed(Message { text: text.to_string(), hints: Vec::new() })
    }

    /// A file or folder that could not be read.
    pub(crate) fn io(action: &str, path: &Path, source: io::Error) -> Self {
        Failure::Io { what: format!("cannot {action} {}", path.display()), source }
    }

    /// The same failure where the output is a file: the one at `path`.
    pub(crate) fn of_output(self, path: &Path) -> Self {
        match self {
            Failure::Io { what, source } if what == OUTPUT => Failure::io("write", path, source),
            other => other,
        }
    }

    /// The same for a command that is not about reading the log, which the hints of its error are.
    pub(crate) fn told_apart(self) -> Self {
        let is_refusal = self.code() == 3;
        match self {
            Failure::Log(error, _) if is_refusal => Failure::refused(Chain(&error)),
            Failure::Log(error, _) => Failure::failed(Chain(&error)),
            other => other,
        }
    }

    /// With one more hint.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl fmt::Display) -> Self {
        match &mut self {
            Failure::Usage(Message { hints, .. })
            | Failure::Refused(Message { hints, .. })
            | Failure::NotFound(Message { hints, .. })
            | Failure::Failed(Message { hints, .. })
            | Failure::Log(_, hints) => hints.push(hint.to_string()),
            Failure::Io { .. } => {}
        }
        self
    }

    /// Say it, and what to do next.
    pub(crate) fn tell(&self, ctx: &mut Ctx) {
        ctx.error(self);
        let hints = match self {
            Failure::Usage(m) | Failure::Refused(m) | Failure::NotFound(m) | Failure::Failed(m) => {
                m.hints.clone()
            }
            Failure::Log(error, more) => [hint::for_error(error), more.clone()].concat(),
            Failure::Io { .. } => Vec::new(),
        };
        for hint in hints {
            ctx.hint(hint);
        }
    }

    /// How a command ends that told this and went on.
    pub(crate) fn outcome(&self) -> Outcome {
        if self.code() == 3 { Outcome::Refused } else { Outcome::Unread }
    }

    /// Nobody reads what was written any more.
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Failure::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }

    fn code(&self) -> u8 {
        match self {
            Failure::Usage(_) => 2,
            Failure::Refused(_) => 3,
            Failure::NotFound(_) | Failure::Failed(_) | Failure::Io { .. } => 4,
            Failure::Log(error, _) => match error.class() {
                Class::Unsupported | Class::Misplaced | Class::Locked => 3,
                Class::Corrupt | Class::NotFound | Class::Io | Class::Limit => 4,
            },
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Log(error, Vec::new())
    }
}

/// What keeps a log from being written: the log, another one, or this machine.
impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let text = problem_without_place(&problem);
        let text = match problem.path() {
            Some(path) => format!("{text} [{}]", path.display()),
            None => text,
        };
        match problem {
            Problem::Log(error) => error.into(),
            problem if problem.is_refusal() => Failure::refused(text),
            _ => Failure::failed(text),
        }
    }
}

impl From<HistoryError> for Failure {
    fn from(error: HistoryError) -> Self {
        Failure::refused(format!("no history: {error}"))
    }
}

impl From<io::Error> for Failure {
    fn from(source: io::Error) -> Self {
        Failure::Io { what: OUTPUT.to_owned(), source }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(message)
            | Failure::Refused(message)
            | Failure::NotFound(message)
            | Failure::Failed(message) => f.write_str(&message.text),
            Failure::Log(error, _) => write!(f, "{}", Chain(error)),
            Failure::Io { what, source } => write!(f, "{what}: {source}"),
        }
    }
}

/// An error with its sources, one line.
pub(crate) struct Chain<'a>(pub(crate) &'a Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (ErrorKind::Io { action, source }, Some(path)) = (self.0.kind(), &self.0.position().path) {
            return write!(f, "cannot {action} {}: {source}", path.display());
        }
        write!(f, "{}", self.0)?;
        let mut source = std::error::Error::source(self.0);
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

/// An error with its sources, for where its position is shown apart.
pub(crate) fn without_place(error: &Error) -> String {
    Chain(error).to_string().replacen(&format!(" [{}]", error.position()), "", 1)
}

/// What stands against a migration, with its sources and without its position.
pub(crate) fn problem_without_place(problem: &Problem) -> String {
    let source = match problem {
        Problem::Log(error) => return without_place(error),
        Problem::Io { source, .. } | Problem::NotExclusive { source, .. } => source.to_string(),
        Problem::Conflict { what, .. } => (*what).to_owned(),
        Problem::ReadBack { .. }
        | Problem::Changed { .. }
        | Problem::Exists { .. }
        | Problem::InTheWay { .. }
        | Problem::NoName { .. }
        | Problem::NotLossless { .. } => return problem.to_string(),
    };
    format!("{problem}: {source}")
}

/// The command line could not be understood, or asked for help.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    ExitCode::from(match error.print() {
        // A closed stream leaves nobody to tell.
        Err(failed) if !error.use_stderr() && failed.kind() != io::ErrorKind::BrokenPipe => 4,
        _ => u8::from(error.use_stderr()) * 2,
    })
}

/// Tell the failure, if any, and end.
pub(crate) fn finish(mut ctx: Ctx, result: Result<Outcome, Failure>) -> ExitCode {
    let closed = ctx.close().map_err(Failure::from);
    let result = result.and_then(|outcome| closed.map(|()| outcome));
    ExitCode::from(match result {
        Ok(Outcome::Clean) => 0,
        Ok(Outcome::Found) => 1,
        Ok(Outcome::Refused) => 3,
        Ok(Outcome::Unread) => 4,
        Err(failure) if failure.is_broken_pipe() => 0,
        Err(failure) => {
            failure.tell(&mut ctx);
            failure.code()
        }
    })
}

/// A path as it is shown.
pub(crate) fn shown(path: &Path) -> String {
    visible(&path.display().to_string()).into_owned()
}
