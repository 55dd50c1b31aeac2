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
mod order;
mod references;
mod retry;
mod rule;
mod scalar;
mod session;
pub mod shapes;
mod surface;
#[cfg(test)]
mod tests;
mod v3;
mod vocabulary;

use crate::at::At;
use crate::error::{Error, ErrorKind};
use crate::event::Event;
use crate::header::Header;
use crate::json::Js;
use crate::types::Seq;

pub use admission::admit_v4;
pub use admission_v3::admit_v3;
pub use facts::check_catalog_fact;
pub use fault::RuleFault;
pub use order::{NoStretch, NodeOrder};
pub use rule::Rule;
pub use v3::CheckerV3;
pub use vocabulary::{EventType, is_retired};

use facts::Facts;
pub(crate) use fault::{refuse, shown};

use fault::shortened;
use lifecycle::Lifecycle;
use session::Session;

/// What a [`Checker`] found.
#[derive(Debug)]
pub struct Verdict {
    /// The first fault that the official storage reader raises: it hands out no event of such a log.
    pub storage: Option<Error>,
    /// When that is an unknown required type ([`Rule::is_unknown_type`]): the first other fault, for readers that pass
    /// over such events.
    pub behind_unknown: Option<Error>,
    /// The first fault that only a session raises: the events can be read, but no session opens on them. Of interest
    /// when there is no other fault.
    pub session: Option<Error>,
    /// Surface nodes at the end, in order; when there is a fault, up to where the machine stopped.
    pub surface: Vec<Seq>,
}

/// Stages C to E over the events of a V4 log, in one pass.
///
/// Each stage goes on to its own first fault, and [`Checker::finish`] names the one that the official storage reader
/// comes to first. That is the order of the stages, but for unknown types: it looks for them behind D.
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
        let (lifecycle, surface) = self.lifecycle.finish();
        let (stored, session) = self.session.finish();
        let known = check_cut(self.is_seeded, cut, self.events)
            .or(self.admission)
            .or_else(|| check_marker(self.is_seeded, cut, self.marker))
            .or_else(|| self.facts.finish(cut))
            .or(lifecycle);
        // The catalog of formats looks for unknown types in stage C, the storage reader between D and E.
        let (storage, behind_unknown) = match (known, self.unknown) {
            (Some(fault), _) => (Some(fault), None),
            (None, Some(unknown)) => (Some(unknown), stored),
            (None, None) => (stored, None),
        };
        Verdict { storage, behind_unknown, session, surface }
    }
}

fn unknown(event: &Event<'_>) -> Error {
    let rule = if is_retired(event.kind) { Rule::RetiredType } else { Rule::UnknownType };
    let detail = shortened(&event.kind.to_lossy());
    RuleFault { rule, pointer: "/type".to_owned(), detail }.at(event.at())
}

fn check_cut(is_seeded: bool, cut: u64, events: u64) -> Option<Error> {
    let good = cut <= events && (is_seeded || cut == 0);
    (!good).then(|| {
        ErrorKind::Rule { rule: Rule::CutBeyondLog, detail: format!("{cut} of {events} events") }.into()
    })
}

/// The last inherited marker stands at the cut, and only seeded logs have one.
fn check_marker(is_seeded: bool, cut: u64, marker: Option<At>) -> Option<Error> {
    let (rule, at) = match (is_seeded, marker) {
        (true, None) => (Rule::SeedWithoutMarker, At::default()),
        (false, Some(at)) => (Rule::MarkerWithoutSeed, at),
        (true, Some(at)) if at.seq != Some(Seq(cut)) => (Rule::MarkerElsewhere, at),
        _ => return None,
    };
    Some(ErrorKind::Rule { rule, detail: String::new() }.at(at))
}
