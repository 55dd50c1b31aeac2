//! Packed rows of V0 and V1: consecutive delta events in one line (`docs/spec/rows.md`, section 4).

use super::deltas::{Form, is_safe};
use super::{Delta, DeltaKind, Deltas, Fault, Walk, print_integer};
use crate::json::{Js, JsStr, SAFE_INTEGER, print, print_str};
use crate::types::Seq;

/// A checked packed row. It stands for `assistant/chunk` events with consecutive seqs from [`PackedRow::seq0`] on.
#[derive(Clone, Copy, Debug)]
pub struct PackedRow<'a> {
    /// Seq of the first event. That it is the next one in the log is for the reader to ask.
    pub seq0: Seq,
    /// Turn of all events.
    pub turn: u64,
    /// Step of all events.
    pub step: u64,
    /// What differs between them.
    pub deltas: Deltas<'a>,
}

impl<'a> PackedRow<'a> {
    /// True when `row` has the type of a packed row, so that V0 and V1 take it for one.
    pub fn is_packed(row: Js<'_>) -> bool {
        kind(row).is_some()
    }

    /// Decode a whole row, with all the checks of section 4.1.
    pub fn decode(row: Js<'a>) -> Result<Self, Fault> {
        let packed = Self::reopen(row)?;
        packed.deltas.check(Form::Row)?;
        let last = u64::try_from(packed.len() - 1).ok().and_then(|more| packed.seq0.0.checked_add(more));
        if last.is_none_or(|last| last > SAFE_INTEGER) {
            return Err("a seq beyond the safe integers");
        }
        Ok(packed)
    }

    /// A row that [`PackedRow::decode`] has accepted before, without another look at each of its deltas: for a reader
    /// that lends one event after the other and keeps only a [`Walk`] in between.
    pub fn reopen(row: Js<'a>) -> Result<Self, Fault> {
        let kind = kind(row).ok_or("`type` is none of a packed row")?;
        if !row.has_only(&["type", "seq0", "time0", "data"]) {
            return Err("unknown member in a packed row");
        }
        let seq0 = row.get("seq0").and_then(Js::as_count).ok_or("`seq0` is no count")?;
        let data = row.get("data").filter(|v| v.is_object()).ok_or("`data` is no object")?;
        let known: &[&str] = match kind {
            DeltaKind::Text | DeltaKind::Reasoning => &["turn", "step", "index", "dt", "texts"],
            DeltaKind::ToolCall => &["turn", "step", "index", "dt", "id", "name", "args"],
        };
        if !data.has_only(known) {
            return Err("unknown member in the data of a packed row");
        }
        let turn = data.get("turn").and_then(Js::as_count).ok_or("`turn` is no count")?;
        let step = data.get("step").and_then(Js::as_count).ok_or("`step` is no count")?;
        let deltas = Deltas::open(kind, row.get("time0"), data, Form::Row)?;
        Ok(PackedRow { seq0: Seq(seq0), turn, step, deltas })
    }

    /// Number of events, at least 1.
    #[expect(clippy::len_without_is_empty, reason = "a packed row is never empty")]
    pub fn len(&self) -> usize {
        self.deltas.len()
    }

    /// A walk that stands before the first event.
    pub fn walk(&self) -> Walk {
        self.deltas.walk()
    }

    /// The next event of a walk over this row: its seq, and the delta that holds its time.
    pub fn step(&self, walk: &mut Walk) -> Option<(Seq, Delta<'a>)> {
        let delta = self.deltas.step(walk)?;
        Some((Seq(self.seq0.0.wrapping_add(delta.number as u64)), delta))
    }

    /// The events in their order.
    pub fn iter(&self) -> impl Iterator<Item = (Seq, Delta<'a>)> + Clone + use<'a> {
        let first = self.seq0.0;
        self.deltas.iter().map(move |delta| (Seq(first.wrapping_add(delta.number as u64)), delta))
    }

    /// Append one event as the official code prints it, without line end.
    pub fn print_event(&self, seq: Seq, delta: &Delta<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"type\":\"assistant/chunk\",\"seq\":");
        print_integer(out, seq.0);
        out.extend_from_slice(b",\"time\":");
        print_integer(out, delta.time.0);
        out.extend_from_slice(b",\"data\":{\"turn\":");
        print_integer(out, self.turn);
        out.extend_from_slice(b",\"step\":");
        print_integer(out, self.step);
        out.extend_from_slice(b",\"chunk\":");
        self.deltas.print_chunk(delta, out);
        out.extend_from_slice(b"}}");
    }
}

