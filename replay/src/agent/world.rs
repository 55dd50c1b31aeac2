//! What the loop does not decide by itself (`docs/spec/agent-loop.md`, 1.1 and 12): the point of contact between the loop
//! and whoever drives it. The loop does not know whether it is live or runs again what a log records.

use std::sync::Arc;

use dshlog_codec::check::EventType;
use dshlog_codec::json::Doc;

use super::attempt::Recorder;
use super::era::Era;
use super::error::AgentError;
use super::log::{Log, Stamp};
use super::retry::{Policy, Wait};
use super::tools::{Call, Choice, Choices, Outcome};
use crate::inbox::Waiting;
use crate::new_event::NewEvent;

/// Why the loop leaves what it is at.
#[derive(Debug)]
pub enum Stop {
    /// The turn is cancelled. Its cause as JSON; nothing when the process that was cancelled never wrote the turn's end
    /// (dsh 0.1.5, `docs/spec/agent-loop.md`, section 8).
    Abort(Option<Box<str>>),
    /// The turn fails with this error, as JSON.
    Failed(Box<str>),
    /// The process ends here, in the middle of whatever it does.
    Ended,
    /// This program cannot go on.
    Fault(AgentError),
}

impl<E: Into<AgentError>> From<E> for Stop {
    fn from(error: E) -> Self {
        Stop::Fault(error.into())
    }
}

/// Where in a turn somebody may step in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Between two steps, and before the first.
    Boundary,
    /// Before the next request is prepared.
    Prepare,
    /// Behind all that a request is made of, before it is sent.
    Send,
    /// The model has said what it says.
    Answered,
    /// Between a failed attempt and the next one.
    Waiting,
}

/// What is to happen while nothing goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// A turn.
    Turn,
    /// The process ends, and another one opens the session again.
    Restart,
    /// Nothing more.
    Over,
}

/// What becomes of the messages that a step claimed.
#[derive(Debug)]
pub enum Admission {
    /// They are told, with what others add or leave out.
    Enter(Admitted),
    /// The turn is refused.
    Rejected,
}

/// What a step tells the model before it asks.
#[derive(Debug, Default)]
pub struct Admitted {
    /// The messages in order.
    pub messages: Vec<Waiting>,
}

/// What a request is made with.
#[derive(Debug)]
pub struct Prepared {
    /// Content of the system prompt, as JSON.
    pub prompt: Arc<str>,
    /// Sections of the runtime context, as JSON; nothing when there are none.
    pub sections: Option<Box<str>>,
    /// Configuration and tools: the member `header` of a `request/header`. Nothing when they are as before.
    pub header: Option<Doc>,
    /// What is known of the model: the data of a `request/context`. Nothing when it is as before.
    pub context: Option<Doc>,
    /// A new series of requests begins, whatever happened to the surface.
    pub starts_series: bool,
    /// The route takes changes of the tools.
    pub tool_update: bool,
}

/// How far an answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// There is more.
    More,
    /// That was all.
    Done,
}

/// Whoever drives the loop: gives what comes from outside, and draws what is drawn.
pub trait World {
    /// Which rules hold.
    fn era(&self) -> Era {
        Era::V4
    }

    /// Let others write into the log: inputs, and events of plugins.
    fn others(&mut self, log: &mut Log) -> Result<(), Stop>;

    /// Let others write into the log before the next step claims what waits. What is not here by then waits for another step.
    fn arrivals(&mut self, log: &mut Log) -> Result<(), Stop> {
        self.others(log)
    }

    /// The time and the id of the event of this type that the loop is about to write.
    fn stamp(&mut self, kind: EventType, log: &Log) -> Result<Stamp, Stop>;

    /// The event that was written.
    fn written(&mut self, row: &NewEvent);

    /// Wait until something is to be done.
    fn idle(&mut self, log: &mut Log) -> Result<Idle, Stop>;

    /// Whether somebody cancels here, or something fails here: then the error says so.
    fn check(&mut self, moment: Moment, log: &Log) -> Result<(), Stop>;

    /// Whether the step may begin, and with which of the claimed messages.
    fn admit(&mut self, claimed: Vec<Waiting>, step: u64, log: &mut Log) -> Result<Admission, Stop>;

    /// What the next request is made with.
    fn prepare(&mut self, log: &Log) -> Result<Prepared, Stop>;

    /// Send the request that [`Log::requests`] has. An error here leaves no settlement.
    fn open(&mut self, log: &Log) -> Result<(), Stop>;

    /// Take what the model says next.
    fn read(&mut self, recorder: &mut Recorder) -> Result<Reading, Stop>;

    /// What can be seen of an answer that was cancelled is kept. Loops before dsh 0.1.1 did not.
    fn keeps_cut_answers(&self) -> bool {
        true
    }

    /// Whether somebody mends what made a request fail, so that it can be sent again: compaction, or leaving out images.
    fn recovers(&mut self, failure: &Doc, log: &mut Log) -> Result<bool, Stop>;

    /// How failures are retried.
    fn policy(&self) -> &Policy;

    /// How long to wait, as JSON.
    fn delay(&mut self, wait: &Wait, log: &Log) -> Box<str>;

    /// What to do next with the calls of a message.
    fn choose(&mut self, choices: &Choices<'_>, log: &mut Log) -> Result<Choice, Stop>;

    /// A call that is written begins.
    fn start(&mut self, call: &Call) -> Result<(), Stop>;

    /// How a call that began ended.
    fn finish(&mut self, call: &Call, log: &Log) -> Result<Outcome, Stop>;

    /// The calls of this step conclude the turn.
    fn concludes(&mut self, _log: &Log) -> bool {
        false
    }
}
