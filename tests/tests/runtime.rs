//! What `dshlog migrate` and `dshlog fork` publish, in the hands of the real dsh 0.2.1-rc.2: it goes on with our logs as if it had migrated
//! them itself, and it would have migrated them to the same text. Runs where `DSHLOG_ORACLE_CACHE` names a folder with the
//! runtime in it, and says so where not.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test may stop and speak")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use dshlog_codec::Generation;
use dshlog_codec::home::{Temp, Walk, file_name, parse_name};
use dshlog_codec::json::{Doc, Js};
use dshlog_tests::cmd::Place;
use dshlog_tests::model::{Corpora, first_difference};
use dshlog_tests::runtime::{ModelServer, Moved, Runtime, Session, Store, files_of, plain_text};

#[path = "runtime/forks.rs"]
mod forks;
#[path = "runtime/lab.rs"]
mod lab;
#[path = "runtime/served.rs"]
mod served;
#[path = "runtime/suite.rs"]
mod suite;
#[path = "runtime/watch.rs"]
mod watch;

/// The files of a session folder, by name: mode, and bytes or text.
type Files = BTreeMap<OsString, (u32, Vec<u8>)>;

const PROGRAM: &str = env!("CARGO_BIN_EXE_dshlog");

const ANSWER: &str = "All of it is still here.";
const PROMPT: &str = "What do you remember?";

/// Homes of every old generation, both encodings, with what a later turn could stumble over: open turns, torn tails,
/// compacted surfaces, forks and subagents beside, old tools and models, names and texts that are no plain ASCII.
const CONTINUED: [&str; 16] = [
    "v0-0.1.0-rc.8-headless-plain",
    "v0-0.1.0rc6-commands",
    "v0-0.1.0rc6-raw-packed",
    "v0-0.1.0rc7-lone-surrogate",
    "v0-0.1.0rc7-model-switch",
    "v0-0.1.2a3-subagent-depth2",
    "v0-0.1.2rc1-kill9-mid-tool",
    "v1-0.1.0rc7-plan-mode",
    "v1-0.1.1rc1-compaction-auto",
    "v2-0.1.0rc6-kill9-mid-stream",
    "v2-0.1.2a3-store-fork",
    "v2-0.1.2rc1-delivery",
    "v3-empty",
    "v3-sdk-minimal",
    "v3-subagent",
    "v3-torn-checksum-torn",
];

#[test]
fn the_real_runtime_goes_on_with_what_we_migrated() {
    let Some(runtime) = Runtime::find() else { return };
    let mut store = Store::start(&runtime);
    for case in CONTINUED {
        let moved = Moved::case(case);
        let home = moved.home();
        let said: BTreeMap<_, _> =
            moved.sessions.iter().map(|session| (&session.id, texts(&mut store, &home, session))).collect();
        let old: Vec<_> = moved.sessions.iter().map(|session| files_of(&session.folder).unwrap()).collect();

        assert_eq!(migrate(&home, &[]).0, 0, "{case}");
        for (id, status) in store.list(&home) {
            assert_eq!(status, "current", "{case}: {id}");
        }
        let mut continued = 0;
        for (session, old) in moved.sessions.iter().zip(&old) {
            if session.can_go_on {
                assert_eq!(said[&session.id].is_empty(), case == "v3-empty", "{case} has a conversation");
                goes_on(&runtime, &home, session, old, &said[&session.id]);
                continued += 1;
            }
        }
        assert!(continued > 0, "{case} has a session that can be continued");
    }
}

