//! What is known of the session that a document stands in.

use std::path::{Path, PathBuf};

use dshlog_codec::json::JsString;
use dshlog_codec::{Generation, Header, Millis};
use serde::{Deserialize, Serialize};

use crate::corpus::Candidate;
use crate::extract::Extractor;

/// A session as hits show it and filters ask for it. Texts are those of the header, with U+FFFD for what is no Unicode.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// The log.
    pub path: PathBuf,
    /// The session's row in a store, when `path` is one.
    pub entry: Option<String>,
    /// Generation of the log.
    pub generation: Generation,
    /// The working directory.
    pub project: Option<String>,
    /// When it was created.
    pub created: Millis,
    /// Time of its last event.
    pub last: Millis,
    /// The session it descends from.
    pub parent: Option<String>,
    /// It begins with a copy of events of its parent.
    pub is_seeded: bool,
    /// It was delegated to.
    pub is_subagent: bool,
    /// Name of the agent preset.
    pub preset: Option<String>,
    /// Its title now.
    pub title: Option<String>,
    /// How much of the log is in the index.
    pub soundness: Soundness,
}

impl Session {
    /// What a log tells of its session: the header, unless it cannot be read, and the events that were seen.
    pub(crate) fn new(
        candidate: &Candidate,
        header: Option<&Header>,
        seen: &Extractor,
        soundness: Soundness,
    ) -> Session {
        let text = |text: &JsString| text.to_lossy().into_owned();
        let created = header.map_or(0, |header| i64::try_from(header.created_at).unwrap_or(i64::MAX));
        Session {
            id: header.map(|header| text(&header.id)).unwrap_or_default(),
            path: candidate.path.clone(),
            entry: candidate.entry.clone(),
            generation: header.map_or(Generation(0), |header| header.version),
            project: header.and_then(|header| header.cwd.as_ref()).map(text),
            created: Millis(created),
            last: Millis(seen.last),
            parent: header.and_then(|header| header.parent_session.as_ref()).map(text),
            is_seeded: header.is_some_and(|header| header.is_seeded),
            is_subagent: header.is_some_and(|header| header.is_subagent),
            preset: header.and_then(|header| header.agent_preset.as_ref()).map(text),
            title: seen.title.clone(),
            soundness,
        }
    }

    /// Where it is: the log, and its row in that when it is a store.
    pub fn place(&self) -> (&Path, Option<&str>) {
        (&self.path, self.entry.as_deref())
    }
}

/// How far a log could be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Soundness {
    /// To its end.
    Whole,
    /// Up to a fault, or to a torn tail; the reason.
    Partial(String),
    /// Not at all; the reason.
    Unreadable(String),
}

impl Soundness {
    /// Its name in outputs.
    pub fn name(&self) -> &'static str {
        match self {
            Soundness::Whole => "whole",
            Soundness::Partial(_) => "partial",
            Soundness::Unreadable(_) => "unreadable",
        }
    }

    /// Why the log could not be read to its end.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Soundness::Whole => None,
            Soundness::Partial(reason) | Soundness::Unreadable(reason) => Some(reason),
        }
    }
}
