//! What an export holds beside the entries of the transcript, from one walk over the log: how its turns, steps and
//! requests went, and what the model no longer sees. Memory is a few words for each of them, no payloads.
//!
//! The entries themselves come from [`crate::transcript::Fold`], on a second walk.

mod images;
mod outline;

pub(crate) use images::Images;
pub(crate) use outline::{Child, Ended, Outline, Request, Span, Step, Turn};
