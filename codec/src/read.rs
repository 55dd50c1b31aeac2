//! Reading a log: container, lines, rows, events, one walk at a time (`docs/spec/storage.md`, sections 7 to 9;
//! `docs/spec/rows.md`, section 10).
//!
//! A walk yields the events of the committed prefix as it finds them, and learns only at the end whether the log as a
//! whole is sound: damage that is followed by a readable `turn/end` is an error, damage that is not is a torn tail. Who
//! must not show events of a refused log walks twice; [`LogFile`] pins the length, so both walks see the same bytes.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::at::{At, Place};
use crate::check::Rule;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Envelope, Event};
use crate::frame::{Ahead, FrameLayout, RawChunks, TornFrame, ZstdChunks, header_frame, scan_frames};
use crate::generation::{EndSeed, Rules};
use crate::header::{CwdRule, Header, HeaderFault};
use crate::home::parse_name;
use crate::json::{Doc, Js, Tape};
use crate::line::{Lines, Start};
use crate::pack::{PackedRow, Walk as MemberWalk};
use crate::source::{ReadAt, Source};
use crate::types::{Encoding, Generation, Seq};

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
    path: Option<PathBuf>,
    generation: Generation,
    encoding: Encoding,
    source: Source,
}

impl LogFile {
    /// Open a log file. A canonical name says generation and encoding; of any other file the content does.
    pub fn open(path: &Path) -> Result<LogFile> {
        let fail = |action| move |source| Error::io(action, path, source);
        // Looked at before it is opened: opening a pipe would wait for a writer.
        let metadata = std::fs::metadata(path).map_err(fail("open"))?;
        if !metadata.is_file() {
            let kind =
                if metadata.is_dir() { io::ErrorKind::IsADirectory } else { io::ErrorKind::InvalidInput };
            return Err(fail("read")(io::Error::new(kind, "not a regular file")));
        }
        let file = File::open(path).map_err(fail("open"))?;
        let len = file.metadata().map_err(fail("open"))?.len();
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

    /// The file, when it is one.
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
        LogReader::new(self, *limits).map_err(|e| self.locate(e))
    }

    /// Begin a walk over the physical lines, header included, which are not looked at. Ends with the last complete line.
    pub fn lines(&self, limits: &Limits) -> Result<RawLines> {
        let open = || {
            let (chunks, torn) = match self.encoding {
                Encoding::Raw => (None, None),
                Encoding::Zstd => {
                    let layout = scan_frames(&self.source, u64::MAX)?;
                    (Some(layout), (layout.complete_end < self.source.len()).then_some(layout))
                }
            };
            let lines = match chunks {
                None => raw_lines(&self.source, Start { line: 1, offset: 0 }, limits),
                Some(layout) => zstd_lines(&self.source, 0, layout, 1, Start { line: 1, offset: 0 }, limits)?,
            };
            Ok(RawLines { lines, torn, source: self.source.clone(), limits: *limits })
        };
        open().map_err(|e: Error| self.locate(e))
    }

