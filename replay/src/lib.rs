//! Folds over a valid session log.
//!
//! Useful for: the message history that the model was sent, at any point; what a log cost; how sessions descend from each
//! other. Not for: deciding whether a log is valid (`dshlog_codec::check`), or showing anything.

pub mod history;
pub mod lineage;
pub mod stats;

pub use history::{History, HistoryError, Node};
