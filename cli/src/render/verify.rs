//! What `verify` found in a log.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use dshlog_codec::{At, End, Error, Torn};

use super::json::{Object, position};
use super::page::{Fold, Line, Page};
use super::style::Role;
use super::text::visible;
use super::units;
use crate::exit::{shown, without_place};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// The official reader refuses the log.
    Error,
    /// It reads the log, but not all that is in the file.
    Warning,
    /// Nothing is known to be wrong.
    Note,
}

impl Severity {
    /// The word of the JSON forms.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }

    /// How it is coloured.
    pub(crate) fn role(self) -> Role {
        match self {
            Severity::Error => Role::Bad,
            Severity::Warning => Role::Warn,
            Severity::Note => Role::Dim,
        }
    }
}

/// One finding.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    severity: Severity,
    code: &'static str,
    message: String,
    at: At,
}

impl Finding {
    /// A fault of the log.
    pub(crate) fn of(severity: Severity, error: &Error) -> Self {
        Finding { severity, code: error.code(), message: without_place(error), at: error.position().clone() }
    }

    /// A tail that was not written to its end.
    pub(crate) fn torn(end: &End) -> Self {
        let mut message = format!("{} behind the last complete event", units::bytes(end.dropped_bytes));
        if let Some(issue) = &end.issue {
            message = format!("{message} ({})", issue.kind());
        }
        let at = end.issue.as_ref().map_or_else(At::default, |issue| issue.position().clone());
        Finding { severity: Severity::Warning, code: "torn-tail", message, at }
    }

    /// A working directory that the official reader on POSIX does not take for absolute.
    pub(crate) fn windows_cwd() -> Self {
        Finding {
            severity: Severity::Note,
            code: "windows-cwd",
            message: "`cwd` is a Windows path; dsh on another system refuses this log".to_owned(),
            at: At::default(),
        }
    }
}

/// All about one log.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    path: PathBuf,
    /// From name or content.
    pub(crate) stored_version: Option<u64>,
    /// Events before the first damage, in the form of V4.
    pub(crate) events: u64,
    /// Everything found.
    pub(crate) findings: Vec<Finding>,
    /// The official torn report, and the bytes behind the committed prefix.
    pub(crate) recovery: Option<(Option<Torn>, u64)>,
    /// The file could not be read.
    pub(crate) is_unread: bool,
}

impl Report {
    /// Nothing known yet.
    pub(crate) fn new(path: &Path) -> Self {
        Report {
            path: path.to_owned(),
            stored_version: None,
            events: 0,
            findings: Vec::new(),
            recovery: None,
            is_unread: false,
        }
    }

    /// True when nothing is wrong.
    pub(crate) fn is_ok(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity == Severity::Note)
    }
}

/// One line, and one a finding below it.
pub(crate) fn text(report: &Report, out: &mut dyn Write, width: usize, color: bool) -> io::Result<()> {
    let mut worst = report.findings.iter().map(|finding| finding.severity);
    let (mark, role) = if report.is_ok() {
        ("ok    ", Role::Good)
    } else if worst.any(|severity| severity == Severity::Error) {
        ("bad   ", Role::Bad)
    } else {
        ("torn  ", Role::Warn)
    };
    let version = report.stored_version.map(|version| format!("V{version}, ")).unwrap_or_default();
    let facts = format!("  {version}{}", units::count(report.events, "event"));
    let line = Line::of(role, mark).with(Role::Plain, &shown(&report.path)).with(Role::Dim, &facts);
    // One line a log, whatever the width: it is for `grep`, too.
    Page::new(out, line.width(), color, false).line(line)?;
    let mut page = Page::new(out, width, color, false);
    let rest = Line::of(Role::Plain, "      ");
    for finding in &report.findings {
        let mut at = finding.at.clone();
        at.path = None;
        at.generation = None;
        let place = at.to_string();
        let place = if place.is_empty() { String::new() } else { format!(" [{place}]") };
        let words = format!("{}: {}{place}", finding.code, visible(&finding.message));
        page.text(
            rest.clone(),
            &Line::of(Role::Plain, "        "),
            finding.severity.role(),
            &words,
            Fold::Whole,
        )?;
    }
    Ok(())
}

/// The document `dshlog.verify/1`.
pub(crate) fn json(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut document = Object::new("dshlog.verify/1");
    document.path("path", Some(&report.path));
    document.flag("ok", report.is_ok());
    document.count_or_null("storedVersion", report.stored_version);
    document.count("events", report.events);
    document.array("findings", &report.findings, |finding, object| {
        object.text("severity", finding.severity.name());
        object.text("code", finding.code);
        object.text("message", &finding.message);
        object.object("at", |at| position(&finding.at, at));
    });
    match report.recovery {
        None => document.raw("recovery", b"null"),
        Some((torn, dropped)) => document.object("recovery", |object| {
            object.count_or_null("truncateTo", torn.map(|torn| torn.truncate_to));
            object.count_or_null("recoveredEvents", torn.map(|torn| torn.recovered));
            object.count("droppedBytes", dropped);
        }),
    }
    document.write_line(out)
}
