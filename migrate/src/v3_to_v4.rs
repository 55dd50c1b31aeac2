//! V3 to V4 (`docs/spec/events-v4.md`, section 10): sources that name their producer, results with the role `tool`,
//! turns that a restart left open, and the catalog of the session's children.
//!
//! It keeps the seqs before which it inserted something, the catalog, and a few words about the last event.

mod catalog;
mod payload;
mod references;

use dshlog_codec::check::EventType;
use dshlog_codec::json::{Fields, Js, JsString, Tree, print_number};
use dshlog_codec::{Event, Generation, Header, Place, Seq};

use crate::children::Child;
use crate::edge::{Edge, Out, Refusal};
use crate::fault::{Check, malformed, shortened, shown, unsupported};
use crate::shift::Shift;

use catalog::Catalog;

/// The name that refusals carry.
const NAME: &str = "v3-to-v4";

/// The step from V3 to V4 over one log.
#[derive(Debug)]
pub struct V3ToV4 {
    children: Option<Vec<Child>>,
    id: JsString,
    is_seeded: bool,
    is_forked: bool,
    shift: Shift,
    /// Number of source events so far.
    events: u64,
    restart: Restart,
    /// The last inherited marker, in the source.
    cut: Option<u64>,
    /// The last delivery to another session, whose place can only be judged once the cut is known.
    foreign_delivery: Option<Refusal>,
    catalog: Catalog,
    /// Time of the last event; of the session before the first.
    time: i64,
    place: Place,
}

/// What is known of the turn that a restart may have left open (section 10.4).
#[derive(Debug, Default)]
struct Restart {
    turn: Option<f64>,
    in_step: bool,
    /// The event before is a splice that can start a turn.
    is_spliced: bool,
}

impl V3ToV4 {
    /// The step, with what is known of the session's subagents, see [`crate::children::collect`]. That a session has
    /// none must be said by an empty list: without a list only headers are carried over.
    pub fn new(children: Option<Vec<Child>>) -> Self {
        V3ToV4 {
            children,
            id: JsString::default(),
            is_seeded: false,
            is_forked: false,
            shift: Shift::default(),
            events: 0,
            restart: Restart::default(),
            cut: None,
            foreign_delivery: None,
            catalog: Catalog::default(),
            time: 0,
            place: Place::default(),
        }
    }

    fn need_children(&self) -> Result<(), Refusal> {
        if self.children.is_some() {
            return Ok(());
        }
        let fault = unsupported("children-unknown", "", "nothing is known of the session's subagents");
        fault.map_err(|f| f.at(NAME, dshlog_codec::At::default()))
    }

    fn carry<'a>(&mut self, event: &Event<'a>) -> Check<Option<Tree<'a>>> {
        let kind = EventType::of(event.kind).filter(|kind| kind.is_known_to(Generation(3)));
        let seq = event.seq.0;
        let target = self.shift.target(seq);
        let Some(kind) = kind else {
            if !event.ignorable {
                return unsupported("unknown-event", "/type", shortened(&event.kind.to_lossy()));
            }
            let mut row = Tree::from(event.row);
            if let Some(fields) = row.open() {
                fields.set("type", Tree::prefixed("plugin:", event.kind));
                fields.set("seq", Tree::integer(target));
            }
            return Ok(Some(row));
        };
        self.observe(event, kind)?;
        let mut members = Vec::new();
        let mut data = event.data.map(Tree::from);
        if target != seq {
            members.push(("seq", Tree::integer(target)));
            references::carry(event, kind, &self.shift, &mut members, &mut data)?;
        }
        payload::carry(event, kind, &mut members, &mut data)?;
        if let Some(data) = data.filter(|data| data.read().is_none()) {
            members.push(("data", data));
        }
        if members.is_empty() {
            return Ok(None);
        }
        let mut row = Tree::from(event.row);
        if let Some(fields) = row.open() {
            for (name, value) in members {
                fields.set(name, value);
            }
        }
        Ok(Some(row))
    }

    /// The cut, the catalog and the deliveries (section 10.10).
    fn observe(&mut self, event: &Event<'_>, kind: EventType) -> Check {
        match kind {
            EventType::EndSeed if event.member("inherited").is_some_and(Js::is_true) => {
                if !self.is_seeded {
                    return malformed("marker-without-seed", "/data/inherited", "");
                }
                self.cut = Some(event.seq.0);
                self.catalog.clear();
                Ok(())
            }
            EventType::SubagentCatalog => {
                self.catalog.see(event);
                Ok(())
            }
            EventType::Delivery => self.delivery(event),
            _ => Ok(()),
        }
    }

    fn delivery(&mut self, event: &Event<'_>) -> Check {
        const CODE: &str = "delivery";
        let Some(data) = event.data.filter(|data| data.is_object()) else {
            return malformed(CODE, "/data", shown(event.data));
        };
        let version = data.get("sessionFormatVersion");
        match version.map_or(Some(0), Js::as_count) {
            None => return malformed(CODE, "/data/sessionFormatVersion", shown(version)),
            Some(3) => {}
            Some(4) => return unsupported(CODE, "/data/sessionFormatVersion", "claims the target's version"),
            Some(_) => return Ok(()),
        }
        let through = data.get("throughSeq");
        if through.and_then(Js::as_count).is_none_or(|through| through >= event.seq.0) {
            return malformed(CODE, "/data/throughSeq", shown(through));
        }
        let id = data.get("sessionId");
        let Some(session) = id.and_then(Js::as_str).filter(|id| !id.is_empty()) else {
            return malformed(CODE, "/data/sessionId", shown(id));
        };
        if *session.to_wtf8() == *self.id.as_wtf8() {
            return Ok(());
        }
        let foreign = malformed(CODE, "/data/sessionId", format!("another session: {}", shown(id)));
        if !self.is_forked {
            return foreign;
        }
        // Good below the cut, which only the end of the log tells; a later one is below it only if this one is.
        if let Err(fault) = foreign {
            self.foreign_delivery = Some(fault.at(NAME, event.at()));
        }
        Ok(())
    }

    fn finish_log(&mut self, cut: u64) -> Result<u64, Refusal> {
        let refuse = |code, what: String| {
            malformed::<()>(code, "", what).map_err(|f| f.at(NAME, dshlog_codec::At::default()))
        };
        match self.cut {
            None if self.is_seeded => refuse("seed-without-marker", String::new())?,
            own if own.unwrap_or(0) != cut => {
                refuse("marker-not-at-cut", format!("{} and {cut}", own.unwrap_or(0)))?;
            }
            _ => {}
        }
        match self.foreign_delivery.take() {
            Some(refusal) if refusal.at.seq >= Some(Seq(cut)) => Err(refusal),
            _ => Ok(self.cut.map_or(0, |cut| self.shift.target(cut))),
        }
    }
}

