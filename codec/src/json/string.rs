//! Strings of UTF-16 code units, as JavaScript has them.

use std::borrow::Cow;
use std::fmt;

/// A string inside JSON text, still escaped. Comparing and reading it decodes only what has to be.
#[derive(Clone, Copy)]
pub struct JsStr<'a> {
    raw: &'a str,
    escaped: bool,
}

impl<'a> JsStr<'a> {
    /// A number below 64 that equal strings have in common, and different ones seldom.
    #[inline]
    pub(super) fn bucket(self) -> usize {
        let of = |bytes: &[u8]| bytes.last().map_or(0, |last| bytes.len() * 7 + usize::from(*last)) % 64;
        self.as_plain().map_or_else(|| of(&self.to_wtf8()), |plain| of(plain.as_bytes()))
    }

    /// `raw` is the text between the quotes, with valid escapes.
    pub(super) fn new(raw: &'a str, escaped: bool) -> Self {
        Self { raw, escaped }
    }

    /// A string without escapes: `text` itself.
    pub fn plain(text: &'a str) -> Self {
        Self { raw: text, escaped: false }
    }

    /// The text when it has no escapes, else nothing. A quick way for names of the format, which have none.
    pub fn as_plain(self) -> Option<&'a str> {
        (!self.escaped).then_some(self.raw)
    }

    /// True when there are no code units.
    pub fn is_empty(self) -> bool {
        self.raw.is_empty()
    }

    /// The string as UTF-8, lone surrogates as U+FFFD. For people, never for comparing.
    pub fn to_lossy(self) -> Cow<'a, str> {
        if self.escaped { Cow::Owned(lossy(&self.to_wtf8()).into_owned()) } else { Cow::Borrowed(self.raw) }
    }

    /// The string as WTF-8: UTF-8 in which a lone surrogate is three bytes.
    pub fn to_wtf8(self) -> Cow<'a, [u8]> {
        if !self.escaped {
            return Cow::Borrowed(self.raw.as_bytes());
        }
        let mut out = Vec::with_capacity(self.raw.len());
        self.decode_onto(&mut out);
        Cow::Owned(out)
    }

    /// Append the string to WTF-8, as [`push_unit`] does.
    fn decode_onto(self, out: &mut Vec<u8>) {
        let mut rest = self.raw;
        while self.escaped
            && let Some(slash) = rest.find('\\')
        {
            let (plain, escape) = rest.split_at(slash);
            out.extend_from_slice(plain.as_bytes());
            let (unit, len) = escape_unit(escape);
            push_unit(out, unit);
            rest = escape.get(len..).unwrap_or("");
        }
        out.extend_from_slice(rest.as_bytes());
    }

    /// An owned copy.
    pub fn to_owned(self) -> JsString {
        JsString(self.to_wtf8().into_owned())
    }
}

/// The code unit that an escape at the start of `text` stands for, and the escape's length in bytes.
pub(super) fn escape_unit(text: &str) -> (u16, usize) {
    match text.as_bytes().get(1) {
        Some(b'u') => (text.get(2..6).and_then(|h| u16::from_str_radix(h, 16).ok()).unwrap_or(0xfffd), 6),
        Some(b'b') => (8, 2),
        Some(b'f') => (12, 2),
        Some(b'n') => (10, 2),
        Some(b'r') => (13, 2),
        Some(b't') => (9, 2),
        Some(&other) => (u16::from(other), 2),
        None => (0xfffd, 1),
    }
}

