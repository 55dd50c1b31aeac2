//! A folder that has all of a run: script, requests, bodies.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::script::{Written, body_file};
use super::{Passed, Secrets};
use crate::json;
use crate::script::{Script, ScriptError};

/// The script.
const SCRIPT: &str = "script.json";
/// The list of requests.
const LIST: &str = "requests.jsonl";

/// What was passed, as it is to be kept: without secrets.
#[derive(Debug)]
pub struct Scenario {
    script: Written,
    requests: Vec<String>,
    bodies: Vec<(usize, Vec<u8>)>,
    secrets: Secrets,
}

/// A folder that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// There is something in it.
    #[error("{} is not empty", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// The system refuses.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// What was written cannot be played, which would be a fault of ours.
    #[error("the script that was written cannot be used")]
    Script(#[from] ScriptError),
}

impl Scenario {
    /// The scenario of what was passed. `pauses`: the script waits as the service did. What `secrets` knows is masked, and what
    /// it can know of what was passed ([`Secrets::of`]) if it is asked first.
    pub fn of(passed: &[Passed], secrets: Secrets, pauses: bool) -> Scenario {
        let bodies = passed.iter().filter(|passed| !passed.body.is_empty());
        let bodies = bodies
            .map(|passed| (passed.n, secrets.masked(&passed.body).unwrap_or_else(|| passed.body.to_vec())));
        Scenario {
            script: Written::of(passed, &secrets, pauses),
            requests: passed.iter().map(|passed| json::print(&passed.to_json(&secrets))).collect(),
            bodies: bodies.collect(),
            secrets,
        }
    }

    /// How many requests there were.
    pub fn requests(&self) -> usize {
        self.requests.len()
    }

    /// How many exchanges and side rules the script has.
    pub fn counts(&self) -> (usize, usize) {
        self.script.counts()
    }

    /// Requests that the script does not answer, by number, each with why.
    pub fn left_out(&self) -> &[(usize, String)] {
        &self.script.left_out
    }

    /// What must not be kept: for whoever keeps more than this, such as session logs.
    pub fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Where the script of a scenario lies.
    pub fn script_in(folder: &Path) -> PathBuf {
        folder.join(SCRIPT)
    }

    /// Looks whether a scenario can be written there: the folder is new, or empty.
    ///
    /// # Errors
    /// It cannot.
    pub fn prepare(folder: &Path) -> Result<(), ScenarioError> {
        let cannot = |source| ScenarioError::Write { path: folder.to_owned(), source };
        fs::create_dir_all(folder).map_err(cannot)?;
        if fs::read_dir(folder).map_err(cannot)?.next().is_some() {
            return Err(ScenarioError::NotEmpty { path: folder.to_owned() });
        }
        Ok(())
    }

    /// Writes it into a folder, and reads the script back. What is there is never overwritten. A scenario without anything
    /// that a script can answer has no script.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), ScenarioError> {
        for (n, body) in &self.bodies {
            write(&folder.join(body_file(*n)), body)?;
        }
        let mut list = self.requests.join("\n");
        if !list.is_empty() {
            list.push('\n');
        }
        write(&folder.join(LIST), list.as_bytes())?;
        if self.counts() == (0, 0) {
            return Ok(());
        }
        let script = Scenario::script_in(folder);
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        write(&script, self.script.text(&name).as_bytes())?;
        Script::load(&script)?;
        Ok(())
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), ScenarioError> {
    let written = File::create_new(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(|source| ScenarioError::Write { path: path.to_owned(), source })
}
