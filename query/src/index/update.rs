//! Bringing an index up to date.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use tantivy::IndexWriter;
use tantivy::indexer::{LogMergePolicy, NoMergePolicy};

use super::folder::{Folder, Lock, rules};
use super::reconcile::{Known, Parents, Place, depths, place};
use super::schema::{Fields, builder, register};
use super::text::{Text, guarded};
use super::writer::{Reader, Work};
use crate::catalog::{Catalog, Changes, LogRow};
use crate::corpus::{Candidate, Corpus, Look};
use crate::error::{Error, Result};
use crate::session::Soundness;

/// What to do when another process is writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Wait until it is done.
    UntilFree,
    /// Leave, with [`crate::Error::Locked`].
    No,
}

/// Is told how an update goes on.
pub trait Progress: Sync {
    /// So many logs are to be read, of so many bytes.
    fn begin(&self, logs: u64, bytes: u64);
    /// One of them was, of so many bytes.
    fn advance(&self, bytes: u64);
    /// Something that the user should know: the index is made anew, and why.
    fn tell(&self, what: &str);
}

/// What an update did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Number of the state now.
    pub generation: u64,
    /// Logs that were read from their beginning.
    pub read: u64,
    /// Logs of which only the end was read.
    pub continued: u64,
    /// Logs that are gone.
    pub removed: u64,
    /// Logs that had not changed.
    pub unchanged: u64,
    /// Documents that were added.
    pub documents: u64,
    /// Bytes of files that were read.
    pub bytes: u64,
    /// Logs that are not whole in the index now; after a look at some logs alone, those of them.
    pub skipped: Vec<Skipped>,
}

impl Report {
    fn add(&mut self, more: Report) {
        self.generation = more.generation;
        self.read += more.read;
        self.continued += more.continued;
        self.removed += more.removed;
        self.documents += more.documents;
        self.bytes += more.bytes;
        self.skipped.extend(more.skipped);
    }
}

/// A log that is not whole in the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Which.
    pub path: PathBuf,
    /// The session, when its header could be read.
    pub session: Option<String>,
    /// Some of it is in the index.
    pub is_partial: bool,
    /// Why not all.
    pub reason: String,
}

impl Skipped {
    /// What a row says of a log that is not whole.
    pub(super) fn of(row: &LogRow) -> Option<Skipped> {
        Some(Skipped {
            path: row.path.clone(),
            session: Some(row.session.clone()).filter(|session| !session.is_empty()),
            is_partial: matches!(row.soundness, Soundness::Partial(_)),
            reason: row.soundness.reason()?.to_owned(),
        })
    }
}

/// Logs of so many bytes are read between two commits. A run that is killed keeps what was committed.
const BATCH: u64 = 128 << 20;

/// Below so many bytes one thread is enough, and nothing is merged.
const SMALL: u64 = 2 << 20;

/// Memory for each thread that indexes. Tantivy asks for 15 MB at least.
const MEMORY: usize = 96 << 20;
const SMALL_MEMORY: usize = 16 << 20;

/// Segments of more documents are left to large updates.
const FEW_DOCUMENTS: usize = 20_000;

/// So many segments are left alone by small updates.
const SEGMENTS: usize = 24;

/// The one writer of an index.
pub struct Update {
    folder: Folder,
    catalog: Catalog,
    text: tantivy::Index,
    _lock: Lock,
}

impl Update {
    /// Take the lock of the index in `folder`, make the index when there is none, heal what a killed update left.
    ///
    /// An index that is damaged, or made with older rules, is made anew; `progress` is told.
    pub fn open(folder: &Path, wait: Wait, progress: &dyn Progress) -> Result<Update> {
        let folder = Folder::make(folder)?;
        let lock = folder.lock(wait)?;
        let (catalog, text) = match open(&folder) {
            Ok(opened) => opened,
            Err(error) if error.is_curable() => {
                progress.tell(&format!("the index is made anew: {error}"));
                folder.clear()?;
                open(&folder)?
            }
            Err(error) => return Err(error),
        };
        Ok(Update { folder, catalog, text, _lock: lock })
    }

