//! Columns for people.

use std::io::{self, Write};

use super::page::{Line, Page};
use super::style::Role;
use super::text::{clip, clip_start, visible, width};

/// One field.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    role: Role,
    text: String,
    right: bool,
    /// The end tells more than the beginning.
    end: bool,
}

impl Cell {
    /// Text whose end is kept where not all fits, such as a path.
    pub(crate) fn end(role: Role, text: impl Into<String>) -> Self {
        Cell { end: true, ..Cell::left(role, text) }
    }

    /// Text, flush left.
    pub(crate) fn left(role: Role, text: impl Into<String>) -> Self {
        Cell { role, text: visible(&text.into()).into_owned(), right: false, end: false }
    }

    /// A number, flush right.
    pub(crate) fn right(role: Role, text: impl Into<String>) -> Self {
        Cell { right: true, ..Cell::left(role, text) }
    }
}

/// Rows under heads; the widest columns give way where a row does not fit.
#[derive(Debug)]
pub(crate) struct Table {
    heads: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

/// Columns between two fields.
const GAP: usize = 2;
/// No field is cut below this.
const LEAST: usize = 8;

impl Table {
    /// A table with these heads.
    pub(crate) fn new(heads: &[&'static str]) -> Self {
        Table { heads: heads.to_vec(), rows: Vec::new() }
    }

    /// One more row, of as many cells as there are heads.
    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Write it.
    pub(crate) fn write(&self, out: &mut dyn Write, columns: usize, color: bool) -> io::Result<()> {
        let mut widths: Vec<usize> = self.heads.iter().map(|head| width(head)).collect();
        for row in &self.rows {
            for (at, cell) in row.iter().enumerate() {
                widths[at] = widths[at].max(width(&cell.text));
            }
        }
        shrink(&mut widths, columns.saturating_sub(GAP * (self.heads.len().saturating_sub(1))));
        let mut page = Page::new(out, columns, color, false);
        let heads: Vec<Cell> = (0..self.heads.len())
            .map(|at| Cell {
                role: Role::Dim,
                text: self.heads[at].to_owned(),
                right: self.rows.first().is_some_and(|row| row[at].right),
                end: false,
            })
            .collect();
        std::iter::once(&heads).chain(&self.rows).try_for_each(|row| page.line(line(row, &widths)))
    }
}

fn line(row: &[Cell], widths: &[usize]) -> Line {
    let mut line = Line::default();
    let mut owed = 0;
    for (cell, columns) in row.iter().zip(widths) {
        let text = if cell.end { clip_start(&cell.text, *columns) } else { clip(&cell.text, *columns) };
        let pad = columns - width(&text);
        let before = owed + if cell.right { pad } else { 0 };
        if text.is_empty() {
            owed = before;
        } else {
            line = line.with(Role::Plain, &" ".repeat(before)).with(cell.role, &text);
            owed = 0;
        }
        owed += GAP + if cell.right { 0 } else { pad };
    }
    line
}

/// Take from the widest columns until all fit.
fn shrink(widths: &mut [usize], room: usize) {
    while widths.iter().sum::<usize>() > room {
        let Some(widest) = widths.iter_mut().max().filter(|widest| **widest > LEAST) else { break };
        *widest -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_column_gives_way() {
        let mut table = Table::new(&["ID", "TITLE", "SIZE"]);
        table.row(vec![
            Cell::left(Role::Plain, "a1"),
            Cell::left(Role::Plain, "a title that is too long"),
            Cell::right(Role::Plain, "9 B"),
        ]);
        table.row(vec![
            Cell::left(Role::Plain, "b2"),
            Cell::left(Role::Plain, ""),
            Cell::right(Role::Plain, "12 KB"),
        ]);
        let mut out = Vec::new();
        table.write(&mut out, 30, false).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "ID  TITLE                 SIZE\na1  a title that is to…    9 B\nb2                       12 KB\n"
        );
    }
}
