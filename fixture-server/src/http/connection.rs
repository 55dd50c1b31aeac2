//! A connection: requests come out of it one after the other.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};

use super::chunked::{Chunked, Progress};
use super::head::BodyLength;
use super::{Head, Limits};

/// Room that is made for each read.
const READ: usize = 64 << 10;
/// How long a closed connection is still read from, so that what was answered is not lost by a reset.
const LINGER: Duration = Duration::from_secs(3);

/// One connection of a client.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(super) stream: TcpStream,
    /// What came and is not used yet: more requests, when a client does not wait for answers.
    pub(super) buffer: Vec<u8>,
    /// The client has said that nothing more comes.
    pub(super) ended: bool,
    pub(super) limits: Limits,
    /// Becomes true when the server is to stop.
    pub(super) stop: watch::Receiver<bool>,
}

/// What came of waiting for a request.
#[derive(Debug)]
pub(crate) enum Received {
    /// A whole request.
    Request(Head, Vec<u8>),
    /// Nothing: the client closed, was idle for too long, or the server is to stop.
    Nothing,
    /// The client left in the middle of a request; what it was is told in words.
    Left(String),
    /// A request that cannot be served; the connection ends with the answer.
    Refused(Refusal),
}

/// Why a request is not even looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) why: String,
}

impl Refusal {
    pub(super) fn new(status: u16, why: impl Into<String>) -> Refusal {
        Refusal { status, why: why.into() }
    }

    pub(super) fn too_large(limit: usize) -> Refusal {
        Refusal::new(413, format!("a body of more than {limit} bytes"))
    }
}

/// Why a read brought nothing.
enum NoBytes {
    Ended,
    Late,
    Broken(io::Error),
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, limits: Limits, stop: watch::Receiver<bool>) -> Connection {
        Connection { stream, buffer: Vec::new(), ended: false, limits, stop }
    }

    /// The next request.
    pub(crate) async fn receive(&mut self) -> Received {
        if self.buffer.is_empty() {
            let mut stop = self.stop.clone();
            let until = Instant::now() + self.limits.idle;
            tokio::select! {
                first = self.read(until) => if first.is_err() { return Received::Nothing },
                _ = stop.wait_for(|stop| *stop) => return Received::Nothing,
            }
        }
        let head = match self.head().await {
            Ok(head) => head,
            Err(instead) => return instead,
        };
        match self.body(&head).await {
            Ok(body) => Received::Request(head, body),
            Err(instead) => instead,
        }
    }

    async fn head(&mut self) -> Result<Head, Received> {
        let until = Instant::now() + self.limits.patience;
        loop {
            if let Some((head, length)) = Head::parse(&self.buffer).map_err(Received::Refused)? {
                self.buffer.drain(..length);
                return Ok(head);
            }
            if self.buffer.len() > self.limits.head {
                let why = format!("a head of more than {} bytes", self.limits.head);
                return Err(Received::Refused(Refusal::new(431, why)));
            }
            self.read(until).await.map_err(|none| none.within("head"))?;
        }
    }

    async fn body(&mut self, head: &Head) -> Result<Vec<u8>, Received> {
        let limit = self.limits.body;
        let length = head.body_length().map_err(Received::Refused)?;
        if matches!(length, BodyLength::Known(length) if length > limit as u64) {
            return Err(Received::Refused(Refusal::too_large(limit)));
        }
        if head.expects_continue() && length != BodyLength::Known(0) && self.buffer.is_empty() {
            let go_on = self.stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await;
            go_on.map_err(|fault| NoBytes::Broken(fault).within("body"))?;
        }
        match length {
            BodyLength::Known(length) => self.body_of(usize::try_from(length).unwrap_or(limit)).await,
            BodyLength::Chunked => self.chunked_body().await,
        }
    }

    async fn body_of(&mut self, length: usize) -> Result<Vec<u8>, Received> {
        while self.buffer.len() < length {
            self.read_patiently().await?;
        }
        let rest = self.buffer.split_off(length);
        Ok(std::mem::replace(&mut self.buffer, rest))
    }

    async fn chunked_body(&mut self) -> Result<Vec<u8>, Received> {
        let (mut chunked, mut body) = (Chunked::default(), Vec::new());
        loop {
            let progress = chunked.read(&mut self.buffer, &mut body, self.limits.body);
            match progress.map_err(Received::Refused)? {
                Progress::Whole => return Ok(body),
                Progress::More => self.read_patiently().await?,
            }
        }
    }

    async fn read_patiently(&mut self) -> Result<(), Received> {
        let until = Instant::now() + self.limits.patience;
        self.read(until).await.map_err(|none| none.within("body"))
    }

    /// Reads what there is, at least a byte.
    async fn read(&mut self, until: Instant) -> Result<(), NoBytes> {
        self.buffer.reserve(READ);
        match timeout_at(until, self.stream.read_buf(&mut self.buffer)).await {
            Err(_) => Err(NoBytes::Late),
            Ok(Err(fault)) => Err(NoBytes::Broken(fault)),
            Ok(Ok(0)) => {
                self.ended = true;
                Err(NoBytes::Ended)
            }
            Ok(Ok(_)) => Ok(()),
        }
    }

    /// Closes in order: says that nothing more comes, and lets the client read it although it may still be sending.
    pub(crate) async fn close(mut self) {
        if self.stream.shutdown().await.is_err() || self.ended {
            return;
        }
        let mut stop = self.stop.clone();
        let drain = async {
            let mut waste = vec![0; READ];
            while self.stream.read(&mut waste).await.is_ok_and(|count| count > 0) {}
        };
        tokio::select! {
            _ = timeout(LINGER, drain) => {},
            _ = stop.wait_for(|stop| *stop) => {},
        }
    }
}

impl NoBytes {
    fn within(self, what: &str) -> Received {
        match self {
            NoBytes::Ended => Received::Left(format!("the client left in the middle of a {what}")),
            NoBytes::Broken(fault) => {
                Received::Left(format!("the connection broke in the middle of a {what}: {fault}"))
            }
            NoBytes::Late => {
                Received::Refused(Refusal::new(408, format!("half a {what}, and nothing more came")))
            }
        }
    }
}
