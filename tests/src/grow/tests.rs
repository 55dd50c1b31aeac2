use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use dshlog_codec::Event;
use dshlog_codec::check::Checker;
use dshlog_codec::json::{Doc, Js, Kind};
use dshlog_codec::read::{Limits, LogFile};
use dshlog_migrate::migrate_in_memory;

use super::*;

const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

fn small(plan: &Plan) -> (Grown, Vec<u8>) {
    let home = tempfile::tempdir().unwrap();
    let grown = grow(home.path(), plan).unwrap();
    let bytes = fs::read(&grown.log).unwrap();
    (grown, bytes)
}

fn plain(plan: &Plan) -> String {
    let (_, bytes) = small(plan);
    String::from_utf8(if plan.framing == Framing::Raw { bytes } else { zstd::decode_all(&*bytes).unwrap() })
        .unwrap()
}

#[test]
fn a_seed_decides_every_byte() {
    let plan = Plan::bytes(200_000);
    assert_eq!(small(&plan).1, small(&plan).1);
    assert_ne!(small(&plan).1, small(&Plan { seed: 2, ..plan.clone() }).1);
}

#[test]
fn frames_are_like_those_of_dsh() {
    let (grown, bytes) = small(&Plan::bytes(200_000).raw());
    assert_eq!((grown.plain, grown.frames), (bytes.len() as u64, 0));
    let (grown, bytes) = small(&Plan::bytes(200_000));
    assert!(grown.plain > 200_000 && grown.frames > 5, "{grown:?}");
    // Nothing but the checksum flag, and the window of level 3.
    assert!(bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58]));
    let second = bytes[4..].windows(4).position(|w| w == MAGIC).unwrap() + 4;
    let first = zstd::decode_all(&bytes[..second]).unwrap();
    assert_eq!(first.iter().position(|&b| b == b'\n'), Some(first.len() - 1));
}

#[test]
fn small_frames_are_counted() {
    let (grown, bytes) = small(&Plan::frames(300));
    assert!((300..310).contains(&grown.frames), "{grown:?}");
    assert!(grown.events > grown.frames && grown.events < 2 * grown.frames, "{grown:?}");
    assert_eq!(bytes.windows(4).filter(|w| *w == MAGIC).count() as u64, grown.frames);
}

#[test]
fn seqs_are_dense_and_turns_counted() {
    let text = plain(&Plan::bytes(3_000_000));
    let mut turn = 0;
    for (seq, line) in text.lines().skip(1).enumerate() {
        let doc = Doc::parse(line).unwrap();
        assert_eq!(doc.root().get("seq").and_then(Js::as_count), Some(seq as u64));
        if doc.root().get("type").is_some_and(|t| t.is("turn/start")) {
            turn += 1;
            assert_eq!(doc.root().path(&["data", "turn"]).and_then(Js::as_count), Some(turn));
        }
    }
    assert!(turn > 50, "{turn}");
}

#[test]
fn grown_logs_pass_all_checks() {
    for plan in [Plan::bytes(3_000_000), Plan::frames(8_000), Plan::bytes(400_000).raw()] {
        let home = tempfile::tempdir().unwrap();
        let grown = grow(home.path(), &plan).unwrap();
        let mut reader = LogFile::open(&grown.log).unwrap().read(&Limits::default()).unwrap();
        let mut checker = Checker::new(reader.header());
        while let Some(event) = reader.next_event().unwrap() {
            checker.see(&event);
        }
        let end = reader.end().unwrap();
        assert_eq!((end.events, end.torn, end.issue.is_none()), (grown.events, None, true));
        let verdict = checker.finish(end.cut);
        assert!(verdict.storage.is_none() && verdict.session.is_none(), "{verdict:?}");
    }
}

/// Objects at any depth have members that the real logs have there, in that order.
#[test]
fn rows_look_like_those_of_real_logs() {
    const REAL: [&str; 6] =
        ["v4-multi-turn", "v4-tools-parallel", "v4-thinking", "v4-retry-500", "v4-compact", "v4-todo"];
    let corpora = Corpora::own();
    let mut real: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for case in REAL {
        let text = zstd::decode_all(&*corpora.log(case).bytes().unwrap()).unwrap();
        for line in String::from_utf8(text).unwrap().lines().skip(1) {
            let (kind, shapes) = shapes(line);
            real.entry(kind).or_default().extend(shapes);
        }
    }
    let mut kinds = BTreeSet::new();
    for line in plain(&Plan::bytes(3_000_000)).lines().skip(1) {
        let (kind, shapes) = shapes(line);
        for shape in shapes {
            assert!(real[&kind].contains(&shape), "{kind} never has {shape}");
        }
        kinds.insert(kind);
    }
    for kind in ["assistant/attempt", "llm/retry", "compaction/summary", "tool/result", "request/header"] {
        assert!(kinds.contains(kind), "no {kind}");
    }
}

/// The type of a row, and each of its objects as path and member names.
fn shapes(line: &str) -> (String, Vec<String>) {
    fn walk(value: Js<'_>, path: &str, out: &mut Vec<String>) {
        match value.kind() {
            Kind::Object => {
                let names: Vec<_> = value.members().map(|(key, _)| key.to_lossy().into_owned()).collect();
                out.push(format!("{path} {}", names.join(" ")));
                for (key, member) in value.members() {
                    walk(member, &format!("{path}/{}", key.to_lossy()), out);
                }
            }
            Kind::Array => value.elements().for_each(|element| walk(element, path, out)),
            _ => {}
        }
    }
    let doc = Doc::parse(line).unwrap();
    let mut out = Vec::new();
    walk(doc.root(), "", &mut out);
    (doc.root().get("type").unwrap().as_str().unwrap().to_lossy().into_owned(), out)
}

#[test]
fn older_generations_are_sound_in_v4() {
    for (old, talk) in
        [(Old::V0, Talk::Long), (Old::V0, Talk::Short), (Old::V3, Talk::Long), (Old::V3, Talk::Short)]
    {
        let home = tempfile::tempdir().unwrap();
        let grown = grow_old(home.path(), old, &Plan { talk, ..Plan::bytes(200_000) }).unwrap();
        let log = LogFile::open(&grown.log).unwrap();
        let mut turns = 0;
        let see = |event: &Event<'_>| {
            turns += u64::from(event.is("turn/end"));
            Ok::<_, Infallible>(())
        };
        let migrated = migrate_in_memory(&log, Some(Vec::new()), &Limits::default(), see).unwrap();
        let (source, verdict) = (migrated.done.source, migrated.verdict);
        assert!(source.issue.is_none(), "{:?}", source.issue);
        assert_eq!((source.events, turns), (grown.events, grown.turns), "{old:?}");
        assert!(verdict.storage.is_none() && verdict.session.is_none(), "{old:?} {talk:?}: {verdict:?}");
        assert!(grown.turns > 2 && grown.plain >= 200_000, "{grown:?}");
    }
}
