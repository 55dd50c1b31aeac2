//! The conversation with a model's endpoint, in both dialects (`docs/spec/messages-wire.md`).
//!
//! | module | what |
//! |---|---|
//! | [`chunk`], [`failure`] | what an answer is made of, in no dialect |
//! | [`mod@pack`] | chunks out of a recorded stream, and back |
//! | [`assemble`] | content, usage and replay state of a message out of chunks |
//! | [`sse`] | the framing of event streams |
//! | [`answer`] | an answer becomes chunks, as it comes: status, headers, bytes cut anywhere |
//! | [`served`] | one response with all that a client can tell apart, as a value |
//! | [`recording`] | the answers that a log records |
//! | [`script`] | what to serve so that a client records a stream again |
//! | [`mod@lenient`] | what two dialects have in common of one answer |
//! | `messages`, `chat` | the two dialects, each with its reader, its writer and its classes of failures |
//! | `wording`, `head` | what words and headers of an error tell |
//!
//! Nothing here opens a connection: bytes come in and go out.

pub mod answer;
pub mod assemble;
mod chat;
pub mod chunk;
pub mod failure;
pub mod head;
pub mod lenient;
mod messages;
pub mod pack;
pub mod recording;
pub mod script;
pub mod served;
pub mod sse;
mod wording;

pub use answer::{AnswerReader, BodyEnd, Dialect, Route};
pub use assemble::Assembler;
pub use chunk::{Block, BlockKind, Chunk, Count, Finish, OddChunk, Reason, ReplayBlock, ReplayState, Usage};
pub use failure::Failure;
pub use head::Head;
pub use lenient::lenient;
pub use pack::{OddStream, Packer, expand, pack};
pub use recording::{Recording, Recordings, summary_answer, title_answer};
pub use script::{Fidelity, Recorded, Unrepresentable, Why, respond};
pub use served::{End, Framing, Served, Write};
