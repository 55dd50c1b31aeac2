//! Declared tools and their history (`docs/spec/surface.md`, section 6).
//!
//! The history folds over all events: it does not matter whether a developer message is still on the surface.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use dshlog_codec::Event;
use dshlog_codec::json::{Js, JsString};

use super::header::{HeaderMark, HeaderReason, printed, string};

/// The declaration of one tool. Equal ones have an equal JSON text.
#[derive(Debug)]
pub struct Tool {
    name: JsString,
    definition: Box<str>,
    is_deferred: bool,
    wire: OnceLock<Wire>,
}

/// The declaration as the two dialects write it, without the closing brace.
#[derive(Debug)]
struct Wire {
    messages: Box<str>,
    chat: Box<str>,
}

/// Tools in the order of their declaration.
pub type ToolList = Arc<[Arc<Tool>]>;

/// What a request tells the runtime about its tools besides the list in force.
#[derive(Clone, Debug, Default)]
pub struct ToolHistory {
    /// The tools that the series began with.
    pub tools: ToolList,
    /// The changes since, one for each developer message.
    pub updates: Vec<ToolUpdate>,
}

/// What one developer message changed.
#[derive(Clone, Debug)]
pub struct ToolUpdate {
    /// Id of the message.
    pub message_id: JsString,
    /// The tools that it added, as the header that it cites declares them.
    pub additions: Vec<Arc<Tool>>,
}

/// The fold behind [`ToolHistory`].
#[derive(Debug, Default)]
pub(super) struct ToolLedger {
    /// Every definition so far, by name: a log repeats the same ones in each header.
    known: HashMap<JsString, Vec<Arc<Tool>>>,
    headers: Vec<(u64, ToolList)>,
    declared: HashMap<JsString, Arc<Tool>>,
    available: HashSet<JsString>,
    active: ToolList,
    has_baseline: bool,
    history: ToolHistory,
}

impl Tool {
    fn of(value: Js<'_>) -> Self {
        Tool {
            name: string(value.get("name")).unwrap_or_default(),
            definition: printed(value).into(),
            is_deferred: value.get("deferLoading").is_some_and(Js::is_true),
            wire: OnceLock::new(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &JsString {
        &self.name
    }

    /// `{name, description, parameters[, deferLoading]}`, as the header records it.
    pub fn definition(&self) -> &str {
        &self.definition
    }

    /// The header itself marks it as one that is loaded when it is needed.
    pub(super) fn is_deferred(&self) -> bool {
        self.is_deferred
    }

    /// `{"name":...,"description":...,"input_schema":...`, without the closing brace.
    pub(super) fn messages(&self) -> &str {
        &self.wire().messages
    }

    /// `{"type":"function","function":{"name":...,"description":...,"parameters":...`, without the closing braces.
    pub(super) fn chat(&self) -> &str {
        &self.wire().chat
    }

    fn wire(&self) -> &Wire {
        self.wire.get_or_init(|| {
            let doc = dshlog_codec::json::Doc::parse(&*self.definition);
            let member = |name, as_name: &str| {
                let value = doc.as_ref().ok().and_then(|doc| doc.root().get(name));
                value.map(|value| format!("\"{as_name}\":{}", printed(value)))
            };
            let members = |parameters| {
                let list = [
                    member("name", "name"),
                    member("description", "description"),
                    member("parameters", parameters),
                ];
                list.into_iter().flatten().collect::<Vec<_>>().join(",")
            };
            Wire {
                messages: format!("{{{}", members("input_schema")).into(),
                chat: format!("{{\"type\":\"function\",\"function\":{{{}", members("parameters")).into(),
            }
        })
    }
}

impl PartialEq for Tool {
    fn eq(&self, other: &Self) -> bool {
        self.definition == other.definition
    }
}

impl Eq for Tool {}

impl ToolLedger {
    /// A header declares these tools.
    pub(super) fn declare(&mut self, mark: HeaderMark, tools: Option<Js<'_>>) -> ToolList {
        let tools: Vec<Arc<Tool>> =
            tools.map_or(Vec::new(), |tools| tools.elements().map(|tool| self.known(tool)).collect());
        let tools: ToolList = match self.headers.last() {
            Some((_, last)) if **last == *tools => Arc::clone(last),
            _ => tools.into(),
        };
        self.headers.push((mark.seq.0, Arc::clone(&tools)));
        let is_redeclared =
            tools.iter().any(|tool| self.declared.get(&tool.name).is_some_and(|known| known != tool));
        if !self.has_baseline || mark.reason == HeaderReason::Series || mark.starts_series || is_redeclared {
            self.has_baseline = true;
            self.declared = tools.iter().map(|tool| (tool.name.clone(), Arc::clone(tool))).collect();
            self.available = tools.iter().map(|tool| tool.name.clone()).collect();
            self.history = ToolHistory { tools: Arc::clone(&tools), updates: Vec::new() };
        }
        self.active = Arc::clone(&tools);
        tools
    }

    /// A `developer/message` adds and removes tools.
    pub(super) fn change(&mut self, event: &Event<'_>) {
        let Some(message) = event.member("message") else { return };
        let cited = event.member("headerSeq").and_then(Js::as_count);
        let cited = cited.and_then(|seq| self.headers.binary_search_by_key(&seq, |(seq, _)| *seq).ok());
        let cited = cited.and_then(|at| self.headers.get(at)).map(|(_, tools)| Arc::clone(tools));
        let mut additions = Vec::new();
        for block in message.get("content").into_iter().flat_map(Js::elements) {
            let Some(name) = string(block.get("toolName")) else { continue };
            let is = |kind| block.get("type").is_some_and(|is| is.is(kind));
            if is("tool-addition") {
                let tool = cited.as_ref().and_then(|tools| tools.iter().find(|tool| tool.name == name));
                if let Some(tool) = tool {
                    self.declared.insert(name.clone(), Arc::clone(tool));
                    additions.push(Arc::clone(tool));
                }
                self.available.insert(name);
            } else if is("tool-removal") {
                self.available.remove(&name);
            }
        }
        let message_id = string(message.get("id")).unwrap_or_default();
        self.history.updates.push(ToolUpdate { message_id, additions });
    }

    /// The history as a request carries it: without updates where they do not lead to the list in force.
    pub(super) fn snapshot(&self) -> ToolHistory {
        let fits = self.active.len() == self.available.len()
            && self.active.iter().all(|tool| self.available.contains(&tool.name));
        if fits {
            self.history.clone()
        } else {
            ToolHistory { tools: Arc::clone(&self.active), updates: Vec::new() }
        }
    }

    fn known(&mut self, value: Js<'_>) -> Arc<Tool> {
        let tool = Tool::of(value);
        let known = self.known.entry(tool.name.clone()).or_default();
        if let Some(same) = known.iter().find(|known| ***known == tool) {
            return Arc::clone(same);
        }
        let tool = Arc::new(tool);
        known.push(Arc::clone(&tool));
        tool
    }
}
