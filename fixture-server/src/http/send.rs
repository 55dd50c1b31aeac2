//! Writing an answer as its plan has it.

use std::io;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{Connection, Ending, HeadPlan, Plan, Step};

/// How far an answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Bytes of the body that were handed to the system.
    pub(crate) bytes: u64,
    /// How it ended.
    pub(crate) end: SentEnd,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SentEnd {
    /// Properly; the connection can go on.
    Whole,
    /// With the end of the connection, as planned.
    Closed,
    /// With a reset, as planned.
    Reset,
    /// It stalled as planned, until the patience of the server ended or it was stopped.
    Stalled,
    /// The client left before, or would not read.
    ClientLeft,
}

/// The client is not there any more.
#[derive(Debug)]
struct Left;

impl From<io::Error> for Left {
    fn from(_: io::Error) -> Self {
        Left
    }
}

impl Connection {
    /// Sends an answer. Unless it ended [`SentEnd::Whole`] the connection is of no more use.
    pub(crate) async fn send(&mut self, plan: &Plan) -> Sent {
        let mut bytes = 0;
        let end = self.send_all(plan, &mut bytes).await.unwrap_or(SentEnd::ClientLeft);
        Sent { bytes, end }
    }

    async fn send_all(&mut self, plan: &Plan, sent: &mut u64) -> Result<SentEnd, Left> {
        self.pause(plan.before).await?;
        let mut steps = plan.steps.as_slice();
        if let Some(head) = &plan.head {
            // An answer of one piece is one write.
            match (steps, &head.slow) {
                ([Step::Write(body)], None) if !plan.chunked => {
                    self.write(&[head.bytes.as_slice(), body].concat()).await?;
                    *sent += body.len() as u64;
                    steps = &[];
                }
                _ => self.send_head(head).await?,
            }
        }
        for step in steps {
            match step {
                Step::Pause(length) => self.pause(*length).await?,
                Step::Write(bytes) if plan.chunked => {
                    let size = format!("{:x}\r\n", bytes.len());
                    self.write(&[size.as_bytes(), bytes, b"\r\n"].concat()).await?;
                    *sent += bytes.len() as u64;
                }
                Step::Write(bytes) => {
                    self.write(bytes).await?;
                    *sent += bytes.len() as u64;
                }
                Step::Torn { told, bytes } => {
                    self.write(&[format!("{told:x}\r\n").as_bytes(), bytes].concat()).await?;
                    *sent += bytes.len() as u64;
                }
            }
        }
        self.end(plan).await
    }

    async fn send_head(&mut self, head: &HeadPlan) -> Result<(), Left> {
        let Some((size, pause)) = head.slow else { return self.write(&head.bytes).await };
        for (n, piece) in head.bytes.chunks(size.max(1)).enumerate() {
            if n > 0 {
                self.pause(pause).await?;
            }
            self.write(piece).await?;
        }
        Ok(())
    }

    async fn end(&mut self, plan: &Plan) -> Result<SentEnd, Left> {
        match plan.ending {
            Ending::Proper => {
                if plan.chunked {
                    self.write(b"0\r\n\r\n").await?;
                }
                Ok(SentEnd::Whole)
            }
            Ending::Eof => Ok(SentEnd::Closed),
            Ending::Close => {
                sleep(plan.settle).await;
                Ok(SentEnd::Closed)
            }
            Ending::Reset => {
                sleep(plan.settle).await;
                self.stream.set_zero_linger()?;
                Ok(SentEnd::Reset)
            }
            Ending::Stall => self.stall().await,
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Left> {
        timeout(self.limits.stall, self.stream.write_all(bytes)).await.map_err(|_| Left)??;
        Ok(())
    }

    /// Waits, and notices a client that leaves.
    pub(crate) async fn wait(&mut self, length: Duration) -> bool {
        self.pause(length).await.is_ok()
    }

    /// Waits; ends early when the connection breaks. A client that only says that it has no more to send may still read.
    async fn pause(&mut self, length: Duration) -> Result<(), Left> {
        if length.is_zero() {
            return Ok(());
        }
        let until = Instant::now() + length;
        while self.room() {
            tokio::select! {
                () = sleep_until(until) => return Ok(()),
                ready = self.stream.readable() => ready?,
            }
            self.take_what_came()?;
        }
        sleep_until(until).await;
        Ok(())
    }

    /// Waits until the client leaves, the server stops, or patience ends.
    async fn stall(&mut self) -> Result<SentEnd, Left> {
        let until = Instant::now() + self.limits.stall;
        let mut stop = self.stop.clone();
        while !self.ended {
            tokio::select! {
                () = sleep_until(until) => return Ok(SentEnd::Stalled),
                _ = stop.wait_for(|stop| *stop) => return Ok(SentEnd::Stalled),
                ready = self.stream.readable(), if self.room() => ready?,
            }
            self.take_what_came()?;
        }
        Err(Left)
    }

    /// True when what comes meanwhile can be looked at and kept for the next request.
    fn room(&self) -> bool {
        !self.ended && self.buffer.len() < self.limits.head
    }

    /// Hands bytes to the system as they are. False when the client is not there any more.
    #[cfg(feature = "forward")]
    pub(crate) async fn put(&mut self, bytes: &[u8]) -> bool {
        self.write(bytes).await.is_ok()
    }

    /// Waits until the client leaves, or says that nothing more comes, which is the same to whoever has long answers.
    #[cfg(feature = "forward")]
    pub(crate) async fn client_left(&mut self) {
        while self.room() {
            if self.stream.readable().await.is_err() || self.take_what_came().is_err() {
                return;
            }
        }
        if !self.ended {
            // Too much came that is not looked at yet: the next write will tell.
            std::future::pending::<()>().await;
        }
    }

    /// Drops the connection with a reset.
    #[cfg(feature = "forward")]
    pub(crate) fn reset(self) {
        // Without it the client sees an end of the connection, which is as near as this system comes.
        self.stream.set_zero_linger().ok();
    }

    fn take_what_came(&mut self) -> Result<(), Left> {
        self.buffer.reserve(1 << 10);
        match self.stream.try_read_buf(&mut self.buffer) {
            Ok(0) => self.ended = true,
            Ok(_) => {}
            Err(fault) if fault.kind() == io::ErrorKind::WouldBlock => {}
            Err(fault) => return Err(fault.into()),
        }
        Ok(())
    }
}
