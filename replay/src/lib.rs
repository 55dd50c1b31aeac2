//! Folds over a valid session log.
//!
//! Useful for: the message history that the model was sent, at any point, the requests that were made, and what is
//! different in two sessions. Not for: deciding whether a log is valid (`dshlog_codec::check`), or showing anything.

pub mod compare;
pub mod history;
pub mod request;

pub use history::{History, HistoryError, Node};
pub use request::{Position, Positions, Request, Requests};
