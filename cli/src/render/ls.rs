//! The list of sessions.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::PathBuf;

use dshlog_codec::Header;
use dshlog_replay::lineage::{Origin, Relation};
use jiff::tz::TimeZone;

use super::json::Object;
use super::page::{Fold, Line, Page};
use super::style::Role;
use super::table::{Cell, Table};
use super::text::one_line;
use super::units;
use crate::args::Column;
use crate::transcript::Summary;

/// One session.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The log that stands for it.
    pub(crate) path: PathBuf,
    /// As stored.
    pub(crate) header: Header,
    /// Of that log; `sqlite` in a store.
    pub(crate) encoding: &'static str,
    /// All generations that are there, oldest first.
    pub(crate) generations: Vec<u64>,
    /// Bytes of that log.
    pub(crate) size: u64,
    /// When it was last written.
    pub(crate) modified: Option<i64>,
    /// In single words.
    pub(crate) state: Vec<&'static str>,
    /// What the log holds, when it was read.
    pub(crate) summary: Option<Summary>,
    /// Where it began, when it was read.
    pub(crate) origin: Option<Origin>,
    /// Where it stands in its tree, when trees were asked for.
    pub(crate) standing: Option<Standing>,
}

/// The place of a session in its tree.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    /// For each level, its own last: whether more siblings follow there.
    pub(crate) branches: Vec<bool>,
    /// Why it stands at the top though it names a parent.
    pub(crate) alone: Option<Alone>,
}

/// Why a session is not below its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alone {
    /// The home has no such session.
    Missing,
    /// The parent was filtered out, or cannot be read.
    NotListed,
    /// It is an ancestor of itself.
    Ring,
}

impl Alone {
    /// The word for programs.
    fn name(self) -> &'static str {
        match self {
            Alone::Missing => "missing",
            Alone::NotListed => "not-listed",
            Alone::Ring => "ring",
        }
    }
}

/// How to show the table.
pub(crate) struct Look<'a> {
    /// Columns to fill.
    pub(crate) width: usize,
    /// Colours.
    pub(crate) color: bool,
    /// ASCII only.
    pub(crate) ascii: bool,
    /// Time zone of the reader.
    pub(crate) zone: &'a TimeZone,
    /// The present.
    pub(crate) now: i64,
}

/// Something that could not be listed.
#[derive(Clone, Debug)]
pub(crate) struct Broken {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// The code of the reason: that of a fault, or one of `docs/output.md`.
    pub(crate) code: &'static str,
    /// Why.
    pub(crate) reason: String,
}

impl Broken {
    /// The document `dshlog.skipped/1`.
    pub(crate) fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut document = Object::new("dshlog.skipped/1");
        document.path("path", Some(&self.path));
        document.text("code", self.code);
        document.text("reason", &self.reason);
        document.write_line(out)
    }
}

/// The table.
pub(crate) fn table(
    rows: &[Row],
    columns: &[Column],
    out: &mut dyn Write,
    look: &Look<'_>,
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let heads: Vec<&str> = columns.iter().map(|column| head(*column)).collect();
    let mut table = Table::new(&heads);
    let id_length = id_length(rows.iter().map(|row| row.header.id.to_lossy()));
    let this_year = units::moment(look.now, look.zone, "%Y");
    let show = Show { zone: look.zone, this_year, id_length, ascii: look.ascii };
    for row in rows {
        table.row(columns.iter().map(|column| show.cell(row, *column)).collect());
    }
    table.write(out, look.width, look.color)
}

/// What could not be listed, below the table.
pub(crate) fn broken_table(
    broken: &[Broken],
    out: &mut dyn Write,
    width: usize,
    color: bool,
) -> io::Result<()> {
    let mut page = Page::new(out, width, color, false);
    for found in broken {
        let rest = Line::of(Role::Plain, "  ");
        // Whole, whatever the width: it is to be copied.
        let path = Line::of(Role::Warn, &found.path.to_string_lossy());
        Page::new(page.out(), path.width(), color, false).line(path)?;
        page.text(rest.clone(), &rest, Role::Plain, &found.reason, Fold::Whole)?;
    }
    Ok(())
}

fn head(column: Column) -> &'static str {
    match column {
        Column::Id => "ID",
        Column::Title => "TITLE",
        Column::Project => "PROJECT",
        Column::Created => "CREATED",
        Column::Modified => "MODIFIED",
        Column::Size => "SIZE",
        Column::Generation => "GEN",
        Column::Encoding => "ENC",
        Column::Parent => "PARENT",
        Column::Relation => "RELATION",
        Column::State => "STATE",
        Column::Last => "LAST EVENT",
        Column::Turns => "TURNS",
        Column::Events => "EVENTS",
        Column::Tokens => "TOKENS",
        Column::Path => "PATH",
    }
}

