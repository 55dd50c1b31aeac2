//! The logs of one root, as search and data sets ask for them.

use std::collections::{BTreeMap, HashSet};
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use dshlog_codec::home::{GenerationFile, SessionFolder, Walk};
use dshlog_codec::json::Js;
use dshlog_codec::read::Mark;
use dshlog_codec::{End, Error, ErrorKind, Event, Generation, Header, Limits, LogFile};
use dshlog_migrate::Kin;
use dshlog_query::store::{Entry, Place, Store};
use dshlog_query::{Candidate, Corpus, Listing, Look, Reading, Replaced, Stamp};
use dshlog_replay::Surface;

use crate::select::placed;
use crate::source::{Form, Log};
use crate::stores;

/// A root.
pub(crate) struct HomeCorpus {
    root: PathBuf,
    kin: Arc<Kin>,
}

impl HomeCorpus {
    /// The sessions below `root`. Two names of one root are one corpus.
    pub(crate) fn new(root: PathBuf) -> Self {
        HomeCorpus { root: root.canonicalize().unwrap_or(root), kin: Arc::default() }
    }

    fn open(&self, candidate: &Candidate) -> dshlog_codec::Result<Log> {
        let chosen = placed(&location(candidate), Some(&self.root), Path::new("/"));
        Log::open(&chosen, Form::Current, &self.kin)
    }

