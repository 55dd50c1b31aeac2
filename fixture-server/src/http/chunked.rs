//! The chunked coding of a request's body, read from a buffer that grows.

use super::connection::Refusal;

/// Longest line that tells a size, extensions included.
const LINE: usize = 4096;

/// How far a chunked body has been read. It is told what the buffer holds and takes what it can.
#[derive(Debug, Default)]
pub(super) struct Chunked {
    state: State,
    trailers: usize,
}

#[derive(Debug, Default)]
enum State {
    /// A line with a size comes.
    #[default]
    Size,
    /// So many bytes of a chunk come.
    Data(usize),
    /// The end of line behind a chunk comes.
    DataEnd,
    /// Trailers come, and the blank line.
    Trailers,
}

/// What reading came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// More bytes are needed.
    More,
    /// The body is whole.
    Whole,
}

impl Chunked {
    /// Moves the bytes of the body from `buffer` to `body`, which may hold `limit` of them.
    pub(super) fn read(
        &mut self,
        buffer: &mut Vec<u8>,
        body: &mut Vec<u8>,
        limit: usize,
    ) -> Result<Progress, Refusal> {
        let mut used = 0;
        let progress = loop {
            let rest = buffer.get(used..).unwrap_or_default();
            match &mut self.state {
                State::Size => {
                    let Some((line, length)) = line(rest)? else { break Progress::More };
                    let size = size(line)?;
                    if body.len().saturating_add(size) > limit {
                        return Err(Refusal::too_large(limit));
                    }
                    used += length;
                    self.state = if size == 0 { State::Trailers } else { State::Data(size) };
                }
                State::Data(0) => self.state = State::DataEnd,
                State::Data(left) => {
                    let taken = rest.len().min(*left);
                    if taken == 0 {
                        break Progress::More;
                    }
                    body.extend(rest.iter().take(taken));
                    *left -= taken;
                    used += taken;
                }
                State::DataEnd => {
                    let Some((line, length)) = line(rest)? else { break Progress::More };
                    if !line.is_empty() {
                        return Err(Refusal::new(400, "a chunk that is longer than its size"));
                    }
                    used += length;
                    self.state = State::Size;
                }
                State::Trailers => {
                    let Some((line, length)) = line(rest)? else { break Progress::More };
                    let last = line.is_empty();
                    used += length;
                    self.trailers += length;
                    if self.trailers > 4 * LINE {
                        return Err(Refusal::new(431, "too many trailers"));
                    }
                    if last {
                        break Progress::Whole;
                    }
                }
            }
        };
        buffer.drain(..used);
        Ok(progress)
    }
}

/// A line without its end, and its length with it.
fn line(bytes: &[u8]) -> Result<Option<(&[u8], usize)>, Refusal> {
    match bytes.iter().take(LINE).position(|byte| *byte == b'\n') {
        Some(end) => {
            let line = bytes.get(..end).unwrap_or_default();
            Ok(Some((line.strip_suffix(b"\r").unwrap_or(line), end + 1)))
        }
        None if bytes.len() >= LINE => Err(Refusal::new(400, "a chunk size line without end")),
        None => Ok(None),
    }
}

fn size(line: &[u8]) -> Result<usize, Refusal> {
    let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    let hex = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    let text = str::from_utf8(digits).ok().filter(|_| hex);
    text.and_then(|text| usize::from_str_radix(text, 16).ok())
        .ok_or_else(|| Refusal::new(400, "a chunk size that is no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body, and what is left over behind it.
    type Body = (Vec<u8>, Vec<u8>);

    /// Reads `bytes` in steps of `step`.
    fn read(bytes: &[u8], step: usize) -> Result<Option<Body>, u16> {
        let (mut chunked, mut buffer, mut body) = (Chunked::default(), Vec::new(), Vec::new());
        let mut pieces = bytes.chunks(step);
        while let Some(piece) = pieces.next() {
            buffer.extend_from_slice(piece);
            match chunked.read(&mut buffer, &mut body, 20).map_err(|refusal| refusal.status)? {
                Progress::More => {}
                Progress::Whole => {
                    buffer.extend(pieces.flatten());
                    return Ok(Some((body, buffer)));
                }
            }
        }
        Ok(None)
    }

    #[test]
    fn any_cut_gives_the_same() {
        let bytes = b"3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nT: u\r\n\r\nGET";
        for step in 1..=bytes.len() {
            let expected = (b"abc0123456789".to_vec(), b"GET".to_vec());
            assert_eq!(read(bytes, step), Ok(Some(expected)), "step {step}");
        }
    }

    #[test]
    fn what_is_no_chunk() {
        assert_eq!(read(b"x\r\n", 1), Err(400));
        assert_eq!(read(b"\r\n", 1), Err(400));
        assert_eq!(read(b"3\r\nabcd\r\n", 9), Err(400));
        assert_eq!(read(b"15\r\n", 4), Err(413));
        assert_eq!(read(b"ffffffffffffffff\r\n", 18), Err(413));
        assert_eq!(read(b"fffffffffffffffff\r\n", 19), Err(400));
        assert_eq!(read(&[b'0'; 5000], 5000), Err(400));
        assert_eq!(read(b"3\r\nab", 1), Ok(None));
    }
}
