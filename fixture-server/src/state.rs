//! What a server knows: the script, how far it is, and what was asked.

use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::Notify;

use crate::admin;
use crate::capture::{Answer, Capture, Fit, Outcome};
use crate::deliver::{self, For};
use crate::dialect::{Address, Dialect, Kind, View, error_body};
use crate::http::{Head, Plan, Refusal, Sent};
use crate::json::{self, Value};
use crate::matching::{Grade, Lanes, Pick, Report, Rung, conversation};
use crate::script::{ApiError, OnDiverged, Response, Script};
use crate::verdict::Verdict;

/// The model of an answer to a request that names none.
const NO_MODEL: &str = "fixture";

/// What all connections share.
#[derive(Debug)]
pub(crate) struct State {
    script: Script,
    /// Other machines may ask.
    public: bool,
    started: Instant,
    inner: Mutex<Inner>,
    /// Something was answered: for those who wait in a thread, and in a task.
    answered: Condvar,
    answered_async: Notify,
}

#[derive(Debug)]
struct Inner {
    lanes: Lanes,
    captures: Vec<Capture>,
    verdict: Verdict,
    /// Requests whose answers are under way.
    under_way: usize,
    /// Exchanges and side rules of which an answer is out.
    answered: HashSet<Rung>,
}

impl Inner {
    /// Keeps a capture whose answer is under way; gives its number.
    fn keep(&mut self, mut capture: Capture) -> usize {
        let n = self.captures.len();
        capture.n = n;
        self.verdict.count(&capture.outcome);
        self.captures.push(capture);
        self.under_way += 1;
        n
    }
}

/// The answer to a request, and the capture that waits to hear how it went.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) plan: Plan,
    /// What has to be answered before, and how long that is waited for.
    pub(crate) wait_for: Option<(Rung, Duration)>,
    capture: Option<usize>,
    began: Instant,
}

impl State {
    pub(crate) fn new(script: Script, public: bool) -> State {
        let inner = Inner {
            lanes: Lanes::new(&script),
            captures: Vec::new(),
            verdict: Verdict::default(),
            under_way: 0,
            answered: HashSet::new(),
        };
        State {
            script,
            public,
            started: Instant::now(),
            inner: Mutex::new(inner),
            answered: Condvar::new(),
            answered_async: Notify::new(),
        }
    }

    /// Finds the answer to a request.
    pub(crate) fn reply(&self, head: &Head, body: Vec<u8>, keep: bool) -> Reply {
        let began = Instant::now();
        if let Some(plan) = admin::page(self, head, keep) {
            return Reply { plan, wait_for: None, capture: None, began };
        }
        let body: Arc<[u8]> = body.into();
        let tree = match json::parse(&body) {
            Ok(tree) => tree,
            Err(_) if head.method != "POST" || Dialect::of_path(head.path()).is_none() => Value::Null,
            Err(fault) => {
                let why = Report::unread(format!("POST {}: the body is {fault}", head.path()));
                let plan = refuse(head, &why.to_string(), Some(&why.to_json()), keep);
                let capture = self.capture(head, body, Outcome::Unmatched(why));
                return Reply { plan, wait_for: None, capture: Some(self.lock().keep(capture)), began };
            }
        };
        let view = View::new(head, tree);
        // Order of captures and order of lanes are one order.
        let mut inner = self.lock();
        let (plan, conversation, outcome) = self.matched(&mut inner, head, &view, keep);
        let wait_for = outcome.answered_by().and_then(|rung| self.wait_for(rung));
        let capture = Capture { kind: view.kind, conversation, ..self.capture(head, body, outcome) };
        Reply { plan, wait_for, capture: Some(inner.keep(capture)), began }
    }

    /// What an answer waits for.
    fn wait_for(&self, rung: Rung) -> Option<(Rung, Duration)> {
        let wait = self.script.rung(rung)?.respond.wait_for.as_ref()?;
        let (before, _) = self.script.rungs().find(|(_, rule)| rule.name == wait.name)?;
        Some((before, Duration::from_millis(wait.at_most_ms)))
    }

