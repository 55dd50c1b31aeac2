//! Zstandard frames to plain text, through libzstd's streaming interface, which the official reader uses too: what it
//! gives out of a cut frame is what the official reader recovers.

use zstd::zstd_safe::{self, DCtx, DParameter, InBuffer, OutBuffer};

use super::{CHUNK, Chunk, Chunks, Mark};
use crate::at::At;
use crate::error::{Error, ErrorKind, Result};
use crate::source::Source;

/// Frames that need a larger window are corrupt for the official reader, whose libzstd has this default.
const WINDOW_LOG_MAX: u32 = 27;
const INPUT: usize = 128 << 10;

/// Decompresses `at..end` of a source, frame behind frame.
struct Stream {
    source: Source,
    context: DCtx<'static>,
    input: Vec<u8>,
    /// How much of `input` has been used.
    used: usize,
    /// Offset in the file of the next byte that is not in `input` yet.
    at: u64,
    end: u64,
    frame: u64,
    /// Offset in the file at which the current frame begins.
    frame_start: u64,
    /// Plain bytes that the current frame has given so far.
    frame_plain: u64,
    frame_limit: u64,
    inside: bool,
}

impl Stream {
    fn new(source: Source, start: u64, end: u64, frame: u64, frame_limit: u64) -> Result<Self> {
        let mut context = DCtx::create();
        context.set_parameter(DParameter::WindowLogMax(WINDOW_LOG_MAX)).map_err(|code| {
            Error::from(ErrorKind::FrameDamaged { reason: zstd_safe::get_error_name(code) })
        })?;
        Ok(Stream {
            source,
            context,
            input: Vec::new(),
            used: 0,
            at: start,
            end,
            frame,
            frame_start: start,
            frame_plain: 0,
            frame_limit,
            inside: false,
        })
    }

    /// Offset in the file of the next byte to decompress.
    fn position(&self) -> u64 {
        self.at - (self.input.len() - self.used) as u64
    }

    fn fault(&self, kind: ErrorKind) -> Error {
        kind.at(At { frame: Some(self.frame), byte: Some(self.frame_start), ..At::default() })
    }

    /// Decompress into the spare capacity of `out`. Gives whether a frame ended; nothing when the input is used up.
    fn step(&mut self, out: &mut Vec<u8>) -> Result<Option<bool>> {
        if self.used == self.input.len() {
            let room = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
            self.input.resize(INPUT.min(room), 0);
            self.used = 0;
            let n = self.source.read_at(&mut self.input, self.at)?;
            self.at += n as u64;
            // An empty input still flushes what the decoder holds back.
        }
        let before = out.len();
        let mut input = InBuffer::around(&self.input);
        input.pos = self.used;
        let result = {
            let mut output = OutBuffer::around_pos(out, before);
            self.context.decompress_stream(&mut output, &mut input)
        };
        let moved = input.pos != self.used || out.len() != before;
        self.used = input.pos;
        self.inside = true;
        self.frame_plain += (out.len() - before) as u64;
        match result {
            Err(code) => Err(self.fault(ErrorKind::FrameDamaged { reason: zstd_safe::get_error_name(code) })),
            Ok(_) if self.frame_plain > self.frame_limit => {
                Err(self.fault(ErrorKind::Limit { what: "the text of one frame", limit: self.frame_limit }))
            }
            Ok(0) => {
                self.frame += 1;
                self.frame_start = self.position();
                self.frame_plain = 0;
                self.inside = false;
                Ok(Some(true))
            }
            Ok(_) if !moved => Ok(None),
            Ok(_) => Ok(Some(false)),
        }
    }

    fn at_end(&self) -> bool {
        self.position() >= self.end && !self.inside
    }
}

/// The plain text of the first frame, which must be exactly the header line; the line end is cut off. `line_limit` is
/// in bytes.
pub(crate) fn header_frame(source: &Source, end: u64, line_limit: u64) -> Result<Vec<u8>> {
    let mut stream = Stream::new(source.clone(), 0, end, 1, line_limit)?;
    let mut line = Vec::with_capacity(4 << 10);
    while stream.step(&mut line)? == Some(false) {
        if line.len() == line.capacity() {
            line.reserve(line.len());
        }
    }
    match line.pop() {
        Some(b'\n') if !line.contains(&b'\n') => Ok(line),
        _ => Err(ErrorKind::HeaderFrame.at(At { frame: Some(1), byte: Some(0), ..At::default() })),
    }
}

/// The plain text of the complete frames behind the first.
pub(crate) struct ZstdChunks {
    stream: Stream,
    /// A fault in a frame that other frames of the chunk stood before: they are handed on first.
    fault: Option<Error>,
}

impl ZstdChunks {
    /// Over `start..end`, which holds complete frames only; `frame` is the number of the first.
    pub(crate) fn new(source: Source, start: u64, end: u64, frame: u64, frame_limit: u64) -> Result<Self> {
        let stream = Stream::new(source, start, end, frame, frame_limit)?;
        Ok(ZstdChunks { stream, fault: None })
    }
}

