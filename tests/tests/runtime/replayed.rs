//! The real dsh runs recorded sessions again: the script that was made of the logs takes the place of the model service, the
//! recorded prompts and steps that of the person, and the log that dsh writes is the recorded one.
//!
//! Each case is a captured conversation with a description of how it was made (`corpora/runs`). What cannot come out equal is not
//! among them: a model that quotes a drawn id, as that of a goal, quotes the old one; and of a summary that was too long the log
//! keeps no more than its estimated tokens, so another one is as long only by chance. Of efforts, one that
//! goes back to the default is asked for by dsh 0.2.1-rc.2 in a way that no step here takes. Images are uploaded, which no log records,
//! and a process that is killed leaves no trace of what it was asking.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test may stop and speak")]

use std::collections::HashMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::process::Command;

use dshlog_codec::check::EventType;
use dshlog_codec::home::Walk;
use dshlog_codec::json::Js;
use dshlog_codec::{Event, Generation, Limits, LogFile};
use dshlog_fixture_server::{FixtureServer, Outcome, ServerThread};
use dshlog_migrate::migrate_in_memory;
use dshlog_replay::agent::rerun::Record;
use dshlog_replay::compare::{Rules, Source, compare};
use dshlog_replay::script::{Options, script};
use dshlog_tests::model::skip;
use dshlog_tests::runs::{Run, fill};
use dshlog_tests::runtime::Runtime;

/// The records of a conversation, roots first.
fn records(run: &Run) -> Vec<Record> {
    run.logs().iter().map(|log| record(log)).collect()
}

/// A log in the form of V4.
fn record(path: &Path) -> Record {
    let file = LogFile::open(path).unwrap();
    let header = file.header().unwrap().to_current();
    let mut cut = 0;
    walk(&file, &mut |event| {
        if event.is("session/end-seed") && event.member("inherited").is_some_and(Js::is_true) {
            cut = event.seq.0;
        }
    });
    let mut record = Record::new(header, cut).stored_as(file.generation());
    walk(&file, &mut |event| record.see(event).unwrap());
    record.finish();
    record
}

fn walk(file: &LogFile, see: &mut dyn FnMut(&Event<'_>)) {
    if file.generation() == Generation::CURRENT {
        let mut reader = file.read(&Limits::default()).unwrap();
        while let Some(event) = reader.next_event().unwrap() {
            see(&event);
        }
        return;
    }
    let each = |event: &Event<'_>| {
        see(event);
        Ok::<_, Infallible>(())
    };
    migrate_in_memory(file, Some(Vec::new()), &Limits::default(), each).unwrap();
}

/// The first thing that a person said in a session.
fn first_user(record: &Record) -> Option<String> {
    let mut found = None;
    let Ok(()) = record.each(&mut |event| {
        if found.is_none() && EventType::of(event.kind) == Some(EventType::UserMessage) {
            found = event.member("content").map(|content| content.raw().to_owned());
        }
    });
    found
}

fn is_root(record: &Record) -> bool {
    record.header().parent_session.is_none()
}

fn id(record: &Record) -> String {
    record.header().id.to_lossy().into_owned()
}

/// The logs below a home.
fn written(home: &Path) -> Vec<Record> {
    let walk = Walk::new(&home.join("sessions")).unwrap();
    walk.sessions.iter().filter_map(|session| Some(record(&session.newest()?.path))).collect()
}

/// A working directory as the makers of the corpora had it, with a name as long as theirs: the estimate of what a message
/// costs, which a compaction records, counts its letters.
fn work() -> tempfile::TempDir {
    let folder = tempfile::Builder::new().prefix("d").rand_bytes(6).tempdir_in("/tmp").unwrap();
    fill(folder.path()).unwrap();
    folder
}

