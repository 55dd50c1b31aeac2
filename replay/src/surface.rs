//! The surface explained: which events the model's history is made of, why each is there, and what is there no longer
//! (`docs/spec/surface.md`, sections 2 and 4).
//!
//! The surface is an ordered list of nodes, each the seq of an event. An event is appended to it, or replaces a stretch
//! of it; `image/offload` marks images in messages that stay. A node that was replaced is *shadowed*: people still read it
//! in the transcript when it was appended, the model does not see it any more. No message is kept here.

mod fate;

use std::collections::{BTreeMap, HashMap};

use dshlog_codec::check::{EventType, NodeOrder};
use dshlog_codec::json::{Js, JsonError};
use dshlog_codec::{Event, Millis, Seq};

pub use fate::Fate;

/// One entry of the surface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The event that put it there.
    pub seq: Seq,
    /// Its type, one of the five of the surface.
    pub kind: EventType,
    /// Why it is there.
    pub cause: Cause,
    /// The nodes that it took off the surface, in their order; empty for an appended one.
    pub replaced: Vec<Seq>,
    /// What marked images of it as offloaded.
    pub offloads: Vec<Offload>,
    /// The id of its message, lone surrogates replaced; nothing when the node gives no message (an emptied one).
    pub id: Option<Box<str>>,
}

/// Images that one event took out of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offload {
    /// The `image/offload`.
    pub by: Seq,
    /// Which images, counted from 0 over those that stand directly in the message.
    pub images: Vec<u64>,
}

/// Why an event is on the surface, or took others off it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It was appended.
    Appended,
    /// A summary in the place of what it sums up.
    Compaction(Compaction),
    /// A tool result whose middle was cut out.
    Prune {
        /// The `compaction/prune`.
        prune: Seq,
    },
    /// A system prompt in the place of an older one.
    PromptRewrite,
    /// It replaces others, and nothing says why.
    Other,
}

impl Cause {
    /// One word for it.
    pub fn name(&self) -> &'static str {
        match self {
            Cause::Appended => "appended",
            Cause::Compaction(_) => "compaction",
            Cause::Prune { .. } => "prune",
            Cause::PromptRewrite => "prompt-rewrite",
            Cause::Other => "replacement",
        }
    }
}

/// A compaction of which the summary is on the surface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compaction {
    /// Its `compactionId`, lone surrogates replaced.
    pub id: Box<str>,
    /// The `compaction/start`.
    pub start: Seq,
    /// The `compaction/summary`, if it came before the message.
    pub summary: Option<Seq>,
    /// What made dsh compact.
    pub trigger: Trigger,
    /// `sourceCommandId`: the command that asked for it.
    pub command: Option<Box<str>>,
}

/// What makes dsh compact (`docs/spec/agent-loop.md`, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Somebody asked for it, between two turns.
    Manual,
    /// The history had grown too large at the boundary of a step.
    Pressure,
    /// The model had refused a request as too large, within a step.
    Overflow,
}

impl Trigger {
    /// One word for it.
    pub fn name(self) -> &'static str {
        match self {
            Trigger::Manual => "manual",
            Trigger::Pressure => "pressure",
            Trigger::Overflow => "overflow",
        }
    }
}

/// An event that took nodes off the surface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// When.
    pub time: Millis,
    /// Why.
    pub cause: Cause,
}

/// A node that is on the surface no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shadowed {
    /// The event that had put it there.
    pub seq: Seq,
    /// Its type.
    pub kind: EventType,
    /// It had been appended, so people find it in the transcript; else it was a replacement itself.
    pub appended: bool,
    /// The event that took it off.
    pub by: Seq,
}

/// A compaction that was begun and has no end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unended {
    /// Its `compactionId`, lone surrogates replaced.
    pub id: Box<str>,
    /// The `compaction/start`.
    pub start: Seq,
    /// What made dsh compact.
    pub trigger: Trigger,
    /// The `session/end-seed` by which a later process showed that it never will; nothing while it may.
    pub orphaned_by: Option<Seq>,
}

/// A log whose surface does not fold. A log that passed `dshlog_codec::check` never gives one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// A surface event without a message, or with a malformed `surfaceOp`.
    #[error("event {seq} is no well-formed surface event")]
    Malformed {
        /// The event.
        seq: Seq,
    },
    /// A replacement names a node that is not on the surface, or a reversed stretch.
    #[error("event {seq} replaces {start}..{end}, which is no stretch of the surface")]
    NotOnSurface {
        /// The event.
        seq: Seq,
        /// First replaced node.
        start: u64,
        /// Last replaced node.
        end: u64,
    },
    /// An offload names an image that is not there.
    #[error("event {seq} offloads an image that is not there")]
    NoSuchImage {
        /// The event.
        seq: Seq,
    },
    /// A value that was kept does not read back.
    #[error("a value does not read back")]
    Unreadable(#[from] JsonError),
}