    /// Forget everything.
    pub fn clear(&mut self) -> Result<()> {
        self.folder.clear()?;
        (self.catalog, self.text) = open(&self.folder)?;
        Ok(())
    }

    /// Look through all files of the index, and make it anew when one is not what was written; `progress` is told.
    pub fn check(&mut self, progress: &dyn Progress) -> Result<()> {
        match self.find_damage() {
            Err(error) if error.is_curable() => {
                progress.tell(&format!("the index is made anew: {error}"));
                self.clear()
            }
            result => result,
        }
    }

    /// Make the index anew when no reader can open it: an update that finds nothing to do does not look at its files.
    pub fn heal(&mut self, progress: &dyn Progress) -> Result<()> {
        match Text::open(&self.folder.text()) {
            Err(error) if error.is_curable() => {
                progress.tell(&format!("the index is made anew: {error}"));
                self.clear()
            }
            // What else is wrong, a reader tells.
            _ => Ok(()),
        }
    }

    fn find_damage(&self) -> Result<()> {
        self.catalog.check()?;
        // Checksums leave out the end of a file, where they stand: only opening reads that.
        Text::open(&self.folder.text())?;
        let broken = guarded(self.folder.path(), || Ok(self.text.validate_checksum()?))?;
        let Some(file) = broken.iter().next() else { return Ok(()) };
        let why = format!("{} is not what was written", file.display());
        Err(Error::Damaged { path: self.folder.path().to_owned(), why })
    }

    /// True when all logs have been looked at since the index was made.
    pub(super) fn is_complete(&self) -> Result<bool> {
        Ok(self.catalog.state()?.updated > 0)
    }

    /// Look at all logs of `corpus`, with `jobs` threads, and read what changed.
    pub fn run(&mut self, corpus: &dyn Corpus, jobs: usize, progress: &dyn Progress) -> Result<Report> {
        match self.look_at_all(corpus, jobs, progress) {
            Err(error) if error.is_curable() => {
                progress.tell(&format!("the index is made anew: {error}"));
                self.clear()?;
                self.look_at_all(corpus, jobs, progress)
            }
            result => result,
        }
    }

    fn look_at_all(&mut self, corpus: &dyn Corpus, jobs: usize, progress: &dyn Progress) -> Result<Report> {
        self.catalog.claim(corpus.root())?;
        let mut listing = corpus.list();
        let mut rows = self.catalog.rows()?;
        let mut parents = Parents::default();
        let mut logs = Vec::with_capacity(listing.candidates.len());
        for candidate in std::mem::take(&mut listing.candidates) {
            let row = rows.remove(&place(&candidate));
            logs.push(known(corpus, candidate, row));
        }
        for log in &logs {
            parents.note(log);
            if let (Some(row), false) = (&log.row, log.is_changed()) {
                parents.soundness.entry(row.session.clone()).or_insert_with(|| row.soundness.clone());
            }
        }
        // What cannot be looked at now is not gone.
        rows.retain(|(path, _), row| {
            let is_hidden = listing.hides(path);
            if is_hidden {
                parents.soundness.entry(row.session.clone()).or_insert_with(|| row.soundness.clone());
            }
            !is_hidden
        });
        let removed: Vec<u64> = rows.into_values().map(|row| row.log).collect();
        let (mut report, _) = self.apply(corpus, &logs, &removed, parents, jobs, progress)?;
        self.catalog.looked(now(), &listing.folders)?;
        for (path, reason) in listing.passed_over {
            report.skipped.push(Skipped { path, session: None, is_partial: false, reason });
        }
        report.skipped.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(report)
    }

