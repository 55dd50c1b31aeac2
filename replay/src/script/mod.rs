//! A recorded session, its children with it, as a script of the fixture server: what each request must be, and what is
//! answered so that the same is recorded again (`docs/spec/messages-wire.md`, 10 to 12).
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | what is asked for and what comes of it |
//! | `walk.rs` | one log, event by event: exchanges, titles, compactions |
//! | `response.rs` | one answer of the wire as one of a script |
//!
//! Useful for: running a record again against HTTP, with the embedded core or with a real dsh. What no log holds is
//! searches of the web, uploads, and requests under way when a process was killed: a script does not answer those.

pub(crate) mod response;
mod walk;

use dshlog_codec::Seq;
use dshlog_codec::json::JsString;
use dshlog_fixture_server::Script;
use dshlog_fixture_server::script::OnDiverged;

use crate::agent::rerun::Record;
use crate::request::image::{Attachments, NoAttachments};
use crate::request::refusal::Refusal;
use crate::request::route::RouteChange;
use crate::surface::HistoryError;
use crate::wire::{Dialect, Fidelity, OddStream, Unrepresentable};

/// How a script is made.
#[derive(Clone, Copy)]
pub struct Options<'o> {
    /// Images of the requests.
    pub attachments: &'o dyn Attachments,
    /// What a profile changed of the models' routes.
    pub route: RouteChange,
    /// The instruction of compactions, which is in no log. Without it the messages of those requests are not compared.
    pub instruction: Option<&'o str>,
    /// The language of whoever asks; nothing for that of each recorded process.
    pub dialect: Option<Dialect>,
    /// How near answers must come. One that is to come in another language than it was recorded in may have to be
    /// [`Fidelity::Lenient`].
    pub fidelity: Fidelity,
    /// Keep the pauses of the record.
    pub pauses: bool,
    /// Leave out titles and compactions, for whoever asks for steps only, as the embedded core does when it runs a record
    /// again.
    pub loop_only: bool,
    /// How long the first answer of a session is held back until its title is out, in milliseconds, where the record has
    /// one: a process that ends before its title came has none. For agents that ask for a title beside their first step.
    pub title_wait_ms: u64,
    /// What becomes of a request that is not the recorded one.
    pub on_diverged: OnDiverged,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            attachments: &NoAttachments,
            route: RouteChange::default(),
            instruction: None,
            dialect: None,
            fidelity: Fidelity::Exact,
            pauses: false,
            loop_only: false,
            title_wait_ms: 0,
            on_diverged: OnDiverged::Fail,
        }
    }
}

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("dialect", &self.dialect).finish_non_exhaustive()
    }
}

/// A script, and what it could not take out of the logs.
#[derive(Debug, Default)]
pub struct Scripted {
    /// The script.
    pub script: Script,
    /// Where each of its exchanges is recorded.
    pub exchanges: Vec<Asked>,
    /// Where each of its side rules is recorded.
    pub side: Vec<Asked>,
    /// What is in no log.
    pub gaps: Vec<Gap>,
}

/// Where a request is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Which of the records, from 0.
    pub record: usize,
    /// The settlement; of a title its request, of a compaction its summary or end.
    pub seq: Seq,
}

/// Something that a script does not hold.
#[derive(Debug)]
pub struct Gap {
    /// Where.
    pub asked: Asked,
    /// What.
    pub what: Missing,
}

/// What can be missing.
#[derive(Debug, thiserror::Error)]
pub enum Missing {
    /// The body cannot be made, so any request is answered.
    #[error("the request cannot be made out of the log: {0}")]
    Body(#[source] Refusal),
    /// The answer of a compaction that failed, of which the log has an error that the client made of it.
    #[error("the answer that made a compaction fail is not recorded")]
    Answer,
}

/// Records of which no script can be made.
#[derive(Debug, thiserror::Error)]
#[error("no script can be made of session {}", .session.to_lossy())]
pub struct ScriptError {
    /// The session.
    pub session: JsString,
    /// Why.
    #[source]
    pub why: Why,
}

/// Why no script can be made.
#[derive(Debug, thiserror::Error)]
pub enum Why {
    /// No response gives a recorded stream.
    #[error(transparent)]
    Unrepresentable(#[from] Unrepresentable),
    /// A recorded stream that is none.
    #[error(transparent)]
    OddStream(#[from] OddStream),
    /// A surface that does not fold.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// A body that is printed and does not read back.
    #[error("the expected request at seq {seq} is not JSON")]
    Body {
        /// The settlement.
        seq: Seq,
        /// What is wrong with it.
        #[source]
        source: dshlog_fixture_server::json::JsonError,
    },
}

/// The script of a session and of those that it gave work to. With more than one each gets a lane: which of them asks is
/// known by the session that a request names, and which session that is by what it asks first.
///
/// # Errors
/// A log that holds a stream which no response gives, or that does not fold.
pub fn script(records: &[&Record], options: Options<'_>) -> Result<Scripted, ScriptError> {
    let mut scripted = Scripted::default();
    for (number, record) in records.iter().enumerate() {
        let lane = (records.len() > 1).then(|| record.header().id.to_lossy().into_owned());
        walk::Walk::new(number, record, lane, options, &mut scripted)
            .all()
            .map_err(|why| ScriptError { session: record.header().id.clone(), why })?;
    }
    Ok(scripted)
}
