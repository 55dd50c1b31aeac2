//! Where the bytes of a log come from.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::error::{ErrorKind, Result};

/// Bytes that can be read at any offset, from several threads.
pub trait ReadAt: Send + Sync {
    /// Read some bytes at `offset`; 0 at the end.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Current length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// True when there are no bytes.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// Open a regular file; anything else is refused, and none of it waited for.
///
/// Opening a pipe for reading waits for a writer, unless the system is told not to. A regular file is opened in the same
/// way as ever.
pub fn open_regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let file = options.open(path)?;
    let found = file.metadata()?;
    if found.is_file() {
        return Ok(file);
    }
    let kind = if found.is_dir() { io::ErrorKind::IsADirectory } else { io::ErrorKind::InvalidInput };
    Err(io::Error::new(kind, "not a regular file"))
}

impl ReadAt for File {
    #[cfg(unix)]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buffer, offset)
    }

    // Unchecked here: `seek_read` moves the file's cursor, which nobody else uses.
    #[cfg(windows)]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(self, buffer, offset)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }
}

impl ReadAt for Vec<u8> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|at| self.get(at..)).unwrap_or(&[]);
        let n = rest.len().min(buffer.len());
        buffer[..n].copy_from_slice(&rest[..n]);
        Ok(n)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(Vec::len(self) as u64)
    }
}

/// A source seen up to the length that it had when it was opened. A writer only appends, so what lies below that
/// length is a consistent prefix (`docs/spec/storage.md`, section 9).
#[derive(Clone)]
pub(crate) struct Source {
    bytes: Arc<dyn ReadAt>,
    len: u64,
}

impl Source {
    pub(crate) fn new(bytes: Arc<dyn ReadAt>, len: u64) -> Self {
        Source { bytes, len }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Read at most `buffer.len()` bytes at `offset`, fewer only at the end of the source.
    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<usize> {
        let room = self.len.saturating_sub(offset);
        let want = usize::try_from(room).unwrap_or(usize::MAX).min(buffer.len());
        let mut done = 0;
        while done < want {
            match self.bytes.read_at(&mut buffer[done..want], offset + done as u64) {
                Ok(0) => {
                    return Err(ErrorKind::Shrank { before: self.len, now: offset + done as u64 }.into());
                }
                Ok(n) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(ErrorKind::Io { action: "read", source }.into()),
            }
        }
        Ok(done)
    }
}
