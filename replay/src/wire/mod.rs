//! The conversation with a model's endpoint, in both dialects (`docs/spec/messages-wire.md`).
//!
//! | module | what |
//! |---|---|
//! | [`chunk`], [`failure`] | what an answer is made of, in no dialect |
//! | [`pack`] | chunks out of a recorded stream, and back |
//! | [`sse`] | the framing of event streams |
//!
//! Nothing here opens a connection: bytes come in and go out.

pub mod chunk;
pub mod failure;
pub mod pack;
pub mod sse;

pub use chunk::{Block, BlockKind, Chunk, Count, Finish, OddChunk, Reason, ReplayBlock, ReplayState, Usage};
pub use failure::Failure;
pub use pack::{OddStream, Packer, expand, pack};
