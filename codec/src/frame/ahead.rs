//! Decompression on a thread of its own, a few chunks ahead of the parser.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use super::{Chunk, Chunks};
use crate::error::{ErrorKind, Result};

/// Chunks in flight. Few, since each is memory; more than one, so that neither side waits for a single slow chunk.
const DEPTH: usize = 4;

/// Runs another source of chunks on a thread.
pub(crate) struct Ahead {
    /// Chunks, then once nothing or an error. Gone after that.
    full: Option<Receiver<Result<Option<Chunk>>>>,
    empty: Sender<Chunk>,
    worker: Option<JoinHandle<()>>,
}

impl Ahead {
    pub(crate) fn new(chunks: impl Chunks + 'static) -> std::io::Result<Self> {
        let (give, full) = sync_channel(DEPTH);
        let (empty, take) = channel();
        let worker = std::thread::Builder::new()
            .name("decompress".into())
            .spawn(move || produce(chunks, &give, &take))?;
        Ok(Ahead { full: Some(full), empty, worker: Some(worker) })
    }
}

fn produce(mut chunks: impl Chunks, give: &SyncSender<Result<Option<Chunk>>>, take: &Receiver<Chunk>) {
    loop {
        let mut chunk = take.try_recv().unwrap_or_default();
        chunk.clear();
        let message = match chunks.fill(&mut chunk) {
            Ok(true) => Ok(Some(chunk)),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        let last = !matches!(message, Ok(Some(_)));
        // The reader went away: nobody wants the rest.
        if give.send(message).is_err() || last {
            return;
        }
    }
}

impl Chunks for Ahead {
    fn fill(&mut self, chunk: &mut Chunk) -> Result<bool> {
        let Some(full) = &self.full else { return Ok(false) };
        match full.recv() {
            Ok(Ok(Some(next))) => {
                let used = std::mem::replace(chunk, next);
                // A worker that has ended needs no buffers.
                let _ = self.empty.send(used);
                Ok(true)
            }
            Ok(Ok(None)) => {
                self.full = None;
                Ok(false)
            }
            Ok(Err(error)) => {
                self.full = None;
                Err(error)
            }
            // Never mistake a dead worker for the end of the log.
            Err(gone) => {
                Err(ErrorKind::Io { action: "decompress", source: std::io::Error::other(gone) }.into())
            }
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.full = None;
        if let Some(worker) = self.worker.take() {
            // A panic there has already been reported; there is nothing to add while dropping.
            let _ = worker.join();
        }
    }
}
