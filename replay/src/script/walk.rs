//! One log, event by event.

use dshlog_codec::check::EventType;
use dshlog_codec::json::{Js, JsStr};
use dshlog_codec::{Event, Millis, Seq};
use dshlog_fixture_server::script::{
    Block, Exchange, Expect, Matcher, Message, Response, Side, Stop, TextIs, WaitFor,
};
use dshlog_fixture_server::{self as server, Kind, json};

use super::response::response;
use super::{Asked, Gap, Missing, Options, Scripted, Why};
use crate::agent::rerun::Record;
use crate::request::call::{COMPACTION_TOKENS_CHAT, Call};
use crate::request::chat::ChatPrinter;
use crate::request::messages::MessagesPrinter;
use crate::request::refusal::Refusal;
use crate::request::{Request, Requests};
use crate::wire::{Chunk, Dialect, Fidelity, Recorded, Recordings, respond, summary_answer, title_answer};

/// What the client says of a compaction whose answer it could not use (`docs/spec/messages-wire.md`, 11.4).
const NO_TEXT: &str = "summarization produced no text summary content";
const TRUNCATED: &str = "summarization truncated at the token cap (incomplete checkpoint)";
const TOO_LARGE: &str = "summary is not smaller than";

/// A log on its way into a script.
pub(super) struct Walk<'w> {
    number: usize,
    record: &'w Record,
    lane: Option<String>,
    options: Options<'w>,
    scripted: &'w mut Scripted,
    requests: Requests,
    recordings: Recordings,
    messages: MessagesPrinter,
    chat: ChatPrinter,
    /// What a conversation begins with, where that tells it from others.
    begins: Option<String>,
    /// It has begun.
    has_begun: bool,
    /// The side rule whose title is still to come.
    title: Option<usize>,
    /// The side rule whose title came.
    titled: Option<usize>,
    /// Its first exchange.
    first: Option<usize>,
}

/// What an agent gets to write down a title, in milliseconds, before its answer comes.
const TITLE_MS: u64 = 150;

impl<'w> Walk<'w> {
    pub(super) fn new(
        number: usize,
        record: &'w Record,
        lane: Option<String>,
        options: Options<'w>,
        scripted: &'w mut Scripted,
    ) -> Self {
        Walk {
            begins: lane.as_ref().and_then(|_| first_user(record)),
            has_begun: false,
            number,
            record,
            lane,
            options,
            scripted,
            requests: Requests::new(),
            recordings: Recordings::new(),
            messages: MessagesPrinter::new(options.route),
            chat: ChatPrinter::new(options.route),
            title: None,
            titled: None,
            first: None,
        }
    }

    pub(super) fn all(mut self) -> Result<(), Why> {
        self.events()?;
        if self.options.title_wait_ms > 0 {
            self.hold_first();
        }
        Ok(())
    }

    /// The first answer waits for the title, if that came.
    fn hold_first(&mut self) {
        let Some(title) = self.titled.and_then(|side| self.scripted.script.side.get(side)) else { return };
        let name = title.name.clone();
        let first = self.first.and_then(|first| self.scripted.script.exchanges.get_mut(first));
        if let Some(first) = first {
            let at_most_ms = self.options.title_wait_ms;
            first.respond.wait_for = Some(WaitFor { name, at_most_ms });
            first.respond.pace.before_status_ms = TITLE_MS;
        }
    }

    fn events(&mut self) -> Result<(), Why> {
        for at in 0..self.record.len() {
            let Some(event) = self.record.event(at) else { break };
            let recording = self.recordings.see(&event);
            if at >= self.record.inherited() {
                if let Some(recording) = recording? {
                    self.settled(&event, recording.recorded())?;
                }
                self.side(&event)?;
            }
            self.requests.see(&event)?;
        }
        Ok(())
    }

    fn side(&mut self, event: &Event<'_>) -> Result<(), Why> {
        match EventType::of(event.kind) {
            _ if self.options.loop_only => Ok(()),
            Some(EventType::TitleRequest) => self.title_asked(event),
            Some(EventType::Title) => self.title_came(event),
            Some(EventType::CompactionSummary | EventType::CompactionEnd) => self.compaction(event),
            _ => Ok(()),
        }
    }

    /// The language of whoever asks for what is recorded here.
    fn dialect(&self, seq: Seq) -> Dialect {
        self.options.dialect.unwrap_or_else(|| self.record.dialect(seq))
    }

