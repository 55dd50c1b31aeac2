//! Projections of the real dsh 0.2.1-rc.2 and ours, over the same logs. Most of it runs where `DSHLOG_ORACLE_CACHE` names a
//! folder with the runtime in it, and says so where not.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test may stop and speak")]

mod made;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use dshlog_codec::header::CwdRule;
use dshlog_codec::json::{Doc, Js};
use dshlog_codec::{Event, Generation, Header, Limits, LogFile, Place};
use dshlog_replay::projection::{DEFINITIONS, Definition, Origin, Projections, Start};
use dshlog_tests::model::Corpora;
use dshlog_tests::runtime::{Job, Runtime};
use made::Made;

/// What the runtime has and we do not: what needs its estimates of tokens or its configuration, or is for its own use.
const LEFT_OUT: [&str; 3] = ["contextPressure", "contextBreakdown", "userQuestions"];

/// State and view of a projection behind an event, by file, key and seq; nothing when it has failed.
type States = BTreeMap<(PathBuf, String, u64), Option<(String, String)>>;

/// Every log of the corpora that the official reader reads: those of V4, and old ones where its migrated text is kept.
#[test]
fn real_logs_have_the_official_states() {
    let Some(runtime) = Runtime::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut jobs = Vec::new();
    for corpora in Corpora::all() {
        let mut files = Vec::new();
        texts_below(&corpora.dir, &mut files);
        for entry in corpora.entries.iter().filter(|entry| entry.generation == Generation::CURRENT) {
            if entry.restored().is_some() {
                let file = folder.path().join(format!("{}.jsonl", jobs.len() + files.len()));
                std::fs::write(&file, text_of(&entry.log)).unwrap();
                files.push(file);
            }
        }
        jobs.extend(files.into_iter().map(job));
    }
    assert!(jobs.len() > 80, "{} logs", jobs.len());
    compare(&runtime, &jobs);
}

/// Texts of logs in the form of V4, as the official reader gives them.
fn texts_below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            texts_below(&path, files);
        } else if path.file_name().is_some_and(|name| name == "current.jsonl") {
            files.push(path);
        }
    }
}

/// Header and events of a log of V4, one a line.
fn text_of(log: &Path) -> Vec<u8> {
    let file = LogFile::open(log).unwrap();
    let mut text = Vec::new();
    file.header().unwrap().print(&mut text);
    text.push(b'\n');
    let mut reader = file.read(&Limits::default()).unwrap();
    while let Some(event) = reader.next_event().unwrap() {
        event.print_logical(&mut text);
        text.push(b'\n');
    }
    text
}

/// Four places in a log. The cut is where the last inherited marker stands.
fn job(file: PathBuf) -> Job {
    let text = std::fs::read_to_string(&file).unwrap();
    let is_marker =
        |line: &&str| line.contains(r#"{"type":"session/end-seed""#) && line.contains(r#""inherited":true"#);
    let lines: Vec<_> = text.lines().skip(1).collect();
    let cut = lines.iter().rposition(is_marker).unwrap_or(0);
    Job { file, cut: cut as u64, points: points(lines.len() as u64) }
}

/// What the runtime made of some logs of our own corpora, recorded, so that this is tested where there is no runtime:
/// `recorded.jsonl` has the answers of `tests/src/runtime/projections.mjs` for the end of each.
#[test]
fn recorded_states_are_ours() {
    let folder = tempfile::tempdir().unwrap();
    let corpora = Corpora::own().dir;
    let (theirs, _) = theirs(include_str!("recorded.jsonl"));
    let mut ours = States::new();
    for (log, at) in theirs.keys().map(|(log, _, at)| (log, *at)).collect::<BTreeSet<_>>() {
        let file = folder.path().join("log");
        std::fs::write(&file, text_of(&corpora.join(log))).unwrap();
        let job = Job { points: vec![at], ..job(file) };
        let states = self::ours(&job, &definitions());
        ours.extend(states.into_iter().map(|((_, key, at), state)| ((log.clone(), key, at), state)));
    }
    assert_eq!(ours, theirs);
}

/// The definitions that dsh has, too.
fn definitions() -> Vec<&'static Definition> {
    DEFINITIONS.iter().filter(|definition| definition.origin == Origin::Dsh).collect()
}

