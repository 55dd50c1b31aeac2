//! The transcript: who said what, what the tools did and whether it worked, what it cost, where it went wrong.

use std::io::{self, Write};

use jiff::tz::TimeZone;

use super::page::{Fold, Line, Page};
use super::style::Role;
use super::text::{lines, one_line, visible, wrap};
use super::units;
use crate::transcript::{
    Body, Compacted, Entry, Inner, Item, Mood, Note, Output, Said, Seam, Summary, ToolRun, TurnEnd, Usage,
    Who,
};

/// Columns of the names at the left; narrow pages put names on lines of their own.
const LABEL: usize = 10;
const NARROW: usize = 60;

/// The mark of what the model no longer sees, and the columns from there to the end of the label.
const UNSEEN: &str = "┊";
const MARK: usize = 2;

/// Rows of each kind of text in a folded transcript.
const INPUT_ROWS: usize = 40;
const THOUGHT_ROWS: usize = 3;
const ASIDE_ROWS: usize = 3;
const OUTPUT_ROWS: usize = 4;
const ARGUMENT_ROWS: usize = 3;

/// What stands between a log and what `read --recovered` adds to it.
pub(crate) const RECOVERED: &str = "end of the log; a resume by dsh would append what follows";

/// How the transcript is laid out.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Columns.
    pub(crate) width: usize,
    /// Use colours.
    pub(crate) color: bool,
    /// Seqs in the margin.
    pub(crate) seqs: bool,
    /// Nothing folded.
    pub(crate) full: bool,
    /// Zone of all times.
    pub(crate) zone: TimeZone,
}

/// What stands at the head.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    /// The session's id.
    pub(crate) id: String,
    /// Working directory.
    pub(crate) cwd: Option<String>,
    /// Such as `V4 zstd`.
    pub(crate) stored: String,
    /// Creation time.
    pub(crate) created: i64,
    /// The session that delegated to this one, or that it was forked from.
    pub(crate) parent: Option<String>,
    /// How many events were inherited.
    pub(crate) inherited: u64,
    /// Delegated by the parent.
    pub(crate) is_subagent: bool,
    /// Messages that the model no longer sees.
    pub(crate) unseen: u64,
    /// What it amounts to, when that is known beforehand.
    pub(crate) summary: Option<Summary>,
}

/// Writes entries one after another.
pub(crate) struct Transcript<'w> {
    page: Page<'w>,
    layout: Layout,
    label: usize,
    /// Whose words the label column names.
    speaker: String,
    parent: Option<String>,
    /// Calendar day of the last time shown.
    day: String,
    started: bool,
    /// A turn or the head has ended, and no blank line stands behind it yet.
    between: bool,
    /// A seam has just been drawn; the rule of a turn goes right below it.
    at_seam: bool,
    /// What marks the rows that are drawn now; empty for none.
    mark: &'static str,
    title: String,
}

impl<'w> Transcript<'w> {
    /// A transcript onto `out`.
    pub(crate) fn new(out: &'w mut dyn Write, layout: Layout) -> Self {
        let page = Page::new(out, layout.width, layout.color, layout.seqs);
        let label = if page.width() < NARROW { 2 } else { LABEL };
        Transcript {
            page,
            layout,
            label,
            speaker: String::new(),
            parent: None,
            day: String::new(),
            started: false,
            between: false,
            at_seam: false,
            mark: "",
            title: String::new(),
        }
    }

    /// The head of the page.
    pub(crate) fn head(&mut self, head: &Head) -> io::Result<()> {
        self.started = true;
        self.between = true;
        self.parent.clone_from(&head.parent);
        let time = units::moment(head.created, &self.layout.zone, "%-d %b %Y %H:%M");
        self.day = units::moment(head.created, &self.layout.zone, "%F");
        let summary = head.summary.as_ref();
        let title = summary.and_then(|summary| summary.title.as_deref()).map(one_line);
        self.title = title
            .unwrap_or_else(|| if summary.is_some() { "untitled session" } else { "session" }.to_owned());
        let left = Line::of(Role::Title, &self.title);
        self.page.sides(left, Line::of(Role::Dim, &format!("{} · {time}", head.stored)))?;
        let place = head.cwd.as_deref().map(|cwd| format!(" · {cwd}")).unwrap_or_default();
        self.aside(&format!("{}{place}", head.id))?;
        if let Some(parent) = &head.parent {
            let words = match (head.is_subagent, head.inherited) {
                (true, _) => format!("subagent of {parent}"),
                (false, 0) => format!("child of {parent}"),
                (false, inherited) => {
                    format!("fork of {parent}, {} inherited", units::count(inherited, "event"))
                }
            };
            self.aside(&words)?;
        }
        if let Some(summary) = summary {
            let mut words = Vec::new();
            words.extend(summary.model.clone());
            words.push(format!(
                "{}, {}",
                units::count(summary.turns, "turn"),
                units::count(summary.requests, "request")
            ));
            words.extend(tokens(summary.meter.total()));
            if summary.children > 0 {
                words.push(if summary.children == 1 {
                    "1 subagent".to_owned()
                } else {
                    format!("{} subagents", summary.children)
                });
            }
            if let (Some(first), Some(last)) = (summary.first, summary.last) {
                words.push(units::duration(last.saturating_sub(first)));
            }
            self.aside(&words.join(" · "))?;
        }
        if head.unseen > 0 {
            let messages = units::count(head.unseen, "message");
            self.aside(&format!("{UNSEEN} marks what the model no longer sees: {messages}"))?;
        }
        Ok(())
    }

