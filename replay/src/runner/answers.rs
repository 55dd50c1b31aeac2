//! What a record has the model answer, and what it implies that the model was asked.

use dshlog_codec::Seq;
use dshlog_codec::json::{Js, JsString};

use super::images::Placeholders;
use crate::Position;
use crate::agent::rerun::Record;
use crate::compare::Source as _;
use crate::request::chat::ChatPrinter;
use crate::request::messages::MessagesPrinter;
use crate::request::refusal::Refusal;
use crate::request::{Request, Requests};
use crate::surface::HistoryError;
use crate::wire::{Dialect, Fidelity, OddStream, Recording, Recordings, Served, Unrepresentable, respond};

/// The requests of a record that were sent, in order, with their answers.
#[derive(Debug, Default)]
pub struct Answers {
    /// What is asked.
    pub asked: Vec<Asked>,
    /// What is answered.
    pub served: Vec<Served>,
    /// The title that the session got.
    pub title: Option<JsString>,
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
    /// Of a record: each of its processes in its own dialect, or all in Messages where that cannot tell the streams.
    ///
    /// # Errors
    /// A record that no server can play.
    pub fn of(record: &Record) -> Result<Self, Unserved> {
        match Answers::spoken(record, true) {
            Err(Unserved::Answer(_)) => Answers::spoken(record, false),
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
            if event.is("session/title") {
                let title = event.member("title").and_then(Js::as_str);
                gathered.answers.title = title.map(|title| title.to_owned());
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
        let Some(served) = respond(recording.recorded(), dialect, Fidelity::Exact)? else { return Ok(()) };
        let Some(request) = self.requests.settled(event) else { return Ok(()) };
        let body = self.printer.body(request, dialect);
        let body = body.map_err(|refusal| Unserved::Request { seq: event.seq, refusal })?;
        self.answers.asked.push(Asked { position: request.position, body });
        self.answers.served.push(served);
        Ok(())
    }
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
