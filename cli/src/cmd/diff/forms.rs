//! `diff --what messages` and `diff --what requests`.

use std::collections::{HashMap, HashSet};

use dshlog_codec::json::Js;
use dshlog_replay::compare::{Form, FormMatch, Forms, News, Source as _};
use dshlog_replay::{History, Position, Requests};

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
        let number = |name| event.member(name).and_then(Js::as_count);
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
        return Err(fault.into());
    }
    let mut list = List { members: Vec::new(), forms: Vec::new(), turns };
    for node in history.nodes() {
        let (turn, step) = standings.get(&node.seq).copied().unwrap_or_default();
        let Some(text) = history.message(node).filter(|_| asked.turn.is_none() || asked.turn == turn) else {
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
        let (one, other) =
            (found.a.and_then(|at| list_a.members.get(at)), found.b.and_then(|at| list_b.members.get(at)));
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

/// Compare the requests that the model got, each by what is new in it: what one was asked more than the one before.
pub(super) fn requests(a: &Judged, b: &Judged, asked: &Asked) -> Result<Report, Failure> {
    // The texts of all would be those of both logs, so that only those are kept that turn out to differ.
    let (mut list_a, mut list_b) = (news(a, asked, &|_| false)?, news(b, asked, &|_| false)?);
    let forms = Forms::align(&list_a.forms, &list_b.forms);
    let different: Vec<&FormMatch> =
        forms.matches().iter().filter(|found| !found.is_equal()).take(asked.most).collect();
    let wanted = |at: fn(&FormMatch) -> Option<usize>| -> HashSet<usize> {
        different.iter().filter_map(|found| at(found)).collect()
    };
    let (wanted_a, wanted_b) = (wanted(|found| found.a), wanted(|found| found.b));
    for (list, judged, wanted) in [(&mut list_a, a, wanted_a), (&mut list_b, b, wanted_b)] {
        list.members = news(judged, asked, &|at| wanted.contains(&at))?.members;
    }
    Ok(report(What::Requests, (a, &list_a), (b, &list_b), asked))
}

/// The requests of a log; the texts of those that `is_wanted`, by their number.
fn news(judged: &Judged, asked: &Asked, is_wanted: &dyn Fn(usize) -> bool) -> Result<List, Failure> {
    let mut requests = Requests::new();
    let mut list = List { members: Vec::new(), forms: Vec::new(), turns: 0 };
    let mut news = News::default();
    let mut fault = None;
    Events(&judged.log).each(&mut |event| {
        if fault.is_some() {
            return;
        }
        list.turns += u64::from(event.is("turn/start"));
        if let Some(request) = requests.settled(event) {
            let text = news.take(&request);
            let Position { turn, step, .. } = request.position;
            if asked.turn.is_none_or(|asked| asked == turn) {
                let kind = if event.is("assistant/message") { "request" } else { "request (failed)" };
                let place =
                    Place { seq: event.seq.0, kind: kind.to_owned(), turn: Some(turn), step: Some(step) };
                list.forms.extend(Form::request(&text, &judged.survey));
                let text = if is_wanted(list.members.len()) { text } else { String::new() };
                list.members.push((place, text));
            }
        }
        fault = requests.see(event).err();
        news.see(event);
    })?;
    fault.map_or(Ok(list), |fault| Err(fault.into()))
}
