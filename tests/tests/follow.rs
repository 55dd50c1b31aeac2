//! `dshlog read --follow`.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::{PROGRAM, place};
use dshlog_tests::cmd::Place;

/// A log that grows in pieces that end anywhere is shown as its lines become whole.
#[test]
fn a_growing_log() {
    let source = place(&["v4-raw-jsonl"]);
    let log = source.run(&["read", "latest", "--rows"]).stdout;
    let place = Place::empty(PROGRAM);
    let path = place.path().join("growing.jsonl");
    std::fs::write(&path, &log[..3000]).unwrap();

    let mut child = place
        .command(&["read", "growing.jsonl", "--follow", "--events"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let whole: Vec<&str> = std::str::from_utf8(&log).unwrap().lines().collect();
    let (mut shown, mut written) = (0, 3000);
    for end in [3000, 3100, 20_000, log.len()] {
        OpenOptions::new().append(true).open(&path).unwrap().write_all(&log[written..end]).unwrap();
        written = end;
        let complete = log[..end].split(|byte| *byte == b'\n').skip(1).count();
        while shown < complete {
            assert_eq!(lines.next().unwrap().unwrap(), whole[shown], "line {shown}");
            shown += 1;
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(shown, whole.len());
}
