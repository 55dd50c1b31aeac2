//! Documents for Quickwit: one a line, and an index configuration that they are valid for.

use std::path::PathBuf;

use dshlog_codec::Event;
use jiff::Timestamp;
use serde::Serialize;

use super::folder::{Folder, Pending};
use super::manifest::TableCount;
use super::{Facts, Sink, Standing, Tail};
use crate::document::Document;
use crate::error::Result;

/// Name of the configuration.
pub const CONFIG: &str = "index-config.yaml";

/// Id of the index that it makes.
pub const INDEX_ID: &str = "dsh-sessions";

const TEMPLATE: &str = include_str!("quickwit.yaml");

/// The moments that Quickwit can hold: nanoseconds in 64 bits.
const EARLIEST: i64 = -9_223_372_036_854;
const LATEST: i64 = 9_223_372_036_854;

/// A document as Quickwit takes it. Members that are null are left out, as they mean the same there.
#[derive(Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "fields of an index")]
struct Line<'a> {
    session: &'a str,
    seq: u64,
    nth: u32,
    part: &'static str,
    role: &'static str,
    time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    is_error: bool,
    has_image: bool,
    has_file: bool,
    is_inherited: bool,
    text: &'a str,
    project: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
    is_subagent: bool,
    generation: u64,
    path: &'a str,
}

/// The sink.
pub(super) struct Lines<'f> {
    folder: &'f Folder,
    limit: usize,
    open: Option<Pending>,
    held: usize,
    count: TableCount,
}

impl<'f> Lines<'f> {
    /// Write the configuration; files of lines end behind the line that passes `limit` bytes.
    pub(super) fn new(folder: &'f Folder, limit: usize) -> Result<Self> {
        let mut config = folder.begin(CONFIG.as_ref())?;
        config.write(TEMPLATE.as_bytes())?;
        config.publish()?;
        let count = TableCount { name: "documents", rows: 0, files: 0, bytes: 0 };
        Ok(Lines { folder, limit, open: None, held: 0, count })
    }

    fn close(&mut self) -> Result<()> {
        if let Some(open) = self.open.take() {
            self.count.bytes += open.publish()?;
            self.held = 0;
        }
        Ok(())
    }
}

impl Sink for Lines<'_> {
    fn begin(&mut self, _: &Facts) -> Result<()> {
        Ok(())
    }

    fn event(&mut self, _: &Facts, _: &Event<'_>, _: Standing) -> Result<()> {
        Ok(())
    }

    fn document(&mut self, log: &Facts, document: &Document) -> Result<()> {
        let line = Line {
            session: &log.id,
            seq: document.seq.0,
            nth: document.nth,
            part: document.part.name(),
            role: document.part.role().name(),
            time: moment(document.time.0),
            turn: document.turn,
            step: document.step,
            tool: document.tool.as_deref(),
            model: document.model.as_deref(),
            is_error: document.is_error,
            has_image: document.has_image,
            has_file: document.has_file,
            is_inherited: document.is_inherited,
            text: &document.text,
            project: &log.project,
            cwd: log.cwd.as_deref(),
            parent: log.parent.as_deref(),
            is_subagent: log.is_subagent,
            generation: log.generation,
            path: &log.path,
        };
        // Texts and numbers always serialise.
        let mut bytes = serde_json::to_vec(&line).unwrap_or_default();
        bytes.push(b'\n');
        if self.open.is_none() {
            let name = PathBuf::from(format!("documents-{}.ndjson", self.count.files));
            self.open = Some(self.folder.begin(&name)?);
            self.count.files += 1;
        }
        if let Some(open) = &mut self.open {
            open.write(&bytes)?;
        }
        self.count.rows += 1;
        self.held += bytes.len();
        if self.held > self.limit { self.close() } else { Ok(()) }
    }

    fn end(&mut self, _: &Facts, _: &Tail) -> Result<()> {
        Ok(())
    }

    fn finish(&mut self) -> Result<Vec<TableCount>> {
        self.close()?;
        Ok(vec![self.count.clone()])
    }
}

/// RFC 3339, since a number would be taken for seconds or nanoseconds by its length. A moment that Quickwit cannot hold
/// is the nearest that it can: a document without one it refuses.
fn moment(time: i64) -> String {
    let moment = Timestamp::from_millisecond(time.clamp(EARLIEST, LATEST)).unwrap_or_default();
    format!("{moment:.3}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_that_quickwit_can_hold() {
        for (time, expected) in [
            (1_796_110_000_123, "2026-12-01T07:26:40.123Z"),
            (0, "1970-01-01T00:00:00.000Z"),
            (-9_007_199_254_740_991, "1677-09-21T00:12:43.146Z"),
            (9_007_199_254_740_991, "2262-04-11T23:47:16.854Z"),
        ] {
            assert_eq!(moment(time), expected);
        }
    }
}
