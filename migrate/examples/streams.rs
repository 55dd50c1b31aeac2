//! Say of each log whose path stands on a line of the input whether the official writer would publish what it migrates
//! to, as far as events and their streams decide: `ok`, or `refused` and why.

use std::io::{self, BufRead as _, Write as _};
use std::path::Path;

use dshlog_codec::stream::check_stream;
use dshlog_codec::{Limits, LogFile};
use dshlog_migrate::{RunError, migrate_in_memory};

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for path in io::stdin().lock().lines() {
        match judge(Path::new(&path?)) {
            Ok(()) => writeln!(out, "ok")?,
            Err(refusal) => writeln!(out, "refused {refusal}")?,
        }
    }
    Ok(())
}

fn judge(path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let log = LogFile::open(path)?;
    let done = migrate_in_memory(&log, Some(Vec::new()), &Limits::default(), check_stream).map_err(plain)?;
    let faults = [done.verdict.storage, done.verdict.session];
    faults.into_iter().flatten().next().map_or(Ok(()), |fault| Err(fault.into()))
}

/// What stopped the run, by itself.
fn plain(error: RunError<dshlog_codec::Error>) -> Box<dyn std::error::Error> {
    match error {
        RunError::Receiver(fault) => fault.into(),
        other => other.into(),
    }
}
