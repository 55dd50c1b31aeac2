//! An answer of the endpoint becomes chunks, in either dialect: the status first, then the body as it comes.

use dshlog_codec::json::{Doc, Js, JsString};

use super::chat;
use super::chunk::Chunk;
use super::failure::Failure;
use super::head::Head;
use super::messages;
use super::sse::{SseItem, SseReader};

/// Statuses whose answers have no body, not even an empty one.
const BODILESS: [u16; 2] = [204, 205];
/// Statuses that send a client elsewhere.
const REDIRECTS: [u16; 5] = [301, 302, 303, 307, 308];

/// Which language the endpoint speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Of dsh from 0.2 on.
    Messages,
    /// Of dsh up to 0.1.5: Chat Completions.
    Chat,
}

/// What the client knows of a call before its answer comes.
#[derive(Clone, Debug)]
pub struct Route {
    /// The language.
    pub dialect: Dialect,
    /// The model that is asked; Messages names it in what it wants back.
    pub model: JsString,
    /// Base address of the endpoint; Chat Completions names it in some failures.
    pub base: String,
    /// How long the client waits for a sign of life, in milliseconds; Chat Completions names it in a failure.
    pub idle_timeout_ms: u64,
}

/// How the body of an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEnd {
    /// As its framing has it.
    Complete,
    /// In the middle: a reset, or a missing last chunk. Also of an answer that never began.
    Broken,
    /// Not at all: the client waited too long.
    Idle,
}

/// Reads one answer. It is over when a finish has come out; what comes behind that is not read.
#[derive(Debug)]
pub struct AnswerReader {
    route: Route,
    state: State,
}

#[derive(Debug)]
enum State {
    /// No status yet.
    Waiting,
    Body(Box<Body>),
    /// The body of an answer that refuses.
    Refused(Head, Vec<u8>),
    Over,
}

#[derive(Debug)]
struct Body {
    sse: SseReader,
    translator: Translator,
}

#[derive(Debug)]
enum Translator {
    Messages(Box<messages::read::Events>),
    Chat(chat::read::Frames),
}

impl AnswerReader {
    /// The request is on its way.
    pub fn new(route: Route) -> Self {
        AnswerReader { route, state: State::Waiting }
    }

    /// The head has come.
    pub fn begin(&mut self, head: Head, out: &mut Vec<Chunk>) {
        let is_messages = self.route.dialect == Dialect::Messages;
        let is_success = (200..300).contains(&head.status);
        self.state = match head.status {
            status if is_messages && (status < 200 || REDIRECTS.contains(&status)) => {
                return self.fail(messages::failure::transport(), out);
            }
            status if is_success && BODILESS.contains(&status) => {
                return self.fail(bodiless(&self.route), out);
            }
            _ if is_success => {
                let translator = Translator::new(&self.route);
                State::Body(Box::new(Body { sse: SseReader::new(), translator }))
            }
            _ => State::Refused(head, Vec::new()),
        };
    }

    /// Bytes of the body have come, cut anywhere. True when the client takes them for a sign of life: a frame or a comment
    /// is complete.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<Chunk>) -> bool {
        let Body { sse, translator } = match &mut self.state {
            State::Body(body) => &mut **body,
            State::Refused(_, body) => {
                body.extend_from_slice(bytes);
                return false;
            }
            State::Waiting | State::Over => return false,
        };
        let (mut alive, mut end) = (false, None);
        sse.push(bytes, |item| {
            alive = true;
            end = match item {
                SseItem::Comment => None,
                SseItem::Frame(frame) => match translator.take(&frame, out) {
                    Ok(false) => None,
                    Ok(true) => Some(None),
                    Err(failure) => Some(Some(failure)),
                },
            };
            end.is_none()
        });
        match end {
            None => {}
            Some(None) => self.state = State::Over,
            Some(Some(failure)) => self.fail(failure, out),
        }
        alive
    }

    /// No more comes.
    pub fn end(&mut self, how: BodyEnd, out: &mut Vec<Chunk>) {
        let route = &self.route;
        let failure = match (&self.state, how) {
            (State::Over, _) => return,
            (_, BodyEnd::Idle) => idle(route),
            (State::Refused(head, body), BodyEnd::Complete) => refused(route, head, body),
            (State::Body(_), BodyEnd::Complete) => match route.dialect {
                Dialect::Messages => messages::read::Events::cut(),
                Dialect::Chat => chat::read::Frames::cut(),
            },
            (State::Waiting, _) => match route.dialect {
                Dialect::Messages => messages::failure::transport(),
                Dialect::Chat => chat::failure::unanswered(&route.base),
            },
            (_, BodyEnd::Broken) => match route.dialect {
                Dialect::Messages => messages::failure::transport(),
                Dialect::Chat => chat::failure::broken(&route.base),
            },
        };
        self.fail(failure, out);
    }

    /// The finish has come.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    fn fail(&mut self, failure: Failure, out: &mut Vec<Chunk>) {
        out.push(Chunk::failed(failure));
        self.state = State::Over;
    }
}

impl Translator {
    fn new(route: &Route) -> Self {
        match route.dialect {
            Dialect::Messages => {
                Translator::Messages(Box::new(messages::read::Events::new(route.model.clone())))
            }
            Dialect::Chat => Translator::Chat(chat::read::Frames::new(&route.base)),
        }
    }

    fn take(&mut self, frame: &super::sse::Frame, out: &mut Vec<Chunk>) -> Result<bool, Failure> {
        match self {
            Translator::Messages(events) => events.take(frame, out),
            Translator::Chat(frames) => frames.take(frame, out),
        }
    }
}

fn refused(route: &Route, head: &Head, body: &[u8]) -> Failure {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let doc = Doc::parse(String::from_utf8_lossy(body)).ok();
    let raw: Option<Js<'_>> = doc.as_ref().map(Doc::root);
    match route.dialect {
        Dialect::Messages => messages::failure::of_error(raw, Some(head)),
        Dialect::Chat => chat::failure::of_error(raw, head),
    }
}

fn bodiless(route: &Route) -> Failure {
    let message = match route.dialect {
        Dialect::Messages => "DeepSeek Messages returned no response body",
        Dialect::Chat => "DeepSeek API returned no response body",
    };
    Failure::new(message, "EMPTY_RESPONSE")
}

fn idle(route: &Route) -> Failure {
    match route.dialect {
        Dialect::Messages => Failure::new("DeepSeek Messages stream idle timeout", "TIMEOUT"),
        Dialect::Chat => {
            let message = format!("DeepSeek stream idle timeout after {}ms", route.idle_timeout_ms);
            Failure::new(&*message, "TIMEOUT")
        }
    }
}
