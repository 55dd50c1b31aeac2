//! The server's own pages: is it there, and what was it asked?

use std::net::IpAddr;

use serde_json::{Value, json};

use crate::capture::{Capture, Outcome};
use crate::dialect::Dialect;
use crate::http::{Head, Plan};
use crate::state::State;
use crate::verdict::Verdict;

/// The page at a path, if there is one.
pub(crate) fn page(state: &State, head: &Head, keep: bool) -> Option<Plan> {
    if head.method != "GET" {
        return None;
    }
    let body = match head.path() {
        "/healthz" => json!({ "status": "ok" }),
        // What was asked is no business of a page in a browser, whatever name it has led to this address.
        path if path.starts_with("/admin") && !state.is_public() && is_of_page(head) => {
            let why = "what was asked is not shown to pages of the web";
            let body = json!({ "error": { "type": "permission_error", "message": why } });
            return Some(Plan::json(403, &body, keep));
        }
        "/admin" => overview(state),
        path => {
            let n: usize = path.strip_prefix("/admin/requests/")?.parse().ok()?;
            state.captures().get(n)?.to_json(true)
        }
    };
    Some(Plan::json(200, &body, keep))
}

/// A request that a page in a browser makes: one that says so, or calls this address by the name of another machine.
fn is_of_page(head: &Head) -> bool {
    let is_foreign = |host: &str| {
        let name = host.rsplit_once(':').map_or(host, |(name, port)| {
            if port.bytes().all(|byte| byte.is_ascii_digit()) { name } else { host }
        });
        let name = name.trim_start_matches('[').trim_end_matches(']');
        name.contains('.') && name.parse::<IpAddr>().is_err() && !name.ends_with(".localhost")
    };
    head.header("origin").is_some() || head.header("host").is_some_and(is_foreign)
}

fn overview(state: &State) -> Value {
    let requests: Vec<Value> = state.captures().iter().map(|capture| capture.to_json(false)).collect();
    json!({
        "schema": "dshlog.fixture-server/1",
        "script": state.name(),
        "verdict": state.verdict().to_json(),
        "requests": requests,
    })
}

impl Verdict {
    /// The verdict for programs.
    pub fn to_json(&self) -> Value {
        json!({
            "good": self.is_good(),
            "requests": self.requests,
            "served": self.served(),
            "exact": self.exact,
            "normalized": self.normalized,
            "unchecked": self.unchecked,
            "diverged": self.diverged,
            "unmatched": self.unmatched,
            "refused": self.refused,
            "left": self.left,
            "line": self.to_string(),
        })
    }
}

impl Capture {
    /// The capture for programs, with headers and body or without.
    pub fn to_json(&self, whole: bool) -> Value {
        let millis = |time: std::time::Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
        let mut out = json!({
            "n": self.n,
            "atMs": millis(self.at),
            "method": self.method,
            "target": self.target,
            "dialect": self.dialect.map(Dialect::name),
            "kind": self.kind.name(),
            "conversation": self.conversation,
            "bodyBytes": self.body.len(),
            "outcome": self.outcome.name(),
            "answer": self.answer.as_ref().map(|answer| json!({
                "status": answer.status,
                "bytes": answer.bytes,
                "end": answer.end.name(),
                "tookMs": millis(answer.took),
            })),
        });
        let Some(members) = out.as_object_mut() else { return out };
        members.extend(detail(&self.outcome));
        if whole {
            let headers = self.headers.iter().map(|(name, value)| json!([name, value]));
            members.insert("headers".to_owned(), headers.collect());
            let (name, body) = match crate::json::parse(&self.body) {
                Ok(body) => ("body", body),
                Err(_) => ("bodyText", Value::from(String::from_utf8_lossy(&self.body))),
            };
            members.insert(name.to_owned(), body);
        }
        out
    }
}

/// What an outcome has to tell beyond its name.
fn detail(outcome: &Outcome) -> serde_json::Map<String, Value> {
    let value = match outcome {
        Outcome::Served { label, lane, .. } => json!({ "exchange": label, "lane": lane }),
        Outcome::Diverged { label, lane, differences, answered, .. } => json!({
            "exchange": label,
            "lane": lane,
            "answered": answered,
            "differences": differences.iter().map(ToString::to_string).collect::<Vec<_>>(),
        }),
        Outcome::Unmatched(report) => json!({ "report": report.to_json(), "why": report.to_string() }),
        Outcome::Refused { status, why } => json!({ "status": status, "why": why }),
        Outcome::Left(why) => json!({ "why": why }),
        Outcome::Elsewhere { status } => json!({ "status": status }),
    };
    match value {
        Value::Object(members) => members,
        _ => serde_json::Map::new(),
    }
}
