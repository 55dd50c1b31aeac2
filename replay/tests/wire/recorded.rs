//! Every recorded stream of the corpora.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use dshlog_codec::json::{Doc, JsString};
use dshlog_codec::{Generation, LogFile, Millis};
use dshlog_replay::wire::{
    AnswerReader, Block, BodyEnd, Chunk, Dialect, End, Fidelity, Head, Reason, Recorded, Served, expand,
    pack, respond,
};
use dshlog_tests::model::Corpora;

use super::logs;
use super::served::told_by;

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
        assert!(wrong.is_empty(), "{name}: {} of {seen}\n{}", wrong.len(), wrong.join("\n"));
    }
}

/// How the streams of a folder came through.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    /// As Messages: what dsh 0.2 wrote.
    messages: usize,
    /// As Chat Completions: what older ones wrote.
    chat: usize,
    /// The same, in a log that dsh 0.2 went on with.
    inherited: usize,
    /// As Messages, in a log of an older dsh: what a model of its tests wrote.
    crossed: usize,
    /// No request was made.
    unsent: usize,
    /// No response gives them.
    exceptions: usize,
}

/// Sessions whose streams no adapter of dsh made: a model of the tests of dsh did. Its blocks end before the next one
/// begins, which Chat Completions cannot tell, and some come without a delta, which no dialect can.
const MADE: [&str; 5] = [
    "examples-acp-agent-cancel-tool-calls",
    "examples-acp-agent-parallel-tool-calls",
    "examples-acp-agent-read-image",
    "examples-acp-agent-read-image-dimension",
    "examples-acp-agent-read-image-text-route",
];

/// Make a response of every stream below a folder, and read it back in odd pieces.
fn round_trips(folder: &Path) -> Tally {
    let mut tally = Tally::default();
    for path in logs::below(folder) {
        let generation = LogFile::open(&path).map_or(Generation::CURRENT, |log| log.generation());
        logs::each(&path, |event| {
            let Some(stream) = event.member("stream") else { return };
            let chunks = expand(stream).unwrap();
            let recorded = Recorded { seq: event.seq, chunks: &chunks, is_accepted: false };
            let respond = |dialect| respond(recorded, dialect, Fidelity::Exact);
            let messages = respond(Dialect::Messages);
            let is_current = generation == Generation::CURRENT;
            if matches!(messages, Ok(None)) {
                tally.unsent += 1;
                return;
            }
            let messages = (Dialect::Messages, messages);
            let chat = (Dialect::Chat, respond(Dialect::Chat));
            let (first, other) = if is_current { (messages, chat) } else { (chat, messages) };
            let (dialect, made) = if first.1.is_ok() { first } else { other };
            match made {
                Ok(served) => {
                    let told = format!("{} seq {}", path.display(), event.seq);
                    read_back(&told, &served.unwrap(), dialect, &chunks);
                    *match (dialect, is_current) {
                        (Dialect::Messages, true) => &mut tally.messages,
                        (Dialect::Messages, false) => &mut tally.crossed,
                        (Dialect::Chat, true) => &mut tally.inherited,
                        (Dialect::Chat, false) => &mut tally.chat,
                    } += 1;
                }
                Err(error) => {
                    let is_made = path.iter().any(|part| MADE.iter().any(|made| part == *made));
                    assert!(is_made, "{}: {error}", path.display());
                    tally.exceptions += 1;
                }
            }
        });
    }
    tally
}

/// The response gives the stream, however its bytes are cut. A stream that broke off may lack what came at once with its
/// last chunk, or its last chunk what the response ends in front of.
fn read_back(told: &str, served: &Served, dialect: Dialect, stream: &[(Millis, Chunk)]) {
    let mut finish = stream.iter().rev().filter_map(|(_, chunk)| match chunk {
        Chunk::Finish(finish) => Some(finish),
        _ => None,
    });
    let finish = finish.next();
    let state = finish.and_then(|finish| finish.replay_state.as_ref());
    let model = state.map_or("", |state| state.model.as_str().unwrap());
    let mut reader = AnswerReader::new(told_by(dialect, model, stream));
    let mut read = Vec::new();
    if let Some(status) = served.status {
        let headers = served.headers.clone().into_iter().collect();
        reader.begin(Head { status, headers, at: Millis(0) }, &mut read);
        for write in &served.writes {
            for piece in write.bytes.chunks(7) {
                reader.push(piece, &mut read);
            }
        }
    }
    match served.end {
        End::Complete => reader.end(BodyEnd::Complete, &mut read),
        End::Stall if finish.is_some() => reader.end(BodyEnd::Idle, &mut read),
        End::Stall => {}
        _ => reader.end(BodyEnd::Broken, &mut read),
    }
    let stored: Vec<&Chunk> = stream.iter().map(|(_, chunk)| chunk).collect();
    let read: Vec<&Chunk> = read.iter().collect();
    if finish.is_none() {
        let is_part = read.starts_with(&stored)
            || matches!(stored.split_last(), Some((Chunk::BlockStart { .. }, rest)) if read == rest);
        assert!(is_part, "{told}\n{stored:#?}\n{read:#?}");
    } else {
        assert_eq!(read, stored, "{told}");
    }
}

