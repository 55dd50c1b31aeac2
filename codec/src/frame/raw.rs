//! Raw logs: the file is the text.

use super::{CHUNK, Chunk, Chunks};
use crate::error::Result;
use crate::source::Source;

/// The chunk with the header is short, since often nothing else is wanted.
const FIRST_CHUNK: usize = 8 << 10;

pub(crate) struct RawChunks {
    source: Source,
    at: u64,
}

impl RawChunks {
    pub(crate) fn new(source: Source, at: u64) -> Self {
        RawChunks { source, at }
    }
}

impl Chunks for RawChunks {
    fn fill(&mut self, chunk: &mut Chunk) -> Result<bool> {
        chunk.bytes.resize(if self.at == 0 { FIRST_CHUNK } else { CHUNK }, 0);
        let n = self.source.read_at(&mut chunk.bytes, self.at)?;
        chunk.bytes.truncate(n);
        self.at += n as u64;
        Ok(n > 0)
    }
}
