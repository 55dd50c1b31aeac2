//! The surface, for `read --surface`: its nodes, why they are there, and what people read and the model does not.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use dshlog_codec::{Millis, Seq};
use dshlog_replay::surface::{Cause, Compaction, Node, Shadowed, Surface, Unended};
use jiff::tz::TimeZone;

use super::json::Object;
use super::page::{Fold, Line, Page};
use super::style::Role;
use super::table::{Cell, Table};
use super::units;

/// Write the document `dshlog.surface/1`. `stored` is the number of events of the log where the surface holds others, too.
pub(crate) fn json(
    out: &mut dyn Write,
    path: Option<&Path>,
    at: Option<u64>,
    stored: Option<u64>,
    surface: &Surface,
) -> io::Result<()> {
    let mut document = Object::new("dshlog.surface/1");
    document.path("path", path);
    document.count_or_null("at", at);
    document.count_or_null("recoveredFrom", stored);
    document.array("nodes", surface.nodes(), |node, object| {
        object.count("seq", node.seq.0);
        object.text("type", node.kind.name());
        object.text_or_null("id", node.id.as_deref());
        object.counts("replaced", node.replaced.iter().map(|seq| seq.0));
        object.counts("offloadedBy", node.offloads.iter().map(|offload| offload.by.0));
        object.array("offloads", &node.offloads, |offload, object| {
            object.count("seq", offload.by.0);
            object.counts("imageIndexes", offload.images.iter().copied());
        });
        object.object("cause", |object| cause(object, &node.cause));
    });
    let standing = surface.standing();
    document.array("shadowed", from_transcript(surface), |shadowed, object| {
        object.count("seq", shadowed.seq.0);
        object.text("type", shadowed.kind.name());
        object.count("by", shadowed.by.0);
        let replacement = surface.replacement(shadowed.by);
        object.millis_or_null("time", replacement.map(|replacement| replacement.time.0));
        match replacement {
            Some(replacement) => object.object("cause", |object| cause(object, &replacement.cause)),
            None => object.raw("cause", b"null"),
        }
        object.count("now", standing.get(&shadowed.seq).unwrap_or(&shadowed.by).0);
    });
    document.array("unendedCompactions", surface.unended(), |unended, object| {
        object.count("seq", unended.start.0);
        object.text("compactionId", &unended.id);
        object.text("trigger", unended.trigger.name());
        object.count_or_null("orphanedBy", unended.orphaned_by.map(|seq| seq.0));
    });
    document.write_line(out)
}

/// What was appended, and is off the surface.
fn from_transcript(surface: &Surface) -> impl Iterator<Item = &Shadowed> {
    surface.shadowed().filter(|shadowed| shadowed.appended)
}

fn cause(object: &mut Object, cause: &Cause) {
    object.text("kind", cause.name());
    match cause {
        Cause::Compaction(compaction) => {
            object.count("start", compaction.start.0);
            object.count_or_null("summary", compaction.summary.map(|seq| seq.0));
            object.text("trigger", compaction.trigger.name());
            object.text("compactionId", &compaction.id);
            object.text_or_null("sourceCommandId", compaction.command.as_deref());
        }
        Cause::Prune { prune } => object.count("prune", prune.0),
        Cause::Appended | Cause::PromptRewrite | Cause::Other => {}
    }
}

