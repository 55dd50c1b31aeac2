//! The header and the context in force (`docs/spec/surface.md`, section 5).

use dshlog_codec::json::{Doc, Js, JsString, JsonError, print};
use dshlog_codec::{Event, Place, Seq};

use super::tools::{ToolLedger, ToolList};

/// Where a `request/header` stands, and why it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderMark {
    /// The event.
    pub seq: Seq,
    /// Where its row stands in the file.
    pub place: Place,
    /// Why it was written.
    pub reason: HeaderReason,
    /// It begins a new series of declared tools, besides its reason.
    pub starts_series: bool,
}

/// Why a header was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeaderReason {
    /// The first one of the log.
    Initial,
    /// The first one of a process, over a log that had one.
    Resume,
    /// It differs from the one before.
    Change,
    /// A new series of declared tools, nothing else.
    Series,
}

impl HeaderReason {
    /// The word in the log.
    pub fn name(self) -> &'static str {
        match self {
            HeaderReason::Initial => "initial",
            HeaderReason::Resume => "resume",
            HeaderReason::Change => "change",
            HeaderReason::Series => "series",
        }
    }

    fn of(reason: Option<Js<'_>>) -> Self {
        let all = [HeaderReason::Resume, HeaderReason::Change, HeaderReason::Series];
        let named = |reason: &Js<'_>| all.into_iter().find(|known| reason.is(known.name()));
        reason.as_ref().and_then(named).unwrap_or(HeaderReason::Initial)
    }
}

/// A `request/header` in its canonical form.
#[derive(Debug)]
pub struct Header {
    /// Where it stands, and why.
    pub mark: HeaderMark,
    /// The declared tools in order; nothing when there are none.
    pub tools: Option<ToolList>,
    config: Doc,
}

impl Header {
    pub(super) fn of(event: &Event<'_>, ledger: &mut ToolLedger) -> Result<Self, JsonError> {
        let member = |name| event.member("header").and_then(|header| header.get(name));
        let mark = HeaderMark {
            seq: event.seq,
            place: event.place,
            reason: HeaderReason::of(event.member("reason")),
            starts_series: event.member("startsSeries").is_some_and(Js::is_true),
        };
        let tools = ledger.declare(mark, member("tools"));
        Ok(Header { mark, tools: (!tools.is_empty()).then_some(tools), config: owned(member("config"))? })
    }

    /// Provider, model and the controls of the call, in the recorded order.
    pub fn config(&self) -> Js<'_> {
        self.config.root()
    }
}

/// The data of a `request/context`.
#[derive(Debug)]
pub struct Context {
    /// The event.
    pub seq: Seq,
    data: Doc,
}

impl Context {
    pub(super) fn of(event: &Event<'_>) -> Result<Self, JsonError> {
        Ok(Context { seq: event.seq, data: owned(event.data)? })
    }

    /// Its members: `provider`, `model`, and as far as known `contextWindow` and `systemPromptUpdate`.
    pub fn data(&self) -> Js<'_> {
        self.data.root()
    }

    /// It is about the model of this configuration. A log that ends between a header and its context has that of another.
    pub(super) fn is_of(&self, config: Js<'_>) -> bool {
        ["provider", "model"].iter().all(|&name| string(self.data().get(name)) == string(config.get(name)))
    }

    /// The route takes changed system prompts inside the history.
    pub(super) fn is_in_history(&self) -> bool {
        self.data().get("systemPromptUpdate").is_some_and(|update| update.is("in-history"))
    }
}

/// A value of its own; `null` for one that is not there.
fn owned(value: Option<Js<'_>>) -> Result<Doc, JsonError> {
    Doc::parse(value.map_or_else(|| "null".to_owned(), printed))
}

/// The text of a value, as JavaScript prints it.
pub(crate) fn printed(value: Js<'_>) -> String {
    let mut out = Vec::with_capacity(value.raw().len());
    print(&mut out, value);
    // The printer writes lone surrogates as escapes, so this is always UTF-8.
    String::from_utf8(out).unwrap_or_default()
}

/// A string member, in full.
pub(super) fn string(value: Option<Js<'_>>) -> Option<JsString> {
    Some(value?.as_str()?.to_owned())
}
