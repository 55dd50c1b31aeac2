//! Streams that the grammar allows, and bytes cut anywhere.

use std::collections::BTreeMap;

use dshlog_codec::json::JsString;
use dshlog_codec::{Millis, Seq};
use dshlog_replay::wire::{
    AnswerReader, Block, BlockKind, BodyEnd, Chunk, Count, Dialect, End, Failure, Fidelity, Finish, Head,
    Reason, Recorded, ReplayBlock, ReplayState, Route, Served, Usage, Write, expand, pack, respond,
};
use dshlog_tests::model::repository;
use proptest::prelude::*;

use super::served::{cases, is_prefix, settled};

/// Texts, some of them halves of a character, controls, or what a frame could trip over.
fn text() -> impl Strategy<Value = JsString> {
    let unit = prop_oneof![
        8 => prop::sample::select(vec![0x61, 0x20, 0x7b, 0x22, 0x5c, 0xe9]),
        2 => prop::sample::select(vec![0xd83d, 0xde00, 0x0a, 0x0d, 0, 0x2028, 0xfeff]),
    ];
    prop::collection::vec(unit, 0..5).prop_map(JsString::from_units)
}

/// What the model did, block by block; the numbers say in which order the pieces came.
#[derive(Clone, Debug)]
struct Answer {
    blocks: Vec<(BlockKind, Vec<JsString>, Option<JsString>)>,
    order: Vec<prop::sample::Index>,
    end: Ending,
    counts: (u32, u32, Option<u32>, Option<u32>, bool),
}

#[derive(Clone, Copy, Debug)]
enum Ending {
    Stop,
    ToolCalls,
    MaxTokens,
    Closed,
    Broken,
    Idle,
    Cancelled,
}

fn answer(pieces: impl Strategy<Value = JsString>) -> impl Strategy<Value = Answer> {
    let kind = prop::sample::select(vec![BlockKind::Text, BlockKind::Reasoning, BlockKind::ToolCall]);
    let block = (kind, prop::collection::vec(pieces, 1..4), prop::option::of(text()));
    let end = prop::sample::select(vec![
        Ending::Stop,
        Ending::ToolCalls,
        Ending::MaxTokens,
        Ending::Closed,
        Ending::Broken,
        Ending::Idle,
        Ending::Cancelled,
    ]);
    let counts = (0..9u32, 0..9u32, prop::option::of(0..9u32), prop::option::of(0..9u32), any::<bool>());
    (prop::collection::vec(block, 1..4), prop::collection::vec(any::<prop::sample::Index>(), 40), end, counts)
        .prop_map(|(blocks, order, end, counts)| Answer { blocks, order, end, counts })
}

fn id(index: usize) -> JsString {
    JsString::from(&*format!("call-{index}"))
}

fn name() -> JsString {
    JsString::from("tool")
}

