//! Scenarios: a recorded session, who runs it again, and what is compared (`docs/replay.md`).
//!
//! A scenario is a folder with a `scenario.toml`; a suite is a folder of such folders. Nothing here reads a log or runs an
//! agent.

mod file;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use file::{ScenarioError, Settings};

use crate::agent::Policy;
use crate::compare::Rules;
use crate::wire::Dialect;

/// What the file of a scenario is called.
pub const FILE: &str = "scenario.toml";
/// The folder of files that the agent finds in its working directory.
pub const WORKSPACE: &str = "workspace";

/// A recorded session that is run again.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What it is called: the name of its folder.
    pub name: String,
    /// Its folder; nothing for a session that somebody named.
    pub folder: Option<PathBuf>,
    /// The record: a log, or the folder of a session.
    pub session: PathBuf,
    /// The log that is expected; nothing when that is the record.
    pub expected: Option<PathBuf>,
    /// Of subagents the logs that are expected instead of those of the record, by their ids in the record.
    pub expected_subagents: Vec<(String, PathBuf)>,
    /// Who runs it.
    pub agent: AgentChoice,
    /// The language that the agent speaks to its model; nothing for what is usual for it.
    pub dialect: Option<Dialect>,
    /// Files that dsh lays over its profile.
    pub patches: Vec<PathBuf>,
    /// What the agent is told; nothing for the prompts of the record.
    pub prompts: Option<Vec<String>>,
    /// Variables of its environment.
    pub env: Vec<(String, String)>,
    /// How long it may take.
    pub timeout: Duration,
    /// How long the first answer waits until a title is out; nothing for what is usual for the agent.
    pub title_wait: Option<Duration>,
    /// How long the agent core waits for a sign of life.
    pub idle: Duration,
    /// How it retries, where the record does not tell.
    pub retry: Option<Policy>,
    /// What is set aside.
    pub rules: Rules,
    /// What is compared.
    pub compared: Compared,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compared {
    /// The events of the two logs.
    pub events: bool,
    /// The requests, those of the logs and those that the server got.
    pub requests: bool,
}

impl Default for Compared {
    fn default() -> Self {
        Compared { events: true, requests: true }
    }
}

/// Who runs a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AgentChoice {
    /// The embedded agent core.
    #[default]
    Core,
    /// The dsh of this machine.
    Dsh,
    /// A command line for a shell.
    Command(String),
}

impl AgentChoice {
    /// What somebody typed.
    pub fn parse(text: &str) -> Self {
        match text {
            "core" => AgentChoice::Core,
            "dsh" => AgentChoice::Dsh,
            command => AgentChoice::Command(command.to_owned()),
        }
    }

    /// The word, or the command line.
    pub fn name(&self) -> &str {
        match self {
            AgentChoice::Core => "core",
            AgentChoice::Dsh => "dsh",
            AgentChoice::Command(command) => command,
        }
    }
}

impl Scenario {
    /// How long a scenario may take that does not say.
    pub const TIMEOUT: Duration = Duration::from_mins(1);
    /// How long the first answer of dsh waits for a title.
    pub const TITLE_WAIT: Duration = Duration::from_secs(2);
    /// How long the agent core waits for a sign of life when nothing else is said.
    pub const IDLE: Duration = Duration::from_secs(2);

    /// How long the first answer waits for a title: dsh asks for one beside its first step, others need not ask at all.
    pub fn title_wait(&self) -> Duration {
        let usual = if self.agent == AgentChoice::Dsh { Scenario::TITLE_WAIT } else { Duration::ZERO };
        self.title_wait.unwrap_or(usual)
    }

    /// A session that somebody named, with nothing beside it.
    pub fn of_session(name: String, session: PathBuf) -> Self {
        Scenario {
            name,
            folder: None,
            session,
            expected: None,
            expected_subagents: Vec::new(),
            agent: AgentChoice::default(),
            dialect: None,
            patches: Vec::new(),
            prompts: None,
            env: Vec::new(),
            timeout: Scenario::TIMEOUT,
            title_wait: None,
            idle: Scenario::IDLE,
            retry: None,
            rules: Rules::default(),
            compared: Compared::default(),
        }
    }

    /// Read the scenario in a folder.
    ///
    /// # Errors
    /// A file that cannot be read, or says what cannot be.
    pub fn load(folder: &Path) -> Result<Self, ScenarioError> {
        let path = folder.join(FILE);
        let text = std::fs::read_to_string(&path)
            .map_err(|source| ScenarioError::Read { path: path.clone(), source })?;
        Settings::parse(&text)
            .and_then(|settings| settings.scenario(folder))
            .map_err(|fault| fault.in_file(path))
    }

    /// True for the folder of a scenario.
    pub fn is_at(folder: &Path) -> bool {
        folder.join(FILE).is_file()
    }

    /// The log that is expected instead of that of the record: of the session, or of a subagent by its id in the record.
    pub fn expected(&self, subagent: Option<&str>) -> Option<&Path> {
        let Some(subagent) = subagent else { return self.expected.as_deref() };
        let mut logs = self.expected_subagents.iter();
        logs.find(|(id, _)| id == subagent).map(|(_, path)| path.as_path())
    }

    /// What is expected is the record itself.
    pub fn expects_record(&self) -> bool {
        self.expected.is_none() && self.expected_subagents.is_empty()
    }

    /// The files that the agent finds in its working directory, if there are any.
    pub fn workspace(&self) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(WORKSPACE)).filter(|folder| folder.is_dir())
    }
}

/// The folders of scenarios in a suite, in the order of their names.
///
/// # Errors
/// A folder that cannot be listed.
pub fn suite(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if Scenario::is_at(&path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests;
