//! Migration of session logs between format generations.
//!
//! Useful for: carrying a log of V0 to V3 to the current format with the result of the official reader. Not for:
//! reading (`dshlog_codec`), or showing anything.
//!
//! One module holds one adjacent step, an [`Edge`]; a [`Chain`] runs the steps in a row over one event at a time;
//! [`migrate_in_memory`] is the whole way of a log, and [`children`] finds what the last step must be told. [`Overlap`]
//! compares generations of one session, and [`rewrite`] publishes new sessions.

mod chain;
pub mod children;
pub mod codes;
mod deviation;
mod edge;
mod fault;
mod job;
mod judge;
mod kin;
mod overlap;
mod problem;
mod publish;
pub mod rewrite;
mod run;
mod shift;
#[cfg(test)]
mod testing;
mod v0_to_v1;
mod v1_to_v2;
mod v2_to_v3;
mod v3_to_v4;
pub mod vfs;

pub use chain::{Chain, ChainError, Sink};
pub use deviation::Deviation;
pub use edge::{Edge, Out, Refusal, RefusalClass};
pub use job::{Migrator, Outcome, Report, Watch};
pub use kin::Kin;
pub use overlap::{Disagreement, Overlap};
pub use problem::{Problem, Step};
pub use publish::Published;
pub use run::{Done, Migrated, Run, RunError, migrate_in_memory, unfit};
pub use v0_to_v1::V0ToV1;
pub use v1_to_v2::{SourceKind, V1ToV2};
pub use v2_to_v3::V2ToV3;
pub use v3_to_v4::V3ToV4;
