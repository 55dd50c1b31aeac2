//! What `doctor` found in a root.

use std::io::{self, Write};

use jiff::tz::TimeZone;

use super::json::Object;
use super::page::{Fold, Line, Page};
use super::style::Role;
use super::units;
use super::verify::Severity;
use crate::doctor::finding::{Blocks, By, Finding, Subject, Writer};
use crate::doctor::{Count, Report};
use crate::exit::shown;

/// Subjects of a finding that are shown when not all are asked for.
const SHOWN: usize = 3;

/// For people. `all` leaves nothing out.
pub(crate) fn text(
    report: &Report,
    out: &mut dyn Write,
    width: usize,
    color: bool,
    all: bool,
    zone: &TimeZone,
) -> io::Result<()> {
    let mut view = View { page: Page::new(out, width, color, false), color, all, zone };
    view.head(report)?;
    for finding in &report.findings {
        view.page.blank()?;
        view.finding(finding)?;
    }
    view.page.blank()?;
    view.verdict(report)
}

struct View<'a, 'w> {
    page: Page<'w>,
    color: bool,
    all: bool,
    zone: &'a TimeZone,
}

impl View<'_, '_> {
    fn head(&mut self, report: &Report) -> io::Result<()> {
        let facts = format!(
            "  {}, {}",
            units::count(report.total.sessions, "session"),
            units::bytes(report.total.bytes)
        );
        self.whole(Line::of(Role::Strong, &shown(&report.root)).with(Role::Dim, &facts))?;
        for format in &report.formats {
            let name = format!("  V{} {:4}  ", format.version, format.encoding);
            self.page.line(Line::of(Role::Plain, &name).with(Role::Plain, &fates(&format.count)))?;
        }
        if report.held + report.free > 0 {
            let locks =
                format!("  {} held, {} free", units::count(report.held, "lock"), units::grouped(report.free));
            self.page.line(Line::of(Role::Dim, &locks))?;
        }
        Ok(())
    }

    fn finding(&mut self, finding: &Finding) -> io::Result<()> {
        let is_about_sessions = finding.subjects.iter().all(|subject| subject.session.is_some());
        let noun = if is_about_sessions { "session" } else { "thing" };
        let count = units::count(finding.subjects.len() as u64, noun);
        let head = Line::of(finding.severity.role(), &format!("{:8}", finding.severity.name()))
            .with(Role::Strong, finding.code)
            .with(Role::Dim, &format!("  {count}"))
            .with(Role::Warn, effect(finding.blocks));
        self.page.line(head)?;
        self.words(Role::Plain, &finding.meaning)?;
        for writer in writers(finding) {
            self.words(Role::Dim, &format!("written by {writer}"))?;
        }
        let shown = if self.all { finding.subjects.len() } else { SHOWN };
        for subject in finding.subjects.iter().take(shown) {
            self.subject(subject)?;
        }
        if let Some(hidden) = finding.subjects.len().checked_sub(shown).filter(|hidden| *hidden > 0) {
            self.words(Role::Dim, &format!("… {} more; `-v` shows all", units::grouped(hidden as u64)))?;
        }
        let mend = match finding.mend.by {
            By::Nobody => finding.mend.text.clone(),
            _ => format!("mend: {}", finding.mend.text),
        };
        self.words(if finding.mend.by == By::Nothing { Role::Warn } else { Role::Good }, &mend)?;
        let commands = finding.subjects.iter().take(shown).flat_map(|subject| &subject.commands);
        for command in finding.command.iter().chain(commands) {
            // Whole, whatever the width: it is to be copied.
            self.whole(Line::of(Role::Plain, "          ").with(Role::Plain, command))?;
        }
        Ok(())
    }

    fn subject(&mut self, subject: &Subject) -> io::Result<()> {
        let name = match &subject.session {
            Some(session) => session.clone(),
            None => subject.path.to_string_lossy().into_owned(),
        };
        let mut line = Line::of(Role::Plain, "          ").with(Role::Plain, &name);
        let place = subject.at.to_string();
        if subject.session.is_none() && subject.path.ends_with(&subject.detail) {
            return self.whole(line);
        }
        if !subject.detail.is_empty() {
            line = line.with(Role::Dim, &format!("  {}", subject.detail));
        }
        if !place.is_empty() {
            line = line.with(Role::Dim, &format!(" [{place}]"));
        }
        if let Some(time) = subject.writer.as_ref().and_then(|writer| writer.time) {
            let day = units::moment(time, self.zone, "%d %b %Y");
            line = line.with(Role::Dim, &format!(", {day}"));
        }
        self.whole(line)
    }

    fn verdict(&mut self, report: &Report) -> io::Result<()> {
        let count =
            |severity| report.findings.iter().filter(|found| found.severity == severity).count() as u64;
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        let words = match report.blocks {
            Blocks::Root => "dsh opens no session of this root until the faults of the root are mended",
            Blocks::List => {
                "dsh lists no session of this root, and upgrades none, until the faults of its list are mended"
            }
            Blocks::Session => "the next upgrade leaves the sessions that dsh does not open as they are",
            Blocks::Nothing if warnings > 0 => "the next upgrade loses no session",
            Blocks::Nothing if report.total.sessions == 0 => "there are no sessions here",
            Blocks::Nothing => "nothing stands in the way of an upgrade",
        };
        let role = if errors > 0 {
            Role::Bad
        } else if warnings > 0 {
            Role::Warn
        } else {
            Role::Good
        };
        let sum = match (errors, warnings) {
            (0, 0) => String::new(),
            _ => format!("{}, {}; ", units::count(errors, "error"), units::count(warnings, "warning")),
        };
        let rest = Line::default();
        self.page.text(rest.clone(), &rest, role, &format!("{sum}{words}"), Fold::Whole)
    }

