//! Every response that was served to a real client, read here: it gives the stream that the log holds.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use dshlog_codec::json::{Doc, Js, JsString};
use dshlog_codec::{Generation, Limits, LogFile, Millis, Seq};
use dshlog_replay::wire::{
    Assembler, Block, BodyEnd, Chunk, Dialect, End, Fidelity, Reason, Recorded, Recording, Recordings, Route,
    Served, respond, summary_answer, title_answer,
};
use dshlog_tests::model::{Corpora, repository};
use serde_json::Value;

use super::logs;

/// A request that ended in an event of a log, and what it was answered.
pub(crate) struct Settled {
    /// For people.
    pub(crate) told: String,
    pub(crate) n: u64,
    pub(crate) route: Route,
    pub(crate) served: Served,
    /// What the log holds of the answer.
    pub(crate) stream: Vec<(Millis, Chunk)>,
    /// The log says that a head came.
    pub(crate) is_accepted: bool,
}

/// The last message of a failure, from which the client's configuration can be told.
pub(crate) fn told_by(dialect: Dialect, model: &str, stream: &[(Millis, Chunk)]) -> Route {
    let mut route = Route {
        dialect,
        model: JsString::from(model),
        base: "http://127.0.0.1".to_owned(),
        idle_timeout_ms: 1,
    };
    if let Some((_, Chunk::Finish(finish))) = stream.last()
        && let Some(failure) = finish.reason.failure()
    {
        let message = failure.message.to_lossy();
        let base = ["DeepSeek API stream from ", "DeepSeek API request to "]
            .iter()
            .find_map(|start| message.strip_prefix(start)?.strip_suffix(" failed"));
        if let Some(base) = base {
            base.clone_into(&mut route.base);
        }
        let idle = message.strip_prefix("DeepSeek stream idle timeout after ");
        if let Some(idle) = idle.and_then(|idle| idle.strip_suffix("ms")?.parse().ok()) {
            route.idle_timeout_ms = idle;
        }
    }
    route
}

/// The model that a stream names, where no request is kept that does.
fn model_of(stream: &[(Millis, Chunk)]) -> String {
    let named = stream.iter().find_map(|(_, chunk)| match chunk {
        Chunk::Finish(finish) => Some(finish.replay_state.as_ref()?.model.to_string()),
        _ => None,
    });
    named.unwrap_or_default()
}

