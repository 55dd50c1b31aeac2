//! How the turns, steps and requests of a log went.

use dshlog_codec::Event;
use dshlog_codec::json::Js;
use dshlog_replay::{Surface, stream};

use crate::render::text::{clip, one_line};
use crate::transcript::{Body, Entry, Fold, Mood, Summary, Usage, Who};

/// Columns that are kept of what a turn or a call is about.
const ABOUT: usize = 100;

/// What one walk over a log leaves.
#[derive(Debug, Default)]
pub(crate) struct Outline {
    /// Counts and names.
    pub(crate) summary: Summary,
    /// The turns, in order.
    pub(crate) turns: Vec<Turn>,
    /// Sessions that this one started.
    pub(crate) children: Vec<Child>,
    /// What the model no longer sees.
    pub(crate) surface: Surface,
    /// Tells of calls how they ended, and of turns how they went.
    fold: Fold,
    model: Option<String>,
    /// When the request began that tries again.
    retried: Option<i64>,
}

/// A turn.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    /// Its number.
    pub(crate) number: u64,
    /// The event that began it.
    pub(crate) seq: u64,
    /// When that was, epoch milliseconds.
    pub(crate) time: i64,
    /// The first line of what was asked, cut to a few words.
    pub(crate) about: String,
    /// How it ended; nothing when it did not.
    pub(crate) end: Option<Ended>,
    /// Its steps, in order.
    pub(crate) steps: Vec<Step>,
}

/// The end of a turn.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    /// The event that ended it.
    pub(crate) seq: u64,
    /// When that was.
    pub(crate) time: i64,
    /// How it went.
    pub(crate) mood: Mood,
    /// The same in words.
    pub(crate) outcome: String,
    /// Tokens of all requests, each step counted once.
    pub(crate) usage: Usage,
}

/// A step: requests until one is answered, then the calls that the answer asked for.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// Its number within the turn.
    pub(crate) number: u64,
    /// The event that began it.
    pub(crate) seq: u64,
    /// When that was.
    pub(crate) time: i64,
    /// The event that ended it, and when that was.
    pub(crate) end: Option<(u64, i64)>,
    /// Requests to the model, failed ones included.
    pub(crate) requests: Vec<Request>,
    /// Calls of tools.
    pub(crate) tools: Vec<Span>,
}

/// A request to the model.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// The event with its answer, or with what came of it instead.
    pub(crate) seq: u64,
    /// When its step, or its retry, began.
    pub(crate) start: i64,
    /// When the first token came.
    pub(crate) first: Option<i64>,
    /// When it was settled.
    pub(crate) end: i64,
    /// It was answered.
    pub(crate) answered: bool,
    /// The model that was asked.
    pub(crate) model: Option<String>,
    /// Tokens.
    pub(crate) usage: Option<Usage>,
}

/// A call of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    /// The event of the call.
    pub(crate) seq: u64,
    /// The tool.
    pub(crate) name: String,
    /// What the call is about, cut to a few words.
    pub(crate) about: String,
    /// When it was made.
    pub(crate) start: i64,
    /// When its result came; nothing when none did.
    pub(crate) end: Option<i64>,
    /// How it went.
    pub(crate) mood: Mood,
}

/// A session that another one started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Child {
    /// Its id.
    pub(crate) id: String,
    /// `one-shot`, `continuable`, ...
    pub(crate) mode: String,
    /// What its parent calls it.
    pub(crate) label: Option<String>,
}

