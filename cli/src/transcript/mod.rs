//! From events to what a person wants to be told: one fold over a log, which holds no more than the open step.
//!
//! Nothing here judges a log; it reads what payloads hold (`docs/spec/events-v4.md`, sections 6 and 7) and passes over
//! what it does not find.

mod facts;
mod fold;
mod payload;
mod summary;
mod tool;

pub(crate) use fold::Fold;
pub(crate) use payload::{Attached, Image};
pub(crate) use summary::{Summary, Usage};

/// What a message says: its text, and behind it what else is in it, each in a few words.
pub(crate) fn said(content: Option<dshlog_codec::json::Js<'_>>) -> String {
    let content = payload::content(content);
    let attached = content.attached.iter().map(|attached| format!("[{attached}]"));
    std::iter::once(content.text)
        .filter(|text| !text.is_empty())
        .chain(attached)
        .collect::<Vec<_>>()
        .join("\n")
}

/// One entry of the transcript.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The event that it tells of.
    pub(crate) seq: u64,
    /// When that was, epoch milliseconds.
    pub(crate) time: i64,
    /// The model was told of it, and sees it no longer.
    pub(crate) unseen: bool,
    /// What happened.
    pub(crate) body: Body,
}

/// What happened.
#[derive(Clone, Debug)]
pub(crate) enum Body {
    /// A turn begins.
    TurnStart(u64),
    /// Somebody said something.
    Said(Said),
    /// The model reasoned.
    Thinking(String),
    /// The model was told things that nobody said.
    Context(Vec<Item>),
    /// A tool was called.
    Tool(Box<ToolRun>),
    /// A fact.
    Note(Note),
    /// Earlier messages were replaced by a summary.
    Compacted(Compacted),
    /// Everything before came from another session, or from an earlier process.
    Seam(Seam),
    /// A turn ends.
    TurnEnd(Box<TurnEnd>),
}

/// Who speaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// The human.
    You,
    /// The model.
    Agent,
    /// A part of the harness, by the kind of its message source.
    Harness(String),
}

/// A message.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    /// Who speaks.
    pub(crate) who: Who,
    /// The text.
    pub(crate) text: String,
    /// Images and files with it.
    pub(crate) attached: Vec<Attached>,
    /// It was cut off.
    pub(crate) interrupted: bool,
}

/// One thing that the model was told.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// The event that told it.
    pub(crate) seq: u64,
    /// Its name: the kind of the source, or what it is.
    pub(crate) name: String,
    /// More about it, such as its size.
    pub(crate) detail: String,
    /// The text itself; only kept for unfolded transcripts.
    pub(crate) text: Option<String>,
    /// It was a message, and the model sees it no longer.
    pub(crate) unseen: bool,
}

/// How something went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// Neither.
    Plain,
    /// Well.
    Good,
    /// Not well, but it goes on.
    Warn,
    /// Badly.
    Bad,
}

/// A fact about the session.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    /// One word for what it is about.
    pub(crate) label: &'static str,
    /// How it went.
    pub(crate) mood: Mood,
    /// The fact.
    pub(crate) text: String,
}

/// A call of a tool, with its result.
#[derive(Clone, Debug)]
pub(crate) struct ToolRun {
    /// Name of the tool.
    pub(crate) name: String,
    /// The argument that says what it is about.
    pub(crate) argument: String,
    /// How it went.
    pub(crate) mood: Mood,
    /// How it went, in words; empty when it went well and there is no more to say.
    pub(crate) outcome: String,
    /// From call to result.
    pub(crate) millis: Option<i64>,
    /// What came of it.
    pub(crate) output: Output,
    /// What happened meanwhile.
    pub(crate) inner: Vec<Inner>,
    /// Inner entries that were not kept.
    pub(crate) dropped: u64,
    /// The event behind which the model sees the result with its middle cut out.
    pub(crate) pruned: Option<u64>,
    /// The same word for word; only records have it.
    pub(crate) record: Option<Box<Record>>,
}

/// A call as it was made and answered.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// Its id.
    pub(crate) id: String,
    /// When it was made, epoch milliseconds.
    pub(crate) time: i64,
    /// Its arguments: the text that the model wrote, or the value that code handed over, as JSON.
    pub(crate) arguments: String,
    /// The event with its result; nothing when there is none.
    pub(crate) result: Option<u64>,
    /// The result says that it is an error.
    pub(crate) is_error: bool,
    /// The code of that error, else its name.
    pub(crate) error: Option<String>,
    /// All text of the result.
    pub(crate) text: String,
    /// What else is in it.
    pub(crate) attached: Vec<Attached>,
}

/// What a tool gave.
#[derive(Clone, Debug)]
pub(crate) enum Output {
    /// Text.
    Text(String),
    /// Changes of a file: each line with how it changed (`Good` added, `Bad` removed).
    Diff(Vec<(Mood, String)>),
}

/// What happens inside a tool call.
#[derive(Clone, Debug)]
pub(crate) enum Inner {
    /// A call made by code that a tool ran.
    Tool(ToolRun),
    /// A fact.
    Note(Note),
}

/// A compaction.
#[derive(Clone, Debug)]
pub(crate) struct Compacted {
    /// Messages replaced.
    pub(crate) messages: u64,
    /// Their tokens, as estimated by dsh.
    pub(crate) tokens: Option<u64>,
    /// First and last of the replaced events.
    pub(crate) range: Option<(u64, u64)>,
    /// All of them, in the order of the surface.
    pub(crate) seqs: Vec<u64>,
    /// The summary.
    pub(crate) summary: String,
}

/// A place where the log goes on in other hands.
#[derive(Clone, Debug)]
pub(crate) enum Seam {
    /// The end of what was inherited from the parent.
    Fork,
    /// A later process opened the session; how long after the last event.
    PickedUp {
        /// Milliseconds.
        pause: i64,
    },
    /// The end of the log: what follows is in none yet.
    Recovered,
}

/// The end of a turn.
#[derive(Clone, Debug)]
pub(crate) struct TurnEnd {
    /// How it went.
    pub(crate) mood: Mood,
    /// The same in words.
    pub(crate) outcome: String,
    /// Requests to the model, failed ones included.
    pub(crate) requests: u64,
    /// How many of them were tried again.
    pub(crate) retries: u64,
    /// Tool calls, and how many of them failed.
    pub(crate) tools: (u64, u64),
    /// Tokens.
    pub(crate) usage: Usage,
    /// From start to end.
    pub(crate) millis: i64,
}
