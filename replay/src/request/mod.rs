//! What the model was asked: the state of a log at each of its requests (`docs/spec/surface.md`, sections 5 and 6;
//! `docs/spec/messages-wire.md`, 2.1).
//!
//! [`Requests`] is one fold for a whole log. At a settlement it lends the [`Request`] that ended there, and behind any
//! event the one that would come next. [`messages`] and [`chat`] print the body that was sent. Not for: what came back.

pub mod call;
pub mod chat;
pub mod header;
pub mod image;
pub mod messages;
mod part;
pub mod position;
pub mod refusal;
pub mod route;
mod template;
pub mod tools;

use dshlog_codec::check::EventType;
use dshlog_codec::json::{Doc, Js, JsString};
use dshlog_codec::{Event, Seq};

use crate::history::History;
use crate::surface::{HistoryError, Node};
use header::{Context, Header, HeaderMark};
pub use position::{Position, Positions};
use tools::{ToolHistory, ToolLedger};

/// The state that decides requests, folded event by event.
///
/// Holds what is on the surface, the headers' tools, once for each list that differs.
#[derive(Debug, Default)]
pub struct Requests {
    header: Option<Header>,
    marks: Vec<HeaderMark>,
    context: Option<Context>,
    tools: ToolLedger,
    history: History,
    positions: Positions,
    compaction: Option<Seq>,
}

/// What the model is asked, borrowed from the fold.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Where it stands in the session.
    pub position: Position,
    of: &'a Requests,
}

impl Requests {
    /// The state before the first event.
    pub fn new() -> Self {
        Self::default()
    }

    /// The agent request that ends in this event; nothing when none does. The event is the next one, which
    /// [`Requests::see`] has not taken yet: only events below it count.
    pub fn settled(&self, event: &Event<'_>) -> Option<Request<'_>> {
        Some(Request { position: self.positions.settled(event)?, of: self })
    }

    /// The agent request that would come next, were nothing appended before it. Whatever the loop would admit first, as a
    /// prompt that waits, is not in it.
    pub fn next(&self) -> Request<'_> {
        Request { position: self.positions.next(), of: self }
    }

    /// Take the next event.
    ///
    /// # Errors
    /// A surface that does not fold; never of a log that passed `dshlog_codec::check`.
    pub fn see(&mut self, event: &Event<'_>) -> Result<(), HistoryError> {
        match EventType::of(event.kind) {
            Some(EventType::RequestHeader) => {
                let header = Header::of(event, &mut self.tools)?;
                self.marks.push(header.mark);
                self.header = Some(header);
            }
            Some(EventType::RequestContext) => self.context = Some(Context::of(event)?),
            Some(EventType::DeveloperMessage) => self.tools.change(event),
            Some(EventType::CompactionStart) => self.compaction = Some(event.seq),
            Some(EventType::CompactionSummary | EventType::CompactionEnd | EventType::EndSeed) => {
                self.compaction = None;
            }
            _ => {}
        }
        self.positions.see(event);
        self.history.see(event)
    }

    /// The surface.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The header in force.
    pub fn header(&self) -> Option<&Header> {
        self.header.as_ref()
    }

    /// Where all headers so far stand, in order.
    pub fn headers(&self) -> &[HeaderMark] {
        &self.marks
    }

    /// The context in force.
    pub fn context(&self) -> Option<&Context> {
        self.context.as_ref()
    }

    /// The `compaction/start` that has neither summary nor end yet.
    fn open_compaction(&self) -> Option<Seq> {
        self.compaction
    }
}

impl<'a> Request<'a> {
    /// The header in force; nothing when the log has none yet, so that no request can be made.
    pub fn header(self) -> Option<&'a Header> {
        self.of.header.as_ref()
    }

    /// The context in force.
    pub fn context(self) -> Option<&'a Context> {
        self.of.context.as_ref()
    }

    /// The call's configuration: provider, model and controls, as the header records them.
    pub fn config(self) -> Option<Js<'a>> {
        self.header().map(Header::config)
    }

    /// The tool history, as the request carries it.
    pub fn tool_history(self) -> ToolHistory {
        self.of.tools.snapshot()
    }

    /// The surface.
    pub fn history(self) -> &'a History {
        &self.of.history
    }

    /// The nodes that give a message, with it, in the order in which the model sees them.
    pub fn messages(self) -> impl Iterator<Item = (&'a Node, &'a str)> {
        let history = &self.of.history;
        history.nodes().filter_map(|node| Some((node, history.message(node)?)))
    }

    /// The text of the message at the head of the surface, when that is a system prompt and not an emptied one.
    pub fn system(self) -> Option<JsString> {
        let head = self.of.history.nodes().next().filter(|head| head.kind == EventType::SystemMessage)?;
        let doc = Doc::parse(self.of.history.message(head)?).ok()?;
        Some(part::joined_text(doc.root().get("content")))
    }
}

#[cfg(test)]
mod tests;
