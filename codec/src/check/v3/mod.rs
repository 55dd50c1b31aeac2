//! Whether the events of a V3 log may stand where they stand (`docs/spec/events-v0-v3.md`, section 11.3).
//!
//! The official reader asks this only when it reads a child of a session that it migrates; the migrated log itself is
//! judged by the rules of V4, which are close to these, but not the same.

mod calls;
mod head;
mod references;
mod relations;
mod retries;

use crate::at::At;
use crate::error::Error;
use crate::event::Event;
use crate::header::Header;
use crate::json::Js;
use crate::types::Generation;

use super::vocabulary::EventType;
use super::{Verdict, check_cut, check_marker, unknown};

use head::Head;
use relations::Relations;

#[cfg(test)]
mod tests;

const V3: Generation = Generation(3);

/// The final checks on the events of a V3 log, in one pass. It keeps ids, seqs and digests, never payload text.
///
/// The official reader makes two passes, and a fault that the first one finds late wins over one that the second one
/// finds early; [`CheckerV3::finish`] does the same.
#[derive(Debug)]
pub struct CheckerV3 {
    is_seeded: bool,
    events: u64,
    marker: Option<At>,
    unknown: Option<Error>,
    head: Head,
    relations: Relations,
}

impl CheckerV3 {
    /// For events whose rows passed the reader, or the step from V2: what V3 asks of each event by itself (section 11.2)
    /// holds for them.
    pub fn new(header: &Header) -> Self {
        Self {
            is_seeded: header.is_seeded,
            events: 0,
            marker: None,
            unknown: None,
            head: Head::default(),
            relations: Relations::new(header),
        }
    }

    /// Take the next event.
    pub fn see(&mut self, event: &Event<'_>) {
        self.events += 1;
        let Some(kind) = EventType::of(event.kind).filter(|kind| kind.is_known_to(V3)) else {
            if !event.ignorable && self.unknown.is_none() {
                self.unknown = Some(unknown(event));
            }
            return;
        };
        if kind == EventType::EndSeed && event.member("inherited").is_some_and(Js::is_true) {
            self.marker = Some(event.at());
        }
        self.head.see(event, kind);
        self.relations.see(event, kind);
    }

    /// The verdict on a log whose inherited part has `cut` events. There is no [`Verdict::session`]: no session was
    /// ever opened on V3 by a reader that migrates.
    pub fn finish(self, cut: u64) -> Verdict {
        let (relations, surface) = self.relations.finish(cut);
        let marker = check_marker(self.is_seeded, cut, self.marker);
        let first = self.head.finish().or(check_cut(self.is_seeded, cut, self.events));
        let rest = marker.or(relations);
        let (storage, behind_unknown) = match (first, self.unknown) {
            (None, Some(unknown)) => (Some(unknown), rest),
            (first, _) => (first.or(rest), None),
        };
        Verdict { storage, behind_unknown, session: None, surface }
    }
}
