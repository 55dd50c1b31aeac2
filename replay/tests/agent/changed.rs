//! What is changed on its way into the loop is found where it was changed.

use std::sync::OnceLock;

use dshlog_codec::Seq;
use dshlog_codec::json::{Doc, Js, Tree};
use dshlog_replay::agent::rerun::{Options, Rerun, rerun};
use dshlog_replay::compare::{Comparison, FirstDifference, Rules, Verdict, compare};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::records::{self, Log};

fn logs() -> &'static [Log] {
    static LOGS: OnceLock<Vec<Log>> = OnceLock::new();
    LOGS.get_or_init(|| records::own(4))
}

/// The strings below a place of a row, by pointer and offset in the row. Members that are words of the format, and names that
/// are drawn, are left alone: with another one an event is another event.
fn strings(row: &str, place: &[&str]) -> Vec<(String, usize)> {
    let doc = Doc::parse(row).unwrap();
    let mut found = Vec::new();
    if let Some(value) = doc.root().path(place) {
        collect(value, &format!("/{}", place.join("/")), &mut found);
    }
    found
}

fn collect(value: Js<'_>, pointer: &str, found: &mut Vec<(String, usize)>) {
    const WORDS: [&str; 4] = ["type", "kind", "blockType", "id"];
    if value.as_str().is_some() {
        found.push((pointer.to_owned(), value.offset()));
    }
    for (name, member) in value.members().filter(|(name, _)| !WORDS.iter().any(|word| *name == **word)) {
        collect(member, &format!("{pointer}/{}", name.to_lossy()), found);
    }
    for (at, element) in value.elements().enumerate() {
        collect(element, &format!("{pointer}/{at}"), found);
    }
}

