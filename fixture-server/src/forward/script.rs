//! What was passed, as the script that says the same.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::{Passed, PassedEnd, Said, Secrets};
use crate::capture::is_secret;
use crate::dialect::{Dialect, Kind};
use crate::json::{self, diff};
use crate::script::Framing;

/// Headers of answers that are no part of what was said: the server makes them, or they are of one moment only.
const LEFT_OUT: [&str; 2] = ["content-length", "date"];
/// More places that differ than anybody masks.
const MOST_MASKED: usize = 1000;

/// A script in the making.
#[derive(Debug, Default)]
pub(super) struct Written {
    exchanges: Vec<Value>,
    side: Vec<Value>,
    /// Requests that the script does not answer, each with why.
    pub(super) left_out: Vec<(usize, String)>,
}

impl Written {
    /// The script of what was passed. `pauses`: it waits as the service did.
    pub(super) fn of(passed: &[Passed], secrets: &Secrets, pauses: bool) -> Written {
        let mut written = Written::default();
        let lanes = lanes(passed);
        for passed in passed {
            let respond = match respond(passed, secrets, pauses) {
                Ok(respond) => respond,
                Err(why) => {
                    written.left_out.push((passed.n, why));
                    continue;
                }
            };
            if !in_order(passed) {
                written.side.push(side(passed, &respond));
                continue;
            }
            let mut exchange = json!({ "name": name(passed), "respond": respond });
            if passed.kind != Kind::Agent {
                exchange["match"] = json!({ "kind": passed.kind.name() });
            }
            if let Some(expect) = expect(passed, secrets) {
                exchange["expect"] = expect;
            }
            if lanes.len() > 1
                && let Some(lane) = lanes.iter().position(|known| *known == passed.conversation)
            {
                exchange["lane"] = format!("conversation-{lane}").into();
            }
            written.exchanges.push(exchange);
        }
        written
    }

    pub(super) fn counts(&self) -> (usize, usize) {
        (self.exchanges.len(), self.side.len())
    }

    /// The script as JSON.
    pub(super) fn text(&self, name: &str) -> String {
        let script = json!({ "name": name, "exchanges": self.exchanges, "side": self.side });
        // In several lines, for people.
        let mut text = serde_json::to_string_pretty(&script).unwrap_or_else(|_| json::print(&script));
        text.push('\n');
        text
    }
}

/// The name of the file that has the body of a request.
pub(super) fn body_file(n: usize) -> String {
    format!("{n:04}.body")
}

/// It has a place in a conversation.
fn in_order(passed: &Passed) -> bool {
    matches!(passed.kind, Kind::Agent | Kind::Compaction) && passed.dialect.is_some()
}

/// The conversations, in the order in which they began.
fn lanes(passed: &[Passed]) -> Vec<&str> {
    let mut known = HashSet::new();
    let conversations = passed.iter().filter(|passed| in_order(passed)).map(|it| it.conversation.as_str());
    conversations.filter(|conversation| known.insert(*conversation)).collect()
}

fn name(passed: &Passed) -> String {
    format!("request {}", passed.n)
}

fn path(passed: &Passed) -> &str {
    passed.target.split('?').next().unwrap_or_default()
}

fn side(passed: &Passed, respond: &Value) -> Value {
    let matcher = match passed.kind {
        Kind::Other => json!({ "kind": "other", "path": { "equals": path(passed) } }),
        kind => json!({ "kind": kind.name() }),
    };
    json!({ "name": name(passed), "match": matcher, "times": 1, "respond": respond })
}

/// What the request must be: what it was, but for what was masked in it.
fn expect(passed: &Passed, secrets: &Secrets) -> Option<Value> {
    let whole = json::parse(&passed.body).ok()?;
    let mut expect = json!({ "body_file": body_file(passed.n) });
    if let Some(masked) = secrets.masked(&passed.body) {
        let masked = json::parse(&masked).ok()?;
        let places = diff::differences(&masked, &whole, MOST_MASKED);
        expect["ignore"] = places.into_iter().map(|place| place.pointer).collect();
    }
    Some(expect)
}