/// What an event did to the surface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    None,
    /// It is a new node.
    Node,
    /// It marked images of these nodes.
    Offload(Vec<Seq>),
}

/// The surface, folded event by event. Of what is shadowed it holds seq and type.
#[derive(Debug, Default)]
pub struct Surface {
    order: NodeOrder,
    nodes: HashMap<Seq, Node>,
    shadowed: BTreeMap<Seq, Shadowed>,
    replacements: HashMap<Seq, Replacement>,
    open: Option<Open>,
    orphaned: Vec<Unended>,
    /// The last prune, until the result that it announces.
    prune: Option<(Seq, Vec<Seq>)>,
    in_step: bool,
}

/// A compaction on its way.
#[derive(Debug)]
struct Open {
    id: Box<str>,
    command: Option<Box<str>>,
    start: Seq,
    summary: Option<Seq>,
    trigger: Trigger,
}

impl Surface {
    /// The empty surface.
    pub fn new() -> Self {
        Self::default()
    }

    /// Fold the next event. Unknown events change nothing.
    pub fn see(&mut self, event: &Event<'_>) -> Result<Change, HistoryError> {
        let Some(kind) = EventType::of(event.kind) else { return Ok(Change::None) };
        match kind {
            EventType::ImageOffload => return self.offload(event).map(Change::Offload),
            EventType::StepStart => self.in_step = true,
            EventType::StepEnd | EventType::TurnStart | EventType::TurnEnd => self.in_step = false,
            EventType::CompactionStart => self.open = self.begun(event),
            EventType::CompactionSummary => {
                if let Some(open) = &mut self.open {
                    open.summary = Some(event.seq);
                }
            }
            EventType::CompactionEnd => self.open = None,
            EventType::EndSeed => {
                let open = self.open.take();
                self.orphaned.extend(open.map(|open| open.unended(Some(event.seq))));
            }
            EventType::CompactionPrune => {
                let seqs = event.member("shadowedSeqs").into_iter().flat_map(Js::elements);
                self.prune = Some((event.seq, seqs.filter_map(Js::as_count).map(Seq).collect()));
            }
            kind if kind.is_surface() => {
                self.place(event, kind)?;
                self.prune = None;
                return Ok(Change::Node);
            }
            _ => {}
        }
        Ok(Change::None)
    }

    fn begun(&self, event: &Event<'_>) -> Option<Open> {
        let text = |name| Some(event.member(name)?.as_str()?.to_lossy().into());
        let trigger = match event.member("turn") {
            Some(turn) if turn.as_count().is_some() && self.in_step => Trigger::Overflow,
            Some(turn) if turn.as_count().is_some() => Trigger::Pressure,
            _ => Trigger::Manual,
        };
        let id = text("compactionId")?;
        Some(Open { id, command: text("sourceCommandId"), start: event.seq, summary: None, trigger })
    }

    fn place(&mut self, event: &Event<'_>, kind: EventType) -> Result<(), HistoryError> {
        let seq = event.seq;
        let malformed = || HistoryError::Malformed { seq };
        let op = event.surface_op().ok_or_else(malformed)?;
        let message = message(event, kind).ok_or_else(malformed)?;
        let id = (!is_emptied(message, kind)).then(|| message.get("id")?.as_str()).flatten();
        let id = id.map(|id| id.to_lossy().into());
        let mut node =
            Node { seq, kind, cause: Cause::Appended, replaced: Vec::new(), offloads: Vec::new(), id };
        if op.is("append") {
            self.order.push(seq.0);
            self.nodes.insert(seq, node);
            return Ok(());
        }
        let end_of = |name| op.get(name).and_then(Js::as_count);
        let (start, end) = end_of("startSeq").zip(end_of("endSeq")).ok_or_else(malformed)?;
        let replaced = self.order.replace(start, end, seq.0);
        let replaced = replaced.map_err(|_| HistoryError::NotOnSurface { seq, start, end })?;
        node.replaced = replaced.into_iter().map(Seq).collect();
        node.cause = self.cause(event, kind, &node.replaced);
        for gone in node.replaced.iter().filter_map(|gone| self.nodes.remove(gone)) {
            let appended = gone.cause == Cause::Appended;
            let shadowed = Shadowed { seq: gone.seq, kind: gone.kind, appended, by: seq };
            self.shadowed.insert(gone.seq, shadowed);
        }
        self.replacements.insert(seq, Replacement { time: event.time, cause: node.cause.clone() });
        self.nodes.insert(seq, node);
        Ok(())
    }

