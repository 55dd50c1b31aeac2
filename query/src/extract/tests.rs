#![expect(clippy::unwrap_used, reason = "a test may stop and speak")]

use dshlog_codec::{Generation, Limits, LogFile};
use dshlog_tests::model::{Corpora, repository};

use super::*;

fn open(case: &str) -> LogFile {
    let home = repository().join("corpora").join(case).join("home");
    let walk = dshlog_codec::home::Walk::new(&home.join("sessions")).unwrap();
    let sessions = walk.sessions.iter();
    let largest = sessions.max_by_key(|session| session.newest().unwrap().len).unwrap();
    LogFile::open(&largest.newest().unwrap().path).unwrap()
}

/// All documents, and the state behind every event.
fn read(file: &LogFile) -> (Vec<Document>, Vec<Extractor>) {
    let mut walk = file.read(&Limits::default()).unwrap();
    let mut extractor = Extractor::new(&walk.header().clone());
    let (mut documents, mut states) = (Vec::new(), Vec::new());
    while let Some(event) = walk.next_event().unwrap() {
        extractor.see(&event, &mut |document| documents.push(document));
        states.push(extractor.clone());
    }
    (documents, states)
}

fn shown(documents: &[Document]) -> Vec<String> {
    let short = |text: &str| text.replace('\n', "⏎").chars().take(48).collect::<String>();
    let shown = |document: &Document| {
        let place = format!("{}.{}", document.turn.unwrap_or(0), document.step.unwrap_or(0));
        let tool = document.tool.as_deref().map(|tool| format!(" {tool}")).unwrap_or_default();
        let error = if document.is_error { "!" } else { "" };
        format!(
            "{}#{} {place} {}{tool}{error}: {}",
            document.seq,
            document.nth,
            document.part.name(),
            short(&document.text)
        )
    };
    documents.iter().map(shown).collect()
}

fn parts(case: &str, wanted: &[Part]) -> Vec<String> {
    let (documents, _) = read(&open(case));
    let documents: Vec<_> =
        documents.into_iter().filter(|document| wanted.contains(&document.part)).collect();
    shown(&documents)
}

/// A state that was written down goes on as the one that was not, wherever the log is cut.
#[test]
fn a_written_state_goes_on() {
    for case in ["v4-tools-parallel", "v4-compact", "v4-fork", "v4-subagent", "v4-retry-500", "v4-tool-error"]
    {
        let file = open(case);
        let (documents, states) = read(&file);
        for (at, state) in states.iter().enumerate() {
            let mut extractor: Extractor =
                serde_json::from_str(&serde_json::to_string(state).unwrap()).unwrap();
            let mut walk = file.read(&Limits::default()).unwrap();
            let mut rest = Vec::new();
            while let Some(event) = walk.next_event().unwrap() {
                if event.seq.0 > at as u64 {
                    extractor.see(&event, &mut |document| rest.push(document));
                }
            }
            let expected: Vec<_> =
                documents.iter().filter(|document| document.seq.0 > at as u64).cloned().collect();
            assert_eq!(rest, expected, "{case} behind {at}");
        }
    }
}

/// Every text of a log that a person would look for is in some document, once.
#[test]
fn every_text_is_found_once() {
    for entry in &Corpora::own().entries {
        let Ok(bytes) = entry.bytes() else { continue };
        let file = LogFile::from_bytes(bytes, entry.generation, entry.encoding);
        if entry.generation != Generation::CURRENT {
            continue;
        }
        let Ok(mut walk) = file.read_to_damage(&Limits::default()) else { continue };
        let mut extractor = Extractor::new(&walk.header().clone());
        while let Ok(Some(event)) = walk.next_event() {
            let mut documents = Vec::new();
            extractor.see(&event, &mut |document| documents.push(document));
            for (nth, document) in documents.iter().enumerate() {
                assert_eq!(document.nth as usize, nth);
                assert!(!document.text.trim().is_empty());
                assert!(!document.text.contains('\0'));
            }
            let blocks = match &*event.kind.to_lossy() {
                "user/message" => event.member("content"),
                "assistant/message" | "tool/result" | "system/message" => {
                    event.data.and_then(|data| data.path(&["message", "content"]))
                }
                _ => None,
            };
            for block in blocks.into_iter().flat_map(Js::elements) {
                let Some(text) = string(block.get("text")).filter(|text| !text.trim().is_empty()) else {
                    continue;
                };
                let text = text.replace('\0', "\u{fffd}");
                let found = documents.iter().filter(|document| document.text.contains(text.trim())).count();
                assert!(found >= 1, "{} {}: {text}", entry.case, event.seq);
            }
        }
    }
}
