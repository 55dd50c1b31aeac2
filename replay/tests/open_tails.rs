//! Open ends of real logs: what dsh appended when it went on with them, and what the checks say of ours.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use dshlog_codec::check::Checker;
use dshlog_codec::json::Doc;
use dshlog_codec::read::{Limits, LogFile};
use dshlog_codec::{Event, Generation, Header, Millis, Place};
use dshlog_replay::fork::At;
use dshlog_replay::{ForkPoint, NewEvent, Resume};
use dshlog_tests::model::{Corpora, Entry};

fn header(entry: &Entry) -> Header {
    LogFile::open(&entry.log).unwrap().header().unwrap()
}

/// The rows of the events of a V4 log, as the official writer prints them.
fn rows(entry: &Entry) -> Vec<String> {
    let mut reader = LogFile::open(&entry.log).unwrap().read(&Limits::default()).unwrap();
    let mut rows = Vec::new();
    while let Some(event) = reader.next_event().unwrap() {
        let mut row = Vec::new();
        event.print_row(&mut row);
        rows.push(String::from_utf8(row).unwrap());
    }
    rows
}

fn is_sound(entry: &Entry) -> bool {
    entry.generation == Generation::CURRENT && entry.restored().is_some()
}

/// What dsh 0.2.1-rc.2 appended when it opened an open log, wherever one of the corpora was gone on with: killed sessions
/// lie there with all that came behind the kill.
#[test]
fn what_a_resume_appends_is_what_dsh_appended() {
    for (corpora, at_least) in Corpora::all().iter().zip([1, 4]) {
        let mut compared = 0;
        for entry in corpora.entries.iter().filter(|entry| is_sound(entry)) {
            let rows: Vec<Doc> = rows(entry).into_iter().map(|row| Doc::parse(row).unwrap()).collect();
            let event = |at: usize| Some(Event::from_row(rows.get(at)?.root(), Place::default()));
            let mut resume = Resume::new();
            // By the place of the mark. What was appended is all that may be: a step may have ended before the kill.
            let mut appended = BTreeMap::new();
            for at in 0..rows.len() {
                let closers = resume.open().map_or(0, |open| usize::try_from(open.closers()).unwrap());
                if closers > 0 && is_resumed(event, at + closers) {
                    appended.insert(at + closers, (at, resume.clone()));
                }
                if let Some(event) = event(at) {
                    resume.see(&event);
                }
            }
            for (mark, (at, resume)) in appended {
                // The mark has the time of the process that made it.
                let resumed = resume.finish(event(mark).unwrap().time);
                let ours: Vec<&str> = resumed.events().map(NewEvent::text).collect();
                let theirs: Vec<&str> = rows[at..=mark].iter().map(Doc::text).collect();
                assert_eq!(ours, theirs, "{} at {at}", entry.log.display());
                compared += 1;
            }
        }
        assert!(compared >= at_least, "only {compared} in {}", corpora.dir.display());
    }
}

/// True when a plain mark is there, behind a turn that was ended as interrupted: what only a resume writes.
fn is_resumed<'e>(event: impl Fn(usize) -> Option<Event<'e>>, at: usize) -> bool {
    let mark = event(at).filter(|mark| mark.is("session/end-seed") && mark.member("inherited").is_none());
    let end = at.checked_sub(1).and_then(event).filter(|end| end.is("turn/end"));
    let kind = end.and_then(|end| end.data?.path(&["reason", "kind"]));
    mark.is_some() && kind.is_some_and(|kind| kind.is("interrupted"))
}

/// Any prefix of a valid log is made valid by what a resume appends, and by what a fork adds. Nearly any: the end-seed mark
/// that lets a turn's end cross an open compaction may lie behind the prefix (`docs/spec/surface.md`, section 8).
#[test]
fn every_prefix_of_a_log_can_be_closed() {
    const PREFIXES: usize = 150;
    let mut prefixes = 0;
    for entry in Corpora::own().entries.iter().filter(|entry| is_sound(entry)) {
        let header = header(entry);
        let rows: Vec<Doc> = rows(entry).into_iter().map(|row| Doc::parse(row).unwrap()).collect();
        let cut = entry.restored().unwrap().cut;
        // The mark of a fork is part of what a prefix must have.
        let first = if header.is_seeded { usize::try_from(cut).unwrap() + 1 } else { 0 };
        for until in (first..=rows.len()).step_by(rows.len() / PREFIXES + 1) {
            let prefix = || rows[..until].iter().map(|row| Event::from_row(row.root(), Place::default()));
            let mut resume = Resume::new();
            prefix().for_each(|event| resume.see(&event));
            let resumed = resume.finish(Millis(0));
            let fault = fault(&header, prefix(), resumed.events(), cut);
            assert_eq!(fault, None, "{} behind {until} events", entry.case);

            let mut point = ForkPoint::new(At::End, &header);
            prefix().for_each(|event| point.see(&event));
            let seed = point.finish(Millis(0)).unwrap();
            let child = seed.header(&header, "child".into(), 0);
            let fault = self::fault(&child, prefix(), seed.own.iter(), seed.cut());
            assert_eq!(fault, None, "{} forked behind {until} events", entry.case);
            prefixes += 1;
        }
    }
    assert!(prefixes > 1000, "only {prefixes}");
}

/// What the checks have against a log of these events.
fn fault<'e>(
    header: &Header,
    events: impl Iterator<Item = Event<'e>>,
    behind: impl Iterator<Item = &'e NewEvent>,
    cut: u64,
) -> Option<String> {
    let mut checker = Checker::with_admission(header);
    events.chain(behind.map(NewEvent::event)).for_each(|event| checker.see(&event));
    let verdict = checker.finish(cut);
    verdict.storage.or(verdict.session).map(|error| error.to_string())
}