fn kind(row: Js<'_>) -> Option<DeltaKind> {
    DeltaKind::of_tag(row.get("type")?.as_str()?)
}

/// The fewest events that a writer packs.
const MIN_RUN: usize = 3;

/// One row that V0 writers make out of a batch of events.
#[derive(Clone, Copy, Debug)]
pub enum RowText<'b, 'a> {
    /// An event as it is.
    Event(Js<'a>),
    /// Events that share one packed row.
    Packed(&'b [Js<'a>]),
}

/// The rows of one batch of events, an append of a V0 writer: the longest runs of deltas, from the front.
///
/// A run never goes on into the next batch. Writers asked less than readers do: the packed form of deltas with an empty
/// tool call id, or with a turn, step or index that is no count, is refused by [`PackedRow::decode`].
pub fn pack<'b, 'a>(mut batch: &'b [Js<'a>]) -> impl Iterator<Item = RowText<'b, 'a>> + use<'b, 'a> {
    std::iter::from_fn(move || {
        let (&first, rest) = batch.split_first()?;
        let run = run_length(batch);
        if run >= MIN_RUN {
            let (run, rest) = batch.split_at(run);
            batch = rest;
            return Some(RowText::Packed(run));
        }
        batch = rest;
        Some(RowText::Event(first))
    })
}

/// How many events at the front of `batch` can share a row.
fn run_length(batch: &[Js<'_>]) -> usize {
    let mut last: Option<Packable<'_>> = None;
    let mut len = 0;
    for &event in batch {
        let Some(next) = Packable::of(event) else { break };
        if last.is_some_and(|last| !last.continues(&next)) {
            break;
        }
        last = Some(next);
        len += 1;
    }
    len
}

impl RowText<'_, '_> {
    /// Append the row, without line end. An event is printed with the members that it has.
    pub fn print(&self, out: &mut Vec<u8>) {
        match *self {
            RowText::Event(event) => print(out, event),
            RowText::Packed(events) => print_packed(events, out),
        }
    }
}

fn print_packed(events: &[Js<'_>], out: &mut Vec<u8>) {
    let mut deltas = events.iter().filter_map(|&event| Packable::of(event));
    let Some(first) = deltas.next() else { return };
    let member = |out: &mut Vec<u8>, name: &str, value| {
        out.extend_from_slice(name.as_bytes());
        print(out, value);
    };
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(first.kind.tag().as_bytes());
    out.extend_from_slice(b"\",\"seq0\":");
    print_integer(out, first.seq);
    out.extend_from_slice(b",\"time0\":");
    print_integer(out, first.time);
    member(out, ",\"data\":{\"turn\":", first.turn);
    member(out, ",\"step\":", first.step);
    member(out, ",\"index\":", first.index);
    out.extend_from_slice(b",\"dt\":[");
    let mut last = first.time;
    for (i, delta) in deltas.clone().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        print_integer(out, delta.time - last);
        last = delta.time;
    }
    out.push(b']');
    if let Some(id) = first.id {
        out.extend_from_slice(b",\"id\":");
        print_str(out, id);
    }
    if let Some(name) = first.name {
        out.extend_from_slice(b",\"name\":");
        print_str(out, name);
    }
    out.extend_from_slice(b",\"");
    out.extend_from_slice(first.kind.list_name().as_bytes());
    out.extend_from_slice(b"\":[");
    print_str(out, first.text);
    for delta in deltas {
        out.push(b',');
        print_str(out, delta.text);
    }
    out.extend_from_slice(b"]}}");
}

/// What a V0 writer saw in an event that it could pack.
#[derive(Clone, Copy)]
struct Packable<'a> {
    kind: DeltaKind,
    seq: u64,
    time: i64,
    turn: Js<'a>,
    step: Js<'a>,
    index: Js<'a>,
    id: Option<JsStr<'a>>,
    name: Option<JsStr<'a>>,
    text: JsStr<'a>,
}

