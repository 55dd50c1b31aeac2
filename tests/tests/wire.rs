//! Requests against the bodies that real runtimes sent (`corpora/README.md`): whole bodies, by their hash.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::path::{Path, PathBuf};

use dshlog_codec::check::EventType;
use dshlog_codec::home::parse_name;
use dshlog_codec::json::{Doc, Js};
use dshlog_codec::{Event, Generation, Limits, LogFile, Seq};
use dshlog_migrate::migrate_in_memory;
use dshlog_replay::request::call::{COMPACTION_TOKENS_CHAT, Call};
use dshlog_replay::request::chat::ChatPrinter;
use dshlog_replay::request::messages::MessagesPrinter;
use dshlog_replay::{Positions, Requests};
use dshlog_tests::model::{repository, sha256_hex, skip};
use dshlog_tests::uploads::Uploads;

/// A request as it was sent.
#[derive(Debug)]
struct Sent {
    told: String,
    kind: String,
    is_chat: bool,
    /// The event that it ended in, began in, or was lost before; in the log that it counts in.
    seq: u64,
    sha256: String,
    instruction: Option<String>,
    files: Uploads,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    agent: usize,
    title: usize,
    compaction: usize,
}

#[test]
fn every_body_of_the_own_corpus_is_rebuilt() {
    let tally = check(&repository().join("corpora/wire"));
    assert!(tally.agent > 20 && tally.title > 4 && tally.compaction > 3, "{tally:?}");
}

#[test]
fn every_body_of_the_whole_corpus_is_rebuilt() {
    let shared = std::env::var_os("DSHLOG_SHARED_CORPORA")
        .map_or_else(|| repository().join("../shared/corpora"), PathBuf::from);
    if !shared.join("wire").is_dir() {
        skip(&format!("no shared corpora in {}", shared.display()));
        return;
    }
    assert_eq!(check(&shared.join("wire")), Tally { agent: 280, title: 48, compaction: 15 });
}

fn check(corpus: &Path) -> Tally {
    let mut tally = Tally::default();
    for case in folders(corpus) {
        let mut by_log: BTreeMap<PathBuf, Vec<Sent>> = BTreeMap::new();
        for (log, sent) in requests(&case) {
            by_log.entry(log).or_default().push(sent);
        }
        for (log, sent) in &by_log {
            check_log(log, sent, &mut tally);
        }
    }
    tally
}

/// One walk over a log, for all of its requests.
fn check_log(path: &Path, sent: &[Sent], tally: &mut Tally) {
    let log = LogFile::open(path).unwrap();
    let stored = stored_lines(&log);
    let mut requests = Requests::new();
    let mut positions = Positions::default();
    let (mut messages, mut chat) = (MessagesPrinter::default(), ChatPrinter::default());
    let mut found = 0;
    let mut see = |event: &Event<'_>| {
        let seq = if stored.is_empty() { event.seq.0 } else { stored[&event.place.line] };
        let is_inserted = stored.is_empty() || !event.is("turn/end") || is_stored_end(&log, event);
        for sent in sent.iter().filter(|sent| sent.seq == seq && is_inserted) {
            check_request(&requests, event, sent, &mut messages, &mut chat);
            found += 1;
            match sent.kind.as_str() {
                "agent" => tally.agent += 1,
                "title" => tally.title += 1,
                _ => tally.compaction += 1,
            }
        }
        assert_eq!(
            requests.settled(event).map(|request| request.position),
            positions.settled(event),
            "the two ways to count agree"
        );
        positions.see(event);
        requests.see(event).unwrap();
    };
    if log.generation() == Generation::CURRENT {
        let mut walk = log.read(&Limits::default()).unwrap();
        while let Some(event) = walk.next_event().unwrap() {
            see(&event);
        }
    } else {
        migrate_in_memory(&log, Some(Vec::new()), &Limits::default(), |event| {
            see(event);
            Ok::<_, Infallible>(())
        })
        .unwrap();
    }
    assert_eq!(found, sent.len(), "{}: every request is looked for in one place", path.display());
}

