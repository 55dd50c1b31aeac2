//! Blocks go out and come back the same, wherever they are split, in both dialects.

use dshlog_fixture_server::script::{Block, Exchange, Message, Part, Response, Stop, Usage};
use dshlog_fixture_server::{FixtureServer, Script};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::{Client, chat, events, messages, post};
use crate::reader::{self, Heard};

/// What both dialects make of a message, read again.
fn both(message: &Message) -> (Heard, Heard) {
    let exchange = || {
        let respond = Response { message: Some(message.clone()), ..Response::default() };
        Exchange { respond, ..Exchange::default() }
    };
    let script = Script { exchanges: vec![exchange(), exchange()], ..Script::default() };
    let server = FixtureServer::spawn(script).unwrap();
    let mut client = Client::connect(server.address());
    client.send(&post("/messages", &messages("x"), ""));
    let one = reader::messages(&events(&client.answer().body())).expect("a stream of Messages");
    client.send(&post("/chat/completions", &chat("x"), ""));
    let two = reader::chat(&events(&client.answer().body())).expect("a stream of Chat Completions");
    (one, two)
}

/// The pieces that a text is split into, told in another way than the server does it.
fn split(text: &str, at: &[usize]) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut places = at.to_vec();
    places.insert(0, 0);
    places.push(chars.len());
    let pieces = places.windows(2).map(|pair| chars[pair[0]..pair[1]].iter().collect::<String>());
    pieces.filter(|piece| !piece.is_empty()).collect()
}

/// A text, and places that split it.
fn text_and_splits() -> impl Strategy<Value = (String, Vec<usize>)> {
    "(\\PC|[\\x00-\\x1f\"\\\\\u{2028}😀漢]){0,40}".prop_flat_map(|text| {
        let length = text.chars().count();
        let places = prop::collection::btree_set(1..length.max(2), 0..6);
        (Just(text), places)
            .prop_map(move |(text, places)| (text, places.into_iter().filter(|at| *at < length).collect()))
    })
}

#[derive(Clone, Debug)]
enum Any {
    Text(String, Vec<usize>),
    Thinking(String, Vec<usize>, Option<String>),
    Call(String, Vec<usize>),
}

