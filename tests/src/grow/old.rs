//! Grows a log of an older generation, by saying the first turn of a real one again and again.
//!
//! No released program writes these generations any more, so nothing is made up here: rows, streams and references are
//! those of the real turn, moved to new seqs, turns and ids. The letters of what was said are shifted in each turn,
//! so that a compressor does not take the log for one turn.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::Value;

use super::frames::Frames;
use super::{Framing, Grown, Plan, Talk, Until};
use crate::model::Corpora;
use crate::text::Rng;

/// A generation that is grown out of the first turn of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Old {
    /// The era of single chunks: `v0-0.1.1rc1-long-answer`, and `v0-0.1.0rc6-bash-echo` for short talk.
    V0,
    /// The last one before V4: `v3-sdk-minimal`.
    V3,
}

impl Old {
    fn case(self, talk: Talk) -> &'static str {
        match (self, talk) {
            (Old::V0, Talk::Long) => "v0-0.1.1rc1-long-answer",
            (Old::V0, Talk::Short) => "v0-0.1.0rc6-bash-echo",
            (Old::V3, _) => "v3-sdk-minimal",
        }
    }

    /// How many letters each letter of the real turn becomes. The model of the real turns has little to say.
    fn stretch(self, talk: Talk) -> usize {
        match (self, talk) {
            (Old::V3, Talk::Long) => 24,
            _ => 1,
        }
    }

    fn name(self, framing: &Framing) -> &'static str {
        match (self, framing) {
            (Old::V0, Framing::Raw) => "session.jsonl",
            (Old::V0, Framing::Zstd(_)) => "session.jsonl.zstd",
            (Old::V3, Framing::Raw) => "session.v3.jsonl",
            (Old::V3, Framing::Zstd(_)) => "session.v3.jsonl.zstd",
        }
    }
}

/// Rows that stand once in a log, however many turns it has.
const ONCE: [&str; 7] = [
    "session/title",
    "request/header",
    "request/context",
    "system/message",
    "permission/preset",
    "sandbox/mode",
    "approval/policy",
];

/// Write one grown log of an older generation into a home.
pub fn grow_old(home: &Path, old: Old, plan: &Plan) -> io::Result<Grown> {
    let base = Base::load(old, plan.talk)?;
    let mut rng = Rng::new(plan.seed);
    let id = format!("session-{}", rng.uuid());
    let folder = home.join("sessions").join(&base.project).join(&id);
    fs::create_dir_all(&folder)?;
    let log = folder.join(old.name(&plan.framing));
    let mut frames = Frames::new(BufWriter::new(File::create(&log)?), &plan.framing, rng)?;
    let (events, turns) = base.say(&id, plan.until, &mut frames)?;
    let (bytes, count) = frames.finish()?;
    Ok(Grown { log, events, turns, plain: bytes, frames: count })
}

/// The beginnings of all that is grown here, to tell one generator from another.
pub(super) fn samples(text: &mut Vec<u8>) -> io::Result<()> {
    for (old, talk) in
        [(Old::V0, Talk::Long), (Old::V0, Talk::Short), (Old::V3, Talk::Long), (Old::V3, Talk::Short)]
    {
        let mut frames = Frames::new(&mut *text, &Framing::Raw, Rng::new(1))?;
        Base::load(old, talk)?.say("", Until::Bytes(100_000), &mut frames)?;
        frames.finish()?;
    }
    Ok(())
}

/// The first turn of a real log.
struct Base {
    /// Name of its project folder.
    project: OsString,
    header: Value,
    rows: Vec<Value>,
    stretch: usize,
}

impl Base {
    fn load(old: Old, talk: Talk) -> io::Result<Base> {
        let corpora = Corpora::own();
        let entry = corpora.log(old.case(talk));
        let stored = fs::read(&entry.log)?;
        let is_raw = entry.log.extension().is_some_and(|extension| extension == "jsonl");
        let bytes = if is_raw { stored } else { zstd::decode_all(&stored[..])? };
        let text = String::from_utf8(bytes).map_err(io::Error::other)?;
        let mut rows = Vec::new();
        for line in text.lines() {
            let row: Value = serde_json::from_str(line)?;
            let ends = row["type"] == "turn/end";
            rows.push(row);
            if ends {
                break;
            }
        }
        let header = rows.remove(0);
        let project = entry.log.ancestors().nth(2).and_then(Path::file_name);
        let project = project.ok_or_else(|| io::Error::other("no project"))?.to_owned();
        Ok(Base { project, header, rows, stretch: old.stretch(talk) })
    }

