//! What is different in two sessions, for people and for programs.

mod document;
mod pretty;
mod request;

use std::io::{self, Write};

use dshlog_replay::compare::{Change, Piece, Rules, Spot, TextRow, text_rows};
use unicode_segmentation::UnicodeSegmentation as _;

use super::page::{Line, Page};
use super::style::Role;
use super::text::{visible, width};
use super::units;
use crate::source::Log;

pub(crate) use document::{json, member};
pub(crate) use request::{RequestReport, request_json, request_text};

/// Places of one event that are shown.
const CHANGES: usize = 6;
/// Rows of one value that are shown.
const ROWS: usize = 16;
/// Equal text in a changed line that is longer is cut in the middle.
const EQUAL: usize = 72;

/// What was compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shown {
    /// Events, messages or requests.
    pub(crate) what: &'static str,
    /// The only turn that counts.
    pub(crate) turn: Option<u64>,
}

/// Everything that is told.
#[derive(Debug)]
pub(crate) struct Report {
    /// What was compared.
    pub(crate) shown: Shown,
    /// The two logs.
    pub(crate) sides: [SideFacts; 2],
    /// What was set aside.
    pub(crate) rules: Rules,
    /// Nothing is different.
    pub(crate) is_equal: bool,
    /// Which item is the first difference.
    pub(crate) first: Option<usize>,
    /// Differences, and what is equal around them.
    pub(crate) items: Vec<Item>,
    /// How many there are, by their names in the document.
    pub(crate) counts: Vec<(&'static str, u64)>,
    /// Differences behind the last item.
    pub(crate) left_out: u64,
}

/// One of the logs.
#[derive(Debug)]
pub(crate) struct SideFacts {
    id: String,
    path: Option<std::path::PathBuf>,
    generation: u64,
    stored: String,
    turns: u64,
    events: u64,
}

impl SideFacts {
    /// Of a log.
    pub(crate) fn of(log: &Log, events: u64, turns: u64) -> Self {
        SideFacts {
            id: log.header.id.to_lossy().into_owned(),
            path: log.file.path().map(std::path::Path::to_owned),
            generation: log.generation().0,
            stored: format!("{} {}", log.generation(), log.file.encoding()),
            turns,
            events,
        }
    }
}

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Both have it alike; it is there for what stands beside it.
    Same,
    /// The headers.
    Header,
    /// Both have it.
    Changed,
    /// Both have it, at other places.
    Moved,
    /// Only the first one has it.
    OnlyA,
    /// Only the second one has it.
    OnlyB,
    /// A step of the first one.
    StepA,
    /// A step of the second one.
    StepB,
    /// A turn of the first one.
    TurnA,
    /// A turn of the second one.
    TurnB,
}

/// A difference, or what stands beside one.
#[derive(Debug)]
pub(crate) struct Item {
    /// What it is.
    pub(crate) mark: Mark,
    /// Where it stands in the first log.
    pub(crate) a: Option<Place>,
    /// Where it stands in the second.
    pub(crate) b: Option<Place>,
    /// Events that it is made of.
    pub(crate) events: u64,
    /// The row of an event that only one log has, or that moved.
    pub(crate) row: String,
    /// Where the two differ.
    pub(crate) changes: Vec<Change>,
}

impl Item {
    /// True unless it is only there for what stands beside it.
    pub(crate) fn is_difference(&self) -> bool {
        self.mark != Mark::Same
    }

    fn place(&self) -> Option<&Place> {
        self.a.as_ref().or(self.b.as_ref())
    }
}

/// Where an event stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Its seq.
    pub(crate) seq: u64,
    /// Its type.
    pub(crate) kind: String,
    /// The turn, if any.
    pub(crate) turn: Option<u64>,
    /// The step, if any.
    pub(crate) step: Option<u64>,
}

impl Place {
    /// `turn 3, step 1`.
    fn words(&self) -> String {
        match (self.turn, self.step) {
            (Some(turn), Some(step)) => format!("turn {turn}, step {step}"),
            (Some(turn), None) => format!("turn {turn}"),
            (None, _) => "between turns".to_owned(),
        }
    }
}

/// How it is laid out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// Columns.
    pub(crate) width: usize,
    /// Use colours.
    pub(crate) color: bool,
    /// Equal lines around changed ones.
    pub(crate) context: usize,
    /// Nothing folded.
    pub(crate) full: bool,
}

