//! Ids that early runtimes left out (`docs/spec/events-v0-v3.md`, 8.9 to 8.11).

use std::collections::HashMap;

use dshlog_codec::json::{Fields, Js, JsString, Tree, print, print_str};
use dshlog_codec::{Event, Seq};

use crate::fault::{Check, malformed, shown};

use super::repair::{has, member, text};

/// What later events take ids from.
#[derive(Debug, Default)]
pub(super) struct Identities {
    session: JsString,
    messages: MessageIds,
    /// Id of the last retry in each chain; both as JSON text.
    retries: HashMap<Box<[u8]>, Box<str>>,
    /// Id of the open compaction, as JSON text.
    compaction: Option<Box<str>>,
}

/// Ids of messages by the seqs of their events, in one piece of memory.
#[derive(Debug, Default)]
struct MessageIds {
    /// Seq, and where its id ends in `text`; ascending.
    ends: Vec<(u64, usize)>,
    /// The ids as JSON text.
    text: Vec<u8>,
}

impl MessageIds {
    fn get(&self, seq: u64) -> Option<Tree<'static>> {
        let at = self.ends.binary_search_by_key(&seq, |(seq, _)| *seq).ok()?;
        let start = at.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |(_, end)| *end);
        let id = self.text.get(start..self.ends.get(at)?.1)?;
        Some(Tree::printed(id.to_vec()))
    }
}

impl Identities {
    pub(super) fn new(session: JsString) -> Self {
        Identities { session, ..Self::default() }
    }

    /// An id out of the session's and the seq of the event.
    fn derived(&self, what: &str, seq: Seq) -> JsString {
        let units = format!("{what}:").encode_utf16().collect::<Vec<_>>();
        let seq = format!(":{seq}").encode_utf16().collect::<Vec<_>>();
        JsString::from_units(units.into_iter().chain(self.session.units()).chain(seq))
    }

