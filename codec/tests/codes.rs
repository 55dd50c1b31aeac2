//! `docs/codes.md` lists every code, and is what this test would write.

use std::fmt::Write as _;

use dshlog_codec::check::Rule;
use dshlog_codec::json::JsonError;
use dshlog_codec::{Class, ErrorKind, Generation, Seq};

fn store(code: &'static str, class: Class, what: &str) -> ErrorKind {
    ErrorKind::Store { code, class, what: what.into() }
}

/// One of each kind. The match has no wildcard, so that a new kind cannot be forgotten here.
fn kinds() -> Vec<ErrorKind> {
    let io = || std::io::Error::from(std::io::ErrorKind::PermissionDenied);
    let syntax = JsonError { what: "unexpected end", offset: 1 };
    let kinds = vec![
        ErrorKind::NotFound,
        ErrorKind::Io { action: "read", source: io() },
        ErrorKind::Locked,
        ErrorKind::Limit { what: "a line", limit: 1 },
        ErrorKind::Shrank { before: 2, now: 1 },
        ErrorKind::Changed,
        ErrorKind::NoHeader,
        ErrorKind::TornTail { bytes: 100 },
        ErrorKind::FrameMagic { found: 0x184D_2A50 },
        ErrorKind::FrameReserved { what: "block type" },
        ErrorKind::FrameDamaged { reason: "Restored data doesn't match checksum" },
        ErrorKind::HeaderFrame,
        ErrorKind::FrameEndsInRow,
        ErrorKind::HeaderMalformed { what: "`id` is no string".into() },
        ErrorKind::HeaderRetired { member: "sandboxMode" },
        ErrorKind::Newer { version: 5 },
        ErrorKind::VersionMismatch { name: Generation(3), header: "2".into() },
        ErrorKind::Identity { expected: "sessions/--w--/id".into() },
        ErrorKind::MixedEncodings { other: "session.v4.jsonl".into() },
        ErrorKind::RowSyntax(syntax),
        ErrorKind::RowShape { what: "`type` is no string" },
        ErrorKind::RowGap { expected: Seq(1), found: "2".into() },
        store("store-foreign", Class::Corrupt, "no store of sessions: a database of another application"),
        store("store-version", Class::Unsupported, "a store of version 17; only version 15 is known"),
        store("store-damaged", Class::Corrupt, "the store is damaged: database disk image is malformed"),
        store("store-busy", Class::Locked, "a writer holds the store, and did not let go in time"),
    ];
    for kind in &kinds {
        match kind {
            ErrorKind::NotFound
            | ErrorKind::Io { .. }
            | ErrorKind::Locked
            | ErrorKind::Limit { .. }
            | ErrorKind::Shrank { .. }
            | ErrorKind::Changed
            | ErrorKind::NoHeader
            | ErrorKind::TornTail { .. }
            | ErrorKind::FrameMagic { .. }
            | ErrorKind::FrameReserved { .. }
            | ErrorKind::FrameDamaged { .. }
            | ErrorKind::HeaderFrame
            | ErrorKind::FrameEndsInRow
            | ErrorKind::HeaderMalformed { .. }
            | ErrorKind::HeaderRetired { .. }
            | ErrorKind::Newer { .. }
            | ErrorKind::VersionMismatch { .. }
            | ErrorKind::Identity { .. }
            | ErrorKind::MixedEncodings { .. }
            | ErrorKind::RowSyntax(_)
            | ErrorKind::RowShape { .. }
            | ErrorKind::RowGap { .. }
            | ErrorKind::Store { .. }
            // Those two have codes of their own for each rule.
            | ErrorKind::Migration { .. }
            | ErrorKind::Rule { .. } => {}
        }
    }
    kinds
}

fn class(class: Class) -> &'static str {
    match class {
        Class::Corrupt => "corrupt",
        Class::Unsupported => "unsupported",
        Class::Misplaced => "misplaced",
        Class::Locked => "locked",
        Class::NotFound => "not found",
        Class::Io => "system",
        Class::Limit => "limit",
    }
}

/// What the crate of the steps refuses; its codes are not known here.
const STEPS: &str = r"
## Steps to V4

Logs of V0 to V3 are carried to V4 in steps (`docs/spec/events-v0-v3.md`, `docs/spec/events-v4.md`, section 10). What a
step refuses, and what V4 cannot hold at the end, is *unsupported*, whatever the class of the same code above.

