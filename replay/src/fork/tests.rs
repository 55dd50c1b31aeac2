//! Right answers: `docs/spec/surface.md`, sections 9.1 and 11.3. Forks of whole logs are compared in
//! `tests/open_tails.rs`.

use dshlog_codec::header::CwdRule;

use super::*;
use crate::testing::{OPEN_STEP, see_all};

const PARENT: &str = r#"{"type":"session","version":4,"id":"p","createdAt":1,"cwd":"/w","parentSession":"g","isSeeded":true,"origin":"subagent","delegationDepth":2}"#;

fn parent() -> Header {
    Header::parse(PARENT, CwdRule::Posix).unwrap()
}

fn fork(rows: &[&str], at: At) -> Result<Seed, NoForkPoint> {
    let mut point = ForkPoint::new(at, &parent());
    see_all(rows, |event| point.see(event));
    point.finish(Millis(99))
}

/// What a fork adds: types, calls of results, seqs.
fn own(seed: &Seed) -> Vec<String> {
    let told = seed.own.iter().map(|own| {
        let event = own.event();
        let id = event.data.and_then(|data| data.path(&["message", "id"])).and_then(Js::as_str);
        let what = id.map_or_else(|| event.kind.to_string(), |id| id.to_string());
        format!("{} {what}", event.seq)
    });
    told.collect()
}

/// The table of 11.3, its right column and the sentences below it.
#[test]
fn forks_of_an_open_step() {
    for (at, expected) in [
        (
            8,
            &[
                "9 session/end-seed",
                "10 forked-tool-result-c2-10",
                "11 forked-tool-result-c3-11",
                "12 step/end",
                "13 turn/end",
            ][..],
        ),
        (
            5,
            &[
                "6 session/end-seed",
                "7 forked-tool-result-c1-7",
                "8 forked-tool-result-c2-8",
                "9 forked-tool-result-c3-9",
                "10 step/end",
                "11 turn/end",
            ],
        ),
        (1, &["2 session/end-seed", "3 step/end", "4 turn/end"]),
        (0, &["1 session/end-seed", "2 turn/end"]),
    ] {
        let seed = fork(&OPEN_STEP, At::Seq(Seq(at))).unwrap();
        assert_eq!(own(&seed), expected, "at {at}");
        assert_eq!((seed.cut(), seed.events()), (at + 1, at + 1 + expected.len() as u64));
        // P-19: the time of the last event that is copied.
        let times: Vec<i64> = seed.own.iter().map(|own| own.event().time.0).collect();
        assert_eq!(times, vec![2000 + i64::try_from(at).unwrap(); expected.len()]);
    }
    let seed = fork(&OPEN_STEP, At::End).unwrap();
    assert_eq!(
        seed.own[0].text(),
        r#"{"type":"session/end-seed","seq":9,"time":2008,"data":{"inherited":true}}"#
    );
    assert!(seed.own[1].text().contains("has no record of this tool call starting"));
    assert!(seed.own[2].text().contains("records this tool call starting but does not include its result"));
    assert!(seed.own[2].text().ends_with(r#""surfaceOp":"append","sourceEventSeqs":[8]}"#));
    assert_eq!(
        seed.own[4].text(),
        r#"{"type":"turn/end","seq":13,"time":2008,"data":{"turn":1,"reason":{"kind":"forked"}}}"#
    );
    assert_eq!(seed.open, Some(Open { turn: 1, step: Some(1), not_started: 1, unknown: 1 }));
}

/// A fork of that fork at its first closer.
#[test]
fn a_fork_among_closers() {
    let seed = fork(&OPEN_STEP, At::End).unwrap();
    let rows: Vec<&str> = OPEN_STEP.into_iter().chain(seed.own.iter().map(NewEvent::text)).collect();
    let again = fork(&rows, At::Seq(Seq(10))).unwrap();
    assert_eq!(
        own(&again),
        ["11 session/end-seed", "12 forked-tool-result-c3-12", "13 step/end", "14 turn/end"]
    );
    assert_eq!(again.cut(), 11);
    // P-18: of a log that is closed, the mark only.
    let closed = fork(&rows, At::End).unwrap();
    assert_eq!(own(&closed), ["14 session/end-seed"]);
    assert_eq!(closed.open, None);
}

/// The default of a person's fork: what follows a turn stays with it, up to what the next one brings.
#[test]
fn behind_the_last_turn_that_has_an_end() {
    let turn_end = r#"{"type":"turn/end","seq":1,"time":1,"data":{"turn":1,"reason":{"kind":"completed"}}}"#;
    let title = r#"{"type":"session/title","seq":2,"time":2,"data":{}}"#;
    let rewritten = r#"{"type":"user/message","seq":2,"time":2,"data":{},"surfaceOp":{"op":"replace","startSeq":0,"endSeq":0}}"#;
    let next = |kind: &str, seq: u64| {
        format!(r#"{{"type":"{kind}","seq":{seq},"time":3,"data":{{"turn":2}},"surfaceOp":"append"}}"#)
    };
    let (start, inbox, user) =
        (next("turn/start", 3), next("agent/inbox/spliced", 3), next("user/message", 3));
    let late = next("session/title", 4);
    for (behind, at) in [
        (&[][..], 1),
        (&[title], 2),
        (&[rewritten], 2),
        (&[title, &start], 2),
        (&[title, &inbox, &late], 2),
        (&[title, &user, &late], 2),
    ] {
        let rows = [&OPEN_STEP[..1], &[turn_end], behind].concat();
        let seed = fork(&rows, At::LastTurn).unwrap();
        assert_eq!((seed.at, seed.own.len()), (Some(Seq(at)), 1), "{behind:?}");
    }
}

#[test]
fn places_that_are_not_there() {
    assert_eq!(fork(&OPEN_STEP, At::Seq(Seq(9))).unwrap_err(), NoForkPoint::Beyond { at: Seq(9), events: 9 });
    assert_eq!(fork(&[], At::Seq(Seq(0))).unwrap_err(), NoForkPoint::Beyond { at: Seq(0), events: 0 });
    assert_eq!(fork(&OPEN_STEP, At::LastTurn).unwrap_err(), NoForkPoint::NoTurn);
    let empty = fork(&[], At::End).unwrap();
    assert_eq!((empty.at, empty.cut(), empty.events()), (None, 0, 1));
    assert_eq!(
        empty.own[0].text(),
        r#"{"type":"session/end-seed","seq":0,"time":99,"data":{"inherited":true}}"#
    );
}

/// Nothing of the parent but its name, its folder and its preset: that of the header, or the last one that was selected.
#[test]
fn the_header_of_a_fork() {
    let printed = |seed: &Seed| {
        let mut out = Vec::new();
        seed.header(&parent(), "c".into(), 5).print(&mut out);
        String::from_utf8(out).unwrap()
    };
    let plain = r#"{"type":"session","version":4,"id":"c","createdAt":5,"cwd":"/w","parentSession":"p","isSeeded":true,"delegationDepth":0}"#;
    assert_eq!(printed(&fork(&OPEN_STEP, At::End).unwrap()), plain);
    let selected = r#"{"type":"agent-preset/selected","seq":1,"time":1,"data":{"agentPreset":"ptc"}}"#;
    let seed = fork(&[OPEN_STEP[0], selected], At::Seq(Seq(0))).unwrap();
    assert_eq!(printed(&seed), plain.replace('}', r#","agentPreset":"ptc"}"#));
}
