//! The message of every recorded answer, put together again from its stream.

use dshlog_codec::json::Js;
use dshlog_replay::wire::{Assembler, expand};

use super::logs;
use super::recorded::folders;

/// A value as it stands in the log.
fn raw(value: Option<Js<'_>>) -> Option<String> {
    value.map(|value| value.raw().to_owned())
}

fn printed(print: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    print(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn the_message_of_each_answer_is_what_its_stream_amounts_to() {
    for (name, folder) in folders() {
        let (mut messages, mut interrupted) = (0, 0);
        for path in logs::below(&folder) {
            logs::each(&path, |event| {
                let stream = event.member("stream").filter(|_| event.is("assistant/message"));
                let Some(stream) = stream.filter(|stream| stream.elements().next().is_some()) else { return };
                let told = format!("{} seq {}", path.display(), event.seq);
                let mut assembler = Assembler::new();
                for (_, chunk) in expand(stream).unwrap() {
                    assembler.push(&chunk);
                }
                let is_interrupted = event.member("interrupted").is_some_and(Js::is_true);
                let blocks = if is_interrupted { assembler.interrupted_blocks() } else { assembler.blocks() };
                let blocks: Vec<_> = blocks.iter().map(|block| printed(|out| block.print(out))).collect();
                let message = event.member("message").unwrap();
                let content = format!("[{}]", blocks.join(","));
                assert_eq!(Some(content), raw(message.get("content")), "{told}");
                let usage = assembler.usage().map(|usage| printed(|out| usage.print(out)));
                assert_eq!(usage, raw(event.member("usage")), "{told}");
                let state = assembler.replay_state().map(|state| printed(|out| state.print(out)));
                assert_eq!(state, raw(message.path(&["source", "replayState"])), "{told}");
                messages += 1;
                interrupted += usize::from(is_interrupted);
            });
        }
        assert!(messages > 200 && interrupted > 1, "{name}: {messages}, {interrupted} interrupted");
    }
}
