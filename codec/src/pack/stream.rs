//! Compact streams of V2 and later: the chunks of one answer, in the member `stream` of its message or attempt
//! (`docs/spec/rows.md`, section 6).
//!
//! Validation of a log hardly looks at them. Whoever replays a stream, or verifies a migration, checks it here.

use super::deltas::{self, Form, is_safe};
use super::{Delta, DeltaKind, Deltas, Fault, print_integer};
use crate::json::{Elements, Js, JsStr, JsString, print, print_str, print_string};
use crate::types::Millis;

/// One checked record of a stream.
#[derive(Clone, Copy, Debug)]
pub enum Record<'a> {
    /// Consecutive deltas of one block.
    Deltas(Deltas<'a>),
    /// One chunk as it is. What is in it has not been looked at, but for numbers that JSON cannot keep.
    Chunk {
        /// When it came.
        time: Millis,
        /// An object.
        chunk: Js<'a>,
    },
}

impl<'a> Record<'a> {
    /// Decode one record.
    pub fn decode(record: Js<'a>) -> Result<Self, Fault> {
        let tag = record.get("type").and_then(Js::as_str).ok_or("a stream record without a type")?;
        let kind = DeltaKind::of_tag(tag);
        let known: &[&str] = match kind {
            Some(DeltaKind::Text | DeltaKind::Reasoning) => &["type", "time0", "index", "dt", "texts"],
            Some(DeltaKind::ToolCall) => &["type", "time0", "index", "dt", "id", "name", "args"],
            None if tag == "chunk" => &["type", "time", "chunk"],
            None => return Err("a stream record of unknown type"),
        };
        if !record.has_only(known) {
            return Err("unknown member in a stream record");
        }
        if let Some(kind) = kind {
            let run = Deltas::open(kind, record.get("time0"), record, Form::Record)?;
            run.check(Form::Record)?;
            return Ok(Record::Deltas(run));
        }
        let time = record.get("time").and_then(deltas::time).ok_or("`time` is no safe integer")?;
        let chunk = record.get("chunk").filter(|chunk| chunk.is_object()).ok_or("`chunk` is no object")?;
        if chunk.has_lossy_number() {
            return Err("a chunk with a number that JSON cannot keep");
        }
        Ok(Record::Chunk { time: Millis(time), chunk })
    }
}

/// The records of a stream, each checked when its turn comes.
pub fn records(stream: Js<'_>) -> Result<impl Iterator<Item = Result<Record<'_>, Fault>> + Clone, Fault> {
    Ok(stream.as_array().ok_or("`stream` is no array")?.map(Record::decode))
}

/// The chunks of a stream with their times, in order. It ends behind the first fault.
///
/// A stream is sound only when no fault comes: who must not act on half of one walks over it twice.
pub fn expand(stream: Js<'_>) -> Result<Expand<'_>, Fault> {
    let records = stream.as_array().ok_or("`stream` is no array")?;
    Ok(Expand { records: Some(records), run: None })
}

/// Iterator of [`expand`].
#[derive(Clone)]
pub struct Expand<'a> {
    records: Option<Elements<'a>>,
    run: Option<(Deltas<'a>, super::Walk)>,
}

impl<'a> Iterator for Expand<'a> {
    type Item = Result<(Millis, Chunk<'a>), Fault>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((run, walk)) = &mut self.run {
                if let Some(delta) = run.step(walk) {
                    return Some(Ok((delta.time, Chunk::Delta(*run, delta))));
                }
                self.run = None;
            }
            match Record::decode(self.records.as_mut()?.next()?) {
                Ok(Record::Deltas(run)) => self.run = Some((run, run.walk())),
                Ok(Record::Chunk { time, chunk }) => return Some(Ok((time, Chunk::Whole(chunk)))),
                Err(fault) => {
                    self.records = None;
                    return Some(Err(fault));
                }
            }
        }
    }
}

/// One chunk of a stream.
#[derive(Clone, Copy, Debug)]
pub enum Chunk<'a> {
    /// A chunk that was stored as it is.
    Whole(Js<'a>),
    /// A delta, and the run that it stands in.
    Delta(Deltas<'a>, Delta<'a>),
}

