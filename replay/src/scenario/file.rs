//! `scenario.toml`.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use super::{AgentChoice, Compared, Scenario};
use crate::agent::{Mode, Policy};
use crate::compare::{Rule, Rules};
use crate::wire::Dialect;

/// A scenario that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Not TOML.
    #[error("not TOML: {}", .0.to_string().trim_end())]
    Toml(#[source] Box<toml_edit::de::Error>),
    /// Something stands there that a scenario does not know, or that cannot be.
    #[error("`{place}`: {reason}")]
    Form {
        /// The place, as `compare.keep`.
        place: String,
        /// What is wrong there.
        reason: String,
    },
    /// Any of these, with the file that it is in.
    #[error("{}", path.display())]
    In {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        #[source]
        source: Box<ScenarioError>,
    },
}

impl ScenarioError {
    pub(super) fn in_file(self, path: PathBuf) -> Self {
        ScenarioError::In { path, source: Box::new(self) }
    }

    fn form(place: &str, reason: impl Into<String>) -> Self {
        ScenarioError::Form { place: place.to_owned(), reason: reason.into() }
    }
}

/// Variables that are those of the run, whatever a scenario would like.
const OWN: [&str; 4] = ["DSH_HOME", "DSH_SESSION_ROOT", "DEEPSEEK_BASE_URL", "DSHLOG_SCENARIO"];

/// What the file says.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The record, beside the file.
    pub session: String,
    /// The expected log, when it is not the record.
    pub expected: Option<String>,
    /// The expected logs of subagents that are not those of the record, by their ids in the record.
    pub expected_subagents: BTreeMap<String, String>,
    /// `core`, `dsh` or a command line.
    pub agent: Option<String>,
    /// `messages` or `chat`.
    pub dialect: Option<String>,
    /// Files beside this one that dsh lays over its profile.
    pub patches: Vec<String>,
    /// What the agent is told.
    pub prompts: Option<Vec<String>>,
    /// Seconds that it may take.
    pub timeout_s: Option<f64>,
    /// Milliseconds that the first answer waits for a title.
    pub title_wait_ms: Option<u64>,
    /// Milliseconds that the agent core waits for a sign of life.
    pub idle_timeout_ms: Option<u64>,
    /// What is compared.
    pub compare: CompareSettings,
    /// How the agent core retries.
    pub retry: Option<RetrySettings>,
    /// Variables of the agent's environment.
    pub env: BTreeMap<String, String>,
}

/// The table `compare`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CompareSettings {
    /// `events`, `requests`.
    pub what: Option<Vec<String>>,
    /// Rules that do not hold.
    pub keep: Vec<String>,
    /// Rules that hold, too.
    pub ignore: Vec<String>,
}

/// The table `retry`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetrySettings {
    /// Every failure is retried, without end.
    pub always: bool,
    /// How often in a step.
    pub most: u64,
    /// The codes of failures that are retried.
    pub codes: Option<Vec<String>>,
}

impl Default for RetrySettings {
    fn default() -> Self {
        RetrySettings { always: false, most: 5, codes: None }
    }
}

