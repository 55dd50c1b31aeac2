//! `docs/codes.md` lists every code, and is what this test would write.

use std::fmt::Write as _;

use dshlog_codec::check::Rule;
use dshlog_codec::json::JsonError;
use dshlog_codec::{Class, ErrorKind, Generation, Seq};

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
