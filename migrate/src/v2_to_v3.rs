//! V2 to V3 (`docs/spec/events-v0-v3.md`, section 10): the system prompt leaves the request header and becomes a
//! message on the surface; programs that call tools get their new name.
//!
//! It keeps the seqs where it inserted messages, the current prompt, and the ids that look like its own.

mod admission;
mod change;

use std::collections::HashSet;
use std::fmt::Write as _;

use dshlog_codec::json::{Fields, Js, JsStr, JsString, Tree, print_string};
use dshlog_codec::{At, Event, Generation, Header, Seq};
use sha2::{Digest as _, Sha256};

use crate::edge::{Edge, Out, Refusal};
use crate::fault::{Check, malformed, shown, unsupported};
use crate::shift::Shift;

/// The name that refusals carry.
const NAME: &str = "v2-to-v3";

/// The step from V2 to V3 over one log.
#[derive(Debug, Default)]
pub struct V2ToV3 {
    id: JsString,
    is_seeded: bool,
    is_forked: bool,
    shift: Shift,
    /// Number of source events so far.
    events: u64,
    /// The last inherited marker: in the source, and in the target.
    cut: Option<(u64, u64)>,
    step: Option<Step>,
    /// The system message on the surface, in the target.
    head: Option<u64>,
    prompt: JsString,
    /// Ids of messages in the source, as far as they look like those that are made here.
    ids: HashSet<Box<[u8]>>,
    /// Ids that were made here.
    made: HashSet<Box<[u8]>>,
    /// The last delivery to another session, whose place can only be judged once the cut is known.
    foreign_delivery: Option<Refusal>,
}

#[derive(Clone, Copy, Debug)]
struct Step {
    turn: u64,
    step: u64,
}

/// How the ids of system messages begin that are made here.
const MADE: &str = "v2-to-v3-system-";

impl V2ToV3 {
    /// The step.
    pub fn new() -> Self {
        V2ToV3::default()
    }

    /// A system message with the current prompt, anchored at an event; it goes before source event `before`.
    fn system_message(&mut self, anchor: &Event<'_>, before: u64) -> Check<Tree<'static>> {
        let Some(Step { turn, step }) = self.step else {
            return unsupported("prompt-outside-step", "", "the system prompt changes while no step is open");
        };
        if turn == 0 || step == 0 {
            return malformed("prompt-outside-step", "/data", format!("turn {turn}, step {step}"));
        }
        let id = self.message_id(anchor);
        if self.ids.contains(id.as_bytes()) || !self.made.insert(id.as_bytes().into()) {
            return unsupported("message-id", "", format!("{id} is taken"));
        }
        let mut content = Vec::new();
        if !self.prompt.is_empty() {
            let text = Tree::js_string(&self.prompt);
            content.push(Fields::new().with("type", Tree::string("text")).with("text", text).into());
        }
        let source = Fields::new()
            .with("kind", Tree::string("plugin"))
            .with("plugin", Tree::string("@deepseek-ai/dsh-system-prompt"));
        let message = Fields::new()
            .with("id", Tree::string(&id))
            .with("role", Tree::string("system"))
            .with("source", source)
            .with("content", Tree::Array(content));
        let data = Fields::new()
            .with("turn", Tree::integer(turn))
            .with("step", Tree::integer(step))
            .with("message", message);
        let seq = self.shift.target(before);
        let mut row = Fields::new()
            .with("type", Tree::string("system/message"))
            .with("seq", Tree::integer(seq))
            .with("time", Tree::integer(anchor.time.0))
            .with("data", data);
        if let Some(head) = self.head {
            let op = Fields::new()
                .with("op", Tree::string("replace"))
                .with("startSeq", Tree::integer(head))
                .with("endSeq", Tree::integer(head));
            row.set("surfaceOp", op);
            row.set("sourceEventSeqs", Tree::Array(vec![Tree::integer(head)]));
        } else {
            row.set("surfaceOp", Tree::string("append"));
        }
        self.head = Some(seq);
        self.shift.insert_before(before);
        Ok(row.into())
    }

    /// The id that the official step gives to the system message at `anchor`.
    fn message_id(&self, anchor: &Event<'_>) -> String {
        let mut text = b"[\"session-format-v2-to-v3\",".to_vec();
        print_string(&mut text, &self.id);
        text.extend_from_slice(format!(",{},\"{}\"]", anchor.seq, anchor.kind).as_bytes());
        let mut id = MADE.to_owned();
        for byte in Sha256::digest(&text) {
            // Writing to memory cannot fail.
            let _ = write!(id, "{byte:02x}");
        }
        id
    }

    /// Everything that must hold before the event is carried over.
    fn admit(&mut self, event: &Event<'_>) -> Check {
        if event.seq.0 != self.events {
            return malformed("row-gap", "/seq", format!("{} instead of {}", event.seq, self.events));
        }
        admission::check(event)?;
        for message in messages(event) {
            let id = message.get("id").and_then(Js::as_str).map(JsStr::to_wtf8).unwrap_or_default();
            if !id.starts_with(MADE.as_bytes()) {
                continue;
            }
            if self.made.contains(&*id) {
                return unsupported("message-id", "", format!("{} is taken", shown(message.get("id"))));
            }
            self.ids.insert(id.into());
        }
        Ok(())
    }

    /// The new prompt of a request header, when it is another one.
    fn changed_prompt(&self, event: &Event<'_>) -> Option<JsString> {
        let header = event.member("header").filter(|_| event.is("request/header"))?;
        let prompt = header.get("system").and_then(Js::as_str).map(JsStr::to_owned);
        prompt.or_else(|| Some(JsString::default())).filter(|prompt| *prompt != self.prompt)
    }

    /// The surface, the cut and the deliveries.
    fn observe(&mut self, event: &Event<'_>) -> Check {
        if admission::is_surface(event) && self.head.is_none() {
            return unsupported("surface-before-step", "/type", "a message before the first step");
        }
        if event.is("session/end-seed") && event.member("inherited").is_some_and(Js::is_true) {
            if !self.is_seeded {
                return malformed("marker-without-seed", "/data/inherited", "");
            }
            self.cut = Some((event.seq.0, self.shift.target(event.seq.0)));
        }
        if event.is("session-log-deepseek/delivery-accepted") {
            let version = event.member("sessionFormatVersion").and_then(Js::as_count);
            let id = event.member("sessionId");
            let own = id.and_then(Js::as_str).is_some_and(|id| *id.to_wtf8() == *self.id.as_wtf8());
            if version == Some(3) {
                return malformed("delivery", "/data/sessionFormatVersion", "claims the target's version");
            }
            if version == Some(2) && !own {
                let foreign =
                    malformed::<()>("delivery", "/data/sessionId", format!("another session: {}", shown(id)));
                self.foreign_delivery = foreign.err().map(|fault| fault.at(NAME, event.at()));
            }
        }
        Ok(())
    }

    fn carry<'a>(&mut self, event: &Event<'a>, out: &mut dyn Out) -> Result<Option<Tree<'a>>, Refusal> {
        let place = |fault: Box<crate::fault::Fault>| fault.at(NAME, event.at());
        self.admit(event).map_err(place)?;
        if let Some(prompt) = self.changed_prompt(event) {
            self.prompt = prompt;
            let message = self.system_message(event, event.seq.0).map_err(place)?;
            out.put(&message, event.place)?;
        }
        self.observe(event).map_err(place)?;
        change::carry(event, &self.shift).map_err(place)
    }
}

