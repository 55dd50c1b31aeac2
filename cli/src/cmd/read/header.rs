//! `read --header`.

use dshlog_codec::Header;

use super::tell_end;
use crate::args::{Format, Read};
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome, shown};
use crate::render::json::Object;
use crate::render::page::{Line, Page};
use crate::render::style::Role;
use crate::render::units;
use crate::source::{Checked, Log};

/// Show the facts a session was created with.
pub(super) fn run(ctx: &mut Ctx, args: &Read, log: &Log, format: Format) -> Result<Outcome, Failure> {
    let header = if args.as_stored { log.header.clone() } else { log.header.to_current() };
    let mut checked = None;
    if args.long {
        let mut whole = log.check(|_| ())?;
        whole.storage()?;
        tell_end(ctx, log, &whole);
        checked = Some(whole);
    }
    // What was inherited stands in the header only in V0 and V1, and counts the stored events; without a seed it is nothing.
    let inherited = match &checked {
        Some(checked) => Some(checked.end().cut),
        None if !log.header.is_seeded => Some(0),
        None => log.header.seed_length.filter(|_| args.as_stored),
    };
    if format == Format::Json {
        json(ctx, log, &header, inherited, checked.as_ref())?;
    } else {
        text(ctx, log, &header, inherited, checked.as_ref())?;
    }
    Ok(Outcome::Clean)
}

fn json(
    ctx: &mut Ctx,
    log: &Log,
    header: &Header,
    inherited: Option<u64>,
    checked: Option<&Checked>,
) -> Result<(), Failure> {
    let mut printed = Vec::new();
    header.print(&mut printed);
    let mut document = Object::new("dshlog.session/1");
    document.path("path", log.file.path());
    document.count("storedVersion", log.generation().0);
    document.text("encoding", log.file.encoding().name());
    document.raw("header", &printed);
    document.count_or_null("inheritedEventCount", inherited);
    if let Some(checked) = checked {
        let end = checked.end();
        document.count("events", end.events);
        match &end.torn {
            None => document.raw("tornTail", b"null"),
            Some(torn) => document.object("tornTail", |object| {
                object.count("truncateTo", torn.truncate_to);
                object.count("recoveredEvents", torn.recovered);
            }),
        }
    }
    Ok(document.write_line(ctx.out())?)
}

fn text(
    ctx: &mut Ctx,
    log: &Log,
    header: &Header,
    inherited: Option<u64>,
    checked: Option<&Checked>,
) -> Result<(), Failure> {
    let created = i64::try_from(header.created_at).unwrap_or(i64::MAX);
    let created = units::moment(created, ctx.zone(), "%-d %b %Y %H:%M:%S %Z");
    let mut facts = vec![
        ("id", header.id.to_lossy().into_owned()),
        ("path", log.file.path().map(shown).unwrap_or_default()),
        (
            "stored as",
            format!("{} {}, {}", log.generation(), log.file.encoding(), units::bytes(log.file.len())),
        ),
        ("created", created),
    ];
    let optional =
        [("cwd", &header.cwd), ("parent", &header.parent_session), ("preset", &header.agent_preset)];
    facts.extend(
        optional
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.as_ref()?.to_lossy().into_owned()))),
    );
    if header.is_subagent || header.delegation_depth > 0 {
        facts.push(("subagent", format!("depth {}", header.delegation_depth)));
    }
    match inherited {
        Some(0) => {}
        Some(inherited) => facts.push(("inherited", units::count(inherited, "event"))),
        None => facts.push(("inherited", "events of its parent; `--long` counts them".to_owned())),
    }
    if let Some(checked) = checked {
        let end = checked.end();
        facts.push(("events", units::grouped(end.events)));
        if let Some(torn) = end.torn {
            facts.push(("torn tail", format!("the next writer cuts at byte {}", torn.truncate_to)));
        }
    }
    let (width, color) = (ctx.terminal.width, ctx.color);
    let mut page = Page::new(ctx.out(), width, color, false);
    for (name, value) in facts {
        let first = Line::of(Role::Dim, &format!("{name:<11}"));
        let rest = Line::of(Role::Plain, "           ");
        page.text(first, &rest, Role::Plain, &value, crate::render::page::Fold::Whole)?;
    }
    Ok(())
}
