//! What waits to be said (`docs/spec/surface.md`, 10.1).

use std::collections::HashSet;

use dshlog_codec::Event;
use dshlog_codec::check::EventType;
use dshlog_codec::json::{Js, SAFE_INTEGER, Tree};

use super::value::{Kept, object};
use super::{Fold, Start};

/// The lists, by target.
const TARGETS: [&str; 2] = ["next-turn", "next-step"];

/// A message that waits.
#[derive(Clone, Debug)]
struct Waiting {
    message: Kept,
    /// Its id as JSON, empty without one; nothing for an object, which is like no other.
    id: Option<Box<str>>,
}

#[derive(Debug, Default)]
struct Inbox([Vec<Waiting>; 2]);

pub(super) fn inbox(_: &Start<'_>) -> Box<dyn Fold> {
    Box::<Inbox>::default()
}

impl Fold for Inbox {
    fn see(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), String> {
        if kind != Some(EventType::InboxSpliced) {
            return Ok(());
        }
        let target = event.member("target");
        let target = target.and_then(|target| TARGETS.iter().position(|name| target.is(name)));
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

    fn state(&self) -> Tree<'static> {
        let [turn, step] = &self.0;
        let list = |waiting: &Vec<Waiting>| Tree::Array(waiting.iter().map(|w| w.message.tree()).collect());
        object([(TARGETS[0], list(turn)), (TARGETS[1], list(step))])
    }

    fn view(&self) -> Option<Tree<'static>> {
        Some(self.state())
    }
}

impl Waiting {
    fn of(message: Js<'_>) -> Option<Self> {
        let id = match message.get("id") {
            None => Some("".into()),
            Some(id) if id.is_object() || id.is_array() => None,
            Some(id) => Some(Kept::of(id).text().into()),
        };
        (!message.is_null()).then(|| Waiting { message: Kept::of(message), id })
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
