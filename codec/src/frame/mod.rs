//! Containers: from the bytes of a file to chunks of plain text (`docs/spec/storage.md`, sections 6 and 7).
//!
//! A chunk knows where the frames in it begin. Nothing here knows of lines or JSON.

mod ahead;
mod raw;
mod scan;
mod zstd;

pub(crate) use ahead::Ahead;
pub(crate) use raw::RawChunks;
pub(crate) use scan::{FrameLayout, scan_frames, scan_on, scan_to_fault};
pub(crate) use zstd::{TornFrame, ZstdChunks, header_frame};

use crate::error::Result;

/// Plain text is handed on in pieces of about this size.
pub(crate) const CHUNK: usize = 256 << 10;

/// A piece of plain text.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    pub(crate) bytes: Vec<u8>,
    /// Frames that begin in this piece, in order.
    pub(crate) marks: Vec<Mark>,
}

/// Begin of a frame inside a chunk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    /// Offset in the chunk.
    pub(crate) at: usize,
    /// Number of the frame, from 1.
    pub(crate) frame: u64,
    /// Offset of the frame in the file.
    pub(crate) byte: u64,
}

impl Chunk {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.marks.clear();
    }
}

/// Hands out plain text piece by piece.
pub(crate) trait Chunks: Send {
    /// Fill an empty chunk. False at the end; then the chunk stays empty.
    fn fill(&mut self, chunk: &mut Chunk) -> Result<bool>;
}