    /// What stands behind a mark; nothing when it does not fit.
    fn read_behind(
        candidate: &Candidate,
        mark: &Mark,
        see: &mut dyn FnMut(&Event<'_>) -> ControlFlow<()>,
    ) -> dshlog_codec::Result<Option<Reading>> {
        if candidate.entry.is_some() {
            return Ok(None);
        }
        let file = LogFile::open(&candidate.path)?;
        if file.generation() != Generation::CURRENT {
            return Ok(None);
        }
        let Some(mut walk) = file.read_from(mark, &Limits::default())? else { return Ok(None) };
        let mut reading = Reading { header: Some(walk.header().clone()), fits: true, ..Reading::default() };
        loop {
            match walk.next_event() {
                Ok(Some(event)) => {
                    reading.replaces |= replaces(&event);
                    if see(&event).is_break() {
                        return Ok(Some(reading));
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    reading.fault = Some(error);
                    return Ok(Some(reading));
                }
            }
        }
        let end = walk.take_end();
        reading.inherited = end.cut;
        reading.mark = end.mark;
        reading.fault = tail(end);
        Ok(Some(reading))
    }
}

impl Corpus for HomeCorpus {
    fn root(&self) -> &Path {
        &self.root
    }

    fn list(&self) -> Listing {
        let mut listing = Listing::default();
        match stores::walk(&self.root) {
            Ok(walk) => add(&mut listing, &walk),
            Err(error) => listing.passed_over.push((self.root.clone(), error.to_string())),
        }
        listing
    }

    fn header(&self, candidate: &Candidate) -> dshlog_codec::Result<Header> {
        stores::header(&location(candidate))
    }

    fn read(
        &self,
        candidate: &Candidate,
        from: Option<&Mark>,
        see: &mut dyn FnMut(&Event<'_>) -> ControlFlow<()>,
    ) -> Reading {
        if let Some(mark) = from {
            let reading = HomeCorpus::read_behind(candidate, mark, see);
            // A log that cannot be opened is told by the whole walk that follows.
            return reading.ok().flatten().unwrap_or_default();
        }
        let mut reading = Reading { fits: true, ..Reading::default() };
        let log = match self.open(candidate) {
            Ok(log) => log,
            Err(error) => {
                reading.fault = Some(error);
                return reading;
            }
        };
        let Ok(walked) = log.each_as(true, |event| {
            reading.replaces |= replaces(event);
            Ok::<_, Infallible>(see(event))
        });
        let end = walked.end.unwrap_or_default();
        reading.inherited = end.cut;
        // The mark of an old log counts its own events, not those of V4.
        reading.mark = end.mark.filter(|_| log.is_current());
        reading.fault = walked.damage.or_else(|| tail(end));
        reading.header = Some(log.header);
        reading
    }

    fn replaced(&self, candidate: &Candidate) -> Vec<Replaced> {
        let Ok(log) = self.open(candidate) else { return Vec::new() };
        let mut surface = Surface::new();
        // What the fold refuses ends it: what left the surface before has left it.
        let Ok(_) = log.each_as(true, |event| {
            let is_told = surface.see(event).is_ok();
            Ok::<_, Infallible>(if is_told { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        });
        let mut replaced: Vec<Replaced> =
            surface.shadowed().map(|shadow| Replaced { seq: shadow.seq, by: shadow.by }).collect();
        replaced.sort_by_key(|replaced| replaced.seq);
        replaced
    }

    fn look(&self, path: &Path, entry: Option<&str>) -> Look {
        let (place, found) = if let Some(entry) = entry {
            let found = Store::open(path).and_then(|mut store| store.entry(entry));
            let candidate =
                |it: Entry| Candidate { path: path.to_owned(), entry: Some(it.id), stamp: it.stamp };
            (path, found.map(|entry| entry.map(candidate)).ok())
        } else {
            let folder = path.parent().unwrap_or(path);
            (folder, SessionFolder::read(folder).and_then(|folder| candidate(&folder)).ok())
        };
        match found {
            Some(Some(candidate)) => Look::There(candidate),
            Some(None) => Look::Gone,
            None if is_gone(place) => Look::Gone,
            None => Look::Hidden,
        }
    }

    fn list_in(&self, folder: &Path, known: &[PathBuf]) -> Listing {
        let mut listing = Listing::default();
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries.flatten(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return listing,
            Err(error) => {
                listing.passed_over.push((folder.to_owned(), error.to_string()));
                return listing;
            }
        };
        let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        for path in folders.map(|entry| entry.path()) {
            if folder == self.root {
                if !known.contains(&path) {
                    let time = nanos(std::fs::metadata(&path).and_then(|metadata| metadata.modified()).ok());
                    let below = self.list_in(&path, known);
                    listing.candidates.extend(below.candidates);
                    listing.passed_over.extend(below.passed_over);
                    listing.folders.push((path, time));
                }
                continue;
            }
            match SessionFolder::read(&path).and_then(|session| candidate(&session)) {
                Ok(candidate) => listing.candidates.extend(candidate),
                Err(_) if is_gone(&path) => {}
                Err(error) => listing.passed_over.push((path, error.to_string())),
            }
        }
        if folder == self.root
            && !stores::around(folder).is_empty()
            && let Ok(walk) = stores::walk(folder)
        {
            add_stores(&mut listing, &walk);
        }
        listing
    }
}

/// True when nothing is there: what only cannot be looked at is there.
fn is_gone(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// Where a log is, as one path.
pub(crate) fn location(candidate: &Candidate) -> PathBuf {
    match &candidate.entry {
        Some(id) => Place { store: candidate.path.clone(), id: id.clone() }.path(),
        None => candidate.path.clone(),
    }
}

/// The sessions of stores that a walk found.
fn add_stores(listing: &mut Listing, walk: &Walk) {
    let mut by_store: BTreeMap<PathBuf, HashSet<&Path>> = BTreeMap::new();
    for session in &walk.sessions {
        if let Some(place) = Place::of(&session.path) {
            by_store.entry(place.store).or_default().insert(&session.path);
        }
    }
    for (store, listed) in by_store {
        match Store::open(&store).and_then(|mut store| store.entries()) {
            Ok(entries) => listing.candidates.extend(
                entries
                    .into_iter()
                    .map(|entry| Candidate { path: store.clone(), entry: Some(entry.id), stamp: entry.stamp })
                    .filter(|candidate| listed.contains(&*location(candidate))),
            ),
            Err(error) => listing.passed_over.push((store, error.to_string())),
        }
    }
}

/// What was left out at the end of a log that can be read.
fn tail(end: End) -> Option<Error> {
    let is_torn = end.torn.is_some() || end.dropped_bytes > 0;
    end.issue.or_else(|| is_torn.then(|| ErrorKind::TornTail { bytes: end.dropped_bytes }.into()))
}

/// True for an event that takes the place of others on the surface.
fn replaces(event: &Event<'_>) -> bool {
    event.surface_op().is_some_and(Js::is_object)
}

/// The log that stands for a session; nothing for a folder that the official reader does not list.
fn candidate(folder: &SessionFolder) -> dshlog_codec::Result<Option<Candidate>> {
    if !folder.is_listed() {
        return Ok(None);
    }
    let file = folder.chosen()?;
    Ok(Some(Candidate { path: file.path.clone(), entry: None, stamp: stamp(file) }))
}

fn add(listing: &mut Listing, walk: &Walk) {
    let modified = |path: &Path| std::fs::metadata(path).ok().and_then(|m| m.modified().ok());
    let projects = walk.projects.iter().map(|project| walk.root.join(project));
    for folder in std::iter::once(walk.root.clone()).chain(projects) {
        let time = nanos(modified(&folder));
        listing.folders.push((folder, time));
    }
    for session in walk.sessions.iter().filter(|session| !stores::is_entry(&session.path)) {
        match candidate(session) {
            Ok(candidate) => listing.candidates.extend(candidate),
            Err(error) => listing.passed_over.push((session.path.clone(), error.to_string())),
        }
    }
    add_stores(listing, walk);
    for passed in &walk.passed_over {
        if let dshlog_codec::home::Why::Unreadable(error) = &passed.why {
            listing.passed_over.push((passed.path.clone(), error.to_string()));
        }
    }
}

fn stamp(file: &GenerationFile) -> Stamp {
    #[cfg(unix)]
    let inode = {
        use std::os::unix::fs::MetadataExt as _;
        std::fs::metadata(&file.path).map_or(0, |metadata| metadata.ino())
    };
    #[cfg(not(unix))]
    let inode = 0;
    Stamp { len: file.len, modified: nanos(file.modified), inode }
}

fn nanos(time: Option<SystemTime>) -> i64 {
    let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod agreement;
#[cfg(test)]
mod tests;
