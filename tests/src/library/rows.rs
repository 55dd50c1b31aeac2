//! Rows of a session in each generation (`docs/spec/rows.md`, `events-v0-v3.md`, `events-v4.md`).

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::Path;

use dshlog_codec::home::{encode_id, file_name, project_key};
use dshlog_codec::{Encoding, Generation};
use serde_json::{Value, json};

use super::{Part, Session};
use crate::grow::{Frames, Framing};
use crate::text::Rng;

const SYSTEM: &str = "You are a helpful software engineer assistant.";
const PROVIDER: &str = "deepseek-official";
const POLICY: &str =
    r#"["normal",5,["EMPTY_RESPONSE","RATE_LIMIT","SERVER","TIMEOUT","TRANSPORT"],500,10000,0.1]"#;

/// Write the log of a session at its place in a home.
pub(super) fn write(home: &Path, session: &Session) -> io::Result<()> {
    let placeless = || io::Error::other(format!("{}: no folder for it", session.name));
    let project = project_key(Some(&session.project.as_str().into())).ok_or_else(placeless)?;
    let id = encode_id(&session.name.as_str().into()).ok_or_else(placeless)?;
    let folder = home.join("sessions").join(project).join(id);
    fs::create_dir_all(&folder)?;
    let (framing, encoding) =
        if session.is_raw { (Framing::Raw, Encoding::Raw) } else { (Framing::usual(), Encoding::Zstd) };
    let file = File::create(folder.join(file_name(Generation(session.generation), encoding)))?;
    let mut frames = Frames::new(BufWriter::new(file), &framing, Rng::new(session.age))?;
    for row in Rows::of(session)? {
        frames.line(format!("{row}\n").as_bytes())?;
    }
    frames.finish()?;
    Ok(())
}

/// Collects the rows of a session.
struct Rows<'a> {
    session: &'a Session,
    written: Vec<Value>,
    seq: u64,
    time: u64,
    turn: u64,
    step: u64,
    in_step: bool,
    /// Blocks of the message that is being written.
    blocks: Vec<Value>,
    /// Calls without a result: id, and the seq of their event.
    open: Vec<(String, u64)>,
    calls: u64,
}

impl<'a> Rows<'a> {
    fn of(session: &'a Session) -> io::Result<Vec<Value>> {
        let time = session.start();
        let mut header = json!({"type": "session", "version": session.generation, "id": session.name,
            "createdAt": time, "cwd": session.project, "delegationDepth": 0});
        if session.generation > 1 {
            header["isSeeded"] = Value::from(false);
        }
        let mut rows = Rows {
            session,
            written: vec![header],
            seq: 0,
            time,
            turn: 0,
            step: 0,
            in_step: false,
            blocks: Vec::new(),
            open: Vec::new(),
            calls: 0,
        };
        for part in &session.parts {
            rows.part(part).ok_or_else(|| {
                io::Error::other(format!("{}: {part:?} cannot stand where it stands", session.name))
            })?;
        }
        rows.end_turn();
        Ok(rows.written)
    }

    fn part(&mut self, part: &Part) -> Option<()> {
        match part {
            Part::Prompt(text) => self.prompt(text),
            Part::Reasoning(text) => self.block(json!({"type": "reasoning", "text": text})),
            Part::Answer(text) => self.block(json!({"type": "text", "text": text})),
            Part::Call { tool, arguments } => {
                self.calls += 1;
                let id = format!("call_{}", self.calls);
                self.block(json!({"type": "tool-call", "id": id, "name": tool, "arguments": arguments}));
            }
            Part::Result { text, is_error } => {
                self.message();
                if self.open.is_empty() {
                    return None;
                }
                let (id, call) = self.open.remove(0);
                self.result(&id, call, text, *is_error);
            }
            Part::Failure { code, message } => {
                if self.session.generation < 4 || !self.blocks.is_empty() {
                    return None;
                }
                self.begin_step();
                self.failure(code, message);
            }
        }
        Some(())
    }

