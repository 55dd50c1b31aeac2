//! A session as JSON: `dshlog.transcript/1` (`docs/export.md`), as one document or one entry a line.

use std::io::{self, Write};

use dshlog_codec::Seq;
use dshlog_replay::surface::{Fate, Surface};

use super::{Session, Sheet};
use crate::export::{Ended, Request, Span, Step, Turn};
use crate::render::json::Object;
use crate::transcript::{
    Attached, Body, Entry, Inner, Mood, Note, Output, Record, Seam, ToolRun, Usage, Who,
};

/// JSON onto a stream.
pub(crate) struct Json<'w> {
    out: &'w mut dyn Write,
    is_document: bool,
    has_entry: bool,
}

impl<'w> Json<'w> {
    /// One document a session.
    pub(crate) fn document(out: &'w mut dyn Write) -> Self {
        Json { out, is_document: true, has_entry: false }
    }

    /// A head and one entry a line.
    pub(crate) fn lines(out: &'w mut dyn Write) -> Self {
        Json { out, is_document: false, has_entry: false }
    }
}

impl Sheet for Json<'_> {
    fn begin(&mut self, session: &Session) -> io::Result<()> {
        self.has_entry = false;
        let mut line = Vec::new();
        head(session).write_line(&mut line)?;
        if self.is_document {
            // The entries go where the document ends.
            line.truncate(line.len().saturating_sub(2));
            line.extend_from_slice(b",\"entries\":[");
        }
        self.out.write_all(&line)
    }

    fn entry(&mut self, session: &Session, entry: &Entry) -> io::Result<()> {
        let mut line = Vec::new();
        self::entry(session, entry).write_line(&mut line)?;
        if self.is_document {
            line.pop();
            if std::mem::replace(&mut self.has_entry, true) {
                self.out.write_all(b",")?;
            }
        }
        self.out.write_all(&line)
    }

    fn end(&mut self, _session: &Session) -> io::Result<()> {
        if self.is_document { self.out.write_all(b"]}\n") } else { Ok(()) }
    }
}

/// Everything but the entries.
fn head(session: &Session) -> Object {
    let (head, outline) = (&session.head, &session.outline);
    let mut document = Object::new("dshlog.transcript/1");
    document.object("session", |object| {
        object.text("id", &head.id);
        object.text_or_null("title", outline.summary.title.as_deref());
        object.text_or_null("cwd", head.cwd.as_deref());
        object.count("storedVersion", session.stored_version);
        object.text("encoding", session.encoding);
        object.millis_or_null("created", Some(head.created));
        object.millis_or_null("first", outline.summary.first);
        object.millis_or_null("last", outline.summary.last);
        object.text_or_null("parent", head.parent.as_deref());
        object.flag("subagent", head.is_subagent);
        object.count("inherited", head.inherited);
        object.count("events", outline.summary.events);
        object.count("requests", outline.summary.requests);
        object.text_or_null("model", outline.summary.model.as_deref());
        usage(object, "usage", Some(outline.summary.meter.total()));
        object.array("children", &outline.children, |child, object| {
            object.text("id", &child.id);
            object.text("mode", &child.mode);
            object.text_or_null("label", child.label.as_deref());
        });
    });
    document.text_or_null("excerpt", session.excerpt.as_deref());
    turns(&mut document, &outline.turns);
    document
}

/// How the turns went.
pub(super) fn turns(document: &mut Object, turns: &[Turn]) {
    document.array("turns", turns, |turn, object| {
        object.count("turn", turn.number);
        object.count("seq", turn.seq);
        object.millis_or_null("time", Some(turn.time));
        object.text("about", &turn.about);
        match &turn.end {
            None => object.raw("end", b"null"),
            Some(end) => object.object("end", |object| ended(object, end)),
        }
        object.array("steps", &turn.steps, step);
    });
}

