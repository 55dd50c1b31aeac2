//! Every log of the corpora through the reader: what the official reader makes of it, ours must make too.
//!
//! The reader knows containers, rows and headers. Of V4 logs the checker then judges what events may mean where they stand; that of the older
//! ones is judged by their migration, so an old log that the official reader refuses for that may be read here.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use dshlog_codec::check::{Checker, Verdict};
use dshlog_codec::read::{Limits, LogFile};
use dshlog_codec::{Class, Error, Generation, Header};
use dshlog_tests::model::{Corpora, Entry, Status, Torn, first_difference, sha256_hex};

/// Reasons of refusals that are not known from a log alone: it lies at the wrong place, or something lies beside it.
const BY_PLACE: [&str; 2] = ["identity-mismatch", "mixed-encodings"];

/// Reasons in which our class differs from the official one on purpose.
const MISNAMED: [&str; 2] = ["version-file-mismatch", "version-name-mismatch"];

/// A log as the reader gives it.
struct Read {
    header: Header,
    /// Logical events, one a line.
    events: Vec<u8>,
    count: u64,
    cut: u64,
    torn: Option<Torn>,
    /// Of V4 logs.
    verdict: Option<Verdict>,
}

fn read(entry: &Entry) -> Result<Read, Error> {
    let mut reader = LogFile::open(&entry.log)?.read(&Limits::default())?;
    let header = reader.header().clone();
    let mut events = Vec::new();
    let mut checker = (header.version == Generation::CURRENT).then(|| Checker::new(&header));
    while let Some(event) = reader.next_event()? {
        if let Some(checker) = &mut checker {
            checker.see(&event);
        }
        event.print_logical(&mut events);
        events.push(b'\n');
    }
    let end = reader.end().unwrap();
    let torn = end.torn.map(|t| Torn { truncate_to: t.truncate_to, recovered: t.recovered });
    let verdict = checker.map(|checker| checker.finish(end.cut));
    Ok(Read { header, events, count: end.events, cut: end.cut, torn, verdict })
}

impl Read {
    /// The current header line, and the events.
    fn current(&self) -> Vec<u8> {
        let mut text = Vec::new();
        self.header.to_current().print(&mut text);
        text.push(b'\n');
        text.extend_from_slice(&self.events);
        text
    }

    /// The logical header line of the stored generation, which is the same in all of them but for the version, and the events.
    fn stored(&self) -> Vec<u8> {
        let header = Header { seed_length: None, version: Generation(2), ..self.header.clone() };
        let mut line = Vec::new();
        header.print(&mut line);
        let line = String::from_utf8(line).unwrap();
        let line = line.replacen(
            "\"type\":\"session\",\"version\":2",
            &format!("\"version\":{}", self.header.version.0),
            1,
        );
        [line.as_bytes(), b"\n", &self.events].concat()
    }
}

