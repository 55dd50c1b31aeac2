//! Every recorded stream of the corpora.

use std::path::PathBuf;

use dshlog_replay::wire::{expand, pack};
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
