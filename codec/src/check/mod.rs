//! Whether events may stand where they stand: payloads, relations and the surface (`docs/spec/events-v4.md`,
//! `docs/spec/surface.md`).
//!
//! [`admit_v4`] and [`admit_v3`] are stage A, for readers of rows. A [`Checker`] makes the stages behind the decoder,
//! C to E, in one pass over the events of a V4 log. It keeps ids, seqs and digests, never payload text.

mod admission;
mod admission_v3;
mod calls;
mod compaction;
mod facts;
mod fault;
mod lifecycle;
mod message;
mod references;
mod retry;
mod rule;
mod scalar;
mod session;
mod surface;
#[cfg(test)]
mod tests;
mod vocabulary;

use crate::at::At;
use crate::error::{Error, ErrorKind};
use crate::event::Event;
use crate::header::Header;
use crate::json::Js;
use crate::types::Seq;

pub use admission::admit_v4;
pub use admission_v3::admit_v3;
pub use fault::RuleFault;
pub use rule::{Rule, Stage};
pub use vocabulary::{EventType, is_retired};

use facts::Facts;
use fault::shortened;
use lifecycle::Lifecycle;
use session::Session;

/// What a [`Checker`] found.
#[derive(Debug)]
pub struct Verdict {
    /// The first fault that the official storage reader raises: it hands out no event of such a log.
    pub storage: Option<Error>,
    /// The same without unknown required types ([`Rule::is_unknown_type`]), for readers that pass over those.
    pub known: Option<Error>,
    /// The first fault that only a session raises: the events can be read, but no session opens on them. Nothing
    /// when there is a fault in [`Verdict::known`].
    pub session: Option<Error>,
    /// Surface nodes at the end, in order; up to the first fault when there is one.
    pub surface: Vec<Seq>,
}

/// Stages C to E over the events of a V4 log, in one pass.
///
/// Each stage goes on to its own first fault, and [`Checker::finish`] names the one of the first stage.
#[derive(Debug)]
pub struct Checker {
    is_seeded: bool,
    admits: bool,
    events: u64,
    marker: Option<At>,
    unknown: Option<Error>,
    admission: Option<Error>,
    facts: Facts,
    lifecycle: Lifecycle,
    session: Session,
}

impl Checker {
    /// For events whose rows passed [`admit_v4`], as those of a reader have.
    pub fn new(header: &Header) -> Self {
        Self {
            is_seeded: header.is_seeded,
            admits: false,
            events: 0,
            marker: None,
            unknown: None,
            admission: None,
            facts: Facts::new(header),
            lifecycle: Lifecycle::new(),
            session: Session::default(),
        }
    }

    /// For events that no V4 reader has seen, as those of a migration: makes [`admit_v4`] part of stage C.
    pub fn with_admission(header: &Header) -> Self {
        Self { admits: true, ..Self::new(header) }
    }

    /// Take the next event.
    pub fn see(&mut self, event: &Event<'_>) {
        self.events += 1;
        let Some(kind) = EventType::of(event.kind) else {
            if !event.ignorable && self.unknown.is_none() {
                self.unknown = Some(unknown(event));
            }
            return;
        };
        if self.admits
            && self.admission.is_none()
            && let Err(fault) = admit_v4(event.row)
        {
            self.admission = Some(fault.at(event.at()));
        }
        if kind == EventType::EndSeed && event.member("inherited").is_some_and(Js::is_true) {
            self.marker = Some(event.at());
        }
        self.facts.see(event, kind);
        if let Some(change) = self.lifecycle.see(event, kind) {
            self.session.see(event, kind, &change);
        }
    }

    /// The verdict on a log whose inherited part has `cut` events.
    pub fn finish(self, cut: u64) -> Verdict {
        let count = release_count(self.is_seeded, cut, self.events);
        let marker = release_marker(self.is_seeded, cut, self.marker);
        let (lifecycle, surface) = self.lifecycle.finish();
        let (stored, session) = self.session.finish();
        let relations = self.facts.finish(cut).or(lifecycle).or(stored);
        let behind = marker.or(relations);
        // The counts are looked at first, then each event, then the marker.
        let (storage, known) = match (count, self.unknown, self.admission) {
            (None, None, None) => (behind.as_ref().map(Error::copy), behind),
            (count, unknown, admission) => {
                let known = count.or(admission).or(behind);
                let first = match (unknown, &known) {
                    (Some(unknown), Some(known)) if known.is_before(&unknown) => known.copy(),
                    (Some(unknown), _) => unknown,
                    (None, _) => return Verdict { storage: None, known, session: None, surface },
                };
                (Some(first), known)
            }
        };
        let session = if known.is_none() { session } else { None };
        Verdict { storage, known, session, surface }
    }
}
