//! What is published, against the right answers of the corpora.

use std::collections::BTreeMap;
use std::path::Path;

use dshlog_codec::home::file_name;
use dshlog_codec::{Generation, Limits, LogFile};
use dshlog_tests::model::{Corpora, Entry, Status};

use super::{about, documents, files, is_lock};
use crate::PROGRAM;
use dshlog_tests::cmd::Place;

/// Every home of the corpora with old logs: each published text is that of the official writer, byte for byte, and
/// nothing else is other than before.
#[test]
fn every_home() {
    let corpora = Corpora::own();
    let mut cases: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in &corpora.entries {
        cases.entry(&entry.case).or_default().push(entry);
    }
    cases.retain(|_, entries| entries.iter().any(|entry| entry.generation < Generation::CURRENT));
    let place = Place::empty(PROGRAM);
    let names: Vec<&str> = cases.keys().copied().collect();
    place.add_corpora(&names);

    let (mut published, mut refused) = (0, 0);
    for (case, entries) in &cases {
        let home = place.path().join("corpora").join(case).join("home");
        let before = files(&home);
        let told = documents(&place.run(&[
            "migrate",
            "--home",
            home.to_str().unwrap(),
            "--all",
            "--format",
            "json",
        ]));
        let mut after = files(&home);
        for (path, stored) in &before {
            assert_eq!(after.remove(path).as_ref(), Some(stored), "{case}: {} is as it was", path.display());
        }
        after.retain(|path, _| !is_lock(path));
        for entry in entries.iter().filter(|entry| is_due(entry, entries)) {
            let folder = place.path().join("corpora").join(entry.log.strip_prefix(&corpora.dir).unwrap());
            let folder = folder.parent().unwrap();
            let document = told
                .iter()
                .find(|document| document["path"].as_str() == folder.to_str())
                .unwrap_or_else(|| panic!("{case}: nothing is said of {}", folder.display()));
            let target = folder.join(file_name(Generation::CURRENT, entry.encoding));
            let new = after.remove(target.strip_prefix(&home).unwrap());
            match &entry.status {
                Status::Restored(restored) => {
                    assert_eq!(document["status"], "migrated", "{case}: {document}");
                    assert_eq!(document["published"].as_str(), target.to_str());
                    assert_eq!(document["events"].as_u64(), restored.events, "{case}");
                    let new = new.unwrap_or_else(|| panic!("{case}: {} is there", target.display()));
                    assert_eq!(document["bytes"]["target"].as_u64(), Some(new.bytes.len() as u64));
                    assert_eq!(new.mode, 0o600, "{case}");
                    if let Some(answer) = &restored.current {
                        answer.check(&text(&target)).unwrap_or_else(|e| panic!("{case}: {e}"));
                    }
                    published += 1;
                }
                Status::Refused { .. } => {
                    assert_eq!(document["status"], "refused", "{case}: {document}");
                    assert!(document["published"].is_null() && new.is_none(), "{case}: {document}");
                    refused += 1;
                }
            }
        }
        assert!(after.is_empty(), "{case}: nothing else is there now, but {:?}", after.keys());
    }
    assert!(published > 100 && refused > 20, "{published} published, {refused} refused");
}

/// The plain text of a log.
fn text(log: &Path) -> Vec<u8> {
    let log = LogFile::open(log).unwrap();
    let mut lines = log.lines(&Limits::default()).unwrap();
    let mut text = Vec::new();
    while let Some((line, _)) = lines.next_line().unwrap() {
        text.extend_from_slice(line.as_ref());
        text.push(b'\n');
    }
    text
}

/// True for the newest log of its session, when it is old.
fn is_due(entry: &Entry, entries: &[&Entry]) -> bool {
    let folder = |entry: &Entry| entry.log.parent().map(ToOwned::to_owned);
    let is_newest = entries
        .iter()
        .filter(|other| folder(other) == folder(entry))
        .all(|other| other.generation <= entry.generation);
    is_newest && entry.generation < Generation::CURRENT
}

/// Subagents of which only the header is known are named.
#[test]
fn obscure_subagents() {
    let place = crate::place(&["v0-0.1.1rc1-workflow"]);
    let told = documents(&place.run(&["migrate", "--all", "--format", "json"]));
    let parent = about(&told, "workflow-011rc1");
    assert_eq!(parent["status"], "migrated");
    let warnings = parent["warnings"].as_array().unwrap();
    let children: Vec<&str> = warnings.iter().map(|warning| warning["session"].as_str().unwrap()).collect();
    assert_eq!(children.len(), 2);
    for child in children {
        let child = about(&told, child);
        assert_eq!(
            (&child["status"], &child["reason"]["code"]),
            (&"refused".into(), &"descriptor-version".into())
        );
        assert!(warnings.iter().all(|warning| warning["code"] == "descriptor-version"));
    }
}

/// Values that the official parser cannot hold are counted, and told with the place of the first.
#[test]
fn values_that_do_not_survive() {
    let place = crate::place(&["v3-sdk-minimal"]);
    let log = super::log_of(&place, "baaf81cb");
    let text = std::fs::read_to_string(&log).unwrap();
    // An event of no type that anybody knows may hold anything.
    let seq = text.lines().count() - 1;
    let row = format!(
        r#"{{"type":"x/note","seq":{seq},"time":1,"data":{{"a":9007199254740993,"b":1,"b":1e999}},"ignorable":true}}"#
    );
    std::fs::write(&log, format!("{text}{row}\n")).unwrap();
    let told = documents(&place.run(&["migrate", "--all", "--format", "json"]));
    let deviations = about(&told, "baaf81cb")["deviations"].as_array().unwrap();
    let found: Vec<_> = deviations
        .iter()
        .map(|found| {
            (found["code"].as_str().unwrap(), found["count"].as_u64(), found["first"]["seq"].as_u64())
        })
        .collect();
    let seq = Some(seq as u64);
    assert_eq!(found, [("number-changed", Some(2), seq), ("member-dropped", Some(1), seq)]);
    // Silence is for what went as it should; and the sum says that not all did.
    std::fs::remove_file(log.with_file_name("session.v4.jsonl")).unwrap();
    let told = String::from_utf8(place.run(&["migrate", "--all", "-q"]).stdout).unwrap();
    assert!(told.contains("2 times: a number that"), "{told}");
    let place = crate::place(&["v3-sdk-minimal", "v3-fork", "v0-0.1.1rc1-workflow"]);
    std::fs::write(super::log_of(&place, "baaf81cb"), format!("{text}{row}\n")).unwrap();
    let told = String::from_utf8(place.run(&["migrate", "--all", "--dry-run"]).stdout).unwrap();
    assert!(told.contains("\n    1 with changed values\n"), "{told}");
    assert!(told.contains("\n    1 with unknown subagents\n"), "{told}");
}
