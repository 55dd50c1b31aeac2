//! Messages and blocks in the words of V4 (`docs/spec/events-v4.md`, sections 10.6 to 10.9).
//!
//! A function that may change a value gives the changed one, or nothing when the value stays as it is.

use dshlog_codec::Event;
use dshlog_codec::check::EventType;
use dshlog_codec::json::{Fields, Js, JsStr, Tree, ordered_members};

use crate::fault::{Check, malformed, shown, unsupported};

type Change<'a> = Check<Option<Tree<'a>>>;

/// The part of 10.6 to 10.9 that an event of this type needs. Data that is no object is left to the target's checks.
pub(super) fn carry<'a>(
    event: &Event<'a>,
    kind: EventType,
    members: &mut Vec<(&'static str, Tree<'a>)>,
    data: &mut Option<Tree<'a>>,
) -> Check {
    let Some(payload) = event.data.filter(|data| data.is_object()) else { return Ok(()) };
    let mut set = |name: &str, change: Option<Tree<'a>>| {
        let Some(value) = change else { return };
        if let Some(fields) = data.as_mut().and_then(Tree::open) {
            fields.set(name, value);
        }
    };
    match kind {
        EventType::UserMessage => {
            if let Some(changed) = message(payload, "/data")? {
                *data = Some(changed);
            }
        }
        EventType::SystemMessage => set("message", message_member(payload)?),
        EventType::AssistantMessage => {
            set("message", message_member(payload)?);
            set("stream", stream(payload.get("stream"))?);
        }
        EventType::AssistantAttempt => set("stream", stream(payload.get("stream"))?),
        EventType::ToolResult => {
            set("message", tool_message(payload)?);
            // The rules for results of forks read the row, where a list of one is spelled as the list.
            if let Some(seq) = event.source_seqs().and_then(only_pair) {
                members.retain(|(name, _)| *name != "sourceEventSeqs");
                members.push(("sourceEventSeqs", Tree::Array(vec![Tree::from(seq)])));
            }
        }
        EventType::InboxSpliced => set("inserted", messages(payload, "inserted")?),
        EventType::TitleRequest => set("messages", messages(payload, "messages")?),
        EventType::CompactionSummary => {
            set("summary", blocks(payload.get("summary"), "/data/summary")?);
            if let Some(output) = payload.get("rawOutput") {
                set("rawOutput", blocks(Some(output), "/data/rawOutput")?);
            }
        }
        EventType::PtcDispatch => set("content", blocks(payload.get("content"), "/data/content")?),
        EventType::TeamMessageQueued => {
            if let Some(message) = payload.get("message").filter(|message| message.is_object()) {
                let content = blocks(message.get("content"), "/data/message/content")?;
                set("message", content.map(|content| Fields::of(message).with("content", content).into()));
            }
        }
        EventType::RequestHeader => check_tools(payload)?,
        _ => {}
    }
    Ok(())
}

/// The seq of a list that is one pair of equal seqs.
fn only_pair(sources: Js<'_>) -> Option<Js<'_>> {
    let mut entries = sources.elements();
    let mut pair = entries.next().filter(|_| entries.next().is_none())?.as_array()?;
    let (start, end) = (pair.next()?, pair.next()?);
    (start.as_count() == end.as_count()).then_some(start)
}

fn message_member(payload: Js<'_>) -> Change<'_> {
    const POINTER: &str = "/data/message";
    match payload.get("message").filter(|message| message.is_object()) {
        Some(found) => message(found, POINTER),
        None => malformed("message", POINTER, shown(payload.get("message"))),
    }
}

fn messages<'a>(payload: Js<'a>, name: &str) -> Change<'a> {
    list(payload.get(name), &format!("/data/{name}"), |found, pointer| {
        if found.is_object() {
            message(found, pointer)
        } else {
            malformed("message", pointer, shown(Some(found)))
        }
    })
}

/// Apply `change` to each element of a list that must be there.
fn list<'a>(
    value: Option<Js<'a>>,
    pointer: &str,
    mut change: impl FnMut(Js<'a>, &str) -> Change<'a>,
) -> Change<'a> {
    let Some(elements) = value.and_then(Js::as_array) else {
        return malformed("message", pointer, format!("no list: {}", shown(value)));
    };
    let mut changed: Option<Vec<Tree<'a>>> = None;
    for (i, element) in elements.clone().enumerate() {
        if let Some(tree) = change(element, &format!("{pointer}/{i}"))? {
            let all = changed.get_or_insert_with(|| elements.clone().map(Tree::from).collect());
            if let Some(place) = all.get_mut(i) {
                *place = tree;
            }
        }
    }
    Ok(changed.map(Tree::Array))
}

