//! Print the events of a log as the official code prints them: `cargo run --example events -- FILE`.

use std::io::{BufWriter, Write};
use std::path::Path;

use dshlog_codec::{Limits, LogFile};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("usage: events FILE")?;
    let log = LogFile::open(Path::new(&path))?;
    let mut reader = log.read(&Limits::default())?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    writeln!(out, "{}", reader.header_line())?;
    let mut line = Vec::new();
    while let Some(event) = reader.next_event()? {
        line.clear();
        event.print_logical(&mut line);
        line.push(b'\n');
        out.write_all(&line)?;
    }
    out.flush()?;
    Ok(())
}
