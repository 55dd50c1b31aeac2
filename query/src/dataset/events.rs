//! The table `events`: every event as V4 has it.

use dshlog_codec::json::{Js, print};
use dshlog_codec::pack::Ranges;
use dshlog_codec::{Event, Generation};

use super::table::{Cell, Column, Kind, Table};
use super::{Facts, Standing};

pub(super) const EVENTS: Table = Table { name: "events", is_partitioned: true, columns: &COLUMNS };

const COLUMNS: [Column; 21] = [
    Column::of("session", Kind::Text),
    Column::of("seq", Kind::Number),
    Column::of("type", Kind::Text),
    Column::of("time", Kind::Time),
    Column::of("turn", Kind::Number).optional(),
    Column::of("step", Kind::Number).optional(),
    Column::of("payload", Kind::Text).optional().long(),
    Column::of("surface_op", Kind::Text).optional(),
    Column::of("replace_start", Kind::Number).optional(),
    Column::of("replace_end", Kind::Number).optional(),
    Column::of("source_seqs", Kind::Ranges).optional(),
    Column::of("is_ignorable", Kind::Flag),
    Column::of("is_inherited", Kind::Flag),
    Column::of("cwd", Kind::Text).optional(),
    Column::of("parent", Kind::Text).optional(),
    Column::of("generation", Kind::Number),
    Column::of("path", Kind::Text),
    Column::of("entry", Kind::Text).optional(),
    Column::of("frame", Kind::Number).optional(),
    Column::of("line", Kind::Number),
    Column::of("byte", Kind::Number),
];

/// Parts of an event that are texts of their own in the table.
#[derive(Debug, Default)]
pub(super) struct Printed {
    kind: String,
    payload: String,
}

impl Printed {
    /// The payload is printed as dsh prints it, in which half a surrogate pair is an escape; so it is Unicode.
    pub(super) fn new(event: &Event<'_>) -> Self {
        let mut payload = Vec::new();
        if let Some(data) = event.data {
            print(&mut payload, data);
        }
        let payload = String::from_utf8(payload)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        Printed { kind: event.kind.to_lossy().into_owned(), payload }
    }
}

/// The row of an event.
pub(super) fn row<'a>(
    log: &'a Facts,
    event: &Event<'_>,
    standing: Standing,
    printed: &'a Printed,
) -> [Cell<'a>; COLUMNS.len()] {
    let op = event.surface_op();
    let replaced = |name| op.and_then(|op| op.get(name)).and_then(Js::as_count);
    let op = op.map(|op| if op.is("append") { "append" } else { "replace" });
    let sources = event.source_seqs().and_then(|list| Ranges::decode(list, event.seq.0, Generation(0)).ok());
    let place = event.place;
    [
        Cell::text(&log.id),
        Cell::count(event.seq.0),
        Cell::text(&printed.kind),
        Cell::Time(Some(event.time.0)),
        Cell::count_or_null(standing.turn),
        Cell::count_or_null(standing.step),
        Cell::Text(event.data.map(|_| printed.payload.as_str())),
        Cell::Text(op),
        Cell::count_or_null(replaced("startSeq")),
        Cell::count_or_null(replaced("endSeq")),
        Cell::Ranges(sources.map(|sources| sources.spans().collect())),
        Cell::Flag(event.ignorable),
        Cell::Flag(standing.is_inherited),
        Cell::text_or_null(log.cwd.as_ref()),
        Cell::text_or_null(log.parent.as_ref()),
        Cell::count(log.generation),
        Cell::text(&log.path),
        Cell::text_or_null(log.entry.as_ref()),
        Cell::count_or_null((place.frame > 0).then_some(place.frame)),
        Cell::count(place.line),
        Cell::count(place.byte),
    ]
}
