//! V1 -> V2: the chunks of an answer become one stream (`docs/spec/events-v0-v3.md`, section 9).
//!
//! Top-level `assistant/chunk` events go away; what an attempt has streamed lies in its message, or in an
//! `assistant/attempt` when there is none. So seqs change, and every reference within the log with them.
//!
//! The open attempt is held back: its stream, as text, and its tail, the rows since its last chunk, because only a later
//! event says whether it goes out as a message behind them or as an attempt before them. Beyond that the step keeps the
//! map of seqs, as runs of consecutive ones: about one for each attempt.

mod attempt;
mod seq_map;

use dshlog_codec::check::shapes::{check_payload, is_known};
use dshlog_codec::json::{Fields, Js, Tape, Tree};
use dshlog_codec::pack::{PackedRow, Ranges};
use dshlog_codec::{At, Event, Generation, Header, Place};

use crate::edge::{Edge, Out, Refusal};
use crate::fault::{Check, Fault, malformed, shape_fault, shown, unsupported};
use crate::v0_to_v1::Owner;

use attempt::{Attempt, Coordinate};
use seq_map::SeqMap;

const EDGE: &str = "v1-to-v2";
const V1: Generation = Generation(1);

/// Where the events of V1 come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// Out of a V1 file: payloads are checked.
    Decoded,
    /// Out of the step from V0, which has checked them.
    Transformed,
}

/// The step from V1 to V2.
#[derive(Debug)]
pub struct V1ToV2 {
    kind: SourceKind,
    owner: Owner,
    /// Number of inherited events in the source; nothing when the log is not seeded.
    cut: Option<u64>,
    /// The same in the target, once it is known.
    target_cut: Option<u64>,
    map: SeqMap,
    next: u64,
    /// Of the last row: time, as JSON text, and place; for the marker at the end.
    last_time: Option<Box<str>>,
    last_place: Place,
    open_turn: Option<u64>,
    step_is_open: bool,
    /// The last event put messages into the inbox of the next turn.
    filled_inbox: bool,
    pending: Option<Attempt>,
}

impl V1ToV2 {
    /// The step at the beginning of a log.
    pub fn new(kind: SourceKind) -> Self {
        V1ToV2 {
            kind,
            owner: Owner::default(),
            cut: None,
            target_cut: None,
            map: SeqMap::default(),
            next: 0,
            last_time: None,
            last_place: Place::default(),
            open_turn: None,
            step_is_open: false,
            filled_inbox: false,
            pending: None,
        }
    }
}

impl Edge for V1ToV2 {
    fn from(&self) -> Generation {
        V1
    }

    fn header(&mut self, source: &Header) -> Result<Header, Refusal> {
        self.owner = Owner::of(source);
        self.cut = source.is_seeded.then(|| source.seed_length.unwrap_or(0));
        self.target_cut = if source.is_seeded { None } else { Some(0) };
        self.last_time = Some(source.created_at.to_string().into());
        Ok(Header { version: Generation(2), seed_length: None, ..source.clone() })
    }

    fn event(&mut self, event: &Event<'_>, out: &mut dyn Out) -> Result<(), Refusal> {
        let restart = self.admit(event).map_err(|fault| fault.at(EDGE, event.at()))?;
        check_time(event).map_err(|fault| fault.at(EDGE, event.at()))?;
        self.observe(event);
        self.pass(event.row.get("time"), event.place);
        if let Some(turn) = restart {
            self.close_attempt(out)?;
            let reason = Fields::new().with("kind", Tree::string("interrupted"));
            let data = Fields::new().with("turn", Tree::integer(turn)).with("reason", reason);
            self.put_generated("turn/end", data.into(), &Origin::of(event), out)?;
        }
        if let Some(change) = legacy_goal(event) {
            return self.goal(event, change, out);
        }
        match &*event.kind.to_lossy() {
            "assistant/chunk" => self.chunk(event, out),
            "assistant/message" => self.settle(event, out),
            "turn/end" | "step/end" | "llm/retry" | "llm/retry-started" => {
                self.close_attempt(out)?;
                self.put_own(event, out)
            }
            _ => match &mut self.pending {
                Some(attempt) => {
                    attempt.hold(event);
                    Ok(())
                }
                None => self.put_own(event, out),
            },
        }
    }

    fn run(&mut self, run: &PackedRow<'_>, place: Place, out: &mut dyn Out) -> Option<Result<(), Refusal>> {
        Some(self.packed(run, place, out))
    }

