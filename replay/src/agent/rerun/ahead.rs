//! Looking ahead in a record: what a request was made with, how it ended, what a call came to.

use std::sync::Arc;

use dshlog_codec::Event;
use dshlog_codec::check::EventType;
use dshlog_codec::json::{Doc, Js, JsStr, JsString, JsonError};

use dshlog_codec::pack::expand;

use super::{Next, Record, Replayed};
use crate::agent::era::Era;
use crate::agent::log::{Log, is_snapshot};
use crate::agent::retry::Policy;
use crate::agent::tools::{Call, Outcome};
use crate::agent::world::{Admitted, Prepared};
use crate::inbox::Waiting;
use crate::request::header::printed;
use crate::request::route::{Route, RouteChange};
use crate::stream;

/// The run of a request: what was told before it was sent.
#[derive(Debug, Default)]
pub(super) struct Run<'r> {
    prompts: Vec<Event<'r>>,
    messages: Vec<Event<'r>>,
    header: Option<Event<'r>>,
    context: Option<Event<'r>>,
}

impl<'r> Replayed<'r> {
    /// The run that begins here.
    pub(super) fn run(&self, mut at: usize) -> Run<'r> {
        let mut run = Run::default();
        while let Next::Made(found, kind) = self.next_from(at) {
            let Some(event) = self.record.event(found) else { break };
            match kind {
                EventType::SystemMessage => run.prompts.push(event),
                EventType::UserMessage => run.messages.push(event),
                EventType::RequestHeader if run.header.is_none() => run.header = Some(event),
                EventType::DeveloperMessage => {}
                EventType::RequestContext if run.context.is_none() => run.context = Some(event),
                _ => break,
            }
            at = found + 1;
        }
        run
    }
}

impl Run<'_> {
    /// What became of the claimed messages: they stand where the record has them, in the order in which they were claimed, and
    /// what others added stands between. What the record lacks comes last, since nobody says that it was left out.
    pub(super) fn admitted(&self, claimed: &[Waiting], era: Era) -> Admitted {
        let told = self.messages.iter().filter(|event| era.tells_at_once() || !tells_context(event));
        let told: Vec<Waiting> = told.filter_map(|event| Waiting::of(event.data?)).collect();
        let mut left: Vec<Option<&str>> = claimed.iter().map(Waiting::id).collect();
        let (mut next, mut messages) = (claimed.iter(), Vec::new());
        for message in told {
            let place = left.iter().position(|id| id.is_some() && *id == message.id());
            if let Some(place) = place {
                left.remove(place);
                messages.extend(next.next().cloned());
            } else {
                messages.push(message);
            }
        }
        messages.extend(next.cloned());
        Admitted { messages }
    }

    fn starts_series(&self) -> bool {
        self.header.is_some_and(|header| {
            header.member("reason").is_some_and(|reason| reason.is("series"))
                || header.member("startsSeries").is_some_and(Js::is_true)
        })
    }

    /// What the request is made with; what the run does not tell is as before.
    pub(super) fn prepared(&self, log: &Log, route: RouteChange) -> Result<Prepared, JsonError> {
        let header = self.header.and_then(|event| event.member("header"));
        let header = header.map(|header| Doc::parse(printed(header))).transpose()?;
        let context = self.context.and_then(|event| event.data);
        let snapshot = self.messages.iter().rev().find(|event| tells_context(event));
        let sections = match snapshot {
            Some(event) => event.member("source").and_then(|source| source.get("sections")),
            None => None,
        };
        let sections = match snapshot {
            Some(_) => sections.map(|sections| printed(sections).into()),
            None => log.snapshot().and_then(|told| told.sections.clone()),
        };
        let tool_update = {
            let declared = log.declared().map(|declared| declared.header.root());
            let config = header.as_ref().map(Doc::root).or(declared).and_then(|header| header.get("config"));
            let model = config.and_then(|config| config.get("model")?.as_str());
            let model = model.map(JsStr::to_owned).unwrap_or_default();
            Route::of_model(&model).changed(route).tool_update.is_some()
        };
        Ok(Prepared {
            prompt: self.prompt(log),
            sections,
            header,
            context: context.map(|context| Doc::parse(printed(context))).transpose()?,
            starts_series: self.starts_series(),
            tool_update,
        })
    }

    /// The prompt that was rendered.
    fn prompt(&self, log: &Log) -> Arc<str> {
        let content = |event: &Event<'_>| -> Arc<str> {
            let content = event.member("message").and_then(|message| message.get("content"));
            content.map_or_else(|| "[]".into(), |content| printed(content).into())
        };
        let told = self.prompts.iter().rev().map(content).find(|content| &**content != "[]");
        if let Some(told) = told {
            return told;
        }
        let nodes = log.systems();
        let head = nodes.first();
        let replaces =
            |event: &&Event<'_>| event.surface_op().and_then(|op| op.get("startSeq")).and_then(Js::as_count);
        let takes_head = head.is_none()
            || self.prompts.iter().any(|event| replaces(&event) == head.map(|head| head.seq.0));
        if !self.prompts.is_empty() && takes_head {
            return "[]".into();
        }
        if !self.prompts.is_empty() {
            return head.map_or_else(|| "[]".into(), |head| head.content.clone());
        }
        let latest = nodes.iter().rev().find(|node| !node.is_empty());
        latest.map_or_else(|| "[]".into(), |node| node.content.clone())
    }
}