    fn aside(&mut self, text: &str) -> io::Result<()> {
        self.page.text(Line::default(), &Line::default(), Role::Dim, text, Fold::Whole)
    }

    /// One entry.
    pub(crate) fn entry(&mut self, entry: &Entry) -> io::Result<()> {
        // The head has said it.
        if matches!(&entry.body, Body::Note(note) if note.label == "title" && note.text == self.title) {
            return Ok(());
        }
        if std::mem::take(&mut self.between) && !matches!(entry.body, Body::TurnStart(_) | Body::Seam(_)) {
            self.page.blank()?;
        }
        self.page.mark(entry.seq);
        self.mark = if entry.unseen { UNSEEN } else { "" };
        let done = self.body(entry);
        self.mark = "";
        self.at_seam = matches!(entry.body, Body::Seam(_));
        self.started = true;
        done
    }

    fn body(&mut self, entry: &Entry) -> io::Result<()> {
        match &entry.body {
            Body::TurnStart(turn) => self.turn_start(*turn, entry),
            Body::Said(said) => self.said(said),
            Body::Thinking(text) => {
                let fold = if self.layout.full { Fold::Whole } else { Fold::Head(THOUGHT_ROWS) };
                self.speak("thinking", Role::Dim, Role::Dim, text.trim(), fold)
            }
            Body::Context(items) => self.context(items),
            Body::Tool(run) => {
                let lead = self.lead("dsh", Role::Agent)?;
                let rest = self.gutter();
                self.tool(lead, &rest, run)
            }
            Body::Note(note) => self.note(note),
            Body::Compacted(compacted) => self.compacted(compacted),
            Body::Seam(seam) => self.seam(seam, entry.time),
            Body::TurnEnd(end) => self.turn_end(end),
        }
    }

    fn gap(&mut self) -> io::Result<()> {
        if self.started { self.page.blank() } else { Ok(()) }
    }

    fn turn_start(&mut self, turn: u64, entry: &Entry) -> io::Result<()> {
        if !self.at_seam {
            self.gap()?;
        }
        self.speaker.clear();
        let time = self.clock(entry.time);
        self.page.rule(Line::of(Role::Strong, &format!("turn {turn}")), Line::of(Role::Dim, &time))
    }

    /// The time of day, with the date when it is another day than the last one shown.
    fn clock(&mut self, millis: i64) -> String {
        let day = units::moment(millis, &self.layout.zone, "%F");
        let same = std::mem::replace(&mut self.day, day.clone()) == day;
        units::moment(millis, &self.layout.zone, if same { "%H:%M:%S" } else { "%-d %b %H:%M:%S" })
    }

    fn said(&mut self, said: &Said) -> io::Result<()> {
        let folded = |rows| if self.layout.full { Fold::Whole } else { Fold::Head(rows) };
        let (name, role, text_role, fold) = match &said.who {
            Who::You => ("you", Role::You, Role::Plain, folded(INPUT_ROWS)),
            Who::Agent => ("dsh", Role::Agent, Role::Plain, Fold::Whole),
            Who::Harness(kind) => (kind.as_str(), Role::Strong, Role::Dim, folded(ASIDE_ROWS)),
        };
        let name = if name.is_empty() { "harness" } else { name };
        // Every message names its speaker, even behind another one or behind tools of the same.
        self.speaker.clear();
        let text = said.text.trim_matches('\n');
        if !text.is_empty() || said.attached.is_empty() {
            self.speak(name, role, text_role, text, fold)?;
        }
        for attached in &said.attached {
            self.speak(name, role, Role::Dim, &format!("[{attached}]"), Fold::Whole)?;
        }
        if said.interrupted {
            self.speak(name, role, Role::Warn, "… cut off here", Fold::Whole)?;
        }
        Ok(())
    }

