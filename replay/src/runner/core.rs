//! The embedded agent core runs a record again.
//!
//! It asks a fixture server over HTTP, so that printing of requests, framing, and reading of answers are part of what is
//! judged. A record that no server can play is answered from memory instead, and says so.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dshlog_codec::{Millis, Seq};
use dshlog_fixture_server::{Capture, FixtureServer, Verdict};

use super::answers::{Answers, Unserved};
use super::group::Limit;
use super::images::Placeholders;
use super::{RunError, Wire, deadline};
use crate::Request;
use crate::agent::http::{Endpoint, HttpModel};
use crate::agent::model::{Model, ModelError};
use crate::agent::rerun::{Options, Record, rerun};
use crate::agent::{Log, Policy, Reading, Recorder};
use crate::wire::Dialect;

/// How a record was run again.
#[derive(Debug)]
pub struct CoreRun {
    /// The log that came of it.
    pub log: Log,
    /// The first event of the record whose type the core would not have written.
    pub parted: Option<Seq>,
    /// What it was asked; nothing from memory.
    pub wire: Option<Wire>,
    /// How it was answered.
    pub transport: Transport,
    /// It was stopped because its time was over.
    pub timed_out: bool,
}

/// How the model of a run was reached.
#[derive(Debug)]
pub enum Transport {
    /// Over HTTP.
    Http(Verdict),
    /// Not at all, for this reason.
    Memory(Unserved),
}

/// How it is run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long the core waits for a sign of life.
    pub idle: Duration,
    /// How long it may take.
    pub timeout: Duration,
    /// How it retries, where the record does not tell.
    pub retry: Option<Policy>,
    /// Ends it when it is set.
    pub stop: Arc<AtomicBool>,
}

/// Run a record again.
///
/// # Errors
/// A record that does not fold, and no server.
pub fn run(record: &Record, settings: &Settings) -> Result<CoreRun, RunError> {
    let mut answers = match Answers::of(record) {
        Ok(answers) => answers,
        Err(unserved) => return from_memory(record, settings, unserved),
    };
    let server = FixtureServer::spawn(answers.script())?;
    let limit = Limit { until: deadline(settings.timeout), stop: &settings.stop };
    let clock = Clock { limit, is_over: Cell::new(false) };
    let model = |dialect| {
        let mut endpoint = Endpoint::new(server.url(), dialect);
        endpoint.patience = settings.idle;
        Timed { model: HttpModel::with_attachments(endpoint, Millis(0), &Placeholders), clock: &clock }
    };
    let mut model_today = model(Dialect::Messages);
    let mut model_before = model(Dialect::Chat);
    let options = Options {
        model: Some(&mut model_today),
        older_model: if answers.own_dialects { Some(&mut model_before) } else { None },
        policy: settings.retry.clone(),
        ..Options::default()
    };
    let made = rerun(record, options)?;
    drop((model_today, model_before));
    let came: Vec<Capture> =
        server.captures().into_iter().filter(|capture| capture.dialect.is_some()).collect();
    let bodies: Vec<&[u8]> = came.iter().map(|capture| &*capture.body).collect();
    Ok(CoreRun {
        log: made.log,
        parted: made.parted,
        wire: Some(Wire::of(&answers.asked, &bodies)),
        transport: Transport::Http(server.stop()),
        timed_out: clock.is_over.get(),
    })
}

/// With the answers of the record, as the log holds them.
fn from_memory(record: &Record, settings: &Settings, unserved: Unserved) -> Result<CoreRun, RunError> {
    let made = rerun(record, Options { policy: settings.retry.clone(), ..Options::default() })?;
    Ok(CoreRun {
        log: made.log,
        parted: made.parted,
        wire: None,
        transport: Transport::Memory(unserved),
        timed_out: false,
    })
}

/// When a run ends, wherever it is.
struct Clock<'s> {
    limit: Limit<'s>,
    is_over: Cell<bool>,
}

/// A model that answers nobody any more when the time is over.
struct Timed<'c> {
    model: HttpModel<'c>,
    clock: &'c Clock<'c>,
}

impl Model for Timed<'_> {
    fn open(&mut self, request: Request<'_>) -> Result<(), ModelError> {
        if self.clock.limit.is_reached() {
            self.clock.is_over.set(true);
            return Err(ModelError::new("the time of the replay is over"));
        }
        self.model.open(request)
    }

    fn read(&mut self, recorder: &mut Recorder) -> Result<Reading, ModelError> {
        self.model.read(recorder)
    }

    fn leave(&mut self) {
        self.model.leave();
    }
}
