//! The real runtime, for tests that put our files before it.
//!
//! [`Runtime`] is the executable of dsh 0.2.1-rc.2, found through `DSHLOG_ORACLE_CACHE`. It continues a session as a person
//! would ([`Runtime::command`]), or answers for its own store ([`Store`]). [`ModelServer`] stands in for the model service,
//! and [`Moved`] is a home of the corpora whose sessions can be continued on this machine.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use dshlog_codec::Encoding;
use dshlog_codec::json::Doc;
use serde_json::json;

use crate::model::skip;

mod model_server;
mod moved;
mod projections;

pub use model_server::{ModelServer, Request};
pub use moved::{Moved, Session, encoding_of};
pub use projections::Job;

/// The store as a plugin of the runtime.
const STORE: &str = include_str!("runtime/store.mjs");

/// The configuration of a home whose logs are raw. The persistence plugin reads one encoding only, zstd by default, and
/// an overlay replaces its whole configuration.
const RAW: &str = "\
- id: session-persistence-jsonl
  config:
    root: !!js dshHomePath('sessions')
    compression: none
";

/// The executable, and a folder that it may take for a person's home: it unpacks its native parts there, once.
#[derive(Debug)]
pub struct Runtime {
    program: PathBuf,
    person: tempfile::TempDir,
}

impl Runtime {
    /// The runtime below the folder that `DSHLOG_ORACLE_CACHE` names. When there is none it says so on stderr.
    ///
    /// # Panics
    /// Where no folder can be made: a test cannot go on.
    pub fn find() -> Option<Self> {
        Runtime::below("runtime")
    }

    /// The runtime of dsh 0.1.5-rc.1, which lies beside the other one.
    ///
    /// # Panics
    /// Where no folder can be made: a test cannot go on.
    pub fn find_older() -> Option<Self> {
        Runtime::below("runtime-0.1.5rc1")
    }

    fn below(folder: &str) -> Option<Self> {
        let cache = std::env::var_os("DSHLOG_ORACLE_CACHE").map(PathBuf::from);
        let program = cache.map(|cache| cache.join(folder).join("dsh")).filter(|program| program.exists());
        if program.is_none() {
            skip(&format!("no real runtime (DSHLOG_ORACLE_CACHE/{folder})"));
        }
        Some(Runtime {
            program: program?,
            person: tempfile::tempdir().expect("a temporary folder can be made"),
        })
    }

    /// The runtime over a home, not yet run: no variables but those that it needs, a key that nobody knows, and no model
    /// service on this machine or any other.
    pub fn command(&self, home: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .env("HOME", self.person.path())
            .env("PATH", "/usr/bin:/bin")
            .env("DSH_HOME", home)
            .env("DSH_TELEMETRY_DISABLED", "1")
            .env("DEEPSEEK_API_KEY", "none")
            .env("DEEPSEEK_BASE_URL", "http://127.0.0.1:9")
            .stdin(Stdio::null());
        command
    }

