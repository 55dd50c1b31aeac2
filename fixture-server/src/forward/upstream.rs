//! The client of the service. It keeps its connections, trusts the usual authorities, and follows nothing.
//!
//! It is a blocking client, so each answer is read on a thread of its own and handed on piece by piece.

use std::io::{self, Read as _};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::Sender;
use ureq::http::{Request, Response, Uri};
use ureq::{Agent, Body, Error};

use super::PassedEnd;
use crate::http::Head;
use crate::script::Framing;

/// How much is read at once.
const PIECE: usize = 64 << 10;
/// How long the service may say nothing. The client decides when it has had enough; this is for one that never does.
const PATIENCE: Duration = Duration::from_mins(10);

/// Headers of one connection, which are no part of what is passed on.
const OF_CONNECTION: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Headers of a request that are made anew. What is kept is to be read, so nothing is to come compressed.
const MADE_ANEW: [&str; 4] = ["host", "content-length", "expect", "accept-encoding"];

/// A service.
#[derive(Debug)]
pub struct Upstream {
    agent: Agent,
    base: String,
}

/// An address that is none of a service.
#[derive(Debug, thiserror::Error)]
#[error("\"{url}\" is no address of a service: {why}")]
pub struct UpstreamError {
    /// What was given.
    pub url: String,
    /// What is wrong with it.
    pub why: &'static str,
}

/// What comes from a service.
#[derive(Debug)]
pub(super) enum Came {
    /// The head of an answer.
    Head { at: Instant, status: u16, headers: Vec<(String, String)>, framing: Option<Framing> },
    /// A piece of its body.
    Piece { at: Instant, bytes: Vec<u8> },
    /// Its end.
    End(PassedEnd),
}

impl Upstream {
    /// The service at a base address: what stands before `/v1/messages` or `/chat/completions`.
    ///
    /// # Errors
    /// It is no address of HTTP or HTTPS.
    pub fn new(url: &str) -> Result<Upstream, UpstreamError> {
        let wrong = |why| UpstreamError { url: url.to_owned(), why };
        let parsed: Uri = url.parse().map_err(|_| wrong("it is no URL"))?;
        if !matches!(parsed.scheme_str(), Some("http" | "https")) {
            return Err(wrong("it begins with neither http:// nor https://"));
        }
        if parsed.host().is_none_or(str::is_empty) {
            return Err(wrong("it names no host"));
        }
        if parsed.query().is_some() {
            return Err(wrong("it has a query"));
        }
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .user_agent("")
            .accept("")
            .accept_encoding("")
            .timeout_recv_response(Some(PATIENCE))
            .timeout_per_read(Some(PATIENCE));
        let base = url.trim_end_matches('/').to_owned();
        Ok(Upstream { agent: config.build().into(), base })
    }

    /// Asks, and hands on what comes.
    pub(super) fn pass(&self, head: &Head, body: &[u8], to: &Sender<Came>) {
        let end = match self.ask(head, body) {
            Ok(response) => hand_on(response, head.method == "HEAD", to),
            Err(error) => ended(&error, true),
        };
        // Nobody waits any more when this fails.
        to.blocking_send(Came::End(end)).ok();
    }

    fn ask(&self, head: &Head, body: &[u8]) -> Result<Response<Body>, Error> {
        let target = if head.target.starts_with('/') { head.target.as_str() } else { head.path() };
        let mut request =
            Request::builder().method(head.method.as_str()).uri(format!("{}{target}", self.base));
        let passed = head.headers.iter().filter(|(name, _)| {
            !OF_CONNECTION.contains(&name.as_str()) && !MADE_ANEW.contains(&name.as_str())
        });
        for (name, value) in passed {
            request = request.header(name, value);
        }
        request = request.header("accept-encoding", "identity");
        let has_body = !body.is_empty() || matches!(head.method.as_str(), "POST" | "PUT" | "PATCH");
        if has_body { self.agent.run(request.body(body)?) } else { self.agent.run(request.body(())?) }
    }
}

/// Hands an answer on as it comes.
fn hand_on(response: Response<Body>, headless: bool, to: &Sender<Came>) -> PassedEnd {
    let (parts, body) = response.into_parts();
    let status = parts.status.as_u16();
    let all = parts.headers.iter().map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    let all: Vec<(String, String)> = all.collect();
    let framing = framing(status, headless, &all);
    let headers = all.into_iter().filter(|(name, _)| !OF_CONNECTION.contains(&name.as_str())).collect();
    let head = Came::Head { at: Instant::now(), status, headers, framing };
    if to.blocking_send(head).is_err() {
        return PassedEnd::ClientLeft;
    }
    let mut reader = body.into_reader();
    let mut room = vec![0; PIECE];
    loop {
        match reader.read(&mut room) {
            Ok(0) => return PassedEnd::Whole,
            Ok(count) => {
                let bytes = room.get(..count).unwrap_or_default().to_vec();
                if to.blocking_send(Came::Piece { at: Instant::now(), bytes }).is_err() {
                    return PassedEnd::ClientLeft;
                }
            }
            Err(fault) => return ended(&Error::from(fault), false),
        }
    }
}

/// How the length of a body is told; nothing where there is none.
fn framing(status: u16, headless: bool, headers: &[(String, String)]) -> Option<Framing> {
    let told = |wanted: &str| headers.iter().any(|(name, _)| name == wanted);
    if headless || matches!(status, 204 | 304) {
        None
    } else if told("transfer-encoding") {
        Some(Framing::Chunked)
    } else if told("content-length") {
        Some(Framing::Length)
    } else {
        Some(Framing::Close)
    }
}

/// What an error of the client means. Before the head it may be that the service was never there.
fn ended(error: &Error, before_head: bool) -> PassedEnd {
    match error {
        Error::Io(fault) => match fault.kind() {
            io::ErrorKind::ConnectionReset => PassedEnd::Reset,
            io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionAborted => {
                PassedEnd::Cut
            }
            _ if before_head => PassedEnd::Unreachable(fault.to_string()),
            _ => PassedEnd::Cut,
        },
        error if before_head => PassedEnd::Unreachable(error.to_string()),
        _ => PassedEnd::Cut,
    }
}
