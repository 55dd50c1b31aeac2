//! The message history: what of a log the model is sent (`docs/spec/surface.md`, sections 2 to 4).
//!
//! The surface is an ordered list of nodes, each the seq of an event. An event is appended to it, or replaces a stretch
//! of it; `image/offload` marks images in messages that stay. The history is the messages of the nodes, in order.

use std::collections::HashMap;

use dshlog_codec::check::{EventType, NodeOrder};
use dshlog_codec::json::{Doc, Js, JsonError, print, print_str};
use dshlog_codec::{Event, Seq};

/// One entry of the surface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The event that put it there.
    pub seq: Seq,
    /// Its type, one of the five of the surface.
    pub kind: EventType,
    /// The nodes that it took off the surface, in their order; empty for an appended one.
    pub replaced: Vec<Seq>,
    /// Events that marked images of it as offloaded.
    pub offloaded_by: Vec<Seq>,
    /// The message as JSON, as JavaScript prints it; nothing when the node gives no message (an emptied one).
    pub message: Option<Box<str>>,
}

/// A log whose surface does not fold. A log that passed `dshlog_codec::check` never gives one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// A surface event without a message, or with a malformed `surfaceOp`.
    #[error("event {seq} is no well-formed surface event")]
    Malformed {
        /// The event.
        seq: Seq,
    },
    /// A replacement names a node that is not on the surface, or a reversed stretch.
    #[error("event {seq} replaces {start}..{end}, which is no stretch of the surface")]
    NotOnSurface {
        /// The event.
        seq: Seq,
        /// First replaced node.
        start: u64,
        /// Last replaced node.
        end: u64,
    },
    /// An offload names an image that is not there.
    #[error("event {seq} offloads an image that is not there")]
    NoSuchImage {
        /// The event.
        seq: Seq,
    },
    /// A message that does not read back.
    #[error("a message does not read back")]
    Unreadable(#[from] JsonError),
}

/// The surface and its messages, folded event by event. Holds the messages that are on the surface, nothing else.
#[derive(Debug, Default)]
pub struct History {
    order: NodeOrder,
    /// The nodes that are on the surface.
    nodes: HashMap<u64, Node>,
}

impl History {
    /// The empty surface.
    pub fn new() -> Self {
        Self::default()
    }

    /// Fold the next event. Unknown and log-only events change nothing.
    pub fn see(&mut self, event: &Event<'_>) -> Result<(), HistoryError> {
        if event.is("image/offload") {
            return self.offload(event);
        }
        let Some(kind) = EventType::of(event.kind).filter(|kind| kind.is_surface()) else { return Ok(()) };
        let malformed = HistoryError::Malformed { seq: event.seq };
        let op = event.surface_op().ok_or(malformed)?;
        let message = message(event, kind)?;
        let mut node = Node { seq: event.seq, kind, replaced: Vec::new(), offloaded_by: Vec::new(), message };
        if op.is("append") {
            self.order.push(event.seq.0);
            self.nodes.insert(event.seq.0, node);
            return Ok(());
        }
        let end_of = |name| op.get(name).and_then(Js::as_count);
        let (Some(start), Some(end)) = (end_of("startSeq"), end_of("endSeq")) else {
            return Err(HistoryError::Malformed { seq: event.seq });
        };
        let replaced = self.order.replace(start, end, event.seq.0);
        let replaced = replaced.map_err(|_| HistoryError::NotOnSurface { seq: event.seq, start, end })?;
        for seq in &replaced {
            self.nodes.remove(seq);
        }
        node.replaced = replaced.into_iter().map(Seq).collect();
        self.nodes.insert(event.seq.0, node);
        Ok(())
    }

    fn offload(&mut self, event: &Event<'_>) -> Result<(), HistoryError> {
        let missing = || HistoryError::NoSuchImage { seq: event.seq };
        let targets = event.member("targets").ok_or_else(missing)?;
        for target in targets.elements() {
            let seq = target.get("seq").and_then(Js::as_count).ok_or_else(missing)?;
            let indexes = target.get("imageIndexes").ok_or_else(missing)?;
            let indexes: Vec<u64> = indexes.elements().filter_map(Js::as_count).collect();
            let node = self.nodes.get_mut(&seq).ok_or_else(missing)?;
            let message = node.message.as_deref().ok_or_else(missing)?;
            node.message = Some(mark_offloaded(message, &indexes)?.into());
            node.offloaded_by.push(event.seq);
        }
        Ok(())
    }