/// Write tables for people; `stored` as for [`json`].
pub(crate) fn table(
    out: &mut dyn Write,
    width: usize,
    color: bool,
    zone: &TimeZone,
    stored: Option<u64>,
    surface: &Surface,
) -> io::Result<()> {
    let mut table = Table::new(&["SEQ", "TYPE", "ID", "WHY", "REPLACED"]);
    for node in surface.nodes() {
        table.row(vec![
            Cell::right(Role::Dim, node.seq.to_string()),
            Cell::left(Role::Strong, node.kind.name()),
            Cell::left(Role::Plain, node.id.as_deref().unwrap_or("(empty)")),
            if stored.is_some_and(|stored| node.seq.0 >= stored) {
                Cell::left(Role::Warn, "not in the log")
            } else {
                Cell::left(
                    if node.cause == Cause::Appended { Role::Dim } else { Role::Warn },
                    why(&node.cause),
                )
            },
            Cell::left(Role::Warn, taken(node)),
        ]);
    }
    table.write(out, width, color)?;
    let mut page = Page::new(out, width, color, false);
    let text = |page: &mut Page<'_>, role, words: &str| {
        page.text(Line::default(), &Line::default(), role, words, Fold::Whole)
    };
    let compactions: Vec<_> = surface.nodes().filter_map(compaction).collect();
    if !compactions.is_empty() {
        page.blank()?;
    }
    for (node, compaction) in compactions {
        text(&mut page, Role::Plain, &compacted(node, compaction))?;
    }
    for unended in surface.unended() {
        page.blank()?;
        text(&mut page, Role::Warn, &not_ended(&unended))?;
    }
    let groups = groups(surface);
    if groups.is_empty() {
        return Ok(());
    }
    let total = groups.values().map(|seqs| seqs.len() as u64).sum();
    let words =
        format!("in the transcript, but no longer seen by the model: {}", units::count(total, "message"));
    page.blank()?;
    text(&mut page, Role::Plain, &words)?;
    let mut table = Table::new(&["BY", "WHY", "WHEN", "TAKEN OFF", "NOW"]);
    let standing = surface.standing();
    for (by, seqs) in &groups {
        let replacement = surface.replacement(*by);
        let time = replacement.map_or(Millis(0), |replacement| replacement.time);
        let now = standing.get(by).unwrap_or(by);
        table.row(vec![
            Cell::right(Role::Dim, by.to_string()),
            Cell::left(Role::Warn, replacement.map_or("", |replacement| why(&replacement.cause))),
            Cell::left(Role::Dim, units::moment(time.0, zone, "%-d %b %Y %H:%M:%S")),
            Cell::left(Role::Plain, spans(seqs)),
            Cell::right(Role::Dim, now.to_string()),
        ]);
    }
    table.write(out, width, color)
}

/// Appended nodes by the event that took them off.
fn groups(surface: &Surface) -> BTreeMap<Seq, Vec<Seq>> {
    let mut groups: BTreeMap<Seq, Vec<Seq>> = BTreeMap::new();
    for shadowed in from_transcript(surface) {
        groups.entry(shadowed.by).or_default().push(shadowed.seq);
    }
    groups
}

fn why(cause: &Cause) -> &'static str {
    match cause {
        Cause::PromptRewrite => "prompt rewritten",
        other => other.name(),
    }
}

/// What a node took the place of, and which images are out of it.
fn taken(node: &Node) -> String {
    let mut words = Vec::new();
    if !node.replaced.is_empty() {
        words.push(spans(&node.replaced));
    }
    for offload in &node.offloads {
        let images: Vec<String> = offload.images.iter().map(u64::to_string).collect();
        let s = if images.len() == 1 { "" } else { "s" };
        words.push(format!("image{s} {} offloaded by {}", images.join(", "), offload.by));
    }
    words.join("; ")
}

fn compaction(node: &Node) -> Option<(&Node, &Compaction)> {
    match &node.cause {
        Cause::Compaction(compaction) => Some((node, compaction)),
        _ => None,
    }
}

fn compacted(node: &Node, compaction: &Compaction) -> String {
    let asked = match &compaction.command {
        Some(command) => format!(" by command {command}"),
        None => String::new(),
    };
    let summary = compaction.summary.map(|seq| format!(", summary {seq}")).unwrap_or_default();
    format!(
        "seq {} sums up {}: {} compaction, begun at {}{asked}{summary}",
        node.seq,
        units::count(node.replaced.len() as u64, "node"),
        compaction.trigger.name(),
        compaction.start
    )
}

fn not_ended(unended: &Unended) -> String {
    let words =
        format!("a {} compaction was begun at {} and not ended", unended.trigger.name(), unended.start);
    match unended.orphaned_by {
        Some(seq) => format!("{words}; at {seq} another process took over, so it never will be"),
        None => words,
    }
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
