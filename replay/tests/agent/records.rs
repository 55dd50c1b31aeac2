//! The logs of the corpora as records.

use std::convert::Infallible;
use std::path::{Path, PathBuf};

use dshlog_codec::check::Checker;
use dshlog_codec::json::Doc;
use dshlog_codec::{Event, Generation, Header, Limits, LogFile, Place};
use dshlog_migrate::migrate_in_memory;
use dshlog_replay::agent::rerun::Record;
use dshlog_tests::model::Corpora;

/// A log in memory, in the form of V4.
#[derive(Clone)]
pub(crate) struct Log {
    /// Its path in the corpora.
    pub(crate) name: String,
    pub(crate) header: Header,
    pub(crate) cut: u64,
    /// What it is stored as.
    pub(crate) generation: Generation,
    pub(crate) rows: Vec<String>,
}

impl Log {
    /// Read a log, whatever it is stored as; nothing when the official reader refuses it.
    pub(crate) fn read(name: String, path: &Path) -> Option<Log> {
        let file = LogFile::open(path).ok()?;
        let header = file.header().ok()?.to_current();
        let mut rows = Vec::new();
        let mut checker = Checker::new(&header);
        let mut keep = |event: &Event<'_>| {
            checker.see(event);
            let mut row = Vec::new();
            event.print_logical(&mut row);
            rows.push(String::from_utf8(row).unwrap());
        };
        if file.generation() == Generation::CURRENT {
            let mut reader = file.read(&Limits::default()).ok()?;
            while let Some(event) = reader.next_event().ok()? {
                keep(&event);
            }
        } else {
            let each = |event: &Event<'_>| {
                keep(event);
                Ok::<_, Infallible>(())
            };
            migrate_in_memory(&file, Some(Vec::new()), &Limits::default(), each).ok()?;
        }
        let is_mark =
            |row: &String| row.contains(r#""session/end-seed""#) && row.contains(r#""inherited":true"#);
        let cut = rows.iter().rposition(is_mark).filter(|_| header.is_seeded).unwrap_or(0) as u64;
        let verdict = checker.finish(cut);
        if verdict.storage.is_some() || verdict.session.is_some() {
            return None;
        }
        Some(Log { name, header, cut, generation: file.generation(), rows })
    }

    pub(crate) fn record(&self) -> Record {
        let mut record = Record::new(self.header.clone(), self.cut).stored_as(self.generation);
        for row in &self.rows {
            let doc = Doc::parse(row.as_str()).unwrap();
            record.see(&Event::from_row(doc.root(), Place::default())).unwrap();
        }
        record.finish();
        record
    }

    /// Number of events of a type.
    pub(crate) fn count(&self, kind: &str) -> usize {
        let start = format!(r#"{{"type":"{kind}","#);
        self.rows.iter().filter(|row| row.starts_with(&start)).count()
    }
}

/// All logs with turns that can be read to their end, by corpus.
pub(crate) fn all() -> Vec<(&'static str, Vec<Log>)> {
    let own = Corpora::own().dir;
    let mut folders = vec![("own", own.clone())];
    if let Some(shared) = Corpora::shared() {
        folders.extend(["wire", "real", "real-old"].map(|name| (name, shared.dir.join(name))));
    }
    folders.into_iter().map(|(name, folder)| (name, below(&folder))).collect()
}

/// The project's own logs of a generation with turns, but for damaged ones.
pub(crate) fn own(generation: u64) -> Vec<Log> {
    let folder = Corpora::own().dir;
    let case = format!("v{generation}-");
    let is_meant = |path: &&PathBuf| {
        let name = path.strip_prefix(&folder).unwrap_or(path).display().to_string();
        name.starts_with(&case) || name.starts_with(&format!("wire/{case}"))
    };
    let paths = files(&folder);
    let meant = paths.iter().filter(is_meant);
    let logs =
        meant.filter_map(|path| Log::read(path.strip_prefix(&folder).unwrap().display().to_string(), path));
    logs.filter(|log| log.count("turn/start") > 0).collect()
}

fn below(folder: &Path) -> Vec<Log> {
    let paths = files(folder);
    let name = |path: &PathBuf| path.strip_prefix(folder).unwrap_or(path).display().to_string();
    let logs = paths.iter().filter_map(|path| Log::read(name(path), path));
    logs.filter(|log| log.count("turn/start") > 0).collect()
}

/// All files below a folder whose names are those of logs, in order.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if dshlog_codec::home::parse_name(path.file_name().unwrap()).is_some() {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
