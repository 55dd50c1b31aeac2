//! What a model writes, read as the little Markdown that models write: fenced code, headings, code and strong words
//! within a line. Everything else is text; lists and tables read well as they stand.

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Block<'a> {
    /// A heading: its level, from 1, and its text.
    Heading(usize, &'a str),
    /// Code, and the word behind its fence.
    Code(&'a str, &'a str),
    /// The rows of a table.
    Table(&'a str),
    /// Lines of text.
    Text(&'a str),
}

/// A part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Span<'a> {
    /// Text.
    Plain(&'a str),
    /// Code.
    Code(&'a str),
    /// Strong text.
    Strong(&'a str),
}

/// The parts of a text. None is empty, and none begins or ends with an empty line, but code.
pub(super) fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    // Where the lines begin that belong to no block yet.
    let mut start = 0;
    let mut at = 0;
    let mut rest = text.split_inclusive('\n');
    while let Some(line) = rest.next() {
        let end = at + line.len();
        let words = line.trim_end();
        if let Some(fence) = Fence::opens(words) {
            push_text(&mut blocks, &text[start..at]);
            let mut close = end;
            at = end;
            for line in rest.by_ref() {
                at += line.len();
                if fence.closes(line.trim_end()) {
                    break;
                }
                close = at;
            }
            blocks.push(Block::Code(fence.word, text[end..close].trim_end_matches(['\n', '\r'])));
            start = at;
            continue;
        }
        if let Some((level, heading)) = heading(words) {
            push_text(&mut blocks, &text[start..at]);
            blocks.push(Block::Heading(level, heading));
            start = end;
        }
        at = end;
    }
    push_text(&mut blocks, &text[start..]);
    blocks
}

/// Lines of text, tables among them.
fn push_text<'a>(blocks: &mut Vec<Block<'a>>, text: &'a str) {
    let mut start = 0;
    let mut at = 0;
    let mut in_table = false;
    let mut push = |from: usize, to: usize, is_table: bool| {
        let part = text[from..to].trim_end();
        let blank = part.len() - part.trim_start().len();
        // The indent of the first line belongs to it.
        let first = part[..blank].rfind('\n').map_or(0, |end| end + 1);
        if blank < part.len() {
            let part = &part[first..];
            blocks.push(if is_table { Block::Table(part) } else { Block::Text(part) });
        }
    };
    for line in text.split_inclusive('\n') {
        let is_row = line.trim_start().starts_with('|');
        if is_row != in_table {
            push(start, at, in_table);
            (start, in_table) = (at, is_row);
        }
        at += line.len();
    }
    push(start, text.len(), in_table);
}

/// A fence of code.
struct Fence<'a> {
    mark: char,
    length: usize,
    word: &'a str,
}

impl<'a> Fence<'a> {
    fn opens(line: &'a str) -> Option<Self> {
        let bare = unindented(line)?;
        let mark = bare.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let info = bare.trim_start_matches(mark);
        let length = bare.len() - info.len();
        if length < 3 || (mark == '`' && info.contains('`')) {
            return None;
        }
        Some(Fence { mark, length, word: info.split_whitespace().next().unwrap_or_default() })
    }

    fn closes(&self, line: &str) -> bool {
        unindented(line).is_some_and(|bare| bare.len() >= self.length && bare.chars().all(|c| c == self.mark))
    }
}

/// A line without its indent of at most three blanks.
fn unindented(line: &str) -> Option<&str> {
    let bare = line.trim_start_matches(' ');
    (line.len() - bare.len() <= 3).then_some(bare)
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let bare = unindented(line)?;
    let text = bare.trim_start_matches('#');
    let level = bare.len() - text.len();
    let text = text.strip_prefix([' ', '\t'])?.trim_end_matches('#').trim();
    ((1..=6).contains(&level) && !text.is_empty()).then_some((level, text))
}

/// The parts of a line. What is not closed on it is text.
pub(super) fn spans(line: &str) -> Vec<Span<'_>> {
    let mut spans = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while let Some(found) = line[at..].find(['`', '*']) {
        let begin = at + found;
        let mark = if line[begin..].starts_with('`') { '`' } else { '*' };
        let open = line[begin..].len() - line[begin..].trim_start_matches(mark).len();
        let inner = begin + open;
        at = inner;
        let Some(length) = closing(&line[inner..], mark, open) else { continue };
        let text = &line[inner..inner + length];
        let span = match (mark, open) {
            ('`', _) => Span::Code(text),
            ('*', 2) if !text.starts_with(' ') && !text.ends_with(' ') => Span::Strong(text),
            _ => continue,
        };
        if start < begin {
            spans.push(Span::Plain(&line[start..begin]));
        }
        spans.push(span);
        at = inner + length + open;
        start = at;
    }
    if start < line.len() {
        spans.push(Span::Plain(&line[start..]));
    }
    spans
}