    fn finish(&mut self, _cut: u64, out: &mut dyn Out) -> Result<u64, Refusal> {
        self.close_attempt(out)?;
        if self.target_cut.is_none() {
            let time = self.last_time.take().map(Tree::Text);
            self.put_marker(time, self.last_place, out)?;
        }
        Ok(self.target_cut.unwrap_or(0))
    }
}

/// The official step to V3 refuses a time of negative zero, and sees it, since events pass from step to step unprinted
/// there. Here a rewritten row is printed, as `0`, so it is refused one step earlier. Chunks lose their times before that.
fn check_time(event: &Event<'_>) -> Check {
    let time = event.row.get("time");
    let is_negative = time.and_then(Js::as_f64).is_some_and(|time| time == 0.0 && time.is_sign_negative());
    if is_negative && !event.is("assistant/chunk") {
        return malformed("envelope", "/time", shown(time));
    }
    Ok(())
}

/// What an event goes out for: a generated one has the position and time of an event of the source.
struct Origin<'a> {
    seq: u64,
    time: Option<Tree<'a>>,
    place: Place,
}

impl<'a> Origin<'a> {
    fn of(event: &Event<'a>) -> Self {
        Origin { seq: event.seq.0, time: event.row.get("time").map(Tree::from), place: event.place }
    }
}

/// What comes in (9.2).
impl V1ToV2 {
    /// The checks on an event. Gives the open turn when the event starts another one behind a full inbox.
    fn admit(&self, event: &Event<'_>) -> Check<Option<u64>> {
        let kind = event.kind.to_lossy();
        if kind == "assistant/chunk" {
            attempt::check_envelope(event.row)?;
        } else if !is_known(&kind, V1) {
            return unsupported("unknown-event", "/type", crate::fault::shortened(&kind));
        } else if self.kind == SourceKind::Decoded {
            check_payload(event, V1).or_else(shape_fault)?;
        }
        let restart = self.interrupted(event);
        if self.open_turn.is_some() && restart.is_none() && event.is("turn/start") {
            return unsupported("turn-in-turn", "/data/turn", shown(event.member("turn")));
        }
        if self.owner.is_foreign_delivery(event, V1) {
            return unsupported("delivery-owner", "/data/sessionId", shown(event.member("sessionId")));
        }
        Ok(restart)
    }

    /// The turn that `event` finds open, when it is the start of the next one and directly behind what was put into
    /// its inbox (9.5).
    fn interrupted(&self, event: &Event<'_>) -> Option<u64> {
        let open = self.open_turn.filter(|_| !self.step_is_open && self.filled_inbox)?;
        let next = event.member("turn").filter(|_| event.is("turn/start"))?.as_count()?;
        (next == open + 1).then_some(open)
    }

    fn observe(&mut self, event: &Event<'_>) {
        self.filled_inbox = false;
        match &*event.kind.to_lossy() {
            "turn/start" => {
                self.open_turn = event.member("turn").and_then(Js::as_count);
                self.step_is_open = false;
            }
            "turn/end" => {
                self.open_turn = None;
                self.step_is_open = false;
            }
            "step/start" => self.step_is_open = true,
            "step/end" => self.step_is_open = false,
            "agent/inbox/spliced" => {
                let inserted = event.member("inserted").and_then(|list| list.elements().next());
                let target = event.member("target");
                self.filled_inbox = inserted.is_some() && target.is_some_and(|t| t.is("next-turn"));
            }
            _ => {}
        }
    }

    /// Remember time and place of a row for as long as a marker may need them.
    fn pass(&mut self, time: Option<Js<'_>>, place: Place) {
        self.last_place = place;
        if self.target_cut.is_none() {
            self.last_time = time.map(|time| {
                let mut text = Vec::new();
                dshlog_codec::json::print(&mut text, time);
                String::from_utf8_lossy(&text).into()
            });
        }
    }

    /// A single chunk.
    fn chunk(&mut self, event: &Event<'_>, out: &mut dyn Out) -> Result<(), Refusal> {
        let (turn, step) = (event.member("turn"), event.member("step"));
        let attempt = self.join(Coordinate::of(turn), Coordinate::of(step), out)?;
        let pushed = attempt.push_chunk(event);
        let first = attempt.first();
        pushed.and_then(|()| self.check_cut(first, event.seq.0)).map_err(|fault| fault.at(EDGE, event.at()))
    }