    fn prompt(&mut self, text: &str) {
        self.end_turn();
        self.turn += 1;
        self.time += 40_000;
        let turn = self.turn;
        let message = json!({"content": [{"type": "text", "text": text}], "source": {"kind": "user"},
            "role": "user", "id": self.id("user")});
        self.event("agent/inbox/spliced", json!({"target": "next-turn", "start": 0, "inserted": [message]}));
        self.event("turn/start", json!({"turn": turn}));
        let removed = json!({"target": "next-turn", "start": 0, "removedCount": 1, "inserted": []});
        self.event("agent/inbox/spliced", removed);
        self.begin_step();
        let generation = self.session.generation;
        if turn == 1 && generation > 2 {
            let source = match generation {
                3 => json!({"kind": "plugin", "plugin": "@deepseek-ai/dsh-system-prompt"}),
                _ => json!({"kind": "system-prompt"}),
            };
            let message = json!({"role": "system", "content": [{"type": "text", "text": SYSTEM}],
                "source": source, "id": self.id("system")});
            self.node("system/message", json!({"turn": 1, "step": 1, "message": message}), &[]);
        }
        let asked = self.node("user/message", message, &[]);
        if turn == 1 {
            self.request(asked);
        }
    }

    /// What the first request brings: its header, and the title.
    fn request(&mut self, asked: u64) {
        let model = &self.session.model;
        let mut header = json!({"config": {"provider": PROVIDER, "model": model, "maxTokens": 256_000}});
        if self.session.generation < 3 {
            header["system"] = Value::from(SYSTEM);
        }
        let context = json!({"provider": PROVIDER, "model": model, "contextWindow": 1_000_000});
        self.event("request/header", json!({"header": header, "reason": "initial"}));
        self.event("request/context", context);
        if let Some(title) = &self.session.title {
            let data = json!({"title": title, "messageSeqs": [asked], "source": {"kind": "fallback"}});
            self.event("session/title", data);
        }
    }

    fn block(&mut self, block: Value) {
        self.begin_step();
        self.blocks.push(block);
    }

    /// Begin a step, unless one is open that waits for no result.
    fn begin_step(&mut self) {
        if self.in_step {
            return;
        }
        self.in_step = true;
        self.step += 1;
        self.event("step/start", json!({"turn": self.turn, "step": self.step}));
    }

    fn end_step(&mut self) {
        if self.in_step {
            self.in_step = false;
            self.event("step/end", json!({"turn": self.turn, "step": self.step}));
        }
    }

    fn end_turn(&mut self) {
        self.message();
        if self.turn > 0 {
            self.end_step();
            self.event("turn/end", json!({"turn": self.turn, "reason": {"kind": "completed"}}));
        }
        self.step = 0;
    }

    /// The message of the blocks so far, and the calls in it.
    fn message(&mut self) {
        if self.blocks.is_empty() {
            return;
        }
        let blocks = std::mem::take(&mut self.blocks);
        let (turn, step) = (self.turn, self.step);
        let calls: Vec<Value> = blocks.iter().filter(|block| block["type"] == "tool-call").cloned().collect();
        let reason = if calls.is_empty() { "stop" } else { "tool-calls" };
        let usage = json!({"inputTokens": 100, "outputTokens": 20, "totalTokens": 120});
        self.time += 800;
        let chunks = chunks(&blocks, &usage, reason);
        let source = json!({"kind": "model", "provider": PROVIDER, "model": self.session.model});
        let message =
            json!({"role": "assistant", "content": blocks, "source": source, "id": self.id("assistant")});
        let mut data = json!({"turn": turn, "step": step, "message": message, "usage": usage});
        let mut sources = Vec::new();
        if self.session.generation < 2 {
            for chunk in chunks {
                sources
                    .push(self.event("assistant/chunk", json!({"turn": turn, "step": step, "chunk": chunk})));
            }
        } else {
            let records = chunks.iter().map(|chunk| record(chunk, self.time));
            data["stream"] = records.collect();
        }
        self.node("assistant/message", data, &sources);
        for call in calls {
            let data = json!({"turn": turn, "step": step, "callId": call["id"], "name": call["name"],
                "arguments": call["arguments"]});
            let seq = self.event("tool/call", data);
            self.open.push((call["id"].as_str().unwrap_or_default().to_owned(), seq));
        }
    }