/// Run a case again. Gives what is different.
fn replay(runtime: &Runtime, case: &Run) -> Vec<String> {
    let recorded = records(case);
    // One that is driven lives on, and has its title in time.
    let title_wait_ms = if case.list("actions").is_empty() { 2000 } else { 0 };
    let options = Options { title_wait_ms, ..Options::default() };
    let made = script(&recorded.iter().collect::<Vec<_>>(), options).unwrap();
    let server = FixtureServer::spawn(made.script).unwrap();
    let (place, work) = (tempfile::tempdir().unwrap(), work());
    let (home, folder) = (place.path().join("home"), work.path());
    let patches: Vec<PathBuf> = (0..)
        .map(|n| place.path().join(format!("patch-{n}.yml")))
        .zip(case.texts("patches"))
        .map(|(path, text)| {
            std::fs::write(&path, text).unwrap();
            path
        })
        .collect();
    let mut differences = Vec::new();
    let mut ids = HashMap::new();
    for (words, exit) in case.commands() {
        let mut command = runtime.command(&home);
        command.current_dir(folder).env("DEEPSEEK_BASE_URL", server.url()).envs(case.env());
        arguments(&mut command, &words, &patches, runtime, case, &ids);
        let output = command.output().unwrap();
        if output.status.code().map(i64::from) != exit {
            let words = String::from_utf8_lossy(&output.stderr).into_owned();
            differences.push(format!("ended with {:?}, not {exit:?}: {words}", output.status.code()));
        }
        ids.extend(pairs(&recorded, &written(&home)).into_iter().map(|(a, b)| (id(&recorded[a]), b)));
    }
    differences.extend(told(server));
    let written = written(&home);
    let paired: HashMap<usize, String> = pairs(&recorded, &written).into_iter().collect();
    for (number, record) in recorded.iter().enumerate() {
        let other = paired.get(&number).and_then(|other| written.iter().find(|log| id(log) == *other));
        differences.extend(match other {
            Some(other) => difference(record, other),
            None => Some(format!("session {number} is missing")),
        });
    }
    if written.len() != recorded.len() {
        differences.push(format!("{} sessions, not {}", written.len(), recorded.len()));
    }
    differences
}

/// The arguments of a recorded command, with what is here in the places of what was there.
fn arguments(
    command: &mut Command,
    words: &[&str],
    patches: &[PathBuf],
    runtime: &Runtime,
    case: &Run,
    ids: &HashMap<String, String>,
) {
    let here = |text: &str| ids.iter().fold(text.to_owned(), |text, (a, b)| text.replace(a, b));
    for word in words.iter().skip(1) {
        if let Some(n) = word.strip_prefix("driver with actions ") {
            let actions = &case.list("actions")[n.parse::<usize>().unwrap()];
            command.env("DSHLOG_ACTIONS", here(&actions.to_string()));
            command.arg(runtime.actions().unwrap());
        } else if let Some(n) = word.strip_prefix("patch ") {
            command.arg(&patches[n.parse::<usize>().unwrap()]);
        } else {
            command.arg(here(word));
        }
    }
}

/// What the server has to say of what it was asked.
fn told(server: ServerThread) -> Option<String> {
    let captures = server.captures();
    let trouble = captures.iter().find_map(|capture| match &capture.outcome {
        Outcome::Unmatched(report) => Some(report.to_string()),
        Outcome::Diverged { differences, .. } => Some(format!("{differences:#?}")),
        _ => None,
    });
    let verdict = server.stop();
    (!verdict.is_good()).then(|| format!("{verdict}\n{}", trouble.unwrap_or_default()))
}

/// Which written session is which recorded one, by the number of the latter: one with its id, else one of its kind that
/// begins with the same words.
fn pairs(recorded: &[Record], written: &[Record]) -> Vec<(usize, String)> {
    let mut free: Vec<&Record> = written.iter().collect();
    let mut pairs = Vec::new();
    let mut pair = |number: usize, fits: &dyn Fn(&Record) -> bool| {
        if let Some(at) = free.iter().position(|log| fits(log)) {
            pairs.push((number, id(free.remove(at))));
            return true;
        }
        false
    };
    let mut left = Vec::new();
    for (number, record) in recorded.iter().enumerate() {
        if !pair(number, &|log| id(log) == id(record)) {
            left.push((number, record));
        }
    }
    for (number, record) in left {
        let fits = |log: &Record| is_root(log) == is_root(record);
        _ = pair(number, &|log| fits(log) && first_user(log) == first_user(record)) || pair(number, &fits);
    }
    pairs
}