#[test]
fn a_response_made_of_each_recorded_stream_gives_an_equal_one() {
    for (name, folder) in folders() {
        let tally = round_trips(&folder);
        let none = Tally::default();
        let expected = match &*name {
            "own" => Tally { messages: 447, chat: 465, inherited: 6, unsent: 4, ..none },
            "wire" => Tally { messages: 167, chat: 116, inherited: 2, unsent: 2, ..none },
            "real" => Tally { messages: 318, chat: 319, inherited: 135, ..none },
            _ => Tally { chat: 841, crossed: 1, exceptions: 8, ..none },
        };
        assert_eq!(tally, expected, "{name}");
    }
}

/// Why Messages has no form for a stream of Chat Completions, not even the lenient one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lost {
    /// A reason to stop that Messages ends a stream at with another failure.
    Stopped,
    /// A call whose arguments are no object. There it is run, in Messages it ends the stream.
    Arguments,
    /// It was cut between what only comes at the end.
    Tail,
    /// A block without a delta; see [`MADE`].
    Bare,
}

impl Lost {
    fn of(stream: &[(Millis, Chunk)]) -> Option<Lost> {
        let mut finish = None;
        let (mut tail, mut arguments, mut grown, mut bare) = (false, false, HashSet::new(), false);
        for (_, chunk) in stream {
            match chunk {
                Chunk::TextDelta { index, .. } | Chunk::ReasoningDelta { index, .. } => {
                    grown.insert(*index);
                }
                Chunk::BlockEnd { block: Block::ToolCall { arguments: text, .. }, .. } => {
                    let doc = Doc::parse(text.to_lossy());
                    arguments |= !doc.is_ok_and(|doc| doc.root().is_object());
                }
                Chunk::BlockEnd { index, .. } => bare |= !grown.contains(index),
                Chunk::Usage(_) => tail = true,
                Chunk::Finish(at_end) => finish = Some(&at_end.reason),
                _ => {}
            }
        }
        match finish {
            None => tail.then_some(Lost::Tail),
            Some(Reason::Error(failure)) => {
                failure.message.to_lossy().starts_with("model stopped: ").then_some(Lost::Stopped)
            }
            Some(Reason::MaxTokens) => None,
            Some(_) if arguments => Some(Lost::Arguments),
            Some(_) => bare.then_some(Lost::Bare),
        }
    }
}

/// Section 15.5: logs of the older dialect, served to the newer client.
#[test]
fn streams_of_chat_completions_are_served_as_messages() {
    use Lost::{Arguments, Bare, Stopped, Tail};
    for (name, folder) in folders() {
        let (mut served, mut lost) = (0, BTreeMap::<Lost, usize>::new());
        for path in logs::below(&folder) {
            let generation = LogFile::open(&path).map_or(Generation::CURRENT, |log| log.generation());
            if generation == Generation::CURRENT {
                continue;
            }
            logs::each(&path, |event| {
                let Some(stream) = event.member("stream") else { return };
                let chunks = expand(stream).unwrap();
                let recorded = Recorded { seq: event.seq, chunks: &chunks, is_accepted: false };
                let told = format!("{} seq {}", path.display(), event.seq);
                match (respond(recorded, Dialect::Messages, Fidelity::Lenient), Lost::of(&chunks)) {
                    (Ok(Some(response)), None) => {
                        read_leniently(&told, &response, &chunks);
                        served += 1;
                    }
                    (Err(_), Some(why)) => *lost.entry(why).or_default() += 1,
                    (made, expected) => panic!("{told}: {expected:?}, but {made:?}"),
                }
            });
        }
        let expected: (usize, &[(Lost, usize)]) = match &*name {
            "own" => (450, &[(Stopped, 7), (Arguments, 6), (Tail, 2)]),
            "wire" => (110, &[(Stopped, 3), (Arguments, 3)]),
            "real" => (315, &[(Arguments, 4)]),
            _ => (835, &[(Stopped, 5), (Arguments, 5), (Tail, 2), (Bare, 3)]),
        };
        assert_eq!((served, lost), (expected.0, expected.1.iter().copied().collect()), "{name}");
    }
}

fn read_leniently(told: &str, served: &Served, stream: &[(Millis, Chunk)]) {
    let mut read = Vec::new();
    let mut reader = served.read(told_by(Dialect::Messages, "m", stream), &mut read);
    if matches!(stream.last(), Some((_, Chunk::Finish(_)))) {
        reader.end(BodyEnd::Idle, &mut read);
    }
    let texts = |chunks: &[Chunk]| {
        let mut texts = BTreeMap::<u64, JsString>::new();
        for chunk in chunks {
            if let Chunk::TextDelta { index, text }
            | Chunk::ReasoningDelta { index, text }
            | Chunk::ToolCallDelta { index, arguments: text, .. } = chunk
            {
                texts.entry(*index).or_default().push_string(text);
            }
        }
        texts.retain(|_, text| !text.is_empty());
        texts
    };
    let kinds = |chunks: &[Chunk]| {
        let kinds = chunks.iter().filter_map(|chunk| match chunk {
            Chunk::BlockStart { index, kind } => Some((*index, *kind)),
            _ => None,
        });
        kinds.collect::<Vec<_>>()
    };
    let end = |chunks: &[Chunk]| match chunks.last() {
        Some(Chunk::Finish(finish)) => Some((
            finish.reason.kind(),
            finish.reason.failure().map(|failure| (failure.code.clone(), failure.status)),
        )),
        _ => None,
    };
    let stored: Vec<Chunk> = stream.iter().map(|(_, chunk)| chunk.clone()).collect();
    assert_eq!(
        (texts(&read), kinds(&read), end(&read)),
        (texts(&stored), kinds(&stored), end(&stored)),
        "{told}"
    );
}
