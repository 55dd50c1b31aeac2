//! Every response that was served to a real client, read here: it gives the stream that the log holds.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use dshlog_codec::json::{Doc, Js, JsString};
use dshlog_codec::{Limits, LogFile, Millis};
use dshlog_replay::wire::{BodyEnd, Chunk, Dialect, Reason, Route, Served, expand};
use dshlog_tests::model::Corpora;
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
            route.base = base.to_owned();
        }
        let idle = message.strip_prefix("DeepSeek stream idle timeout after ");
        if let Some(idle) = idle.and_then(|idle| idle.strip_suffix("ms")?.parse().ok()) {
            route.idle_timeout_ms = idle;
        }
    }
    route
}

/// All streams of a log as it is stored, by seq.
fn streams(log: &Path) -> HashMap<u64, Vec<(Millis, Chunk)>> {
    let mut walk = LogFile::open(log).unwrap().read(&Limits::default()).unwrap();
    let mut streams = HashMap::new();
    while let Some(event) = walk.next_event().unwrap() {
        if let Some(stream) = event.member("stream") {
            streams.insert(event.seq.0, expand(stream).unwrap());
        }
    }
    streams
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
    let mut by_log: HashMap<PathBuf, HashMap<u64, Vec<(Millis, Chunk)>>> = HashMap::new();
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
        let streams = by_log.entry(log.clone()).or_insert_with(|| streams(&log));
        let stream = streams.get(&seq).unwrap_or_else(|| panic!("{told}: no stream at {seq}")).clone();
        let is_chat = request["path"].as_str().unwrap().contains("completions");
        let dialect = if is_chat { Dialect::Chat } else { Dialect::Messages };
        let model = request["model"].as_str().unwrap();
        let route = told_by(dialect, model, &stream);
        found.push(Settled { told, n, route, served: served(&responses[&n]), stream });
    }
    found
}

pub(crate) fn cases(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut cases: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    cases.sort();
    cases
}

/// Those of which the log holds a part: the client had left, or had waited too long.
fn prefixes(case: &Path) -> Vec<u64> {
    let Ok(info) = std::fs::read_to_string(case.join("info.json")) else { return Vec::new() };
    let info: Value = serde_json::from_str(&info).unwrap();
    info["decode"]["prefix"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect()
}

#[test]
fn every_served_response_gives_the_stream_in_the_log() {
    let Some(shared) = Corpora::shared() else { return };
    let (mut equal, mut prefix) = (0, 0);
    for case in cases(&shared.dir.join("wire")) {
        let prefixes = prefixes(&case);
        for settled in settled(&case) {
            let mut read = Vec::new();
            let mut reader = settled.served.read(settled.route, &mut read);
            let stored: Vec<Chunk> = settled.stream.into_iter().map(|(_, chunk)| chunk).collect();
            let is_timeout = matches!(stored.last(), Some(Chunk::Finish(finish))
                if matches!(&finish.reason, Reason::Error(failure) if failure.code == JsString::from("TIMEOUT")));
            if prefixes.contains(&settled.n) {
                let told = if is_timeout { &stored[..stored.len() - 1] } else { &stored[..] };
                assert!(read.starts_with(told), "{}\n{stored:#?}\n{read:#?}", settled.told);
                prefix += 1;
                continue;
            }
            if is_timeout {
                reader.end(BodyEnd::Idle, &mut read);
            }
            assert_eq!(read, stored, "{}", settled.told);
            equal += 1;
        }
    }
    assert_eq!((equal, prefix), (271, 7));
}
