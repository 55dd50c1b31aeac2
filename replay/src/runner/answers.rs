//! What a record has the model answer, and what it implies that the model was asked.

use std::collections::HashMap;

use dshlog_codec::Seq;
use dshlog_codec::json::JsString;
use dshlog_fixture_server::Script;
use dshlog_fixture_server::script::Exchange;

use super::images::Placeholders;
use crate::Position;
use crate::agent::rerun::Record;
use crate::compare::Source as _;
use crate::request::chat::ChatPrinter;
use crate::request::messages::MessagesPrinter;
use crate::request::refusal::Refusal;
use crate::request::{Request, Requests};
use crate::script::response::response;
use crate::surface::HistoryError;
use crate::wire::{
    Block, Chunk, Dialect, End, Fidelity, Framing, OddStream, Recording, Recordings, Served, Unrepresentable,
    respond,
};

/// The requests of a record that were sent, in order, with their answers.
#[derive(Debug, Default)]
pub struct Answers {
    /// What is asked.
    pub asked: Vec<Asked>,
    /// What is answered.
    pub served: Vec<Served>,
    /// Each process speaks the dialect that it spoke; else all speak Messages.
    pub own_dialects: bool,
}

/// A request that a record implies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Where it stands.
    pub position: Position,
    /// Its body, as the agent core prints it.
    pub body: Vec<u8>,
}

/// Why a record cannot be played by a server.
#[derive(Debug, thiserror::Error)]
pub enum Unserved {
    /// No answer gives a recorded stream.
    #[error(transparent)]
    Answer(#[from] Unrepresentable),
    /// A stream that nobody can have recorded.
    #[error("the stream at seq {seq} contradicts itself: the pieces of block {index} do not make the block")]
    Contradiction {
        /// The event that holds it.
        seq: Seq,
        /// The block.
        index: u64,
    },
    /// A request that cannot be made from what the log holds.
    #[error("the request that ended at seq {seq} cannot be made again: {refusal}")]
    Request {
        /// Where it ended.
        seq: Seq,
        /// Why.
        refusal: Refusal,
    },
    /// No stream at all.
    #[error(transparent)]
    Stream(#[from] OddStream),
    /// The record does not fold.
    #[error(transparent)]
    History(#[from] HistoryError),
}

impl Answers {
    /// A script that gives them, one a request, in order.
    pub(super) fn script(&mut self) -> Script {
        let served = std::mem::take(&mut self.served);
        // The core takes times from the record, so nothing is lost when all of an answer comes at once, and much is saved.
        let respond = |served: Served| response(served.at_once(), false);
        let exchange = |served| Exchange { respond: respond(served), ..Exchange::default() };
        let exchanges = served.into_iter().map(exchange).collect();
        let script = Script { name: "the record".to_owned(), exchanges, ..Script::default() };
        super::playable(script)
    }

    /// Of a record: each of its processes in its own dialect, or all in Messages where that cannot tell the streams.
    ///
    /// # Errors
    /// A record that no server can play.
    pub fn of(record: &Record) -> Result<Self, Unserved> {
        match Answers::spoken(record, true) {
            // Why it does not work in its own words says more.
            Err(Unserved::Answer(why)) => Answers::spoken(record, false).map_err(|_| Unserved::Answer(why)),
            answers => answers,
        }
    }

    fn spoken(record: &Record, own_dialects: bool) -> Result<Self, Unserved> {
        let mut gathered = Gather {
            answers: Answers { own_dialects, ..Answers::default() },
            recordings: Recordings::new(),
            requests: Requests::new(),
            printer: Printer::default(),
        };
        let (mut fault, inherited) = (None, record.inherited() as u64);
        let Ok(()) = record.each(&mut |event| {
            if fault.is_some() {
                return;
            }
            let recording = gathered.recordings.see(event);
            let is_own = event.seq.0 >= inherited;
            let taken = match recording {
                Ok(Some(recording)) if is_own => {
                    let dialect = if own_dialects { record.dialect(event.seq) } else { Dialect::Messages };
                    gathered.take(&recording, event, dialect)
                }
                Err(odd) if is_own => Err(odd.into()),
                _ => Ok(()),
            };
            fault = taken.and_then(|()| Ok(gathered.requests.see(event)?)).err();
        });
        fault.map_or(Ok(gathered.answers), Err)
    }
}

struct Gather {
    answers: Answers,
    recordings: Recordings,
    requests: Requests,
    printer: Printer,
}

impl Gather {
    fn take(
        &mut self,
        recording: &Recording,
        event: &dshlog_codec::Event<'_>,
        dialect: Dialect,
    ) -> Result<(), Unserved> {
        // What failed before anything was sent waits for no answer.
        let served = respond(recording.recorded(), dialect, Fidelity::Exact);
        let served = served.map_err(|why| match contradiction(recording) {
            Some(index) => Unserved::Contradiction { seq: event.seq, index },
            None => Unserved::Answer(why),
        })?;
        let Some(mut served) = served else { return Ok(()) };
        if recording.chunks.is_empty() && served.end == End::Stall {
            // Whoever left before anything came did not wait for a status either; the core does.
            served.status.get_or_insert(200);
            served.framing.get_or_insert(Framing::Chunked);
        }
        let Some(request) = self.requests.settled(event) else { return Ok(()) };
        let body = self.printer.body(request, dialect);
        let body = body.map_err(|refusal| Unserved::Request { seq: event.seq, refusal })?;
        self.answers.asked.push(Asked { position: request.position, body });
        self.answers.served.push(served);
        Ok(())
    }
}

/// The first block of a stream that is not what its pieces make.
fn contradiction(recording: &Recording) -> Option<u64> {
    let mut pieces: HashMap<u64, JsString> = HashMap::new();
    for (_, chunk) in &recording.chunks {
        let (index, piece) = match chunk {
            Chunk::TextDelta { index, text } | Chunk::ReasoningDelta { index, text } => (index, text),
            Chunk::ToolCallDelta { index, arguments, .. } => (index, arguments),
            Chunk::BlockEnd { index, block } => {
                let (Block::Text(whole) | Block::Reasoning(whole) | Block::ToolCall { arguments: whole, .. }) =
                    block;
                if pieces.remove(index).is_some_and(|made| made != *whole) {
                    return Some(*index);
                }
                continue;
            }
            _ => continue,
        };
        pieces.entry(*index).or_default().push_string(piece);
    }
    None
}

/// Prints bodies of either dialect.
#[derive(Debug, Default)]
pub(super) struct Printer {
    messages: MessagesPrinter,
    chat: ChatPrinter,
}

impl Printer {
    /// The body of a request.
    pub(super) fn body(&mut self, request: Request<'_>, dialect: Dialect) -> Result<Vec<u8>, Refusal> {
        let call = request.call()?;
        match dialect {
            Dialect::Messages => Ok(self.messages.body(&call, &Placeholders)?.json),
            Dialect::Chat => self.chat.body(&call, &Placeholders),
        }
    }
}
