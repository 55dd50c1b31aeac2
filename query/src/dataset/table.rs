//! Tables as data: names and types of columns, and the values of one row. Nothing here knows a file format.

use std::ops::RangeInclusive;

/// A table.
#[derive(Debug)]
pub(super) struct Table {
    /// Its name, and that of its folder.
    pub(super) name: &'static str,
    /// Split by project and day.
    pub(super) is_partitioned: bool,
    /// Its columns, in order.
    pub(super) columns: &'static [Column],
}

/// A column.
#[derive(Debug)]
pub(super) struct Column {
    /// Its name.
    pub(super) name: &'static str,
    /// What it holds.
    pub(super) kind: Kind,
    /// It may be null.
    pub(super) is_optional: bool,
    /// Its values are long and seldom alike.
    pub(super) is_long: bool,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Unicode text.
    Text,
    /// A count, or a number: signed, 64 bits, which every engine has.
    Number,
    /// Epoch milliseconds.
    Time,
    /// True or false.
    Flag,
    /// A list of `first`, `last`.
    Ranges,
}

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Cell<'a> {
    /// Of [`Kind::Text`].
    Text(Option<&'a str>),
    /// Of [`Kind::Number`].
    Number(Option<i64>),
    /// Of [`Kind::Time`].
    Time(Option<i64>),
    /// Of [`Kind::Flag`].
    Flag(bool),
    /// Of [`Kind::Ranges`].
    Ranges(Option<Vec<RangeInclusive<u64>>>),
}

impl Column {
    /// A column that has a value in each row.
    pub(super) const fn of(name: &'static str, kind: Kind) -> Column {
        Column { name, kind, is_optional: false, is_long: false }
    }

    /// May be null.
    pub(super) const fn optional(mut self) -> Column {
        self.is_optional = true;
        self
    }

    /// With long values.
    pub(super) const fn long(mut self) -> Column {
        self.is_long = true;
        self
    }
}

impl<'a> Cell<'a> {
    /// A text.
    pub(super) fn text(text: &'a str) -> Self {
        Cell::Text(Some(text))
    }

    /// A text or null.
    pub(super) fn text_or_null(text: Option<&'a String>) -> Self {
        Cell::Text(text.map(String::as_str))
    }

    /// A count. Those of logs are safe integers of JavaScript.
    pub(super) fn count(count: u64) -> Self {
        Cell::Number(Some(i64::try_from(count).unwrap_or(i64::MAX)))
    }

    /// A count or null.
    pub(super) fn count_or_null(count: Option<u64>) -> Self {
        count.map_or(Cell::Number(None), Cell::count)
    }

    /// Bytes that it takes in memory, roughly.
    pub(super) fn size(&self) -> usize {
        match self {
            Cell::Text(text) => 8 + text.map_or(0, str::len),
            Cell::Number(_) | Cell::Time(_) => 8,
            Cell::Flag(_) => 1,
            Cell::Ranges(ranges) => 8 + ranges.as_ref().map_or(0, |ranges| 16 * ranges.len()),
        }
    }
}