impl Settings {
    /// Read the text of a file.
    ///
    /// # Errors
    /// What is no such text.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let toml = |source| ScenarioError::Toml(Box::new(source));
        let reader = toml_edit::de::Deserializer::parse(text).map_err(toml)?;
        serde_path_to_error::deserialize(reader).map_err(|fault| match fault.path().to_string() {
            place if place == "." => ScenarioError::Toml(Box::new(fault.into_inner())),
            place => ScenarioError::form(&place, fault.inner().message()),
        })
    }

    /// The scenario of it, in this folder.
    ///
    /// # Errors
    /// What cannot be.
    pub fn scenario(self, folder: &Path) -> Result<Scenario, ScenarioError> {
        if self.session.is_empty() {
            return Err(ScenarioError::form("session", "a scenario needs the path of a recorded session"));
        }
        let name = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let rules = self.compare.rules()?;
        let session = beside(folder, "session", &self.session)?;
        let expected = self.expected.as_deref().map(|path| beside(folder, "expected", path)).transpose()?;
        let subagents = self.expected_subagents.iter().map(|(id, path)| {
            Ok::<_, ScenarioError>((id.clone(), beside(folder, &format!("expected_subagents.{id}"), path)?))
        });
        let subagents = subagents.collect::<Result<_, _>>()?;
        let patches = self.patches.iter().enumerate();
        let patches = patches.map(|(n, path)| beside(folder, &format!("patches[{n}]"), path));
        let patches = patches.collect::<Result<_, _>>()?;
        if let Some(name) = self.env.keys().find(|name| OWN.contains(&name.as_str())) {
            let reason = "every run has its own, so that it leads nowhere else";
            return Err(ScenarioError::form(&format!("env.{name}"), reason));
        }
        let dialect = self.dialect.as_deref().map(dialect).transpose()?;
        let seconds = self.timeout_s.unwrap_or(Scenario::TIMEOUT.as_secs_f64());
        let timeout = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
        Ok(Scenario {
            folder: Some(folder.to_owned()),
            expected,
            expected_subagents: subagents,
            dialect,
            patches,
            agent: self.agent.as_deref().map_or_else(AgentChoice::default, AgentChoice::parse),
            prompts: self.prompts,
            env: self.env.into_iter().collect(),
            timeout: timeout
                .ok_or_else(|| ScenarioError::form("timeout_s", "no time that somebody could wait"))?,
            title_wait: self.title_wait_ms.map(Duration::from_millis),
            idle: self.idle_timeout_ms.map_or(Scenario::IDLE, Duration::from_millis),
            retry: self.retry.map(RetrySettings::policy),
            rules,
            compared: self.compare.compared()?,
            ..Scenario::of_session(name, session)
        })
    }
}

impl CompareSettings {
    fn rules(&self) -> Result<Rules, ScenarioError> {
        let rule = |place: &str, name: &String| {
            let found = Rule::ALL.into_iter().find(|rule| rule.name() == name);
            let known = || Rule::ALL.map(Rule::name).join(", ");
            found.ok_or_else(|| {
                ScenarioError::form(place, format!("no rule is called `{name}`; there are {}", known()))
            })
        };
        let mut rules = Rules::default();
        for name in &self.ignore {
            rules = rules.with(rule("compare.ignore", name)?);
        }
        for name in &self.keep {
            if self.ignore.contains(name) {
                return Err(ScenarioError::form(
                    "compare.keep",
                    format!("`{name}` cannot be kept and ignored"),
                ));
            }
            rules = rules.without(rule("compare.keep", name)?);
        }
        Ok(rules)
    }

    fn compared(&self) -> Result<Compared, ScenarioError> {
        let Some(what) = &self.what else { return Ok(Compared::default()) };
        let mut compared = Compared { events: false, requests: false };
        for name in what {
            match name.as_str() {
                "events" => compared.events = true,
                "requests" => compared.requests = true,
                other => {
                    let reason = format!("`{other}` cannot be compared; `events` and `requests` can");
                    return Err(ScenarioError::form("compare.what", reason));
                }
            }
        }
        if what.is_empty() {
            return Err(ScenarioError::form("compare.what", "nothing would be compared"));
        }
        Ok(compared)
    }
}

impl RetrySettings {
    fn policy(self) -> Policy {
        let usual = Policy::default();
        let mode = match (self.always, &usual.mode) {
            (true, _) | (_, Mode::Always) => Mode::Always,
            (false, Mode::Normal { codes, .. }) => {
                let mut codes = self.codes.unwrap_or_else(|| codes.clone());
                codes.sort();
                Mode::Normal { most: self.most, codes }
            }
        };
        Policy { mode, ..usual }
    }
}

fn dialect(name: &str) -> Result<Dialect, ScenarioError> {
    match name {
        "messages" => Ok(Dialect::Messages),
        "chat" => Ok(Dialect::Chat),
        other => {
            let reason = format!("no model is spoken to in `{other}`; `messages` and `chat` are known");
            Err(ScenarioError::form("dialect", reason))
        }
    }
}

/// A path that a scenario names: it leads to nothing outside of its folder, so that a suite can be moved and shared.
fn beside(folder: &Path, place: &str, path: &str) -> Result<PathBuf, ScenarioError> {
    let inside =
        Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !inside || path.is_empty() {
        return Err(ScenarioError::form(place, format!("`{path}` leads out of the folder of the scenario")));
    }
    Ok(folder.join(path))
}
