//! A model behind HTTP: the fixture server, or whoever else speaks one of the two dialects.

use std::collections::VecDeque;
use std::io::Read as _;
use std::time::{Duration, Instant};

use dshlog_codec::Millis;
use ureq::http::Response;
use ureq::http::response::Parts;
use ureq::{Agent, Body, BodyReader, Error};

use super::attempt::Recorder;
use super::model::{Model, ModelError};
use super::world::Reading;
use crate::request::Request;
use crate::request::call::Call;
use crate::request::chat::ChatPrinter;
use crate::request::image::{Attachments, NoAttachments};
use crate::request::messages::MessagesPrinter;
use crate::request::refusal::Refusal;
use crate::request::route::RouteChange;
use crate::wire::{AnswerReader, BodyEnd, Chunk, Dialect, Failure, Head, Route};

/// How much is read at once.
const PIECE: usize = 16 << 10;

/// Where the model is, and how it is spoken to.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The base address, as `DEEPSEEK_BASE_URL` has it.
    pub base: String,
    /// The language.
    pub dialect: Dialect,
    /// The key; empty for none.
    pub key: String,
    /// The session that asks.
    pub session: String,
    /// How long to wait for a sign of life.
    pub patience: Duration,
    /// What a profile changed of the models' routes.
    pub route: RouteChange,
}

impl Endpoint {
    /// An endpoint of this machine's, with the patience of dsh.
    pub fn new(base: impl Into<String>, dialect: Dialect) -> Self {
        Endpoint {
            base: base.into(),
            dialect,
            key: String::new(),
            session: String::new(),
            patience: Duration::from_mins(5),
            route: RouteChange::default(),
        }
    }

    /// The address of requests (`docs/spec/messages-wire.md`, 1 and 15).
    fn url(&self) -> String {
        match self.dialect {
            Dialect::Chat => format!("{}/chat/completions", self.base),
            Dialect::Messages => {
                let base = self.base.trim_end_matches('/');
                let version = if base.ends_with("/v1") { "" } else { "/v1" };
                format!("{base}{version}/messages")
            }
        }
    }
}

/// The model of an endpoint. It keeps its connection.
pub struct HttpModel<'a> {
    endpoint: Endpoint,
    agent: Agent,
    attachments: &'a dyn Attachments,
    messages: MessagesPrinter,
    chat: ChatPrinter,
    begun: Instant,
    start: Millis,
    answer: Option<Answer>,
    /// What came and was not taken yet.
    chunks: VecDeque<Chunk>,
    /// Room for what comes.
    piece: Vec<u8>,
}

/// An answer on its way.
struct Answer {
    reader: AnswerReader,
    body: Option<BodyReader<'static>>,
}

impl std::fmt::Debug for HttpModel<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpModel").field("endpoint", &self.endpoint).finish_non_exhaustive()
    }
}