/// One turn by the real runtime. `old` are the files from before the migration, `said` the texts of its conversation.
fn goes_on(
    runtime: &Runtime,
    home: &Path,
    session: &Session,
    old: &BTreeMap<OsString, Vec<u8>>,
    said: &[String],
) {
    let id = &session.id;
    let name = OsString::from(file_name(Generation::CURRENT, session.encoding));
    let ours = files_of(&session.folder).unwrap();
    let model = ModelServer::start(ANSWER);
    let output = runtime.turn(home, session, &model, PROMPT).unwrap().output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    let requests = model.requests();
    let asked: Vec<_> = requests.iter().map(|request| &request.line).collect();
    assert!(output.status.success(), "{id}: {told} {asked:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), ANSWER, "{id}: {told}");

    // Titles are asked for on the side, and without the conversation.
    let call = requests.iter().find(|call| is_call_with(&call.body, said));
    let call = call.unwrap_or_else(|| panic!("{id}: of {asked:?} none holds {said:?}"));
    assert_eq!(call.session.as_deref(), Some(&**id));

    let after = files_of(&session.folder).unwrap();
    for (file, bytes) in old {
        assert_eq!(after.get(file), Some(bytes), "{id}: {} is as it was", file.display());
    }
    assert_eq!(after.keys().collect::<Vec<_>>(), ours.keys().collect::<Vec<_>>(), "{id}: no new names");
    let (before, after) = (&ours[&name], &after[&name]);
    assert!(after.starts_with(before), "{id}: our bytes stay");
    assert!(after.len() > before.len(), "{id}: and more come behind them");
    let text = String::from_utf8(plain_text(&name, after).unwrap()).unwrap();
    for words in [PROMPT, ANSWER] {
        assert!(text.contains(words), "{id}: {words}");
    }
}

/// What user and model said to each other, as the real reader derives it: JSON strings, as the runtime prints them.
fn texts(store: &mut Store, home: &Path, session: &Session) -> Vec<String> {
    let answer = store.messages(home, &session.id).unwrap();
    let messages = answer.root().get("messages").unwrap();
    let spoken = messages
        .elements()
        .filter(|message| message.get("role").is_some_and(|role| role.is("user") || role.is("assistant")));
    let text = |block: Js<'_>| Some(block.get("text")?.raw().to_owned());
    let texts = spoken.filter_map(|message| message.get("content")).flat_map(Js::elements).filter_map(text);
    texts.filter(|text| text != "\"\"").collect()
}

/// True for a call of the model whose messages hold these texts, in this order, and the prompt behind them. The rest of the
/// body does not count: the client uploads the events of the log in it.
fn is_call_with(body: &[u8], said: &[String]) -> bool {
    let body = String::from_utf8(body.to_vec()).ok().and_then(|body| Doc::parse(body).ok());
    let Some(messages) = body.as_ref().and_then(|body| body.root().get("messages")) else { return false };
    let mut rest = messages.raw();
    let prompt = format!("\"{PROMPT}\"");
    said.iter().chain([&prompt]).all(|text| match rest.split_once(&**text) {
        Some((_, behind)) => {
            rest = behind;
            true
        }
        None => false,
    })
}

/// Every old log of the corpora, sound and damaged: the real runtime and we publish the same text under the same names
/// with the same modes, or both refuse and publish nothing.
#[test]
fn the_real_runtime_publishes_the_same() {
    let Some(runtime) = Runtime::find() else { return };
    let mut store = Store::start(&runtime);
    let (mut migrated, mut refused) = (0, 0);
    let mut differences = Vec::new();
    for case in old_cases() {
        let (ours, theirs) = (Place::with(PROGRAM, &[&case]), Place::with(PROGRAM, &[&case]));
        let (_, reports) = migrate(&ours.home(), &[]);
        for session in Walk::new(&theirs.home().join("sessions")).unwrap().sessions {
            if session.newest().unwrap().generation >= Generation::CURRENT {
                continue;
            }
            let id = session.id.as_ref().and_then(|id| id.as_str()).unwrap();
            let below = session.path.strip_prefix(theirs.home()).unwrap();
            let folder = ours.home().join(below);
            // By the folder: the header may name another session, and is refused for it.
            let report = reports.iter().find(|report| report["path"] == *folder.to_string_lossy());
            let report = report.unwrap_or_else(|| panic!("{case}: no report about {id} in {reports:?}"));
            let verdict = store.migrate(&theirs.home(), id);
            let expected = if verdict.is_ok() { "migrated" } else { "refused" };
            *(if verdict.is_ok() { &mut migrated } else { &mut refused }) += 1;
            if report["status"] != expected {
                differences.push(format!("{case}: {id}: {verdict:?} against {report}"));
            }
            let (our_files, their_files) = (published(&folder), published(&session.path));
            let difference = difference(&our_files, &their_files);
            differences.extend(difference.map(|difference| format!("{case}: {id}: {difference}")));
        }
    }
    assert_eq!(differences, [""; 0]);
    assert!(migrated > 80 && refused > 10, "{migrated} migrated, {refused} refused");
}

/// What the real runtime published is current for us, dry run or not.
#[test]
fn what_the_real_runtime_published_is_current() {
    let Some(runtime) = Runtime::find() else { return };
    let mut store = Store::start(&runtime);
    for case in CONTINUED {
        let place = Place::with(PROGRAM, &[case]);
        let sessions = Walk::new(&place.home().join("sessions")).unwrap().sessions;
        for session in &sessions {
            store.migrate(&place.home(), session.id.as_ref().and_then(|id| id.as_str()).unwrap()).unwrap();
        }
        let theirs: Vec<_> = sessions.iter().map(|session| published(&session.path)).collect();
        for flags in [&["--dry-run"][..], &[]] {
            let (code, reports) = migrate(&place.home(), flags);
            assert_eq!((code, reports.len()), (0, sessions.len()), "{case}: {reports:?}");
            assert!(reports.iter().all(|report| report["status"] == "current"), "{case}: {reports:?}");
        }
        let after: Vec<_> = sessions.iter().map(|session| published(&session.path)).collect();
        assert_eq!(after, theirs, "{case}");
    }
}

/// Cases of the corpora with a log of an old generation.
fn old_cases() -> Vec<String> {
    let old = |generation: Generation| generation < Generation::CURRENT;
    let mut cases: Vec<_> =
        Corpora::own().entries.into_iter().filter(|e| old(e.generation)).map(|e| e.case).collect();
    cases.dedup();
    cases
}

/// Run `migrate --all` over a home. Gives the exit code and the document of each session.
fn migrate(home: &Path, flags: &[&str]) -> (i32, Vec<serde_json::Value>) {
    let output = Command::new(PROGRAM)
        .env_clear()
        .args(["migrate", "--all", "--format", "json", "--home"])
        .arg(home)
        .args(flags)
        .output()
        .unwrap();
    let reports: Vec<serde_json::Value> = String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect();
    assert!(reports.iter().all(|report| report["schema"] == "dshlog.migrate/1"), "{reports:?}");
    (output.status.code().unwrap(), reports)
}

/// A session folder: each file with its mode and what it holds, decompressed where it is a current log.
fn published(folder: &Path) -> Files {
    let files = files_of(folder).unwrap().into_iter().map(|(name, bytes)| {
        assert_eq!(Temp::parse(&name), None, "{} stayed behind", name.display());
        let mode = fs::metadata(folder.join(&name)).unwrap().permissions().mode();
        let is_current = parse_name(&name).is_some_and(|(generation, _)| generation == Generation::CURRENT);
        let text = if is_current { plain_text(&name, &bytes).unwrap() } else { bytes };
        (name, (mode & 0o777, text))
    });
    files.collect()
}

/// The first difference between two session folders.
fn difference(ours: &Files, theirs: &Files) -> Option<String> {
    let names = |files: &Files| files.keys().cloned().collect::<Vec<_>>();
    if names(ours) != names(theirs) {
        return Some(format!("{:?} against {:?}", names(ours), names(theirs)));
    }
    ours.iter().find_map(|(name, (mode, text))| {
        let (their_mode, their_text) = &theirs[name];
        if mode != their_mode {
            return Some(format!("{}: mode {mode:o} against {their_mode:o}", name.display()));
        }
        let difference = || first_difference(their_text, text);
        (text != their_text).then(|| format!("{}: {}", name.display(), difference()))
    })
}
