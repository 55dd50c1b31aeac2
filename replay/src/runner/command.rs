//! A process runs a record again: dsh, or whatever command somebody names.
//!
//! It gets a home and a working directory of its own, the address of a server that answers as the record does, and the
//! prompts of the record. What it started is ended with it, whatever happens.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dshlog_codec::LogFile;
use dshlog_codec::home::{Home, Walk};
use dshlog_fixture_server::script::OnDiverged;
use dshlog_fixture_server::{Capture, FixtureServer, Kind, Outcome, Script, ServerThread, Verdict};
use tempfile::TempDir;

use super::group::{self, Limit};
use super::{RunError, Wire, WireDifference, deadline, dsh, playable};
use crate::agent::rerun::Record;
use crate::script;
use crate::wire::{Dialect, Fidelity};

/// Variables that must not lead an agent elsewhere.
const LEADING: [&str; 8] = [
    "DSH_SESSION_ROOT",
    "http_proxy",
    "https_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "DEEPSEEK_API_KEY",
];

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
    folder: TempDir,
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
    /// The folder of the run.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Leave the folder where it is.
    pub fn keep(self) -> PathBuf {
        self.folder.keep()
    }
}

/// Run a record again; the first of `records` is that of the session, the others those of its subagents.
///
/// # Errors
/// A record that no server can play, and what keeps a command from being started.
pub fn run(records: &[&Record], settings: &Settings) -> Result<CommandRun, RunError> {
    let script = script(records, dialect(settings)?)?;
    let expected = script.exchanges.len();
    let server = FixtureServer::spawn(script)?;
    let stage = Stage::new(settings, &server)?;
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
        said: ["stdout", "stderr"].map(|name| tail(&stage.folder.path().join(name))),
        folder: stage.folder,
    })
}

/// The language in which the model will be asked, where that is known before.
fn dialect(settings: &Settings) -> Result<Option<Dialect>, RunError> {
    match (&settings.program, settings.dialect) {
        (Program::Dsh(program), None) => dsh::dialect(program).map(Some),
        (_, dialect) => Ok(dialect),
    }
}

/// What the server says. Who asks for something else than was recorded is answered all the same: what becomes of that is worth
/// more than an end there.
fn script(records: &[&Record], dialect: Option<Dialect>) -> Result<Script, RunError> {
    let options = script::Options {
        on_diverged: OnDiverged::Answer,
        titles_first: true,
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

/// Where a command plays.
struct Stage {
    folder: TempDir,
    url: String,
}

impl Stage {
    fn new(settings: &Settings, server: &ServerThread) -> Result<Self, RunError> {
        let fault = |action, path: &Path, source| RunError::Folder { action, path: path.to_owned(), source };
        let folder = tempfile::Builder::new().prefix("dshlog-replay-").tempdir();
        let folder = folder.map_err(|source| fault("make a folder in", &std::env::temp_dir(), source))?;
        let stage = Stage { folder, url: server.url() };
        for path in [stage.home(), stage.workspace()] {
            fs::create_dir(&path).map_err(|source| fault("make", &path, source))?;
        }
        if let Some(files) = &settings.workspace {
            copy(files, &stage.workspace()).map_err(|source| fault("copy", files, source))?;
        }
        Ok(stage)
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn workspace(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    fn play(&self, settings: &Settings) -> Result<Ended, RunError> {
        let limit = Limit { until: deadline(settings.timeout), stop: &settings.stop };
        match &settings.program {
            Program::Shell(line) => {
                let mut command = self.command(Path::new("/bin/sh"), settings)?;
                command.args(["-c", line, "dshlog-replay"]).args(&settings.prompts);
                started(group::run(command, limit), line)
            }
            Program::Dsh(program) => {
                let mut ended = Ended::Well;
                for (number, prompt) in settings.prompts.iter().enumerate() {
                    let mut command = self.command(program, settings)?;
                    command.args(["--profile", "headless"]);
                    for patch in &settings.patches {
                        command.arg("--patch").arg(patch);
                    }
                    if number > 0 {
                        // Without a log to go on with there is no second turn.
                        let Some(id) = self.session() else { break };
                        command.args(["--session-id", &id]);
                    }
                    command.arg(prompt);
                    ended = started(group::run(command, limit), &program.display().to_string())?;
                    if ended == Ended::TimedOut {
                        break;
                    }
                }
                Ok(ended)
            }
        }
    }

    fn command(&self, program: &Path, settings: &Settings) -> Result<Command, RunError> {
        let mut command = Command::new(program);
        for name in LEADING {
            command.env_remove(name);
        }
        command
            .env("DSH_HOME", self.home())
            .env("DEEPSEEK_BASE_URL", &self.url)
            .env("DEEPSEEK_API_KEY", "dshlog-replay")
            .env("DSH_TELEMETRY_DISABLED", "1")
            .envs(settings.folder.iter().map(|folder| ("DSHLOG_SCENARIO", folder)))
            .env("DSHLOG_PROMPT", settings.prompts.first().map_or("", String::as_str))
            .envs(settings.env.iter().map(|(name, value)| (name, value)))
            .current_dir(self.workspace())
            .stdin(Stdio::null())
            .stdout(self.stream("stdout")?)
            .stderr(self.stream("stderr")?);
        Ok(command)
    }

    /// A file for a stream: who waits for a pipe waits for all that hold its other end.
    fn stream(&self, name: &str) -> Result<File, RunError> {
        let path = self.folder.path().join(name);
        let file = File::options().append(true).create(true).open(&path);
        file.map_err(|source| RunError::Folder { action: "write", path, source })
    }

    /// The logs in the home: those of subagents, and those that are nobody's.
    fn written(&self) -> (Vec<PathBuf>, Vec<PathBuf>) {
        let Ok(walk) = Walk::new(&Home::at(&self.home()).root) else { return Default::default() };
        let mut logs: Vec<PathBuf> = Vec::new();
        let mut subagents = Vec::new();
        for path in walk.sessions.iter().filter_map(|session| Some(&session.chosen().ok()?.path)) {
            let header = LogFile::open(path).and_then(|file| file.header()).ok();
            match header {
                Some(header) if header.parent_session.is_none() => logs.push(path.clone()),
                Some(header) if header.delegation_depth > 0 => subagents.push(path.clone()),
                // A fork stands for itself.
                Some(_) => {}
                None => logs.push(path.clone()),
            }
        }
        logs.sort();
        (subagents, logs)
    }

    /// The id of the only session.
    fn session(&self) -> Option<String> {
        let (_, logs) = self.written();
        let [log] = logs.as_slice() else { return None };
        let header = LogFile::open(log).and_then(|file| file.header()).ok()?;
        Some(header.id.to_lossy().into_owned())
    }
}

fn started(ended: std::io::Result<Option<ExitStatus>>, command: &str) -> Result<Ended, RunError> {
    match ended {
        Ok(None) => Ok(Ended::TimedOut),
        Ok(Some(status)) if status.success() => Ok(Ended::Well),
        Ok(Some(status)) => Ok(status.code().map_or(Ended::Signal, Ended::Code)),
        Err(source) => Err(RunError::Start { command: command.to_owned(), source }),
    }
}

/// The last lines of a file.
fn tail(path: &Path) -> String {
    const LINES: usize = 20;
    const BYTES: usize = 4096;
    let bytes = fs::read(path).unwrap_or_default();
    let bytes = bytes.get(bytes.len().saturating_sub(BYTES)..).unwrap_or_default();
    let text = String::from_utf8_lossy(bytes).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default().join("\n")
}

/// Copy what is in a folder. Links are followed.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            fs::create_dir_all(&target)?;
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}
