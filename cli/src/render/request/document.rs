//! A request as the document `dshlog.request/1` (`docs/request.md`).

use std::io::{self, Write};

use dshlog_codec::json::{JsString, print_string};
use dshlog_replay::Position;
use dshlog_replay::request::call::Call;
use dshlog_replay::request::header::HeaderMark;
use dshlog_replay::request::tools::ToolHistory;

use super::tokens::{Tokens, history_json};
use crate::render::json::Object;

/// What of a request comes from the log, as JSON.
pub(crate) struct Document {
    /// The configuration; empty for a log that records none.
    pub(crate) config: Vec<u8>,
    /// The system prompt at the head.
    pub(crate) system: Option<JsString>,
    /// Declarations of the tools in force.
    pub(crate) tools: Option<Vec<u8>>,
    /// How they came to be these.
    pub(crate) tool_history: Option<ToolHistory>,
    /// All messages.
    pub(crate) messages: Vec<u8>,
}

/// Which request it is.
pub(crate) struct About {
    /// `agent`, `title`, `compaction`.
    pub(crate) kind: &'static str,
    /// Where the agent's stand.
    pub(crate) position: Option<Position>,
    /// All headers so far with their stored seqs, the one in force last.
    pub(crate) headers: Vec<HeaderMark>,
    /// The stored seq of the event that settled, recorded or began it; nothing for one that was not made.
    pub(crate) seq: Option<u64>,
    /// Names of what the log does not tell.
    pub(crate) missing: Vec<&'static str>,
    /// How large it is, where that was asked for.
    pub(crate) tokens: Option<Tokens>,
}

impl Document {
    /// That of a call.
    pub(crate) fn of(call: &Call<'_>, config: Vec<u8>, system: Option<JsString>) -> Self {
        let list = |items: Vec<&str>| format!("[{}]", items.join(",")).into_bytes();
        let tools = call.tools.as_ref();
        Document {
            config,
            system,
            tools: tools.map(|tools| list(tools.iter().map(|tool| tool.definition()).collect())),
            tool_history: call.tool_history.clone(),
            messages: list(call.messages.iter().map(|message| &*message.json).collect()),
        }
    }
}

/// The configuration of a call that no header records.
pub(crate) fn config(call: &Call<'_>) -> Vec<u8> {
    let mut out = b"{\"provider\":".to_vec();
    print_string(&mut out, &call.provider);
    out.extend_from_slice(b",\"model\":");
    print_string(&mut out, &call.model);
    out.extend_from_slice(b",\"maxTokens\":");
    out.extend_from_slice(call.max_tokens.as_bytes());
    out.extend_from_slice(b",\"reasoningEffort\":");
    print_string(&mut out, &call.effort);
    out.push(b'}');
    out
}

/// Write the document.
pub(crate) fn json(out: &mut dyn Write, document: &Document, about: &About) -> io::Result<()> {
    let mut object = Object::new("dshlog.request/1");
    object.count_or_null("turn", about.position.map(|position| position.turn));
    object.count_or_null("step", about.position.map(|position| position.step));
    object.count_or_null("attempt", about.position.map(|position| position.attempt));
    object.count_or_null("headerSeq", about.headers.last().map(|mark| mark.seq.0));
    object.raw("config", &document.config);
    match &document.system {
        Some(system) => {
            let mut json = Vec::new();
            print_string(&mut json, system);
            object.raw("system", &json);
        }
        None => object.raw("system", b"null"),
    }
    object.raw("tools", document.tools.as_deref().unwrap_or(b"null"));
    object.raw("messages", &document.messages);
    object.text("kind", about.kind);
    object.count_or_null("seq", about.seq);
    object.texts("missing", about.missing.iter().copied());
    object.array("headers", &about.headers, |mark, object| {
        object.count("seq", mark.seq.0);
        object.text("reason", mark.reason.name());
        object.flag("startsSeries", mark.starts_series);
    });
    match &document.tool_history {
        Some(history) => object.object("toolHistory", |object| history_json(object, history)),
        None => object.raw("toolHistory", b"null"),
    }
    if let Some(tokens) = &about.tokens {
        object.object("estimate", |object| tokens.json(object));
    }
    object.write_line(out)
}
