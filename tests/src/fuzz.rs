//! Bodies of the fuzz targets in `tests/fuzz`, as plain functions, so that ordinary tests run them too.
//!
//! A body takes any bytes. It must end and must not panic, and it asserts what holds for all inputs. What a good answer is, other tests
//! know.

use std::collections::{BTreeMap, BTreeSet};

use dshlog_codec::check::{Checker, admit_v3, admit_v4};
use dshlog_codec::json::{Js, Tape, is_canonical, print};
use dshlog_codec::pack::{PackedRow, Ranges, expand};
use dshlog_codec::read::{End, Limits, LogFile};
use dshlog_codec::{Encoding, Event, Generation, Place, Result};
use dshlog_replay::History;

use crate::model::{Corpora, Entry};
use crate::text::Rng;

mod seeds;

pub use seeds::{Seed, seeds};

/// Small enough that a few bytes which stand for many end soon.
const LIMITS: Limits = Limits { line: 1 << 20, frame: 1 << 22 };

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, and that of its folder in `tests/fuzz/corpus`.
    pub name: &'static str,
    /// Its body.
    pub body: fn(&[u8]),
}

/// All of them.
pub const TARGETS: [Target; 3] = [
    Target { name: "frames", body: frames },
    Target { name: "rows", body: rows },
    Target { name: "events", body: events },
];

/// A log file of any generation and encoding, which the first byte says: see [`container`].
///
/// # Panics
///
/// When something does not hold that holds for all inputs; so do the others.
pub fn frames(data: &[u8]) {
    let Some((&first, log)) = data.split_first() else { return };
    let (generation, encoding) = container(first);
    let log = LogFile::from_bytes(log.to_vec(), generation, encoding);
    let walk = || -> Result<u64> {
        let mut reader = log.read(&LIMITS)?;
        let mut events = 0;
        while let Some(event) = reader.next_event()? {
            assert_eq!(event.seq.0, events, "seqs are dense");
            events += 1;
        }
        let end = reader.end().map_or(0, |end| end.events);
        assert_eq!(events, end, "the end counts what was handed out");
        Ok(events)
    };
    let (first, second) = (walk(), walk());
    assert_eq!(first.is_ok(), second.is_ok(), "a walk is like the one before");
    let Ok(mut lines) = log.lines(&LIMITS) else {
        assert!(first.is_err(), "a log with events has lines");
        return;
    };
    while let Ok(Some((line, _))) = lines.next_line() {
        assert!(!line.contains(&b'\n'), "a line ends at its line end");
    }
}

/// What the first byte of an input of [`frames`] means.
pub fn container(first: u8) -> (Generation, Encoding) {
    let encoding = if first & 8 == 0 { Encoding::Raw } else { Encoding::Zstd };
    (Generation(u64::from(first & 7) % 6), encoding)
}

/// The first byte of an input of [`frames`], from what it shall mean.
pub fn container_byte(generation: Generation, encoding: Encoding) -> u8 {
    let generation = u8::try_from(generation.0).unwrap_or(5);
    generation | if encoding == Encoding::Zstd { 8 } else { 0 }
}

/// One row: parsed, printed, and through everything that looks at a row alone.
///
/// # Panics
///
/// As [`frames`].
pub fn rows(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut tape = Tape::new();
    let parsed = tape.parse(&text);
    if serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok() {
        assert!(parsed.is_ok(), "what other parsers read is JSON");
    }
    let Some(row) = parsed.ok().and_then(|()| Js::root(&text, &tape)) else { return };

    let printed = printed(row);
    if is_canonical(row) {
        assert_eq!(printed, text, "canonical text is printed as it is");
    }
    let mut again = Tape::new();
    assert_eq!(again.parse(&printed), Ok(()), "what is printed is JSON");
    if let Some(row) = Js::root(&printed, &again) {
        assert_eq!(self::printed(row), printed, "printing is done once");
    }

    // Answers do not matter here, only that there are some.
    let _ = (admit_v3(row).is_ok(), admit_v4(row).is_ok());
    if let Ok(packed) = PackedRow::decode(row) {
        assert_eq!(packed.iter().count(), packed.len());
        for (seq, delta) in packed.iter() {
            let mut event = Vec::new();
            packed.print_event(seq, &delta, &mut event);
            assert!(again.parse(&String::from_utf8_lossy(&event)).is_ok(), "a member is JSON");
        }
    }
    if let Some(stream) = row.path(&["data", "stream"]) {
        let _ = expand(stream).map(Iterator::count);
    }
    let event = Event::from_row(row, Place::default());
    let sources = event.source_seqs().map(|s| Ranges::decode(s, event.seq.0, Generation::CURRENT));
    // A reader never lends an event whose list is longer than the log.
    if sources.is_none_or(|s| s.is_ok_and(|ranges| ranges.len() < 10_000)) {
        let mut line = Vec::new();
        event.print_logical(&mut line);
        event.print_row(&mut line);
    }
}

