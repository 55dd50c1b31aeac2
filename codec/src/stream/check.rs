//! Whether an answer is what its stream amounts to (`docs/spec/storage.md`, 13.2, step 2).

use crate::check::{Rule, RuleFault, refuse, shown};
use crate::error::Result;
use crate::event::Event;
use crate::json::{Doc, Js, deep_equal, print};
use crate::pack::{Fault, Record};

use super::{Assembler, Block};

/// Check what the official writer checks of an event of V4 before it publishes a log that was migrated. Reading does not
/// ask for it.
///
/// The stream of every `assistant/message` and `assistant/attempt` must expand. When that of a message is not empty, it
/// must amount to the stored content, usage and replay state. Other events pass. The error names rule P-1 or P-2 with a
/// JSON pointer to the record or the member.
pub fn check_stream(event: &Event<'_>) -> Result<()> {
    let message = event.is("assistant/message");
    if !message && !event.is("assistant/attempt") {
        return Ok(());
    }
    let printed = event.data.filter(|data| data.has_lossy_number()).and_then(printed);
    let data = printed.as_ref().map(Doc::root).or(event.data);
    check_data(data, message).map_err(|fault| fault.at(event.at()))
}

/// The payload as it will stand in the new log. What is checked there is what was printed: negative zero has become zero,
/// infinity `null`.
fn printed(data: Js<'_>) -> Option<Doc> {
    let mut text = Vec::new();
    print(&mut text, data);
    Doc::parse(String::from_utf8(text).ok()?).ok()
}

fn check_data(data: Option<Js<'_>>, message: bool) -> Result<(), RuleFault> {
    let Some(records) = data.and_then(|data| data.get("stream")).and_then(Js::as_array) else {
        return refuse(Rule::StreamReplay, "/data/stream", "no array");
    };
    let mut assembler = Assembler::new();
    let mut empty = true;
    for (number, record) in records.enumerate() {
        let taken = Record::decode(record).and_then(|record| assembler.push_record(record));
        taken.or_else(|fault| refuse(Rule::StreamReplay, format!("/data/stream/{number}"), fault))?;
        empty = false;
    }
    match data {
        Some(data) if message && !empty => compare(data, &assembler),
        _ => Ok(()),
    }
}

fn compare(data: Js<'_>, assembler: &Assembler<'_>) -> Result<(), RuleFault> {
    let unfit = |fault: Fault| RuleFault {
        rule: Rule::StreamReplay,
        pointer: "/data/stream".to_owned(),
        detail: fault.to_owned(),
    };
    let interrupted = data.get("interrupted").is_some_and(Js::is_true);
    let blocks = if interrupted { assembler.interrupted_blocks() } else { assembler.blocks() };
    compare_content(data.path(&["message", "content"]), &blocks.map_err(unfit)?)?;

    let usage = data.get("usage");
    let same = match (usage, assembler.usage()) {
        (Some(stored), Some(came)) => deep_equal(came, stored),
        (stored, came) => stored.is_none() && came.is_none(),
    };
    if !same {
        return refuse(Rule::StreamDisagrees, "/data/usage", shown(usage));
    }

    let stored = data.path(&["message", "source", "replayState"]);
    let same = match (stored, assembler.replay_state().map_err(unfit)?) {
        (Some(stored), Some(came)) => came.equals(stored),
        (stored, came) => stored.is_none() && came.is_none(),
    };
    if !same {
        return refuse(Rule::StreamDisagrees, "/data/message/source/replayState", shown(stored));
    }
    Ok(())
}

fn compare_content(content: Option<Js<'_>>, blocks: &[Block<'_>]) -> Result<(), RuleFault> {
    const POINTER: &str = "/data/message/content";
    let Some(mut stored) = content.and_then(Js::as_array) else {
        return refuse(Rule::StreamDisagrees, POINTER, shown(content));
    };
    for (number, block) in blocks.iter().enumerate() {
        let stored = stored.next();
        if !stored.is_some_and(|stored| block.equals(stored)) {
            return refuse(Rule::StreamDisagrees, format!("{POINTER}/{number}"), shown(stored));
        }
    }
    match stored.next() {
        None => Ok(()),
        extra => refuse(Rule::StreamDisagrees, format!("{POINTER}/{}", blocks.len()), shown(extra)),
    }
}
