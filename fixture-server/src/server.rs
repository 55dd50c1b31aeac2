//! The server: it listens, and its connections go on until it stops.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::capture::Capture;
use crate::error::ServerError;
use crate::http::{Connection, Limits, Plan, Received, SentEnd};
use crate::script::Script;
use crate::state::State;
use crate::verdict::Verdict;

/// Where a server listens, and what it bears.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address; any free port of the loopback interface by default.
    pub listen: SocketAddr,
    /// The address may be one that other machines can reach.
    pub public: bool,
    /// What it bears.
    pub limits: Limits,
}

impl Default for Options {
    fn default() -> Self {
        Options { listen: SocketAddr::from(([127, 0, 0, 1], 0)), public: false, limits: Limits::default() }
    }
}

/// A server that plays a script. It stops when it is dropped.
///
/// ```
/// # use dshlog_fixture_server::{FixtureServer, Script};
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let script = Script::from_toml(r#"
///     [[exchanges]]
///     respond.message.blocks = [{ type = "text", text = "Hello." }]
/// "#)?;
/// let server = FixtureServer::start(script).await?;
/// // DEEPSEEK_BASE_URL=server.url() dsh headless "Say hello"
/// let verdict = server.stop().await;
/// assert_eq!(verdict.left, ["exchanges[0]"]);
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(example()).unwrap();
/// ```
#[derive(Debug)]
pub struct FixtureServer {
    address: SocketAddr,
    state: Arc<State>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl FixtureServer {
    /// Checks the script, and serves it on a free port of the loopback interface.
    pub async fn start(script: Script) -> Result<FixtureServer, ServerError> {
        FixtureServer::start_with(script, Options::default()).await
    }

    /// Likewise, where and as the options say.
    #[expect(clippy::unused_async, reason = "it must be called within a runtime, as `start` says")]
    pub async fn start_with(script: Script, options: Options) -> Result<FixtureServer, ServerError> {
        script.check()?;
        let address = options.listen;
        if !options.public && !address.ip().is_loopback() {
            return Err(ServerError::Public { address });
        }
        let listen = |source| ServerError::Listen { address, source };
        let listener = listener(address, options.limits.connections).map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let state = Arc::new(State::new(script, options.public));
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(accept(listener, Arc::clone(&state), options.limits, stopped));
        Ok(FixtureServer { address, state, stop, task })
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its base address, for `DEEPSEEK_BASE_URL`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Everything that was asked so far, in order.
    pub fn captures(&self) -> Vec<Capture> {
        self.state.captures()
    }

    /// The sum so far.
    pub fn verdict(&self) -> Verdict {
        self.state.verdict()
    }

    /// Waits until every exchange has been served and answered.
    pub async fn finished(&self) {
        self.state.finished().await;
    }

    /// Stops: no new connections, idle ones are closed, answers under way get a moment to end.
    pub async fn stop(mut self) -> Verdict {
        self.stop.send_replace(true);
        // The task ends by itself: what is under way is limited by `Limits::grace`.
        (&mut self.task).await.ok();
        self.state.verdict()
    }

    pub(crate) fn state(&self) -> Arc<State> {
        Arc::clone(&self.state)
    }
}

impl Drop for FixtureServer {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        self.task.abort();
    }
}

/// Listens, with as much room for those who wait as there may be connections: one too many would try again only after a second.
pub(crate) fn listener(address: SocketAddr, connections: usize) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // On Windows it would take an address from whoever has it.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(u32::try_from(connections).unwrap_or(u32::MAX))
}

/// Takes connections until the server stops.
async fn accept(listener: TcpListener, state: Arc<State>, limits: Limits, stop: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    let count = Arc::new(AtomicUsize::new(0));
    let mut stopped = stop.clone();
    loop {
        let accepted = tokio::select! {
            _ = stopped.wait_for(|stop| *stop) => break,
            _ = connections.join_next(), if !connections.is_empty() => continue,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            // Out of descriptors, or a client that was gone at once: others may do better.
            sleep(Duration::from_millis(5)).await;
            continue;
        };
        // Chunks must not wait for each other.
        stream.set_nodelay(true).ok();
        let connection = Connection::new(stream, limits, stop.clone());
        let place = Place::take(&count);
        if place.number <= limits.connections {
            let state = Arc::clone(&state);
            connections.spawn(async move {
                serve(connection, &state).await;
                drop(place);
            });
        } else {
            connections.spawn(turn_away(connection, limits.connections));
        }
    }
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    // What does not end in time is cut off when the set is dropped.
    timeout(limits.grace, all).await.ok();
}

/// A place among the connections, given back when dropped.
struct Place {
    count: Arc<AtomicUsize>,
    number: usize,
}

impl Place {
    fn take(count: &Arc<AtomicUsize>) -> Place {
        Place { number: count.fetch_add(1, Ordering::Relaxed) + 1, count: Arc::clone(count) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One connection, request by request.
async fn serve(mut connection: Connection, state: &State) {
    loop {
        let (reply, keep) = match connection.receive().await {
            Received::Nothing => return,
            Received::Left(why) => return state.left_in_request(why),
            Received::Refused(refusal) => (state.refused(&refusal), false),
            Received::Request(head, body) => {
                let keep = head.keeps_alive();
                (state.reply(&head, body, keep), keep)
            }
        };
        if let Some((before, at_most)) = reply.wait_for {
            tokio::select! {
                () = state.answered(before) => {}
                // A client that leaves meanwhile is noticed by the answer.
                _ = connection.wait(at_most) => {}
            }
        }
        let sent = connection.send(&reply.plan).await;
        state.sent(&reply, sent);
        match sent.end {
            SentEnd::Whole if keep => {}
            SentEnd::Whole | SentEnd::Closed => return connection.close().await,
            // Dropping the connection is the end that was planned, or all that is left to do.
            SentEnd::Reset | SentEnd::Stalled | SentEnd::ClientLeft => return,
        }
    }
}

/// More connections than the server bears.
async fn turn_away(mut connection: Connection, limit: usize) {
    let why = format!("more than {limit} connections");
    let body = serde_json::json!({ "error": { "type": "overloaded_error", "message": why } });
    connection.send(&Plan::json(503, &body, false)).await;
    connection.close().await;
}
