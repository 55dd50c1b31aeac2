//! Text in a few words (`docs/spec/surface.md`, 10.7). All lengths are UTF-16 units.

use dshlog_codec::json::{Js, JsString};

/// The first words of a message: its text blocks in one line, an ellipsis at the end where something is missing.
pub(super) fn preview(content: Option<Js<'_>>, limit: usize) -> JsString {
    let mut text: Vec<u16> = Vec::new();
    let mut unread = false;
    for block in content.into_iter().flat_map(Js::elements) {
        if !block.get("type").is_some_and(|kind| kind.is("text")) {
            continue;
        }
        if text.len() >= limit * 2 {
            unread = true;
            break;
        }
        let Some(part) = block.get("text").and_then(Js::as_str) else { continue };
        if !text.is_empty() {
            text.push(u16::from(b' '));
        }
        let before = text.len();
        match part.as_plain() {
            Some(plain) => text.extend(plain.encode_utf16().take(limit * 2 + 1)),
            None => text.extend(part.to_owned().units().take(limit * 2 + 1)),
        }
        if text.len() - before > limit * 2 {
            text.pop();
            unread = true;
            break;
        }
    }
    let mut line = one_line(&text);
    let cut = line.len() > limit - 1;
    if cut {
        line.truncate(limit - 1);
        // Behind the cut a blank may be the last one.
        while line.last().is_some_and(|unit| is_blank(*unit)) {
            line.pop();
        }
    }
    if cut || unread {
        line.push(ELLIPSIS);
    }
    JsString::from_units(line)
}

const ELLIPSIS: u16 = 0x2026;

/// Runs of white space become one space; none is at the ends.
fn one_line(text: &[u16]) -> Vec<u16> {
    let mut line = Vec::with_capacity(text.len());
    for word in text.split(|unit| is_blank(*unit)).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(u16::from(b' '));
        }
        line.extend_from_slice(word);
    }
    line
}

/// What `\s` and `trim` of JavaScript take for white space.
pub(super) fn is_blank(unit: u16) -> bool {
    matches!(unit, 0x9..=0xd | 0x20 | 0xa0 | 0x1680 | 0x2000..=0x200a | 0x2028 | 0x2029 | 0x202f | 0x205f | 0x3000 | 0xfeff)
}

#[cfg(test)]
mod tests {
    use dshlog_codec::json::Doc;

    use super::*;

    #[test]
    fn previews_count_units_and_say_what_is_missing() {
        let long = "x".repeat(9);
        let longer = "x".repeat(11);
        let spaced = format!("a   b\\n{}", " ".repeat(9));
        for (texts, expected) in [
            (vec!["a b"], "a b"),
            (vec![" a\\t\\n b "], "a b"),
            (vec!["ab", "c"], "ab c"),
            (vec!["ab", "cd"], "ab c…"),
            (vec!["abcd"], "abcd"),
            (vec!["abcde"], "abcd…"),
            (vec!["abc de"], "abc…"),
            // A block longer than twice the limit is cut, and so is the line.
            (vec![longer.as_str()], "xxxx…"),
            (vec![spaced.as_str()], "a b…"),
            // Reading stops in front of a block when there is enough.
            (vec![long.as_str(), "", "y"], "xxxx…"),
            (vec!["a           ", "y"], "a…"),
            // Emoji are two units, and are cut in two.
            (vec!["abc\u{1f600}"], "abc\u{fffd}…"),
            (vec!["ab\u{1f600}"], "ab\u{1f600}"),
            (vec!["\u{feff}\u{3000}"], ""),
            (vec![], ""),
        ] {
            let blocks: Vec<String> =
                texts.iter().map(|text| format!(r#"{{"type":"text","text":"{text}"}}"#)).collect();
            let doc = Doc::parse(format!("[{{\"type\":\"image\"}},{}]", blocks.join(",")).replace(",]", "]"))
                .unwrap();
            assert_eq!(preview(Some(doc.root()), 5).to_lossy(), expected, "{texts:?}");
        }
    }
}
