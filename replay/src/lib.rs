//! Folds over a valid session log.
//!
//! Useful for: the message history that the model was sent, at any point, and the requests that were made. Not for:
//! deciding whether a log is valid (`dshlog_codec::check`), or showing anything.

pub mod estimate;
pub mod history;
pub mod request;

pub use history::{History, HistoryError, Node};
pub use request::{Position, Positions, Request, Requests};