    fn result(&mut self, id: &str, call: u64, text: &str, is_error: bool) {
        let source = json!({"kind": "tool", "callId": id});
        let content = json!([{"type": "text", "text": text}]);
        let mine = self.id("tool");
        let message = if self.session.generation < 4 {
            let result =
                json!({"type": "tool-result", "toolCallId": id, "content": content, "isError": is_error});
            json!({"source": source, "content": [result], "role": "user", "id": mine})
        } else {
            json!({"role": "tool", "source": source, "toolCallId": id, "content": content, "isError": is_error,
                "id": mine})
        };
        self.time += 1_500;
        let data = json!({"turn": self.turn, "step": self.step, "message": message});
        self.node("tool/result", data, &[call]);
        if self.open.is_empty() {
            self.end_step();
        }
    }

    /// An attempt that the service refused, and the start of another one.
    fn failure(&mut self, code: &str, message: &str) {
        let (turn, step, retry) = (self.turn, self.step, self.id("retry"));
        let failure = json!({"message": message, "code": code, "status": 500});
        let finish = json!({"type": "finish", "reason": {"kind": "error", "failure": failure}});
        let stream = [record(&finish, self.time)];
        self.event("assistant/attempt", json!({"turn": turn, "step": step, "stream": stream}));
        let data = json!({"retryId": retry, "turn": turn, "step": step, "provider": PROVIDER, "mode": "normal",
            "policyKey": POLICY, "retry": 1, "maxRetries": 5, "delayMs": 500.25, "failure": failure});
        self.event("llm/retry", data);
        self.event("llm/retry-started", json!({"retryId": retry, "turn": turn, "step": step, "retry": 1}));
    }

    /// An id that no other message of the session has.
    fn id(&self, kind: &str) -> String {
        format!("{kind}-{}", self.seq)
    }

    /// Write an event that goes to the end of the surface.
    fn node(&mut self, kind: &str, data: Value, sources: &[u64]) -> u64 {
        let seq = self.event(kind, data);
        if let Some(row) = self.written.last_mut() {
            row["surfaceOp"] = Value::from("append");
            if !sources.is_empty() {
                row["sourceEventSeqs"] = sources.into();
            }
        }
        seq
    }

    fn event(&mut self, kind: &str, data: Value) -> u64 {
        let seq = self.seq;
        self.time += 3;
        let mut row = json!({"type": kind, "seq": seq, "time": self.time});
        row["data"] = data;
        self.written.push(row);
        self.seq += 1;
        seq
    }
}

/// What a model streams, each block in one delta.
fn chunks(blocks: &[Value], usage: &Value, reason: &str) -> Vec<Value> {
    let mut chunks = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        let kind = block["type"].as_str().unwrap_or_default();
        chunks.push(json!({"type": "block-start", "index": index, "blockType": kind}));
        let mut delta = json!({"type": format!("{kind}-delta"), "index": index});
        if kind == "tool-call" {
            (delta["id"], delta["name"]) = (block["id"].clone(), block["name"].clone());
            delta["argumentsDelta"] = block["arguments"].clone();
        } else {
            delta["text"] = block["text"].clone();
        }
        chunks.push(delta);
        chunks.push(json!({"type": "block-end", "index": index, "block": block}));
    }
    chunks.push(json!({"type": "usage", "usage": usage}));
    chunks.push(json!({"type": "finish", "reason": {"kind": reason}}));
    chunks
}

/// A chunk as a record of a packed stream.
fn record(chunk: &Value, time: u64) -> Value {
    let index = &chunk["index"];
    match chunk["type"].as_str().and_then(|kind| kind.strip_suffix("-delta")) {
        Some("tool-call") => json!({"type": "tool-call-chunks", "time0": time, "index": index, "dt": [],
            "id": chunk["id"], "name": chunk["name"], "args": [chunk["argumentsDelta"]]}),
        Some(kind) => json!({"type": format!("{kind}-chunks"), "time0": time, "index": index, "dt": [],
            "texts": [chunk["text"]]}),
        None => json!({"type": "chunk", "time": time, "chunk": chunk}),
    }
}