/// The messages that an event holds, admitted before.
fn messages<'a>(event: &Event<'a>) -> impl Iterator<Item = Js<'a>> + use<'a> {
    let kind = event.kind;
    let one = if kind == "user/message" {
        event.data
    } else if kind == "assistant/message" || kind == "tool/result" {
        event.member("message")
    } else {
        None
    };
    let list = if kind == "agent/inbox/spliced" {
        event.member("inserted")
    } else if kind == "session/title-llm-request" {
        event.member("messages")
    } else {
        None
    };
    one.into_iter().chain(list.into_iter().flat_map(Js::elements))
}

impl Edge for V2ToV3 {
    fn from(&self) -> Generation {
        Generation(2)
    }

    fn header(&mut self, source: &Header) -> Result<Header, Refusal> {
        self.id = source.id.clone();
        self.is_seeded = source.is_seeded;
        self.is_forked = source.parent_session.is_some();
        let mut header = Header { version: Generation(3), ..source.clone() };
        if header.agent_preset.as_ref().and_then(JsString::as_str) == Some("code") {
            header.agent_preset = Some("ptc".into());
        }
        Ok(header)
    }

    fn event(&mut self, event: &Event<'_>, out: &mut dyn Out) -> Result<(), Refusal> {
        match self.carry(event, out)? {
            None => out.keep(event)?,
            Some(row) => out.put(&row, event.place)?,
        }
        self.events += 1;
        if event.is("step/start") {
            let count = |name| event.member(name).and_then(Js::as_count).unwrap_or(0);
            self.step = Some(Step { turn: count("turn"), step: count("step") });
            if self.head.is_none() {
                let empty = self.system_message(event, self.events);
                out.put(&empty.map_err(|fault| fault.at(NAME, event.at()))?, event.place)?;
            }
        } else if event.is("step/end") || event.is("turn/end") {
            self.step = None;
        }
        Ok(())
    }

    /// The cut is where the last inherited marker stands. The step before may say less: it counts to the first one.
    fn finish(&mut self, _cut: u64, _out: &mut dyn Out) -> Result<u64, Refusal> {
        if self.is_seeded && self.cut.is_none() {
            let fault = malformed("seed-without-marker", "", "");
            return fault.map_err(|fault| fault.at(NAME, At::default()));
        }
        let (source, target) = self.cut.unwrap_or_default();
        match self.foreign_delivery.take() {
            Some(refusal) if !self.is_forked || refusal.at.seq >= Some(Seq(source)) => Err(refusal),
            _ => Ok(target),
        }
    }
}

#[cfg(test)]
mod tests;
