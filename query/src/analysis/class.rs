//! What kind of characters stand together.

use unicode_normalization::char::is_combining_mark;

/// Kinds of characters that are analysed in different ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Letters and digits of scripts that put spaces between words.
    Word,
    /// Han, Hiragana, Katakana.
    Han,
    /// Hangul.
    Hangul,
    /// Scripts without spaces between words: Thai, Lao, Khmer, Burmese.
    Dense,
    /// A picture.
    Emoji,
    /// Everything else.
    Other,
}

/// The next run of one kind from `at` on, which is moved to its beginning: its kind and its end.
pub(super) fn next_run(text: &str, at: &mut usize) -> Option<(Class, usize)> {
    let bytes = text.as_bytes();
    // Most of what is passed over and much of what is found is ASCII.
    while let Some(byte) = bytes.get(*at)
        && byte.is_ascii()
        && !byte.is_ascii_alphanumeric()
    {
        *at += 1;
    }
    let mut rest = text.get(*at..)?.char_indices();
    let (class, length) = loop {
        let (offset, c) = rest.next()?;
        let class = of(c);
        if class != Class::Other {
            *at += offset;
            break (class, c.len_utf8());
        }
    };
    let mut end = *at + length;
    loop {
        if class == Class::Word {
            while bytes.get(end).is_some_and(u8::is_ascii_alphanumeric) {
                end += 1;
            }
        }
        match text.get(end..).and_then(|rest| rest.chars().next()) {
            Some(c) if goes_on(class, c) => end += c.len_utf8(),
            _ => return Some((class, end)),
        }
    }
}

/// True when `c` belongs to a run of this kind.
fn goes_on(class: Class, c: char) -> bool {
    if c.is_ascii() {
        return class == Class::Word && c.is_ascii_alphanumeric();
    }
    match class {
        Class::Emoji => of(c) == Class::Emoji || is_emoji_modifier(c),
        _ => of(c) == class || is_combining_mark(c) || matches!(c, '\u{200c}' | '\u{200d}'),
    }
}

fn of(c: char) -> Class {
    match c {
        '\0'..='\x7f' => {
            if c.is_ascii_alphanumeric() {
                Class::Word
            } else {
                Class::Other
            }
        }
        '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' => {
            if c.is_alphanumeric() || is_combining_mark(c) { Class::Dense } else { Class::Other }
        }
        '\u{1100}'..='\u{11ff}'
        | '\u{3130}'..='\u{318f}'
        | '\u{a960}'..='\u{a97f}'
        | '\u{ac00}'..='\u{d7ff}'
        | '\u{ffa0}'..='\u{ffdc}' => Class::Hangul,
        '々'
        | '〆'
        | '〇'
        | '\u{2e80}'..='\u{2fdf}'
        | '\u{3041}'..='\u{309f}'
        | '\u{30a1}'..='\u{30fa}'
        | '\u{30fc}'..='\u{30ff}'
        | '\u{3105}'..='\u{312f}'
        | '\u{31a0}'..='\u{31ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{ff66}'..='\u{ff9f}'
        | '\u{20000}'..='\u{323af}' => Class::Han,
        '\u{231a}'
        | '\u{231b}'
        | '\u{23e9}'..='\u{23fa}'
        | '\u{25fd}'
        | '\u{25fe}'
        | '\u{2600}'..='\u{27bf}'
        | '\u{2b1b}'
        | '\u{2b1c}'
        | '\u{2b50}'
        | '\u{2b55}'
        | '\u{1f000}'..='\u{1f0ff}'
        | '\u{1f18e}'
        | '\u{1f191}'..='\u{1f19a}'
        | '\u{1f1e6}'..='\u{1f1ff}'
        | '\u{1f201}'
        | '\u{1f21a}'
        | '\u{1f22f}'
        | '\u{1f232}'..='\u{1f23a}'
        | '\u{1f250}'
        | '\u{1f251}'
        | '\u{1f300}'..='\u{1f3fa}'
        | '\u{1f400}'..='\u{1faff}' => Class::Emoji,
        _ if c.is_alphanumeric() => Class::Word,
        _ => Class::Other,
    }
}

/// True for what only changes how the emoji in front of it looks: colour of skin, form, joiner, tag.
pub(super) fn is_emoji_modifier(c: char) -> bool {
    matches!(c, '\u{200d}' | '\u{fe0e}' | '\u{fe0f}' | '\u{20e3}' | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0020}'..='\u{e007f}')
}

/// The longest run that is taken apart as an identifier. Longer ones are encoded bytes, and their parts would mean nothing.
const LONGEST_IDENTIFIER: usize = 80;

/// Parts of a run of letters and digits, in bytes: `camelCase` is two, `HTTPServer` is two, `sha256` is one.
pub(super) fn parts(piece: &str) -> Parts<'_> {
    let is_whole = piece.len() > LONGEST_IDENTIFIER
        || piece.starts_with("0x")
        || !piece.bytes().skip(1).any(|byte| byte.is_ascii_uppercase() || !byte.is_ascii());
    Parts { piece, at: 0, is_whole }
}

pub(super) struct Parts<'a> {
    piece: &'a str,
    at: usize,
    is_whole: bool,
}

impl Iterator for Parts<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let from = self.at;
        let rest = self.piece.get(from..).filter(|rest| !rest.is_empty())?;
        if self.is_whole {
            self.at = self.piece.len();
            return Some((from, self.at));
        }
        let mut chars = rest.char_indices().peekable();
        let mut before = chars.next()?.1;
        while let Some((offset, c)) = chars.next() {
            // A mark is no letter of its own: what stands in front of it decides.
            if is_combining_mark(c) {
                continue;
            }
            let next_is_lower = chars.peek().is_some_and(|(_, next)| next.is_lowercase());
            let is_border = c.is_uppercase() && (!before.is_uppercase() || next_is_lower);
            if is_border {
                self.at = from + offset;
                return Some((from, self.at));
            }
            before = c;
        }
        self.at = self.piece.len();
        Some((from, self.at))
    }
}
