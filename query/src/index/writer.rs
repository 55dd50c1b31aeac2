//! Reading logs into the full-text index.

use std::ops::ControlFlow;

use tantivy::{IndexWriter, Term};

use super::reconcile::Known;
use super::schema::Fields;
use super::update::{Progress, Report};
use crate::catalog::{Changes, LogRow};
use crate::corpus::{Corpus, Reading};
use crate::error::{Error, Result};
use crate::extract::Extractor;
use crate::pool;
use crate::session::Session;

/// A log to read.
pub(super) struct Work<'a> {
    pub(super) log: &'a Known,
    /// Its number in the index.
    pub(super) number: u64,
    /// Leave out what was copied from the parent.
    pub(super) skips: bool,
    /// Go on where the last walk ended, when the log still is what it was there.
    pub(super) continues: bool,
}

/// What reading a log gave.
pub(super) struct Read {
    row: LogRow,
    replaced: Option<Vec<(u64, u64)>>,
    continued: bool,
    documents: u64,
    bytes: u64,
}

/// What a walk over one log needs.
pub(super) struct Reader<'a> {
    pub(super) corpus: &'a dyn Corpus,
    pub(super) writer: &'a IndexWriter,
    pub(super) fields: Fields,
}

impl Reader<'_> {
    /// Read all of `work` on `jobs` threads, and give what it was in the same order.
    pub(super) fn read_all(
        &self,
        work: &[Work<'_>],
        jobs: usize,
        progress: &dyn Progress,
    ) -> Result<Vec<Read>> {
        pool::each(work, jobs, || {
            move |work: &Work<'_>| {
                let read = self.read(work);
                progress.advance(work.log.bytes());
                read
            }
        })
    }

    fn read(&self, work: &Work<'_>) -> Result<Read> {
        let old = work.log.row.as_ref();
        if work.continues
            && let Some(row) = old
            && let Some((mark, extractor)) = row.continuation()
        {
            let walk = self.walk(work, Some(&mark), extractor)?;
            if walk.reading.fits {
                return Ok(self.finish(work, walk, Some(row)));
            }
        }
        self.writer.delete_term(Term::from_field_u64(self.fields.log, work.number));
        let header = self.corpus.header(&work.log.candidate);
        let extractor = header.as_ref().map(Extractor::new).unwrap_or_default();
        let walk = self.walk(work, None, extractor)?;
        if let Ok(header) = &header
            && walk.extractor.has_missed_copies(walk.reading.inherited)
        {
            self.writer.delete_term(Term::from_field_u64(self.fields.log, work.number));
            let extractor = Extractor::with_inherited(header, walk.reading.inherited);
            let walk = self.walk(work, None, extractor)?;
            return Ok(self.finish(work, walk, None));
        }
        let is_lost = work.skips && walk.extractor.is_inheriting();
        if is_lost {
            // Where the copies end is not known, so nothing can be left out.
            self.writer.delete_term(Term::from_field_u64(self.fields.log, work.number));
            let all = Work { skips: false, ..*work };
            let extractor = header.as_ref().map(Extractor::new).unwrap_or_default();
            let walk = self.walk(&all, None, extractor)?;
            return Ok(self.finish(&all, walk, None));
        }
        Ok(self.finish(work, walk, None))
    }

    fn walk(
        &self,
        work: &Work<'_>,
        mark: Option<&dshlog_codec::read::Mark>,
        mut extractor: Extractor,
    ) -> Result<Walk> {
        let mut documents = 0;
        let mut failed = None;
        let reading = self.corpus.read(&work.log.candidate, mark, &mut |event| {
            extractor.see(event, &mut |document| {
                if failed.is_some() || (work.skips && document.is_inherited) {
                    return;
                }
                documents += 1;
                failed = self.writer.add_document(self.fields.to_tantivy(&document, work.number)).err();
            });
            if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        match failed {
            Some(error) => Err(Error::Tantivy(error)),
            None => Ok(Walk { reading, extractor, documents }),
        }
    }

    /// The log's row. `before`: what the walk continued.
    fn finish(&self, work: &Work<'_>, walk: Walk, before: Option<&LogRow>) -> Read {
        let Walk { reading, extractor, documents } = walk;
        let candidate = &work.log.candidate;
        let replaced = if reading.replaces {
            let all = self.corpus.replaced(candidate).into_iter();
            Some(all.map(|replaced| (replaced.seq.0, replaced.by.0)).collect())
        } else {
            before.is_none().then(Vec::new)
        };
        let session = Session::new(candidate, reading.header.as_ref(), &extractor, reading.soundness());
        let stamp = candidate.stamp;
        let bytes = match before {
            Some(row) => stamp.len.saturating_sub(row.stamp.0),
            None => stamp.len,
        };
        let row = LogRow {
            log: work.number,
            path: session.path,
            entry: session.entry,
            stamp: (stamp.len, stamp.modified, stamp.inode),
            session: session.id,
            project: session.project,
            generation: session.generation.0,
            created: session.created.0,
            last: session.last.0,
            parent: session.parent,
            is_seeded: session.is_seeded,
            is_subagent: session.is_subagent,
            preset: session.preset,
            title: session.title,
            soundness: session.soundness,
            mark: reading.mark.map(|mark| mark.to_bytes()),
            extractor: reading.mark.and_then(|_| serde_json::to_string(&extractor).ok()),
            inherited: reading.inherited,
            skips_inherited: work.skips,
            documents: documents + before.map_or(0, |row| row.documents),
        };
        Read { row, replaced, continued: before.is_some(), documents, bytes }
    }
}

struct Walk {
    reading: Reading,
    extractor: Extractor,
    documents: u64,
}

impl Read {
    /// Note it in what is to be committed, and in the report.
    pub(super) fn note(self, changes: &mut Changes, report: &mut Report) -> LogRow {
        if self.continued {
            report.continued += 1;
        } else {
            report.read += 1;
        }
        report.documents += self.documents;
        report.bytes += self.bytes;
        if let Some(replaced) = self.replaced {
            changes.replaced.push((self.row.log, replaced));
        }
        changes.put.push(self.row.clone());
        self.row
    }
}