impl Edge for V3ToV4 {
    fn from(&self) -> Generation {
        Generation(3)
    }

    fn header(&mut self, source: &Header) -> Result<Header, Refusal> {
        self.id = source.id.clone();
        self.is_seeded = source.is_seeded;
        self.is_forked = source.parent_session.is_some();
        // A count is at most 2^53 - 1.
        self.time = i64::try_from(source.created_at).unwrap_or(i64::MAX);
        Ok(Header { version: Generation(4), ..source.clone() })
    }

    fn event(&mut self, event: &Event<'_>, out: &mut dyn Out) -> Result<(), Refusal> {
        self.need_children()?;
        if let Some(turn) = self.restart.see(event) {
            let target = self.shift.target(event.seq.0);
            out.put(&interrupted(turn, target, event), event.place)?;
            self.shift.insert_before(event.seq.0);
        }
        self.time = event.time.0;
        self.place = event.place;
        self.events += 1;
        match self.carry(event).map_err(|fault| fault.at(NAME, event.at()))? {
            None => out.keep(event),
            Some(row) => out.put(&row, event.place),
        }
    }

    fn finish(&mut self, cut: u64, out: &mut dyn Out) -> Result<u64, Refusal> {
        self.need_children()?;
        let target_cut = self.finish_log(cut)?;
        let children = self.children.take().unwrap_or_default();
        let first = self.shift.target(self.events);
        for (seq, entry) in (first..).zip(self.catalog.complete(children)?) {
            let row = Fields::new()
                .with("type", Tree::string("subagent/catalog"))
                .with("seq", Tree::integer(seq))
                .with("time", Tree::integer(self.time))
                .with("data", entry);
            out.put(&row.into(), self.place)?;
        }
        Ok(target_cut)
    }
}

impl Restart {
    /// The open turn that has to be closed before this event.
    fn see(&mut self, event: &Event<'_>) -> Option<f64> {
        let is_spliced = std::mem::take(&mut self.is_spliced);
        let turn = || event.member("turn").and_then(Js::as_f64);
        if event.is("turn/start") {
            let next = turn();
            let open = self.turn.filter(|open| is_spliced && !self.in_step && next == Some(open + 1.0));
            self.turn = next;
            return open;
        }
        if event.is("turn/end") {
            self.turn = None;
        } else if event.is("step/start") || event.is("step/end") {
            self.in_step = event.is("step/start");
        } else if event.is("agent/inbox/spliced") {
            let inserted = event.member("inserted").is_some_and(|list| list.elements().next().is_some());
            self.is_spliced = inserted && event.member("target").is_some_and(|target| target.is("next-turn"));
        }
        None
    }
}

/// The `turn/end` that a restart left out, with the time of the next turn's start.
fn interrupted<'a>(turn: f64, seq: u64, next: &Event<'a>) -> Tree<'a> {
    let mut number = Vec::new();
    print_number(&mut number, turn);
    let reason = Fields::new().with("kind", Tree::string("interrupted"));
    let data = Fields::new().with("turn", Tree::printed(number)).with("reason", reason);
    Fields::new()
        .with("type", Tree::string("turn/end"))
        .with("seq", Tree::integer(seq))
        .with("time", Tree::integer(next.time.0))
        .with("data", data)
        .into()
}

#[cfg(test)]
mod tests;
