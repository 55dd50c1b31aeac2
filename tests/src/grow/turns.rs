//! Turns as dsh writes them (`docs/spec/agent-loop.md`), with fresh content.

use std::fmt::Write as _;
use std::io::{self, Write};

use super::frames::Frames;
use super::stream::{Block, Stream};
use super::{Base, Talk};
use crate::text::{Rng, Words, quote};

const TOOLS: [(&str, &str); 3] = [("bash", "command"), ("read", "file_path"), ("grep", "pattern")];
const FAILURE: &str = r#"{"message":"scripted failure","code":"SERVER","status":500}"#;
const POLICY: &str = r#"[\"normal\",5,[\"EMPTY_RESPONSE\",\"RATE_LIMIT\",\"SERVER\",\"TIMEOUT\",\"TRANSPORT\"],500,10000,0.1]"#;

/// Writes turn after turn of one session.
pub(super) struct Turns<'a> {
    base: &'a Base,
    id: String,
    rng: Rng,
    words: Words,
    talk: Talk,
    seq: u64,
    time: u64,
    turn: u64,
    step: u64,
    calls: u64,
    /// Nodes that the next compaction shadows.
    surface: Vec<u64>,
    row: String,
}

impl<'a> Turns<'a> {
    pub(super) fn new(base: &'a Base, id: String, rng: Rng, talk: Talk) -> Self {
        Turns {
            id,
            rng,
            words: Words::default(),
            talk,
            seq: base.start.len() as u64 - 1,
            time: base.time,
            turn: 1,
            step: 0,
            calls: 0,
            surface: base.surface(),
            row: String::new(),
            base,
        }
    }

    /// Number of events so far.
    pub(super) fn events(&self) -> u64 {
        self.seq
    }

    /// Number of turns so far.
    pub(super) fn count(&self) -> u64 {
        self.turn
    }

