//! Every recorded stream of the corpora.

use std::path::PathBuf;

use std::collections::BTreeMap;

use dshlog_replay::wire::{Dialect, Fidelity, Recorded, expand, pack, respond};
use dshlog_tests::model::Corpora;

use super::logs;

/// The folders with logs, by name.
pub(crate) fn folders() -> Vec<(String, PathBuf)> {
    let mut folders = vec![("own".to_owned(), Corpora::own().dir)];
    if let Some(shared) = Corpora::shared() {
        folders.extend(["wire", "real", "real-old"].map(|name| (name.to_owned(), shared.dir.join(name))));
    }
    folders
}

#[test]
fn every_recorded_stream_is_one_of_typed_chunks_and_packs_again_as_it_stood() {
    for (name, folder) in folders() {
        let (mut seen, mut wrong) = (0, Vec::new());
        for path in logs::below(&folder) {
            logs::each(&path, |event| {
                let Some(stream) = event.member("stream") else { return };
                seen += 1;
                let told = format!("{} seq {}", path.display(), event.seq);
                match expand(stream) {
                    Err(odd) => wrong.push(format!("{told}: {odd}")),
                    Ok(chunks) => {
                        let again = pack(chunks.iter().map(|(time, chunk)| (*time, chunk))).unwrap();
                        if again != stream.raw().as_bytes() {
                            wrong.push(format!("{told}: packed in another way"));
                        }
                    }
                }
            });
        }
        assert!(seen > 200, "{name}: only {seen}");
        eprintln!("{name}: {seen} streams");
        assert!(wrong.is_empty(), "{name}: {} of {seen}\n{}", wrong.len(), wrong.join("\n"));
    }
}

/// How the streams of a folder came through.
#[derive(Debug, Default)]
struct Tally {
    messages: usize,
    chat: usize,
    unsent: usize,
    exceptions: BTreeMap<String, usize>,
}

#[test]
fn a_response_made_of_each_recorded_stream_gives_an_equal_one() {
    for (name, folder) in folders() {
        let mut tally = Tally::default();
        for path in logs::below(&folder) {
            logs::each(&path, |event| {
                let Some(stream) = event.member("stream") else { return };
                let chunks = expand(stream).unwrap();
                let recorded = Recorded { seq: event.seq, chunks: &chunks, is_accepted: false };
                let respond = |dialect| respond(recorded, dialect, Fidelity::Exact);
                match (respond(Dialect::Messages), respond(Dialect::Chat)) {
                    (Ok(None), _) => tally.unsent += 1,
                    (Ok(Some(_)), _) => tally.messages += 1,
                    (Err(_), Ok(_)) => tally.chat += 1,
                    (Err(messages), Err(chat)) => {
                        let why = format!("{} / {}", messages.why, chat.why);
                        eprintln!("{} seq {}: {why}\n{}", path.display(), event.seq, String::from_utf8_lossy(&pack(chunks.iter().map(|(t,c)|(*t,c))).unwrap()));
                        *tally.exceptions.entry(why).or_default() += 1;
                    }
                }
            });
        }
        eprintln!("{name}: {tally:#?}");
    }
}
