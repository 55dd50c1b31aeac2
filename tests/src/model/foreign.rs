//! Reads the manifests of the larger corpora, which have another shape than ours.
//!
//! Their folders are `real` (V3, V4, and damaged variants of these), `real-old` (V0 to V2) and `wire` (V3, V4; counts only).

use std::io;
use std::path::Path;

use dshlog_codec::{Encoding, Generation};
use serde::Deserialize;

use super::{Answer, Entry, Restored, Status, Stored, Torn, json};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Log {
    #[serde(rename = "log", alias = "path")]
    file: String,
    expected: Option<String>,
    #[serde(alias = "events")]
    event_count: Option<u64>,
    #[serde(alias = "inheritedEvents")]
    inherited_event_count: Option<u64>,
}

#[derive(Deserialize)]
struct Case {
    dir: String,
    logs: Vec<Log>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Variant {
    dir: String,
    log: String,
    status: String,
    refusal: Option<String>,
    reason: Option<String>,
    event_count: Option<u64>,
    #[serde(default)]
    inherited_event_count: u64,
    torn: Option<Torn>,
    current_sha256: Option<String>,
    messages_sha256: Option<String>,
}

#[derive(Deserialize)]
struct Manifest {
    cases: Vec<Case>,
    #[serde(default)]
    broken: Vec<Variant>,
}

#[derive(Default, Deserialize)]
struct Answers {
    #[serde(rename = "current.jsonl")]
    current: Option<Hash>,
    #[serde(rename = "messages.json")]
    messages: Option<Hash>,
}

#[derive(Deserialize)]
struct Hash {
    sha256: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Info {
    status: String,
    refusal: Option<String>,
    reason: Option<String>,
    torn: Option<Torn>,
    surface_nodes: Option<Vec<u64>>,
    #[serde(default)]
    answers: Answers,
}

#[derive(Deserialize)]
struct OldManifest {
    logs: Vec<OldLog>,
}

#[derive(Deserialize)]
struct OldLog {
    case: String,
    #[serde(rename = "log")]
    file: Option<String>,
    expected: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OldInfo {
    physical_version: u64,
    versions: std::collections::BTreeMap<String, OldVersion>,
    current: OldCurrent,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OldVersion {
    status: String,
    events: Option<u64>,
    inherited_event_count: Option<u64>,
    sha256: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OldCurrent {
    refusal: Option<OldRefusal>,
    events: Option<u64>,
    inherited_event_count: Option<u64>,
    surface_seqs: Option<Vec<u64>>,
}

#[derive(Deserialize)]
struct OldRefusal {
    class: String,
    kind: String,
}

pub(super) fn shared(dir: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    real(&dir.join("real"), &mut entries)?;
    old(&dir.join("real-old"), &mut entries)?;
    wire(&dir.join("wire"), &mut entries)?;
    Ok(entries)
}

fn real(dir: &Path, entries: &mut Vec<Entry>) -> io::Result<()> {
    let manifest: Manifest = json(&dir.join("manifest.json"))?;
    for case in &manifest.cases {
        for log in &case.logs {
            let Some(expected) = &log.expected else { continue };
            let folder = dir.join(&case.dir).join(expected);
            let info: Info = json(&folder.join("info.json"))?;
            let status = if info.status == "restored" {
                Status::Restored(Restored {
                    events: log.event_count,
                    cut: log.inherited_event_count.unwrap_or_default(),
                    torn: info.torn,
                    current: answer(info.answers.current, Some(&folder.join("current.jsonl"))),
                    messages: answer(info.answers.messages, Some(&folder.join("messages.json"))),
                    surface: info.surface_nodes,
                })
            } else {
                refused(info.refusal, info.reason)
            };
            entries.push(entry(&format!("real/{}", case.dir), dir, &case.dir, &log.file, status, None));
        }
    }
    for variant in manifest.broken {
        let status = if variant.status == "restored" {
            Status::Restored(Restored {
                events: variant.event_count,
                cut: variant.inherited_event_count,
                torn: variant.torn,
                current: hash_only(variant.current_sha256),
                messages: hash_only(variant.messages_sha256),
                surface: None,
            })
        } else {
            refused(variant.refusal, variant.reason)
        };
        entries.push(entry(&format!("real/{}", variant.dir), dir, &variant.dir, &variant.log, status, None));
    }
    Ok(())
}

fn old(dir: &Path, entries: &mut Vec<Entry>) -> io::Result<()> {
    let manifest: OldManifest = json(&dir.join("manifest.json"))?;
    for log in &manifest.logs {
        // Entries without a log are databases of another store.
        let (Some(path), Some(expected)) = (&log.file, &log.expected) else { continue };
        let info: OldInfo = json(&dir.join(&log.case).join(expected).join("info.json"))?;
        let status = match info.current.refusal {
            Some(refusal) if refusal.kind == "identity-mismatch" => {
                Status::Refused { class: "misplaced".to_owned(), reason: refusal.kind }
            }
            Some(refusal) => Status::Refused { class: refusal.class, reason: refusal.kind },
            None => Status::Restored(Restored {
                events: info.current.events,
                cut: info.current.inherited_event_count.unwrap_or_default(),
                torn: None,
                // These answers have a header of another form, and messages that are indented.
                current: None,
                messages: None,
                surface: info.current.surface_seqs,
            }),
        };
        let stored = info
            .versions
            .get(&format!("v{}", info.physical_version))
            .filter(|v| v.status == "ok")
            .map(|v| Stored { events: v.events, cut: v.inherited_event_count, sha256: v.sha256.clone() });
        entries.push(entry(&format!("real-old/{}", log.case), dir, &log.case, path, status, stored));
    }
    Ok(())
}

fn wire(dir: &Path, entries: &mut Vec<Entry>) -> io::Result<()> {
    let manifest: Manifest = json(&dir.join("manifest.json"))?;
    for case in &manifest.cases {
        for log in &case.logs {
            // Of V3 logs the count is known before the migration only.
            let status = Status::Restored(Restored {
                events: log.event_count.filter(|_| log.file.contains(".v4.")),
                cut: log.inherited_event_count.unwrap_or_default(),
                torn: None,
                current: None,
                messages: None,
                surface: None,
            });
            let stored = Stored { events: log.event_count, cut: log.inherited_event_count, sha256: None };
            entries.push(entry(
                &format!("wire/{}", case.dir),
                dir,
                &case.dir,
                &log.file,
                status,
                Some(stored),
            ));
        }
    }
    Ok(())
}

fn refused(refusal: Option<String>, reason: Option<String>) -> Status {
    let class = match refusal.as_deref() {
        Some("error") => "misplaced".to_owned(),
        _ => refusal.unwrap_or_default(),
    };
    Status::Refused { class, reason: reason.unwrap_or_default() }
}

fn answer(hash: Option<Hash>, file: Option<&Path>) -> Option<Answer> {
    let file = file.filter(|file| file.is_file()).map(Path::to_owned);
    hash.map(|hash| Answer { sha256: hash.sha256, file })
}

fn hash_only(sha256: Option<String>) -> Option<Answer> {
    sha256.map(|sha256| Answer { sha256, file: None })
}

fn entry(case: &str, dir: &Path, folder: &str, log: &str, status: Status, stored: Option<Stored>) -> Entry {
    let name = log.rsplit('/').next().unwrap_or(log);
    let number = name.strip_prefix("session.v").and_then(|rest| rest.split('.').next()?.parse().ok());
    let is_zstd = Path::new(name).extension().is_some_and(|extension| extension == "zstd");
    Entry {
        case: case.to_owned(),
        log: dir.join(folder).join(log),
        generation: Generation(number.unwrap_or(0)),
        encoding: if is_zstd { Encoding::Zstd } else { Encoding::Raw },
        status,
        stored,
    }
}
