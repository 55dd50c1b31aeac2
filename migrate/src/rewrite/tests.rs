//! What is left of a fork when any step of its making goes wrong, and where none is made.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use dshlog_codec::home::{Temp, Walk};
use dshlog_codec::json::Doc;
use dshlog_codec::{Encoding, Event, Generation, Header, Limits};

use super::*;
use crate::problem::Problem;
use crate::publish::Published;
use crate::vfs::{Call, Fault, FaultFs, MemFs, OsFs, Vfs};

const ROOT: &str = "/home/sessions";

/// The events of a fork, one of them so large that it takes more than one write: a parent's turn, and the mark behind it.
fn rows() -> Vec<String> {
    let hex = |n: u64| format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let noise = (0..10_000).map(hex).collect::<Vec<_>>().concat();
    vec![
        r#"{"type":"turn/start","seq":0,"time":1,"data":{"turn":1,"trigger":{"kind":"prompt"}}}"#.to_owned(),
        format!(
            r#"{{"type":"plugin:x/noise","seq":1,"time":2,"data":{{"text":"{noise}"}},"ignorable":true}}"#
        ),
        r#"{"type":"session/end-seed","seq":2,"time":2,"data":{"inherited":true}}"#.to_owned(),
        r#"{"type":"turn/end","seq":3,"time":2,"data":{"turn":1,"reason":{"kind":"forked"}}}"#.to_owned(),
    ]
}

fn header(id: &str) -> Header {
    Header {
        version: Generation::CURRENT,
        id: id.into(),
        created_at: 5,
        cwd: Some("/tmp/ws".into()),
        parent_session: Some("parent".into()),
        seed_length: None,
        is_seeded: true,
        is_subagent: false,
        delegation_depth: 0,
        agent_preset: None,
    }
}

fn give(rows: &[String]) -> impl FnOnce(Push<'_>) -> Result<(), Problem> {
    move |push| {
        rows.iter().try_for_each(|row| {
            let doc = Doc::parse(row.as_str()).unwrap();
            push(&Event::from_row(doc.root(), dshlog_codec::Place::default()))
        })
    }
}

fn place(root: &Path, encoding: Encoding) -> Place {
    Place::new(root, &header("child"), encoding).unwrap()
}

/// What a publication does behind the look at the root, without the lock.
fn make(place: &Place, vfs: &dyn Vfs) -> Result<Published, Problem> {
    let (header, limits) = (header("child"), Limits::default());
    let fork = Fork { parent: Path::new("/parent"), header: &header, cut: 2, events: 4, limits: &limits };
    place.make(vfs)?;
    fork.write(place, vfs, give(&rows()))
}

/// A root with a session in another project.
fn root() -> MemFs {
    let fs = MemFs::default();
    fs.put(&Path::new(ROOT).join("--other--/parent/session.v4.jsonl"), b"somebody's");
    fs
}

/// What may be there: what was, the fork whole or not at all, temporary names.
#[track_caller]
fn check_files(files: &BTreeMap<PathBuf, Vec<u8>>, place: &Place, whole: &[u8], what: &str) -> usize {
    let mut temps = 0;
    for (path, bytes) in files {
        if *path == place.log() {
            assert!(bytes == whole, "{what}: a log that is not whole was published");
        } else if path.starts_with(place.folder()) {
            let name = path.file_name().unwrap();
            assert!(Temp::parse(name).is_some(), "{what}: {name:?} is there");
            temps += 1;
        } else {
            assert_eq!(bytes, b"somebody's", "{what}: {}", path.display());
        }
    }
    temps
}

