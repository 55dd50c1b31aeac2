//! One event: its envelope parsed, its payload the text that was read.

use crate::at::{At, Place};
use crate::json::{Js, JsStr, is_canonical, print, print_str};
use crate::pack::Ranges;
use crate::types::{Generation, Millis, Seq};

/// The longest list of seqs that is printed number by number: some 150 MB of text.
const MOST_PLAIN: u64 = 1 << 24;

/// One logical event of a log. Borrows the reader's line; what is kept must be copied.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// The whole row.
    pub row: Js<'a>,
    /// Event type; empty where V0 and V1 admit a row without one.
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
    surface_op: Option<Js<'a>>,
    source_seqs: Option<Js<'a>>,
}

impl<'a> Event<'a> {
    pub(crate) fn new(row: Js<'a>, envelope: &Envelope<'a>, seq: Seq, place: Place) -> Self {
        Event {
            row,
            kind: envelope.kind.and_then(Js::as_str).unwrap_or(JsStr::plain("")),
            seq,
            time: Millis(envelope.time.and_then(Js::as_safe_integer).unwrap_or(0)),
            data: envelope.data,
            ignorable: envelope.ignorable.is_some_and(Js::is_true),
            place,
            surface_op: envelope.surface_op,
            source_seqs: envelope.source_seqs,
        }
    }

    /// The event of a row that is known to be well formed, for callers that have rows but no reader. `seq` is the row's
    /// own, 0 when it is no count.
    pub fn from_row(row: Js<'a>, place: Place) -> Self {
        let envelope = Envelope::read(row);
        let seq = envelope.seq.and_then(Js::as_count).unwrap_or(0);
        Event::new(row, &envelope, Seq(seq), place)
    }

    /// `surfaceOp` as stored.
    pub fn surface_op(&self) -> Option<Js<'a>> {
        self.surface_op
    }

    /// `sourceEventSeqs` as stored, in range form.
    pub fn source_seqs(&self) -> Option<Js<'a>> {
        self.source_seqs
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

    /// Append the event as the official code prints it: JavaScript's spelling, `sourceEventSeqs` as a plain list, no
    /// line end.
    ///
    /// A list of more seqs than a log of many gigabytes has events stays in range form: a row of a few bytes must
    /// not become text without end.
    pub fn print_logical(&self, out: &mut Vec<u8>) {
        self.print_with(out, |ranges, out| {
            if ranges.len() <= MOST_PLAIN { ranges.print_plain(out) } else { ranges.print_ranges(out) }
        });
    }

    /// Append the row that the encoder of V2 and later writes for this event: as [`Event::print_logical`], with
    /// `sourceEventSeqs` in range form (`docs/spec/rows.md`, 5.1).
    pub fn print_row(&self, out: &mut Vec<u8>) {
        self.print_with(out, Ranges::print_ranges);
    }

    fn print_with(&self, out: &mut Vec<u8>, print_ranges: impl Fn(&Ranges<'a>, &mut Vec<u8>)) {
        let canonical = is_canonical(self.row);
        // The rules of V0 hold for every list that a reader of any generation has let through.
        let print_sources =
            |out: &mut Vec<u8>, sources: Js<'a>| match Ranges::decode(sources, self.seq.0, Generation(0)) {
                Ok(ranges) => print_ranges(&ranges, out),
                Err(_) => print(out, sources),
            };
        let Some(sources) = self.source_seqs else {
            if canonical {
                out.extend_from_slice(self.row.raw().as_bytes());
            } else {
                print(out, self.row);
            }
            return;
        };
        if canonical {
            // Only the list is spelled anew.
            let (start, end) = (self.row.offset(), sources.offset());
            let raw = self.row.raw();
            out.extend_from_slice(&raw.as_bytes()[..end - start]);
            print_sources(out, sources);
            out.extend_from_slice(&raw.as_bytes()[end - start + sources.raw().len()..]);
            return;
        }
        out.push(b'{');
        for (i, (key, value)) in crate::json::ordered_members(self.row).into_iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            print_str(out, key);
            out.push(b':');
            if key == "sourceEventSeqs" {
                print_sources(out, value);
            } else {
                print(out, value);
            }
        }
        out.push(b'}');
    }
}