fn message<'a>(message: Js<'a>, pointer: &str) -> Change<'a> {
    let source = source(message, pointer)?;
    let content = blocks(message.get("content"), &format!("{pointer}/content"))?;
    if source.is_none() && content.is_none() {
        return Ok(None);
    }
    let mut fields = Fields::of(message);
    for (name, change) in [("source", source), ("content", content)] {
        if let Some(value) = change {
            fields.set(name, value);
        }
    }
    Ok(Some(fields.into()))
}

/// Plugins whose name is the kind of their sources in V4.
const NAMED: [&str; 25] = [
    "agent-instructions",
    "session-reference",
    "team-message",
    "goal",
    "skill-invocation",
    "skill-catalog",
    "coordinator",
    "subagent-report",
    "subagent-settled",
    "webhook",
    "agent-message",
    "model-selection",
    "plan-mode",
    "time-context",
    "tmux-context",
    "user-approval",
    "repeat-tool-reminder",
    "tool-cordis",
    "cordis-host-runner",
    "tool-goal",
    "tool-jobs",
    "hooks-codex",
    "hooks-claude-code",
    "schedule",
    "dsh-session-title-llm",
];

/// The source of a message (section 10.6). One that is no object is left to the target's checks.
fn source<'a>(message: Js<'a>, pointer: &str) -> Change<'a> {
    const CODE: &str = "message-source";
    let Some(source) = message.get("source").filter(|source| source.is_object()) else { return Ok(None) };
    let kind = source.get("kind");
    let Some(name) = kind.and_then(Js::as_str).filter(|name| !name.is_empty()) else {
        return malformed(CODE, format!("{pointer}/source/kind"), shown(kind));
    };
    if name != "plugin" {
        return Ok(None);
    }
    let plugin = source.get("plugin");
    let Some(plugin) = plugin.and_then(Js::as_str) else {
        return malformed(CODE, format!("{pointer}/source/plugin"), shown(plugin));
    };
    let is_system = message.get("role").is_some_and(|role| role.is("system"));
    let kind = producer(plugin, is_system).map_or_else(|| Tree::prefixed("plugin:", plugin), Tree::string);
    let mut fields = Fields::of(source);
    fields.set("kind", kind);
    fields.remove("plugin");
    Ok(Some(fields.into()))
}