fn any_block() -> impl Strategy<Value = Any> {
    prop_oneof![
        text_and_splits().prop_map(|(text, split)| Any::Text(text, split)),
        (text_and_splits(), prop::option::of("[a-z+/=]{0,12}"))
            .prop_map(|((t, s), g)| Any::Thinking(t, s, g)),
        text_and_splits().prop_map(|(text, split)| Any::Call(text, split)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn any_blocks_with_any_splits(any in prop::collection::vec(any_block(), 0..5)) {
        let blocks: Vec<Block> = any.iter().enumerate().map(|(n, any)| match any.clone() {
            Any::Text(text, split) => Block::Text { text, split, pieces: vec![] },
            Any::Thinking(text, split, signature) => Block::Thinking { text, split, pieces: vec![], signature },
            Any::Call(arguments, split) => Block::ToolUse {
                id: format!("call_{n}"), name: format!("tool_{n}"), input: None, arguments: Some(arguments), split, pieces: vec![], at_start: false,
            },
        }).collect();
        let usage = Usage { input: 11, output: 7, cache_read: Some(5), reasoning: Some(2), ..Usage::default() };
        let (one, two) = both(&Message { blocks, usage, ..Message::default() });

        let expected: Vec<reader::Block> = any.iter().enumerate().map(|(n, any)| {
            let block = |kind: &str, text: &str, at: &[usize]| reader::Block {
                kind: kind.to_owned(), pieces: split(text, at), ended: true, ..reader::Block::default()
            };
            match any {
                Any::Text(text, at) => block("text", text, at),
                Any::Thinking(text, at, signature) => reader::Block { signature: signature.clone(), ..block("thinking", text, at) },
                Any::Call(text, at) => reader::Block {
                    id: format!("call_{n}"), name: format!("tool_{n}"), input: json!({}), ..block("tool_use", text, at)
                },
            }
        }).collect();
        prop_assert_eq!(&one.blocks, &expected);
        let has_calls = any.iter().any(|any| matches!(any, Any::Call(..)));
        prop_assert_eq!(one.stop.as_deref(), Some(if has_calls { "tool_use" } else { "end_turn" }));
        prop_assert_eq!(one.usage, json!({"input_tokens": 11, "output_tokens": 7, "cache_read_input_tokens": 5}));
        prop_assert!(one.done && two.done);

        // Chat Completions joins texts and reasoning; what is said of each kind, and each call, is the same.
        let joined = |blocks: &[reader::Block], kind: &str| -> Vec<String> {
            blocks.iter().filter(|block| block.kind == kind).flat_map(|block| block.pieces.clone()).collect()
        };
        for kind in ["text", "thinking"] {
            prop_assert_eq!(joined(&two.blocks, kind), joined(&expected, kind));
        }
        let calls = |blocks: &[reader::Block], skip: usize| -> Vec<(String, String, Vec<String>)> {
            let calls = blocks.iter().filter(|block| block.kind == "tool_use");
            calls.map(|call| (call.id.clone(), call.name.clone(), call.pieces[skip..].to_vec())).collect()
        };
        // The chunk that names a call has an empty piece of arguments.
        prop_assert_eq!(calls(&two.blocks, 1), calls(&expected, 0));
        prop_assert_eq!(two.stop.as_deref(), Some(if has_calls { "tool_calls" } else { "stop" }));
        prop_assert_eq!(two.usage, json!({
            "prompt_tokens": 16, "completion_tokens": 7, "total_tokens": 23, "prompt_cache_hit_tokens": 5,
            "completion_tokens_details": {"reasoning_tokens": 2},
        }));
    }
}

#[test]
fn stops_have_the_words_of_their_dialect() {
    for (stop, one, two) in [
        (Stop::EndTurn, "end_turn", "stop"),
        (Stop::ToolUse, "tool_use", "tool_calls"),
        (Stop::MaxTokens, "max_tokens", "length"),
        (Stop::StopSequence, "stop_sequence", "stop"),
        (Stop::Other("refusal".to_owned()), "refusal", "refusal"),
    ] {
        let heard = both(&Message { stop: Some(stop), ..Message::default() });
        assert_eq!((heard.0.stop.as_deref(), heard.1.stop.as_deref()), (Some(one), Some(two)));
    }
}

#[test]
fn arguments_at_the_start_of_a_call_and_empty_pieces_are_kept() {
    let call = |pieces: &[&str], at_start: bool| Block::ToolUse {
        id: "c".to_owned(),
        name: "n".to_owned(),
        input: at_start.then(|| json!({"b": 1, "a": [1.5]})),
        arguments: None,
        split: vec![],
        pieces: pieces.iter().map(|piece| (*piece).to_owned()).collect(),
        at_start,
    };
    let (one, two) = both(&Message { blocks: vec![call(&[], true)], ..Message::default() });
    assert_eq!((&one.blocks[0].input, one.blocks[0].pieces.len()), (&json!({"a": [1.5], "b": 1}), 0));
    assert_eq!(two.blocks[0].pieces, [r#"{"a":[1.5],"b":1}"#]);
    let (one, _) = both(&Message { blocks: vec![call(&["", "{", "", "}"], false)], ..Message::default() });
    assert_eq!(one.blocks[0].pieces, ["", "{", "", "}"]);
}

#[test]
fn blocks_may_be_open_side_by_side() {
    let call =
        |index, id: &str| Part::ToolUse { index, id: id.to_owned(), name: "n".to_owned(), input: None };
    let delta = |index, text: &str| Part::Delta { index, text: text.to_owned() };
    let parts = vec![
        call(7, "a"),
        call(3, "b"),
        delta(3, "{"),
        delta(7, "["),
        Part::Text { index: 0 },
        delta(0, "t"),
        delta(7, "]"),
        Part::End { index: 7 },
        delta(3, "}"),
        Part::End { index: 3 },
        Part::End { index: 0 },
    ];
    let (one, two) =
        both(&Message { parts, usage: Usage { untold: true, ..Usage::default() }, ..Message::default() });
    let told = |heard: &Heard| -> Vec<(String, String)> {
        heard.blocks.iter().map(|block| (block.id.clone(), block.pieces.concat())).collect()
    };
    let pair = |id: &str, text: &str| (id.to_owned(), text.to_owned());
    assert_eq!(told(&one), [pair("a", "[]"), pair("b", "{}"), pair("", "t")]);
    assert_eq!(told(&one), told(&two));
    assert_eq!((one.usage, two.usage), (json!({}), Value::Null));
}
