//! `read --events`.

use std::io::Write;
use std::ops::ControlFlow;

use dshlog_codec::{Event, Header, Millis};
use dshlog_replay::{NewEvent, Resume, Resumed};

use super::filter::Filter;
use super::{Lenient, see_recovered, tell_end};
use crate::args::{Format, Read};
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome};
use crate::render::page::{Line, Page};
use crate::render::style::Role;
use crate::render::text::clip;
use crate::render::transcript::RECOVERED;
use crate::render::units;
use crate::source::Log;

/// Print events, one a line.
pub(super) fn run(
    ctx: &mut Ctx,
    args: &Read,
    log: &Log,
    format: Format,
    filter: Filter,
) -> Result<Outcome, Failure> {
    let mut resumed = None;
    if !args.lenient {
        let mut resume = Resume::new();
        let mut probe = filter.clone();
        let mut checked = log.check(|event| {
            resume.see(event);
            probe.see(event);
        })?;
        checked.storage()?;
        resumed = args.recovered.then(|| resume.finish(Millis(ctx.now())));
        let added = see_recovered(&mut probe, resumed.as_ref());
        probe.check(checked.end().events + added)?;
        tell_end(ctx, log, &checked);
    }
    let mut printer = Printer::new(ctx, format, filter);
    if format == Format::Text {
        ctx.page();
    }
    let mut lenient = Lenient::new(args, log);
    let out = ctx.out();
    // Not before the walk has begun well: the file may have shrunk meanwhile.
    let mut has_header = false;
    let mut walked = log.each_as(args.lenient, |event| {
        if !std::mem::replace(&mut has_header, true) {
            printer.header(out, &log.header, args.as_stored)?;
        }
        lenient.see(event);
        printer.event(out, event)?;
        Ok::<_, Failure>(if printer.is_done() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    if !has_header && (args.lenient || walked.damage.is_none()) {
        printer.header(out, &log.header, args.as_stored)?;
    }
    if args.lenient {
        lenient.tell(ctx, log, &walked);
        printer.filter.check(printer.events)?;
    } else if let Some(error) = walked.damage.take() {
        return Err(error.into());
    } else if let Some(resumed) = &resumed {
        printer.recovered(ctx.out(), resumed)?;
    }
    Ok(Outcome::Clean)
}

/// Prints events in a form.
pub(super) struct Printer {
    format: Format,
    filter: Filter,
    width: usize,
    color: bool,
    zone: jiff::tz::TimeZone,
    buffer: Vec<u8>,
    events: u64,
}

impl Printer {
    pub(super) fn new(ctx: &Ctx, format: Format, filter: Filter) -> Self {
        // Only the form for people shows times.
        let zone = if format == Format::Text { ctx.zone().clone() } else { jiff::tz::TimeZone::UTC };
        let (width, color) = (ctx.terminal.width, ctx.color);
        Printer { format, filter, width, color, zone, buffer: Vec::new(), events: 0 }
    }

    /// The header line, of the current format or of the stored one; people have `--header` for it.
    pub(super) fn header(
        &mut self,
        out: &mut dyn Write,
        header: &Header,
        as_stored: bool,
    ) -> Result<(), Failure> {
        if self.format == Format::Text {
            return Ok(());
        }
        self.buffer.clear();
        if as_stored {
            header.print(&mut self.buffer);
        } else {
            header.to_current().print(&mut self.buffer);
        }
        self.buffer.push(b'\n');
        Ok(out.write_all(&self.buffer)?)
    }

    /// One event, if it is asked for.
    pub(super) fn event(&mut self, out: &mut dyn Write, event: &Event<'_>) -> Result<(), Failure> {
        self.events += 1;
        if !self.filter.see(event) {
            return Ok(());
        }
        if self.format == Format::Jsonl {
            self.buffer.clear();
            event.print_logical(&mut self.buffer);
            self.buffer.push(b'\n');
            return Ok(out.write_all(&self.buffer)?);
        }
        let time = units::moment(event.time.0, &self.zone, "%H:%M:%S%.3f");
        let kind = event.kind.to_lossy();
        let line = Line::of(Role::Dim, &format!("{:>7}  {time}  ", event.seq.0))
            .with(Role::Strong, &format!("{kind:<20}"));
        let room = self.width.saturating_sub(line.width() + 2);
        // More bytes than columns can only be cut.
        let raw = event.data.map_or("", |data| data.raw());
        let end = (0..=raw.len().min(room * 4)).rev().find(|at| raw.is_char_boundary(*at)).unwrap_or(0);
        let data = clip(&raw[..end], room).into_owned();
        Page::new(out, self.width, self.color, false)
            .line(line.with(Role::Plain, "  ").with(Role::Plain, &data))?;
        Ok(())
    }

    /// What a resume would append.
    fn recovered(&mut self, out: &mut dyn Write, resumed: &Resumed) -> Result<(), Failure> {
        // Programs know these events by their seqs; people are told.
        let mut is_told = self.format != Format::Text;
        for event in resumed.events().map(NewEvent::event) {
            if !is_told && self.filter.clone().see(&event) {
                let line = Line::of(Role::Warn, RECOVERED);
                Page::new(out, self.width, self.color, false).rule(line, Line::default())?;
                is_told = true;
            }
            self.event(out, &event)?;
        }
        Ok(())
    }

    /// True when no later event can be asked for.
    pub(super) fn is_done(&self) -> bool {
        self.events > self.filter.last()
    }
}