/// Run `check` on every log of a kind and tell all that is wrong at once. It says whether the log was one of those that it is about.
fn every(what: &str, at_least: usize, check: impl Fn(&Entry) -> Result<bool, String>) {
    let mut wrong = Vec::new();
    for corpora in Corpora::all() {
        let mut seen = 0;
        for entry in &corpora.entries {
            match check(entry) {
                Ok(counts) => seen += usize::from(counts),
                Err(fault) => wrong.push(format!("{} {}: {fault}", entry.case, entry.log.display())),
            }
        }
        assert!(seen >= at_least, "only {seen} logs in {}: {what}", corpora.dir.display());
    }
    assert!(wrong.is_empty(), "{what}: {} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn current_logs_are_restored_byte_for_byte() {
    every("V4 logs", 60, |entry| {
        let Some(restored) = entry.restored().filter(|_| entry.generation == Generation(4)) else {
            return Ok(false);
        };
        let read = read(entry).map_err(|e| format!("refused: {e}"))?;
        if let Some(answer) = &restored.current {
            answer.check(&read.current())?;
        }
        let found = (Some(read.count), read.cut, read.torn);
        let expected = (restored.events.or(found.0), restored.cut, restored.torn);
        if found == expected { Ok(true) } else { Err(format!("{found:?}, expected {expected:?}")) }
    });
}

/// What the encoder of a generation would write for the events is what its runtime wrote. (V0 and V1 pack rows by batches,
/// whose borders the events do not tell.)
#[test]
fn rows_written_anew_are_those_of_the_file() {
    every("restored logs of V2 and later", 60, |entry| {
        // Damaged files hold spellings that no runtime writes.
        let genuine = entry.restored().is_some() && !entry.case.contains("broken");
        if !genuine || entry.generation < Generation(2) {
            return Ok(false);
        }
        let log = LogFile::open(&entry.log).map_err(|e| e.to_string())?;
        let mut reader = log.read(&Limits::default()).map_err(|e| e.to_string())?;
        let mut written = format!("{}\n", reader.header_line()).into_bytes();
        while let Some(event) = reader.next_event().map_err(|e| e.to_string())? {
            event.print_row(&mut written);
            written.push(b'\n');
        }
        let mut stored = Vec::new();
        let mut lines = log.lines(&Limits::default()).map_err(|e| e.to_string())?;
        while let Some((line, _)) = lines.next_line().map_err(|e| e.to_string())? {
            stored.extend_from_slice(line);
            stored.push(b'\n');
        }
        if written == stored {
            Ok(true)
        } else {
            Err(format!("{} bytes for {}", written.len(), stored.len()))
        }
    });
}

#[test]
fn older_logs_have_the_events_of_their_generation() {
    every("logs with known stored events", 100, |entry| {
        let Some(stored) = entry.stored.as_ref().filter(|_| entry.generation < Generation(4)) else {
            return Ok(false);
        };
        let read = read(entry).map_err(|e| format!("refused: {e}"))?;
        let found = (read.count, read.cut);
        let expected = (stored.events.unwrap_or(found.0), stored.cut.unwrap_or(found.1));
        if found != expected {
            return Err(format!("{found:?}, expected {expected:?}"));
        }
        match &stored.sha256 {
            Some(hash) if *hash != sha256_hex(&read.stored()) => Err("other events".to_owned()),
            _ => Ok(true),
        }
    });
}

#[test]
fn older_logs_are_read_whole() {
    every("V0 to V3 logs", 100, |entry| {
        if entry.generation >= Generation(4) || entry.restored().is_none() {
            return Ok(false);
        }
        let read = read(entry).map_err(|e| format!("refused: {e}"))?;
        if read.torn.is_some() { Err("a torn report".to_owned()) } else { Ok(true) }
    });
}

#[test]
fn current_logs_that_are_restored_pass_all_checks_and_have_their_surface() {
    every("V4 logs", 60, |entry| {
        let Some(restored) = entry.restored().filter(|_| entry.generation == Generation(4)) else {
            return Ok(false);
        };
        let verdict = read(entry).map_err(|e| format!("refused: {e}"))?.verdict.unwrap();
        if let Some(fault) = verdict.storage.or(verdict.session) {
            return Err(fault.to_string());
        }
        let surface: Vec<_> = verdict.surface.iter().map(|seq| seq.0).collect();
        match &restored.surface {
            Some(expected) if *expected != surface => {
                Err(format!("surface {surface:?}, expected {expected:?}"))
            }
            _ => Ok(true),
        }
    });
}

#[test]
fn refused_logs_are_refused_for_the_same_kind_of_reason() {
    every("refused logs", 50, |entry| {
        let Status::Refused { class, reason } = &entry.status else { return Ok(false) };
        if BY_PLACE.contains(&&**reason) {
            return Ok(false);
        }
        let error = match read(entry) {
            // Migration judges what these hold, and nothing of this crate does.
            Ok(Read { verdict: None, .. }) => return Ok(false),
            Ok(Read { verdict: Some(verdict), .. }) => match verdict.storage {
                Some(error) => error,
                None => return Err(format!("read, expected {class}: {reason}")),
            },
            Err(error) => error,
        };
        let found = match error.class() {
            // To people these are files at the wrong place; the official reader calls them damaged.
            Class::Misplaced if MISNAMED.contains(&&**reason) => class,
            Class::Corrupt => "corrupt",
            Class::Unsupported => "unsupported",
            Class::Misplaced => "misplaced",
            _ => "something else",
        };
        if found == class { Ok(true) } else { Err(format!("{found} ({error}), expected {class}: {reason}")) }
    });
}

#[test]
fn physical_lines_are_those_of_the_file() {
    every("raw logs", 20, |entry| {
        if entry.log.extension().is_some_and(|e| e == "zstd") {
            return Ok(false);
        }
        let bytes = entry.bytes().unwrap();
        let mut lines = LogFile::open(&entry.log)
            .and_then(|log| log.lines(&Limits::default()))
            .map_err(|e| e.to_string())?;
        let mut found = Vec::new();
        while let Some((line, _)) = lines.next_line().map_err(|e| e.to_string())? {
            found.extend_from_slice(line);
            found.push(b'\n');
        }
        let complete = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |at| at + 1);
        if found == bytes[..complete] { Ok(true) } else { Err(first_difference(&bytes[..complete], &found)) }
    });
}
