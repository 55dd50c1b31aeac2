//! What a whole log amounts to.

use dshlog_codec::Event;
use dshlog_codec::json::Js;
use dshlog_replay::stream;

use super::payload::{count, text};

/// Tokens. What a provider served from its cache is not part of `input`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Read anew.
    pub(crate) input: u64,
    /// Read from the provider's cache.
    pub(crate) cached: u64,
    /// Written to the provider's cache.
    pub(crate) written: u64,
    /// Generated.
    pub(crate) output: u64,
}

impl Usage {
    /// Everything that was sent.
    pub(crate) fn sent(self) -> u64 {
        self.input.saturating_add(self.cached).saturating_add(self.written)
    }

    /// Share of what was sent that came from the cache, in percent.
    pub(crate) fn cached_percent(self) -> Option<u64> {
        (self.cached > 0).then(|| self.cached.saturating_mul(100) / self.sent().max(1))
    }

    /// What the request that ended in this event took, when its provider said so.
    pub(crate) fn settled(event: &Event<'_>) -> Option<Self> {
        stream::usage(event).map(Usage::of)
    }

    fn of(usage: Js<'_>) -> Self {
        let bucket = |name| count(Some(usage), name).unwrap_or(0);
        Usage {
            input: bucket("inputTokens"),
            cached: bucket("cacheReadTokens"),
            written: bucket("cacheWriteTokens"),
            output: bucket("outputTokens"),
        }
    }

    fn each(&mut self, other: Usage, op: fn(u64, u64) -> u64) {
        self.input = op(self.input, other.input);
        self.cached = op(self.cached, other.cached);
        self.written = op(self.written, other.written);
        self.output = op(self.output, other.output);
    }
}

/// Adds up usage as the official projection `tokenUsage` does (`docs/spec/surface.md`, section 10): a step that settles
/// twice without a retry in between counts once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter {
    total: Usage,
    last: Option<(u64, u64, Usage)>,
}

impl Meter {
    /// All so far.
    pub(crate) fn total(&self) -> Usage {
        self.total
    }

    /// Take in one event.
    pub(super) fn see(&mut self, event: &Event<'_>) {
        let step = || Some((count(event.data, "turn")?, count(event.data, "step")?));
        match &*event.kind.to_lossy() {
            "assistant/message" | "assistant/attempt" => {
                let Some(usage) = Usage::settled(event) else { return };
                let (turn, step) = step().unwrap_or_default();
                if let Some((last_turn, last_step, last)) = self.last
                    && (last_turn, last_step) == (turn, step)
                {
                    self.total.each(last, u64::saturating_sub);
                }
                self.total.each(usage, u64::saturating_add);
                self.last = Some((turn, step, usage));
            }
            "llm/retry-started" if self.last.map(|(turn, step, _)| (turn, step)) == step() => {
                self.last = None;
            }
            _ => {}
        }
    }
}

/// Counts and names of one log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summary {
    /// The last title.
    pub(crate) title: Option<String>,
    /// The last model that was asked.
    pub(crate) model: Option<String>,
    /// Events.
    pub(crate) events: u64,
    /// Turns begun.
    pub(crate) turns: u64,
    /// Requests to the model.
    pub(crate) requests: u64,
    /// Tokens.
    pub(crate) meter: Meter,
    /// Time of the last event.
    pub(crate) last: Option<i64>,
    /// Time of the first event.
    pub(crate) first: Option<i64>,
    /// The last turn has no end.
    pub(crate) open: bool,
    /// How the last turn ended: the kind of its reason.
    pub(crate) ended: Option<String>,
    /// Children that it delegated to.
    pub(crate) children: u64,
}

impl Summary {
    /// Take in one event.
    pub(crate) fn see(&mut self, event: &Event<'_>) {
        self.events += 1;
        self.first.get_or_insert(event.time.0);
        self.last = Some(event.time.0);
        match &*event.kind.to_lossy() {
            "session/title" => self.title = text(event.data, "title").or(self.title.take()),
            "turn/start" => {
                self.turns += 1;
                self.open = true;
            }
            "turn/end" => {
                self.open = false;
                self.ended = text(event.member("reason"), "kind");
            }
            "assistant/message" | "assistant/attempt" => {
                self.requests += 1;
                self.meter.see(event);
            }
            "request/header" => {
                let config = event.member("header").and_then(|header| header.get("config"));
                self.model = text(config, "model").or(self.model.take());
            }
            "llm/retry-started" => self.meter.see(event),
            "subagent/catalog" => self.children += 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use dshlog_codec::Place;
    use dshlog_codec::json::Doc;

    use super::*;

    #[test]
    fn a_type_counts_however_it_is_escaped() {
        let mut summary = Summary::default();
        for kind in ["turn/start", r"turn\/start", r"assistant\u002fmessage"] {
            let row =
                format!(r#"{{"type":"{kind}","seq":0,"time":1,"data":{{"usage":{{"outputTokens":7}}}}}}"#);
            let doc = Doc::parse(row).unwrap();
            summary.see(&Event::from_row(doc.root(), Place::default()));
        }
        assert_eq!((summary.turns, summary.requests, summary.meter.total().output), (2, 1, 7));
    }
}
