//! A process runs a record again: dsh, or whatever command somebody names.
//!
//! It gets a home and a working directory of its own, the address of a server that answers as the record does, and the
//! prompts of the record. What it started is ended with it, whatever happens.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dshlog_fixture_server::script::OnDiverged;
use dshlog_fixture_server::{Capture, FixtureServer, Kind, Outcome, Script, Verdict};

use super::stage::Stage;
use super::{RunError, Wire, WireDifference, dsh, playable};
use crate::agent::rerun::Record;
use crate::script;
use crate::wire::{Dialect, Fidelity};

/// What is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// dsh: once for each prompt, the later ones in the session of the first.
    Dsh(PathBuf),
    /// A line for a shell, once, with all prompts as its arguments.
    Shell(String),
}

/// How it is run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What is started.
    pub program: Program,
    /// What it is told.
    pub prompts: Vec<String>,
    /// Variables of its environment.
    pub env: Vec<(String, String)>,
    /// The folder of the scenario, which it is told as `DSHLOG_SCENARIO`.
    pub folder: Option<PathBuf>,
    /// Files for its working directory.
    pub workspace: Option<PathBuf>,
    /// Files that dsh lays over its profile (`--patch`).
    pub patches: Vec<PathBuf>,
    /// The language that it speaks to its model; nothing for that of dsh's version, or of the record for a command.
    pub dialect: Option<Dialect>,
    /// How long the first answer waits for a title, so that a process does not end before it.
    pub title_wait: Duration,
    /// How long it may take, all prompts together.
    pub timeout: Duration,
    /// Ends it when it is set.
    pub stop: Arc<AtomicBool>,
}

/// What came of it.
#[derive(Debug)]
pub struct CommandRun {
    /// How it ended.
    pub ended: Ended,
    /// The logs that it wrote, without those of subagents and forks.
    pub logs: Vec<PathBuf>,
    /// The logs of its subagents.
    pub subagents: Vec<PathBuf>,
    /// What the server was asked.
    pub wire: Wire,
    /// How that went.
    pub verdict: Verdict,
    /// The last of what it said on its two streams.
    pub said: [String; 2],
    /// Its home, working directory and output; gone when this is dropped, unless it is kept.
    stage: Stage,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, well.
    Well,
    /// By itself, with this exit code.
    Code(i32),
    /// By a signal that was not ours.
    Signal,
    /// Its time was over.
    TimedOut,
}

impl CommandRun {
    /// Leave the folder of the run where it is.
    pub fn keep(self) -> PathBuf {
        self.stage.keep()
    }
}

/// Run a record again; the first of `records` is that of the session, the others those of its subagents.
///
/// # Errors
/// A record that no server can play, and what keeps a command from being started.
pub fn run(records: &[&Record], settings: &Settings) -> Result<CommandRun, RunError> {
    let script = script(records, settings)?;
    let expected = script.exchanges.len();
    let server = FixtureServer::spawn(script)?;
    let cwd = records.first().and_then(|record| record.header().cwd.as_ref());
    let stage = Stage::new(settings, &server, cwd.map_or(0, |cwd| cwd.to_lossy().chars().count()))?;
    let ended = stage.play(settings)?;
    let captures = server.captures();
    let verdict = server.stop();
    let (subagents, logs) = stage.written();
    Ok(CommandRun {
        ended,
        logs,
        subagents,
        wire: wire(expected, &captures),
        verdict,
        said: ["stdout", "stderr"].map(|name| stage.said(name)),
        stage,
    })
}

/// The language in which the model will be asked, where that is known before.
fn dialect(settings: &Settings) -> Result<Option<Dialect>, RunError> {
    match (&settings.program, settings.dialect) {
        (Program::Dsh(program), None) => dsh::dialect(program, settings.timeout, &settings.stop).map(Some),
        (_, dialect) => Ok(dialect),
    }
}

/// What the server says. Who asks for something else than was recorded is answered all the same: what becomes of that is worth
/// more than an end there.
fn script(records: &[&Record], settings: &Settings) -> Result<Script, RunError> {
    let dialect = dialect(settings)?;
    let options = script::Options {
        on_diverged: OnDiverged::Answer,
        title_wait_ms: u64::try_from(settings.title_wait.as_millis()).unwrap_or(u64::MAX),
        dialect,
        ..script::Options::default()
    };
    let made = match dialect {
        // It may be another language than was spoken when it was recorded.
        Some(_) => {
            let lenient = script::Options { fidelity: Fidelity::Lenient, ..options };
            script::script(records, options).or_else(|_| script::script(records, lenient))?
        }
        None => script::script(records, options)?,
    };
    Ok(playable(made.script))
}

/// What the server makes of the requests of an agent.
fn wire(expected: usize, captures: &[Capture]) -> Wire {
    // Titles are asked for beside them.
    let is_step = |capture: &&Capture| matches!(capture.kind, Kind::Agent | Kind::Compaction);
    let mut wire = Wire { expected, ..Wire::default() };
    for capture in captures.iter().filter(is_step).filter(|capture| capture.dialect.is_some()) {
        wire.asked += 1;
        let (pointer, what) = match &capture.outcome {
            Outcome::Served { .. } => {
                wire.alike += 1;
                continue;
            }
            Outcome::Diverged { differences, .. } => {
                let first = differences.first();
                let place = first.map(|first| first.pointer.clone()).unwrap_or_default();
                let told = first.map_or_else(String::new, ToString::to_string);
                let what = told.strip_prefix(&format!("{place}: ")).unwrap_or(&told).to_owned();
                (place, what)
            }
            Outcome::Unmatched(report) => {
                let place = report.first_place().unwrap_or_default().to_owned();
                (place, "the record has no such request".to_owned())
            }
            other => (String::new(), other.name().to_owned()),
        };
        wire.first.get_or_insert(WireDifference { number: wire.asked, position: None, pointer, what });
    }
    if wire.asked < expected && wire.first.is_none() {
        let what = "it was not asked".to_owned();
        let number = wire.asked + 1;
        wire.first = Some(WireDifference { number, position: None, pointer: String::new(), what });
    }
    wire
}
