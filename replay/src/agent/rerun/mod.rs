//! Running a recorded session again: what came from outside is taken out of the record, the loop computes the rest
//! (`docs/spec/agent-loop.md`, section 12).
//!
//! The clock, drawn ids and drawn waits are taken out of the record as well, so a loop that does all as the recorded one
//! writes the same bytes. Where the loop would write an event of another type than the record has, it writes that one event and
//! the run ends there: behind it nothing in the record answers to anything any more.

mod ahead;
mod record;

use dshlog_codec::check::EventType;
use dshlog_codec::json::{Doc, Js};
use dshlog_codec::pack::Record as StreamRecord;
use dshlog_codec::{Event, Seq};

pub use record::Record;

use super::Agent;
use super::attempt::Recorder;
use super::era::Era;
use super::error::AgentError;
use super::log::{Log, Stamp};
use super::model::Model;
use super::retry::{Policy, Wait, number_text};
use super::tools::{Call, Choice, Choices, Outcome};
use super::turn::unknown_error;
use super::world::{Admission, Idle, Moment, Prepared, Reading, Stop, World};
use crate::closer::Cause;
use crate::inbox::Waiting;
use crate::new_event::NewEvent;
use crate::request::Request;
use crate::request::header::printed;
use crate::request::route::RouteChange;
use crate::stream;
use crate::wire::Dialect;
use record::is_recovery;

/// What a run again came to.
#[derive(Debug)]
pub struct Rerun {
    /// The log that the loop wrote.
    pub log: Log,
    /// The first event that is not the recorded one byte for byte.
    pub first_inexact: Option<Seq>,
    /// Where the loop wrote an event of another type than the record has, or found that the record lacks what it needs.
    pub parted: Option<Seq>,
}

impl Rerun {
    /// The loop wrote the record, byte for byte.
    pub fn is_exact(&self, record: &Record) -> bool {
        self.first_inexact.is_none() && self.parted.is_none() && self.log.rows().len() == record.len()
    }
}

/// How a record is run again.
#[derive(Default)]
pub struct Options<'o> {
    /// What a profile changed of the models' routes, which no log tells.
    pub route: RouteChange,
    /// How failures are retried, where no retry in the record tells.
    pub policy: Option<Policy>,
    /// Who is asked; nothing for the answers of the record.
    pub model: Option<&'o mut dyn Model>,
    /// Who is asked for processes that spoke Chat Completions ([`Record::dialect`]); nothing when that is no other.
    pub older_model: Option<&'o mut dyn Model>,
    /// Hears of every request that is sent, with the seq that its settlement will have.
    pub on_request: Option<OnRequest<'o>>,
}

/// Hears of requests.
pub type OnRequest<'o> = &'o mut dyn FnMut(Seq, Request<'_>);

impl std::fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("route", &self.route).finish_non_exhaustive()
    }
}

/// Run a recorded session again.
///
/// # Errors
/// A record that does not fold, or whose streams are no streams.
pub fn rerun<'r>(record: &'r Record, options: Options<'r>) -> Result<Rerun, AgentError> {
    let mut world = Replayed::new(record, options);
    let mut log = Log::new(record.header().clone());
    for at in 0..record.inherited() {
        if let Some(event) = record.event(at) {
            log.copy(&event)?;
        }
    }
    world.pos = record.inherited();
    let mut agent = Agent::over(log, &mut world);
    if let Err(Stop::Fault(fault)) = agent.close_inherited() {
        return Err(fault);
    }
    let (log, outcome) = agent.run();
    match outcome {
        // The record lacks what the loop would have written.
        Err(AgentError::NoHeader { .. } | AgentError::NoContext { .. }) if world.parted.is_some() => {}
        outcome => outcome?,
    }
    Ok(Rerun { log, first_inexact: world.first_inexact, parted: world.parted })
}

