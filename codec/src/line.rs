//! Lines out of chunks (`docs/spec/storage.md`, section 6). Split at `\n` only, on bytes.

use crate::at::Place;
use crate::error::{ErrorKind, Result};
use crate::frame::{Chunk, Chunks};

/// Splits plain text into lines that know where they stand.
pub(crate) struct Lines {
    chunks: Box<dyn Chunks>,
    chunk: Chunk,
    /// Begin of the next line in the chunk.
    at: usize,
    /// Marks of the chunk that have been passed.
    passed: usize,
    /// A line that began in an earlier chunk.
    carry: Vec<u8>,
    /// The last line is in `carry`, else in the chunk, at this range.
    in_carry: bool,
    line: (usize, usize),
    place: Place,
    /// Frame in which the next line begins.
    frame: u64,
    frame_byte: u64,
    next_line: u64,
    /// Bytes of plain text up to the next line; in raw logs the offset in the file.
    offset: u64,
    limit: u64,
    ended: bool,
}

/// Where a walk over lines begins.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    /// Number of the next line.
    pub(crate) line: u64,
    /// Offset of the next line in the text.
    pub(crate) offset: u64,
}

impl Lines {
    /// Lines of at most `limit` bytes each.
    pub(crate) fn new(chunks: Box<dyn Chunks>, start: Start, limit: u64) -> Self {
        Lines {
            chunks,
            chunk: Chunk::default(),
            at: 0,
            passed: 0,
            carry: Vec::new(),
            in_carry: false,
            line: (0, 0),
            place: Place::default(),
            frame: 0,
            frame_byte: 0,
            next_line: start.line,
            offset: start.offset,
            limit,
            ended: false,
        }
    }

    /// Go to the next complete line. False when there is none; text without a line end may be left, see
    /// [`Lines::has_rest`].
    pub(crate) fn advance(&mut self) -> Result<bool> {
        if self.in_carry {
            self.carry.clear();
            self.in_carry = false;
        }
        let mut begun = !self.carry.is_empty();
        loop {
            if !begun && self.at < self.chunk.bytes.len() {
                self.begin();
                begun = true;
            }
            let rest = self.chunk.bytes.get(self.at..).unwrap_or(&[]);
            if let Some(length) = memchr::memchr(b'\n', rest) {
                let end = self.at + length;
                if self.carry.is_empty() {
                    self.line = (self.at, end);
                } else {
                    self.carry.extend_from_slice(&rest[..length]);
                    self.in_carry = true;
                }
                self.at = end + 1;
                let whole = if self.in_carry { self.carry.len() } else { length };
                self.check_limit(whole)?;
                self.offset += whole as u64 + 1;
                self.next_line += 1;
                return Ok(true);
            }
            self.carry.extend_from_slice(rest);
            self.check_limit(self.carry.len())?;
            self.pass_marks(self.chunk.bytes.len());
            self.at = 0;
            self.passed = 0;
            self.chunk.clear();
            if self.ended || !self.chunks.fill(&mut self.chunk)? {
                self.ended = true;
                return Ok(false);
            }
        }
    }

    /// The line, without its line end.
    pub(crate) fn line(&self) -> &[u8] {
        if self.in_carry {
            &self.carry
        } else {
            self.chunk.bytes.get(self.line.0..self.line.1).unwrap_or(&[])
        }
    }

    /// Where the line begins.
    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// Number of the line behind the last one.
    pub(crate) fn next_number(&self) -> u64 {
        self.next_line
    }

    /// Offset of the first byte behind the line and its line end.
    pub(crate) fn end_offset(&self) -> u64 {
        self.offset
    }

    /// True when text without a line end stands behind the last line.
    pub(crate) fn has_rest(&self) -> bool {
        !self.in_carry && !self.carry.is_empty()
    }

    /// Remember where the line that begins at `self.at` stands.
    fn begin(&mut self) {
        self.pass_marks(self.at);
        let byte = if self.frame == 0 { self.offset } else { self.frame_byte };
        self.place = Place { frame: self.frame, line: self.next_line, byte };
    }

    fn pass_marks(&mut self, upto: usize) {
        while let Some(mark) = self.chunk.marks.get(self.passed).filter(|mark| mark.at <= upto) {
            self.frame = mark.frame;
            self.frame_byte = mark.byte;
            self.passed += 1;
        }
    }

    fn check_limit(&self, length: usize) -> Result<()> {
        if length as u64 > self.limit {
            return Err(ErrorKind::Limit { what: "a line", limit: self.limit }.at_place(self.place));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Mark;

    /// Chunks given as (text, marks).
    struct Given(Vec<(Vec<u8>, Vec<Mark>)>);

    impl Chunks for Given {
        fn fill(&mut self, chunk: &mut Chunk) -> Result<bool> {
            if self.0.is_empty() {
                return Ok(false);
            }
            let (bytes, marks) = self.0.remove(0);
            *chunk = Chunk { bytes, marks };
            Ok(true)
        }
    }

    fn walk(chunks: Vec<(Vec<u8>, Vec<Mark>)>) -> (Vec<(String, Place)>, bool) {
        let mut lines = Lines::new(Box::new(Given(chunks)), Start { line: 1, offset: 0 }, 1000);
        let mut all = Vec::new();
        while lines.advance().unwrap() {
            all.push((String::from_utf8(lines.line().to_vec()).unwrap(), lines.place()));
        }
        assert!(!lines.advance().unwrap());
        (all, lines.has_rest())
    }

    #[test]
    fn any_chunking_gives_the_same_lines() {
        let text = b"one\n\nthree is longer\nfour\nrest";
        let whole = walk(vec![(text.to_vec(), vec![])]);
        assert_eq!(whole.0.len(), 4);
        assert_eq!(whole.0[2].1, Place { frame: 0, line: 3, byte: 5 });
        assert!(whole.1);
        for first in 0..text.len() {
            for second in first..text.len() {
                let parts = [&text[..first], &text[first..second], &text[second..]];
                let chunks = parts.iter().filter(|p| !p.is_empty()).map(|p| (p.to_vec(), vec![])).collect();
                assert_eq!(walk(chunks), whole, "{first} {second}");
            }
        }
    }

    #[test]
    fn a_line_belongs_to_the_frame_in_which_it_begins() {
        let mark = |at, frame, byte| Mark { at, frame, byte };
        let (lines, rest) = walk(vec![
            (b"a\nb".to_vec(), vec![mark(0, 2, 10), mark(2, 3, 20)]),
            (b"b\nc\n".to_vec(), vec![mark(0, 4, 30), mark(2, 5, 40), mark(2, 6, 50)]),
        ]);
        let frames: Vec<_> =
            lines.iter().map(|(text, place)| (text.as_str(), place.frame, place.byte)).collect();
        assert_eq!(frames, [("a", 2, 10), ("bb", 3, 20), ("c", 6, 50)]);
        assert!(!rest);
    }
}
