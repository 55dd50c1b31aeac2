//! `dshlog replay`.

mod compare;
mod one;
mod targets;
mod update;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use dshlog_replay::scenario::{AgentChoice, Scenario};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::diff::changed;
use crate::args::{Format, Replay};
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome};
use crate::pool;
use crate::render::diff::Layout;
use crate::render::progress::Progress;
use crate::render::replay::{Status, Tally, Told, details, document, junit, line, summary};
use one::{Dsh, Stage};
use targets::Job;

/// Run recorded sessions again.
pub(crate) fn run(ctx: &mut Ctx, args: &Replay) -> Result<Outcome, Failure> {
    let format = ctx.format(&[Format::Text, Format::Json])?;
    let mut jobs = targets::jobs(ctx, &args.targets)?;
    for job in &mut jobs {
        if let Ok((scenario, _)) = &mut job.scenario {
            overrule(args, scenario)?;
        }
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|fault| Failure::failed(format!("cannot wait for an interrupt: {fault}")))?;
    }
    let stage =
        Stage { dsh: Dsh::new(ctx.dsh()), stop, context: args.context, keep: args.keep, update: args.update };
    let progress = Progress::new(ctx.shows_progress() && jobs.len() > 1, jobs.len() as u64, "scenarios");
    let layout = Layout { width: ctx.terminal.width, color: ctx.color, context: args.context, full: false };
    let columns = jobs.iter().map(|job| job.name.chars().count()).max().unwrap_or(0).min(40);
    let mut told: Vec<Told> = Vec::new();
    pool::each(
        &jobs,
        pool::size(args.jobs, jobs.len()),
        |job| one::run(job, &stage),
        |one| {
            progress.step();
            progress.suspend(|| match format {
                Format::Json => document(&one, ctx.out()),
                _ => line(&one, columns, &layout, ctx.out()),
            })?;
            ctx.out().flush()?;
            told.push(one);
            Ok::<(), Failure>(())
        },
    )?;
    progress.end();
    let tally = Tally::of(&told);
    if format == Format::Text {
        for one in told.iter().filter(|one| one.status != Status::Ok) {
            details(one, &layout, ctx.out())?;
        }
        if told.len() > 1 {
            summary(&tally, &layout, ctx.out())?;
        }
    }
    if let Some(path) = &args.junit {
        write_junit(path, &told)?;
    }
    Ok(told.iter().map(Told::outcome).max().unwrap_or(Outcome::Clean))
}

/// What the command line says of every scenario.
fn overrule(args: &Replay, scenario: &mut Scenario) -> Result<(), Failure> {
    if args.update && scenario.folder.is_none() {
        return Err(Failure::usage("`--update` is for scenarios: the log of a session is never changed")
            .hint("`dshlog new-scenario NAME --from SESSION` makes a scenario of it"));
    }
    if let Some(both) = args.strict.iter().find(|name| args.ignore.contains(name)) {
        return Err(Failure::usage(format!("`{both}` cannot be compared and ignored")));
    }
    if let Some(agent) = &args.agent {
        scenario.agent = AgentChoice::parse(agent);
    }
    if let Some(timeout) = args.timeout {
        scenario.timeout = timeout;
    }
    scenario.rules = changed(scenario.rules, &args.strict, &args.ignore);
    Ok(())
}

fn write_junit(path: &Path, told: &[Told]) -> Result<(), Failure> {
    let mut report = Vec::new();
    junit(told, &mut report)?;
    std::fs::write(path, report).map_err(|fault| Failure::io("write", path, fault))
}

impl Job {
    /// Told that it could not be begun.
    fn refused(&self, failure: &Failure) -> Told {
        let mut told = Told::new(self.name.clone());
        told.fail(failure.to_string());
        told.cannot_be = Some(failure.outcome());
        told
    }
}