/// The members of a row that the format names, each the last of its name.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Envelope<'a> {
    pub(crate) kind: Option<Js<'a>>,
    pub(crate) seq: Option<Js<'a>>,
    pub(crate) time: Option<Js<'a>>,
    pub(crate) data: Option<Js<'a>>,
    pub(crate) ignorable: Option<Js<'a>>,
    pub(crate) surface_op: Option<Js<'a>>,
    pub(crate) source_seqs: Option<Js<'a>>,
    /// There is a member of another name.
    pub(crate) extra: bool,
}

impl<'a> Envelope<'a> {
    pub(crate) fn read(row: Js<'a>) -> Self {
        let mut envelope = Envelope::default();
        for (key, value) in row.members() {
            let plain = key.as_plain();
            let decoded;
            let name = if let Some(plain) = plain {
                plain
            } else {
                decoded = key.to_lossy();
                &decoded
            };
            let slot = match name {
                "type" => &mut envelope.kind,
                "seq" => &mut envelope.seq,
                "time" => &mut envelope.time,
                "data" => &mut envelope.data,
                "ignorable" => &mut envelope.ignorable,
                "surfaceOp" => &mut envelope.surface_op,
                "sourceEventSeqs" => &mut envelope.source_seqs,
                _ => {
                    envelope.extra = true;
                    continue;
                }
            };
            *slot = Some(value);
        }
        envelope
    }

    /// The rules that V2, V3 and V4 have for the shape of a row (`docs/spec/rows.md`, 3.3), but for the source seqs.
    pub(crate) fn check_closed(&self) -> Result<(), &'static str> {
        if self.extra {
            return Err("unknown member");
        }
        if self.seq.is_none() || self.data.is_none() {
            return Err("`seq` or `data` is missing");
        }
        if self.kind.is_none_or(|kind| kind.as_str().is_none()) {
            return Err("`type` is no string");
        }
        if self.time.and_then(Js::as_safe_integer).is_none() {
            return Err("`time` is no safe integer");
        }
        if self.ignorable.is_some_and(|mark| !mark.is_true()) {
            return Err("`ignorable` other than true");
        }
        Ok(())
    }

    /// The rule on `sourceEventSeqs`, which all generations have at decoding, in two forms.
    pub(crate) fn check_sources(&self, generation: Generation) -> Result<(), &'static str> {
        let Some(sources) = self.source_seqs else { return Ok(()) };
        match self.seq.and_then(Js::as_count) {
            Some(seq) => Ranges::decode(sources, seq, generation).map(|_| ()),
            None => Err("`sourceEventSeqs` in a row whose seq is no count"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Doc;

    #[track_caller]
    fn check(row: &str, want: &str) {
        let doc = Doc::parse(row).unwrap();
        let mut out = Vec::new();
        Event::from_row(doc.root(), Place::default()).print_logical(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), want);
    }

    #[test]
    fn a_list_is_printed_number_by_number_unless_that_would_have_no_end() {
        let row =
            |seq: u64, list: &str| format!(r#"{{"type":"x","seq":{seq},"sourceEventSeqs":{list},"data":1}}"#);
        let check = |seq, list, want| check(&row(seq, list), &row(seq, want));
        check(9, "[1,[3,5]]", "[1,3,4,5]");
        check(9_007_199_254_740_991, "[[0,9007199254740990]]", "[[0,9007199254740990]]");
        // What no reader lets through stays as it is.
        check(2, "[[0,9007199254740990]]", "[[0,9007199254740990]]");
    }

    #[test]
    fn rows_that_are_not_canonical_are_printed_anew() {
        check(
            r#"{ "2":0,"type":"x","seq":4,"sourceEventSeqs":[[1,3]] }"#,
            r#"{"2":0,"type":"x","seq":4,"sourceEventSeqs":[1,2,3]}"#,
        );
        check(r#"{"type":"x","seq":4.0}"#, r#"{"type":"x","seq":4}"#);
    }
}
