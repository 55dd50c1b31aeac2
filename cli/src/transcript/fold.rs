//! The fold: events in, entries out.

use std::collections::VecDeque;

use dshlog_codec::json::Js;
use dshlog_codec::{Event, Seq};
use dshlog_replay::Surface;
use dshlog_replay::surface::Fate;

use super::facts::{self, todos, turn_outcome};
use super::payload::{attempt, content, count, failure, is_replacement, source_kind, text, text_or_empty};
use super::summary::Meter;
use super::tool::{Pending, record, settle, started};
use super::{Body, Compacted, Entry, Inner, Item, Mood, Note, Output, Said, Seam, ToolRun, TurnEnd, Who};
use crate::render::text::one_line;
use crate::render::units;

/// Sources of user messages that only tell the model where it is: named, not shown.
const CONTEXT_SOURCES: [&str; 16] = [
    "agent-instructions",
    "hooks-claude-code",
    "hooks-codex",
    "model-selection",
    "plan-mode",
    "ptc-mode",
    "runtime-context",
    "session-reference",
    "skill-catalog",
    "time-context",
    "tmux-context",
    "tool-cordis",
    "tool-goal",
    "tool-jobs",
    "tool-registry",
    "working-directory",
];

/// What is known of the turn that is open.
#[derive(Debug, Default)]
struct Turn {
    number: u64,
    start: i64,
    step: u64,
    requests: u64,
    retries: u64,
    tools: u64,
    failed: u64,
    meter: Meter,
}

/// Turns events into entries. Memory is bounded by the open step.
#[derive(Debug, Default)]
pub(crate) struct Fold {
    full: bool,
    record: bool,
    hidden: bool,
    turn: Option<Turn>,
    /// In their order, in which results come, too.
    calls: VecDeque<Pending>,
    context: Vec<Told>,
    model: Option<[String; 3]>,
    inbox: [Vec<String>; 2],
    last_time: Option<i64>,
    last_failure: String,
    /// A failed attempt: told when it turns out not to be the end of its turn, which says the same.
    held: Option<(Entry, Option<String>)>,
    /// The surface as it is when all is over.
    surface: Option<Surface>,
    out: Vec<Entry>,
}

/// Something that the model was told, on its way into an entry.
#[derive(Debug)]
struct Told {
    seq: u64,
    time: i64,
    item: Item,
    /// Whether the model sees it no longer; nothing for what is no message.
    unseen: Option<bool>,
}

impl Fold {
    /// A fold from the start of a log. `full` keeps what a folded transcript does not show.
    pub(crate) fn new(full: bool) -> Self {
        Fold { full, ..Fold::default() }
    }

    /// Mark what the model no longer sees. `surface` is that of the end of the log. Gives how many messages these are.
    pub(crate) fn mark(&mut self, surface: Surface) -> u64 {
        let surface = self.surface.insert(surface);
        let appended: Vec<Seq> =
            surface.shadowed().filter(|shadowed| shadowed.appended).map(|shadowed| shadowed.seq).collect();
        appended.into_iter().filter(|seq| self.is_unseen(*seq)).count() as u64
    }

    /// True for a message that the model no longer sees, not even shortened.
    fn is_unseen(&self, seq: Seq) -> bool {
        self.surface.as_ref().is_some_and(|surface| matches!(surface.fate(seq), Fate::Gone(_)))
    }

    /// The event behind which the model sees a result with its middle cut out.
    fn pruned(&self, seq: Seq) -> Option<u64> {
        let surface = self.surface.as_ref()?;
        let shadow = surface.shadow_of(seq)?;
        matches!(surface.fate(seq), Fate::Shortened(_)).then_some(shadow.by.0)
    }

    /// A fold that keeps everything: calls word for word, beside what a folded transcript says of them.
    pub(crate) fn record() -> Self {
        Fold { full: true, record: true, ..Fold::default() }
    }

    /// From now on follow along, but tell nothing (or tell again).
    pub(crate) fn hide(&mut self, hidden: bool) {
        self.hidden = hidden;
    }

