//! A server for code that is not async: it lives on a thread of its own.

use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::oneshot;

use crate::capture::Capture;
use crate::error::ServerError;
use crate::script::Script;
use crate::server::{FixtureServer, Options};
use crate::state::State;
use crate::verdict::Verdict;

/// A server on a thread. It stops when it is dropped.
#[derive(Debug)]
pub struct ServerThread {
    address: SocketAddr,
    state: Arc<State>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl FixtureServer {
    /// Checks the script, and serves it on a thread of its own, on a free port of the loopback interface.
    pub fn spawn(script: Script) -> Result<ServerThread, ServerError> {
        FixtureServer::spawn_with(script, Options::default())
    }

    /// Likewise, where and as the options say.
    pub fn spawn_with(script: Script, options: Options) -> Result<ServerThread, ServerError> {
        let no_thread = |source| ServerError::Thread { source };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(no_thread)?;
        let (started, is_started) = mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let serve = async move {
            let server = match FixtureServer::start_with(script, options).await {
                Ok(server) => server,
                Err(fault) => {
                    started.send(Err(fault)).ok();
                    return;
                }
            };
            started.send(Ok((server.address(), server.state()))).ok();
            // A sender that was dropped means the same.
            stopped.await.ok();
            server.stop().await;
        };
        let thread = thread::Builder::new()
            .name("fixture-server".to_owned())
            .spawn(move || runtime.block_on(serve))
            .map_err(no_thread)?;
        let gone = |_| ServerError::Thread { source: std::io::Error::other("the thread ended at once") };
        let (address, state) = is_started.recv().map_err(gone)??;
        Ok(ServerThread { address, state, stop: Some(stop), thread: Some(thread) })
    }
}

impl ServerThread {
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

    /// What was asked from the request with this number on, up to the first one whose answer is still under way: for
    /// those who tell it as it goes.
    pub fn answered_from(&self, first: usize) -> Vec<Capture> {
        self.state.answered_from(first)
    }

    /// The sum so far.
    pub fn verdict(&self) -> Verdict {
        self.state.verdict()
    }

    /// Waits until every exchange has been served and answered; false when that takes longer than `patience`.
    pub fn wait_finished(&self, patience: Duration) -> bool {
        self.state.wait_finished(patience)
    }

    /// Stops, as [`FixtureServer::stop`] does.
    pub fn stop(mut self) -> Verdict {
        self.end();
        self.state.verdict()
    }

    fn end(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

impl Drop for ServerThread {
    fn drop(&mut self) {
        self.end();
    }
}
