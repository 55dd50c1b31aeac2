//! The one door for text to people: lines of coloured pieces, wrapped to the width, with a margin for seqs.

use std::io::{self, Write};

use super::style::Role;
use super::text::{clip, lines, visible, width, wrap};

/// A line of pieces, all of them visible text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    pieces: Vec<(Role, String)>,
    width: usize,
}

impl Line {
    /// A line of one piece.
    pub(crate) fn of(role: Role, text: &str) -> Self {
        Line::default().with(role, text)
    }

    /// The same line with one more piece.
    #[must_use]
    pub(crate) fn with(mut self, role: Role, text: &str) -> Self {
        let text = visible(text);
        if !text.is_empty() {
            self.width += width(&text);
            match self.pieces.last_mut() {
                Some((last, before)) if *last == role => before.push_str(&text),
                _ => self.pieces.push((role, text.into_owned())),
            }
        }
        self
    }

    /// The same line with another one behind it.
    #[must_use]
    pub(crate) fn joined(mut self, other: Line) -> Self {
        for (role, text) in other.pieces {
            self = self.with(role, &text);
        }
        self
    }

    /// Its text, without roles.
    pub(crate) fn text(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// Columns it takes.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// True when nothing is in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The same line, cut to `columns`.
    #[must_use]
    fn clipped(self, columns: usize) -> Self {
        if self.width <= columns {
            return self;
        }
        let mut line = Line::default();
        for (role, text) in self.pieces {
            // Signs that join in a whole line may be wider apart, and leave no room.
            let room = columns.saturating_sub(line.width);
            let part = clip(&text, room);
            let cut = part.len() != text.len();
            line.width += width(&part);
            line.pieces.push((role, part.into_owned()));
            if cut {
                break;
            }
        }
        line
    }
}

/// How much of a text to show.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fold {
    /// All of it.
    Whole,
    /// The first rows.
    Head(usize),
    /// Some first and some last rows: where the reason of a failure stands.
    Ends(usize, usize),
}

impl Fold {
    /// First and last rows that are shown, when not all are.
    fn limits(self) -> Option<(usize, usize)> {
        match self {
            Fold::Whole => None,
            Fold::Head(head) => Some((head.max(1), 0)),
            Fold::Ends(head, tail) => Some((head.max(1), tail)),
        }
    }
}

/// Where lines go.
pub(crate) struct Page<'w> {
    out: &'w mut dyn Write,
    width: usize,
    color: bool,
    margin: usize,
    seq: Option<u64>,
}

/// Columns of the margin: seven digits and two blanks.
const MARGIN: usize = 9;

impl<'w> Page<'w> {
    /// A page of `width` columns, the margin included.
    pub(crate) fn new(out: &'w mut dyn Write, width: usize, color: bool, seqs: bool) -> Self {
        Page { out, width, color, margin: if seqs { MARGIN } else { 0 }, seq: None }
    }

    /// Columns for text.
    pub(crate) fn width(&self) -> usize {
        self.width.saturating_sub(self.margin).max(20)
    }

    /// The next line stands for this event.
    pub(crate) fn mark(&mut self, seq: u64) {
        self.seq = Some(seq);
    }

    /// Where it goes, for a line that keeps to no width.
    pub(crate) fn out(&mut self) -> &mut dyn Write {
        self.out
    }

    /// Hand over what is buffered.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// An empty line.
    pub(crate) fn blank(&mut self) -> io::Result<()> {
        self.out.write_all(b"\n")
    }

    /// One line; what does not fit is cut.
    pub(crate) fn line(&mut self, line: Line) -> io::Result<()> {
        if self.margin > 0 {
            let seq = self.seq.take().map(|seq| seq.to_string()).unwrap_or_default();
            let text = format!("{seq:>width$}  ", width = self.margin - 2);
            if seq.is_empty() {
                self.out.write_all(text.as_bytes())?;
            } else {
                self.piece(Role::Dim, &text)?;
            }
        }
        let mut line = line.clipped(self.width());
        while let Some((_, text)) = line.pieces.last_mut() {
            text.truncate(text.trim_end_matches(' ').len());
            if !text.is_empty() {
                break;
            }
            line.pieces.pop();
        }
        for (role, text) in line.pieces {
            self.piece(role, &text)?;
        }
        self.out.write_all(b"\n")
    }

    fn piece(&mut self, role: Role, text: &str) -> io::Result<()> {
        if self.color && role != Role::Plain {
            let style = role.style();
            write!(self.out, "{style}{text}{style:#}")
        } else {
            self.out.write_all(text.as_bytes())
        }
    }

    /// A line with something at its right end, or on a line of its own where both do not fit.
    pub(crate) fn sides(&mut self, left: Line, right: Line) -> io::Result<()> {
        self.spread(left, right, " ", Role::Plain)
    }

    /// A rule across the page: `── left ────── right ──`.
    pub(crate) fn rule(&mut self, left: Line, right: Line) -> io::Result<()> {
        let start = Line::of(Role::Dim, "── ").joined(left).with(Role::Dim, " ");
        let end = if right.is_empty() {
            right
        } else {
            Line::of(Role::Dim, " ").joined(right).with(Role::Dim, " ──")
        };
        self.spread(start, end, "─", Role::Dim)
    }

    fn spread(&mut self, left: Line, right: Line, fill: &str, role: Role) -> io::Result<()> {
        let width = self.width();
        if right.is_empty() && role == Role::Plain {
            return self.line(left);
        }
        let gap = usize::from(role == Role::Plain) * 2;
        if left.width + gap + right.width > width {
            let indent = " ".repeat(width.saturating_sub(right.width));
            self.line(left)?;
            return if right.is_empty() {
                Ok(())
            } else {
                self.line(Line::of(Role::Plain, &indent).joined(right))
            };
        }
        let space = fill.repeat(width - left.width - right.width);
        self.line(left.with(role, &space).joined(right))
    }

