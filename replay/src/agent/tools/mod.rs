//! Calls of tools, and who answers them (`docs/spec/agent-loop.md`, section 7).

mod schedule;

use dshlog_codec::json::{Doc, Fields, Js, Tree};

use crate::request::header::printed;

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
    /// A text.
    pub fn text(text: &str) -> Self {
        let block = Fields::new().with("type", Tree::string("text")).with("text", Tree::string(text));
        let content = json(Tree::Array(vec![block.into()]));
        Outcome { content, is_error: false, error: None, meta: None }
    }

    /// A failure that is told as text.
    pub fn failed(text: &str) -> Self {
        Outcome { is_error: true, ..Outcome::text(&format!("Error: {text}")) }
    }

    fn coded(text: &str, name: &str, code: &str) -> Self {
        let error = Fields::new().with("name", Tree::string(name)).with("code", Tree::string(code));
        Outcome { error: Some(json(error.into())), ..Outcome::failed(text) }
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

fn json(tree: Tree<'_>) -> Box<str> {
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
