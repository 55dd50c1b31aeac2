//! Following a home: what is written is found soon after.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::update::{Progress, Report, Update, Wait};
use crate::corpus::{Corpus, Look};
use crate::error::Result;

/// After the first sign of a change so long is waited for others: a turn ends with several writes.
const CALM: Duration = Duration::from_millis(200);

/// Between two updates at least so long.
const PAUSE: Duration = Duration::from_millis(500);

/// Every so often all is looked at, whatever the system told.
const ALL: Duration = Duration::from_mins(1);

/// The same where the system tells nothing.
const ALL_UNTOLD: Duration = Duration::from_secs(2);

/// How to follow a home.
#[derive(Clone, Debug)]
pub struct Watch<'a> {
    /// The sessions root.
    pub root: &'a Path,
    /// Threads that read.
    pub jobs: usize,
}

/// Bring the index in `folder` up to date again and again, until `told`, which gets the report of each update that did
/// something, says no.
///
/// The lock is held for the updates alone. Searches that bring the index up to date themselves are no trouble.
pub fn watch(
    folder: &Path,
    corpus: &dyn Corpus,
    how: &Watch<'_>,
    progress: &dyn Progress,
    told: &mut dyn FnMut(&Report) -> bool,
) -> Result<()> {
    let (sender, events) = channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        // Nobody listens any more: the end.
        let _ = sender.send(event);
    });
    let mut is_told = tell_of(&mut watcher, how.root, progress);
    let mut looked = None;
    let mut is_first = true;
    loop {
        let all = if is_told { ALL } else { ALL_UNTOLD };
        let is_due = looked.is_none_or(|last: Instant| last.elapsed() >= all);
        let change = if is_due { Change::All } else { next(&events, all) };
        let started = Instant::now();
        let report = match change {
            Change::None => None,
            Change::All => {
                looked = Some(started);
                if !is_told {
                    is_told = tell_of(&mut watcher, how.root, &Silent);
                }
                Some(Update::open(folder, Wait::UntilFree, progress)?.run(corpus, how.jobs, progress)?)
            }
            Change::Some(folders) => some(folder, corpus, how, progress, &folders)?,
        };
        if let Some(report) = report {
            let did = report.read + report.continued + report.removed > 0;
            if (did || std::mem::take(&mut is_first)) && !told(&report) {
                return Ok(());
            }
        }
        std::thread::sleep(PAUSE.saturating_sub(started.elapsed()));
    }
}

/// Read what changed in some session folders.
fn some(
    folder: &Path,
    corpus: &dyn Corpus,
    how: &Watch<'_>,
    progress: &dyn Progress,
    folders: &HashSet<PathBuf>,
) -> Result<Option<Report>> {
    let mut candidates = Vec::new();
    let mut gone = Vec::new();
    let mut update = Update::open(folder, Wait::UntilFree, progress)?;
    if !update.is_complete()? {
        // It was deleted or damaged, and is empty now.
        return update.run(corpus, how.jobs, progress).map(Some);
    }
    for session in folders {
        let before = update.places_in(session)?;
        // Any name will do: the folder is looked at.
        match corpus.look(&session.join("session"), None) {
            Look::There(now) => {
                gone.extend(before.into_iter().filter(|(path, _)| now.path != *path));
                candidates.push(now);
            }
            Look::Hidden => {}
            Look::Gone => gone.extend(before),
        }
    }
    if candidates.is_empty() && gone.is_empty() {
        return Ok(None);
    }
    update.run_some(corpus, candidates, &gone, how.jobs, progress).map(Some)
}

/// Ask the system to tell of changes. False when it cannot: then all is looked at every two seconds.
fn tell_of(watcher: &mut notify::Result<RecommendedWatcher>, root: &Path, progress: &dyn Progress) -> bool {
    let asked = match watcher {
        Ok(watcher) => watcher.watch(root, RecursiveMode::Recursive).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match asked {
        Ok(()) => true,
        Err(why) => {
            progress.tell(&format!(
                "the system does not tell of changes ({why}); all is looked at every two seconds"
            ));
            false
        }
    }
}

enum Change {
    None,
    All,
    /// In these session folders.
    Some(HashSet<PathBuf>),
}

/// Wait for a change, and until it is calm.
fn next(events: &Receiver<notify::Result<Event>>, most: Duration) -> Change {
    let mut folders = HashSet::new();
    let mut is_all = false;
    let first = match events.recv_timeout(most) {
        Ok(event) => event,
        Err(RecvTimeoutError::Timeout) => return Change::All,
        Err(RecvTimeoutError::Disconnected) => {
            std::thread::sleep(most);
            return Change::All;
        }
    };
    note(first, &mut folders, &mut is_all);
    let calm = Instant::now() + CALM;
    while let Ok(event) = events.recv_timeout(calm.saturating_duration_since(Instant::now())) {
        note(event, &mut folders, &mut is_all);
    }
    match (is_all, folders.is_empty()) {
        (true, _) => Change::All,
        (false, true) => Change::None,
        (false, false) => Change::Some(folders),
    }
}

/// Which session folders an event is about. Folders that come or go are looked for everywhere.
fn note(event: notify::Result<Event>, folders: &mut HashSet<PathBuf>, is_all: &mut bool) {
    let Ok(event) = event else {
        *is_all = true;
        return;
    };
    if event.need_rescan() {
        *is_all = true;
        return;
    }
    if event.kind.is_access() {
        return;
    }
    for path in &event.paths {
        let name = path.file_name().unwrap_or_default();
        if is_log(name) {
            folders.extend(path.parent().map(Path::to_owned));
        } else if path.extension().is_none() {
            *is_all = true;
        }
    }
}

/// True for names of logs. Locks and what is being published come and go beside them.
fn is_log(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b"session.") && (name.ends_with(b".jsonl") || name.ends_with(b".zstd"))
}

/// Says nothing, the second time.
struct Silent;

impl Progress for Silent {
    fn begin(&self, _: u64, _: u64) {}
    fn advance(&self, _: u64) {}
    fn tell(&self, _: &str) {}
}

#[cfg(test)]
mod tests {
    use notify::EventKind;
    use notify::event::{CreateKind, ModifyKind};

    use super::*;

    #[test]
    fn which_folders_an_event_is_about() {
        let about = |kind: EventKind, path: &str| {
            let (mut folders, mut is_all) = (HashSet::new(), false);
            note(Ok(Event::new(kind).add_path(path.into())), &mut folders, &mut is_all);
            (folders.into_iter().map(|path| path.display().to_string()).next(), is_all)
        };
        let modified = EventKind::Modify(ModifyKind::Any);
        let session = Some("r/p/s".to_owned());
        assert_eq!(about(modified, "r/p/s/session.v4.jsonl.zstd"), (session.clone(), false));
        assert_eq!(about(modified, "r/p/s/session.jsonl"), (session, false));
        assert_eq!(about(modified, "r/p/s/session.lock"), (None, false));
        assert_eq!(about(modified, "r/p/s/session.v4.jsonl.zstd.0123456789ab.tmp"), (None, false));
        assert_eq!(about(EventKind::Create(CreateKind::Folder), "r/p/s"), (None, true));
        assert_eq!(
            about(EventKind::Access(notify::event::AccessKind::Any), "r/p/s/session.jsonl"),
            (None, false)
        );
    }
}
