//! The one way to write a log (`docs/spec/storage.md`, 13.2).
//!
//! A [`Draft`] is a temporary file in the session folder. Finished it is [`Staged`]: durable, to be read back and
//! judged. Published it has its final name, exclusively: nothing is ever overwritten. Whatever goes wrong before that
//! removes the temporary file, and a process that dies leaves at most that file, which no reader looks at.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dshlog_codec::check::Checker;
use dshlog_codec::home::file_name;
use dshlog_codec::source::ReadAt;
use dshlog_codec::{Encoding, Generation, Header, Limits, LogFile};
use sha2::{Digest, Sha256};

use crate::judge::Judge;
use crate::problem::{Problem, Step};
use crate::vfs::{Kind, NewFile, Vfs};

mod frames;

use frames::{Writer, Written};

/// Plain text is given to the compressor in pieces of about this size. Small in tests, so that a small log takes several.
const PIECE: usize = if cfg!(test) { 1 << 15 } else { 1 << 20 };

/// How often another name is tried for a temporary file.
const ATTEMPTS: u32 = 16;

/// Where a new log is to lie.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The session folder, which is there.
    pub(crate) folder: PathBuf,
    /// The generation, which is in the name.
    pub(crate) generation: Generation,
    /// Raw or zstd, the same as its neighbours.
    pub(crate) encoding: Encoding,
}

impl Target {
    /// The final name.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(file_name(self.generation, self.encoding))
    }

    /// A name as the official writer gives it to a migration that is not done.
    fn temp_path(&self) -> PathBuf {
        let suffix = match self.encoding {
            Encoding::Raw => "jsonl",
            Encoding::Zstd => "jsonl.zstd",
        };
        // Random keys, another pair for each call: no two writers get the same number but by chance.
        let token = RandomState::new().hash_one(&self.folder);
        self.folder.join(format!("session.migration.{token:016x}.{suffix}.tmp"))
    }
}

/// The name of a temporary file, which is removed when this is dropped.
struct Temp<'v> {
    vfs: &'v dyn Vfs,
    path: PathBuf,
    is_gone: bool,
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if !self.is_gone {
            // Nobody reads a file of this name, so leaving it behind harms nothing.
            let _ = self.vfs.remove(&self.path);
        }
    }
}

impl Temp<'_> {
    fn failed(&self, step: Step) -> impl FnOnce(io::Error) -> Problem + use<> {
        let path = self.path.clone();
        move |source| Problem::Io { step, path, source }
    }
}

/// A log that is being written.
pub(crate) struct Draft<'v> {
    // In front of the name, so that the file is closed when that is removed.
    writer: Writer,
    temp: Temp<'v>,
    target: Target,
    piece: Vec<u8>,
}

impl<'v> Draft<'v> {
    /// Make the temporary file and write the header into it, as a frame of its own.
    pub(crate) fn create(vfs: &'v dyn Vfs, target: &Target, header: &Header) -> Result<Self, Problem> {
        let (path, file) = create_temp(vfs, target)?;
        let temp = Temp { vfs, path, is_gone: false };
        let mut writer = Writer::new(file, target.encoding);
        let mut line = Vec::new();
        header.print(&mut line);
        line.push(b'\n');
        writer.whole_frame(&line).map_err(temp.failed(Step::Write))?;
        Ok(Draft { writer, temp, target: target.clone(), piece: Vec::with_capacity(PIECE * 5 / 4) })
    }

    /// Append a row. `print` appends it to the buffer, without line end.
    pub(crate) fn row(&mut self, print: impl FnOnce(&mut Vec<u8>)) -> Result<(), Problem> {
        print(&mut self.piece);
        self.piece.push(b'\n');
        if self.piece.len() >= PIECE { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), Problem> {
        self.writer.piece(&mut self.piece).map_err(self.temp.failed(Step::Write))
    }

    /// End the log: all that was written is on the disk now.
    pub(crate) fn finish(mut self) -> Result<Staged<'v>, Problem> {
        self.flush()?;
        let Draft { writer, temp, target, .. } = self;
        let Written { mut file, digest, len } = writer.finish().map_err(temp.failed(Step::Write))?;
        file.sync().map_err(temp.failed(Step::Sync))?;
        Ok(Staged { temp, target, digest, len })
    }
}

