//! Grows a real log to any size.
//!
//! The start is real: header and first turn of the case `v4-multi-turn`, with its system prompt and tools. Behind it whole turns are written as
//! dsh writes them, with dense seqs, fresh ids and fresh text in each: prompts, reasoning, tool calls with results, answers, all with their model
//! streams; now and then a failed attempt with its retry, a restart with a new request header, a title, a compaction that replaces the surface so
//! far. So the references between events (cited calls, titled messages, accepted deliveries, shadowed nodes) are real ones too.
//!
//! Memory stays bounded, whatever the size: one row, one frame, and the surface since the last compaction.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::model::{Corpora, sha256_hex};
use crate::text::Rng;

mod frames;
mod old;
mod stream;
mod turns;

pub(crate) use frames::Frames;
pub use old::{Old, grow_old};
use turns::Turns;

/// How the file holds its rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Plain lines.
    Raw,
    /// Zstandard: a frame for the header line, then one for each append of so many rows.
    Zstd(RangeInclusive<u64>),
}

impl Framing {
    /// About ten rows a frame, as a busy session has.
    pub fn usual() -> Self {
        Framing::Zstd(6..=14)
    }

    /// One or two rows a frame, as a session that waits for people and tools has.
    pub fn small() -> Self {
        Framing::Zstd(1..=2)
    }

    fn name(&self) -> &'static str {
        match self {
            Framing::Raw => "session.v4.jsonl",
            Framing::Zstd(_) => "session.v4.jsonl.zstd",
        }
    }
}

/// When the log is large enough. It ends with the turn in which that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// So many bytes of plain text.
    Bytes(u64),
    /// So many frames.
    Frames(u64),
}

/// How much is said in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Talk {
    /// Several steps with reasoning, tools and long answers: about 40 KB a turn.
    Long,
    /// One question and one short answer: about 2 KB a turn.
    Short,
}

/// What to grow.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Decides all ids, texts and times.
    pub seed: u64,
    /// The container.
    pub framing: Framing,
    /// The size.
    pub until: Until,
    /// The content.
    pub talk: Talk,
}

impl Plan {
    /// A log of long turns with the usual frames and so many bytes of plain text.
    pub fn bytes(bytes: u64) -> Self {
        Plan { seed: 1, framing: Framing::usual(), until: Until::Bytes(bytes), talk: Talk::Long }
    }

    /// A log of short turns in so many small frames.
    pub fn frames(frames: u64) -> Self {
        Plan { seed: 1, framing: Framing::small(), until: Until::Frames(frames), talk: Talk::Short }
    }

    /// The same as raw lines.
    #[must_use]
    pub fn raw(mut self) -> Self {
        self.framing = Framing::Raw;
        self
    }
}

/// What was grown.
#[derive(Clone, Debug)]
pub struct Grown {
    /// The log, at its canonical place in the home.
    pub log: PathBuf,
    /// Number of events.
    pub events: u64,
    /// Number of turns.
    pub turns: u64,
    /// Bytes of plain text, the header line included.
    pub plain: u64,
    /// Number of frames; 0 for raw logs.
    pub frames: u64,
}

/// Write one grown log into a home.
pub fn grow(home: &Path, plan: &Plan) -> io::Result<Grown> {
    let base = Base::load()?;
    let mut rng = Rng::new(plan.seed);
    let id = format!("session-{}", rng.uuid());
    let folder = home.join("sessions/--tmp-ws-project--").join(&id);
    fs::create_dir_all(&folder)?;
    let log = folder.join(plan.framing.name());
    let file = BufWriter::new(File::create(&log)?);
    let mut frames = Frames::new(file, &plan.framing, rng.clone())?;

    for line in base.first_turn(&id) {
        frames.line(line.as_bytes())?;
    }
    let mut turns = Turns::new(&base, id, rng, plan.talk);
    while !frames.is_enough(plan.until) {
        turns.next(&mut frames)?;
    }
    let (bytes, count) = frames.finish()?;
    Ok(Grown { log, events: turns.events(), turns: turns.count(), plain: bytes, frames: count })
}