impl Chunk<'_> {
    /// Append the chunk as the official code prints it.
    pub fn print(&self, out: &mut Vec<u8>) {
        match self {
            Chunk::Whole(chunk) => print(out, *chunk),
            Chunk::Delta(run, delta) => run.print_chunk(delta, out),
        }
    }
}

/// Makes a stream out of chunks. It keeps the text of the stream only, so the chunks may come from lines that are gone.
#[derive(Debug, Default)]
pub struct Compactor {
    /// Records that are complete, with a comma between them.
    done: Vec<u8>,
    open: Option<OpenRun>,
    /// Of the open run, as text; kept here so that their memory serves the next one.
    dt: Vec<u8>,
    texts: Vec<u8>,
}

/// The last record as far as the next delta may still join it.
#[derive(Debug)]
struct OpenRun {
    kind: DeltaKind,
    index: u64,
    id: Option<JsString>,
    name: Option<JsString>,
    time0: i64,
    last: i64,
}

/// What a delta must share with a run to join it.
#[derive(Clone, Copy)]
struct Block<'a> {
    kind: DeltaKind,
    index: u64,
    id: Option<JsStr<'a>>,
    name: Option<JsStr<'a>>,
}

impl Compactor {
    /// An empty stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// True when no chunk has come yet.
    pub fn is_empty(&self) -> bool {
        self.done.is_empty() && self.open.is_none()
    }

    /// Append the chunk of a single `assistant/chunk` event. What joins a run loses members that a delta does not have;
    /// what is stored whole keeps them (`docs/spec/events-v0-v3.md`, 9.3 and 9.4).
    pub fn push(&mut self, time: Millis, chunk: Js<'_>) -> Result<(), Fault> {
        let chunk_type = chunk.get("type").and_then(Js::as_str).ok_or("a chunk without a type")?;
        if chunk.has_lossy_number() {
            return Err("a chunk with a number that JSON cannot keep");
        }
        let Some(kind) = DeltaKind::of_chunk(chunk_type) else {
            const WHOLE: [&str; 4] = ["block-start", "block-end", "usage", "finish"];
            if !WHOLE.iter().any(|name| chunk_type == **name) {
                return Err("a chunk of unknown type");
            }
            self.push_whole(time, chunk);
            return Ok(());
        };
        let index = chunk.get("index").and_then(Js::as_count).ok_or("`index` is no count")?;
        let text = chunk.get(kind.text_name()).and_then(Js::as_str).ok_or("a delta is no string")?;
        let (mut id, mut name) = (None, None);
        if kind == DeltaKind::ToolCall {
            id = Some(chunk.get("id").and_then(Js::as_str).ok_or("`id` is no string")?);
            if let Some(value) = chunk.get("name") {
                name = Some(value.as_str().ok_or("`name` is no string")?);
            }
            if id.is_some_and(JsStr::is_empty) || name.is_some_and(JsStr::is_empty) {
                // A run cannot hold it: there both must be there or be a text.
                self.push_whole(time, chunk);
                return Ok(());
            }
        }
        self.push_delta(Block { kind, index, id, name }, time, text);
        Ok(())
    }

    /// Append the deltas of a packed row or of another stream's record. Gives the time of the last one.
    pub fn push_run(&mut self, run: &Deltas<'_>) -> Millis {
        let block = Block { kind: run.kind, index: run.index, id: run.id, name: run.name };
        let mut deltas = run.iter();
        if let Some(first) = deltas.next() {
            self.push_delta(block, first.time, first.text);
        }
        // What the others must share they have, and their times lie as far apart as the run was allowed to say.
        let mut last = run.time0;
        for delta in deltas {
            self.join(last, delta.time, delta.text);
            last = delta.time;
        }
        if let Some(open) = &mut self.open {
            open.last = last.0;
        }
        last
    }

