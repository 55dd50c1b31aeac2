//! `dshlog request`: what the model was asked.

mod change;
mod choice;
mod files;
mod view;

use std::ops::ControlFlow;
use std::sync::Arc;

use dshlog_codec::json::{JsString, print};
use dshlog_codec::{Event, Generation, Place, Seq};
use dshlog_migrate::Kin;
use dshlog_replay::estimate::Estimate;
use dshlog_replay::request::call::{COMPACTION_TOKENS_CHAT, Call, Compaction};
use dshlog_replay::request::chat::ChatPrinter;
use dshlog_replay::request::header::HeaderMark;
use dshlog_replay::request::messages::MessagesPrinter;
use dshlog_replay::request::refusal::Refusal;
use dshlog_replay::request::route::{RouteChange, ToolUpdateMode};
use dshlog_replay::{Position, Requests, stream};

use super::read::{offer, tell_end};
use crate::args::{Format, Request, ToolUpdate, YesNo};
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome, shown};
use crate::render::request::{About, Document, Shown, Tokens};
use crate::render::{request as page, units};
use crate::select::{self, Chosen};
use crate::source::{Form, Log};
use crate::transcript::Usage;
use choice::{Behind, Index, Kind, Made, Target};
use files::Files;

/// Show a request.
pub(crate) fn run(ctx: &mut Ctx, args: &Request) -> Result<Outcome, Failure> {
    let format = ctx.format(&[Format::Text, Format::Json, Format::Messages, Format::Chat])?;
    if args.tokens && matches!(format, Format::Messages | Format::Chat) {
        return Err(Failure::usage("`--tokens` comes as text or json"));
    }
    let chosen = select::session(ctx, &args.session, args.generation.map(Generation))?;
    let older = chosen.older.clone();
    show(ctx, args, &chosen, format).map_err(|failure| offer(failure, &older))
}

fn show(ctx: &mut Ctx, args: &Request, chosen: &Chosen, format: Format) -> Result<Outcome, Failure> {
    let instruction = match &args.instruction {
        Some(path) => Some(std::fs::read_to_string(path).map_err(|error| Failure::io("read", path, error))?),
        None => None,
    };
    let files = Files::new(ctx, args, chosen.member.as_ref())?;
    let log = Log::open(chosen, Form::Current, &Arc::<Kin>::default())?;
    let mut index = Index::default();
    let mut checked = log.check(|event| index.see(event))?;
    checked.session()?;
    tell_end(ctx, &log, &checked);
    let target = index.choose(args, &log)?;
    target.check(args)?;
    let through = args.through.map(|seq| choice::carried(seq, &log)).transpose()?;
    let work = Work {
        args,
        format,
        log: &log,
        files: &files,
        target,
        instruction: instruction.as_deref(),
        through: through.as_deref(),
    };
    if args.diff {
        return change::run(ctx, &work, index.before(&target)?);
    }
    let asked = work.walk()?;
    tell(ctx, &work, &asked);
    match asked.output {
        Output::Body(body) => {
            let body = body.map_err(|refusal| refused(&refusal, &work))?;
            ctx.out().write_all(&body)?;
            ctx.out().write_all(b"\n")?;
        }
        Output::Document(document) => {
            let headers = stored_headers(&log, asked.headers)?;
            let ended_by = match target {
                Target::Made(made) => Some(stored_seq(&log, made.seq, made.place())?),
                Target::Behind(_) | Target::Next => None,
            };
            let Facts { kind, position } = asked.facts;
            let missing = asked.lacks.names();
            let about = About { kind, position, headers, seq: ended_by, missing, tokens: asked.tokens };
            page::json(ctx.out(), &document, &about)?;
        }
        Output::Text(mut shown) => {
            shown.tokens = asked.tokens;
            if let Some(mark) = asked.headers.last() {
                let seq = stored_seq(&log, mark.seq, mark.place)?;
                shown.header = Some(format!("event {seq}, {}", mark.reason.name()));
            }
            let (width, color) = (ctx.terminal.width, ctx.color);
            ctx.page();
            page::write(ctx.out(), width, color, args.full, &shown)?;
        }
    }
    Ok(Outcome::Clean)
}

/// What is to be done.
struct Work<'a> {
    args: &'a Request,
    format: Format,
    log: &'a Log,
    files: &'a Files,
    target: Target,
    instruction: Option<&'a str>,
    /// What became of the event that `--through` names.
    through: Option<&'a [Seq]>,
}

