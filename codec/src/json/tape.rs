//! One pass over JSON text, into a flat list of nodes.

use std::fmt;

use super::print::is_canonical;
use super::value::Js;

/// What a JSON value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `null`
    Null,
    /// `false`
    False,
    /// `true`
    True,
    /// A number, read as an IEEE double.
    Number,
    /// A string, maybe with lone surrogates.
    String,
    /// An array.
    Array,
    /// An object. Its children are key and value in turn.
    Object,
}

/// One value. `start..end` is its text (strings with their quotes), `next` the node behind its last descendant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) next: u32,
    pub(super) kind: Kind,
    /// Strings: has escapes. Numbers: more than a plain integer of at most 15 digits.
    pub(super) odd: bool,
}

/// Text that JavaScript would not parse: what was wrong, and at which byte of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// What stood there instead of JSON.
    pub what: &'static str,
    /// Byte offset in the text.
    pub offset: usize,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {} of the line", self.what, self.offset)
    }
}

impl std::error::Error for JsonError {}

/// The nodes of one parsed text. Reused from line to line, so that reading a log allocates once.
#[derive(Debug, Default)]
pub struct Tape {
    pub(super) nodes: Vec<Node>,
    open: Vec<u32>,
    pub(super) spaced: bool,
    /// The text came from this crate's printer: no member stands twice, and printing it gives the same text.
    pub(super) printed: bool,
}

/// Longest text a tape can hold: node offsets are 32 bits.
pub(super) const MAX_TEXT: usize = u32::MAX as usize - 1;

impl Tape {
    /// An empty tape.
    pub fn new() -> Self {
        Self::default()
    }

    /// Parse `text`, which must be one JSON value with nothing but white space around it.
    ///
    /// There is no limit of nesting, as in JavaScript.
    pub fn parse(&mut self, text: &str) -> Result<(), JsonError> {
        self.nodes.clear();
        self.open.clear();
        self.spaced = false;
        self.printed = false;
        if text.len() > MAX_TEXT {
            return Err(JsonError { what: "text beyond 4 GiB", offset: MAX_TEXT });
        }
        // Small texts are the rule, and their nodes come one by one.
        self.nodes.reserve((text.len() / 8).min(256));
        let parsed = Scan { bytes: text.as_bytes(), at: 0, tape: self }.document();
        if parsed.is_err() {
            self.nodes.clear();
        }
        parsed
    }

    /// Parse `text`, which was printed by this crate. So it needs no look at its spelling when it is printed again.
    pub fn parse_printed(&mut self, text: &str) -> Result<(), JsonError> {
        self.parse(text)?;
        debug_assert!(Js::root(text, self).is_some_and(is_canonical), "no printed text: {text}");
        self.printed = true;
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Holder {
    None,
    Array,
    Object,
}

struct Scan<'a, 't> {
    bytes: &'a [u8],
    at: usize,
    tape: &'t mut Tape,
}

impl Scan<'_, '_> {
    fn fail<T>(&self, what: &'static str) -> Result<T, JsonError> {
        let what = if self.at >= self.bytes.len() { "unexpected end" } else { what };
        Err(JsonError { what, offset: self.at })
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.tape.spaced = true;
            self.at += 1;
        }
    }

    // The text is at most `MAX_TEXT` long and a node takes at least one byte of it, so both counts fit.
    #[expect(clippy::cast_possible_truncation)]
    #[inline]
    fn push(&mut self, kind: Kind, start: usize, odd: bool) {
        let next = self.tape.nodes.len() as u32 + 1;
        self.tape.nodes.push(Node { start: start as u32, end: self.at as u32, next, kind, odd });
    }

    fn document(&mut self) -> Result<(), JsonError> {
        // The innermost open container, kept here since it is asked for behind every value.
        let mut holder = Holder::None;
        'value: loop {
            self.skip_space();
            match self.peek() {
                Some(b'{') => {
                    self.enter(Kind::Object);
                    self.skip_space();
                    if self.peek() == Some(b'}') {
                        self.leave();
                    } else {
                        self.key()?;
                        holder = Holder::Object;
                        continue 'value;
                    }
                }
                Some(b'[') => {
                    self.enter(Kind::Array);
                    self.skip_space();
                    if self.peek() == Some(b']') {
                        self.leave();
                    } else {
                        holder = Holder::Array;
                        continue 'value;
                    }
                }
                Some(b'"') => self.string()?,
                Some(b'-' | b'0'..=b'9') => self.number()?,
                Some(b't') => self.word(b"true", Kind::True)?,
                Some(b'f') => self.word(b"false", Kind::False)?,
                Some(b'n') => self.word(b"null", Kind::Null)?,
                _ => return self.fail("no JSON value"),
            }
            // Behind a value: go on in the innermost open container, or out of it.
            loop {
                self.skip_space();
                match (holder, self.peek()) {
                    (Holder::None, _) => break 'value,
                    (Holder::Array, Some(b',')) => {
                        self.at += 1;
                        continue 'value;
                    }
                    (Holder::Object, Some(b',')) => {
                        self.at += 1;
                        self.skip_space();
                        self.key()?;
                        continue 'value;
                    }
                    (Holder::Object, Some(b'}')) | (Holder::Array, Some(b']')) => holder = self.leave(),
                    _ => return self.fail("neither ',' nor the end of the container"),
                }
            }
        }
        self.skip_space();
        if self.at < self.bytes.len() { self.fail("text behind the value") } else { Ok(()) }
    }

