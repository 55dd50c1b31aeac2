//! States that dsh does not keep, and people ask for: tool calls, approvals, jobs.

use dshlog_codec::check::EventType;
use dshlog_codec::json::{Fields, Js, Tree};
use dshlog_codec::{Event, Millis, Seq};

use super::value::{Kept, null, object, or_null};
use super::{Fold, Start};

/// An event, and when it was.
#[derive(Clone, Copy, Debug)]
struct Moment {
    seq: Seq,
    time: Millis,
}

impl Moment {
    fn of(event: &Event<'_>) -> Self {
        Moment { seq: event.seq, time: event.time }
    }

    fn tree(moment: Option<Self>) -> Tree<'static> {
        moment.map_or_else(null, |moment| {
            object([("seq", Tree::integer(moment.seq.0)), ("time", Tree::integer(moment.time.0))])
        })
    }

    /// Milliseconds to a later one; clocks that went back count as none.
    fn until(self, end: Moment) -> i64 {
        end.time.0.saturating_sub(self.time.0).max(0)
    }
}

/// From start to end, or null.
fn span(start: Option<Moment>, end: Option<Moment>) -> Tree<'static> {
    start.zip(end).map_or_else(null, |(start, end)| Tree::integer(start.until(end)))
}

#[derive(Debug)]
struct Call {
    id: Kept,
    name: Option<Kept>,
    turn: Option<Kept>,
    step: Option<Kept>,
    asked: Option<Moment>,
    started: Option<Moment>,
    ended: Option<Moment>,
    failed: bool,
    error: Option<Kept>,
}

#[derive(Debug, Default)]
struct ToolCalls {
    calls: Vec<Call>,
    /// Places of those that have no result.
    open: Vec<usize>,
}

pub(super) fn tool_calls(_: &Start<'_>) -> Box<dyn Fold> {
    Box::<ToolCalls>::default()
}

impl Fold for ToolCalls {
    fn see(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), String> {
        let now = Moment::of(event);
        match kind {
            Some(EventType::AssistantMessage) => {
                let content = event.member("message").and_then(|message| message.get("content"));
                for block in content.into_iter().flat_map(Js::elements) {
                    if block.get("type").is_some_and(|kind| kind.is("tool-call"))
                        && let Some(id) = block.get("id").map(Kept::of)
                    {
                        let call = self.add(id, event);
                        call.name = block.get("name").map(Kept::of);
                        call.asked = Some(now);
                    }
                }
            }
            Some(EventType::ToolCall) => {
                if let Some(id) = event.member("callId").map(Kept::of) {
                    let call = match self.find(&id) {
                        Some(at) => &mut self.calls[at],
                        None => self.add(id, event),
                    };
                    call.name = event.member("name").map(Kept::of).or(call.name.take());
                    call.started = Some(now);
                }
            }
            // A replaced result is an old one made shorter.
            Some(EventType::ToolResult) if event.surface_op().is_some_and(|op| op.is("append")) => {
                let id = event.data.and_then(|data| data.path(&["message", "source", "callId"]));
                let Some(at) = id.map(Kept::of).and_then(|id| self.find(&id)) else { return Ok(()) };
                let call = &mut self.calls[at];
                call.ended = Some(now);
                let is_error = event.data.and_then(|data| data.path(&["message", "isError"]));
                call.failed = is_error.is_some_and(Js::is_true);
                let error = event.member("error");
                let code = error.and_then(|error| error.get("code").or_else(|| error.get("name")));
                call.error = code.map(Kept::of);
                self.open.retain(|open| *open != at);
            }
            // An id may come again in a later step.
            Some(EventType::StepEnd | EventType::TurnEnd) => self.open.clear(),
            _ => {}
        }
        Ok(())
    }

    fn state(&self) -> Tree<'static> {
        Tree::Array(self.calls.iter().map(Call::tree).collect())
    }

    fn view(&self) -> Option<Tree<'static>> {
        Some(self.state())
    }
}

impl ToolCalls {
    fn add(&mut self, id: Kept, event: &Event<'_>) -> &mut Call {
        let (turn, step) = (event.member("turn").map(Kept::of), event.member("step").map(Kept::of));
        let at = self.calls.len();
        self.open.push(at);
        self.calls.push(Call {
            id,
            name: None,
            turn,
            step,
            asked: None,
            started: None,
            ended: None,
            failed: false,
            error: None,
        });
        &mut self.calls[at]
    }

    fn find(&self, id: &Kept) -> Option<usize> {
        self.open.iter().copied().find(|at| self.calls[*at].id == *id)
    }
}