fn producer(plugin: JsStr<'_>, is_system: bool) -> Option<&'static str> {
    if plugin == "@deepseek-ai/dsh-system-prompt" {
        return Some(if is_system { "system-prompt" } else { "runtime-context" });
    }
    let renamed = [
        ("compact", "compact-checkpoint"),
        ("tools-code-mode", "ptc-mode"),
        ("tools-ptc", "ptc-mode"),
        ("dsh-compaction-basic", "compact-basic"),
    ];
    let kind = renamed.iter().find(|(name, _)| plugin == *name).map(|(_, kind)| *kind);
    kind.or_else(|| NAMED.into_iter().find(|name| plugin == *name))
}

/// The message of a `tool/result`. Only those of role `user` are lifted (section 10.7).
fn tool_message(payload: Js<'_>) -> Change<'_> {
    const POINTER: &str = "/data/message";
    let Some(found) = payload.get("message").filter(|message| message.is_object()) else {
        return malformed("message", POINTER, shown(payload.get("message")));
    };
    if found.get("role").is_some_and(|role| role.is("user")) {
        lift(found).map(Some)
    } else {
        message(found, POINTER)
    }
}

fn lift(message: Js<'_>) -> Check<Tree<'_>> {
    const CODE: &str = "tool-message";
    let refuse = |at: &str, value| malformed(CODE, format!("/data/message/{at}"), shown(value));
    let nonempty = |value: Option<Js<'_>>| value.and_then(Js::as_str).is_some_and(|text| !text.is_empty());
    // A source of a plugin gets a kind of its own, and so is none of a tool either.
    let source = message.get("source");
    let member = |name: &str| source.and_then(|source| source.get(name));
    if !nonempty(message.get("id")) {
        return refuse("id", message.get("id"));
    }
    if !member("kind").is_some_and(|kind| kind.is("tool")) {
        return refuse("source/kind", member("kind"));
    }
    let call = member("callId");
    if !nonempty(call) {
        return refuse("source/callId", call);
    }
    let content = message.get("content");
    let mut elements = content.into_iter().flat_map(Js::elements);
    let wrapper = match (elements.next(), elements.next()) {
        (Some(block), None) if block.get("type").is_some_and(|kind| kind.is("tool-result")) => block,
        _ => return refuse("content", content),
    };
    let result = wrapper.get("toolCallId");
    if result.and_then(Js::as_str) != call.and_then(Js::as_str) {
        return refuse("content/0/toolCallId", result);
    }
    let inner = wrapper.get("content");
    for block in inner.into_iter().flat_map(Js::elements) {
        if block.get("type").is_some_and(|kind| kind.is("tool-result")) {
            return unsupported(CODE, "/data/message/content/0/content", "a result inside a result");
        }
    }
    let is_error = wrapper.get("isError");
    if is_error.is_some_and(|mark| mark.as_bool().is_none()) {
        return refuse("content/0/isError", is_error);
    }
    let lifted = blocks(inner, "/data/message/content/0/content")?;

    let mut fields = Fields::new().with("role", Tree::string("tool"));
    for (name, value) in [("source", source), ("toolCallId", result)] {
        if let Some(value) = value {
            fields.set(name, value);
        }
    }
    if let Some(content) = lifted.or(inner.map(Tree::from)) {
        fields.set("content", content);
    }
    for (name, value) in [("isError", is_error), ("id", message.get("id"))] {
        if let Some(value) = value {
            fields.set(name, value);
        }
    }
    let lifted_names = ["id", "role", "source", "content"];
    push_others(&mut fields, message, "plugin:message:", &lifted_names);
    push_others(&mut fields, wrapper, "plugin:result:", &["type", "toolCallId", "content", "isError"]);
    Ok(fields.into())
}

fn push_others<'a>(fields: &mut Fields<'a>, object: Js<'a>, prefix: &str, known: &[&str]) {
    for (name, value) in ordered_members(object) {
        if !known.iter().any(|known| name == *known) {
            fields.push_prefixed(prefix, name, value);
        }
    }
}

/// Tags of the blocks that V3 knew.
const CORE: [&str; 6] = ["text", "reasoning", "image", "file", "tool-call", "tool-result"];

/// The tag of a block (section 10.8); nothing when it stays.
fn tag<'a>(tag: Option<Js<'a>>, pointer: &str) -> Change<'a> {
    match tag.and_then(Js::as_str) {
        Some(name) if CORE.iter().any(|core| name == *core) => Ok(None),
        Some(name) => Ok(Some(Tree::prefixed("plugin:", name))),
        None => malformed("content-block", pointer, shown(tag)),
    }
}

fn block<'a>(block: Js<'a>, pointer: &str) -> Change<'a> {
    if !block.is_object() {
        return malformed("content-block", pointer, shown(Some(block)));
    }
    let tag = tag(block.get("type"), &format!("{pointer}/type"))?;
    Ok(tag.map(|tag| Fields::of(block).with("type", tag).into()))
}

/// A list of blocks, which must be there.
fn blocks<'a>(value: Option<Js<'a>>, pointer: &str) -> Change<'a> {
    list(value, pointer, block)
}

/// The stream of an attempt: only records that carry a whole block are looked at.
fn stream(value: Option<Js<'_>>) -> Change<'_> {
    let Some(stream) = value.filter(|value| value.is_array()) else { return Ok(None) };
    list(Some(stream), "/data/stream", |record, pointer| {
        let chunk = record.get("chunk").filter(|chunk| chunk.is_object());
        let Some(chunk) = chunk.filter(|_| record.get("type").is_some_and(|kind| kind.is("chunk"))) else {
            return Ok(None);
        };
        let kind = chunk.get("type");
        let (name, change) = if kind.is_some_and(|kind| kind.is("block-end")) {
            let pointer = format!("{pointer}/chunk/block");
            let Some(found) = chunk.get("block") else {
                return malformed("content-block", pointer, "missing");
            };
            ("block", block(found, &pointer)?)
        } else if kind.is_some_and(|kind| kind.is("block-start")) {
            ("blockType", tag(chunk.get("blockType"), &format!("{pointer}/chunk/blockType"))?)
        } else {
            return Ok(None);
        };
        Ok(change.map(|value| {
            let chunk = Fields::of(chunk).with(name, value);
            Fields::of(record).with("chunk", chunk).into()
        }))
    })
}

/// Tools with a member that V3 did not define (section 10.9).
fn check_tools(payload: Js<'_>) -> Check {
    let tools = payload.path(&["header", "tools"]).into_iter().flat_map(Js::elements);
    for (i, tool) in tools.enumerate() {
        if let Some(defer) = tool.get("deferLoading") {
            let pointer = format!("/data/header/tools/{i}/deferLoading");
            return unsupported("defer-loading", pointer, shown(Some(defer)));
        }
    }
    Ok(())
}