/// All settled attempts of a log as it is stored, by seq.
fn recordings(log: &Path) -> HashMap<u64, Recording> {
    let mut walk = LogFile::open(log).unwrap().read(&Limits::default()).unwrap();
    let (mut recordings, mut found) = (Recordings::new(), HashMap::new());
    while let Some(event) = walk.next_event().unwrap() {
        if let Some(recording) = recordings.see(&event).unwrap() {
            found.insert(event.seq.0, recording);
        }
    }
    found
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Requests without their bodies, but for the model: texts in there may hold lone surrogates.
fn requests(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let requests = text.lines().map(|line| {
        let doc = Doc::parse(line).unwrap();
        let mut request = Value::Null;
        for name in ["n", "seq", "repeated", "path", "session", "log"] {
            let value = doc.root().get(name).map(|value| serde_json::from_str(value.raw()).unwrap());
            request[name] = value.unwrap_or_default();
        }
        let model = doc.root().path(&["body", "model"]).and_then(Js::as_str);
        request["model"] = model.map(|model| model.to_lossy().into_owned()).into();
        request
    });
    requests.collect()
}

/// A response as it was recorded. When the client left, the connection stayed open as long as it was there.
fn served(line: &Value) -> Served {
    let mut line = line.clone();
    if line["end"] == "client-left" {
        line["end"] = "stall".into();
    }
    serde_json::from_value(line).unwrap()
}

/// The log of a session that has the most to tell.
fn log_of(case: &Path, request: &Value) -> PathBuf {
    if let Some(log) = request["log"].as_str() {
        return case.join(log);
    }
    let session = request["session"].as_str().unwrap();
    let all = logs::below(&case.join("home/sessions"));
    let mut of = all.into_iter().filter(|log| log.parent().unwrap().ends_with(session));
    of.next_back().unwrap()
}

/// The settled requests of a case; nothing when its responses are not kept.
pub(crate) fn settled(case: &Path) -> Vec<Settled> {
    let file = case.join("responses.jsonl");
    if !file.is_file() {
        return Vec::new();
    }
    let responses: HashMap<u64, Value> =
        lines(&file).into_iter().map(|line| (line["n"].as_u64().unwrap(), line)).collect();
    let mut by_log: HashMap<PathBuf, HashMap<u64, Recording>> = HashMap::new();
    let mut found = Vec::new();
    for request in requests(&case.join("requests.jsonl")) {
        let n = request["n"].as_u64().unwrap();
        let told = format!("{} request {n}", case.file_name().unwrap().display());
        // What was repeated inside an attempt was answered twice, and the log holds the second answer.
        let (Some(seq), false) = (request["seq"].as_u64(), request["repeated"].as_bool() == Some(true))
        else {
            continue;
        };
        let log = log_of(case, &request);
        let recordings = by_log.entry(log.clone()).or_insert_with(|| recordings(&log));
        let recording = recordings.get(&seq).unwrap_or_else(|| panic!("{told}: no stream at {seq}")).clone();
        let (stream, is_accepted) = (recording.chunks, recording.is_accepted);
        let is_chat = request["path"].as_str().unwrap().contains("completions");
        let dialect = if is_chat { Dialect::Chat } else { Dialect::Messages };
        let model = request["model"].as_str().map_or_else(|| model_of(&stream), str::to_owned);
        let route = told_by(dialect, &model, &stream);
        found.push(Settled { told, n, route, served: served(&responses[&n]), stream, is_accepted });
    }
    found
}

pub(crate) fn cases(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut cases: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    cases.sort();
    cases
}

#[derive(Debug, PartialEq, Eq)]
struct Tally {
    equal: usize,
    prefixes: usize,
}

/// Read each response of a corpus, and compare what came of it with what the log holds.
fn check(corpus: &Path) -> Tally {
    let mut tally = Tally { equal: 0, prefixes: 0 };
    for case in cases(corpus) {
        for settled in settled(&case) {
            let mut read = Vec::new();
            let mut reader = settled.served.read(settled.route, &mut read);
            let stored: Vec<Chunk> = settled.stream.into_iter().map(|(_, chunk)| chunk).collect();
            let is_timeout = matches!(stored.last(), Some(Chunk::Finish(finish))
                if matches!(&finish.reason, Reason::Error(failure) if failure.code == JsString::from("TIMEOUT")));
            if is_prefix(&case, settled.n) {
                let told = if is_timeout { &stored[..stored.len() - 1] } else { &stored[..] };
                assert!(read.starts_with(told), "{}\n{stored:#?}\n{read:#?}", settled.told);
                tally.prefixes += 1;
                continue;
            }
            if is_timeout {
                reader.end(BodyEnd::Idle, &mut read);
            }
            assert_eq!(read, stored, "{}", settled.told);
            tally.equal += 1;
        }
    }
    tally
}

/// Responses of which the log holds a part: the client had left, or had waited too long.
pub(crate) fn is_prefix(case: &Path, n: u64) -> bool {
    const PREFIXES: [(&str, &[u64]); 5] = [
        ("v3-cancel-early", &[0, 1]),
        ("v3-cancel-stream", &[0]),
        ("v3-migrated-failures", &[3]),
        ("v4-cancel-early", &[0, 2]),
        ("v4-cancel-stream", &[0]),
    ];
    PREFIXES.iter().any(|(name, of)| case.ends_with(name) && of.contains(&n))
}

#[test]
fn every_served_response_of_the_own_corpus_gives_the_stream_in_the_log() {
    assert_eq!(check(&repository().join("corpora/wire")), Tally { equal: 103, prefixes: 2 });
}

#[test]
fn every_served_response_of_the_whole_corpus_gives_the_stream_in_the_log() {
    let Some(shared) = Corpora::shared() else { return };
    assert_eq!(check(&shared.dir.join("wire")), Tally { equal: 271, prefixes: 7 });
}

/// The response that is made of a stream begins and ends as the one that was served.
#[test]
fn made_responses_begin_and_end_as_those_that_were_served() {
    let Some(shared) = Corpora::shared() else { return };
    let (mut seen, mut other) = (HashMap::new(), Vec::new());
    for case in cases(&shared.dir.join("wire")) {
        for settled in settled(&case).into_iter().filter(|settled| !is_prefix(&case, settled.n)) {
            let Settled { told, route, served, stream, is_accepted, .. } = settled;
            let recorded = Recorded { seq: Seq(0), chunks: &stream, is_accepted };
            let made = respond(recorded, route.dialect, Fidelity::Exact).unwrap().unwrap();
            if made.status != served.status {
                other.push(told);
                continue;
            }
            // A client that found a defect leaves, whether or not the body has come to its end.
            if served.end != End::Stall {
                assert_eq!(made.body_end(), served.body_end(), "{told}");
            }
            *seen.entry(format!("{:?} {:?}", made.status, made.body_end())).or_insert(0) += 1;
        }
    }
    // The head of the answer for the title came while this one was waited for; the log does not tell whose it was.
    assert_eq!(other, ["v4-cut-before-first request 0"]);
    assert_eq!(seen["None Some(Broken)"], 1);
    assert_eq!(seen["Some(204) Some(Complete)"], 2);
    assert_eq!(seen["Some(200) Some(Broken)"], 4);
}

/// Section 11.4: what stands in a log of a compaction or a title, and the answer that was served.
#[test]
fn answers_to_compactions_and_titles() {
    let Some(shared) = Corpora::shared() else { return };
    let (mut summaries, mut titles) = (0, 0);
    for case in cases(&shared.dir.join("wire")) {
        for path in logs::below(&case.join("home/sessions")) {
            let mut walk = LogFile::open(&path).unwrap().read(&Limits::default()).unwrap();
            let is_current = walk_is_current(&path);
            let dialect = if is_current { Dialect::Messages } else { Dialect::Chat };
            while let Some(event) = walk.next_event().unwrap() {
                let told = format!("{} seq {}", path.display(), event.seq);
                let read_back = |chunks: &[(Millis, Chunk)]| {
                    let recorded = Recorded { seq: event.seq, chunks, is_accepted: true };
                    let served = respond(recorded, dialect, Fidelity::Exact).unwrap().unwrap();
                    let (mut read, mut assembler) = (Vec::new(), Assembler::new());
                    served.read(told_by(dialect, &model_of(chunks), chunks), &mut read);
                    for chunk in &read {
                        assembler.push(chunk);
                    }
                    assembler
                };
                if let Some(chunks) = summary_answer(&event, dialect) {
                    let assembler = read_back(&chunks);
                    let print = |print: &dyn Fn(&mut Vec<u8>)| {
                        let mut out = Vec::new();
                        print(&mut out);
                        String::from_utf8(out).unwrap()
                    };
                    let blocks: Vec<_> =
                        assembler.blocks().iter().map(|block| print(&|out| block.print(out))).collect();
                    let raw = event.member("rawOutput").unwrap().raw();
                    assert_eq!(format!("[{}]", blocks.join(",")), raw, "{told}");
                    let usage = assembler.usage().map(|usage| print(&|out| usage.print(out)));
                    assert_eq!(usage.as_deref(), event.member("usage").map(Js::raw), "{told}");
                    summaries += 1;
                }
                let is_given = event.data.and_then(|data| data.path(&["source", "kind"]));
                if event.is("session/title") && is_given.is_some_and(|kind| kind.is("provider")) {
                    let title = event.member("title").unwrap().as_str().unwrap().to_owned();
                    let assembler = read_back(&title_answer(title.clone(), JsString::from("m"), dialect));
                    assert_eq!(assembler.blocks(), [Block::Text(title)], "{told}");
                    titles += 1;
                }
            }
        }
    }
    assert!(summaries > 8 && titles > 20, "{summaries} {titles}");
}

fn walk_is_current(path: &Path) -> bool {
    LogFile::open(path).unwrap().generation() == Generation::CURRENT
}
