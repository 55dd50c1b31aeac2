//! The structural scan: which frames a file holds, without decompressing any (`docs/spec/storage.md`, 7.2).

use crate::at::At;
use crate::error::{Error, ErrorKind, Result};
use crate::source::Source;

/// What the scan of a whole file found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FrameLayout {
    /// Number of complete frames.
    pub(crate) frames: u64,
    /// Where the last complete frame ends. Bytes behind it are a torn frame.
    pub(crate) complete_end: u64,
    /// Where the first frame ends, which holds the header; 0 when it is not complete.
    pub(crate) first_end: u64,
}

const MAGIC: u32 = 0xFD2F_B528;

/// The first window is short, since most scans are for a header; the others need few system calls.
const FIRST_WINDOW: usize = 2 << 10;
const WINDOW: usize = 64 << 10;

/// Scan at most `limit` frames. An end of file inside a frame is a torn frame; anything structurally wrong before
/// that is an error.
pub(crate) fn scan_frames(source: &Source, limit: u64) -> Result<FrameLayout> {
    match scan_to_fault(source, limit) {
        (layout, None) => Ok(layout),
        (_, Some(fault)) => Err(fault),
    }
}

/// As [`scan_frames`], with the frames that stand before the fault.
pub(crate) fn scan_to_fault(source: &Source, limit: u64) -> (FrameLayout, Option<Error>) {
    scan_on(source, FrameLayout::default(), limit)
}

/// Go on behind what an earlier scan found; `limit` counts all frames.
pub(crate) fn scan_on(source: &Source, mut layout: FrameLayout, limit: u64) -> (FrameLayout, Option<Error>) {
    let mut window = Window { source, start: 0, bytes: Vec::new() };
    while layout.frames < limit && layout.complete_end < source.len() {
        let frame = layout.frames + 1;
        match scan_frame(&mut window, layout.complete_end) {
            Ok(Some(end)) => {
                layout.frames = frame;
                layout.complete_end = end;
                if frame == 1 {
                    layout.first_end = end;
                }
            }
            Ok(None) => break,
            Err((kind, byte)) => {
                let at = At { frame: Some(frame), byte: Some(byte), ..At::default() };
                return (layout, Some(kind.at(at)));
            }
        }
    }
    (layout, None)
}

type Fault = (ErrorKind, u64);

/// The end of the frame at `start`; nothing when the file ends before it does.
fn scan_frame(window: &mut Window<'_>, start: u64) -> Result<Option<u64>, Fault> {
    let mut at = start;
    let Some(magic) = window.number(at, 4)? else { return Ok(None) };
    if magic != MAGIC {
        return Err((ErrorKind::FrameMagic { found: magic }, start));
    }
    at += 4;
    let Some(descriptor) = window.number(at, 1)? else { return Ok(None) };
    // Bit 3 is reserved; bit 4 is unused, and the official reader refuses it too.
    if descriptor & 0x18 != 0 {
        return Err((ErrorKind::FrameReserved { what: "header bit" }, at));
    }
    at += 1;
    let single = descriptor & 0x20 != 0;
    let dictionary = [0, 1, 2, 4][(descriptor & 3) as usize];
    let content_size = match descriptor >> 6 {
        0 => u64::from(single),
        n => 1 << n,
    };
    at += u64::from(!single) + dictionary + content_size;
    loop {
        // A header that reaches beyond the end leaves no room for this block header either.
        let Some(header) = window.number(at, 3)? else { return Ok(None) };
        let (last, kind, size) = (header & 1 == 1, header >> 1 & 3, u64::from(header >> 3));
        if kind == 3 {
            return Err((ErrorKind::FrameReserved { what: "block type" }, at));
        }
        at += 3 + if kind == 1 { 1 } else { size };
        if at > window.source.len() {
            return Ok(None);
        }
        if last {
            break;
        }
    }
    if descriptor & 0x04 != 0 {
        at += 4;
    }
    Ok((at <= window.source.len()).then_some(at))
}

struct Window<'a> {
    source: &'a Source,
    start: u64,
    bytes: Vec<u8>,
}

impl Window<'_> {
    /// The little-endian number of `width` bytes at `at`; nothing when the file ends before.
    fn number(&mut self, at: u64, width: usize) -> Result<Option<u32>, Fault> {
        if at + width as u64 > self.source.len() {
            return Ok(None);
        }
        let end = self.start + self.bytes.len() as u64;
        if at < self.start || at + width as u64 > end {
            let want = if self.bytes.is_empty() { FIRST_WINDOW } else { WINDOW };
            self.bytes.resize(want, 0);
            let n = match self.source.read_at(&mut self.bytes, at) {
                Ok(n) => n,
                Err(error) => return Err((error.into_kind(), at)),
            };
            self.bytes.truncate(n);
            self.start = at;
        }
        let offset = usize::try_from(at - self.start).unwrap_or(usize::MAX);
        let bytes = self.bytes.get(offset..).and_then(|rest| rest.get(..width)).unwrap_or(&[]);
        Ok(Some(bytes.iter().rev().fold(0, |n, &b| n << 8 | u32::from(b))))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn scan(bytes: &[u8]) -> Result<(u64, u64), &'static str> {
        let source = Source::new(Arc::new(bytes.to_vec()), bytes.len() as u64);
        scan_frames(&source, u64::MAX).map(|l| (l.frames, l.complete_end)).map_err(|e| e.code())
    }

    // A frame with checksum and no content size, one raw block "ab".
    const FRAME: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x11, 0, 0, b'a', b'b', 1, 2, 3, 4];

    #[test]
    fn every_cut_of_the_last_frame_is_torn() {
        let two = [FRAME, FRAME].concat();
        for len in FRAME.len()..two.len() {
            assert_eq!(scan(&two[..len]), Ok((1, FRAME.len() as u64)), "{len}");
        }
        assert_eq!(scan(&two), Ok((2, two.len() as u64)));
        assert_eq!(scan(b""), Ok((0, 0)));
        assert_eq!(scan(&two[..3]), Ok((0, 0)));
    }

    #[test]
    fn structural_faults_are_errors() {
        let with = |at: usize, byte: u8| {
            let mut frame = FRAME.to_vec();
            frame[at] = byte;
            frame
        };
        assert_eq!(scan(&with(0, 0x50)), Err("frame-magic"));
        assert_eq!(scan(&with(4, 0x0c)), Err("frame-reserved"));
        assert_eq!(scan(&with(4, 0x14)), Err("frame-reserved"));
        assert_eq!(scan(&with(6, 0x17)), Err("frame-reserved"));
        // A reserved block type is an error even when the frame is also cut short.
        assert_eq!(scan(&with(6, 0x17)[..9]), Err("frame-reserved"));
        assert_eq!(scan(&[FRAME, b"\0\0\0\0"].concat()), Err("frame-magic"));
        assert_eq!(scan(&[FRAME, b"\0\0\0"].concat()), Ok((1, FRAME.len() as u64)));
    }
}
