//! Server-sent events, as both adapters read them (`docs/spec/messages-wire.md`, 7).
//!
//! Bytes may be cut anywhere. A frame is out as soon as the line end behind its blank line is known to be one: a CR is
//! none before the next byte has come, since an LF could follow. Where a read of the client ends in a CR, and no line end
//! comes in any later one, the client leaves that CR open; here it does not matter how the bytes were cut.

use std::borrow::Cow;

/// What stands in an event stream, besides what nobody reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SseItem {
    /// A frame with data.
    Frame(Frame),
    /// A comment. It only shows that somebody is there.
    Comment,
}

/// A frame with data. Those without are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// The last field `event`; nothing when there was none, or an empty one.
    pub event: Option<String>,
    /// The fields `data`, with line feeds between them.
    pub data: String,
}

/// Reads the framing of a body.
#[derive(Debug, Default)]
pub struct SseReader {
    /// The line so far.
    line: Vec<u8>,
    /// The first line is over, and so is the place of a byte order mark.
    begun: bool,
    /// The last byte was a CR.
    after_cr: bool,
    event: Option<String>,
    data: Option<String>,
}

impl SseReader {
    /// At the start of a body.
    pub fn new() -> Self {
        Self::default()
    }

    /// Take the next bytes, and hand what they complete to `see`, until that says that it has seen enough.
    pub fn push(&mut self, bytes: &[u8], mut see: impl FnMut(SseItem) -> bool) {
        let mut rest = bytes;
        loop {
            // Behind a CR the line is over, whatever comes; an LF belongs to it.
            if self.after_cr && !rest.is_empty() {
                self.after_cr = false;
                rest = rest.strip_prefix(b"\n").unwrap_or(rest);
                if !self.end_kept(&mut see) {
                    return;
                }
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', rest) else {
                self.line.extend_from_slice(rest);
                return;
            };
            let (line, tail) = rest.split_at(end);
            self.after_cr = tail.first() == Some(&b'\r');
            rest = tail.get(1..).unwrap_or_default();
            // Most lines come whole, and are read where they are.
            if !self.after_cr && self.line.is_empty() {
                if !self.end_line(line, &mut see) {
                    return;
                }
                continue;
            }
            self.line.extend_from_slice(line);
            if !self.after_cr && !self.end_kept(&mut see) {
                return;
            }
        }
    }

    /// The line so far is complete. False when `see` has seen enough.
    fn end_kept(&mut self, see: &mut impl FnMut(SseItem) -> bool) -> bool {
        let mut line = std::mem::take(&mut self.line);
        let goes_on = self.end_line(&line, see);
        line.clear();
        self.line = line;
        goes_on
    }

    /// A line is complete. False when `see` has seen enough.
    fn end_line(&mut self, mut line: &[u8], see: &mut impl FnMut(SseItem) -> bool) -> bool {
        if !std::mem::replace(&mut self.begun, true) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        // No character has a line end in it, so a line decodes as it would inside the whole.
        let line = str::from_utf8(line).map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed);
        if line.is_empty() {
            let event = self.event.take();
            return match self.data.take() {
                Some(data) => see(SseItem::Frame(Frame { event, data })),
                None => true,
            };
        }
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "" => return see(SseItem::Comment),
            "event" => self.event = (!value.is_empty()).then(|| value.to_owned()),
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            _ => {}
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &[u8], piece: usize) -> Vec<SseItem> {
        let (mut reader, mut items) = (SseReader::new(), Vec::new());
        for bytes in body.chunks(piece) {
            reader.push(bytes, |item| {
                items.push(item);
                true
            });
        }
        items
    }

    #[track_caller]
    fn check(body: impl AsRef<[u8]>, expected: &[(Option<&str>, &str)]) {
        let body = body.as_ref();
        for piece in 1..=body.len().max(1) {
            let found = read(body, piece);
            let frames: Vec<_> = found
                .iter()
                .filter_map(|item| match item {
                    SseItem::Frame(frame) => Some((frame.event.as_deref(), &*frame.data)),
                    SseItem::Comment => None,
                })
                .collect();
            assert_eq!(frames, expected, "{} in pieces of {piece}", String::from_utf8_lossy(body));
        }
    }

    /// One row a sentence of section 7.
    #[test]
    fn what_is_a_frame() {
        check("data: a\n\n", &[(None, "a")]);
        check("\u{feff}data: a\n\ndata: b\n\n", &[(None, "a"), (None, "b")]);
        check("\u{feff}\u{feff}data: a\n\n", &[]);
        check("data: a\n\n\u{feff}data: b\n\n", &[(None, "a")]);
        for end in ["\n", "\r\n", "\r"] {
            check(
                format!("event: e{end}data: a{end}{end}data: b{end}{end}:"),
                &[(Some("e"), "a"), (None, "b")],
            );
        }
        check("event: e\rdata: a\r\n\ndata: b\n\r\n", &[(Some("e"), "a"), (None, "b")]);
        check("data: a\ndata: b\ndata:\n\n", &[(None, "a\nb\n")]);
        check(b"data: a\xe9\xf0\x9f\xffb\n\n", &[(None, "a\u{fffd}\u{fffd}\u{fffd}b")]);
        check("data: \u{1f600}\n\n", &[(None, "\u{1f600}")]);
        check("data:a\ndata:  b:c\n\n", &[(None, "a\n b:c")]);
        check("data\n\n", &[(None, "")]);
        check("data:\n\n", &[(None, "")]);
        check("id: 1\nretry: 5\nfoo: bar\nDATA: x\ndata: a\n\n", &[(None, "a")]);
        check(": heartbeat\n\ndata: a\n: more\n\n", &[(None, "a")]);
        check("event: e\n\ndata: a\n\n", &[(None, "a")]);
        check("event: e\nevent: f\ndata: a\n\n", &[(Some("f"), "a")]);
        check("event:\ndata: a\n\n", &[(None, "a")]);
        check("event: e\nevent:\ndata: a\n\n", &[(None, "a")]);
        // An unterminated last frame is none.
        check("data: a\n\ndata: b\n", &[(None, "a")]);
        check("data: a\n\ndata: b", &[(None, "a")]);
        // A CR as the last byte is no line end.
        check("data: a\r\r", &[]);
        check("data: a\r\rdata: b\r\r", &[(None, "a")]);
        check("data: a\n\r", &[]);
        check("data: a\r\n\r\n", &[(None, "a")]);
        check("", &[]);
        check("\n\n\n", &[]);
    }

    #[test]
    fn comments_are_seen() {
        let items = read(b": a\n:\n\ndata: x\n\n", 3);
        let comments = items.iter().filter(|item| **item == SseItem::Comment).count();
        assert_eq!((items.len(), comments), (3, 2));
    }

    #[test]
    fn whoever_has_seen_enough_is_shown_no_more() {
        let mut seen = 0;
        SseReader::new().push(b"data: a\n\ndata: b\n\n", |_| {
            seen += 1;
            false
        });
        assert_eq!(seen, 1);
    }
}