struct Show<'a> {
    zone: &'a TimeZone,
    this_year: String,
    id_length: usize,
    ascii: bool,
}

impl Show<'_> {
    fn time(&self, millis: i64) -> String {
        let year = units::moment(millis, self.zone, "%Y");
        units::moment(millis, self.zone, if year == self.this_year { "%d %b %H:%M" } else { "%d %b %Y" })
    }

    fn cell(&self, row: &Row, column: Column) -> Cell {
        let header = &row.header;
        let summary = row.summary.as_ref();
        let count =
            |number: Option<u64>| Cell::right(Role::Plain, number.map(units::grouped).unwrap_or_default());
        match column {
            Column::Id => {
                let branches = row.standing.as_ref().map_or(&[][..], |standing| &standing.branches);
                let id = short(&header.id.to_lossy(), self.id_length);
                Cell::left(Role::Strong, tree_lines(branches, self.ascii) + &id)
            }
            Column::Title => {
                let title = summary.and_then(|summary| summary.title.as_deref()).map(one_line);
                Cell::left(Role::Plain, title.unwrap_or_default())
            }
            Column::Project => Cell::end(
                Role::Plain,
                header.cwd.as_ref().map(|cwd| cwd.to_lossy().into_owned()).unwrap_or_default(),
            ),
            Column::Created => {
                Cell::left(Role::Dim, self.time(i64::try_from(header.created_at).unwrap_or(i64::MAX)))
            }
            Column::Modified => {
                Cell::left(Role::Plain, row.modified.map(|time| self.time(time)).unwrap_or_default())
            }
            Column::Size => Cell::right(Role::Plain, units::bytes(row.size)),
            Column::Generation => {
                let names: Vec<String> =
                    row.generations.iter().rev().map(|number| format!("V{number}")).collect();
                Cell::left(Role::Plain, names.join(" "))
            }
            Column::Encoding => Cell::left(Role::Dim, row.encoding),
            Column::Parent => {
                let parent =
                    header.parent_session.as_ref().map(|parent| short(&parent.to_lossy(), self.id_length));
                Cell::left(Role::Dim, parent.unwrap_or_default())
            }
            Column::Relation => Self::relation(row),
            Column::State => Cell::left(Role::Warn, row.state.join(" ")),
            Column::Last => Cell::left(
                Role::Plain,
                summary.and_then(|s| s.last).map(|time| self.time(time)).unwrap_or_default(),
            ),
            Column::Turns => count(summary.map(|summary| summary.turns)),
            Column::Events => count(summary.map(|summary| summary.events)),
            Column::Tokens => {
                let tokens = summary
                    .map(|s| units::tokens(s.meter.total().sent() + s.meter.total().output))
                    .unwrap_or_default();
                Cell::right(Role::Plain, tokens)
            }
            Column::Path => Cell::end(Role::Plain, row.path.to_string_lossy()),
        }
    }
}

impl Show<'_> {
    /// `fork at 41`, `subagent one-shot at 41 “label”`; why it stands alone when it should not.
    fn relation(row: &Row) -> Cell {
        let relation = Relation::of(&row.header);
        let mut words = vec![match relation {
            Relation::Root => String::new(),
            _ => relation.name().to_owned(),
        }];
        if let Some(origin) = &row.origin {
            words.extend(origin.mode.as_deref().map(one_line));
            words.extend(origin.cut.checked_sub(1).map(|last| format!("at {last}")));
            words.extend(origin.label.as_deref().map(|label| format!("“{}”", one_line(label))));
        }
        let alone = row.standing.as_ref().and_then(|standing| standing.alone);
        words.extend(alone.map(|alone| match alone {
            Alone::Missing => "(parent missing)".to_owned(),
            Alone::NotListed => "(parent not listed)".to_owned(),
            Alone::Ring => "(its own ancestor)".to_owned(),
        }));
        let is_fault = matches!(alone, Some(Alone::Missing | Alone::Ring));
        Cell::left(if is_fault { Role::Warn } else { Role::Dim }, words.join(" ").trim())
    }
}

/// Levels that are drawn; deeper ones are counted.
const DEEPEST: usize = 8;

