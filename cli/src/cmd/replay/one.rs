//! One scenario: read the record, run it again, compare.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use dshlog_codec::Seq;
use dshlog_migrate::Kin;
use dshlog_replay::agent::rerun::Record;
use dshlog_replay::runner::{CommandRun, Ended, RunError, Transport, Unserved, command, core, dsh};
use dshlog_replay::scenario::{AgentChoice, Scenario};
use dshlog_replay::wire::Dialect;

use super::compare::{Expected, Made, compare};
use super::targets::Job;
use crate::cmd::new_scenario::descendants;
use crate::exit::{Failure, Outcome, shown};
use crate::render::replay::{Status, Told};
use crate::select::{self, Chosen};
use crate::source::{Form, Log};

/// The name of the log that the agent core writes.
const LOG: &str = "session.v4.jsonl";

/// Logs that are named where there are too many.
const NAMED: usize = 5;

/// What all scenarios have in common.
pub(super) struct Stage {
    /// The dsh of this machine.
    pub(super) dsh: Dsh,
    /// Somebody has enough.
    pub(super) stop: Arc<AtomicBool>,
    /// Equal events around what differs.
    pub(super) context: usize,
    /// Folders of those that are not equal are kept.
    pub(super) keep: bool,
    /// What comes out is what is expected from now on.
    pub(super) update: bool,
}

/// The dsh of this machine.
///
/// Its first run has to be over before there are others: it unpacks its native parts for its user, and one that finds them half
/// unpacked crashes.
#[derive(Debug)]
pub(super) struct Dsh {
    program: PathBuf,
    /// The language that it speaks, once it has run.
    spoken: Mutex<Option<Dialect>>,
}

impl Dsh {
    pub(super) fn new(program: PathBuf) -> Self {
        Dsh { program, spoken: Mutex::default() }
    }

    /// Run it by these settings.
    fn run(&self, records: &[&Record], settings: &mut command::Settings) -> Result<CommandRun, RunError> {
        let mut spoken = self.spoken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(dialect) = *spoken {
            drop(spoken);
            settings.dialect.get_or_insert(dialect);
            return command::run(records, settings);
        }
        let dialect = dsh::dialect(&self.program, settings.timeout, &settings.stop)?;
        settings.dialect.get_or_insert(dialect);
        let made = command::run(records, settings);
        *spoken = Some(dialect);
        made
    }
}

/// A log and what is in it.
pub(super) struct Session {
    /// Its log.
    pub(super) chosen: Chosen,
    /// What is in it.
    pub(super) record: Record,
}

impl Session {
    pub(super) fn id(&self) -> String {
        self.record.header().id.to_lossy().into_owned()
    }
}

/// Run a scenario. Whatever is wrong with it is part of what is told.
pub(super) fn run(job: &Job, stage: &Stage) -> Told {
    let (scenario, chosen) = match &job.scenario {
        Ok(scenario) => scenario,
        Err(failure) => return job.refused(failure),
    };
    let begun = Instant::now();
    let mut told = Told::new(job.name.clone());
    scenario.agent.name().clone_into(&mut told.agent);
    if stage.stop.load(Ordering::Relaxed) {
        told.fail("interrupted".to_owned());
    } else if let Err(failure) = play(scenario, chosen, stage, &mut told) {
        told.fail(failure.to_string());
        told.cannot_be = Some(failure.outcome());
    }
    told.millis = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    told
}

fn play(scenario: &Scenario, chosen: &Chosen, stage: &Stage, told: &mut Told) -> Result<(), Failure> {
    let record = record(chosen)?;
    told.session = Some(record.header().id.to_lossy().into_owned());
    match &scenario.agent {
        AgentChoice::Core => play_core(scenario, chosen, &record, stage, told),
        AgentChoice::Dsh => {
            let program = command::Program::Dsh(stage.dsh.program.clone());
            play_command(scenario, chosen, &record, program, stage, told)
        }
        AgentChoice::Command(line) => {
            let program = command::Program::Shell(line.clone());
            play_command(scenario, chosen, &record, program, stage, told)
        }
    }
}

