//! One call of the model, whatever dialect it is put in: an agent's request, a title's, a compaction's
//! (`docs/spec/messages-wire.md`, 2.1 and 5).

use std::collections::HashSet;

use dshlog_codec::check::EventType;
use dshlog_codec::json::{Js, JsStr, JsString, print_str};
use dshlog_codec::{Event, Seq};

use super::header::{Context, printed, string};
use super::part::Key;
use super::refusal::Refusal;
use super::tools::{ToolHistory, ToolList};
use super::{Request, Requests};

/// What a compaction may answer with when the log does not say: dsh 0.2, and dsh 0.1.5 with Chat Completions.
pub const COMPACTION_TOKENS: u64 = 65_536;
/// The same for dsh 0.1.5.
pub const COMPACTION_TOKENS_CHAT: u64 = 8_192;
/// What an answer may have when neither the call nor the model's entry says.
const CONNECTION_TOKENS: &str = "256000";

/// A call, borrowed from the fold or from an event.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// The model's id.
    pub model: JsString,
    /// Provider of the route.
    pub provider: JsString,
    /// Longest answer in tokens, as JSON.
    pub max_tokens: Box<str>,
    /// How hard to think; `high` where the call does not say.
    pub effort: JsString,
    /// As JSON.
    pub temperature: Option<Box<str>>,
    /// Texts that end the answer, as JSON.
    pub stop: Option<Box<str>>,
    /// A system prompt of the call's own, besides those in its messages.
    pub system: Option<JsString>,
    /// The tools in force.
    pub tools: Option<ToolList>,
    /// Their history; only calls of the agent's own series have one.
    pub tool_history: Option<ToolHistory>,
    /// `systemPromptUpdate` of the context in force is `in-history`; nothing when the log has no context for this model.
    pub in_history: Option<bool>,
    /// What is sent, in order.
    pub messages: Vec<CallMessage<'a>>,
}

/// A message of a call.
#[derive(Clone, Debug)]
pub struct CallMessage<'a> {
    /// The event that put it on the surface, as far as it is one.
    pub seq: Option<Seq>,
    /// The message as JSON.
    pub json: std::borrow::Cow<'a, str>,
    pub(super) key: Option<Key>,
}

/// A compaction, as far as the log holds it.
#[derive(Clone, Debug)]
pub struct Compaction {
    /// Its `compaction/start`.
    pub start: Seq,
    /// The nodes that the model was shown, besides the head. Of a compaction without a summary the log does not tell;
    /// then the request had some number of leading messages.
    pub shown: Option<Vec<Seq>>,
    /// Longest answer in tokens, where the log tells.
    pub max_tokens: Option<u64>,
}

impl<'a> CallMessage<'a> {
    /// A message that is no node of the surface.
    pub fn loose(json: impl Into<std::borrow::Cow<'a, str>>) -> Self {
        CallMessage { seq: None, json: json.into(), key: None }
    }
}

impl<'a> Request<'a> {
    /// The call that this request makes.
    ///
    /// # Errors
    /// No header is in force.
    pub fn call(self) -> Result<Call<'a>, Refusal> {
        let header = self.header().ok_or(Refusal::NoHeader)?;
        let config = header.config();
        let json = |name| config.get(name).map(|value| printed(value).into_boxed_str());
        Ok(Call {
            model: string(config.get("model")).unwrap_or_default(),
            provider: string(config.get("provider")).unwrap_or_default(),
            max_tokens: json("maxTokens").unwrap_or_else(|| CONNECTION_TOKENS.into()),
            effort: string(config.get("reasoningEffort")).unwrap_or_else(|| "high".into()),
            temperature: json("temperature"),
            stop: json("stop"),
            system: None,
            tools: header.tools.clone(),
            tool_history: Some(self.tool_history()),
            in_history: self.context().filter(|context| context.is_of(config)).map(Context::is_in_history),
            messages: self.call_messages(|_| true),
        })
    }

    fn call_messages(self, mut keep: impl FnMut(Seq) -> bool) -> Vec<CallMessage<'a>> {
        self.messages()
            .filter(|(node, _)| keep(node.seq))
            .map(|(node, message)| CallMessage {
                seq: Some(node.seq),
                json: message.into(),
                key: Some((node.seq, node.offloads.len())),
            })
            .collect()
    }
}

