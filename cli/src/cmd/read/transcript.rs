//! `read`: the transcript.

use std::ops::ControlFlow;

use dshlog_codec::{Event, Millis};
use dshlog_replay::{NewEvent, Resume, Resumed, Surface};

use super::filter::Filter;
use super::{Lenient, see_recovered, tell_end};
use crate::args::Read;
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome};
use crate::render::transcript::{Head, Layout, Transcript};
use crate::source::Log;
use crate::transcript::{Fold, Summary};

/// Write the transcript.
pub(super) fn run(ctx: &mut Ctx, args: &Read, log: &Log, mut filter: Filter) -> Result<Outcome, Failure> {
    let mut head = head(log);
    let mut fold = Fold::new(args.full);
    let mut resumed = None;
    if !args.lenient {
        let mut resume = Resume::new();
        let mut surface = Some(Surface::new());
        let end = filter.at().unwrap_or(u64::MAX);
        let mut summary = Summary::default();
        let mut probe = filter.clone();
        let mut checked = log.check(|event| {
            resume.see(event);
            probe.see(event);
            if event.seq.0 <= probe.last() {
                summary.see(event);
            }
            if event.seq.0 <= end {
                // Without a surface nothing is marked.
                surface.take_if(|surface| surface.see(event).is_err());
            }
        })?;
        checked.storage()?;
        resumed = args.recovered.then(|| resume.finish(Millis(ctx.now())));
        let added = see_recovered(&mut probe, resumed.as_ref());
        probe.check(checked.end().events + added)?;
        tell_end(ctx, log, &checked);
        head.inherited = checked.end().cut;
        head.summary = Some(summary);
        if let Some(surface) = surface {
            head.unseen = fold.mark(surface);
        }
    }
    let layout = layout(ctx, args);
    ctx.page();
    let mut lenient = Lenient::new(args, log);
    let mut events = 0;
    let mut transcript = Transcript::new(ctx.out(), layout);
    if filter.is_only_at() {
        transcript.head(&head)?;
    }
    let mut walked = log.each_as(args.lenient, |event| {
        if event.seq.0 > filter.last() {
            return Ok(ControlFlow::Break(()));
        }
        events += 1;
        lenient.see(event);
        step(&mut transcript, &mut fold, &mut filter, event).map(ControlFlow::Continue)
    })?;
    if !args.lenient
        && let Some(error) = walked.damage.take()
    {
        return Err(error.into());
    }
    for (i, event) in resumed.iter().flat_map(Resumed::events).map(NewEvent::event).enumerate() {
        if i == 0 {
            fold.hide(!filter.clone().see(&event));
            fold.recover(&event);
        }
        step(&mut transcript, &mut fold, &mut filter, &event)?;
    }
    // What is open at the end of an excerpt is not open.
    if filter.is_only_at() {
        fold.finish();
    }
    for entry in fold.ready() {
        transcript.entry(&entry)?;
    }
    if args.lenient {
        lenient.tell(ctx, log, &walked);
        filter.check(events)?;
    }
    Ok(Outcome::Clean)
}

/// One event through fold and page.
pub(super) fn step(
    transcript: &mut Transcript<'_>,
    fold: &mut Fold,
    filter: &mut Filter,
    event: &Event<'_>,
) -> Result<(), Failure> {
    fold.hide(!filter.see(event));
    fold.see(event);
    for entry in fold.ready() {
        transcript.entry(&entry)?;
    }
    Ok(())
}

/// What stands at the head before anything was read.
pub(in crate::cmd) fn head(log: &Log) -> Head {
    let header = &log.header;
    Head {
        id: header.id.to_lossy().into_owned(),
        cwd: header.cwd.as_ref().map(|cwd| cwd.to_lossy().into_owned()),
        stored: format!("{} {}", log.generation(), log.file.encoding()),
        created: i64::try_from(header.created_at).unwrap_or(i64::MAX),
        parent: header.parent_session.as_ref().map(|parent| parent.to_lossy().into_owned()),
        inherited: 0,
        is_subagent: header.is_subagent,
        unseen: 0,
        summary: None,
    }
}

/// How to lay it out here.
pub(super) fn layout(ctx: &Ctx, args: &Read) -> Layout {
    Layout {
        width: ctx.terminal.width,
        color: ctx.color,
        seqs: args.seqs,
        full: args.full,
        zone: ctx.zone().clone(),
    }
}
