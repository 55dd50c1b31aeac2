//! V4 logs that the real runtime wrote, and damaged variants of them: the checker must say what the real reader says.
//!
//! The corpora are looked for at `$DSHLOG_SHARED_CORPORA`, else beside the repository. Without them this says so.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use dshlog_codec::check::{Checker, Verdict};
use dshlog_codec::read::{Limits, LogFile};
use dshlog_codec::stream::check_stream;
use dshlog_codec::{Class, Error, Seq};
use serde_json::Value;

fn corpora() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpora");
    let corpora = std::env::var_os("DSHLOG_SHARED_CORPORA").map_or_else(beside, PathBuf::from);
    corpora.is_dir().then_some(corpora)
}

fn check(path: &Path) -> Result<(u64, Verdict), Error> {
    let mut log = LogFile::open(path)?.read(&Limits::default())?;
    let mut checker = Checker::new(log.header());
    while let Some(event) = log.next_event()? {
        checker.see(&event);
        // What the real runtime wrote it could also publish.
        check_stream(&event)?;
    }
    let (events, cut) = log.end().map(|end| (end.events, end.cut)).unwrap();
    Ok((events, checker.finish(cut)))
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap()
}

#[test]
fn real_logs() {
    let Some(corpora) = corpora() else {
        println!("skipped: no corpora");
        return;
    };
    let manifest = json(&corpora.join("real/manifest.json"));
    let (mut valid, mut refused) = (0, 0);
    for case in manifest["cases"].as_array().unwrap() {
        let folder = corpora.join("real").join(text(case, "dir"));
        for log in case["logs"].as_array().unwrap() {
            let path = folder.join(text(log, "log"));
            if log["physicalVersion"] != 4 {
                continue;
            }
            let (events, verdict) = check(&path).unwrap();
            let fault = verdict.storage.or(verdict.session);
            if text(log, "status") == "refused" {
                assert!(fault.is_some(), "{}", path.display());
                refused += 1;
                continue;
            }
            assert!(fault.is_none(), "{}: {}", path.display(), fault.unwrap());
            let info = json(&folder.join(text(log, "expected")).join("info.json"));
            let nodes = info["surfaceNodes"].as_array().unwrap();
            let nodes: Vec<_> = nodes.iter().map(|seq| Seq(seq.as_u64().unwrap())).collect();
            assert_eq!(verdict.surface, nodes, "{}", path.display());
            assert_eq!(events, info["eventCount"].as_u64().unwrap(), "{}", path.display());
            valid += 1;
        }
    }
    assert!(valid > 40 && refused > 0, "{valid} valid, {refused} refused");
}

#[test]
fn damaged_logs() {
    let Some(corpora) = corpora() else {
        println!("skipped: no corpora");
        return;
    };
    let manifest = json(&corpora.join("real/manifest.json"));
    let mut seen = 0;
    for variant in manifest["broken"].as_array().unwrap() {
        let path = corpora.join("real").join(text(variant, "dir")).join(text(variant, "log"));
        // The class `error` is for faults of the place, not of the log.
        let refusal = variant["refusal"].as_str();
        if !text(variant, "log").contains(".v4.") || refusal == Some("error") {
            continue;
        }
        let found = check(&path).map(|(_, verdict)| verdict.storage.or(verdict.session));
        let fault = match &found {
            Ok(fault) => fault.as_ref(),
            Err(fault) => Some(fault),
        };
        // Whether a log is damaged or only newer; how headers are damaged is a question for other tests.
        let newer = fault.map(|fault| fault.class() == Class::Unsupported);
        assert_eq!(newer, refusal.map(|refusal| refusal == "unsupported"), "{}: {found:?}", path.display());
        seen += 1;
    }
    assert!(seen > 60, "{seen}");
}

/// What the real reader makes of a log, of an old one too, is a log that no stage refuses.
#[test]
fn restored_logs_of_all_generations_are_valid() {
    let Some(corpora) = corpora() else {
        println!("skipped: no corpora");
        return;
    };
    let manifest = json(&corpora.join("real/manifest.json"));
    let mut seen = 0;
    for case in manifest["cases"].as_array().unwrap() {
        for log in case["logs"].as_array().unwrap() {
            if text(log, "status") == "refused" {
                continue;
            }
            let folder = corpora.join("real").join(text(case, "dir")).join(text(log, "expected"));
            let path = folder.join("current.jsonl");
            let (_, verdict) = check(&path).unwrap();
            let fault = verdict.storage.or(verdict.session);
            assert!(fault.is_none(), "{}: {}", path.display(), fault.unwrap());
            seen += 1;
        }
    }
    assert!(seen > 100, "{seen}");
}
