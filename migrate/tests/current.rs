//! Logs of V0 to V3 that real runtimes wrote, with what the official reader makes of them at V3 and V4.
//!
//! They are not in this repository: the environment variable `DSHLOG_SHARED_CORPORA` names the folder that has `real`
//! and `real-old`, else it is looked for beside the repository.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test may fail, and says what it looked at")]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use dshlog_codec::home::{Placement, check_identity};
use dshlog_codec::json::{Doc, Js};
use dshlog_codec::{Event, Generation, Header, Limits, LogFile};
use dshlog_migrate::{Refusal, Run, RunError, children, migrate_in_memory};
use sha2::{Digest, Sha256};

fn corpus(name: &str) -> Option<(PathBuf, Doc)> {
    let root = match std::env::var_os("DSHLOG_SHARED_CORPORA") {
        Some(root) => PathBuf::from(root),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpora"),
    };
    let corpus = root.join(name);
    let manifest = std::fs::read_to_string(corpus.join("manifest.json")).ok();
    if manifest.is_none() {
        println!("skipped: there is no folder {name} in DSHLOG_SHARED_CORPORA");
    }
    Some((corpus, Doc::parse(manifest?).unwrap()))
}

fn text(value: Js<'_>, name: &str) -> String {
    value.get(name).and_then(Js::as_str).unwrap().to_lossy().into_owned()
}

fn list<'a>(value: Js<'a>, name: &str) -> impl Iterator<Item = Js<'a>> {
    value.get(name).into_iter().flat_map(Js::elements)
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut hash, byte| {
        let _ = write!(hash, "{byte:02x}");
        hash
    })
}

#[track_caller]
fn assert_same(ours: &[u8], theirs: &[u8], what: &Path) {
    let (ours, theirs) = (String::from_utf8_lossy(ours), String::from_utf8_lossy(theirs));
    for (line, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
        assert_eq!(ours, theirs, "{}, line {}", what.display(), line + 1);
    }
    assert_eq!(ours.len(), theirs.len(), "{}", what.display());
}

/// A log as the current reader hands it out, and as the file that migration writes.
struct Current {
    header: Header,
    events: Vec<u8>,
    rows: Vec<u8>,
    cut: u64,
}

impl Current {
    fn restore(path: &Path) -> Result<Current, Box<dyn Error>> {
        let limits = Limits::default();
        let log = LogFile::open(path)?;
        let Placement::Member(member) = Placement::of(path, None) else {
            return Err("not below a sessions root".into());
        };
        let header = log.header()?;
        check_identity(&member, &header)?;
        let evidence = children::collect(&member.root, &header.id, &limits)?;
        let (mut events, mut rows) = (Vec::new(), Vec::new());
        let see = |event: &Event<'_>| {
            event.print_logical(&mut events);
            events.push(b'\n');
            event.print_row(&mut rows);
            rows.push(b'\n');
            Ok::<_, Infallible>(())
        };
        let done = migrate_in_memory(&log, Some(evidence.children), &limits, see)?;
        assert_eq!(done.header, header.to_current());
        match done.verdict.storage {
            Some(fault) => Err(fault.into()),
            None => Ok(Current { header: done.header, events, rows, cut: done.done.cut }),
        }
    }

    fn with_header(&self, rest: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        self.header.print(&mut text);
        text.push(b'\n');
        text.extend_from_slice(rest);
        text
    }
}

fn plain_text(log: &Path) -> Vec<u8> {
    let mut lines = LogFile::open(log).unwrap().lines(&Limits::default()).unwrap();
    let mut text = Vec::new();
    while let Some((line, _)) = lines.next_line().unwrap() {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    text
}

#[test]
fn logs_of_v3_become_what_the_official_runtime_makes_of_them() {
    let Some((corpus, manifest)) = corpus("real") else { return };
    let (mut restored, mut refused, mut files) = (0, 0, 0);
    for case in list(manifest.root(), "cases") {
        let folder = corpus.join(text(case, "dir"));
        for log in list(case, "logs") {
            if log.get("physicalVersion").and_then(Js::as_count) == Some(4) {
                continue;
            }
            let path = folder.join(text(log, "log"));
            let current = Current::restore(&path);
            if text(log, "status") == "refused" {
                // Turns and steps are looked at by V4 only.
                assert!(current.is_err(), "{}", path.display());
                refused += 1;
                continue;
            }
            let current = current.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let want = std::fs::read(folder.join(text(log, "expected")).join("current.jsonl")).unwrap();
            assert_same(&current.with_header(&current.events), &want, &path);
            assert_eq!(Some(current.cut), log.get("inheritedEventCount").and_then(Js::as_count));
            restored += 1;
        }
        for migrated in list(case, "migrated").filter(|migrated| migrated.get("log").is_some()) {
            let Some(source) =
                list(case, "logs").find(|log| text(*log, "log").contains(&text(migrated, "session")))
            else {
                continue;
            };
            let path = folder.join(text(migrated, "log"));
            let current = Current::restore(&folder.join(text(source, "log"))).unwrap();
            // A runtime that went on with the session wrote more behind what it migrated.
            let (ours, theirs) = (current.with_header(&current.rows), plain_text(&path));
            if migrated.get("plaintextEqualsCurrent").is_some_and(Js::is_true) {
                assert_same(&ours, &theirs, &path);
                files += 1;
            }
        }
    }
    println!("{restored} restored, {refused} refused, {files} migrated files");
    assert!(restored > 50 && refused > 0 && files > 50);
}

#[test]
fn damaged_logs_of_v3() {
    let Some((corpus, manifest)) = corpus("real") else { return };
    let mut count = 0;
    for broken in list(manifest.root(), "broken") {
        let log = text(broken, "log");
        if log.contains("session.v4.") {
            continue;
        }
        let current = Current::restore(&corpus.join(text(broken, "dir")).join(&log));
        match (text(broken, "status").as_str(), current) {
            ("restored", Ok(current)) => {
                assert_eq!(hash(&current.with_header(&current.events)), text(broken, "currentSha256"));
            }
            ("refused", Err(_)) => {}
            (status, current) => panic!("{}: {status}, {:?}", text(broken, "dir"), current.err()),
        }
        count += 1;
    }
    println!("{count} variants");
    assert!(count > 9);
}

/// All `info.json` files below a folder.
fn infos(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            infos(&path, found);
        } else if path.file_name().is_some_and(|name| name == "info.json") {
            found.push(path);
        }
    }
}

