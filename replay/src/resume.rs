//! What dsh would append to a log when it opens the session again (`docs/spec/surface.md`, sections 8 and 9.2).

use dshlog_codec::{Event, Millis, Seq};

use crate::closer::{Cause, Open, OpenTail};
use crate::new_event::NewEvent;

/// Follows a log to its end.
#[derive(Clone, Debug, Default)]
pub struct Resume {
    tail: OpenTail,
    last: Option<Last>,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    seq: Seq,
    time: Millis,
    is_end_seed: bool,
}

/// What would be appended, in order.
#[derive(Debug)]
pub struct Resumed {
    /// What they close.
    pub open: Option<Open>,
    /// The events that close it, with the time of the last event of the log. A reader that only looks at the session adds
    /// these in memory.
    pub closers: Vec<NewEvent>,
    /// The mark behind all that an earlier process wrote. Only who goes on with the session adds it, and only where the log
    /// does not end with one: it has the time of then.
    pub marker: Option<NewEvent>,
}

impl Resume {
    /// In front of the first event.
    pub fn new() -> Self {
        Self::default()
    }

    /// Fold the next event.
    pub fn see(&mut self, event: &Event<'_>) {
        self.tail.see(event);
        let is_end_seed = event.is("session/end-seed");
        self.last = Some(Last { seq: event.seq, time: event.time, is_end_seed });
    }

    /// What is open at the end of the log.
    pub fn open(&self) -> Option<Open> {
        self.tail.open()
    }

    /// What a process would append that opens the session at the time `now`.
    pub fn finish(&self, now: Millis) -> Resumed {
        let next = self.last.map_or(0, |last| last.seq.0 + 1);
        let time = self.last.map_or(now, |last| last.time);
        let closers = self.tail.closers(Cause::Interrupted, Seq(next), time);
        let ends_with_mark = closers.is_empty() && self.last.is_some_and(|last| last.is_end_seed);
        let behind = Seq(next + closers.len() as u64);
        let marker = (!ends_with_mark).then(|| NewEvent::end_seed(behind, now, false));
        Resumed { open: self.open(), closers, marker }
    }
}

impl Resumed {
    /// All of it.
    pub fn events(&self) -> impl Iterator<Item = &NewEvent> {
        self.closers.iter().chain(&self.marker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::see_all;

    /// Section 9.2, the rows of the table on markers that a restore can come to.
    #[test]
    fn a_mark_is_added_unless_the_log_ends_with_one() {
        const START: &str = r#"{"type":"turn/start","seq":0,"time":5,"data":{"turn":1}}"#;
        const END: &str =
            r#"{"type":"turn/end","seq":1,"time":6,"data":{"turn":1,"reason":{"kind":"completed"}}}"#;
        const PLAIN: &str = r#"{"type":"session/end-seed","seq":2,"time":7,"data":{}}"#;
        const INHERITED: &str = r#"{"type":"session/end-seed","seq":2,"time":7,"data":{"inherited":true}}"#;
        const MARK_IN_TURN: &str = r#"{"type":"session/end-seed","seq":1,"time":6,"data":{}}"#;
        for (log, closers, marker) in [
            (&[][..], 0, Some((0, 99))),
            (&[START], 1, Some((2, 99))),
            (&[START, END], 0, Some((2, 99))),
            (&[START, END, PLAIN], 0, None),
            (&[START, END, INHERITED], 0, None),
            // The last event is the closer then.
            (&[START, MARK_IN_TURN], 1, Some((3, 99))),
        ] {
            let mut resume = Resume::new();
            see_all(log, |event| resume.see(event));
            let resumed = resume.finish(Millis(99));
            let mark = resumed.marker.as_ref().map(|mark| (mark.event().seq.0, mark.event().time.0));
            assert_eq!((resumed.closers.len(), mark), (closers, marker), "{log:?}");
            assert!(resumed.closers.iter().all(|closer| closer.event().time.0 < 99), "{log:?}");
        }
    }
}