fn ended(object: &mut Object, end: &Ended) {
    object.count("seq", end.seq);
    object.millis_or_null("time", Some(end.time));
    object.text("mood", mood(end.mood));
    object.text("outcome", &end.outcome);
    usage(object, "usage", Some(end.usage));
}

fn step(step: &Step, object: &mut Object) {
    object.count("step", step.number);
    object.count("seq", step.seq);
    object.millis_or_null("time", Some(step.time));
    object.count_or_null("endSeq", step.end.map(|(seq, _)| seq));
    object.millis_or_null("endTime", step.end.map(|(_, time)| time));
    object.array("requests", &step.requests, |request: &Request, object| {
        object.count("seq", request.seq);
        object.millis_or_null("start", Some(request.start));
        object.millis_or_null("first", request.first);
        object.millis_or_null("end", Some(request.end));
        object.flag("answered", request.answered);
        object.text_or_null("model", request.model.as_deref());
        usage(object, "usage", request.usage);
    });
    object.array("tools", &step.tools, |span: &Span, object| {
        object.count("seq", span.seq);
        object.text("name", &span.name);
        object.text("about", &span.about);
        object.millis_or_null("start", Some(span.start));
        object.millis_or_null("end", span.end);
        object.text("mood", mood(span.mood));
    });
}

/// One entry.
fn entry(session: &Session, entry: &Entry) -> Object {
    let outline = &session.outline;
    let mut object = Object::part("kind", kind(&entry.body));
    object.count("seq", entry.seq);
    object.millis_or_null("time", Some(entry.time));
    let turn = outline.turn_at(entry.seq);
    object.count_or_null("turn", turn.map(|turn| turn.number));
    object.count_or_null("step", turn.and_then(|turn| turn.step_at(entry.seq)).map(|step| step.number));
    match &entry.body {
        Body::TurnStart(_) => {}
        Body::Said(said) => {
            let (who, source) = match &said.who {
                Who::You => ("user", None),
                Who::Agent => ("model", None),
                Who::Harness(kind) => ("harness", Some(kind.as_str())),
            };
            object.text("who", who);
            object.text_or_null("source", source);
            object.text("text", &said.text);
            attached(&mut object, &said.attached);
            object.flag("interrupted", said.interrupted);
            seen(&mut object, &outline.surface, Some(entry.seq));
        }
        Body::Thinking(text) => {
            object.text("text", text);
            seen(&mut object, &outline.surface, Some(entry.seq));
        }
        Body::Context(items) => object.array("items", items, |item, object| {
            object.count("seq", item.seq);
            object.text("name", &item.name);
            object.text("detail", &item.detail);
            object.text_or_null("text", item.text.as_deref());
            seen(object, &outline.surface, Some(item.seq));
        }),
        Body::Tool(run) => {
            tool(&mut object, run);
            let result = run.record.as_ref().and_then(|record| record.result);
            seen(&mut object, &outline.surface, result);
        }
        Body::Note(note) => self::note(&mut object, note),
        Body::Compacted(compacted) => {
            object.count("messages", compacted.messages);
            object.count_or_null("tokens", compacted.tokens);
            object.counts("seqs", compacted.seqs.iter().copied());
            object.text("summary", &compacted.summary);
        }
        Body::Seam(Seam::Fork) => object.text_or_null("parent", session.head.parent.as_deref()),
        Body::Seam(Seam::PickedUp { pause }) => object.millis_or_null("pause", Some(*pause)),
        Body::Seam(Seam::Recovered) => {}
        Body::TurnEnd(end) => {
            object.text("mood", mood(end.mood));
            object.text("outcome", &end.outcome);
            object.count("requests", end.requests);
            object.count("retries", end.retries);
            object.count("tools", end.tools.0);
            object.count("failedTools", end.tools.1);
            usage(&mut object, "usage", Some(end.usage));
            object.millis_or_null("millis", Some(end.millis));
        }
    }
    object
}