fn printed(value: Js<'_>) -> String {
    let mut out = Vec::new();
    print(&mut out, value);
    String::from_utf8(out).expect("the printer escapes what is not UTF-8")
}

/// The plain text of a V4 log, through reader, checker and history.
///
/// # Panics
///
/// As [`frames`].
pub fn events(data: &[u8]) {
    let Ok(whole) = Whole::read(data) else { return };
    if whole.is_valid {
        assert!(whole.has_history, "a valid log has a message history");
    }
    let again = Whole::read(&whole.rows).expect("a log that was written again is read again");
    assert_eq!(again.logical, whole.logical, "with the same events");
    assert_eq!(again.rows, whole.rows, "and the same rows");
    assert!(again.is_sound, "and without a tail");
}

struct Whole {
    /// Logical events.
    logical: Vec<u8>,
    /// Header and rows, as the encoder writes them.
    rows: Vec<u8>,
    is_sound: bool,
    is_valid: bool,
    has_history: bool,
}

impl Whole {
    fn read(text: &[u8]) -> Result<Self> {
        let log = LogFile::from_bytes(text.to_vec(), Generation::CURRENT, Encoding::Raw);
        let mut reader = log.read(&LIMITS)?;
        let (mut logical, mut rows) = (Vec::new(), Vec::new());
        reader.header().print(&mut rows);
        rows.push(b'\n');
        let mut checker = Checker::new(reader.header());
        let mut history = History::new();
        let mut has_history = true;
        while let Some(event) = reader.next_event()? {
            checker.see(&event);
            has_history &= history.see(&event).is_ok();
            event.print_logical(&mut logical);
            logical.push(b'\n');
            event.print_row(&mut rows);
            rows.push(b'\n');
        }
        let none = End::default();
        let end = reader.end().unwrap_or(&none);
        let verdict = checker.finish(end.cut);
        Ok(Whole {
            logical,
            rows,
            is_sound: end.torn.is_none() && end.issue.is_none(),
            is_valid: verdict.storage.is_none() && verdict.session.is_none(),
            has_history,
        })
    }
}

/// Change a few bytes or lines.
pub fn mutate(rng: &mut Rng, data: &mut Vec<u8>) {
    for _ in 0..rng.between(1, 3) {
        let len = data.len() as u64;
        // Offsets below a length fit.
        let at = |rng: &mut Rng| usize::try_from(rng.below(len + 1)).unwrap_or(0);
        let (a, b) = (at(rng), at(rng));
        let (start, end) = (a.min(b), a.max(b));
        match rng.below(8) {
            0 => data.truncate(start),
            1 => drop(data.drain(start..end.min(start + 40))),
            2 => {
                let piece = data[start..end.min(start + 400)].to_vec();
                data.splice(start..start, piece);
            }
            3 | 4 => {
                if let Some(byte) = data.get_mut(start) {
                    *byte ^= 1 << rng.below(8);
                }
            }
            5 => {
                const WORDS: [&str; 12] = [
                    "-0",
                    "1e400",
                    "0.0",
                    "null",
                    "\"\\ud83d\"",
                    "{}",
                    "[[0,1]]",
                    "9007199254740993",
                    "\n",
                    "true",
                    "\"append\"",
                    "\u{fffd}",
                ];
                data.splice(start..start, rng.pick(&WORDS).bytes());
            }
            6 => {
                let mut lines: Vec<_> = data.split_inclusive(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
                let count = lines.len() as u64;
                let line = |rng: &mut Rng| usize::try_from(rng.below(count.max(1))).unwrap_or(0);
                let (a, b) = (line(rng), line(rng));
                if a < lines.len() && b < lines.len() {
                    lines.swap(a, b);
                }
                *data = lines.concat();
            }
            _ => {
                // Digits: seqs, turns, ranges.
                let digit = data[start..].iter().position(u8::is_ascii_digit);
                if let Some(byte) = digit.and_then(|offset| data.get_mut(start + offset)) {
                    *byte = b'0' + u8::try_from(rng.below(10)).unwrap_or(0);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
