//! Which request of a log is meant.

use std::convert::Infallible;
use std::ops::ControlFlow;

use dshlog_codec::check::EventType;
use dshlog_codec::{Event, Place, Seq};
use dshlog_replay::{Position, Positions};

use crate::args::Request;
use crate::exit::Failure;
use crate::render::units;
use crate::source::Log;

/// A request that was made, as far as its place goes. Seqs are those of V4.
#[derive(Clone, Copy, Debug)]
pub(super) struct Made {
    pub(super) kind: Kind,
    /// The event that settled an agent's request, recorded that for a title, or began a compaction.
    pub(super) seq: Seq,
    /// Where its row stands.
    place: Place,
    /// The summary or the end of a compaction, which tells more of it.
    known_at: Option<(Seq, Place)>,
}

/// What a request was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The agent's next step.
    Agent(Position),
    /// A title.
    Title,
    /// A summary of the history.
    Compaction,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    /// A request that was made.
    Made(Made),
    /// The one that would come behind this row, or this event.
    Behind(Behind),
    /// The one that would come at the end.
    Next,
}

/// The last event that counts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Behind {
    /// By its seq in V4.
    Seq(u64),
    /// By the line that it stands in, as logs of other generations have other seqs in V4.
    Line(u64),
}

/// All requests of a log, in the order in which they were made.
#[derive(Debug, Default)]
pub(super) struct Index {
    positions: Positions,
    made: Vec<Made>,
    events: u64,
}

impl Target {
    /// Refuse what only a compaction's request has a use for.
    ///
    /// # Errors
    /// It is another request.
    pub(super) fn check(&self, args: &Request) -> Result<(), Failure> {
        if matches!(self, Target::Made(Made { kind: Kind::Compaction, .. })) {
            return Ok(());
        }
        let given = [("--instruction", args.instruction.is_some()), ("--through", args.through.is_some())];
        given.iter().find(|(_, is_given)| *is_given).map_or(Ok(()), |(name, _)| {
            Err(Failure::usage(format!("`{name}` is about a compaction, and this request is for none"))
                .hint("`--compaction` shows the last request for one, `--for SEQ` any"))
        })
    }
}

impl Made {
    /// The first event that the request was made without.
    pub(super) fn stop(&self) -> Seq {
        self.known_at.map_or(self.seq, |(seq, _)| seq)
    }

    /// Where the row of [`Made::seq`] stands.
    pub(super) fn place(&self) -> Place {
        self.place
    }

    fn is_at(&self, event: Place) -> bool {
        self.place == event || self.known_at.is_some_and(|(_, place)| place == event)
    }

    fn is_seq(&self, seq: u64) -> bool {
        self.seq.0 == seq || self.known_at.is_some_and(|(known, _)| known.0 == seq)
    }
}

impl Index {
    /// Take the next event.
    pub(super) fn see(&mut self, event: &Event<'_>) {
        self.events += 1;
        let (seq, place) = (event.seq, event.place);
        let kind = match EventType::of(event.kind) {
            Some(EventType::TitleRequest) => Some(Kind::Title),
            Some(EventType::CompactionStart) => Some(Kind::Compaction),
            Some(EventType::CompactionSummary | EventType::CompactionEnd) => {
                let begun = self.made.iter_mut().rev().find(|made| made.kind == Kind::Compaction);
                if let Some(begun @ Made { known_at: None, .. }) = begun {
                    begun.known_at = Some((seq, place));
                }
                None
            }
            _ => self.positions.settled(event).map(Kind::Agent),
        };
        self.made.extend(kind.map(|kind| Made { kind, seq, place, known_at: None }));
        self.positions.see(event);
    }

    /// What the arguments ask for.
    pub(super) fn choose(&self, args: &Request, log: &Log) -> Result<Target, Failure> {
        if let Some(seq) = args.ended_by {
            return self.ended_by(seq, log).map(Target::Made);
        }
        if let Some(seq) = args.at {
            return behind(seq, log).map(Target::Behind);
        }
        if args.title || args.compaction {
            let (kind, words) =
                if args.title { (Kind::Title, "a title") } else { (Kind::Compaction, "a compaction") };
            let last = self.made.iter().rev().find(|made| made.kind == kind);
            return last
                .map(|made| Target::Made(*made))
                .ok_or_else(|| Failure::usage(format!("the log has no request for {words}")));
        }
        match args.turn {
            Some(turn) => self.of_turn(turn, args).map(Target::Made),
            None => Ok(Target::Next),
        }
    }

