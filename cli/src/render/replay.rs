//! What came of scenarios that were run again, for people and for programs.

mod document;
mod junit;

use std::io::{self, Write};
use std::path::PathBuf;

use dshlog_replay::runner::{Wire, WireDifference};

use super::diff::{self, Layout, Report};
use super::page::{Fold, Line, Page};
use super::style::Role;
use super::units;
use crate::exit::{Outcome, shown};

pub(crate) use document::document;
pub(crate) use junit::junit;

/// How a scenario ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// What came out is what is expected.
    Ok,
    /// It is not.
    Differs,
    /// There is nothing to compare.
    Failed,
    /// It was ended.
    TimedOut,
}

impl Status {
    /// The word of the JSON form.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Differs => "differs",
            Status::Failed => "failed",
            Status::TimedOut => "timed-out",
        }
    }

    fn role(self) -> Role {
        match self {
            Status::Ok => Role::Good,
            Status::Differs => Role::Warn,
            Status::Failed | Status::TimedOut => Role::Bad,
        }
    }
}

/// What is told of a scenario.
#[derive(Debug)]
pub(crate) struct Told {
    /// Its name.
    pub(crate) name: String,
    /// The id of the recorded session, once it is known.
    pub(crate) session: Option<String>,
    /// Who ran it.
    pub(crate) agent: String,
    /// How it ended.
    pub(crate) status: Status,
    /// Why, in a line.
    pub(crate) reason: Option<String>,
    /// How the command has to end because it could not be run.
    pub(crate) cannot_be: Option<Outcome>,
    /// How the model was reached: `http` or `memory`; empty when it was not.
    pub(crate) transport: &'static str,
    /// Why it was not reached over HTTP.
    pub(crate) from_memory: Option<String>,
    /// What the server was asked.
    pub(crate) wire: Option<Wire>,
    /// The exit code of a command.
    pub(crate) exit: Option<i32>,
    /// The events, compared.
    pub(crate) events: Option<Report>,
    /// The requests of the two logs, compared.
    pub(crate) requests: Option<Report>,
    /// Subagents, those of the record first; nothing where they were not run.
    pub(crate) subagents: Option<Vec<ComparedSubagent>>,
    /// The last of what a command said: stdout, stderr.
    pub(crate) said: [String; 2],
    /// The folder that was kept.
    pub(crate) kept: Option<PathBuf>,
    /// What came out is expected from now on.
    pub(crate) is_updated: bool,
    /// How long it took.
    pub(crate) millis: u64,
}

/// A subagent of the record and the one that took its place; one of the two is missing where there is none.
#[derive(Debug)]
pub(crate) struct ComparedSubagent {
    /// Its id in the record.
    pub(crate) recorded: Option<String>,
    /// Its id in the run.
    pub(crate) written: Option<String>,
    /// The events, compared.
    pub(crate) events: Option<Report>,
    /// The requests of the two logs, compared.
    pub(crate) requests: Option<Report>,
}

impl ComparedSubagent {
    /// It is in the record only, or in the run only.
    pub(crate) fn is_alone(&self) -> bool {
        self.recorded.is_none() || self.written.is_none()
    }

    /// The reports that have a difference.
    fn different(&self) -> impl Iterator<Item = &Report> {
        [&self.events, &self.requests].into_iter().flatten().filter(|report| !report.is_equal)
    }

    /// The first difference in a line; nothing when there is none.
    fn words(&self) -> Option<Line> {
        let name = |id: &String| shown(std::path::Path::new(id));
        match (&self.recorded, &self.written) {
            (Some(id), None) => {
                Some(Line::of(Role::Plain, &format!("subagent {} did not come to be", name(id))))
            }
            (None, Some(id)) => Some(Line::of(Role::Plain, &format!("one more subagent: {}", name(id)))),
            _ => {
                let head =
                    Line::of(Role::Plain, &format!("subagent {}: ", self.recorded.as_ref().map(name)?));
                Some(head.joined(self.different().find_map(diff::first_place)?))
            }
        }
    }
}

impl Told {
    /// Of a scenario of which nothing is known yet.
    pub(crate) fn new(name: String) -> Self {
        Told {
            name,
            session: None,
            agent: String::new(),
            status: Status::Ok,
            reason: None,
            cannot_be: None,
            transport: "",
            from_memory: None,
            wire: None,
            exit: None,
            events: None,
            requests: None,
            subagents: None,
            said: [String::new(), String::new()],
            kept: None,
            is_updated: false,
            millis: 0,
        }
    }

    /// With what was compared.
    pub(crate) fn compared(&mut self, events: Option<Report>, requests: Option<Report>) {
        (self.events, self.requests) = (events, requests);
    }

    /// The first request that is not what the record implies.
    fn first_request(&self) -> Option<&WireDifference> {
        self.wire.as_ref().and_then(|wire| wire.first.as_ref())
    }

    /// The reports that have a difference.
    fn different(&self) -> impl Iterator<Item = &Report> {
        [&self.events, &self.requests].into_iter().flatten().filter(|report| !report.is_equal)
    }

