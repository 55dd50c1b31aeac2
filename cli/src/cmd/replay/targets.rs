//! What was named on the command line: scenarios, suites, sessions.

use std::error::Error as _;
use std::path::Path;

use dshlog_codec::home::{SessionFolder, absolute};
use dshlog_replay::scenario::{Scenario, ScenarioError, suite};

use crate::ctx::Ctx;
use crate::exit::{Failure, shown};
use crate::select::{self, Chosen};

/// A scenario to be run.
pub(super) struct Job {
    /// What reports call it.
    pub(super) name: String,
    /// The scenario, and the log that it names; or what is wrong with it.
    pub(super) scenario: Result<(Scenario, Chosen), Failure>,
}

/// The scenarios that were named, in order.
pub(super) fn jobs(ctx: &mut Ctx, targets: &[String]) -> Result<Vec<Job>, Failure> {
    let mut jobs = Vec::new();
    for target in targets {
        let path = absolute(ctx.cwd(), Path::new(target));
        if Scenario::is_at(&path) {
            jobs.push(scenario(ctx, &path));
            continue;
        }
        let folders = if path.is_dir() {
            suite(&path).map_err(|fault| Failure::io("read", &path, fault))?
        } else {
            Vec::new()
        };
        if folders.is_empty() {
            jobs.push(session(ctx, target)?);
        }
        jobs.extend(folders.iter().map(|folder| scenario(ctx, folder)));
    }
    Ok(jobs)
}

/// A session that somebody named.
fn session(ctx: &mut Ctx, typed: &str) -> Result<Job, Failure> {
    let chosen = select::session(ctx, typed, None).map_err(|failure| {
        let hint = "a suite is a folder of folders with a `scenario.toml`; docs/replay.md in the repository explains it";
        if Path::new(typed).is_dir() { failure.hint(hint) } else { failure }
    })?;
    let folder = chosen.path.parent().and_then(Path::file_name);
    let name = match (&chosen.member, folder) {
        (Some(_), Some(folder)) => shown(Path::new(folder)),
        _ => shown(Path::new(typed)),
    };
    let scenario = Scenario::of_session(name.clone(), chosen.path.clone());
    Ok(Job { name, scenario: Ok((scenario, chosen)) })
}

/// A scenario in a folder. One that cannot be used does not keep the others from being run.
fn scenario(ctx: &Ctx, folder: &Path) -> Job {
    let name = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let loaded = Scenario::load(folder).map_err(|fault| unusable(&fault)).and_then(|scenario| {
        let chosen = log(ctx, &scenario.session)?;
        Ok((scenario, chosen))
    });
    Job { name, scenario: loaded }
}

/// The log at a path of a scenario: a file, or the newest one in the folder of a session.
pub(super) fn log(ctx: &Ctx, path: &Path) -> Result<Chosen, Failure> {
    if path.is_dir() {
        let folder = SessionFolder::read(path)?;
        return Ok(select::placed(&folder.chosen()?.path, None, ctx.cwd()));
    }
    Ok(select::placed(path, None, ctx.cwd()))
}

fn unusable(fault: &ScenarioError) -> Failure {
    match fault {
        ScenarioError::Read { path, source } => {
            Failure::io("read", path, std::io::Error::new(source.kind(), source.to_string()))
        }
        fault => {
            let cause = fault.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            Failure::refused(format!("{fault}{cause}"))
        }
    }
}
