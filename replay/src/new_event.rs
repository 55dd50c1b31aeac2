//! Events that no log holds yet, as the official code would write them.

use dshlog_codec::json::{Doc, Fields, JsonError, Tree};
use dshlog_codec::{Event, Millis, Place, Seq};

/// An event of V4 that was made here: its row, printed and parsed.
#[derive(Debug)]
pub struct NewEvent(Doc);

impl NewEvent {
    /// An event with the members that all have, in the order of the official writer.
    pub(crate) fn new(kind: &str, seq: Seq, time: Millis, data: Fields<'_>) -> NewEvent {
        NewEvent::of(envelope(kind, seq, time, data))
    }

    /// An event that goes onto the surface behind all others, made from the call in `source` if there is one.
    pub(crate) fn appended(
        kind: &str,
        seq: Seq,
        time: Millis,
        data: Fields<'_>,
        source: Option<Seq>,
    ) -> NewEvent {
        let mut row = envelope(kind, seq, time, data);
        row.set("surfaceOp", Tree::string("append"));
        if let Some(source) = source {
            row.set("sourceEventSeqs", Tree::Array(vec![Tree::integer(source.0)]));
        }
        NewEvent::of(row)
    }

    /// The mark that closes what came from elsewhere: copied from the parent (`inherited`), or left by an earlier process.
    pub(crate) fn end_seed(seq: Seq, time: Millis, inherited: bool) -> NewEvent {
        let data = if inherited { Fields::new().with("inherited", Tree::bool(true)) } else { Fields::new() };
        NewEvent::new("session/end-seed", seq, time, data)
    }

    /// An event that stands elsewhere, as it is.
    ///
    /// # Errors
    /// A row that does not read back as it was printed; that of an event always does.
    pub(crate) fn copied(event: &Event<'_>) -> Result<NewEvent, JsonError> {
        let mut row = Vec::new();
        event.print_logical(&mut row);
        // The printer writes lone surrogates as escapes, so this is always UTF-8.
        Ok(NewEvent(Doc::parse(String::from_utf8(row).unwrap_or_default())?))
    }

    pub(crate) fn of(row: Fields<'_>) -> NewEvent {
        let mut text = Vec::new();
        Tree::from(row).print(&mut text);
        // The printer writes lone surrogates as escapes, so this is always UTF-8.
        let text = String::from_utf8(text).unwrap_or_default();
        NewEvent(Doc::parse(text).expect("what the printer of the codec printed is JSON"))
    }

    /// The row as a writer of V4 prints it, without line end.
    pub fn text(&self) -> &str {
        self.0.text()
    }

    /// The event. It has no place in a file.
    pub fn event(&self) -> Event<'_> {
        Event::from_row(self.0.root(), Place::default())
    }
}

pub(crate) fn envelope<'a>(kind: &str, seq: Seq, time: Millis, data: Fields<'a>) -> Fields<'a> {
    Fields::new()
        .with("type", Tree::string(kind))
        .with("seq", Tree::integer(seq.0))
        .with("time", Tree::integer(time.0))
        .with("data", data)
}
