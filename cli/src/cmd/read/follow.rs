//! `read --follow`: as the log grows. Looks at length and identity a few times a second, as `tail -f` does without a
//! notifier, and reads again when they changed; events already shown are passed over by their seq.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use dshlog_codec::home::SessionFolder;
use dshlog_codec::{Class, Error, ErrorKind, Event};
use dshlog_migrate::Kin;

use super::View;
use super::events::Printer;
use super::filter::Filter;
use super::transcript::{head, layout, step};
use crate::args::{Format, Read};
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome, shown};
use crate::render::transcript::Transcript;
use crate::render::units;
use crate::select::Chosen;
use crate::source::{Form, Log};
use crate::transcript::Fold;

/// Shortest time between two looks.
const PAUSE: Duration = Duration::from_millis(200);
/// A walk may take this share of the time, so that a long log does not keep a core busy.
const SHARE: u32 = 5;

/// What tells one state of a file from the next.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Look {
    path: PathBuf,
    len: u64,
    /// A tail that is cut and written again may have its old length.
    modified: Option<SystemTime>,
    identity: Option<(u64, u64)>,
}

/// Show what is there, then what comes, until interrupted.
pub(super) fn run(
    ctx: &mut Ctx,
    args: &Read,
    mut chosen: Chosen,
    view: View,
    format: Format,
    filter: Filter,
) -> Result<Outcome, Failure> {
    let mut out = ctx.take_out();
    let sink = if view == View::Events {
        Sink::Events(Printer::new(ctx, format, filter), &mut *out)
    } else {
        let transcript = Transcript::new(&mut *out, layout(ctx, args));
        Sink::Transcript(Box::new(transcript), Box::new(Fold::new(args.full)), filter)
    };
    let mut follower = Follower { sink, next: 0, begun: false, told_lost: false };
    let mut last: Option<Look> = None;
    loop {
        let look = look(&chosen)?;
        let mut spent = Duration::ZERO;
        if last.as_ref() != Some(&look) {
            if let Some(last) = &last {
                tell_change(ctx, last, &look);
            }
            chosen.path.clone_from(&look.path);
            let began = Instant::now();
            follower.catch_up(ctx, args, &chosen)?;
            spent = began.elapsed();
            last = Some(look);
        }
        std::thread::sleep(PAUSE.max(spent * SHARE));
    }
}

/// Look at the log, or at a newer generation beside it.
fn look(chosen: &Chosen) -> Result<Look, Failure> {
    let mut path = chosen.path.clone();
    if let Some(member) = &chosen.member
        && let Ok(folder) = SessionFolder::read(&member.folder_path())
        && let Ok(newest) = folder.chosen()
    {
        path.clone_from(&newest.path);
    }
    let metadata = std::fs::metadata(&path).map_err(|e| Failure::io("look at", &path, e))?;
    let modified = metadata.modified().ok();
    Ok(Look { len: metadata.len(), modified, identity: identity(&metadata), path })
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have none")]
fn identity(metadata: &std::fs::Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    Some((metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn identity(_: &std::fs::Metadata) -> Option<(u64, u64)> {
    None
}

fn tell_change(ctx: &mut Ctx, before: &Look, now: &Look) {
    if before.path != now.path {
        ctx.note(format!("goes on in {}", shown(&now.path)));
    } else if before.identity != now.identity {
        ctx.warn("another file took the place of this log; going on behind the last seq shown");
    } else if now.len < before.len {
        ctx.note("the file was cut, as a writer does with a torn tail");
    }
}

/// Where events go.
enum Sink<'w> {
    Events(Printer, &'w mut dyn Write),
    Transcript(Box<Transcript<'w>>, Box<Fold>, Filter),
}

struct Follower<'w> {
    sink: Sink<'w>,
    /// The next seq to show.
    next: u64,
    begun: bool,
    /// Said that events which were shown are gone.
    told_lost: bool,
}

impl Follower<'_> {
    /// Show the events behind the last one shown. A log that is not whole yet is looked at again later.
    fn catch_up(&mut self, ctx: &mut Ctx, args: &Read, chosen: &Chosen) -> Result<(), Failure> {
        let log = match Log::open(chosen, Form::of(args.as_stored), &Arc::<Kin>::default()) {
            Ok(log) => log,
            Err(error) => return self.not_now(ctx, error),
        };
        if !self.begun {
            log.check_identity()?;
        }
        // Of a log that is refused at once nothing is shown, not even the header.
        let walked = log.each(|event| {
            self.begin(&log, args)?;
            if event.seq.0 >= self.next {
                self.next = event.seq.0 + 1;
                self.sink.event(event)?;
            }
            Ok::<_, Failure>(ControlFlow::Continue(()))
        })?;
        match walked.damage {
            Some(error) if !self.begun => return self.not_now(ctx, error),
            Some(error) => ctx.warn(&error),
            None => self.begin(&log, args)?,
        }
        if let Some(end) = walked.end {
            self.tell_lost(ctx, end.events);
        }
        self.sink.flush()
    }

    /// Show the header, once.
    fn begin(&mut self, log: &Log, args: &Read) -> Result<(), Failure> {
        if std::mem::replace(&mut self.begun, true) { Ok(()) } else { self.sink.begin(log, args) }
    }

    /// A log that was read before and cannot be read now may come back; one of a newer format will not.
    fn not_now(&self, ctx: &mut Ctx, error: Error) -> Result<(), Failure> {
        if !self.begun || error.class() == Class::Unsupported {
            return Err(error.into());
        }
        // Without a header it is being written.
        if !matches!(error.kind(), ErrorKind::NoHeader) {
            ctx.warn(error);
        }
        Ok(())
    }

    /// What takes the place of events that were shown is passed over, which must not happen unsaid.
    fn tell_lost(&mut self, ctx: &mut Ctx, events: u64) {
        let lost = self.next.saturating_sub(events);
        if lost > 0 && !self.told_lost {
            let events = units::count(lost, "event");
            ctx.warn(format!("the log lost {events} that were shown; going on behind the last seq shown"));
        }
        self.told_lost = lost > 0;
    }
}

impl Sink<'_> {
    fn begin(&mut self, log: &Log, args: &Read) -> Result<(), Failure> {
        match self {
            Sink::Events(printer, out) => printer.header(*out, &log.header, args.as_stored),
            Sink::Transcript(transcript, _, filter) if filter.is_empty() => Ok(transcript.head(&head(log))?),
            Sink::Transcript(..) => Ok(()),
        }
    }

    fn event(&mut self, event: &Event<'_>) -> Result<(), Failure> {
        match self {
            Sink::Events(printer, out) => printer.event(*out, event),
            Sink::Transcript(transcript, fold, filter) => step(transcript, fold, filter, event),
        }
    }

    fn flush(&mut self) -> Result<(), Failure> {
        match self {
            Sink::Events(_, out) => out.flush()?,
            Sink::Transcript(transcript, fold, _) => {
                fold.announce();
                for entry in fold.ready() {
                    transcript.entry(&entry)?;
                }
                transcript.flush()?;
            }
        }
        Ok(())
    }
}