    fn push_whole(&mut self, time: Millis, chunk: Js<'_>) {
        self.close();
        self.separate();
        self.done.extend_from_slice(b"{\"type\":\"chunk\",\"time\":");
        print_integer(&mut self.done, time.0);
        self.done.extend_from_slice(b",\"chunk\":");
        print(&mut self.done, chunk);
        self.done.push(b'}');
    }

    fn push_delta(&mut self, block: Block<'_>, time: Millis, text: JsStr<'_>) {
        if let Some(run) = &mut self.open
            && run.takes(block, time)
        {
            let before = std::mem::replace(&mut run.last, time.0);
            self.join(Millis(before), time, text);
        } else {
            self.close();
            self.open = Some(OpenRun {
                kind: block.kind,
                index: block.index,
                id: block.id.map(JsStr::to_owned),
                name: block.name.map(JsStr::to_owned),
                time0: time.0,
                last: time.0,
            });
            print_str(&mut self.texts, text);
        }
    }

    /// Append a delta to the open run, behind one of this time.
    fn join(&mut self, before: Millis, time: Millis, text: JsStr<'_>) {
        if !self.dt.is_empty() {
            self.dt.push(b',');
        }
        print_integer(&mut self.dt, time.0 - before.0);
        self.texts.push(b',');
        print_str(&mut self.texts, text);
    }

    fn close(&mut self) {
        let Some(run) = self.open.take() else { return };
        self.separate();
        let out = &mut self.done;
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(run.kind.tag().as_bytes());
        out.extend_from_slice(b"\",\"time0\":");
        print_integer(out, run.time0);
        out.extend_from_slice(b",\"index\":");
        print_integer(out, run.index);
        out.extend_from_slice(b",\"dt\":[");
        out.append(&mut self.dt);
        out.push(b']');
        for (name, value) in [(",\"id\":", &run.id), (",\"name\":", &run.name)] {
            if let Some(value) = value {
                out.extend_from_slice(name.as_bytes());
                print_string(out, value);
            }
        }
        out.extend_from_slice(b",\"");
        out.extend_from_slice(run.kind.list_name().as_bytes());
        out.extend_from_slice(b"\":[");
        out.append(&mut self.texts);
        out.extend_from_slice(b"]}");
    }

    fn separate(&mut self) {
        if !self.done.is_empty() {
            self.done.push(b',');
        }
    }

    /// Append the stream, an array. The compactor is empty again.
    pub fn print(&mut self, out: &mut Vec<u8>) {
        self.close();
        out.push(b'[');
        out.append(&mut self.done);
        out.push(b']');
    }
}

impl OpenRun {
    fn takes(&self, block: Block<'_>, time: Millis) -> bool {
        let same = |own: &Option<JsString>, other: Option<JsStr<'_>>| match (own, other) {
            (None, None) => true,
            (Some(own), Some(other)) => own.as_wtf8() == &*other.to_wtf8(),
            _ => false,
        };
        self.kind == block.kind
            && self.index == block.index
            && is_safe(time.0 - self.last)
            && same(&self.id, block.id)
            && same(&self.name, block.name)
    }
}

#[cfg(test)]
mod tests {

    use proptest::prelude::*;

    use super::super::PackedRow;
    use super::super::vectors::{load, printed, text_member};
    use super::*;
    use crate::json::Doc;

    /// The pairs of time and chunk as one array; nothing when a fault comes.
    fn expanded(stream: Js<'_>) -> Option<String> {
        let mut out = vec![b'['];
        for chunk in expand(stream).ok()? {
            let (time, chunk) = chunk.ok()?;
            if out.len() > 1 {
                out.push(b',');
            }
            out.extend_from_slice(format!("[{time},").as_bytes());
            chunk.print(&mut out);
            out.push(b']');
        }
        out.push(b']');
        Some(String::from_utf8(out).unwrap())
    }

