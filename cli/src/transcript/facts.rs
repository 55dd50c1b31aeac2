//! Events that are facts beside the conversation, each in a few words.

use dshlog_codec::Event;
use dshlog_codec::check::EventType;
use dshlog_codec::json::Js;

use super::payload::{count, failure, text, text_or_empty};
use super::{Mood, Note};
use crate::render::text::one_line;
use crate::render::units;

/// Facts that every turn is full of and nobody asks for.
const PASSED_OVER: [&str; 16] = [
    "agent/inbox/spliced",
    // V0 and V1: the message itself follows.
    "assistant/chunk",
    "compaction/start",
    "feedback/message-delete",
    "hook/invoked",
    "job/registered",
    "llm/retry-started",
    "request/context",
    "session-log-deepseek/delivery-accepted",
    "session/title-llm-request",
    "step/end",
    "step/start",
    "subagent/model-selection-policy",
    "team/message/delivered",
    "web/deepseek-search-llm-request",
    "workspace/changes",
];

#[expect(clippy::too_many_lines, reason = "a table: one arm for each event type")]
/// The fact in an event; nothing for those that tell a person nothing.
pub(super) fn note(event: &Event<'_>) -> Option<Note> {
    let data = event.data;
    let word = |name: &str| text_or_empty(data, name);
    let quoted =
        |name: &str| text(data, name).map(|text| format!(" “{}”", one_line(&text))).unwrap_or_default();
    let kind = event.kind.to_lossy();
    let (label, mood, text) = match &*kind {
        kind if PASSED_OVER.contains(&kind) => return None,
        "session/title" => match text(event.member("source"), "kind")?.as_str() {
            "fallback" => return None,
            _ => ("title", Mood::Plain, one_line(&word("title"))),
        },
        "agent-preset/selected" => ("preset", Mood::Plain, word("agentPreset")),
        "approval/asked" => {
            ("approval", Mood::Warn, format!("asked for {}: {}", word("toolName"), one_line(&word("reason"))))
        }
        "approval/decided" => {
            let outcome = word("outcome");
            ("approval", if outcome.starts_with("allowed") { Mood::Good } else { Mood::Bad }, outcome)
        }
        "command/done" => {
            let mood = if word("kind") == "success" { Mood::Plain } else { Mood::Bad };
            ("command", mood, text(data, "text").unwrap_or_else(|| word("kind")))
        }
        "compaction/end" => {
            let error = event.member("error")?;
            let what =
                error.as_str().map_or_else(|| failure(Some(error)), |text| text.to_lossy().into_owned());
            ("compact", Mood::Bad, format!("compaction failed: {}", one_line(&what)))
        }
        "compaction/prune" => {
            let results = event.member("shadowedSeqs").map_or(0, |seqs| seqs.elements().count());
            let tokens = count(data, "shadowedTokenCount")
                .map_or(String::new(), |tokens| format!(", about {} tokens before", units::tokens(tokens)));
            (
                "prune",
                Mood::Plain,
                format!("the middle of {} cut out{tokens}", units::count(results as u64, "result")),
            )
        }
        "deliverables/presented" => {
            let files: Vec<String> = event
                .member("files")
                .into_iter()
                .flat_map(Js::elements)
                .map(|file| {
                    let about =
                        text(Some(file), "description").map(|about| format!(" ({})", one_line(&about)));
                    format!("{}{}", text_or_empty(Some(file), "path"), about.unwrap_or_default())
                })
                .collect();
            ("present", Mood::Good, files.join(", "))
        }
        "feedback/message-put" => {
            let item = event.member("item");
            let about = text(item, "note").map(|note| format!(": {}", one_line(&note))).unwrap_or_default();
            ("feedback", Mood::Plain, format!("{}{about}", text_or_empty(item, "rating")))
        }
        "feedback/record" => ("feedback", Mood::Plain, one_line(&word("text"))),
        "goal/change" => {
            let goal = event.member("goal");
            let about =
                text(goal, "objective").map(|text| format!(": {}", one_line(&text))).unwrap_or_default();
            let why =
                goal.and_then(|goal| goal.get("blockedReason")).and_then(|why| text(Some(why), "message"));
            let why = why.map(|why| format!(" ({})", one_line(&why))).unwrap_or_default();
            let operation = word("operation");
            let mood = match operation.as_str() {
                "complete" => Mood::Good,
                "block" => Mood::Bad,
                _ => Mood::Plain,
            };
            ("goal", mood, format!("{operation}{about}{why}"))
        }
        "hook/result" => {
            let decision = word("decision");
            let mood =
                if decision.contains("block") || decision.contains("deny") { Mood::Bad } else { Mood::Plain };
            let code = count(data, "exitCode").map(|code| format!(", exit {code}")).unwrap_or_default();
            ("hook", mood, format!("{} {}: {decision}{code}", word("point"), word("handlerId")))
        }
        "image/offload" => {
            let images: usize = event
                .member("targets")
                .into_iter()
                .flat_map(Js::elements)
                .filter_map(|target| target.get("imageIndexes"))
                .map(|indexes| indexes.elements().count())
                .sum();
            ("offload", Mood::Plain, format!("{} no longer sent", units::count(images as u64, "image")))
        }
        "job/settled" => {
            let status = word("status");
            let mood = if status == "completed" { Mood::Good } else { Mood::Bad };
            let detail =
                text(data, "detail").map(|text| format!(", {}", one_line(&text))).unwrap_or_default();
            ("job", mood, format!("{status}{detail}{}", quoted("label")))
        }
        "llm/retry" => {
            let of = count(data, "maxRetries").map(|max| format!(" of {max}")).unwrap_or_default();
            let delay = event.member("delayMs").and_then(Js::as_f64).unwrap_or(0.0).clamp(0.0, 1e12);
            #[expect(clippy::cast_possible_truncation, reason = "clamped above; a delay shown to a person")]
            let delay = units::duration(delay as i64);
            let why = failure(event.member("failure"));
            ("retry", Mood::Warn, format!("{}{of} after {delay}: {why}", count(data, "retry").unwrap_or(0)))
        }
        "model/selection" => {
            let effort =
                text(data, "reasoningEffort").map(|effort| format!(", effort {effort}")).unwrap_or_default();
            ("model", Mood::Plain, format!("{}{effort} selected", word("model")))
        }
        "plan/mode" => {
            let active = event.member("active").is_some_and(Js::is_true);
            ("plan", Mood::Plain, format!("plan mode {}", if active { "on" } else { "off" }))
        }
        "schedule/change" => {
            let operation = event.member("operation");
            ("schedule", Mood::Plain, text(operation, "kind").unwrap_or_else(|| "changed".to_owned()))
        }
        "subagent/catalog" => {
            ("child", Mood::Plain, format!("{}, {}{}", word("childId"), word("mode"), quoted("label")))
        }
        "subagent/descriptor" => {
            let model = text(data, "agentModel").map(|model| format!(", {model}")).unwrap_or_default();
            (
                "subagent",
                Mood::Plain,
                format!("{} by {}{}{model}", word("mode"), word("provider"), quoted("label")),
            )
        }
        "team/member" | "team/task" | "team/message/queued" => (
            "team",
            Mood::Plain,
            format!("{} {}", kind.strip_prefix("team/").unwrap_or(&kind), word("teamId")),
        ),
        "tool-workflow/run-start" => ("workflow", Mood::Plain, format!("{} started", word("name"))),
        "tool-workflow/run-end" => {
            let reason = word("stopReason");
            ("workflow", if reason == "completed" { Mood::Good } else { Mood::Bad }, reason)
        }
        "tool-workflow/agent-start" => {
            let phase = text(data, "phase").map(|phase| format!(" ({phase})")).unwrap_or_default();
            let number = count(data, "seq").unwrap_or(0);
            ("agent", Mood::Plain, format!("{number} {}{phase} started: {}", word("label"), word("childId")))
        }
        "tool-workflow/agent-end" => {
            let outcome = word("outcome");
            let mood = if outcome == "completed" { Mood::Good } else { Mood::Bad };
            ("agent", mood, format!("{} {outcome}", count(data, "seq").unwrap_or(0)))
        }
        "working-directory/change" => ("cwd", Mood::Plain, word("cwd")),
        other => {
            let size = data.map_or(0, |data| data.raw().len()) as u64;
            // Only lenient reading comes by one that dsh would refuse.
            let is_foreign = !event.ignorable && EventType::of(event.kind).is_none();
            let (mood, mark) =
                if is_foreign { (Mood::Warn, ", unknown but required") } else { (Mood::Plain, "") };
            ("event", mood, format!("{other}, {}{mark}", units::bytes(size)))
        }
    };
    Some(Note { label, mood, text })
}