    /// The id of a message that has none.
    pub(super) fn message_id(&self, seq: Seq) -> Tree<'static> {
        Tree::js_string(&self.derived("legacy-message", seq))
    }

    /// Remember what a later event may need of an event of V1.
    pub(super) fn see(&mut self, event: &Event<'_>) {
        let id = if event.is("user/message") { event.member("id") } else { message_member(event, "id") };
        if let Some(id) = id.and_then(Js::as_str) {
            print_str(&mut self.messages.text, id);
            self.messages.ends.push((event.seq.0, self.messages.text.len()));
        }
    }

    /// 8.9.
    pub(super) fn retry<'a>(&mut self, read: Js<'a>, data: &mut Tree<'a>, seq: Seq) -> bool {
        let mut chain = Vec::new();
        for name in ["turn", "step", "provider", "policyKey"] {
            match read.get(name) {
                Some(value) => print(&mut chain, value),
                None => chain.extend_from_slice(b"null"),
            }
            chain.push(b',');
        }
        if let Some(id) = read.get("retryId") {
            if let Some(id) = id.as_str().filter(|id| !id.is_empty()) {
                let mut text = Vec::new();
                print_str(&mut text, id);
                self.retries.insert(chain.into(), String::from_utf8_lossy(&text).into());
            }
            return false;
        }
        let derived = self.derived("legacy-retry", seq);
        let id =
            self.retries.entry(chain.into()).or_insert_with(|| printed(&Tree::js_string(&derived))).clone();
        append(data, "retryId", Tree::Text(id))
    }

    /// 8.10.
    pub(super) fn compaction(&mut self, kind: &str, data: &mut Tree<'_>, seq: Seq) -> bool {
        match kind {
            "session/end-seed" => self.compaction = None,
            "compaction/start" if !has(data, "compactionId") => {
                let id = printed(&Tree::js_string(&self.derived("legacy-compaction", seq)));
                self.compaction = Some(id.clone());
                return append(data, "compactionId", Tree::Text(id));
            }
            "compaction/start" => {
                if let Some(id) = text(data, "compactionId").filter(|id| !id.is_empty()) {
                    let mut text = Vec::new();
                    print_str(&mut text, id);
                    self.compaction = Some(String::from_utf8_lossy(&text).into());
                }
            }
            "compaction/summary" | "compaction/end" => {
                let id =
                    if kind == "compaction/end" { self.compaction.take() } else { self.compaction.clone() };
                if let Some(id) = id.filter(|_| !has(data, "compactionId")) {
                    return append(data, "compactionId", Tree::Text(id));
                }
            }
            "user/message" => {
                let Some(id) = &self.compaction else { return false };
                let Some(source) = member(data, "source") else { return false };
                let is = |name: &str, text: &str| source.get(name).is_some_and(|value| value.is(text));
                if is("kind", "plugin") && is("plugin", "compact") && source.get("compactionId").is_none() {
                    let id = Tree::Text(id.clone());
                    return data
                        .open_path(&["source"])
                        .is_some_and(|source| append(source, "compactionId", id));
                }
            }
            _ => {}
        }
        false
    }

    /// 8.11. A message without what is asked of it stays as it is, and the payload rules refuse it.
    pub(super) fn message<'a>(&self, kind: &str, event: &Event<'a>, data: &mut Tree<'a>) -> Check<bool> {
        let has_all = |names: &[&str]| names.iter().all(|name| has(data, name));
        match kind {
            "user/message" => {
                let bare = !has(data, "id") && !has(data, "role") && !has(data, "message");
                if !bare || !has_all(&["content", "source"]) {
                    return Ok(false);
                }
                append(data, "id", self.message_id(event.seq));
                append(data, "role", Tree::string("user"));
            }
            "assistant/message" => {
                if has(data, "message") || !has_all(&["content", "provenance"]) {
                    return Ok(false);
                }
                let mut source = member(data, "provenance").map_or_else(|| Fields::new().into(), Tree::from);
                if !append(&mut source, "kind", Tree::string("model")) {
                    return malformed("provenance", "/data/provenance", shown(member(data, "provenance")));
                }
                let Some(members) = data.open() else { return Ok(false) };
                let content = members.remove("content").unwrap_or_else(|| Fields::new().into());
                members.remove("provenance");
                let message = Fields::new()
                    .with("id", self.message_id(event.seq))
                    .with("role", Tree::string("assistant"))
                    .with("content", content)
                    .with("source", source);
                members.set("message", message);
            }
            "tool/result" => {
                let sound = text(data, "callId").is_some()
                    && has(data, "content")
                    && member(data, "isError").and_then(Js::as_bool).is_some();
                if has(data, "message") || !sound {
                    return Ok(false);
                }
                let id = self.result_id(event)?;
                let Some(members) = data.open() else { return Ok(false) };
                let mut take = |name| members.remove(name).unwrap_or_else(|| Fields::new().into());
                let (call, content, is_error) = (take("callId"), take("content"), take("isError"));
                let block = Fields::new()
                    .with("type", Tree::string("tool-result"))
                    .with("toolCallId", call.clone())
                    .with("content", content)
                    .with("isError", is_error);
                let message = Fields::new()
                    .with("id", id)
                    .with("role", Tree::string("user"))
                    .with("content", Tree::Array(vec![block.into()]))
                    .with("source", Fields::new().with("kind", Tree::string("tool")).with("callId", call));
                members.set("message", message);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The id of a tool result without one. A replacement has that of what it replaces.
    fn result_id(&self, event: &Event<'_>) -> Check<Tree<'static>> {
        let replaced = event
            .surface_op()
            .filter(|op| op.get("op").is_some_and(|op| op.is("replace")))
            .and_then(|op| op.get("start"));
        let Some(start) = replaced else { return Ok(self.message_id(event.seq)) };
        match start.as_count().and_then(|seq| self.messages.get(seq)) {
            Some(id) => Ok(id),
            None => malformed("replaced-result", "/surfaceOp/start", shown(Some(start))),
        }
    }
}

fn message_member<'a>(event: &Event<'a>, name: &str) -> Option<Js<'a>> {
    event.member("message")?.get(name)
}

/// Set a member of an object, at the end when it is new. False when there is no object.
fn append<'a>(object: &mut Tree<'a>, name: &str, value: Tree<'a>) -> bool {
    match object.open() {
        Some(members) => {
            members.set(name, value);
            true
        }
        None => false,
    }
}

fn printed(tree: &Tree<'_>) -> Box<str> {
    let mut text = Vec::new();
    tree.print(&mut text);
    String::from_utf8_lossy(&text).into()
}