/// Append one code unit to WTF-8; a low surrogate behind a high one joins it.
fn push_unit(out: &mut Vec<u8>, unit: u16) {
    if (0xdc00..0xe000).contains(&unit)
        && let [.., 0xed, mid @ 0xa0..=0xaf, low] = **out
    {
        let high = 0xd000 | (u32::from(mid & 0x3f) << 6) | u32::from(low & 0x3f);
        let joined = 0x10000 + ((high - 0xd800) << 10) + u32::from(unit - 0xdc00);
        out.truncate(out.len() - 3);
        if let Some(c) = char::from_u32(joined) {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
        return;
    }
    match char::from_u32(u32::from(unit)) {
        Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        // A surrogate: the three-byte form that UTF-8 would have for its number.
        None => out.extend_from_slice(&[0xed, 0x80 | (unit >> 6 & 0x3f) as u8, 0x80 | (unit & 0x3f) as u8]),
    }
}

/// WTF-8 in pieces: valid text, and the lone surrogate behind it; only the last piece has none.
pub(super) fn pieces(wtf8: &[u8]) -> impl Iterator<Item = (&str, Option<u16>)> {
    let mut rest = Some(wtf8);
    std::iter::from_fn(move || {
        let bytes = rest.take()?;
        let error = match std::str::from_utf8(bytes) {
            Ok(text) => return Some((text, None)),
            Err(error) => error,
        };
        let (text, surrogate) = bytes.split_at(error.valid_up_to());
        let text = std::str::from_utf8(text).unwrap_or_default();
        let [_, mid, low, tail @ ..] = surrogate else { return Some((text, None)) };
        rest = Some(tail);
        Some((text, Some(0xd000 | u16::from(mid & 0x3f) << 6 | u16::from(low & 0x3f))))
    })
}

fn lossy(wtf8: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(wtf8) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(wtf8.len());
    for (text, surrogate) in pieces(wtf8) {
        out.push_str(text);
        out.extend(surrogate.map(|_| char::REPLACEMENT_CHARACTER));
    }
    Cow::Owned(out)
}

impl PartialEq for JsStr<'_> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        if self.escaped || other.escaped {
            self.to_wtf8() == other.to_wtf8()
        } else {
            is_same(self.raw, other.raw)
        }
    }
}

impl Eq for JsStr<'_> {}

impl PartialEq<str> for JsStr<'_> {
    #[inline]
    fn eq(&self, other: &str) -> bool {
        if self.escaped { *self.to_wtf8() == *other.as_bytes() } else { is_same(self.raw, other) }
    }
}

/// Equality for short texts, as names of members are: their two ends, which may overlap, are compared as integers, which
/// spares the call that compares the rest.
#[inline]
fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    a.len() == b.len()
        && match a.len() {
            0..4 => a.iter().eq(b),
            4..8 => has_same_ends::<4>(a, b),
            8..=16 => has_same_ends::<8>(a, b),
            _ => has_same_ends::<8>(a, b) && a == b,
        }
}

#[inline]
fn has_same_ends<const N: usize>(a: &[u8], b: &[u8]) -> bool {
    a.first_chunk::<N>() == b.first_chunk() && a.last_chunk::<N>() == b.last_chunk()
}

impl PartialEq<&str> for JsStr<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl fmt::Debug for JsStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.raw)
    }
}

impl fmt::Display for JsStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_lossy())
    }
}

/// An owned JavaScript string, kept as WTF-8. Equal strings have equal bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct JsString(Vec<u8>);

impl JsString {
    /// A string out of code units.
    pub fn from_units(units: impl IntoIterator<Item = u16>) -> Self {
        let mut out = Vec::new();
        for unit in units {
            push_unit(&mut out, unit);
        }
        Self(out)
    }

    /// Append a string. The halves of a character that meet at the seam become one.
    pub fn push(&mut self, text: JsStr<'_>) {
        text.decode_onto(&mut self.0);
    }

    /// Append an owned string, in the same way.
    pub fn push_string(&mut self, text: &JsString) {
        let seam = (self.0.as_slice(), text.0.as_slice());
        let mut rest = text.0.as_slice();
        if let ([.., 0xed, 0xa0..=0xaf, _], [0xed, mid @ 0xb0..=0xbf, low, tail @ ..]) = seam {
            let unit = 0xd000 | u16::from(mid & 0x3f) << 6 | u16::from(low & 0x3f);
            rest = tail;
            push_unit(&mut self.0, unit);
        }
        self.0.extend_from_slice(rest);
    }