    /// Why an event replaces nodes.
    fn cause(&self, event: &Event<'_>, kind: EventType, replaced: &[Seq]) -> Cause {
        match kind {
            EventType::SystemMessage => Cause::PromptRewrite,
            EventType::UserMessage => {
                let is_checkpoint = event
                    .member("source")
                    .and_then(|source| source.get("kind"))
                    .is_some_and(|kind| kind.is("compact-checkpoint"));
                match &self.open {
                    Some(open) if is_checkpoint => Cause::Compaction(open.compaction()),
                    _ => Cause::Other,
                }
            }
            EventType::ToolResult => match &self.prune {
                Some((prune, seqs)) if seqs == replaced => Cause::Prune { prune: *prune },
                _ => Cause::Other,
            },
            _ => Cause::Other,
        }
    }

    fn offload(&mut self, event: &Event<'_>) -> Result<Vec<Seq>, HistoryError> {
        let missing = || HistoryError::NoSuchImage { seq: event.seq };
        let mut marked = Vec::new();
        for target in event.member("targets").ok_or_else(missing)?.elements() {
            let seq = target.get("seq").and_then(Js::as_count).map(Seq).ok_or_else(missing)?;
            let images = target.get("imageIndexes").ok_or_else(missing)?;
            let images = images.elements().filter_map(Js::as_count).collect();
            let node = self.nodes.get_mut(&seq).ok_or_else(missing)?;
            node.offloads.push(Offload { by: event.seq, images });
            marked.push(seq);
        }
        Ok(marked)
    }

    /// The nodes, in the order in which the model sees them.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.order.iter().filter_map(|seq| self.nodes.get(&Seq(seq)))
    }

    /// The node of this seq, while it is on the surface.
    pub fn node(&self, seq: Seq) -> Option<&Node> {
        self.nodes.get(&seq)
    }

    /// What was taken off the surface, by ascending seq.
    pub fn shadowed(&self) -> impl Iterator<Item = &Shadowed> {
        self.shadowed.values()
    }

    /// How the node of this seq was taken off the surface; nothing while it is there, or if it never was.
    pub fn shadow_of(&self, seq: Seq) -> Option<&Shadowed> {
        self.shadowed.get(&seq)
    }

    /// The event that took others off the surface, whether it is still there or not.
    pub fn replacement(&self, seq: Seq) -> Option<&Replacement> {
        self.replacements.get(&seq)
    }

    /// The node that stands in the place of one that was on the surface: itself while it is there.
    pub fn stands_for(&self, mut seq: Seq) -> Seq {
        // Whoever takes a node off has a higher seq, so this comes to an end.
        while let Some(shadowed) = self.shadowed.get(&seq) {
            seq = shadowed.by;
        }
        seq
    }

    /// [`Surface::stands_for`] of every shadowed node, by its seq. One way through all of them: a summary that sums up a
    /// summary makes long chains, and following each to its end would be quadratic.
    pub fn standing(&self) -> HashMap<Seq, Seq> {
        let mut standing = HashMap::with_capacity(self.shadowed.len());
        // Whoever takes a node off has a higher seq, so its own end is known already.
        for (&seq, shadowed) in self.shadowed.iter().rev() {
            let now = standing.get(&shadowed.by).copied().unwrap_or(shadowed.by);
            standing.insert(seq, now);
        }
        standing
    }

    /// Compactions that were begun and not ended, in the order of the log.
    pub fn unended(&self) -> impl Iterator<Item = Unended> {
        self.orphaned.iter().cloned().chain(self.open.as_ref().map(|open| open.unended(None)))
    }
}

impl Open {
    fn compaction(&self) -> Compaction {
        Compaction {
            id: self.id.clone(),
            start: self.start,
            summary: self.summary,
            trigger: self.trigger,
            command: self.command.clone(),
        }
    }

    fn unended(&self, orphaned_by: Option<Seq>) -> Unended {
        Unended { id: self.id.clone(), start: self.start, trigger: self.trigger, orphaned_by }
    }
}

/// The message that a surface event holds; nothing when it is no object.
pub(crate) fn message<'a>(event: &Event<'a>, kind: EventType) -> Option<Js<'a>> {
    let message = match kind {
        EventType::UserMessage => event.data,
        _ => event.member("message"),
    };
    message.filter(|message| message.is_object())
}

/// True for messages that are left out of the history since there is nothing in them. Those of users and tools stay.
pub(crate) fn is_emptied(message: Js<'_>, kind: EventType) -> bool {
    !matches!(kind, EventType::UserMessage | EventType::ToolResult)
        && message.get("content").is_none_or(|content| content.elements().next().is_none())
}

#[cfg(test)]
mod tests;
