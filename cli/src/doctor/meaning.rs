//! What a code means, in one sentence.

use dshlog_codec::check::Rule;
use dshlog_migrate::codes;

/// Codes of files, and those of the doctor's own. Rules on events and steps have their texts with them.
const TEXTS: &[(&str, &str)] = &[
    ("not-found", "there is no log"),
    ("io", "the operating system does not let it be read"),
    ("locked", "a writer holds it"),
    ("limit", "a line or frame is larger than dshlog holds in memory"),
    ("shrank", "the log became shorter while it was read"),
    ("changed", "the log changed while it was read"),
    ("no-header", "the log is empty, or ends inside its header"),
    ("frame-magic", "something that is no frame stands where a frame must begin"),
    ("frame-reserved", "a frame uses bits that the format reserves"),
    ("frame-damaged", "a complete frame does not decompress"),
    ("header-frame", "the first frame is not exactly the header line"),
    ("frame-ends-in-row", "a complete frame ends inside a row"),
    ("header-malformed", "the first line is no header of its generation"),
    ("header-retired", "the header has a member of unreleased builds"),
    ("newer-format", "a newer dsh wrote it in a format that this one does not read"),
    ("version-mismatch", "the file name says another version than the header"),
    ("identity", "id or working directory in the header lead to another folder"),
    ("mixed-encodings", "one folder holds raw and compressed logs, and nothing says which was written last"),
    ("row-syntax", "a line in front of a finished turn is not JSON"),
    ("row-shape", "a row breaks the rules of its generation"),
    ("row-gap", "an event is missing, or there twice"),
    ("target-conflict", "the name of the new log is taken by something else"),
    ("flat-log", "a log file right in a project folder, as the layout of old had it"),
    (
        "mixed-root",
        "the root holds raw and compressed logs; dsh reads one kind, and refuses a root with both",
    ),
    ("raw-root", "all logs are raw; dsh reads them only by a profile that is set so, as `sdk-minimal` is"),
    ("duplicate-id", "the same session in two projects"),
    ("in-the-way", "something with the name that dsh tries for this session lies in a project folder"),
    ("linked-project", "a link to a project folder, which dsh does not follow"),
    ("linked-session", "a link to a session folder, which dsh finds by its id and does not list"),
    ("unreadable", "the operating system does not let it be looked at"),
    ("foreign", "no part of the layout; dsh passes over it"),
    (
        "store",
        "a SQLite store of sessions, as runtimes up to 0.1.1 could keep; dsh of today does not know it",
    ),
    ("store-foreign", "no SQLite store of sessions"),
    ("store-version", "a SQLite store of sessions of a version that dshlog does not know"),
    ("store-damaged", "a SQLite store of sessions that is damaged"),
    ("store-busy", "a SQLite store of sessions that a writer holds"),
    ("store-unread", "a SQLite store of sessions that dshlog cannot read, either"),
    ("no-log", "a session folder without a log"),
    ("leftover", "a temporary file of a writer that did not come to its end; dsh never looks at it again"),
    ("lock-held", "a writer is at work"),
    (
        "lock-unknown",
        "nobody can tell whether a writer is at work, since the lock file may not be opened; nor can dsh write to the session",
    ),
    (
        "not-judged",
        "a writer is at work on a log of an older format, so that nothing is known of its upgrade",
    ),
    ("torn-tail", "the writer did not come to an end: bytes behind the last complete event"),
    (
        "older-beside",
        "an older generation lies beside the one that is refused, and dsh does not fall back to it",
    ),
    ("old-format", "a log of an older format that dsh carries over when it opens the session"),
    ("older-generations", "logs that were carried over, kept beside what became of them"),
    ("ignorable-event", "events of unknown types that every reader may pass over"),
    ("orphan", "its parent is not in this root"),
    ("own-ancestor", "a session that descends from itself"),
    (
        "obscure-child",
        "of a subagent no more than its header is known; the catalog of its parent will say so",
    ),
    ("windows-cwd", "the working directory is a path of Windows; dsh on this system passes over the log"),
    ("too-large", "dsh opens no file of 2 GiB or more"),
];

/// What `code` means.
pub(crate) fn of(code: &str) -> &'static str {
    let known = TEXTS.iter().find(|(name, _)| *name == code).map(|(_, text)| *text);
    let rule = || Rule::ALL.iter().find(|rule| rule.code() == code).map(|rule| rule.text());
    known.or_else(|| codes::meaning(code)).or_else(rule).unwrap_or("a rule of the format is broken")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every code of a log that the page of codes lists has a meaning of its own here. What keeps a log from being written
    /// is nothing that a reader meets.
    #[test]
    fn every_code_means_something() {
        let page = include_str!("../../../docs/codes.md");
        let (of_logs, _) = page.split_once("\n## Writing\n").unwrap();
        let codes: Vec<&str> =
            of_logs.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
        assert!(codes.len() > 90, "{}", codes.len());
        for code in codes {
            assert_ne!(of(code), of("no such code"), "{code}");
        }
    }
}