/// Write the report for people.
pub(crate) fn text(report: &Report, layout: &Layout, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(out, layout.width, layout.color, false);
    let [a, b] = &report.sides;
    for (name, role, side) in [("a", Role::Bad, a), ("b", Role::Good, b)] {
        let sizes = format!("{}, {}", units::count(side.turns, "turn"), units::count(side.events, "event"));
        page.sides(
            Line::of(role, &format!("{name}  ")).with(Role::Plain, &side.id),
            Line::of(Role::Dim, &format!("{} · {sizes}", side.stored)),
        )?;
    }
    let rules: Vec<&str> = report.rules.iter().map(dshlog_replay::compare::Rule::name).collect();
    let rules = if rules.is_empty() { "nothing".to_owned() } else { rules.join(", ") };
    page.line(Line::of(Role::Dim, &format!("set aside: {rules}")))?;
    page.blank()?;
    if report.is_equal {
        return page.line(Line::of(Role::Good, "equal").with(Role::Dim, &format!("  {}", summary(report))));
    }
    if let Some(first) = report.first.and_then(|first| report.items.get(first)) {
        page.line(first_words(first))?;
        if let (Mark::Header | Mark::Changed, Some(change)) = (first.mark, first.changes.first()) {
            page.line(Line::of(Role::Plain, &format!("{INDENT}at {}", change.pointer())))?;
        }
    }
    let mut heading = None;
    let mut last: Option<&Item> = None;
    for item in &report.items {
        let now = heading_of(item);
        if heading.as_ref() != Some(&now) {
            page.blank()?;
            page.rule(Line::of(Role::Strong, &now), Line::default())?;
            heading = Some(now);
        } else if last.is_some_and(|last| is_gap(last, item)) {
            page.line(Line::of(Role::Dim, &format!("{:>9}", "⋮")))?;
        }
        draw(&mut page, layout, item, report.shown)?;
        last = Some(item);
    }
    page.blank()?;
    if report.left_out > 0 {
        let more = if report.left_out == 1 { "difference" } else { "differences" };
        page.line(Line::of(Role::Dim, &format!("… {} more {more}; `--full` shows all", report.left_out)))?;
    }
    page.line(Line::of(Role::Warn, "different").with(Role::Dim, &format!("  {}", summary(report))))
}

/// Where two logs part, in a line.
pub(crate) fn first_place(report: &Report) -> Option<Line> {
    let first = report.first.and_then(|first| report.items.get(first))?;
    Some(place_words(Line::default(), first))
}

fn first_words(first: &Item) -> Line {
    place_words(Line::of(Role::Warn, "first difference: "), first)
}

fn place_words(line: Line, first: &Item) -> Line {
    if first.mark == Mark::Header {
        return line.with(Role::Plain, "the header");
    }
    let Some(place) = first.place() else { return line };
    let seq = |place: &Option<Place>| place.as_ref().map_or("-".to_owned(), |place| place.seq.to_string());
    let words = format!("{}, {} (seq {} | {})", place.words(), place.kind, seq(&first.a), seq(&first.b));
    let rest = match first.mark {
        Mark::Moved => " stands elsewhere",
        Mark::StepA | Mark::TurnA | Mark::OnlyA => " is only in a",
        Mark::StepB | Mark::TurnB | Mark::OnlyB => " is only in b",
        Mark::Same | Mark::Header | Mark::Changed => "",
    };
    line.with(Role::Plain, &words).with(Role::Plain, rest)
}

fn heading_of(item: &Item) -> String {
    match (&item.a, &item.b) {
        _ if item.mark == Mark::Header => "session".to_owned(),
        (Some(a), Some(b)) if (a.turn, a.step) != (b.turn, b.step) => {
            format!("{} | {}", a.words(), b.words())
        }
        (Some(place), _) | (None, Some(place)) => place.words(),
        (None, None) => String::new(),
    }
}

/// True when something stands between two items.
fn is_gap(last: &Item, item: &Item) -> bool {
    let follows = |last: &Option<Place>, next: &Option<Place>, events| match (last, next) {
        (Some(last), Some(next)) => last.seq + events == next.seq,
        _ => true,
    };
    !follows(&last.a, &item.a, last.events) || !follows(&last.b, &item.b, last.events)
}

