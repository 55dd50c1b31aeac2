//! One request and what the log keeps of its answer (`docs/spec/agent-loop.md`, section 4).

use dshlog_codec::check::EventType;
use dshlog_codec::json::{Doc, Fields, Js, Tree, print};
use dshlog_codec::pack::{Compactor, Fault, Record};
use dshlog_codec::stream::{Assembler, Block, ReplayState};
use dshlog_codec::{Millis, Seq};

use super::Agent;
use super::error::AgentError;
use super::log::Placement;
use super::world::{Moment, Reading, Stop, World};
use crate::request::header::printed;

/// Takes the chunks of an answer as they come, and keeps them as the log does.
#[derive(Debug, Default)]
pub struct Recorder {
    stream: Compactor,
    chunks: u64,
}

impl Recorder {
    /// Take a chunk, as the log prints it (`docs/spec/messages-wire.md`, section 9).
    ///
    /// # Errors
    /// What is no chunk.
    pub fn chunk(&mut self, time: Millis, chunk: Js<'_>) -> Result<(), Fault> {
        self.chunks += 1;
        self.stream.push(time, chunk)
    }

    /// Number of chunks so far.
    pub fn chunks(&self) -> u64 {
        self.chunks
    }

    /// Take the chunks of a record of another stream.
    ///
    /// # Errors
    /// What is no chunk.
    pub fn record(&mut self, record: Record<'_>) -> Result<(), Fault> {
        match record {
            Record::Chunk { time, chunk } => self.chunk(time, chunk),
            Record::Deltas(run) => {
                self.chunks += run.len() as u64;
                self.stream.push_run(&run);
                Ok(())
            }
        }
    }

    fn finish(mut self) -> String {
        let mut out = Vec::new();
        self.stream.print(&mut out);
        // The printer writes lone surrogates as escapes, so this is always UTF-8.
        String::from_utf8(out).unwrap_or_default()
    }
}

/// How an attempt ended.
#[derive(Debug)]
pub(super) enum Settled {
    /// With an answer, which this event holds.
    Answer {
        /// The `assistant/message`.
        seq: Seq,
        /// It broke off at the limit of tokens.
        max_tokens: bool,
    },
    /// With this failure.
    Failed(Doc),
}

/// What a stream amounts to, in JSON texts.
struct Settlement {
    content: Option<Box<str>>,
    usage: Option<Box<str>>,
    replay_state: Option<Box<str>>,
    max_tokens: bool,
    failure: Option<Doc>,
}