/// A request, ready to be written.
struct Asked {
    facts: Facts,
    /// All headers so far, the one in force last; none of a title.
    headers: Vec<HeaderMark>,
    output: Output,
    tokens: Option<Tokens>,
    lacks: Lacks,
    /// Assistant messages whose signatures were left out, since their replay state is malformed.
    ignored_replay: Vec<Seq>,
    /// The code of the failure of an attempt that ended before anything was sent.
    unsent: Option<String>,
}

impl Asked {
    /// Take over what the provider counted, from the event that settled the request.
    fn report(&mut self, settlement: Option<&Event<'_>>) {
        if let Some(tokens) = &mut self.tokens {
            tokens.reported = settlement.and_then(Usage::settled).map(Usage::sent);
        }
    }
}

/// Which request it is.
struct Facts {
    kind: &'static str,
    position: Option<Position>,
}

/// What the log does not tell of a request.
#[derive(Clone, Copy, Default)]
struct Lacks {
    /// The instruction of a compaction, which was not given either.
    instruction: bool,
    /// How many messages a compaction was shown.
    extent: bool,
}

impl Lacks {
    fn names(self) -> Vec<&'static str> {
        let lacking = [(self.instruction, "instruction"), (self.extent, "extent")];
        lacking.into_iter().filter(|(lacks, _)| *lacks).map(|(_, name)| name).collect()
    }
}

enum Output {
    Body(Result<Vec<u8>, Refusal>),
    Document(Document),
    Text(Shown),
}

