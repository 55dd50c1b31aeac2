//! What becomes of an admitted event (`docs/spec/events-v0-v3.md`, sections 10.1 and 10.2). Members keep their places.

use dshlog_codec::Event;
use dshlog_codec::json::{Fields, Js, Tree};

use crate::fault::Check;
use crate::shift::Shift;

/// The row in V3; nothing when it is the same.
pub(super) fn carry<'a>(event: &Event<'a>, shift: &Shift) -> Check<Option<Tree<'a>>> {
    let own = event.seq.0;
    let target = shift.target(own);
    let mut row = Vec::new();
    for (old, new) in
        [("tool/code-dispatch-start", "tool/ptc-dispatch-start"), ("tool/code-dispatch", "tool/ptc-dispatch")]
    {
        if event.is(old) {
            row.push(("type", Tree::string(new)));
        }
    }
    if target != own {
        row.push(("seq", Tree::integer(target)));
        if let Some(sources) = event.source_seqs() {
            row.push(("sourceEventSeqs", shift.sources(sources, own)?));
        }
    }
    if let Some(op) = event.surface_op().filter(|op| op.is_object()) {
        let endpoint = |name| shift.reference(op.get(name), own, "/surfaceOp");
        let op = Fields::new()
            .with("op", Tree::string("replace"))
            .with("startSeq", endpoint("start")?)
            .with("endSeq", endpoint("end")?);
        row.push(("surfaceOp", op.into()));
    }
    let mut data = event.data.map(Tree::from);
    if target != own {
        references(event, shift, &mut data)?;
    }
    rename(event, &mut data);
    if let Some(data) = data.filter(|data| data.read().is_none()) {
        row.push(("data", data));
    }
    if row.is_empty() {
        return Ok(None);
    }
    let mut fields = Fields::of(event.row);
    for (name, value) in row {
        fields.set(name, value);
    }
    Ok(Some(fields.into()))
}

/// References in the payload.
fn references<'a>(event: &Event<'a>, shift: &Shift, data: &mut Option<Tree<'a>>) -> Check {
    let own = event.seq.0;
    let Some(payload) = event.data else { return Ok(()) };
    if event.is("command/done") {
        if let Some(seq) = payload.get("sourceEventSeq") {
            set(data, "sourceEventSeq", shift.reference(Some(seq), own, "/data/sourceEventSeq")?);
        }
    } else if event.is("compaction/summary") || event.is("compaction/prune") {
        if let Some(range) = payload.get("shadowedRange") {
            let mut fields = Fields::of(range);
            for name in ["start", "end"] {
                fields.set(name, shift.reference(range.get(name), own, "/data/shadowedRange")?);
            }
            set(data, "shadowedRange", fields.into());
        }
        set(data, "shadowedSeqs", shift.references(payload.get("shadowedSeqs"), own, "/data/shadowedSeqs")?);
    } else if event.is("session/title") || event.is("session/title-llm-request") {
        set(data, "messageSeqs", shift.references(payload.get("messageSeqs"), own, "/data/messageSeqs")?);
    }
    Ok(())
}

fn set<'a>(data: &mut Option<Tree<'a>>, name: &str, value: Tree<'a>) {
    if let Some(fields) = data.as_mut().and_then(Tree::open) {
        fields.set(name, value);
    }
}

/// New names, and members that V3 does not have.
fn rename<'a>(event: &Event<'a>, data: &mut Option<Tree<'a>>) {
    let Some(payload) = event.data else { return };
    if event.is("request/header") {
        if let Some(header) = payload.get("header").and_then(bare_header) {
            set(data, "header", header);
        }
    } else if event.is("agent-preset/selected") {
        if payload.get("agentPreset").is_some_and(|preset| preset.is("code")) {
            set(data, "agentPreset", Tree::string("ptc"));
        }
    } else if event.is("user/message") {
        if let Some(message) = message(payload) {
            *data = Some(message);
        }
    } else {
        for (kind, list) in [("agent/inbox/spliced", "inserted"), ("session/title-llm-request", "messages")] {
            let messages = payload.get(list).filter(|_| event.is(kind));
            let elements = || messages.into_iter().flat_map(Js::elements);
            if elements().any(|element| message(element).is_some()) {
                let changed = elements().map(|element| message(element).unwrap_or(Tree::Read(element)));
                set(data, list, Tree::Array(changed.collect()));
            }
        }
    }
}

/// A request header without its prompt and without empty members.
fn bare_header(header: Js<'_>) -> Option<Tree<'_>> {
    let is_empty = |name: &str| {
        header
            .get(name)
            .is_some_and(|value| value.elements().next().is_none() && value.members().next().is_none())
    };
    let gone: Vec<&str> = [("system", header.get("system").is_some()), ("tools", is_empty("tools"))]
        .into_iter()
        .chain([("adapterDefaults", is_empty("adapterDefaults"))])
        .filter_map(|(name, gone)| gone.then_some(name))
        .collect();
    if gone.is_empty() {
        return None;
    }
    let mut fields = Fields::of(header);
    for name in gone {
        fields.remove(name);
    }
    Some(fields.into())
}

/// A message whose source is the plugin that has a new name.
fn message(message: Js<'_>) -> Option<Tree<'_>> {
    let source = message.get("source")?;
    let is = |name, text| source.get(name).is_some_and(|value: Js<'_>| value.is(text));
    if !is("kind", "plugin") || !is("plugin", "tools-code-mode") {
        return None;
    }
    let source = Fields::of(source).with("plugin", Tree::string("tools-ptc"));
    Some(Fields::of(message).with("source", source).into())
}
