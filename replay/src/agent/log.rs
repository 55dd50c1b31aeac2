//! The log that the agent writes, and the folds over it that the loop decides by (`docs/spec/agent-loop.md`, section 1).

use std::sync::Arc;

use dshlog_codec::check::EventType;
use dshlog_codec::json::{Doc, Fields, Js, JsString, Tree};
use dshlog_codec::{Event, Header, Millis, Seq};

use super::error::AgentError;
use crate::closer::OpenTail;
use crate::compare::Source;
use crate::inbox::Inbox;
use crate::new_event::{NewEvent, envelope};
use crate::request::Requests;
use crate::request::header::printed;

/// A log on its way: its events, and what is known behind the last one.
#[derive(Debug)]
pub struct Log {
    header: Header,
    rows: Vec<NewEvent>,
    requests: Requests,
    inbox: Inbox,
    tail: OpenTail,
    turn: u64,
    declared: Option<Declared>,
    context: Option<Doc>,
    systems: Vec<SystemNode>,
    snapshot: Option<Snapshot>,
    replacements: u64,
    /// Those among them that replace a system prompt.
    rewrites: u64,
    projections: u64,
}

/// The `request/header` in force.
#[derive(Debug)]
pub struct Declared {
    /// Where it stands.
    pub seq: Seq,
    /// Its member `header`.
    pub header: Doc,
}

/// A system prompt on the surface.
#[derive(Clone, Debug)]
pub struct SystemNode {
    /// The event.
    pub seq: Seq,
    /// The content of its message, as JSON.
    pub content: Arc<str>,
}

impl SystemNode {
    /// The prompt was taken back.
    pub fn is_empty(&self) -> bool {
        &*self.content == "[]"
    }
}

/// The last snapshot of the runtime context that was told.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The event.
    pub seq: Seq,
    /// `sections` of its source, as JSON; nothing when there were none.
    pub sections: Option<Box<str>>,
}

/// What is drawn or measured for an event that the loop writes.
#[derive(Clone, Debug)]
pub struct Stamp {
    /// Its time.
    pub time: Millis,
    /// The id of its message, or of its series of retries.
    pub id: JsString,
}

/// Where an event goes on the surface.
#[derive(Clone, Copy, Debug)]
pub(super) enum Placement {
    /// Nowhere.
    Off,
    /// Behind all others, made from this event if there is one.
    Append(Option<Seq>),
    /// In the place of this node.
    Replace(Seq),
    /// The same, in the order of members that the steps from V0 to V4 have.
    MigratedReplace(Seq),
}

impl Log {
    /// An empty log.
    pub fn new(header: Header) -> Self {
        Log {
            header,
            rows: Vec::new(),
            requests: Requests::new(),
            inbox: Inbox::default(),
            tail: OpenTail::new(),
            turn: 0,
            declared: None,
            context: None,
            systems: Vec::new(),
            snapshot: None,
            replacements: 0,
            rewrites: 0,
            projections: 0,
        }
    }

    /// Its header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Its events.
    pub fn rows(&self) -> &[NewEvent] {
        &self.rows
    }

    /// Where the next event will stand.
    pub fn next_seq(&self) -> Seq {
        Seq(self.rows.len() as u64)
    }

    /// What waits.
    pub fn inbox(&self) -> &Inbox {
        &self.inbox
    }

    /// What the model is asked next.
    pub fn requests(&self) -> &Requests {
        &self.requests
    }

    /// What is open.
    pub fn tail(&self) -> &OpenTail {
        &self.tail
    }

    /// The number of the last turn, 0 before the first.
    pub fn turn(&self) -> u64 {
        self.turn
    }

    /// The header in force.
    pub fn declared(&self) -> Option<&Declared> {
        self.declared.as_ref()
    }