fn difference(recorded: &Record, written: &Record) -> Option<String> {
    let Ok(comparison) = compare(recorded, written, Rules::default());
    if comparison.is_equal() {
        return None;
    }
    let Ok(first) = comparison.first_difference(recorded, written);
    let told = first.map(|first| {
        let at = first.a.or(first.b).map(|at| format!("{} at seq {}", at.kind, at.seq)).unwrap_or_default();
        let change = first.change.map(|change| format!("{:?}\nagainst {:?}", change.a, change.b));
        format!("{:?} {at}: {}", first.verdict, change.unwrap_or_default())
    });
    let header = comparison.header();
    Some(format!(
        "{} differences {header:?}, first {}",
        comparison.differences().len(),
        told.unwrap_or_default()
    ))
}

/// Dsh 0.2.1-rc.2 as the makers of the captured conversations had it: without its search tool.
fn new_dsh() -> Option<Runtime> {
    let alone = Runtime::find()?.alone();
    alone.map_err(|error| skip(&format!("the real runtime cannot be set apart: {error}"))).ok()
}

/// Dsh 0.1.5-rc.1.
fn old_dsh() -> Option<Runtime> {
    Runtime::find_older()
}

#[track_caller]
fn check(runtime: Option<Runtime>, name: &str) {
    let Some(runtime) = runtime else { return };
    let case = Run::of(name);
    let differences = replay(&runtime, &case);
    assert!(differences.is_empty(), "{name}:\n{}", differences.join("\n"));
}

/// A test for each case.
macro_rules! cases {
    ($find:ident, $prefix:literal: $($name:ident $case:literal,)*) => {
        $(
            #[test]
            fn $name() {
                check($find(), concat!($prefix, "-", $case));
            }
        )*
    };
}

mod current {
    use super::*;

    cases! {
        new_dsh, "v4":
        plain "plain",
        thinking "thinking",
        signatures "signatures",
        long_text "long-text",
        unicode "unicode",
        empty_answer "empty-answer",
        tool "tool",
        tools_parallel "tools-parallel",
        tool_error "tool-error",
        bad_args "bad-args",
        repeat_tool "repeat-tool",
        max_tokens_tool "max-tokens-tool",
        http_400 "http-400",
        http_401 "http-401",
        http_500 "http-500",
        http_529 "http-529",
        retry_exhausted "retry-exhausted",
        error_event "error-event",
        error_event_kinds "error-event-kinds",
        reset_mid "reset-mid",
        eof_mid "eof-mid",
        cut_before_first "cut-before-first",
        malformed "malformed",
        stop_reasons "stop-reasons",
        odd_chunks "odd-chunks",
        pings "pings",
        three_turns "three-turns",
        two_sessions "two-sessions",
        prompt_changed "prompt-changed",
        tools_changed "tools-changed",
        fork "fork",
        subagent "subagent",
        subagent_fork "subagent-fork",
        compact_manual "compact-manual",
        compact_fails "compact-fails",
        cancel_stream "cancel-stream",
        cancel_early "cancel-early",
        cancel_tool "cancel-tool",
        title_late "title-late",
    }
}

mod older {
    use super::*;

    cases! {
        old_dsh, "v3":
        plain "plain",
        thinking "thinking",
        unicode "unicode",
        empty_answer "empty-answer",
        tool "tool",
        tools_parallel "tools-parallel",
        tool_error "tool-error",
        bad_args "bad-args",
        max_tokens_tool "max-tokens-tool",
        http_400 "http-400",
        http_401 "http-401",
        http_500 "http-500",
        http_529 "http-529",
        reset_mid "reset-mid",
        eof_mid "eof-mid",
        cut_before_first "cut-before-first",
        stop_reasons "stop-reasons",
        odd_chunks "odd-chunks",
        three_turns "three-turns",
        two_sessions "two-sessions",
        prompt_changed "prompt-changed",
        tools_changed "tools-changed",
        effort "effort",
        fork "fork",
        subagent "subagent",
        compact_manual "compact-manual",
        compact_fails "compact-fails",
        cancel_stream "cancel-stream",
        cancel_tool "cancel-tool",
    }
}

/// The same again and again, and several at a time: nothing of one run is in another.
#[test]
fn one_behind_another_and_side_by_side() {
    let Some(runtime) = new_dsh() else { return };
    let case = Run::of("v4-tools-parallel");
    for _ in 0..2 {
        assert_eq!(replay(&runtime, &case), [""; 0]);
    }
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4).map(|_| scope.spawn(|| replay(&runtime, &case))).collect();
        for run in runs {
            assert_eq!(run.join().unwrap(), [""; 0]);
        }
    });
}
