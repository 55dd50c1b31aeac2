//! What is counted, and how counts are added up.

use std::collections::BTreeMap;

use dshlog_codec::json::Js;

use super::Spread;

/// Counts by name: a code, an outcome.
pub type Named = BTreeMap<String, u64>;

/// Tokens. The first three are apart from each other: what a provider served from its cache is no part of `input`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Sent and read anew.
    pub input: u64,
    /// Sent and read from the provider's cache.
    pub cache_read: u64,
    /// Sent and written to the provider's cache.
    pub cache_write: u64,
    /// Generated.
    pub output: u64,
    /// The part of `output` that was reasoning, where the provider tells.
    pub reasoning: u64,
}

impl Tokens {
    /// Out of a `usage` of the log; what is no count there is 0.
    pub fn of(usage: Js<'_>) -> Self {
        let bucket = |name| usage.get(name).and_then(Js::as_count).unwrap_or(0);
        Tokens {
            input: bucket("inputTokens"),
            cache_read: bucket("cacheReadTokens"),
            cache_write: bucket("cacheWriteTokens"),
            output: bucket("outputTokens"),
            reasoning: bucket("reasoningTokens"),
        }
    }

    /// Everything that was sent.
    pub fn sent(&self) -> u64 {
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// Everything, sent and generated.
    pub fn total(&self) -> u64 {
        self.sent().saturating_add(self.output)
    }

    /// Add the counts of another one. A count that does not fit stays at the greatest number.
    pub fn merge(&mut self, other: &Tokens) {
        self.input = self.input.saturating_add(other.input);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.output = self.output.saturating_add(other.output);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }
}

/// Requests to a model, by what they were for. Each was one HTTP request that came to an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Answered: an `assistant/message`.
    pub answers: u64,
    /// Without an answer: an `assistant/attempt`.
    pub attempts: u64,
    /// For a title of the session; the log holds no usage of these.
    pub titles: u64,
    /// For the summary of a compaction.
    pub compactions: u64,
    /// For a search of the web by a model; the log holds no usage of these.
    pub searches: u64,
    /// Of all of them, those of which the log does not tell what they used.
    pub unmetered: u64,
}

impl Requests {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.answers + self.attempts + self.titles + self.compactions + self.searches
    }

    fn merge(&mut self, other: &Requests) {
        self.answers += other.answers;
        self.attempts += other.attempts;
        self.titles += other.titles;
        self.compactions += other.compactions;
        self.searches += other.searches;
        self.unmetered += other.unmetered;
    }
}

/// What became of the calls of one tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCounters {
    /// Calls that ran.
    pub calls: u64,
    /// Of these, calls that a program of the model made, and not the model itself.
    pub nested: u64,
    /// Calls whose result is an error.
    pub errors: u64,
    /// Calls that were cut off: nobody knows what they did.
    pub unknown: u64,
    /// Milliseconds from call to result, of calls that were not cut off.
    pub latency: Spread,
}

impl ToolCounters {
    /// Add the counts of another one.
    pub fn merge(&mut self, other: &ToolCounters) {
        self.calls += other.calls;
        self.nested += other.nested;
        self.errors += other.errors;
        self.unknown += other.unknown;
        self.latency.merge(&other.latency);
    }
}

/// All counts of one part of a log, or of many. Merging is associative and commutative.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Tokens of all requests.
    pub tokens: Tokens,
    /// Requests.
    pub requests: Requests,
    /// Answers that were cancelled when a part of them was there.
    pub interrupted: u64,
    /// Attempts by the code of their failure; `cut-off` when the stream has no end.
    pub failures: Named,
    /// Attempts that came to nothing before a request was sent. They are among the failures, and no requests.
    pub unsent: u64,
    /// Attempts that the retry policy made after a failure.
    pub retries: u64,
    /// Compactions that failed. Whether they asked a model is not in the log.
    pub failed_compactions: u64,
    /// Turns that began.
    pub turns: u64,
    /// Turns by how they ended. `forked` are turns of a parent that a fork closed: they are not among `turns`.
    pub outcomes: Named,
    /// Turns that ended by an error, by its code.
    pub turn_errors: Named,
    /// Turns without an end.
    pub open_turns: u64,
    /// Milliseconds from the start of turns to their ends.
    pub turn_time: Spread,
    /// Steps that ended.
    pub steps: u64,
    /// Milliseconds from the start of steps to their answers, failed attempts and waits included.
    pub model_time: Spread,
    /// Milliseconds from the start of steps to their first tokens.
    pub first_token: Spread,
    /// Milliseconds from first tokens to answers, of steps that tell their output tokens.
    pub decode_ms: u64,
    /// Output tokens of these steps.
    pub decode_tokens: u64,
    /// Tools by name.
    pub tools: BTreeMap<String, ToolCounters>,
    /// Calls that never ran: the log was closed before.
    pub not_started: u64,
    /// Times of the first and the last event that was counted here, epoch milliseconds.
    pub seen: Option<(i64, i64)>,
}

impl Counters {
    /// Add the counts of another part.
    pub fn merge(&mut self, other: &Counters) {
        self.tokens.merge(&other.tokens);
        self.requests.merge(&other.requests);
        self.interrupted += other.interrupted;
        merge_named(&mut self.failures, &other.failures);
        self.unsent += other.unsent;
        self.retries += other.retries;
        self.failed_compactions += other.failed_compactions;
        self.turns += other.turns;
        merge_named(&mut self.outcomes, &other.outcomes);
        merge_named(&mut self.turn_errors, &other.turn_errors);
        self.open_turns += other.open_turns;
        self.turn_time.merge(&other.turn_time);
        self.steps += other.steps;
        self.model_time.merge(&other.model_time);
        self.first_token.merge(&other.first_token);
        self.decode_ms = self.decode_ms.saturating_add(other.decode_ms);
        self.decode_tokens = self.decode_tokens.saturating_add(other.decode_tokens);
        for (name, tool) in &other.tools {
            self.tools.entry(name.clone()).or_default().merge(tool);
        }
        self.not_started += other.not_started;
        if let Some((first, last)) = other.seen {
            self.see(first);
            self.see(last);
        }
    }

    /// All tools together.
    pub fn all_tools(&self) -> ToolCounters {
        self.tools.values().fold(ToolCounters::default(), |mut all, tool| {
            all.merge(tool);
            all
        })
    }

    /// Output tokens a second, in thousandths, over all steps that tell both; nothing when they took no time.
    pub fn decode_rate(&self) -> Option<u64> {
        let rate = (u128::from(self.decode_tokens) * 1_000_000).checked_div(u128::from(self.decode_ms))?;
        u64::try_from(rate).ok()
    }

    pub(super) fn see(&mut self, time: i64) {
        self.seen = Some(self.seen.map_or((time, time), |(first, last)| (first.min(time), last.max(time))));
    }
}

fn merge_named(into: &mut Named, other: &Named) {
    for (name, count) in other {
        *into.entry(name.clone()).or_default() += count;
    }
}
