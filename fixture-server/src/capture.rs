//! What was asked, and what came of it.

use std::sync::Arc;
use std::time::Duration;

use crate::dialect::{Dialect, Kind};
use crate::http::{Head, Refusal, Sent, SentEnd};
use crate::json::diff::Difference;
use crate::matching::{Report, Rung};

/// Headers whose values are never kept.
const SECRET: [&str; 5] = ["authorization", "proxy-authorization", "x-api-key", "cookie", "set-cookie"];
/// Parts of names of headers that are likely to hold secrets.
const SECRET_PARTS: [&str; 5] = ["api-key", "apikey", "token", "secret", "password"];

/// One request as it came, and its answer.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Its number, from 0, in the order in which requests were whole.
    pub n: usize,
    /// When it was whole, from the start of the server.
    pub at: Duration,
    /// The method; empty when the request could not be read.
    pub method: String,
    /// The target: path and query.
    pub target: String,
    /// Headers in order, names in lower case, secrets masked.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Arc<[u8]>,
    /// Its dialect.
    pub dialect: Option<Dialect>,
    /// What it was for.
    pub kind: Kind,
    /// What tells its conversation from others; empty when it is none.
    pub conversation: String,
    /// What came of it.
    pub outcome: Outcome,
    /// The answer, once it has been sent.
    pub answer: Option<Answer>,
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// An exchange or side rule answered.
    Served {
        /// Which.
        rung: Rung,
        /// How reports call it.
        label: String,
        /// The lane, of an exchange.
        lane: Option<String>,
        /// How near it came to what was expected.
        fit: Fit,
    },
    /// It fitted an exchange but was not what that expected.
    Diverged {
        /// Which.
        rung: Rung,
        /// How reports call it.
        label: String,
        /// The lane, of an exchange.
        lane: Option<String>,
        /// Where it differs.
        differences: Vec<Difference>,
        /// It was answered as if it had not.
        answered: bool,
    },
    /// No exchange fitted; it was answered 400.
    Unmatched(Report),
    /// It was refused before it was looked at.
    Refused {
        /// The status of the answer.
        status: u16,
        /// Why.
        why: String,
    },
    /// The client left before it was whole; the reason in words.
    Left(String),
    /// It went to a path that has no exchanges: the server's own pages, uploads, unknown ones.
    Elsewhere {
        /// The status of the answer.
        status: u16,
    },
}

impl Outcome {
    /// The exchange or side rule whose answer it got.
    pub(crate) fn answered_by(&self) -> Option<Rung> {
        match self {
            Outcome::Served { rung, .. } | Outcome::Diverged { rung, answered: true, .. } => Some(*rung),
            _ => None,
        }
    }
}

/// How near a served request came to what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// The same JSON.
    Exact,
    /// The same after the rules.
    Normalized,
    /// Nothing was expected.
    Unchecked,
}

impl Outcome {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Served { fit: Fit::Exact, .. } => "exact",
            Outcome::Served { fit: Fit::Normalized, .. } => "normalized",
            Outcome::Served { fit: Fit::Unchecked, .. } => "unchecked",
            Outcome::Diverged { .. } => "diverged",
            Outcome::Unmatched(_) => "unmatched",
            Outcome::Refused { .. } => "refused",
            Outcome::Left(_) => "left",
            Outcome::Elsewhere { .. } => "elsewhere",
        }
    }
}

/// How an answer went out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its status; nothing when no status line was sent, or a verbatim one.
    pub status: Option<u16>,
    /// Bytes of the body that were handed to the system.
    pub bytes: u64,
    /// How it ended.
    pub end: AnswerEnd,
    /// From the whole request to the end of the answer.
    pub took: Duration,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerEnd {
    /// Properly.
    Whole,
    /// With the end of the connection, as the script has it.
    Closed,
    /// With a reset, as the script has it.
    Reset,
    /// It stalled, as the script has it, until the server had enough.
    Stalled,
    /// The client left before.
    ClientLeft,
}

impl AnswerEnd {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            AnswerEnd::Whole => "whole",
            AnswerEnd::Closed => "closed",
            AnswerEnd::Reset => "reset",
            AnswerEnd::Stalled => "stalled",
            AnswerEnd::ClientLeft => "client-left",
        }
    }
}

impl From<SentEnd> for AnswerEnd {
    fn from(end: SentEnd) -> Self {
        match end {
            SentEnd::Whole => AnswerEnd::Whole,
            SentEnd::Closed => AnswerEnd::Closed,
            SentEnd::Reset => AnswerEnd::Reset,
            SentEnd::Stalled => AnswerEnd::Stalled,
            SentEnd::ClientLeft => AnswerEnd::ClientLeft,
        }
    }
}

impl Answer {
    pub(crate) fn new(status: Option<u16>, sent: Sent, took: Duration) -> Answer {
        Answer { status, bytes: sent.bytes, end: sent.end.into(), took }
    }
}

impl Capture {
    /// A request that was read.
    pub(crate) fn new(at: Duration, head: &Head, body: Arc<[u8]>, outcome: Outcome) -> Capture {
        Capture {
            n: 0,
            at,
            method: head.method.clone(),
            target: head.target.clone(),
            headers: head.headers.iter().map(|(name, value)| (name.clone(), masked(name, value))).collect(),
            body,
            dialect: Dialect::of_path(head.path()),
            kind: Kind::Other,
            conversation: String::new(),
            outcome,
            answer: None,
        }
    }

    /// A request that could not be read.
    pub(crate) fn unread(at: Duration, outcome: Outcome) -> Capture {
        let head = Head { method: String::new(), target: String::new(), minor: 1, headers: Vec::new() };
        Capture::new(at, &head, Arc::new([]), outcome)
    }
}

impl From<&Refusal> for Outcome {
    fn from(refusal: &Refusal) -> Self {
        Outcome::Refused { status: refusal.status, why: refusal.why.clone() }
    }
}

/// A header, by its name in lower case, whose value must not be kept.
pub(crate) fn is_secret(name: &str) -> bool {
    SECRET.contains(&name) || SECRET_PARTS.iter().any(|part| name.contains(part))
}

/// The value of a header, without what must not be kept. A scheme such as `Bearer` stays.
pub(crate) fn masked(name: &str, value: &str) -> String {
    match value.split_once(' ') {
        _ if !is_secret(name) => value.to_owned(),
        Some((scheme, _)) if name.ends_with("authorization") => format!("{scheme} ***"),
        _ => "***".to_owned(),
    }
}
