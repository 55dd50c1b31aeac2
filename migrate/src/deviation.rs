//! Where a migrated log does not say what its source said.

use dshlog_codec::json::Losses;
use dshlog_codec::{At, Event};

/// One way in which the target differs from the source, however often.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// Stable kebab-case name, listed in `docs/codes.md`.
    pub code: &'static str,
    /// What it means.
    pub what: &'static str,
    /// How often.
    pub count: u64,
    /// The first event of the source that it happens to.
    pub first: At,
}

/// The deviations that a chain cannot avoid: the official code parses and prints what it carries over, as JavaScript does.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    numbers: Option<Deviation>,
    objects: Option<Deviation>,
}

impl Tally {
    /// Count those of an event of the source.
    pub(crate) fn see(&mut self, event: &Event<'_>) {
        let losses = Losses::of(event.row);
        if losses.is_none() {
            return;
        }
        let add = |tally: &mut Option<Deviation>, count, code, what| {
            if count > 0 {
                tally.get_or_insert_with(|| Deviation { code, what, count: 0, first: event.at() }).count +=
                    count;
            }
        };
        let what = "a number that JavaScript cannot hold became another one, or `null`";
        add(&mut self.numbers, losses.numbers, "number-changed", what);
        let what = "of members with the same name only the last one was kept";
        add(&mut self.objects, losses.objects, "member-dropped", what);
    }

    /// What was counted.
    pub(crate) fn finish(self) -> Vec<Deviation> {
        self.numbers.into_iter().chain(self.objects).collect()
    }
}
