//! A place behind a whole append, where a later walk can go on.

use sha2::{Digest as _, Sha256};

use crate::error::Result;
use crate::source::Source;

/// So many bytes in front of a mark tell whether a log still is what it was.
const WITNESS: u64 = 4096;

/// Numbers in the written form.
const NUMBERS: usize = 7;

/// Where a walk ended, in numbers that can be written down. Only logs of V2 and later that end whole have one: without a
/// torn tail, without a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Offset in the file of what comes next: a frame, or in raw logs a line.
    pub byte: u64,
    /// Frames in front of it; 0 in raw logs.
    pub frames: u64,
    /// Lines in front of it, the header among them.
    pub lines: u64,
    /// Bytes of plain text in front of it.
    pub text: u64,
    /// Events in front of it: the next seq.
    pub events: u64,
    /// How many of these were copied from the parent.
    pub inherited: u64,
    /// Digest of the last bytes of the file in front of it.
    pub witness: u64,
}

impl Mark {
    /// The digest that a mark at `byte` has in this file.
    pub(super) fn witness_at(source: &Source, byte: u64) -> Result<u64> {
        let from = byte.saturating_sub(WITNESS);
        let mut bytes = vec![0; usize::try_from(byte - from).unwrap_or(0)];
        let read = source.read_at(&mut bytes, from)?;
        bytes.truncate(read);
        let digest: [u8; 32] = Sha256::digest(&bytes).into();
        let (first, _) = digest.as_chunks::<8>();
        Ok(first.first().map_or(0, |first| u64::from_le_bytes(*first)))
    }

    /// True when the file still is what it was up to here.
    pub(super) fn fits(&self, source: &Source) -> Result<bool> {
        Ok(source.len() >= self.byte && Mark::witness_at(source, self.byte)? == self.witness)
    }

    /// To write it down.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Mark { byte, frames, lines, text, events, inherited, witness } = *self;
        [byte, frames, lines, text, events, inherited, witness].iter().flat_map(|n| n.to_le_bytes()).collect()
    }

    /// What was written down; nothing for any other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Mark> {
        let (numbers, rest) = bytes.as_chunks::<8>();
        let numbers: [[u8; 8]; NUMBERS] = numbers.try_into().ok().filter(|_| rest.is_empty())?;
        let [byte, frames, lines, text, events, inherited, witness] = numbers.map(u64::from_le_bytes);
        Some(Mark { byte, frames, lines, text, events, inherited, witness })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encoding, Generation, Limits, LogFile};

    const HEADER: &str =
        r#"{"type":"session","version":4,"id":"s","createdAt":1,"isSeeded":true,"delegationDepth":0}"#;

    /// Texts of appends: some events each, the first the header.
    fn appends() -> Vec<String> {
        let mut seq = 0;
        let mut event = |kind: &str, data: &str| {
            let row = format!("{{\"type\":\"{kind}\",\"seq\":{seq},\"time\":{seq},\"data\":{data}}}\n");
            seq += 1;
            row
        };
        vec![
            format!("{HEADER}\n"),
            event("session/end-seed", "{}") + &event("plan/mode", "{}"),
            event("session/end-seed", r#"{"inherited":true}"#),
            event("plan/mode", "{}") + &event("plan/mode", "{}") + &event("plan/mode", "{}"),
            event("plan/mode", "{}"),
        ]
    }

    fn file(appends: &[String], encoding: Encoding) -> Vec<u8> {
        match encoding {
            Encoding::Raw => appends.concat().into_bytes(),
            Encoding::Zstd => {
                appends.iter().flat_map(|text| zstd::encode_all(text.as_bytes(), 3).unwrap()).collect()
            }
        }
    }

    type Walked = (Vec<(u64, crate::Place)>, u64, u64, Option<Mark>);

    fn walk(mut reader: crate::LogReader) -> Walked {
        let mut seen = Vec::new();
        while let Some(event) = reader.next_event().unwrap() {
            seen.push((event.seq.0, event.place));
        }
        let end = reader.end().unwrap();
        (seen, end.events, end.cut, end.mark)
    }

    #[test]
    fn a_walk_goes_on_where_another_ended() {
        let limits = Limits::default();
        for encoding in [Encoding::Raw, Encoding::Zstd] {
            let open = |bytes: &[u8]| LogFile::from_bytes(bytes.to_vec(), Generation::CURRENT, encoding);
            let all = file(&appends(), encoding);
            let (events, count, cut, last) = walk(open(&all).read(&limits).unwrap());
            assert_eq!((events.len(), count, cut), (7, 7, 2));
            // Without the marker the log is refused, so it has no mark.
            for appended in 3..=appends().len() {
                let begin = file(&appends()[..appended], encoding);
                let (before, .., mark) = walk(open(&begin).read(&limits).unwrap());
                let mark = mark.unwrap();
                assert_eq!(Mark::from_bytes(&mark.to_bytes()), Some(mark));
                let rest = open(&all).read_from(&mark, &limits).unwrap().unwrap();
                assert_eq!(
                    walk(rest),
                    (events[before.len()..].to_vec(), 7, 2, last),
                    "{encoding} {appended}"
                );
                // One byte in front of it is another, or the file is too short.
                let mut other = all.clone();
                other[usize::try_from(mark.byte).unwrap() - 1] ^= 1;
                assert!(open(&other).read_from(&mark, &limits).unwrap().is_none());
                assert!(open(&begin[..begin.len() - 1]).read_from(&mark, &limits).unwrap().is_none());
                let inside = Mark { byte: mark.byte - 1, ..mark };
                assert!(open(&all).read_from(&inside, &limits).unwrap().is_none());
            }
            // A torn tail has no mark.
            let (.., mark) = walk(open(&all[..all.len() - 1]).read(&limits).unwrap());
            assert_eq!(mark, None, "{encoding}");
        }
    }

    #[test]
    fn other_bytes_are_no_mark() {
        for bytes in [&[][..], &[0; 55], &[0; 57], &[0; 64]] {
            assert_eq!(Mark::from_bytes(bytes), None);
        }
    }
}