    /// What is said behind the name.
    fn words(&self) -> Line {
        if let Some(reason) = &self.reason {
            // What else there is to say of it comes behind the list.
            return Line::of(Role::Plain, reason.lines().next().unwrap_or_default());
        }
        match self.status {
            Status::Ok => {
                let mut words = Vec::new();
                if let Some(events) = &self.events {
                    let count =
                        events.counts.iter().find(|(name, _)| *name == "b").map_or(0, |count| count.1);
                    words.push(units::count(count, "event"));
                }
                if let Some(wire) = &self.wire {
                    words.push(units::count(wire.asked as u64, "request"));
                }
                if self.from_memory.is_some() {
                    words.push("answered from memory".to_owned());
                }
                if self.is_updated {
                    words.push("updated".to_owned());
                }
                Line::of(Role::Dim, &words.join(", "))
            }
            _ => self
                .different()
                .find_map(diff::first_place)
                .or_else(|| self.subagents.iter().flatten().find_map(ComparedSubagent::words))
                .or_else(|| Some(Line::of(Role::Plain, &request_words(self.first_request()?))))
                .unwrap_or_default(),
        }
    }
}

/// How many ended how.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    all: u64,
    ok: u64,
    differs: u64,
    failed: u64,
    timed_out: u64,
}

impl Tally {
    /// Of these.
    pub(crate) fn of(told: &[Told]) -> Self {
        let mut tally = Tally { all: told.len() as u64, ..Tally::default() };
        for one in told {
            *match one.status {
                Status::Ok => &mut tally.ok,
                Status::Differs => &mut tally.differs,
                Status::Failed => &mut tally.failed,
                Status::TimedOut => &mut tally.timed_out,
            } += 1;
        }
        tally
    }
}

/// One line for a scenario, as soon as it has ended.
pub(crate) fn line(told: &Told, columns: usize, layout: &Layout, out: &mut dyn Write) -> io::Result<()> {
    let name = shown(std::path::Path::new(&told.name));
    let line = Line::of(told.status.role(), &format!("{:<9}", told.status.name()))
        .with(Role::Plain, &format!("  {name:<columns$}  "));
    let words = told.words();
    let mut page = Page::new(out, layout.width, layout.color, false);
    page.line(line.joined(words))
}

/// All that is to be said of a scenario that is not as it should be.
pub(crate) fn details(told: &Told, layout: &Layout, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(out, layout.width, layout.color, false);
    page.blank()?;
    let title =
        Line::of(Role::Strong, &told.name).with(told.status.role(), &format!("  {}", told.status.name()));
    page.rule(title, Line::of(Role::Dim, &told.agent))?;
    if let Some(reason) = &told.reason {
        page.text(Line::default(), &Line::default(), Role::Plain, reason, Fold::Whole)?;
    }
    if let Some(wire) = told.wire.as_ref().filter(|wire| !wire.is_equal()) {
        let words = format!("{} of {}", wire.asked, units::count(wire.expected as u64, "request"));
        page.line(Line::of(
            Role::Plain,
            &format!("the model was asked {words}, {} of them alike", wire.alike),
        ))?;
        if let Some(first) = &wire.first {
            page.line(Line::of(Role::Plain, &format!("first: {}", request_words(first))))?;
        }
    }
    let subagents = || told.subagents.iter().flatten();
    if told.different().chain(subagents().flat_map(ComparedSubagent::different)).next().is_some() {
        page.line(Line::of(Role::Dim, "a is what is expected, b what came out"))?;
    }
    for report in told.different() {
        page.blank()?;
        diff::text(report, layout, page.out())?;
    }
    for subagent in subagents() {
        if let Some(words) = subagent.words() {
            page.blank()?;
            page.line(words)?;
        }
        for report in subagent.different() {
            diff::text(report, layout, page.out())?;
        }
    }
    if told.status == Status::Failed || told.status == Status::TimedOut {
        for (name, said) in
            ["stdout", "stderr"].into_iter().zip(&told.said).filter(|(_, said)| !said.is_empty())
        {
            page.line(Line::of(Role::Dim, &format!("the last of {name}:")))?;
            for line in said.lines() {
                page.line(Line::of(Role::Plain, &format!("    {line}")))?;
            }
        }
    }
    if let Some(kept) = &told.kept {
        page.line(Line::of(Role::Dim, &format!("kept: {}", shown(kept))))?;
    }
    Ok(())
}

/// How many ended how.
pub(crate) fn summary(tally: &Tally, layout: &Layout, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(out, layout.width, layout.color, false);
    let mut line = Line::of(Role::Plain, &format!("{}:", units::count(tally.all, "scenario")));
    let parts = [
        (tally.ok, Status::Ok, "ok"),
        (tally.differs, Status::Differs, "differ"),
        (tally.failed, Status::Failed, "failed"),
        (tally.timed_out, Status::TimedOut, "timed out"),
    ];
    for (number, (count, status, words)) in parts.into_iter().filter(|(count, ..)| *count > 0).enumerate() {
        let words = if count == 1 && status == Status::Differs { "differs" } else { words };
        let comma = if number > 0 { ", " } else { " " };
        line = line.with(Role::Plain, comma).with(status.role(), &format!("{count} {words}"));
    }
    page.blank()?;
    page.line(line)
}

/// `request 3 (turn 1, step 2) at /messages/2: expected "a", is "b"`.
fn request_words(first: &WireDifference) -> String {
    let place = first.position.map(|at| format!(" (turn {}, step {})", at.turn, at.step)).unwrap_or_default();
    let pointer = if first.pointer.is_empty() { String::new() } else { format!(" at {}", first.pointer) };
    format!("request {}{place}{pointer}: {}", first.number, first.what)
}
