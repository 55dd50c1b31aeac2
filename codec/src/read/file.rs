//! Opening a log file, and its header.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::at::Place;
use crate::error::{Error, ErrorKind, Result};
use crate::frame::{
    Ahead, FrameLayout, RawChunks, TornFrame, ZstdChunks, header_frame, scan_frames, scan_to_fault,
};
use crate::header::{CwdRule, Header, HeaderFault};
use crate::home::parse_name;
use crate::json::{Doc, Js};
use crate::line::{Lines, Start};
use crate::source::{ReadAt, Source, open_regular};
use crate::types::{Encoding, Generation};

use super::mark::Mark;
use super::reader::LogReader;

/// What this reader is willing to hold. The official reader has no limits of its own but those of its machine.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of one line. The official reader ends at 2^29 - 24 UTF-16 units.
    pub line: u64,
    /// Plain bytes of one frame.
    pub frame: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { line: 256 << 20, frame: 8 << 30 }
    }
}

/// Files below this size are decompressed on the reader's own thread.
const AHEAD_FROM: u64 = 256 << 10;

/// An opened log. It may be walked any number of times, each walk up to the length that it had when it was opened.
pub struct LogFile {
    pub(super) path: Option<PathBuf>,
    pub(super) generation: Generation,
    pub(super) encoding: Encoding,
    pub(super) source: Source,
}

impl LogFile {
    /// Open a log file. A canonical name says generation and encoding; of any other file the content does.
    pub fn open(path: &Path) -> Result<LogFile> {
        let fail = |source| Error::io("open", path, source);
        let file = open_regular(OpenOptions::new().read(true), path).map_err(fail)?;
        let len = file.metadata().map_err(fail)?.len();
        let source = Source::new(Arc::new(file), len);
        let named = path.file_name().and_then(parse_name);
        let (generation, encoding) = match named {
            Some(found) => found,
            None => sniff(&source).map_err(|e| e.in_file(path, None))?,
        };
        Ok(LogFile { path: Some(path.to_owned()), generation, encoding, source })
    }

    /// A log in memory.
    pub fn from_bytes(bytes: Vec<u8>, generation: Generation, encoding: Encoding) -> LogFile {
        let len = bytes.len() as u64;
        LogFile { path: None, generation, encoding, source: Source::new(Arc::new(bytes), len) }
    }

    /// A log out of any bytes that can be read at an offset, seen up to the length that they have now.
    pub fn from_source(
        bytes: Arc<dyn ReadAt>,
        generation: Generation,
        encoding: Encoding,
    ) -> Result<LogFile> {
        let len = bytes.len().map_err(|source| ErrorKind::Io { action: "open", source })?;
        Ok(LogFile { path: None, generation, encoding, source: Source::new(bytes, len) })
    }

    /// The same log under a name that its errors say.
    #[must_use]
    pub fn named(self, path: &Path) -> LogFile {
        LogFile { path: Some(path.to_owned()), ..self }
    }

    /// The file, when it is one, or the name that it was given.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The generation by name, or by content when the name is not canonical.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Raw or zstd.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Length in bytes when it was opened.
    pub fn len(&self) -> u64 {
        self.source.len()
    }

    /// True when it had no bytes.
    pub fn is_empty(&self) -> bool {
        self.source.len() == 0
    }

    /// Read and check the header, and no more than that needs.
    pub fn header(&self) -> Result<Header> {
        let read = || {
            let (line, _) = self.header_line(&Limits::default(), false)?;
            parse_header(&line, self.generation)
        };
        read().map_err(|e| self.locate(e))
    }

    /// Begin a walk over the events. The structure of all frames and the header are checked here.
    pub fn read(&self, limits: &Limits) -> Result<LogReader> {
        LogReader::new(self, *limits, false).map_err(|e| self.locate(e))
    }

    /// Begin a walk that a fault in the structure of later frames does not refuse: it ends with that fault, behind the
    /// events of the frames that stand before it.
    pub fn read_to_damage(&self, limits: &Limits) -> Result<LogReader> {
        LogReader::new(self, *limits, true).map_err(|e| self.locate(e))
    }

    /// Begin a walk behind a mark of an earlier one; nothing when the log no longer is what it was up to there. What stands
    /// behind is read as by [`LogFile::read_to_damage`].
    pub fn read_from(&self, mark: &Mark, limits: &Limits) -> Result<Option<LogReader>> {
        let open = || {
            if mark.fits(&self.source)? { LogReader::behind(self, mark, *limits).map(Some) } else { Ok(None) }
        };
        open().map_err(|e: Error| self.locate(e))
    }

    /// Begin a walk over the physical lines, header included, which are not looked at. Ends with the last complete
    /// line, or with the damage behind it.
    pub fn lines(&self, limits: &Limits) -> Result<RawLines> {
        let open = || {
            let start = Start { line: 1, offset: 0 };
            let (lines, torn, fault) = match self.encoding {
                Encoding::Raw => (raw_lines(&self.source, start, limits), None, None),
                Encoding::Zstd => {
                    let (layout, fault) = scan_to_fault(&self.source, u64::MAX);
                    let is_torn = fault.is_none() && layout.complete_end < self.source.len();
                    let lines = zstd_lines(&self.source, 0, layout, 1, start, limits)?;
                    (lines, is_torn.then_some(layout), fault)
                }
            };
            Ok(RawLines { lines, torn, fault, source: self.source.clone(), limits: *limits })
        };
        open().map_err(|e: Error| self.locate(e))
    }

