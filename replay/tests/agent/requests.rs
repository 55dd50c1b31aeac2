//! The requests that the loop makes while it runs a record again are those that dsh sent.

use std::collections::HashMap;
use std::path::Path;

use dshlog_codec::Seq;
use dshlog_codec::json::{Doc, Js};
use dshlog_replay::Request;
use dshlog_replay::agent::rerun::{Options, rerun};
use dshlog_replay::request::chat::ChatPrinter;
use dshlog_replay::request::image::NoAttachments;
use dshlog_replay::request::messages::MessagesPrinter;
use dshlog_tests::model::{Corpora, sha256_hex, skip};

use crate::records::{self, Log};

/// What was sent, by the seq in which it ended.
struct Sent {
    sha256: String,
    is_chat: bool,
}

fn sent(case: &Path, log: &Path) -> HashMap<u64, Sent> {
    let session = log.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    let text = std::fs::read_to_string(case.join("requests.jsonl")).unwrap();
    let mut found = HashMap::new();
    for line in text.lines() {
        let doc = Doc::parse(line).unwrap();
        let text = |name| doc.root().get(name).and_then(Js::as_str).map(|text| text.to_string());
        let in_log = text("log").is_none_or(|named| case.join(named) == log);
        if text("kind").as_deref() != Some("agent") || text("session").as_ref() != Some(&session) || !in_log {
            continue;
        }
        let Some(seq) = doc.root().get("seq").and_then(Js::as_count) else { continue };
        let is_chat = text("path").unwrap().contains("completions");
        found.insert(seq, Sent { sha256: text("baseSha256").unwrap(), is_chat });
    }
    found
}

/// Cases whose requests hold what no log does: images, files, and models that a profile changed.
const BEYOND: [&str; 9] = [
    "image",
    "image-offload",
    "read-image",
    "text-model",
    "tools-changed",
    "prompt-changed",
    "present",
    "web",
    "files",
];

#[test]
fn requests_are_those_that_were_sent() {
    let Some(shared) = Corpora::shared() else { return skip("no captured requests") };
    let wire = shared.dir.join("wire");
    let (mut equal, mut wrong) = (0, Vec::new());
    for path in records::files(&wire) {
        let name = path.strip_prefix(&wire).unwrap().display().to_string();
        let case = wire.join(name.split('/').next().unwrap());
        let folder = case.file_name().unwrap().to_string_lossy().into_owned();
        // Of an older log the seqs are those of before the migration.
        let is_beyond = BEYOND.iter().any(|part| folder.ends_with(part));
        if !name.contains("session.v4.") || is_beyond {
            continue;
        }
        let sent = sent(&case, &path);
        let log = Log::read(name.clone(), &path).unwrap();
        let record = log.record();
        let mut printer = (MessagesPrinter::default(), ChatPrinter::default());
        let mut hear = |seq: Seq, request: Request<'_>| {
            let Some(sent) = sent.get(&seq.0) else { return };
            let call = request.call().unwrap();
            let body = if sent.is_chat {
                printer.1.body(&call, &NoAttachments)
            } else {
                printer.0.body(&call, &NoAttachments).map(|body| body.json)
            };
            match body {
                Ok(json) if sha256_hex(&json) == sent.sha256 => equal += 1,
                Ok(_) => wrong.push(format!("{name} seq {seq}: another body")),
                Err(refusal) => wrong.push(format!("{name} seq {seq}: {refusal}")),
            }
        };
        rerun(&record, Options { on_request: Some(&mut hear), ..Options::default() }).unwrap();
    }
    eprintln!("{equal} requests are the captured ones");
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
    assert!(equal > 100, "only {equal}");
}