#[test]
fn whatever_goes_wrong_the_fork_is_whole_or_not_there() {
    let mut met = BTreeSet::new();
    for encoding in [Encoding::Raw, Encoding::Zstd] {
        let place = place(Path::new(ROOT), encoding);
        let fs = root();
        let published = make(&place, &fs).unwrap();
        let whole = fs.seen()[&place.log()].clone();
        assert_eq!(published, Published::New { len: whole.len() as u64 });
        assert_eq!(fs.seen().len(), 2, "and no temporary name");

        let counting = FaultFs::counting(root());
        make(&place, &counting).unwrap();
        for n in 0..counting.calls().len() {
            for fault in Fault::ALL {
                let fs = root();
                let faulty = FaultFs::new(fs.clone(), n, fault);
                let result = make(&place, &faulty);
                let Some(call) = faulty.struck() else { continue };
                met.insert(call);
                let what = format!("{encoding:?} {fault:?} at call {n}, {call:?}: {result:?}");
                let temps = check_files(&fs.seen(), &place, &whole, &what);
                check_files(&fs.after_crash(), &place, &whole, &what);
                if result.is_ok() {
                    assert!(fs.after_crash().contains_key(&place.log()), "{what}: lost with the power");
                }
                match fault {
                    Fault::Short => assert!(result.is_ok(), "{what}"),
                    // Where nothing is, looking there fails in any case.
                    Fault::FailsBehind if call == Call::Identity => {}
                    Fault::Fails | Fault::FailsBehind | Fault::Full if call != Call::Remove => {
                        assert!(result.is_err(), "{what}");
                        let unknown = call == Call::CreateNew && fault == Fault::FailsBehind;
                        assert!(temps == 0 || unknown, "{what}: {temps} left");
                    }
                    _ => assert!(temps <= 1, "{what}: {temps} left"),
                }
                // What is left is in nobody's way: the same is made now, or it is there.
                let again = make(&place, &fs);
                match again {
                    Ok(Published::New { .. }) => {}
                    Err(Problem::Exists { .. }) if fs.seen().contains_key(&place.log()) => {}
                    other => panic!("{what}, then {other:?}"),
                }
            }
        }
    }
    let steps = [
        Call::Identity,
        Call::MakeFolder,
        Call::SyncFolder,
        Call::Names,
        Call::CreateNew,
        Call::Write,
        Call::Sync,
        Call::Open,
        Call::ReadAt,
        Call::Link,
        Call::Remove,
    ];
    assert!(steps.iter().all(|step| met.contains(step)), "{met:?}");
}

/// A rival that takes no lock makes the same session in front of any call.
#[test]
fn a_rival_keeps_its_session() {
    let place = place(Path::new(ROOT), Encoding::Raw);
    let counting = FaultFs::counting(root());
    make(&place, &counting).unwrap();
    let link = counting.calls().iter().position(|call| *call == Call::Link).unwrap();
    for n in 0..=link {
        let fs = root();
        let (other, log) = (fs.clone(), place.log());
        let result = make(&place, &FaultFs::rival(fs.clone(), n, move || other.put(&log, b"rival's")));
        assert!(matches!(result, Err(Problem::Exists { .. } | Problem::Conflict { .. })), "{n}: {result:?}");
        assert_eq!(fs.seen()[&place.log()], b"rival's");
        assert_eq!(fs.seen().len(), 2, "{n}: a temporary name is left");
    }
}

#[cfg(unix)]
#[test]
fn on_the_real_file_system() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("new home/sessions");
    let place = place(&root, Encoding::Zstd);
    let (header, limits) = (header("child"), Limits::default());
    let fork = Fork { parent: Path::new("/parent"), header: &header, cut: 2, events: 4, limits: &limits };
    fork.judge(&place, &OsFs, give(&rows())).unwrap();
    assert!(!root.exists(), "a judgement writes nothing");
    fork.publish(&place, &OsFs, give(&rows())).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&root), mode(&place.folder()), mode(&place.log())), (0o700, 0o700, 0o600));
    let walk = Walk::new(&root).unwrap();
    assert_eq!((walk.sessions.len(), walk.passed_over.len()), (1, 0));
    let names: BTreeSet<_> =
        fs::read_dir(place.folder()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, BTreeSet::from(["session.lock".into(), "session.v4.jsonl.zstd".into()]));
    let again = fork.publish(&place, &OsFs, give(&rows()));
    assert!(matches!(again, Err(Problem::Exists { .. })), "{again:?}");

    // A writer that has only begun holds the lock.
    let other = self::header("other");
    let place = Place::new(&root, &other, Encoding::Zstd).unwrap();
    let _lock = dshlog_codec::home::WriteLock::acquire(&place.folder()).unwrap();
    let fork = Fork { header: &other, ..fork };
    let locked = fork.publish(&place, &OsFs, give(&rows())).unwrap_err();
    assert_eq!(locked.code(), "locked");
}

