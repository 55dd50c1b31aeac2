//! What changed from one request to the next.

use std::io::{self, Write};

use dshlog_codec::json::{Doc, Js};
use dshlog_replay::Position;
use dshlog_replay::compare::{Change, ListChange, RequestChanges};

use super::super::json::Object;
use super::super::page::{Fold, Line, Page};
use super::super::style::Role;
use super::super::units;
use super::document::spots;
use super::{Layout, place};

/// Rows of a message that came or went.
const MESSAGE_ROWS: usize = 6;

/// Two requests of a session.
#[derive(Debug)]
pub(crate) struct RequestReport {
    /// The session's id.
    pub(crate) session: String,
    /// Where the earlier one stands.
    pub(crate) before: Position,
    /// Where the later one stands.
    pub(crate) request: Position,
    /// The later one was not made.
    pub(crate) is_next: bool,
    /// What changed.
    pub(crate) changes: RequestChanges,
}

/// Write the changes for people.
pub(crate) fn request_text(report: &RequestReport, layout: &Layout, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(out, layout.width, layout.color, false);
    let next = if report.is_next { "next: " } else { "" };
    let words = format!("{next}{} against {}", named(report.request), named(report.before));
    page.sides(Line::of(Role::Title, &words), Line::of(Role::Dim, &report.session))?;
    let changes = &report.changes;
    if changes.is_empty() {
        return page.line(Line::of(Role::Good, "nothing changed"));
    }
    let single = |page: &mut Page<'_>, name: &str, changes: &[Change]| -> io::Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        page.blank()?;
        page.line(Line::of(Role::Warn, "~ ").with(Role::Strong, name))?;
        changes.iter().try_for_each(|change| place(page, layout, change))
    };
    single(&mut page, "config", &changes.config)?;
    single(&mut page, "system", &changes.system)?;
    for (name, list) in [("tool", &changes.tools), ("message", &changes.messages)] {
        if list.is_empty() {
            continue;
        }
        page.blank()?;
        page.line(
            Line::of(Role::Strong, &format!("{name}s")).with(Role::Dim, &format!("  {}", sizes(list))),
        )?;
        list.iter().try_for_each(|change| member(&mut page, layout, name, change))?;
    }
    Ok(())
}

/// One tool or message.
fn member(page: &mut Page<'_>, layout: &Layout, name: &str, change: &ListChange) -> io::Result<()> {
    let (sign, role) = match (change.a, change.b) {
        (Some(_), Some(_)) => ("~ ", Role::Warn),
        (Some(_), None) => ("- ", Role::Bad),
        _ => ("+ ", Role::Good),
    };
    let Ok(doc) = Doc::parse(change.value.as_str()) else { return Ok(()) };
    let root = doc.root();
    let text = |value: Option<Js<'_>>| value.and_then(Js::as_str).map(|text| text.to_lossy().into_owned());
    if name == "tool" {
        page.line(Line::of(role, sign).with(Role::Strong, &change.name))?;
    } else {
        let place = change.b.or(change.a).map_or(String::new(), |at| format!("  {at}  {}", change.name));
        let who = text(root.get("role")).unwrap_or_default();
        page.line(Line::of(role, sign).with(Role::Strong, &who).with(Role::Dim, &place))?;
        if change.changes.is_empty() {
            let fold = if layout.full { Fold::Whole } else { Fold::Head(MESSAGE_ROWS) };
            let indent = Line::of(Role::Plain, "    ");
            for block in root.get("content").into_iter().flat_map(Js::elements) {
                let words = match text(block.get("type")).as_deref() {
                    Some("tool-call") => format!(
                        "{}: {}",
                        text(block.get("name")).unwrap_or_default(),
                        text(block.get("arguments")).unwrap_or_default()
                    ),
                    _ => text(block.get("text")).unwrap_or_else(|| block.raw().to_owned()),
                };
                page.text(indent.clone(), &indent, role, &words, fold)?;
            }
        }
    }
    change.changes.iter().try_for_each(|change| place(page, layout, change))
}

/// `2 came, 1 went`.
fn sizes(list: &[ListChange]) -> String {
    let count = |is: fn(&ListChange) -> bool| list.iter().filter(|change| is(change)).count() as u64;
    let words = [
        (count(|change| change.a.is_none()), "new"),
        (count(|change| change.b.is_none()), "gone"),
        (count(|change| change.a.is_some() && change.b.is_some()), "changed"),
    ];
    let words: Vec<String> = words
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{} {words}", units::grouped(count)))
        .collect();
    words.join(", ")
}

fn named(position: Position) -> String {
    let Position { turn, step, attempt } = position;
    let attempt = if attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
    format!("turn {turn}, step {step}{attempt}")
}

/// `dshlog.request-diff/1`.
pub(crate) fn request_json(report: &RequestReport, out: &mut dyn Write) -> io::Result<()> {
    let mut document = Object::new("dshlog.request-diff/1");
    document.text("session", &report.session);
    for (name, position) in [("before", report.before), ("request", report.request)] {
        document.object(name, |object| {
            object.count("turn", position.turn);
            object.count("step", position.step);
            object.count("attempt", position.attempt);
        });
    }
    document.flag("isNext", report.is_next);
    let whole = |change: &Change, object: &mut Object| spots(change, true, object);
    let changes = &report.changes;
    document.flag("equal", changes.is_empty());
    document.array("config", &changes.config, whole);
    document.array("system", &changes.system, whole);
    for (name, list) in [("tools", &changes.tools), ("messages", &changes.messages)] {
        document.array(name, list, |change, object| {
            object.text("name", &change.name);
            object.count_or_null("a", change.a.map(|at| at as u64));
            object.count_or_null("b", change.b.map(|at| at as u64));
            object.array("changes", &change.changes, whole);
            object.raw("value", change.value.as_bytes());
        });
    }
    document.write_line(out)
}