impl Answer {
    /// The last chunks: a settled one has usage and a finish, a failed one a failure.
    fn tail(&self, dialect: Dialect, chunks: &mut Vec<Chunk>) {
        let words = |own: &str, chat: &str, code| {
            Chunk::failed(Failure::new(if dialect == Dialect::Messages { own } else { chat }, code))
        };
        let reason = match self.end {
            Ending::Stop => Reason::Stop,
            Ending::ToolCalls => Reason::ToolCalls,
            Ending::MaxTokens => Reason::MaxTokens,
            Ending::Cancelled => return,
            Ending::Closed => {
                let own = "DeepSeek Messages stream ended before message_stop";
                return chunks.push(words(own, "SSE stream ended without [DONE]", "STREAM_CLOSED"));
            }
            Ending::Broken => {
                let chat = "DeepSeek API stream from http://h failed";
                return chunks.push(words("DeepSeek Messages transport failed", chat, "TRANSPORT"));
            }
            Ending::Idle => {
                let chat = "DeepSeek stream idle timeout after 5ms";
                return chunks.push(words("DeepSeek Messages stream idle timeout", chat, "TIMEOUT"));
            }
        };
        let (input, output, read, other, flag) = self.counts;
        let mut usage = Usage::new();
        usage.set(Count::Input, input.into());
        usage.set(Count::Output, output.into());
        let replay_state = if dialect == Dialect::Messages {
            let counts = [(Count::CacheRead, read), (Count::CacheWrite, other)];
            let [first, second] = if flag { counts } else { [counts[1], counts[0]] };
            for (count, number) in [first, second] {
                if let Some(number) = number {
                    usage.set(count, number.into());
                }
            }
            let sum = usage.iter().map(|(_, number)| number).sum();
            usage.set(Count::Total, sum);
            let blocks = self.blocks.iter().map(|(kind, _, signature)| ReplayBlock {
                kind: *kind,
                signature: signature.clone().filter(|_| *kind == BlockKind::Reasoning),
            });
            Some(ReplayState { model: JsString::from("m"), blocks: blocks.collect() })
        } else {
            if flag {
                usage.set(Count::Total, f64::from(input + output + read.unwrap_or(0)));
            }
            for (count, number) in [(Count::CacheRead, read), (Count::Reasoning, other)] {
                if let Some(number) = number {
                    usage.set(count, number.into());
                }
            }
            None
        };
        chunks.push(Chunk::Usage(usage));
        chunks.push(Chunk::Finish(Finish { reason, replay_state }));
    }

    fn is_settled(&self) -> bool {
        matches!(self.end, Ending::Stop | Ending::ToolCalls | Ending::MaxTokens)
    }

    /// As the adapter of Messages hands it out: blocks side by side, each with its end.
    fn as_messages(&self) -> Vec<Chunk> {
        let (mut started, mut chunks) = (Vec::<(u64, usize)>::new(), Vec::new());
        let mut left: Vec<usize> = self.blocks.iter().map(|(_, pieces, _)| pieces.len() + 2).collect();
        let mut order = self.order.iter();
        // Blocks are numbered by their starts, so these keep their order.
        while let Some(pick) = order.next().filter(|_| left.iter().any(|left| *left > 0)) {
            let next = started.len();
            let open: Vec<usize> = (0..self.blocks.len()).filter(|at| left[*at] > 0 && *at <= next).collect();
            let Some(at) = open.get(pick.index(open.len())).copied() else { break };
            let (kind, pieces, _) = &self.blocks[at];
            let index = at as u64;
            let step = pieces.len() + 2 - left[at];
            left[at] -= 1;
            if step == 0 {
                started.push((index, at));
                chunks.push(Chunk::BlockStart { index, kind: *kind });
                if *kind == BlockKind::ToolCall {
                    chunks.push(Chunk::ToolCallDelta {
                        index,
                        id: id(at),
                        name: Some(name()),
                        arguments: JsString::default(),
                    });
                }
            } else if step <= pieces.len() {
                chunks.extend(self.piece(at, step - 1));
            } else {
                chunks.push(self.end_of(at));
            }
        }
        if self.is_settled() && left.iter().any(|left| *left > 0) {
            return Vec::new();
        }
        chunks
    }

    /// What a settled answer holds of a call must be an object. It comes with the start, or in these pieces.
    const ARGUMENTS: [&str; 3] = ["{\"a\":[1,", "\"é\"]}", ""];

    fn piece(&self, at: usize, number: usize) -> Option<Chunk> {
        let (kind, pieces, _) = &self.blocks[at];
        let (index, text) = (at as u64, pieces[number].clone());
        Some(match kind {
            BlockKind::Text => Chunk::TextDelta { index, text },
            BlockKind::Reasoning => Chunk::ReasoningDelta { index, text },
            BlockKind::ToolCall if self.is_settled() && pieces.len() == 1 => return None,
            BlockKind::ToolCall => {
                let text = if self.is_settled() { JsString::from(Self::ARGUMENTS[number]) } else { text };
                Chunk::ToolCallDelta { index, id: id(at), name: None, arguments: text }
            }
        })
    }

