//! The first pass: the system prompt at the head of the surface.

use crate::error::Error;
use crate::event::Event;
use crate::json::Js;

use super::super::fault::{Check, refuse};
use super::super::rule::Rule;
use super::super::scalar::count;
use super::super::vocabulary::EventType;

/// The pass. It stops at its first fault.
#[derive(Debug, Default)]
pub(super) struct Head {
    /// Turn and step of the open step.
    step: Option<(Option<u64>, Option<u64>)>,
    prompt: Option<u64>,
    has_surface: bool,
    fault: Option<Error>,
}

impl Head {
    pub(super) fn see(&mut self, event: &Event<'_>, kind: EventType) {
        if self.fault.is_none()
            && let Err(fault) = self.check(event, kind)
        {
            self.fault = Some(fault.at(event.at()));
        }
    }

    fn check(&mut self, event: &Event<'_>, kind: EventType) -> Check {
        let place = || (count(event.member("turn")), count(event.member("step")));
        match kind {
            EventType::StepStart => self.step = Some(place()),
            EventType::StepEnd | EventType::TurnEnd => self.step = None,
            EventType::SystemMessage => {
                if self.step != Some(place()) {
                    return refuse(Rule::TurnOrder, "/data", "a system message outside its step");
                }
                return self.system_message(event);
            }
            EventType::CompactionPrune | EventType::CompactionSummary => {
                let seqs = event.member("shadowedSeqs").into_iter().flat_map(Js::elements);
                if self.prompt.is_some() && seqs.into_iter().any(|seq| seq.as_count() == self.prompt) {
                    return refuse(Rule::Compaction, "/data/shadowedSeqs", "the head is in the span");
                }
            }
            // Types that are new in V3, which its rows may still give surface metadata.
            EventType::SubagentCatalog
            | EventType::DeliverablesPresented
            | EventType::ImageOffload
            | EventType::WorkspaceChanges
                if event.surface_op().is_some() || event.source_seqs().is_some() =>
            {
                return refuse(Rule::SurfaceMetadata, "", "on an event that is not on the surface");
            }
            kind if kind.is_surface() => {
                if self.touches(event).contains(&true) {
                    return refuse(
                        Rule::SurfaceLifecycle,
                        "/surfaceOp",
                        "only a system message may replace the head",
                    );
                }
                self.has_surface = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn system_message(&mut self, event: &Event<'_>) -> Check {
        const RULE: Rule = Rule::SurfaceLifecycle;
        if self.has_surface && self.prompt.is_none() {
            return refuse(RULE, "", "a system message must be the first surface event");
        }
        match self.touches(event) {
            [true, true] => self.prompt = Some(event.seq.0),
            [false, false] => {
                if !self.has_surface && event.surface_op().is_some_and(|op| op.is("append")) {
                    self.prompt = Some(event.seq.0);
                }
            }
            _ => return refuse(RULE, "/surfaceOp", "the head is replaced together with others"),
        }
        self.has_surface = true;
        Ok(())
    }

    /// Whether each endpoint of a replacement is the head.
    fn touches(&self, event: &Event<'_>) -> [bool; 2] {
        ["startSeq", "endSeq"].map(|name| {
            let endpoint = event.surface_op().and_then(|op| op.get(name));
            self.prompt.is_some() && count(endpoint) == self.prompt
        })
    }

    /// The first fault.
    pub(super) fn finish(self) -> Option<Error> {
        self.fault
    }
}
