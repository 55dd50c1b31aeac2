//! What waits to be said (`docs/spec/surface.md`, 10.1).

use dshlog_codec::Event;
use dshlog_codec::check::EventType;
use dshlog_codec::json::Tree;

use super::value::object;
use super::{Fold, Start};
use crate::inbox::{Inbox, Target};

pub(super) fn inbox(_: &Start<'_>) -> Box<dyn Fold> {
    Box::<Inbox>::default()
}

impl Fold for Inbox {
    fn see(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), String> {
        match kind {
            Some(EventType::InboxSpliced) => self.splice(event),
            _ => Ok(()),
        }
    }

    fn state(&self) -> Tree<'static> {
        let list = |target| {
            let waiting = self.list(target).iter();
            Tree::Array(waiting.map(|waiting| Tree::Text(waiting.json().into())).collect())
        };
        object(Target::ALL.map(|target| (target.name(), list(target))))
    }

    fn view(&self) -> Option<Tree<'static>> {
        Some(self.state())
    }
}