/// A name for what this generator writes: another one when it writes other logs, so that old ones are not taken for new.
pub fn fingerprint() -> io::Result<String> {
    let base = Base::load()?;
    let mut text = Vec::new();
    for talk in [Talk::Long, Talk::Short] {
        let mut frames = Frames::new(&mut text, &Framing::Raw, Rng::new(1))?;
        let mut turns = Turns::new(&base, String::new(), Rng::new(1), talk);
        while !frames.is_enough(Until::Bytes(1_000_000)) {
            turns.next(&mut frames)?;
        }
        frames.finish()?;
    }
    old::samples(&mut text)?;
    Ok(sha256_hex(&text)[..12].to_owned())
}

/// A home of `sessions` small logs, each with a few short turns, for listing.
pub fn grow_home(home: &Path, sessions: u64, seed: u64) -> io::Result<()> {
    for i in 0..sessions {
        let plan = Plan { seed: seed.wrapping_add(i), ..Plan::bytes(30_000 + 500 * (i % 40)) };
        grow(home, &Plan { talk: Talk::Short, ..plan })?;
    }
    Ok(())
}

/// The real log that everything begins with.
struct Base {
    id: String,
    /// Header line and rows of the first turn.
    start: Vec<String>,
    /// `data` of the request header that a restarted session begins with.
    resumed_header: String,
    /// `data` of the snapshot of the context in the first turn.
    snapshot: String,
    /// Time of the last row.
    time: u64,
}

impl Base {
    fn load() -> io::Result<Self> {
        let missing = || io::Error::other("the base log is not what it was");
        let corpora = Corpora::own();
        let entry = corpora.log("v4-multi-turn");
        let plain = zstd::decode_all(File::open(&entry.log)?)?;
        let text = String::from_utf8(plain).map_err(io::Error::other)?;
        let mut lines = text.lines().map(str::to_owned);
        let mut start = Vec::new();
        for line in lines.by_ref() {
            let ends = line.starts_with("{\"type\":\"turn/end\"");
            start.push(line);
            if ends {
                break;
            }
        }
        let id = between(&start[0], "\"id\":\"", "\"").ok_or_else(missing)?.to_owned();
        let time = start.last().and_then(|row| between(row, "\"time\":", ",")).and_then(|t| t.parse().ok());
        let resumed =
            lines.find(|line| line.starts_with("{\"type\":\"request/header\"")).ok_or_else(missing)?;
        let (_, data) = resumed.split_once(",\"data\":").ok_or_else(missing)?;
        let data = data.strip_suffix('}').ok_or_else(missing)?;
        let is_snapshot = |row: &&String| {
            row.starts_with("{\"type\":\"user/message\"") && row.contains("\"kind\":\"runtime-context\"")
        };
        let snapshot =
            start.iter().find(is_snapshot).and_then(|row| between(row, ",\"data\":", ",\"surfaceOp\""));
        let snapshot = snapshot.ok_or_else(missing)?.to_owned();
        Ok(Base { id, snapshot, time: time.ok_or_else(missing)?, resumed_header: data.to_owned(), start })
    }

    /// Header line and rows of the first turn, for another session.
    fn first_turn<'a>(&'a self, id: &'a str) -> impl Iterator<Item = String> + 'a {
        self.start.iter().map(move |line| line.replace(&self.id, id) + "\n")
    }

    /// Seqs of the first turn's surface nodes that a compaction may shadow: all but the system message.
    fn surface(&self) -> Vec<u64> {
        let node = |(seq, row): (u64, &String)| {
            (row.contains("\"surfaceOp\":") && !row.contains("\"type\":\"system/message\"")).then_some(seq)
        };
        (0..).zip(self.start.iter().skip(1)).filter_map(node).collect()
    }
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    Some(text.split_once(start)?.1.split_once(end)?.0)
}

#[cfg(test)]
mod tests;