    /// The WTF-8 bytes.
    pub fn as_wtf8(&self) -> &[u8] {
        &self.0
    }

    /// The string as UTF-8 when it has no lone surrogate.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The string as UTF-8, lone surrogates as U+FFFD.
    pub fn to_lossy(&self) -> Cow<'_, str> {
        lossy(&self.0)
    }

    /// The code units.
    pub fn units(&self) -> impl Iterator<Item = u16> {
        pieces(&self.0).flat_map(|(text, surrogate)| text.encode_utf16().chain(surrogate))
    }

    /// True when there are no code units.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for JsString {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl fmt::Debug for JsString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_lossy())
    }
}

impl fmt::Display for JsString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_lossy())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(raw: &str, units: &[u16]) {
        let s = JsStr::new(raw, true);
        assert_eq!(s.to_owned().units().collect::<Vec<_>>(), units, "{raw}");
        assert_eq!(JsString::from_units(units.iter().copied()), s.to_owned(), "{raw}");
    }

    #[test]
    fn escapes_become_code_units() {
        check(r"a\u0041\n\/", &[0x61, 0x41, 10, 0x2f]);
        check(r"\ud83d\ude00", &[0xd83d, 0xde00]);
        check(r"\ud83dx", &[0xd83d, 0x78]);
        check(r"\ude00\ud83d", &[0xde00, 0xd83d]);
        check("é\u{1f600}", &[0xe9, 0xd83d, 0xde00]);
    }

    #[test]
    fn a_pair_written_as_escapes_equals_the_character() {
        assert_eq!(JsStr::new(r"\ud83d\ude00", true), JsStr::plain("\u{1f600}"));
        assert_eq!(JsStr::new(r"\ud83d", true).to_lossy(), "\u{fffd}");
        assert!(JsStr::new(r"\u0074ype", true) == "type");
    }

    #[test]
    fn texts_of_every_length_differ_in_every_byte() {
        for len in 0..40 {
            let text = "x".repeat(len);
            assert_eq!(JsStr::plain(&text), JsStr::plain(&"x".repeat(len)));
            assert_ne!(JsStr::plain(&text), JsStr::plain(&"x".repeat(len + 1)));
            for at in 0..len {
                let mut other = text.clone();
                other.replace_range(at..=at, "y");
                assert_ne!(JsStr::plain(&text), JsStr::plain(&other), "{at} of {len}");
            }
        }
    }

    #[test]
    fn halves_of_a_character_join_at_the_seam() {
        let mut text = JsString::from("a");
        let mut joined = text.clone();
        for piece in [r"\ud83d", r"\ude00\udc00", "é"] {
            text.push(JsStr::new(piece, true));
            joined.push_string(&JsStr::new(piece, true).to_owned());
        }
        assert_eq!(joined, text);
        assert_eq!(text.units().collect::<Vec<_>>(), [0x61, 0xd83d, 0xde00, 0xdc00, 0xe9]);
        assert_eq!(text, JsStr::new(r"a\ud83d\ude00\udc00é", true).to_owned());
    }

    #[test]
    fn each_lone_surrogate_is_shown_as_one_replacement() {
        for (raw, shown) in [
            (r"\ud83d", "\u{fffd}"),
            (r"a\ude00\ud83db", "a\u{fffd}\u{fffd}b"),
            ("\u{fffd}\u{fffd}\u{fffd}\\udc00", "\u{fffd}\u{fffd}\u{fffd}\u{fffd}"),
        ] {
            let text = JsStr::new(raw, true);
            assert_eq!(text.to_lossy(), shown, "{raw}");
            assert_eq!(text.to_owned().to_lossy(), shown, "{raw}");
        }
    }
}
