//! A fresh session: a prompt, a model, tools.
//!
//! Nothing here asks the machine for the time or for chance: the clock stands still but for one millisecond an event and the
//! waits between attempts, which nobody waits for, and what is drawn comes from a seed. So two runs that are answered
//! alike write the same log.
//!
//! ```
//! use dshlog_codec::header::{CwdRule, Header};
//! use dshlog_replay::agent::live::{Setup, converse};
//! use dshlog_replay::agent::model::{Scripted, calls_answer, text_answer};
//! use dshlog_replay::agent::tools::Notes;
//!
//! let header = r#"{"type":"session","version":4,"id":"lab","createdAt":0,"isSeeded":false,"delegationDepth":0}"#;
//! let header = Header::parse(header, CwdRule::Any).unwrap();
//! let notes = Notes::new([("plan".to_owned(), "Write the tests first.".to_owned())]);
//! let mut model = Scripted::new([
//!     calls_answer(1, &[("read_note", r#"{"id":"plan"}"#)]),
//!     text_answer("The plan begins with the tests."),
//! ]);
//! let (log, outcome) = converse(header, Setup::default(), &["What is the plan?"], &mut model, &notes);
//! outcome.unwrap();
//! assert!(log.rows().last().unwrap().text().contains(r#""reason":{"kind":"completed"}"#));
//! ```

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dshlog_codec::check::EventType;
use dshlog_codec::json::{Doc, Fields, Js, JsString, Tree};
use dshlog_codec::{Header, Millis};
use sha2::{Digest as _, Sha256};

use super::Agent;
use super::attempt::Recorder;
use super::error::AgentError;
use super::log::{Log, Placement, Stamp};
use super::model::{Model, ModelError};
use super::retry::{Policy, Wait, number_text};
use super::tools::{Call, Choice, Choices, Outcome, Tools};
use super::turn::unknown_error;
use super::world::{Admission, Admitted, Idle, Moment, Prepared, Reading, Stop, World};
use crate::inbox::{Target, Waiting};
use crate::new_event::NewEvent;
use crate::request::route::Route;

/// Calls that may run side by side.
const MOST_PARALLEL: usize = 10;
/// What the catalogue says of every model.
const CONTEXT_WINDOW: u64 = 1_000_000;

/// What a session is set up with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The system prompt; may be empty.
    pub system: String,
    /// Provider of the route.
    pub provider: String,
    /// The model that is asked.
    pub model: String,
    /// Longest answer in tokens.
    pub max_tokens: u64,
    /// How hard to think: `off`, `low`, `high` or `max`.
    pub effort: String,
    /// Steps that a turn may have; then it is refused.
    pub most_steps: Option<u64>,
    /// How failures are retried.
    pub policy: Policy,
    /// When the session begins.
    pub start: Millis,
    /// What ids and waits are drawn from.
    pub seed: u64,
    /// What is said while a turn goes on, in the order in which it is said.
    pub inputs: Vec<Input>,
    /// Stops what goes on.
    pub cancel: Cancel,
}

/// Something that is said while a turn goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The turn and the step of it behind which it comes.
    pub behind: (u64, u64),
    /// What is done with it.
    pub arrival: Arrival,
    /// The text.
    pub text: String,
}

/// What is done with an input (`docs/spec/agent-loop.md`, 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It is the prompt of a turn of its own.
    FollowUp,
    /// The next step hears it, and there is one because of it.
    Steer,
    /// The next step hears it, if there is one.
    Inject,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            system: String::new(),
            provider: "deepseek-official".to_owned(),
            model: "deepseek-flash".to_owned(),
            max_tokens: 256_000,
            effort: "high".to_owned(),
            most_steps: None,
            policy: Policy::default(),
            start: Millis(0),
            seed: 0,
            inputs: Vec::new(),
            cancel: Cancel::default(),
        }
    }
}

