//! `dshlog migrate`.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
#[cfg(unix)]
mod killed;
#[cfg(unix)]
mod trouble;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use dshlog_tests::cmd::Place;
use insta::assert_snapshot;
use serde_json::Value;

use crate::{PROGRAM, place};

/// A home of every sort: old logs of V0 and V3, with subagents, one in V4, three that are refused.
const HOME: [&str; 7] = [
    "v3-fork",
    "v0-0.1.0rc6-bash-echo",
    "v0-0.1.1rc1-workflow",
    "v0-0.1.2rc1-appended-ignorable-unknown",
    "v4-thinking",
    "broken-v3-seq-gap-middle",
    "broken-v0-raw-other-id-a",
];

#[test]
fn a_home() {
    let place = place(&HOME);
    let told: String = [
        &["migrate", "--all", "--dry-run"][..],
        &["migrate", "--all", "--dry-run", "--quiet"],
        &["migrate", "--all"],
        &["migrate", "--all"],
        &["migrate", "--all", "--quiet"],
        &["migrate", "--all", "--quiet", "--width", "60"],
        &["migrate", "--all", "--format", "json"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("home", told);
}

/// Sessions by every name that there is; each once, however often it was named.
#[test]
fn by_name() {
    let place = place(&["v3-fork", "v3-thinking", "v4-thinking"]);
    let log = log_of(&place, "a1df227a");
    let (log, folder) = (log.to_str().unwrap(), log.parent().unwrap().to_str().unwrap());
    fs::copy(log, place.path().join("session.v3.jsonl.zstd")).unwrap();
    let told: String = [
        &["migrate", "a1df227a", folder, log, "session-a1df227a", "--dry-run"][..],
        &["migrate", log],
        &["migrate", log],
        &["migrate", "latest"],
        &["migrate", "nobody", "8652561f"],
        &["migrate", "8652561f", "session-"],
        &["migrate", "session.v3.jsonl.zstd"],
        &["migrate", "home"],
        &["migrate", "nobody"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("names", place.redacted(&told));
}

#[test]
fn homes_with_nothing_to_do() {
    let place = Place::empty(PROGRAM);
    let mut told = place.told(&["migrate", "--all"]);
    fs::create_dir_all(place.home().join("sessions/--tmp--/session-a")).unwrap();
    told += &place.told(&["migrate", "--all"]);
    told += &place.told(&["migrate", "--all", "--format", "json"]);
    assert_snapshot!("nothing", told);
}

/// A dry run says what would be, and writes nothing, not even a lock file.
#[test]
fn a_dry_run_writes_nothing() {
    let place = place(&HOME);
    let before = files(&place.home());
    let dry = documents(&place.run(&["migrate", "--all", "--dry-run", "--format", "json"]));
    assert_eq!(files(&place.home()), before);
    let wet = documents(&place.run(&["migrate", "--all", "--format", "json"]));
    assert_eq!(dry.len(), wet.len());
    for (dry, wet) in dry.iter().zip(&wet) {
        let status =
            if wet["status"] == "migrated" { "would-migrate" } else { wet["status"].as_str().unwrap() };
        assert_eq!(dry["status"], status, "{dry}");
        for member in ["session", "path", "from", "reason", "events", "warnings"] {
            assert_eq!(dry[member], wet[member], "{member} of {dry}");
        }
        assert_eq!(dry["bytes"]["source"], wet["bytes"]["source"]);
    }
}

/// Results come in the order of names, however many work on them.
#[test]
fn the_number_of_jobs_changes_nothing() {
    let told = |jobs: &str| {
        let place = place(&HOME);
        let output = place.run(&["migrate", "--all", "--jobs", jobs, "--format", "json"]);
        (place.redacted(&String::from_utf8(output.stdout).unwrap()), output.status.code())
    };
    let alone = told("1");
    assert_eq!(alone.1, Some(1));
    for jobs in ["2", "7"] {
        assert_eq!(told(jobs), alone, "--jobs {jobs}");
    }
}

/// The log of the session whose id, without `session-`, begins so.
fn log_of(place: &Place, id: &str) -> PathBuf {
    let found = files(&place.home()).into_keys().find(|path| {
        let folder = path.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
        folder.trim_start_matches("session-").starts_with(id)
    });
    place.home().join(found.unwrap_or_else(|| panic!("no session {id}")))
}

/// What a program is told.
fn documents(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The document about the session whose id begins so.
fn about<'d>(documents: &'d [Value], id: &str) -> &'d Value {
    let named = |document: &&Value| {
        document["session"].as_str().unwrap_or_default().trim_start_matches("session-").starts_with(id)
    };
    documents.iter().find(named).unwrap_or_else(|| panic!("nothing is said of {id}"))
}

/// What is in a file, and what the system says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stored {
    bytes: Vec<u8>,
    modified: std::time::SystemTime,
    mode: u32,
}

type Files = BTreeMap<PathBuf, Stored>;

/// All files below a folder, by their paths from there. A link to nothing is an empty file.
fn files(folder: &Path) -> Files {
    fn see(root: &Path, folder: &Path, all: &mut Files) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            if metadata.is_dir() {
                see(root, &path, all);
                continue;
            }
            let stored = Stored {
                bytes: fs::read(&path).unwrap_or_default(),
                modified: metadata.modified().unwrap(),
                mode: mode(&metadata),
            };
            all.insert(path.strip_prefix(root).unwrap().to_owned(), stored);
        }
    }
    let mut all = BTreeMap::new();
    see(folder, folder, &mut all);
    all
}

#[cfg(unix)]
fn mode(metadata: &fs::Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    metadata.permissions().mode() & 0o7777
}

#[cfg(not(unix))]
fn mode(_: &fs::Metadata) -> u32 {
    0o600
}

fn is_lock(path: &Path) -> bool {
    path.ends_with("session.lock")
}

fn is_temp(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "tmp")
}
