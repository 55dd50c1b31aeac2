//! The least that hyper can do: read a request, send chunks that are ready.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll};
use std::thread;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use hyper::header::HeaderValue;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// How chunks are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writes {
    /// Each by itself, as a stream that comes piece by piece.
    One,
    /// As many together as are ready.
    Joined,
}

/// The handler, on a thread with a runtime of its own. It stops when dropped.
pub(crate) struct Bare {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Bare {
    pub(crate) fn start(chunks: Vec<Vec<u8>>, writes: Writes) -> Bare {
        let chunks: Arc<[Bytes]> = chunks.into_iter().map(Bytes::from).collect();
        let (started, is_started) = mpsc::channel();
        let (stop, mut stopped) = oneshot::channel::<()>();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let serve = async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            started.send(listener.local_addr().unwrap()).unwrap();
            loop {
                let stream = tokio::select! {
                    _ = &mut stopped => return,
                    accepted = listener.accept() => accepted.unwrap().0,
                };
                stream.set_nodelay(true).unwrap();
                let chunks = Arc::clone(&chunks);
                let answer = service_fn(move |request| answer(request, Arc::clone(&chunks), writes));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
            }
        };
        let thread = thread::spawn(move || runtime.block_on(serve));
        Bare { address: is_started.recv().unwrap(), stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

/// A body whose chunks are all ready.
struct Answer {
    chunks: Arc<[Bytes]>,
    next: usize,
    writes: Writes,
    /// What was given is to be written before there is more.
    is_written: bool,
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.writes == Writes::One && !self.is_written {
            // hyper writes what it has when there is nothing more for now.
            self.is_written = true;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.is_written = false;
        let chunk = self.chunks.get(self.next).cloned();
        self.next += 1;
        Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk))))
    }
}

async fn answer(
    request: Request<Incoming>,
    chunks: Arc<[Bytes]>,
    writes: Writes,
) -> Result<Response<Answer>, hyper::Error> {
    request.into_body().collect().await?;
    let mut response = Response::new(Answer { chunks, next: 0, writes, is_written: true });
    response.headers_mut().insert("content-type", HeaderValue::from_static("text/event-stream"));
    Ok(response)
}
