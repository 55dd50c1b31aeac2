//! Titles, and what they are made of (`docs/spec/surface.md`, 10.5).

use dshlog_codec::check::EventType;
use dshlog_codec::json::{Js, JsStr, JsString, Tree};
use dshlog_codec::{Event, Seq};

use super::turns::is_from_user;
use super::value::{Kept, count_or_null, null, object};
use super::{Fold, Start};

pub(super) use super::settings::title;

#[derive(Debug, Default)]
struct TitleInput {
    first: Option<(Seq, Kept)>,
    count: u64,
    last: Option<Seq>,
}

pub(super) fn title_input(_: &Start<'_>) -> Box<dyn Fold> {
    Box::<TitleInput>::default()
}

impl Fold for TitleInput {
    fn see(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), String> {
        if kind != Some(EventType::UserMessage) || !is_from_user(event) {
            return Ok(());
        }
        let text = joined_text(event.member("content"));
        if !clean(&text.to_lossy()).is_empty() {
            self.first.get_or_insert_with(|| (event.seq, Kept::string(&text)));
            self.count += 1;
            self.last = Some(event.seq);
        }
        Ok(())
    }

    fn state(&self) -> Tree<'static> {
        let first = self
            .first
            .as_ref()
            .map_or_else(null, |(seq, text)| object([("seq", Tree::integer(seq.0)), ("text", text.tree())]));
        object([
            ("first", first),
            ("count", Tree::integer(self.count)),
            ("lastSeq", count_or_null(self.last.map(|seq| seq.0))),
        ])
    }

    fn view(&self) -> Option<Tree<'static>> {
        None
    }
}

/// The text blocks of a message, one a line.
fn joined_text(content: Option<Js<'_>>) -> JsString {
    let mut text = JsString::default();
    let blocks = content.into_iter().flat_map(Js::elements);
    let texts = blocks.filter(|block| block.get("type").is_some_and(|kind| kind.is("text")));
    for (i, block) in texts.enumerate() {
        if i > 0 {
            text.push(JsStr::plain("\n"));
        }
        if let Some(part) = block.get("text").and_then(Js::as_str) {
            text.push(part);
        }
    }
    text
}

/// The text as it may stand in a title: without what acts on a terminal or hides from the eye, in one line.
pub(super) fn clean(text: &str) -> String {
    let text = without_osc(text);
    let text = without_csi(&text);
    let mut chars = text.chars().peekable();
    let mut kept = String::with_capacity(text.len());
    while let Some(c) = chars.next() {
        if c == '\u{1b}' && chars.next_if(|next| ('@'..='_').contains(next)).is_some() {
            continue;
        }
        if !is_control(c) && !is_invisible(c) {
            kept.push(c);
        }
    }
    kept.split(char::is_whitespace).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Without commands for the operating system: up to BEL or `ESC \`, or to the end.
fn without_osc(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, start)) = ["\u{1b}]", "\u{9d}"].iter().filter_map(|s| Some((rest.find(s)?, *s))).min()
    {
        kept.push_str(&rest[..at]);
        rest = &rest[at + start.len()..];
        let end = ["\u{7}", "\u{1b}\\"].iter().filter_map(|s| Some(rest.find(s)? + s.len())).min();
        rest = end.map_or("", |end| &rest[end..]);
    }
    kept + rest
}

/// Without control sequences, such as those for colours; those that have no end stay.
fn without_csi(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, start)) = ["\u{1b}[", "\u{9b}"].iter().filter_map(|s| Some((rest.find(s)?, *s))).min()
    {
        let (before, sequence) = rest.split_at(at);
        kept.push_str(before);
        let parameters = sequence[start.len()..].trim_start_matches(|c| ('0'..='?').contains(&c));
        let last = parameters.trim_start_matches(|c| (' '..='/').contains(&c));
        if last.starts_with(|c| ('@'..='~').contains(&c)) {
            rest = &last[1..];
        } else {
            kept.push_str(start);
            rest = &sequence[start.len()..];
        }
    }
    kept + rest
}

fn is_control(c: char) -> bool {
    matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{9f}')
}

fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}'
        | '\u{2066}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_cleaned_in_the_order_of_the_specification() {
        for (text, expected) in [
            ("  a\t b\n\nc ", "a b c"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{9b}2Jx", "x"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]0;title\u{1b}\\x", "x"),
            ("x\u{9d}never ends", "x"),
            // No end: the two characters that begin it go as any other escape.
            ("\u{1b}[31", "31"),
            ("\u{1b}cx\u{1b}", "cx"),
            ("\u{1b}Mx", "x"),
            // What one pass leaves together, the next takes.
            ("\u{1b}\u{1b}]a\u{7}[1mx", "x"),
            ("\u{200b}\u{feff}\u{7f}\u{85} \u{2066}", ""),
            ("a\u{3000}b\u{a0}c", "a b c"),
            ("a\u{200d}b", "a\u{200d}b"),
        ] {
            assert_eq!(clean(text), expected, "{text:?}");
        }
    }
}
