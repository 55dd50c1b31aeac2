//! Calls of tools, and who answers them (`docs/spec/agent-loop.md`, section 7).

mod notes;
mod process;
mod recorded;
mod schedule;

use dshlog_codec::Event;
use dshlog_codec::json::{Doc, Fields, Js, Tree};

use crate::request::header::printed;

pub use notes::{Notes, NotesError};
pub use process::{Program, Programs};
pub use recorded::{Mismatch, RecordedTools};

/// Who answers calls.
pub trait Tools: Sync {
    /// The tools that there are, in the order in which the model is told of them.
    fn declared(&self) -> Vec<Declaration>;

    /// It may run beside others of its kind, with these arguments.
    fn is_parallel(&self, _call: &Call) -> bool {
        false
    }

    /// Answer a call. Its tool is one of those that are declared.
    fn call(&self, call: &Call) -> Outcome;
}

/// No tools.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTools;

impl Tools for NoTools {
    fn declared(&self) -> Vec<Declaration> {
        Vec::new()
    }

    fn call(&self, call: &Call) -> Outcome {
        Outcome::unknown(&call.tool())
    }
}

/// What the model is told of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    name: String,
    json: Box<str>,
}

impl Declaration {
    /// A tool with this name; `parameters` is the JSON schema of its arguments.
    pub fn new(name: &str, description: &str, parameters: Box<str>) -> Self {
        let tool = Fields::new()
            .with("name", Tree::string(name))
            .with("description", Tree::string(description))
            .with("parameters", Tree::Text(parameters));
        Declaration { name: name.to_owned(), json: json(&tool.into()) }
    }

    /// A tool of a `request/header`.
    pub fn of(tool: Js<'_>) -> Self {
        let name = tool.get("name").and_then(Js::as_str);
        Declaration {
            name: name.map(|name| name.to_string()).unwrap_or_default(),
            json: printed(tool).into(),
        }
    }

    /// The tool's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The declaration as it stands in a `request/header`.
    pub fn json(&self) -> &str {
        &self.json
    }
}

/// A call that the model makes, in JSON texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its id.
    pub id: Box<str>,
    /// The tool's name.
    pub name: Box<str>,
    /// The arguments as the model wrote them: a string.
    pub arguments: Box<str>,
}

impl Call {
    /// The call that a block of an answer makes; nothing for other blocks.
    pub fn of_block(block: Js<'_>) -> Option<Self> {
        if !block.get("type").is_some_and(|kind| kind.is("tool-call")) {
            return None;
        }
        let member = |name| block.get(name).map_or_else(|| "\"\"".into(), |value| printed(value).into());
        Some(Call { id: member("id"), name: member("name"), arguments: member("arguments") })
    }

    /// The arguments as they are handed to the tool.
    ///
    /// # Errors
    /// What the model wrote is no object: how that is told.
    pub fn parsed(&self) -> Result<Doc, Outcome> {
        let text = Doc::parse(&*self.arguments).ok();
        let text = text.as_ref().and_then(|text| Some(text.root().as_str()?.to_lossy().into_owned()));
        let text = text.filter(|text| !text.is_empty()).unwrap_or_else(|| "{}".into());
        match Doc::parse(text) {
            Ok(doc) if doc.root().is_object() => Ok(doc),
            _ => Err(Outcome::invalid("\"arguments\" must be an object")),
        }
    }

    /// The tool's name as text, lone surrogates replaced.
    pub fn tool(&self) -> String {
        let doc = Doc::parse(&*self.name).ok();
        doc.and_then(|doc| Some(doc.root().as_str()?.to_lossy().into_owned())).unwrap_or_default()
    }
}

/// How a call ended, in JSON texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Content of the result.
    pub content: Box<str>,
    /// It failed.
    pub is_error: bool,
    /// What failed, for programs.
    pub error: Option<Box<str>>,
    /// What the tool tells besides, for programs.
    pub meta: Option<Box<str>>,
}

impl Outcome {
    /// How a recorded call ended: what a `tool/result` tells.
    pub fn of_result(event: &Event<'_>) -> Self {
        let message = event.member("message");
        let member = |name| message.and_then(|message| message.get(name));
        Outcome {
            content: member("content").map_or_else(|| "[]".into(), |content| printed(content).into()),
            is_error: member("isError").is_some_and(Js::is_true),
            error: event.member("error").map(|error| printed(error).into()),
            meta: event.member("meta").map(|meta| printed(meta).into()),
        }
    }

    /// A text.
    pub fn text(text: &str) -> Self {
        let block = Fields::new().with("type", Tree::string("text")).with("text", Tree::string(text));
        let content = json(&Tree::Array(vec![block.into()]));
        Outcome { content, is_error: false, error: None, meta: None }
    }

    /// A failure that is told as text.
    pub fn failed(text: &str) -> Self {
        Outcome { is_error: true, ..Outcome::text(&format!("Error: {text}")) }
    }

    fn coded(text: &str, name: &str, code: &str) -> Self {
        let error = Fields::new().with("name", Tree::string(name)).with("code", Tree::string(code));
        Outcome { error: Some(json(&error.into())), ..Outcome::failed(text) }
    }

    /// There is no such tool.
    pub fn unknown(tool: &str) -> Self {
        Outcome::coded(&format!("unknown tool \"{tool}\""), "ToolNotFoundError", "UNKNOWN_TOOL")
    }

    /// The tool does not take these arguments.
    pub fn invalid(what: &str) -> Self {
        Outcome::coded(&format!("invalid arguments: {what}"), "ToolArgsError", "INVALID_ARGS")
    }

    /// Cancelled while it ran.
    pub fn aborted() -> Self {
        Outcome::coded("tool call aborted", "AbortError", "ABORTED")
    }

    /// Cancelled before it began.
    pub fn never_begun() -> Self {
        Outcome::coded("tool call aborted before dispatch", "AbortError", "ABORTED_BEFORE_DISPATCH")
    }
}

fn json(tree: &Tree<'_>) -> Box<str> {
    let mut out = Vec::new();
    tree.print(&mut out);
    String::from_utf8(out).unwrap_or_default().into()
}

/// What can be done with the calls of a message, by the rules.
#[derive(Clone, Copy, Debug)]
pub struct Choices<'c> {
    /// The next call that has not begun.
    pub start: Option<&'c Call>,
    /// The first call that has begun and has no result.
    pub commit: Option<&'c Call>,
    /// How many have begun and have no result.
    pub in_flight: usize,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Begin the next call.
    Start,
    /// Write the next result.
    Commit,
}
