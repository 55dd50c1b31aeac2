//! `diff --what events`.

use std::collections::{BTreeSet, HashMap};

use dshlog_codec::Seq;
use dshlog_replay::compare::{
    Change, Comparison, Counts, Difference, Entry, Side, Verdict, compare_surveyed, rows,
};

use super::{Asked, Events, Judged};
use crate::args::What;
use crate::exit::Failure;
use crate::render::diff::{Item, Mark, Place, Report, SideFacts};

/// Compare the events of two logs.
pub(super) fn report(a: Judged, b: Judged, asked: &Asked) -> Result<Report, Failure> {
    let (source_a, source_b) = (Events(&a.log), Events(&b.log));
    let rules = a.survey.rules();
    let comparison = compare_surveyed((&source_a, a.survey), (&source_b, b.survey))?;
    let facts = |log, events, side| SideFacts::of(log, events, comparison.turns(side));
    let sides = [facts(&a.log, a.events, Side::A), facts(&b.log, b.events, Side::B)];
    let mut report = asked.report(What::Events, rules, sides);

    let is_meant = |entry: &Entry| asked.turn.is_none_or(|turn| comparison.turn_of(entry) == Some(turn));
    let entries = comparison.entries();
    let differences: Vec<Difference> = comparison
        .differences()
        .into_iter()
        .filter(|difference| entries.get(difference.first).is_some_and(is_meant))
        .collect();
    let (shown, left) = differences.split_at(differences.len().min(asked.most));
    let wanted = |seq: fn(&Entry) -> Option<Seq>| -> BTreeSet<Seq> {
        shown.iter().filter_map(|difference| entries.get(difference.first).and_then(seq)).collect()
    };
    let rows_a = rows(&source_a, &wanted(|entry| entry.a))?;
    let rows_b = rows(&source_b, &wanted(|entry| entry.b))?;

    if asked.turn.is_none() && !comparison.header().is_empty() {
        report.items.push(header(comparison.header().to_vec()));
    }
    let mut last = 0;
    for (number, difference) in shown.iter().enumerate() {
        let Some(entry) = entries.get(difference.first) else { continue };
        let next = shown.get(number + 1).map_or(entries.len(), |next| next.first);
        let row = |seq: Option<Seq>, rows: &HashMap<Seq, String>| {
            seq.and_then(|seq| rows.get(&seq).cloned()).unwrap_or_default()
        };
        let (one, other) = (row(entry.a, &rows_a), row(entry.b, &rows_b));
        let changes = match difference.verdict {
            Verdict::Changed => comparison.changes(difference.first, &one, &other),
            _ => Vec::new(),
        };
        let before = difference.first.saturating_sub(asked.context).max(last)..difference.first;
        report.items.extend(before.filter_map(|at| around(&comparison, at, is_meant)));
        report.items.push(Item {
            mark: mark(difference.verdict, entry),
            a: place(&comparison, Side::A, entry.a),
            b: place(&comparison, Side::B, entry.b),
            events: difference.events,
            row: if entry.a.is_some() { one } else { other },
            changes,
        });
        last = (difference.last + 1 + asked.context).min(next).max(difference.last + 1);
        let behind = difference.last + 1..last;
        report.items.extend(behind.filter_map(|at| around(&comparison, at, is_meant)));
    }
    report.left_out = left.len() as u64;
    report.counts = counts(comparison.counts(is_meant));
    report.is_equal = differences.is_empty() && !report.items.iter().any(Item::is_difference);
    report.first = report.items.iter().position(Item::is_difference);
    Ok(report)
}

/// Facts of the two headers.
fn header(changes: Vec<Change>) -> Item {
    Item { mark: Mark::Header, a: None, b: None, events: 0, row: String::new(), changes }
}

/// An equal event near a difference.
fn around(comparison: &Comparison, at: usize, is_meant: impl Fn(&Entry) -> bool) -> Option<Item> {
    let entry = comparison.entries().get(at)?;
    if entry.verdict != Verdict::Equal || !is_meant(entry) {
        return None;
    }
    Some(Item {
        mark: Mark::Same,
        a: place(comparison, Side::A, entry.a),
        b: place(comparison, Side::B, entry.b),
        events: 1,
        row: String::new(),
        changes: Vec::new(),
    })
}

fn mark(verdict: Verdict, entry: &Entry) -> Mark {
    match verdict {
        Verdict::Equal | Verdict::SetAside => Mark::Same,
        Verdict::Changed => Mark::Changed,
        Verdict::Moved => Mark::Moved,
        Verdict::Missing if entry.a.is_some() => Mark::OnlyA,
        Verdict::Missing => Mark::OnlyB,
        Verdict::MissingStep if entry.a.is_some() => Mark::StepA,
        Verdict::MissingStep => Mark::StepB,
        Verdict::MissingTurn if entry.a.is_some() => Mark::TurnA,
        Verdict::MissingTurn => Mark::TurnB,
    }
}

fn place(comparison: &Comparison, side: Side, seq: Option<Seq>) -> Option<Place> {
    let standing = comparison.standing(side, seq?)?;
    Some(Place { seq: standing.seq.0, kind: standing.kind, turn: standing.turn, step: standing.step })
}

fn counts(counts: Counts) -> Vec<(&'static str, u64)> {
    let Counts { a, b, equal, set_aside, changed, moved, only_a, only_b } = counts;
    vec![
        ("a", a),
        ("b", b),
        ("equal", equal),
        ("setAside", set_aside),
        ("changed", changed),
        ("moved", moved),
        ("onlyA", only_a),
        ("onlyB", only_b),
    ]
}
