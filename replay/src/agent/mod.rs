//! The embedded agent core: the default agent loop of dsh as far as a log shows it (`docs/spec/agent-loop.md`).
//!
//! One loop, driven in two ways. [`rerun`] takes what came from outside out of a recorded log, has the loop compute the
//! rest, and compares. [`live`] runs a fresh session: a prompt, a model, tools. What both do differently stands behind
//! [`World`]; the loop does not know which of the two it is in.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | the driver: turns while there are any, processes that end and begin |
//! | `turn.rs` | a turn: claims, steps, its end |
//! | `step.rs` | a step: requests until one is answered, calls |
//! | `commit.rs` | what a request tells: prompt, messages, header, context |
//! | `attempt.rs` | one request, and what is kept of its answer |
//! | `retry.rs` | when a failed request is sent again |
//! | `tools/` | calls: in which order they run, and who answers them |
//! | `log.rs`, `write.rs` | the log and its folds; its bytes |
//! | `world.rs` | what comes from outside |
//! | `era.rs` | what older loops did differently |
//! | `model.rs`, `http.rs` | who is asked |
//! | `rerun/`, `live.rs` | the two drivers |

mod attempt;
mod commit;
mod era;
mod error;
pub mod http;
pub mod live;
mod log;
pub mod model;
pub mod rerun;
mod retry;
mod step;
pub mod tools;
mod turn;
mod world;
mod write;

use dshlog_codec::check::EventType;
use dshlog_codec::json::{Fields, Tree};
use dshlog_codec::{Header, Millis, Seq};

pub use attempt::Recorder;
pub use era::Era;
pub use error::AgentError;
pub use log::{Declared, Log, Snapshot, Stamp, SystemNode};
pub use retry::{Mode, Policy, Wait};
pub use turn::unknown_error;
pub use world::{Admission, Admitted, Idle, Moment, Prepared, Reading, Stop, World};

use log::Placement;

use crate::closer::Cause;
use crate::new_event::NewEvent;

/// The loop, over a log that it writes.
#[derive(Debug)]
pub struct Agent<'w, W> {
    world: &'w mut W,
    log: Log,
    process: Process,
}

/// What a process knows and does not write down.
#[derive(Clone, Copy, Debug, Default)]
struct Process {
    /// It has written a header.
    declared: bool,
    /// The generation of the surface at its last request, or when it began.
    generation: u64,
    /// The last snapshot of the runtime context was on the surface when the step claimed its messages.
    knew_context: bool,
}

impl<'w, W: World> Agent<'w, W> {
    /// An agent for a new session.
    pub fn new(header: Header, world: &'w mut W) -> Self {
        Agent::over(Log::new(header), world)
    }

    /// An agent that goes on with a log.
    pub fn over(log: Log, world: &'w mut W) -> Self {
        let mut agent = Agent { world, log, process: Process::default() };
        agent.process.generation = agent.generation();
        agent
    }

    /// Run until nothing is left to do. Gives the log, also when it cannot be gone on with.
    pub fn run(mut self) -> (Log, Result<(), AgentError>) {
        let outcome = loop {
            match self.turns() {
                Ok(Idle::Over) => break Ok(()),
                Err(Stop::Fault(fault)) => break Err(fault),
                // Whether the session is opened again is for the world to say.
                _ => {}
            }
        };
        (self.log, outcome)
    }

    /// Wait for something to do, and do it.
    fn turns(&mut self) -> Result<Idle, Stop> {
        let idle = self.world.idle(&mut self.log)?;
        match idle {
            Idle::Turn => while self.turn()? {},
            Idle::Restart => self.restart()?,
            Idle::Over => {}
        }
        Ok(idle)
    }

    /// Another process opens the session: it closes what is open, and marks what it found (`docs/spec/agent-loop.md`, 9.2).
    fn restart(&mut self) -> Result<(), Stop> {
        self.close(Cause::Interrupted)?;
        let stamp = self.ready(EventType::EndSeed)?;
        self.push(NewEvent::end_seed(self.log.next_seq(), stamp.time, false))?;
        self.process = Process { generation: self.generation(), ..Process::default() };
        Ok(())
    }

    /// Close what is open.
    fn close(&mut self, cause: Cause) -> Result<(), Stop> {
        let time = self.log.rows().last().map_or(Millis(0), |row| row.event().time);
        for closer in self.log.tail().closers(cause, self.log.next_seq(), time) {
            let kind = EventType::of(closer.event().kind);
            let stamp = self.ready(kind.unwrap_or(EventType::TurnEnd))?;
            let is_result = kind == Some(EventType::ToolResult);
            let era = self.world.era();
            self.push(if is_result { era.migrated(closer, &stamp.id) } else { closer })?;
        }
        Ok(())
    }

    /// Let others write what they write before the loop writes an event of this type.
    fn ready(&mut self, kind: EventType) -> Result<Stamp, Stop> {
        self.world.others(&mut self.log)?;
        self.world.stamp(kind, &self.log)
    }

    fn push(&mut self, row: NewEvent) -> Result<(), Stop> {
        self.log.push(row)?;
        if let Some(row) = self.log.rows().last() {
            self.world.written(row);
        }
        Ok(())
    }

    /// Write an event; `data` is made with the id that was drawn for it.
    fn write<'a>(
        &mut self,
        kind: EventType,
        placement: Placement,
        data: impl FnOnce(Tree<'static>) -> Fields<'a>,
    ) -> Result<Seq, Stop> {
        self.write_as(kind, placement, |stamp| data(Tree::js_string(&stamp.id)))
    }

    fn write_as<'a>(
        &mut self,
        kind: EventType,
        placement: Placement,
        data: impl FnOnce(&Stamp) -> Fields<'a>,
    ) -> Result<Seq, Stop> {
        let stamp = self.ready(kind)?;
        let seq = self.log.write(kind, stamp.time, data(&stamp), placement)?;
        if let Some(row) = self.log.rows().last() {
            self.world.written(row);
        }
        Ok(seq)
    }
}

/// Payload of an event of a step.
fn at(turn: u64, step: u64) -> Fields<'static> {
    Fields::new().with("turn", Tree::integer(turn)).with("step", Tree::integer(step))
}