/// How far it is to a run of exactly so many marks; not to one that follows at once.
fn closing(text: &str, mark: char, run: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find(mark) {
        let begin = at + found;
        let length = text[begin..].len() - text[begin..].trim_start_matches(mark).len();
        if length == run && begin > 0 {
            return Some(begin);
        }
        at = begin + length;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_a_text() {
        use Block::{Code, Heading, Table, Text};
        for (text, expected) in [
            ("", vec![]),
            ("\n \n", vec![]),
            ("a\nb\n", vec![Text("a\nb")]),
            ("\n  a\n\nb", vec![Text("  a\n\nb")]),
            ("# A #\n#b\n####### c", vec![Heading(1, "A"), Text("#b\n####### c")]),
            ("a\n```rust x\nlet\n```\nb", vec![Text("a"), Code("rust", "let"), Text("b")]),
            ("````\n```\n````", vec![Code("", "```")]),
            ("~~~\n```\n~~~~\nx", vec![Code("", "```"), Text("x")]),
            ("```\nopen", vec![Code("", "open")]),
            ("```\n", vec![Code("", "")]),
            ("```a```", vec![Text("```a```")]),
            ("    ```\nx", vec![Text("    ```\nx")]),
            ("- ```\n  x\n  ```\ny", vec![Text("- ```\n  x"), Code("", "y")]),
            ("a\n| b |\n| - |\n\nc", vec![Text("a"), Table("| b |\n| - |"), Text("c")]),
            ("```\r\nx\r\n```\r\ny", vec![Code("", "x"), Text("y")]),
        ] {
            assert_eq!(blocks(text), expected, "{text:?}");
        }
    }

    #[test]
    fn spans_of_a_line() {
        use Span::{Code, Plain, Strong};
        for (line, expected) in [
            ("", vec![]),
            ("a `b` c", vec![Plain("a "), Code("b"), Plain(" c")]),
            ("``a`b``", vec![Code("a`b")]),
            ("`a", vec![Plain("`a")]),
            ("a`` `b`", vec![Plain("a`` "), Code("b")]),
            ("**a** *b*", vec![Strong("a"), Plain(" *b*")]),
            ("2 ** 3 ** 4", vec![Plain("2 ** 3 ** 4")]),
            ("**`a`**", vec![Strong("`a`")]),
            ("é`è`", vec![Plain("é"), Code("è")]),
        ] {
            assert_eq!(spans(line), expected, "{line:?}");
        }
    }

    proptest::proptest! {
        /// Whatever a text is, its words come out, in order.
        #[test]
        fn no_word_is_lost(text in "[a `~*#|\n]{0,60}") {
            let mut words = String::new();
            for block in blocks(&text) {
                let part = match block {
                    Block::Heading(_, part) | Block::Code(_, part) | Block::Table(part) | Block::Text(part) => part,
                };
                for line in part.lines() {
                    for span in spans(line) {
                        let (Span::Plain(part) | Span::Code(part) | Span::Strong(part)) = span;
                        words.push_str(part);
                    }
                }
                if let Block::Code(word, _) = block {
                    words.push_str(word);
                }
            }
            let count = |text: &str| text.matches('a').count();
            // Words behind the first one of a fence are dropped.
            let fences = text.lines().filter(|line| line.trim_start().starts_with(['`', '~'])).count();
            proptest::prop_assert!(count(&words) <= count(&text));
            if fences == 0 {
                proptest::prop_assert_eq!(count(&words), count(&text));
            }
        }
    }
}