    /// The agent's request before the one that is meant.
    pub(super) fn before(&self, target: &Target) -> Result<Made, Failure> {
        let comes_before = |made: &&Made| {
            matches!(made.kind, Kind::Agent(_))
                && match target {
                    Target::Made(target) => made.seq < target.seq,
                    Target::Behind(Behind::Seq(last)) => made.seq.0 <= *last,
                    Target::Behind(Behind::Line(last)) => made.place.line <= *last,
                    Target::Next => true,
                }
        };
        if let Target::Made(Made { kind: Kind::Title | Kind::Compaction, .. }) = target {
            return Err(Failure::usage(
                "`--diff` compares requests of the agent, not those for a title or a compaction",
            ));
        }
        let before = self.made.iter().rfind(comes_before);
        before
            .copied()
            .ok_or_else(|| Failure::usage("there is no request before this one to compare it with"))
    }

    fn ended_by(&self, seq: u64, log: &Log) -> Result<Made, Failure> {
        let named = stored(log, seq)?;
        let found = match &named {
            Some((_, place)) if !log.is_current() => self.made.iter().find(|made| made.is_at(*place)),
            Some(_) => self.made.iter().find(|made| made.is_seq(seq)),
            None => None,
        };
        found.copied().ok_or_else(|| match named {
            None => Failure::usage(format!("there is no event {seq}")),
            Some((kind, _)) => Failure::usage(format!("no request ended or began in event {seq}, `{kind}`"))
                .hint("`--at SEQ` shows what would have been asked behind any event"),
        })
    }

    fn of_turn(&self, turn: u64, args: &Request) -> Result<Made, Failure> {
        let is_meant = |made: &&Made| {
            matches!(made.kind, Kind::Agent(position)
                if position.turn == turn
                    && args.step.is_none_or(|step| position.step == step)
                    && args.attempt.is_none_or(|attempt| position.attempt == attempt))
        };
        if let Some(made) = self.made.iter().rfind(is_meant) {
            return Ok(*made);
        }
        let of_turn: Vec<Position> = self
            .made
            .iter()
            .filter_map(|made| match made.kind {
                Kind::Agent(position) if position.turn == turn => Some(position),
                _ => None,
            })
            .collect();
        let asked = [("turn", Some(turn)), ("step", args.step), ("attempt", args.attempt)];
        let asked: Vec<String> =
            asked.iter().filter_map(|(name, number)| number.map(|n| format!("{name} {n}"))).collect();
        let failure = Failure::usage(format!("no request of {} ended in an event", asked.join(", ")));
        let Some(last) = of_turn.last() else {
            return Err(failure.hint("`--at SEQ` shows what would have been asked behind any event"));
        };
        let of_step = of_turn.iter().filter(|position| Some(position.step) == args.step).count();
        Err(if of_step > 0 {
            failure.hint(format!("the step has {}", units::count(of_step as u64, "attempt")))
        } else {
            failure.hint(format!("the last step of the turn with a request is {}", last.step))
        })
    }
}

/// The last event that counts, by its seq in the stored log.
fn behind(seq: u64, log: &Log) -> Result<Behind, Failure> {
    let Some((_, place)) = stored(log, seq)? else {
        return Err(Failure::usage(format!("there is no event {seq}")));
    };
    Ok(if log.is_current() { Behind::Seq(seq) } else { Behind::Line(place.line) })
}

/// The events of V4 that the event with this seq in the stored log became.
pub(super) fn carried(seq: u64, log: &Log) -> Result<Vec<Seq>, Failure> {
    let Some((_, place)) = stored(log, seq)? else {
        return Err(Failure::usage(format!("there is no event {seq}")));
    };
    if log.is_current() {
        return Ok(vec![Seq(seq)]);
    }
    let mut carried = Vec::new();
    let Ok(walked) = log.each(|event| {
        carried.extend(Some(event.seq).filter(|_| event.place == place));
        Ok::<_, Infallible>(ControlFlow::Continue(()))
    });
    walked.damage.map_or(Ok(carried), |damage| Err(damage.into()))
}

/// Type and place of the event that has this seq in the stored log.
fn stored(log: &Log, seq: u64) -> Result<Option<(String, Place)>, Failure> {
    let mut found = None;
    log.each_stored(|event| {
        if event.seq.0 == seq {
            found = Some((event.kind.to_lossy().into_owned(), event.place));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    Ok(found)
}
