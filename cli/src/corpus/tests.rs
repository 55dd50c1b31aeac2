use std::fs;
use std::io::Write as _;

use dshlog_tests::model::{Corpora, Status, repository};

use super::*;

fn candidate_of(path: &Path) -> Candidate {
    Candidate { path: path.to_owned(), entry: None, stamp: Stamp::default() }
}

fn seqs(corpus: &HomeCorpus, candidate: &Candidate, from: Option<&Mark>) -> (Vec<u64>, Reading) {
    let mut seqs = Vec::new();
    let reading = corpus.read(candidate, from, &mut |event| {
        seqs.push(event.seq.0);
        ControlFlow::Continue(())
    });
    (seqs, reading)
}

/// Every log of the corpora, sound or not, of all generations: what the official reader reads is read whole, and of the
/// others what stands in front of the fault.
#[test]
fn logs_are_read_as_far_as_they_go() {
    for corpora in Corpora::all() {
        for entry in &corpora.entries {
            let Some(root) = entry.log.ancestors().nth(3) else { continue };
            let corpus = HomeCorpus::new(root.to_owned());
            let (seqs, reading) = seqs(&corpus, &candidate_of(&entry.log), None);
            let name = entry.log.display();
            assert!(reading.fits, "{name}");
            assert!(seqs.iter().enumerate().all(|(at, seq)| at as u64 == *seq), "{name}: {seqs:?}");
            match &entry.status {
                Status::Restored(restored) => {
                    assert_eq!(reading.inherited, restored.cut, "{name}");
                    assert!(restored.events.is_none_or(|events| seqs.len() as u64 == events), "{name}");
                    assert!(restored.torn.is_none() || reading.mark.is_none(), "{name}");
                }
                // What only the rules for events refuse is read whole.
                Status::Refused { .. } => {
                    assert!(reading.header.is_some() || reading.fault.is_some(), "{name}");
                }
            }
        }
    }
}

/// The folder of a session in a home of its own: `<root>/sessions/<project>/<session>`.
fn copied(case: &str, into: &Path) -> (PathBuf, PathBuf) {
    let log = &Corpora::own().log(case).log.clone();
    let below = log.strip_prefix(log.ancestors().nth(3).unwrap()).unwrap();
    let root = into.join("sessions");
    let to = root.join(below);
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::copy(log, &to).unwrap();
    (root, to)
}

#[test]
fn an_appended_frame_is_read_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (root, log) = copied("v4-compact", folder.path());
    let corpus = HomeCorpus::new(root);
    let candidate = candidate_of(&log);
    let (before, reading) = seqs(&corpus, &candidate, None);
    let mark = reading.mark.unwrap();
    assert_eq!(seqs(&corpus, &candidate, Some(&mark)).0, [] as [u64; 0]);

    let next = before.len();
    let row = format!("{{\"type\":\"plan/mode\",\"seq\":{next},\"time\":1,\"data\":{{\"active\":true}}}}\n");
    let frame = zstd::encode_all(row.as_bytes(), 3).unwrap();
    fs::OpenOptions::new().append(true).open(&log).unwrap().write_all(&frame).unwrap();
    let (after, reading) = seqs(&corpus, &candidate, Some(&mark));
    assert!(reading.fits && reading.fault.is_none());
    assert_eq!(after, [next as u64]);

    // A log that is another in front of the mark is not gone on with, nor is one that was cut.
    let mut bytes = fs::read(&log).unwrap();
    let at = usize::try_from(mark.byte).unwrap() - 3;
    bytes[at] ^= 1;
    fs::write(&log, &bytes).unwrap();
    let (after, reading) = seqs(&corpus, &candidate, Some(&mark));
    assert!(after.is_empty() && !reading.fits);
    fs::write(&log, &bytes[..at]).unwrap();
    assert!(!seqs(&corpus, &candidate, Some(&mark)).1.fits);
}

#[test]
fn a_log_that_went_away_is_a_fault_and_not_looked_up() {
    let folder = tempfile::tempdir().unwrap();
    let (root, log) = copied("v4-compact", folder.path());
    let corpus = HomeCorpus::new(root);
    let listing = corpus.list();
    assert_eq!(listing.candidates.iter().map(|c| &c.path).collect::<Vec<_>>(), [&log]);
    let candidate = &listing.candidates[0];
    assert_eq!(corpus.look(&log, None), Look::There(candidate.clone()));

    fs::remove_dir_all(log.parent().unwrap()).unwrap();
    let (events, reading) = seqs(&corpus, candidate, None);
    assert!(events.is_empty() && reading.header.is_none() && reading.fault.is_some());
    assert!(corpus.header(candidate).is_err());
    assert!(corpus.replaced(candidate).is_empty());
    assert_eq!(corpus.look(&log, None), Look::Gone);
}

#[test]
fn both_encodings_of_a_generation_are_passed_over_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let (root, log) = copied("v4-compact", folder.path());
    fs::write(log.with_extension(""), "").unwrap();
    let session = log.parent().unwrap();
    let corpus = HomeCorpus::new(root);
    for listing in [corpus.list(), corpus.list_in(session.parent().unwrap(), &[])] {
        assert!(listing.candidates.is_empty());
        let passed: Vec<_> = listing.passed_over.iter().map(|(path, _)| path.as_path()).collect();
        assert_eq!(passed, [session]);
    }
    assert_eq!(corpus.look(&log, None), Look::Hidden);
}

#[cfg(unix)]
#[test]
fn a_pipe_in_place_of_a_log_does_not_block() {
    let folder = tempfile::tempdir().unwrap();
    let (root, log) = copied("v4-compact", folder.path());
    fs::remove_file(&log).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&log).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: no mkfifo here");
        return;
    }
    let corpus = HomeCorpus::new(root);
    let (events, reading) = seqs(&corpus, &candidate_of(&log), None);
    assert!(events.is_empty() && reading.fault.is_some());
    corpus.list();
}

/// A summary takes the place of what it sums up: seqs by `zstd -dc`, from the `shadowedSeqs` of the compaction.
#[test]
fn what_left_the_surface_is_told() {
    let home = repository().join("corpora/v4-compact/home/sessions");
    let corpus = HomeCorpus::new(home);
    let candidate = corpus.list().candidates.remove(0);
    let replaced = corpus.replaced(&candidate);
    assert!(replaced.iter().all(|replaced| replaced.by.0 == 59), "{replaced:?}");
    let seqs: Vec<_> = replaced.iter().map(|replaced| replaced.seq.0).collect();
    assert_eq!(seqs, [8, 9, 17, 24, 26, 30, 34, 41, 43, 50]);
}
