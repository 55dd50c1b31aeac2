//! The logs that came out of a scenario, compared with those that are expected.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dshlog_migrate::Kin;
use dshlog_replay::agent::rerun::Record;
use dshlog_replay::runner::kin::pair;
use dshlog_replay::scenario::Scenario;

use super::one::{Session, Stage, record};
use super::update::{self, Change};
use crate::cmd::diff::Pair;
use crate::exit::{Failure, shown};
use crate::render::replay::{ComparedSubagent, Status, Told};
use crate::select::{self, Chosen};
use crate::source::{Form, Log};

/// What is expected, and what is done about it.
pub(super) struct Expected<'s> {
    /// The scenario.
    pub(super) scenario: &'s Scenario,
    /// The log of the record.
    pub(super) chosen: &'s Chosen,
    /// What is in it.
    pub(super) record: &'s Record,
    /// Its subagents.
    pub(super) subagents: &'s [Session],
    /// What all scenarios have in common.
    pub(super) stage: &'s Stage,
}

/// What came of a run.
pub(super) struct Made<'m> {
    /// The log of the session.
    pub(super) log: &'m Path,
    /// Those of its subagents; nothing of an agent that begins none.
    pub(super) subagents: Option<&'m [PathBuf]>,
}

/// Compare what came out with what is expected; with `--update`, expect it from now on.
pub(super) fn compare(expected: &Expected<'_>, made: &Made<'_>, told: &mut Told) -> Result<(), Failure> {
    let scenario = expected.scenario;
    let log = placed(made.log);
    let session = match record(&log) {
        Ok(record) => Session { chosen: log, record },
        Err(refused) => {
            told.fail(format!("dsh would refuse the log that the agent wrote: {refused}"));
            return Ok(());
        }
    };
    let mut changes = Vec::new();
    let pair = expected.pair(None, &session.chosen, &mut changes)?;
    told.compared(pair.events, pair.requests);
    if let Some(paths) = made.subagents {
        match read(paths) {
            Ok(written) => told.subagents = Some(subagents(expected, &session, &written, &mut changes)?),
            Err(refused) => {
                told.fail(refused);
                return Ok(());
            }
        }
    }
    let has_others = told.subagents.iter().flatten().any(ComparedSubagent::is_alone);
    if expected.stage.update && !changes.is_empty() && !has_others {
        update::accept(scenario, &changes)?;
        changes.clear();
        told.is_updated = true;
    } else if expected.stage.update && has_others {
        told.reason =
            Some("other subagents than in the record are nothing that `--update` can take".to_owned());
    }
    // Of the requests that the server got only those of the record are known.
    let requests_count = scenario.compared.requests && scenario.expects_record() && !told.is_updated;
    let requests_differ = requests_count && told.wire.as_ref().is_some_and(|wire| !wire.is_equal());
    let is_ok = changes.is_empty() && !has_others && !requests_differ;
    told.status = if is_ok { Status::Ok } else { Status::Differs };
    Ok(())
}

/// The logs of subagents; in words why one is none.
fn read(paths: &[PathBuf]) -> Result<Vec<Session>, String> {
    let read = |path: &PathBuf| {
        let chosen = placed(path);
        match record(&chosen) {
            Ok(record) => Ok(Session { chosen, record }),
            Err(refused) => {
                let folder = path.parent().and_then(Path::file_name).unwrap_or_default();
                Err(format!(
                    "dsh would refuse the log of the subagent {}: {refused}",
                    shown(Path::new(folder))
                ))
            }
        }
    };
    paths.iter().map(read).collect()
}

fn records(list: &[Session]) -> Vec<&Record> {
    list.iter().map(|one| &one.record).collect()
}

/// Compare the logs of subagents.
fn subagents(
    expected: &Expected<'_>,
    session: &Session,
    written: &[Session],
    changes: &mut Vec<Change>,
) -> Result<Vec<ComparedSubagent>, Failure> {
    let recorded = expected.subagents;
    let found = pair([expected.record, &session.record], &records(recorded), &records(written));
    let mut compared = Vec::new();
    for (one, other) in &found.pairs {
        let (Some(one), Some(other)) = (recorded.get(*one), written.get(*other)) else { continue };
        let pair = expected.pair(Some(one), &other.chosen, changes)?;
        compared.push(ComparedSubagent {
            recorded: Some(one.id()),
            written: Some(other.id()),
            events: pair.events,
            requests: pair.requests,
        });
    }
    let alone = |recorded, written| ComparedSubagent { recorded, written, events: None, requests: None };
    let missing = found.missing.iter().filter_map(|one| recorded.get(*one));
    compared.extend(missing.map(|one| alone(Some(one.id()), None)));
    let more = found.more.iter().filter_map(|one| written.get(*one));
    compared.extend(more.map(|one| alone(None, Some(one.id()))));
    Ok(compared)
}

impl Expected<'_> {
    /// Compare a log with the one that is expected: that of the session, or that of one of its subagents. What differs is
    /// noted as a change.
    fn pair(
        &self,
        subagent: Option<&Session>,
        made: &Chosen,
        changes: &mut Vec<Change>,
    ) -> Result<Pair, Failure> {
        let id = subagent.map(Session::id);
        let recorded = subagent.map_or(self.chosen, |subagent| &subagent.chosen);
        let other = self.scenario.expected(id.as_deref()).map(placed);
        let pair = self.against(other.as_ref().unwrap_or(recorded), made)?;
        if !pair.is_equal() {
            // Whether the record is right after all is of interest to whoever takes the change.
            let is_record = self.stage.update && other.is_some() && self.against(recorded, made)?.is_equal();
            changes.push(Change { subagent: id, log: made.path.clone(), is_record });
        }
        Ok(pair)
    }

    fn against(&self, expected: &Chosen, made: &Chosen) -> Result<Pair, Failure> {
        let open = |chosen: &Chosen| Log::open(chosen, Form::Current, &Arc::<Kin>::default());
        let logs = [open(expected)?, open(made)?];
        Pair::of(logs, self.scenario.rules, self.scenario.compared, self.stage.context)
    }
}

/// A log at a path.
fn placed(path: impl AsRef<Path>) -> Chosen {
    select::placed(path.as_ref(), None, Path::new("/"))
}