/// A snapshot of the runtime context.
fn tells_context(event: &Event<'_>) -> bool {
    event.member("source").is_some_and(is_snapshot)
}

/// The id that was drawn for an event: of its message, or of its series of retries.
pub(super) fn drawn_id(event: &Event<'_>) -> JsString {
    let of_message = event.member("message").and_then(|message| message.get("id"));
    let id = of_message.or_else(|| event.member("retryId")).or_else(|| event.member("id"));
    id.and_then(Js::as_str).map(JsStr::to_owned).unwrap_or_default()
}

/// An answer that was not heard to its end: the stream does not say that it failed, and yet there is no whole answer.
pub(super) fn was_left(settled: &Event<'_>) -> bool {
    if settled.is("assistant/message") {
        return settled.member("interrupted").is_some_and(Js::is_true);
    }
    let kind = stream::end(settled).and_then(|reason| reason.get("kind"));
    !kind.is_some_and(|kind| kind.is("error") || kind.is("aborted"))
}

/// Number of chunks in the stream of a settlement.
pub(super) fn chunks(settled: &Event<'_>) -> u64 {
    let stream = settled.member("stream").map(expand);
    stream.map_or(0, |chunks| chunks.map_or(0, |chunks| chunks.count() as u64))
}

/// How a call ended. What the loop itself makes of a call is made anew.
pub(super) fn outcome(event: &Event<'_>, call: &Call) -> Outcome {
    let code = event
        .member("error")
        .and_then(|error| error.get("code")?.as_str())
        .map(|code| code.to_lossy().into_owned());
    let made = match code.as_deref() {
        Some("UNKNOWN_TOOL") => Some(Outcome::unknown(&call.tool())),
        Some("ABORTED") => Some(Outcome::aborted()),
        Some("ABORTED_BEFORE_DISPATCH") => Some(Outcome::never_begun()),
        Some("INVALID_ARGS") => call.parsed().err(),
        _ => None,
    };
    made.unwrap_or_else(|| Outcome::of_result(event))
}

/// The policy of the first retry.
pub(super) fn policy(record: &Record) -> Option<Policy> {
    let keys = (0..record.len()).filter(|at| record.made(*at) == Some(EventType::Retry));
    let mut keys =
        keys.filter_map(|at| Some(record.event(at)?.member("policyKey")?.as_str()?.to_lossy().into_owned()));
    keys.next().and_then(|key| Policy::of_key(&key))
}