/// The record in a log of any generation; one that dsh refuses is not run again.
pub(super) fn record(chosen: &Chosen) -> Result<Record, Failure> {
    let log = Log::open(chosen, Form::Current, &Arc::<Kin>::default())?;
    let mut record = Record::new(log.header.to_current(), 0).stored_as(log.generation());
    let mut fault = None;
    let mut checked = log.check(|event| {
        if let Err(error) = record.see(event) {
            fault.get_or_insert(error);
        }
    })?;
    checked.session()?;
    if let Some(fault) = fault {
        return Err(Failure::refused(fault));
    }
    record.inherit(checked.end().cut);
    record.finish();
    Ok(record)
}

/// Its subagents that lie beside it, and can be read.
fn subagents(chosen: &Chosen, record: &Record) -> Vec<Session> {
    let Some(member) = &chosen.member else { return Vec::new() };
    let paths = descendants(&member.root, record.header());
    let read = |path: &PathBuf| {
        let chosen = select::placed(path, Some(&member.root), Path::new("/"));
        let record = self::record(&chosen).ok()?;
        Some(Session { chosen, record })
    };
    paths.iter().filter_map(read).collect()
}

fn play_core(
    scenario: &Scenario,
    chosen: &Chosen,
    record: &Record,
    stage: &Stage,
    told: &mut Told,
) -> Result<(), Failure> {
    let settings = core::Settings {
        idle: scenario.idle,
        timeout: scenario.timeout,
        retry: scenario.retry.clone(),
        stop: Arc::clone(&stage.stop),
    };
    let made = core::run(record, &settings).map_err(|fault| cannot(&fault))?;
    let folder = tempfile::Builder::new().prefix("dshlog-replay-").tempdir();
    let folder = folder.map_err(|fault| Failure::io("make a folder in", &std::env::temp_dir(), fault))?;
    let path = folder.path().join(LOG);
    let mut bytes = Vec::new();
    made.log.write_lines(&mut bytes).map_err(Failure::failed)?;
    std::fs::write(&path, bytes).map_err(|fault| Failure::io("write", &path, fault))?;
    match &made.transport {
        Transport::Http(_) => told.transport = "http",
        Transport::Memory(why) => {
            told.transport = "memory";
            told.from_memory = Some(why.to_string());
        }
    }
    told.wire = made.wire;
    if made.timed_out {
        told.status = Status::TimedOut;
        told.reason = Some(out_of_time(scenario, stage));
    } else {
        let expected = Expected { scenario, chosen, record, subagents: &[], stage };
        compare(&expected, &Made { log: &path, subagents: None }, told)?;
        if told.status == Status::Ok {
            told.reason = contradiction(&made.transport, made.parted);
            told.status = if told.reason.is_some() { Status::Differs } else { Status::Ok };
        }
    }
    if told.status != Status::Ok && stage.keep {
        told.kept = Some(folder.keep());
    }
    Ok(())
}

/// Why a record is not what an agent could have written, though what comes out of it is the same.
fn contradiction(transport: &Transport, parted: Option<Seq>) -> Option<String> {
    if let Transport::Memory(why @ Unserved::Contradiction { .. }) = transport {
        return Some(why.to_string());
    }
    parted.map(|seq| format!("the record lacks what the agent would write at seq {seq}"))
}

