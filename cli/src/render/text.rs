//! Foreign text on its way to a terminal: nothing in it may act on the terminal, and it must not be wider than we think.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_segmentation::UnicodeSegmentation as _;
use unicode_width::UnicodeWidthStr as _;

/// The text of one line with everything made visible that would act on a terminal or hide from the eye: control
/// characters, escape sequences, direction overrides, invisible characters. Tabs become four spaces.
pub(crate) fn visible(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || !text.chars().any(acts) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\t' => shown.push_str("    "),
            '\n' => shown.push_str("\\n"),
            '\r' => shown.push_str("\\r"),
            c if acts(c) && (c as u32) < 0x100 => drop(write!(shown, "\\x{:02x}", c as u32)),
            c if acts(c) => drop(write!(shown, "\\u{{{:x}}}", c as u32)),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// The same for a text of many lines in a document: line ends and tabs stay, `\r\n` becomes `\n`.
pub(crate) fn visible_block(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| matches!(c, '\n' | '\t') || !acts(c);
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) || text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for line in text.split_inclusive('\n') {
        let (line, end) = match (line.strip_suffix("\r\n"), line.strip_suffix('\n')) {
            (Some(line), _) | (None, Some(line)) => (line, "\n"),
            (None, None) => (line, ""),
        };
        for (number, part) in line.split('\t').enumerate() {
            if number > 0 {
                shown.push('\t');
            }
            shown.push_str(&visible(part));
        }
        shown.push_str(end);
    }
    Cow::Owned(shown)
}

/// True for characters that are never printed as they are.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Columns that visible text takes.
pub(crate) fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

/// The lines of a text, as people count them: `\n` and `\r\n` end a line, and a final one starts none.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
}

/// One line out of many: line ends and runs of blanks become one space.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len().min(400));
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// Visible text cut to `columns`, with an ellipsis when something is missing.
pub(crate) fn clip(text: &str, columns: usize) -> Cow<'_, str> {
    // No grapheme is wider than its bytes are many, so short text needs no measuring.
    if text.len() <= columns || width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut end = 0;
    let mut used = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        used += width(grapheme);
        if used + 1 > columns {
            break;
        }
        end = at + grapheme.len();
    }
    Cow::Owned(format!("{}…", text[..end].trim_end()))
}

/// Visible text cut to its last `columns`.
pub(crate) fn clip_start(text: &str, columns: usize) -> Cow<'_, str> {
    if width(text) <= columns {
        return Cow::Borrowed(text);
    }
    let mut start = text.len();
    let mut used = 0;
    for (at, grapheme) in text.grapheme_indices(true).rev() {
        used += width(grapheme);
        if used + 1 > columns {
            break;
        }
        start = at;
    }
    Cow::Owned(format!("…{}", &text[start..]))
}

/// Rows of at most `columns` for one line of visible text. Breaks after blanks and between wide characters, else within
/// a word; what follows a break is indented like the line itself.
pub(crate) fn wrap(line: &str, columns: usize) -> Wrap<'_> {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let columns = columns.max(2);
    // A wide character must fit behind it.
    let indent = indent.min(columns / 2).min(columns - 2);
    Wrap { rest: Some(line), columns, indent, first: true }
}

/// Iterator of [`wrap`]: blanks to put before the row, and the row.
pub(crate) struct Wrap<'a> {
    rest: Option<&'a str>,
    columns: usize,
    indent: usize,
    first: bool,
}

impl<'a> Iterator for Wrap<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.rest.take()?;
        let indent = if std::mem::take(&mut self.first) { 0 } else { self.indent };
        let room = self.columns - indent;
        // Most text is plain, and needs no tables.
        if rest.as_bytes()[..rest.len().min(room + 1)].is_ascii() {
            let end = ascii_break(rest.as_bytes(), room);
            self.rest = Some(rest[end..].trim_start_matches(' ')).filter(|next| !next.is_empty());
            return Some((indent, rest[..end].trim_end_matches(' ')));
        }
        let mut used = 0;
        let mut break_at = 0;
        let mut soft_at = 0;
        let mut wide_before = false;
        let mut inked = false;
        for (at, grapheme) in rest.grapheme_indices(true) {
            let columns = width(grapheme);
            let blank = grapheme == " ";
            let wide = columns > 1;
            if at > 0 && inked && (wide || wide_before) && !is_closing(grapheme) {
                break_at = at;
            }
            if used + columns > room && at > 0 {
                if blank {
                    // The blank itself may hang over.
                    break_at = at;
                }
                let end = match (break_at, soft_at) {
                    (0, 0) => at,
                    (0, soft) => soft,
                    (hard, _) => hard,
                };
                self.rest = Some(rest[end..].trim_start_matches(' ')).filter(|next| !next.is_empty());
                return Some((indent, rest[..end].trim_end_matches(' ')));
            }
            used += columns;
            inked |= !blank;
            if blank && inked {
                break_at = at + 1;
            }
            // Long words, as of paths and JSON, break where a reader would pause.
            if matches!(grapheme.as_bytes(), [byte] if SOFT.contains(byte)) {
                soft_at = at + 1;
            }
            wide_before = wide;
        }
        Some((indent, rest.trim_end_matches(' ')))
    }
}

/// Where long words break.
const SOFT: &[u8] = b",;/&?";