/// Where dsh finds something of that id, or fails on its way there.
#[test]
fn places_that_are_taken() {
    #[track_caller]
    fn check(entries: &[&str], expected: Option<(&str, &str)>) {
        let folder = tempfile::tempdir().unwrap();
        for entry in entries {
            let path = folder.path().join(entry);
            #[cfg(unix)]
            if let Some((link, target)) = entry.split_once(" -> ") {
                let link = folder.path().join(link);
                fs::create_dir_all(link.parent().unwrap()).unwrap();
                std::os::unix::fs::symlink(target, link).unwrap();
                continue;
            }
            if entry.ends_with('/') {
                fs::create_dir_all(path).unwrap();
            } else {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
        }
        let place = place(folder.path(), Encoding::Zstd);
        let result = place.check_free(&OsFs, &Walk::new(folder.path()).unwrap());
        let problem = result.err();
        let told = problem.as_ref().map(|problem| {
            let below = problem.path().unwrap().strip_prefix(folder.path()).unwrap();
            (problem.code(), below.to_str().unwrap())
        });
        assert_eq!(told, expected, "{entries:?}");
    }
    check(&[], None);
    check(&["--tmp-ws--/other/session.v4.jsonl.zstd", "--tmp-ws--/child.json", "child/x"], None);
    check(&["--tmp-ws--/child/session.lock", "--other--/child/notes.txt", "--other--/child/"], None);
    for log in ["session.jsonl", "session.v3.jsonl.zstd", "session.v4.jsonl", "session.v9.jsonl.zstd"] {
        for project in ["--tmp-ws--", "--other--"] {
            let path = format!("{project}/child/{log}");
            check(&[&path], Some(("session-exists", &path)));
        }
    }
    for path in ["--tmp-ws--/child", "--other--/child", "--other--/child.jsonl", "--other--/child.jsonl.zstd"]
    {
        check(&[path], Some(("in-the-way", path)));
    }
    check(&["--other--/child.jsonl/"], Some(("in-the-way", "--other--/child.jsonl")));
    check(&["--tmp-ws--"], Some(("in-the-way", "--tmp-ws--")));
    if cfg!(unix) {
        // Behind a link, dsh lists nothing.
        for link in ["--tmp-ws-- -> elsewhere", "--tmp-ws-- -> nowhere", "--tmp-ws--/child -> ../elsewhere"] {
            let (path, _) = link.split_once(' ').unwrap();
            check(&["elsewhere/", link], Some(("in-the-way", path)));
        }
        check(&["--tmp-ws--/child -> nowhere"], Some(("in-the-way", "--tmp-ws--/child")));
        let log = "--tmp-ws--/child/session.v4.jsonl.zstd";
        check(
            &["elsewhere/session.v4.jsonl.zstd", "--tmp-ws--/child -> ../elsewhere"],
            Some(("session-exists", log)),
        );
        check(&["elsewhere/", "--other--/child -> ../elsewhere"], None);
    }
}

#[test]
fn names_that_no_session_can_have() {
    let code =
        |header: &Header| Place::new(Path::new(ROOT), header, Encoding::Raw).map_err(|e| e.code()).err();
    assert_eq!(code(&header("")), Some("no-name"));
    assert_eq!(code(&Header { cwd: Some("".into()), ..header("a") }), Some("no-name"));
    assert_eq!(code(&header(&"z".repeat(244))), None);
    assert_eq!(code(&header(&"z".repeat(245))), Some("no-name"));
    assert_eq!(code(&header(&"é".repeat(49))), Some("no-name"), "an escape has five bytes");
}

/// dsh refuses to copy what it cannot print again.
#[test]
fn numbers_that_are_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let place = place(folder.path(), Encoding::Raw);
    let (header, limits) = (header("child"), Limits::default());
    let fork = Fork { parent: Path::new("/parent"), header: &header, cut: 2, events: 4, limits: &limits };
    for number in ["-0", "1e400", "[-0.0]"] {
        let mut rows = rows();
        rows[1] =
            format!(r#"{{"type":"plugin:x/y","seq":1,"time":2,"data":{{"n":{number}}},"ignorable":true}}"#);
        let results =
            [fork.judge(&place, &OsFs, give(&rows)), fork.publish(&place, &OsFs, give(&rows)).map(drop)];
        for result in results {
            assert!(
                matches!(result, Err(Problem::NotLossless { seq }) if seq.0 == 1),
                "{number}: {result:?}"
            );
        }
        let left: Vec<_> =
            fs::read_dir(place.folder()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["session.lock"], "{number}");
    }
}

/// A caller that has no more events to give is no fork.
#[test]
fn a_source_that_fails_leaves_nothing() {
    let place = place(Path::new(ROOT), Encoding::Zstd);
    let (header, limits) = (header("child"), Limits::default());
    let fork = Fork { parent: Path::new("/parent"), header: &header, cut: 2, events: 4, limits: &limits };
    let failing = |_: Push<'_>| {
        let source = io::Error::other("gone");
        Err(Problem::Io { step: crate::Step::OpenSource, path: "/parent".into(), source })
    };
    for give in [
        Box::new(failing) as Box<dyn FnOnce(Push<'_>) -> Result<(), Problem>>,
        // One event too few, and one that may not stand there.
        Box::new(give(&rows()[..3])),
        Box::new(give(&[&rows()[..3], &rows()[..1]].concat())),
    ] {
        let fs = root();
        place.make(&fs).unwrap();
        assert!(fork.write(&place, &fs, give).is_err());
        assert_eq!(fs.seen().len(), 1);
    }
}