fn play_command(
    scenario: &Scenario,
    chosen: &Chosen,
    record: &Record,
    program: command::Program,
    stage: &Stage,
    told: &mut Told,
) -> Result<(), Failure> {
    let mut settings = command::Settings {
        program,
        prompts: scenario.prompts.clone().unwrap_or_else(|| record.prompts()),
        env: scenario.env.clone(),
        workspace: scenario.workspace(),
        folder: scenario.folder.clone(),
        patches: scenario.patches.clone(),
        dialect: scenario.dialect,
        title_wait: scenario.title_wait(),
        timeout: scenario.timeout,
        stop: Arc::clone(&stage.stop),
    };
    if settings.prompts.is_empty() {
        told.fail("the record has no prompt; `prompts` in scenario.toml can give some".to_owned());
        return Ok(());
    }
    let subagents = subagents(chosen, record);
    let records: Vec<&Record> =
        std::iter::once(record).chain(subagents.iter().map(|subagent| &subagent.record)).collect();
    let run = match settings.program {
        command::Program::Dsh(_) => stage.dsh.run(&records, &mut settings),
        command::Program::Shell(_) => command::run(&records, &settings),
    };
    let run = run.map_err(|fault| cannot(&fault))?;
    told.transport = "http";
    told.exit = match run.ended {
        Ended::Well => Some(0),
        Ended::Code(code) => Some(code),
        Ended::Signal | Ended::TimedOut => None,
    };
    told.wire = Some(run.wire.clone());
    told.said.clone_from(&run.said);
    judge(&Expected { scenario, chosen, record, subagents: &subagents, stage }, &run, told)?;
    if told.status != Status::Ok && stage.keep {
        told.kept = Some(run.keep());
    }
    Ok(())
}

/// What to say of a command that has ended.
fn judge(expected: &Expected<'_>, run: &CommandRun, told: &mut Told) -> Result<(), Failure> {
    if run.ended == Ended::TimedOut {
        told.status = Status::TimedOut;
        told.reason = Some(out_of_time(expected.scenario, expected.stage));
        return Ok(());
    }
    let ended = match run.ended {
        Ended::Code(code) => format!(" (exit code {code})"),
        Ended::Signal => " (it was killed by a signal)".to_owned(),
        Ended::Well | Ended::TimedOut => String::new(),
    };
    let never_asked = run.wire.asked == 0 && run.wire.expected > 0;
    match run.logs.as_slice() {
        [] if never_asked => told.fail(format!("the agent neither asked the model nor wrote a log{ended}")),
        [] => told.fail(format!("the agent wrote no log{ended}")),
        [_] if never_asked => told.fail(format!("the agent never asked the model{ended}")),
        [log] => compare(expected, &Made { log, subagents: Some(&run.subagents) }, told)?,
        logs => {
            let names = logs.iter().filter_map(|log| log.parent()?.file_name());
            let names: Vec<String> = names.take(NAMED).map(|name| shown(Path::new(name))).collect();
            let more = if logs.len() > names.len() { ", ..." } else { "" };
            told.fail(format!(
                "the agent wrote {} logs, and one was expected: {}{more}",
                logs.len(),
                names.join(", ")
            ));
        }
    }
    if run.ended == Ended::Signal && told.status != Status::Failed {
        told.fail("the agent was killed by a signal".to_owned());
    }
    Ok(())
}

fn out_of_time(scenario: &Scenario, stage: &Stage) -> String {
    if stage.stop.load(Ordering::Relaxed) {
        return "interrupted".to_owned();
    }
    format!("it took more than {} s", scenario.timeout.as_secs_f64())
}

/// Why a scenario cannot be run.
fn cannot(fault: &RunError) -> Failure {
    let mut text = fault.to_string();
    let mut cause = std::error::Error::source(fault);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    if let RunError::Start { .. } = fault {
        text.push_str("; DSHLOG_DSH names the dsh of `--agent dsh`");
    }
    match fault {
        RunError::Agent(_) | RunError::Script(_) => Failure::refused(text),
        _ => Failure::failed(text),
    }
}

impl Told {
    /// It failed, for this reason.
    pub(super) fn fail(&mut self, reason: String) {
        self.status = Status::Failed;
        self.reason = Some(reason);
    }

    /// How the whole command ends for it.
    pub(super) fn outcome(&self) -> Outcome {
        match (self.cannot_be, self.status) {
            (Some(outcome), _) => outcome,
            (None, Status::Ok) => Outcome::Clean,
            (None, _) => Outcome::Found,
        }
    }
}