/// A switch that stops the turn that goes on, as its user would. What waits goes on waiting.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Stop.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Say these prompts to a model, one after the other, each in a turn of its own. Gives the log as far as it came.
pub fn converse(
    header: Header,
    setup: Setup,
    prompts: &[&str],
    model: &mut dyn Model,
    tools: &dyn Tools,
) -> (Log, Result<(), AgentError>) {
    converse_seen(header, setup, prompts, model, tools, &mut |_| {})
}

/// The same, and tell of every event as soon as it stands in the log: for a home that is kept while the session goes on,
/// or for those who watch it.
pub fn converse_seen(
    header: Header,
    setup: Setup,
    prompts: &[&str],
    model: &mut dyn Model,
    tools: &dyn Tools,
    seen: &mut dyn FnMut(&NewEvent),
) -> (Log, Result<(), AgentError>) {
    let prompts = prompts.iter().map(|prompt| JsString::from(*prompt)).collect();
    let mut live = Live {
        clock: setup.start,
        setup,
        prompts,
        model,
        tools,
        seen,
        done: (0, 0),
        drawn: 0,
        wait: 0.0,
        begun: VecDeque::new(),
        runs_alone: false,
    };
    Agent::new(header, &mut live).run()
}

struct Live<'m> {
    setup: Setup,
    prompts: VecDeque<JsString>,
    model: &'m mut dyn Model,
    tools: &'m dyn Tools,
    /// Is told of every event.
    seen: &'m mut dyn FnMut(&NewEvent),
    clock: Millis,
    /// The last step that ended.
    done: (u64, u64),
    /// How much has been drawn.
    drawn: u64,
    /// How long the next attempt waits, in milliseconds.
    wait: f64,
    /// Calls that have begun, with how they ended where that is known.
    begun: VecDeque<(Call, Option<Outcome>)>,
    /// The call that has begun runs beside no other.
    runs_alone: bool,
}

