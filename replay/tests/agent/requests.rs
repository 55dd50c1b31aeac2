//! The requests that the loop makes while it runs a record again are those that dsh sent.

use std::collections::HashMap;
use std::path::Path;

use dshlog_codec::json::{Doc, Js};
use dshlog_codec::{Limits, LogFile, Seq};
use dshlog_replay::Request;
use dshlog_replay::agent::rerun::{Options, rerun};
use dshlog_replay::request::chat::ChatPrinter;
use dshlog_replay::request::messages::MessagesPrinter;
use dshlog_tests::model::{Corpora, sha256_hex, skip};
use dshlog_tests::uploads::Uploads;

use crate::records::{self, Log};

/// What was sent, by the seq in which it ended.
struct Sent {
    sha256: String,
    is_chat: bool,
    files: Uploads,
}

fn sent(case: &Path, log: &Path) -> HashMap<u64, Sent> {
    let session = log.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    let text = std::fs::read_to_string(case.join("requests.jsonl")).unwrap();
    let answers = std::fs::read_to_string(case.join("responses.jsonl")).unwrap_or_default();
    let answers: Vec<&str> = answers.lines().collect();
    let mut files = Uploads::of(case);
    let mut found = HashMap::new();
    for line in text.lines() {
        let doc = Doc::parse(line).unwrap();
        let text = |name| doc.root().get(name).and_then(Js::as_str).map(|text| text.to_string());
        if text("kind").as_deref() == Some("other") {
            let number = doc.root().get("n").and_then(Js::as_count).unwrap();
            let answer = answers.get(usize::try_from(number).unwrap());
            if let Some(answer) = answer.and_then(|answer| Doc::parse(*answer).ok()) {
                files.answered(answer.root());
            }
        }
        for (id, file) in doc.root().get("fileIds").into_iter().flat_map(Js::members) {
            files.known(id.to_string(), file.as_str().unwrap().to_string());
        }
        let in_log = text("log").is_none_or(|named| case.join(named) == log);
        if text("kind").as_deref() != Some("agent") || text("session").as_ref() != Some(&session) || !in_log {
            continue;
        }
        let Some(seq) = doc.root().get("seq").and_then(Js::as_count) else { continue };
        let is_chat = text("path").unwrap().contains("completions");
        found.insert(seq, Sent { sha256: text("baseSha256").unwrap(), is_chat, files: files.clone() });
    }
    found
}

/// Seqs of the settlements of a log as it is stored.
fn stored(path: &Path) -> Vec<u64> {
    let mut reader = LogFile::open(path).unwrap().read(&Limits::default()).unwrap();
    let mut seqs = Vec::new();
    while let Some(event) = reader.next_event().unwrap() {
        if event.is("assistant/message") || event.is("assistant/attempt") {
            seqs.push(event.seq.0);
        }
    }
    seqs
}

/// Seqs of the settlements of a log in the form of V4.
fn settled(log: &Log) -> Vec<u64> {
    let is = |row: &String| {
        row.starts_with(r#"{"type":"assistant/message","#)
            || row.starts_with(r#"{"type":"assistant/attempt","#)
    };
    (0..).zip(&log.rows).filter(|(_, row)| is(row)).map(|(seq, _)| seq).collect()
}

#[test]
fn requests_are_those_that_were_sent() {
    check(&Corpora::own().dir.join("wire"), 20, 5);
}

#[test]
fn all_requests_are_those_that_were_sent() {
    match Corpora::shared() {
        Some(shared) => check(&shared.dir.join("wire"), 250, 100),
        None => skip("no captured requests"),
    }
}

/// Run all logs of a folder again: so many requests are those that were sent at least, and so many of them are Chat
/// Completions.
#[track_caller]
fn check(wire: &Path, least: u32, least_older: u32) {
    let (mut equal, mut older, mut wrong) = (0, 0, Vec::new());
    for path in records::files(wire) {
        let name = path.strip_prefix(wire).unwrap().display().to_string();
        let case = wire.join(name.split('/').next().unwrap());
        let sent = sent(&case, &path);
        let log = Log::read(name.clone(), &path).unwrap();
        // A migration numbers events anew, and keeps their order.
        let before: HashMap<u64, u64> = settled(&log).into_iter().zip(stored(&path)).collect();
        let record = log.record();
        let mut printer = (MessagesPrinter::default(), ChatPrinter::default());
        let mut hear = |seq: Seq, request: Request<'_>| {
            let Some(sent) = sent.get(&before[&seq.0]) else { return };
            let call = request.call().unwrap();
            let body = if sent.is_chat {
                printer.1.body(&call, &sent.files)
            } else {
                printer.0.body(&call, &sent.files).map(|body| body.json)
            };
            match body {
                Ok(json) if sha256_hex(&json) == sent.sha256 => {
                    equal += 1;
                    older += u32::from(sent.is_chat);
                }
                Ok(_) => wrong.push(format!("{name} seq {seq}: another body")),
                Err(refusal) => wrong.push(format!("{name} seq {seq}: {refusal}")),
            }
        };
        rerun(&record, Options { on_request: Some(&mut hear), ..Options::default() }).unwrap();
    }
    assert!(wrong.is_empty(), "{}\n{}", wrong.len(), wrong.join("\n"));
    assert!(equal >= least && older >= least_older, "only {equal}, {older}");
}
