//! What one migration step is.

use dshlog_codec::json::Tree;
use dshlog_codec::pack::PackedRow;
use dshlog_codec::{At, Error, ErrorKind, Event, Generation, Header, Place};

/// Why a log is not carried over (`docs/spec/events-v0-v3.md`, 1.3).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{edge}: {what}")]
pub struct Refusal {
    /// The step, as `v0-to-v1`.
    pub edge: &'static str,
    /// Stable kebab-case name of the rule.
    pub code: &'static str,
    /// What is wrong, in a few words; holds the value that breaks the rule, shortened, never a whole payload.
    pub what: String,
    /// Whether the event is malformed by the rules of its own generation.
    pub class: RefusalClass,
    /// The event in the source log, and the place in it. Boxed, since every step can refuse.
    pub at: Box<At>,
}

/// What a refusal says about the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalClass {
    /// E: malformed at its own version. The official reader reports it as unsupported too, with this as the cause.
    Malformed,
    /// U: perhaps sound, but there is no lossless way to the target version.
    Unsupported,
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        let Refusal { edge, code, what, class, at } = refusal;
        let finds = match class {
            RefusalClass::Malformed => "finds it malformed",
            RefusalClass::Unsupported => "has no way for it",
        };
        let what = if what.is_empty() { String::new() } else { format!(" ({what})") };
        ErrorKind::Migration { code, what: format!("{edge} {finds}: {code}{what}") }.at(*at)
    }
}

/// Takes what a step gives out, in order.
pub trait Out {
    /// An event as it came, with the seq that it has.
    fn keep(&mut self, event: &Event<'_>) -> Result<(), Refusal>;

    /// A changed or generated event: its whole row. `place` is that of the source row it comes from.
    fn put(&mut self, row: &Tree<'_>, place: Place) -> Result<(), Refusal>;

    /// A packed run as it came. Only the step behind V0 may give one.
    fn run(&mut self, run: &PackedRow<'_>, place: Place) -> Result<(), Refusal>;
}

/// One step between neighbouring generations. It sees the events of one log in order, once.
pub trait Edge: Send {
    /// The generation it reads.
    fn from(&self) -> Generation;

    /// The header of the target. Called once, before anything else.
    fn header(&mut self, source: &Header) -> Result<Header, Refusal>;

    /// The next event of the source, which has the next seq.
    fn event(&mut self, event: &Event<'_>, out: &mut dyn Out) -> Result<(), Refusal>;

    /// A packed run of the source; nothing when this step has no use for runs and wants the single events.
    fn run(
        &mut self,
        _run: &PackedRow<'_>,
        _place: Place,
        _out: &mut dyn Out,
    ) -> Option<Result<(), Refusal>> {
        None
    }

    /// The end of the source. `cut` is the number of inherited events in it. Gives the number in the target.
    fn finish(&mut self, cut: u64, out: &mut dyn Out) -> Result<u64, Refusal>;
}