/// The world as a record tells of it.
#[derive(Debug)]
struct Replayed<'r> {
    record: &'r Record,
    options: Options<'r>,
    policy: Policy,
    /// The next event of the record.
    pos: usize,
    /// How many of its processes have ended.
    ended: usize,
    /// The settlement of the request that is under way.
    settlement: Option<usize>,
    /// The generation of the surface when it was sent.
    sent_at: u64,
    first_inexact: Option<Seq>,
    parted: Option<Seq>,
    /// The run is over.
    over: bool,
}

/// What the record has next of what the loop makes.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// This event.
    Made(usize, EventType),
    /// The process ends first.
    Death,
    /// Nothing.
    End,
}

impl<'r> Replayed<'r> {
    fn new(record: &'r Record, options: Options<'r>) -> Self {
        let usual = || options.policy.clone().unwrap_or_default();
        Replayed {
            policy: ahead::policy(record).unwrap_or_else(usual),
            record,
            options,
            pos: 0,
            ended: 0,
            settlement: None,
            sent_at: 0,
            first_inexact: None,
            parted: None,
            over: false,
        }
    }

    fn is_death(&self, at: usize) -> bool {
        self.record.ends().get(self.ended).is_some_and(|end| end.at == at)
    }

    fn next(&self) -> Next {
        self.next_from(self.pos)
    }

    /// The first event from here on that the loop makes.
    fn next_from(&self, mut at: usize) -> Next {
        if self.over {
            return Next::End;
        }
        while !self.is_death(at) {
            match self.record.made(at) {
                Some(kind) => return Next::Made(at, kind),
                None if at >= self.record.len() => return Next::End,
                None => at += 1,
            }
        }
        Next::Death
    }

    /// How the turn that is open here ends.
    fn turn_end(&self) -> Option<Event<'r>> {
        let mut at = self.pos;
        loop {
            match self.next_from(at) {
                Next::Made(found, EventType::TurnEnd) => return self.record.event(found),
                Next::Made(_, EventType::TurnStart | EventType::EndSeed) | Next::Death | Next::End => {
                    return None;
                }
                Next::Made(found, ..) => at = found + 1,
            }
        }
    }

    /// Why the turn that is open here is left, if its end says that it was.
    fn stop(&self) -> Option<Stop> {
        let Some(end) = self.turn_end() else {
            // Only one loop loses the end of a turn, and only while its process lives on.
            let lives = self.era() == Era::V3 && matches!(self.next_turn(), Next::Made(..));
            return lives.then_some(Stop::Abort(None));
        };
        let reason = end.member("reason")?;
        let member = |name| reason.get(name).map_or_else(|| "null".into(), |value| printed(value).into());
        if reason.get("kind")?.is("aborted") {
            return Some(Stop::Abort(Some(member("reason"))));
        }
        reason.get("kind")?.is("error").then(|| Stop::Failed(member("error")))
    }

    fn next_turn(&self) -> Next {
        let mut at = self.pos;
        loop {
            match self.next_from(at) {
                Next::Made(found, kind) if kind != EventType::TurnStart => at = found + 1,
                next => return next,
            }
        }
    }

    /// The loop and the record go different ways here.
    fn part(&mut self) {
        self.parted.get_or_insert(Seq(self.pos as u64));
    }

    /// The next event that the loop makes; the process ends when there is none.
    fn expect(&self) -> Result<(EventType, Event<'r>), Stop> {
        let Next::Made(at, kind) = self.next() else { return Err(Stop::Ended) };
        self.record.event(at).map(|event| (kind, event)).ok_or(Stop::Ended)
    }

    /// The record has nothing for what the loop needs.
    fn lacks(&mut self) -> Stop {
        self.part();
        self.over = true;
        Stop::Ended
    }

    /// Who is asked; nothing for what failed before it was sent, which is in no answer.
    fn model(&mut self) -> Option<&mut (dyn Model + 'r)> {
        let settled = self.settled()?;
        if stream::unsent(&settled).is_some() {
            return None;
        }
        let Options { model, older_model, .. } = &mut self.options;
        match older_model {
            Some(older) if self.record.dialect(settled.seq) == Dialect::Chat => Some(&mut **older),
            _ => model.as_deref_mut(),
        }
    }

    fn settled(&self) -> Option<Event<'r>> {
        self.record.event(self.settlement?)
    }
}