impl Call {
    fn tree(&self) -> Tree<'static> {
        let outcome = match (self.ended, self.started) {
            (Some(_), _) if self.failed => "failed",
            (Some(_), _) => "done",
            (None, Some(_)) => "running",
            (None, None) => "asked",
        };
        object([
            ("callId", self.id.tree()),
            ("name", or_null(self.name.as_ref())),
            ("turn", or_null(self.turn.as_ref())),
            ("step", or_null(self.step.as_ref())),
            ("asked", Moment::tree(self.asked)),
            ("started", Moment::tree(self.started)),
            ("ended", Moment::tree(self.ended)),
            ("ms", span(self.started, self.ended)),
            ("outcome", Tree::string(outcome)),
            ("error", or_null(self.error.as_ref())),
        ])
    }
}

#[derive(Debug)]
struct Approval {
    id: Kept,
    tool: Option<Kept>,
    call: Option<Kept>,
    reason: Option<Kept>,
    asked: Option<Moment>,
    decided: Option<Moment>,
    outcome: Option<Kept>,
}

#[derive(Debug, Default)]
struct Approvals {
    all: Vec<Approval>,
    /// Places of those that are not decided.
    open: Vec<usize>,
}

pub(super) fn approvals(_: &Start<'_>) -> Box<dyn Fold> {
    Box::<Approvals>::default()
}

impl Fold for Approvals {
    fn see(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), String> {
        let Some(id) = event.member("id").map(Kept::of) else { return Ok(()) };
        let member = |name| event.member(name).map(Kept::of);
        match kind {
            Some(EventType::ApprovalAsked) => {
                self.open.push(self.all.len());
                self.all.push(Approval {
                    id,
                    tool: member("toolName"),
                    call: member("callId"),
                    reason: member("reason"),
                    asked: Some(Moment::of(event)),
                    decided: None,
                    outcome: None,
                });
            }
            Some(EventType::ApprovalDecided) => {
                if let Some(place) = self.open.iter().position(|at| self.all[*at].id == id) {
                    let approval = &mut self.all[self.open.remove(place)];
                    approval.decided = Some(Moment::of(event));
                    approval.outcome = member("outcome");
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn state(&self) -> Tree<'static> {
        let approval = |approval: &Approval| {
            object([
                ("id", approval.id.tree()),
                ("toolName", or_null(approval.tool.as_ref())),
                ("callId", or_null(approval.call.as_ref())),
                ("reason", or_null(approval.reason.as_ref())),
                ("asked", Moment::tree(approval.asked)),
                ("decided", Moment::tree(approval.decided)),
                ("ms", span(approval.asked, approval.decided)),
                ("outcome", or_null(approval.outcome.as_ref())),
            ])
        };
        Tree::Array(self.all.iter().map(approval).collect())
    }

    fn view(&self) -> Option<Tree<'static>> {
        Some(self.state())
    }
}

/// A job: what was registered, and what was settled.
#[derive(Debug)]
struct Job {
    id: Kept,
    registered: Moment,
    settled: Option<Moment>,
    told: [Option<Kept>; TOLD.len()],
}

/// What is told of a job, by the event that tells it last.
const TOLD: [&str; 8] = ["kind", "label", "owner", "startedAt", "finishedAt", "status", "cause", "detail"];

#[derive(Debug, Default)]
struct Jobs {
    all: Vec<Job>,
    /// Places of those that run.
    open: Vec<usize>,
}

pub(super) fn jobs(_: &Start<'_>) -> Box<dyn Fold> {
    Box::<Jobs>::default()
}

impl Fold for Jobs {
    fn see(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), String> {
        let Some(id) = event.member("jobId").map(Kept::of) else { return Ok(()) };
        let now = Moment::of(event);
        match kind {
            Some(EventType::JobRegistered) => {
                let told = TOLD.map(|name| event.member(name).map(Kept::of));
                self.open.push(self.all.len());
                self.all.push(Job { id, registered: now, settled: None, told });
            }
            Some(EventType::JobSettled) => {
                if let Some(place) = self.open.iter().rposition(|at| self.all[*at].id == id) {
                    let job = &mut self.all[self.open.remove(place)];
                    job.settled = Some(now);
                    for (slot, name) in job.told.iter_mut().zip(TOLD) {
                        *slot = event.member(name).map(Kept::of).or(slot.take());
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn state(&self) -> Tree<'static> {
        let job = |job: &Job| {
            let mut fields = Fields::new().with("jobId", job.id.tree());
            for (name, value) in TOLD.iter().zip(&job.told) {
                fields.set(name, or_null(value.as_ref()));
            }
            fields.set("registered", Moment::tree(Some(job.registered)));
            fields.set("settled", Moment::tree(job.settled));
            Tree::from(fields)
        };
        Tree::Array(self.all.iter().map(job).collect())
    }

    fn view(&self) -> Option<Tree<'static>> {
        Some(self.state())
    }
}