impl Outline {
    /// Take in the next event.
    pub(crate) fn see(&mut self, event: &Event<'_>) {
        self.summary.see(event);
        // Nothing here judges a log: what does not fold is passed over.
        _ = self.surface.see(event);
        let count = |name| event.member(name).and_then(Js::as_count);
        let (seq, time) = (event.seq.0, event.time.0);
        match &*event.kind.to_lossy() {
            "turn/start" => self.turns.push(Turn {
                number: count("turn").unwrap_or(0),
                seq,
                time,
                about: String::new(),
                end: None,
                steps: Vec::new(),
            }),
            "step/start" => {
                let number = count("step").unwrap_or(0);
                if let Some(turn) = self.turns.last_mut() {
                    let (requests, tools) = (Vec::new(), Vec::new());
                    turn.steps.push(Step { number, seq, time, end: None, requests, tools });
                }
            }
            "request/header" => {
                let model = event.member("header").and_then(|header| header.path(&["config", "model"]));
                self.model = model.and_then(Js::as_str).map(|model| model.to_lossy().into_owned());
            }
            "assistant/message" | "assistant/attempt" => self.request(event),
            "subagent/catalog" => self.child(event),
            _ => {}
        }
        self.fold.see(event);
        self.take_entries();
        match &*event.kind.to_lossy() {
            "step/end" => {
                if let Some(step) = self.turns.last_mut().and_then(|turn| turn.steps.last_mut()) {
                    step.end = Some((seq, time));
                }
            }
            "llm/retry-started" => self.retried = Some(time),
            _ => {}
        }
    }

    /// The log ends here.
    pub(crate) fn finish(&mut self) {
        self.fold.finish();
        self.take_entries();
    }

    /// The turn that an event stands in.
    pub(crate) fn turn_at(&self, seq: u64) -> Option<&Turn> {
        let at = self.turns.partition_point(|turn| turn.seq <= seq).checked_sub(1)?;
        let turn = self.turns.get(at)?;
        turn.end.as_ref().is_none_or(|end| seq <= end.seq).then_some(turn)
    }

    fn take_entries(&mut self) {
        for entry in self.fold.ready().collect::<Vec<_>>() {
            self.entry(&entry);
        }
    }

    /// What the transcript says of calls and turns.
    fn entry(&mut self, entry: &Entry) {
        let at = self.turns.partition_point(|turn| turn.seq <= entry.seq);
        let Some(turn) = at.checked_sub(1).and_then(|at| self.turns.get_mut(at)) else { return };
        match &entry.body {
            Body::Said(said) if said.who == Who::You && turn.about.is_empty() => {
                turn.about = few_words(&said.text);
            }
            Body::Tool(run) => {
                let Some(step) = turn.steps.iter_mut().rfind(|step| step.seq <= entry.seq) else { return };
                step.tools.push(Span {
                    seq: entry.seq,
                    name: run.name.clone(),
                    about: few_words(&run.argument),
                    start: entry.time.saturating_sub(run.millis.unwrap_or(0)),
                    end: run.millis.map(|_| entry.time),
                    mood: run.mood,
                });
            }
            Body::TurnEnd(end) => {
                turn.end = Some(Ended {
                    seq: entry.seq,
                    time: entry.time,
                    mood: end.mood,
                    outcome: end.outcome.clone(),
                    usage: end.usage,
                });
            }
            _ => {}
        }
    }

    fn request(&mut self, event: &Event<'_>) {
        let Some(step) = self.turns.last_mut().and_then(|turn| turn.steps.last_mut()) else { return };
        let before = step.requests.last().map(|request| request.end);
        step.requests.push(Request {
            seq: event.seq.0,
            start: self.retried.take().or(before).unwrap_or(step.time),
            first: stream::first_token(event).map(|time| time.0),
            end: event.time.0,
            answered: event.is("assistant/message"),
            model: self.model.clone(),
            usage: Usage::settled(event),
        });
    }

    fn child(&mut self, event: &Event<'_>) {
        let text = |name| Some(event.member(name)?.as_str()?.to_lossy().into_owned());
        let Some(id) = text("childId") else { return };
        if self.children.iter().all(|child| child.id != id) {
            let (mode, label) = (text("mode").unwrap_or_default(), text("label"));
            self.children.push(Child { id, mode, label });
        }
    }
}