    /// Make this the dsh of a command, for what runs it in its turn.
    pub fn lend<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env("DSHLOG_DSH", &self.program).env("HOME", self.person.path())
    }

    /// One more turn of a session, not yet run: the answer goes to stdout. The runtime wants to be started in the session's
    /// own working directory, and refuses forks, subagents and sessions with an agent preset.
    ///
    /// # Errors
    /// When the overlay for a raw home cannot be written.
    pub fn turn(
        &self,
        home: &Path,
        session: &Session,
        model: &ModelServer,
        prompt: &str,
    ) -> io::Result<Command> {
        let mut command = self.command(home);
        command.env("DEEPSEEK_BASE_URL", model.url()).current_dir(&session.cwd).arg("headless");
        if session.encoding == Encoding::Raw {
            let overlay = self.person.path().join("raw.yml");
            fs::write(&overlay, RAW)?;
            command.arg("--patch").arg(overlay);
        }
        command.args(["--session-id", &session.id, prompt]);
        Ok(command)
    }

    /// One more turn of any session, not yet run: a fork, too. A plugin takes the place of the one-shot runner.
    ///
    /// # Errors
    /// When the overlay that mounts the plugin cannot be written.
    pub fn drive(
        &self,
        home: &Path,
        session: &Session,
        model: &ModelServer,
        prompt: &str,
    ) -> io::Result<Command> {
        let at = |name: &str| self.person.path().join(name);
        fs::write(at("driver.mjs"), DRIVER)?;
        let overlay = json!([
            {"id": "headless-startup", "disabled": true},
            {"id": "headless-runner", "disabled": true},
            {"insert": [{"id": "dshlog-driver", "name": at("driver.mjs")}]},
        ]);
        fs::write(at("driver.yml"), overlay.to_string())?;
        let mut command = self.command(home);
        command
            .env("DEEPSEEK_BASE_URL", model.url())
            .env("DSHLOG_DRIVER", json!({"id": session.id, "prompt": prompt}).to_string())
            .current_dir(&session.cwd)
            .args(["--profile", "headless", "--patch"])
            .arg(at("driver.yml"));
        if session.encoding == Encoding::Raw {
            fs::write(at("raw.yml"), RAW)?;
            command.arg("--patch").arg(at("raw.yml"));
        }
        Ok(command)
    }

    /// The same runtime without the search tool that lies beside it, as the makers of the captured conversations had it.
    ///
    /// # Errors
    /// When it can neither have another name nor be copied.
    pub fn alone(self) -> io::Result<Self> {
        let program = self.person.path().join("dsh");
        let own = self.program.canonicalize()?;
        fs::hard_link(&own, &program).or_else(|_| fs::copy(&own, &program).map(drop))?;
        Ok(Runtime { program, ..self })
    }

    /// A file for `--patch` that mounts the plugin which carries out the steps of `DSHLOG_ACTIONS`, in place of the one-shot
    /// runner.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn actions(&self) -> io::Result<PathBuf> {
        let at = |name: &str| self.person.path().join(name);
        fs::write(at("actions.mjs"), ACTIONS)?;
        let overlay = json!([
            {"id": "headless-startup", "disabled": true},
            {"id": "headless-runner", "disabled": true},
            {"insert": [{"id": "dshlog-actions", "name": at("actions.mjs")}]},
        ]);
        fs::write(at("actions.yml"), overlay.to_string())?;
        Ok(at("actions.yml"))
    }
}

/// A plugin that carries out steps.
const ACTIONS: &str = include_str!("runtime/actions.mjs");

/// A plugin that goes on with any session.
const DRIVER: &str = include_str!("runtime/driver.mjs");

/// The runtime's own store, in a process that holds nothing else: no agent, no model. Ends when it is dropped.
#[derive(Debug)]
pub struct Store {
    child: Child,
    answers: BufReader<ChildStdout>,
    _home: tempfile::TempDir,
}

