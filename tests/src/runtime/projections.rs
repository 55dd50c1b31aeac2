//! The runtime's own projections, folded over logs that we hand it.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde_json::json;

use super::Runtime;

const PLUGIN: &str = include_str!("projections.mjs");

/// A log to fold.
#[derive(Clone, Debug)]
pub struct Job {
    /// Header and events of V4, one a line.
    pub file: PathBuf,
    /// How many events are inherited.
    pub cut: u64,
    /// The events behind which the states are told, ascending.
    pub points: Vec<u64>,
}

impl Runtime {
    /// What every projection of the runtime makes of these logs: one JSON object a line, for each job, projection and point,
    /// with the members `file`, `key`, `version`, `at`, `shown`, `state`, `view` and `error`.
    ///
    /// # Errors
    /// When it cannot be asked, or gives no answer.
    pub fn project(&self, jobs: &[Job]) -> io::Result<String> {
        let home = tempfile::tempdir()?;
        let at = |name: &str| home.path().join(name);
        fs::write(at("projections.mjs"), PLUGIN)?;
        let plugin = json!([{"insert": [{"id": "dshlog-projections", "name": at("projections.mjs")}]}]);
        fs::write(at("projections.yml"), plugin.to_string())?;
        let line =
            |job: &Job| json!({"file": job.file, "cut": job.cut, "points": job.points}).to_string() + "\n";
        fs::write(at("jobs"), jobs.iter().map(line).collect::<String>())?;
        let output = self
            .command(home.path())
            .env("PROJECTION_JOBS", at("jobs"))
            .env("PROJECTION_ANSWERS", at("answers"))
            .current_dir(home.path())
            .args(["headless", "--patch"])
            .arg(at("projections.yml"))
            .arg("Nobody answers this.")
            .output()?;
        fs::read_to_string(at("answers"))
            .map_err(|_| io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()))
    }
}