/// The answer; why there is none that a script can give.
fn respond(passed: &Passed, secrets: &Secrets, pauses: bool) -> Result<Value, String> {
    if passed.method != "POST" {
        return Err(format!("{} {}: a script answers POST only", passed.method, path(passed)));
    }
    let how = match &passed.end {
        Some(PassedEnd::Whole) => None,
        Some(PassedEnd::Cut) => Some("close"),
        Some(PassedEnd::Reset) => Some("reset"),
        // It left once, so it will leave again.
        Some(PassedEnd::ClientLeft) => Some("stall"),
        Some(PassedEnd::Unreachable(why)) => return Err(format!("the service could not be asked: {why}")),
        None => return Err("its answer was still under way".to_owned()),
    };
    let Some(said) = &passed.answer else {
        return Ok(json!({ "fault": { "how": how.unwrap_or("close"), "after": "nothing" } }));
    };
    let mut respond = json!({ "status": said.status, "headers": headers(said, how.is_some()) });
    if let Some(framing) = said.framing {
        respond["framing"] = word(framing).into();
        respond["body"] = json!({ "writes": writes(passed, said, secrets, pauses) });
    }
    if let Some(how) = how {
        let after = if said.pieces.is_empty() { "head" } else { "body" };
        respond["fault"] = json!({ "how": how, "after": after });
    }
    if pauses {
        let before = said.at.saturating_sub(passed.at).as_millis();
        respond["pace"] = json!({ "before_status_ms": u64::try_from(before).unwrap_or(u64::MAX) });
    }
    Ok(respond)
}

pub(super) fn word(framing: Framing) -> &'static str {
    match framing {
        Framing::Chunked => "chunked",
        Framing::Length => "length",
        Framing::Close => "close",
    }
}

fn headers(said: &Said, is_cut: bool) -> Map<String, Value> {
    // A body that is cut had told a length that it does not have.
    let is_part = |name: &str| !LEFT_OUT.contains(&name) || (is_cut && name == "content-length");
    let headers = said.headers.iter().filter(|(name, _)| is_part(name) && !is_secret(name));
    headers.map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect()
}

/// The body, each piece a write. Secrets are looked for in the whole, since they may lie across pieces.
fn writes(passed: &Passed, said: &Said, secrets: &Secrets, pauses: bool) -> Vec<Value> {
    let whole: Vec<u8> = said.pieces.iter().flat_map(|piece| piece.bytes.iter().copied()).collect();
    let whole = secrets.masked(&whole).unwrap_or(whole);
    let mut rest = whole.as_slice();
    let mut before = said.at.max(passed.at);
    let mut writes = Vec::with_capacity(said.pieces.len());
    for piece in &said.pieces {
        let (bytes, behind) = rest.split_at(piece.bytes.len().min(rest.len()));
        rest = behind;
        let mut write = match str::from_utf8(bytes) {
            Ok(text) => json!({ "text": text }),
            Err(_) => json!({ "base64": STANDARD.encode(bytes) }),
        };
        let pause = piece.at.saturating_sub(before).as_millis();
        before = piece.at;
        if pauses && pause > 0 {
            write["pause_ms"] = u64::try_from(pause).unwrap_or(u64::MAX).into();
        }
        writes.push(write);
    }
    writes
}

impl Passed {
    /// The request for programs: one line of `requests.jsonl`.
    pub(super) fn to_json(&self, secrets: &Secrets) -> Value {
        let millis = |time: std::time::Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
        let headers = |headers: &[(String, String)]| -> Value {
            let masked = |name: &str, value: &str| secrets.masked_text(&crate::capture::masked(name, value));
            headers.iter().map(|(name, value)| json!([name, masked(name, value)])).collect()
        };
        let answer = self.answer.as_ref().map(|said| {
            json!({
                "atMs": millis(said.at),
                "status": said.status,
                "headers": headers(&said.headers),
                "framing": said.framing.map(word),
                "pieces": said.pieces.iter().map(|piece| json!([millis(piece.at), piece.bytes.len()])).collect::<Vec<_>>(),
            })
        });
        let why = match &self.end {
            Some(PassedEnd::Unreachable(why)) => Some(why.as_str()),
            _ => None,
        };
        json!({
            "n": self.n,
            "atMs": millis(self.at),
            "method": self.method,
            "target": secrets.masked_text(&self.target),
            "dialect": self.dialect.map(Dialect::name),
            "kind": self.kind.name(),
            "conversation": secrets.masked_text(&self.conversation),
            "headers": headers(&self.headers),
            "bodyBytes": self.body.len(),
            "bodyFile": (!self.body.is_empty()).then(|| body_file(self.n)),
            "answer": answer,
            "end": self.end.as_ref().map(PassedEnd::name),
            "why": why,
        })
    }
}