    fn end_of(&self, at: usize) -> Chunk {
        let (kind, pieces, _) = &self.blocks[at];
        let mut whole = JsString::default();
        for piece in pieces {
            whole.push_string(piece);
        }
        let block = match kind {
            BlockKind::Text => Block::Text(whole),
            BlockKind::Reasoning => Block::Reasoning(whole),
            BlockKind::ToolCall => {
                let bare = self.is_settled() || whole.is_empty();
                let arguments = if bare { JsString::from(&*Self::ARGUMENTS.concat()) } else { whole };
                Block::ToolCall { id: id(at), name: name(), arguments }
            }
        };
        Chunk::BlockEnd { index: at as u64, block }
    }

    /// As the adapter of Chat Completions hands it out: one text, one reasoning, and all ends behind all else.
    fn as_chat(&self) -> Vec<Chunk> {
        let mut kinds = Vec::new();
        let mut places: Vec<usize> = Vec::new();
        for (at, (kind, ..)) in self.blocks.iter().enumerate() {
            if *kind == BlockKind::ToolCall || !kinds.contains(kind) {
                kinds.push(*kind);
                places.push(at);
            }
        }
        let (mut chunks, mut wholes) = (Vec::new(), BTreeMap::<u64, Block>::new());
        let mut left: Vec<usize> = places.iter().map(|at| self.blocks[*at].1.len()).collect();
        for pick in &self.order {
            let started = wholes.len();
            let open: Vec<usize> = (0..places.len()).filter(|at| left[*at] > 0 && *at <= started).collect();
            if open.is_empty() {
                break;
            }
            let place = open[pick.index(open.len())];
            let (kind, pieces, _) = &self.blocks[places[place]];
            let piece = &pieces[pieces.len() - left[place]];
            left[place] -= 1;
            let index = place as u64;
            if !wholes.contains_key(&index) {
                chunks.push(Chunk::BlockStart { index, kind: *kind });
            }
            let whole = wholes.entry(index).or_insert_with(|| match kind {
                BlockKind::Text => Block::Text(JsString::default()),
                BlockKind::Reasoning => Block::Reasoning(JsString::default()),
                BlockKind::ToolCall => {
                    Block::ToolCall { id: id(place), name: name(), arguments: JsString::default() }
                }
            });
            let text = piece.clone();
            match whole {
                Block::Text(whole) | Block::Reasoning(whole) => whole.push_string(&text),
                Block::ToolCall { arguments, .. } => arguments.push_string(&text),
            }
            chunks.push(match kind {
                BlockKind::Text => Chunk::TextDelta { index, text },
                BlockKind::Reasoning => Chunk::ReasoningDelta { index, text },
                BlockKind::ToolCall => {
                    Chunk::ToolCallDelta { index, id: id(place), name: Some(name()), arguments: text }
                }
            });
        }
        if self.is_settled() {
            chunks.extend(wholes.into_iter().map(|(index, block)| Chunk::BlockEnd { index, block }));
        }
        chunks
    }
}

/// The text of Chat Completions is never empty.
fn full() -> impl Strategy<Value = JsString> {
    prop::sample::select(vec!["a", "{", "\u{1f600}", "\"", "\\", "\n\r", " "]).prop_map(JsString::from)
}

fn route(dialect: Dialect) -> Route {
    Route { dialect, model: JsString::from("m"), base: "http://h".to_owned(), idle_timeout_ms: 5 }
}

/// Read a response whose body comes in pieces of these sizes, in turn.
fn read_in_pieces(served: &Served, route: Route, sizes: &[usize], is_cancelled: bool) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut reader = AnswerReader::new(route);
    if let Some(status) = served.status {
        let headers = served.headers.clone().into_iter().collect();
        reader.begin(Head { status, headers, at: Millis(0) }, &mut chunks);
    }
    let body: Vec<u8> = served.writes.iter().flat_map(|write| write.bytes.clone()).collect();
    let mut rest = body.as_slice();
    for size in sizes.iter().cycle() {
        let (piece, tail) = rest.split_at(rest.len().min(*size));
        reader.push(piece, &mut chunks);
        rest = tail;
        if rest.is_empty() {
            break;
        }
    }
    match served.body_end() {
        None if is_cancelled => {}
        how => reader.end(how.unwrap_or(BodyEnd::Idle), &mut chunks),
    }
    chunks
}

