//! One log in all generations, and every way between them (`docs/spec/rows.md`, section 12).

#![expect(clippy::unwrap_used, reason = "a test may fail")]

use std::convert::Infallible;
use std::path::{Path, PathBuf};

use dshlog_codec::{Generation, Limits, LogFile};
use dshlog_migrate::Run;

fn example(generation: u64) -> PathBuf {
    let name =
        if generation == 0 { "session.jsonl".to_owned() } else { format!("session.v{generation}.jsonl") };
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/spec/examples/demo-1").join(name)
}

/// The log of generation `source`, carried to `target` and written as rows.
fn carried(source: u64, target: u64) -> String {
    let log = LogFile::open(&example(source)).unwrap();
    let run = Run::open(&log, Generation(target), Some(Vec::new()), &Limits::default()).unwrap();
    let mut text = Vec::new();
    run.header().print(&mut text);
    text.push(b'\n');
    let done = run.each(|event| {
        event.print_row(&mut text);
        text.push(b'\n');
        Ok::<_, Infallible>(())
    });
    assert_eq!(done.unwrap().cut, 0);
    String::from_utf8(text).unwrap()
}

#[test]
fn every_way_leads_to_the_same_log() {
    // V1 has no rows of its own: a run may come packed or as single events, and both are right.
    for target in [2, 3, 4] {
        let want = std::fs::read_to_string(example(target)).unwrap();
        for source in 0..=target {
            assert_eq!(carried(source, target), want, "V{source} to V{target}");
        }
    }
}
