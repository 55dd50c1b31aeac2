//! `dshlog read`: which view of which log.

mod events;
mod filter;
mod follow;
mod header;
mod projections;
mod state;
mod transcript;

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use dshlog_codec::check::{Checker, EventType};
use dshlog_codec::{ErrorKind, Event, Generation, Limits};
use dshlog_migrate::Kin;
use dshlog_replay::{NewEvent, Resumed};

use crate::args::{Format, Read};
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome};
use crate::render::units;
use crate::select::{self, Chosen};
use crate::source::{Checked, Form, Log, Walked};
use crate::stores;
pub(super) use filter::Filter;
pub(super) use transcript::head;

/// Show a session.
pub(crate) fn run(ctx: &mut Ctx, args: &Read) -> Result<Outcome, Failure> {
    let filter = Filter::new(args)?;
    let view = View::of(args, ctx.asked_format());
    let format = ctx.format(view.formats()).map_err(|failure| match (view, ctx.asked_format()) {
        (View::Transcript, Some(Format::Json)) => failure
            .hint("`--messages`, `--surface`, `--state` and `--header` have json, `--events` has jsonl"),
        _ => failure,
    })?;
    if !filter.is_empty() && matches!(view, View::Rows | View::Header) {
        return Err(Failure::usage("`--rows` and `--header` take no filters").hint("`--events` takes them"));
    }
    let asked = projections::Asked::new(args)?;
    if matches!(asked, projections::Asked::List) {
        return projections::list(ctx, format);
    }
    let chosen = select::session(ctx, &args.session, args.generation.map(Generation))?;
    let older = chosen.older.clone();
    show(ctx, args, chosen, view, format, filter, &asked).map_err(|failure| offer(failure, &older))
}

/// Show a log.
fn show(
    ctx: &mut Ctx,
    args: &Read,
    chosen: Chosen,
    view: View,
    format: Format,
    filter: Filter,
    asked: &projections::Asked,
) -> Result<Outcome, Failure> {
    if view == View::Rows {
        return rows(ctx, &chosen.path);
    }
    if args.follow && stores::is_entry(&chosen.path) {
        return Err(Failure::refused("a store is not followed: no dsh of today writes to one")
            .hint("without `--follow` it is read as it is now"));
    }
    if args.follow {
        return follow::run(ctx, args, chosen, view, format, filter);
    }
    let log = Log::open(&chosen, Form::of(args.as_stored), &Arc::<Kin>::default())?;
    if args.lenient || view == View::Header {
        log.check_identity()?;
    }
    if log.header.has_windows_cwd() {
        ctx.note("`cwd` is a Windows path; dsh on another system refuses this log");
    }
    if view == View::Header {
        return header::run(ctx, args, &log, format);
    }
    refuse_stored(args, &log, view)?;
    match view {
        View::Events => events::run(ctx, args, &log, format, filter),
        View::State => projections::run(ctx, args, &log, asked, format, &filter),
        View::Messages | View::Surface => state::run(ctx, args, &log, view, format, &filter),
        View::Transcript | View::Rows | View::Header => transcript::run(ctx, args, &log, filter),
    }
}

/// Behind a fault of the newest generation: the older ones. None is taken in its place, since what it lacks would not be
/// missed.
pub(super) fn offer(failure: Failure, older: &[Generation]) -> Failure {
    // The others of its folder would be misplaced with it.
    let is_lost = matches!(&failure, Failure::Log(error, _)
        if !matches!(error.kind(), ErrorKind::Identity { .. } | ErrorKind::Locked));
    if older.is_empty() || !is_lost {
        return failure;
    }
    let switches: Vec<String> =
        older.iter().map(|generation| format!("`--generation {}`", generation.0)).collect();
    failure.hint(format!("{} reads an older log of this session", switches.join(" or ")))
}

/// What of a log is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    Transcript,
    Events,
    Rows,
    Messages,
    Surface,
    State,
    Header,
}

impl View {
    fn of(args: &Read, format: Option<Format>) -> View {
        match args {
            Read { events: true, .. } => View::Events,
            Read { rows: true, .. } => View::Rows,
            Read { messages: true, .. } => View::Messages,
            Read { surface: true, .. } => View::Surface,
            Read { state, .. } if !state.is_empty() => View::State,
            Read { header: true, .. } => View::Header,
            // Lines of JSON can only be events.
            _ if format == Some(Format::Jsonl) => View::Events,
            _ => View::Transcript,
        }
    }

    /// Forms of output, the default first.
    fn formats(self) -> &'static [Format] {
        match self {
            View::Transcript => &[Format::Text],
            View::Events => &[Format::Jsonl, Format::Text],
            View::Rows => &[Format::Jsonl],
            View::Messages => &[Format::Json],
            View::Surface => &[Format::Table, Format::Json],
            View::State => &[Format::Text, Format::Json, Format::Jsonl],
            View::Header => &[Format::Text, Format::Json],
        }
    }
}

