//! What became of a message on its way to the model (`docs/spec/surface.md`, section 2).

use dshlog_codec::Seq;
use dshlog_codec::check::EventType;

use super::{Cause, Surface};

/// What became of an event, by the surface that there is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It never was on the surface.
    None,
    /// The model sees it as it is.
    Seen,
    /// The model sees a shorter one in its place. The event that tells of it.
    Shortened(Seq),
    /// The model sees it no more. The event that tells of it.
    Gone(Seq),
}

impl Surface {
    /// What became of this event.
    pub fn fate(&self, seq: Seq) -> Fate {
        let mut at = seq;
        let mut fate = if self.node(at).is_some() { Fate::Seen } else { Fate::None };
        while let Some(shadow) = self.shadow_of(at) {
            let told = match self.replacement(shadow.by).map(|replacement| &replacement.cause) {
                Some(Cause::Compaction(compaction)) => compaction.summary.unwrap_or(shadow.by),
                Some(Cause::Prune { prune }) => *prune,
                _ => shadow.by,
            };
            // Only a tool result replaces a tool result, and then it says less of the same.
            if self.kind_of(shadow.by) != Some(EventType::ToolResult) {
                return Fate::Gone(told);
            }
            fate = Fate::Shortened(told);
            at = shadow.by;
        }
        fate
    }

    /// The type of what is or was on the surface.
    fn kind_of(&self, seq: Seq) -> Option<EventType> {
        let node = self.node(seq).map(|node| node.kind);
        node.or_else(|| self.shadow_of(seq).map(|shadow| shadow.kind))
    }
}
