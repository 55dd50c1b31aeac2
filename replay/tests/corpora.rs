//! The message history of every V4 log of the corpora, compared with the one that the official code derives.

use dshlog_codec::Generation;
use dshlog_codec::json::{Doc, Js};
use dshlog_codec::read::{Limits, LogFile};
use dshlog_replay::estimate::message_tokens;
use dshlog_replay::history::History;
use dshlog_tests::model::{Corpora, Entry};

fn messages(entry: &Entry) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut reader = LogFile::open(&entry.log)?.read(&Limits::default())?;
    let mut history = History::new();
    while let Some(event) = reader.next_event()? {
        history.see(&event)?;
    }
    let mut out = Vec::new();
    history.print_messages(&mut out);
    Ok(out)
}

#[test]
fn the_history_of_every_current_log_is_the_official_one() {
    let mut wrong = Vec::new();
    for corpora in Corpora::all() {
        let mut seen = 0;
        for entry in corpora.entries.iter().filter(|e| e.generation == Generation(4)) {
            let Some(answer) = entry.restored().and_then(|r| r.messages.as_ref()) else { continue };
            seen += 1;
            let checked = messages(entry).map_err(|e| e.to_string()).and_then(|found| answer.check(&found));
            if let Err(fault) = checked {
                wrong.push(format!("{}: {fault}", entry.log.display()));
            }
        }
        assert!(seen >= 60, "only {seen} logs in {}", corpora.dir.display());
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

/// The runtime writes what a compaction or a pruning takes off the surface, in tokens of its own estimate.
#[test]
fn what_leaves_the_surface_has_the_estimated_tokens_that_the_log_says() {
    let mut wrong = Vec::new();
    for corpora in Corpora::all() {
        let mut seen = 0;
        for entry in
            corpora.entries.iter().filter(|e| e.generation == Generation(4) && e.restored().is_some())
        {
            let mut reader = LogFile::open(&entry.log).unwrap().read(&Limits::default()).unwrap();
            let mut history = History::new();
            while let Some(event) = reader.next_event().unwrap() {
                let said = event.member("shadowedTokenCount").and_then(Js::as_count);
                if let (Some(said), Some(seqs)) = (said, event.member("shadowedSeqs")) {
                    let seqs: Vec<u64> = seqs.elements().filter_map(Js::as_count).collect();
                    let nodes = history.nodes().filter(|node| seqs.contains(&node.seq.0));
                    let messages = nodes.filter_map(|node| Doc::parse(history.message(node)?).ok());
                    let estimated: u64 = messages.map(|message| message_tokens(message.root())).sum();
                    seen += 1;
                    if estimated != said {
                        wrong.push(format!(
                            "{} seq {}: {estimated}, not {said}",
                            entry.log.display(),
                            event.seq
                        ));
                    }
                }
                history.see(&event).unwrap();
            }
        }
        assert!(seen >= 3, "only {seen} in {}", corpora.dir.display());
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
