//! Every cut and every damaged byte of a small log: no panic, an answer each time, and of what stands before the damage
//! nothing is lost or changed.
#![expect(clippy::unwrap_used, reason = "a test")]

use dshlog_codec::{Encoding, Generation, Limits, LogFile};

const HEADER: &str = concat!(
    r#"{"type":"session","version":4,"id":"s","createdAt":1,"cwd":"/w","isSeeded":false,"delegationDepth":0}"#,
    "\n"
);

/// Some rows with characters of several bytes, escapes and a `turn/end`, behind which damage is no torn tail.
fn rows() -> Vec<String> {
    let row = |seq: u64, kind: &str, data: &str| {
        format!("{{\"type\":\"{kind}\",\"seq\":{seq},\"time\":{seq},\"ignorable\":true,\"data\":{data}}}\n")
    };
    let datas = [r#"{"text":"é 漢 😀"}"#, r#"{"text":"\ud83d\u0000\n"}"#, r"[1,0,1500,[],{}]", "{}"];
    let kinds = ["x/a", "x/b", "turn/end", "x/c"];
    (0..).zip(kinds.iter().zip(datas)).map(|(seq, (kind, data))| row(seq, kind, data)).collect()
}

fn frame(text: &str) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    std::io::Write::write_all(&mut encoder, text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// The log, and the offsets behind its header and each further part that is read whole or not at all.
fn log(encoding: Encoding) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = Vec::new();
    let mut ends = Vec::new();
    for text in std::iter::once(HEADER.to_owned()).chain(rows()) {
        match encoding {
            Encoding::Raw => bytes.extend_from_slice(text.as_bytes()),
            Encoding::Zstd => bytes.extend(frame(&text)),
        }
        ends.push(bytes.len());
    }
    (bytes, ends)
}

/// Events up to the end or to damage, and whether the end was reached.
fn read(bytes: Vec<u8>, encoding: Encoding) -> Option<(Vec<String>, bool)> {
    let log = LogFile::from_bytes(bytes, Generation::CURRENT, encoding);
    let mut walk = log.read_to_damage(&Limits::default()).ok()?;
    let mut events = Vec::new();
    loop {
        match walk.next_event() {
            Ok(Some(event)) => {
                let mut line = Vec::new();
                event.print_logical(&mut line);
                line.push(b'\n');
                events.push(String::from_utf8(line).unwrap());
            }
            Ok(None) => return Some((events, true)),
            Err(_) => return Some((events, false)),
        }
    }
}

#[test]
fn every_cut_leaves_a_prefix() {
    for encoding in [Encoding::Raw, Encoding::Zstd] {
        let (bytes, ends) = log(encoding);
        let whole = rows();
        for cut in 0..=bytes.len() {
            let read = read(bytes[..cut].to_vec(), encoding);
            let complete = ends.iter().filter(|end| **end <= cut).count();
            let Some((events, true)) = read else {
                assert_eq!((complete, read.is_none()), (0, true), "{encoding:?} {cut}");
                continue;
            };
            assert!(whole.starts_with(&events), "{encoding:?} {cut}");
            // A torn frame may give its row before its checksum is there.
            let recovered = usize::from(encoding == Encoding::Zstd && events.len() == complete);
            assert_eq!(events.len(), complete - 1 + recovered, "{encoding:?} {cut}");
        }
    }
}

#[test]
fn every_flipped_bit_leaves_what_stands_before_it() {
    for encoding in [Encoding::Raw, Encoding::Zstd] {
        let (bytes, ends) = log(encoding);
        let whole = rows();
        for at in ends[0]..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << bit;
                let (events, _) = read(damaged, encoding).unwrap();
                // The parts that end before the damaged byte, without the header.
                let sound = ends.iter().filter(|end| **end <= at).count() - 1;
                assert!(events.len() >= sound, "{encoding:?} {at} {bit}: {} of {sound}", events.len());
                assert_eq!(events[..sound], whole[..sound], "{encoding:?} {at} {bit}");
                // Its checksum guards a frame; a few bits, as those of the window, mean nothing.
                assert!(encoding == Encoding::Raw || whole.starts_with(&events), "{at} {bit}: {events:?}");
            }
        }
    }
}

#[test]
fn a_strict_walk_refuses_broken_structure_at_once() {
    let (mut bytes, _) = log(Encoding::Zstd);
    bytes.extend_from_slice(b"none");
    let strict = LogFile::from_bytes(bytes.clone(), Generation::CURRENT, Encoding::Zstd);
    assert_eq!(strict.read(&Limits::default()).err().map(|e| e.code()), Some("frame-magic"));
    assert_eq!(read(bytes, Encoding::Zstd), Some((rows(), false)));
}

/// Who goes on asking behind an error gets nothing, not the rows behind the damage.
#[test]
fn behind_an_error_there_is_nothing() {
    let rows = [
        r#"{"type":"session","version":4,"id":"s","createdAt":1,"isSeeded":false,"delegationDepth":0}"#,
        r#"{"type":"plan/mode","seq":0,"time":1,"data":{}}"#,
        "no JSON",
        r#"{"type":"turn/end","seq":1,"time":1,"data":{"turn":1}}"#,
        r#"{"type":"plan/mode","seq":1,"time":1,"data":{}}"#,
    ];
    let bytes = rows.iter().flat_map(|row| format!("{row}\n").into_bytes()).collect();
    let log = LogFile::from_bytes(bytes, Generation::CURRENT, Encoding::Raw);
    let mut walk = log.read(&Limits::default()).unwrap();
    assert!(walk.next_event().unwrap().is_some());
    assert_eq!(walk.next_event().unwrap_err().code(), "row-syntax");
    assert!(walk.next_event().unwrap().is_none());
    assert!(walk.end().is_none());
}
