//! Lines into a file, raw or framed as dsh frames them (`docs/spec/storage.md`).

use std::io::{self, Write};
use std::ops::RangeInclusive;

use zstd::stream::raw::{CParameter, Encoder, InBuffer, Operation, OutBuffer};

use super::{Framing, Until};
use crate::text::Rng;

/// A file that grows by lines.
pub(crate) struct Frames<W> {
    file: W,
    plain: u64,
    count: u64,
    zstd: Option<Zstd>,
}

struct Zstd {
    encoder: Encoder<'static>,
    rows: RangeInclusive<u64>,
    rng: Rng,
    batch: Vec<u8>,
    /// How many more rows go into the batch. The first has the header line alone.
    missing: u64,
    packed: Vec<u8>,
}

impl<W: Write> Frames<W> {
    pub(crate) fn new(file: W, framing: &Framing, rng: Rng) -> io::Result<Self> {
        let zstd = match framing {
            Framing::Raw => None,
            Framing::Zstd(rows) => {
                let mut encoder = Encoder::new(3)?;
                encoder.set_parameter(CParameter::ChecksumFlag(true))?;
                let packed = vec![0; 1 << 17];
                Some(Zstd { encoder, rows: rows.clone(), rng, batch: Vec::new(), missing: 1, packed })
            }
        };
        Ok(Frames { file, plain: 0, count: 0, zstd })
    }

    /// Append one line, with its line end.
    pub(crate) fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self.plain += line.len() as u64;
        let Some(zstd) = &mut self.zstd else { return self.file.write_all(line) };
        zstd.batch.extend_from_slice(line);
        zstd.missing -= 1;
        if zstd.missing == 0 {
            zstd.append(&mut self.file)?;
            self.count += 1;
        }
        Ok(())
    }

    pub(super) fn is_enough(&self, until: Until) -> bool {
        match until {
            Until::Bytes(bytes) => self.plain >= bytes,
            Until::Frames(frames) => self.count >= frames,
        }
    }

    /// Write what is left; bytes of plain text and number of frames.
    pub(crate) fn finish(mut self) -> io::Result<(u64, u64)> {
        if let Some(zstd) = &mut self.zstd
            && !zstd.batch.is_empty()
        {
            zstd.append(&mut self.file)?;
            self.count += 1;
        }
        self.file.flush()?;
        Ok((self.plain, self.count))
    }
}

impl Zstd {
    /// Write the batch as one frame. The encoder is fed before it is told the end, so that it does not know the size: the
    /// frame then has no content size and the window of the level, as those of dsh.
    fn append(&mut self, file: &mut dyn Write) -> io::Result<()> {
        self.encoder.reinit()?;
        let mut input = InBuffer::around(&self.batch);
        while input.pos() < self.batch.len() {
            let mut output = OutBuffer::around(&mut self.packed[..]);
            self.encoder.run(&mut input, &mut output)?;
            file.write_all(output.as_slice())?;
        }
        loop {
            let mut output = OutBuffer::around(&mut self.packed[..]);
            let left = self.encoder.finish(&mut output, true)?;
            file.write_all(output.as_slice())?;
            if left == 0 {
                break;
            }
        }
        self.batch.clear();
        self.missing = self.rng.between(*self.rows.start(), *self.rows.end());
        Ok(())
    }
}
