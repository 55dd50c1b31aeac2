//! One event: its envelope parsed, its payload the text that was read.

use crate::at::{At, Place};
use crate::json::{Js, JsStr};
use crate::types::{Millis, Seq};

/// One logical event of a log. Borrows the reader's line; what is kept must be copied.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// The whole row.
    pub row: Js<'a>,
    /// Event type.
    pub kind: JsStr<'a>,
    /// Position in the log, dense from 0.
    pub seq: Seq,
    /// When it was recorded. V0 and V1 admit other values than safe integers; then 0, and [`Event::row`] has the text.
    pub time: Millis,
    /// Payload; absent only where V0 and V1 admit that.
    pub data: Option<Js<'a>>,
    /// The mark of events that a reader may pass over when it does not know them.
    pub ignorable: bool,
    /// Where the row stands.
    pub place: Place,
}

impl<'a> Event<'a> {
    /// `surfaceOp` as stored.
    pub fn surface_op(&self) -> Option<Js<'a>> {
        self.row.get("surfaceOp")
    }

    /// `sourceEventSeqs` as stored, in range form.
    pub fn source_seqs(&self) -> Option<Js<'a>> {
        self.row.get("sourceEventSeqs")
    }

    /// True when the type is `name`.
    pub fn is(&self, name: &str) -> bool {
        self.kind == *name
    }

    /// Member `name` of the payload.
    pub fn member(&self, name: &str) -> Option<Js<'a>> {
        self.data?.get(name)
    }

    /// The event's position, for errors.
    pub fn at(&self) -> At {
        At::place(self.place).seq(self.seq)
    }
}
