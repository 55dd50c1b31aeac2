//! A request, for people: what it is, how it is put, then what the model reads.

mod document;
mod tokens;

use std::io::{self, Write};

use dshlog_replay::request::tools::ToolHistory;

use super::page::{Fold, Line, Page};
use super::style::Role;
use super::units;

pub(crate) use document::{About, Document, config, json};
pub(crate) use tokens::Tokens;

/// Columns of the names at the left.
const LABEL: usize = 11;

/// Rows of each kind of text while it is folded.
const SYSTEM_ROWS: usize = 3;
const TEXT_ROWS: usize = 8;
const ASIDE_ROWS: usize = 3;

/// A request to show.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// Such as `turn 3, step 1, attempt 2`.
    pub(crate) title: String,
    /// The session's id.
    pub(crate) session: String,
    /// Model and controls, each in a few words.
    pub(crate) config: Vec<String>,
    /// Where the header stands; nothing for calls without one.
    pub(crate) header: Option<String>,
    /// How large it is.
    pub(crate) tokens: Option<Tokens>,
    /// The system prompt at the head.
    pub(crate) system: Option<String>,
    /// Names of the tools; nothing when the call has no list.
    pub(crate) tools: Option<Vec<String>>,
    /// How they came to be these.
    pub(crate) tool_history: Option<ToolHistory>,
    /// What follows.
    pub(crate) messages: Vec<Message>,
}

/// A message.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    /// Who speaks.
    pub(crate) role: String,
    /// What else is to be known of it.
    pub(crate) about: String,
    /// How large it is, estimated.
    pub(crate) tokens: Option<u64>,
    /// What is in it.
    pub(crate) blocks: Vec<Block>,
}

/// A block of a message.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// How to show it.
    pub(crate) mood: Mood,
    /// Words in front of it.
    pub(crate) label: String,
    /// The text.
    pub(crate) text: String,
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    /// Text.
    Said,
    /// Reasoning.
    Thought,
    /// A call of a tool.
    Call,
    /// An image, a file, a change of the tools.
    Aside,
}

/// Write a request.
pub(crate) fn write(
    out: &mut dyn Write,
    width: usize,
    color: bool,
    full: bool,
    shown: &Shown,
) -> io::Result<()> {
    let mut sheet = Sheet { page: Page::new(out, width, color, false), full };
    sheet.page.sides(Line::of(Role::Title, &shown.title), Line::of(Role::Dim, &shown.session))?;
    sheet.field("model", Role::Strong, Role::Plain, &shown.config.join(" · "), Fold::Whole)?;
    if let Some(header) = &shown.header {
        sheet.field("header", Role::Strong, Role::Plain, header, Fold::Whole)?;
    }
    if let Some(tokens) = &shown.tokens {
        let words = tokens.words(shown.system.is_some());
        sheet.field("tokens", Role::Strong, Role::Plain, &words, Fold::Whole)?;
    }
    if let Some(tools) = &shown.tools {
        let words = if tools.is_empty() { "none".to_owned() } else { tools.join(", ") };
        sheet.field("tools", Role::Strong, Role::Dim, &words, sheet.fold(ASIDE_ROWS))?;
    }
    if let Some(words) = shown.tool_history.as_ref().and_then(tokens::history_words) {
        sheet.field("", Role::Strong, Role::Dim, &words, sheet.fold(ASIDE_ROWS))?;
    }
    if let Some(system) = &shown.system {
        sheet.field("system", Role::Strong, Role::Plain, system, sheet.fold(SYSTEM_ROWS))?;
    }
    shown.messages.iter().try_for_each(|message| sheet.message(message))
}

struct Sheet<'w> {
    page: Page<'w>,
    full: bool,
}

impl Sheet<'_> {
    fn fold(&self, rows: usize) -> Fold {
        if self.full { Fold::Whole } else { Fold::Head(rows) }
    }

    fn message(&mut self, message: &Message) -> io::Result<()> {
        self.page.blank()?;
        let role = match message.role.as_str() {
            "user" if message.about.is_empty() => Role::You,
            "assistant" => Role::Agent,
            _ => Role::Strong,
        };
        let mut name = message.role.as_str();
        let tokens = message.tokens.map(|tokens| format!("about {}", units::count(tokens, "token")));
        let about = Some(&message.about).filter(|about| !about.is_empty());
        let about: Vec<&str> = about.into_iter().chain(&tokens).map(String::as_str).collect();
        if !about.is_empty() {
            self.field(name, role, Role::Dim, &format!("({})", about.join(", ")), Fold::Whole)?;
            name = "";
        }
        if message.blocks.is_empty() {
            return self.field(name, role, Role::Dim, "(empty)", Fold::Whole);
        }
        for block in &message.blocks {
            let (text_role, rows) = match block.mood {
                Mood::Said => (Role::Plain, if message.role == "system" { SYSTEM_ROWS } else { TEXT_ROWS }),
                Mood::Thought => (Role::Dim, ASIDE_ROWS),
                Mood::Call => (Role::Plain, ASIDE_ROWS),
                Mood::Aside => (Role::Dim, ASIDE_ROWS),
            };
            let text = match (block.label.as_str(), block.text.trim_matches('\n')) {
                ("", text) => text.to_owned(),
                (label, text) => format!("{label}: {text}"),
            };
            self.field(name, role, text_role, &text, self.fold(rows))?;
            name = "";
        }
        Ok(())
    }

    fn field(&mut self, name: &str, role: Role, text_role: Role, text: &str, fold: Fold) -> io::Result<()> {
        let label = Line::of(role, name);
        let pad = " ".repeat(LABEL.saturating_sub(label.width()).max(1));
        let rest = Line::of(Role::Plain, &" ".repeat(LABEL));
        self.page.text(label.with(Role::Plain, &pad), &rest, text_role, text, fold)
    }
}