    /// A step of the agent.
    fn settled(&mut self, event: &Event<'_>, recorded: Recorded<'_>) -> Result<(), Why> {
        let dialect = self.dialect(event.seq);
        // What failed before it was sent is in no conversation.
        let Some(served) = respond(recorded, dialect, self.options.fidelity)? else { return Ok(()) };
        let call = self.requests.settled(event).map(Request::call);
        let body = match call {
            Some(Ok(call)) => print(&mut self.messages, &mut self.chat, &call, dialect, self.options),
            Some(Err(refusal)) => Err(refusal),
            None => Err(Refusal::NoHeader),
        };
        let expect = self.expect(event.seq, body)?;
        self.exchange(event.seq, Kind::Agent, expect, response(served, self.options.pauses));
        Ok(())
    }

    fn exchange(&mut self, seq: Seq, kind: Kind, expect: Option<Expect>, respond: Response) {
        // One dialect joins what else a message holds to its first text.
        let first_user = self
            .begins
            .as_ref()
            .filter(|_| !self.has_begun)
            .map(|text| TextIs { starts_with: Some(text.clone()), ..TextIs::default() });
        self.has_begun = true;
        self.first.get_or_insert(self.scripted.script.exchanges.len());
        let dialect = Some(wire(self.dialect(seq)));
        let matcher = Matcher { kind: Some(kind), dialect, first_user, ..Matcher::default() };
        self.scripted.script.exchanges.push(Exchange {
            name: format!("seq {seq}"),
            lane: self.lane.clone(),
            matcher,
            expect,
            respond,
            ..Exchange::default()
        });
        self.scripted.exchanges.push(Asked { record: self.number, seq });
    }

    /// What the whole request must be; nothing when that cannot be told.
    fn expect(&mut self, seq: Seq, body: Result<Vec<u8>, Refusal>) -> Result<Option<Expect>, Why> {
        match body {
            Ok(body) => {
                let body = json::parse(&body).map_err(|source| Why::Body { seq, source })?;
                let expect = Expect { on_diverged: self.options.on_diverged, ..Expect::body(body) };
                Ok(Some(expect.with_rules(server::Rule::ALL)))
            }
            Err(refusal) => {
                self.gap(seq, Missing::Body(refusal));
                Ok(None)
            }
        }
    }

    fn gap(&mut self, seq: Seq, what: Missing) {
        self.scripted.gaps.push(Gap { asked: Asked { record: self.number, seq }, what });
    }

    /// A title is asked for. Until one comes the request fails, which leaves no trace in a log.
    fn title_asked(&mut self, event: &Event<'_>) -> Result<(), Why> {
        let Some(call) = Call::title(event) else { return Ok(()) };
        let dialect = self.dialect(event.seq);
        let body = print(&mut self.messages, &mut self.chat, &call, dialect, self.options);
        let expect = self.expect(event.seq, body)?;
        self.title = Some(self.scripted.script.side.len());
        self.scripted.script.side.push(Side {
            name: match &self.lane {
                Some(lane) => format!("title, seq {} of {lane}", event.seq),
                None => format!("title, seq {}", event.seq),
            },
            matcher: Matcher {
                kind: Some(Kind::Title),
                dialect: Some(wire(dialect)),
                last_user: self.begins.as_ref().map(|text| TextIs::containing(json::quote(text))),
                ..Matcher::default()
            },
            expect,
            times: Some(1),
            respond: Response::error(400, "invalid_request_error", "no title is recorded"),
        });
        self.scripted.side.push(Asked { record: self.number, seq: event.seq });
        Ok(())
    }

    fn title_came(&mut self, event: &Event<'_>) -> Result<(), Why> {
        let source = event.member("source");
        if !source.and_then(|source| source.get("kind")).is_some_and(|kind| kind.is("provider")) {
            return Ok(());
        }
        let dialect = self.dialect(event.seq);
        let Some(number) = self.title.take() else { return Ok(()) };
        let Some(side) = self.scripted.script.side.get_mut(number) else { return Ok(()) };
        self.titled.get_or_insert(number);
        let text =
            |value: Option<Js<'_>>| value.and_then(Js::as_str).map(JsStr::to_owned).unwrap_or_default();
        let model = source.and_then(|source| source.path(&["model", "model"]));
        let chunks = title_answer(text(event.member("title")), text(model), dialect);
        side.respond = answer(event.seq, &chunks, dialect)?;
        Ok(())
    }

