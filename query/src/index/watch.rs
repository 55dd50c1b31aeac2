//! Following a home: what is written is found soon after.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime};

use notify::event::{CreateKind, ModifyKind, RemoveKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::folder::Folder;
use super::update::{Progress, Report, Update, Wait};
use crate::corpus::{Corpus, Look};
use crate::error::{Error, Result};

/// After the first sign of a change so long is waited for others: a turn ends with several writes.
const CALM: Duration = Duration::from_millis(200);

/// Between two updates at least so long.
const PAUSE: Duration = Duration::from_millis(500);

/// So often in a row an index may be deleted while it is made.
const LOSSES: u32 = 20;

/// The same of the first one: rather there can be none.
const FIRST_LOSSES: u32 = 3;

/// Every so often all is looked at, whatever the system told.
const ALL: Duration = Duration::from_mins(1);

/// The same where the system tells nothing.
const ALL_UNTOLD: Duration = Duration::from_secs(2);

/// Bring the index in `folder` up to date again and again, with `jobs` threads, until `told`, which gets the report of
/// each update that did something, says no.
///
/// An index that is deleted comes to be anew. The lock is held for the updates alone. Searches that bring the index up to date themselves are no trouble.
pub fn watch(
    folder: &Path,
    corpus: &dyn Corpus,
    jobs: usize,
    progress: &dyn Progress,
    told: &mut dyn FnMut(&Report) -> bool,
) -> Result<()> {
    let (sender, events) = channel();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        // Nobody listens any more: the end.
        let _ = sender.send(event);
    });
    // As the corpus names it: events name paths below what was asked for, and the index knows logs by theirs.
    let root = corpus.root();
    let mut is_told = tell_of(&mut watcher, root, progress);
    let mut looked = None;
    let mut is_first = true;
    let (mut losses, mut most_losses) = (0, FIRST_LOSSES);
    loop {
        let all = if is_told { ALL } else { ALL_UNTOLD };
        let is_due = looked.is_none_or(|last: Instant| last.elapsed() >= all);
        let change = if is_due { Change::All } else { next(&events, root, all) };
        let started = Instant::now();
        let marked = Folder::marked_at(folder);
        let report = match change {
            Change::None => Ok(None),
            Change::All | Change::Root => {
                looked = Some(started);
                // What comes in place of a root that went is another folder, of which the system was not asked to tell.
                is_told &= !matches!(change, Change::Root) && root.is_dir();
                if !is_told {
                    is_told = tell_of(&mut watcher, root, &Silent);
                }
                all_of(folder, corpus, jobs, progress)
            }
            Change::Some(folders) => some(folder, corpus, jobs, progress, &folders),
        };
        if report.is_err() {
            // An index that is being deleted takes a moment to go.
            std::thread::sleep(PAUSE);
        }
        let report = match report {
            Err(error) if losses < most_losses && is_lost(&error, folder, marked) => {
                losses += 1;
                looked = None;
                None
            }
            report => {
                (losses, most_losses) = (0, LOSSES);
                report?
            }
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

/// An index that was there with this mark can be made anew, is gone, or has another in its place.
fn is_lost(error: &Error, folder: &Path, marked: Option<SystemTime>) -> bool {
    let now = Folder::marked_at(folder);
    error.is_curable() || now.is_none() || now != marked
}

/// Read what changed anywhere.
fn all_of(
    folder: &Path,
    corpus: &dyn Corpus,
    jobs: usize,
    progress: &dyn Progress,
) -> Result<Option<Report>> {
    let mut update = Update::open(folder, Wait::UntilFree, progress)?;
    update.heal(progress)?;
    update.run(corpus, jobs, progress).map(Some)
}

/// Read what changed in some session folders.
fn some(
    folder: &Path,
    corpus: &dyn Corpus,
    jobs: usize,
    progress: &dyn Progress,
    folders: &HashSet<PathBuf>,
) -> Result<Option<Report>> {
    let mut candidates = Vec::new();
    let mut gone = Vec::new();
    let mut update = Update::open(folder, Wait::UntilFree, progress)?;
    update.heal(progress)?;
    if !update.is_complete()? {
        // It was deleted or damaged, and is empty now.
        return update.run(corpus, jobs, progress).map(Some);
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
    update.run_some(corpus, candidates, &gone, jobs, progress).map(Some)
}

/// Ask the system to tell of changes. False when it cannot: then all is looked at every two seconds.
fn tell_of(watcher: &mut notify::Result<RecommendedWatcher>, root: &Path, progress: &dyn Progress) -> bool {
    let asked = match watcher {
        Ok(watcher) => {
            // What is left of an earlier root.
            let _ = watcher.unwatch(root);
            watcher.watch(root, RecursiveMode::Recursive).map_err(|error| error.to_string())
        }
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

#[derive(Debug, PartialEq, Eq)]
enum Change {
    None,
    /// Somewhere.
    All,
    /// The root itself came or went.
    Root,
    /// In these session folders.
    Some(HashSet<PathBuf>),
}

/// What some events tell.
#[derive(Default)]
struct Seen {
    folders: HashSet<PathBuf>,
    is_all: bool,
    is_root: bool,
}

impl Seen {
    fn change(self) -> Change {
        match self {
            Seen { is_root: true, .. } => Change::Root,
            Seen { is_all: true, .. } => Change::All,
            Seen { folders, .. } if folders.is_empty() => Change::None,
            Seen { folders, .. } => Change::Some(folders),
        }
    }
}

/// Wait for a change, and until it is calm.
fn next(events: &Receiver<notify::Result<Event>>, root: &Path, most: Duration) -> Change {
    let mut seen = Seen::default();
    let first = match events.recv_timeout(most) {
        Ok(event) => event,
        Err(RecvTimeoutError::Timeout) => return Change::All,
        Err(RecvTimeoutError::Disconnected) => {
            std::thread::sleep(most);
            return Change::All;
        }
    };
    note(first, root, &mut seen);
    let calm = Instant::now() + CALM;
    while let Ok(event) = events.recv_timeout(calm.saturating_duration_since(Instant::now())) {
        note(event, root, &mut seen);
    }
    seen.change()
}

/// Which session folders an event is about. Folders that come or go are looked for everywhere.
fn note(event: notify::Result<Event>, root: &Path, seen: &mut Seen) {
    let Ok(event) = event else {
        seen.is_all = true;
        return;
    };
    if event.need_rescan() {
        seen.is_all = true;
        return;
    }
    if event.kind.is_access() {
        return;
    }
    for path in &event.paths {
        let name = path.file_name().unwrap_or_default();
        let depth = path.strip_prefix(root).ok().map(|below| below.components().count());
        if depth == Some(0) {
            seen.is_all = true;
            seen.is_root |= comes_or_goes(event.kind);
        } else if is_log(name) {
            seen.folders.extend(path.parent().map(Path::to_owned));
        } else if path.extension().is_none() {
            seen.is_all = true;
        } else if matches!(depth, Some(1 | 2)) && comes_or_goes(event.kind) {
            // Folders of projects and sessions may have a dot in their names.
            seen.is_all = true;
        }
    }
}

/// True when a folder may have come, gone, or got another name. Stores and what stands beside them are files.
fn comes_or_goes(kind: EventKind) -> bool {
    match kind {
        EventKind::Create(kind) => kind != CreateKind::File,
        EventKind::Remove(kind) => kind != RemoveKind::File,
        EventKind::Modify(kind) => matches!(kind, ModifyKind::Name(_)),
        EventKind::Any | EventKind::Access(_) | EventKind::Other => false,
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
    use notify::event::{AccessKind, DataChange, RenameMode};

    use super::*;

    fn seen(kind: EventKind, path: &str) -> Change {
        let mut seen = Seen::default();
        note(Ok(Event::new(kind).add_path(path.into())), Path::new("r"), &mut seen);
        seen.change()
    }

    #[test]
    fn which_folders_an_event_is_about() {
        let modified = EventKind::Modify(ModifyKind::Any);
        let session = || Change::Some(HashSet::from(["r/p/s".into()]));
        assert_eq!(seen(modified, "r/p/s/session.v4.jsonl.zstd"), session());
        assert_eq!(seen(modified, "r/p/s/session.jsonl"), session());
        assert_eq!(seen(modified, "r/p/s/session.lock"), Change::None);
        assert_eq!(seen(modified, "r/p/s/session.v4.jsonl.zstd.0123456789ab.tmp"), Change::None);
        assert_eq!(seen(EventKind::Create(CreateKind::Folder), "r/p/s"), Change::All);
        assert_eq!(seen(EventKind::Access(AccessKind::Any), "r/p/s/session.jsonl"), Change::None);
    }

    #[test]
    fn folders_with_a_dot_in_their_names_are_folders() {
        for kind in [
            EventKind::Create(CreateKind::Folder),
            EventKind::Remove(RemoveKind::Folder),
            EventKind::Remove(RemoveKind::Any),
            EventKind::Modify(ModifyKind::Name(RenameMode::From)),
        ] {
            assert_eq!(seen(kind, "r/--my.project--"), Change::All, "{kind:?}");
            assert_eq!(seen(kind, "r/p/s.1"), Change::All, "{kind:?}");
            assert_eq!(seen(kind, "r/p/s/session.lock"), Change::None, "{kind:?}");
        }
        // A store is written to all the time.
        for (kind, name) in [
            (EventKind::Modify(ModifyKind::Data(DataChange::Any)), "r/store.sqlite-wal"),
            (EventKind::Create(CreateKind::File), "r/store.sqlite-journal"),
            (EventKind::Remove(RemoveKind::File), "r/store.sqlite-journal"),
        ] {
            assert_eq!(seen(kind, name), Change::None, "{kind:?}");
        }
    }

    #[test]
    fn a_root_that_comes_or_goes_is_another() {
        assert_eq!(seen(EventKind::Remove(RemoveKind::Folder), "r"), Change::Root);
        assert_eq!(seen(EventKind::Modify(ModifyKind::Name(RenameMode::From)), "r"), Change::Root);
        assert_eq!(seen(EventKind::Modify(ModifyKind::Any), "r"), Change::All);
    }
}
