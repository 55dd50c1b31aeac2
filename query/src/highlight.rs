//! Which piece of a text to show for its matches. No colours here: a piece knows where its matches are.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

/// A piece of a text on one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snippet {
    /// The piece: runs of white space are one space, `…` stands where it was cut.
    pub text: String,
    /// The matches in it, in bytes.
    pub ranges: Vec<Range<usize>>,
}

/// A line of a text, and the matches in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its number, from 1.
    pub number: usize,
    /// The line, without its end.
    pub text: &'a str,
    /// The matches in it, in bytes.
    pub ranges: Vec<Range<usize>>,
}

/// The piece of at most `most` graphemes with the most matches; the first of several.
pub fn snippet(text: &str, ranges: &[Range<usize>], most: usize) -> Snippet {
    let most = most.max(8);
    // Room for what says that something was cut.
    let window = window(text, ranges, most - 2);
    let mut out = Snippet::default();
    if window.start > 0 {
        out.text.push('…');
    }
    let (mut shown, mut is_cut) = (out.text.chars().count(), window.end < text.len());
    let mut last_was_space = true;
    let mut open: Option<usize> = None;
    let mut ranges = ranges.iter().skip_while(|range| range.end <= window.start).peekable();
    let piece = text.get(window.clone()).unwrap_or_default();
    for (offset, grapheme) in piece.grapheme_indices(true) {
        let at = window.start + offset;
        if let Some(from) = open
            && ranges.peek().is_none_or(|range| range.end <= at)
        {
            out.ranges.push(from..out.text.len());
            open = None;
            ranges.next();
        }
        let is_space = grapheme.chars().all(char::is_whitespace);
        if is_space && last_was_space {
            continue;
        }
        if shown + 1 > most {
            is_cut = true;
            break;
        }
        if open.is_none()
            && ranges.peek().is_some_and(|range| range.start < at + grapheme.len() && range.end > at)
        {
            open = Some(out.text.len());
        }
        out.text.push_str(if is_space { " " } else { grapheme });
        last_was_space = is_space;
        shown += 1;
    }
    if let Some(from) = open {
        out.ranges.push(from..out.text.len());
    }
    let end = out.text.trim_end().len().max(out.ranges.last().map_or(0, |range| range.end));
    out.text.truncate(end);
    if is_cut {
        out.text.push('…');
    }
    out
}

/// Which bytes to show: from a third of the room in front of the densest matches on.
fn window(text: &str, ranges: &[Range<usize>], most: usize) -> Range<usize> {
    let Some(first) = densest(ranges, most) else { return 0..ahead(text, 0, most) };
    let start = first.start.min(text.len());
    let end = ahead(text, start, most);
    // What does not fill the room behind is shown in front.
    let behind = text.get(start..end).unwrap_or_default().graphemes(true).count();
    let room = (most / 3).max(most.saturating_sub(behind));
    let from = back(text, start, room);
    from..ahead(text, from, most)
}

/// The match that most others follow within `most` bytes.
fn densest(ranges: &[Range<usize>], most: usize) -> Option<&Range<usize>> {
    let mut best: Option<(usize, &Range<usize>)> = None;
    let mut end = 0;
    for (at, range) in ranges.iter().enumerate() {
        end = end.max(at);
        while ranges.get(end).is_some_and(|other| other.end <= range.start + most * 2 / 3) {
            end += 1;
        }
        if best.is_none_or(|(count, _)| end - at > count) {
            best = Some((end - at, range));
        }
    }
    best.map(|(_, range)| range)
}

/// The byte behind the next `count` graphemes that are no repeated white space.
fn ahead(text: &str, from: usize, count: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    let mut left = count;
    let mut last_was_space = false;
    for (offset, grapheme) in rest.grapheme_indices(true) {
        let is_space = grapheme.chars().all(char::is_whitespace);
        if !(is_space && last_was_space) {
            if left == 0 {
                return from + offset;
            }
            left -= 1;
        }
        last_was_space = is_space;
    }
    text.len()
}

/// The byte in front of the last `count` graphemes before `to`, at the begin of a word where one is near.
fn back(text: &str, to: usize, count: usize) -> usize {
    let before = text.get(..to).unwrap_or_default();
    let mut from = to;
    let mut word = None;
    let mut left = count;
    let mut last_was_space = true;
    for (offset, grapheme) in before.grapheme_indices(true).rev() {
        let is_space = grapheme.chars().all(char::is_whitespace);
        if is_space && last_was_space {
            continue;
        }
        if left == 0 {
            // Less than a word is cut off: begin behind it.
            return word.filter(|word| to - word > (to - from) / 2).unwrap_or(from);
        }
        if is_space {
            word = Some(offset + grapheme.len());
        }
        from = offset;
        last_was_space = is_space;
        left -= 1;
    }
    0
}

