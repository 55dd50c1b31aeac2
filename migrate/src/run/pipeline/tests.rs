use std::path::{Path, PathBuf};

use dshlog_codec::{Encoding, Generation, Limits, LogFile};

use super::super::*;

/// Everything that a receiver sees, a line each, and how the run ended. It stops behind `most` events.
fn told(log: &LogFile, target: Generation, most: usize, two_threads: bool) -> (Vec<String>, String) {
    let mut run = match Run::open(log, target, Some(Vec::new()), &Limits::default()) {
        Ok(run) => run,
        Err(error) => return (Vec::new(), format!("{error:?}")),
    };
    run.count_deviations();
    run.is_large = false;
    let mut seen = Vec::new();
    let see = |event: &Event<'_>| {
        if seen.len() == most {
            return Err("enough");
        }
        let mut row = Vec::new();
        event.print_row(&mut row);
        let (seq, place) = (event.seq, event.place);
        seen.push(format!("{seq} {place:?} {}", String::from_utf8(row).unwrap()));
        Ok(())
    };
    let end = if two_threads { run.each_on_two_threads(see) } else { run.each(see) };
    (seen, format!("{end:?}"))
}

/// All logs below a folder.
fn logs(folder: &Path, found: &mut Vec<LogFile>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() {
            logs(&path, found);
        } else if name.starts_with("session.") && name.contains(".jsonl") {
            found.extend(LogFile::open(&path).ok());
        }
    }
}

#[test]
fn two_threads_tell_the_same_as_one() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let shared = std::env::var_os("DSHLOG_SHARED_CORPORA")
        .map_or_else(|| repository.join("../shared/corpora"), PathBuf::from);
    let mut found = Vec::new();
    logs(&repository.join("corpora"), &mut found);
    if shared.is_dir() {
        logs(&shared, &mut found);
    } else {
        println!("only the corpora of this repository");
    }
    let (mut whole, mut refused, mut rows) = (0, 0, 0);
    for log in &found {
        for target in log.generation().0 + 1..=Generation::CURRENT.0 {
            let target = Generation(target);
            let (seen, end) = told(log, target, usize::MAX, false);
            let name = log.path().unwrap().display();
            assert_eq!(
                told(log, target, usize::MAX, true),
                (seen.clone(), end.clone()),
                "{name} to {target}"
            );
            rows += seen.len();
            if end.starts_with("Ok") { whole += 1 } else { refused += 1 }
        }
    }
    println!("{whole} ways to the end, {refused} refused, {rows} events");
    assert!(whole > 50 && refused > 20, "{whole} {refused}");
}

/// A log of V3: events, then `rest`.
fn made(events: usize, rest: &str) -> LogFile {
    let header =
        r#"{"type":"session","version":3,"id":"s1","createdAt":5,"delegationDepth":0,"isSeeded":false}"#;
    let row =
        |seq| format!("{{\"type\":\"todo/write\",\"seq\":{seq},\"time\":{seq},\"data\":{{\"a\":[1.0]}}}}");
    let lines: Vec<_> = std::iter::once(header.to_owned()).chain((0..events).map(row)).collect();
    let text = lines.join("\n") + "\n";
    LogFile::from_bytes((text + rest).into_bytes(), Generation(3), Encoding::Raw)
}

#[test]
fn errors_of_the_first_half_stand_behind_the_rows_before_them() {
    let turn_end = r#"{"type":"turn/end","seq":40,"time":1,"data":{"turn":1}}"#;
    let unreadable = format!("nonsense\n{turn_end}\n");
    let refused = "{\"type\":\"unheard-of\",\"seq\":40,\"time\":1,\"data\":{}}\n";
    for (rest, error) in [(&*unreadable, "Err(Read("), (refused, "Err(Refused(")] {
        let log = made(40, rest);
        let (seen, end) = told(&log, Generation::CURRENT, usize::MAX, true);
        assert_eq!((seen.len(), end.starts_with(error)), (40, true), "{end}");
        assert_eq!(told(&log, Generation::CURRENT, usize::MAX, false), (seen, end));
        // A receiver that stops in front of it never hears of it.
        let (seen, end) = told(&log, Generation::CURRENT, 39, true);
        assert_eq!((seen.len(), &*end), (39, "Err(Receiver(\"enough\"))"));
    }
}

#[test]
fn a_receiver_may_stop_at_any_event() {
    let log = made(30, "");
    for most in 0..30 {
        let (seen, end) = told(&log, Generation::CURRENT, most, true);
        assert_eq!((seen.len(), &*end), (most, "Err(Receiver(\"enough\"))"));
    }
}

#[test]
fn a_first_half_that_is_let_go_ends() {
    let log = made(200, "");
    let Run { source, chain, .. } =
        Run::open(&log, Generation::CURRENT, Some(Vec::new()), &Limits::default()).unwrap();
    let mut ahead = super::Ahead::start(source, chain).unwrap();
    assert!(!ahead.next().unwrap().rows.is_empty());
    // Hangs when the thread waits for a receiver.
    drop(ahead);
}
