//! What is known of the session that a document stands in.

use std::path::{Path, PathBuf};

use dshlog_codec::{Generation, Millis};
use serde::{Deserialize, Serialize};

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