/// The lines with a match, and `context` lines around each.
pub fn lines<'a>(text: &'a str, ranges: &[Range<usize>], context: usize) -> Vec<Line<'a>> {
    let mut all: Vec<Line<'a>> = Vec::new();
    let mut at = 0;
    let mut next = 0;
    for (index, line) in text.split('\n').enumerate() {
        let end = at + line.len();
        let trimmed = line.strip_suffix('\r').unwrap_or(line);
        while ranges.get(next).is_some_and(|range| range.end <= at) {
            next += 1;
        }
        let inside = ranges.get(next..).unwrap_or_default().iter().take_while(|range| range.start < end);
        let inside = inside
            .map(|range| range.start.max(at) - at..(range.end.min(end) - at).min(trimmed.len()))
            .filter(|range| range.start < range.end)
            .collect();
        all.push(Line { number: index + 1, text: trimmed, ranges: inside });
        at = end + 1;
    }
    let hits: Vec<usize> =
        all.iter().enumerate().filter(|(_, line)| !line.ranges.is_empty()).map(|(at, _)| at).collect();
    let mut near = hits.iter().peekable();
    let mut index = 0;
    all.retain(|_| {
        while near.peek().is_some_and(|hit| hit.saturating_add(context) < index) {
            near.next();
        }
        let keep = near.peek().is_some_and(|hit| **hit <= index.saturating_add(context));
        index += 1;
        keep
    });
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn marked(snippet: &Snippet) -> String {
        let mut out = snippet.text.clone();
        for range in snippet.ranges.iter().rev() {
            out.insert(range.end, ']');
            out.insert(range.start, '[');
        }
        out
    }

    #[test]
    fn snippets() {
        let find = |text: &str, what: &str| -> Vec<Range<usize>> {
            text.match_indices(what).map(|(at, _)| at..at + what.len()).collect()
        };
        for (text, what, most, expected) in [
            ("short text", "text", 40, "short [text]"),
            ("white \n\t space", "space", 40, "white [space]"),
            ("nothing here to be found at all", "xyz", 12, "nothing he…"),
            ("one two three four five six seven eight nine", "seven", 20, "…six [seven] eight ni…"),
            ("请修复登录错误并且再次测试登录", "登录", 12, "请修复[登录]错误并且再…"),
        ] {
            let found = snippet(text, &find(text, what), most);
            assert_eq!(marked(&found), expected, "{text}");
        }
    }

    #[test]
    fn lines_around_matches() {
        let text = "a\nb\nhit one\r\nc\nd\ne\nhit two\nf";
        let ranges = [4..7, 19..22];
        let shown = |context| -> Vec<String> {
            let lines = lines(text, &ranges, context);
            lines.iter().map(|line| format!("{}:{}:{:?}", line.number, line.text, line.ranges)).collect()
        };
        assert_eq!(shown(0), ["3:hit one:[0..3]", "7:hit two:[0..3]"]);
        assert_eq!(shown(1).len(), 6);
        assert_eq!(shown(9).len(), 8);
    }

    proptest! {
        #[test]
        fn a_snippet_is_short_and_its_matches_are_those_of_the_text(
            text in "[a-c \n登录é👍🏽]{0,60}", at in 0usize..60, length in 1usize..6, most in 8usize..30,
        ) {
            let borders: Vec<usize> = text.grapheme_indices(true).map(|(at, _)| at).chain([text.len()]).collect();
            let at = borders[at % borders.len()];
            let end = borders.iter().copied().filter(|b| *b > at).nth(length - 1).unwrap_or(text.len());
            let ranges: Vec<Range<usize>> = (at < end).then_some(at..end).into_iter().collect();
            let found = snippet(&text, &ranges, most);
            prop_assert!(found.text.graphemes(true).count() <= most + 1, "{:?}", found);
            for range in &found.ranges {
                prop_assert!(found.text.get(range.clone()).is_some_and(|piece| !piece.is_empty()));
            }
            if text.get(at..end).is_some_and(|piece| !piece.trim().is_empty()) {
                prop_assert_eq!(found.ranges.len(), 1, "{:?}", found);
            }
        }
    }

    #[test]
    fn any_number_of_lines_around() {
        let text = "a\nb\nc hit\nd\n";
        assert_eq!(lines(text, std::slice::from_ref(&(6..9)), usize::MAX).len(), 5);
        assert_eq!(lines(text, std::slice::from_ref(&(6..9)), 0).len(), 1);
    }
}