    /// The header line without its line end, and the frames; a raw log has none. `whole` scans all of them first, as the
    /// official reader does before it looks at anything; else only the first.
    pub(super) fn header_line(&self, limits: &Limits, whole: bool) -> Result<(Vec<u8>, FrameLayout)> {
        match self.encoding {
            Encoding::Raw => {
                let chunks = Box::new(RawChunks::new(self.source.clone(), 0));
                let mut lines = Lines::new(chunks, Start { line: 1, offset: 0 }, limits.line);
                if !lines.advance()? {
                    return Err(ErrorKind::NoHeader.into());
                }
                Ok((lines.line().to_vec(), FrameLayout::default()))
            }
            Encoding::Zstd => {
                let layout = scan_frames(&self.source, if whole { u64::MAX } else { 1 })?;
                if layout.frames == 0 {
                    return Err(ErrorKind::NoHeader.into());
                }
                Ok((header_frame(&self.source, layout.first_end, limits.line)?, layout))
            }
        }
    }

    fn locate(&self, error: Error) -> Error {
        match &self.path {
            Some(path) => error.in_file(path, Some(self.generation)),
            None => error,
        }
    }
}

/// Generation and encoding of a file whose name does not say them.
fn sniff(source: &Source) -> Result<(Generation, Encoding)> {
    let mut magic = [0; 4];
    let n = source.read_at(&mut magic, 0)?;
    let encoding = if n == 4 && magic == [0x28, 0xb5, 0x2f, 0xfd] { Encoding::Zstd } else { Encoding::Raw };
    let probe = LogFile { path: None, generation: Generation::CURRENT, encoding, source: source.clone() };
    let version = probe.header_line(&Limits::default(), false).ok().and_then(|(line, _)| {
        let doc = Doc::parse(String::from_utf8_lossy(&line)).ok()?;
        doc.root().get("version").and_then(Js::as_count)
    });
    // Without a readable version the reader of the current generation says what is wrong.
    Ok((version.map_or(Generation::CURRENT, Generation), encoding))
}

/// Check a header line against the generation that the file name claims (`docs/spec/storage.md`, 3.2).
pub(super) fn parse_header(line: &[u8], generation: Generation) -> Result<Header> {
    let text = String::from_utf8_lossy(line);
    let mismatch = |header: String| Err(ErrorKind::VersionMismatch { name: generation, header }.into());
    let parsed = Header::parse(&text, CwdRule::Any);
    if let Err(HeaderFault::Retired(member)) = parsed {
        return Err(ErrorKind::HeaderRetired { member }.into());
    }
    let doc = Doc::parse(&*text).ok();
    let version = doc.as_ref().and_then(|doc| doc.root().get("version"));
    let count = version.and_then(Js::as_count);
    match count {
        Some(count) if count != generation.0 => {
            if generation == Generation::CURRENT && count > generation.0 {
                return Err(ErrorKind::Newer { version: count }.into());
            }
            return mismatch(count.to_string());
        }
        // The reader of the current generation refuses every other number before it looks at anything else.
        None if generation == Generation::CURRENT && version.is_some_and(|v| v.as_f64().is_some()) => {
            return mismatch(version.map(Js::raw).unwrap_or_default().chars().take(30).collect());
        }
        _ => {}
    }
    match parsed {
        Ok(header) => Ok(header),
        Err(HeaderFault::Newer(version)) => Err(ErrorKind::Newer { version }.into()),
        Err(HeaderFault::Malformed { what, .. }) => Err(ErrorKind::HeaderMalformed { what }.into()),
        Err(HeaderFault::Retired(member)) => Err(ErrorKind::HeaderRetired { member }.into()),
    }
}

pub(super) fn raw_lines(source: &Source, start: Start, limits: &Limits) -> Lines {
    Lines::new(Box::new(RawChunks::new(source.clone(), start.offset)), start, limits.line)
}

/// Lines of the complete frames from file offset `from` on.
pub(super) fn zstd_lines(
    source: &Source,
    from: u64,
    layout: FrameLayout,
    frame: u64,
    start: Start,
    limits: &Limits,
) -> Result<Lines> {
    let chunks = ZstdChunks::new(source.clone(), from, layout.complete_end, frame, limits.frame)?;
    let chunks: Box<dyn crate::frame::Chunks> = if layout.complete_end - from >= AHEAD_FROM {
        Box::new(Ahead::new(chunks).map_err(|source| ErrorKind::Io { action: "start a thread", source })?)
    } else {
        Box::new(chunks)
    };
    Ok(Lines::new(chunks, start, limits.line))
}

/// Lines of the torn frame behind the complete ones.
pub(super) fn torn_lines(
    source: &Source,
    layout: FrameLayout,
    start: Start,
    limits: &Limits,
) -> Result<Lines> {
    let torn = TornFrame::new(source, layout.complete_end, layout.frames + 1, limits.frame)?;
    Ok(Lines::new(Box::new(torn), start, limits.line))
}

/// A walk over physical lines.
pub struct RawLines {
    lines: Lines,
    torn: Option<FrameLayout>,
    /// Damage behind the lines.
    fault: Option<Error>,
    pub(super) source: Source,
    limits: Limits,
}

impl RawLines {
    /// The next line without its line end, and where it begins.
    pub fn next_line(&mut self) -> Result<Option<(&[u8], Place)>> {
        if !self.lines.advance()? {
            if let Some(fault) = self.fault.take() {
                return Err(fault);
            }
            let Some(layout) = self.torn.take() else { return Ok(None) };
            let start = Start { line: self.lines.next_number(), offset: self.lines.end_offset() };
            self.lines = torn_lines(&self.source, layout, start, &self.limits)?;
            if !self.lines.advance()? {
                return Ok(None);
            }
        }
        Ok(Some((self.lines.line(), self.lines.place())))
    }
}
