//! Logs of the corpora, in the current form.

use std::convert::Infallible;
use std::path::{Path, PathBuf};

use dshlog_codec::{Event, Generation, Limits, LogFile};
use dshlog_migrate::migrate_in_memory;

/// Walk over a log in the form of V4, whatever it is stored as. False when it cannot be read to its end.
pub(crate) fn each(path: &Path, mut see: impl FnMut(&Event<'_>)) -> bool {
    let Ok(log) = LogFile::open(path) else { return false };
    if log.generation() == Generation::CURRENT {
        let Ok(mut walk) = log.read(&Limits::default()) else { return false };
        loop {
            match walk.next_event() {
                Ok(Some(event)) => see(&event),
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }
    migrate_in_memory(&log, Some(Vec::new()), &Limits::default(), |event| {
        see(event);
        Ok::<_, Infallible>(())
    })
    .is_ok()
}

/// All files below a folder whose names begin with `session` and tell of a log, in order.
pub(crate) fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if dshlog_codec::home::parse_name(path.file_name().unwrap()).is_some() {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
