//! A step: requests until one is answered, then the calls that the answer makes (`docs/spec/agent-loop.md`, sections 4 and 5).

use dshlog_codec::check::EventType;
use dshlog_codec::json::{Doc, Js, Tree};

use super::Agent;
use super::attempt::Settled;
use super::commit::At;
use super::log::Placement;
use super::retry::{Mode, Retries};
use super::tools::Call;
use super::world::{Admitted, Moment, Stop, World};

/// How a step ends its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepEnd {
    /// Nothing is left to do.
    Completed,
    /// The answer broke off at the limit of tokens.
    MaxTokens,
}

impl<W: World> Agent<'_, W> {
    /// Run a step. Gives how it ends the turn; nothing when another request is owed.
    pub(super) fn step(&mut self, turn: u64, step: u64, admitted: Admitted) -> Result<Option<StepEnd>, Stop> {
        let mut admitted = Some(admitted);
        let mut retries = Retries::default();
        let mut at = At { turn, step, first: true };
        if self.world.era().tells_at_once() {
            admitted = self.tell_at_once(at, admitted)?;
        }
        loop {
            self.world.others(&mut self.log)?;
            self.world.check(Moment::Prepare, &self.log)?;
            let prepared = self.world.prepare(&self.log)?;
            self.commit(at, &prepared, admitted.take())?;
            self.world.others(&mut self.log)?;
            self.world.check(Moment::Send, &self.log)?;
            match self.attempt(turn, step)? {
                Settled::Answer { max_tokens: true, .. } => return Ok(Some(StepEnd::MaxTokens)),
                Settled::Answer { seq, .. } => return self.answered(at, seq),
                Settled::Failed(failure) => self.mend(at, &failure, &mut retries)?,
            }
            at.first = false;
        }
    }

    /// What a loop of the first era tells: all that was claimed, behind the place of a prompt that is not known yet.
    fn tell_at_once(&mut self, at: At, admitted: Option<Admitted>) -> Result<Option<Admitted>, Stop> {
        let messages = admitted.map(|admitted| admitted.messages).unwrap_or_default();
        if self.log.systems().is_empty() && !messages.is_empty() {
            self.write_prompt(at, "[]", Placement::Append(None))?;
        }
        for message in &messages {
            self.write_message(message)?;
        }
        Ok(None)
    }

    /// The calls of an answer, if it makes any.
    fn answered(&mut self, at: At, seq: dshlog_codec::Seq) -> Result<Option<StepEnd>, Stop> {
        let calls = self.calls_of(seq);
        if calls.is_empty() {
            return Ok(Some(StepEnd::Completed));
        }
        self.run_calls(at, &calls)?;
        Ok(self.world.concludes(&self.log).then_some(StepEnd::Completed))
    }

    fn calls_of(&self, seq: dshlog_codec::Seq) -> Vec<Call> {
        let row = usize::try_from(seq.0).ok().and_then(|at| self.log.rows().get(at));
        let Some(row) = row else { return Vec::new() };
        let event = row.event();
        let content = event.member("message").and_then(|message| message.get("content"));
        content.into_iter().flat_map(Js::elements).filter_map(Call::of_block).collect()
    }

    /// Make the next attempt possible, or end the turn with the failure.
    fn mend(&mut self, at: At, failure: &Doc, retries: &mut Retries) -> Result<(), Stop> {
        let always = self.world.policy().mode == Mode::Always;
        // Who retries everything lets those go first who mend something.
        if !always && self.retry(at, failure, retries)? {
            return Ok(());
        }
        self.world.others(&mut self.log)?;
        if self.world.recovers(failure, &mut self.log)? || (always && self.retry(at, failure, retries)?) {
            return Ok(());
        }
        Err(Stop::Failed(failure.text().into()))
    }

    /// Wait and try again, if the policy says so (`docs/spec/agent-loop.md`, section 6).
    fn retry(&mut self, at: At, failure: &Doc, retries: &mut Retries) -> Result<bool, Stop> {
        let policy = self.world.policy().clone();
        let Some(wait) = policy.wait(retries.done(), failure.root()) else { return Ok(false) };
        self.world.others(&mut self.log)?;
        let delay = self.world.delay(&wait, &self.log);
        let provider =
            self.log.declared().and_then(|declared| declared.header.root().path(&["config", "provider"]));
        let provider = provider.map_or_else(String::new, crate::request::header::printed);
        let known = retries.id().cloned();
        let mut drawn = None;
        let number = retries.done() + 1;
        self.write_as(EventType::Retry, Placement::Off, |stamp| {
            let id = known.unwrap_or_else(|| stamp.id.clone());
            let mut data = dshlog_codec::json::Fields::new()
                .with("retryId", Tree::js_string(&id))
                .with("turn", Tree::integer(at.turn))
                .with("step", Tree::integer(at.step))
                .with("provider", Tree::Text(provider.into()))
                .with("mode", Tree::string(policy.mode.name()))
                .with("policyKey", Tree::string(&policy.key()))
                .with("retry", Tree::integer(number));
            if let Some(most) = policy.most() {
                data.set("maxRetries", Tree::integer(most));
            }
            drawn = Some(id);
            data.with("delayMs", Tree::Text(delay)).with("failure", failure.root())
        })?;
        let id = drawn.unwrap_or_default();
        retries.note(id.clone());
        self.world.others(&mut self.log)?;
        self.world.check(Moment::Waiting, &self.log)?;
        self.write(EventType::RetryStarted, Placement::Off, |_| {
            dshlog_codec::json::Fields::new()
                .with("retryId", Tree::js_string(&id))
                .with("turn", Tree::integer(at.turn))
                .with("step", Tree::integer(at.step))
                .with("retry", Tree::integer(number))
        })?;
        Ok(true)
    }
}
