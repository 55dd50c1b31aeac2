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

use super::read::tell_end;
use crate::args::{Diff, Format, What};
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome};
use crate::render::diff::{Layout, Report, Shown, json, text};
use crate::select;
use crate::source::{Form, Log};

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
    let of = |names: &[String]| -> Vec<Rule> {
        let all = names.iter().any(|name| name == "all");
        Rule::ALL.into_iter().filter(|rule| all || names.iter().any(|name| name == rule.name())).collect()
    };
    let rules = of(&args.ignore).into_iter().fold(Rules::default(), Rules::with);
    Ok(of(&args.keep).into_iter().fold(rules, Rules::without))
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
    let mut survey = Survey::new(&log.header, rules);
    let (mut events, mut has_turn) = (0, false);
    let mut checked = log.check(|event| {
        events += 1;
        has_turn |= args.turn.is_some()
            && event.is("turn/start")
            && event.member("turn").and_then(Js::as_count) == args.turn;
        survey.see(event);
    })?;
    checked.session()?;
    tell_end(ctx, &log, &checked);
    Ok(Judged { log, survey, events, has_turn })
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
