//! Migration of session logs between format generations.
//!
//! Useful for: carrying a log of V0 to V3 to the current format with the result of the official reader. Not for:
//! reading (`dshlog_codec`), or showing anything.
//!
//! One module holds one adjacent step, an [`Edge`]; a [`Chain`] runs the steps in a row over one event at a time.

mod chain;
mod edge;

pub use chain::{Chain, ChainError, Sink};
pub use edge::{Edge, Out, Refusal, RefusalClass};
