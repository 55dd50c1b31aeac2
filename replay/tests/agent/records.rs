//! The logs of the corpora as records.

use std::path::{Path, PathBuf};

use dshlog_codec::header::CwdRule;
use dshlog_codec::json::Doc;
use dshlog_codec::read::{Limits, LogFile};
use dshlog_codec::{Event, Generation, Header, Place};
use dshlog_replay::agent::rerun::Record;
use dshlog_tests::model::{Corpora, Entry};

/// A log, and where it comes from.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) log: Log,
}

/// A log in memory.
#[derive(Clone)]
pub(crate) struct Log {
    pub(crate) header: Header,
    pub(crate) cut: u64,
    pub(crate) rows: Vec<String>,
}

impl Log {
    /// Read a log of V4.
    fn read(path: &Path) -> Option<Log> {
        let file = LogFile::open(path).ok()?;
        let mut reader = file.read(&Limits::default()).ok()?;
        let mut rows = Vec::new();
        while let Some(event) = reader.next_event().ok()? {
            let mut row = Vec::new();
            event.print_logical(&mut row);
            rows.push(String::from_utf8(row).ok()?);
        }
        Some(Log { header: file.header().ok()?, cut: reader.take_end().cut, rows })
    }

    /// The answer of the official reader: the header and then an event a line.
    pub(crate) fn of_answer(path: &Path) -> Option<Log> {
        let text = std::fs::read_to_string(path).ok()?;
        let mut lines = text.lines();
        let header = lines.next()?.replacen("{\"version\"", "{\"type\":\"session\",\"version\"", 1);
        let header = Header::parse(&header, CwdRule::Any).ok()?;
        let rows: Vec<String> = lines.map(str::to_owned).collect();
        let mark = rows.iter().rposition(|row| row.contains(r#""session/end-seed""#) && row.contains(r#""inherited":true"#));
        let cut = mark.filter(|_| header.is_seeded).unwrap_or(0) as u64;
        Some(Log { header, cut, rows })
    }

    pub(crate) fn record(&self) -> Record {
        let mut record = Record::new(self.header.clone(), self.cut);
        for row in &self.rows {
            let doc = Doc::parse(row.as_str()).unwrap();
            record.see(&Event::from_row(doc.root(), Place::default())).unwrap();
        }
        record.finish();
        record
    }

    /// It has turns.
    pub(crate) fn has_turns(&self) -> bool {
        self.rows.iter().any(|row| row.starts_with(r#"{"type":"turn/start""#))
    }
}

fn of_entry(entry: &Entry) -> Option<Log> {
    let restored = entry.restored()?;
    if entry.generation == Generation(4) {
        return Log::read(&entry.log);
    }
    Log::of_answer(restored.current.as_ref()?.file.as_ref()?)
}

/// All logs with turns whose events are known: those of V4, and older ones whose official answer is kept.
pub(crate) fn all() -> Vec<Named> {
    let mut found = Vec::new();
    let mut add = |name: String, log: Option<Log>| {
        found.extend(log.filter(Log::has_turns).map(|log| Named { name, log }));
    };
    for corpora in Corpora::all() {
        for entry in &corpora.entries {
            let name = entry.log.strip_prefix(&corpora.dir).unwrap_or(&entry.log);
            add(name.display().to_string(), of_entry(entry));
        }
        let mut wire = Vec::new();
        logs_below(&corpora.dir.join("wire"), &mut wire);
        let mut old = Vec::new();
        answers_below(&corpora.dir.join("real-old"), &mut old);
        for path in old {
            add(path.strip_prefix(&corpora.dir).unwrap_or(&path).display().to_string(), Log::of_answer(&path));
        }
        for path in wire {
            add(path.strip_prefix(&corpora.dir).unwrap_or(&path).display().to_string(), Log::read(&path));
        }
    }
    if let Some(more) = std::env::var_os("DSHLOG_MORE_ANSWERS") {
        for entry in std::fs::read_dir(more).unwrap() {
            let path = entry.unwrap().path();
            add(path.display().to_string(), Log::of_answer(&path));
        }
    }
    found
}

fn logs_below(dir: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            logs_below(&path, found);
        } else if name.starts_with("session.v4.") && !name.ends_with(".lock") {
            found.push(path);
        }
    }
}

fn answers_below(dir: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            answers_below(&path, found);
        } else if path.file_name().is_some_and(|name| name == "current.jsonl") {
            found.push(path);
        }
    }
}
