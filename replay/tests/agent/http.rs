//! Records run again over HTTP: the fixture server has the script that was made of the record.

use std::time::Duration;

use dshlog_codec::Millis;
use dshlog_fixture_server::{Capture, FixtureServer, Outcome, Script};
use dshlog_replay::agent::http::{Endpoint, HttpModel};
use dshlog_replay::agent::rerun::{self, Record, Rerun, rerun};
use dshlog_replay::compare::{Rules, compare};
use dshlog_replay::script::{Options, Scripted, script};
use dshlog_replay::wire::Dialect;
use dshlog_tests::model::skip;

use crate::records::{self, Log};

/// The script of a record, and the languages in which it is asked: each of its processes in its own, or all in one where
/// that cannot tell its streams.
fn scripted(record: &Record, options: Options<'_>) -> Option<(Scripted, [Dialect; 2])> {
    let own = script(&[record], options).map(|made| (made, [Dialect::Messages, Dialect::Chat]));
    let one = Options { dialect: Some(Dialect::Messages), ..options };
    own.or_else(|_| script(&[record], one).map(|made| (made, [Dialect::Messages; 2]))).ok()
}

/// Run a record again against a script.
fn run(
    record: &Record,
    script: Script,
    dialects: [Dialect; 2],
) -> (Rerun, dshlog_fixture_server::Verdict, String) {
    let server = FixtureServer::spawn(script).unwrap();
    let mut models = dialects.map(|dialect| {
        let mut endpoint = Endpoint::new(server.url(), dialect);
        endpoint.patience = Duration::from_millis(400);
        endpoint.session = record.header().id.to_lossy().into_owned();
        HttpModel::new(endpoint, Millis(0))
    });
    let [model, older] = &mut models;
    let options =
        rerun::Options { model: Some(model), older_model: Some(older), ..rerun::Options::default() };
    let made = rerun(record, options).unwrap();
    let trouble: Vec<String> = server.captures().iter().filter_map(trouble).take(1).collect();
    (made, server.stop(), trouble.join("\n"))
}

/// What a request was told that was none of the expected ones.
fn trouble(capture: &Capture) -> Option<String> {
    match &capture.outcome {
        Outcome::Unmatched(report) => Some(report.to_string()),
        Outcome::Diverged { differences, .. } => Some(format!("{differences:#?}")),
        _ => None,
    }
}

/// How logs came through.
#[derive(Debug, Default)]
struct Tally {
    equal: usize,
    asked: usize,
    /// Their requests need what no log holds.
    images: usize,
    /// No response of one dialect gives all their streams.
    unserved: usize,
    wrong: Vec<String>,
}

fn run_again(log: &Log, tally: &mut Tally) {
    let record = log.record();
    // The whole script is one that a server takes, too.
    match scripted(&record, Options::default()) {
        Some((made, _)) if made.script.exchanges.is_empty() && made.script.side.is_empty() => {}
        Some((made, _)) => made.script.check().unwrap_or_else(|problem| panic!("{}: {problem}", log.name)),
        None => {}
    }
    if log.rows.iter().any(|row| row.contains(r#""type":"image""#)) {
        tally.images += 1;
        return;
    }
    let Some((made, dialects)) = scripted(&record, Options { loop_only: true, ..Options::default() }) else {
        tally.unserved += 1;
        return;
    };
    if made.script.exchanges.is_empty() {
        return;
    }
    let expected = made.script.exchanges.len();
    if !made.gaps.is_empty() {
        tally.wrong.push(format!("{}: {:?}", log.name, made.gaps));
    }
    let (made, verdict, trouble) = run(&record, made.script, dialects);
    let Ok(comparison) = compare(&record, &made.log, Rules::default());
    let served = verdict.exact + verdict.normalized;
    if comparison.is_equal() && made.parted.is_none() && verdict.is_good() && served == expected {
        tally.equal += 1;
        tally.asked += served;
    } else {
        let Ok(first) = comparison.first_difference(&record, &made.log);
        tally.wrong.push(format!("{}: {verdict}, {first:?}\n{trouble}", log.name));
    }
}

#[track_caller]
fn check(logs: &[Log], least: usize) {
    let mut tally = Tally::default();
    for log in logs {
        run_again(log, &mut tally);
    }
    let Tally { equal, asked, images, unserved, wrong } = &tally;
    skip(&format!(
        "{images} logs that need images, {unserved} that cannot be served; {equal} with {asked} requests ran"
    ));
    assert!(wrong.is_empty(), "{} wrong, {equal} equal\n{}", wrong.len(), wrong.join("\n"));
    assert!(*equal >= least, "only {equal}");
}

#[test]
fn records_run_again_over_messages() {
    check(&records::own(4), 40);
}

#[test]
fn older_records_run_again_over_chat_completions() {
    check(&records::own(3), 10);
    check(&records::own(0), 50);
}

#[test]
fn captured_conversations_run_again_over_http() {
    for (name, logs) in records::all() {
        if name != "own" {
            check(&logs, 60);
        }
    }
}

/// A request with other tools or another system prompt is not the recorded one; one in another folder is.
#[test]
fn a_request_that_is_another_one_does_not_pass() {
    let logs = records::own(4);
    let log = logs.iter().find(|log| log.name.starts_with("v4-tools-parallel")).unwrap();
    let options = Options { loop_only: true, ..Options::default() };
    let changed = |from: &str, to: &str| {
        let rows = log.rows.iter().map(|row| row.replace(from, to)).collect();
        Log { rows, ..log.clone() }
    };
    let first_tool = r#""name":"bash""#;
    assert!(log.rows.iter().any(|row| row.contains(first_tool)));
    for (other, good) in [
        (changed("/tmp/ws/project", "/srv/else where"), true),
        (changed(first_tool, r#""name":"bash2""#), false),
        (changed("You are an AI agent", "You are no AI agent"), false),
    ] {
        let made = script(&[&log.record()], options).unwrap();
        let (_, verdict, trouble) = run(&other.record(), made.script, [Dialect::Messages; 2]);
        assert_eq!(verdict.is_good(), good, "{verdict}\n{trouble}");
        assert_eq!(verdict.diverged > 0, !good, "{verdict}");
    }
}
