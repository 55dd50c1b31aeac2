//! Which rules a loop wrote by. A log that was migrated keeps what its own loop did (`docs/spec/agent-loop.md`, 13).

/// A loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// That of dsh up to 0.1.2, whose logs had the formats V0 to V2.
    V0,
    /// That of dsh 0.1.5.
    V3,
    /// That of dsh 0.2.1.
    V4,
}

impl Era {
    /// Claimed messages are told before a request is prepared, not with it.
    pub(super) fn tells_at_once(self) -> bool {
        self == Era::V0
    }

    /// Headers tell of new series.
    pub(super) fn has_series(self) -> bool {
        self != Era::V0
    }

    /// The first header of a process may begin a series too.
    pub(super) fn resumes_series(self) -> bool {
        self == Era::V4
    }

    /// Changes of the tools are told.
    pub(super) fn tells_tools(self) -> bool {
        self == Era::V4
    }

    /// Images that are left out begin a new series.
    pub(super) fn counts_projections(self) -> bool {
        self == Era::V4
    }

    /// Changed tools break a series also on routes that take such changes.
    pub(super) fn always_breaks_on_tools(self) -> bool {
        self != Era::V4
    }

    /// Calls that a failing step leaves without a result get one.
    pub(super) fn recovers_calls(self) -> bool {
        self == Era::V4
    }
}
