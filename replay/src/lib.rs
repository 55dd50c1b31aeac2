//! Folds over a valid session log.
//!
//! Useful for: what the model was sent at any point of a log, what a resume would append to it, and what a fork of it
//! begins with. Not for: deciding whether a log is valid (`dshlog_codec::check`), writing one, or showing anything.

pub mod closer;
pub mod estimate;
pub mod fork;
pub mod history;
mod new_event;
pub mod request;
pub mod resume;
#[cfg(test)]
mod testing;

pub use fork::{ForkPoint, Seed};
pub use history::{History, HistoryError, Node};
pub use new_event::NewEvent;
pub use request::{Position, Positions, Request, Requests};
pub use resume::{Resume, Resumed};
