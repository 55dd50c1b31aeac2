//! Messages that the model no longer sees, and what took their place (`docs/spec/surface.md`, section 2).

use std::collections::{HashMap, HashSet};

use dshlog_codec::Event;
use dshlog_codec::check::{EventType, NodeOrder};
use dshlog_codec::json::Js;

/// What became of an event on its way to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is no message.
    None,
    /// The model sees it as it is.
    Seen,
    /// The model sees a shorter one in its place. The event that tells of it.
    Shortened(u64),
    /// The model sees it no more. The event that tells of it.
    Gone(u64),
}

/// Follows the surface, and remembers what left it. Holds seqs only.
#[derive(Debug, Default)]
pub(crate) struct Shadows {
    order: NodeOrder,
    /// Every event that ever was a node of the surface.
    nodes: HashSet<u64>,
    /// What took the place of an event: the node, and the event that tells of it.
    replaced: HashMap<u64, By>,
    /// The last summary, and the last prune.
    told: [Option<u64>; 2],
}

#[derive(Clone, Copy, Debug)]
struct By {
    node: u64,
    told: u64,
    /// The same message, made shorter.
    shortened: bool,
}

impl Shadows {
    /// Take in the next event. One that replaces what is not there is passed over: nothing here judges a log.
    pub(crate) fn see(&mut self, event: &Event<'_>) {
        match EventType::of(event.kind) {
            Some(EventType::CompactionSummary) => self.told[0] = Some(event.seq.0),
            Some(EventType::CompactionPrune) => self.told[1] = Some(event.seq.0),
            Some(kind) if kind.is_surface() => self.surface(event, kind),
            _ => {}
        }
    }

    fn surface(&mut self, event: &Event<'_>, kind: EventType) {
        let seq = event.seq.0;
        self.nodes.insert(seq);
        let Some(op) = event.surface_op().filter(|op| op.is_object()) else { return self.order.push(seq) };
        let end_of = |name| op.get(name).and_then(Js::as_count);
        let Some((start, end)) = end_of("startSeq").zip(end_of("endSeq")) else { return };
        let Ok(nodes) = self.order.replace(start, end, seq) else { return };
        let shortened = kind == EventType::ToolResult;
        let source = event.member("source").and_then(|source| source.get("kind"));
        let told = match kind {
            EventType::ToolResult => self.told[1],
            EventType::UserMessage if source.is_some_and(|kind| kind.is("compact-checkpoint")) => {
                self.told[0]
            }
            _ => None,
        };
        let by = By { node: seq, told: told.unwrap_or(seq), shortened };
        self.replaced.extend(nodes.into_iter().map(|node| (node, by)));
    }

    /// What became of the message in an event.
    pub(crate) fn fate(&self, seq: u64) -> Fate {
        let mut fate = if self.nodes.contains(&seq) { Fate::Seen } else { Fate::None };
        let mut at = seq;
        while let Some(by) = self.replaced.get(&at) {
            if !by.shortened {
                return Fate::Gone(by.told);
            }
            fate = Fate::Shortened(by.told);
            at = by.node;
        }
        fate
    }
}

#[cfg(test)]
mod tests {
    use dshlog_codec::Place;
    use dshlog_codec::json::Doc;

    use super::*;

    /// The example of `docs/spec/surface.md`, 11.1, with the events that tell of its prune and its compaction.
    #[test]
    fn follows_the_worked_example() {
        let mut shadows = Shadows::default();
        let append = "\"append\"".to_owned();
        let replace = |start, end| format!(r#"{{"op":"replace","startSeq":{start},"endSeq":{end}}}"#);
        let checkpoint = r#"{"source":{"kind":"compact-checkpoint"}}"#;
        for (seq, kind, data, op) in [
            (0, "system/message", "{}", Some(append.clone())),
            (1, "user/message", "{}", Some(append.clone())),
            (2, "assistant/message", "{}", Some(append.clone())),
            (3, "tool/result", "{}", Some(append)),
            (4, "compaction/prune", "{}", None),
            (5, "tool/result", "{}", Some(replace(3, 3))),
            (6, "compaction/summary", "{}", None),
            (7, "user/message", checkpoint, Some(replace(1, 2))),
            (8, "system/message", "{}", Some(replace(0, 0))),
        ] {
            let op = op.map(|op| format!(r#","surfaceOp":{op}"#)).unwrap_or_default();
            let row = format!(r#"{{"type":"{kind}","seq":{seq},"time":0,"data":{data}{op}}}"#);
            let doc = Doc::parse(row).unwrap();
            shadows.see(&Event::from_row(doc.root(), Place::default()));
        }
        let fates: Vec<Fate> = [0, 1, 2, 3, 4, 5, 7, 8].map(|seq| shadows.fate(seq)).into();
        assert_eq!(
            fates,
            [
                Fate::Gone(8),
                Fate::Gone(6),
                Fate::Gone(6),
                Fate::Shortened(4),
                Fate::None,
                Fate::Seen,
                Fate::Seen,
                Fate::Seen
            ]
        );
    }
}