    fn compacted(chunks: Js<'_>) -> Result<String, Fault> {
        let mut compactor = Compactor::new();
        for pair in chunks.elements() {
            let mut pair = pair.elements();
            let (time, chunk) = (pair.next().unwrap(), pair.next().unwrap());
            compactor.push(Millis(deltas::time(time).unwrap()), chunk)?;
        }
        let mut out = Vec::new();
        compactor.print(&mut out);
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn vectors() {
        let doc = load("streams.json");
        let (mut to_chunks, mut to_stream) = (0, 0);
        for case in doc.root().elements() {
            let chunks = case.get("chunks").unwrap();
            if let Some(stream) = text_member(case, "stream_text") {
                let want = (!chunks.is_null()).then(|| printed(chunks));
                assert_eq!(expanded(stream.root()), want, "{case:?}");
                let sound = records(stream.root()).is_ok_and(|mut records| records.all(|r| r.is_ok()));
                assert_eq!(sound, want.is_some(), "{case:?}");
                to_chunks += 1;
            } else {
                let stream = printed(case.get("stream").unwrap());
                assert_eq!(compacted(chunks).as_ref(), Ok(&stream), "{case:?}");
                to_stream += 1;
            }
        }
        assert_eq!((to_chunks + to_stream, to_chunks > 0, to_stream > 0), (109, true, true));
    }

    #[test]
    fn rules_that_the_vectors_leave_out() {
        let check = |stream: &str, want: Option<&str>| {
            let doc = Doc::parse(stream).unwrap();
            assert_eq!(expanded(doc.root()).as_deref(), want, "{stream}");
        };
        check("{}", None);
        check(r#"[{"type":"chunk","time":1,"chunk":{},"zz":0}]"#, None);
        check(r#"[{"type":"chunk","time":1,"chunk":{"a":[-0],"a":1}}]"#, Some(r#"[[1,{"a":1}]]"#));
        check(
            r#"[{"type":"text-chunks","time0":9007199254740991,"index":0,"dt":[1],"texts":["",""]}]"#,
            None,
        );
        check(r#"[{"type":"text-chunks","time0":0,"index":0,"dt":[],"texts":["x"],"id":"c"}]"#, None);
        check(r#"[{"type":"chunk","time":1,"chunk":{}},5]"#, None);
    }

    #[test]
    fn a_fault_ends_the_expansion() {
        let doc =
            Doc::parse(r#"[{"type":"chunk","time":1,"chunk":{}},5,{"type":"chunk","time":2,"chunk":{}}]"#)
                .unwrap();
        let kinds: Vec<_> = expand(doc.root()).unwrap().map(|chunk| chunk.is_ok()).collect();
        assert_eq!(kinds, [true, false]);
    }

    #[test]
    fn chunks_of_events_are_checked() {
        let check = |chunk: &str, want: Option<&str>| {
            let doc = Doc::parse(format!("[[-0,{chunk}]]")).unwrap();
            assert_eq!(compacted(doc.root()).ok().as_deref(), want, "{chunk}");
        };
        check(
            r#"{"type":"text-delta","index":0,"text":"a","zz":1}"#,
            Some(r#"[{"type":"text-chunks","time0":0,"index":0,"dt":[],"texts":["a"]}]"#),
        );
        check(
            r#"{"zz":1,"type":"tool-call-delta","index":3,"id":"","argumentsDelta":"x"}"#,
            Some(
                r#"[{"type":"chunk","time":0,"chunk":{"zz":1,"type":"tool-call-delta","index":3,"id":"","argumentsDelta":"x"}}]"#,
            ),
        );
        check(
            r#"{"type":"usage","usage":{"a":-0,"a":1}}"#,
            Some(r#"[{"type":"chunk","time":0,"chunk":{"type":"usage","usage":{"a":1}}}]"#),
        );
        check(r#"{"type":"text-delta","index":-0,"text":"a"}"#, None);
        check(r#"{"type":"text-delta","index":0,"text":null}"#, None);
        check(r#"{"type":"tool-call-delta","index":0,"id":"c","name":null,"argumentsDelta":""}"#, None);
        check(r#"{"type":"tool-call-delta","index":0,"argumentsDelta":""}"#, None);
        check(r#"{"type":"usage","usage":{"a":1e999}}"#, None);
        check(r#"{"type":"unheard-of"}"#, None);
        check("{}", None);
    }

    #[test]
    fn packed_rows_and_single_deltas_join() {
        // docs/spec/events-v0-v3.md, 9.4
        let row = |text: &str| Doc::parse(text).unwrap();
        let first = row(
            r#"{"type":"text-chunks","seq0":0,"time0":100,"data":{"turn":1,"step":1,"index":0,"dt":[3],"texts":["a","b"]}}"#,
        );
        let single = row(r#"{"type":"text-delta","index":0,"text":"c"}"#);
        let last = row(
            r#"{"type":"text-chunks","seq0":3,"time0":120,"data":{"turn":1,"step":1,"index":0,"dt":[],"texts":["d"]}}"#,
        );
        let mut compactor = Compactor::new();
        compactor.push_run(&PackedRow::decode(first.root()).unwrap().deltas);
        compactor.push(Millis(110), single.root()).unwrap();
        compactor.push_run(&PackedRow::decode(last.root()).unwrap().deltas);
        let mut out = Vec::new();
        compactor.print(&mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#"[{"type":"text-chunks","time0":100,"index":0,"dt":[3,7,10],"texts":["a","b","c","d"]}]"#
        );
        assert!(compactor.is_empty());
    }

    #[test]
    fn an_empty_tool_name_stays_in_the_run_of_a_packed_row() {
        // docs/spec/events-v0-v3.md, 9.4
        let row = Doc::parse(
            r#"{"type":"tool-call-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[],"id":"c","name":"","args":["x"]}}"#,
        )
        .unwrap();
        let mut compactor = Compactor::new();
        compactor.push_run(&PackedRow::decode(row.root()).unwrap().deltas);
        let mut out = Vec::new();
        compactor.print(&mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#"[{"type":"tool-call-chunks","time0":1,"index":0,"dt":[],"id":"c","name":"","args":["x"]}]"#
        );
    }

    fn chunks() -> impl Strategy<Value = String> {
        let chunk = prop_oneof![
            8 => (0..2, prop::sample::select(vec!["a", "", r"\ud83d", "\u{1f600}", r#"\""#])).prop_map(
                |(index, text)| format!(r#"{{"type":"text-delta","index":{index},"text":"{text}"}}"#)),
            3 => Just(r#"{"type":"reasoning-delta","index":0,"text":"r"}"#.to_owned()),
            6 => prop::sample::select(vec![
                r#""id":"c","name":"n","#, r#""id":"c","#, r#""id":"\udc00","#, r#""id":"c","name":"","#, r#""id":"","#,
            ]).prop_map(|id| format!(r#"{{"type":"tool-call-delta","index":1,{id}"argumentsDelta":"{{"}}"#)),
            1 => Just(r#"{"type":"finish","reason":{"kind":"stop"}}"#.to_owned()),
        ];
        let times =
            prop_oneof![20 => -3i64..30, 1 => Just(9_007_199_254_740_991), 1 => Just(-9_007_199_254_740_991)];
        let run = (prop::collection::vec(times, 1..7), chunk);
        prop::collection::vec(run, 0..6).prop_map(|runs| {
            let pairs: Vec<_> = runs
                .iter()
                .flat_map(|(times, chunk)| times.iter().map(move |time| format!("[{time},{chunk}]")))
                .collect();
            format!("[{}]", pairs.join(","))
        })
    }

    proptest! {
        #[test]
        fn what_is_compacted_expands_to_itself(text in chunks()) {
            let doc = Doc::parse(text.as_str()).unwrap();
            let stream = Doc::parse(compacted(doc.root()).unwrap()).unwrap();
            prop_assert_eq!(expanded(stream.root()).unwrap(), printed(doc.root()));

            // Compacting is idempotent: runs pushed as wholes join just as their deltas did.
            let mut again = Compactor::new();
            for record in records(stream.root()).unwrap() {
                match record.unwrap() {
                    Record::Deltas(run) => {
                        again.push_run(&run);
                    },
                    Record::Chunk { time, chunk } => again.push(time, chunk).unwrap(),
                }
            }
            let mut out = Vec::new();
            again.print(&mut out);
            prop_assert_eq!(String::from_utf8(out).unwrap(), stream.text());
        }
    }
}
