//! `dshlog.diff/1`.

use std::io::{self, Write};

use dshlog_replay::compare::{Change, Rule, Spot};

use super::super::json::Object;
use super::{Item, Mark, Place, Report, SideFacts};

const SCHEMA: &str = "dshlog.diff/1";
/// A longer value is not printed, unless all is.
const LONGEST: usize = 8 * 1024;
/// Places of one event that are listed, unless all are.
const CHANGES: usize = 50;

/// Write the report as a document.
pub(crate) fn json(report: &Report, full: bool, out: &mut dyn Write) -> io::Result<()> {
    let mut document = Object::new(SCHEMA);
    fill(report, full, &mut document);
    document.write_line(out)
}

/// The same document as a member of another one.
pub(crate) fn member(name: &str, report: &Report, document: &mut Object) {
    document.object(name, |object| {
        object.text("schema", SCHEMA);
        fill(report, false, object);
    });
}

fn fill(report: &Report, full: bool, document: &mut Object) {
    document.text("what", report.shown.what);
    for (name, side) in ["a", "b"].into_iter().zip(&report.sides) {
        document.object(name, |object| facts(side, object));
    }
    document.texts("setAside", report.rules.iter().map(Rule::name));
    document.count_or_null("turn", report.shown.turn);
    document.flag("equal", report.is_equal);
    match report.first.and_then(|first| report.items.get(first)) {
        Some(item) => document.object("first", |object| first(item, full, object)),
        None => document.raw("first", b"null"),
    }
    document
        .object("counts", |object| report.counts.iter().for_each(|(name, count)| object.count(name, *count)));
    let differences = report.items.iter().filter(|item| item.is_difference());
    document.array("differences", differences, |item, object| difference(item, full, object));
    document.count("leftOut", report.left_out);
}

fn facts(side: &SideFacts, object: &mut Object) {
    object.text("id", &side.id);
    object.path("path", side.path.as_deref());
    object.count("storedVersion", side.generation);
    object.count("turns", side.turns);
    object.count("events", side.events);
}

/// The first place at which the two differ.
fn first(item: &Item, full: bool, object: &mut Object) {
    let place = item.place();
    object.count_or_null("turn", place.and_then(|place| place.turn));
    object.count_or_null("step", place.and_then(|place| place.step));
    let change = item.changes.first();
    object.text_or_null("pointer", change.map(Change::pointer));
    for (name, place, spot) in [
        ("a", &item.a, change.and_then(|change| change.a.as_ref())),
        ("b", &item.b, change.and_then(|change| change.b.as_ref())),
    ] {
        // Headers have no place, and yet a value.
        if place.is_none() && spot.is_none() {
            object.raw(name, b"null");
            continue;
        }
        object.object(name, |object| {
            object.count_or_null("seq", place.as_ref().map(|place| place.seq));
            object.text("type", place.as_ref().map_or("session", |place| &place.kind));
            match spot {
                Some(spot) => value(spot, full, object),
                None => object.raw("value", b"null"),
            }
        });
    }
}

fn difference(item: &Item, full: bool, object: &mut Object) {
    let (kind, extent) = match item.mark {
        Mark::Same => ("equal", "event"),
        Mark::Header => ("changed", "header"),
        Mark::Changed => ("changed", "event"),
        Mark::Moved => ("moved", "event"),
        Mark::OnlyA => ("only-a", "event"),
        Mark::OnlyB => ("only-b", "event"),
        Mark::StepA => ("only-a", "step"),
        Mark::StepB => ("only-b", "step"),
        Mark::TurnA => ("only-a", "turn"),
        Mark::TurnB => ("only-b", "turn"),
    };
    object.text("kind", kind);
    object.text("extent", extent);
    object.count("events", item.events);
    for (name, place) in [("a", &item.a), ("b", &item.b)] {
        match place {
            Some(place) => object.object(name, |object| standing(place, object)),
            None => object.raw(name, b"null"),
        }
    }
    let most = if full { usize::MAX } else { CHANGES };
    object.array("changes", item.changes.iter().take(most), |change, object| spots(change, full, object));
    object.count("moreChanges", item.changes.len().saturating_sub(most) as u64);
}

/// Both sides of a change.
pub(super) fn spots(change: &Change, full: bool, object: &mut Object) {
    for (name, spot) in [("a", &change.a), ("b", &change.b)] {
        match spot {
            Some(spot) => object.object(name, |object| {
                object.text("pointer", &spot.pointer);
                value(spot, full, object);
            }),
            None => object.raw(name, b"null"),
        }
    }
}

fn standing(place: &Place, object: &mut Object) {
    object.count("seq", place.seq);
    object.text("type", &place.kind);
    object.count_or_null("turn", place.turn);
    object.count_or_null("step", place.step);
}

fn value(spot: &Spot, full: bool, object: &mut Object) {
    if full || spot.value.len() <= LONGEST {
        object.raw("value", spot.value.as_bytes());
    } else {
        object.raw("value", b"null");
        object.count("bytes", spot.value.len() as u64);
    }
}