    /// The places of the logs below a folder, as the index knows them.
    pub(super) fn places_in(&self, folder: &Path) -> Result<Vec<Place>> {
        self.catalog.places_in(folder)
    }

    /// Read those of `candidates` that changed, and forget those of `gone`. Of their children those are read anew whose
    /// copies are found elsewhere from now on, or no longer.
    pub fn run_some(
        &mut self,
        corpus: &dyn Corpus,
        candidates: Vec<Candidate>,
        gone: &[(PathBuf, Option<String>)],
        jobs: usize,
        progress: &dyn Progress,
    ) -> Result<Report> {
        let mut removed = Vec::new();
        let mut sessions = Vec::new();
        for (path, entry) in gone {
            if let Some(row) = self.catalog.row_at(path, entry.as_deref())? {
                removed.push(row.log);
                sessions.push(row.session);
            }
        }
        let mut logs = Vec::new();
        for candidate in candidates {
            let row = self.catalog.row_at(&candidate.path, candidate.entry.as_deref())?;
            logs.push(known(corpus, candidate, row));
        }
        let mut parents = self.parents_of(&logs)?;
        parents.soundness.retain(|session, _| !sessions.contains(session));
        let (mut report, touched) = self.apply(corpus, &logs, &removed, parents, jobs, progress)?;
        sessions.extend(touched);
        while !sessions.is_empty() {
            let mut children = Vec::new();
            for session in std::mem::take(&mut sessions) {
                for row in self.catalog.children(&session)? {
                    if let Look::There(now) = corpus.look(&row.path, row.entry.as_deref())
                        && now.path == row.path
                    {
                        children.push(known(corpus, now, Some(row)));
                    }
                }
            }
            let parents = self.parents_of(&children)?;
            let (more, touched) = self.apply(corpus, &children, &[], parents, jobs, progress)?;
            report.add(more);
            sessions = touched;
        }
        Ok(report)
    }

    /// What the index knows of the logs that some begin with a copy of, and what these begin with in turn.
    fn parents_of(&self, logs: &[Known]) -> Result<Parents> {
        let mut parents = Parents::default();
        for log in logs {
            parents.note(log);
        }
        for seed in logs.iter().filter_map(|log| log.seed.as_ref()) {
            if let Some(soundness) = self.catalog.soundness(seed)? {
                parents.soundness.insert(seed.clone(), soundness);
            }
            let mut session = seed.clone();
            while !parents.seeds.contains_key(&session)
                && let Some(next) = self.catalog.seed(&session)?
            {
                parents.seeds.insert(std::mem::replace(&mut session, next.clone()), next);
            }
        }
        Ok(parents)
    }

    /// Note what a look at some folders saw, so that the next one passes over them.
    pub(super) fn saw(&mut self, folders: &[(PathBuf, i64)]) -> Result<()> {
        self.catalog.put_folders(folders)
    }

