//! Folds over a valid session log.
//!
//! Useful for: the message history that the model was sent, at any point; what a resume would append to a log, and what a
//! fork of it begins with. Not for: deciding whether a log is valid (`dshlog_codec::check`), writing one, or showing
//! anything.

pub mod closer;
pub mod fork;
pub mod history;
mod new_event;
pub mod resume;
#[cfg(test)]
mod testing;

pub use fork::{ForkPoint, Seed};
pub use history::{History, HistoryError, Node};
pub use new_event::NewEvent;
pub use resume::{Resume, Resumed};
