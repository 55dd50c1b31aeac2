//! Whether the official writer would publish a log: one rule for the events that are carried over and for the file that they
//! were written to.

use dshlog_codec::check::Checker;
use dshlog_codec::stream::check_stream;
use dshlog_codec::{Error, Event};

/// Judges the events of a log of the current format by all rules: those of its storage, those that only a session asks, and
/// that every recorded stream amounts to its message, which nobody asks of a log that is only read
/// (`docs/spec/storage.md`, 13.2).
pub(crate) struct Judge {
    checker: Checker,
    /// Asks for the streams, too.
    streams: bool,
    /// The first stream that does not.
    stream: Option<Error>,
}

impl Judge {
    pub(crate) fn new(checker: Checker) -> Judge {
        Judge { checker, streams: true, stream: None }
    }

    /// For events that are only copied: dsh never asks for the streams of a current log.
    pub(crate) fn without_streams(checker: Checker) -> Judge {
        Judge { streams: false, ..Judge::new(checker) }
    }

    pub(crate) fn see(&mut self, event: &Event<'_>) {
        self.checker.see(event);
        if self.streams && self.stream.is_none() {
            self.stream = check_stream(event).err();
        }
    }

    /// The fault that the official writer would name.
    pub(crate) fn finish(self, cut: u64) -> Result<(), Error> {
        let verdict = self.checker.finish(cut);
        verdict.storage.or(verdict.session).or(self.stream).map_or(Ok(()), Err)
    }
}
