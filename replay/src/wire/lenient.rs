//! What two dialects have in common of one answer (`docs/spec/messages-wire.md`, 15.5).

use dshlog_codec::json::JsString;

use super::chunk::{Chunk, Count, Finish, Reason, Usage};
use super::failure::Failure;

/// The form in which an answer is the same in both dialects: no names in the deltas of calls, no empty fragments, adjacent
/// deltas of a block as one, the ends of blocks behind all else, no replay state, only counts that both have. Of a failed
/// answer only one adapter tells usage and ends of blocks, and without a status only the code counts, since each has words of
/// its own.
pub fn lenient<'c>(chunks: impl IntoIterator<Item = &'c Chunk>) -> Vec<Chunk> {
    let (mut kept, mut ends, mut tail): (Vec<Chunk>, Vec<Chunk>, Vec<Chunk>) = Default::default();
    for chunk in chunks {
        match chunk {
            Chunk::TextDelta { text, .. } | Chunk::ReasoningDelta { text, .. } if text.is_empty() => {}
            Chunk::ToolCallDelta { arguments, .. } if arguments.is_empty() => {}
            Chunk::TextDelta { .. } | Chunk::ReasoningDelta { .. } | Chunk::ToolCallDelta { .. } => {
                if !kept.last_mut().is_some_and(|last| joins(last, chunk)) {
                    kept.push(unnamed(chunk));
                }
            }
            Chunk::BlockStart { .. } => kept.push(chunk.clone()),
            Chunk::BlockEnd { .. } => ends.push(chunk.clone()),
            Chunk::Usage(usage) => tail.push(Chunk::Usage(common(usage))),
            Chunk::Finish(finish) => tail.push(Chunk::Finish(plain(finish))),
        }
    }
    if let Some(Chunk::Finish(finish)) = tail.last()
        && finish.reason.failure().is_some()
    {
        tail.retain(|chunk| matches!(chunk, Chunk::Finish(_)));
        ends.clear();
    }
    ends.sort_by_key(Chunk::index);
    kept.append(&mut ends);
    kept.append(&mut tail);
    kept
}

/// Append a delta to the one before it, if both are of one block.
fn joins(last: &mut Chunk, next: &Chunk) -> bool {
    match (last, next) {
        (Chunk::TextDelta { index, text }, Chunk::TextDelta { index: next, text: more })
        | (Chunk::ReasoningDelta { index, text }, Chunk::ReasoningDelta { index: next, text: more })
        | (
            Chunk::ToolCallDelta { index, arguments: text, .. },
            Chunk::ToolCallDelta { index: next, arguments: more, .. },
        ) if index == next => {
            text.push_string(more);
            true
        }
        _ => false,
    }
}

fn unnamed(chunk: &Chunk) -> Chunk {
    let mut chunk = chunk.clone();
    if let Chunk::ToolCallDelta { name, .. } = &mut chunk {
        *name = None;
    }
    chunk
}

fn common(usage: &Usage) -> Usage {
    let mut common = Usage::new();
    for count in [Count::Input, Count::Output, Count::CacheRead, Count::CacheWrite] {
        if let Some(number) = usage.get(count) {
            common.set(count, number);
        }
    }
    common
}

fn plain(finish: &Finish) -> Finish {
    let mut reason = finish.reason.clone();
    if let Reason::Error(failure) | Reason::Aborted(failure) = &mut reason
        && failure.status.is_none()
    {
        *failure = Failure { message: JsString::default(), ..failure.clone() };
    }
    Finish { reason, replay_state: None }
}
