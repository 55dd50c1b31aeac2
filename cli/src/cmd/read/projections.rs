//! `read --state`: projections at the end of a log, or behind some of its events.

use std::convert::Infallible;
use std::ops::ControlFlow;

use dshlog_codec::Event;
use dshlog_codec::json::{Js, Tree};
use dshlog_replay::projection::{DEFINITIONS, Definition, Fault, Projection, Projections, Start, named};

use super::filter::Filter;
use super::walk;
use crate::args::{Format, Read};
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome};
use crate::render::json::Object;
use crate::render::state::{self, Shown};
use crate::source::Log;

/// What `--state` asks for.
pub(super) enum Asked {
    /// The names that there are.
    List,
    /// These, in this order; none without `--state`.
    These(Vec<&'static Definition>),
}

impl Asked {
    /// Look the names up.
    pub(super) fn new(args: &Read) -> Result<Self, Failure> {
        if args.state.iter().any(|name| name == "list") {
            return Ok(Asked::List);
        }
        let definitions = args.state.iter().map(|name| {
            named(name).ok_or_else(|| {
                Failure::usage(format!("there is no state `{name}`"))
                    .hint("`--state list` names those that there are")
            })
        });
        Ok(Asked::These(definitions.collect::<Result<_, _>>()?))
    }
}

/// Name the projections.
pub(super) fn list(ctx: &mut Ctx, format: Format) -> Result<Outcome, Failure> {
    if format == Format::Text {
        let (width, color) = (ctx.terminal.width, ctx.color);
        state::list(ctx.out(), width, color, &DEFINITIONS)?;
        return Ok(Outcome::Clean);
    }
    for definition in &DEFINITIONS {
        let mut document = Object::new("dshlog.projection/1");
        document.text("name", definition.key);
        document.count("version", definition.version);
        document.text("origin", definition.origin.name());
        document.text("about", definition.about);
        document.write_line(ctx.out())?;
    }
    Ok(Outcome::Clean)
}

/// A projection behind an event.
struct Taken {
    definition: &'static Definition,
    at: Option<u64>,
    /// State and view as JSON.
    told: Result<(Vec<u8>, Vec<u8>), Fault>,
}

/// Show projections.
pub(super) fn run(
    ctx: &mut Ctx,
    args: &Read,
    log: &Log,
    asked: &Asked,
    format: Format,
    filter: &Filter,
) -> Result<Outcome, Failure> {
    if !filter.is_only_at() {
        return Err(Failure::usage("`--state` shows a state; of the filters only `--at` fits"));
    }
    let Asked::These(definitions) = asked else { return list(ctx, format) };
    let header = log.header.to_current();
    let cut = cut(args, log)?;
    let mut projections = Projections::new(definitions, &Start { header: &header, cut });
    let mut points = args.at.clone();
    points.sort_unstable();
    points.dedup();
    let mut taken = Vec::new();
    let mut events = 0;
    let see = |event: &Event<'_>| {
        events += 1;
        projections.see(event);
        if points.binary_search(&event.seq.0).is_ok() {
            taken.extend(projections.iter().map(|projection| Taken::of(projection, Some(event.seq.0))));
        }
    };
    walk(ctx, args, log, see)?;
    filter.check(events)?;
    if points.is_empty() {
        taken.extend(projections.iter().map(|projection| Taken::of(projection, None)));
    }
    let failed = taken.iter().any(|taken| taken.told.is_err());
    if format == Format::Text {
        text(ctx, &taken)?;
    } else {
        taken.iter().try_for_each(|taken| json(ctx, log, taken))?;
    }
    // A state that dsh cannot make either is a finding, and the others are shown.
    Ok(if failed { Outcome::Found } else { Outcome::Clean })
}

/// How many events are inherited. Some states begin there, and only the whole log can tell.
fn cut(args: &Read, log: &Log) -> Result<u64, Failure> {
    if !log.header.is_seeded {
        return Ok(0);
    }
    if !args.lenient {
        let mut checked = log.check(|_| ())?;
        checked.session()?;
        return Ok(checked.end().cut);
    }
    let mut cut = 0;
    let Ok(_) = log.each_as(true, |event| {
        if event.is("session/end-seed") && event.member("inherited").is_some_and(Js::is_true) {
            cut = event.seq.0;
        }
        Ok::<_, Infallible>(ControlFlow::Continue(()))
    });
    Ok(cut)
}

impl Taken {
    fn of(projection: &Projection, at: Option<u64>) -> Self {
        let printed = |tree: Option<Tree<'_>>| {
            let mut text = Vec::new();
            match tree {
                Some(tree) => tree.print(&mut text),
                None => text.extend_from_slice(b"null"),
            }
            text
        };
        let told = projection
            .state()
            .and_then(|state| Ok((printed(Some(state)), printed(projection.view()?))))
            .map_err(Clone::clone);
        Taken { definition: projection.definition, at, told }
    }
}

fn json(ctx: &mut Ctx, log: &Log, taken: &Taken) -> Result<(), Failure> {
    let mut document = Object::new("dshlog.state/1");
    document.path("path", log.file.path());
    document.text("name", taken.definition.key);
    document.count("version", taken.definition.version);
    document.text("origin", taken.definition.origin.name());
    document.count_or_null("at", taken.at);
    let (state, view, fault) = match &taken.told {
        Ok((state, view)) => (&state[..], &view[..], None),
        Err(fault) => (&b"null"[..], &b"null"[..], Some(fault)),
    };
    document.raw("state", state);
    document.raw("view", view);
    match fault {
        None => document.raw("error", b"null"),
        Some(fault) => document.object("error", |error| {
            error.count("seq", fault.seq.0);
            error.text("message", &fault.reason);
        }),
    }
    Ok(document.write_line(ctx.out())?)
}

fn text(ctx: &mut Ctx, taken: &[Taken]) -> Result<(), Failure> {
    let (width, color, zone) = (ctx.terminal.width, ctx.color, ctx.zone().clone());
    ctx.page();
    for (i, one) in taken.iter().enumerate() {
        let told = one.told.as_ref().map(|(state, _)| &state[..]);
        let shown = Shown { name: one.definition.key, at: one.at, told, titled: taken.len() > 1 };
        state::write(ctx.out(), width, color, &zone, i > 0, &shown)?;
    }
    Ok(())
}
