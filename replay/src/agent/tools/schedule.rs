//! In which order calls begin and results are written (`docs/spec/agent-loop.md`, 7.2).

use dshlog_codec::Seq;
use dshlog_codec::check::EventType;
use dshlog_codec::json::{Fields, Tree};

use super::{Call, Choice, Choices, Outcome};
use crate::agent::commit::At;
use crate::agent::log::Placement;
use crate::agent::world::{Stop, World};
use crate::agent::{Agent, at as of_step};

impl<W: World> Agent<'_, W> {
    /// Run the calls of a message. Calls and results are each in the order of the model; how the two mix is for the world to
    /// say, since it hangs on how long tools take.
    pub(in crate::agent) fn run_calls(&mut self, at: At, calls: &[Call]) -> Result<(), Stop> {
        let mut begun: Vec<Seq> = Vec::with_capacity(calls.len());
        let mut done = 0;
        while done < calls.len() {
            self.world.others(&mut self.log)?;
            let commit = calls.get(done).zip(begun.get(done).copied());
            let choices = Choices {
                start: calls.get(begun.len()),
                commit: commit.map(|(call, _)| call),
                in_flight: begun.len() - done,
            };
            let choice = self.world.choose(&choices, &mut self.log)?;
            match (choice, choices.start, commit) {
                (Choice::Start, Some(call), _) | (Choice::Commit, Some(call), None) => {
                    begun.push(self.write_call(at, call)?);
                    self.world.start(call)?;
                }
                (_, _, Some((call, seq))) => {
                    let outcome = self.world.finish(call, &self.log)?;
                    self.write_result(at, call, seq, outcome)?;
                    done += 1;
                }
                // As long as calls are left, one can begin or one can be written.
                (_, None, None) => return Ok(()),
            }
        }
        Ok(())
    }

    fn write_call(&mut self, at: At, call: &Call) -> Result<Seq, Stop> {
        self.write(EventType::ToolCall, Placement::Off, |_| {
            of_step(at.turn, at.step)
                .with("callId", Tree::Text(call.id.clone()))
                .with("name", Tree::Text(call.name.clone()))
                .with("arguments", Tree::Text(call.arguments.clone()))
        })
    }

    fn write_result(&mut self, at: At, call: &Call, seq: Seq, outcome: Outcome) -> Result<(), Stop> {
        self.write(EventType::ToolResult, Placement::Append(Some(seq)), |id| {
            let source =
                Fields::new().with("kind", Tree::string("tool")).with("callId", Tree::Text(call.id.clone()));
            let message = Fields::new()
                .with("role", Tree::string("tool"))
                .with("source", source)
                .with("toolCallId", Tree::Text(call.id.clone()))
                .with("content", Tree::Text(outcome.content))
                .with("isError", Tree::bool(outcome.is_error))
                .with("id", id);
            let mut data = of_step(at.turn, at.step).with("message", message);
            for (name, value) in [("error", outcome.error), ("meta", outcome.meta)] {
                if let Some(value) = value {
                    data.set(name, Tree::Text(value));
                }
            }
            data
        })?;
        Ok(())
    }
}
