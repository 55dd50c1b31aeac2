//! What `verify` found in a log.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use dshlog_codec::{At, End, Error, Generation, Torn};
use dshlog_migrate::Disagreement;
use dshlog_replay::closer::Open;

use super::fork::{open_in_words, open_json};
use super::json::{Object, position};
use super::page::{Fold, Line, Page};
use super::style::Role;
use super::text::visible;
use super::units;
use crate::exit::{shown, without_place};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// The official reader refuses the log, or it contradicts another one of its session.
    Error,
    /// It reads the log, but not all that is in the file, or against the rules of the generation that it is stored in.
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
    /// The other log, where two generations of a session were compared.
    newer: Option<PathBuf>,
}

impl Finding {
    /// A fault of the log.
    pub(crate) fn of(severity: Severity, error: &Error) -> Self {
        let (message, at) = (without_place(error), error.position().clone());
        Finding { severity, code: error.code(), message, at, newer: None }
    }

    /// A fault by the rules of the generation that a log is stored in, which the official reader of today does not apply.
    pub(crate) fn as_stored(error: &Error, stored: Generation) -> Self {
        let message = format!("by the rules of {stored}: {}", without_place(error));
        Finding { message, ..Finding::of(Severity::Note, error) }
    }

    /// What two generations of a session do not agree on.
    pub(crate) fn overlap(found: Disagreement, older: &Path, newer: &Path) -> Self {
        let name = |path: &Path| shown(Path::new(path.file_name().unwrap_or_default()));
        let (older_name, newer_name) = (name(older), name(newer));
        let (severity, code, message, at) = match found {
            Disagreement::Differs { at, older, newer } => {
                let [older, newer] =
                    [older, newer].map(|value| value.unwrap_or_else(|| "nothing".to_owned()));
                let message =
                    format!("in the form of V4, {older_name} has {older} and {newer_name} has {newer}");
                (Severity::Error, "generations-differ", message, at)
            }
            Disagreement::Longer { at, events } => {
                let events = units::count(events, "event");
                let message = format!("{older_name} goes on for {events} behind the end of {newer_name}");
                (Severity::Warning, "older-generation-longer", message, at)
            }
        };
        Finding { severity, code, message, at, newer: Some(newer.to_owned()) }
    }

    /// A tail that was not written to its end.
    pub(crate) fn torn(end: &End) -> Self {
        let mut message = format!("{} behind the last complete event", units::bytes(end.dropped_bytes));
        if let Some(issue) = &end.issue {
            message = format!("{message} ({})", issue.kind());
        }
        let at = end.issue.as_ref().map_or_else(At::default, |issue| issue.position().clone());
        Finding { severity: Severity::Warning, code: "torn-tail", message, at, newer: None }
    }

    /// A turn without an end, which is no fault: its process died, or is at work.
    pub(crate) fn open(open: Open) -> Self {
        let message = format!(
            "open at the end: {}; a resume would close it with {}",
            open_in_words(open),
            units::count(open.closers(), "event")
        );
        Finding { severity: Severity::Note, code: "open-turn", message, at: At::default(), newer: None }
    }

    /// A working directory that the official reader on POSIX does not take for absolute.
    pub(crate) fn windows_cwd() -> Self {
        Finding {
            severity: Severity::Note,
            code: "windows-cwd",
            message: "`cwd` is a Windows path; dsh on another system refuses this log".to_owned(),
            at: At::default(),
            newer: None,
        }
    }
}

/// All about one log.
#[derive(Clone, Debug)]
pub(crate) struct Report {
    path: PathBuf,
    /// The path for people, beginning as they typed it.
    shown: PathBuf,
    /// From name or content.
    pub(crate) stored_version: Option<u64>,
    /// Events before the first damage, in the form of V4.
    pub(crate) events: u64,
    /// Everything found.
    pub(crate) findings: Vec<Finding>,
    /// The official torn report, and the bytes behind the committed prefix.
    pub(crate) recovery: Option<(Option<Torn>, u64)>,
    /// What is open at the end of a log that is not refused.
    pub(crate) open: Option<Open>,
    /// The file could not be read.
    pub(crate) is_unread: bool,
}

impl Report {
    /// Nothing known yet.
    pub(crate) fn new(path: &Path, shown: &Path) -> Self {
        Report {
            path: path.to_owned(),
            shown: shown.to_owned(),
            stored_version: None,
            events: 0,
            findings: Vec::new(),
            recovery: None,
            open: None,
            is_unread: false,
        }
    }

    /// True when this fault of a line was found before, in whatever form of the log.
    pub(crate) fn has(&self, fault: &Error) -> bool {
        let line = fault.position().line;
        self.findings.iter().any(|found| found.code == fault.code() && found.at.line == line)
    }

    /// True when the official reader refuses the log.
    pub(crate) fn has_error(&self) -> bool {
        self.findings.iter().any(|finding| finding.severity == Severity::Error)
    }

    /// True when nothing is wrong.
    pub(crate) fn is_ok(&self) -> bool {
        self.findings.iter().all(|finding| finding.severity == Severity::Note)
    }
}

/// One line, and one a finding below it.
pub(crate) fn text(report: &Report, out: &mut dyn Write, width: usize, color: bool) -> io::Result<()> {
    let has = |severity| report.findings.iter().any(|finding| finding.severity == severity);
    let (mark, role) = if has(Severity::Error) {
        ("bad   ", Role::Bad)
    } else if report.recovery.is_some() {
        ("torn  ", Role::Warn)
    } else if has(Severity::Warning) {
        ("warn  ", Role::Warn)
    } else {
        ("ok    ", Role::Good)
    };
    let version = report.stored_version.map(|version| format!("V{version}, ")).unwrap_or_default();
    let facts = format!("  {version}{}", units::count(report.events, "event"));
    let line = Line::of(role, mark).with(Role::Plain, &shown(&report.shown)).with(Role::Dim, &facts);
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
        if let Some(newer) = &finding.newer {
            object.path("newer", Some(newer));
        }
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
    open_json(&mut document, report.open);
    document.write_line(out)
}