impl Call<'static> {
    /// The call of a `session/title-llm-request`; nothing for other events.
    pub fn title(event: &Event<'_>) -> Option<Self> {
        if EventType::of(event.kind) != Some(EventType::TitleRequest) {
            return None;
        }
        let route = |name| event.member("route").and_then(|route| string(route.get(name)));
        let messages = event.member("messages").into_iter().flat_map(Js::elements);
        Some(Call {
            model: route("model").unwrap_or_default(),
            provider: route("provider").unwrap_or_default(),
            max_tokens: event
                .member("maxTokens")
                .map_or_else(|| CONNECTION_TOKENS.into(), |n| printed(n).into()),
            effort: string(event.member("reasoningEffort")).unwrap_or_else(|| "high".into()),
            temperature: None,
            stop: None,
            system: string(event.member("system")),
            tools: None,
            tool_history: None,
            in_history: None,
            messages: messages.map(|message| CallMessage::loose(printed(message))).collect(),
        })
    }
}

impl Requests {
    /// What is known of a compaction at this event: all of it at `compaction/summary`, its start at a `compaction/end`
    /// without a summary. Nothing at other events. The event is the next one, as for [`Requests::settled`].
    pub fn compaction(&self, event: &Event<'_>) -> Option<Compaction> {
        let start = self.open_compaction()?;
        match EventType::of(event.kind)? {
            EventType::CompactionSummary => {
                let shown = event.member("shadowedSeqs").into_iter().flat_map(Js::elements);
                Some(Compaction {
                    start,
                    shown: Some(shown.filter_map(Js::as_count).map(Seq).collect()),
                    max_tokens: event.member("maxTokens").and_then(Js::as_count),
                })
            }
            EventType::CompactionEnd => Some(Compaction { start, shown: None, max_tokens: None }),
            _ => None,
        }
    }

    /// The call of a compaction, in the state that the log had at its start or its summary: the system prompt at the
    /// head, the messages of the nodes that it showed, and the instruction, which is in no log. Without one, nothing
    /// takes its place. Where the log does not tell what was shown, everything is up to `through`.
    ///
    /// # Errors
    /// No header is in force.
    pub fn compaction_call(
        &self,
        compaction: &Compaction,
        instruction: Option<&str>,
        through: Option<Seq>,
    ) -> Result<Call<'_>, Refusal> {
        let request = self.next();
        let call = request.call()?;
        let system = self.history().nodes().next().filter(|head| head.kind == EventType::SystemMessage);
        let system = system.map(|head| head.seq);
        let shown: Option<HashSet<Seq>> =
            compaction.shown.as_ref().map(|seqs| seqs.iter().copied().collect());
        let mut open = true;
        let mut messages = request.call_messages(|seq| {
            let wanted = match &shown {
                Some(shown) => shown.contains(&seq),
                None => open,
            };
            open &= Some(seq) != through;
            Some(seq) == system || wanted
        });
        messages.extend(instruction.map(|text| CallMessage::loose(user_message(text))));
        let max_tokens = compaction.max_tokens.unwrap_or(COMPACTION_TOKENS);
        Ok(Call {
            max_tokens: max_tokens.to_string().into(),
            effort: "high".into(),
            temperature: None,
            stop: None,
            messages,
            ..call
        })
    }
}

/// A user message with one text.
fn user_message(text: &str) -> String {
    let mut json = br#"{"role":"user","content":[{"type":"text","text":"#.to_vec();
    print_str(&mut json, JsStr::plain(text));
    json.extend_from_slice(b"}]}");
    String::from_utf8(json).unwrap_or_default()
}