    #[expect(clippy::cast_possible_truncation)]
    fn enter(&mut self, kind: Kind) {
        self.tape.open.push(self.tape.nodes.len() as u32);
        let start = self.at;
        self.at += 1;
        self.push(kind, start, false);
    }

    /// Close the innermost container. Gives the one around it.
    #[expect(clippy::cast_possible_truncation)]
    fn leave(&mut self) -> Holder {
        self.at += 1;
        let next = self.tape.nodes.len() as u32;
        if let Some(node) = self.tape.open.pop().and_then(|i| self.tape.nodes.get_mut(i as usize)) {
            node.end = self.at as u32;
            node.next = next;
        }
        match self.tape.open.last().and_then(|&i| self.tape.nodes.get(i as usize)) {
            None => Holder::None,
            Some(node) if node.kind == Kind::Object => Holder::Object,
            Some(_) => Holder::Array,
        }
    }

    fn key(&mut self) -> Result<(), JsonError> {
        if self.peek() != Some(b'"') {
            return self.fail("no member name");
        }
        self.string()?;
        self.skip_space();
        if self.peek() != Some(b':') {
            return self.fail("no ':' behind a member name");
        }
        self.at += 1;
        Ok(())
    }

    fn word(&mut self, word: &'static [u8], kind: Kind) -> Result<(), JsonError> {
        let start = self.at;
        if !self.bytes[start..].starts_with(word) {
            return self.fail("no JSON value");
        }
        self.at += word.len();
        self.push(kind, start, false);
        Ok(())
    }

    fn string(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        self.at += 1;
        let mut odd = false;
        loop {
            self.at = plain_run(self.bytes, self.at);
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    odd = true;
                    self.at += 1;
                    match self.peek() {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
                        Some(b'u') => {
                            let hex = self.bytes.get(self.at + 1..self.at + 5);
                            if !hex.is_some_and(|h| h.iter().all(u8::is_ascii_hexdigit)) {
                                return self.fail("bad \\u escape");
                            }
                            self.at += 5;
                        }
                        _ => return self.fail("bad escape"),
                    }
                }
                _ => return self.fail("control character in a string"),
            }
        }
        self.at += 1;
        self.push(Kind::String, start, odd);
        Ok(())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        if !self.peek().is_some_and(|b| b.is_ascii_digit()) {
            return self.fail("no digit");
        }
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        let mut odd = false;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let first = self.at;
        if self.peek() == Some(b'0') {
            self.at += 1;
            odd = start != first; // -0
        } else {
            self.digits()?;
        }
        odd |= self.at - first > 15;
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
            odd = true;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
            odd = true;
        }
        self.push(Kind::Number, start, odd);
        Ok(())
    }
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// The first byte from `at` on that is a quote, a backslash or a control character; the length when there is none.
///
/// Eight bytes at a time: the borrow of `x - ONES` can only mark bytes *above* a true hit, so the lowest mark is right.
#[inline]
pub(super) fn plain_run(bytes: &[u8], mut at: usize) -> usize {
    while let Some(word) = bytes.get(at..at + 8).and_then(|b| b.try_into().ok()) {
        let word = u64::from_le_bytes(word);
        let quote = word ^ (ONES * 0x22);
        let slash = word ^ (ONES * 0x5c);
        let hit = (quote.wrapping_sub(ONES) & !quote)
            | (slash.wrapping_sub(ONES) & !slash)
            | (word.wrapping_sub(ONES * 0x20) & !word);
        let hit = hit & HIGH;
        if hit != 0 {
            return at + (hit.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while let Some(&b) = bytes.get(at) {
        if b == b'"' || b == b'\\' || b < 0x20 {
            break;
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, good: bool) {
        assert_eq!(Tape::new().parse(text).is_ok(), good, "{text:?}");
    }

    #[test]
    fn accepts_what_javascript_accepts() {
        for text in
            ["0", "-0", "1e400", "1E+2", "\t[1 , 2]\r\n", "{}", "[]", r#"{"a":1,"a":2}"#, r#""\ud800""#]
        {
            check(text, true);
        }
        check(&format!("{}{}", "[".repeat(200_000), "]".repeat(200_000)), true);
    }

    #[test]
    fn refuses_what_javascript_refuses() {
        for text in [
            "",
            " ",
            "01",
            ".5",
            "1.",
            "+1",
            "1e",
            "-",
            "NaN",
            "[1,]",
            "{\"a\":1,}",
            "{a:1}",
            "'x'",
            "\"\\x41\"",
            "\"\u{1}\"",
            "\"\\u12g4\"",
            "[",
            "{\"a\"",
            "1 2",
            "tru",
            "\u{feff}1",
            "\u{a0}1",
            "[1}",
            "{]",
            "\"abc",
        ] {
            check(text, false);
        }
    }

    #[test]
    fn plain_run_stops_at_each_special_byte_at_each_place() {
        for len in 0..40 {
            for special in [b'"', b'\\', 0, 0x1f] {
                let mut bytes = vec![b'x'; len];
                assert_eq!(plain_run(&bytes, 0), len);
                for at in 0..len {
                    bytes[at] = special;
                    assert_eq!(plain_run(&bytes, 0), at);
                    bytes[at] = 0xff;
                }
            }
        }
    }
}
