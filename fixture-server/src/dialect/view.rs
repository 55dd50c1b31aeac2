//! A request as matchers see it, whichever dialect it came in.

use serde::Deserialize;

use super::Dialect;
use crate::http::Head;
use crate::json::Value;

/// What a title request of dsh begins with (`docs/spec/messages-wire.md`, 5).
const TITLE: &str = "Generate the session title from this JSON array of human messages:";
/// The header of a compaction request.
const COMPACT: &str = "x-deepseek-harness-compact";

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A step of a conversation; everything that is none of the others.
    Agent,
    /// A title for a session.
    Title,
    /// A summary of a conversation, which is to replace its beginning.
    Compaction,
    /// A search of the web, made by a tool.
    Search,
    /// Not a request to a model.
    Other,
}

impl Kind {
    /// Its name, as in scripts.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Agent => "agent",
            Kind::Title => "title",
            Kind::Compaction => "compaction",
            Kind::Search => "search",
            Kind::Other => "other",
        }
    }
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The user; results of tools are in these messages too.
    User,
    /// The model.
    Assistant,
    /// The system, after the beginning.
    System,
}

/// A text, and where it stands in the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The text.
    pub text: String,
    /// Where it stands, as a JSON pointer.
    pub pointer: String,
}

/// A call that the model made.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its id.
    pub id: String,
    /// The name of the tool.
    pub name: String,
}

/// What a tool answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// The id of the call.
    pub id: String,
    /// Its text.
    pub text: String,
    /// Whether it is marked as an error, where the dialect can say.
    pub is_error: Option<bool>,
    /// Where it stands, as a JSON pointer.
    pub pointer: String,
}

/// A message. Neighbours of one role are one message, as Messages has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// Who speaks.
    pub role: Role,
    /// Its texts.
    pub texts: Vec<Seen>,
    /// Calls of tools.
    pub calls: Vec<Call>,
    /// Results of tools.
    pub results: Vec<ToolResult>,
}

/// A request.
#[derive(Clone, Debug)]
pub struct View {
    /// Its dialect, when its path is one of a dialect.
    pub dialect: Option<Dialect>,
    /// What it is for.
    pub kind: Kind,
    /// Its path, without query.
    pub path: String,
    /// Its headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Value,
    /// The model.
    pub model: Option<String>,
    /// The system prompt, its parts joined by blank lines; empty when there is none.
    pub system: String,
    /// Names of its tools.
    pub tools: Vec<String>,
    /// Its messages.
    pub messages: Vec<Said>,
}

impl View {
    /// Reads a request. What has not the form of its dialect is simply not seen: it is in `body`.
    pub fn new(head: &Head, body: Value) -> View {
        let dialect = Dialect::of_path(head.path());
        let mut view = View {
            dialect,
            kind: Kind::Other,
            path: head.path().to_owned(),
            headers: head.headers.clone(),
            model: body.get("model").and_then(Value::as_str).map(str::to_owned),
            system: String::new(),
            tools: tools(&body),
            messages: Vec::new(),
            body: Value::Null,
        };
        match dialect {
            Some(Dialect::Messages) => view.read_messages(&body),
            Some(Dialect::Chat) => view.read_chat(&body),
            None => {}
        }
        view.body = body;
        view.kind = view.find_kind();
        view
    }

    /// A header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The texts of the first message of the user that has any.
    pub fn first_user(&self) -> &[Seen] {
        self.user_texts().next().unwrap_or_default()
    }

    /// The texts of the last message of the user that has any.
    pub fn last_user(&self) -> &[Seen] {
        self.user_texts().next_back().unwrap_or_default()
    }

    fn user_texts(&self) -> impl DoubleEndedIterator<Item = &[Seen]> {
        let users = self.messages.iter().filter(|said| said.role == Role::User && !said.texts.is_empty());
        users.map(|said| said.texts.as_slice())
    }

    /// The results of a call.
    pub fn results(&self, id: &str) -> impl Iterator<Item = &ToolResult> {
        self.messages.iter().flat_map(|said| &said.results).filter(move |result| result.id == id)
    }

    fn find_kind(&self) -> Kind {
        let begins_a_title = || self.first_user().first().is_some_and(|seen| seen.text.starts_with(TITLE));
        let searches = || {
            let tools = self.body.get("tools").and_then(Value::as_array).into_iter().flatten();
            let mut types = tools.filter_map(|tool| tool.get("type")?.as_str());
            types.any(|kind| kind.starts_with("web_search"))
        };
        if self.dialect.is_none() {
            Kind::Other
        } else if self.header(COMPACT).is_some() {
            Kind::Compaction
        } else if self.tools.is_empty() && begins_a_title() {
            Kind::Title
        } else if self.body.get("stream") != Some(&Value::Bool(true)) && searches() {
            Kind::Search
        } else {
            Kind::Agent
        }
    }

