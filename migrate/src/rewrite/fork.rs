//! A session that begins with the events of another one (`docs/spec/surface.md`, section 9).
//!
//! Which events those are, and what is added behind them, is for the caller to say: they come as events of V4, whatever
//! the parent is stored as. So the log of the parent is never opened here, and its lock is of no interest.

use std::path::Path;

use dshlog_codec::check::Checker;
use dshlog_codec::home::{Walk, WriteLock};
use dshlog_codec::{Class, Event, Header, Limits};

use super::place::{Place, check_names};
use crate::judge::Judge;
use crate::problem::Problem;
use crate::publish::{Draft, Expected, Published};
use crate::vfs::Vfs;

/// A fork that is to be made.
#[derive(Clone, Copy, Debug)]
pub struct Fork<'a> {
    /// The log that it is made from, for messages.
    pub parent: &'a Path,
    /// The header of the fork.
    pub header: &'a Header,
    /// Number of events that are copied.
    pub cut: u64,
    /// Number of all its events.
    pub events: u64,
    /// What may be held.
    pub limits: &'a Limits,
}

/// Takes the next event of a fork.
///
/// Refuses numbers that JSON cannot keep ([`Problem::NotLossless`]), as dsh refuses to copy them: what is printed would be
/// another one.
pub type Push<'p> = &'p mut dyn FnMut(&Event<'_>) -> Result<(), Problem>;

impl Fork<'_> {
    /// Whether it would be published, without writing anything. `give` gives all events, in order.
    pub fn judge(
        &self,
        place: &Place,
        vfs: &dyn Vfs,
        give: impl FnOnce(Push<'_>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        place.check_free(vfs, &Walk::new(place.root())?)?;
        let mut judge = Judge::without_streams(Checker::with_admission(self.header));
        give(&mut |event| {
            check_lossless(event)?;
            judge.see(event);
            Ok(())
        })?;
        Ok(judge.finish(self.cut)?)
    }

    /// Make the session in `place`: its folder, its lock, and its log, which has its name only when it was written, read
    /// back and found to be what it should be. Nothing that is there is touched.
    ///
    /// What goes wrong leaves no more than a folder without a log, which no reader takes for a session.
    pub fn publish(
        &self,
        place: &Place,
        vfs: &dyn Vfs,
        give: impl FnOnce(Push<'_>) -> Result<(), Problem>,
    ) -> Result<Published, Problem> {
        place.check_free(vfs, &Walk::new(place.root())?)?;
        place.make(vfs)?;
        let _lock = WriteLock::acquire(&place.folder())?;
        self.write(place, vfs, give)
    }

    /// The part of [`Fork::publish`] behind the lock.
    pub(super) fn write(
        &self,
        place: &Place,
        vfs: &dyn Vfs,
        give: impl FnOnce(Push<'_>) -> Result<(), Problem>,
    ) -> Result<Published, Problem> {
        // Only behind the lock is it sure that nobody makes the same session.
        check_names(vfs, &place.folder())?;
        let mut draft = Draft::create(vfs, &place.target(), self.header)?;
        give(&mut |event| {
            check_lossless(event)?;
            draft.row(|out| event.print_row(out))
        })?;
        let staged = draft.finish()?;
        let expected =
            Expected { header: self.header.clone(), events: self.events, cut: self.cut, streams: false };
        staged.read_back(&expected, self.limits).map_err(|problem| match problem {
            // Copied from a sound log and closed by the rule, it is always sound.
            Problem::Log(error) if error.class() != Class::Io => {
                staged.differs(&format!("the new log is refused ({error})"))
            }
            other => other,
        })?;
        staged.publish(self.parent, self.limits)
    }
}

fn check_lossless(event: &Event<'_>) -> Result<(), Problem> {
    if event.row.has_lossy_number() { Err(Problem::NotLossless { seq: event.seq }) } else { Ok(()) }
}