impl Work<'_> {
    /// Walk to the request and make what is to be written of it.
    fn walk(&self) -> Result<Asked, Failure> {
        let mut requests = Requests::new();
        let mut asked = None;
        let walked = self.log.each(|event| {
            let is_behind = match self.target {
                Target::Made(made) => event.seq == made.stop(),
                Target::Behind(Behind::Seq(last)) => event.seq.0 > last,
                Target::Behind(Behind::Line(last)) => event.place.line > last,
                Target::Next => false,
            };
            if is_behind {
                asked = Some(self.asked(&requests, Some(event))?);
                return Ok(ControlFlow::Break(()));
            }
            requests.see(event)?;
            Ok::<_, Failure>(ControlFlow::Continue(()))
        })?;
        if let Some(damage) = walked.damage {
            return Err(damage.into());
        }
        asked.map_or_else(|| self.asked(&requests, None), Ok)
    }

    /// The request that is meant, in the state in front of `event`.
    fn asked(&self, requests: &Requests, event: Option<&Event<'_>>) -> Result<Asked, Failure> {
        let made = match self.target {
            Target::Made(made) => Some(made),
            Target::Behind(_) | Target::Next => None,
        };
        match (made, event) {
            (Some(Made { kind: Kind::Title, .. }), Some(event)) => {
                let call = Call::title(event)
                    .ok_or_else(|| Failure::refused("the log changed while it was read"))?;
                let facts = Facts { kind: "title", position: None };
                let config = page::config(&call);
                Ok(self.finish(facts, &[], &call, config, call.system.clone(), Lacks::default()))
            }
            (Some(made @ Made { kind: Kind::Compaction, .. }), Some(event)) => {
                self.compaction(requests, made, event)
            }
            (made, event) => {
                let settled = event.filter(|_| made.is_some()).and_then(|event| requests.settled(event));
                let request = settled.unwrap_or_else(|| requests.next());
                let call = request.call().map_err(|_| no_header())?;
                let mut config = Vec::new();
                if let Some(recorded) = request.config() {
                    print(&mut config, recorded);
                }
                let facts = Facts { kind: "agent", position: Some(request.position) };
                let (headers, system) = (requests.headers(), request.system());
                let mut asked = self.finish(facts, headers, &call, config, system, Lacks::default());
                let settlement = event.filter(|_| made.is_some());
                asked.unsent = settlement.and_then(stream::unsent);
                asked.report(settlement);
                Ok(asked)
            }
        }
    }

    fn compaction(&self, requests: &Requests, made: Made, event: &Event<'_>) -> Result<Asked, Failure> {
        let unknown = Compaction { start: made.seq, shown: None, max_tokens: None };
        let mut compaction = requests.compaction(event).unwrap_or(unknown);
        let is_old =
            self.format == Format::Chat || (self.format != Format::Messages && !self.log.is_current());
        if is_old {
            compaction.max_tokens.get_or_insert(COMPACTION_TOKENS_CHAT);
        }
        let through = self.through(requests, &compaction)?;
        let call = requests.compaction_call(&compaction, self.instruction, through);
        let call = call.map_err(|_| no_header())?;
        let lacks = Lacks {
            instruction: self.instruction.is_none(),
            extent: compaction.shown.is_none() && through.is_none(),
        };
        let request = requests.next();
        let facts = Facts { kind: "compaction", position: None };
        let (headers, system) = (requests.headers(), request.system());
        let mut asked = self.finish(facts, headers, &call, page::config(&call), system, lacks);
        asked.report(Some(event));
        Ok(asked)
    }

    /// The last node that a compaction was shown, as the command line has it.
    fn through(&self, requests: &Requests, compaction: &Compaction) -> Result<Option<Seq>, Failure> {
        let (Some(seq), Some(carried)) = (self.args.through, self.through) else { return Ok(None) };
        if compaction.shown.is_some() {
            return Err(Failure::usage(
                "the log tells how much this compaction was shown; `--through` is for one that failed",
            ));
        }
        let node = requests.history().nodes().find(|node| carried.contains(&node.seq));
        node.map(|node| Some(node.seq)).ok_or_else(|| {
            Failure::usage(format!("no message of event {seq} was in the history that the compaction was of"))
                .hint("`dshlog read SESSION --surface --at SEQ` shows which events gave those that were")
        })
    }

    fn finish(
        &self,
        facts: Facts,
        headers: &[HeaderMark],
        call: &Call<'_>,
        config: Vec<u8>,
        system: Option<JsString>,
        lacks: Lacks,
    ) -> Asked {
        let mut ignored_replay = Vec::new();
        let tokens = self.args.tokens.then(|| Tokens { estimate: Estimate::of(call), reported: None });
        let output = match self.format {
            Format::Messages => {
                let body = MessagesPrinter::new(self.change()).body(call, self.files);
                Output::Body(body.map(|body| {
                    ignored_replay = body.ignored_replay;
                    body.json
                }))
            }
            Format::Chat => Output::Body(ChatPrinter::new(self.change()).body(call, self.files)),
            Format::Json => Output::Document(Document::of(call, config, system)),
            _ => Output::Text(self.shown(&facts, call, system, tokens.as_ref())),
        };
        Asked { facts, headers: headers.to_vec(), output, tokens, lacks, ignored_replay, unsent: None }
    }

    /// What the command line says of the route.
    fn change(&self) -> RouteChange {
        RouteChange {
            images: self.args.images.map(|images| images == YesNo::Yes),
            tool_update: self.args.tool_update.map(|update| match update {
                ToolUpdate::None => None,
                ToolUpdate::AdditionOnly => Some(ToolUpdateMode::AdditionOnly),
                ToolUpdate::InHistory => Some(ToolUpdateMode::InHistory),
            }),
        }
    }

    fn shown(
        &self,
        facts: &Facts,
        call: &Call<'_>,
        system: Option<JsString>,
        tokens: Option<&Tokens>,
    ) -> Shown {
        let title = match facts.position {
            Some(Position { turn, step, attempt }) => {
                let next = if matches!(self.target, Target::Made(_)) { "" } else { "next: " };
                let attempt = if attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
                format!("{next}turn {turn}, step {step}{attempt}")
            }
            None => format!("request for a {}", facts.kind),
        };
        let mut messages = view::messages(call);
        let estimated = tokens.into_iter().flat_map(|tokens| &tokens.estimate.messages);
        for (message, tokens) in messages.iter_mut().zip(estimated) {
            message.tokens = Some(*tokens);
        }
        // The prompt at the head stands there already.
        if facts.kind != "title"
            && system.is_some()
            && messages.first().is_some_and(|first| first.role == "system")
        {
            messages.remove(0);
        }
        let mut config = vec![call.model.to_lossy().into_owned(), call.provider.to_lossy().into_owned()];
        config.push(format!("effort {}", call.effort.to_lossy()));
        config.push(match call.max_tokens.parse() {
            Ok(tokens) => format!("at most {}", units::count(tokens, "token")),
            Err(_) => format!("at most {} tokens", call.max_tokens),
        });
        config.extend(call.temperature.as_ref().map(|temperature| format!("temperature {temperature}")));
        config.extend(call.stop.as_ref().map(|stop| format!("stop {stop}")));
        let tools = call.tools.as_ref();
        Shown {
            title,
            session: self.log.header.id.to_lossy().into_owned(),
            config,
            header: None,
            tokens: None,
            system: system.map(|system| system.to_lossy().into_owned()),
            tool_history: call.tool_history.clone(),
            tools: tools.map(|tools| tools.iter().map(|tool| tool.name().to_lossy().into_owned()).collect()),
            messages,
        }
    }
}

