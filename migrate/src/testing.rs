//! Steps over rows that a test writes down.

use dshlog_codec::{Encoding, Event, Generation, Limits, LogFile};

use crate::children::Child;
use crate::run::{Run, RunError};

/// What a run gave: the rows of the target, as events, and the cut; or the code of the rule that refused it, the step
/// and the seq.
pub(crate) type Outcome = Result<(Vec<String>, u64), String>;

/// Carry rows of generation `from` to the next one. `header` is the text behind `"version":n,`, without the brace.
pub(crate) fn step(from: u64, header: &str, rows: &[&str], children: Option<Vec<Child>>) -> Outcome {
    let mut text = format!("{{\"type\":\"session\",\"version\":{from},{header}}}\n");
    for row in rows {
        text.push_str(row);
        text.push('\n');
    }
    let log = LogFile::from_bytes(text.into_bytes(), Generation(from), Encoding::Raw);
    let mut out = Vec::new();
    let run =
        Run::open(&log, Generation(from + 1), children, &Limits::default()).map_err(|e| describe(&e))?;
    let done = run.each(|event: &Event<'_>| {
        let mut line = Vec::new();
        event.print_logical(&mut line);
        out.push(String::from_utf8(line).unwrap());
        Ok(())
    });
    let done = done.map_err(|e| describe(&e))?;
    // A row that the reader drops would make a test say less than it seems to.
    assert_eq!(done.source.issue.map(|e| e.to_string()), None);
    Ok((out, done.cut))
}

fn describe(error: &RunError) -> String {
    match error {
        RunError::Refused(refusal) => {
            let seq = refusal.at.seq.map_or("end".to_owned(), |seq| seq.to_string());
            format!("{} {} {seq}", refusal.edge, refusal.code)
        }
        RunError::Read(error) => format!("reader {}", error.code()),
        other => other.to_string(),
    }
}

/// Lines of a text that are not blank, trimmed.
pub(crate) fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}
