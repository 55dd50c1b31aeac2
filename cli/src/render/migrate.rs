//! What came of migrating sessions.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use dshlog_codec::home::LOCK_NAME;
use dshlog_codec::{At, Generation};
use dshlog_migrate::Published;
use dshlog_migrate::{Outcome, Problem, Report};

use super::json::Object;
use super::ls::{id_length, short};
use super::page::{Fold, Line, Page};
use super::style::Role;
use super::text::{visible, width};
use super::units;
use crate::exit::problem_without_place;

/// What came of one session, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    Migrated,
    Would,
    Current,
    Refused,
    Locked,
    Failed,
}

impl Status {
    /// Of a report.
    pub(crate) fn of(report: &Report) -> Self {
        match report.outcome {
            Outcome::Current => Status::Current,
            Outcome::Would { .. } => Status::Would,
            Outcome::Migrated { .. } => Status::Migrated,
            Outcome::Refused(_) => Status::Refused,
            Outcome::Locked => Status::Locked,
            Outcome::Failed(_) => Status::Failed,
        }
    }

    /// True when the session is not, and could not be, in the current format.
    pub(crate) fn is_trouble(self) -> bool {
        matches!(self, Status::Refused | Status::Locked | Status::Failed)
    }

    fn word(self) -> &'static str {
        match self {
            Status::Migrated => "migrated",
            Status::Would => "would migrate",
            Status::Current => "current",
            Status::Refused => "refused",
            Status::Locked => "locked",
            Status::Failed => "failed",
        }
    }

    fn role(self) -> Role {
        match self {
            Status::Migrated | Status::Would => Role::Good,
            Status::Current => Role::Dim,
            Status::Locked => Role::Warn,
            Status::Refused | Status::Failed => Role::Bad,
        }
    }
}

/// True when there is nothing to tell of a session but its status.
pub(crate) fn is_plain(report: &Report) -> bool {
    report.warnings.is_empty() && report.deviations.is_empty()
}

/// Why a session was not migrated.
struct Reason<'r> {
    code: &'static str,
    message: String,
    at: Cow<'r, At>,
}

impl Reason<'_> {
    fn of(report: &Report) -> Option<Reason<'_>> {
        let problem = match &report.outcome {
            Outcome::Refused(problem) | Outcome::Failed(problem) => problem,
            Outcome::Locked => {
                let at = At { path: Some(report.folder.join(LOCK_NAME)), ..At::default() };
                let message = "locked by a writer".to_owned();
                return Some(Reason { code: "locked", message, at: Cow::Owned(at) });
            }
            Outcome::Current | Outcome::Would { .. } | Outcome::Migrated { .. } => return None,
        };
        let at = match problem {
            Problem::Log(error) => Cow::Borrowed(error.position()),
            other => Cow::Owned(At { path: other.path().map(ToOwned::to_owned), ..At::default() }),
        };
        Some(Reason { code: problem.code(), message: problem_without_place(problem), at })
    }
}

/// Events and bytes of the target.
fn target(report: &Report) -> (Option<u64>, Option<u64>) {
    match &report.outcome {
        Outcome::Would { events } => (Some(*events), None),
        Outcome::Migrated { events, published, .. } => {
            let (Published::New { len } | Published::Equal { len }) = published;
            (Some(*events), Some(*len))
        }
        _ => (None, None),
    }
}

/// The document `dshlog.migrate/1`.
pub(crate) fn json(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let (events, len) = target(report);
    let mut document = Object::new("dshlog.migrate/1");
    document.text_or_null("session", report.session.as_ref().map(|id| id.to_lossy()).as_deref());
    document.path("path", Some(&report.folder));
    document.count_or_null("from", report.from.map(|generation| generation.0));
    document.count("to", Generation::CURRENT.0);
    document.text("status", &Status::of(report).word().replace(' ', "-"));
    let published = match &report.outcome {
        Outcome::Migrated { path, .. } => Some(path.as_path()),
        _ => None,
    };
    document.path("published", published);
    match Reason::of(report) {
        None => document.raw("reason", b"null"),
        Some(reason) => document.object("reason", |object| {
            object.text("code", reason.code);
            object.text("message", &reason.message);
            object.object("at", |at| {
                at.path("path", reason.at.path.as_deref());
                position(at, &reason.at);
            });
        }),
    }
    document.array("deviations", &report.deviations, |deviation, object| {
        object.text("code", deviation.code);
        object.text("message", deviation.what);
        object.count("count", deviation.count);
        object.object("first", |at| position(at, &deviation.first));
    });
    document.count_or_null("events", events);
    document.object("bytes", |bytes| {
        bytes.count("source", report.source_len);
        bytes.count_or_null("target", len);
    });
    document.array("warnings", &report.warnings, |warning, object| {
        object.text("code", warning.fault.code());
        object.text("session", &warning.id.to_lossy());
        object.text("message", &warning.fault.to_string());
    });
    document.write_line(out)
}

