//! Comparisons of real logs: with themselves, with copies in which what is drawn was drawn anew, and with copies in which
//! one value was changed.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::convert::Infallible;

use dshlog_codec::json::{Doc, Js, print};
use dshlog_codec::read::{Limits, LogFile};
use dshlog_codec::{Event, Generation, Header, Place, Seq};
use dshlog_replay::compare::{Comparison, Rule, Rules, Source, Verdict, compare};
use dshlog_tests::model::Corpora;
use proptest::prelude::*;

/// A log in memory.
#[derive(Clone, Debug)]
struct Log {
    header: Header,
    rows: Vec<String>,
}

impl Source for Log {
    type Error = Infallible;

    fn header(&self) -> Header {
        self.header.clone()
    }

    fn each(&self, see: &mut dyn FnMut(&Event<'_>)) -> Result<(), Infallible> {
        for row in &self.rows {
            let doc = Doc::parse(row.as_str()).unwrap();
            see(&Event::from_row(doc.root(), Place::default()));
        }
        Ok(())
    }
}

/// The V4 logs of some cases: plain turns, calls side by side, compaction, forks, subagents, goals, jobs, failures.
fn logs() -> Vec<Log> {
    let cases = [
        "v4-multi-turn",
        "v4-tools-parallel",
        "v4-compact",
        "v4-fork",
        "v4-subagent",
        "v4-goal",
        "v4-ptc",
        "v4-retry-500",
        "v4-unicode",
        "v4-workflow",
        "v4-kill-tool-resumed",
        "v4-tools-in-history",
        "v4-todo",
        "v4-web",
    ];
    let corpora = Corpora::own();
    let entries = corpora.entries.iter();
    let logs: Vec<Log> = entries
        .filter(|entry| entry.generation == Generation(4) && cases.contains(&entry.case.as_str()))
        .map(|entry| {
            let file = LogFile::open(&entry.log).unwrap();
            let mut reader = file.read(&Limits::default()).unwrap();
            let mut rows = Vec::new();
            while let Some(event) = reader.next_event().unwrap() {
                let mut row = Vec::new();
                event.print_logical(&mut row);
                rows.push(String::from_utf8(row).unwrap());
            }
            Log { header: file.header().unwrap(), rows }
        })
        .collect();
    assert!(logs.len() >= cases.len());
    logs
}

fn compared(a: &Log, b: &Log, rules: Rules) -> Comparison {
    let Ok(comparison) = compare(a, b, rules);
    comparison
}

#[test]
fn a_log_is_equal_to_itself() {
    for log in logs() {
        for rules in [Rules::default(), Rules::NONE] {
            let comparison = compared(&log, &log, rules);
            assert!(comparison.is_equal(), "{}", log.header.id);
            assert_eq!(
                comparison.entries().len(),
                log.rows.iter().len() + doubled(&comparison),
                "{}",
                log.header.id
            );
        }
    }
}

/// Events that are left out stand once for each log.
fn doubled(comparison: &Comparison) -> usize {
    comparison.entries().iter().filter(|entry| entry.a.is_none()).count()
}

/// Every UUID with its digits exchanged, one to one.
fn redrawn(text: &str, key: u8) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, _)) = rest.char_indices().find(|(at, _)| is_uuid(&rest[*at..])) {
        out.push_str(&rest[..at]);
        let (uuid, behind) = rest[at..].split_at(36);
        out.extend(uuid.chars().map(|c| match c.to_digit(16) {
            Some(digit) => char::from_digit(digit ^ u32::from(key & 15), 16).unwrap(),
            None => c,
        }));
        rest = behind;
    }
    out + rest
}

fn is_uuid(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 36
        && (0..36).all(|at| match at {
            8 | 13 | 18 | 23 => bytes[at] == b'-',
            _ => bytes[at].is_ascii_digit() || (b'a'..=b'f').contains(&bytes[at]),
        })
}

/// A copy whose ids were drawn anew, some time later. Streams cut ids in two, so those that do are left alone.
fn copy(log: &Log, key: u8) -> Log {
    let mut header = Vec::new();
    log.header.print(&mut header);
    let header = redrawn(&String::from_utf8(header).unwrap(), key);
    let later = |row: &String| redrawn(row, key).replace("\"time\":17", "\"time\":18");
    Log {
        header: Header::parse(&header, dshlog_codec::header::CwdRule::Any).unwrap(),
        rows: log.rows.iter().map(later).collect(),
    }
}

#[test]
fn names_drawn_anew_and_other_times_make_no_difference() {
    for log in logs() {
        // An id in the arguments of a call is cut by the stream they came in; one half of it cannot be exchanged here.
        if log.rows.iter().any(|row| row.contains("args") && row.contains("goal_id")) {
            continue;
        }
        for key in [1, 9] {
            let comparison = compared(&log, &copy(&log, key), Rules::default());
            let first =
                comparison.differences().first().map(|difference| comparison.entries()[difference.first]);
            assert!(comparison.is_equal(), "{} {first:?}", log.header.id);
            let kept = compared(&log, &copy(&log, key), Rules::default().without(Rule::Ids));
            assert!(!kept.is_equal(), "{}", log.header.id);
        }
    }
}