fn check_request(
    requests: &Requests,
    event: &Event<'_>,
    sent: &Sent,
    messages: &mut MessagesPrinter,
    chat: &mut ChatPrinter,
) {
    let mut sha256_of = |call: &Call<'_>| {
        let body = if sent.is_chat {
            chat.body(call, &sent.files)
        } else {
            messages.body(call, &sent.files).map(|body| body.json)
        };
        sha256_hex(&body.unwrap_or_else(|refusal| panic!("{}: {refusal}", sent.told)))
    };
    match sent.kind.as_str() {
        "agent" => {
            let request = requests.settled(event).unwrap_or_else(|| requests.next());
            assert_eq!(sha256_of(&request.call().unwrap()), sent.sha256, "{}", sent.told);
        }
        "title" => assert_eq!(sha256_of(&Call::title(event).unwrap()), sent.sha256, "{}", sent.told),
        _ => {
            let mut compaction = requests.compaction(event).unwrap();
            if sent.is_chat {
                compaction.max_tokens.get_or_insert(COMPACTION_TOKENS_CHAT);
            }
            let is_failed = compaction.shown.is_none();
            let instruction = sent.instruction.as_deref();
            // How much a compaction was shown that failed is in no log.
            let ends: Vec<Option<Seq>> = if is_failed {
                requests.history().nodes().map(|node| Some(node.seq)).collect()
            } else {
                vec![None]
            };
            let is_equal = |through: &Option<Seq>| {
                let call = requests.compaction_call(&compaction, instruction, *through).unwrap();
                let body = if sent.is_chat {
                    ChatPrinter::default().body(&call, &sent.files).ok()
                } else {
                    MessagesPrinter::default().body(&call, &sent.files).ok().map(|body| body.json)
                };
                body.is_some_and(|body| sha256_hex(&body) == sent.sha256)
            };
            assert!(ends.iter().any(is_equal), "{}: {compaction:?}", sent.told);
        }
    }
}

/// Lines of a log that is migrated on the way, with the seq of the event in each; nothing for a current one.
fn stored_lines(log: &LogFile) -> HashMap<u64, u64> {
    let mut lines = HashMap::new();
    if log.generation() == Generation::CURRENT {
        return lines;
    }
    let mut walk = log.read(&Limits::default()).unwrap();
    while let Some(event) = walk.next_event().unwrap() {
        lines.insert(event.place.line, event.seq.0);
    }
    lines
}

/// A `turn/end` that the migration put in stands at the place of the next event.
fn is_stored_end(log: &LogFile, end: &Event<'_>) -> bool {
    let mut walk = log.read(&Limits::default()).unwrap();
    while let Some(event) = walk.next_event().unwrap() {
        if event.place == end.place {
            return EventType::of(event.kind) == EventType::of(end.kind);
        }
    }
    false
}

fn folders(of: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(of).unwrap_or_else(|e| panic!("{}: {e}", of.display()));
    let mut folders: Vec<_> =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// The requests of a case that a log can tell of, each with its log.
fn requests(case: &Path) -> Vec<(PathBuf, Sent)> {
    let name = case.file_name().unwrap().to_string_lossy();
    let read = |file: &str| std::fs::read_to_string(case.join(file)).ok();
    let parse = |text: String| text.lines().map(|line| Doc::parse(line).unwrap()).collect::<Vec<_>>();
    let lines = parse(read("requests.jsonl").unwrap());
    let responses = read("responses.jsonl").map_or(Vec::new(), parse);
    let mut files = Uploads::of(case);
    let mut found = Vec::new();
    for doc in &lines {
        let line = doc.root();
        let text = |name| line.get(name).and_then(Js::as_str).map(|text| text.to_lossy().into_owned());
        let number = line.get("n").unwrap().as_count().unwrap();
        let kind = text("kind").unwrap();
        if kind == "other" {
            let answer =
                responses.iter().find(|answer| answer.root().get("n").unwrap().as_count() == Some(number));
            if let Some(answer) = answer {
                files.answered(answer.root());
            }
            continue;
        }
        for (id, file) in line.get("fileIds").into_iter().flat_map(Js::members) {
            files.known(id.to_lossy().into_owned(), file.as_str().unwrap().to_lossy().into_owned());
        }
        let event = |name: &str| line.path(&["events", name]).and_then(Js::as_count);
        let seq = match kind.as_str() {
            "title" => event("session/title-llm-request"),
            "compaction" => event("compaction/summary").or_else(|| event("compaction/end")),
            _ => line.get("seq").and_then(Js::as_count).or_else(|| line.get("before")?.as_count()),
        };
        let session = text("session").unwrap();
        let log = text("log").map_or_else(|| newest(case, &session), |log| case.join(log));
        found.push((
            log,
            Sent {
                told: format!("{name} request {number}"),
                is_chat: text("path").unwrap().contains("completions"),
                seq: seq.unwrap(),
                sha256: text("baseSha256").unwrap(),
                instruction: (kind == "compaction")
                    .then(|| text("instruction").unwrap_or_else(|| instruction(line))),
                kind,
                files: files.clone(),
            },
        ));
    }
    found
}

/// The instruction at the end of a compaction request.
fn instruction(line: Js<'_>) -> String {
    let content =
        line.path(&["body", "messages"]).unwrap().elements().last().unwrap().get("content").unwrap();
    let text = content.as_str().or_else(|| content.elements().last()?.get("text")?.as_str());
    text.unwrap().to_lossy().into_owned()
}

/// The newest log of a session.
fn newest(case: &Path, session: &str) -> PathBuf {
    let folder = folders(&case.join("home/sessions")).into_iter().map(|project| project.join(session));
    let folder = folder.into_iter().find(|folder| folder.is_dir()).unwrap();
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let logs = entries.filter_map(|entry| Some((parse_name(&entry.file_name())?.0, entry.path())));
    logs.max_by_key(|(generation, _)| *generation).unwrap().1
}