/// Say what a reader of the request should know.
fn tell(ctx: &mut Ctx, work: &Work<'_>, asked: &Asked) {
    match work.format {
        Format::Messages if !work.log.is_current() => {
            let stored = work.log.generation();
            ctx.note(format!("no dsh that writes {stored} speaks Messages; `--format chat` is what it sent"));
        }
        Format::Chat if work.log.is_current() => {
            ctx.note("no dsh that writes V4 speaks Chat Completions; `--format messages` is what it sent");
        }
        _ => {}
    }
    if let Some(code) = &asked.unsent {
        ctx.note(format!(
            "this attempt failed before anything was sent ({code}); this is what it would have sent"
        ));
    }
    if asked.lacks.instruction {
        ctx.warn("the instruction of a compaction is in no log, and is missing here; `--instruction FILE` gives it");
    }
    if asked.lacks.extent {
        ctx.warn(
            "of a compaction without a summary no log tells how much it was shown; this is all there was, `--through SEQ` \
             ends it earlier",
        );
    }
    if let Some(first) = asked.ignored_replay.first() {
        ctx.warn(format!(
            "{} malformed and not sent back, the first of event {first}",
            match asked.ignored_replay.len() {
                1 => "1 replay state is".to_owned(),
                count => format!("{count} replay states are"),
            }
        ));
    }
}

/// Why there is no body.
fn refused(refusal: &Refusal, work: &Work<'_>) -> Failure {
    let files = work.files;
    let place = match (refusal.seq(), work.log.is_current()) {
        (Some(seq), true) => format!(" (event {seq})"),
        (Some(seq), false) => format!(" (event {seq} in the form of V4)"),
        (None, _) => String::new(),
    };
    if let Some(code) = refusal.code() {
        let is_made = matches!(work.target, Target::Made(_));
        let would =
            if is_made { "dsh refuses to send this request" } else { "dsh would not send such a request" };
        let mut failure = Failure::refused(format!("{would}: {code}, {refusal}{place}"));
        if !is_made && matches!(refusal, Refusal::Unanswered { .. }) {
            failure = failure.hint("dsh gives open calls a result before it asks again");
        }
        return failure.hint("`--format json` and `--format text` show it all the same");
    }
    let failure = Failure::refused(format!("the request cannot be rebuilt: {refusal}{place}"));
    let Refusal::MissingAttachments { .. } = refusal else { return failure };
    let failure = match files.folder() {
        Some(folder) => failure.hint(format!("stored images are looked for in {}", shown(folder))),
        None => failure,
    };
    let failure = files.wrong().iter().fold(failure, |failure, path| {
        failure.hint(format!("{} is not the image that its name says", shown(path)))
    });
    failure.hint("`--attachments DIR` names another folder, `--file-ids FILE` gives the ids of uploads")
}

/// Headers with the seqs that they have in the stored log.
fn stored_headers(log: &Log, mut headers: Vec<HeaderMark>) -> Result<Vec<HeaderMark>, Failure> {
    if log.is_current() {
        return Ok(headers);
    }
    let mut rest = headers.iter_mut().peekable();
    log.each_stored(|event| {
        if let Some(mark) = rest.next_if(|mark| mark.place == event.place) {
            mark.seq = event.seq;
        }
        if rest.peek().is_none() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    Ok(headers)
}

/// The seq that an event of V4 has in the stored log.
fn stored_seq(log: &Log, seq: Seq, place: Place) -> Result<u64, Failure> {
    if log.is_current() {
        return Ok(seq.0);
    }
    let mut found = seq.0;
    log.each_stored(|event| {
        if event.place == place {
            found = event.seq.0;
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

fn no_header() -> Failure {
    Failure::refused("no request can be made there: the log has no `request/header` yet")
}
