//! The server in front of a real service: it passes requests on, passes the answers through as they come, and keeps every byte
//! with its time. What was kept becomes a [`Scenario`]: a script that answers the same without the service.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | the server, and what it keeps |
//! | `upstream.rs` | the client of the service |
//! | `relay.rs` | one request from the client to the service and back |
//! | `mask.rs` | what must not be kept |
//! | `script.rs`, `scenario.rs` | what was kept as a script; as a folder |

mod mask;
mod relay;
mod scenario;
mod script;
mod upstream;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::dialect::{Dialect, Kind};
use crate::error::ServerError;
use crate::http::{Connection, Limits};
use crate::script::Framing;
use crate::server::listener;

pub use mask::{Secrets, is_secret_name};
pub use scenario::{Scenario, ScenarioError};
pub use upstream::{Upstream, UpstreamError};

/// A request, and what the service answered.
#[derive(Clone, Debug)]
pub struct Passed {
    /// Its number, from 0, in the order in which requests were whole.
    pub n: usize,
    /// When it was whole, from the start of the server.
    pub at: Duration,
    /// The method.
    pub method: String,
    /// The target: path and query.
    pub target: String,
    /// Headers in order, names in lower case; secrets are still in them.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Arc<[u8]>,
    /// Its dialect.
    pub dialect: Option<Dialect>,
    /// What it was for.
    pub kind: Kind,
    /// What tells its conversation from others; empty when it is none.
    pub conversation: String,
    /// The answer, as far as it came.
    pub answer: Option<Said>,
    /// How the answer ended; nothing while it is under way.
    pub end: Option<PassedEnd>,
}

/// An answer of the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// When its head was there, from the start of the server.
    pub at: Duration,
    /// The status.
    pub status: u16,
    /// Headers in order, names in lower case; those of the connection are not among them, secrets still are.
    pub headers: Vec<(String, String)>,
    /// How the length of the body was told; nothing when there was none to tell.
    pub framing: Option<Framing>,
    /// The body, as it came.
    pub pieces: Vec<Piece>,
}

/// What came at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// When, from the start of the server.
    pub at: Duration,
    /// What.
    pub bytes: Vec<u8>,
}

/// How an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PassedEnd {
    /// Properly.
    Whole,
    /// The service closed the connection before the end.
    Cut,
    /// The service reset the connection.
    Reset,
    /// The client left before.
    ClientLeft,
    /// The service could not be asked; the reason in words. The client was told 502.
    Unreachable(String),
}

impl PassedEnd {
    /// Its name.
    pub fn name(&self) -> &'static str {
        match self {
            PassedEnd::Whole => "whole",
            PassedEnd::Cut => "cut",
            PassedEnd::Reset => "reset",
            PassedEnd::ClientLeft => "client-left",
            PassedEnd::Unreachable(_) => "unreachable",
        }
    }
}

/// A server that passes requests on, on a thread of its own. It stops when it is dropped.
///
/// ```
/// use dshlog_fixture_server::forward::{Forwarder, Scenario, Secrets, Upstream};
/// use dshlog_fixture_server::{FixtureServer, Script};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let service = FixtureServer::spawn(Script::from_toml("[[exchanges]]\nrespond.body.text = 'Hello.'")?)?;
/// # let url = service.url();
/// let forwarder = Forwarder::spawn(Upstream::new(&url)?)?;
/// println!("DEEPSEEK_BASE_URL={}", forwarder.url());
/// let passed = forwarder.stop();
/// let scenario = Scenario::of(&passed, Secrets::of(&passed), false);
/// assert_eq!(scenario.requests(), 0, "nobody asked for anything");
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Forwarder {
    address: SocketAddr,
    record: Arc<Record>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// What was passed so far.
#[derive(Debug)]
struct Record {
    started: Instant,
    /// Else requests and answers pass without a trace.
    keeps: bool,
    passed: Mutex<Vec<Passed>>,
}

impl Record {
    fn lock(&self) -> MutexGuard<'_, Vec<Passed>> {
        // A panic elsewhere leaves what is still worth keeping.
        self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes something of a request that is kept.
    fn change(&self, n: Option<usize>, change: impl FnOnce(&mut Passed)) {
        n.and_then(|n| self.lock().get_mut(n).map(change));
    }

    fn since_start(&self, moment: Instant) -> Duration {
        moment.saturating_duration_since(self.started)
    }
}

impl Forwarder {
    /// Passes requests on to a service, from a free port of the loopback interface.
    ///
    /// # Errors
    /// There is no port, or no thread.
    pub fn spawn(upstream: Upstream) -> Result<Forwarder, ServerError> {
        Forwarder::start(upstream, true)
    }

    /// Passes requests on likewise, and keeps nothing.
    ///
    /// # Errors
    /// The same.
    pub fn spawn_passing(upstream: Upstream) -> Result<Forwarder, ServerError> {
        Forwarder::start(upstream, false)
    }

    fn start(upstream: Upstream, keeps: bool) -> Result<Forwarder, ServerError> {
        let no_thread = |source| ServerError::Thread { source };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(no_thread)?;
        let record = Arc::new(Record { started: Instant::now(), keeps, passed: Mutex::new(Vec::new()) });
        let (started, is_started) = mpsc::channel();
        let (stop, stopped) = watch::channel(false);
        let serve = {
            let record = Arc::clone(&record);
            async move {
                let address = SocketAddr::from(([127, 0, 0, 1], 0));
                let bound = listener(address, Limits::default().connections)
                    .and_then(|it| Ok((it.local_addr()?, it)));
                match bound {
                    Ok((address, listener)) => {
                        started.send(Ok(address)).ok();
                        accept(listener, &Arc::new(upstream), &record, stopped).await;
                    }
                    Err(source) => drop(started.send(Err(ServerError::Listen { address, source }))),
                }
            }
        };
        let thread = thread::Builder::new()
            .name("forwarder".to_owned())
            .spawn(move || runtime.block_on(serve))
            .map_err(no_thread)?;
        let gone = |_| ServerError::Thread { source: std::io::Error::other("the thread ended at once") };
        let address = is_started.recv().map_err(gone)??;
        Ok(Forwarder { address, record, stop, thread: Some(thread) })
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its base address, for `DEEPSEEK_BASE_URL`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was passed so far.
    pub fn passed(&self) -> Vec<Passed> {
        self.record.lock().clone()
    }

    /// Stops: answers under way get a moment to end. Gives what was passed.
    pub fn stop(mut self) -> Vec<Passed> {
        self.end();
        std::mem::take(&mut *self.record.lock())
    }

    fn end(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.end();
    }
}

/// Takes connections until the server stops.
async fn accept(
    listener: TcpListener,
    upstream: &Arc<Upstream>,
    record: &Arc<Record>,
    stop: watch::Receiver<bool>,
) {
    let limits = Limits::default();
    let mut connections = JoinSet::new();
    let mut stopped = stop.clone();
    loop {
        let accepted = tokio::select! {
            _ = stopped.wait_for(|stop| *stop) => break,
            _ = connections.join_next(), if !connections.is_empty() => continue,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // Out of descriptors, or a client that was gone at once: others may do better.
            tokio::time::sleep(Duration::from_millis(5)).await;
            continue;
        };
        // Pieces must not wait for each other.
        stream.set_nodelay(true).ok();
        let connection = Connection::new(stream, limits, stop.clone());
        connections.spawn(relay::serve(connection, Arc::clone(upstream), Arc::clone(record)));
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    // What does not end in time is cut off when the set is dropped.
    timeout(limits.grace, all).await.ok();
}
