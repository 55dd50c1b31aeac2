//! Documents out of events: a fold whose state can be written down, so that an appended turn needs no second look at the
//! turns before it.
//!
//! Which text of which event is a document stands in one place, [`Extractor::see`], and in the table of records below it.
//! A text that an event repeats of another (`tool/call` of `assistant/message`, an inbox of `user/message`) is no second
//! document.

mod text;

use std::collections::BTreeMap;

use dshlog_codec::json::Js;
use dshlog_codec::{Event, Header, Millis};
use serde::{Deserialize, Serialize};

use crate::document::{Document, Part};
use text::{Attempt, arguments, content, string, strings};

/// Number of the rules. An index made with others is rebuilt.
pub const VERSION: u32 = 1;

/// Calls of tools to remember until their turn ends. A log that opens more has results without the name of their tool.
const MOST_CALLS: usize = 10_000;

/// The fold. Its state is small: what is open, and what the header and titles say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extractor {
    /// The title now.
    pub title: Option<String>,
    /// Time of the last event, epoch milliseconds.
    pub last: i64,
    /// No mark behind copies of the parent's events has been met.
    inheriting: bool,
    /// Seq of the first such mark. A fork of a fork has several, and the last one counts.
    first_mark: Option<u64>,
    /// Number of copied events, where it is known beforehand.
    inherited: Option<u64>,
    turn: Option<u64>,
    step: Option<u64>,
    /// The model that requests ask for.
    model: Option<String>,
    /// Tools of the calls in this turn, by the id of the call.
    calls: BTreeMap<String, String>,
}

/// Known records that are found by the strings in them: type, the members to look into (all of them when there is none),
/// and what kind of text it is (`docs/spec/events-v4.md`, 7.8 to 7.10).
const RECORDS: [(&str, &[&str], Part); 17] = [
    ("todo/write", &["todos"], Part::Todo),
    ("goal/change", &["goal"], Part::Todo),
    ("command/run", &["name", "args"], Part::Context),
    ("command/done", &["text"], Part::Context),
    ("feedback/message-put", &["item"], Part::Context),
    ("feedback/record", &["text", "category"], Part::Context),
    ("approval/asked", &["toolName", "reason"], Part::System),
    ("hook/result", &["stderrSummary"], Part::System),
    ("job/registered", &["kind", "label"], Part::System),
    ("job/settled", &["label", "status", "detail"], Part::System),
    ("deliverables/presented", &["files"], Part::System),
    ("subagent/catalog", &["label"], Part::System),
    ("subagent/descriptor", &["label", "persona"], Part::System),
    ("agent-preset/selected", &["agentPreset"], Part::System),
    ("tool-workflow/run-start", &["name"], Part::System),
    ("tool-workflow/agent-start", &["label", "phase"], Part::System),
    ("working-directory/change", &["cwd"], Part::System),
];

impl Extractor {
    /// At the beginning of a log.
    pub fn new(header: &Header) -> Self {
        Extractor { inheriting: header.is_seeded, ..Extractor::default() }
    }

    /// At the beginning of a log of which it is known how many events were copied from the parent.
    pub fn with_inherited(header: &Header, inherited: u64) -> Self {
        Extractor { inherited: Some(inherited), ..Extractor::new(header) }
    }

    /// True in front of the first mark behind copies of a parent's events.
    pub fn is_inheriting(&self) -> bool {
        self.inheriting
    }

    /// True when copies were taken for events of this session: the end of the walk said that `inherited` events are copies,
    /// and the first mark stands in front of that. Only forks of forks are so; they need a second walk
    /// ([`Extractor::with_inherited`]).
    pub fn has_missed_copies(&self, inherited: u64) -> bool {
        self.inherited.is_none() && self.first_mark.is_some_and(|mark| mark < inherited)
    }

