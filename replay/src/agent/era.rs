//! Which rules a loop wrote by. A log that was migrated keeps what its own loop did (`docs/spec/agent-loop.md`, 13).

use dshlog_codec::json::{Fields, Js, JsString, Tree};

use dshlog_codec::Generation;

use crate::new_event::NewEvent;

/// A loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// That of dsh up to 0.1.1, whose logs had the formats V0 to V2.
    V0,
    /// That of dsh 0.1.2, whose logs had the same formats.
    V0Late,
    /// That of dsh 0.1.5.
    V3,
    /// That of dsh 0.2.1.
    V4,
}

impl Era {
    /// The loop that wrote logs of this generation.
    pub fn of(generation: Generation) -> Self {
        match generation.0 {
            0..=2 => Era::V0,
            3 => Era::V3,
            _ => Era::V4,
        }
    }

    /// Claimed messages are told before a request is prepared, not with it.
    pub(super) fn tells_at_once(self) -> bool {
        self.is_first()
    }

    /// Prompts stand in headers there. A migration took them out, and put them where the loops of today would.
    pub(super) fn is_first(self) -> bool {
        matches!(self, Era::V0 | Era::V0Late)
    }

    /// A changed header may begin a new series, besides.
    pub(super) fn changes_series(self) -> bool {
        matches!(self, Era::V3 | Era::V4)
    }

    /// Whether the runtime context is to be told is decided once, when a step claims its messages.
    pub(super) fn decides_context_early(self) -> bool {
        self == Era::V3
    }

    /// Headers tell of new series.
    pub(super) fn has_series(self) -> bool {
        self != Era::V0
    }

    /// The first header of a process may begin a series too.
    pub(super) fn resumes_series(self) -> bool {
        self == Era::V4
    }

    /// Changes of the tools are told.
    pub(super) fn tells_tools(self) -> bool {
        self == Era::V4
    }

    /// Images that are left out begin a new series.
    pub(super) fn counts_projections(self) -> bool {
        self == Era::V4
    }

    /// Changed tools break a series also on routes that take such changes.
    pub(super) fn always_breaks_on_tools(self) -> bool {
        self != Era::V4
    }

    /// The result that closes a call, as a migration leaves it. `id` is the one that was drawn when the log was written: it has
    /// a seq in it, and the steps from V0 to V2 renumber events and leave ids alone.
    pub(super) fn migrated(self, result: NewEvent, id: &JsString) -> NewEvent {
        const ORDER: [&str; 6] = ["role", "source", "toolCallId", "content", "isError", "id"];
        if self == Era::V4 {
            return result;
        }
        let row = result.event().row;
        let Some(message) = row.get("data").and_then(|data| data.get("message")) else { return result };
        let mut ordered = Fields::new();
        for (name, value) in ORDER.iter().filter_map(|name| Some((*name, message.get(name)?))) {
            ordered.set(name, value);
        }
        if self.is_first() && same_call(message.get("id"), id) {
            ordered.set("id", Tree::js_string(id));
        }
        let mut row = Fields::of(row);
        if let Some(data) = row.get_mut("data").and_then(Tree::open) {
            data.set("message", ordered);
        }
        // Where the steps from V0 begin, sources stand in front.
        if self.is_first()
            && row.get("sourceEventSeqs").is_some()
            && let Some(op) = row.remove("surfaceOp")
        {
            row.set("surfaceOp", op);
        }
        NewEvent::of(row)
    }

    /// Calls that a failing step leaves without a result get one.
    pub(super) fn recovers_calls(self) -> bool {
        self == Era::V4
    }
}

/// Two ids of results that close the same call: they are alike but for the seq at the end.
fn same_call(made: Option<Js<'_>>, drawn: &JsString) -> bool {
    let front = |id: &str| id.rsplit_once('-').map(|(front, _)| front.to_owned());
    let made = made.and_then(Js::as_str).map(|id| id.to_lossy().into_owned());
    made.is_some_and(|made| front(&made) == front(&drawn.to_lossy()))
}