fn kind(body: &Body) -> &'static str {
    match body {
        Body::TurnStart(_) => "turn-start",
        Body::Said(_) => "said",
        Body::Thinking(_) => "thinking",
        Body::Context(_) => "context",
        Body::Tool(_) => "tool",
        Body::Note(_) => "note",
        Body::Compacted(_) => "compaction",
        Body::Seam(Seam::Fork) => "fork",
        Body::Seam(Seam::PickedUp { .. }) => "picked-up",
        Body::Seam(Seam::Recovered) => "recovered",
        Body::TurnEnd(_) => "turn-end",
    }
}

fn mood(mood: Mood) -> &'static str {
    match mood {
        Mood::Plain => "plain",
        Mood::Good => "good",
        Mood::Warn => "warn",
        Mood::Bad => "bad",
    }
}

/// Whether the model still sees the message in an event.
fn seen(object: &mut Object, surface: &Surface, seq: Option<u64>) {
    let (word, by) = match seq.map_or(Fate::None, |seq| surface.fate(Seq(seq))) {
        Fate::None => (None, None),
        Fate::Seen => (Some("yes"), None),
        Fate::Shortened(by) => (Some("shortened"), Some(by.0)),
        Fate::Gone(by) => (Some("no"), Some(by.0)),
    };
    object.text_or_null("seen", word);
    object.count_or_null("seenUntil", by);
}

fn note(object: &mut Object, note: &Note) {
    object.text("label", note.label);
    object.text("mood", mood(note.mood));
    object.text("text", &note.text);
}

fn tool(object: &mut Object, run: &ToolRun) {
    object.text("name", &run.name);
    object.text_or_null("call", run.record.as_ref().map(|record| record.id.as_str()));
    object.millis_or_null("called", run.record.as_ref().map(|record| record.time));
    object.text_or_null("arguments", run.record.as_ref().map(|record| record.arguments.as_str()));
    object.text("about", &run.argument);
    object.text("mood", mood(run.mood));
    object.text("outcome", &run.outcome);
    object.millis_or_null("millis", run.millis);
    match run.record.as_ref().and_then(|record| Some((record, record.result?))) {
        None => object.raw("result", b"null"),
        Some((record, seq)) => object.object("result", |object| result(object, record, seq)),
    }
    match &run.output {
        Output::Text(_) => object.raw("diff", b"null"),
        Output::Diff(changes) => object.texts("diff", changes.iter().map(|(_, line)| line.as_str())),
    }
    object.array("inner", &run.inner, |inner, object| match inner {
        Inner::Tool(run) => {
            object.text("kind", "tool");
            tool(object, run);
        }
        Inner::Note(note) => {
            object.text("kind", "note");
            self::note(object, note);
        }
    });
}

fn result(object: &mut Object, record: &Record, seq: u64) {
    object.count("seq", seq);
    object.flag("isError", record.is_error);
    object.text_or_null("error", record.error.as_deref());
    object.text("text", &record.text);
    attached(object, &record.attached);
}

fn attached(object: &mut Object, attached: &[Attached]) {
    object.array("attached", attached, |attached, object| {
        object.text("text", &attached.words);
        let image = attached.image.as_ref();
        object.text_or_null("image", image.map(|image| image.id.as_str()));
        object.text_or_null("mediaType", image.map(|image| image.media_type.as_str()));
        object.count_or_null("width", image.and_then(|image| image.pixels).map(|(width, _)| width));
        object.count_or_null("height", image.and_then(|image| image.pixels).map(|(_, height)| height));
        object.count_or_null("bytes", image.and_then(|image| image.bytes));
    });
}

fn usage(object: &mut Object, name: &str, usage: Option<Usage>) {
    match usage {
        None => object.raw(name, b"null"),
        Some(usage) => object.object(name, |object| {
            object.count("input", usage.input);
            object.count("cached", usage.cached);
            object.count("written", usage.written);
            object.count("output", usage.output);
        }),
    }
}
