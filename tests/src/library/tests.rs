use std::collections::HashMap;

use dshlog_codec::home::Walk;
use dshlog_codec::{Limits, LogFile};

use super::*;

#[test]
fn a_file_is_read_as_it_says() {
    let text = "for people\n=== a\ntitle: T\nage: 3\nlog: v0 raw\n[prompt]\n\nhi\n[x]\n\n[call bash]\n{}\n[result error]\nno\n[failure SERVER]\nbusy\n=== b\n";
    let sessions = read(text).unwrap();
    assert_eq!((sessions.len(), &*sessions[1].name), (2, "b"));
    let a = &sessions[0];
    assert_eq!((a.title.as_deref(), a.age, a.generation, a.is_raw), (Some("T"), 3, 0, true));
    assert_eq!(
        a.parts,
        [
            Part::Prompt("hi\n[x]".to_owned()),
            Part::Call { tool: "bash".to_owned(), arguments: "{}".to_owned() },
            Part::Result { text: "no".to_owned(), is_error: true },
            Part::Failure { code: "SERVER".to_owned(), message: "busy".to_owned() },
        ]
    );
    assert_eq!(read("=== a\ncolour: red\n").unwrap_err(), "line 2: not understood: colour: red");
}

/// What is written is read back whole by the reader, in every generation and both containers.
#[test]
fn every_log_is_whole() {
    let home = tempfile::tempdir().unwrap();
    let count = stock(home.path()).unwrap();
    let walk = Walk::new(&home.path().join("sessions")).unwrap();
    assert_eq!((walk.sessions.len(), walk.passed_over.len()), (count, 0));
    let mut forms: HashMap<String, usize> = HashMap::new();
    for session in &walk.sessions {
        let file = session.newest().unwrap();
        let mut log = LogFile::open(&file.path).unwrap().read(&Limits::default()).unwrap();
        let mut events = 0;
        while let Some(event) =
            log.next_event().unwrap_or_else(|error| panic!("{}: {error}", file.path.display()))
        {
            assert_eq!(event.seq.0, events);
            events += 1;
        }
        *forms.entry(file.path.file_name().unwrap().to_string_lossy().into_owned()).or_default() += 1;
    }
    for form in
        ["session.jsonl", "session.jsonl.zstd", "session.v1.jsonl", "session.v2.jsonl", "session.v3.jsonl"]
    {
        assert!(forms.contains_key(form), "{form}: {forms:?}");
    }
}

/// A word of the library stands in a heap, and no two neighbours in the same one.
#[test]
fn heaps_hold_words_and_no_neighbours() {
    let sessions = sessions().unwrap();
    let heaps = heaps(&sessions);
    let holds = |words: &[&str]| {
        let in_heap = |heap: &&Session| {
            heap.parts
                .iter()
                .any(|part| words.iter().all(|word| part.text().split_whitespace().any(|held| held == *word)))
        };
        heaps.iter().filter(in_heap).count()
    };
    assert_eq!(heaps.len(), HEAPS);
    for (word, next) in
        [("brillig,", "slithy"), ("Gibraltar.", "over"), ("春眠", "不觉"), ("방식이", "바뀌었을")]
    {
        assert!(holds(&[word]) > 0, "{word}");
        assert_eq!(holds(&[word, next]), 0, "{word} {next}");
    }
}