    /// Entries that are ready.
    pub(crate) fn ready(&mut self) -> std::vec::Drain<'_, Entry> {
        self.out.drain(..)
    }

    /// Take in one event.
    pub(crate) fn see(&mut self, event: &Event<'_>) {
        let kind = event.kind.to_lossy();
        if kind == "llm/retry-started"
            && let Some(turn) = &mut self.turn
        {
            turn.meter.see(event);
        }
        match &*kind {
            "turn/start" => self.turn_start(event),
            "turn/end" => self.turn_end(event),
            "step/start" => {
                if let (Some(turn), Some(step)) = (&mut self.turn, count(event.data, "step")) {
                    turn.step = step;
                }
            }
            "step/end" => self.give_up_calls(),
            "system/message" => self.system(event),
            "developer/message" => self.developer(event),
            "user/message" => self.user(event),
            "assistant/message" => self.assistant(event),
            "assistant/attempt" => self.attempt(event),
            "tool/call" => self.call(event),
            "tool/result" => self.result(event),
            "tool/ptc-dispatch-start" | "tool/code-dispatch-start" => self.inner_call(event),
            "tool/ptc-dispatch" | "tool/code-dispatch" => self.inner_result(event),
            "request/header" => self.header(event),
            "permission/preset" => self.setting(event, "permissions", "preset"),
            "sandbox/mode" => self.setting(event, "sandbox", "mode"),
            "approval/policy" => self.setting(event, "approvals", "policy"),
            "agent/inbox/spliced" => self.inbox(event),
            "command/run" => self.command(event),
            "compaction/start" => self.compaction_start(event),
            "compaction/summary" => self.compaction(event),
            "session/end-seed" => self.seam(event),
            "todo/write" => self.todos(event),
            _ => self.fact(event),
        }
        self.last_time = Some(event.time.0);
    }

    /// Somebody watches: tell what runs now.
    pub(crate) fn announce(&mut self) {
        for call in self.calls.iter_mut().filter(|call| !call.announced) {
            call.announced = true;
            let text = format!("{} {}", call.run.name, one_line(&call.run.argument));
            let note = Note { label: "running", mood: Mood::Plain, text: text.trim_end().to_owned() };
            self.out.push(Entry { seq: call.seq, time: call.time, unseen: false, body: Body::Note(note) });
        }
    }

    /// The log ends here: `event` and all behind it would be appended by a resume.
    pub(crate) fn recover(&mut self, event: &Event<'_>) {
        self.push(event, Body::Seam(Seam::Recovered));
    }

    /// The log ends here: tell what is still open.
    pub(crate) fn finish(&mut self) {
        let (seq, time) = (self.out.last().map_or(0, |entry| entry.seq), self.last_time.unwrap_or_default());
        let waiting: Vec<String> = self.calls.iter().map(|call| call.run.name.clone()).collect();
        self.give_up_calls();
        self.flush_context();
        self.out.extend(self.held.take().map(|(entry, _)| entry));
        let mut note = |label, text| {
            let body = Body::Note(Note { label, mood: Mood::Warn, text });
            self.out.push(Entry { seq, time, unseen: false, body });
        };
        for message in self.inbox.iter().flatten() {
            note("queued", format!("“{message}”"));
        }
        if let Some(turn) = &self.turn {
            let waits = match waiting.as_slice() {
                [] => String::new(),
                names => format!(", waiting for {}", names.join(", ")),
            };
            let step = match turn.step {
                0 => "no step yet".to_owned(),
                step => format!("step {step}"),
            };
            note("open", format!("turn {} has not ended: {step}{waits}", turn.number));
        }
    }

    fn push(&mut self, event: &Event<'_>, body: Body) {
        // Who is spoken to comes before what else was told.
        if !matches!(body, Body::TurnStart(_) | Body::Said(Said { who: Who::You, .. })) {
            self.flush_context();
        }
        if let Some((mut held, said)) = self.held.take() {
            let why_follows =
                matches!(&body, Body::TurnEnd(end) if end.outcome.ends_with(&self.last_failure));
            match (why_follows, said) {
                (false, _) => self.out.push(held),
                (true, None) => {}
                (true, Some(said)) => {
                    held.body = Body::Note(Note {
                        label: "attempt",
                        mood: Mood::Bad,
                        text: format!("failed {said}"),
                    });
                    self.out.push(held);
                }
            }
        }
        if !self.hidden {
            let unseen = self.is_unseen(event.seq);
            self.out.push(Entry { seq: event.seq.0, time: event.time.0, unseen, body });
        }
    }

    fn flush_context(&mut self) {
        let Some(first) = self.context.first() else { return };
        let (seq, time) = (first.seq, first.time);
        let is = |wanted| self.context.iter().any(|told| told.unseen == Some(wanted));
        let unseen = is(true) && !is(false);
        let items = self.context.drain(..).map(|told| told.item).collect();
        self.out.push(Entry { seq, time, unseen, body: Body::Context(items) });
    }

    fn tell_context(&mut self, event: &Event<'_>, name: &str, detail: String, text: Option<String>) {
        if !self.hidden {
            let text = text.filter(|_| self.full);
            let unseen = event.surface_op().map(|_| self.is_unseen(event.seq));
            let unseen_item = unseen == Some(true);
            let item = Item { seq: event.seq.0, name: name.to_owned(), detail, text, unseen: unseen_item };
            self.context.push(Told { seq: event.seq.0, time: event.time.0, item, unseen });
        }
    }

    fn turn_start(&mut self, event: &Event<'_>) {
        self.give_up_calls();
        let number = count(event.data, "turn").unwrap_or(0);
        self.turn = Some(Turn { number, start: event.time.0, ..Turn::default() });
        self.push(event, Body::TurnStart(number));
    }

    fn turn_end(&mut self, event: &Event<'_>) {
        self.give_up_calls();
        let turn = self.turn.take().unwrap_or_default();
        let (mood, outcome) = turn_outcome(event.member("reason"));
        self.push(
            event,
            Body::TurnEnd(Box::new(TurnEnd {
                mood,
                outcome,
                requests: turn.requests,
                retries: turn.retries,
                tools: (turn.tools, turn.failed),
                usage: turn.meter.total(),
                millis: event.time.0.saturating_sub(turn.start),
            })),
        );
    }

    fn system(&mut self, event: &Event<'_>) {
        let prompt = content(event.member("message").and_then(|message| message.get("content"))).text;
        let detail = if prompt.is_empty() { "cleared".to_owned() } else { units::bytes(prompt.len() as u64) };
        let name = if is_replacement(event) { "system prompt, rewritten" } else { "system prompt" };
        self.tell_context(event, name, detail, Some(prompt));
    }

    fn developer(&mut self, event: &Event<'_>) {
        let content = content(event.member("message").and_then(|message| message.get("content")));
        let mut detail: Vec<String> = content.attached.into_iter().map(|attached| attached.words).collect();
        if !content.text.is_empty() {
            detail.push(one_line(&content.text));
        }
        self.tell_context(event, "tools", detail.join(" "), None);
    }

    fn user(&mut self, event: &Event<'_>) {
        let source = source_kind(event.member("source"));
        // The summary itself has told this.
        if source == "compact-checkpoint" {
            return;
        }
        let content = content(event.member("content"));
        if CONTEXT_SOURCES.contains(&source.as_str()) {
            let detail = units::bytes(content.text.len() as u64);
            return self.tell_context(event, &source, detail, Some(content.text));
        }
        let who = if source == "user" { Who::You } else { Who::Harness(source) };
        self.push(
            event,
            Body::Said(Said { who, text: content.text, attached: content.attached, interrupted: false }),
        );
    }

    fn assistant(&mut self, event: &Event<'_>) {
        self.give_up_calls();
        self.settled(event);
        // V1 and V2 keep the blocks in the payload itself.
        let blocks =
            event.member("message").map_or(event.member("content"), |message| message.get("content"));
        for block in blocks.into_iter().flat_map(Js::elements) {
            if block.get("type").is_some_and(|kind| kind.is("reasoning")) {
                let reasoning = text_or_empty(Some(block), "text");
                if !reasoning.trim().is_empty() {
                    self.push(event, Body::Thinking(reasoning));
                }
            }
        }
        let content = content(blocks);
        let interrupted = event.member("interrupted").is_some_and(Js::is_true);
        if !content.text.is_empty() || !content.attached.is_empty() || interrupted {
            self.push(
                event,
                Body::Said(Said {
                    who: Who::Agent,
                    text: content.text,
                    attached: content.attached,
                    interrupted,
                }),
            );
        }
    }

    fn attempt(&mut self, event: &Event<'_>) {
        self.settled(event);
        let attempt = attempt(event.member("stream"));
        let after = one_line(&attempt.text);
        let (mood, why) = match attempt.failure {
            Some(failure) => {
                self.last_failure.clone_from(&failure);
                (Mood::Bad, failure)
            }
            None if attempt.aborted => (Mood::Warn, "cancelled".to_owned()),
            None => (Mood::Warn, "no message".to_owned()),
        };
        let said = (!after.is_empty()).then(|| format!("after “{after}”"));
        let text = said.as_ref().map_or_else(|| why.clone(), |said| format!("{why}, {said}"));
        let body = Body::Note(Note { label: "attempt", mood, text });
        if mood != Mood::Bad || self.hidden {
            return self.push(event, body);
        }
        self.flush_context();
        self.out.extend(self.held.take().map(|(entry, _)| entry));
        self.held = Some((Entry { seq: event.seq.0, time: event.time.0, unseen: false, body }, said));
    }

    fn settled(&mut self, event: &Event<'_>) {
        if let Some(turn) = &mut self.turn {
            turn.requests += 1;
            turn.meter.see(event);
        }
    }

    fn call(&mut self, event: &Event<'_>) {
        let id = text_or_empty(event.data, "callId");
        let run = self.started(event, &id);
        if !self.hidden {
            self.calls.push_back(Pending {
                id,
                seq: event.seq.0,
                time: event.time.0,
                run,
                announced: false,
                inner: Vec::new(),
            });
        }
    }

    fn result(&mut self, event: &Event<'_>) {
        // A rewritten result is an old one made shorter; the prune has told it.
        if is_replacement(event) {
            return;
        }
        let message = event.member("message").or(event.data);
        let id = text(message, "toolCallId")
            .or_else(|| text(message.and_then(|message| message.get("source")), "callId"))
            .or_else(|| text(event.data, "callId"))
            .unwrap_or_default();
        let found = self.calls.iter().position(|call| call.id == id);
        let (mut run, seq, time) = if let Some(mut call) = found.and_then(|at| self.calls.remove(at)) {
            for (_, _, run) in std::mem::take(&mut call.inner) {
                call.add(Inner::Tool(run), self.full);
            }
            (call.run, call.seq, Some(call.time))
        } else {
            let mut run = started(format!("call {id}"), None, false);
            run.record = self.record.then(|| record(&id, event.time.0, None));
            (run, event.seq.0, None)
        };
        settle(&mut run, event.seq.0, message, event.data, self.full && !self.record);
        run.millis = time.map(|time| event.time.0.saturating_sub(time));
        if let Some(turn) = &mut self.turn {
            turn.tools += 1;
            turn.failed += u64::from(run.mood == Mood::Bad);
        }
        run.pruned = self.pruned(event.seq);
        self.push_run(seq, event.time.0, run, self.is_unseen(event.seq));
    }

    /// A call that begins with this event. Records have its arguments word for word, so that they need not be spelled.
    fn started(&self, event: &Event<'_>, id: &str) -> ToolRun {
        let arguments = event.member("arguments");
        let mut run = started(text_or_empty(event.data, "name"), arguments, self.full && !self.record);
        run.record = self.record.then(|| record(id, event.time.0, arguments));
        run
    }

    fn push_run(&mut self, seq: u64, time: i64, run: ToolRun, unseen: bool) {
        self.flush_context();
        if !self.hidden {
            self.out.push(Entry { seq, time, unseen, body: Body::Tool(Box::new(run)) });
        }
    }

    /// Calls that can get no result any more.
    fn give_up_calls(&mut self) {
        for call in std::mem::take(&mut self.calls) {
            let mut run = call.run;
            run.inner.extend(call.inner.into_iter().map(|(_, _, run)| Inner::Tool(run)));
            self.push_run(call.seq, call.time, run, false);
        }
    }

    fn inner_call(&mut self, event: &Event<'_>) {
        let id = text_or_empty(event.data, "subCallId");
        let run = self.started(event, &id);
        if let Some(call) = self.holder(event, "rootCallId") {
            call.inner.push((id, event.time.0, run));
        }
    }

    fn inner_result(&mut self, event: &Event<'_>) {
        let id = text_or_empty(event.data, "subCallId");
        let (full, record) = (self.full, self.record);
        let Some(call) = self.holder(event, "rootCallId") else { return };
        let Some(at) = call.inner.iter().position(|(inner, _, _)| *inner == id) else { return };
        let (_, time, mut run) = call.inner.remove(at);
        settle(&mut run, event.seq.0, event.data, event.data, full && !record);
        run.millis = Some(event.time.0.saturating_sub(time));
        call.add(Inner::Tool(run), full);
    }

    /// The open call that an event names by `member`; else the last one.
    fn holder(&mut self, event: &Event<'_>, member: &str) -> Option<&mut Pending> {
        let id = text(event.data, member).or_else(|| text(event.member("toolCall"), member));
        let at = match id {
            Some(id) => self.calls.iter().position(|call| call.id == id)?,
            None => self.calls.len().checked_sub(1)?,
        };
        self.calls.get_mut(at)
    }

    fn header(&mut self, event: &Event<'_>) {
        let header = event.member("header");
        let config = header.and_then(|header| header.get("config"));
        let tools = header.and_then(|header| header.get("tools")).map_or(0, |tools| tools.elements().count());
        let now = [
            text_or_empty(config, "model"),
            text(config, "reasoningEffort").map(|effort| format!("effort {effort}")).unwrap_or_default(),
            units::count(tools as u64, "tool"),
        ];
        let before = self.model.replace(now.clone()).unwrap_or_default();
        let changed: Vec<String> = now
            .into_iter()
            .zip(before)
            .filter(|(now, before)| now != before && !now.is_empty())
            .map(|(now, _)| now)
            .collect();
        if !changed.is_empty() {
            let tools = header.and_then(|header| header.get("tools")).into_iter().flat_map(Js::elements);
            let names = || tools.map(|tool| text_or_empty(Some(tool), "name")).collect::<Vec<_>>().join("\n");
            let names = self.record.then(names);
            self.tell_context(event, &changed.join(", "), String::new(), names);
        }
    }

    fn setting(&mut self, event: &Event<'_>, name: &str, member: &str) {
        let value = text_or_empty(event.data, member);
        // A preset of permissions is most often named after the mode that it sets.
        let is_pair =
            |other: &str| matches!((name, other), ("permissions", "sandbox") | ("sandbox", "permissions"));
        if self.context.iter().any(|told| is_pair(&told.item.name) && told.item.detail == value) {
            return;
        }
        self.tell_context(event, name, value, None);
    }

    /// What waits to be said (`docs/spec/surface.md`, 10.1); only previews are kept.
    fn inbox(&mut self, event: &Event<'_>) {
        let list = match text(event.data, "target").as_deref() {
            Some("next-turn") => &mut self.inbox[0],
            Some("next-step") => &mut self.inbox[1],
            _ => return,
        };
        let clamp = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
        let start = clamp(count(event.data, "start").unwrap_or(0)).min(list.len());
        let removed = clamp(count(event.data, "removedCount").unwrap_or(0)).min(list.len() - start);
        let inserted = event
            .member("inserted")
            .into_iter()
            .flat_map(Js::elements)
            .map(|message| one_line(&content(message.get("content")).text).chars().take(200).collect());
        list.splice(start..start + removed, inserted);
    }

    fn command(&mut self, event: &Event<'_>) {
        let args = text(event.data, "args")
            .filter(|args| !args.trim().is_empty())
            .map(|args| format!(" {}", args.trim()));
        let text = format!("/{}{}", text_or_empty(event.data, "name"), args.unwrap_or_default());
        let who = match text_or_empty(event.member("source"), "kind").as_str() {
            "user" | "" => Who::You,
            other => Who::Harness(other.to_owned()),
        };
        self.push(event, Body::Said(Said { who, text, attached: Vec::new(), interrupted: false }));
    }

    /// Its summary tells a compaction that went well, its end one that failed.
    fn compaction_start(&mut self, event: &Event<'_>) {
        let surface = self.surface.as_ref();
        if surface.is_some_and(|surface| surface.unended().any(|unended| unended.start == event.seq)) {
            let text = "a compaction was begun here, and not ended".to_owned();
            self.push(event, Body::Note(Note { label: "compact", mood: Mood::Warn, text }));
        }
    }

    fn compaction(&mut self, event: &Event<'_>) {
        let range = event.member("shadowedRange");
        let seqs = event.member("shadowedSeqs");
        let seqs: Vec<u64> = seqs.into_iter().flat_map(Js::elements).filter_map(Js::as_count).collect();
        self.push(
            event,
            Body::Compacted(Compacted {
                messages: seqs.len() as u64,
                seqs,
                tokens: count(event.data, "shadowedTokenCount"),
                range: count(range, "start").zip(count(range, "end")),
                summary: content(event.member("summary")).text,
            }),
        );
    }

    fn seam(&mut self, event: &Event<'_>) {
        self.give_up_calls();
        let seam = if event.member("inherited").is_some_and(Js::is_true) {
            Seam::Fork
        } else {
            Seam::PickedUp { pause: event.time.0.saturating_sub(self.last_time.unwrap_or(event.time.0)) }
        };
        self.push(event, Body::Seam(seam));
    }

    fn todos(&mut self, event: &Event<'_>) {
        let list = todos(event);
        let full = self.full;
        if let Some(call) = self.calls.iter_mut().rev().find(|call| call.run.name == "todo_write") {
            call.add(Inner::Note(Note { label: "", mood: Mood::Plain, text: list }), full);
        } else {
            self.push(event, Body::Note(Note { label: "todo", mood: Mood::Plain, text: list }));
        }
    }

    fn fact(&mut self, event: &Event<'_>) {
        let Some(mut note) = facts::note(event) else { return };
        let full = self.full;
        match note.label {
            "retry" => {
                if let Some(turn) = &mut self.turn {
                    turn.retries += 1;
                }
                // The attempt has said why.
                let why = format!(": {}", failure(event.member("failure")));
                if !self.last_failure.is_empty() && why[2..] == self.last_failure {
                    note.text = note.text.replace(&why, "");
                }
                self.last_failure.clear();
            }
            // A job of a call that still runs is that call.
            "job" if self.holder(event, "rootCallId").is_some() => return,
            "approval" | "child" | "workflow" | "agent" | "present" | "cwd" | "goal" | "plan" | "hook" => {
                if let Some(call) = self.holder(event, "callId") {
                    return inside(call, note, full);
                }
            }
            _ => {}
        }
        self.push(event, Body::Note(note));
    }
}

/// A fact inside a call. What a workflow tells of its agents becomes one line an agent.
fn inside(call: &mut Pending, note: Note, full: bool) {
    let is_workflow = call.run.name == "workflow";
    match note.label {
        "child" | "workflow" if is_workflow && !full && note.mood != Mood::Bad => return,
        "agent" => {
            let (number, outcome) = note.text.split_once(' ').unwrap_or_default();
            let begun = call.run.inner.iter_mut().rev().find_map(|inner| match inner {
                Inner::Note(begun) if begun.label == "agent" => {
                    (begun.text.split(' ').next() == Some(number)).then_some(begun)
                }
                _ => None,
            });
            if let Some(begun) = begun {
                begun.mood = note.mood;
                begun.text = begun.text.replacen(" started: ", &format!(" {outcome}: "), 1);
                return;
            }
        }
        _ => {}
    }
    call.add(Inner::Note(note), full);
}

impl Default for Output {
    fn default() -> Self {
        Output::Text(String::new())
    }
}