    /// Text under the name of its speaker, who is named once.
    fn speak(&mut self, name: &str, role: Role, text_role: Role, text: &str, fold: Fold) -> io::Result<()> {
        let first = self.lead(name, role)?;
        let rest = self.gutter();
        self.page.text(first, &rest, text_role, text, fold)
    }

    /// The start of a row: the speaker's name, unless it is the one who spoke last.
    fn lead(&mut self, name: &str, role: Role) -> io::Result<Line> {
        if self.speaker == name {
            return Ok(self.gutter());
        }
        name.clone_into(&mut self.speaker);
        let line = Line::of(role, name);
        // One blank at least must stand between name and text, and the mark before it.
        let room = self.label - if self.mark.is_empty() { 1 } else { MARK };
        if line.width() <= room {
            return Ok(self.padded(line));
        }
        self.page.line(line)?;
        Ok(self.gutter())
    }

    /// What stands at the left of a row that names no speaker.
    fn gutter(&self) -> Line {
        self.padded(Line::default())
    }

    /// A line up to the label's end, with the mark of what the model no longer sees.
    fn padded(&self, line: Line) -> Line {
        let pad = self.label - line.width();
        if self.mark.is_empty() {
            return line.with(Role::Plain, &" ".repeat(pad));
        }
        let line = line.with(Role::Plain, &" ".repeat(pad - MARK));
        line.with(Role::Dim, self.mark).with(Role::Plain, " ")
    }

    fn context(&mut self, items: &[Item]) -> io::Result<()> {
        if !self.layout.full {
            let start = self.gutter();
            let marked = self.mark.is_empty();
            let words = items.iter().map(|item| {
                let mark = if marked && item.unseen { UNSEEN } else { "" };
                let gap = if item.detail.is_empty() { "" } else { " " };
                format!("{mark}{}{gap}{}", item.name, item.detail)
            });
            // Rows break between items, not within.
            let room = self.page.width().saturating_sub(self.label + 2);
            let mut rows: Vec<String> = Vec::new();
            for word in words {
                match rows.last_mut() {
                    Some(row) if super::text::width(row) + 3 + super::text::width(&word) <= room => {
                        row.push_str(" · ");
                        row.push_str(&word);
                    }
                    _ => rows.push(word),
                }
            }
            let rest = self.gutter().with(Role::Plain, "  ");
            return self.page.text(
                start.with(Role::Dim, "+ "),
                &rest,
                Role::Dim,
                &rows.join("\n"),
                Fold::Whole,
            );
        }
        let whole = self.mark;
        for item in items {
            self.mark = if item.unseen { UNSEEN } else { whole };
            let start = self.gutter();
            let line = start.clone().with(Role::Dim, &format!("+ {} {}", item.name, item.detail));
            self.page.line(line)?;
            if let Some(text) = item.text.as_deref().filter(|text| !text.is_empty()) {
                let bar = start.clone().with(Role::Dim, "  │ ");
                self.page.text(bar.clone(), &bar, Role::Dim, text, Fold::Whole)?;
            }
        }
        Ok(())
    }

