//! `dshlog diff`: two sessions, what differs in them, and where first.

mod events;
mod forms;

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use dshlog_codec::json::Js;
use dshlog_codec::{Event, Header};
use dshlog_migrate::Kin;
use dshlog_replay::compare::{Rule, Rules, Source, Survey};
use dshlog_replay::scenario::Compared;

use super::read::tell_end;
use crate::args::{Diff, Format, What};
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome};
use crate::render::diff::{Layout, Report, Shown, json, text};
use crate::select;
use crate::source::{Checked, Form, Log};

/// Differences that are shown without `--full`.
const SHOWN: usize = 20;
/// Differences that a document lists without `--full`.
const LISTED: usize = 500;

/// Compare two sessions.
pub(crate) fn run(ctx: &mut Ctx, args: &Diff) -> Result<Outcome, Failure> {
    let format = ctx.format(&[Format::Text, Format::Json])?;
    let rules = rules(args)?;
    let (a, b) = (open(ctx, args, &args.a, rules)?, open(ctx, args, &args.b, rules)?);
    check_turn(args, &a, &b)?;
    let most = match (args.full, format) {
        (true, _) => usize::MAX,
        (false, Format::Json) => LISTED,
        (false, _) => SHOWN,
    };
    // A document has no lines around a difference.
    let context = if format == Format::Json { 0 } else { args.context };
    let asked = Asked { turn: args.turn, context, most };
    let report = match args.what {
        What::Events => events::report(a, b, &asked)?,
        What::Messages => forms::messages(&a, &b, &asked)?,
        What::Requests => forms::requests(&a, &b, &asked)?,
    };
    if format == Format::Json {
        json(&report, args.full, ctx.out())?;
    } else {
        let layout =
            Layout { width: ctx.terminal.width, color: ctx.color, context: args.context, full: args.full };
        ctx.page();
        text(&report, &layout, ctx.out())?;
    }
    Ok(if report.is_equal { Outcome::Clean } else { Outcome::Found })
}

/// Refuse a turn that there is not: two sessions without it are not equal in it. Events are those of a turn of the first
/// session, messages and requests those of its number in both.
fn check_turn(args: &Diff, a: &Judged, b: &Judged) -> Result<(), Failure> {
    let Some(turn) = args.turn else { return Ok(()) };
    if a.has_turn {
        return Ok(());
    }
    match args.what {
        What::Events => Err(Failure::usage(format!("there is no turn {turn} in the first session"))),
        _ if b.has_turn => Ok(()),
        _ => Err(Failure::usage(format!("there is no turn {turn} in either session"))),
    }
}

/// What of the differences is wanted.
struct Asked {
    turn: Option<u64>,
    context: usize,
    most: usize,
}

impl Asked {
    /// A report without differences so far.
    fn report(&self, what: What, rules: Rules, sides: [crate::render::diff::SideFacts; 2]) -> Report {
        let shown = Shown { what: what.name(), turn: self.turn };
        Report {
            shown,
            sides,
            rules,
            is_equal: true,
            first: None,
            items: Vec::new(),
            counts: Vec::new(),
            left_out: 0,
        }
    }
}

fn rules(args: &Diff) -> Result<Rules, Failure> {
    if let Some(both) = args.keep.iter().find(|name| args.ignore.contains(name)) {
        return Err(Failure::usage(format!("`{both}` cannot be kept and ignored")));
    }
    Ok(changed(Rules::default(), &args.keep, &args.ignore))
}

/// Rules without those that are to be kept, and with those that are to be ignored, by their names; `all` for everything.
pub(super) fn changed(rules: Rules, keep: &[String], ignore: &[String]) -> Rules {
    let of = |names: &[String]| -> Vec<Rule> {
        let all = names.iter().any(|name| name == "all");
        Rule::ALL.into_iter().filter(|rule| all || names.iter().any(|name| name == rule.name())).collect()
    };
    let rules = of(ignore).into_iter().fold(rules, Rules::with);
    of(keep).into_iter().fold(rules, Rules::without)
}

/// A log that was judged, and what was learned of it on the way.
struct Judged {
    log: Log,
    survey: Survey,
    events: u64,
    /// It has the turn that was asked for.
    has_turn: bool,
}

/// Open and judge a log: what the official reader refuses is not compared.
fn open(ctx: &mut Ctx, args: &Diff, typed: &str, rules: Rules) -> Result<Judged, Failure> {
    let chosen = select::session(ctx, typed, None)?;
    let log = Log::open(&chosen, Form::Current, &Arc::<Kin>::default())?;
    let (judged, checked) = judge(log, args.turn, rules)?;
    tell_end(ctx, &judged.log, &checked);
    Ok(judged)
}

/// Judge a log, and learn of it what a comparison needs.
fn judge(log: Log, turn: Option<u64>, rules: Rules) -> Result<(Judged, Checked), Failure> {
    let mut survey = Survey::new(&log.header, rules);
    let (mut events, mut has_turn) = (0, false);
    let mut checked = log.check(|event| {
        events += 1;
        has_turn |=
            turn.is_some() && event.is("turn/start") && event.member("turn").and_then(Js::as_count) == turn;
        survey.see(event);
    })?;
    checked.session()?;
    Ok((Judged { log, survey, events, has_turn }, checked))
}

/// Two logs that lie there, compared in events and requests, for whoever runs one of them again.
pub(super) struct Pair {
    /// Their events.
    pub(super) events: Option<Report>,
    /// The requests that they imply.
    pub(super) requests: Option<Report>,
}

impl Pair {
    /// Compare two logs.
    pub(super) fn of(
        [a, b]: [Log; 2],
        rules: Rules,
        compared: Compared,
        context: usize,
    ) -> Result<Pair, Failure> {
        let asked = Asked { turn: None, context, most: SHOWN };
        let ((a, _), (b, _)) = (judge(a, None, rules)?, judge(b, None, rules)?);
        let requests = compared.requests.then(|| forms::requests(&a, &b, &asked)).transpose()?;
        let events = compared.events.then(|| events::report(a, b, &asked)).transpose()?;
        Ok(Pair { events, requests })
    }

    /// Nothing is different.
    pub(super) fn is_equal(&self) -> bool {
        [&self.events, &self.requests].into_iter().flatten().all(|report| report.is_equal)
    }
}

/// The events of an opened log.
struct Events<'l>(&'l Log);

impl Source for Events<'_> {
    type Error = Failure;

    fn header(&self) -> Header {
        self.0.header.to_current()
    }

    fn each(&self, see: &mut dyn FnMut(&Event<'_>)) -> Result<(), Failure> {
        let Ok(walked) = self.0.each(|event| {
            see(event);
            Ok::<_, Infallible>(ControlFlow::Continue(()))
        });
        walked.damage.map_or(Ok(()), |damage| Err(damage.into()))
    }
}
