//! The walk over rows.

use std::path::PathBuf;

use crate::at::{At, Place};
use crate::check::Rule;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Envelope, Event};
use crate::frame::{FrameLayout, scan_on, scan_to_fault};
use crate::generation::{EndSeed, Rules};
use crate::header::Header;
use crate::json::{Js, Tape};
use crate::line::{Lines, Start};
use crate::pack::{PackedRow, Walk as MemberWalk};
use crate::source::Source;
use crate::types::{Encoding, Generation, Seq};

use super::file::{Limits, LogFile, parse_header, raw_lines, torn_lines, zstd_lines};
use super::mark::Mark;

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
    /// Where a later walk can go on.
    pub mark: Option<Mark>,
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
    /// Zstd: how many frames are complete.
    frames: u64,
    /// A fault in the structure of the frames behind those of `layout`.
    fault: Option<Error>,
    in_torn: bool,
    text: String,
    tape: Tape,
    held: Held,
    /// The current event of a packed row.
    member: String,
    member_tape: Tape,
    walk: Walk,
    /// An error was given; behind it there is nothing.
    refused: bool,
    end: Option<End>,
}

/// One accepted row of a log.
pub enum Row<'a> {
    /// An event.
    Event(Event<'a>),
    /// A run of `assistant/chunk` events (V0, V1), and where it stands.
    Packed(PackedRow<'a>, Place),
}

/// What `text` and `tape` hold.
enum Held {
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
    /// `to_damage`: frames that stand before a fault in the structure are read.
    pub(super) fn new(log: &LogFile, limits: Limits, to_damage: bool) -> Result<LogReader> {
        let rules = Rules::of(log.generation).ok_or(ErrorKind::Newer { version: log.generation.0 });
        let (line, layout) = log.header_line(&limits, !to_damage)?;
        let header = parse_header(&line, log.generation)?;
        let rules = rules?;
        let start = Start { line: 2, offset: line.len() as u64 + 1 };
        let source = &log.source;
        let (lines, layout, fault) = match log.encoding {
            Encoding::Raw => (raw_lines(source, start, &limits), None, None),
            Encoding::Zstd => {
                let (layout, fault) =
                    if to_damage { scan_to_fault(source, u64::MAX) } else { (layout, None) };
                (zstd_lines(source, layout.first_end, layout, 2, start, &limits)?, Some(layout), fault)
            }
        };
        let walk = Walk { committed: start.offset, ..Walk::default() };
        Ok(LogReader::over(log, limits, rules, (header, line), (lines, layout, fault), walk))
    }

    /// A walk over what stands behind a mark that fits.
    pub(super) fn behind(log: &LogFile, mark: &Mark, limits: Limits) -> Result<LogReader> {
        let (line, first) = log.header_line(&limits, false)?;
        let header = parse_header(&line, log.generation)?;
        let rules = Rules::of(log.generation).ok_or(ErrorKind::Newer { version: log.generation.0 })?;
        let start = Start { line: mark.lines + 1, offset: mark.text };
        let source = &log.source;
        let (lines, layout, fault) = match log.encoding {
            Encoding::Raw => (raw_lines(source, start, &limits), None, None),
            Encoding::Zstd => {
                let before = FrameLayout { frames: mark.frames, complete_end: mark.byte, ..first };
                let (layout, fault) = scan_on(source, before, u64::MAX);
                let lines = zstd_lines(source, mark.byte, layout, mark.frames + 1, start, &limits)?;
                (lines, Some(layout), fault)
            }
        };
        let walk = Walk {
            count: mark.events,
            emitted: mark.events,
            marker: header.is_seeded.then_some(mark.inherited),
            committed: start.offset,
            ..Walk::default()
        };
        Ok(LogReader::over(log, limits, rules, (header, line), (lines, layout, fault), walk))
    }

    fn over(
        log: &LogFile,
        limits: Limits,
        rules: Rules,
        (header, header_line): (Header, Vec<u8>),
        (lines, layout, fault): (Lines, Option<FrameLayout>, Option<Error>),
        walk: Walk,
    ) -> LogReader {
        LogReader {
            header,
            header_line: String::from_utf8_lossy(&header_line).into_owned(),
            path: log.path.clone(),
            rules,
            encoding: log.encoding,
            source: log.source.clone(),
            limits,
            walk,
            lines,
            layout,
            frames: 0,
            fault,
            in_torn: false,
            text: String::new(),
            tape: Tape::new(),
            held: Held::None,
            member: String::new(),
            member_tape: Tape::new(),
            refused: false,
            end: None,
        }
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

    /// [`LogReader::end`], for keeps; of a walk that has not come to its end an empty one.
    pub fn take_end(&mut self) -> End {
        self.end.replace(End::default()).unwrap_or_default()
    }

    /// The next row: an event, or the packed run of events that V0 and V1 write. Nothing at the end of the committed
    /// prefix. Errors as in [`LogReader::next_event`].
    pub fn next_row(&mut self) -> Result<Option<Row<'_>>> {
        if self.end.is_some() || self.refused {
            return Ok(None);
        }
        // A run that was handed out whole has no events left.
        self.held = Held::None;
        match self.advance_row() {
            Ok(false) => Ok(None),
            Ok(true) => self.current_row().map(Some),
            Err(error) => {
                self.refused = true;
                Err(self.locate(error))
            }
        }
    }

    /// The next event; packed rows come as their single events. Nothing at the end of the committed prefix.
    ///
    /// An error refuses the log; what was handed out before it is what stands in front of the damage.
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>> {
        if self.end.is_some() || self.refused {
            return Ok(None);
        }
        match self.advance() {
            Ok(false) => Ok(None),
            Ok(true) => self.current().map(Some),
            Err(error) => {
                self.refused = true;
                Err(self.locate(error))
            }
        }
    }

    fn locate(&self, error: Error) -> Error {
        match &self.path {
            Some(path) => error.in_file(path, Some(self.rules.generation)),
            None => error,
        }
    }

    fn current_row(&mut self) -> Result<Row<'_>> {
        if let Held::Packed { place, .. } = self.held {
            let row = Js::root(&self.text, &self.tape).ok_or(ErrorKind::Changed)?;
            let run = PackedRow::reopen(row).map_err(|what| ErrorKind::RowShape { what }.at_place(place))?;
            return Ok(Row::Packed(run, place));
        }
        self.current().map(Row::Event)
    }

    /// The event that [`LogReader::advance`] stopped at.
    fn current(&mut self) -> Result<Event<'_>> {
        let (text, tape, seq, place) = match &self.held {
            Held::Packed { seq, place, .. } => (&*self.member, &self.member_tape, *seq, *place),
            Held::Event { seq, place } => (&*self.text, &self.tape, *seq, *place),
            Held::None => return Err(ErrorKind::Changed.into()),
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
            if !self.advance_row()? {
                return Ok(false);
            }
            if matches!(self.held, Held::Event { .. }) {
                return Ok(true);
            }
        }
    }

    /// Go to the next accepted row.
    fn advance_row(&mut self) -> Result<bool> {
        loop {
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
        let Held::Packed { walk, seq, place } = &mut self.held else { return Ok(false) };
        let packed = Js::root(&self.text, &self.tape).and_then(|row| PackedRow::reopen(row).ok());
        let Some((packed, (next, delta))) = packed.and_then(|packed| Some((packed, packed.step(walk)?)))
        else {
            self.held = Held::None;
            return Ok(false);
        };
        *seq = next;
        let mut printed = std::mem::take(&mut self.member).into_bytes();
        printed.clear();
        packed.print_event(next, &delta, &mut printed);
        // The printer writes lone surrogates as escapes, so this is always UTF-8.
        self.member = String::from_utf8(printed).unwrap_or_default();
        self.member_tape.parse(&self.member).map_err(|e| ErrorKind::RowSyntax(e).at_place(*place))?;
        Ok(true)
    }

    /// Behind the complete frames: the checks that are made there, and the torn frame if there is one.
    fn enter_torn_frame(&mut self) -> Result<bool> {
        let Some(layout) = self.layout.take() else { return Ok(false) };
        self.frames = layout.frames;
        if let Some(issue) = self.walk.any_issue()
            && !self.rules.tail_in_frames
        {
            return Err(issue);
        }
        if self.lines.has_rest() {
            return Err(ErrorKind::FrameEndsInRow.at_place(self.lines.place()));
        }
        if let Some(fault) = self.fault.take() {
            return Err(fault);
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
        self.held = Held::None;
        let place = self.lines.place();
        self.text.clear();
        match std::str::from_utf8(self.lines.line()) {
            Ok(text) => self.text.push_str(text),
            // As the official reader decodes: damaged sequences become U+FFFD and are no error.
            Err(_) => self.text.push_str(&String::from_utf8_lossy(self.lines.line())),
        }
        if let Err(error) = self.tape.parse(&self.text) {
            // Only the first counts, and a damaged log can have millions.
            if self.walk.syntax.is_none() {
                let fault = ErrorKind::RowSyntax(error).at_place(place).at_seq(Seq(self.walk.count));
                self.walk.note(|walk| &mut walk.syntax, fault, place);
            }
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
                let events = packed.len() as u64;
                self.held = Held::Packed { walk: packed.walk(), seq: packed.seq0, place };
                self.walk.accept(events, self.lines.end_offset(), self.in_torn);
                self.walk.emitted += events;
                Ok(true)
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
        self.held = Held::Event { seq, place };
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
        let mark = if tail || self.rules.packed { None } else { Some(self.mark(cut)?) };
        Ok(End {
            events,
            cut,
            torn,
            dropped_bytes: if tail { len - tail_from.min(len) } else { 0 },
            issue: self.walk.any_issue(),
            mark,
        })
    }

    /// Where the walk is, behind everything.
    fn mark(&self, inherited: u64) -> Result<Mark> {
        let byte = self.source.len();
        Ok(Mark {
            byte,
            frames: self.frames,
            lines: self.lines.next_number() - 1,
            text: self.lines.end_offset(),
            events: self.walk.count,
            inherited,
            witness: Mark::witness_at(&self.source, byte)?,
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
