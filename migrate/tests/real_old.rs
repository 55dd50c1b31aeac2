//! Logs that old runtimes wrote, with what the official reader makes of them at V1 and V2.
//!
//! They are not in this repository: the environment variable `DSHLOG_SHARED_CORPORA` names the folder that has
//! `real-old`, else it is looked for beside the repository.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use dshlog_codec::json::{Doc, Js};
use dshlog_codec::{Event, Generation, Header, Limits, LogFile};
use dshlog_migrate::{Chain, Edge, Refusal, SourceKind, V0ToV1, V1ToV2};
use sha2::{Digest, Sha256};

fn corpus() -> Option<PathBuf> {
    let root = match std::env::var_os("DSHLOG_SHARED_CORPORA") {
        Some(root) => PathBuf::from(root),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpora"),
    };
    let corpus = root.join("real-old");
    corpus.join("manifest.json").exists().then_some(corpus)
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

fn steps(source: u64, target: u64) -> Vec<Box<dyn Edge>> {
    let kind = if source == 1 { SourceKind::Decoded } else { SourceKind::Transformed };
    let mut edges: Vec<Box<dyn Edge>> = Vec::new();
    if source == 0 {
        edges.push(Box::new(V0ToV1::new()));
    }
    if target == 2 {
        edges.push(Box::new(V1ToV2::new(kind)));
    }
    edges
}

/// A header as the answers have it: without `type`, and in the members of V2 whatever its version.
fn header_line(header: &Header) -> String {
    let mut line = Vec::new();
    Header { version: Generation(2), ..header.clone() }.print(&mut line);
    let line = String::from_utf8(line).unwrap();
    line.replacen(r#""type":"session","version":2"#, &format!(r#""version":{}"#, header.version.0), 1)
}

/// The log at `target`, and the number of its inherited events.
fn migrated(log: &LogFile, source: u64, target: u64) -> Result<(Vec<u8>, u64), Refusal> {
    let mut reader = log.read(&Limits::default()).unwrap();
    let mut chain = Chain::new(Generation(source), Generation(target), steps(source, target)).unwrap();
    let header = chain.header(reader.header())?;
    let mut out = header_line(&header).into_bytes();
    out.push(b'\n');
    let mut sink = |event: &Event<'_>| {
        event.print_logical(&mut out);
        out.push(b'\n');
        Ok(())
    };
    while let Some(row) = reader.next_row().unwrap() {
        chain.row(&row, &mut sink)?;
    }
    let cut = reader.end().unwrap().cut;
    let cut = chain.finish(cut, &mut sink)?;
    Ok((out, cut))
}

/// The code for a refusal by the name that the answers have for it.
fn code(kind: &str) -> &str {
    match kind {
        "subagent-descriptor-version" => "descriptor-version",
        kind if kind.starts_with("payload-") => "payload",
        kind => kind,
    }
}

fn text(value: Option<Js<'_>>) -> String {
    value.and_then(Js::as_str).unwrap().to_lossy().into_owned()
}

#[test]
fn logs_of_old_runtimes_become_what_the_official_reader_makes_of_them() {
    let Some(corpus) = corpus() else {
        println!("skipped: there is no folder real-old in DSHLOG_SHARED_CORPORA");
        return;
    };
    let mut paths = Vec::new();
    infos(&corpus, &mut paths);
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for path in paths {
        let info = Doc::parse(std::fs::read_to_string(&path).unwrap()).unwrap();
        let info = info.root();
        let source = info.get("physicalVersion").unwrap().as_count().unwrap();
        let Some(stored) = info.path(&["versions", &format!("v{source}"), "status"]) else { continue };
        if source > 1 || !stored.is("ok") {
            continue;
        }
        let log = path.ancestors().nth(3).unwrap().join(text(info.get("file")));
        let log = LogFile::open(&log).unwrap();
        for target in source + 1..=2 {
            let want = info.path(&["versions", &format!("v{target}")]).unwrap();
            let status = text(want.get("status"));
            match migrated(&log, source, target) {
                Ok((out, cut)) => {
                    assert_eq!(status, "ok", "{path:?} at V{target}");
                    let hash = Sha256::digest(&out).iter().fold(String::new(), |mut hash, byte| {
                        let _ = write!(hash, "{byte:02x}");
                        hash
                    });
                    let kept = path.with_file_name(format!("v{target}.jsonl"));
                    if let Ok(kept) = std::fs::read_to_string(kept) {
                        let out = String::from_utf8(out).unwrap();
                        for (line, (ours, theirs)) in out.lines().zip(kept.lines()).enumerate() {
                            assert_eq!(ours, theirs, "{path:?} at V{target}, line {}", line + 1);
                        }
                    }
                    assert_eq!(hash, text(want.get("sha256")), "{path:?} at V{target}");
                    assert_eq!(Some(cut), want.get("inheritedEventCount").unwrap().as_count(), "{path:?}");
                }
                Err(refusal) => {
                    assert_eq!(status, "refused", "{path:?} at V{target}: {refusal}");
                    let kind = text(want.path(&["refusal", "kind"]));
                    assert_eq!(refusal.code, code(&kind), "{path:?}: {refusal}");
                    assert_eq!(refusal.edge, "v0-to-v1");
                }
            }
            *count.entry(format!("V{source} -> V{target} {status}")).or_default() += 1;
        }
    }
    println!("{count:?}");
    assert!(count.values().sum::<usize>() > 600, "{count:?}");
}
