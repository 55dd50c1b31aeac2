//! Two texts, line by line, and within changed lines word by word.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// How long the shortest way is looked for; then a longer one does.
const PATIENCE: Duration = Duration::from_secs(1);

/// A row of two texts side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextRow {
    /// A line that both have.
    Same(String),
    /// A line that only the first one has.
    Gone(Vec<Piece>),
    /// A line that only the second one has.
    New(Vec<Piece>),
    /// So many lines that both have are left out.
    Left(usize),
}

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The text.
    pub text: String,
    /// True where the other text has something else.
    pub is_changed: bool,
}

/// The lines in which two texts differ, with `context` lines around them.
pub fn text_rows(a: &str, b: &str, context: usize) -> Vec<TextRow> {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(a, b);
    let total = diff.old_slices().len();
    let mut rows = Vec::new();
    let mut shown = 0;
    for group in diff.grouped_ops(context) {
        let from = group.first().map_or(shown, |op| op.old_range().start);
        if from > shown {
            rows.push(TextRow::Left(from - shown));
        }
        shown = group.last().map_or(shown, |op| op.old_range().end);
        for op in &group {
            for change in diff.iter_inline_changes(op) {
                let pieces = || {
                    let pieces = change.iter_strings_lossy();
                    pieces
                        .map(|(is_changed, text)| Piece {
                            text: text.trim_end_matches(['\r', '\n']).to_owned(),
                            is_changed,
                        })
                        .filter(|piece| !piece.text.is_empty())
                        .collect()
                };
                rows.push(match change.tag() {
                    ChangeTag::Equal => {
                        let line: String = change.iter_strings_lossy().map(|(_, text)| text).collect();
                        TextRow::Same(line.trim_end_matches(['\r', '\n']).to_owned())
                    }
                    ChangeTag::Delete => TextRow::Gone(pieces()),
                    ChangeTag::Insert => TextRow::New(pieces()),
                });
            }
        }
    }
    if total > shown {
        rows.push(TextRow::Left(total - shown));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows as text: ` ` same, `-`, `+`, changed pieces in brackets, `…n` left out.
    #[track_caller]
    fn check(a: &str, b: &str, context: usize, expected: &[&str]) {
        let line = |pieces: Vec<Piece>| -> String {
            let piece = |p: Piece| if p.is_changed { format!("[{}]", p.text) } else { p.text };
            pieces.into_iter().map(piece).collect()
        };
        let rows: Vec<String> = text_rows(a, b, context)
            .into_iter()
            .map(|row| match row {
                TextRow::Same(line) => format!(" {line}"),
                TextRow::Gone(pieces) => format!("-{}", line(pieces)),
                TextRow::New(pieces) => format!("+{}", line(pieces)),
                TextRow::Left(count) => format!("…{count}"),
            })
            .collect();
        assert_eq!(rows, expected);
    }

    #[test]
    fn rows() {
        check("a", "a", 3, &["…1"]);
        check("one two three", "one 2 three", 3, &["-one [two] three", "+one [2] three"]);
        check("a\nb\nc\nd\ne\n", "a\nb\nX\nd\ne\n", 1, &["…1", " b", "-[c]", "+[X]", " d", "…1"]);
        check("a\n", "a\nb\n", 0, &["…1", "+b"]);
        check("", "x", 1, &["+x"]);
        check("x\r\ny", "x\r\nz", 1, &[" x", "-y", "+z"]);
    }
}
