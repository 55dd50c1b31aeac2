//! HTTP/1 as a test double needs it: every byte, chunk boundary, pause and reset of an answer is the script's.
//!
//! Requests are read with limits and patience, one after the other from a connection; answers are [`Plan`]s that are
//! written as they stand. What no server library would do is what a client must survive.

mod chunked;
mod connection;
mod head;
mod plan;
mod send;

pub use head::Head;
pub use plan::Limits;

pub(crate) use connection::{Connection, Received, Refusal};
pub(crate) use plan::{Ending, HeadPlan, Plan, Step, header, reason};
pub(crate) use send::{Sent, SentEnd};
