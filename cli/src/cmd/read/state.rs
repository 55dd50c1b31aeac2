//! `read --messages` and `read --surface`: the history at the end of a log, or after one event.

use std::convert::Infallible;
use std::ops::ControlFlow;

use dshlog_codec::json::Doc;
use dshlog_codec::{Millis, Seq};
use dshlog_replay::{History, HistoryError, Node, Resume};

use super::filter::Filter;
use super::{Lenient, View, tell_end};
use crate::args::{Format, Read};
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome};
use crate::render::json::Object;
use crate::render::style::Role;
use crate::render::table::{Cell, Table};
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
    let mut see = |event: &dshlog_codec::Event<'_>| {
        events += 1;
        if event.seq.0 <= filter.last() && fault.is_none() {
            fault = history.see(event).err();
        }
    };
    if args.lenient {
        let mut lenient = Lenient::new(args, log);
        let Ok(walked) = log.each_as(true, |event| {
            lenient.see(event);
            see(event);
            Ok::<_, Infallible>(ControlFlow::Continue(()))
        });
        lenient.tell(ctx, log, &walked);
    } else {
        let mut checked = log.check(|event| {
            resume.see(event);
            see(event);
        })?;
        checked.session()?;
        tell_end(ctx, log, &checked);
    }
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
        return Err(Failure::refused(format!("no history: {fault}")));
    }
    match (view, format) {
        (View::Messages, _) => {
            let mut text = Vec::new();
            history.print_messages(&mut text);
            text.push(b'\n');
            ctx.out().write_all(&text)?;
        }
        (_, Format::Json) => surface_json(ctx, args, log, &history, stored)?,
        _ => surface_table(ctx, &history, stored)?,
    }
    Ok(Outcome::Clean)
}

/// `stored` is the number of events of the log where the history holds others, too.
fn surface_json(
    ctx: &mut Ctx,
    args: &Read,
    log: &Log,
    history: &History,
    stored: Option<u64>,
) -> Result<(), Failure> {
    let mut document = Object::new("dshlog.surface/1");
    document.path("path", log.file.path());
    document.count_or_null("at", args.at);
    document.count_or_null("recoveredFrom", stored);
    document.array("nodes", history.nodes(), |node, object| {
        object.count("seq", node.seq.0);
        object.text("type", node.kind.name());
        object.text_or_null("id", message_id(node).as_deref());
        object.counts("replaced", node.replaced.iter().map(|seq| seq.0));
        object.counts("offloadedBy", node.offloaded_by.iter().map(|seq| seq.0));
    });
    Ok(document.write_line(ctx.out())?)
}

fn surface_table(ctx: &mut Ctx, history: &History, stored: Option<u64>) -> Result<(), Failure> {
    let mut table = Table::new(&["SEQ", "TYPE", "ID", "REPLACED"]);
    for node in history.nodes() {
        let mut replaced = spans(&node.replaced);
        if !node.offloaded_by.is_empty() {
            let gap = if replaced.is_empty() { "" } else { "; " };
            replaced = format!("{replaced}{gap}images offloaded by {}", spans(&node.offloaded_by));
        }
        if stored.is_some_and(|stored| node.seq.0 >= stored) {
            "(not in the log)".clone_into(&mut replaced);
        }
        table.row(vec![
            Cell::right(Role::Dim, node.seq.to_string()),
            Cell::left(Role::Strong, node.kind.name()),
            Cell::left(Role::Plain, message_id(node).unwrap_or_else(|| "(empty)".to_owned())),
            Cell::left(Role::Warn, replaced),
        ]);
    }
    let (width, color) = (ctx.terminal.width, ctx.color);
    ctx.page();
    Ok(table.write(ctx.out(), width, color)?)
}

fn message_id(node: &Node) -> Option<String> {
    let doc = Doc::parse(node.message.as_deref()?).ok()?;
    Some(doc.root().get("id")?.as_str()?.to_lossy().into_owned())
}

/// `8-12, 15`.
fn spans(seqs: &[Seq]) -> String {
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for seq in seqs {
        match spans.last_mut() {
            Some((_, end)) if *end + 1 == seq.0 => *end = seq.0,
            _ => spans.push((seq.0, seq.0)),
        }
    }
    let words: Vec<String> = spans
        .iter()
        .map(|(start, end)| if start == end { start.to_string() } else { format!("{start}-{end}") })
        .collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_seqs_become_spans() {
        for (seqs, expected) in [(&[][..], ""), (&[8], "8"), (&[8, 9, 10, 12], "8-10, 12"), (&[3, 2], "3, 2")]
        {
            let seqs: Vec<Seq> = seqs.iter().map(|seq| Seq(*seq)).collect();
            assert_eq!(spans(&seqs), expected);
        }
    }
}
