//! A model service for tests of agents that says what a script says, byte for byte, and checks what it is asked.
//!
//! It speaks Messages (dsh from 0.2 on) and Chat Completions (before) over HTTP/1 on the loopback interface. A [`Script`]
//! is a list of exchanges: what the next request must be like, and what is answered: blocks of a model in given pieces,
//! raw events, HTTP errors, pauses, cuts, resets, stalls. A request that fits nowhere is refused with a report of what
//! came nearest. `docs/script.md` explains scripts; `docs/spec/messages-wire.md` is the contract of the wire.
//!
//! ```
//! use dshlog_fixture_server::{FixtureServer, Script};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let script = Script::from_toml(r#"
//!     [[exchanges]]
//!     match.last_user.contains = "list the files"
//!     [[exchanges.respond.message.blocks]]
//!     type = "tool_use"
//!     id = "call_1"
//!     name = "bash"
//!     input = { command = "ls" }
//!
//!     [[exchanges]]
//!     match.results = [{ tool_use_id = "call_1", is_error = false }]
//!     respond.message.blocks = [{ type = "text", text = "Two files." }]
//! "#)?;
//! let server = FixtureServer::spawn(script)?;
//! println!("DEEPSEEK_BASE_URL={}", server.url());
//! let verdict = server.stop();
//! assert!(!verdict.is_good(), "nobody asked for anything");
//! # Ok(())
//! # }
//! ```
//!
//! With the feature `forward`, `forward::Forwarder` passes requests on to a real service instead, and keeps what was said, as a
//! script.
//!
//! What it is not: a model, or a judge of session logs. It knows nothing of those.

mod admin;
mod capture;
mod deliver;
mod dialect;
mod error;
#[cfg(feature = "forward")]
pub mod forward;
mod http;
pub mod json;
mod matching;
mod normalize;
pub mod script;
mod server;
mod state;
mod thread;
mod verdict;

pub use capture::{Answer, AnswerEnd, Capture, Fit, Outcome};
pub use dialect::{Call, Dialect, Kind, Role, Said, Seen, ToolResult, View};
pub use error::ServerError;
pub use http::{Head, Limits};
pub use matching::{Mismatch, Nearest, Report, Rung, Waiting};
pub use normalize::{Rule, Rules};
pub use script::{Script, ScriptError};
pub use server::{FixtureServer, Options};
pub use thread::ServerThread;
pub use verdict::Verdict;
