//! What came of a fork.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use dshlog_codec::json::JsString;
use dshlog_codec::{Encoding, Generation};
use dshlog_replay::Seed;
use dshlog_replay::closer::Open;

use super::json::Object;
use super::page::{Fold, Line, Page};
use super::style::Role;
use super::text::visible;
use super::units;
use crate::exit::shown;

/// A fork that was made, or could be.
pub(crate) struct Forked<'a> {
    /// Id of the session it was made from.
    pub(crate) parent: &'a JsString,
    /// The log of that.
    pub(crate) parent_log: &'a Path,
    /// What that is stored as.
    pub(crate) stored: Generation,
    /// What the fork begins with.
    pub(crate) seed: &'a Seed,
    /// Of the new log.
    pub(crate) encoding: Encoding,
    /// Its id and its log; nothing when they will be others.
    pub(crate) session: Option<(&'a JsString, PathBuf)>,
    /// It is there.
    pub(crate) is_written: bool,
}

/// A few lines.
pub(crate) fn text(forked: &Forked<'_>, out: &mut dyn Write, width: usize, color: bool) -> io::Result<()> {
    let seed = forked.seed;
    let parent = format!("{} ({})", forked.parent.to_lossy(), forked.stored);
    let point = match seed.at {
        Some(at) => format!("{parent}, behind seq {at}"),
        None => format!("{parent}, which has no events"),
    };
    let events = format!("{} copied, {} added", units::grouped(seed.cut()), seed.own.len());
    let mut facts = Vec::new();
    match &forked.session {
        Some((id, log)) => facts.extend([("id", id.to_lossy().into_owned()), ("path", shown(log))]),
        None => facts.push(("id", "a random one".to_owned())),
    }
    facts.extend([("fork of", point), ("events", events)]);
    facts.extend(seed.open.map(|open| ("closed", open_in_words(open))));
    if !forked.is_written {
        facts.push(("dry run", "nothing is written".to_owned()));
    }
    let mut page = Page::new(out, width, color, false);
    for (name, value) in facts {
        let first = Line::of(Role::Dim, &format!("{name:<9}"));
        let rest = Line::of(Role::Plain, "         ");
        page.text(first, &rest, Role::Plain, &visible(&value), Fold::Whole)?;
    }
    Ok(())
}

/// `turn 2, step 1: 1 call not started, 2 of unknown outcome`.
pub(crate) fn open_in_words(open: Open) -> String {
    let step = open.step.map(|step| format!(", step {step}")).unwrap_or_default();
    let mut calls = Vec::new();
    if open.not_started > 0 {
        calls.push(format!("{} not started", units::count(open.not_started, "call")));
    }
    if open.unknown > 0 {
        calls.push(format!("{} of unknown outcome", units::count(open.unknown, "call")));
    }
    let calls = if calls.is_empty() { String::new() } else { format!(": {}", calls.join(", ")) };
    format!("turn {}{step}{calls}", open.turn)
}

/// The document `dshlog.fork/1`.
pub(crate) fn json(forked: &Forked<'_>, out: &mut dyn Write) -> io::Result<()> {
    let (seed, session) = (forked.seed, forked.session.as_ref());
    let mut document = Object::new("dshlog.fork/1");
    document.text("status", if forked.is_written { "forked" } else { "would-fork" });
    document.text_or_null("session", session.map(|(id, _)| id.to_lossy()).as_deref());
    document.path("path", session.map(|(_, log)| log.as_path()));
    document.text("encoding", forked.encoding.name());
    document.text("parent", &forked.parent.to_lossy());
    document.path("parentPath", Some(forked.parent_log));
    document.count("parentVersion", forked.stored.0);
    document.count_or_null("at", seed.at.map(|at| at.0));
    document.count("cut", seed.cut());
    document.count("events", seed.events());
    open_json(&mut document, seed.open);
    document.write_line(out)
}

/// The member `open`: what is open at the end of some events.
pub(crate) fn open_json(document: &mut Object, open: Option<Open>) {
    match open {
        None => document.raw("open", b"null"),
        Some(open) => document.object("open", |object| {
            object.count("turn", open.turn);
            object.count_or_null("step", open.step);
            object.count("notStarted", open.not_started);
            object.count("unknown", open.unknown);
            object.count("closers", open.closers());
        }),
    }
}