/// The end of the first row of a text whose first `room + 1` bytes are ASCII.
fn ascii_break(text: &[u8], room: usize) -> usize {
    if text.len() <= room {
        return text.len();
    }
    if text[room] == b' ' {
        return room;
    }
    let row = &text[..room];
    let ink = row.iter().position(|byte| *byte != b' ').unwrap_or(room);
    let blank = row.iter().rposition(|byte| *byte == b' ').filter(|at| *at > ink);
    let soft = || row.iter().rposition(|byte| SOFT.contains(byte));
    blank.or_else(soft).map_or(room, |at| at + 1)
}

/// Punctuation that must not start a row (the usual CJK rule, in its shortest form).
fn is_closing(grapheme: &str) -> bool {
    matches!(
        grapheme,
        "。" | "、"
            | "，"
            | "．"
            | "！"
            | "？"
            | "："
            | "；"
            | "）"
            | "」"
            | "』"
            | "】"
            | "》"
            | "〉"
            | "”"
            | "’"
            | ","
            | "."
            | "!"
            | "?"
            | ":"
            | ";"
            | ")"
            | "]"
            | "}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_keep_their_lines_and_nothing_that_acts() {
        for (text, expected) in [
            ("a\n\tb\n", "a\n\tb\n"),
            ("a\r\nb\rc\r", "a\nb\\rc\\r"),
            ("\u{1b}[31m\n\0\u{202e}é", "\\x1b[31m\n\\x00\\u{202e}é"),
            ("", ""),
        ] {
            assert_eq!(visible_block(text), expected, "{text:?}");
        }
    }

    #[test]
    fn nothing_foreign_acts_on_the_terminal() {
        for (text, expected) in [
            ("plain", "plain"),
            ("a\tb", "a    b"),
            ("\u{1b}[31mred\u{1b}[0m", "\\x1b[31mred\\x1b[0m"),
            ("\u{1b}]0;title\u{7}", "\\x1b]0;title\\x07"),
            ("\u{9b}2J", "\\x9b2J"),
            ("over\rwrite", "over\\rwrite"),
            ("two\nlines", "two\\nlines"),
            ("nul\0", "nul\\x00"),
            ("abc\u{202e}fdp", "abc\\u{202e}fdp"),
            ("\u{2066}x\u{2069}", "\\u{2066}x\\u{2069}"),
            ("zero\u{200b}width", "zero\\u{200b}width"),
            ("👩\u{200d}👩\u{200d}👧", "👩\u{200d}👩\u{200d}👧"),
            ("e\u{301}", "e\u{301}"),
            ("\u{7f}", "\\x7f"),
        ] {
            assert_eq!(visible(text), expected, "{text:?}");
        }
    }

    #[track_caller]
    fn check_wrap(line: &str, columns: usize, expected: &[&str]) {
        let rows: Vec<String> =
            wrap(line, columns).map(|(indent, row)| format!("{}{row}", " ".repeat(indent))).collect();
        assert_eq!(rows, expected, "{line:?} at {columns}");
    }

    #[test]
    fn lines_wrap_at_blanks_and_between_wide_characters() {
        check_wrap("", 10, &[""]);
        check_wrap("short", 10, &["short"]);
        check_wrap("one two three", 7, &["one two", "three"]);
        check_wrap("one two three", 8, &["one two", "three"]);
        check_wrap("abcdefghij", 4, &["abcd", "efgh", "ij"]);
        check_wrap("ab cdefghij", 4, &["ab", "cdef", "ghij"]);
        check_wrap("    indented words", 12, &["    indented", "    words"]);
        check_wrap("你好世界", 4, &["你好", "世界"]);
        check_wrap("你好世界", 5, &["你好", "世界"]);
        check_wrap("你好。世界", 4, &["你", "好。", "世界"]);
        check_wrap("e\u{301}e\u{301}e\u{301}", 2, &["e\u{301}e\u{301}", "e\u{301}"]);
        check_wrap("trailing   ", 8, &["trailing"]);
        check_wrap("a/bc/defg", 6, &["a/bc/", "defg"]);
        check_wrap("{\"a\":1,\"b\":2}", 10, &["{\"a\":1,", "\"b\":2}"]);
    }

    #[test]
    fn clipping_counts_columns() {
        for (text, columns, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("你好世界", 5, "你好…"),
            ("你好世界", 4, "你…"),
            ("ab cd", 4, "ab…"),
        ] {
            assert_eq!(clip(text, columns), expected, "{text:?}");
        }
        assert_eq!(clip_start("/tmp/ws/project", 9), "…/project");
        assert_eq!(clip_start("你好世界", 5), "…世界");
    }

    proptest::proptest! {
        /// Plain text breaks where the general way would break it.
        #[test]
        fn plain_rows_are_no_other_rows(line in "[ ab,/]{0,60}", columns in 4_usize..30) {
            let general: Vec<String> = wrap(&format!("é{line}"), columns).map(|(_, row)| row.to_owned()).collect();
            let plain: Vec<String> = wrap(&format!("e{line}"), columns).map(|(_, row)| row.to_owned()).collect();
            proptest::prop_assert_eq!(general[0].replace('é', "e"), plain[0].clone());
        }

        #[test]
        fn rows_fit_and_lose_only_blanks(line in "[ a-c你好é]{0,60}", columns in 2_usize..30) {
            let mut kept = String::new();
            for (indent, row) in wrap(&line, columns) {
                proptest::prop_assert!(indent + width(row) <= columns.max(2));
                kept.push_str(&row.replace(' ', ""));
            }
            proptest::prop_assert_eq!(kept, line.replace(' ', ""));
        }
    }
}
