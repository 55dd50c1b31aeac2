//! Rows before and after a step, for tests.

use dshlog_codec::json::Doc;
use dshlog_codec::pack::PackedRow;
use dshlog_codec::{Event, Generation, Header, Place, Row};

use crate::chain::Chain;
use crate::edge::{Edge, Refusal};

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
