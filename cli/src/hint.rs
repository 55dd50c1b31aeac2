//! From an error to what to do next.

use std::path::Path;

use dshlog_codec::{Class, Error, ErrorKind};
use dshlog_migrate::Problem;

use crate::exit::shown;
use crate::render::shell::quoted;

const LIMIT: &str = "this reader holds lines and frames in memory, and this one is too large";

/// Hints for a log that could not be read.
pub(crate) fn for_error(error: &Error) -> Vec<String> {
    let hint = match error.kind() {
        ErrorKind::Newer { version } => {
            format!("a newer dsh wrote this; look for a dshlog that reads V{version}")
        }
        ErrorKind::NoHeader => {
            "the writer stopped before the header was complete; there is nothing to read".to_owned()
        }
        ErrorKind::HeaderMalformed { .. } | ErrorKind::HeaderRetired { .. } | ErrorKind::HeaderFrame => {
            "`read --rows` shows the stored lines".to_owned()
        }
        ErrorKind::MixedEncodings { .. } => {
            "dsh refuses a folder that holds both; a copy of one of them elsewhere can be read".to_owned()
        }
        ErrorKind::Identity { .. } => {
            "dsh will not find this session here; name a copy outside the home to read it".to_owned()
        }
        ErrorKind::VersionMismatch { .. } => {
            "a copy with another name is read by what its header says".to_owned()
        }
        // The events are there, but may not stand where they stand.
        ErrorKind::Rule { .. } => {
            "`--lenient` shows the events all the same; `dshlog verify` has the code of the fault".to_owned()
        }
        ErrorKind::Migration { .. } => {
            "`--as-stored` shows the events as they are stored, `--lenient` those in front of it".to_owned()
        }
        ErrorKind::Store { code, .. } => match *code {
            "store-version" => "the dsh that wrote it, or one of its time, can export its sessions",
            "store-busy" => "end the program that writes to it, and try again",
            "store-damaged" => "`.recover` of the program sqlite3 may save what is left of it",
            _ => "`dshlog ls DIR` lists the sessions of a home or a root",
        }
        .to_owned(),
        ErrorKind::Shrank { .. } | ErrorKind::Changed => "a writer is at work; try again".to_owned(),
        _ => match error.class() {
            Class::Unsupported => "`--lenient` reads past what it does not know".to_owned(),
            Class::Corrupt => {
                "`--lenient` reads up to the damage, `--rows` shows the stored lines".to_owned()
            }
            Class::Locked => "end the dsh that holds it, or read without writing".to_owned(),
            Class::Limit => LIMIT.to_owned(),
            Class::NotFound => "`dshlog ls DIR` lists the sessions of a home or a root".to_owned(),
            Class::Misplaced | Class::Io => return Vec::new(),
        },
    };
    vec![hint]
}

/// What to do about a session in `folder` that was not migrated. The first one of the same name says it for all.
pub(crate) fn for_problem(problem: &Problem, folder: &Path) -> (&'static str, Vec<String>) {
    let path = problem.path().unwrap_or(folder);
    let code = problem.code();
    let hint = match code {
        "disk-full" => {
            "make room and start again: what is migrated stays, and nothing is half done".to_owned()
        }
        "read-only" => "migrate a copy on a file system that can be written to".to_owned(),
        "no-permission" => format!("start it as a user who may write in {}", shown(folder)),
        "not-exclusive" => "migrate a copy on another file system, and move the new logs back".to_owned(),
        "target-conflict" => {
            format!("see what {} is; moved out of the folder, it is in nobody's way", shown(path))
        }
        "read-back" => "start again; when it stays so, doubt the disk, or report it with the log".to_owned(),
        "changed" | "shrank" => "a writer is at work; start again when it has ended".to_owned(),
        "newer-format" => "a newer dsh wrote this; look for a dshlog that knows its format".to_owned(),
        "mixed-encodings" => {
            format!("dsh refuses a folder that holds both; move one of them out of {}", shown(folder))
        }
        "identity" => "dsh will not find this session here; move it to where its header leads".to_owned(),
        "limit" => LIMIT.to_owned(),
        "io" | "not-found" => "see to what the system says, and start again".to_owned(),
        _ => {
            let log = quoted(path);
            let shows = match problem {
                Problem::Log(error) if error.class() == Class::Corrupt => {
                    format!("`dshlog read {log} --lenient` reads up to the damage")
                }
                _ => format!("`dshlog read {log} --as-stored` shows it as it is"),
            };
            return ("refused", vec![format!("`dshlog verify {log}` checks it by every rule"), shows]);
        }
    };
    (code, vec![hint])
}

