use dshlog_codec::Place;
use dshlog_codec::json::Doc;

use super::*;

/// Type, payload, `surfaceOp` as JSON (empty for events that have none); seqs are given in order.
type Row<'a> = (&'a str, &'a str, &'a str);

const APPEND: &str = r#""append""#;
const TURN: &str = r#"{"turn":1}"#;
const STEP: &str = r#"{"turn":1,"step":1}"#;

fn fold(rows: &[Row<'_>]) -> Surface {
    let mut surface = Surface::new();
    for (seq, (kind, data, op)) in rows.iter().enumerate() {
        let op = if op.is_empty() { String::new() } else { format!(r#","surfaceOp":{op}"#) };
        let row = format!(r#"{{"type":"{kind}","seq":{seq},"time":{},"data":{data}{op}}}"#, 1000 + seq);
        let doc = Doc::parse(row).unwrap();
        surface.see(&Event::from_row(doc.root(), Place::default())).unwrap();
    }
    surface
}

fn replace(start: u64, end: u64) -> String {
    format!(r#"{{"op":"replace","startSeq":{start},"endSeq":{end}}}"#)
}

fn said(id: &str) -> String {
    format!(r#"{{"id":"{id}","source":{{"kind":"user"}},"content":[]}}"#)
}

fn held(id: &str) -> String {
    format!(r#"{{"message":{{"id":"{id}","content":[{{"type":"text","text":"x"}}]}}}}"#)
}

const CHECKPOINT: &str =
    r#"{"id":"ck","source":{"kind":"compact-checkpoint","compactionId":"k"},"content":[]}"#;

/// What each trigger leaves in the log (`docs/spec/agent-loop.md`, section 5), and that the summary knows it.
#[test]
fn a_summary_knows_its_compaction() {
    let start = |turn: &str| format!(r#"{{"compactionId":"k","sourceCommandId":"c","turn":{turn}}}"#);
    let (idle, within) = (start("null"), start("1"));
    let (user, one) = (said("u"), replace(0, 0));
    for (before, start, trigger) in [
        (vec![], &idle, Trigger::Manual),
        (vec![("turn/start", TURN, "")], &within, Trigger::Pressure),
        (vec![("turn/start", TURN, ""), ("step/start", STEP, "")], &within, Trigger::Overflow),
        (
            vec![("turn/start", TURN, ""), ("step/start", STEP, ""), ("step/end", STEP, "")],
            &within,
            Trigger::Pressure,
        ),
    ] {
        let mut rows: Vec<Row<'_>> = vec![("user/message", &user, APPEND)];
        rows.extend(before);
        let at = Seq(rows.len() as u64);
        rows.extend([
            ("compaction/start", start.as_str(), ""),
            ("compaction/summary", "{}", ""),
            ("user/message", CHECKPOINT, &one),
            ("compaction/end", "{}", ""),
        ]);
        let surface = fold(&rows);
        let nodes: Vec<_> = surface.nodes().collect();
        let expected = Cause::Compaction(Compaction {
            id: "k".into(),
            start: at,
            summary: Some(Seq(at.0 + 1)),
            trigger,
            command: Some("c".into()),
        });
        assert_eq!(nodes.len(), 1);
        assert_eq!((&nodes[0].cause, &nodes[0].replaced[..]), (&expected, &[Seq(0)][..]), "{trigger:?}");
        let by = Seq(at.0 + 2);
        assert_eq!(
            surface.replacement(by),
            Some(&Replacement { time: Millis(1002 + i64::try_from(at.0).unwrap()), cause: expected })
        );
        let shadowed = Shadowed { seq: Seq(0), kind: EventType::UserMessage, appended: true, by };
        assert_eq!(surface.shadowed().collect::<Vec<_>>(), [&shadowed]);
        assert_eq!(surface.unended().count(), 0);
    }
}

#[test]
fn every_replacement_has_a_cause() {
    let (user, result, prompt) = (said("u"), held("t"), held("s"));
    let prune = r#"{"shadowedRange":{"start":2,"end":2},"shadowedSeqs":[2]}"#;
    let base: [Row<'_>; 3] = [
        ("system/message", &prompt, APPEND),
        ("user/message", &user, APPEND),
        ("tool/result", &result, APPEND),
    ];
    let (first, second, third) = (replace(0, 0), replace(1, 1), replace(2, 2));
    for (rows, cause) in [
        (vec![("system/message", &*prompt, &*first)], Cause::PromptRewrite),
        (vec![("user/message", &user, &second)], Cause::Other),
        // A checkpoint of no compaction: no log that was checked has one.
        (vec![("user/message", CHECKPOINT, &second)], Cause::Other),
        (
            vec![("compaction/prune", prune, ""), ("tool/result", &result, &third)],
            Cause::Prune { prune: Seq(3) },
        ),
        (vec![("tool/result", &result, &third)], Cause::Other),
        // The prune was of another result.
        (
            vec![("compaction/prune", r#"{"shadowedSeqs":[1]}"#, ""), ("tool/result", &result, &third)],
            Cause::Other,
        ),
        (
            vec![
                ("compaction/prune", prune, ""),
                ("user/message", &user, APPEND),
                ("tool/result", &result, &third),
            ],
            Cause::Other,
        ),
    ] {
        let rows = [&base[..], &rows].concat();
        let surface = fold(&rows);
        let last = Seq(rows.len() as u64 - 1);
        assert_eq!(surface.node(last).unwrap().cause, cause, "{rows:?}");
        assert_eq!(
            surface.nodes().filter(|node| node.cause == Cause::Appended).count(),
            rows.len().min(3) - 1 + usize::from(rows.len() == 6)
        );
    }
}

/// What was pruned and then compacted is found through both.
#[test]
fn shadows_are_followed_to_what_stands_there() {
    let (user, result) = (said("u"), held("t"));
    let (prune, first, both) = (r#"{"shadowedSeqs":[1]}"#, replace(1, 1), replace(0, 3));
    let rows: [Row<'_>; 6] = [
        ("user/message", &user, APPEND),
        ("tool/result", &result, APPEND),
        ("compaction/prune", prune, ""),
        ("tool/result", &result, &first),
        ("user/message", &user, &both),
        ("user/message", &user, APPEND),
    ];
    let surface = fold(&rows[..4]);
    assert_eq!(surface.stands_for(Seq(1)), Seq(3));
    assert_eq!(surface.shadow_of(Seq(0)), None);
    let surface = fold(&rows);
    let shadows: Vec<_> =
        surface.shadowed().map(|s| (s.seq.0, s.appended, s.by.0, surface.stands_for(s.seq).0)).collect();
    assert_eq!(shadows, [(0, true, 4, 4), (1, true, 3, 4), (3, false, 4, 4)]);
    assert_eq!(surface.nodes().map(|node| node.seq.0).collect::<Vec<_>>(), [4, 5]);
    assert_eq!(surface.stands_for(Seq(5)), Seq(5));
    let standing = surface.standing();
    assert_eq!(standing.len(), surface.shadowed().count());
    for shadowed in surface.shadowed() {
        assert_eq!(standing[&shadowed.seq], surface.stands_for(shadowed.seq), "{}", shadowed.seq);
    }
}

#[test]
fn compactions_without_an_end_are_told() {
    let start = |id: &str| format!(r#"{{"compactionId":"{id}","turn":null}}"#);
    let (a, b, failed) = (start("a"), start("b"), r#"{"compactionId":"a","turn":null,"error":"no"}"#);
    let told = |rows: &[Row<'_>]| -> Vec<(String, u64, Option<u64>)> {
        fold(rows).unended().map(|u| (u.id.into(), u.start.0, u.orphaned_by.map(|seq| seq.0))).collect()
    };
    let row = |data| ("compaction/start", data, "");
    assert_eq!(told(&[row(&*a)]), [("a".to_owned(), 0, None)]);
    assert_eq!(told(&[row(&a), ("compaction/end", failed, "")]), []);
    assert_eq!(
        told(&[row(&a), ("session/end-seed", "{}", ""), row(&b)]),
        [("a".to_owned(), 0, Some(1)), ("b".to_owned(), 2, None)]
    );
}

/// The example of `docs/spec/surface.md`, 11.1, with the events that tell of its prune and its compaction.
#[test]
fn what_became_of_a_message() {
    let nothing = r#"{"message":{"content":[]}}"#;
    let (first, middle, last) = (replace(3, 3), replace(1, 2), replace(0, 0));
    let surface = fold(&[
        ("system/message", nothing, APPEND),
        ("user/message", "{}", APPEND),
        ("assistant/message", nothing, APPEND),
        ("tool/result", nothing, APPEND),
        ("compaction/prune", r#"{"shadowedSeqs":[3]}"#, ""),
        ("tool/result", nothing, &first),
        ("compaction/start", r#"{"compactionId":"c","turn":null}"#, ""),
        ("compaction/summary", "{}", ""),
        ("user/message", CHECKPOINT, &middle),
        ("system/message", nothing, &last),
    ]);
    for (seq, fate) in [
        (0, Fate::Gone(Seq(9))),
        (1, Fate::Gone(Seq(7))),
        (2, Fate::Gone(Seq(7))),
        (3, Fate::Shortened(Seq(4))),
        (4, Fate::None),
        (5, Fate::Seen),
        (8, Fate::Seen),
        (9, Fate::Seen),
    ] {
        assert_eq!(surface.fate(Seq(seq)), fate, "{seq}");
    }
}
