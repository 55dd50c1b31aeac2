//! What is learned of a session's subagents, from homes that are written here.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::convert::Infallible;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use dshlog_codec::json::JsString;
use dshlog_codec::{Event, Generation, Limits, LogFile};
use dshlog_migrate::children::{ChildFault, Evidence, Fact, Families, Mode, collect};
use dshlog_migrate::vfs::OsFs;
use dshlog_migrate::{Kin, Migrator, Outcome, Run, RunError, migrate_in_memory};

/// Write a log; a row is what stands behind its seq and time.
fn write(root: &Path, generation: u64, id: &str, header: &str, rows: &[&str]) -> PathBuf {
    let folder = root.join("project").join(id);
    fs::create_dir_all(&folder).unwrap();
    let mut text = format!(
        "{{\"type\":\"session\",\"version\":{generation},\"id\":\"{id}\",\"createdAt\":1000,{header},\"delegationDepth\":1}}\n"
    );
    for (seq, row) in rows.iter().enumerate() {
        writeln!(text, "{{\"seq\":{seq},\"time\":7,{row}}}").unwrap();
    }
    let path = folder.join(format!("session.v{generation}.jsonl"));
    fs::write(&path, text).unwrap();
    path
}

const CHILD: &str = r#""isSeeded":false,"origin":"subagent","parentSession":"parent""#;

fn evidence(root: &Path) -> Evidence {
    collect(root, &JsString::from("parent"), &Limits::default()).unwrap()
}

/// What one child with these rows says of itself; the error is what its warning is about.
fn learned(generation: u64, rows: &[&str]) -> Result<Option<Fact>, &'static str> {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), generation, "child", CHILD, rows);
    let Evidence { children, warnings, .. } = evidence(root.path());
    let [child] = children.as_slice() else { panic!("one child") };
    assert_eq!((child.id.as_str(), child.created_at), (Some("child"), 1000));
    match warnings.first().map(|warning| &warning.fault) {
        None => Ok(child.fact.clone()),
        Some(fault) => {
            assert_eq!(child.fact, None);
            Err(match fault {
                ChildFault::Run(RunError::Refused(refusal)) => refusal.code,
                ChildFault::Run(RunError::Read(error)) | ChildFault::Check(error) => error.code(),
                ChildFault::Descriptor { member } => member,
                ChildFault::Run(other) => panic!("{other}"),
            })
        }
    }
}