/// A log at V3, the header as the answers have it: without `type`.
fn at_v3(log: &LogFile) -> Result<(Vec<u8>, u64), Refusal> {
    let run = Run::open(log, Generation(3), None, &Limits::default()).map_err(refusal)?;
    let mut out = Vec::new();
    run.header().print(&mut out);
    let mut out = String::from_utf8(out).unwrap().replacen(r#""type":"session","#, "", 1).into_bytes();
    out.push(b'\n');
    let done = run.each(|event| {
        event.print_logical(&mut out);
        out.push(b'\n');
        Ok(())
    });
    done.map(|done| (out, done.cut)).map_err(refusal)
}

fn refusal(error: RunError) -> Refusal {
    match error {
        RunError::Refused(refusal) => refusal,
        other => panic!("no step refused: {other}"),
    }
}

#[test]
fn logs_of_v0_to_v2_at_v3() {
    let Some((corpus, _)) = corpus("real-old") else { return };
    let mut paths = Vec::new();
    infos(&corpus, &mut paths);
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for path in paths {
        let info = Doc::parse(std::fs::read_to_string(&path).unwrap()).unwrap();
        let info = info.root();
        let source = info.get("physicalVersion").and_then(Js::as_count).unwrap();
        // What its own reader refuses is a matter of that reader.
        let own = info.path(&["versions", &format!("v{source}"), "status"]);
        let Some(want) = info.path(&["versions", "v3"]).filter(|_| own.is_some_and(|own| own.is("ok")))
        else {
            continue;
        };
        let log = LogFile::open(&path.ancestors().nth(3).unwrap().join(text(info, "file"))).unwrap();
        let status = text(want, "status");
        match at_v3(&log) {
            Ok((out, cut)) => {
                assert_eq!(status, "ok", "{}", path.display());
                if let Ok(kept) = std::fs::read(path.with_file_name("v3.jsonl")) {
                    assert_same(&out, &kept, &path);
                }
                assert_eq!(hash(&out), text(want, "sha256"), "{}", path.display());
                assert_eq!(Some(cut), want.get("inheritedEventCount").and_then(Js::as_count));
            }
            Err(refusal) => {
                assert_eq!(status, "refused", "{}: {refusal}", path.display());
                let kind = text(want.get("refusal").unwrap(), "kind");
                let by = if kind == "no-room-for-system-message" { "v2-to-v3" } else { "v0-to-v1" };
                assert_eq!(refusal.edge, by, "{}: {refusal}", path.display());
            }
        }
        *count.entry(format!("V{source} {status}")).or_default() += 1;
    }
    println!("{count:?}");
    assert!(count.values().sum::<usize>() > 350, "{count:?}");
}

#[test]
fn logs_of_v0_to_v2_at_v4() {
    let Some((corpus, manifest)) = corpus("real-old") else { return };
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for log in list(manifest.root(), "logs").filter(|log| log.get("current").is_some()) {
        let case = corpus.join(text(log, "case"));
        let path = case.join(text(log, "log"));
        let status = text(log, "current");
        match Current::restore(&path) {
            Ok(current) => {
                assert_eq!(status, "ok", "{}", path.display());
                let want = std::fs::read(case.join(text(log, "expected")).join("current.jsonl")).unwrap();
                let ours = String::from_utf8(current.with_header(&current.events)).unwrap();
                assert_same(ours.replacen(r#""type":"session","#, "", 1).as_bytes(), &want, &path);
            }
            Err(error) => assert_ne!(status, "ok", "{}: {error}", path.display()),
        }
        *count.entry(status).or_default() += 1;
    }
    println!("{count:?}");
    assert!(count.get("ok").is_some_and(|ok| *ok > 350), "{count:?}");
}
