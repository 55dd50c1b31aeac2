//! The two lists of messages that wait for the agent (`docs/spec/agent-loop.md`, section 2; `docs/spec/surface.md`, 10.1).

use std::collections::HashSet;

use dshlog_codec::Event;
use dshlog_codec::json::{Doc, Js, JsString, SAFE_INTEGER};

use crate::request::header::printed;

/// Which list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Prompts. A turn takes the first one.
    NextTurn,
    /// What the next step takes, all of it.
    NextStep,
}

impl Target {
    /// Both, in the order of the state that dsh keeps.
    pub const ALL: [Target; 2] = [Target::NextTurn, Target::NextStep];

    /// The word in the log.
    pub fn name(self) -> &'static str {
        match self {
            Target::NextTurn => "next-turn",
            Target::NextStep => "next-step",
        }
    }
}

/// A message that waits.
#[derive(Clone, Debug)]
pub struct Waiting {
    json: Box<str>,
    /// Its id as JSON, empty without one; nothing for an object, which is like no other.
    id: Option<Box<str>>,
}

/// What waits, folded from `agent/inbox/spliced`.
#[derive(Debug, Default)]
pub struct Inbox([Vec<Waiting>; 2]);

impl Inbox {
    /// Take the next `agent/inbox/spliced`.
    ///
    /// # Errors
    /// A splice that does not fit the lists; then a session cannot go on (`docs/spec/surface.md`, 10.1).
    pub fn splice(&mut self, event: &Event<'_>) -> Result<(), String> {
        let target = event.member("target");
        let target = target.and_then(|target| Target::ALL.iter().position(|known| target.is(known.name())));
        let target = target.ok_or("the splice has no target that is known")?;
        let (list, other) = match &mut self.0 {
            [turn, step] if target == 0 => (turn, step),
            [turn, step] => (step, turn),
        };
        let start = index(event.member("start")).ok_or("the splice has no start")?;
        let removed = match event.member("removedCount") {
            Some(removed) if !removed.is_null() => index(Some(removed)).ok_or("the splice has no count")?,
            _ => 0,
        };
        let end = start.checked_add(removed).filter(|end| *end <= list.len()).ok_or_else(|| {
            format!("the splice takes {removed} behind the first {start} of {} messages", list.len())
        })?;
        let inserted = event.member("inserted").and_then(Js::as_array);
        let inserted = inserted.ok_or("the splice has no list of messages")?;
        let inserted: Option<Vec<Waiting>> = inserted.map(Waiting::of).collect();
        list.splice(start..end, inserted.ok_or("the splice inserts what is no message")?);
        let mut ids = HashSet::new();
        for id in list.iter().chain(&*other).filter_map(|waiting| waiting.id.as_deref()) {
            if !ids.insert(id) {
                return Err(format!("message {id} waits twice"));
            }
        }
        Ok(())
    }

    /// What waits in one of the lists, in order.
    pub fn list(&self, target: Target) -> &[Waiting] {
        let [turn, step] = &self.0;
        match target {
            Target::NextTurn => turn,
            Target::NextStep => step,
        }
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Vec::is_empty)
    }
}

impl Waiting {
    /// A message; nothing for `null`.
    pub fn of(message: Js<'_>) -> Option<Self> {
        let id = match message.get("id") {
            None => Some("".into()),
            Some(id) if id.is_object() || id.is_array() => None,
            Some(id) => Some(printed(id).into()),
        };
        (!message.is_null()).then(|| Waiting { json: printed(message).into(), id })
    }

    /// The message, as JavaScript prints it.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// Its id as JSON.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The `kind` of its source.
    pub fn source_kind(&self) -> Option<JsString> {
        let doc = Doc::parse(&*self.json).ok()?;
        Some(doc.root().path(&["source", "kind"])?.as_str()?.to_owned())
    }
}

/// A number that JavaScript takes for a place in a list: negative zero is one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "an integer that was found to be in range"
)]
fn index(value: Option<Js<'_>>) -> Option<usize> {
    let number = value?.as_f64()?;
    let fits = number.fract() == 0.0 && (0.0..=SAFE_INTEGER as f64).contains(&number);
    fits.then_some(number as usize)
}
