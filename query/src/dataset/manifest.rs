//! What a data set holds and what it lacks, in a file that is written last.

use std::io::Write;
use std::path::PathBuf;

use serde::Serialize;

use super::Options;
use super::folder::failed;
use crate::corpus::{Candidate, without_place};
use crate::error::Result;

/// Name and version of the schema, in the manifest and in the metadata of each Parquet file.
pub const SCHEMA: &str = "dshlog.dataset/1";

/// Name of the manifest. Engines pass over files whose names begin with `_`.
pub const MANIFEST: &str = "_dshlog.json";

/// The manifest.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Manifest {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// What was written.
    pub format: &'static str,
    /// When, epoch milliseconds.
    pub written: i64,
    /// What each table holds.
    pub tables: Vec<TableCount>,
    /// How the logs went.
    pub logs: Logs,
    /// Logs that are here in part, or not at all.
    pub faults: Vec<Fault>,
    /// What could not be looked at.
    pub passed_over: Vec<PassedOver>,
}

/// Size of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableCount {
    /// Its name.
    pub name: &'static str,
    /// Rows.
    pub rows: u64,
    /// Files.
    pub files: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

/// Counts of logs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Logs {
    /// Taken to their end.
    pub whole: u64,
    /// Taken up to a fault.
    pub partial: u64,
    /// Not taken.
    pub unreadable: u64,
    /// Events that stand in the data set as those of a parent.
    pub copied_events: u64,
}

/// A log that is not whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The file; what is no Unicode is replaced.
    pub path: String,
    /// The session's row, when the file is a store of many.
    pub entry: Option<String>,
    /// `partial` or `unreadable`.
    pub status: &'static str,
    /// The code of what was met.
    pub code: &'static str,
    /// The same for people, without the place.
    pub reason: String,
    /// Frame, counted from 1; none in a raw log.
    pub frame: Option<u64>,
    /// Line, counted from 1.
    pub line: Option<u64>,
    /// Byte, of a compressed log that of the frame.
    pub byte: Option<u64>,
    /// The event.
    pub seq: Option<u64>,
}

/// What could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PassedOver {
    /// Where it is.
    pub path: String,
    /// Why.
    pub reason: String,
}

impl Fault {
    pub(super) fn new(candidate: &Candidate, status: &'static str, error: &dshlog_codec::Error) -> Self {
        let at = error.position();
        Fault {
            path: candidate.path.to_string_lossy().into_owned(),
            entry: candidate.entry.clone(),
            status,
            code: error.code(),
            reason: without_place(error),
            frame: at.frame,
            line: at.line,
            byte: at.byte,
            seq: at.seq.map(|seq| seq.0),
        }
    }
}

impl Manifest {
    pub(super) fn new(
        options: &Options,
        tables: Vec<TableCount>,
        logs: Logs,
        faults: Vec<Fault>,
        passed_over: Vec<(PathBuf, String)>,
    ) -> Self {
        let passed_over = passed_over
            .into_iter()
            .map(|(path, reason)| PassedOver { path: path.to_string_lossy().into_owned(), reason })
            .collect();
        Manifest {
            schema: SCHEMA,
            format: options.form.name(),
            written: options.now,
            tables,
            logs,
            faults,
            passed_over,
        }
    }

    /// True when everything that is there was taken.
    pub fn is_whole(&self) -> bool {
        self.faults.is_empty() && self.passed_over.is_empty()
    }

    pub(super) fn write(&self, out: &mut impl Write) -> Result<()> {
        let failed = || failed("write", MANIFEST.as_ref());
        serde_json::to_writer(&mut *out, self).map_err(|error| failed()(error.into()))?;
        out.write_all(b"\n").map_err(failed())
    }
}