fn position(object: &mut Object, at: &At) {
    object.count_or_null("frame", at.frame);
    object.count_or_null("line", at.line);
    object.count_or_null("byte", at.byte);
    object.count_or_null("seq", at.seq.map(|seq| seq.0));
    object.text_or_null("pointer", at.pointer.as_deref());
}

/// Rows that come one by one, so that the columns must be known before the first of them.
pub(crate) struct Rows {
    id_length: usize,
    id_width: usize,
    width: usize,
    color: bool,
    has_head: bool,
}

/// Columns of `V0 → V4`, of a count of events, of two sizes.
const STEP: usize = 7;
const EVENTS: usize = 8;
const SIZES: usize = 17;
/// Columns below which only the outcome is told.
const NARROW: usize = 72;
/// No id takes more columns.
const LONGEST_ID: usize = 24;

impl Rows {
    /// For sessions with these ids.
    pub(crate) fn new<'a>(
        ids: impl Iterator<Item = Cow<'a, str>> + Clone,
        width: usize,
        color: bool,
    ) -> Self {
        let id_length = id_length(ids.clone());
        let widest = ids.map(|id| self::width(&visible(&short(&id, id_length)))).max().unwrap_or(0);
        Rows { id_length, id_width: widest.clamp(2, LONGEST_ID), width, color, has_head: false }
    }

    /// True when there was a row.
    pub(crate) fn has_head(&self) -> bool {
        self.has_head
    }

    /// One session.
    pub(crate) fn row(&mut self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        let mut page = Page::new(out, self.width, self.color, false);
        if !std::mem::replace(&mut self.has_head, true) {
            page.line(self.line(Role::Dim, ["ID", "FORMAT", "EVENTS", "SIZE"], (Role::Dim, "STATUS")))?;
        }
        let status = Status::of(report);
        let id = match &report.session {
            Some(id) => id.to_lossy(),
            None => report.folder.file_name().unwrap_or_default().to_string_lossy(),
        };
        let id = short(&id, self.id_length);
        let step = match (report.from, status) {
            (Some(from), Status::Current) => from.to_string(),
            (Some(from), _) if from.0 < Generation::CURRENT.0 => format!("{from} → {}", Generation::CURRENT),
            (Some(from), _) => from.to_string(),
            (None, _) => String::new(),
        };
        let (events, len) = target(report);
        let before = format!("{:>7}", units::bytes(report.source_len));
        let sizes = match len {
            Some(len) => format!("{before} → {:>7}", units::bytes(len)),
            None => format!("{before}          "),
        };
        let reason = Reason::of(report);
        let outcome = match &reason {
            Some(reason) if status != Status::Locked => format!("{}: {}", status.word(), reason.code),
            _ => status.word().to_owned(),
        };
        let events = events.map(units::grouped).unwrap_or_default();
        page.line(self.line(Role::Strong, [&id, &step, &events, &sizes], (status.role(), &outcome)))?;
        let (first, rest) = (Line::of(Role::Plain, "    "), Line::of(Role::Plain, "      "));
        if let Some(reason) = reason.filter(|_| status != Status::Locked) {
            let words = format!("{}{}", reason.message, place(&reason.at));
            page.text(first.clone(), &rest, Role::Plain, &visible(&words), Fold::Whole)?;
        }
        let mut warn =
            |words: &str| page.text(first.clone(), &rest, Role::Warn, &visible(words), Fold::Whole);
        for warning in &report.warnings {
            let id = warning.id.to_lossy();
            warn(&format!("subagent {id} is listed with mode `unknown`: {}", warning.fault))?;
        }
        for deviation in &report.deviations {
            let (count, at) = (units::grouped(deviation.count), place(&deviation.first));
            warn(&format!("{count} times: {}, first{at}", deviation.what))?;
        }
        Ok(())
    }

    fn line(&self, role: Role, fields: [&str; 4], status: (Role, &str)) -> Line {
        let [id, step, events, sizes] = fields;
        let left = |text: &str, columns: usize| {
            let text = super::text::clip(&visible(text), columns).into_owned();
            format!("{text}{}  ", " ".repeat(columns.saturating_sub(width(&text))))
        };
        let right = |text: &str, columns: usize| {
            format!("{}{text}  ", " ".repeat(columns.saturating_sub(width(text))))
        };
        let mut line = Line::of(role, &left(id, self.id_width));
        line = line.with(if role == Role::Dim { role } else { Role::Plain }, &left(step, STEP));
        if self.width >= NARROW {
            line = line.with(Role::Dim, &format!("{}{}", right(events, EVENTS), right(sizes, SIZES)));
        }
        line.with(status.0, status.1)
    }
}

