//! What a whole log amounts to.

use dshlog_codec::Event;
use dshlog_codec::json::Js;

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

    pub(super) fn add(&mut self, usage: Option<Js<'_>>) {
        let add = |to: &mut u64, name| *to = to.saturating_add(count(usage, name).unwrap_or(0));
        add(&mut self.input, "inputTokens");
        add(&mut self.cached, "cacheReadTokens");
        add(&mut self.written, "cacheWriteTokens");
        add(&mut self.output, "outputTokens");
    }
}

/// The usage that a settled attempt tells: of the message, else the last one in its stream.
pub(super) fn settled_usage<'a>(event: &Event<'a>) -> Option<Js<'a>> {
    if let Some(usage) = event.member("usage") {
        return Some(usage);
    }
    let mut found = None;
    for record in event.member("stream").into_iter().flat_map(Js::elements) {
        if let Some(usage) = record.path(&["chunk", "usage"]) {
            found = Some(usage);
        }
    }
    found
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
    pub(crate) usage: Usage,
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
        let Some(kind) = event.kind.as_plain() else { return };
        match kind {
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
                self.usage.add(settled_usage(event));
            }
            "request/header" => {
                let config = event.member("header").and_then(|header| header.get("config"));
                self.model = text(config, "model").or(self.model.take());
            }
            "subagent/catalog" => self.children += 1,
            _ => {}
        }
    }
}
