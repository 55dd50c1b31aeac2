//! One spelling for what people take for the same: case, width, ligatures, accents.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// Append `text` folded: compatibility decomposition without marks, in lower case.
pub(super) fn fold(text: &str, out: &mut String) {
    if text.is_ascii() {
        let from = out.len();
        out.push_str(text);
        if let Some(added) = out.get_mut(from..) {
            added.make_ascii_lowercase();
        }
        return;
    }
    for c in text.nfkd() {
        if is_combining_mark(c) || matches!(c, '\u{200c}' | '\u{200d}') {
            continue;
        }
        match c {
            'ß' | 'ẞ' => out.push_str("ss"),
            'ς' => out.push('σ'),
            'ı' => out.push('i'),
            _ => out.extend(c.to_lowercase().filter(|c| !is_combining_mark(*c))),
        }
    }
}

/// Shorten to at most `most` bytes, at the border of a character.
pub(super) fn cut(term: &mut String, most: usize) {
    if term.len() > most {
        let end = (0..=most).rev().find(|at| term.is_char_boundary(*at)).unwrap_or(0);
        term.truncate(end);
    }
}
