//! From rows to the bytes of a file: pieces of text, compressed as one frame, written and summed up.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use dshlog_codec::Encoding;
use sha2::{Digest, Sha256};
use zstd::stream::write::Encoder;

use crate::vfs::NewFile;

/// The level of the official writer.
const LEVEL: i32 = zstd::DEFAULT_COMPRESSION_LEVEL;

/// Pieces in flight to the thread that compresses. Each is memory.
const DEPTH: usize = 3;

/// What became of a file.
pub(super) struct Written {
    pub(super) file: Box<dyn NewFile>,
    pub(super) digest: [u8; 32],
    /// Length in bytes.
    pub(super) len: u64,
}

/// Takes pieces of text. Behind the first one, a thread of its own compresses and writes; so a small log needs none.
pub(super) enum Writer {
    Here(Frames),
    Behind(Behind),
    /// The frame was closed, or the thread could not be started.
    Gone,
}

impl Writer {
    /// Into an empty file.
    pub(super) fn new(file: Box<dyn NewFile>, encoding: Encoding) -> Writer {
        let tee = Tee { file, digest: Sha256::new(), len: 0 };
        Writer::Here(Frames { encoding, state: State::Plain(tee) })
    }

    /// A piece that is a frame of its own.
    pub(super) fn whole_frame(&mut self, text: &[u8]) -> io::Result<()> {
        let Writer::Here(frames) = self else { return Err(broken()) };
        frames.write_all(text)?;
        frames.state = State::Plain(frames.end_frame()?);
        Ok(())
    }

    /// A piece of the frame that is open, or begins with it. `piece` is empty afterwards.
    pub(super) fn piece(&mut self, piece: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Writer::Here(frames) if frames.is_between() => {
                frames.write_all(piece)?;
                piece.clear();
                Ok(())
            }
            Writer::Here(_) => {
                let Writer::Here(frames) = std::mem::replace(self, Writer::Gone) else {
                    return Err(broken());
                };
                *self = Writer::Behind(Behind::start(frames)?);
                self.piece(piece)
            }
            Writer::Behind(behind) => behind.piece(piece),
            Writer::Gone => Err(broken()),
        }
    }

    /// Close the frame.
    pub(super) fn finish(self) -> io::Result<Written> {
        let mut frames = match self {
            Writer::Here(frames) => frames,
            Writer::Behind(mut behind) => behind.join()?,
            Writer::Gone => return Err(broken()),
        };
        let tee = frames.end_frame()?;
        Ok(Written { file: tee.file, digest: tee.digest.finalize().into(), len: tee.len })
    }
}

/// The thread that compresses and writes.
pub(super) struct Behind {
    /// Gone when the text is at its end.
    full: Option<SyncSender<Vec<u8>>>,
    empty: Receiver<Vec<u8>>,
    worker: Option<JoinHandle<io::Result<Frames>>>,
}

impl Behind {
    fn start(frames: Frames) -> io::Result<Behind> {
        let (full, take) = sync_channel(DEPTH);
        let (give, empty) = channel();
        let worker =
            std::thread::Builder::new().name("compress".into()).spawn(move || work(frames, &take, &give))?;
        Ok(Behind { full: Some(full), empty, worker: Some(worker) })
    }

    fn piece(&mut self, piece: &mut Vec<u8>) -> io::Result<()> {
        let next = self.empty.try_recv().unwrap_or_else(|_| Vec::with_capacity(piece.capacity()));
        let piece = std::mem::replace(piece, next);
        match &self.full {
            Some(full) if full.send(piece).is_ok() => Ok(()),
            // The worker went away, and says why.
            _ => self.join().and(Err(broken())),
        }
    }

    fn join(&mut self) -> io::Result<Frames> {
        self.full = None;
        let worker = self.worker.take().ok_or_else(broken)?;
        worker.join().unwrap_or_else(|_| Err(io::Error::other("the thread that compresses died")))
    }
}

impl Drop for Behind {
    fn drop(&mut self) {
        // The file must be closed before its name is removed.
        let _ = self.join();
    }
}

fn work(mut frames: Frames, take: &Receiver<Vec<u8>>, give: &Sender<Vec<u8>>) -> io::Result<Frames> {
    for mut piece in take {
        frames.write_all(&piece)?;
        piece.clear();
        // Nobody needs it when the text is at its end.
        let _ = give.send(piece);
    }
    Ok(frames)
}

/// The container that plain text goes through: a frame begins with its first byte, so that there are no empty ones.
pub(super) struct Frames {
    encoding: Encoding,
    state: State,
}

enum State {
    /// Between two frames, or without any.
    Plain(Tee),
    Frame(Encoder<'static, Tee>),
    /// A step in between failed.
    Broken,
}

impl Frames {
    /// True when the next piece is the first of its frame. Raw text is never worth a thread.
    fn is_between(&self) -> bool {
        matches!(self.state, State::Plain(_))
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if self.encoding == Encoding::Zstd && self.is_between() {
            let tee = self.end_frame()?;
            let mut encoder = Encoder::new(tee, LEVEL)?;
            encoder.include_checksum(true)?;
            self.state = State::Frame(encoder);
        }
        match &mut self.state {
            State::Plain(tee) => tee.write_all(bytes),
            State::Frame(encoder) => encoder.write_all(bytes),
            State::Broken => Err(broken()),
        }
    }

    /// Close the frame, if there is one, and give out the file.
    fn end_frame(&mut self) -> io::Result<Tee> {
        match std::mem::replace(&mut self.state, State::Broken) {
            State::Plain(tee) => Ok(tee),
            State::Frame(encoder) => encoder.finish(),
            State::Broken => Err(broken()),
        }
    }
}

fn broken() -> io::Error {
    io::Error::other("an earlier write failed")
}

/// The file, and what was written into it.
struct Tee {
    file: Box<dyn NewFile>,
    digest: Sha256,
    len: u64,
}

impl Write for Tee {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.file.write(bytes)?;
        self.digest.update(&bytes[..n]);
        self.len += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