    /// Text of any length under a label. `first` leads the first row, `rest` all others; rows wrap. What is folded away
    /// is said in the last row.
    pub(crate) fn text(
        &mut self,
        first: Line,
        rest: &Line,
        role: Role,
        text: &str,
        fold: Fold,
    ) -> io::Result<()> {
        let room = self.width().saturating_sub(rest.width.max(first.width)).max(10);
        let mut lead = Some(first);
        let mut emit = |page: &mut Self, indent: usize, row: &str, role: Role| {
            let lead = lead.take().unwrap_or_else(|| rest.clone());
            page.line(lead.with(Role::Plain, &" ".repeat(indent)).with(role, row))
        };
        let Some((head, tail)) = fold.limits() else {
            if text.is_empty() {
                return emit(self, 0, "", role);
            }
            return lines(text).try_for_each(|line| {
                wrap(&visible(line), room).try_for_each(|(indent, row)| emit(self, indent, row, role))
            });
        };
        // One row beyond the fold is worth more than the note that says so.
        let most = head + tail + 1;
        let mut rows: Vec<(usize, usize, String)> = Vec::new();
        let mut is_whole = true;
        'all: for (number, line) in lines(text).enumerate() {
            for (indent, row) in wrap(&visible(line), room) {
                if rows.len() == most {
                    is_whole = false;
                    break 'all;
                }
                rows.push((number, indent, row.to_owned()));
            }
        }
        if rows.is_empty() {
            return emit(self, 0, "", role);
        }
        if is_whole {
            return rows.iter().try_for_each(|(_, indent, row)| emit(self, *indent, row, role));
        }
        rows[..head].iter().try_for_each(|(_, indent, row)| emit(self, *indent, row, role))?;
        let (last, is_cut) = (rows[head - 1].0, rows[head - 1].0 == rows[head].0);
        let total = lines(text).count();
        let kept = tail.min(total - 1 - last);
        let hidden = total - kept - last - usize::from(!is_cut);
        let words = if hidden == 1 && is_cut {
            let shown: usize = rows[..head].iter().filter(|row| row.0 == last).map(|row| row.2.len()).sum();
            let line = lines(text).nth(last).map_or(0, str::len);
            format!("… {} more", super::units::bytes(line.saturating_sub(shown) as u64))
        } else {
            format!("… {} more", super::units::count(hidden as u64, "line"))
        };
        if hidden > 0 {
            emit(self, 0, &words, Role::Dim)?;
        }
        lines(text).skip(total - kept).try_for_each(|line| emit(self, 0, &clip(&visible(line), room), role))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(
        width: usize,
        color: bool,
        seqs: bool,
        draw: impl FnOnce(&mut Page<'_>) -> io::Result<()>,
    ) -> String {
        let mut out = Vec::new();
        draw(&mut Page::new(&mut out, width, color, seqs)).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn right_ends_align_or_move_down() {
        let draw = |left: &str| {
            page(20, false, false, |p| p.sides(Line::of(Role::Plain, left), Line::of(Role::Dim, "0.2 s")))
        };
        assert_eq!(draw("bash"), "bash           0.2 s\n");
        assert_eq!(draw("a command this long"), "a command this long\n               0.2 s\n");
    }

    #[test]
    fn rules_fill_the_width() {
        let text = page(30, false, false, |p| {
            p.rule(Line::of(Role::Strong, "turn 1"), Line::of(Role::Dim, "13:00"))
        });
        assert_eq!(text, "── turn 1 ─────────── 13:00 ──\n");
    }

    #[test]
    fn the_margin_names_the_event_once() {
        let text = page(40, false, true, |p| {
            p.mark(12);
            p.text(
                Line::of(Role::You, "you "),
                &Line::of(Role::Plain, "    "),
                Role::Plain,
                "a\nb",
                Fold::Whole,
            )
        });
        assert_eq!(text, "     12  you a\n             b\n");
    }

    #[test]
    fn colour_goes_by_role_and_ends_with_the_piece() {
        let text = page(40, true, false, |p| p.line(Line::of(Role::Bad, "no").with(Role::Plain, " x")));
        assert_eq!(text, "\u{1b}[31mno\u{1b}[0m x\n");
    }

    #[test]
    fn folds_say_what_they_hide() {
        let draw = |text: &str, fold| {
            page(20, false, false, |p| p.text(Line::default(), &Line::default(), Role::Plain, text, fold))
        };
        assert_eq!(draw("1\n2\n3\n4\n5", Fold::Head(2)), "1\n2\n… 3 lines more\n");
        assert_eq!(draw("1\n2\n3", Fold::Head(2)), "1\n2\n3\n");
        assert_eq!(draw("1\n2\n3\n4\n5", Fold::Ends(1, 2)), "1\n… 2 lines more\n4\n5\n");
        assert_eq!(draw("1\n2\n3\n4", Fold::Ends(1, 2)), "1\n2\n3\n4\n");
        assert_eq!(draw(&"x".repeat(100), Fold::Head(2)), format!("{0}\n{0}\n… 60 B more\n", "x".repeat(20)));
        assert_eq!(draw(&"x".repeat(100), Fold::Ends(1, 1)), format!("{0}\n… 80 B more\n", "x".repeat(20)));
        let cut = format!("{}\nlast", "x".repeat(100));
        assert_eq!(draw(&cut, Fold::Ends(1, 1)), format!("{0}\n… 80 B more\nlast\n", "x".repeat(20)));
        assert_eq!(draw("", Fold::Head(2)), "\n");
    }
}