    /// The header line without its line end, and the offset in the file behind it. `whole` scans all frames first, as
    /// the official reader does before it looks at anything.
    fn header_line(&self, limits: &Limits, whole: bool) -> Result<(Vec<u8>, FrameLayout)> {
        match self.encoding {
            Encoding::Raw => {
                let chunks = Box::new(RawChunks::new(self.source.clone(), 0));
                let mut lines = Lines::new(chunks, Start { line: 1, offset: 0 }, limits.line);
                if !lines.advance()? {
                    return Err(ErrorKind::NoHeader.into());
                }
                let layout = FrameLayout { frames: 0, complete_end: lines.end_offset() };
                Ok((lines.line().to_vec(), layout))
            }
            Encoding::Zstd => {
                let layout = scan_frames(&self.source, if whole { u64::MAX } else { 1 })?;
                if layout.frames == 0 {
                    return Err(ErrorKind::NoHeader.into());
                }
                Ok((header_frame(&self.source, layout.complete_end, limits.line)?, layout))
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

/// Read and check the header of a log file, and no more than that needs.
pub fn read_header(path: &Path) -> Result<Header> {
    LogFile::open(path)?.header()
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
fn parse_header(line: &[u8], generation: Generation) -> Result<Header> {
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

fn raw_lines(source: &Source, start: Start, limits: &Limits) -> Lines {
    Lines::new(Box::new(RawChunks::new(source.clone(), start.offset)), start, limits.line)
}

/// Lines of the complete frames from file offset `from` on.
fn zstd_lines(
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
fn torn_lines(source: &Source, layout: FrameLayout, start: Start, limits: &Limits) -> Result<Lines> {
    let torn = TornFrame::new(source, layout.complete_end, layout.frames + 1, limits.frame)?;
    Ok(Lines::new(Box::new(torn), start, limits.line))
}

/// A walk over physical lines.
pub struct RawLines {
    lines: Lines,
    torn: Option<FrameLayout>,
    source: Source,
    limits: Limits,
}

impl RawLines {
    /// The next line without its line end, and where it begins.
    pub fn next_line(&mut self) -> Result<Option<(&[u8], Place)>> {
        if !self.lines.advance()? {
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

/// What a walk has found at the end of a log that it accepts.
#[derive(Debug, Default)]
pub struct End {
    /// Number of events.
    pub events: u64,
    /// Number of leading events that were copied from the parent (`inheritedEventCount`).
    pub cut: u64,
    /// The official torn report; only logs of the current generation have one.
    pub torn: Option<Torn>,
    /// Bytes of the file behind the committed prefix: in raw logs behind the last accepted row, in compressed ones from
    /// the frame on in which the first damage lies.
    pub dropped_bytes: u64,
    /// The damage at which the tail begins.
    pub issue: Option<Error>,
}

/// What the next append of the real runtime would do to a torn log (`docs/spec/storage.md`, 8.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn {
    /// It would first cut the file to this many bytes.
    pub truncate_to: u64,
    /// Events that it would then write again.
    pub recovered: u64,
}

/// A walk over the events of a log. Lends one event at a time; memory is one line and a few chunks.
pub struct LogReader {
    header: Header,
    header_line: String,
    path: Option<PathBuf>,
    rules: Rules,
    encoding: Encoding,
    source: Source,
    limits: Limits,
    lines: Lines,
    /// Zstd: the frames. Taken when the torn frame has been entered.
    layout: Option<FrameLayout>,
    in_torn: bool,
    text: String,
    tape: Tape,
    row: Row,
    /// The current event of a packed row.
    member: String,
    member_tape: Tape,
    walk: Walk,
    end: Option<End>,
}

/// What `text` and `tape` hold.
enum Row {
    None,
    Event { seq: Seq, place: Place },
    Packed { walk: MemberWalk, seq: Seq, place: Place },
}

/// State of the walk over rows.
#[derive(Default)]
struct Walk {
    /// Number of accepted rows and members, the next seq.
    count: u64,
    /// Number of events handed out; lower than `count` behind an issue of `check_event`.
    emitted: u64,
    /// A line that was not JSON, where that is told apart.
    syntax: Option<Error>,
    /// A row of bad shape, or a gap.
    issue: Option<Error>,
    /// An event that broke a rule of V3.
    event_issue: Option<Error>,
    /// Seq of the last inherited end-seed marker.
    marker: Option<u64>,
    committed: u64,
    recovered: u64,
    first_issue: Option<Place>,
}

impl LogReader {
    fn new(log: &LogFile, limits: Limits) -> Result<LogReader> {
        let rules = Rules::of(log.generation).ok_or(ErrorKind::Newer { version: log.generation.0 });
        let (line, layout) = log.header_line(&limits, true)?;
        let header = parse_header(&line, log.generation)?;
        let rules = rules?;
        let start = Start { line: 2, offset: line.len() as u64 + 1 };
        let source = &log.source;
        let (lines, layout) = match log.encoding {
            Encoding::Raw => (raw_lines(source, start, &limits), None),
            Encoding::Zstd => {
                let first = scan_frames(source, 1)?;
                (zstd_lines(source, first.complete_end, layout, 2, start, &limits)?, Some(layout))
            }
        };
        Ok(LogReader {
            header,
            header_line: String::from_utf8_lossy(&line).into_owned(),
            path: log.path.clone(),
            rules,
            encoding: log.encoding,
            source: source.clone(),
            limits,
            walk: Walk { committed: start.offset, ..Walk::default() },
            lines,
            layout,
            in_torn: false,
            text: String::new(),
            tape: Tape::new(),
            row: Row::None,
            member: String::new(),
            member_tape: Tape::new(),
            end: None,
        })
    }

    /// The header as stored.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The header line, without its line end.
    pub fn header_line(&self) -> &str {
        &self.header_line
    }

    /// What was found, once [`LogReader::next_event`] has given nothing.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// The next event; packed rows come as their single events. Nothing at the end of the committed prefix.
    ///
    /// An error refuses the log; what was handed out before it is what stands in front of the damage.
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>> {
        if self.end.is_some() {
            return Ok(None);
        }
        match self.advance() {
            Ok(false) => Ok(None),
            Ok(true) => self.current().map(Some),
            Err(error) => Err(self.locate(error)),
        }
    }

    fn locate(&self, error: Error) -> Error {
        match &self.path {
            Some(path) => error.in_file(path, Some(self.rules.generation)),
            None => error,
        }
    }

    /// The event that [`LogReader::advance`] stopped at.
    fn current(&mut self) -> Result<Event<'_>> {
        let (text, tape, seq, place) = match &self.row {
            Row::Packed { seq, place, .. } => (&*self.member, &self.member_tape, *seq, *place),
            Row::Event { seq, place } => (&*self.text, &self.tape, *seq, *place),
            Row::None => return Err(ErrorKind::Changed.into()),
        };
        // The tape was filled from this text just before.
        let row = Js::root(text, tape).ok_or(ErrorKind::Changed)?;
        Ok(Event::new(row, &Envelope::read(row), seq, place))
    }

    /// Go to the next event. False at the end, with `self.end` filled.
    fn advance(&mut self) -> Result<bool> {
        loop {
            if self.next_member()? {
                return Ok(true);
            }
            if !self.lines.advance()? {
                if self.enter_torn_frame()? {
                    continue;
                }
                self.end = Some(self.finish()?);
                return Ok(false);
            }
            if self.take_line()? {
                return Ok(true);
            }
        }
    }

    /// The next event of a packed row, into `member` and its tape.
    fn next_member(&mut self) -> Result<bool> {
        let Row::Packed { walk, seq, place } = &mut self.row else { return Ok(false) };
        let packed = Js::root(&self.text, &self.tape).and_then(|row| PackedRow::reopen(row).ok());
        let Some((packed, (next, delta))) = packed.and_then(|packed| Some((packed, packed.step(walk)?)))
        else {
            self.row = Row::None;
            return Ok(false);
        };
        *seq = next;
        let mut printed = std::mem::take(&mut self.member).into_bytes();
        printed.clear();
        packed.print_event(next, &delta, &mut printed);
        // The printer writes lone surrogates as escapes, so this is always UTF-8.
        self.member = String::from_utf8(printed).unwrap_or_default();
        self.member_tape.parse(&self.member).map_err(|e| ErrorKind::RowSyntax(e).at_place(*place))?;
        self.walk.emitted += 1;
        Ok(true)
    }

    /// Behind the complete frames: the checks that are made there, and the torn frame if there is one.
    fn enter_torn_frame(&mut self) -> Result<bool> {
        let Some(layout) = self.layout.take() else { return Ok(false) };
        if let Some(issue) = self.walk.any_issue()
            && !self.rules.tail_in_frames
        {
            return Err(issue);
        }
        if self.lines.has_rest() {
            return Err(ErrorKind::FrameEndsInRow.at_place(self.lines.place()));
        }
        if layout.complete_end == self.source.len() {
            return Ok(false);
        }
        let start = Start { line: self.lines.next_number(), offset: self.lines.end_offset() };
        self.lines = torn_lines(&self.source, layout, start, &self.limits)?;
        self.in_torn = true;
        self.walk.committed = layout.complete_end;
        Ok(true)
    }

    /// Look at the line. True when it holds an event, or the first of several, that belongs to the prefix.
    fn take_line(&mut self) -> Result<bool> {
        self.row = Row::None;
        let place = self.lines.place();
        self.text.clear();
        match std::str::from_utf8(self.lines.line()) {
            Ok(text) => self.text.push_str(text),
            // As the official reader decodes: damaged sequences become U+FFFD and are no error.
            Err(_) => self.text.push_str(&String::from_utf8_lossy(self.lines.line())),
        }
        if let Err(error) = self.tape.parse(&self.text) {
            let fault = ErrorKind::RowSyntax(error).at_place(place);
            self.walk.note(|walk| &mut walk.syntax, fault.at_seq(Seq(self.walk.count)), place);
            return Ok(false);
        }
        let Some(row) = Js::root(&self.text, &self.tape) else { return Ok(false) };
        let envelope = Envelope::read(row);
        let is_turn_end = row.is_object() && envelope.kind.is_some_and(|kind| kind.is("turn/end"));
        let next = Seq(self.walk.count);
        let rules = self.rules;
        let admit = |row| match rules.admit {
            Some(admit) => admit(row).map_err(|fault| fault.at(At::place(place).seq(next))),
            None => Ok(()),
        };

        if rules.admit_behind_syntax {
            admit(row)?;
        }
        if self.walk.syntax.is_some() {
            return if is_turn_end {
                Err(self.walk.any_issue().unwrap_or(ErrorKind::Changed.into()))
            } else {
                Ok(false)
            };
        }
        if !rules.admit_behind_syntax {
            admit(row)?;
        }
        let shape = match shape(row, &envelope, &rules) {
            Ok(shape) => shape,
            Err(what) => {
                let fault = ErrorKind::RowShape { what }.at_place(place).at_seq(next);
                self.walk.note(|walk| &mut walk.issue, fault, place);
                return if is_turn_end && !rules.forgives_turn_end {
                    Err(self.walk.take_issue())
                } else {
                    Ok(false)
                };
            }
        };
        if self.walk.issue.is_some() {
            return if is_turn_end { Err(self.walk.take_issue()) } else { Ok(false) };
        }
        let is_next = match &shape {
            Shape::Packed(packed) => packed.seq0 == next,
            // Numeric equality, in which -0 is 0.
            Shape::Event => envelope.seq.is_some_and(|seq| {
                seq.as_count() == Some(next.0) || (next.0 == 0 && seq.as_f64() == Some(0.0))
            }),
        };
        if !is_next {
            let found = envelope.seq.map_or("none".into(), |seq| seq.raw().chars().take(30).collect());
            let fault = ErrorKind::RowGap { expected: next, found }.at_place(place).at_seq(next);
            self.walk.note(|walk| &mut walk.issue, fault, place);
            return if is_turn_end { Err(self.walk.take_issue()) } else { Ok(false) };
        }
        match shape {
            Shape::Packed(packed) => {
                self.row = Row::Packed { walk: packed.walk(), seq: packed.seq0, place };
                self.walk.accept(packed.len() as u64, self.lines.end_offset(), self.in_torn);
                self.next_member()
            }
            Shape::Event => self.take_event(place),
        }
    }

    /// The row in `text` is a single event with the next seq.
    fn take_event(&mut self, place: Place) -> Result<bool> {
        let Some(row) = Js::root(&self.text, &self.tape) else { return Ok(false) };
        let seq = Seq(self.walk.count);
        let event = Event::new(row, &Envelope::read(row), seq, place);
        let is_end_seed = event.is("session/end-seed");
        if is_end_seed && !event.data.is_some_and(Js::is_object) {
            let fault = || {
                ErrorKind::RowShape { what: "`data` of an end-seed marker is no object" }
                    .at_place(place)
                    .at_seq(seq)
            };
            match self.rules.end_seed {
                EndSeed::Free => {}
                EndSeed::Hard => return Err(fault()),
                EndSeed::Soft => {
                    self.walk.note(|walk| &mut walk.issue, fault(), place);
                    return Ok(false);
                }
            }
        }
        let is_turn_end = event.is("turn/end");
        let inherited = is_end_seed && event.member("inherited").is_some_and(Js::is_true);
        if self.walk.event_issue.is_none()
            && let Some(check) = self.rules.check_event
            && let Err(what) = check(&event)
        {
            let fault = ErrorKind::RowShape { what }.at_place(place).at_seq(seq);
            self.walk.note(|walk| &mut walk.event_issue, fault, place);
        }
        if let Some(issue) = &mut self.walk.event_issue {
            if is_turn_end {
                return Err(std::mem::replace(issue, ErrorKind::Changed.into()));
            }
            self.walk.count += 1;
            return Ok(false);
        }
        if inherited {
            self.walk.marker = Some(seq.0);
        }
        self.walk.accept(1, self.lines.end_offset(), self.in_torn);
        self.walk.emitted += 1;
        self.row = Row::Event { seq, place };
        Ok(true)
    }

    /// The checks at the end of the log.
    fn finish(&mut self) -> Result<End> {
        let events = self.walk.emitted;
        let rule = |rule: Rule, detail: String| Err(ErrorKind::Rule { rule, detail }.at(At::default()));
        let cut = if self.rules.packed {
            let cut = self.header.seed_length.unwrap_or(0);
            if cut > events {
                return rule(Rule::CutBeyondLog, format!("seedLength {cut}, {events} events"));
            }
            cut
        } else {
            match (self.header.is_seeded, self.walk.marker) {
                (true, Some(marker)) => marker,
                (true, None) => return rule(Rule::SeedWithoutMarker, String::new()),
                (false, Some(marker)) => return rule(Rule::MarkerWithoutSeed, format!("seq {marker}")),
                (false, None) => 0,
            }
        };
        let len = self.source.len();
        let committed = self.walk.committed;
        let is_zstd = self.encoding == Encoding::Zstd;
        let tail_from = match self.walk.first_issue {
            Some(place) if is_zstd => place.byte,
            _ => committed,
        };
        let torn_at =
            if is_zstd { self.in_torn.then_some(committed) } else { (committed < len).then_some(committed) };
        let torn = torn_at.filter(|_| self.rules.generation == Generation::CURRENT).map(|truncate_to| Torn {
            truncate_to,
            recovered: if is_zstd { self.walk.recovered } else { 0 },
        });
        let tail = torn_at.is_some() || self.walk.first_issue.is_some();
        Ok(End {
            events,
            cut,
            torn,
            dropped_bytes: if tail { len - tail_from.min(len) } else { 0 },
            issue: self.walk.any_issue(),
        })
    }
}

enum Shape<'a> {
    Event,
    Packed(PackedRow<'a>),
}

/// The shape of a row (`docs/spec/rows.md`, 3.3): everything but its place in the sequence.
fn shape<'a>(row: Js<'a>, envelope: &Envelope<'_>, rules: &Rules) -> Result<Shape<'a>, &'static str> {
    if !row.is_object() {
        return Err("not an object");
    }
    if rules.packed && PackedRow::is_packed(row) {
        return PackedRow::decode(row).map(Shape::Packed);
    }
    if rules.closed {
        envelope.check_closed()?;
    }
    envelope.check_sources(rules.generation)?;
    Ok(Shape::Event)
}

impl Walk {
    fn accept(&mut self, events: u64, end: u64, in_torn: bool) {
        self.count += events;
        if in_torn {
            self.recovered += events;
        } else {
            self.committed = end;
        }
    }

    /// Keep the first fault of its kind, and where the first of any kind was.
    fn note(&mut self, slot: fn(&mut Walk) -> &mut Option<Error>, fault: Error, place: Place) {
        slot(self).get_or_insert(fault);
        self.first_issue.get_or_insert(place);
    }

    fn take_issue(&mut self) -> Error {
        self.issue.take().unwrap_or(ErrorKind::Changed.into())
    }

    /// The fault at which the tail begins.
    fn any_issue(&mut self) -> Option<Error> {
        let line = |issue: &Option<Error>| issue.as_ref().and_then(|e| e.position().line).unwrap_or(u64::MAX);
        let lines = [line(&self.syntax), line(&self.issue), line(&self.event_issue)];
        let first = lines.iter().min().copied().filter(|&line| line < u64::MAX)?;
        [&mut self.syntax, &mut self.issue, &mut self.event_issue]
            .into_iter()
            .find(|issue| line(issue) == first)?
            .take()
    }
}