impl Live<'_> {
    fn tick(&mut self) -> Millis {
        self.clock = Millis(self.clock.0 + 1);
        self.clock
    }

    fn draw(&mut self) -> [u8; 32] {
        self.drawn += 1;
        let mut hash = Sha256::new();
        hash.update(self.setup.seed.to_le_bytes());
        hash.update(self.drawn.to_le_bytes());
        hash.finalize().into()
    }

    /// An id in the form of a random UUID.
    fn id(&mut self) -> JsString {
        let drawn = self.draw();
        let mut bits = [0; 16];
        bits.iter_mut().zip(drawn).for_each(|(bit, drawn)| *bit = drawn);
        let bits = u128::from_be_bytes(bits) & !(0xf << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
        let hex = format!("{bits:032x}");
        let mut id = String::with_capacity(36);
        for (at, digit) in hex.chars().enumerate() {
            if matches!(at, 8 | 12 | 16 | 20) {
                id.push('-');
            }
            id.push(digit);
        }
        id.as_str().into()
    }

    fn stopped(&self) -> Result<(), Stop> {
        if self.setup.cancel.is_set() { Err(Stop::Abort(Some(r#"{"kind":"user"}"#.into()))) } else { Ok(()) }
    }

    fn insert(&mut self, text: &JsString, arrival: Arrival, log: &mut Log) -> Result<(), Stop> {
        let (target, source) = match arrival {
            Arrival::FollowUp => (Target::NextTurn, "user"),
            // What wakes somebody who was stopped is for the next turn.
            Arrival::Steer if self.setup.cancel.is_set() => (Target::NextTurn, "user"),
            Arrival::Steer => (Target::NextStep, "user"),
            Arrival::Inject => (Target::NextStep, "context"),
        };
        let id = self.id();
        let block = Fields::new().with("type", Tree::string("text")).with("text", Tree::js_string(text));
        let message = Fields::new()
            .with("content", Tree::Array(vec![block.into()]))
            .with("source", Fields::new().with("kind", Tree::string(source)))
            .with("role", Tree::string("user"))
            .with("id", Tree::js_string(&id));
        let data = Fields::new()
            .with("target", Tree::string(target.name()))
            .with("start", Tree::integer(log.inbox().list(target).len() as u64))
            .with("inserted", Tree::Array(vec![message.into()]));
        let time = self.tick();
        log.write(EventType::InboxSpliced, time, data, Placement::Off)?;
        log.rows().last().into_iter().for_each(&mut self.seen);
        Ok(())
    }

    fn header(&self) -> Fields<'static> {
        let setup = &self.setup;
        let config = Fields::new()
            .with("provider", Tree::string(&setup.provider))
            .with("model", Tree::string(&setup.model))
            .with("maxTokens", Tree::integer(setup.max_tokens))
            .with("reasoningEffort", Tree::string(&setup.effort));
        let tools = self.tools.declared();
        let tools: Vec<Tree<'_>> = tools.iter().map(|tool| Tree::Text(tool.json().into())).collect();
        let header = Fields::new().with("config", config);
        if tools.is_empty() { header } else { header.with("tools", Tree::Array(tools)) }
    }

    fn context(&self, route: Route) -> Fields<'static> {
        let context = Fields::new()
            .with("provider", Tree::string(&self.setup.provider))
            .with("model", Tree::string(&self.setup.model))
            .with("contextWindow", Tree::integer(CONTEXT_WINDOW));
        if route.in_history {
            context.with("systemPromptUpdate", Tree::string("in-history"))
        } else {
            context
        }
    }

    /// A call of a tool that nobody knows, or with arguments that are none, runs alone.
    fn is_parallel(&self, call: &Call) -> bool {
        self.is_known(call) && call.parsed().is_ok() && self.tools.is_parallel(call)
    }

    fn is_known(&self, call: &Call) -> bool {
        let tool = call.tool();
        self.tools.declared().iter().any(|known| known.name() == tool)
    }

    /// Run what has begun and has not ended: several at a time where there are several.
    fn run_begun(&mut self) {
        let tools = self.tools;
        std::thread::scope(|scope| {
            let waiting = self.begun.iter_mut().filter(|(_, outcome)| outcome.is_none());
            let mut waiting: Vec<_> = waiting.collect();
            if let [(call, outcome)] = waiting.as_mut_slice() {
                *outcome = Some(tools.call(call));
                return;
            }
            for (call, outcome) in waiting {
                scope.spawn(move || *outcome = Some(tools.call(call)));
            }
        });
    }
}

fn doc(fields: Fields<'_>) -> Result<Doc, Stop> {
    let mut text = Vec::new();
    Tree::from(fields).print(&mut text);
    Ok(Doc::parse(String::from_utf8(text).unwrap_or_default())?)
}

fn thrown(error: &ModelError) -> Stop {
    Stop::Failed(unknown_error(&error.message))
}

impl World for Live<'_> {
    fn others(&mut self, log: &mut Log) -> Result<(), Stop> {
        let due = self.setup.inputs.iter().take_while(|input| input.behind <= self.done).count();
        let due: Vec<Input> = self.setup.inputs.drain(..due).collect();
        for Input { arrival, text, .. } in due {
            self.insert(&text.as_str().into(), arrival, log)?;
        }
        Ok(())
    }

    fn stamp(&mut self, _kind: EventType, _log: &Log) -> Result<Stamp, Stop> {
        Ok(Stamp { time: self.tick(), id: self.id() })
    }

    fn written(&mut self, row: &NewEvent) {
        (self.seen)(row);
        let event = row.event();
        let count = |name| event.member(name).and_then(Js::as_count).unwrap_or(0);
        if event.is("step/end") {
            self.done = (count("turn"), count("step"));
        }
    }

    fn idle(&mut self, log: &mut Log) -> Result<Idle, Stop> {
        if self.setup.cancel.is_set() {
            return Ok(Idle::Over);
        }
        let Some(prompt) = self.prompts.pop_front() else { return Ok(Idle::Over) };
        self.insert(&prompt, Arrival::FollowUp, log)?;
        Ok(Idle::Turn)
    }

    fn check(&mut self, moment: Moment, _log: &Log) -> Result<(), Stop> {
        if moment == Moment::Waiting {
            #[expect(clippy::cast_possible_truncation, reason = "no wait is longer than its limit")]
            let wait = std::mem::take(&mut self.wait) as i64;
            self.clock = Millis(self.clock.0.saturating_add(wait));
        }
        self.stopped()
    }

    fn admit(&mut self, claimed: Vec<Waiting>, step: u64, _log: &mut Log) -> Result<Admission, Stop> {
        if self.setup.most_steps.is_some_and(|most| step > most) {
            return Ok(Admission::Rejected);
        }
        Ok(Admission::Enter(Admitted { messages: claimed }))
    }

    fn prepare(&mut self, log: &Log) -> Result<Prepared, Stop> {
        let route = Route::of_model(&self.setup.model.as_str().into());
        let is_first = log.declared().is_none();
        let mut prompt = Vec::new();
        if !self.setup.system.is_empty() {
            let block = Fields::new().with("type", Tree::string("text"));
            prompt.push(Tree::from(block.with("text", Tree::string(&self.setup.system))));
        }
        let mut text = Vec::new();
        Tree::Array(prompt).print(&mut text);
        Ok(Prepared {
            prompt: String::from_utf8(text).unwrap_or_default().into(),
            sections: None,
            header: is_first.then(|| doc(self.header())).transpose()?,
            context: is_first.then(|| doc(self.context(route))).transpose()?,
            starts_series: false,
            tool_update: route.tool_update.is_some(),
        })
    }

    fn open(&mut self, log: &Log) -> Result<(), Stop> {
        self.model.open(log.requests().next()).map_err(|error| thrown(&error))
    }

    fn read(&mut self, recorder: &mut Recorder) -> Result<Reading, Stop> {
        if self.setup.cancel.is_set() {
            self.model.leave();
            return Ok(Reading::Done);
        }
        self.model.read(recorder).map_err(|error| thrown(&error))
    }

    fn recovers(&mut self, _failure: &Doc, _log: &mut Log) -> Result<bool, Stop> {
        Ok(false)
    }

    fn policy(&self) -> &Policy {
        &self.setup.policy
    }

    fn delay(&mut self, wait: &Wait, _log: &Log) -> Box<str> {
        let [a, b, c, d, ..] = self.draw();
        let chance = f64::from(u32::from_le_bytes([a, b, c, d])) / (f64::from(u32::MAX) + 1.0);
        self.wait = match wait {
            Wait::Asked(asked) => *asked,
            Wait::Drawn { low, high } => low + (high - low) * chance,
        };
        number_text(self.wait)
    }

    fn choose(&mut self, choices: &Choices<'_>, _log: &mut Log) -> Result<Choice, Stop> {
        let has_room = choices.in_flight == 0 || (!self.runs_alone && choices.in_flight < MOST_PARALLEL);
        let may_start = |call: &Call| choices.in_flight == 0 || self.is_parallel(call);
        let starts = has_room && choices.start.is_some_and(may_start);
        Ok(if starts { Choice::Start } else { Choice::Commit })
    }

    fn start(&mut self, call: &Call) -> Result<(), Stop> {
        let tool = call.tool();
        let outcome = if self.setup.cancel.is_set() {
            Some(Outcome::never_begun())
        } else {
            (!self.is_known(call)).then(|| Outcome::unknown(&tool))
        };
        self.runs_alone = !self.is_parallel(call);
        self.begun.push_back((call.clone(), outcome));
        Ok(())
    }

    fn finish(&mut self, _call: &Call, _log: &Log) -> Result<Outcome, Stop> {
        self.run_begun();
        let outcome = self.begun.pop_front().and_then(|(_, outcome)| outcome);
        let outcome = outcome.unwrap_or_else(|| Outcome::failed("the tool broke down"));
        // What ends well after it was cancelled has not ended well.
        Ok(if self.setup.cancel.is_set() && !outcome.is_error { Outcome::aborted() } else { outcome })
    }
}