    /// Read what changed among `logs`, parents in front of their children, in batches. Gives also the sessions whose
    /// children may begin otherwise from now on.
    fn apply(
        &mut self,
        corpus: &dyn Corpus,
        logs: &[Known],
        removed: &[u64],
        mut parents: Parents,
        jobs: usize,
        progress: &dyn Progress,
    ) -> Result<(Report, Vec<String>)> {
        let mut touched = Vec::new();
        let mut report = Report { removed: removed.len() as u64, ..Report::default() };
        let mut next_log = self.catalog.state()?.next_log;
        let mut order: Vec<(usize, &Known)> = depths(logs).into_iter().zip(logs).collect();
        order.sort_by_key(|(depth, _)| *depth);
        let bytes: u64 = logs.iter().map(Known::bytes).sum();
        progress.begin(logs.iter().filter(|log| log.is_changed()).count() as u64, bytes);

        let rows = logs.iter().filter_map(|log| log.row.as_ref());
        let before: HashMap<u64, Soundness> = rows.map(|row| (row.log, row.soundness.clone())).collect();
        let mut session = None;
        let mut changes = Changes::default();
        if !removed.is_empty() {
            let writer = self.begin(&mut session, bytes, jobs)?;
            let (_, fields) = Fields::new();
            for log in removed {
                writer.delete_term(tantivy::Term::from_field_u64(fields.log, *log));
            }
            changes.removed = removed.to_vec();
        }
        for level in order.chunk_by(|(a, _), (b, _)| a == b) {
            // Decided here: what the level above gave is known.
            let mut work = Vec::new();
            for (_, log) in level {
                let skips = parents.skips(log);
                let is_other = log.row.as_ref().is_some_and(|row| row.skips_inherited != skips);
                if !log.is_changed() && !is_other {
                    report.unchanged += 1;
                    report.skipped.extend(log.row.as_ref().and_then(Skipped::of));
                    continue;
                }
                let number = log.row.as_ref().map_or_else(
                    || {
                        next_log += 1;
                        next_log - 1
                    },
                    |row| row.log,
                );
                work.push(Work { log, number, skips, continues: !is_other });
            }
            for batch in batches(&work) {
                let writer = self.begin(&mut session, bytes, jobs)?;
                let reader = Reader { corpus, writer, fields: Fields::new().1 };
                let batch = reader.read_all(batch, jobs, progress);
                let batch = batch.map_err(|error| cause(&mut session, error))?;
                for read in batch {
                    let row = read.note(&mut changes, &mut report);
                    report.skipped.extend(Skipped::of(&row));
                    touched.extend(
                        before
                            .get(&row.log)
                            .is_none_or(|was| *was != row.soundness)
                            .then(|| row.session.clone()),
                    );
                    parents.soundness.insert(row.session, row.soundness);
                }
                changes.next_log = next_log;
                self.commit(writer_of(&mut session)?, &std::mem::take(&mut changes))?;
            }
        }
        if !changes.is_empty() {
            changes.next_log = next_log;
            self.commit(writer_of(&mut session)?, &changes)?;
        }
        if let Some(writer) = session {
            writer.wait_merging_threads()?;
        }
        report.generation = self.catalog.state()?.generation;
        Ok((report, touched))
    }

    /// The writer of this run, made when it is first needed.
    fn begin<'a>(
        &self,
        session: &'a mut Option<IndexWriter>,
        bytes: u64,
        jobs: usize,
    ) -> Result<&'a IndexWriter> {
        if session.is_none() {
            let is_small = bytes < SMALL;
            let threads = if is_small { 1 } else { jobs.clamp(1, 8) };
            let memory = if is_small { SMALL_MEMORY } else { MEMORY };
            let writer: IndexWriter = self.text.writer_with_num_threads(threads, memory * threads)?;
            let segments = self.text.searchable_segment_ids()?.len();
            if is_small && segments < SEGMENTS {
                writer.set_merge_policy(Box::new(NoMergePolicy));
            } else {
                let mut policy = LogMergePolicy::default();
                policy.set_min_num_segments(4);
                if is_small {
                    // Only what small updates left is put together: nobody waits for more.
                    policy.set_max_docs_before_merge(FEW_DOCUMENTS);
                }
                writer.set_merge_policy(Box::new(policy));
            }
            *session = Some(writer);
        }
        session.as_ref().ok_or_else(|| self.lost())
    }

    fn lost(&self) -> Error {
        Error::Damaged { path: self.folder.path().to_owned(), why: "its writer is gone".to_owned() }
    }

    /// Commit index and catalog as one.
    fn commit(&mut self, writer: &mut IndexWriter, changes: &Changes) -> Result<()> {
        let generation = self.catalog.state()?.generation + 1;
        self.catalog.intend(generation, changes)?;
        let mut prepared = writer.prepare_commit()?;
        prepared.set_payload(&generation.to_string());
        prepared.commit()?;
        self.catalog.settle(generation)?;
        Ok(())
    }
}