fn round_trip(answer: &Answer, mut chunks: Vec<Chunk>, dialect: Dialect, sizes: &[usize]) {
    if chunks.is_empty() {
        return;
    }
    answer.tail(dialect, &mut chunks);
    let timed: Vec<(Millis, Chunk)> = (0..).step_by(3).map(Millis).zip(chunks.iter().cloned()).collect();

    let packed = pack(timed.iter().map(|(time, chunk)| (*time, chunk))).unwrap();
    let doc = dshlog_codec::json::Doc::parse(String::from_utf8(packed).unwrap()).unwrap();
    assert_eq!(expand(doc.root()).unwrap(), timed);

    let recorded = Recorded { seq: Seq(0), chunks: &timed, is_accepted: true };
    let served = respond(recorded, dialect, Fidelity::Exact).unwrap().unwrap();
    let kept = serde_json::to_string(&served).unwrap();
    assert_eq!(serde_json::from_str::<Served>(&kept).unwrap(), served);
    let read = read_in_pieces(&served, route(dialect), sizes, matches!(answer.end, Ending::Cancelled));
    assert_eq!(read, chunks);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_answer_of_messages_round_trips(answer in answer(text()), sizes in prop::collection::vec(1..40usize, 1..5)) {
        round_trip(&answer, answer.as_messages(), Dialect::Messages, &sizes);
    }

    #[test]
    fn any_answer_of_chat_completions_round_trips(
        answer in answer(full()),
        sizes in prop::collection::vec(1..40usize, 1..5),
    ) {
        round_trip(&answer, answer.as_chat(), Dialect::Chat, &sizes);
    }

    /// Whatever comes, the reader ends, and in the same way however it was cut.
    #[test]
    fn any_bytes_give_the_same_chunks_in_any_pieces(
        lines in prop::collection::vec(
            prop::sample::select(vec![
                "data: {\"type\":\"message_start\",\"message\":{\"usage\":{}}}", "data: [DONE]", "", "", "", "event: x",
                "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"é\"}}",
                "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}",
                "data: {\"choices\":[{\"delta\":{\"content\":\"\u{1f600}\"}}]}", ": c", "data", "data: {",
            ]), 0..12),
        end in prop::sample::select(vec!["\n", "\r\n", "\r"]),
        sizes in prop::collection::vec(1..9usize, 1..5),
        noise in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
        is_chat in any::<bool>(),
    ) {
        let mut bytes = lines.join(end).into_bytes();
        for (at, byte) in noise {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        let dialect = if is_chat { Dialect::Chat } else { Dialect::Messages };
        let read = |sizes: &[usize]| {
            let write = Write { delay_ms: 0, bytes: bytes.clone() };
            let served = Served {
                status: Some(200),
                headers: BTreeMap::new(),
                framing: None,
                start_delay_ms: 0,
                writes: vec![write],
                end: End::Complete,
            };
            read_in_pieces(&served, route(dialect), sizes, false)
        };
        let whole = read(&[bytes.len().max(1)]);
        prop_assert!(matches!(whole.last(), Some(Chunk::Finish(_))));
        prop_assert_eq!(read(&sizes), whole);
    }
}

/// The responses that are kept in the repository, each in pieces of every size up to some.
#[test]
fn the_responses_of_the_own_corpus_in_pieces_of_every_size() {
    let mut seen = 0;
    for case in cases(&repository().join("corpora/wire")) {
        for settled in settled(&case).into_iter().filter(|settled| !is_prefix(&case, settled.n)) {
            let stored: Vec<Chunk> = settled.stream.iter().map(|(_, chunk)| chunk.clone()).collect();
            for size in 1..30 {
                let read = read_in_pieces(&settled.served, settled.route.clone(), &[size], false);
                assert_eq!(read, stored, "{} in pieces of {size}", settled.told);
            }
            seen += 1;
        }
    }
    assert!(seen > 20, "only {seen}");
}
