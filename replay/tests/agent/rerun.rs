//! Every recorded log, run again, is the record; and what is changed on the way is found where it was changed.

use dshlog_codec::check::Checker;
use dshlog_codec::{Encoding, Generation, Limits, LogFile};
use dshlog_replay::agent::rerun::{Options, Rerun, rerun};
use dshlog_replay::compare::{Rules, compare};

use crate::records::{self, Log};

/// How a log differs from what the loop makes of it.
fn difference(log: &Log, time: &mut std::time::Duration) -> (bool, Option<String>) {
    let record = log.record();
    let begun = std::time::Instant::now();
    let made: Rerun = match rerun(&record, Options::default()) {
        Ok(made) => made,
        Err(error) => return (false, Some(format!("{error:?}"))),
    };
    *time += begun.elapsed();
    if let Some(fault) = fault(&made) {
        return (false, Some(fault));
    }
    if made.is_exact(&record) {
        return (true, None);
    }
    let Ok(comparison) = compare(&record, &made.log, Rules::default());
    if comparison.is_equal() && made.parted.is_none() {
        return (false, None);
    }
    let Ok(first) = comparison.first_difference(&record, &made.log);
    (false, Some(format!("parted at {:?}, {first:?}", made.parted)))
}

/// What the checks of a log say to the one that was written.
fn fault(made: &Rerun) -> Option<String> {
    let mut bytes = Vec::new();
    made.log.write_lines(&mut bytes).unwrap();
    let file = LogFile::from_bytes(bytes, Generation::CURRENT, Encoding::Raw);
    let mut reader = file.read(&Limits::default()).unwrap();
    let mut checker = Checker::new(made.log.header());
    let mut events = 0;
    while let Some(event) = reader.next_event().unwrap() {
        checker.see(&event);
        events += 1;
    }
    assert_eq!(events, made.log.rows().len());
    checker.finish(reader.take_end().cut).storage.map(|fault| format!("{fault}"))
}

/// Byte for byte, since ids, times and waits are taken from the record; or equal by the rules of a comparison.
#[test]
fn every_log_is_what_the_loop_makes_of_it() {
    for (name, logs) in records::all() {
        let (mut exact, mut wrong) = (0, Vec::new());
        let mut time = std::time::Duration::default();
        for log in &logs {
            let (is_exact, difference) = difference(log, &mut time);
            exact += usize::from(is_exact);
            wrong.extend(difference.map(|what| format!("{}: {what}", log.name)));
        }
        let turns: usize = logs.iter().map(|log| log.count("turn/start")).sum();
        let events: usize = logs.iter().map(|log| log.rows.len()).sum();
        eprintln!(
            "{name}: {} logs, {turns} turns, {events} events, {exact} logs byte for byte; {time:?}",
            logs.len()
        );
        assert!(wrong.is_empty(), "{} of {} wrong\n{}", wrong.len(), logs.len(), wrong.join("\n"));
        // The times of two closers of a torn log are not what they are computed from.
        assert!(exact + 1 >= logs.len(), "{name}: {exact} of {}", logs.len());
        assert!(logs.len() > 50, "{name}: only {}", logs.len());
    }
}
