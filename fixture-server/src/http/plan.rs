//! What is to be sent, and within which limits.

use std::time::Duration;

/// What a server bears.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a request's head.
    pub head: usize,
    /// Bytes of a request's body.
    pub body: usize,
    /// Connections at a time; one more is answered 503 and closed.
    pub connections: usize,
    /// How long a connection may be idle between requests.
    pub idle: Duration,
    /// How long a client may take for a head, and for each next piece of a body.
    pub patience: Duration,
    /// How long a stalled answer keeps its connection open, and a write may wait for the client to read.
    pub stall: Duration,
    /// How long answers under way may go on when the server stops.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            head: 64 << 10,
            body: 64 << 20,
            connections: 1024,
            idle: Duration::from_mins(1),
            patience: Duration::from_secs(10),
            stall: Duration::from_mins(10),
            grace: Duration::from_secs(2),
        }
    }
}

/// An answer, down to the byte.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Status line and headers; nothing when the steps are the whole answer, or none is given.
    pub(crate) head: Option<HeadPlan>,
    /// Before the first byte.
    pub(crate) before: Duration,
    /// The body.
    pub(crate) steps: Vec<Step>,
    /// Each write of the body is a chunk.
    pub(crate) chunked: bool,
    /// How it ends.
    pub(crate) ending: Ending,
    /// What was sent gets so long to arrive before a close or reset.
    pub(crate) settle: Duration,
}

/// The head of an answer.
#[derive(Clone, Debug)]
pub(crate) struct HeadPlan {
    /// Its bytes, the blank line included.
    pub(crate) bytes: Vec<u8>,
    /// So many bytes at a time, with a pause between.
    pub(crate) slow: Option<(usize, Duration)>,
}

/// A step of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Bytes, in one write; of a chunked body one chunk.
    Write(Vec<u8>),
    /// The beginning of a chunk that tells its whole length.
    Torn {
        /// The length that it tells.
        told: usize,
        /// The bytes that come.
        bytes: Vec<u8>,
    },
    /// Nothing for a while.
    Pause(Duration),
}

/// The end of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// As its framing has it; the connection goes on if it can.
    Proper,
    /// The body ends with the connection.
    Eof,
    /// Closed without the proper end.
    Close,
    /// Reset.
    Reset,
    /// Nothing more.
    Stall,
}

impl Plan {
    /// A whole answer of a known length.
    pub(crate) fn whole(status: u16, headers: &[(&str, &str)], body: Vec<u8>, keep: bool) -> Plan {
        let mut head = format!("HTTP/1.1 {status} {}\r\n", reason(status));
        for (name, value) in headers {
            header(&mut head, name, value);
        }
        header(&mut head, "content-length", &body.len().to_string());
        if !keep {
            header(&mut head, "connection", "close");
        }
        head.push_str("\r\n");
        Plan {
            head: Some(HeadPlan { bytes: head.into_bytes(), slow: None }),
            before: Duration::ZERO,
            steps: if body.is_empty() { Vec::new() } else { vec![Step::Write(body)] },
            chunked: false,
            ending: Ending::Proper,
            settle: Duration::ZERO,
        }
    }

    /// A whole answer in JSON.
    pub(crate) fn json(status: u16, body: &crate::json::Value, keep: bool) -> Plan {
        let body = crate::json::print(body).into_bytes();
        Plan::whole(status, &[("content-type", "application/json")], body, keep)
    }

    /// The status that its head tells.
    pub(crate) fn status(&self) -> Option<u16> {
        let head = self.head.as_ref()?;
        str::from_utf8(head.bytes.get(9..12)?).ok()?.parse().ok()
    }
}

/// Adds a header to a head.
pub(crate) fn header(head: &mut String, name: &str, value: &str) {
    head.extend([name, ": ", value, "\r\n"]);
}

/// The usual words for a status.
pub(crate) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        301 => "Moved Permanently",
        302 => "Found",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        413 => "Content Too Large",
        415 => "Unsupported Media Type",
        417 => "Expectation Failed",
        422 => "Unprocessable Content",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        529 => "Overloaded",
        _ => "Status",
    }
}