/// A position without the file, in brackets.
fn place(at: &At) -> String {
    let at = At { path: None, generation: None, ..at.clone() };
    let place = at.to_string();
    if place.is_empty() { place } else { format!(" [{place}]") }
}

/// What came of all sessions.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    by_status: BTreeMap<Status, u64>,
    by_code: BTreeMap<(Status, &'static str), u64>,
    changed: BTreeMap<Status, u64>,
    obscure: BTreeMap<Status, u64>,
    read: u64,
    written: u64,
}

impl Summary {
    /// One more session.
    pub(crate) fn see(&mut self, report: &Report) {
        let status = Status::of(report);
        *self.by_status.entry(status).or_default() += 1;
        if let Some(reason) = Reason::of(report).filter(|_| status != Status::Locked) {
            *self.by_code.entry((status, reason.code)).or_default() += 1;
        }
        for (is_so, count) in [
            (!report.deviations.is_empty(), &mut self.changed),
            (!report.warnings.is_empty(), &mut self.obscure),
        ] {
            if is_so {
                *count.entry(status).or_default() += 1;
            }
        }
        if matches!(status, Status::Migrated | Status::Would) {
            self.read += report.source_len;
            self.written += target(report).1.unwrap_or(0);
        }
    }

    /// Counts by outcome, and by code where there are codes, most first.
    pub(crate) fn write(&self, out: &mut dyn Write, columns: usize, color: bool) -> io::Result<()> {
        let mut page = Page::new(out, columns, color, false);
        let digits =
            self.by_status.values().map(|count| units::grouped(*count).len()).max().unwrap_or_default();
        for (status, count) in &self.by_status {
            let number = format!("{:>digits$} ", units::grouped(*count));
            let mut line = Line::of(Role::Strong, &number).with(status.role(), status.word());
            match status {
                Status::Migrated => {
                    let bytes =
                        format!("  {} read, {} written", units::bytes(self.read), units::bytes(self.written));
                    line = line.with(Role::Dim, &bytes);
                }
                Status::Would => {
                    line = line.with(Role::Dim, &format!("  {} read", units::bytes(self.read)));
                }
                _ => {}
            }
            page.line(line)?;
            let of_status = self.by_code.iter().filter(|((of, _), _)| of == status);
            let mut codes: Vec<(u64, &str)> = of_status.map(|((_, code), count)| (*count, *code)).collect();
            codes.sort_by_key(|(count, code)| (std::cmp::Reverse(*count), *code));
            let of = |counts: &BTreeMap<Status, u64>| counts.get(status).copied().unwrap_or_default();
            let kinds =
                [(of(&self.changed), "with changed values"), (of(&self.obscure), "with unknown subagents")];
            codes.extend(kinds.into_iter().filter(|(count, _)| *count > 0));
            for (count, code) in codes {
                let number = format!("{:>1$} ", units::grouped(count), digits + 4);
                page.line(Line::of(Role::Dim, &number).with(Role::Plain, code))?;
            }
        }
        Ok(())
    }
}