fn descriptor(data: &str) -> String {
    format!(r#""type":"subagent/descriptor","data":{data}"#)
}

#[test]
fn descriptors() {
    let fact = |mode, label: Option<&str>| Ok(Some(Fact { mode, label: label.map(Into::into) }));
    for (data, expected) in [
        (r#"{"version":3,"mode":"one-shot","provider":"p"}"#, fact(Mode::OneShot, None)),
        (r#"{"version":2,"mode":"one-shot","provider":"","label":"L"}"#, fact(Mode::OneShot, Some("L"))),
        (
            r#"{"version":3,"mode":"continuable","provider":"p","label":""}"#,
            fact(Mode::Continuable, Some("")),
        ),
        (r#"{"version":1,"provider":"p","label":"x"}"#, fact(Mode::Continuable, Some("x"))),
        (r#"{"version":1,"mode":"one-shot","provider":"p","label":"x"}"#, fact(Mode::Continuable, Some("x"))),
        (r#"{"version":1,"provider":"p"}"#, Err("label")),
        (r#"{"version":3,"mode":"continuable","provider":"p"}"#, Err("label")),
        (r#"{"version":3,"mode":"one-shot","provider":"p","label":null}"#, Err("label")),
        (r#"{"version":3,"mode":"external","provider":"p"}"#, Err("mode")),
        (r#"{"version":3,"mode":"one-shot"}"#, Err("provider")),
        (r#"{"version":4,"mode":"one-shot","provider":"p"}"#, Ok(None)),
        (r#"{"mode":"one-shot","provider":"p"}"#, Ok(None)),
    ] {
        for generation in [3, 4] {
            assert_eq!(learned(generation, &[&descriptor(data)]), expected, "V{generation} {data}");
        }
    }
    let one = descriptor(r#"{"version":3,"mode":"one-shot","provider":"p"}"#);
    assert_eq!(learned(3, &[]), Ok(None));
    assert_eq!(learned(3, &[&one, &one]), Ok(None));
    // Up to V2 a descriptor of another version stops the log.
    assert_eq!(learned(2, &[&descriptor(r#"{"version":1,"provider":"p","label":"x"}"#)]), Err("payload"));
}

#[test]
fn children_that_contradict_themselves() {
    let one = descriptor(r#"{"version":3,"mode":"one-shot","provider":"p"}"#);
    let second_turn = r#""type":"turn/start","data":{"turn":2}"#;
    for generation in [3, 4] {
        assert_eq!(learned(generation, &[second_turn, &one]), Err("turn-order"));
    }
    // What only a session refuses counts as well, but V3 has no such rules.
    let turn = r#""type":"turn/start","data":{"turn":1}"#;
    let header = r#""type":"request/header","data":{"header":{"config":{"model":""}},"reason":"zz"}"#;
    assert!(learned(3, &[turn, header, &one]).unwrap().is_some());
    assert_eq!(learned(4, &[turn, header, &one]), Err("request-header"));
    assert_eq!(learned(3, &[r#""type":"zz/new","data":{}"#, &one]), Err("unknown-event"));
}

#[test]
fn only_direct_subagents_of_the_newest_generation_count() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let one = descriptor(r#"{"version":3,"mode":"one-shot","provider":"p"}"#);
    write(root, 3, "parent", r#""isSeeded":false"#, &[]);
    write(root, 3, "fork", r#""isSeeded":false,"parentSession":"parent""#, &[&one]);
    write(root, 3, "grandchild", r#""isSeeded":false,"origin":"subagent","parentSession":"child""#, &[&one]);
    write(root, 3, "child", CHILD, &[&one]);
    let newest = write(root, 4, "child", CHILD, &[]);
    let inherited = r#""type":"session/end-seed","data":{"inherited":true}"#;
    let seeded = CHILD.replace("false", "true");
    write(root, 3, "seeded", &seeded, &[&one, inherited, &one]);
    fs::create_dir_all(root.join("project/broken")).unwrap();
    fs::write(root.join("project/broken/session.v3.jsonl"), "{").unwrap();
    let found = evidence(root);
    let seen: Vec<_> = found.children.iter().map(|child| (child.id.as_str(), child.fact.is_some())).collect();
    assert_eq!(seen, [(Some("child"), false), (Some("seeded"), true)]);
    assert_eq!(found.children.first().unwrap().path, Some(newest));
    assert!(found.warnings.is_empty());
}

#[test]
fn a_child_that_changes_under_the_reader() {
    let root = tempfile::tempdir().unwrap();
    write(root.path(), 3, "child", CHILD, &[]);
    let families = Families::below(root.path()).unwrap();
    let evidence = || families.evidence(&JsString::from("parent"), &Limits::default());
    assert_eq!(evidence().unwrap().children.len(), 1);
    assert!(families.evidence(&JsString::from("child"), &Limits::default()).unwrap().children.is_empty());
    write(root.path(), 3, "child", &format!("{CHILD},\"agentPreset\":\"x\""), &[]);
    assert_eq!(evidence().unwrap_err().code(), "changed");
}

/// `docs/spec/events-v4.md`, 10.11 and 10.12, for a whole home.
#[test]
fn a_parent_with_its_children() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let parent = write(root, 3, "parent", r#""isSeeded":false"#, &[r#""type":"todo/write","data":null"#]);
    write(root, 3, "child", CHILD, &[&descriptor(r#"{"version":3,"mode":"one-shot","provider":"p"}"#)]);
    let log = LogFile::open(&parent).unwrap();
    let mut rows = Vec::new();
    let migrated =
        migrate_in_memory(&log, Some(evidence(root).children), &Limits::default(), |event: &Event<'_>| {
            let mut row = Vec::new();
            event.print_row(&mut row);
            rows.push(String::from_utf8(row).unwrap());
            Ok::<_, Infallible>(())
        });
    let migrated = migrated.unwrap();
    assert_eq!((migrated.header.version, migrated.done.events, migrated.done.cut), (Generation(4), 2, 0));
    assert!(migrated.verdict.storage.is_none() && migrated.verdict.session.is_none());
    let added = r#"{"type":"subagent/catalog","seq":1,"time":7,"data":{"version":0,"childId":"child","childCreatedAt":1000,"mode":"one-shot"}}"#;
    assert_eq!(rows, [r#"{"seq":0,"time":7,"type":"todo/write","data":null}"#, added]);
}

#[test]
fn what_v4_cannot_hold_and_what_no_session_opens_on() {
    let root = tempfile::tempdir().unwrap();
    let verdict = |rows: &[&str]| {
        let log = LogFile::open(&write(root.path(), 3, "parent", r#""isSeeded":false"#, rows)).unwrap();
        let see = |_: &Event<'_>| Ok::<_, Infallible>(());
        let verdict = migrate_in_memory(&log, Some(Vec::new()), &Limits::default(), see).unwrap().verdict;
        let code = |fault: Option<dshlog_codec::Error>| fault.map(|fault| fault.code());
        (code(verdict.storage), code(verdict.session))
    };
    let turn = r#""type":"turn/start","data":{"turn":1}"#;
    assert_eq!(verdict(&[turn]), (None, None));
    assert_eq!(verdict(&[turn, turn]).0, Some("turn-order"));
    let header =
        r#""type":"request/header","data":{"header":{"config":{"provider":"p","model":"m"}},"reason":"zz"}"#;
    assert_eq!(verdict(&[turn, header]), (None, Some("request-header")));
}

#[test]
fn a_receiver_can_stop_a_run() {
    let root = tempfile::tempdir().unwrap();
    let turn = r#""type":"turn/start","data":{"turn":1}"#;
    let path = write(root.path(), 3, "parent", r#""isSeeded":false"#, &[turn, turn]);
    let run = Run::open(&LogFile::open(&path).unwrap(), Generation(4), Some(Vec::new()), &Limits::default());
    let mut seen = 0;
    let stopped = run.unwrap().each(|_| {
        seen += 1;
        Err("full")
    });
    assert!(matches!(stopped, Err(RunError::Receiver("full"))));
    assert_eq!(seen, 1);
}

/// Whether evidence that was taken in front of `act` still holds behind it; else what the refusal is called.
#[track_caller]
fn holds(act: impl FnOnce(&Path)) -> Result<(), &'static str> {
    let temp = tempfile::tempdir().unwrap();
    // As a migrator finds it: the path of a temporary folder may have links in it.
    let root = temp.path().canonicalize().unwrap();
    write(&root, 3, "parent", r#""isSeeded":false"#, &[]);
    write(&root, 3, "child", CHILD, &[&descriptor(r#"{"version":3,"mode":"one-shot","provider":"p"}"#)]);
    fs::create_dir_all(root.join("project/coming")).unwrap();
    fs::create_dir_all(root.join("project/begun")).unwrap();
    fs::write(root.join("project/begun/session.v3.jsonl"), "").unwrap();
    let (kin, parent, limits) = (Kin::default(), JsString::from("parent"), Limits::default());
    let evidence = kin.evidence(&root, &parent, &limits).unwrap();
    assert_eq!(evidence.children.len(), 1);
    act(&root);
    kin.recheck(&root, &parent, &evidence, &limits).map_err(|problem| problem.code())
}

#[test]
fn evidence_is_looked_at_again() {
    let child = |root: &Path| root.join("project/child/session.v3.jsonl");
    assert_eq!(holds(|_| {}), Ok(()));
    // Nothing that makes a child.
    assert_eq!(holds(|root| fs::write(root.join("notes.txt"), "x").unwrap()), Ok(()));
    assert_eq!(holds(|root| drop(write(root, 3, "stranger", r#""isSeeded":false"#, &[]))), Ok(()));
    // The same log with another row, and none any more.
    let more = |root: &Path| fs::write(child(root), [&fs::read(child(root)).unwrap()[..], b"{}\n"].concat());
    assert_eq!(holds(|root| more(root).unwrap()), Err("changed"));
    assert_eq!(holds(|root| fs::remove_dir_all(root.join("project/child")).unwrap()), Err("changed"));
    // Made meanwhile: at all, in a folder that was there, and in a file that was there.
    for id in ["another", "coming", "begun"] {
        assert_eq!(holds(|root| drop(write(root, 3, id, CHILD, &[]))), Err("changed"), "{id}");
    }
}

#[test]
fn a_child_that_is_migrated_meanwhile_stays_who_it_is() {
    let migrate = |root: &Path| {
        let kin = Kin::default();
        let migrator = Migrator { vfs: &OsFs, kin: &kin, limits: Limits::default(), dry_run: false };
        migrator.migrate(root, &root.join("project/child"), &mut |_| {}).outcome
    };
    // Its folder is not the one that its header leads to, so it is written by hand.
    let again = |root: &Path, label: &str| {
        let data = format!(r#"{{"version":3,"mode":"one-shot","provider":"p"{label}}}"#);
        write(root, 4, "child", CHILD, &[&descriptor(&data)]);
    };
    assert_eq!(holds(|root| again(root, "")), Ok(()));
    assert_eq!(holds(|root| again(root, r#","label":"other""#)), Err("changed"));
    let temp = tempfile::tempdir().unwrap();
    write(temp.path(), 3, "child", CHILD, &[]);
    assert!(matches!(migrate(temp.path()), Outcome::Refused(problem) if problem.code() == "identity"));
}

#[cfg(unix)]
#[test]
fn a_child_may_be_where_the_system_lets_nobody_look() {
    use std::os::unix::fs::PermissionsExt;

    let temp = tempfile::tempdir().unwrap();
    let cwd = temp.path().join("work");
    let project = dshlog_codec::home::project_key(Some(&JsString::from(cwd.to_str().unwrap()))).unwrap();
    let header = format!(r#""cwd":"{}","isSeeded":false"#, cwd.display());
    write(temp.path(), 3, "parent", &header, &[]);
    fs::rename(temp.path().join("project"), temp.path().join(&project)).unwrap();
    let hidden = temp.path().join("hidden");
    fs::create_dir(&hidden).unwrap();
    let outcome = || {
        let kin = Kin::default();
        let migrator = Migrator { vfs: &OsFs, kin: &kin, limits: Limits::default(), dry_run: true };
        migrator.migrate(temp.path(), &temp.path().join(&project).join("parent"), &mut |_| {}).outcome
    };
    assert!(matches!(outcome(), Outcome::Would { .. }), "{:?}", outcome());
    fs::set_permissions(&hidden, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(&hidden).is_ok() {
        dshlog_tests::model::skip("nothing is hidden from this user");
        return;
    }
    assert!(matches!(outcome(), Outcome::Failed(problem) if problem.code() == "no-permission"));
    fs::set_permissions(&hidden, fs::Permissions::from_mode(0o700)).unwrap();
}

/// What a dry run says of the parent of a child whose folder `spoil` has changed.
fn parent_of(spoil: impl FnOnce(&Path)) -> Outcome {
    let temp = tempfile::tempdir().unwrap();
    let project = dshlog_codec::home::project_key(Some(&JsString::from("/work"))).unwrap();
    write(temp.path(), 3, "parent", r#""cwd":"/work","isSeeded":false"#, &[]);
    let log = write(temp.path(), 2, "child", CHILD, &[]);
    fs::rename(temp.path().join("project/parent"), temp.path().join("parent")).unwrap();
    fs::create_dir(temp.path().join(&project)).unwrap();
    fs::rename(temp.path().join("parent"), temp.path().join(&project).join("parent")).unwrap();
    spoil(log.parent().unwrap());
    let kin = Kin::default();
    let migrator = Migrator { vfs: &OsFs, kin: &kin, limits: Limits::default(), dry_run: true };
    migrator.migrate(temp.path(), &temp.path().join(&project).join("parent"), &mut |_| {}).outcome
}

#[test]
fn a_child_is_not_left_out_in_silence() {
    let code = |outcome: Outcome| match outcome {
        Outcome::Would { events } => format!("{events} events"),
        Outcome::Refused(problem) | Outcome::Failed(problem) => problem.code().to_owned(),
        other => format!("{other:?}"),
    };
    assert_eq!(code(parent_of(|_| {})), "1 events");
    // Another of its logs says whose it is, and the newest cannot be had.
    assert_eq!(code(parent_of(|child| fs::create_dir(child.join("session.v3.jsonl")).unwrap())), "io");
    let mixed = |child: &Path| fs::write(child.join("session.v3.jsonl.zstd"), "").unwrap();
    assert_eq!(code(parent_of(mixed)), "mixed-encodings");
    #[cfg(unix)]
    assert_eq!(
        code(parent_of(|child| std::os::unix::fs::symlink("gone", child.join("session.v3.jsonl")).unwrap())),
        "io"
    );
    // The official reader passes over a log whose header it does not understand.
    assert_eq!(code(parent_of(|child| fs::write(child.join("session.v3.jsonl"), "").unwrap())), "0 events");
    // And a folder without any log is no session.
    assert_eq!(code(parent_of(|child| fs::remove_file(child.join("session.v2.jsonl")).unwrap())), "0 events");
}
