//! States of a session, for people (`docs/state.md`). Each is read as JSON: names that have no form of their own are shown
//! member by member.

use std::io::{self, Write};

use dshlog_codec::json::{Doc, Js};
use dshlog_replay::projection::{Definition, Fault};
use jiff::tz::TimeZone;

use super::page::{Fold, Line, Page};
use super::style::Role;
use super::table::{Cell, Table};
use super::text::one_line;
use super::units;
use crate::transcript::said;

/// A state to show.
pub(crate) struct Shown<'a> {
    /// Its name.
    pub(crate) name: &'a str,
    /// The event behind which it stood; nothing for the end.
    pub(crate) at: Option<u64>,
    /// The state as JSON.
    pub(crate) told: Result<&'a [u8], &'a Fault>,
    /// Say which it is.
    pub(crate) titled: bool,
}

/// Where states are drawn.
struct Sheet<'w> {
    out: &'w mut dyn Write,
    width: usize,
    color: bool,
    zone: &'w TimeZone,
}

/// Name all states there are.
pub(crate) fn list(
    out: &mut dyn Write,
    width: usize,
    color: bool,
    definitions: &[Definition],
) -> io::Result<()> {
    let mut table = Table::new(&["NAME", "OF", "VERSION", "WHAT IT TELLS"]);
    for definition in definitions {
        table.row(vec![
            Cell::left(Role::Strong, definition.key),
            Cell::left(Role::Dim, definition.origin.name()),
            Cell::right(Role::Dim, definition.version.to_string()),
            Cell::left(Role::Plain, definition.about),
        ]);
    }
    table.write(out, width, color)
}

/// Show a state; `apart` from what stands above it.
pub(crate) fn write(
    out: &mut dyn Write,
    width: usize,
    color: bool,
    zone: &TimeZone,
    apart: bool,
    shown: &Shown<'_>,
) -> io::Result<()> {
    let mut sheet = Sheet { out, width, color, zone };
    if shown.titled {
        if apart {
            sheet.page().blank()?;
        }
        let behind = shown.at.map(|seq| format!("after seq {seq}")).unwrap_or_default();
        sheet.page().rule(Line::of(Role::Strong, shown.name), Line::of(Role::Dim, &behind))?;
    }
    let doc = match shown.told {
        Ok(state) => Doc::parse(String::from_utf8_lossy(state).into_owned()).ok(),
        Err(fault) => {
            let words = format!("no state: seq {}: {}", fault.seq, fault.reason);
            return sheet.line(Role::Bad, &words);
        }
    };
    let Some(doc) = doc else { return Ok(()) };
    let state = doc.root();
    match shown.name {
        "inbox" => sheet.inbox(state),
        "todos" => sheet.todos(state),
        "goal" => sheet.goal(state),
        "tokenUsage" => sheet.tokens(state),
        "sessionStats" => sheet.stats(state),
        "toolCalls" => sheet.tool_calls(state),
        "approvals" => sheet.approvals(state),
        "jobs" => sheet.jobs(state),
        "turnOutline" => sheet.outline(state),
        "subagentCatalog" => sheet.catalog(state),
        "subagentTiming" => sheet.timing(state),
        "sessionListMetadata" => sheet.list_metadata(state),
        _ => sheet.members(state),
    }
}

