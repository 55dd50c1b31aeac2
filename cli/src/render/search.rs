//! Hits, for people and for programs.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;

use dshlog_query::highlight::{Snippet, lines, snippet};
use dshlog_query::{Found, Hit, Query, Session, Soundness};
use jiff::tz::TimeZone;

use super::json::Object;
use super::ls;
use super::page::{Line, Page};
use super::style::Role;
use super::text::{one_line, width};
use super::units;

/// A piece of fewer graphemes tells nothing.
const LEAST: usize = 8;

/// Graphemes of a piece of text.
const SNIPPET: usize = 240;

/// What was found, and how.
pub(crate) struct Answer<'a> {
    pub(crate) query: &'a Query,
    pub(crate) found: &'a Found,
    pub(crate) source: &'a Source,
    pub(crate) cursor: Option<&'a str>,
}

/// Where the answer comes from.
pub(crate) enum Source {
    /// All logs were read.
    Scan,
    /// An index.
    Index {
        path: PathBuf,
        generation: u64,
        updated: i64,
        /// Logs that changed since, where that was looked for.
        behind: Option<u64>,
        partial: u64,
        unreadable: u64,
    },
}

/// How to show it.
pub(crate) struct Look<'a> {
    pub(crate) width: usize,
    pub(crate) color: bool,
    pub(crate) zone: &'a TimeZone,
    pub(crate) now: i64,
    /// Lines around each match, instead of a piece of the text.
    pub(crate) context: Option<usize>,
    pub(crate) explain: bool,
    /// Number of the first hit.
    pub(crate) first: usize,
}

/// For people.
pub(crate) fn text(answer: &Answer<'_>, look: &Look<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut page = Page::new(out, look.width, look.color, false);
    if look.explain {
        page.line(Line::of(Role::Dim, "understood as  ").with(Role::Plain, &answer.query.root.to_string()))?;
        page.blank()?;
    }
    for (at, hit) in answer.found.hits.iter().enumerate() {
        if at > 0 {
            page.blank()?;
        }
        let number = format!("{:>2}  ", look.first + at);
        page.line(Line::of(Role::Dim, &number).with(Role::Strong, &title(hit)))?;
        page.line(Line::of(Role::Dim, &format!("    {}", where_it_is(hit, look))))?;
        let kind = format!("    {}  ", kind(hit));
        match look.context {
            None => {
                let piece = piece(hit, look.width.saturating_sub(width(&kind)));
                page.line(marked(Line::of(Role::Dim, &kind), &piece.text, &piece.ranges))?;
            }
            Some(context) => {
                page.line(Line::of(Role::Dim, kind.trim_end()))?;
                for line in lines(&hit.document.text, &hit.ranges, context) {
                    let start = Line::of(Role::Dim, &format!("    {:>5}  ", line.number));
                    page.line(marked(start, line.text, &line.ranges))?;
                }
            }
        }
        if look.explain {
            let score = hit.score;
            let parts = format!(
                "    score {:.3} = text {:.3} × {} {:.1} × age {:.3}",
                score.value,
                score.text,
                hit.document.part.name(),
                score.part,
                score.age
            );
            page.line(Line::of(Role::Dim, &parts))?;
        }
    }
    page.flush()
}

fn title(hit: &Hit) -> String {
    match &hit.session.title {
        Some(title) if !title.trim().is_empty() => one_line(title),
        _ => "(no title)".to_owned(),
    }
}

/// The session, its folder, the time, and what is particular about the hit.
fn where_it_is(hit: &Hit, look: &Look<'_>) -> String {
    let session = &hit.session;
    let year = |time: i64| units::moment(time, look.zone, "%Y");
    let time = hit.document.time.0;
    let pattern = if year(time) == year(look.now) { "%d %b %H:%M" } else { "%d %b %Y" };
    let mut parts = vec![one_line(&ls::short(&session.id, ls::SHORT))];
    parts.extend(session.project.as_deref().map(one_line));
    parts.push(units::moment(time, look.zone, pattern));
    if session.generation != dshlog_codec::Generation::CURRENT {
        parts.push(session.generation.to_string());
    }
    if session.is_subagent {
        parts.push("subagent".to_owned());
    } else if session.is_seeded {
        parts.push("fork".to_owned());
    }
    if session.soundness != Soundness::Whole {
        parts.push("partial".to_owned());
    }
    if let Some(seq) = hit.replaced_by {
        parts.push(format!("replaced at seq {}", seq.0));
    }
    if !hit.copies.is_empty() {
        parts.push(format!("also in {}", units::count(hit.copies.len() as u64, "fork")));
    }
    if hit.count > 1 {
        parts.push(format!("{} more", units::grouped(hit.count - 1)));
    }
    parts.join(" · ")
}

fn kind(hit: &Hit) -> String {
    let document = &hit.document;
    let mut kind = document.part.name().to_owned();
    if let Some(tool) = &document.tool {
        kind.push(' ');
        kind.push_str(tool);
    }
    if let Some(turn) = document.turn {
        let _ = write!(kind, " · turn {turn}");
    }
    kind
}