impl<'a> Packable<'a> {
    fn of(event: Js<'a>) -> Option<Self> {
        let number = |of: Js<'a>, name| of.get(name).filter(|v| v.as_f64().is_some());
        if !event.get("type")?.is("assistant/chunk") || !event.has_only(&["type", "seq", "time", "data"]) {
            return None;
        }
        let data = event.get("data")?;
        let chunk = data.get("chunk")?;
        let kind = DeltaKind::of_chunk(chunk.get("type")?.as_str()?)?;
        let known: &[&str] = match kind {
            DeltaKind::Text | DeltaKind::Reasoning => &["type", "index", "text"],
            DeltaKind::ToolCall => &["type", "index", "id", "name", "argumentsDelta"],
        };
        if !data.has_only(&["turn", "step", "chunk"]) || !chunk.has_only(known) {
            return None;
        }
        let (mut id, mut name) = (None, None);
        if kind == DeltaKind::ToolCall {
            id = Some(chunk.get("id")?.as_str()?);
            if let Some(value) = chunk.get("name") {
                name = Some(value.as_str()?);
            }
        }
        Some(Packable {
            kind,
            seq: event.get("seq")?.as_count()?,
            time: event.get("time")?.as_safe_integer()?,
            turn: number(data, "turn")?,
            step: number(data, "step")?,
            index: number(chunk, "index")?,
            id,
            name,
            text: chunk.get(kind.text_name())?.as_str()?,
        })
    }

    fn continues(&self, next: &Self) -> bool {
        let same = |a: Js<'_>, b: Js<'_>| a.as_f64() == b.as_f64();
        self.kind == next.kind
            && next.seq == self.seq + 1
            && is_safe(next.time - self.time)
            && same(self.turn, next.turn)
            && same(self.step, next.step)
            && same(self.index, next.index)
            && self.id == next.id
            && self.name == next.name
    }
}

#[cfg(test)]
mod tests {

    use proptest::prelude::*;

    use super::super::vectors::{load, printed, text_member};
    use super::*;
    use crate::json::Doc;

    /// The events of a row as one text, a line each; nothing when it is refused.
    fn expanded(row: Js<'_>) -> Option<String> {
        let packed = PackedRow::decode(row).ok()?;
        let mut out = Vec::new();
        for (seq, delta) in packed.iter() {
            packed.print_event(seq, &delta, &mut out);
            out.push(b'\n');
        }
        assert_eq!(packed.iter().count(), packed.len());
        Some(String::from_utf8(out).unwrap())
    }

    fn packed(batch: &[Js<'_>]) -> String {
        let mut out = Vec::new();
        for row in pack(batch) {
            row.print(&mut out);
            out.push(b'\n');
        }
        String::from_utf8(out).unwrap()
    }

    fn lines<'a>(values: impl Iterator<Item = Js<'a>>) -> String {
        values.map(|value| printed(value) + "\n").collect()
    }

    #[test]
    fn vectors() {
        let doc = load("packed-rows.json");
        let (mut decoded, mut encoded) = (0, 0);
        for case in doc.root().elements() {
            if let Some(row) = text_member(case, "row_text") {
                // The vectors hold the first row of a log, so a row that starts later is a gap.
                let first = |row: Js<'_>| PackedRow::decode(row).is_ok_and(|packed| packed.seq0.0 == 0);
                let events = case.get("events").unwrap();
                let got = expanded(row.root()).filter(|_| first(row.root()));
                assert_eq!(got, events.as_array().map(lines), "{case:?}");
                decoded += 1;
            } else {
                let batch: Vec<_> = case.get("batch").unwrap().elements().collect();
                assert_eq!(packed(&batch), lines(case.get("rows").unwrap().elements()), "{case:?}");
                encoded += 1;
            }
        }
        assert_eq!((decoded + encoded, encoded > 0, decoded > 0), (69, true, true));
    }

