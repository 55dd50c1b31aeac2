//! `dshlog record`.

mod child;
mod logs;

use std::path::Path;

use dshlog_fixture_server::forward::{Forwarder, Scenario, ScenarioError, Secrets, Upstream, is_secret_name};
use dshlog_fixture_server::{Capture, FixtureServer, Outcome as Answered, Script, ServerError};

use crate::args::{Format, Mode, Record};
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome, shown};
use logs::Before;

/// Run a command in front of a service, or of what was kept of one.
pub(crate) fn run(ctx: &mut Ctx, args: &Record) -> Result<Outcome, Failure> {
    ctx.format(&[Format::Text])?;
    match args.mode {
        Mode::Record => record(ctx, args),
        Mode::Replay => replay(ctx, args),
        Mode::Passthrough => {
            let forwarder = Forwarder::spawn_passing(upstream(args)?).map_err(|fault| no_server(&fault))?;
            child::run(ctx, args, &forwarder.url())
        }
    }
}

fn upstream(args: &Record) -> Result<Upstream, Failure> {
    let Some(url) = &args.upstream else {
        return Err(Failure::usage("nothing says which service requests go to")
            .hint("--upstream URL, or DEEPSEEK_BASE_URL in the environment"));
    };
    Upstream::new(url).map_err(Failure::usage)
}

fn folder(args: &Record) -> Result<&Path, Failure> {
    let missing = || Failure::usage("nothing says where the scenario lies").hint("--scenario DIR");
    args.scenario.as_deref().ok_or_else(missing)
}

fn record(ctx: &mut Ctx, args: &Record) -> Result<Outcome, Failure> {
    let upstream = upstream(args)?;
    let folder = folder(args)?;
    // Told before the command runs, which may cost something.
    Scenario::prepare(folder).map_err(unwritten)?;
    let home = ctx.home()?;
    let before = Before::look(&home.root)?;
    let variables = variables();
    let forwarder = Forwarder::spawn(upstream).map_err(|fault| no_server(&fault))?;
    let outcome = child::run(ctx, args, &forwarder.url());
    // What was said is kept however the command ended.
    let passed = forwarder.stop();
    let secrets = Secrets::of(&passed).with(variables.iter().map(String::as_str));
    let scenario = Scenario::of(&passed, secrets, args.pauses);
    scenario.write(folder).map_err(unwritten)?;
    let logs = before.keep_written(folder, scenario.secrets())?;
    for (n, why) in scenario.left_out() {
        ctx.warn(format!("request {n} is not in the script: {why}"));
    }
    let (exchanges, side) = scenario.counts();
    ctx.note(format!(
        "kept in {}: {} requests, {exchanges} exchanges, {side} side rules, {logs} session logs",
        shown(folder),
        scenario.requests()
    ));
    outcome
}

/// Secrets that the command is given in its environment.
fn variables() -> Vec<String> {
    let variables = std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value)));
    let secret = variables.filter(|(name, _)| is_secret_name(name));
    secret.filter_map(|(_, value)| value.into_string().ok()).collect()
}

fn replay(ctx: &mut Ctx, args: &Record) -> Result<Outcome, Failure> {
    let folder = folder(args)?;
    let path = Scenario::script_in(folder);
    let script = Script::load(&path).map_err(|fault| {
        Failure::usage(format!("{}: {}", shown(&path), child::chain(&fault)))
            .hint("record the scenario first")
    })?;
    let server = FixtureServer::spawn(script).map_err(|fault| no_server(&fault))?;
    let outcome = child::run(ctx, args, &server.url())?;
    let captures = server.captures();
    let verdict = server.stop();
    captures.iter().filter_map(miss).for_each(|miss| ctx.error(miss));
    ctx.note(&verdict);
    Ok(if verdict.is_good() { outcome } else { outcome.max(Outcome::Found) })
}

/// What a request was that the scenario does not have.
fn miss(capture: &Capture) -> Option<String> {
    let Capture { n, method, target, .. } = capture;
    match &capture.outcome {
        Answered::Unmatched(report) => Some(format!("request {n}: {report}")),
        Answered::Diverged { label, differences, .. } => {
            let places = differences.iter().map(|difference| format!("; {difference}"));
            Some(format!("request {n} is not {label}{}", places.collect::<String>()))
        }
        Answered::Elsewhere { status } => Some(format!("request {n}, {method} {target}: {status}")),
        Answered::Served { .. } | Answered::Refused { .. } | Answered::Left(_) => None,
    }
}

fn no_server(fault: &ServerError) -> Failure {
    Failure::failed(child::chain(fault))
}

fn unwritten(fault: ScenarioError) -> Failure {
    match fault {
        ScenarioError::NotEmpty { path } => Failure::refused(format!("{} is not empty", shown(&path)))
            .hint("name a new folder: what was recorded before is never overwritten"),
        ScenarioError::Write { path, source } => Failure::io("write", &path, source),
        fault @ ScenarioError::Script(_) => Failure::failed(child::chain(&fault)),
    }
}
