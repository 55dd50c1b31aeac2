//! A run on two threads: one reads and takes the first steps, the caller's takes the rest and hands out the events.
//!
//! Between them go batches of printed rows. Everything that the first half has to say, its errors too, travels behind
//! the rows that came before it, so the caller sees what a run on one thread would show, in the same order.

use std::io;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use dshlog_codec::json::{Tape, Tree};
use dshlog_codec::{ErrorKind, Event, Place};

use super::{RunError, Source, SourceEnd, receiver_stopped};
use crate::chain::{Chain, Sink, Text, with_event};
use crate::edge::Refusal;

/// Bytes of rows from which on a batch is handed over. Few in tests, so that small logs fill many.
const BATCH: usize = if cfg!(test) { 200 } else { 128 << 10 };

/// Batches in flight. Each is memory, and may hold a row as long as a line can be.
const DEPTH: usize = 2;

/// Take `source` through `front` on a thread, and what comes of it through `back` and into `sink` here.
pub(super) fn run(
    source: Source,
    front: Chain,
    back: &mut Chain,
    sink: &mut dyn Sink,
) -> Result<SourceEnd, RunError> {
    let mut ahead = Ahead::start(source, front)?;
    let mut tape = Tape::new();
    loop {
        let mut batch = ahead.next()?;
        // The printer writes lone surrogates as escapes, so this is always UTF-8.
        let text = std::str::from_utf8(&batch.text).unwrap_or_default();
        let mut start = 0;
        for &Row { end, place, is_printed } in &batch.rows {
            let row = text.get(start..end).unwrap_or_default();
            let row = if is_printed { Text::Printed(row) } else { Text::Read(row) };
            with_event(row, &mut tape, place, |event| back.event(event, sink))?;
            start = end;
        }
        match batch.ending.take() {
            None => ahead.give_back(batch),
            Some(ending) => {
                let end = ending?;
                let cut = back.finish(end.cut, sink)?;
                return Ok(SourceEnd { cut, ..end });
            }
        }
    }
}

/// Rows, and behind the last ones how the first half ended.
#[derive(Default)]
struct Batch {
    text: Vec<u8>,
    rows: Vec<Row>,
    ending: Option<Result<SourceEnd, RunError>>,
}

struct Row {
    /// Where it ends in the batch.
    end: usize,
    /// In the source.
    place: Place,
    is_printed: bool,
}

/// The first half of the run.
struct Ahead {
    /// Gone when nobody wants the rest.
    full: Option<Receiver<Batch>>,
    empty: Sender<Batch>,
    worker: Option<JoinHandle<()>>,
}

impl Ahead {
    fn start(mut source: Source, mut front: Chain) -> Result<Ahead, RunError> {
        let (give, full) = sync_channel(DEPTH);
        let (empty, take) = channel();
        let mut rows = Rows { batch: Batch::default(), full: give, empty: take };
        let work = move || {
            let ending = loop {
                match source.advance(&mut front, &mut rows) {
                    Ok(None) => {}
                    Ok(Some(end)) => break Ok(end),
                    Err(error) => break Err(error),
                }
            };
            rows.finish(ending);
        };
        let worker = std::thread::Builder::new().name("first steps".into()).spawn(work);
        let worker = worker.map_err(|source| io_error("start a thread", source))?;
        Ok(Ahead { full: Some(full), empty, worker: Some(worker) })
    }

    fn next(&mut self) -> Result<Batch, RunError> {
        let batch = self.full.as_ref().and_then(|full| full.recv().ok());
        // Never mistake a dead worker for the end of the log.
        batch.ok_or_else(|| io_error("migrate", io::Error::other("the thread of the first steps died")))
    }

    fn give_back(&self, mut batch: Batch) {
        batch.text.clear();
        batch.rows.clear();
        // One long row must not be paid for until the end.
        batch.text.shrink_to(4 * BATCH);
        // A worker that has ended needs no buffers.
        let _ = self.empty.send(batch);
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

fn io_error(action: &'static str, source: io::Error) -> RunError {
    RunError::Read(ErrorKind::Io { action, source }.into())
}

/// Gathers the rows of the first half.
struct Rows {
    batch: Batch,
    full: SyncSender<Batch>,
    empty: Receiver<Batch>,
}

impl Rows {
    /// The text of a row stands at the end of the batch. An error when nobody wants it.
    fn end_row(&mut self, place: Place, is_printed: bool) -> Result<(), Refusal> {
        self.batch.rows.push(Row { end: self.batch.text.len(), place, is_printed });
        if self.batch.text.len() < BATCH {
            return Ok(());
        }
        let next = self.empty.try_recv().unwrap_or_default();
        let batch = std::mem::replace(&mut self.batch, next);
        self.full.send(batch).map_err(|_| receiver_stopped(place))
    }

    fn finish(mut self, ending: Result<SourceEnd, RunError>) {
        self.batch.ending = Some(ending);
        // When the receiver went away, it does not ask how this ended.
        let _ = self.full.send(self.batch);
    }
}

impl Sink for Rows {
    fn see(&mut self, event: &Event<'_>) -> Result<(), Refusal> {
        self.batch.text.extend_from_slice(event.row.raw().as_bytes());
        self.end_row(event.place, event.row.is_printed())
    }

    fn put(&mut self, row: &Tree<'_>, place: Place, _: &mut Vec<u8>, _: &mut Tape) -> Result<(), Refusal> {
        row.print(&mut self.batch.text);
        self.end_row(place, true)
    }
}

#[cfg(test)]
mod tests;
