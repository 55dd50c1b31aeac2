//! The update that a search can afford: a look at what was used last, and at what came and went.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use super::update::{Progress, Update, Wait, places};
use crate::catalog::Catalog;
use crate::corpus::{Candidate, Corpus, Look};
use crate::error::{Error, Result};

use super::folder::Folder;

/// So many logs are looked at: those that were used last.
const LATEST: u64 = 64;

/// So many bytes are read at once; for more a search does not wait.
const MOST: u64 = 4 << 20;

/// Whether an index tells what the logs tell, as far as a quick look sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// Nothing changed.
    Fresh,
    /// So many logs had changed, and were read.
    Freshened(u64),
    /// So many logs changed, and are too much to read at once.
    Behind(u64),
    /// Logs changed, and another process is writing.
    Busy(u64),
}

/// What changed.
#[derive(Default)]
struct Change {
    candidates: Vec<Candidate>,
    gone: Vec<(PathBuf, Option<String>)>,
    bytes: u64,
    /// Folders that were listed, and when they had last been changed then.
    folders: Vec<(PathBuf, i64)>,
}

/// Look at the folders of the home and at the logs that were used last, and read what changed when that is little.
///
/// A log that was not used for long and goes on is missed until [`Update::run`]: its folder is not looked at.
pub fn freshen(folder: &Path, corpus: &dyn Corpus, progress: &dyn Progress) -> Result<Freshness> {
    let place = Folder::open(folder)?;
    let catalog = Catalog::read(&place.catalog())?;
    catalog.must_be_of(corpus.root())?;
    let change = look(&catalog, corpus)?;
    drop(catalog);
    let count = (change.candidates.len() + change.gone.len()) as u64;
    if count == 0 && change.folders.is_empty() {
        return Ok(Freshness::Fresh);
    }
    if change.bytes > MOST {
        return Ok(Freshness::Behind(count));
    }
    let mut update = match Update::open(folder, Wait::No, progress) {
        Ok(update) => update,
        Err(Error::Locked(_)) if count == 0 => return Ok(Freshness::Fresh),
        Err(Error::Locked(_)) => return Ok(Freshness::Busy(count)),
        Err(error) => return Err(error),
    };
    if !update.is_complete()? {
        // It was damaged, and is empty now.
        update.run(corpus, 1, progress)?;
        return Ok(Freshness::Freshened(count));
    }
    if count > 0 {
        update.run_some(corpus, change.candidates, &change.gone, 1, progress)?;
    }
    update.saw(&change.folders)?;
    Ok(if count > 0 { Freshness::Freshened(count) } else { Freshness::Fresh })
}

fn look(catalog: &Catalog, corpus: &dyn Corpus) -> Result<Change> {
    let mut change = Change::default();
    let mut seen = HashSet::new();
    for row in catalog.latest(LATEST)? {
        let before = (row.path.clone(), row.entry.clone());
        seen.insert(before.clone());
        match corpus.look(&row.path, row.entry.as_deref()) {
            Look::There(now) if now.path != row.path => {
                change.gone.push(before);
                change.bytes += now.stamp.len;
                change.candidates.push(now);
            }
            Look::There(now) if now.stamp != row.stamp() => {
                change.bytes += now.stamp.len.saturating_sub(row.stamp().len);
                change.candidates.push(now);
            }
            Look::There(_) | Look::Hidden => {}
            Look::Gone => change.gone.push(before),
        }
    }
    let folders = catalog.folders()?;
    let known: Vec<PathBuf> = folders.iter().map(|(path, _)| path.clone()).collect();
    for (path, before) in &folders {
        let now = modified(path);
        if now == Some(*before) {
            continue;
        }
        let mut listing = corpus.list_in(path, &known);
        change.folders.extend(now.map(|now| (path.clone(), now)));
        change.folders.append(&mut listing.folders);
        let now = std::mem::take(&mut listing.candidates);
        for candidate in
            now.iter().filter(|candidate| !seen.contains(&(candidate.path.clone(), candidate.entry.clone())))
        {
            let row = catalog.row_at(&candidate.path, candidate.entry.as_deref())?;
            if row.is_none_or(|row| row.stamp() != candidate.stamp) {
                change.bytes += candidate.stamp.len;
                change.candidates.push(candidate.clone());
            }
        }
        let now = places(&now);
        for place in catalog.places_in(path)? {
            if !now.contains(&place) && !seen.contains(&place) && !listing.hides(&place.0) {
                change.gone.push(place);
            }
        }
    }
    let mut met = HashSet::new();
    change.candidates.retain(|candidate| met.insert((candidate.path.clone(), candidate.entry.clone())));
    Ok(change)
}

/// When a folder was last changed, nanoseconds since the epoch.
fn modified(path: &Path) -> Option<i64> {
    let modified = std::fs::metadata(path).ok()?.modified().ok()?;
    i64::try_from(modified.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok()
}