impl World for Replayed<'_> {
    fn era(&self) -> Era {
        self.record.era(self.pos)
    }

    fn others(&mut self, log: &mut Log) -> Result<(), Stop> {
        while !self.over && !self.is_death(self.pos) && self.record.made(self.pos).is_none() {
            let Some(event) = self.record.event(self.pos) else { break };
            log.copy(&event)?;
            self.pos += 1;
        }
        if self.over { Err(Stop::Ended) } else { Ok(()) }
    }

    fn arrivals(&mut self, log: &mut Log) -> Result<(), Stop> {
        // What stands in front of something else than a claim came behind the moment of claiming.
        match self.next() {
            Next::Made(_, EventType::InboxSpliced) => self.others(log),
            _ => Ok(()),
        }
    }

    fn stamp(&mut self, kind: EventType, log: &Log) -> Result<Stamp, Stop> {
        let (recorded, event) = self.expect()?;
        if recorded != kind {
            self.part();
            let id = format!("parted-{}", log.next_seq());
            return Ok(Stamp { time: event.time, id: id.as_str().into() });
        }
        Ok(Stamp { time: event.time, id: ahead::drawn_id(&event) })
    }

    fn written(&mut self, row: &NewEvent) {
        if self.parted.is_some() {
            self.over = true;
            return;
        }
        if self.record.text(self.pos) != Some(row.text()) {
            self.first_inexact.get_or_insert(Seq(self.pos as u64));
        }
        self.pos += 1;
    }

    fn idle(&mut self, log: &mut Log) -> Result<Idle, Stop> {
        if self.over {
            return Ok(Idle::Over);
        }
        self.others(log)?;
        Ok(match self.next() {
            Next::Made(_, EventType::TurnStart) => Idle::Turn,
            Next::Death => {
                self.ended += 1;
                Idle::Restart
            }
            Next::End => Idle::Over,
            Next::Made(..) => {
                self.part();
                Idle::Over
            }
        })
    }

    fn check(&mut self, moment: Moment, _log: &Log) -> Result<(), Stop> {
        let next = match self.next() {
            Next::Made(_, kind) => Some(kind),
            Next::Death | Next::End => None,
        };
        let leaves = match moment {
            Moment::Boundary => next == Some(EventType::TurnEnd),
            Moment::Prepare | Moment::Send | Moment::Waiting => next == Some(EventType::StepEnd),
            Moment::Answered => self.settled().is_some_and(|settled| ahead::was_left(&settled)),
        };
        if !leaves {
            return Ok(());
        }
        match self.stop() {
            Some(stop) => Err(stop),
            None if moment == Moment::Answered => Err(Stop::Ended),
            None => Ok(()),
        }
    }

    fn admit(&mut self, claimed: Vec<Waiting>, step: u64, _log: &mut Log) -> Result<Admission, Stop> {
        let (kind, event) = self.expect()?;
        if kind == EventType::TurnEnd {
            let reason = event.member("reason").and_then(|reason| reason.get("kind"));
            if reason.is_some_and(|kind| kind.is("blocked")) {
                return Ok(Admission::Rejected);
            }
            if step == 1 {
                // Somebody left out all that was claimed.
                return Ok(Admission::Enter(super::Admitted::default()));
            }
        }
        Ok(Admission::Enter(self.run(self.pos + 1).admitted(&claimed, self.era())))
    }

    fn prepare(&mut self, log: &Log) -> Result<Prepared, Stop> {
        let prepared = self.run(self.pos).prepared(log, self.options.route);
        prepared.map_err(|fault| Stop::Fault(fault.into()))
    }

    fn open(&mut self, log: &Log) -> Result<(), Stop> {
        self.sent_at = log.generation();
        match self.next() {
            Next::Made(at, EventType::AssistantMessage | EventType::AssistantAttempt) => {
                self.settlement = Some(at);
                let request = || log.requests().next();
                if let Some(hear) = &mut self.options.on_request {
                    // Others may write before it is settled.
                    hear(Seq(at as u64), request());
                }
                if let Some(model) = self.model() {
                    model.open(request()).map_err(|error| Stop::Failed(unknown_error(&error.message)))?;
                }
                Ok(())
            }
            Next::Made(..) => Err(self.lacks()),
            Next::Death | Next::End => Err(Stop::Ended),
        }
    }

    fn read(&mut self, recorder: &mut Recorder) -> Result<Reading, Stop> {
        let Some(settled) = self.settled() else { return Err(self.lacks()) };
        let is_heard = ahead::was_left(&settled) && recorder.chunks() >= ahead::chunks(&settled);
        if let Some(model) = self.model() {
            // Whoever left an answer left it here.
            if is_heard {
                model.leave();
                return Ok(Reading::Done);
            }
            return model.read(recorder).map_err(|error| Stop::Failed(unknown_error(&error.message)));
        }
        let fault = |what| AgentError::Stream { seq: settled.seq, what };
        for record in settled.member("stream").into_iter().flat_map(Js::elements) {
            let record = StreamRecord::decode(record).map_err(fault)?;
            recorder.record(record).map_err(fault)?;
        }
        Ok(Reading::Done)
    }

    fn keeps_cut_answers(&self) -> bool {
        !self.era().is_first() || !self.settled().is_some_and(|settled| settled.is("assistant/attempt"))
    }

    fn recovers(&mut self, _failure: &Doc, log: &mut Log) -> Result<bool, Stop> {
        Ok(match self.next() {
            Next::Made(_, EventType::StepEnd) => false,
            Next::Made(..) => log.generation() != self.sent_at,
            Next::Death | Next::End => return Err(Stop::Ended),
        })
    }

    fn policy(&self) -> &Policy {
        &self.policy
    }

    fn delay(&mut self, wait: &Wait, _log: &Log) -> Box<str> {
        let recorded = self.expect().ok().filter(|(kind, _)| *kind == EventType::Retry);
        let recorded = recorded.and_then(|(_, event)| event.member("delayMs"));
        match recorded.filter(|delay| delay.as_f64().is_some_and(|delay| wait.admits(delay))) {
            Some(delay) => printed(delay).into(),
            None => number_text(wait.middle()),
        }
    }

    fn choose(&mut self, choices: &Choices<'_>, _log: &mut Log) -> Result<Choice, Stop> {
        let (kind, event) = self.expect()?;
        let leaves = kind == EventType::StepEnd || is_recovery(&event);
        if leaves && let Some(stop) = self.stop() {
            return Err(stop);
        }
        Ok(match kind {
            EventType::ToolCall if choices.start.is_some() => Choice::Start,
            _ => Choice::Commit,
        })
    }

    fn start(&mut self, _call: &Call) -> Result<(), Stop> {
        Ok(())
    }

    fn finish(&mut self, call: &Call, _log: &Log) -> Result<Outcome, Stop> {
        match self.expect()? {
            (EventType::ToolResult, event) => Ok(ahead::outcome(&event, call)),
            _ => Err(self.lacks()),
        }
    }

    fn concludes(&mut self, _log: &Log) -> bool {
        let Next::Made(at, EventType::StepEnd) = self.next() else { return false };
        let Next::Made(end, EventType::TurnEnd) = self.next_from(at + 1) else { return false };
        let Some(end) = self.record.event(end) else { return false };
        let kind = end.member("reason").and_then(|reason| reason.get("kind"));
        kind.is_some_and(|kind| kind.is("completed") || kind.is("max-tokens"))
    }
}

impl Agent<'_, Replayed<'_>> {
    /// A fork closes what it inherited open. Forks of dsh 0.1.5 did not (`docs/spec/agent-loop.md`, section 13).
    fn close_inherited(&mut self) -> Result<(), Stop> {
        let is_closed = match self.world.next() {
            Next::Made(_, EventType::TurnStart | EventType::InboxSpliced) => true,
            Next::Made(..) => false,
            Next::Death | Next::End => true,
        };
        if is_closed { Ok(()) } else { self.close(Cause::Forked) }
    }
}