/// Logs that are full of what real ones seldom hold.
#[test]
fn made_up_logs_have_the_official_states() {
    let Some(runtime) = Runtime::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let mut jobs = Vec::new();
    for seed in 1..=400 {
        let made = Made::new(seed);
        let file = folder.path().join(format!("{seed}.jsonl"));
        std::fs::write(&file, made.text()).unwrap();
        jobs.push(Job { file, cut: made.cut, points: points(made.events()) });
    }
    compare(&runtime, &jobs);
}

/// Four places in a log, its end among them.
fn points(events: u64) -> Vec<u64> {
    let places = [1, 2, 3, 4].map(|quarter| (events * quarter / 4).checked_sub(1));
    places.into_iter().flatten().collect::<BTreeSet<_>>().into_iter().collect()
}

/// Fold all logs on both sides. Both must know the same states, and the runtime's definitions must be those that we took over.
fn compare(runtime: &Runtime, jobs: &[Job]) {
    let (theirs, versions) = theirs(&runtime.project(jobs).unwrap());
    let definitions = definitions();
    let known: BTreeMap<_, _> = definitions.iter().map(|d| (d.key.to_owned(), d.version)).collect();
    assert_eq!(versions, known);
    let ours: States = jobs.iter().flat_map(|job| ours(job, &definitions)).collect();
    assert_eq!(ours.len(), theirs.len());
    let differences: Vec<_> = ours
        .iter()
        .filter(|(place, state)| theirs[*place] != **state)
        .map(|(place, state)| format!("{place:?}:\n  theirs {:?}\n  ours   {state:?}", theirs[place]))
        .collect();
    assert!(
        differences.is_empty(),
        "{} differ\n{}",
        differences.len(),
        differences[..differences.len().min(12)].join("\n")
    );
}

fn theirs(answers: &str) -> (States, BTreeMap<String, u64>) {
    let (mut states, mut versions) = (States::new(), BTreeMap::new());
    for answer in answers.lines() {
        let doc = Doc::parse(answer).unwrap();
        let member = |name| doc.root().get(name);
        let text = |name| member(name).and_then(Js::as_str).unwrap().to_string();
        if LEFT_OUT.contains(&&*text("key")) {
            continue;
        }
        versions.insert(text("key"), member("version").and_then(Js::as_count).unwrap());
        let failed = member("error").is_some_and(Js::is_object);
        // The view of permissions is made of a configuration, not of the log.
        let view = member("view").filter(|_| text("key") != "permissions");
        let shown = |value: Option<Js<'_>>| value.map_or("null", Js::raw).to_owned();
        let state = (!failed).then(|| (shown(member("state")), shown(view)));
        let at = member("at").and_then(Js::as_count).unwrap();
        states.insert((PathBuf::from(text("file")), text("key"), at), state);
    }
    (states, versions)
}

fn ours(job: &Job, definitions: &[&'static Definition]) -> States {
    let text = std::fs::read_to_string(&job.file).unwrap();
    let mut lines = text.lines();
    // Some texts have the header as a session has it, without the type of its row.
    let header = lines.next().unwrap().replacen('{', r#"{"type":"session","#, 1);
    let header = Header::parse(&header, CwdRule::Any).unwrap();
    let mut projections = Projections::new(definitions, &Start { header: &header, cut: job.cut });
    let mut states = States::new();
    for line in lines {
        let doc = Doc::parse(line).unwrap();
        let event = Event::from_row(doc.root(), Place::default());
        projections.see(&event);
        if !job.points.contains(&event.seq.0) {
            continue;
        }
        for projection in projections.iter() {
            let printed = |tree: dshlog_codec::json::Tree<'_>| {
                let mut out = Vec::new();
                tree.print(&mut out);
                String::from_utf8(out).unwrap()
            };
            let state = projection.state().ok().map(|state| {
                let view = projection.view().unwrap().map_or_else(|| "null".to_owned(), printed);
                (printed(state), view)
            });
            states.insert((job.file.clone(), projection.definition.key.to_owned(), event.seq.0), state);
        }
    }
    states
}
