//! How large a request is, and how its tools came to be those that they are.

use dshlog_replay::estimate::Estimate;
use dshlog_replay::request::tools::{Tool, ToolHistory};

use crate::render::json::Object;
use crate::render::units;

/// The size of a request.
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    /// By dsh's own rule of thumb.
    pub(crate) estimate: Estimate,
    /// What the provider counted: all that was sent.
    pub(crate) reported: Option<u64>,
}

impl Tokens {
    pub(super) fn json(&self, object: &mut Object) {
        object.count("system", self.estimate.system);
        object.count("tools", self.estimate.tools);
        object.counts("messages", self.estimate.messages.iter().copied());
        object.count("total", self.estimate.total());
        object.count_or_null("reported", self.reported);
    }

    /// `has_head`: the first message is the system prompt.
    pub(super) fn words(&self, has_head: bool) -> String {
        let Estimate { system, tools, messages } = &self.estimate;
        let head = messages.first().filter(|_| has_head && *system == 0).copied().unwrap_or(0);
        let rest = messages.iter().sum::<u64>() - head;
        let reported = match self.reported {
            Some(reported) => format!("the provider counted {}", units::grouped(reported)),
            None => "no count of a provider".to_owned(),
        };
        format!(
            "about {} by dsh's own estimate (system {}, tools {}, messages {}); {reported}",
            units::grouped(self.estimate.total()),
            units::grouped(system + head),
            units::grouped(*tools),
            units::grouped(rest)
        )
    }
}

/// The tools that the series began with, and what each developer message added since.
pub(super) fn history_json(object: &mut Object, history: &ToolHistory) {
    let names: Vec<String> = history.tools.iter().map(|tool| name(tool)).collect();
    object.texts("tools", names.iter().map(String::as_str));
    object.array("updates", &history.updates, |update, object| {
        object.text("messageId", &update.message_id.to_lossy());
        let names: Vec<String> = update.additions.iter().map(|tool| name(tool)).collect();
        object.texts("additions", names.iter().map(String::as_str));
    });
}

/// The same in words; nothing when no message changed the tools that the series began with.
pub(super) fn history_words(history: &ToolHistory) -> Option<String> {
    let words = history.updates.iter().map(|update| {
        let names: Vec<String> = update.additions.iter().map(|tool| name(tool)).collect();
        let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        format!("{names} added by message {}", update.message_id.to_lossy())
    });
    let words: Vec<String> = words.collect();
    (!words.is_empty()).then(|| format!("since the series began: {}", words.join("; ")))
}

fn name(tool: &Tool) -> String {
    tool.name().to_lossy().into_owned()
}