/// What to do about a session that could not be made.
pub(crate) fn for_new_session(problem: &Problem) -> Option<&'static str> {
    Some(match problem.code() {
        "disk-full" => "make room and start again; no session is half made",
        "read-only" | "no-permission" => "`--out DIR` names another home or root to write in",
        "not-exclusive" => "`--out DIR` names a home or root on another file system",
        "session-exists" | "no-name" => "`--id` names another id",
        "in-the-way" => "set it aside, or name another id with `--id`",
        "not-lossless" => "dsh forks no session with such a number; in front of that event it can be forked",
        "read-back" => "start again; when it stays so, doubt the disk, or report it with the log",
        "target-conflict" => "another process made a session of that id; start again",
        "locked" => "another process is making that session; `--id` names another id",
        "io" => "see to what the system says, and start again",
        _ => return None,
    })
}

/// What to do about a session that a writer holds.
pub(crate) fn for_locked() -> &'static str {
    "end the dsh that has the session open, and start again"
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    use dshlog_codec::At;
    use dshlog_migrate::Step;

    fn in_home(kind: ErrorKind) -> Problem {
        let path = Some("/my home/it's/session.v3.jsonl".into());
        kind.at(At { path, ..At::default() }).into()
    }

    /// What is to be copied is one word for a shell, whatever the path.
    #[test]
    fn commands_are_quoted() {
        let told = |kind| for_problem(&in_home(kind), Path::new("/my home"));
        let word = r"'/my home/it'\''s/session.v3.jsonl'";
        let (kind, hints) = told(ErrorKind::NoHeader);
        assert_eq!(kind, "refused");
        assert_eq!(
            hints,
            [
                format!("`dshlog verify {word}` checks it by every rule"),
                format!("`dshlog read {word} --lenient` reads up to the damage")
            ]
        );
        let (_, hints) = told(ErrorKind::Migration { code: "turn-reason", what: String::new() });
        assert_eq!(hints[1], format!("`dshlog read {word} --as-stored` shows it as it is"));
    }

    /// What is no fault of the log's text has a hint of its own, found by its code.
    #[test]
    fn problems_with_a_hint_of_their_own() {
        let path = || "/h/s".into();
        let io = |kind: io::ErrorKind| Problem::Io { step: Step::Write, path: path(), source: kind.into() };
        for (problem, code) in [
            (io(io::ErrorKind::StorageFull), "disk-full"),
            (io(io::ErrorKind::ReadOnlyFilesystem), "read-only"),
            (io(io::ErrorKind::PermissionDenied), "no-permission"),
            (io(io::ErrorKind::Other), "io"),
            (
                Problem::NotExclusive { path: path(), source: io::ErrorKind::Unsupported.into() },
                "not-exclusive",
            ),
            (
                Problem::Conflict { target: path(), source_log: path(), what: "no regular file" },
                "target-conflict",
            ),
            (Problem::ReadBack { what: String::new(), path: path() }, "read-back"),
            (Problem::Changed { path: path() }, "changed"),
            (in_home(ErrorKind::Changed), "changed"),
            (in_home(ErrorKind::Shrank { before: 2, now: 1 }), "shrank"),
            (in_home(ErrorKind::Newer { version: 5 }), "newer-format"),
            (in_home(ErrorKind::MixedEncodings { other: String::new() }), "mixed-encodings"),
            (in_home(ErrorKind::Identity { expected: String::new() }), "identity"),
            (in_home(ErrorKind::NotFound), "not-found"),
            (in_home(ErrorKind::Limit { what: "a line", limit: 1 }), "limit"),
        ] {
            let (kind, hints) = for_problem(&problem, Path::new("/h"));
            assert_eq!((kind, hints.len()), (code, 1), "{problem}");
        }
    }
}
