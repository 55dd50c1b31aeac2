//! What the server is told: which requests to wait for, and what to answer. `docs/script.md` explains the form to people,
//! `docs/script.schema.json` to programs.
//!
//! A script knows no dialect: its blocks become Messages or Chat Completions as the request asks. It is TOML or JSON, or
//! built from these types.

mod exchange;
mod load;
mod response;
mod text;
mod validate;

pub use exchange::{
    Conversation, Exchange, Expect, JsonIs, Level, Matcher, OnDiverged, ResultIs, Side, Times,
};
pub use load::ScriptError;
pub use response::{
    After, ApiError, Block, Body, Chunks, Fault, Framing, Headers, How, Message, Omit, Pace, Part, Response,
    Stop, Usage, WaitFor, Write,
};
pub use text::{HeaderIs, TextIs};
pub use validate::Problem;

use serde::Deserialize;

/// A list of exchanges.
///
/// ```
/// # use dshlog_fixture_server::Script;
/// let script = Script::from_toml(r#"
///     [[exchanges]]
///     match = { last_user = { contains = "hello" } }
///     respond.message.blocks = [{ type = "text", text = "Hello to you." }]
/// "#)?;
/// assert_eq!(script.exchanges.len(), 1);
/// # Ok::<(), dshlog_fixture_server::ScriptError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Script {
    /// What reports call it.
    pub name: String,
    /// How requests of one conversation are known.
    pub conversation: Conversation,
    /// The exchanges, in order. Those of one lane are served strictly in this order.
    pub exchanges: Vec<Exchange>,
    /// Rules for side requests, such as titles; the first that fits answers, at any time.
    pub side: Vec<Side>,
}

impl Script {
    /// True when some exchange names a lane. Without lanes all conversations share one queue.
    pub(crate) fn has_lanes(&self) -> bool {
        self.exchanges.iter().any(|exchange| exchange.lane.is_some())
    }
}
