//! Print a log of any generation as the official reader restores it: the current header, then the current events, one
//! a line. Exit 3 when it is refused.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use dshlog_codec::check::Checker;
use dshlog_codec::home::{Placement, check_identity};
use dshlog_codec::{Event, Generation, Limits, LogFile};
use dshlog_migrate::{children, migrate_in_memory};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path] = args.as_slice() else { return ExitCode::from(2) };
    let mut text = Vec::new();
    match restore(Path::new(path), &mut text) {
        Ok(note) => {
            report(&note);
            if io::stdout().write_all(&text).is_ok() { ExitCode::SUCCESS } else { ExitCode::from(1) }
        }
        Err(refusal) => {
            report(&refusal.to_string());
            ExitCode::from(3)
        }
    }
}

fn report(note: &str) {
    let _ = writeln!(io::stderr(), "{note}");
}

/// What is worth knowing beside the events.
fn restore(path: &Path, out: &mut Vec<u8>) -> Result<String, Box<dyn std::error::Error>> {
    let limits = Limits::default();
    let log = LogFile::open(path)?;
    let mut events = Vec::new();
    let mut see = |event: &Event<'_>| {
        event.print_logical(&mut events);
        events.push(b'\n');
        Ok::<_, io::Error>(())
    };
    let (header, verdict, note) = if log.generation() == Generation::CURRENT {
        let mut reader = log.read(&limits)?;
        let header = reader.header().clone();
        let mut checker = Checker::new(&header);
        while let Some(event) = reader.next_event()? {
            checker.see(&event);
            see(&event)?;
        }
        (header, checker.finish(reader.take_end().cut), String::new())
    } else {
        let header = log.header()?;
        let found = match Placement::of(path, None) {
            Placement::Member(member) => {
                check_identity(&member, &header)?;
                children::collect(&member.root, &header.id, &limits)?
            }
            Placement::Stray => children::Evidence::default(),
        };
        let notes: Vec<_> = found.warnings.iter().map(|w| format!("child {}: {}", w.id, w.fault)).collect();
        let done = migrate_in_memory(&log, Some(found.children), &limits, see)?;
        (done.header, done.verdict, notes.join("\n"))
    };
    if let Some(fault) = verdict.storage {
        return Err(fault.into());
    }
    header.print(out);
    out.push(b'\n');
    out.extend_from_slice(&events);
    let session = verdict.session.map(|fault| format!("no session opens: {fault}"));
    Ok(session.map_or(note.clone(), |session| format!("{note}\n{session}")))
}