/// The physical lines, byte for byte; only containers are checked.
fn rows(ctx: &mut Ctx, path: &std::path::Path) -> Result<Outcome, Failure> {
    let file = stores::open(path)?;
    let mut lines = file.lines(&Limits::default())?;
    while let Some((line, _)) = lines.next_line()? {
        ctx.out().write_all(line)?;
        ctx.out().write_all(b"\n")?;
    }
    Ok(Outcome::Clean)
}

/// Histories and states are made of current events only.
fn refuse_stored(args: &Read, log: &Log, view: View) -> Result<(), Failure> {
    if log.is_current() || !args.as_stored || !matches!(view, View::Messages | View::Surface | View::State) {
        return Ok(());
    }
    let stored = log.generation();
    Err(Failure::refused(format!("what a {stored} log amounts to is not derived as stored"))
        .hint("without `--as-stored` it is, of the events carried to V4"))
}

/// Show to `probe` what a resume would append, too. Gives the number of these events.
fn see_recovered(probe: &mut Filter, resumed: Option<&Resumed>) -> u64 {
    let events = resumed.into_iter().flat_map(Resumed::events).map(NewEvent::event);
    events.map(|event| probe.see(&event)).count() as u64
}

/// Say what the end of a log lacks.
pub(super) fn tell_end(ctx: &mut Ctx, log: &Log, checked: &Checked) {
    for child in log.obscure_children() {
        ctx.warn(format!("subagent {} is not described: {}", child.id.to_lossy(), child.fault));
    }
    let end = checked.end();
    if end.dropped_bytes == 0 && end.torn.is_none() {
        return;
    }
    let mut words = format!("torn tail: {} behind the last complete event", units::bytes(end.dropped_bytes));
    if let Some(torn) = end.torn
        && torn.recovered > 0
    {
        words = format!("{words}, {} of it recovered", units::count(torn.recovered, "event"));
    }
    if let Some(issue) = &end.issue {
        words = format!("{words} ({issue})");
    }
    ctx.warn(words);
}

/// Show every event to `see`, and refuse what no session opens. A lenient walk goes on to where it cannot, and says what it
/// passed.
fn walk(ctx: &mut Ctx, args: &Read, log: &Log, mut see: impl FnMut(&Event<'_>)) -> Result<(), Failure> {
    if args.lenient {
        let mut lenient = Lenient::new(args, log);
        let Ok(walked) = log.each_as(true, |event| {
            lenient.see(event);
            see(event);
            Ok::<_, Infallible>(ControlFlow::Continue(()))
        });
        lenient.tell(ctx, log, &walked);
        return Ok(());
    }
    let mut checked = log.check(see)?;
    checked.session()?;
    tell_end(ctx, log, &checked);
    Ok(())
}

/// What a lenient walk passed: events that the official reader refuses, and the damage it stopped at.
struct Lenient {
    events: u64,
    unknown: u64,
    first_unknown: Option<(u64, String)>,
    checker: Option<Checker>,
}

impl Lenient {
    fn new(args: &Read, log: &Log) -> Self {
        let checker = if args.lenient { log.checker() } else { None };
        Lenient { events: 0, unknown: 0, first_unknown: None, checker }
    }

    fn see(&mut self, event: &Event<'_>) {
        self.events += 1;
        let Some(checker) = &mut self.checker else { return };
        checker.see(event);
        if !event.ignorable && EventType::of(event.kind).is_none() {
            self.unknown += 1;
            self.first_unknown.get_or_insert_with(|| (event.seq.0, event.kind.to_lossy().into_owned()));
        }
    }

    /// Say it. Rules on the whole log are only judged when `walked` came to its end.
    fn tell(self, ctx: &mut Ctx, log: &Log, walked: &Walked) {
        if let Some((seq, kind)) = &self.first_unknown {
            let events = units::count(self.unknown, "unknown required event");
            ctx.warn(format!("read past {events}, the first is `{kind}` at seq {seq}; dsh refuses this log"));
        }
        if let Some(error) = &walked.damage {
            let what = if matches!(error.kind(), ErrorKind::Migration { .. }) {
                "where the migration refuses this log,"
            } else {
                "at damage"
            };
            ctx.warn(format!("stopped {what} after {}: {error}", units::count(self.events, "event")));
        }
        if let (Some(end), Some(checker)) = (&walked.end, self.checker) {
            let verdict = log.judge(checker, end.cut);
            let fault = if self.unknown > 0 { verdict.behind_unknown } else { verdict.storage };
            if let Some(fault) = fault {
                ctx.warn(format!("dsh refuses this log: {fault}"));
            }
        }
    }
}