| code | step | what is wrong |
|---|---|---|
| `attempt-across-cut` | v1-to-v2 | the parts of one answer lie on both sides of the seed cut |
| `block-kind` | v2-to-v3 | a content block of a kind that V3 does not know |
| `children-unknown` | v3-to-v4 | nobody looked for the subagents of the session |
| `chunk` | v1-to-v2 | malformed part of an answer |
| `content-block` | v3-to-v4 | malformed content block |
| `defer-loading` | v3-to-v4 | `deferLoading` other than true |
| `delivery` | v2-to-v3, v3-to-v4 | malformed delivery record, or one of another session |
| `delivery-owner` | v0-to-v1, v1-to-v2 | delivery record of another session |
| `descriptor-version` | v0-to-v1 | subagent descriptor of an unknown version |
| `envelope` | v2-to-v3 | malformed envelope |
| `lost-reference` | v1-to-v2 | a reference to an event that V2 does not keep |
| `marker-not-at-cut` | v3-to-v4 | the last inherited end-seed marker does not stand at the seed cut |
| `marker-without-seed` | v2-to-v3, v3-to-v4 | inherited end-seed marker in a log that is not seeded |
| `message` | v3-to-v4 | malformed message |
| `message-id` | v2-to-v3 | the id of a message is taken |
| `message-prefix` | v0-to-v1 | malformed `messagePrefix` of a request header |
| `message-source` | v3-to-v4 | message without an admissible source |
| `message-sources` | v1-to-v2 | `sourceEventSeqs` that are not those of the answer |
| `no-steps` |   | there are no steps from this generation |
| `payload` | v0-to-v1, v2-to-v3 | malformed payload |
| `prompt-outside-step` | v2-to-v3 | the system prompt changes while no step is open |
| `provenance` | v0-to-v1 | malformed provenance of a message |
| `reference` | v3-to-v4 | malformed reference to an event |
| `replaced-result` | v0-to-v1 | a replaced result that does not begin at an earlier message |
| `retired-event` | v0-to-v1 | event type that was given up |
| `retired-header` | v0-to-v1 | request header for a reason that was given up |
| `row-gap` | v2-to-v3 | a row without the next seq |
| `seed-without-marker` | v2-to-v3, v3-to-v4 | seeded header, but no inherited end-seed marker |
| `source-kind` | v2-to-v3 | message source of an unknown kind |
| `steering-message` | v0-to-v1 | malformed steering message |
| `stream` | v2-to-v3 | malformed record of a stream |
| `subagent-catalog` | v3-to-v4 | malformed child in the catalog |
| `surface-before-step` | v2-to-v3 | a message before the first step |
| `tool-message` | v3-to-v4 | malformed result |
| `turn-in-turn` | v1-to-v2 | a turn begins while another one is open |
| `turn-reason` | v0-to-v1 | malformed end of a turn |
| `turn-trigger` | v0-to-v1 | malformed start of a turn |
| `unknown-event` | all | event type that the generation does not know |
| `unreadable-row` | all | a row that was made on the way cannot be read again |
";

/// What keeps a log from being written; these codes are those of the crate that writes.
const WRITING: &str = r"
## Writing

What keeps `dshlog migrate` and `dshlog fork` from writing a log, besides what is wrong with the one that they read.

| code | what is wrong |
|---|---|
| `disk-full` | no room, or a quota is used up |
| `read-only` | the file system is mounted so that nothing can be written |
| `no-permission` | a file or folder may not be read or written |
| `io` | another answer of the operating system |
| `read-back` | the new log, read back, is not what was written, or not sound |
| `changed` | a log that was read is another one since |
| `target-conflict` | the name of the new log is taken: by other content, by no regular file, by a name in another case |
| `not-exclusive` | the file system cannot give a name without the danger of overwriting one: no hard links, and no such rename |
| `session-exists` | a session of the id of the new one is in the root |
| `in-the-way` | something else is where dsh looks for a session of that id |
| `no-name` | no folder can stand for the id or the working directory |
| `not-lossless` | an event that is to be copied holds a number that JSON cannot keep |
| `subagent-descriptor` | a warning: the descriptor in the log of a subagent is malformed |
| `number-changed` | a deviation: a number that JavaScript cannot hold became another one, or `null` |
| `member-dropped` | a deviation: of members with the same name only the last one was kept |
";

fn page() -> String {
    let mut page = String::from(
        "# Codes\n\nEvery fault that `dshlog` names has a code that does not change. The class says what it means for the file:\n\
         *corrupt* is damaged or contradictory, *unsupported* is intact but not for this reader, *misplaced* does not\n\
         belong at its path, *limit* is beyond what `dshlog` is willing to hold. Classes *unsupported*, *misplaced* and\n\
         *locked* end `dshlog read` with exit code 3, the others with 4. Codes of `verify` and `ls` that are no faults of\n\
         a log's text stand in [output.md](output.md#codes-of-the-program).\n\n\
         This page is checked by `codec/tests/codes.rs`.\n\n## Files, containers, headers and rows\n\n\
         | code | class | for example |\n|---|---|---|\n",
    );
    for kind in kinds() {
        let _ = writeln!(page, "| `{}` | {} | {kind} |", kind.code(), class(kind.class()));
    }
    page.push_str(
        "\n## Rules on events\n\nThe number is that of `docs/spec/events-v4.md`, section 13.\n\n\
         | code | class | rule | what is wrong |\n|---|---|---|---|\n",
    );
    for rule in Rule::ALL {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} |",
            rule.code(),
            class(rule.class()),
            rule.spec(),
            rule.text()
        );
    }
    page.push_str(STEPS);
    page.push_str(WRITING);
    page
}

#[test]
fn the_page_lists_every_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/codes.md");
    let page = page();
    if std::env::var_os("DSHLOG_WRITE_DOCS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let stored = std::fs::read_to_string(path).unwrap();
    assert!(stored == page, "docs/codes.md is behind; run this test with DSHLOG_WRITE_DOCS=1");
}

#[test]
fn codes_are_unique() {
    let mut codes: Vec<_> = kinds().iter().map(ErrorKind::code).collect();
    codes.extend(Rule::ALL.iter().map(|rule| rule.code()));
    let count = codes.len();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), count);
}