/// The strings of a payload, by pointer and offset in the text.
fn strings(value: Js<'_>, pointer: &str, found: &mut Vec<(String, usize)>) {
    if value.as_str().is_some() {
        found.push((pointer.to_owned(), value.offset()));
    }
    for (name, member) in value.members() {
        let name = name.to_lossy().replace('~', "~0").replace('/', "~1");
        strings(member, &format!("{pointer}/{name}"), found);
    }
    for (at, element) in value.elements().enumerate() {
        strings(element, &format!("{pointer}/{at}"), found);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, ..ProptestConfig::default() })]

    /// One string of one payload gets a mark: it is what is found, and nothing else.
    #[test]
    fn one_change_is_found_where_it_was_made(log in 0..1000usize, event in 0..100_000usize, string in 0..100_000usize) {
        let logs = logs_once();
        let a = &logs[log % logs.len()];
        let at = event % a.rows.len();
        let doc = Doc::parse(a.rows[at].as_str()).unwrap();
        let mut found = Vec::new();
        strings(doc.root().get("data").unwrap(), "/data", &mut found);
        // Members of lists are told by these: with another one they are another member.
        found.retain(|(pointer, _)| !pointer.ends_with("/type") && !pointer.ends_with("/name"));
        prop_assume!(!found.is_empty());
        let (pointer, offset) = &found[string % found.len()];
        let mut b = a.clone();
        b.rows[at].insert_str(offset + 1, "changed ");
        let comparison = compared(a, &b, Rules::NONE);
        let differences = comparison.differences();
        prop_assert_eq!(differences.len(), 1, "{:?}", differences);
        let entry = comparison.entries()[differences[0].first];
        let seq = Some(Seq(at as u64));
        prop_assert_eq!((entry.a, entry.b, entry.verdict), (seq, seq, Verdict::Changed));
        let changes = comparison.changes(differences[0].first, &a.rows[at], &b.rows[at]);
        prop_assert_eq!(changes.len(), 1, "{:?}", changes);
        prop_assert_eq!(changes[0].pointer(), pointer);
    }

    /// Events that were taken out are missing, and nothing else is different.
    #[test]
    fn what_is_taken_out_is_missing(log in 0..1000usize, event in 0..100_000usize) {
        let logs = logs_once();
        let a = &logs[log % logs.len()];
        let at = event % a.rows.len();
        let kinds = ["turn/start", "turn/end", "step/start", "step/end"];
        let doc = Doc::parse(a.rows[at].as_str()).unwrap();
        prop_assume!(!kinds.iter().any(|kind| doc.root().get("type").is_some_and(|t| t.is(kind))));
        // Ids of closers have seqs in them, which are not lowered here.
        prop_assume!(!a.rows.iter().any(|row| row.contains("-tool-result-")));
        let mut b = a.clone();
        b.rows.remove(at);
        for (seq, row) in b.rows.iter_mut().enumerate().skip(at) {
            let new = renumbered(row, seq, at as u64);
            prop_assume!(new.is_some());
            *row = new.unwrap();
        }
        let comparison = compared(a, &b, Rules::default());
        let changed: Vec<_> = comparison
            .differences()
            .into_iter()
            .filter(|difference| !matches!(difference.verdict, Verdict::Missing))
            .collect();
        prop_assert!(changed.is_empty(), "{:?} at {}", changed, at);
        let missing = comparison.counts(|_| true);
        prop_assert_eq!(missing.only_b, 0);
        prop_assert!(missing.only_a <= 1);
    }
}

/// The row of an event whose log lost the event at `gone`; nothing when it names that one and must name one.
fn renumbered(row: &str, seq: usize, gone: u64) -> Option<String> {
    use dshlog_codec::json::Tree;
    fn lower(tree: &mut Tree<'_>, gone: u64) {
        if let Some(list) = tree.open_array() {
            list.retain(|seq| seq.read().and_then(Js::as_count) != Some(gone));
            for seq in list {
                lower(seq, gone);
            }
        } else if let Some(seq) = tree.read().and_then(Js::as_count)
            && seq > gone
        {
            *tree = Tree::integer(seq - 1);
        }
    }
    let doc = Doc::parse(row).unwrap();
    let mut tree = Tree::from(doc.root());
    let paths: &[&[&str]] = &[
        &["sourceEventSeqs"],
        &["surfaceOp", "startSeq"],
        &["surfaceOp", "endSeq"],
        &["data", "sourceEventSeq"],
        &["data", "shadowedRange", "start"],
        &["data", "shadowedRange", "end"],
        &["data", "shadowedSeqs"],
        &["data", "messageSeqs"],
        &["data", "headerSeq"],
        &["data", "throughSeq"],
    ];
    for path in paths {
        let named = doc.root().path(path);
        if named.and_then(Js::as_count) == Some(gone) {
            return None;
        }
        if named.is_some() {
            lower(tree.open_path(path).unwrap(), gone);
        }
    }
    tree.open().unwrap().set("seq", Tree::integer(seq as u64));
    let mut out = Vec::new();
    tree.print(&mut out);
    // Prompts for titles quote seqs.
    let printed = String::from_utf8(out).unwrap();
    let name = r#"{\"seq\":"#;
    let mut parts = printed.split(name);
    let mut text = parts.next().unwrap().to_owned();
    for part in parts {
        let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap();
        let seq: u64 = part[..digits].parse().unwrap();
        if seq == gone {
            return None;
        }
        let seq = seq - u64::from(seq > gone);
        text.extend([name, &seq.to_string(), &part[digits..]]);
    }
    Some(text)
}

fn logs_once() -> &'static [Log] {
    static LOGS: std::sync::OnceLock<Vec<Log>> = std::sync::OnceLock::new();
    LOGS.get_or_init(logs)
}

/// `print` is what rows are compared in.
#[test]
fn rows_are_canonical() {
    for row in logs().iter().flat_map(|log| &log.rows) {
        let mut out = Vec::new();
        print(&mut out, Doc::parse(row.as_str()).unwrap().root());
        assert_eq!(String::from_utf8(out).unwrap(), *row);
    }
}