/// The list of a `todo/write`, a line each.
pub(super) fn todos(event: &Event<'_>) -> String {
    let mut list = String::new();
    for todo in event.member("todos").into_iter().flat_map(Js::elements) {
        let mark = match text_or_empty(Some(todo), "status").as_str() {
            "completed" => "[x]",
            "in_progress" => "[>]",
            _ => "[ ]",
        };
        if !list.is_empty() {
            list.push('\n');
        }
        list.push_str(mark);
        list.push(' ');
        list.push_str(&one_line(&text_or_empty(Some(todo), "content")));
    }
    list
}

/// The outcome of a turn in words.
pub(super) fn turn_outcome(reason: Option<Js<'_>>) -> (Mood, String) {
    let kind = text(reason, "kind").unwrap_or_else(|| "ended".to_owned());
    match kind.as_str() {
        "completed" => (Mood::Good, kind),
        "error" => (Mood::Bad, format!("error {}", failure(reason.and_then(|reason| reason.get("error"))))),
        "aborted" => {
            let cause = reason.and_then(|reason| reason.get("reason"));
            let why = text(cause, "reason").map(|why| format!(": {why}")).unwrap_or_default();
            match text(cause, "kind").as_deref() {
                Some("user") => (Mood::Warn, "stopped by you".to_owned()),
                Some(kind) => (Mood::Warn, format!("stopped by {kind}{why}")),
                None => (Mood::Warn, "stopped".to_owned()),
            }
        }
        "max-tokens" => (Mood::Bad, "out of tokens".to_owned()),
        "interrupted" => (Mood::Warn, "interrupted (the process died)".to_owned()),
        "blocked" => (Mood::Bad, kind),
        "forked" => (Mood::Warn, "cut by the fork".to_owned()),
        _ => (Mood::Plain, kind),
    }
}