    /// Say the turn until it is enough, once at least. Gives the number of events and of turns.
    fn say<W: Write>(&self, id: &str, until: Until, frames: &mut Frames<W>) -> io::Result<(u64, u64)> {
        let mut header = self.header.clone();
        header["id"] = Value::from(id);
        frames.line(format!("{header}\n").as_bytes())?;
        let mut seq = 0;
        let mut turns = 0;
        while turns == 0 || !frames.is_enough(until) {
            let mut moved = BTreeMap::new();
            for row in &self.rows {
                if turns > 0 && row["type"].as_str().is_some_and(|kind| ONCE.contains(&kind)) {
                    continue;
                }
                let mut row = row.clone();
                let first = row.get("seq").or_else(|| row.get("seq0")).and_then(Value::as_u64).unwrap_or(0);
                let len = events(&row);
                moved.extend((0..len).map(|member| (first + member, seq + member)));
                seq += len;
                Turn { number: turns, moved: &moved, stretch: self.stretch }.change("", &mut row)?;
                frames.line(format!("{row}\n").as_bytes())?;
            }
            turns += 1;
        }
        Ok((seq, turns))
    }
}

/// How many seqs a row takes: a packed run one for each of its members.
fn events(row: &Value) -> u64 {
    let mut lists = ["texts", "args"].iter();
    let members = lists.find_map(|list| row["data"][list].as_array().or(row[list].as_array()));
    members.map_or(1, |members| members.len() as u64)
}

/// What the turn is said again as.
struct Turn<'a> {
    number: u64,
    moved: &'a BTreeMap<u64, u64>,
    stretch: usize,
}

impl Turn<'_> {
    /// Move what stands below the member `name`.
    fn change(&self, name: &str, value: &mut Value) -> io::Result<()> {
        match (name, &mut *value) {
            ("seq" | "seq0" | "sourceEventSeqs" | "startSeq" | "endSeq", Value::Number(seq)) => {
                let moved = seq.as_u64().and_then(|seq| self.moved.get(&seq));
                let lost = || io::Error::other(format!("a reference to row {seq}, which is not said again"));
                *value = Value::from(*moved.ok_or_else(lost)?);
            }
            ("turn", Value::Number(turn)) => *value = Value::from(turn.as_u64().unwrap_or(0) + self.number),
            ("id" | "callId" | "toolCallId", Value::String(id)) if !id.is_empty() && self.number > 0 => {
                *id = format!("{id}-{}", self.number);
            }
            ("text" | "texts", Value::String(text)) => {
                // Letter by letter, so that what a stream is cut into still adds up to what its message holds.
                *text = text
                    .chars()
                    .flat_map(|c| (0..self.stretch).map(move |n| (c, n)))
                    .map(|(c, n)| shifted(c, self.number.wrapping_mul(n as u64 * n as u64 * 7 + 1)))
                    .collect();
            }
            (_, Value::Object(members)) => {
                return members.iter_mut().try_for_each(|(name, value)| self.change(name, value));
            }
            // What holds for a list holds for what is in it.
            (_, Value::Array(values)) => {
                return values.iter_mut().try_for_each(|value| self.change(name, value));
            }
            _ => {}
        }
        Ok(())
    }
}

/// A letter further on in the alphabet.
fn shifted(c: char, by: u64) -> char {
    let by = u8::try_from(by % 26).unwrap_or(0);
    match c {
        'a'..='z' => char::from(b'a' + (c as u8 - b'a' + by) % 26),
        'A'..='Z' => char::from(b'A' + (c as u8 - b'A' + by) % 26),
        _ => c,
    }
}
