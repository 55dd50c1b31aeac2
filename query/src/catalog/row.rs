//! One log in the catalog.

use std::path::{Path, PathBuf};

use dshlog_codec::read::Mark;
use dshlog_codec::{Generation, Millis};
use rusqlite::{Connection, Row, params};
use serde::{Deserialize, Serialize};

use crate::corpus::Stamp;
use crate::extract::Extractor;
use crate::session::{Session, Soundness};

/// What is known of a log whose documents are in the index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LogRow {
    /// Its number, in the index and here.
    pub(crate) log: u64,
    /// The file.
    #[serde(with = "path_text")]
    pub(crate) path: PathBuf,
    /// The session in it, when it is a store of many.
    pub(crate) entry: Option<String>,
    /// `len`, `modified`, `inode` of the file when it was read.
    pub(crate) stamp: (u64, i64, u64),
    /// The session's id; empty when the header could not be read.
    pub(crate) session: String,
    pub(crate) project: Option<String>,
    pub(crate) generation: u64,
    pub(crate) created: i64,
    pub(crate) last: i64,
    pub(crate) parent: Option<String>,
    pub(crate) is_seeded: bool,
    pub(crate) is_subagent: bool,
    pub(crate) preset: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) soundness: Soundness,
    /// Where the next walk can go on, as numbers.
    pub(crate) mark: Option<Vec<u8>>,
    /// What the fold over its events knew there, as JSON.
    pub(crate) extractor: Option<String>,
    /// How many of its first events are copies of the parent's.
    pub(crate) inherited: u64,
    /// These are not in the index, since the parent's are.
    pub(crate) skips_inherited: bool,
    /// How many documents of it are in the index.
    pub(crate) documents: u64,
}

const COLUMNS: &str = "log, path, entry, len, modified, inode, session, project, generation, created, last, parent, \
                       is_seeded, is_subagent, preset, title, soundness, mark, extractor, inherited, skips_inherited, documents";

impl LogRow {
    /// The statement that gives rows, with what follows `FROM logs`.
    pub(super) fn select(rest: &str) -> String {
        format!("SELECT {COLUMNS} FROM logs {rest}")
    }

    pub(super) fn of(row: &Row<'_>) -> rusqlite::Result<LogRow> {
        let soundness: String = row.get(16)?;
        Ok(LogRow {
            log: row.get(0)?,
            path: path_of(row.get(1)?),
            entry: row.get(2)?,
            stamp: (row.get(3)?, row.get(4)?, row.get::<_, i64>(5)?.cast_unsigned()),
            session: row.get(6)?,
            project: row.get(7)?,
            generation: row.get(8)?,
            created: row.get(9)?,
            last: row.get(10)?,
            parent: row.get(11)?,
            is_seeded: row.get(12)?,
            is_subagent: row.get(13)?,
            preset: row.get(14)?,
            title: row.get(15)?,
            soundness: soundness_of(&soundness),
            mark: row.get(17)?,
            extractor: row.get(18)?,
            inherited: row.get(19)?,
            skips_inherited: row.get(20)?,
            documents: row.get(21)?,
        })
    }

    pub(super) fn put(&self, database: &Connection) -> rusqlite::Result<()> {
        let values = (1..=22).map(|number| format!("?{number}")).collect::<Vec<_>>().join(", ");
        let put = format!("INSERT OR REPLACE INTO logs ({COLUMNS}) VALUES ({values})");
        database.prepare_cached(&put)?.execute(params![
            self.log,
            bytes_of(&self.path),
            self.entry,
            self.stamp.0,
            self.stamp.1,
            self.stamp.2.cast_signed(),
            self.session,
            self.project,
            self.generation,
            self.created,
            self.last,
            self.parent,
            self.is_seeded,
            self.is_subagent,
            self.preset,
            self.title,
            soundness_text(&self.soundness),
            self.mark,
            self.extractor,
            self.inherited,
            self.skips_inherited,
            self.documents,
        ])?;
        Ok(())
    }

    /// What hits and filters ask for.
    pub(crate) fn session(&self) -> Session {
        Session {
            id: self.session.clone(),
            path: self.path.clone(),
            entry: self.entry.clone(),
            generation: Generation(self.generation),
            project: self.project.clone(),
            created: Millis(self.created),
            last: Millis(self.last),
            parent: self.parent.clone(),
            is_seeded: self.is_seeded,
            is_subagent: self.is_subagent,
            preset: self.preset.clone(),
            title: self.title.clone(),
            soundness: self.soundness.clone(),
        }
    }

    /// The stamp of the file when it was read.
    pub(crate) fn stamp(&self) -> Stamp {
        let (len, modified, inode) = self.stamp;
        Stamp { len, modified, inode }
    }

    /// Where and how a walk can go on, when it can.
    pub(crate) fn continuation(&self) -> Option<(Mark, Extractor)> {
        let mark = Mark::from_bytes(self.mark.as_deref()?)?;
        Some((mark, serde_json::from_str(self.extractor.as_deref()?).ok()?))
    }
}

/// `whole`, or a word and the reason behind a colon.
fn soundness_text(soundness: &Soundness) -> String {
    match soundness.reason() {
        None => soundness.name().to_owned(),
        Some(reason) => format!("{}: {reason}", soundness.name()),
    }
}

pub(super) fn soundness_of(text: &str) -> Soundness {
    match text.split_once(": ") {
        Some(("partial", reason)) => Soundness::Partial(reason.to_owned()),
        Some(("unreadable", reason)) => Soundness::Unreadable(reason.to_owned()),
        _ => Soundness::Whole,
    }
}

/// A path as bytes: names need not be text.
pub(super) fn bytes_of(path: &Path) -> Vec<u8> {
    path.as_os_str().as_encoded_bytes().to_vec()
}

#[cfg(unix)]
pub(super) fn path_of(bytes: Vec<u8>) -> PathBuf {
    use std::os::unix::ffi::OsStringExt as _;
    std::ffi::OsString::from_vec(bytes).into()
}

#[cfg(not(unix))]
pub(super) fn path_of(bytes: Vec<u8>) -> PathBuf {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

/// Paths in a note: their bytes.
mod path_text {
    use std::path::{Path, PathBuf};

    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        super::bytes_of(path).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        Ok(super::path_of(Vec::deserialize(from)?))
    }
}
