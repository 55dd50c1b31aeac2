//! Folds over a valid session log, and an agent that writes one.
//!
//! Useful for: what the model was sent at any point of a log, the states that dsh keeps beside it, what it cost, what a
//! resume would append, what a fork begins with, what is different in two sessions; for running a session again, or a fresh
//! one ([`agent`]), and for judging agents by recorded sessions ([`scenario`], [`runner`]). Not for: deciding whether a log is valid (`dshlog_codec::check`), putting one into a home, or showing
//! anything.

pub mod agent;
pub mod closer;
pub mod compare;
pub mod estimate;
pub mod fork;
pub mod history;
pub mod inbox;
pub mod lineage;
mod new_event;
pub mod projection;
pub mod request;
pub mod resume;
pub mod runner;
pub mod scenario;
pub mod script;
pub mod stats;
pub mod stream;
pub mod surface;
#[cfg(test)]
mod testing;
pub mod wire;

pub use fork::{ForkPoint, Seed};
pub use history::History;
pub use new_event::NewEvent;
pub use request::{Position, Positions, Request, Requests};
pub use resume::{Resume, Resumed};
pub use surface::{HistoryError, Node, Surface};