fn create_temp(vfs: &dyn Vfs, target: &Target) -> Result<(PathBuf, Box<dyn NewFile>), Problem> {
    let mut attempt = 1;
    loop {
        let path = target.temp_path();
        match vfs.create_new(&path) {
            Ok(file) => return Ok((path, file)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempt < ATTEMPTS => attempt += 1,
            Err(source) => return Err(Problem::Io { step: Step::Create, path, source }),
        }
    }
}

/// A log that is written and durable, but has no name yet that a reader would look for.
pub(crate) struct Staged<'v> {
    temp: Temp<'v>,
    target: Target,
    digest: [u8; 32],
    len: u64,
}

/// What a log must be found to hold.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    /// Its header.
    pub(crate) header: Header,
    /// Number of events.
    pub(crate) events: u64,
    /// Number of leading events that were copied from the parent.
    pub(crate) cut: u64,
    /// Whether every recorded stream must amount to its message, which dsh asks of what it migrates and of nothing else.
    pub(crate) streams: bool,
}

/// How a log came to its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Published {
    /// It has the name.
    New {
        /// Its length in bytes.
        len: u64,
    },
    /// Another process had given an equal log that name first.
    Equal {
        /// Length in bytes of that one.
        len: u64,
    },
}

impl Staged<'_> {
    /// Read the file back. Its bytes must be those that were written, and they must make a log on which a session
    /// opens: whole frames, no tail, every event, every rule, and every recorded stream must amount to its message,
    /// which nobody asks of a log that is only read.
    ///
    /// The error of a log that the current format cannot hold is [`Problem::Log`]; its position is one in the
    /// temporary file.
    pub(crate) fn read_back(&self, expected: &Expected, limits: &Limits) -> Result<(), Problem> {
        self.compare(expected, limits).map_err(|problem| match problem {
            Problem::Log(error) => error.in_file(&self.temp.path, Some(self.target.generation)).into(),
            other => other,
        })
    }

    fn compare(&self, expected: &Expected, limits: &Limits) -> Result<(), Problem> {
        let bytes = self.temp.vfs.open(&self.temp.path).map_err(self.temp.failed(Step::ReadBack))?;
        let len = bytes.len().map_err(self.temp.failed(Step::ReadBack))?;
        let digest = digest(&*bytes, len).map_err(self.temp.failed(Step::ReadBack))?;
        if (len, digest) != (self.len, self.digest) {
            return Err(self.differs("other bytes"));
        }
        let log = LogFile::from_source(bytes, self.target.generation, self.target.encoding)?;
        let mut reader = log.read(limits)?;
        if *reader.header() != expected.header {
            return Err(self.differs("another header"));
        }
        let checker = Checker::new(reader.header());
        let mut judge = if expected.streams { Judge::new(checker) } else { Judge::without_streams(checker) };
        while let Some(event) = reader.next_event()? {
            judge.see(&event);
        }
        let end = reader.take_end();
        if end.dropped_bytes > 0 || end.issue.is_some() || end.torn.is_some() {
            return Err(self.differs("it has a tail"));
        }
        if (end.events, end.cut) != (expected.events, expected.cut) {
            return Err(self.differs("another number of events"));
        }
        Ok(judge.finish(end.cut)?)
    }

    /// The file is not what it should be.
    pub(crate) fn differs(&self, what: &str) -> Problem {
        Problem::ReadBack { what: what.to_owned(), path: self.temp.path.clone() }
    }

    /// Give the log its name. `source_log` is what it was made from, for the report of a conflict.
    pub(crate) fn publish(mut self, source_log: &Path, limits: &Limits) -> Result<Published, Problem> {
        let path = self.target.path();
        match self.name(&path) {
            Ok(()) => {}
            Err(Problem::Io { source, .. }) if source.kind() == io::ErrorKind::AlreadyExists => {
                let published = self.check_winner(&path, source_log, limits)?;
                // The winner may only have come as far as the name.
                let synced = self.temp.vfs.sync_folder(&self.target.folder);
                return synced.map(|()| published).map_err(|source| Problem::Io {
                    step: Step::SyncFolder,
                    path,
                    source,
                });
            }
            Err(problem) => return Err(problem),
        }
        // From here on the log is published, whatever fails.
        let synced = self.temp.vfs.sync_folder(&self.target.folder);
        if !self.temp.is_gone {
            self.temp.is_gone = true;
            let _ = self.temp.vfs.remove(&self.temp.path);
        }
        match synced {
            Ok(()) => Ok(Published::New { len: self.len }),
            Err(source) => Err(Problem::Io { step: Step::SyncFolder, path, source }),
        }
    }

    /// The final name for the file: a second one, or where that cannot be had the only one, but never one that is taken.
    fn name(&mut self, path: &Path) -> Result<(), Problem> {
        let failed = |source| Problem::Io { step: Step::Link, path: path.to_owned(), source };
        let refused = match self.temp.vfs.link(&self.temp.path, path) {
            Ok(()) => return Ok(()),
            Err(e) if has_no_links(&e) => e,
            Err(e) => return Err(failed(e)),
        };
        match self.temp.vfs.rename_new(&self.temp.path, path) {
            Ok(()) => {
                self.temp.is_gone = true;
                Ok(())
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(failed(e)),
            Err(e) if e.kind() == io::ErrorKind::Unsupported || e.kind() == io::ErrorKind::InvalidInput => {
                Err(Problem::NotExclusive { path: self.target.folder.clone(), source: refused })
            }
            Err(e) => Err(failed(e)),
        }
    }

    /// Another process was first. A log with the same text is as good as ours; a longer one was gone on with.
    fn check_winner(&self, path: &Path, source_log: &Path, limits: &Limits) -> Result<Published, Problem> {
        let failed = |source| Problem::Io { step: Step::CheckWinner, path: path.to_owned(), source };
        let conflict = |what| {
            Err(Problem::Conflict { target: path.to_owned(), source_log: source_log.to_owned(), what })
        };
        let vfs = self.temp.vfs;
        let names = vfs.names(&self.target.folder).map_err(failed)?;
        if !names.iter().any(|name| Some(name.as_os_str()) == path.file_name()) {
            return conflict("a name that differs in case");
        }
        let entry = vfs.entry(path).map_err(failed)?;
        if entry.kind != Kind::File {
            return conflict("no regular file");
        }
        let winner = vfs.open(path).map_err(failed)?;
        if entry.len >= self.len && digest(&*winner, self.len).map_err(failed)? == self.digest {
            return Ok(Published::Equal { len: entry.len });
        }
        // Another compressor makes other bytes of the same text.
        let ours = vfs.open(&self.temp.path).map_err(self.temp.failed(Step::ReadBack))?;
        if self.begins_with(winner, ours, limits)? {
            Ok(Published::Equal { len: entry.len })
        } else {
            conflict("other content")
        }
    }

    /// True when the winner's log is sound and begins with the rows of ours. What a writer is just appending to it does
    /// not count.
    fn begins_with(
        &self,
        winner: Arc<dyn ReadAt>,
        ours: Arc<dyn ReadAt>,
        limits: &Limits,
    ) -> Result<bool, Problem> {
        let open = |bytes| LogFile::from_source(bytes, self.target.generation, self.target.encoding);
        let mut ours = open(ours)?.read(limits)?;
        // What cannot be read is not equal.
        let Ok(mut winner) = open(winner).and_then(|log| log.read(limits)) else { return Ok(false) };
        if winner.header_line() != ours.header_line() {
            return Ok(false);
        }
        let mut events = 0;
        while let Some(event) = ours.next_event()? {
            match winner.next_event() {
                Ok(Some(other)) if other.row.raw() == event.row.raw() => events += 1,
                _ => return Ok(false),
            }
        }
        while let Ok(Some(_)) = winner.next_event() {}
        let durable = winner.end().map(|end| end.events - end.torn.map_or(0, |torn| torn.recovered));
        Ok(durable.is_some_and(|durable| durable >= events))
    }
}

/// What a file system answers that cannot give a file a second name.
fn has_no_links(error: &io::Error) -> bool {
    // Linux says "operation not permitted" for FAT, others "not supported"; a full count of links is none for us.
    matches!(
        error.kind(),
        io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied | io::ErrorKind::TooManyLinks
    )
}

/// SHA-256 of the first `len` bytes; of a shorter source the digest of what is there.
fn digest(bytes: &dyn ReadAt, len: u64) -> io::Result<[u8; 32]> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; PIECE];
    let mut at = 0;
    while at < len {
        let want = usize::try_from(len - at).unwrap_or(usize::MAX).min(buffer.len());
        match bytes.read_at(&mut buffer[..want], at) {
            Ok(0) => break,
            Ok(n) => {
                hasher.update(&buffer[..n]);
                at += n as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(hasher.finalize().into())
}