    /// A compaction came to its end.
    fn compaction(&mut self, event: &Event<'_>) -> Result<(), Why> {
        let Some(mut compaction) = self.requests.compaction(event) else { return Ok(()) };
        let dialect = self.dialect(event.seq);
        let Some(respond) = self.compaction_answer(event, dialect)? else { return Ok(()) };
        if self.record.dialect(event.seq) == Dialect::Chat {
            compaction.max_tokens.get_or_insert(COMPACTION_TOKENS_CHAT);
        }
        let call = self.requests.compaction_call(&compaction, self.options.instruction, None);
        let body = match call {
            Ok(call) => print(&mut self.messages, &mut self.chat, &call, dialect, self.options),
            Err(refusal) => Err(refusal),
        };
        let mut expect = self.expect(event.seq, body)?;
        if (self.options.instruction.is_none() || compaction.shown.is_none())
            && let Some(expect) = &mut expect
        {
            expect.ignore.push("/messages".to_owned());
        }
        self.exchange(event.seq, Kind::Compaction, expect, respond);
        Ok(())
    }

    /// What the model says to a compaction; nothing when it was not asked.
    fn compaction_answer(&mut self, event: &Event<'_>, dialect: Dialect) -> Result<Option<Response>, Why> {
        if EventType::of(event.kind) == Some(EventType::CompactionSummary) {
            let chunks = summary_answer(event, dialect);
            return chunks.map(|chunks| answer(event.seq, &chunks, dialect)).transpose();
        }
        let Some(error) = event.member("error").and_then(Js::as_str) else { return Ok(None) };
        let error = error.to_string();
        let said = |text: &str, stop| {
            let blocks = vec![Block::text(text)];
            Response { message: Some(Message { blocks, stop, ..Message::default() }), ..Response::default() }
        };
        Ok(Some(match error.as_str() {
            // An answer without any block would be another failure.
            NO_TEXT => Response::blocks([Block::Thinking {
                text: "No words for it.".to_owned(),
                split: Vec::new(),
                pieces: Vec::new(),
                signature: None,
            }]),
            TRUNCATED => said("The beginning of a summary", Some(Stop::MaxTokens)),
            text if text.starts_with(TOO_LARGE) => {
                self.gap(event.seq, Missing::Answer);
                said(&"too long ".repeat(tokens(text)), None)
            }
            _ => Response::error(400, "invalid_request_error", error),
        }))
    }
}

/// How many tokens an error says that a summary had.
fn tokens(error: &str) -> usize {
    let digits = error.split_once('(').map_or("", |(_, rest)| rest);
    digits.split(' ').next().and_then(|digits| digits.parse().ok()).unwrap_or_default()
}

fn print(
    messages: &mut MessagesPrinter,
    chat: &mut ChatPrinter,
    call: &Call<'_>,
    dialect: Dialect,
    options: Options<'_>,
) -> Result<Vec<u8>, Refusal> {
    match dialect {
        Dialect::Messages => messages.body(call, options.attachments).map(|body| body.json),
        Dialect::Chat => chat.body(call, options.attachments),
    }
}

/// The response that gives these chunks, which are none that were cut.
fn answer(seq: Seq, chunks: &[(Millis, Chunk)], dialect: Dialect) -> Result<Response, Why> {
    let recorded = Recorded { seq, chunks, is_accepted: true };
    let served = respond(recorded, dialect, Fidelity::Exact)?;
    Ok(served.map(|served| response(served, false)).unwrap_or_default())
}

fn wire(dialect: Dialect) -> server::Dialect {
    match dialect {
        Dialect::Messages => server::Dialect::Messages,
        Dialect::Chat => server::Dialect::Chat,
    }
}

/// The first text that a user said in a session. What it inherited begins as its parent does, and a text with the
/// working directory is another one elsewhere: neither tells sessions apart.
fn first_user(record: &Record) -> Option<String> {
    if record.header().is_seeded {
        return None;
    }
    let events = (0..record.len()).filter_map(|at| record.event(at));
    let first = events.into_iter().find(|event| event.is("user/message"))?;
    let text = first.member("content")?.elements().find_map(|block| block.get("text")?.as_str())?;
    let text = text.to_owned().as_str()?.to_owned();
    let cwd = record.header().cwd.as_ref().and_then(|cwd| cwd.as_str());
    let tells = !text.is_empty() && !cwd.is_some_and(|cwd| text.contains(cwd));
    tells.then_some(text)
}