impl Chunks for ZstdChunks {
    fn fill(&mut self, chunk: &mut Chunk) -> Result<bool> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let stream = &mut self.stream;
        chunk.bytes.reserve(CHUNK);
        while !stream.at_end() && chunk.bytes.len() < CHUNK {
            if !stream.inside {
                let mark = Mark { at: chunk.bytes.len(), frame: stream.frame, byte: stream.frame_start };
                chunk.marks.push(mark);
            }
            if chunk.bytes.len() == chunk.bytes.capacity() {
                break;
            }
            let fault = match stream.step(&mut chunk.bytes) {
                Ok(Some(_)) => continue,
                // The scan saw a complete frame and the decoder does not: they disagree about its structure.
                Ok(None) => stream.fault(ErrorKind::FrameDamaged { reason: "Src size is incorrect" }),
                Err(fault) => fault,
            };
            // The official reader takes a frame whole or not at all.
            let sound = chunk.marks.pop().map_or(0, |mark| mark.at);
            chunk.bytes.truncate(sound);
            if chunk.marks.is_empty() {
                return Err(fault);
            }
            self.fault = Some(fault);
            break;
        }
        Ok(!chunk.bytes.is_empty() || !chunk.marks.is_empty())
    }
}

/// The plain text of a torn last frame: what the decoder gives before it needs more input. An error drops all of it,
/// also what came before the error, so the frame is tried first and given out in a second pass.
pub(crate) struct TornFrame {
    stream: Option<Stream>,
}

impl TornFrame {
    /// Over `start..` to the end of the source; `frame` is its number.
    pub(crate) fn new(source: &Source, start: u64, frame: u64, frame_limit: u64) -> Result<Self> {
        let open = || Stream::new(source.clone(), start, source.len(), frame, frame_limit);
        let mut trial = open()?;
        let mut scratch = Vec::with_capacity(CHUNK);
        let sound = loop {
            scratch.clear();
            match trial.step(&mut scratch) {
                Ok(Some(false)) => {}
                Ok(Some(true) | None) => break true,
                Err(error) if matches!(error.kind(), ErrorKind::FrameDamaged { .. }) => break false,
                Err(error) => return Err(error),
            }
        };
        Ok(TornFrame { stream: if sound { Some(open()?) } else { None } })
    }
}

impl Chunks for TornFrame {
    fn fill(&mut self, chunk: &mut Chunk) -> Result<bool> {
        let Some(stream) = &mut self.stream else { return Ok(false) };
        chunk.bytes.reserve(CHUNK);
        if !stream.inside {
            chunk.marks.push(Mark { at: 0, frame: stream.frame, byte: stream.frame_start });
        }
        while chunk.bytes.len() < chunk.bytes.capacity() {
            if stream.step(&mut chunk.bytes)? != Some(false) {
                self.stream = None;
                break;
            }
        }
        Ok(!chunk.bytes.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::scan_frames;
    use super::*;

    fn source(bytes: &[u8]) -> Source {
        Source::new(Arc::new(bytes.to_vec()), bytes.len() as u64)
    }

    fn text(chunks: &mut dyn Chunks) -> (Vec<u8>, Vec<(u64, u64)>) {
        let (mut all, mut marks) = (Vec::new(), Vec::new());
        let mut chunk = Chunk::default();
        while chunks.fill(&mut chunk).unwrap() {
            marks.extend(chunk.marks.iter().map(|m| (m.frame, (all.len() + m.at) as u64)));
            all.extend_from_slice(&chunk.bytes);
            chunk.clear();
        }
        (all, marks)
    }

    #[test]
    fn frames_join_and_are_marked() {
        let parts: Vec<Vec<u8>> = (0u8..40).map(|i| vec![b'a' + i % 26; usize::from(i) * 20_000]).collect();
        let file: Vec<u8> = parts.iter().flat_map(|p| zstd::bulk::compress(p, 3).unwrap()).collect();
        let source = source(&file);
        let layout = scan_frames(&source, u64::MAX).unwrap();
        assert_eq!(layout.frames, 40);
        let mut chunks = ZstdChunks::new(source, 0, layout.complete_end, 1, u64::MAX).unwrap();
        let (all, marks) = text(&mut chunks);
        assert_eq!(all, parts.concat());
        let mut start = 0;
        for (i, part) in parts.iter().enumerate() {
            assert_eq!(marks[i], (i as u64 + 1, start));
            start += part.len() as u64;
        }
    }

    #[test]
    fn a_torn_frame_gives_its_complete_blocks_or_nothing_when_damaged() {
        let mut seed = 1u32;
        let plain: Vec<u8> = std::iter::repeat_with(|| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            b'a' + (seed >> 27) as u8
        })
        .take(300_000)
        .collect();
        let frame = zstd::bulk::compress(&plain, 3).unwrap();
        let cut = &frame[..frame.len() - 10];
        let (all, _) = text(&mut TornFrame::new(&source(cut), 0, 1, u64::MAX).unwrap());
        assert!(all.len() >= 256 << 10, "two whole blocks are there: {}", all.len());
        assert!(plain.starts_with(&all));
        let mut damaged = cut.to_vec();
        let late = damaged.len() - 20_000;
        damaged[late..late + 200].fill(0xff);
        let (all, _) = text(&mut TornFrame::new(&source(&damaged), 0, 1, u64::MAX).unwrap());
        assert!(all.is_empty() || plain.starts_with(&all) && all.len() > 128 << 10);
    }

    #[test]
    fn a_bomb_stops_at_the_limit() {
        let bomb = zstd::bulk::compress(&vec![0; 8 << 20], 19).unwrap();
        let end = bomb.len() as u64;
        let mut chunks = ZstdChunks::new(source(&bomb), 0, end, 1, 1 << 20).unwrap();
        let mut chunk = Chunk::default();
        let error = loop {
            chunk.clear();
            match chunks.fill(&mut chunk) {
                Ok(more) => assert!(more),
                Err(error) => break error,
            }
        };
        assert_eq!(error.code(), "limit");
    }
}