    /// Look at the next event of V4 and show its documents to `tell`.
    pub fn see(&mut self, event: &Event<'_>, tell: &mut dyn FnMut(Document)) {
        self.last = event.time.0;
        let data = event.data;
        let member = |name: &str| data.and_then(|data| data.get(name));
        if let Some(turn) = member("turn").and_then(Js::as_count) {
            // Both count from 1. A 0, which only a foreign hand writes, is none: so the index keeps it.
            self.turn = Some(turn).filter(|turn| *turn > 0);
            if let Some(step) = member("step").and_then(Js::as_count) {
                self.step = Some(step).filter(|step| *step > 0);
            }
        }
        let mut out = Out { extractor: self, event, nth: 0, tell };
        let kind = event.kind.to_lossy();
        match &*kind {
            "user/message" => out.user(data),
            "system/message" | "developer/message" => out.system(member("message")),
            "assistant/message" => out.answer(member("message")),
            "assistant/attempt" => out.attempt(member("stream")),
            "tool/result" => out.result(member("message"), member("error")),
            "turn/end" => out.end(member("reason")),
            "compaction/summary" => out.summary(member("summary")),
            "tool/ptc-dispatch-start" => out.nested_call(member("name"), member("arguments")),
            "tool/ptc-dispatch" => {
                let is_error = member("isError").is_some_and(Js::is_true);
                out.nested_result(member("name"), member("content"), member("error"), is_error);
            }
            "team/message/queued" => {
                let found = content(data.and_then(|data| data.path(&["message", "content"])));
                out.put(Part::Context, &found.text, |document| document.has_image = found.has_image);
            }
            "session/title" => {
                let title = string(member("title"));
                out.put(Part::Title, title.as_deref().unwrap_or_default(), |_| {});
                self.title = title.filter(|title| !title.trim().is_empty());
            }
            "request/header" => {
                let model = data.and_then(|data| data.path(&["header", "config", "model"]));
                self.model = string(model).or(self.model.take());
            }
            "session/end-seed" => {
                if member("inherited").is_some_and(Js::is_true) {
                    self.inheriting = false;
                    self.first_mark.get_or_insert(event.seq.0);
                }
            }
            "turn/start" => self.step = None,
            kind => {
                if let Some((_, members, part)) = RECORDS.iter().find(|(name, ..)| *name == kind) {
                    let mut text = String::new();
                    for name in *members {
                        strings(member(name), &mut text);
                    }
                    out.put(*part, &text, |_| {});
                }
            }
        }
        if event.is("turn/end") {
            (self.turn, self.step) = (None, None);
            self.calls.clear();
        }
    }
}

/// The documents of one event.
struct Out<'a, 'b> {
    extractor: &'a mut Extractor,
    event: &'a Event<'b>,
    nth: u32,
    tell: &'a mut dyn FnMut(Document),
}

