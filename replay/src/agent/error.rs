//! What can go wrong that is no part of any session.

use dshlog_codec::Seq;
use dshlog_codec::json::JsonError;

use crate::surface::HistoryError;

/// Why the agent cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// What is to be written does not fold.
    #[error("the history does not fold")]
    History(#[from] HistoryError),
    /// A splice that does not fit what waits.
    #[error("event {seq}: {what}")]
    Inbox {
        /// The event.
        seq: Seq,
        /// What does not fit.
        what: String,
    },
    /// A stream holds what no stream may hold.
    #[error("event {seq}: {what} in the stream")]
    Stream {
        /// Where its settlement would stand.
        seq: Seq,
        /// What is wrong.
        what: &'static str,
    },
    /// A request without a configuration.
    #[error("event {seq}: nothing says which model is to be asked")]
    NoHeader {
        /// Where the header would stand.
        seq: Seq,
    },
    /// A request of whose model nothing is known, not even its name.
    #[error("event {seq}: nothing says what the model can do")]
    NoContext {
        /// Where the context would stand.
        seq: Seq,
    },
    /// A value does not read back.
    #[error("a value does not read back")]
    Unreadable(#[from] JsonError),
    /// The log cannot be written.
    #[error("cannot write the log")]
    Write(#[from] std::io::Error),
}