    /// A packed run. Only the run itself must not lie on both sides of the cut, as in the official reader (9.8).
    fn packed(&mut self, run: &PackedRow<'_>, place: Place, out: &mut dyn Out) -> Result<(), Refusal> {
        let first = run.seq0.0;
        let last = first + (run.len() as u64).saturating_sub(1);
        self.filled_inbox = false;
        let (turn, step) = (Coordinate::count(run.turn), Coordinate::count(run.step));
        let attempt = self.join(turn, step, out)?;
        attempt.push_run(run, place);
        let time = attempt.time();
        self.last_place = place;
        if self.target_cut.is_none() {
            self.last_time = Some(time.to_string().into());
        }
        self.check_cut(first, last).map_err(|fault| fault.at(EDGE, At::place(place).seq(run.seq0)))
    }

    /// The attempt that a chunk belongs to: the open one, whose tail then goes out before it, or a new one.
    fn join(
        &mut self,
        turn: Coordinate,
        step: Coordinate,
        out: &mut dyn Out,
    ) -> Result<&mut Attempt, Refusal> {
        match &mut self.pending {
            Some(attempt) if attempt.takes(&turn, &step) => {
                let tail = attempt.take_tail();
                self.put_tail(tail, out)?;
            }
            _ => self.close_attempt(out)?,
        }
        Ok(self.pending.get_or_insert_with(|| Attempt::new(turn, step)))
    }

    /// What belongs together lies on one side of the cut.
    fn check_cut(&self, first: u64, last: u64) -> Check {
        let cut = self.cut.unwrap_or(0);
        if (first < cut) == (last < cut) {
            return Ok(());
        }
        unsupported(
            "attempt-across-cut",
            "",
            format!("the attempt has events {first} to {last}, the cut is {cut}"),
        )
    }

    /// A message takes the stream of its attempt (9.5).
    fn settle(&mut self, event: &Event<'_>, out: &mut dyn Out) -> Result<(), Refusal> {
        let mut stream = Tree::Array(Vec::new());
        if let Some(mut attempt) = self.claim(event, out)? {
            self.put_tail(attempt.take_tail(), out)?;
            stream = attempt.stream();
        }
        let Some(data) = event.data else { return Ok(()) };
        let mut data = Tree::from(data);
        if let Some(members) = data.open() {
            members.set("stream", stream);
        }
        self.put(event, data, None, out)
    }

    /// The attempt whose message `event` is, taken out; nothing when it has none.
    fn claim(&mut self, event: &Event<'_>, out: &mut dyn Out) -> Result<Option<Attempt>, Refusal> {
        let refusal = |fault: Box<Fault>| fault.at(EDGE, event.at());
        let (turn, step) = (Coordinate::of(event.member("turn")), Coordinate::of(event.member("step")));
        if self.pending.as_ref().is_some_and(|attempt| !attempt.is_of(&turn, &step)) {
            self.close_attempt(out)?;
            return Ok(None);
        }
        let sources = event.source_seqs();
        if sources.is_some_and(|sources| sources.is_array() && sources.elements().next().is_none()) {
            self.close_attempt(out)?;
            return Ok(None);
        }
        let claimed = sources.and_then(|sources| Ranges::decode(sources, event.seq.0, V1).ok());
        let claims = |attempt: &Attempt| claimed.is_some_and(|seqs| attempt.has_seqs(&seqs));
        match (&self.pending, sources) {
            (None, None) => return Ok(None),
            (Some(attempt), _) if claims(attempt) => {
                self.check_cut(attempt.first(), event.seq.0).map_err(refusal)?;
            }
            _ => {
                return unsupported("message-sources", "/sourceEventSeqs", shown(sources)).map_err(refusal);
            }
        }
        Ok(self.pending.take())
    }

    /// A change of the goal that was written as a message becomes an event of its own (9.7). It does not wait for the
    /// open attempt.
    fn goal(&mut self, event: &Event<'_>, change: Js<'_>, out: &mut dyn Out) -> Result<(), Refusal> {
        self.put_generated("goal/change", change.into(), &Origin::of(event), out)?;
        let Some(data) = event.data else { return Ok(()) };
        let mut data = Tree::from(data);
        if let Some(members) = data.open() {
            let source =
                Fields::new().with("kind", Tree::string("plugin")).with("plugin", Tree::string("goal"));
            members.set("source", source);
        }
        self.put(event, data, event.source_seqs(), out)
    }
}

fn legacy_goal<'a>(event: &Event<'a>) -> Option<Js<'a>> {
    let source = event.member("source").filter(|_| event.is("user/message"))?;
    source.get("change").filter(|_| source.get("kind").is_some_and(|kind| kind.is("goal")))
}