/// A piece of the text that fits into `room` columns: what is cut at the end of the line must not be the match. Wide
/// characters take two columns, so a piece that is too long gets as many characters less as it may have too many.
fn piece(hit: &Hit, room: usize) -> Snippet {
    let mut most = SNIPPET.min(room);
    loop {
        let piece = snippet(&hit.document.text, &hit.ranges, most);
        let excess = width(&piece.text).saturating_sub(room);
        if excess == 0 || most <= LEAST {
            return piece;
        }
        most = most.saturating_sub(excess.div_ceil(2)).max(LEAST);
    }
}

/// A line with its matches; where there are no colours, nothing stands in their place.
fn marked(mut line: Line, text: &str, ranges: &[Range<usize>]) -> Line {
    let mut at = 0;
    for range in ranges {
        line = line.with(Role::Plain, text.get(at..range.start).unwrap_or_default());
        line = line.with(Role::Match, text.get(range.clone()).unwrap_or_default());
        at = range.end;
    }
    line.with(Role::Plain, text.get(at..).unwrap_or_default())
}

/// The document `dshlog.search/1`.
pub(crate) fn json(answer: &Answer<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut document = Object::new("dshlog.search/1");
    document.text("query", &answer.query.text);
    document.text("understood", &answer.query.root.to_string());
    match answer.source {
        Source::Scan => document.raw("index", b"null"),
        Source::Index { path, generation, updated, behind, partial, unreadable } => {
            document.object("index", |index| {
                index.path("path", Some(path));
                index.count("generation", *generation);
                index.millis_or_null("updated", Some(*updated));
                index.count_or_null("behind", *behind);
                index.count("partial", *partial);
                index.count("unreadable", *unreadable);
            });
        }
    }
    document.count("documents", answer.found.documents);
    document.count("sessions", answer.found.sessions);
    document.array("hits", &answer.found.hits, |hit, object| {
        object.count("seq", hit.document.seq.0);
        self::hit(hit, object);
    });
    document.text_or_null("cursor", answer.cursor);
    document.write_line(out)
}

/// A document `dshlog.hit/1` for each hit.
pub(crate) fn jsonl(answer: &Answer<'_>, out: &mut dyn Write) -> io::Result<()> {
    for hit in &answer.found.hits {
        let mut document = Object::new("dshlog.hit/1");
        document.count("seq", hit.document.seq.0);
        self::hit(hit, &mut document);
        document.write_line(out)?;
    }
    Ok(())
}

fn hit(hit: &Hit, object: &mut Object) {
    let document = &hit.document;
    object.count("nth", u64::from(document.nth));
    object.object("session", |object| session(&hit.session, object));
    object.text("part", document.part.name());
    object.text("role", document.part.role().name());
    object.millis_or_null("time", Some(document.time.0));
    object.count_or_null("turn", document.turn);
    object.count_or_null("step", document.step);
    object.text_or_null("tool", document.tool.as_deref());
    object.text_or_null("model", document.model.as_deref());
    object.flag("isError", document.is_error);
    object.flag("hasImage", document.has_image);
    object.flag("hasFile", document.has_file);
    object.flag("isInherited", document.is_inherited);
    object.count_or_null("replacedBy", hit.replaced_by.map(|seq| seq.0));
    object.texts("copies", hit.copies.iter().map(String::as_str));
    object.count("count", hit.count);
    object.text("text", &document.text);
    ranges("ranges", &hit.ranges, object);
    let piece = snippet(&document.text, &hit.ranges, SNIPPET);
    object.object("snippet", |object| {
        object.text("text", &piece.text);
        ranges("ranges", &piece.ranges, object);
    });
    object.object("score", |object| {
        let score = hit.score;
        for (name, value) in
            [("value", score.value), ("text", score.text), ("part", score.part), ("age", score.age)]
        {
            object.raw(name, format!("{value:.4}").as_bytes());
        }
    });
}

fn ranges(name: &str, ranges: &[Range<usize>], object: &mut Object) {
    let pairs: Vec<String> = ranges.iter().map(|range| format!("[{},{}]", range.start, range.end)).collect();
    object.raw(name, format!("[{}]", pairs.join(",")).as_bytes());
}

fn session(session: &Session, object: &mut Object) {
    object.text("id", &session.id);
    object.path("path", Some(&session.path));
    object.text_or_null("entry", session.entry.as_deref());
    object.count("storedVersion", session.generation.0);
    object.text_or_null("cwd", session.project.as_deref());
    object.millis_or_null("createdAt", Some(session.created.0));
    object.millis_or_null("lastEventAt", Some(session.last.0));
    object.text_or_null("parentSession", session.parent.as_deref());
    object.flag("isSeeded", session.is_seeded);
    object.flag("isSubagent", session.is_subagent);
    object.text_or_null("agentPreset", session.preset.as_deref());
    object.text_or_null("title", session.title.as_deref());
    let (is_whole, reason) = match &session.soundness {
        Soundness::Whole => (true, None),
        Soundness::Partial(reason) | Soundness::Unreadable(reason) => (false, Some(reason.as_str())),
    };
    object.flag("isWhole", is_whole);
    object.text_or_null("reason", reason);
}
