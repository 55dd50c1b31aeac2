//! Exchanges, side rules, and what they demand of a request.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::{HeaderIs, Response, TextIs};
use crate::dialect::{Dialect, Kind};
use crate::normalize::{Rule, Rules};

/// One request that is waited for, and its answer.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Exchange {
    /// What reports call it, beside its number.
    pub name: String,
    /// The lane in which it stands. Lanes are served independently, each for one conversation.
    pub lane: Option<String>,
    /// What the request must be like.
    #[serde(rename = "match")]
    pub matcher: Matcher,
    /// What the whole request must be.
    pub expect: Option<Expect>,
    /// How often it is served before the next one is waited for.
    pub times: Times,
    /// It may be passed over when the request fits the next one.
    pub optional: bool,
    /// It is served once or more, until a request does not fit. Excludes `times`.
    pub repeat: bool,
    /// The answer.
    pub respond: Response,
}

/// How often an exchange is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Times(pub u32);

impl Default for Times {
    fn default() -> Self {
        Times(1)
    }
}

/// The answer to requests that stand outside of the order: titles, summaries, uploads.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Side {
    /// What reports call it, beside its number.
    pub name: String,
    /// What the request must be like.
    #[serde(rename = "match")]
    pub matcher: Matcher,
    /// What the whole request must be.
    pub expect: Option<Expect>,
    /// How often it may answer; any number of times without this.
    pub times: Option<u32>,
    /// The answer.
    pub respond: Response,
}

/// How requests of one conversation are known, where there are lanes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Conversation {
    /// By the header `x-deepseek-harness-session-id`, else by the first text of the user.
    #[default]
    Auto,
    /// By the first text of the user.
    FirstUser,
    /// By a header.
    Header(String),
    /// By the value at a JSON pointer of the body.
    Pointer(String),
}

/// What a request must be like. All that is said must hold; an empty matcher fits every request of its kind.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Matcher {
    /// Its kind. An exchange without this takes requests of the kind `agent`, a side rule those of any kind.
    pub kind: Option<Kind>,
    /// Its dialect.
    pub dialect: Option<Dialect>,
    /// Its path, without query.
    pub path: Option<TextIs>,
    /// Its model.
    pub model: Option<TextIs>,
    /// The system prompt.
    pub system: Option<TextIs>,
    /// The texts of the first message of the user that has any.
    pub first_user: Option<TextIs>,
    /// The texts of the last message of the user that has any.
    pub last_user: Option<TextIs>,
    /// The number of messages, system prompt aside and neighbours of one role taken together.
    pub messages: Option<usize>,
    /// The names of its tools: exactly these, in any order.
    pub tools: Option<Vec<String>>,
    /// Results of tools that are in its history.
    pub results: Vec<ResultIs>,
    /// Values at JSON pointers.
    pub json: Vec<JsonIs>,
    /// Headers.
    pub headers: Vec<HeaderIs>,
}

/// What the result of a tool call must be like.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ResultIs {
    /// The id of the call.
    pub tool_use_id: String,
    /// Its text.
    pub text: TextIs,
    /// Whether it is marked as an error. Chat Completions cannot say, so it is not asked there.
    pub is_error: Option<bool>,
}

/// What the value at a JSON pointer must be.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JsonIs {
    /// The place.
    pub pointer: String,
    /// It is this value.
    pub equals: Option<Value>,
    /// It is a text like this.
    pub text: Option<TextIs>,
    /// It is there, or not. Without any condition: it is there.
    pub exists: Option<bool>,
    /// A list, object or text of this length.
    pub length: Option<usize>,
}

/// What a whole request must be.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    /// The expected body.
    pub body: Option<Value>,
    /// A file that holds it, beside the script.
    pub body_file: Option<PathBuf>,
    /// How near the request must come.
    pub level: Level,
    /// The rules that set aside what differs for good reasons; without this the usual ones.
    pub rules: Rules,
    /// Members that are no part of the comparison, as JSON pointers.
    pub ignore: Vec<String>,
    /// What to do with a request that differs.
    pub on_diverged: OnDiverged,
}

impl Expect {
    /// The usual rules over `body`.
    pub fn body(body: Value) -> Self {
        Expect { body: Some(body), ..Expect::default() }
    }

    /// These rules and no others.
    #[must_use]
    pub fn with_rules(mut self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.rules = rules.into_iter().collect();
        self
    }
}

/// How near a request comes to what was expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The same JSON.
    Exact,
    /// The same JSON after the named rules.
    #[default]
    Normalized,
}

/// What to do with a request that fits the matcher but is not what was expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDiverged {
    /// Answer 400, and say where it differs.
    #[default]
    Fail,
    /// Answer as the script says; the verdict still counts it.
    Answer,
}