    /// The data of the `request/context` in force.
    pub fn context(&self) -> Option<Js<'_>> {
        self.context.as_ref().map(Doc::root)
    }

    /// The system prompts on the surface, in its order.
    pub fn systems(&self) -> &[SystemNode] {
        &self.systems
    }

    /// The last snapshot of the runtime context, also when it is on the surface no more.
    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.snapshot.as_ref()
    }

    /// The model still sees this event.
    pub fn is_on_surface(&self, seq: Seq) -> bool {
        self.requests.history().surface().node(seq).is_some()
    }

    /// Number of replacements on the surface so far.
    pub fn replacements(&self) -> u64 {
        self.replacements
    }

    /// Number of those that replaced a system prompt.
    pub fn rewrites(&self) -> u64 {
        self.rewrites
    }

    /// The content generation: replacements, and what else changed messages that were told.
    pub fn generation(&self) -> u64 {
        self.replacements + self.projections
    }

    /// Write an event of the loop. Gives its seq.
    pub(super) fn write(
        &mut self,
        kind: EventType,
        time: Millis,
        data: Fields<'_>,
        placement: Placement,
    ) -> Result<Seq, AgentError> {
        let seq = self.next_seq();
        let mut row = envelope(kind.name(), seq, time, data);
        let seqs = |seq: Seq| Tree::Array(vec![Tree::integer(seq.0)]);
        match placement {
            Placement::Off => {}
            Placement::Append(source) => {
                if let Some(source) = source {
                    row.set("sourceEventSeqs", seqs(source));
                }
                row.set("surfaceOp", Tree::string("append"));
            }
            Placement::Replace(node) | Placement::MigratedReplace(node) => {
                let op = Fields::new().with("op", Tree::string("replace"));
                let op = op.with("startSeq", Tree::integer(node.0)).with("endSeq", Tree::integer(node.0));
                if matches!(placement, Placement::MigratedReplace(_)) {
                    row.set("surfaceOp", op);
                    row.set("sourceEventSeqs", seqs(node));
                } else {
                    row.set("sourceEventSeqs", seqs(node));
                    row.set("surfaceOp", op);
                }
            }
        }
        self.push(NewEvent::of(row))?;
        Ok(seq)
    }

    /// Take an event of another plugin, or one that others wrote before.
    pub fn copy(&mut self, event: &Event<'_>) -> Result<(), AgentError> {
        self.push(NewEvent::copied(event)?)
    }

    /// Take an event that is whole.
    pub(super) fn push(&mut self, row: NewEvent) -> Result<(), AgentError> {
        let event = row.event();
        let kind = EventType::of(event.kind);
        self.fold(&event, kind)?;
        self.rows.push(row);
        Ok(())
    }

    fn fold(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), AgentError> {
        self.requests.see(event)?;
        self.tail.see(event);
        let is_replacement = event.surface_op().is_some_and(Js::is_object);
        match kind {
            Some(EventType::InboxSpliced) => {
                let spliced = self.inbox.splice(event);
                spliced.map_err(|what| AgentError::Inbox { seq: event.seq, what })?;
            }
            Some(EventType::TurnStart) => {
                self.turn = event.member("turn").and_then(Js::as_count).unwrap_or(self.turn + 1);
            }
            Some(EventType::RequestHeader) => {
                let header = Doc::parse(event.member("header").map_or_else(|| "{}".into(), printed))?;
                self.declared = Some(Declared { seq: event.seq, header });
            }
            Some(EventType::RequestContext) => {
                self.context = Some(Doc::parse(event.data.map_or_else(|| "null".into(), printed))?);
            }
            Some(EventType::SystemMessage) => self.place_system(event),
            Some(EventType::UserMessage) if !is_replacement => self.note_snapshot(event),
            Some(EventType::ImageOffload) => self.projections += 1,
            _ => {}
        }
        if is_replacement && kind.is_some_and(EventType::is_surface) {
            self.replacements += 1;
            self.rewrites += u64::from(kind == Some(EventType::SystemMessage));
            let surface = self.requests.history().surface();
            self.systems.retain(|node| surface.node(node.seq).is_some());
        }
        Ok(())
    }

    fn place_system(&mut self, event: &Event<'_>) {
        let content = event.member("message").and_then(|message| message.get("content"));
        let content = content.map_or_else(|| "[]".into(), |content| printed(content).into());
        let node = SystemNode { seq: event.seq, content };
        let replaced = event.surface_op().and_then(|op| op.get("startSeq")).and_then(Js::as_count);
        let at = replaced.and_then(|seq| self.systems.iter().position(|node| node.seq.0 == seq));
        match at.and_then(|at| self.systems.get_mut(at)) {
            Some(place) => *place = node,
            None => self.systems.push(node),
        }
    }

    fn note_snapshot(&mut self, event: &Event<'_>) {
        let Some(source) = event.member("source").filter(|source| is_snapshot(*source)) else { return };
        let sections = source.get("sections").map(|sections| printed(sections).into());
        self.snapshot = Some(Snapshot { seq: event.seq, sections });
    }
}

/// The source of a snapshot of the runtime context.
pub(super) fn is_snapshot(source: Js<'_>) -> bool {
    source.get("kind").is_some_and(|kind| kind.is("runtime-context"))
}

impl Source for Log {
    type Error = std::convert::Infallible;

    fn header(&self) -> Header {
        self.header.clone()
    }

    fn each(&self, see: &mut dyn FnMut(&Event<'_>)) -> Result<(), Self::Error> {
        self.rows.iter().for_each(|row| see(&row.event()));
        Ok(())
    }
}