    /// Finds the exchange of a request, and its answer.
    fn matched(&self, inner: &mut Inner, head: &Head, view: &View, keep: bool) -> (Plan, String, Outcome) {
        let is_post = head.method == "POST";
        let conversation = match view.kind {
            Kind::Other => String::new(),
            _ => conversation(&self.script.conversation, view),
        };
        let pick = if is_post { inner.lanes.take(&self.script, view, &conversation) } else { None };
        let (plan, outcome) = match pick {
            Some(pick) => self.picked(head, view, pick, keep),
            None if view.dialect.is_none() || !is_post => elsewhere(head, keep),
            None => {
                let report = Report::new(&inner.lanes, &self.script, view, &conversation);
                (refuse(head, &report.to_string(), Some(&report.to_json()), keep), Outcome::Unmatched(report))
            }
        };
        (plan, conversation, outcome)
    }

    fn picked(&self, head: &Head, view: &View, pick: Pick, keep: bool) -> (Plan, Outcome) {
        let Pick { rung, lane, grade, nth } = pick;
        let label = self.script.label(rung);
        let Some(rule) = self.script.rung(rung) else { return elsewhere(head, keep) };
        let fit = match grade {
            Grade::Exact => Fit::Exact,
            Grade::Normalized => Fit::Normalized,
            Grade::Unchecked => Fit::Unchecked,
            Grade::Diverged(differences) => {
                let answered = rule.expect.is_some_and(|expect| expect.on_diverged == OnDiverged::Answer);
                let plan = if answered {
                    answer(head, view, rule.respond, &message_id(rung, nth), keep)
                } else {
                    let lines: Vec<String> = differences.iter().map(ToString::to_string).collect();
                    let places: Vec<&str> = differences.iter().map(|found| found.pointer.as_str()).collect();
                    let why = format!("the request is not what {label} expects\n  {}", lines.join("\n  "));
                    refuse(head, &why, Some(&json!({ "exchange": rung.to_string(), "places": places })), keep)
                };
                return (plan, Outcome::Diverged { rung, label, lane, differences, answered });
            }
        };
        let plan = answer(head, view, rule.respond, &message_id(rung, nth), keep);
        (plan, Outcome::Served { rung, label, lane, fit })
    }

    /// Notes a request that was refused before it was looked at; gives the answer.
    pub(crate) fn refused(&self, refusal: &Refusal) -> Reply {
        let capture = self.lock().keep(Capture::unread(self.started.elapsed(), Outcome::from(refusal)));
        let body = json!({ "error": { "type": "invalid_request_error", "message": refusal.why } });
        Reply {
            plan: Plan::json(refusal.status, &body, false),
            wait_for: None,
            capture: Some(capture),
            began: Instant::now(),
        }
    }

    /// Notes a client that left in the middle of a request.
    pub(crate) fn left_in_request(&self, why: String) {
        let mut inner = self.lock();
        let n = inner.captures.len();
        inner.captures.push(Capture { n, ..Capture::unread(self.started.elapsed(), Outcome::Left(why)) });
    }

    /// Notes how an answer went out.
    pub(crate) fn sent(&self, reply: &Reply, sent: Sent) {
        let Some(n) = reply.capture else { return };
        let mut inner = self.lock();
        if let Some(capture) = inner.captures.get_mut(n) {
            capture.answer = Some(Answer::new(reply.plan.status(), sent, reply.began.elapsed()));
            let rung = capture.outcome.answered_by();
            inner.answered.extend(rung);
        }
        inner.under_way = inner.under_way.saturating_sub(1);
        drop(inner);
        self.answered.notify_all();
        self.answered_async.notify_waiters();
    }

    /// Everything that was asked so far.
    pub(crate) fn captures(&self) -> Vec<Capture> {
        self.lock().captures.clone()
    }

    /// What was asked from a number on, up to the first request whose answer is still under way.
    pub(crate) fn answered_from(&self, first: usize) -> Vec<Capture> {
        let inner = self.lock();
        let is_over =
            |capture: &&Capture| capture.answer.is_some() || matches!(capture.outcome, Outcome::Left(_));
        inner.captures.iter().skip(first).take_while(is_over).cloned().collect()
    }