impl Sheet<'_> {
    fn page(&mut self) -> Page<'_> {
        Page::new(self.out, self.width, self.color, false)
    }

    fn line(&mut self, role: Role, text: &str) -> io::Result<()> {
        self.page().text(Line::default(), &Line::default(), role, text, Fold::Whole)
    }

    /// Names at the left, what is said of them at the right.
    fn facts(&mut self, facts: &[(&str, String)]) -> io::Result<()> {
        let label = facts.iter().map(|(name, _)| name.len()).max().unwrap_or(0) + 2;
        let rest = Line::of(Role::Plain, &" ".repeat(label));
        let mut page = self.page();
        facts.iter().try_for_each(|(name, value)| {
            let first = Line::of(Role::Dim, &format!("{name:<label$}"));
            page.text(first, &rest, Role::Plain, value, Fold::Whole)
        })
    }

    fn table(&mut self, table: &Table) -> io::Result<()> {
        table.write(self.out, self.width, self.color)
    }

    fn moment(&self, time: Option<Js<'_>>) -> String {
        let time = time.and_then(Js::as_safe_integer);
        time.map(|time| units::moment(time, self.zone, "%-d %b %Y %H:%M:%S")).unwrap_or_default()
    }

    /// The time of a member such as `{seq, time}`.
    fn when(&self, moment: Option<Js<'_>>) -> String {
        self.moment(moment.and_then(|moment| moment.get("time")))
    }

    fn members(&mut self, state: Js<'_>) -> io::Result<()> {
        if !state.is_object() {
            let words = word(Some(state));
            return if state.is_null() {
                self.line(Role::Dim, "none")
            } else {
                self.line(Role::Plain, &words)
            };
        }
        let names: Vec<_> = state.members().map(|(name, _)| name.to_lossy()).collect();
        let facts: Vec<_> = names
            .iter()
            .zip(state.members())
            .map(|(name, (_, value))| {
                (&**name, if value.is_null() { "none".to_owned() } else { word(Some(value)) })
            })
            .collect();
        if facts.is_empty() {
            return self.line(Role::Dim, "none");
        }
        self.facts(&facts)
    }

    fn inbox(&mut self, state: Js<'_>) -> io::Result<()> {
        let mut waiting = 0;
        for (name, label) in [("next-turn", "next turn"), ("next-step", "next step")] {
            for message in state.get(name).into_iter().flat_map(Js::elements) {
                waiting += 1;
                let source = message.get("source").and_then(|source| source.get("kind"));
                let first = Line::of(Role::Dim, &format!("{label:<11}")).with(Role::Strong, &word(source));
                let pad = 22_usize.saturating_sub(first.width()).max(1);
                let first = first.with(Role::Plain, &" ".repeat(pad));
                let rest = Line::of(Role::Plain, &" ".repeat(first.width()));
                self.page().text(
                    first,
                    &rest,
                    Role::Plain,
                    said(message.get("content")).trim(),
                    Fold::Head(3),
                )?;
            }
        }
        if waiting == 0 { self.line(Role::Dim, "nothing waits") } else { Ok(()) }
    }

    fn todos(&mut self, state: Js<'_>) -> io::Result<()> {
        if state.elements().next().is_none() {
            return self.line(Role::Dim, "no list");
        }
        state.elements().try_for_each(|todo| {
            let (mark, role) = match word(todo.get("status")).as_str() {
                "completed" => ("[x] ", Role::Good),
                "in_progress" => ("[~] ", Role::Warn),
                _ => ("[ ] ", Role::Plain),
            };
            let rest = Line::of(Role::Plain, "    ");
            let text = word(todo.get("content"));
            self.page().text(Line::of(role, mark), &rest, Role::Plain, &text, Fold::Whole)
        })
    }

    fn goal(&mut self, state: Js<'_>) -> io::Result<()> {
        match state.get("current").filter(|current| current.is_object()) {
            None => self.line(Role::Dim, "no goal")?,
            Some(current) => {
                let goal = current.get("goal");
                let of = |name: &str| word(goal.and_then(|goal| goal.get(name)));
                let mut facts = vec![("objective", of("objective")), ("phase", of("phase"))];
                if let Some(reason) = goal.and_then(|goal| goal.get("blockedReason")) {
                    let reason = format!("{} ({})", word(reason.get("message")), word(reason.get("code")));
                    facts.push(("blocked by", reason));
                }
                let rounds = word(current.get("roundsStarted"));
                facts.push(("rounds", format!("{rounds} of {}", of("maxGoalRounds"))));
                facts.push(("revision", of("revision")));
                facts.push(("created", self.moment(current.get("createdAt"))));
                facts.push(("updated", self.moment(current.get("updatedAt"))));
                facts.push(("id", of("id")));
                self.facts(&facts)?;
            }
        }
        match state.get("failure").and_then(Js::as_str) {
            Some(failure) => self.line(Role::Bad, &format!("frozen: {}", failure.to_lossy())),
            None => Ok(()),
        }
    }

    fn tokens(&mut self, state: Js<'_>) -> io::Result<()> {
        let of = |name: &str| grouped(state.path(&["totals", name]));
        self.facts(&[
            ("input", of("uncachedInputTokens")),
            ("cache read", of("cacheReadTokens")),
            ("cache write", of("cacheWriteTokens")),
            ("output", of("outputTokens")),
        ])
    }

    fn stats(&mut self, state: Js<'_>) -> io::Result<()> {
        let count = |name: &str| grouped(state.get(name));
        self.facts(&[
            ("turns", count("turns")),
            ("steps", count("steps")),
            ("model", span(state.get("llmMs"))),
            ("tools", span(state.get("toolMs"))),
            ("first token", format!("{} in {} steps", span(state.get("ttftMs")), count("ttftSteps"))),
            ("decoding", format!("{} for {} tokens", span(state.get("decodeMs")), count("decodeTokens"))),
        ])
    }

    fn tool_calls(&mut self, state: Js<'_>) -> io::Result<()> {
        let mut table = Table::new(&["SEQ", "STEP", "TOOL", "OUTCOME", "TOOK", "STARTED"]);
        for call in state.elements() {
            let begun = call.get("started").filter(|moment| moment.is_object()).or(call.get("asked"));
            table.row(vec![
                Cell::right(Role::Dim, word(begun.and_then(|moment| moment.get("seq")))),
                Cell::left(Role::Dim, format!("{}.{}", word(call.get("turn")), word(call.get("step")))),
                Cell::left(Role::Strong, word(call.get("name"))),
                outcome(&word(call.get("outcome")), &word(call.get("error"))),
                Cell::right(Role::Plain, span(call.get("ms"))),
                Cell::left(Role::Dim, self.when(call.get("started"))),
            ]);
        }
        self.rows(&table, state, "no calls")
    }

    fn approvals(&mut self, state: Js<'_>) -> io::Result<()> {
        let mut table = Table::new(&["SEQ", "TOOL", "OUTCOME", "TOOK", "REASON"]);
        for approval in state.elements() {
            let decided = word(approval.get("outcome"));
            let (role, decided) = match decided.as_str() {
                "" => (Role::Warn, "open".to_owned()),
                word if word.starts_with("allowed") => (Role::Good, decided),
                _ => (Role::Bad, decided),
            };
            table.row(vec![
                Cell::right(Role::Dim, word(approval.path(&["asked", "seq"]))),
                Cell::left(Role::Strong, word(approval.get("toolName"))),
                Cell::left(role, decided),
                Cell::right(Role::Plain, span(approval.get("ms"))),
                Cell::left(Role::Plain, one_line(&word(approval.get("reason")))),
            ]);
        }
        self.rows(&table, state, "nothing was asked")
    }

    fn jobs(&mut self, state: Js<'_>) -> io::Result<()> {
        let mut table = Table::new(&["SEQ", "KIND", "STATUS", "TOOK", "LABEL"]);
        for job in state.elements() {
            let at = |name: &str| job.get(name).and_then(Js::as_safe_integer);
            let took = at("startedAt").zip(at("finishedAt"));
            let took = took.map(|(start, end)| units::duration(end.saturating_sub(start)));
            let status = word(job.get("status"));
            table.row(vec![
                Cell::right(Role::Dim, word(job.path(&["registered", "seq"]))),
                Cell::left(Role::Strong, word(job.get("kind"))),
                Cell::left(Role::Plain, if status.is_empty() { "running".to_owned() } else { status }),
                Cell::right(Role::Plain, took.unwrap_or_default()),
                Cell::left(Role::Plain, one_line(&word(job.get("label")))),
            ]);
        }
        self.rows(&table, state, "no jobs")
    }

    fn outline(&mut self, state: Js<'_>) -> io::Result<()> {
        let turns = state.get("turns").unwrap_or(state);
        let mut table = Table::new(&["TURN", "SEQ", "PROMPT", "RESPONSE"]);
        for turn in turns.elements() {
            table.row(vec![
                Cell::right(Role::Strong, word(turn.get("turn"))),
                Cell::right(Role::Dim, word(turn.get("seq"))),
                Cell::left(Role::Plain, word(turn.get("prompt"))),
                Cell::left(Role::Plain, word(turn.get("response"))),
            ]);
        }
        self.rows(&table, turns, "no turns")
    }

    fn catalog(&mut self, state: Js<'_>) -> io::Result<()> {
        // The last entries stand outermost.
        let mut chunks = Vec::new();
        let mut head = state.get("head");
        while let Some(chunk) = head {
            chunks.extend(chunk.get("values"));
            head = chunk.get("previous");
        }
        let mut table = Table::new(&["ID", "MODE", "CREATED", "LABEL"]);
        for child in chunks.iter().rev().flat_map(|values| values.elements()) {
            table.row(vec![
                Cell::left(Role::Strong, word(child.get("childId"))),
                Cell::left(Role::Plain, word(child.get("mode"))),
                Cell::left(Role::Dim, self.moment(child.get("childCreatedAt"))),
                Cell::left(Role::Plain, one_line(&word(child.get("label")))),
            ]);
        }
        match chunks.first() {
            Some(chunk) => self.rows(&table, *chunk, ""),
            None => self.line(Role::Dim, "no subagents"),
        }
    }

    fn timing(&mut self, state: Js<'_>) -> io::Result<()> {
        if !state.get("descriptorSeen").is_some_and(Js::is_true) {
            return self.line(Role::Dim, "no subagent");
        }
        let mut facts = vec![("worked", span(state.get("settledMs")))];
        if let Some(active) = state.get("active") {
            facts.push(("since", self.moment(active.get("since"))));
            facts.push(("through", self.moment(active.get("through"))));
        }
        if let Some(completed) = state.get("lastTurnCompleted") {
            facts.push(("completed", word(Some(completed))));
        }
        self.facts(&facts)
    }

    fn list_metadata(&mut self, state: Js<'_>) -> io::Result<()> {
        let last = self.moment(state.get("lastPromptAt"));
        self.facts(&[
            ("blank", word(state.get("blank"))),
            ("last prompt", if last.is_empty() { "none".to_owned() } else { last }),
        ])
    }

    /// A table of what a list holds, or a word for an empty one.
    fn rows(&mut self, table: &Table, list: Js<'_>, empty: &str) -> io::Result<()> {
        let is_empty = list.is_array() && list.elements().next().is_none();
        if is_empty { self.line(Role::Dim, empty) } else { self.table(table) }
    }
}