    fn words(&mut self, role: Role, text: &str) -> io::Result<()> {
        let rest = Line::of(Role::Plain, "        ");
        self.page.text(rest.clone(), &rest, role, text, Fold::Whole)
    }

    /// A line that keeps to no width: it is for copying, and for `grep`.
    fn whole(&mut self, line: Line) -> io::Result<()> {
        Page::new(self.page.out(), line.width(), self.color, false).line(line)
    }
}

/// What becomes of sessions, in words.
fn fates(count: &Count) -> String {
    let parts = [
        (count.current, "current"),
        (count.migrate, "to be carried over"),
        (count.refused, "refused"),
        (count.not_judged, "not judged"),
    ];
    let words: Vec<String> = parts
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, word)| format!("{} {word}", units::grouped(*number)))
        .collect();
    words.join(", ")
}

fn effect(blocks: Blocks) -> &'static str {
    match blocks {
        Blocks::Nothing | Blocks::Session => "",
        Blocks::List => "  hides the list, and stops every upgrade",
        Blocks::Root => "  hides every session",
    }
}

/// Who wrote what is wrong, each once.
fn writers(finding: &Finding) -> Vec<String> {
    let mut said = Vec::new();
    for writer in finding.subjects.iter().filter_map(|subject| subject.writer.as_ref()) {
        let runtime = writer.runtime.unwrap_or("no release that is known");
        let who = match (&writer.plugin, writer.events.as_slice()) {
            (None, []) => runtime.to_owned(),
            (Some(plugin), []) => format!("{plugin} in {runtime}"),
            (None, events) => format!("{runtime} ({})", events.join(", ")),
            (Some(plugin), events) => format!("{plugin} ({}) in {runtime}", events.join(", ")),
        };
        let model = writer.model.as_ref().map(|(provider, model)| format!(", with {provider} {model}"));
        let words = format!("{who}{}", model.unwrap_or_default());
        if !said.contains(&words) {
            said.push(words);
        }
    }
    let more = said.len().saturating_sub(SHOWN);
    said.truncate(SHOWN);
    if more > 0 {
        said.push(format!("{more} others"));
    }
    said
}

/// The document `dshlog.doctor/1`.
pub(crate) fn json(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut document = Object::new("dshlog.doctor/1");
    document.path("root", Some(&report.root));
    document.path("home", report.home.as_deref());
    document.flag("ok", report.is_ok());
    document.text("blocks", report.blocks.name());
    document.object("sessions", |object| count(&report.total, object));
    document.array("formats", &report.formats, |format, object| {
        object.count("storedVersion", format.version);
        object.text("encoding", format.encoding);
        count(&format.count, object);
    });
    document.object("locks", |locks| {
        locks.count("held", report.held);
        locks.count("free", report.free);
    });
    document.array("findings", &report.findings, |finding, object| {
        object.text("severity", finding.severity.name());
        object.text("code", finding.code);
        object.text("meaning", &finding.meaning);
        object.text("blocks", finding.blocks.name());
        object.count("count", finding.subjects.len() as u64);
        object.object("mend", |mend| {
            mend.text("by", finding.mend.by.name());
            mend.text("text", &finding.mend.text);
            mend.text_or_null("command", finding.command.as_deref());
        });
        object.array("subjects", &finding.subjects, subject);
    });
    document.write_line(out)
}

fn count(count: &Count, object: &mut Object) {
    object.count("count", count.sessions);
    object.count("bytes", count.bytes);
    object.count("current", count.current);
    object.count("toMigrate", count.migrate);
    object.count("refused", count.refused);
    object.count("notJudged", count.not_judged);
}

fn subject(subject: &Subject, object: &mut Object) {
    object.text_or_null("session", subject.session.as_deref());
    object.path("path", Some(&subject.path));
    object.text("detail", &subject.detail);
    object.object("at", |at| super::json::position(&subject.at, at));
    object.count_or_null("bytes", subject.bytes);
    object.millis_or_null("modifiedAt", subject.modified);
    match &subject.writer {
        None => object.raw("writer", b"null"),
        Some(writer) => object.object("writer", |object| self::writer(writer, object)),
    }
    object.texts("commands", subject.commands.iter().map(String::as_str));
}

fn writer(writer: &Writer, object: &mut Object) {
    object.text_or_null("runtime", writer.runtime);
    object.text_or_null("plugin", writer.plugin.as_deref());
    object.texts("events", writer.events.iter().map(String::as_str));
    object.text_or_null("provider", writer.model.as_ref().map(|(provider, _)| provider.as_str()));
    object.text_or_null("model", writer.model.as_ref().map(|(_, model)| model.as_str()));
    object.millis_or_null("time", writer.time);
}
