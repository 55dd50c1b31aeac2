//! One thing that was found in a root, and what to do about it.

use std::path::{Path, PathBuf};

use dshlog_codec::At;

use super::look::Session;
use super::meaning;

pub(crate) use crate::render::verify::Severity;

/// How much the official reader loses to it (`docs/spec/storage.md`, sections 4.1 to 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Blocks {
    /// Nothing.
    Nothing,
    /// The sessions it is about.
    Session,
    /// The list of sessions, and with it every session that is not yet in the current format: carrying one over lists
    /// the root.
    List,
    /// Every session of the root.
    Root,
}

impl Blocks {
    /// The word of the JSON form.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Blocks::Nothing => "nothing",
            Blocks::Session => "session",
            Blocks::List => "list",
            Blocks::Root => "root",
        }
    }
}

/// Who can mend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum By {
    /// The commands below.
    Command,
    /// dsh, without being asked to.
    Dsh,
    /// Whoever runs dsh; no command does it.
    Person,
    /// Nothing that there is.
    Nothing,
    /// Nothing is broken.
    Nobody,
}

impl By {
    /// The word of the JSON form.
    pub(crate) fn name(self) -> &'static str {
        match self {
            By::Command => "command",
            By::Dsh => "dsh",
            By::Person => "person",
            By::Nothing => "nothing",
            By::Nobody => "nobody",
        }
    }
}

/// What mends it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mend {
    /// Who.
    pub(crate) by: By,
    /// A sentence for people.
    pub(crate) text: String,
}

impl Mend {
    /// By whom, in a sentence.
    pub(crate) fn new(by: By, text: impl Into<String>) -> Self {
        Mend { by, text: text.into() }
    }
}

/// A rule that something breaks, and everything that breaks it.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// How bad it is.
    pub(crate) severity: Severity,
    /// A code of `docs/codes.md` or `docs/output.md`.
    pub(crate) code: &'static str,
    /// What the code means, one sentence without full stop.
    pub(crate) meaning: String,
    /// What the official reader loses to it.
    pub(crate) blocks: Blocks,
    /// What to do.
    pub(crate) mend: Mend,
    /// A command for all of them at once.
    pub(crate) command: Option<String>,
    /// What it is about: sessions, or other things, in the order of names.
    pub(crate) subjects: Vec<Subject>,
}

/// One thing that a finding is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subject {
    /// Id of the session, or the name of its folder where no header tells.
    pub(crate) session: Option<String>,
    /// The log, folder or file.
    pub(crate) path: PathBuf,
    /// What is special about this one; may be empty.
    pub(crate) detail: String,
    /// Where in the log.
    pub(crate) at: At,
    /// Bytes that it is about.
    pub(crate) bytes: Option<u64>,
    /// When it was last written, epoch milliseconds, where its age counts.
    pub(crate) modified: Option<i64>,
    /// Who wrote what is wrong, as far as the log tells.
    pub(crate) writer: Option<Writer>,
    /// Shell commands that mend this one.
    pub(crate) commands: Vec<String>,
}

/// Who wrote the event that a log is refused for. No log names the release that wrote it; its format tells the range.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Writer {
    /// Releases of dsh that write the log's format.
    pub(crate) runtime: Option<&'static str>,
    /// The plugin that the event's type or message source names; nothing for events of dsh itself.
    pub(crate) plugin: Option<String>,
    /// Types of the events, each once.
    pub(crate) events: Vec<String>,
    /// Provider and model that were asked last before it.
    pub(crate) model: Option<(String, String)>,
    /// When the event was written, epoch milliseconds.
    pub(crate) time: Option<i64>,
}

impl Finding {
    /// A finding; nothing when it is about nothing. The code says what it means.
    pub(crate) fn of(
        severity: Severity,
        code: &'static str,
        blocks: Blocks,
        mend: Mend,
        subjects: Vec<Subject>,
    ) -> Option<Finding> {
        let meaning = meaning::of(code).to_owned();
        let is_any = !subjects.is_empty();
        is_any.then_some(Finding { severity, code, meaning, blocks, mend, command: None, subjects })
    }
}

impl Subject {
    /// Something that is no session.
    pub(crate) fn thing(path: &Path) -> Subject {
        Subject { path: path.to_owned(), ..Subject::default() }
    }

    /// A session.
    pub(crate) fn session(session: &Session) -> Subject {
        Subject { session: Some(session.name.clone()), path: session.path().to_owned(), ..Subject::default() }
    }

    /// With what is special about it.
    #[must_use]
    pub(crate) fn detail(mut self, detail: impl Into<String>) -> Subject {
        self.detail = detail.into();
        self
    }

    /// With bytes that it is about.
    #[must_use]
    pub(crate) fn bytes(mut self, bytes: u64) -> Subject {
        self.bytes = Some(bytes);
        self
    }

    /// With commands that mend it.
    #[must_use]
    pub(crate) fn commands(mut self, commands: impl IntoIterator<Item = String>) -> Subject {
        self.commands.extend(commands);
        self
    }
}