    fn tool(&mut self, lead: Line, rest: &Line, run: &ToolRun) -> io::Result<()> {
        let (mark, role) = sign(run.mood);
        let mut right = Line::default();
        if !run.outcome.is_empty() {
            right = right.with(if run.mood == Mood::Good { Role::Dim } else { role }, &run.outcome);
        }
        if let Some(millis) = run.millis {
            let dot = if right.is_empty() { "" } else { " · " };
            right = right.with(Role::Dim, &format!("{dot}{}", units::duration(millis)));
        }
        if let Some(seq) = run.pruned {
            let dot = if right.is_empty() { "" } else { " · " };
            right = right.with(Role::Dim, dot).with(Role::Warn, &format!("pruned at {seq}"));
        }
        let first = lead
            .with(role, mark)
            .with(Role::Plain, " ")
            .with(Role::Strong, &run.name)
            .with(Role::Plain, "  ");
        self.argument(first, rest, &run.argument, right)?;
        let bar = rest.clone().with(Role::Dim, "  │ ");
        for inner in &run.inner {
            match inner {
                Inner::Tool(inner) => {
                    self.tool(bar.clone(), &bar, inner)?;
                }
                Inner::Note(note) => {
                    let label =
                        if note.label.is_empty() { String::new() } else { format!("{}: ", note.label) };
                    let first = bar.clone().with(sign(note.mood).1, &label);
                    let role = if note.mood == Mood::Bad { Role::Bad } else { Role::Plain };
                    self.page.text(first, &bar, role, &note.text, Fold::Whole)?;
                }
            }
        }
        if run.dropped > 0 {
            self.page.line(
                bar.clone().with(Role::Dim, &format!("… {} more", units::count(run.dropped, "item"))),
            )?;
        }
        match &run.output {
            Output::Text(text) => {
                let text = text.trim_matches('\n');
                // What such a tool answers says nothing that the fact it left does not.
                let told = matches!(run.name.as_str(), "todo_write" | "present" | "working_directory")
                    && run.mood == Mood::Good
                    && !run.inner.is_empty();
                if text.is_empty() || (told && !self.layout.full) {
                    return Ok(());
                }
                let fold = match (self.layout.full, run.mood) {
                    (true, _) => Fold::Whole,
                    (false, Mood::Bad) => Fold::Ends(OUTPUT_ROWS, OUTPUT_ROWS),
                    (false, _) => Fold::Head(OUTPUT_ROWS),
                };
                let text_role = if run.mood == Mood::Bad { Role::Plain } else { Role::Dim };
                self.page.text(bar.clone(), &bar, text_role, text, fold)
            }
            Output::Diff(changes) => self.diff(&bar, changes),
        }
    }

    /// The argument behind the name of a tool, with the outcome at the right end of its first row.
    fn argument(&mut self, first: Line, rest: &Line, argument: &str, right: Line) -> io::Result<()> {
        let limit = if self.layout.full { usize::MAX } else { ARGUMENT_ROWS };
        let taken = if right.is_empty() { 0 } else { right.width() + 2 };
        let room = self.page.width().saturating_sub(first.width() + taken);
        let rest = rest.clone().with(Role::Plain, "    ");
        let rest_room = self.page.width().saturating_sub(rest.width()).max(10);
        let argument = argument.trim();
        let count = lines(argument).count();
        let one = visible(argument);
        if count <= 1 && super::text::width(&one) <= room {
            return self.page.sides(first.with(Role::Plain, &one), right);
        }
        // Too long for the first row: it begins there when enough fits, and goes on below.
        let mut rows = 0;
        let mut lead = Some((first, right));
        for (number, line) in lines(argument).enumerate() {
            let shown = visible(line);
            let mut text: &str = &shown;
            if let Some((first, right)) = lead.take() {
                let mut wrapped = wrap(text, room.max(2));
                if room < 20 {
                    self.page.sides(first, right)?;
                } else if let Some((_, row)) = wrapped.next() {
                    let at = row.len();
                    let row = row.to_owned();
                    self.page.sides(first.with(Role::Plain, &row), right)?;
                    rows += 1;
                    text = shown[at..].trim_start_matches(' ');
                    if text.is_empty() {
                        continue;
                    }
                }
            }
            for (extra, row) in wrap(text, rest_room) {
                if rows >= limit {
                    let left = count - number;
                    let words = if left > 1 {
                        format!("… {}", units::count(left as u64, "more line"))
                    } else {
                        "…".to_owned()
                    };
                    return self.page.line(rest.with(Role::Dim, &words));
                }
                self.page.line(rest.clone().with(Role::Plain, &" ".repeat(extra)).with(Role::Plain, row))?;
                rows += 1;
            }
        }
        Ok(())
    }

    fn diff(&mut self, bar: &Line, changes: &[(Mood, String)]) -> io::Result<()> {
        let limit = if self.layout.full { usize::MAX } else { OUTPUT_ROWS * 3 };
        for (mood, line) in changes.iter().take(limit) {
            let role = match mood {
                Mood::Good => Role::Good,
                Mood::Bad => Role::Bad,
                Mood::Plain | Mood::Warn => Role::Dim,
            };
            let fold = if self.layout.full { Fold::Whole } else { Fold::Head(2) };
            self.page.text(bar.clone(), &bar.clone().with(Role::Plain, "  "), role, line, fold)?;
        }
        if changes.len() > limit {
            let left = (changes.len() - limit) as u64;
            self.page.line(bar.clone().with(Role::Dim, &format!("… {} more", units::count(left, "line"))))?;
        }
        Ok(())
    }

