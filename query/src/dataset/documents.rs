//! The table `documents`: every text that search finds.

use super::Facts;
use super::table::{Cell, Column, Kind, Table};
use crate::document::Document;

pub(super) const DOCUMENTS: Table = Table { name: "documents", is_partitioned: true, columns: &COLUMNS };

const COLUMNS: [Column; 24] = [
    Column::of("session", Kind::Text),
    Column::of("seq", Kind::Number),
    Column::of("nth", Kind::Number),
    Column::of("part", Kind::Text),
    Column::of("role", Kind::Text),
    Column::of("time", Kind::Time),
    Column::of("turn", Kind::Number).optional(),
    Column::of("step", Kind::Number).optional(),
    Column::of("tool", Kind::Text).optional(),
    Column::of("model", Kind::Text).optional(),
    Column::of("is_error", Kind::Flag),
    Column::of("has_image", Kind::Flag),
    Column::of("has_file", Kind::Flag),
    Column::of("is_inherited", Kind::Flag),
    Column::of("text", Kind::Text).long(),
    Column::of("cwd", Kind::Text).optional(),
    Column::of("created", Kind::Time),
    Column::of("parent", Kind::Text).optional(),
    Column::of("is_seeded", Kind::Flag),
    Column::of("is_subagent", Kind::Flag),
    Column::of("preset", Kind::Text).optional(),
    Column::of("generation", Kind::Number),
    Column::of("path", Kind::Text),
    Column::of("entry", Kind::Text).optional(),
];

/// The row of a document.
pub(super) fn row<'a>(log: &'a Facts, document: &'a Document) -> [Cell<'a>; COLUMNS.len()] {
    [
        Cell::text(&log.id),
        Cell::count(document.seq.0),
        Cell::count(document.nth.into()),
        Cell::text(document.part.name()),
        Cell::text(document.part.role().name()),
        Cell::Time(Some(document.time.0)),
        Cell::count_or_null(document.turn),
        Cell::count_or_null(document.step),
        Cell::text_or_null(document.tool.as_ref()),
        Cell::text_or_null(document.model.as_ref()),
        Cell::Flag(document.is_error),
        Cell::Flag(document.has_image),
        Cell::Flag(document.has_file),
        Cell::Flag(document.is_inherited),
        Cell::text(&document.text),
        Cell::text_or_null(log.cwd.as_ref()),
        Cell::Time(Some(log.created)),
        Cell::text_or_null(log.parent.as_ref()),
        Cell::Flag(log.is_seeded),
        Cell::Flag(log.is_subagent),
        Cell::text_or_null(log.preset.as_ref()),
        Cell::count(log.generation),
        Cell::text(&log.path),
        Cell::text_or_null(log.entry.as_ref()),
    ]
}