impl HttpModel<'_> {
    /// A model whose clock shows `start` now, for requests without images.
    pub fn new(endpoint: Endpoint, start: Millis) -> HttpModel<'static> {
        HttpModel::with_attachments(endpoint, start, &NoAttachments)
    }

    /// The same, with the images that requests may name.
    pub fn with_attachments(
        endpoint: Endpoint,
        start: Millis,
        attachments: &dyn Attachments,
    ) -> HttpModel<'_> {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent(concat!("dshlog/", env!("CARGO_PKG_VERSION")))
            .accept("text/event-stream")
            .timeout_recv_response(Some(endpoint.patience))
            .timeout_per_read(Some(endpoint.patience));
        HttpModel {
            agent: config.build().into(),
            attachments,
            messages: MessagesPrinter::new(endpoint.route),
            chat: ChatPrinter::new(endpoint.route),
            begun: Instant::now(),
            start,
            answer: None,
            chunks: VecDeque::new(),
            piece: vec![0; PIECE],
            endpoint,
        }
    }

    fn now(&self) -> Millis {
        let passed = i64::try_from(self.begun.elapsed().as_millis()).unwrap_or(i64::MAX);
        Millis(self.start.0.saturating_add(passed))
    }

    /// The body, and the names that the header `anthropic-beta` lists.
    fn body(&mut self, call: &Call<'_>) -> Result<(Vec<u8>, Vec<&'static str>), Refusal> {
        match self.endpoint.dialect {
            Dialect::Messages => {
                let body = self.messages.body(call, self.attachments)?;
                Ok((body.json, body.betas))
            }
            Dialect::Chat => Ok((self.chat.body(call, self.attachments)?, Vec::new())),
        }
    }

    fn send(&self, body: &[u8], betas: &[&str]) -> Result<Response<Body>, Error> {
        let endpoint = &self.endpoint;
        let mut request = self.agent.post(endpoint.url()).content_type("application/json");
        if !endpoint.session.is_empty() {
            request = request.header("x-deepseek-harness-session-id", &endpoint.session);
        }
        match endpoint.dialect {
            Dialect::Messages => {
                request = request.header("anthropic-version", "2023-06-01");
                if !betas.is_empty() {
                    request = request.header("anthropic-beta", betas.join(","));
                }
                if !endpoint.key.is_empty() {
                    request = request.header("x-api-key", &endpoint.key);
                }
            }
            Dialect::Chat if endpoint.key.is_empty() => {}
            Dialect::Chat => request = request.header("authorization", format!("Bearer {}", endpoint.key)),
        }
        request.send(body)
    }

    /// A failure before anything was sent.
    fn refuse(&mut self, refusal: &Refusal) -> Result<(), ModelError> {
        let code = refusal.code().ok_or_else(|| ModelError::new(refusal.to_string()))?;
        self.answer = None;
        self.chunks.push_back(Chunk::failed(Failure::new(refusal.to_string().as_str(), code)));
        Ok(())
    }

    /// Read until something came that is a chunk, or nothing comes any more.
    fn fill(&mut self) {
        let Some(answer) = &mut self.answer else { return };
        let mut out = Vec::new();
        let piece = &mut self.piece;
        while out.is_empty() && !answer.reader.is_over() {
            let came = answer.body.as_mut().map_or(Ok(0), |body| body.read(piece));
            match came {
                Ok(0) => answer.reader.end(BodyEnd::Complete, &mut out),
                Ok(count) => {
                    answer.reader.push(piece.get(..count).unwrap_or_default(), &mut out);
                }
                Err(error) => answer.reader.end(ended(&Error::from(error)), &mut out),
            }
        }
        if answer.reader.is_over() {
            // Behind the last event comes the end of the body. Whoever has seen it can ask again over the same connection;
            // where it does not come, that is no concern of this answer.
            if let Some(body) = &mut answer.body {
                let _: std::io::Result<usize> = body.read(piece);
            }
            self.answer = None;
        }
        self.chunks.extend(out);
    }
}

impl Model for HttpModel<'_> {
    fn open(&mut self, request: Request<'_>) -> Result<(), ModelError> {
        self.leave();
        let made = request.call().and_then(|call| Ok((call.model.clone(), self.body(&call)?)));
        let (model, (body, betas)) = match made {
            Ok(made) => made,
            Err(refusal) => return self.refuse(&refusal),
        };
        let route = Route {
            dialect: self.endpoint.dialect,
            model,
            base: self.endpoint.base.clone(),
            idle_timeout_ms: u64::try_from(self.endpoint.patience.as_millis()).unwrap_or(u64::MAX),
        };
        let mut reader = AnswerReader::new(route);
        let mut out = Vec::new();
        let mut body_reader = None;
        match self.send(&body, &betas) {
            Ok(response) => {
                let (parts, body) = response.into_parts();
                reader.begin(self.head(&parts), &mut out);
                body_reader = Some(body.into_reader());
            }
            Err(error) => reader.end(ended(&error), &mut out),
        }
        self.chunks.extend(out);
        self.answer = (!reader.is_over()).then_some(Answer { reader, body: body_reader });
        Ok(())
    }

    fn read(&mut self, recorder: &mut Recorder) -> Result<Reading, ModelError> {
        if self.chunks.is_empty() {
            self.fill();
        }
        let Some(chunk) = self.chunks.pop_front() else { return Ok(Reading::Done) };
        recorder.take(self.now(), [chunk])?;
        let is_done = self.chunks.is_empty() && self.answer.is_none();
        Ok(if is_done { Reading::Done } else { Reading::More })
    }

    fn leave(&mut self) {
        self.answer = None;
        self.chunks.clear();
    }
}

impl HttpModel<'_> {
    fn head(&self, parts: &Parts) -> Head {
        let text = |value: &ureq::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = parts.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
        Head { status: parts.status.as_u16(), headers, at: self.now() }
    }
}

/// How a client sees that error.
fn ended(error: &Error) -> BodyEnd {
    match error {
        Error::Timeout(_) => BodyEnd::Idle,
        _ => BodyEnd::Broken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of section 1.
    #[test]
    fn addresses() {
        for (base, dialect, url) in [
            ("http://h/x//", Dialect::Messages, "http://h/x/v1/messages"),
            ("http://h/x/v1/", Dialect::Messages, "http://h/x/v1/messages"),
            ("http://h", Dialect::Messages, "http://h/v1/messages"),
            ("http://h", Dialect::Chat, "http://h/chat/completions"),
        ] {
            assert_eq!(Endpoint::new(base, dialect).url(), url);
        }
    }
}