/// How a call went.
fn outcome(outcome: &str, error: &str) -> Cell {
    let role = match outcome {
        "done" => Role::Good,
        "failed" => Role::Bad,
        _ => Role::Warn,
    };
    if error.is_empty() { Cell::left(role, outcome) } else { Cell::left(role, format!("{outcome}: {error}")) }
}

/// A string as it is, anything else as JSON; null and what is missing as nothing.
fn word(value: Option<Js<'_>>) -> String {
    match value {
        Some(value) if !value.is_null() => match value.as_str() {
            Some(text) => text.to_lossy().into_owned(),
            None => value.raw().to_owned(),
        },
        _ => String::new(),
    }
}

/// A count with its digits in groups.
fn grouped(value: Option<Js<'_>>) -> String {
    value.and_then(Js::as_count).map_or_else(|| word(value), units::grouped)
}

/// Milliseconds as a span; fractions are cut.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a span beyond 2^63 milliseconds is as good as the longest"
)]
fn span(value: Option<Js<'_>>) -> String {
    value.and_then(Js::as_f64).map(|millis| units::duration(millis as i64)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What no log of the corpora holds. Foreign text is made visible everywhere.
    #[test]
    fn forms() {
        for (name, state, expected) in [
            (
                "todos",
                r#"[{"status":"completed","content":"a\u001b[31m"},{"status":"in_progress","content":"b"},{"status":"x","content":"c"}]"#,
                "[x] a\\x1b[31m\n[~] b\n[ ] c\n",
            ),
            (
                "inbox",
                r#"{"next-turn":[],"next-step":[{"source":{"kind":"a\u0007"},"content":[{"type":"text","text":"say\rit"},{"type":"image"}]}]}"#,
                "next step  a\\x07      say\\rit\n                      [image]\n",
            ),
            (
                "goal",
                r#"{"current":{"goal":{"id":"g","revision":2,"objective":"Do\u009b it","phase":"blocked","maxGoalRounds":3,"blockedReason":{"code":"no-way","message":"m"}},"roundsStarted":1,"createdAt":0,"updatedAt":0},"seenGoalIds":["g"],"failure":"goal replay failed"}"#,
                "objective   Do\\x9b it\nphase       blocked\nblocked by  m (no-way)\nrounds      1 of 3\nrevision    2\n\
                 created     1 Jan 1970 00:00:00\nupdated     1 Jan 1970 00:00:00\nid          g\nfrozen: goal replay failed\n",
            ),
            (
                "approvals",
                r#"[{"toolName":"bash\u001b","reason":"two\nlines","asked":{"seq":7,"time":0},"ms":null,"outcome":null}]"#,
                "SEQ  TOOL      OUTCOME  TOOK  REASON\n  7  bash\\x1b  open           two lines\n",
            ),
            (
                "jobs",
                r#"[{"kind":"bash","label":"L","status":null,"startedAt":5,"finishedAt":null,"registered":{"seq":7,"time":0}}]"#,
                "SEQ  KIND  STATUS   TOOK  LABEL\n  7  bash  running        L\n",
            ),
            (
                "toolCalls",
                r#"[{"name":"bash","turn":1,"step":2,"asked":{"seq":7,"time":0},"started":null,"ms":null,"outcome":"asked","error":null}]"#,
                "SEQ  STEP  TOOL  OUTCOME  TOOK  STARTED\n  7  1.2   bash  asked\n",
            ),
            (
                "subagentCatalog",
                r#"{"inheritedEventCount":0,"head":{"values":[{"childId":"b","childCreatedAt":0,"mode":"unknown"}],"previous":{"values":[{"childId":"a","childCreatedAt":0,"mode":"one-shot","label":"L"}]}}}"#,
                "ID  MODE      CREATED              LABEL\na   one-shot  1 Jan 1970 00:00:00  L\nb   unknown   1 Jan 1970 00:00:00\n",
            ),
            (
                "subagentTiming",
                r#"{"descriptorSeen":true,"settledMs":1500,"active":{"since":0,"through":1000}}"#,
                "worked   1.5 s\nsince    1 Jan 1970 00:00:00\nthrough  1 Jan 1970 00:00:01\n",
            ),
            ("sandboxMode", "\"read-only\"", "read-only\n"),
            ("subagent", "{}", "none\n"),
            ("llmRetry", r#"{"[\"p\"]":{"retry":1}}"#, "[\"p\"]  {\"retry\":1}\n"),
        ] {
            let mut out = Vec::new();
            let shown = Shown { name, at: None, told: Ok(state.as_bytes()), titled: false };
            write(&mut out, 80, false, &TimeZone::UTC, false, &shown).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected, "{name}");
        }
    }
}