impl Out<'_, '_> {
    /// Tell of a text, unless it is blank.
    fn put(&mut self, part: Part, text: &str, more: impl FnOnce(&mut Document)) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        let state = &self.extractor;
        let mut document = Document {
            seq: self.event.seq,
            nth: self.nth,
            part,
            time: Millis(self.event.time.0),
            turn: state.turn,
            step: state.step,
            tool: None,
            model: None,
            is_error: false,
            has_image: false,
            has_file: false,
            is_inherited: state.inherited.map_or(state.inheriting, |count| self.event.seq.0 < count),
            // NUL is what databases and terminals stumble over, and nobody looks for it.
            text: if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text.to_owned() },
        };
        more(&mut document);
        self.nth += 1;
        (self.tell)(document);
    }

    fn user(&mut self, message: Option<Js<'_>>) {
        let Some(message) = message else { return };
        let is_typed = message.path(&["source", "kind"]).is_some_and(|kind| kind.is("user"));
        let part = if is_typed { Part::Prompt } else { Part::Context };
        let found = content(message.get("content"));
        self.put(part, &found.text, |document| {
            (document.has_image, document.has_file) = (found.has_image, found.has_file);
        });
    }

    fn system(&mut self, message: Option<Js<'_>>) {
        let found = content(message.and_then(|message| message.get("content")));
        self.put(Part::System, &found.text, |_| {});
    }

    fn answer(&mut self, message: Option<Js<'_>>) {
        let Some(message) = message else { return };
        let model = string(message.path(&["source", "model"])).or_else(|| self.extractor.model.clone());
        let blocks = message.get("content");
        let (reasoning, answer) = (text::of_type(blocks, "reasoning"), content(blocks));
        self.put(Part::Reasoning, &reasoning, |document| document.model.clone_from(&model));
        self.put(Part::Answer, &answer.text, |document| {
            document.model.clone_from(&model);
            (document.has_image, document.has_file) = (answer.has_image, answer.has_file);
        });
        for block in blocks.into_iter().flat_map(Js::elements) {
            if !block.get("type").is_some_and(|kind| kind.is("tool-call")) {
                continue;
            }
            let name = string(block.get("name")).unwrap_or_default();
            if let Some(id) = string(block.get("id"))
                && self.extractor.calls.len() < MOST_CALLS
            {
                self.extractor.calls.insert(id, name.clone());
            }
            self.call(&name, block.get("arguments"), model.as_deref());
        }
    }

    fn call(&mut self, name: &str, given: Option<Js<'_>>, model: Option<&str>) {
        let text = format!("{name}\n{}", arguments(given));
        self.put(Part::Call, &text, |document| {
            document.tool = Some(name.to_owned());
            document.model = model.map(str::to_owned);
        });
    }

    /// What came of a request that failed: what the model had said, and why it ended.
    fn attempt(&mut self, stream: Option<Js<'_>>) {
        let attempt = Attempt::read(stream);
        let model = self.extractor.model.clone();
        for (part, text) in [
            (Part::Reasoning, &attempt.reasoning),
            (Part::Answer, &attempt.answer),
            (Part::Error, &attempt.failure),
        ] {
            self.put(part, text, |document| {
                document.model.clone_from(&model);
                document.is_error = true;
            });
        }
    }

    fn result(&mut self, message: Option<Js<'_>>, error: Option<Js<'_>>) {
        let Some(message) = message else { return };
        let id = string(message.get("toolCallId")).unwrap_or_default();
        let tool = self.extractor.calls.get(&id).cloned();
        let is_error = message.get("isError").is_some_and(Js::is_true);
        self.output(tool, message.get("content"), error, is_error);
    }

    fn nested_call(&mut self, name: Option<Js<'_>>, given: Option<Js<'_>>) {
        let name = string(name).unwrap_or_default();
        self.call(&name, given, None);
    }

    fn nested_result(
        &mut self,
        name: Option<Js<'_>>,
        blocks: Option<Js<'_>>,
        error: Option<Js<'_>>,
        is_error: bool,
    ) {
        self.output(string(name), blocks, error, is_error);
    }

    fn output(
        &mut self,
        tool: Option<String>,
        blocks: Option<Js<'_>>,
        error: Option<Js<'_>>,
        is_error: bool,
    ) {
        let found = content(blocks);
        let mut text = found.text;
        for name in ["name", "code", "message"] {
            let more = string(error.and_then(|error| error.get(name)));
            // Most results say the message themselves.
            if let Some(more) = more.filter(|more| !text.contains(&**more)) {
                text.push('\n');
                text.push_str(&more);
            }
        }
        self.put(Part::Result, &text, |document| {
            document.tool = tool;
            document.is_error = is_error;
            (document.has_image, document.has_file) = (found.has_image, found.has_file);
        });
    }

    /// Turns that ended as they should say nothing.
    fn end(&mut self, reason: Option<Js<'_>>) {
        let Some(reason) = reason else { return };
        let kind = string(reason.get("kind")).unwrap_or_default();
        if matches!(&*kind, "" | "completed" | "forked") {
            return;
        }
        let mut text = kind.clone();
        for inner in ["error", "reason"] {
            strings(reason.get(inner), &mut text);
        }
        self.put(Part::Error, &text, |document| document.is_error = kind == "error");
    }

    fn summary(&mut self, summary: Option<Js<'_>>) {
        let text = match string(summary) {
            Some(text) => text,
            None => content(summary).text,
        };
        self.put(Part::Summary, &text, |_| {});
    }
}

#[cfg(test)]
mod tests;
