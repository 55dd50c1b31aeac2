//! Migration of session logs between format generations.
//!
//! Useful for: carrying a log of V0 to V3 to the current format with the result of the official reader. Not for:
//! reading (`dshlog_codec`), or showing anything.
//!
//! One module holds one adjacent step, an [`Edge`]; a [`Chain`] runs the steps in a row over one event at a time.

mod chain;
mod edge;
mod fault;
#[cfg(test)]
mod testing;
mod v0_to_v1;
mod v1_to_v2;

pub use chain::{Chain, ChainError, Sink};
pub use edge::{Edge, Out, Refusal, RefusalClass};
pub use v0_to_v1::V0ToV1;
pub use v1_to_v2::{SourceKind, V1ToV2};
