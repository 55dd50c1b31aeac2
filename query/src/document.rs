//! What is found: one text of a session, and what is known of it (`docs/spec/query.md`, section 21).

use dshlog_codec::{Millis, Seq};
use serde::{Deserialize, Serialize};

/// One searchable text. It is told apart by its session, `seq` and `nth`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that can be asked for by itself")]
pub struct Document {
    /// The event that the text stands in, counted as in V4.
    pub seq: Seq,
    /// Which text of that event, from 0.
    pub nth: u32,
    /// What kind of text it is.
    pub part: Part,
    /// When the event was recorded.
    pub time: Millis,
    /// The turn it belongs to, from 1.
    pub turn: Option<u64>,
    /// The step of that turn, from 1.
    pub step: Option<u64>,
    /// The tool that is called, or whose result it is.
    pub tool: Option<String>,
    /// The model that wrote it.
    pub model: Option<String>,
    /// A failure: a result marked as error, a failed attempt, a turn that ended in one.
    pub is_error: bool,
    /// An image stands beside the text, in the same message.
    pub has_image: bool,
    /// A file stands beside the text, in the same message.
    pub has_file: bool,
    /// The event was copied from the parent.
    pub is_inherited: bool,
    /// The text; never blank.
    pub text: String,
}

/// What kind of text a document holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The title of the session.
    Title,
    /// What a person wrote.
    Prompt,
    /// What was injected beside it: instructions, reminders, what other sessions sent.
    Context,
    /// What the model wrote.
    Answer,
    /// What the model thought.
    Reasoning,
    /// A call of a tool: its name and arguments.
    Call,
    /// What a tool gave back.
    Result,
    /// Why an attempt, a tool or a turn failed.
    Error,
    /// What a compaction left.
    Summary,
    /// A system or developer message.
    System,
    /// A list of todos, a goal, a plan.
    Todo,
}

impl Part {
    /// All of them, in the order in which they count.
    pub const ALL: [Part; 11] = [
        Part::Title,
        Part::Prompt,
        Part::Context,
        Part::Answer,
        Part::Reasoning,
        Part::Call,
        Part::Result,
        Part::Error,
        Part::Summary,
        Part::System,
        Part::Todo,
    ];

    /// Its name in queries and outputs.
    pub fn name(self) -> &'static str {
        match self {
            Part::Title => "title",
            Part::Prompt => "prompt",
            Part::Context => "context",
            Part::Answer => "answer",
            Part::Reasoning => "reasoning",
            Part::Call => "call",
            Part::Result => "result",
            Part::Error => "error",
            Part::Summary => "summary",
            Part::System => "system",
            Part::Todo => "todo",
        }
    }

    /// Its number in the index. Never given to another part.
    pub fn number(self) -> u64 {
        Part::ALL.iter().position(|part| *part == self).unwrap_or(0) as u64
    }

    /// The part of that number.
    pub fn of_number(number: u64) -> Option<Part> {
        Part::ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Who speaks.
    pub fn role(self) -> Role {
        match self {
            Part::Title | Part::Prompt => Role::User,
            Part::Answer | Part::Reasoning | Part::Call => Role::Assistant,
            Part::Result => Role::Tool,
            Part::Context | Part::Error | Part::Summary | Part::System | Part::Todo => Role::System,
        }
    }
}

/// Who speaks in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A person.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
    /// The runtime.
    System,
}

impl Role {
    /// All of them.
    pub const ALL: [Role; 4] = [Role::User, Role::Assistant, Role::Tool, Role::System];

    /// Its name in queries and outputs.
    pub fn name(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
            Role::System => "system",
        }
    }
}
