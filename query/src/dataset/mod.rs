//! All logs as a data set for other engines: tables in Parquet that DuckDB and Spark read, or documents that Quickwit
//! indexes (`docs/dataset.md`).
//!
//! One walk over the logs, in the order of projects and of creation, fills whatever [`Form`] asks for. What is common to
//! several sessions is written once: events that a fork took over from a parent that is here and whole are left to the
//! parent, as in an index.

#[cfg(feature = "parquet")]
mod documents;
#[cfg(feature = "parquet")]
mod events;
mod folder;
mod manifest;
mod order;
#[cfg(feature = "parquet")]
mod parquet;
mod quickwit;
#[cfg(feature = "parquet")]
mod sessions;
#[cfg(feature = "parquet")]
mod table;
#[cfg(all(test, feature = "parquet"))]
mod tests;
#[cfg(feature = "parquet")]
mod workers;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use dshlog_codec::json::JsString;
use dshlog_codec::{Event, Header};

use crate::corpus::{Candidate, Corpus, Listing, Reading, Replaced};
use crate::document::Document;
use crate::error::Result;
use crate::extract::Extractor;
use crate::session::Soundness;
use folder::Folder;
use order::{Entry, Order};

pub use folder::check as check_folder;
pub use manifest::{Fault, Logs, MANIFEST, Manifest, SCHEMA, TableCount};
pub use quickwit::{CONFIG as QUICKWIT_CONFIG, INDEX_ID as QUICKWIT_INDEX};

/// What the logs become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Four tables in Parquet, events and documents by project and day.
    #[cfg(feature = "parquet")]
    Parquet,
    /// Documents, one a line, and the configuration of an index for them.
    Quickwit,
}

impl Form {
    /// Its name in the manifest.
    pub fn name(self) -> &'static str {
        match self {
            #[cfg(feature = "parquet")]
            Form::Parquet => "parquet",
            Form::Quickwit => "quickwit",
        }
    }
}

/// How to write.
#[derive(Clone, Debug)]
pub struct Options {
    /// What to write.
    pub form: Form,
    /// Bytes of rows that are held before some of them are written; a file of lines ends soon after as many.
    pub budget: usize,
    /// The moment that the manifest names, epoch milliseconds.
    pub now: i64,
}

impl Options {
    /// With the budget that is kept to unless there is a reason.
    pub fn new(form: Form, now: i64) -> Self {
        Options { form, budget: 64 << 20, now }
    }
}

/// Told while a data set is written.
#[derive(Debug)]
pub enum Told<'a> {
    /// One more of the listed logs is done.
    Done,
    /// Not all of a log, or nothing, could be taken.
    Fault(&'a Fault),
}

/// What the rows of one log have in common.
#[derive(Clone, Debug)]
#[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "asked for by tables"))]
struct Facts {
    id: String,
    path: String,
    entry: Option<String>,
    project: String,
    cwd: Option<String>,
    generation: u64,
    created: i64,
    parent: Option<String>,
    is_seeded: bool,
    is_subagent: bool,
    preset: Option<String>,
}

impl Facts {
    fn new(candidate: &Candidate, header: &Header, project: &str) -> Self {
        let text = |text: &JsString| text.to_lossy().into_owned();
        Facts {
            id: text(&header.id),
            path: candidate.path.to_string_lossy().into_owned(),
            entry: candidate.entry.clone(),
            project: project.to_owned(),
            cwd: header.cwd.as_ref().map(text),
            generation: header.version.0,
            created: i64::try_from(header.created_at).unwrap_or(i64::MAX),
            parent: header.parent_session.as_ref().map(text),
            is_seeded: header.is_seeded,
            is_subagent: header.is_subagent,
            preset: header.agent_preset.as_ref().map(text),
        }
    }
}

/// What is known of a log behind its last event.
#[derive(Debug)]
#[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "asked for by tables"))]
struct Tail {
    title: Option<String>,
    last: Option<i64>,
    inherited: u64,
    events: u64,
    documents: u64,
    soundness: Soundness,
    replaced: Vec<Replaced>,
}

/// Where an event stands among turns and steps, and whether it is a copy.
#[derive(Clone, Copy, Debug, Default)]
#[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "asked for by tables"))]
struct Standing {
    turn: Option<u64>,
    step: Option<u64>,
    is_inherited: bool,
}

