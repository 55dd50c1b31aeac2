//! Turns: where they begin and end, and what was said in them (`docs/spec/surface.md`, 10.2 and 10.7).

use dshlog_codec::check::EventType;
use dshlog_codec::json::{JsString, Tree};
use dshlog_codec::{Event, Seq};

use super::preview::preview;
use super::value::{Kept, count, count_or_null, null, number, object};
use super::{Fold, Start};

#[derive(Debug, Default)]
struct Boundary {
    open_turn: Option<Seq>,
    last_step: Option<Seq>,
    /// The last start or end of a step.
    last_edge: Option<(&'static str, Seq)>,
    last_turn: u64,
}

pub(super) fn boundary(_: &Start<'_>) -> Box<dyn Fold> {
    Box::<Boundary>::default()
}

impl Fold for Boundary {
    fn see(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), String> {
        match kind {
            Some(EventType::TurnStart) => {
                if let Some(turn) = count(event.data, "turn") {
                    self.open_turn = Some(event.seq);
                    self.last_turn = turn;
                }
            }
            Some(EventType::TurnEnd) => self.open_turn = None,
            Some(EventType::StepStart) => {
                self.last_step = Some(event.seq);
                self.last_edge = Some(("start", event.seq));
            }
            Some(EventType::StepEnd) => self.last_edge = Some(("end", event.seq)),
            _ => {}
        }
        Ok(())
    }

    fn state(&self) -> Tree<'static> {
        let seq = |seq: Option<Seq>| count_or_null(seq.map(|seq| seq.0));
        let boundary = self.last_edge.map_or_else(null, |(kind, seq)| {
            object([("kind", Tree::string(kind)), ("seq", Tree::integer(seq.0))])
        });
        object([
            ("openTurnStartSeq", seq(self.open_turn)),
            ("lastStepStartSeq", seq(self.last_step)),
            ("lastStepBoundary", boundary),
            ("lastTurn", Tree::integer(self.last_turn)),
        ])
    }

    fn view(&self) -> Option<Tree<'static>> {
        None
    }
}

#[derive(Debug)]
struct ListMetadata {
    blank: bool,
    last_prompt: Option<i64>,
}

pub(super) fn list_metadata(_: &Start<'_>) -> Box<dyn Fold> {
    Box::new(ListMetadata { blank: true, last_prompt: None })
}

impl Fold for ListMetadata {
    fn see(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), String> {
        match kind {
            Some(EventType::TurnStart) => self.blank = false,
            Some(EventType::UserMessage) if is_from_user(event) => self.last_prompt = Some(event.time.0),
            _ => {}
        }
        Ok(())
    }

    #[expect(clippy::cast_precision_loss, reason = "times are safe integers")]
    fn state(&self) -> Tree<'static> {
        let time = self.last_prompt.map_or_else(null, |time| number(time as f64));
        object([("blank", Tree::bool(self.blank)), ("lastPromptAt", time)])
    }

    fn view(&self) -> Option<Tree<'static>> {
        Some(self.state())
    }
}

/// Lengths of previews, in UTF-16 units.
const PROMPT: usize = 50;
const RESPONSE: usize = 120;

#[derive(Debug)]
struct Turn {
    number: u64,
    seq: Seq,
    prompt: JsString,
    response: JsString,
}

#[derive(Debug, Default)]
struct Outline {
    turns: Vec<Turn>,
    /// The last thing that the agent said in this turn.
    draft: JsString,
}

pub(super) fn outline(_: &Start<'_>) -> Box<dyn Fold> {
    Box::<Outline>::default()
}

impl Fold for Outline {
    fn see(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), String> {
        match kind {
            Some(EventType::TurnStart) => {
                let Some(number) = count(event.data, "turn") else { return Ok(()) };
                if self.turns.last().is_none_or(|last| number > last.number) {
                    let (prompt, response) = (JsString::default(), JsString::default());
                    self.turns.push(Turn { number, seq: event.seq, prompt, response });
                    self.draft = JsString::default();
                }
            }
            Some(EventType::UserMessage) if is_from_user(event) => {
                if let Some(turn) = self.turns.last_mut().filter(|turn| turn.prompt.is_empty()) {
                    turn.prompt = preview(event.member("content"), PROMPT);
                }
            }
            Some(EventType::AssistantMessage) => {
                let content = event.member("message").and_then(|message| message.get("content"));
                let draft = preview(content, RESPONSE);
                if !draft.is_empty() {
                    self.draft = draft;
                }
            }
            Some(EventType::TurnEnd) => {
                let draft = std::mem::take(&mut self.draft);
                if let Some(turn) = self.turns.last_mut().filter(|_| !draft.is_empty()) {
                    turn.response = draft;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn state(&self) -> Tree<'static> {
        object([("turns", self.list()), ("draft", Kept::string(&self.draft).tree())])
    }

    fn view(&self) -> Option<Tree<'static>> {
        Some(self.list())
    }
}

impl Outline {
    fn list(&self) -> Tree<'static> {
        let turn = |turn: &Turn| {
            object([
                ("turn", Tree::integer(turn.number)),
                ("seq", Tree::integer(turn.seq.0)),
                ("prompt", Kept::string(&turn.prompt).tree()),
                ("response", Kept::string(&turn.response).tree()),
            ])
        };
        Tree::Array(self.turns.iter().map(turn).collect())
    }
}

/// True for what the human said.
pub(super) fn is_from_user(event: &Event<'_>) -> bool {
    event.member("source").and_then(|source| source.get("kind")).is_some_and(|kind| kind.is("user"))
}