    /// The sum so far.
    pub(crate) fn verdict(&self) -> Verdict {
        let inner = self.lock();
        let left = inner.lanes.left(&self.script);
        Verdict {
            left: left.into_iter().map(|rung| self.script.label(rung)).collect(),
            ..inner.verdict.clone()
        }
    }

    /// Other machines may ask, by whatever name they have for this one.
    pub(crate) fn is_public(&self) -> bool {
        self.public
    }

    /// What reports call the script.
    pub(crate) fn name(&self) -> &str {
        &self.script.name
    }

    /// True when all exchanges have been served, and all answers have gone out.
    fn is_finished(&self, inner: &Inner) -> bool {
        inner.under_way == 0 && inner.lanes.left(&self.script).is_empty()
    }

    /// Waits until all exchanges have been served.
    pub(crate) async fn finished(&self) {
        self.until(|inner| self.is_finished(inner)).await;
    }

    /// Waits until an answer of this exchange or side rule is out.
    pub(crate) async fn answered(&self, rung: Rung) {
        self.until(|inner| inner.answered.contains(&rung)).await;
    }

    async fn until(&self, is_so: impl Fn(&Inner) -> bool) {
        loop {
            let answered = self.answered_async.notified();
            tokio::pin!(answered);
            answered.as_mut().enable();
            if is_so(&self.lock()) {
                return;
            }
            answered.await;
        }
    }

    /// Waits likewise, in a thread; false when the time is over.
    pub(crate) fn wait_finished(&self, patience: Duration) -> bool {
        let inner = self.lock();
        let waited = self.answered.wait_timeout_while(inner, patience, |inner| !self.is_finished(inner));
        let (inner, _) = waited.unwrap_or_else(PoisonError::into_inner);
        self.is_finished(&inner)
    }

    fn capture(&self, head: &Head, body: Arc<[u8]>, outcome: Outcome) -> Capture {
        Capture::new(self.started.elapsed(), head, body, outcome)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic elsewhere leaves counts that are still worth telling.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The answer of a script to a request.
fn answer(head: &Head, view: &View, response: &Response, id: &str, keep: bool) -> Plan {
    let request = For {
        dialect: view.dialect.unwrap_or(Dialect::Messages),
        address: Address { id, model: view.model.as_deref().unwrap_or(NO_MODEL) },
        chunks: head.minor > 0,
        keep,
    };
    deliver::plan(response, request)
}

/// The id of a message: the same in every run, whatever came first.
fn message_id(rung: Rung, nth: u32) -> String {
    let (word, n) = match rung {
        Rung::Exchange(n) => ("msg", n),
        Rung::Side(n) => ("msg_side", n),
    };
    if nth == 0 { format!("{word}_{n}") } else { format!("{word}_{n}_{nth}") }
}

/// 400, in the dialect of the request, with the report.
fn refuse(head: &Head, message: &str, report: Option<&Value>, keep: bool) -> Plan {
    let error = ApiError {
        kind: "invalid_request_error".to_owned(),
        message: format!("fixture server: {message}"),
        code: None,
    };
    let dialect = Dialect::of_path(head.path()).unwrap_or(Dialect::Messages);
    let mut body = error_body(dialect, &error);
    if let (Some(members), Some(report)) = (body.as_object_mut(), report) {
        members.insert("report".to_owned(), report.clone());
    }
    Plan::json(400, &body, keep)
}

/// A path where nothing is served: an upload, which dsh does without, or an unknown one.
fn elsewhere(head: &Head, keep: bool) -> (Plan, Outcome) {
    let known = Dialect::of_path(head.path()).is_some();
    let status = if known { 405 } else { 404 };
    let why = if known { "only POST is answered here" } else { "nothing is served at this path" };
    let body = json!({ "error": { "type": "not_found_error", "message": format!("{} {}: {why}", head.method, head.path()) } });
    (Plan::json(status, &body, keep), Outcome::Elsewhere { status })
}
