//! Rows before and after a step, for tests.

use dshlog_codec::json::Doc;
use dshlog_codec::pack::PackedRow;
use dshlog_codec::{Encoding, Event, Generation, Header, Limits, LogFile, Place, Row};

use crate::chain::Chain;
use crate::children::Child;
use crate::edge::{Edge, Refusal};
use crate::run::{Run, RunError};

/// The log `s1` of this generation, created at 1000, with further members in its header.
pub(crate) fn header(generation: u64, members: &str) -> Header {
    let seed = if generation < 2 { "" } else { r#","isSeeded":false"# };
    let line = format!(
        r#"{{"type":"session","version":{generation},"id":"s1","createdAt":1000,"delegationDepth":0{seed}{members}}}"#
    );
    Header::parse(&line, dshlog_codec::header::CwdRule::Any).unwrap()
}

/// The events that these rows become, a line each as the official code prints them, and the cut.
pub(crate) fn migrate(
    header: &Header,
    edges: Vec<Box<dyn Edge>>,
    rows: &str,
) -> Result<(String, u64), Refusal> {
    let source = header.version;
    let target = Generation(source.0 + edges.len() as u64);
    let mut chain = Chain::new(source, target, edges).unwrap();
    chain.header(header)?;
    let mut out = Vec::new();
    let mut sink = |event: &Event<'_>| {
        event.print_logical(&mut out);
        out.push(b'\n');
        Ok(())
    };
    for (line, row) in (2..).zip(rows.lines()) {
        let place = Place { line, ..Place::default() };
        let doc = Doc::parse(row).unwrap();
        let row = if PackedRow::is_packed(doc.root()) {
            Row::Packed(PackedRow::decode(doc.root()).unwrap(), place)
        } else {
            Row::Event(Event::from_row(doc.root(), place))
        };
        chain.row(&row, &mut sink)?;
    }
    let cut = chain.finish(header.seed_length.unwrap_or(0), &mut sink)?;
    Ok((String::from_utf8(out).unwrap(), cut))
}

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