    /// The nodes, in the order in which the model sees them.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.order.iter().filter_map(|seq| self.nodes.get(&seq))
    }

    /// The node that this event put on the surface, while it is there.
    pub fn node(&self, seq: Seq) -> Option<&Node> {
        self.nodes.get(&seq.0)
    }

    /// The messages, each as JSON text.
    pub fn messages(&self) -> impl Iterator<Item = &str> {
        self.nodes().filter_map(|node| node.message.as_deref())
    }

    /// Append the messages as one compact JSON array.
    pub fn print_messages(&self, out: &mut Vec<u8>) {
        out.push(b'[');
        for (i, message) in self.messages().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            out.extend_from_slice(message.as_bytes());
        }
        out.push(b']');
    }
}

/// The message that an event gives, printed.
fn message(event: &Event<'_>, kind: EventType) -> Result<Option<Box<str>>, HistoryError> {
    let malformed = || HistoryError::Malformed { seq: event.seq };
    let message = match kind {
        EventType::UserMessage => event.data,
        _ => event.member("message"),
    };
    let message = message.filter(|message| message.is_object()).ok_or_else(malformed)?;
    let emptied = match kind {
        // These stay in the history even when there is nothing in them.
        EventType::UserMessage | EventType::ToolResult => false,
        _ => message.get("content").is_none_or(|content| content.elements().next().is_none()),
    };
    if emptied {
        return Ok(None);
    }
    let mut text = Vec::with_capacity(message.raw().len());
    print(&mut text, message);
    Ok(Some(String::from_utf8_lossy(&text).into()))
}

/// The message with `offloaded: true` on the images that `indexes` names, counted over its direct image blocks.
fn mark_offloaded(message: &str, indexes: &[u64]) -> Result<String, JsonError> {
    let doc = Doc::parse(message)?;
    let mut out = Vec::with_capacity(message.len() + 20 * indexes.len());
    let mut image = 0;
    print_members(&mut out, doc.root(), |out, key, value| {
        if key != "content" {
            return false;
        }
        out.push(b'[');
        for (i, block) in value.elements().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            let is_image = block.get("type").is_some_and(|kind| kind.is("image"));
            if is_image && indexes.contains(&image) {
                print_marked(out, block);
            } else {
                print(out, block);
            }
            image += u64::from(is_image);
        }
        out.push(b']');
        true
    });
    Ok(String::from_utf8_lossy(&out).into_owned())
}

/// An image block with the mark: at the place of an older value of it, else at the end.
fn print_marked(out: &mut Vec<u8>, block: Js<'_>) {
    let mut marked = false;
    print_members(out, block, |out, key, _| {
        let here = key == "offloaded";
        if here {
            out.extend_from_slice(b"true");
            marked = true;
        }
        here
    });
    if !marked {
        out.pop();
        out.extend_from_slice(b",\"offloaded\":true}");
    }
}

/// Print an object whose members are in JavaScript's order already; `instead` may print a value in its own way.
fn print_members(
    out: &mut Vec<u8>,
    object: Js<'_>,
    mut instead: impl FnMut(&mut Vec<u8>, &str, Js<'_>) -> bool,
) {
    out.push(b'{');
    for (i, (key, value)) in object.members().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        print_str(out, key);
        out.push(b':');
        if !instead(out, &key.to_lossy(), value) {
            print(out, value);
        }
    }
    out.push(b'}');
}

#[cfg(test)]
mod tests {
    use dshlog_codec::Place;

    use super::*;

    fn fold(history: &mut History, line: &str) -> Result<(), HistoryError> {
        let doc = Doc::parse(line).unwrap();
        history.see(&Event::from_row(doc.root(), Place::default()))
    }

