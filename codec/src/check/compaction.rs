//! Compactions: one at a time, in one turn, unless a later process orphaned it.

use crate::error::Error;
use crate::event::Event;
use crate::json::Js;

use super::fault::{Check, ensure, refuse, shortened, shown};
use super::rule::Rule;
use super::scalar::{Id, Scalar, count, nonempty};
use super::surface::Surface;
use super::vocabulary::EventType;

const RULE: Rule = Rule::Compaction;

#[derive(Debug)]
struct Open {
    id: Id,
    command: Scalar,
    turn: Option<u64>,
    seq: u64,
    summarized: bool,
}

/// The open compaction of a log.
#[derive(Debug, Default)]
pub(super) struct Compactions {
    open: Option<Open>,
}

impl Compactions {
    /// `compaction/start`.
    pub(super) fn start(&mut self, event: &Event<'_>, data: Js<'_>, turn: Option<u64>) -> Check {
        let id = data.get("compactionId");
        let Some(name) = nonempty(id) else { return refuse(RULE, "/data/compactionId", shown(id)) };
        if let Some(open) = &self.open {
            return refuse(RULE, "", format!("the one that starts at {} is open", open.seq));
        }
        let stated = data.get("turn");
        let fits = match turn {
            Some(turn) => count(stated) == Some(turn),
            None => stated.is_some_and(Js::is_null),
        };
        ensure(fits, RULE, "/data/turn", stated)?;
        self.open = Some(Open {
            id: name.to_wtf8().into(),
            command: Scalar::of(data.get("sourceCommandId")),
            turn,
            seq: event.seq.0,
            summarized: false,
        });
        Ok(())
    }

    /// The open compaction, when `ids` has its `compactionId` and `sourceCommandId`.
    fn named<'o>(&'o mut self, ids: Js<'_>, pointer: &str) -> Check<&'o mut Open> {
        let id = ids.get("compactionId");
        let found = self.open.as_mut().filter(|open| {
            id.and_then(Js::as_str).is_some_and(|id| *id.to_wtf8() == *open.id)
                && open.command.is_same_as(ids.get("sourceCommandId"))
        });
        match found {
            Some(open) => Ok(open),
            None => refuse(RULE, pointer, format!("no such one is open: {}", shown(id))),
        }
    }

    /// `compaction/summary`.
    pub(super) fn summary(
        &mut self,
        event: &Event<'_>,
        data: Js<'_>,
        turn: Option<u64>,
        surface: &Surface,
    ) -> Check {
        surface.check_span(event, data)?;
        let open = self.named(data, "/data/compactionId")?;
        if open.turn != turn {
            return refuse(RULE, "", "its turn is over");
        }
        if open.summarized {
            return refuse(RULE, "", "it has a summary already");
        }
        open.summarized = true;
        Ok(())
    }

    /// A `user/message` that takes the place of what was compacted. `source` is the message's. Unlike a summary it may
    /// come when the turn is over, which only an orphaned compaction can outlive.
    pub(super) fn checkpoint(&mut self, source: Js<'_>) -> Check {
        self.named(source, "/data/source/compactionId").map(|_| ())
    }

    /// `compaction/end`.
    pub(super) fn end(&mut self, data: Js<'_>) -> Check {
        let open = self.named(data, "/data/compactionId")?;
        let stated = data.get("turn");
        let fits = match open.turn {
            Some(turn) => count(stated) == Some(turn),
            None => stated.is_some_and(Js::is_null),
        };
        ensure(fits, RULE, "/data/turn", stated)?;
        if !open.summarized && data.get("error").is_none() {
            return refuse(RULE, "", "it ends well, but has no summary");
        }
        self.open = None;
        Ok(())
    }

    /// `session/end-seed`: whoever held the compaction is gone.
    pub(super) fn forget(&mut self) {
        self.open = None;
    }

    /// Seq and id of the open one.
    pub(super) fn open(&self) -> Option<(u64, &[u8])> {
        self.open.as_ref().map(|open| (open.seq, &*open.id))
    }
}

/// Turn boundaries that cross an open compaction. That is a fault unless a `session/end-seed` shows later that the
/// compaction was orphaned, so the fault waits for what comes first: that marker, or another event of compactions,
/// or the end of the log. Ids are not compared here.
#[derive(Debug, Default)]
pub(super) struct Crossings {
    /// The latest start that nothing has ended.
    start: Option<u64>,
    waiting: Option<Error>,
    real: Option<Error>,
}

impl Crossings {
    /// Must see every known event.
    pub(super) fn see(&mut self, kind: EventType, seq: u64) {
        match kind {
            EventType::CompactionStart | EventType::CompactionEnd => {
                self.settle();
                self.start = (kind == EventType::CompactionStart).then_some(seq);
            }
            EventType::EndSeed => {
                self.start = None;
                self.waiting = None;
            }
            _ => {}
        }
    }

    fn settle(&mut self) {
        if let Some(fault) = self.waiting.take() {
            self.real.get_or_insert(fault);
        }
    }

    /// `turn/start` or `turn/end` while `open` is open.
    pub(super) fn cross(&mut self, event: &Event<'_>, open: (u64, &[u8])) {
        let (start, id) = open;
        let id = shortened(&String::from_utf8_lossy(id));
        let crossing = refuse::<()>(RULE, "", format!("the turn boundary crosses {id}, open since {start}"));
        if let Err(fault) = crossing {
            let fault = fault.at(event.at());
            if self.start == Some(start) {
                self.waiting.get_or_insert(fault);
            } else {
                self.real.get_or_insert(fault);
            }
        }
    }

    /// The first crossing, when the log ends here.
    pub(super) fn finish(mut self) -> Option<Error> {
        self.settle();
        self.real
    }
}
