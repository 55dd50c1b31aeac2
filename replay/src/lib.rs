//! Folds over a valid session log.
//!
//! Useful for: the message history that the model was sent, at any point ([`History`]); which events it is made of, and
//! why ([`Surface`]); the state of what dsh and its plugins keep in a log, such as todos, goal and inbox ([`projection`]).
//! Not for: deciding whether a log is valid (`dshlog_codec::check`), or showing anything.

pub mod history;
pub mod projection;
pub mod surface;

pub use history::History;
pub use surface::{HistoryError, Node, Surface};
