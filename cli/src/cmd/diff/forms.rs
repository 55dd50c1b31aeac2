//! `diff --what messages`.

use std::collections::HashMap;

use dshlog_replay::History;
use dshlog_replay::compare::{Form, FormMatch, Forms, Source as _};

use super::{Asked, Events, Judged};
use crate::args::What;
use crate::exit::Failure;
use crate::render::diff::{Item, Mark, Place, Report, SideFacts};

/// Members of a list: where each stands, and its text.
struct List {
    members: Vec<(Place, String)>,
    forms: Vec<Form>,
    turns: u64,
}

/// Compare the messages that the model would be sent next.
pub(super) fn messages(a: &Judged, b: &Judged, asked: &Asked) -> Result<Report, Failure> {
    let (list_a, list_b) = (history(a, asked)?, history(b, asked)?);
    Ok(report(What::Messages, (a, &list_a), (b, &list_b), asked))
}

/// The messages at the end of a log.
fn history(judged: &Judged, asked: &Asked) -> Result<List, Failure> {
    let mut history = History::new();
    let mut fault = None;
    let mut open = (None, None);
    let mut turns = 0;
    let mut standings = HashMap::new();
    Events(&judged.log).each(&mut |event| {
        let number = |name| event.member(name).and_then(dshlog_codec::json::Js::as_count);
        match &*event.kind.to_lossy() {
            "turn/start" => {
                open = (number("turn"), None);
                turns += 1;
            }
            "step/start" => open.1 = number("step"),
            "turn/end" => open = (None, None),
            "step/end" => open.1 = None,
            _ => {}
        }
        if event.surface_op().is_some() {
            standings.insert(event.seq, open);
        }
        if fault.is_none() {
            fault = history.see(event).err();
        }
    })?;
    if let Some(fault) = fault {
        return Err(Failure::refused(format!("no history: {fault}")));
    }
    let mut list = List { members: Vec::new(), forms: Vec::new(), turns };
    for node in history.nodes() {
        let (turn, step) = standings.get(&node.seq).copied().unwrap_or_default();
        let Some(text) = node.message.as_deref().filter(|_| asked.turn.is_none() || asked.turn == turn) else {
            continue;
        };
        let Some(form) = Form::message(text, &judged.survey) else { continue };
        let place = Place { seq: node.seq.0, kind: node.kind.name().to_owned(), turn, step };
        list.members.push((place, text.to_owned()));
        list.forms.push(form);
    }
    Ok(list)
}

fn report(what: What, a: (&Judged, &List), b: (&Judged, &List), asked: &Asked) -> Report {
    let ((judged_a, list_a), (judged_b, list_b)) = (a, b);
    let facts = |judged: &Judged, list: &List| SideFacts::of(&judged.log, judged.events, list.turns);
    let sides = [facts(judged_a, list_a), facts(judged_b, list_b)];
    let mut report = asked.report(what, judged_a.survey.rules(), sides);
    let forms = Forms::align(&list_a.forms, &list_b.forms);
    let matches = forms.matches();
    let item = |found: &FormMatch, is_shown: bool| {
        let (one, other) = (
            found.a.and_then(|at| list_a.members.get(at)),
            found.b.and_then(|at| list_b.members.get(at)),
        );
        let changes = match (one, other) {
            (Some(one), Some(other)) if is_shown => {
                forms.changes(found, (&one.1, &judged_a.survey), (&other.1, &judged_b.survey))
            }
            _ => Vec::new(),
        };
        let mark = match (one, other) {
            _ if found.is_equal() => Mark::Same,
            (Some(_), Some(_)) => Mark::Changed,
            (Some(_), None) => Mark::OnlyA,
            _ => Mark::OnlyB,
        };
        let place = |member: Option<&(Place, String)>| member.map(|member| member.0.clone());
        let row = one.or(other).filter(|_| mark == Mark::OnlyA || mark == Mark::OnlyB);
        let row = row.map(|member| member.1.clone()).unwrap_or_default();
        Item { mark, a: place(one), b: place(other), events: 1, row, changes }
    };
    let different: Vec<usize> =
        matches.iter().enumerate().filter(|(_, found)| !found.is_equal()).map(|(at, _)| at).collect();
    let shown = &different[..different.len().min(asked.most)];
    let mut last = 0;
    for at in shown {
        let from = at.saturating_sub(asked.context).max(last);
        last = (at + 1 + asked.context).min(matches.len());
        let until = shown.iter().find(|next| *next > at).map_or(last, |next| last.min(*next));
        report.items.extend(matches.get(from..until).into_iter().flatten().map(|found| item(found, true)));
        last = until;
    }
    report.left_out = (different.len() - shown.len()) as u64;
    report.is_equal = different.is_empty();
    report.first = report.items.iter().position(Item::is_difference);
    report.counts = counts(matches, list_a, list_b);
    report
}

fn counts(matches: &[FormMatch], a: &List, b: &List) -> Vec<(&'static str, u64)> {
    let count = |is: fn(&FormMatch) -> bool| matches.iter().filter(|found| is(found)).count() as u64;
    vec![
        ("a", a.members.len() as u64),
        ("b", b.members.len() as u64),
        ("equal", count(FormMatch::is_equal)),
        ("setAside", 0),
        ("changed", count(|found| found.a.is_some() && found.b.is_some() && !found.is_equal())),
        ("moved", 0),
        ("onlyA", count(|found| found.b.is_none())),
        ("onlyB", count(|found| found.a.is_none())),
    ]
}