/// Why the writer takes no more documents. It only says that a thread of its ended; a commit asks the thread.
fn cause(session: &mut Option<IndexWriter>, error: Error) -> Error {
    match (session, error) {
        (Some(writer), Error::Tantivy(tantivy::TantivyError::ErrorInThread(told))) => {
            let asked = writer.prepare_commit().map(|_| ());
            asked.err().unwrap_or(tantivy::TantivyError::ErrorInThread(told)).into()
        }
        (_, error) => error,
    }
}

fn writer_of(session: &mut Option<IndexWriter>) -> Result<&mut IndexWriter> {
    let gone = || tantivy::TantivyError::SystemError("no writer was begun".to_owned());
    session.as_mut().ok_or_else(|| gone().into())
}

/// Open or make catalog and index, and let what a killed run left come into force or be forgotten.
fn open(folder: &Folder) -> Result<(Catalog, tantivy::Index)> {
    let mut catalog = Catalog::write(&folder.catalog(), &rules())?;
    let state = catalog.state()?;
    if state.rules != rules() {
        let why = format!("it was made with {}; these are {}", state.rules, rules());
        return Err(Error::Outdated { path: folder.path().to_owned(), why });
    }
    let at = folder.text();
    let text = if at.join("meta.json").exists() {
        tantivy::Index::open_in_dir(&at)?
    } else {
        // Not its parents: a folder that was deleted a moment ago would come back without its mark.
        std::fs::create_dir(&at)
            .or_else(|e| if at.is_dir() { Ok(()) } else { Err(e) })
            .map_err(|e| Error::io("make the folder", &at, e))?;
        builder().create_in_dir(&at)?
    };
    register(&text);
    let committed = committed(&text)?;
    catalog.settle(committed)?;
    if catalog.state()?.generation != committed {
        let why = "text and catalog do not belong together".to_owned();
        return Err(Error::Damaged { path: folder.path().to_owned(), why });
    }
    Ok((catalog, text))
}

/// The number that the index was last committed under.
pub(super) fn committed(text: &tantivy::Index) -> Result<u64> {
    let payload = text.load_metas()?.payload;
    Ok(payload.and_then(|payload| payload.parse().ok()).unwrap_or(0))
}

/// What name, catalog and, where something changed, header tell of a log.
fn known(corpus: &dyn Corpus, candidate: Candidate, row: Option<LogRow>) -> Known {
    if let Some(known) = row.as_ref().filter(|row| row.stamp() == candidate.stamp) {
        let seed = known.parent.clone().filter(|_| known.is_seeded);
        let session = Some(known.session.clone()).filter(|session| !session.is_empty());
        return Known { candidate, row, session, seed };
    }
    let header = corpus.header(&candidate).ok();
    let text = |text: &dshlog_codec::json::JsString| text.to_lossy().into_owned();
    let seed =
        header.as_ref().filter(|header| header.is_seeded).and_then(|header| header.parent_session.as_ref());
    Known { session: header.as_ref().map(|header| text(&header.id)), seed: seed.map(text), row, candidate }
}

/// Work in pieces of about [`BATCH`] bytes.
fn batches<'a, 'b>(work: &'b [Work<'a>]) -> Vec<&'b [Work<'a>]> {
    let mut rest = work;
    let mut batches = Vec::new();
    while !rest.is_empty() {
        let mut bytes = 0;
        let fit = rest.iter().take_while(|work| {
            let fits = bytes < BATCH;
            // Compressed logs hold some times as much.
            bytes += 4 * work.log.candidate.stamp.len;
            fits
        });
        let (batch, others) = rest.split_at(fit.count().max(1));
        batches.push(batch);
        rest = others;
    }
    batches
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// The places of `candidates`.
pub(super) fn places(candidates: &[Candidate]) -> HashSet<Place> {
    candidates.iter().map(place).collect()
}