impl Store {
    /// Start it.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(runtime: &Runtime) -> Self {
        Self::try_start(runtime)
            .unwrap_or_else(|e| panic!("the store of the real runtime does not start: {e}"))
    }

    fn try_start(runtime: &Runtime) -> io::Result<Self> {
        let home = tempfile::tempdir()?;
        let at = |name: &str| home.path().join(name);
        let profile = at("profiles/store");
        fs::create_dir_all(&profile)?;
        let package = json!({"name": "dsh-profile-store", "private": true, "dependencies": {}, "dsh": {"profile": {"bundles": []}}});
        fs::write(profile.join("package.json"), package.to_string())?;
        fs::write(profile.join("cordis.patch.yml"), "[]\n")?;
        fs::write(at("store.mjs"), STORE)?;
        let plugin = json!([{"insert": [{"id": "dshlog-store", "name": at("store.mjs")}]}]);
        fs::write(at("store.yml"), plugin.to_string())?;
        let mut child = runtime
            .command(home.path())
            .args(["--profile", "store", "--patch"])
            .arg(at("store.yml"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let answers = child.stdout.take().ok_or_else(|| io::Error::other("no stdout"))?;
        Ok(Store { child, answers: BufReader::new(answers), _home: home })
    }

    /// The sessions of a home, each with its status: `current`, or `migration-required`.
    ///
    /// # Panics
    /// When the store gives no list; so do the others.
    pub fn list(&mut self, home: &Path) -> Vec<(String, String)> {
        let answer = self.ask("list", home, None).unwrap_or_else(|refusal| panic!("not listed: {refusal}"));
        let text = |session: dshlog_codec::json::Js<'_>, name| {
            session.get(name).and_then(|v| Some(v.as_str()?.to_lossy().into_owned())).unwrap_or_default()
        };
        let sessions = answer.root().get("sessions").expect("a list has sessions");
        sessions.elements().map(|session| (text(session, "id"), text(session, "status"))).collect()
    }

    /// Open a session for writing and close it again, which migrates it.
    ///
    /// # Errors
    /// The refusal, as the runtime words it.
    pub fn migrate(&mut self, home: &Path, id: &str) -> Result<(), String> {
        self.ask("migrate", home, Some(id)).map(drop)
    }

    /// The message history of a session: `{"messages": [...]}`. An older log is migrated in memory.
    ///
    /// # Errors
    /// The refusal, as the runtime words it.
    pub fn messages(&mut self, home: &Path, id: &str) -> Result<Doc, String> {
        self.ask("messages", home, Some(id))
    }

    /// How long the runtime takes to read a session and derive its message history once: `{"count": messages, "ms":
    /// milliseconds, "rss": bytes}`. The start of the process is not in it.
    ///
    /// # Errors
    /// The refusal, as the runtime words it.
    pub fn derive(&mut self, home: &Path, id: &str) -> Result<Doc, String> {
        self.ask("derive", home, Some(id))
    }

    /// The session forked behind each of its events: `{"forks": [...]}`, one `{header, cut, own, sha256}` an event. `header`
    /// is the header line, `own` the rows behind the `cut` that are copied, `sha256` the digest of all rows.
    ///
    /// # Errors
    /// The refusal, as the runtime words it.
    pub fn forks(&mut self, home: &Path, id: &str) -> Result<Doc, String> {
        self.ask("forks", home, Some(id))
    }

    /// What the runtime appends when it opens a session again of whose log only the first events are there: `{"resumes":
    /// [...]}`, the rows behind 0, 1, 2 and so on to all events, or null where no session opens on them.
    ///
    /// # Errors
    /// The refusal, as the runtime words it.
    pub fn resumes(&mut self, home: &Path, id: &str) -> Result<Doc, String> {
        self.ask("resumes", home, Some(id))
    }

    fn ask(&mut self, op: &str, home: &Path, id: Option<&str>) -> Result<Doc, String> {
        let root = home.join("sessions");
        let compression = match encoding_of(&root) {
            Some(Encoding::Raw) => "none",
            Some(Encoding::Zstd) | None => "zstd",
        };
        let mut request = json!({"op": op, "root": root, "compression": compression});
        if let Some(id) = id {
            request["id"] = json!(id);
        }
        let line = self.exchange(&request).unwrap_or_else(|e| panic!("the store is gone: {e}"));
        let answer = Doc::parse(line).unwrap_or_else(|e| panic!("no answer of the store: {e:?}"));
        match answer.root().get("error") {
            Some(error) => {
                let message = answer.root().get("message").map_or("", |message| message.raw());
                Err(format!("{} {message}", error.raw()))
            }
            None => Ok(answer),
        }
    }

    fn exchange(&mut self, request: &serde_json::Value) -> io::Result<String> {
        let stdin = self.child.stdin.as_mut().ok_or_else(|| io::Error::other("no stdin"))?;
        writeln!(stdin, "{request}")?;
        let mut line = String::new();
        if self.answers.read_line(&mut line)? == 0 {
            return Err(io::Error::other("no answer"));
        }
        Ok(line)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        _ = self.child.wait();
    }
}

/// The files of a folder by name.
///
/// # Errors
/// When it cannot be read.
pub fn files_of(folder: &Path) -> io::Result<std::collections::BTreeMap<OsString, Vec<u8>>> {
    fs::read_dir(folder)?
        .map(|entry| {
            let entry = entry?;
            Ok((entry.file_name(), fs::read(entry.path())?))
        })
        .collect()
}

/// What a log of that name holds, decompressed.
///
/// # Errors
/// When it is no sequence of whole frames.
pub fn plain_text(name: &OsStr, bytes: &[u8]) -> io::Result<Vec<u8>> {
    match dshlog_codec::home::parse_name(name) {
        Some((_, Encoding::Zstd)) => zstd::decode_all(bytes),
        _ => Ok(bytes.to_vec()),
    }
}
