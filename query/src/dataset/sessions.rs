//! The tables `sessions`, with what is known of each as a whole, and `replaced`, with what left the surface.

use super::table::{Cell, Column, Kind, Table};
use super::{Facts, Tail};
use crate::corpus::Replaced;

pub(super) const SESSIONS: Table =
    Table { name: "sessions", is_partitioned: false, columns: &SESSION_COLUMNS };

const SESSION_COLUMNS: [Column; 18] = [
    Column::of("session", Kind::Text),
    Column::of("project", Kind::Text),
    Column::of("cwd", Kind::Text).optional(),
    Column::of("title", Kind::Text).optional(),
    Column::of("created", Kind::Time),
    Column::of("last", Kind::Time).optional(),
    Column::of("parent", Kind::Text).optional(),
    Column::of("is_seeded", Kind::Flag),
    Column::of("is_subagent", Kind::Flag),
    Column::of("preset", Kind::Text).optional(),
    Column::of("generation", Kind::Number),
    Column::of("path", Kind::Text),
    Column::of("entry", Kind::Text).optional(),
    Column::of("inherited", Kind::Number),
    Column::of("events", Kind::Number),
    Column::of("documents", Kind::Number),
    Column::of("soundness", Kind::Text),
    Column::of("fault", Kind::Text).optional(),
];

/// The row of a session.
pub(super) fn session_row<'a>(log: &'a Facts, tail: &'a Tail) -> [Cell<'a>; SESSION_COLUMNS.len()] {
    [
        Cell::text(&log.id),
        Cell::text(&log.project),
        Cell::text_or_null(log.cwd.as_ref()),
        Cell::text_or_null(tail.title.as_ref()),
        Cell::Time(Some(log.created)),
        Cell::Time(tail.last),
        Cell::text_or_null(log.parent.as_ref()),
        Cell::Flag(log.is_seeded),
        Cell::Flag(log.is_subagent),
        Cell::text_or_null(log.preset.as_ref()),
        Cell::count(log.generation),
        Cell::text(&log.path),
        Cell::text_or_null(log.entry.as_ref()),
        Cell::count(tail.inherited),
        Cell::count(tail.events),
        Cell::count(tail.documents),
        Cell::text(tail.soundness.name()),
        Cell::Text(tail.soundness.reason()),
    ]
}

pub(super) const REPLACED: Table =
    Table { name: "replaced", is_partitioned: false, columns: &REPLACED_COLUMNS };

const REPLACED_COLUMNS: [Column; 3] =
    [Column::of("session", Kind::Text), Column::of("seq", Kind::Number), Column::of("by", Kind::Number)];

/// The row of an event that left the surface.
pub(super) fn replaced_row<'a>(log: &'a Facts, replaced: &Replaced) -> [Cell<'a>; REPLACED_COLUMNS.len()] {
    [Cell::text(&log.id), Cell::count(replaced.seq.0), Cell::count(replaced.by.0)]
}