/// The lines of the tree in front of a session.
fn tree_lines(branches: &[bool], ascii: bool) -> String {
    let [more, last, on, none] =
        if ascii { ["|- ", "`- ", "|  ", "   "] } else { ["├─ ", "└─ ", "│  ", "   "] };
    let Some((own, above)) = branches.split_last() else { return String::new() };
    let own = if *own { more } else { last };
    if branches.len() > DEEPEST {
        return format!("{} levels {own}", branches.len());
    }
    above.iter().map(|follows| if *follows { on } else { none }).chain([own]).collect()
}

/// Characters of a random id that tell sessions apart, and those to fall back to.
pub(crate) const SHORT: usize = 8;
const LONGER: usize = 13;

/// How much of an id tells these sessions apart.
pub(crate) fn id_length<'a>(ids: impl Iterator<Item = Cow<'a, str>>) -> usize {
    let mut seen = HashSet::new();
    let mut ids = ids;
    if ids.all(|id| seen.insert(short(&id, SHORT))) { SHORT } else { LONGER }
}

/// Enough of an id to name the session by it: ids of dsh are random from their first digit on.
pub(crate) fn short(id: &str, length: usize) -> String {
    let id = id.strip_prefix("session-").unwrap_or(id);
    match id.char_indices().nth(length) {
        Some((end, _)) if id.chars().all(|c| c.is_ascii_hexdigit() || c == '-') => id[..end].to_owned(),
        _ => id.to_owned(),
    }
}

/// The document `dshlog.listed/1`.
pub(crate) fn json(row: &Row, out: &mut dyn Write) -> io::Result<()> {
    let header = &row.header;
    let text = |value: &Option<dshlog_codec::json::JsString>| {
        value.as_ref().map(|text| text.to_lossy().into_owned())
    };
    let mut document = Object::new("dshlog.listed/1");
    document.text("id", &header.id.to_lossy());
    document.path("path", Some(&row.path));
    document.text_or_null("cwd", text(&header.cwd).as_deref());
    document.count("createdAt", header.created_at);
    document.millis_or_null("modifiedAt", row.modified);
    document.count("bytes", row.size);
    document.count("storedVersion", header.version.0);
    document.counts("generations", row.generations.iter().copied());
    document.text("encoding", row.encoding);
    document.text_or_null("parentSession", text(&header.parent_session).as_deref());
    document.flag("isSeeded", header.is_seeded);
    document.flag("isSubagent", header.is_subagent);
    document.text_or_null("agentPreset", text(&header.agent_preset).as_deref());
    let state: Vec<String> = row.state.iter().map(|word| format!("\"{word}\"")).collect();
    document.raw("state", format!("[{}]", state.join(",")).as_bytes());
    if let Some(standing) = &row.standing {
        let origin = row.origin.as_ref();
        document.text("relation", Relation::of(header).name());
        document.count("depth", standing.branches.len() as u64);
        document.text_or_null("alone", standing.alone.map(Alone::name));
        document.count_or_null("cut", origin.map(|origin| origin.cut));
        document.text_or_null("mode", origin.and_then(|origin| origin.mode.as_deref()));
        document.text_or_null("label", origin.and_then(|origin| origin.label.as_deref()));
    }
    if let Some(summary) = &row.summary {
        document.text_or_null("title", summary.title.as_deref());
        document.text_or_null("model", summary.model.as_deref());
        document.millis_or_null("lastEventAt", summary.last);
        document.count("turns", summary.turns);
        document.count("requests", summary.requests);
        document.count("events", summary.events);
        let usage = summary.meter.total();
        document.object("tokens", |tokens| {
            tokens.count("input", usage.input);
            tokens.count("cacheRead", usage.cached);
            tokens.count("cacheWrite", usage.written);
            tokens.count("output", usage.output);
        });
    }
    document.write_line(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_drawn_to_a_depth() {
        for (branches, ascii, expected) in [
            (&[][..], false, ""),
            (&[true], false, "├─ "),
            (&[true, false, false], false, "│     └─ "),
            (&[true, true], true, "|  |- "),
            (&[false; 9], false, "9 levels └─ "),
        ] {
            assert_eq!(tree_lines(branches, ascii), expected);
        }
    }

    #[test]
    fn ids_are_short_when_they_are_random() {
        for (id, expected) in [
            ("session-b9f4b8bb-c054-45b0-899a-089e14b735a6", "b9f4b8bb"),
            ("12a98844-2687-4c3d-bf2a-2d32e10315ea", "12a98844"),
            ("session-my-own-name-of-it", "my-own-name-of-it"),
            ("x", "x"),
        ] {
            assert_eq!(short(id, SHORT), expected);
        }
    }
}
