//! A session as a document: Markdown, JSON, or a page for browsers.

mod html;
mod json;
mod md;
mod prose;

use std::io;

pub(crate) use html::Html;
pub(crate) use json::Json;
pub(crate) use md::Markdown;

use super::transcript::Head;
use super::units;
use crate::export::Outline;
use crate::transcript::{Compacted, Entry, Mood, TurnEnd, Usage};

/// What is known of a session before its entries.
pub(crate) struct Session {
    /// Its facts.
    pub(crate) head: Head,
    /// The generation that it is stored as.
    pub(crate) stored_version: u64,
    /// Its encoding.
    pub(crate) encoding: &'static str,
    /// How it went.
    pub(crate) outline: Outline,
    /// 0 for the one that was asked for, 1 for one that it started, ...
    pub(crate) depth: usize,
    /// What is left out, when something is.
    pub(crate) excerpt: Option<String>,
}

/// A document that is being written.
pub(crate) trait Sheet {
    /// Before everything: all sessions that will come.
    fn open(&mut self, sessions: &[&Session]) -> io::Result<()> {
        let _ = sessions;
        Ok(())
    }
    /// A session begins.
    fn begin(&mut self, session: &Session) -> io::Result<()>;
    /// One of its entries.
    fn entry(&mut self, session: &Session, entry: &Entry) -> io::Result<()>;
    /// It ends.
    fn end(&mut self, session: &Session) -> io::Result<()>;
    /// Behind everything.
    fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Session {
    /// Its title.
    fn title(&self) -> &str {
        match self.outline.summary.title.as_deref() {
            Some(title) if !title.trim().is_empty() => title,
            _ => "untitled session",
        }
    }

    /// Facts in a few words each, beside title and id.
    fn facts(&self) -> Vec<String> {
        let summary = &self.outline.summary;
        let mut facts: Vec<String> = summary.model.iter().cloned().collect();
        facts.push(units::count(summary.turns, "turn"));
        facts.push(units::count(summary.requests, "request"));
        facts.extend(tokens(summary.meter.total()));
        if let (Some(first), Some(last)) = (summary.first, summary.last) {
            facts.push(units::duration(last.saturating_sub(first)));
        }
        facts
    }

    /// Where it comes from.
    fn origin(&self) -> Option<(&'static str, &str)> {
        let parent = self.head.parent.as_deref()?;
        Some((if self.head.is_subagent { "subagent of" } else { "fork of" }, parent))
    }
}

/// A sign for how something went.
fn sign(mood: Mood) -> &'static str {
    match mood {
        Mood::Plain => "·",
        Mood::Good => "✓",
        Mood::Warn => "!",
        Mood::Bad => "✗",
    }
}

fn tokens(usage: Usage) -> Option<String> {
    if usage == Usage::default() {
        return None;
    }
    let cached = usage.cached_percent().map(|percent| format!(" ({percent} % cached)")).unwrap_or_default();
    Some(format!("{} in{cached}, {} out", units::tokens(usage.sent()), units::tokens(usage.output)))
}

/// What a turn took.
fn cost(end: &TurnEnd) -> String {
    let mut words = vec![units::count(end.requests, "request")];
    if end.retries > 0 {
        words.push(format!("{} tried again", end.retries));
    }
    match end.tools {
        (0, _) => {}
        (tools, 0) => words.push(units::count(tools, "tool call")),
        (tools, failed) => words.push(format!("{} ({failed} failed)", units::count(tools, "tool call"))),
    }
    words.extend(tokens(end.usage));
    words.push(units::duration(end.millis));
    words.join(" · ")
}

/// What a compaction took away.
fn compacted(compacted: &Compacted) -> String {
    let tokens = compacted
        .tokens
        .map(|tokens| format!(", about {} tokens", units::tokens(tokens)))
        .unwrap_or_default();
    let range = compacted.range.map(|(start, end)| format!(" (events {start} to {end})")).unwrap_or_default();
    format!("{}{tokens}{range} replaced by a summary", units::count(compacted.messages, "message"))
}