/// A log with one string changed, of those at `place` in the events that are `meant`; nothing when there is none.
fn changed(
    log: &Log,
    pick: (usize, usize),
    kinds: &[&str],
    place: &[&str],
    meant: impl Fn(usize, Js<'_>) -> bool,
) -> Option<(Log, usize, String)> {
    let places: Vec<usize> = (0..log.rows.len())
        .filter(|at| {
            let is_of = |kind: &&str| log.rows[*at].starts_with(&format!(r#"{{"type":"{kind}","#));
            if !kinds.iter().any(is_of) {
                return false;
            }
            let doc = Doc::parse(log.rows[*at].as_str()).unwrap();
            meant(*at, doc.root()) && !strings(&log.rows[*at], place).is_empty()
        })
        .collect();
    let at = *places.get(pick.0 % places.len().max(1))?;
    let strings = strings(&log.rows[at], place);
    let (pointer, offset) = &strings[pick.1 % strings.len()];
    let mut log = log.clone();
    log.rows[at].insert_str(offset + 1, "changed ");
    Some((log, at, pointer.clone()))
}

fn again(log: &Log) -> Rerun {
    rerun(&log.record(), Options::default()).unwrap()
}

fn compared(record: &Log, made: &Rerun) -> (Comparison, Option<FirstDifference>) {
    let record = record.record();
    let Ok(comparison) = compare(&record, &made.log, Rules::default());
    let Ok(first) = comparison.first_difference(&record, &made.log);
    (comparison, first)
}

/// The first difference is this event, at this place or around it.
fn found_at(first: Option<FirstDifference>, at: usize, pointer: &str) -> Result<(), TestCaseError> {
    let first = first.ok_or_else(|| TestCaseError::fail("nothing was found"))?;
    let seq = |standing: Option<dshlog_replay::compare::Standing>| standing.map(|standing| standing.seq);
    prop_assert_eq!((seq(first.a), first.verdict), (Some(Seq(at as u64)), Verdict::Changed));
    prop_assert_eq!(seq(first.b), Some(Seq(at as u64)));
    let told = first.change.map(|change| change.pointer().to_owned()).unwrap_or_default();
    // What a stream amounts to stands in front of it, and differs as well.
    let is_sum = pointer.starts_with("/data/stream")
        && (told.starts_with("/data/message") || told.starts_with("/data/usage"));
    prop_assert!(is_sum || pointer.starts_with(&told), "{} for {}", told, pointer);
    Ok(())
}

/// A result whose text the loop makes by itself.
fn is_made(row: Js<'_>) -> bool {
    const MADE: [&str; 3] = ["UNKNOWN_TOOL", "ABORTED", "ABORTED_BEFORE_DISPATCH"];
    let code = row.path(&["data", "error", "code"]);
    let id = row.path(&["data", "message", "id"]).and_then(Js::as_str);
    MADE.iter().any(|made| code.is_some_and(|code| code.is(made)))
        || id.is_some_and(|id| id.to_lossy().starts_with("interrupted-"))
        || row.path(&["data", "error", "code"]).is_some_and(|code| code.is("INVALID_ARGS"))
}

/// A result that answers a call, and none that takes the place of one.
fn is_result(row: Js<'_>) -> bool {
    row.get("surfaceOp").is_some_and(|op| op.is("append"))
}

/// Events that were inherited are no loop's.
fn is_own(log: &Log, at: usize) -> bool {
    !log.header.is_seeded || at as u64 > log.cut
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_chunk(log in 0..1000usize, event in 0..10_000usize, string in 0..10_000usize) {
        let log = &logs()[log % logs().len()];
        let meant = |at: usize, _: Js<'_>| is_own(log, at);
        let kinds = ["assistant/message", "assistant/attempt"];
        let served = changed(log, (event, string), &kinds, &["data", "stream"], meant);
        prop_assume!(served.is_some());
        let (served, at, pointer) = served.unwrap();
        let (_, first) = compared(log, &again(&served));
        found_at(first, at, &pointer)?;
    }

    #[test]
    fn a_changed_result(log in 0..1000usize, event in 0..10_000usize, string in 0..10_000usize) {
        let log = &logs()[log % logs().len()];
        let meant = |at: usize, row: Js<'_>| is_own(log, at) && is_result(row) && !is_made(row);
        let served = changed(log, (event, string), &["tool/result"], &["data", "message", "content"], meant);
        prop_assume!(served.is_some());
        let (served, at, pointer) = served.unwrap();
        let (_, first) = compared(log, &again(&served));
        found_at(first, at, &pointer)?;
    }

    #[test]
    fn a_changed_prompt(log in 0..1000usize, event in 0..10_000usize, string in 0..10_000usize) {
        let log = &logs()[log % logs().len()];
        let meant = |at: usize, _: Js<'_>| is_own(log, at);
        let served = changed(log, (event, string), &["agent/inbox/spliced"], &["data", "inserted"], meant);
        prop_assume!(served.is_some());
        let (served, at, pointer) = served.unwrap();
        let (_, first) = compared(log, &again(&served));
        found_at(first, at, &pointer)?;
    }

    /// A record that says two things is found out where it says the second one.
    #[test]
    fn a_record_that_contradicts_itself(log in 0..1000usize, kind in 0..4usize, event in 0..10_000usize, string in 0..10_000usize) {
        let log = &logs()[log % logs().len()];
        let (kind, place): (_, &[&str]) = [
            ("user/message", &["data", "content"][..]),
            ("assistant/message", &["data", "message", "content"]),
            ("tool/call", &["data", "arguments"]),
            ("llm/retry", &["data", "failure"]),
        ][kind];
        let told = claimed(log);
        let meant = |at: usize, row: Js<'_>| {
            let id = row.path(&["data", "id"]).and_then(Js::as_str).map(|id| id.to_string());
            is_own(log, at) && (kind != "user/message" || id.is_some_and(|id| told.contains(&id)))
        };
        let record = changed(log, (event, string), &[kind], place, meant);
        prop_assume!(record.is_some());
        let (record, at, pointer) = record.unwrap();
        let (_, first) = compared(&record, &again(&record));
        found_at(first, at, &pointer)?;
    }
}

/// Ids of messages that came through the inbox.
fn claimed(log: &Log) -> Vec<String> {
    let rows = log.rows.iter().filter(|row| row.starts_with(r#"{"type":"agent/inbox/spliced""#));
    rows.flat_map(|row| {
        let doc = Doc::parse(row.as_str()).unwrap();
        let inserted = doc.root().path(&["data", "inserted"]).unwrap();
        inserted
            .elements()
            .map(|message| message.get("id").unwrap().as_str().unwrap().to_string())
            .collect::<Vec<_>>()
    })
    .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Whatever is done to a record, running it again comes to an end, and never writes much more than the record has.
    #[test]
    fn a_damaged_record_comes_to_an_end(
        log in 0..1000usize,
        damage in prop::collection::vec((0..4u8, 0..10_000usize, 0..10_000usize), 1..6),
    ) {
        let mut log = logs()[log % logs().len()].clone();
        for (kind, one, other) in damage {
            let (one, other) = (one % log.rows.len(), other % log.rows.len());
            match kind {
                0 => drop(log.rows.remove(one)),
                1 => log.rows.insert(one, log.rows[other].clone()),
                2 => log.rows.swap(one, other),
                _ => log.rows.truncate(one + 1),
            }
            prop_assume!(!log.rows.is_empty());
        }
        log.cut %= log.rows.len() as u64 + 1;
        let record = log.record();
        if let Ok(made) = rerun(&record, Options::default()) {
            prop_assert!(made.log.rows().len() <= record.len() + 8, "{} of {}", made.log.rows().len(), record.len());
        }
    }
}

/// Where the loop makes a text by itself, what the record has there does not count.
#[test]
fn results_that_the_loop_makes_are_made_anew() {
    let mut seen = 0;
    for log in records::all().iter().flat_map(|(_, logs)| logs) {
        let meant = |at: usize, row: Js<'_>| {
            let code = row.path(&["data", "error", "code"]);
            is_own(log, at)
                && is_result(row)
                && code.is_some_and(|code| code.is("UNKNOWN_TOOL") || code.is("ABORTED"))
        };
        let Some((served, ..)) =
            changed(log, (0, 0), &["tool/result"], &["data", "message", "content"], meant)
        else {
            continue;
        };
        let (comparison, first) = compared(log, &again(&served));
        assert!(comparison.is_equal(), "{} {first:?}", log.name);
        seen += 1;
    }
    if dshlog_tests::model::Corpora::shared().is_some() {
        assert!(seen > 5, "{seen}");
    }
}

/// The record without one of its events, all seqs lowered; nothing when a later event names that one.
fn without(log: &Log, gone: usize) -> Option<Log> {
    let mut log = log.clone();
    log.rows.remove(gone);
    for row in log.rows.iter_mut().skip(gone) {
        *row = lowered(row, gone as u64)?;
    }
    Some(log)
}

fn lowered(row: &str, gone: u64) -> Option<String> {
    const SEQS: [&[&str]; 8] = [
        &["seq"],
        &["surfaceOp", "startSeq"],
        &["surfaceOp", "endSeq"],
        &["data", "sourceEventSeq"],
        &["data", "headerSeq"],
        &["data", "throughSeq"],
        &["data", "shadowedRange", "start"],
        &["data", "shadowedRange", "end"],
    ];
    const LISTS: [&[&str]; 3] = [&["sourceEventSeqs"], &["data", "shadowedSeqs"], &["data", "messageSeqs"]];
    let lower = |seq: u64| (seq != gone).then(|| Tree::integer(seq - u64::from(seq > gone)));
    let doc = Doc::parse(row).unwrap();
    let mut tree = Tree::from(doc.root());
    for path in SEQS {
        if let Some(seq) = doc.root().path(path).and_then(Js::as_count) {
            *tree.open_path(path)? = lower(seq)?;
        }
    }
    for path in LISTS {
        if let Some(list) = doc.root().path(path) {
            let seqs = list.elements().filter_map(Js::as_count).map(lower);
            *tree.open_path(path)? = Tree::Array(seqs.collect::<Option<_>>()?);
        }
    }
    let mut out = Vec::new();
    tree.print(&mut out);
    Some(String::from_utf8(out).unwrap())
}

/// What the loop makes cannot be left out of a record: it makes it all the same, or something else. A few cannot be missed:
/// what a cancelled turn said last, since it may have been cancelled before, the last failed attempt of a turn, since a turn
/// may fail without a request, and what stands at the end of a log, since its process may have ended. Of the runtime context
/// nobody says that it is to be told.
#[test]
fn what_is_left_out_is_missed() {
    const LOOP: [&str; 14] = [
        "turn/start",
        "turn/end",
        "step/start",
        "step/end",
        "assistant/message",
        "assistant/attempt",
        "user/message",
        "request/header",
        "request/context",
        "developer/message",
        "llm/retry",
        "llm/retry-started",
        "tool/call",
        "tool/result",
    ];
    let (mut missed, mut passed) = (0, Vec::new());
    for log in logs().iter().filter(|log| log.rows.len() < 80 && !log.header.is_seeded) {
        // The last one may not have been written yet.
        for at in 0..log.rows.len() - 1 {
            let doc = Doc::parse(log.rows[at].as_str()).unwrap();
            let kind = doc.root().get("type").unwrap().as_str().unwrap().to_string();
            let is_told = log.rows[at].contains(r#""source":{"kind":"runtime-context""#);
            if !LOOP.contains(&kind.as_str()) || is_told {
                continue;
            }
            let Some(record) = without(log, at) else { continue };
            let noticed = match rerun(&record.record(), Options::default()) {
                Err(_) => true,
                Ok(made) => made.parted.is_some() || !compared(&record, &made).0.is_equal(),
            };
            if noticed { missed += 1 } else { passed.push(format!("{kind} {} {at}", log.name)) }
        }
    }
    let share = passed.len() * 100 / (missed + passed.len());
    eprintln!("{missed} of {} noticed", missed + passed.len());
    assert!(missed > 500, "only {missed}");
    assert!(share <= 5, "{share} % not noticed\n{}", passed.join("\n"));
}
