//! Chunks out of a recorded stream, and a stream out of chunks (`docs/spec/messages-wire.md`, 9).

use dshlog_codec::Millis;
use dshlog_codec::json::{Js, JsStr, Tape};
use dshlog_codec::pack::{self, Compactor, DeltaKind, Fault};

use super::chunk::{Chunk, OddChunk};

/// A stream that no producer writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("chunk {number} of the stream: {fault}")]
pub struct OddStream {
    /// Which chunk, from 0.
    pub number: usize,
    /// Which rule it breaks.
    pub fault: OddChunk,
}

/// All chunks of the member `stream` of a message or an attempt, each with the time at which it came.
///
/// # Errors
/// A chunk that no producer writes. Then there is no stream, not a part of one.
pub fn expand(stream: Js<'_>) -> Result<Vec<(Millis, Chunk)>, OddStream> {
    let odd = |number, fault| OddStream { number, fault };
    let chunks = pack::expand(stream).map_err(|fault| odd(0, OddChunk(fault)))?;
    let typed = chunks.enumerate().map(|(number, chunk)| {
        let (time, chunk) = chunk.map_err(|fault| odd(number, OddChunk(fault)))?;
        Ok((time, typed(&chunk).map_err(|fault| odd(number, fault))?))
    });
    typed.collect()
}

fn typed(chunk: &pack::Chunk<'_>) -> Result<Chunk, OddChunk> {
    match chunk {
        pack::Chunk::Whole(chunk) => Chunk::read(*chunk),
        pack::Chunk::Delta(run, delta) => {
            let (index, text) = (run.index, delta.text.to_owned());
            Ok(match run.kind {
                DeltaKind::Text => Chunk::TextDelta { index, text },
                DeltaKind::Reasoning => Chunk::ReasoningDelta { index, text },
                DeltaKind::ToolCall => Chunk::ToolCallDelta {
                    index,
                    id: run.id.map(JsStr::to_owned).unwrap_or_default(),
                    name: run.name.map(JsStr::to_owned),
                    arguments: text,
                },
            })
        }
    }
}

/// Makes the member `stream` of a message or an attempt, chunk by chunk.
#[derive(Debug, Default)]
pub struct Packer {
    compactor: Compactor,
    /// One chunk as text and its parse; kept so that their memory serves the next one.
    text: Vec<u8>,
    tape: Tape,
}

impl Packer {
    /// An empty stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// True when no chunk has come yet.
    pub fn is_empty(&self) -> bool {
        self.compactor.is_empty()
    }

    /// Append a chunk that came at this time.
    ///
    /// # Errors
    /// A number that a stream cannot hold: an index beyond the safe integers, or one that is not finite.
    pub fn push(&mut self, time: Millis, chunk: &Chunk) -> Result<(), Fault> {
        self.text.clear();
        chunk.print(&mut self.text);
        // The printer writes lone surrogates as escapes, so this is always UTF-8.
        let text = std::str::from_utf8(&self.text).unwrap_or_default();
        self.tape.parse_printed(text).map_err(|error| error.what)?;
        let chunk = Js::root(text, &self.tape).ok_or("a chunk that does not read back")?;
        self.compactor.push(time, chunk)
    }

    /// Append the stream, an array. The packer is empty again.
    pub fn print(&mut self, out: &mut Vec<u8>) {
        self.compactor.print(out);
    }
}

/// The member `stream` of these chunks, as the runtime prints it.
///
/// # Errors
/// As [`Packer::push`].
pub fn pack<'c>(chunks: impl IntoIterator<Item = (Millis, &'c Chunk)>) -> Result<Vec<u8>, Fault> {
    let mut packer = Packer::new();
    for (time, chunk) in chunks {
        packer.push(time, chunk)?;
    }
    let mut out = Vec::new();
    packer.print(&mut out);
    Ok(out)
}