impl Turn {
    /// The step that an event stands in.
    pub(crate) fn step_at(&self, seq: u64) -> Option<&Step> {
        let at = self.steps.partition_point(|step| step.seq <= seq).checked_sub(1)?;
        let step = self.steps.get(at)?;
        step.end.is_none_or(|(end, _)| seq <= end).then_some(step)
    }
}

fn few_words(text: &str) -> String {
    // Enough characters for so many columns.
    let start: String = text.trim_start().chars().take(4 * ABOUT).collect();
    clip(&one_line(&start), ABOUT).into_owned()
}

#[cfg(test)]
mod tests {
    use dshlog_codec::Place;
    use dshlog_codec::json::Doc;

    use super::*;

    fn outline(rows: &[(&str, i64, &str)]) -> Outline {
        let mut outline = Outline::default();
        for (seq, (kind, time, data)) in rows.iter().enumerate() {
            let row = format!(r#"{{"type":"{kind}","seq":{seq},"time":{time},"data":{data}}}"#);
            let doc = Doc::parse(row).unwrap();
            outline.see(&Event::from_row(doc.root(), Place::default()));
        }
        outline.finish();
        outline
    }

    /// The vector of `docs/spec/surface.md`, 11.5, and what follows a retry.
    #[test]
    fn requests_and_calls_have_their_times() {
        let call = r#"{"turn":1,"step":1,"callId":"c","name":"bash","arguments":"{\"command\":\"ls\"}"}"#;
        let outline = outline(&[
            ("turn/start", 100, r#"{"turn":1}"#),
            ("step/start", 110, r#"{"turn":1,"step":1}"#),
            (
                "assistant/attempt",
                120,
                r#"{"turn":1,"step":1,"stream":[{"type":"text-chunks","time0":115,"index":0,"dt":[2],"texts":["","a"]}]}"#,
            ),
            ("llm/retry-started", 130, r#"{"turn":1,"step":1,"retry":1,"retryId":"r"}"#),
            (
                "assistant/message",
                150,
                r#"{"turn":1,"step":1,"stream":[],"usage":{"inputTokens":3,"outputTokens":7},"message":{"content":[]}}"#,
            ),
            ("tool/call", 151, call),
            (
                "tool/result",
                181,
                r#"{"turn":1,"step":1,"message":{"toolCallId":"c","isError":true,"content":[]}}"#,
            ),
            ("step/end", 182, r#"{"turn":1,"step":1}"#),
            (
                "user/message",
                183,
                r#"{"source":{"kind":"user"},"content":[{"type":"text","text":" a\n b "}]}"#,
            ),
            ("turn/end", 184, r#"{"turn":1,"reason":{"kind":"completed"}}"#),
        ]);
        let [turn] = outline.turns.as_slice() else { panic!("{:?}", outline.turns) };
        let [step] = turn.steps.as_slice() else { panic!("{:?}", turn.steps) };
        assert_eq!((turn.about.as_str(), step.end), ("a b", Some((7, 182))));
        let requests: Vec<_> =
            step.requests.iter().map(|r| (r.seq, r.start, r.first, r.end, r.answered)).collect();
        assert_eq!(requests, [(2, 110, Some(117), 120, false), (4, 130, None, 150, true)]);
        let [span] = step.tools.as_slice() else { panic!("{:?}", step.tools) };
        assert_eq!((span.seq, span.start, span.end, span.mood), (5, 151, Some(181), Mood::Bad));
        assert_eq!((span.name.as_str(), span.about.as_str()), ("bash", "ls"));
        let end = turn.end.as_ref().unwrap();
        assert_eq!((end.seq, end.usage.output, end.mood), (9, 7, Mood::Good));
        assert_eq!(turn.step_at(5).map(|step| step.number), Some(1));
        assert_eq!(turn.step_at(8).map(|step| step.number), None);
        assert_eq!(outline.turn_at(10).map(|turn| turn.number), None);
    }
}
