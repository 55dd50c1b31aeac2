//! Where a process plays: a home, a working directory, files for what it says, and the address of its model.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use dshlog_codec::LogFile;
use dshlog_codec::home::{Home, Walk};
use dshlog_fixture_server::ServerThread;
use tempfile::TempDir;

use super::command::{Ended, Program, Settings};
use super::group::{self, Limit};
use super::{RunError, deadline};

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

/// The least length of a drawn name.
const DRAWN: usize = 6;
/// The longest name of a folder.
const NAME: usize = 200;

/// Where a command plays.
#[derive(Debug)]
pub(super) struct Stage {
    /// Its home and its output.
    folder: TempDir,
    /// Its working directory.
    workspace: TempDir,
    url: String,
}

impl Stage {
    /// A stage whose working directory has a path of so many characters, where that can be: dsh estimates what a context costs
    /// by its length, and the path is part of it.
    pub(super) fn new(settings: &Settings, server: &ServerThread, cwd: usize) -> Result<Self, RunError> {
        let fault = |action, path: &Path, source| RunError::Folder { action, path: path.to_owned(), source };
        let temp = std::env::temp_dir();
        let made = |source| fault("make a folder in", &temp, source);
        let folder = tempfile::Builder::new().prefix("dshlog-replay-").tempdir_in(&temp).map_err(made)?;
        let prefix = prefix(&temp, cwd);
        let mut builder = tempfile::Builder::new();
        let workspace = builder.prefix(&prefix).rand_bytes(DRAWN).tempdir_in(&temp).map_err(made)?;
        let stage = Stage { folder, workspace, url: server.url() };
        fs::create_dir(stage.home()).map_err(|source| fault("make", &stage.home(), source))?;
        if let Some(files) = &settings.workspace {
            copy(files, stage.workspace()).map_err(|source| fault("copy", files, source))?;
        }
        Ok(stage)
    }

    /// Leave the folder where it is, the working directory in it. Where that lies elsewhere it stays there.
    pub(super) fn keep(self) -> PathBuf {
        let folder = self.folder.keep();
        let workspace = self.workspace.keep();
        // On one file system; where it is not, both are there all the same.
        fs::rename(workspace, folder.join("workspace")).ok();
        folder
    }

    /// The last of what was said on a stream.
    pub(super) fn said(&self, name: &str) -> String {
        tail(&self.folder.path().join(name))
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn workspace(&self) -> &Path {
        self.workspace.path()
    }

    /// Run the command, as often as it has to be.
    pub(super) fn play(&self, settings: &Settings) -> Result<Ended, RunError> {
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
    pub(super) fn written(&self) -> (Vec<PathBuf>, Vec<PathBuf>) {
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

fn started(ended: io::Result<Option<ExitStatus>>, command: &str) -> Result<Ended, RunError> {
    match ended {
        Ok(None) => Ok(Ended::TimedOut),
        Ok(Some(status)) if status.success() => Ok(Ended::Well),
        Ok(Some(status)) => Ok(status.code().map_or(Ended::Signal, Ended::Code)),
        Err(source) => Err(RunError::Start { command: command.to_owned(), source }),
    }
}

/// What the name of a folder begins with that is to have so long a path.
fn prefix(parent: &Path, length: usize) -> String {
    const USUAL: &str = "dshlog-workspace-";
    // One for the separator.
    let parent = parent.to_string_lossy().trim_end_matches('/').chars().count() + 1;
    let Some(length) = length.checked_sub(parent + DRAWN).filter(|length| *length <= NAME) else {
        return USUAL.to_owned();
    };
    USUAL.chars().chain(std::iter::repeat('-')).take(length).collect()
}

/// The last lines of a file.
fn tail(path: &Path) -> String {
    const LINES: usize = 20;
    const BYTES: u64 = 4096;
    // It may be larger than memory.
    let read = || {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(BYTES)))?;
        let mut bytes = Vec::new();
        file.take(BYTES).read_to_end(&mut bytes)?;
        Ok::<_, io::Error>(bytes)
    };
    let text = String::from_utf8_lossy(&read().unwrap_or_default()).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default().join("\n")
}

/// Copy what is in a folder, with the times of files, by which searches sort. Links are followed, but not in circles.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    copy_below(from, to, &mut Vec::new())
}

fn copy_below(from: &Path, to: &Path, above: &mut Vec<PathBuf>) -> io::Result<()> {
    let own = from.canonicalize()?;
    if above.contains(&own) {
        return Err(io::Error::other(format!("{} leads back to a folder above it", from.display())));
    }
    above.push(own);
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let about = path
            .metadata()
            .map_err(|fault| io::Error::new(fault.kind(), format!("{}: {fault}", path.display())))?;
        if about.is_dir() {
            fs::create_dir_all(&target)?;
            copy_below(&path, &target, above)?;
        } else if about.is_file() {
            fs::copy(&path, &target)?;
            // Whoever may not write the copy has no need of its time either.
            if let Ok(file) = File::options().append(true).open(&target) {
                file.set_modified(about.modified()?)?;
            }
        } else {
            // What is behind a pipe would be waited for.
            return Err(io::Error::other(format!("{} is neither a file nor a folder", path.display())));
        }
    }
    above.pop();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn what_is_copied() {
        use std::os::unix::fs::symlink;

        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = |name: &str| from.path().join(name);
        fs::create_dir(at("sub")).unwrap();
        fs::write(at("sub/a"), "a").unwrap();
        let then = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_hours(1000);
        File::options().append(true).open(at("sub/a")).unwrap().set_modified(then).unwrap();
        symlink("sub", at("link")).unwrap();
        copy(from.path(), to.path()).unwrap();
        for path in ["sub/a", "link/a"] {
            let path = to.path().join(path);
            assert_eq!(fs::read_to_string(&path).unwrap(), "a");
            assert_eq!(path.metadata().unwrap().modified().unwrap(), then);
        }

        symlink("..", at("sub/circle")).unwrap();
        let told = copy(from.path(), to.path()).unwrap_err().to_string();
        assert!(told.ends_with("/circle leads back to a folder above it"), "{told}");
        fs::remove_file(at("sub/circle")).unwrap();
        symlink("nowhere", at("dangling")).unwrap();
        let told = copy(from.path(), to.path()).unwrap_err().to_string();
        assert!(told.contains("dangling: No such file"), "{told}");
        fs::remove_file(at("dangling")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        let told = copy(from.path(), to.path()).unwrap_err().to_string();
        assert!(told.ends_with("socket is neither a file nor a folder"), "{told}");
    }

    #[test]
    fn a_path_as_long_as_another_one() {
        let length = |length: usize| {
            let prefix = prefix(Path::new("/tmp"), length);
            "/tmp/".len() + prefix.len() + DRAWN
        };
        assert_eq!([11, 12, 40, 150].map(length), [11, 12, 40, 150]);
        // One that is too short or too long has another length.
        let usual = length(0);
        assert_eq!([10, 1_000].map(length), [usual, usual]);
    }
}