/// What rows are written to.
trait Sink {
    /// The rows of another log follow. Projects come one after the other, the logs of one in the order of creation.
    fn begin(&mut self, log: &Facts) -> Result<()>;
    /// An event.
    fn event(&mut self, log: &Facts, event: &Event<'_>, standing: Standing) -> Result<()>;
    /// A document.
    fn document(&mut self, log: &Facts, document: &Document) -> Result<()>;
    /// The log is done.
    fn end(&mut self, log: &Facts, tail: &Tail) -> Result<()>;
    /// Bring everything to disk.
    fn finish(&mut self) -> Result<Vec<TableCount>>;
}

/// Write the logs of `listing` into `out`, which must not exist or be empty. When this fails, what it wrote is removed
/// again.
pub fn write(
    corpus: &dyn Corpus,
    listing: &Listing,
    out: &Path,
    options: &Options,
    tell: &mut dyn FnMut(Told<'_>),
) -> Result<Manifest> {
    let folder = Folder::create(out)?;
    let written = fill(corpus, listing, &folder, options, tell);
    if written.is_err() {
        folder.abandon();
    }
    written
}

fn fill(
    corpus: &dyn Corpus,
    listing: &Listing,
    folder: &Folder,
    options: &Options,
    tell: &mut dyn FnMut(Told<'_>),
) -> Result<Manifest> {
    let mut sink: Box<dyn Sink + '_> = match options.form {
        #[cfg(feature = "parquet")]
        Form::Parquet => Box::new(parquet::Tables::new(folder, options.budget)),
        Form::Quickwit => Box::new(quickwit::Lines::new(folder, options.budget)?),
    };
    let mut logs = Logs::default();
    let mut faults = Vec::new();
    let mut note = |fault: Fault, tell: &mut dyn FnMut(Told<'_>)| {
        tell(Told::Fault(&fault));
        faults.push(fault);
    };
    let mut order = Order::new(corpus, listing, &mut |candidate, error| {
        logs.unreadable += 1;
        note(Fault::new(candidate, "unreadable", error), tell);
        tell(Told::Done);
    });
    for at in 0..order.entries().len() {
        let (shared, entry) = (order.shared(corpus, at), &order.entries()[at]);
        let taken = take(corpus, entry, shared, &mut *sink)?;
        logs.copied_events += shared.unwrap_or(0).min(taken.events);
        match taken.soundness {
            Soundness::Whole => logs.whole += 1,
            Soundness::Partial(_) => logs.partial += 1,
            Soundness::Unreadable(_) => logs.unreadable += 1,
        }
        if let Some(fault) = &taken.fault {
            note(Fault::new(&entry.candidate, taken.soundness.name(), fault), tell);
        }
        order.settle(at, taken.soundness == Soundness::Whole);
        tell(Told::Done);
    }
    let tables = sink.finish()?;
    drop(sink);
    let passed_over: Vec<(PathBuf, String)> = listing.passed_over.clone();
    let manifest = Manifest::new(options, tables, logs, faults, passed_over);
    folder.file(Path::new(MANIFEST), |file| manifest.write(file))?;
    folder.sync();
    Ok(manifest)
}

/// What became of a log.
struct Taken {
    /// Events that were read.
    events: u64,
    fault: Option<dshlog_codec::Error>,
    soundness: Soundness,
}

/// Take one log. Its first `shared` events stand in the data set already, as those of its parent.
fn take(corpus: &dyn Corpus, entry: &Entry, shared: Option<u64>, sink: &mut dyn Sink) -> Result<Taken> {
    let log = Facts::new(&entry.candidate, &entry.header, &entry.project);
    sink.begin(&log)?;
    let inherited = match shared {
        Some(count) => count,
        None if entry.header.is_seeded => order::inherited(corpus, &entry.candidate),
        None => 0,
    };
    let skipped = shared.unwrap_or(0);
    let mut extractor = Extractor::new(&entry.header);
    let mut turns = Turns::default();
    let (mut events, mut kept_events, mut documents) = (0, 0, 0);
    let mut last = None;
    let mut failure = None;
    let reading: Reading = corpus.read(&entry.candidate, None, &mut |event| {
        events += 1;
        last = Some(event.time.0);
        let is_inherited = event.seq.0 < inherited;
        let standing = Standing { is_inherited, ..turns.see(event) };
        let is_kept = event.seq.0 >= skipped;
        let mut done = Ok(());
        if is_kept {
            kept_events += 1;
            done = sink.event(&log, event, standing);
        }
        extractor.see(event, &mut |document| {
            if done.is_ok() && document.seq.0 >= skipped {
                documents += 1;
                let is_inherited = document.seq.0 < inherited;
                done = sink.document(&log, &Document { is_inherited, ..document });
            }
        });
        match done {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failure = Some(error);
                ControlFlow::Break(())
            }
        }
    });
    if let Some(error) = failure {
        return Err(error);
    }
    let soundness = reading.soundness();
    // Another walk, which only logs with something replaced need.
    let mut replaced = if reading.replaces { corpus.replaced(&entry.candidate) } else { Vec::new() };
    replaced.retain(|replaced| replaced.by.0 >= skipped);
    let tail = Tail {
        title: extractor.title.clone(),
        last,
        inherited,
        events: kept_events,
        documents,
        soundness: soundness.clone(),
        replaced,
    };
    sink.end(&log, &tail)?;
    Ok(Taken { events, fault: reading.fault, soundness })
}

/// Which turn and step are open.
#[derive(Debug, Default)]
struct Turns {
    turn: Option<u64>,
    step: Option<u64>,
}

impl Turns {
    /// Where the next event stands. What begins or ends a turn or a step is part of it.
    fn see(&mut self, event: &Event<'_>) -> Standing {
        let number = |name| event.member(name).and_then(dshlog_codec::json::Js::as_count);
        if event.is("turn/start") {
            (self.turn, self.step) = (number("turn"), None);
        } else if event.is("step/start") {
            self.step = number("step");
        }
        let standing = Standing { turn: self.turn, step: self.step, is_inherited: false };
        if event.is("turn/end") {
            (self.turn, self.step) = (None, None);
        } else if event.is("step/end") {
            self.step = None;
        }
        standing
    }
}
