//! What each generation allows in a row (`docs/spec/rows.md`, sections 3, 8 and 10).
//!
//! A generation is a table of differences, not a branch in the reader: [`Rules`] says which checks are made, and how
//! hard they are.

mod v3;

use crate::check::{RuleFault, admit_v3, admit_v4};
use crate::event::Event;
use crate::json::Js;
use crate::types::Generation;

/// What an in-sequence `session/end-seed` whose `data` is no object does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndSeed {
    /// Left to migration.
    Free,
    /// Refuses the log at once, although the row counts.
    Hard,
    /// Is damage like any other.
    Soft,
}

/// A check on an event; what it says is which rule is broken.
type EventCheck = fn(&Event<'_>) -> Result<(), &'static str>;

/// The row rules of one generation.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "a table of differences; each column is one yes or no")]
pub(crate) struct Rules {
    pub(crate) generation: Generation,
    /// Rows may be packed runs of `assistant/chunk` events, and the cut is in the header.
    pub(crate) packed: bool,
    /// Members, `type`, `time` and `ignorable` are checked.
    pub(crate) closed: bool,
    pub(crate) end_seed: EndSeed,
    /// Refuses a log at once, whatever else is wrong with the row.
    pub(crate) admit: Option<fn(Js<'_>) -> Result<(), RuleFault>>,
    /// Admission also looks at rows behind a line that is not JSON.
    pub(crate) admit_behind_syntax: bool,
    /// A row that passed the shape and has the next seq can still be damage.
    pub(crate) check_event: Option<EventCheck>,
    /// Damage in a complete frame is a torn tail, as long as no `turn/end` follows.
    pub(crate) tail_in_frames: bool,
    /// A `turn/end` of bad shape is damage like any other row.
    pub(crate) forgives_turn_end: bool,
}

const HISTORICAL: Rules = Rules {
    generation: Generation(2),
    packed: false,
    closed: true,
    end_seed: EndSeed::Hard,
    admit: None,
    admit_behind_syntax: false,
    check_event: None,
    tail_in_frames: true,
    forgives_turn_end: true,
};

impl Rules {
    /// The rules of a generation; nothing for one that this reader does not know.
    pub(crate) fn of(generation: Generation) -> Option<Rules> {
        Some(match generation.0 {
            0 | 1 => Rules { generation, packed: true, closed: false, end_seed: EndSeed::Free, ..HISTORICAL },
            2 => HISTORICAL,
            3 => {
                Rules { generation, admit: Some(admit_v3), check_event: Some(v3::check_event), ..HISTORICAL }
            }
            4 => Rules {
                generation,
                end_seed: EndSeed::Soft,
                admit: Some(admit_v4),
                admit_behind_syntax: true,
                tail_in_frames: false,
                forgives_turn_end: false,
                ..HISTORICAL
            },
            _ => return None,
        })
    }
}