impl<W: World> Agent<'_, W> {
    /// Ask the model, and write down what comes of it.
    pub(super) fn attempt(&mut self, turn: u64, step: u64) -> Result<Settled, Stop> {
        self.world.others(&mut self.log)?;
        self.world.open(&self.log)?;
        let mut recorder = Recorder::default();
        let read = loop {
            match self.world.read(&mut recorder) {
                Ok(Reading::More) => {}
                Ok(Reading::Done) => break Ok(()),
                Err(left) => break Err(left),
            }
        };
        self.world.others(&mut self.log)?;
        let interruption = match read.and_then(|()| self.world.check(Moment::Answered, &self.log)) {
            Ok(()) => None,
            Err(fault @ Stop::Fault(_)) => return Err(fault),
            Err(left) => Some(left),
        };
        let stream = recorder.finish();
        let seq = self.log.next_seq();
        let aborted = matches!(interruption, Some(Stop::Abort(_)));
        let settlement = settle(&stream, aborted).map_err(|what| AgentError::Stream { seq, what })?;
        // What a process left that ended here, loops of today do not write down; those of the first era wrote each chunk.
        let thrown = matches!(interruption, Some(Stop::Failed(_) | Stop::Ended));
        let is_lost = aborted && !self.world.keeps_cut_answers();
        let is_attempt = thrown || is_lost || settlement.content.is_none();
        let Settlement { content, usage, replay_state, max_tokens, failure } = settlement;
        if is_attempt {
            let data = super::at(turn, step).with("stream", Tree::Text(stream.into()));
            self.write(EventType::AssistantAttempt, Placement::Off, |_| data)?;
        } else {
            let (provider, model) = self.route();
            self.write(EventType::AssistantMessage, Placement::Append(None), |id| {
                let mut source = Fields::new()
                    .with("kind", Tree::string("model"))
                    .with("provider", provider)
                    .with("model", model);
                if let Some(state) = replay_state {
                    source.set("replayState", Tree::Text(state));
                }
                let message = Fields::new()
                    .with("role", Tree::string("assistant"))
                    .with("content", Tree::Text(content.unwrap_or_default()))
                    .with("source", source)
                    .with("id", id);
                let mut data = super::at(turn, step).with("message", message);
                if aborted {
                    data.set("interrupted", Tree::bool(true));
                }
                if let Some(usage) = usage {
                    data.set("usage", Tree::Text(usage));
                }
                data.with("stream", Tree::Text(stream.into()))
            })?;
        }
        match (interruption, failure) {
            (Some(left), _) => Err(left),
            (None, Some(failure)) => Ok(Settled::Failed(failure)),
            (None, None) => Ok(Settled::Answer { seq, max_tokens }),
        }
    }

    /// Provider and model of the header in force.
    fn route(&self) -> (Tree<'static>, Tree<'static>) {
        let config = self.log.declared().and_then(|declared| declared.header.root().get("config"));
        let member = |name| {
            config
                .and_then(|config| config.get(name))
                .map_or_else(|| Tree::string(""), |value| Tree::Text(printed(value).into()))
        };
        (member("provider"), member("model"))
    }
}

/// What a stream amounts to. Of an answer that was cut off only what can be seen counts.
fn settle(stream: &str, aborted: bool) -> Result<Settlement, Fault> {
    let doc = Doc::parse(stream).map_err(|_| "no JSON")?;
    let mut assembler = Assembler::new();
    for record in doc.root().elements() {
        assembler.push_record(Record::decode(record)?)?;
    }
    let finish = assembler.finish();
    let failed = finish.kind().is_some_and(|kind| kind == "error" || kind == "aborted");
    let (content, failure) = if aborted {
        let blocks = assembler.interrupted_blocks()?;
        ((!blocks.is_empty()).then(|| printed_blocks(&blocks)), None)
    } else if failed {
        let failure = finish.failure().map_or_else(|| "null".to_owned(), printed);
        (None, Some(Doc::parse(failure).map_err(|_| "no JSON")?))
    } else {
        (Some(printed_blocks(&assembler.blocks()?)), None)
    };
    Ok(Settlement {
        content,
        usage: assembler.usage().map(|usage| printed(usage).into()),
        replay_state: if failed && !aborted {
            None
        } else {
            assembler.replay_state()?.map(|state| printed_state(&state))
        },
        max_tokens: finish.kind().is_some_and(|kind| kind == "max-tokens"),
        failure,
    })
}

fn printed_blocks(blocks: &[Block<'_>]) -> Box<str> {
    let mut out = vec![b'['];
    for (i, block) in blocks.iter().enumerate() {
        if i > 0 {
            out.push(b',');
        }
        block.print(&mut out);
    }
    out.push(b']');
    String::from_utf8(out).unwrap_or_default().into()
}

fn printed_state(state: &ReplayState<'_>) -> Box<str> {
    let mut out = Vec::new();
    match state {
        ReplayState::Whole(whole) => print(&mut out, *whole),
        ReplayState::Stripped { response, blocks } => {
            out.push(b'{');
            if let Some(response) = response {
                out.extend_from_slice(b"\"response\":");
                print(&mut out, *response);
                out.push(b',');
            }
            out.extend_from_slice(b"\"blocks\":[");
            for (i, block) in blocks.iter().enumerate() {
                if i > 0 {
                    out.push(b',');
                }
                print(&mut out, *block);
            }
            out.extend_from_slice(b"]}");
        }
    }
    String::from_utf8(out).unwrap_or_default().into()
}