/// What goes out (9.1, 9.6, 9.8).
impl V1ToV2 {
    /// The open attempt has no message.
    fn close_attempt(&mut self, out: &mut dyn Out) -> Result<(), Refusal> {
        let Some(mut attempt) = self.pending.take() else { return Ok(()) };
        let origin = Origin {
            seq: attempt.last(),
            time: Some(Tree::integer(attempt.time().0)),
            place: attempt.place(),
        };
        let data = attempt.payload();
        self.put_generated("assistant/attempt", data, &origin, out)?;
        self.put_tail(attempt.take_tail(), out)
    }

    fn put_tail(&mut self, tail: Vec<(Box<str>, Place)>, out: &mut dyn Out) -> Result<(), Refusal> {
        let mut tape = Tape::new();
        for (text, place) in tail {
            let parsed = tape.parse(&text).ok().and_then(|()| Js::root(&text, &tape));
            let Some(row) = parsed else {
                return malformed("unreadable-row", "", "")
                    .map_err(|f: Box<Fault>| f.at(EDGE, At::place(place)));
            };
            self.put_own(&Event::from_row(row, place), out)?;
        }
        Ok(())
    }

    /// An event of the source as it is, but for seqs.
    fn put_own(&mut self, event: &Event<'_>, out: &mut dyn Out) -> Result<(), Refusal> {
        let is_marker = Some(event.seq.0) == self.cut && event.is("session/end-seed");
        let data = match event.data {
            _ if is_marker => Fields::new().with("inherited", Tree::bool(true)).into(),
            Some(data) => data.into(),
            None => Fields::new().into(),
        };
        self.put(event, data, event.source_seqs(), out)
    }

    /// An event of the source with this data and these sources.
    fn put(
        &mut self,
        event: &Event<'_>,
        mut data: Tree<'_>,
        sources: Option<Js<'_>>,
        out: &mut dyn Out,
    ) -> Result<(), Refusal> {
        self.open_cut(&Origin::of(event), event.is("session/end-seed"), out)?;
        // Known before references are looked at: one to the event itself is none that is lost.
        self.map.insert(event.seq.0, self.next);
        let mut row = Fields::of(event.row);
        row.remove("sourceEventSeqs");
        row.remove("surfaceOp");
        row.set("seq", Tree::integer(self.next));
        let moved = self.map.move_payload(&event.kind.to_lossy(), &mut data).and_then(|()| {
            row.set("data", data);
            if let Some(sources) = sources {
                row.set("sourceEventSeqs", self.map.move_sources(sources, event.seq.0)?);
            }
            if let Some(op) = event.surface_op() {
                row.set("surfaceOp", self.map.move_surface_op(op)?);
            }
            Ok(())
        });
        moved.map_err(|fault| fault.at(EDGE, event.at()))?;
        self.next += 1;
        out.put(&row.into(), event.place)
    }

    /// An event that the source does not have.
    fn put_generated(
        &mut self,
        kind: &str,
        data: Tree<'_>,
        origin: &Origin<'_>,
        out: &mut dyn Out,
    ) -> Result<(), Refusal> {
        self.open_cut(origin, false, out)?;
        self.put_new(kind, data, origin.time.clone(), origin.place, out)
    }

    fn put_new(
        &mut self,
        kind: &str,
        data: Tree<'_>,
        time: Option<Tree<'_>>,
        place: Place,
        out: &mut dyn Out,
    ) -> Result<(), Refusal> {
        let mut row = Fields::new().with("type", Tree::string(kind)).with("seq", Tree::integer(self.next));
        if let Some(time) = time {
            row.set("time", time);
        }
        self.next += 1;
        out.put(&row.with("data", data).into(), place)
    }

    /// Before the first event that is not inherited there is a marker, unless it is one itself.
    fn open_cut(&mut self, origin: &Origin<'_>, is_end_seed: bool, out: &mut dyn Out) -> Result<(), Refusal> {
        let cut = match (self.cut, self.target_cut) {
            (Some(cut), None) if origin.seq >= cut => cut,
            _ => return Ok(()),
        };
        if origin.seq == cut && is_end_seed {
            self.target_cut = Some(self.next);
            return Ok(());
        }
        self.put_marker(origin.time.clone(), origin.place, out)
    }

    fn put_marker(&mut self, time: Option<Tree<'_>>, place: Place, out: &mut dyn Out) -> Result<(), Refusal> {
        self.target_cut = Some(self.next);
        let data = Fields::new().with("inherited", Tree::bool(true));
        self.put_new("session/end-seed", data.into(), time, place, out)
    }
}

#[cfg(test)]
mod tests;
