//! What became of a message on its way to the model (`docs/spec/surface.md`, section 2).

use dshlog_codec::Seq;
use dshlog_codec::check::EventType;
use dshlog_replay::Surface;
use dshlog_replay::surface::Cause;

/// What became of an event.
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

impl Fate {
    /// That of the message in an event, by the surface at the end of the log.
    pub(crate) fn of(surface: &Surface, seq: u64) -> Fate {
        let mut at = Seq(seq);
        let mut fate = if surface.node(at).is_some() { Fate::Seen } else { Fate::None };
        while let Some(shadow) = surface.shadow_of(at) {
            let told = match surface.replacement(shadow.by).map(|replacement| &replacement.cause) {
                Some(Cause::Compaction(compaction)) => compaction.summary.unwrap_or(shadow.by),
                Some(Cause::Prune { prune }) => *prune,
                _ => shadow.by,
            };
            // Only a tool result replaces a tool result, and then it says less of the same.
            if kind_of(surface, shadow.by) != Some(EventType::ToolResult) {
                return Fate::Gone(told.0);
            }
            fate = Fate::Shortened(told.0);
            at = shadow.by;
        }
        fate
    }
}

/// The type of what is or was on the surface.
fn kind_of(surface: &Surface, seq: Seq) -> Option<EventType> {
    let node = surface.node(seq).map(|node| node.kind);
    node.or_else(|| surface.shadow_of(seq).map(|shadow| shadow.kind))
}

#[cfg(test)]
mod tests {
    use dshlog_codec::json::Doc;
    use dshlog_codec::{Event, Place};

    use super::*;

    /// The example of `docs/spec/surface.md`, 11.1, with the events that tell of its prune and its compaction.
    #[test]
    fn follows_the_worked_example() {
        let mut surface = Surface::new();
        let append = "\"append\"".to_owned();
        let replace = |start, end| format!(r#"{{"op":"replace","startSeq":{start},"endSeq":{end}}}"#);
        let checkpoint = r#"{"source":{"kind":"compact-checkpoint"},"content":[]}"#;
        let started = r#"{"compactionId":"c","turn":null}"#;
        let held = r#"{"message":{"content":[]}}"#;
        for (seq, kind, data, op) in [
            (0, "system/message", held, Some(append.clone())),
            (1, "user/message", "{}", Some(append.clone())),
            (2, "assistant/message", held, Some(append.clone())),
            (3, "tool/result", held, Some(append)),
            (4, "compaction/prune", r#"{"shadowedSeqs":[3]}"#, None),
            (5, "tool/result", held, Some(replace(3, 3))),
            (6, "compaction/start", started, None),
            (7, "compaction/summary", "{}", None),
            (8, "user/message", checkpoint, Some(replace(1, 2))),
            (9, "system/message", held, Some(replace(0, 0))),
        ] {
            let op = op.map(|op| format!(r#","surfaceOp":{op}"#)).unwrap_or_default();
            let row = format!(r#"{{"type":"{kind}","seq":{seq},"time":0,"data":{data}{op}}}"#);
            let doc = Doc::parse(row).unwrap();
            surface.see(&Event::from_row(doc.root(), Place::default())).unwrap();
        }
        let fates: Vec<Fate> = [0, 1, 2, 3, 4, 5, 8, 9].map(|seq| Fate::of(&surface, seq)).into();
        assert_eq!(
            fates,
            [
                Fate::Gone(9),
                Fate::Gone(7),
                Fate::Gone(7),
                Fate::Shortened(4),
                Fate::None,
                Fate::Seen,
                Fate::Seen,
                Fate::Seen
            ]
        );
    }
}
