//! `request --diff`: what changed against the request before.

use dshlog_codec::json::print_string;
use dshlog_replay::compare::{RequestParts, request_changes};

use super::choice::{Made, Target};
use super::{Output, Work};
use crate::args::Format;
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome};
use crate::render::diff::{Layout, RequestReport, request_json, request_text};
use crate::render::request::Document;

/// Lines of a text around a change.
const CONTEXT: usize = 2;

/// Show what the request that is meant has otherwise than the one before.
pub(super) fn run(ctx: &mut Ctx, work: &Work<'_>, before: Made) -> Result<Outcome, Failure> {
    let format = ctx.format(&[Format::Text, Format::Json])?;
    let walk = |target| {
        let asked = Work { format: Format::Json, target, ..*work }.walk()?;
        match (asked.output, asked.facts.position) {
            (Output::Document(document), Some(position)) => Ok((Texts::of(document), position)),
            _ => Err(Failure::refused("the log changed while it was read")),
        }
    };
    let (texts_a, position_a) = walk(Target::Made(before))?;
    let (texts_b, position_b) = walk(work.target)?;
    let unreadable = |error| Failure::refused(format!("the request does not read back: {error}"));
    let changes = request_changes(texts_a.parts(), texts_b.parts()).map_err(unreadable)?;
    let report = RequestReport {
        session: work.log.header.id.to_lossy().into_owned(),
        before: position_a,
        request: position_b,
        is_next: !matches!(work.target, Target::Made(_)),
        changes,
    };
    if format == Format::Json {
        request_json(&report, ctx.out())?;
    } else {
        let (width, color, full) = (ctx.terminal.width, ctx.color, work.args.full);
        ctx.page();
        request_text(&report, &Layout { width, color, context: CONTEXT, full }, ctx.out())?;
    }
    Ok(Outcome::Clean)
}

/// The parts of a request, as JSON.
struct Texts {
    config: String,
    system: String,
    tools: String,
    messages: String,
}

impl Texts {
    fn of(document: Document) -> Self {
        let text = |json: Vec<u8>| String::from_utf8_lossy(&json).into_owned();
        let or_null = |json: Option<Vec<u8>>| json.map_or_else(|| "null".to_owned(), text);
        let system = document.system.map(|system| {
            let mut json = Vec::new();
            print_string(&mut json, &system);
            json
        });
        // A log without a configuration has none to print.
        let config = Some(document.config).filter(|config| !config.is_empty());
        Texts {
            config: or_null(config),
            system: or_null(system),
            tools: or_null(document.tools),
            messages: text(document.messages),
        }
    }

    fn parts(&self) -> RequestParts<'_> {
        RequestParts {
            config: &self.config,
            system: &self.system,
            tools: &self.tools,
            messages: &self.messages,
        }
    }
}