    fn read_messages(&mut self, body: &Value) {
        self.system =
            body.get("system").map(|system| texts_of(system, "/system")).map(joined).unwrap_or_default();
        for (n, message) in items(body.get("messages")).enumerate() {
            let role = match message.get("role").and_then(Value::as_str) {
                Some("assistant") => Role::Assistant,
                Some("system") => Role::System,
                _ => Role::User,
            };
            let pointer = format!("/messages/{n}/content");
            let content = message.get("content").unwrap_or(&Value::Null);
            let said = self.said(role);
            said.texts.extend(texts_of(content, &pointer));
            for (k, block) in items(Some(content)).enumerate() {
                let text =
                    |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
                match block.get("type").and_then(Value::as_str) {
                    Some("tool_use") => said.calls.push(Call { id: text("id"), name: text("name") }),
                    Some("tool_result") => said.results.push(ToolResult {
                        id: text("tool_use_id"),
                        text: block
                            .get("content")
                            .map(|content| texts_of(content, ""))
                            .map(joined)
                            .unwrap_or_default(),
                        is_error: Some(block.get("is_error").and_then(Value::as_bool).unwrap_or(false)),
                        pointer: format!("{pointer}/{k}"),
                    }),
                    _ => {}
                }
            }
        }
    }

    fn read_chat(&mut self, body: &Value) {
        let mut begun = false;
        for (n, message) in items(body.get("messages")).enumerate() {
            let pointer = format!("/messages/{n}/content");
            let content = message.get("content").unwrap_or(&Value::Null);
            let texts = texts_of(content, &pointer);
            let role = message.get("role").and_then(Value::as_str).unwrap_or("user");
            if role == "system" && !begun {
                if !self.system.is_empty() {
                    self.system.push_str("\n\n");
                }
                self.system.push_str(&joined(texts));
                continue;
            }
            begun = true;
            match role {
                "assistant" => {
                    let said = self.said(Role::Assistant);
                    said.texts.extend(texts.into_iter().filter(|seen| !seen.text.is_empty()));
                    for call in items(message.get("tool_calls")) {
                        let text = |value: Option<&Value>| {
                            value.and_then(Value::as_str).unwrap_or_default().to_owned()
                        };
                        let (id, name) = (text(call.get("id")), text(call.pointer("/function/name")));
                        said.calls.push(Call { id, name });
                    }
                }
                "tool" => {
                    let id =
                        message.get("tool_call_id").and_then(Value::as_str).unwrap_or_default().to_owned();
                    let pointer = format!("/messages/{n}");
                    let result = ToolResult { id, text: joined(texts), is_error: None, pointer };
                    self.said(Role::User).results.push(result);
                }
                "system" => self.said(Role::System).texts.extend(texts),
                _ => self.said(Role::User).texts.extend(texts),
            }
        }
    }

    /// The message that the next one of this role belongs to.
    fn said(&mut self, role: Role) -> &mut Said {
        if self.messages.last().is_none_or(|last| last.role != role) {
            self.messages.push(Said { role, texts: Vec::new(), calls: Vec::new(), results: Vec::new() });
        }
        let last = self.messages.len() - 1;
        &mut self.messages[last]
    }
}

fn items(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flatten()
}

/// Names of tools, in the form of either dialect.
fn tools(body: &Value) -> Vec<String> {
    let name = |tool: &Value| {
        tool.get("name").or_else(|| tool.pointer("/function/name"))?.as_str().map(str::to_owned)
    };
    items(body.get("tools")).filter_map(name).collect()
}

/// The texts of a content: a text, or a list in which text blocks are.
fn texts_of(content: &Value, pointer: &str) -> Vec<Seen> {
    if let Some(text) = content.as_str() {
        return vec![Seen { text: text.to_owned(), pointer: pointer.to_owned() }];
    }
    let blocks = items(Some(content)).enumerate();
    let texts = blocks.filter_map(|(n, block)| match block.get("type")?.as_str()? {
        "text" => Some(Seen {
            text: block.get("text")?.as_str()?.to_owned(),
            pointer: format!("{pointer}/{n}/text"),
        }),
        _ => None,
    });
    texts.collect()
}

fn joined(texts: Vec<Seen>) -> String {
    texts.into_iter().map(|seen| seen.text).collect::<Vec<_>>().join("\n\n")
}