    /// Write one turn, and what comes between turns.
    pub(super) fn next<W: Write>(&mut self, out: &mut Frames<W>) -> io::Result<()> {
        let long = self.talk == Talk::Long;
        let rare = if long { 1 } else { 10 };
        let compacted = self.turn.is_multiple_of(40 * rare);
        if compacted {
            self.compaction(out)?;
        }
        let resumed = self.turn.is_multiple_of(25 * rare);
        if resumed {
            self.event(out, "session/end-seed", "{}", "")?;
        }
        self.turn += 1;
        self.step = 1;
        self.time += self.rng.between(2_000, 90_000);
        let turn = self.turn;

        let chars = if long { self.rng.between(40, 700) } else { self.rng.between(10, 60) };
        let prompt = self.prompt(chars);
        let inserted = format!(r#"{{"target":"next-turn","start":0,"inserted":[{prompt}]}}"#);
        self.event(out, "agent/inbox/spliced", &inserted, "")?;
        self.event(out, "turn/start", &format!(r#"{{"turn":{turn}}}"#), "")?;
        let removed = r#"{"target":"next-turn","start":0,"removedCount":1,"inserted":[]}"#;
        self.event(out, "agent/inbox/spliced", removed, "")?;
        self.in_step(out, "step/start")?;
        let asked = self.node(out, "user/message", &prompt, "")?;
        if compacted {
            // The snapshot of the context is gone with the rest.
            let (data, _) = self.base.snapshot.rsplit_once(",\"id\":").unwrap_or_default();
            let snapshot = format!(r#"{data},"id":"{}"}}"#, self.rng.uuid());
            self.node(out, "user/message", &snapshot, "")?;
        }
        let header = &self.base.resumed_header;
        if compacted {
            let header = header.replace(r#""reason":"resume""#, r#""reason":"series""#);
            self.event(out, "request/header", &header, "")?;
        } else if resumed {
            self.event(out, "request/header", header, "")?;
        }
        if turn.is_multiple_of(20 * rare) {
            self.title(out, asked)?;
        }

        let steps = if long { self.rng.between(1, 4) } else { 1 };
        for step in 1..=steps {
            if step > 1 {
                self.step = step;
                self.in_step(out, "step/start")?;
            }
            if long || self.rng.once_in(4) {
                self.delivery(out)?;
            }
            if self.rng.once_in(40) {
                self.retry(out)?;
            }
            self.answer(out, step < steps)?;
            self.in_step(out, "step/end")?;
        }
        self.event(out, "turn/end", &format!(r#"{{"turn":{turn},"reason":{{"kind":"completed"}}}}"#), "")
    }

    /// An assistant message, and the results of the tools that it calls.
    fn answer<W: Write>(&mut self, out: &mut Frames<W>, calls: bool) -> io::Result<()> {
        let long = self.talk == Talk::Long;
        let mut blocks = Vec::new();
        if long && !self.rng.once_in(3) {
            let chars = self.rng.between(80, 1_500);
            blocks.push(Block::Reasoning(self.words.prose(&mut self.rng, chars)));
        }
        if !calls || self.rng.once_in(2) {
            let most = match (long, self.rng.once_in(12)) {
                (false, _) => 80,
                (true, false) => 2_500,
                (true, true) => 20_000,
            };
            let chars = self.rng.between(20, most);
            blocks.push(Block::Text(self.words.prose(&mut self.rng, chars)));
        }
        if calls {
            for _ in 0..self.rng.between(1, 3) {
                blocks.push(self.call());
            }
        }

        self.time += self.rng.between(100, 2_000);
        let Stream { content, replay, usage, records, time } =
            Stream::of(&blocks, calls, self.time, &mut self.rng);
        self.time = time;
        let (turn, step, id) = (self.turn, self.step, self.rng.uuid());
        let source = format!(
            r#"{{"kind":"model","provider":"deepseek-official","model":"deepseek-flash","replayState":{replay}}}"#
        );
        let message =
            format!(r#"{{"role":"assistant","content":[{content}],"source":{source},"id":"{id}"}}"#);
        let data = format!(
            r#"{{"turn":{turn},"step":{step},"message":{message},"usage":{usage},"stream":[{records}]}}"#
        );
        self.node(out, "assistant/message", &data, "")?;

        for block in &blocks {
            if let Block::Call { id, name, arguments } = block {
                self.tool(out, id, name, arguments)?;
            }
        }
        Ok(())
    }

    fn call(&mut self) -> Block {
        self.calls += 1;
        let (name, argument) = self.rng.pick(&TOOLS);
        let value = match name {
            "bash" => self.words.code(&mut self.rng, 1),
            _ => self.words.path(&mut self.rng),
        };
        let arguments = format!("{{\"{argument}\": {}}}", quote(value.trim()));
        Block::Call { id: format!("call_{}_{}", self.turn, self.calls), name, arguments }
    }

    fn tool<W: Write>(
        &mut self,
        out: &mut Frames<W>,
        id: &str,
        name: &str,
        arguments: &str,
    ) -> io::Result<()> {
        let (turn, step, call) = (self.turn, self.step, self.seq);
        let arguments = quote(arguments);
        let data = format!(
            r#"{{"turn":{turn},"step":{step},"callId":"{id}","name":"{name}","arguments":{arguments}}}"#
        );
        self.event(out, "tool/call", &data, "")?;
        self.time += self.rng.between(5, 5_000);

        let lines = if self.rng.once_in(15) { 400 } else { self.rng.between(1, 60) };
        let text = quote(&self.words.code(&mut self.rng, lines));
        let (failed, message) = (self.rng.once_in(12), self.rng.uuid());
        let content = format!(r#"[{{"type":"text","text":{text}}}]"#);
        let source = format!(r#"{{"kind":"tool","callId":"{id}"}}"#);
        let message = format!(
            r#"{{"role":"tool","source":{source},"toolCallId":"{id}","content":{content},"isError":{failed},"id":"{message}"}}"#
        );
        let data = format!(r#"{{"turn":{turn},"step":{step},"message":{message}}}"#);
        self.node(out, "tool/result", &data, &format!(r#","sourceEventSeqs":[{call}]"#))?;
        Ok(())
    }

    /// An attempt that the service refused, and the start of another one.
    fn retry<W: Write>(&mut self, out: &mut Frames<W>) -> io::Result<()> {
        let (turn, step, time, id) = (self.turn, self.step, self.time, self.rng.uuid());
        let finish = format!(r#"{{"type":"finish","reason":{{"kind":"error","failure":{FAILURE}}}}}"#);
        let record = format!(r#"{{"type":"chunk","time":{time},"chunk":{finish}}}"#);
        let attempt = format!(r#"{{"turn":{turn},"step":{step},"stream":[{record}]}}"#);
        self.event(out, "assistant/attempt", &attempt, "")?;
        let delay = self.rng.between(450, 549);
        let policy = format!(
            r#""provider":"deepseek-official","mode":"normal","policyKey":"{POLICY}","retry":1,"maxRetries":5"#
        );
        let retry = format!(
            r#"{{"retryId":"{id}","turn":{turn},"step":{step},{policy},"delayMs":{delay}.25,"failure":{FAILURE}}}"#
        );
        self.event(out, "llm/retry", &retry, "")?;
        self.time += delay;
        let started = format!(r#"{{"retryId":"{id}","turn":{turn},"step":{step},"retry":1}}"#);
        self.event(out, "llm/retry-started", &started, "")
    }

    /// `/compact`: everything but the system message becomes one message.
    fn compaction<W: Write>(&mut self, out: &mut Frames<W>) -> io::Result<()> {
        let shadowed = std::mem::take(&mut self.surface);
        let (Some(first), Some(last)) = (shadowed.first(), shadowed.last()) else { return Ok(()) };
        let command = format!("cmd-{:08x}-{}", self.rng.below(1 << 32), self.turn);
        let ids = format!(r#""compactionId":"{}","sourceCommandId":"{command}""#, self.rng.uuid());
        let run =
            format!(r#"{{"commandId":"{command}","name":"compact","args":"","source":{{"kind":"user"}}}}"#);
        self.event(out, "command/run", &run, "")?;
        let start = self.seq;
        self.event(out, "compaction/start", &format!(r#"{{{ids},"turn":null}}"#), "")?;
        self.time += self.rng.between(1_000, 9_000);

        let (summary, items, tokens) = (self.seq, shadowed.len(), shadowed.len() * 900);
        let seqs = shadowed.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let text = quote(&format!("## Summary\n{}", self.words.prose(&mut self.rng, 2_000)));
        let block = format!(r#"{{"type":"text","text":{text}}}"#);
        let span = format!(
            r#""shadowedRange":{{"start":{first},"end":{last}}},"shadowedSeqs":[{seqs}],"shadowedTokenCount":{tokens}"#
        );
        let model = r#""provider":"deepseek-official","model":"deepseek-flash","maxTokens":65536"#;
        let usage = r#""usage":{"inputTokens":170,"outputTokens":14,"totalTokens":184}"#;
        let data = format!(
            r#"{{{ids},"summary":[{block}],"rawOutput":[{block}],"llmStreamCall":true,{span},{model},{usage}}}"#
        );
        self.event(out, "compaction/summary", &data, "")?;

        self.surface.push(self.seq);
        let content = format!(
            r#"[{{"type":"text","text":"This is a checkpoint.\n\n<compacted-summary>"}},{block},{{"type":"text","text":"</compacted-summary>"}}]"#
        );
        let source = format!(r#"{{"kind":"compact-checkpoint",{ids}}}"#);
        let checkpoint =
            format!(r#"{{"content":{content},"source":{source},"role":"user","id":"{}"}}"#, self.rng.uuid());
        let replaces = format!(
            r#","sourceEventSeqs":[{start},{summary},{seqs}],"surfaceOp":{{"op":"replace","startSeq":{first},"endSeq":{last}}}"#
        );
        self.event(out, "user/message", &checkpoint, &replaces)?;
        self.event(out, "compaction/end", &format!(r#"{{{ids},"turn":null}}"#), "")?;
        let text = format!("Compacted {items} history items (~{tokens} tokens).");
        let done = format!(
            r#"{{"commandId":"{command}","kind":"success","text":"{text}","sourceEventSeq":{summary}}}"#
        );
        self.event(out, "command/done", &done, "")
    }

    fn title<W: Write>(&mut self, out: &mut Frames<W>, asked: u64) -> io::Result<()> {
        let title = quote(&self.words.prose(&mut self.rng, 20));
        let model = r#"{"provider":"deepseek-official","model":"deepseek-flash"}"#;
        let source =
            format!(r#"{{"kind":"provider","provider":"session-title-first-prompt-llm","model":{model}}}"#);
        let data = format!(r#"{{"title":{title},"messageSeqs":[{asked}],"source":{source}}}"#);
        self.event(out, "session/title", &data, "")
    }

    fn delivery<W: Write>(&mut self, out: &mut Frames<W>) -> io::Result<()> {
        let (id, through) = (&self.id, self.seq - 1);
        let data = format!(r#"{{"sessionId":"{id}","sessionFormatVersion":4,"throughSeq":{through}}}"#);
        self.event(out, "session-log-deepseek/delivery-accepted", &data, "")
    }

    fn prompt(&mut self, chars: u64) -> String {
        let text = quote(&self.words.prose(&mut self.rng, chars));
        let id = self.rng.uuid();
        format!(
            r#"{{"content":[{{"type":"text","text":{text}}}],"source":{{"kind":"user"}},"role":"user","id":"{id}"}}"#
        )
    }

    fn in_step<W: Write>(&mut self, out: &mut Frames<W>, kind: &str) -> io::Result<()> {
        let data = format!(r#"{{"turn":{},"step":{}}}"#, self.turn, self.step);
        self.event(out, kind, &data, "")
    }

    /// Write an event that goes to the end of the surface; its seq.
    fn node<W: Write>(
        &mut self,
        out: &mut Frames<W>,
        kind: &str,
        data: &str,
        sources: &str,
    ) -> io::Result<u64> {
        let seq = self.seq;
        self.surface.push(seq);
        self.event(out, kind, data, &format!("{sources},\"surfaceOp\":\"append\""))?;
        Ok(seq)
    }

    /// Write one row: `data`, then the members behind it.
    fn event<W: Write>(
        &mut self,
        out: &mut Frames<W>,
        kind: &str,
        data: &str,
        behind: &str,
    ) -> io::Result<()> {
        self.time += self.rng.below(12);
        self.row.clear();
        let (seq, time) = (self.seq, self.time);
        // Writing to a string cannot fail.
        let _ = writeln!(self.row, r#"{{"type":"{kind}","seq":{seq},"time":{time},"data":{data}{behind}}}"#);
        self.seq += 1;
        out.line(self.row.as_bytes())
    }
}