    #[test]
    fn rules_that_the_vectors_leave_out() {
        let check = |row: &str, good: bool| {
            let doc = Doc::parse(row).unwrap();
            assert_eq!(PackedRow::decode(doc.root()).is_ok(), good, "{row}");
        };
        let text = |seq0: &str, time0: &str, dt: &str| {
            format!(
                r#"{{"type":"text-chunks","seq0":{seq0},"time0":{time0},"data":{{"turn":0,"step":0,"index":0,"dt":[{dt}],"texts":["","\ud800"]}}}}"#
            )
        };
        check(&text("0", "-9007199254740991", "0"), true);
        check(&text("0", "-9007199254740991", "-1"), false);
        check(&text("0", "9007199254740990", "1.0"), true);
        check(&text("9007199254740990", "0", "0"), true);
        check(&text("9007199254740991", "0", "0"), false);
        check(
            r#"{"type":"text-chunks","seq0":0,"time0":0,"data":{"turn":-0,"turn":0,"step":0,"index":0,"dt":[],"texts":[""]}}"#,
            true,
        );
        check(
            r#"{"type":"text-chunks","seq0":0,"time0":0,"data":{"turn":0,"step":0,"index":0,"dt":[[]],"texts":[""]}}"#,
            false,
        );
        check(
            r#"{"type":"text-chunks","seq0":0,"time0":0,"data":{"turn":0,"step":0,"index":0,"dt":[],"texts":[["",""]]}}"#,
            false,
        );
        check(
            r#"{"type":"tool-call-chunks","seq0":0,"time0":0,"data":{"turn":0,"step":0,"index":0,"dt":[],"id":"c","name":"","args":[""]}}"#,
            true,
        );
        check(r#"["text-chunks"]"#, false);
    }

    #[test]
    fn a_walk_goes_on_in_a_row_that_was_opened_again() {
        let row = r#"{"type":"text-chunks","seq0":7,"time0":10,"data":{"turn":1,"step":1,"index":0,"dt":[2,-5],"texts":["a","b","c"]}}"#;
        let doc = Doc::parse(row).unwrap();
        let mut walk = PackedRow::decode(doc.root()).unwrap().walk();
        let mut seen = Vec::new();
        while let Some((seq, delta)) = PackedRow::reopen(doc.root()).unwrap().step(&mut walk) {
            seen.push((seq.0, delta.time.0, delta.text.to_lossy().into_owned()));
        }
        assert_eq!(seen, [(7, 10, "a".to_owned()), (8, 12, "b".to_owned()), (9, 7, "c".to_owned())]);
    }

    /// Events that often run on: few turns, blocks and names, times back and forth, some that never pack.
    fn batch() -> impl Strategy<Value = Vec<String>> {
        let chunk = prop_oneof![
            8 => (0..2, prop::sample::select(vec!["a", "", r"\ud83d", "\u{1f600}", r#"\""#])).prop_map(
                |(index, text)| format!(r#"{{"type":"text-delta","index":{index},"text":"{text}"}}"#)),
            3 => Just(r#"{"type":"reasoning-delta","index":0,"text":"r"}"#.to_owned()),
            6 => prop::sample::select(vec![r#""id":"c","name":"n","#, r#""id":"c","#, r#""id":"d","#]).prop_map(
                |id| format!(r#"{{"type":"tool-call-delta","index":1,{id}"argumentsDelta":"{{"}}"#)),
            1 => Just(r#"{"type":"finish","reason":{"kind":"stop"}}"#.to_owned()),
        ];
        let times =
            prop_oneof![20 => -3i64..30, 1 => Just(9_007_199_254_740_991), 1 => Just(-9_007_199_254_740_991)];
        let run = (1..3, prop::collection::vec(times, 1..7), chunk);
        prop::collection::vec(run, 0..6).prop_map(|runs| {
            let mut events = Vec::new();
            for (step, times, chunk) in runs {
                for time in times {
                    let seq = events.len();
                    events.push(format!(
                        r#"{{"type":"assistant/chunk","seq":{seq},"time":{time},"data":{{"turn":1,"step":{step},"chunk":{chunk}}}}}"#
                    ));
                }
            }
            events
        })
    }

    proptest! {
        #[test]
        fn what_is_packed_expands_to_itself(events in batch()) {
            let docs: Vec<_> = events.iter().map(|event| Doc::parse(event.as_str()).unwrap()).collect();
            let batch: Vec<_> = docs.iter().map(Doc::root).collect();
            let mut got = String::new();
            let rows = packed(&batch);
            for row in rows.lines() {
                let row = Doc::parse(row).unwrap();
                if PackedRow::is_packed(row.root()) {
                    prop_assert!(PackedRow::decode(row.root()).unwrap().len() >= MIN_RUN);
                    got.push_str(&expanded(row.root()).unwrap());
                } else {
                    got.push_str(&lines(std::iter::once(row.root())));
                }
            }
            prop_assert_eq!(got, lines(batch.into_iter()));
        }
    }
}