    fn note(&mut self, note: &Note) -> io::Result<()> {
        self.speaker.clear();
        let role = sign(note.mood).1;
        let text_role = match note.mood {
            Mood::Plain => Role::Dim,
            Mood::Good => Role::Plain,
            Mood::Warn | Mood::Bad => role,
        };
        let first = self.lead(note.label, if note.mood == Mood::Plain { Role::Dim } else { role })?;
        self.speaker.clear();
        let fold = if self.layout.full { Fold::Whole } else { Fold::Head(ASIDE_ROWS * 2) };
        let rest = self.gutter();
        self.page.text(first, &rest, text_role, &note.text, fold)
    }

    fn compacted(&mut self, compacted: &Compacted) -> io::Result<()> {
        self.speaker.clear();
        let mut words = format!("{} replaced by a summary", units::count(compacted.messages, "message"));
        if let Some((start, end)) = compacted.range {
            words = format!("{words}, seq {start} to {end}");
        }
        if let Some(tokens) = compacted.tokens {
            words = format!("{words}, about {} tokens", units::tokens(tokens));
        }
        let first = self.lead("compact", Role::Warn)?;
        self.speaker.clear();
        let rest = self.gutter();
        self.page.text(first, &rest, Role::Warn, &words, Fold::Whole)?;
        let bar = rest.with(Role::Dim, "│ ");
        let fold = if self.layout.full { Fold::Whole } else { Fold::Head(OUTPUT_ROWS) };
        self.page.text(bar.clone(), &bar, Role::Dim, compacted.summary.trim(), fold)
    }

    fn seam(&mut self, seam: &Seam, time: i64) -> io::Result<()> {
        self.gap()?;
        self.speaker.clear();
        let clock = self.clock(time);
        let (role, words) = match seam {
            Seam::Fork => (
                Role::Warn,
                match &self.parent {
                    Some(parent) => format!("forked here from {parent}; all above is its"),
                    None => "forked here; all above is inherited".to_owned(),
                },
            ),
            Seam::PickedUp { pause } => {
                (Role::Dim, format!("picked up again after {}", units::duration(*pause)))
            }
            Seam::Recovered => (Role::Warn, RECOVERED.to_owned()),
        };
        self.page.rule(Line::of(role, &words), Line::of(Role::Dim, &clock))
    }

    fn turn_end(&mut self, end: &TurnEnd) -> io::Result<()> {
        self.speaker.clear();
        self.between = true;
        let (mark, role) = sign(end.mood);
        let mut words = Vec::new();
        if end.requests > 0 {
            words.push(units::count(end.requests, "request"));
        }
        match end.retries {
            0 => {}
            1 => words.push("1 retry".to_owned()),
            retries => words.push(format!("{retries} retries")),
        }
        match end.tools {
            (0, _) => {}
            (tools, 0) => words.push(units::count(tools, "tool")),
            (tools, failed) => words.push(format!("{}, {failed} failed", units::count(tools, "tool"))),
        }
        words.extend(tokens(end.usage));
        words.push(units::duration(end.millis));
        let right = Line::of(Role::Dim, &words.join(" · "));
        let left = Line::of(role, &format!("{mark} {}", one_line(&end.outcome)));
        if left.width() + right.width() + 2 <= self.page.width() {
            return self.page.sides(left, right);
        }
        let rest = indent(2);
        self.page.text(
            Line::of(role, &format!("{mark} ")),
            &rest,
            role,
            &one_line(&end.outcome),
            Fold::Head(4),
        )?;
        if right.width() <= self.page.width() {
            return self.page.sides(Line::default(), right);
        }
        self.page.text(rest.clone(), &rest, Role::Dim, &words.join(" · "), Fold::Whole)
    }

    /// Hand over what is buffered.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.page.flush()
    }
}

fn indent(columns: usize) -> Line {
    Line::of(Role::Plain, &" ".repeat(columns))
}

/// Mark and colour of a mood.
fn sign(mood: Mood) -> (&'static str, Role) {
    match mood {
        Mood::Plain => ("·", Role::Dim),
        Mood::Good => ("✓", Role::Good),
        Mood::Warn => ("!", Role::Warn),
        Mood::Bad => ("✗", Role::Bad),
    }
}

fn tokens(usage: Usage) -> Option<String> {
    if usage == Usage::default() {
        return None;
    }
    let cached = usage.cached_percent().map(|percent| format!(" ({percent}% cached)")).unwrap_or_default();
    Some(format!("{} in{cached}, {} out", units::tokens(usage.sent()), units::tokens(usage.output)))
}

#[cfg(test)]
mod tests;