fn draw(page: &mut Page<'_>, layout: &Layout, item: &Item, shown: Shown) -> io::Result<()> {
    let (sign, role) = match item.mark {
        Mark::Same => (" ", Role::Dim),
        Mark::Header | Mark::Changed | Mark::Moved => ("~", Role::Warn),
        Mark::OnlyA | Mark::StepA | Mark::TurnA => ("-", Role::Bad),
        Mark::OnlyB | Mark::StepB | Mark::TurnB => ("+", Role::Good),
    };
    if item.mark != Mark::Header {
        let seq = |place: &Option<Place>| place.as_ref().map_or(String::new(), |place| place.seq.to_string());
        let numbers = format!(" {:>6} {:>6}  ", seq(&item.a), seq(&item.b));
        let kind = item.place().map_or("", |place| &place.kind);
        let line = Line::of(role, sign).with(Role::Dim, &numbers);
        let count = units::count(item.events, shown.what.trim_end_matches('s'));
        let line = match item.mark {
            Mark::Same => line.with(Role::Dim, kind),
            Mark::TurnA | Mark::TurnB => line.with(role, &format!("the whole turn, {count}")),
            Mark::StepA | Mark::StepB => line.with(role, &format!("the whole step, {count}")),
            Mark::Moved => line.with(Role::Strong, kind).with(Role::Dim, "  stands elsewhere"),
            _ => line.with(Role::Strong, kind),
        };
        let room = page.width().saturating_sub(line.width() + 2);
        let line = match item.mark {
            Mark::OnlyA | Mark::OnlyB if room > 10 => {
                line.with(Role::Plain, &format!("  {}", excerpt(&item.row, room)))
            }
            _ => line,
        };
        page.line(line)?;
    }
    let most = if layout.full { usize::MAX } else { CHANGES };
    for change in item.changes.iter().take(most) {
        place(page, layout, change)?;
    }
    let more = item.changes.len().saturating_sub(most);
    if more > 0 {
        let places = if more == 1 { "place" } else { "places" };
        page.line(Line::of(Role::Dim, &format!("{INDENT}… {more} more {places}")))?;
    }
    Ok(())
}

const INDENT: &str = "    ";

/// One place, and what each has there.
fn place(page: &mut Page<'_>, layout: &Layout, change: &Change) -> io::Result<()> {
    let pointer = match (&change.a, &change.b) {
        (Some(a), Some(b)) if a.pointer != b.pointer => format!("{} | {}", a.pointer, b.pointer),
        _ => change.pointer().to_owned(),
    };
    // Of a text that stands by itself there is nothing to say.
    if !pointer.is_empty() {
        page.line(Line::of(Role::Dim, &format!("{INDENT}{pointer}")))?;
    }
    let value = |spot: &Option<Spot>| spot.as_ref().map(|spot| pretty::value(&spot.pointer, &spot.value));
    let (a, b) = (value(&change.a), value(&change.b));
    let rows = match (&a, &b) {
        (Some(a), Some(b)) => text_rows(a, b, layout.context),
        (one, other) => {
            let row = |text: &str| vec![Piece { text: text.to_owned(), is_changed: true }];
            let gone = one.iter().flat_map(|text| text.lines()).map(|line| TextRow::Gone(row(line)));
            let new = other.iter().flat_map(|text| text.lines()).map(|line| TextRow::New(row(line)));
            gone.chain(new).collect()
        }
    };
    let most = if layout.full { usize::MAX } else { ROWS };
    let mut drawn = 0;
    for (number, row) in rows.iter().enumerate() {
        if drawn >= most {
            let left = units::count((rows.len() - number) as u64, "row");
            return page.line(Line::of(Role::Dim, &format!("{INDENT}  … {left} more")));
        }
        drawn += draw_row(page, layout, row)?;
    }
    Ok(())
}

/// Draw a row of text; the number of lines that it took.
fn draw_row(page: &mut Page<'_>, layout: &Layout, row: &TextRow) -> io::Result<usize> {
    let plain = |text: &str| vec![Piece { text: text.to_owned(), is_changed: false }];
    let (sign, role, pieces) = match row {
        TextRow::Left(lines) => {
            let words = units::count(*lines as u64, "equal line");
            page.line(Line::of(Role::Dim, &format!("{INDENT}  … {words}")))?;
            return Ok(1);
        }
        TextRow::Same(line) => (" ", Role::Dim, plain(line)),
        TextRow::Gone(pieces) => ("-", Role::Bad, pieces.clone()),
        TextRow::New(pieces) => ("+", Role::Good, pieces.clone()),
    };
    let most = if layout.full { usize::MAX } else { ROWS / 4 };
    let lines = wrapped(&pieces, role, page.width().saturating_sub(INDENT.len() + 2).max(10), layout.full);
    let count = lines.len().min(most);
    let is_cut = lines.len() > most;
    for (number, line) in lines.into_iter().take(most).enumerate() {
        let sign = if number == 0 { sign } else { " " };
        let mut shown = Line::of(Role::Plain, INDENT).with(role, sign).with(Role::Plain, " ");
        for (role, text) in line {
            shown = shown.with(role, &text);
        }
        if is_cut && number + 1 == most {
            shown = shown.with(Role::Dim, " …");
        }
        page.line(shown)?;
    }
    Ok(count)
}

