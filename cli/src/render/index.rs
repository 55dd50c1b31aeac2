//! What an index holds, and what an update did.

use std::io::{self, Write};
use std::path::Path;

use dshlog_query::index::{Report, Size, Skipped};
use jiff::tz::TimeZone;

use super::json::Object;
use super::text::visible;
use super::units;

/// What is told of an index.
pub(crate) struct Told<'a> {
    /// Where it lies.
    pub(crate) folder: &'a Path,
    /// What an update did, when there was one.
    pub(crate) report: Option<&'a Report>,
    /// Number of its state.
    pub(crate) generation: u64,
    /// When all logs were last looked at, epoch milliseconds.
    pub(crate) updated: i64,
    /// How large it is.
    pub(crate) size: Size,
    /// Logs that are not whole in it.
    pub(crate) skipped: &'a [Skipped],
    /// Name all of them.
    pub(crate) is_verbose: bool,
}

/// So many of what is not whole are named.
const NAMED: usize = 10;

/// Lines for people.
pub(crate) fn text(told: &Told<'_>, zone: &TimeZone, out: &mut dyn Write) -> io::Result<()> {
    if let Some(report) = told.report {
        let mut parts = Vec::new();
        for (count, what) in [
            (report.read, "read"),
            (report.continued, "read on"),
            (report.removed, "gone"),
            (report.unchanged, "unchanged"),
        ] {
            if count > 0 {
                parts.push(format!("{} {what}", units::grouped(count)));
            }
        }
        let did = if parts.is_empty() { "none".to_owned() } else { parts.join(", ") };
        writeln!(out, "logs: {did}; {} new", units::count(report.documents, "document"))?;
    }
    writeln!(
        out,
        "index: {}, {}, {} in {}",
        units::count(told.size.sessions, "session"),
        units::count(told.size.documents, "document"),
        units::bytes(told.size.bytes),
        visible(&told.folder.to_string_lossy()),
    )?;
    if told.report.is_none() && told.updated > 0 {
        writeln!(out, "up to date at {}", units::moment(told.updated, zone, "%Y-%m-%d %H:%M:%S"))?;
    }
    let most = if told.is_verbose { usize::MAX } else { NAMED };
    for skipped in told.skipped.iter().take(most) {
        let how = if skipped.is_partial { "in part" } else { "not at all" };
        let (path, reason) = (skipped.path.to_string_lossy(), &skipped.reason);
        writeln!(out, "{how}: {}: {}", visible(&path), visible(reason))?;
    }
    if told.skipped.len() > most {
        writeln!(out, "… {} more; `-v` names all", told.skipped.len() - most)?;
    }
    Ok(())
}

/// One JSON document on a line (`docs/index.md`).
pub(crate) fn json(told: &Told<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut object = Object::new("dshlog.index/1");
    object.path("path", Some(told.folder));
    object.count("generation", told.generation);
    object.millis_or_null("updated", (told.updated > 0).then_some(told.updated));
    object.count("sessions", told.size.sessions);
    object.count("documents", told.size.documents);
    object.count("bytes", told.size.bytes);
    if let Some(report) = told.report {
        object.count("read", report.read);
        object.count("continued", report.continued);
        object.count("removed", report.removed);
        object.count("unchanged", report.unchanged);
        object.count("added", report.documents);
    }
    object.array("unsound", told.skipped, |skipped, part| {
        part.path("path", Some(&skipped.path));
        part.text_or_null("session", skipped.session.as_deref());
        part.flag("partial", skipped.is_partial);
        part.text("reason", &skipped.reason);
    });
    object.write_line(out)
}
