//! V0 -> V1: repairs of what early runtimes wrote, then the payload rules of V0 (`docs/spec/events-v0-v3.md`,
//! section 8).
//!
//! Number, order, seqs, times and envelopes stay, and packed runs pass as they are. No id is made up at random: each
//! comes from the session's id and the event's seq, so that every run gives the same log.
//!
//! It keeps the ids of all messages, which replacements of early tool results take over, and one id for each chain of
//! retries.

mod identity;
mod repair;

use dshlog_codec::check::shapes::check_payload;
use dshlog_codec::json::{Js, Tape, Tree};
use dshlog_codec::pack::PackedRow;
use dshlog_codec::{Event, Generation, Header, Place};

use crate::edge::{Edge, Out, Refusal};
use crate::fault::{Check, malformed, shape_fault, shown, unsupported};

use identity::Identities;

const EDGE: &str = "v0-to-v1";
const V0: Generation = Generation(0);

/// The step from V0 to V1.
#[derive(Debug, Default)]
pub struct V0ToV1 {
    session: Owner,
    ids: Identities,
    text: String,
    tape: Tape,
}

impl V0ToV1 {
    /// The step at the beginning of a log.
    pub fn new() -> Self {
        Self::default()
    }
}

impl Edge for V0ToV1 {
    fn from(&self) -> Generation {
        V0
    }

    fn header(&mut self, source: &Header) -> Result<Header, Refusal> {
        self.session = Owner::of(source);
        self.ids = Identities::new(source.id.clone());
        Ok(Header { version: Generation(1), ..source.clone() })
    }

    fn event(&mut self, event: &Event<'_>, out: &mut dyn Out) -> Result<(), Refusal> {
        let refusal = |fault: Box<crate::fault::Fault>| fault.at(EDGE, event.at());
        let Some(row) = repaired(event, &mut self.ids).map_err(refusal)? else {
            check(event, &self.session).map_err(refusal)?;
            self.ids.see(event);
            return out.keep(event);
        };
        let mut text = std::mem::take(&mut self.text).into_bytes();
        text.clear();
        row.print(&mut text);
        // The printer writes lone surrogates as escapes, so this is always UTF-8.
        self.text = String::from_utf8(text).unwrap_or_default();
        let parsed = self.tape.parse_printed(&self.text).ok().and_then(|()| Js::root(&self.text, &self.tape));
        let Some(row) = parsed else {
            return malformed("unreadable-row", "", "").map_err(refusal);
        };
        let event = Event::from_row(row, event.place);
        check(&event, &self.session).map_err(refusal)?;
        self.ids.see(&event);
        out.keep(&event)
    }

    fn run(&mut self, run: &PackedRow<'_>, place: Place, out: &mut dyn Out) -> Option<Result<(), Refusal>> {
        Some(out.run(run, place))
    }

    fn finish(&mut self, cut: u64, _out: &mut dyn Out) -> Result<u64, Refusal> {
        Ok(cut)
    }
}

/// The row as V1 has it; nothing when it is the same (8.2 to 8.11).
fn repaired<'a>(event: &Event<'a>, ids: &mut Identities) -> Check<Option<Tree<'a>>> {
    let stored = event.kind.to_lossy();
    let kind = match &*stored {
        "compact/start" => "compaction/start",
        "compact/summary" => "compaction/summary",
        "compact/end" => "compaction/end",
        "compact/prune" => "compaction/prune",
        "steering/message" => "user/message",
        "request/header-delta" | "mode/set" => return unsupported("retired-event", "/type", stored),
        kind => kind,
    };
    let Some(read) = event.data.filter(|data| data.is_object()) else {
        return malformed("payload", "/data", format!("{} is not an object", shown(event.data)));
    };
    let mut data = Tree::from(read);
    let mut changed = match kind {
        "turn/start" => repair::turn_start(read, &mut data)?,
        "turn/end" => repair::turn_end(read, &mut data)?,
        "request/header" => repair::request_header(read, &mut data)?,
        "user/message" if *stored != *kind => repair::steering(read, &mut data, ids, event.seq)?,
        "llm/retry" => ids.retry(read, &mut data, event.seq),
        _ => false,
    };
    changed |= ids.compaction(kind, &mut data, event.seq);
    changed |= ids.message(kind, event, &mut data)?;
    if !changed && *stored == *kind {
        return Ok(None);
    }
    let mut row = Tree::from(event.row);
    if let Some(members) = row.open() {
        members.set("type", Tree::string(kind));
        members.set("data", data);
    }
    Ok(Some(row))
}

/// What V0 asks of a repaired event.
fn check(event: &Event<'_>, session: &Owner) -> Check {
    if event.is("assistant/chunk") {
        return Ok(());
    }
    check_payload(event, V0).or_else(shape_fault)?;
    if session.is_foreign_delivery(event, V0) {
        return malformed("delivery-owner", "/data/sessionId", shown(event.member("sessionId")));
    }
    Ok(())
}

/// Whose log it is, for delivery markers.
#[derive(Debug, Default)]
pub(crate) struct Owner {
    id: Vec<u8>,
    /// Number of events that a parent may have written; 0 without a parent.
    foreign: u64,
}

impl Owner {
    pub(crate) fn of(header: &Header) -> Self {
        let inherited = header.seed_length.filter(|_| header.parent_session.is_some());
        Owner { id: header.id.as_wtf8().to_vec(), foreign: inherited.unwrap_or(0) }
    }

    /// True for a delivery marker of `generation` that names another session and is not inherited (7.9).
    pub(crate) fn is_foreign_delivery(&self, event: &Event<'_>, generation: Generation) -> bool {
        if !event.is("session-log-deepseek/delivery-accepted") || event.seq.0 < self.foreign {
            return false;
        }
        let version = event.member("sessionFormatVersion").map_or(Some(0), Js::as_count);
        let session = event.member("sessionId").and_then(Js::as_str);
        version == Some(generation.0) && session.is_none_or(|id| *id.to_wtf8() != *self.id)
    }
}

#[cfg(test)]
mod tests;