/// Pieces in lines of at most `room` columns, broken behind blanks where there are any. Long equal pieces lose their
/// middle, unless all is to be shown.
fn wrapped(pieces: &[Piece], role: Role, room: usize, full: bool) -> Vec<Vec<(Role, String)>> {
    // A line that is only there for its neighbours, or changed as a whole, is cut at its end instead.
    let is_mixed = pieces.iter().any(|piece| piece.is_changed) && pieces.len() > 1;
    let mut line: Vec<(Role, String, usize)> = Vec::new();
    let mut lines = Vec::new();
    let mut used = 0;
    for (number, piece) in pieces.iter().enumerate() {
        let role = if piece.is_changed || role == Role::Dim { role } else { Role::Plain };
        let text = visible(&piece.text);
        let text = if is_mixed && !piece.is_changed && !full {
            shortened(&text, number > 0, number + 1 < pieces.len())
        } else {
            text.into_owned()
        };
        for grapheme in text.graphemes(true) {
            let columns = width(grapheme);
            if used + columns > room.saturating_sub(2) && !line.is_empty() {
                // In the second half, so that a long word does not leave a line empty.
                let blank =
                    line.iter().rposition(|(_, text, _)| text == " ").filter(|at| *at > line.len() / 2);
                let rest = blank.map_or_else(Vec::new, |at| line.split_off(at + 1));
                lines.push(joined(std::mem::replace(&mut line, rest)));
                used = line.iter().map(|(_, _, columns)| columns).sum();
            }
            used += columns;
            line.push((role, grapheme.to_owned(), columns));
        }
    }
    lines.push(joined(line));
    lines
}

/// Neighbours of one role in one piece.
fn joined(graphemes: Vec<(Role, String, usize)>) -> Vec<(Role, String)> {
    let mut pieces: Vec<(Role, String)> = Vec::new();
    for (role, grapheme, _) in graphemes {
        match pieces.last_mut() {
            Some((last, text)) if *last == role => text.push_str(&grapheme),
            _ => pieces.push((role, grapheme)),
        }
    }
    pieces
}

/// A long text without its middle, or without the end that no change touches.
fn shortened(text: &str, is_touched_before: bool, is_touched_behind: bool) -> String {
    let graphemes: Vec<&str> = text.graphemes(true).collect();
    if graphemes.len() <= EQUAL {
        return text.to_owned();
    }
    let side = EQUAL / 2;
    let head = graphemes.iter().take(side).copied().collect::<String>();
    let tail = graphemes.iter().skip(graphemes.len() - side).copied().collect::<String>();
    match (is_touched_before, is_touched_behind) {
        (true, true) => format!("{head} … {tail}"),
        (true, false) => format!("{head} …"),
        _ => format!("… {tail}"),
    }
}

/// What an event says, in one line: its payload.
fn excerpt(row: &str, room: usize) -> String {
    let Ok(doc) = dshlog_codec::json::Doc::parse(row) else { return String::new() };
    let data = doc.root().get("data").map_or(row, |data| data.raw());
    let end = (0..=data.len().min(room * 4)).rev().find(|at| data.is_char_boundary(*at)).unwrap_or(0);
    super::text::clip(&visible(&data[..end]), room).into_owned()
}

/// `3 changed, 1 only in a; 40 equal, 2 set aside`.
fn summary(report: &Report) -> String {
    let count = |name: &str| report.counts.iter().find(|count| count.0 == name).map_or(0, |count| count.1);
    let words = |names: &[(&str, &str)]| -> Vec<String> {
        names
            .iter()
            .map(|(name, words)| (count(name), words))
            .filter(|(count, _)| *count > 0)
            .map(|(count, words)| format!("{} {words}", units::grouped(count)))
            .collect()
    };
    let different =
        words(&[("changed", "changed"), ("moved", "moved"), ("onlyA", "only in a"), ("onlyB", "only in b")]);
    let same = words(&[("equal", "equal"), ("setAside", "set aside")]);
    let what = report.shown.what;
    let scope = report.shown.turn.map(|turn| format!(" of turn {turn}")).unwrap_or_default();
    let parts: Vec<String> =
        [different, same].into_iter().filter(|part| !part.is_empty()).map(|part| part.join(", ")).collect();
    if parts.is_empty() {
        format!("no {what}{scope}")
    } else {
        format!("{what}{scope}: {}", parts.join("; "))
    }
}