    fn line(seq: u64, kind: &str, data: &str, op: &str) -> String {
        format!(r#"{{"type":"{kind}","seq":{seq},"time":0,"data":{data},"surfaceOp":{op}}}"#)
    }

    fn replace(start: u64, end: u64) -> String {
        format!(r#"{{"op":"replace","startSeq":{start},"endSeq":{end}}}"#)
    }

    /// Seq, type, payload, operation; then the nodes and the ids of the messages behind it.
    type Row<'a> = (u64, &'a str, String, String, &'a [u64], &'a str);

    /// The example of `docs/spec/surface.md`, 11.1: nodes and derived messages after each event.
    #[test]
    fn folds_and_derives_as_the_worked_example() {
        let mut history = History::new();
        let text = |id: &str| format!(r#"{{"id":"{id}","content":[{{"type":"text","text":"x"}}]}}"#);
        let held = |id: &str| format!(r#"{{"message":{}}}"#, text(id));
        let empty = r#"{"message":{"id":"e","content":[]}}"#.to_owned();
        let append = || "\"append\"".to_owned();
        let rows: Vec<Row<'_>> = vec![
            (0, "system/message", held("s"), append(), &[0], "s"),
            (1, "user/message", text("u1"), append(), &[0, 1], "s u1"),
            (2, "assistant/message", held("a1"), append(), &[0, 1, 2], "s u1 a1"),
            (4, "tool/result", held("t1"), append(), &[0, 1, 2, 4], "s u1 a1 t1"),
            (5, "assistant/message", empty.clone(), append(), &[0, 1, 2, 4, 5], "s u1 a1 t1"),
            (
                6,
                "user/message",
                r#"{"id":"u2","content":[]}"#.into(),
                append(),
                &[0, 1, 2, 4, 5, 6],
                "s u1 a1 t1 u2",
            ),
            (7, "tool/result", held("t1b"), replace(4, 4), &[0, 1, 2, 7, 5, 6], "s u1 a1 t1b u2"),
            (8, "user/message", text("ck"), replace(1, 7), &[0, 8, 5, 6], "s ck u2"),
            (9, "system/message", empty, replace(0, 0), &[9, 8, 5, 6], "ck u2"),
            (10, "user/message", text("zz"), replace(8, 6), &[9, 10], "zz"),
        ];
        for (seq, kind, data, op, nodes, ids) in rows {
            fold(&mut history, &line(seq, kind, &data, &op)).unwrap();
            let got: Vec<u64> = history.nodes().map(|node| node.seq.0).collect();
            assert_eq!(got, nodes, "after {seq}");
            let got: Vec<String> = history
                .messages()
                .map(|m| Doc::parse(m).unwrap().root().get("id").unwrap().as_str().unwrap().to_string())
                .collect();
            assert_eq!(got.join(" "), ids, "after {seq}");
        }
        assert_eq!(history.nodes().nth(1).unwrap().replaced, [Seq(8), Seq(5), Seq(6)]);
        assert!(matches!(
            fold(&mut history, &line(11, "user/message", "{}", &replace(10, 9))),
            Err(HistoryError::NotOnSurface { .. })
        ));
    }

    /// JSON has many spellings for one name.
    #[test]
    fn a_type_counts_however_it_is_escaped() {
        let mut history = History::new();
        let data = r#"{"id":"u","content":[]}"#;
        fold(&mut history, &line(0, r"user\/message", data, "\"append\"")).unwrap();
        assert_eq!(history.messages().collect::<Vec<_>>(), [data]);
    }

    /// The example of 11.2.
    #[test]
    fn offloads_mark_images_of_messages_that_stay() {
        let mut history = History::new();
        let data = r#"{"id":"u","content":[{"type":"text","text":"t"},{"type":"image","n":1},{"type":"image","n":2}]}"#;
        fold(&mut history, &line(0, "user/message", data, "\"append\"")).unwrap();
        for (seq, index) in [(1, 1), (2, 0)] {
            let targets = format!(r#"{{"targets":[{{"seq":0,"imageIndexes":[{index}]}}]}}"#);
            let row = format!(r#"{{"type":"image/offload","seq":{seq},"time":0,"data":{targets}}}"#);
            fold(&mut history, &row).unwrap();
        }
        assert_eq!(
            history.messages().next().unwrap(),
            r#"{"id":"u","content":[{"type":"text","text":"t"},{"type":"image","n":1,"offloaded":true},{"type":"image","n":2,"offloaded":true}]}"#
        );
        assert_eq!(history.nodes().next().unwrap().offloaded_by, [Seq(1), Seq(2)]);
    }
}
