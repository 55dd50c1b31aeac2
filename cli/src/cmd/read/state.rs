//! `read --messages` and `read --surface`: the history at the end of a log, or after one event.

use dshlog_codec::Millis;
use dshlog_replay::{History, HistoryError, Resume};

use super::filter::Filter;
use super::{View, walk};
use crate::args::{Format, Read};
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome};
use crate::render::surface;
use crate::source::Log;

/// Show the history.
pub(super) fn run(
    ctx: &mut Ctx,
    args: &Read,
    log: &Log,
    view: View,
    format: Format,
    filter: &Filter,
) -> Result<Outcome, Failure> {
    if !filter.is_only_at() {
        return Err(Failure::usage(
            "`--messages` and `--surface` show a state; of the filters only `--at` fits",
        ));
    }
    let mut history = History::new();
    let mut resume = Resume::new();
    let mut fault: Option<HistoryError> = None;
    let mut events = 0;
    let see = |event: &dshlog_codec::Event<'_>| {
        events += 1;
        resume.see(event);
        if event.seq.0 <= filter.last() && fault.is_none() {
            fault = history.see(event).err();
        }
    };
    walk(ctx, args, log, see)?;
    filter.check(events)?;
    let stored = args.recovered.then_some(events);
    if let Some(stored) = stored {
        let resumed = resume.finish(Millis(ctx.now()));
        for event in resumed.events() {
            fault = fault.or_else(|| history.see(&event.event()).err());
        }
        if !resumed.closers.is_empty() {
            ctx.note(format!("seqs from {stored} on are not in the log; a resume by dsh would append them"));
        }
    }
    if let Some(fault) = fault {
        return Err(fault.into());
    }
    match (view, format) {
        (View::Messages, _) => {
            let mut text = Vec::new();
            history.print_messages(&mut text);
            text.push(b'\n');
            ctx.out().write_all(&text)?;
        }
        (_, Format::Json) => {
            surface::json(ctx.out(), log.file.path(), filter.at(), stored, history.surface())?;
        }
        _ => {
            let (width, color, zone) = (ctx.terminal.width, ctx.color, ctx.zone().clone());
            ctx.page();
            surface::table(ctx.out(), width, color, &zone, stored, history.surface())?;
        }
    }
    Ok(Outcome::Clean)
}
