//! Check a V4 log by every rule: `cargo run --example check -- FILE`.

use std::path::Path;

use dshlog_codec::check::Checker;
use dshlog_codec::{Limits, LogFile};

#[expect(clippy::print_stdout, reason = "an example speaks")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: check FILE")?;
    let log = LogFile::open(Path::new(&path))?;
    let mut reader = log.read(&Limits::default())?;
    let mut checker = Checker::new(reader.header());
    while let Some(event) = reader.next_event()? {
        checker.see(&event);
    }
    let end = reader.end().ok_or("no end")?;
    let verdict = checker.finish(end.cut);
    match verdict.storage.or(verdict.session) {
        Some(fault) => return Err(fault.into()),
        None => println!("{} events, {} of them inherited", end.events, end.cut),
    }
    Ok(())
}
